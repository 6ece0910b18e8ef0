//! From an entry point to its result, stage after stage: Core → normal form (with D) → loops → better loops → evaluator of loops, or
//! machine code. Each stage is a function of another crate; nothing here knows a rule.

use crate::args::{Engine, EngineArgs, MathMode};
use crate::codes;
use crate::data::value::Real;
use crate::data::{Numbers, Sizes, Tensor, value};
use crate::entry::{self, Entry, fixed};
use crate::timing::stage;
#[cfg(feature = "llvm")]
use crate::timing::steps;
use lang::core::{Binder, Def, Program, Tm};
use lang::diag::{Failure, Site};
use lang::eval::{self, EvalError};
use lang::loops::{self, Proc};
use lang::name::{Name, Supply};
use lang::precision::Precision;
use lang::size::Size;
use lang::types::Mode;
use lang::typing::Scope;
use opt::Normal;
use std::borrow::Cow;
use std::path::PathBuf;

/// How to compile and run.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub engine: Engine,
    /// Of every real of the program.
    pub precision: Precision,
    pub strict: bool,
    pub scalar_math: bool,
    pub fast_math: bool,
    pub threads: usize,
    /// Where machine code is kept; None: nowhere.
    pub cache: Option<PathBuf>,
    /// The sizes that `--size` fixes.
    pub sizes: Vec<(String, i64)>,
}

impl Options {
    /// What an engine does when nothing else is asked for, on one thread and with nothing kept.
    pub const fn plain(engine: Engine) -> Options {
        Options {
            engine,
            precision: Precision::Double,
            strict: false,
            scalar_math: false,
            fast_math: false,
            threads: 1,
            cache: None,
            sizes: vec![],
        }
    }

    pub fn new(args: &EngineArgs) -> Options {
        Options {
            engine: args.engine.unwrap_or(Engine::DEFAULT),
            precision: args.real.precision(),
            strict: args.strict,
            scalar_math: args.math == MathMode::Scalar,
            fast_math: args.fast_math,
            threads: args.threads.unwrap_or(0),
            cache: if args.no_cache { None } else { crate::cache::directory() },
            sizes: args.size.clone(),
        }
    }

    pub fn simplify(&self) -> opt::simplify::Options {
        use opt::simplify::Level;
        let level = match (self.strict, self.fast_math) {
            (true, _) => Level::Strict,
            (false, false) => Level::Default,
            (false, true) => Level::FastMath,
        };
        opt::simplify::Options { level, ..Default::default() }
    }

    fn passes(&self) -> opt::passes::Options {
        opt::passes::Options { strict: self.strict, fast_math: self.fast_math, ..Default::default() }
    }

    #[cfg(feature = "llvm")]
    pub fn codegen(&self) -> codegen::Options {
        codegen::Options {
            strict: self.strict,
            scalar_math: self.scalar_math,
            fast_math: self.fast_math,
            threads: self.threads,
            ..codegen::Options::default()
        }
    }
}

