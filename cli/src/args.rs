//! The command line: what can be asked and how. Only what works is offered.

use clap::{Args, Parser, Subcommand, ValueEnum};
use lang::precision::Precision;
use std::path::PathBuf;

#[derive(Parser, Debug)]
#[command(
    name = "adc",
    bin_name = "adc",
    version,
    about = "Compiler for .ad files: differentiable array programs",
    after_help = "Examples:\n  adc run examples/logistic.ad\n  adc grad sq.ad sq --args '{\"x\": 3}'\n  \
                  adc show sq.ad sq --stage reverse\n\nExit status: 0 success, 1 the program or its data are at fault, 2 wrong usage."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Parse and type-check; print nothing when all is well
    Check {
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Run a definition (default: main) and print its result
    #[command(after_help = "Example: adc run dot.ad dot --args '{\"x\": [1, 2], \"y\": [3, 4]}'")]
    Run {
        file: PathBuf,
        #[arg(default_value = "main")]
        name: String,
        #[command(flatten)]
        data: DataArgs,
        #[command(flatten)]
        engine: EngineArgs,
        #[command(flatten)]
        out: OutArgs,
    },
    /// Print the gradient of a definition with a real result
    #[command(after_help = "Example: adc grad loss.ad loss --wrt w --args '{\"w\": [1, 2]}'")]
    Grad {
        #[command(flatten)]
        of: DerivativeArgs,
    },
    /// Print a directional derivative: the forward product with a tangent
    #[command(after_help = "Example: adc jvp sq.ad sq --args '{\"x\": 3}' --tangent '{\"x\": 1}'")]
    Jvp {
        #[command(flatten)]
        of: DerivativeArgs,
        /// The tangent by parameter name, as JSON; parameters left out have tangent zero
        #[arg(long, value_name = "JSON")]
        tangent: String,
    },
    /// Print the reverse product with a cotangent of the result
    #[command(after_help = "Example: adc vjp sq.ad sq --args '{\"x\": 3}' --cotangent 1")]
    Vjp {
        #[command(flatten)]
        of: DerivativeArgs,
        /// The cotangent of the result, as JSON
        #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
        cotangent: String,
    },
    /// Print the Jacobian matrix: a row per real of the result, a column per real of the parameters
    Jacobian {
        #[command(flatten)]
        of: DerivativeArgs,
        /// Which mode to use (default: the one with fewer passes)
        #[arg(long, value_enum)]
        mode: Option<ModeArg>,
    },
    /// Run the files' test items on every engine
    Test {
        #[arg(required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        engine: EngineArgs,
    },
    /// Print a stage of the compilation of a definition
    #[command(after_help = "Example: adc show sq.ad sq --stage simplified")]
    Show {
        file: PathBuf,
        name: String,
        #[arg(long, value_enum)]
        stage: Stage,
        /// With --stage simplified: show the rewrites, each with its rule
        #[arg(long)]
        explain: bool,
        /// With NAME 'grad f' and --stage loops, llvm or asm: the parameters to differentiate with respect to
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        wrt: Vec<String>,
        #[command(flatten)]
        engine: EngineArgs,
    },
    /// Count the operations of a definition and of its gradient
    Cost {
        #[command(flatten)]
        of: DerivativeArgs,
    },
    /// Compile to native artefacts
    #[command(after_help = "Example: adc build loss.ad -o out --emit so,header --export loss,'grad loss'")]
    Build {
        file: PathBuf,
        /// The directory the artefacts are written to
        #[arg(short, value_name = "DIR")]
        out: PathBuf,
        /// What to write
        #[arg(long, value_enum, value_delimiter = ',', default_value = "so,header")]
        emit: Vec<Emit>,
        /// What to export: definitions, and 'grad f'; default: every definition whose parameters and result are data
        #[arg(long, value_delimiter = ',')]
        export: Vec<String>,
        /// The processor to compile for
        #[arg(long, value_enum, default_value_t = TargetCpu::Native)]
        target_cpu: TargetCpu,
        #[command(flatten)]
        engine: EngineArgs,
    },
    /// Put files in the standard form: one layout, every comment kept
    #[command(after_help = "Example: adc fmt examples/*.ad")]
    Fmt {
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Change nothing; say which files are not in the form
        #[arg(long)]
        check: bool,
    },
    /// Answer the messages of the GradBench suite: one JSON object per line on standard input and output
    #[command(after_help = "Example: gradbench run --eval 'gradbench eval llsq' --tool 'adc gradbench'")]
    Gradbench {
        /// The folder of the modules, MODULE.ad each (default: those that adc has with it)
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
        #[command(flatten)]
        engine: EngineArgs,
    },
    /// Explain an error code
    #[command(after_help = "Example: adc explain E0701")]
    Explain { code: String },
}

