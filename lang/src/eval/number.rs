//! What the evaluator needs of numbers.

use crate::core::Lit;
use crate::precision::Precision;
use crate::prim::Prim;
use std::cmp::Ordering;

/// A scalar over the numbers N.
#[derive(Clone, PartialEq, Debug)]
pub enum Atom<N> {
    Real(N),
    Int(i64),
    Bool(bool),
}

/// What a number type says to a primitive.
pub enum Answer<N> {
    Value(Atom<N>),
    /// It has no exact value in this number type.
    Inexact,
    /// Evaluate the expansion in the primitive's row instead.
    Expand,
}

/// A model of the reals to evaluate in. f64 and f32 are the language's own, by its precision; exact rationals stop at the first operation they cannot do.
pub trait Number: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// The number that a double is, if this type has it.
    fn of(x: f64) -> Option<Self>;
    fn zero() -> Self;
    /// + of the monoid of cotangents, and of Σ.
    fn plus(&self, other: &Self) -> Self;
    /// The linear primitive a · v.
    fn times(&self, other: &Self) -> Self;
    fn prim(p: Prim, args: &[Atom<Self>]) -> Answer<Self>;
    /// A total order with NaN last and −0 equal to +0.
    fn order(&self, other: &Self) -> Ordering;
    fn is_nan(&self) -> bool;
    fn to_f64(&self) -> f64;
    /// The same number: bit for bit, except that −0 is +0 and every NaN is NaN.
    fn same(&self, other: &Self) -> bool {
        self.order(other) == Ordering::Equal
    }
    /// Within `rel` of the larger magnitude, or within `abs`; infinities and NaN only where they are the same.
    fn close(&self, other: &Self, rel: f64, abs: f64) -> bool {
        let (x, y) = (self.to_f64(), other.to_f64());
        self.same(other)
            || (x.is_finite() && y.is_finite() && (x - y).abs() <= abs.max(rel * x.abs().max(y.abs())))
    }
}

impl Number for f64 {
    fn of(x: f64) -> Option<f64> {
        Some(x)
    }
    fn zero() -> f64 {
        0.0
    }
    fn plus(&self, other: &f64) -> f64 {
        self + other
    }
    fn times(&self, other: &f64) -> f64 {
        self * other
    }
    fn prim(p: Prim, args: &[Atom<f64>]) -> Answer<f64> {
        let args: Vec<Lit> = args.iter().map(Atom::lit).collect();
        Answer::Value(match (p.row().eval)(&args) {
            Lit::Real(x) => Atom::Real(x),
            Lit::Int(k) => Atom::Int(k),
            Lit::Bool(b) => Atom::Bool(b),
        })
    }
    fn order(&self, other: &f64) -> Ordering {
        self.partial_cmp(other).unwrap_or_else(|| f64::is_nan(*self).cmp(&f64::is_nan(*other)))
    }
    fn is_nan(&self) -> bool {
        f64::is_nan(*self)
    }
    fn to_f64(&self) -> f64 {
        *self
    }
}

/// Singles: every operation is rounded.
impl Number for f32 {
    fn of(x: f64) -> Option<f32> {
        Some(x as f32)
    }
    fn zero() -> f32 {
        0.0
    }
    fn plus(&self, other: &f32) -> f32 {
        self + other
    }
    fn times(&self, other: &f32) -> f32 {
        self * other
    }
    fn prim(p: Prim, args: &[Atom<f32>]) -> Answer<f32> {
        let args: Vec<Lit> = args.iter().map(Atom::lit).collect();
        match p.value(&args, Precision::Single) {
            Some(Lit::Real(x)) => Answer::Value(Atom::Real(x as f32)),
            Some(Lit::Int(k)) => Answer::Value(Atom::Int(k)),
            Some(Lit::Bool(b)) => Answer::Value(Atom::Bool(b)),
            None => Answer::Expand,
        }
    }
    fn order(&self, other: &f32) -> Ordering {
        self.to_f64().order(&other.to_f64())
    }
    fn is_nan(&self) -> bool {
        f32::is_nan(*self)
    }
    fn to_f64(&self) -> f64 {
        f64::from(*self)
    }
}

impl<N: Number> Atom<N> {
    pub fn lit(&self) -> Lit {
        match self {
            Atom::Real(x) => Lit::Real(x.to_f64()),
            Atom::Int(k) => Lit::Int(*k),
            Atom::Bool(b) => Lit::Bool(*b),
        }
    }
}
