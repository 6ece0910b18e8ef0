//! Buffers that are parts of others: two that would lie in one place at once.

use super::*;
use lang::core::Lit;
use lang::loops::build::Builder;
use lang::loops::eval::{self, Arg, Data};
use lang::prim::Scalar;

/// A local array of n numbers, made with f.
fn made(b: &mut Builder, n: Operand, f: impl Fn(&mut Builder, Operand) -> Operand) -> Buf {
    let buf = b.alloc("made", Scalar::Real, &[n]);
    b.each("i", n, |b, i| {
        let x = f(b, i);
        b.store(buf, &[i], x);
    });
    buf
}

fn moved(b: &mut Builder, n: Operand, from: Buf, to: Buf) {
    b.each("i", n, |b, i| {
        let x = b.load(from, &[i]);
        b.store(to, &[i], x);
    });
}

/// The first array is made before the loop in which the second moves to the result, and moves there after it.
#[test]
fn what_is_moved_inside_does_not_lie_where_something_waits() {
    let mut b = Builder::new("p");
    let n = b.scalar(Scalar::Int, "n");
    let out = b.array("out", Scalar::Real, &[n], BufKind::Out);
    let first = made(&mut b, n, |b, i| b.op(Op::IToF, &[i]));
    b.each("t", Operand::Int(1), |b, _| {
        let second = made(b, n, |_, _| Operand::Real(7.0));
        moved(b, n, second, out);
    });
    moved(&mut b, n, first, out);
    let mut p = b.finish();
    let row = TABLE.iter().find(|t| t.name == "parts").expect("a row");
    (row.run)(&mut p, &Options::default());
    assert_eq!(p.parts.len(), 1, "{}", text::print(&p));
    let ran = eval::run(&p, &[Arg::Scalar(Lit::Int(3))]).expect("it runs");
    assert_eq!(ran.outs[0].data, Data::Real(vec![0.0, 1.0, 2.0]));
}
