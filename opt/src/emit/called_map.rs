//! The procedure of a linear map that a call gives (f_bwd of chad.md §7), and emit(f h • s, d): cotangents in, what it adds to
//! destinations. Scalars come back and are added; an array is added to in place where it is the whole of a buffer that the call
//! gets only once, otherwise in a zeroed buffer of its own that is added afterwards.

use super::apply::lv_of;
use super::place::{Dst, Ev, Lv, Slice};
use super::{Emitter, Error};
use lang::core::{Def, Term, Tm};
use lang::leaves::leaves;
use lang::loops::{Argument, BufInfo, BufKind, Op, Operand, Param, Stmt};
use lang::prim::Scalar;
use lang::target::Lin;
use lang::types::{LType, Type};

impl Emitter<'_> {
    /// The body of the procedure: parameters for what comes in, and for what is added to.
    pub(super) fn linear_body(&mut self, def: &Def, from: &LType, to: &LType) -> Result<(), Error> {
        let Term::LinLam(z, body) = &*def.body else {
            return Err(Error::bug(format!("{} is no linear map at emission", def.name)));
        };
        let (from, to) = (erased(from)?, erased(to)?);
        let w = self.parameter(&from, &"w".into())?;
        let mut outs = vec![];
        for (k, leaf) in leaves(&to).ok_or_else(Error::function_survives)?.into_iter().enumerate() {
            let shape: Vec<Operand> = leaf.shape.iter().map(|n| self.size(n)).collect();
            let kind = if shape.is_empty() { BufKind::Out } else { BufKind::Acc };
            let name = format!("out{k}").into();
            let buf = self.proc.buf(BufInfo { name, elem: leaf.scalar, shape, kind });
            self.proc.params.push(Param::Array(buf));
            outs.push(Slice { buf, at: vec![] });
        }
        let place = Ev::from_leaves(&to, &mut outs.into_iter());
        self.occurrences.note(body);
        self.lins.insert(z.var.clone(), lv_of(&w));
        self.scope.bind_lin(&z.var, &z.ty);
        let dst = self.dst_of(&place);
        // The caller has written what is added to.
        self.mark_written(&dst);
        self.emit(body, &dst)?;
        self.finish(&dst, &place)?;
        Ok(())
    }

    /// emit(f h • s, d) for a definition f of a linear map
    pub(super) fn emit_called(&mut self, map: &Tm, s: &Lin, d: &Dst) -> Result<(), Error> {
        let Term::Call { def, args, .. } = &**map else {
            return Err(Error::bug("a linear map that is not known at emission"));
        };
        let (callee, f) = self.callee(def)?;
        let Type::Lin(from, to) = &f.result else { return Err(Error::bug("the call of no linear map")) };
        let (from, to) = (erased(from)?, erased(to)?);
        let w = self.val_of(s)?;
        let mut given = vec![];
        cotangents(&from, &w, &mut given)?;
        // A cotangent that never arrived does not set out either.
        let mut guard = Some(Operand::Bool(false));
        for v in &given {
            guard = match (guard, v) {
                (g, Lv::Zero | Lv::Shared) => g,
                (Some(Operand::Bool(false)), Lv::Scalar(_, Some(h))) => Some(*h),
                (Some(g), Lv::Scalar(_, Some(h))) => Some(self.op(Op::BOr, &[g, *h], Scalar::Bool, "g")),
                (_, Lv::Scalar(..) | Lv::Slice(_) | Lv::Tuple(_)) => None,
            };
        }
        self.settle(d)?;
        match guard {
            Some(Operand::Bool(false)) => Ok(()),
            None => self.call_map(callee, &f, args, &from, &to, given, d),
            Some(cond) => {
                self.open_arm();
                self.call_map(callee, &f, args, &from, &to, given, d)?;
                let then = self.close_arm();
                self.open_arm();
                let els = self.close_arm();
                self.join_arms(cond, then, els, vec![]);
                Ok(())
            }
        }
    }

    fn call_map(
        &mut self,
        callee: usize,
        f: &Def,
        args: &[Tm],
        from: &Type,
        to: &Type,
        cotangents: Vec<Lv>,
        d: &Dst,
    ) -> Result<(), Error> {
        let mut given = self.arguments(f, &[], args)?;
        for (leaf, v) in leaves(from).ok_or_else(Error::function_survives)?.into_iter().zip(cotangents) {
            match v {
                Lv::Scalar(x, _) => given.passed.push(Argument::Scalar(x)),
                Lv::Slice(s) => self.pass(&Ev::Slice(s), &mut given.passed)?,
                Lv::Zero | Lv::Shared if leaf.shape.is_empty() => {
                    given.passed.push(Argument::Scalar(Operand::Real(0.0)));
                }
                Lv::Zero | Lv::Shared => {
                    let shape = given.shape(self, &leaf.shape)?;
                    let zero = self.zeroed("w", shape);
                    given.passed.push(Argument::In(zero.buf));
                }
                Lv::Tuple(_) => return Err(Error::bug("a cotangent's leaf is no tuple")),
            }
        }
        let mut parts = vec![];
        destinations(to, d, &mut parts)?;
        let mut after = vec![];
        for (leaf, part) in leaves(to).ok_or_else(Error::function_survives)?.into_iter().zip(parts) {
            if leaf.shape.is_empty() {
                let out = self.local("d", Scalar::Real, vec![]);
                given.passed.push(Argument::Out(out.buf));
                after.push((out, part));
                continue;
            }
            match part {
                Dst::Slice(s, _) if s.at.is_empty() && !given.names(s.buf) => {
                    given.passed.push(Argument::Acc(s.buf));
                }
                part => {
                    let shape = given.shape(self, &leaf.shape)?;
                    let own = self.zeroed("d", shape);
                    given.passed.push(Argument::Acc(own.buf));
                    after.push((own, part));
                }
            }
        }
        self.push(Stmt::Call { callee, args: given.passed });
        for (from, part) in after {
            match part {
                Dst::Null => {}
                part if self.rest(&from).is_empty() => {
                    let x = self.load(&from);
                    self.add(&Lv::Scalar(x, None), &part)?;
                }
                part => self.add(&Lv::Slice(from), &part)?,
            }
        }
        Ok(())
    }

    fn zeroed(&mut self, name: &str, shape: Vec<Operand>) -> Slice {
        let s = self.local(name, Scalar::Real, shape);
        self.push(Stmt::Fill { buf: s.buf, value: Operand::Real(0.0) });
        s
    }
}

