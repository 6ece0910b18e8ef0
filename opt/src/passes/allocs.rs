//! No allocation inside a loop: a local buffer of invariant shape comes to life before a sequential loop instead of in every
//! iteration. Nobody can tell, since its contents are undefined each time it does. The iterations of a parallel loop keep their own.

use super::{Fact, Pass};
use lang::loops::walk;
use lang::loops::*;
use std::collections::HashSet;

pub const PASS: Pass = Pass {
    name: "allocs",
    doc: "Local buffers come to life outside sequential loops.",
    requires: &[Fact::Marked],
    establishes: &[],
    breaks: &[],
    run: |p, _| {
        let mut body = std::mem::take(&mut p.body);
        block(p, &mut body);
        p.body = body;
    },
};

fn block(p: &Proc, stmts: &mut Block) {
    let mut out = vec![];
    for mut s in std::mem::take(stmts) {
        walk::blocks_mut(&mut s).into_iter().for_each(|b| block(p, b));
        let leaves = match &s {
            Stmt::For(l) => l.parallel == Parallel::No,
            Stmt::While(_) => true,
            _ => false,
        };
        if leaves {
            let mut inside = HashSet::new();
            walk::each(std::slice::from_ref(&s), &mut |s| {
                inside.extend(walk::results(s));
                inside.extend(walk::params(s));
            });
            let bound = |o: &Operand| matches!(o, Operand::Val(v) if inside.contains(v));
            for b in walk::blocks_mut(&mut s) {
                let mut staying = HashSet::new();
                let stays = |s: &Stmt| match s {
                    Stmt::Alloc { buf } => {
                        let part = p.parts.get(buf);
                        let stays = p.info(*buf).shape.iter().chain(part.map(|part| &part.at)).any(bound)
                            // A part is not there before the whole.
                            || part.is_some_and(|part| staying.contains(&part.of));
                        if stays {
                            staying.insert(*buf);
                        }
                        stays
                    }
                    _ => true,
                };
                let (kept, moved) = std::mem::take(b).into_iter().partition(stays);
                *b = kept;
                out.extend(moved);
            }
        }
        out.push(s);
    }
    *stmts = out;
}
