//! The loop evaluator: what a procedure means, and what it costs (chad.md §7). Short, slow and obviously right: every operation does
//! what one scalar instruction does, in program order, so that compiled code without reassociation gives the same bits.

use super::ops::{apply, cost};
use super::*;
use crate::core::Lit;

/// The elements of a buffer, row by row.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    Real(Vec<f64>),
    Int(Vec<i64>),
    Bool(Vec<bool>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Array {
    pub shape: Vec<usize>,
    pub data: Data,
}

/// An argument: of a scalar parameter, or of an `In` one.
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    Scalar(Lit),
    Array(Array),
}

/// What a procedure gives back: its `Out` parameters, in order, and its cost.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    pub outs: Vec<Array>,
    pub cost: u64,
}

/// Why a procedure gave nothing back.
#[derive(Clone, PartialEq, Debug)]
pub enum Stop {
    /// A check failed: what the user is told.
    Failed { failure: Failure, site: Site, details: Vec<i64> },
    /// More statements were run than allowed.
    Steps,
    /// The procedure is not well formed, or the arguments are not its: a fault of the compiler.
    Bug(String),
}

impl Array {
    pub fn reals(shape: impl Into<Vec<usize>>, data: impl Into<Vec<f64>>) -> Array {
        Array { shape: shape.into(), data: Data::Real(data.into()) }
    }
    pub fn ints(shape: impl Into<Vec<usize>>, data: impl Into<Vec<i64>>) -> Array {
        Array { shape: shape.into(), data: Data::Int(data.into()) }
    }

    /// Undefined contents: numbers that are noticed when somebody reads them.
    fn undefined(elem: Scalar, shape: Vec<usize>) -> Array {
        let n = shape.iter().product();
        let data = match elem {
            Scalar::Real => Data::Real(vec![f64::NAN; n]),
            Scalar::Int => Data::Int(vec![i64::MIN / 3; n]),
            Scalar::Bool => Data::Bool(vec![true; n]),
        };
        Array { shape, data }
    }
    fn get(&self, at: usize) -> Lit {
        match &self.data {
            Data::Real(v) => Lit::Real(v[at]),
            Data::Int(v) => Lit::Int(v[at]),
            Data::Bool(v) => Lit::Bool(v[at]),
        }
    }
    fn set(&mut self, at: usize, x: Lit) -> Result<(), Stop> {
        match (&mut self.data, x) {
            (Data::Real(v), Lit::Real(x)) => v[at] = x,
            (Data::Int(v), Lit::Int(x)) => v[at] = x,
            (Data::Bool(v), Lit::Bool(x)) => v[at] = x,
            (Data::Real(_) | Data::Int(_) | Data::Bool(_), x) => {
                return bug(format!("{x:?} stored in another type"));
            }
        }
        Ok(())
    }
    fn len(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Runs a procedure; arguments are those of its scalar and `In` parameters, in order.
pub fn run(p: &Proc, args: &[Arg]) -> Result<Outcome, Stop> {
    run_within(p, args, u64::MAX)
}

/// As [`run`], and stops after so many statements.
pub fn run_within(p: &Proc, args: &[Arg], steps: u64) -> Result<Outcome, Stop> {
    let run = || run_here(p, args, steps);
    if p.callees.is_empty() { run() } else { crate::big_stack::run(run) }
}

fn run_here(p: &Proc, args: &[Arg], steps: u64) -> Result<Outcome, Stop> {
    let mut run = Run { callees: &p.callees, cost: 0, steps, region: vec![], bytes: 0 };
    let mut m = Machine::new(p, &mut run);
    let mut args = args.iter();
    for param in &p.params {
        match param {
            Param::Scalar(v) => match args.next() {
                Some(Arg::Scalar(x)) => m.set(*v, *x),
                other => return bug(format!("scalar argument expected, found {other:?}")),
            },
            Param::Array(b) if p.info(*b).kind == BufKind::In => match args.next() {
                Some(Arg::Array(a)) if a.shape == m.shape(*b)? => {
                    m.bufs[b.0 as usize] = Some(Slot::Own(a.clone()));
                }
                other => return bug(format!("array argument {} expected, found {other:?}", p.info(*b).name)),
            },
            Param::Array(b) => m.alloc(*b)?,
        }
    }
    if args.next().is_some() {
        return bug("too many arguments");
    }
    m.block(&p.body)?;
    let out = |b: &Buf| match m.bufs[b.0 as usize].take() {
        Some(Slot::Own(a)) => Some(a),
        Some(Slot::Kept(_) | Slot::Part(..)) | None => None,
    };
    let outs = p.params.iter().filter_map(|x| match x {
        Param::Array(b) if p.info(*b).kind == BufKind::Out => Some(b),
        Param::Array(_) | Param::Scalar(_) => None,
    });
    let outs = outs.filter_map(out).collect();
    Ok(Outcome { outs, cost: run.cost })
}

fn bug<T>(message: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Bug(message.into()))
}

/// What a run has used and kept, whichever procedure it is in.
struct Run<'a> {
    callees: &'a [Proc],
    cost: u64,
    steps: u64,
    /// The region: a handle is a position in it.
    region: Vec<Array>,
    bytes: u64,
}

