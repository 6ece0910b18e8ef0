//! Single-use lets are written where they are used, when that is in the same region: the reader, and emission, see expressions. Nothing
//! moves under a binder or into a branch, so nothing is computed more often, or fails where it did not.

use crate::normalise::linear::is_path;
use lang::core::{Binder, Term, Tm, make};
use lang::name::Var;
use lang::size::Size;
use lang::target::{Lin, LinTerm};
use lang::types::Type;
use lang::walk::{Mapper, as_size, map_lin, map_term};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How deep inlined terms may nest.
const DEPTH: usize = 24;
const LINEAR_DEPTH: usize = 1000;

pub fn tidy(t: &Tm, pinned: &HashSet<Var>, strict: bool) -> Tm {
    let mut uses = Uses::default();
    uses.term(t);
    Tidy { uses, pinned, strict, terms: HashMap::new(), lins: HashMap::new(), depth: HashMap::new() }.term(t)
}

/// The same for a linear term.
pub fn tidy_lin(t: &Lin, pinned: &HashSet<Var>, strict: bool) -> Lin {
    let mut uses = Uses::default();
    uses.lin(t);
    Tidy { uses, pinned, strict, terms: HashMap::new(), lins: HashMap::new(), depth: HashMap::new() }.lin(t)
}

/// How often each variable is used, and the regions of its let and of its last use.
#[derive(Default)]
struct Uses {
    count: HashMap<Var, usize>,
    bound_in: HashMap<Var, usize>,
    used_in: HashMap<Var, usize>,
    region: usize,
    regions: usize,
}

impl Uses {
    fn inside(&mut self, f: impl FnOnce(&mut Self)) {
        let outer = self.region;
        self.regions += 1;
        self.region = self.regions;
        f(self);
        self.region = outer;
    }
    fn used(&mut self, v: &Var) {
        *self.count.entry(v.clone()).or_default() += 1;
        self.used_in.insert(v.clone(), self.region);
    }
    fn single(&self, v: &Var) -> bool {
        self.count.get(v) == Some(&1) && self.bound_in.get(v) == self.used_in.get(v)
    }
}

