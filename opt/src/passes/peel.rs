//! An accumulator's zero: `fill b = v` followed by a nest of loops whose first touch of every element is a store needs no fill;
//! if that touch is `+=`, it becomes a store of v + x (of x alone where v is the structural zero and signs of zeros do not matter).

use super::fuse::accums;
use super::{Fact, Options, Pass};
use lang::loops::walk;
use lang::loops::*;
use lang::prim::Scalar;

pub const PASS: Pass = Pass {
    name: "peel",
    doc: "Fills that the next loop overwrites go away; the first += after a fill is a store.",
    requires: &[],
    establishes: &[],
    breaks: &[Fact::Numbered, Fact::Folded, Fact::Promoted],
    run: |p, options| {
        let mut body = std::mem::take(&mut p.body);
        block(p, options, &mut body);
        p.body = body;
    },
};

fn block(p: &mut Proc, options: &Options, stmts: &mut Block) {
    let mut k = 0;
    while k < stmts.len() {
        if let Stmt::Fill { buf, value } = stmts[k] {
            let next = stmts[k + 1..].iter_mut().find(|s| walk::touches(std::slice::from_ref(s), buf) > 0);
            if next.is_some_and(|next| overwrites(p, options, next, buf, value)) {
                stmts.remove(k);
                continue;
            }
        }
        walk::blocks_mut(&mut stmts[k]).into_iter().for_each(|b| block(p, options, b));
        k += 1;
    }
}

/// The statement writes every element of the buffer before it reads it; a first += is made a store.
fn overwrites(p: &mut Proc, options: &Options, s: &mut Stmt, buf: Buf, value: Operand) -> bool {
    match s {
        Stmt::Fill { .. } => true,
        Stmt::Copy { dst, .. } => *dst == buf,
        Stmt::Argsort { perm, .. } => *perm == buf,
        Stmt::Call { args, .. } => args.contains(&Argument::Out(buf)),
        Stmt::For(l) => {
            let Some(index) = covered(p, l, buf, &mut vec![]) else { return false };
            let mut same = true;
            walk::each(&l.body, &mut |s| {
                walk::accesses(s, &mut |b, _, at| same &= b != buf || at == Some(&index))
            });
            if same {
                store_first(p, options, &mut l.body, buf, &index, value);
                // Stored to now, it is accumulated into no more: later additions are spelt out.
                accums(p, &mut l.body, &[buf]);
            }
            same
        }
        Stmt::Let { .. }
        | Stmt::Load { .. }
        | Stmt::Store { .. }
        | Stmt::Accum { .. }
        | Stmt::Alloc { .. }
        | Stmt::While(_)
        | Stmt::If(_)
        | Stmt::Check { .. }
        | Stmt::Reserve { .. }
        | Stmt::View { .. } => false,
    }
}

/// The index of the first access, if it is a write that the nest repeats for every element just once.
fn covered(p: &Proc, l: &For, buf: Buf, nest: &mut Vec<(Val, Operand)>) -> Option<Vec<Operand>> {
    nest.push((l.index, l.extent));
    let first = l.body.iter().find(|s| walk::touches(std::slice::from_ref(s), buf) > 0)?;
    match first {
        Stmt::Store { index, .. } | Stmt::Accum { index, .. } => {
            covers(p, index, buf, nest).then(|| index.clone())
        }
        Stmt::For(inner) => covered(p, inner, buf, nest),
        // Whichever arm is taken; one that leaves the element alone will store what filled it.
        Stmt::If(i) => in_arms(i, buf).filter(|index| covers(p, index, buf, nest)),
        Stmt::Let { .. }
        | Stmt::Load { .. }
        | Stmt::Alloc { .. }
        | Stmt::Fill { .. }
        | Stmt::Copy { .. }
        | Stmt::While(_)
        | Stmt::Check { .. }
        | Stmt::Argsort { .. }
        | Stmt::Call { .. }
        | Stmt::Reserve { .. }
        | Stmt::View { .. } => None,
    }
}

/// The nest's indices are those of the element, each in its own dimension and as far as that goes.
fn covers(p: &Proc, index: &[Operand], buf: Buf, nest: &[(Val, Operand)]) -> bool {
    let shape = &p.info(buf).shape;
    let dimension = |(v, extent): &(Val, Operand)| {
        let mut at = (0..index.len()).filter(|k| index[*k] == Operand::Val(*v));
        at.next().filter(|k| at.next().is_none() && shape[*k] == *extent)
    };
    nest.iter().all(|l| dimension(l).is_some()) && nest.len() == shape.len()
}

/// The index of the first access in each arm that has one, if these are writes to one element.
fn in_arms(i: &If, buf: Buf) -> Option<Vec<Operand>> {
    let first = |arm: &Block| {
        arm.iter().find(|s| walk::touches(std::slice::from_ref(s), buf) > 0).map(|s| match s {
            Stmt::Store { index, .. } | Stmt::Accum { index, .. } => Some(index.clone()),
            Stmt::If(i) => in_arms(i, buf),
            Stmt::Let { .. }
            | Stmt::Load { .. }
            | Stmt::Alloc { .. }
            | Stmt::Fill { .. }
            | Stmt::Copy { .. }
            | Stmt::For(_)
            | Stmt::While(_)
            | Stmt::Check { .. }
            | Stmt::Argsort { .. }
            | Stmt::Call { .. }
            | Stmt::Reserve { .. }
            | Stmt::View { .. } => None,
        })
    };
    match (first(&i.then), first(&i.els)) {
        (Some(t), Some(e)) => t.filter(|t| e.as_ref() == Some(t)),
        (Some(index), None) | (None, Some(index)) => index,
        (None, None) => None,
    }
}

fn store_first(
    p: &mut Proc,
    options: &Options,
    stmts: &mut Block,
    buf: Buf,
    index: &[Operand],
    filled: Operand,
) {
    let Some(k) = stmts.iter().position(|s| walk::touches(std::slice::from_ref(s), buf) > 0) else {
        // An arm that leaves the element alone.
        return stmts.push(Stmt::Store { buf, index: index.to_vec(), value: filled });
    };
    match &mut stmts[k] {
        Stmt::For(l) => store_first(p, options, &mut l.body, buf, index, filled),
        Stmt::If(i) => {
            store_first(p, options, &mut i.then, buf, index, filled);
            store_first(p, options, &mut i.els, buf, index, filled);
        }
        Stmt::Accum { value, .. } => {
            let (index, value) = (index.to_vec(), *value);
            if !options.strict && filled == Operand::Real(0.0) {
                stmts[k] = Stmt::Store { buf, index, value };
            } else {
                let dst = p.val(Scalar::Real, "first");
                stmts[k] = Stmt::Store { buf, index, value: Operand::Val(dst) };
                stmts.insert(k, Stmt::Let { dst, op: Op::FAdd, args: vec![filled, value] });
            }
        }
        Stmt::Store { .. }
        | Stmt::Let { .. }
        | Stmt::Load { .. }
        | Stmt::Alloc { .. }
        | Stmt::Fill { .. }
        | Stmt::Copy { .. }
        | Stmt::While(_)
        | Stmt::Check { .. }
        | Stmt::Argsort { .. }
        | Stmt::Call { .. }
        | Stmt::Reserve { .. }
        | Stmt::View { .. } => (),
    }
}
