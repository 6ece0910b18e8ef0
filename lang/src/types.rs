//! Cartesian types τ and linear types τ̲ (chad.md §1, §2), and D on types (§3).

mod components;

use crate::name::Name;
use crate::size::Size;
use std::sync::Arc;

pub use components::Components;

/// τ, σ ::= real | int | bool | (τ, …) | τ + … | [n]τ | τ → σ | 'a | τ̲ ⊸ σ̲
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    Real,
    Int,
    Bool,
    /// (τ1, …, τk); the unit type is the empty tuple.
    Tuple(Arc<[Type]>),
    /// τ1 + … + τk, constructors in the order of their declaration.
    Sum(Arc<[Type]>),
    /// [n]τ, τ first-order (in Target also pairs with ⊸ inside).
    Array(Size, Arc<Type>),
    /// τ → σ
    Fun(Arc<Type>, Arc<Type>),
    /// A type parameter of the enclosing definition; gone after specialisation.
    Param(Name),
    /// τ̲ ⊸ σ̲
    Lin(Arc<LType>, Arc<LType>),
}

/// τ̲, σ̲ ::= real̲ | (τ̲, …) | τ̲ + … (partial) | [n]τ̲ | τ → σ̲ | !τ ⊗ σ̲ | D'a
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LType {
    Real,
    /// 1̲ is the empty tuple.
    Tuple(Components),
    /// Partial sum: the structural zero, or one summand.
    Sum(Arc<[LType]>),
    Array(Size, Arc<LType>),
    /// power τ → σ̲
    Power(Arc<Type>, Arc<LType>),
    /// copower !τ ⊗ σ̲
    Copower(Arc<Type>, Arc<LType>),
    /// D of a type parameter; gone after specialisation.
    Param(Name),
}

/// The direction of a derivative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Mode {
    Forward,
    Reverse,
}

impl Type {
    pub fn unit() -> Type {
        Type::Tuple(Arc::from([]))
    }
    pub fn tuple(ts: impl IntoIterator<Item = Type>) -> Type {
        Type::Tuple(ts.into_iter().collect())
    }
    pub fn array(n: impl Into<Size>, t: Type) -> Type {
        Type::Array(n.into(), Arc::new(t))
    }
    pub fn fun(a: Type, b: Type) -> Type {
        Type::Fun(Arc::new(a), Arc::new(b))
    }
    pub fn lin(a: LType, b: LType) -> Type {
        Type::Lin(Arc::new(a), Arc::new(b))
    }

    /// No function anywhere (neither → nor ⊸).
    pub fn first_order(&self) -> bool {
        match self {
            Type::Real | Type::Int | Type::Bool | Type::Param(_) => true,
            Type::Tuple(ts) | Type::Sum(ts) => ts.iter().all(Type::first_order),
            Type::Array(_, t) => t.first_order(),
            Type::Fun(..) | Type::Lin(..) => false,
        }
    }

    /// D(τ)_1 (chad.md §3): the type itself except at →.
    pub fn primal(&self, mode: Mode) -> Type {
        match self {
            Type::Real | Type::Int | Type::Bool | Type::Param(_) | Type::Lin(..) => self.clone(),
            Type::Tuple(ts) => Type::Tuple(ts.iter().map(|t| t.primal(mode)).collect()),
            Type::Sum(ts) => Type::Sum(ts.iter().map(|t| t.primal(mode)).collect()),
            Type::Array(n, t) => Type::array(n.clone(), t.primal(mode)),
            Type::Fun(a, b) => {
                let (da, db) = (a.tangent(mode), b.tangent(mode));
                let map = match mode {
                    Mode::Forward => Type::lin(da, db),
                    Mode::Reverse => Type::lin(db, da),
                };
                Type::fun(a.primal(mode), Type::tuple([b.primal(mode), map]))
            }
        }
    }

    /// D(τ)_2 (chad.md §3): tangents for Forward, cotangents for Reverse.
    pub fn tangent(&self, mode: Mode) -> LType {
        match self {
            Type::Real => LType::Real,
            // A linear map is not differentiated through: it is a constant of the calculus.
            Type::Int | Type::Bool | Type::Lin(..) => LType::unit(),
            Type::Param(a) => LType::Param(a.clone()),
            Type::Tuple(ts) => LType::Tuple(ts.iter().map(|t| t.tangent(mode)).collect()),
            Type::Sum(ts) => LType::Sum(ts.iter().map(|t| t.tangent(mode)).collect()),
            Type::Array(n, t) => LType::array(n.clone(), t.tangent(mode)),
            Type::Fun(a, b) => {
                let (a1, b2) = (Arc::new(a.primal(mode)), Arc::new(b.tangent(mode)));
                match mode {
                    Mode::Forward => LType::Power(a1, b2),
                    Mode::Reverse => LType::Copower(a1, b2),
                }
            }
        }
    }
}

impl LType {
    pub fn unit() -> LType {
        LType::tuple([])
    }
    pub fn tuple(ts: impl IntoIterator<Item = LType>) -> LType {
        LType::Tuple(ts.into_iter().collect())
    }
    pub fn pair(a: LType, b: LType) -> LType {
        LType::tuple([a, b])
    }
    pub fn array(n: impl Into<Size>, t: LType) -> LType {
        LType::Array(n.into(), Arc::new(t))
    }

    /// How many binders it has, as an environment.
    pub fn depth(&self) -> usize {
        match self {
            LType::Tuple(ts) => ts.depth(),
            LType::Real | LType::Sum(_) | LType::Array(..) => 0,
            LType::Power(..) | LType::Copower(..) | LType::Param(_) => 0,
        }
    }

    /// Has exactly one element: tuples and arrays of nothing.
    pub fn is_trivial(&self) -> bool {
        match self {
            LType::Tuple(ts) => ts.is_trivial(),
            LType::Array(_, t) | LType::Power(_, t) | LType::Copower(_, t) => t.is_trivial(),
            LType::Real | LType::Sum(_) | LType::Param(_) => false,
        }
    }

    /// The Cartesian type of the same values (linearity erased), for first-order linear types; a partial
    /// sum gains a first summand `()` for its structural zero. None at power and copower.
    pub fn erase(&self) -> Option<Type> {
        Some(match self {
            LType::Real => Type::Real,
            LType::Tuple(ts) => Type::Tuple(ts.iter().map(LType::erase).collect::<Option<_>>()?),
            LType::Sum(ts) => {
                let arms: Option<Vec<Type>> = ts.iter().map(LType::erase).collect();
                Type::Sum(std::iter::once(Type::unit()).chain(arms?).collect())
            }
            LType::Array(n, t) => Type::array(n.clone(), t.erase()?),
            LType::Param(a) => Type::Param(a.clone()),
            LType::Power(..) | LType::Copower(..) => return None,
        })
    }
}
