//! The tuned adjoints: what the plain ones become when the vector unit is what one thinks of. Four numbers at a time ([`lanes`]), with one accumulator
//! per lane; elementary functions as polynomials in the loop; small matrix products in registers; stages fused.
//! They need AVX2 and FMA.

// Indices read like the formulas: the same one is used on several arrays.
#![allow(clippy::needless_range_loop)]

pub mod ba;
pub mod det;
pub mod gmm;
pub mod lanes;
pub mod llsq;
pub mod lse;
pub mod lstm;
pub mod ode;
