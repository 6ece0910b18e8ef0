//! Which additions may be reordered: those through which a Sum-carried scalar reaches its next value.

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
