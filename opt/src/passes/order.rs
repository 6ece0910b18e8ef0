//! The order that a block's statements must keep, and the grouping of statements of one kind that this order allows.
//!
//! A statement depends on an earlier one if it reads a value or buffer that the other writes, or overwrites what the other
//! touches; `+=` commutes with `+=` unless the program is strict. Checks keep their order, and an access that is not shown to be in
//! range stays after the checks before it. What is independent may change places.

use super::bounds::Bounds;
use lang::loops::walk::{self, Access};
use lang::loops::*;
use std::collections::{BTreeSet, HashMap, HashSet};

/// What a statement does to the rest of its block.
pub struct Effects {
    pub defines: Vec<Val>,
    pub uses: HashSet<Val>,
    pub touches: HashMap<Buf, BTreeSet<Kind>>,
    /// It may end the procedure with a failure, or not end.
    pub checks: bool,
    /// It has an access that is not shown to be in range.
    pub wild: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Read,
    Write,
    Accum,
}

/// The effects of one statement, by the facts that hold before its block.
pub fn effects(p: &Proc, bounds: &mut Bounds, s: &Stmt) -> Effects {
    let mut e = Effects {
        defines: walk::results(s),
        uses: HashSet::new(),
        touches: HashMap::new(),
        checks: false,
        wild: false,
    };
    let start = bounds.mark();
    collect(p, bounds, s, &mut e);
    bounds.forget(start);
    // What is allocated inside is nobody else's.
    for b in walk::blocks(s).into_iter().flat_map(|b| walk::allocated(b)) {
        e.touches.remove(&b);
    }
    e
}

fn collect(p: &Proc, bounds: &mut Bounds, s: &Stmt, e: &mut Effects) {
    let mut used = |o: &Operand| {
        if let Operand::Val(v) = o {
            e.uses.insert(*v);
        }
    };
    walk::operands(s, &mut used);
    if let Some(buf) = walk::brings(s) {
        p.info(buf).shape.iter().for_each(used);
        e.touches.entry(buf).or_default().insert(Kind::Write);
        bounds.lives(p.info(buf));
    }
    walk::accesses(s, &mut |b, access, index| {
        let kind = match access {
            Access::Read => Kind::Read,
            Access::Write => Kind::Write,
            Access::Accum => Kind::Accum,
        };
        e.touches.entry(b).or_default().insert(kind);
        e.wild |= index.is_some_and(|index| !bounds.in_bounds(p.info(b), index));
    });
    let mut inside = |bounds: &mut Bounds, block: &Block| {
        let start = bounds.mark();
        block.iter().for_each(|s| collect(p, bounds, s, e));
        bounds.forget(start);
    };
    let start = bounds.mark();
    match s {
        // A check guards what follows it in its own block; there the two stay together.
        Stmt::Check { cond, .. } => {
            e.checks |= !bounds.holds(*cond);
            bounds.assume(*cond, true);
        }
        Stmt::For(l) => {
            bounds.enter(l);
            inside(bounds, &l.body);
            bounds.forget(start);
        }
        Stmt::While(l) => {
            inside(bounds, &l.cond_block);
            inside(bounds, &l.body);
            e.checks = true;
        }
        Stmt::If(i) => {
            for (arm, truth) in [(&i.then, true), (&i.els, false)] {
                bounds.assume(i.cond, truth);
                inside(bounds, arm);
                bounds.forget(start);
            }
        }
        // It may fail, and it may look at whatever this procedure has put into the region.
        Stmt::Call { .. } => {
            e.checks = true;
            for (k, _) in p.bufs.iter().enumerate().filter(|(_, b)| b.kind == BufKind::Kept) {
                e.touches.entry(Buf(k as u32)).or_default().insert(Kind::Read);
            }
        }
        Stmt::Reserve { .. } => e.checks = true,
        // As a load: what it shows must have been written.
        Stmt::View { .. } => e.wild = true,
        Stmt::Let { .. }
        | Stmt::Load { .. }
        | Stmt::Store { .. }
        | Stmt::Accum { .. }
        | Stmt::Alloc { .. }
        | Stmt::Fill { .. }
        | Stmt::Copy { .. }
        | Stmt::Argsort { .. } => (),
    }
}

