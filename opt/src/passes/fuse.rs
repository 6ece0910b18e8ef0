//! Loop fusion: sibling loops of one extent become one, whatever lies between them moving out of the way if it can. Iteration i of the
//! later loop then comes before iteration i + 1 of the earlier, so all that the two share must be shared at one index (a buffer that one of
//! them writes is touched, in some fixed dimension, only at the loop's own index), or be accumulators that both only add to.
//! Outer loops first; what was nested becomes siblings.

use super::bounds::Bounds;
use super::cse::word;
use super::order::{self, Effects, Kind};
use super::{Fact, Options, Pass};
use lang::loops::verify::{Touched, touched};
use lang::loops::walk::{self, Subst};
use lang::loops::*;
use lang::prim::Scalar;
use std::collections::HashMap;

pub const PASS: Pass = Pass {
    name: "fuse",
    doc: "Sibling loops of equal extent become one where only same-index dependences join them.",
    requires: &[Fact::Folded, Fact::Numbered, Fact::Marked],
    establishes: &[],
    breaks: &[Fact::Numbered],
    run: |p, options| {
        let mut bounds = Bounds::new(p);
        let body = std::mem::take(&mut p.body);
        p.body = block(p, options, &mut bounds, body);
    },
};

fn block(p: &mut Proc, options: &Options, bounds: &mut Bounds, stmts: Block) -> Block {
    let effects: Vec<Effects> = stmts.iter().map(|s| order::effects(p, bounds, s)).collect();
    // Sequential loops fuse with each other only, lest a parallel one lose its freedom.
    let keys = stmts.iter().map(|s| match s {
        Stmt::For(l) => Some((format!("{:?}", l.extent), l.parallel == Parallel::Yes, l.down)),
        _ => None,
    });
    let class = order::classes(keys.collect());
    let strict = options.strict;
    let mut stmts = order::regroup(stmts, effects, class, strict, &mut Fusion { p, bounds, strict });
    let start = bounds.mark();
    for s in &mut stmts {
        inside(p, options, bounds, s);
    }
    bounds.forget(start);
    stmts
}

fn inside(p: &mut Proc, options: &Options, bounds: &mut Bounds, s: &mut Stmt) {
    let mut go = |bounds: &mut Bounds, b: &mut Block| *b = block(p, options, bounds, std::mem::take(b));
    let start = bounds.mark();
    match s {
        Stmt::For(l) => {
            bounds.enter(l);
            go(bounds, &mut l.body);
            bounds.forget(start);
        }
        Stmt::While(l) => {
            go(bounds, &mut l.cond_block);
            go(bounds, &mut l.body);
        }
        Stmt::If(i) => {
            for (arm, truth) in [(&mut i.then, true), (&mut i.els, false)] {
                bounds.assume(i.cond, truth);
                go(bounds, arm);
                bounds.forget(start);
            }
        }
        Stmt::Check { cond, .. } => bounds.assume(*cond, true),
        Stmt::Alloc { buf } | Stmt::Reserve { buf, .. } | Stmt::View { buf, .. } => {
            bounds.lives(p.info(*buf))
        }
        Stmt::Let { .. }
        | Stmt::Load { .. }
        | Stmt::Store { .. }
        | Stmt::Accum { .. }
        | Stmt::Fill { .. }
        | Stmt::Copy { .. }
        | Stmt::Argsort { .. }
        | Stmt::Call { .. } => (),
    }
}

/// The statements that an elementary function is worth: about its instructions.
const ELEMENTARY: usize = 40;

struct Fusion<'a> {
    p: &'a mut Proc,
    bounds: &'a mut Bounds,
    strict: bool,
}

impl order::Grouping for Fusion<'_> {
    fn apart(&mut self, (a, ea): (&Stmt, &Effects), (b, eb): (&Stmt, &Effects)) -> bool {
        let (Stmt::For(a), Stmt::For(b)) = (a, b) else { return true };
        // The second needs the first's end.
        if ea.defines.iter().any(|v| eb.uses.contains(v)) {
            return true;
        }
        let (ta, tb) = (touched(a.index, &a.body), touched(b.index, &b.body));
        let crossing = ea.touches.iter().any(|(buf, kinds)| {
            let clash = eb.touches.get(buf).is_some_and(|k| order::conflict(kinds, k, self.strict));
            let own = |t: &HashMap<Buf, Touched>| t[buf].own.clone().unwrap_or_default();
            clash && !own(&ta).iter().any(|k| own(&tb).contains(k))
        });
        crossing || ea.checks && (eb.checks || eb.wild) && !self.guarded((a, ea), (b, eb))
    }

    fn weight(&self, s: &Stmt) -> usize {
        let mut total = 0;
        walk::each(std::slice::from_ref(s), &mut |s| {
            total += match s {
                Stmt::Let { op: Op::Math(_), .. } => ELEMENTARY,
                _ => 1,
            }
        });
        total
    }

    fn merge(&mut self, group: Vec<Stmt>) -> Stmt {
        fuse(self.p, group)
    }
}

