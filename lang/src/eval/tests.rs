//! Values and costs of terms built by hand, and the homomorphism laws of every linear former.

use super::{EvalError, Limit, Limits, LinValue, Value, linear, plus, run, term};
use crate::core::make::*;
use crate::core::{Binder, Def, Extremum, Program, Term, Tm};
use crate::diag::{Failure, Site, Span};
use crate::name::{Supply, Var};
use crate::prim::{Prim, Scalar};
use crate::size::Size;
use crate::target::{Direction, LBinder, Lin, LinTerm, make as l};
use crate::types::{LType, Type};
use num_rational::BigRational;
use std::sync::Arc;

type V = Value<f64>;
type W = LinValue<f64>;

fn site() -> Site {
    Site { def: "t".into(), span: Span::default() }
}
fn value(t: &Tm) -> V {
    valued(t, &[])
}
fn valued(t: &Tm, vars: &[(Binder, V)]) -> V {
    term(&Program::default(), t, vars).expect("a value").0
}
fn check(t: Tm, expected: V) {
    let got = value(&t);
    assert!(got.same(&expected), "{got:?}, expected {expected:?}");
}
fn r(x: f64) -> V {
    Value::Real(x)
}
fn reals(xs: &[f64]) -> V {
    Value::reals(xs.iter().copied())
}
fn array(xs: &[f64]) -> Tm {
    Arc::new(Term::Array(Type::Real, xs.iter().map(|x| real(*x)).collect()))
}

/// Every Cartesian former once, with its value.
#[test]
fn cartesian_formers() {
    let s = &mut Supply::default();
    let (x, i) = (Binder::new(s.fresh("x"), Type::Real), s.fresh("i"));
    let two = || real(2.0);
    let x_plus_1 = || prim(Prim::Add, [var(&x.var), real(1.0)]);
    let elem = |a: Tm, k| index(a, k, site());
    check(let_(x.clone(), two(), x_plus_1()), r(3.0));
    check(tuple([two(), int(7), bool(true)]), Value::tuple([r(2.0), Value::Int(7), Value::Bool(true)]));
    check(proj(tuple([two(), int(7)]), 1), Value::Int(7));
    let sum = Type::Sum(Arc::from([Type::Real, Type::Int]));
    let inj = |k, t| Arc::new(Term::Inject(k, sum.clone(), t));
    let k = Binder::new(s.fresh("k"), Type::Int);
    let case = |t| Arc::new(Term::Case(t, vec![(x.clone(), x_plus_1()), (k.clone(), real(9.0))]));
    check(inj(1, int(4)), Value::inject(1, Value::Int(4)));
    check(case(inj(0, two())), r(3.0));
    check(case(inj(1, int(4))), r(9.0));
    check(app(lam(x.clone(), x_plus_1()), two()), r(3.0));
    check(if_(bool(false), two(), real(5.0)), r(5.0));
    let n = Size::constant(3);
    check(build(i.clone(), n.clone(), var(&i)), Value::array([0, 1, 2].map(Value::Int)));
    check(elem(array(&[1.0, 4.0]), int(1)), r(4.0));
    let third = |t: Tm| elem(array(&[1.0, -4.0, 2.5]), t);
    check(Arc::new(Term::Sum { index: i.clone(), bound: n.clone(), body: third(var(&i)) }), r(-0.5));
    let extremum =
        |which, n| Arc::new(Term::Extremum { which, index: i.clone(), bound: n, body: third(var(&i)) });
    check(extremum(Extremum::Max, n.clone()), r(2.5));
    check(extremum(Extremum::Min, n.clone()), r(-4.0));
    check(extremum(Extremum::Max, Size::constant(0)), r(f64::NEG_INFINITY));
    check(
        Arc::new(Term::Argsort(array(&[3.0, f64::NAN, -1.0, 3.0]))),
        Value::array([2, 0, 3, 1].map(Value::Int)),
    );
    check(Arc::new(Term::Detach(two())), r(2.0));
    check(
        Arc::new(Term::Zero(LType::tuple([LType::Real, LType::array(Size::constant(2), LType::Real)]))),
        Value::tuple([r(0.0), reals(&[0.0, 0.0])]),
    );
    // The running product of 1, 2, 3 and its values before each step.
    let body = tuple([
        prim(Prim::Mul, [var(&x.var), elem(array(&[1.0, 2.0, 3.0]), var(&i))]),
        prim(Prim::Neg, [var(&x.var)]),
    ]);
    let fold = Term::Loop { state: x.clone(), init: two(), index: i.clone(), bound: n, body };
    check(Arc::new(fold), Value::tuple([r(12.0), reals(&[-2.0, -2.0, -4.0])]));
}

