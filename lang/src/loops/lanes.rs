//! Lanes: a parallel loop whose index is a vector of consecutive iterations, the loops of its body running once for all of them
//! (lowering.md, "Lanes"). Here is which loops can run so, and which of their values then differ from lane to lane.

use super::walk::{self, Access};
use super::*;
use std::collections::HashSet;

/// What differs between the lanes of a loop; everything else in its body is the same for all of them.
#[derive(Clone, Debug, Default)]
pub struct Varying {
    pub vals: HashSet<Val>,
    /// The buffers allocated in the body: every lane has its own.
    pub own: HashSet<Buf>,
}

impl Varying {
    pub fn has(&self, o: Operand) -> bool {
        matches!(o, Operand::Val(v) if self.vals.contains(&v))
    }
}

/// The values of a parallel loop's body that vary; Err says why the loop cannot run in lanes.
pub fn varying(p: &Proc, l: &For) -> Result<Varying, &'static str> {
    if l.down || l.carried.iter().any(|c| c.kind != CarriedKind::Sum) {
        return Err("iterations have an order");
    }
    let mut v = Varying { vals: [l.index].into(), own: walk::allocated(&l.body) };
    v.vals.extend(l.carried.iter().map(|c| c.param));
    // A carried value varies if what is carried round does: to the least fixed point.
    loop {
        let before = v.vals.len();
        block(&l.body, &mut v);
        if v.vals.len() == before {
            break;
        }
    }
    let mut obstacle = None;
    walk::each(&l.body, &mut |s| {
        let this = match s {
            Stmt::While(_) => Some("a loop with a condition"),
            Stmt::Argsort { .. } => Some("sorting"),
            Stmt::Call { .. } | Stmt::Reserve { .. } | Stmt::View { .. } => Some("a call"),
            Stmt::For(f) if v.has(f.extent) => Some("a trip count that differs between iterations"),
            Stmt::Fill { buf, .. } | Stmt::Copy { dst: buf, .. } if !v.own.contains(buf) => {
                Some("a whole buffer from outside is written")
            }
            Stmt::Alloc { buf } if p.info(*buf).shape.iter().any(|n| v.has(*n)) => {
                Some("a local buffer whose size differs between iterations")
            }
            Stmt::For(_)
            | Stmt::Fill { .. }
            | Stmt::Copy { .. }
            | Stmt::Alloc { .. }
            | Stmt::Let { .. }
            | Stmt::Load { .. }
            | Stmt::Store { .. }
            | Stmt::Accum { .. }
            | Stmt::If(_)
            | Stmt::Check { .. } => None,
        };
        obstacle = obstacle.or(this);
    });
    obstacle.map_or(Ok(v), Err)
}

fn block(stmts: &[Stmt], v: &mut Varying) {
    for s in stmts {
        match s {
            Stmt::Let { dst, op: _, args } => {
                if args.iter().any(|a| v.has(*a)) {
                    v.vals.insert(*dst);
                }
            }
            Stmt::Load { dst, buf, index } => {
                if v.own.contains(buf) || index.iter().any(|i| v.has(*i)) {
                    v.vals.insert(*dst);
                }
            }
            Stmt::For(f) => {
                carried(&f.carried, v);
                block(&f.body, v);
                carried(&f.carried, v);
            }
            Stmt::While(w) => {
                carried(&w.carried, v);
                block(&w.cond_block, v);
                block(&w.body, v);
                carried(&w.carried, v);
            }
            Stmt::If(i) => {
                block(&i.then, v);
                block(&i.els, v);
                for (dst, t, e) in &i.results {
                    if v.has(i.cond) || v.has(*t) || v.has(*e) {
                        v.vals.insert(*dst);
                    }
                }
            }
            Stmt::Store { .. }
            | Stmt::Accum { .. }
            | Stmt::Alloc { .. }
            | Stmt::Fill { .. }
            | Stmt::Copy { .. }
            | Stmt::Check { .. }
            | Stmt::Argsort { .. }
            | Stmt::Call { .. }
            | Stmt::Reserve { .. }
            | Stmt::View { .. } => {}
        }
    }
}

fn carried(carried: &[Carried], v: &mut Varying) {
    for c in carried {
        if v.has(c.init) || v.has(c.next) || v.has(Operand::Val(c.param)) {
            v.vals.extend([c.param, c.result]);
        }
    }
}

/// How an index moves from one lane to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The same element.
    Same,
    /// The next element in memory.
    Next,
    /// Anything else.
    Apart,
}

/// How an access moves from lane to lane: the last index may be the loop's plus something uniform.
pub fn step(block_of: &For, v: &Varying, buf: Buf, index: &[Operand]) -> Step {
    if v.own.contains(&buf) {
        return if index.iter().any(|i| v.has(*i)) { Step::Apart } else { Step::Next };
    }
    match index.split_last() {
        _ if index.iter().all(|i| !v.has(*i)) => Step::Same,
        Some((last, rest)) if rest.iter().all(|i| !v.has(*i)) && unit(block_of, v, *last) => Step::Next,
        Some(_) | None => Step::Apart,
    }
}

/// The operand is the loop's index plus something uniform.
fn unit(l: &For, v: &Varying, o: Operand) -> bool {
    if o == Operand::Val(l.index) {
        return true;
    }
    let mut found = false;
    walk::each(&l.body, &mut |s| {
        if let Stmt::Let { dst, op: op @ (Op::IAdd | Op::ISub), args } = s
            && o == Operand::Val(*dst)
        {
            found = match (v.has(args[0]), v.has(args[1])) {
                (true, false) => unit(l, v, args[0]),
                (false, true) => *op == Op::IAdd && unit(l, v, args[1]),
                (true, true) | (false, false) => false,
            };
        }
    });
    found
}

/// The buffers from outside that the body accumulates into at places that are not the iteration's own: every lane adds to a copy.
pub fn shared_accumulators(l: &For, v: &Varying) -> Vec<Buf> {
    let touched = verify::touched(l.index, &l.body);
    let mut out: Vec<Buf> = vec![];
    walk::each(&l.body, &mut |s| {
        walk::accesses(s, &mut |buf, access, index| {
            let uniform = index.is_some_and(|index| index.iter().all(|i| !v.has(*i)));
            let foreign = touched.get(&buf).is_some_and(|t| !t.is_own());
            if access == Access::Accum && foreign && uniform && !out.contains(&buf) {
                out.push(buf);
            }
        });
    });
    out
}
