//! The checker of the loop IR: the invariants of `mod.rs`, each under a name that its message starts with.
//!
//! | name | what |
//! |---|---|
//! | `once` | every value and every buffer is defined in one place |
//! | `scope` | a value, or a local buffer, is used only after its definition, in its block or the blocks inside |
//! | `type` | operands, carried values and results have the types their operation wants |
//! | `rank` | an index has as many operands as the buffer's rank |
//! | `shape` | shapes are ints, in scope where the buffer comes to life; copied buffers have equal ones |
//! | `in` | a parameter or view that is only read is never written |
//! | `accum` | `+=` is on reals |
//! | `failure` | a check names a failure of the procedure |
//! | `call` | a call's arguments are of the kinds, types and ranks of the callee's parameters; what it writes is passed once |
//! | `sum` | a sum-carried value is passed on plus contributions it does not occur in |
//! | `parallel` | a parallel loop satisfies what [`Parallel::Yes`] says |
//! | `lanes` | a loop in lanes can run so ([`lanes::varying`]) |

use super::walk::{self, Access};
use super::*;
use std::collections::{HashMap, HashSet};

/// Err: the invariant that fails, where, and how.
pub fn verify(p: &Proc) -> Result<(), String> {
    for callee in &p.callees {
        let same = callee.failures == p.failures && callee.callees.is_empty();
        if !same {
            return Err(format!("call: {} has failures or callees of its own (in {})", callee.name, p.name));
        }
        procedure(callee, &p.callees)?;
    }
    procedure(p, &p.callees)
}

/// One procedure of an entry point with these callees.
fn procedure(p: &Proc, callees: &[Proc]) -> Result<(), String> {
    let mut c = Checker {
        p,
        callees,
        seen: HashSet::new(),
        visible: HashSet::new(),
        brought: HashSet::new(),
        alive: HashSet::new(),
        trail: vec![],
    };
    for param in &p.params {
        match param {
            Param::Scalar(v) => c.define(*v)?,
            Param::Array(b) => {
                let i = c.info(*b)?;
                c.rule(i.kind.is_param(), "scope", || format!("local buffer {} is a parameter", i.name))?;
                c.bring(*b)?;
            }
        }
    }
    c.block(&p.body)
}

/// The result type of an operation at operands of these types, if it fits them.
pub fn result_type(op: Op, args: &[Scalar]) -> Option<Scalar> {
    use Scalar::*;
    let (want, result): (&[Scalar], Scalar) = match op {
        Op::FAdd | Op::FSub | Op::FMul | Op::FDiv | Op::FCopySign => (&[Real, Real], Real),
        Op::FNeg | Op::FAbs | Op::FSqrt | Op::FFloor | Op::FCeil | Op::FRound | Op::FTrunc => (&[Real], Real),
        Op::FEq | Op::FNe | Op::FLt | Op::FLe => (&[Real, Real], Bool),
        Op::IAdd | Op::ISub | Op::IMul | Op::IDiv | Op::IMod | Op::IXor | Op::IAnd | Op::IShl | Op::IShr => {
            (&[Int, Int], Int)
        }
        Op::IEq | Op::INe | Op::ILt | Op::ILe => (&[Int, Int], Bool),
        Op::BAnd | Op::BOr | Op::BEq => (&[Bool, Bool], Bool),
        Op::BNot => (&[Bool], Bool),
        Op::IToF => (&[Int], Real),
        Op::FToI | Op::FBits => (&[Real], Int),
        Op::IBits | Op::Uniform => (&[Int], Real),
        Op::Select => match args {
            [Bool, t, s] if t == s => return Some(*t),
            _ => return None,
        },
        Op::Math(m) => match m {
            Math::Exp
            | Math::Expm1
            | Math::Log
            | Math::Log1p
            | Math::Log2
            | Math::Log10
            | Math::Sin
            | Math::Cos
            | Math::Tan
            | Math::Asin
            | Math::Acos
            | Math::Atan
            | Math::Sinh
            | Math::Cosh
            | Math::Tanh
            | Math::Asinh
            | Math::Acosh
            | Math::Atanh
            | Math::Erf
            | Math::Erfc
            | Math::Lgamma
            | Math::Digamma
            | Math::Trigamma
            | Math::NormalQuantile => (&[Real], Real),
            Math::Atan2 | Math::Hypot | Math::Pow => (&[Real, Real], Real),
            Math::PowInt => (&[Real, Int], Real),
            Math::Polygamma => (&[Int, Real], Real),
            Math::NormalOfBits => (&[Int], Real),
        },
    };
    (args == want).then_some(result)
}

