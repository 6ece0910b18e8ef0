//! Numeric functions that no C library has, with their algorithms. They are the meaning of their primitives, and compiled code
//! calls these same lines: the file depends on nothing, so that the run-time library can include it as it is.

use std::ops::{Div, Mul};

/// x^k by binary powering: the squares x, x², x⁴, … that the bits of |k| ask for are multiplied from the lowest up; x^-k is 1 / x^k.
/// x^0 is 1 for every x. Every product is rounded to the precision of x.
pub fn powi<R: Copy + From<f32> + Mul<Output = R> + Div<Output = R>>(x: R, k: i64) -> R {
    let one = R::from(1.0);
    let mut rest = k.unsigned_abs();
    let mut square = x;
    let mut product = one;
    while rest > 0 {
        if rest & 1 == 1 {
            product = product * square;
        }
        square = square * square;
        rest >>= 1;
    }
    if k < 0 { one / product } else { product }
}

/// ⌊m / n⌋, 0 where n = 0; wraps at 64 bits.
pub fn floor_div(m: i64, n: i64) -> i64 {
    match n {
        0 => 0,
        _ => m.wrapping_div(n) - (m.wrapping_rem(n) != 0 && (m < 0) != (n < 0)) as i64,
    }
}

/// m − n·⌊m / n⌋, of the sign of n; 0 where n = 0.
pub fn floor_mod(m: i64, n: i64) -> i64 {
    match n {
        0 => 0,
        _ => {
            let r = m.wrapping_rem(n);
            if r != 0 && (r < 0) != (n < 0) { r + n } else { r }
        }
    }
}

/// Σ c[j]·x^j
fn polynomial(c: &[f64], x: f64) -> f64 {
    c.iter().rev().fold(0.0, |sum, &c| sum * x + c)
}

/// ψ(x), the derivative of ln Γ. Near its positive zero by the Taylor series there, so that the zero costs no accuracy; for other x > 0
/// by ψ(x) = ψ(x+1) − 1/x up to 10 and Stirling's series from there; for x ≤ 0 by reflection, ψ(x) = ψ(1−x) − π / tan πx.
/// The error is a few units in the last place of the result, left of 0 of the larger of the two terms.
/// The poles are −∞ at +0, +∞ at −0 and NaN at the negative integers.
pub fn digamma(x: f64) -> f64 {
    /// The zero, in two parts, and ψ's Taylor coefficients there from the first on.
    const ZERO: (f64, f64) = (1.461_632_144_968_362_2, 9.549_995_429_965_697e-17);
    const AT_ZERO: [f64; 23] = [
        0.967_672_245_447_621_2,
        -0.442_763_168_983_592_14,
        0.258_499_760_955_651,
        -0.163_942_705_442_406_52,
        0.107_824_050_691_262_37,
        -0.072_199_561_256_454_71,
        0.048_804_288_164_143_11,
        -0.033_161_126_474_847_36,
        0.022_597_648_232_218_104,
        -0.015_424_765_904_948_96,
        0.010_538_791_616_612_175,
        -0.007_204_534_386_356_868,
        0.004_926_781_395_729_853,
        -0.003_369_801_655_439_328,
        0.002_305_126_326_734_928,
        -0.001_576_936_771_430_197_2,
        0.001_078_825_201_916_296_7,
        -0.000_738_070_938_996_005_2,
        0.000_504_953_265_834_602,
        -0.000_345_468_025_106_307_7,
        0.000_236_356_015_640_270_53,
        -0.000_161_706_220_919_748_03,
        0.000_110_633_727_687_474_12,
    ];
    /// B_{2k} / 2k
    const STIRLING: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 120.0,
        1.0 / 252.0,
        -1.0 / 240.0,
        1.0 / 132.0,
        -691.0 / 32760.0,
        1.0 / 12.0,
        -3617.0 / 8160.0,
    ];
    if x <= 0.0 {
        return match x - x.round_ties_even() {
            0.0 if x == 0.0 => -1.0 / x,
            0.0 => f64::NAN,
            r => digamma(1.0 - x) - std::f64::consts::PI / (std::f64::consts::PI * r).tan(),
        };
    }
    let d = (x - ZERO.0) - ZERO.1;
    if d.abs() <= 0.3 {
        return d * polynomial(&AT_ZERO, d);
    }
    let (mut y, mut steps) = (x, 0.0);
    while y < 10.0 {
        steps += 1.0 / y;
        y += 1.0;
    }
    let s = 1.0 / (y * y);
    y.ln() - 0.5 / y - s * polynomial(&STIRLING, s) - steps
}