#[test]
fn while_runs_until_its_condition_fails() {
    let s = &mut Supply::default();
    let state = Binder::new(s.fresh("s"), Type::tuple([Type::Bool, Type::Real]));
    let (go, x) = (proj(var(&state.var), 0), proj(var(&state.var), 1));
    let body = tuple([bool(false), prim(Prim::Add, [x, real(1.0)])]);
    let t = Term::While { state, init: tuple([bool(true), real(1.0)]), cond: go, body };
    check(Arc::new(t), Value::tuple([Value::Bool(false), r(2.0)]));
}

#[test]
fn sums_start_from_plus_zero_and_nan_propagates() {
    let i = Supply::default().fresh("i");
    let over = |xs: &[f64]| index(array(xs), var(&i), site());
    let total = sum(i.clone(), Size::constant(1), over(&[-0.0]));
    let got = value(&total).as_real().expect("real");
    assert!(got == 0.0 && got.is_sign_positive());
    for which in [Extremum::Max, Extremum::Min] {
        for xs in [[f64::NAN, 1.0, 2.0], [2.0, f64::NAN, 1.0], [1.0, 2.0, f64::NAN]] {
            let t = Term::Extremum { which, index: i.clone(), bound: Size::constant(3), body: over(&xs) };
            check(Arc::new(t), r(f64::NAN));
        }
    }
}

#[test]
fn failures_have_their_place() {
    let failed = |t: Tm, failure, details| {
        let expected = EvalError::Failed { failure, site: site(), details };
        assert_eq!(term::<f64>(&Program::default(), &t, &[]).expect_err("fails"), expected);
    };
    failed(index(array(&[1.0]), int(1), site()), Failure::IndexOutOfRange, vec![1, 1]);
    failed(index(array(&[1.0]), int(-1), site()), Failure::IndexOutOfRange, vec![-1, 1]);
    let check = Term::Check {
        cond: bool(false),
        failure: Failure::NegativeSize,
        details: vec![int(-3)],
        site: site(),
        body: int(0),
    };
    failed(Arc::new(check), Failure::NegativeSize, vec![-3]);
}

/// def scale [n] (a : real) (xs : real^n) : real^n = [ a * xs[i] | i < n ];  def twice … calls it at n+0.
fn program() -> Program {
    let s = &mut Supply::default();
    let (n, a, xs, i) = (s.fresh("n"), s.fresh("a"), s.fresh("xs"), s.fresh("i"));
    let vector = Type::array(n.clone(), Type::Real);
    let params = vec![Binder::new(a.clone(), Type::Real), Binder::new(xs.clone(), vector.clone())];
    let item = prim(Prim::Mul, [var(&a), index(var(&xs), var(&i), site())]);
    let scale = Def {
        name: "scale".into(),
        types: vec![],
        sizes: vec![n.clone()],
        params: params.clone(),
        result: vector.clone(),
        body: build(i, n.clone().into(), item),
        supply: s.clone(),
    };
    let call = |args| Term::Call { def: "scale".into(), types: vec![], sizes: vec![n.clone().into()], args };
    let inner = Arc::new(call(vec![var(&a), var(&xs)]));
    let twice = Def { name: "twice".into(), body: Arc::new(call(vec![var(&a), inner])), ..scale.clone() };
    let endless = Def {
        name: "endless".into(),
        body: Arc::new(Term::Call {
            def: "endless".into(),
            types: vec![],
            sizes: vec![n.clone().into()],
            args: vec![var(&a), var(&xs)],
        }),
        ..scale.clone()
    };
    Program { defs: [scale, twice, endless].map(|d| (d.name.clone(), Arc::new(d))).into() }
}

#[test]
fn definitions_calls_and_cost() {
    let p = program();
    let (v, cost) = run(&p, "twice", &[r(3.0), reals(&[1.0, -2.0])], &[2]).expect("a value");
    assert!(v.same(&reals(&[9.0, -18.0])), "{v:?}");
    // Two calls of two iterations: a multiplication, a read and a write each.
    assert_eq!((cost.calls, cost.iterations, cost.operations, cost.elements), (2, 4, 4, 8));
    assert_eq!(cost.total(), 18);
}

