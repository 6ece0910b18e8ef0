//! What every stage prints is a program: Core, and what D makes of it, turned back into text, parses, checks and prints the same again.

use lang::core::Program;
use lang::precision::Precision;
use lang::surface::print::{self, Style};
use lang::surface::{File, parser};
use lang::types::Mode;
use typeck::check::{Language, check_program};

/// The program of a text.
#[track_caller]
fn program(text: &str) -> Program {
    let (file, problems) = parser::parse(text);
    assert!(problems.is_empty(), "{text}\n{problems:#?}");
    let c = typeck::check_file(&file);
    assert!(c.diagnostics.is_empty(), "{text}\n{:#?}", c.diagnostics);
    if let Err(v) = check_program(&c.program, Language::Both) {
        panic!("{v}\n{text}");
    }
    c.program
}

/// Prints a program and reads it again.
#[track_caller]
fn there_and_back(p: &Program) -> (String, Program) {
    let file = lang::distill::program(p);
    let text = print::file(&file, Style::default());
    for style in [Style { symbols: true, ..Style::default() }, Style { width: 40, symbols: false }] {
        assert_eq!(parsed(&print::file(&file, style)), file);
    }
    (text.clone(), program(&text))
}

#[track_caller]
fn parsed(text: &str) -> File {
    let (file, problems) = parser::parse(text);
    assert!(problems.is_empty(), "{text}\n{problems:#?}");
    file
}

#[track_caller]
fn same_text(p: &Program) {
    let (text, again) = there_and_back(p);
    let (second, _) = there_and_back(&again);
    assert_eq!(text, second);
}

/// Core, and both derivatives of every definition.
fn distills(text: &str) {
    lang::big_stack::run(|| every_stage(text))
}

fn every_stage(text: &str) {
    let p = program(text);
    same_text(&p);
    let names: Vec<_> = p.defs.keys().cloned().collect();
    for mode in [Mode::Forward, Mode::Reverse] {
        let mut p = p.clone();
        for name in &names {
            ad::resolve(&mut p, name).unwrap_or_else(|e| panic!("{text}\n{e:?}"));
            match ad::derive(&mut p, name, mode) {
                // A reverse derivative is not derived once more.
                Ok(_) | Err(ad::AdError { reason: ad::Reason::NestedDerivative, .. }) => {}
                Err(e) => panic!("{text}\n{e:?}"),
            }
        }
        same_text(&p);
        normal_forms(&p);
    }
}

/// The normal form of every entry point, also simplified.
fn normal_forms(p: &Program) {
    for def in p.defs.values() {
        // What stays higher-order has none.
        let Ok(normal) = opt::normal_form(def, p, &proofs::engines::derive, Precision::Double) else {
            continue;
        };
        let simplified = opt::simplify::simplify(&normal, &Default::default());
        for form in [normal, simplified] {
            there_and_back(&form.program());
        }
    }
}

#[test]
fn scalars() {
    distills("def sq (x : real) : real = x * x\n");
    distills(
        "def f (x : real) (y : real) : real = let a = x / y in if a < 1.0 && not (y == 0.0) then exp a else a ^ 3 + 2.0 ^ y\n",
    );
    distills("def f (x : real) (k : int) : real = x ^ k * real (k + 2) - real 3 + (-2.5)\n");
    distills("def f (k : int) : int = if 1 < 2 then div k 3 + mod k (k + 1) else abs (3 - 7)\n");
    distills("def f (t : (real, (int, real))) : (real, int) = (t.0 * t.1.1, t.1.0)\n");
    distills("def f (r : {x : real}) : {x : real} = {x = r.x * 2.0}\n");
    distills("def f (x : real) : real = sin x * cos x + atan2 x 2.0 + max x 0.5 + sqrt (log1p x)\n");
}

#[test]
fn arrays() {
    distills("def dot [n] (x : real^n) (y : real^n) : real = sum (map2 (*) x y)\n");
    distills(
        "def f [n, m] (a : real^(n, m)) (x : real^m) : real^n = [ sum [ a[i, j] * x[j] | j < m ] | i < n ]\n",
    );
    distills("def f [n] (x : real^n) : real^(n + 1) = [ if i < n then x[i] else 0.0 | i < n + 1 ]\n");
    distills("def f [n] (x : real^n) : real = maximum x - minimum (exp x) + x[0]\n");
    distills("def f (x : real) : real = sum [x, 2.0, x * x]\n");
    distills("def f [n] (x : real^n) (is : [n]int) : real^n = gather x is\n");
    distills("def f [n] (x : real^n) : real^n = [ x[k] | k < n ] |> \\y -> y * 2.0\n");
}

#[test]
fn loops() {
    distills("def f (x : real) (n : int) : real = loop s = x for i < n do s * s + real i\n");
    distills("def f (x : real) (n : int) : (real, int) = loop (s, k) = (x, 0) for i < n do (s * x, k + 1)\n");
    distills("def f [n] (x : real^n) : real^n = scan (\\a b -> a * b) 1.0 x\n");
    distills("def f [n] (w : real^n) (k : int) : real^n = loop v = w for _ < k do v - 0.1 * v\n");
}

