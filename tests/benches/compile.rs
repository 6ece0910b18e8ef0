//! From text to code that runs: processor time by stage, for the gradients of examples/logistic.ad's loss and of a program of twenty
//! lines, how it grows with lets, calls, branches and lines, and what formatting and checking long files costs. Best of a few compilations each, so first-time costs of the process are
//! apart, in the row "first"; the last table runs the command itself, start of the process and all.
//!
//! `cargo bench -p tests --bench compile` prints all tables; a word after `--` selects those whose name contains it.

use cli::args::Engine;
use cli::embed::Function;
use cli::entry::Ask;
use cli::pipeline::Options;
use cli::session::Compiler;
use std::process::Command;
use std::time::Duration;
use tests::generated;

/// As in the binary `adc`.
#[global_allocator]
static ALLOCATOR: cli::memory::Allocator = cli::memory::Allocator;

const TYPICAL: &str = "\
-- A nonlinear least-squares fit with two kinds of features and a robust loss.
def gauss (centre : real) (width : real) (x : real) : real =
  let z = (x - centre) / width in
  exp (-(z * z) / 2.0)

def huber (delta : real) (r : real) : real =
  if abs r < delta then r * r / 2.0 else delta * (abs r - delta / 2.0)

def model [k] (heights : real^k) (centres : real^k) (widths : real^k) (slope : real) (x : real) : real =
  slope * x + sum [ heights[j] * gauss centres[j] widths[j] x | j < k ]

def penalty [k] (widths : real^k) : real =
  sum (map (\\w -> log w ^ 2) widths)

def error [n, k] (heights : real^k) (centres : real^k) (widths : real^k) (slope : real) (xs : real^n) (ys : real^n) : real =
  let fitted = map (\\x -> model heights centres widths slope x) xs in
  let residuals = ys - fitted in
  sum (map (\\r -> huber 1.0 r) residuals) / real n + 0.01 * penalty widths
  + 0.001 * dot heights heights
";

/// Stage and processor time, in the order of the stages.
type Laps = Vec<(&'static str, Duration)>;

fn compile(text: &str, name: &str, ask: &Ask) -> Laps {
    let options = Options::plain(Engine::Jit);
    cli::timing::take();
    let compiled = Function::compile(text, name, ask, &options);
    compiled.unwrap_or_else(|e| panic!("{name}: {e:?}\n{text}"));
    cli::timing::take()
}

/// The best time of each stage.
fn best(rounds: usize, text: &str, name: &str, ask: &Ask) -> Laps {
    let mut out = compile(text, name, ask);
    for _ in 1..rounds {
        for (best, (stage, time)) in out.iter_mut().zip(compile(text, name, ask)) {
            assert_eq!(best.0, stage);
            best.1 = best.1.min(time);
        }
    }
    out
}

/// Stages down, programs across.
fn table(title: &str, columns: &[(String, Laps)]) {
    println!("\n{title}: milliseconds of processor time");
    print!("{:<18}", "");
    columns.iter().for_each(|(name, _)| print!("{name:>14}"));
    println!();
    let ms = |t: Duration| t.as_secs_f64() * 1e3;
    for (k, (stage, _)) in columns[0].1.iter().enumerate() {
        print!("{stage:<18}");
        columns.iter().for_each(|(_, laps)| print!("{:>14.2}", ms(laps[k].1)));
        println!();
    }
    print!("{:<18}", "total");
    columns.iter().for_each(|(_, laps)| print!("{:>14.2}", ms(total(laps))));
    println!();
}

fn total(laps: &Laps) -> Duration {
    laps.iter().map(|(_, t)| *t).sum()
}

/// One program at several sizes; the last two sizes differ by a factor of ten.
fn growth(title: &str, sizes: &[usize], program: impl Fn(usize) -> String) {
    let columns: Vec<(String, Laps)> =
        sizes.iter().map(|n| (n.to_string(), best(5, &program(*n), "f", &Ask::Grad(vec![0])))).collect();
    table(title, &columns);
    let [.., (_, small), (_, large)] = &columns[..] else { return };
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64().max(1e-9);
    let stages = small.iter().zip(large);
    let stages = stages.map(|((stage, a), (_, b))| format!("{stage} {:.1}", ratio(*b, *a)));
    println!("ten times the size costs {:.1} times (aim: at most 12)", ratio(total(large), total(small)));
    println!("  by stage: {}", stages.collect::<Vec<_>>().join(", "));
}

/// The aim for a check after an edit, whatever the length of the file.
const RECHECK: Duration = Duration::from_millis(50);

/// Files of generated definitions: formatted, checked from the text, and checked again after an edit of one definition's body.
fn checks() {
    println!("\nfmt and check of generated definitions: milliseconds of processor time, best of 5");
    println!("{:<18}{:>14}{:>14}{:>14}{:>14}", "lines", "fmt", "check", "after an edit", "of the first");
    for lines in [10, 100, 1000, 10_000] {
        let text = generated::definitions(lines);
        let edited = text.replacen("+ s |", "- s |", 1);
        let (mut formatted, mut first, mut again) = (Duration::MAX, Duration::MAX, Duration::MAX);
        for _ in 0..5 {
            let mut db = Compiler::default();
            let file = db.source("a.ad", &text);
            timed(&mut formatted, || assert!(lang::surface::format::format(&text).is_ok()));
            timed(&mut first, || assert!(db.check(file).is_ok()));
            db.edit(file, &edited);
            timed(&mut again, || assert!(db.check(file).is_ok()));
        }
        let ms = |t: Duration| t.as_secs_f64() * 1e3;
        let ratio = again.as_secs_f64() / first.as_secs_f64();
        let times = [formatted, first, again].map(|t| format!("{:>14.2}", ms(t))).concat();
        println!("{lines:<18}{times}{:>13.1}%", 100.0 * ratio);
        if again > RECHECK {
            println!("  above the aim of {} ms after an edit", RECHECK.as_millis());
        }
    }
}

/// The processor time of f, where it is the best so far.
fn timed(best: &mut Duration, f: impl FnOnce()) {
    let start = cli::timing::used();
    f();
    *best = (*best).min(cli::timing::used() - start);
}

/// Processor time of the command, run as a process of its own that keeps compiled code there, or `off`.
fn command(args: &[&str], cache: &str) -> Duration {
    let children = || {
        // SAFETY: the call fills the struct it is given.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage), 0);
            usage
        };
        let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
        time(usage.ru_utime) + time(usage.ru_stime)
    };
    let before = children();
    let mut command = Command::new(env!("CARGO_BIN_EXE_adc-under-test"));
    let ran = command.args(args).current_dir(tests::root()).env("ADC_CACHE", cache).output();
    assert!(ran.is_ok_and(|ran| ran.status.success()), "{args:?}");
    children() - before
}

