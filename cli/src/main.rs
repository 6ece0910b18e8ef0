//! The binary `adc`.

#[global_allocator]
static ALLOCATOR: cli::memory::Allocator = cli::memory::Allocator;

fn main() -> std::process::ExitCode {
    cli::memory::keep_for_a_second();
    cli::main()
}
