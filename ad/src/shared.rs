//! What the rules of both modes have in common: their primal parts.

use crate::context::{D, Dual, Family, Sub};
use crate::error::{AdError, Reason};
use lang::core::make::{app, build, if_, index, int, lam, let_, proj, real, sum, tuple, unit, var};
use lang::core::{Binder, Extremum, Lit, Term, Tm};
use lang::diag::Site;
use lang::name::{Name, Var};
use lang::prim::Prim;
use lang::size::Size;
use lang::target::{Lin, make as lin};
use lang::types::{LType, Mode, Type};
use lang::walk::{as_size, subst};
use std::borrow::Borrow;
use std::sync::Arc;

pub fn lit_type(lit: Lit) -> Type {
    match lit {
        Lit::Real(_) => Type::Real,
        Lit::Int(_) => Type::Int,
        Lit::Bool(_) => Type::Bool,
    }
}

/// τi of (τ1, …, τk)
pub fn component(ty: &Type, i: usize) -> Type {
    match ty {
        Type::Tuple(ts) => ts[i].clone(),
        other => panic!("compiler bug: projection of {other:?}"),
    }
}

/// n and τ of [n]τ
pub fn array(ty: &Type) -> (Size, Type) {
    match ty {
        Type::Array(n, t) => (n.clone(), (**t).clone()),
        other => panic!("compiler bug: index into {other:?}"),
    }
}

/// ⟨i1, …, z̲, …⟩ with z̲ at place i of (τ̲1, …, τ̲k) and 0̲ elsewhere
pub fn at_component(of: &LType, i: usize, w: Lin) -> Lin {
    match of {
        LType::Tuple(ts) => lin::tuple((0..ts.len()).map(|k| match k == i {
            true => w.clone(),
            false => lin::zero(ts[k].clone()),
        })),
        other => panic!("compiler bug: projection of {other:?}"),
    }
}

// ---- constants

/// A variable from outside Γ. A function from outside has a derivative that is not known here.
pub fn outer_variable(d: &mut D, x: &Var, ty: Type) -> Result<Dual, AdError> {
    if ty.primal(d.mode) != ty {
        return Err(d.error(Reason::UnknownFunction(x.name.clone())));
    }
    Ok(d.constant(lang::core::make::var(x), ty))
}

/// ⟨t, 0̲⟩ where nothing t uses has a derivative, and t's type is its own primal.
pub fn constant(d: &mut D, t: &Tm) -> Option<Dual> {
    if !d.inactive(t) {
        return None;
    }
    let ty = d.source_type(t);
    (ty.primal(d.mode) == ty).then(|| d.constant(t.clone(), ty))
}

/// The same for a call: where no argument is active there is nothing to differentiate.
pub fn constant_call(d: &mut D, t: &Tm, def: &Name) -> Result<Option<Dual>, AdError> {
    match d.program.defs.contains_key(def) {
        true => Ok(constant(d, t)),
        false => Err(d.error(Reason::UnknownDefinition(def.clone()))),
    }
}

// ---- λ and application

/// f = λx. D(t), bound once for both uses of the rule for λ.
pub struct Function {
    f: Binder,
    term: Tm,
    /// x : D(τ)_1
    argument: Binder,
    /// D(σ)_1 * (D(Γ, x)_2 ⊸ D(σ)_2), or its reverse
    dual: Type,
    /// σ
    pub ty: Type,
}

pub fn function(d: &mut D, x: &Binder, t: &Tm) -> Result<Function, AdError> {
    let (t, dual) = d.under(&[(&x.var, &x.ty)], |d| {
        let t = d.dual(t)?;
        let dual = d.dual_type(&t.ty);
        Ok((t, dual))
    })?;
    let argument = d.primal_binder(x);
    let f = Binder::new(d.supply.fresh("f"), Type::fun(argument.ty.clone(), dual.clone()));
    Ok(Function { f, term: lam(argument.clone(), t.term), argument, dual, ty: t.ty })
}

impl Function {
    pub fn bind(&self, body: Tm) -> Tm {
        let_(self.f.clone(), self.term.clone(), body)
    }
    /// A fresh x : D(τ)_1.
    pub fn argument(&self, d: &mut D) -> Binder {
        Binder::new(d.supply.renew(&self.argument.var), self.argument.ty.clone())
    }
    /// ⟨q, M⟩ = f x
    pub fn call(&self, d: &mut D, x: &Binder) -> Sub {
        Sub::new(d, self.dual.clone(), app(var(&self.f.var), var(&x.var)), self.ty.clone())
    }
    /// snd(f x) • v
    pub fn at(&self, x: &Binder, v: impl Borrow<Lin>) -> Lin {
        lin::app(proj(app(var(&self.f.var), var(&x.var)), 1), v.borrow().clone())
    }
}

/// ⟨q, N⟩ = p a for ⟨p, L⟩ = D(t) and ⟨a, M⟩ = D(s)
pub fn applied(d: &mut D, t: &Sub, s: &Sub) -> Sub {
    let (from, to) = match &t.ty {
        Type::Fun(a, b) => (d.tangent(a), (**b).clone()),
        other => panic!("compiler bug: application of {other:?}"),
    };
    let dual = Type::tuple([to.primal(d.mode), d.map_type(from, d.tangent(&to))]);
    Sub::new(d, dual, app(t.p(), s.p()), to)
}

