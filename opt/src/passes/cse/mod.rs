//! Value numbering over the block structure: what is computed already is not computed again, be it an operation, a load from a
//! buffer not written since, a whole loop or branch without effects, or a carried scalar. What does not depend on a loop
//! moves in front of it: operations are total, a load moves only where its element is shown to be there.

mod whole;

use super::bounds::Bounds;
use super::{Fact, Pass};
use lang::loops::walk::{self, Access, Subst, same};
use lang::loops::*;
use lang::prim::Scalar;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use whole::Coder;

pub const PASS: Pass = Pass {
    name: "cse",
    doc: "Global value numbering, loads and whole loops included; loop-invariant code moves out.",
    requires: &[],
    establishes: &[Fact::Numbered],
    breaks: &[Fact::Live],
    run: |p, _| {
        let bounds = Bounds::new(p);
        let body = std::mem::take(&mut p.body);
        let mut n = Numbering::new(p, bounds);
        let body = n.scope(Kind::Procedure, body, |_| ());
        let subst = n.subst;
        p.body = body;
        // Uses before a definition that moved are none, but ends of blocks and shapes were read early.
        subst.apply_proc(p);
    },
};

/// What equal keys compute is equal, while the buffers have the versions named.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Op(Op, Vec<(u8, u64)>),
    Load(Buf, Vec<(u8, u64)>, u64),
    /// A loop or branch without effects, written out with its own names numbered.
    Whole(Vec<u64>, Vec<Op>),
}

enum Kind {
    Procedure,
    /// The body of a loop, and the buffers written in it.
    Loop(HashSet<Buf>),
    /// A block that may not be reached: nothing moves out of it.
    Arm,
}

struct Scope {
    kind: Kind,
    /// The facts that hold in front of this block.
    mark: usize,
    /// What was computed and what is known since here, until here.
    computed: Vec<Rc<Key>>,
    known: Vec<Val>,
    out: Block,
}

struct Numbering<'a> {
    p: &'a Proc,
    bounds: Bounds,
    subst: Subst,
    scopes: Vec<Scope>,
    /// What has been computed, in any of the scopes, and the conditions that hold or not.
    computed: HashMap<Rc<Key>, Vec<Operand>>,
    known: HashMap<Val, bool>,
    /// The scope that defines a value; 0 for parameters.
    home: HashMap<Val, usize>,
    homes: HashMap<Buf, usize>,
    defs: HashMap<Val, (Op, Vec<Operand>)>,
    versions: HashMap<Buf, u64>,
    /// (version, value) of buffers all of whose elements are equal.
    uniform: HashMap<Buf, (u64, Operand)>,
    last_version: u64,
}

