//! Updates in place: {a with [i] = v} overwrites a's own buffer when nothing reads a afterwards.
//!
//! [`Emitter::spare`] holds the buffers that belong to the code being emitted: local ones made in it, and the state of the loop around
//! it. What follows the chain of lets at hand reads none of them but through its result. So a buffer of it may be overwritten
//! where no variable of the rest of the chain lies in it.

use super::place::Ev;
use super::{Emitter, Error};
use lang::core::{Binder, Term, Tm};
use lang::loops::{Buf, BufKind};
use lang::name::Var;
use lang::types::Type;
use lang::walk::free_vars;
use std::collections::HashSet;

/// The lets met on the way to a term's result.
type Defs<'t> = Vec<(&'t Binder, &'t Tm)>;

impl Emitter<'_> {
    /// Runs f where only these buffers may be overwritten.
    pub fn with_spare<T>(&mut self, spare: HashSet<Buf>, f: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.spare, spare);
        let result = f(self);
        self.spare = outer;
        result
    }

    /// What is spare but for the buffers that these terms read.
    pub fn spare_beside<'t>(&self, others: impl IntoIterator<Item = &'t Tm>) -> HashSet<Buf> {
        if self.spare.is_empty() {
            return HashSet::new();
        }
        let read: HashSet<Buf> = others.into_iter().flat_map(|t| self.read_by(t)).collect();
        self.spare.difference(&read).copied().collect()
    }

    /// The buffers in which the variables of a term lie.
    fn read_by(&self, t: &Tm) -> HashSet<Buf> {
        let evs = free_vars(t).into_iter().filter_map(|x| self.vars.get(&x).map(buffers));
        evs.flatten().collect()
    }

    /// The value made by a let may be overwritten, as far as its buffers are new.
    pub fn own(&mut self, ev: &Ev, mark: usize) {
        let own = |b: &Buf| b.0 as usize >= mark && self.proc.info(*b).kind == BufKind::Local;
        let bufs: Vec<Buf> = buffers(ev).into_iter().filter(own).collect();
        self.spare.extend(bufs);
    }

    /// `let x = t in rest` for a t that may work in place: an update, or a branch of updates.
    pub fn let_update(&mut self, t: &Tm, rest: &Tm, ty: &Type, name: &str) -> Result<Option<Ev>, Error> {
        let spare = self.spare_beside([rest]);
        self.with_spare(spare, |e| match &**t {
            Term::Update { .. } => {
                let Some(place) = e.spare_root(t, t, &[]) else { return Ok(None) };
                e.put(t, &place)?;
                Ok(Some(place))
            }
            Term::If(c, a, b) => {
                let place = e.result_places(t, ty, &mut vec![], &mut HashSet::new(), name)?;
                let c = e.operand(c)?;
                e.if_into(c, a, b, place).map(Some)
            }
            _ => Ok(None),
        })
    }

    /// Where the results of a branch go: scalars into new variables, arrays over the array that every arm updates, else into new buffers.
    fn result_places(
        &mut self,
        t: &Tm,
        ty: &Type,
        path: &mut Vec<usize>,
        taken: &mut HashSet<Buf>,
        name: &str,
    ) -> Result<Ev, Error> {
        match ty {
            Type::Tuple(ts) => {
                let mut parts = vec![];
                for (k, ty) in ts.iter().enumerate() {
                    path.push(k);
                    parts.push(self.result_places(t, ty, path, taken, name)?);
                    path.pop();
                }
                Ok(Ev::Tuple(parts))
            }
            Type::Array(..) => {
                if let Some(place) = self.spare_root(t, t, path)
                    && buffers(&place).iter().all(|b| taken.insert(*b))
                {
                    return Ok(place);
                }
                self.arm_results(ty, name)
            }
            Type::Real
            | Type::Int
            | Type::Bool
            | Type::Sum(_)
            | Type::Fun(..)
            | Type::Param(_)
            | Type::Lin(..) => self.arm_results(ty, name),
        }
    }

    /// Where the array lies that component `path` of t is, with elements replaced, when its buffers are spare and no other component of
    /// `whole`'s result reads them.
    pub fn spare_root(&self, whole: &Tm, t: &Tm, path: &[usize]) -> Option<Ev> {
        let place = self.root(t, path, &mut vec![])?;
        let all = buffers(&place);
        let free = all.iter().all(|b| self.spare.contains(b)) && is_whole(&place);
        (free && !self.others_read(whole, path, &all, &mut vec![])).then_some(place)
    }

    fn root<'t>(&self, t: &'t Tm, path: &[usize], defs: &mut Defs<'t>) -> Option<Ev> {
        match &**t {
            Term::Let(x, a, b) => {
                defs.push((x, a));
                self.root(b, path, defs)
            }
            Term::Var(x) => match defs.iter().find(|(y, _)| y.var == *x).copied() {
                Some((_, a)) => self.root(a, path, defs),
                None => path.iter().try_fold(self.vars.get(x)?.clone(), |ev, k| match ev {
                    Ev::Tuple(vs) => vs.get(*k).cloned(),
                    Ev::Scalar(_) | Ev::Slice(_) => None,
                }),
            },
            Term::Tuple(ts) => {
                let (first, rest) = path.split_first()?;
                self.root(&ts[*first], rest, defs)
            }
            Term::Proj(t, i) => {
                let path: Vec<usize> = std::iter::once(*i).chain(path.iter().copied()).collect();
                self.root(t, &path, defs)
            }
            Term::Update { array, .. } if path.is_empty() => self.root(array, path, defs),
            Term::If(_, a, b) => {
                let depth = defs.len();
                let x = self.root(a, path, defs)?;
                defs.truncate(depth);
                let y = self.root(b, path, defs)?;
                defs.truncate(depth);
                same(&x, &y).then_some(x)
            }
            _ => None,
        }
    }

    /// Whether a component of t's result beside `path` may lie in these buffers or read them when it is computed.
    fn others_read<'t>(&self, t: &'t Tm, path: &[usize], bufs: &[Buf], defs: &mut Defs<'t>) -> bool {
        match &**t {
            Term::Let(x, a, b) => {
                defs.push((x, a));
                self.others_read(b, path, bufs, defs)
            }
            Term::If(_, a, b) => {
                let depth = defs.len();
                let first = self.others_read(a, path, bufs, defs);
                defs.truncate(depth);
                let second = self.others_read(b, path, bufs, defs);
                defs.truncate(depth);
                first || second
            }
            Term::Tuple(ts) => {
                let Some((first, rest)) = path.split_first() else { return false };
                let beside = ts.iter().enumerate().filter(|(k, _)| k != first);
                let mut others = beside.map(|(_, t)| t);
                others.any(|t| self.reads(t, bufs, defs)) || self.others_read(&ts[*first], rest, bufs, defs)
            }
            _ => false,
        }
    }

    fn reads(&self, t: &Tm, bufs: &[Buf], defs: &Defs) -> bool {
        free_vars(t).iter().any(|x| match defs.iter().find(|(y, _)| y.var == *x) {
            Some((y, _)) if matches!(y.ty, Type::Real | Type::Int | Type::Bool) => false,
            // An array of its own, or one that is updated.
            Some((_, a)) => match self.root(a, &[], &mut defs.clone()) {
                Some(ev) => buffers(&ev).iter().any(|b| bufs.contains(b)),
                None => true,
            },
            None => self.lies_in(x, bufs),
        })
    }

    fn lies_in(&self, x: &Var, bufs: &[Buf]) -> bool {
        self.vars.get(x).is_some_and(|ev| buffers(ev).iter().any(|b| bufs.contains(b)))
    }

    /// {t with [i, …] = v} into a place: t's elements, unless t lies there already, then the new one.
    pub fn put_update(&mut self, t: &Tm, place: &Ev) -> Result<(), Error> {
        let Term::Update { array, index, value, site } = &**t else {
            return Err(Error::bug("not an update"));
        };
        let (mut at, mut ty) = (place.clone(), self.type_of(array));
        for i in index {
            let Type::Array(n, element) = ty else { return Err(Error::bug("update of no array")) };
            let i = self.operand(i)?;
            self.check_index(i, &n, site);
            at = at.at(i);
            ty = (*element).clone();
        }
        let v = self.with_spare(HashSet::new(), |e| e.eval(value))?;
        let here = buffers(place);
        if matches!(**array, Term::Var(_)) || buffers(&v).iter().any(|b| here.contains(b)) {
            let a = self.with_spare(HashSet::new(), |e| e.eval(array))?;
            self.copy(&a, place)?;
        } else {
            self.put(array, place)?;
        }
        self.copy(&v, &at)
    }
}

