//! Which parallel loops run with their index as a vector (lowering.md, "Lanes"): the outermost ones that can, unless their inner loops are
//! the better vectors.

use super::Pass;
use lang::loops::lanes::{Step, Varying, step, varying};
use lang::loops::walk;
use lang::loops::*;

pub const PASS: Pass = Pass {
    name: "lanes",
    doc: "Outer parallel loops whose index is worth being a vector.",
    requires: &[],
    establishes: &[],
    breaks: &[],
    run: |p, _| {
        let mut body = std::mem::take(&mut p.body);
        block(p, &mut body);
        p.body = body;
    },
};

fn block(p: &Proc, stmts: &mut Block) {
    for s in stmts {
        if let Stmt::For(l) = s
            && l.parallel == Parallel::Yes
            && let Ok(v) = varying(p, l)
            && worth(l, &v)
        {
            l.parallel = Parallel::Lanes;
            continue;
        }
        walk::blocks_mut(s).into_iter().for_each(|b| block(p, b));
    }
}

/// An inner loop of constant length up to this is no vector of its own.
const SHORT: i64 = 16;
/// How often an inner loop of unknown length is taken to run.
const TRIPS: f64 = 16.0;
/// Body operations for each element that is not next to its neighbour lane's, from which lanes pay.
const PER_GATHER: f64 = 8.0;

/// What a body does, weighted by how often.
#[derive(Default)]
struct Profile {
    /// Operations that differ between lanes.
    work: f64,
    /// Elements taken from, or put, far from their neighbours.
    gathers: f64,
    /// The part of `work` in inner loops that would make vectors themselves.
    inner: f64,
    /// Something that only lanes make vectors of: a branch, a loop that passes a value on from step to step.
    serial: bool,
    loops: bool,
}

/// Lanes are worth it if there is something that LLVM's vectoriser finds no vector for, and not too many gathers for the work.
fn worth(l: &For, v: &Varying) -> bool {
    let mut profile = Profile::default();
    visit(l, v, &l.body, 1.0, &mut profile);
    if profile.gathers * PER_GATHER > profile.work {
        return false;
    }
    profile.serial || (profile.loops && profile.inner * 2.0 < profile.work)
}

fn visit(l: &For, v: &Varying, stmts: &[Stmt], times: f64, profile: &mut Profile) {
    for s in stmts {
        walk::accesses(s, &mut |buf, _, index| {
            if index.is_some_and(|index| step(l, v, buf, index) == Step::Apart) {
                profile.gathers += times;
            }
        });
        match s {
            Stmt::Let { dst, op, .. } if v.has(Operand::Val(*dst)) => {
                profile.work += times
                    * match op {
                        Op::Math(_) => 16.0,
                        Op::FDiv | Op::FSqrt => 4.0,
                        _ => 1.0,
                    }
            }
            Stmt::Load { dst, .. } if v.has(Operand::Val(*dst)) => profile.work += times,
            Stmt::Store { .. } | Stmt::Accum { .. } => profile.work += times,
            Stmt::Fill { .. } | Stmt::Copy { .. } => profile.work += times * TRIPS,
            Stmt::For(f) => {
                profile.loops = true;
                let innermost = !f.body.iter().any(|s| matches!(s, Stmt::For(_)));
                let sequential = f.carried.iter().any(|c| c.kind == CarriedKind::Sequential)
                    || (f.parallel == Parallel::No && f.carried.is_empty());
                profile.serial |= sequential;
                let (trips, short) = match f.extent {
                    Operand::Int(k) => ((k.max(1)) as f64, k <= SHORT),
                    Operand::Val(_) | Operand::Real(_) | Operand::Bool(_) => (TRIPS, false),
                };
                let before = profile.work;
                visit(l, v, &f.body, times * trips, profile);
                if innermost && !sequential && !short {
                    profile.inner += profile.work - before;
                }
            }
            Stmt::If(i) => {
                profile.serial |= v.has(i.cond);
                visit(l, v, &i.then, times, profile);
                visit(l, v, &i.els, times, profile);
            }
            Stmt::Let { .. }
            | Stmt::Load { .. }
            | Stmt::Alloc { .. }
            | Stmt::While(_)
            | Stmt::Check { .. }
            | Stmt::Argsort { .. }
            | Stmt::Call { .. }
            | Stmt::Reserve { .. }
            | Stmt::View { .. } => {}
        }
    }
}
