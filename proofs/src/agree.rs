//! What must agree on a random program, and how closely.
//!
//! * Values and forward derivatives: the same bits on the evaluators of Core, of Target, of loops as emitted and after strict passes. But the
//!   forward derivative of an application adds what comes through the function to what comes through the argument, where the normal form,
//!   which has applied the function, computes both as one: then up to that tolerance.
//! * Reverse derivatives: the same bits between loops as emitted and after strict passes; against Core and Target up to the order of
//!   additions, that is within 1e-12 times a condition estimate.
//! * In single precision likewise, with 5e-4 in place of 1e-12 and without the laws.
//! * After the default passes: everything within that tolerance.
//! * Laws: the value inside a derivative is the value; ⟨w, Jv⟩ = ⟨Jᵗw, v⟩; Jv is the limit of central differences.

use crate::engines::{Ask, Fault, OVER_LIMIT, Stages};
use crate::r#gen::Sample;
use crate::marked::{self, Seen};
use crate::point::Point;
use lang::core::{Term, Tm};
use lang::eval::{Number, Value};
use lang::precision::Precision;
use lang::walk::{Mapper, map_term};

/// One question about a sample, through all stages, and its answers.
pub struct Answered {
    pub ask: Ask,
    pub stages: Stages,
    pub args: Vec<Value<f64>>,
    /// By the loop evaluator after strict passes.
    pub value: Value<f64>,
    pub tolerance: f64,
    pub cost: u64,
}

/// What became of a sample.
pub struct Examined {
    pub sizes: Vec<i64>,
    pub answers: Vec<Answered>,
    /// Points drawn, and how many of them were too near to a branch.
    pub drawn: usize,
    pub redrawn: usize,
    /// Central differences were compared.
    pub differences: bool,
}

/// Runs a sample on every evaluator. A fault in the stage [`OVER_LIMIT`] is a program to skip.
pub fn examine(sample: &Sample, seed: u64, precision: Precision) -> Result<Examined, Fault> {
    guarded(|| lang::big_stack::run(|| examine_all(sample, seed, precision)))
}

/// The same for the program at its sizes alone, whose answers are those of the program for all sizes.
pub fn examine_at_its_sizes(
    sample: &Sample,
    general: &[Answered],
    seed: u64,
    precision: Precision,
) -> Result<Examined, Fault> {
    let examined = examine(&sample.at_its_sizes(), seed, precision)?;
    for (found, expected) in examined.answers.iter().zip(general) {
        near("for its sizes", found.ask, &found.value, &expected.value, expected.tolerance)?;
    }
    Ok(examined)
}

/// A panic of a stage is a fault.
pub fn guarded<T>(f: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        let message =
            message.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default();
        let head: String = message.chars().take(24).collect();
        Err(Fault::new(format!("panic {head}"), message))
    })
}

fn examine_all(sample: &Sample, seed: u64, precision: Precision) -> Result<Examined, Fault> {
    let all = !seed.is_multiple_of(3);
    let asks = [Ask::Value, Ask::Forward { all }, Ask::Reverse { all }];
    let mut drawn = 0;
    let (point, seen) = loop {
        let point = Point::random(sample, asks[1], seed.wrapping_add(1000 * drawn as u64)).rounded(precision);
        drawn += 1;
        let seen = decisions(sample, &point.args)?;
        if seen.margin > 1e-6 || drawn == 20 {
            break (point, seen);
        }
    };
    let mut answers = vec![];
    for ask in asks {
        answers.push(answer(sample, ask, &point, seen, precision)?);
    }
    // The laws are about the program, whatever the precision.
    let differences = match precision {
        Precision::Double => laws(sample, asks[1], &point, seen, &answers)?,
        Precision::Single => false,
    };
    Ok(Examined { sizes: sample.sizes.clone(), answers, drawn, redrawn: drawn - 1, differences })
}

fn decisions(sample: &Sample, args: &[Value<f64>]) -> Result<Seen, Fault> {
    let ran = marked::seen(crate::engines::LIMITS, &sample.program, &sample.name, args, &sample.sizes);
    ran.map(|(_, seen)| seen).map_err(|e| match e {
        lang::eval::EvalError::Limit(_) => Fault::new(OVER_LIMIT, ""),
        e => Fault::new("Core evaluation", e),
    })
}