fn erased(t: &LType) -> Result<Type, Error> {
    t.erase().ok_or_else(Error::function_survives)
}

/// The type's components, where its leaves lie apart.
fn components(ty: &Type) -> Option<Vec<Type>> {
    match ty {
        Type::Tuple(ts) => Some(ts.to_vec()),
        Type::Array(n, t) => Some(components(t)?.into_iter().map(|t| Type::array(n.clone(), t)).collect()),
        Type::Real | Type::Int | Type::Bool => None,
        Type::Sum(_) | Type::Fun(..) | Type::Param(_) | Type::Lin(..) => None,
    }
}

/// A linear value as one per leaf.
fn cotangents(ty: &Type, v: &Lv, out: &mut Vec<Lv>) -> Result<(), Error> {
    let Some(ts) = components(ty) else {
        out.push(v.clone());
        return Ok(());
    };
    for (k, t) in ts.iter().enumerate() {
        match v {
            Lv::Tuple(vs) => cotangents(t, &vs[k], out)?,
            Lv::Zero | Lv::Shared => cotangents(t, v, out)?,
            Lv::Scalar(..) | Lv::Slice(_) => return Err(Error::bug("a linear value does not fit its type")),
        }
    }
    Ok(())
}

/// A destination as one per leaf.
fn destinations(ty: &Type, d: &Dst, out: &mut Vec<Dst>) -> Result<(), Error> {
    let Some(ts) = components(ty) else {
        out.push(d.clone());
        return Ok(());
    };
    for (k, t) in ts.iter().enumerate() {
        match d {
            Dst::Tuple(ds) => destinations(t, &ds[k], out)?,
            Dst::Null => destinations(t, d, out)?,
            Dst::Cell(_) | Dst::Slice(..) => return Err(Error::bug("a destination does not fit its type")),
        }
    }
    Ok(())
}
