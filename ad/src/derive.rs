//! D of definitions, memoised by name, and of the λ under a differentiation operator.

use crate::context::D;
use crate::error::{AdError, Reason};
use crate::shared::{derivative_name, plain, plain_proj, plain_tuple};
use lang::big_stack;
use lang::core::make::{let_, tuple};
use lang::core::{Binder, Def, Program, Term, Tm};
use lang::diag::{Site, Span};
use lang::name::{Name, Supply, Var};
use lang::target::{LBinder, make as lin};
use lang::types::{Mode, Type};
use lang::typing::Scope;
use lang::walk::{Mapper, Subst, map_term};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Adds `f'fwd` or `f'rev`, and the derivatives of everything it calls, to the program; gives the name. What is there already is not derived again.
///
/// For `f : τ1 → … → τk → σ` it takes D(τi)_1 and gives D(σ)_1 * ((D(τ1)_2, …, D(τk)_2) ⊸ D(σ)_2), reverse with the map turned round; for
/// k = 1 the tuple is the bare D(τ1)_2.
pub fn derive(program: &mut Program, def: &Name, mode: Mode) -> Result<Name, AdError> {
    big_stack::run(|| derive_all(program, BTreeSet::from([def.clone()]), mode))?;
    Ok(derivative_name(def, mode))
}

fn derive_all(program: &mut Program, wanted: BTreeSet<Name>, mode: Mode) -> Result<(), AdError> {
    let mut wanted: Vec<(Name, Vec<Name>)> = wanted.into_iter().map(|f| (f, vec![])).collect();
    while let Some((def, mut chain)) = wanted.pop() {
        let name = derivative_name(&def, mode);
        if program.defs.contains_key(&name) {
            continue;
        }
        chain.push(def.clone());
        let (derivative, calls) =
            derived(program, &def, mode).map_err(|e| AdError { chain: chain.clone(), ..e })?;
        program.defs.insert(name, Arc::new(derivative));
        wanted.extend(calls.into_iter().map(|f| (f, chain.clone())));
    }
    Ok(())
}

/// D of one definition, and the definitions it calls whose derivatives it calls.
pub fn derived(program: &Program, def: &Name, mode: Mode) -> Result<(Def, BTreeSet<Name>), AdError> {
    let site = Site { def: def.clone(), span: Span::default() };
    let Some(f) = program.defs.get(def) else {
        return Err(AdError { site, reason: Reason::UnknownDefinition(def.clone()), chain: vec![] });
    };
    let mut supply = f.supply.clone();
    let mut scope = Scope::default();
    for n in &f.sizes {
        scope.bind(n, &Type::Int);
    }
    let mut d = D::new(mode, program, &mut supply, site, scope);
    let params: Vec<(&Var, &Type)> = f.params.iter().map(|x| (&x.var, &x.ty)).collect();
    let (body, map) = big_stack::run(|| closed(&mut d, &params, &f.body))?;
    let derivative = Def {
        name: derivative_name(def, mode),
        types: f.types.clone(),
        sizes: f.sizes.clone(),
        params: f.params.iter().map(|x| d.primal_binder(x)).collect(),
        result: Type::tuple([f.result.primal(mode), map]),
        body,
        supply: Supply::default(),
    };
    let calls = std::mem::take(&mut d.calls);
    Ok((Def { supply, ..derivative }, calls))
}

/// D of Γ ⊢ t with the environment as the plain tuple of Γ's tangents, and the type of its linear map.
///
/// ```text
/// ⟨p,L⟩ = D(t)      ⟨p, λ̲v. L • ⟨⟨⟨⟩, v.1⟩, …, v.k⟩⟩          ⟨p, λ̲w. let z̲ = L • w in ⟨proj_1 z̲, …, proj_k z̲⟩⟩
/// ```
fn closed(d: &mut D, gamma: &[(&Var, &Type)], t: &Tm) -> Result<(Tm, Type), AdError> {
    let k = gamma.len();
    d.nested = has_maps(t);
    let tangents = plain(gamma.iter().map(|(_, ty)| d.tangent(ty)));
    let (t, env) = d.under(gamma, |d| Ok((d.sub(t)?, d.env())))?;
    let map = d.map_type(tangents.clone(), d.tangent(&t.ty));
    let l = match d.mode {
        Mode::Forward => d.lambda("v", tangents, |v| {
            let slots = (0..k).map(|i| plain_proj(v.clone(), i, k));
            t.at(slots.fold(lin::tuple([]), |env, slot| lin::tuple([env, slot])))
        }),
        Mode::Reverse => {
            let z = LBinder::new(d.supply.fresh("z"), env);
            d.on(&t.ty, |w| {
                let slots = (0..k).map(|i| lin::env_proj(k - 1 - i, lin::var(&z.var)));
                let result = plain_tuple(slots);
                lin::let_(z, t.at(w), result)
            })
        }
    };
    Ok((t.bind(tuple([t.p(), l])), map))
}

/// A derivative or a linear map occurs in t.
fn has_maps(t: &Tm) -> bool {
    struct Maps(bool);
    impl Mapper for Maps {
        fn term(&mut self, t: &Tm) -> Tm {
            self.0 |= matches!(**t, Term::Diff { .. } | Term::LinLam(..) | Term::LinApp(..) | Term::Box(_));
            if self.0 { t.clone() } else { map_term(self, t) }
        }
    }
    let mut maps = Maps(false);
    maps.term(t);
    maps.0
}

