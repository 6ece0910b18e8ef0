//! Counter-based random numbers: functions of a seed and a counter, the same bits on every engine and platform.

use super::Scalar::{Int, Real};
use super::special_fn::{self, MIX, SPREAD};
use super::term::{
    add, bind, bit_xor, int as int_lit, int_add, int_mul, int_to_real, mul, normal_quantile, random_bits,
    real as lit, shift_right,
};
use super::{Derivative, INTS, Lowering, NO_ALGEBRA, Prim, Row, int};
use crate::core::{Lit, Tm};
use crate::name::Supply;
use crate::types::Type;

/// `special_fn`'s mixing, as a term: z ^ z >>> shift times a multiplier, twice, and once without.
fn mix(z: Tm, supply: &mut Supply) -> Tm {
    let ([m0, m1], [s0, s1, s2]) = MIX;
    fn fold(z: Tm, shift: i64, supply: &mut Supply) -> Tm {
        bind("z", Type::Int, z, supply, |z, _| bit_xor(&z, shift_right(&z, int_lit(shift))))
    }
    let z = int_mul(fold(z, s0, supply), int_lit(m0));
    let z = int_mul(fold(z, s1, supply), int_lit(m1));
    fold(z, s2, supply)
}

/// The high bits of a word, as a real: m > 0 of them.
fn high_bits(word: i64, m: u32) -> f64 {
    (word as u64 >> (64 - m)) as f64
}

const TWO_TO_MINUS_52: f64 = f64::EPSILON;
const TWO_TO_MINUS_53: f64 = f64::EPSILON / 2.0;

pub const RANDOM_BITS: Row = Row {
    prim: Prim::RandomBits,
    name: "random_bits",
    args: &[Int, Int],
    result: Int,
    eval: |x| Lit::Int(special_fn::random_bits(int(x[0]), int(x[1]))),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Expand(|x, supply| {
        let key = mix(int_add(&x[0], int_lit(SPREAD)), supply);
        bind("key", Type::Int, key, supply, |key, supply| {
            let once = mix(bit_xor(&key, int_mul(&x[1], int_lit(SPREAD))), supply);
            mix(int_add(once, &key), supply)
        })
    }),
    cost: 28,
    algebra: NO_ALGEBRA,
    samples: &[INTS, INTS],
    doc: "64 random bits of a seed and a counter",
};

pub const RANDOM_UNIFORM: Row = Row {
    prim: Prim::RandomUniform,
    name: "random_uniform",
    args: &[Int, Int],
    result: Real,
    eval: |x| Lit::Real(high_bits(special_fn::random_bits(int(x[0]), int(x[1])), 53) * TWO_TO_MINUS_53),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| {
        mul(int_to_real(shift_right(random_bits(&x[0], &x[1]), int_lit(11))), lit(TWO_TO_MINUS_53))
    }),
    cost: 31,
    algebra: NO_ALGEBRA,
    samples: &[INTS, INTS],
    doc: "a random number, uniform in 0 <= u < 1, a multiple of 2^-53",
};

pub const RANDOM_NORMAL: Row = Row {
    prim: Prim::RandomNormal,
    name: "random_normal",
    args: &[Int, Int],
    result: Real,
    eval: |x| {
        Lit::Real(special_fn::normal_quantile(
            (high_bits(special_fn::random_bits(int(x[0]), int(x[1])), 52) + 0.5) * TWO_TO_MINUS_52,
        ))
    },
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| {
        // Exact: an odd multiple of 2^-53, symmetric about ½ and never 0 or 1.
        let bits = int_to_real(shift_right(random_bits(&x[0], &x[1]), int_lit(12)));
        normal_quantile(mul(add(bits, lit(0.5)), lit(TWO_TO_MINUS_52)))
    }),
    cost: 52,
    algebra: NO_ALGEBRA,
    samples: &[INTS, INTS],
    doc: "a random number of the standard normal distribution",
};
