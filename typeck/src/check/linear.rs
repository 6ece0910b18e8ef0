//! Γ; Δ̲ ⊢ t : τ̲, jointly linear in Δ̲. Cartesian terms inside are checked in Γ alone: they cannot mention Δ̲.

use super::context::Context;
use super::{At, Checked, Checker, Rule};
use lang::target::{Lin, LinTerm};
use lang::types::{LType, Type};

impl Checker<'_> {
    /// The type of t.
    pub(super) fn lin(&mut self, ctx: &Context, t: &Lin) -> Checked<LType> {
        let rule = rule_of(t);
        let here = At { rule, term: t };
        self.uses.count(rule);
        match &**t {
            // z̲ : τ̲ in Δ̲
            LinTerm::Var(z) => match ctx.lin(z) {
                Some(ty) => Ok(ty.clone()),
                None if ctx.var(z).is_some() => {
                    here.fail(format!("{z:?} is a Cartesian variable: not linear in anything"))
                }
                None => here.fail(format!("{z:?} is not a linear variable that may be used here")),
            },
            LinTerm::Zero(ty) => self.well_formed_lin(ctx, ty, &here),
            LinTerm::Plus(t, s) => {
                let (t, s) = (self.lin(ctx, t)?, self.lin(ctx, s)?);
                here.equal("the second summand", &s, &t)?;
                Ok(t)
            }
            LinTerm::Tuple(ts) => {
                Ok(LType::Tuple(ts.iter().map(|t| self.lin(ctx, t)).collect::<Checked<_>>()?))
            }
            LinTerm::Proj(t, i) => match self.lin(ctx, t)? {
                LType::Tuple(ts) if *i < ts.len() => Ok(ts[*i].clone()),
                other => here.fail(format!("component {i} of {other:?}")),
            },
            // t : τ̲ at the slot   ⟹   coproj t : env
            LinTerm::Coproj { env, up, term } => {
                let env = self.well_formed_lin(ctx, env, &here)?;
                let found = self.lin(ctx, term)?;
                let Some(slot) = slot(&env, *up) else {
                    return here.fail(format!("no slot {up} in {env:?}"));
                };
                here.equal("what is put into the slot", &found, slot)?;
                Ok(env)
            }
            LinTerm::EnvProj { up, term } => {
                let env = self.lin(ctx, term)?;
                match slot(&env, *up) {
                    Some(slot) => Ok(slot.clone()),
                    None => here.fail(format!("no slot {up} in {env:?}")),
                }
            }
            // Γ, y : σ; Δ̲ ⊢ t : ρ̲   ⟹   λy. t : σ → ρ̲
            LinTerm::Power(y, t) => {
                let mut inner = ctx.clone();
                let from = self.bind(&mut inner, &y.var, &y.ty, &here)?;
                let to = self.lin(&inner, t)?;
                let to = self.leaving_lin(ctx, to, &y.var, &inner, &here)?;
                Ok(LType::Power(from.into(), to.into()))
            }
            LinTerm::PowerApp(t, s) => {
                let power = self.lin(ctx, t)?;
                let LType::Power(from, to) = &power else { return here.fail(format!("{power:?} applied")) };
                self.expect(ctx, s, "the argument", from, &here)?;
                Ok((**to).clone())
            }
            LinTerm::Tensor(a, t) => {
                let a = self.term(ctx, a)?;
                let t = self.lin(ctx, t)?;
                Ok(LType::Copower(a.into(), t.into()))
            }
            // t : !σ ⊗ ρ̲   Γ, y : σ; z̲ : ρ̲ ⊢ s : ρ̲'   ⟹   ρ̲'; s sees z̲ only
            LinTerm::TensorElim { scrutinee, var, lin, body } => {
                let found = self.lin(ctx, scrutinee)?;
                let LType::Copower(a, w) = &found else {
                    return here.fail(format!("{found:?} is no copower"));
                };
                let inner = self.bind_to(&ctx.cartesian(), var, a, &here)?;
                let inner = self.bind_lin_to(&inner, lin, w, &here)?;
                let result = self.lin(&inner, body)?;
                self.leaving_lin(ctx, result, &var.var, &inner, &here)
            }
            LinTerm::Scale(a, t) => {
                self.expect(ctx, a, "the factor", &Type::Real, &here)?;
                let found = self.lin(ctx, t)?;
                here.equal("what is scaled", &found, &LType::Real)?;
                Ok(LType::Real)
            }
            // l : τ̲ ⊸ σ̲   t : τ̲   ⟹   l • t : σ̲
            LinTerm::App(l, t) => {
                let map = self.term(ctx, l)?;
                let Type::Lin(from, to) = &map else {
                    return here.fail(format!("linear application of {map:?}"));
                };
                let found = self.lin(ctx, t)?;
                here.equal("the argument", &found, from)?;
                Ok((**to).clone())
            }
            // s : σ̲   Γ; Δ̲, z̲ : σ̲ ⊢ t : τ̲   ⟹   let z̲ = s in t : τ̲
            LinTerm::Let(z, s, t) => {
                let found = self.lin(ctx, s)?;
                let inner = self.bind_lin_to(ctx, z, &found, &here)?;
                self.lin(&inner, t)
            }
            LinTerm::CLet(x, a, t) => {
                let inner = self.let_context(ctx, x, a, &here)?;
                let result = self.lin(&inner, t)?;
                self.leaving_lin(ctx, result, &x.var, &inner, &here)
            }
            LinTerm::If(c, t, s) => {
                self.expect(ctx, c, "the condition", &Type::Bool, &here)?;
                let (t, s) = (self.lin(ctx, t)?, self.lin(ctx, s)?);
                here.equal("the second branch", &s, &t)?;
                Ok(t)
            }
            LinTerm::Case(a, arms) => {
                let found = self.term(ctx, a)?;
                let Type::Sum(summands) = &found else { return here.fail(format!("case of {found:?}")) };
                here.arms(summands.len(), arms.len())?;
                let mut result = None;
                for (payload, (x, s)) in summands.iter().zip(arms) {
                    let inner = self.bind_to(ctx, x, payload, &here)?;
                    let found = self.lin(&inner, s)?;
                    let found = self.leaving_lin(ctx, found, &x.var, &inner, &here)?;
                    here.equal("an arm", &found, result.get_or_insert_with(|| found.clone()))?;
                }
                result.map_or_else(|| here.fail("a case without arms"), Ok)
            }
            LinTerm::Inject(i, ty, t) => {
                let sum = self.well_formed_lin(ctx, ty, &here)?;
                let found = self.lin(ctx, t)?;
                match &sum {
                    LType::Sum(ts) if *i < ts.len() => here.equal("the payload", &found, &ts[*i])?,
                    other => return here.fail(format!("injection {i} into {other:?}")),
                }
                Ok(sum)
            }
            // t : τ̲_1 + … + τ̲_k   Γ; z̲_i : τ̲_i ⊢ s_i : σ̲   ⟹   σ̲; the arms see their payload only
            LinTerm::SumElim(t, arms) => {
                let found = self.lin(ctx, t)?;
                let LType::Sum(summands) = &found else {
                    return here.fail(format!("{found:?} is no partial sum"));
                };
                here.arms(summands.len(), arms.len())?;
                let mut result = None;
                for (payload, (z, s)) in summands.iter().zip(arms) {
                    let inner = self.bind_lin_to(&ctx.cartesian(), z, payload, &here)?;
                    let found = self.lin(&inner, s)?;
                    here.equal("an arm", &found, result.get_or_insert_with(|| found.clone()))?;
                }
                result.map_or_else(|| here.fail("a case without arms"), Ok)
            }
            LinTerm::FromInject(i, t) => match self.lin(ctx, t)? {
                LType::Sum(ts) if *i < ts.len() => Ok(ts[*i].clone()),
                other => here.fail(format!("payload {i} of {other:?}")),
            },
            // Γ, i : int; Δ̲ ⊢ t : τ̲   ⟹   build n (λi. t) : [n]τ̲
            LinTerm::Build { index, bound, body } => {
                let n = self.size(ctx, bound, &here)?;
                let inner = self.bind_index(ctx, index, &here)?;
                let element = self.lin(&inner, body)?;
                let element = self.leaving_lin(ctx, element, index, &inner, &here)?;
                Ok(LType::array(n, element))
            }
            LinTerm::Index(t, i) => {
                let found = self.lin(ctx, t)?;
                let LType::Array(_, element) = &found else {
                    return here.fail(format!("index into {found:?}"));
                };
                self.expect(ctx, i, "the index", &Type::Int, &here)?;
                Ok((**element).clone())
            }
            LinTerm::OneHot { bound, index, term } => {
                let n = self.size(ctx, bound, &here)?;
                self.expect(ctx, index, "the index", &Type::Int, &here)?;
                Ok(LType::array(n, self.lin(ctx, term)?))
            }
            LinTerm::Sum { index, bound, body } => {
                self.size(ctx, bound, &here)?;
                let inner = self.bind_index(ctx, index, &here)?;
                let found = self.lin(&inner, body)?;
                self.leaving_lin(ctx, found, index, &inner, &here)
            }
            // init : σ̲   Γ, i : int; Δ̲, z̲ : σ̲ ⊢ body : (σ̲, τ̲)   ⟹   (σ̲, [n]τ̲)
            LinTerm::Loop { direction: _, state, init, index, bound, body } => {
                let n = self.size(ctx, bound, &here)?;
                let found = self.lin(ctx, init)?;
                let inner = self.bind_lin_to(ctx, state, &found, &here)?;
                let inner = self.bind_index(&inner, index, &here)?;
                let next = self.lin(&inner, body)?;
                match self.leaving_lin(ctx, next, index, &inner, &here)? {
                    LType::Tuple(ts) if ts.len() == 2 => {
                        here.equal("the next state", &ts[0], &found)?;
                        Ok(LType::pair(found, LType::array(n, ts[1].clone())))
                    }
                    other => here.fail(format!("the body has type {other:?}, not (state, output)")),
                }
            }
        }
    }
}

