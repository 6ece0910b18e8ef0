//! Programs as text, simplified: typed, equal to the evaluator on D's literal output once emitted as loops (before and after the loop
//! passes), and no dearer than without simplification.

mod common;

use common::derive;
use lang::core::{Def, Program};
use lang::eval::Value;
use lang::loops::eval::Data;
use lang::precision::Precision;

fn program(text: &str) -> Program {
    let (file, problems) = lang::surface::parser::parse(text);
    assert!(problems.is_empty(), "{problems:?}");
    let checked = typeck::check_file(&file);
    assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
    checked.program
}

fn leaves(v: &Value<f64>, out: &mut Vec<f64>) {
    match v {
        Value::Tuple(vs) => vs.iter().for_each(|v| leaves(v, out)),
        Value::Array(vs) => vs.iter().for_each(|v| leaves(v, out)),
        Value::Bool(b) => out.push(*b as i64 as f64),
        other => out.push(other.as_real().or(other.as_int().map(|k| k as f64)).expect("data")),
    }
}

/// Every definition without parameters whose name starts with `main`.
fn check(text: &str) {
    lang::big_stack::run(|| {
        let program = program(text);
        let mut resolved = program.clone();
        for name in program.defs.keys() {
            ad::resolve(&mut resolved, name).unwrap();
        }
        let mains: Vec<&Def> =
            program.defs.values().map(|d| &**d).filter(|d| d.name.starts_with("main")).collect();
        assert!(!mains.is_empty());
        for def in mains {
            let normal = match opt::normal_form(def, &program, &derive, Precision::Double) {
                Ok(d) => d,
                Err(e) => panic!("{}: {e:?}", def.name),
            };
            let simple = opt::simplify(&normal, &Default::default());
            typeck::check::check_program(&simple.program(), typeck::check::Language::Target)
                .unwrap_or_else(|e| panic!("{e}\n{:#?}", simple.entry.body));
            let mut costs = vec![];
            for normal in [normal, simple] {
                let mut proc = opt::emit(&normal).unwrap();
                let show = lang::loops::text::print(&proc);
                if std::env::var("SHOW").is_ok() {
                    println!("{show}");
                }
                lang::loops::verify::verify(&proc).unwrap_or_else(|e| panic!("{e}\n{show}"));
                let (expected, _) = lang::eval::run::<f64>(&resolved, &def.name, &[], &[]).unwrap();
                let mut want = vec![];
                leaves(&expected, &mut want);
                for round in 0..2 {
                    if round == 1 {
                        opt::passes::optimise(&mut proc, &Default::default()).unwrap();
                        if std::env::var("SHOW").is_ok() {
                            println!("{}", lang::loops::text::print(&proc));
                        }
                    }
                    let out = lang::loops::eval::run(&proc, &[]).unwrap_or_else(|e| panic!("{e:?}\n{show}"));
                    // Arrays of tuples come apart: compare as multisets per leaf only when the order differs.
                    let mut got: Vec<f64> = vec![];
                    for a in &out.outs {
                        match &a.data {
                            Data::Real(v) => got.extend(v),
                            Data::Int(v) => got.extend(v.iter().map(|k| *k as f64)),
                            Data::Bool(v) => got.extend(v.iter().map(|b| *b as i64 as f64)),
                        }
                    }
                    costs.push(out.cost);
                    assert_eq!(got.len(), want.len(), "{}", def.name);
                    for (g, w) in got.iter().zip(&want) {
                        let close =
                            (g - w).abs() <= 1e-12 * w.abs().max(1.0) || (g.is_nan() && w.is_nan()) || g == w;
                        assert!(close, "{} round {round}: {got:?} should be {want:?}\n{show}", def.name);
                    }
                }
            }
            if std::env::var("SHOW").is_ok() {
                println!("{}: {costs:?}", def.name);
            }
            // No program is dearer as it is emitted; the loop passes may then find a little less in one form than in the other.
            assert!(costs[2] <= costs[0] && costs[3] * 20 <= costs[1] * 21, "{}: {costs:?}", def.name);
        }
    });
}

