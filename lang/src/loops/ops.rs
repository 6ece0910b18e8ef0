//! What an operation of the loop IR gives, and what it costs.

use super::{Math, Op};
use crate::core::Lit;
use crate::precision::Precision;
use crate::prim::{
    Lowering, Prim, cmath, digamma, floor_div, floor_mod, normal_of_bits, normal_quantile, polygamma, powi,
    trigamma, uniform_of_bits,
};
use std::collections::HashMap;
use std::sync::OnceLock;

/// The counted cost of an operation: its primitive's row's, 1 where no row is lowered to it alone.
pub fn cost(op: Op) -> u64 {
    static COSTS: OnceLock<HashMap<Op, u64>> = OnceLock::new();
    let rows = || {
        Prim::ALL.iter().filter_map(|p| match p.row().lowering {
            Lowering::Op(op) => Some((op, u64::from(p.row().cost))),
            Lowering::Expand(_) => None,
        })
    };
    COSTS.get_or_init(|| rows().collect()).get(&op).copied().unwrap_or(1)
}

/// The value of an operation on reals of a precision; None when the arguments are not of its types. Sums, products, quotients and roots of
/// singles are rounded first to doubles and then to singles, which is as good as once: a double has more than twice the digits.
pub fn apply(op: Op, args: &[Lit], precision: Precision) -> Option<Lit> {
    Some(match exact_or_double(op, args, precision)? {
        Lit::Real(x) => Lit::Real(precision.round(x)),
        other @ (Lit::Int(_) | Lit::Bool(_)) => other,
    })
}

/// The value before it is rounded to the precision.
fn exact_or_double(op: Op, args: &[Lit], precision: Precision) -> Option<Lit> {
    use Lit::*;
    Some(match (op, args) {
        (Op::FAdd, [Real(x), Real(y)]) => Real(x + y),
        (Op::FSub, [Real(x), Real(y)]) => Real(x - y),
        (Op::FMul, [Real(x), Real(y)]) => Real(x * y),
        (Op::FDiv, [Real(x), Real(y)]) => Real(x / y),
        (Op::FNeg, [Real(x)]) => Real(-x),
        (Op::FAbs, [Real(x)]) => Real(x.abs()),
        (Op::FSqrt, [Real(x)]) => Real(x.sqrt()),
        (Op::FFloor, [Real(x)]) => Real(x.floor()),
        (Op::FCeil, [Real(x)]) => Real(x.ceil()),
        (Op::FRound, [Real(x)]) => Real(x.round_ties_even()),
        (Op::FTrunc, [Real(x)]) => Real(x.trunc()),
        (Op::FCopySign, [Real(x), Real(y)]) => Real(x.copysign(*y)),
        (Op::FEq, [Real(x), Real(y)]) => Bool(x == y),
        (Op::FNe, [Real(x), Real(y)]) => Bool(x != y),
        (Op::FLt, [Real(x), Real(y)]) => Bool(x < y),
        (Op::FLe, [Real(x), Real(y)]) => Bool(x <= y),
        (Op::IAdd, [Int(m), Int(n)]) => Int(m.wrapping_add(*n)),
        (Op::ISub, [Int(m), Int(n)]) => Int(m.wrapping_sub(*n)),
        (Op::IMul, [Int(m), Int(n)]) => Int(m.wrapping_mul(*n)),
        (Op::IDiv, [Int(m), Int(n)]) => Int(floor_div(*m, *n)),
        (Op::IMod, [Int(m), Int(n)]) => Int(floor_mod(*m, *n)),
        (Op::IXor, [Int(m), Int(n)]) => Int(m ^ n),
        (Op::IAnd, [Int(m), Int(n)]) => Int(m & n),
        (Op::IShl, [Int(m), Int(n)]) => Int(m.wrapping_shl(*n as u32)),
        (Op::IShr, [Int(m), Int(n)]) => Int((*m as u64).wrapping_shr(*n as u32) as i64),
        (Op::IEq, [Int(m), Int(n)]) => Bool(m == n),
        (Op::INe, [Int(m), Int(n)]) => Bool(m != n),
        (Op::ILt, [Int(m), Int(n)]) => Bool(m < n),
        (Op::ILe, [Int(m), Int(n)]) => Bool(m <= n),
        (Op::BAnd, [Bool(a), Bool(b)]) => Bool(*a && *b),
        (Op::BOr, [Bool(a), Bool(b)]) => Bool(*a || *b),
        (Op::BNot, [Bool(a)]) => Bool(!a),
        (Op::BEq, [Bool(a), Bool(b)]) => Bool(a == b),
        (Op::IToF, [Int(k)]) => Real(precision.of_int(*k)),
        (Op::FToI, [Real(x)]) => Int(*x as i64),
        (Op::FBits, [Real(x)]) => Int(precision.bits(*x)),
        (Op::IBits, [Int(k)]) => Real(precision.of_bits(*k)),
        (Op::Uniform, [Int(word)]) => Real(uniform_of_bits(*word, precision)),
        (Op::Select, [Bool(c), t, s]) => *if *c { t } else { s },
        (Op::Math(m), args) => return math(m, args, precision),
        (
            Op::FAdd
            | Op::FSub
            | Op::FMul
            | Op::FDiv
            | Op::FNeg
            | Op::FAbs
            | Op::FSqrt
            | Op::FFloor
            | Op::FCeil
            | Op::FRound
            | Op::FTrunc
            | Op::FCopySign
            | Op::FEq
            | Op::FNe
            | Op::FLt
            | Op::FLe
            | Op::IAdd
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
            | Op::BEq
            | Op::IToF
            | Op::FToI
            | Op::FBits
            | Op::IBits
            | Op::Uniform
            | Op::Select,
            _,
        ) => return None,
    })
}

