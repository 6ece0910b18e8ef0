//! Selections: primitives whose value is one of their arguments, up to sign. The argument not selected gets a structural
//! zero, so that an infinite slope behind it stays harmless.

use super::Scalar::{Bool, Int, Real};
use super::term::{add, eq, le, lt, real as lit, select as choose};
use super::{
    Algebra, Arm, Derivative, INTS, Lowering, NO_ALGEBRA, Partial, Prim, REALS, Row, TRUTHS, boolean, int,
    real,
};
use crate::core::Lit;
use crate::loops::Op;

const HALF: Partial = Partial::Of(|_, _| lit(0.5));

pub const SELECT: Row = Row {
    prim: Prim::Select,
    name: "select",
    args: &[Bool, Real, Real],
    result: Real,
    eval: |x| Lit::Real(if boolean(x[0]) { real(x[1]) } else { real(x[2]) }),
    derivative: Derivative::Arms(&[
        Arm { when: Some(|x| x[0].clone()), partials: &[Partial::Zero, Partial::One, Partial::Zero] },
        Arm { when: None, partials: &[Partial::Zero, Partial::Zero, Partial::One] },
    ]),
    linear_in: &[],
    lowering: Lowering::Op(Op::Select),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[TRUTHS, REALS, REALS],
    doc: "x when c, else y; both are computed",
};

pub const INT_SELECT: Row = Row {
    prim: Prim::ISelect,
    name: "select",
    args: &[Bool, Int, Int],
    result: Int,
    eval: |x| Lit::Int(if boolean(x[0]) { int(x[1]) } else { int(x[2]) }),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::Select),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[TRUTHS, INTS, INTS],
    doc: "m when c, else n; both are computed",
};

pub const BOOL_SELECT: Row = Row {
    prim: Prim::BSelect,
    name: "select",
    args: &[Bool, Bool, Bool],
    result: Bool,
    eval: |x| Lit::Bool(if boolean(x[0]) { boolean(x[1]) } else { boolean(x[2]) }),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::Select),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[TRUTHS, TRUTHS, TRUTHS],
    doc: "p when c, else q; both are computed",
};

pub const ABS: Row = Row {
    prim: Prim::Abs,
    name: "abs",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(real(x[0]).abs()),
    derivative: Derivative::Arms(&[
        Arm { when: Some(|x| lt(&x[0], lit(0.0))), partials: &[Partial::MinusOne] },
        Arm { when: Some(|x| eq(&x[0], lit(0.0))), partials: &[Partial::Zero] },
        Arm { when: None, partials: &[Partial::One] },
    ]),
    linear_in: &[],
    lowering: Lowering::Op(Op::FAbs),
    cost: 2,
    algebra: NO_ALGEBRA,
    samples: &[(0.2, 3.0)],
    doc: "the magnitude of x",
};

pub const MIN: Row = Row {
    prim: Prim::Min,
    name: "min",
    args: &[Real, Real],
    result: Real,
    eval: |x| {
        Lit::Real({
            let (x, y) = (real(x[0]), real(x[1]));
            if x < y {
                x
            } else if y <= x {
                y
            } else {
                x + y
            }
        })
    },
    derivative: Derivative::Arms(&[
        Arm { when: Some(|x| lt(&x[0], &x[1])), partials: &[Partial::One, Partial::Zero] },
        Arm { when: Some(|x| lt(&x[1], &x[0])), partials: &[Partial::Zero, Partial::One] },
        Arm { when: None, partials: &[HALF, HALF] },
    ]),
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| {
        choose(lt(&x[0], &x[1]), &x[0], choose(le(&x[1], &x[0]), &x[1], add(&x[0], &x[1])))
    }),
    cost: 5,
    algebra: Algebra {
        commutative: true,
        associative: true,
        unit: Some(f64::INFINITY),
        zero: Some(f64::NEG_INFINITY),
    },
    samples: &[(-3.0, -0.2), (0.2, 3.0)],
    doc: "the lesser of x and y; NaN when either is",
};

pub const MAX: Row = Row {
    prim: Prim::Max,
    name: "max",
    args: &[Real, Real],
    result: Real,
    eval: |x| {
        Lit::Real({
            let (x, y) = (real(x[0]), real(x[1]));
            if y < x {
                x
            } else if x <= y {
                y
            } else {
                x + y
            }
        })
    },
    derivative: Derivative::Arms(&[
        Arm { when: Some(|x| lt(&x[1], &x[0])), partials: &[Partial::One, Partial::Zero] },
        Arm { when: Some(|x| lt(&x[0], &x[1])), partials: &[Partial::Zero, Partial::One] },
        Arm { when: None, partials: &[HALF, HALF] },
    ]),
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| {
        choose(lt(&x[1], &x[0]), &x[0], choose(le(&x[0], &x[1]), &x[1], add(&x[0], &x[1])))
    }),
    cost: 5,
    algebra: Algebra {
        commutative: true,
        associative: true,
        unit: Some(f64::NEG_INFINITY),
        zero: Some(f64::INFINITY),
    },
    samples: &[(-3.0, -0.2), (0.2, 3.0)],
    doc: "the greater of x and y; NaN when either is",
};

pub const RELU: Row = Row {
    prim: Prim::Relu,
    name: "relu",
    args: &[Real],
    result: Real,
    eval: |x| Lit::Real(if real(x[0]) <= 0.0 { 0.0 } else { real(x[0]) }),
    derivative: Derivative::Arms(&[
        Arm { when: Some(|x| le(&x[0], lit(0.0))), partials: &[Partial::Zero] },
        Arm { when: None, partials: &[Partial::One] },
    ]),
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| choose(le(&x[0], lit(0.0)), lit(0.0), &x[0])),
    cost: 2,
    algebra: NO_ALGEBRA,
    samples: &[(0.2, 3.0)],
    doc: "x when it is positive, else 0; NaN for NaN",
};
