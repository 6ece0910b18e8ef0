//! Branches on one condition that do not lie side by side.

use super::*;
use lang::loops::build::Builder;
use lang::prim::Scalar::{Int, Real};

/// f(n, x) = out: a branch that takes a root, and a loop with the branch `second`, which is given the condition, its opposite and the square.
fn roots(second: impl Fn(&mut Builder, Operand, Operand, Operand) -> Operand) -> usize {
    let mut b = Builder::new("f");
    let (n, x) = (b.scalar(Int, "n"), b.scalar(Real, "x"));
    let (first, out) = (b.array("first", Real, &[], BufKind::Out), b.array("out", Real, &[n], BufKind::Out));
    let zero = Operand::Real(0.0);
    let (cond, other) = (b.op(Op::FLt, &[zero, x]), b.op(Op::FLt, &[x, zero]));
    let square = b.op(Op::FMul, &[x, x]);
    let root = b.if_(cond, |b| vec![b.op(Op::FSqrt, &[square])], |_| vec![zero])[0];
    b.store(first, &[], root);
    b.each("i", n, |b, i| {
        let v = second(b, cond, other, square);
        let factor = b.op(Op::IToF, &[i]);
        let v = b.op(Op::FMul, &[factor, v]);
        b.store(out, &[i], v);
    });
    let p = b.finish();
    let mut roots = 0;
    for x in [2.0, -2.0, 0.0] {
        let args = [Arg::Scalar(lang::core::Lit::Int(3)), Arg::Scalar(lang::core::Lit::Real(x))];
        let (before, after, q) = optimised(&p, Options { strict: true, ..Options::default() }, &args);
        assert!(agree(&before.outs, &after.outs, 0.0), "{}", text::print(&q));
        roots = text::print(&q).matches("sqrt").count();
    }
    roots
}

#[test]
fn a_later_arm_takes_what_an_earlier_one_has_computed() {
    let again = |b: &mut Builder, cond: Operand, _: Operand, square: Operand| {
        let arm = |b: &mut Builder| {
            let root = b.op(Op::FSqrt, &[square]);
            vec![b.op(Op::FAdd, &[root, Operand::Real(1.0)])]
        };
        b.if_(cond, arm, |_| vec![square])[0]
    };
    assert_eq!(roots(again), 1);
    // And what follows from it, by the names of the earlier arm.
    let twice = |b: &mut Builder, cond: Operand, other: Operand, square: Operand| {
        let root = again(b, cond, other, square);
        let arm = |b: &mut Builder| {
            let second = b.op(Op::FSqrt, &[square]);
            vec![b.op(Op::FMul, &[second, root])]
        };
        b.if_(cond, arm, |_| vec![root])[0]
    };
    assert_eq!(roots(twice), 1);
}

#[test]
fn another_arm_or_another_condition_does_not() {
    let els = |b: &mut Builder, cond: Operand, _: Operand, square: Operand| {
        b.if_(cond, |_| vec![square], |b| vec![b.op(Op::FSqrt, &[square])])[0]
    };
    assert_eq!(roots(els), 2);
    let other = |b: &mut Builder, _: Operand, other: Operand, square: Operand| {
        b.if_(other, |b| vec![b.op(Op::FSqrt, &[square])], |_| vec![square])[0]
    };
    assert_eq!(roots(other), 2);
}
