//! What the tests of this crate share.

use lang::core::{Binder, Program, Tm};
use lang::diag::Site;
use lang::name::Supply;
use lang::types::Mode;

/// D, as normalisation asks for it.
pub fn derive(
    program: &mut Program,
    mode: Mode,
    x: &Binder,
    body: &Tm,
    scope: &lang::typing::Scope,
    site: &Site,
    supply: &mut Supply,
) -> Result<Tm, opt::Error> {
    ad::derive_lambda(program, x, body, scope, mode, site, supply).map_err(|e| opt::Error::bug(e.to_string()))
}
