//! Target's linear terms (chad.md §2): the judgement Γ; Δ̲ ⊢ t : τ̲, jointly linear in Δ̲.
//!
//! Linear means homomorphic (0 to 0, + to +), not used once. What is not linear can hardly be built: the
//! Cartesian terms inside (`Tm`) cannot mention linear variables, which the checker verifies.
//!
//! **Environments.** The linear context Γ̲ of D is a left-nested pair: D(·)_2 = 1̲, D(Γ, x:τ)_2 = D(Γ)_2 * D(τ)_2.
//! [`LinTerm::Coproj`] and [`LinTerm::EnvProj`] address a slot by how many binders lie above it (`up` = 0 is the innermost),
//! so a variable's occurrence is one node however deep the environment.

use crate::core::{Binder, Tm};
use crate::name::Var;
use crate::size::Size;
use crate::types::LType;
use std::sync::Arc;

pub type Lin = Arc<LinTerm>;

/// z̲ : τ̲
#[derive(Clone, PartialEq, Debug)]
pub struct LBinder {
    pub var: Var,
    pub ty: LType,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// i = 0, 1, …, n-1
    Up,
    /// i = n-1, …, 1, 0
    Down,
}

/// Γ; Δ̲ ⊢ t : τ̲
#[derive(Clone, PartialEq, Debug)]
pub enum LinTerm {
    /// z̲  (l-var)
    Var(Var),
    /// 0̲ : σ̲  (l-zero)
    Zero(LType),
    /// t + s  (l-plus)
    Plus(Lin, Lin),
    /// ⟨t1, …, tk⟩  (l-pair, l-unit)
    Tuple(Vec<Lin>),
    /// t.i  (l-fst, l-snd)
    Proj(Lin, usize),
    /// coproj: t in the environment's slot with `up` binders above it, 0̲ elsewhere
    Coproj { env: LType, up: usize, term: Lin },
    /// proj: that slot of an environment
    EnvProj { up: usize, term: Lin },
    /// λy. t : σ → ρ̲  (l-pow)
    Power(Binder, Lin),
    /// t s  (l-pow-app)
    PowerApp(Lin, Tm),
    /// !t ⊗ s : !σ ⊗ ρ̲  (l-cop)
    Tensor(Tm, Lin),
    /// case t of !y ⊗ z̲ → s; s sees z̲ and no other linear variable  (l-cop-elim)
    TensorElim { scrutinee: Lin, var: Binder, lin: LBinder, body: Lin },
    /// a · t: the linear primitive, a : real, t : real̲  (l-op; every Dop and Dopᵗ is a sum of these)
    Scale(Tm, Lin),
    /// t • s, t : τ̲ ⊸ σ̲  (l-app)
    App(Tm, Lin),
    /// let z̲ = s in t  (l-let)
    Let(LBinder, Lin, Lin),
    /// let x = t in s, x Cartesian  (l-clet)
    CLet(Binder, Tm, Lin),
    /// if c then t else s  (l-if)
    If(Tm, Lin, Lin),
    /// case t of { in_i x_i → s_i }, t Cartesian  (l-case)
    Case(Tm, Vec<(Binder, Lin)>),
    /// in_i t, with the sum's type  (l-inl, l-inr)
    Inject(usize, LType, Lin),
    /// case t of { in_i z̲_i → s_i }; 0̲ goes to 0̲; arms see their payload only  (l-sum-elim)
    SumElim(Lin, Vec<(LBinder, Lin)>),
    /// fromIn_i t: the payload; 0̲ for 0̲; another tag is a compiler bug
    FromInject(usize, Lin),
    /// build n (λi. t) : [n]τ̲  (l-build); `replicate n t` has i not free in t
    Build { index: Var, bound: Size, body: Lin },
    /// t[s]  (l-index)
    Index(Lin, Tm),
    /// onehot_s(t) : [n]τ̲, t at s and 0̲ elsewhere  (l-onehot)
    OneHot { bound: Size, index: Tm, term: Lin },
    /// Σ_{i<n} t : τ̲  (l-sum)
    Sum { index: Var, bound: Size, body: Lin },
    /// z̲ := init; for i, in the direction, do let ⟨z̲', y⟩ = body in z̲ := z̲', y_i := y; ⟨z̲, [y_0 … y_{n-1}]⟩  (l-loop)
    Loop { direction: Direction, state: LBinder, init: Lin, index: Var, bound: Size, body: Lin },
}

impl LBinder {
    pub fn new(var: Var, ty: LType) -> LBinder {
        LBinder { var, ty }
    }
}

/// Constructors.
pub mod make {
    use super::*;

    pub fn var(v: &Var) -> Lin {
        Arc::new(LinTerm::Var(v.clone()))
    }
    pub fn zero(ty: LType) -> Lin {
        Arc::new(LinTerm::Zero(ty))
    }
    pub fn plus(t: Lin, s: Lin) -> Lin {
        Arc::new(LinTerm::Plus(t, s))
    }
    pub fn tuple(ts: impl IntoIterator<Item = Lin>) -> Lin {
        Arc::new(LinTerm::Tuple(ts.into_iter().collect()))
    }
    pub fn proj(t: Lin, i: usize) -> Lin {
        Arc::new(LinTerm::Proj(t, i))
    }
    pub fn coproj(env: LType, up: usize, term: Lin) -> Lin {
        Arc::new(LinTerm::Coproj { env, up, term })
    }
    pub fn env_proj(up: usize, term: Lin) -> Lin {
        Arc::new(LinTerm::EnvProj { up, term })
    }
    pub fn scale(a: Tm, t: Lin) -> Lin {
        Arc::new(LinTerm::Scale(a, t))
    }
    pub fn app(l: Tm, t: Lin) -> Lin {
        Arc::new(LinTerm::App(l, t))
    }
    pub fn let_(z: LBinder, s: Lin, t: Lin) -> Lin {
        Arc::new(LinTerm::Let(z, s, t))
    }
    pub fn clet(x: Binder, t: Tm, s: Lin) -> Lin {
        Arc::new(LinTerm::CLet(x, t, s))
    }
    pub fn if_(c: Tm, t: Lin, s: Lin) -> Lin {
        Arc::new(LinTerm::If(c, t, s))
    }
    pub fn build(index: Var, bound: Size, body: Lin) -> Lin {
        Arc::new(LinTerm::Build { index, bound, body })
    }
    pub fn index(t: Lin, i: Tm) -> Lin {
        Arc::new(LinTerm::Index(t, i))
    }
    pub fn onehot(bound: Size, index: Tm, term: Lin) -> Lin {
        Arc::new(LinTerm::OneHot { bound, index, term })
    }
    pub fn sum(index: Var, bound: Size, body: Lin) -> Lin {
        Arc::new(LinTerm::Sum { index, bound, body })
    }
}
