//! Each function next to the true value, which is computed with pairs of doubles (some 100 bits) and series, another way than the formulas.

use super::{Machine, formula};
use lang::loops::Math;
use std::sync::LazyLock;

/// Single doubles; products and sums rounded once or twice.
struct Doubles {
    fused: bool,
}

impl Machine for Doubles {
    type Real = f64;
    type Int = i64;
    type Truth = bool;

    fn real(&self, x: f64) -> f64 {
        x
    }
    fn int(&self, k: i64) -> i64 {
        k
    }
    fn add(&self, a: f64, b: f64) -> f64 {
        a + b
    }
    fn sub(&self, a: f64, b: f64) -> f64 {
        a - b
    }
    fn mul(&self, a: f64, b: f64) -> f64 {
        a * b
    }
    fn div(&self, a: f64, b: f64) -> f64 {
        a / b
    }
    fn mul_add(&self, a: f64, b: f64, c: f64) -> f64 {
        if self.fused { a.mul_add(b, c) } else { a * b + c }
    }
    fn abs(&self, a: f64) -> f64 {
        a.abs()
    }
    fn copysign(&self, a: f64, b: f64) -> f64 {
        a.copysign(b)
    }
    fn less(&self, a: f64, b: f64) -> bool {
        a < b
    }
    fn equal(&self, a: f64, b: f64) -> bool {
        a == b
    }
    fn select(&self, c: bool, a: f64, b: f64) -> f64 {
        if c { a } else { b }
    }
    fn bits(&self, a: f64) -> i64 {
        a.to_bits() as i64
    }
    fn of_bits(&self, a: i64) -> f64 {
        f64::from_bits(a as u64)
    }
    fn int_add(&self, a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }
    fn int_sub(&self, a: i64, b: i64) -> i64 {
        a.wrapping_sub(b)
    }
    fn and(&self, a: i64, b: i64) -> i64 {
        a & b
    }
    fn shift_left(&self, a: i64, by: i64) -> i64 {
        a << by
    }
    fn shift_right(&self, a: i64, by: i64) -> i64 {
        ((a as u64) >> by) as i64
    }
}

/// The sum of two doubles of which the second is at most half a unit of the first's last place.
#[derive(Clone, Copy)]
struct Pair(f64, f64);

impl Pair {
    fn of_sum(a: f64, b: f64) -> Pair {
        let sum = a + b;
        let part = sum - a;
        Pair(sum, (a - (sum - part)) + (b - part))
    }
    fn add(self, other: Pair) -> Pair {
        let (high, low) = (Pair::of_sum(self.0, other.0), Pair::of_sum(self.1, other.1));
        let middle = Pair::of_sum(high.0, high.1 + low.0);
        Pair::of_sum(middle.0, middle.1 + low.1)
    }
    fn mul(self, other: Pair) -> Pair {
        let product = self.0 * other.0;
        let rest = self.0.mul_add(other.0, -product);
        Pair::of_sum(product, rest + (self.0 * other.1 + self.1 * other.0))
    }
    fn div(self, other: Pair) -> Pair {
        let mut quotient = Pair(0.0, 0.0);
        let mut rest = self;
        for _ in 0..3 {
            let digit = Pair(rest.0 / other.0, 0.0);
            quotient = quotient.add(digit);
            rest = rest.add(other.mul(digit).negative());
        }
        quotient
    }
    fn negative(self) -> Pair {
        Pair(-self.0, -self.1)
    }
    /// 2^k times it; exact, but where it is subnormal.
    fn scaled(self, k: i32) -> Pair {
        let (half, other) = (2f64.powi(k / 2), 2f64.powi(k - k / 2));
        Pair(self.0 * half * other, self.1 * half * other)
    }
}

/// Σ 1/(k 2^k)
static LN_2: LazyLock<Pair> = LazyLock::new(|| {
    (1..110)
        .rev()
        .fold(Pair(0.0, 0.0), |sum, k| sum.add(Pair(1.0, 0.0).div(Pair(f64::from(k), 0.0)).scaled(-k)))
});