/// The terms beside the one with this number.
pub fn others(ts: &[Tm], i: usize) -> impl Iterator<Item = &Tm> {
    ts.iter().enumerate().filter(move |(k, _)| *k != i).map(|(_, t)| t)
}

/// The buffers a value lies in.
pub fn buffers(ev: &Ev) -> Vec<Buf> {
    match ev {
        Ev::Scalar(_) => vec![],
        Ev::Slice(s) => vec![s.buf],
        Ev::Tuple(vs) => vs.iter().flat_map(buffers).collect(),
    }
}

/// Made of whole buffers.
fn is_whole(ev: &Ev) -> bool {
    match ev {
        Ev::Scalar(_) => false,
        Ev::Slice(s) => s.at.is_empty(),
        Ev::Tuple(vs) => vs.iter().all(is_whole),
    }
}

/// The same place.
pub fn same(a: &Ev, b: &Ev) -> bool {
    match (a, b) {
        (Ev::Slice(s), Ev::Slice(t)) => s == t,
        (Ev::Tuple(vs), Ev::Tuple(ws)) => vs.len() == ws.len() && vs.iter().zip(ws).all(|(v, w)| same(v, w)),
        (Ev::Scalar(_) | Ev::Slice(_) | Ev::Tuple(_), _) => false,
    }
}
