//! The derivative conventions at kinks and singular points, value by value, as the language reference states them.

mod scalar;

use lang::core::Lit;
use lang::prim::Prim::{self, *};
use scalar::*;

const INF: f64 = f64::INFINITY;

/// The value and the partials at real arguments.
fn at(p: Prim, x: &[f64]) -> (f64, Vec<f64>) {
    let lits: Vec<Lit> = x.iter().map(|x| Lit::Real(*x)).collect();
    let value = slope(&apply(p, lits.iter().map(|l| Num::Flat(*l)).collect()), 0);
    (value, (0..x.len()).map(|i| partial(p, &lits, i)).collect())
}

/// What reaches each argument when every partial that counts meets an infinite tangent: None is a structural zero.
fn arrives(p: Prim, x: &[f64]) -> Vec<Option<f64>> {
    let args: Vec<Num> = x.iter().map(|x| fixed(*x)).collect();
    let y = apply(p, args.clone());
    let one = |i: usize| {
        let vs = (0..x.len()).map(|j| (i == j).then(|| fixed(INF))).collect();
        derivative(p, &args, &y, vs).map(|v| slope(&v, 0))
    };
    (0..x.len()).map(one).collect()
}

fn second(f: impl Fn(Num) -> Num, x: f64) -> f64 {
    slope(&f(active(x, 2)), 2)
}

#[track_caller]
fn near(got: f64, want: f64) {
    assert!((got - want).abs() <= 1e-12 * want.abs().max(1e-2), "{got}, expected {want}");
}

#[test]
fn ties_of_min_and_max_are_halved() {
    for p in [Min, Max] {
        assert_eq!(at(p, &[2.0, 2.0]), (2.0, vec![0.5, 0.5]));
    }
    assert_eq!(at(Min, &[1.0, 2.0]), (1.0, vec![1.0, 0.0]));
    assert_eq!(at(Min, &[2.0, 1.0]), (1.0, vec![0.0, 1.0]));
    assert_eq!(at(Max, &[1.0, 2.0]), (2.0, vec![0.0, 1.0]));
    assert_eq!(at(Max, &[2.0, 1.0]), (2.0, vec![1.0, 0.0]));
}

#[test]
fn what_is_not_selected_gets_a_structural_zero() {
    assert_eq!(arrives(Min, &[1.0, 2.0]), [Some(INF), None]);
    assert_eq!(arrives(Min, &[2.0, 1.0]), [None, Some(INF)]);
    assert_eq!(arrives(Max, &[1.0, 2.0]), [None, Some(INF)]);
    assert_eq!(arrives(Max, &[2.0, 1.0]), [Some(INF), None]);
    assert_eq!(arrives(Relu, &[-1.0]), [None]);
    assert_eq!(arrives(Relu, &[0.0]), [None]);
    assert_eq!(arrives(Relu, &[1.0]), [Some(INF)]);
    assert_eq!(arrives(Abs, &[0.0]), [None]);
    assert_eq!(arrives(Abs, &[-2.0]), [Some(-INF)]);
    assert_eq!(arrives(Abs, &[2.0]), [Some(INF)]);
    for p in [Sign, Floor, Ceil, Round, Trunc] {
        assert_eq!(arrives(p, &[0.7]), [None], "{p:?}");
    }
    for (c, expected) in [(true, [Some(INF), None]), (false, [None, Some(INF)])] {
        let args = vec![Num::Flat(Lit::Bool(c)), fixed(1.0), fixed(2.0)];
        let y = apply(Select, args.clone());
        let one =
            |i: usize| derivative(Select, &args, &y, (0..3).map(|j| (i == j).then(|| fixed(INF))).collect());
        assert_eq!([1, 2].map(|i| one(i).map(|v| slope(&v, 0))), expected);
    }
}

/// min (exp x) 1 where exp x has overflowed.
#[test]
fn a_clamped_overflow_has_slope_zero() {
    let y = apply(Min, vec![apply(Exp, vec![active(800.0, 1)]), fixed(1.0)]);
    assert_eq!((slope(&y, 1), y.flat()), (0.0, Lit::Real(1.0)));
}

