//! The components of a linear tuple type, with what is asked of all of them at once. The environments of D are left-nested pairs that share
//! their tails, and every occurrence of a variable has one in its term: what has to be known of an environment is
//! found when it is extended, so that no occurrence walks it.

use super::{LType, Type};
use crate::name::Var;
use crate::size::Size;
use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// τ̲1, …, τ̲k. Equal to others by its types alone.
#[derive(Clone)]
pub struct Components(Arc<Known>);

struct Known {
    types: Box<[LType]>,
    facts: Facts,
    /// How many binders they have as an environment.
    depth: usize,
}

/// What holds of linear types.
#[derive(Clone)]
struct Facts {
    /// The variables of their sizes, shared with the tail of an environment where it has the same.
    vars: Arc<BTreeSet<Var>>,
    /// Made of reals, tuples and arrays.
    plain: bool,
    /// Each has one element only.
    trivial: bool,
}

impl Components {
    /// The variables of the sizes in them.
    pub fn vars(&self) -> &BTreeSet<Var> {
        &self.0.facts.vars
    }
    /// Made of reals, tuples and arrays: nothing in them but sizes depends on the context.
    pub fn is_plain(&self) -> bool {
        self.0.facts.plain
    }
    /// Each has exactly one element.
    pub fn is_trivial(&self) -> bool {
        self.0.facts.trivial
    }
    /// How many binders they have as an environment: how often the first of two can be taken.
    pub fn depth(&self) -> usize {
        self.0.depth
    }
    /// Stands for these components as long as they live.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
}

impl Facts {
    /// Of no types.
    fn new() -> Facts {
        Facts { vars: Arc::default(), plain: true, trivial: true }
    }

    fn of_sizes(&mut self, n: &Size) {
        let new: Vec<&Var> = n.vars().filter(|v| !self.vars.contains(v)).collect();
        if !new.is_empty() {
            Arc::make_mut(&mut self.vars).extend(new.into_iter().cloned());
        }
    }

    fn and(&mut self, other: &Facts) {
        if self.vars.is_empty() {
            self.vars = other.vars.clone();
        } else if !Arc::ptr_eq(&self.vars, &other.vars) && !other.vars.is_subset(&self.vars) {
            Arc::make_mut(&mut self.vars).extend(other.vars.iter().cloned());
        }
        self.plain &= other.plain;
        self.trivial &= other.trivial;
    }

    fn lty(&mut self, t: &LType) {
        match t {
            LType::Real => self.trivial = false,
            LType::Param(_) => (self.plain, self.trivial) = (false, false),
            LType::Tuple(ts) => self.and(&ts.0.facts),
            LType::Sum(ts) => {
                ts.iter().for_each(|t| self.lty(t));
                (self.plain, self.trivial) = (false, false);
            }
            LType::Array(n, t) => {
                self.of_sizes(n);
                self.lty(t);
            }
            LType::Power(a, b) | LType::Copower(a, b) => {
                self.ty(a);
                self.plain = false;
                self.lty(b);
            }
        }
    }

    /// The sizes of a type that a function has.
    fn ty(&mut self, t: &Type) {
        match t {
            Type::Real | Type::Int | Type::Bool | Type::Param(_) => {}
            Type::Tuple(ts) | Type::Sum(ts) => ts.iter().for_each(|t| self.ty(t)),
            Type::Array(n, t) => {
                self.of_sizes(n);
                self.ty(t);
            }
            Type::Fun(a, b) => {
                self.ty(a);
                self.ty(b);
            }
            Type::Lin(a, b) => {
                let mut sizes = Facts::new();
                sizes.lty(a);
                sizes.lty(b);
                self.and(&Facts { trivial: true, ..sizes });
            }
        }
    }
}

impl FromIterator<LType> for Components {
    fn from_iter<I: IntoIterator<Item = LType>>(types: I) -> Components {
        let types: Box<[LType]> = types.into_iter().collect();
        let mut facts = Facts::new();
        types.iter().for_each(|t| facts.lty(t));
        let depth = match &types[..] {
            [LType::Tuple(tail), _] => 1 + tail.depth(),
            [_, _] => 1,
            _ => 0,
        };
        Components(Arc::new(Known { types, facts, depth }))
    }
}

impl Deref for Components {
    type Target = [LType];
    fn deref(&self) -> &[LType] {
        &self.0.types
    }
}

impl PartialEq for Components {
    fn eq(&self, other: &Components) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.types == other.0.types
    }
}
impl Eq for Components {}

impl Hash for Components {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.types.hash(state)
    }
}

impl fmt::Debug for Components {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.types.fmt(f)
    }
}
