//! Equal but cheaper.
//!
//! | module | what it does |
//! |---|---|
//! | [`normalise`] | applies calls, functions and known linear maps; resolves derivatives; places residuals |
//! | [`pull`] | reads arrays through their definitions instead of building them |
//! | [`prune`] | drops what is not used |

pub mod error;
pub mod normalise;
pub mod prune;
pub mod pull;

pub use error::{Error, ErrorKind};
