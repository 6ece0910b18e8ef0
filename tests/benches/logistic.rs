//! The gradient of the logistic loss of examples/logistic.ad at n = 100 000, d = 30 on one thread: what adc compiles, the same
//! by hand in Rust, and adc's own primal. After criterion's figures the ratios are printed, from runs that take turns.

mod thread_time;

use cli::args::Engine;
use cli::data::{Numbers, Tensor};
use cli::embed::Function;
use cli::entry::Ask;
use cli::pipeline::Options;
use criterion::Criterion;
use std::hint::black_box;
use std::time::Duration;
use thread_time::{ThreadTime, thread_time};

const N: usize = 100_000;
const D: usize = 30;
const RIDGE: f64 = 0.001;

/// Chunks of columns that the compiler makes one vector operation of.
const LANES: usize = 8;
/// Rows whose margins and exponentials are computed together in [`blocked`].
const ROWS: usize = 8;

/// The straightforward version by hand: one pass, each row read once from memory (and once more from the first-level cache), no
/// allocation, columns in explicit chunks, the C library's exp.
#[inline(always)]
fn plain(w: &[f64], xs: &[f64], ys: &[f64], out: &mut [f64]) {
    let scale = 1.0 / ys.len() as f64;
    ridge(w, out);
    for (row, y) in xs.chunks_exact(w.len()).zip(ys) {
        let z = -(y * dot(w, row));
        let e = (-z.abs()).exp();
        let sigmoid = if z >= 0.0 { 1.0 } else { e } / (1.0 + e);
        add_scaled(out, -y * sigmoid * scale, row);
    }
}

/// The version an expert tunes: rows in blocks, so that the exponentials of a block are one vector computation; exp inline.
#[inline(always)]
fn blocked(w: &[f64], xs: &[f64], ys: &[f64], out: &mut [f64]) {
    let d = w.len();
    let scale = 1.0 / ys.len() as f64;
    ridge(w, out);
    let blocks = xs.chunks_exact(d * ROWS);
    let rest = blocks.remainder();
    for (rows, y) in blocks.zip(ys.chunks_exact(ROWS)) {
        let mut z = [0.0; ROWS];
        for (k, row) in rows.chunks_exact(d).enumerate() {
            z[k] = -(y[k] * dot(w, row));
        }
        for k in 0..ROWS {
            let e = exp_of_negative(-z[k].abs());
            let sigmoid = if z[k] >= 0.0 { 1.0 } else { e } / (1.0 + e);
            z[k] = -y[k] * sigmoid * scale;
        }
        for (k, row) in rows.chunks_exact(d).enumerate() {
            add_scaled(out, z[k], row);
        }
    }
    for (row, y) in rest.chunks_exact(d).zip(&ys[ys.len() / ROWS * ROWS..]) {
        let z = -(y * dot(w, row));
        let e = (-z.abs()).exp();
        add_scaled(out, -y * (if z >= 0.0 { 1.0 } else { e } / (1.0 + e)) * scale, row);
    }
}

#[inline(always)]
fn ridge(w: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(w).for_each(|(o, w)| *o = 2.0 * RIDGE * w);
}

#[inline(always)]
fn dot(w: &[f64], row: &[f64]) -> f64 {
    let (ws, w_rest) = w.as_chunks::<LANES>();
    let (rows, row_rest) = row.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (w, x) in ws.iter().zip(rows) {
        for l in 0..LANES {
            sums[l] = w[l].mul_add(x[l], sums[l]);
        }
    }
    let (w4, w_last) = w_rest.as_chunks::<4>();
    let (x4, x_last) = row_rest.as_chunks::<4>();
    for (w, x) in w4.iter().zip(x4) {
        for l in 0..4 {
            sums[l] = w[l].mul_add(x[l], sums[l]);
        }
    }
    let half = [sums[0] + sums[4], sums[1] + sums[5], sums[2] + sums[6], sums[3] + sums[7]];
    let last = w_last.iter().zip(x_last).fold(0.0, |s, (w, x)| w.mul_add(*x, s));
    (half[0] + half[2]) + (half[1] + half[3]) + last
}

#[inline(always)]
fn add_scaled(out: &mut [f64], a: f64, row: &[f64]) {
    for (o, x) in out.iter_mut().zip(row) {
        *o = a.mul_add(*x, *o);
    }
}

/// 1/k!
const TAYLOR: [f64; 14] = {
    let mut out = [1.0; 14];
    let mut k = 1;
    while k < 14 {
        out[k] = out[k - 1] / k as f64;
        k += 1;
    }
    out
};