/// The two touch a buffer in ways that do not commute.
pub fn conflict(a: &BTreeSet<Kind>, b: &BTreeSet<Kind>, strict: bool) -> bool {
    let clash = |x: Kind, y: Kind| match (x, y) {
        (Kind::Read, Kind::Read) => false,
        (Kind::Accum, Kind::Accum) => strict,
        (Kind::Write, _) | (_, Kind::Write) | (Kind::Read, Kind::Accum) | (Kind::Accum, Kind::Read) => true,
    };
    a.iter().any(|x| b.iter().any(|y| clash(*x, *y)))
}

/// Per statement, the earlier ones it depends on: directly all that have a class, and enough of the others.
fn dependences(effects: &[Effects], class: &[Option<usize>], strict: bool) -> Vec<BTreeSet<usize>> {
    let mut defined: HashMap<Val, usize> = HashMap::new();
    // Who does what to a buffer, from its last overwrite by a lone statement on.
    let mut touched: HashMap<Buf, [Vec<usize>; 3]> = HashMap::new();
    let mut last_check = None;
    let mut out = vec![];
    for (k, e) in effects.iter().enumerate() {
        let mut before: BTreeSet<usize> = e.uses.iter().filter_map(|v| defined.get(v).copied()).collect();
        for (b, kinds) in &e.touches {
            let lists = touched.entry(*b).or_default();
            for earlier in [Kind::Read, Kind::Write, Kind::Accum] {
                if conflict(&BTreeSet::from([earlier]), kinds, strict) {
                    before.extend(&lists[earlier as usize]);
                }
            }
            // Whoever conflicts with anything before an overwrite conflicts with the overwrite.
            if kinds.contains(&Kind::Write) && class[k].is_none() {
                lists.iter_mut().for_each(Vec::clear);
            }
            kinds.iter().for_each(|kind| lists[*kind as usize].push(k));
        }
        if e.checks || e.wild {
            before.extend(last_check);
        }
        if e.checks {
            last_check = Some(k);
        }
        for v in &e.defines {
            defined.insert(*v, k);
        }
        out.push(before);
    }
    out
}

/// The group of each member, numbered in an order that the dependences allow: each joins the first group that everything it depends on allows.
/// `apart` says of two dependent members that they must not be one. (Typed fusion, Kennedy and McKinley 1993.) What is too heavy together is
/// parts of a group, in the same order.
fn groups(
    before: &[BTreeSet<usize>],
    member: &[bool],
    weight: &[usize],
    apart: &mut dyn FnMut(usize, usize) -> bool,
) -> Vec<(usize, usize)> {
    let mut group = vec![0; before.len()];
    // The first group number above all that must lie wholly before the statement.
    let mut least = vec![0; before.len()];
    for k in 0..before.len() {
        let mut join = 0;
        for &j in &before[k] {
            if member[j] && member[k] && !apart(j, k) {
                join = join.max(group[j]);
                least[k] = least[k].max(least[j]);
            } else {
                least[k] = least[k].max(if member[j] { group[j] + 1 } else { least[j] });
            }
        }
        group[k] = join.max(least[k]);
    }
    // What is not there yet may take all of the room; who needs it comes later, and may take as much again.
    let mut filled: HashMap<(usize, usize), usize> = HashMap::new();
    let mut part = vec![0; before.len()];
    for k in (0..before.len()).filter(|k| member[*k]) {
        let needed =
            before[k].iter().filter(|j| member[**j] && group[**j] == group[k]).map(|j| part[*j]).max();
        let room = if needed.is_some() { 2 * HEAVY } else { HEAVY };
        part[k] = needed.unwrap_or(0);
        while filled.get(&(group[k], part[k])).is_some_and(|w| w + weight[k] > room) {
            part[k] += 1;
        }
        *filled.entry((group[k], part[k])).or_default() += weight[k];
    }
    group.into_iter().zip(part).collect()
}

/// Statements that weigh more together gain nothing from being one: the loop has more values than there are registers.
const HEAVY: usize = 1000;

