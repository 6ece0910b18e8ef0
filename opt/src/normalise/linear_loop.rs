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

/// What is supposed of a component of a loop's linear state, the strongest first; what turns out false is weakened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Supposed {
    /// It is 0̲ all the time: it starts as 0̲ and no step adds to it.
    Zero,
    /// Every step passes it on and only adds to it: its contributions are summed, it is not carried (chad.md §7, "a component
    /// that passes through").
    Passes,
    /// Every step may change it.
    Carried,
}

/// A loop's linear state taken apart.
struct Components {
    tree: Tree,
    types: Vec<LType>,
}

enum Tree {
    Leaf,
    Tuple(Vec<Tree>),
}

impl Components {
    /// D's loops carry ⟨state, environment⟩ or a state: the state comes apart to its leaves, environments stay whole, being sparse.
    fn of(ty: &LType) -> Components {
        let mut types = vec![];
        let tree = match ty {
            LType::Tuple(ts) => {
                let first = ts.first().map(|t| Components::apart(t, &mut types));
                let rest = ts.iter().skip(1).map(|t| {
                    types.push(t.clone());
                    Tree::Leaf
                });
                let parts = first.into_iter().collect::<Vec<_>>();
                Tree::Tuple(parts.into_iter().chain(rest).collect())
            }
            other => Components::apart(other, &mut types),
        };
        Components { tree, types }
    }

    fn apart(ty: &LType, types: &mut Vec<LType>) -> Tree {
        match ty {
            LType::Tuple(ts) => Tree::Tuple(ts.iter().map(|t| Components::apart(t, types)).collect()),
            LType::Real
            | LType::Array(..)
            | LType::Sum(_)
            | LType::Power(..)
            | LType::Copower(..)
            | LType::Param(_) => {
                types.push(ty.clone());
                Tree::Leaf
            }
        }
    }

    fn split(&self, n: &mut Normaliser, lv: LV) -> Result<Vec<LV>, Error> {
        fn go(tree: &Tree, n: &mut Normaliser, lv: LV, out: &mut Vec<LV>) -> Result<(), Error> {
            match tree {
                Tree::Leaf => out.push(lv),
                Tree::Tuple(parts) => {
                    for (k, part) in parts.iter().enumerate() {
                        let lv = n.lin_proj(lv.clone(), k)?;
                        go(part, n, lv, out)?;
                    }
                }
            }
            Ok(())
        }
        let mut out = vec![];
        go(&self.tree, n, lv, &mut out)?;
        Ok(out)
    }

    fn join(&self, leaves: Vec<LV>) -> LV {
        fn go(tree: &Tree, leaves: &mut impl Iterator<Item = LV>) -> LV {
            match tree {
                Tree::Leaf => leaves.next().expect("a leaf for every component"),
                Tree::Tuple(parts) => LV::tuple(parts.iter().map(|t| go(t, leaves)).collect::<Vec<_>>()),
            }
        }
        go(&self.tree, &mut leaves.into_iter())
    }
}

/// One step of a loop under what was supposed, ready to be finished.
struct Step {
    /// The carried components, as one variable of these types.
    z: Var,
    types: Vec<LType>,
    index: Var,
    next: Vec<LV>,
    out: LV,
    items: Vec<Item>,
}

