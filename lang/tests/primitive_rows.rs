//! What must hold of every row of the table of primitives.

mod scalar;

use lang::core::{Lit, Term, Tm, make};
use lang::name::Supply;
use lang::precision::Precision;
use lang::prim::{Derivative, Lowering, Partial, Prim, Row, Scalar, real};
use scalar::*;
use std::collections::{HashMap, HashSet};

/// Runs a law on every row and names all rows that break it.
fn every_row(law: impl Fn(&'static Row) -> Result<(), String>) {
    let broken: Vec<String> =
        Prim::ALL.iter().filter_map(|p| law(p.row()).err().map(|why| format!("{p:?}: {why}"))).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

fn require(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

#[test]
fn rows_are_complete() {
    every_row(|row| {
        let arity = row.args.len();
        require(row.samples.len() == arity, || "one sample interval per argument".into())?;
        require(row.samples.iter().all(|(lo, hi)| lo < hi), || "empty sample interval".into())?;
        require(!row.doc.is_empty() && row.cost > 0, || "no documentation or no cost".into())?;
        let differentiable = row.result == Scalar::Real && row.args.contains(&Scalar::Real);
        match &row.derivative {
            Derivative::ByType => require(!differentiable, || "has a real argument and result".into()),
            Derivative::Arms(arms) => {
                require(differentiable, || "derivative of what has none by type".into())?;
                require(arms.last().is_some_and(|a| a.when.is_none()), || "last arm guarded".into())?;
                require(arms.iter().rev().skip(1).all(|a| a.when.is_some()), || "arm out of reach".into())?;
                for arm in *arms {
                    require(arm.partials.len() == arity, || "one partial per argument".into())?;
                    for (partial, arg) in arm.partials.iter().zip(row.args) {
                        let none = matches!(partial, Partial::Zero);
                        require(*arg == Scalar::Real || none, || "partial in an int or bool".into())?;
                    }
                }
                Ok(())
            }
        }
    });
}

#[test]
fn prims_and_rows_correspond() {
    let mut seen = HashSet::new();
    for p in Prim::ALL {
        assert_eq!(p.row().prim, *p);
        assert!(
            seen.insert((p.row().name, p.row().args)),
            "two rows named {} on {:?}",
            p.row().name,
            p.row().args
        );
        assert_eq!(Prim::find(p.row().name, p.row().args), Some(*p));
    }
}

#[test]
fn values_are_total_and_of_the_stated_type() {
    every_row(|row| {
        for x in extremes(row.prim).into_iter().chain(samples(row.prim, 50)) {
            let y = (row.eval)(&x);
            require(scalar_of(y) == row.result, || format!("{x:?} gives {y:?}"))?;
        }
        Ok(())
    });
}

/// Central differences with two steps of extrapolation, at two step widths; the error is judged by their disagreement.
#[test]
fn partials_agree_with_central_differences() {
    every_row(|row| {
        if row.result != Scalar::Real {
            return Ok(());
        }
        for x in samples(row.prim, 40) {
            for i in (0..x.len()).filter(|i| row.args[*i] == Scalar::Real) {
                let at = |h: f64| {
                    let mut x = x.clone();
                    x[i] = Lit::Real(real(x[i]) + h);
                    real((row.eval)(&x))
                };
                let central = |h: f64| (at(h) - at(-h)) / (2.0 * h);
                let extrapolated = |h: f64| {
                    let d = [central(h), central(h / 2.0), central(h / 4.0)];
                    let e = [d[1] + (d[1] - d[0]) / 3.0, d[2] + (d[2] - d[1]) / 3.0];
                    e[1] + (e[1] - e[0]) / 15.0
                };
                let estimates = [0.02, 0.01, 0.005, 0.002].map(extrapolated);
                let got = partial(row.prim, &x, i);
                let scale = 1.0 + got.abs();
                let error = estimates.map(|e| (e - got).abs()).into_iter().fold(f64::INFINITY, f64::min);
                require(error <= 1e-9 * scale, || {
                    format!("argument {i} at {x:?}: partial {got}, differences {estimates:?}")
                })?;
            }
        }
        Ok(())
    });
}

#[test]
fn expansions_mean_what_eval_says() {
    every_row(|row| {
        let Lowering::Expand(expand) = row.lowering else { return Ok(()) };
        for x in extremes(row.prim).into_iter().chain(samples(row.prim, 200)) {
            let (vars, last) = variables(x.len());
            let mut supply = Supply { next: last.id };
            let t = expand(&vars.iter().map(make::var).collect::<Vec<_>>(), &mut supply);
            let env: HashMap<_, _> = vars.into_iter().zip(x.iter().map(|l| Num::Flat(*l))).collect();
            let (got, want) = (eval(&t, &env).flat(), (row.eval)(&x));
            require(same(got, want), || format!("at {x:?}: {got:?}, eval {want:?}"))?;
        }
        Ok(())
    });
}

#[test]
fn operations_mean_what_eval_says() {
    every_row(|row| {
        let Lowering::Op(op) = row.lowering else { return Ok(()) };
        for x in extremes(row.prim).into_iter().chain(samples(row.prim, 200)) {
            let (got, want) = (lang::loops::ops::apply(op, &x, Precision::Double), (row.eval)(&x));
            require(got.is_some_and(|y| same(y, want)), || {
                format!("at {x:?}: {op:?} {got:?}, eval {want:?}")
            })?;
        }
        Ok(())
    });
}

/// Expansions do not go round in circles: following them ends in operations.
#[test]
fn expansions_end() {
    fn depth(p: Prim, above: usize) -> usize {
        assert!(above < 8, "{p:?} expands without end");
        let Lowering::Expand(expand) = p.row().lowering else { return 0 };
        let (vars, last) = variables(p.row().args.len());
        let t = expand(&vars.iter().map(make::var).collect::<Vec<_>>(), &mut Supply { next: last.id });
        let mut used = vec![];
        prims(&t, &mut used);
        1 + used.into_iter().map(|q| depth(q, above + 1)).max().unwrap_or(0)
    }
    for p in Prim::ALL {
        depth(*p, 0);
    }
}

fn prims(t: &Tm, out: &mut Vec<Prim>) {
    match &**t {
        Term::Prim(p, ts) => {
            out.push(*p);
            ts.iter().for_each(|t| prims(t, out));
        }
        Term::Let(_, t, s) => {
            prims(t, out);
            prims(s, out);
        }
        Term::Var(_) | Term::Lit(_) => {}
        other => panic!("not a straight scalar term: {other:?}"),
    }
}

fn cost(t: &Tm) -> u32 {
    let mut used = vec![];
    prims(t, &mut used);
    used.into_iter().map(|p| p.row().cost).sum()
}

/// A row's cost is at least that of its expansion and a fifth of value and reverse together: guards and a branch for
/// each, partials, a multiplication and an accumulation per argument.
#[test]
fn costs_pay_for_the_reverse() {
    every_row(|row| {
        let (vars, y) = variables(row.args.len());
        let x: Vec<Tm> = vars.iter().map(make::var).collect();
        if let Lowering::Expand(expand) = row.lowering {
            let expansion = cost(&expand(&x, &mut Supply { next: y.id }));
            require(row.cost >= expansion, || format!("costs {}, its expansion {expansion}", row.cost))?;
        }
        let Derivative::Arms(arms) = &row.derivative else { return Ok(()) };
        let mut guards = 0;
        for arm in *arms {
            guards += arm.when.map_or(0, |when| cost(&when(&x)) + 1);
            let each = |p: &Partial| match p {
                Partial::Zero => 0,
                Partial::One => 1,
                Partial::MinusOne => 2,
                Partial::Of(f) => cost(&f(&x, &make::var(&y))) + 2,
            };
            let reverse: u32 = arm.partials.iter().map(each).sum();
            let all = row.cost + guards + reverse;
            require(all <= 5 * row.cost, || format!("costs {}, with its reverse {all}", row.cost))?;
        }
        Ok(())
    });
}

fn close(a: Lit, b: Lit) -> bool {
    match (a, b) {
        (Lit::Real(x), Lit::Real(y)) => x == y || (x - y).abs() <= 1e-12 * (1.0 + x.abs().max(y.abs())),
        _ => a == b,
    }
}

#[test]
fn algebra_holds() {
    every_row(|row| {
        let op = |x: Lit, y: Lit| (row.eval)(&[x, y]);
        if row.algebra.commutative {
            for x in extremes(row.prim).into_iter().chain(samples(row.prim, 50)) {
                let (a, b) = (op(x[0], x[1]), op(x[1], x[0]));
                require(same(a, b) || a == b, || format!("{x:?} does not commute: {a:?}, {b:?}"))?;
            }
        }
        // Both arguments range over both intervals.
        let values: Vec<Lit> = samples(row.prim, 8).into_iter().flatten().collect();
        if row.algebra.associative {
            let pairs = values.iter().flat_map(|x| values.iter().map(move |y| (*x, *y)));
            for (x, y) in pairs {
                let z = third(x, y);
                let (a, b) = (op(op(x, y), z), op(x, op(y, z)));
                require(close(a, b), || format!("{x:?} {y:?} {z:?} do not associate"))?;
            }
        }
        let constant = |c: f64| match row.args[0] {
            Scalar::Real => Lit::Real(c),
            Scalar::Int => Lit::Int(c as i64),
            Scalar::Bool => Lit::Bool(c != 0.0),
        };
        for x in values {
            if let Some(e) = row.algebra.unit.map(constant) {
                require(close(op(e, x), x) && close(op(x, e), x), || format!("{e:?} is no unit at {x:?}"))?;
            }
            if let Some(z) = row.algebra.zero.map(constant) {
                require(close(op(z, x), z) && close(op(x, z), z), || format!("{z:?} is no zero at {x:?}"))?;
            }
        }
        Ok(())
    });
}

/// A third value of the same type.
fn third(x: Lit, y: Lit) -> Lit {
    match (x, y) {
        (Lit::Real(x), Lit::Real(y)) => Lit::Real(0.7 * x - 1.3 * y),
        (Lit::Int(x), Lit::Int(y)) => Lit::Int(x.wrapping_mul(3).wrapping_sub(y)),
        (Lit::Bool(x), Lit::Bool(y)) => Lit::Bool(x ^ y),
        _ => panic!("arguments of two types"),
    }
}

/// The column lists exactly the real arguments in which the value is additive and homogeneous.
#[test]
fn linearity_is_stated_and_true() {
    every_row(|row| {
        if row.result != Scalar::Real {
            return require(row.linear_in.is_empty(), || "linear into ints or bools".into());
        }
        for i in (0..row.args.len()).filter(|i| row.args[*i] == Scalar::Real) {
            let linear = samples(row.prim, 20).into_iter().all(|x| {
                let f = |v: f64| {
                    let mut x = x.clone();
                    x[i] = Lit::Real(v);
                    real((row.eval)(&x))
                };
                let (u, v) = (real(x[i]), 0.25 * real(x[i]) + 0.125);
                let combined = Lit::Real(2.0 * f(u) - 3.0 * f(v));
                f(0.0) == 0.0
                    && close(Lit::Real(f(-4.0 * u)), Lit::Real(-4.0 * f(u)))
                    && close(Lit::Real(f(2.0 * u - 3.0 * v)), combined)
            });
            let stated = row.linear_in.contains(&i);
            require(linear == stated, || format!("argument {i}: stated {stated}, found {linear}"))?;
        }
        Ok(())
    });
}
