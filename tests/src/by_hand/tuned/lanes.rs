//! Four doubles in a vector register, and elementary functions of them.

use std::arch::x86_64::*;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// Four doubles. The operations are those of AVX2 and FMA: whoever makes lanes has seen that the processor has them.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Lanes(__m256d);

/// How many.
pub const WIDTH: usize = 4;

impl Lanes {
    pub const ZERO: Lanes = Lanes::of([0.0; WIDTH]);

    pub const fn of(xs: [f64; WIDTH]) -> Lanes {
        // SAFETY: both are 32 bytes of doubles.
        Lanes(unsafe { std::mem::transmute::<[f64; WIDTH], __m256d>(xs) })
    }
    #[inline(always)]
    pub fn from_fn(f: impl Fn(usize) -> f64) -> Lanes {
        Lanes::of([f(0), f(1), f(2), f(3)])
    }
    #[inline(always)]
    pub fn splat(x: f64) -> Lanes {
        Lanes(unsafe { _mm256_set1_pd(x) })
    }
    #[inline(always)]
    pub fn array(self) -> [f64; WIDTH] {
        // SAFETY: both are 32 bytes of doubles.
        unsafe { std::mem::transmute::<__m256d, [f64; WIDTH]>(self.0) }
    }
    /// self · b + c
    #[inline(always)]
    pub fn mul_add(self, b: Lanes, c: Lanes) -> Lanes {
        Lanes(unsafe { _mm256_fmadd_pd(self.0, b.0, c.0) })
    }
    /// c − self · b
    #[inline(always)]
    pub fn mul_sub_from(self, b: Lanes, c: Lanes) -> Lanes {
        Lanes(unsafe { _mm256_fnmadd_pd(self.0, b.0, c.0) })
    }
    #[inline(always)]
    pub fn max(self, other: Lanes) -> Lanes {
        Lanes(unsafe { _mm256_max_pd(self.0, other.0) })
    }
    #[inline(always)]
    pub fn min(self, other: Lanes) -> Lanes {
        Lanes(unsafe { _mm256_min_pd(self.0, other.0) })
    }
    #[inline(always)]
    pub fn sqrt(self) -> Lanes {
        Lanes(unsafe { _mm256_sqrt_pd(self.0) })
    }
    #[inline(always)]
    pub fn sum(self) -> f64 {
        let [a, b, c, d] = self.array();
        (a + c) + (b + d)
    }
    /// Where `a` is 0 the first, elsewhere the second.
    #[inline(always)]
    pub fn where_zero(a: Lanes, zero: Lanes, other: Lanes) -> Lanes {
        unsafe {
            let mask = _mm256_cmp_pd::<_CMP_EQ_OQ>(a.0, _mm256_setzero_pd());
            Lanes(_mm256_blendv_pd(other.0, zero.0, mask))
        }
    }
    /// The last lane of `before` and the first three of self: what stands one place to the left.
    #[inline(always)]
    pub fn left(self, before: Lanes) -> Lanes {
        unsafe {
            let middle = _mm256_permute2f128_pd::<0x21>(before.0, self.0);
            Lanes(_mm256_shuffle_pd::<0b0101>(middle, self.0))
        }
    }
    /// The last three lanes of self and the first of `after`: what stands one place to the right.
    #[inline(always)]
    pub fn right(self, after: Lanes) -> Lanes {
        unsafe {
            let middle = _mm256_permute2f128_pd::<0x21>(self.0, after.0);
            Lanes(_mm256_shuffle_pd::<0b0101>(self.0, middle))
        }
    }

    /// 2^k for whole k, given as k + SHIFT.
    #[inline(always)]
    fn power_of_two(shifted: Lanes) -> Lanes {
        unsafe {
            let exponent = _mm256_slli_epi64::<52>(_mm256_castpd_si256(shifted.0));
            let one = _mm256_castpd_si256(_mm256_set1_pd(1.0));
            Lanes(_mm256_castsi256_pd(_mm256_add_epi64(exponent, one)))
        }
    }

