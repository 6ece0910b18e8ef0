//! Array contraction: a local buffer that one loop alone touches, in some dimension only at its own index, needs that dimension no more. It
//! comes to life in the iteration, one rank smaller; at rank 0 it is a scalar ([`super::scalars`]).

use super::{Fact, Pass};
use lang::loops::verify::touched;
use lang::loops::walk;
use lang::loops::*;
use std::collections::{HashMap, HashSet};

pub const PASS: Pass = Pass {
    name: "contract",
    doc: "Local buffers lose the dimensions in which one loop touches them only at its own index.",
    requires: &[],
    establishes: &[],
    breaks: &[Fact::Promoted],
    run: |p, _| {
        let mut body = std::mem::take(&mut p.body);
        block(p, &mut body);
        p.body = body;
    },
};

fn block(p: &mut Proc, stmts: &mut Block) {
    // Where the buffers allocated here are touched.
    let mut places: HashMap<Buf, Vec<usize>> = HashMap::new();
    let mut local = vec![];
    for (k, s) in stmts.iter().enumerate() {
        if let Stmt::Alloc { buf } = s {
            local.push((*buf, k));
            places.insert(*buf, vec![]);
        }
        walk::all_accesses(s, &mut |b, _, _| {
            if let Some(at) = places.get_mut(&b)
                && at.last() != Some(&k)
            {
                at.push(k);
            }
        });
    }
    let mut gone = HashSet::new();
    let mut moved: HashMap<usize, Vec<(Buf, usize, Option<usize>)>> = HashMap::new();
    for (buf, alloc) in local {
        let (fill, at) = match *places[&buf].as_slice() {
            [at] => (None, at),
            [fill, at] if matches!(stmts[fill], Stmt::Fill { .. }) => (Some(fill), at),
            _ => continue,
        };
        let Stmt::For(l) = &stmts[at] else { continue };
        let own = touched(l.index, &l.body).remove(&buf).and_then(|t| t.own);
        if let Some(&dim) = own.iter().flatten().next() {
            gone.extend([Some(alloc), fill].into_iter().flatten());
            moved.entry(at).or_default().push((buf, dim, fill));
        }
    }
    for (at, bufs) in moved {
        let mut start = vec![];
        for (buf, _, fill) in &bufs {
            start.push(Stmt::Alloc { buf: *buf });
            start.extend(fill.map(|k| stmts[k].clone()));
        }
        let Stmt::For(l) = &mut stmts[at] else { continue };
        for (buf, dim, _) in bufs {
            p.bufs[buf.0 as usize].shape.remove(dim);
            walk::each_mut(&mut l.body, &mut |s| drop_dimension(s, buf, dim));
        }
        l.body.splice(0..0, start);
    }
    let mut k = 0;
    stmts.retain(|_| {
        k += 1;
        !gone.contains(&(k - 1))
    });
    for s in stmts {
        walk::blocks_mut(s).into_iter().for_each(|b| block(p, b));
    }
}

fn drop_dimension(s: &mut Stmt, of: Buf, dim: usize) {
    match s {
        Stmt::Load { buf, index, .. } | Stmt::Store { buf, index, .. } | Stmt::Accum { buf, index, .. }
            if *buf == of =>
        {
            index.remove(dim);
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