struct Checker<'a> {
    p: &'a Proc,
    callees: &'a [Proc],
    /// Every value defined, and every buffer brought to life, so far.
    seen: HashSet<Val>,
    brought: HashSet<Buf>,
    /// Those in scope.
    visible: HashSet<Val>,
    alive: HashSet<Buf>,
    /// What came into scope, in order, so that the end of a block can take it out again.
    trail: Vec<Param>,
}

impl Checker<'_> {
    fn rule(&self, ok: bool, name: &str, message: impl FnOnce() -> String) -> Result<(), String> {
        if ok { Ok(()) } else { Err(format!("{name}: {} (in {})", message(), self.p.name)) }
    }
    fn show(&self, v: Val) -> String {
        self.p.vals.get(v.0 as usize).map_or(format!("%{}", v.0), |x| format!("{}%{}", x.1, v.0))
    }
    fn info(&self, b: Buf) -> Result<&BufInfo, String> {
        self.p.bufs.get(b.0 as usize).ok_or_else(|| format!("scope: no buffer {} (in {})", b.0, self.p.name))
    }

    /// (once) for a value; from now on it is in scope.
    fn define(&mut self, v: Val) -> Result<(), String> {
        self.rule((v.0 as usize) < self.p.vals.len(), "scope", || format!("no value {}", v.0))?;
        let first = self.seen.insert(v);
        self.rule(first, "once", || format!("{} is defined twice", self.show(v)))?;
        self.visible.insert(v);
        self.trail.push(Param::Scalar(v));
        Ok(())
    }
    /// (once), (shape) for a buffer that comes to life.
    fn bring(&mut self, b: Buf) -> Result<(), String> {
        let info = self.info(b)?;
        for o in info.shape.clone() {
            self.typed(o, Scalar::Int, "shape")?;
        }
        let name = self.info(b)?.name.clone();
        self.alive.insert(b);
        self.trail.push(Param::Array(b));
        let first = self.brought.insert(b);
        self.rule(first, "once", || format!("buffer {name} comes to life twice"))
    }
    /// (scope) and (type) for an operand.
    fn typed(&self, o: Operand, ty: Scalar, name: &str) -> Result<(), String> {
        let found = self.ty(o)?;
        self.rule(found == ty, name, || format!("{o:?} is {found:?}, not {ty:?}"))
    }
    fn ty(&self, o: Operand) -> Result<Scalar, String> {
        if let Operand::Val(v) = o {
            self.rule(self.visible.contains(&v), "scope", || {
                format!("{} is used before its definition", self.show(v))
            })?;
        }
        Ok(self.p.type_of(o))
    }
    /// (scope), (rank), (in) for an access.
    fn access(&self, b: Buf, index: Option<&[Operand]>, write: bool) -> Result<(), String> {
        let info = self.info(b)?;
        self.rule(self.alive.contains(&b), "scope", || {
            format!("buffer {} is used outside its block", info.name)
        })?;
        self.rule(!write || info.kind.is_written(), "in", || format!("{} is written", info.name))?;
        if let Some(index) = index {
            let ok = index.len() == info.shape.len();
            self.rule(ok, "rank", || format!("{} indices into {}", index.len(), info.name))?;
            index.iter().try_for_each(|o| self.typed(*o, Scalar::Int, "type"))?;
        }
        Ok(())
    }

    /// A block: what it defines is in scope until its end. `end` reads the operands that follow it.
    fn scoped(
        &mut self,
        block: &[Stmt],
        before: impl FnOnce(&mut Self) -> Result<(), String>,
        end: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let start = self.trail.len();
        before(self)?;
        self.block(block)?;
        end(self)?;
        self.leave(start);
        Ok(())
    }
    fn leave(&mut self, start: usize) {
        for x in self.trail.drain(start..) {
            match x {
                Param::Scalar(v) => self.visible.remove(&v),
                Param::Array(b) => self.alive.remove(&b),
            };
        }
    }

    fn block(&mut self, block: &[Stmt]) -> Result<(), String> {
        block.iter().try_for_each(|s| self.stmt(s))
    }

    fn stmt(&mut self, s: &Stmt) -> Result<(), String> {
        let real = Scalar::Real;
        match s {
            Stmt::Let { dst, op, args } => {
                let types = args.iter().map(|a| self.ty(*a)).collect::<Result<Vec<_>, _>>()?;
                let result = result_type(*op, &types);
                self.rule(result.is_some(), "type", || format!("{op:?} at {types:?}"))?;
                self.define(*dst)?;
                self.typed(Operand::Val(*dst), result.unwrap(), "type")
            }
            Stmt::Load { dst, buf, index } => {
                self.access(*buf, Some(index), false)?;
                self.define(*dst)?;
                self.typed(Operand::Val(*dst), self.info(*buf)?.elem, "type")
            }
            Stmt::Store { buf, index, value } => {
                self.access(*buf, Some(index), true)?;
                self.typed(*value, self.info(*buf)?.elem, "type")
            }
            Stmt::Accum { buf, index, value } => {
                self.access(*buf, Some(index), true)?;
                let info = self.info(*buf)?;
                self.rule(info.elem == real, "accum", || {
                    format!("+= on {:?} buffer {}", info.elem, info.name)
                })?;
                self.typed(*value, real, "type")
            }
            Stmt::Alloc { buf } => {
                let info = self.info(*buf)?;
                self.rule(info.kind == BufKind::Local, "scope", || {
                    format!("parameter {} is allocated", info.name)
                })?;
                if let Some(part) = self.p.parts.get(buf) {
                    self.typed(part.at, Scalar::Int, "part")?;
                    self.access(part.of, None, true)?;
                    let fits = self.info(part.of)?.elem == self.info(*buf)?.elem;
                    self.rule(fits, "part", || format!("{buf:?} lies in a buffer of another type"))?;
                }
                self.bring(*buf)
            }
            Stmt::Fill { buf, value } => {
                self.access(*buf, None, true)?;
                self.typed(*value, self.info(*buf)?.elem, "type")
            }
            Stmt::Copy { dst, src } => {
                self.access(*src, None, false)?;
                self.access(*dst, None, true)?;
                let (d, s) = (self.info(*dst)?, self.info(*src)?);
                self.rule(d.elem == s.elem && dst != src, "type", || {
                    format!("copy {} to {}", s.name, d.name)
                })?;
                // Two values may be equal at run time under two names; the evaluator looks then.
                let differ =
                    |a: &Operand, b: &Operand| matches!((a, b), (Operand::Int(a), Operand::Int(b)) if a != b);
                let ok = d.shape.len() == s.shape.len()
                    && !d.shape.iter().zip(&s.shape).any(|(a, b)| differ(a, b));
                self.rule(ok, "shape", || format!("copy {} to {}", s.name, d.name))
            }
            Stmt::Argsort { keys, perm } => {
                self.access(*keys, None, false)?;
                self.access(*perm, None, true)?;
                let (k, m) = (self.info(*keys)?, self.info(*perm)?);
                let ok = k.elem != Scalar::Bool
                    && m.elem == Scalar::Int
                    && k.shape.len() == 1
                    && m.shape.len() == 1;
                self.rule(ok, "type", || format!("argsort {} to {}", k.name, m.name))
            }
            Stmt::Check { cond, failure, details } => {
                self.typed(*cond, Scalar::Bool, "type")?;
                details.iter().try_for_each(|d| self.typed(*d, Scalar::Int, "type"))?;
                self.rule(*failure < self.p.failures.len(), "failure", || format!("no failure {failure}"))
            }
            Stmt::Call { callee, args } => self.call(*callee, args),
            Stmt::Reserve { dst, buf, failure } => {
                let info = self.info(*buf)?;
                let kept = info.kind == BufKind::Kept;
                self.rule(kept, "scope", || format!("{} is not of the region", info.name))?;
                self.rule(*failure < self.p.failures.len(), "failure", || format!("no failure {failure}"))?;
                self.bring(*buf)?;
                self.define(*dst)?;
                self.typed(Operand::Val(*dst), Scalar::Int, "type")
            }
            Stmt::View { buf, handle } => {
                let info = self.info(*buf)?;
                self.rule(info.kind == BufKind::View, "scope", || format!("{} is no view", info.name))?;
                self.typed(*handle, Scalar::Int, "type")?;
                self.bring(*buf)
            }
            Stmt::For(l) => {
                self.typed(l.extent, Scalar::Int, "type")?;
                self.carried_in(&l.carried)?;
                self.scoped(
                    &l.body,
                    |c| {
                        c.define(l.index)?;
                        c.typed(Operand::Val(l.index), Scalar::Int, "type")?;
                        l.carried.iter().try_for_each(|x| c.define(x.param))
                    },
                    |c| c.carried_out(&l.carried),
                )?;
                for x in &l.carried {
                    if x.kind == CarriedKind::Sum {
                        let ok = is_sum(&l.body, x.param, x.next);
                        self.rule(ok, "sum", || format!("{} is not a sum", self.show(x.param)))?;
                    }
                }
                if l.parallel != Parallel::No {
                    parallel(self.p, l).map_err(|m| format!("parallel: {m} (in {})", self.p.name))?;
                }
                if l.parallel == Parallel::Lanes {
                    lanes::varying(self.p, l).map_err(|m| format!("lanes: {m} (in {})", self.p.name))?;
                }
                l.carried.iter().try_for_each(|x| self.define(x.result))
            }
            Stmt::While(l) => {
                self.carried_in(&l.carried)?;
                let start = self.trail.len();
                l.carried.iter().try_for_each(|x| self.define(x.param))?;
                // The body does not see what the condition's block defines.
                self.scoped(&l.cond_block, |_| Ok(()), |c| c.typed(l.cond, Scalar::Bool, "type"))?;
                self.scoped(&l.body, |_| Ok(()), |c| c.carried_out(&l.carried))?;
                self.leave(start);
                l.carried.iter().try_for_each(|x| self.define(x.result))
            }
            Stmt::If(i) => {
                self.typed(i.cond, Scalar::Bool, "type")?;
                let p = self.p;
                let ends = |c: &mut Self, arm: fn(&(Val, Operand, Operand)) -> Operand| {
                    i.results.iter().try_for_each(|r| c.typed(arm(r), p.type_of(Operand::Val(r.0)), "type"))
                };
                self.scoped(&i.then, |_| Ok(()), |c| ends(c, |r| r.1))?;
                self.scoped(&i.els, |_| Ok(()), |c| ends(c, |r| r.2))?;
                i.results.iter().try_for_each(|r| self.define(r.0))
            }
        }
    }

    /// (call)
    fn call(&self, callee: usize, args: &[Argument]) -> Result<(), String> {
        let Some(f) = self.callees.get(callee) else {
            return self.rule(false, "call", || format!("no procedure {callee}"));
        };
        self.rule(args.len() == f.params.len(), "call", || {
            format!("{} arguments for {} parameters of {}", args.len(), f.params.len(), f.name)
        })?;
        let mut passed: HashMap<Buf, bool> = HashMap::new();
        for (arg, param) in args.iter().zip(&f.params) {
            let (b, write) = match (arg, param) {
                (Argument::Scalar(o), Param::Scalar(v)) => {
                    self.typed(*o, f.type_of(Operand::Val(*v)), "call")?;
                    continue;
                }
                (Argument::In(b), Param::Array(q)) if f.info(*q).kind == BufKind::In => (b, false),
                (Argument::Out(b), Param::Array(q)) if f.info(*q).kind == BufKind::Out => (b, true),
                (Argument::Acc(b), Param::Array(q)) if f.info(*q).kind == BufKind::Acc => (b, true),
                _ => return self.rule(false, "call", || format!("{arg:?} for {param:?} of {}", f.name)),
            };
            self.access(*b, None, write)?;
            let Param::Array(q) = param else { continue };
            let (mine, theirs) = (self.info(*b)?, f.info(*q));
            let fits = mine.elem == theirs.elem && mine.shape.len() == theirs.shape.len();
            self.rule(fits, "call", || format!("{} for {} of {}", mine.name, theirs.name, f.name))?;
            let alone = !passed.insert(*b, write).is_some_and(|before| before || write);
            self.rule(alone, "call", || format!("{} is written and passed twice", mine.name))?;
        }
        Ok(())
    }

    fn carried_in(&self, carried: &[Carried]) -> Result<(), String> {
        carried.iter().try_for_each(|x| {
            self.typed(x.init, self.p.type_of(Operand::Val(x.param)), "type")?;
            let same = self.p.type_of(Operand::Val(x.param)) == self.p.type_of(Operand::Val(x.result));
            self.rule(same, "type", || format!("{} and its result", self.show(x.param)))
        })
    }
    fn carried_out(&self, carried: &[Carried]) -> Result<(), String> {
        carried.iter().try_for_each(|x| self.typed(x.next, self.p.type_of(Operand::Val(x.param)), "type"))
    }
}

