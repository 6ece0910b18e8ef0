//! Slopes made beside values: sigmoid and softplus come from e^−|x|, and so does the slope of either. The exponential is dear and what follows from it is not, so where the
//! value is made the slope is made too, and kept for the map.

use super::Item;
use super::linear::wrap_lin;
use super::residual::Defs;
use lang::core::{Binder, Term, Tm};
use lang::name::Var;
use lang::prim::Prim;
use lang::target::{Lin, LinTerm};
use std::collections::{BTreeMap, BTreeSet};

/// A map without its primitives that cost little where it is made, since one from the same exponential is computed there: they are computed beside that,
/// and being dear they are kept.
pub(super) fn computed_beside(body: &Lin, defs: &mut Defs, beside: &mut Vec<(Binder, Tm)>) -> Lin {
    let (mut chain, mut rest) = (vec![], body);
    loop {
        match &**rest {
            LinTerm::CLet(x, a, b) => {
                chain.push(Item::Let(x.clone(), a.clone()));
                rest = b;
            }
            LinTerm::Let(z, s, b) => {
                chain.push(Item::Lin(z.clone(), s.clone()));
                rest = b;
            }
            _ => break,
        }
    }
    let own: BTreeMap<Var, Tm> = (chain.iter())
        .filter_map(|item| match item {
            Item::Let(x, t) => Some((x.var.clone(), t.clone())),
            Item::Lin(..) => None,
        })
        .collect();
    let made: BTreeSet<Var> = (defs.values())
        .filter_map(|(_, def)| from_exponential(def.as_ref()?))
        .map(|x| up_to_sign(x, &|y| defs.get(y).and_then(|(_, def)| def.clone())))
        .collect();
    let mut moved = BTreeSet::new();
    for (x, t) in &own {
        if let Some(y) = from_exponential(t)
            && made.contains(&up_to_sign(y, &|y| {
                own.get(y).cloned().or_else(|| defs.get(y).and_then(|(_, def)| def.clone()))
            }))
        {
            // Its argument is the other's, or the negation of that.
            moved.insert(x.clone());
            moved.extend(own.contains_key(y).then(|| y.clone()));
        }
    }
    let mut stays = vec![];
    for item in chain {
        match item {
            Item::Let(x, t) if moved.contains(&x.var) => {
                defs.insert(x.var.clone(), (x.ty.clone(), Some(t.clone())));
                beside.push((x, t));
            }
            item => stays.push(item),
        }
    }
    wrap_lin(stays, rest.clone())
}

/// The x of a primitive that is computed from e^−|x|.
fn from_exponential(t: &Tm) -> Option<&Var> {
    let Term::Prim(Prim::Sigmoid | Prim::Softplus, args) = &**t else { return None };
    match &*args[0] {
        Term::Var(x) => Some(x),
        _ => None,
    }
}

/// x, or the variable that it is the negation of.
fn up_to_sign(x: &Var, definition: &dyn Fn(&Var) -> Option<Tm>) -> Var {
    match definition(x).as_deref() {
        Some(Term::Prim(Prim::Neg, args)) => match &*args[0] {
            Term::Var(y) => y.clone(),
            _ => x.clone(),
        },
        _ => x.clone(),
    }
}
