//! Logarithms: x = 2^k · (1 + f) with √½ ≤ 1 + f < √2, and log (1 + f) = 2 atanh s for s = f / (2 + f).
//!
//! 2 atanh s = 2s + s·R(s²), and 2s = f − s·f = f − f²/2 + s·f²/2. The first two terms are the large ones: f is exact, and only their difference is rounded at
//! the size of the result.

use super::{LN_2_HIGH, LN_2_LOW, MANTISSA, Machine, polynomial};
use std::f64::consts::FRAC_1_SQRT_2;

/// R(z)/z = (2 atanh s − 2s) / s³ for z = s² ≤ (√2 − 1)² / (√2 + 1)²; 2 atanh s is off by at most 2^−59.5 of itself.
const TAIL: [f64; 7] = [
    0.666_666_666_666_673_4,
    0.399_999_999_994_139_5,
    0.285_714_287_425_654_63,
    0.222_221_985_534_845_6,
    0.181_835_654_206_881_77,
    0.153_140_208_271_585,
    0.147_962_636_213_163_22,
];

/// 2^52 + 1023: as the last bits of 2^52, an exponent's bits are the exponent plus this.
const EXPONENT: f64 = 4_503_599_627_371_519.0;

struct Reduced<M: Machine> {
    k: M::Real,
    f: M::Real,
}

/// For normal positive x.
fn reduce<M: Machine>(m: &M, x: M::Real) -> Reduced<M> {
    // The exponent changes at √½, not at 1.
    let low = m.bits(m.real(FRAC_1_SQRT_2));
    let moved = m.int_add(m.bits(x), m.int_sub(m.bits(m.real(1.0)), low));
    let exponent = m.int_add(m.shift_right(moved, MANTISSA), m.bits(m.real((1_i64 << MANTISSA) as f64)));
    let k = m.sub(m.of_bits(exponent), m.real(EXPONENT));
    let mantissa = m.int_add(m.and(moved, m.int((1 << MANTISSA) - 1)), low);
    Reduced { k, f: m.sub(m.of_bits(mantissa), m.real(1.0)) }
}

/// k ln 2 + log (1 + f) + c, for s = f / (2 + f) and a small c.
fn together<M: Machine>(m: &M, Reduced { k, f }: Reduced<M>, s: M::Real, c: M::Real) -> M::Real {
    let z = m.mul(s, s);
    let r = m.mul(z, polynomial(m, &TAIL, z));
    let half_square = m.mul(m.mul(m.real(0.5), f), f);
    let small = m.mul_add(k, m.real(LN_2_LOW), c);
    let small = m.mul_add(s, m.add(half_square, r), small);
    m.mul_add(k, m.real(LN_2_HIGH), m.add(f, m.sub(small, half_square)))
}

/// −∞ at zero, NaN below it, and what is itself infinite or NaN as it is.
fn at_the_edges<M: Machine>(m: &M, x: M::Real, log: M::Real) -> M::Real {
    let zero = m.real(0.0);
    let log = m.select(m.less(x, m.real(f64::INFINITY)), log, x);
    let none = m.select(m.equal(x, zero), m.real(f64::NEG_INFINITY), m.real(f64::NAN));
    m.select(m.less(zero, x), log, none)
}

pub(super) fn log<M: Machine>(m: &M, x: M::Real) -> M::Real {
    // Subnormal numbers are made normal.
    let tiny = m.less(x, m.real(f64::MIN_POSITIVE));
    let normal = m.select(tiny, m.mul(x, m.real((1_i64 << 54) as f64)), x);
    let Reduced { k, f } = reduce(m, normal);
    let k = m.sub(k, m.select(tiny, m.real(54.0), m.real(0.0)));
    let s = m.div(f, m.add(m.real(2.0), f));
    at_the_edges(m, x, together(m, Reduced { k, f }, s, m.real(0.0)))
}

/// Beyond this, 1 + x is x.
const LARGE: f64 = 1e18;

/// log (1 + x) = log u + log ((1 + x) / u) for u = 1 + x as it is rounded; the second is (1 + x − u) / u.
pub(super) fn log1p<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let one = m.real(1.0);
    let u = m.add(one, x);
    let reduced = reduce(m, u);
    let lost = m.sub(x, m.sub(u, one));
    // Both quotients with one division: f / (2 + f) and lost / u.
    let (two, f) = (m.add(m.real(2.0), reduced.f), reduced.f);
    let divisor = m.select(m.less(m.real(LARGE), u), m.real(LARGE), u);
    let inverse = m.div(one, m.mul(two, divisor));
    let s = m.mul(m.mul(f, divisor), inverse);
    let c = m.mul(m.mul(lost, two), inverse);
    let log = at_the_edges(m, u, together(m, reduced, s, c));
    // Where 1 + x is 1, the result is x, whichever zero it may be.
    m.select(m.equal(u, one), x, log)
}
