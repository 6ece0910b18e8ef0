//! Constants, copies, decided branches, and identities that hold bit for bit.

use super::{Fact, Pass};
use lang::core::Lit;
use lang::loops::walk::{Subst, operands_mut, same};
use lang::loops::*;
use lang::precision::Precision;
use std::collections::HashMap;

pub const PASS: Pass = Pass {
    name: "fold",
    doc: "Operations on constants, copies, decided branches, loops of at most one iteration.",
    requires: &[],
    establishes: &[Fact::Folded],
    breaks: &[Fact::Numbered, Fact::Live, Fact::Marked],
    run: |p, options| {
        let body = std::mem::take(&mut p.body);
        let mut f = Folder {
            precision: p.precision,
            fast_math: options.fast_math,
            defs: HashMap::new(),
            subst: Subst::default(),
        };
        let body = f.block(body);
        let subst = f.subst;
        p.body = body;
        p.bufs.iter_mut().flat_map(|b| &mut b.shape).for_each(|o| *o = subst.get(*o));
    },
};

struct Folder {
    precision: Precision,
    fast_math: bool,
    /// The operations that define the values so far.
    defs: HashMap<Val, (Op, Vec<Operand>)>,
    subst: Subst,
}

/// What an operation is equal to.
enum Equal {
    Operand(Operand),
    Op(Op, Vec<Operand>),
}

impl Folder {
    fn block(&mut self, block: Block) -> Block {
        let mut out = vec![];
        for s in block {
            self.stmt(s, &mut out);
        }
        out
    }

    fn read(&self, o: &mut Operand) {
        *o = self.subst.get(*o);
    }

    fn stmt(&mut self, mut s: Stmt, out: &mut Block) {
        // Ends of blocks are read again after their block.
        operands_mut(&mut s, &mut |o| self.read(o));
        match s {
            Stmt::Let { dst, op, args } => match self.simplify(op, args) {
                Equal::Operand(o) => self.subst.set(dst, o),
                Equal::Op(op, args) => {
                    self.defs.insert(dst, (op, args.clone()));
                    out.push(Stmt::Let { dst, op, args });
                }
            },
            Stmt::Check { cond: Operand::Bool(true), .. } => (),
            Stmt::For(l) => self.for_(l, out),
            Stmt::While(mut l) => {
                if l.cond == Operand::Bool(false) && l.cond_block.is_empty() {
                    l.carried.iter().for_each(|c| self.subst.set(c.result, c.init));
                    return;
                }
                l.cond_block = self.block(l.cond_block);
                self.read(&mut l.cond);
                l.body = self.block(l.body);
                l.carried.iter_mut().for_each(|c| self.read(&mut c.next));
                out.push(Stmt::While(l));
            }
            Stmt::If(i) => self.if_(i, out),
            Stmt::Load { .. }
            | Stmt::Store { .. }
            | Stmt::Accum { .. }
            | Stmt::Alloc { .. }
            | Stmt::Fill { .. }
            | Stmt::Copy { .. }
            | Stmt::Argsort { .. }
            | Stmt::Call { .. }
            | Stmt::Reserve { .. }
            | Stmt::View { .. }
            | Stmt::Check { .. } => out.push(s),
        }
    }

    fn for_(&mut self, mut l: For, out: &mut Block) {
        // What is passed on unchanged is its initial value throughout.
        l.carried.retain(|c| {
            let kept = c.next != Operand::Val(c.param);
            if !kept {
                self.subst.set(c.param, c.init);
                self.subst.set(c.result, c.init);
            }
            kept
        });
        match l.extent {
            Operand::Int(n) if n <= 0 => l.carried.iter().for_each(|c| self.subst.set(c.result, c.init)),
            Operand::Int(1) => {
                self.subst.set(l.index, Operand::Int(0));
                l.carried.iter().for_each(|c| self.subst.set(c.param, c.init));
                let body = self.block(l.body);
                out.extend(body);
                for c in l.carried {
                    let next = self.subst.get(c.next);
                    self.subst.set(c.result, next);
                }
            }
            _ => {
                l.body = self.block(l.body);
                l.carried.iter_mut().for_each(|c| self.read(&mut c.next));
                if !l.body.is_empty() || !l.carried.is_empty() {
                    out.push(Stmt::For(l));
                }
            }
        }
    }