#[test]
fn limits_end_in_errors() {
    let p = program();
    let args = [r(1.0), reals(&[])];
    let shallow = Limits { calls: 1000, ..Limits::default() };
    let stopped = super::run_within(shallow, &p, "endless", &args, &[0]);
    assert_eq!(stopped.expect_err("deep"), EvalError::Limit(Limit::Calls(1000)));
    let few = Limits { steps: 100, ..Limits::default() };
    let stopped = super::run_within(few, &p, "endless", &args, &[0]);
    assert_eq!(stopped.expect_err("long"), EvalError::Limit(Limit::Steps(100)));
    let i = Supply::default().fresh("i");
    let huge = build(i.clone(), Size::constant(1 << 40), var(&i));
    let limit = EvalError::Limit(Limit::Length(1 << 28));
    assert_eq!(term::<f64>(&Program::default(), &huge, &[]).expect_err("large"), limit);
}

#[test]
fn rationals_are_exact_or_stop() {
    let p = Program::default();
    let third = prim(Prim::Div, [real(1.0), real(3.0)]);
    let t = prim(Prim::Mul, [third, real(3.0)]);
    let one = term::<BigRational>(&p, &t, &[]).expect("exact").0;
    assert!(one.same(&Value::Real(BigRational::from_float(1.0).expect("one"))), "{one:?}");
    let inexact = term::<BigRational>(&p, &prim(Prim::Div, [real(1.0), real(0.0)]), &[]);
    assert_eq!(inexact.expect_err("1/0"), EvalError::Inexact { operation: "/".into() });
}

/// Where a primitive has an exact value at a dyadic point, doubles are near it: rows, expansions and exact operations agree.
#[test]
fn exact_values_of_primitives() {
    let mut exact = 0;
    for p in Prim::ALL {
        let row = p.row();
        for k in 0..5 {
            let point = |(s, &(low, high)): (&Scalar, &(f64, f64))| {
                let x = (low + (high - low) * f64::from(2 * k + 1) / 10.0).mul_add(8.0, 0.5).floor() / 8.0;
                match s {
                    Scalar::Real => real(x),
                    Scalar::Int => int(x as i64),
                    Scalar::Bool => bool(k % 2 == 0),
                }
            };
            let t = prim(*p, row.args.iter().zip(row.samples).map(point).collect::<Vec<_>>());
            match term::<BigRational>(&Program::default(), &t, &[]) {
                Ok((v, _)) => {
                    exact += 1;
                    let v = v.convert(&|x| Some(crate::eval::Number::to_f64(x))).expect("a scalar");
                    assert!(v.close(&value(&t), 1e-12, 1e-12), "{t:?}: {v:?}, in doubles {:?}", value(&t));
                }
                Err(EvalError::Inexact { .. }) => {}
                Err(e) => panic!("{t:?}: {e}"),
            }
        }
    }
    assert!(exact > 150, "only {exact} points were exact");
}

#[test]
fn a_structural_zero_is_not_multiplied() {
    let zero = || Arc::new(Term::Zero(LType::Real));
    check(prim(Prim::Mul, [real(f64::INFINITY), zero()]), r(0.0));
    check(prim(Prim::Mul, [real(f64::INFINITY), real(0.0)]), r(f64::NAN));
    check(prim(Prim::Sub, [zero(), real(2.0)]), r(-2.0));
    check(prim(Prim::Mul, [real(f64::NAN), prim(Prim::Add, [zero(), zero()])]), r(0.0));
}

/// A linear former: a term in z, the element types of its domain, and three elements to try.
struct Law {
    name: &'static str,
    z: LBinder,
    body: Lin,
    points: [W; 2],
    codomain: LType,
}

fn apply(law: &Law, v: &W) -> W {
    linear(&Program::default(), &law.body, &[], &[(law.z.clone(), v.clone())]).expect(law.name).0
}

/// Equal as elements of the monoid, i.e. with structural zeros spelled out; power and copower results are observed by the bodies below.
fn same(law: &Law, a: &W, b: &W) -> bool {
    let dense = |v: &W| v.to_value(&law.codomain, &|_| None).expect("first-order");
    dense(a).close(&dense(b), 1e-12, 0.0)
}

