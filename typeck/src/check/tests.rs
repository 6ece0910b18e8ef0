//! Terms that the checker accepts and terms that it rejects, one of each per rule at least.

use super::{Language, Rule, Uses, check_def};
use lang::core::make::*;
use lang::core::{Binder, Def, Extremum, Lit, Program, Term, Tm};
use lang::diag::{Failure, Site, Span};
use lang::name::{Supply, Var};
use lang::prim::Prim;
use lang::size::Size;
use lang::target::{Direction, LBinder, Lin, LinTerm, make as l};
use lang::types::{LType, Mode, Type};
use std::collections::BTreeSet;
use std::sync::Arc;

fn site() -> Site {
    Site { def: "t".into(), span: Span::default() }
}

/// The variables that the tests' terms use.
struct Vars {
    supply: Supply,
    n: Var,
    x: Binder,
    y: Binder,
    k: Binder,
    xs: Binder,
    i: Var,
    j: Var,
    z: Var,
    w: Var,
    u: Var,
}

impl Vars {
    fn new() -> Vars {
        let mut s = Supply::default();
        let n = s.fresh("n");
        let real = |s: &mut Supply, name| Binder::new(s.fresh(name), Type::Real);
        let (x, y) = (real(&mut s, "x"), real(&mut s, "y"));
        let k = Binder::new(s.fresh("k"), Type::Int);
        let xs = Binder::new(s.fresh("xs"), Type::array(n.clone(), Type::Real));
        let (i, j, z, w, u) = (s.fresh("i"), s.fresh("j"), s.fresh("z"), s.fresh("w"), s.fresh("u"));
        Vars { supply: s, n, x, y, k, xs, i, j, z, w, u }
    }
    fn size(&self) -> Size {
        self.n.clone().into()
    }
    fn vector(&self) -> Type {
        self.xs.ty.clone()
    }
    fn vector_lin(&self) -> LType {
        LType::array(self.size(), LType::Real)
    }
    fn item(&self, i: Tm) -> Tm {
        index(var(&self.xs.var), i, site())
    }
    /// def t [n] (xs : real^n) : result = body
    fn def(&self, result: Type, body: Tm) -> Def {
        Def {
            name: "t".into(),
            types: vec![],
            sizes: vec![self.n.clone()],
            params: vec![self.xs.clone()],
            result,
            body,
            supply: self.supply.clone(),
        }
    }
    fn check(&self, language: Language, result: Type, body: Tm) -> Result<Uses, super::Violation> {
        let def = self.def(result, body);
        let program = Program { defs: [(def.name.clone(), Arc::new(def.clone()))].into() };
        check_def(&def, &program, language)
    }
}

fn sum_type() -> Type {
    Type::Sum(Arc::from([Type::Real, Type::Int]))
}

