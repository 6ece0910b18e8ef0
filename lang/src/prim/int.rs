//! Arithmetic of ints, 64 bits, wrapping.

use super::Scalar::Int;
use super::{Algebra, Derivative, Lowering, NO_ALGEBRA, Prim, Row, int};
use crate::core::Lit;
use crate::loops::Op;

const INTS: (f64, f64) = (-20.0, 20.0);

pub const ADD: Row = Row {
    prim: Prim::IAdd,
    name: "+",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(int(x[0]).wrapping_add(int(x[1]))),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::IAdd),
    cost: 1,
    algebra: Algebra { commutative: true, associative: true, unit: Some(0.0), zero: None },
    samples: &[INTS, INTS],
    doc: "m + n",
};

pub const SUB: Row = Row {
    prim: Prim::ISub,
    name: "-",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(int(x[0]).wrapping_sub(int(x[1]))),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::ISub),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[INTS, INTS],
    doc: "m - n",
};

pub const MUL: Row = Row {
    prim: Prim::IMul,
    name: "*",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(int(x[0]).wrapping_mul(int(x[1]))),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::IMul),
    cost: 1,
    algebra: Algebra { commutative: true, associative: true, unit: Some(1.0), zero: Some(0.0) },
    samples: &[INTS, INTS],
    doc: "m * n",
};
