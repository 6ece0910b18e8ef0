//! Equal but cheaper.
//!
//! | module | what it does |
//! |---|---|
//! | [`normalise`] | applies calls, functions and known linear maps; resolves derivatives; places residuals |
//! | [`mod@emit`] | destination passing: Target to the loop IR |
//! | [`pull`] | reads arrays through their definitions instead of building them |
//! | [`prune`] | drops what is not used |
//! | [`passes`] | the loop IR's passes: fusion, value numbering, … |
//! | [`mod@simplify`] | equality saturation of straight-line regions |
//! | [`rules`] | its rewrite rules, as rows |

pub mod emit;
pub mod error;
pub mod live;
pub mod normalise;
pub mod passes;
pub mod prune;
pub mod pull;
pub mod rules;
pub mod simplify;

pub use emit::{compound_sizes, emit};
pub use error::{Error, ErrorKind};
pub use normalise::normalise;
pub use simplify::simplify;

use lang::core::{Def, Program};

/// The normal form of an entry point, arrays read through their definitions where that costs nothing.
pub fn normal_form(def: &Def, program: &Program, derive: &normalise::Derive) -> Result<Def, Error> {
    let normal = normalise(def, program, derive)?;
    let mut supply = normal.supply.clone();
    let body = prune::prune(&pull::pull(&normal.body, &mut supply));
    Ok(Def { supply, body, ..normal })
}