/// A buffer: a procedure's own, or one of the region.
enum Slot {
    Own(Array),
    Kept(usize),
    /// From an element of another buffer on, in this shape.
    Part(Buf, usize, Vec<usize>),
}

/// An argument of a call.
enum Given {
    Scalar(Lit),
    Array(Array),
}

/// A procedure being run.
struct Machine<'a, 'r> {
    p: &'a Proc,
    run: &'r mut Run<'a>,
    vals: Vec<Option<Lit>>,
    bufs: Vec<Option<Slot>>,
}

impl<'a> Machine<'a, '_> {
    fn new<'r>(p: &'a Proc, run: &'r mut Run<'a>) -> Machine<'a, 'r> {
        Machine { p, run, vals: vec![None; p.vals.len()], bufs: p.bufs.iter().map(|_| None).collect() }
    }

    fn set(&mut self, v: Val, x: Lit) {
        self.vals[v.0 as usize] = Some(x);
    }
    fn value(&self, o: Operand) -> Result<Lit, Stop> {
        match o {
            Operand::Val(v) => self.vals[v.0 as usize].map_or_else(|| bug(format!("{v:?} has no value")), Ok),
            Operand::Real(x) => Ok(Lit::Real(self.p.precision.round(x))),
            Operand::Int(k) => Ok(Lit::Int(k)),
            Operand::Bool(b) => Ok(Lit::Bool(b)),
        }
    }
    fn int(&self, o: Operand) -> Result<i64, Stop> {
        match self.value(o)? {
            Lit::Int(k) => Ok(k),
            x @ (Lit::Real(_) | Lit::Bool(_)) => bug(format!("{x:?} is no int")),
        }
    }
    fn bool(&self, o: Operand) -> Result<bool, Stop> {
        match self.value(o)? {
            Lit::Bool(b) => Ok(b),
            x @ (Lit::Real(_) | Lit::Int(_)) => bug(format!("{x:?} is no bool")),
        }
    }
    fn shape(&self, b: Buf) -> Result<Vec<usize>, Stop> {
        let size = |o: &Operand| {
            let k = self.int(*o)?;
            usize::try_from(k).map_or_else(|_| bug(format!("size {k} of {}", self.p.info(b).name)), Ok)
        };
        self.p.info(b).shape.iter().map(size).collect()
    }
    fn alloc(&mut self, b: Buf) -> Result<(), Stop> {
        let shape = self.shape(b)?;
        let slot = match self.p.parts.get(&b) {
            None => Slot::Own(Array::undefined(self.p.info(b).elem, shape)),
            Some(part) => {
                let (of, first) = self.whole(part.of);
                let at = usize::try_from(self.int(part.at)?).ok().map(|at| first + at);
                let end = at.map(|at| at + shape.iter().product::<usize>());
                match (at, end) {
                    (Some(at), Some(end)) if end <= self.buf(of)?.len() => Slot::Part(of, at, shape),
                    _ => return bug(format!("{b:?} is outside of {:?}", part.of)),
                }
            }
        };
        self.bufs[b.0 as usize] = Some(slot);
        Ok(())
    }
    /// The buffer that holds the elements, and where they begin there.
    fn whole(&self, b: Buf) -> (Buf, usize) {
        match &self.bufs[b.0 as usize] {
            Some(Slot::Part(of, at, _)) => (*of, *at),
            Some(Slot::Own(_) | Slot::Kept(_)) | None => (b, 0),
        }
    }
    fn buf(&mut self, b: Buf) -> Result<&mut Array, Stop> {
        match self.bufs[b.0 as usize].as_mut() {
            Some(Slot::Own(a)) => Ok(a),
            Some(Slot::Kept(k)) => Ok(&mut self.run.region[*k]),
            Some(Slot::Part(..)) => bug(format!("{b:?} is used as a whole")),
            None => bug(format!("{b:?} is not there")),
        }
    }
    fn dims(&mut self, b: Buf) -> Result<Vec<usize>, Stop> {
        match &self.bufs[b.0 as usize] {
            Some(Slot::Part(_, _, shape)) => Ok(shape.clone()),
            Some(Slot::Own(_) | Slot::Kept(_)) | None => Ok(self.buf(b)?.shape.clone()),
        }
    }

    /// A call: what it reads is copied, what it writes is lent.
    fn call(&mut self, callee: usize, args: &[Argument]) -> Result<(), Stop> {
        self.run.cost += 1;
        let Some(f) = self.run.callees.get(callee) else { return bug(format!("no procedure {callee}")) };
        let mut given = vec![];
        for a in args {
            given.push(match a {
                Argument::Scalar(o) => Given::Scalar(self.value(*o)?),
                Argument::In(b) => Given::Array(self.buf(*b)?.clone()),
                Argument::Out(b) | Argument::Acc(b) => {
                    let whole = Array { shape: vec![0], data: Data::Bool(vec![]) };
                    Given::Array(std::mem::replace(self.buf(*b)?, whole))
                }
            });
        }
        let mut m = Machine::new(f, self.run);
        m.enter(given)?;
        m.block(&f.body)?;
        let mut back: Vec<Option<Slot>> = f
            .params
            .iter()
            .map(|x| match x {
                Param::Array(b) => m.bufs[b.0 as usize].take(),
                Param::Scalar(_) => None,
            })
            .collect();
        for (a, slot) in args.iter().zip(&mut back) {
            if let (Argument::Out(b) | Argument::Acc(b), Some(Slot::Own(array))) = (a, slot.take()) {
                *self.buf(*b)? = array;
            }
        }
        Ok(())
    }

    /// Binds the parameters: scalars first, the arrays' shapes are over them.
    fn enter(&mut self, given: Vec<Given>) -> Result<(), Stop> {
        let p = self.p;
        if given.len() != p.params.len() {
            return bug(format!("{} arguments for {} parameters of {}", given.len(), p.params.len(), p.name));
        }
        let mut arrays = vec![];
        for (param, given) in p.params.iter().zip(given) {
            match (param, given) {
                (Param::Scalar(v), Given::Scalar(x)) => self.set(*v, x),
                (Param::Array(b), Given::Array(a)) => arrays.push((*b, a)),
                (param, _) => return bug(format!("an argument of another kind for {param:?} of {}", p.name)),
            }
        }
        for (b, a) in arrays {
            let name = &p.info(b).name;
            let wanted = self.shape(b)?;
            if a.shape != wanted {
                return bug(format!("{name} of {} has shape {:?}, not {wanted:?}", p.name, a.shape));
            }
            self.bufs[b.0 as usize] = Some(Slot::Own(a));
        }
        Ok(())
    }
    /// The place of an element. Out of range is a bug: emission checks what may be.
    fn at(&mut self, b: Buf, index: &[Operand]) -> Result<(Buf, usize), Stop> {
        let index = index.iter().map(|o| self.int(*o)).collect::<Result<Vec<_>, _>>()?;
        let name = &self.p.info(b).name;
        let shape = self.dims(b)?;
        let inside =
            index.len() == shape.len() && index.iter().zip(&shape).all(|(i, n)| 0 <= *i && *i < *n as i64);
        if !inside {
            return bug(format!("{}{index:?} is outside {shape:?}", name));
        }
        let (of, first) = self.whole(b);
        Ok((of, first + index.iter().zip(shape).fold(0, |at, (i, n)| at * n + *i as usize)))
    }

    fn block(&mut self, block: &[Stmt]) -> Result<(), Stop> {
        block.iter().try_for_each(|s| self.stmt(s))
    }

    fn stmt(&mut self, s: &Stmt) -> Result<(), Stop> {
        if self.run.steps == 0 {
            return Err(Stop::Steps);
        }
        self.run.steps -= 1;
        match s {
            Stmt::Let { dst, op, args } => {
                self.run.cost += cost(*op);
                let args = args.iter().map(|a| self.value(*a)).collect::<Result<Vec<_>, _>>()?;
                let x = apply(*op, &args, self.p.precision)
                    .map_or_else(|| bug(format!("{op:?} at {args:?}")), Ok)?;
                self.set(*dst, x);
            }
            Stmt::Load { dst, buf, index } => {
                self.run.cost += 1;
                let (of, at) = self.at(*buf, index)?;
                let x = self.buf(of)?.get(at);
                self.set(*dst, x);
            }
            Stmt::Store { buf, index, value } => {
                self.run.cost += 1;
                let ((of, at), x) = (self.at(*buf, index)?, self.value(*value)?);
                self.buf(of)?.set(at, x)?;
            }
            // Read, add, write.
            Stmt::Accum { buf, index, value } => {
                self.run.cost += 2 + cost(Op::FAdd);
                let ((of, at), x) = (self.at(*buf, index)?, self.value(*value)?);
                let old = self.buf(of)?.get(at);
                let sum = apply(Op::FAdd, &[old, x], self.p.precision)
                    .map_or_else(|| bug("+= on another type than real"), Ok)?;
                self.buf(of)?.set(at, sum)?;
            }
            Stmt::Alloc { buf } => self.alloc(*buf)?,
            Stmt::Fill { buf, value } => {
                let x = self.value(*value)?;
                let n: usize = self.dims(*buf)?.iter().product();
                let (of, first) = self.whole(*buf);
                self.run.cost += n as u64;
                (first..first + n).try_for_each(|at| self.buf(of)?.set(at, x))?;
            }
            Stmt::Copy { dst, src } => {
                let from = self.buf(*src)?.clone();
                self.run.cost += from.len() as u64;
                let to = self.buf(*dst)?;
                if to.shape != from.shape {
                    return bug(format!("copy of {:?} to {:?}", from.shape, to.shape));
                }
                *to = from;
            }
            Stmt::Argsort { keys, perm } => {
                let order = argsort(&self.buf(*keys)?.data);
                let n = order.len() as u64;
                // n log₂ n comparisons, n elements written.
                self.run.cost += n * u64::from(n.max(1).ilog2()) + n;
                let to = self.buf(*perm)?;
                if to.len() != order.len() {
                    return bug("argsort into another length");
                }
                to.data = Data::Int(order);
            }
            Stmt::Check { cond, failure, details } => {
                self.run.cost += 1;
                if !self.bool(*cond)? {
                    let (failure, site) = self.p.failures[*failure].clone();
                    let details = details.iter().map(|d| self.int(*d)).collect::<Result<_, _>>()?;
                    return Err(Stop::Failed { failure, site, details });
                }
            }
            Stmt::Call { callee, args } => self.call(*callee, args)?,
            Stmt::Reserve { dst, buf, failure } => {
                self.run.cost += 1;
                let shape = self.shape(*buf)?;
                let bytes = shape.iter().fold(8, |n: u64, k| n.saturating_mul(*k as u64));
                self.run.bytes = self.run.bytes.saturating_add(bytes);
                if self.run.bytes > REGION_LIMIT {
                    let (failure, site) = self.p.failures[*failure].clone();
                    return Err(Stop::Failed { failure, site, details: vec![REGION_LIMIT as i64] });
                }
                self.run.region.push(Array::undefined(self.p.info(*buf).elem, shape));
                let handle = self.run.region.len() - 1;
                self.bufs[buf.0 as usize] = Some(Slot::Kept(handle));
                self.set(*dst, Lit::Int(handle as i64));
            }
            Stmt::View { buf, handle } => {
                let (handle, shape) = (self.int(*handle)?, self.shape(*buf)?);
                let kept = usize::try_from(handle)
                    .ok()
                    .filter(|k| self.run.region.get(*k).is_some_and(|a| a.shape == shape));
                let Some(kept) = kept else { return bug(format!("no array of shape {shape:?} at {handle}")) };
                self.bufs[buf.0 as usize] = Some(Slot::Kept(kept));
            }
            Stmt::For(l) => {
                let n = self.int(l.extent)?;
                self.begin(&l.carried)?;
                for k in 0..n {
                    self.run.cost += 1;
                    self.set(l.index, Lit::Int(if l.down { n - 1 - k } else { k }));
                    self.block(&l.body)?;
                    self.step(&l.carried)?;
                }
                self.leave(&l.carried)?;
            }
            Stmt::While(l) => {
                self.begin(&l.carried)?;
                loop {
                    self.run.cost += 1;
                    self.block(&l.cond_block)?;
                    if !self.bool(l.cond)? {
                        break;
                    }
                    self.block(&l.body)?;
                    self.step(&l.carried)?;
                }
                self.leave(&l.carried)?;
            }
            Stmt::If(i) => {
                self.run.cost += 1;
                let cond = self.bool(i.cond)?;
                self.block(if cond { &i.then } else { &i.els })?;
                let ends = i.results.iter().map(|r| self.value(if cond { r.1 } else { r.2 }));
                let ends = ends.collect::<Result<Vec<_>, _>>()?;
                i.results.iter().zip(ends).for_each(|(r, x)| self.set(r.0, x));
            }
        }
        Ok(())
    }

    fn begin(&mut self, carried: &[Carried]) -> Result<(), Stop> {
        let inits = carried.iter().map(|c| self.value(c.init)).collect::<Result<Vec<_>, _>>()?;
        carried.iter().zip(inits).for_each(|(c, x)| self.set(c.param, x));
        Ok(())
    }
    /// All at once: a `next` may be another's param.
    fn step(&mut self, carried: &[Carried]) -> Result<(), Stop> {
        let nexts = carried.iter().map(|c| self.value(c.next)).collect::<Result<Vec<_>, _>>()?;
        carried.iter().zip(nexts).for_each(|(c, x)| self.set(c.param, x));
        Ok(())
    }
    fn leave(&mut self, carried: &[Carried]) -> Result<(), Stop> {
        carried.iter().try_for_each(|c| {
            let x = self.value(Operand::Val(c.param))?;
            self.set(c.result, x);
            Ok(())
        })
    }
}

fn argsort(keys: &Data) -> Vec<i64> {
    let n = match keys {
        Data::Real(v) => v.len(),
        Data::Int(v) => v.len(),
        Data::Bool(v) => v.len(),
    };
    let mut order: Vec<i64> = (0..n as i64).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (a as usize, b as usize);
        match keys {
            // partial_cmp fails only at a NaN, which comes last.
            Data::Real(v) => v[a].partial_cmp(&v[b]).unwrap_or_else(|| v[a].is_nan().cmp(&v[b].is_nan())),
            Data::Int(v) => v[a].cmp(&v[b]),
            Data::Bool(v) => v[a].cmp(&v[b]),
        }
    });
    order
}
