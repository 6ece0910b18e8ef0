//! Γ ⊢ t : τ. Types returned are in normal form and well formed in Γ.

use super::context::{Context, Instance};
use super::{At, Checked, Checker, Language, Rule, as_size};
use lang::core::{Binder, Lit, Term, Tm};
use lang::name::{Name, Var};
use lang::size::Size;
use lang::types::{LType, Mode, Type};
use lang::walk::Mapper;
use std::collections::HashMap;
use std::sync::Arc;

impl Checker<'_> {
    /// The type of t.
    pub(super) fn term(&mut self, ctx: &Context, t: &Tm) -> Checked<Type> {
        let rule = rule_of(t);
        let here = At { rule, term: t };
        self.uses.count(rule);
        match &**t {
            // x : τ in Γ
            Term::Var(x) => match ctx.var(x) {
                Some(ty) => Ok(ty.clone()),
                None if self.binders.contains(&x.id) => {
                    here.fail(format!("{x:?} is out of scope, or is a linear variable in a Cartesian term"))
                }
                None => here.fail(format!("{x:?} is not bound")),
            },
            Term::Lit(Lit::Real(_)) => Ok(Type::Real),
            Term::Lit(Lit::Int(_)) => Ok(Type::Int),
            Term::Lit(Lit::Bool(_)) => Ok(Type::Bool),
            // t : τ   Γ, x : τ ⊢ s : σ   ⟹   let x = t in s : σ
            Term::Let(x, t, s) => {
                let inner = self.let_context(ctx, x, t, &here)?;
                let result = self.term(&inner, s)?;
                self.leaving(ctx, result, &x.var, &inner, &here)
            }
            Term::Tuple(ts) => Ok(Type::Tuple(ts.iter().map(|t| self.term(ctx, t)).collect::<Checked<_>>()?)),
            Term::Proj(t, i) => match self.term(ctx, t)? {
                Type::Tuple(ts) if *i < ts.len() => Ok(ts[*i].clone()),
                other => here.fail(format!("component {i} of {other:?}")),
            },
            // t : τ_i   ⟹   in_i t : τ_1 + … + τ_k
            Term::Inject(i, ty, t) => {
                let sum = self.well_formed(ctx, ty, &here)?;
                let found = self.term(ctx, t)?;
                match &sum {
                    Type::Sum(ts) if *i < ts.len() => here.equal("the payload", &found, &ts[*i])?,
                    other => return here.fail(format!("injection {i} into {other:?}")),
                }
                Ok(sum)
            }
            // t : τ_1 + … + τ_k   Γ, x_i : τ_i ⊢ s_i : σ   ⟹   case t of {in_i x_i → s_i} : σ
            Term::Case(t, arms) => {
                let found = self.term(ctx, t)?;
                let Type::Sum(summands) = &found else { return here.fail(format!("case of {found:?}")) };
                let mut result = None;
                here.arms(summands.len(), arms.len())?;
                for (payload, (x, s)) in summands.iter().zip(arms) {
                    let inner = self.bind_to(ctx, x, payload, &here)?;
                    let found = self.term(&inner, s)?;
                    let found = self.leaving(ctx, found, &x.var, &inner, &here)?;
                    here.equal("an arm", &found, result.get_or_insert_with(|| found.clone()))?;
                }
                result.map_or_else(|| here.fail("a case without arms"), Ok)
            }
            Term::Lam(x, t) => {
                let mut inner = ctx.clone();
                let from = self.bind(&mut inner, &x.var, &x.ty, &here)?;
                let to = self.term(&inner, t)?;
                let to = self.leaving(ctx, to, &x.var, &inner, &here)?;
                Ok(Type::fun(from, to))
            }
            Term::App(t, s) => {
                let (f, arg) = (self.term(ctx, t)?, self.term(ctx, s)?);
                let Type::Fun(from, to) = &f else { return here.fail(format!("application of {f:?}")) };
                here.equal("the argument", &arg, from)?;
                Ok((**to).clone())
            }
            Term::Prim(p, ts) => {
                let row = p.row();
                here.arguments(row.name, row.args.len(), ts.len())?;
                for (t, scalar) in ts.iter().zip(row.args) {
                    let found = self.term(ctx, t)?;
                    here.equal(
                        &format!("an argument of {}", row.name),
                        &found,
                        &lang::typing::scalar(*scalar),
                    )?;
                }
                Ok(lang::typing::scalar(row.result))
            }
            Term::If(c, t, s) => {
                self.expect(ctx, c, "the condition", &Type::Bool, &here)?;
                let (t, s) = (self.term(ctx, t)?, self.term(ctx, s)?);
                here.equal("the second branch", &s, &t)?;
                Ok(t)
            }
            // Γ, i : int ⊢ t : τ   ⟹   build n (λi. t) : [n]τ
            Term::Build { index, bound, body } => {
                let n = self.size(ctx, bound, &here)?;
                let element = self.under_index(ctx, index, body, &here)?;
                self.well_formed(ctx, &Type::array(n, element), &here)
            }
            Term::Index(a, i, _) => {
                let found = self.term(ctx, a)?;
                let Type::Array(_, element) = &found else {
                    return here.fail(format!("index into {found:?}"));
                };
                self.expect(ctx, i, "the index", &Type::Int, &here)?;
                Ok((**element).clone())
            }
            // t : [n]…τ   i, … : int   v : τ   ⟹   {t with [i, …] = v} : [n]…τ
            Term::Update { array, index, value, site: _ } => {
                let found = self.term(ctx, array)?;
                let mut element = found.clone();
                for i in index {
                    self.expect(ctx, i, "the index", &Type::Int, &here)?;
                    element = match element {
                        Type::Array(_, t) => (*t).clone(),
                        other => return here.fail(format!("update of {other:?}")),
                    };
                }
                self.expect(ctx, value, "the new element", &element, &here)?;
                Ok(found)
            }
            Term::Array(ty, ts) => {
                let element = self.well_formed(ctx, ty, &here)?;
                for t in ts {
                    self.expect(ctx, t, "an element", &element, &here)?;
                }
                self.well_formed(ctx, &Type::array(Size::constant(ts.len() as i64), element), &here)
            }
            Term::Sum { index, bound, body } | Term::Extremum { which: _, index, bound, body } => {
                self.size(ctx, bound, &here)?;
                let element = self.under_index(ctx, index, body, &here)?;
                here.equal("what is reduced", &element, &Type::Real)?;
                Ok(Type::Real)
            }
            // init : σ   Γ, s : σ, i : int ⊢ body : (σ, τ)   ⟹   (σ, [n]τ)
            Term::Loop { state, init, index, bound, body } => {
                let n = self.size(ctx, bound, &here)?;
                let found = self.term(ctx, init)?;
                let inner = self.bind_to(ctx, state, &found, &here)?;
                let next = self.under_index(&inner, index, body, &here)?;
                let next = self.leaving(ctx, next, &state.var, &inner, &here)?;
                match next {
                    Type::Tuple(ts) if ts.len() == 2 => {
                        here.equal("the next state", &ts[0], &found)?;
                        let outputs = self.well_formed(ctx, &Type::array(n, ts[1].clone()), &here)?;
                        Ok(Type::tuple([found, outputs]))
                    }
                    other => here.fail(format!("the body has type {other:?}, not (state, output)")),
                }
            }
            // init : σ   Γ, s : σ ⊢ cond : bool, body : σ   ⟹   σ
            Term::While { state, init, cond, body } => {
                let found = self.term(ctx, init)?;
                let inner = self.bind_to(ctx, state, &found, &here)?;
                self.expect(&inner, cond, "the condition", &Type::Bool, &here)?;
                self.expect(&inner, body, "the next state", &found, &here)?;
                Ok(found)
            }
            Term::Argsort(t) => match self.term(ctx, t)? {
                Type::Array(n, element) if matches!(*element, Type::Real | Type::Int) => {
                    Ok(Type::array(n, Type::Int))
                }
                other => here.fail(format!("argsort of {other:?}")),
            },
            Term::Check { cond, failure: _, details, site: _, body } => {
                self.expect(ctx, cond, "the condition", &Type::Bool, &here)?;
                for t in details {
                    self.expect(ctx, t, "a detail", &Type::Int, &here)?;
                }
                self.term(ctx, body)
            }
            Term::Call { def, types, sizes, args } => self.call(ctx, def, types, sizes, args, &here),
            // f : τ → σ, first-order   x : τ   ⟹   (σ, Dτ ⊸ Dσ), reverse (σ, Dσ ⊸ Dτ)
            Term::Diff { mode, f, x, site: _ } => {
                if self.language == Language::Target {
                    return here.fail("a differentiation operator is left in Target");
                }
                let (f, x) = (self.term(ctx, f)?, self.term(ctx, x)?);
                let Type::Fun(from, to) = &f else { return here.fail(format!("derivative of {f:?}")) };
                here.equal("the point", &x, from)?;
                if !from.first_order() || !to.first_order() {
                    return here.fail(format!("derivative of a function of type {f:?}"));
                }
                let (from, tangent) = (from.tangent(*mode), to.tangent(*mode));
                let map = match mode {
                    Mode::Forward => Type::lin(from, tangent),
                    Mode::Reverse => Type::lin(tangent, from),
                };
                Ok(Type::tuple([(**to).clone(), map]))
            }
            Term::Detach(t) => self.term(ctx, t),
            // Γ; z̲ : τ̲ ⊢ t : σ̲   ⟹   λ̲z̲. t : τ̲ ⊸ σ̲
            Term::LinLam(z, t) => {
                if self.language == Language::Core {
                    return here.fail("a linear λ in Core");
                }
                let mut inner = ctx.cartesian();
                let from = self.bind_lin(&mut inner, z, &here)?;
                let to = self.lin(&inner, t)?;
                Ok(Type::lin(from, to))
            }
            // l : τ̲ ⊸ σ̲   t : τ   ⟹   l • t : σ, with τ and σ the erased types
            Term::LinApp(l, t) => {
                let map = self.term(ctx, l)?;
                let Type::Lin(from, to) = &map else {
                    return here.fail(format!("linear application of {map:?}"));
                };
                let (Some(from), Some(to)) = (from.erase(), to.erase()) else {
                    return here.fail("the map's types are not first-order");
                };
                self.expect(ctx, t, "the argument", &from, &here)?;
                Ok(to)
            }
            // t : τ, first-order   ⟹   int
            Term::Box(t) => {
                if self.language == Language::Core {
                    return here.fail("a box in Core");
                }
                match self.term(ctx, t)? {
                    ty if ty.first_order() => Ok(Type::Int),
                    other => here.fail(format!("a box of {other:?}")),
                }
            }
            // h : int   ⟹   τ, first-order
            Term::Unbox(ty, t) => {
                if self.language == Language::Core || !ty.first_order() {
                    return here.fail(format!("{ty:?} out of a box"));
                }
                self.expect(ctx, t, "the handle", &Type::Int, &here)?;
                self.well_formed(ctx, ty, &here)
            }
            Term::Unread(ty) => self.well_formed(ctx, ty, &here),
            Term::Zero(ty) => match self.well_formed_lin(ctx, ty, &here)?.erase() {
                Some(ty) => Ok(ty),
                None => here.fail("a zero whose type is not first-order"),
            },
        }
    }

    /// t : τ for a given τ.
    pub(super) fn expect(
        &mut self,
        ctx: &Context,
        t: &Tm,
        what: &str,
        ty: &Type,
        at: &At<'_>,
    ) -> Checked<()> {
        let found = self.term(ctx, t)?;
        at.equal(what, &found, ty)
    }

    /// The type of a body under an index, which the type may not mention.
    fn under_index(&mut self, ctx: &Context, i: &Var, body: &Tm, at: &At<'_>) -> Checked<Type> {
        let inner = self.bind_index(ctx, i, at)?;
        let found = self.term(&inner, body)?;
        self.leaving(ctx, found, i, &inner, at)
    }

    /// A type leaves the scope of x: it may not mention x, unless x is a known size.
    fn leaving(&self, outer: &Context, ty: Type, x: &Var, inner: &Context, at: &At<'_>) -> Checked<Type> {
        match inner.var(x) {
            // Only ints occur in types.
            Some(Type::Int) => self.well_formed(outer, &ty, at),
            Some(_) | None => Ok(ty),
        }
    }

    /// f : ∀ types, sizes. τ1 → … → σ, instantiated. An int parameter that the types mention stands for the argument, a size.
    fn call(
        &mut self,
        ctx: &Context,
        def: &Name,
        types: &[Type],
        sizes: &[Size],
        args: &[Tm],
        here: &At<'_>,
    ) -> Checked<Type> {
        let program = self.program;
        let Some(d) = program.defs.get(def) else {
            return here.fail(format!("there is no definition {def}"));
        };
        here.arguments("the definition's types", d.types.len(), types.len())?;
        here.arguments("the definition's sizes", d.sizes.len(), sizes.len())?;
        here.arguments("the definition", d.params.len(), args.len())?;
        let mut instance = Instance { sizes: HashMap::new(), types: HashMap::new(), wrong: None };
        for (a, ty) in d.types.iter().zip(types) {
            if !ty.first_order() {
                return here.fail(format!("the type parameter {a} stands for {ty:?}"));
            }
            instance.types.insert(a.clone(), self.well_formed(ctx, ty, here)?);
        }
        for (x, n) in d.sizes.iter().zip(sizes) {
            instance.sizes.insert(x.clone(), self.size(ctx, n, here)?);
        }
        for (x, t) in d.params.iter().zip(args) {
            if let (Type::Int, Some(n)) = (&x.ty, as_size(t)) {
                instance.sizes.insert(x.var.clone(), self.size(ctx, &n, here)?);
            }
        }
        for (x, t) in d.params.iter().zip(args) {
            let expected = instance.ty(&x.ty);
            self.expect(ctx, t, &format!("the argument for {:?}", x.var), &expected, here)?;
        }
        let result = instance.ty(&d.result);
        if let Some(message) = instance.wrong {
            return here.fail(message);
        }
        self.well_formed(ctx, &result, here)
    }

    /// Γ, x : τ for t : τ. An int bound to a size polynomial stands for it.
    pub(super) fn let_context(&mut self, ctx: &Context, x: &Binder, t: &Tm, at: &At<'_>) -> Checked<Context> {
        let found = self.term(ctx, t)?;
        let mut inner = self.bind_to(ctx, x, &found, at)?;
        if let (Type::Int, Some(n)) = (&found, as_size(t))
            && let Some(n) = ctx.size(&n)
        {
            inner.define(&x.var, n);
        }
        Ok(inner)
    }

    /// A linear type leaves the scope of x.
    pub(super) fn leaving_lin(
        &self,
        outer: &Context,
        ty: LType,
        x: &Var,
        inner: &Context,
        at: &At<'_>,
    ) -> Checked<LType> {
        match inner.var(x) {
            Some(Type::Int) => self.well_formed_lin(outer, &ty, at),
            Some(_) | None => Ok(ty),
        }
    }
}