/// Well-typed Cartesian terms with their types, in definition [`Vars::def`].
fn accepted(v: &Vars) -> Vec<(Tm, Type)> {
    let n = v.size();
    let (x, y, k) = (&v.x, &v.y, &v.k);
    let inject = Arc::new(Term::Inject(0, sum_type(), real(1.0)));
    let extremum =
        |which| Term::Extremum { which, index: v.i.clone(), bound: n.clone(), body: v.item(var(&v.i)) };
    let step = tuple([prim(Prim::Add, [var(&x.var), v.item(var(&v.i))]), var(&x.var)]);
    let fold =
        Term::Loop { state: x.clone(), init: real(0.0), index: v.i.clone(), bound: n.clone(), body: step };
    let m = Size::var(k.var.clone());
    let square = lam(x.clone(), prim(Prim::Mul, [var(&x.var), var(&x.var)]));
    vec![
        (let_(x.clone(), real(1.0), prim(Prim::Neg, [var(&x.var)])), Type::Real),
        (proj(tuple([real(1.0), int(2)]), 1), Type::Int),
        (Arc::new(Term::Case(inject, vec![(x.clone(), var(&x.var)), (k.clone(), real(0.0))])), Type::Real),
        (app(lam(x.clone(), bool(true)), real(1.0)), Type::Bool),
        (if_(bool(true), real(1.0), real(2.0)), Type::Real),
        (build(v.i.clone(), n.clone(), v.item(var(&v.i))), v.vector()),
        // An int bound to a size polynomial is that size, also outside its scope.
        (let_(k.clone(), var(&v.n), build(v.i.clone(), m.clone(), v.item(var(&v.i)))), v.vector()),
        (
            Arc::new(Term::Array(Type::Real, vec![real(1.0), real(2.0)])),
            Type::array(Size::constant(2), Type::Real),
        ),
        (sum(v.i.clone(), n.clone(), v.item(var(&v.i))), Type::Real),
        (Arc::new(extremum(Extremum::Max)), Type::Real),
        (Arc::new(fold), Type::tuple([Type::Real, v.vector()])),
        (
            Arc::new(Term::While {
                state: x.clone(),
                init: real(0.0),
                cond: bool(false),
                body: prim(Prim::Neg, [var(&x.var)]),
            }),
            Type::Real,
        ),
        (update(var(&v.xs.var), [int(0)], real(1.0), site()), v.vector()),
        (Arc::new(Term::Argsort(var(&v.xs.var))), Type::array(n.clone(), Type::Int)),
        (
            Arc::new(Term::Check {
                cond: bool(true),
                failure: Failure::NegativeSize,
                details: vec![var(&v.n)],
                site: site(),
                body: real(1.0),
            }),
            Type::Real,
        ),
        (
            Arc::new(Term::Call {
                def: "t".into(),
                types: vec![],
                sizes: vec![n.clone()],
                args: vec![var(&v.xs.var)],
            }),
            // t's own result, so a recursive call type-checks at any type: here the row's.
            Type::Real,
        ),
        (
            Arc::new(Term::Diff { mode: Mode::Reverse, f: square.clone(), x: real(3.0), site: site() }),
            Type::tuple([Type::Real, Type::lin(LType::Real, LType::Real)]),
        ),
        (Arc::new(Term::Detach(real(1.0))), Type::Real),
        (lin_app(lin_lam(LBinder::new(v.z.clone(), LType::Real), l::var(&v.z)), real(1.0)), Type::Real),
        (Arc::new(Term::Unread(v.vector())), v.vector()),
        (Arc::new(Term::Box(var(&v.xs.var))), Type::Int),
        (Arc::new(Term::Unbox(v.vector(), var(&v.n))), v.vector()),
        (Arc::new(Term::Zero(v.vector_lin())), v.vector()),
        (lam(y.clone(), var(&y.var)), Type::fun(Type::Real, Type::Real)),
    ]
}

