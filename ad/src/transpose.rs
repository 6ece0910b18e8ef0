//! Transposition of linear terms (chad.md §2): Γ; z̲:τ̲ ⊢ t : σ̲ becomes Γ; w:σ̲ ⊢ T t w : τ̲ with ⟨w, t[v/z̲]⟩ = ⟨T t w, v⟩.
//!
//! The linear context Δ̲ of t is an environment, as Γ̲ is for D: T t w : Δ̲ has the cotangent of each of its variables in its slot.
//! First-order linear types only; what has no transpose here is rejected.

use crate::error::{AdError, Reason};
use crate::prim::sum;
use crate::rules::{self, Transposition as Rule};
use crate::shared::at_component;
use lang::big_stack;
use lang::core::make::{lin_lam, var};
use lang::core::{Program, Term, Tm};
use lang::diag::Site;
use lang::name::{Supply, Var};
use lang::target::{Direction, LBinder, Lin, LinTerm, make as lin};
use lang::types::{LType, Type};
use lang::typing::{Scope, type_of_lin};
use std::sync::Arc;

/// λ̲w. T t w for λ̲z. t. The types of t's free variables are in scope; `site` is the place of errors.
pub fn transpose(
    program: &Program,
    z: &LBinder,
    t: &Lin,
    scope: &Scope,
    site: &Site,
    supply: &mut Supply,
) -> Result<Tm, AdError> {
    let delta = vec![z.var.clone()];
    let env = LType::pair(LType::unit(), z.ty.clone());
    let mut scope = scope.clone();
    scope.bind_lin(&z.var, &z.ty);
    let mut tr = T { program, scope, site, supply, delta, env };
    let w = LBinder::new(tr.supply.fresh("w"), tr.type_of(t));
    let body = big_stack::run(|| tr.transposed(t, lin::var(&w.var)))?;
    Ok(lin_lam(w, lin::env_proj(0, body)))
}

struct T<'a> {
    program: &'a Program,
    scope: Scope,
    site: &'a Site,
    supply: &'a mut Supply,
    /// The variables of Δ̲, outermost first.
    delta: Vec<Var>,
    /// Δ̲
    env: LType,
}

