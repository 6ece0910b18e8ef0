//! Hyperbolic functions and their inverses.

use super::Scalar::Real;
use super::term::{add, mul, real as lit, sub};
use super::{Arm, Derivative, Lowering, NO_ALGEBRA, Partial, Prim, REALS, Row, cmath, real};
use crate::core::Lit;
use crate::loops::{Math, Op};

pub const TANH: Row = Row {
    prim: Prim::Tanh,
    name: "tanh",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::tanh(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|_, y| mul(sub(lit(1.0), y), add(lit(1.0), y)))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Tanh)),
    cost: 12,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "the hyperbolic tangent of x",
};
