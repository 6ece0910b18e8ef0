//! Contexts Γ; Δ̲, and what types mean in them.

use super::{At, Checked, Checker, Language};
use lang::core::Binder;
use lang::name::{Name, Var};
use lang::size::Size;
use lang::target::LBinder;
use lang::types::{LType, Mode, Type};
use lang::walk::{Mapper, map_ltype, map_type};
use std::collections::HashMap;

/// The types in it are in normal form ([`Context::size`]).
#[derive(Clone, Default)]
pub struct Context {
    vars: im::HashMap<Var, Type>,
    lins: im::HashMap<Var, LType>,
    /// Ints bound to size polynomials, and those polynomials.
    sizes: im::HashMap<Var, Size>,
}

impl Context {
    pub fn var(&self, x: &Var) -> Option<&Type> {
        self.vars.get(x)
    }
    pub fn lin(&self, z: &Var) -> Option<&LType> {
        self.lins.get(z)
    }
    /// Without Δ̲.
    pub fn cartesian(&self) -> Context {
        Context { lins: im::HashMap::new(), ..self.clone() }
    }
    /// The int x is the size n.
    pub fn define(&mut self, x: &Var, n: Size) {
        self.sizes.insert(x.clone(), n);
    }
    /// The normal form of a size; None where a coefficient leaves 64 bits.
    pub fn size(&self, n: &Size) -> Option<Size> {
        n.subst(&|x| self.sizes.get(x).cloned())
    }
}

/// Simultaneous substitution in types: sizes for variables, types for type parameters.
pub struct Instance {
    pub sizes: HashMap<Var, Size>,
    pub types: HashMap<Name, Type>,
    /// What went wrong: a variable without a size, a coefficient beyond 64 bits.
    pub wrong: Option<String>,
}

impl Mapper for Instance {
    fn size(&mut self, n: &Size) -> Size {
        for x in n.vars().filter(|x| !self.sizes.contains_key(x)) {
            self.wrong.get_or_insert(format!("the argument for {x:?} must be a size: a type depends on it"));
        }
        n.subst(&|x| self.sizes.get(x).cloned()).unwrap_or_else(|| {
            self.wrong.get_or_insert(format!("the size {n} does not fit in 64 bits"));
            n.clone()
        })
    }
    fn ty(&mut self, t: &Type) -> Type {
        match t {
            Type::Param(a) => self.types.get(a).cloned().unwrap_or_else(|| t.clone()),
            _ => map_type(self, t),
        }
    }
    fn lty(&mut self, t: &LType) -> LType {
        match t {
            LType::Param(a) => match self.types.get(a) {
                // Instances are first-order: D is the same in both modes.
                Some(instance) => instance.tangent(Mode::Forward),
                None => t.clone(),
            },
            _ => map_ltype(self, t),
        }
    }
}

/// Normalises types, remembering the first thing that is wrong with them.
struct Form<'c> {
    ctx: &'c Context,
    params: &'c [Name],
    language: Language,
    wrong: Option<String>,
}

impl Form<'_> {
    fn wrong(&mut self, message: String) {
        self.wrong.get_or_insert(message);
    }
}

impl Mapper for Form<'_> {
    fn size(&mut self, n: &Size) -> Size {
        for x in n.vars() {
            match self.ctx.var(x) {
                Some(Type::Int) => {}
                Some(other) => self.wrong(format!("the size variable {x:?} has type {other:?}")),
                None => self.wrong(format!("the size variable {x:?} is not in scope")),
            }
        }
        self.ctx.size(n).unwrap_or_else(|| {
            self.wrong(format!("the size {n} does not fit in 64 bits"));
            n.clone()
        })
    }
    fn ty(&mut self, t: &Type) -> Type {
        match t {
            Type::Param(a) if !self.params.contains(a) => {
                self.wrong(format!("the type parameter {a} is not in scope"))
            }
            Type::Array(_, element) if !array_element(element, self.language) => {
                self.wrong(format!("an array of {element:?}"))
            }
            _ => {}
        }
        map_type(self, t)
    }
    fn lty(&mut self, t: &LType) -> LType {
        match t {
            LType::Param(a) if !self.params.contains(a) => {
                self.wrong(format!("the type parameter {a} is not in scope"))
            }
            _ => {}
        }
        map_ltype(self, t)
    }
}