    fn if_(&mut self, mut i: If, out: &mut Block) {
        if let Operand::Bool(c) = i.cond {
            let arm = self.block(if c { i.then } else { i.els });
            out.extend(arm);
            for (dst, t, e) in i.results {
                let end = self.subst.get(if c { t } else { e });
                self.subst.set(dst, end);
            }
            return;
        }
        i.then = self.block(i.then);
        i.els = self.block(i.els);
        let straight = i.then.is_empty() && i.els.is_empty();
        i.results.retain_mut(|(dst, t, e)| {
            self.read(t);
            self.read(e);
            // Equal ends are not from inside an arm: what an arm defines, the other does not see.
            let equal = if same(*t, *e) { Some(*t) } else { None };
            match (equal, &t, &e) {
                (Some(o), _, _) => self.subst.set(*dst, o),
                (None, Operand::Bool(true), Operand::Bool(false)) => self.subst.set(*dst, i.cond),
                (None, _, _) if straight => {
                    let (op, args) = (Op::Select, vec![i.cond, *t, *e]);
                    self.defs.insert(*dst, (op, args.clone()));
                    out.push(Stmt::Let { dst: *dst, op, args });
                }
                (None, _, _) => return true,
            }
            false
        });
        if !straight || !i.results.is_empty() {
            out.push(Stmt::If(i));
        }
    }

    fn def(&self, o: Operand) -> Option<(Op, &[Operand])> {
        match o {
            Operand::Val(v) => self.defs.get(&v).map(|(op, args)| (*op, args.as_slice())),
            Operand::Real(_) | Operand::Int(_) | Operand::Bool(_) => None,
        }
    }
    /// x where o = −x
    fn negated(&self, o: Operand) -> Option<Operand> {
        match (o, self.def(o)) {
            (Operand::Real(x), _) if x < 0.0 => Some(Operand::Real(-x)),
            (_, Some((Op::FNeg, args))) => Some(args[0]),
            _ => None,
        }
    }

    fn simplify(&self, mut op: Op, mut args: Vec<Operand>) -> Equal {
        // Each step makes the term smaller or moves a negation outwards, so this ends.
        loop {
            if let Some(x) = constant(op, &args, self.precision) {
                return Equal::Operand(x);
            }
            match self.step(op, &args) {
                Some(Equal::Op(o, a)) => (op, args) = (o, a),
                Some(done) => return done,
                None => return Equal::Op(op, args),
            }
        }
    }