fn laws() -> Vec<Law> {
    let s = &mut Supply::default();
    let z = s.fresh("z");
    let v = || l::var(&z);
    let (i, n) = (s.fresh("i"), Size::constant(3));
    let pair = LType::pair(LType::Real, LType::Real);
    let vec3 = LType::array(n.clone(), LType::Real);
    let real_at = |x: f64| LinValue::Real(x);
    let reals = [real_at(2.0), real_at(-5.0)];
    let pairs =
        [LinValue::tuple([real_at(1.0), LinValue::Zero]), LinValue::tuple([real_at(4.0), real_at(-3.0)])];
    let vectors = [
        LinValue::array([real_at(1.0), LinValue::Zero, real_at(3.0)]),
        LinValue::array([real_at(-1.0), real_at(6.0), LinValue::Zero]),
    ];
    let scaled = |t: Lin| l::scale(real(3.0), t);
    let mut out = vec![];
    let mut law = |name, domain: &LType, points: &[W; 2], codomain: &LType, body| {
        let (points, codomain) = (points.clone(), codomain.clone());
        out.push(Law { name, z: LBinder::new(z.clone(), domain.clone()), body, points, codomain });
    };
    let one = LType::Real;
    law("l-var", &one, &reals, &one, v());
    law("l-zero", &one, &reals, &vec3, l::zero(vec3.clone()));
    law("l-plus", &one, &reals, &one, l::plus(v(), v()));
    law("l-pair", &one, &reals, &pair, l::tuple([v(), scaled(v())]));
    law("l-snd", &pair, &pairs, &one, l::proj(v(), 1));
    let env = LType::pair(LType::pair(LType::unit(), LType::Real), LType::Real);
    law("l-coproj", &one, &reals, &env, l::coproj(env.clone(), 1, v()));
    law("l-envproj", &one, &reals, &one, l::env_proj(1, l::coproj(env.clone(), 1, v())));
    let y = Binder::new(s.fresh("y"), Type::Real);
    let power = Arc::new(LinTerm::Power(y.clone(), l::scale(var(&y.var), v())));
    law("l-pow", &one, &reals, &one, Arc::new(LinTerm::PowerApp(power, real(7.0))));
    let tensors =
        l::plus(Arc::new(LinTerm::Tensor(real(2.0), v())), Arc::new(LinTerm::Tensor(real(5.0), scaled(v()))));
    let w = LBinder::new(s.fresh("w"), LType::Real);
    let elim = LinTerm::TensorElim {
        scrutinee: tensors,
        var: y.clone(),
        lin: w.clone(),
        body: l::scale(var(&y.var), l::var(&w.var)),
    };
    law("l-cop-elim", &one, &reals, &one, Arc::new(elim));
    law("l-op", &one, &reals, &one, scaled(v()));
    let map = lin_lam(w.clone(), l::tuple([l::var(&w.var), scaled(l::var(&w.var))]));
    law("l-app", &one, &reals, &pair, l::app(map, v()));
    law("l-let", &one, &reals, &one, l::let_(w.clone(), scaled(v()), l::plus(l::var(&w.var), v())));
    law("l-clet", &one, &reals, &one, l::clet(y.clone(), real(4.0), l::scale(var(&y.var), v())));
    law("l-if", &one, &reals, &one, l::if_(bool(false), v(), scaled(v())));
    let either = Type::Sum(Arc::from([Type::Real, Type::Real]));
    let y2 = Binder::new(s.fresh("y"), Type::Real);
    let arms = vec![(y.clone(), v()), (y2.clone(), l::scale(var(&y2.var), v()))];
    law(
        "l-case",
        &one,
        &reals,
        &one,
        Arc::new(LinTerm::Case(Arc::new(Term::Inject(1, either, real(3.0))), arms)),
    );
    let partial = LType::Sum(Arc::from([LType::Real, pair.clone()]));
    let inject = || Arc::new(LinTerm::Inject(1, partial.clone(), l::tuple([v(), scaled(v())])));
    law("l-inr", &one, &reals, &partial, inject());
    let w2 = LBinder::new(s.fresh("w"), pair.clone());
    let arms = vec![(w.clone(), l::var(&w.var)), (w2.clone(), l::proj(l::var(&w2.var), 1))];
    law("l-sum-elim", &one, &reals, &one, Arc::new(LinTerm::SumElim(inject(), arms)));
    law("l-from-inr", &one, &reals, &pair, Arc::new(LinTerm::FromInject(1, inject())));
    let factor = prim(Prim::Add, [real(1.0), real(0.5)]);
    let i_body = l::scale(factor, l::index(v(), var(&i)));
    law("l-build", &vec3, &vectors, &vec3, l::build(i.clone(), n.clone(), i_body));
    law("l-index", &vec3, &vectors, &one, l::index(v(), int(2)));
    law("l-onehot", &one, &reals, &vec3, l::onehot(n.clone(), int(1), v()));
    law("l-sum", &vec3, &vectors, &one, l::sum(i.clone(), n.clone(), l::index(v(), var(&i))));
    for (name, direction) in [("l-loop up", Direction::Up), ("l-loop down", Direction::Down)] {
        // s' = 3 s + v[i], output s
        let next = l::plus(scaled(l::var(&w.var)), l::index(v(), var(&i)));
        let run = LinTerm::Loop {
            direction,
            state: w.clone(),
            init: l::index(v(), int(0)),
            index: i.clone(),
            bound: n.clone(),
            body: l::tuple([next, l::var(&w.var)]),
        };
        law(name, &vec3, &vectors, &LType::pair(one.clone(), vec3.clone()), Arc::new(run));
    }
    out
}

