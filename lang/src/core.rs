//! Core: the source calculus (chad.md §1, §6), explicitly typed at binders and explicitly sized.
//!
//! Target (chad.md §2) has the same Cartesian terms with two more formers, λ̲ and •, whose linear bodies are
//! [`crate::target::LinTerm`]s: one grammar for one judgement `Γ ⊢ t : τ`. A Core term contains no [`Term::LinLam`].

use crate::diag::{Failure, Site};
use crate::name::{Name, Supply, Var};
use crate::prim::Prim;
use crate::size::Size;
use crate::target::{LBinder, Lin};
use crate::types::{LType, Mode, Type};
use crate::walk::{Mapper, Subst};
use std::collections::BTreeMap;
use std::sync::Arc;

pub type Tm = Arc<Term>;

/// x : τ
#[derive(Clone, PartialEq, Debug)]
pub struct Binder {
    pub var: Var,
    pub ty: Type,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Lit {
    Real(f64),
    Int(i64),
    Bool(bool),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extremum {
    Max,
    Min,
}

/// Γ ⊢ t : τ
#[derive(Clone, PartialEq, Debug)]
pub enum Term {
    /// x
    Var(Var),
    /// 1.5, 3, true
    Lit(Lit),
    /// let x = t in s
    Let(Binder, Tm, Tm),
    /// ⟨t1, …, tk⟩
    Tuple(Vec<Tm>),
    /// t.i
    Proj(Tm, usize),
    /// in_i t, with the sum's type
    Inject(usize, Type, Tm),
    /// case t of { in_i x_i → s_i }
    Case(Tm, Vec<(Binder, Tm)>),
    /// λx. t
    Lam(Binder, Tm),
    /// t s
    App(Tm, Tm),
    /// op(t1, …, tk), a total scalar primitive
    Prim(Prim, Vec<Tm>),
    /// if c then t else s
    If(Tm, Tm, Tm),
    /// build n (λi. t) : [n]τ
    Build { index: Var, bound: Size, body: Tm },
    /// t[s]; the site is reported when s is outside 0..n
    Index(Tm, Tm, Site),
    /// {t with [i, …] = v}: t with v in the place of t[i, …]; the site is reported when an index is out of range
    Update { array: Tm, index: Vec<Tm>, value: Tm, site: Site },
    /// [t1, …, tk] : [k]τ, with the element type
    Array(Type, Vec<Tm>),
    /// Σ_{i<n} t : real, added in the order of i
    Sum { index: Var, bound: Size, body: Tm },
    /// max_{i<n} t or min_{i<n} t : real (∓∞ when n = 0); a selection, shared among ties
    Extremum { which: Extremum, index: Var, bound: Size, body: Tm },
    /// s := init; for i < n do let ⟨s', y⟩ = body in s := s', y_i := y;  the value is ⟨s, [y_0 … y_{n-1}]⟩ : (σ, [n]τ).
    /// `loop s = init for i < n do e` is the first component with body ⟨e, ⟨⟩⟩; `scan` is the second.
    Loop { state: Binder, init: Tm, index: Var, bound: Size, body: Tm },
    /// s := init; while cond do s := body
    While { state: Binder, init: Tm, cond: Tm, body: Tm },
    /// the permutation [n]int that sorts an array of reals or ints stably, ascending, NaN last
    Argsort(Tm),
    /// t where c holds (c : bool); otherwise the program fails with the reason at the site. `details` are ints for the message.
    Check { cond: Tm, failure: Failure, details: Vec<Tm>, site: Site, body: Tm },
    /// f ['types] [sizes] t1 … tk, saturated
    Call { def: Name, types: Vec<Type>, sizes: Vec<Size>, args: Vec<Tm> },
    /// D→ or D← of f at x (f : τ → σ, both first-order): ⟨f x, Dτ ⊸ Dσ⟩, reverse ⟨f x, Dσ ⊸ Dτ⟩.
    /// `grad f x` is (D← f x).1 • 1.0; every differentiation operator of the language is written with it.
    Diff { mode: Mode, f: Tm, x: Tm, site: Site },
    /// the value of t with zero derivative
    Detach(Tm),
    /// λ̲z. t : τ̲ ⊸ σ̲ (l-lam); Target only
    LinLam(LBinder, Lin),
    /// t • s with a Cartesian argument: a value of the erased type of τ̲, giving one of σ̲'s
    LinApp(Tm, Tm),
    /// Some value of τ that nobody reads: what a branch not taken leaves in place of the other branch's residuals.
    Unread(Type),
    /// box t : int, a handle of the value of t, which is kept as long as the program runs; Target only
    Box(Tm),
    /// unbox[τ] h : τ, the value with that handle
    Unbox(Type, Tm),
    /// zero[τ̲] as a Cartesian value of the erased type: the structural zero (chad.md §1)
    Zero(LType),
}

/// def name ['types] [sizes] params : result = body. Sizes are int variables of the body.
#[derive(Clone, PartialEq, Debug)]
pub struct Def {
    pub name: Name,
    pub types: Vec<Name>,
    pub sizes: Vec<Var>,
    pub params: Vec<Binder>,
    pub result: Type,
    pub body: Tm,
    /// Numbers from here on are free in this definition.
    pub supply: Supply,
}

/// Definitions by name. A derivative's name is its source's with a suffix (`ad`).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    pub defs: BTreeMap<Name, Arc<Def>>,
}

impl Def {
    /// The definition for these values of sizes and int parameters alone. It takes these sizes no more, and does not look at these
    /// parameters.
    pub fn at(mut self, values: impl IntoIterator<Item = (Var, i64)>) -> Def {
        let mut subst = Subst::new(&mut self.supply);
        subst.terms.extend(values.into_iter().map(|(v, k)| (v, make::int(k))));
        let params = self.params.iter().map(|p| Binder::new(p.var.clone(), subst.ty(&p.ty))).collect();
        let (result, body) = (subst.ty(&self.result), subst.term(&self.body));
        let sizes = self.sizes.iter().filter(|v| !subst.terms.contains_key(v)).cloned().collect();
        Def { sizes, params, result, body, ..self }
    }
}

impl Binder {
    pub fn new(var: Var, ty: Type) -> Binder {
        Binder { var, ty }
    }
}

/// Constructors: short names for the terms passes build most.
pub mod make {
    use super::*;