/// ψ'(x)
pub fn trigamma(x: f64) -> f64 {
    polygamma(1, x)
}

/// The m-th derivative of ψ at x: (−1)^(m+1) m! ζ(m+1, x). For x ≤ 0 the terms of ζ's series, which run through all x + k, are
/// regrouped by sign: with s = m + 1, f = x − ⌊x⌋ and g = ⌈x⌉ − x they are ζ(s, f) + (−1)^s ζ(s, g) − (−1)^s ζ(s, 1 − x).
/// Orders below 0 and above 170, whose factorial is not a finite real, give NaN.
pub fn polygamma(m: i64, x: f64) -> f64 {
    if m == 0 {
        return digamma(x);
    }
    if !(1..=170).contains(&m) {
        return f64::NAN;
    }
    let s = m + 1;
    let sign = if s % 2 == 0 { 1.0 } else { -1.0 };
    let zeta = if x > 0.0 {
        hurwitz_zeta(s, x)
    } else {
        let (f, g) = (x - x.floor(), x.ceil() - x);
        hurwitz_zeta(s, f) + sign * hurwitz_zeta(s, g) - sign * hurwitz_zeta(s, 1.0 - x)
    };
    let factorial: f64 = (1..=m).map(|k| k as f64).product();
    sign * factorial * zeta
}

/// ζ(s, x) = Σ_{k≥0} (x+k)^−s for s ≥ 2, x ≥ 0: terms up to y = x + n ≥ s + 15, the rest by Euler's and Maclaurin's formula; the
/// smallest are added first.
fn hurwitz_zeta(s: i64, x: f64) -> f64 {
    /// B_{2j} / (2j)!
    const EULER_MACLAURIN: [f64; 10] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30240.0,
        -1.0 / 1209600.0,
        1.0 / 47900160.0,
        -691.0 / 1307674368000.0,
        1.0 / 74724249600.0,
        -3617.0 / 10670622842880000.0,
        43867.0 / 5109094217170944000.0,
        -174611.0 / 802857662698291200000.0,
    ];
    let real_s = s as f64;
    let n = (real_s + 15.0 - x).ceil().max(0.0);
    let y = x + n;
    // s (s+1) … (s+2j) y^−(s+2j+1)
    let mut rising = real_s * powi(y, -s - 1);
    let mut tail = 0.0;
    for (j, c) in EULER_MACLAURIN.iter().enumerate() {
        tail += c * rising;
        let k = real_s + 2.0 * j as f64;
        rising *= (k + 1.0) / y * ((k + 2.0) / y);
    }
    let mut sum = tail + 0.5 * powi(y, -s) + powi(y, 1 - s) / (real_s - 1.0);
    for k in (0..n as i64).rev() {
        sum += powi(x + k as f64, -s);
    }
    sum
}

/// ln x for x > 0, by exactly rounded operations alone: the same bits on every platform. x = m·2^e with m about 1, and
/// ln m = 2 artanh f with f = (m − 1) / (m + 1).
fn portable_log(x: f64) -> f64 {
    /// ln 2 in two parts; the first has zeros enough at its end that its products with exponents are exact.
    const LN_2: (f64, f64) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);
    /// 1 / (2j + 1)
    const ARTANH: [f64; 12] = [
        1.0,
        1.0 / 3.0,
        1.0 / 5.0,
        1.0 / 7.0,
        1.0 / 9.0,
        1.0 / 11.0,
        1.0 / 13.0,
        1.0 / 15.0,
        1.0 / 17.0,
        1.0 / 19.0,
        1.0 / 21.0,
        1.0 / 23.0,
    ];
    // Scaled, a subnormal x is a normal number.
    let (x, scaled) = if x < f64::MIN_POSITIVE { (x * (1u64 << 54) as f64, 54) } else { (x, 0) };
    let bits = x.to_bits();
    let mut e = (bits >> 52) as i64 - 1023 - scaled;
    let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        e += 1;
    }
    let f = (m - 1.0) / (m + 1.0);
    let e = e as f64;
    e * LN_2.0 + (2.0 * f * polynomial(&ARTANH, f * f) + e * LN_2.1)
}