    /// x = k ln 2 + r: r, |r| ≤ ln 2 / 2, and 2^k.
    #[inline(always)]
    fn reduce(self) -> (Lanes, Lanes) {
        let shifted = self.mul_add(Lanes::splat(std::f64::consts::LOG2_E), Lanes::splat(SHIFT));
        let k = shifted - Lanes::splat(SHIFT);
        let r = k.mul_sub_from(Lanes::splat(LN_2_HIGH), self);
        (k.mul_sub_from(Lanes::splat(LN_2_LOW), r), Lanes::power_of_two(shifted))
    }

    #[inline(always)]
    pub fn exp(self) -> Lanes {
        let (r, power) = self.max(Lanes::splat(-708.0)).min(Lanes::splat(709.0)).reduce();
        polynomial(r, |k| INVERSE_FACTORIAL[k]) * power
    }

    #[inline(always)]
    pub fn sigmoid(self) -> Lanes {
        let one = Lanes::splat(1.0);
        one / (one + (-self).exp())
    }

    /// tanh x = m / (m + 2), m = exp(2x) − 1, without cancellation near 0.
    #[inline(always)]
    pub fn tanh(self) -> Lanes {
        let twice = (self + self).max(Lanes::splat(-60.0)).min(Lanes::splat(60.0));
        let (r, power) = twice.reduce();
        // (exp r − 1) = r (1 + r/2! + …)
        let m = r * polynomial(r, |k| INVERSE_FACTORIAL[k + 1]);
        let m = power.mul_add(m, power - Lanes::splat(1.0));
        m / (m + Lanes::splat(2.0))
    }

    /// Sine and cosine, of arguments that are not large.
    #[inline(always)]
    pub fn sin_cos(self) -> (Lanes, Lanes) {
        let shifted = self.mul_add(Lanes::splat(std::f64::consts::FRAC_2_PI), Lanes::splat(SHIFT));
        let k = shifted - Lanes::splat(SHIFT);
        let r = k.mul_sub_from(Lanes::splat(HALF_PI_HIGH), self);
        let r = k.mul_sub_from(Lanes::splat(HALF_PI_LOW), r);
        let square = r * r;
        // sin r = r (1 − r²/3! + …), cos r = 1 − r²/2! + …
        let series = |first: usize| {
            let term = |k: usize| {
                let sign = if k.is_multiple_of(2) { 1.0 } else { -1.0 };
                sign * INVERSE_FACTORIAL[first + 2 * k]
            };
            (0..9).rev().fold(Lanes::ZERO, |sum, k| sum.mul_add(square, Lanes::splat(term(k))))
        };
        let (sin, cos) = (r * series(1), series(0));
        unsafe {
            // By quarters k: sine and cosine change places in odd ones, and signs follow bit 1.
            let quarter = _mm256_castpd_si256(shifted.0);
            let odd = _mm256_castsi256_pd(_mm256_slli_epi64::<63>(quarter));
            let sign = |k: __m256i| {
                _mm256_castsi256_pd(_mm256_and_si256(
                    _mm256_slli_epi64::<62>(k),
                    _mm256_set1_epi64x(i64::MIN),
                ))
            };
            let next = _mm256_add_epi64(quarter, _mm256_set1_epi64x(1));
            let s = _mm256_blendv_pd(sin.0, cos.0, odd);
            let c = _mm256_blendv_pd(cos.0, sin.0, odd);
            (Lanes(_mm256_xor_pd(s, sign(quarter))), Lanes(_mm256_xor_pd(c, sign(next))))
        }
    }
}

/// Added to a number of moderate size it leaves the nearest whole number in the last bits.
const SHIFT: f64 = 6_755_399_441_055_744.0;
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
const HALF_PI_HIGH: f64 = 1.570_796_326_734_125_6;
const HALF_PI_LOW: f64 = 6.077_100_506_506_192e-11;

/// 1/k!
const INVERSE_FACTORIAL: [f64; 18] = {
    let mut out = [1.0; 18];
    let mut k = 1;
    while k < 18 {
        out[k] = out[k - 1] / k as f64;
        k += 1;
    }
    out
};

