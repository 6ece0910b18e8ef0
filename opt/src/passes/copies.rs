//! Copies that need not be made. A local buffer whose last use is to be copied into another is that other from the start, if nobody looks at the other
//! once an element of it is overwritten; a copy that is never written, of a buffer that is not written while the copy is used, is the buffer itself.
//! A nest of loops that moves every element to its own place is a copy.

use super::{Fact, Pass};
use lang::loops::verify::touched;
use lang::loops::walk::{self, Access};
use lang::loops::*;
use std::collections::{BTreeMap, HashMap};

pub const PASS: Pass = Pass {
    name: "copies",
    doc: "Buffers that are copied to where they are wanted are made there.",
    requires: &[Fact::Numbered],
    establishes: &[],
    breaks: &[Fact::Numbered, Fact::Promoted],
    run: |p, _| {
        let mut body = std::mem::take(&mut p.body);
        let mut total = HashMap::new();
        for s in &body {
            walk::all_accesses(s, &mut |b, _, _| *total.entry(b).or_default() += 1);
        }
        put_back(p, &mut body, &mut total);
        block(p, &mut body);
        p.body = body;
    },
};

fn block(p: &Proc, stmts: &mut Block) {
    for s in stmts.iter_mut() {
        if let Some((dst, src)) = moves_all(p, s) {
            *s = Stmt::Copy { dst, src };
        }
        walk::blocks_mut(s).into_iter().for_each(|b| block(p, b));
    }
    kept_early(p, stmts);
    let mut k = 0;
    while k < stmts.len() {
        if let Stmt::Copy { dst, src } = stmts[k]
            && same_shape(p, dst, src)
            && let Some((gone, kept)) = one_of(stmts, k, dst, src)
        {
            let alloc = |s: &Stmt| matches!(s, Stmt::Alloc { buf } if *buf == gone);
            stmts.remove(k);
            stmts.retain(|s| !alloc(s));
            let rename = |b: &mut Buf| *b = if *b == gone { kept } else { *b };
            walk::each_mut(stmts, &mut |s| walk::buffers_mut(s, &mut |b| rename(b)));
            // One statement has gone here and one before.
            k -= 1;
            continue;
        }
        k += 1;
    }
    element_by_element(p, stmts);
}

/// A buffer of the region comes to life as early as the local one that is copied into it.
fn kept_early(p: &Proc, stmts: &mut Block) {
    let mut k = 0;
    while k < stmts.len() {
        if let Stmt::Copy { dst, src } = stmts[k]
            && same_shape(p, dst, src)
            && let Some(r) =
                stmts[..k].iter().position(|s| matches!(s, Stmt::Reserve { buf, .. } if *buf == dst))
            && let Some(a) = stmts[..r].iter().position(|s| matches!(s, Stmt::Alloc { buf } if *buf == src))
        {
            let reserve = stmts.remove(r);
            stmts.insert(a, reserve);
        }
        k += 1;
    }
}

/// A buffer that is copied away, its elements then put back where they are looked at (a loop's state that a step keeps): the copy is
/// the buffer itself. `total`: how often each buffer is touched in all.
fn put_back(p: &Proc, stmts: &mut Block, total: &mut HashMap<Buf, usize>) {
    stmts.iter_mut().flat_map(walk::blocks_mut).for_each(|b| put_back(p, b, total));
    let mut k = 0;
    while k < stmts.len() {
        if let Stmt::Copy { dst, src } = stmts[k]
            && same_shape(p, dst, src)
            && let Some(at) = (k + 1..stmts.len()).find(|at| walk::touches(&stmts[*at..*at + 1], dst) > 0)
            // Nothing else knows the copy, or the buffer meanwhile.
            && walk::touches(&stmts[at..at + 1], dst) + 1 == total[&dst]
            && walk::touches(&stmts[k + 1..at], src) == 0
            && walk::touches(&stmts[at..at + 1], src) == 1
            && copied(&stmts[at..at + 1], src) == Some(dst)
        {
            walk::blocks_mut(&mut stmts[at]).into_iter().for_each(|b| drop_store(b, src));
            walk::each_mut(&mut stmts[at..at + 1], &mut |s| {
                walk::buffers_mut(s, &mut |b| *b = if *b == dst { src } else { *b })
            });
            // The copy touched both, the store one of them.
            let moved = total[&dst] - 1;
            total.entry(src).and_modify(|n| *n = *n + moved - 2);
            total.insert(dst, 0);
            stmts.remove(k);
            continue;
        }
        k += 1;
    }
}

