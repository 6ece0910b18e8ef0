//! Dead code: what no result and no check needs. A buffer is needed if it is a result or read for something needed; a store
//! if its buffer is; a value if something needed reads it; a loop or branch if it contains something needed.

use super::{Fact, Pass};
use lang::loops::walk::{self, Access};
use lang::loops::*;
use std::collections::{HashMap, HashSet};

pub const PASS: Pass = Pass {
    name: "dce",
    doc: "Values, carried values, loops, stores and local buffers that nothing needs go away.",
    requires: &[],
    establishes: &[Fact::Live],
    breaks: &[],
    run: |p, _| {
        let mut needs = Needs::default();
        needs.block(p, &p.body, Node::Always);
        let live = needs.live();
        let mut body = std::mem::take(&mut p.body);
        sweep(&mut body, &live, &mut 0);
        p.body = body;
    },
};

/// Something that may be needed: a value, a buffer's contents, or that a block is reached.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    Always,
    Val(Val),
    Buf(Buf),
    /// The blocks of the k-th statement with blocks, in the order of [`walk::each`].
    Inside(usize),
}

/// node → what it needs in turn.
#[derive(Default)]
struct Needs {
    edges: HashMap<Node, Vec<Node>>,
    count: usize,
}

impl Needs {
    fn need(&mut self, node: Node, other: Node) {
        if other != Node::Always {
            self.edges.entry(node).or_default().push(other);
        }
    }
    fn operand(&mut self, node: Node, o: Operand) {
        if let Operand::Val(v) = o {
            self.need(node, Node::Val(v));
        }
    }

    fn block(&mut self, p: &Proc, block: &[Stmt], here: Node) {
        for s in block {
            match s {
                Stmt::Let { dst, .. } | Stmt::Load { dst, .. } => {
                    self.statement(Node::Val(*dst), s, here);
                }
                Stmt::Store { buf, .. } | Stmt::Accum { buf, .. } | Stmt::Fill { buf, .. } => {
                    self.write(p, *buf, s, here)
                }
                Stmt::Copy { dst, .. } => self.write(p, *dst, s, here),
                Stmt::Argsort { perm, .. } => self.write(p, *perm, s, here),
                Stmt::Alloc { buf } => {
                    p.info(*buf).shape.iter().for_each(|o| self.operand(Node::Buf(*buf), *o));
                    if let Some(part) = p.parts.get(buf) {
                        self.result(p, part.of);
                        self.need(Node::Buf(part.of), Node::Buf(*buf));
                        self.need(Node::Buf(*buf), Node::Buf(part.of));
                        self.operand(Node::Buf(*buf), part.at);
                    }
                }
                // Whoever has the handle may look at the buffer.
                Stmt::Reserve { dst, buf, .. } => {
                    self.need(Node::Val(*dst), Node::Buf(*buf));
                    self.need(Node::Buf(*buf), Node::Val(*dst));
                    p.info(*buf).shape.iter().for_each(|o| self.operand(Node::Buf(*buf), *o));
                    self.need(Node::Buf(*buf), here);
                }
                Stmt::View { buf, handle } => {
                    p.info(*buf).shape.iter().for_each(|o| self.operand(Node::Buf(*buf), *o));
                    self.operand(Node::Buf(*buf), *handle);
                }
                // A call may fail, or not end.
                Stmt::Call { args, .. } => {
                    self.statement(Node::Always, s, here);
                    for a in args {
                        match a {
                            Argument::In(b) | Argument::Out(b) | Argument::Acc(b) => {
                                self.need(Node::Always, Node::Buf(*b))
                            }
                            Argument::Scalar(_) => {}
                        }
                    }
                }
                Stmt::Check { .. } => {
                    self.statement(Node::Always, s, here);
                }
                Stmt::For(l) => {
                    let inside = self.inside(here);
                    self.operand(inside, l.extent);
                    self.carried(&l.carried, inside);
                    self.block(p, &l.body, inside);
                }
                Stmt::While(l) => {
                    let inside = self.inside(here);
                    self.operand(inside, l.cond);
                    self.carried(&l.carried, inside);
                    self.block(p, &l.cond_block, inside);
                    self.block(p, &l.body, inside);
                }
                Stmt::If(i) => {
                    let inside = self.inside(here);
                    self.operand(inside, i.cond);
                    for (dst, t, e) in &i.results {
                        self.need(Node::Val(*dst), inside);
                        self.operand(Node::Val(*dst), *t);
                        self.operand(Node::Val(*dst), *e);
                    }
                    self.block(p, &i.then, inside);
                    self.block(p, &i.els, inside);
                }
            }
        }
    }

