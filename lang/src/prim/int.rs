//! Arithmetic of ints: 64 bits, wrapping, total.

use super::Scalar::Int;
use super::term::{bind, bool_ne, int as lit, int_lt, int_mod, int_ne, int_select, int_sub};
use super::{Algebra, Derivative, INTS, Lowering, NO_ALGEBRA, Prim, Row, floor_div, floor_mod, int, term};
use crate::core::Lit;
use crate::loops::Op;
use crate::types::Type;

pub const ADD: Row = Row {
    prim: Prim::IAdd,
    name: "+",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(int(x[0]).wrapping_add(int(x[1]))),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::IAdd),
    cost: 1,
    algebra: Algebra { commutative: true, associative: true, unit: Some(0.0), zero: None },
    samples: &[INTS, INTS],
    doc: "m + n",
};

pub const SUB: Row = Row {
    prim: Prim::ISub,
    name: "-",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(int(x[0]).wrapping_sub(int(x[1]))),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::ISub),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[INTS, INTS],
    doc: "m - n",
};

pub const MUL: Row = Row {
    prim: Prim::IMul,
    name: "*",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(int(x[0]).wrapping_mul(int(x[1]))),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::IMul),
    cost: 1,
    algebra: Algebra { commutative: true, associative: true, unit: Some(1.0), zero: Some(0.0) },
    samples: &[INTS, INTS],
    doc: "m * n",
};

pub const NEG: Row = Row {
    prim: Prim::INeg,
    name: "neg",
    args: &[Int],
    result: Int,
    eval: |x| Lit::Int(int(x[0]).wrapping_neg()),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| int_sub(lit(0), &x[0])),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[INTS],
    doc: "-n",
};

pub const DIV: Row = Row {
    prim: Prim::IDiv,
    name: "div",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(floor_div(int(x[0]), int(x[1]))),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::IDiv),
    cost: 4,
    algebra: NO_ALGEBRA,
    samples: &[INTS, INTS],
    doc: "the floor of m / n; 0 when n is 0 (the language checks that it is not)",
};

pub const MOD: Row = Row {
    prim: Prim::IMod,
    name: "mod",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(floor_mod(int(x[0]), int(x[1]))),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::IMod),
    cost: 4,
    algebra: NO_ALGEBRA,
    samples: &[INTS, INTS],
    doc: "m - n * div m n, with the sign of n; 0 when n is 0 (the language checks that it is not)",
};

pub const REM: Row = Row {
    prim: Prim::IRem,
    name: "rem",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(if int(x[1]) == 0 { 0 } else { int(x[0]).wrapping_rem(int(x[1])) }),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Expand(|x, supply| {
        // The floor remainder has the sign of n; where m has the other one, it is n too far.
        bind("r", Type::Int, int_mod(&x[0], &x[1]), supply, |r, _| {
            let signs_differ = bool_ne(int_lt(&x[0], lit(0)), int_lt(&x[1], lit(0)));
            int_select(term::and(int_ne(&r, lit(0)), signs_differ), int_sub(&r, &x[1]), &r)
        })
    }),
    cost: 12,
    algebra: NO_ALGEBRA,
    samples: &[INTS, INTS],
    doc: "the remainder of m / n rounded towards zero, with the sign of m; 0 when n is 0 (the language checks that it is not)",
};

pub const ABS: Row = Row {
    prim: Prim::IAbs,
    name: "abs",
    args: &[Int],
    result: Int,
    eval: |x| Lit::Int(int(x[0]).wrapping_abs()),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| int_select(int_lt(&x[0], lit(0)), int_sub(lit(0), &x[0]), &x[0])),
    cost: 3,
    algebra: NO_ALGEBRA,
    samples: &[INTS],
    doc: "the magnitude of n",
};

pub const MIN: Row = Row {
    prim: Prim::IMin,
    name: "min",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(int(x[0]).min(int(x[1]))),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| int_select(int_lt(&x[1], &x[0]), &x[1], &x[0])),
    cost: 2,
    algebra: Algebra { commutative: true, associative: true, unit: None, zero: None },
    samples: &[INTS, INTS],
    doc: "the lesser of m and n",
};

pub const MAX: Row = Row {
    prim: Prim::IMax,
    name: "max",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(int(x[0]).max(int(x[1]))),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| int_select(int_lt(&x[0], &x[1]), &x[1], &x[0])),
    cost: 2,
    algebra: Algebra { commutative: true, associative: true, unit: None, zero: None },
    samples: &[INTS, INTS],
    doc: "the greater of m and n",
};

pub const BIT_XOR: Row = Row {
    prim: Prim::BitXor,
    name: "bit_xor",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(int(x[0]) ^ int(x[1])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::IXor),
    cost: 1,
    algebra: Algebra { commutative: true, associative: true, unit: Some(0.0), zero: None },
    samples: &[INTS, INTS],
    doc: "bitwise exclusive or",
};

pub const BIT_AND: Row = Row {
    prim: Prim::BitAnd,
    name: "bit_and",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(int(x[0]) & int(x[1])),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::IAnd),
    cost: 1,
    algebra: Algebra { commutative: true, associative: true, unit: Some(-1.0), zero: Some(0.0) },
    samples: &[INTS, INTS],
    doc: "bitwise and",
};

pub const SHIFT_LEFT: Row = Row {
    prim: Prim::ShiftLeft,
    name: "shift_left",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(int(x[0]).wrapping_shl(int(x[1]) as u32)),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::IShl),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[INTS, (0.0, 63.0)],
    doc: "m shifted left by n mod 64 bits",
};

pub const SHIFT_RIGHT: Row = Row {
    prim: Prim::ShiftRight,
    name: "shift_right",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(((int(x[0]) as u64).wrapping_shr(int(x[1]) as u32)) as i64),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::IShr),
    cost: 1,
    algebra: NO_ALGEBRA,
    samples: &[INTS, (0.0, 63.0)],
    doc: "m shifted right by n mod 64 bits, zeros coming in",
};
