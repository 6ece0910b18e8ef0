//! Scalar terms evaluated with nested dual numbers, straight from the rows: values, slopes, slopes of slopes. Short enough to be
//! believed, and independent of `ad`.
#![allow(dead_code)]

use lang::core::{Lit, Term, Tm, make};
use lang::name::{Supply, Var};
use lang::prim::{Derivative, Partial, Prim, Scalar, boolean, real};
use std::collections::HashMap;

/// A number with no, one or more infinitesimal directions; None is the structural zero.
#[derive(Clone, Debug)]
pub enum Num {
    Flat(Lit),
    Dual(Box<Num>, Option<Box<Num>>),
}

use Num::{Dual, Flat};

impl Num {
    fn order(&self) -> usize {
        match self {
            Flat(_) => 0,
            Dual(x, _) => 1 + x.order(),
        }
    }
    /// The number without its innermost value's surroundings.
    pub fn flat(&self) -> Lit {
        match self {
            Flat(l) => *l,
            Dual(x, _) => x.flat(),
        }
    }
    /// Value and slope in the outermost direction, when the number has `order` of them.
    fn split(self, order: usize) -> (Num, Option<Num>) {
        match self {
            Dual(x, v) if 1 + x.order() == order => (*x, v.map(|v| *v)),
            lower => (lower, None),
        }
    }
}

pub fn apply(p: Prim, args: Vec<Num>) -> Num {
    let order = args.iter().map(Num::order).max().unwrap_or(0);
    if order == 0 {
        return Flat((p.row().eval)(&args.iter().map(Num::flat).collect::<Vec<_>>()));
    }
    let (xs, vs): (Vec<Num>, Vec<Option<Num>>) = args.into_iter().map(|a| a.split(order)).unzip();
    let y = apply(p, xs.clone());
    let slope = derivative(p, &xs, &y, vs);
    Dual(Box::new(y), slope.map(Box::new))
}

/// Σ ∂i(x; y) · vi over the arm that applies.
pub fn derivative(p: Prim, xs: &[Num], y: &Num, vs: Vec<Option<Num>>) -> Option<Num> {
    let Derivative::Arms(arms) = &p.row().derivative else { return None };
    let (vars, result) = variables(xs.len());
    let terms: Vec<Tm> = vars.iter().map(make::var).collect();
    let mut env: HashMap<Var, Num> = vars.into_iter().zip(xs.iter().cloned()).collect();
    env.insert(result.clone(), y.clone());
    let result = make::var(&result);
    let arm = arms.iter().find(|arm| arm.when.is_none_or(|when| boolean(eval(&when(&terms), &env).flat())));
    let mut sum: Option<Num> = None;
    for (partial, v) in arm.expect("the last arm has no guard").partials.iter().zip(vs) {
        let (Some(v), false) = (v, matches!(partial, Partial::Zero)) else { continue };
        let product = match partial {
            Partial::Zero => unreachable!(),
            Partial::One => v,
            Partial::MinusOne => apply(Prim::Neg, vec![v]),
            Partial::Of(f) => apply(Prim::Mul, vec![eval(&f(&terms, &result), &env), v]),
        };
        sum = Some(match sum {
            None => product,
            Some(s) => apply(Prim::Add, vec![s, product]),
        });
    }
    sum
}

/// The variables x0 … and y of a row's terms.
pub fn variables(arity: usize) -> (Vec<Var>, Var) {
    let mut supply = Supply::default();
    ((0..arity).map(|i| supply.fresh(format!("x{i}"))).collect(), supply.fresh("y"))
}

pub fn eval(t: &Tm, env: &HashMap<Var, Num>) -> Num {
    match &**t {
        Term::Var(v) => env[v].clone(),
        Term::Lit(l) => Flat(*l),
        Term::Let(x, t, s) => {
            let mut inner = env.clone();
            inner.insert(x.var.clone(), eval(t, env));
            eval(s, &inner)
        }
        Term::If(c, t, s) => eval(if boolean(eval(c, env).flat()) { t } else { s }, env),
        Term::Prim(p, ts) => apply(*p, ts.iter().map(|t| eval(t, env)).collect()),
        other => panic!("not a scalar term: {other:?}"),
    }
}

/// A real at which slopes are taken, `order` times.
pub fn active(x: f64, order: usize) -> Num {
    (0..order).fold(Flat(Lit::Real(x)), |x, _| Dual(Box::new(x), Some(Box::new(Flat(Lit::Real(1.0))))))
}
pub fn fixed(x: f64) -> Num {
    Flat(Lit::Real(x))
}
pub fn fixed_int(k: i64) -> Num {
    Flat(Lit::Int(k))
}

/// The highest slope of a result; a structural zero reads as 0.
pub fn slope(y: &Num, order: usize) -> f64 {
    match (order, y) {
        (0, y) => real(y.flat()),
        (_, Dual(x, v)) if 1 + x.order() == order => v.as_ref().map_or(0.0, |v| slope(v, order - 1)),
        _ => 0.0,
    }
}

/// The slope of a primitive in its i-th argument.
pub fn partial(p: Prim, x: &[Lit], i: usize) -> f64 {
    let args = x.iter().enumerate();
    let args = args.map(|(j, l)| if i == j { active(real(*l), 1) } else { Flat(*l) });
    slope(&apply(p, args.collect()), 1)
}

/// Deterministic points of a row's sample domain.
pub fn samples(p: Prim, count: usize) -> Vec<Vec<Lit>> {
    let row = p.row();
    let point = |k: usize| {
        let coordinate = |i: usize| {
            let (lo, hi) = row.samples[i];
            // Multiples of irrational numbers spread evenly.
            let u = ((k as f64 + 1.0) * [0.618_033_988_75, 0.754_877_666_25, 0.819_172_513_4][i]).fract();
            match row.args[i] {
                Scalar::Real => Lit::Real(lo + u * (hi - lo)),
                Scalar::Int => Lit::Int((lo + u * (hi - lo)).round() as i64),
                Scalar::Bool => Lit::Bool(u > 0.5),
            }
        };
        (0..row.args.len()).map(coordinate).collect()
    };
    (0..count).map(point).collect()
}

/// Every combination of difficult arguments.
pub fn extremes(p: Prim) -> Vec<Vec<Lit>> {
    const REALS: [f64; 19] = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.5,
        -1.5,
        0.3,
        -7.0,
        800.0,
        -800.0,
        1e-200,
        5e-324,
        1e308,
        -1e17,
    ];
    const INTS: [i64; 12] = [0, 1, -1, 2, -2, 7, -19, 63, 64, 1 << 40, i64::MIN, i64::MAX];
    let mut points = vec![vec![]];
    for arg in p.row().args {
        let values: Vec<Lit> = match arg {
            Scalar::Real => REALS.map(Lit::Real).into(),
            Scalar::Int => INTS.map(Lit::Int).into(),
            Scalar::Bool => [false, true].map(Lit::Bool).into(),
        };
        points = points
            .iter()
            .flat_map(|point: &Vec<Lit>| {
                values.iter().map(|v| point.iter().copied().chain([*v]).collect::<Vec<Lit>>())
            })
            .collect();
    }
    points
}

/// The same bits; one NaN is as good as another.
pub fn same(a: Lit, b: Lit) -> bool {
    match (a, b) {
        (Lit::Real(x), Lit::Real(y)) => x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
        _ => a == b,
    }
}

pub fn scalar_of(l: Lit) -> Scalar {
    match l {
        Lit::Real(_) => Scalar::Real,
        Lit::Int(_) => Scalar::Int,
        Lit::Bool(_) => Scalar::Bool,
    }
}