    fn inside(&mut self, here: Node) -> Node {
        let inside = Node::Inside(self.count);
        self.count += 1;
        self.need(inside, here);
        inside
    }
    fn carried(&mut self, carried: &[Carried], inside: Node) {
        for c in carried {
            self.need(Node::Val(c.result), Node::Val(c.param));
            self.need(Node::Val(c.param), inside);
            self.operand(Node::Val(c.param), c.init);
            self.operand(Node::Val(c.param), c.next);
        }
    }
    /// `node` needs what the statement reads, and that it is reached.
    fn statement(&mut self, node: Node, s: &Stmt, here: Node) {
        self.need(node, here);
        walk::operands(s, &mut |o| self.operand(node, *o));
        walk::accesses(s, &mut |b, access, _| {
            if access == Access::Read {
                self.need(node, Node::Buf(b));
            }
        });
    }
    /// A statement that writes a buffer: needed with the buffer, and always if that is a result.
    fn write(&mut self, p: &Proc, b: Buf, s: &Stmt, here: Node) {
        self.result(p, b);
        self.statement(Node::Buf(b), s, here);
    }
    fn result(&mut self, p: &Proc, b: Buf) {
        if matches!(p.info(b).kind, BufKind::Out | BufKind::Acc) {
            self.need(Node::Always, Node::Buf(b));
        }
    }

    fn live(&self) -> HashSet<Node> {
        let mut live = HashSet::from([Node::Always]);
        let mut todo = vec![Node::Always];
        while let Some(node) = todo.pop() {
            for other in self.edges.get(&node).into_iter().flatten() {
                if live.insert(*other) {
                    todo.push(*other);
                }
            }
        }
        live
    }
}

/// Removes what is not live; `count` numbers the statements with blocks as [`Needs::block`] did.
fn sweep(block: &mut Block, live: &HashSet<Node>, count: &mut usize) {
    let val = |v: &Val| live.contains(&Node::Val(*v));
    let buf = |b: &Buf| live.contains(&Node::Buf(*b));
    block.retain_mut(|s| match s {
        Stmt::Let { dst, .. } | Stmt::Load { dst, .. } => val(dst),
        Stmt::Store { buf: b, .. }
        | Stmt::Accum { buf: b, .. }
        | Stmt::Fill { buf: b, .. }
        | Stmt::Alloc { buf: b } => buf(b),
        Stmt::Copy { dst: b, .. } | Stmt::Argsort { perm: b, .. } => buf(b),
        Stmt::Check { .. } | Stmt::Call { .. } => true,
        Stmt::Reserve { buf: b, .. } | Stmt::View { buf: b, .. } => buf(b),
        Stmt::For(For { carried, .. }) => {
            carried.retain(|c| val(&c.param) || val(&c.result));
            inner(s, live, count)
        }
        Stmt::While(While { carried, .. }) => {
            carried.retain(|c| val(&c.param) || val(&c.result));
            inner(s, live, count)
        }
        Stmt::If(If { results, .. }) => {
            results.retain(|r| val(&r.0));
            inner(s, live, count)
        }
    });
}

fn inner(s: &mut Stmt, live: &HashSet<Node>, count: &mut usize) -> bool {
    let reached = live.contains(&Node::Inside(*count));
    *count += 1;
    // Dead ones are swept too, so that the numbers go on as before.
    walk::blocks_mut(s).into_iter().for_each(|b| sweep(b, live, count));
    reached
}
