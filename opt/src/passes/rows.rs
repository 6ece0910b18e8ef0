//! Rows copied for lanes. Elements x[i, j] of neighbouring iterations i lie far apart, so that a loop in lanes takes each of them by itself. A row
//! that is read again and again in one iteration is copied first, to a buffer of the iteration, where the elements of the lanes lie beside
//! each other:
//!
//! ```text
//! for i < n lanes { for c < k { for j < d { … x[i, j] … } } }
//! for i < n lanes { var row : real[d]; for j < d { row[j] = x[i, j] }; for c < k { for j < d { … row[j] … } } }
//! ```

use super::{Pass, on_body};
use lang::loops::verify::touched;
use lang::loops::walk;
use lang::loops::*;
use std::collections::BTreeSet;

pub const PASS: Pass = Pass {
    name: "rows",
    doc: "Rows that an iteration of a loop in lanes reads again and again, copied.",
    requires: &[],
    establishes: &[],
    breaks: &[],
    run: |p, _| on_body(p, block),
};

fn block(p: &mut Proc, stmts: &mut Block) {
    for s in stmts {
        match s {
            Stmt::For(l) if l.parallel == Parallel::Lanes => copy_rows(p, l),
            other => walk::blocks_mut(other).into_iter().for_each(|b| block(p, b)),
        }
    }
}

fn copy_rows(p: &mut Proc, l: &mut For) {
    let mut rows = BTreeSet::new();
    repeated(p, l.index, &l.body, &mut vec![], &mut rows);
    let touched = touched(l.index, &l.body);
    for buf in rows.into_iter().rev() {
        if touched.get(&buf).is_some_and(|t| t.read && !t.written && !t.accumulated) {
            copy_row(p, l, buf);
        }
    }
}

/// The buffers of which an iteration reads its row in whole, in a loop inside which the row does not depend on. `loops`: those around.
fn repeated<'a>(p: &Proc, i: Val, stmts: &'a [Stmt], loops: &mut Vec<&'a For>, rows: &mut BTreeSet<Buf>) {
    for s in stmts {
        if let Stmt::Load { buf, index, .. } = s
            && let [first, rest @ ..] = &index[..]
            && *first == Operand::Val(i)
        {
            let over = |(at, n): (&Operand, &Operand)| {
                loops.iter().any(|l| *at == Operand::Val(l.index) && l.extent == *n)
            };
            let again =
                |l: &&For| !rest.contains(&Operand::Val(l.index)) && !matches!(l.extent, Operand::Int(..=1));
            if !rest.is_empty()
                && rest.iter().zip(&p.info(*buf).shape[1..]).all(over)
                && loops.iter().any(again)
            {
                rows.insert(*buf);
            }
        }
        if let Stmt::For(l) = s {
            loops.push(l);
            repeated(p, i, &l.body, loops, rows);
            loops.pop();
        } else {
            walk::blocks(s).into_iter().for_each(|b| repeated(p, i, b, loops, rows));
        }
    }
}

fn copy_row(p: &mut Proc, l: &mut For, buf: Buf) {
    let whole = p.info(buf).clone();
    let shape = whole.shape[1..].to_vec();
    let row = p.buf(BufInfo { shape: shape.clone(), kind: BufKind::Local, ..whole });
    walk::each_mut(&mut l.body, &mut |s| {
        if let Stmt::Load { buf: b, index, .. } = s
            && *b == buf
            && index[0] == Operand::Val(l.index)
        {
            *b = row;
            index.remove(0);
        }
    });
    let index: Vec<Val> = shape.iter().map(|_| p.val(lang::prim::Scalar::Int, "j")).collect();
    let here: Vec<Operand> = index.iter().map(|j| Operand::Val(*j)).collect();
    let x = p.val(p.info(row).elem, "x");
    let there = [&[Operand::Val(l.index)], &here[..]].concat();
    let mut copy = vec![
        Stmt::Load { dst: x, buf, index: there },
        Stmt::Store { buf: row, index: here, value: Operand::Val(x) },
    ];
    for (j, n) in index.into_iter().zip(shape).rev() {
        copy = vec![Stmt::For(For {
            index: j,
            extent: n,
            down: false,
            carried: vec![],
            body: copy,
            parallel: Parallel::Yes,
        })];
    }
    l.body.splice(0..0, [Stmt::Alloc { buf: row }].into_iter().chain(copy));
}