impl Normaliser<'_> {
    /// A loop with linear state: of its components only those are carried that are neither 0̲ all the time nor only added to.
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
        let parts = Components::of(&ty);
        let init = self.lin(init, env)?;
        let init = self.share(init, "z");
        let inits = parts.split(self, init)?;
        let at_first = |lv: &LV| match lv {
            // An environment that starts empty collects what the steps add.
            LV::Zero(LType::Tuple(_)) => Supposed::Passes,
            lv if lv.is_zero() => Supposed::Zero,
            _ => Supposed::Passes,
        };
        let mut supposed: Vec<Supposed> = inits.iter().map(at_first).collect();
        loop {
            let first_mark = self.marks;
            self.marks += supposed.len();
            let step = self.step(first_mark, &parts, &supposed, state, index, &bound, body, env)?;
            let mut used = self.used_marks.borrow().clone();
            marks(&step.out, &mut used);
            let mut weaker = supposed.clone();
            for (k, lv) in step.next.iter().enumerate() {
                match (supposed[k], lv) {
                    (Supposed::Passes, LV::Marked(m, _, rest)) if *m == first_mark + k => {
                        marks(rest, &mut used)
                    }
                    (Supposed::Passes, other) => {
                        weaker[k] = Supposed::Carried;
                        marks(other, &mut used);
                    }
                    (Supposed::Zero, other) => {
                        if !other.is_zero() {
                            weaker[k] = Supposed::Passes;
                        }
                        marks(other, &mut used);
                    }
                    (Supposed::Carried, other) => marks(other, &mut used),
                }
            }
            for (k, s) in weaker.iter_mut().enumerate() {
                if *s == Supposed::Passes
                    && supposed[k] == Supposed::Passes
                    && used.contains(&(first_mark + k))
                {
                    *s = Supposed::Carried;
                }
            }
            if weaker == supposed {
                return self.finish_loop(direction, step, &parts, &supposed, inits, bound);
            }
            supposed = weaker;
        }
    }

    /// The body under what is supposed of the state's components.
    fn step(
        &mut self,
        first_mark: usize,
        parts: &Components,
        supposed: &[Supposed],
        state: &LBinder,
        index: &Var,
        bound: &Size,
        body: &Lin,
        env: &Env,
    ) -> Result<Step, Error> {
        let types: Vec<LType> = (parts.types.iter().zip(supposed))
            .filter(|(_, s)| **s == Supposed::Carried)
            .map(|(t, _)| t.clone())
            .collect();
        let z = self.linear_var("z", &one_or_tuple_type(&types));
        let mut taken = 0;
        let mut components = vec![];
        for (k, t) in parts.types.iter().enumerate() {
            components.push(match supposed[k] {
                Supposed::Carried => {
                    taken += 1;
                    let one = types.len() == 1;
                    let leaf = if one { make::var(&z) } else { make::proj(make::var(&z), taken - 1) };
                    LV::Term(leaf, t.clone())
                }
                Supposed::Passes => LV::Marked(first_mark + k, t.clone(), Rc::new(LV::Zero(t.clone()))),
                Supposed::Zero => LV::Zero(t.clone()),
            });
        }
        let i = self.index(index);
        self.bounds.insert(i.clone(), bound.clone());
        let mut inner = env.clone();
        inner.lins.insert(state.var.clone(), parts.join(components));
        inner.vars.insert(index.clone(), V::Int(Size::var(i.clone())));
        let ((next, out), items) = self.region(|n| {
            let lv = n.lin(body, &inner)?;
            let (next, out) = (n.lin_proj(lv.clone(), 0)?, n.lin_proj(lv, 1)?);
            Ok((parts.split(n, next)?, out))
        })?;
        Ok(Step { z, types, index: i, next, out, items })
    }

    fn finish_loop(
        &mut self,
        direction: Direction,
        step: Step,
        parts: &Components,
        supposed: &[Supposed],
        inits: Vec<LV>,
        bound: Size,
    ) -> Result<LV, Error> {
        let Step { z, types, index, next, out, items } = step;
        // Contributions to the passing components, leaf by leaf.
        let mut leaves = vec![];
        let mut shapes = vec![];
        for (lv, s) in next.iter().zip(supposed) {
            shapes.push(match (s, lv) {
                (Supposed::Passes, LV::Marked(_, _, rest)) => Some(self.unify(rest, rest, &mut leaves)),
                (Supposed::Passes | Supposed::Zero | Supposed::Carried, _) => None,
            });
        }
        let carried = |k: &usize| supposed[*k] == Supposed::Carried;
        let next_terms: Vec<Lin> =
            (0..next.len()).filter(carried).map(|k| self.reify_lin(&next[k])).collect();
        let init_terms: Vec<Lin> =
            (0..inits.len()).filter(carried).map(|k| self.reify_lin(&inits[k])).collect();
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
            index,
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
        for (k, t) in parts.types.iter().enumerate() {
            components.push(match supposed[k] {
                Supposed::Carried => {
                    taken += 1;
                    pick(self, taken - 1)?
                }
                Supposed::Passes => {
                    let shape = shapes[k].clone().expect("a passing component has a shape");
                    let sum = fill(&shape, &results);
                    self.plus(inits[k].clone(), sum)?
                }
                Supposed::Zero => LV::Zero(t.clone()),
            });
        }
        let outs = if nout == 0 { LV::Zero(LType::array(bound, out_ty)) } else { self.lin_proj(whole, 1)? };
        Ok(LV::tuple([parts.join(components), outs]))
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
