//! Normalising loops with linear state.

use super::linear::{one_or_tuple, one_or_tuple_type, wrap_lin};
use super::shape::fill;
use super::value::{Env, LV, V};
use super::{Item, Normaliser};
use crate::Error;
use lang::name::Var;
use lang::size::Size;
use lang::target::{Direction, LBinder, Lin, LinTerm, make};
use lang::types::LType;
use lang::walk::{Mapper, map_lin};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

impl Normaliser<'_> {
    /// A loop with linear state. A component of the state that every step only adds to is not carried: its contributions are
    /// summed into it (chad.md §7, "a component that passes through").
    pub(super) fn lin_loop(
        &mut self,
        direction: Direction,
        state: &LBinder,
        init: &Lin,
        index: &Var,
        bound: &Size,
        body: &Lin,
        env: &Env,
    ) -> Result<LV, Error> {
        let bound = self.size(bound, env)?;
        let ty = self.lty(&state.ty, env)?;
        let init = self.lin(init, env)?;
        let init = self.share(init, "z");
        let is_tuple = matches!(ty, LType::Tuple(_));
        let parts = match &ty {
            LType::Tuple(ts) => ts.to_vec(),
            other => vec![other.clone()],
        };
        // Suppose every component passes through; carry those that turn out not to, and try again.
        let mut carried = vec![false; parts.len()];
        loop {
            let types: Vec<LType> =
                parts.iter().zip(&carried).filter(|(_, c)| **c).map(|(t, _)| t.clone()).collect();
            let z = self.linear_var("z", &one_or_tuple_type(&types));
            let first_mark = self.marks;
            self.marks += parts.len();
            let mut taken = 0;
            let mut components = vec![];
            for (k, t) in parts.iter().enumerate() {
                components.push(if carried[k] {
                    taken += 1;
                    let leaf =
                        if types.len() == 1 { make::var(&z) } else { make::proj(make::var(&z), taken - 1) };
                    LV::Term(leaf, t.clone())
                } else {
                    LV::Marked(first_mark + k, t.clone(), Rc::new(LV::Zero(t.clone())))
                });
            }
            let whole = if is_tuple { LV::tuple(components) } else { components.remove(0) };
            let i = self.index(index);
            self.bounds.insert(i.clone(), bound.clone());
            let mut inner = env.clone();
            inner.lins.insert(state.var.clone(), whole);
            inner.vars.insert(index.clone(), V::Int(Size::var(i.clone())));
            let ((next, out), items) = self.region(|n| {
                let lv = n.lin(body, &inner)?;
                let (next, out) = (n.lin_proj(lv.clone(), 0)?, n.lin_proj(lv, 1)?);
                let next: Vec<LV> = match is_tuple {
                    true => {
                        (0..parts.len()).map(|k| n.lin_proj(next.clone(), k)).collect::<Result<_, _>>()?
                    }
                    false => vec![next],
                };
                Ok((next, out))
            })?;
            let mut used = self.used_marks.borrow().clone();
            marks(&out, &mut used);
            for (k, lv) in next.iter().enumerate() {
                match lv {
                    LV::Marked(m, _, rest) if *m == first_mark + k => marks(rest, &mut used),
                    other => marks(other, &mut used),
                }
                if !carried[k] && !matches!(lv, LV::Marked(m, _, _) if *m == first_mark + k) {
                    used.insert(first_mark + k);
                }
            }
            let again: Vec<usize> =
                (0..parts.len()).filter(|k| !carried[*k] && used.contains(&(first_mark + k))).collect();
            if again.is_empty() {
                return self.finish_loop(
                    direction, z, types, init, i, bound, &parts, &carried, is_tuple, next, out, items,
                );
            }
            for k in again {
                carried[k] = true;
            }
        }
    }

    pub(super) fn finish_loop(
        &mut self,
        direction: Direction,
        z: Var,
        types: Vec<LType>,
        init: LV,
        i: Var,
        bound: Size,
        parts: &[LType],
        carried: &[bool],
        is_tuple: bool,
        next: Vec<LV>,
        out: LV,
        items: Vec<Item>,
    ) -> Result<LV, Error> {
        let inits: Vec<LV> = match is_tuple {
            true => (0..parts.len()).map(|k| self.lin_proj(init.clone(), k)).collect::<Result<_, _>>()?,
            false => vec![init],
        };
        // Contributions to the passing components, leaf by leaf.
        let mut leaves = vec![];
        let mut shapes = vec![];
        for (k, lv) in next.iter().enumerate() {
            shapes.push(match lv {
                LV::Marked(_, _, rest) if !carried[k] => Some(self.unify(rest, rest, &mut leaves)),
                _ => None,
            });
        }
        let next_terms: Vec<Lin> =
            (0..parts.len()).filter(|k| carried[*k]).map(|k| self.reify_lin(&next[k])).collect();
        let init_terms: Vec<Lin> =
            (0..parts.len()).filter(|k| carried[*k]).map(|k| self.reify_lin(&inits[k])).collect();
        let nout = if out.is_zero() { 0 } else { 1 };
        // The loop's own shape: state = (carried…, accumulators…), output.
        let acc_types: Vec<LType> = leaves.iter().map(|l| l.0.ty()).collect();
        let state_types: Vec<LType> = types.iter().chain(&acc_types).cloned().collect();
        let state_ty = one_or_tuple_type(&state_types);
        let state = self.linear_var("z", &state_ty);
        let component = |k: usize| {
            if state_types.len() == 1 { make::var(&state) } else { make::proj(make::var(&state), k) }
        };
        let mut steps = next_terms;
        for (k, (lv, _)) in leaves.iter().enumerate() {
            steps.push(make::plus(component(types.len() + k), self.reify_lin(lv)));
        }
        let out_ty = out.ty();
        let body = make::tuple([one_or_tuple(steps), self.reify_lin(&out)]);
        let body = wrap_lin(items, body);
        // z (the carried part) in terms of the whole state.
        let zs: Vec<Lin> = (0..types.len()).map(component).collect();
        let body = replace(&body, &z, &one_or_tuple(zs));
        let zero_inits = acc_types.iter().map(|t| make::zero(t.clone()));
        let init = one_or_tuple(init_terms.into_iter().chain(zero_inits).collect());
        let term = Arc::new(LinTerm::Loop {
            direction,
            state: LBinder::new(state, state_ty.clone()),
            init,
            index: i,
            bound: bound.clone(),
            body,
        });
        let ty = LType::pair(state_ty, LType::array(bound.clone(), out_ty.clone()));
        let result = LV::Term(term, ty);
        let LV::Term(var, ty) = self.share(result, "zs") else { unreachable!("share keeps a term a term") };
        let whole = LV::Term(var, ty);
        let last = self.lin_proj(whole.clone(), 0)?;
        let pick = |n: &mut Self, k: usize| {
            if state_types.len() == 1 { Ok(last.clone()) } else { n.lin_proj(last.clone(), k) }
        };
        let mut components = vec![];
        let mut taken = 0;
        let results: Vec<LV> =
            (0..leaves.len()).map(|k| pick(self, types.len() + k)).collect::<Result<_, _>>()?;
        for k in 0..parts.len() {
            components.push(if carried[k] {
                taken += 1;
                pick(self, taken - 1)?
            } else {
                let shape = shapes[k].clone().expect("a passing component has a shape");
                let sum = fill(&shape, &results);
                self.plus(inits[k].clone(), sum)?
            });
        }
        let outs = if nout == 0 { LV::Zero(LType::array(bound, out_ty)) } else { self.lin_proj(whole, 1)? };
        let last = if is_tuple { LV::tuple(components) } else { components.remove(0) };
        Ok(LV::tuple([last, outs]))
    }
}

/// The marks in a value.
fn marks(lv: &LV, into: &mut BTreeSet<usize>) {
    match lv {
        LV::Marked(m, _, rest) => {
            into.insert(*m);
            marks(rest, into);
        }
        LV::Tuple(vs) => vs.iter().for_each(|v| marks(v, into)),
        LV::Env(_, slots) => slots.values().for_each(|v| marks(v, into)),
        LV::Rep(_, v) | LV::OneHot(_, _, v) => marks(v, into),
        LV::Zero(_) | LV::Term(..) => {}
    }
}

/// t[s/z], with ⟨t1, …⟩.i reduced to t_i. Binders are kept: s mentions none of them.
fn replace(t: &Lin, z: &Var, s: &Lin) -> Lin {
    struct Replace<'a>(&'a Var, &'a Lin);
    impl Mapper for Replace<'_> {
        fn lin(&mut self, t: &Lin) -> Lin {
            if let LinTerm::Var(v) = &**t
                && v == self.0
            {
                return self.1.clone();
            }
            let t = map_lin(self, t);
            if let LinTerm::Proj(s, i) = &*t
                && let LinTerm::Tuple(ts) = &**s
            {
                return ts[*i].clone();
            }
            t
        }
    }
    Replace(z, s).lin(t)
}
