//! Emission of linear terms: one arm per equation of chad.md §7.

use super::alias;
use super::place::{Dst, Ev, Lv, Slice};
use super::{Emitter, Error};
use lang::loops::{Carried, CarriedKind, Op, Operand, Parallel, Stmt};
use lang::prim::Scalar;
use lang::target::{Direction, LBinder, Lin, LinTerm};
use lang::types::{LType, Type};

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
                self.settle(d)?;
                self.open_arm();
                self.emit(a, d)?;
                let then = self.close_arm();
                self.open_arm();
                self.emit(b, d)?;
                let els = self.close_arm();
                self.join_arms(c, then, els, vec![]);
                Ok(())
            }
            // emit(build n (i. t), d) = for i { emit(t, d[i]) }
            LinTerm::Build { index, bound, body } => {
                let n = self.size(bound);
                let whole = d.clone();
                self.for_loop(&index.name, n, false, Parallel::Yes, |e, i| {
                    e.bind(index, Ev::Scalar(i), &Type::Int);
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
                    e.bind(index, Ev::Scalar(i), &Type::Int);
                    e.emit(body, d)?;
                    Ok(vec![])
                })
            }
            LinTerm::Loop { direction, state, init, index, bound, body } => {
                let n = self.size(bound);
                self.linear_loop(*direction, state, init, index, n, body, d)
            }
            LinTerm::App(..) => Err(Error::bug("a linear map that is not known at emission")),
            LinTerm::Power(..) | LinTerm::PowerApp(..) | LinTerm::Tensor(..) | LinTerm::TensorElim { .. } => {
                Err(Error::function_survives())
            }
            LinTerm::Case(..) | LinTerm::Inject(..) | LinTerm::SumElim(..) | LinTerm::FromInject(..) => {
                Err(Error::unsupported("the derivative of a sum type"))
            }
        }
    }

    /// z := the value of s, its arrays accumulated in place where `within` allows it.
    fn bind_linear(&mut self, z: &LBinder, s: &Lin, within: Option<(&Lin, &Dst)>) -> Result<(), Error> {
        self.scope.bind_lin(&z.var, &z.ty);
        let shared = match within {
            Some((t, d)) => alias::aliases(&self.occurrences, &z.var, &z.ty, t, d),
            None => vec![],
        };
        let mut path = vec![];
        let dst = self.fresh_dst(&z.ty, &shared, Some(&z.var), &mut path, &z.var.name)?;
        self.emit(s, &dst)?;
        let lv = self.freeze(&dst, &shared, &mut path);
        self.lins.insert(z.var.clone(), lv);
        Ok(())
    }

    /// A destination of a linear type: cells and buffers, but parts of the outer destination at shared paths, and ⊥ at unused ones.
    fn fresh_dst(
        &mut self,
        ty: &LType,
        shared: &[(Vec<usize>, Dst)],
        of: Option<&lang::name::Var>,
        path: &mut Vec<usize>,
        name: &str,
    ) -> Result<Dst, Error> {
        if of.is_some_and(|z| self.occurrences.uses(z, path) == 0) {
            return Ok(Dst::Null);
        }
        if let Some((_, d)) = shared.iter().find(|(p, _)| p == path) {
            return Ok(d.clone());
        }
        Ok(match ty {
            LType::Real => Dst::Cell(self.new_cell()),
            LType::Tuple(ts) => {
                let mut ds = vec![];
                for (k, t) in ts.iter().enumerate() {
                    path.push(k);
                    ds.push(self.fresh_dst(t, shared, of, path, name)?);
                    path.pop();
                }
                Dst::Tuple(ds)
            }
            LType::Array(..) => {
                let erased = ty.erase().ok_or_else(Error::function_survives)?;
                let place = self.alloc(&erased, name)?;
                self.fresh_slices(&place)
            }
            LType::Sum(_) | LType::Power(..) | LType::Copower(..) | LType::Param(_) => {
                return Err(Error::function_survives());
            }
        })
    }

    fn fresh_slices(&mut self, place: &Ev) -> Dst {
        match place {
            Ev::Slice(s) => {
                let fresh = self.fresh_flag();
                Dst::Slice(s.clone(), fresh)
            }
            Ev::Tuple(vs) => Dst::Tuple(vs.iter().map(|v| self.fresh_slices(v)).collect()),
            Ev::Scalar(_) => unreachable!("compiler bug: arrays are slices"),
        }
    }

    /// A complete accumulator as a value.
    fn freeze(&mut self, d: &Dst, shared: &[(Vec<usize>, Dst)], path: &mut Vec<usize>) -> Lv {
        if shared.iter().any(|(p, _)| p == path) {
            return Lv::Shared;
        }
        match d {
            Dst::Null => Lv::Zero,
            Dst::Cell(c) => match self.cells[*c].value {
                None => Lv::Zero,
                Some(o) => Lv::Scalar(o, self.cells[*c].guard),
            },
            Dst::Slice(_, fresh) if self.fresh[*fresh] => Lv::Zero,
            Dst::Slice(s, _) => Lv::Slice(s.clone()),
            Dst::Tuple(ds) => {
                let mut parts = vec![];
                for (k, d) in ds.iter().enumerate() {
                    path.push(k);
                    parts.push(self.freeze(d, shared, path));
                    path.pop();
                }
                Lv::Tuple(parts)
            }
        }
    }

    /// val(t): the value of a term, in registers where it is a scalar.
    fn val_of(&mut self, t: &Lin) -> Result<Lv, Error> {
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
    fn read(&mut self, t: &Lin) -> Result<Lv, Error> {
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

    fn lv_at(&mut self, v: &Lv, i: Operand) -> Result<Lv, Error> {
        Ok(match v {
            Lv::Zero | Lv::Shared => v.clone(),
            Lv::Slice(s) => {
                let s = s.at(i);
                if self.rest(&s).is_empty() { Lv::Scalar(self.load(&s), None) } else { Lv::Slice(s) }
            }
            Lv::Tuple(vs) => Lv::Tuple(vs.iter().map(|v| self.lv_at(v, i)).collect::<Result<_, _>>()?),
            Lv::Scalar(..) => return Err(Error::bug("element of a scalar")),
        })
    }

    /// d += a complete value.
    fn add(&mut self, v: &Lv, d: &Dst) -> Result<(), Error> {
        match (v, d) {
            (Lv::Zero | Lv::Shared, _) | (_, Dst::Null) => Ok(()),
            (Lv::Scalar(x, guard), Dst::Cell(c)) => {
                self.cell_add(*c, *x, *guard);
                Ok(())
            }
            (Lv::Scalar(x, _), Dst::Slice(s, fresh)) => {
                if std::mem::take(&mut self.fresh[*fresh]) {
                    self.store(s, *x);
                } else {
                    self.accum(s, *x);
                }
                Ok(())
            }
            (Lv::Tuple(vs), Dst::Tuple(ds)) => vs.iter().zip(ds).try_for_each(|(v, d)| self.add(v, d)),
            (Lv::Slice(from), Dst::Slice(to, fresh)) => {
                let n = self.rest(from)[0];
                let (from, to) = (from.clone(), to.clone());
                let first = self.fresh[*fresh];
                self.for_loop("i", n, false, Parallel::Yes, |e, i| {
                    let part = e.lv_at(&Lv::Slice(from), i)?;
                    let flag = e.fresh_flag();
                    e.fresh[flag] = first;
                    e.add(&part, &Dst::Slice(to.at(i), flag))?;
                    Ok(vec![])
                })?;
                self.fresh[*fresh] = false;
                Ok(())
            }
            _ => Err(Error::bug("a linear value does not fit its destination")),
        }
    }

    /// Writes zero into what has not been written, before code that may add to it any number of times.
    pub fn settle(&mut self, d: &Dst) -> Result<(), Error> {
        match d {
            Dst::Null | Dst::Cell(_) => Ok(()),
            Dst::Tuple(ds) => ds.iter().try_for_each(|d| self.settle(d)),
            Dst::Slice(s, fresh) => {
                if std::mem::take(&mut self.fresh[*fresh]) {
                    self.zero(s)?;
                }
                Ok(())
            }
        }
    }

    fn zero(&mut self, s: &Slice) -> Result<(), Error> {
        match self.rest(s).first().copied() {
            _ if s.at.is_empty() => {
                self.push(Stmt::Fill { buf: s.buf, value: Operand::Real(0.0) });
                Ok(())
            }
            None => {
                self.store(s, Operand::Real(0.0));
                Ok(())
            }
            Some(n) => {
                let s = s.clone();
                self.for_loop("i", n, false, Parallel::Yes, |e, i| {
                    e.zero(&s.at(i))?;
                    Ok(vec![])
                })
            }
        }
    }

    fn mark_written(&mut self, d: &Dst) {
        match d {
            Dst::Null | Dst::Cell(_) => {}
            Dst::Slice(_, fresh) => self.fresh[*fresh] = false,
            Dst::Tuple(ds) => ds.iter().for_each(|d| self.mark_written(d)),
        }
    }

    /// The destination d[i]: scalars get a cell, stored by [`Emitter::close_element`].
    fn element(&mut self, d: &Dst, i: Operand) -> (Dst, Dst) {
        match d {
            Dst::Null => (Dst::Null, Dst::Null),
            Dst::Cell(_) => unreachable!("compiler bug: element of a scalar destination"),
            Dst::Tuple(ds) => {
                let (a, b) = ds.iter().map(|d| self.element(d, i)).unzip();
                (Dst::Tuple(a), Dst::Tuple(b))
            }
            Dst::Slice(s, fresh) => {
                let first = self.fresh[*fresh];
                let flag = self.fresh_flag();
                self.fresh[flag] = first;
                let part = Dst::Slice(s.at(i), flag);
                if self.rest(&s.at(i)).is_empty() {
                    (Dst::Cell(self.new_cell()), part)
                } else {
                    (part.clone(), part)
                }
            }
        }
    }

    /// Ends d[i]: a cell is stored or added; an element of a fresh destination that nothing was added to is zero.
    fn close_element(&mut self, element: &Dst, part: &Dst) -> Result<(), Error> {
        match (element, part) {
            (Dst::Cell(c), Dst::Slice(s, fresh)) => {
                let first = std::mem::take(&mut self.fresh[*fresh]);
                match (self.cells[*c].value, first) {
                    (Some(x), true) => self.store(s, x),
                    (Some(x), false) => self.accum(s, x),
                    (None, true) => self.store(s, Operand::Real(0.0)),
                    (None, false) => {}
                }
                Ok(())
            }
            (Dst::Tuple(es), Dst::Tuple(ps)) => {
                es.iter().zip(ps).try_for_each(|(e, p)| self.close_element(e, p))
            }
            _ => self.settle(part),
        }
    }

    fn type_of_lin(&mut self, t: &Lin) -> LType {
        lang::typing::type_of_lin(t, &mut self.scope, self.program)
    }

    /// A loop with linear state. A component that every step only adds to has its destination outside the loop; scalars are
    /// carried; other arrays are moved to a temporary and zeroed before each step.
    fn linear_loop(
        &mut self,
        direction: Direction,
        state: &LBinder,
        init: &Lin,
        index: &lang::name::Var,
        n: Operand,
        body: &Lin,
        d: &Dst,
    ) -> Result<(), Error> {
        let Dst::Tuple(ds) = d else { return Err(Error::bug("a loop's value is a pair")) };
        let (last, outs) = (ds[0].clone(), ds[1].clone());
        self.scope.bind_lin(&state.var, &state.ty);
        let tuple = matches!(state.ty, LType::Tuple(_));
        let types: Vec<LType> = match &state.ty {
            LType::Tuple(ts) => ts.to_vec(),
            other => vec![other.clone()],
        };
        let dsts: Vec<Dst> = match &last {
            Dst::Tuple(ds) if tuple => ds.clone(),
            Dst::Null => vec![Dst::Null; types.len()],
            other => vec![other.clone()],
        };
        let mut parts = vec![];
        for (k, ty) in types.iter().enumerate() {
            let own_init = component(init, k, tuple);
            if alias::only_added(&self.occurrences, &state.var, k, tuple, body) {
                // Its accumulator is the destination itself, or a fresh one that nobody reads.
                if let Some(t) = &own_init {
                    self.emit(t, &dsts[k])?;
                }
                self.settle(&dsts[k])?;
                parts.push(Part::Added(dsts[k].clone()));
                continue;
            }
            let cur = self.fresh_dst(ty, &[], None, &mut vec![], &state.var.name)?;
            match &own_init {
                Some(t) => self.emit(t, &cur)?,
                None => {
                    let whole = self.val_of(init)?;
                    let v = match whole {
                        Lv::Tuple(vs) => vs[k].clone(),
                        other => other,
                    };
                    self.add(&v, &cur)?;
                }
            }
            self.settle(&cur)?;
            let mut carried = vec![];
            let old = self.old_state(&cur, ty, &mut carried)?;
            parts.push(Part::Carried { cur, old, carried });
        }
        self.settle(&outs)?;
        let down = direction == Direction::Down;
        let index_name = index.name.clone();
        self.for_loop(&index_name, n, down, Parallel::No, |e, i| {
            e.bind(index, Ev::Scalar(i), &Type::Int);
            let mut inside = vec![];
            let mut next = vec![];
            for p in &parts {
                match p {
                    Part::Added(d) => {
                        inside.push(Lv::Shared);
                        next.push(d.clone());
                    }
                    Part::Carried { cur, old, .. } => {
                        e.move_to_old(cur, old)?;
                        inside.push(e.inside_state(old));
                        next.push(e.next_dst(cur));
                    }
                }
            }
            let (inside, next_dst) = match tuple {
                true => (Lv::Tuple(inside), Dst::Tuple(next.clone())),
                false => (inside.remove(0), next[0].clone()),
            };
            e.lins.insert(state.var.clone(), inside);
            let (out, out_part) = match &outs {
                Dst::Null => (Dst::Null, Dst::Null),
                outs => e.element(outs, i),
            };
            e.emit(body, &Dst::Tuple(vec![next_dst, out.clone()]))?;
            if !matches!(out, Dst::Null) {
                e.close_element(&out, &out_part)?;
            }
            let mut results = vec![];
            for (p, d) in parts.iter().zip(&next) {
                if let Part::Carried { carried, .. } = p {
                    let mut values = vec![];
                    e.settle(d)?;
                    e.cell_values(d, &mut values);
                    for ((param, init, result), next) in carried.iter().zip(values) {
                        let kind = CarriedKind::Sequential;
                        results.push(Carried { param: *param, init: *init, next, result: *result, kind });
                    }
                }
            }
            Ok(results)
        })?;
        for (p, d) in parts.iter().zip(&dsts) {
            if let Part::Carried { cur, carried, .. } = p {
                let mut results = carried.iter().map(|(_, _, r)| *r);
                let v = after(cur, &mut results);
                self.add(&v, d)?;
            }
        }
        Ok(())
    }

    /// The state as a step sees it: parameters for scalars, a temporary for arrays.
    fn old_state(
        &mut self,
        cur: &Dst,
        ty: &LType,
        carried: &mut Vec<(lang::loops::Val, Operand, lang::loops::Val)>,
    ) -> Result<Old, Error> {
        Ok(match cur {
            Dst::Null => Old::Nothing,
            Dst::Cell(c) => {
                let init = self.cells[*c].value.unwrap_or(Operand::Real(0.0));
                let (param, result) = (self.val(Scalar::Real, "z"), self.val(Scalar::Real, "z"));
                carried.push((param, init, result));
                Old::Param(Operand::Val(param))
            }
            Dst::Slice(s, _) => {
                let info = self.proc.info(s.buf).clone();
                let buf = self.proc.buf(info);
                self.push(Stmt::Alloc { buf });
                Old::Temp(Slice { buf, at: vec![] })
            }
            Dst::Tuple(ds) => {
                let types: Vec<LType> = match ty {
                    LType::Tuple(ts) => ts.to_vec(),
                    other => vec![other.clone(); ds.len()],
                };
                let parts: Result<Vec<Old>, Error> =
                    ds.iter().zip(&types).map(|(d, t)| self.old_state(d, t, carried)).collect();
                Old::Tuple(parts?)
            }
        })
    }

    /// Arrays move to their temporary and are zeroed.
    fn move_to_old(&mut self, cur: &Dst, old: &Old) -> Result<(), Error> {
        match (cur, old) {
            (Dst::Slice(s, _), Old::Temp(t)) => {
                self.push(Stmt::Copy { dst: t.buf, src: s.buf });
                Ok(())
            }
            (Dst::Tuple(ds), Old::Tuple(os)) => {
                ds.iter().zip(os).try_for_each(|(d, o)| self.move_to_old(d, o))
            }
            _ => Ok(()),
        }
    }

    fn inside_state(&self, old: &Old) -> Lv {
        match old {
            Old::Nothing => Lv::Zero,
            Old::Param(o) => Lv::Scalar(*o, None),
            Old::Temp(s) => Lv::Slice(s.clone()),
            Old::Tuple(os) => Lv::Tuple(os.iter().map(|o| self.inside_state(o)).collect()),
        }
    }

    /// Where the next state accumulates: the buffer itself, afresh; a new cell for a scalar.
    fn next_dst(&mut self, cur: &Dst) -> Dst {
        match cur {
            Dst::Null => Dst::Null,
            Dst::Cell(_) => Dst::Cell(self.new_cell()),
            Dst::Slice(s, _) => {
                let flag = self.fresh_flag();
                Dst::Slice(s.clone(), flag)
            }
            Dst::Tuple(ds) => Dst::Tuple(ds.iter().map(|d| self.next_dst(d)).collect()),
        }
    }

    fn cell_values(&self, d: &Dst, out: &mut Vec<Operand>) {
        match d {
            Dst::Cell(c) => out.push(self.cells[*c].value.unwrap_or(Operand::Real(0.0))),
            Dst::Tuple(ds) => ds.iter().for_each(|d| self.cell_values(d, out)),
            Dst::Null | Dst::Slice(..) => {}
        }
    }
}

/// A component of a linear loop's state.
enum Part {
    Added(Dst),
    Carried { cur: Dst, old: Old, carried: Vec<(lang::loops::Val, Operand, lang::loops::Val)> },
}

enum Old {
    Nothing,
    Param(Operand),
    Temp(Slice),
    Tuple(Vec<Old>),
}

/// A carried component after the loop.
fn after(cur: &Dst, results: &mut impl Iterator<Item = lang::loops::Val>) -> Lv {
    match cur {
        Dst::Null => Lv::Zero,
        Dst::Cell(_) => Lv::Scalar(Operand::Val(results.next().expect("one result per scalar")), None),
        Dst::Slice(s, _) => Lv::Slice(s.clone()),
        Dst::Tuple(ds) => Lv::Tuple(ds.iter().map(|d| after(d, results)).collect()),
    }
}

/// Component k of a term that is a tuple of components in sight.
fn component(t: &Lin, k: usize, tuple: bool) -> Option<Lin> {
    match &**t {
        _ if !tuple => Some(t.clone()),
        LinTerm::Tuple(ts) => Some(ts[k].clone()),
        LinTerm::Zero(LType::Tuple(ts)) => Some(lang::target::make::zero(ts[k].clone())),
        _ => None,
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
