//! Branches with results: scalars are results of the `if`, arrays are stored into buffers made before it.

use super::place::Ev;
use super::update::others;
use super::{Emitter, Error};
use lang::core::{Term, Tm};
use lang::loops::{Operand, Val};
use lang::prim::Scalar;
use lang::types::Type;

impl Emitter<'_> {
    /// Two arms with results: scalars are results of the `if`, arrays are stored into their places.
    pub(super) fn if_into(&mut self, c: Operand, a: &Tm, b: &Tm, result: Ev) -> Result<Ev, Error> {
        let mut dsts = vec![];
        scalars(&result, &mut dsts);
        let arm = |e: &mut Self, t: &Tm| -> Result<_, Error> {
            e.open_arm();
            let mut values = vec![];
            e.arm(t, &result, &mut values)?;
            Ok((e.close_arm(), values))
        };
        let (then, tv) = arm(self, a)?;
        let (els, ev) = arm(self, b)?;
        let results = dsts.iter().zip(tv.iter().zip(&ev)).map(|(d, (t, e))| (*d, *t, *e)).collect();
        self.join_arms(c, then, els, results);
        Ok(result)
    }

    /// A value whose scalars are new variables and whose arrays are new buffers.
    pub(super) fn arm_results(&mut self, ty: &Type, name: &str) -> Result<Ev, Error> {
        let scalar = |e: &mut Self, s| Ok(Ev::Scalar(Operand::Val(e.val(s, name))));
        match ty {
            Type::Real => scalar(self, Scalar::Real),
            Type::Int => scalar(self, Scalar::Int),
            Type::Bool => scalar(self, Scalar::Bool),
            Type::Tuple(ts) => {
                Ok(Ev::Tuple(ts.iter().map(|t| self.arm_results(t, name)).collect::<Result<_, _>>()?))
            }
            Type::Array(..) => self.alloc(ty, name),
            Type::Sum(_) | Type::Fun(..) | Type::Param(_) | Type::Lin(..) => Err(Error::function_survives()),
        }
    }

    /// One arm: arrays into the buffers, scalars in order into `values`.
    pub(super) fn arm(&mut self, t: &Tm, result: &Ev, values: &mut Vec<Operand>) -> Result<(), Error> {
        match (&**t, result) {
            (Term::Let(..), _) => self.with_spare(self.spare.clone(), |e| {
                let t = e.lets(t)?;
                e.arm(&t, result, values)
            }),
            (Term::Tuple(ts), Ev::Tuple(rs)) => {
                for (i, (t, r)) in ts.iter().zip(rs).enumerate() {
                    let spare = self.spare_beside(others(ts, i));
                    self.with_spare(spare, |e| e.arm(t, r, values))?;
                }
                Ok(())
            }
            (Term::Update { .. }, _) => self.put(t, result),
            (Term::Unread(_), _) => {
                let mut dsts = vec![];
                scalars(result, &mut dsts);
                values.extend(dsts.iter().map(|d| Self::zero_of(self.proc.vals[d.0 as usize].0)));
                Ok(())
            }
            (_, Ev::Slice(_)) => self.put(t, result),
            (_, Ev::Scalar(_) | Ev::Tuple(_)) => {
                let ev = self.eval(t)?;
                self.arm_value(&ev, result, values)
            }
        }
    }

    pub(super) fn arm_value(&mut self, ev: &Ev, result: &Ev, values: &mut Vec<Operand>) -> Result<(), Error> {
        match (ev, result) {
            (Ev::Scalar(o), Ev::Scalar(_)) => {
                values.push(*o);
                Ok(())
            }
            (Ev::Tuple(vs), Ev::Tuple(rs)) => {
                vs.iter().zip(rs).try_for_each(|(v, r)| self.arm_value(v, r, values))
            }
            _ => self.copy(ev, result),
        }
    }
}

/// The variables of a value's scalars, in order.
fn scalars(ev: &Ev, out: &mut Vec<Val>) {
    match ev {
        Ev::Scalar(Operand::Val(v)) => out.push(*v),
        Ev::Scalar(_) | Ev::Slice(_) => {}
        Ev::Tuple(vs) => vs.iter().for_each(|v| scalars(v, out)),
    }
}