/// Σ_{k<13} c_k r^k, in pairs, so that the chain of operations is short (Estrin).
#[inline(always)]
fn polynomial(r: Lanes, c: impl Fn(usize) -> f64) -> Lanes {
    let pair = |k: usize| Lanes::splat(c(k + 1)).mul_add(r, Lanes::splat(c(k)));
    let r2 = r * r;
    let r4 = r2 * r2;
    let low = pair(2).mul_add(r2, pair(0));
    let middle = pair(6).mul_add(r2, pair(4));
    let high = pair(10).mul_add(r2, pair(8));
    let high = Lanes::splat(c(12)).mul_add(r4, high);
    high.mul_add(r4, middle).mul_add(r4, low)
}

/// Rows to columns.
#[inline(always)]
pub fn transpose([a, b, c, d]: [Lanes; WIDTH]) -> [Lanes; WIDTH] {
    unsafe {
        let (ab, ab_odd) = (_mm256_unpacklo_pd(a.0, b.0), _mm256_unpackhi_pd(a.0, b.0));
        let (cd, cd_odd) = (_mm256_unpacklo_pd(c.0, d.0), _mm256_unpackhi_pd(c.0, d.0));
        [
            Lanes(_mm256_permute2f128_pd::<0x20>(ab, cd)),
            Lanes(_mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd)),
            Lanes(_mm256_permute2f128_pd::<0x31>(ab, cd)),
            Lanes(_mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd)),
        ]
    }
}

impl Add for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn add(self, other: Lanes) -> Lanes {
        Lanes(unsafe { _mm256_add_pd(self.0, other.0) })
    }
}
impl AddAssign for Lanes {
    #[inline(always)]
    fn add_assign(&mut self, other: Lanes) {
        *self = *self + other;
    }
}
impl Sub for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn sub(self, other: Lanes) -> Lanes {
        Lanes(unsafe { _mm256_sub_pd(self.0, other.0) })
    }
}
impl Mul for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn mul(self, other: Lanes) -> Lanes {
        Lanes(unsafe { _mm256_mul_pd(self.0, other.0) })
    }
}
impl Div for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn div(self, other: Lanes) -> Lanes {
        Lanes(unsafe { _mm256_div_pd(self.0, other.0) })
    }
}
impl Neg for Lanes {
    type Output = Lanes;
    #[inline(always)]
    fn neg(self) -> Lanes {
        Lanes(unsafe { _mm256_xor_pd(self.0, _mm256_set1_pd(-0.0)) })
    }
}

/// A slice as lanes, the last filled up.
pub fn padded(xs: &[f64], fill: f64) -> Vec<Lanes> {
    xs.chunks(WIDTH).map(|chunk| Lanes::from_fn(|l| chunk.get(l).copied().unwrap_or(fill))).collect()
}

/// The first `n` numbers.
pub fn unpadded(lanes: &[Lanes], n: usize) -> Vec<f64> {
    lanes.iter().flat_map(|lane| lane.array()).take(n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_those_of_the_library() {
        if !is_x86_feature_detected!("avx2") || !is_x86_feature_detected!("fma") {
            return;
        }
        for k in -4000..4000 {
            let x = f64::from(k) * 0.005 + 1e-3;
            let at = Lanes::splat(x);
            let (sin, cos) = at.sin_cos();
            let pairs = [
                (at.exp(), x.exp()),
                (at.tanh(), x.tanh()),
                (at.sigmoid(), 1.0 / (1.0 + (-x).exp())),
                (sin, x.sin()),
                (cos, x.cos()),
            ];
            for (found, expected) in pairs {
                let far = (found.array()[1] - expected).abs();
                assert!(far <= 5e-16 * f64::max(expected.abs(), 0.1), "{x}: {found:?} {expected}");
            }
        }
    }

    #[test]
    fn neighbours() {
        if !is_x86_feature_detected!("avx2") {
            return;
        }
        let (a, b) = (Lanes::of([1.0, 2.0, 3.0, 4.0]), Lanes::of([5.0, 6.0, 7.0, 8.0]));
        assert_eq!(b.left(a).array(), [4.0, 5.0, 6.0, 7.0]);
        assert_eq!(a.right(b).array(), [2.0, 3.0, 4.0, 5.0]);
        let columns = transpose([a, b, a, b]).map(Lanes::array);
        assert_eq!(columns[0], [1.0, 5.0, 1.0, 5.0]);
        assert_eq!(columns[3], [4.0, 8.0, 4.0, 8.0]);
    }
}
