//! The traversals of the loop IR, written once: what a statement reads, binds and touches; the statements of a block; substitution.

use super::*;

/// How a statement touches a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    Read,
    Write,
    /// `+=`: reads and writes, and commutes with itself over the reals.
    Accum,
}

/// Defines the shared and the mutable version of the traversals of one statement.
macro_rules! traversals {
    ($operands:ident, $blocks:ident, $iter:ident $(, $mut:tt)?) => {
        /// The operands a statement reads itself: those of its blocks' statements are left out, the ends of its blocks
        /// (`next`, `cond`, results of an `if`) are not. The shape of an allocated buffer is the buffer's.
        pub fn $operands(s: &$($mut)? Stmt, f: &mut dyn FnMut(&$($mut)? Operand)) {
            match s {
                Stmt::Let { dst: _, op: _, args } => args.$iter().for_each(f),
                Stmt::Load { dst: _, buf: _, index } => index.$iter().for_each(f),
                Stmt::Store { buf: _, index, value } | Stmt::Accum { buf: _, index, value } => {
                    index.$iter().for_each(&mut *f);
                    f(value)
                }
                Stmt::Alloc { buf: _ } | Stmt::Copy { dst: _, src: _ } | Stmt::Argsort { keys: _, perm: _ } => (),
                Stmt::Fill { buf: _, value } => f(value),
                Stmt::For(For { index: _, extent, down: _, carried, body: _, parallel: _ }) => {
                    f(extent);
                    for c in carried {
                        f(&$($mut)? c.init);
                        f(&$($mut)? c.next);
                    }
                }
                Stmt::While(While { carried, cond_block: _, cond, body: _ }) => {
                    f(cond);
                    for c in carried {
                        f(&$($mut)? c.init);
                        f(&$($mut)? c.next);
                    }
                }
                Stmt::If(If { cond, then: _, els: _, results }) => {
                    f(cond);
                    for (_, t, e) in results {
                        f(t);
                        f(e);
                    }
                }
                Stmt::Check { cond, failure: _, details } => {
                    f(cond);
                    details.$iter().for_each(f)
                }
                Stmt::Call { callee: _, args } => args.$iter().for_each(|a| match a {
                    Argument::Scalar(o) => f(o),
                    Argument::In(_) | Argument::Out(_) | Argument::Acc(_) => (),
                }),
                Stmt::Reserve { dst: _, buf: _, failure: _ } => (),
                Stmt::View { buf: _, handle } => f(handle),
            }
        }

        /// The blocks of a statement, in order.
        pub fn $blocks(s: &$($mut)? Stmt) -> Vec<&$($mut)? Block> {
            match s {
                Stmt::For(l) => vec![&$($mut)? l.body],
                Stmt::While(l) => vec![&$($mut)? l.cond_block, &$($mut)? l.body],
                Stmt::If(i) => vec![&$($mut)? i.then, &$($mut)? i.els],
                Stmt::Let { .. }
                | Stmt::Load { .. }
                | Stmt::Store { .. }
                | Stmt::Accum { .. }
                | Stmt::Alloc { .. }
                | Stmt::Fill { .. }
                | Stmt::Copy { .. }
                | Stmt::Check { .. }
                | Stmt::Argsort { .. }
                | Stmt::Call { .. }
                | Stmt::Reserve { .. }
                | Stmt::View { .. } => vec![],
            }
        }
    };
}
traversals!(operands, blocks, iter);
traversals!(operands_mut, blocks_mut, iter_mut, mut);

/// Every statement of a block and of the blocks inside, a statement before those inside it.
pub fn each<'a>(block: &'a [Stmt], f: &mut dyn FnMut(&'a Stmt)) {
    for s in block {
        f(s);
        for b in blocks(s) {
            each(b, f);
        }
    }
}

/// As [`each`], changing statements; what `f` puts inside a statement is visited too.
pub fn each_mut(block: &mut [Stmt], f: &mut dyn FnMut(&mut Stmt)) {
    for s in block {
        f(s);
        for b in blocks_mut(s) {
            each_mut(b, f);
        }
    }
}

/// Every operand read in a block, at any depth.
pub fn each_operand(block: &[Stmt], f: &mut dyn FnMut(Operand)) {
    each(block, &mut |s| operands(s, &mut |o| f(*o)));
}

