//! Roots, exponentials, logarithms and powers.

use super::Scalar::{Int, Real};
use super::term::{
    self, abs, add, bind, div, eq, exp, int as int_lit, int_eq, int_sub, int_to_real, le, log, log1p, lt,
    mul, neg, pow, pow_int, real as lit, relu, select, sigmoid, sub,
};
use super::{
    Algebra, Arm, Derivative, Lowering, NO_ALGEBRA, Partial, Prim, REALS, Row, ZERO_AT_ORIGIN, cmath, int,
    powi, real,
};
use crate::core::Lit;
use crate::loops::{Math, Op};
use crate::types::Type;

const POSITIVE: (f64, f64) = (0.3, 4.0);

/// ∂(x^y)/∂x = y·x^(y−1)
const BY_BASE: Partial = Partial::Of(|x, _| mul(&x[1], pow(&x[0], sub(&x[1], lit(1.0)))));

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
        // k − 1 is no int. x^(k+1) is x^(k−1) here: at ±1, and elsewhere both are 0 or infinite, of the same sign.
        Arm {
            when: Some(|x| int_eq(&x[1], int_lit(i64::MIN))),
            partials: &[
                Partial::Of(|x, _| mul(int_to_real(&x[1]), pow_int(&x[0], int_lit(i64::MIN + 1)))),
                Partial::Zero,
            ],
        },
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
    cost: 19,
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
    cost: 26,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "log (1 + exp x)",
};

pub const LOG2: Row = Row {
    prim: Prim::Log2,
    name: "log2",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::log2(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| div(lit(std::f64::consts::LOG2_E), &x[0]))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Log2)),
    cost: 12,
    algebra: NO_ALGEBRA,
    samples: &[POSITIVE],
    doc: "the logarithm of x to base 2",
};

pub const LOG10: Row = Row {
    prim: Prim::Log10,
    name: "log10",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::log10(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| div(lit(std::f64::consts::LOG10_E), &x[0]))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Log10)),
    cost: 12,
    algebra: NO_ALGEBRA,
    samples: &[POSITIVE],
    doc: "the logarithm of x to base 10",
};

pub const POW: Row = Row {
    prim: Prim::Pow,
    name: "^",
    args: &[Real, Real],
    result: Real,
    eval: |x| Lit::Real(cmath::pow(real(x[0]), real(x[1]))),
    derivative: Derivative::Arms(&[
        Arm {
            when: Some(|x| term::and(eq(&x[0], lit(0.0)), eq(&x[1], lit(0.0)))),
            partials: &[Partial::Zero, Partial::Zero],
        },
        Arm {
            when: Some(|x| term::and(eq(&x[0], lit(0.0)), lt(lit(0.0), &x[1]))),
            partials: &[BY_BASE, Partial::Zero],
        },
        Arm { when: None, partials: &[BY_BASE, Partial::Of(|x, y| mul(y, log(&x[0])))] },
    ]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Pow)),
    cost: 25,
    algebra: NO_ALGEBRA,
    samples: &[POSITIVE, REALS],
    doc: "x to the power y; 1 for y = 0",
};

pub const HYPOT: Row = Row {
    prim: Prim::Hypot,
    name: "hypot",
    args: &[Real, Real],
    result: Real,
    eval: |x| Lit::Real(cmath::hypot(real(x[0]), real(x[1]))),
    derivative: Derivative::Arms(&[
        Arm {
            when: Some(|x| term::and(eq(&x[0], lit(0.0)), eq(&x[1], lit(0.0)))),
            partials: &[ZERO_AT_ORIGIN, ZERO_AT_ORIGIN],
        },
        Arm { when: None, partials: &[Partial::Of(|x, y| div(&x[0], y)), Partial::Of(|x, y| div(&x[1], y))] },
    ]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Hypot)),
    cost: 12,
    algebra: Algebra { commutative: true, associative: false, unit: None, zero: None },
    samples: &[POSITIVE, REALS],
    doc: "the square root of x^2 + y^2, without overflow on the way",
};

pub const XLOGY: Row = Row {
    prim: Prim::Xlogy,
    name: "xlogy",
    args: &[Real, Real],
    result: Real,
    eval: |x| {
        Lit::Real({
            let (x, y) = (real(x[0]), real(x[1]));
            if x == 0.0 && !y.is_nan() { 0.0 } else { x * cmath::log(y) }
        })
    },
    derivative: Derivative::Arms(&[
        Arm {
            when: Some(|x| term::and(eq(&x[0], lit(0.0)), eq(&x[1], lit(0.0)))),
            partials: &[Partial::Of(|x, _| log(&x[1])), Partial::Zero],
        },
        Arm {
            when: None,
            partials: &[Partial::Of(|x, _| log(&x[1])), Partial::Of(|x, _| div(&x[0], &x[1]))],
        },
    ]),
    linear_in: &[0],
    lowering: Lowering::Expand(|x, _| {
        let y_is_a_number = eq(&x[1], &x[1]);
        select(term::and(eq(&x[0], lit(0.0)), y_is_a_number), lit(0.0), mul(&x[0], log(&x[1])))
    }),
    cost: 15,
    algebra: NO_ALGEBRA,
    samples: &[REALS, POSITIVE],
    doc: "x * log y; 0 for x = 0",
};
