//! A smaller program with the same fault: subterms are replaced by their own parts or by constants as long as the checker accepts the
//! result and the fault stays.

use crate::r#gen::Sample;
use lang::core::make::{bool, int, real, tuple};
use lang::core::{Def, Term, Tm};
use lang::types::Type;
use lang::walk::{Mapper, map_term};
use std::sync::Arc;
use typeck::check::{Language, check_program};

/// Tries at most so many smaller programs.
const TRIES: usize = 4000;

/// The smallest sample found on which `fails` still holds.
pub fn shrink(sample: &Sample, fails: &mut dyn FnMut(&Sample) -> bool) -> Sample {
    let mut best = sample.clone();
    let mut tries = TRIES;
    'smaller: loop {
        let names: Vec<_> = best.program.defs.keys().cloned().collect();
        for name in names {
            let def = best.program.defs[&name].clone();
            for at in 0..count(&def.body) {
                for candidate in candidates(&def.body, at) {
                    let body = replace(&def.body, at, &candidate);
                    let mut next = best.clone();
                    next.program.defs.insert(name.clone(), Arc::new(Def { body, ..(*def).clone() }));
                    if check_program(&next.program, Language::Core).is_err() {
                        continue;
                    }
                    if tries == 0 {
                        return best;
                    }
                    tries -= 1;
                    if fails(&next) {
                        best = next;
                        continue 'smaller;
                    }
                }
            }
        }
        return best;
    }
}

/// Visits subterms in preorder by number.
struct At<'a> {
    next: usize,
    wanted: usize,
    found: Option<Tm>,
    by: Option<&'a Tm>,
}

impl Mapper for At<'_> {
    fn term(&mut self, t: &Tm) -> Tm {
        let here = self.next;
        self.next += 1;
        if here == self.wanted {
            self.found = Some(t.clone());
            if let Some(by) = self.by {
                return by.clone();
            }
        }
        map_term(self, t)
    }
}

fn count(t: &Tm) -> usize {
    let mut at = At { next: 0, wanted: usize::MAX, found: None, by: None };
    at.term(t);
    at.next
}

fn replace(t: &Tm, wanted: usize, by: &Tm) -> Tm {
    At { next: 0, wanted, found: None, by: Some(by) }.term(t)
}

/// Smaller terms for the place: constants, then what is inside. Those of another type are refused by the checker.
fn candidates(body: &Tm, wanted: usize) -> Vec<Tm> {
    let mut at = At { next: 0, wanted, found: None, by: None };
    at.term(body);
    let Some(t) = at.found else { return vec![] };
    if matches!(*t, Term::Lit(_)) {
        return vec![];
    }
    let mut out = vec![real(0.5), int(0), bool(true), tuple([])];
    let mut parts = Parts(vec![]);
    map_term(&mut parts, &t);
    out.extend(parts.0.iter().cloned());
    for part in &parts.0 {
        let mut deeper = Parts(vec![]);
        map_term(&mut deeper, part);
        out.extend(deeper.0);
    }
    if let Term::Array(ty @ Type::Real, ts) = &*t
        && ts.len() > 1
    {
        out.push(Arc::new(Term::Array(ty.clone(), ts[..1].to_vec())));
    }
    out
}

/// The immediate subterms.
struct Parts(Vec<Tm>);

impl Mapper for Parts {
    fn term(&mut self, t: &Tm) -> Tm {
        self.0.push(t.clone());
        t.clone()
    }
}
