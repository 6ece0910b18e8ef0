//! Random regions before and after; where checks stand; how the work grows.

use super::*;
use lang::core::{Binder, make::*};
use lang::diag::{Failure, Site};
use lang::eval::{LinValue, Value, apply_linear, run};
use lang::prim::Prim;
use lang::target::make as l;
use std::sync::Arc;

struct Random(u64);

impl Random {
    fn next(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }
    fn pick<T: Clone>(&mut self, ts: &[T]) -> T {
        ts[self.next(ts.len())].clone()
    }
}

fn site() -> Site {
    Site { def: "test".into(), span: Default::default() }
}

/// A definition of two reals and an int: a chain of lets, then ⟨a real, λ̲z. a linear term⟩.
fn random_def(r: &mut Random) -> Def {
    let mut s = Supply::default();
    let params = vec![
        Binder::new(s.fresh("x"), Type::Real),
        Binder::new(s.fresh("y"), Type::Real),
        Binder::new(s.fresh("k"), Type::Int),
    ];
    let mut reals =
        vec![var(&params[0].var), var(&params[1].var), real(1.0), real(2.0), real(-0.0), real(0.0)];
    let ints = [var(&params[2].var), int(0), int(3)];
    let mut lets = vec![];
    for _ in 0..1 + r.next(14) {
        let t = random_real(r, &reals, &ints, &mut s, 2);
        let v = s.fresh("v");
        lets.push((Binder::new(v.clone(), Type::Real), t));
        reals.push(var(&v));
    }
    let value = r.pick(&reals);
    let z = LBinder::new(s.fresh("z"), LType::tuple([LType::Real, LType::Real]));
    let mut lins = vec![l::proj(l::var(&z.var), 0), l::proj(l::var(&z.var), 1), l::zero(LType::Real)];
    let mut linear_lets = vec![];
    for _ in 0..r.next(10) {
        let t = random_linear(r, &lins, &reals, &ints, &mut s);
        let v = s.fresh("d");
        linear_lets.push((LBinder::new(v.clone(), LType::Real), t));
        lins.push(l::var(&v));
    }
    let body = l::tuple([r.pick(&lins), r.pick(&lins)]);
    let body = linear_lets.into_iter().rev().fold(body, |b, (z, t)| l::let_(z, t, b));
    let body = tuple([value, lin_lam(z.clone(), body)]);
    let body = lets.into_iter().rev().fold(body, |b, (x, t)| let_(x, t, b));
    let result = Type::tuple([Type::Real, Type::lin(z.ty.clone(), z.ty)]);
    Def { name: "f".into(), types: vec![], sizes: vec![], params, result, body, supply: s }
}

fn random_bool(r: &mut Random, reals: &[Tm], ints: &[Tm]) -> Tm {
    match r.next(4) {
        0 => prim(Prim::Lt, [r.pick(reals), r.pick(reals)]),
        1 => prim(Prim::ILt, [r.pick(ints), r.pick(ints)]),
        2 => prim(Prim::Not, [prim(Prim::ILe, [r.pick(ints), r.pick(ints)])]),
        _ => prim(Prim::And, [bool(true), prim(Prim::Le, [r.pick(reals), r.pick(reals)])]),
    }
}

fn random_real(r: &mut Random, reals: &[Tm], ints: &[Tm], s: &mut Supply, depth: usize) -> Tm {
    let mut sub = |r: &mut Random| match depth {
        0 => r.pick(reals),
        _ if r.next(2) == 0 => r.pick(reals),
        _ => random_real(r, reals, ints, s, depth - 1),
    };
    match r.next(9) {
        0 => prim(Prim::Add, [sub(r), sub(r)]),
        1 => prim(Prim::Sub, [sub(r), sub(r)]),
        2 | 3 => prim(Prim::Mul, [sub(r), sub(r)]),
        4 => prim(Prim::Neg, [sub(r)]),
        5 => prim(r.pick(&[Prim::Abs, Prim::Sin, Prim::Exp]), [sub(r)]),
        6 => prim(Prim::Select, [random_bool(r, reals, ints), sub(r), sub(r)]),
        7 => {
            let (a, b) = (sub(r), sub(r));
            if_(random_bool(r, reals, ints), a, b)
        }
        _ => {
            let (a, i) = (sub(r), s.fresh("i"));
            let term = prim(Prim::Mul, [a, prim(Prim::IntToReal, [var(&i)])]);
            sum(i, Size::constant(3), term)
        }
    }
}

