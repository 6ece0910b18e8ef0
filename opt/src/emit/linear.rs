//! Emission of linear terms: one arm per equation of chad.md §7.

use super::alias::as_path;
use super::place::{Dst, Lv};
use super::put::put;
use super::{Emitter, Error};
use lang::loops::{Op, Operand, Parallel};
use lang::prim::Scalar;
use lang::target::{Lin, LinTerm};
use lang::types::LType;

impl Emitter<'_> {
    /// d += ⟦t⟧
    pub fn emit(&mut self, t: &Lin, d: &Dst) -> Result<(), Error> {
        if is_null(d) {
            return Ok(());
        }
        match &**t {
            // emit(0̲, d) = nothing
            LinTerm::Zero(_) => Ok(()),
            // emit(z̲, d) = d += z
            LinTerm::Var(_) => {
                let v = self.read(t)?;
                self.add(&v, d)
            }
            // emit(t + s, d) = emit(t, d); emit(s, d)
            LinTerm::Plus(a, b) => {
                if self.emit_literal(t, d)? {
                    return Ok(());
                }
                self.emit(a, d)?;
                self.emit(b, d)
            }
            // emit(⟨t1, …⟩, (d1, …)) = emit(t1, d1); …
            LinTerm::Tuple(ts) => match d {
                Dst::Tuple(ds) => ts.iter().zip(ds).try_for_each(|(t, d)| self.emit(t, d)),
                Dst::Null | Dst::Cell(_) | Dst::Slice(..) => Err(Error::bug("a tuple into no tuple")),
            },
            // emit(t.i, d) = emit(t, (⊥, …, d, …, ⊥)); a path is read
            LinTerm::Proj(s, i) => {
                if crate::normalise::linear::is_path(t) {
                    let v = self.read(t)?;
                    return self.add(&v, d);
                }
                let LType::Tuple(ts) = self.type_of_lin(s) else {
                    return Err(Error::bug("projection of no tuple"));
                };
                let ds = (0..ts.len()).map(|k| if k == *i { d.clone() } else { Dst::Null }).collect();
                self.emit(s, &Dst::Tuple(ds))
            }
            // emit(coproj_i t, d) = emit(t, d.i)
            LinTerm::Coproj { up, term, .. } => {
                let slot = env_dst(d, *up)?;
                self.emit(term, &slot)
            }
            LinTerm::EnvProj { .. } => {
                let v = self.read(t)?;
                self.add(&v, d)
            }
            // emit(lop(a; s), d) = d += lop(a; val s)
            LinTerm::Scale(..) => {
                let v = self.val_of(t)?;
                self.add(&v, d)
            }
            // emit(let z̲ = s in t, d) = z := fresh 0; emit(s, z); emit(t, d), or z is a part of d (alias)
            LinTerm::Let(z, s, t) => {
                self.bind_linear(z, s, Some((t, d)))?;
                self.emit(t, d)
            }
            // Cartesian let, if: around
            LinTerm::CLet(x, a, t) => {
                let ev = self.eval(a)?;
                self.bind(&x.var, ev, &x.ty);
                self.emit(t, d)
            }
            LinTerm::If(c, a, b) => {
                let c = self.eval(c)?.scalar();
                self.hole(d);
                let (mut fresh, mut flags) = (vec![], vec![]);
                self.flags(d, &mut flags);
                fresh.extend(flags.iter().map(|f| self.fresh[*f]));
                // What neither arm has written yet is written in both.
                let arm = |e: &mut Self, t: &Lin| -> Result<_, Error> {
                    flags.iter().zip(&fresh).for_each(|(f, is)| e.fresh[*f] = *is);
                    e.open_arm();
                    e.emit(t, d)?;
                    e.settle(d)?;
                    Ok(e.close_arm())
                };
                let then = arm(self, a)?;
                let els = arm(self, b)?;
                self.join_arms(c, then, els, vec![]);
                Ok(())
            }
            // emit(build n (i. t), d) = for i { emit(t, d[i]) }
            LinTerm::Build { index, bound, body } => {
                // The array is here already but for one element.
                if let Dst::Slice(s, _) = d
                    && let Some(p) = put(t)
                    && as_path(&p.array).is_some()
                    && matches!(self.read(&p.array)?, Lv::Slice(from) if from == *s)
                {
                    return self.put_in_place(&p, s);
                }
                let n = self.size(bound);
                let whole = d.clone();
                self.for_loop(&index.name, n, false, Parallel::Yes, |e, i| {
                    e.bind_index(index, i, bound);
                    let (element, parts) = e.element(&whole, i);
                    e.emit(body, &element)?;
                    e.close_element(&element, &parts)?;
                    Ok(vec![])
                })?;
                self.mark_written(d);
                Ok(())
            }
            // emit(t[i], d): t is read at i
            LinTerm::Index(..) => {
                let v = self.val_of(t)?;
                self.add(&v, d)
            }
            // emit(onehot_i t, d) = emit(t, d[i])
            LinTerm::OneHot { index, term, .. } => {
                self.settle(d)?;
                let i = self.eval(index)?.scalar();
                let (element, parts) = self.element(d, i);
                self.emit(term, &element)?;
                self.close_element(&element, &parts)
            }
            // emit(Σ_i t, d) = for i { emit(t, d) }
            LinTerm::Sum { index, bound, body } => {
                let n = self.size(bound);
                self.settle(d)?;
                self.for_loop(&index.name, n, false, Parallel::Yes, |e, i| {
                    e.bind_index(index, i, bound);
                    e.emit(body, d)?;
                    Ok(vec![])
                })?;
                self.filled(body, index, bound, d);
                Ok(())
            }
            LinTerm::Loop { direction, state, init, index, bound, body } => {
                let n = self.size(bound);
                self.linear_loop(*direction, state, init, index, n, body, d)
            }
            // emit(f h • s, d): a call
            LinTerm::App(l, s) => self.emit_called(l, s, d),
            LinTerm::Power(..) | LinTerm::PowerApp(..) | LinTerm::Tensor(..) | LinTerm::TensorElim { .. } => {
                Err(Error::function_survives())
            }
            LinTerm::Case(..) | LinTerm::Inject(..) | LinTerm::SumElim(..) | LinTerm::FromInject(..) => {
                Err(Error::unsupported("the derivative of a sum type"))
            }
        }
    }

    /// val(t): the value of a term, in registers where it is a scalar.
    pub(super) fn val_of(&mut self, t: &Lin) -> Result<Lv, Error> {
        match &**t {
            LinTerm::Zero(_) => Ok(Lv::Zero),
            LinTerm::Var(_) | LinTerm::EnvProj { .. } => self.read(t),
            LinTerm::Proj(..) if crate::normalise::linear::is_path(t) => self.read(t),
            LinTerm::Scale(a, s) => match self.val_of(s)? {
                Lv::Scalar(x, guard) => {
                    let a = self.eval(a)?.scalar();
                    let y = match (a, x) {
                        (Operand::Real(1.0), x) => return Ok(Lv::Scalar(x, guard)),
                        (a, Operand::Real(1.0)) => a,
                        (Operand::Real(-1.0), x) => self.op(Op::FNeg, &[x], Scalar::Real, "t"),
                        (a, x) => self.op(Op::FMul, &[a, x], Scalar::Real, "t"),
                    };
                    // A structural zero does not meet the partial.
                    let y = match guard {
                        None => y,
                        Some(g) => self.op(Op::Select, &[g, y, Operand::Real(0.0)], Scalar::Real, "t"),
                    };
                    Ok(Lv::Scalar(y, guard))
                }
                Lv::Zero => Ok(Lv::Zero),
                Lv::Slice(_) | Lv::Tuple(_) | Lv::Shared => Err(Error::bug("scaling of what is no scalar")),
            },
            LinTerm::Index(s, i) => {
                let v = self.val_of(s)?;
                let i = self.eval(i)?.scalar();
                self.lv_at(&v, i)
            }
            LinTerm::Let(z, s, t) => {
                self.bind_linear(z, s, None)?;
                self.val_of(t)
            }
            LinTerm::CLet(x, a, t) => {
                let ev = self.eval(a)?;
                self.bind(&x.var, ev, &x.ty);
                self.val_of(t)
            }
            LinTerm::Tuple(ts) => Ok(Lv::Tuple(ts.iter().map(|t| self.val_of(t)).collect::<Result<_, _>>()?)),
            LinTerm::Plus(..)
            | LinTerm::Proj(..)
            | LinTerm::Coproj { .. }
            | LinTerm::If(..)
            | LinTerm::Build { .. }
            | LinTerm::OneHot { .. }
            | LinTerm::Sum { .. }
            | LinTerm::Loop { .. }
            | LinTerm::App(..)
            | LinTerm::Power(..)
            | LinTerm::PowerApp(..)
            | LinTerm::Tensor(..)
            | LinTerm::TensorElim { .. }
            | LinTerm::Case(..)
            | LinTerm::Inject(..)
            | LinTerm::SumElim(..)
            | LinTerm::FromInject(..) => {
                let ty = self.type_of_lin(t);
                let dst = self.fresh_dst(&ty, &[], None, &mut vec![], "t")?;
                self.emit(t, &dst)?;
                Ok(self.freeze(&dst, &[], &mut vec![]))
            }
        }
    }

    /// The value of a path.
    pub(super) fn read(&mut self, t: &Lin) -> Result<Lv, Error> {
        match &**t {
            LinTerm::Var(z) => match self.lins.get(z) {
                Some(v) => Ok(v.clone()),
                None => Err(Error::bug(format!("linear {z:?} is not in scope at emission"))),
            },
            LinTerm::Proj(t, i) => Ok(match self.read(t)? {
                Lv::Tuple(vs) => vs[*i].clone(),
                other @ (Lv::Zero | Lv::Shared) => other,
                Lv::Scalar(..) | Lv::Slice(_) => return Err(Error::bug("projection of no tuple")),
            }),
            LinTerm::Index(t, i) => {
                let v = self.read(t)?;
                let i = self.eval(i)?.scalar();
                self.lv_at(&v, i)
            }
            LinTerm::EnvProj { up, term } => {
                let mut v = self.val_of(term)?;
                for k in std::iter::repeat_n(0, *up).chain([1]) {
                    v = match v {
                        Lv::Tuple(vs) => vs[k].clone(),
                        other @ (Lv::Zero | Lv::Shared) => other,
                        Lv::Scalar(..) | Lv::Slice(_) => return Err(Error::bug("slot of no environment")),
                    };
                }
                Ok(v)
            }
            _ => Err(Error::bug("not a path")),
        }
    }

    pub(super) fn lv_at(&mut self, v: &Lv, i: Operand) -> Result<Lv, Error> {
        Ok(match v {
            Lv::Zero | Lv::Shared => v.clone(),
            Lv::Slice(s) => {
                let s = s.at(i);
                if !self.rest(&s).is_empty() {
                    return Ok(Lv::Slice(s));
                }
                let x = self.load(&s);
                self.loaded(s.buf, x)
            }
            Lv::Tuple(vs) => Lv::Tuple(vs.iter().map(|v| self.lv_at(v, i)).collect::<Result<_, _>>()?),
            Lv::Scalar(..) => return Err(Error::bug("element of a scalar")),
        })
    }

    /// d += a complete value.
    pub(super) fn add(&mut self, v: &Lv, d: &Dst) -> Result<(), Error> {
        match (v, d) {
            (Lv::Zero | Lv::Shared, _) | (_, Dst::Null) => Ok(()),
            (Lv::Scalar(x, guard), Dst::Cell(c)) => {
                self.cell_add(*c, *x, *guard);
                Ok(())
            }
            (Lv::Scalar(x, guard), Dst::Slice(s, fresh)) => {
                if guard.is_some() {
                    self.hole(d);
                }
                if std::mem::take(&mut self.fresh[*fresh]) {
                    self.store(s, *x);
                } else {
                    self.accum(s, *x);
                }
                Ok(())
            }
            (Lv::Tuple(vs), Dst::Tuple(ds)) => vs.iter().zip(ds).try_for_each(|(v, d)| self.add(v, d)),
            // What stays in place is there already.
            (Lv::Slice(from), Dst::Slice(to, _)) if from == to => Ok(()),
            (Lv::Slice(from), Dst::Slice(to, fresh)) => {
                let n = self.rest(from)[0];
                let (from, to) = (from.clone(), to.clone());
                let (source, target) = (from.clone(), to.clone());
                let first = self.fresh[*fresh];
                self.for_loop("i", n, false, Parallel::Yes, |e, i| {
                    let part = e.lv_at(&Lv::Slice(source), i)?;
                    let flag = e.fresh_flag();
                    e.fresh[flag] = first;
                    e.add(&part, &Dst::Slice(target.at(i), flag))?;
                    Ok(vec![])
                })?;
                self.fresh[*fresh] = false;
                if self.is_full(&from) {
                    self.fill(&to);
                }
                Ok(())
            }
            _ => Err(Error::bug("a linear value does not fit its destination")),
        }
    }

    pub(super) fn type_of_lin(&mut self, t: &Lin) -> LType {
        lang::typing::type_of_lin(t, &mut self.scope, self.program)
    }
}

fn is_null(d: &Dst) -> bool {
    match d {
        Dst::Null => true,
        Dst::Tuple(ds) => ds.iter().all(is_null),
        Dst::Cell(_) | Dst::Slice(..) => false,
    }
}

/// The slot of an environment destination with `up` binders above it.
fn env_dst(d: &Dst, up: usize) -> Result<Dst, Error> {
    match d {
        Dst::Null => Ok(Dst::Null),
        Dst::Tuple(ds) if ds.len() == 2 && up == 0 => Ok(ds[1].clone()),
        Dst::Tuple(ds) if ds.len() == 2 => env_dst(&ds[0], up - 1),
        Dst::Tuple(_) | Dst::Cell(_) | Dst::Slice(..) => {
            Err(Error::bug("an environment destination is pairs"))
        }
    }
}