/// The same bits?
pub fn same(stage: &str, ask: Ask, found: &Value<f64>, expected: &Value<f64>) -> Result<(), Fault> {
    if found.same(expected) { Ok(()) } else { Err(differ(stage, ask, found, expected)) }
}

/// Within the tolerance?
pub fn near(
    stage: &str,
    ask: Ask,
    found: &Value<f64>,
    expected: &Value<f64>,
    tolerance: f64,
) -> Result<(), Fault> {
    if tolerance.is_infinite() || found.equal_by(expected, &|a, b| a.close(b, tolerance, tolerance)) {
        return Ok(());
    }
    Err(differ(stage, ask, found, expected))
}

fn differ(stage: &str, ask: Ask, found: &Value<f64>, expected: &Value<f64>) -> Fault {
    Fault::new(format!("{stage} {}", ask.suffix()), format!("{found:?}\n    instead of {expected:?}"))
}

/// A relative change that is some thousand roundings.
fn little(precision: Precision) -> f64 {
    match precision {
        Precision::Double => 1e-12,
        Precision::Single => 5e-4,
    }
}

fn answer(
    sample: &Sample,
    ask: Ask,
    point: &Point,
    seen: Seen,
    precision: Precision,
) -> Result<Answered, Fault> {
    let stages = Stages::new(&sample.program, &sample.name, ask, precision)?;
    let (args, sizes) = (point.args_of(ask), &sample.sizes);
    let specified = stages.specified(&args, sizes)?;
    let target = |stage: &str, def| stages.target(stage, def, &args, sizes);
    let normal = target("normal form", &stages.normal)?;
    let simplified = target("strict simplification", &stages.strict)?;
    let default_simplified = target("simplification", &stages.default)?;
    let loops = |stage: &str, proc| stages.looped(stage, proc, &args, sizes);
    let (emitted, _) = loops("emitted", &stages.emitted)?;
    let (strict_emitted, _) = loops("strict emitted", &stages.strict_emitted)?;
    let (strict, _) = loops("strict", &stages.strict_loops)?;
    let (default, cost) = loops("default", &stages.default_loops)?;
    // How much the answer moves when every real moves a little.
    let little = little(precision);
    let mut tolerance = little * size(&specified);
    for k in 0..2 {
        let other = point.perturbed(k, little).rounded(precision).args_of(ask);
        let (moved, _) = stages.looped("strict", &stages.strict_loops, &other, sizes)?;
        tolerance = tolerance.max(4.0 * distance(&moved, &strict));
    }
    // At a tie the pieces of a program may differ by anything.
    if seen.margin < 1e3 * little || !tolerance.is_finite() {
        tolerance = f64::INFINITY;
    }
    let exactly = match ask {
        Ask::Value => true,
        Ask::Forward { .. } => !applies(sample),
        Ask::Reverse { .. } => false,
    };
    let like = |stage: &str, value: &Value<f64>| {
        if exactly {
            same(stage, ask, value, &specified)
        } else {
            near(stage, ask, value, &specified, tolerance)
        }
    };
    like("normal form", &normal)?;
    like("strict simplification", &simplified)?;
    near("simplification", ask, &default_simplified, &specified, tolerance)?;
    like("emitted loops", &emitted)?;
    like("strict emitted loops", &strict_emitted)?;
    same("strict passes", ask, &strict, &strict_emitted)?;
    near("default passes", ask, &default, &specified, tolerance)?;
    Ok(Answered { ask, stages, args, value: strict, tolerance, cost })
}

/// The greatest magnitude in a value, at least 1.
pub fn size(v: &Value<f64>) -> f64 {
    v.numbers().into_iter().fold(1.0, |m: f64, x| m.max(x.abs()))
}

fn distance(a: &Value<f64>, b: &Value<f64>) -> f64 {
    a.numbers().into_iter().zip(b.numbers()).fold(0.0, |m: f64, (x, y)| m.max((x - y).abs()))
}

