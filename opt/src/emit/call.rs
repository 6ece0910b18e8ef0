//! Procedures that are called, and calls. Arrays are passed as they lie where they are whole buffers, otherwise as copies; results come back in
//! buffers, of rank 0 for scalars. Every callee is told how deep its call is, and refuses to go deeper than the limit.

use super::place::{Ev, Slice};
use super::{Emitter, Error, compound_sizes};
use lang::core::{Def, Tm};
use lang::diag::{Failure, Site};
use lang::leaves::leaves;
use lang::loops::{Argument, Buf, BufInfo, BufKind, DEPTH_LIMIT, Op, Operand, Param, Stmt};
use lang::name::{Name, Var};
use lang::prim::Scalar;
use lang::size::Size;
use lang::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

impl Emitter<'_> {
    /// The depth of the call, checked, as a parameter.
    pub(super) fn begin_callee(&mut self, name: &Name) {
        let depth = self.proc.val(Scalar::Int, "depth");
        self.proc.params.push(Param::Scalar(depth));
        let site = Site { def: lang::name::source(name).into(), span: Default::default() };
        let failure = self.failure(&Failure::TooDeep, &site);
        let limit = Operand::Int(DEPTH_LIMIT);
        let cond = self.op(Op::ILt, &[Operand::Val(depth), limit], Scalar::Bool, "ok");
        self.push(Stmt::Check { cond, failure, details: vec![limit] });
        let next = self.op(Op::IAdd, &[Operand::Val(depth), Operand::Int(1)], Scalar::Int, "depth");
        self.depth = Some(next);
    }

    /// f [sizes] t1 … tk, its arrays made in `place` where they may be.
    pub(super) fn call(
        &mut self,
        def: &Name,
        sizes: &[Size],
        args: &[Tm],
        place: Option<&Ev>,
        name: &str,
    ) -> Result<Ev, Error> {
        let (callee, d) = self.callee(def)?;
        let mut given = self.arguments(&d, sizes, args)?;
        let mut results = vec![];
        let mut wanted = place.map(parts).unwrap_or_default().into_iter();
        for leaf in leaves(&d.result).ok_or_else(Error::function_survives)? {
            let there = wanted.next().flatten().filter(|s| {
                // Nothing of the call lies there, and it is all of a buffer.
                s.at.is_empty() && !leaf.shape.is_empty() && !given.names(s.buf)
            });
            let slice = match there {
                Some(slice) => slice,
                None => {
                    let shape = given.shape(self, &leaf.shape)?;
                    self.local(name, leaf.scalar, shape)
                }
            };
            given.passed.push(Argument::Out(slice.buf));
            results.push(slice);
        }
        self.push(Stmt::Call { callee, args: given.passed });
        let result = Ev::from_leaves(&d.result, &mut results.into_iter());
        Ok(self.value_at(&result))
    }

    pub(super) fn callee(&self, def: &Name) -> Result<(usize, Arc<Def>), Error> {
        let at = self.names.iter().position(|n| n == def);
        match (at, self.program.defs.get(def)) {
            (Some(at), Some(d)) => Ok((at, d.clone())),
            _ => Err(Error::bug(format!("no definition {def} at emission"))),
        }
    }

    pub(super) fn local(&mut self, name: &str, elem: Scalar, shape: Vec<Operand>) -> Slice {
        let buf = self.proc.buf(BufInfo { name: name.into(), elem, shape, kind: BufKind::Local });
        self.push(Stmt::Alloc { buf });
        Slice { buf, at: vec![] }
    }

    /// Sizes, compound sizes, depth and the leaves of the arguments.
    pub(super) fn arguments(&mut self, d: &Def, sizes: &[Size], args: &[Tm]) -> Result<Given, Error> {
        let mut values = vec![];
        for t in args {
            values.push(self.eval(t)?);
        }
        let here = d.sizes.iter().cloned().zip(sizes.iter().cloned()).collect();
        let mut given = Given { passed: vec![], here };
        for (x, v) in d.params.iter().zip(&values) {
            if x.ty == Type::Int {
                let k = self.supply.fresh(x.var.name.clone());
                self.bind(&k, v.clone(), &Type::Int);
                given.here.insert(x.var.clone(), Size::var(k));
            }
        }
        for n in sizes {
            given.passed.push(Argument::Scalar(self.size(n)));
        }
        let compound = given.shape(self, &compound_sizes(d))?;
        given.passed.extend(compound.into_iter().map(Argument::Scalar));
        given.passed.push(Argument::Scalar(self.depth.unwrap_or(Operand::Int(0))));
        for v in &values {
            self.pass(v, &mut given.passed)?;
        }
        Ok(given)
    }

    /// The leaves of a value as arguments that are read.
    pub(super) fn pass(&mut self, v: &Ev, passed: &mut Vec<Argument>) -> Result<(), Error> {
        match v {
            Ev::Scalar(o) => passed.push(Argument::Scalar(*o)),
            Ev::Tuple(vs) => vs.iter().try_for_each(|v| self.pass(v, passed))?,
            Ev::Slice(s) if self.rest(s).is_empty() => passed.push(Argument::Scalar(self.load(s))),
            Ev::Slice(s) if s.at.is_empty() => passed.push(Argument::In(s.buf)),
            Ev::Slice(s) => {
                let (elem, shape) = (self.proc.info(s.buf).elem, self.rest(s).to_vec());
                let copy = self.local("part", elem, shape);
                self.copy(v, &Ev::Slice(copy.clone()))?;
                passed.push(Argument::In(copy.buf));
            }
        }
        Ok(())
    }
}

/// The arguments of a call so far, and what the callee's sizes are here.
pub(super) struct Given {
    pub passed: Vec<Argument>,
    here: HashMap<Var, Size>,
}

impl Given {
    /// The callee's sizes as ints of the caller.
    pub fn shape(&self, e: &mut Emitter, sizes: &[Size]) -> Result<Vec<Operand>, Error> {
        let mut out = vec![];
        for n in sizes {
            let n = n.subst(&|v| self.here.get(v).cloned());
            let n = n.ok_or_else(|| {
                Error::unsupported("a size beyond 64 bits, or a polynomial with too many terms")
            })?;
            out.push(e.size(&n));
        }
        Ok(out)
    }

    /// The buffer is passed already.
    pub fn names(&self, buf: Buf) -> bool {
        self.passed.iter().any(|a| match a {
            Argument::Scalar(_) => false,
            Argument::In(b) | Argument::Out(b) | Argument::Acc(b) => *b == buf,
        })
    }
}

/// The places of the leaves of a value, in order.
fn parts(place: &Ev) -> Vec<Option<Slice>> {
    match place {
        Ev::Scalar(_) => vec![None],
        Ev::Slice(s) => vec![Some(s.clone())],
        Ev::Tuple(vs) => vs.iter().flat_map(parts).collect(),
    }
}
