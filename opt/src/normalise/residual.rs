//! What survives a region in linear maps and functions: residuals (lowering.md, "Keep or recompute").
//!
//! When the body of a build, the output of a loop or the arm of a branch holds a linear map, the variables of the body that the map
//! mentions leave the region with it: a dear one is kept (stored with the result), a cheap one is recomputed where the
//! map is applied. This is closure conversion of ⊸, and where "recompute or keep" is decided.

use super::linear::wrap_lin;
use super::trie::Trie;
use super::value::{Env, Family, FnClosure, LinClosure, V};
use super::{Item, Normaliser};
use crate::Error;
use crate::cost::{self, CHEAP};
use lang::core::{Binder, Term, Tm, make};
use lang::name::Var;
use lang::size::Size;
use lang::target::{LBinder, make as lin};
use lang::types::Type;
use lang::walk;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// An element of an array that is made again in every step of a loop, from other arrays that are kept, costs at most this many.
const CHEAP_ELEMENT: u32 = 12;

/// The variables of a region: their types, and the definitions of those that have one.
pub(super) type Defs = BTreeMap<Var, (Type, Option<Tm>)>;

/// What a region's value keeps from the region.
pub struct Kept {
    /// The value, its local variables now free and standing for what is kept.
    pub value: V,
    /// Variables to keep.
    pub saved: Vec<(Var, Type)>,
}

/// What a map needs of its surroundings: variables to keep, and lets that compute others from them.
pub(super) struct Residuals {
    pub kept: Vec<(Var, Type)>,
    pub recomputed: Vec<Item>,
}

/// A linear map in normal form: λ̲z. t.
pub struct Forced {
    pub param: LBinder,
    pub body: lang::target::Lin,
    pub codomain: lang::types::LType,
}

impl Forced {
    pub fn term(self) -> Tm {
        make::lin_lam(self.param, self.body)
    }
}

