//! Which loops may run their iterations in any order: those that satisfy [`Parallel::Yes`] are marked so, and carried sums as sums.

use super::{Fact, Options, Pass};
use lang::loops::verify::{is_sum, parallel, touched};
use lang::loops::walk::each_mut;
use lang::loops::*;
use lang::prim::Scalar;

pub const PASS: Pass = Pass {
    name: "parallel",
    doc: "Loops whose iterations are independent are marked, and run upwards where no order is lost.",
    requires: &[],
    establishes: &[Fact::Marked],
    breaks: &[],
    run: |p, options| {
        let mut body = std::mem::take(&mut p.body);
        each_mut(&mut body, &mut |s| {
            if let Stmt::For(l) = s {
                mark(p, options, l);
            }
        });
        p.body = body;
    },
};

fn mark(p: &Proc, options: &Options, l: &mut For) {
    if !options.strict {
        for c in &mut l.carried {
            let real = p.type_of(Operand::Val(c.param)) == Scalar::Real;
            if c.kind == CarriedKind::Sequential && real && is_sum(&l.body, c.param, c.next) {
                c.kind = CarriedKind::Sum;
            }
        }
    }
    // Under strict a sum must keep its order, and whoever emitted the loop knows whether it may be split at all.
    let sums =
        || !l.carried.is_empty() || touched(l.index, &l.body).values().any(|t| t.accumulated && !t.is_own());
    if l.parallel == Parallel::No && parallel(p, l).is_ok() && !(options.strict && sums()) {
        l.parallel = Parallel::Yes;
    }
    if l.parallel == Parallel::Yes && l.down && !(options.strict && sums()) {
        l.down = false;
    }
}
