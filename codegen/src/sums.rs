//! What may be done in another order than that of the program: the additions through which a Sum-carried scalar reaches its next value, and
//! the comparisons by which a loop finds the greatest or least of its numbers.

use crate::body::Gen;
use lang::loops::{Block, Carried, CarriedKind, Op, Operand, Stmt, Val};
use std::collections::HashSet;

impl<'u, 'c> Gen<'u, 'c> {
    /// Notes the additions of a loop's sums, unless the program is strict.
    pub fn mark_sums(&mut self, carried: &[Carried], body: &Block) {
        if self.u.options.strict {
            return;
        }
        let mut reached: HashSet<Val> =
            carried.iter().filter(|c| c.kind == CarriedKind::Sum).map(|c| c.param).collect();
        if !reached.is_empty() {
            follow_sums(body, &mut reached, &mut self.sums);
        }
    }
}

/// The greatest or least number so far and the next one: a step on the way to the extremum of all.
#[derive(Clone, Copy)]
pub(crate) struct Extremum {
    pub intrinsic: &'static str,
    pub so_far: Val,
    pub next: Operand,
}

impl<'u, 'c> Gen<'u, 'c> {
    /// Notes the selections that are steps to an extremum, unless the program is strict: in any order, and with any of several zeros,
    /// they are one instruction that LLVM knows how to do for many numbers at a time.
    pub fn mark_extrema(&mut self, carried: &[Carried], body: &Block) {
        if self.u.options.strict {
            return;
        }
        for c in carried {
            if let (Operand::Val(dst), Some(step)) = (c.next, extremum(c, body)) {
                self.extrema.insert(dst, step);
            }
        }
    }
}

/// The next value as `opt` emits it: select(!(x <= m) && m == m, x, m), or the same with m <= x.
fn extremum(c: &Carried, body: &Block) -> Option<Extremum> {
    let definition = |o: Operand, wanted: Op| match o {
        Operand::Val(v) => body.iter().find_map(|s| match s {
            Stmt::Let { dst, op, args } if *dst == v && *op == wanted => Some(&args[..]),
            _ => None,
        }),
        Operand::Real(_) | Operand::Int(_) | Operand::Bool(_) => None,
    };
    let m = Operand::Val(c.param);
    let &[taken, x, kept] = definition(c.next, Op::Select)? else { return None };
    let &[beyond, number] = definition(taken, Op::BAnd)? else { return None };
    let &[not_beyond] = definition(beyond, Op::BNot)? else { return None };
    let least_first = definition(not_beyond, Op::FLe)?;
    if kept != m || definition(number, Op::FEq)? != [m, m] {
        return None;
    }
    let intrinsic = match least_first {
        [a, b] if (*a, *b) == (x, m) => "llvm.maximum",
        [a, b] if (*a, *b) == (m, x) => "llvm.minimum",
        _ => return None,
    };
    Some(Extremum { intrinsic, so_far: c.param, next: x })
}

fn follow_sums(block: &Block, reached: &mut HashSet<Val>, sums: &mut HashSet<Val>) {
    let hit = |o: &Operand, reached: &HashSet<Val>| matches!(o, Operand::Val(v) if reached.contains(v));
    for stmt in block {
        match stmt {
            Stmt::Let { dst, op, args } => {
                if matches!(op, Op::FAdd | Op::FSub | Op::Select) && args.iter().any(|a| hit(a, reached)) {
                    reached.insert(*dst);
                    sums.insert(*dst);
                }
            }
            Stmt::For(f) => {
                for c in &f.carried {
                    if hit(&c.init, reached) {
                        reached.extend([c.param, c.result]);
                    }
                }
                follow_sums(&f.body, reached, sums);
            }
            Stmt::While(w) => {
                for c in &w.carried {
                    if hit(&c.init, reached) {
                        reached.extend([c.param, c.result]);
                    }
                }
                follow_sums(&w.body, reached, sums);
            }
            Stmt::If(i) => {
                follow_sums(&i.then, reached, sums);
                follow_sums(&i.els, reached, sums);
                for (dst, t, e) in &i.results {
                    if hit(t, reached) || hit(e, reached) {
                        reached.insert(*dst);
                    }
                }
            }
            Stmt::Load { .. }
            | Stmt::Store { .. }
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
