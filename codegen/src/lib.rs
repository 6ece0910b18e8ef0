//! Loops to machine code, through LLVM. The input is [`lang::loops::Proc`], machine vocabulary only.
//!
//! | module | what it is |
//! |---|---|
//! | [`jit`] | compile and call in this process |
//! | [`cache`] | objects of the JIT kept on disk |
//! | [`object`] | `.o`, `.so`, `.ll`, `.s`, a C header |
//! | `llvm`, `body`, `ops`, `math`, `memory`, `calls`, `parallel` | Proc → LLVM IR: entry points, statements, scalar operations, math functions, buffers, callees, parallel loops |
//! | `elementary` | exp, log, log1p, tanh as arithmetic in place |
//! | `lanes` | parallel loops with their index as a vector |
//! | `product` | products of matrices |
//! | `split` | loops run in pieces in which a branch is decided |
//! | `sums` | which additions may be reordered |
//! | `hints` | what LLVM is told about loops |
//! | `host` | the machine compiled for: target machine, optimisation pipeline |

mod body;
pub mod cache;
mod calls;
mod elementary;
mod hints;
mod host;
pub mod jit;
mod lanes;
mod llvm;
mod math;
mod memory;
pub mod object;
mod ops;
mod parallel;
mod product;
mod split;
mod sums;

pub use cache::Cache;
pub use jit::{Arg, Jit, RunError, Slice, SliceMut};
pub use llvm::symbols;
pub use runtime::support::free_spare;

/// How to compile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Options {
    /// No reassociation and no fused multiply-add: every operation rounds as written.
    pub strict: bool,
    /// The C library's scalar functions only, no vector variants (which differ from them in the last bits).
    pub scalar_math: bool,
    /// Reassociate everything, divide by multiplying with reciprocals, ignore the sign of zero.
    pub fast_math: bool,
    /// 0 to 3, as LLVM's -O.
    pub opt_level: u8,
    /// Threads for parallel loops; 0: as many as the machine has. Results do not depend on it.
    pub threads: usize,
    /// The processor of object files. Code for this process is always for this machine's.
    pub target: TargetCpu,
}

/// A processor to compile for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum TargetCpu {
    /// This machine's.
    #[default]
    Native,
    /// A level of the x86-64 architecture: 1 to 4.
    Level(u8),
}

impl Default for Options {
    fn default() -> Options {
        Options {
            strict: false,
            scalar_math: false,
            fast_math: false,
            opt_level: 3,
            threads: 0,
            target: TargetCpu::Native,
        }
    }
}

/// Why code generation failed: a malformed procedure (which the loop verifier would have refused), LLVM, or a linker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodegenError(pub String);

impl std::fmt::Display for CodegenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "code generation: {}", self.0)
    }
}
impl std::error::Error for CodegenError {}

impl From<inkwell::builder::BuilderError> for CodegenError {
    fn from(e: inkwell::builder::BuilderError) -> CodegenError {
        CodegenError(e.to_string())
    }
}
impl From<inkwell::support::LLVMString> for CodegenError {
    fn from(e: inkwell::support::LLVMString) -> CodegenError {
        CodegenError(e.to_string())
    }
}

pub(crate) type Result<T> = std::result::Result<T, CodegenError>;

/// A malformed procedure.
pub(crate) fn malformed<T>(what: impl Into<String>) -> Result<T> {
    Err(CodegenError(format!("malformed procedure: {}", what.into())))
}