/// D of λx. body at the free variable x: a term of type σ * (Dτ ⊸ Dσ), reverse σ * (Dσ ⊸ Dτ). Everything else that is free in the body
/// is a constant with its type in `scope`. `site` is the place of the differentiation operator. Derives what the body calls.
pub fn derive_lambda(
    program: &mut Program,
    x: &Binder,
    body: &Tm,
    scope: &Scope,
    mode: Mode,
    site: &Site,
    supply: &mut Supply,
) -> Result<Tm, AdError> {
    let mut d = D::new(mode, program, supply, site.clone(), scope.clone());
    let (term, _) = big_stack::run(|| closed(&mut d, &[(&x.var, &x.ty)], body))?;
    let calls = std::mem::take(&mut d.calls);
    derive_all(program, calls, mode).map_err(|e| AdError { site: site.clone(), ..e })?;
    Ok(term)
}

/// `Diff{mode, λx. body, t}` as `let x = t in D(body)`; None where the operand is no λ.
pub fn resolve_diff(
    program: &mut Program,
    diff: &Term,
    scope: &Scope,
    supply: &mut Supply,
) -> Option<Result<Tm, AdError>> {
    let Term::Diff { mode, f, x: t, site } = diff else { return None };
    let Term::Lam(x, body) = &**f else { return None };
    let dual = derive_lambda(program, x, body, scope, *mode, site, supply);
    Some(dual.map(|dual| let_(x.clone(), t.clone(), dual)))
}

/// Replaces every `Diff` in a definition, innermost first.
pub fn resolve(program: &mut Program, def: &Name) -> Result<(), AdError> {
    let mut f = Def::clone(&program.defs[def]);
    let mut scope = Scope::default();
    f.sizes.iter().for_each(|n| scope.bind(n, &Type::Int));
    f.params.iter().for_each(|x| scope.bind(&x.var, &x.ty));
    big_stack::run(|| binders(&f.body, &mut scope));
    let functions = HashMap::new();
    let mut r = Resolve { program, scope, supply: &mut f.supply, functions, error: None };
    f.body = big_stack::run(|| r.term(&f.body));
    match r.error {
        Some(e) => Err(AdError { chain: [vec![def.clone()], e.chain].concat(), ..e }),
        None => {
            program.defs.insert(def.clone(), Arc::new(f));
            Ok(())
        }
    }
}

struct Resolve<'a> {
    program: &'a mut Program,
    scope: Scope,
    supply: &'a mut Supply,
    /// The variables that are bound to a λ, with it.
    functions: HashMap<Var, Tm>,
    error: Option<AdError>,
}

impl Mapper for Resolve<'_> {
    fn term(&mut self, t: &Tm) -> Tm {
        if let Term::Let(x, a, b) = &**t {
            let a = self.term(a);
            if let Term::Lam(..) = &*a {
                self.functions.insert(x.var.clone(), a.clone());
            }
            let b = self.term(b);
            return let_(x.clone(), a, b);
        }
        let mut t = map_term(self, t);
        // A function with a name is differentiated like the λ it is.
        if let Term::Diff { mode, f, x, site } = &*t
            && let Term::Var(name) = &**f
            && let Some(function) = self.functions.get(name)
        {
            let f = Subst::new(self.supply).term(function);
            binders(&f, &mut self.scope);
            t = Arc::new(Term::Diff { mode: *mode, f, x: x.clone(), site: site.clone() });
        }
        let Term::Diff { site, .. } = &*t else { return t };
        let unknown = || AdError { site: site.clone(), reason: Reason::OperandUnknown, chain: vec![] };
        match resolve_diff(self.program, &t, &self.scope, self.supply).unwrap_or_else(|| Err(unknown())) {
            Ok(t) => t,
            Err(e) => {
                self.error.get_or_insert(e);
                t
            }
        }
    }
}

/// Binds everything that a Core term binds. Binders are unique, so one scope serves the whole term.
fn binders(t: &Tm, scope: &mut Scope) {
    struct Binders<'a>(&'a mut Scope);
    impl Mapper for Binders<'_> {
        fn term(&mut self, t: &Tm) -> Tm {
            match &**t {
                Term::Let(x, ..) | Term::Lam(x, _) | Term::While { state: x, .. } => {
                    self.0.bind(&x.var, &x.ty)
                }
                Term::Case(_, arms) => arms.iter().for_each(|(x, _)| self.0.bind(&x.var, &x.ty)),
                Term::Build { index, .. } | Term::Sum { index, .. } | Term::Extremum { index, .. } => {
                    self.0.bind(index, &Type::Int)
                }
                Term::Loop { state, index, .. } => {
                    self.0.bind(&state.var, &state.ty);
                    self.0.bind(index, &Type::Int);
                }
                Term::LinLam(z, _) => self.0.bind_lin(&z.var, &z.ty),
                Term::Var(_)
                | Term::Lit(_)
                | Term::Tuple(_)
                | Term::Proj(..)
                | Term::Inject(..)
                | Term::App(..)
                | Term::Prim(..)
                | Term::If(..)
                | Term::Index(..)
                | Term::Update { .. }
                | Term::Array(..)
                | Term::Argsort(_)
                | Term::Check { .. }
                | Term::Call { .. }
                | Term::Diff { .. }
                | Term::Detach(_)
                | Term::LinApp(..)
                | Term::Unread(_)
                | Term::Box(_)
                | Term::Unbox(..)
                | Term::Zero(_) => {}
            }
            map_term(self, t)
        }
    }
    Binders(scope).term(t);
}
