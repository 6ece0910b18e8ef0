//! Arithmetic of reals: + − × ÷ and negation.

use super::Scalar::Real;
use super::{Algebra, Arm, Derivative, Lowering, NO_ALGEBRA, Partial, Prim, REALS, Row, real};
use crate::core::Lit;
use crate::core::make::{prim, real as lit};
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
        partials: &[
            Partial::Of(|x, _| prim(Prim::Div, [lit(1.0), x[1].clone()])),
            Partial::Of(|x, y| prim(Prim::Neg, [prim(Prim::Div, [y.clone(), x[1].clone()])])),
        ],
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
