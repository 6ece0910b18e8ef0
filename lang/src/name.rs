//! Variables. A variable is its number; the name is for people.
//!
//! Invariant: within one definition every binder has its own number, so substitution of closed-over terms
//! never captures. Whoever copies a term into another definition, or duplicates one, renames its binders
//! ([`crate::walk::refresh`]) from the receiving definition's [`Supply`].

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use symbol_table::GlobalSymbol;

/// A name: its number in a table of all names of the process, so that it takes four bytes, is copied without counting and compared at once.
/// Order and hash are those of the text, so that nothing depends on which name was met first.
#[derive(Clone, PartialEq, Eq)]
pub struct Name(GlobalSymbol);

impl Name {
    pub fn as_str(&self) -> &'static str {
        self.0.as_str()
    }
}

impl Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}
impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}
impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        self
    }
}
impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name(text.into())
    }
}
impl From<String> for Name {
    fn from(text: String) -> Name {
        Name(text.into())
    }
}
impl From<&String> for Name {
    fn from(text: &String) -> Name {
        Name(text.into())
    }
}
impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Name {
    fn cmp(&self, other: &Name) -> std::cmp::Ordering {
        if self.0 == other.0 { std::cmp::Ordering::Equal } else { self.as_str().cmp(other) }
    }
}
impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state)
    }
}
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

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
impl Hash for Var {
    fn hash<H: Hasher>(&self, state: &mut H) {
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
