//! The context of a translation, Γ and Γ̲, and the parts rules are made of.

use crate::error::{AdError, Reason};
use crate::rules::{self, Rule};
use crate::{forward, reverse};
use lang::core::make::{build, index, let_, lin_lam, proj, tuple, var};
use lang::core::{Binder, Program, Tm};
use lang::diag::Site;
use lang::name::{Name, Supply, Var};
use lang::size::Size;
use lang::target::{LBinder, Lin, make as lin};
use lang::types::{LType, Mode, Type};
use lang::typing::{Scope, type_of};
use lang::walk::free_vars;
use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap};

/// D in one mode, at one place of one definition.
pub struct D<'a> {
    pub mode: Mode,
    pub program: &'a Program,
    pub supply: &'a mut Supply,
    /// What is being differentiated: the place of errors. Reads that D adds are in range and never report it.
    pub site: Site,
    /// Source types of everything in scope, active or not.
    pub scope: Scope,
    /// Γ: where each active variable lies, counted from the outermost.
    slots: HashMap<Var, usize>,
    /// Γ̲ after 0, 1, … binders.
    envs: Vec<LType>,
    /// The variables of Γ whose type D changes.
    functions: BTreeSet<Var>,
    /// Variables of Γ bound to what has no derivative to pass on; kept only where `nested`.
    constants: BTreeSet<Var>,
    /// The term differentiated has derivatives or linear maps in it.
    pub nested: bool,
    /// The definitions called: their derivatives are to be derived too.
    pub calls: BTreeSet<Name>,
}

/// D(t) for Γ ⊢ t : τ.
pub struct Dual {
    /// Of type D(τ)_1 * (D(Γ)_2 ⊸ D(τ)_2), reverse D(τ)_1 * (D(τ)_2 ⊸ D(Γ)_2).
    pub term: Tm,
    /// τ
    pub ty: Type,
}

/// ⟨p, L⟩ = D(t): a sub-derivative, bound once by `let`.
pub struct Sub {
    bound: Binder,
    term: Tm,
    pub ty: Type,
}

/// ⟨p, L⟩i = D(t), i < n: the sub-derivatives of a family, computed once, in an array.
pub struct Family {
    bound: Binder,
    term: Tm,
    site: Site,
    pub ty: Type,
}

impl Sub {
    /// A sub-derivative that `term : dual` computes.
    pub fn new(d: &mut D, dual: Type, term: Tm, ty: Type) -> Sub {
        Sub { bound: Binder::new(d.supply.fresh("d"), dual), term, ty }
    }
    /// The type of ⟨p, L⟩.
    pub fn dual_type(&self) -> &Type {
        &self.bound.ty
    }
    /// let ⟨p, L⟩ = D(t) in body
    pub fn bind(&self, body: Tm) -> Tm {
        let_(self.bound.clone(), self.term.clone(), body)
    }
    /// p
    pub fn p(&self) -> Tm {
        proj(var(&self.bound.var), 0)
    }
    /// L
    pub fn l(&self) -> Tm {
        proj(var(&self.bound.var), 1)
    }
    /// L • v
    pub fn at(&self, v: impl Borrow<Lin>) -> Lin {
        lin::app(self.l(), v.borrow().clone())
    }
}

impl Family {
    /// let ⟨p, L⟩i = D(t) for all i in body
    pub fn bind(&self, body: Tm) -> Tm {
        let_(self.bound.clone(), self.term.clone(), body)
    }
    fn element(&self, i: &Var) -> Tm {
        index(var(&self.bound.var), var(i), self.site.clone())
    }
    /// pi
    pub fn p(&self, i: &Var) -> Tm {
        proj(self.element(i), 0)
    }
    /// Li • v
    pub fn at(&self, i: &Var, v: impl Borrow<Lin>) -> Lin {
        lin::app(proj(self.element(i), 1), v.borrow().clone())
    }
}

/// let ⟨p1,L1⟩ = D(t1) in … in body
pub fn bind_all(subs: &[Sub], body: Tm) -> Tm {
    subs.iter().rev().fold(body, |body, sub| sub.bind(body))
}

