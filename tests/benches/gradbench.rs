//! The functions of the GradBench suite: what adc compiles of examples/gradbench, primal and gradient, next to the same by hand
//! (tests/src/by_hand), on one thread, in processor time of that thread. All results are compared before anything is timed.
//!
//! `cargo bench -p tests --bench gradbench` prints criterion's figures at three sizes of each function; with `-- --table` only a table of
//! ratios, from the best of runs that take turns; with `-- --elements` what the gradients cost for each basic element of their work. Words after
//! `--` select modules: `-- --table llsq lse`.

mod elements;
mod thread_time;

use cli::args::Engine;
use cli::data::{Numbers, Tensor};
use cli::gradbench::{Call, Module, allocations_in_loops};
use cli::pipeline::{Bound, Options};
use criterion::Criterion;
use serde_json::Value as Json;
use std::time::{Duration, Instant};
use tests::by_hand::{ByHand, inputs, naive, tuned};
use thread_time::{ThreadTime, thread_time};

/// A function of the suite at one size.
struct Case {
    module: &'static str,
    size: &'static str,
    input: fn() -> Json,
    /// Is it a row of the table?
    row: bool,
}

const fn case(module: &'static str, size: &'static str, row: bool, input: fn() -> Json) -> Case {
    Case { module, size, input, row }
}

const CASES: &[Case] = &[
    case("llsq", "64×16", false, || inputs::llsq(64, 16)),
    case("llsq", "1024×128", false, || inputs::llsq(1024, 128)),
    case("llsq", "4096×128", true, || inputs::llsq(4096, 128)),
    case("lse", "2500", false, || inputs::lse(2500)),
    case("lse", "100000", true, || inputs::lse(100_000)),
    case("lse", "1280000", false, || inputs::lse(1_280_000)),
    case("ode", "100×10", false, || inputs::ode(100, 10)),
    case("ode", "1000×100", true, || inputs::ode(1000, 100)),
    case("ode", "10000×100", true, || inputs::ode(10_000, 100)),
    case("gmm", "d2 k5 n1000", false, || inputs::gmm(2, 5, 1000)),
    case("gmm", "d10 k25 n1000", true, || inputs::gmm(10, 25, 1000)),
    case("gmm", "d32 k25 n1000", true, || inputs::gmm(32, 25, 1000)),
    case("lstm", "1×64×8", false, || inputs::lstm(1, 64, 8)),
    case("lstm", "2×1024×14", true, || inputs::lstm(2, 1024, 14)),
    case("lstm", "4×4096×14", true, || inputs::lstm(4, 4096, 14)),
    case("ba", "5, 100, 500", false, || inputs::ba(5, 100, 500)),
    case("ba", "21, 2000, 8000", false, || inputs::ba(21, 2000, 8000)),
    case("ba", "49, 7776, 31843", true, || inputs::ba(49, 7776, 31_843)),
    case("det", "5", false, || inputs::det(5)),
    case("det", "7", false, || inputs::det(7)),
    case("det", "8", true, || inputs::det(8)),
];

/// The names that a module has for its primal and its derivative.
fn names(module: &str) -> [&'static str; 2] {
    match module {
        "gmm" | "lstm" | "ba" => ["objective", "jacobian"],
        _ => ["primal", "gradient"],
    }
}

/// A function of adc's, compiled.
fn compiled(module: &str) -> Module {
    let options = Options::plain(Engine::Jit);
    Module::find(module, None, &options).unwrap_or_else(|e| panic!("{module}: {e:?}"))
}

fn bound<'c>(call: &'c Call<'_>) -> Bound<'c> {
    call.bind().unwrap_or_else(|e| panic!("{e:?}"))
}

fn run(bound: &mut Bound<'_>) {
    bound.run().unwrap_or_else(|e| panic!("{e:?}"));
}

/// The leaves as one list of numbers.
fn flat(leaves: &[Tensor]) -> Vec<f64> {
    let numbers = leaves.iter().flat_map(|leaf| match &leaf.data {
        Numbers::Real(xs) => xs.clone(),
        Numbers::Single(xs) => xs.iter().copied().map(f64::from).collect(),
        Numbers::Int(xs) => xs.iter().map(|k| *k as f64).collect(),
        Numbers::Bool(xs) => xs.iter().map(|b| f64::from(u8::from(*b))).collect(),
    });
    numbers.collect()
}

/// The largest difference, relative to the largest number.
fn far(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = b.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
    a.iter().zip(b).fold(0.0, |m, (a, b)| f64::max(m, if a == b { 0.0 } else { (a - b).abs() / size }))
}

/// Runs of one case: adc's primal and gradient, and those by hand.
type Runs<'a> = Vec<(&'static str, Box<dyn FnMut() + 'a>)>;