#[derive(Args, Debug)]
pub struct DerivativeArgs {
    pub file: PathBuf,
    pub name: String,
    /// The parameters to differentiate with respect to (default: all whose type has a tangent)
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub wrt: Vec<String>,
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub out: OutArgs,
}

#[derive(Args, Debug, Default)]
pub struct DataArgs {
    /// The arguments by parameter name, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub args: Option<String>,
    /// Data from a file: FILE.json or FILE.npz by name, or name=FILE.csv[:column,…], name=FILE.npy, name=FILE.npz[:array], name=FILE.json
    #[arg(long, value_name = "[NAME=]FILE")]
    pub input: Vec<String>,
}

#[derive(Args, Debug, Default)]
pub struct OutArgs {
    /// Print one JSON value
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Clone, Debug, Default)]
pub struct EngineArgs {
    /// What runs the program: native code, the evaluator of the calculus, or the evaluator of loops
    #[arg(long, value_enum)]
    pub engine: Option<Engine>,
    /// The precision of every `real`: IEEE double or single
    #[arg(long, value_enum, default_value_t = Real::F64)]
    pub real: Real,
    /// Threads of parallel loops (default: one per core)
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Fix a size variable, as n=128
    #[arg(long, value_name = "NAME=N", value_parser = parse_size)]
    pub size: Vec<(String, i64)>,
    /// Allow the optimiser what is equal only over the reals
    #[arg(long, conflicts_with = "strict")]
    pub fast_math: bool,
    /// Elementary functions: vector versions, or the C library's for every element
    #[arg(long, value_enum, default_value_t = MathMode::Vector)]
    pub math: MathMode,
    /// Keep every rounding as written
    #[arg(long)]
    pub strict: bool,
    /// Say on stderr how much processor time each stage took
    #[arg(long)]
    pub timings: bool,
    /// Compile even what was compiled before, and keep nothing
    #[arg(long)]
    pub no_cache: bool,
}

fn parse_size(text: &str) -> Result<(String, i64), String> {
    let (name, n) = text.split_once('=').ok_or("expected NAME=N, as n=128")?;
    let n: i64 = n.parse().map_err(|_| format!("`{n}` is not an integer"))?;
    if n < 0 {
        return Err("a size is not negative".into());
    }
    Ok((name.to_string(), n))
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Jit,
    Eval,
    Loops,
}

impl Engine {
    /// The engine used when none is asked for.
    pub const DEFAULT: Engine = if cfg!(feature = "llvm") { Engine::Jit } else { Engine::Eval };
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Real {
    #[default]
    F64,
    F32,
}

impl Real {
    pub fn precision(self) -> Precision {
        match self {
            Real::F64 => Precision::Double,
            Real::F32 => Precision::Single,
        }
    }
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MathMode {
    #[default]
    Vector,
    Scalar,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TargetCpu {
    /// This machine's
    #[default]
    Native,
    #[value(name = "x86-64")]
    X86,
    #[value(name = "x86-64-v2")]
    X86V2,
    /// With AVX2 and FMA
    #[value(name = "x86-64-v3")]
    X86V3,
    /// With AVX-512
    #[value(name = "x86-64-v4")]
    X86V4,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeArg {
    Forward,
    Reverse,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Ast,
    Core,
    Forward,
    Reverse,
    Simplified,
    Loops,
    Llvm,
    Asm,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    So,
    Obj,
    Header,
    Llvm,
    Asm,
}