/// e^x = 2^k · m, m near 1, from the series at (x − k ln 2) / 64.
fn exp_parts(x: Pair) -> (Pair, i32) {
    let k = (x.0 / std::f64::consts::LN_2).round();
    let r = x.add(LN_2.mul(Pair(k, 0.0)).negative()).scaled(-6);
    let one = Pair(1.0, 0.0);
    let mut e = (1..16).rev().fold(one, |sum, k| one.add(r.mul(sum).div(Pair(f64::from(k), 0.0))));
    for _ in 0..6 {
        e = e.mul(e);
    }
    (e, k as i32)
}

/// log of x by Newton's method, y + x e^−y − 1, from y near it: twice as many digits, and again.
fn log_pair(x: Pair, y: f64) -> Pair {
    let mut result = Pair(y, 0.0);
    for _ in 0..2 {
        let (e, k) = exp_parts(result.negative());
        result = result.add(x.mul(e).scaled(k)).add(Pair(-1.0, 0.0));
    }
    result
}

/// The true value, and the distance of neighbours there.
fn truth(f: Math, x: f64) -> (Pair, f64) {
    let one = Pair(1.0, 0.0);
    let value = match f {
        Math::Exp => {
            let (m, k) = exp_parts(Pair(x, 0.0));
            m.scaled(k)
        }
        Math::Log => log_pair(Pair(x, 0.0), x.ln()),
        Math::Log1p if x.abs() < 1e-6 => {
            let x = Pair(x, 0.0);
            let series = [1.0, -2.0, 3.0, -4.0, 5.0, -6.0];
            let sum =
                series.iter().rev().fold(Pair(0.0, 0.0), |sum, c| x.mul(sum).add(one.div(Pair(*c, 0.0))));
            x.mul(sum)
        }
        Math::Log1p => log_pair(Pair::of_sum(1.0, x), x.ln_1p()),
        Math::Tanh if x.abs() < 1e-3 => {
            let z = Pair(x, 0.0).mul(Pair(x, 0.0));
            // x − x³/3 + 2x⁵/15 − 17x⁷/315 + 62x⁹/2835
            let terms = [(1.0, 1.0), (-1.0, 3.0), (2.0, 15.0), (-17.0, 315.0), (62.0, 2835.0)];
            let sum = terms
                .iter()
                .rev()
                .fold(Pair(0.0, 0.0), |sum, (p, q)| z.mul(sum).add(Pair(*p, 0.0).div(Pair(*q, 0.0))));
            Pair(x, 0.0).mul(sum)
        }
        Math::Tanh => {
            let (m, k) = exp_parts(Pair(2.0 * x.clamp(-30.0, 30.0), 0.0));
            let e = m.scaled(k);
            e.add(one.negative()).div(e.add(one))
        }
        other => panic!("no true value of {other:?}"),
    };
    let size = value.0.abs();
    (value, size.next_up() - size)
}

/// The greatest error over these arguments, in units of the last place, and where; multiplication and addition rounded at once or each.
fn worst(f: Math, xs: &[f64]) -> (f64, f64) {
    let mut worst = (0.0, 0.0);
    for x in xs {
        let (value, unit) = truth(f, *x);
        for fused in [true, false] {
            let found = formula(&Doubles { fused }, f, *x).expect("a formula");
            let error = ((found - value.0) - value.1).abs() / unit;
            // NaN is the greatest.
            if error.is_nan() || error > worst.0 {
                worst = (error, *x);
            }
        }
    }
    worst
}

/// `count` numbers from a to b, not at regular places.
fn between(a: f64, b: f64, count: u64) -> impl Iterator<Item = f64> {
    (0..count).map(move |k| {
        let fraction = (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1u64 << 53) as f64;
        a + (b - a) * fraction
    })
}

/// The same, evenly by their logarithms.
fn of_all_sizes(a: f64, b: f64, count: u64) -> impl Iterator<Item = f64> {
    between(a.log2(), b.log2(), count).map(f64::exp2)
}