/// The z below which a standard normal variable lies with probability p: −∞ at 0, +∞ at 1, NaN outside. Rational approximations, fitted
/// for the purpose to a few parts in 10^17: around ½ of z / (p − ½) in (p − ½)², in the tails of z in √(−ln of the tail's
/// probability). Only exactly rounded operations are used: the same bits on every platform.
pub fn normal_quantile(p: f64) -> f64 {
    const CENTRE: ([f64; 8], [f64; 8]) = (
        [
            3.387_132_872_796_366_5,
            133.120_927_550_929_6,
            1_970.916_426_929_231_2,
            13_723.924_582_625_436,
            45_883.668_310_980_96,
            67_188.309_579_054_4,
            33_379.702_127_068_83,
            2_504.206_998_656_026,
        ],
        [
            1.0,
            42.307_207_428_132_244,
            686.969_462_605_618_1,
            5_391.383_575_865_287,
            21_197.562_091_679_953,
            39_266.503_999_157_09,
            28_689.232_017_206_232,
            5_217.269_244_793_76,
        ],
    );
    const TAIL: ([f64; 8], [f64; 7]) = (
        [
            1.423_437_110_749_683_7,
            4.793_504_340_971_12,
            6.247_683_114_169_56,
            4.147_704_162_082_953,
            1.508_466_477_892_676_8,
            0.294_258_986_031_116_1,
            0.027_336_506_015_358_805,
            0.000_864_284_184_225_212_2,
        ],
        [
            1.0,
            2.167_820_150_499_019_3,
            1.874_798_359_796_924_7,
            0.812_795_123_364_533_7,
            0.180_367_107_989_638_18,
            0.018_358_073_380_063_216,
            0.000_611_091_506_283_086_4,
        ],
    );
    const FAR_TAIL: ([f64; 9], [f64; 9]) = (
        [
            5.177_341_220_537_704,
            6.969_525_800_634_855,
            3.818_871_050_754_224,
            1.098_102_969_689_556_3,
            0.178_216_903_055_217_29,
            0.016_341_538_886_365_522,
            0.000_801_257_378_758_097_2,
            1.839_643_952_680_748_5e-05,
            1.427_178_447_395_396_6e-07,
        ],
        [
            1.0,
            1.057_780_492_405_403_3,
            0.435_461_533_070_950_7,
            0.088_996_330_744_626_26,
            0.009_522_383_523_154_914,
            0.000_516_502_204_517_201_3,
            1.260_483_543_217_829e-05,
            1.009_160_625_821_214_8e-07,
            1.535_614_874_438_421e-15,
        ],
    );
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let t = 0.180625 - q * q;
        return q * polynomial(&CENTRE.0, t) / polynomial(&CENTRE.1, t);
    }
    let outside = if q < 0.0 { p } else { 1.0 - p };
    let z = match outside {
        t if t > 0.0 => {
            let r = (-portable_log(t)).sqrt();
            if r <= 4.0 {
                polynomial(&TAIL.0, r - 1.6) / polynomial(&TAIL.1, r - 1.6)
            } else {
                polynomial(&FAR_TAIL.0, r - 4.0) / polynomial(&FAR_TAIL.1, r - 4.0)
            }
        }
        0.0 => f64::INFINITY,
        _ => f64::NAN,
    };
    if q < 0.0 { -z } else { z }
}

/// 64 well mixed bits of a seed and a counter: the counter, spread by an odd multiplier and keyed by the mixed seed, goes twice through
/// an invertible mixing of 64 bits (multiplications and shifted exclusive ors, the finaliser of splitmix64). For a fixed seed different counters give
/// different results.
pub fn random_bits(seed: i64, i: i64) -> i64 {
    let key = mix((seed as u64).wrapping_add(SPREAD as u64));
    let once = mix(key ^ (i as u64).wrapping_mul(SPREAD as u64));
    mix(once.wrapping_add(key)) as i64
}

/// A word of random bits as a number of the standard normal distribution: the quantile of the middle of one of 2^52 parts of the unit
/// interval. That probability is exact, an odd multiple of 2^-53, symmetric about ½ and never 0 or 1.
pub fn normal_of_bits(word: i64) -> f64 {
    normal_quantile(((word as u64 >> 12) as f64 + 0.5) * f64::EPSILON)
}

/// 2^64 / golden ratio, to the nearest odd number.
pub const SPREAD: i64 = 0x9e37_79b9_7f4a_7c15_u64 as i64;
/// The multipliers of the mixing and the shifts before each and at the end.
pub const MIX: ([i64; 2], [i64; 3]) =
    ([0xbf58_476d_1ce4_e5b9_u64 as i64, 0x94d0_49bb_1331_11eb_u64 as i64], [30, 27, 31]);

fn mix(z: u64) -> u64 {
    let ([m0, m1], [s0, s1, s2]) = MIX;
    let z = (z ^ (z >> s0)).wrapping_mul(m0 as u64);
    let z = (z ^ (z >> s1)).wrapping_mul(m1 as u64);
    z ^ (z >> s2)
}
