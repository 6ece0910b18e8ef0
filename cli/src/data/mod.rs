//! Data in and out. Whatever is given (JSON, NumPy arrays, tables) is read by the type it is for into the leaves of
//! [`lang::leaves`], and results are printed from leaves; values of the evaluators are made of leaves and taken apart into them.
//!
//! | module | what it is |
//! |---|---|
//! | [`layout`] | the types data can have, with field names, and sizes as they become known |
//! | [`given`] | where data comes from: the command line, files |
//! | [`csv`], [`json`], [`npy`] | the formats |
//! | [`read`] | what is given, to leaves |
//! | [`value`] | leaves to values of the evaluators and back |
//! | [`print`] | leaves to text and to JSON |

pub mod csv;
pub mod given;
pub mod json;
pub mod layout;
pub mod npy;
pub mod print;
pub mod read;
pub mod value;

#[cfg(test)]
mod tests;

use lang::precision::Precision;
pub use layout::{Layout, Sizes};
use std::borrow::Cow;

/// The elements of a row-major array, or of one scalar.
#[derive(Clone, PartialEq, Debug)]
pub enum Numbers {
    Real(Vec<f64>),
    /// Reals of single precision.
    Single(Vec<f32>),
    Int(Vec<i64>),
    Bool(Vec<bool>),
}

/// One leaf with its elements: a scalar when it has no dimension.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    pub shape: Vec<usize>,
    pub data: Numbers,
}

impl Numbers {
    pub fn len(&self) -> usize {
        match self {
            Numbers::Real(xs) => xs.len(),
            Numbers::Single(xs) => xs.len(),
            Numbers::Int(xs) => xs.len(),
            Numbers::Bool(xs) => xs.len(),
        }
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// No reals, or reals of this precision.
    pub fn has(&self, precision: Precision) -> bool {
        match self {
            Numbers::Real(_) => precision == Precision::Double,
            Numbers::Single(_) => precision == Precision::Single,
            Numbers::Int(_) | Numbers::Bool(_) => true,
        }
    }
    /// Reals in this precision, each the nearest to what it was.
    pub fn rounded(self, precision: Precision) -> Numbers {
        match (self, precision) {
            (Numbers::Real(xs), Precision::Single) => {
                Numbers::Single(xs.into_iter().map(|x| x as f32).collect())
            }
            (Numbers::Single(xs), Precision::Double) => {
                Numbers::Real(xs.into_iter().map(f64::from).collect())
            }
            (same, _) => same,
        }
    }
    /// The reals among them; of either precision, as doubles.
    pub fn reals(&self) -> Option<Cow<'_, [f64]>> {
        match self {
            Numbers::Real(xs) => Some(Cow::Borrowed(xs)),
            Numbers::Single(xs) => Some(xs.iter().copied().map(f64::from).collect()),
            Numbers::Int(_) | Numbers::Bool(_) => None,
        }
    }
}