#[test]
fn nan_is_not_hidden() {
    for p in [Min, Max] {
        assert!(at(p, &[f64::NAN, 1.0]).0.is_nan() && at(p, &[1.0, f64::NAN]).0.is_nan());
    }
    assert!(at(Relu, &[f64::NAN]).0.is_nan() && at(Sign, &[f64::NAN]).0.is_nan());
    assert!(at(Softplus, &[f64::NAN]).0.is_nan() && at(Sigmoid, &[f64::NAN]).0.is_nan());
}

#[test]
fn rounding_is_to_even_and_signs_are_three() {
    assert_eq!([0.5, 1.5, 2.5, -0.5].map(|x| at(Round, &[x]).0), [0.0, 2.0, 2.0, 0.0]);
    assert_eq!([2.5, 0.0, -0.1].map(|x| at(Sign, &[x]).0), [1.0, 0.0, -1.0]);
    let int = |p: Prim, x: f64| (p.row().eval)(&[Lit::Real(x)]);
    assert_eq!([FloorInt, CeilInt, RoundInt, TruncInt].map(|p| int(p, -2.5)), [-3, -2, -2, -2].map(Lit::Int));
    assert_eq!([f64::NAN, INF, -INF].map(|x| int(FloorInt, x)), [0, i64::MAX, i64::MIN].map(Lit::Int));
}

#[test]
fn the_slope_of_sqrt_at_zero_is_infinite() {
    assert_eq!(at(Sqrt, &[0.0]), (0.0, vec![INF]));
}

/// x^y where x is 0.
#[test]
fn pow_at_zero_base() {
    let cases = [(2.0, 0.0, 0.0), (1.0, 0.0, 1.0), (1.875, 0.0, 0.0), (0.5, 0.0, INF), (0.0, 1.0, 0.0)];
    for (y, value, by_base) in cases {
        assert_eq!(at(Pow, &[0.0, y]), (value, vec![by_base, 0.0]), "0^{y}");
    }
    assert_eq!(arrives(Pow, &[0.0, 0.0]), [None, None]);
    assert_eq!(arrives(Pow, &[0.0, 2.0])[1], None);
}

/// A fixed real exponent takes no part: its logarithm of a negative number is never met.
#[test]
fn pow_of_a_negative_base_with_a_fixed_exponent() {
    for (y, value, first, curvature) in [(2.0, 2.25, -3.0, 2.0), (3.0, -3.375, 6.75, -9.0)] {
        let f = |x: Num| apply(Pow, vec![x, fixed(y)]);
        near(slope(&f(active(-1.5, 1)), 0), value);
        near(slope(&f(active(-1.5, 1)), 1), first);
        near(second(f, -1.5), curvature);
    }
    assert!(at(Pow, &[-1.5, 2.0]).1[1].is_nan());
}

/// The four second partials of x^y at (8, 0).
#[test]
fn mixed_partials_of_pow() {
    let zero = |x: f64| Num::Dual(Box::new(fixed(x)), None);
    let (inner, outer) = (|x: f64| active(x, 1), |x: Num| Num::Dual(Box::new(x), Some(Box::new(fixed(1.0)))));
    let still = |x: Num| Num::Dual(Box::new(x), None);
    let pow = |x: Num, y: Num| slope(&apply(Pow, vec![x, y]), 2);
    near(pow(outer(inner(8.0)), still(zero(0.0))), 0.0);
    near(pow(outer(zero(8.0)), still(inner(0.0))), 0.125);
    near(pow(still(inner(8.0)), outer(zero(0.0))), 0.125);
    near(pow(still(zero(8.0)), outer(inner(0.0))), 4.324_077_125_263_813);
}

/// Σ z^k for k = 0 … 3, with int and with real exponents, at 0 too.
#[test]
fn powers_of_zero_to_three() {
    for (z, value, first, curvature) in
        [(0.0, 1.0, 1.0, 2.0), (1.0, 4.0, 6.0, 8.0), (2.5, 25.375, 24.75, 17.0)]
    {
        for exponent in [|k: i64| (PowInt, fixed_int(k)), |k: i64| (Pow, fixed(k as f64))] {
            let sum = |order: usize| -> f64 {
                let term = |k| {
                    let (p, k) = exponent(k);
                    slope(&apply(p, vec![active(z, order), k]), order)
                };
                (0..4).map(term).sum()
            };
            assert_eq!([sum(0), sum(1), sum(2)], [value, first, curvature], "at {z}");
        }
    }
}