/// What adc's gradient needs besides time.
struct Memory {
    /// The most memory during a call, without what was there before it: arguments and the room for the result.
    bytes: u64,
    allocations_in_loops: usize,
}

/// A line of the kernel's account of this process, in bytes.
fn account(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// The peak of resident memory during work, less what was resident before.
fn peak(work: impl FnOnce()) -> u64 {
    cli::embed::free_spare();
    // SAFETY: gives back what is free, so that it is counted when it is used again.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::malloc_trim(0);
    }
    // The highest mark begins here again.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = account("VmRSS");
    work();
    account("VmHWM").saturating_sub(before)
}

/// Compiles and compares a case, and hands its runs on.
fn with_case(case: &Case, go: impl FnOnce(&mut Runs<'_>, Memory)) {
    let input = (case.input)();
    let (mut for_primal, mut for_gradient) = (compiled(case.module), compiled(case.module));
    let [primal, gradient] = names(case.module);
    let called = |e| panic!("{}: {e:?}", case.module);
    let primal = for_primal.call(primal, &input).unwrap_or_else(called);
    let gradient = for_gradient.call(gradient, &input).unwrap_or_else(called);

    let by_hand = || naive(case.module, &input).expect("the function is there by hand");
    let mut plain: [Box<dyn ByHand>; 2] = [by_hand(), by_hand()];
    plain[0].primal();
    plain[1].gradient();
    for (call, expected) in [(&primal, plain[0].value()), (&gradient, plain[1].slopes())] {
        let mut bound = bound(call);
        run(&mut bound);
        let far = far(&flat(&bound.outcome().result), &expected);
        assert!(far < 1e-10, "{} {}: results differ by {far:e}", case.module, case.size);
    }

    let mut fast = [tuned(case.module, &input), tuned(case.module, &input)];
    if let [Some(primal), Some(gradient)] = &mut fast {
        primal.primal();
        gradient.gradient();
        let far =
            f64::max(far(&primal.value(), &plain[0].value()), far(&gradient.slopes(), &plain[1].slopes()));
        assert!(far < 1e-10, "{} {}: the versions by hand differ by {far:e}", case.module, case.size);
    }

    let [plain_primal, plain_gradient] = &mut plain;
    let loops = gradient.loops();
    let (mut primal, mut gradient) = (bound(&primal), bound(&gradient));
    let memory = Memory {
        bytes: peak(|| run(&mut gradient)),
        allocations_in_loops: loops.map_or(0, |proc| allocations_in_loops(&proc)),
    };
    let mut runs: Runs<'_> = vec![
        ("adc primal", Box::new(|| run(&mut primal))),
        ("adc gradient", Box::new(|| run(&mut gradient))),
        ("plain primal", Box::new(|| plain_primal.primal())),
        ("plain gradient", Box::new(|| plain_gradient.gradient())),
    ];
    if let [Some(primal), Some(gradient)] = &mut fast {
        runs.push(("tuned primal", Box::new(|| primal.primal())));
        runs.push(("tuned gradient", Box::new(|| gradient.gradient())));
    }
    go(&mut runs, memory);
}

/// The best times of runs that take turns, each repeated as often as makes a time that the clock can tell.
fn best(runs: &mut Runs<'_>) -> Vec<Duration> {
    const ENOUGH: Duration = Duration::from_micros(200);
    const PATIENCE: Duration = Duration::from_millis(1500);
    let mut repeats = vec![1_u32; runs.len()];
    for ((_, run), repeats) in runs.iter_mut().zip(&mut repeats) {
        // The first times are longer.
        let mut once = Duration::MAX;
        for _ in 0..5 {
            let start = thread_time();
            run();
            once = once.min((thread_time() - start).max(Duration::from_nanos(50)));
        }
        *repeats = (ENOUGH.as_nanos() / once.as_nanos()).clamp(1, 4000) as u32;
    }
    let mut best = vec![Duration::MAX; runs.len()];
    let (start, mut rounds) = (Instant::now(), 0);
    while rounds < 4 || (rounds < 200 && start.elapsed() < PATIENCE) {
        for ((_, run), (best, repeats)) in runs.iter_mut().zip(best.iter_mut().zip(&repeats)) {
            let start = thread_time();
            (0..*repeats).for_each(|_| run());
            *best = (*best).min((thread_time() - start) / *repeats);
        }
        rounds += 1;
    }
    best
}

