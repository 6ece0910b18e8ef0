//! Building Core by hand, and the checks every program passes: what D makes is well typed and linear, D keeps the value, forward by columns = reverse by rows = central
//! differences, ⟨w, Jv⟩ = ⟨Jᵗw, v⟩.
#![allow(dead_code)]

use ad::derive;
use lang::core::make::{app, int, lam, let_, prim, real, var};
use lang::core::{Binder, Def, Extremum, Program, Term, Tm};
use lang::diag::{Site, Span};
use lang::eval::{LinValue, Value, apply_linear, run};
use lang::name::Supply;
use lang::prim::Prim;
use lang::size::Size;
use lang::types::{Mode, Type};
use std::sync::Arc;
use typeck::check::{Language, check_program};

pub type V = Value<f64>;
pub type W = LinValue<f64>;

// ---- terms

pub const REAL: Type = Type::Real;

pub fn vector(n: i64) -> Type {
    Type::array(Size::constant(n), Type::Real)
}
pub fn site() -> Site {
    Site { def: "test".into(), span: Span::default() }
}
pub fn add(a: Tm, b: Tm) -> Tm {
    prim(Prim::Add, [a, b])
}
pub fn mul(a: Tm, b: Tm) -> Tm {
    prim(Prim::Mul, [a, b])
}
pub fn sin(a: Tm) -> Tm {
    prim(Prim::Sin, [a])
}
pub fn less(a: Tm, b: Tm) -> Tm {
    prim(Prim::Lt, [a, b])
}
pub fn at(a: &Tm, i: &Tm) -> Tm {
    lang::core::make::index(a.clone(), i.clone(), site())
}
pub fn array(ts: impl IntoIterator<Item = Tm>) -> Tm {
    Arc::new(Term::Array(Type::Real, ts.into_iter().collect()))
}
pub fn detach(t: Tm) -> Tm {
    Arc::new(Term::Detach(t))
}
pub fn lett(s: &mut Supply, ty: Type, t: Tm, body: impl FnOnce(&mut Supply, Tm) -> Tm) -> Tm {
    let x = Binder::new(s.fresh("x"), ty);
    let b = body(s, var(&x.var));
    let_(x, t, b)
}
pub fn fun(s: &mut Supply, ty: Type, body: impl FnOnce(&mut Supply, Tm) -> Tm) -> Tm {
    let x = Binder::new(s.fresh("x"), ty);
    let b = body(s, var(&x.var));
    lam(x, b)
}
pub fn call2(f: &Tm, a: Tm, b: Tm) -> Tm {
    app(app(f.clone(), a), b)
}
pub fn build(s: &mut Supply, n: impl Into<Size>, body: impl FnOnce(&mut Supply, Tm) -> Tm) -> Tm {
    let i = s.fresh("i");
    let b = body(s, var(&i));
    lang::core::make::build(i, n.into(), b)
}
pub fn sum(s: &mut Supply, n: impl Into<Size>, body: impl FnOnce(&mut Supply, Tm) -> Tm) -> Tm {
    let i = s.fresh("i");
    let b = body(s, var(&i));
    lang::core::make::sum(i, n.into(), b)
}
pub fn extremum(
    s: &mut Supply,
    which: Extremum,
    n: impl Into<Size>,
    body: impl FnOnce(&mut Supply, Tm) -> Tm,
) -> Tm {
    let index = s.fresh("i");
    let body = body(s, var(&index));
    Arc::new(Term::Extremum { which, index, bound: n.into(), body })
}
/// loop s = init for i < n collect body
pub fn looped(
    s: &mut Supply,
    ty: Type,
    init: Tm,
    n: impl Into<Size>,
    body: impl FnOnce(&mut Supply, Tm, Tm) -> Tm,
) -> Tm {
    let (state, index) = (Binder::new(s.fresh("s"), ty), s.fresh("i"));
    let body = body(s, var(&state.var), var(&index));
    Arc::new(Term::Loop { state, init, index, bound: n.into(), body })
}
pub fn whiled(
    s: &mut Supply,
    ty: Type,
    init: Tm,
    cond: impl FnOnce(&mut Supply, Tm) -> Tm,
    body: impl FnOnce(&mut Supply, Tm) -> Tm,
) -> Tm {
    let state = Binder::new(s.fresh("s"), ty);
    let (cond, body) = (cond(s, var(&state.var)), body(s, var(&state.var)));
    Arc::new(Term::While { state, init, cond, body })
}
pub fn case(s: &mut Supply, t: Tm, arms: Vec<(Type, Box<dyn Fn(&mut Supply, Tm) -> Tm>)>) -> Tm {
    let arm = |(ty, body): &(Type, Box<dyn Fn(&mut Supply, Tm) -> Tm>)| {
        let x = Binder::new(s.fresh("x"), ty.clone());
        let b = body(s, var(&x.var));
        (x, b)
    };
    Arc::new(Term::Case(t, arms.iter().map(arm).collect()))
}
pub fn inject(i: usize, ty: &Type, t: Tm) -> Tm {
    Arc::new(Term::Inject(i, ty.clone(), t))
}
pub fn calls(def: &str, sizes: Vec<Size>, args: Vec<Tm>) -> Tm {
    Arc::new(Term::Call { def: def.into(), types: vec![], sizes, args })
}
pub fn two() -> Tm {
    real(2.0)
}
pub fn zero_int() -> Tm {
    int(0)
}

