//! Which programs make sense.

pub mod check;