/// (sum) `next` is `param` plus contributions in which `param` does not occur. The running total may pass through
/// additions (as either summand, or the one subtracted from), the arms of an `if`, and sums of inner loops.
pub fn is_sum(body: &[Stmt], param: Val, next: Operand) -> bool {
    let mut totals = HashSet::from([param]);
    passes_on(body, &mut totals) && total(&totals, next)
}

fn total(totals: &HashSet<Val>, o: Operand) -> bool {
    matches!(o, Operand::Val(v) if totals.contains(&v))
}

/// Every use of a total in the block is as the total of a longer sum; learns the longer ones.
fn passes_on(block: &[Stmt], totals: &mut HashSet<Val>) -> bool {
    block.iter().all(|s| {
        let mut uses = 0;
        walk::operands(s, &mut |o| uses += total(totals, *o) as usize);
        match s {
            Stmt::Let { dst, op, args } => match op {
                _ if uses == 0 => true,
                Op::FAdd if uses == 1 => totals.insert(*dst),
                Op::FSub if uses == 1 && total(totals, args[0]) => totals.insert(*dst),
                _ => false,
            },
            Stmt::If(i) => {
                let cond = total(totals, i.cond);
                if cond || !passes_on(&i.then, totals) || !passes_on(&i.els, totals) {
                    return false;
                }
                i.results.iter().all(|(dst, t, e)| match (total(totals, *t), total(totals, *e)) {
                    (true, true) => totals.insert(*dst),
                    (false, false) => true,
                    (true, false) | (false, true) => false,
                })
            }
            Stmt::For(l) => {
                if total(totals, l.extent) {
                    return false;
                }
                let params =
                    l.carried.iter().filter(|c| total(totals, c.init)).map(|c| c.param).collect::<Vec<_>>();
                totals.extend(params);
                passes_on(&l.body, totals) && carries_on(&l.carried, totals)
            }
            Stmt::While(l) => {
                let params =
                    l.carried.iter().filter(|c| total(totals, c.init)).map(|c| c.param).collect::<Vec<_>>();
                totals.extend(params);
                passes_on(&l.cond_block, totals)
                    && !total(totals, l.cond)
                    && passes_on(&l.body, totals)
                    && carries_on(&l.carried, totals)
            }
            Stmt::Load { .. }
            | Stmt::Store { .. }
            | Stmt::Accum { .. }
            | Stmt::Alloc { .. }
            | Stmt::Fill { .. }
            | Stmt::Copy { .. }
            | Stmt::Check { .. }
            | Stmt::Argsort { .. }
            | Stmt::Call { .. }
            | Stmt::Reserve { .. }
            | Stmt::View { .. } => uses == 0,
        }
    })
}