// ---- programs

/// A definition to test, with arguments.
pub struct Case {
    pub program: Program,
    pub def: String,
    pub args: Vec<V>,
    pub sizes: Vec<i64>,
}

/// Adds `def name params : result = body` to the program.
pub fn define(
    program: &mut Program,
    name: &str,
    params: Vec<Type>,
    result: Type,
    body: impl FnOnce(&mut Supply, &[Tm]) -> Tm,
) {
    define_sized(program, name, &[], |_| params, |_| result, |s, _, xs| body(s, xs));
}

/// The same with size variables.
pub fn define_sized(
    program: &mut Program,
    name: &str,
    sizes: &[&str],
    params: impl FnOnce(&[Size]) -> Vec<Type>,
    result: impl FnOnce(&[Size]) -> Type,
    body: impl FnOnce(&mut Supply, &[Size], &[Tm]) -> Tm,
) {
    let mut supply = Supply::default();
    let sizes: Vec<_> = sizes.iter().map(|n| supply.fresh(*n)).collect();
    let ns: Vec<Size> = sizes.iter().cloned().map(Size::var).collect();
    let params: Vec<Binder> = params(&ns).into_iter().map(|ty| Binder::new(supply.fresh("a"), ty)).collect();
    let vars: Vec<Tm> = params.iter().map(|x| var(&x.var)).collect();
    let body = body(&mut supply, &ns, &vars);
    let (name, result) = (name.into(), result(&ns));
    let def = Def { name, types: vec![], sizes, params, result, body, supply };
    program.defs.insert(def.name.clone(), Arc::new(def));
}

/// One definition `f`.
pub fn program(
    params: Vec<Type>,
    args: Vec<V>,
    result: Type,
    body: impl FnOnce(&mut Supply, &[Tm]) -> Tm,
) -> Case {
    let mut program = Program::default();
    define(&mut program, "f", params, result, body);
    Case { program, def: "f".into(), args, sizes: vec![] }
}

pub fn r(x: f64) -> V {
    Value::Real(x)
}
pub fn reals(xs: &[f64]) -> V {
    Value::reals(xs.iter().copied())
}

// ---- tangents as lists of numbers

/// The element whose numbers, in the order of the value's, are `xs`.
pub fn element(like: &V, xs: &mut dyn Iterator<Item = f64>) -> W {
    match like {
        Value::Real(_) | Value::Zero => LinValue::Real(xs.next().expect("as many numbers as the value has")),
        Value::Int(_) | Value::Bool(_) => LinValue::tuple([]),
        Value::Tuple(vs) => LinValue::tuple(vs.iter().map(|v| element(v, xs)).collect::<Vec<_>>()),
        Value::Array(vs) => LinValue::array(vs.iter().map(|v| element(v, xs)).collect::<Vec<_>>()),
        Value::Inject(i, v) => LinValue::Inject(*i, Arc::new(element(v, xs))),
        other => panic!("no tangent at {other:?}"),
    }
}

/// The numbers of an element, zeros spelled out.
pub fn flat(w: &W, like: &V) -> Vec<f64> {
    match (w, like) {
        (LinValue::Zero, _) => vec![0.0; like.numbers().len()],
        (LinValue::Real(x), _) => vec![*x],
        (LinValue::Tuple(ws), Value::Tuple(vs)) | (LinValue::Array(ws), Value::Array(vs)) => {
            assert_eq!(ws.len(), vs.len());
            ws.iter().zip(vs.iter()).flat_map(|(w, v)| flat(w, v)).collect()
        }
        (LinValue::Tuple(ws), Value::Int(_) | Value::Bool(_)) if ws.is_empty() => vec![],
        (LinValue::Inject(i, w), Value::Inject(j, v)) if i == j => flat(w, v),
        other => panic!("{other:?} do not fit"),
    }
}

/// The value with its k-th number moved by h.
fn moved(v: &V, k: &mut usize, h: f64) -> V {
    match v {
        Value::Real(x) => {
            let here = *k == 0;
            *k = k.wrapping_sub(1);
            Value::Real(if here { x + h } else { *x })
        }
        Value::Tuple(vs) => Value::tuple(vs.iter().map(|v| moved(v, k, h)).collect::<Vec<_>>()),
        Value::Array(vs) => Value::array(vs.iter().map(|v| moved(v, k, h)).collect::<Vec<_>>()),
        Value::Inject(i, v) => Value::inject(*i, moved(v, k, h)),
        other => other.clone(),
    }
}

