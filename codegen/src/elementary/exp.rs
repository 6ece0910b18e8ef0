//! The exponential: x = k ln 2 + r with |r| ≤ ln 2 / 2, so e^x = 2^k e^r.

use super::{LN_2_HIGH, LN_2_LOW, MANTISSA, Machine, SHIFT, polynomial};
use std::f64::consts::LOG2_E;

/// (e^r − 1 − r) / r² for |r| ≤ ln 2 / 2; e^r computed from it is off by at most 2^−57.9 of itself.
const TAIL: [f64; 10] = [
    0.500_000_000_000_001_1,
    0.166_666_666_666_664_13,
    0.041_666_666_666_530_16,
    0.008_333_333_333_494_465,
    0.001_388_888_894_363_005,
    0.000_198_412_695_065_713_3,
    2.480_149_309_892_918e-5,
    2.755_758_638_088_242_7e-6,
    2.763_024_837_974_243_6e-7,
    2.500_005_925_605_484_2e-8,
];

/// x = k ln 2 + r.
pub(super) struct Reduced<M: Machine> {
    /// k, and the number whose last bits are k.
    pub whole: M::Real,
    pub shifted: M::Real,
    /// e^r − 1.
    pub rest: M::Real,
}

/// For |x| < 2^20.
pub(super) fn reduce<M: Machine>(m: &M, x: M::Real) -> Reduced<M> {
    let shifted = m.mul_add(x, m.real(LOG2_E), m.real(SHIFT));
    let whole = m.sub(shifted, m.real(SHIFT));
    let r = m.mul_add(whole, m.real(-LN_2_HIGH), x);
    let r = m.mul_add(whole, m.real(-LN_2_LOW), r);
    let rest = m.mul_add(m.mul(r, r), polynomial(m, &TAIL, r), r);
    Reduced { whole, shifted, rest }
}

/// 2^k for the k in the last bits, −1022 ≤ k ≤ 1023: it goes to the exponent's place.
pub(super) fn power_of_two<M: Machine>(m: &M, bits: M::Int) -> M::Real {
    m.of_bits(m.int_add(m.shift_left(bits, MANTISSA), m.bits(m.real(1.0))))
}

/// Beyond these bounds the result is 0 or infinite, and so it is at them.
const LEAST: f64 = -746.0;
const GREATEST: f64 = 710.0;

pub(super) fn exp<M: Machine>(m: &M, x: M::Real) -> M::Real {
    // NaN is on neither side.
    let x = m.select(m.less(x, m.real(LEAST)), m.real(LEAST), x);
    let x = m.select(m.less(m.real(GREATEST), x), m.real(GREATEST), x);
    let Reduced { whole, shifted, rest } = reduce(m, x);
    // 2^k in two factors, each of them a normal number: the second product rounds once to what may be subnormal.
    let half = m.bits(m.mul_add(whole, m.real(0.5), m.real(SHIFT)));
    let other = m.int_sub(m.bits(shifted), half);
    let scaled = m.mul(m.add(m.real(1.0), rest), power_of_two(m, half));
    m.mul(scaled, power_of_two(m, other))
}
