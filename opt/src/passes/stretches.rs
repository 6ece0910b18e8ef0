//! A loop that fills one stretch of its range from one array and the rest from another (`concat`) becomes two loops, each of which may then be
//! seen to move a whole array ([`super::parts`]).

use super::bounds::Bounds;
use super::{Fact, Pass};
use lang::loops::split::{Where, questions};
use lang::loops::walk::{self, Subst};
use lang::loops::*;
use lang::prim::Scalar;

pub const PASS: Pass = Pass {
    name: "stretches",
    doc: "A loop that moves one array below an index and another above it is two loops.",
    requires: &[Fact::Numbered],
    establishes: &[],
    breaks: &[Fact::Numbered, Fact::Folded, Fact::Live],
    run: |p, _| {
        let bounds = Bounds::new(p);
        let mut body = std::mem::take(&mut p.body);
        block(p, &bounds, &mut body);
        p.body = body;
    },
};

/// Arms of more statements are not taken apart.
const MOST: usize = 10;

fn block(p: &mut Proc, bounds: &Bounds, stmts: &mut Block) {
    let mut out = vec![];
    for mut s in std::mem::take(stmts) {
        match &mut s {
            Stmt::For(l) => match halves(p, bounds, l) {
                Some(two) => {
                    out.extend(two);
                    continue;
                }
                None => block(p, bounds, &mut l.body),
            },
            s => walk::blocks_mut(s).into_iter().for_each(|b| block(p, bounds, b)),
        }
        out.push(s);
    }
    *stmts = out;
}

/// The loops below and from the index at which the branch changes, with what they need.
fn halves(p: &mut Proc, bounds: &Bounds, l: &For) -> Option<Vec<Stmt>> {
    let at = l.body.iter().position(|s| matches!(s, Stmt::If(_)))?;
    let (before, after) = (&l.body[..at], &l.body[at + 1..]);
    let Stmt::If(branch) = &l.body[at] else { return None };
    let (_, place) = questions(l).into_iter().find(|(cond, _)| branch.cond == Operand::Val(*cond))?;
    let Where::Below(m) = place else { return None };
    let arm = |block: &Block, value: fn(&(Val, Operand, Operand)) -> Operand| {
        let mut results = Subst::default();
        branch.results.iter().for_each(|r| results.set(r.0, value(r)));
        let mut code = [block, after].concat();
        results.apply(&mut code);
        code
    };
    let (then, els) = (arm(&branch.then, |r| r.1), arm(&branch.els, |r| r.2));
    let simple = !l.down
        && l.carried.is_empty()
        && before.iter().all(|s| matches!(s, Stmt::Let { .. }))
        && plain(&then)
        && plain(&els)
        && moves(p, &then)
        && moves(p, &els)
        && bounds.at_most(Operand::Int(0), m)
        && bounds.at_most(m, l.extent);
    if !simple {
        return None;
    }
    let below = For { extent: m, body: [before, &then].concat(), ..l.clone() };
    let (rest, index) = (p.val(Scalar::Int, "n"), p.val(Scalar::Int, "i"));
    let from = p.val(Scalar::Int, "i");
    let mut subst = Subst::default();
    subst.set(l.index, Operand::Val(from));
    let mut body = vec![Stmt::Let { dst: from, op: Op::IAdd, args: vec![Operand::Val(index), m] }];
    body.extend(walk::refresh(p, &[before, &els].concat(), &mut subst));
    // Its iterations are independent, but do not write at their own index.
    let parallel = Parallel::No;
    Some(vec![
        Stmt::For(below),
        Stmt::Let { dst: rest, op: Op::ISub, args: vec![l.extent, m] },
        Stmt::For(For { index, extent: Operand::Val(rest), body, parallel, ..l.clone() }),
    ])
}

fn plain(block: &[Stmt]) -> bool {
    let plain = |s: &Stmt| {
        matches!(s, Stmt::Let { .. } | Stmt::Load { .. } | Stmt::Store { .. } | Stmt::Check { .. })
    };
    block.len() <= MOST && block.iter().all(plain)
}

/// What is stored last was loaded from a local buffer.
fn moves(p: &Proc, block: &[Stmt]) -> bool {
    let Some(Stmt::Store { value: Operand::Val(v), .. }) = block.last() else { return false };
    let from_local = |s: &Stmt| matches!(s, Stmt::Load { dst, buf, .. } if dst == v && p.info(*buf).kind == BufKind::Local);
    block.iter().any(from_local)
}
