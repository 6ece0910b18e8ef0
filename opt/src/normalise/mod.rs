//! Normalisation: a symbolic evaluation that leaves only first-order, let-bound code.
//!
//! Calls and λ are applied, tuples come apart, differentiation operators are resolved innermost first (by the functor D, handed in as a
//! function), known linear maps are applied, and what an array, a loop or a branch would keep in linear maps is kept as
//! residuals ([`residual`]). Run on Core it gives first-order Core; run on D's output, first-order Target.
//!
//! The normal form: every intermediate value of scalar or array type is let-bound once, int polynomials are inline,
//! a value of a sum type is its tag and the payloads of every summand ([`sums`]), no λ, application, Diff remains, and λ̲ occurs only as the map of a [`Term::LinApp`] (and in the result of an entry
//! point that asks for a map). Calls are of recursive definitions only, specialised and in normal form themselves ([`calls`]); those at
//! known sizes are applied too ([`unroll`]).

mod abstraction;
mod arrays;
mod beside;
mod called_map;
mod calls;
mod cartesian;
mod environment;
pub mod linear;
mod linear_loop;
mod residual;
mod shape;
mod slots;
mod sums;
mod trie;
mod unroll;
pub mod value;

use crate::{Error, Normal};
use lang::core::{Binder, Def, Program, Term, Tm, make};
use lang::diag::{Failure, Site};
use lang::name::{Name, Supply, Var};
use lang::precision::Precision;
use lang::prim::Prim;
use lang::size::Size;
use lang::target::{LBinder, Lin};
use lang::types::{LType, Mode, Type};
use lang::typing::Scope;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use value::{Env, V};

/// D of λx. t, the other variables in scope inactive: a term of type (σ, ⊸) in which x is free. The site is the operator's.
/// The program has the definitions that t calls, and gets their derivatives.
pub type Derive<'d> =
    dyn Fn(&mut Program, Mode, &Binder, &Tm, &Scope, &Site, &mut Supply) -> Result<Tm, Error> + 'd;

/// One let of a region.
pub enum Item {
    Let(Binder, Tm),
    Lin(LBinder, Lin),
}

pub struct Normaliser<'p> {
    /// The source, what has been derived, and what is in normal form.
    program: Program,
    calls: calls::Calls,
    unrolling: unroll::Unrolling,
    derive: &'p Derive<'p>,
    /// To which literals are rounded, and what is computed of them.
    precision: Precision,
    counter: Cell<u32>,
    /// Lets of the regions being built, the innermost last.
    regions: Vec<Vec<Item>>,
    /// Types of every variable bound in the normal form.
    types: HashMap<Var, Type>,
    ltypes: HashMap<Var, LType>,
    ltypes_under: environment::Known,
    marks: usize,
    used_marks: RefCell<BTreeSet<usize>>,
    /// The bounds of the indices made.
    bounds: HashMap<Var, Size>,
    /// The arrays of the state of the loop whose step is being evaluated, arms of the step included.
    states: BTreeSet<Var>,
    /// What leaves the region is a loop's step: arrays that follow from others are made again (`residual.rs`).
    rebuild: bool,
    /// The differentiation operator being resolved: the place of what its linear part checks.
    operator: Option<Site>,
    /// Depth of calls being applied.
    depth: usize,
    /// What is called by each of the definitions being specialised, the innermost last.
    callers: Vec<BTreeSet<Name>>,
    /// Operands of differentiation operators that we are in: there `detach` still has a meaning.
    operands: usize,
    /// Lets made so far: the limit on the growth of the program.
    made: usize,
    /// Functions and definitions applied so far.
    applied: usize,
}

/// How deep calls may nest, and how many lets the normal form may have. A program over either is rejected with its name.
pub const CALL_LIMIT: usize = 2_000;
pub const LET_LIMIT: usize = 1_000_000;

/// How many functions and definitions may be applied: of functions of functions, or of definitions that call another twice, a short program can apply
/// more than any machine, without making a let.
pub const APPLICATION_LIMIT: usize = 1_000_000;

