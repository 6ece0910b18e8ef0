//! Calls. A definition that does not call itself is applied where it is called. One that does, directly or through others, is called
//! when the program runs: it becomes a definition of its own in normal form, specialised to the types and functions it is called
//! with (closure conversion: the data that functions capture become parameters).

use super::abstraction::{Abstraction, Rebuild, Shape};
use super::called_map::CalledMap;
use super::value::{Env, V};
use super::{CALL_LIMIT, Item, Normaliser};
use crate::Error;
use lang::calls::{called, reached};
use lang::core::{Binder, Def, Term, Tm};
use lang::name::{Name, Supply, Var};
use lang::size::Size;
use lang::types::Type;
use lang::walk::Mapper;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// How many specialisations of recursive definitions a program may have, and how many of one definition may be made inside each other.
pub const SPECIALISATION_LIMIT: usize = 200;
pub const NESTED_LIMIT: usize = 12;

/// A definition at the types and functions that it is called with.
pub(super) struct Specialised {
    def: Name,
    shapes: Vec<Shape>,
    pub name: Name,
    /// Sizes and data parameters, as in the definition in normal form, and the parameters' values.
    pub sizes: Vec<Var>,
    pub params: Vec<Binder>,
    given: Vec<V>,
    /// Of the definition in normal form: a linear map in the result is the handle of its residuals there.
    pub result: Type,
    pub map: Option<CalledMap>,
    /// The parameters that a call of itself does not pass on as they are.
    not_constant: BTreeSet<usize>,
    number: usize,
    /// Its normal form is there.
    done: bool,
    /// The other specialisations that it calls.
    calls: BTreeSet<Name>,
}

impl Specialised {
    /// Which parameters are the same in all calls that a call makes of itself, as far as is known.
    fn constant(&self) -> Vec<bool> {
        let before = self.map.as_ref().map(|m| m.constant.clone()).unwrap_or_default();
        before.iter().enumerate().map(|(k, c)| *c && !self.not_constant.contains(&k)).collect()
    }

    fn changed(&self) -> bool {
        self.map.as_ref().is_some_and(|m| m.constant != self.constant())
    }
}

/// What is known of the calls of a program.
#[derive(Default)]
pub(super) struct Calls {
    pub made: Vec<Specialised>,
    /// How many names have been given to the specialisations of a definition.
    names: HashMap<Name, usize>,
    /// Whether a definition may call itself.
    recursive: HashMap<Name, bool>,
}

