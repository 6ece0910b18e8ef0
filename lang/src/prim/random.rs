//! Counter-based random numbers: functions of a seed and a counter, the same bits on every engine and platform.

use super::Scalar::{Int, Real};
use super::special_fn::{self, MIX, SPREAD};
use super::term::{
    bind, bit_xor, int as int_lit, int_add, int_mul, normal_of_bits, random_bits, shift_right,
    uniform_of_bits as uniform,
};
use super::{Derivative, INTS, Lowering, NO_ALGEBRA, Prim, Row, int};
use crate::core::{Lit, Tm};
use crate::loops::{Math, Op};
use crate::name::Supply;
use crate::precision::Precision;
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

/// The high bits of a word as a binary fraction: as many as a real of this precision has.
pub fn uniform_of_bits(word: i64, precision: Precision) -> f64 {
    let m = precision.digits();
    (word as u64 >> (64 - m)) as f64 / (1u64 << m) as f64
}

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

pub const UNIFORM_OF_BITS: Row = Row {
    prim: Prim::UniformOfBits,
    name: "uniform_of_bits",
    args: &[Int],
    result: Real,
    eval: |x| Lit::Real(uniform_of_bits(int(x[0]), Precision::Double)),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::Uniform),
    cost: 3,
    algebra: NO_ALGEBRA,
    samples: &[INTS],
    doc: "the high bits of a word as a real u, 0 <= u < 1: a multiple of 2^-53, of 2^-24 in single precision",
};

pub const NORMAL_OF_BITS: Row = Row {
    prim: Prim::NormalOfBits,
    name: "normal_of_bits",
    args: &[Int],
    result: Real,
    eval: |x| Lit::Real(special_fn::normal_of_bits(int(x[0]))),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Op(Op::Math(Math::NormalOfBits)),
    cost: 24,
    algebra: NO_ALGEBRA,
    samples: &[INTS],
    doc: "a number of the standard normal distribution for a word of random bits",
};

pub const RANDOM_UNIFORM: Row = Row {
    prim: Prim::RandomUniform,
    name: "random_uniform",
    args: &[Int, Int],
    result: Real,
    eval: |x| Lit::Real(uniform_of_bits(special_fn::random_bits(int(x[0]), int(x[1])), Precision::Double)),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| uniform(random_bits(&x[0], &x[1]))),
    cost: 31,
    algebra: NO_ALGEBRA,
    samples: &[INTS, INTS],
    doc: "a random number, uniform in 0 <= u < 1, a multiple of 2^-53, of 2^-24 in single precision",
};

pub const RANDOM_NORMAL: Row = Row {
    prim: Prim::RandomNormal,
    name: "random_normal",
    args: &[Int, Int],
    result: Real,
    eval: |x| Lit::Real(special_fn::normal_of_bits(special_fn::random_bits(int(x[0]), int(x[1])))),
    derivative: Derivative::ByType,
    linear_in: &[],
    lowering: Lowering::Expand(|x, _| normal_of_bits(random_bits(&x[0], &x[1]))),
    cost: 52,
    algebra: NO_ALGEBRA,
    samples: &[INTS, INTS],
    doc: "a random number of the standard normal distribution",
};
