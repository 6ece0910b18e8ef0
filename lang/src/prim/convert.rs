//! Between ints and reals, and rounding.

use super::Scalar::{Int, Real};
use super::term::{ceil, floor, lt, real as lit, round, select, trunc_int};
use super::{Arm, Derivative, INTS, Lowering, NO_ALGEBRA, Partial, Prim, Row, int, real};
use crate::core::Lit;
use crate::loops::Op;

/// Between two whole numbers and their half.
const UNIT: (f64, f64) = (1.05, 1.45);

pub const REAL: Row = Row {
    prim: Prim::IntToReal,
    name: "real",
    args: &[Int],
    result: Real,
    eval: |x| Lit::Real(int(x[0]) as f64),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::IToF),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[INTS],
    doc: "the int as a real, to the nearest; halves to even",
};

pub const TRUNC_INT: Row = Row {
    prim: Prim::TruncInt,
    name: "trunc_int",
    args: &[Real],
    result: Int,
    eval: |x| Lit::Int(real(x[0]) as i64),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::FToI),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[UNIT],
    doc: "x without its fraction, as an int; the nearest int when out of range, 0 for NaN",
};

pub const FLOOR_INT: Row = Row {
    prim: Prim::FloorInt,
    name: "floor_int",
    args: &[Real],
    result: Int,
    eval: |x| Lit::Int(real(x[0]).floor() as i64),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| trunc_int(floor(&x[0]))),
    cost: 2,
    algebra: NO_ALGEBRA,
    samples: &[UNIT],
    doc: "the greatest int up to x; the nearest int when out of range, 0 for NaN",
};

pub const CEIL_INT: Row = Row {
    prim: Prim::CeilInt,
    name: "ceil_int",
    args: &[Real],
    result: Int,
    eval: |x| Lit::Int(real(x[0]).ceil() as i64),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| trunc_int(ceil(&x[0]))),
    cost: 2,
    algebra: NO_ALGEBRA,
    samples: &[UNIT],
    doc: "the least int from x up; the nearest int when out of range, 0 for NaN",
};

pub const ROUND_INT: Row = Row {
    prim: Prim::RoundInt,
    name: "round_int",
    args: &[Real],
    result: Int,
    eval: |x| Lit::Int(real(x[0]).round_ties_even() as i64),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| trunc_int(round(&x[0]))),
    cost: 2,
    algebra: NO_ALGEBRA,
    samples: &[UNIT],
    doc: "the int nearest to x, halves to even; the nearest int when out of range, 0 for NaN",
};

pub const FLOOR: Row = Row {
    prim: Prim::Floor,
    name: "floor",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(real(x[0]).floor()),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Zero] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::FFloor),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[UNIT],
    doc: "the greatest whole number up to x",
};

pub const CEIL: Row = Row {
    prim: Prim::Ceil,
    name: "ceil",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(real(x[0]).ceil()),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Zero] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::FCeil),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[UNIT],
    doc: "the least whole number from x up",
};

pub const ROUND: Row = Row {
    prim: Prim::Round,
    name: "round",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(real(x[0]).round_ties_even()),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Zero] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::FRound),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[UNIT],
    doc: "the whole number nearest to x, halves to even",
};

pub const TRUNC: Row = Row {
    prim: Prim::Trunc,
    name: "trunc",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(real(x[0]).trunc()),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Zero] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::FTrunc),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[UNIT],
    doc: "x without its fraction",
};

pub const SIGN: Row = Row {
    prim: Prim::Sign,
    name: "sign",
    args: &[Real],
    result: Real,
    eval: |x| {
        Lit::Real({
            let x = real(x[0]);
            if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else {
                x
            }
        })
    },
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Zero] }]),
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| {
        select(lt(lit(0.0), &x[0]), lit(1.0), select(lt(&x[0], lit(0.0)), lit(-1.0), &x[0]))
    }),
    cost: 4,
    algebra: NO_ALGEBRA,
    samples: &[UNIT],
    doc: "1, -1 or 0 by the sign of x; NaN for NaN",
};