/// Ill-typed Cartesian terms with the rule that rejects them.
fn rejected(v: &Vars) -> Vec<(Rule, Tm)> {
    let n = v.size();
    let (x, y, k) = (&v.x, &v.y, &v.k);
    let inject = |i, t| Arc::new(Term::Inject(i, sum_type(), t));
    let i = || var(&v.i);
    let extremum = Term::Extremum { which: Extremum::Min, index: v.i.clone(), bound: n.clone(), body: i() };
    let fold = |body| {
        let state = x.clone();
        Arc::new(Term::Loop { state, init: real(0.0), index: v.i.clone(), bound: n.clone(), body })
    };
    let call = |sizes, args| Arc::new(Term::Call { def: "t".into(), types: vec![], sizes, args });
    let diff = |f| Arc::new(Term::Diff { mode: Mode::Forward, f, x: real(1.0), site: site() });
    let check = |cond, details| {
        let failure = Failure::EmptyArray;
        Arc::new(Term::Check { cond, failure, details, site: site(), body: real(1.0) })
    };
    let stop = |cond, body| {
        let state = x.clone();
        Arc::new(Term::While { state, init: real(0.0), cond, body })
    };
    let identity = |x: &Binder| lam(x.clone(), var(&x.var));
    let power = LType::Power(Type::Real.into(), LType::Real.into());
    vec![
        (Rule::Def, real(1.0)),
        (Rule::Var, var(&v.x.var)),
        // Out of scope: bound to the left only.
        (Rule::Var, tuple([let_(x.clone(), real(1.0), real(2.0)), var(&x.var)])),
        // A linear variable in a Cartesian term.
        (Rule::Var, lin_lam(LBinder::new(v.z.clone(), LType::Real), l::scale(var(&v.z), l::var(&v.z)))),
        (Rule::Let, let_(x.clone(), int(1), real(1.0))),
        // The same binder twice, one outside the supply, a size that leaves its scope.
        (Rule::Let, let_(x.clone(), real(1.0), let_(x.clone(), real(1.0), real(1.0)))),
        (Rule::Let, let_(Binder::new(Var { name: "q".into(), id: 99 }, Type::Real), real(1.0), real(1.0))),
        (
            Rule::Let,
            let_(
                k.clone(),
                if_(bool(true), int(1), int(2)),
                build(v.i.clone(), k.var.clone().into(), real(1.0)),
            ),
        ),
        (Rule::Proj, proj(tuple([real(1.0)]), 1)),
        (Rule::Inject, inject(1, real(1.0))),
        (Rule::Inject, inject(2, real(1.0))),
        (Rule::Case, Arc::new(Term::Case(inject(0, real(1.0)), vec![(x.clone(), real(1.0))]))),
        (
            Rule::Case,
            Arc::new(Term::Case(inject(0, real(1.0)), vec![(x.clone(), real(1.0)), (k.clone(), int(1))])),
        ),
        (Rule::Lam, lam(Binder::new(x.var.clone(), Type::array(k.var.clone(), Type::Real)), real(1.0))),
        (Rule::App, app(identity(x), int(1))),
        (Rule::App, app(real(1.0), real(1.0))),
        (Rule::Op, prim(Prim::Add, [real(1.0), int(1)])),
        (Rule::Op, prim(Prim::Add, [real(1.0)])),
        (Rule::If, if_(int(1), real(1.0), real(1.0))),
        (Rule::If, if_(bool(true), real(1.0), int(1))),
        // An array of functions, and a ragged array.
        (Rule::Build, build(v.i.clone(), n.clone(), identity(x))),
        (Rule::Build, build(v.i.clone(), n.clone(), build(v.j.clone(), v.i.clone().into(), real(1.0)))),
        (Rule::Build, build(v.i.clone(), x.var.clone().into(), real(1.0))),
        (Rule::Index, v.item(real(1.0))),
        (Rule::Index, index(real(1.0), int(0), site())),
        (Rule::Update, update(var(&v.xs.var), [int(0)], int(1), site())),
        (Rule::Update, update(var(&v.xs.var), [real(0.0)], real(1.0), site())),
        (Rule::Update, update(var(&v.xs.var), [int(0), int(0)], real(1.0), site())),
        (Rule::Array, Arc::new(Term::Array(Type::Real, vec![int(1)]))),
        (Rule::Sum, sum(v.i.clone(), n.clone(), i())),
        (Rule::Extremum, Arc::new(extremum)),
        (Rule::Loop, fold(real(1.0))),
        (Rule::Loop, fold(tuple([int(1), unit()]))),
        (Rule::While, stop(real(1.0), real(1.0))),
        (Rule::While, stop(bool(true), int(1))),
        (Rule::Argsort, Arc::new(Term::Argsort(real(1.0)))),
        (Rule::Check, check(int(1), vec![])),
        (Rule::Check, check(bool(true), vec![real(1.0)])),
        (Rule::Call, call(vec![], vec![var(&v.xs.var)])),
        (Rule::Call, call(vec![n.clone()], vec![])),
        (Rule::Call, call(vec![Size::constant(3)], vec![var(&v.xs.var)])),
        (Rule::Diff, diff(Arc::new(Term::Lit(Lit::Real(1.0))))),
        (Rule::Diff, diff(lam(x.clone(), identity(y)))),
        (Rule::LinApp, lin_app(lin_lam(LBinder::new(v.z.clone(), LType::Real), l::var(&v.z)), int(1))),
        (Rule::LinApp, lin_app(real(1.0), real(1.0))),
        (Rule::LinLam, lin_lam(LBinder::new(v.z.clone(), LType::Param("a".into())), l::var(&v.z))),
        (Rule::Unread, Arc::new(Term::Unread(Type::Param("a".into())))),
        (Rule::Box, Arc::new(Term::Box(lam(x.clone(), var(&x.var))))),
        (Rule::Unbox, Arc::new(Term::Unbox(Type::Real, real(1.0)))),
        (Rule::Unbox, Arc::new(Term::Unbox(Type::fun(Type::Real, Type::Real), int(1)))),
        (Rule::Zero, Arc::new(Term::Zero(power))),
    ]
}