impl Mapper for Uses {
    fn bind(&mut self, v: &Var) -> Var {
        self.bound_in.insert(v.clone(), self.region);
        v.clone()
    }
    fn size(&mut self, n: &Size) -> Size {
        for v in n.vars() {
            *self.count.entry(v.clone()).or_default() += 2;
        }
        n.clone()
    }
    fn term(&mut self, t: &Tm) -> Tm {
        match &**t {
            Term::Var(v) => self.used(v),
            Term::Let(..) => {
                let mut t = t;
                while let Term::Let(x, a, b) = &**t {
                    self.term(a);
                    self.ty(&x.ty);
                    self.bind(&x.var);
                    t = b;
                }
                self.term(t);
            }
            Term::Case(s, arms) => {
                self.term(s);
                arms.iter().for_each(|(_, a)| self.inside(|u| drop(u.term(a))));
            }
            Term::If(c, a, b) => {
                self.term(c);
                self.inside(|u| drop(u.term(a)));
                self.inside(|u| drop(u.term(b)));
            }
            Term::Loop { init, bound, body, state, .. } => {
                self.term(init);
                self.size(bound);
                self.ty(&state.ty);
                self.inside(|u| drop(u.term(body)));
            }
            Term::While { init, cond, body, state } => {
                self.term(init);
                self.ty(&state.ty);
                self.inside(|u| drop(u.term(cond)));
                self.inside(|u| drop(u.term(body)));
            }
            // The body stands behind the check.
            Term::Check { cond, details, body, .. } => {
                self.term(cond);
                details.iter().for_each(|d| drop(self.term(d)));
                self.inside(|u| drop(u.term(body)));
            }
            Term::Lam(..)
            | Term::Build { .. }
            | Term::Sum { .. }
            | Term::Extremum { .. }
            | Term::LinLam(..) => {
                self.inside(|u| drop(map_term(u, t)));
            }
            Term::Lit(_) | Term::Tuple(_) | Term::Proj(..) | Term::Inject(..) | Term::App(..) => {
                map_term(self, t);
            }
            Term::Prim(..) | Term::Index(..) | Term::Update { .. } | Term::Array(..) => {
                map_term(self, t);
            }
            Term::Argsort(_) | Term::Call { .. } | Term::Box(_) | Term::Unbox(..) => {
                map_term(self, t);
            }
            Term::Diff { .. } | Term::Detach(_) | Term::LinApp(..) | Term::Unread(_) | Term::Zero(_) => {
                map_term(self, t);
            }
        }
        t.clone()
    }
    fn lin(&mut self, t: &Lin) -> Lin {
        match &**t {
            LinTerm::Var(v) => self.used(v),
            LinTerm::If(c, a, b) => {
                self.term(c);
                self.inside(|u| drop(u.lin(a)));
                self.inside(|u| drop(u.lin(b)));
            }
            LinTerm::Case(s, arms) => {
                self.term(s);
                arms.iter().for_each(|(_, a)| self.inside(|u| drop(u.lin(a))));
            }
            LinTerm::SumElim(s, arms) => {
                self.lin(s);
                arms.iter().for_each(|(_, a)| self.inside(|u| drop(u.lin(a))));
            }
            LinTerm::TensorElim { scrutinee, body, .. } => {
                self.lin(scrutinee);
                self.inside(|u| drop(u.lin(body)));
            }
            LinTerm::Loop { init, bound, body, state, .. } => {
                self.lin(init);
                self.size(bound);
                self.lty(&state.ty);
                self.inside(|u| drop(u.lin(body)));
            }
            LinTerm::Build { .. } | LinTerm::Sum { .. } | LinTerm::Power(..) => {
                self.inside(|u| drop(map_lin(u, t)));
            }
            LinTerm::Zero(_) | LinTerm::Plus(..) | LinTerm::Tuple(_) | LinTerm::Proj(..) => {
                drop(map_lin(self, t))
            }
            LinTerm::Coproj { .. }
            | LinTerm::EnvProj { .. }
            | LinTerm::PowerApp(..)
            | LinTerm::Tensor(..) => drop(map_lin(self, t)),
            LinTerm::Scale(..) | LinTerm::App(..) | LinTerm::Let(..) | LinTerm::CLet(..) => {
                drop(map_lin(self, t))
            }
            LinTerm::Inject(..) | LinTerm::FromInject(..) | LinTerm::Index(..) | LinTerm::OneHot { .. } => {
                drop(map_lin(self, t))
            }
        }
        t.clone()
    }
}

struct Tidy<'p> {
    uses: Uses,
    pinned: &'p HashSet<Var>,
    /// Sums keep their let: emission adds the parts of a sum inside a sum to one accumulator, that is, in another order.
    strict: bool,
    terms: HashMap<Var, Tm>,
    lins: HashMap<Var, Lin>,
    depth: HashMap<Var, usize>,
}

impl Tidy<'_> {
    /// Notes that a Cartesian let is written at its use.
    fn inlined(&mut self, x: &Binder, operands: usize, a: &Tm, last: bool) -> bool {
        let scalar = matches!(x.ty, Type::Real | Type::Int | Type::Bool);
        let simple = matches!(**a, Term::Prim(..) | Term::Index(..) | Term::Proj(..));
        let polynomial = x.ty == Type::Int && as_size(a).is_some_and(|n| n.terms.len() <= 3);
        let once = self.uses.single(&x.var) && (scalar && simple || last);
        if self.pinned.contains(&x.var) || !(once || polynomial || matches!(**a, Term::Var(_) | Term::Lit(_)))
        {
            return false;
        }
        if operands >= DEPTH {
            return false;
        }
        self.depth.insert(x.var.clone(), operands + 1);
        self.terms.insert(x.var.clone(), a.clone());
        true
    }

    /// How deep the terms nest that operands of this operation (on atoms) will be.
    fn depth_below(&self, t: &Term) -> usize {
        match t {
            Term::Var(v) => self.depth.get(v).copied().unwrap_or(0),
            Term::Prim(_, ts) | Term::Tuple(ts) => ts.iter().map(|t| self.depth_below(t)).max().unwrap_or(0),
            Term::Proj(t, _) => self.depth_below(t),
            Term::Index(a, i, _) => self.depth_below(a).max(self.depth_below(i)),
            _ => 0,
        }
    }

    fn linear_depth_below(&self, t: &LinTerm) -> usize {
        match t {
            LinTerm::Var(v) => self.depth.get(v).copied().unwrap_or(0),
            LinTerm::Plus(a, b) => self.linear_depth_below(a).max(self.linear_depth_below(b)),
            LinTerm::Tuple(ts) => ts.iter().map(|t| self.linear_depth_below(t)).max().unwrap_or(0),
            LinTerm::Proj(t, _) | LinTerm::Scale(_, t) | LinTerm::Index(t, _) => self.linear_depth_below(t),
            LinTerm::OneHot { term, .. } => self.linear_depth_below(term),
            _ => 0,
        }
    }
}

