//! Which parallel loops run with their index as a vector (lowering.md, "Lanes"): the outermost ones that can, unless their inner loops are
//! the better vectors.

use super::{Pass, on_body};
use lang::loops::lanes::{Step, Varying, step, varying};
use lang::loops::split::questions;
use lang::loops::walk;
use lang::loops::*;
use lang::prim::Scalar;

pub const PASS: Pass = Pass {
    name: "lanes",
    doc: "Outer parallel loops whose index is worth being a vector.",
    requires: &[],
    establishes: &[],
    breaks: &[],
    run: |p, _| on_body(p, |p, body| block(p, body)),
};

fn block(p: &Proc, stmts: &mut Block) {
    for s in stmts {
        if let Stmt::For(l) = s
            && l.parallel == Parallel::Yes
            && let Ok(v) = varying(p, l)
            && worth(p, l, &v)
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
/// Operations on reals for each step that every lane takes by itself, from which lanes pay.
const PER_SINGLE: f64 = 4.0;
/// A loop shorter than this has too few groups of lanes to make up for what comes before and after them, unless its iterations are long.
const FEW: i64 = 32;
const FEWEST: i64 = 4;
/// Operations on reals that are a long iteration.
const LONG: f64 = 1024.0;

/// What a body does, weighted by how often.
#[derive(Default)]
struct Profile {
    /// Operations on reals that differ between lanes.
    work: f64,
    /// What has no vector form: elements taken from, or put, far from their neighbours, division of ints.
    single: f64,
    /// The part of `work` in inner loops that would make vectors themselves.
    inner: f64,
    /// Something that only lanes make vectors of: a branch, a loop that passes a value on from step to step.
    serial: bool,
    loops: bool,
}

/// Lanes are worth it if there is something that LLVM's vectoriser finds no vector for, and enough work on reals.
fn worth(p: &Proc, l: &For, v: &Varying) -> bool {
    let mut profile = Profile::default();
    visit(p, l, v, &l.body, 1.0, &mut profile);
    let few = match l.extent {
        Operand::Int(k) => k < FEWEST || (k < FEW && profile.work < LONG),
        Operand::Val(_) | Operand::Real(_) | Operand::Bool(_) => false,
    };
    if few || profile.work == 0.0 || profile.single * PER_SINGLE > profile.work {
        return false;
    }
    profile.serial || (profile.loops && profile.inner * 2.0 < profile.work)
}

fn visit(p: &Proc, l: &For, v: &Varying, stmts: &[Stmt], times: f64, profile: &mut Profile) {
    for s in stmts {
        walk::accesses(s, &mut |buf, _, index| {
            if index.is_some_and(|index| step(l, v, buf, index) == Step::Apart) {
                profile.single += times;
            }
        });
        match s {
            Stmt::Let { dst, op, .. } if v.has(Operand::Val(*dst)) => match op {
                Op::IDiv | Op::IMod => profile.single += 2.0 * times,
                Op::Math(_) => profile.work += 16.0 * times,
                Op::FDiv | Op::FSqrt => profile.work += 4.0 * times,
                _ if p.type_of(Operand::Val(*dst)) == Scalar::Real => profile.work += times,
                _ => {}
            },
            Stmt::Accum { .. } => profile.work += times,
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
                visit(p, l, v, &f.body, times * trips, profile);
                if innermost && !sequential && !short {
                    profile.inner += profile.work - before;
                }
            }
            Stmt::If(i) => {
                // A branch on where in the range it is goes away when the range is run in pieces.
                profile.serial |=
                    v.has(i.cond) && questions(l).iter().all(|(c, _)| i.cond != Operand::Val(*c));
                visit(p, l, v, &i.then, times, profile);
                visit(p, l, v, &i.els, times, profile);
            }
            Stmt::Let { .. }
            | Stmt::Load { .. }
            | Stmt::Store { .. }
            | Stmt::Fill { .. }
            | Stmt::Copy { .. }
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
