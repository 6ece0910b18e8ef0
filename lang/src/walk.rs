//! The traversals every pass shares: mapping over children, free variables, substitution, fresh copies.

use crate::core::{Binder, Term, Tm};
use crate::name::{Name, Supply, Var};
use crate::size::Size;
use crate::target::{LBinder, Lin, LinTerm};
use crate::types::{LType, Type};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A structural map over Cartesian and linear terms. Every method has the identity as its default; an implementation
/// overrides the nodes it cares about and calls [`map_term`], [`map_lin`] for the rest. Binders are visited (`bind`) before the terms they scope over.
pub trait Mapper {
    fn term(&mut self, t: &Tm) -> Tm {
        map_term(self, t)
    }
    fn lin(&mut self, t: &Lin) -> Lin {
        map_lin(self, t)
    }
    fn bind(&mut self, v: &Var) -> Var {
        v.clone()
    }
    fn size(&mut self, n: &Size) -> Size {
        n.clone()
    }
    fn ty(&mut self, t: &Type) -> Type {
        map_type(self, t)
    }
    fn lty(&mut self, t: &LType) -> LType {
        map_ltype(self, t)
    }
}

pub fn map_type<M: Mapper + ?Sized>(m: &mut M, t: &Type) -> Type {
    match t {
        Type::Real | Type::Int | Type::Bool | Type::Param(_) => t.clone(),
        Type::Tuple(ts) => Type::Tuple(ts.iter().map(|t| m.ty(t)).collect()),
        Type::Sum(ts) => Type::Sum(ts.iter().map(|t| m.ty(t)).collect()),
        Type::Array(n, t) => Type::Array(m.size(n), Arc::new(m.ty(t))),
        Type::Fun(a, b) => Type::Fun(Arc::new(m.ty(a)), Arc::new(m.ty(b))),
        Type::Lin(a, b) => Type::Lin(Arc::new(m.lty(a)), Arc::new(m.lty(b))),
    }
}

pub fn map_ltype<M: Mapper + ?Sized>(m: &mut M, t: &LType) -> LType {
    match t {
        LType::Real | LType::Param(_) => t.clone(),
        // A map of sizes is one of their variables: where it leaves those alone, the type stays as it is.
        LType::Tuple(ts) if ts.is_plain() && ts.vars().iter().all(|v| is_kept(m, v)) => t.clone(),
        LType::Tuple(ts) => LType::Tuple(ts.iter().map(|t| m.lty(t)).collect()),
        LType::Sum(ts) => LType::Sum(ts.iter().map(|t| m.lty(t)).collect()),
        LType::Array(n, t) => LType::Array(m.size(n), Arc::new(m.lty(t))),
        LType::Power(a, b) => LType::Power(Arc::new(m.ty(a)), Arc::new(m.lty(b))),
        LType::Copower(a, b) => LType::Copower(Arc::new(m.ty(a)), Arc::new(m.lty(b))),
    }
}

fn is_kept<M: Mapper + ?Sized>(m: &mut M, v: &Var) -> bool {
    m.size(&Size::var(v.clone())).as_var() == Some(v)
}

fn map_binder<M: Mapper + ?Sized>(m: &mut M, x: &Binder) -> Binder {
    let ty = m.ty(&x.ty);
    Binder { var: m.bind(&x.var), ty }
}

fn map_lbinder<M: Mapper + ?Sized>(m: &mut M, z: &LBinder) -> LBinder {
    let ty = m.lty(&z.ty);
    LBinder { var: m.bind(&z.var), ty }
}