/// The slot of an environment with `up` binders above it.
fn slot(env: &LType, up: usize) -> Option<&LType> {
    let mut env = env;
    for _ in 0..up {
        match env {
            LType::Tuple(ts) if ts.len() == 2 => env = &ts[0],
            _ => return None,
        }
    }
    match env {
        LType::Tuple(ts) if ts.len() == 2 => Some(&ts[1]),
        _ => None,
    }
}

/// The rule for a former.
fn rule_of(t: &Lin) -> Rule {
    match &**t {
        LinTerm::Var(_) => Rule::LVar,
        LinTerm::Zero(_) => Rule::LZero,
        LinTerm::Plus(..) => Rule::LPlus,
        LinTerm::Tuple(ts) if ts.is_empty() => Rule::LUnit,
        LinTerm::Tuple(_) => Rule::LPair,
        LinTerm::Proj(_, 0) => Rule::LFst,
        LinTerm::Proj(..) => Rule::LSnd,
        LinTerm::Coproj { .. } => Rule::LCoproj,
        LinTerm::EnvProj { .. } => Rule::LEnvProj,
        LinTerm::Power(..) => Rule::LPow,
        LinTerm::PowerApp(..) => Rule::LPowApp,
        LinTerm::Tensor(..) => Rule::LCop,
        LinTerm::TensorElim { .. } => Rule::LCopElim,
        LinTerm::Scale(..) => Rule::LOp,
        LinTerm::App(..) => Rule::LApp,
        LinTerm::Let(..) => Rule::LLet,
        LinTerm::CLet(..) => Rule::LCLet,
        LinTerm::If(..) => Rule::LIf,
        LinTerm::Case(..) => Rule::LCase,
        LinTerm::Inject(0, ..) => Rule::LInl,
        LinTerm::Inject(..) => Rule::LInr,
        LinTerm::SumElim(..) => Rule::LSumElim,
        LinTerm::FromInject(..) => Rule::LFrom,
        LinTerm::Build { .. } => Rule::LBuild,
        LinTerm::Index(..) => Rule::LIndex,
        LinTerm::OneHot { .. } => Rule::LOneHot,
        LinTerm::Sum { .. } => Rule::LSum,
        LinTerm::Loop { .. } => Rule::LLoop,
    }
}
