//! A whole statement as a key.

use super::{Numbering, word};
use lang::loops::walk::{self, Access};
use lang::loops::*;
use std::collections::HashMap;

/// Writes a statement out with the names it binds numbered, so that equal texts mean equal results; notes what it reads from outside.
pub struct Coder<'a, 'b> {
    n: &'b Numbering<'a>,
    pub words: Vec<u64>,
    pub ops: Vec<Op>,
    vals: HashMap<Val, u64>,
    bufs: HashMap<Buf, u64>,
    /// The scope where everything from outside is defined.
    pub least: usize,
    /// No buffer from outside is written.
    pub pure: bool,
    /// It ends, and without failure.
    pub total: bool,
    pub reads: Vec<(Buf, Option<Vec<Operand>>)>,
}

impl<'a, 'b> Coder<'a, 'b> {
    pub fn of(n: &'b Numbering<'a>, s: &Stmt) -> Coder<'a, 'b> {
        let mut coder = Coder {
            n,
            words: vec![],
            ops: vec![],
            vals: HashMap::new(),
            bufs: HashMap::new(),
            least: 0,
            pure: true,
            total: true,
            reads: vec![],
        };
        coder.stmt(s);
        coder
    }
    fn bind(&mut self, v: Val) {
        let k = self.vals.len() as u64;
        self.vals.insert(v, k);
    }
    fn operand(&mut self, o: Operand) {
        let (tag, word) = match o {
            Operand::Val(v) if self.vals.contains_key(&v) => (4, self.vals[&v]),
            _ => {
                self.least = self.least.max(self.n.level(o));
                word(o)
            }
        };
        self.words.extend([tag.into(), word]);
    }
    fn buf(&mut self, b: Buf, access: Access, index: Option<&[Operand]>) {
        if let Some(k) = self.bufs.get(&b) {
            return self.words.extend([0, *k]);
        }
        self.least = self.least.max(self.n.homes.get(&b).copied().unwrap_or(0));
        self.words.extend([1, b.0.into(), self.n.version(b)]);
        match access {
            Access::Read => self.reads.push((b, index.map(<[_]>::to_vec))),
            Access::Write | Access::Accum => self.pure = false,
        }
    }
    fn block(&mut self, block: &Block) {
        self.words.push(block.len() as u64);
        block.iter().for_each(|s| self.stmt(s));
    }
    fn carried(&mut self, carried: &[Carried]) {
        carried.iter().for_each(|c| self.operand(c.next));
    }
    fn enter(&mut self, carried: &[Carried]) {
        self.words.push(carried.len() as u64);
        for c in carried {
            self.operand(c.init);
            self.bind(c.param);
        }
    }
    fn stmt(&mut self, s: &Stmt) {
        match s {
            Stmt::Let { op, .. } => {
                self.words.push(0);
                self.ops.push(*op);
            }
            Stmt::Load { .. } => self.words.push(1),
            Stmt::Store { .. } => self.words.push(2),
            Stmt::Accum { .. } => self.words.push(3),
            Stmt::Alloc { buf } => {
                let k = self.bufs.len() as u64;
                self.words.extend([4, self.n.p.info(*buf).elem as u64]);
                for o in self.n.p.info(*buf).shape.clone() {
                    self.operand(self.n.subst.get(o));
                }
                self.bufs.insert(*buf, k);
            }
            Stmt::Fill { .. } => self.words.push(5),
            Stmt::Copy { .. } => self.words.push(6),
            Stmt::Argsort { .. } => self.words.push(7),
            Stmt::Check { failure, .. } => {
                self.total = false;
                self.words.extend([8, *failure as u64]);
            }
            // Twice is not once.
            Stmt::Call { callee, .. } => {
                (self.pure, self.total) = (false, false);
                self.words.extend([12, *callee as u64]);
            }
            Stmt::Reserve { .. } | Stmt::View { .. } => {
                (self.pure, self.total) = (false, false);
                self.words.push(13);
            }
            Stmt::For(l) => {
                self.words.extend([9, l.down.into()]);
                self.operand(l.extent);
                self.enter(&l.carried);
                self.bind(l.index);
                self.block(&l.body);
                self.carried(&l.carried);
                return l.carried.iter().for_each(|c| self.bind(c.result));
            }
            Stmt::While(l) => {
                self.total = false;
                self.words.push(10);
                self.enter(&l.carried);
                self.block(&l.cond_block);
                self.operand(l.cond);
                self.block(&l.body);
                self.carried(&l.carried);
                return l.carried.iter().for_each(|c| self.bind(c.result));
            }
            Stmt::If(i) => {
                self.words.push(11);
                self.operand(i.cond);
                self.block(&i.then);
                self.block(&i.els);
                self.words.push(i.results.len() as u64);
                for (_, t, e) in &i.results {
                    self.operand(*t);
                    self.operand(*e);
                }
                return i.results.iter().for_each(|r| self.bind(r.0));
            }
        }
        walk::accesses(s, &mut |b, access, index| self.buf(b, access, index));
        walk::operands(s, &mut |o| self.operand(*o));
        walk::results(s).into_iter().for_each(|v| self.bind(v));
    }
}