impl T<'_> {
    fn type_of(&mut self, t: &Lin) -> LType {
        type_of_lin(t, &mut self.scope, self.program)
    }

    fn no(&self, what: &'static str) -> AdError {
        AdError { site: self.site.clone(), reason: Reason::NoTranspose(what), chain: vec![] }
    }

    /// Works in Δ̲, z̲.
    fn under<R>(&mut self, z: &LBinder, work: impl FnOnce(&mut Self) -> R) -> R {
        self.scope.bind_lin(&z.var, &z.ty);
        let outside = self.env.clone();
        self.env = LType::pair(outside.clone(), z.ty.clone());
        self.delta.push(z.var.clone());
        let result = work(self);
        self.delta.pop();
        self.env = outside;
        result
    }

    fn fresh(&mut self, ty: LType) -> LBinder {
        LBinder::new(self.supply.fresh("z"), ty)
    }

    /// let z̲ = w in body z̲, so that w may be used more than once
    fn shared(
        &mut self,
        of: &Lin,
        w: Lin,
        body: impl FnOnce(&mut Self, Lin) -> Result<Lin, AdError>,
    ) -> Result<Lin, AdError> {
        if let LinTerm::Var(_) = &*w {
            return body(self, w);
        }
        let ty = self.type_of(of);
        let z = self.fresh(ty);
        let body = body(self, lin::var(&z.var))?;
        Ok(lin::let_(z, w, body))
    }

    /// T t w : Δ̲
    fn transposed(&mut self, t: &Lin, w: Lin) -> Result<Lin, AdError> {
        Ok(match &**t {
            // T x̲ w: x̄ += w
            LinTerm::Var(x) => {
                rules::count_transposition(Rule::Var);
                match self.delta.iter().rev().position(|y| x == y) {
                    Some(up) => lin::coproj(self.env.clone(), up, w),
                    None => panic!("compiler bug: linear variable {x:?} is not in scope"),
                }
            }

            // T 0̲ w: nothing
            LinTerm::Zero(_) => {
                rules::count_transposition(Rule::Zero);
                lin::zero(self.env.clone())
            }

            // T (t + s) w: T t w; T s w
            LinTerm::Plus(a, b) => {
                rules::count_transposition(Rule::Plus);
                self.shared(t, w, |tr, w| Ok(lin::plus(tr.transposed(a, w.clone())?, tr.transposed(b, w)?)))?
            }

            // T ⟨t1, …, tk⟩ w: T ti w.i for all i
            LinTerm::Tuple(ts) => {
                rules::count_transposition(Rule::Tuple);
                self.shared(t, w, |tr, w| {
                    let each = |(i, t)| tr.transposed(t, lin::proj(w.clone(), i));
                    let each: Vec<Lin> = ts.iter().enumerate().map(each).collect::<Result<_, _>>()?;
                    Ok(sum(&tr.env, each))
                })?
            }

            // T t.i w: T t ⟨0̲, …, w, …, 0̲⟩
            LinTerm::Proj(t, i) => {
                rules::count_transposition(Rule::Proj);
                let of = self.type_of(t);
                self.transposed(t, at_component(&of, *i, w))?
            }

            // T (coproj_i t) w: T t (proj_i w)
            LinTerm::Coproj { up, term, .. } => {
                rules::count_transposition(Rule::Coproj);
                self.transposed(term, lin::env_proj(*up, w))?
            }

            // T (proj_i t) w: T t (coproj_i w)
            LinTerm::EnvProj { up, term } => {
                rules::count_transposition(Rule::EnvProj);
                let of = self.type_of(term);
                self.transposed(term, lin::coproj(of, *up, w))?
            }

            LinTerm::Power(..) | LinTerm::PowerApp(..) => return Err(self.no("a power of a linear type")),
            LinTerm::Tensor(..) | LinTerm::TensorElim { .. } => return Err(self.no("a tensor")),

            // T (a · t) w: T t (a · w)
            LinTerm::Scale(a, t) => {
                rules::count_transposition(Rule::Scale);
                self.transposed(t, lin::scale(a.clone(), w))?
            }

            // T (L • s) w: T s (Lᵗ • w), for a known L = λ̲z. t
            LinTerm::App(l, s) => {
                rules::count_transposition(Rule::App);
                let Term::LinLam(z, t) = &**l else { return Err(self.no("a linear map not known here")) };
                let map = transpose(self.program, z, t, &self.scope, self.site, self.supply)?;
                self.transposed(s, lin::app(map, w))?
            }

            // T (let z̲ = s in t) w: z̄ := 0̲; T t w; T s z̄
            LinTerm::Let(z, s, t) => {
                rules::count_transposition(Rule::Let);
                let t = self.under(z, |tr| tr.transposed(t, w))?;
                let e = self.fresh(LType::pair(self.env.clone(), z.ty.clone()));
                let s = self.transposed(s, lin::proj(lin::var(&e.var), 1))?;
                let both = lin::plus(lin::proj(lin::var(&e.var), 0), s);
                lin::let_(e, t, both)
            }

            // Cartesian let: kept
            LinTerm::CLet(x, a, t) => {
                rules::count_transposition(Rule::CLet);
                self.scope.bind(&x.var, &x.ty);
                lin::clet(x.clone(), a.clone(), self.transposed(t, w)?)
            }

            // Cartesian if: kept
            LinTerm::If(c, a, b) => {
                rules::count_transposition(Rule::If);
                self.shared(t, w, |tr, w| {
                    Ok(lin::if_(c.clone(), tr.transposed(a, w.clone())?, tr.transposed(b, w)?))
                })?
            }

            // Cartesian case: kept
            LinTerm::Case(a, arms) => {
                rules::count_transposition(Rule::Case);
                self.shared(t, w, |tr, w| {
                    let mut kept = vec![];
                    for (x, s) in arms {
                        tr.scope.bind(&x.var, &x.ty);
                        kept.push((x.clone(), tr.transposed(s, w.clone())?));
                    }
                    Ok(Arc::new(LinTerm::Case(a.clone(), kept)))
                })?
            }

            // T (in_i t) w: T t (fromIn_i w)
            LinTerm::Inject(i, _, t) => {
                rules::count_transposition(Rule::Inject);
                self.transposed(t, Arc::new(LinTerm::FromInject(*i, w)))?
            }

            // The cotangent would need the summand that t is in, and t is linear: not known when w comes.
            LinTerm::SumElim(..) => return Err(self.no("a case on a linear sum")),

            // T (fromIn_i t) w: T t (in_i w)
            LinTerm::FromInject(i, t) => {
                rules::count_transposition(Rule::FromInject);
                let of = self.type_of(t);
                self.transposed(t, Arc::new(LinTerm::Inject(*i, of, w)))?
            }

            // T (build n (λi. t)) w: T t w[i] for all i
            LinTerm::Build { index: i, bound, body } => {
                rules::count_transposition(Rule::Build);
                self.scope.bind(i, &Type::Int);
                self.shared(t, w, |tr, w| {
                    let each = tr.transposed(body, lin::index(w, var(i)))?;
                    Ok(lin::sum(i.clone(), bound.clone(), each))
                })?
            }

            // T t[i] w: T t (onehot_i w)
            LinTerm::Index(t, i) => {
                rules::count_transposition(Rule::Index);
                let LType::Array(n, _) = self.type_of(t) else { panic!("compiler bug: index into no array") };
                self.transposed(t, lin::onehot(n, i.clone(), w))?
            }

            // T (onehot_i t) w: T t w[i]
            LinTerm::OneHot { index, term, .. } => {
                rules::count_transposition(Rule::OneHot);
                self.transposed(term, lin::index(w, index.clone()))?
            }

            // T (Σ_{i<n} t) w: T t w for all i
            LinTerm::Sum { index: i, bound, body } => {
                rules::count_transposition(Rule::Sum);
                self.scope.bind(i, &Type::Int);
                self.shared(t, w, |tr, w| Ok(lin::sum(i.clone(), bound.clone(), tr.transposed(body, w)?)))?
            }

            // T (loop z̲ = s for i < n do t) w: the loop in the other direction, on ⟨z̄, Δ̄⟩
            LinTerm::Loop { direction, state: z, init, index: i, bound, body } => {
                rules::count_transposition(Rule::Loop);
                self.scope.bind(i, &Type::Int);
                let of = |z: &LBinder, i| lin::proj(lin::var(&z.var), i);
                self.shared(t, w, |tr, w| {
                    let carried = LType::pair(z.ty.clone(), tr.env.clone());
                    let (state, total) = (tr.fresh(carried.clone()), tr.fresh(carried));
                    let u = tr.fresh(LType::pair(tr.env.clone(), z.ty.clone()));
                    let arrived = lin::tuple([of(&state, 0), lin::index(lin::proj(w.clone(), 1), var(i))]);
                    let step = tr.under(z, |tr| tr.transposed(body, arrived))?;
                    let next = lin::tuple([of(&u, 1), lin::plus(of(&state, 1), of(&u, 0))]);
                    let body = lin::let_(u, step, lin::tuple([next, lin::tuple([])]));
                    let start = lin::tuple([lin::proj(w, 0), lin::zero(tr.env.clone())]);
                    let (index, bound) = (i.clone(), bound.clone());
                    let direction = match direction {
                        Direction::Up => Direction::Down,
                        Direction::Down => Direction::Up,
                    };
                    let run = LinTerm::Loop { direction, state, init: start, index, bound, body };
                    let result = lin::plus(of(&total, 1), tr.transposed(init, of(&total, 0))?);
                    Ok(lin::let_(total, lin::proj(Arc::new(run), 0), result))
                })?
            }
        })
    }
}
