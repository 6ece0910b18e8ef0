//! Elementary functions as straight-line arithmetic in the place of a call: they run on vectors of lanes, in loops that LLVM makes vectors of,
//! and on single numbers, with the same bits. (Options that ask for the C library's bits get its functions: see [`crate::math`].)
//!
//! A function is written once, over a [`Machine`]; the machines are [`llvm::Emitter`] and, in the tests, doubles themselves. None has a branch, so that
//! arguments out of the ordinary (zeros, infinities, NaN, results that overflow or are subnormal) go the way of all others. Each is within 1.5 units in
//! the last place of the true value.
//!
//! | file | what |
//! |---|---|
//! | [`exp`] | exp |
//! | [`log`] | log, log1p |
//! | [`tanh`] | tanh |
//! | [`llvm`] | arithmetic as instructions |
//!
//! Polynomials that are not a series cut off are those of least greatest error (Remez' exchange algorithm, in 60 digits); the comment of each says of what, where, and how
//! far it is off.

mod exp;
pub(crate) mod llvm;
mod log;
mod tanh;
#[cfg(test)]
mod tests;

use lang::loops::Math;

/// What can compute: numbers, their bits, and choices between them, one or many at a time.
pub(crate) trait Machine {
    type Real: Copy;
    type Int: Copy;
    type Truth: Copy;

    fn real(&self, x: f64) -> Self::Real;
    fn int(&self, k: i64) -> Self::Int;
    fn add(&self, a: Self::Real, b: Self::Real) -> Self::Real;
    fn sub(&self, a: Self::Real, b: Self::Real) -> Self::Real;
    fn mul(&self, a: Self::Real, b: Self::Real) -> Self::Real;
    fn div(&self, a: Self::Real, b: Self::Real) -> Self::Real;
    /// a · b + c, rounded once or twice: whichever the processor does faster.
    fn mul_add(&self, a: Self::Real, b: Self::Real, c: Self::Real) -> Self::Real;
    fn abs(&self, a: Self::Real) -> Self::Real;
    /// |a| with the sign of b.
    fn copysign(&self, a: Self::Real, b: Self::Real) -> Self::Real;
    /// False when either is NaN.
    fn less(&self, a: Self::Real, b: Self::Real) -> Self::Truth;
    fn equal(&self, a: Self::Real, b: Self::Real) -> Self::Truth;
    fn select(&self, c: Self::Truth, a: Self::Real, b: Self::Real) -> Self::Real;
    fn bits(&self, a: Self::Real) -> Self::Int;
    fn of_bits(&self, a: Self::Int) -> Self::Real;
    /// Sums and differences wrap.
    fn int_add(&self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn int_sub(&self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn and(&self, a: Self::Int, b: Self::Int) -> Self::Int;
    fn shift_left(&self, a: Self::Int, by: i64) -> Self::Int;
    /// Zeros come in.
    fn shift_right(&self, a: Self::Int, by: i64) -> Self::Int;
}

/// There is a formula for the function.
pub(crate) fn has(f: Math) -> bool {
    matches!(f, Math::Exp | Math::Log | Math::Log1p | Math::Tanh)
}

/// f(x), for a function that has a formula.
pub(crate) fn formula<M: Machine>(m: &M, f: Math, x: M::Real) -> Option<M::Real> {
    match f {
        Math::Exp => Some(exp::exp(m, x)),
        Math::Log => Some(log::log(m, x)),
        Math::Log1p => Some(log::log1p(m, x)),
        Math::Tanh => Some(tanh::tanh(m, x)),
        _ => None,
    }
}

/// Σ c_k x^k, in pairs and pairs of pairs, so that the chain of operations is short (Estrin).
fn polynomial<M: Machine>(m: &M, coefficients: &[f64], x: M::Real) -> M::Real {
    let mut terms: Vec<M::Real> = coefficients.iter().map(|c| m.real(*c)).collect();
    let mut power = x;
    loop {
        terms = terms
            .chunks(2)
            .map(|pair| match pair {
                [low, high] => m.mul_add(*high, power, *low),
                alone => alone[0],
            })
            .collect();
        if let [sum] = terms[..] {
            return sum;
        }
        power = m.mul(power, power);
    }
}

/// Added to a number of moderate size, it leaves the nearest whole number in the last bits: 1.5 · 2^52.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// ln 2 in two parts; the first has 42 bits, so that its product with an exponent is exact.
const LN_2_HIGH: f64 = 0.693_147_180_559_890_3;
const LN_2_LOW: f64 = 5.497_923_018_708_371e-14;

/// Bits after the exponent.
const MANTISSA: i64 = 52;
