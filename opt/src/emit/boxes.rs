//! What outlives the call that made it lies in the region. A box is an array of ints there, its handle the box's: the handle of the reals
//! of the value, those of its arrays, and its ints and bools.

use super::place::{Ev, Slice};
use super::{Emitter, Error};
use lang::core::Tm;
use lang::diag::{Failure, Site};
use lang::leaves::{Leaf, leaves};
use lang::loops::{BufInfo, BufKind, Op, Operand, Stmt};
use lang::prim::Scalar;
use lang::types::Type;

impl Emitter<'_> {
    /// box t
    pub(super) fn boxed(&mut self, t: &Tm) -> Result<Ev, Error> {
        let ty = self.type_of(t);
        let value = self.eval(t)?;
        let mut parts = vec![];
        flatten(&value, &mut parts);
        let (mut reals, mut ints, mut handles) = (vec![], vec![], vec![]);
        for (leaf, part) in leaves(&ty).ok_or_else(Error::function_survives)?.into_iter().zip(parts) {
            match (part, leaf.scalar) {
                (Ev::Slice(s), _) if !leaf.shape.is_empty() => {
                    let shape = self.rest(&s).to_vec();
                    let (kept, handle) = self.reserve(leaf.scalar, shape);
                    self.copy(&Ev::Slice(s), &Ev::Slice(kept))?;
                    handles.push(handle);
                }
                (part, Scalar::Real) => reals.push(self.value_at(&part).scalar()),
                (part, Scalar::Int) => ints.push(self.value_at(&part).scalar()),
                (part, Scalar::Bool) => {
                    let b = self.value_at(&part).scalar();
                    ints.push(self.op(Op::Select, &[b, Operand::Int(1), Operand::Int(0)], Scalar::Int, "b"));
                }
            }
        }
        if !reals.is_empty() {
            let handle = self.keep_all(Scalar::Real, &reals);
            handles.insert(0, handle);
        }
        handles.extend(ints);
        Ok(Ev::Scalar(match &handles[..] {
            [] => Operand::Int(0),
            _ => self.keep_all(Scalar::Int, &handles),
        }))
    }

    /// unbox[τ] h
    pub(super) fn unboxed(&mut self, ty: &Type, h: &Tm, name: &str) -> Result<Ev, Error> {
        let handle = self.operand(h)?;
        let all = leaves(ty).ok_or_else(Error::function_survives)?;
        let count = |p: &dyn Fn(&Leaf) -> bool| all.iter().filter(|l| p(l)).count() as i64;
        let reals = count(&|l| l.shape.is_empty() && l.scalar == Scalar::Real);
        let arrays = count(&|l| !l.shape.is_empty());
        let ints = count(&|l| l.shape.is_empty() && l.scalar != Scalar::Real);
        let first = i64::from(reals > 0);
        if first + arrays + ints == 0 {
            return Ok(Ev::assemble(ty, &mut std::iter::empty()));
        }
        let words = self.shown(Scalar::Int, vec![Operand::Int(first + arrays + ints)], handle, "kept");
        let scalars = match first {
            0 => None,
            _ => {
                let at = self.load(&words.at(Operand::Int(0)));
                Some(self.shown(Scalar::Real, vec![Operand::Int(reals)], at, "kept"))
            }
        };
        let (mut real, mut array, mut int) = (0, first, first + arrays);
        let mut parts = vec![];
        for leaf in all {
            let next = |k: &mut i64| {
                *k += 1;
                Operand::Int(*k - 1)
            };
            parts.push(match (leaf.shape.is_empty(), leaf.scalar, &scalars) {
                (false, elem, _) => {
                    let at = self.load(&words.at(next(&mut array)));
                    let shape = leaf.shape.iter().map(|n| self.size(n)).collect();
                    Ev::Slice(self.shown(elem, shape, at, name))
                }
                (true, Scalar::Real, Some(scalars)) => Ev::Scalar(self.load(&scalars.at(next(&mut real)))),
                (true, Scalar::Bool, _) => {
                    let k = self.load(&words.at(next(&mut int)));
                    Ev::Scalar(self.op(Op::INe, &[k, Operand::Int(0)], Scalar::Bool, name))
                }
                (true, Scalar::Int | Scalar::Real, _) => Ev::Scalar(self.load(&words.at(next(&mut int)))),
            });
        }
        Ok(Ev::assemble(ty, &mut parts.into_iter()))
    }

    fn keep_all(&mut self, elem: Scalar, values: &[Operand]) -> Operand {
        let (kept, handle) = self.reserve(elem, vec![Operand::Int(values.len() as i64)]);
        for (k, value) in values.iter().enumerate() {
            self.store(&kept.at(Operand::Int(k as i64)), *value);
        }
        handle
    }

    fn reserve(&mut self, elem: Scalar, shape: Vec<Operand>) -> (Slice, Operand) {
        let site = Site { def: lang::name::source(&self.proc.name).into(), span: Default::default() };
        let failure = self.failure(&Failure::RegionFull, &site);
        let buf = self.proc.buf(BufInfo { name: "kept".into(), elem, shape, kind: BufKind::Kept });
        let dst = self.proc.val(Scalar::Int, "h");
        self.push(Stmt::Reserve { dst, buf, failure });
        (Slice { buf, at: vec![] }, Operand::Val(dst))
    }

    fn shown(&mut self, elem: Scalar, shape: Vec<Operand>, handle: Operand, name: &str) -> Slice {
        let buf = self.proc.buf(BufInfo { name: name.into(), elem, shape, kind: BufKind::View });
        self.push(Stmt::View { buf, handle });
        Slice { buf, at: vec![] }
    }
}

/// The parts of a value, one per leaf of its type.
fn flatten(ev: &Ev, out: &mut Vec<Ev>) {
    match ev {
        Ev::Tuple(vs) => vs.iter().for_each(|v| flatten(v, out)),
        Ev::Scalar(_) | Ev::Slice(_) => out.push(ev.clone()),
    }
}
