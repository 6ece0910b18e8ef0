//! What the normaliser knows of a term: its symbolic value.

use super::slots::Slots;
use super::trie::Trie;
use crate::Error;
use lang::core::{Lit, Term, Tm, make};
use lang::name::Var;
use lang::size::Size;
use lang::target::{LBinder, Lin};
use lang::types::{LType, Type};
use lang::walk;
use std::rc::Rc;

/// Symbolic values of the variables in scope. A variable that is absent stands for itself: it is bound in the normal form being built.
#[derive(Clone, Default)]
pub struct Env {
    pub vars: Trie<Var, V>,
    pub lins: Trie<Var, LV>,
}

/// A Cartesian value.
#[derive(Clone)]
pub enum V {
    /// An int that is a size polynomial (literals and index variables among them).
    Int(Size),
    /// A variable or literal of first-order type, not int-polynomial and not a tuple.
    Atom(Tm, Type),
    Tuple(Rc<[V]>),
    /// λx. t closed over an environment.
    Fn(Rc<FnClosure>),
    /// λ̲z. t closed over an environment.
    Lin(Rc<LinClosure>),
    /// An array that holds functions or linear maps: element i is `elem`, in which `saved` stands for what was kept of iteration i.
    Family(Rc<Family>),
    /// One of two values of which at least one holds a function, by a bool atom.
    Choice(Tm, Rc<V>, Rc<V>),
}

pub struct FnClosure {
    pub param: lang::core::Binder,
    pub body: Tm,
    pub env: Env,
}

pub struct LinClosure {
    pub param: LBinder,
    pub body: Lin,
    pub env: Env,
}

/// Element i of the array is `elem` with `index` := i and each of `saved` := its component of `store[i]`.
pub struct Family {
    pub index: Var,
    pub bound: Size,
    /// The array of what was kept ([n]τ for one saved variable, [n](τ…) for several); absent when nothing was.
    pub store: Option<V>,
    pub saved: Vec<(Var, Type)>,
    pub elem: V,
}

/// A linear value: a normal linear term, taken apart where its shape is known.
#[derive(Clone)]
pub enum LV {
    Zero(LType),
    Term(Lin, LType),
    Tuple(Rc<[LV]>),
    /// A sparse environment: the slots that are not 0̲, with the environment's type.
    Env(LType, Slots),
    /// `replicate n v`.
    Rep(Size, Rc<LV>),
    /// onehot_i v : [n]τ̲, the index an atom or a size polynomial.
    OneHot(Size, Tm, Rc<LV>),
    /// The unknown component (by number) of a linear loop's state, plus a value: how a component that passes through is recognised.
    Marked(usize, LType, Rc<LV>),
}

impl V {
    pub fn unit() -> V {
        V::Tuple(Rc::from([]))
    }
    pub fn tuple(vs: impl IntoIterator<Item = V>) -> V {
        V::Tuple(vs.into_iter().collect())
    }
    pub fn real(x: f64) -> V {
        V::Atom(make::real(x), Type::Real)
    }
    pub fn bool(b: bool) -> V {
        V::Atom(make::bool(b), Type::Bool)
    }
    pub fn int(k: i64) -> V {
        V::Int(Size::constant(k))
    }

    /// Variables bound in the normal form, as values.
    pub fn of_var(v: &Var, ty: &Type) -> V {
        match ty {
            Type::Int => V::Int(Size::var(v.clone())),
            _ => V::Atom(make::var(v), ty.clone()),
        }
    }

    pub fn literal(&self) -> Option<Lit> {
        match self {
            V::Int(n) => n.as_constant().map(Lit::Int),
            V::Atom(t, _) => match &**t {
                Term::Lit(l) => Some(*l),
                _ => None,
            },
            V::Tuple(_) | V::Fn(_) | V::Lin(_) | V::Family(_) | V::Choice(..) => None,
        }
    }

    /// Holds no function and no linear map.
    pub fn is_data(&self) -> bool {
        match self {
            V::Int(_) | V::Atom(..) => true,
            V::Tuple(vs) => vs.iter().all(V::is_data),
            V::Fn(_) | V::Lin(_) | V::Family(_) | V::Choice(..) => false,
        }
    }

    /// The type of data.
    pub fn ty(&self) -> Result<Type, Error> {
        Ok(match self {
            V::Int(_) => Type::Int,
            V::Atom(_, ty) => ty.clone(),
            V::Tuple(vs) => Type::Tuple(vs.iter().map(V::ty).collect::<Result<_, _>>()?),
            V::Fn(_) | V::Lin(_) | V::Family(_) | V::Choice(..) => return Err(Error::function_survives()),
        })
    }

    /// Data as a term: a tuple of atoms.
    pub fn reify(&self) -> Result<Tm, Error> {
        Ok(match self {
            V::Int(n) => make::size(n),
            V::Atom(t, _) => t.clone(),
            V::Tuple(vs) => make::tuple(vs.iter().map(V::reify).collect::<Result<Vec<_>, _>>()?),
            V::Fn(_) | V::Lin(_) | V::Family(_) | V::Choice(..) => return Err(Error::function_survives()),
        })
    }

    /// The size an int value is; None for an atom that is no polynomial.
    pub fn as_size(&self) -> Option<Size> {
        match self {
            V::Int(n) => Some(n.clone()),
            V::Atom(t, _) => walk::as_size(t),
            V::Tuple(_) | V::Fn(_) | V::Lin(_) | V::Family(_) | V::Choice(..) => None,
        }
    }
}

impl LV {
    pub fn unit() -> LV {
        LV::Tuple(Rc::from([]))
    }
    pub fn tuple(vs: impl IntoIterator<Item = LV>) -> LV {
        LV::Tuple(vs.into_iter().collect())
    }

    pub fn ty(&self) -> LType {
        match self {
            LV::Zero(ty) | LV::Term(_, ty) | LV::Env(ty, _) | LV::Marked(_, ty, _) => ty.clone(),
            LV::Tuple(vs) => LType::Tuple(vs.iter().map(LV::ty).collect()),
            LV::Rep(n, v) | LV::OneHot(n, _, v) => LType::array(n.clone(), v.ty()),
        }
    }

    pub fn is_zero(&self) -> bool {
        match self {
            LV::Zero(_) => true,
            LV::Tuple(vs) => vs.iter().all(LV::is_zero),
            LV::Env(_, slots) => slots.values().all(LV::is_zero),
            LV::Rep(_, v) | LV::OneHot(_, _, v) => v.is_zero(),
            LV::Term(_, ty) => ty.is_trivial(),
            LV::Marked(..) => false,
        }
    }
}