/// Maps the children of a Cartesian term.
pub fn map_term<M: Mapper + ?Sized>(m: &mut M, t: &Tm) -> Tm {
    Arc::new(match &**t {
        Term::Var(_) | Term::Lit(_) => return t.clone(),
        Term::Let(x, a, b) => {
            let a = m.term(a);
            let x = map_binder(m, x);
            Term::Let(x, a, m.term(b))
        }
        Term::Tuple(ts) => Term::Tuple(ts.iter().map(|t| m.term(t)).collect()),
        Term::Proj(t, i) => Term::Proj(m.term(t), *i),
        Term::Inject(i, ty, t) => Term::Inject(*i, m.ty(ty), m.term(t)),
        Term::Case(t, arms) => {
            let t = m.term(t);
            let arm = |(x, s): &(Binder, Tm)| (map_binder(m, x), m.term(s));
            Term::Case(t, arms.iter().map(arm).collect())
        }
        Term::Lam(x, t) => {
            let x = map_binder(m, x);
            Term::Lam(x, m.term(t))
        }
        Term::App(a, b) => Term::App(m.term(a), m.term(b)),
        Term::Prim(p, ts) => Term::Prim(*p, ts.iter().map(|t| m.term(t)).collect()),
        Term::If(c, a, b) => Term::If(m.term(c), m.term(a), m.term(b)),
        Term::Build { index, bound, body } => {
            let bound = m.size(bound);
            Term::Build { index: m.bind(index), bound, body: m.term(body) }
        }
        Term::Index(a, i, site) => Term::Index(m.term(a), m.term(i), site.clone()),
        Term::Update { array, index, value, site } => Term::Update {
            array: m.term(array),
            index: index.iter().map(|i| m.term(i)).collect(),
            value: m.term(value),
            site: site.clone(),
        },
        Term::Array(ty, ts) => Term::Array(m.ty(ty), ts.iter().map(|t| m.term(t)).collect()),
        Term::Sum { index, bound, body } => {
            let bound = m.size(bound);
            Term::Sum { index: m.bind(index), bound, body: m.term(body) }
        }
        Term::Extremum { which, index, bound, body } => {
            let bound = m.size(bound);
            Term::Extremum { which: *which, index: m.bind(index), bound, body: m.term(body) }
        }
        Term::Loop { state, init, index, bound, body } => {
            let (init, bound) = (m.term(init), m.size(bound));
            let state = map_binder(m, state);
            Term::Loop { state, init, index: m.bind(index), bound, body: m.term(body) }
        }
        Term::While { state, init, cond, body } => {
            let init = m.term(init);
            let state = map_binder(m, state);
            Term::While { state, init, cond: m.term(cond), body: m.term(body) }
        }
        Term::Argsort(t) => Term::Argsort(m.term(t)),
        Term::Check { cond, failure, details, site, body } => Term::Check {
            cond: m.term(cond),
            failure: failure.clone(),
            details: details.iter().map(|t| m.term(t)).collect(),
            site: site.clone(),
            body: m.term(body),
        },
        Term::Call { def, types, sizes, args } => Term::Call {
            def: def.clone(),
            types: types.iter().map(|t| m.ty(t)).collect(),
            sizes: sizes.iter().map(|n| m.size(n)).collect(),
            args: args.iter().map(|t| m.term(t)).collect(),
        },
        Term::Diff { mode, f, x, site } => {
            Term::Diff { mode: *mode, f: m.term(f), x: m.term(x), site: site.clone() }
        }
        Term::Detach(t) => Term::Detach(m.term(t)),
        Term::LinLam(z, t) => {
            let z = map_lbinder(m, z);
            Term::LinLam(z, m.lin(t))
        }
        Term::LinApp(l, t) => Term::LinApp(m.term(l), m.term(t)),
        Term::Unread(ty) => Term::Unread(m.ty(ty)),
        Term::Box(t) => Term::Box(m.term(t)),
        Term::Unbox(ty, t) => Term::Unbox(m.ty(ty), m.term(t)),
        Term::Zero(ty) => Term::Zero(m.lty(ty)),
    })
}