impl Normaliser<'_> {
    /// f ['types] [sizes] t1 … tk
    pub(super) fn call(
        &mut self,
        def: &Name,
        types: &[Type],
        sizes: &[Size],
        args: &[Tm],
        env: &Env,
        name: &str,
    ) -> Result<V, Error> {
        let d = self.program.defs.get(def).cloned();
        let d = d.ok_or_else(|| Error::bug(format!("no definition {def}")))?;
        let sizes: Vec<Size> = sizes.iter().map(|n| self.size(n, env)).collect::<Result<_, _>>()?;
        let mut values = vec![];
        for (x, a) in d.params.iter().zip(args) {
            values.push(self.term(a, env, &x.var.name)?);
        }
        let types: Vec<Type> = types.iter().map(|t| self.ty(t, env)).collect::<Result<_, _>>()?;
        if self.is_recursive(def) {
            return self.call_recursive(&d, &types, &sizes, &values, name);
        }
        self.apply_call(&d, &types, &sizes, &values, name)
    }

    /// The body of a definition at these arguments.
    pub(super) fn apply_call(
        &mut self,
        d: &Def,
        types: &[Type],
        sizes: &[Size],
        values: &[V],
        name: &str,
    ) -> Result<V, Error> {
        if self.depth >= CALL_LIMIT {
            return Err(Error::too_deep(&d.name, CALL_LIMIT));
        }
        self.count_application()?;
        let (d, named) = instance(d, types);
        let mut inner = Env::default();
        inner.vars.extend(named);
        inner.vars.extend(d.sizes.iter().cloned().zip(sizes.iter().cloned().map(V::Int)));
        inner.vars.extend(d.params.iter().map(|x| x.var.clone()).zip(values.iter().cloned()));
        self.depth += 1;
        let v = self.term(&d.body, &inner, name);
        self.depth -= 1;
        v
    }

    /// It is a specialisation of a recursive definition.
    pub(super) fn is_specialised(&self, def: &Name) -> bool {
        self.calls.made.iter().any(|s| s.name == *def)
    }

    /// The definition calls itself, directly or through others; or it is a specialisation of one that does.
    fn is_recursive(&mut self, def: &Name) -> bool {
        if self.is_specialised(def) {
            return true;
        }
        if let Some(known) = self.calls.recursive.get(def) {
            return *known;
        }
        let found = lang::calls::recursive(def, &self.program);
        self.calls.recursive.insert(def.clone(), found);
        found
    }

    pub(super) fn call_at_run_time(
        &mut self,
        d: &Arc<Def>,
        types: &[Type],
        sizes: &[Size],
        values: &[V],
        name: &str,
    ) -> Result<V, Error> {
        let mut a = Abstraction::new(self, sizes);
        let mut shapes = vec![];
        for t in types {
            shapes.push(Shape::Data(a.ty(t)));
        }
        for (x, v) in d.params.iter().zip(values) {
            shapes.push(a.shape(v, x.ty.first_order().then_some(&x.ty))?);
        }
        // What else types and functions mention are int parameters, before the others.
        let more = a.sizes.iter().cloned().map(V::Int);
        let data: Vec<V> = more.chain(std::mem::take(&mut a.data)).collect();
        let extra = a.sizes.len();
        let at = match self.calls.made.iter().position(|s| s.name == d.name) {
            Some(at) => at,
            None => match self.calls.made.iter().position(|s| s.def == d.name && s.shapes == shapes) {
                Some(at) => at,
                None => self.specialise(d, types.len(), extra, shapes)?,
            },
        };
        self.note_call(at, &data)?;
        let s = &self.calls.made[at];
        // The result's type mentions sizes and int parameters.
        let mut given = Env::default();
        given.vars.extend(s.sizes.iter().cloned().zip(sizes.iter().cloned().map(V::Int)));
        given.vars.extend(s.params.iter().map(|p| p.var.clone()).zip(data.iter().cloned()));
        let (result, map, name_of) = (s.result.clone(), s.map.clone(), s.name.clone());
        let result = self.ty(&result, &given)?;
        let args = data.iter().map(V::reify).collect::<Result<_, _>>()?;
        let call = Term::Call { def: name_of, types: vec![], sizes: sizes.to_vec(), args };
        let value = self.bind(Arc::new(call), &result, name);
        match map {
            None => Ok(value),
            Some(map) => self.with_map(at, &map, value, sizes, &data, &given),
        }
    }

    /// The normal form of a definition at these shapes of its type arguments and arguments; gives its number.
    fn specialise(
        &mut self,
        d: &Arc<Def>,
        types: usize,
        extra: usize,
        shapes: Vec<Shape>,
    ) -> Result<usize, Error> {
        let nested = self.calls.made.iter().filter(|s| s.def == d.name && !s.done).count();
        if nested >= NESTED_LIMIT {
            return Err(Error::grows(&source(&d.name), NESTED_LIMIT));
        }
        if self.calls.made.len() >= SPECIALISATION_LIMIT {
            return Err(Error::specialisations(&source(&d.name), SPECIALISATION_LIMIT));
        }
        let at = self.calls.made.len();
        let (operator, depth) = (self.operator.take(), std::mem::take(&mut self.depth));
        // Whoever differentiates it must still see what is detached.
        self.operands += 1;
        let found = self.value_at_the_end(at, d, types, extra, &shapes);
        self.operands -= 1;
        (self.depth, self.operator) = (depth, operator);
        let (v, items) = found?;
        self.calls.made[at].done = true;
        let signature = Def::clone(&self.program.defs[&self.calls.made[at].name]);
        match self.calls.made[at].map.clone() {
            None => {
                let body = super::wrap(items, v.reify()?);
                self.finish(Def { body, ..signature });
            }
            Some(map) => self.finish_with_map(at, &map, signature, v, items)?,
        }
        Ok(at)
    }

    /// The value of a specialisation's body, and the lets around it, in the light of what it passes on to itself.
    fn value_at_the_end(
        &mut self,
        at: usize,
        d: &Def,
        types: usize,
        extra: usize,
        shapes: &[Shape],
    ) -> Result<(V, Vec<Item>), Error> {
        loop {
            self.callers.push(BTreeSet::new());
            let found = self.region(|n| {
                let (d, env) = n.signature(at, d, types, extra, shapes)?;
                n.term(&d.body, &env, "result")
            });
            let calls = self.callers.pop().unwrap_or_default();
            let found = found?;
            let s = &mut self.calls.made[at];
            s.calls = calls;
            if !s.changed() {
                return Ok(found);
            }
            // It passes on something else than we thought: once more, without what was made of that.
            self.calls.made.truncate(at + 1);
        }
    }

    /// The parameters and the result of a specialisation, which can be called from now on; gives the definition at its types, and what its body
    /// sees.
    fn signature(
        &mut self,
        at: usize,
        d: &Def,
        types: usize,
        extra: usize,
        shapes: &[Shape],
    ) -> Result<(Def, Env), Error> {
        let sizes: Vec<Var> = d.sizes.iter().map(|n| self.var(&n.name, &Type::Int)).collect();
        let extra: Vec<Var> = (0..extra).map(|_| self.var("n", &Type::Int)).collect();
        let mut r = Rebuild::new(self, &sizes, &extra);
        let instances: Vec<Type> = shapes[..types].iter().map(|s| r.instance(s)).collect();
        let (d, named) = instance(d, &instances);
        let mut env = Env::default();
        env.vars.extend(named);
        env.vars.extend(d.sizes.iter().cloned().zip(sizes.iter().map(|n| V::Int(Size::var(n.clone())))));
        for (x, s) in d.params.iter().zip(&shapes[types..]) {
            let v = match x.ty.first_order() {
                true => r.declared(&x.ty, &env, &x.var.name)?,
                false => r.value(s, &x.var.name),
            };
            env.vars.insert(x.var.clone(), v);
        }
        let Rebuild { params, given, .. } = r;
        let result = self.ty(&d.result, &env)?;
        let known = |n: &Var| sizes.contains(n) || params.iter().any(|p| p.var == *n);
        if !lang::walk::type_vars(&result).iter().all(known) {
            return Err(Error::unsupported("a recursive definition whose result has a size of its own"));
        }
        let old = (self.calls.made.len() > at).then(|| self.calls.made.remove(at));
        let (result, map, kind) = match &result {
            _ if result.first_order() => (result, None, "rec"),
            Type::Tuple(ts)
                if let [data, Type::Lin(from, to)] = &ts[..]
                    && data.first_order() =>
            {
                let constant = match &old {
                    Some(old) => old.constant(),
                    None => params.iter().map(|p| p.ty != Type::Int).collect(),
                };
                let (from, to) = ((**from).clone(), (**to).clone());
                let result = Type::tuple([data.clone(), Type::Int]);
                (result, Some(CalledMap { name: "".into(), from, to, constant }), "aug")
            }
            _ => return Err(Error::unsupported("a recursive definition whose result holds a function")),
        };
        let number = match &old {
            Some(old) => old.number,
            None => {
                let count = self.calls.names.entry(d.name.clone()).or_insert(0);
                *count += 1;
                *count
            }
        };
        let named = |kind: &str| -> Name {
            // The source's name is what stands before the first 'rec.
            let rec = if d.name.contains("'rec") || kind == "rec" { "" } else { "'rec" };
            let number = if number == 1 { String::new() } else { number.to_string() };
            format!("{}{rec}'{kind}{number}", d.name).into()
        };
        let (name, map) = (named(kind), map.map(|m| CalledMap { name: named("lin"), ..m }));
        let signature = Def {
            name: name.clone(),
            types: vec![],
            sizes: sizes.clone(),
            params: params.clone(),
            result: result.clone(),
            body: Arc::new(Term::Unread(result.clone())),
            supply: Supply::default(),
        };
        self.program.defs.insert(name.clone(), Arc::new(signature));
        let s = Specialised {
            def: d.name.clone(),
            shapes: shapes.to_vec(),
            name,
            sizes,
            params,
            given,
            result,
            map,
            not_constant: BTreeSet::new(),
            number,
            done: false,
            calls: BTreeSet::new(),
        };
        self.calls.made.insert(at, s);
        if let Some(map) = self.calls.made[at].map.clone() {
            self.declare_map(at, &map);
        }
        Ok((d, env))
    }

    /// The call of a specialisation is noted; if that is not complete, so is what it is not given unchanged.
    fn note_call(&mut self, at: usize, data: &[V]) -> Result<(), Error> {
        let name = self.calls.made[at].name.clone();
        self.callers.last_mut().map(|c| c.insert(name));
        let s = &mut self.calls.made[at];
        if s.done || s.map.is_none() {
            return Ok(());
        }
        for (k, (v, own)) in data.iter().zip(&s.given).enumerate() {
            if v.reify()? != own.reify()? {
                s.not_constant.insert(k);
            }
        }
        Ok(())
    }

    /// A definition in normal form is complete.
    pub(super) fn finish(&mut self, def: Def) {
        let mut supply = Supply { next: self.counter.get() };
        let body = crate::prune::prune(&crate::pull::pull(&def.body, &mut supply));
        self.counter.set(supply.next);
        self.program.defs.insert(def.name.clone(), Arc::new(Def { body, supply, ..def }));
    }

    /// The definitions in normal form that a term calls, and those that they call.
    pub(super) fn callees(&self, t: &Tm) -> BTreeMap<Name, Arc<Def>> {
        let found = reached(t, &self.program).into_iter();
        found.filter_map(|f| Some((f.clone(), self.program.defs.get(&f)?.clone()))).collect()
    }

    /// A definition that the term calls and that is not complete: it cannot be differentiated yet.
    pub(super) fn unfinished(&self, t: &Tm) -> Option<Name> {
        let (mut seen, mut todo) = (BTreeSet::new(), called(t));
        while let Some(f) = todo.pop_first() {
            let Some(s) = self.calls.made.iter().find(|s| s.name == f) else { continue };
            if !s.done {
                return Some(s.def.clone());
            }
            if seen.insert(f) {
                todo.extend(s.calls.iter().cloned());
            }
        }
        None
    }
}

