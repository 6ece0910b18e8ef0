//! Functions of probability and statistics.

use super::Scalar::{Int, Real};
use super::term::{digamma, exp, int as int_lit, int_add, mul, neg, polygamma, real as lit, trigamma};
use super::{Arm, Derivative, Lowering, NO_ALGEBRA, Partial, Prim, REALS, Row, cmath, int, real, special_fn};
use crate::core::Lit;
use crate::loops::{Math, Op};

/// 2 / √π
const TWO_OVER_SQRT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;
/// √(2π)
const SQRT_TAU: f64 = 2.506_628_274_631_000_5;
const ABOVE_POLE: (f64, f64) = (0.4, 6.0);

pub const ERF: Row = Row {
    prim: Prim::Erf,
    name: "erf",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::erf(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| mul(lit(TWO_OVER_SQRT_PI), exp(neg(mul(&x[0], &x[0])))))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Erf)),
    cost: 15,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "the error function, 2 / sqrt pi times the integral of exp (-t^2) from 0 to x",
};

pub const ERFC: Row = Row {
    prim: Prim::Erfc,
    name: "erfc",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::erfc(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| mul(lit(-TWO_OVER_SQRT_PI), exp(neg(mul(&x[0], &x[0])))))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Erfc)),
    cost: 15,
    algebra: NO_ALGEBRA,
    samples: &[REALS],
    doc: "1 - erf x, accurate for large x",
};

pub const LGAMMA: Row = Row {
    prim: Prim::Lgamma,
    name: "lgamma",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(cmath::lgamma(real(x[0]))),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Of(|x, _| digamma(&x[0]))] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Lgamma)),
    cost: 25,
    algebra: NO_ALGEBRA,
    samples: &[ABOVE_POLE],
    doc: "the logarithm of the magnitude of the gamma function",
};

pub const DIGAMMA: Row = Row {
    prim: Prim::Digamma,
    name: "digamma",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(special_fn::digamma(real(x[0]))),
    derivative: Derivative::Arms(&[Arm { when: None, partials: &[Partial::Of(|x, _| trigamma(&x[0]))] }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Digamma)),
    cost: 30,
    algebra: NO_ALGEBRA,
    samples: &[ABOVE_POLE],
    doc: "the derivative of lgamma",
};

pub const TRIGAMMA: Row = Row {
    prim: Prim::Trigamma,
    name: "trigamma",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(special_fn::trigamma(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|x, _| polygamma(int_lit(2), &x[0]))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Trigamma)),
    cost: 40,
    algebra: NO_ALGEBRA,
    samples: &[ABOVE_POLE],
    doc: "the derivative of digamma",
};

pub const POLYGAMMA: Row = Row {
    prim: Prim::Polygamma,
    name: "polygamma",
    args: &[Int, Real],
    result: Real,
    eval: |x| Lit::Real(special_fn::polygamma(int(x[0]), real(x[1]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Zero, Partial::Of(|x, _| polygamma(int_add(&x[0], int_lit(1)), &x[1]))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::Polygamma)),
    cost: 40,
    algebra: NO_ALGEBRA,
    samples: &[(0.0, 5.0), ABOVE_POLE],
    doc: "the derivative of digamma of order m at x; NaN for m below 0 or above 170",
};

pub const NORMAL_QUANTILE: Row = Row {
    prim: Prim::NormalQuantile,
    name: "normal_quantile",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(special_fn::normal_quantile(real(x[0]))),
    derivative: Derivative::Arms(&[Arm {
        when: None,
        partials: &[Partial::Of(|_, y| mul(lit(SQRT_TAU), exp(mul(lit(0.5), mul(y, y)))))],
    }]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::NormalQuantile)),
    cost: 20,
    algebra: NO_ALGEBRA,
    samples: &[(0.05, 0.95)],
    doc: "the number below which a standard normal variable lies with probability p",
};