/// The statements in an order that keeps the dependences and has the members of a group side by side; otherwise as they were.
fn schedule(before: &[BTreeSet<usize>], member: &[bool], group: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut units: Vec<Vec<usize>> = vec![];
    let mut unit_of_group = HashMap::new();
    let mut unit_of = vec![];
    for k in 0..before.len() {
        let next = units.len();
        let u = if member[k] { *unit_of_group.entry(group[k]).or_insert(next) } else { next };
        if u == next {
            units.push(vec![]);
        }
        units[u].push(k);
        unit_of.push(u);
    }
    let mut after = vec![BTreeSet::new(); units.len()];
    let mut waits = vec![0; units.len()];
    for k in 0..before.len() {
        for &j in &before[k] {
            if unit_of[j] != unit_of[k] && after[unit_of[j]].insert(unit_of[k]) {
                waits[unit_of[k]] += 1;
            }
        }
    }
    // Units are numbered by their first statement.
    let mut ready: BTreeSet<usize> = (0..units.len()).filter(|u| waits[*u] == 0).collect();
    let mut out = vec![];
    while let Some(u) = ready.pop_first() {
        for &v in &after[u] {
            waits[v] -= 1;
            if waits[v] == 0 {
                ready.insert(v);
            }
        }
        out.push(std::mem::take(&mut units[u]));
    }
    out
}

/// How the statements of a class are grouped.
pub trait Grouping {
    /// Two dependent statements of one class, the earlier first, must not be one.
    fn apart(&mut self, a: (&Stmt, &Effects), b: (&Stmt, &Effects)) -> bool;
    /// Of a statement in the one that it becomes a part of.
    fn weight(&self, s: &Stmt) -> usize;
    /// The one statement that the statements of a group, in order, become.
    fn merge(&mut self, group: Vec<Stmt>) -> Stmt;
}

/// Groups the statements of each class (None: not to be grouped) and merges the groups. Most statements stay alone: what depends on
/// what is found out again only where some did not.
pub fn regroup(
    mut stmts: Block,
    mut effects: Vec<Effects>,
    mut class: Vec<Option<usize>>,
    strict: bool,
    grouping: &mut dyn Grouping,
) -> Block {
    let mut before = dependences(&effects, &class, strict);
    let count = class.iter().flatten().max().map_or(0, |c| c + 1);
    for c in 0..count {
        let member: Vec<bool> = class.iter().map(|k| *k == Some(c)).collect();
        let weight: Vec<usize> =
            stmts.iter().zip(&member).map(|(s, m)| if *m { grouping.weight(s) } else { 0 }).collect();
        let mut apart =
            |j: usize, k: usize| grouping.apart((&stmts[j], &effects[j]), (&stmts[k], &effects[k]));
        let group = groups(&before, &member, &weight, &mut apart);
        let mut taken = HashSet::new();
        if (0..stmts.len()).filter(|k| member[*k]).all(|k| taken.insert(group[k])) {
            continue;
        }
        let order = schedule(&before, &member, &group);
        let mut old: Vec<_> = stmts.into_iter().zip(effects).zip(class).map(Some).collect();
        (stmts, effects, class) = (vec![], vec![], vec![]);
        for unit in order {
            let mut parts = unit.into_iter().filter_map(|k| old[k].take());
            let Some(((first, mut all), c)) = parts.next() else { continue };
            let mut one = vec![first];
            for ((s, e), _) in parts {
                one.push(s);
                all.join(e);
            }
            stmts.push(if one.len() > 1 { grouping.merge(one) } else { one.remove(0) });
            effects.push(all);
            class.push(c);
        }
        before = dependences(&effects, &class, strict);
    }
    stmts
}

impl Effects {
    fn join(&mut self, other: Effects) {
        self.defines.extend(other.defines);
        self.uses.extend(other.uses);
        for (b, kinds) in other.touches {
            self.touches.entry(b).or_default().extend(kinds);
        }
        self.checks |= other.checks;
        self.wild |= other.wild;
    }
}

/// Numbers for equal keys; None where the key is None or nobody shares it.
pub fn classes<K: std::hash::Hash + Eq>(keys: Vec<Option<K>>) -> Vec<Option<usize>> {
    let mut members: HashMap<K, Vec<usize>> = HashMap::new();
    let mut out = vec![None; keys.len()];
    let mut count = 0;
    for (k, key) in keys.into_iter().enumerate() {
        let Some(key) = key else { continue };
        let same = members.entry(key).or_default();
        same.push(k);
        if let [first, rest @ ..] = same.as_slice()
            && !rest.is_empty()
        {
            out[k] = Some(*out[*first].get_or_insert_with(|| {
                count += 1;
                count - 1
            }));
        }
    }
    out
}