/// The values a statement defines for the statements after it.
pub fn results(s: &Stmt) -> Vec<Val> {
    match s {
        Stmt::Let { dst, .. } | Stmt::Load { dst, .. } | Stmt::Reserve { dst, .. } => vec![*dst],
        Stmt::For(l) => l.carried.iter().map(|c| c.result).collect(),
        Stmt::While(l) => l.carried.iter().map(|c| c.result).collect(),
        Stmt::If(i) => i.results.iter().map(|r| r.0).collect(),
        Stmt::Store { .. }
        | Stmt::Accum { .. }
        | Stmt::Alloc { .. }
        | Stmt::Fill { .. }
        | Stmt::Copy { .. }
        | Stmt::Check { .. }
        | Stmt::Argsort { .. }
        | Stmt::Call { .. }
        | Stmt::View { .. } => vec![],
    }
}

/// The values a statement defines for its own blocks: loop index and carried params.
pub fn params(s: &Stmt) -> Vec<Val> {
    match s {
        Stmt::For(l) => std::iter::once(l.index).chain(l.carried.iter().map(|c| c.param)).collect(),
        Stmt::While(l) => l.carried.iter().map(|c| c.param).collect(),
        Stmt::Let { .. }
        | Stmt::Load { .. }
        | Stmt::If(_)
        | Stmt::Store { .. }
        | Stmt::Accum { .. }
        | Stmt::Alloc { .. }
        | Stmt::Fill { .. }
        | Stmt::Copy { .. }
        | Stmt::Check { .. }
        | Stmt::Argsort { .. }
        | Stmt::Call { .. }
        | Stmt::Reserve { .. }
        | Stmt::View { .. } => vec![],
    }
}

/// The buffers a statement touches itself (not in its blocks), and the index where it is one element. `Alloc`, `Reserve` and `View` touch
/// nothing.
pub fn accesses<'a>(s: &'a Stmt, f: &mut dyn FnMut(Buf, Access, Option<&'a [Operand]>)) {
    match s {
        Stmt::Load { dst: _, buf, index } => f(*buf, Access::Read, Some(index)),
        Stmt::Store { buf, index, value: _ } => f(*buf, Access::Write, Some(index)),
        Stmt::Accum { buf, index, value: _ } => f(*buf, Access::Accum, Some(index)),
        Stmt::Fill { buf, value: _ } => f(*buf, Access::Write, None),
        Stmt::Copy { dst, src } => {
            f(*src, Access::Read, None);
            f(*dst, Access::Write, None);
        }
        Stmt::Argsort { keys, perm } => {
            f(*keys, Access::Read, None);
            f(*perm, Access::Write, None);
        }
        Stmt::Call { callee: _, args } => args.iter().for_each(|a| match a {
            Argument::Scalar(_) => (),
            Argument::In(b) => f(*b, Access::Read, None),
            Argument::Out(b) => f(*b, Access::Write, None),
            Argument::Acc(b) => f(*b, Access::Accum, None),
        }),
        Stmt::Let { .. }
        | Stmt::Alloc { .. }
        | Stmt::Reserve { .. }
        | Stmt::View { .. }
        | Stmt::For(_)
        | Stmt::While(_)
        | Stmt::If(_)
        | Stmt::Check { .. } => (),
    }
}

/// As [`accesses`], for a statement and everything inside it.
pub fn all_accesses<'a>(s: &'a Stmt, f: &mut dyn FnMut(Buf, Access, Option<&'a [Operand]>)) {
    each(std::slice::from_ref(s), &mut |s| accesses(s, f));
}

/// A statement on scalars and single elements alone, without blocks.
pub fn is_elementary(s: &Stmt) -> bool {
    match s {
        Stmt::Let { .. } | Stmt::Load { .. } | Stmt::Store { .. } | Stmt::Accum { .. } => true,
        Stmt::For(_)
        | Stmt::While(_)
        | Stmt::If(_)
        | Stmt::Alloc { .. }
        | Stmt::Fill { .. }
        | Stmt::Copy { .. }
        | Stmt::Check { .. }
        | Stmt::Argsort { .. }
        | Stmt::Call { .. }
        | Stmt::Reserve { .. }
        | Stmt::View { .. } => false,
    }
}

