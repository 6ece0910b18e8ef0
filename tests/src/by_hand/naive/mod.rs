//! The plain adjoints: a file per function, each a forward sweep and a reverse sweep as one derives them on paper.

pub mod ba;
pub mod det;
pub mod gmm;
pub mod llsq;
pub mod lse;
pub mod lstm;
pub mod ode;