/// Local buffers of this block that are made by `to[i] = from[i]`, wherever that stands: they are the other buffer, if that is not written from there on
/// or (a copy that is written later) not touched.
fn element_by_element(p: &Proc, stmts: &mut Block) {
    // Per local buffer of this block: how often it is written, and the statement that touches it first.
    let mut local: BTreeMap<Buf, (usize, Option<usize>)> = BTreeMap::new();
    for (k, s) in stmts.iter().enumerate() {
        if let Stmt::Alloc { buf } = s {
            local.insert(*buf, (0, None));
        }
        walk::all_accesses(s, &mut |b, access, _| {
            if let Some((writes, first)) = local.get_mut(&b) {
                *writes += (access != Access::Read) as usize;
                first.get_or_insert(k);
            }
        });
    }
    for (dst, (writes, first)) in local {
        let Some(k) = first else { continue };
        let Some(src) = copied(std::slice::from_ref(&stmts[k]), dst).filter(|src| same_shape(p, dst, *src))
        else {
            continue;
        };
        let count = |stmts: &[Stmt], of: Buf| {
            let (mut all, mut written) = (0, 0);
            for s in stmts {
                walk::all_accesses(s, &mut |b, access, _| {
                    all += (b == of) as usize;
                    written += (b == of && access != Access::Read) as usize;
                });
            }
            (all, written)
        };
        let alive = stmts[..k].iter().position(|s| matches!(s, Stmt::Alloc { buf } if *buf == src));
        let outlives = !walk::allocated(std::slice::from_ref(&stmts[k])).contains(&src);
        let never_written = outlives && writes == 1 && count(&stmts[k..], src).1 == 0;
        // Taken over: the one copying statement apart, nothing touches the old name here or later, or the new one here.
        let here = std::slice::from_ref(&stmts[k]);
        let taken_over = alive.is_some()
            && count(here, src).0 == 1
            && count(here, dst).0 == 1
            && count(&stmts[k + 1..], src).0 == 0;
        if never_written || taken_over {
            stmts.retain(|s| !matches!(s, Stmt::Alloc { buf } if *buf == dst));
            drop_store(stmts, dst);
            let rename = |b: &mut Buf| *b = if *b == dst { src } else { *b };
            walk::each_mut(stmts, &mut |s| walk::buffers_mut(s, &mut |b| rename(b)));
            // The positions have changed; the next run of the pass sees to the rest.
            return;
        }
    }
}

/// The buffer whose elements are stored, each at its own index, into `dst` by the first statement that touches it.
fn copied(stmts: &[Stmt], dst: Buf) -> Option<Buf> {
    let mut loads: HashMap<Val, (Buf, &Vec<Operand>)> = HashMap::new();
    for s in stmts {
        let mut touches = false;
        walk::all_accesses(s, &mut |b, access, _| {
            touches |= b == dst;
            if access != Access::Read {
                loads.retain(|_, load| load.0 != b);
            }
        });
        match s {
            Stmt::Load { dst, buf, index } => drop(loads.insert(*dst, (*buf, index))),
            Stmt::Store { index, value: Operand::Val(v), .. } if touches => {
                return loads.get(v).filter(|load| load.1 == index).map(|load| load.0);
            }
            Stmt::For(l) if touches => return copied(&l.body, dst),
            _ if touches => return None,
            _ => (),
        }
    }
    None
}