fn random_linear(r: &mut Random, lins: &[Lin], reals: &[Tm], ints: &[Tm], s: &mut Supply) -> Lin {
    match r.next(8) {
        0 | 1 => l::plus(r.pick(lins), r.pick(lins)),
        2 | 3 => l::scale(r.pick(reals), r.pick(lins)),
        4 => l::proj(
            l::plus(l::tuple([r.pick(lins), r.pick(lins)]), l::tuple([r.pick(lins), r.pick(lins)])),
            r.next(2),
        ),
        5 => l::if_(random_bool(r, reals, ints), r.pick(lins), r.pick(lins)),
        6 => {
            let i = s.fresh("i");
            let v = l::build(
                i.clone(),
                Size::constant(3),
                l::scale(prim(Prim::IntToReal, [var(&i)]), r.pick(lins)),
            );
            l::index(v, int(r.next(3) as i64))
        }
        _ => {
            let k = int(r.next(3) as i64);
            l::index(l::onehot(Size::constant(3), k, r.pick(lins)), int(r.next(3) as i64))
        }
    }
}

fn program(def: &Def) -> Program {
    Program { defs: [(def.name.clone(), Arc::new(def.clone()))].into() }
}

fn check(def: &Def) {
    typeck::check::check_def(def, &program(def), typeck::check::Language::Target)
        .unwrap_or_else(|e| panic!("{e}\n{:#?}", def.body));
}

/// The value, the linear part at two points, and the cost of all.
fn values(def: &Def, at: (f64, f64, i64), dz: [f64; 2]) -> (f64, Vec<f64>, u64) {
    let args = [Value::Real(at.0), Value::Real(at.1), Value::Int(at.2)];
    let (pair, cost) = run::<f64>(&program(def), "f", &args, &[]).unwrap();
    let pair = pair.as_tuple().unwrap();
    let z = LinValue::tuple(dz.map(LinValue::Real));
    let (out, linear) = apply_linear(&Program::default(), &pair[1], z).unwrap();
    let ty = LType::tuple([LType::Real, LType::Real]);
    let out = out.to_value(&ty, &|_| None).unwrap().numbers();
    (pair[0].as_real().unwrap(), out, cost.total() + linear.total())
}

#[test]
fn random_regions() {
    lang::big_stack::run(regions)
}

fn regions() {
    let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    let mut r = Random(11);
    let (mut before, mut after) = (0, 0);
    for round in 0..60 {
        let def = random_def(&mut r);
        check(&def);
        for level in [Level::Strict, Level::Default, Level::FastMath] {
            // Small pieces in every other round, so that regions are cut.
            let piece = if round % 2 == 0 { 200 } else { 3 };
            let simple = definition(
                &def,
                &Program::default(),
                &Options { level, piece, ..Options::default() },
                Precision::Double,
            );
            check(&simple);
            for at in [(0.5, -1.25, 2), (0.0, -0.0, 3), (1.5, 0.25, -1)] {
                let (v, d, c) = values(&def, at, [0.75, -1.5]);
                let (w, e, k) = values(&simple, at, [0.75, -1.5]);
                let close = |a: f64, b: f64| {
                    same(a, b) || (a - b).abs() <= 1e-11 * (1.0 + a.abs()) || !a.is_finite() || !b.is_finite()
                };
                let shown = || format!("{level:?}: {:#?}\n{:#?}", def.body, simple.body);
                match level {
                    Level::Strict | Level::Default => assert!(same(v, w), "{v} {w} {}", shown()),
                    Level::FastMath => assert!(close(v, w), "{v} {w} {}", shown()),
                }
                for (d, e) in d.iter().zip(&e) {
                    let finite = d.is_finite() == e.is_finite();
                    match level {
                        Level::Strict => {
                            assert!(same(*d, *e) || *d == 0.0 && *e == 0.0, "{d} {e} {}", shown())
                        }
                        Level::Default => assert!(finite && close(*d, *e), "{d} {e} {}", shown()),
                        Level::FastMath => assert!(close(*d, *e), "{d} {e} {}", shown()),
                    }
                }
                before += c;
                after += k;
            }
        }
    }
    assert!(after < before, "simplification pays: {after} of {before}");
}