// ---- op

/// y : the type of op's result
pub fn result(d: &mut D, op: Prim) -> Binder {
    Binder::new(d.supply.fresh("y"), lang::typing::scalar(op.row().result))
}

// ---- arrays

/// i, … = the indices of an update, each bound once.
pub fn indices(d: &mut D, index: &[Tm]) -> Result<Vec<(Binder, Tm)>, AdError> {
    let each = |i: &Tm| Ok((Binder::new(d.supply.fresh("i"), Type::Int), d.primal(i)?));
    index.iter().map(each).collect()
}
pub fn names(is: &[(Binder, Tm)]) -> Vec<Tm> {
    is.iter().map(|(i, _)| var(&i.var)).collect()
}
pub fn let_indices(is: Vec<(Binder, Tm)>, body: Tm) -> Tm {
    is.into_iter().rev().fold(body, |body, (i, t)| let_(i, t, body))
}

/// {z̲ with [i, …] = u̲}, both linear: build n (λk. if k = i then {z̲[k] with […] = u̲} else z̲[k]).
pub fn put(d: &mut D, of: &LType, z: Lin, is: &[Tm], u: Lin) -> Lin {
    let (Some((i, rest)), LType::Array(n, element)) = (is.split_first(), of) else { return u };
    let k = d.supply.fresh("k");
    let at = lin::index(z, var(&k));
    let new = put(d, element, at.clone(), rest, u);
    let here = lang::core::make::prim(Prim::IEq, [var(&k), i.clone()]);
    lin::build(k, n.clone(), lin::if_(here, new, at))
}

/// [p1, …, pk] : [k]τ for ⟨pi, Li⟩ = D(ti)
pub fn array_of(d: &D, ty: &Type, ts: &[Sub]) -> Tm {
    let (_, element) = array(ty);
    Arc::new(Term::Array(element.primal(d.mode), ts.iter().map(Sub::p).collect()))
}

// ---- max and min

/// m = max pi, and c = how many pi are m.
pub struct Attained {
    m: Binder,
    value: Tm,
    c: Binder,
    count: Tm,
}

pub fn extremum(d: &mut D, which: Extremum, i: &Var, n: &Size, t: &Family) -> Attained {
    let (i, j) = (d.supply.renew(i), d.supply.renew(i));
    let m = Binder::new(d.supply.fresh("m"), Type::Real);
    let c = Binder::new(d.supply.fresh("c"), Type::Real);
    let body = t.p(&i);
    let value = Arc::new(Term::Extremum { which, index: i, bound: n.clone(), body });
    let one = if_(equal(t.p(&j), var(&m.var)), real(1.0), real(0.0));
    Attained { m, value, c, count: sum(j, n.clone(), one) }
}

impl Attained {
    pub fn bind(&self, body: Tm) -> Tm {
        let body = let_(self.c.clone(), self.count.clone(), body);
        let_(self.m.clone(), self.value.clone(), body)
    }
    /// m
    pub fn value(&self) -> Tm {
        var(&self.m.var)
    }
    /// 1/c
    pub fn share(&self) -> Tm {
        lang::core::make::prim(Prim::Div, [real(1.0), var(&self.c.var)])
    }
    /// p = m
    pub fn by(&self, p: Tm) -> Tm {
        equal(p, self.value())
    }
}

fn equal(a: Tm, b: Tm) -> Tm {
    lang::core::make::prim(Prim::Eq, [a, b])
}

// ---- loops

/// The primal loop, whose outputs carry each step's linear map: r = loop s = p for i < n collect (y, M).
pub struct Steps {
    r: Binder,
    term: Tm,
    bound: Size,
    site: Site,
    /// (σ, [n]υ)
    pub ty: Type,
}

pub fn steps(
    d: &mut D,
    state: &Binder,
    t: &Sub,
    index: &Var,
    bound: &Size,
    body: &Tm,
) -> Result<Steps, AdError> {
    // e = ⟨⟨s', y⟩, M⟩ in Γ, s, i
    let e = d.under(&[(&state.var, &state.ty), (index, &Type::Int)], |d| d.sub(body))?;
    let map = component(e.dual_type(), 1);
    let y = component(&e.ty, 1);
    let step = e.bind(tuple([proj(e.p(), 0), tuple([proj(e.p(), 1), e.l()])]));
    let state = d.primal_binder(state);
    let outputs = Type::array(bound.clone(), Type::tuple([y.primal(d.mode), map]));
    let r = Binder::new(d.supply.fresh("r"), Type::tuple([state.ty.clone(), outputs]));
    let ty = Type::tuple([component(&e.ty, 0), Type::array(bound.clone(), y)]);
    let (index, bound, site) = (index.clone(), bound.clone(), d.site.clone());
    let term = Arc::new(Term::Loop { state, init: t.p(), index, bound: bound.clone(), body: step });
    Ok(Steps { r, term, bound, site, ty })
}

