//! Applications in linear terms: the formers written like functions, l-app and l-pow-app.

use super::*;

impl Infer<'_> {
    pub(super) fn linear_argument(&mut self, env: &Env, name: &Ident, targs: &[TyArg]) -> T {
        let [TyArg::Ty(t)] = targs else {
            self.report(
                Diagnostic::new(codes::TYPE_ARGUMENTS, format!("`{0}` takes one type: {0}[τ]", name.node))
                    .label(name.span, "here"),
            );
            return T::Error;
        };
        let ty = self.written(env, t);
        self.linear_type(&ty, t.span);
        ty
    }

    /// Applications: the formers written like functions, l • s (l-app), and t s (l-pow-app).
    pub(super) fn linear_spine(&mut self, env: &Env, e: &Expr) -> Le {
        let span = e.span;
        let (head, args) = flatten(e);
        let free = |x: &str| !env.locals.contains_key(x);
        match (&head.node, args.as_slice()) {
            // coproj[Γ̲] up t
            (ExprKind::TypeApp(x, targs), [up, t]) if x.node == "coproj" => {
                let env_ty = self.linear_argument(env, x, targs);
                let term = self.infer_linear(env, t);
                let Some(up) = self.slot_number(up) else { return Le::error(span) };
                let slot = self.env_slot(&env_ty, up, span);
                self.require_linear(&term, &slot, Why::Operand("coproj"));
                Le::new(LK::Coproj { env: env_ty.clone(), up, term: Box::new(term) }, env_ty, span)
            }
            // envproj up t
            (ExprKind::Var(x), [up, t]) if x == "envproj" && free(x) => {
                let term = self.infer_linear(env, t);
                let Some(up) = self.slot_number(up) else { return Le::error(span) };
                self.solve();
                let ty = term.ty.clone();
                let slot = self.env_slot(&ty, up, span);
                Le::new(LK::EnvProj { up, term: Box::new(term) }, slot, span)
            }
            // l-onehot
            (ExprKind::TypeApp(x, targs), [i, t]) if x.node == "onehot" => {
                let sigs = self.sigs;
                let mut types = Types::new(sigs, &mut self.diags);
                let bound = match targs.as_slice() {
                    [n] => types.size_argument(&env.scope, n, x.span).unwrap_or_default(),
                    _ => {
                        self.report(
                            Diagnostic::new(codes::TYPE_ARGUMENTS, "`onehot` takes one size: onehot[n] i e")
                                .label(x.span, "here"),
                        );
                        Size::default()
                    }
                };
                let inner = self.cartesian(env, "an index is Cartesian (l-onehot)");
                let index = Box::new(self.check(&inner, i, &T::Int, Why::Index));
                let term = Box::new(self.infer_linear(env, t));
                let ty = T::array(bound.clone(), term.ty.clone());
                Le::new(LK::OneHot { bound, index, term }, ty, span)
            }
            // l-inl, l-inr
            (ExprKind::TypeApp(x, targs), [k, t]) if x.node == "inject" => {
                let ty = self.linear_argument(env, x, targs);
                let term = self.infer_linear(env, t);
                let T::Sum(s) = self.metas.resolve(&ty) else { return self.no_sum(&ty, x.span) };
                let Some(k) = self.summand(k, &s) else { return Le::error(span) };
                self.require_linear(&term, &s.arms[k].1, Why::Operand("inject"));
                Le::new(LK::Inject(k, Box::new(term)), ty, span)
            }
            // l-from-inl, l-from-inr
            (ExprKind::Var(x), [k, t]) if x == "from_inject" && free(x) => {
                let term = self.infer_linear(env, t);
                self.solve();
                let T::Sum(s) = self.metas.resolve(&term.ty) else { return self.no_sum(&term.ty, t.span) };
                let Some(k) = self.summand(k, &s) else { return Le::error(span) };
                Le::new(LK::FromInject(k, Box::new(term)), s.arms[k].1.clone(), span)
            }
            (ExprKind::Var(x), [t])
                if x == "sum" && free(x) && !self.sigs.defs.contains_key(x) && self.is_linear(env, t) =>
            {
                let t = self.infer_linear(env, t);
                self.linear_sum(t, span)
            }
            (ExprKind::TypeApp(x, targs), []) if x.node == "zero" => {
                let ty = self.linear_argument(env, x, targs);
                Le::new(LK::Zero, ty, span)
            }
            _ => self.linear_application(env, e),
        }
    }

    fn no_sum(&mut self, ty: &T, span: Span) -> Le {
        if *ty != T::Error {
            let shown = self.has_type(ty);
            self.report(Diagnostic::new(codes::PATTERN, "only a sum has summands").label(span, shown));
        }
        Le::error(span)
    }

    /// l-case and l-sum-elim: one arm `C p -> e` for every summand. The arms of a linear scrutinee see their payload only.
    pub(super) fn linear_match(&mut self, env: &Env, t: &Expr, arms: &[(Pat, Expr)], span: Span) -> Le {
        let linear = self.uses_linear(env, t).then(|| self.infer_linear(env, t));
        let cartesian = match &linear {
            Some(_) => None,
            None => {
                let inner = self.cartesian(env, "what a match inspects is Cartesian (l-case)");
                Some(self.infer(&inner, t))
            }
        };
        self.solve();
        let ty = linear.as_ref().map(|t| &t.ty).or(cartesian.as_ref().map(|t| &t.ty)).cloned();
        let ty = ty.unwrap_or(T::Error);
        let T::Sum(sum) = self.metas.resolve(&ty) else { return self.no_sum(&ty, t.span) };
        let mut found: Vec<Option<(P, Le)>> = sum.arms.iter().map(|_| None).collect();
        for (pat, body) in arms {
            let named = |c: &Ident| {
                sum.summand(&c.node).or_else(|| sum.arms.iter().position(|(x, _)| **x == *c.node))
            };
            let PatKind::Constructor(c, payload) = &pat.node else { return self.arms_of(span) };
            let Some(k) = named(c).filter(|k| found[*k].is_none()) else { return self.arms_of(c.span) };
            let payload = payload.as_deref().cloned().unwrap_or(at(PatKind::Wildcard, pat.span));
            let of = &sum.arms[k].1;
            let (p, inner) = match linear {
                Some(_) => {
                    let mut inner = self.linear_scope(env);
                    (self.linear_pattern(&mut inner, &payload, of), inner)
                }
                None => {
                    let mut inner = env.clone();
                    (self.pattern(&mut inner, &payload, of, None), inner)
                }
            };
            let body = self.infer_linear(&inner, body);
            if let Some((_, first)) = found.iter().flatten().next() {
                let (ty, at) = (first.ty.clone(), first.span);
                self.require_linear(&body, &ty, Why::Branch(at));
            }
            found[k] = Some((p, body));
        }
        let Some(arms) = found.into_iter().collect::<Option<Vec<(P, Le)>>>() else {
            return self.arms_of(span);
        };
        let result = arms.first().map_or(T::Error, |(_, body)| body.ty.clone());
        let kind = match (linear, cartesian) {
            (Some(t), _) => LK::SumElim(Box::new(t), arms),
            (None, Some(t)) => LK::Case(Box::new(t), arms),
            (None, None) => LK::Error,
        };
        Le::new(kind, result, span)
    }

    fn arms_of(&mut self, span: Span) -> Le {
        let d = Diagnostic::new(codes::PATTERN, "a linear match has one arm for every constructor");
        self.report(
            d.label(span, "not so here").help("write `| C p -> e` once for each, p a variable or a tuple"),
        );
        Le::error(span)
    }

    pub(super) fn linear_application(&mut self, env: &Env, e: &Expr) -> Le {
        let span = e.span;
        let ExprKind::App(f, arg) = &e.node else { return self.constant(env, e) };
        if self.is_linear(env, f) && !self.head_is_map(env, f) {
            // l-pow-app
            let t = self.infer_linear(env, f);
            let inner = self.cartesian(env, "the argument of a power is Cartesian (l-pow-app)");
            let arg = self.infer(&inner, arg);
            self.solve();
            let result = self.metas.fresh();
            self.require_linear(&t, &T::fun(arg.ty.clone(), result.clone()), Why::Context);
            return Le::new(LK::PowerApp(Box::new(t), Box::new(arg)), result, span);
        }
        // l-app
        let inner = self
            .cartesian(env, "a linear map is applied by value: which map it is must be Cartesian (l-app)");
        let before = self.diags.len();
        let map = self.infer(&inner, f);
        self.solve();
        match self.metas.resolve(&map.ty) {
            T::Lin(a, b) => {
                let arg = self.infer_linear(env, arg);
                self.require_linear(&arg, &a, Why::Context);
                Le::new(LK::App(Box::new(map), Box::new(arg)), (*b).clone(), span)
            }
            T::Error => Le::error(span),
            other => {
                if self.diags.len() > before {
                    return Le::error(span);
                }
                let name = crate::calls::head_name(f).map_or("this function".into(), |x| format!("`{x}`"));
                let shown = self.has_type(&other).replacen("this", "it", 1);
                let d = Diagnostic::new(
                    codes::NOT_A_LINEAR_MAP,
                    format!("{name} is applied to a linear term, and is not a linear map (l-app)"),
                )
                .label(f.span, format!("{shown}; only maps of type τ -o σ apply to linear terms"))
                .label(arg.span, "a linear term");
                self.report(match crate::calls::head_name(f).and_then(written_out) {
                    Some(help) => d.help(help),
                    None => d,
                });
                Le::error(span)
            }
        }
    }

    /// A linear λ or other Cartesian map in head position.
    pub(super) fn head_is_map(&self, env: &Env, f: &Expr) -> bool {
        matches!(f.node, ExprKind::LinLam(..))
            || !self.uses_linear(env, f) && !matches!(f.node, ExprKind::TypeApp(..))
    }

    pub(super) fn slot_number(&mut self, e: &Expr) -> Option<usize> {
        match &e.node {
            ExprKind::Int(k) if *k >= 0 => Some(*k as usize),
            _ => {
                self.report(
                    Diagnostic::new(codes::TYPE_ARGUMENTS, "a slot of an environment is a numeral")
                        .label(e.span, "how many binders lie above the slot"),
                );
                None
            }
        }
    }

    /// The type of an environment's slot.
    pub(super) fn env_slot(&mut self, env: &T, up: usize, span: Span) -> T {
        let mut t = self.metas.resolve(env);
        for k in (0..=up).rev() {
            match &t {
                T::Tuple(ts) if ts.len() == 2 => {
                    t = self.metas.resolve(&ts[usize::from(k == 0)]);
                }
                T::Error => return T::Error,
                _ => {
                    let shown = self.shown(env);
                    self.report(
                        Diagnostic::new(
                            codes::NO_COMPONENT,
                            format!("the environment {shown} has no slot {up}"),
                        )
                        .label(span, "environments are nested pairs: (((), τ), σ)"),
                    );
                    return T::Error;
                }
            }
        }
        t
    }
}

/// How what a built-in does is written in the linear language.
fn written_out(name: &str) -> Option<&'static str> {
    Some(match name {
        "map" | "zip" | "reverse" | "rotate" | "transpose" | "gather" | "take" | "drop" | "concat"
        | "flatten" | "unflatten" => "arrays are made by comprehensions: `[ … v[i] … | i < n ]`",
        "dot" => "write `suml i < n -> a[i] * v[i]`",
        "matvec" | "matmul" | "vecmat" => "write `[ suml j < m -> a[i, j] * v[j] | i < n ]`",
        "replicate" => "write `[ v | _ < n ]`",
        "scan" | "fold" | "reduce" => "loops over linear state are `loop_up` and `loop_down`",
        "scatter" | "scatter_add" => "an element is placed by `onehot[n] i v`",
        _ => return None,
    })
}