fn carries_on(carried: &[Carried], totals: &mut HashSet<Val>) -> bool {
    carried.iter().all(|c| match (totals.contains(&c.param), total(totals, c.next)) {
        (true, true) => totals.insert(c.result),
        (false, false) => true,
        (true, false) | (false, true) => false,
    })
}

/// What the body of a loop does to one buffer from outside it.
#[derive(Default)]
pub struct Touched {
    pub read: bool,
    pub written: bool,
    pub accumulated: bool,
    /// The dimensions in which every access has the loop's index; None until the first access.
    pub own: Option<Vec<usize>>,
}

impl Touched {
    /// Every access is at the loop's own index in some fixed dimension, so iterations touch different elements.
    pub fn is_own(&self) -> bool {
        self.own.as_ref().is_some_and(|dims| !dims.is_empty())
    }
}

/// What the body of a loop with this index does to the buffers from outside it.
pub fn touched(index: Val, body: &[Stmt]) -> HashMap<Buf, Touched> {
    let inner = walk::allocated(body);
    let mut out: HashMap<Buf, Touched> = HashMap::new();
    walk::each(body, &mut |s| {
        walk::accesses(s, &mut |b, access, at| {
            if inner.contains(&b) {
                return;
            }
            let t = out.entry(b).or_default();
            match access {
                Access::Read => t.read = true,
                Access::Write => t.written = true,
                Access::Accum => t.accumulated = true,
            }
            let here = |k: &usize| at.is_some_and(|at| at[*k] == Operand::Val(index));
            t.own = Some(match t.own.take() {
                None => (0..at.map_or(0, <[_]>::len)).filter(here).collect(),
                Some(dims) => dims.into_iter().filter(here).collect(),
            });
        })
    });
    out
}

/// (parallel) What [`Parallel::Yes`] says of a loop; Err says what does not hold.
pub fn parallel(p: &Proc, l: &For) -> Result<(), String> {
    if let Some(c) = l.carried.iter().find(|c| c.kind != CarriedKind::Sum) {
        return Err(format!("{} is carried and not a sum", p.vals[c.param.0 as usize].1));
    }
    if walk::calls(&l.body) {
        return Err("the body has a call".into());
    }
    for (b, t) in touched(l.index, &l.body) {
        let name = &p.info(b).name;
        if t.accumulated && (t.read || t.written) && !t.is_own() {
            return Err(format!("{name} is accumulated into and otherwise touched"));
        }
        if t.written && !t.is_own() {
            return Err(format!("{name} is written at other than the loop's index"));
        }
    }
    Ok(())
}
