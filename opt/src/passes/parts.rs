//! A local buffer whose elements a nest of loops moves, in their order, to a stretch of another buffer is made there ([`Proc::parts`]): what `flatten` and
//! `concat` move was never elsewhere.

use super::bounds::{Bounds, Poly};
use super::copies;
use super::{Fact, Pass};
use lang::loops::walk::{self, Access};
use lang::loops::*;
use lang::prim::Scalar;
use std::collections::{HashMap, HashSet};

pub const PASS: Pass = Pass {
    name: "parts",
    doc: "A buffer that moves to a stretch of another is made there.",
    requires: &[Fact::Numbered],
    establishes: &[],
    breaks: &[Fact::Numbered],
    run: |p, _| {
        let bounds = Bounds::new(p);
        let mut body = std::mem::take(&mut p.body);
        block(p, &bounds, &mut body);
        p.body = body;
    },
};

fn block(p: &mut Proc, bounds: &Bounds, stmts: &mut Block) {
    for s in stmts.iter_mut() {
        // The iterations of a parallel loop keep their buffers: they may run in lanes.
        if !matches!(s, Stmt::For(l) if l.parallel != Parallel::No) {
            walk::blocks_mut(s).into_iter().for_each(|b| block(p, bounds, b));
        }
    }
    // What lies where, by the buffer it lies in: first element and number of elements.
    let mut taken: HashMap<Buf, Vec<(Poly, Poly)>> = HashMap::new();
    let mut k = 0;
    while k < stmts.len() {
        for m in moved(p, bounds, &stmts[k]) {
            if let Some(first) = first_use(p, stmts, k, &m)
                && disjoint(bounds, &taken, &m)
                && let Some((at, lets)) = operand(p, &stmts[first..], &m.at)
            {
                walk::blocks_mut(&mut stmts[k]).into_iter().for_each(|b| copies::drop_store(b, m.to));
                let alloc = |s: &Stmt| matches!(s, Stmt::Alloc { buf } if *buf == m.from);
                let was = stmts.iter().position(alloc).expect("a local buffer of this block");
                let alloc = stmts.remove(was);
                k += lets.len();
                stmts.splice(first - 1..first - 1, lets.into_iter().chain([alloc]));
                p.parts.insert(m.from, Part { of: m.to, at });
                taken.entry(m.to).or_default().push((m.at, m.count));
            }
        }
        k += 1;
    }
}

/// A nest of loops moves all of `from`, `count` elements, to `to` from the element `at` on.
struct Moved {
    from: Buf,
    to: Buf,
    at: Poly,
    count: Poly,
}

/// What a nest of loops moves, whatever else it does.
fn moved(p: &Proc, bounds: &Bounds, s: &Stmt) -> Vec<Moved> {
    let (mut nest, mut out): (Vec<&For>, Vec<Moved>) = (vec![], vec![]);
    let (mut at, mut next) = (std::slice::from_ref(s), None);
    loop {
        let mut loads: HashMap<Val, (Buf, &[Operand])> = HashMap::new();
        for s in at {
            match s {
                Stmt::Load { dst, buf, index } => drop(loads.insert(*dst, (*buf, index))),
                Stmt::Store { buf, index, value: Operand::Val(v) } => {
                    let from = loads.get(v).copied();
                    out.extend(from.and_then(|from| one_moved(p, bounds, &nest, from, (*buf, index))));
                }
                Stmt::For(l) => next = Some(l),
                _ => {}
            }
        }
        let Some(l) = next.take().filter(|_| at.iter().filter(|s| matches!(s, Stmt::For(_))).count() == 1)
        else {
            return out;
        };
        nest.push(l);
        at = &l.body;
    }
}

fn one_moved(
    p: &Proc,
    bounds: &Bounds,
    nest: &[&For],
    (from, read): (Buf, &[Operand]),
    (to, written): (Buf, &[Operand]),
) -> Option<Moved> {
    let (a, b) = (p.info(from), p.info(to));
    if a.elem != b.elem || from == to {
        return None;
    }
    let (read, written) = (place(bounds, a, read), place(bounds, b, written));
    let at = written.plus(-1, &read);
    // The nest goes through all elements if the indices are the digits of their number.
    let mut weight = Poly::int(1);
    let mut rest = read;
    for l in nest.iter().rev() {
        let (digit, without) = rest.split(l.index)?;
        if digit != weight {
            return None;
        }
        weight = weight.times(&bounds.poly(l.extent));
        rest = without;
    }
    let count = a.shape.iter().fold(Poly::int(1), |n, k| n.times(&bounds.poly(*k)));
    let inside = nest.first().map_or(HashSet::new(), |l| defined(&l.body));
    let known = at.vals().all(|v| !inside.contains(&v) && nest.iter().all(|l| l.index != v));
    (rest == Poly::default() && weight == count && known).then_some(Moved { from, to, at, count })
}