    /// One identity, exact for every value (of a NaN only that it is one).
    fn step(&self, op: Op, args: &[Operand]) -> Option<Equal> {
        use Operand::{Bool, Int, Real};
        let is = |o: Operand, c: f64| same(o, Real(c));
        let to = |o| Some(Equal::Operand(o));
        let op_of = |op, args: &[Operand]| Some(Equal::Op(op, args.to_vec()));
        match (op, args) {
            // x + (−0) = x − 0 = x · 1 = x / 1 = x; x + 0 is not x at −0.
            (Op::FAdd, [x, z]) | (Op::FAdd, [z, x]) if is(*z, -0.0) || self.fast_math && is(*z, 0.0) => {
                to(*x)
            }
            (Op::FSub, [x, z]) if is(*z, 0.0) => to(*x),
            (Op::FMul, [x, z]) | (Op::FMul, [z, x]) if is(*z, 1.0) => to(*x),
            (Op::FDiv, [x, z]) if is(*z, 1.0) => to(*x),
            (Op::FMul, [x, z]) | (Op::FMul, [z, x]) if is(*z, -1.0) => op_of(Op::FNeg, &[*x]),
            (Op::FDiv, [x, z]) if is(*z, -1.0) => op_of(Op::FNeg, &[*x]),
            (Op::FNeg, [x]) => self.negated(*x).and_then(to),
            // Negations meet and go, since rounding is symmetric.
            (Op::FAdd, [x, y]) if self.negated(*y).is_some() => op_of(Op::FSub, &[*x, self.negated(*y)?]),
            (Op::FAdd, [x, y]) if self.negated(*x).is_some() => op_of(Op::FSub, &[*y, self.negated(*x)?]),
            (Op::FSub, [x, y]) if self.negated(*y).is_some() => op_of(Op::FAdd, &[*x, self.negated(*y)?]),
            (Op::FMul | Op::FDiv, [x, y]) => match (self.negated(*x), self.negated(*y)) {
                (Some(x), Some(y)) => op_of(op, &[x, y]),
                _ => None,
            },
            (Op::FAbs, [x]) => match self.def(*x) {
                Some((Op::FAbs, _)) => to(*x),
                Some((Op::FNeg, inner)) => op_of(Op::FAbs, inner),
                _ => None,
            },
            (Op::IAdd, [x, Int(0)]) | (Op::IAdd, [Int(0), x]) | (Op::ISub, [x, Int(0)]) => to(*x),
            (Op::IMul, [x, Int(1)]) | (Op::IMul, [Int(1), x]) | (Op::IDiv, [x, Int(1)]) => to(*x),
            (Op::IMul, [_, Int(0)]) | (Op::IMul, [Int(0), _]) | (Op::IMod, [_, Int(1)]) => to(Int(0)),
            (Op::ISub | Op::IXor, [x, y]) if x == y => to(Int(0)),
            (Op::ISub, [x, y]) => match (self.def(*x), self.def(*y)) {
                (Some((Op::IAdd, [a, b])), _) if b == y => to(*a),
                (Some((Op::IAdd, [a, b])), _) if a == y => to(*b),
                _ => None,
            },
            (Op::IEq | Op::ILe, [x, y]) if x == y => to(Bool(true)),
            (Op::INe | Op::ILt, [x, y]) if x == y => to(Bool(false)),
            (Op::BAnd, [x, Bool(true)]) | (Op::BAnd, [Bool(true), x]) => to(*x),
            (Op::BOr, [x, Bool(false)]) | (Op::BOr, [Bool(false), x]) => to(*x),
            (Op::BAnd, [_, Bool(false)]) | (Op::BAnd, [Bool(false), _]) => to(Bool(false)),
            (Op::BOr, [_, Bool(true)]) | (Op::BOr, [Bool(true), _]) => to(Bool(true)),
            (Op::BAnd | Op::BOr, [x, y]) if x == y => to(*x),
            (Op::BEq, [x, Bool(true)]) | (Op::BEq, [Bool(true), x]) => to(*x),
            (Op::BEq, [x, Bool(false)]) | (Op::BEq, [Bool(false), x]) => op_of(Op::BNot, &[*x]),
            // Order of ints is total, that of reals is not.
            (Op::BNot, [x]) => match self.def(*x) {
                Some((Op::BNot, inner)) => to(inner[0]),
                Some((Op::ILt, [a, b])) => op_of(Op::ILe, &[*b, *a]),
                Some((Op::ILe, [a, b])) => op_of(Op::ILt, &[*b, *a]),
                Some((Op::IEq, inner)) => op_of(Op::INe, inner),
                Some((Op::INe, inner)) => op_of(Op::IEq, inner),
                Some((Op::FEq, inner)) => op_of(Op::FNe, inner),
                Some((Op::FNe, inner)) => op_of(Op::FEq, inner),
                _ => None,
            },
            (Op::Select, [Bool(c), t, e]) => to(if *c { *t } else { *e }),
            (Op::Select, [_, t, e]) if same(*t, *e) => to(*t),
            (Op::Select, [c, Bool(true), Bool(false)]) => to(*c),
            (Op::Select, [c, Bool(false), Bool(true)]) => op_of(Op::BNot, &[*c]),
            (Op::Select, [c, t, e]) => match self.def(*c) {
                Some((Op::BNot, inner)) => op_of(Op::Select, &[inner[0], *e, *t]),
                _ => None,
            },
            // A single has fewer bits than an int.
            (Op::FBits, [x]) if self.precision == Precision::Double => match self.def(*x) {
                Some((Op::IBits, inner)) => to(inner[0]),
                _ => None,
            },
            (Op::Math(Math::PowInt), [x, Int(1)]) => to(*x),
            (Op::Math(Math::PowInt), [x, Int(2)]) => op_of(Op::FMul, &[*x, *x]),
            _ => None,
        }
    }
}

/// The value at constant arguments. Not of math functions, whose last bits are the library's, and never a NaN, whose bits are the machine's.
fn constant(op: Op, args: &[Operand], precision: Precision) -> Option<Operand> {
    if matches!(op, Op::Math(_)) {
        return None;
    }
    let literal = |o: &Operand| match o {
        Operand::Val(_) => None,
        Operand::Real(x) => Some(Lit::Real(*x)),
        Operand::Int(k) => Some(Lit::Int(*k)),
        Operand::Bool(b) => Some(Lit::Bool(*b)),
    };
    let args = args.iter().map(literal).collect::<Option<Vec<_>>>()?;
    match ops::apply(op, &args, precision)? {
        Lit::Real(x) if x.is_nan() => None,
        Lit::Real(x) => Some(Operand::Real(x)),
        Lit::Int(k) => Some(Operand::Int(k)),
        Lit::Bool(b) => Some(Operand::Bool(b)),
    }
}
