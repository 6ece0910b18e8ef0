//! Sums as products: a value of τ1 + … + τk is (tag, τ1, …, τk), of which the payload that the tag names is meant and the others are not
//! read. Case is a choice by the tag. So the normal form knows no sums, and D sees the arms as branches: a payload that is not meant has the
//! derivative 0 of what is not used.

use super::Normaliser;
use super::value::{Env, FnClosure, LinClosure, V};
use crate::Error;
use lang::core::{Binder, Lit, Term, Tm};
use lang::prim::Prim;
use lang::target::{LBinder, LinTerm};
use lang::types::{LType, Type};
use std::rc::Rc;
use std::sync::Arc;

/// τ1 + … + τk as (int, τ1, …, τk), the parts being lowered already.
pub fn lowered(t: &Type) -> Type {
    match t {
        Type::Sum(ts) => Type::Tuple(std::iter::once(Type::Int).chain(ts.iter().cloned()).collect()),
        Type::Real | Type::Int | Type::Bool | Type::Tuple(_) | Type::Array(..) | Type::Fun(..) => t.clone(),
        Type::Param(_) | Type::Lin(..) => t.clone(),
    }
}

/// D of the lowered type: the tag has the tangent 1̲.
pub fn lowered_lin(t: &LType) -> LType {
    match t {
        LType::Sum(ts) => LType::Tuple(std::iter::once(LType::unit()).chain(ts.iter().cloned()).collect()),
        LType::Real | LType::Tuple(_) | LType::Array(..) | LType::Power(..) => t.clone(),
        LType::Copower(..) | LType::Param(_) => t.clone(),
    }
}

impl Normaliser<'_> {
    /// in_i v
    pub(super) fn inject(&mut self, i: usize, ty: &Type, v: V, env: &Env) -> Result<V, Error> {
        let Type::Sum(ts) = ty else { return Err(Error::bug("an injection into no sum")) };
        let mut parts = vec![V::int(i as i64)];
        for (k, t) in ts.iter().enumerate() {
            let t = self.ty(t, env)?;
            parts.push(if k == i { v.clone() } else { self.absent(&t) });
        }
        Ok(V::tuple(parts))
    }

    /// A payload that nobody reads.
    fn absent(&mut self, ty: &Type) -> V {
        match ty {
            Type::Real => V::real(0.0),
            Type::Int => V::int(0),
            Type::Bool => V::bool(false),
            Type::Tuple(ts) => V::tuple(ts.iter().map(|t| self.absent(t)).collect::<Vec<_>>()),
            Type::Array(..) | Type::Sum(_) | Type::Param(_) => {
                V::Atom(Arc::new(Term::Unread(ty.clone())), ty.clone())
            }
            Type::Fun(a, b) => {
                let param = Binder::new(self.fresh("x"), (**a).clone());
                let body = Arc::new(Term::Unread((**b).clone()));
                V::Fn(Rc::new(FnClosure { param, body, env: Env::default() }))
            }
            Type::Lin(a, b) => {
                let param = LBinder::new(self.fresh("z"), (**a).clone());
                let body = Arc::new(LinTerm::Zero((**b).clone()));
                V::Lin(Rc::new(LinClosure { param, body, env: Env::default() }))
            }
        }
    }

    /// case v of {in_i x_i → s_i}: the arm that the tag names, or a choice by the tag.
    pub(super) fn case(&mut self, v: V, arms: &[(Binder, Tm)], env: &Env, name: &str) -> Result<V, Error> {
        match v {
            V::Tuple(parts) => match parts[0].literal() {
                Some(Lit::Int(k)) => self.case_arm(&arms[k as usize], &parts[k as usize + 1], env, name),
                _ => self.case_from(0, &parts, arms, env, name),
            },
            V::Choice(c, a, b) => self.if_(
                c,
                |n| n.case((*a).clone(), arms, env, name),
                |n| n.case((*b).clone(), arms, env, name),
                name,
            ),
            V::Int(_) | V::Atom(..) | V::Fn(_) | V::Lin(_) | V::Family(_) => {
                Err(Error::bug("case of a value that is no sum"))
            }
        }
    }

    fn case_from(
        &mut self,
        k: usize,
        parts: &[V],
        arms: &[(Binder, Tm)],
        env: &Env,
        name: &str,
    ) -> Result<V, Error> {
        if k + 1 == arms.len() {
            return self.case_arm(&arms[k], &parts[k + 1], env, name);
        }
        let is = self.prim(Prim::IEq, vec![parts[0].clone(), V::int(k as i64)], "is")?.reify()?;
        self.if_(
            is,
            |n| n.case_arm(&arms[k], &parts[k + 1], env, name),
            |n| n.case_from(k + 1, parts, arms, env, name),
            name,
        )
    }

    fn case_arm(&mut self, (x, s): &(Binder, Tm), payload: &V, env: &Env, name: &str) -> Result<V, Error> {
        let mut env = env.clone();
        env.vars.insert(x.var.clone(), payload.clone());
        self.term(s, &env, name)
    }
}
