//! Sharing a destination (chad.md §7): z.k may be a part of d when the body only adds z.k to that part, and uses it for
//! nothing else, in the same control region. Then what is emitted into z.k is emitted into d, and nothing is left to add.

use super::place::Dst;
use lang::core::Tm;
use lang::name::Var;
use lang::size::Size;
use lang::target::{Lin, LinTerm};
use lang::types::LType;
use lang::walk::{Mapper, map_lin};
use std::collections::HashMap;

/// A part of a destination: of `whole` the elements at these indices, each with the bound it is below.
pub struct Part {
    pub whole: Dst,
    pub at: Vec<(Tm, Size)>,
}

/// The array components of z (by path) that may share a part of d in `let z̲ = … in t` emitted into d. Several may share one part:
/// accumulations commute.
pub fn aliases(o: &Occurrences, z: &Var, ty: &LType, t: &Lin, d: &Dst) -> Vec<(Vec<usize>, Part)> {
    let mut out = vec![];
    arrays(ty, &mut vec![], &mut |path| {
        if o.uses(z, path) == 1
            && let Some(part) = addend(o, t, z, path, d)
            && matches!(part.whole, Dst::Slice(..))
        {
            out.push((path.to_vec(), part));
        }
    });
    out
}

/// Component k of a loop's state occurs in the body once, as an addend of its own next value.
pub fn only_added(o: &Occurrences, z: &Var, k: usize, tuple: bool, body: &Lin) -> bool {
    let path = if tuple { vec![k] } else { vec![] };
    if o.uses(z, &path) != 1 {
        return false;
    }
    let mut t = body;
    while let LinTerm::CLet(_, _, b) | LinTerm::Let(_, _, b) = &**t {
        t = b;
    }
    let LinTerm::Tuple(parts) = &**t else { return false };
    let next = match (&*parts[0], tuple) {
        (LinTerm::Tuple(ts), true) => ts[k].clone(),
        (_, false) => parts[0].clone(),
        _ => return false,
    };
    is_addend(&next, z, &path)
}

fn is_addend(t: &Lin, z: &Var, path: &[usize]) -> bool {
    match &**t {
        LinTerm::Plus(a, b) => is_addend(a, z, path) || is_addend(b, z, path),
        _ => is_path_to(t, z, path),
    }
}

/// The part of d that the only occurrence of z.path in t is added to.
fn addend(o: &Occurrences, t: &Lin, z: &Var, path: &[usize], d: &Dst) -> Option<Part> {
    match &**t {
        _ if is_path_to(t, z, path) => Some(Part { whole: d.clone(), at: vec![] }),
        LinTerm::Plus(a, b) => addend(o, a, z, path, d).or_else(|| addend(o, b, z, path, d)),
        LinTerm::Tuple(ts) => match d {
            Dst::Tuple(ds) => ts.iter().zip(ds).find_map(|(t, d)| addend(o, t, z, path, d)),
            Dst::Null | Dst::Cell(_) | Dst::Slice(..) => None,
        },
        LinTerm::OneHot { bound, index, term } => {
            let Part { whole, at } = addend(o, term, z, path, d)?;
            Some(Part { whole, at: [vec![(index.clone(), bound.clone())], at].concat() })
        }
        LinTerm::CLet(_, _, t) => addend(o, t, z, path, d),
        // Through another variable that is itself only added to a part of d.
        LinTerm::Let(y, s, t) => {
            if !mentions(s, z, path) {
                return addend(o, t, z, path, d);
            }
            if o.uses(&y.var, &[]) != 1 {
                return None;
            }
            let outer = addend(o, t, &y.var, &[], d)?;
            let inner = addend(o, s, z, path, &outer.whole)?;
            Some(Part { whole: inner.whole, at: [outer.at, inner.at].concat() })
        }
        _ => None,
    }
}

pub fn is_path_to(t: &Lin, z: &Var, path: &[usize]) -> bool {
    match (&**t, path.split_last()) {
        (LinTerm::Var(v), None) => v == z,
        (LinTerm::Proj(t, i), Some((last, rest))) => i == last && is_path_to(t, z, rest),
        _ => false,
    }
}

/// Where linear variables occur in a linear term: the path each occurrence projects.
#[derive(Default)]
pub struct Occurrences(HashMap<Var, Vec<Vec<usize>>>);

impl Occurrences {
    pub fn note(&mut self, t: &Lin) {
        self.lin(t);
    }

    /// One term in place of another.
    pub fn replace(&mut self, old: &Lin, new: &Lin) {
        let mut gone = Occurrences::default();
        gone.note(old);
        for (z, paths) in gone.0 {
            let here = self.0.entry(z).or_default();
            for p in paths {
                if let Some(k) = here.iter().position(|q| *q == p) {
                    here.swap_remove(k);
                }
            }
        }
        self.note(new);
    }

    /// How often z.path, or a part of it, or a whole that contains it, is used.
    pub fn uses(&self, z: &Var, path: &[usize]) -> usize {
        let touches = |p: &&Vec<usize>| {
            let common = p.len().min(path.len());
            p[..common] == path[..common]
        };
        self.0.get(z).map_or(0, |paths| paths.iter().filter(touches).count())
    }
}

impl Mapper for Occurrences {
    fn lin(&mut self, t: &Lin) -> Lin {
        // Chains of lets are walked, not recursed into.
        let mut t = t;
        while let LinTerm::Let(_, s, b) = &**t {
            self.lin(s);
            t = b;
        }
        match as_path(t) {
            Some((z, p)) => {
                self.0.entry(z).or_default().push(p);
                t.clone()
            }
            None => map_lin(self, t),
        }
    }
    fn lty(&mut self, t: &LType) -> LType {
        t.clone()
    }
}

/// Whether z.path, or a part of it, or a whole that contains it, occurs in a term.
fn mentions(t: &Lin, z: &Var, path: &[usize]) -> bool {
    let mut o = Occurrences::default();
    o.note(t);
    o.uses(z, path) > 0
}

pub fn as_path(t: &Lin) -> Option<(Var, Vec<usize>)> {
    match &**t {
        LinTerm::Var(v) => Some((v.clone(), vec![])),
        LinTerm::Proj(t, i) => {
            let (v, mut p) = as_path(t)?;
            p.push(*i);
            Some((v, p))
        }
        _ => None,
    }
}

fn arrays(ty: &LType, path: &mut Vec<usize>, f: &mut impl FnMut(&[usize])) {
    match ty {
        LType::Array(_, t) if !matches!(**t, LType::Tuple(_)) => f(path),
        LType::Tuple(ts) => {
            for (k, t) in ts.iter().enumerate() {
                path.push(k);
                arrays(t, path, f);
                path.pop();
            }
        }
        LType::Real
        | LType::Array(..)
        | LType::Sum(_)
        | LType::Power(..)
        | LType::Copower(..)
        | LType::Param(_) => {}
    }
}
