//! Linear terms.

use super::names::Names;
use super::{Distill, binary, bound, call, ident, number, some, types, var};
use crate::name::Var;
use crate::size::Size;
use crate::surface::*;
use crate::target::{Direction, LBinder, Lin, LinTerm};

impl Distill<'_> {
    /// A linear binder with its type; its scope is `names` from now on.
    pub(super) fn lbinder(&mut self, z: &LBinder, names: &mut Names) -> Param {
        let ty = types::lty(&z.ty, names);
        self.scope.bind_lin(&z.var, &z.ty);
        Param { pat: self.pattern(&z.var, names), ty: Some(ty) }
    }

    pub(super) fn linear(&mut self, t: &Lin, names: &Names) -> Expr {
        let b = |e: Expr| Box::new(e);
        some(match &**t {
            LinTerm::Var(z) => ExprKind::Var(names.of(z).to_string()),
            LinTerm::Zero(ty) => ExprKind::TypeApp(ident("zero"), vec![TyArg::Ty(types::lty(ty, names))]),
            LinTerm::Plus(t, s) => return binary(BinOp::Add, self.linear(t, names), self.linear(s, names)),
            LinTerm::Tuple(ts) if ts.len() == 1 => {
                ExprKind::Record(vec![(ident(types::ONLY), self.linear(&ts[0], names))])
            }
            LinTerm::Tuple(ts) => ExprKind::Tuple(ts.iter().map(|t| self.linear(t, names)).collect()),
            LinTerm::Proj(t, i) => {
                let single = *i == 0
                    && match crate::typing::type_of_lin(t, &mut self.scope, self.program) {
                        crate::types::LType::Tuple(ts) => ts.len() == 1,
                        _ => false,
                    };
                let t = b(self.linear(t, names));
                if single { ExprKind::Field(t, ident(types::ONLY)) } else { ExprKind::Proj(t, *i) }
            }
            LinTerm::Coproj { env, up, term } => {
                let coproj =
                    some(ExprKind::TypeApp(ident("coproj"), vec![TyArg::Ty(types::lty(env, names))]));
                return call(coproj, [number(*up as i64), self.linear(term, names)]);
            }
            LinTerm::EnvProj { up, term } => {
                return call(var("envproj"), [number(*up as i64), self.linear(term, names)]);
            }
            LinTerm::Power(x, t) => {
                let mut inner = names.clone();
                let p = self.binder(x, &mut inner);
                ExprKind::Lam(vec![p], b(self.linear(t, &inner)))
            }
            LinTerm::PowerApp(t, s) => {
                let t = self.linear(t, names);
                return call(t, [self.term(s, names, false)]);
            }
            LinTerm::Tensor(a, t) => {
                let a = self.term(a, names, false);
                ExprKind::Tensor(b(a), b(self.linear(t, names)))
            }
            LinTerm::TensorElim { scrutinee, var, lin, body } => {
                let scrutinee = b(self.linear(scrutinee, names));
                let mut inner = names.clone();
                let (var, lin) = (self.binder(var, &mut inner), self.lbinder(lin, &mut inner));
                ExprKind::TensorElim { scrutinee, var, lin, body: b(self.linear(body, &inner)) }
            }
            LinTerm::Scale(a, t) => {
                let a = self.term(a, names, true);
                return binary(BinOp::Mul, a, self.linear(t, names));
            }
            LinTerm::App(l, t) => {
                let l = self.term(l, names, false);
                return call(l, [self.linear(t, names)]);
            }
            LinTerm::Let(z, s, t) => {
                let s = match &**s {
                    // An empty tuple alone would be taken for a Cartesian value.
                    LinTerm::Tuple(ts) if ts.is_empty() => LinTerm::Zero(z.ty.clone()).into(),
                    _ => s.clone(),
                };
                let s = b(self.linear(&s, names));
                let mut inner = names.clone();
                let p = self.lbinder(z, &mut inner);
                ExprKind::Let(Box::new(p), s, b(self.linear(t, &inner)))
            }
            LinTerm::CLet(x, a, t) => {
                let a = b(self.term(a, names, super::needs_type(&x.ty)));
                let mut inner = names.clone();
                let p = self.inferred(x, &mut inner);
                ExprKind::Let(Box::new(p), a, b(self.linear(t, &inner)))
            }
            LinTerm::If(c, t, s) => {
                let c = b(self.term(c, names, true));
                ExprKind::If(c, b(self.linear(t, names)), b(self.linear(s, names)))
            }
            LinTerm::Case(a, arms) => {
                let a = b(self.term(a, names, false));
                let mut all = vec![];
                for (i, (x, s)) in arms.iter().enumerate() {
                    let mut inner = names.clone();
                    let p = self.binder(x, &mut inner).pat;
                    all.push((types::arm(i, p), self.linear(s, &inner)));
                }
                ExprKind::Match(a, all)
            }
            LinTerm::Inject(i, ty, t) => {
                let inject = some(ExprKind::TypeApp(ident("inject"), vec![TyArg::Ty(types::lty(ty, names))]));
                return call(inject, [number(*i as i64), self.linear(t, names)]);
            }
            LinTerm::SumElim(t, arms) => {
                let t = b(self.linear(t, names));
                let mut all = vec![];
                for (i, (z, s)) in arms.iter().enumerate() {
                    let mut inner = names.clone();
                    let p = self.lbinder(z, &mut inner).pat;
                    all.push((types::arm(i, p), self.linear(s, &inner)));
                }
                ExprKind::Match(t, all)
            }
            LinTerm::FromInject(i, t) => {
                return call(var("from_inject"), [number(*i as i64), self.linear(t, names)]);
            }
            LinTerm::Build { index, bound, body } => {
                let (i, n, body) = self.under_index(index, bound, body, names);
                ExprKind::Comprehension { body: b(body), bounds: vec![(i, Some(n))] }
            }
            LinTerm::Index(t, i) => {
                let t = b(self.linear(t, names));
                ExprKind::Index(t, vec![self.term(i, names, true)])
            }
            LinTerm::OneHot { bound, index, term } => {
                let onehot = some(ExprKind::TypeApp(ident("onehot"), vec![types::size_arg(bound, names)]));
                let index = self.term(index, names, true);
                return call(onehot, [index, self.linear(term, names)]);
            }
            LinTerm::Sum { index, bound, body } => {
                let (index, n, body) = self.under_index(index, bound, body, names);
                ExprKind::Suml { index, bound: b(n), body: b(body) }
            }
            LinTerm::Loop { direction, state, init, index, bound: n, body } => {
                let flavour = match direction {
                    Direction::Up => LoopFlavour::LinearUp,
                    Direction::Down => LoopFlavour::LinearDown,
                };
                let init = self.linear(init, names);
                let bound = bound(n, names);
                let mut inner = names.clone();
                let state = self.lbinder(state, &mut inner);
                let index = self.index(index, &mut inner);
                let body = self.linear(body, &inner);
                ExprKind::LoopFor(Box::new(LoopFor { flavour, state, init, index, bound, body }))
            }
        })
    }

    fn under_index(&mut self, index: &Var, n: &Size, body: &Lin, names: &Names) -> (Ident, Expr, Expr) {
        let n = bound(n, names);
        let mut inner = names.clone();
        let i = self.index(index, &mut inner);
        (i, n, self.linear(body, &inner))
    }
}