/// Repeated multiplication: x^2 is x·x and x^3 is x·x² to the bit, negative exponents are reciprocals.
#[test]
fn int_powers() {
    let pow = |x: f64, k: i64| (PowInt.row().eval)(&[Lit::Real(x), Lit::Int(k)]);
    for x in [-1.7, 0.1, 3.3, 1e200] {
        assert_eq!(pow(x, 2), Lit::Real(x * x));
        assert_eq!(pow(x, 3), Lit::Real(x * (x * x)));
        assert_eq!(pow(x, -2), Lit::Real(1.0 / (x * x)));
        assert_eq!((pow(x, 1), pow(x, 0)), (Lit::Real(x), Lit::Real(1.0)));
    }
    assert_eq!(
        (pow(0.0, 0), pow(0.0, -1), pow(f64::NAN, 0)),
        (Lit::Real(1.0), Lit::Real(INF), Lit::Real(1.0))
    );
    assert_eq!((pow(-1.0, i64::MIN), pow(-1.0, i64::MAX)), (Lit::Real(1.0), Lit::Real(-1.0)));
    assert_eq!(pow(2.0, -1074), Lit::Real(0.0), "2^1074 overflows");
    near(partial(PowInt, &[Lit::Real(-1.5), Lit::Int(-2)], 0), -2.0 / (-1.5f64).powi(3));
    assert_eq!(slope(&apply(PowInt, vec![active(0.0, 1), fixed_int(0)]), 1), 0.0);
}

/// Slope 0 at the origin, no curvature there; scaled elsewhere.
#[test]
fn hypot_and_atan2() {
    let (value, slopes) = at(Hypot, &[3e-200, 4e-200]);
    near(value / 5e-200, 1.0);
    near(slopes[0], 0.6);
    near(slopes[1], 0.8);
    assert_eq!(at(Hypot, &[0.0, 0.0]), (0.0, vec![0.0, 0.0]));
    assert_eq!(at(Atan2, &[0.0, 0.0]), (0.0, vec![0.0, 0.0]));
    for p in [Hypot, Atan2] {
        assert!(second(|x| apply(p, vec![x, fixed(0.0)]), 0.0).is_nan());
        assert!(second(|x| apply(p, vec![fixed(0.0), x]), 0.0).is_nan());
    }
    let (_, slopes) = at(Atan2, &[3e200, 4e200]);
    near(slopes[0] * 1e200, 0.16);
    near(slopes[1] * 1e200, -0.12);
    // atan2 t t is constant.
    for t in [3.0, -5.0, 1e-200, 1e200] {
        assert_eq!(slope(&apply(Atan2, vec![active(t, 1), active(t, 1)]), 1), 0.0);
    }
}

#[test]
fn xlogy_at_zero() {
    let (value, slopes) = at(Xlogy, &[0.0, 5.0]);
    assert_eq!(value, 0.0);
    near(slopes[0], 1.609_437_912_434_100_3);
    assert_eq!(slopes[1], 0.0);
    // x log x: the slope -inf at 0 is the true one, and the curvature 1/x.
    let entropy = |x: Num| apply(Xlogy, vec![x.clone(), x]);
    assert_eq!(slope(&entropy(active(0.0, 1)), 1), -INF);
    near(second(entropy, 0.25), 4.0);
    assert_eq!(at(Xlogy, &[0.0, 0.0]).0, 0.0);
    assert!(at(Xlogy, &[0.0, f64::NAN]).0.is_nan() && at(Xlogy, &[1.0, -1.0]).0.is_nan());
    // ∂²/∂x∂y = 1/y at x = 0, in both orders.
    let x = Num::Dual(Box::new(active(0.0, 1)), None);
    let y = Num::Dual(Box::new(Num::Dual(Box::new(fixed(5.0)), None)), Some(Box::new(fixed(1.0))));
    near(slope(&apply(Xlogy, vec![x, y]), 2), 0.2);
    let x = Num::Dual(Box::new(Num::Dual(Box::new(fixed(0.0)), None)), Some(Box::new(fixed(1.0))));
    let y = Num::Dual(Box::new(active(5.0, 1)), None);
    near(slope(&apply(Xlogy, vec![x, y]), 2), 0.2);
}

