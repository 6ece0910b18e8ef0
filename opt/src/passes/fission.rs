//! A loop that adds to a buffer at its own index and elsewhere too (`z[i] += x; z[i - 1] += y`) is no vector: every iteration waits for the one before. What it
//! adds at its own index is added by a loop of its own before it, if that takes no more than loads and a few operations.

use super::{Pass, on_body};
use lang::loops::verify::touched;
use lang::loops::walk::{self, Subst};
use lang::loops::*;
use std::collections::HashSet;

pub const PASS: Pass = Pass {
    name: "fission",
    doc: "Additions at a loop's own index leave a loop that also adds to its neighbours.",
    requires: &[],
    establishes: &[],
    breaks: &[],
    run: |p, options| {
        // The additions change places.
        if !options.strict {
            on_body(p, block);
        }
    },
};

/// Shorter loops are unrolled, or part of a longer one that is the vector.
const SHORT: i64 = 32;
/// What an addition needs is done twice if it is no more statements than this.
const FEW: usize = 4;

fn block(p: &mut Proc, stmts: &mut Block) {
    let mut out = vec![];
    for mut s in std::mem::take(stmts) {
        walk::blocks_mut(&mut s).into_iter().for_each(|b| block(p, b));
        if let Stmt::For(l) = &mut s
            && l.parallel == Parallel::Yes
            && !matches!(l.extent, Operand::Int(k) if k <= SHORT)
        {
            while let Some(first) = own_additions(p, l) {
                out.push(Stmt::For(first));
            }
        }
        out.push(s);
    }
    *stmts = out;
}

fn want(s: &Stmt, wanted: &mut HashSet<Val>) {
    walk::operands(s, &mut |o| {
        if let Operand::Val(v) = o {
            wanted.insert(*v);
        }
    });
}

/// Takes an addition at the loop's own index out of the loop, to be a loop before it.
fn own_additions(p: &mut Proc, l: &mut For) -> Option<For> {
    let all = touched(l.index, &l.body);
    let neighbours = |buf: Buf| all.get(&buf).is_some_and(|t| !t.is_own() && !t.read && !t.written);
    let at = l.body.iter().position(|s| match s {
        Stmt::Accum { buf, index, .. } => neighbours(*buf) && index[..] == [Operand::Val(l.index)],
        _ => false,
    })?;
    // What the addition is made of, from the last operation backwards.
    let mut wanted = HashSet::new();
    want(&l.body[at], &mut wanted);
    let mut slice = vec![];
    for s in l.body[..at].iter().rev() {
        // What is loaded may be in range by a check only.
        let mut checked = false;
        walk::each(std::slice::from_ref(s), &mut |s| checked |= matches!(s, Stmt::Check { .. }));
        if checked {
            return None;
        }
        if !walk::results(s).iter().any(|v| wanted.contains(v)) {
            continue;
        }
        let unchanged = |s: &Stmt| match s {
            Stmt::Load { buf, .. } => all.get(buf).is_none_or(|t| !t.written && !t.accumulated),
            Stmt::Let { .. } => true,
            _ => false,
        };
        if !unchanged(s) {
            return None;
        }
        want(s, &mut wanted);
        slice.push(s.clone());
    }
    let carried = l.carried.iter().any(|c| wanted.contains(&c.param));
    if slice.len() > FEW || carried {
        return None;
    }
    slice.reverse();
    slice.push(l.body.remove(at));
    let index = p.val(lang::prim::Scalar::Int, "i");
    let mut subst = Subst::default();
    subst.set(l.index, Operand::Val(index));
    let body = walk::refresh(p, &slice, &mut subst);
    Some(For { index, body, carried: vec![], ..l.clone() })
}
