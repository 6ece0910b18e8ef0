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

mod cost;
pub mod emit;
pub mod error;
pub mod live;
pub mod normalise;
pub mod passes;
pub mod prune;
pub mod pull;
pub mod rules;
pub mod simplify;

pub use emit::{check_sizes, compound_sizes, emit};
pub use error::{Error, ErrorKind};
pub use normalise::normalise;
pub use simplify::simplify;

use lang::core::{Def, Program};
use lang::name::Name;
use lang::precision::Precision;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An entry point in normal form, and the definitions that it and they call.
#[derive(Clone, PartialEq, Debug)]
pub struct Normal {
    /// Of the reals: the literals of a normal form have it already.
    pub precision: Precision,
    pub entry: Def,
    pub callees: BTreeMap<Name, Arc<Def>>,
}

impl Normal {
    /// The callees as a program.
    pub fn callees(&self) -> Program {
        Program { defs: self.callees.clone() }
    }

    /// Entry point and callees as a program.
    pub fn program(&self) -> Program {
        let mut program = self.callees();
        program.defs.insert(self.entry.name.clone(), Arc::new(self.entry.clone()));
        program
    }
}

/// The normal form of an entry point, arrays read through their definitions where that costs nothing.
pub fn normal_form(
    def: &Def,
    program: &Program,
    derive: &normalise::Derive,
    precision: Precision,
) -> Result<Normal, Error> {
    let Normal { entry, callees, precision } = normalise(def, program, derive, precision)?;
    let mut supply = entry.supply.clone();
    let body = prune::prune(&pull::pull(&entry.body, &mut supply));
    Ok(Normal { entry: Def { supply, body, ..entry }, callees, precision })
}
