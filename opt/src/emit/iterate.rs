//! Sequential loops: scalars of the state are carried, arrays of it live in buffers.

use super::place::Ev;
use super::update::{buffers, others, same};
use super::{Emitter, Error};
use lang::core::{Binder, Term, Tm, make};
use lang::loops::{Block, Buf, Carried, CarriedKind, Operand, Parallel, Stmt, Val, While};
use lang::name::Var;
use lang::size::Size;
use lang::types::Type;
use lang::walk::free_vars;
use std::collections::{HashMap, HashSet};

impl Emitter<'_> {
    /// A sequential loop: scalars of the state are carried, arrays of it live in a buffer that each step overwrites when it has
    /// computed the next state; outputs are stored as they come.
    pub(super) fn loop_(
        &mut self,
        state: &Binder,
        init: &Tm,
        index: &Var,
        bound: &Size,
        body: &Tm,
        outs: Ev,
    ) -> Result<Ev, Error> {
        let n = self.size(bound);
        let init = self.eval(init)?;
        let s = self.state(&init, &state.ty, &state.var.name)?;
        let index_name = index.name.clone();
        self.for_loop(&index_name, n, false, Parallel::No, |e, i| {
            e.bind(index, Ev::Scalar(i), &Type::Int);
            e.bind(&state.var, s.inside.clone(), &state.ty);
            e.spare = buffers(&s.inside).into_iter().collect();
            e.outputs_of_loops(body, &outs.at_or_unit(i));
            let pair = e.lets(&outputs_first(body))?;
            let (next, out) = match &*pair {
                Term::Tuple(ts) => (ts[0].clone(), ts[1].clone()),
                _ => return Err(Error::bug("a loop body in normal form is a pair")),
            };
            let spare = e.spare_beside([&next]);
            e.with_spare(spare, |e| e.put(&out, &outs.at_or_unit(i)))?;
            let next = e.next_state(&next, &s, &state.ty)?;
            Ok(s.carry(next))
        })?;
        Ok(Ev::Tuple(vec![s.after.clone(), outs]))
    }

    /// Notes the loops of a step whose outputs are outputs of the step: these are stored where they belong at once.
    fn outputs_of_loops(&mut self, step: &Tm, place: &Ev) {
        let (mut defs, mut pair) = (HashMap::new(), step);
        while let Term::Let(x, a, b) = &**pair {
            defs.insert(&x.var, a);
            pair = b;
        }
        let Term::Tuple(ts) = &**pair else { return };
        let parts = match (&*ts[1], place) {
            (Term::Tuple(ts), Ev::Tuple(places)) => ts.iter().zip(places).collect(),
            _ => vec![(&ts[1], place)],
        };
        for (t, place) in parts {
            if let Term::Var(x) = &**t
                && let Some(Term::Proj(whole, 1)) = defs.get(x).map(|a| &***a)
                && let Term::Var(whole) = &**whole
                && defs.get(whole).is_some_and(|a| matches!(***a, Term::Loop { .. }))
            {
                self.outputs.insert(whole.clone(), place.clone());
            }
        }
    }

    pub(super) fn while_(&mut self, state: &Binder, init: &Tm, cond: &Tm, body: &Tm) -> Result<Ev, Error> {
        let init = self.eval(init)?;
        let s = self.state(&init, &state.ty, &state.var.name)?;
        self.bind(&state.var, s.inside.clone(), &state.ty);
        self.open_arm();
        let cond = self.with_spare(HashSet::new(), |e| e.operand(cond))?;
        let (cond_block, _) = self.close_arm();
        self.blocks.push(vec![]);
        self.open_loop();
        let spare = buffers(&s.inside).into_iter().collect();
        let next = self.with_spare(spare, |e| e.next_state(body, &s, &state.ty))?;
        let (sums, _) = self.close_loop();
        debug_assert!(sums.is_empty(), "a Cartesian body touches no outer cell");
        let body: Block = self.blocks.pop().expect("the loop's block");
        self.push(Stmt::While(While { carried: s.carry(next), cond_block, cond, body }));
        Ok(s.after)
    }

    /// Sets up the state of a loop from its initial value.
    pub(super) fn state(&mut self, init: &Ev, ty: &Type, name: &str) -> Result<State, Error> {
        let mut carried = vec![];
        let (inside, after) = self.state_part(init, ty, name, &mut carried)?;
        Ok(State { carried, inside, after })
    }

    pub(super) fn state_part(
        &mut self,
        init: &Ev,
        ty: &Type,
        name: &str,
        carried: &mut Vec<(Val, Operand, Val)>,
    ) -> Result<(Ev, Ev), Error> {
        Ok(match (init, ty) {
            (Ev::Scalar(o), _) => {
                let scalar = self.proc.type_of(*o);
                let (param, result) = (self.val(scalar, name), self.val(scalar, name));
                carried.push((param, *o, result));
                (Ev::Scalar(Operand::Val(param)), Ev::Scalar(Operand::Val(result)))
            }
            (Ev::Tuple(vs), Type::Tuple(ts)) => {
                let mut inside = vec![];
                let mut after = vec![];
                for (v, t) in vs.iter().zip(ts.iter()) {
                    let (i, a) = self.state_part(v, t, name, carried)?;
                    inside.push(i);
                    after.push(a);
                }
                (Ev::Tuple(inside), Ev::Tuple(after))
            }
            (Ev::Slice(_) | Ev::Tuple(_), _) => {
                let place = self.alloc(ty, name)?;
                self.copy(init, &place)?;
                (place.clone(), place)
            }
        })
    }

    /// Computes the next state: updates in place, other arrays first into buffers of their own, then over the old ones.
    pub(super) fn next_state(&mut self, next: &Tm, s: &State, ty: &Type) -> Result<Vec<Operand>, Error> {
        let t = self.lets(next)?;
        let mut scalars = vec![];
        let mut copies = vec![];
        self.next_part(&t, &s.inside, ty, &mut scalars, &mut copies)?;
        // A part of the old state that moves to another place moves aside first.
        let written: Vec<Buf> = copies.iter().flat_map(|(_, to, _)| buffers(to)).collect();
        for (from, to, ty) in &mut copies {
            if !same(from, to) && buffers(from).iter().any(|b| written.contains(b)) {
                let aside = self.alloc(ty, "aside")?;
                self.copy(from, &aside)?;
                *from = aside;
            }
        }
        for (from, to, _) in copies {
            self.copy(&from, &to)?;
        }
        Ok(scalars)
    }

    pub(super) fn next_part(
        &mut self,
        t: &Tm,
        inside: &Ev,
        ty: &Type,
        scalars: &mut Vec<Operand>,
        copies: &mut Vec<(Ev, Ev, Type)>,
    ) -> Result<(), Error> {
        match (&**t, inside, ty) {
            (Term::Tuple(ts), Ev::Tuple(parts), Type::Tuple(tys)) => {
                for (i, ((t, p), ty)) in ts.iter().zip(parts).zip(tys.iter()).enumerate() {
                    let spare = self.spare_beside(others(ts, i));
                    self.with_spare(spare, |e| e.next_part(t, p, ty, scalars, copies))?;
                }
                Ok(())
            }
            (Term::Update { .. } | Term::If(..), _, Type::Array(..))
                if self.spare_root(t, t, &[]).is_some_and(|place| same(&place, inside)) =>
            {
                self.put(t, inside)
            }
            _ => {
                let ev = self.eval(t)?;
                self.next_value(&ev, inside, ty, scalars, copies);
                Ok(())
            }
        }
    }

    pub(super) fn next_value(
        &mut self,
        ev: &Ev,
        inside: &Ev,
        ty: &Type,
        scalars: &mut Vec<Operand>,
        copies: &mut Vec<(Ev, Ev, Type)>,
    ) {
        match (ev, inside, ty) {
            (Ev::Scalar(o), _, _) => scalars.push(*o),
            (Ev::Tuple(vs), Ev::Tuple(parts), Type::Tuple(ts)) => {
                for ((v, p), t) in vs.iter().zip(parts).zip(ts.iter()) {
                    self.next_value(v, p, t, scalars, copies);
                }
            }
            _ => copies.push((ev.clone(), inside.clone(), ty.clone())),
        }
    }
}

