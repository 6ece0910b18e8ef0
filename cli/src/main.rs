//! The binary `adc`.

/// The compiler makes many small things that live for a short time. (Programs it compiles use the C library's memory.)
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