/// Linear terms in z with its type and theirs.
fn accepted_linear(v: &Vars) -> Vec<(LType, Lin, LType)> {
    let z = || l::var(&v.z);
    let one = || LType::Real;
    let (n, vec) = (v.size(), v.vector_lin());
    let w = LBinder::new(v.w.clone(), LType::Real);
    let u = LBinder::new(v.u.clone(), LType::unit());
    let pair = LType::pair(LType::Real, LType::Real);
    let env = LType::pair(LType::pair(LType::unit(), LType::Real), vec.clone());
    let sum = LType::Sum(Arc::from([LType::Real, LType::unit()]));
    let copower = LType::Copower(Type::Real.into(), LType::Real.into());
    let power = LType::Power(Type::Real.into(), LType::Real.into());
    let elim = LinTerm::TensorElim {
        scrutinee: z(),
        var: v.x.clone(),
        lin: w.clone(),
        body: l::scale(var(&v.x.var), l::var(&v.w)),
    };
    let scrutinee = Arc::new(Term::Inject(0, sum_type(), real(1.0)));
    let case =
        LinTerm::Case(scrutinee, vec![(v.x.clone(), l::scale(var(&v.x.var), z())), (v.k.clone(), z())]);
    let sum_elim = LinTerm::SumElim(z(), vec![(w.clone(), l::var(&v.w)), (u.clone(), l::zero(one()))]);
    let fold = LinTerm::Loop {
        direction: Direction::Down,
        state: w.clone(),
        init: l::zero(LType::Real),
        index: v.i.clone(),
        bound: n.clone(),
        body: l::tuple([l::plus(l::var(&v.w), l::index(z(), var(&v.i))), l::var(&v.w)]),
    };
    vec![
        (one(), l::plus(z(), z()), one()),
        (one(), l::tuple([]), LType::unit()),
        (one(), l::tuple([z(), l::scale(real(2.0), z())]), pair.clone()),
        (pair.clone(), l::plus(l::proj(z(), 0), l::proj(z(), 1)), one()),
        (one(), l::coproj(env.clone(), 1, z()), env.clone()),
        (env.clone(), l::env_proj(1, z()), one()),
        (one(), Arc::new(LinTerm::Power(v.x.clone(), l::scale(var(&v.x.var), z()))), power.clone()),
        (power.clone(), Arc::new(LinTerm::PowerApp(z(), real(1.0))), one()),
        (one(), Arc::new(LinTerm::Tensor(real(1.0), z())), copower.clone()),
        (copower, Arc::new(elim), one()),
        (one(), l::app(lin_lam(w.clone(), l::var(&v.w)), z()), one()),
        (one(), l::let_(w.clone(), z(), l::plus(l::var(&v.w), z())), one()),
        (one(), l::clet(v.x.clone(), real(1.0), l::scale(var(&v.x.var), z())), one()),
        (one(), l::if_(bool(true), z(), l::zero(LType::Real)), one()),
        (one(), Arc::new(case), one()),
        (one(), Arc::new(LinTerm::Inject(0, sum.clone(), z())), sum.clone()),
        (LType::unit(), Arc::new(LinTerm::Inject(1, sum.clone(), z())), sum.clone()),
        (sum.clone(), Arc::new(sum_elim), one()),
        (sum.clone(), Arc::new(LinTerm::FromInject(0, z())), one()),
        (one(), l::build(v.i.clone(), n.clone(), l::scale(v.item(var(&v.i)), z())), vec.clone()),
        (vec.clone(), l::index(z(), int(0)), one()),
        (one(), l::onehot(n.clone(), int(0), z()), vec.clone()),
        (vec.clone(), l::sum(v.i.clone(), n.clone(), l::index(z(), var(&v.i))), one()),
        (vec.clone(), Arc::new(fold), LType::pair(LType::Real, vec.clone())),
    ]
}