/// The definition that a specialisation or derivative was made of.
pub fn source(name: &Name) -> Name {
    lang::name::source(name).into()
}

/// A definition at these types. Their sizes are the caller's: in the definition they have names, whose values are given too.
fn instance(d: &Def, types: &[Type]) -> (Def, Vec<(Var, V)>) {
    struct Name<'a>(&'a mut Supply, Vec<(Var, Size)>);
    impl Mapper for Name<'_> {
        fn size(&mut self, n: &Size) -> Size {
            if let Some((v, _)) = self.1.iter().find(|(_, m)| m == n) {
                return Size::var(v.clone());
            }
            let v = self.0.fresh("n");
            self.1.push((v.clone(), n.clone()));
            Size::var(v)
        }
    }
    if d.types.is_empty() {
        return (d.clone(), vec![]);
    }
    let mut supply = d.supply.clone();
    let mut names = Name(&mut supply, vec![]);
    let types: Vec<Type> = types.iter().map(|t| names.ty(t)).collect();
    let named = names.1.into_iter().map(|(v, n)| (v, V::Int(n))).collect();
    let mut subst = lang::walk::Subst::new(&mut supply);
    subst.types = d.types.iter().cloned().zip(types).collect();
    let params = d.params.iter().map(|x| Binder::new(x.var.clone(), subst.ty(&x.ty))).collect();
    let (result, body) = (subst.ty(&d.result), subst.term(&d.body));
    (Def { types: vec![], params, result, body, supply, ..d.clone() }, named)
}
