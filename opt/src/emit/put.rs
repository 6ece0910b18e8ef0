//! An element of a linear array put in its place: {array with [index, …] = value}, as D writes it.

use super::place::{Dst, Ev, Slice};
use super::{Emitter, Error};
use lang::core::{Term, Tm};
use lang::name::Var;
use lang::prim::Prim;
use lang::target::{Lin, LinTerm, make};
use lang::types::LType;
use lang::walk::{free_vars, free_vars_lin};
use std::cell::Cell;
use std::collections::BTreeSet;

/// {array with [index, …] = value}: build n (λk. if k = i then value else array[k]).
pub struct Put {
    pub array: Lin,
    pub index: Vec<Tm>,
    pub value: Lin,
}

pub fn put(t: &Lin) -> Option<Put> {
    put_under(t, &mut vec![])
}

fn put_under(t: &Lin, ks: &mut Vec<Var>) -> Option<Put> {
    let LinTerm::Build { index: k, body, .. } = &**t else { return None };
    let mut local: BTreeSet<Var> = ks.iter().cloned().chain([k.clone()]).collect();
    let (mut defs, mut body) = (vec![], body);
    while let LinTerm::CLet(x, a, b) = &**body {
        local.insert(x.var.clone());
        defs.push((&x.var, a));
        body = b;
    }
    let LinTerm::If(c, value, rest) = &**body else { return None };
    let c = match &**c {
        Term::Var(x) => defs.iter().find(|(y, _)| *y == x)?.1,
        _ => c,
    };
    let Term::Prim(Prim::IEq, sides) = &**c else { return None };
    let is_k = |t: &Tm| matches!(&**t, Term::Var(x) if x == k);
    let i = match (is_k(&sides[0]), is_k(&sides[1])) {
        (true, false) => &sides[1],
        (false, true) => &sides[0],
        (true, true) | (false, false) => return None,
    };
    let outside = |vars: BTreeSet<Var>| vars.is_disjoint(&local);
    if !outside(free_vars(i)) {
        return None;
    }
    ks.push(k.clone());
    let array = ks.iter().rev().try_fold(rest.clone(), |a, k| match &*a {
        LinTerm::Index(a, i) if matches!(&**i, Term::Var(i) if i == k) => Some(a.clone()),
        _ => None,
    })?;
    let inner = put_under(value, ks);
    ks.pop();
    if let Some(inner) = inner
        && inner.array == array
    {
        let index = [vec![i.clone()], inner.index].concat();
        return Some(Put { index, ..inner });
    }
    outside(free_vars_lin(value)).then(|| Put { array, index: vec![i.clone()], value: value.clone() })
}

impl Emitter<'_> {
    /// A put into the place that already holds the array.
    pub(super) fn put_in_place(&mut self, p: &Put, s: &Slice) -> Result<(), Error> {
        let mut at = s.clone();
        for i in &p.index {
            let i = self.eval(i)?.scalar();
            at = at.at(i);
        }
        let place = Ev::Slice(at.clone());
        let Dst::Slice(at, fresh) = self.fresh_slices(&place) else { unreachable!("a slice has one part") };
        let part = Dst::Slice(at.clone(), fresh);
        let element = if self.rest(&at).is_empty() { Dst::Cell(self.new_cell()) } else { part.clone() };
        self.emit(&p.value, &element)?;
        self.close_element(&element, &part)
    }
}

/// {array with [i, …] = value} again.
pub fn put_term(ty: &LType, array: &Lin, index: &[Tm], value: Lin, names: &Cell<u32>) -> Option<Lin> {
    let Some((i, rest)) = index.split_first() else { return Some(value) };
    let LType::Array(n, element) = ty else { return None };
    let k = fresh(names, "k");
    let at = make::index(array.clone(), lang::core::make::var(&k));
    let new = put_term(element, &at, rest, value, names)?;
    let here = lang::core::make::prim(Prim::IEq, [lang::core::make::var(&k), i.clone()]);
    Some(make::build(k, n.clone(), make::if_(here, new, at)))
}

pub fn fresh(names: &Cell<u32>, name: &str) -> Var {
    let id = names.replace(names.get() + 1);
    Var { name: name.into(), id }
}
