//! Normalising Cartesian terms.

use super::trie::Trie;
use super::value::{Env, FnClosure, LinClosure, V};
use super::{Normaliser, wrap};
use crate::Error;
use lang::core::{Lit, Term, Tm, make};
use lang::diag::Site;
use lang::name::Var;
use lang::prim::{Lowering, Prim};
use lang::size::Size;
use lang::target::{LBinder, Lin};
use lang::types::{Mode, Type};
use lang::typing::Scope;
use std::rc::Rc;
use std::sync::Arc;

/// A polynomial int of more monomials than this is bound to a variable.
const POLYNOMIAL_LIMIT: usize = 6;

impl Normaliser<'_> {
    /// The value of a term; lets it needs go to the current region, the outermost named `name`.
    pub fn term(&mut self, t: &Tm, env: &Env, name: &str) -> Result<V, Error> {
        match &**t {
            Term::Var(x) => Ok(match env.vars.get(x) {
                Some(v) => v.clone(),
                None => {
                    let ty = self
                        .types
                        .get(x)
                        .cloned()
                        .ok_or_else(|| Error::bug(format!("{x:?} is not in scope")))?;
                    match ty {
                        Type::Tuple(_) => self.taken_apart(x, &ty),
                        _ => V::of_var(x, &ty),
                    }
                }
            }),
            Term::Lit(Lit::Int(k)) => Ok(V::int(*k)),
            Term::Lit(Lit::Real(x)) => self.numeral(*x),
            Term::Lit(Lit::Bool(_)) => Ok(V::Atom(t.clone(), Type::Bool)),
            Term::Let(..) => {
                // Long chains of lets are walked, not recursed into.
                let (mut env, mut t) = (env.clone(), t);
                while let Term::Let(x, a, b) = &**t {
                    let v = self.term(a, &env, &x.var.name)?;
                    env.vars.insert(x.var.clone(), v);
                    t = b;
                }
                self.term(t, &env, name)
            }
            Term::Tuple(ts) => {
                let vs: Result<Vec<V>, Error> = ts.iter().map(|t| self.term(t, env, name)).collect();
                Ok(V::tuple(vs?))
            }
            Term::Proj(t, i) => match self.term(t, env, name)? {
                V::Tuple(vs) => Ok(vs[*i].clone()),
                V::Choice(c, a, b) => match (&*a, &*b) {
                    (V::Tuple(x), V::Tuple(y)) => Ok(choice(c, x[*i].clone(), y[*i].clone())),
                    _ => Err(Error::bug("a choice of tuples")),
                },
                V::Int(_) | V::Atom(..) | V::Fn(_) | V::Lin(_) | V::Family(_) => {
                    Err(Error::bug("projection of a value that is no tuple"))
                }
            },
            Term::Inject(i, ty, t) => {
                let v = self.term(t, env, name)?;
                self.inject(*i, ty, v, env)
            }
            Term::Case(t, arms) => {
                let v = self.term(t, env, "scrutinee")?;
                self.case(v, arms, env, name)
            }
            Term::Lam(x, body) => {
                Ok(V::Fn(Rc::new(FnClosure { param: x.clone(), body: body.clone(), env: env.clone() })))
            }
            Term::App(f, a) => {
                let f = self.term(f, env, "f")?;
                let a = self.term(a, env, "x")?;
                self.apply(&f, a, name)
            }
            Term::Prim(p, ts) => {
                let args: Result<Vec<V>, Error> = ts.iter().map(|t| self.term(t, env, "t")).collect();
                self.prim(*p, args?, name)
            }
            Term::If(c, a, b) => {
                let c = self.term(c, env, "c")?;
                match c.literal() {
                    Some(Lit::Bool(c)) => self.term(if c { a } else { b }, env, name),
                    _ => {
                        let c = c.reify()?;
                        self.if_(c, |n| n.term(a, env, name), |n| n.term(b, env, name), name)
                    }
                }
            }
            Term::Build { index, bound, body } => self.build(index, bound, body, env, name),
            Term::Index(a, i, site) => {
                let a = self.term(a, env, "a")?;
                let i = self.term(i, env, "i")?;
                self.element(a, i, site, name)
            }
            Term::Update { array, index, value, site } => self.update(array, index, value, site, env, name),
            Term::Array(ty, ts) => self.array(ty, ts, env, name),
            Term::Sum { index, bound, body } => {
                let (i, bound, body) = self.reduced(index, bound, body, env)?;
                Ok(self.bind(make::sum(i, bound, body), &Type::Real, name))
            }
            Term::Extremum { which, index, bound, body } => {
                let (index, bound, body) = self.reduced(index, bound, body, env)?;
                let t = Term::Extremum { which: *which, index, bound, body };
                Ok(self.bind(Arc::new(t), &Type::Real, name))
            }
            Term::Loop { state, init, index, bound, body } => {
                self.loop_(state, init, index, bound, body, env, name)
            }
            Term::While { state, init, cond, body } => self.while_(state, init, cond, body, env, name),
            Term::Argsort(a) => self.argsort(a, env, name),
            Term::Check { cond, failure, details, site, body } => {
                let c = self.term(cond, env, "ok")?;
                if !matches!(c.literal(), Some(Lit::Bool(true))) {
                    let details: Result<Vec<Tm>, Error> =
                        details.iter().map(|d| self.term(d, env, "d")?.reify()).collect();
                    let check = Term::Check {
                        cond: c.reify()?,
                        failure: failure.clone(),
                        details: details?,
                        site: site.clone(),
                        body: make::unit(),
                    };
                    self.bind(Arc::new(check), &Type::unit(), "checked");
                }
                self.term(body, env, name)
            }
            Term::Call { def, types, sizes, args } => self.call(def, types, sizes, args, env, name),
            Term::Diff { mode, f, x, site } => {
                let f = self.term(f, env, "f")?;
                let x = self.term(x, env, "x")?;
                self.diff(*mode, &f, x, site, name)
            }
            Term::Detach(t) => {
                let v = self.term(t, env, name)?;
                if self.operands == 0 { Ok(v) } else { self.detached(v, name) }
            }
            Term::LinLam(z, body) => Ok(V::Lin(Rc::new(LinClosure {
                param: z.clone(),
                body: body.clone(),
                env: captured(z, body, env),
            }))),
            Term::LinApp(l, a) => {
                let l = self.term(l, env, "l")?;
                let a = self.term(a, env, "w")?;
                let map = self.force(&l)?;
                let ty = map.codomain.erase();
                let ty = ty.ok_or_else(|| Error::unsupported("a derivative with respect to a function"))?;
                let map = map.term();
                Ok(self.bind(make::lin_app(map, a.reify()?), &ty, name))
            }
            // Only complete definitions have them, which are not normalised again.
            Term::Box(_) | Term::Unbox(..) => {
                Err(Error::unsupported("a box outside of what a derivative keeps"))
            }
            Term::Unread(ty) => {
                let ty = self.ty(ty, env)?;
                Ok(self.bind(Arc::new(Term::Unread(ty.clone())), &ty, name))
            }
            Term::Zero(ty) => {
                let ty = self.lty(ty, env)?;
                let erased = ty.erase().ok_or_else(|| Error::unsupported("a zero of function type"))?;
                Ok(self.bind(Arc::new(Term::Zero(ty)), &erased, name))
            }
        }
    }

    /// f applied to a value, by β.
    pub fn apply(&mut self, f: &V, a: V, name: &str) -> Result<V, Error> {
        match f {
            V::Fn(c) => {
                self.count_application()?;
                let mut env = c.env.clone();
                env.vars.insert(c.param.var.clone(), a);
                self.term(&c.body, &env, name)
            }
            V::Choice(c, g, h) => {
                self.if_(c.clone(), |n| n.apply(g, a.clone(), name), |n| n.apply(h, a.clone(), name), name)
            }
            V::Int(_) | V::Atom(..) | V::Tuple(_) | V::Lin(_) | V::Family(_) => {
                Err(Error::function_survives())
            }
        }
    }

    /// A numeral in the precision of the program.
    fn numeral(&self, x: f64) -> Result<V, Error> {
        match self.precision.overflows(x) {
            true => Err(Error::numeral_too_large(x, self.precision)),
            false => Ok(V::real(self.precision.round(x))),
        }
    }

    pub(super) fn prim(&mut self, p: Prim, args: Vec<V>, name: &str) -> Result<V, Error> {
        // Ints: polynomials stay symbolic.
        let sizes: Option<Vec<Size>> = args.iter().map(V::as_size).collect();
        let polynomial = match (p, sizes.as_deref()) {
            (Prim::IAdd, Some([a, b])) => a.checked_add(b),
            (Prim::ISub, Some([a, b])) => b.checked_neg().and_then(|b| a.checked_add(&b)),
            (Prim::IMul, Some([a, b])) => a.checked_mul(b),
            _ => None,
        };
        if let Some(n) = polynomial {
            if n.terms.len() <= POLYNOMIAL_LIMIT {
                return Ok(V::Int(n));
            }
            return Ok(self.bind(make::size(&n), &Type::Int, name));
        }
        let literals: Option<Vec<Lit>> = args.iter().map(V::literal).collect();
        if let Some(literals) = literals
            && matches!(p.row().lowering, Lowering::Op(_))
            && let Some(value) = p.value(&literals, self.precision)
        {
            return Ok(match value {
                Lit::Int(k) => V::int(k),
                Lit::Real(x) => V::real(x),
                Lit::Bool(b) => V::bool(b),
            });
        }
        let args: Result<Vec<Tm>, Error> = args.iter().map(V::reify).collect();
        let ty = lang::typing::scalar(p.row().result);
        Ok(self.bind(make::prim(p, args?), &ty, name))
    }

    /// Two arms in regions of their own. Data is the result of an `if`; what maps and functions of an arm need is kept beside it.
    pub(super) fn if_(
        &mut self,
        c: Tm,
        a: impl FnOnce(&mut Self) -> Result<V, Error>,
        b: impl FnOnce(&mut Self) -> Result<V, Error>,
        name: &str,
    ) -> Result<V, Error> {
        let (va, mut ia) = self.region(a)?;
        let (vb, mut ib) = self.region(b)?;
        if va.is_data() && vb.is_data() {
            let ty = va.ty()?;
            let t = make::if_(c, wrap(ia, va.reify()?), wrap(ib, vb.reify()?));
            return Ok(self.bind(t, &ty, name));
        }
        // Data components common to both arms come first, then what each arm keeps.
        let mut data = vec![];
        let shape = split(&va, &vb, &mut data)?;
        let ka = self.keep(without_data(&va, &shape), &mut ia, &[])?;
        let kb = self.keep(without_data(&vb, &shape), &mut ib, &[])?;
        let mut ta: Vec<Tm> = vec![];
        let mut tb: Vec<Tm> = vec![];
        let mut types: Vec<Type> = vec![];
        for (x, y) in &data {
            ta.push(x.reify()?);
            tb.push(y.reify()?);
            types.push(x.ty()?);
        }
        for (x, ty) in &ka.saved {
            ta.push(make::var(x));
            tb.push(Arc::new(Term::Unread(ty.clone())));
            types.push(ty.clone());
        }
        for (x, ty) in &kb.saved {
            ta.push(Arc::new(Term::Unread(ty.clone())));
            tb.push(make::var(x));
            types.push(ty.clone());
        }
        let results: Vec<V> = if types.is_empty() {
            vec![]
        } else {
            let one = types.len() == 1;
            let pack = |mut ts: Vec<Tm>| if one { ts.remove(0) } else { make::tuple(ts) };
            let t = make::if_(c.clone(), wrap(ia, pack(ta)), wrap(ib, pack(tb)));
            let ty = if one { types[0].clone() } else { Type::tuple(types.clone()) };
            match self.bind(t, &ty, name) {
                V::Tuple(vs) if !one => vs.to_vec(),
                v => vec![v],
            }
        };
        let load = |saved: &[(Var, Type)], from: usize| -> Trie<Var, V> {
            saved.iter().zip(&results[from..]).map(|((x, _), v)| (x.clone(), v.clone())).collect()
        };
        let ma = load(&ka.saved, data.len());
        let mb = load(&kb.saved, data.len() + ka.saved.len());
        let va = self.instantiate(&ka.value, &ma)?;
        let vb = self.instantiate(&kb.value, &mb)?;
        Ok(join(&c, &shape, &va, &vb, &results))
    }

    /// detach of a value, kept until D has seen it. Ints and bools have no derivative anyway.
    pub(super) fn detached(&mut self, v: V, name: &str) -> Result<V, Error> {
        Ok(match v {
            V::Int(_) | V::Atom(_, Type::Bool) => v,
            V::Atom(t, ty) => self.bind(Arc::new(Term::Detach(t)), &ty, name),
            V::Tuple(vs) => {
                let parts: Result<Vec<V>, Error> =
                    vs.iter().map(|v| self.detached(v.clone(), name)).collect();
                V::tuple(parts?)
            }
            V::Fn(_) | V::Lin(_) | V::Family(_) | V::Choice(..) => {
                return Err(Error::unsupported("detach of a function"));
            }
        })
    }

    /// D of a known function at a value: D(t) is evaluated like any other term.
    pub(super) fn diff(&mut self, mode: Mode, f: &V, x: V, site: &Site, name: &str) -> Result<V, Error> {
        let ty = x.ty()?;
        let p = self.var("x", &ty);
        self.operands += 1;
        let region = self.region(|n| {
            let pv = n.taken_apart(&p, &ty);
            n.apply(f, pv, "y")
        });
        self.operands -= 1;
        let (v, items) = region?;
        if !v.is_data() {
            return Err(Error::not_first_order(site.clone()));
        }
        let body = wrap(items, v.reify()?);
        let body = crate::prune::prune(&body);
        if let Some(f) = self.unfinished(&body) {
            return Err(Error::inside_itself(&f, site.clone()));
        }
        let mut supply = lang::name::Supply { next: self.counter.get() };
        let body = crate::pull::pull(&body, &mut supply);
        let mut scope = Scope { vars: self.types.clone(), lins: self.ltypes.clone() };
        scope.bind(&p, &ty);
        let binder = lang::core::Binder::new(p.clone(), ty);
        let outer = self.operator.replace(site.clone());
        let derive = self.derive;
        let derived = derive(&mut self.program, mode, &binder, &body, &scope, site, &mut supply)?;
        self.counter.set(supply.next);
        let mut env = Env::default();
        env.vars.insert(p, x);
        let v = self.term(&derived, &env, name);
        self.operator = outer.or(self.operator.take());
        v
    }
}