/// One entry that has a name: to add it in two places is cheaper than to make an array of it.
fn is_entry(t: &Lin) -> bool {
    match &**t {
        LinTerm::OneHot { index, term, .. } => {
            let named = matches!(**index, Term::Var(_) | Term::Lit(_));
            named && (is_path(term) || is_entry(term))
        }
        _ => false,
    }
}

/// Whether a component of the value is a sum of several terms where emission would add them one by one to what the value is added to.
fn adds(t: &Lin) -> bool {
    match &**t {
        LinTerm::Var(_)
        | LinTerm::Zero(_)
        | LinTerm::Scale(..)
        | LinTerm::Index(..)
        | LinTerm::EnvProj { .. } => false,
        LinTerm::PowerApp(..) | LinTerm::App(..) => false,
        // Elements are added up before they are stored.
        LinTerm::Build { .. } => false,
        LinTerm::Tuple(ts) => ts.iter().any(adds),
        LinTerm::Proj(t, _) | LinTerm::Inject(_, _, t) | LinTerm::FromInject(_, t) => adds(t),
        LinTerm::Coproj { term, .. } | LinTerm::OneHot { term, .. } => adds(term),
        LinTerm::Plus(..)
        | LinTerm::Sum { .. }
        | LinTerm::If(..)
        | LinTerm::Case(..)
        | LinTerm::SumElim(..) => true,
        LinTerm::Let(..) | LinTerm::CLet(..) | LinTerm::Loop { .. } => true,
        LinTerm::Power(..) | LinTerm::Tensor(..) | LinTerm::TensorElim { .. } => true,
    }
}

impl Mapper for Tidy<'_> {
    fn term(&mut self, t: &Tm) -> Tm {
        match &**t {
            Term::Var(v) => self.terms.get(v).cloned().unwrap_or_else(|| t.clone()),
            Term::Let(..) => {
                let mut chain = vec![];
                let mut t = t;
                while let Term::Let(x, a, b) = &**t {
                    let last = matches!(&**b, Term::Var(v) if *v == x.var);
                    let (depth, a) = (self.depth_below(a), self.term(a));
                    if !self.inlined(x, depth, &a, last) {
                        chain.push((x.clone(), a));
                    }
                    t = b;
                }
                let result = self.term(t);
                chain.into_iter().rev().fold(result, |t, (x, a)| make::let_(x, a, t))
            }
            _ => map_term(self, t),
        }
    }
    fn lin(&mut self, t: &Lin) -> Lin {
        match &**t {
            LinTerm::Var(v) => self.lins.get(v).cloned().unwrap_or_else(|| t.clone()),
            LinTerm::Let(z, s, b) => {
                let (depth, new) = (self.linear_depth_below(s), self.lin(s));
                let moves = !self.strict || !adds(&new);
                let at_use = self.uses.single(&z.var) || is_entry(&new);
                if moves && at_use && depth < LINEAR_DEPTH {
                    self.depth.insert(z.var.clone(), depth + 1);
                    self.lins.insert(z.var.clone(), new);
                    return self.lin(b);
                }
                Arc::new(LinTerm::Let(z.clone(), new, self.lin(b)))
            }
            LinTerm::CLet(x, a, b) => {
                let (depth, new) = (self.depth_below(a), self.term(a));
                if self.inlined(x, depth, &new, false) {
                    return self.lin(b);
                }
                Arc::new(LinTerm::CLet(x.clone(), new, self.lin(b)))
            }
            _ => map_lin(self, t),
        }
    }
}
