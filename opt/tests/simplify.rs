//! Simplification of whole definitions: what must come out, and that it is equal, well typed and no dearer.

mod common;

use common::derive;
use lang::core::{Binder, Def, Program, Term, Tm, make::*};
use lang::diag::Site;
use lang::eval::{LinValue, Value, apply_linear, run};
use lang::name::{Supply, Var};
use lang::precision::Precision;
use lang::prim::Prim;
use lang::size::Size;
use lang::target::{Lin, LinTerm};
use lang::types::{LType, Mode, Type};
use opt::simplify::{Options, explain, simplify};
use std::sync::Arc;

fn site() -> Site {
    Site { def: "test".into(), span: Default::default() }
}

fn program(def: &Def) -> Program {
    Program { defs: [(def.name.clone(), Arc::new(def.clone()))].into() }
}

/// The definition in normal form, simplified, and checked.
fn simplified(def: &Def) -> (Def, Def) {
    let normal = opt::normal_form(def, &Program::default(), &derive, Precision::Double).unwrap();
    let simple = simplify(&normal, &Options::default());
    let (normal, simple) = (normal.entry, simple.entry);
    for d in [&normal, &simple] {
        typeck::check::check_def(d, &program(d), typeck::check::Language::Target)
            .unwrap_or_else(|e| panic!("{e:?}\n{:#?}", d.body));
    }
    (normal, simple)
}

/// λx. body differentiated at the definition's parameter.
fn reverse(name: &str, sizes: Vec<Var>, x: Binder, y: Binder, f: Tm, result: Type, supply: Supply) -> Def {
    let diff =
        Arc::new(Term::Diff { mode: Mode::Reverse, f: lam(x.clone(), f), x: var(&y.var), site: site() });
    let (dx, dy) = (x.ty.tangent(Mode::Reverse), result.tangent(Mode::Reverse));
    let result = Type::tuple([result, Type::lin(dy, dx)]);
    Def { name: name.into(), types: vec![], sizes, params: vec![y], result, body: diff, supply }
}

/// The parts of ⟨value, λ̲w. linear part⟩ under lets.
fn parts(t: &Tm) -> (Tm, Var, Lin) {
    let mut t = t;
    while let Term::Let(_, _, b) = &**t {
        t = b;
    }
    match &**t {
        Term::Tuple(ts) => match &*ts[1] {
            Term::LinLam(w, l) => (ts[0].clone(), w.var.clone(), l.clone()),
            other => panic!("no linear map: {other:?}"),
        },
        other => panic!("no pair: {other:?}"),
    }
}

/// 2·(x·w), up to the order of the factors.
fn is_twice(t: &Lin, x: &Var, w: &Var) -> bool {
    let is_x = |t: &Tm| matches!(&**t, Term::Var(v) if v == x);
    let is_two = |t: &Tm| **t == *real(2.0);
    let is_w = |t: &Lin| matches!(&**t, LinTerm::Var(v) if v == w);
    match &**t {
        LinTerm::Scale(a, s) => match &**s {
            LinTerm::Scale(b, s) => is_w(s) && (is_two(a) && is_x(b) || is_two(b) && is_x(a)),
            _ => false,
        },
        _ => false,
    }
}

#[test]
fn square() {
    let mut s = Supply::default();
    let (x, y) = (s.fresh("x"), s.fresh("x"));
    let f = prim(Prim::Mul, [var(&x), var(&x)]);
    let (x, y) = (Binder::new(x, Type::Real), Binder::new(y, Type::Real));
    let def = reverse("sq", vec![], x, y.clone(), f, Type::Real, s);
    let (_, simple) = simplified(&def);
    let (value, w, linear) = parts(&simple.body);
    assert_eq!(value, prim(Prim::Mul, [var(&y.var), var(&y.var)]));
    assert!(is_twice(&linear, &y.var, &w), "{linear:?}");
    let (pair, _) = run::<f64>(&program(&simple), "sq", &[Value::Real(3.0)], &[]).unwrap();
    let pair = pair.as_tuple().unwrap();
    let (grad, _) = apply_linear(&Program::default(), &pair[1], LinValue::Real(1.0)).unwrap();
    assert!(matches!(grad, LinValue::Real(6.0)), "{grad:?}");
}

#[test]
fn dot() {
    let mut s = Supply::default();
    let (n, x, y, i) = (s.fresh("n"), s.fresh("p"), s.fresh("p"), s.fresh("i"));
    let vec = Type::array(Size::var(n.clone()), Type::Real);
    let both = Type::tuple([vec.clone(), vec]);
    let at = |k| index(proj(var(&x), k), var(&i), site());
    let f = sum(i.clone(), Size::var(n.clone()), prim(Prim::Mul, [at(0), at(1)]));
    let (x, y) = (Binder::new(x.clone(), both.clone()), Binder::new(y, both));
    let def = reverse("dot", vec![n], x, y, f, Type::Real, s);
    let (_, simple) = simplified(&def);
    let (_, w, linear) = parts(&simple.body);
    let scaled = |t: &Lin| match &**t {
        LinTerm::Build { body, .. } => match &**body {
            LinTerm::Scale(a, s) => {
                matches!(**a, Term::Index(..)) && matches!(&**s, LinTerm::Var(v) if *v == w)
            }
            _ => false,
        },
        _ => false,
    };
    match &*linear {
        LinTerm::Tuple(ts) => assert!(ts.len() == 2 && ts.iter().all(scaled), "{linear:?}"),
        other => panic!("two scaled vectors, not {other:?}"),
    }
}

#[test]
fn proof_of_the_square() {
    let mut s = Supply::default();
    let (x, w) = (s.fresh("x"), s.fresh("w"));
    let (x, w) = (Binder::new(x, Type::Real), lang::target::LBinder::new(w, LType::Real));
    use lang::target::make as l;
    let term = l::scale(var(&x.var), l::var(&w.var));
    let body = tuple([var(&x.var), lin_lam(w, l::plus(term.clone(), l::plus(term, l::zero(LType::Real))))]);
    let result = Type::tuple([Type::Real, Type::lin(LType::Real, LType::Real)]);
    let def =
        Def { name: "sq".into(), types: vec![], sizes: vec![], params: vec![x], result, body, supply: s };
    let proofs = explain(
        &opt::Normal { entry: def.clone(), callees: Default::default(), precision: Precision::Double },
        &Options::default(),
    );
    let rules: Vec<&str> = proofs.iter().flat_map(|p| &p.steps).map(|s| s.rule.as_str()).collect();
    assert_eq!(proofs.len(), 1, "{proofs:#?}");
    assert!(rules.contains(&"plus-zero") && rules.contains(&"double"), "{proofs:#?}");
}