#[test]
fn functions() {
    distills("def f (x : real) : real = let g = \\y -> x * y in g (g x)\n");
    distills(
        "def twice (g : real -> real) (x : real) : real = g (g x)\ndef f (x : real) : real = twice (\\y -> y * x) x\n",
    );
    distills("def f (x : real) : (real -> real -> real) = \\y z -> x * y * z\n");
}

const SHAPES: &str = "type shape = Circle real | Rect (real, real) | Point
def area (s : shape) : real = match s with | Circle r -> 3.0 * r ^ 2 | Rect (a, b) -> a * b | Point -> 0.0
def made (x : real) (k : int) : shape =
  if k == 0 then Circle x else if k == 1 then Rect (x, x * x) else Point
";

/// Sums are printed without their names: `sum[τ, …]`, `inject[sum[τ, …]] k e`, `In0 x`.
#[test]
fn sums() {
    distills(&format!("{SHAPES}def f (x : real) : real = area (made x 1) + area (made (x * x) 0)\n"));
    distills(
        "type option ['a] = None | Some 'a\ndef get ['a] (o : option['a]) (x : 'a) : 'a = match o with | None -> x | Some y -> y\n",
    );
    distills(
        "type tree [n] = Leaf | Node (real^n, int)\ndef f [n] (t : tree[n]) : real = match t with | Leaf -> 0.0 | Node (x, k) -> sum x * real k\n",
    );
    distills(&format!("{SHAPES}def f [n] (s : [n]shape) : [n]real = map area s\n"));
}

/// A printed program with recursion says so, and mutual recursion stands together.
#[test]
fn recursion() {
    distills("def rec power (x : real) (k : int) : real = if k == 0 then 1.0 else x * power x (k - 1)\n");
    distills(
        "def rec even (k : int) : bool = if k == 0 then true else odd (k - 1)\nand odd (k : int) : bool = if k == 0 then false else even (k - 1)\ndef f (k : int) : real = if even k then 1.0 else 0.0\n",
    );
}

/// A function with a name is differentiated like the λ it is.
#[test]
fn functions_with_names_under_operators() {
    distills("def f (k : int) : real = let g = \\y -> y * real k in jacfwd g 2.0 + grad g 3.0\n");
}

#[test]
fn the_logistic_loss() {
    distills(
        "def loss [n, d] (w : real^d) (xs : [n]real^d) (ys : real^n) : real =
  sum (map2 (\\x y -> softplus (-(y * dot w x))) xs ys) / real n + 0.01 * dot w w

def fit [n, d] (w0 : real^d) (xs : [n]real^d) (ys : real^n) (rate : real) (steps : int) : real^d =
  loop w = w0 for _ < steps do
    w - rate * grad (\\w -> loss w xs ys) w
",
    );
}

#[test]
fn built_ins() {
    for body in [
        "product x + logsumexp x + norm x",
        "x[argmax x] + x[argmin (softmax x)]",
        "sum (matvec (outer x x) x) + sum (x @ transpose (outer x x))",
        "sum (reduce max 0.0 x * reverse (take n x))",
        "sum (concat x [1.0, 2.0]) + sum (drop 1 x) + sum (rotate 2 x)",
        "sum (scan (+) 0.0 x) + reduce (\\a b -> a * b) 1.0 x",
        "(loop (s, k) = (x[0], 0) while k < 3 && s < 9.0 do (s * s + 1.0, k + 1)).0",
        "sum {x with [1] = 2.0} + sum x[1:n]",
        "let (a, b) = (x[0], x[1]) in where (a < b) a b + real (length x)",
        "sum (x * uniform 3 n) + sum ((x as [3]real) ^ 2)",
        "let r = {re = x[0], im = x[1]} in ({r with re = 2.0}).re * r.im",
        "sum (zip x x |> map (\\p -> p.0 * p.1)) + (unzip (zip x x)).0[0]",
    ] {
        distills(&format!("def f [n] (x : real^n) : real = {body}\n"));
    }
    distills("def twice ['a, n] (f : 'a -> 'a) (xs : [n]'a) : [n]'a = map f (map f xs)\n");
    distills(
        "type vec ['a, n] = [n]'a\ndef f [n] (x : vec[real, n]) : {a : int, b : vec[real, n]} = {b = x, a = n}\n",
    );
    distills(
        "def rows [n, m] (x : real^(n, m)) : [n]real = [ sum [ x[i, j] * real (i - j) | j < m ] | i < n ]\n",
    );
    distills("def f (n : int) : [n][n + 1]int = [ i * j - n | i < n, j < n + 1 ]\n");
}

/// Differentiation operators are written as the operator they are made of.
#[test]
fn derivatives_in_programs() {
    for e in [
        "grad (\\x -> x * x) 3.0",
        "jvp (\\x -> x * x) 3.0 1.0",
        "vjp (\\x -> (x, x)) 3.0 (1.0, 2.0)",
        "(linearize (\\x -> x * x) 3.0).1 1.0",
        "detach 2.0",
    ] {
        same_text(&program(&format!("def f : real = {e}\n")));
    }
}

/// No name of a variable hides another, a built-in, or is a reserved word.
#[test]
fn names() {
    distills("def f (x : real) : real = let x = x * x in let x = x + x in (\\x -> x + x) x\n");
    distills(
        "def g (x : real) : real = x\ndef f (g1 : real) : real = let sum1 = g1 in sum [ g sum1 + real i | i < 3 ]\n",
    );
}
