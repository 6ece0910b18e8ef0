//! Products of matrices: those of the library, and those of the loops, however the matrices lie and however many threads there are.

mod common;

use codegen::{Arg, Jit, Options, Slice, SliceMut};
use common::*;
use lang::loops::product::{Matrix, Product, Range};
use lang::loops::*;
use lang::precision::Precision;
use lang::prim::Scalar;

/// out += a b, of matrices that are transposed as the bits of `layout` say.
fn product(layout: u32) -> Proc {
    let [ta, tb] = [0, 1].map(|k| layout >> k & 1 == 1);
    let mut b = Build::new("product");
    let [n, m, p] = ["n", "m", "p"].map(|name| b.size(name));
    let at = |t: bool, x: Operand, y: Operand| if t { [y, x] } else { [x, y] };
    let (left, right) = (b.input("a", &at(ta, n, m)), b.input("b", &at(tb, m, p)));
    let out = b.output("out", &[n, p]);
    b.fill(out, r(0.0));
    let [i, k, j] = ["i", "k", "j"].map(|name| b.p.val(Scalar::Int, name));
    let range = |index, extent| Range { index, extent };
    let matrix = |buf, at: [Operand; 2]| Matrix { buf, at: at.to_vec() };
    let factors = [matrix(left, at(ta, v(i), v(k))), matrix(right, at(tb, v(k), v(j)))];
    let ranges = [range(i, n), range(k, m), range(j, p)];
    let product = Product::new(matrix(out, [v(i), v(j)]), factors, ranges).expect("a product");
    let nest = product.nest(&mut b.p);
    assert_eq!(Product::of(&nest), Some(product));
    b.code.push(Stmt::For(nest));
    let p = b.done();
    verify::verify(&p).unwrap_or_else(|e| panic!("{e}"));
    p
}

/// Small integers, whose sums are exact in either precision, or not.
fn numbers(n: usize, seed: usize, whole: bool) -> Vec<f64> {
    let whole = |i: usize| ((i * (seed + 5) + seed) % 7) as f64 - 3.0 + if whole { 0.0 } else { 0.1 };
    (0..n).map(whole).collect()
}

fn expected(layout: u32, [n, m, p]: [usize; 3], a: &[f64], b: &[f64]) -> Vec<f64> {
    let [ta, tb] = [0, 1].map(|k| layout >> k & 1 == 1);
    let at = |t: bool, i: usize, j: usize, rows: usize, columns: usize| {
        if t { j * rows + i } else { i * columns + j }
    };
    let element =
        |i: usize, j: usize| (0..m).map(|k| a[at(ta, i, k, n, m)] * b[at(tb, k, j, m, p)]).sum::<f64>();
    (0..n * p).map(|e| element(e / p, e % p)).collect()
}

fn call(jit: &Jit, [n, m, p]: [usize; 3], a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut out = vec![0.5; n * p];
    let size = |n: usize| Arg::Int(n as i64);
    let given = [size(n), size(m), size(p), Arg::In(Slice::Reals(a)), Arg::In(Slice::Reals(b))];
    let mut args: Vec<Arg> = given.into_iter().chain([Arg::Out(SliceMut::Reals(&mut out))]).collect();
    jit.call("product", &mut args).expect("the call succeeds");
    drop(args);
    out
}

const SIZES: [[usize; 3]; 9] = [
    [0, 3, 2],
    [2, 0, 3],
    [1, 1, 1],
    [5, 6, 7],
    [32, 32, 32],
    [33, 40, 37],
    [1, 4096, 9],
    [200, 3, 150],
    [129, 257, 65],
];

#[test]
fn products_are_exact_on_small_integers() {
    for layout in 0..4 {
        let p = product(layout);
        for opt_level in [0, 3] {
            let jit =
                Jit::compile(std::slice::from_ref(&p), &Options { opt_level, ..Options::default() }).unwrap();
            for sizes @ [n, m, q] in SIZES {
                let (a, b) = (numbers(n * m, 1, true), numbers(m * q, 2, true));
                assert_eq!(call(&jit, sizes, &a, &b), expected(layout, sizes, &a, &b), "{layout} {sizes:?}");
            }
        }
    }
}

#[test]
fn products_of_singles() {
    let p = Proc { precision: Precision::Single, ..product(0) };
    let jit = Jit::compile(std::slice::from_ref(&p), &Options::default()).unwrap();
    for sizes @ [n, m, q] in SIZES {
        let (a, b) = (numbers(n * m, 1, true), numbers(m * q, 2, true));
        let singles = |xs: &[f64]| xs.iter().map(|x| *x as f32).collect::<Vec<f32>>();
        let (a1, b1, mut out) = (singles(&a), singles(&b), vec![0.5; n * q]);
        let size = |n: usize| Arg::Int(n as i64);
        let given = [size(n), size(m), size(q), Arg::In(Slice::Singles(&a1)), Arg::In(Slice::Singles(&b1))];
        let mut args: Vec<Arg> = given.into_iter().chain([Arg::Out(SliceMut::Singles(&mut out))]).collect();
        jit.call("product", &mut args).expect("the call succeeds");
        drop(args);
        assert_eq!(out, singles(&expected(0, sizes, &a, &b)), "{sizes:?}");
    }
}

/// Chunks of rows have the bits of the whole.
#[test]
fn threads_do_not_change_a_bit() {
    let sizes = [301, 200, 170];
    for layout in 0..4 {
        let p = product(layout);
        let (a, b) = (numbers(301 * 200, 1, false), numbers(200 * 170, 2, false));
        let on = |threads: usize| {
            let jit =
                Jit::compile(std::slice::from_ref(&p), &Options { threads, ..Options::default() }).unwrap();
            call(&jit, sizes, &a, &b).into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        let one = on(1);
        assert!(one == on(2) && one == on(3));
    }
}
