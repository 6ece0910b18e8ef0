//! Variables. A variable is its number; the name is for people.
//!
//! Invariant: within one definition every binder has its own number, so substitution of closed-over terms
//! never captures. Whoever copies a term into another definition, or duplicates one, renames its binders
//! ([`crate::walk::refresh`]) from the receiving definition's [`Supply`].

use std::fmt;
use std::sync::Arc;

pub type Name = Arc<str>;

/// A variable: equality, order and hash are those of `id`.
#[derive(Clone)]
pub struct Var {
    pub name: Name,
    pub id: u32,
}

impl PartialEq for Var {
    fn eq(&self, other: &Var) -> bool {
        self.id == other.id
    }
}
impl Eq for Var {}
impl PartialOrd for Var {
    fn partial_cmp(&self, other: &Var) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Var {
    fn cmp(&self, other: &Var) -> std::cmp::Ordering {
        self.id.cmp(&other.id)
    }
}
impl std::hash::Hash for Var {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id.hash(state)
    }
}
impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%{}", self.name, self.id)
    }
}

/// The name in the program of what a derived definition was made of: a specialisation of a recursive definition is called `f'rec`.
pub fn source(name: &str) -> &str {
    name.find("'rec").map_or(name, |at| &name[..at])
}

/// A source of fresh variables for one definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Supply {
    pub next: u32,
}

impl Supply {
    pub fn fresh(&mut self, name: impl Into<Name>) -> Var {
        let id = self.next;
        self.next += 1;
        Var { name: name.into(), id }
    }

    /// A fresh variable with the same name.
    pub fn renew(&mut self, like: &Var) -> Var {
        self.fresh(like.name.clone())
    }
}
