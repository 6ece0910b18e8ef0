//! Dead lets go away. Terms of the normal form have no effects but failing checks, which stay: an unused one is bound at unit type.

use lang::core::{Term, Tm, make};
use lang::name::Var;
use lang::size::Size;
use lang::target::{Lin, LinTerm};
use lang::walk::{Mapper, map_lin, map_term};
use std::collections::HashSet;
use std::sync::Arc;

/// Drops every let whose variable is not used. One backward sweep: a let's body is visited before its definition.
pub fn prune(t: &Tm) -> Tm {
    Prune { used: HashSet::new() }.term(t)
}

/// The same for a linear term.
pub fn prune_lin(t: &Lin) -> Lin {
    Prune { used: HashSet::new() }.lin(t)
}

struct Prune {
    used: HashSet<Var>,
}

impl Mapper for Prune {
    fn term(&mut self, t: &Tm) -> Tm {
        match &**t {
            Term::Var(v) => {
                self.used.insert(v.clone());
                t.clone()
            }
            Term::Let(..) => {
                // The chain of lets forwards, then its definitions backwards.
                let mut chain = vec![];
                let mut t = t;
                while let Term::Let(x, a, b) = &**t {
                    chain.push((x, a));
                    t = b;
                }
                let mut result = self.term(t);
                for (x, a) in chain.into_iter().rev() {
                    if self.used.contains(&x.var) || is_check(a) {
                        let a = self.term(a);
                        self.ty(&x.ty);
                        result = make::let_(x.clone(), a, result);
                    }
                }
                result
            }
            _ => map_term(self, t),
        }
    }

    fn lin(&mut self, t: &Lin) -> Lin {
        match &**t {
            LinTerm::Var(v) => {
                self.used.insert(v.clone());
                t.clone()
            }
            LinTerm::Let(z, s, b) => {
                let b = self.lin(b);
                if !self.used.contains(&z.var) {
                    return b;
                }
                self.lty(&z.ty);
                Arc::new(LinTerm::Let(z.clone(), self.lin(s), b))
            }
            LinTerm::CLet(x, a, b) => {
                let b = self.lin(b);
                if !self.used.contains(&x.var) && !is_check(a) {
                    return b;
                }
                self.ty(&x.ty);
                Arc::new(LinTerm::CLet(x.clone(), self.term(a), b))
            }
            _ => map_lin(self, t),
        }
    }

    fn size(&mut self, n: &Size) -> Size {
        self.used.extend(n.vars().cloned());
        n.clone()
    }
}

fn is_check(t: &Term) -> bool {
    matches!(t, Term::Check { .. })
}
