//! What is written as arithmetic or done in another order than the program's, unless the options ask for the C library's bits and the
//! program's order: next to the standard library.

mod common;

use codegen::{Arg, Jit, Options, Slice, SliceMut};
use common::*;
use lang::loops::*;

type Function = (Math, fn(f64) -> f64);

const FUNCTIONS: [Function; 4] =
    [(Math::Exp, f64::exp), (Math::Log, f64::ln), (Math::Log1p, f64::ln_1p), (Math::Tanh, f64::tanh)];

/// y[i] = f(x[i])
fn map(f: Math, parallel: Parallel) -> Proc {
    let mut b = Build::new("map");
    let n = b.size("n");
    let (x, y) = (b.input("x", &[n]), b.output("y", &[n]));
    b.for_(n, parallel, CarriedKind::Sum, &[], |b, i, _| {
        let t = b.load(x, &[i]);
        let value = b.math(f, &[t]);
        b.store(y, &[i], value);
        vec![]
    });
    b.done()
}

fn compiled(p: &Proc) -> Jit {
    Jit::compile(std::slice::from_ref(p), &Options::default()).expect("it compiles")
}

fn run(jit: &Jit, name: &str, xs: &[f64], outs: usize) -> Vec<f64> {
    let mut ys = vec![0.0; outs];
    let args = [Arg::Int(xs.len() as i64), Arg::In(Slice::Reals(xs)), Arg::Out(SliceMut::Reals(&mut ys))];
    jit.call(name, &mut { args }).expect("it runs");
    ys
}

/// Of all sizes and both signs, and those at the edges; more than whole vectors.
fn arguments() -> Vec<f64> {
    let edges = [0.0, 5e-324, 1e-310, 1.0, 709.7, 709.8, 745.1, 745.2, 1e308, f64::INFINITY, f64::NAN];
    let sizes = (-300..=300).map(|k| 10f64.powf(f64::from(k) / 20.0));
    let small = (1..=40).map(|k| 10f64.powi(-k));
    edges.into_iter().chain(sizes).chain(small).flat_map(|x| [x, -x]).collect()
}

#[test]
fn formulas_are_near_the_library() {
    let xs = arguments();
    for (f, library) in FUNCTIONS {
        for parallel in [Parallel::No, Parallel::Yes, Parallel::Lanes] {
            let ys = run(&compiled(&map(f, parallel)), "map", &xs, xs.len());
            for (x, y) in xs.iter().zip(&ys) {
                let expected = library(*x);
                // 1.5 units of the last place, and one of the library's.
                let unit = if expected.is_finite() { expected.abs().next_up() - expected.abs() } else { 0.0 };
                let near = (y - expected).abs() <= 2.5 * unit || *y == expected;
                assert!(near || (y.is_nan() && expected.is_nan()), "{f:?} {x:e}: {y:e} {expected:e}");
            }
        }
    }
}

#[test]
fn the_same_bits_one_by_one_and_in_lanes() {
    let xs = arguments();
    for (f, _) in FUNCTIONS {
        let all = run(&compiled(&map(f, Parallel::Lanes)), "map", &xs, xs.len());
        let one_by_one = compiled(&map(f, Parallel::No));
        for n in [1, 5, 11] {
            for (x, expected) in xs.chunks(n).zip(all.chunks(n)) {
                let found = run(&one_by_one, "map", x, x.len());
                let bits = |ys: &[f64]| ys.iter().map(|y| y.to_bits()).collect::<Vec<u64>>();
                assert_eq!(bits(&found), bits(expected), "{f:?} {x:?}");
            }
        }
    }
}

/// The greatest or least of x, NaN when one of them is.
fn extremum(greatest: bool) -> Proc {
    let mut b = Build::new("extremum");
    let n = b.size("n");
    let (x, y) = (b.input("x", &[n]), b.output("y", &[]));
    let start = r(if greatest { f64::NEG_INFINITY } else { f64::INFINITY });
    let best = b.for_(n, Parallel::No, CarriedKind::Sequential, &[start], |b, i, m| {
        let t = b.load(x, &[i]);
        let within = b.op(Op::FLe, &if greatest { [t, m[0]] } else { [m[0], t] });
        let beyond = b.op(Op::BNot, &[within]);
        let number = b.op(Op::FEq, &[m[0], m[0]]);
        let taken = b.op(Op::BAnd, &[beyond, number]);
        vec![b.op(Op::Select, &[taken, t, m[0]])]
    });
    b.store(y, &[], best[0]);
    b.done()
}

#[test]
fn extrema() {
    for greatest in [true, false] {
        let jit = compiled(&extremum(greatest));
        for n in 0..40 {
            for nan in [None, Some(0), Some(n / 2), Some(n - 1)] {
                let mut xs = numbers(n as usize, 7 + n as u64);
                if let Some(x) = nan.and_then(|k: i64| xs.get_mut(k as usize)) {
                    *x = f64::NAN;
                }
                let expected = match (xs.iter().any(|x| x.is_nan()), greatest) {
                    (true, _) => f64::NAN,
                    (false, true) => xs.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x)),
                    (false, false) => xs.iter().fold(f64::INFINITY, |m, x| m.min(*x)),
                };
                let found = run(&jit, "extremum", &xs, 1)[0];
                assert!(found == expected || (found.is_nan() && expected.is_nan()), "{xs:?}: {found}");
            }
        }
    }
}
