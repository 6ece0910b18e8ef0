//! Normalising linear terms: known maps are applied, environments and tuples come apart, structural zeros vanish.
//! Every step is an instance of a law of chad.md §2 (β for ⊸, products; homomorphism laws for 0̲).

use super::value::{Env, LV, V, env_depth};
use super::{Item, Normaliser};
use crate::Error;
use im::OrdMap;
use lang::core::make::prim;
use lang::core::{Binder, Term, Tm};
use lang::name::Var;
use lang::prim::Prim;
use lang::size::Size;
use lang::target::{Direction, LBinder, Lin, LinTerm, make};
use lang::types::{LType, Type};
use lang::walk::{Mapper, map_lin};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

impl Normaliser<'_> {
    /// The value of a linear term; lets it needs go to the current region.
    pub fn lin(&mut self, t: &Lin, env: &Env) -> Result<LV, Error> {
        match &**t {
            LinTerm::Var(z) => Ok(match env.lins.get(z) {
                Some(lv) => lv.clone(),
                None => LV::Term(t.clone(), self.ltypes[z].clone()),
            }),
            LinTerm::Zero(ty) => Ok(LV::Zero(self.lty(ty, env)?)),
            LinTerm::Plus(a, b) => {
                let (a, b) = (self.lin(a, env)?, self.lin(b, env)?);
                self.plus(a, b)
            }
            LinTerm::Tuple(ts) => {
                let vs: Result<Vec<LV>, Error> = ts.iter().map(|t| self.lin(t, env)).collect();
                Ok(LV::tuple(vs?))
            }
            LinTerm::Proj(t, i) => {
                let lv = self.lin(t, env)?;
                self.lin_proj(lv, *i)
            }
            LinTerm::Coproj { env: ety, up, term } => {
                let ety = self.lty(ety, env)?;
                let lv = self.lin(term, env)?;
                let level = env_depth(&ety) - 1 - up;
                Ok(if lv.is_zero() { LV::Zero(ety) } else { LV::Env(ety, OrdMap::unit(level, lv)) })
            }
            LinTerm::EnvProj { up, term } => {
                let mut lv = self.lin(term, env)?;
                for _ in 0..*up {
                    lv = self.lin_proj(lv, 0)?;
                }
                self.lin_proj(lv, 1)
            }
            LinTerm::Scale(a, t) => {
                let lv = self.lin(t, env)?;
                if lv.is_zero() {
                    return Ok(LV::Zero(LType::Real));
                }
                let a = self.term(a, env, "a")?.reify()?;
                Ok(LV::Term(make::scale(a, self.reify_lin(&lv)), LType::Real))
            }
            LinTerm::App(l, s) => {
                let l = self.term(l, env, "l")?;
                let s = self.lin(s, env)?;
                self.lin_apply(&l, s)
            }
            LinTerm::Let(z, s, t) => {
                let s = self.lin(s, env)?;
                let s = self.share(s, &z.var.name);
                let mut env = env.clone();
                env.lins.insert(z.var.clone(), s);
                self.lin(t, &env)
            }
            LinTerm::CLet(x, a, t) => {
                let a = self.term(a, env, &x.var.name)?;
                let mut env = env.clone();
                env.vars.insert(x.var.clone(), a);
                self.lin(t, &env)
            }
            LinTerm::If(c, a, b) => {
                let c = self.term(c, env, "c")?;
                if let Some(lang::core::Lit::Bool(c)) = c.literal() {
                    return self.lin(if c { a } else { b }, env);
                }
                let c = c.reify()?;
                self.lin_if(c, |n| n.lin(a, env), |n| n.lin(b, env))
            }
            LinTerm::Build { index, bound, body } => {
                let bound = self.size(bound, env)?;
                // build n (λi. f(onehot_k(v)[i])) is onehot_k(f(v)) at i = k.
                if let Some(k) = sifted(index, body, env) {
                    let mut inner = env.clone();
                    inner.vars.insert(index.clone(), self.int_value(&k));
                    let lv = self.lin(body, &inner)?;
                    return Ok(LV::OneHot(bound, k, Rc::new(lv)));
                }
                let i = self.index(index);
                let mut inner = env.clone();
                inner.vars.insert(index.clone(), V::Int(Size::var(i.clone())));
                let (lv, items) = self.region(|n| n.lin(body, &inner))?;
                if lv.is_zero() {
                    return Ok(LV::Zero(LType::array(bound, lv.ty())));
                }
                if items.is_empty() && !self.mentions(&lv, &i) {
                    return Ok(LV::Rep(bound, Rc::new(lv)));
                }
                let ty = LType::array(bound.clone(), lv.ty());
                let body = wrap_lin(items, self.reify_lin(&lv));
                Ok(LV::Term(make::build(i, bound, body), ty))
            }
            LinTerm::Index(t, i) => {
                let lv = self.lin(t, env)?;
                let i = self.term(i, env, "i")?;
                Ok(match lv {
                    LV::Rep(_, v) => (*v).clone(),
                    LV::Zero(LType::Array(_, t)) => LV::Zero((*t).clone()),
                    // onehot_k(v)[i] is v where i = k
                    LV::OneHot(_, k, v) => {
                        let i = i.reify()?;
                        if i == k {
                            return Ok((*v).clone());
                        }
                        let same = self.bind(prim(Prim::IEq, [i, k]), &Type::Bool, "same");
                        let zero = LV::Zero(v.ty());
                        return self.lin_if(same.reify()?, |_| Ok((*v).clone()), |_| Ok(zero));
                    }
                    other => {
                        let LType::Array(_, elem) = other.ty() else {
                            unreachable!("compiler bug: index into a linear value that is no array")
                        };
                        let a = self.share(other, "z");
                        LV::Term(make::index(self.reify_lin(&a), i.reify()?), (*elem).clone())
                    }
                })
            }
            LinTerm::OneHot { bound, index, term } => {
                let bound = self.size(bound, env)?;
                let lv = self.lin(term, env)?;
                let ty = LType::array(bound.clone(), lv.ty());
                if lv.is_zero() {
                    return Ok(LV::Zero(ty));
                }
                let i = self.term(index, env, "i")?.reify()?;
                Ok(LV::OneHot(bound, i, Rc::new(lv)))
            }
            LinTerm::Sum { index, bound, body } => {
                let bound = self.size(bound, env)?;
                // Σ_i f(onehot_k(v)[i]) is f(v) at i = k, f being linear.
                if let Some(k) = sifted(index, body, env) {
                    let mut inner = env.clone();
                    inner.vars.insert(index.clone(), self.int_value(&k));
                    return self.lin(body, &inner);
                }
                let i = self.index(index);
                let mut inner = env.clone();
                inner.vars.insert(index.clone(), V::Int(Size::var(i.clone())));
                let (lv, items) = self.region(|n| n.lin(body, &inner))?;
                self.lin_sum(i, bound, lv, items)
            }
            LinTerm::Loop { direction, state, init, index, bound, body } => {
                self.lin_loop(*direction, state, init, index, bound, body, env)
            }
            LinTerm::Power(..) | LinTerm::PowerApp(..) | LinTerm::Tensor(..) | LinTerm::TensorElim { .. } => {
                Err(Error::function_survives())
            }
            LinTerm::Case(..) | LinTerm::Inject(..) | LinTerm::SumElim(..) | LinTerm::FromInject(..) => {
                Err(Error::unsupported("the derivative of a sum type"))
            }
        }
    }

    /// L • s, by β; a choice of maps is a choice of results; 0̲ goes to 0̲.
    pub fn lin_apply(&mut self, l: &V, s: LV) -> Result<LV, Error> {
        match l {
            V::Lin(c) => {
                let s = self.share(s, &c.param.var.name);
                let mut env = c.env.clone();
                env.lins.insert(c.param.var.clone(), s);
                self.lin(&c.body, &env)
            }
            V::Choice(c, a, b) => {
                let s = self.share(s, "w");
                self.lin_if(c.clone(), |n| n.lin_apply(a, s.clone()), |n| n.lin_apply(b, s.clone()))
            }
            V::Int(_) | V::Atom(..) | V::Tuple(_) | V::Inject(..) | V::Fn(_) | V::Family(_) => {
                Err(Error::unsupported("a linear map that is not known when the program is compiled"))
            }
        }
    }

    /// Two arms in regions of their own; the leaves either arm produces are the results.
    fn lin_if(
        &mut self,
        c: lang::core::Tm,
        a: impl FnOnce(&mut Self) -> Result<LV, Error>,
        b: impl FnOnce(&mut Self) -> Result<LV, Error>,
    ) -> Result<LV, Error> {
        let (va, ia) = self.region(a)?;
        let (vb, ib) = self.region(b)?;
        if va.is_zero() && vb.is_zero() {
            return Ok(LV::Zero(va.ty()));
        }
        let mut leaves = vec![];
        let shape = self.unify(&va, &vb, &mut leaves);
        let arm = |n: &Self, pick: fn(&(LV, LV)) -> &LV, items: Vec<Item>| {
            let parts: Vec<Lin> = leaves.iter().map(|l| n.reify_lin(pick(l))).collect();
            wrap_lin(items, one_or_tuple(parts))
        };
        let (ta, tb) = (arm(self, |l| &l.0, ia), arm(self, |l| &l.1, ib));
        let types: Vec<LType> = leaves.iter().map(|l| l.0.ty()).collect();
        Ok(self.bind_leaves(make::if_(c, ta, tb), types, &shape))
    }

    /// Σ_i: one loop for all the leaves. Σ_i onehot_i(t) over the whole range is build n (i. t).
    fn lin_sum(&mut self, i: Var, bound: Size, lv: LV, items: Vec<Item>) -> Result<LV, Error> {
        if lv.is_zero() {
            return Ok(LV::Zero(lv.ty()));
        }
        let mut leaves = vec![];
        let shape = self.unify(&lv, &lv, &mut leaves);
        let types: Vec<LType> = leaves.iter().map(|l| l.0.ty()).collect();
        if let [(LV::OneHot(b, index, elem), _)] = &leaves[..]
            && *b == bound
            && matches!(&**index, Term::Var(v) if *v == i)
        {
            let body = wrap_lin(items, self.reify_lin(elem));
            return Ok(self.bind_leaves(make::build(i, bound, body), types, &shape));
        }
        let parts: Vec<Lin> = leaves.iter().map(|l| self.reify_lin(&l.0)).collect();
        let body = wrap_lin(items, one_or_tuple(parts));
        Ok(self.bind_leaves(make::sum(i, bound, body), types, &shape))
    }

    /// A loop with linear state. A component of the state that every step only adds to is not carried: its contributions are
    /// summed into it (chad.md §7, "a component that passes through").
    fn lin_loop(
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

    fn finish_loop(
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

    /// (0̲, +) is a monoid; + of products is the product of +.
    pub fn plus(&mut self, a: LV, b: LV) -> Result<LV, Error> {
        Ok(match (a, b) {
            (LV::Marked(m, ty, r), b) => LV::Marked(m, ty, Rc::new(self.plus((*r).clone(), b)?)),
            (a, LV::Marked(m, ty, r)) => LV::Marked(m, ty, Rc::new(self.plus(a, (*r).clone())?)),
            (a, b) if b.is_zero() => a,
            (a, b) if a.is_zero() => b,
            (LV::Env(ty, mut a), LV::Env(_, b)) => {
                for (k, v) in b {
                    let sum = match a.remove(&k) {
                        Some(u) => self.plus(u, v)?,
                        None => v,
                    };
                    a.insert(k, sum);
                }
                LV::Env(ty, a)
            }
            (a @ (LV::Tuple(_) | LV::Env(..)), b) | (a, b @ (LV::Tuple(_) | LV::Env(..))) => {
                let k = match a.ty() {
                    LType::Tuple(ts) => ts.len(),
                    other => unreachable!("compiler bug: a tuple of linear type {other:?}"),
                };
                let sums: Result<Vec<LV>, Error> = (0..k)
                    .map(|i| {
                        let (a, b) = (self.lin_proj(a.clone(), i)?, self.lin_proj(b.clone(), i)?);
                        self.plus(a, b)
                    })
                    .collect();
                LV::tuple(sums?)
            }
            (LV::OneHot(n, i, a), LV::OneHot(_, j, b)) if i == j => {
                let sum = self.plus((*a).clone(), (*b).clone())?;
                LV::OneHot(n, i, Rc::new(sum))
            }
            (LV::Rep(n, a), LV::Rep(_, b)) => {
                let sum = self.plus((*a).clone(), (*b).clone())?;
                LV::Rep(n, Rc::new(sum))
            }
            (a, b) => {
                let ty = a.ty();
                LV::Term(make::plus(self.reify_lin(&a), self.reify_lin(&b)), ty)
            }
        })
    }

    pub fn lin_proj(&mut self, lv: LV, i: usize) -> Result<LV, Error> {
        Ok(match lv {
            LV::Tuple(vs) => vs[i].clone(),
            LV::Zero(LType::Tuple(ts)) => LV::Zero(ts[i].clone()),
            LV::Env(ty, mut slots) => {
                let LType::Tuple(ts) = &ty else { unreachable!("compiler bug: an environment is a pair") };
                let top = env_depth(&ty) - 1;
                let slot = slots.remove(&top);
                match i {
                    0 if slots.is_empty() => LV::Zero(ts[0].clone()),
                    0 => LV::Env(ts[0].clone(), slots),
                    _ => slot.unwrap_or_else(|| LV::Zero(ts[1].clone())),
                }
            }
            LV::Marked(m, LType::Tuple(ts), rest) => {
                // A component of it is no longer the whole: the loop will carry it.
                self.used_marks.borrow_mut().insert(m);
                LV::Marked(m, ts[i].clone(), Rc::new(self.lin_proj((*rest).clone(), i)?))
            }
            LV::Term(t, LType::Tuple(ts)) => {
                let lv = self.share(LV::Term(t, LType::Tuple(ts.clone())), "z");
                LV::Term(make::proj(self.reify_lin(&lv), i), ts[i].clone())
            }
            LV::Zero(_) | LV::Term(..) | LV::Rep(..) | LV::OneHot(..) | LV::Marked(..) => {
                unreachable!("compiler bug: projection of a linear value that is no tuple")
            }
        })
    }

    pub fn reify_lin(&self, lv: &LV) -> Lin {
        match lv {
            LV::Zero(ty) => make::zero(ty.clone()),
            LV::Term(t, _) => t.clone(),
            LV::Tuple(vs) => make::tuple(vs.iter().map(|v| self.reify_lin(v)).collect::<Vec<_>>()),
            LV::Env(ty, slots) => {
                let depth = env_depth(ty);
                let terms = slots
                    .iter()
                    .filter(|(_, v)| !v.is_zero())
                    .map(|(k, v)| make::coproj(ty.clone(), depth - 1 - k, self.reify_lin(v)));
                terms.reduce(make::plus).unwrap_or_else(|| make::zero(ty.clone()))
            }
            LV::Rep(n, v) => {
                let i = self.fresh("i");
                make::build(i, n.clone(), self.reify_lin(v))
            }
            LV::OneHot(n, i, v) => make::onehot(n.clone(), i.clone(), self.reify_lin(v)),
            LV::Marked(m, ty, _) => {
                self.used_marks.borrow_mut().insert(*m);
                make::zero(ty.clone())
            }
        }
    }

    /// Leaves that are more than a path are bound, so that using a value twice does not compute it twice.
    pub fn share(&mut self, lv: LV, name: &str) -> LV {
        match lv {
            LV::Tuple(vs) => LV::tuple(vs.iter().map(|v| self.share(v.clone(), name)).collect::<Vec<_>>()),
            LV::Env(ty, slots) => {
                let shared = slots.into_iter().map(|(k, v)| (k, self.share(v, name))).collect();
                LV::Env(ty, shared)
            }
            LV::Rep(n, v) => LV::Rep(n, Rc::new(self.share((*v).clone(), name))),
            LV::OneHot(n, i, v) => LV::OneHot(n, i, Rc::new(self.share((*v).clone(), name))),
            LV::Term(t, ty) if !is_path(&t) => {
                let z = self.linear_var(name, &ty);
                self.push(Item::Lin(LBinder::new(z.clone(), ty.clone()), t));
                LV::Term(make::var(&z), ty)
            }
            LV::Marked(m, ty, r) => LV::Marked(m, ty, Rc::new(self.share((*r).clone(), name))),
            other => other,
        }
    }

    /// Pairs up the leaves of two values of one type; a leaf absent on one side is 0̲ there. The result is the common
    /// shape, its leaves numbered by position in `leaves`.
    fn unify(&mut self, a: &LV, b: &LV, leaves: &mut Vec<(LV, LV)>) -> Shape {
        match (a, b) {
            (a, b) if a.is_zero() && b.is_zero() => Shape::Zero(a.ty()),
            (LV::Env(ty, x), _) | (_, LV::Env(ty, x)) => {
                let y = match (a, b) {
                    (LV::Env(..), LV::Env(_, y)) => y.clone(),
                    (LV::Env(..), LV::Zero(_)) | (LV::Zero(_), LV::Env(..)) => OrdMap::new(),
                    _ => return self.unify_tuple(a, b, leaves),
                };
                let first = matches!(a, LV::Env(..));
                let mut slots = vec![];
                for k in x.keys().chain(y.keys().filter(|k| !x.contains_key(*k))) {
                    let zero = LV::Zero(super::value_slot(ty, *k));
                    let (u, v) = (x.get(k).unwrap_or(&zero), y.get(k).unwrap_or(&zero));
                    let (u, v) = if first { (u, v) } else { (v, u) };
                    slots.push((*k, self.unify(u, v, leaves)));
                }
                Shape::Env(ty.clone(), slots)
            }
            (LV::Tuple(_), _) | (_, LV::Tuple(_)) => self.unify_tuple(a, b, leaves),
            (LV::Rep(n, u), LV::Rep(_, v)) => {
                let (u, v) = ((**u).clone(), (**v).clone());
                Shape::Rep(n.clone(), Box::new(self.unify(&u, &v, leaves)))
            }
            _ => {
                leaves.push((a.clone(), b.clone()));
                Shape::Leaf(leaves.len() - 1)
            }
        }
    }

    fn unify_tuple(&mut self, a: &LV, b: &LV, leaves: &mut Vec<(LV, LV)>) -> Shape {
        let LType::Tuple(ts) = a.ty() else { unreachable!("compiler bug: a tuple has a tuple's type") };
        let parts = (0..ts.len()).map(|k| {
            let pa = self.lin_proj(a.clone(), k).expect("projection of a tuple");
            let pb = self.lin_proj(b.clone(), k).expect("projection of a tuple");
            self.unify(&pa, &pb, leaves)
        });
        Shape::Tuple(parts.collect())
    }

    /// Binds a term with several results and puts them into the shape.
    fn bind_leaves(&mut self, t: Lin, types: Vec<LType>, shape: &Shape) -> LV {
        let shared = self.share(LV::Term(t, one_or_tuple_type(&types)), "z");
        let term = self.reify_lin(&shared);
        let leaves: Vec<LV> = match types.len() {
            1 => vec![LV::Term(term, types[0].clone())],
            _ => (types.iter().enumerate())
                .map(|(k, t)| LV::Term(make::proj(term.clone(), k), t.clone()))
                .collect(),
        };
        fill(shape, &leaves)
    }

    /// The value of an int atom or polynomial.
    fn int_value(&self, t: &Tm) -> V {
        match lang::walk::as_size(t) {
            Some(n) => V::Int(n),
            None => V::Atom(t.clone(), Type::Int),
        }
    }

    /// Whether a linear value uses a Cartesian variable.
    fn mentions(&self, lv: &LV, i: &Var) -> bool {
        lang::walk::free_vars_lin(&self.reify_lin(lv)).contains(i)
    }
}

/// The form of a linear value, its leaves numbered.
#[derive(Clone)]
enum Shape {
    Zero(LType),
    Leaf(usize),
    Tuple(Vec<Shape>),
    Env(LType, Vec<(usize, Shape)>),
    Rep(Size, Box<Shape>),
}

fn fill(shape: &Shape, leaves: &[LV]) -> LV {
    match shape {
        Shape::Zero(ty) => LV::Zero(ty.clone()),
        Shape::Leaf(k) => leaves[*k].clone(),
        Shape::Tuple(ss) => LV::tuple(ss.iter().map(|s| fill(s, leaves)).collect::<Vec<_>>()),
        Shape::Env(ty, slots) => {
            LV::Env(ty.clone(), slots.iter().map(|(k, s)| (*k, fill(s, leaves))).collect())
        }
        Shape::Rep(n, s) => LV::Rep(n.clone(), Rc::new(fill(s, leaves))),
    }
}

/// The index k when every linear variable of the body occurs only as z[i], i the index bound, and each is onehot_k of something.
fn sifted(index: &Var, body: &Lin, env: &Env) -> Option<Tm> {
    struct Occurrences<'a> {
        index: &'a Var,
        env: &'a Env,
        bound: BTreeSet<Var>,
        at: Option<Tm>,
        ok: bool,
    }
    impl Mapper for Occurrences<'_> {
        fn bind(&mut self, v: &Var) -> Var {
            self.bound.insert(v.clone());
            v.clone()
        }
        fn term(&mut self, t: &Tm) -> Tm {
            // Maps inside Cartesian terms have linear variables of their own only.
            t.clone()
        }
        fn lin(&mut self, t: &Lin) -> Lin {
            match &**t {
                LinTerm::Index(s, i) if matches!(&**i, Term::Var(i) if i == self.index) => match &**s {
                    LinTerm::Var(z) if !self.bound.contains(z) => {
                        match self.env.lins.get(z) {
                            Some(LV::OneHot(_, k, _)) if self.at.as_ref().is_none_or(|a| a == k) => {
                                self.at = Some(k.clone());
                            }
                            _ => self.ok = false,
                        }
                        t.clone()
                    }
                    _ => map_lin(self, t),
                },
                LinTerm::Var(z) => {
                    self.ok &= self.bound.contains(z);
                    t.clone()
                }
                _ => map_lin(self, t),
            }
        }
    }
    let mut o = Occurrences { index, env, bound: BTreeSet::new(), at: None, ok: true };
    o.lin(body);
    if o.ok { o.at } else { None }
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

/// A variable or a projection path from one: free to use many times.
pub fn is_path(t: &Lin) -> bool {
    match &**t {
        LinTerm::Var(_) => true,
        LinTerm::Proj(t, _) => is_path(t),
        LinTerm::Index(t, _) => is_path(t),
        _ => false,
    }
}

pub fn one_or_tuple(mut ts: Vec<Lin>) -> Lin {
    if ts.len() == 1 { ts.remove(0) } else { make::tuple(ts) }
}

pub fn one_or_tuple_type(ts: &[LType]) -> LType {
    if let [t] = ts { t.clone() } else { LType::tuple(ts.iter().cloned()) }
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

/// The lets of a region around its result.
pub fn wrap_lin(items: Vec<Item>, t: Lin) -> Lin {
    items.into_iter().rev().fold(t, |t, item| match item {
        Item::Let(x, a) => make::clet(x, a, t),
        Item::Lin(z, s) => make::let_(z, s, t),
    })
}

/// A Cartesian binder for an int.
pub fn int_binder(v: Var) -> Binder {
    Binder::new(v, Type::Int)
}