#[test]
fn within_one_and_a_half_units() {
    const MANY: u64 = 3000;
    let signs = |xs: Vec<f64>| xs.iter().flat_map(|x| [*x, -x]).collect::<Vec<f64>>();
    let ranges: Vec<(Math, Vec<f64>)> = vec![
        (Math::Exp, between(-1.0, 1.0, MANY).collect()),
        (Math::Exp, between(-745.1, 709.7, MANY).collect()),
        (Math::Exp, between(-745.1, -707.0, MANY).collect()),
        (Math::Exp, signs(of_all_sizes(1e-300, 1.0, MANY).collect())),
        (Math::Log, between(0.5, 2.0, MANY).collect()),
        (Math::Log, between(0.99, 1.01, MANY).collect()),
        (Math::Log, of_all_sizes(1e-307, 1e308, MANY).collect()),
        (Math::Log1p, between(-0.9999, 2.0, MANY).collect()),
        (Math::Log1p, signs(of_all_sizes(1e-300, 0.5, MANY).collect())),
        (Math::Log1p, of_all_sizes(0.5, 1e308, MANY).collect()),
        (Math::Tanh, between(-1.0, 1.0, MANY).collect()),
        (Math::Tanh, between(0.55, 0.75, MANY).collect()),
        (Math::Tanh, between(-25.0, 25.0, MANY).collect()),
        (Math::Tanh, signs(of_all_sizes(1e-300, 1e3, MANY).collect())),
    ];
    for (f, xs) in ranges {
        let (error, x) = worst(f, &xs);
        assert!(error <= 1.5, "{f:?}: {error} units at {x:e}");
    }
}

#[test]
fn at_the_edges() {
    const TINY: f64 = 5e-324;
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let cases = [
        (Math::Exp, 0.0, 1.0),
        (Math::Exp, -0.0, 1.0),
        (Math::Exp, inf, inf),
        (Math::Exp, -inf, 0.0),
        (Math::Exp, nan, nan),
        // The greatest number and half the least one lie between these.
        (Math::Exp, 709.782_712_893_383_9, 1.797_693_134_862_068_8e308),
        (Math::Exp, 709.782_712_893_384_1, inf),
        (Math::Exp, 1e300, inf),
        (Math::Exp, -745.133_219_101_941_1, TINY),
        (Math::Exp, -745.133_219_101_941_3, 0.0),
        (Math::Exp, -1e300, 0.0),
        (Math::Log, 1.0, 0.0),
        (Math::Log, 0.0, -inf),
        (Math::Log, -0.0, -inf),
        (Math::Log, -1.0, nan),
        (Math::Log, -inf, nan),
        (Math::Log, inf, inf),
        (Math::Log, nan, nan),
        (Math::Log, TINY, -744.440_071_921_381_2),
        (Math::Log, f64::MIN_POSITIVE, -708.396_418_532_264_1),
        (Math::Log, f64::MAX, 709.782_712_893_384),
        (Math::Log1p, 0.0, 0.0),
        (Math::Log1p, -0.0, -0.0),
        (Math::Log1p, -1.0, -inf),
        (Math::Log1p, -2.0, nan),
        (Math::Log1p, -inf, nan),
        (Math::Log1p, inf, inf),
        (Math::Log1p, nan, nan),
        (Math::Log1p, TINY, TINY),
        (Math::Log1p, f64::MAX, 709.782_712_893_384),
        (Math::Tanh, 0.0, 0.0),
        (Math::Tanh, -0.0, -0.0),
        (Math::Tanh, TINY, TINY),
        (Math::Tanh, inf, 1.0),
        (Math::Tanh, -inf, -1.0),
        (Math::Tanh, 1e300, 1.0),
        (Math::Tanh, nan, nan),
    ];
    for (f, x, expected) in cases {
        let found = formula(&Doubles { fused: true }, f, x).expect("a formula");
        let same = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
        assert!(same, "{f:?} {x:e}: {found:e}, not {expected:e}");
    }
}
