//! Products of matrices in a nest, whichever way the matrices lie; rows that loops in lanes read again.

use super::*;
use lang::loops::build::Builder;
use lang::loops::product::Product;
use lang::prim::Scalar::{Int, Real};

fn numbers(k: usize, n: usize, m: usize) -> Array {
    let xs: Vec<f64> = (0..n * m).map(|i| ((i * (k + 5)) % 7) as f64 - 3.0).collect();
    Array::reals([n, m], xs)
}

/// Matrices by whether they are transposed.
fn at(transposed: bool, row: Operand, column: Operand) -> Vec<Operand> {
    if transposed { vec![column, row] } else { vec![row, column] }
}

fn products(block: &[Stmt]) -> usize {
    let mut n = 0;
    walk::each(block, &mut |s| n += usize::from(matches!(s, Stmt::For(f) if Product::of(f).is_some())));
    n
}

/// s = Σ_k a b; g = f(s); x += g b; y += g a, of matrices transposed as the bits of `layout` say.
fn gradient(layout: u32, square: bool) -> Proc {
    let [ta, tb, tx, ty, tout] = [0, 1, 2, 3, 4].map(|k| layout >> k & 1 == 1);
    let mut b = Builder::new("f");
    let [n, m, p] = ["n", "m", "p"].map(|name| b.scalar(Int, name));
    let a_in = b.array("a", Real, &at(ta, n, m), BufKind::In);
    let b_in = b.array("b", Real, &at(tb, m, p), BufKind::In);
    let out = b.array("out", Real, &at(tout, n, p), BufKind::Out);
    let x = b.array("x", Real, &at(tx, n, m), BufKind::Out);
    let y = b.array("y", Real, &at(ty, m, p), BufKind::Out);
    let total = b.array("total", Real, &[], BufKind::Out);
    [x, y, total].into_iter().for_each(|z| b.fill(z, Operand::Real(0.0)));
    b.each("i", n, |b, i| {
        b.each("j", p, |b, j| {
            let s = b.sum("s", "k", m, |b, k| {
                let (a, b_) = (b.load(a_in, &at(ta, i, k)), b.load(b_in, &at(tb, k, j)));
                b.op(Op::FMul, &[a, b_])
            });
            let g = if square { b.op(Op::FMul, &[s, s]) } else { s };
            b.store(out, &at(tout, i, j), g);
            b.accum(total, &[], g);
            b.each("k", m, |b, k| {
                let (a, b_) = (b.load(a_in, &at(ta, i, k)), b.load(b_in, &at(tb, k, j)));
                let (to_x, to_y) = (b.op(Op::FMul, &[g, b_]), b.op(Op::FMul, &[a, g]));
                b.accum(x, &at(tx, i, k), to_x);
                b.accum(y, &at(ty, k, j), to_y);
            });
        });
    });
    b.finish()
}

fn arguments(layout: u32, [n, m, p]: [usize; 3]) -> Vec<Arg> {
    let [ta, tb] = [0, 1].map(|k| layout >> k & 1 == 1);
    let size = |n: usize| Arg::Scalar(lang::core::Lit::Int(n as i64));
    let matrix = |k, t, n, m| Arg::Array(if t { numbers(k, m, n) } else { numbers(k, n, m) });
    vec![size(n), size(m), size(p), matrix(0, ta, n, m), matrix(1, tb, m, p)]
}

#[test]
fn products_of_matrices_however_they_lie() {
    for layout in 0..32 {
        for (square, sizes) in [(true, [3, 4, 5]), (false, [1, 2, 6]), (true, [0, 3, 2]), (true, [2, 0, 3])] {
            let p = gradient(layout, square);
            let (before, after, q) = optimised(&p, Options::default(), &arguments(layout, sizes));
            let shown = text::print(&q);
            assert!(agree(&before.outs, &after.outs, 0.0), "{shown}");
            assert_eq!(products(&q.body), 3, "{shown}");
        }
    }
}

