//! Random well-typed Core: definitions of first-order type with functions, loops and branches inside.
//!
//! Every term is made with a bound on the magnitude of the reals in its value, given that arguments lie in [−2, 2]: where a primitive
//! or a loop needs its argument in an interval, the argument is squashed into it by a smooth function. A function takes and gives magnitudes up
//! to [`SMALL`], so whoever applies one needs to know no more. Indices are in range by construction. Comparisons never have the same
//! term on both sides, so ties are accidents.

use crate::rng::Rng;
use lang::core::make::{app, build, if_, index, int, lam, let_, prim, proj, real, sum, tuple, update, var};
use lang::core::{Binder, Def, Extremum, Program, Term, Tm};
use lang::diag::{Site, Span};
use lang::name::{Name, Supply, Var};
use lang::prim::{Prim, Scalar};
use lang::size::Size;
use lang::types::Type;
use lang::walk::{Mapper, map_term};
use std::sync::Arc;

mod calls;
mod scalars;

use calls::{Callee, Depth};

/// The magnitude that functions, loop states and elements of intermediate arrays keep to.
pub const SMALL: f64 = 4.0;

/// Which programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Every former and every primitive.
    Any,
    /// + − * on small whole numbers only (control may be anything that depends on ints): exact in doubles.
    Polynomial,
}

/// A random definition and the values of its sizes.
#[derive(Clone, Debug)]
pub struct Sample {
    pub program: Program,
    pub name: Name,
    pub sizes: Vec<i64>,
    pub kind: Kind,
}

impl Sample {
    pub fn def(&self) -> &Def {
        &self.program.defs[&self.name]
    }

    /// The same program for its sizes alone.
    pub fn at_its_sizes(&self) -> Sample {
        let def = self.def().clone();
        let values: Vec<_> = def.sizes.iter().cloned().zip(self.sizes.iter().copied()).collect();
        let mut fixed = Sample { sizes: vec![], ..self.clone() };
        fixed.program.defs.insert(self.name.clone(), def.at(values).into());
        fixed
    }

    /// Lets in place of functions that are applied where they stand: (λx. t) s = let x = s in t. The forward derivative of a let is the same
    /// to the bit in normal form, that of an application up to rounding.
    pub fn with_lets(&self) -> Sample {
        struct Lets;
        impl Mapper for Lets {
            fn term(&mut self, t: &Tm) -> Tm {
                let t = map_term(self, t);
                match &*t {
                    Term::App(f, s) => match &**f {
                        Term::Lam(x, body) => Arc::new(Term::Let(x.clone(), s.clone(), body.clone())),
                        _ => t,
                    },
                    _ => t,
                }
            }
        }
        let mut out = self.clone();
        for def in out.program.defs.values_mut() {
            *def = Arc::new(Def { body: Lets.term(&def.body), ..(**def).clone() });
        }
        out
    }

    /// It calls a definition that calls itself.
    pub fn recursive(&self) -> bool {
        let called = lang::calls::reached(&self.def().body, &self.program);
        called.iter().any(|f| lang::calls::recursive(f, &self.program))
    }
}

/// The definition of a seed; `fuel` is about the number of formers in it.
pub fn sample(seed: u64, fuel: usize, kind: Kind) -> Sample {
    let mut rng = Rng::new(seed);
    let mut program = Program::default();
    let helper = rng.chance(1, 3).then(|| {
        let recursive = rng.chance(1, 2);
        let def = Gen::new(&mut rng, kind, None).helper(fuel / 3, recursive);
        let name = def.name.clone();
        program.defs.insert(name.clone(), Arc::new(def));
        Callee { name, depth: if recursive { Depth::Few } else { Depth::Any } }
    });
    let (def, sizes) = Gen::new(&mut rng, kind, helper).definition(fuel);
    let name = def.name.clone();
    program.defs.insert(name.clone(), Arc::new(def));
    Sample { program, name, sizes, kind }
}

/// A variable in scope.
#[derive(Clone)]
struct Known {
    var: Var,
    ty: Type,
    /// The reals in its value are at most this.
    mag: f64,
    /// It is an index below this size.
    below: Option<Size>,
}

struct Gen<'r> {
    rng: &'r mut Rng,
    supply: Supply,
    kind: Kind,
    scope: Vec<Known>,
    /// Sizes that arrays may have; the value where it is known.
    sizes: Vec<(Size, Option<i64>)>,
    callee: Option<Callee>,
}