// ---- the checks

/// The matrix of partial derivatives by each mode, rows by outputs.
pub struct Jacobians {
    pub value: V,
    pub forward: Vec<Vec<f64>>,
    pub reverse: Vec<Vec<f64>>,
}

pub fn jacobians(case: &Case) -> Jacobians {
    let mut program = case.program.clone();
    let run_def = |program: &Program, def: &str| {
        run(program, def, &case.args, &case.sizes).unwrap_or_else(|e| panic!("{def}: {e}")).0
    };
    check_program(&program, Language::Both).unwrap_or_else(|e| panic!("the program is not well typed: {e}"));
    let value = run_def(&program, &case.def);
    let mut maps = vec![];
    for mode in [Mode::Forward, Mode::Reverse] {
        let name = derive(&mut program, &case.def.as_str().into(), mode).unwrap_or_else(|e| panic!("{e}"));
        check_program(&program, Language::Target).unwrap_or_else(|e| panic!("{name} is not well typed: {e}"));
        let dual = run_def(&program, &name);
        let parts = dual.as_tuple().expect("a pair");
        assert!(parts[0].same(&value), "{name} changes the value: {:?}, was {value:?}", parts[0]);
        maps.push(parts[1].clone());
    }
    // The source is Core and everything D made of it is Target, by the rules.
    check_program(&case.program, Language::Both).unwrap_or_else(|violation| panic!("{violation}"));
    check_program(&program, Language::Both).unwrap_or_else(|violation| panic!("{violation}"));
    let args = match &case.args[..] {
        [one] => one.clone(),
        many => Value::tuple(many.to_vec()),
    };
    let apply = |map: &V, from: &V, to: &V, xs: Vec<f64>| {
        let w = element(from, &mut xs.into_iter());
        flat(&apply_linear(&program, map, w).unwrap_or_else(|e| panic!("{e}")).0, to)
    };
    let (n, m) = (args.numbers().len(), value.numbers().len());
    let unit = |k: usize, n: usize| (0..n).map(|j| if j == k { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
    let columns: Vec<Vec<f64>> = (0..n).map(|k| apply(&maps[0], &args, &value, unit(k, n))).collect();
    let forward: Vec<Vec<f64>> = (0..m).map(|i| columns.iter().map(|c| c[i]).collect()).collect();
    let reverse: Vec<Vec<f64>> = (0..m).map(|i| apply(&maps[1], &value, &args, unit(i, m))).collect();

    // ⟨w, Jv⟩ = ⟨Jᵗw, v⟩ at vectors that are no basis vectors.
    let v: Vec<f64> = (0..n).map(|k| (1.3 * k as f64 + 0.7).sin()).collect();
    let w: Vec<f64> = (0..m).map(|k| (2.1 * k as f64 + 0.4).cos()).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (jv, jtw) = (apply(&maps[0], &args, &value, v.clone()), apply(&maps[1], &value, &args, w.clone()));
    let (left, right) = (dot(&w, &jv), dot(&jtw, &v));
    assert!(left.close(right), "⟨w, Jv⟩ = {left}, ⟨Jᵗw, v⟩ = {right}");
    Jacobians { value, forward, reverse }
}

/// Both modes agree with each other and with central differences.
pub fn check(case: &Case) -> Jacobians {
    let j = jacobians(case);
    let args = Value::tuple(case.args.clone());
    let h = 1e-5;
    for k in 0..args.numbers().len() {
        let at = |h| {
            let moved = moved(&args, &mut k.clone(), h);
            let args = moved.as_tuple().expect("the arguments").to_vec();
            run(&case.program, &case.def, &args, &case.sizes).unwrap_or_else(|e| panic!("{e}")).0.numbers()
        };
        let (plus, minus) = (at(h), at(-h));
        for i in 0..j.value.numbers().len() {
            let difference = (plus[i] - minus[i]) / (2.0 * h);
            let (f, r) = (j.forward[i][k], j.reverse[i][k]);
            assert!(f.close(r), "∂{i}/∂{k}: forward {f}, reverse {r}");
            assert!(
                (f - difference).abs() <= 1e-6 * (1.0 + f.abs()),
                "∂{i}/∂{k}: derivative {f}, difference {difference}"
            );
        }
    }
    j
}

pub trait Close {
    fn close(self, other: f64) -> bool;
}
impl Close for f64 {
    fn close(self, other: f64) -> bool {
        (self - other).abs() <= 1e-12 * (1.0 + self.abs().max(other.abs()))
    }
}