/// Of an environment, what λ̲z. t uses: D makes a map in every term, each small, and all of the environment would be kept for all of them.
fn captured(z: &LBinder, t: &Lin, env: &Env) -> Env {
    let mut captured = Env::default();
    for x in lang::walk::free_vars_lin(t).into_iter().chain(lang::walk::ltype_vars(&z.ty)) {
        if let Some(lv) = env.lins.get(&x) {
            captured.lins.insert(x.clone(), lv.clone());
        }
        if let Some(v) = env.vars.get(&x) {
            captured.vars.insert(x, v.clone());
        }
    }
    captured
}

pub(super) fn choice(c: Tm, a: V, b: V) -> V {
    V::Choice(c, Rc::new(a), Rc::new(b))
}

/// The common form of two arms' values: where both are data, and where a function makes it a choice.
enum Split {
    Data(usize),
    Choice,
    Tuple(Vec<Split>),
}

fn split(a: &V, b: &V, data: &mut Vec<(V, V)>) -> Result<Split, Error> {
    if a.is_data() && b.is_data() {
        data.push((a.clone(), b.clone()));
        return Ok(Split::Data(data.len() - 1));
    }
    match (a, b) {
        (V::Tuple(x), V::Tuple(y)) => {
            let parts: Result<Vec<Split>, Error> =
                x.iter().zip(y.iter()).map(|(x, y)| split(x, y, data)).collect();
            Ok(Split::Tuple(parts?))
        }
        _ => Ok(Split::Choice),
    }
}

/// A value without its data, which is a result of the branch already.
fn without_data(v: &V, shape: &Split) -> V {
    match (v, shape) {
        (_, Split::Data(_)) => V::unit(),
        (V::Tuple(vs), Split::Tuple(ss)) => {
            V::tuple(vs.iter().zip(ss).map(|(v, s)| without_data(v, s)).collect::<Vec<_>>())
        }
        (v, Split::Tuple(_) | Split::Choice) => v.clone(),
    }
}

fn join(c: &Tm, shape: &Split, a: &V, b: &V, results: &[V]) -> V {
    match (shape, a, b) {
        (Split::Data(k), _, _) => results[*k].clone(),
        (Split::Tuple(ss), V::Tuple(x), V::Tuple(y)) => V::tuple(
            ss.iter()
                .zip(x.iter().zip(y.iter()))
                .map(|(s, (x, y))| join(c, s, x, y, results))
                .collect::<Vec<_>>(),
        ),
        (Split::Tuple(_) | Split::Choice, _, _) => choice(c.clone(), a.clone(), b.clone()),
    }
}
