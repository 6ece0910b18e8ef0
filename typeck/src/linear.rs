//! The linear language (chad.md §2): Γ; Δ̲ ⊢ e : τ̲, jointly linear in Δ̲. Each arm is headed by its rule; what is not linear is
//! rejected with the rule that it breaks.

mod apply;
mod sugar;
mod wrong;

use crate::codes;
use crate::env::{Env, Local, Types};
use crate::infer::{Infer, Why, flatten};
use crate::names::{mentioned_at, mentions};
use crate::tree::{K, LK, Le, P, Te};
use crate::ty::T;
use lang::diag::{Diagnostic, Span};
use lang::name::{Name, Var};
use lang::size::Size;
use lang::surface::{BinOp, Expr, ExprKind, Ident, LoopFlavour, LoopFor, Param, Pat, PatKind, TyArg, at};
use lang::target::Direction;

impl Infer<'_> {
    /// l-lam: Γ; z̲ : τ̲ ⊢ e : σ̲ gives λ̲z̲. e : τ̲ ⊸ σ̲. The body sees no other linear variable.
    pub fn linear_lambda(
        &mut self,
        env: &Env,
        param: &Param,
        body: &Expr,
        want: Option<&T>,
        span: Span,
    ) -> Te {
        let ty = self.param_type(env, param);
        if let Some(t) = &param.ty {
            self.linear_type(&ty, t.span);
        } else if let Some(T::Lin(a, _)) = want.map(|t| self.metas.resolve(t)) {
            let _ = self.metas.unify(&ty, &a);
        }
        let mut inner = self.linear_scope(env);
        let p = self.linear_pattern(&mut inner, &param.pat, &ty);
        let body = self.infer_linear(&inner, body);
        let map = T::lin(ty, body.ty.clone());
        Te::new(K::LinLam(p, Box::new(body)), map, span)
    }

    fn linear_type(&mut self, t: &T, span: Span) {
        let t = self.metas.zonk(t);
        Types::new(self.sigs, &mut self.diags).linear(&t, span);
    }

    /// A scope in which only linear variables bound from now on are seen.
    fn linear_scope(&mut self, env: &Env) -> Env {
        let mut inner = env.clone();
        inner.level = env.level + 1;
        inner.why = None;
        inner
    }

    /// A Cartesian term inside a linear one.
    fn cartesian(&self, env: &Env, why: &'static str) -> Env {
        Env { why: Some(why), ..env.clone() }
    }

    fn require_linear(&mut self, t: &Le, want: &T, why: Why) {
        let found = t.ty.clone();
        self.require(t.span, &found, want, why);
    }

    /// Does this expression use a linear variable in scope?
    fn uses_linear(&self, env: &Env, e: &Expr) -> bool {
        mentions(e, &|x| matches!(env.locals.get(x), Some(Local::Linear { .. })))
    }

    /// Is this expression a term of the linear language, rather than a Cartesian one? It uses a linear variable or a linear former.
    fn is_linear(&self, env: &Env, e: &Expr) -> bool {
        mentions(e, &|x| match env.locals.get(x) {
            Some(Local::Linear { .. }) => true,
            Some(Local::Cartesian { .. }) => false,
            None => matches!(x, "zero" | "coproj" | "envproj" | "onehot" | "tensor" | "suml" | "loop_up"),
        })
    }

    /// Γ; Δ̲ ⊢ e : τ̲
    pub fn infer_linear(&mut self, env: &Env, e: &Expr) -> Le {
        if self.depth >= crate::infer::DEPTH_LIMIT {
            let t = self.infer(env, e);
            return Le::error(t.span);
        }
        self.depth += 1;
        let t = self.infer_linear_at(env, e);
        self.depth -= 1;
        t
    }

    fn infer_linear_at(&mut self, env: &Env, e: &Expr) -> Le {
        let span = e.span;
        match &e.node {
            ExprKind::Var(x) => match env.locals.get(x) {
                // l-var
                Some(Local::Linear { var, ty, level }) if *level == env.level => {
                    Le::new(LK::Var(var.clone()), ty.clone(), span)
                }
                Some(Local::Linear { .. }) => self.out_of_sight(x, span),
                None if x == "zero" => Le::new(LK::Zero, self.metas.fresh(), span),
                Some(Local::Cartesian { .. }) | None => self.constant(env, e),
            },
            // l-zero
            ExprKind::TypeApp(x, targs) if x.node == "zero" => {
                let ty = self.linear_argument(env, x, targs);
                Le::new(LK::Zero, ty, span)
            }
            ExprKind::TypeApp(..) | ExprKind::App(..) => self.linear_spine(env, e),
            // l-plus
            ExprKind::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) => {
                let (a, b) = (self.infer_linear(env, a), self.infer_linear(env, b));
                let ty = a.ty.clone();
                self.require_linear(
                    &b,
                    &ty,
                    Why::Sides(if *op == BinOp::Add { "`+`" } else { "`-`" }, a.span),
                );
                let b = if *op == BinOp::Add { b } else { self.negated(b) };
                Le::new(LK::Plus(Box::new(a), Box::new(b)), ty, span)
            }
            // l-op
            ExprKind::Binary(op @ (BinOp::Mul | BinOp::Div), a, b) => {
                let (left, right) = (self.uses_linear(env, a), self.uses_linear(env, b));
                if left && right {
                    return self.both_linear(env, a, b);
                }
                let divides = *op == BinOp::Div;
                if divides && right {
                    return self.not_linear(env, b, "a quotient is not linear in its divisor", "l-op");
                }
                let (factor, term) = if divides || left { (b, a) } else { (a, b) };
                let inner = self.cartesian(env, "the factor of a linear term is Cartesian (l-op)");
                let mut factor = self.infer(&inner, factor);
                if divides {
                    let one = Te::new(K::Lit(lang::core::Lit::Real(1.0)), T::Real, factor.span);
                    factor = self.lift("/", vec![one, factor], span);
                }
                let term = self.infer_linear(env, term);
                self.product(factor, term, span)
            }
            ExprKind::Neg(t) => {
                let t = self.infer_linear(env, t);
                self.negated(t)
            }
            // l-pair, l-unit
            ExprKind::Tuple(es) => {
                let ts: Vec<Le> = es.iter().map(|e| self.infer_linear(env, e)).collect();
                let ty = T::tuple(ts.iter().map(|t| t.ty.clone()));
                Le::new(LK::Tuple(ts), ty, span)
            }
            // l-fst, l-snd
            ExprKind::Proj(t, i) => {
                let t = self.infer_linear(env, t);
                let ty = self.component(&t.ty, *i, span);
                Le::new(LK::Proj(Box::new(t), *i), ty, span)
            }
            // l-pair, by names
            ExprKind::Record(fields) => {
                self.distinct("field", fields.iter().map(|(x, _)| x));
                let fields: Vec<(Name, Le)> =
                    fields.iter().map(|(x, e)| (x.node.as_str().into(), self.infer_linear(env, e))).collect();
                let ty = T::record(fields.iter().map(|(x, t)| (x.clone(), t.ty.clone())).collect());
                Le::new(LK::Record(fields), ty, span)
            }
            ExprKind::Field(..) if self.member(env, e).is_some() => self.constant(env, e),
            ExprKind::Field(t, x) => {
                let t = self.infer_linear(env, t);
                let ty = self.field(&t.ty, x, span);
                Le::new(LK::Field(Box::new(t), x.node.as_str().into()), ty, span)
            }
            // l-pow
            ExprKind::Lam(params, body) => {
                let mut inner = env.clone();
                let mut patterns = vec![];
                for p in params {
                    let ty = self.param_type(&inner, p);
                    patterns.push(self.pattern(&mut inner, &p.pat, &ty, None));
                }
                let body = self.infer_linear(&inner, body);
                patterns.into_iter().rev().fold(body, |body, p| {
                    let ty = T::fun(p.ty.clone(), body.ty.clone());
                    Le::new(LK::Power(p, Box::new(body)), ty, span)
                })
            }
            // l-cop
            ExprKind::Tensor(a, v) => {
                let inner = self.cartesian(env, "the first part of a tensor is Cartesian (l-cop)");
                let a = self.infer(&inner, a);
                let v = self.infer_linear(env, v);
                let ty = T::Copower(a.ty.clone().into(), v.ty.clone().into());
                Le::new(LK::Tensor(Box::new(a), Box::new(v)), ty, span)
            }
            // l-cop-elim
            ExprKind::TensorElim { scrutinee, var, lin, body } => {
                let t = self.infer_linear(env, scrutinee);
                let (a, v) = (self.param_type(env, var), self.param_type(env, lin));
                self.require_linear(
                    &t,
                    &T::Copower(a.clone().into(), v.clone().into()),
                    Why::Operand("case … of tensor"),
                );
                let mut inner = self.linear_scope(env);
                let var = self.pattern(&mut inner, &var.pat, &a, None);
                let lin = self.linear_pattern(&mut inner, &lin.pat, &v);
                let body = self.infer_linear(&inner, body);
                let ty = body.ty.clone();
                let kind = LK::TensorElim { scrutinee: Box::new(t), var, lin, body: Box::new(body) };
                Le::new(kind, ty, span)
            }
            ExprKind::Let(p, s, body) => self.linear_let(env, p, s, body, span),
            // l-if
            ExprKind::If(c, a, b) => {
                let inner = self.cartesian(env, "a condition is Cartesian (l-if)");
                let c = self.check(&inner, c, &T::Bool, Why::Condition);
                let (a, b) = (self.infer_linear(env, a), self.infer_linear(env, b));
                let ty = a.ty.clone();
                self.require_linear(&b, &ty, Why::Branch(a.span));
                Le::new(LK::If(Box::new(c), Box::new(a), Box::new(b)), ty, span)
            }
            // l-build
            ExprKind::Comprehension { body, bounds } => {
                let mut inner = env.clone();
                self.distinct("index", bounds.iter().map(|(i, _)| i));
                let (mut binds, mut levels) = (vec![], vec![]);
                for (i, bound) in bounds {
                    let n = match bound {
                        Some(e) => self.linear_bound(env, e, &mut binds),
                        None => self.metas.fresh_size(&i.node),
                    };
                    let open = bound.is_none().then(|| n.clone());
                    levels.push((self.index_variable(&mut inner, i, open), n));
                }
                let body = self.infer_linear(&inner, body);
                let t = levels.into_iter().rev().fold(body, |body, (index, bound)| {
                    let ty = T::array(bound.clone(), body.ty.clone());
                    Le::new(LK::Build { index, bound, body: Box::new(body) }, ty, span)
                });
                wrap(binds, t)
            }
            // l-index
            ExprKind::Index(t, index) => {
                let mut t = self.infer_linear(env, t);
                let inner = self.cartesian(env, "an index is Cartesian (l-index)");
                for i in index {
                    let i = self.check(&inner, i, &T::Int, Why::Index);
                    let (n, element) = (self.metas.fresh_size("n"), self.metas.fresh());
                    self.require_linear(&t, &T::array(n, element.clone()), Why::Operand("[ ]"));
                    t = Le::new(LK::Index(Box::new(t), Box::new(i)), element, span);
                }
                t
            }
            // l-sum
            ExprKind::Suml { index, bound, body } => {
                let mut binds = vec![];
                let bound = self.linear_bound(env, bound, &mut binds);
                let mut inner = env.clone();
                let index = self.index_variable(&mut inner, index, None);
                let body = self.infer_linear(&inner, body);
                let ty = body.ty.clone();
                wrap(binds, Le::new(LK::Sum { index, bound, body: Box::new(body) }, ty, span))
            }
            // l-loop
            ExprKind::LoopFor(l) => self.linear_loop(env, l, span),
            // l-case, l-sum-elim
            ExprKind::Match(t, arms) => self.linear_match(env, t, arms, span),
            ExprKind::Array(es) if self.is_linear(env, e) => self.linear_array(env, es, span),
            ExprKind::Error => Le::error(span),
            ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Bool(_)
            | ExprKind::LinLam(..)
            | ExprKind::RecordUpdate(..)
            | ExprKind::ArrayUpdate { .. }
            | ExprKind::Array(_)
            | ExprKind::Slice(..)
            | ExprKind::LoopWhile { .. }
            | ExprKind::Binary(..)
            | ExprKind::Section(_)
            | ExprKind::As(..) => self.constant(env, e),
        }
    }

    /// The size and the names it needs.
    fn linear_bound(&mut self, env: &Env, e: &Expr, binds: &mut Vec<(Var, Te)>) -> Size {
        let inner = self.cartesian(env, "a bound is Cartesian (l-build, l-sum)");
        let (n, bind) = self.bound(&inner, e, "m");
        binds.extend(bind);
        n
    }

    /// l-let and l-clet
    fn linear_let(&mut self, env: &Env, p: &Param, s: &Expr, body: &Expr, span: Span) -> Le {
        let annotated = p.ty.as_ref().map(|t| (self.written(env, t), t.span));
        // What uses no linear variable is linear only if it says so: by a linear former and a linear type.
        let closed =
            annotated.as_ref().is_some_and(|(t, _)| t.to_ltype().is_some()) && self.is_linear(env, s);
        if self.uses_linear(env, s) || closed {
            let s = self.infer_linear(env, s);
            if let Some((t, at)) = &annotated {
                self.require_linear(&s, t, Why::Annotation(*at));
            }
            self.solve();
            let mut inner = env.clone();
            let ty = s.ty.clone();
            let p = self.linear_pattern(&mut inner, &p.pat, &ty);
            let body = self.infer_linear(&inner, body);
            let ty = body.ty.clone();
            return Le::new(LK::Let(p, Box::new(s), Box::new(body)), ty, span);
        }
        let cartesian = Env { why: None, ..env.clone() };
        let s = match &annotated {
            Some((t, at)) => self.check(&cartesian, s, t, Why::Annotation(*at)),
            None => self.infer(&cartesian, s),
        };
        self.solve();
        let mut inner = env.clone();
        let polynomial = self.size_of(&s);
        let ty = s.ty.clone();
        let p: P = self.pattern(&mut inner, &p.pat, &ty, polynomial);
        let body = self.infer_linear(&inner, body);
        let ty = body.ty.clone();
        Le::new(LK::CLet(p, Box::new(s), Box::new(body)), ty, span)
    }

    fn linear_loop(&mut self, env: &Env, l: &LoopFor, span: Span) -> Le {
        let direction = match l.flavour {
            LoopFlavour::LinearUp => Direction::Up,
            LoopFlavour::LinearDown => Direction::Down,
            LoopFlavour::Plain | LoopFlavour::Collect => {
                return self.not_one_of_it(
                    env,
                    span,
                    &l.init,
                    "a loop over linear state is `loop_up` or `loop_down`",
                );
            }
        };
        let init = self.infer_linear(env, &l.init);
        if let Some(t) = &l.state.ty {
            let want = self.written(env, t);
            self.require_linear(&init, &want, Why::Annotation(t.span));
        }
        let mut binds = vec![];
        let bound = self.linear_bound(env, &l.bound, &mut binds);
        let mut inner = env.clone();
        let ty = init.ty.clone();
        let state = self.linear_pattern(&mut inner, &l.state.pat, &ty);
        let index = self.index_variable(&mut inner, &l.index, None);
        let body = self.infer_linear(&inner, &l.body);
        let out = self.metas.fresh();
        self.require_linear(&body, &T::tuple([ty.clone(), out.clone()]), Why::State(init.span));
        let result = T::tuple([ty, T::array(bound.clone(), out)]);
        let (init, body) = (Box::new(init), Box::new(body));
        wrap(binds, Le::new(LK::Loop { direction, state, init, index, bound, body }, result, span))
    }
}

fn wrap(binds: Vec<(Var, Te)>, t: Le) -> Le {
    if binds.is_empty() {
        return t;
    }
    let (ty, span) = (t.ty.clone(), t.span);
    Le::new(LK::Bind(binds, Box::new(t)), ty, span)
}
