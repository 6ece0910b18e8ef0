//! What a gradient costs for each basic element of its work: reference cycles, and instructions where valgrind is there to count them.

use serde_json::Value as Json;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tests::by_hand::{length, natural, reals};

/// The word before a module and a size that asks for one call of each of two functions, to be counted.
pub const COUNT: &str = "--count";

/// What a basic element is, and how many an input has.
pub fn of(module: &str, input: &Json) -> (&'static str, u64) {
    let n = |field: &str| natural(&input[field]) as u64;
    let rows = |field: &str| input[field].as_array().map_or(0, |rows| rows.len() as u64);
    match module {
        "llsq" => ("term", n("n") * length(&input["x"]) as u64),
        "lse" => ("component", length(&input["x"]) as u64),
        "ode" => ("component of a stage", 4 * n("s") * length(&input["x"]) as u64),
        "gmm" => ("element of a triangle", n("n") * n("k") * n("d") * (n("d") + 1) / 2),
        // A layer has two rows of weights, a state's row and its cell.
        "lstm" => {
            let state = reals(&input["state"]).len() as u64 / 2;
            ("element of a gate", 4 * state * (rows("sequence") - 1))
        }
        "ba" => ("observation", n("p")),
        // A minor of size k has k products, each with a minor of size k − 1.
        "det" => ("product of a minor", (2..=n("ell")).fold(0, |products, k| k * (1 + products))),
        _ => unreachable!("the modules of the table"),
    }
}

/// Ticks of the processor's time-stamp counter in a second; it runs at one speed whatever the processor's clock does.
#[cfg(target_arch = "x86_64")]
pub fn ticks_per_second() -> f64 {
    // SAFETY: reading the counter has no precondition.
    let now = || unsafe { core::arch::x86_64::_rdtsc() };
    let (start, first) = (Instant::now(), now());
    while start.elapsed() < Duration::from_millis(50) {}
    (now() - first) as f64 / start.elapsed().as_secs_f64()
}

#[cfg(not(target_arch = "x86_64"))]
pub fn ticks_per_second() -> f64 {
    f64::NAN
}

/// The work that valgrind counts.
#[inline(never)]
#[unsafe(no_mangle)]
pub extern "C" fn counted_work(run: &mut &mut dyn FnMut()) {
    run();
}

/// Runs each of two functions once as [`counted_work`].
pub fn run_counted(two: [&mut dyn FnMut(); 2]) {
    for run in two {
        // What is done in a first call only is not counted.
        run();
        counted_work(&mut { run });
    }
}

/// The instructions of the two functions that this program runs when asked to count; absent without valgrind.
pub fn instructions(module: &str, size: &str) -> Option<[u64; 2]> {
    let (own, out) = (std::env::current_exe().ok()?, std::env::temp_dir());
    let out = out.join(format!("adc-elements-{}", std::process::id()));
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--toggle-collect=counted_work", "--dump-after=counted_work"]);
    valgrind.arg(format!("--callgrind-out-file={}", out.display()));
    valgrind.arg(own).args([COUNT, module, size]);
    let ran = valgrind.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    let total = |k: usize| {
        let file = out.with_extension(k.to_string());
        let text = std::fs::read_to_string(&file).ok()?;
        let _ = std::fs::remove_file(file);
        text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok())
    };
    let counts = [total(1), total(2)];
    let _ = std::fs::remove_file(&out);
    ran.success().then_some([counts[0]?, counts[1]?])
}
