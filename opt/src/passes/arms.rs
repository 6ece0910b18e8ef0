//! What an arm has computed is not computed again in a later arm on the same condition, however deep that lies in loops: it becomes a result of
//! the first branch. Only what is dear, since a result takes a register from there to here. (Branches that lie side by side are one already, by `ifs`; this
//! is for those that do not, such as the forward branch of a point and the reverse branch in a loop over the point's cotangents.)

use super::cse::words;
use super::scalars::undefined;
use super::{Fact, Pass};
use lang::loops::ops::cost;
use lang::loops::walk::{self, Subst};
use lang::loops::*;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

pub const PASS: Pass = Pass {
    name: "arms",
    doc: "What an arm has computed is not computed again in a later arm on the same condition.",
    requires: &[Fact::Numbered],
    establishes: &[],
    breaks: &[Fact::Live],
    run: |p, _| {
        let mut body = std::mem::take(&mut p.body);
        let mut arms = Arms {
            p,
            known: vec![],
            computed: HashMap::new(),
            inside: HashMap::new(),
            alike: HashMap::new(),
            branches: 0,
            wanted: HashMap::new(),
            subst: Subst::default(),
        };
        arms.block(&body, None);
        let Arms { subst, wanted, .. } = arms;
        if !wanted.is_empty() {
            give(p, &mut body, &wanted, &subst, &mut 0);
        }
        p.body = body;
        subst.apply_proc(p);
    },
};

/// An operation counted dearer than this is worth a result.
const CHEAP: u64 = 3;

/// A condition, and whether it holds.
type Known = (Val, bool);
type Key = (Known, Op, Vec<(u8, u64)>);

/// What a branch is to give beside its results: a value of an arm under a name outside.
#[derive(Clone, Copy)]
struct Wanted {
    name: Val,
    arm: bool,
    value: Operand,
}

struct Arms<'p> {
    p: &'p mut Proc,
    /// The conditions of the arms that we are in.
    known: Vec<Known>,
    /// What earlier arms have computed: by which branch, and its name in the arm.
    computed: HashMap<Key, (usize, Operand)>,
    /// What a result of an earlier branch is in each of its arms.
    inside: HashMap<Val, (Val, Operand, Operand)>,
    /// Values that an earlier arm has computed, by its name for them.
    alike: HashMap<Val, Operand>,
    branches: usize,
    wanted: HashMap<usize, Vec<Wanted>>,
    subst: Subst,
}

impl Arms<'_> {
    /// A value as the arms before this one knew it.
    fn canonical(&self, mut o: Operand) -> Operand {
        while let Operand::Val(v) = o {
            let arm = self.inside.get(&v).and_then(|(cond, then, els)| {
                let (_, holds) = self.known.iter().find(|(c, _)| c == cond)?;
                Some(if *holds { *then } else { *els })
            });
            match arm.or_else(|| self.alike.get(&v).copied()) {
                Some(next) => o = next,
                None => break,
            }
        }
        o
    }

    /// `own`: what the block, if it is an arm, computes itself.
    fn block(&mut self, stmts: &[Stmt], mut own: Option<&mut Vec<(Op, Vec<(u8, u64)>, Val)>>) {
        // Known to the end of this block.
        let mut keys = vec![];
        for s in stmts {
            match s {
                Stmt::Let { dst, op, args } if !self.known.is_empty() => {
                    let words = words(*op, args.iter().map(|o| self.canonical(*o)));
                    let known = self.known.iter().rev();
                    let found =
                        known.map(|k| (*k, *op, words.clone())).find(|k| self.computed.contains_key(k));
                    match found {
                        Some(key) => self.again(*dst, *op, &key),
                        None => own.iter_mut().for_each(|own| own.push((*op, words.clone(), *dst))),
                    }
                }
                Stmt::If(i) => {
                    let branch = self.branches;
                    self.branches += 1;
                    for (arm, holds) in [(&i.then, true), (&i.els, false)] {
                        let Some(cond) = i.cond.val() else {
                            self.block(arm, None);
                            continue;
                        };
                        let mut own = vec![];
                        self.known.push((cond, holds));
                        self.block(arm, Some(&mut own));
                        self.known.pop();
                        for (op, words, v) in own {
                            let key = ((cond, holds), op, words);
                            if let Entry::Vacant(new) = self.computed.entry(key.clone()) {
                                new.insert((branch, Operand::Val(v)));
                                keys.push(key);
                            }
                        }
                    }
                    if let Some(cond) = i.cond.val() {
                        self.inside.extend(i.results.iter().map(|(v, then, els)| (*v, (cond, *then, *els))));
                    }
                }
                // Loops; other statements have no blocks.
                s => walk::blocks(s).into_iter().for_each(|b| self.block(b, None)),
            }
        }
        for key in keys {
            self.computed.remove(&key);
        }
    }

    /// The value is one that an earlier arm has computed.
    fn again(&mut self, v: Val, op: Op, key: &Key) {
        let (branch, value) = self.computed[key];
        self.alike.insert(v, value);
        if cost(op) <= CHEAP {
            return;
        }
        let arm = key.0.1;
        let wanted = self.wanted.entry(branch).or_default();
        let name = match wanted.iter().find(|r| r.arm == arm && r.value == value) {
            Some(known) => known.name,
            None => {
                let (ty, name) = self.p.vals[v.0 as usize].clone();
                let name = self.p.val(ty, name);
                wanted.push(Wanted { name, arm, value });
                name
            }
        };
        self.subst.set(v, Operand::Val(name));
    }
}

/// Gives the branches, numbered as they were met, what is wanted of them, and drops what is no longer computed.
fn give(
    p: &Proc,
    stmts: &mut Block,
    wanted: &HashMap<usize, Vec<Wanted>>,
    gone: &Subst,
    branches: &mut usize,
) {
    let stays = |v: Val| gone.get(Operand::Val(v)) == Operand::Val(v);
    stmts.retain(|s| !matches!(s, Stmt::Let { dst, .. } if !stays(*dst)));
    for s in stmts {
        if let Stmt::If(i) = s {
            for Wanted { name, arm, value } in wanted.get(branches).into_iter().flatten() {
                let other = undefined(p.type_of(*value));
                i.results.push(if *arm { (*name, *value, other) } else { (*name, other, *value) });
            }
            *branches += 1;
        }
        walk::blocks_mut(s).into_iter().for_each(|b| give(p, b, wanted, gone, branches));
    }
}