impl Steps {
    pub fn bind(&self, body: Tm) -> Tm {
        let_(self.r.clone(), self.term.clone(), body)
    }
    fn output(&self, i: &Var, component: usize) -> Tm {
        proj(index(proj(var(&self.r.var), 1), var(i), self.site.clone()), component)
    }
    /// ⟨s, [y_0 … y_{n-1}]⟩
    pub fn value(&self, d: &mut D, index: &Var) -> Tm {
        let i = d.supply.renew(index);
        let y = self.output(&i, 0);
        tuple([proj(var(&self.r.var), 0), build(i, self.bound.clone(), y)])
    }
    /// Mi • v
    pub fn at(&self, i: &Var, v: impl Borrow<Lin>) -> Lin {
        lin::app(self.output(i, 1), v.borrow().clone())
    }
}

/// A while loop as the loop with the trip count it takes.
pub struct Counted {
    /// s0, the initial state; in scope of the rest
    pub init: Binder,
    pub trips: Binder,
    /// How often the while loop iterates from s0.
    pub count: Tm,
    /// (loop s = s0 for i < trips do ⟨e, ⟨⟩⟩).0, a source term
    pub iterate: Tm,
}

pub fn counted(d: &mut D, state: &Binder, cond: &Tm, body: &Tm) -> Result<Counted, AdError> {
    let init = Binder::new(d.supply.renew(&state.var), state.ty.clone());
    let trips = Binder::new(d.supply.fresh("trips"), Type::Int);
    // The while loop again, on ⟨s, k⟩.
    let pair = Binder::new(d.supply.fresh("s"), Type::tuple([state.ty.primal(d.mode), Type::Int]));
    let in_state = |d: &mut D, t: &Tm| {
        let s = Binder::new(d.supply.renew(&state.var), state.ty.clone());
        let t = subst(t, &state.var, &var(&s.var), d.supply);
        let t = d.under(&[(&s.var, &s.ty)], |d| d.primal(&t))?;
        Ok(let_(d.primal_binder(&s), proj(var(&pair.var), 0), t))
    };
    let (cond, next) = (in_state(d, cond)?, in_state(d, body)?);
    let more = lang::core::make::prim(Prim::IAdd, [proj(var(&pair.var), 1), int(1)]);
    let (start, next) = (tuple([var(&init.var), int(0)]), tuple([next, more]));
    let count = proj(Arc::new(Term::While { state: pair, init: start, cond, body: next }), 1);
    d.scope.bind(&trips.var, &trips.ty);
    let iterate = proj(
        Arc::new(Term::Loop {
            state: state.clone(),
            init: var(&init.var),
            index: d.supply.fresh("i"),
            bound: Size::var(trips.var.clone()),
            body: tuple([body.clone(), unit()]),
        }),
        0,
    );
    Ok(Counted { init, trips, count, iterate })
}

// ---- calls

/// ⟨q, N⟩ = D(f) a1 … ak for ⟨ai, Li⟩ = D(ti)
pub fn call(d: &mut D, t: &Tm, args: &[Sub]) -> Result<Sub, AdError> {
    let Term::Call { def, types, sizes, args: source } = &**t else {
        unreachable!("only calls have this rule")
    };
    let ty = d.source_type(t);
    let from = plain(args.iter().map(|a| d.tangent(&a.ty)));
    let dual = Type::tuple([ty.primal(d.mode), d.map_type(from, d.tangent(&ty))]);
    d.calls.insert(def.clone());
    let (def, types, sizes) = (derivative_name(def, d.mode), types.clone(), sizes.clone());
    // Types may speak of an int argument that is a size: it stays one.
    let primal = |d: &mut D, (t, a): (&Tm, &Sub)| match a.ty == Type::Int && as_size(t).is_some() {
        true => d.primal(t),
        false => Ok(a.p()),
    };
    let args = source.iter().zip(args).map(|pair| primal(d, pair)).collect::<Result<_, _>>()?;
    Ok(Sub::new(d, dual, Arc::new(Term::Call { def, types, sizes, args }), ty))
}

/// f'fwd, f'rev
pub fn derivative_name(def: &Name, mode: Mode) -> Name {
    match mode {
        Mode::Forward => format!("{def}'fwd").into(),
        Mode::Reverse => format!("{def}'rev").into(),
    }
}

/// (τ̲1, …, τ̲k), for k = 1 the bare τ̲1
pub fn plain(tys: impl Iterator<Item = LType>) -> LType {
    let mut tys: Vec<LType> = tys.collect();
    if tys.len() == 1 { tys.remove(0) } else { LType::tuple(tys) }
}
/// ⟨t1, …, tk⟩, for k = 1 the bare t1
pub fn plain_tuple(ts: impl Iterator<Item = Lin>) -> Lin {
    let mut ts: Vec<Lin> = ts.collect();
    if ts.len() == 1 { ts.remove(0) } else { lin::tuple(ts) }
}
/// Component i of a plain tuple of k.
pub fn plain_proj(t: Lin, i: usize, k: usize) -> Lin {
    if k == 1 { t } else { lin::proj(t, i) }
}
