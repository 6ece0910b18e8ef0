//! The type of a term that is known to be well typed. Checking is `typeck`'s work.

use crate::core::{Binder, Lit, Program, Term, Tm};
use crate::name::Var;
use crate::prim::Scalar;
use crate::size::Size;
use crate::target::{Lin, LinTerm};
use crate::types::{LType, Type};
use crate::walk::{Mapper, Subst, as_size};
use std::collections::HashMap;

/// Types of the variables in scope. Since binders are unique, entries need not be removed when scopes end.
#[derive(Clone, Default)]
pub struct Scope {
    pub vars: HashMap<Var, Type>,
    pub lins: HashMap<Var, LType>,
}

impl Scope {
    pub fn bind(&mut self, v: &Var, t: &Type) {
        self.vars.insert(v.clone(), t.clone());
    }
    pub fn bind_lin(&mut self, v: &Var, t: &LType) {
        self.lins.insert(v.clone(), t.clone());
    }
}

pub fn scalar(s: Scalar) -> Type {
    match s {
        Scalar::Real => Type::Real,
        Scalar::Int => Type::Int,
        Scalar::Bool => Type::Bool,
    }
}

/// The type of t, whose free variables are in scope; the scope gains t's binders.
pub fn type_of(t: &Tm, scope: &mut Scope, program: &Program) -> Type {
    match &**t {
        Term::Var(v) => match scope.vars.get(v) {
            Some(ty) => ty.clone(),
            None => panic!("compiler bug: variable {v:?} is not in scope"),
        },
        Term::Lit(Lit::Real(_)) => Type::Real,
        Term::Lit(Lit::Int(_)) => Type::Int,
        Term::Lit(Lit::Bool(_)) => Type::Bool,
        Term::Let(x, t, s) => {
            scope.bind(&x.var, &x.ty);
            let ty = type_of(s, scope, program);
            match known_size(x, t) {
                Some(mut known) => known.ty(&ty),
                None => ty,
            }
        }
        Term::Tuple(ts) => Type::Tuple(ts.iter().map(|t| type_of(t, scope, program)).collect()),
        Term::Proj(t, i) => match type_of(t, scope, program) {
            Type::Tuple(ts) => ts[*i].clone(),
            other => panic!("compiler bug: projection of {other:?}"),
        },
        Term::Inject(_, ty, _) => ty.clone(),
        Term::Case(_, arms) => {
            let (x, s) = &arms[0];
            scope.bind(&x.var, &x.ty);
            type_of(s, scope, program)
        }
        Term::Lam(x, s) => {
            scope.bind(&x.var, &x.ty);
            Type::fun(x.ty.clone(), type_of(s, scope, program))
        }
        Term::App(f, _) => match type_of(f, scope, program) {
            Type::Fun(_, b) => (*b).clone(),
            other => panic!("compiler bug: application of {other:?}"),
        },
        Term::Prim(p, _) => scalar(p.row().result),
        Term::If(_, t, _) => type_of(t, scope, program),
        Term::Build { index, bound, body } => {
            scope.bind(index, &Type::Int);
            Type::array(bound.clone(), type_of(body, scope, program))
        }
        Term::Index(a, _, _) => match type_of(a, scope, program) {
            Type::Array(_, t) => (*t).clone(),
            other => panic!("compiler bug: index into {other:?}"),
        },
        Term::Update { array, .. } => type_of(array, scope, program),
        Term::Array(ty, ts) => Type::array(Size::constant(ts.len() as i64), ty.clone()),
        Term::Sum { .. } | Term::Extremum { .. } => Type::Real,
        Term::Loop { state, index, bound, body, .. } => {
            scope.bind(&state.var, &state.ty);
            scope.bind(index, &Type::Int);
            match type_of(body, scope, program) {
                Type::Tuple(ts) => Type::tuple([state.ty.clone(), Type::array(bound.clone(), ts[1].clone())]),
                other => panic!("compiler bug: loop body of type {other:?}"),
            }
        }
        Term::While { state, .. } => state.ty.clone(),
        Term::Argsort(a) => match type_of(a, scope, program) {
            Type::Array(n, _) => Type::array(n, Type::Int),
            other => panic!("compiler bug: argsort of {other:?}"),
        },
        Term::Check { body, .. } => type_of(body, scope, program),
        Term::Call { def, types, sizes, args } => {
            let d = &program.defs[def];
            let mut supply = crate::name::Supply::default();
            let mut s = Subst::new(&mut supply);
            s.types = d.types.iter().cloned().zip(types.iter().cloned()).collect();
            s.terms = d.sizes.iter().cloned().zip(sizes.iter().map(crate::core::make::size)).collect();
            // An int parameter that the result's type mentions stands for the argument, a size.
            let ints = d.params.iter().zip(args).filter(|(x, t)| x.ty == Type::Int && as_size(t).is_some());
            s.terms.extend(ints.map(|(x, t)| (x.var.clone(), t.clone())));
            s.ty(&d.result)
        }
        Term::Diff { mode, f, x, .. } => match type_of(f, scope, program) {
            Type::Fun(a, b) => {
                let _ = x;
                let (da, db) = (a.tangent(*mode), b.tangent(*mode));
                let map = match mode {
                    crate::types::Mode::Forward => Type::lin(da, db),
                    crate::types::Mode::Reverse => Type::lin(db, da),
                };
                Type::tuple([(*b).clone(), map])
            }
            other => panic!("compiler bug: derivative of {other:?}"),
        },
        Term::Detach(t) => type_of(t, scope, program),
        Term::LinLam(z, t) => {
            scope.bind_lin(&z.var, &z.ty);
            Type::lin(z.ty.clone(), type_of_lin(t, scope, program))
        }
        Term::LinApp(l, _) => match type_of(l, scope, program) {
            Type::Lin(_, b) => {
                b.erase().expect("a map applied to a Cartesian value has a first-order codomain")
            }
            other => panic!("compiler bug: linear application of {other:?}"),
        },
        Term::Unread(ty) | Term::Unbox(ty, _) => ty.clone(),
        Term::Box(_) => Type::Int,
        Term::Zero(ty) => ty.erase().expect("a Cartesian zero has a first-order type"),
    }
}

