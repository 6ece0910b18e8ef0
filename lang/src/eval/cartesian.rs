//! ⟦Γ ⊢ t : τ⟧, one arm per former of [`Term`].

use super::env::Env;
use super::number::{Answer, Atom, Number};
use super::value::{Closure, LinClosure, LinValue, Value};
use super::{Eval, EvalError, Limit, Machine, bug};
use crate::core::{Binder, Extremum, Lit, Term, Tm};
use crate::diag::{Failure, Site};
use crate::loops::DEPTH_LIMIT;
use crate::name::{Name, Supply, Var};
use crate::prim::{Lowering, Prim};
use crate::size::Size;
use crate::target::Lin;
use crate::types::{LType, Type};
use crate::typing::{Scope, type_of};
use crate::walk::{Mapper, free_vars};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

impl Machine<'_> {
    pub(super) fn term<N: Number>(&mut self, t: &Tm, env: &Env<N>) -> Eval<Value<N>> {
        self.step()?;
        match &**t {
            Term::Var(x) => env.get(x).cloned().ok_or_else(|| EvalError::Bug(format!("{x:?} has no value"))),
            Term::Lit(Lit::Real(x)) => number(*x).map(Value::Real),
            Term::Lit(Lit::Int(k)) => Ok(Value::Int(*k)),
            Term::Lit(Lit::Bool(b)) => Ok(Value::Bool(*b)),
            // let x = t in s
            Term::Let(x, t, s) => {
                let v = self.term(t, env)?;
                self.term(s, &env.with(x, v))
            }
            Term::Tuple(ts) => Ok(Value::Tuple(self.terms(ts, env)?)),
            Term::Proj(t, i) => component(&self.term(t, env)?, *i),
            Term::Inject(i, _, t) => Ok(Value::inject(*i, self.term(t, env)?)),
            Term::Case(t, arms) => {
                self.cost.branches += 1;
                let (tag, payload) = summand(self.term(t, env)?)?;
                let Some((x, s)) = arms.get(tag) else { return bug("case without an arm for the tag") };
                self.term(s, &env.with(x, payload))
            }
            Term::Lam(x, t) => Ok(Value::Closure(Arc::new(Closure {
                param: x.clone(),
                body: t.clone(),
                env: env.cartesian(),
            }))),
            Term::App(t, s) => {
                let f = self.term(t, env)?;
                let arg = self.term(s, env)?;
                self.apply(&f, arg)
            }
            Term::Prim(p, ts) => {
                let args = self.terms(ts, env)?;
                self.prim(*p, &args)
            }
            Term::If(c, t, s) => {
                self.cost.branches += 1;
                if self.truth(c, env)? { self.term(t, env) } else { self.term(s, env) }
            }
            Term::Build { index, bound, body } => {
                let elements = self.each(index, bound, env, |m, env| m.term(body, env))?;
                self.cost.elements += elements.len() as u64;
                Ok(Value::array(elements))
            }
            Term::Index(a, i, site) => {
                let a = self.term(a, env)?;
                let i = self.int(i, env)?;
                if let Value::Unread = a {
                    return Ok(Value::Unread);
                }
                let Some(elements) = a.as_array() else { return bug("index into no array") };
                self.cost.elements += 1;
                Ok(elements[place(i, elements.len(), site)?].clone())
            }
            Term::Update { array, index, value, site } => {
                let array = self.term(array, env)?;
                let index: Vec<i64> = index.iter().map(|i| self.int(i, env)).collect::<Eval<_>>()?;
                let value = self.term(value, env)?;
                self.cost.elements += 1;
                updated(&array, &index, value, site)
            }
            Term::Array(_, ts) => {
                self.cost.elements += ts.len() as u64;
                Ok(Value::Array(self.terms(ts, env)?))
            }
            Term::Sum { index, bound, body } => self.sum(index, bound, body, env),
            Term::Extremum { which, index, bound, body } => self.extremum(*which, index, bound, body, env),
            Term::Loop { state, init, index, bound, body } => self.fold(state, init, index, bound, body, env),
            Term::While { state, init, cond, body } => {
                let mut env = env.clone();
                let mut s = self.term(init, &env)?;
                loop {
                    self.cost.iterations += 1;
                    env.bind(state, s.clone());
                    if !self.truth(cond, &env)? {
                        return Ok(s);
                    }
                    s = self.term(body, &env)?;
                }
            }
            Term::Argsort(t) => {
                let array = self.term(t, env)?;
                self.argsort(&array)
            }
            Term::Check { cond, failure, details, site, body } => {
                self.cost.branches += 1;
                if self.truth(cond, env)? {
                    return self.term(body, env);
                }
                let details = details.iter().map(|t| self.int(t, env)).collect::<Eval<_>>()?;
                Err(EvalError::Failed { failure: failure.clone(), site: site.clone(), details })
            }
            Term::Call { def, types, sizes, args } => {
                let args = self.terms(args, env)?;
                self.cost.calls += 1;
                self.call(def, types, sizes, args.to_vec(), env)
            }
            Term::Diff { .. } => bug("a differentiation operator is left; D resolves it before evaluation"),
            Term::Detach(t) => self.term(t, env),
            // l-lam
            Term::LinLam(z, t) => Ok(Value::LinClosure(Arc::new(LinClosure {
                param: z.clone(),
                body: t.clone(),
                env: env.cartesian(),
            }))),
            Term::LinApp(l, t) => {
                let map = self.term(l, env)?;
                let arg = self.term(t, env)?;
                let (domain, codomain) = self.map_type(l, env)?;
                let Some(arg) = LinValue::of_value(&arg, &domain) else {
                    return bug("a linear map is applied to a value of another type");
                };
                let result = self.apply_linear(&map, arg)?;
                dense(&result, &codomain, env, &Value::Real(N::zero()))
            }
            Term::Box(t) => {
                let value = self.term(t, env)?;
                self.cost.elements += 1;
                self.boxes.push(Box::new(value));
                Ok(Value::Int(self.boxes.len() as i64 - 1))
            }
            Term::Unbox(_, t) => {
                let handle = self.int(t, env)?;
                self.cost.elements += 1;
                let kept = usize::try_from(handle).ok().and_then(|k| self.boxes.get(k));
                match kept.and_then(|kept| kept.downcast_ref::<Value<N>>()) {
                    Some(value) => Ok(value.clone()),
                    None => bug(format!("no value has the handle {handle}")),
                }
            }
            Term::Unread(_) => Ok(Value::Unread),
            Term::Zero(ty) => dense(&LinValue::Zero, &env.close().lty(ty), env, &Value::Zero),
        }
    }

    fn terms<N: Number>(&mut self, ts: &[Tm], env: &Env<N>) -> Eval<Arc<[Value<N>]>> {
        ts.iter().map(|t| self.term(t, env)).collect()
    }
    pub(super) fn int<N: Number>(&mut self, t: &Tm, env: &Env<N>) -> Eval<i64> {
        self.term(t, env)?.as_int().ok_or_else(|| EvalError::Bug("not an int".into()))
    }
    pub(super) fn truth<N: Number>(&mut self, t: &Tm, env: &Env<N>) -> Eval<bool> {
        self.term(t, env)?.as_bool().ok_or_else(|| EvalError::Bug("not a bool".into()))
    }

    pub(super) fn apply<N: Number>(&mut self, f: &Value<N>, arg: Value<N>) -> Eval<Value<N>> {
        self.cost.calls += 1;
        match f {
            Value::Closure(f) => self.term(&f.body, &f.env.with(&f.param, arg)),
            _ => bug("application of no function"),
        }
    }

    /// The number of iterations a bound stands for.
    pub(super) fn extent<N: Number>(&mut self, n: &Size, env: &Env<N>) -> Eval<i64> {
        match env.size(n) {
            Some(k) => Ok(k.max(0)),
            None if n.vars().all(|x| env.get(x).is_some()) => {
                Err(EvalError::Limit(Limit::Length(i64::MAX as u64)))
            }
            None => bug(format!("the size {n} has no value")),
        }
    }

    /// The results of `body` for each index below the bound.
    pub(super) fn each<N: Number, T>(
        &mut self,
        index: &Var,
        bound: &Size,
        env: &Env<N>,
        mut body: impl FnMut(&mut Self, &Env<N>) -> Eval<T>,
    ) -> Eval<Vec<T>> {
        let n = self.extent(bound, env)?;
        self.allows(n)?;
        let mut env = env.clone();
        let mut out = Vec::new();
        for i in 0..n {
            self.cost.iterations += 1;
            env.bind_int(index, i);
            out.push(body(self, &env)?);
        }
        Ok(out)
    }

    pub(super) fn allows(&self, length: i64) -> Eval<()> {
        let limit = self.limits.length;
        if length as u64 > limit { Err(EvalError::Limit(Limit::Length(limit))) } else { Ok(()) }
    }

    /// Σ_{i<n} t, from 0.0 in index order. Structural zeros add nothing; a sum of nothing but them is one.
    fn sum<N: Number>(&mut self, index: &Var, bound: &Size, body: &Tm, env: &Env<N>) -> Eval<Value<N>> {
        let n = self.extent(bound, env)?;
        let mut env = env.clone();
        let mut total = (n == 0).then(N::zero);
        for i in 0..n {
            self.cost.iterations += 1;
            env.bind_int(index, i);
            match self.term(body, &env)? {
                Value::Zero => {}
                Value::Real(x) => {
                    self.cost.operations += 1;
                    total = Some(total.unwrap_or_else(N::zero).plus(&x));
                }
                _ => return bug("a sum of no reals"),
            }
        }
        Ok(total.map_or(Value::Zero, Value::Real))
    }

    /// max_{i<n} t or min_{i<n} t, from ∓∞ in index order; NaN once met stays.
    fn extremum<N: Number>(
        &mut self,
        which: Extremum,
        index: &Var,
        bound: &Size,
        body: &Tm,
        env: &Env<N>,
    ) -> Eval<Value<N>> {
        let n = self.extent(bound, env)?;
        let mut env = env.clone();
        let mut best: Option<N> = None;
        for i in 0..n {
            self.cost.iterations += 1;
            self.cost.operations += 1;
            env.bind_int(index, i);
            let Some(x) = self.term(body, &env)?.as_real() else { return bug("an extremum of no reals") };
            let better = |m: &N| match which {
                Extremum::Max => x.order(m) == Ordering::Greater,
                Extremum::Min => !m.is_nan() && (x.is_nan() || x.order(m) == Ordering::Less),
            };
            if best.as_ref().is_none_or(better) {
                best = Some(x);
            }
        }
        match (best, which) {
            (Some(x), _) => Ok(Value::Real(x)),
            (None, Extremum::Max) => number(f64::NEG_INFINITY).map(Value::Real),
            (None, Extremum::Min) => number(f64::INFINITY).map(Value::Real),
        }
    }

    /// loop s = init for i < n do body: the last state and the outputs.
    fn fold<N: Number>(
        &mut self,
        state: &Binder,
        init: &Tm,
        index: &Var,
        bound: &Size,
        body: &Tm,
        env: &Env<N>,
    ) -> Eval<Value<N>> {
        let mut s = self.term(init, env)?;
        let outputs = self.each(index, bound, env, |m, env| {
            let next = m.term(body, &env.with(state, s.clone()))?;
            s = component(&next, 0)?;
            let output = component(&next, 1)?;
            let is_unit = output.as_tuple().is_some_and(<[_]>::is_empty);
            m.cost.elements += u64::from(!is_unit);
            Ok(output)
        })?;
        Ok(Value::tuple([s, Value::array(outputs)]))
    }

    /// Stable, ascending, NaN last; n·⌈log₂ n⌉ comparisons are counted.
    fn argsort<N: Number>(&mut self, array: &Value<N>) -> Eval<Value<N>> {
        let Some(elements) = array.as_array() else { return bug("argsort of no array") };
        let keys: Option<Vec<Atom<N>>> = elements.iter().map(Value::as_atom).collect();
        let Some(keys) = keys else { return bug("argsort of no numbers") };
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by(|&i, &j| match (&keys[i], &keys[j]) {
            (Atom::Real(x), Atom::Real(y)) => x.order(y),
            (Atom::Int(x), Atom::Int(y)) => x.cmp(y),
            (Atom::Bool(x), Atom::Bool(y)) => x.cmp(y),
            (Atom::Real(_) | Atom::Int(_) | Atom::Bool(_), _) => Ordering::Equal,
        });
        let n = keys.len() as u64;
        self.cost.operations += n * u64::from(64 - n.saturating_sub(1).leading_zeros());
        self.cost.elements += 2 * n;
        Ok(Value::array(order.into_iter().map(|i| Value::Int(i as i64))))
    }

    fn call<N: Number>(
        &mut self,
        def: &Name,
        types: &[Type],
        sizes: &[Size],
        args: Vec<Value<N>>,
        env: &Env<N>,
    ) -> Eval<Value<N>> {
        let sizes: Option<Vec<i64>> = sizes.iter().map(|n| env.size(n)).collect();
        let Some(sizes) = sizes else { return Err(EvalError::Limit(Limit::Length(i64::MAX as u64))) };
        let types = types.iter().map(|t| env.close().ty(t));
        let names = self.program.defs.get(def).map(|d| d.types.clone()).unwrap_or_default();
        self.enter(def, names.into_iter().zip(types).collect(), &sizes, args)
    }

    /// The body of a definition, its parameters bound.
    pub(super) fn enter<N: Number>(
        &mut self,
        def: &str,
        types: HashMap<Name, Type>,
        sizes: &[i64],
        args: Vec<Value<N>>,
    ) -> Eval<Value<N>> {
        let program = self.program;
        let Some(d) = program.defs.get(def) else { return bug(format!("no definition {def}")) };
        if d.params.len() != args.len() || d.sizes.len() != sizes.len() {
            return bug(format!("{def} is called with the wrong number of arguments"));
        }
        let mut env = Env::new(types);
        for (n, k) in d.sizes.iter().zip(sizes) {
            env.bind_int(n, *k);
        }
        for (x, v) in d.params.iter().zip(args) {
            env.bind(x, v);
        }
        // The outermost is the entry point, not a call.
        if i64::from(self.calls) > DEPTH_LIMIT {
            let site = Site { def: crate::name::source(def).into(), span: Default::default() };
            let details = vec![DEPTH_LIMIT];
            return Err(EvalError::Failed { failure: Failure::TooDeep, site, details });
        }
        if self.calls == self.limits.calls {
            return Err(EvalError::Limit(Limit::Calls(self.calls)));
        }
        self.calls += 1;
        let value = self.term(&d.body, &env);
        self.calls -= 1;
        value
    }

    /// op(v1, …, vk). At structural zeros: linear in one, it gives it back; + and − take the other side; else they read 0.
    fn prim<N: Number>(&mut self, p: Prim, args: &[Value<N>]) -> Eval<Value<N>> {
        let row = p.row();
        match (p, args) {
            (Prim::Add, [x, Value::Zero] | [Value::Zero, x]) | (Prim::Sub, [x, Value::Zero]) => {
                return Ok(x.clone());
            }
            (Prim::Sub, [Value::Zero, x]) => return self.prim(Prim::Neg, std::slice::from_ref(x)),
            _ if row.linear_in.iter().any(|i| matches!(args.get(*i), Some(Value::Zero))) => {
                return Ok(Value::Zero);
            }
            _ => {}
        }
        self.cost.operations += u64::from(row.cost);
        let atoms: Option<Vec<Atom<N>>> = args.iter().map(Value::as_atom).collect();
        let Some(atoms) = atoms.filter(|a| a.len() == row.args.len()) else {
            return bug(format!("{} applied to no scalars", row.name));
        };
        match N::prim(p, &atoms) {
            Answer::Value(Atom::Real(x)) => Ok(Value::Real(x)),
            Answer::Value(Atom::Int(k)) => Ok(Value::Int(k)),
            Answer::Value(Atom::Bool(b)) => Ok(Value::Bool(b)),
            Answer::Inexact => Err(EvalError::Inexact { operation: row.name.into() }),
            Answer::Expand => self.expansion(p, args),
        }
    }

    /// op(v1, …, vk) by the expansion in its row; its cost is the row's all the same.
    fn expansion<N: Number>(&mut self, p: Prim, args: &[Value<N>]) -> Eval<Value<N>> {
        let row = p.row();
        let Lowering::Expand(expand) = row.lowering else {
            return bug(format!("{} has no expansion", row.name));
        };
        let mut supply = Supply::default();
        let params: Vec<Binder> =
            row.args.iter().map(|s| Binder::new(supply.fresh("x"), crate::typing::scalar(*s))).collect();
        let names: Vec<Tm> = params.iter().map(|x| crate::core::make::var(&x.var)).collect();
        let body = expand(&names, &mut supply);
        let mut env = Env::new(HashMap::new());
        for (x, v) in params.iter().zip(args) {
            env.bind(x, v.clone());
        }
        let before = self.cost;
        let value = self.term(&body, &env);
        self.cost = before;
        value
    }

    /// The domain and codomain of a linear map, from the types of the variables it mentions.
    fn map_type<N: Number>(&self, map: &Tm, env: &Env<N>) -> Eval<(LType, LType)> {
        let mut scope = Scope::default();
        for x in free_vars(map) {
            if let Some(ty) = env.type_of(&x) {
                scope.bind(&x, ty);
            }
        }
        match type_of(map, &mut scope, self.program) {
            Type::Lin(a, b) => Ok((env.close().lty(&a), env.close().lty(&b))),
            other => bug(format!("linear application of {other:?}")),
        }
    }

    /// L • v. The structural zero goes to the structural zero.
    pub(super) fn apply_linear<N: Number>(&mut self, map: &Value<N>, arg: LinValue<N>) -> Eval<LinValue<N>> {
        self.cost.calls += 1;
        match (map, arg) {
            (Value::LinClosure(_), LinValue::Zero) => Ok(LinValue::Zero),
            (Value::LinClosure(l), arg) => {
                let body: &Lin = &l.body;
                self.lin(body, &l.env.with_lin(&l.param.var, arg))
            }
            _ => bug("linear application of no linear map"),
        }
    }
}