    pub fn var(v: &Var) -> Tm {
        Arc::new(Term::Var(v.clone()))
    }
    pub fn real(x: f64) -> Tm {
        Arc::new(Term::Lit(Lit::Real(x)))
    }
    pub fn int(k: i64) -> Tm {
        Arc::new(Term::Lit(Lit::Int(k)))
    }
    pub fn bool(b: bool) -> Tm {
        Arc::new(Term::Lit(Lit::Bool(b)))
    }
    pub fn let_(x: Binder, t: Tm, s: Tm) -> Tm {
        Arc::new(Term::Let(x, t, s))
    }
    pub fn tuple(ts: impl IntoIterator<Item = Tm>) -> Tm {
        Arc::new(Term::Tuple(ts.into_iter().collect()))
    }
    pub fn unit() -> Tm {
        tuple([])
    }
    pub fn proj(t: Tm, i: usize) -> Tm {
        Arc::new(Term::Proj(t, i))
    }
    pub fn lam(x: Binder, t: Tm) -> Tm {
        Arc::new(Term::Lam(x, t))
    }
    pub fn app(t: Tm, s: Tm) -> Tm {
        Arc::new(Term::App(t, s))
    }
    pub fn prim(p: Prim, args: impl IntoIterator<Item = Tm>) -> Tm {
        Arc::new(Term::Prim(p, args.into_iter().collect()))
    }
    pub fn if_(c: Tm, t: Tm, s: Tm) -> Tm {
        Arc::new(Term::If(c, t, s))
    }
    pub fn build(index: Var, bound: Size, body: Tm) -> Tm {
        Arc::new(Term::Build { index, bound, body })
    }
    pub fn index(a: Tm, i: Tm, site: Site) -> Tm {
        Arc::new(Term::Index(a, i, site))
    }
    pub fn update(array: Tm, index: impl IntoIterator<Item = Tm>, value: Tm, site: Site) -> Tm {
        Arc::new(Term::Update { array, index: index.into_iter().collect(), value, site })
    }
    pub fn sum(index: Var, bound: Size, body: Tm) -> Tm {
        Arc::new(Term::Sum { index, bound, body })
    }
    pub fn lin_lam(z: LBinder, t: Lin) -> Tm {
        Arc::new(Term::LinLam(z, t))
    }
    pub fn lin_app(t: Tm, s: Tm) -> Tm {
        Arc::new(Term::LinApp(t, s))
    }

    /// The int term of a size.
    pub fn size(n: &Size) -> Tm {
        let mut sum: Option<Tm> = None;
        for (m, c) in n.terms.iter().rev() {
            let mut factors = m.iter().map(var);
            let first = match (*c, factors.next()) {
                (c, None) => int(c),
                (1, Some(v)) => v,
                (c, Some(v)) => prim(Prim::IMul, [int(c), v]),
            };
            let product = factors.fold(first, |a, b| prim(Prim::IMul, [a, b]));
            sum = Some(match sum {
                None => product,
                Some(s) => prim(Prim::IAdd, [s, product]),
            });
        }
        sum.unwrap_or_else(|| int(0))
    }
}
