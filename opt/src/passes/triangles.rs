//! Triangles turned round. A loop over j < i that adds along the columns of a packed triangle jumps through memory; over i > j, with j outside, it goes from
//! element to element:
//!
//! ```text
//! for i < n { g = …; for j < i { y[at(i, j)] += x[j] * g; z[j] += l[at(i, j)] * g } }
//!
//! for i < n { g[i] = … }
//! for j < n { for k < n − 1 − j { i = j + 1 + k; y[at(i, j)] += x[j] * g[i]; z[j] += l[at(i, j)] * g[i] } }
//! ```
//!
//! where at(i, j) grows by one with i.

use super::{Pass, on_body};
use lang::loops::verify::{parallel, touched};
use lang::loops::walk::{self, Subst};
use lang::loops::*;
use lang::prim::Scalar;
use std::collections::{HashMap, HashSet};

pub const PASS: Pass = Pass {
    name: "triangles",
    doc: "Loops over a triangle whose other order has neighbours in memory inside.",
    requires: &[],
    establishes: &[],
    breaks: &[],
    run: |p, options| {
        // Additions change places.
        if !options.strict {
            on_body(p, block);
        }
    },
};

/// Smaller triangles are written out.
const SMALL: i64 = 16;

fn block(p: &mut Proc, stmts: &mut Block) {
    let mut out = vec![];
    for mut s in std::mem::take(stmts) {
        walk::blocks_mut(&mut s).into_iter().for_each(|b| block(p, b));
        match s {
            Stmt::For(l) => match turned(p, &l) {
                Some(parts) => out.extend(parts),
                None => out.push(Stmt::For(l)),
            },
            s => out.push(s),
        }
    }
    *stmts = out;
}

/// The nest in two, if its inner loop is a triangle that is better turned round.
fn turned(p: &mut Proc, l: &For) -> Option<Block> {
    let at = l.body.iter().position(|s| matches!(s, Stmt::For(_)))?;
    let Stmt::For(j) = &l.body[at] else { return None };
    let triangle = l.parallel == Parallel::Yes
        && j.parallel == Parallel::Yes
        && !l.down
        && !j.down
        && j.extent == Operand::Val(l.index)
        && j.carried.is_empty()
        && !matches!(l.extent, Operand::Int(n) if n <= SMALL)
        && l.body.iter().enumerate().all(|(k, s)| k == at || walk::is_elementary(s))
        && j.body.iter().all(|s| walk::is_elementary(s) && !matches!(s, Stmt::Store { .. }));
    // The inner loop only adds, to what nothing else of the nest reads or writes, and reads what nothing of it changes.
    let all = touched(l.index, &l.body);
    let apart = touched(j.index, &j.body)
        .keys()
        .all(|b| all.get(b).is_some_and(|t| !(t.written || t.accumulated && t.read)));
    if !triangle || !apart || !better(l, j) {
        return None;
    }
    // Values from outside the inner loop, one for each i.
    let inside: HashSet<Val> = l.body[..at].iter().flat_map(walk::results).collect();
    let mut needed = vec![];
    walk::each_operand(&j.body, &mut |o| {
        if let Operand::Val(v) = o
            && inside.contains(&v)
            && !needed.contains(&v)
        {
            needed.push(v);
        }
    });
    if needed.is_empty() || needed.iter().any(|v| p.vals[v.0 as usize].0 != Scalar::Real) {
        return None;
    }
    Some(parts(p, l, at, j, &needed))
}

fn parts(p: &mut Proc, l: &For, at: usize, j: &For, needed: &[Val]) -> Block {
    let (mut out, mut first) = (vec![], l.clone());
    let column = p.val(Scalar::Int, "j");
    let [k, i, next, left, count] = ["k", "i", "next", "left", "count"].map(|name| p.val(Scalar::Int, name));
    let mut subst = Subst::default();
    subst.set(j.index, Operand::Val(column));
    subst.set(l.index, Operand::Val(i));
    let add = |dst: Val, op: Op, a: Operand, b: Operand| Stmt::Let { dst, op, args: vec![a, b] };
    // i = j + 1 + k
    let mut body = vec![
        add(next, Op::IAdd, Operand::Val(column), Operand::Int(1)),
        add(i, Op::IAdd, Operand::Val(next), Operand::Val(k)),
    ];
    let mut kept = vec![];
    for v in needed {
        let (ty, name) = p.vals[v.0 as usize].clone();
        let shape = vec![l.extent];
        let buf = p.buf(BufInfo { name: name.clone(), elem: ty, shape, kind: BufKind::Local });
        out.push(Stmt::Alloc { buf });
        kept.push(Stmt::Store { buf, index: vec![Operand::Val(l.index)], value: Operand::Val(*v) });
        let again = p.val(ty, name);
        body.push(Stmt::Load { dst: again, buf, index: vec![Operand::Val(i)] });
        subst.set(*v, Operand::Val(again));
    }
    first.body.splice(at..=at, kept);
    body.extend(walk::refresh(p, &j.body, &mut subst));
    let over = |index: Val, extent: Operand, body: Block| For {
        index,
        extent,
        down: false,
        carried: vec![],
        body,
        parallel: Parallel::No,
    };
    let rows = over(k, Operand::Val(count), body);
    let mut columns = over(
        column,
        l.extent,
        vec![
            add(left, Op::ISub, l.extent, Operand::Val(column)),
            add(count, Op::ISub, Operand::Val(left), Operand::Int(1)),
            Stmt::For(rows),
        ],
    );
    if let Stmt::For(rows) = &mut columns.body[2] {
        mark(p, rows);
    }
    mark(p, &mut columns);
    out.push(Stmt::For(first));
    out.push(Stmt::For(columns));
    out
}

fn mark(p: &Proc, l: &mut For) {
    if parallel(p, l).is_ok() {
        l.parallel = Parallel::Yes;
    }
}

/// Some access goes from element to element with i and jumps with j, and none the other way round.
fn better(l: &For, j: &For) -> bool {
    let defined: HashMap<Val, (Op, &[Operand])> = j
        .body
        .iter()
        .chain(&l.body)
        .filter_map(|s| match s {
            Stmt::Let { dst, op, args } => Some((*dst, (*op, &args[..]))),
            _ => None,
        })
        .collect();
    let (mut gains, mut losses) = (false, false);
    for s in &j.body {
        walk::accesses(s, &mut |_, _, index| {
            let Some(last) = index.and_then(|index| index.last()) else { return };
            let by = |v: Val| step(*last, v, &defined);
            match (by(l.index), by(j.index)) {
                (Some(1), None) => gains = true,
                (None, Some(1)) => losses = true,
                _ => {}
            }
        });
    }
    gains && !losses
}

/// By how much an int grows with a value, where that is the same everywhere.
fn step(o: Operand, with: Val, defined: &HashMap<Val, (Op, &[Operand])>) -> Option<i64> {
    let Operand::Val(v) = o else { return Some(0) };
    if v == with {
        return Some(1);
    }
    let Some((op, args)) = defined.get(&v) else { return Some(0) };
    let steps: Option<Vec<i64>> = args.iter().map(|a| step(*a, with, defined)).collect();
    match (op, &steps?[..], args) {
        (_, steps, _) if steps.iter().all(|s| *s == 0) => Some(0),
        (Op::IAdd, [a, b], _) => Some(a + b),
        (Op::ISub, [a, b], _) => Some(a - b),
        (Op::IMul, [a, 0], [_, Operand::Int(k)]) => a.checked_mul(*k),
        (Op::IMul, [0, b], [Operand::Int(k), _]) => b.checked_mul(*k),
        _ => None,
    }
}