/// [n]τ: τ is first-order; in Target it may contain linear maps.
fn array_element(t: &Type, language: Language) -> bool {
    match t {
        Type::Real | Type::Int | Type::Bool | Type::Param(_) => true,
        Type::Tuple(ts) | Type::Sum(ts) => ts.iter().all(|t| array_element(t, language)),
        Type::Array(_, t) => array_element(t, language),
        Type::Fun(..) => false,
        Type::Lin(..) => language != Language::Core,
    }
}

impl Checker<'_> {
    fn form<T>(&self, ctx: &Context, at: &At<'_>, map: impl FnOnce(&mut Form<'_>) -> T) -> Checked<T> {
        let mut form = Form { ctx, params: &self.def.types, language: self.language, wrong: None };
        let normal = map(&mut form);
        match form.wrong {
            None => Ok(normal),
            Some(message) => at.fail(message),
        }
    }
    /// The normal form of a type all of whose variables are in scope.
    pub fn well_formed(&self, ctx: &Context, t: &Type, at: &At<'_>) -> Checked<Type> {
        self.form(ctx, at, |f| f.ty(t))
    }
    pub fn well_formed_lin(&self, ctx: &Context, t: &LType, at: &At<'_>) -> Checked<LType> {
        self.form(ctx, at, |f| f.lty(t))
    }
    /// The normal form of a size all of whose variables are ints in scope.
    pub fn size(&self, ctx: &Context, n: &Size, at: &At<'_>) -> Checked<Size> {
        self.form(ctx, at, |f| f.size(n))
    }

    /// A binder has a number of its own.
    fn fresh(&mut self, x: &Var, at: &At<'_>) -> Checked<()> {
        if x.id >= self.def.supply.next {
            return at.fail(format!("{x:?} was not taken from the definition's supply"));
        }
        if !self.binders.insert(x.id) {
            return at.fail(format!("{x:?} is bound twice in the definition"));
        }
        Ok(())
    }
    /// Γ, x : τ; the normal form of τ.
    pub fn bind(&mut self, ctx: &mut Context, x: &Var, t: &Type, at: &At<'_>) -> Checked<Type> {
        let t = self.well_formed(ctx, t, at)?;
        self.fresh(x, at)?;
        ctx.vars.insert(x.clone(), t.clone());
        Ok(t)
    }
    pub fn bind_lin(&mut self, ctx: &mut Context, z: &LBinder, at: &At<'_>) -> Checked<LType> {
        let t = self.well_formed_lin(ctx, &z.ty, at)?;
        self.fresh(&z.var, at)?;
        ctx.lins.insert(z.var.clone(), t.clone());
        Ok(t)
    }
    /// Γ, x : τ where τ is the type of what x is bound to.
    pub fn bind_to(&mut self, ctx: &Context, x: &Binder, found: &Type, at: &At<'_>) -> Checked<Context> {
        let mut inner = ctx.clone();
        let declared = self.bind(&mut inner, &x.var, &x.ty, at)?;
        at.equal(&format!("what {:?} is bound to", x.var), found, &declared)?;
        Ok(inner)
    }
    /// Δ̲, z̲ : τ̲ where τ̲ is the type of what z̲ is bound to.
    pub fn bind_lin_to(
        &mut self,
        ctx: &Context,
        z: &LBinder,
        found: &LType,
        at: &At<'_>,
    ) -> Checked<Context> {
        let mut inner = ctx.clone();
        let declared = self.bind_lin(&mut inner, z, at)?;
        at.equal(&format!("what {:?} is bound to", z.var), found, &declared)?;
        Ok(inner)
    }
    /// Γ, i : int
    pub fn bind_index(&mut self, ctx: &Context, i: &Var, at: &At<'_>) -> Checked<Context> {
        let mut inner = ctx.clone();
        self.bind(&mut inner, i, &Type::Int, at)?;
        Ok(inner)
    }
}