/// The normal form of a definition whose parameters and result are first-order (or, for the result, hold linear maps).
pub fn normalise(
    def: &Def,
    program: &Program,
    derive: &Derive,
    precision: Precision,
) -> Result<Normal, Error> {
    if !def.types.is_empty() {
        return Err(Error::unsupported("an entry point with type parameters"));
    }
    let mut n = Normaliser::new(program, derive, precision, def.supply.next);
    let mut env = Env::default();
    for s in &def.sizes {
        n.types.insert(s.clone(), Type::Int);
        env.vars.insert(s.clone(), V::Int(Size::var(s.clone())));
    }
    let (mut params, result) = (def.params.clone(), n.ty(&def.result, &env)?);
    for p in &mut params {
        p.ty = n.ty(&p.ty, &env)?;
    }
    let (value, items) = n.region(|n| {
        for p in &params {
            n.types.insert(p.var.clone(), p.ty.clone());
            let v = n.taken_apart(&p.var, &p.ty);
            env.vars.insert(p.var.clone(), v);
        }
        n.term(&def.body, &env, "result")
    })?;
    let body = wrap(items, n.reify_result(value)?);
    let body = crate::prune::prune(&body);
    let callees = n.callees(&body);
    let entry = Def { params, result, body, supply: Supply { next: n.counter.get() }, ..def.clone() };
    Ok(Normal { entry, callees, precision })
}