/// Why a stage gave nothing.
#[derive(Debug)]
pub enum Fault {
    /// The program cannot be compiled: the reason, and where if it is known.
    Rejected { code: &'static str, message: String, site: Option<Site> },
    /// The program failed when it ran.
    Failed { failure: Failure, site: Site, details: Vec<i64> },
    /// A limit or a resource of the machine.
    Limit(String),
    /// A fault of the compiler.
    Bug(String),
}

impl From<opt::Error> for Fault {
    fn from(error: opt::Error) -> Fault {
        let code = match &error.kind {
            opt::ErrorKind::Bug(message) => return Fault::Bug(message.clone()),
            opt::ErrorKind::NotFirstOrder | opt::ErrorKind::NotDifferentiable(_) => codes::NOT_DIFFERENTIABLE,
            opt::ErrorKind::NumeralTooLarge(..) => lang::surface::codes::BAD_NUMERAL,
            opt::ErrorKind::TooDeep(..) | opt::ErrorKind::Grows(..) => codes::TOO_DEEP,
            opt::ErrorKind::FunctionSurvives
            | opt::ErrorKind::Unsupported(_)
            | opt::ErrorKind::Specialisations(..)
            | opt::ErrorKind::TooLarge(_)
            | opt::ErrorKind::TooManyApplications(_) => codes::NOT_AVAILABLE,
        };
        Fault::Rejected { code, message: error.to_string(), site: error.site }
    }
}

impl From<EvalError> for Fault {
    fn from(error: EvalError) -> Fault {
        match error {
            EvalError::Failed { failure, site, details } => Fault::Failed { failure, site, details },
            EvalError::Bug(message) => Fault::Bug(message),
            error @ (EvalError::Inexact { .. } | EvalError::Limit(_)) => Fault::Limit(error.to_string()),
        }
    }
}

/// The normal form of an entry point: calls and functions applied, derivatives resolved by D.
pub fn normal_form(program: &Program, def: &Def, options: &Options) -> Result<Normal, Fault> {
    Ok(stage("normal form and D", || opt::normal_form(def, program, &derive, options.precision))?)
}

/// The normal form, simplified.
pub fn simplified(program: &Program, def: &Def, options: &Options) -> Result<Normal, Fault> {
    let normal = normal_form(program, def, options)?;
    Ok(stage("simplify", || opt::simplify(&normal, &options.simplify())))
}

/// D→ or D← of a definition and of all it calls, literally: the program with them, and the name of the definition's.
pub fn derivative(program: &Program, def: &Name, mode: Mode) -> Result<(Program, Name), Fault> {
    let mut program = program.clone();
    let rejected = |error: ad::AdError| Fault::Rejected {
        code: codes::NOT_DIFFERENTIABLE,
        message: error.to_string(),
        site: Some(error.site),
    };
    let names: Vec<Name> = program.defs.keys().cloned().collect();
    // Derivatives inside the definition come first; those elsewhere only matter where they are called.
    for name in &names {
        match ad::resolve(&mut program, name) {
            Err(error) if name == def => return Err(rejected(error)),
            Ok(()) | Err(_) => {}
        }
    }
    let name = ad::derive(&mut program, def, mode).map_err(rejected)?;
    Ok((program, name))
}

/// D, as normalisation asks for it.
fn derive(
    program: &mut Program,
    mode: Mode,
    x: &Binder,
    body: &Tm,
    scope: &Scope,
    site: &Site,
    supply: &mut Supply,
) -> Result<Tm, opt::Error> {
    let derived = ad::derive_lambda(program, x, body, scope, mode, site, supply);
    derived.map_err(|error| opt::Error {
        kind: opt::ErrorKind::NotDifferentiable(error.to_string()),
        site: Some(error.site),
    })
}

/// The loops of an entry point, improved.
pub fn to_loops(program: &Program, def: &Def, options: &Options) -> Result<Proc, Fault> {
    let simplified = simplified(program, def, options)?;
    let mut proc = stage("emit loops", || opt::emit(&simplified))?;
    stage("loop passes", || opt::passes::optimise(&mut proc, &options.passes())).map_err(Fault::Bug)?;
    Ok(proc)
}

/// An entry point ready to run.
pub struct Runnable {
    entry: Entry,
    precision: Precision,
    code: Code,
}

enum Code {
    Eval(Program),
    Loops(Proc),
    #[cfg(feature = "llvm")]
    Jit(codegen::Jit),
}

/// What a run gives: the leaves of the result, and the operations counted where the engine counts.
pub struct Outcome {
    pub result: Vec<Tensor>,
    pub cost: Option<u64>,
}

impl Runnable {
    /// For runs at these sizes: what is compiled is compiled for the small ones alone.
    pub fn at(
        program: &Program,
        mut entry: Entry,
        options: &Options,
        sizes: &Sizes,
    ) -> Result<Runnable, Fault> {
        match options.engine {
            // What the others are compared with stays as it is written.
            Engine::Eval => {}
            Engine::Loops | Engine::Jit => {
                let small = entry::small(&entry.def, sizes);
                entry.def = entry.def.at(small);
            }
        }
        Runnable::new(program, entry, options)
    }

