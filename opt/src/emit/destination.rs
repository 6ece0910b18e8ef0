//! Destinations: fresh accumulators for linear variables, elements of destinations, what has not been written yet.

use super::alias;
use super::place::{Dst, Ev, Lv, Slice};
use super::{Emitter, Error};
use lang::core::{Tm, make};
use lang::loops::{Operand, Parallel, Stmt};
use lang::size::Size;
use lang::target::{LBinder, Lin, LinTerm};
use lang::types::LType;
use std::collections::BTreeMap;

impl Emitter<'_> {
    /// z := the value of s, its arrays accumulated in place where `within` allows it.
    pub(super) fn bind_linear(
        &mut self,
        z: &LBinder,
        s: &Lin,
        within: Option<(&Lin, &Dst)>,
    ) -> Result<(), Error> {
        self.scope.bind_lin(&z.var, &z.ty);
        let stays = self.staying.get(&z.var).cloned();
        let mut shared: Vec<(Vec<usize>, Dst)> = stays.clone().into_iter().collect();
        if let Some((t, d)) = within {
            for (path, part) in alias::aliases(&self.occurrences, &z.var, &z.ty, t, d) {
                if let Some(d) = self.part(&part)? {
                    shared.push((path, d));
                }
            }
        }
        let mut path = vec![];
        let dst = self.fresh_dst(&z.ty, &shared, Some(&z.var), &mut path, &z.var.name)?;
        self.emit(s, &dst)?;
        let mut lv = self.freeze(&dst, &shared, &mut path);
        if let Some((path, Dst::Slice(s, _))) = stays {
            *part_of(&mut lv, &path) = Lv::Slice(s);
        }
        self.lins.insert(z.var.clone(), lv);
        Ok(())
    }

    /// A part of a destination, where its indices are known by now to be in range.
    fn part(&mut self, part: &alias::Part) -> Result<Option<Dst>, Error> {
        let Dst::Slice(s, _) = &part.whole else { return Ok(None) };
        if part.at.is_empty() {
            return Ok(Some(part.whole.clone()));
        }
        if !part.at.iter().all(|(i, n)| self.in_range(i, n)) {
            return Ok(None);
        }
        self.settle(&part.whole)?;
        let mut at = s.clone();
        for (i, _) in &part.at {
            at = at.at(self.eval(i)?.scalar());
        }
        let flag = self.fresh_flag();
        self.fresh[flag] = false;
        Ok(Some(Dst::Slice(at, flag)))
    }

    /// The index is known here, and it has been checked or is a constant.
    fn in_range(&self, i: &Tm, n: &Size) -> bool {
        let constant = |n: &Size| n.as_constant();
        if let (Some(k), Some(n)) = (lang::walk::as_size(i).as_ref().and_then(constant), constant(n)) {
            return (0..n).contains(&k);
        }
        let here = lang::walk::free_vars(i).iter().all(|x| self.vars.contains_key(x));
        here && self.checked.contains(&(i.clone(), make::size(n)))
    }

    /// A destination of a linear type: cells and buffers, but parts of the outer destination at shared paths, and ⊥ at unused ones.
    pub(super) fn fresh_dst(
        &mut self,
        ty: &LType,
        shared: &[(Vec<usize>, Dst)],
        of: Option<&lang::name::Var>,
        path: &mut Vec<usize>,
        name: &str,
    ) -> Result<Dst, Error> {
        if of.is_some_and(|z| self.occurrences.uses(z, path) == 0) {
            return Ok(Dst::Null);
        }
        if let Some((_, d)) = shared.iter().find(|(p, _)| p == path) {
            return Ok(d.clone());
        }
        Ok(match ty {
            LType::Real => Dst::Cell(self.new_cell()),
            LType::Tuple(ts) => {
                let mut ds = vec![];
                for (k, t) in ts.iter().enumerate() {
                    path.push(k);
                    ds.push(self.fresh_dst(t, shared, of, path, name)?);
                    path.pop();
                }
                Dst::Tuple(ds)
            }
            LType::Array(..) => {
                let erased = ty.erase().ok_or_else(Error::function_survives)?;
                let place = self.alloc(&erased, name)?;
                self.fresh_slices(&place)
            }
            LType::Sum(_) | LType::Power(..) | LType::Copower(..) | LType::Param(_) => {
                return Err(Error::function_survives());
            }
        })
    }

    pub(super) fn fresh_slices(&mut self, place: &Ev) -> Dst {
        match place {
            Ev::Slice(s) => {
                let fresh = self.fresh_flag();
                Dst::Slice(s.clone(), fresh)
            }
            Ev::Tuple(vs) => Dst::Tuple(vs.iter().map(|v| self.fresh_slices(v)).collect()),
            Ev::Scalar(_) => unreachable!("compiler bug: arrays are slices"),
        }
    }

    /// A complete accumulator as a value.
    pub(super) fn freeze(&mut self, d: &Dst, shared: &[(Vec<usize>, Dst)], path: &mut Vec<usize>) -> Lv {
        if shared.iter().any(|(p, _)| p == path) {
            return Lv::Shared;
        }
        match d {
            Dst::Null => Lv::Zero,
            Dst::Cell(c) => match self.cells[*c].value {
                None => Lv::Zero,
                Some(o) => Lv::Scalar(o, self.cells[*c].guard),
            },
            Dst::Slice(_, fresh) if self.fresh[*fresh] => Lv::Zero,
            Dst::Slice(s, _) => Lv::Slice(s.clone()),
            Dst::Tuple(ds) => {
                let mut parts = vec![];
                for (k, d) in ds.iter().enumerate() {
                    path.push(k);
                    parts.push(self.freeze(d, shared, path));
                    path.pop();
                }
                Lv::Tuple(parts)
            }
        }
    }

    /// The flags of a destination's parts.
    pub(super) fn flags(&self, d: &Dst, out: &mut Vec<usize>) {
        match d {
            Dst::Null | Dst::Cell(_) => {}
            Dst::Slice(_, fresh) => out.push(*fresh),
            Dst::Tuple(ds) => ds.iter().for_each(|d| self.flags(d, out)),
        }
    }

    /// Σ_k onehot_k(t_k) at different constants k into what has not been written is an array literal: its elements are stored, not added to
    /// zero (which would lose the sign of −0). Whether the term was one.
    pub(super) fn emit_literal(&mut self, t: &Lin, d: &Dst) -> Result<bool, Error> {
        let (mut elements, mut flags) = (BTreeMap::new(), vec![]);
        let Some(n) = literal(t, &mut elements) else { return Ok(false) };
        self.flags(d, &mut flags);
        if n > LITERAL_LIMIT || flags.is_empty() || !flags.iter().all(|f| self.fresh[*f]) {
            return Ok(false);
        }
        for k in 0..n {
            let (element, part) = self.element(d, Operand::Int(k));
            if let Some(t) = elements.get(&k) {
                self.emit(t, &element)?;
            }
            self.close_element(&element, &part)?;
        }
        self.mark_written(d);
        Ok(true)
    }

    /// Writes zero into what has not been written, before code that may add to it any number of times.
    pub fn settle(&mut self, d: &Dst) -> Result<(), Error> {
        match d {
            Dst::Null | Dst::Cell(_) => Ok(()),
            Dst::Tuple(ds) => ds.iter().try_for_each(|d| self.settle(d)),
            Dst::Slice(s, fresh) => {
                if std::mem::take(&mut self.fresh[*fresh]) {
                    self.zero(s)?;
                }
                Ok(())
            }
        }
    }

    pub(super) fn zero(&mut self, s: &Slice) -> Result<(), Error> {
        match self.rest(s).first().copied() {
            _ if s.at.is_empty() => {
                self.push(Stmt::Fill { buf: s.buf, value: Operand::Real(0.0) });
                Ok(())
            }
            None => {
                self.store(s, Operand::Real(0.0));
                Ok(())
            }
            Some(n) => {
                let s = s.clone();
                self.for_loop("i", n, false, Parallel::Yes, |e, i| {
                    e.zero(&s.at(i))?;
                    Ok(vec![])
                })
            }
        }
    }

    pub(super) fn mark_written(&mut self, d: &Dst) {
        match d {
            Dst::Null | Dst::Cell(_) => {}
            Dst::Slice(_, fresh) => self.fresh[*fresh] = false,
            Dst::Tuple(ds) => ds.iter().for_each(|d| self.mark_written(d)),
        }
    }

    /// The destination d[i]: scalars get a cell, stored by [`Emitter::close_element`].
    pub(super) fn element(&mut self, d: &Dst, i: Operand) -> (Dst, Dst) {
        match d {
            Dst::Null => (Dst::Null, Dst::Null),
            Dst::Cell(_) => unreachable!("compiler bug: element of a scalar destination"),
            Dst::Tuple(ds) => {
                let (a, b) = ds.iter().map(|d| self.element(d, i)).unzip();
                (Dst::Tuple(a), Dst::Tuple(b))
            }
            Dst::Slice(s, fresh) => {
                let first = self.fresh[*fresh];
                let flag = self.fresh_flag();
                self.fresh[flag] = first;
                let part = Dst::Slice(s.at(i), flag);
                if self.rest(&s.at(i)).is_empty() {
                    (Dst::Cell(self.new_cell()), part)
                } else {
                    (part.clone(), part)
                }
            }
        }
    }

    /// Ends d[i]: a cell is stored or added; an element of a fresh destination that nothing was added to is zero.
    pub(super) fn close_element(&mut self, element: &Dst, part: &Dst) -> Result<(), Error> {
        match (element, part) {
            (Dst::Cell(c), Dst::Slice(s, fresh)) => {
                let first = std::mem::take(&mut self.fresh[*fresh]);
                if self.cells[*c].guard.is_some() {
                    self.hole(part);
                }
                match (self.cells[*c].value, first) {
                    (Some(x), true) => self.store(s, x),
                    (Some(x), false) => self.accum(s, x),
                    (None, true) => self.store(s, Operand::Real(0.0)),
                    (None, false) => {}
                }
                Ok(())
            }
            (Dst::Tuple(es), Dst::Tuple(ps)) => {
                es.iter().zip(ps).try_for_each(|(e, p)| self.close_element(e, p))
            }
            _ => self.settle(part),
        }
    }
}

/// The part of a value at a path.
fn part_of<'v>(lv: &'v mut Lv, path: &[usize]) -> &'v mut Lv {
    match (lv, path.split_first()) {
        (Lv::Tuple(vs), Some((k, rest))) => part_of(&mut vs[*k], rest),
        (lv, _) => lv,
    }
}

/// Array literals of at most this many elements are stored element by element.
const LITERAL_LIMIT: i64 = 64;

/// The elements of Σ_k onehot_k(t_k), and the array's length; None where an index is no constant within it, or occurs twice.
fn literal(t: &Lin, elements: &mut BTreeMap<i64, Lin>) -> Option<i64> {
    match &**t {
        LinTerm::Plus(a, b) => {
            // Sums are nested to the left: one that is no literal shows that at once.
            let n = literal(b, elements)?;
            (literal(a, elements)? == n).then_some(n)
        }
        LinTerm::OneHot { bound, index, term } => {
            let (n, k) = (bound.as_constant()?, lang::walk::as_size(index)?.as_constant()?);
            ((0..n).contains(&k) && elements.insert(k, term.clone()).is_none()).then_some(n)
        }
        _ => None,
    }
}
