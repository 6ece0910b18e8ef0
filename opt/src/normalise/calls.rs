//! Calls. A definition that does not call itself is applied where it is called. One that does, directly or through others, is called
//! when the program runs: it becomes a definition of its own in normal form, specialised to the types and functions it is called
//! with (closure conversion: the data that functions capture become parameters).

use super::abstraction::{Abstraction, Rebuild, Shape};
use super::value::{Env, V};
use super::{CALL_LIMIT, Normaliser};
use crate::Error;
use lang::core::{Binder, Def, Term, Tm};
use lang::name::{Name, Supply, Var};
use lang::size::Size;
use lang::types::Type;
use lang::walk::{Mapper, map_term};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// How many specialisations of recursive definitions a program may have.
pub const SPECIALISATION_LIMIT: usize = 200;

/// A definition at the types and functions that it is called with.
pub struct Specialised {
    def: Name,
    shapes: Vec<Shape>,
    pub name: Name,
    /// Sizes and data parameters, as in the definition in normal form.
    pub sizes: Vec<Var>,
    pub params: Vec<Binder>,
    pub result: Type,
    /// Its normal form is there.
    done: bool,
    /// The other specialisations that it calls.
    calls: BTreeSet<Name>,
}

/// What is known of the calls of a program.
#[derive(Default)]
pub struct Calls {
    made: Vec<Specialised>,
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
        // What is differentiated is applied when the program is compiled.
        if self.unrolled == 0 && self.is_recursive(def) {
            return self.call_at_run_time(&d, &types, &sizes, &values, name);
        }
        if self.depth >= CALL_LIMIT {
            return Err(Error::too_deep(def));
        }
        let (d, named) = instance(&d, &types);
        let mut inner = Env::default();
        inner.vars.extend(named);
        inner.vars.extend(d.sizes.iter().cloned().zip(sizes.into_iter().map(V::Int)));
        inner.vars.extend(d.params.iter().map(|x| x.var.clone()).zip(values));
        self.depth += 1;
        let v = self.term(&d.body, &inner, name);
        self.depth -= 1;
        v
    }

    /// The definition calls itself, directly or through others; or it is a specialisation of one that does.
    fn is_recursive(&mut self, def: &Name) -> bool {
        if self.calls.made.iter().any(|s| s.name == *def) {
            return true;
        }
        if let Some(known) = self.calls.recursive.get(def) {
            return *known;
        }
        let (mut seen, mut todo) = (HashSet::new(), vec![def.clone()]);
        let mut found = false;
        while let Some(f) = todo.pop() {
            for g in self.program.defs.get(&f).into_iter().flat_map(|d| called(&d.body)) {
                found |= g == *def;
                if seen.insert(g.clone()) {
                    todo.push(g);
                }
            }
        }
        self.calls.recursive.insert(def.clone(), found);
        found
    }

    fn call_at_run_time(
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
        let Abstraction { sizes, data, .. } = a;
        let at = match self.calls.made.iter().position(|s| s.name == d.name) {
            Some(at) => at,
            None => match self.calls.made.iter().position(|s| s.def == d.name && s.shapes == shapes) {
                Some(at) => at,
                None => self.specialise(d, sizes.len(), types.len(), shapes)?,
            },
        };
        let s = &self.calls.made[at];
        let name_of = s.name.clone();
        self.callers.last_mut().map(|c| c.insert(name_of.clone()));
        // The result's type mentions sizes and int parameters.
        let mut given = Env::default();
        given.vars.extend(s.sizes.iter().cloned().zip(sizes.iter().cloned().map(V::Int)));
        given.vars.extend(s.params.iter().map(|p| p.var.clone()).zip(data.iter().cloned()));
        let result = s.result.clone();
        let result = self.ty(&result, &given)?;
        let args = data.iter().map(V::reify).collect::<Result<_, _>>()?;
        let call = Term::Call { def: name_of, types: vec![], sizes, args };
        Ok(self.bind(Arc::new(call), &result, name))
    }

    /// The normal form of a definition at these shapes of its type arguments and arguments; gives its number.
    fn specialise(
        &mut self,
        d: &Arc<Def>,
        sizes: usize,
        types: usize,
        shapes: Vec<Shape>,
    ) -> Result<usize, Error> {
        if self.calls.made.len() >= SPECIALISATION_LIMIT {
            return Err(Error::specialisations(&source(&d.name), SPECIALISATION_LIMIT));
        }
        let count = self.calls.names.entry(d.name.clone()).or_insert(0);
        *count += 1;
        let number = if *count == 1 { String::new() } else { count.to_string() };
        let name: Name = format!("{}'rec{number}", d.name).into();
        let at = self.calls.made.len();
        self.callers.push(BTreeSet::new());
        let operator = self.operator.take();
        let depth = std::mem::take(&mut self.depth);
        // Whoever differentiates it must still see what is detached.
        self.operands += 1;
        let found = self.region(|n| {
            let (d, env) = n.signature(d, name, sizes, types, shapes)?;
            n.term(&d.body, &env, "result")
        });
        self.operands -= 1;
        (self.depth, self.operator) = (depth, operator);
        let calls = self.callers.pop().unwrap_or_default();
        let (v, items) = found?;
        let body = super::wrap(items, v.reify()?);
        let s = &mut self.calls.made[at];
        (s.done, s.calls) = (true, calls);
        let signature = Def::clone(&self.program.defs[&s.name]);
        self.finish(Def { body, ..signature });
        Ok(at)
    }

    /// The parameters and the result of a specialisation, which can be called from now on; gives the definition at its types, and what its body
    /// sees.
    fn signature(
        &mut self,
        d: &Def,
        name: Name,
        sizes: usize,
        types: usize,
        shapes: Vec<Shape>,
    ) -> Result<(Def, Env), Error> {
        let like = |k: usize| d.sizes.get(k).map_or("n".into(), |n| n.name.clone());
        let sizes: Vec<Var> = (0..sizes).map(|k| self.var(&like(k), &Type::Int)).collect();
        let mut r = Rebuild::new(self, &sizes);
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
        let params = r.params;
        let result = self.ty(&d.result, &env)?;
        if !result.first_order() {
            return Err(Error::unsupported("a recursive definition whose result holds a function"));
        }
        let known = |n: &Var| sizes.contains(n) || params.iter().any(|p| p.var == *n);
        if !super::residual::type_vars(&result).iter().all(known) {
            return Err(Error::unsupported("a recursive definition whose result has a size of its own"));
        }
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
        let (def, calls) = (d.name.clone(), BTreeSet::new());
        self.calls.made.push(Specialised { def, shapes, name, sizes, params, result, done: false, calls });
        Ok((d, env))
    }

    /// A definition in normal form is complete.
    fn finish(&mut self, def: Def) {
        let mut supply = Supply { next: self.counter.get() };
        let body = crate::prune::prune(&crate::pull::pull(&def.body, &mut supply));
        self.counter.set(supply.next);
        self.program.defs.insert(def.name.clone(), Arc::new(Def { body, supply, ..def }));
    }

    /// The definitions in normal form that a term calls, and those that they call.
    pub(super) fn callees(&self, t: &Tm) -> BTreeMap<Name, Arc<Def>> {
        let (mut found, mut todo) = (BTreeMap::new(), called(t));
        while let Some(f) = todo.pop_first() {
            if let Some(d) = self.program.defs.get(&f)
                && found.insert(f, d.clone()).is_none()
            {
                todo.extend(called(&d.body));
            }
        }
        found
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

/// The definitions called in a term.
pub fn called(t: &Tm) -> BTreeSet<Name> {
    struct Called(BTreeSet<Name>);
    impl Mapper for Called {
        fn term(&mut self, t: &Tm) -> Tm {
            if let Term::Call { def, .. } = &**t {
                self.0.insert(def.clone());
            }
            map_term(self, t)
        }
        fn ty(&mut self, t: &Type) -> Type {
            t.clone()
        }
        fn lty(&mut self, t: &lang::types::LType) -> lang::types::LType {
            t.clone()
        }
    }
    let mut c = Called(BTreeSet::new());
    c.term(t);
    c.0
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
