//! Every linear former transposed: the matrix of T t is the transposed matrix of t, and T (T t) has the matrix of t.

mod common;
use ad::rules::{Transposition, transpositions};
use common::{V, element, flat, r, reals, site};
use lang::core::make::{bool, int, lin_lam, prim, real, tuple, var};
use lang::core::{Binder, Def, Program, Term, Tm};
use lang::eval::{Value, apply_linear, term};
use lang::name::Supply;
use lang::prim::Prim;
use lang::size::Size;
use lang::target::make::*;
use lang::target::{Direction, LBinder, Lin, LinTerm};
use lang::types::{LType, Type};
use lang::typing::Scope;
use std::sync::Arc;
use typeck::check::{Language, check_def};

fn z_type() -> LType {
    LType::tuple([LType::Real, LType::array(Size::constant(3), LType::Real)])
}
/// A value with the shape of z.
fn z_like() -> V {
    Value::tuple([r(0.0), reals(&[0.0; 3])])
}

/// The matrix of λ̲z. t, by columns.
fn matrix(map: &Tm, from: &V, to: &V) -> Vec<Vec<f64>> {
    let program = Program::default();
    let map = term::<f64>(&program, map, &[]).unwrap_or_else(|e| panic!("{e}")).0;
    let n = from.numbers().len();
    let column = |k| {
        let mut unit = (0..n).map(|j| if j == k { 1.0 } else { 0.0 });
        let v = apply_linear(&program, &map, element(from, &mut unit)).unwrap_or_else(|e| panic!("{e}")).0;
        flat(&v, to)
    };
    (0..n).map(column).collect()
}
fn flipped(m: &[Vec<f64>], rows: usize) -> Vec<Vec<f64>> {
    (0..rows).map(|i| m.iter().map(|column| column[i]).collect()).collect()
}

/// `to` is a value with the shape of t's result.
fn check(to: V, t: impl FnOnce(&mut Supply, Lin) -> Lin) {
    let (program, mut s) = (Program::default(), Supply::default());
    let z = LBinder::new(s.fresh("z"), z_type());
    let t = t(&mut s, var_of(&z));
    let m = matrix(&lin_lam(z.clone(), t.clone()), &z_like(), &to);
    let scope = Scope::default();
    let tt = ad::transpose(&program, &z, &t, &scope, &site(), &mut s).unwrap_or_else(|e| panic!("{e}"));
    typed(&s, &[lin_lam(z.clone(), t.clone()), tt.clone()]);
    let n = to.numbers().len();
    assert_eq!(matrix(&tt, &to, &z_like()), flipped(&m, n));
    let Term::LinLam(w, body) = &*tt else { panic!("a linear λ") };
    let ttt = ad::transpose(&program, w, body, &scope, &site(), &mut s).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(matrix(&ttt, &z_like(), &to), m);
}

/// The maps are well typed.
fn typed(supply: &Supply, maps: &[Tm]) {
    for map in maps {
        let result = lang::typing::type_of(map, &mut Scope::default(), &Program::default());
        let (name, body, supply) = ("t".into(), map.clone(), supply.clone());
        let def = Def { name, types: vec![], sizes: vec![], params: vec![], result, body, supply };
        check_def(&def, &Program::default(), Language::Target).unwrap_or_else(|e| panic!("{e}"));
    }
}

fn var_of(z: &LBinder) -> Lin {
    lang::target::make::var(&z.var)
}
fn first(z: &Lin) -> Lin {
    proj(z.clone(), 0)
}
fn item(z: &Lin, k: i64) -> Lin {
    index(proj(z.clone(), 1), int(k))
}
fn three() -> Size {
    Size::constant(3)
}

