//! What a stencil's reverse leaves: cotangents put down for nobody, twice, or for oneself and one's neighbour.

use super::*;
use lang::loops::build::Builder;
use lang::prim::Scalar::{Int, Real};

const ZERO: Operand = Operand::Real(0.0);

fn args() -> [Arg; 2] {
    let x = Array::reals([4], [1.0, 2.0, 4.0, 8.0]);
    [Arg::Scalar(lang::core::Lit::Int(4)), Arg::Array(x)]
}

/// f(n, x) = out; the body is given n, x and out.
fn shown(body: impl FnOnce(&mut Builder, Operand, [Buf; 2])) -> String {
    let mut b = Builder::new("f");
    let n = b.scalar(Int, "n");
    let (x, out) = (b.array("x", Real, &[n], BufKind::In), b.array("out", Real, &[n], BufKind::Out));
    body(&mut b, n, [x, out]);
    let p = b.finish();
    let (before, after, q) = optimised(&p, Options::default(), &args());
    let shown = text::print(&q);
    assert!(agree(&before.outs, &after.outs, 0.0), "{shown}");
    shown
}

/// b[i] = f(b[i - 1]) needs all of b: what keeps loops apart here.
fn left(b: &mut Builder, from: Buf, i: Operand) -> Operand {
    let j = b.op(Op::ISub, &[i, Operand::Int(1)]);
    let positive = b.op(Op::ILt, &[Operand::Int(0), i]);
    let j = b.op(Op::Select, &[positive, j, Operand::Int(0)]);
    b.load(from, &[j])
}

#[test]
fn what_nobody_reads_is_not_written() {
    let shown = shown(|b, n, [x, out]| {
        let z = b.alloc("z", Real, &[n]);
        b.each("i", n, |b, i| {
            let x = b.load(x, &[i]);
            b.store(z, &[i], x);
        });
        b.each("i", n, |b, i| {
            let (own, next) = (b.load(z, &[i]), left(b, x, i));
            let sum = b.op(Op::FAdd, &[own, next]);
            b.store(z, &[i], sum);
            b.store(out, &[i], sum);
        });
    });
    assert!(!shown.contains("z["), "{shown}");
}

#[test]
fn what_is_put_down_twice_is_there_once() {
    let shown = shown(|b, n, [x, out]| {
        let (y, z) = (b.alloc("y", Real, &[n]), b.alloc("z", Real, &[n]));
        b.each("i", n, |b, i| {
            let x = b.load(x, &[i]);
            let square = b.op(Op::FMul, &[x, x]);
            b.store(y, &[i], square);
            b.store(z, &[i], square);
        });
        b.each("i", n, |b, i| {
            let (y, z) = (left(b, y, i), b.load(z, &[i]));
            let sum = b.op(Op::FAdd, &[y, z]);
            b.store(out, &[i], sum);
        });
    });
    assert_eq!(shown.matches("var ").count(), 1, "{shown}");
}

#[test]
fn additions_to_oneself_and_to_a_neighbour_are_two_loops() {
    let shown = shown(|b, n, [x, out]| {
        b.fill(out, ZERO);
        b.each("i", n, |b, i| {
            let own = b.load(x, &[i]);
            b.accum(out, &[i], own);
            let j = b.op(Op::ISub, &[i, Operand::Int(1)]);
            let positive = b.op(Op::ILt, &[Operand::Int(0), i]);
            let j = b.op(Op::Select, &[positive, j, Operand::Int(0)]);
            let twice = b.op(Op::FAdd, &[own, own]);
            b.accum(out, &[j], twice);
        });
    });
    assert_eq!(shown.matches("for i").count(), 2, "{shown}");
}