const LOSS: &str = "
def loss [n, d] (w : real^d) (xs : [n]real^d) (ys : real^n) : real =
  sum (map2 (\\x y -> softplus (-(y * dot w x))) xs ys) / real n + 0.01 * dot w w

def data : [4]real^3 = [[1.0, 0.5, -0.3], [0.2, -1.0, 0.7], [-0.4, 0.3, 0.9], [0.6, 0.1, -0.8]]
def labels : real^4 = [1.0, -1.0, 1.0, -1.0]
";

#[test]
fn logistic() {
    check(&format!(
        "{LOSS}
def main1 : real = loss [0.1, -0.2, 0.3] data labels
def main2 : real^3 = grad (\\w -> loss w data labels) [0.1, -0.2, 0.3]
def main3 : (real, real^3) = value_and_grad (\\w -> loss w data labels) [0.1, -0.2, 0.3]
def main4 : real = jvp (\\w -> loss w data labels) [0.1, -0.2, 0.3] [1.0, 2.0, -1.0]
def fit [n, d] (w0 : real^d) (xs : [n]real^d) (ys : real^n) (rate : real) (steps : int) : real^d =
  loop w = w0 for _ < steps do
    w - rate * grad (\\w -> loss w xs ys) w
def main5 : real^3 = fit [0.0, 0.0, 0.0] data labels 0.5 10
"
    ));
}

#[test]
fn scalars() {
    check(
        "
def f (x : real) (y : real) : real = let z = sin (x * y) in if z > 0.1 then exp z * x else z / (1.0 + y ^ 2)
def main1 : (real, real) = grad (\\(x, y) -> f x y) (0.7, 0.9)
def main2 : (real, real) = grad (\\(x, y) -> f x y) (0.7, -0.9)
def main3 : real = jvp (\\(x, y) -> f x y) (0.7, 0.9) (1.0, 0.5)
def main4 : real = grad (\\x -> x ^ 3) 3.0
def main5 : (real, real) = grad (\\(x, y) -> max (x * y) (x + y) + abs (x - y) + min x y) (0.7, 0.9)
def twice (f : real -> real) (x : real) : real = f (f x)
def main6 : real = grad (\\x -> twice (\\y -> y * y + x) x) 1.5
def main7 : real = grad (\\x -> let g = if x > 1.0 then \\y -> y * x else \\y -> y + x in g x + g 2.0) 1.5
def main8 : real = grad (\\x -> let g = if x > 1.0 then (let a = exp x in \\y -> y * a) else \\y -> y + x in g x + g 2.0) 0.5
",
    );
}

#[test]
fn loops() {
    check(
        "
def power (x : real) (n : int) : real = loop a = 1.0 for _ < n do a * x
def main1 : real = grad (\\x -> power x 5) 1.3
def main2 : real = jvp (\\x -> power x 5) 1.3 1.0
def main3 : real^3 = grad (\\w -> sum (loop s = w for i < 4 do s * w + [ s[2 - j] | j < 3 ])) [0.5, 0.7, -0.2]
def main4 : real^3 = jvp (\\w -> loop s = w for i < 4 do s * w + [ s[2 - j] | j < 3 ]) [0.5, 0.7, -0.2] [1.0, 0.0, 2.0]
def main5 : real^4 = scan (\\a b -> a * b) 1.0 [1.0, 2.0, 3.0, 4.0]
def main6 : real^4 = grad (\\xs -> sum (scan (\\a b -> a * b + a) 1.0 xs)) [1.0, 2.0, 3.0, 4.0]
def main7 : real^4 = grad (\\xs -> product xs) [1.0, 0.0, 3.0, 0.0]
def main8 : (real, real^3) = grad (\\(a, w) -> let (s, t) = loop (s, t) = (a, w) for i < 3 do (s * a + t[i], w * s) in s + sum t) (0.9, [0.5, 0.7, -0.2])
def main9 : real^3 = grad (\\w -> loop s = 0.0 for i < 5 do if s > 1.0 then s * w[1] else s + exp w[0] * w[2]) [0.5, 0.7, 0.2]
",
    );
}

