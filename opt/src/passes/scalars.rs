//! Buffers of rank 0 become values: what a store puts there is what the next load finds; loops carry it, branches join it. A result of rank 0 is
//! stored once, at the end.

use super::{Fact, Pass};
use lang::loops::walk::{self, Access, Subst};
use lang::loops::*;
use lang::prim::Scalar;
use std::collections::{BTreeMap, BTreeSet};

pub const PASS: Pass = Pass {
    name: "scalars",
    doc: "Buffers of rank 0 become SSA values, carried by loops and joined by branches.",
    requires: &[],
    establishes: &[Fact::Promoted],
    breaks: &[Fact::Numbered, Fact::Folded, Fact::Live, Fact::Marked],
    run: |p, _| {
        let body = std::mem::take(&mut p.body);
        let mut s = Promotion { promoted: promoted(p, &body), p, subst: Subst::default() };
        let results = s.promoted.iter().filter(|b| s.p.info(**b).kind == BufKind::Out);
        let mut now: Values = results.map(|b| (*b, undefined(s.p.info(*b).elem))).collect();
        let mut body = s.block(body, &mut now);
        body.extend(now.into_iter().map(|(buf, value)| Stmt::Store { buf, index: vec![], value }));
        let Promotion { p, subst, .. } = s;
        p.body = body;
        subst.apply_proc(p);
    },
};

/// What each promoted buffer holds.
type Values = BTreeMap<Buf, Operand>;

/// The buffers of rank 0 that are touched, locals and results; not those written where a while computes its condition,
/// whose last run is followed by nothing that could pass the value on.
fn promoted(p: &Proc, body: &Block) -> BTreeSet<Buf> {
    let (mut out, mut kept) = (BTreeSet::new(), BTreeSet::new());
    walk::each(body, &mut |s| {
        // What a call reads or writes lies in memory.
        let called = matches!(s, Stmt::Call { .. });
        walk::accesses(s, &mut |b, _, _| {
            let info = p.info(b);
            if called {
                kept.insert(b);
            } else if info.shape.is_empty() && matches!(info.kind, BufKind::Out | BufKind::Local) {
                out.insert(b);
            }
        });
        if let Stmt::While(l) = s {
            kept.extend(changed(&[&l.cond_block]).into_keys());
        }
    });
    &out - &kept
}

/// Any value: nobody reads it in a well-formed procedure.
pub fn undefined(ty: Scalar) -> Operand {
    match ty {
        Scalar::Real => Operand::Real(0.0),
        Scalar::Int => Operand::Int(0),
        Scalar::Bool => Operand::Bool(false),
    }
}

/// The buffers that the blocks change, and whether only by accumulation, nobody looking.
fn changed(blocks: &[&Block]) -> BTreeMap<Buf, bool> {
    let mut touched: BTreeMap<Buf, (bool, bool)> = BTreeMap::new();
    for s in blocks.iter().copied().flatten() {
        walk::all_accesses(s, &mut |b, access, _| {
            let (changes, sums) = touched.entry(b).or_insert((false, true));
            *changes |= access != Access::Read;
            *sums &= access == Access::Accum;
        });
    }
    touched.into_iter().filter(|(_, t)| t.0).map(|(b, t)| (b, t.1)).collect()
}

struct Promotion<'a> {
    p: &'a mut Proc,
    promoted: BTreeSet<Buf>,
    subst: Subst,
}

