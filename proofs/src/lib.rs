//! Why to believe it: random programs on every engine, and the laws of differentiation.
//!
//! | module | what it is |
//! |---|---|
//! | [`mod@gen`], [`rng`] | random well-typed Core, from a seed |
//! | [`point`] | where to evaluate: arguments, tangents, cotangents |
//! | [`marked`] | doubles that notice the branches an evaluation takes, and how nearly it took others |
//! | [`engines`] | a definition, its forward and its reverse derivative, on every engine |
//! | [`agree`] | what must agree, and how closely |
//! | [`exact`] | polynomial programs over the rationals |
//! | [`show`] | samples and their stages as text |
//! | [`mod@shrink`] | a smaller program with the same fault |

pub mod agree;
pub mod engines;
pub mod exact;
pub mod r#gen;
#[cfg(feature = "llvm")]
pub mod machine;
pub mod marked;
pub mod point;
pub mod rng;
pub mod show;
pub mod shrink;
