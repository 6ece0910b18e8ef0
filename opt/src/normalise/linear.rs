//! Normalising linear terms: known maps are applied, environments and tuples come apart, structural zeros vanish.
//! Every step is an instance of a law of chad.md §2 (β for ⊸, products; homomorphism laws for 0̲).

use super::slots::Slots;
use super::value::{Env, LV, V};
use super::{Item, Normaliser};
use crate::Error;
use lang::core::make::prim;
use lang::core::{Binder, Term, Tm};
use lang::diag::Site;
use lang::name::Var;
use lang::prim::Prim;
use lang::size::Size;
use lang::target::{Lin, LinTerm, make};
use lang::types::{LType, Type};
use lang::walk::{Mapper, map_lin};
use std::collections::BTreeSet;
use std::rc::Rc;

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
                let level = ety.depth() - 1 - up;
                Ok(if lv.is_zero() { LV::Zero(ety) } else { LV::Env(ety, Slots::one(level, lv)) })
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
                if let Some(lv) = self.apply_called(l, s, env)? {
                    return Ok(lv);
                }
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
            LinTerm::Build { index, bound, body } => self.lin_build(index, bound, body, env),
            LinTerm::Index(t, i) => {
                let lv = self.lin(t, env)?;
                let i = self.term(i, env, "i")?;
                self.lin_index(lv, i)
            }
            LinTerm::OneHot { bound, index, term } => self.lin_onehot(bound, index, term, env),
            LinTerm::Sum { index, bound, body } => self.lin_reduced(index, bound, body, env),
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

    /// build n (λi. t)
    fn lin_build(&mut self, index: &Var, bound: &Size, body: &Lin, env: &Env) -> Result<LV, Error> {
        let bound = self.size(bound, env)?;
        // build n (λi. f(onehot_k(v)[i])) is onehot_k(f(v)) at i = k.
        if let Some(k) = sifted(index, body, env) {
            let mut inner = env.clone();
            inner.vars.insert(index.clone(), self.int_value(&k));
            let lv = self.lin(body, &inner)?;
            return Ok(LV::OneHot(bound, k, Rc::new(lv)));
        }
        let (i, inner) = self.enter(index, &bound, env);
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

    /// t[i]
    fn lin_index(&mut self, lv: LV, i: V) -> Result<LV, Error> {
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
                let LType::Array(n, elem) = other.ty() else {
                    unreachable!("compiler bug: index into a linear value that is no array")
                };
                self.check_linear(&i, &n)?;
                let a = self.share(other, "z");
                LV::Term(make::index(self.reify_lin(&a), i.reify()?), (*elem).clone())
            }
        })
    }

    /// onehot_i(t)
    fn lin_onehot(&mut self, bound: &Size, index: &Tm, term: &Lin, env: &Env) -> Result<LV, Error> {
        let bound = self.size(bound, env)?;
        let lv = self.lin(term, env)?;
        let ty = LType::array(bound.clone(), lv.ty());
        if lv.is_zero() {
            return Ok(LV::Zero(ty));
        }
        let i = self.term(index, env, "i")?;
        self.check_linear(&i, &bound)?;
        Ok(LV::OneHot(bound, i.reify()?, Rc::new(lv)))
    }

    /// Σ_{i<n} t
    fn lin_reduced(&mut self, index: &Var, bound: &Size, body: &Lin, env: &Env) -> Result<LV, Error> {
        let bound = self.size(bound, env)?;
        // Σ_i f(onehot_k(v)[i]) is f(v) at i = k, f being linear.
        if let Some(k) = sifted(index, body, env) {
            let mut inner = env.clone();
            inner.vars.insert(index.clone(), self.int_value(&k));
            return self.lin(body, &inner);
        }
        let (i, inner) = self.enter(index, &bound, env);
        let (lv, items) = self.region(|n| n.lin(body, &inner))?;
        self.lin_sum(i, bound, lv, items)
    }

    /// The index of a linear term, whose primal may have been dropped with its check.
    fn check_linear(&mut self, i: &V, n: &Size) -> Result<(), Error> {
        let nowhere = || Site { def: "".into(), span: Default::default() };
        let site = self.operator.clone().unwrap_or_else(nowhere);
        self.check_index(i, n, &site)
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
            V::Int(_) | V::Atom(..) | V::Tuple(_) | V::Fn(_) | V::Family(_) => {
                Err(Error::unsupported("a linear map that is not known when the program is compiled"))
            }
        }
    }

    /// Two arms in regions of their own; the leaves either arm produces are the results.
    pub(super) fn lin_if(
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
        let arm = |n: &mut Self, pick: fn(&(LV, LV)) -> &LV, items: Vec<Item>| {
            let parts: Vec<Lin> = leaves.iter().map(|l| n.reify_lin(pick(l))).collect();
            wrap_lin(items, one_or_tuple(parts))
        };
        let (ta, tb) = (arm(self, |l| &l.0, ia), arm(self, |l| &l.1, ib));
        let types: Vec<LType> = leaves.iter().map(|l| l.0.ty()).collect();
        Ok(self.bind_leaves(make::if_(c, ta, tb), types, &shape))
    }

    /// Σ_i: one loop for all the leaves. Σ_i onehot_i(t) over the whole range is build n (i. t).
    pub(super) fn lin_sum(&mut self, i: Var, bound: Size, lv: LV, items: Vec<Item>) -> Result<LV, Error> {
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

    /// The value of an int atom or polynomial.
    pub(super) fn int_value(&self, t: &Tm) -> V {
        match lang::walk::as_size(t) {
            Some(n) => V::Int(n),
            None => V::Atom(t.clone(), Type::Int),
        }
    }

    /// Whether a linear value uses a Cartesian variable.
    pub(super) fn mentions(&mut self, lv: &LV, i: &Var) -> bool {
        lang::walk::free_vars_lin(&self.reify_lin(lv)).contains(i)
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