fn table(chosen: impl Fn(&Case) -> bool) {
    println!("milliseconds of processor time, one thread, best of runs in turn; then ratios\n");
    let groups =
        [("", 20), ("adc", 20), ("plain", 20), ("tuned", 20), ("gradient to", 20), ("primal to", 16)];
    groups.iter().for_each(|(title, width)| print!("{title:>width$}"));
    println!("{:>10}{:>11}{:>9}", "gradient", "scratch", "allocs");
    print!("{:<20}", "");
    (0..3).for_each(|_| print!("{:>10}{:>10}", "primal", "gradient"));
    println!(
        "{:>12}{:>8}{:>8}{:>8}{:>10}{:>11}{:>9}",
        "plain", "tuned", "plain", "tuned", "to primal", "MiB", "in loops"
    );
    for case in CASES.iter().filter(|c| c.row && chosen(c)) {
        with_case(case, |runs, memory| {
            let best = best(runs);
            let ms = |k: usize| best.get(k).map_or(f64::NAN, |t| t.as_secs_f64() * 1e3);
            print!("{:<20}", format!("{} {}", case.module, case.size));
            (0..6).for_each(|k| print!("{:>10.4}", ms(k)));
            print!("{:>12.2}{:>8.2}", ms(1) / ms(3), ms(1) / ms(5));
            print!("{:>8.2}{:>8.2}", ms(0) / ms(2), ms(0) / ms(4));
            print!("{:>10.2}", ms(1) / ms(0));
            println!("{:>11.2}{:>9}", memory.bytes as f64 / f64::from(1 << 20), memory.allocations_in_loops);
        });
    }
}

/// For each basic element of the work: nanoseconds, ticks of the time-stamp counter and instructions of the gradients.
fn elements(chosen: impl Fn(&Case) -> bool) {
    let per_nanosecond = elements::ticks_per_second() * 1e-9;
    println!(
        "gradients by basic element, one thread; {per_nanosecond:.2} reference cycles in a nanosecond\n"
    );
    println!("{:<20}{:<24}{:>12}{:>20}{:>20}{:>20}", "", "", "", "ns", "cycles", "instructions");
    print!("{:<20}{:<24}{:>12}", "", "element", "count");
    (0..3).for_each(|_| print!("{:>10}{:>10}", "adc", "tuned"));
    println!();
    for case in CASES.iter().filter(|c| c.row && chosen(c)) {
        let (element, count) = elements::of(case.module, &(case.input)());
        print!("{:<20}{element:<24}{count:>12}", format!("{} {}", case.module, case.size));
        with_case(case, |runs, _| {
            runs.retain(|(name, _)| ["adc gradient", "tuned gradient"].contains(name));
            let each = |x: f64| x / count as f64;
            let best: Vec<f64> = best(runs).iter().map(|t| each(t.as_secs_f64() * 1e9)).collect();
            best.iter().for_each(|ns| print!("{ns:>10.3}"));
            best.iter().for_each(|ns| print!("{:>10.2}", ns * per_nanosecond));
        });
        match elements::instructions(case.module, case.size) {
            Some(counts) => counts.iter().for_each(|k| print!("{:>10.2}", *k as f64 / count as f64)),
            None => print!("{:>10}{:>10}", "–", "–"),
        }
        println!();
    }
}

/// One call of a case's gradient, adc's and the tuned one, for valgrind to count.
fn count(case: &Case) {
    let input = (case.input)();
    let mut module = compiled(case.module);
    let [_, gradient] = names(case.module);
    let call = module.call(gradient, &input).unwrap_or_else(|e| panic!("{e:?}"));
    let mut bound = bound(&call);
    let mut fast = tuned(case.module, &input).expect("rows of the table have tuned versions");
    elements::run_counted([&mut || run(&mut bound), &mut || fast.gradient()]);
}

fn main() {
    // On the compiler's deep stack.
    let done = cli::guard::run(|| {
        measure();
        Ok(())
    });
    if let Err(stop) = done {
        eprintln!("{stop:?}");
        std::process::exit(1);
    }
}

fn measure() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let asked = |word: &str| words.iter().any(|a| a == word);
    if let [_, module, size, ..] = words.as_slice()
        && asked(elements::COUNT)
    {
        return CASES.iter().filter(|c| c.module == module && c.size == size).for_each(count);
    }
    let modules: Vec<&String> = words.iter().filter(|a| !a.starts_with("--")).collect();
    let chosen = |case: &Case| modules.is_empty() || modules.iter().any(|m| **m == case.module);
    if asked("--table") {
        return table(chosen);
    }
    if asked("--elements") {
        return elements(chosen);
    }
    let mut criterion = Criterion::default()
        .with_measurement(ThreadTime)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(10)
        .configure_from_args();
    for case in CASES {
        with_case(case, |runs, _| {
            let mut group = criterion.benchmark_group(format!("{} {}", case.module, case.size));
            for (name, run) in runs {
                group.bench_function(*name, |b| b.iter(&mut *run));
            }
            group.finish();
        });
    }
}