/// How often statements, blocks inside included, touch a buffer.
pub fn touches(stmts: &[Stmt], of: Buf) -> usize {
    let mut n = 0;
    stmts.iter().for_each(|s| all_accesses(s, &mut |b, _, _| n += (b == of) as usize));
    n
}

/// The buffer that a statement brings to life.
pub fn brings(s: &Stmt) -> Option<Buf> {
    match s {
        Stmt::Alloc { buf } | Stmt::Reserve { buf, .. } | Stmt::View { buf, .. } => Some(*buf),
        Stmt::Let { .. }
        | Stmt::Load { .. }
        | Stmt::Store { .. }
        | Stmt::Accum { .. }
        | Stmt::Fill { .. }
        | Stmt::Copy { .. }
        | Stmt::Check { .. }
        | Stmt::Argsort { .. }
        | Stmt::Call { .. }
        | Stmt::For(_)
        | Stmt::While(_)
        | Stmt::If(_) => None,
    }
}

/// The buffers that come to life in a block, at any depth.
pub fn allocated(block: &[Stmt]) -> std::collections::HashSet<Buf> {
    let mut out = std::collections::HashSet::new();
    each(block, &mut |s| out.extend(brings(s)));
    out
}

/// The local buffers that every iteration of a loop brings to life, with sizes that are known before the loop: memory for them can be there
/// already. Those of a loop in lanes inside are not among them: each is one for every lane, and that loop's own.
pub fn planned(p: &Proc, l: &For) -> Vec<Buf> {
    fn in_every_iteration(block: &[Stmt], f: &mut dyn FnMut(Buf)) {
        for s in block {
            match s {
                Stmt::Alloc { buf } => f(*buf),
                Stmt::For(l) if l.parallel != Parallel::Lanes => in_every_iteration(&l.body, f),
                Stmt::For(_)
                | Stmt::Let { .. }
                | Stmt::Load { .. }
                | Stmt::Store { .. }
                | Stmt::Accum { .. }
                | Stmt::Fill { .. }
                | Stmt::Copy { .. }
                | Stmt::While(_)
                | Stmt::If(_)
                | Stmt::Check { .. }
                | Stmt::Argsort { .. }
                | Stmt::Call { .. }
                | Stmt::Reserve { .. }
                | Stmt::View { .. } => {}
            }
        }
    }
    let own = l.carried.iter().map(|c| c.param).chain([l.index]);
    let mut inside: std::collections::HashSet<Val> = own.collect();
    each(&l.body, &mut |s| inside.extend(results(s).into_iter().chain(params(s))));
    let mut out = vec![];
    in_every_iteration(&l.body, &mut |buf| {
        let known = |o: &Operand| !matches!(o, Operand::Val(v) if inside.contains(v));
        if !p.parts.contains_key(&buf) && p.info(buf).shape.iter().all(known) {
            out.push(buf);
        }
    });
    out
}

/// What must happen once, in its place in the order of the program: a call, or memory of the region.
pub fn is_call(s: &Stmt) -> bool {
    matches!(s, Stmt::Call { .. } | Stmt::Reserve { .. })
}

/// Whether there is one in a block, at any depth.
pub fn calls(block: &[Stmt]) -> bool {
    block.iter().any(|s| is_call(s) || blocks(s).into_iter().any(|b| calls(b)))
}

/// Values to be replaced by operands. A replacement may itself be replaced: [`Subst::get`] follows the chain to its end.
#[derive(Clone, Default, Debug)]
pub struct Subst(std::collections::HashMap<Val, Operand>);

impl Subst {
    /// From now on `by` stands for `v`. The replacement must not lead back to `v`.
    pub fn set(&mut self, v: Val, by: Operand) {
        debug_assert_ne!(self.get(by), Operand::Val(v));
        self.0.insert(v, by);
    }
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub fn get(&self, mut o: Operand) -> Operand {
        while let Operand::Val(v) = o
            && let Some(next) = self.0.get(&v)
        {
            o = *next;
        }
        o
    }
    /// Replaces in a block. Binders are left alone, so a replaced value must lose its definition.
    pub fn apply(&self, block: &mut [Stmt]) {
        each_mut(block, &mut |s| operands_mut(s, &mut |o| *o = self.get(*o)));
    }
    /// Replaces in the whole procedure, shapes included.
    pub fn apply_proc(&self, p: &mut Proc) {
        if self.is_empty() {
            return;
        }
        self.apply(&mut p.body);
        for b in &mut p.bufs {
            b.shape.iter_mut().for_each(|o| *o = self.get(*o));
        }
        p.parts.values_mut().for_each(|part| part.at = self.get(part.at));
    }
}