    /// For runs at any sizes but those that the options fix.
    pub fn new(program: &Program, mut entry: Entry, options: &Options) -> Result<Runnable, Fault> {
        entry.def = fixed(entry.def, &options.sizes);
        let code = match options.engine {
            Engine::Eval => {
                let normal = normal_form(program, &entry.def, options)?;
                Code::Eval(normal.program())
            }
            Engine::Loops => Code::Loops(to_loops(program, &entry.def, options)?),
            #[cfg(feature = "llvm")]
            Engine::Jit => {
                let proc = to_loops(program, &entry.def, options)?;
                let cache = options.cache.clone().map(codegen::Cache::new);
                let options = options.codegen();
                let jit =
                    steps(|done| codegen::Jit::compile_observed(&[proc], &options, cache.as_ref(), done));
                Code::Jit(jit.map_err(|error| Fault::Bug(error.to_string()))?)
            }
            #[cfg(not(feature = "llvm"))]
            Engine::Jit => return Err(Fault::Limit("this adc was built without LLVM".into())),
        };
        Ok(Runnable { entry, precision: options.precision, code })
    }

    /// Runs at these arguments, by parameter, each as its leaves.
    pub fn call(&self, args: &[Vec<Tensor>], sizes: &Sizes) -> Result<Outcome, Fault> {
        stage("run", || {
            let mut bound = self.bind(args, sizes)?;
            bound.run()?;
            Ok(bound.outcome())
        })
    }

    /// The entry point at these arguments, with everything done that comes before the call itself: data has the program's precision
    /// from here on.
    pub fn bind<'r>(&'r self, args: &'r [Vec<Tensor>], sizes: &Sizes) -> Result<Bound<'r>, Fault> {
        let def = &self.entry.def;
        // Every engine checks the shapes of the result; machine code is given room for it.
        let shapes = result_shapes(def, sizes)?;
        let known =
            |n: &lang::name::Var| sizes.get(n).ok_or_else(|| Fault::Bug(format!("size {n:?} is unknown")));
        let mut size_args: Vec<i64> = def.sizes.iter().map(known).collect::<Result<_, _>>()?;
        if !matches!(self.code, Code::Eval(_)) {
            for n in opt::compound_sizes(def) {
                size_args.push(sizes.eval(&n).ok_or_else(|| overflow(&n))?);
            }
        }
        let result = match &self.code {
            Code::Eval(_) | Code::Loops(_) => vec![],
            #[cfg(feature = "llvm")]
            Code::Jit(_) => room(def, shapes, self.precision)?,
        };
        #[cfg(not(feature = "llvm"))]
        drop(shapes);
        let args = match args.iter().flatten().all(|leaf| leaf.data.has(self.precision)) {
            true => Cow::Borrowed(args),
            false => Cow::Owned(args.iter().map(|leaves| rounded(leaves, self.precision)).collect()),
        };
        Ok(Bound { runnable: self, args, size_args, result, cost: None })
    }
}

/// An entry point and its data: what is left is to run it, as often as one likes.
pub struct Bound<'r> {
    runnable: &'r Runnable,
    args: Cow<'r, [Vec<Tensor>]>,
    size_args: Vec<i64>,
    /// The leaves of the result of the last run. Machine code uses the same room every time.
    result: Vec<Tensor>,
    cost: Option<u64>,
}