/// Takes out the one store that [`copied`] found.
pub fn drop_store(stmts: &mut Block, dst: Buf) {
    for k in 0..stmts.len() {
        match &mut stmts[k] {
            Stmt::Store { buf, .. } if *buf == dst => return drop(stmts.remove(k)),
            s => {
                if walk::touches(std::slice::from_ref(s), dst) > 0 {
                    return walk::blocks_mut(s).into_iter().for_each(|b| drop_store(b, dst));
                }
            }
        }
    }
}

fn same_shape(p: &Proc, a: Buf, b: Buf) -> bool {
    p.info(a).elem == p.info(b).elem && p.info(a).shape == p.info(b).shape
}

/// (the local buffer that goes, the one that stands for it) for the copy at `k`.
fn one_of(stmts: &Block, k: usize, dst: Buf, src: Buf) -> Option<(Buf, Buf)> {
    let brought = |of: Buf| stmts[..k].iter().position(|s| walk::brings(s) == Some(of));
    let alloc = |of: Buf| brought(of).filter(|at| matches!(stmts[*at], Stmt::Alloc { .. }));
    let touches = |of: Buf, range: std::ops::Range<usize>, writes_only: bool| {
        let mut found = false;
        for s in &stmts[range] {
            walk::all_accesses(s, &mut |b, access, _| {
                found |= b == of && (!writes_only || access != Access::Read)
            });
        }
        found
    };
    let end = stmts.len();
    if let Some(a) = alloc(src)
        // The other must be there when this one comes to life.
        && brought(dst).is_none_or(|d| d < a)
        && !touches(src, k + 1..end, false)
        && in_place(&stmts[a..k], src, dst)
    {
        return Some((src, dst));
    }
    if let Some(a) = alloc(dst)
        && !touches(dst, a..k, false)
        && !touches(dst, k + 1..end, true)
        && !touches(src, k + 1..end, true)
    {
        return Some((dst, src));
    }
    None
}

/// The first buffer may be made where the second lies: the second is not written here, and what is read of it is read before it is overwritten.
/// A loop that touches both only at its own index is looked at iteration by iteration.
fn in_place(stmts: &[Stmt], made: Buf, there: Buf) -> bool {
    let mut begun = false;
    stmts.iter().all(|s| {
        let (mut makes, mut reads, mut writes) = (false, false, false);
        walk::all_accesses(s, &mut |b, access, _| {
            makes |= b == made;
            reads |= b == there && access == Access::Read;
            writes |= b == there && access != Access::Read;
        });
        let apart = match s {
            _ if writes => false,
            _ if !reads => true,
            _ if begun => false,
            Stmt::For(l) if makes => {
                let all = touched(l.index, &l.body);
                let own = |b: Buf| all[&b].own.clone().unwrap_or_default();
                own(made).iter().any(|k| own(there).contains(k)) && in_place(&l.body, made, there)
            }
            _ => !makes,
        };
        begun |= makes;
        apart
    })
}

/// (to, from) if the loop nest moves every element of one buffer to the same place of another.
fn moves_all(p: &Proc, s: &Stmt) -> Option<(Buf, Buf)> {
    let mut extents = HashMap::new();
    let mut at = s;
    loop {
        let Stmt::For(l) = at else { return None };
        extents.insert(l.index, l.extent);
        match l.body.as_slice() {
            [inner @ Stmt::For(_)] if l.carried.is_empty() => at = inner,
            [Stmt::Load { dst, buf: src, index }, Stmt::Store { buf: to, index: place, value }]
                if l.carried.is_empty() && *value == Operand::Val(*dst) && index == place && src != to =>
            {
                let whole = index.iter().zip(&p.info(*to).shape).all(|(i, n)| match i {
                    Operand::Val(i) => extents.remove(i).is_some_and(|extent| extent == *n),
                    Operand::Real(_) | Operand::Int(_) | Operand::Bool(_) => false,
                });
                return (whole && extents.is_empty() && same_shape(p, *to, *src)).then_some((*to, *src));
            }
            _ => return None,
        }
    }
}
