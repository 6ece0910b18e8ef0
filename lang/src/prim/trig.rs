//! Trigonometric functions and their inverses.

use super::Scalar::Real;
use super::term::{cos, neg, sin};
use super::{Arm, Derivative, Lowering, NO_ALGEBRA, Partial, Prim, REALS, Row, cmath, real};
use crate::core::Lit;
use crate::loops::{Math, Op};

pub const SIN: Row = Row {
    prim: Prim::Sin,
    name: "sin",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::sin(real(x[0]))),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Of(|x, _| cos(&x[0]))] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Sin)),
    cost: 10,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "the sine of x radians",
};

pub const COS: Row = Row {
    prim: Prim::Cos,
    name: "cos",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::cos(real(x[0]))),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Of(|x, _| neg(sin(&x[0])))] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Cos)),
    cost: 10,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "the cosine of x radians",
};