fn math(m: Math, args: &[Lit], precision: Precision) -> Option<Lit> {
    let one = |f: fn(f64) -> f64| match args {
        [Lit::Real(x)] => Some(Lit::Real(f(*x))),
        _ => None,
    };
    let two = |f: fn(f64, f64) -> f64| match args {
        [Lit::Real(x), Lit::Real(y)] => Some(Lit::Real(f(*x, *y))),
        _ => None,
    };
    match m {
        Math::Exp => one(|x| cmath::exp(x)),
        Math::Expm1 => one(|x| cmath::expm1(x)),
        Math::Log => one(|x| cmath::log(x)),
        Math::Log1p => one(|x| cmath::log1p(x)),
        Math::Sin => one(|x| cmath::sin(x)),
        Math::Cos => one(|x| cmath::cos(x)),
        Math::Tan => one(|x| cmath::tan(x)),
        Math::Asin => one(|x| cmath::asin(x)),
        Math::Acos => one(|x| cmath::acos(x)),
        Math::Atan => one(|x| cmath::atan(x)),
        Math::Sinh => one(|x| cmath::sinh(x)),
        Math::Cosh => one(|x| cmath::cosh(x)),
        Math::Tanh => one(|x| cmath::tanh(x)),
        Math::Asinh => one(|x| cmath::asinh(x)),
        Math::Acosh => one(|x| cmath::acosh(x)),
        Math::Atanh => one(|x| cmath::atanh(x)),
        Math::Erf => one(|x| cmath::erf(x)),
        Math::Erfc => one(|x| cmath::erfc(x)),
        Math::Lgamma => one(|x| cmath::lgamma(x)),
        Math::Atan2 => two(|y, x| cmath::atan2(y, x)),
        Math::Hypot => two(|x, y| cmath::hypot(x, y)),
        Math::Pow => two(|x, y| cmath::pow(x, y)),
        Math::PowInt => match args {
            [Lit::Real(x), Lit::Int(k)] => Some(Lit::Real(match precision {
                Precision::Double => powi(*x, *k),
                Precision::Single => powi(*x as f32, *k).into(),
            })),
            _ => None,
        },
        Math::Log2 => one(|x| cmath::log2(x)),
        Math::Log10 => one(|x| cmath::log10(x)),
        Math::Digamma => one(digamma),
        Math::Trigamma => one(trigamma),
        Math::NormalQuantile => one(normal_quantile),
        Math::Polygamma => match args {
            [Lit::Int(m), Lit::Real(x)] => Some(Lit::Real(polygamma(*m, *x))),
            _ => None,
        },
        Math::NormalOfBits => match args {
            [Lit::Int(word)] => Some(Lit::Real(normal_of_bits(*word))),
            _ => None,
        },
    }
}