fn number<N: Number>(x: f64) -> Eval<N> {
    N::of(x).ok_or_else(|| EvalError::Inexact { operation: format!("the number {x}") })
}

/// Where in an array of a length the index is.
fn place(i: i64, length: usize, site: &Site) -> Eval<usize> {
    usize::try_from(i).ok().filter(|i| *i < length).ok_or_else(|| EvalError::Failed {
        failure: Failure::IndexOutOfRange,
        site: site.clone(),
        details: vec![i, length as i64],
    })
}

/// {a with [i, …] = v}
fn updated<N: Number>(a: &Value<N>, index: &[i64], v: Value<N>, site: &Site) -> Eval<Value<N>> {
    let Some((i, rest)) = index.split_first() else { return Ok(v) };
    if let Value::Unread = a {
        return Ok(Value::Unread);
    }
    let Some(elements) = a.as_array() else { return bug("update of no array") };
    let i = place(*i, elements.len(), site)?;
    let mut elements = elements.to_vec();
    elements[i] = updated(&elements[i], rest, v, site)?;
    Ok(Value::array(elements))
}

fn component<N: Number>(v: &Value<N>, i: usize) -> Eval<Value<N>> {
    match (v, v.as_tuple().and_then(|vs| vs.get(i))) {
        (Value::Unread, _) => Ok(Value::Unread),
        (_, Some(v)) => Ok(v.clone()),
        (_, None) => bug("projection of no tuple"),
    }
}

pub(super) fn summand<N: Number>(v: Value<N>) -> Eval<(usize, Value<N>)> {
    match v {
        Value::Inject(tag, payload) => Ok((tag, (*payload).clone())),
        _ => bug("case of no sum"),
    }
}

fn dense<N: Number>(v: &LinValue<N>, ty: &LType, env: &Env<N>, zero: &Value<N>) -> Eval<Value<N>> {
    match v.densify(ty, &|n| env.size(n), zero) {
        Some(v) => Ok(v),
        None => bug(format!("{v:?} is no value of type {ty:?}")),
    }
}