#[test]
fn every_linear_former_is_a_homomorphism() {
    for law in laws() {
        let [a, b] = &law.points;
        let zero = apply(&law, &LinValue::Zero);
        assert!(same(&law, &zero, &LinValue::Zero), "{}: t[0] = {zero:?}", law.name);
        let joint = apply(&law, &plus(a, b).expect("a sum"));
        let apart = plus(&apply(&law, a), &apply(&law, b)).expect("a sum");
        assert!(same(&law, &joint, &apart), "{}: {joint:?} and {apart:?}", law.name);
    }
}

/// Values of the same terms at their first point, worked out by hand.
#[test]
fn linear_formers() {
    let of = |name: &str| {
        let all = laws();
        let law = all.iter().find(|law| law.name == name).expect(name);
        apply(law, &law.points[0]).to_value(&law.codomain, &|_| None).expect("dense")
    };
    let expect = |name, v: V| assert!(of(name).same(&v), "{name}: {:?}, expected {v:?}", of(name));
    expect("l-plus", r(4.0));
    expect("l-pair", Value::tuple([r(2.0), r(6.0)]));
    expect("l-snd", r(0.0));
    expect("l-coproj", Value::tuple([Value::tuple([Value::unit(), r(2.0)]), r(0.0)]));
    expect("l-envproj", r(2.0));
    expect("l-pow", r(14.0));
    expect("l-cop-elim", r(34.0));
    expect("l-app", Value::tuple([r(2.0), r(6.0)]));
    expect("l-let", r(8.0));
    expect("l-clet", r(8.0));
    expect("l-case", r(6.0));
    expect("l-inr", Value::inject(2, Value::tuple([r(2.0), r(6.0)])));
    expect("l-sum-elim", r(6.0));
    expect("l-from-inr", Value::tuple([r(2.0), r(6.0)]));
    expect("l-build", reals(&[1.5, 0.0, 4.5]));
    expect("l-index", r(3.0));
    expect("l-onehot", reals(&[0.0, 2.0, 0.0]));
    expect("l-sum", r(4.0));
    expect("l-loop up", Value::tuple([r(39.0), reals(&[1.0, 4.0, 12.0])]));
    expect("l-loop down", Value::tuple([r(55.0), reals(&[18.0, 6.0, 1.0])]));
}

#[test]
fn wrong_tags_are_trapped() {
    let (a, b) = (LinValue::Inject(0, Arc::new(W::Real(1.0))), LinValue::Inject(1, Arc::new(W::Real(1.0))));
    assert!(matches!(plus(&a, &b), Err(EvalError::Bug(_))));
}

/// (λ̲z. ⟨z, 0̲⟩) • 2 as a Cartesian value: the zero is spelled out at the size of the codomain.
#[test]
fn linear_maps_of_cartesian_values() {
    let s = &mut Supply::default();
    let (z, n): (Var, Var) = (s.fresh("z"), s.fresh("n"));
    let codomain = LType::array(n.clone(), LType::Real);
    let map = lin_lam(LBinder::new(z.clone(), LType::Real), l::tuple([l::var(&z), l::zero(codomain)]));
    let t = lin_app(map, real(2.0));
    let got = valued(&t, &[(Binder::new(n, Type::Int), Value::Int(2))]);
    assert!(got.same(&Value::tuple([r(2.0), reals(&[0.0, 0.0])])), "{got:?}");
}
