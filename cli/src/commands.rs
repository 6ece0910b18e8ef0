//! What each command does.

use crate::args::Command;
use crate::report::Stop;
use crate::{codes, explain};
use lang::diag::Diagnostic;

/// The command's standard output, or why there is none.
pub fn run(command: &Command) -> Result<String, Stop> {
    match command {
        Command::Explain { code } => match explain::page(code) {
            Some(page) => Ok(page.to_string()),
            None => Err(Stop::Usage(format!("there is no error code `{code}`"))),
        },
        Command::Check { .. }
        | Command::Run { .. }
        | Command::Grad { .. }
        | Command::Jvp { .. }
        | Command::Vjp { .. }
        | Command::Jacobian { .. }
        | Command::Test { .. }
        | Command::Show { .. }
        | Command::Cost { .. }
        | Command::Build { .. } => {
            Err(Diagnostic::new(codes::NOT_AVAILABLE, "this command is not available yet").into())
        }
    }
}
