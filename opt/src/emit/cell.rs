//! Cells: scalar accumulators kept in SSA form. Inside a loop a cell that is added to becomes a carried sum; where two arms
//! meet it becomes a result of the `if`.
//!
//! A cell that nothing was added to is the structural zero, and has no operand. After a branch a cell may hold a value on one side only: its
//! guard says when it does, and its operand is 0.0 otherwise. What is computed from it is selected by the guard, so that a
//! cotangent that never arrived does not meet an infinite partial.
//!
//! An element of a buffer has no guard. A buffer that is added to in an arm has *holes*, and so has what is added to in some steps of a
//! loop only: there a zero stands for the structural one, and the guard is that the value is not 0. One that got a number at every element
//! is *full*, and has no holes whatever else is added to it.

use super::Emitter;
use super::place::{Dst, Lv, Slice};
use lang::core::Term;
use lang::loops::{Buf, Carried, CarriedKind, If, Op, Operand, Stmt};
use lang::name::Var;
use lang::prim::Scalar;
use lang::size::Size;
use lang::target::{Lin, LinTerm};
use std::collections::BTreeMap;

#[derive(Clone)]
pub struct Cell {
    pub value: Option<Operand>,
    pub guard: Option<Operand>,
    /// How many regions were open when it was made: those are the ones it is local to.
    depth: usize,
}

pub struct Region {
    kind: Kind,
    touched: BTreeMap<usize, Touched>,
    /// How many checks hold outside.
    checked: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Loop,
    Arm,
}

#[derive(Clone)]
pub struct Touched {
    value: Option<Operand>,
    guard: Option<Operand>,
    param: Option<lang::loops::Val>,
}

/// A cell that only some steps of a loop added to, the loop's sum, and what the cell was before.
pub type Sometimes = (usize, Operand, Touched);

/// What an arm left in the cells of its surroundings.
pub struct ArmEnd {
    cells: BTreeMap<usize, (Option<Operand>, Option<Operand>)>,
}

