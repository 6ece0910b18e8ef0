//! Random programs on every evaluator. `ADC_PROOFS=n` runs n times as many, `ADC_PROOFS_SEED=k` starts at another seed.

use lang::precision::Precision;
use proofs::agree::{Answered, Examined, examine, examine_at_its_sizes};
use proofs::engines::{Fault, OVER_LIMIT};
use proofs::exact::examine as exact;
use proofs::r#gen::{Kind, Sample, sample};
#[cfg(feature = "llvm")]
use proofs::machine::Machine;
use proofs::shrink::shrink;

fn variable(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(otherwise)
}

/// The seeds of a run, with the size of the program at each.
fn seeds(count: u64, stream: u64) -> impl Iterator<Item = (u64, usize)> {
    let start = variable("ADC_PROOFS_SEED", 1) + stream * 1_000_000;
    (start..start + count * variable("ADC_PROOFS", 1)).map(|seed| (seed, 4 + (seed % 7) as usize * 6))
}

/// The faults, each with the smallest program that shows it.
fn report(faults: Vec<(u64, Sample, Fault)>, again: impl Fn(&Sample, u64) -> Option<Fault>) {
    if faults.is_empty() {
        return;
    }
    let total = faults.len();
    let mut stages: Vec<String> = vec![];
    let mut text = String::new();
    for (seed, sample, fault) in faults {
        if stages.contains(&fault.stage) || stages.len() == 6 {
            continue;
        }
        stages.push(fault.stage.clone());
        let small = shrink(&sample, &mut |s| again(s, seed).is_some_and(|f| f.stage == fault.stage));
        let fault = again(&small, seed).unwrap_or(fault);
        text += &format!("\nseed {seed}: {fault}\n{}", proofs::show::sample(&small));
    }
    panic!("{total} faults{text}");
}

/// Programs compiled as one module.
#[cfg(feature = "llvm")]
const BATCH: usize = 25;

/// Examined samples that are still to run as machine code.
#[cfg(feature = "llvm")]
#[derive(Default)]
struct Waiting {
    samples: Vec<(u64, Sample, Vec<Answered>)>,
}

#[cfg(feature = "llvm")]
impl Waiting {
    fn add(
        &mut self,
        seed: u64,
        sample: &Sample,
        answers: Vec<Answered>,
        faults: &mut Vec<(u64, Sample, Fault)>,
    ) {
        self.samples.push((seed, sample.clone(), answers));
        if self.samples.len() == BATCH {
            self.run(faults);
        }
    }

    fn run(&mut self, faults: &mut Vec<(u64, Sample, Fault)>) {
        let samples = std::mem::take(&mut self.samples);
        let answers: Vec<&Answered> = samples.iter().flat_map(|s| &s.2).collect();
        let machine = Machine::compile(&answers).unwrap_or_else(|fault| panic!("{fault}"));
        let mut k = 0;
        for (seed, sample, answers) in &samples {
            for answer in answers {
                if let Err(fault) = machine.check(k, answer, &sample.sizes) {
                    faults.push((*seed, sample.clone(), fault));
                }
                k += 1;
            }
        }
    }
}

/// Without LLVM there is no machine code to run.
#[cfg(not(feature = "llvm"))]
#[derive(Default)]
struct Waiting {}

#[cfg(not(feature = "llvm"))]
impl Waiting {
    fn add(&mut self, _: u64, _: &Sample, _: Vec<Answered>, _: &mut Vec<(u64, Sample, Fault)>) {}
    fn run(&mut self, _: &mut Vec<(u64, Sample, Fault)>) {}
}

/// The fault of a sample alone.
fn alone(sample: &Sample, answers: Result<Vec<Answered>, Fault>) -> Option<Fault> {
    let mut faults = vec![];
    match answers {
        Ok(answers) => {
            let mut waiting = Waiting::default();
            waiting.add(0, sample, answers, &mut faults);
            waiting.run(&mut faults);
            faults.pop().map(|f| f.2)
        }
        Err(fault) => Some(fault),
    }
}

