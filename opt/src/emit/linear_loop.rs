//! Loops with linear state: in place over the carried state (chad.md §7).

use super::alias;
use super::inplace::in_place;
use super::place::{Dst, Ev, Lv, Slice};
use super::{Emitter, Error};
use lang::core::Tm;
use lang::loops::{Carried, CarriedKind, Operand, Parallel, Stmt};
use lang::prim::Scalar;
use lang::target::{Direction, LBinder, Lin, LinTerm};
use lang::types::{LType, Type};
use lang::walk::{Mapper, map_lin};

impl Emitter<'_> {
    /// A loop with linear state. A component that every step only adds to has its destination outside the loop; scalars are
    /// carried; arrays of which a step changes elements stay in place; other arrays are moved to a temporary and zeroed before each step.
    pub(super) fn linear_loop(
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
        let branches = has_branch(body);
        let (mut body, mut parts) = (body.clone(), vec![]);
        for (k, ty) in types.iter().enumerate() {
            let own_init = component(init, k, tuple);
            if alias::only_added(&self.occurrences, &state.var, k, tuple, &body) {
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
            let path = if tuple { vec![k] } else { vec![] };
            if let (Dst::Slice(s, _), LType::Array(..)) = (&cur, ty)
                && let Some(ordered) = in_place(
                    (&state.var, &path),
                    ty,
                    &[vec![0], path.clone()].concat(),
                    &body,
                    &mut self.supply,
                )
            {
                self.occurrences.replace(&body, &ordered.step);
                body = ordered.step;
                self.staying.extend(ordered.stay.into_iter().map(|(y, path)| (y, (path, cur.clone()))));
                if branches {
                    self.holes.insert(s.buf);
                }
                parts.push(Part::InPlace(cur));
                continue;
            }
            let mut carried = vec![];
            let sparse = branches || self.may_be_zero(&cur);
            let old = self.old_state(&cur, ty, sparse, &mut carried)?;
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
                    Part::InPlace(cur) => {
                        inside.push(e.after(cur, &Old::Nothing, &mut std::iter::empty()));
                        next.push(cur.clone());
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
            e.emit(&body, &Dst::Tuple(vec![next_dst, out.clone()]))?;
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
            let v = match p {
                Part::Added(_) => continue,
                Part::InPlace(cur) => self.after(cur, &Old::Nothing, &mut std::iter::empty()),
                Part::Carried { cur, old, carried } => {
                    let mut results = carried.iter().map(|(_, _, r)| *r);
                    self.after(cur, old, &mut results)
                }
            };
            self.add(&v, d)?;
        }
        Ok(())
    }

    /// Nothing was added to a part of it, or only in an arm.
    fn may_be_zero(&self, d: &Dst) -> bool {
        match d {
            Dst::Null => false,
            Dst::Cell(c) => self.cells[*c].value.is_none() || self.cells[*c].guard.is_some(),
            Dst::Slice(s, _) => self.holes.contains(&s.buf),
            Dst::Tuple(ds) => ds.iter().any(|d| self.may_be_zero(d)),
        }
    }

    /// The state as a step sees it: parameters for scalars, a temporary for arrays. In a sparse one a zero is structural.
    pub(super) fn old_state(
        &mut self,
        cur: &Dst,
        ty: &LType,
        sparse: bool,
        carried: &mut Vec<(lang::loops::Val, Operand, lang::loops::Val)>,
    ) -> Result<Old, Error> {
        Ok(match cur {
            Dst::Null => Old::Nothing,
            Dst::Cell(c) => {
                let init = self.cells[*c].value.unwrap_or(Operand::Real(0.0));
                let (param, result) = (self.val(Scalar::Real, "z"), self.val(Scalar::Real, "z"));
                carried.push((param, init, result));
                Old::Param(Operand::Val(param), sparse)
            }
            Dst::Slice(s, _) => {
                let info = self.proc.info(s.buf).clone();
                let buf = self.proc.buf(info);
                self.push(Stmt::Alloc { buf });
                if sparse {
                    self.holes.extend([s.buf, buf]);
                }
                Old::Temp(Slice { buf, at: vec![] })
            }
            Dst::Tuple(ds) => {
                let types: Vec<LType> = match ty {
                    LType::Tuple(ts) => ts.to_vec(),
                    other => vec![other.clone(); ds.len()],
                };
                let parts: Result<Vec<Old>, Error> =
                    ds.iter().zip(&types).map(|(d, t)| self.old_state(d, t, sparse, carried)).collect();
                Old::Tuple(parts?)
            }
        })
    }

    /// Arrays move to their temporary and are zeroed.
    pub(super) fn move_to_old(&mut self, cur: &Dst, old: &Old) -> Result<(), Error> {
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

    pub(super) fn inside_state(&mut self, old: &Old) -> Lv {
        match old {
            Old::Nothing => Lv::Zero,
            Old::Param(o, sparse) => Lv::Scalar(*o, sparse.then(|| self.arrived(*o))),
            Old::Temp(s) => Lv::Slice(s.clone()),
            Old::Tuple(os) => Lv::Tuple(os.iter().map(|o| self.inside_state(o)).collect()),
        }
    }

    /// Where the next state accumulates: the buffer itself, afresh; a new cell for a scalar.
    pub(super) fn next_dst(&mut self, cur: &Dst) -> Dst {
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

    /// A carried component after the loop.
    fn after(&mut self, cur: &Dst, old: &Old, results: &mut impl Iterator<Item = lang::loops::Val>) -> Lv {
        match (cur, old) {
            (Dst::Cell(_), Old::Param(_, sparse)) => {
                let result = Operand::Val(results.next().expect("one result per scalar"));
                Lv::Scalar(result, sparse.then(|| self.arrived(result)))
            }
            (Dst::Tuple(ds), Old::Tuple(os)) => {
                Lv::Tuple(ds.iter().zip(os).map(|(d, o)| self.after(d, o, results)).collect())
            }
            (Dst::Slice(s, _), _) => Lv::Slice(s.clone()),
            (Dst::Null | Dst::Cell(_) | Dst::Tuple(_), _) => Lv::Zero,
        }
    }

    pub(super) fn cell_values(&self, d: &Dst, out: &mut Vec<Operand>) {
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
    /// It stays in its buffer: [`super::inplace`].
    InPlace(Dst),
    Carried {
        cur: Dst,
        old: Old,
        carried: Vec<(lang::loops::Val, Operand, lang::loops::Val)>,
    },
}

pub enum Old {
    Nothing,
    Param(Operand, bool),
    Temp(Slice),
    Tuple(Vec<Old>),
}

/// Whether a linear term adds in an arm.
fn has_branch(t: &Lin) -> bool {
    struct Branches(bool);
    impl Mapper for Branches {
        fn term(&mut self, t: &Tm) -> Tm {
            t.clone()
        }
        fn lin(&mut self, t: &Lin) -> Lin {
            self.0 |= matches!(**t, LinTerm::If(..));
            if self.0 { t.clone() } else { map_lin(self, t) }
        }
        fn lty(&mut self, t: &LType) -> LType {
            t.clone()
        }
    }
    let mut branches = Branches(false);
    branches.lin(t);
    branches.0
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
