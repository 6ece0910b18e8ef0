//! How many lanes a loop has: as many registers of them as its values leave room for. More than one hides the latency of chains of
//! operations, and lets additions into one place be added up before they touch memory.

use lang::loops::lanes::Varying;
use lang::loops::{Block, For, Op, Operand, Stmt, walk};

/// Vector registers, some kept for constants and addresses.
const REGISTERS: usize = 12;
const MOST: usize = 8;
/// A mask is the bits of an int.
const MOST_LANES: u32 = 64;

pub(super) fn lanes(f: &For, v: &Varying, register: u32) -> u32 {
    let mut most = 1;
    let mut heavy = false;
    pressure(&f.body, v, &mut most);
    walk::each(&f.body, &mut |s| {
        heavy |= matches!(s, Stmt::If(_))
            || matches!(s, Stmt::Let { op: Op::Math(_), dst, .. } if v.has(Operand::Val(*dst)));
    });
    let room = if heavy { 1 } else { REGISTERS / most };
    let most = room.min(MOST).min((MOST_LANES / register) as usize);
    let registers = [8, 4, 2, 1].into_iter().find(|k| *k <= most).unwrap_or(1);
    register * registers as u32
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
