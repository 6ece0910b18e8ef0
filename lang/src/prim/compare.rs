//! Comparisons. Those of reals are ordered: false when an argument is NaN, except `!=`. Greater-than is less-than of swapped arguments.

use super::Scalar::{Bool, Int, Real};
use super::term::{bool_eq, not};
use super::{Algebra, Derivative, INTS, Lowering, NO_ALGEBRA, Prim, REALS, Row, TRUTHS, boolean, int, real};
use crate::core::Lit;
use crate::loops::Op;

pub const EQ: Row = Row {
    prim: Prim::Eq,
    name: "==",
    args: &[Real, Real],
    result: Bool,
    eval: |x| Lit::Bool(real(x[0]) == real(x[1])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::FEq),
    cost: 1,
    algebra: Algebra { commutative: true, associative: false, unit: None, zero: None },
    samples: &[REALS, REALS],
    doc: "x == y; false when either is NaN",
};

pub const NE: Row = Row {
    prim: Prim::Ne,
    name: "!=",
    args: &[Real, Real],
    result: Bool,
    eval: |x| Lit::Bool(real(x[0]) != real(x[1])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::FNe),
    cost: 1,
    algebra: Algebra { commutative: true, associative: false, unit: None, zero: None },
    samples: &[REALS, REALS],
    doc: "x != y; true when either is NaN",
};

pub const LT: Row = Row {
    prim: Prim::Lt,
    name: "<",
    args: &[Real, Real],
    result: Bool,
    eval: |x| Lit::Bool(real(x[0]) < real(x[1])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::FLt),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[REALS, REALS],
    doc: "x < y; false when either is NaN",
};

pub const LE: Row = Row {
    prim: Prim::Le,
    name: "<=",
    args: &[Real, Real],
    result: Bool,
    eval: |x| Lit::Bool(real(x[0]) <= real(x[1])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::FLe),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[REALS, REALS],
    doc: "x <= y; false when either is NaN",
};

pub const INT_EQ: Row = Row {
    prim: Prim::IEq,
    name: "==",
    args: &[Int, Int],
    result: Bool,
    eval: |x| Lit::Bool(int(x[0]) == int(x[1])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::IEq),
    cost: 1,
    algebra: Algebra { commutative: true, associative: false, unit: None, zero: None },
    samples: &[INTS, INTS],
    doc: "m == n",
};

pub const INT_NE: Row = Row {
    prim: Prim::INe,
    name: "!=",
    args: &[Int, Int],
    result: Bool,
    eval: |x| Lit::Bool(int(x[0]) != int(x[1])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::INe),
    cost: 1,
    algebra: Algebra { commutative: true, associative: false, unit: None, zero: None },
    samples: &[INTS, INTS],
    doc: "m != n",
};

pub const INT_LT: Row = Row {
    prim: Prim::ILt,
    name: "<",
    args: &[Int, Int],
    result: Bool,
    eval: |x| Lit::Bool(int(x[0]) < int(x[1])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::ILt),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[INTS, INTS],
    doc: "m < n",
};

pub const INT_LE: Row = Row {
    prim: Prim::ILe,
    name: "<=",
    args: &[Int, Int],
    result: Bool,
    eval: |x| Lit::Bool(int(x[0]) <= int(x[1])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::ILe),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[INTS, INTS],
    doc: "m <= n",
};

pub const BOOL_EQ: Row = Row {
    prim: Prim::BEq,
    name: "==",
    args: &[Bool, Bool],
    result: Bool,
    eval: |x| Lit::Bool(boolean(x[0]) == boolean(x[1])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::BEq),
    cost: 1,
    algebra: Algebra { commutative: true, associative: true, unit: Some(1.0), zero: None },
    samples: &[TRUTHS, TRUTHS],
    doc: "p == q",
};

pub const BOOL_NE: Row = Row {
    prim: Prim::BNe,
    name: "!=",
    args: &[Bool, Bool],
    result: Bool,
    eval: |x| Lit::Bool(boolean(x[0]) != boolean(x[1])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| not(bool_eq(&x[0], &x[1]))),
    cost: 2,
    algebra: Algebra { commutative: true, associative: true, unit: Some(0.0), zero: None },
    samples: &[TRUTHS, TRUTHS],
    doc: "p != q",
};