/// Far out, slopes are small numbers, not 0 (tanh's is 0 there, from 1 - y).
#[test]
fn tails() {
    let tail = 4.248_354_255_291_589e-18;
    for (got, want) in [
        (at(Sigmoid, &[40.0]).1[0], tail),
        (at(Sigmoid, &[-40.0]).1[0], tail),
        (at(Expm1, &[-40.0]).1[0], tail),
        (second(|x| apply(Softplus, vec![x]), 40.0), tail),
        (at(Sigmoid, &[-800.0]).1[0], 0.0),
        (at(Softplus, &[800.0]).1[0], 1.0),
        (at(Softplus, &[800.0]).0, 800.0),
    ] {
        assert!((got - want).abs() <= 1e-12 * want, "{got}, expected {want}");
    }
    // The odd derivatives of the sigmoid at 0, where it is written with |x|: 1/4, 0, -1/8.
    let slopes = [1, 2, 3].map(|order| slope(&apply(Sigmoid, vec![active(0.0, order)]), order));
    assert_eq!(slopes, [0.25, 0.0, -0.125]);
    assert_eq!(at(Tanh, &[800.0]).1, [0.0]);
    assert_eq!([1.0, -1.0].map(|x| at(Asinh, &[x * 1e200]).1[0]), [1e-200, 1e-200]);
}

#[test]
fn remainders_and_their_slopes() {
    for (x, y, rem, by_rem, modulo, by_mod) in [
        (5.5, 2.0, 1.5, -2.0, 1.5, -2.0),
        (-19.0, 3.0, -1.0, 6.0, 2.0, 7.0),
        (19.0, -3.0, 1.0, 6.0, -2.0, 7.0),
    ] {
        assert_eq!(at(Rem, &[x, y]), (rem, vec![1.0, by_rem]));
        assert_eq!(at(Mod, &[x, y]), (modulo, vec![1.0, by_mod]));
    }
    let int = |p: Prim, m: i64, n: i64| (p.row().eval)(&[Lit::Int(m), Lit::Int(n)]);
    assert_eq!(
        [(7, 2), (-7, 2), (7, -2), (-7, -2)].map(|(m, n)| int(IDiv, m, n)),
        [3, -4, -4, 3].map(Lit::Int)
    );
    assert_eq!(
        [(7, 2), (-7, 2), (7, -2), (-7, -2)].map(|(m, n)| int(IMod, m, n)),
        [1, 1, -1, -1].map(Lit::Int)
    );
    assert_eq!(
        [(7, 2), (-7, 2), (7, -2), (-7, -2)].map(|(m, n)| int(IRem, m, n)),
        [1, -1, 1, -1].map(Lit::Int)
    );
    assert_eq!([IDiv, IMod, IRem].map(|p| int(p, 5, 0)), [Lit::Int(0); 3]);
    assert_eq!([IDiv, IMod, IRem].map(|p| int(p, i64::MIN, -1)), [i64::MIN, 0, 0].map(Lit::Int));
}

/// r / r is constant, to the last bit of its slope.
#[test]
fn a_quotient_that_cancels() {
    for r in [3.3, 0.1, 7.0] {
        assert_eq!(slope(&apply(Div, vec![active(r, 1), active(r, 1)]), 1), 0.0);
    }
}

/// lgamma is differentiable as often as anyone asks.
#[test]
fn derivatives_of_lgamma() {
    let orders = [1, 2, 3, 4].map(|n| slope(&apply(Lgamma, vec![active(2.5, n)]), n));
    let expected = [
        0.703_156_640_645_243_2,
        0.490_357_756_100_234_86,
        -0.236_204_051_641_727_41,
        0.223_905_848_817_252_06,
    ];
    for (got, want) in orders.into_iter().zip(expected) {
        near(got, want);
    }
}
