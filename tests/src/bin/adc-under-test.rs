//! `adc` as the tests of this crate run it: built with them, with the same features.

fn main() -> std::process::ExitCode {
    cli::main()
}
