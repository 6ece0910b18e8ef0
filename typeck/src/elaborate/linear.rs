//! Linear terms of the typed tree to Target's linear terms.

use crate::elaborate::{Around, Elaborate};
use crate::tree::{LK, Le, P, PK};
use lang::core::{Term, Tm};
use lang::target::{LBinder, Lin, LinTerm, make as l};
use lang::types::LType;
use std::sync::Arc;

impl Elaborate<'_> {
    pub fn linear_lambda(&mut self, p: &P, body: &Le) -> Tm {
        let (z, parts) = self.linear_binder(p);
        let body = self.linear_scoped(body);
        lang::core::make::lin_lam(z, wrap_linear(parts, body))
    }

    fn linear_scoped(&mut self, body: &Le) -> Lin {
        let (t, around) = self.scoped_with(|s| s.linear(body));
        self.around(around, t)
    }

    fn around(&mut self, around: Vec<Around>, t: Lin) -> Lin {
        // Names for the units of checks come from the supply.
        around.into_iter().rev().fold(t, |t, a| match a {
            Around::Let(x, s) => l::clet(x, s, t),
            Around::Check { cond, failure, details, site } => {
                let guarded =
                    Arc::new(Term::Check { cond, failure, details, site, body: lang::core::make::unit() });
                let v = self.inf.supply.fresh("_");
                l::clet(lang::core::Binder::new(v, lang::types::Type::unit()), guarded, t)
            }
        })
    }

    /// The binder of a linear pattern and the linear lets that take it apart.
    fn linear_binder(&mut self, p: &P) -> (LBinder, Vec<(LBinder, Lin)>) {
        let ty = self.ltype(&p.ty, p.span);
        let v = match &p.kind {
            PK::Var(v) => v.clone(),
            PK::Wildcard => self.inf.supply.fresh("_"),
            PK::Tuple(_) | PK::Record(_) | PK::Array(_) => self.inf.supply.fresh("z"),
            PK::Int(_) | PK::Bool(_) | PK::Constructor(..) => self.inf.supply.fresh("_"),
        };
        let mut parts = vec![];
        match &p.kind {
            PK::Var(_) | PK::Wildcard | PK::Int(_) | PK::Bool(_) | PK::Constructor(..) => {}
            PK::Tuple(ps) | PK::Record(ps) => {
                for (k, p) in ps.iter().enumerate() {
                    let (z, inner) = self.linear_binder(p);
                    parts.push((z, l::proj(l::var(&v), k)));
                    parts.extend(inner);
                }
            }
            PK::Array(ps) => {
                for (k, p) in ps.iter().enumerate() {
                    let (z, inner) = self.linear_binder(p);
                    parts.push((z, l::index(l::var(&v), lang::core::make::int(k as i64))));
                    parts.extend(inner);
                }
            }
        }
        (LBinder::new(v, ty), parts)
    }

    pub fn linear(&mut self, t: &Le) -> Lin {
        let span = t.span;
        match &t.kind {
            LK::Var(v) => l::var(v),
            LK::Zero => l::zero(self.ltype(&t.ty, span)),
            LK::Plus(a, b) => l::plus(self.linear(a), self.linear(b)),
            LK::Tuple(ts) => l::tuple(ts.iter().map(|t| self.linear(t)).collect::<Vec<_>>()),
            LK::Proj(a, i) => l::proj(self.linear(a), *i),
            LK::Record(fields) => {
                let mut parts: Vec<(&str, Lin)> =
                    fields.iter().map(|(x, t)| (&**x, self.linear(t))).collect();
                parts.sort_by(|a, b| a.0.cmp(b.0));
                l::tuple(parts.into_iter().map(|(_, t)| t))
            }
            LK::Field(t, x) => {
                let position = self.position(&t.ty, x);
                l::proj(self.linear(t), position)
            }
            LK::Coproj { env, up, term } => {
                let env = self.ltype(env, span);
                l::coproj(env, *up, self.linear(term))
            }
            LK::EnvProj { up, term } => l::env_proj(*up, self.linear(term)),
            LK::Power(p, body) => {
                let (x, parts) = self.binder(p);
                let body = self.linear_scoped(body);
                let body = self.around(parts, body);
                Arc::new(LinTerm::Power(x, body))
            }
            LK::PowerApp(a, s) => {
                let a = self.linear(a);
                Arc::new(LinTerm::PowerApp(a, self.term(s)))
            }
            LK::Tensor(a, v) => {
                let a = self.term(a);
                Arc::new(LinTerm::Tensor(a, self.linear(v)))
            }
            LK::TensorElim { scrutinee, var, lin, body } => {
                let scrutinee = self.linear(scrutinee);
                let (var, parts) = self.binder(var);
                let (lin, linear_parts) = self.linear_binder(lin);
                let body = wrap_linear(linear_parts, self.linear_scoped(body));
                let body = self.around(parts, body);
                Arc::new(LinTerm::TensorElim { scrutinee, var, lin, body })
            }
            LK::Scale(a, t) => {
                let a = self.term(a);
                l::scale(a, self.linear(t))
            }
            LK::App(f, a) => {
                let f = self.term(f);
                l::app(f, self.linear(a))
            }
            LK::Let(p, s, body) => {
                let s = self.linear(s);
                let (z, parts) = self.linear_binder(p);
                l::let_(z, s, wrap_linear(parts, self.linear(body)))
            }
            LK::CLet(p, s, body) => {
                let s = self.term(s);
                let (x, parts) = self.binder(p);
                let mark = self.floats.len();
                let in_type = self.inf.metas.zonk(&t.ty).size_vars().contains(&x.var);
                let body = self.linear(body);
                if in_type || self.floats.len() > mark {
                    // Sizes named here are needed outside: this let goes out with them.
                    let after = self.floats.split_off(mark);
                    self.floats.push(Around::Let(x, s));
                    self.floats.extend(parts);
                    self.floats.extend(after);
                    return body;
                }
                l::clet(x, s, self.around(parts, body))
            }
            LK::Bind(binds, body) => {
                for (v, e) in binds {
                    let e = self.term(e);
                    self.float(Around::Let(lang::core::Binder::new(v.clone(), lang::types::Type::Int), e));
                }
                self.linear(body)
            }
            LK::If(c, a, b) => {
                let c = self.term(c);
                let a = self.linear_scoped(a);
                let b = self.linear_scoped(b);
                l::if_(c, a, b)
            }
            LK::Case(t, arms) => {
                let t = self.term(t);
                let arms = arms.iter().map(|(p, body)| {
                    let (x, parts) = self.binder(p);
                    let body = self.linear_scoped(body);
                    (x, self.around(parts, body))
                });
                let arms = arms.collect();
                Arc::new(LinTerm::Case(t, arms))
            }
            LK::SumElim(t, arms) => {
                let t = self.linear(t);
                let arms = arms.iter().map(|(p, body)| {
                    let (z, parts) = self.linear_binder(p);
                    (z, wrap_linear(parts, self.linear_scoped(body)))
                });
                let arms = arms.collect();
                Arc::new(LinTerm::SumElim(t, arms))
            }
            LK::Inject(k, a) => {
                let ty = self.ltype(&t.ty, span);
                Arc::new(LinTerm::Inject(*k, ty, self.linear(a)))
            }
            LK::FromInject(k, a) => Arc::new(LinTerm::FromInject(*k, self.linear(a))),
            LK::Build { index, bound, body } => {
                let bound = self.size(bound, span);
                self.bring_into_scope(index);
                let body = self.linear_scoped(body);
                l::build(index.clone(), bound, body)
            }
            LK::Index(a, i) => {
                let a = self.linear(a);
                l::index(a, self.term(i))
            }
            LK::OneHot { bound, index, term } => {
                let bound = self.size(bound, span);
                let index = self.term(index);
                l::onehot(bound, index, self.linear(term))
            }
            LK::Sum { index, bound, body } => {
                let bound = self.size(bound, span);
                self.bring_into_scope(index);
                let body = self.linear_scoped(body);
                l::sum(index.clone(), bound, body)
            }
            LK::Loop { direction, state, init, index, bound, body } => {
                let init = self.linear(init);
                let bound = self.size(bound, span);
                let (state, parts) = self.linear_binder(state);
                self.bring_into_scope(index);
                let body = wrap_linear(parts, self.linear_scoped(body));
                Arc::new(LinTerm::Loop {
                    direction: *direction,
                    state,
                    init,
                    index: index.clone(),
                    bound,
                    body,
                })
            }
            LK::Error => {
                self.failed = true;
                l::zero(LType::unit())
            }
        }
    }
}

fn wrap_linear(parts: Vec<(LBinder, Lin)>, body: Lin) -> Lin {
    parts.into_iter().rev().fold(body, |body, (z, t)| l::let_(z, t, body))
}
