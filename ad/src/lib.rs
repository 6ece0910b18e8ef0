//! The functor D.

mod context;
mod derive;
mod error;
mod forward;
mod prim;
mod reverse;
pub mod rules;
mod shared;
mod transpose;

pub use derive::{derive, derive_lambda, derived, resolve, resolve_diff};
pub use error::{AdError, Reason};
pub use shared::derivative_name;
pub use transpose::transpose;