/// The number of an element, counted row by row.
fn place(bounds: &Bounds, info: &BufInfo, index: &[Operand]) -> Poly {
    let number = index
        .iter()
        .zip(&info.shape)
        .fold(Poly::default(), |at, (i, n)| at.times(&bounds.poly(*n)).plus(1, &bounds.poly(*i)));
    bounds.joined(number)
}

/// The statement that first uses what is moved by the k-th, if from there on the moved buffer is used element by element, and by that statement last, and the
/// buffer it moves to lives already and is not touched before the move.
fn first_use(p: &Proc, stmts: &[Stmt], k: usize, m: &Moved) -> Option<usize> {
    let there = matches!(p.info(m.to).kind, BufKind::Out | BufKind::Local);
    let alloc = |of: Buf| stmts[..k].iter().position(|s| matches!(s, Stmt::Alloc { buf } if *buf == of));
    let made = alloc(m.from).filter(|_| there && !p.parts.contains_key(&m.from))?;
    // Through parts, too: of those of this block that lie where this one is to go, `disjoint` knows.
    let part =
        |s: &Stmt, of: Buf| matches!(s, Stmt::Alloc { buf } if p.parts.get(buf).is_some_and(|q| q.of == of));
    let inside = |s: &Stmt, of: Buf| {
        let mut found = walk::touches(std::slice::from_ref(s), of);
        walk::blocks(s).into_iter().for_each(|b| walk::each(b, &mut |s| found += part(s, of) as usize));
        found
    };
    let uses = |s: &Stmt, of: Buf| inside(s, of) + part(s, of) as usize;
    let first = (made + 1..k).find(|j| uses(&stmts[*j], m.from) > 0)?;
    let lives =
        alloc(m.to).is_none_or(|a| a < first) && stmts[first..].iter().all(|s| walk::brings(s) != Some(m.to));
    let mut by_element = true;
    walk::each(&stmts[first..k], &mut |s| {
        let plain =
            matches!(s, Stmt::Load { .. } | Stmt::Store { .. } | Stmt::Accum { .. } | Stmt::Fill { .. });
        walk::accesses(s, &mut |b, _: Access, _| by_element &= b != m.from || plain);
    });
    let alone = stmts[first..k].iter().all(|s| inside(s, m.to) == 0)
        && inside(&stmts[k], m.from) == 1
        && inside(&stmts[k], m.to) == 1
        && stmts[k + 1..].iter().all(|s| uses(s, m.from) == 0);
    (lives && by_element && alone).then_some(first)
}

/// An operand of this value, and what computes it before these statements; None if that needs what they define.
fn operand(p: &mut Proc, stmts: &[Stmt], value: &Poly) -> Option<(Operand, Block)> {
    let later = defined(stmts);
    if value.vals().any(|v| later.contains(&v)) {
        return None;
    }
    let mut code = vec![];
    let mut op = |op: Op, a: Operand, b: Operand| {
        let dst = p.val(Scalar::Int, "at");
        code.push(Stmt::Let { dst, op, args: vec![a, b] });
        Operand::Val(dst)
    };
    let mut sum: Option<Operand> = None;
    for (vals, c) in value.terms() {
        let product = vals.iter().fold(Operand::Int(c), |x, v| match x {
            Operand::Int(1) => Operand::Val(*v),
            x => op(Op::IMul, x, Operand::Val(*v)),
        });
        sum = Some(sum.map_or(product, |s| op(Op::IAdd, s, product)));
    }
    Some((sum.unwrap_or(Operand::Int(0)), code))
}

/// It does not overlap what lies in the buffer already.
fn disjoint(bounds: &Bounds, taken: &HashMap<Buf, Vec<(Poly, Poly)>>, m: &Moved) -> bool {
    let before = |(a, n): (&Poly, &Poly), b: &Poly| bounds.nonneg(&b.plus(-1, a).plus(-1, n));
    taken
        .get(&m.to)
        .into_iter()
        .flatten()
        .all(|(at, count)| before((at, count), &m.at) || before((&m.at, &m.count), at))
}

fn defined(stmts: &[Stmt]) -> HashSet<Val> {
    let mut out = HashSet::new();
    walk::each(stmts, &mut |s| {
        out.extend(walk::results(s));
        out.extend(walk::params(s));
    });
    out
}