impl At<'_> {
    pub(super) fn arms(&self, expected: usize, found: usize) -> Checked<()> {
        if expected == found { Ok(()) } else { self.fail(format!("{found} arms for {expected} summands")) }
    }
    fn arguments(&self, of: &str, expected: usize, found: usize) -> Checked<()> {
        if expected == found { Ok(()) } else { self.fail(format!("{of}: {found} given, {expected} needed")) }
    }
}

/// The rule for a former.
fn rule_of(t: &Arc<Term>) -> Rule {
    match &**t {
        Term::Var(_) => Rule::Var,
        Term::Lit(_) => Rule::Lit,
        Term::Let(..) => Rule::Let,
        Term::Tuple(_) => Rule::Tuple,
        Term::Proj(..) => Rule::Proj,
        Term::Inject(..) => Rule::Inject,
        Term::Case(..) => Rule::Case,
        Term::Lam(..) => Rule::Lam,
        Term::App(..) => Rule::App,
        Term::Prim(..) => Rule::Op,
        Term::If(..) => Rule::If,
        Term::Build { .. } => Rule::Build,
        Term::Index(..) => Rule::Index,
        Term::Update { .. } => Rule::Update,
        Term::Array(..) => Rule::Array,
        Term::Sum { .. } => Rule::Sum,
        Term::Extremum { .. } => Rule::Extremum,
        Term::Loop { .. } => Rule::Loop,
        Term::While { .. } => Rule::While,
        Term::Argsort(_) => Rule::Argsort,
        Term::Check { .. } => Rule::Check,
        Term::Call { .. } => Rule::Call,
        Term::Diff { .. } => Rule::Diff,
        Term::Detach(_) => Rule::Detach,
        Term::LinLam(..) => Rule::LinLam,
        Term::LinApp(..) => Rule::LinApp,
        Term::Unread(_) => Rule::Unread,
        Term::Box(_) => Rule::Box,
        Term::Unbox(..) => Rule::Unbox,
        Term::Zero(_) => Rule::Zero,
    }
}
