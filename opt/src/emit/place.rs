//! Values and destinations during emission. Tuples are apart, arrays of tuples are tuples of arrays.

use super::Emitter;
use lang::loops::{Buf, Operand, Stmt};
use lang::prim::Scalar;
use lang::types::Type;

/// The part of a buffer at some leading indices; rank 0 is one element.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    pub buf: Buf,
    pub at: Vec<Operand>,
}

/// A Cartesian value, or (with slices of rank 0 for its scalars) a place to store one.
#[derive(Clone, Debug)]
pub enum Ev {
    Scalar(Operand),
    Slice(Slice),
    Tuple(Vec<Ev>),
}

/// A linear value: complete, only read.
#[derive(Clone, Debug)]
pub enum Lv {
    /// The structural zero.
    Zero,
    /// A value, and the bool under which it is one: otherwise it is the structural zero, and the operand is 0.0.
    Scalar(Operand, Option<Operand>),
    Slice(Slice),
    Tuple(Vec<Lv>),
    /// Its accumulator is a part of the destination: nothing is left to add.
    Shared,
}

/// A destination of `emit`.
#[derive(Clone, Debug)]
pub enum Dst {
    /// ⊥: nobody asks.
    Null,
    /// A scalar accumulator, by number.
    Cell(usize),
    /// A part of a buffer, and whether it has been written yet (by number in [`Emitter::fresh`]).
    Slice(Slice, usize),
    Tuple(Vec<Dst>),
}

impl Ev {
    /// Assembles a value of a type from its leaves in order.
    pub fn assemble(ty: &Type, parts: &mut impl Iterator<Item = Ev>) -> Ev {
        match ty {
            Type::Tuple(ts) => Ev::Tuple(ts.iter().map(|t| Ev::assemble(t, parts)).collect()),
            Type::Array(_, t) => Ev::assemble(t, parts),
            Type::Real | Type::Int | Type::Bool => parts.next().expect("one part per leaf"),
            Type::Sum(_) | Type::Fun(..) | Type::Param(_) | Type::Lin(..) => {
                unreachable!("compiler bug: emission of a value of type {ty:?}")
            }
        }
    }

    pub fn from_leaves(ty: &Type, slices: &mut impl Iterator<Item = Slice>) -> Ev {
        Ev::assemble(ty, &mut slices.map(Ev::Slice))
    }

    pub fn proj(&self, i: usize) -> Ev {
        match self {
            Ev::Tuple(vs) => vs[i].clone(),
            Ev::Scalar(_) | Ev::Slice(_) => unreachable!("compiler bug: projection of no tuple"),
        }
    }

    pub fn scalar(&self) -> Operand {
        match self {
            Ev::Scalar(o) => *o,
            Ev::Slice(_) | Ev::Tuple(_) => unreachable!("compiler bug: a scalar was expected"),
        }
    }

    /// The place of element i, arrays of tuples in every component.
    pub fn at(&self, i: Operand) -> Ev {
        match self {
            Ev::Slice(s) => Ev::Slice(s.at(i)),
            Ev::Tuple(vs) => Ev::Tuple(vs.iter().map(|v| v.at(i)).collect()),
            Ev::Scalar(_) => unreachable!("compiler bug: element of a scalar"),
        }
    }
}

impl Slice {
    pub fn at(&self, i: Operand) -> Slice {
        let mut at = self.at.clone();
        at.push(i);
        Slice { buf: self.buf, at }
    }
}

impl Emitter<'_> {
    /// The dimensions a slice still has.
    pub fn rest(&self, s: &Slice) -> &[Operand] {
        &self.proc.info(s.buf).shape[s.at.len()..]
    }

    pub fn load(&mut self, s: &Slice) -> Operand {
        let ty = self.proc.info(s.buf).elem;
        let name = self.proc.info(s.buf).name.clone();
        let dst = self.proc.val(ty, name);
        self.push(Stmt::Load { dst, buf: s.buf, index: s.at.clone() });
        Operand::Val(dst)
    }

    pub fn store(&mut self, s: &Slice, value: Operand) {
        self.push(Stmt::Store { buf: s.buf, index: s.at.clone(), value });
    }

    pub fn accum(&mut self, s: &Slice, value: Operand) {
        self.push(Stmt::Accum { buf: s.buf, index: s.at.clone(), value });
    }

    /// The value at a place: elements of rank 0 are loaded.
    pub fn value_at(&mut self, place: &Ev) -> Ev {
        match place {
            Ev::Slice(s) if self.rest(s).is_empty() => Ev::Scalar(self.load(s)),
            Ev::Tuple(vs) => Ev::Tuple(vs.iter().map(|v| self.value_at(v)).collect()),
            Ev::Slice(_) | Ev::Scalar(_) => place.clone(),
        }
    }

    /// A destination for a linear value that nothing has been added to.
    pub fn fresh_flag(&mut self) -> usize {
        self.fresh.push(true);
        self.fresh.len() - 1
    }

    /// The zero of a scalar type.
    pub fn zero_of(ty: Scalar) -> Operand {
        match ty {
            Scalar::Real => Operand::Real(0.0),
            Scalar::Int => Operand::Int(0),
            Scalar::Bool => Operand::Bool(false),
        }
    }
}