/// What is added is read from a matrix, as a cotangent is: it is a factor as it stands.
#[test]
fn products_with_a_given_matrix() {
    let mut b = Builder::new("f");
    let [n, m, p] = ["n", "m", "p"].map(|name| b.scalar(Int, name));
    let w = b.array("w", Real, &[n, p], BufKind::In);
    let right = b.array("b", Real, &[m, p], BufKind::In);
    let x = b.array("x", Real, &[n, m], BufKind::Out);
    b.fill(x, Operand::Real(0.0));
    b.each("i", n, |b, i| {
        b.each("j", p, |b, j| {
            let w = b.load(w, &[i, j]);
            b.each("k", m, |b, k| {
                let y = b.load(right, &[k, j]);
                let product = b.op(Op::FMul, &[w, y]);
                b.accum(x, &[i, k], product);
            });
        });
    });
    let size = |n: i64| Arg::Scalar(lang::core::Lit::Int(n));
    let args = [size(3), size(4), size(5), Arg::Array(numbers(0, 3, 5)), Arg::Array(numbers(1, 4, 5))];
    let (before, after, q) = optimised(&b.finish(), Options::default(), &args);
    let shown = text::print(&q);
    assert!(agree(&before.outs, &after.outs, 0.0), "{shown}");
    assert_eq!(products(&q.body), 1, "{shown}");
}

/// The order of additions is the program's.
#[test]
fn strict_products_stay_where_they_are() {
    let p = gradient(0, true);
    let options = Options { strict: true, ..Options::default() };
    let (before, after, q) = optimised(&p, options, &arguments(0, [3, 4, 5]));
    assert!(agree(&before.outs, &after.outs, 0.0));
    assert_eq!(products(&q.body), 0);
}

/// Neighbours in memory are inside: rows of both factors for a product by a transpose, else rows of the right factor and the result.
#[test]
fn the_inner_loop_has_neighbours_in_memory() {
    let inner = |layout| {
        let (_, _, q) = optimised(&gradient(layout, true), Options::default(), &arguments(layout, [3, 4, 5]));
        let nest = q.body.iter().find_map(|s| match s {
            Stmt::For(f) if Product::of(f).is_some() => Some(f.clone()),
            _ => None,
        });
        let mut depths = vec![];
        walk::each(&[Stmt::For(nest.expect("the primal's product"))], &mut |s| {
            if let Stmt::For(f) = s {
                depths.push(f.carried.len());
            }
        });
        depths
    };
    assert_eq!(inner(0b00), [0, 0, 0]);
    assert_eq!(inner(0b10), [0, 0, 1]);
}

/// The sum of squares of differences to every row of a table: x's row is read once for each.
#[test]
fn rows_are_copied_for_lanes() {
    let mut b = Builder::new("f");
    let [n, c, d] = ["n", "c", "d"].map(|name| b.scalar(Int, name));
    let x = b.array("x", Real, &[n, d], BufKind::In);
    let table = b.array("table", Real, &[c, d], BufKind::In);
    let out = b.array("out", Real, &[n], BufKind::Out);
    b.each("i", n, |b, i| {
        let least =
            b.fold("k", c, &[("least", Operand::Real(100.0))], CarriedKind::Sequential, |b, k, least| {
                let least = least[0];
                let distance = b.sum("s", "j", d, |b, j| {
                    let (x, t) = (b.load(x, &[i, j]), b.load(table, &[k, j]));
                    let difference = b.op(Op::FSub, &[x, t]);
                    let square = b.op(Op::FMul, &[difference, difference]);
                    let more = b.op(Op::FAdd, &[square, difference]);
                    b.op(Op::FMul, &[more, square])
                });
                let closer = b.op(Op::FLt, &[distance, least]);
                vec![b.op(Op::Select, &[closer, distance, least])]
            });
        b.store(out, &[i], least[0]);
    });
    let p = b.finish();
    let size = |n: i64| Arg::Scalar(lang::core::Lit::Int(n));
    let args = [size(3), size(4), size(2), Arg::Array(numbers(0, 3, 2)), Arg::Array(numbers(1, 4, 2))];
    let (before, after, q) = optimised(&p, Options::default(), &args);
    let shown = text::print(&q);
    assert!(agree(&before.outs, &after.outs, 0.0), "{shown}");
    assert!(shown.contains("lanes") && shown.matches("= x[").count() == 1, "{shown}");
    assert_eq!(q.body.iter().filter(|s| matches!(s, Stmt::For(_))).count(), 1, "{shown}");
    let lane = q.body.iter().find_map(|s| match s {
        Stmt::For(l) => Some(&l.body),
        _ => None,
    });
    assert!(matches!(lane.expect("the loop")[..], [Stmt::Alloc { .. }, Stmt::For(_), ..]), "{shown}");
}