fn half(v: &Value<f64>, k: usize) -> &Value<f64> {
    &v.as_tuple().expect("a pair of value and derivative")[k]
}

fn dot(a: &Value<f64>, b: &Value<f64>) -> f64 {
    a.numbers().into_iter().zip(b.numbers()).map(|(x, y)| x * y).sum()
}

/// The laws, on the strict loops' answers. True when central differences could be compared.
fn laws(sample: &Sample, ask: Ask, point: &Point, seen: Seen, answers: &[Answered]) -> Result<bool, Fault> {
    let [value, forward, reverse] = answers else { unreachable!("three questions") };
    same("value inside", ask, half(&forward.value, 0), &value.value)?;
    same("value inside", Ask::Reverse { all: true }, half(&reverse.value, 0), &value.value)?;
    // ⟨w, Jv⟩ = ⟨Jᵗw, v⟩
    let (jv, jtw) = (half(&forward.value, 1), half(&reverse.value, 1));
    let (left, right) = (dot(&point.cotangent, jv), dot(jtw, &point.tangent));
    let count = 1.0 + jv.numbers().len().max(jtw.numbers().len()) as f64;
    let tolerance = count * (forward.tolerance + reverse.tolerance);
    if !left.close(&right, 1e-13, tolerance) {
        return Err(Fault::new(
            "adjointness",
            format!("⟨w, Jv⟩ = {left:e}, ⟨Jᵗw, v⟩ = {right:e} (±{tolerance:e})"),
        ));
    }
    differences(sample, ask, point, seen, jv)
}

/// Jv as (f(x + hv) − f(x − hv)) / 2h, for two steps; where both sides lie on the piece of x.
fn differences(sample: &Sample, ask: Ask, point: &Point, seen: Seen, jv: &Value<f64>) -> Result<bool, Fault> {
    if detaches(sample) {
        return Ok(false);
    }
    let at = |h: f64| {
        let args = point.moved(ask, h);
        let ran = marked::seen(crate::engines::LIMITS, &sample.program, &sample.name, &args, &sample.sizes);
        ran.map_err(|e| Fault::new("Core evaluation", e))
    };
    for h in [1e-4, 1e-5] {
        let mut slopes = vec![];
        let mut one_piece = true;
        for h in [h, h / 2.0] {
            let ((above, a), (below, b)) = (at(h)?, at(-h)?);
            one_piece &= a.trace == seen.trace && b.trace == seen.trace;
            let slope = above.numbers().into_iter().zip(below.numbers()).map(|(x, y)| (x - y) / (2.0 * h));
            slopes.push((slope.collect::<Vec<f64>>(), size(&above)));
        }
        if !one_piece {
            continue;
        }
        let ((wide, scale), (narrow, _)) = (&slopes[0], &slopes[1]);
        for ((x, wide), narrow) in jv.numbers().iter().zip(wide).zip(narrow) {
            let tolerance = 1e-6 * (scale + x.abs()) + 10.0 * (wide - narrow).abs();
            if !x.is_finite() || (x - narrow).abs() > tolerance {
                return Err(Fault::new(
                    "central differences",
                    format!("Jv has {x}, differences give {narrow}"),
                ));
            }
        }
        return Ok(true);
    }
    Ok(false)
}

/// Whether a derivative is deliberately not the derivative.
fn detaches(sample: &Sample) -> bool {
    has(sample, &|t| matches!(t, Term::Detach(_)))
}

/// Whether functions are applied other than by name.
fn applies(sample: &Sample) -> bool {
    has(sample, &|t| matches!(t, Term::App(..)))
}

fn has(sample: &Sample, which: &dyn Fn(&Term) -> bool) -> bool {
    struct Find<'a>(bool, &'a dyn Fn(&Term) -> bool);
    impl Mapper for Find<'_> {
        fn term(&mut self, t: &Tm) -> Tm {
            self.0 |= self.1(t);
            map_term(self, t)
        }
    }
    let mut find = Find(false, which);
    sample.program.defs.values().for_each(|d| {
        find.term(&d.body);
    });
    find.0
}
