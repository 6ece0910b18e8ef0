//! Compiles the C-callable part of the runtime to an object of its own, which goes into every library that `codegen` writes: such a library needs nothing of Rust.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    let source = "runtime/src/support.rs";
    println!("cargo::rerun-if-changed={source}");
    println!("cargo::rerun-if-changed=runtime/src/threads.rs");
    println!("cargo::rerun-if-changed=../lang/src/prim/special_fn.rs");
    let var = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let object = PathBuf::from(var("OUT_DIR")).join("support.o");
    let status = Command::new(var("RUSTC"))
        .args(["--edition=2024", "--crate-type=lib", "--crate-name=adc_support", source])
        .arg(format!("--target={}", var("TARGET")))
        .arg(format!("--emit=obj={}", object.display()))
        .args(["-Copt-level=3", "-Cpanic=abort", "-Ccodegen-units=1", "-Crelocation-model=pic"])
        .args(["-Coverflow-checks=off", "-Cdebug-assertions=off", "-Cforce-unwind-tables=no"])
        .status()
        .expect("rustc runs");
    assert!(status.success(), "compiling {source} failed");
}
