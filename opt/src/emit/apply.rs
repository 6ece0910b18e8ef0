//! A known linear map applied to a Cartesian value: where the two judgements meet.

use super::place::{Dst, Ev, Lv, Slice};
use super::{Emitter, Error};
use lang::core::{Term, Tm};
use lang::loops::Operand;
use lang::types::Type;

impl Emitter<'_> {
    /// L • a for a known map: a into the linear variable, the result into a fresh destination.
    pub(super) fn lin_app(&mut self, t: &Tm, ty: &Type, place: Option<&Ev>, name: &str) -> Result<Ev, Error> {
        let Term::LinApp(map, arg) = &**t else { return Err(Error::bug("not an application")) };
        let Term::LinLam(z, body) = &**map else {
            return Err(Error::bug("a linear map that is not known at emission"));
        };
        let arg = self.eval(arg)?;
        self.occurrences.note(body);
        let lv = lv_of(&arg);
        self.lins.insert(z.var.clone(), lv);
        self.scope.bind_lin(&z.var, &z.ty);
        let place = match place {
            Some(p) => p.clone(),
            None => self.result_place(ty, name)?,
        };
        let dst = self.dst_of(&place);
        self.emit(body, &dst)?;
        self.finish(&dst, &place)
    }

    /// Where a linear result goes: arrays into buffers, scalars into cells.
    pub(super) fn result_place(&mut self, ty: &Type, name: &str) -> Result<Ev, Error> {
        match ty {
            Type::Real | Type::Int | Type::Bool => Ok(Ev::Scalar(Operand::Real(0.0))),
            Type::Tuple(ts) => {
                Ok(Ev::Tuple(ts.iter().map(|t| self.result_place(t, name)).collect::<Result<_, _>>()?))
            }
            Type::Array(..) => self.alloc(ty, name),
            Type::Sum(_) | Type::Fun(..) | Type::Param(_) | Type::Lin(..) => Err(Error::function_survives()),
        }
    }

    pub(super) fn dst_of(&mut self, place: &Ev) -> Dst {
        match place {
            Ev::Scalar(_) => Dst::Cell(self.new_cell()),
            Ev::Slice(s) if self.rest(s).is_empty() => Dst::Cell(self.new_cell()),
            Ev::Slice(s) => {
                let fresh = self.fresh_flag();
                Dst::Slice(s.clone(), fresh)
            }
            Ev::Tuple(vs) => Dst::Tuple(vs.iter().map(|v| self.dst_of(v)).collect()),
        }
    }

    /// Ends a destination: what was never written is zero, cells are values (stored where the place is an element).
    pub(super) fn finish(&mut self, dst: &Dst, place: &Ev) -> Result<Ev, Error> {
        Ok(match (dst, place) {
            (Dst::Cell(c), place) => {
                let o = self.cells[*c].value.unwrap_or(Operand::Real(0.0));
                if let Ev::Slice(s) = place {
                    self.store(s, o);
                }
                Ev::Scalar(o)
            }
            (Dst::Tuple(ds), Ev::Tuple(ps)) => {
                let parts: Result<Vec<Ev>, Error> =
                    ds.iter().zip(ps).map(|(d, p)| self.finish(d, p)).collect();
                Ev::Tuple(parts?)
            }
            (dst, place) => {
                self.settle(dst)?;
                place.clone()
            }
        })
    }
}

/// A Cartesian value as a complete linear one.
pub(super) fn lv_of(ev: &Ev) -> Lv {
    match ev {
        Ev::Scalar(o) => Lv::Scalar(*o, None),
        Ev::Slice(s) => Lv::Slice(Slice { buf: s.buf, at: s.at.clone() }),
        Ev::Tuple(vs) => Lv::Tuple(vs.iter().map(lv_of).collect()),
    }
}