impl<'p> Normaliser<'p> {
    pub fn new(program: &Program, derive: &'p Derive<'p>, precision: Precision, next: u32) -> Normaliser<'p> {
        Normaliser {
            program: program.clone(),
            calls: calls::Calls::default(),
            unrolling: unroll::Unrolling::default(),
            derive,
            precision,
            counter: Cell::new(next),
            regions: vec![],
            types: HashMap::new(),
            ltypes: HashMap::new(),
            ltypes_under: environment::Known::default(),
            marks: 0,
            used_marks: RefCell::new(BTreeSet::new()),
            bounds: HashMap::new(),
            states: BTreeSet::new(),
            rebuild: false,
            operator: None,
            depth: 0,
            callers: vec![],
            operands: 0,
            made: 0,
            applied: 0,
        }
    }

    fn fresh(&self, name: &str) -> Var {
        let id = self.counter.get();
        self.counter.set(id + 1);
        Var { name: name.into(), id }
    }

    fn var(&mut self, name: &str, ty: &Type) -> Var {
        let v = self.fresh(name);
        self.types.insert(v.clone(), ty.clone());
        v
    }

    fn index(&mut self, like: &Var) -> Var {
        let name = like.name.clone();
        self.var(&name, &Type::Int)
    }

    /// Fails unless 0 ≤ i < n, where that is not evident.
    fn check_index(&mut self, i: &V, n: &Size, site: &Site) -> Result<(), Error> {
        let evident = match i {
            V::Int(k) => match (k.as_var(), k.as_constant(), n.as_constant()) {
                (Some(k), _, _) => self.bounds.get(k) == Some(n),
                (_, Some(k), Some(n)) => (0..n).contains(&k),
                _ => false,
            },
            _ => false,
        };
        if evident {
            return Ok(());
        }
        let (i, n) = (i.reify()?, make::size(n));
        let low = make::prim(Prim::ILe, [make::int(0), i.clone()]);
        let high = make::prim(Prim::ILt, [i.clone(), n.clone()]);
        let check = Term::Check {
            cond: make::prim(Prim::And, [low, high]),
            failure: Failure::IndexOutOfRange,
            details: vec![i, n],
            site: site.clone(),
            body: make::unit(),
        };
        self.bind(std::sync::Arc::new(check), &Type::unit(), "checked");
        Ok(())
    }

    fn linear_var(&mut self, name: &str, ty: &LType) -> Var {
        let v = self.fresh(name);
        self.ltypes.insert(v.clone(), ty.clone());
        v
    }

    fn push(&mut self, item: Item) {
        self.made += 1;
        self.regions.last_mut().expect("a region is open").push(item);
    }

    /// One more function or definition is applied.
    fn count_application(&mut self) -> Result<(), Error> {
        self.applied += 1;
        if self.applied > APPLICATION_LIMIT {
            return Err(Error::too_many_applications(APPLICATION_LIMIT));
        }
        self.within_lets()
    }

    fn within_lets(&self) -> Result<(), Error> {
        if self.made > LET_LIMIT { Err(Error::too_large(LET_LIMIT)) } else { Ok(()) }
    }

    /// Runs f in a region of its own and returns the lets it made.
    fn region<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<(T, Vec<Item>), Error> {
        self.regions.push(vec![]);
        let result = f(self);
        let items = self.regions.pop().expect("regions nest");
        self.within_lets()?;
        Ok((result?, items))
    }

    /// The same for what runs many times, or in a step of a loop with this state.
    fn region_of<T>(
        &mut self,
        states: BTreeSet<Var>,
        f: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<(T, Vec<Item>), Error> {
        let outer = std::mem::replace(&mut self.states, states);
        let result = self.region(f);
        self.states = outer;
        result
    }

    /// The lets of a region that runs many times, without the ints that are the same each time: these are bound before it. What has one of them
    /// as its size can then be kept.
    fn hoist(&mut self, items: Vec<Item>, locals: &[&Var]) -> Vec<Item> {
        let mut local: BTreeSet<Var> = locals.iter().map(|x| (*x).clone()).collect();
        let mut rest = vec![];
        for item in items {
            match item {
                Item::Let(x, t)
                    if x.ty == Type::Int
                        && matches!(&*t, Term::Prim(..))
                        && lang::walk::free_vars(&t).is_disjoint(&local) =>
                {
                    self.push(Item::Let(x, t));
                }
                Item::Let(x, t) => {
                    local.insert(x.var.clone());
                    rest.push(Item::Let(x, t));
                }
                Item::Lin(z, s) => rest.push(Item::Lin(z, s)),
            }
        }
        rest
    }

    /// Binds a term of the normal form and gives its value.
    fn bind(&mut self, t: Tm, ty: &Type, name: &str) -> V {
        let x = self.var(name, ty);
        self.push(Item::Let(Binder::new(x.clone(), ty.clone()), t));
        self.taken_apart(&x, ty)
    }

    /// A variable's value: tuples are the tuples of their components.
    fn taken_apart(&mut self, x: &Var, ty: &Type) -> V {
        match ty {
            Type::Tuple(ts) => {
                let parts: Vec<V> = (ts.iter().enumerate())
                    .map(|(k, t)| {
                        let name = x.name.clone();
                        self.bind(make::proj(make::var(x), k), t, &name)
                    })
                    .collect();
                V::tuple(parts)
            }
            _ => V::of_var(x, ty),
        }
    }

    /// An int value as a size; a value that is no polynomial is a variable already.
    fn size(&mut self, n: &Size, env: &Env) -> Result<Size, Error> {
        let lookup = |v: &Var| match env.vars.get(v) {
            Some(value) => value.as_size(),
            None => Some(Size::var(v.clone())),
        };
        n.subst(&lookup)
            .ok_or_else(|| Error::unsupported("a size beyond 64 bits, or a polynomial with too many terms"))
    }

    fn ty(&mut self, t: &Type, env: &Env) -> Result<Type, Error> {
        let mut m = TypesUnder { n: self, env, error: None };
        let t = lang::walk::Mapper::ty(&mut m, t);
        m.error.map_or(Ok(t), Err)
    }

    /// The result of an entry point: data as it is, linear maps as λ̲ in normal form.
    fn reify_result(&mut self, v: V) -> Result<Tm, Error> {
        Ok(match v {
            V::Tuple(vs) => {
                let parts: Result<Vec<Tm>, Error> = vs.iter().map(|v| self.reify_result(v.clone())).collect();
                make::tuple(parts?)
            }
            V::Lin(_) | V::Choice(..) => self.force(&v)?.term(),
            V::Int(_) | V::Atom(..) | V::Fn(_) | V::Family(_) => v.reify()?,
        })
    }
}

/// Sizes in types under an environment.
struct TypesUnder<'a, 'p> {
    n: &'a mut Normaliser<'p>,
    env: &'a Env,
    error: Option<Error>,
}

impl lang::walk::Mapper for TypesUnder<'_, '_> {
    fn size(&mut self, n: &Size) -> Size {
        match self.n.size(n, self.env) {
            Ok(n) => n,
            Err(e) => {
                self.error.get_or_insert(e);
                n.clone()
            }
        }
    }
    fn ty(&mut self, t: &Type) -> Type {
        sums::lowered(&lang::walk::map_type(self, t))
    }
    fn lty(&mut self, t: &LType) -> LType {
        sums::lowered_lin(&lang::walk::map_ltype(self, t))
    }
}

/// The lets of a region around its result; linear lets cannot occur.
pub fn wrap(items: Vec<Item>, t: Tm) -> Tm {
    items.into_iter().rev().fold(t, |t, item| match item {
        Item::Let(x, a) => std::sync::Arc::new(Term::Let(x, a, t)),
        Item::Lin(z, _) => unreachable!("compiler bug: linear let {:?} in a Cartesian region", z.var),
    })
}