/// An int bound to a size polynomial: outside its scope types mention the polynomial instead.
struct KnownSize {
    var: Var,
    size: Size,
}

fn known_size(x: &Binder, t: &Tm) -> Option<KnownSize> {
    let size = if x.ty == Type::Int { as_size(t)? } else { return None };
    Some(KnownSize { var: x.var.clone(), size })
}

impl Mapper for KnownSize {
    fn size(&mut self, n: &Size) -> Size {
        n.subst(&|v| (*v == self.var).then(|| self.size.clone())).unwrap_or_else(|| n.clone())
    }
}

/// The slot `up` binders below the top of an environment type.
pub fn env_slot(env: &LType, up: usize) -> &LType {
    match env {
        LType::Tuple(ts) if ts.len() == 2 && up == 0 => &ts[1],
        LType::Tuple(ts) if ts.len() == 2 => env_slot(&ts[0], up - 1),
        other => panic!("compiler bug: no slot {up} in environment {other:?}"),
    }
}

/// The type of a linear term.
pub fn type_of_lin(t: &Lin, scope: &mut Scope, program: &Program) -> LType {
    match &**t {
        LinTerm::Var(z) => match scope.lins.get(z) {
            Some(ty) => ty.clone(),
            None => panic!("compiler bug: linear variable {z:?} is not in scope"),
        },
        LinTerm::Zero(ty) => ty.clone(),
        LinTerm::Plus(a, _) => type_of_lin(a, scope, program),
        LinTerm::Tuple(ts) => LType::Tuple(ts.iter().map(|t| type_of_lin(t, scope, program)).collect()),
        LinTerm::Proj(t, i) => match type_of_lin(t, scope, program) {
            LType::Tuple(ts) => ts[*i].clone(),
            other => panic!("compiler bug: linear projection of {other:?}"),
        },
        LinTerm::Coproj { env, .. } => env.clone(),
        LinTerm::EnvProj { up, term } => env_slot(&type_of_lin(term, scope, program), *up).clone(),
        LinTerm::Power(x, t) => {
            scope.bind(&x.var, &x.ty);
            LType::Power(x.ty.clone().into(), type_of_lin(t, scope, program).into())
        }
        LinTerm::PowerApp(t, _) => match type_of_lin(t, scope, program) {
            LType::Power(_, b) => (*b).clone(),
            other => panic!("compiler bug: power application of {other:?}"),
        },
        LinTerm::Tensor(a, t) => {
            LType::Copower(type_of(a, scope, program).into(), type_of_lin(t, scope, program).into())
        }
        LinTerm::TensorElim { var, lin, body, .. } => {
            scope.bind(&var.var, &var.ty);
            scope.bind_lin(&lin.var, &lin.ty);
            type_of_lin(body, scope, program)
        }
        LinTerm::Scale(_, _) => LType::Real,
        LinTerm::App(l, _) => match type_of(l, scope, program) {
            Type::Lin(_, b) => (*b).clone(),
            other => panic!("compiler bug: linear application of {other:?}"),
        },
        LinTerm::Let(z, _, t) => {
            scope.bind_lin(&z.var, &z.ty);
            type_of_lin(t, scope, program)
        }
        LinTerm::CLet(x, t, s) => {
            scope.bind(&x.var, &x.ty);
            let ty = type_of_lin(s, scope, program);
            match known_size(x, t) {
                Some(mut known) => known.lty(&ty),
                None => ty,
            }
        }
        LinTerm::If(_, t, _) => type_of_lin(t, scope, program),
        LinTerm::Case(_, arms) => {
            let (x, s) = &arms[0];
            scope.bind(&x.var, &x.ty);
            type_of_lin(s, scope, program)
        }
        LinTerm::Inject(_, ty, _) => ty.clone(),
        LinTerm::SumElim(_, arms) => {
            let (z, s) = &arms[0];
            scope.bind_lin(&z.var, &z.ty);
            type_of_lin(s, scope, program)
        }
        LinTerm::FromInject(i, t) => match type_of_lin(t, scope, program) {
            LType::Sum(ts) => ts[*i].clone(),
            other => panic!("compiler bug: payload of {other:?}"),
        },
        LinTerm::Build { index, bound, body } => {
            scope.bind(index, &Type::Int);
            LType::array(bound.clone(), type_of_lin(body, scope, program))
        }
        LinTerm::Index(t, _) => match type_of_lin(t, scope, program) {
            LType::Array(_, t) => (*t).clone(),
            other => panic!("compiler bug: linear index into {other:?}"),
        },
        LinTerm::OneHot { bound, term, .. } => LType::array(bound.clone(), type_of_lin(term, scope, program)),
        LinTerm::Sum { index, body, .. } => {
            scope.bind(index, &Type::Int);
            type_of_lin(body, scope, program)
        }
        LinTerm::Loop { state, index, bound, body, .. } => {
            scope.bind_lin(&state.var, &state.ty);
            scope.bind(index, &Type::Int);
            match type_of_lin(body, scope, program) {
                LType::Tuple(ts) => LType::pair(state.ty.clone(), LType::array(bound.clone(), ts[1].clone())),
                other => panic!("compiler bug: linear loop body of type {other:?}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::make::{build, int, let_, prim, real, var};
    use crate::name::Supply;
    use crate::prim::Prim;

    /// let m = n + 1 in build m (λi. 0.0) : [n + 1]real
    #[test]
    fn a_known_size_outlives_its_variable() {
        let mut s = Supply::default();
        let (n, m, i) = (s.fresh("n"), s.fresh("m"), s.fresh("i"));
        let one_more = prim(Prim::IAdd, [var(&n), int(1)]);
        let t = let_(Binder::new(m.clone(), Type::Int), one_more.clone(), build(i, m.into(), real(0.0)));
        let mut scope = Scope::default();
        scope.bind(&n, &Type::Int);
        let expected = Type::array(as_size(&one_more).expect("a size"), Type::Real);
        assert_eq!(type_of(&t, &mut scope, &Program::default()), expected);
    }
}
