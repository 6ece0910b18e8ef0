//! Trigonometric functions and their inverses.

use super::Scalar::Real;
use super::term::{self, add, cos, div, eq, hypot, mul, neg, real as lit, sin, sqrt, sub};
use super::{Arm, Derivative, Lowering, NO_ALGEBRA, Partial, Prim, REALS, Row, ZERO_AT_ORIGIN, cmath, real};
use crate::core::Lit;
use crate::loops::{Math, Op};

const INSIDE: (f64, f64) = (-0.9, 0.9);

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

pub const TAN: Row = Row {
    prim: Prim::Tan,
    name: "tan",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::tan(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|_, y| add(lit(1.0), mul(y, y)))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Tan)),
    cost: 12,
    algebra: NO_ALGEBRA,
    samples: &[(-1.3, 1.3)],
    doc: "the tangent of x radians",
};

pub const ASIN: Row = Row {
    prim: Prim::Asin,
    name: "asin",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::asin(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| div(lit(1.0), sqrt(mul(sub(lit(1.0), &x[0]), add(lit(1.0), &x[0])))))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Asin)),
    cost: 12,
    algebra: NO_ALGEBRA,
    samples: &[INSIDE],
    doc: "the angle between -pi/2 and pi/2 with sine x",
};

pub const ACOS: Row = Row {
    prim: Prim::Acos,
    name: "acos",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::acos(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| {
            div(lit(-1.0), sqrt(mul(sub(lit(1.0), &x[0]), add(lit(1.0), &x[0]))))
        })],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Acos)),
    cost: 12,
    algebra: NO_ALGEBRA,
    samples: &[INSIDE],
    doc: "the angle between 0 and pi with cosine x",
};

pub const ATAN: Row = Row {
    prim: Prim::Atan,
    name: "atan",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::atan(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| div(lit(1.0), add(lit(1.0), mul(&x[0], &x[0]))))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Atan)),
    cost: 12,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "the angle between -pi/2 and pi/2 with tangent x",
};

pub const ATAN2: Row = Row {
    prim: Prim::Atan2,
    name: "atan2",
    args: &[Real, Real],
    result: Real,
    eval: |x| Lit::Real(cmath::atan2(real(x[0]), real(x[1]))),
    derivative: Derivative::Arms(&[
        Arm {
            when: Some(|x| term::and(eq(&x[0], lit(0.0)), eq(&x[1], lit(0.0)))),
            partials: &[ZERO_AT_ORIGIN, ZERO_AT_ORIGIN],
        },
        Arm {
            when: None,
            partials: &[
                Partial::Of(|x, _| {
                    let r = hypot(&x[0], &x[1]);
                    div(div(&x[1], &r), &r)
                }),
                Partial::Of(|x, _| {
                    let r = hypot(&x[0], &x[1]);
                    neg(div(div(&x[0], &r), &r))
                }),
            ],
        },
    ]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Atan2)),
    cost: 20,
    algebra: NO_ALGEBRA,
    samples: &[(0.3, 3.0), REALS],
    doc: "the angle of the point with coordinates x and y, between -pi and pi",
};