fn main() {
    cli::memory::keep_for_a_second();
    cli::timing::switch_on();
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let chosen = |name: &str| wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str()));

    let logistic =
        std::fs::read_to_string(tests::root().join("examples/logistic.ad")).expect("the example is there");
    let typical_ask = Ask::Grad(vec![0, 1, 2, 3]);
    if chosen("programs") {
        let loss = Ask::Grad(vec![0]);
        let first = compile(&logistic, "loss", &loss);
        let columns = [
            ("first".to_string(), first),
            ("logistic loss".to_string(), best(8, &logistic, "loss", &loss)),
            ("twenty lines".to_string(), best(8, TYPICAL, "error", &typical_ask)),
        ];
        table("gradients", &columns);
    }
    let grown: [(&str, &[usize], fn(usize) -> String); 8] = [
        ("a chain of lets", &[10, 100, 1000], generated::chain_of_lets),
        ("a chain of arrays", &[10, 100, 1000], generated::chain_of_arrays),
        ("lets used late", &[10, 100, 1000], generated::lets_used_late),
        ("nested calls", &[10, 100], generated::nested_calls),
        ("an array written out", &[10, 100, 1000], generated::written_array),
        ("a chain of branches", &[10, 100], generated::chain_of_branches),
        ("nested branches", &[10, 100], generated::nested_branches),
        ("lines", &[10, 100, 1000], generated::array_definitions),
    ];
    for (title, sizes, program) in grown {
        if chosen(title) {
            growth(title, sizes, program);
        }
    }
    if chosen("check") {
        let ran = cli::guard::run(|| {
            checks();
            Ok(())
        });
        assert!(ran.is_ok());
    }
    if chosen("command") {
        println!("\nthe command as a process: milliseconds of processor time, best of 8");
        let data = r#"{"w": [0.1, 0.2], "xs": [[1, 2], [3, 4]], "ys": [1, -1]}"#;
        let runs: [&[&str]; 3] = [
            &["--version"],
            &["check", "examples/logistic.ad"],
            &["grad", "examples/logistic.ad", "loss", "--wrt", "w", "--args", data],
        ];
        let best =
            |args: &[&str], cache: &str| (0..8).map(|_| command(args, cache)).min().unwrap_or_default();
        let row = |time: Duration, args: &[&str], note: &str| {
            println!("{:>8.1}  adc {}{note}", time.as_secs_f64() * 1e3, args[..args.len().min(3)].join(" "));
        };
        runs.iter().for_each(|args| row(best(args, "off"), args, ""));
        if let Ok(kept) = tests::Scratch::new("compile-bench") {
            row(best(runs[2], &kept.0.display().to_string()), runs[2], ", a second run");
        }
    }
}
