//! Writes to one element with no look at it in between become one: a store after a store is the later one; `b[i] = x; b[i] += y` is
//! `b[i] = x + y`; and, unless strict, `b[i] += x; b[i] += y` is `b[i] += x + y`.

use super::{Fact, Options, Pass};
use lang::loops::walk::{self, Access};
use lang::loops::*;
use lang::prim::Scalar;
use std::collections::HashMap;

pub const PASS: Pass = Pass {
    name: "stores",
    doc: "Writes to one element that nobody looks at in between become one.",
    requires: &[Fact::Numbered],
    establishes: &[],
    breaks: &[Fact::Numbered, Fact::Folded],
    run: |p, options| {
        let mut body = std::mem::take(&mut p.body);
        block(p, options, &mut body);
        p.body = body;
    },
};

fn block(p: &mut Proc, options: &Options, stmts: &mut Block) {
    // Per buffer, the writes to single elements that nobody has looked at since.
    let mut pending: HashMap<Buf, Vec<usize>> = HashMap::new();
    let mut out: Vec<Option<Stmt>> = vec![];
    for mut s in std::mem::take(stmts) {
        walk::blocks_mut(&mut s).into_iter().for_each(|b| block(p, options, b));
        if let Some((buf, index)) = element(&s) {
            let earlier = pending.entry(buf).or_default();
            let same = |k: &usize| element(out[*k].as_ref()?).filter(|e| e.1 == index).map(|_| *k);
            let k = earlier.iter().rev().find_map(same);
            if let Some(k) = k
                && let Some(first) = &out[k]
                && let Some((sum, joined)) = join(p, options, first, &s)
            {
                out[k] = None;
                out.extend(sum.map(Some));
                earlier.retain(|j| *j != k);
                s = joined;
            }
            // Another element, or this one under another name: a store must stay after it, and it after a store.
            let stores = matches!(s, Stmt::Store { .. });
            earlier.retain(|k| matches!(&out[*k], Some(Stmt::Accum { .. })) && !stores && !options.strict);
            earlier.push(out.len());
        } else {
            walk::all_accesses(&s, &mut |b, access, _| {
                if access != Access::Accum || options.strict {
                    pending.remove(&b);
                } else if let Some(earlier) = pending.get_mut(&b) {
                    earlier.retain(|k| matches!(&out[*k], Some(Stmt::Accum { .. })));
                }
            });
        }
        out.push(Some(s));
    }
    *stmts = out.into_iter().flatten().collect();
}

/// The element that a store or accumulation writes.
fn element(s: &Stmt) -> Option<(Buf, &Vec<Operand>)> {
    match s {
        Stmt::Store { buf, index, .. } | Stmt::Accum { buf, index, .. } => Some((*buf, index)),
        Stmt::Let { .. }
        | Stmt::Load { .. }
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
        | Stmt::View { .. } => None,
    }
}

/// The one write that two to the same element are, and the addition before it.
fn join(p: &mut Proc, options: &Options, first: &Stmt, second: &Stmt) -> Option<(Option<Stmt>, Stmt)> {
    match (first, second) {
        (Stmt::Store { .. } | Stmt::Accum { .. }, Stmt::Store { .. }) => Some((None, second.clone())),
        (
            first @ (Stmt::Store { value: x, .. } | Stmt::Accum { value: x, .. }),
            Stmt::Accum { buf, index, value: y },
        ) => {
            let stores = matches!(first, Stmt::Store { .. });
            if !stores && options.strict {
                return None;
            }
            let dst = p.val(Scalar::Real, "sum");
            let (buf, index, value) = (*buf, index.clone(), Operand::Val(dst));
            let sum = Stmt::Let { dst, op: Op::FAdd, args: vec![*x, *y] };
            Some((
                Some(sum),
                if stores { Stmt::Store { buf, index, value } } else { Stmt::Accum { buf, index, value } },
            ))
        }
        _ => None,
    }
}
