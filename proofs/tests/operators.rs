//! The differentiation operators as they are written, against derivatives worked out by hand: text, Core, D by its rules, the evaluator.

use lang::eval::{Value, run};
use typeck::check::{Language, check_program};

/// The numbers of a value in order.
fn flat(v: &Value<f64>) -> Vec<f64> {
    if let Some(x) = v.as_real() {
        vec![x]
    } else if let Some(k) = v.as_int() {
        vec![k as f64]
    } else if let Some(vs) = v.as_tuple().or(v.as_array()) {
        vs.iter().flat_map(flat).collect()
    } else {
        panic!("no numbers in {v:?}")
    }
}

/// The value of an expression after a prelude of definitions is these numbers.
fn expect_with(prelude: &str, expr: &str, numbers: &[f64]) {
    let text = format!("{prelude}def main = {expr}\n");
    let (file, problems) = lang::surface::parser::parse(&text);
    assert!(problems.is_empty(), "{problems:?}\n{text}");
    let checked = typeck::check_file(&file);
    assert!(checked.diagnostics.is_empty(), "{:?}\n{text}", checked.diagnostics);
    let mut program = checked.program;
    for def in program.defs.keys().cloned().collect::<Vec<_>>() {
        ad::resolve(&mut program, &def).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    }
    check_program(&program, Language::Target).unwrap_or_else(|v| panic!("{v}\n{text}"));
    let (v, _) = run::<f64>(&program, "main", &[], &[]).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let got = flat(&v);
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
    assert!(
        got.len() == numbers.len() && got.iter().zip(numbers).all(close),
        "{expr}: {got:?}, not {numbers:?}"
    );
}

fn expect(expr: &str, numbers: &[f64]) {
    expect_with("", expr, numbers);
}

#[test]
fn gradients_and_products() {
    expect("grad (\\x -> x ^ 3) 3.0", &[27.0]);
    expect("value_and_grad (\\x -> x * x) 3.0", &[9.0, 6.0]);
    expect("grad (\\(x, y) -> x * y) (2.0, 5.0)", &[5.0, 2.0]);
    expect("grad (\\x -> dot x x) [1.0, 2.0]", &[2.0, 4.0]);
    expect("grad (\\x -> sum (map (\\t -> t ^ 2) x)) [1.0, 2.0]", &[2.0, 4.0]);
    expect("jvp (\\x -> [x * x, x]) 3.0 2.0", &[12.0, 2.0]);
    expect("vjp (\\x -> [x * x, x]) 3.0 [1.0, 10.0]", &[16.0]);
    expect("jvp' (\\x -> x * x) 3.0 2.0", &[9.0, 12.0]);
    expect("vjp' (\\x -> x * x) 3.0 2.0", &[9.0, 12.0]);
    expect("let p = linearize (\\x -> x * x) 3.0 in p.1 1.0 + p.1 10.0", &[66.0]);
    expect("let p = pullback (\\x -> (x * x, x)) 3.0 in p.1 (1.0, 2.0)", &[8.0]);
    expect("let r = grad (\\p -> p.x * p.y) {x = 2.0, y = 5.0} in (r.x, r.y)", &[5.0, 2.0]);
    expect("grad (\\p -> p.0 * real p.1) (2.0, 3)", &[3.0]);
}

#[test]
fn jacobians() {
    let f = "def f (x : real^2) : real^3 = [x[0] * x[1], x[0], x[1] ^ 2]\n";
    let rows = [5.0, 2.0, 1.0, 0.0, 0.0, 10.0];
    expect_with(f, "jacrev f [2.0, 5.0]", &rows);
    expect_with(f, "jacfwd f [2.0, 5.0]", &rows);
    expect_with(f, "jacobian f [2.0, 5.0]", &rows);
    // One row per output, of the argument's structure.
    let g = "def g (p : (real, real^2)) : (real, real^2) = (p.0 * sum p.1, [p.0, p.1[0]])\n";
    let rows = [7.0, 2.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    expect_with(g, "jacrev g (2.0, [3.0, 4.0])", &rows);
    expect_with(g, "jacfwd g (2.0, [3.0, 4.0])", &rows);
    expect("jacobian (\\x -> transpose x) [[1.0], [2.0]]", &[1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn through_definitions_built_ins_and_loops() {
    let loss = "def loss [n, d] (w : real^d) (xs : [n]real^d) (ys : real^n) : real =
  sum (map2 (\\x y -> softplus (-(y * dot w x))) xs ys) / real n + 0.01 * dot w w
";
    let s = 1.0 / (1.0 + (-2.0f64).exp());
    let expected = |w: f64, x: f64| -x * (1.0 - s) + 0.02 * w;
    expect_with(
        loss,
        "grad (\\w -> loss w [[1.0, 1.0]] [1.0]) [1.0, 1.0]",
        &[expected(1.0, 1.0), expected(1.0, 1.0)],
    );
    expect("grad (\\x -> loop s = x for _ < 3 do s * x) 2.0", &[32.0]);
    expect("grad product [2.0, 3.0, 4.0]", &[12.0, 8.0, 6.0]);
    expect("grad product [0.0, 2.0, 0.0]", &[0.0, 0.0, 0.0]);
    expect("grad maximum [1.0, 3.0, 3.0]", &[0.0, 0.5, 0.5]);
    expect("grad logsumexp [0.0, 0.0]", &[0.5, 0.5]);
    expect("grad norm [3.0, 4.0]", &[0.6, 0.8]);
    expect("grad norm [0.0, 0.0]", &[0.0, 0.0]);
    expect("grad (\\x -> (softmax x)[0]) [0.0, 0.0]", &[0.25, -0.25]);
    expect("grad (\\x -> sum (scan (*) 1.0 x)) [2.0, 3.0]", &[4.0, 2.0]);
    expect("grad (\\x -> fold (\\s t -> s * t) 1.0 x) [2.0, 3.0]", &[3.0, 2.0]);
    expect("grad (\\x -> dot (sort x) [1.0, 10.0]) [5.0, 4.0]", &[10.0, 1.0]);
    expect("grad (\\x -> dot (gather x [1, 1]) [1.0, 10.0]) [5.0, 4.0]", &[0.0, 11.0]);
    expect("grad (\\x -> detach x * x) 3.0", &[3.0]);
    expect("grad (\\x -> sum {x with [1] = x[0] * 2}) [1.0, 2.0]", &[3.0, 0.0]);
    expect("jacrev (\\x -> {x with [1] = 2 * x[1]}) [1.0, 2.0]", &[1.0, 0.0, 0.0, 2.0]);
    expect("grad (\\x -> sum (flatten (outer x x))) [1.0, 2.0]", &[6.0, 6.0]);
    expect("grad (\\m -> sum (m @ [1.0, 2.0])) [[1.0, 1.0], [1.0, 1.0]]", &[1.0, 2.0, 1.0, 2.0]);
    expect("grad (\\x -> (loop (a, b) = (x, 1.0) while a < 10.0 do (a * a, b * 2.0)).0) 2.0", &[32.0]);
    expect("grad (\\x -> if x > 0 then x * x else -x) (-2.0)", &[-1.0]);
    expect("grad (\\x -> let f = \\y -> y * x in f (f x)) 2.0", &[12.0]);
    expect("grad (\\x -> sum (x[1:3] * x[:2])) [1.0, 2.0, 3.0]", &[2.0, 4.0, 2.0]);
}
