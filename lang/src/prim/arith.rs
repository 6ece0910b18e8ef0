//! Arithmetic of reals: + − × ÷ and negation.

use super::Scalar::Real;
use super::term::{div, floor, mul, neg, real as lit, sub, trunc};
use super::{Algebra, Arm, Derivative, Lowering, NO_ALGEBRA, Partial, Prim, REALS, Row, real};
use crate::core::Lit;
use crate::loops::Op;

pub const ADD: Row = Row {
    prim: Prim::Add,
    name: "+",
    args: &[Real, Real],
    result: Real,
    eval: |x| Lit::Real(real(x[0]) + real(x[1])),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::One, Partial::One] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::FAdd),
    cost: 1,
    algebra: Algebra { commutative: true, associative: true, unit: Some(0.0), zero: None },
    samples: &[REALS, REALS],
    doc: "x + y",
};

pub const SUB: Row = Row {
    prim: Prim::Sub,
    name: "-",
    args: &[Real, Real],
    result: Real,
    eval: |x| Lit::Real(real(x[0]) - real(x[1])),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::One, Partial::MinusOne] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::FSub),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[REALS, REALS],
    doc: "x - y",
};

pub const MUL: Row = Row {
    prim: Prim::Mul,
    name: "*",
    args: &[Real, Real],
    result: Real,
    eval: |x| Lit::Real(real(x[0]) * real(x[1])),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| x[1].clone()), Partial::Of(|x, _| x[0].clone())],
    }]),
    linear_in: &[0, 1],
    lowering: Lowering::Op(Op::FMul),
    cost: 1,
    algebra: Algebra { commutative: true, associative: true, unit: Some(1.0), zero: Some(0.0) },
    samples: &[REALS, REALS],
    doc: "x * y",
};

pub const DIV: Row = Row {
    prim: Prim::Div,
    name: "/",
    args: &[Real, Real],
    result: Real,
    eval: |x| Lit::Real(real(x[0]) / real(x[1])),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| div(lit(1.0), &x[1])), Partial::Of(|x, y| neg(div(y, &x[1])))],
    }]),
    linear_in: &[0],
    lowering: Lowering::Op(Op::FDiv),
    cost: 3,
    algebra: NO_ALGEBRA,
    samples: &[REALS, (0.5, 3.0)],
    doc: "x / y",
};

pub const NEG: Row = Row {
    prim: Prim::Neg,
    name: "neg",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(-real(x[0])),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::MinusOne] }]),
    linear_in: &[0],
    lowering: Lowering::Op(Op::FNeg),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "-x",
};

pub const MOD: Row = Row {
    prim: Prim::Mod,
    name: "mod",
    args: &[Real, Real],
    result: Real,
    eval: |x| {
        Lit::Real({
            let (x, y) = (real(x[0]), real(x[1]));
            x - y * (x / y).floor()
        })
    },
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::One, Partial::Of(|x, _| neg(floor(div(&x[0], &x[1]))))],
    }]),
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| sub(&x[0], mul(&x[1], floor(div(&x[0], &x[1]))))),
    cost: 6,
    algebra: NO_ALGEBRA,
    samples: &[(2.1, 2.35), (0.8, 1.0)],
    doc: "x - y * floor (x / y), with the sign of y",
};

pub const REM: Row = Row {
    prim: Prim::Rem,
    name: "rem",
    args: &[Real, Real],
    result: Real,
    eval: |x| {
        Lit::Real({
            let (x, y) = (real(x[0]), real(x[1]));
            x - y * (x / y).trunc()
        })
    },
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::One, Partial::Of(|x, _| neg(trunc(div(&x[0], &x[1]))))],
    }]),
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| sub(&x[0], mul(&x[1], trunc(div(&x[0], &x[1]))))),
    cost: 6,
    algebra: NO_ALGEBRA,
    samples: &[(2.1, 2.35), (0.8, 1.0)],
    doc: "x - y * trunc (x / y), with the sign of x",
};