/// Terms that are not linear in z : real, or ill typed, with the rule that says so.
fn rejected_linear(v: &Vars) -> Vec<(Rule, Lin)> {
    let z = || l::var(&v.z);
    let w = LBinder::new(v.w.clone(), LType::Real);
    let u = LBinder::new(v.u.clone(), LType::unit());
    let unit = || l::tuple([]);
    let n = v.size();
    let env = LType::pair(LType::unit(), LType::Real);
    let sum = LType::Sum(Arc::from([LType::Real, LType::unit()]));
    let inject = |i, t| Arc::new(LinTerm::Inject(i, sum.clone(), t));
    let power = || Arc::new(LinTerm::Power(v.x.clone(), z()));
    let elim = |scrutinee, body| {
        let (var, lin) = (v.x.clone(), w.clone());
        Arc::new(LinTerm::TensorElim { scrutinee, var, lin, body })
    };
    let tensor = || Arc::new(LinTerm::Tensor(real(1.0), z()));
    let sum_elim = |first| {
        let arms = vec![(w.clone(), first), (u.clone(), l::zero(LType::Real))];
        Arc::new(LinTerm::SumElim(inject(0, z()), arms))
    };
    let scrutinee = Arc::new(Term::Inject(0, sum_type(), real(1.0)));
    let case =
        |second| Arc::new(LinTerm::Case(scrutinee.clone(), vec![(v.x.clone(), z()), (v.k.clone(), second)]));
    let fold = |body| {
        let (state, index, bound) = (w.clone(), v.i.clone(), n.clone());
        Arc::new(LinTerm::Loop { direction: Direction::Up, state, init: z(), index, bound, body })
    };
    vec![
        // A Cartesian variable is not linear; a linear one may not be used after its scope.
        (Rule::LVar, l::clet(v.x.clone(), real(1.0), l::var(&v.x.var))),
        (Rule::LVar, l::plus(l::let_(w.clone(), z(), l::var(&v.w)), l::var(&v.w))),
        // l-cop-elim, l-sum-elim and l-lam: the body sees its payload only.
        (Rule::LVar, elim(tensor(), l::plus(l::var(&v.w), z()))),
        (Rule::LVar, sum_elim(l::plus(l::var(&v.w), z()))),
        (Rule::LVar, l::app(lin_lam(w.clone(), l::plus(l::var(&v.w), z())), z())),
        // A linear variable may not be a factor, a condition, an index or a tensor's first component.
        (Rule::Var, l::scale(var(&v.z), z())),
        (Rule::Var, l::if_(var(&v.z), z(), z())),
        (Rule::Var, l::onehot(n.clone(), var(&v.z), z())),
        (Rule::Var, Arc::new(LinTerm::Tensor(var(&v.z), z()))),
        (Rule::Var, l::clet(v.x.clone(), var(&v.z), z())),
        (Rule::LZero, l::zero(LType::array(v.k.var.clone(), LType::Real))),
        (Rule::LPlus, l::plus(z(), unit())),
        (Rule::LFst, l::proj(unit(), 0)),
        (Rule::LSnd, l::proj(l::tuple([z()]), 1)),
        (Rule::LCoproj, l::coproj(env.clone(), 1, z())),
        (Rule::LCoproj, l::coproj(env.clone(), 0, unit())),
        (Rule::LEnvProj, l::env_proj(1, l::coproj(env.clone(), 0, z()))),
        (Rule::LPow, Arc::new(LinTerm::Power(v.xs.clone(), z()))),
        (Rule::LPowApp, Arc::new(LinTerm::PowerApp(power(), int(1)))),
        (Rule::LPowApp, Arc::new(LinTerm::PowerApp(z(), real(1.0)))),
        (Rule::LCopElim, elim(z(), l::var(&v.w))),
        (Rule::LOp, l::scale(int(1), z())),
        (Rule::LOp, l::scale(real(1.0), unit())),
        (Rule::LApp, l::app(real(1.0), z())),
        (Rule::LApp, l::app(lin_lam(w.clone(), l::var(&v.w)), unit())),
        (Rule::LLet, l::let_(w.clone(), unit(), z())),
        (Rule::LCLet, l::clet(v.x.clone(), int(1), z())),
        (Rule::LIf, l::if_(real(1.0), z(), z())),
        (Rule::LIf, l::if_(bool(true), z(), unit())),
        (Rule::LCase, case(unit())),
        (Rule::LInl, inject(0, unit())),
        (Rule::LInr, inject(1, z())),
        (Rule::LSumElim, sum_elim(unit())),
        (Rule::LFrom, Arc::new(LinTerm::FromInject(2, inject(0, z())))),
        (Rule::LBuild, l::build(v.i.clone(), n.clone(), l::zero(LType::array(v.i.clone(), LType::Real)))),
        (Rule::LIndex, l::index(z(), int(0))),
        (Rule::LIndex, l::index(l::onehot(n.clone(), int(0), z()), real(0.0))),
        (Rule::LOneHot, l::onehot(n.clone(), real(0.0), z())),
        (Rule::LSum, l::sum(v.i.clone(), n.clone(), l::zero(LType::array(v.i.clone(), LType::Real)))),
        (Rule::LLoop, fold(l::var(&v.w))),
        (Rule::LLoop, fold(l::tuple([unit(), l::var(&v.w)]))),
    ]
}

