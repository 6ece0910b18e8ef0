//! Exact rationals: evaluation without rounding, for testing equations. What is not rational (exp, √2, 1/0, NaN) has no value here and
//! ends evaluation with an error naming the operation. Primitives go by their lowering to machine operations.

use super::number::{Answer, Atom, Number};
use crate::core::Lit;
use crate::loops::{Math, Op};
use crate::precision::Precision;
use crate::prim::{Lowering, Prim, Scalar, uniform_of_bits};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::cmp::Ordering;

/// Numerators and denominators with more bits than this count as inexact: repeated squaring doubles them each time.
const MAX_BITS: u64 = 1 << 20;

impl Number for BigRational {
    fn of(x: f64) -> Option<BigRational> {
        BigRational::from_float(x)
    }
    fn zero() -> BigRational {
        Zero::zero()
    }
    fn plus(&self, other: &BigRational) -> BigRational {
        self + other
    }
    fn times(&self, other: &BigRational) -> BigRational {
        self * other
    }
    fn prim(p: Prim, args: &[Atom<BigRational>]) -> Answer<BigRational> {
        let row = p.row();
        let discrete: Option<Vec<Lit>> = args.iter().map(discrete).collect();
        if let (Some(args), Scalar::Int | Scalar::Bool) = (discrete, row.result) {
            return match (row.eval)(&args) {
                Lit::Int(k) => Answer::Value(Atom::Int(k)),
                Lit::Bool(b) => Answer::Value(Atom::Bool(b)),
                Lit::Real(_) => Answer::Inexact,
            };
        }
        match row.lowering {
            Lowering::Op(op) => match machine(op, args) {
                Some(Atom::Real(x)) if x.numer().bits().max(x.denom().bits()) > MAX_BITS => Answer::Inexact,
                Some(value) => Answer::Value(value),
                None => Answer::Inexact,
            },
            Lowering::Expand(_) => Answer::Expand,
        }
    }
    fn order(&self, other: &BigRational) -> Ordering {
        self.cmp(other)
    }
    fn is_nan(&self) -> bool {
        false
    }
    fn to_f64(&self) -> f64 {
        ToPrimitive::to_f64(self).unwrap_or(f64::NAN)
    }
}

fn discrete(a: &Atom<BigRational>) -> Option<Lit> {
    match a {
        Atom::Real(_) => None,
        Atom::Int(k) => Some(Lit::Int(*k)),
        Atom::Bool(b) => Some(Lit::Bool(*b)),
    }
}

/// A machine operation with a real among its arguments or as its result, exactly; None where that cannot be.
fn machine(op: Op, args: &[Atom<BigRational>]) -> Option<Atom<BigRational>> {
    let real = |i: usize| match args.get(i) {
        Some(Atom::Real(x)) => Some(x),
        Some(Atom::Int(_) | Atom::Bool(_)) | None => None,
    };
    let int = |i: usize| match args.get(i) {
        Some(Atom::Int(k)) => Some(*k),
        Some(Atom::Real(_) | Atom::Bool(_)) | None => None,
    };
    let value = |x: BigRational| Some(Atom::Real(x));
    let truth = |b: bool| Some(Atom::Bool(b));
    match op {
        Op::FAdd => value(real(0)? + real(1)?),
        Op::FSub => value(real(0)? - real(1)?),
        Op::FMul => value(real(0)? * real(1)?),
        Op::FDiv if real(1)?.is_zero() => None,
        Op::FDiv => value(real(0)? / real(1)?),
        Op::FNeg => value(-real(0)?.clone()),
        Op::FAbs => value(real(0)?.abs()),
        Op::FSqrt => value(BigRational::new(root(real(0)?.numer())?, root(real(0)?.denom())?)),
        Op::FFloor => value(real(0)?.floor()),
        Op::FCeil => value(real(0)?.ceil()),
        Op::FRound => value(round_even(real(0)?)),
        Op::FTrunc => value(real(0)?.trunc()),
        Op::FCopySign => {
            let size = real(0)?.abs();
            value(if real(1)?.is_negative() { -size } else { size })
        }
        Op::FEq => truth(real(0)? == real(1)?),
        Op::FNe => truth(real(0)? != real(1)?),
        Op::FLt => truth(real(0)? < real(1)?),
        Op::FLe => truth(real(0)? <= real(1)?),
        Op::IToF => value(BigRational::from_integer(int(0)?.into())),
        Op::FToI => {
            let whole = real(0)?.to_integer();
            let edge = if whole.is_negative() { i64::MIN } else { i64::MAX };
            Some(Atom::Int(whole.to_i64().unwrap_or(edge)))
        }
        Op::Uniform => BigRational::from_float(uniform_of_bits(int(0)?, Precision::Double)).and_then(value),
        Op::Select => match args.first()? {
            Atom::Bool(c) => args.get(if *c { 1 } else { 2 }).cloned(),
            Atom::Real(_) | Atom::Int(_) => None,
        },
        Op::Math(Math::PowInt) => power(real(0)?, int(1)?).and_then(value),
        // Every other function of the library is irrational almost everywhere.
        Op::Math(_) => None,
        // A rational has no bits of a double.
        Op::FBits | Op::IBits => None,
        // No real in or out: answered by the row's own evaluation before.
        Op::IAdd
        | Op::ISub
        | Op::IMul
        | Op::IDiv
        | Op::IMod
        | Op::IXor
        | Op::IAnd
        | Op::IShl
        | Op::IShr
        | Op::IEq
        | Op::INe
        | Op::ILt
        | Op::ILe
        | Op::BAnd
        | Op::BOr
        | Op::BNot
        | Op::BEq => None,
    }
}

/// The root of a perfect square.
fn root(n: &BigInt) -> Option<BigInt> {
    let r = if n.is_negative() { return None } else { n.sqrt() };
    (&r * &r == *n).then_some(r)
}

/// To the nearest integer, ties to even.
fn round_even(x: &BigRational) -> BigRational {
    let half = BigRational::new(1.into(), 2.into());
    let below = x.floor();
    match (x - &below).cmp(&half) {
        Ordering::Less => below,
        Ordering::Greater => below + BigRational::one(),
        Ordering::Equal if below.to_integer().bit(0) => below + BigRational::one(),
        Ordering::Equal => below,
    }
}

/// x^k; None for 0 to a negative power and for results too large to be worth having.
fn power(x: &BigRational, k: i64) -> Option<BigRational> {
    let bits = x.numer().bits().max(x.denom().bits());
    let k32 = i32::try_from(k).ok()?;
    let large = bits > 1 && bits.saturating_mul(k.unsigned_abs()) > MAX_BITS;
    if large || (x.is_zero() && k < 0) { None } else { Some(num_traits::Pow::pow(x, k32)) }
}
