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

pub use layout::{Layout, Sizes};

/// The elements of a row-major array, or of one scalar.
#[derive(Clone, PartialEq, Debug)]
pub enum Numbers {
    Real(Vec<f64>),
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
            Numbers::Int(xs) => xs.len(),
            Numbers::Bool(xs) => xs.len(),
        }
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
