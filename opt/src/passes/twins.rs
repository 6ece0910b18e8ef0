//! Two local buffers of one shape that get the same values at the same places are one buffer: a cotangent that two summands of an array pass on.

use super::unread::drop_writes;
use super::{Fact, Pass};
use lang::loops::walk::{self, Access};
use lang::loops::*;
use std::collections::HashMap;

pub const PASS: Pass = Pass {
    name: "twins",
    doc: "Local buffers that hold the same are one.",
    requires: &[Fact::Numbered],
    establishes: &[],
    breaks: &[Fact::Numbered],
    run: |p, _| {
        let mut writes: HashMap<Buf, usize> = HashMap::new();
        for s in &p.body {
            walk::all_accesses(s, &mut |b, access, _| {
                *writes.entry(b).or_default() += (access != Access::Read) as usize
            });
        }
        let mut body = std::mem::take(&mut p.body);
        block(p, &writes, &mut body);
        p.body = body;
    },
};

fn block(p: &Proc, writes: &HashMap<Buf, usize>, stmts: &mut Block) {
    let single = |b: Buf| writes.get(&b) == Some(&1) && !p.parts.contains_key(&b);
    // Where the buffers come to life that are written by one statement.
    let mut born: HashMap<Buf, usize> = HashMap::new();
    for (k, s) in stmts.iter().enumerate() {
        if let Stmt::Alloc { buf } = s
            && single(*buf)
        {
            born.insert(*buf, k);
        }
    }
    let mut pairs = vec![];
    twins(stmts, &mut |a, b| {
        let alike = p.info(a).elem == p.info(b).elem && p.info(a).shape == p.info(b).shape;
        let met = |b: Buf| pairs.iter().any(|(x, y)| *x == b || *y == b);
        // The one that stays is there for both.
        if alike && !met(a) && !met(b) && born.get(&a).zip(born.get(&b)).is_some() {
            pairs.push((a, b));
        }
    });
    for (kept, gone) in &pairs {
        let (first, second) = (born[kept].min(born[gone]), born[kept].max(born[gone]));
        (stmts[first], stmts[second]) = (Stmt::Alloc { buf: *kept }, Stmt::Alloc { buf: *gone });
    }
    for (kept, gone) in pairs {
        stmts.retain(|s| !matches!(s, Stmt::Alloc { buf } if *buf == gone));
        drop_writes(stmts, gone);
        walk::each_mut(stmts, &mut |s| {
            walk::buffers_mut(s, &mut |b| *b = if *b == gone { kept } else { *b })
        });
    }
    stmts.iter_mut().flat_map(walk::blocks_mut).for_each(|b| block(p, writes, b));
}

/// Pairs of buffers to which a block stores one value at one place, the second not looked at in between.
fn twins(stmts: &Block, found: &mut impl FnMut(Buf, Buf)) {
    for (k, s) in stmts.iter().enumerate() {
        if let Stmt::Store { buf: a, index, value } = s {
            let later = stmts[k + 1..].iter().enumerate().find_map(|(j, s)| match s {
                Stmt::Store { buf, index: at, value: same } => {
                    (buf != a && at == index && walk::same(*value, *same)).then_some((k + 1 + j, *buf))
                }
                _ => None,
            });
            if let Some((j, b)) = later
                && walk::touches(&stmts[k + 1..j], b) == 0
            {
                found(*a, b);
            }
        }
        walk::blocks(s).into_iter().for_each(|b| twins(b, found));
    }
}
