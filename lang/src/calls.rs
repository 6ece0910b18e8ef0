//! Which definitions call which.

use crate::core::{Def, Program, Term, Tm};
use crate::name::Name;
use crate::types::{LType, Type};
use crate::walk::{Mapper, map_term};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The definitions called in a term.
pub fn called(t: &Tm) -> BTreeSet<Name> {
    struct Called(BTreeSet<Name>);
    impl Mapper for Called {
        fn term(&mut self, t: &Tm) -> Tm {
            if let Term::Call { def, .. } = &**t {
                self.0.insert(def.clone());
            }
            map_term(self, t)
        }
        // No calls in types.
        fn ty(&mut self, t: &Type) -> Type {
            t.clone()
        }
        fn lty(&mut self, t: &LType) -> LType {
            t.clone()
        }
    }
    let mut c = Called(BTreeSet::new());
    c.term(t);
    c.0
}

/// The definitions that a term calls, directly or not.
pub fn reached(t: &Tm, program: &Program) -> BTreeSet<Name> {
    let (mut found, mut todo) = (BTreeSet::new(), called(t));
    while let Some(f) = todo.pop_first() {
        if found.insert(f.clone())
            && let Some(d) = program.defs.get(&f)
        {
            todo.extend(called(&d.body));
        }
    }
    found
}

/// The definition calls itself, directly or through others.
pub fn recursive(def: &Name, program: &Program) -> bool {
    program.defs.get(def).is_some_and(|d| reached(&d.body, program).contains(def))
}

/// The program with other names for its definitions.
pub fn renamed(program: &Program, new: &dyn Fn(&Name) -> Name) -> Program {
    struct Renamed<'a>(&'a dyn Fn(&Name) -> Name);
    impl Mapper for Renamed<'_> {
        fn term(&mut self, t: &Tm) -> Tm {
            let t = map_term(self, t);
            match &*t {
                Term::Call { def, types, sizes, args } => {
                    let (types, sizes, args) = (types.clone(), sizes.clone(), args.clone());
                    Arc::new(Term::Call { def: self.0(def), types, sizes, args })
                }
                _ => t,
            }
        }
    }
    let defs = program.defs.values().map(|d| {
        let (name, body) = (new(&d.name), Renamed(new).term(&d.body));
        (name.clone(), Arc::new(Def { name, body, ..Def::clone(d) }))
    });
    Program { defs: defs.collect() }
}
