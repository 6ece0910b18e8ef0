//! Arrays and iteration: indices, bounds as sizes, comprehensions, loops.

use super::*;

impl Infer<'_> {
    /// The type with fresh sizes for the arrays that it or its components are.
    pub(super) fn loosen(&mut self, t: &T) -> T {
        match t {
            T::Array(_, e) => {
                // Elements that are tuples keep the sizes in them.
                let element = if matches!(**e, T::Array(..)) { self.loosen(e) } else { (**e).clone() };
                T::array(self.metas.fresh_size("k"), element)
            }
            T::Tuple(ts) => T::tuple(ts.iter().map(|t| self.loosen(t)).collect::<Vec<_>>()),
            T::Record(fs) => T::record(fs.iter().map(|(x, t)| (x.clone(), self.loosen(t))).collect()),
            other => other.clone(),
        }
    }

    /// The elements that indices take out of an array, one dimension each.
    pub(super) fn indices(&mut self, env: &Env, a: &Te, index: &[Expr]) -> (Vec<Te>, T) {
        let mut t = a.ty.clone();
        let mut out = vec![];
        for e in index {
            if matches!(self.metas.resolve(&t), T::Meta(_)) {
                self.solve();
            }
            let (n, element) = match self.metas.resolve(&t) {
                T::Array(n, element) => (n, (*element).clone()),
                T::Error => (self.metas.fresh_size("n"), T::Error),
                T::Meta(m) if !self.metas.is_number(m) => {
                    let (n, element) = (self.metas.fresh_size("n"), self.metas.fresh());
                    let _ = self.metas.unify(&t, &T::array(n.clone(), element.clone()));
                    (n, element)
                }
                T::Fun(..) => {
                    self.report(
                        Diagnostic::new(codes::NOT_AN_ARRAY, "a function cannot be indexed")
                            .label(a.span, "this is a function")
                            .help("to apply it to an array, leave a space before the bracket: `f [x]`"),
                    );
                    return (vec![], T::Error);
                }
                _ => {
                    let whole = self.metas.zonk(&a.ty).show();
                    let d = Diagnostic::new(
                        codes::NOT_AN_ARRAY,
                        match out.len() {
                            0 => format!("{whole} cannot be indexed"),
                            1 => format!("{whole} takes 1 index, here are {}", index.len()),
                            k => format!("{whole} takes {k} indices, here are {}", index.len()),
                        },
                    )
                    .label(a.span, format!("this has type {whole}"));
                    let d = match self.metas.resolve(&t) {
                        T::Tuple(_) => d.help("components of tuples are written t.0, t.1"),
                        _ => d,
                    };
                    self.report(d);
                    (self.metas.fresh_size("n"), T::Error)
                }
            };
            if let ExprKind::Var(x) = &e.node
                && let Some(Local::Cartesian { open: Some(bound), .. }) = env.locals.get(x)
            {
                self.metas.at = a.span;
                if self.metas.unify_size(bound, &n).is_err() {
                    self.size_mismatch(a.span, bound, &n);
                }
            }
            self.not_from_behind(e, "an index");
            out.push(self.check(env, e, &T::Int, Why::Index));
            t = element;
        }
        (out, t)
    }

    /// Nothing is counted from behind: is this a negative numeral?
    fn not_from_behind(&mut self, e: &Expr, what: &str) -> bool {
        let ExprKind::Neg(k) = &e.node else { return false };
        let ExprKind::Int(k @ 1..) = k.node else { return false };
        self.report(
            Diagnostic::new(codes::NEGATIVE_INDEX, format!("{what} counts from the front, this is -{k}"))
                .label(e.span, "below zero")
                .help(format!("of an array `a : [n]real` it is `n - {k}`")),
        );
        true
    }

    pub(super) fn slice(
        &mut self,
        env: &Env,
        a: &Expr,
        from: Option<&Expr>,
        to: Option<&Expr>,
        span: Span,
    ) -> Te {
        let a = self.infer(env, a);
        self.solve();
        let (n, element) = (self.metas.fresh_size("n"), self.metas.fresh());
        let found = a.ty.clone();
        self.require(a.span, &found, &T::array(n.clone(), element.clone()), Why::Operand("[i:j]"));
        let mut binds = vec![];
        let mut end = |s: &mut Self, e: Option<&Expr>, default: Size| match e {
            None => default,
            Some(e) if s.not_from_behind(e, "the end of a slice") => s.metas.fresh_size("k"),
            Some(e) => {
                let (n, bind) = s.bound(env, e, "k");
                binds.extend(bind);
                n
            }
        };
        let from = end(self, from, Size::constant(0));
        let to = end(self, to, n);
        let length = from.checked_neg().and_then(|m| to.checked_add(&m)).unwrap_or_default();
        let ty = T::array(length.clone(), element);
        let t = Te::new(K::Slice { array: Box::new(a), from, length }, ty, span);
        wrap(binds, t)
    }

    /// The size an int expression is, naming it where it is no polynomial.
    pub fn bound(&mut self, env: &Env, e: &Expr, hint: &str) -> (Size, Option<(Var, Te)>) {
        let t = self.check(env, e, &T::Int, Why::Bound);
        self.solve();
        self.as_size(t, hint)
    }

    pub fn as_size(&mut self, t: Te, hint: &str) -> (Size, Option<(Var, Te)>) {
        match self.size_of(&t) {
            Some(n) => (n, None),
            None => {
                let v = self.supply.fresh(hint);
                (Size::var(v.clone()), Some((v, t)))
            }
        }
    }

    /// The polynomial an int term is.
    pub fn size_of(&self, t: &Te) -> Option<Size> {
        match self.metas.resolve(&t.ty) {
            T::Int => {}
            T::Meta(m) if self.metas.is_number(m) => {}
            _ => return None,
        }
        match &t.kind {
            K::Num(k) | K::Lit(Lit::Int(k)) => Some(Size::constant(*k)),
            K::Var(v) => Some(self.polynomials.get(&v.id).cloned().unwrap_or_else(|| Size::var(v.clone()))),
            K::Size(n) => Some(self.metas.zonk_size(n)),
            K::Op { head: Head::Prim(op), args, .. } => {
                let parts: Vec<Size> = args.iter().map(|a| self.size_of(a)).collect::<Option<_>>()?;
                match (*op, parts.as_slice()) {
                    ("+", [a, b]) => a.checked_add(b),
                    ("-", [a, b]) => a.checked_add(&b.checked_neg()?),
                    ("*", [a, b]) => a.checked_mul(b),
                    ("neg", [a]) => a.checked_neg(),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    pub fn evidently_nonnegative(&self, n: &Size) -> bool {
        n.terms.iter().all(|(m, c)| *c >= 0 && m.iter().all(|v| self.nonneg.contains(&v.id)))
    }

    /// A comprehension's or loop's index.
    pub fn index_variable(&mut self, env: &mut Env, name: &Ident, open: Option<Size>) -> Var {
        let i = self.supply.fresh(name.node.as_str());
        self.nonneg.insert(i.id);
        if name.node != "_" {
            env.bind(&name.node, &i, &T::Int, None);
            if open.is_some() {
                let local = Local::Cartesian { var: i.clone(), ty: T::Int, open };
                env.locals.insert(name.node.clone(), local);
            }
        }
        i
    }

    pub(super) fn comprehension(
        &mut self,
        env: &Env,
        body: &Expr,
        bounds: &[(Ident, Option<Expr>)],
        span: Span,
    ) -> Te {
        self.distinct("index", bounds.iter().map(|(i, _)| i));
        let mut inner = env.clone();
        let (mut binds, mut levels) = (vec![], vec![]);
        for (name, bound) in bounds {
            let (n, open) = match bound {
                Some(e) => {
                    let (n, bind) = self.bound(env, e, "m");
                    binds.extend(bind);
                    (n, None)
                }
                None => {
                    let n = self.metas.fresh_size(&name.node);
                    (n.clone(), Some(n))
                }
            };
            levels.push((self.index_variable(&mut inner, name, open), n));
        }
        let body = self.infer(&inner, body);
        let t = levels.into_iter().rev().fold(body, |body, (index, bound)| {
            let ty = T::array(bound.clone(), body.ty.clone());
            Te::new(K::Comprehension { index, bound, body: Box::new(body) }, ty, span)
        });
        wrap(binds, t)
    }

    pub(super) fn loop_state(&mut self, env: &Env, state: &Param, init: &Expr) -> (P, Te, Env) {
        let init = match &state.ty {
            Some(t) => {
                let want = self.written(env, t);
                self.check(env, init, &want, Why::Annotation(t.span))
            }
            None => self.infer(env, init),
        };
        self.solve();
        let mut inner = env.clone();
        let ty = init.ty.clone();
        let p = self.pattern(&mut inner, &state.pat, &ty, None);
        (p, init, inner)
    }

    pub(super) fn loop_for(&mut self, env: &Env, l: &LoopFor, span: Span) -> Te {
        let collect = match l.flavour {
            LoopFlavour::Plain => false,
            LoopFlavour::Collect => true,
            LoopFlavour::LinearUp | LoopFlavour::LinearDown => {
                self.report(
                    Diagnostic::new(
                        codes::CARTESIAN_USE,
                        "a loop of the linear language stands outside of it",
                    )
                    .label(span, env.why.unwrap_or("only the body of a linear λ `\\z -o …` is linear")),
                );
                return Te::error(span);
            }
        };
        let (state, init, mut inner) = self.loop_state(env, &l.state, &l.init);
        let bound = self.check(env, &l.bound, &T::Int, Why::Bound);
        self.solve();
        let mut binds = vec![];
        let bound = match self.size_of(&bound) {
            Some(n) if collect || self.evidently_nonnegative(&n) => n,
            None if collect => {
                let (n, bind) = self.as_size(bound, "m");
                binds.extend(bind);
                n
            }
            // A loop with a bound below zero does nothing.
            Some(_) | None => {
                let m = self.supply.fresh("m");
                self.nonneg.insert(m.id);
                let span = bound.span;
                let zero = Te::new(K::Num(0), T::Int, span);
                let clamped =
                    K::Op { head: Head::Prim("max"), types: vec![], sizes: vec![], args: vec![zero, bound] };
                binds.push((m.clone(), Te::new(clamped, T::Int, span)));
                Size::var(m)
            }
        };
        let index = self.index_variable(&mut inner, &l.index, None);
        let sty = state.ty.clone();
        let (body, ty) = if collect {
            let body = self.infer(&inner, &l.body);
            let out = self.metas.fresh();
            let found = body.ty.clone();
            let want = T::tuple([sty.clone(), out.clone()]);
            self.require(body.span, &found, &want, Why::State(init.span));
            (body, T::tuple([sty, T::array(bound.clone(), out)]))
        } else {
            (self.check(&inner, &l.body, &sty, Why::State(init.span)), sty)
        };
        let (init, body) = (Box::new(init), Box::new(body));
        let t = Te::new(K::LoopFor { collect, state, init, index, bound, body }, ty, span);
        wrap(binds, t)
    }
}
