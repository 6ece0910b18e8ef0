//! A recursive definition whose result is data and a linear map: what D makes of one. Called, it gives the data and a handle of the map's residuals
//! (chad.md §7, f_aug); the map itself is a second definition, of the handle (f_bwd):
//!
//! ```text
//! f'aug [n] x : (σ, int) = … (y, box residuals)          f'lin n x h : τ̲ ⊸ ρ̲ = λ̲w. let residuals = unbox h in …
//! ```
//!
//! Whoever calls f'aug knows the map as λ̲w. f'lin n x h • w. Parameters that f passes on to itself unchanged are not kept by every call, but
//! given to f'lin again.

use super::calls::Specialised;
use super::linear::wrap_lin;
use super::residual::Forced;
use super::value::{Env, LV, LinClosure, V};
use super::{Item, Normaliser};
use crate::Error;
use lang::core::{Binder, Def, Term, Tm, make};
use lang::name::{Name, Supply, Var};
use lang::size::Size;
use lang::target::{LBinder, Lin, make as lin};
use lang::types::{LType, Type};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

/// The linear map that a specialisation gives.
#[derive(Clone)]
pub struct CalledMap {
    /// Its definition. The parameters: the sizes and int parameters of the specialisation, the handle, the constant parameters.
    pub name: Name,
    /// In the variables of the specialisation.
    pub from: LType,
    pub to: LType,
    /// Which parameters of the specialisation are the same in all calls that a call makes of itself; none that is an int.
    pub constant: Vec<bool>,
}

impl CalledMap {
    fn constants<'a, T>(&'a self, of: &'a [T]) -> impl Iterator<Item = &'a T> {
        of.iter().zip(&self.constant).filter(|(_, c)| **c).map(|(x, _)| x)
    }
}

fn ints(s: &Specialised) -> impl Iterator<Item = &Var> {
    s.sizes.iter().chain(s.params.iter().filter(|p| p.ty == Type::Int).map(|p| &p.var))
}