impl<'a> Numbering<'a> {
    fn new(p: &'a Proc, bounds: Bounds) -> Numbering<'a> {
        Numbering {
            p,
            bounds,
            subst: Subst::default(),
            scopes: vec![],
            computed: HashMap::new(),
            known: HashMap::new(),
            home: HashMap::new(),
            homes: HashMap::new(),
            defs: HashMap::new(),
            versions: HashMap::new(),
            uniform: HashMap::new(),
            last_version: 0,
        }
    }

    fn read(&self, o: Operand) -> Operand {
        let o = self.subst.get(o);
        match o {
            Operand::Val(v) if self.p.vals[v.0 as usize].0 == Scalar::Bool => {
                self.known.get(&v).map_or(o, |b| Operand::Bool(*b))
            }
            Operand::Val(_) | Operand::Real(_) | Operand::Int(_) | Operand::Bool(_) => o,
        }
    }
    fn top(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("inside the procedure")
    }
    /// The scope has computed what has this key, and it was not known before.
    fn enter(&mut self, at: usize, key: Key, results: Vec<Operand>) {
        let key = Rc::new(key);
        self.scopes[at].computed.push(key.clone());
        self.computed.insert(key, results);
    }
    fn level(&self, o: Operand) -> usize {
        match o {
            Operand::Val(v) => self.home.get(&v).copied().unwrap_or(0),
            Operand::Real(_) | Operand::Int(_) | Operand::Bool(_) => 0,
        }
    }
    fn version(&self, b: Buf) -> u64 {
        self.versions.get(&b).copied().unwrap_or(0)
    }
    fn written(&mut self, b: Buf) {
        self.last_version += 1;
        self.versions.insert(b, self.last_version);
    }

    /// The outermost scope that a statement may move to, `least` being where all it reads is defined and `may` whether it may leave a loop.
    fn place(&mut self, least: usize, mut may: impl FnMut(&mut Self, usize) -> bool) -> usize {
        let mut at = self.scopes.len() - 1;
        while at > least && matches!(self.scopes[at].kind, Kind::Loop(_)) && may(self, at) {
            at -= 1;
        }
        at
    }
    fn emit(&mut self, at: usize, s: Stmt) {
        for v in walk::results(&s) {
            self.home.insert(v, at);
        }
        self.scopes[at].out.push(s);
    }

    /// A block of its own; `before` brings its parameters.
    fn scope(&mut self, kind: Kind, block: Block, before: impl FnOnce(&mut Self)) -> Block {
        let mark = self.bounds.mark();
        self.scopes.push(Scope { kind, mark, computed: vec![], known: vec![], out: vec![] });
        before(self);
        block.into_iter().for_each(|s| self.stmt(s));
        self.bounds.forget(mark);
        let Some(scope) = self.scopes.pop() else { return vec![] };
        for key in &scope.computed {
            self.computed.remove(key);
        }
        for v in &scope.known {
            self.known.remove(v);
        }
        scope.out
    }

    fn stmt(&mut self, mut s: Stmt) {
        walk::operands_mut(&mut s, &mut |o| *o = self.read(*o));
        match s {
            Stmt::Let { dst, op, args } => {
                let key = Key::Op(op, words(op, args.iter().copied()));
                if let Some(found) = self.computed.get(&key) {
                    let found = found[0];
                    return self.subst.set(dst, found);
                }
                let least = args.iter().map(|a| self.level(*a)).max().unwrap_or(0);
                let at = self.place(least, |_, _| true);
                self.enter(at, key, vec![Operand::Val(dst)]);
                self.defs.insert(dst, (op, args.clone()));
                self.emit(at, Stmt::Let { dst, op, args });
            }
            Stmt::Load { dst, buf, index } => self.load(dst, buf, index),
            Stmt::Store { buf, index, value } => {
                let now = self.load_key(buf, &index);
                if self.computed.get(&now).is_some_and(|v| same(v[0], value)) {
                    return;
                }
                self.written(buf);
                let key = self.load_key(buf, &index);
                self.enter(self.scopes.len() - 1, key, vec![value]);
                self.top().out.push(Stmt::Store { buf, index, value });
            }
            Stmt::Fill { buf, value } => {
                self.written(buf);
                self.uniform.insert(buf, (self.last_version, value));
                self.top().out.push(s);
            }
            Stmt::Alloc { buf } => {
                self.homes.insert(buf, self.scopes.len() - 1);
                self.written(buf);
                self.bounds.lives(self.p.info(buf));
                self.top().out.push(s);
            }
            Stmt::Reserve { dst, buf, .. } => {
                self.homes.insert(buf, self.scopes.len() - 1);
                self.written(buf);
                self.home.insert(dst, self.scopes.len() - 1);
                self.bounds.lives(self.p.info(buf));
                self.top().out.push(s);
            }
            Stmt::View { buf, .. } => {
                self.homes.insert(buf, self.scopes.len() - 1);
                self.bounds.lives(self.p.info(buf));
                self.top().out.push(s);
            }
            Stmt::Call { .. } => {
                walk::accesses(&s, &mut |b, access, _| {
                    if access != Access::Read {
                        self.written(b);
                    }
                });
                self.top().out.push(s);
            }
            Stmt::Accum { buf, .. } | Stmt::Copy { dst: buf, .. } | Stmt::Argsort { perm: buf, .. } => {
                self.written(buf);
                self.top().out.push(s);
            }
            Stmt::Check { cond, .. } => {
                if cond != Operand::Bool(true) {
                    self.bounds.assume(cond, true);
                    self.know(cond, true);
                    self.top().out.push(s);
                }
            }
            Stmt::For(l) => self.for_(l),
            Stmt::While(mut l) => {
                let written = writes(&[&l.cond_block, &l.body]);
                written.iter().for_each(|b| self.written(*b));
                let level = self.scopes.len();
                let params: Vec<Val> = l.carried.iter().map(|c| c.param).collect();
                self.home.extend(params.iter().map(|v| (*v, level)));
                l.cond_block = self.scope(Kind::Arm, l.cond_block, |_| ());
                l.body = self.scope(Kind::Arm, l.body, |_| ());
                written.iter().for_each(|b| self.written(*b));
                let at = self.scopes.len() - 1;
                self.emit(at, Stmt::While(l));
            }
            Stmt::If(mut i) => {
                let written = writes(&[&i.then, &i.els]);
                let before: Vec<u64> = written.iter().map(|b| self.version(*b)).collect();
                let cond = i.cond;
                let arm = |n: &mut Self, block, truth| {
                    n.scope(Kind::Arm, block, |n| {
                        n.bounds.assume(cond, truth);
                        n.know(cond, truth);
                    })
                };
                i.then = arm(self, i.then, true);
                self.versions.extend(written.iter().copied().zip(before));
                i.els = arm(self, i.els, false);
                written.iter().for_each(|b| self.written(*b));
                for (v, t, e) in std::mem::take(&mut i.results) {
                    let (t, e) = (self.subst.get(t), self.subst.get(e));
                    match i.results.iter().find(|(_, u, f)| same(*u, t) && same(*f, e)) {
                        Some((twin, ..)) => self.subst.set(v, Operand::Val(*twin)),
                        None => i.results.push((v, t, e)),
                    }
                }
                self.whole(Stmt::If(i));
            }
        }
    }

    fn know(&mut self, cond: Operand, truth: bool) {
        if let Operand::Val(v) = cond {
            self.top().known.push(v);
            self.known.insert(v, truth);
        }
    }

    fn load_key(&self, buf: Buf, index: &[Operand]) -> Key {
        Key::Load(buf, index.iter().map(|o| word(*o)).collect(), self.version(buf))
    }

    fn load(&mut self, dst: Val, buf: Buf, index: Vec<Operand>) {
        let key = self.load_key(buf, &index);
        if let Some(found) = self.computed.get(&key) {
            let found = found[0];
            return self.subst.set(dst, found);
        }
        if let Some((version, value)) = self.uniform.get(&buf)
            && *version == self.version(buf)
        {
            let value = *value;
            return self.subst.set(dst, value);
        }
        let least = index.iter().map(|a| self.level(*a)).max().unwrap_or(0);
        let least = least.max(self.homes.get(&buf).copied().unwrap_or(0));
        let at = self.place(least, |n, at| n.untouched(at, buf, Some(&index)));
        self.enter(at, key, vec![Operand::Val(dst)]);
        self.emit(at, Stmt::Load { dst, buf, index });
    }

    /// The loop that is scope `at` does not write the buffer, and in front of it the element is there.
    fn untouched(&mut self, at: usize, buf: Buf, index: Option<&[Operand]>) -> bool {
        let Scope { kind: Kind::Loop(written), mark, .. } = &self.scopes[at] else { return false };
        let info = self.p.info(buf);
        !written.contains(&buf)
            && index.is_none_or(|index| self.bounds.at(*mark, |b| b.in_bounds(info, index)))
    }

    fn for_(&mut self, mut l: For) {
        let written = writes(&[&l.body]);
        written.iter().for_each(|b| self.written(*b));
        let level = self.scopes.len();
        let body = std::mem::take(&mut l.body);
        l.body = self.scope(Kind::Loop(written.clone()), body, |n| {
            n.bounds.enter(&l);
            n.home.insert(l.index, level);
            n.home.extend(l.carried.iter().map(|c| (c.param, level)));
        });
        written.iter().for_each(|b| self.written(*b));
        l.carried.iter_mut().for_each(|c| c.next = self.subst.get(c.next));
        self.merge_carried(&mut l);
        self.whole(Stmt::For(l));
    }

    /// Two scalars that start equal and step by the same operation on equal operands are one.
    fn merge_carried(&mut self, l: &mut For) {
        let mut kept: Vec<Carried> = vec![];
        let mut merged = Subst::default();
        for c in std::mem::take(&mut l.carried) {
            match kept.iter().find(|k| k.kind == c.kind && same(k.init, c.init) && self.steps_alike(k, &c)) {
                Some(k) => {
                    merged.set(c.param, Operand::Val(k.param));
                    self.subst.set(c.param, Operand::Val(k.param));
                    self.subst.set(c.result, Operand::Val(k.result));
                }
                None => kept.push(c),
            }
        }
        l.carried = kept;
        if !merged.is_empty() {
            merged.apply(&mut l.body);
        }
    }
    fn steps_alike(&self, a: &Carried, b: &Carried) -> bool {
        let def = |o: Operand| match o {
            Operand::Val(v) => self.defs.get(&v),
            Operand::Real(_) | Operand::Int(_) | Operand::Bool(_) => None,
        };
        match (def(a.next), def(b.next)) {
            (Some((op, xs)), Some((op2, ys))) => {
                let renamed =
                    |o: &Operand| if *o == Operand::Val(b.param) { Operand::Val(a.param) } else { *o };
                let ys: Vec<Operand> = ys.iter().map(renamed).collect();
                let straight = xs.iter().zip(&ys).all(|(x, y)| same(*x, *y));
                let crossed = commutes(*op) && same(xs[0], ys[1]) && same(xs[1], ys[0]);
                op == op2 && (straight || crossed)
            }
            _ => same(a.next, b.next),
        }
    }

    /// A finished loop or branch: an equal one before makes it superfluous; without effects, it may leave loops.
    fn whole(&mut self, s: Stmt) {
        let here = self.scopes.len() - 1;
        let Coder { words, ops, least, pure, total, reads, .. } = Coder::of(self, &s);
        let results = walk::results(&s);
        if !pure || results.is_empty() {
            return self.emit(here, s);
        }
        let key = Key::Whole(words, ops);
        if let Some(found) = self.computed.get(&key).cloned() {
            results.iter().zip(found).for_each(|(v, o)| self.subst.set(*v, o));
            return;
        }
        let guarded = matches!(s, Stmt::If(_)) && !reads.is_empty();
        let at = match total && !guarded {
            true => self
                .place(least, |n, at| reads.iter().all(|(b, index)| n.untouched(at, *b, index.as_deref()))),
            false => here,
        };
        self.enter(at, key, results.into_iter().map(Operand::Val).collect());
        self.emit(at, s);
    }
}

/// Equal for equal operands, bit for bit.
pub fn word(o: Operand) -> (u8, u64) {
    match o {
        Operand::Val(v) => (0, v.0.into()),
        Operand::Real(x) => (1, x.to_bits()),
        Operand::Int(k) => (2, k as u64),
        Operand::Bool(b) => (3, b.into()),
    }
}

/// The operands of an operation, in one order where it commutes.
pub fn words(op: Op, args: impl Iterator<Item = Operand>) -> Vec<(u8, u64)> {
    let mut words: Vec<_> = args.map(word).collect();
    if commutes(op) {
        words.sort();
    }
    words
}

/// op(x, y) is op(y, x), bit for bit (but for which NaN).
fn commutes(op: Op) -> bool {
    use Op::*;
    matches!(op, FAdd | FMul | FEq | FNe | IAdd | IMul | IXor | IAnd | IEq | INe | BAnd | BOr | BEq)
}

fn writes(blocks: &[&Block]) -> HashSet<Buf> {
    let mut out = HashSet::new();
    for s in blocks.iter().copied().flatten() {
        walk::all_accesses(s, &mut |b, access, _| {
            if access != Access::Read {
                out.insert(b);
            }
        });
    }
    out
}