/// Where rewriting is cut off, at nodes or at rounds, less is done, and what is there means the same.
#[test]
fn work_stops_at_its_limits() {
    let whole = Options::default();
    let (nodes, rounds) =
        (Options { nodes: 1, nodes_per_operation: 0, ..whole }, Options { iterations: 1, ..whole });
    let simplified = |def: &Def, options: &Options| {
        lang::big_stack::run(|| {
            let mut s = Simplifier::new(def, &Program::default(), options, Precision::Double);
            let simple = s.definition(def);
            (simple, s.work)
        })
    };
    let mut r = Random(7);
    let (mut all, mut cut) = (0, [0, 0]);
    for _ in 0..20 {
        let def = random_def(&mut r);
        all += simplified(&def, &whole).1;
        for (options, cut) in [&nodes, &rounds].into_iter().zip(&mut cut) {
            let (simple, work) = simplified(&def, options);
            check(&simple);
            *cut += work;
            let ((v, d, _), (w, e, _)) =
                (values(&def, (0.5, -1.25, 2), [0.75, -1.5]), values(&simple, (0.5, -1.25, 2), [0.75, -1.5]));
            assert_eq!(v.to_bits(), w.to_bits());
            let close =
                |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-11 * (1.0 + a.abs()) || a.to_bits() == b.to_bits();
            assert!(d.iter().zip(&e).all(close), "{d:?} {e:?}");
        }
    }
    assert!(cut[0] < all && cut[1] < all, "e-nodes: {all}, with fewer {}, in one round {}", cut[0], cut[1]);
}

/// A chain of n lets in which everything is needed.
fn chain(n: usize) -> Def {
    let mut s = Supply::default();
    let (x, y) = (Binder::new(s.fresh("x"), Type::Real), Binder::new(s.fresh("y"), Type::Real));
    let mut last = (x.var.clone(), y.var.clone());
    let mut lets = vec![];
    for k in 0..n {
        let p = [Prim::Mul, Prim::Add, Prim::Sub][k % 3];
        let v = s.fresh("v");
        lets.push((Binder::new(v.clone(), Type::Real), prim(p, [var(&last.0), var(&last.1)])));
        last = (last.1, v);
    }
    let body = lets.into_iter().rev().fold(var(&last.1), |b, (x, t)| let_(x, t, b));
    Def {
        name: "f".into(),
        types: vec![],
        sizes: vec![],
        params: vec![x, y],
        result: Type::Real,
        body,
        supply: s,
    }
}

#[test]
fn work_is_proportional() {
    let work = |n| {
        let def = chain(n);
        let options = Options::default();
        lang::big_stack::run(|| {
            let mut s = Simplifier::new(&def, &Program::default(), &options, Precision::Double);
            s.definition(&def);
            s.work
        })
    };
    let (short, long) = (work(200), work(2000));
    assert!(long <= 11 * short, "e-nodes: {short} for 200 lets, {long} for 2000");
}