#[test]
fn arrays() {
    check(
        "
def softmax3 [n] (x : real^n) : real^n = let m = maximum x in let e = map (\\a -> exp (a - m)) x in let s = sum e in map (\\a -> a / s) e
def main1 : real^3 = grad (\\x -> (softmax3 x)[1]) [0.1, 0.5, -0.3]
def main2 : real^3 = grad (\\x -> logsumexp x) [0.1, 0.5, -0.3]
def main3 : real^3 = grad (\\x -> maximum x + 2.0 * minimum x) [0.5, 0.5, -0.3]
def main4 : real^(2,3) = grad (\\m -> sum (matvec m [1.0, 2.0, 3.0] * [3.0, -1.0])) [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
def main5 : real^(2,3) = grad (\\m -> sum (map (\\r -> dot r r) (matmul m (transpose m)))) [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
def main6 : real^4 = grad (\\x -> sum (gather x [0, 0, 3, 1] * [1.0, 2.0, 3.0, 4.0])) [0.1, 0.5, -0.3, 0.9]
def main7 : real^4 = grad (\\x -> sum (concat (take 2 x) (reverse x) * concat x [5.0, 7.0])) [0.1, 0.5, -0.3, 0.9]
def main8 : real = sum (normal 3 10) + sum (uniform 4 10)
def main9 : ([4]int, int, int) = (permutation 7 4, argmax [1.0, 3.0, 2.0], argmin [1.0, 3.0, 2.0])
def mainA : real^3 = grad (\\x -> sum [ sum [ exp (x[i] * x[j]) | j < 3 ] ^ 2 | i < 3 ]) [0.1, 0.5, -0.3]
def mainB : real^3 = vjp (\\x -> map (\\a -> a * sum x) x) [0.1, 0.5, -0.3] [1.0, 2.0, 3.0]
def mainC : real^3 = jvp (\\x -> map (\\a -> a * sum x) x) [0.1, 0.5, -0.3] [1.0, 2.0, 3.0]
def mainD : real^3 = grad (\\x -> sum (map (\\a -> if a > 0.2 then a * a else sqrt (a + 1.0)) x)) [0.1, 0.5, -0.3]
def mainE : real^3 = grad (\\x -> let (a, b) = unzip (map (\\t -> (t * t, sin t)) x) in dot a b) [0.1, 0.5, -0.3]
",
    );
}

/// Residuals whose size belongs to the iteration are made again, not kept.
#[test]
fn triangular_loops() {
    check(
        "
def f (x : real) : real = loop z = x for j < 3 do loop s = z for k < j do s * z
def main1 : real = grad f 0.9
def main2 : real = jvp f 0.9 1.0
def main3 : real = grad (\\x -> sum [ sum [ loop s = x for k < j do s * x | j < i ] | i < 4 ]) 0.7
",
    );
}

/// A derivative reads and writes within bounds also where the value that was checked is not needed.
#[test]
fn derivatives_out_of_range() {
    lang::big_stack::run(|| {
        let text = "
def a (xs : real^3) (i : int) : real = xs[i]
def g (xs : real^3) (i : int) : real^3 = grad (\\xs -> a xs i) xs
def t (xs : real^3) (i : int) : real = jvp (\\xs -> a xs i) xs xs
";
        let program = program(text);
        for name in ["g", "t"] {
            let normal = opt::normal_form(&program.defs[name], &program, &derive, Precision::Double).unwrap();
            let mut proc = opt::emit(&normal).unwrap();
            opt::passes::optimise(&mut proc, &Default::default()).unwrap();
            use lang::loops::eval::{Arg, Array, Stop, run};
            let args =
                |i| [Arg::Array(Array::reals([3], [1.0, 2.0, 3.0])), Arg::Scalar(lang::core::Lit::Int(i))];
            assert!(run(&proc, &args(2)).is_ok());
            for i in [3, -1, 100_000_000] {
                assert!(matches!(run(&proc, &args(i)), Err(Stop::Failed { .. })), "{name} at {i}");
            }
        }
    });
}