/// A step whose updates, where only the next state needs them, come after the outputs: these may read what is overwritten.
fn outputs_first(step: &Tm) -> Tm {
    let (mut lets, mut pair) = (vec![], step);
    while let Term::Let(x, a, b) = &**pair {
        lets.push((x, a));
        pair = b;
    }
    let Term::Tuple(ts) = &**pair else { return step.clone() };
    let needed = free_vars(&ts[1]);
    let late = lets.iter().rev().take_while(|(x, _)| !needed.contains(&x.var)).count();
    let (early, late) = lets.split_at(lets.len() - late);
    if !late.iter().any(|(_, a)| matches!(&***a, Term::Update { .. })) {
        return step.clone();
    }
    let around = |lets: &[(&Binder, &Tm)], t: Tm| {
        lets.iter().rev().fold(t, |t, (x, a)| make::let_((*x).clone(), (*a).clone(), t))
    };
    around(early, make::tuple([around(late, ts[0].clone()), ts[1].clone()]))
}

/// The state of a loop being emitted.
pub struct State {
    carried: Vec<(Val, Operand, Val)>,
    inside: Ev,
    after: Ev,
}

impl State {
    pub(super) fn carry(&self, next: Vec<Operand>) -> Vec<Carried> {
        (self.carried.iter().zip(next))
            .map(|((param, init, result), next)| Carried {
                param: *param,
                init: *init,
                next,
                result: *result,
                kind: CarriedKind::Sequential,
            })
            .collect()
    }
}

impl Ev {
    /// Element i of outputs; outputs of unit type have no arrays.
    pub(super) fn at_or_unit(&self, i: Operand) -> Ev {
        match self {
            Ev::Tuple(vs) if vs.is_empty() => self.clone(),
            Ev::Tuple(_) | Ev::Slice(_) | Ev::Scalar(_) => self.at(i),
        }
    }
}
