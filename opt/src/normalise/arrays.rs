//! Normalising arrays and loops: what an iteration keeps of functions and linear maps is stored beside its data.

use super::cartesian::choice;
use super::residual::Kept;
use super::value::{Env, V};
use super::{Item, Normaliser, wrap};
use crate::Error;
use lang::core::{Binder, Term, Tm, make};
use lang::diag::Site;
use lang::name::Var;
use lang::size::Size;
use lang::types::Type;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Normaliser<'_> {
    /// build n (λi. t)
    pub(super) fn build(
        &mut self,
        index: &Var,
        bound: &Size,
        body: &Tm,
        env: &Env,
        name: &str,
    ) -> Result<V, Error> {
        let bound = self.size(bound, env)?;
        let (i, inner) = self.enter(index, &bound, env);
        let (v, items) = self.region_of(BTreeSet::new(), |n| n.term(body, &inner, name))?;
        let mut items = self.hoist(items, &[&i]);
        if v.is_data() {
            let elem = v.ty()?;
            // η: build n (λi. a[i]) is a.
            if let [Item::Let(x, a)] = &items[..]
                && let Term::Index(array, k, _) = &**a
                && matches!(&**k, Term::Var(k) if *k == i)
                && matches!(&v, V::Atom(t, _) if matches!(&**t, Term::Var(y) if *y == x.var))
                && let Term::Var(array_var) = &**array
                && matches!(&self.types[array_var], Type::Array(n, _) if *n == bound)
            {
                let ty = self.types[array_var].clone();
                return Ok(V::Atom(array.clone(), ty));
            }
            let body = wrap(items, v.reify()?);
            return Ok(self.bind(make::build(i, bound.clone(), body), &Type::array(bound, elem), name));
        }
        let kept = self.keep_each(v, &mut items, &[(i.clone(), Type::Int)])?;
        let saved: Vec<_> = kept.saved.iter().filter(|(x, _)| *x != i).cloned().collect();
        let store = self.store(&saved, |term| wrap(items, term), &i, &bound, name)?;
        Ok(self.family(i, bound, Kept { saved, ..kept }, store))
    }

    /// s[i]
    pub(super) fn element(&mut self, a: V, i: V, site: &Site, name: &str) -> Result<V, Error> {
        match a {
            V::Family(f) => self.family_at(&f, i, site),
            V::Atom(t, Type::Array(_, elem)) => {
                Ok(self.bind(make::index(t, i.reify()?, site.clone()), &elem, name))
            }
            V::Choice(c, x, y) => match (&*x, &*y) {
                (V::Family(f), V::Family(g)) => {
                    let (x, y) = (self.family_at(f, i.clone(), site)?, self.family_at(g, i, site)?);
                    Ok(choice(c, x, y))
                }
                _ => Err(Error::bug("a choice of arrays")),
            },
            V::Int(_) | V::Atom(..) | V::Tuple(_) | V::Fn(_) | V::Lin(_) => {
                Err(Error::bug("index into a value that is no array"))
            }
        }
    }

    /// {t with [i, …] = v}
    pub(super) fn update(
        &mut self,
        array: &Tm,
        index: &[Tm],
        value: &Tm,
        site: &Site,
        env: &Env,
        name: &str,
    ) -> Result<V, Error> {
        let a = self.term(array, env, name)?;
        let is: Result<Vec<Tm>, Error> = index.iter().map(|i| self.term(i, env, "i")?.reify()).collect();
        let v = self.term(value, env, "v")?;
        if !a.is_data() || !v.is_data() {
            return Err(Error::unsupported("an update of an array that holds functions"));
        }
        let ty = a.ty()?;
        Ok(self.bind(make::update(a.reify()?, is?, v.reify()?, site.clone()), &ty, name))
    }

    /// [t1, …, tk]
    pub(super) fn array(&mut self, ty: &Type, ts: &[Tm], env: &Env, name: &str) -> Result<V, Error> {
        let ty = self.ty(ty, env)?;
        let vs: Result<Vec<V>, Error> = ts.iter().map(|t| self.term(t, env, name)).collect();
        let vs = vs?;
        if !vs.iter().all(V::is_data) {
            return Err(Error::unsupported("an array literal of functions"));
        }
        let elems: Result<Vec<Tm>, Error> = vs.iter().map(V::reify).collect();
        let array = Type::array(Size::constant(ts.len() as i64), ty.clone());
        Ok(self.bind(Arc::new(Term::Array(ty, elems?)), &array, name))
    }

    /// The body of a reduction in a region of its own, with its index and bound.
    pub(super) fn reduced(
        &mut self,
        index: &Var,
        bound: &Size,
        body: &Tm,
        env: &Env,
    ) -> Result<(Var, Size, Tm), Error> {
        let bound = self.size(bound, env)?;
        let (i, inner) = self.enter(index, &bound, env);
        let (v, items) = self.region(|n| n.term(body, &inner, "t"))?;
        Ok((i, bound, wrap(items, v.reify()?)))
    }

    /// loop s = t for i < n collect e
    pub(super) fn loop_(
        &mut self,
        state: &Binder,
        init: &Tm,
        index: &Var,
        bound: &Size,
        body: &Tm,
        env: &Env,
        name: &str,
    ) -> Result<V, Error> {
        let bound = self.size(bound, env)?;
        let init = self.term(init, env, &state.var.name)?;
        if !init.is_data() {
            return Err(Error::unsupported("a loop whose state holds a function"));
        }
        let ty = init.ty()?;
        let s = self.var(&state.var.name, &ty);
        let (i, mut inner) = self.enter(index, &bound, env);
        let ((next, out), items) = self.region_of(BTreeSet::new(), |n| {
            let sv = n.taken_apart(&s, &ty);
            arrays(&sv, &mut n.states);
            inner.vars.insert(state.var.clone(), sv);
            match n.term(body, &inner, name)? {
                V::Tuple(vs) => Ok((vs[0].clone(), vs[1].clone())),
                _ => Err(Error::bug("a loop body is a pair")),
            }
        })?;
        let mut items = self.hoist(items, &[&i, &s]);
        let next = next.reify()?;
        let binder = Binder::new(s.clone(), ty.clone());
        let make_loop = |items: Vec<Item>, out: Tm| {
            let body = wrap(items, make::tuple([next, out]));
            Arc::new(Term::Loop {
                state: binder,
                init: init.reify().expect("loop state is data"),
                index: i.clone(),
                bound: bound.clone(),
                body,
            })
        };
        if out.is_data() {
            let out_ty = Type::array(bound.clone(), out.ty()?);
            let t = make_loop(items, out.reify()?);
            return Ok(self.bind(t, &Type::tuple([ty, out_ty]), name));
        }
        let kept = self.keep_steps(out, &mut items, &[(i.clone(), Type::Int), (s.clone(), ty.clone())])?;
        let saved: Vec<_> = kept.saved.iter().filter(|(x, _)| *x != i).cloned().collect();
        let (term, elem) = Self::saved_term(&saved);
        let store_ty = Type::array(bound.clone(), elem);
        let t = make_loop(items, term);
        let x = self.var(name, &Type::tuple([ty.clone(), store_ty.clone()]));
        self.push(Item::Let(Binder::new(x.clone(), Type::tuple([ty.clone(), store_ty.clone()])), t));
        let last = self.bind(make::proj(make::var(&x), 0), &ty, name);
        let store = match saved.is_empty() {
            true => None,
            false => Some(self.bind(make::proj(make::var(&x), 1), &store_ty, "kept")),
        };
        let outs = self.family(i, bound, Kept { saved, ..kept }, store);
        Ok(V::tuple([last, outs]))
    }

    /// loop s = t while c do e
    pub(super) fn while_(
        &mut self,
        state: &Binder,
        init: &Tm,
        cond: &Tm,
        body: &Tm,
        env: &Env,
        name: &str,
    ) -> Result<V, Error> {
        let init = self.term(init, env, &state.var.name)?;
        let ty = init.ty()?;
        let s = self.var(&state.var.name, &ty);
        let mut part = |t: &Tm| -> Result<Tm, Error> {
            let (v, items) = self.region(|n| {
                let mut inner = env.clone();
                let sv = n.taken_apart(&s, &ty);
                inner.vars.insert(state.var.clone(), sv);
                n.term(t, &inner, name)
            })?;
            Ok(wrap(items, v.reify()?))
        };
        let (cond, body) = (part(cond)?, part(body)?);
        let state = Binder::new(s, ty.clone());
        let t = Term::While { state, init: init.reify()?, cond, body };
        Ok(self.bind(Arc::new(t), &ty, name))
    }

    /// The permutation that sorts.
    pub(super) fn argsort(&mut self, a: &Tm, env: &Env, name: &str) -> Result<V, Error> {
        let a = self.term(a, env, "keys")?;
        let Type::Array(n, _) = a.ty()? else { return Err(Error::bug("argsort of no array")) };
        let t = Arc::new(Term::Argsort(a.reify()?));
        Ok(self.bind(t, &Type::array(n, Type::Int), name))
    }

    /// A fresh index for a binder, and the environment inside.
    pub(super) fn enter(&mut self, index: &Var, bound: &Size, env: &Env) -> (Var, Env) {
        let i = self.index(index);
        self.bounds.insert(i.clone(), bound.clone());
        let mut inner = env.clone();
        inner.vars.insert(index.clone(), V::Int(Size::var(i.clone())));
        (i, inner)
    }

    /// Builds the array of what a build keeps, one loop for all of it.
    pub(super) fn store(
        &mut self,
        saved: &[(Var, Type)],
        around: impl FnOnce(Tm) -> Tm,
        i: &Var,
        bound: &Size,
        name: &str,
    ) -> Result<Option<V>, Error> {
        if saved.is_empty() {
            return Ok(None);
        }
        let (term, elem) = Self::saved_term(saved);
        let ty = Type::array(bound.clone(), elem);
        let t = make::build(i.clone(), bound.clone(), around(term));
        Ok(Some(self.bind(t, &ty, name)))
    }
}

/// The variables of the arrays in a value.
fn arrays(v: &V, into: &mut BTreeSet<Var>) {
    match v {
        V::Atom(t, Type::Array(..)) => into.extend(lang::walk::free_vars(t)),
        V::Tuple(vs) => vs.iter().for_each(|v| arrays(v, into)),
        V::Int(_) | V::Atom(..) | V::Fn(_) | V::Lin(_) | V::Family(_) | V::Choice(..) => {}
    }
}