/// Maps the children of a linear term.
pub fn map_lin<M: Mapper + ?Sized>(m: &mut M, t: &Lin) -> Lin {
    Arc::new(match &**t {
        LinTerm::Var(_) => return t.clone(),
        LinTerm::Zero(ty) => LinTerm::Zero(m.lty(ty)),
        LinTerm::Plus(a, b) => LinTerm::Plus(m.lin(a), m.lin(b)),
        LinTerm::Tuple(ts) => LinTerm::Tuple(ts.iter().map(|t| m.lin(t)).collect()),
        LinTerm::Proj(t, i) => LinTerm::Proj(m.lin(t), *i),
        LinTerm::Coproj { env, up, term } => LinTerm::Coproj { env: m.lty(env), up: *up, term: m.lin(term) },
        LinTerm::EnvProj { up, term } => LinTerm::EnvProj { up: *up, term: m.lin(term) },
        LinTerm::Power(x, t) => {
            let x = map_binder(m, x);
            LinTerm::Power(x, m.lin(t))
        }
        LinTerm::PowerApp(t, s) => LinTerm::PowerApp(m.lin(t), m.term(s)),
        LinTerm::Tensor(a, t) => LinTerm::Tensor(m.term(a), m.lin(t)),
        LinTerm::TensorElim { scrutinee, var, lin, body } => {
            let scrutinee = m.lin(scrutinee);
            let (var, lin) = (map_binder(m, var), map_lbinder(m, lin));
            LinTerm::TensorElim { scrutinee, var, lin, body: m.lin(body) }
        }
        LinTerm::Scale(a, t) => LinTerm::Scale(m.term(a), m.lin(t)),
        LinTerm::App(l, t) => LinTerm::App(m.term(l), m.lin(t)),
        LinTerm::Let(z, s, t) => {
            let s = m.lin(s);
            let z = map_lbinder(m, z);
            LinTerm::Let(z, s, m.lin(t))
        }
        LinTerm::CLet(x, a, t) => {
            let a = m.term(a);
            let x = map_binder(m, x);
            LinTerm::CLet(x, a, m.lin(t))
        }
        LinTerm::If(c, t, s) => LinTerm::If(m.term(c), m.lin(t), m.lin(s)),
        LinTerm::Case(a, arms) => {
            let a = m.term(a);
            let arm = |(x, s): &(Binder, Lin)| (map_binder(m, x), m.lin(s));
            LinTerm::Case(a, arms.iter().map(arm).collect())
        }
        LinTerm::Inject(i, ty, t) => LinTerm::Inject(*i, m.lty(ty), m.lin(t)),
        LinTerm::SumElim(t, arms) => {
            let t = m.lin(t);
            let arm = |(z, s): &(LBinder, Lin)| (map_lbinder(m, z), m.lin(s));
            LinTerm::SumElim(t, arms.iter().map(arm).collect())
        }
        LinTerm::FromInject(i, t) => LinTerm::FromInject(*i, m.lin(t)),
        LinTerm::Build { index, bound, body } => {
            let bound = m.size(bound);
            LinTerm::Build { index: m.bind(index), bound, body: m.lin(body) }
        }
        LinTerm::Index(t, i) => LinTerm::Index(m.lin(t), m.term(i)),
        LinTerm::OneHot { bound, index, term } => {
            LinTerm::OneHot { bound: m.size(bound), index: m.term(index), term: m.lin(term) }
        }
        LinTerm::Sum { index, bound, body } => {
            let bound = m.size(bound);
            LinTerm::Sum { index: m.bind(index), bound, body: m.lin(body) }
        }
        LinTerm::Loop { direction, state, init, index, bound, body } => {
            let (init, bound) = (m.lin(init), m.size(bound));
            let state = map_lbinder(m, state);
            LinTerm::Loop {
                direction: *direction,
                state,
                init,
                index: m.bind(index),
                bound,
                body: m.lin(body),
            }
        }
    })
}

/// Visits, without building anything: a [`Mapper`] whose results are thrown away would do, but passes ask often.
#[derive(Default)]
struct Uses {
    used: BTreeSet<Var>,
    bound: BTreeSet<Var>,
}

impl Mapper for Uses {
    fn term(&mut self, t: &Tm) -> Tm {
        if let Term::Var(v) = &**t {
            self.used.insert(v.clone());
        }
        map_term(self, t)
    }
    fn lin(&mut self, t: &Lin) -> Lin {
        if let LinTerm::Var(v) = &**t {
            self.used.insert(v.clone());
        }
        map_lin(self, t)
    }
    fn bind(&mut self, v: &Var) -> Var {
        self.bound.insert(v.clone());
        v.clone()
    }
    fn size(&mut self, n: &Size) -> Size {
        self.used.extend(n.vars().cloned());
        n.clone()
    }
    fn lty(&mut self, t: &LType) -> LType {
        match t {
            LType::Tuple(ts) => self.used.extend(ts.vars().iter().cloned()),
            _ => drop(map_ltype(self, t)),
        }
        t.clone()
    }
}

/// The variables free in a term: used in it, in its sizes or in its types, and not bound in it.
pub fn free_vars(t: &Tm) -> BTreeSet<Var> {
    let mut u = Uses::default();
    u.term(t);
    u.used.difference(&u.bound).cloned().collect()
}

/// The variables in the sizes of a type.
pub fn type_vars(t: &Type) -> BTreeSet<Var> {
    free_vars(&Arc::new(Term::Unread(t.clone())))
}

pub fn ltype_vars(t: &LType) -> BTreeSet<Var> {
    free_vars(&Arc::new(Term::Zero(t.clone())))
}

pub fn free_vars_lin(t: &Lin) -> BTreeSet<Var> {
    let mut u = Uses::default();
    u.lin(t);
    u.used.difference(&u.bound).cloned().collect()
}

