//! Branches on one condition become one branch, so that what the second reads of the first is a value in its arm.

use super::bounds::Bounds;
use super::order::{self, Effects};
use super::{Options, Pass};
use lang::loops::walk::{self, Subst};
use lang::loops::*;

pub const PASS: Pass = Pass {
    name: "ifs",
    doc: "Ifs on one condition become one.",
    requires: &[],
    establishes: &[],
    breaks: &[super::Fact::Numbered, super::Fact::Live],
    run: |p, options| {
        let mut bounds = Bounds::new(p);
        let body = std::mem::take(&mut p.body);
        p.body = block(p, options, &mut bounds, body);
    },
};

fn block(p: &mut Proc, options: &Options, bounds: &mut Bounds, stmts: Block) -> Block {
    let keys = stmts.iter().map(|s| match s {
        Stmt::If(If { cond: Operand::Val(v), .. }) => Some(*v),
        _ => None,
    });
    let class = order::classes(keys.collect());
    let mut stmts = stmts;
    if class.iter().any(Option::is_some) {
        let effects = stmts.iter().map(|s| order::effects(p, bounds, s)).collect();
        stmts = order::regroup(stmts, effects, class, options.strict, &mut Merging(p));
    }
    for s in &mut stmts {
        let start = bounds.mark();
        if let Stmt::For(l) = s {
            bounds.enter(l);
        }
        for b in walk::blocks_mut(s) {
            *b = block(p, options, bounds, std::mem::take(b));
        }
        bounds.forget(start);
    }
    stmts
}

struct Merging<'a>(&'a mut Proc);

impl order::Grouping for Merging<'_> {
    /// The arms run one after the other, as the branches did.
    fn apart(&mut self, _: (&Stmt, &Effects), _: (&Stmt, &Effects)) -> bool {
        false
    }
    /// Only one arm runs, however long they are.
    fn weight(&self, _: &Stmt) -> usize {
        0
    }
    fn merge(&mut self, group: Vec<Stmt>) -> Stmt {
        merge(self.0, group)
    }
}

fn merge(p: &mut Proc, group: Vec<Stmt>) -> Stmt {
    let mut ifs = group.into_iter().filter_map(|s| match s {
        Stmt::If(i) => Some(i),
        _ => None,
    });
    let mut all = ifs.next().expect("a group has members");
    for mut i in ifs {
        let (mut then, mut els) = (Subst::default(), Subst::default());
        for (dst, t, e) in &all.results {
            then.set(*dst, *t);
            els.set(*dst, *e);
        }
        for (arm, subst) in [(&mut i.then, &then), (&mut i.els, &els)] {
            subst.apply(arm);
            for b in walk::allocated(arm) {
                p.bufs[b.0 as usize].shape.iter_mut().for_each(|o| *o = subst.get(*o));
            }
        }
        for (_, t, e) in &mut i.results {
            (*t, *e) = (then.get(*t), els.get(*e));
        }
        all.then.extend(i.then);
        all.els.extend(i.els);
        all.results.extend(i.results);
    }
    Stmt::If(all)
}