#[test]
fn well_typed_terms_pass_and_every_rule_is_used() {
    let mut uses = Uses::default();
    let mut pass = |language, v: &Vars, result: Type, body: Tm| match v.check(language, result, body) {
        Ok(used) => uses.add(&used),
        Err(violation) => panic!("{violation}"),
    };
    let v = Vars::new();
    for (t, ty) in accepted(&v) {
        pass(Language::Both, &v, ty, t);
    }
    for (from, t, to) in accepted_linear(&v) {
        let map = lin_lam(LBinder::new(v.z.clone(), from.clone()), t);
        pass(Language::Target, &v, Type::lin(from, to), map);
    }
    let missing: Vec<&str> = uses.missing().into_iter().map(Rule::name).collect();
    assert!(missing.is_empty(), "no test uses the rules {missing:?}");
}

#[test]
fn ill_typed_terms_are_rejected_by_the_right_rule() {
    let v = Vars::new();
    let linear = |t| lin_lam(LBinder::new(v.z.clone(), LType::Real), t);
    let linear = rejected_linear(&v).into_iter().map(|(rule, t)| (rule, linear(t)));
    // These have no premise of their own that could fail.
    let mut tried: BTreeSet<Rule> =
        [Rule::Lit, Rule::Tuple, Rule::Detach, Rule::LUnit, Rule::LPair, Rule::LCop].into_iter().collect();
    for (rule, t) in rejected(&v).into_iter().chain(linear) {
        tried.insert(rule);
        match v.check(Language::Both, Type::unit(), t.clone()) {
            Ok(_) => panic!("{t:?} passes, {} should reject it", rule.name()),
            Err(violation) => assert_eq!(violation.rule, rule, "{violation}"),
        }
    }
    let untried: Vec<&str> = Rule::ALL.iter().filter(|r| !tried.contains(r)).map(|r| r.name()).collect();
    assert!(untried.is_empty(), "no term violates the rules {untried:?}");
}

#[test]
fn languages_keep_to_their_formers() {
    let v = Vars::new();
    let map = lin_lam(LBinder::new(v.z.clone(), LType::Real), l::var(&v.z));
    let ty = Type::lin(LType::Real, LType::Real);
    let in_array = build(v.i.clone(), v.size(), map.clone());
    let rule =
        |language, ty: Type, t: &Tm| v.check(language, ty, t.clone()).map_err(|violation| violation.rule);
    assert_eq!(rule(Language::Core, ty.clone(), &map).err(), Some(Rule::LinLam));
    assert!(rule(Language::Target, Type::array(v.size(), ty), &in_array).is_ok());
    let square = lam(v.x.clone(), prim(Prim::Mul, [var(&v.x.var), var(&v.x.var)]));
    let diff: Tm = Arc::new(Term::Diff { mode: Mode::Forward, f: square, x: real(1.0), site: site() });
    let value = proj(diff, 0);
    assert!(rule(Language::Core, Type::Real, &value).is_ok());
    assert_eq!(rule(Language::Target, Type::Real, &value).err(), Some(Rule::Diff));
}

/// def grid (k : int) : real^k: the result's size is the argument, which must be a size where the type is needed.
#[test]
fn int_arguments_in_types() {
    let v = Vars::new();
    let result = |k: &Var| Type::array(k.clone(), Type::Real);
    let grid = Def {
        name: "grid".into(),
        types: vec![],
        sizes: vec![],
        params: vec![v.k.clone()],
        result: result(&v.k.var),
        body: build(v.i.clone(), v.k.var.clone().into(), real(1.0)),
        supply: v.supply.clone(),
    };
    let call =
        |arg| Arc::new(Term::Call { def: "grid".into(), types: vec![], sizes: vec![], args: vec![arg] });
    let user = |arg| v.def(v.vector(), call(arg));
    let check = |def: Def| {
        let program = Program { defs: [("grid".into(), Arc::new(grid.clone()))].into() };
        check_def(&def, &program, Language::Core).map_err(|violation| violation.rule)
    };
    assert!(check(grid.clone()).is_ok());
    assert!(check(user(var(&v.n))).is_ok());
    assert_eq!(check(user(int(3))).err(), Some(Rule::Def));
    assert_eq!(check(user(if_(bool(true), int(1), int(2)))).err(), Some(Rule::Call));
}

/// Nested so deep that an ordinary stack would overflow.
#[test]
fn depth_is_no_problem() {
    let v = Vars::new();
    lang::big_stack::run(|| {
        let deep = (0..10_000).fold(real(1.0), |t, _| prim(Prim::Neg, [t]));
        assert!(v.check(Language::Core, Type::Real, deep).is_ok());
    });
}