#[test]
fn every_transposition() {
    check(z_like(), |_, z| z);
    check(r(0.0), |_, _| zero(LType::Real));
    check(r(0.0), |_, z| plus(first(&z), plus(scale(real(3.0), item(&z, 2)), first(&z))));
    check(Value::tuple([r(0.0), r(0.0)]), |_, z| lang::target::make::tuple([item(&z, 1), first(&z)]));
    // Environments: into a slot, and out of it.
    let env = LType::pair(LType::pair(LType::unit(), LType::Real), z_type());
    check(r(0.0), move |_, z| env_proj(1, coproj(env.clone(), 1, scale(real(2.0), first(&z)))));
    let env = LType::pair(LType::pair(LType::unit(), LType::Real), z_type());
    check(r(0.0), move |_, z| env_proj(1, coproj(env.clone(), 0, z)));
    // let, applied λ̲, Cartesian let, if and case
    check(r(0.0), |s, z| {
        let y = LBinder::new(s.fresh("y"), LType::Real);
        let sum = plus(var_of(&y), scale(real(5.0), plus(item(&z, 0), var_of(&y))));
        let_(y, plus(first(&z), item(&z, 1)), sum)
    });
    check(z_like(), |s, z| {
        let y = LBinder::new(s.fresh("y"), z_type());
        let swapped = lang::target::make::tuple([item(&var_of(&y), 1), proj(var_of(&y), 1)]);
        app(lin_lam(y, swapped), z)
    });
    check(r(0.0), |s, z| {
        let a = Binder::new(s.fresh("a"), Type::Real);
        clet(a.clone(), real(4.0), scale(var(&a.var), first(&z)))
    });
    for yes in [true, false] {
        check(r(0.0), move |_, z| if_(bool(yes), plus(first(&z), item(&z, 0)), item(&z, 2)));
        check(r(0.0), move |s, z| {
            let sum = Type::Sum(Arc::from([Type::Real, Type::Real]));
            let scrutinee = Arc::new(Term::Inject(usize::from(yes), sum, real(7.0)));
            let (a, b) = (Binder::new(s.fresh("a"), Type::Real), Binder::new(s.fresh("b"), Type::Real));
            let arms = vec![
                (a.clone(), scale(var(&a.var), first(&z))),
                (b.clone(), scale(var(&b.var), item(&z, 1))),
            ];
            Arc::new(LinTerm::Case(scrutinee, arms))
        });
    }
    // in and out of a partial sum
    let either = LType::Sum(Arc::from([LType::Real, z_type()]));
    check(z_like(), move |_, z| {
        let inside = Arc::new(LinTerm::Inject(1, either, z));
        Arc::new(LinTerm::FromInject(1, inside))
    });
    // arrays
    check(reals(&[0.0; 3]), |s, z| {
        let i = s.fresh("i");
        let both = plus(scale(prim(Prim::IntToReal, [var(&i)]), first(&z)), index(proj(z, 1), var(&i)));
        build(i, three(), both)
    });
    check(reals(&[0.0; 3]), |_, z| onehot(three(), int(1), plus(first(&z), item(&z, 0))));
    check(r(0.0), |s, z| {
        let i = s.fresh("i");
        sum(
            i.clone(),
            three(),
            plus(first(&z), scale(prim(Prim::IntToReal, [var(&i)]), index(proj(z, 1), var(&i)))),
        )
    });
    // a loop in each direction, with outputs, that uses z besides its state
    for direction in [Direction::Up, Direction::Down] {
        check(Value::tuple([r(0.0), reals(&[0.0; 3])]), move |s, z| {
            let (state, i) = (LBinder::new(s.fresh("s"), LType::Real), s.fresh("i"));
            let here = index(proj(z.clone(), 1), var(&i));
            let next = plus(scale(real(2.0), var_of(&state)), here.clone());
            let body = lang::target::make::tuple([next, plus(var_of(&state), plus(here, first(&z)))]);
            let (init, index, bound) = (first(&z), i, three());
            Arc::new(LinTerm::Loop { direction, state, init, index, bound, body })
        });
    }
    let unused: Vec<&str> = Transposition::ALL
        .iter()
        .filter(|rule| transpositions(**rule) == 0)
        .map(|rule| rule.name())
        .collect();
    assert!(unused.is_empty(), "no term here uses {unused:?}");
}

/// What has no transpose is refused.
#[test]
fn refused() {
    let (program, s) = (Program::default(), &mut Supply::default());
    let z = LBinder::new(s.fresh("z"), LType::Real);
    let tensor = Arc::new(LinTerm::Tensor(tuple([]), var_of(&z)));
    let l = s.fresh("l");
    let unknown = app(var(&l), var_of(&z));
    for t in [tensor, unknown] {
        let mut scope = Scope::default();
        scope.bind(&l, &Type::lin(LType::Real, LType::Real));
        let e = ad::transpose(&program, &z, &t, &scope, &site(), s).expect_err("no transpose");
        assert!(matches!(e.reason, ad::Reason::NoTranspose(_)));
    }
}