impl Emitter<'_> {
    pub fn new_cell(&mut self) -> usize {
        self.cells.push(Cell { value: None, guard: None, depth: self.regions.len() });
        self.cells.len() - 1
    }

    /// cell += x, where x counts only under the guard.
    pub fn cell_add(&mut self, cell: usize, x: Operand, guard: Option<Operand>) {
        self.touch(cell);
        let Cell { value, guard: old, .. } = self.cells[cell].clone();
        let (value, guard) = match (value, old, guard) {
            (None, _, g) => (x, g),
            // The first contribution in this step of a loop.
            (Some(v), Some(Operand::Bool(false)), h) => (self.op(Op::FAdd, &[v, x], Scalar::Real, "t"), h),
            (Some(v), Some(g), Some(h)) => {
                let sum = self.op(Op::FAdd, &[v, x], Scalar::Real, "t");
                (sum, Some(self.op(Op::BOr, &[g, h], Scalar::Bool, "g")))
            }
            (Some(v), _, _) => (self.op(Op::FAdd, &[v, x], Scalar::Real, "t"), None),
        };
        self.cells[cell].value = Some(value);
        self.cells[cell].guard = guard;
    }

    /// Records a cell in every region between its home and here.
    pub(super) fn touch(&mut self, cell: usize) {
        for k in self.cells[cell].depth..self.regions.len() {
            if self.regions[k].touched.contains_key(&cell) {
                continue;
            }
            let Cell { value, guard, .. } = self.cells[cell].clone();
            let param = (self.regions[k].kind == Kind::Loop).then(|| self.proc.val(Scalar::Real, "acc"));
            if let Some(p) = param {
                self.cells[cell].value = Some(Operand::Val(p));
                // Nothing arrived in this step yet.
                self.cells[cell].guard = Some(Operand::Bool(false));
            }
            self.regions[k].touched.insert(cell, Touched { value, guard, param });
        }
    }

    fn open(&mut self, kind: Kind) {
        self.regions.push(Region { kind, touched: BTreeMap::new(), checked: self.checked.len() });
    }

    fn close(&mut self) -> Region {
        let region = self.regions.pop().expect("regions nest");
        self.checked.truncate(region.checked);
        region
    }

    pub fn open_loop(&mut self) {
        self.open(Kind::Loop);
    }

    /// The carried sums of the cells touched in the loop; the cells now hold the loop's results. Then the cells that only some steps
    /// added to, for [`Emitter::guard_sums`].
    pub fn close_loop(&mut self) -> (Vec<Carried>, Vec<Sometimes>) {
        let region = self.close();
        let (mut carried, mut sometimes) = (vec![], vec![]);
        for (cell, t) in region.touched {
            let next = self.cells[cell].value.expect("a touched cell has a value");
            let result = self.proc.val(Scalar::Real, "acc");
            // Where both what was there and what the steps add may be nothing, the steps' sum is looked at by itself.
            let apart = t.guard.is_some() && self.cells[cell].guard.is_some();
            carried.push(Carried {
                param: t.param.expect("a loop gives its cells parameters"),
                init: t.value.filter(|_| !apart).unwrap_or(Operand::Real(0.0)),
                next,
                result,
                kind: CarriedKind::Sum,
            });
            let result = Operand::Val(result);
            sometimes.extend(self.cells[cell].guard.map(|_| (cell, result, t)));
            self.cells[cell].value = Some(result);
            self.cells[cell].guard = None;
        }
        (carried, sometimes)
    }

    /// After a loop: the guards of the cells that only some steps added to.
    pub fn guard_sums(&mut self, sometimes: Vec<Sometimes>) {
        for (cell, result, before) in sometimes {
            let guard = match (before.value, before.guard) {
                (Some(_), None) => None,
                (None, _) => Some(self.arrived(result)),
                (Some(x), Some(g)) => {
                    let here = self.arrived(result);
                    let sum = self.op(Op::FAdd, &[x, result], Scalar::Real, "acc");
                    self.cells[cell].value = Some(sum);
                    Some(self.op(Op::BOr, &[g, here], Scalar::Bool, "g"))
                }
            };
            self.cells[cell].guard = guard;
        }
    }

    /// Whether a zero that may be a structural one is a number.
    pub fn arrived(&mut self, x: Operand) -> Operand {
        self.op(Op::FNe, &[x, Operand::Real(0.0)], Scalar::Bool, "g")
    }

    /// The buffers of a destination have holes.
    pub fn hole(&mut self, d: &Dst) {
        match d {
            Dst::Null | Dst::Cell(_) => {}
            Dst::Slice(s, _) if self.is_full(s) => {}
            Dst::Slice(s, _) => {
                self.holes.insert(s.buf);
            }
            Dst::Tuple(ds) => ds.iter().for_each(|d| self.hole(d)),
        }
    }

    /// After Σ_{i < n} t into d: which buffers are full, because t adds a number at i.
    pub fn filled(&mut self, t: &Lin, i: &Var, n: &Size, d: &Dst) {
        match (&**t, d) {
            (LinTerm::CLet(_, _, t) | LinTerm::Let(_, _, t), _) => self.filled(t, i, n, d),
            (LinTerm::Plus(a, b), _) => {
                self.filled(a, i, n, d);
                self.filled(b, i, n, d);
            }
            (LinTerm::Tuple(ts), Dst::Tuple(ds)) => {
                ts.iter().zip(ds).for_each(|(t, d)| self.filled(t, i, n, d));
            }
            (LinTerm::OneHot { bound, index, term }, Dst::Slice(s, _)) => {
                let at_each = bound == n && matches!(&**index, Term::Var(v) if v == i);
                if at_each && self.is_number(term) {
                    self.fill(s);
                }
            }
            _ => {}
        }
    }

    /// Every element of a slice has got a number.
    pub fn fill(&mut self, s: &Slice) {
        if s.at.is_empty() && self.lives_here(s.buf) {
            self.full.insert(s.buf);
            self.holes.remove(&s.buf);
        }
    }

    /// A slice of a full buffer.
    pub fn is_full(&self, s: &Slice) -> bool {
        self.full.contains(&s.buf)
    }

    fn is_number(&self, t: &Lin) -> bool {
        match &**t {
            LinTerm::Var(z) => matches!(self.lins.get(z), Some(Lv::Scalar(_, None))),
            LinTerm::Scale(_, t) => self.is_number(t),
            LinTerm::Plus(a, b) => self.is_number(a) || self.is_number(b),
            _ => false,
        }
    }

    /// Whatever is emitted here happens as often as the buffer comes to life.
    fn lives_here(&self, buf: Buf) -> bool {
        let block = self.blocks.last();
        block.is_some_and(|b| b.iter().any(|s| matches!(s, Stmt::Alloc { buf: here } if *here == buf)))
    }

    /// A scalar loaded from a buffer, as a linear value.
    pub fn loaded(&mut self, buf: Buf, x: Operand) -> Lv {
        let guard = self.holes.contains(&buf).then(|| self.arrived(x));
        Lv::Scalar(x, guard)
    }

    pub fn open_arm(&mut self) {
        self.blocks.push(vec![]);
        self.open(Kind::Arm);
    }

    /// Ends an arm: the cells are as before it, what it left is returned.
    pub fn close_arm(&mut self) -> (lang::loops::Block, ArmEnd) {
        let region = self.close();
        let block = self.blocks.pop().expect("the arm's block");
        let mut cells = BTreeMap::new();
        for (cell, t) in region.touched {
            let c = &mut self.cells[cell];
            cells.insert(cell, (c.value, c.guard));
            c.value = t.value;
            c.guard = t.guard;
        }
        (block, ArmEnd { cells })
    }

    /// The `if` of two ended arms with further results, its cells joined.
    pub fn join_arms(
        &mut self,
        cond: Operand,
        then: (lang::loops::Block, ArmEnd),
        els: (lang::loops::Block, ArmEnd),
        mut results: Vec<(lang::loops::Val, Operand, Operand)>,
    ) {
        let mut updates = vec![];
        let cells: std::collections::BTreeSet<usize> =
            then.1.cells.keys().chain(els.1.cells.keys()).copied().collect();
        for cell in cells {
            let before = (self.cells[cell].value, self.cells[cell].guard);
            let t = then.1.cells.get(&cell).copied().unwrap_or(before);
            let e = els.1.cells.get(&cell).copied().unwrap_or(before);
            let value = self.proc.val(Scalar::Real, "acc");
            results.push((value, t.0.unwrap_or(Operand::Real(0.0)), e.0.unwrap_or(Operand::Real(0.0))));
            let present = |(v, g): (Option<Operand>, Option<Operand>)| match (v, g) {
                (None, _) => Operand::Bool(false),
                (Some(_), None) => Operand::Bool(true),
                (Some(_), Some(g)) => g,
            };
            let guard = match (present(t), present(e)) {
                (Operand::Bool(true), Operand::Bool(true)) => None,
                (Operand::Bool(true), Operand::Bool(false)) => Some(cond),
                (a, b) => {
                    let g = self.proc.val(Scalar::Bool, "g");
                    results.push((g, a, b));
                    Some(Operand::Val(g))
                }
            };
            updates.push((cell, Operand::Val(value), guard));
        }
        self.push(Stmt::If(If { cond, then: then.0, els: els.0, results }));
        for (cell, value, guard) in updates {
            self.touch(cell);
            self.cells[cell].value = Some(value);
            self.cells[cell].guard = guard;
        }
    }
}