/// exp on (−∞, 0]: 2^k times a polynomial on [−ln 2 / 2, ln 2 / 2].
#[inline(always)]
fn exp_of_negative(x: f64) -> f64 {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let x = x.max(-708.0);
    let shifted = x.mul_add(std::f64::consts::LOG2_E, ROUND);
    let k = shifted - ROUND;
    let r = k.mul_add(-1.908_214_929_270_587_7e-10, k.mul_add(-6.931_471_803_691_238e-1, x));
    let p = TAYLOR.iter().rev().fold(0.0, |p: f64, c| p.mul_add(r, *c));
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    p * power
}

/// A version for the processor at hand: the same source, compiled for what the processor has, as adc compiles for it.
macro_rules! dispatched {
    ($name:ident, $wide:ident, $body:ident) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,bmi2")]
        fn $wide(w: &[f64], xs: &[f64], ys: &[f64], out: &mut [f64]) {
            $body(w, xs, ys, out)
        }
        fn $name(w: &[f64], xs: &[f64], ys: &[f64], out: &mut [f64]) {
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                // SAFETY: the processor has what the function needs.
                return unsafe { $wide(w, xs, ys, out) };
            }
            $body(w, xs, ys, out)
        }
    };
}
dispatched!(plain_by_hand, plain_wide, plain);
dispatched!(blocked_by_hand, blocked_wide, blocked);

/// Numbers that look random, in [−1, 1).
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn compiled(ask: Ask) -> Function {
    let path = tests::root().join("examples/logistic.ad");
    let text = std::fs::read_to_string(path).expect("the example is there");
    let options = Options::plain(Engine::Jit);
    Function::compile(&text, "loss", &ask, &options).unwrap_or_else(|e| panic!("{e:?}"))
}

fn reals(f: &Function, args: &[Vec<Tensor>]) -> Vec<f64> {
    let outcome = f.call(&[("n", N as i64), ("d", D as i64)], args).unwrap_or_else(|e| panic!("{e:?}"));
    match outcome.result.into_iter().next().map(|leaf| leaf.data) {
        Some(Numbers::Real(xs)) => xs,
        other => panic!("the result is {other:?}"),
    }
}

fn main() {
    let w = numbers(D, 1);
    let xs = numbers(N * D, 2);
    let ys: Vec<f64> = numbers(N, 3).into_iter().map(f64::signum).collect();
    let leaf = |shape: &[usize], xs: &[f64]| {
        vec![Tensor { shape: shape.to_vec(), data: Numbers::Real(xs.to_vec()) }]
    };
    let args = [leaf(&[D], &w), leaf(&[N, D], &xs), leaf(&[N], &ys)];
    let (gradient, primal) = (compiled(Ask::Grad(vec![0])), compiled(Ask::Value));

    let mut out = vec![0.0; D];
    for by_hand in [plain_by_hand, blocked_by_hand] {
        by_hand(&w, &xs, &ys, &mut out);
        let far = reals(&gradient, &args).iter().zip(&out).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 1e-12, "the gradients differ by {far}");
    }

    let mut runs: Vec<(&str, Box<dyn FnMut() + '_>)> = vec![
        ("adc gradient", Box::new(|| drop(black_box(reals(&gradient, &args))))),
        ("adc primal", Box::new(|| drop(black_box(reals(&primal, &args))))),
        ("by hand", {
            let mut out = vec![0.0; D];
            let (w, xs, ys) = (&w, &xs, &ys);
            Box::new(move || plain_by_hand(black_box(w), xs, ys, black_box(&mut out)))
        }),
        ("by hand, blocks of rows", {
            let mut out = vec![0.0; D];
            let (w, xs, ys) = (&w, &xs, &ys);
            Box::new(move || blocked_by_hand(black_box(w), xs, ys, black_box(&mut out)))
        }),
    ];

    let mut criterion = Criterion::default()
        .with_measurement(ThreadTime)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .sample_size(20)
        .configure_from_args();
    let mut group = criterion.benchmark_group("logistic");
    for (name, run) in &mut runs {
        group.bench_function(*name, |b| b.iter(&mut *run));
    }
    group.finish();

    let mut best = vec![Duration::MAX; runs.len()];
    for _ in 0..60 {
        for ((_, run), best) in runs.iter_mut().zip(&mut best) {
            let start = thread_time();
            run();
            *best = (*best).min(thread_time() - start);
        }
    }
    let ratio = |a: usize, b: usize| best[a].as_secs_f64() / best[b].as_secs_f64();
    println!("best of 60 runs in turn:");
    for ((name, _), best) in runs.iter().zip(&best) {
        println!("  {name:<24} {:7.2} ns per row", best.as_secs_f64() * 1e9 / N as f64);
    }
    println!("  gradient / by hand                 {:.2}   (aim: at most 1.2)", ratio(0, 2));
    println!("  gradient / by hand, blocks of rows {:.2}", ratio(0, 3));
    println!("  gradient / primal                  {:.2}   (aim: at most 2.5)", ratio(0, 1));
}
