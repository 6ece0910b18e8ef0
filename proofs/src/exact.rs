//! Polynomial programs at small whole numbers: no engine may round, so all agree exactly, and with the rationals.

use crate::agree::guarded;
use crate::engines::{Ask, Fault, LIMITS, OVER_LIMIT, Stages};
use crate::r#gen::Sample;
use crate::point::{Point, map_reals};
use lang::core::{Def, Lit, Program, Term, Tm};
use lang::eval::{EvalError, Number, Value, run_within};
use lang::precision::Precision;
use lang::prim::Prim;
use lang::walk::{Mapper, map_term};
use num_rational::BigRational;
use std::sync::Arc;

/// The answers of a polynomial sample, all engines agreeing; None where numbers leave what doubles have exactly.
pub fn examine(sample: &Sample, seed: u64) -> Result<Option<Vec<crate::agree::Answered>>, Fault> {
    guarded(|| examine_all(sample, seed))
}

fn examine_all(sample: &Sample, seed: u64) -> Result<Option<Vec<crate::agree::Answered>>, Fault> {
    let all = !seed.is_multiple_of(3);
    let asks = [Ask::Value, Ask::Forward { all }, Ask::Reverse { all }];
    let point = Point::random(sample, asks[1], seed);
    if !representable(sample, asks[1], &point)? {
        return Ok(None);
    }
    let mut answers = vec![];
    for ask in asks {
        let stages = Stages::new(&sample.program, &sample.name, ask, Precision::Double)?;
        let (args, sizes) = (point.args_of(ask), &sample.sizes);
        let exact: Vec<Value<BigRational>> =
            args.iter().map(|v| v.convert(&|x| BigRational::of(*x)).expect("arguments are data")).collect();
        let expected = run_within(LIMITS, &stages.program, &stages.asked.name, &exact, sizes);
        let expected = expected.map_err(|e| match e {
            EvalError::Limit(_) => Fault::new(OVER_LIMIT, ""),
            e => Fault::new("rational evaluation", e),
        })?;
        let expected = expected.0.convert(&|x| Some(x.to_f64())).expect("results are data");
        let same = |stage: &str, found: &Value<f64>| {
            crate::agree::same(&format!("exact {stage}"), ask, found, &expected)
        };
        same("Core", &stages.specified(&args, sizes)?)?;
        let target = |stage: &str, def| same(stage, &stages.target(stage, def, &args, sizes)?);
        target("normal form", &stages.normal)?;
        target("strict simplification", &stages.strict)?;
        target("simplification", &stages.default)?;
        let loops = |stage: &str, proc| stages.looped(stage, proc, &args, sizes);
        same("emitted loops", &loops("emitted", &stages.emitted)?.0)?;
        same("strict passes", &loops("strict", &stages.strict_loops)?.0)?;
        let (value, cost) = loops("default", &stages.default_loops)?;
        same("default passes", &value)?;
        answers.push(crate::agree::Answered { ask, stages, args, value, tolerance: 0.0, cost });
    }
    Ok(Some(answers))
}

/// The program with − as +, of magnitudes: its derivatives bound every intermediate of the program's.
fn representable(sample: &Sample, ask: Ask, point: &Point) -> Result<bool, Fault> {
    const WHOLE: f64 = (1u64 << 50) as f64;
    struct Majorant;
    impl Mapper for Majorant {
        fn term(&mut self, t: &Tm) -> Tm {
            let t = map_term(self, t);
            match &*t {
                Term::Lit(Lit::Real(x)) => lang::core::make::real(x.abs()),
                Term::Prim(Prim::Sub, ts) => lang::core::make::prim(Prim::Add, ts.clone()),
                Term::Prim(Prim::Neg, ts) => ts[0].clone(),
                Term::Prim(Prim::IntToReal, ts) => {
                    lang::core::make::prim(Prim::IntToReal, [lang::core::make::prim(Prim::IAbs, ts.clone())])
                }
                _ => t,
            }
        }
    }
    let defs = sample
        .program
        .defs
        .iter()
        .map(|(name, d)| (name.clone(), Arc::new(Def { body: Majorant.term(&d.body), ..(**d).clone() })));
    let program = Program { defs: defs.collect() };
    let asked = crate::engines::asked(&program.defs[&sample.name], ask);
    let program = crate::engines::resolved(&program, &asked)?;
    let large = |v: &Value<f64>| map_reals(v, &mut |_| 4.0);
    let args: Vec<Value<f64>> = point.args_of(ask).iter().map(large).collect();
    match run_within(LIMITS, &program, &asked.name, &args, &sample.sizes) {
        Ok((value, _)) => Ok(value.numbers().iter().all(|x| *x <= WHOLE)),
        Err(EvalError::Limit(_)) => Ok(false),
        Err(e) => Err(Fault::new("Core evaluation", e)),
    }
}