/// The size an int term is, when it is a polynomial.
pub fn as_size(t: &Term) -> Option<Size> {
    use crate::core::Lit;
    use crate::prim::Prim;
    match t {
        Term::Lit(Lit::Int(k)) => Some(Size::constant(*k)),
        Term::Var(v) => Some(Size::var(v.clone())),
        Term::Prim(Prim::IAdd, ts) => as_size(&ts[0])?.checked_add(&as_size(&ts[1])?),
        Term::Prim(Prim::ISub, ts) => as_size(&ts[0])?.checked_add(&as_size(&ts[1])?.checked_neg()?),
        Term::Prim(Prim::IMul, ts) => as_size(&ts[0])?.checked_mul(&as_size(&ts[1])?),
        _ => None,
    }
}

/// Simultaneous substitution of Cartesian terms, linear terms and types, with a fresh copy of every binder.
///
/// A variable that occurs in a size may only be replaced by a term that is a size polynomial ([`as_size`]); whoever has another
/// int term binds it with `let` first.
pub struct Subst<'s> {
    pub terms: HashMap<Var, Tm>,
    pub lins: HashMap<Var, Lin>,
    pub types: HashMap<Name, Type>,
    supply: &'s mut Supply,
    /// What linear tuple types have become, by address. Environments of D share their tails: without this every occurrence of a variable
    /// would have a copy of its own. An entry keeps its type alive, so that the address stands for it.
    met: HashMap<usize, (LType, LType)>,
}

impl<'s> Subst<'s> {
    pub fn new(supply: &'s mut Supply) -> Subst<'s> {
        Subst {
            terms: HashMap::new(),
            lins: HashMap::new(),
            types: HashMap::new(),
            supply,
            met: HashMap::new(),
        }
    }
    pub fn term_for(mut self, v: &Var, t: Tm) -> Self {
        self.terms.insert(v.clone(), t);
        self
    }
    pub fn lin_for(mut self, v: &Var, t: Lin) -> Self {
        self.lins.insert(v.clone(), t);
        self
    }
}

impl Mapper for Subst<'_> {
    fn term(&mut self, t: &Tm) -> Tm {
        match &**t {
            Term::Var(v) => self.terms.get(v).cloned().unwrap_or_else(|| t.clone()),
            _ => map_term(self, t),
        }
    }
    fn lin(&mut self, t: &Lin) -> Lin {
        match &**t {
            LinTerm::Var(v) => self.lins.get(v).cloned().unwrap_or_else(|| t.clone()),
            _ => map_lin(self, t),
        }
    }
    fn bind(&mut self, v: &Var) -> Var {
        let fresh = self.supply.renew(v);
        if self.terms.insert(v.clone(), Arc::new(Term::Var(fresh.clone()))).is_some() {
            // The second copy of a binder in one traversal: types may mention the first.
            self.met.clear();
        }
        self.lins.insert(v.clone(), Arc::new(LinTerm::Var(fresh.clone())));
        fresh
    }
    fn size(&mut self, n: &Size) -> Size {
        let lookup = |v: &Var| {
            let t = self.terms.get(v)?;
            Some(
                as_size(t)
                    .unwrap_or_else(|| panic!("size variable {v:?} replaced by a term that is no size")),
            )
        };
        n.subst(&lookup).expect("size coefficients fit in 64 bits after substitution")
    }
    fn ty(&mut self, t: &Type) -> Type {
        match t {
            Type::Param(a) => self.types.get(a).cloned().unwrap_or_else(|| t.clone()),
            _ => map_type(self, t),
        }
    }
    fn lty(&mut self, t: &LType) -> LType {
        match t {
            // D of a type parameter is D of its instance, which is first-order: the mode does not matter.
            LType::Param(a) => match self.types.get(a) {
                Some(ty) => ty.tangent(crate::types::Mode::Forward),
                None => t.clone(),
            },
            LType::Tuple(ts) => {
                if let Some((_, found)) = self.met.get(&ts.address()) {
                    return found.clone();
                }
                let found = map_ltype(self, t);
                self.met.insert(ts.address(), (t.clone(), found.clone()));
                found
            }
            _ => map_ltype(self, t),
        }
    }
}

/// A copy with fresh binders.
pub fn refresh(t: &Tm, supply: &mut Supply) -> Tm {
    Subst::new(supply).term(t)
}

pub fn refresh_lin(t: &Lin, supply: &mut Supply) -> Lin {
    Subst::new(supply).lin(t)
}

/// t[s/x]
pub fn subst(t: &Tm, x: &Var, s: &Tm, supply: &mut Supply) -> Tm {
    Subst::new(supply).term_for(x, s.clone()).term(t)
}
