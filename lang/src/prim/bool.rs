//! Truth values. These evaluate both arguments; `&&` and `||` of the language, which need not, are elaborated to `if`.

use super::Scalar::Bool;
use super::{Algebra, Derivative, Lowering, NO_ALGEBRA, Prim, Row, TRUTHS, boolean};
use crate::core::Lit;
use crate::loops::Op;

pub const AND: Row = Row {
    prim: Prim::And,
    name: "&&",
    args: &[Bool, Bool],
    result: Bool,
    eval: |x| Lit::Bool(boolean(x[0]) && boolean(x[1])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::BAnd),
    cost: 1,
    algebra: Algebra { commutative: true, associative: true, unit: Some(1.0), zero: Some(0.0) },
    samples: &[TRUTHS, TRUTHS],
    doc: "p and q",
};

pub const OR: Row = Row {
    prim: Prim::Or,
    name: "||",
    args: &[Bool, Bool],
    result: Bool,
    eval: |x| Lit::Bool(boolean(x[0]) || boolean(x[1])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::BOr),
    cost: 1,
    algebra: Algebra { commutative: true, associative: true, unit: Some(0.0), zero: Some(1.0) },
    samples: &[TRUTHS, TRUTHS],
    doc: "p or q",
};

pub const NOT: Row = Row {
    prim: Prim::Not,
    name: "not",
    args: &[Bool],
    result: Bool,
    eval: |x| Lit::Bool(!boolean(x[0])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::BNot),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[TRUTHS],
    doc: "not p",
};
