//! `adc test`: the `test` items of files, on every engine.

use super::subject::{data, input_slots};
use super::{fault, load, options};
use crate::args::{Engine, EngineArgs};
use crate::codes;
use crate::data::given::Inputs;
use crate::data::{Layout, Tensor, print};
use crate::entry::Entry;
use crate::pipeline::{Options, Runnable};
use crate::report::{Problem, Stop};
use crate::session::CheckedFile;
use lang::diag::Diagnostic;
use lang::precision::Precision;
use lang::surface::Relation;
use std::path::PathBuf;
use typeck::TestCase;

/// Relative tolerance of `~=` without `within`.
fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::Double => 1e-9,
        Precision::Single => 1e-4,
    }
}

/// Reals below this are compared as if they were as large: so there is an absolute tolerance, a thousandth of the relative one.
const SMALL: f64 = 1e-3;

pub fn test(files: &[PathBuf], args: &EngineArgs) -> Result<String, Stop> {
    if let Some((size, _)) = args.size.first() {
        return Err(Stop::Usage(format!("tests have no sizes to fix, so no `{size}`")));
    }
    let all = [Engine::Eval, Engine::Loops, Engine::Jit];
    let engines: Vec<Engine> = match args.engine {
        Some(engine) => vec![engine],
        None => all.into_iter().filter(|e| *e != Engine::Jit || cfg!(feature = "llvm")).collect(),
    };
    let options = options(args)?;
    let (mut problems, mut out) = (vec![], String::new());
    for path in files {
        let file = match load(path) {
            Ok(file) => file,
            Err(Stop::Problems(more)) => {
                problems.extend(more);
                continue;
            }
            Err(usage @ Stop::Usage(_)) => return Err(usage),
        };
        for case in &file.tests {
            // What goes wrong in the same way on several engines is one problem.
            let mut found: Vec<(Problem, Vec<&str>)> = vec![];
            for engine in &engines {
                let options = Options { engine: *engine, ..options.clone() };
                let more = match holds(&file, case, &options) {
                    Ok(()) => continue,
                    Err(Stop::Problems(more)) => more,
                    Err(usage @ Stop::Usage(_)) => return Err(usage),
                };
                for problem in more {
                    match found.iter_mut().find(|(p, _)| p.diagnostic == problem.diagnostic) {
                        Some((_, on)) => on.push(name(*engine)),
                        None => found.push((problem, vec![name(*engine)])),
                    }
                }
            }
            for (mut problem, on) in found {
                if on.len() < engines.len() {
                    problem.diagnostic.message += &format!(", on {}", on.join(" and "));
                }
                problems.push(problem);
            }
        }
        out += &format!("{}: {} tests, {} engines\n", file.source.path, file.tests.len(), engines.len());
    }
    if problems.is_empty() { Ok(out) } else { Err(Stop::Problems(problems)) }
}

fn name(engine: Engine) -> &'static str {
    match engine {
        Engine::Eval => "the evaluator",
        Engine::Loops => "the evaluator of loops",
        Engine::Jit => "native code",
    }
}

fn holds(file: &CheckedFile, case: &TestCase, options: &Options) -> Result<(), Stop> {
    let params = input_slots(file, &case.inputs, &case.def, 0);
    let data = data(file, &case.def, &params, Inputs::default(), &[], options.precision)?;
    let bug = || Stop::from(Diagnostic::new(codes::COMPILER_BUG, format!("`{}` is not a pair", case.name)));
    let side = Layout::of(&case.ty).ok_or_else(bug)?;
    let result = Layout::Tuple(vec![side.clone(), side]);
    let entry = Entry { def: case.def.clone(), params, result: result.clone() };
    let runnable = Runnable::at(&file.program, entry, options, &data.sizes);
    let runnable = runnable.map_err(|f| fault(file, &case.def.name, f))?;
    let outcome = runnable.call(&data.args, &data.sizes).map_err(|f| fault(file, &case.def.name, f))?;
    let Layout::Tuple(sides) = &result else { return Err(bug()) };
    let [left, right] = &sides[..] else { return Err(bug()) };
    let (l, r) = outcome.result.split_at(left.leaf_count());
    let tolerance = match case.relation {
        Relation::Exactly => None,
        Relation::Within(given) => Some(given.unwrap_or(tolerance(options.precision))),
    };
    if l.iter().zip(r).all(|(a, b)| same(a, b, tolerance)) {
        return Ok(());
    }
    let message = format!("the test `{}` does not hold", case.name);
    let mut label = format!("left {}, right {}", print::line(left, l), print::line(right, r));
    let mut help = None;
    if let Some(tolerance) = tolerance {
        let off = l.iter().zip(r).map(|(a, b)| difference(a, b)).fold(0.0, f64::max);
        label += &format!("; relative difference {off:.1e}, allowed {tolerance:?}");
        help = (off < 0.01).then_some(OTHER_TOLERANCES);
    }
    let diagnostic =
        Diagnostic { help: help.map(String::from), ..Diagnostic::new(codes::TEST_FAILED, message) };
    let diagnostic = diagnostic.label(case.span, label);
    Err(Stop::Problems(vec![Problem { source: Some(file.source.clone()), diagnostic }]))
}

const OTHER_TOLERANCES: &str =
    "another tolerance is written `a ~= b within 1e-6`, an absolute one `(abs (a - b) < 1e-6) == true`";

/// What a difference of two reals is measured by.
fn magnitude(x: f64, y: f64) -> f64 {
    x.abs().max(y.abs()).max(SMALL)
}

/// The greatest relative difference of two reals at the same place.
fn difference(a: &Tensor, b: &Tensor) -> f64 {
    match (a.data.reals(), b.data.reals()) {
        (Some(xs), Some(ys)) => {
            let one = |(x, y): (&f64, &f64)| match x == y {
                true => 0.0,
                false if x.is_finite() && y.is_finite() => (x - y).abs() / magnitude(*x, *y),
                false => f64::INFINITY,
            };
            xs.iter().zip(&*ys).map(one).fold(0.0, f64::max)
        }
        (Some(_) | None, _) => 0.0,
    }
}

/// Equal leaves; reals within a tolerance where there is one. NaN is like NaN.
fn same(a: &Tensor, b: &Tensor, tolerance: Option<f64>) -> bool {
    let close = |x: &f64, y: &f64| match tolerance {
        _ if x == y || (x.is_nan() && y.is_nan()) => true,
        // An infinity is close to itself only.
        Some(t) if x.is_finite() && y.is_finite() => (x - y).abs() <= t * magnitude(*x, *y),
        Some(_) | None => false,
    };
    a.shape == b.shape
        && match (a.data.reals(), b.data.reals()) {
            (Some(xs), Some(ys)) => xs.iter().zip(&*ys).all(|(x, y)| close(x, y)),
            (None, None) => a.data == b.data,
            (Some(_), None) | (None, Some(_)) => false,
        }
}
