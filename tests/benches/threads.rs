//! Gradients of the GradBench suite on one thread and on two: how much sooner they are there, by the clock, and that they are the same to the bit.
//!
//! `cargo bench -p tests --bench threads`. Takes two processors that nothing else uses.

use cli::args::Engine;
use cli::data::{Numbers, Tensor};
use cli::gradbench::Module;
use cli::pipeline::Options;
use serde_json::Value as Json;
use std::time::{Duration, Instant};
use tests::by_hand::inputs;

type Case = (&'static str, &'static str, fn() -> Json);

const CASES: &[Case] = &[
    ("llsq", "gradient", || inputs::llsq(32_768, 128)),
    ("gmm", "jacobian", || inputs::gmm(32, 25, 4000)),
    ("ba", "jacobian", || inputs::ba(49, 7776, 31_843)),
];

/// Turns, and calls in each.
const ROUNDS: usize = 12;
const CALLS: usize = 10;

fn options(threads: usize) -> Options {
    Options { threads, ..Options::plain(Engine::Jit) }
}

fn bits(leaves: &[Tensor]) -> Vec<u64> {
    let numbers = leaves.iter().flat_map(|leaf| match &leaf.data {
        Numbers::Real(xs) => xs.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
        Numbers::Single(xs) => xs.iter().map(|x| u64::from(x.to_bits())).collect(),
        Numbers::Int(xs) => xs.iter().map(|k| *k as u64).collect(),
        Numbers::Bool(xs) => xs.iter().map(|b| u64::from(*b)).collect(),
    });
    numbers.collect()
}

/// The best time on one thread and on two, and the results. They run in turns, so that what else the machine does falls on both; some
/// calls in each turn, as an optimiser makes them.
fn best(module: &str, function: &str, input: &Json) -> [(Duration, Vec<u64>); 2] {
    let failed = |e: &dyn std::fmt::Debug| -> ! { panic!("{module}: {e:?}") };
    let find = |threads| Module::find(module, None, &options(threads)).unwrap_or_else(|e| failed(&e));
    let mut compiled = [find(1), find(2)];
    let mut calls =
        compiled.each_mut().map(|module| module.call(function, input).unwrap_or_else(|e| failed(&e)));
    let mut bound = calls.each_mut().map(|call| call.bind().unwrap_or_else(|e| failed(&e)));
    let mut best = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        for (bound, best) in bound.iter_mut().zip(&mut best) {
            for _ in 0..CALLS {
                let start = Instant::now();
                bound.run().unwrap_or_else(|e| failed(&e));
                *best = (*best).min(start.elapsed());
            }
        }
    }
    let [one, two] = bound.map(|bound| bits(&bound.outcome().result));
    [(best[0], one), (best[1], two)]
}

fn measure() {
    println!("{:<8}{:>14}{:>14}{:>10}", "", "one thread ms", "two threads ms", "sooner");
    for (module, function, input) in CASES {
        let [(one, a), (two, b)] = best(module, function, &input());
        assert_eq!(a, b, "{module}: the number of threads shows in the result");
        let ms = |t: Duration| t.as_secs_f64() * 1e3;
        println!("{module:<8}{:>14.3}{:>14.3}{:>10.2}", ms(one), ms(two), ms(one) / ms(two));
    }
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