/// A copy of a block whose values and local buffers are new; `subst` says what to put for values bound outside and
/// learns the new names of those bound inside (needed for operands that follow the block).
pub fn refresh(p: &mut Proc, block: &[Stmt], subst: &mut Subst) -> Block {
    let mut bufs = std::collections::HashMap::new();
    let mut copy = block.to_vec();
    each_mut(&mut copy, &mut |s| {
        let mut renew = |v: &mut Val| {
            let (ty, name) = p.vals[v.0 as usize].clone();
            let new = p.val(ty, name);
            subst.set(*v, Operand::Val(new));
            *v = new;
        };
        match s {
            Stmt::Let { dst, .. } | Stmt::Load { dst, .. } | Stmt::Reserve { dst, .. } => renew(dst),
            Stmt::For(l) => {
                renew(&mut l.index);
                l.carried.iter_mut().for_each(|c| {
                    renew(&mut c.param);
                    renew(&mut c.result)
                });
            }
            Stmt::While(l) => l.carried.iter_mut().for_each(|c| {
                renew(&mut c.param);
                renew(&mut c.result)
            }),
            Stmt::If(i) => i.results.iter_mut().for_each(|r| renew(&mut r.0)),
            Stmt::Store { .. }
            | Stmt::Accum { .. }
            | Stmt::Alloc { .. }
            | Stmt::Fill { .. }
            | Stmt::Copy { .. }
            | Stmt::Check { .. }
            | Stmt::Argsort { .. }
            | Stmt::Call { .. }
            | Stmt::View { .. } => (),
        }
        if let Stmt::Alloc { buf } | Stmt::Reserve { buf, .. } | Stmt::View { buf, .. } = s {
            let new = p.buf(p.info(*buf).clone());
            bufs.insert(*buf, new);
            *buf = new;
        }
    });
    subst.apply(&mut copy);
    for b in bufs.values() {
        let info = &mut p.bufs[b.0 as usize];
        info.shape.iter_mut().for_each(|o| *o = subst.get(*o));
    }
    let rename = |b: &mut Buf| *b = bufs.get(b).copied().unwrap_or(*b);
    each_mut(&mut copy, &mut |s| buffers_mut(s, &mut |b| rename(b)));
    copy
}

/// The buffers a statement names itself, to be changed; not the one it allocates.
pub fn buffers_mut(s: &mut Stmt, f: &mut dyn FnMut(&mut Buf)) {
    match s {
        Stmt::Load { buf, .. }
        | Stmt::Store { buf, .. }
        | Stmt::Accum { buf, .. }
        | Stmt::Fill { buf, .. } => f(buf),
        Stmt::Copy { dst, src } => {
            f(src);
            f(dst);
        }
        Stmt::Argsort { keys, perm } => {
            f(keys);
            f(perm);
        }
        Stmt::Call { callee: _, args } => args.iter_mut().for_each(|a| match a {
            Argument::Scalar(_) => (),
            Argument::In(b) | Argument::Out(b) | Argument::Acc(b) => f(b),
        }),
        Stmt::Let { .. }
        | Stmt::Alloc { .. }
        | Stmt::Reserve { .. }
        | Stmt::View { .. }
        | Stmt::For(_)
        | Stmt::While(_)
        | Stmt::If(_)
        | Stmt::Check { .. } => (),
    }
}

/// The same operand, bit for bit (0.0 and -0.0 differ, a NaN is itself).
pub fn same(a: Operand, b: Operand) -> bool {
    match (a, b) {
        (Operand::Real(x), Operand::Real(y)) => x.to_bits() == y.to_bits(),
        (Operand::Val(_) | Operand::Int(_) | Operand::Bool(_) | Operand::Real(_), _) => a == b,
    }
}