impl<'a> D<'a> {
    /// With the empty Γ; `scope` has the types of the constants around.
    pub fn new(mode: Mode, program: &'a Program, supply: &'a mut Supply, site: Site, scope: Scope) -> D<'a> {
        let (slots, envs) = (HashMap::new(), vec![LType::unit()]);
        let (functions, calls) = (BTreeSet::new(), BTreeSet::new());
        let (constants, nested) = (BTreeSet::new(), false);
        D { mode, program, supply, site, scope, slots, envs, functions, constants, nested, calls }
    }

    pub fn error(&self, reason: Reason) -> AdError {
        AdError { site: self.site.clone(), reason, chain: vec![] }
    }

    // ---- Γ

    /// Γ̲
    pub fn env(&self) -> LType {
        self.envs.last().expect("there is always an environment").clone()
    }

    /// How many binders of Γ lie above x; None when x is a constant of the derivative.
    pub fn slot(&self, x: &Var) -> Option<usize> {
        self.slots.get(x).map(|k| self.envs.len() - 2 - k)
    }

    /// Works in Γ, x1:τ1, …, xk:τk.
    pub fn under<T>(&mut self, binders: &[(&Var, &Type)], work: impl FnOnce(&mut Self) -> T) -> T {
        let depth = self.envs.len();
        for (x, ty) in binders {
            self.scope.bind(x, ty);
            self.slots.insert((*x).clone(), self.envs.len() - 1);
            if ty.primal(self.mode) != **ty {
                self.functions.insert((*x).clone());
            }
            self.envs.push(LType::pair(self.env(), ty.tangent(self.mode)));
        }
        let result = work(self);
        self.envs.truncate(depth);
        result
    }

    // ---- types

    pub fn tangent(&self, ty: &Type) -> LType {
        ty.tangent(self.mode)
    }

    /// x : D(τ)_1
    pub fn primal_binder(&self, x: &Binder) -> Binder {
        Binder::new(x.var.clone(), x.ty.primal(self.mode))
    }

    /// D(τ)_1 * (D(Γ)_2 ⊸ D(τ)_2), or its reverse.
    pub fn dual_type(&self, ty: &Type) -> Type {
        Type::tuple([ty.primal(self.mode), self.map_type(self.env(), ty.tangent(self.mode))])
    }

    /// from ⊸ to, turned round in reverse mode.
    pub fn map_type(&self, from: LType, to: LType) -> Type {
        match self.mode {
            Mode::Forward => Type::lin(from, to),
            Mode::Reverse => Type::lin(to, from),
        }
    }

    /// τ for a source term Γ ⊢ t : τ
    pub fn source_type(&mut self, t: &Tm) -> Type {
        type_of(t, &mut self.scope, self.program)
    }

    // ---- terms

    /// D(t) by the rule of t's former.
    pub fn dual(&mut self, t: &Tm) -> Result<Dual, AdError> {
        rules::count(self.mode, Rule::of(t));
        match self.mode {
            Mode::Forward => forward::forward(self, t),
            Mode::Reverse => reverse::reverse(self, t),
        }
    }

    /// ⟨p, L⟩ = D(t)
    pub fn sub(&mut self, t: &Tm) -> Result<Sub, AdError> {
        let Dual { term, ty } = self.dual(t)?;
        let dual = self.dual_type(&ty);
        Ok(Sub::new(self, dual, term, ty))
    }

    pub fn subs(&mut self, ts: &[Tm]) -> Result<Vec<Sub>, AdError> {
        ts.iter().map(|t| self.sub(t)).collect()
    }

    /// ⟨p, L⟩i = D(t) in Γ, i:int, as build n (λi. D(t))
    pub fn family(&mut self, i: &Var, n: &Size, t: &Tm) -> Result<Family, AdError> {
        let (dual, element) = self.under(&[(i, &Type::Int)], |d| {
            let dual = d.dual(t)?;
            let element = d.dual_type(&dual.ty);
            Ok((dual, element))
        })?;
        let bound = Binder::new(self.supply.fresh("ds"), Type::array(n.clone(), element));
        let term = build(i.clone(), n.clone(), dual.term);
        Ok(Family { bound, term, site: self.site.clone(), ty: dual.ty })
    }

    /// λ̲v. body, v : Γ̲
    pub fn on_env(&mut self, body: impl FnOnce(Lin) -> Lin) -> Tm {
        let from = self.env();
        self.lambda("v", from, body)
    }

    /// λ̲w. body, w : D(τ)_2
    pub fn on(&mut self, ty: &Type, body: impl FnOnce(Lin) -> Lin) -> Tm {
        let from = self.tangent(ty);
        self.lambda("w", from, body)
    }

    pub fn lambda(&mut self, name: &str, from: LType, body: impl FnOnce(Lin) -> Lin) -> Tm {
        let v = self.supply.fresh(name);
        let body = body(lin::var(&v));
        lin_lam(LBinder::new(v, from), body)
    }

    /// A fresh z̲ : Γ̲ * D(τ)_2
    pub fn extended(&mut self, ty: &Type) -> LBinder {
        let env = LType::pair(self.env(), self.tangent(ty));
        LBinder::new(self.supply.fresh("z"), env)
    }

    /// 0̲ : Γ̲
    pub fn zero_env(&self) -> Lin {
        lin::zero(self.env())
    }

    /// 0̲ : D(τ)_2
    pub fn zero(&self, ty: &Type) -> Lin {
        lin::zero(self.tangent(ty))
    }

    /// ⟨p, the structural zero⟩
    pub fn constant(&mut self, p: Tm, ty: Type) -> Dual {
        let l = match self.mode {
            Mode::Forward => {
                let zero = self.zero(&ty);
                self.on_env(|_| zero)
            }
            Mode::Reverse => {
                let zero = self.zero_env();
                self.on(&ty, |_| zero)
            }
        };
        Dual { term: tuple([p, l]), ty }
    }

    /// The primal of a term whose tangent nobody asks for: fst D(t), which is t itself unless t uses a function of Γ, whose
    /// type D has changed. (D leaves the primals of first-order terms alone.)
    pub fn primal(&mut self, t: &Tm) -> Result<Tm, AdError> {
        if self.uses_functions(t) {
            let t = self.sub(t)?;
            Ok(t.bind(t.p()))
        } else {
            Ok(t.clone())
        }
    }

    fn uses_functions(&self, t: &Tm) -> bool {
        !self.functions.is_empty() && free_vars(t).iter().any(|x| self.functions.contains(x))
    }

    /// Remembers for x = t that x is a constant if t is one.
    pub fn bound_to(&mut self, x: &Binder, t: &Tm) {
        if self.nested && self.inactive(t) {
            self.constants.insert(x.var.clone());
        }
    }

    /// No variable free in t has a derivative to pass on.
    pub fn inactive(&self, t: &Tm) -> bool {
        let trivial = |x: &Var| self.scope.vars.get(x).is_some_and(|ty| self.tangent(ty).is_trivial());
        let constant = |x: &Var| self.constants.contains(x) || (trivial(x) && !self.functions.contains(x));
        free_vars(t).iter().all(|x| !self.slots.contains_key(x) || constant(x))
    }
}
