//! How many lanes a loop has: as many registers of them as its values leave room for. More than one hides the latency of chains of
//! operations, and lets additions into one place be added up before they touch memory.

use lang::loops::lanes::Varying;
use lang::loops::{Block, Buf, For, Op, Operand, Proc, Stmt, walk};

/// Vector registers, some kept for constants and addresses.
const REGISTERS: usize = 12;
const MOST: usize = 8;
/// A mask is the bits of an int.
const MOST_LANES: u32 = 64;
/// So few elements become registers.
const SMALL_BUFFER: usize = 9;
/// The part of a body's work in operations that need many registers themselves, from which it has one register of lanes.
const HEAVY: f64 = 0.25;
/// How often an inner loop of unknown length is taken to run, and what an elementary function is worth.
const TRIPS: f64 = 16.0;
const MATH: f64 = 16.0;

pub(super) fn lanes(p: &Proc, f: &For, v: &Varying, register: u32) -> u32 {
    let mut most = 1;
    pressure(&f.body, v, &mut most);
    most += small_buffers(p, v);
    let mut work = Work::default();
    work.add(&f.body, v, 1.0);
    let room = if work.heavy > HEAVY * work.all { 1 } else { REGISTERS / most };
    // No more than there are iterations.
    let full = match f.extent {
        Operand::Int(n) => (n / i64::from(register)).clamp(1, MOST as i64) as usize,
        Operand::Val(_) | Operand::Real(_) | Operand::Bool(_) => MOST,
    };
    let most = room.min(full).min((MOST_LANES / register) as usize);
    let registers = [8, 4, 2, 1].into_iter().find(|k| *k <= most).unwrap_or(1);
    register * registers as u32
}

/// The elements of the buffers that become registers where the loops over them are unrolled.
fn small_buffers(p: &Proc, v: &Varying) -> usize {
    let elements = |buf: &Buf| {
        p.info(*buf).shape.iter().try_fold(1, |n, k| match k {
            Operand::Int(k) => usize::try_from(*k).ok()?.checked_mul(n),
            Operand::Val(_) | Operand::Real(_) | Operand::Bool(_) => None,
        })
    };
    v.own.iter().filter_map(elements).filter(|n| *n <= SMALL_BUFFER).sum()
}

/// Operations on vectors, weighted by how often.
#[derive(Default)]
struct Work {
    /// Elementary functions, and what runs under a mask.
    heavy: f64,
    all: f64,
}

impl Work {
    fn add(&mut self, block: &Block, v: &Varying, times: f64) {
        for s in block {
            match s {
                Stmt::Let { op: Op::Math(_), dst, .. } if v.has(Operand::Val(*dst)) => {
                    self.heavy += MATH * times;
                    self.all += MATH * times;
                }
                Stmt::Let { dst, .. } | Stmt::Load { dst, .. } if v.has(Operand::Val(*dst)) => {
                    self.all += times;
                }
                Stmt::Store { .. } | Stmt::Accum { .. } => self.all += times,
                Stmt::If(i) => {
                    let before = self.all;
                    self.add(&i.then, v, times);
                    self.add(&i.els, v, times);
                    if v.has(i.cond) {
                        self.heavy += self.all - before;
                    }
                }
                Stmt::For(f) => {
                    let trips = match f.extent {
                        Operand::Int(k) => k.max(0) as f64,
                        Operand::Val(_) | Operand::Real(_) | Operand::Bool(_) => TRIPS,
                    };
                    self.add(&f.body, v, times * trips);
                }
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
                | Stmt::View { .. } => {}
            }
        }
    }
}

/// The most vectors alive at one place of a block: carried values, and values between definition and last use.
fn pressure(block: &Block, v: &Varying, most: &mut usize) {
    let mut last_use: std::collections::HashMap<_, usize> = std::collections::HashMap::new();
    for (k, s) in block.iter().enumerate() {
        walk::each_operand(std::slice::from_ref(s), &mut |o| {
            if let Operand::Val(x) = o
                && v.vals.contains(&x)
            {
                last_use.insert(x, k);
            }
        });
    }
    let mut alive = 0;
    let mut ends: Vec<usize> = vec![0; block.len() + 1];
    for (k, s) in block.iter().enumerate() {
        for x in walk::results(s) {
            if let Some(last) = last_use.get(&x) {
                alive += 1;
                ends[*last] += 1;
            }
        }
        let carried = match s {
            Stmt::For(f) => f.carried.iter().filter(|c| v.vals.contains(&c.param)).count(),
            _ => 0,
        };
        for inner in walk::blocks(s) {
            let mut inside = 1;
            pressure(inner, v, &mut inside);
            *most = (*most).max(inside + carried);
        }
        *most = (*most).max(alive);
        alive -= ends[k].min(alive);
    }
}
