//! Packed triangles: the gradient of a product with one goes through it from element to element.

use super::*;
use lang::loops::build::Builder;
use lang::prim::Scalar::{Int, Real};

/// l has the columns of a strictly lower triangle one after the other: (r, j) at j (2 n − j − 1) / 2 + r − j − 1; or its rows.
fn packed(b: &mut Builder, by_columns: bool, n: Operand, r: Operand, j: Operand) -> Operand {
    let one = Operand::Int(1);
    if by_columns {
        let twice = b.op(Op::IMul, &[n, Operand::Int(2)]);
        let (twice, next) = (b.op(Op::ISub, &[twice, j]), b.op(Op::IAdd, &[j, one]));
        let twice = b.op(Op::ISub, &[twice, one]);
        let both = b.op(Op::IMul, &[j, twice]);
        let column = b.op(Op::IDiv, &[both, Operand::Int(2)]);
        let row = b.op(Op::ISub, &[r, next]);
        b.op(Op::IAdd, &[column, row])
    } else {
        let before = b.op(Op::ISub, &[r, one]);
        let both = b.op(Op::IMul, &[r, before]);
        let row = b.op(Op::IDiv, &[both, Operand::Int(2)]);
        b.op(Op::IAdd, &[row, j])
    }
}

/// y[r] = x[r]² g; l̄[r, j] += x[j] g[r], z[j] += l[r, j] g[r] for j < r.
fn gradient(by_columns: bool) -> Proc {
    let mut b = Builder::new("f");
    let [n, t] = ["n", "t"].map(|name| b.scalar(Int, name));
    let (x, l) = (b.array("x", Real, &[n], BufKind::In), b.array("l", Real, &[t], BufKind::In));
    let (lbar, z) = (b.array("lbar", Real, &[t], BufKind::Out), b.array("z", Real, &[n], BufKind::Out));
    [lbar, z].into_iter().for_each(|a| b.fill(a, Operand::Real(0.0)));
    b.each("r", n, |b, r| {
        let own = b.load(x, &[r]);
        let g = b.op(Op::FMul, &[own, own]);
        b.each("j", r, |b, j| {
            let at = packed(b, by_columns, n, r, j);
            let (x, l) = (b.load(x, &[j]), b.load(l, &[at]));
            let (to_l, to_z) = (b.op(Op::FMul, &[x, g]), b.op(Op::FMul, &[l, g]));
            b.accum(lbar, &[at], to_l);
            b.accum(z, &[j], to_z);
        });
        b.accum(z, &[r], g);
    });
    b.finish()
}

fn arguments(n: usize) -> [Arg; 4] {
    let t = n * n.saturating_sub(1) / 2;
    let numbers = |n: usize, k: usize| {
        Array::reals([n], (0..n).map(|i| ((i * (k + 5)) % 7) as f64 - 3.0).collect::<Vec<_>>())
    };
    let size = |n: usize| Arg::Scalar(lang::core::Lit::Int(n as i64));
    [size(n), size(t), Arg::Array(numbers(n, 0)), Arg::Array(numbers(t, 1))]
}

/// The bodies of innermost loops that multiply two ints: indices that jump.
fn jumps(block: &[Stmt]) -> bool {
    let mut found = false;
    walk::each(block, &mut |s| {
        if let Stmt::For(f) = s
            && !f.body.iter().any(|s| matches!(s, Stmt::For(_)))
        {
            found |= f.body.iter().any(|s| matches!(s, Stmt::Let { op: Op::IMul, .. }));
        }
    });
    found
}

#[test]
fn columns_of_a_triangle_are_inside() {
    for by_columns in [true, false] {
        let p = gradient(by_columns);
        for n in [0, 1, 2, 5] {
            let (before, after, q) = optimised(&p, Options::default(), &arguments(n));
            let shown = text::print(&q);
            assert!(agree(&before.outs, &after.outs, 0.0), "{shown}");
            assert!(!jumps(&q.body), "{shown}");
            // By rows it was right as it stood.
            assert_eq!(shown.contains("next = "), by_columns, "{shown}");
        }
    }
}

#[test]
fn strict_triangles_stay() {
    let (before, after, q) =
        optimised(&gradient(true), Options { strict: true, ..Options::default() }, &arguments(5));
    assert!(agree(&before.outs, &after.outs, 0.0));
    assert!(jumps(&q.body));
}
