//! Writes to a local buffer after which nobody reads it, or, in a loop that touches it only at its own index, nobody what the iteration wrote. They are
//! there where a cotangent is put down for whoever comes next, and nobody does.

use super::{Fact, Pass, on_body};
use lang::loops::verify::touched;
use lang::loops::walk::{self, Access};
use lang::loops::*;

pub const PASS: Pass = Pass {
    name: "unread",
    doc: "Writes to local buffers that nobody reads afterwards go away.",
    requires: &[],
    establishes: &[],
    breaks: &[Fact::Live],
    run: |p, _| on_body(p, |p, body| block(p, body)),
};

fn block(p: &Proc, stmts: &mut Block) {
    // Whoever reads a part, or what it is a part of, reads both.
    let alone = |b: Buf| p.parts.iter().all(|(part, whole)| *part != b && whole.of != b);
    let local = |s: &Stmt| match s {
        Stmt::Alloc { buf } if alone(*buf) => Some(*buf),
        _ => None,
    };
    let local: Vec<Buf> = stmts.iter().filter_map(local).collect();
    local.into_iter().for_each(|buf| forget(stmts, buf));
    stmts.iter_mut().flat_map(walk::blocks_mut).for_each(|b| block(p, b));
}

/// After these statements nobody reads what they wrote.
fn forget(stmts: &mut Block, buf: Buf) {
    let mut last = None;
    for (k, s) in stmts.iter().enumerate() {
        walk::all_accesses(s, &mut |b, access, _| {
            if b == buf && access == Access::Read {
                last = Some(k);
            }
        });
    }
    let mut after = stmts.split_off(last.map_or(0, |k| k + 1));
    drop_writes(&mut after, buf);
    if let Some(s) = stmts.last_mut() {
        match s {
            Stmt::For(l) if touched(l.index, &l.body).get(&buf).is_some_and(|t| t.is_own()) => {
                forget(&mut l.body, buf)
            }
            Stmt::If(i) => [&mut i.then, &mut i.els].into_iter().for_each(|arm| forget(arm, buf)),
            _ => {}
        }
    }
    stmts.extend(after);
}

/// Takes out all writes to a buffer.
pub fn drop_writes(stmts: &mut Block, of: Buf) {
    stmts.retain(|s| match s {
        Stmt::Store { buf, .. } | Stmt::Accum { buf, .. } | Stmt::Fill { buf, .. } => *buf != of,
        Stmt::Copy { dst, .. } => *dst != of,
        _ => true,
    });
    stmts.iter_mut().flat_map(walk::blocks_mut).for_each(|b| drop_writes(b, of));
}
