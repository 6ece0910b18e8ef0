//! Equal but cheaper.
//!
//! | module | what it does |
//! |---|---|
//! | [`normalise`] | applies calls, functions and known linear maps; resolves derivatives; places residuals |
//! | [`mod@emit`] | destination passing: Target to the loop IR |
//! | [`pull`] | reads arrays through their definitions instead of building them |
//! | [`prune`] | drops what is not used |

pub mod emit;
pub mod error;
pub mod normalise;
pub mod prune;
pub mod pull;

pub use emit::emit;
pub use error::{Error, ErrorKind};
pub use normalise::normalise;