fn site() -> Site {
    Site { def: "f".into(), span: Span::default() }
}

/// A term and the bound on the reals in its value.
type Made = (Tm, f64);

impl<'r> Gen<'r> {
    fn new(rng: &'r mut Rng, kind: Kind, callee: Option<Callee>) -> Gen<'r> {
        Gen { rng, supply: Supply::default(), kind, scope: vec![], sizes: vec![], callee }
    }

    fn any(&self) -> bool {
        self.kind == Kind::Any
    }

    fn param(&mut self, name: &str, ty: Type, mag: f64) -> Binder {
        let x = Binder::new(self.supply.fresh(name), ty.clone());
        self.scope.push(Known { var: x.var.clone(), ty, mag, below: None });
        x
    }

    fn size_param(&mut self, name: &str, k: Option<i64>) -> Var {
        let n = self.supply.fresh(name);
        self.sizes.push((Size::var(n.clone()), k));
        self.scope.push(Known { var: n.clone(), ty: Type::Int, mag: 0.0, below: None });
        n
    }

    fn definition(mut self, fuel: usize) -> (Def, Vec<i64>) {
        let lowest = if self.rng.chance(1, 12) { 0 } else { 1 };
        let values = vec![self.rng.int(lowest, 4), self.rng.int(1, 3)];
        let sizes = vec![self.size_param("n", Some(values[0])), self.size_param("m", Some(values[1]))];
        self.sizes.push((Size::constant(2), Some(2)));
        let (n, m) = (Size::var(sizes[0].clone()), Size::var(sizes[1].clone()));
        let vector = Type::array(n.clone(), Type::Real);
        let mut params = vec![];
        for k in 0..1 + self.rng.below(3) {
            let ty = match self.rng.below(if k == 0 { 4 } else { 7 }) {
                0 => Type::Real,
                1 | 2 => vector.clone(),
                3 => Type::array(n.clone(), Type::array(m.clone(), Type::Real)),
                4 => Type::Int,
                5 => Type::tuple([Type::Real, Type::array(m.clone(), Type::Real), Type::Bool]),
                _ => Type::array(m.clone(), Type::tuple([Type::Real, Type::Int])),
            };
            params.push(self.param(["x", "y", "z"][k], ty, 2.0));
        }
        let result = match self.rng.below(6) {
            0..=2 => Type::Real,
            3 => vector,
            4 => Type::tuple([Type::Real, Type::array(m, Type::Real)]),
            _ => self.data(2),
        };
        let (body, _) = self.term(&result, fuel, false);
        let def = Def { name: "f".into(), types: vec![], sizes, params, result, body, supply: self.supply };
        (def, values)
    }

    // ---- types

    fn size(&mut self) -> (Size, Option<i64>) {
        self.rng.pick(&self.sizes).clone()
    }

    /// A first-order type.
    fn data(&mut self, depth: usize) -> Type {
        match self.rng.below(if depth == 0 { 6 } else { 12 }) {
            0..=3 => Type::Real,
            4 => Type::Int,
            5 => Type::Bool,
            6..=8 => Type::array(self.size().0, self.data(depth - 1)),
            _ => {
                let k = 1 + self.rng.below(3);
                Type::tuple((0..k).map(|_| self.data(depth - 1)))
            }
        }
    }

    /// A type for a variable: functions among them.
    fn ty(&mut self, depth: usize) -> Type {
        match self.rng.below(5) {
            0 | 1 => Type::Real,
            2 | 3 if depth > 0 => Type::fun(self.data(1), self.ty(depth - 1)),
            _ => self.data(depth),
        }
    }

    // ---- terms

    /// A term of the type, its reals at most SMALL where asked.
    fn term(&mut self, ty: &Type, fuel: usize, small: bool) -> Made {
        if fuel == 0 {
            return self.leaf(ty, small);
        }
        let first_order = ty.first_order();
        let yes = |b: bool, w: usize| if b { w } else { 0 };
        let former = self.rng.weighted(&[
            (4, 0),
            (2, 1),
            (3, 2),
            (1, 3),
            (yes(self.any(), 1), 4),
            (yes(first_order, 2), 5),
            (1, 6),
            (yes(*ty == Type::Real && self.callee.is_some(), 3), 7),
            (yes(first_order, 1), 8),
            (3, 9),
            (14, 10),
        ]);
        let f = fuel - 1;
        match former {
            0 => {
                let (x_ty, bound) = (self.ty(2), self.rng.chance(1, 2));
                let (t, mag) = self.term(&x_ty, f / 2, bound);
                self.bound("t", x_ty, t, mag, |g| g.term(ty, f - f / 2, small))
            }
            1 => {
                let c = self.bool(f / 4);
                let (t, a) = self.term(ty, f / 3, small);
                let (s, b) = self.term(ty, f / 3, small);
                (if_(c, t, s), a.max(b))
            }
            2 => {
                let from = self.ty(1);
                let (t, _) = self.term(&Type::fun(from.clone(), ty.clone()), f / 2, true);
                let (s, _) = self.term(&from, f / 2, true);
                (app(t, s), SMALL)
            }
            3 => {
                let other = self.ty(1);
                let (ts, k) =
                    if self.rng.chance(1, 2) { ([ty.clone(), other], 0) } else { ([other, ty.clone()], 1) };
                let (t, mag) = self.term(&Type::tuple(ts), f, small);
                (proj(t, k), mag)
            }
            4 if first_order && self.rng.chance(1, 4) => {
                let (t, mag) = self.term(ty, f, small);
                (Arc::new(Term::Detach(t)), mag)
            }
            4 => self.choice(ty, f, small),
            5 => {
                let (t, mag) = self.looped(ty.clone(), Type::unit(), f);
                (proj(t, 0), mag)
            }
            6 => self.with_size(|g| g.term(ty, f, small)),
            7 => self.call(f),
            8 => {
                let n = self.size();
                let (t, mag) = self.term(&Type::array(n.0.clone(), ty.clone()), f / 2, small);
                match self.index_below(&n, f / 4) {
                    Some(i) => (index(t, i, site()), mag),
                    None => self.leaf(ty, small),
                }
            }
            9 => self.leaf(ty, small),
            _ => self.of_type(ty, f, small),
        }
    }

    /// The introduction of a type, or an operation that gives it.
    fn of_type(&mut self, ty: &Type, fuel: usize, small: bool) -> Made {
        match ty {
            Type::Real => {
                let (t, mag) = self.real(fuel);
                if small && self.any() && mag > SMALL { self.squash(t) } else { (t, mag) }
            }
            Type::Int => (self.int(fuel), 0.0),
            Type::Bool => (self.bool(fuel), 0.0),
            Type::Tuple(ts) => {
                let k = ts.len().max(1);
                let made: Vec<Made> = ts.iter().map(|t| self.term(t, fuel / k, small)).collect();
                let mag = made.iter().fold(0.0, |m: f64, (_, n)| m.max(*n));
                (tuple(made.into_iter().map(|(t, _)| t)), mag)
            }
            Type::Array(n, t) if fuel > 0 && **t == Type::Int && self.any() && self.rng.chance(1, 3) => {
                let (i, key) = self.under_index("i", n, |g| g.apart(fuel).0);
                (Arc::new(Term::Argsort(build(i, n.clone(), key))), 0.0)
            }
            Type::Array(n, t) if fuel > 1 && self.rng.chance(1, 4) => {
                let known = self.sizes.iter().find(|s| s.0 == *n).and_then(|s| s.1);
                let Some(i) = self.index_below(&(n.clone(), known), fuel / 4) else {
                    return self.of_type(ty, fuel - 1, small);
                };
                let (array, a) = self.term(ty, fuel / 2, small);
                let (value, b) = self.term(t, fuel / 4, small);
                (update(array, [i], value, site()), a.max(b))
            }
            Type::Array(n, t) => match n.as_constant() {
                Some(k) if self.rng.chance(1, 2) => {
                    let made: Vec<Made> =
                        (0..k).map(|_| self.term(t, fuel / k.max(1) as usize, small)).collect();
                    let mag = made.iter().fold(0.0, |m: f64, (_, n)| m.max(*n));
                    ((Arc::new(Term::Array((**t).clone(), made.into_iter().map(|(t, _)| t).collect()))), mag)
                }
                Some(_) | None if fuel > 0 && self.rng.chance(1, 4) => {
                    let state = self.data(1);
                    let bound = n.clone();
                    let (t, mag) = self.loop_over(bound, state, (**t).clone(), fuel);
                    (proj(t, 1), mag)
                }
                Some(_) | None => {
                    let (i, (body, mag)) = self.under_index("i", n, |g| g.term(t, fuel, small));
                    (build(i, n.clone(), body), mag)
                }
            },
            Type::Fun(from, to) => {
                let x = self.supply.fresh("x");
                let known = Known { var: x.clone(), ty: (**from).clone(), mag: SMALL, below: None };
                let (body, _) = self.under(known, |g| g.term(to, fuel, true));
                (lam(Binder::new(x, (**from).clone()), body), SMALL)
            }
            Type::Sum(_) | Type::Param(_) | Type::Lin(..) => {
                unreachable!("types of this kind are not generated")
            }
        }
    }

    /// The shortest terms: variables, literals.
    fn leaf(&mut self, ty: &Type, small: bool) -> Made {
        let fits = |k: &&Known| k.ty == *ty && (!small || !self.any() || k.mag <= SMALL);
        let known: Vec<Known> = self.scope.iter().filter(fits).cloned().collect();
        if !known.is_empty() && self.rng.chance(9, 10) {
            // Recent variables more often.
            let k = self.rng.below(known.len()).max(self.rng.below(known.len()));
            return (var(&known[k].var), known[k].mag);
        }
        match ty {
            Type::Real => {
                // An element of an array of reals, or the component of a tuple.
                if self.rng.chance(2, 3)
                    && let Some(found) = self.part(small)
                {
                    return found;
                }
                let x = if self.any() {
                    self.rng.real(-2.0, 2.0)
                } else {
                    *self.rng.pick(&[-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
                };
                (real(x), x.abs())
            }
            Type::Int => (int(self.rng.int(-3, 5)), 0.0),
            Type::Bool => (self.compare_ints(0), 0.0),
            _ => self.of_type(ty, 0, small),
        }
    }

    /// A real inside a variable.
    fn part(&mut self, small: bool) -> Option<Made> {
        let fits =
            |k: &&Known| matches!(k.ty, Type::Array(..) | Type::Tuple(_)) && (!small || k.mag <= SMALL);
        let known: Vec<Known> = self.scope.iter().filter(fits).cloned().collect();
        if known.is_empty() {
            return None;
        }
        let Known { var: x, mut ty, mag, .. } = self.rng.pick(&known).clone();
        let mut t = var(&x);
        loop {
            (t, ty) = match ty {
                Type::Real => return Some((t, mag)),
                Type::Tuple(ts) => {
                    let k = ts.iter().position(|t| !matches!(t, Type::Int | Type::Bool | Type::Fun(..)))?;
                    (proj(t, k), ts[k].clone())
                }
                Type::Array(n, of) => {
                    let known = self.sizes.iter().find(|s| s.0 == n).and_then(|s| s.1);
                    (index(t, self.index_below(&(n, known), 0)?, site()), (*of).clone())
                }
                Type::Int | Type::Bool | Type::Fun(..) | Type::Sum(_) | Type::Param(_) | Type::Lin(..) => {
                    return None;
                }
            };
        }
    }

    /// An int from 0 to below the size; None if it may be 0 and no index is at hand.
    fn index_below(&mut self, (n, value): &(Size, Option<i64>), fuel: usize) -> Option<Tm> {
        let at_hand: Vec<Var> =
            self.scope.iter().filter(|k| k.below.as_ref() == Some(n)).map(|k| k.var.clone()).collect();
        if !at_hand.is_empty() && self.rng.chance(4, 5) {
            return Some(var(self.rng.pick(&at_hand)));
        }
        let value = (*value).filter(|k| *k > 0);
        if let (Some(k), true) = (value, self.rng.chance(1, 3)) {
            return Some(int(self.rng.int(0, k - 1)));
        }
        value?;
        let k = self.int(fuel);
        Some(prim(Prim::IMod, [k, lang::core::make::size(n)]))
    }

    // ---- scopes

    fn under<T>(&mut self, known: Known, f: impl FnOnce(&mut Self) -> T) -> T {
        let depth = self.scope.len();
        self.scope.push(known);
        let made = f(self);
        self.scope.truncate(depth);
        made
    }

    fn under_index<T>(&mut self, name: &str, n: &Size, f: impl FnOnce(&mut Self) -> T) -> (Var, T) {
        let i = self.supply.fresh(name);
        let known = Known { var: i.clone(), ty: Type::Int, mag: 0.0, below: Some(n.clone()) };
        let made = self.under(known, f);
        (i, made)
    }

    /// let x = t in …
    fn bound(&mut self, name: &str, ty: Type, t: Tm, mag: f64, f: impl FnOnce(&mut Self) -> Made) -> Made {
        let x = self.supply.fresh(name);
        let known = Known { var: x.clone(), ty: ty.clone(), mag, below: None };
        let (body, mag) = self.under(known, f);
        (let_(Binder::new(x, ty), t, body), mag)
    }

    /// let k = (an int ≥ 0) in …, where k is a size: n + 1, or computed.
    fn with_size(&mut self, f: impl FnOnce(&mut Self) -> Made) -> Made {
        let k = self.supply.fresh("k");
        let (t, value) = match self.size() {
            (n, Some(v)) if self.rng.chance(1, 2) => {
                (prim(Prim::IAdd, [lang::core::make::size(&n), int(1)]), Some(v + 1))
            }
            _ => (prim(Prim::IMod, [self.int(2), int(4)]), None),
        };
        let sizes = self.sizes.len();
        self.sizes.push((Size::var(k.clone()), value));
        let known = Known { var: k.clone(), ty: Type::Int, mag: 0.0, below: None };
        let (body, mag) = self.under(known, f);
        self.sizes.truncate(sizes);
        (let_(Binder::new(k, Type::Int), t, body), mag)
    }

    // ---- iteration, sums

    /// loop s = init for i < n collect (next, output)
    fn looped(&mut self, state: Type, output: Type, fuel: usize) -> Made {
        let n = self.size().0;
        self.loop_over(n, state, output, fuel)
    }

    fn loop_over(&mut self, bound: Size, state: Type, output: Type, fuel: usize) -> Made {
        let (init, a) = self.term(&state, fuel / 3, true);
        let s = Binder::new(self.supply.fresh("s"), state.clone());
        let known = Known { var: s.var.clone(), ty: state.clone(), mag: SMALL, below: None };
        let (i, (body, b)) = self.under_index("i", &bound.clone(), |g| {
            g.under(known, |g| {
                let (next, a) = g.term(&state, fuel / 3, true);
                let (out, b) = g.term(&output, fuel / 3, true);
                (tuple([next, out]), a.max(b))
            })
        });
        (Arc::new(Term::Loop { state: s, init, index: i, bound, body }), a.max(b))
    }

    /// case in_k t of { … }: sums stay local, and specialisation finds their constructors.
    fn choice(&mut self, ty: &Type, fuel: usize, small: bool) -> Made {
        let payloads: Vec<Type> = (0..2).map(|_| self.data(1)).collect();
        let of = Type::Sum(payloads.clone().into());
        let k = self.rng.below(2);
        let (payload, _) = self.term(&payloads[k], fuel / 3, true);
        let scrutinee = Arc::new(Term::Inject(k, of, payload));
        let mut mag = 0.0f64;
        let arms = payloads.iter().map(|payload| {
            let x = Binder::new(self.supply.fresh("p"), payload.clone());
            let known = Known { var: x.var.clone(), ty: payload.clone(), mag: SMALL, below: None };
            let (s, m) = self.under(known, |g| g.term(ty, fuel / 3, small));
            mag = mag.max(m);
            (x, s)
        });
        let arms = arms.collect();
        (Arc::new(Term::Case(scrutinee, arms)), mag)
    }

    fn summed(&mut self, fuel: usize) -> Made {
        let (n, value) = self.size();
        let (i, (body, mag)) = self.under_index("i", &n, |g| g.term(&Type::Real, fuel, false));
        (sum(i, n, body), mag * value.unwrap_or(4) as f64)
    }

    /// A real that depends on the innermost index, so that its values there are not all ties.
    fn apart(&mut self, fuel: usize) -> Made {
        let i = self.scope.last().expect("an index").var.clone();
        let (t, mag) = self.term(&Type::Real, fuel, false);
        let shift = prim(Prim::Sin, [prim(Prim::IntToReal, [var(&i)])]);
        (prim(Prim::Add, [t, shift]), mag + 1.0)
    }

    fn extremum(&mut self, fuel: usize) -> Made {
        let (n, value) = self.size();
        if value.is_none_or(|k| k == 0) {
            return self.summed(fuel);
        }
        let which = if self.rng.chance(1, 2) { Extremum::Max } else { Extremum::Min };
        let (index, (body, mag)) = self.under_index("i", &n, |g| g.apart(fuel));
        (Arc::new(Term::Extremum { which, index, bound: n, body }), mag)
    }
}

/// The scalar types' terms: which primitive, on what.
fn scalar_result(p: Prim) -> Scalar {
    p.row().result
}
