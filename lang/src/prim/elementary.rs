//! Roots, exponentials, logarithms and powers.

use super::Scalar::{Int, Real};
use super::term::{
    abs, add, bind, div, exp, int as int_lit, int_eq, int_sub, int_to_real, le, log1p, mul, neg, pow_int,
    real as lit, relu, select, sigmoid,
};
use super::{Arm, Derivative, Lowering, NO_ALGEBRA, Partial, Prim, REALS, Row, cmath, int, powi, real};
use crate::core::Lit;
use crate::loops::{Math, Op};
use crate::types::Type;

const POSITIVE: (f64, f64) = (0.3, 4.0);

pub const SQRT: Row = Row {
    prim: Prim::Sqrt,
    name: "sqrt",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(real(x[0]).sqrt()),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Of(|_, y| div(lit(0.5), y))] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::FSqrt),
    cost: 4,
    algebra: NO_ALGEBRA,
    samples: &[POSITIVE],
    doc: "the square root of x; its slope at 0 is +inf",
};

pub const EXP: Row = Row {
    prim: Prim::Exp,
    name: "exp",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::exp(real(x[0]))),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Of(|_, y| y.clone())] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Exp)),
    cost: 10,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "e to the power x",
};

pub const EXPM1: Row = Row {
    prim: Prim::Expm1,
    name: "expm1",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::expm1(real(x[0]))),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Of(|x, _| exp(&x[0]))] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Expm1)),
    cost: 10,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "exp x - 1, accurate near 0",
};

pub const LOG: Row = Row {
    prim: Prim::Log,
    name: "log",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::log(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| div(lit(1.0), &x[0]))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Log)),
    cost: 10,
    algebra: NO_ALGEBRA,
    samples: &[POSITIVE],
    doc: "the natural logarithm of x",
};

pub const LOG1P: Row = Row {
    prim: Prim::Log1p,
    name: "log1p",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::log1p(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| div(lit(1.0), add(lit(1.0), &x[0])))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Log1p)),
    cost: 10,
    algebra: NO_ALGEBRA,
    samples: &[(-0.7, 3.0)],
    doc: "log (1 + x), accurate near 0",
};

pub const POW_INT: Row = Row {
    prim: Prim::PowInt,
    name: "^",
    args: &[Real, Int],
    result: Real,
    eval: |x| Lit::Real(powi(real(x[0]), int(x[1]))),
    derivative: Derivative::Arms(&[
        Arm { when: Some(|x| int_eq(&x[1], int_lit(0))), partials: &[Partial::Zero, Partial::Zero] },
        Arm {
            when: None,
            partials: &[
                Partial::Of(|x, _| mul(int_to_real(&x[1]), pow_int(&x[0], int_sub(&x[1], int_lit(1))))),
                Partial::Zero,
            ],
        },
    ]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::PowInt)),
    cost: 8,
    algebra: NO_ALGEBRA,
    samples: &[(0.5, 2.0), (-4.0, 6.0)],
    doc: "x multiplied by itself k times (binary powering); x^-k is 1 / x^k, x^0 is 1",
};

pub const SIGMOID: Row = Row {
    prim: Prim::Sigmoid,
    name: "sigmoid",
    args: &[Real],
    result: Real,
    eval: |x| {
        Lit::Real({
            let e = cmath::exp(-real(x[0]).abs());
            if 0.0 <= real(x[0]) { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
        })
    },
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, y| mul(y, sigmoid(neg(&x[0]))))],
    }]),
    linear_in: &[],
    lowering: Lowering::Expand(|x, supply| {
        // e ≤ 1, so nothing overflows and both tails keep their relative accuracy.
        bind("e", Type::Real, exp(neg(abs(&x[0]))), supply, |e, _| {
            div(select(le(lit(0.0), &x[0]), lit(1.0), &e), add(lit(1.0), &e))
        })
    }),
    cost: 18,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "1 / (1 + exp (-x))",
};

pub const SOFTPLUS: Row = Row {
    prim: Prim::Softplus,
    name: "softplus",
    args: &[Real],
    result: Real,
    eval: |x| {
        Lit::Real({
            let x = real(x[0]);
            (if x <= 0.0 { 0.0 } else { x }) + cmath::log1p(cmath::exp(-x.abs()))
        })
    },
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Of(|x, _| sigmoid(&x[0]))] }]),
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| add(relu(&x[0]), log1p(exp(neg(abs(&x[0])))))),
    cost: 25,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "log (1 + exp x)",
};