/// One program in so many is also compiled for its sizes alone.
const SIZES_EVERY: u64 = 3;

/// The answers of a program for all sizes, unless it is the one for its sizes that has a fault.
fn all_answers(sample: &Sample, seed: u64, precision: Precision) -> Result<Vec<Answered>, Fault> {
    let Examined { answers, .. } = examine(sample, seed, precision)?;
    if seed.is_multiple_of(SIZES_EVERY) {
        examine_at_its_sizes(sample, &answers, seed, precision)?;
    }
    Ok(answers)
}

fn run(count: u64, stream: u64, precision: Precision) {
    let (mut faults, mut skipped, mut ran, mut drawn, mut redrawn, mut differences) = (vec![], 0, 0, 0, 0, 0);
    let mut recursive = 0;
    let mut waiting = Waiting::default();
    for (seed, fuel) in seeds(count, stream) {
        let sample = sample(seed, fuel, Kind::Any);
        let sample = if seed.is_multiple_of(2) { sample.with_lets() } else { sample };
        match examine(&sample, seed, precision) {
            Ok(e) => {
                ran += 1;
                drawn += e.drawn;
                redrawn += e.redrawn;
                differences += u64::from(e.differences);
                if seed.is_multiple_of(SIZES_EVERY) {
                    match examine_at_its_sizes(&sample, &e.answers, seed, precision) {
                        Ok(fixed) => waiting.add(seed, &sample.at_its_sizes(), fixed.answers, &mut faults),
                        Err(f) => faults.push((seed, sample.clone(), f)),
                    }
                }
                recursive += u64::from(sample.recursive());
                waiting.add(seed, &sample, e.answers, &mut faults);
            }
            Err(f) if f.stage == OVER_LIMIT => skipped += 1,
            Err(f) => faults.push((seed, sample, f)),
        }
    }
    waiting.run(&mut faults);
    eprintln!(
        "{ran} ran, {skipped} skipped, {redrawn} of {drawn} points redrawn, {differences} against differences, {recursive} with recursion"
    );
    report(faults, |s, seed| alone(s, all_answers(s, seed, precision)));
    assert!(redrawn * 20 <= drawn, "{redrawn} of {drawn} points were redrawn");
    assert!(skipped * 20 <= ran, "{skipped} programs took too long");
    assert!(recursive * 50 >= ran, "{recursive} of {ran} call a recursive definition");
    let laws = precision == Precision::Double;
    assert!(!laws || differences * 2 >= ran, "{differences} of {ran} compared with differences");
}

fn run_polynomials(count: u64, stream: u64) {
    let (mut faults, mut ran, mut total) = (vec![], 0, 0);
    let mut waiting = Waiting::default();
    for (seed, fuel) in seeds(count, stream) {
        let sample = sample(seed, fuel, Kind::Polynomial);
        total += 1;
        match exact(&sample, seed) {
            Ok(Some(answers)) => {
                ran += 1;
                waiting.add(seed, &sample, answers, &mut faults);
            }
            Ok(None) => {}
            Err(f) if f.stage == OVER_LIMIT => {}
            Err(f) => faults.push((seed, sample, f)),
        }
    }
    waiting.run(&mut faults);
    eprintln!("{ran} of {total} polynomial programs");
    report(faults, |s, seed| alone(s, exact(s, seed).map(Option::unwrap_or_default)));
    assert!(ran * 10 >= total * 7, "{ran} of {total} polynomial programs stay within the doubles");
}

#[test]
fn engines_agree() {
    lang::big_stack::run(|| run(100, 0, Precision::Double));
}

#[test]
fn engines_agree_in_single_precision() {
    lang::big_stack::run(|| run(50, 3, Precision::Single));
}

#[test]
fn polynomials_are_exact() {
    lang::big_stack::run(|| run_polynomials(50, 1));
}
