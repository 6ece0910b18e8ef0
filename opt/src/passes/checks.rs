//! Comparisons of ints that the ranges of loop indices, sizes, branches and earlier checks decide become constants; a check of one
//! of them then goes away ([`super::fold`]).

use super::bounds::Bounds;
use super::{Fact, Pass};
use lang::loops::walk::Subst;
use lang::loops::*;

pub const PASS: Pass = Pass {
    name: "checks",
    doc: "Comparisons of ints that ranges, sizes and earlier checks decide.",
    requires: &[Fact::Folded],
    establishes: &[],
    breaks: &[Fact::Folded, Fact::Live],
    run: |p, _| {
        let mut decided = Subst::default();
        block(p, &p.body, &mut Bounds::new(p), &mut decided);
        decided.apply_proc(p);
    },
};

fn block(p: &Proc, stmts: &[Stmt], bounds: &mut Bounds, decided: &mut Subst) {
    let start = bounds.mark();
    learn(p, stmts, bounds, decided);
    bounds.forget(start);
}

/// Goes through a block and leaves its facts.
fn learn(p: &Proc, stmts: &[Stmt], bounds: &mut Bounds, decided: &mut Subst) {
    for s in stmts {
        match s {
            Stmt::Let { dst, op, args } => {
                if let Some(truth) = bounds.decide(*op, args).or_else(|| bounds.in_every_iteration(*op, args))
                {
                    decided.set(*dst, Operand::Bool(truth));
                }
            }
            Stmt::Check { cond, .. } => bounds.assume(*cond, true),
            Stmt::Alloc { buf } | Stmt::Reserve { buf, .. } | Stmt::View { buf, .. } => {
                bounds.lives(p.info(*buf))
            }
            Stmt::For(l) => {
                let start = bounds.mark();
                bounds.enter(l);
                block(p, &l.body, bounds, decided);
                bounds.forget(start);
            }
            Stmt::While(l) => {
                let start = bounds.mark();
                learn(p, &l.cond_block, bounds, decided);
                bounds.assume(l.cond, true);
                block(p, &l.body, bounds, decided);
                bounds.forget(start);
            }
            Stmt::If(i) => {
                for (arm, truth) in [(&i.then, true), (&i.els, false)] {
                    let start = bounds.mark();
                    bounds.assume(i.cond, truth);
                    block(p, arm, bounds, decided);
                    bounds.forget(start);
                }
            }
            Stmt::Load { .. }
            | Stmt::Store { .. }
            | Stmt::Accum { .. }
            | Stmt::Fill { .. }
            | Stmt::Copy { .. }
            | Stmt::Argsort { .. }
            | Stmt::Call { .. } => (),
        }
    }
}
