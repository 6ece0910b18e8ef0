//! Accumulators in registers: a loop that touches a buffer at one fixed element only does so in a buffer of rank 0, read before the loop and
//! written after it; if it only accumulates, the sum starts from nothing and is added afterwards (unless strict: the additions regroup).

use super::bounds::Bounds;
use super::{Fact, Options, Pass};
use lang::loops::walk::{self, Access};
use lang::loops::*;
use std::collections::{BTreeMap, HashSet};

pub const PASS: Pass = Pass {
    name: "registers",
    doc: "A loop that touches a buffer at one fixed element does so in a register.",
    requires: &[],
    establishes: &[],
    breaks: &[Fact::Promoted],
    run: |p, options| {
        let mut bounds = Bounds::new(p);
        let body = std::mem::take(&mut p.body);
        p.body = block(p, options, &mut bounds, body);
    },
};

fn block(p: &mut Proc, options: &Options, bounds: &mut Bounds, stmts: Block) -> Block {
    let start = bounds.mark();
    let mut out = vec![];
    for mut s in stmts {
        let here = bounds.mark();
        match &mut s {
            Stmt::For(l) => {
                bounds.enter(l);
                l.body = block(p, options, bounds, std::mem::take(&mut l.body));
                bounds.forget(here);
                let after = fixed(p, options, bounds, l, &mut out);
                out.push(s);
                out.extend(after);
                continue;
            }
            Stmt::While(l) => {
                l.cond_block = block(p, options, bounds, std::mem::take(&mut l.cond_block));
                l.body = block(p, options, bounds, std::mem::take(&mut l.body));
            }
            Stmt::If(i) => {
                for (arm, truth) in [(&mut i.then, true), (&mut i.els, false)] {
                    bounds.assume(i.cond, truth);
                    *arm = block(p, options, bounds, std::mem::take(arm));
                    bounds.forget(here);
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
        out.push(s);
    }
    bounds.forget(start);
    out
}

/// Per buffer: the one index it is touched at, and whether it is read, written, accumulated into.
type Uses = BTreeMap<Buf, (Option<Vec<Operand>>, HashSet<Access>)>;

/// Puts what the loop touches at fixed elements into registers: pushes what comes before it, gives what comes after.
fn fixed(p: &mut Proc, options: &Options, bounds: &mut Bounds, l: &mut For, before: &mut Block) -> Block {
    let inner = walk::allocated(&l.body);
    let mut defined = HashSet::from([l.index]);
    defined.extend(l.carried.iter().map(|c| c.param));
    walk::each(&l.body, &mut |s| {
        defined.extend(walk::results(s));
        defined.extend(walk::params(s));
    });
    let mut uses = Uses::new();
    walk::each(&l.body, &mut |s| {
        walk::accesses(s, &mut |b, access, index| {
            let outside = |o: &Operand| !matches!(o, Operand::Val(v) if defined.contains(v));
            let index = index.filter(|i| i.iter().all(outside)).map(<[_]>::to_vec);
            let (at, how) = uses.entry(b).or_insert((index.clone(), HashSet::new()));
            if *at != index {
                *at = None;
            }
            how.insert(access);
        })
    });
    let mut after = vec![];
    for (b, (index, how)) in uses {
        let Some(index) =
            index.filter(|i| !i.is_empty() && !inner.contains(&b) && bounds.in_bounds(p.info(b), i))
        else {
            continue;
        };
        let sums = !how.contains(&Access::Read) && !how.contains(&Access::Write);
        if !how.contains(&Access::Write) && !how.contains(&Access::Accum) || sums && options.strict {
            continue;
        }
        let info = p.info(b).clone();
        let register = p.buf(BufInfo { shape: vec![], kind: BufKind::Local, ..info.clone() });
        before.push(Stmt::Alloc { buf: register });
        let end = p.val(info.elem, info.name.clone());
        let value = Operand::Val(end);
        if sums {
            before.push(Stmt::Fill { buf: register, value: Operand::Real(0.0) });
            after.push(Stmt::Load { dst: end, buf: register, index: vec![] });
            after.push(Stmt::Accum { buf: b, index, value });
        } else {
            let old = p.val(info.elem, info.name.clone());
            before.push(Stmt::Load { dst: old, buf: b, index: index.clone() });
            before.push(Stmt::Store { buf: register, index: vec![], value: Operand::Val(old) });
            after.push(Stmt::Load { dst: end, buf: register, index: vec![] });
            after.push(Stmt::Store { buf: b, index, value });
        }
        walk::each_mut(&mut l.body, &mut |s| to_register(s, b, register));
    }
    after
}

fn to_register(s: &mut Stmt, of: Buf, register: Buf) {
    match s {
        Stmt::Load { buf, index, .. } | Stmt::Store { buf, index, .. } | Stmt::Accum { buf, index, .. }
            if *buf == of =>
        {
            *buf = register;
            index.clear();
        }
        Stmt::Let { .. }
        | Stmt::Load { .. }
        | Stmt::Store { .. }
        | Stmt::Accum { .. }
        | Stmt::Alloc { .. }
        | Stmt::Fill { .. }
        | Stmt::Copy { .. }
        | Stmt::For(_)
        | Stmt::While(_)
        | Stmt::If(_)
        | Stmt::Check { .. }
        | Stmt::Argsort { .. }
        | Stmt::Call { .. }
        | Stmt::Reserve { .. }
        | Stmt::View { .. } => (),
    }
}