impl Normaliser<'_> {
    /// A linear map in normal form: λ̲z. t with nothing captured but variables of the normal form.
    pub fn force(&mut self, map: &V) -> Result<Forced, Error> {
        let ty = self.map_domain(map)?;
        let z = self.linear_var("w", &ty);
        let (lv, items) =
            self.region(|n| n.lin_apply(map, super::value::LV::Term(lin::var(&z), ty.clone())))?;
        let codomain = lv.ty();
        let body = crate::live::live(&wrap_lin(items, self.reify_lin(&lv)), &codomain);
        let body = crate::prune::prune_lin(&body);
        let binder = LBinder::new(z, ty);
        Ok(Forced { param: binder, body, codomain })
    }

    pub(super) fn map_domain(&mut self, map: &V) -> Result<lang::types::LType, Error> {
        match map {
            V::Lin(c) => self.lty(&c.param.ty, &c.env.clone()),
            V::Choice(_, a, _) => self.map_domain(a),
            V::Int(_) | V::Atom(..) | V::Tuple(_) | V::Fn(_) | V::Family(_) => {
                Err(Error::unsupported("a linear map that is not known when the program is compiled"))
            }
        }
    }

    /// Closes a value over the lets of the region it leaves: `locals` are the variables bound by the region's construct itself
    /// (an index, a loop state). Every linear map is forced and recomputes what is cheap.
    pub fn keep(&mut self, value: V, items: &mut Vec<Item>, locals: &[(Var, Type)]) -> Result<Kept, Error> {
        let mut defs: Defs = locals.iter().map(|(v, t)| (v.clone(), (t.clone(), None))).collect();
        for item in &*items {
            if let Item::Let(x, t) = item {
                defs.insert(x.var.clone(), (x.ty.clone(), Some(t.clone())));
            }
        }
        let (mut saved, mut beside) = (BTreeSet::new(), vec![]);
        let value = self.close(&value, &mut defs, &mut beside, &mut saved)?;
        items.extend(beside.into_iter().map(|(x, t)| Item::Let(x, t)));
        let saved = saved.into_iter().map(|v| (defs[&v].0.clone(), v)).map(|(t, v)| (v, t)).collect();
        Ok(Kept { value, saved })
    }

    /// The same for what runs many times: what it reads of the state of a loop around it is recomputed from that state.
    pub(super) fn keep_each(
        &mut self,
        value: V,
        items: &mut Vec<Item>,
        locals: &[(Var, Type)],
    ) -> Result<Kept, Error> {
        let outer = std::mem::take(&mut self.states);
        let kept = self.keep(value, items, locals);
        self.states = outer;
        kept
    }

    /// The same for the steps of a loop, which cannot be fused with the steps of its reverse: arrays that follow from others at little cost are made again.
    pub(super) fn keep_steps(
        &mut self,
        value: V,
        items: &mut Vec<Item>,
        locals: &[(Var, Type)],
    ) -> Result<Kept, Error> {
        let outer = std::mem::replace(&mut self.rebuild, true);
        let kept = self.keep_each(value, items, locals);
        self.rebuild = outer;
        kept
    }

    pub(super) fn close(
        &mut self,
        v: &V,
        defs: &mut Defs,
        beside: &mut Vec<(Binder, Tm)>,
        saved: &mut BTreeSet<Var>,
    ) -> Result<V, Error> {
        let mut keep_vars =
            |vars: BTreeSet<Var>| saved.extend(vars.into_iter().filter(|v| defs.contains_key(v)));
        Ok(match v {
            V::Int(n) => {
                keep_vars(n.vars().cloned().collect());
                v.clone()
            }
            V::Atom(t, ty) => {
                keep_vars(walk::free_vars(t));
                keep_vars(walk::type_vars(ty));
                v.clone()
            }
            V::Tuple(vs) => {
                let parts: Result<Vec<V>, Error> =
                    vs.iter().map(|v| self.close(v, defs, beside, saved)).collect();
                V::tuple(parts?)
            }
            V::Lin(_) | V::Choice(..) if self.is_map(v) => {
                let rebuild = std::mem::take(&mut self.rebuild);
                let forced = self.force(v);
                self.rebuild = rebuild;
                let Forced { param, body, .. } = forced?;
                let body = super::beside::computed_beside(&body, defs, beside);
                // Recompute cheap definitions at the start of the map, nearest definition last to be wrapped.
                let mut needed = walk::free_vars_lin(&body);
                needed.extend(walk::ltype_vars(&param.ty));
                // An element of a whole that is kept anyway is read from it again.
                let none = BTreeSet::new();
                let (_, whole) = self.divide(needed.clone(), defs, &none, &none);
                let (mut recomputed, mut kept) = self.divide(needed.clone(), defs, &whole, &none);
                if self.rebuild {
                    let again = self.rebuilt(&kept, defs);
                    (recomputed, kept) = self.divide(needed, defs, &whole, &again);
                }
                let body = recomputed.into_iter().fold(body, |body, (x, t)| lin::clet(x, t, body));
                saved.extend(kept);
                V::Lin(Rc::new(LinClosure { param, body, env: Env::default() }))
            }
            V::Lin(_) => unreachable!("compiler bug: a closure is a map"),
            V::Choice(c, a, b) => {
                keep_vars(walk::free_vars(c));
                let (a, b) = (self.close(a, defs, beside, saved)?, self.close(b, defs, beside, saved)?);
                V::Choice(c.clone(), Rc::new(a), Rc::new(b))
            }
            V::Fn(f) => {
                let mut env = Env::default();
                for x in walk::free_vars(&f.body) {
                    match f.env.vars.get(&x) {
                        Some(v) => {
                            let v = self.close(v, defs, beside, saved)?;
                            env.vars.insert(x, v);
                        }
                        None if defs.contains_key(&x) => {
                            saved.insert(x);
                        }
                        None => {}
                    }
                }
                V::Fn(Rc::new(FnClosure { param: f.param.clone(), body: f.body.clone(), env }))
            }
            V::Family(f) => {
                keep_vars(f.bound.vars().cloned().collect());
                let store = f.store.as_ref().map(|s| self.close(s, defs, beside, saved)).transpose()?;
                let elem = self.close(&f.elem, defs, beside, saved)?;
                V::Family(Rc::new(Family {
                    index: f.index.clone(),
                    bound: f.bound.clone(),
                    store,
                    saved: f.saved.clone(),
                    elem,
                }))
            }
        })
    }

    /// Divides what a map needs of its region into what is recomputed, the last definition first, and what is kept. A part of a local value
    /// that is kept is not recomputed from the whole (a state's array for one element), unless the whole is one of these. What is in `again` is recomputed.
    fn divide(
        &self,
        mut needed: BTreeSet<Var>,
        defs: &Defs,
        wholes: &BTreeSet<Var>,
        again: &BTreeSet<Var>,
    ) -> (Vec<(Binder, Tm)>, BTreeSet<Var>) {
        let (mut recomputed, mut kept) = (vec![], BTreeSet::new());
        // Later variables are defined from earlier ones: going downwards meets every use before its definition.
        while let Some(x) = needed.pop_last() {
            let Some((ty, def)) = defs.get(&x) else { continue };
            // An array whose size belongs to the region cannot leave it: it is made again.
            let confined = || walk::type_vars(ty).iter().any(|v| defs.contains_key(v));
            let from_whole = |t: &Tm| self.whole(t, defs).is_none_or(|y| wholes.contains(&y));
            match def {
                Some(t) if again.contains(&x) || self.is_cheap(t) && from_whole(t) || confined() => {
                    needed.extend(walk::free_vars(t));
                    recomputed.push((Binder::new(x, ty.clone()), t.clone()));
                }
                _ => {
                    kept.insert(x);
                }
            }
        }
        (recomputed, kept)
    }

    /// Of the arrays to keep, those that builds of cheap elements make from the rest of them; and what is computed on the way. Nothing else has to be kept for that.
    fn rebuilt(&self, kept: &BTreeSet<Var>, defs: &Defs) -> BTreeSet<Var> {
        let (mut rest, mut again) = (kept.clone(), BTreeSet::new());
        for x in kept.iter().rev() {
            rest.remove(x);
            let mut way = BTreeSet::new();
            if !matches!(defs[x].0, Type::Array(..)) || !self.follows(x, &rest, defs, &mut way) {
                rest.insert(x.clone());
                continue;
            }
            again.append(&mut way);
        }
        again
    }

    /// x follows at little cost from what is kept and what is known outside the region; by these variables of the region.
    fn follows(&self, x: &Var, kept: &BTreeSet<Var>, defs: &Defs, way: &mut BTreeSet<Var>) -> bool {
        let Some((ty, def)) = defs.get(x) else { return true };
        if kept.contains(x) || way.contains(x) {
            return true;
        }
        let Some(t) = def else { return false };
        let cheap = match &**t {
            Term::Build { body, .. } => cost::of_element(body).is_some_and(|c| c <= CHEAP_ELEMENT),
            t => self.is_cheap(t),
        };
        way.insert(x.clone());
        cheap
            && walk::free_vars(t)
                .into_iter()
                .chain(walk::type_vars(ty))
                .all(|y| self.follows(&y, kept, defs, way))
    }

    /// The local value that a projection or an element is a part of, if it would have to be kept.
    fn whole(&self, t: &Tm, defs: &Defs) -> Option<Var> {
        let (Term::Proj(a, _) | Term::Index(a, _, _)) = &**t else { return None };
        let Term::Var(y) = &**a else { return None };
        // The state of a loop around an arm would have to be kept by the loop.
        let Some(def) = defs.get(y) else { return self.states.contains(y).then(|| y.clone()) };
        match def {
            (_, Some(t)) if self.is_cheap(t) => match &**t {
                Term::Proj(..) | Term::Index(..) => self.whole(t, defs),
                _ => None,
            },
            (_, _) => Some(y.clone()),
        }
    }

    /// What a map needs of the definition that gives it: what is kept, and what is computed again from that. Reading an array is not, lest the
    /// whole array be kept for it.
    pub(super) fn residuals(
        &self,
        param: &LBinder,
        body: &lang::target::Lin,
        defs: &BTreeMap<Var, (Type, Option<Tm>)>,
    ) -> Residuals {
        let outside = |a: &Term| matches!(a, Term::Var(a) if !defs.contains_key(a));
        let again = |t: &Term| match t {
            Term::Index(a, ..) | Term::Proj(a, _) => outside(a),
            t => self.is_cheap(t),
        };
        let mut needed = walk::free_vars_lin(body);
        needed.extend(walk::ltype_vars(&param.ty));
        let mut recomputed = vec![];
        let (mut kept, mut sizes) = (BTreeSet::new(), BTreeSet::new());
        // Later variables are defined from earlier ones.
        while let Some(x) = needed.pop_last() {
            let Some((ty, def)) = defs.get(&x) else { continue };
            needed.extend(walk::type_vars(ty));
            sizes.extend(walk::type_vars(ty));
            match def {
                // A size must be known when what has it comes out of its box.
                Some(t) if again(t) && !sizes.contains(&x) => {
                    needed.extend(walk::free_vars(t));
                    recomputed.push(Item::Let(Binder::new(x, ty.clone()), t.clone()));
                }
                _ => drop(kept.insert(x)),
            }
        }
        recomputed.reverse();
        let kept = kept.into_iter().map(|x| (x.clone(), defs[&x].0.clone())).collect();
        Residuals { kept, recomputed }
    }

    pub(super) fn is_map(&self, v: &V) -> bool {
        match v {
            V::Lin(_) => true,
            V::Choice(_, a, _) => self.is_map(a),
            V::Int(_) | V::Atom(..) | V::Tuple(_) | V::Fn(_) | V::Family(_) => false,
        }
    }

    /// One operation on atoms, cheap enough to do twice.
    pub(super) fn is_cheap(&self, t: &Term) -> bool {
        match t {
            Term::Prim(p, _) => p.row().cost <= CHEAP,
            Term::Index(..) | Term::Proj(..) | Term::Var(_) | Term::Lit(_) => true,
            // A view is read through, not built.
            Term::Build { body, .. } => crate::pull::is_view(body),
            Term::If(_, a, b) => {
                cost::of_scalar(a).zip(cost::of_scalar(b)).is_some_and(|(a, b)| a + b <= CHEAP)
            }
            Term::Tuple(_)
            | Term::Let(..)
            | Term::Inject(..)
            | Term::Case(..)
            | Term::Lam(..)
            | Term::App(..)
            | Term::Update { .. }
            | Term::Array(..)
            | Term::Sum { .. }
            | Term::Extremum { .. }
            | Term::Loop { .. }
            | Term::While { .. }
            | Term::Argsort(_)
            | Term::Check { .. }
            | Term::Call { .. }
            | Term::Diff { .. }
            | Term::Detach(_)
            | Term::LinLam(..)
            | Term::LinApp(..)
            | Term::Unread(_)
            | Term::Box(_)
            | Term::Unbox(..)
            | Term::Zero(_) => false,
        }
    }

    /// What a saved variable list stores per iteration: one value or a tuple.
    pub fn saved_term(saved: &[(Var, Type)]) -> (Tm, Type) {
        match saved {
            [(v, t)] => (make::var(v), t.clone()),
            _ => (
                make::tuple(saved.iter().map(|(v, _)| make::var(v))),
                Type::tuple(saved.iter().map(|(_, t)| t.clone())),
            ),
        }
    }

    /// The value with variables of its region replaced: an index by an int, saved variables by what was loaded.
    pub fn instantiate(&mut self, v: &V, map: &Trie<Var, V>) -> Result<V, Error> {
        Ok(match v {
            V::Int(n) => match n.as_var().and_then(|x| map.get(x)) {
                Some(v) => v.clone(),
                None => V::Int(self.size(n, &Env { vars: map.clone(), ..Env::default() })?),
            },
            V::Atom(t, ty) => match &**t {
                Term::Var(x) => match map.get(x) {
                    Some(v) => v.clone(),
                    None => {
                        let ty = self.ty(ty, &Env { vars: map.clone(), ..Env::default() })?;
                        V::Atom(t.clone(), ty)
                    }
                },
                _ => v.clone(),
            },
            V::Tuple(vs) => {
                let parts: Result<Vec<V>, Error> = vs.iter().map(|v| self.instantiate(v, map)).collect();
                V::tuple(parts?)
            }
            V::Lin(c) => {
                let env = self.instantiate_env(&c.env, map)?;
                V::Lin(Rc::new(LinClosure { param: c.param.clone(), body: c.body.clone(), env }))
            }
            V::Fn(c) => {
                let env = self.instantiate_env(&c.env, map)?;
                V::Fn(Rc::new(FnClosure { param: c.param.clone(), body: c.body.clone(), env }))
            }
            V::Choice(c, a, b) => {
                let c = match &**c {
                    Term::Var(x) => map.get(x).map_or(Ok(c.clone()), V::reify)?,
                    _ => c.clone(),
                };
                V::Choice(c, Rc::new(self.instantiate(a, map)?), Rc::new(self.instantiate(b, map)?))
            }
            V::Family(f) => {
                let bound = self.size(&f.bound, &Env { vars: map.clone(), ..Env::default() })?;
                let store = f.store.as_ref().map(|s| self.instantiate(s, map)).transpose()?;
                let elem = self.instantiate(&f.elem, map)?;
                V::Family(Rc::new(Family {
                    index: f.index.clone(),
                    bound,
                    store,
                    saved: f.saved.clone(),
                    elem,
                }))
            }
        })
    }

    pub(super) fn instantiate_env(&mut self, env: &Env, map: &Trie<Var, V>) -> Result<Env, Error> {
        let mut out = Env { vars: map.clone(), lins: env.lins.clone() };
        for (x, v) in env.vars.iter() {
            let v = self.instantiate(v, map)?;
            out.vars.insert(x.clone(), v);
        }
        Ok(out)
    }

    /// Element i of a family: what was kept is loaded, the element's value instantiated.
    pub fn family_at(&mut self, f: &Family, i: V, site: &lang::diag::Site) -> Result<V, Error> {
        let mut map = Trie::default();
        map.insert(f.index.clone(), i.clone());
        if let Some(store) = &f.store {
            let ty = match store.ty()? {
                Type::Array(_, t) => (*t).clone(),
                other => unreachable!("compiler bug: residuals in a {other:?}"),
            };
            let loaded = self.bind(make::index(store.reify()?, i.reify()?, site.clone()), &ty, "kept");
            match &f.saved[..] {
                [(x, _)] => {
                    map.insert(x.clone(), loaded);
                }
                saved => {
                    let V::Tuple(parts) = loaded else {
                        unreachable!("compiler bug: several residuals are a tuple")
                    };
                    for ((x, _), v) in saved.iter().zip(parts.iter()) {
                        map.insert(x.clone(), v.clone());
                    }
                }
            }
        }
        self.instantiate(&f.elem, &map)
    }

    /// A family from a region's value: the body's own term is what is kept, per iteration.
    pub fn family(&mut self, index: Var, bound: Size, kept: Kept, store: Option<V>) -> V {
        let saved = kept.saved;
        V::Family(Rc::new(Family { index, bound, store, saved, elem: kept.value }))
    }
}
