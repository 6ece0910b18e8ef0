//! The binary `adc`.

fn main() -> std::process::ExitCode {
    cli::main()
}
