//! The person at the keyboard: the command `adc`.
//!
//! | module | what it is |
//! |---|---|
//! | [`args`] | the command line's grammar |
//! | [`commands`] | what each command does |
//! | [`codes`], [`explain`], [`report`] | error codes, their pages, problems as people see them |
//! | [`data`] | data in and out
//! | [`entry`], [`pipeline`] | what a command asks of a definition, and the way from there to a result
//! | [`items`] | a file's text, item by item
//! | [`session`], [`queries`] | what is known of the files, kept up to date by salsa
//! | [`modules`] | where imports lead; the standard library
//! | [`memory`] | the memory of a compiler process
//! | [`timing`] | where the time goes
//! | [`cache`] | where compiled code is kept
//! | [`embed`] | the way from text to code for Rust programs
//! | [`gradbench`] | the programs of the GradBench suite
//! | [`guard`] | a compiler bug is reported, never a crash |

pub mod args;
pub mod cache;
pub mod codes;
pub mod commands;
pub mod data;
pub mod embed;
pub mod entry;
pub mod explain;
pub mod gradbench;
pub mod guard;
pub mod items;
pub mod memory;
pub mod modules;
pub mod pipeline;
pub mod queries;
pub mod report;
pub mod session;
pub mod timing;

use clap::Parser;
use report::Stop;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Runs the command line of this process: results to stdout, everything else to stderr.
pub fn main() -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are "errors" to clap: it knows the stream and the status.
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let outcome = guard::run(move || commands::run(&cli.command));
    eprint!("{}", timing::table());
    match outcome {
        Ok(text) => {
            // A reader that closed the pipe has seen what it wanted.
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            ExitCode::SUCCESS
        }
        Err(Stop::Problems(problems)) => {
            eprint!("{}", report::render(&problems, colour));
            ExitCode::from(1)
        }
        Err(Stop::Usage(message)) => {
            eprintln!("error: {message}\n\nFor more information, try '--help'.");
            ExitCode::from(2)
        }
    }
}