impl Normaliser<'_> {
    /// The signature of the map's definition.
    pub(super) fn declare_map(&mut self, at: usize, map: &CalledMap) {
        let handle = self.var("h", &Type::Int);
        let s = &self.calls.made[at];
        let int = |n: &Var| Binder::new(n.clone(), Type::Int);
        let constants = map.constants(&s.params).cloned();
        let params = ints(s).map(int).chain([int(&handle)]).chain(constants).collect();
        let body = lin::zero(map.to.clone());
        let z = self.fresh("w");
        let def = Def {
            name: map.name.clone(),
            types: vec![],
            sizes: vec![],
            params,
            result: Type::lin(map.from.clone(), map.to.clone()),
            body: make::lin_lam(LBinder::new(z, map.from.clone()), body),
            supply: Supply::default(),
        };
        self.program.defs.insert(map.name.clone(), Arc::new(def));
    }

    /// The value of a call: data, and the map by its handle.
    pub(super) fn with_map(
        &mut self,
        at: usize,
        map: &CalledMap,
        value: V,
        sizes: &[Size],
        data: &[V],
        given: &Env,
    ) -> Result<V, Error> {
        let V::Tuple(parts) = value else { return Err(Error::bug("data and a handle are a pair")) };
        let s = &self.calls.made[at];
        let sizes = sizes.iter().cloned().map(V::Int);
        let ints = s.params.iter().zip(data).filter(|(p, _)| p.ty == Type::Int).map(|(_, v)| v.clone());
        let all = sizes.chain(ints).chain([parts[1].clone()]).chain(map.constants(data).cloned());
        let args = all.map(|v| v.reify()).collect::<Result<_, _>>()?;
        let call = Term::Call { def: map.name.clone(), types: vec![], sizes: vec![], args };
        let from = self.lty(&map.from, given)?;
        let z = self.linear_var("w", &from);
        let body = lin::app(Arc::new(call), lin::var(&z));
        let param = LBinder::new(z, from);
        let map = V::Lin(Rc::new(LinClosure { param, body, env: Env::default() }));
        Ok(V::tuple([parts[0].clone(), map]))
    }

    /// f'lin … h • s
    pub(super) fn apply_called(&mut self, l: &Tm, s: &Lin, env: &Env) -> Result<Option<LV>, Error> {
        let Term::Call { def, args, .. } = &**l else { return Ok(None) };
        let Some(found) = self.calls.made.iter().find(|s| s.map.as_ref().is_some_and(|m| m.name == *def))
        else {
            return Ok(None);
        };
        let (ints, map): (Vec<Var>, _) = (ints(found).cloned().collect(), found.map.clone());
        let Some(map) = map else { return Ok(None) };
        let mut values = vec![];
        for t in args {
            values.push(self.term(t, env, "h")?);
        }
        let given = Env { vars: ints.into_iter().zip(values.iter().cloned()).collect(), ..Env::default() };
        let to = self.lty(&map.to, &given)?;
        let s = self.lin(s, env)?;
        if s.is_zero() {
            return Ok(Some(LV::Zero(to)));
        }
        let s = self.share(s, "w");
        let args = values.iter().map(V::reify).collect::<Result<_, _>>()?;
        let call = Term::Call { def: def.clone(), types: vec![], sizes: vec![], args };
        Ok(Some(LV::Term(lin::app(Arc::new(call), self.reify_lin(&s)), to)))
    }

    /// The two definitions, from the value of the body and the lets around it.
    pub(super) fn finish_with_map(
        &mut self,
        at: usize,
        map: &CalledMap,
        signature: Def,
        value: V,
        mut items: Vec<Item>,
    ) -> Result<(), Error> {
        let (data, closed) = match value {
            V::Tuple(parts) if parts.len() == 2 && parts[0].is_data() => (parts[0].clone(), parts[1].clone()),
            _ => return Err(Error::bug("the value of a derivative is data and a map")),
        };
        let Forced { param, body, .. } = self.force(&closed)?;
        let s = &self.calls.made[at];
        let mut there: BTreeSet<Var> = ints(s).cloned().collect();
        there.extend(map.constants(&s.params).map(|p| p.var.clone()));
        let mut defs: BTreeMap<Var, (Type, Option<Tm>)> = BTreeMap::new();
        for p in s.params.iter().filter(|p| !there.contains(&p.var)) {
            defs.insert(p.var.clone(), (p.ty.clone(), None));
        }
        for item in &items {
            if let Item::Let(x, t) = item {
                defs.insert(x.var.clone(), (x.ty.clone(), Some(t.clone())));
            }
        }
        let residuals = self.residuals(&param, &body, &defs);
        // Ints that the types of the others mention are kept apart: they come out of the box first.
        let (sizes, rest): (Vec<_>, Vec<_>) = residuals.kept.iter().cloned().partition(|(x, ty)| {
            let mentioned = |(_, ty): &(Var, Type)| lang::walk::type_vars(ty).contains(x);
            *ty == Type::Int && residuals.kept.iter().any(mentioned)
        });
        let body = wrap_lin(residuals.recomputed, body);
        let (inner, body) = self.boxed(&rest, &mut items, body);
        let (handle, body) = match sizes.is_empty() {
            true => (inner, body),
            false => {
                let mut all = sizes.clone();
                let h = self.var("h", &Type::Int);
                items.push(Item::Let(Binder::new(h.clone(), Type::Int), inner.1.clone()));
                all.push((h.clone(), Type::Int));
                let body = subst_handle(body, &inner.0, &h);
                self.boxed(&all, &mut items, body)
            }
        };
        let given = self.program.defs[&map.name].params[ints(&self.calls.made[at]).count()].var.clone();
        let body = subst_handle(body, &handle.0, &given);
        let result = make::tuple([data.reify()?, handle.1]);
        self.finish(Def { body: super::wrap(items, result), ..signature });
        let declared = Def::clone(&self.program.defs[&map.name]);
        self.finish(Def { body: make::lin_lam(param, body), ..declared });
        Ok(())
    }

    /// The values in a box: the variable that stands for its handle in the linear term around which they are taken out again, and the handle.
    fn boxed(&mut self, kept: &[(Var, Type)], items: &mut Vec<Item>, body: Lin) -> ((Var, Tm), Lin) {
        let given = self.var("h", &Type::Int);
        if kept.is_empty() {
            return ((given, make::int(0)), body);
        }
        let (term, ty) = Self::saved_term(kept);
        let h = self.var("h", &Type::Int);
        items.push(Item::Let(Binder::new(h.clone(), Type::Int), Arc::new(Term::Box(term))));
        let out = Arc::new(Term::Unbox(ty.clone(), make::var(&given)));
        let body = match kept {
            [(x, ty)] => lin::clet(Binder::new(x.clone(), ty.clone()), out, body),
            _ => {
                let all = self.var("kept", &ty);
                let part = |(k, (x, ty)): (usize, &(Var, Type))| {
                    Item::Let(Binder::new(x.clone(), ty.clone()), make::proj(make::var(&all), k))
                };
                let parts = kept.iter().enumerate().map(part).collect();
                lin::clet(Binder::new(all.clone(), ty), out, wrap_lin(parts, body))
            }
        };
        ((given, make::var(&h)), body)
    }
}

/// The body with the variable of a handle named otherwise.
fn subst_handle(body: Lin, from: &Var, to: &Var) -> Lin {
    struct Rename<'a>(&'a Var, &'a Var);
    impl lang::walk::Mapper for Rename<'_> {
        fn term(&mut self, t: &Tm) -> Tm {
            match &**t {
                Term::Var(v) if v == self.0 => make::var(self.1),
                _ => lang::walk::map_term(self, t),
            }
        }
    }
    lang::walk::Mapper::lin(&mut Rename(from, to), &body)
}
