//! Hyperbolic functions and their inverses.

use super::Scalar::Real;
use super::term::{add, cosh, div, hypot, mul, real as lit, sinh, sqrt, sub};
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

pub const SINH: Row = Row {
    prim: Prim::Sinh,
    name: "sinh",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::sinh(real(x[0]))),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Of(|x, _| cosh(&x[0]))] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Sinh)),
    cost: 12,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "the hyperbolic sine of x",
};

pub const COSH: Row = Row {
    prim: Prim::Cosh,
    name: "cosh",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::cosh(real(x[0]))),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Of(|x, _| sinh(&x[0]))] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Cosh)),
    cost: 12,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "the hyperbolic cosine of x",
};

pub const ASINH: Row = Row {
    prim: Prim::Asinh,
    name: "asinh",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::asinh(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| div(lit(1.0), hypot(&x[0], lit(1.0))))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Asinh)),
    cost: 14,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "the number with hyperbolic sine x",
};

pub const ACOSH: Row = Row {
    prim: Prim::Acosh,
    name: "acosh",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::acosh(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| {
            div(lit(1.0), mul(sqrt(sub(&x[0], lit(1.0))), sqrt(add(&x[0], lit(1.0)))))
        })],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Acosh)),
    cost: 14,
    algebra: NO_ALGEBRA,
    samples: &[(1.2, 4.0)],
    doc: "the number from 0 up with hyperbolic cosine x",
};

pub const ATANH: Row = Row {
    prim: Prim::Atanh,
    name: "atanh",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::atanh(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| div(lit(1.0), mul(sub(lit(1.0), &x[0]), add(lit(1.0), &x[0]))))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Atanh)),
    cost: 14,
    algebra: NO_ALGEBRA,
    samples: &[(-0.8, 0.8)],
    doc: "the number with hyperbolic tangent x",
};