#[test]
fn nothing_that_can_fail_moves_above_a_check() {
    let mut s = Supply::default();
    let n = s.fresh("n");
    let (a, k) = (
        Binder::new(s.fresh("a"), Type::array(Size::var(n.clone()), Type::Real)),
        Binder::new(s.fresh("k"), Type::Int),
    );
    let check = |failure, cond, u: &Var| {
        let t = Term::Check { cond, failure, details: vec![], site: site(), body: unit() };
        (Binder::new(u.clone(), Type::unit()), Arc::new(t))
    };
    let (u, v, x, y, c) = (s.fresh("u"), s.fresh("v"), s.fresh("x"), s.fresh("y"), s.fresh("c"));
    let zero = || prim(Prim::ILt, [int(0), var(&k.var)]);
    let lets = vec![
        check(Failure::DivisionByZero, zero(), &u),
        (Binder::new(x.clone(), Type::Real), index(var(&a.var), var(&k.var), site())),
        (Binder::new(c.clone(), Type::Bool), prim(Prim::Lt, [var(&x), real(0.0)])),
        check(Failure::EmptyArray, prim(Prim::Not, [prim(Prim::Not, [var(&c)])]), &v),
        (Binder::new(y.clone(), Type::Real), index(var(&a.var), int(0), site())),
    ];
    let body = prim(Prim::Mul, [prim(Prim::Mul, [var(&y), real(1.0)]), var(&x)]);
    let body = lets.into_iter().rev().fold(body, |b, (x, t)| let_(x, t, b));
    let def = Def {
        name: "f".into(),
        types: vec![],
        sizes: vec![n],
        params: vec![a, k],
        result: Type::Real,
        body,
        supply: s,
    };
    check_def(&def);
    let simple = definition(&def, &Program::default(), &Options::default(), Precision::Double);
    check_def(&simple);
    let failure = |d: &Def, a: Vec<f64>, k: i64| {
        let n = a.len() as i64;
        match run::<f64>(&program(d), "f", &[Value::reals(a), Value::Int(k)], &[n]) {
            Ok((v, _)) => format!("{v:?}"),
            Err(e) => format!("{e:?}"),
        }
    };
    for (a, k) in [(vec![1.0], 0), (vec![1.0, -2.0], 1), (vec![1.0, 2.0], 1), (vec![1.0], 5), (vec![], 7)] {
        assert_eq!(failure(&def, a.clone(), k), failure(&simple, a, k), "{:#?}", simple.body);
    }
}

fn check_def(def: &Def) {
    check(def)
}

#[test]
fn what_is_known_around_a_region_is_not_computed_again() {
    let mut s = Supply::default();
    let (x, y, i) = (Binder::new(s.fresh("x"), Type::Real), s.fresh("y"), s.fresh("i"));
    let e = || prim(Prim::Exp, [var(&x.var)]);
    let terms = sum(i.clone(), Size::constant(4), prim(Prim::Mul, [e(), prim(Prim::IntToReal, [var(&i)])]));
    let body = let_(Binder::new(y.clone(), Type::Real), e(), prim(Prim::Add, [var(&y), terms]));
    let def = Def {
        name: "f".into(),
        types: vec![],
        sizes: vec![],
        params: vec![x],
        result: Type::Real,
        body,
        supply: s,
    };
    let simple = definition(&def, &Program::default(), &Options::default(), Precision::Double);
    check(&simple);
    let cost = |d: &Def| run::<f64>(&program(d), "f", &[Value::Real(0.5)], &[]).unwrap();
    let ((v, before), (w, after)) = (cost(&def), cost(&simple));
    assert!(v.same(&w));
    assert_eq!(before.operations - after.operations, 4 * Prim::Exp.row().cost as u64);
}

/// Constants meet in the e-graph as they would when the program runs.
#[test]
fn constants_are_folded_in_the_precision_of_the_program() {
    for (precision, third) in [(Precision::Double, 1.0 / 3.0), (Precision::Single, f64::from(1f32 / 3.0))] {
        let mut s = Supply::default();
        let (x, a) = (Binder::new(s.fresh("x"), Type::Real), Binder::new(s.fresh("a"), Type::Real));
        let quotient = prim(Prim::Div, [real(1.0), real(3.0)]);
        let body = let_(a.clone(), quotient, prim(Prim::Mul, [var(&x.var), var(&a.var)]));
        let def = Def {
            name: "f".into(),
            types: vec![],
            sizes: vec![],
            params: vec![x.clone()],
            result: Type::Real,
            body,
            supply: s,
        };
        let simple = definition(&def, &Program::default(), &Options::default(), precision);
        let Term::Prim(Prim::Mul, args) = &*simple.body else { panic!("{:?}", simple.body) };
        assert!(args.contains(&real(third)), "{precision}: {:?}", simple.body);
    }
}