impl Fusion<'_> {
    /// What the second loop's iteration must check or may miss, the first loop's same iteration has checked: values that both compute alike
    /// are looked up there.
    fn guarded(&mut self, (a, ea): (&For, &Effects), (b, eb): (&For, &Effects)) -> bool {
        let reads =
            |e: &Effects, b: &Buf| e.touches.get(b).is_none_or(|k| k.iter().all(|k| *k == Kind::Read));
        let key = |s: &Stmt, subst: &Subst| {
            let words = |os: &[Operand]| os.iter().map(|o| word(subst.get(*o))).collect::<Vec<_>>();
            match s {
                Stmt::Let { dst, op, args } => Some(((Some(*op), None, words(args)), *dst)),
                Stmt::Load { dst, buf, index } if reads(ea, buf) && reads(eb, buf) => {
                    Some(((None, Some(*buf), words(index)), *dst))
                }
                _ => None,
            }
        };
        let mut twins = Subst::default();
        let known: HashMap<_, _> = a.body.iter().filter_map(|s| key(s, &twins)).collect();
        twins.set(b.index, Operand::Val(a.index));
        for s in &b.body {
            if let Some((key, dst)) = key(s, &twins)
                && let Some(twin) = known.get(&key)
            {
                twins.set(dst, Operand::Val(*twin));
            }
        }
        let mut b = b.clone();
        twins.apply(&mut b.body);
        let start = self.bounds.mark();
        for s in &a.body {
            if let Stmt::Check { cond, .. } = s {
                self.bounds.assume(*cond, true);
            }
        }
        let e = order::effects(self.p, self.bounds, &Stmt::For(b));
        self.bounds.forget(start);
        !e.checks && !e.wild
    }
}

/// One loop that does in each iteration what the loops do in theirs, one after the other.
fn fuse(p: &mut Proc, group: Vec<Stmt>) -> Stmt {
    let mut loops = group.into_iter().filter_map(|s| match s {
        Stmt::For(l) => Some(l),
        _ => None,
    });
    let mut all = loops.next().expect("a group has members");
    for mut l in loops {
        let mut subst = Subst::default();
        subst.set(l.index, Operand::Val(all.index));
        subst.apply(&mut l.body);
        for b in walk::allocated(&l.body) {
            p.bufs[b.0 as usize].shape.iter_mut().for_each(|o| *o = subst.get(*o));
        }
        l.carried.iter_mut().for_each(|c| c.next = subst.get(c.next));
        all.body.extend(l.body);
        all.carried.extend(l.carried);
    }
    spell_out(p, &mut all);
    Stmt::For(all)
}

/// A buffer that is accumulated into at the loop's index, and otherwise touched there, is read, added to and written.
fn spell_out(p: &mut Proc, l: &mut For) {
    let mixed: Vec<Buf> = touched(l.index, &l.body)
        .into_iter()
        .filter(|(_, t)| t.accumulated && (t.read || t.written) && t.is_own())
        .map(|(b, _)| b)
        .collect();
    if !mixed.is_empty() {
        accums(p, &mut l.body, &mixed);
    }
}

/// Writes `b[i] += x` as its load, addition and store, for these buffers.
pub fn accums(p: &mut Proc, block: &mut Block, mixed: &[Buf]) {
    let mut out = vec![];
    for mut s in std::mem::take(block) {
        walk::blocks_mut(&mut s).into_iter().for_each(|b| accums(p, b, mixed));
        // An inner loop that added to one element from every iteration now has an order.
        if let Stmt::For(l) = &mut s
            && l.parallel == Parallel::Yes
            && verify::parallel(p, l).is_err()
        {
            l.parallel = Parallel::No;
        }
        match s {
            Stmt::Accum { buf, index, value } if mixed.contains(&buf) => {
                let (old, new) = (p.val(Scalar::Real, "old"), p.val(Scalar::Real, "new"));
                out.push(Stmt::Load { dst: old, buf, index: index.clone() });
                out.push(Stmt::Let { dst: new, op: Op::FAdd, args: vec![Operand::Val(old), value] });
                out.push(Stmt::Store { buf, index, value: Operand::Val(new) });
            }
            s => out.push(s),
        }
    }
    *block = out;
}