impl Bound<'_> {
    /// What machine code is called with, in the order of its parameters: sizes, the leaves of the arguments, room for the results.
    pub fn parameters(&self) -> (&[i64], impl Iterator<Item = &Tensor>, &[Tensor]) {
        (&self.size_args, self.args.iter().flatten(), &self.result)
    }

    /// One run.
    pub fn run(&mut self) -> Result<(), Fault> {
        let Runnable { entry, code, precision } = self.runnable;
        match code {
            Code::Eval(program) => {
                let (result, cost) = match precision {
                    Precision::Double => evaluated::<f64>(program, entry, &self.args, &self.size_args)?,
                    Precision::Single => evaluated::<f32>(program, entry, &self.args, &self.size_args)?,
                };
                self.result = result;
                self.cost = Some(cost);
                Ok(())
            }
            Code::Loops(proc) => {
                let sizes = self.size_args.iter().map(|n| loops::eval::Arg::Scalar(lang::core::Lit::Int(*n)));
                let leaves = self.args.iter().flatten().map(loop_arg);
                let args: Vec<_> = sizes.chain(leaves).collect();
                let outcome = loops::eval::run(proc, &args).map_err(|stop| match stop {
                    loops::eval::Stop::Failed { failure, site, details } => {
                        Fault::Failed { failure, site, details }
                    }
                    loops::eval::Stop::Steps => Fault::Limit("too many steps".into()),
                    loops::eval::Stop::Bug(message) => Fault::Bug(message),
                })?;
                let result = outcome.outs.into_iter().map(|out| {
                    let data = match out.data {
                        loops::eval::Data::Real(xs) => Numbers::Real(xs).rounded(*precision),
                        loops::eval::Data::Int(xs) => Numbers::Int(xs),
                        loops::eval::Data::Bool(xs) => Numbers::Bool(xs),
                    };
                    Tensor { shape: out.shape, data }
                });
                self.result = result.collect();
                self.cost = Some(outcome.cost);
                Ok(())
            }
            #[cfg(feature = "llvm")]
            Code::Jit(jit) => run_jit(jit, &entry.def.name, &self.size_args, &self.args, &mut self.result),
        }
    }

    /// What the last run gave.
    pub fn outcome(mut self) -> Outcome {
        value::canonical(&self.runnable.entry.result, &mut self.result);
        Outcome { result: self.result, cost: self.cost }
    }
}

/// The leaves of what the evaluator makes of an entry point, and the operations it counted.
fn evaluated<N: Real>(
    program: &Program,
    entry: &Entry,
    args: &[Vec<Tensor>],
    sizes: &[i64],
) -> Result<(Vec<Tensor>, u64), Fault> {
    let slots = entry.params.iter().zip(args);
    let args: Vec<_> = slots.map(|(slot, leaves)| value::to_value::<N>(&slot.layout, leaves)).collect();
    let (result, cost) = eval::run(program, &entry.def.name, &args, sizes)?;
    let leaves = value::to_leaves(&entry.result, &result);
    Ok((leaves.ok_or_else(|| Fault::Bug("the result is not of its type".into()))?, cost.total()))
}

/// Leaves whose reals have this precision.
fn rounded(leaves: &[Tensor], precision: Precision) -> Vec<Tensor> {
    let one =
        |leaf: &Tensor| Tensor { shape: leaf.shape.clone(), data: leaf.data.clone().rounded(precision) };
    leaves.iter().map(one).collect()
}

#[cfg(feature = "llvm")]
fn run_jit(
    jit: &codegen::Jit,
    name: &Name,
    size_args: &[i64],
    args: &[Vec<Tensor>],
    result: &mut [Tensor],
) -> Result<(), Fault> {
    use codegen::{Arg, RunError, Slice, SliceMut};
    let sizes = size_args.iter().map(|n| Arg::Int(*n));
    let ins = args.iter().flatten().map(|leaf| match (&leaf.data, leaf.shape.is_empty()) {
        (Numbers::Real(xs), true) => Arg::Real(xs[0]),
        (Numbers::Single(xs), true) => Arg::Real(xs[0].into()),
        (Numbers::Int(xs), true) => Arg::Int(xs[0]),
        (Numbers::Bool(xs), true) => Arg::Bool(xs[0]),
        (Numbers::Real(xs), false) => Arg::In(Slice::Reals(xs)),
        (Numbers::Single(xs), false) => Arg::In(Slice::Singles(xs)),
        (Numbers::Int(xs), false) => Arg::In(Slice::Ints(xs)),
        (Numbers::Bool(xs), false) => Arg::In(Slice::Bools(xs)),
    });
    let outs = result.iter_mut().map(|leaf| {
        Arg::Out(match &mut leaf.data {
            Numbers::Real(xs) => SliceMut::Reals(xs),
            Numbers::Single(xs) => SliceMut::Singles(xs),
            Numbers::Int(xs) => SliceMut::Ints(xs),
            Numbers::Bool(xs) => SliceMut::Bools(xs),
        })
    });
    let mut all: Vec<Arg> = sizes.chain(ins).chain(outs).collect();
    jit.call(name, &mut all).map_err(|error| match error {
        RunError::Failed { failure, site, details } => Fault::Failed { failure, site, details },
        RunError::OutOfMemory => Fault::Limit("out of memory".into()),
        RunError::Arguments(message) => Fault::Bug(message),
    })
}

