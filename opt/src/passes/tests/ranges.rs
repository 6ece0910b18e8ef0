//! Checks that go away, and checks that stay.

use super::*;
use lang::diag::{Failure, Site, Span};
use lang::loops::build::Builder;
use lang::prim::Scalar;

/// The checks left of `check 0 <= k < length` in loops that f opens around it.
fn checks(f: impl FnOnce(&mut Builder, &mut dyn FnMut(&mut Builder, Operand, Operand))) -> usize {
    let mut b = Builder::new("p");
    b.p.failures.push((Failure::IndexOutOfRange, Site { def: "p".into(), span: Span::new(0, 1) }));
    f(&mut b, &mut |b, k, length| {
        let low = b.op(Op::ILe, &[Operand::Int(0), k]);
        let high = b.op(Op::ILt, &[k, length]);
        let within = b.op(Op::BAnd, &[low, high]);
        b.push(Stmt::Check { cond: within, failure: 0, details: vec![k, length] });
    });
    let mut p = b.finish();
    optimise(&mut p, &Options { verify: true, ..Options::default() }).expect("the passes run");
    text::print(&p).matches("check ").count()
}

/// Place (r, j) of the triangle of a matrix below its diagonal, column by column.
fn triangle(d: i64, length: i64) -> usize {
    checks(|b, check| {
        b.each("r", Operand::Int(d), |b, r| {
            b.each("j", r, |b, j| {
                let twice = b.op(Op::ISub, &[Operand::Int(2 * d - 1), j]);
                let product = b.op(Op::IMul, &[j, twice]);
                let before = b.op(Op::IDiv, &[product, Operand::Int(2)]);
                let row = b.op(Op::ISub, &[r, j]);
                let k = b.op(Op::IAdd, &[before, row]);
                let k = b.op(Op::ISub, &[k, Operand::Int(1)]);
                check(b, k, Operand::Int(length));
            });
        });
    })
}

#[test]
fn a_triangle_of_known_size_is_in_its_array() {
    for d in [2, 7, 32] {
        assert_eq!(triangle(d, d * (d - 1) / 2), 0, "{d}");
        // One element is missing.
        assert_eq!(triangle(d, d * (d - 1) / 2 - 1), 1, "{d}");
    }
    // Too many to go through.
    assert_eq!(triangle(200, 19_900), 1);
}

/// c, or c + 1 from j on, is a column of a matrix with n + 1 columns.
#[test]
fn one_of_two_is_in_range_when_both_are() {
    let columns = |more: i64| {
        checks(|b, check| {
            let n = b.scalar(Scalar::Int, "n");
            let j = b.scalar(Scalar::Int, "j");
            b.array("a", Scalar::Real, &[n], BufKind::In);
            let length = b.op(Op::IAdd, &[n, Operand::Int(more)]);
            b.each("c", n, |b, c| {
                let before = b.op(Op::ILt, &[c, j]);
                let next = b.op(Op::IAdd, &[c, Operand::Int(1)]);
                let column = b.op(Op::Select, &[before, c, next]);
                check(b, column, length);
            });
        })
    };
    assert_eq!((columns(1), columns(0)), (0, 1));
}
