//! The formatter: text in, text in the printer's form out.

use super::{parser, print};
use crate::diag::Diagnostic;

/// Lines are longer only where nothing can be broken.
const WIDTH: usize = 110;

/// The text in the printer's form, which parses to the same tree with the same comments; or what is wrong with its syntax.
/// Formatting twice is formatting once.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let (file, diagnostics) = parser::parse(text);
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    let style = print::Style { width: WIDTH, symbols: false };
    Ok(crate::big_stack::run(|| print::formatted(&file, text, style)))
}