/// Room for a result with leaves of these shapes.
#[cfg(feature = "llvm")]
fn room(def: &Def, shapes: Vec<Vec<usize>>, precision: Precision) -> Result<Vec<Tensor>, Fault> {
    use lang::prim::Scalar;
    let leaves = lang::leaves::leaves(&def.result).unwrap_or_default();
    let leaf = |(leaf, shape): (&lang::leaves::Leaf, Vec<usize>)| {
        let count = shape.iter().product();
        let data = match (leaf.scalar, precision) {
            (Scalar::Real, Precision::Double) => Numbers::Real(filled(count, 0.0)?),
            (Scalar::Real, Precision::Single) => Numbers::Single(filled(count, 0.0)?),
            (Scalar::Int, _) => Numbers::Int(filled(count, 0)?),
            (Scalar::Bool, _) => Numbers::Bool(filled(count, false)?),
        };
        Ok(Tensor { shape, data })
    };
    leaves.iter().zip(shapes).map(leaf).collect()
}

/// The shapes of the result's leaves, where they are possible ones.
fn result_shapes(def: &Def, sizes: &Sizes) -> Result<Vec<Vec<usize>>, Fault> {
    let size = |n: &Size| match sizes.eval(n) {
        Some(k) if k < 0 => {
            let message = format!("the result has a negative size: {k}");
            Err(Fault::Rejected { code: codes::NEGATIVE_SIZE, message, site: None })
        }
        Some(k) => Ok(k as usize),
        None => Err(overflow(n)),
    };
    let mut shapes = vec![];
    for leaf in lang::leaves::leaves(&def.result).unwrap_or_default() {
        let shape = leaf.shape.iter().map(size).collect::<Result<Vec<usize>, Fault>>()?;
        let elements = shape.iter().try_fold(1_usize, |n, k| n.checked_mul(*k));
        if shape.iter().all(|k| *k > 0) && elements.is_none_or(|n| n > MOST_ELEMENTS) {
            let message = format!("the result would have more than {MOST_ELEMENTS} elements");
            return Err(Fault::Limit(message));
        }
        shapes.push(shape);
    }
    Ok(shapes)
}

/// Results with more elements than this are refused.
const MOST_ELEMENTS: usize = 1 << 31;

fn overflow(n: &Size) -> Fault {
    let message = format!("the size {n} does not fit in 64 bits");
    Fault::Rejected { code: typeck::codes::SIZE_OVERFLOW, message, site: None }
}

#[cfg(feature = "llvm")]
fn filled<T: Clone>(count: usize, x: T) -> Result<Vec<T>, Fault> {
    let mut out = vec![];
    let room = out.try_reserve_exact(count);
    room.map_err(|_| Fault::Limit(format!("out of memory: the result has {count} elements")))?;
    out.resize(count, x);
    Ok(out)
}

fn loop_arg(leaf: &Tensor) -> loops::eval::Arg {
    use lang::core::Lit;
    use loops::eval::{Arg, Array, Data};
    match (&leaf.data, leaf.shape.is_empty()) {
        (Numbers::Real(xs), true) => Arg::Scalar(Lit::Real(xs[0])),
        (Numbers::Single(xs), true) => Arg::Scalar(Lit::Real(xs[0].into())),
        (Numbers::Int(xs), true) => Arg::Scalar(Lit::Int(xs[0])),
        (Numbers::Bool(xs), true) => Arg::Scalar(Lit::Bool(xs[0])),
        (data, false) => {
            let data = match data {
                Numbers::Real(xs) => Data::Real(xs.clone()),
                Numbers::Single(xs) => Data::Real(xs.iter().copied().map(f64::from).collect()),
                Numbers::Int(xs) => Data::Int(xs.clone()),
                Numbers::Bool(xs) => Data::Bool(xs.clone()),
            };
            Arg::Array(Array { shape: leaf.shape.clone(), data })
        }
    }
}