impl Promotion<'_> {
    fn is(&self, b: Buf) -> bool {
        self.promoted.contains(&b)
    }
    fn value(&mut self, b: Buf) -> Val {
        let info = self.p.info(b);
        let (elem, name) = (info.elem, info.name.clone());
        self.p.val(elem, name)
    }

    fn block(&mut self, block: Block, now: &mut Values) -> Block {
        let alive: Vec<Buf> = now.keys().copied().collect();
        let mut out = vec![];
        for s in block {
            self.stmt(s, now, &mut out);
        }
        now.retain(|b, _| alive.contains(b));
        out
    }

    fn stmt(&mut self, mut s: Stmt, now: &mut Values, out: &mut Block) {
        walk::operands_mut(&mut s, &mut |o| *o = self.subst.get(*o));
        match s {
            Stmt::Alloc { buf } if self.is(buf) => {
                now.insert(buf, undefined(self.p.info(buf).elem));
            }
            Stmt::Load { dst, buf, .. } if self.is(buf) => self.subst.set(dst, now[&buf]),
            Stmt::Store { buf, value, .. } | Stmt::Fill { buf, value } if self.is(buf) => {
                now.insert(buf, value);
            }
            Stmt::Accum { buf, value, .. } if self.is(buf) => {
                let dst = self.value(buf);
                out.push(Stmt::Let { dst, op: Op::FAdd, args: vec![now[&buf], value] });
                now.insert(buf, Operand::Val(dst));
            }
            Stmt::Copy { dst, src } if self.is(dst) || self.is(src) => {
                let value = if self.is(src) {
                    now[&src]
                } else {
                    let v = self.value(src);
                    out.push(Stmt::Load { dst: v, buf: src, index: vec![] });
                    Operand::Val(v)
                };
                if self.is(dst) {
                    now.insert(dst, value);
                } else {
                    out.push(Stmt::Store { buf: dst, index: vec![], value });
                }
            }
            Stmt::For(mut l) => {
                let carried = self.enter(changed(&[&l.body]), now);
                l.body = self.block(l.body, now);
                l.carried.iter_mut().for_each(|c| c.next = self.subst.get(c.next));
                l.carried.extend(self.leave(carried, now));
                out.push(Stmt::For(l));
            }
            Stmt::While(mut l) => {
                let carried = self.enter(changed(&[&l.cond_block, &l.body]), now);
                l.cond_block = self.block(l.cond_block, now);
                l.cond = self.subst.get(l.cond);
                l.body = self.block(l.body, now);
                l.carried.iter_mut().for_each(|c| c.next = self.subst.get(c.next));
                let mut more = self.leave(carried, now);
                more.iter_mut().for_each(|c| c.kind = CarriedKind::Sequential);
                l.carried.extend(more);
                out.push(Stmt::While(l));
            }
            Stmt::If(mut i) => {
                let mut other = now.clone();
                i.then = self.block(i.then, now);
                i.els = self.block(i.els, &mut other);
                for (_, t, e) in &mut i.results {
                    (*t, *e) = (self.subst.get(*t), self.subst.get(*e));
                }
                for (b, e) in other {
                    let t = now[&b];
                    if !walk::same(t, e) {
                        let dst = self.value(b);
                        i.results.push((dst, t, e));
                        now.insert(b, Operand::Val(dst));
                    }
                }
                out.push(Stmt::If(i));
            }
            Stmt::Let { .. }
            | Stmt::Load { .. }
            | Stmt::Store { .. }
            | Stmt::Accum { .. }
            | Stmt::Alloc { .. }
            | Stmt::Fill { .. }
            | Stmt::Copy { .. }
            | Stmt::Check { .. }
            | Stmt::Argsort { .. }
            | Stmt::Call { .. }
            | Stmt::Reserve { .. }
            | Stmt::View { .. } => out.push(s),
        }
    }

    /// Params for the promoted buffers that a loop changes; inside it, they hold these.
    fn enter(
        &mut self,
        changed: BTreeMap<Buf, bool>,
        now: &mut Values,
    ) -> Vec<(Buf, Val, Operand, CarriedKind)> {
        let mut out = vec![];
        for (b, sums) in changed {
            // A buffer that comes to life inside is none of the loop's business; its first value is never looked at.
            let Some(init) = now.get(&b).copied().filter(|_| self.is(b)) else { continue };
            let param = self.value(b);
            let kind = if sums { CarriedKind::Sum } else { CarriedKind::Sequential };
            now.insert(b, Operand::Val(param));
            out.push((b, param, init, kind));
        }
        out
    }
    fn leave(&mut self, carried: Vec<(Buf, Val, Operand, CarriedKind)>, now: &mut Values) -> Vec<Carried> {
        let one = |(b, param, init, kind): (Buf, Val, Operand, CarriedKind)| {
            let result = self.value(b);
            let next = now.insert(b, Operand::Val(result)).unwrap_or(init);
            Carried { param, init, next, result, kind }
        };
        carried.into_iter().map(one).collect()
    }
}
