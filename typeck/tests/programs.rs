//! Programs to Core, checked by the checker and run by the evaluator.

mod common;
use common::{checked, expect, flat, program, value};
use lang::core::Term;

#[test]
fn the_first_programs() {
    program("def sq (x : real) : real = x * x\n");
    program("def dot [n] (x : real^n) (y : real^n) : real = sum (map2 (*) x y)\n");
    program(
        "def loss [n, d] (w : real^d) (xs : [n]real^d) (ys : real^n) : real =
  sum (map2 (\\x y -> softplus (-(y * dot w x))) xs ys) / real n + 0.01 * dot w w

def fit [n, d] (w0 : real^d) (xs : [n]real^d) (ys : real^n) (rate : real) (steps : int) : real^d =
  loop w = w0 for _ < steps do
    w - rate * grad (\\w -> loss w xs ys) w
",
    );
}

#[test]
fn sum_of_a_map_is_a_sum() {
    let p = program("def dot [n] (x : real^n) (y : real^n) : real = sum (map2 (*) x y)\n");
    assert!(matches!(*p.defs["dot"].body, Term::Sum { .. }), "{:#?}", p.defs["dot"].body);
}

#[test]
fn scalars() {
    expect("1 + 2", &[3.0]);
    expect("2 ^ 10", &[1024.0]);
    expect("2 ^ -1", &[0.5]);
    expect("2.0 ^ 0.5", &[2f64.sqrt()]);
    expect("-3 ^ 2", &[-9.0]);
    expect("if 1 < 2 && not (2 <= 1) then 1 else 2", &[1.0]);
    expect("(3.0 > 2.0, 2 >= 3, 1 == 1, 1.5 != 1.5)", &[1.0, 0.0, 1.0, 0.0]);
    expect("(div 7 2, mod (-7) 2, floor_int 2.5)", &[3.0, 1.0, 2.0]);
    expect("let (a, b) = (1.0, 2.0) in a - b", &[-1.0]);
    expect("let f = \\x y -> x * y in f 2.0 3.0", &[6.0]);
    expect("(1.0, (2.0, 3.0)).1.0", &[2.0]);
    expect("3.0 |> \\x -> x * x", &[9.0]);
    expect("((\\x -> x + 1.0) >> (\\x -> x * 2.0)) 3.0", &[8.0]);
    expect("(+) 1.0 2.0", &[3.0]);
    expect("max 1.0 2.0 + min 3 4", &[5.0]);
    expect("where true 1.0 2.0", &[1.0]);
}

#[test]
fn lifting() {
    expect("[1.0, 2.0] + [10.0, 20.0]", &[11.0, 22.0]);
    expect("2 * [1.0, 2.0]", &[2.0, 4.0]);
    expect("[1, 2, 3] - 1", &[0.0, 1.0, 2.0]);
    expect("-[[1.0], [2.0]]", &[-1.0, -2.0]);
    expect("exp [0.0, 0.0] * 2 + 1", &[3.0, 3.0]);
    expect("[1.0, 5.0] < 2", &[1.0, 0.0]);
    expect("[1.0, 2.0] ^ 2", &[1.0, 4.0]);
    expect("let m = [[1.0, 2.0], [3.0, 4.0]] in m * m - 1 / m", &[0.0, 3.5, 9.0 - 1.0 / 3.0, 15.75]);
    expect("real [1, 2]", &[1.0, 2.0]);
    expect("max 0.0 [1.0, -1.0]", &[1.0, 0.0]);
}

#[test]
fn arrays() {
    expect("[ real i * 2 | i < 3 ]", &[0.0, 2.0, 4.0]);
    expect("[ i * 10 + j | i < 2, j < 2 ]", &[0.0, 1.0, 10.0, 11.0]);
    expect("let a = [1.0, 2.0] in [ a[i] * a[i] | i ]", &[1.0, 4.0]);
    expect("[[1.0, 2.0], [3.0, 4.0]][1, 0]", &[3.0]);
    expect("[1, 2, 3, 4][1:3]", &[2.0, 3.0]);
    expect("let a = [1, 2, 3, 4] in a[:2]", &[1.0, 2.0]);
    expect("{[1, 2, 3] with [1] = 7}", &[1.0, 7.0, 3.0]);
    expect("{[[1, 2], [3, 4]] with [1, 0] = 9}", &[1.0, 2.0, 9.0, 4.0]);
    expect("let [a, b] = [3.0, 4.0] in a * b", &[12.0]);
    expect("[1.0, 2.0] == [1.0, 2.0]", &[1.0]);
    expect("([1.0, 2.0], 1) != ([1.0, 2.0], 2)", &[1.0]);
}

#[test]
fn loops() {
    expect("loop s = 0 for i < 5 do s + i", &[10.0]);
    expect("loop (a, b) = (0, 1) for _ < 10 do (b, a + b)", &[55.0, 89.0]);
    expect("loop s = 1.0 for i < 3 collect (s * 2.0, s)", &[8.0, 1.0, 2.0, 4.0]);
    expect("loop x = 1.0 while x < 100.0 do x * 3.0", &[243.0]);
    expect("loop (a, b) = (1, 1) while a < 50 do (a + b, a)", &[55.0, 34.0]);
    expect("(\\(k : int) -> loop s = 1.0 for _ < k do s * 2.0) (-3)", &[1.0]);
}

#[test]
fn built_ins() {
    expect("map2 (\\x y -> x - y) [3.0, 4.0] [1.0, 1.0]", &[2.0, 3.0]);
    expect("map3 (\\x y z -> x * y + z) [1.0] [2.0] [3.0]", &[5.0]);
    expect("zip [1, 2] [3.0, 4.0]", &[1.0, 3.0, 2.0, 4.0]);
    expect("unzip [(1, 2.0), (3, 4.0)]", &[1.0, 3.0, 2.0, 4.0]);
    expect("build 3 (\\i -> i * i)", &[0.0, 1.0, 4.0]);
    expect("replicate 2 [1.0, 2.0]", &[1.0, 2.0, 1.0, 2.0]);
    expect("iota 3", &[0.0, 1.0, 2.0]);
    expect("length [1.0, 2.0, 3.0]", &[3.0]);
    expect("gather [5.0, 6.0, 7.0] [2, 0]", &[7.0, 5.0]);
    expect("concat [1, 2] [3]", &[1.0, 2.0, 3.0]);
    expect("take 2 [1, 2, 3]", &[1.0, 2.0]);
    expect("drop 1 [1, 2, 3]", &[2.0, 3.0]);
    expect("reverse [1, 2, 3]", &[3.0, 2.0, 1.0]);
    expect("rotate 1 [1, 2, 3]", &[2.0, 3.0, 1.0]);
    expect("transpose [[1, 2, 3], [4, 5, 6]]", &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    expect("flatten [[1, 2], [3, 4]]", &[1.0, 2.0, 3.0, 4.0]);
    expect("unflatten 2 2 [1, 2, 3, 4]", &[1.0, 2.0, 3.0, 4.0]);
    expect("outer [1.0, 2.0] [3.0, 4.0]", &[3.0, 4.0, 6.0, 8.0]);
    expect("argsort [3.0, 1.0, 2.0]", &[1.0, 2.0, 0.0]);
    expect("sort [3.0, 1.0, 2.0]", &[1.0, 2.0, 3.0]);
    expect("detach 2.0", &[2.0]);
    expect("sum [1.0, 2.0]", &[3.0]);
    expect("sum [1, 2]", &[3.0]);
    expect("sum [ i | i < 4 ]", &[6.0]);
    expect("sum [[1.0, 2.0], [3.0, 4.0]]", &[4.0, 6.0]);
    expect("product [2.0, 3.0]", &[6.0]);
    expect("maximum [1.0, 3.0, 2.0]", &[3.0]);
    expect("minimum [4, 3, 5]", &[3.0]);
    expect("maximum []", &[f64::NEG_INFINITY]);
    expect("argmax [1.0, 3.0, 3.0]", &[1.0]);
    expect("argmin [1, 0, 3]", &[1.0]);
    expect("reduce (+) 1.0 [2.0, 3.0]", &[6.0]);
    expect("reduce max 0.0 [2.0, 3.0]", &[3.0]);
    expect("reduce (map2 (+)) [0.0, 0.0] [[1.0, 2.0], [3.0, 4.0]]", &[4.0, 6.0]);
    expect("fold (\\s x -> s * 10 + x) 0 [1, 2, 3]", &[123.0]);
    expect("scan (+) 0 [1, 2, 3]", &[1.0, 3.0, 6.0]);
    expect("any [false, true]", &[1.0]);
    expect("all [false, true]", &[0.0]);
    expect("dot [1.0, 2.0] [3.0, 4.0]", &[11.0]);
    expect("matvec [[1.0, 2.0], [3.0, 4.0]] [1.0, 1.0]", &[3.0, 7.0]);
    expect("vecmat [1.0, 1.0] [[1.0, 2.0], [3.0, 4.0]]", &[4.0, 6.0]);
    expect("matmul [[1.0, 2.0], [3.0, 4.0]] [[1.0, 0.0], [1.0, 1.0]]", &[3.0, 2.0, 7.0, 4.0]);
    expect("norm [3.0, 4.0]", &[5.0]);
    expect("norm [0.0]", &[0.0]);
    expect("logsumexp [1000.0, 1000.0]", &[1000.0 + 2f64.ln()]);
    expect("logsumexp []", &[f64::NEG_INFINITY]);
    expect("softmax [0.0, 0.0]", &[0.5, 0.5]);
    expect("[1.0, 2.0] @ [3.0, 4.0]", &[11.0]);
    expect("[[1.0, 2.0], [3.0, 4.0]] @ [1.0, 1.0]", &[3.0, 7.0]);
    expect("[1.0, 1.0] @ [[1.0, 2.0], [3.0, 4.0]]", &[4.0, 6.0]);
    expect("[[1.0, 2.0], [3.0, 4.0]] @ [[1.0, 0.0], [1.0, 1.0]]", &[3.0, 2.0, 7.0, 4.0]);
}

/// Every built-in that is written in `.ad` elaborates, and its definition passes the checker.
#[test]
fn every_built_in_is_available() {
    for row in typeck::builtin::ALL.iter() {
        if let typeck::builtin::Body::Text(_) = row.body {
            let def = typeck::builtin::template(row).unwrap_or_else(|why| panic!("{}: {why}", row.name));
            let checked = typeck::check::check_def(def, &Default::default(), typeck::check::Language::Core);
            checked.unwrap_or_else(|v| panic!("{}: {v}", row.name));
        }
    }
}

#[test]
fn random_numbers() {
    let p = flat(&value("def main = permutation 7 100\n"));
    let mut sorted = p.clone();
    sorted.sort_by(f64::total_cmp);
    assert_eq!(sorted, (0..100).map(f64::from).collect::<Vec<_>>());
    assert_ne!(sorted, p);
    let u = flat(&value("def main = uniform 1 50\n"));
    assert!(u.len() == 50 && u.iter().all(|x| (0.0..1.0).contains(x)));
    assert_eq!(flat(&value("def main = normal 1 50\n")).len(), 50);
}

#[test]
fn sizes() {
    program(
        "def f [n] (x : real^(n + 1)) : real^n = [ x[i + 1] - x[i] | i < n ]\ndef main = f [1.0, 4.0, 9.0]\n",
    );
    program("def f [n, m] (x : real^n) (y : real^m) : real^(n + m) = concat x y\n");
    program("def f [n, m] (x : real^(n, m)) : real^(n * m) = flatten x\n");
    program("def f (k : int) : real^k = [ 1.0 | i < k ]\ndef main = sum (f 3)\n");
    program("def f [n] (x : real^n) : real^(2 * n) = let m = n + n in [ x[mod i n] | i < m ]\n");
    program("def f (x : real) : real = let m = floor_int x in sum [ x | i < m ]\n");
    program("def f (x : real) : real = sum (map exp (replicate (floor_int x) x))\n");
    program(
        "def f [n] (x : real^n) : real = let y = (let k = floor_int x[0] in [ x[i] | i < k ]) in sum y\n",
    );
    program("def f (x : real^3) : real^3 = x + [1.0, 2.0, 3.0]\n");
    program("def f [n] (x : real^n) : real^3 = x as real^3\n");
    let f = "def f [n] (x : real^(n + 1)) : int = n\ndef main = f [1.0]\n";
    assert_eq!(flat(&value(f)), [0.0]);
}

#[test]
fn inference() {
    program("def f (x : real) = x * x\ndef g (x : real) = f x + 1\n");
    program("def g (x : real) = f x + 1\ndef f (x : real) = x * x\n");
    program("def rec fac (n : int) : int = if n <= 1 then 1 else n * fac (n - 1)\ndef main = fac 5\n");
    program(
        "def rec even (n : int) : bool = n == 0 || odd (n - 1) and odd (n : int) : bool = not (n == 0) && even (n - 1)\n",
    );
    program(
        "def f ['a, 'b] (g : 'a -> 'b) (x : 'a) : 'b = g x\ndef main = (f exp 1.0, f (\\k -> k + 1) 2)\n",
    );
    program("def f (p : (real, (int, bool))) : int = p.1.0\n");
    program("def f (x : real) = (\\p -> p.0 + p.1) (x, x)\n");
    program(
        "type point = {x : real, y : real}\ndef f (p : point) : real = p.x * p.y\ndef main = f {y = 2.0, x = 3.0}\n",
    );
    program("type mat ['a, n] = [n][n]'a\ndef tr [n] (m : mat[real, n]) : real = sum [ m[i, i] | i ]\n");
    program("def f (p : {x : real, y : real}) = {p with x = 1.0}\n");
    program("def f (x : real) : real -> real = \\y -> x + y\n");
    program("def f [n] (x : real^n) : real = sum (map2 (\\a b -> (a - b) ^ 2) x (reverse x))\n");
    program("def f (x : real^3) : real = let g = map (\\t -> t * 2) in sum (g x)\n");
}

#[test]
fn records_are_tuples_by_name() {
    let c = "def main = let r = {b = 1.0, a = 2.0} in ({r with b = 5.0}, r.a)\n";
    assert_eq!(flat(&value(c)), [2.0, 5.0, 2.0]);
}

#[test]
fn differentiation() {
    program("def f (x : real) : real = grad (\\x -> x ^ 3) x\n");
    program("def f [n] (x : real^n) : (real, real^n) = value_and_grad (\\x -> dot x x) x\n");
    program("def f (x : (real, real^2)) : (real, real^2) = grad (\\p -> p.0 * sum p.1) x\n");
    program("def f [n] (x : real^n) (v : real^n) : real^n = jvp (map exp) x v\n");
    program("def f [n] (x : real^n) (v : real^n) = (jvp' exp x v, vjp' exp x v)\n");
    program("def f [n] (x : real^n) : real^(n, n) = jacrev exp x\n");
    program("def f [n] (x : real^n) : real^(n, n) = jacfwd exp x\n");
    program("def f [n] (x : real^n) : real^(n, n) = hessian (\\x -> product x) x\n");
    program("def f [n] (x : real^n) (v : real^n) : real^n = hvp product x v\n");
    program("def f (x : (real, int)) : (real, ()) = grad (\\(x, k) -> x * real k) x\n");
    program("def f [n] (x : real^n) : (real^n, real^n -o real^n) = linearize exp x\n");
    program("def f [n] (x : real^n) (v : real^n) : real^n = (linearize exp x).1 v\n");
    program("def f (x : real) : real = grad (\\x -> x * grad (\\y -> x * y) 2.0) x\n");
    program("def f (p : {x : real, y : real}) : {x : real, y : real} = grad (\\q -> q.x * q.y) p\n");
}

#[test]
fn inputs_are_parameters_of_what_uses_them() {
    let c = checked(
        "input table [n] : [n]real^2 = \"t.csv\"\ndef col = [ table[i, 0] | i ]\ndef main = sum col\ndef other = 1.0\ntest t = sum col ~= 3.0\n",
    );
    assert!(c.diagnostics.is_empty(), "{:?}", c.diagnostics);
    assert_eq!(c.signatures.defs["main"].inputs, ["table"]);
    assert!(c.signatures.defs["other"].inputs.is_empty());
    assert_eq!(c.program.defs["main"].params.len(), 1);
    assert_eq!(c.program.defs["main"].sizes.len(), 1);
    assert_eq!(c.inputs[0].file.as_deref(), Some("t.csv"));
    assert_eq!(c.tests[0].def.params.len(), 1);
    typeck::check::check_program(&c.program, typeck::check::Language::Core).unwrap_or_else(|v| panic!("{v}"));
}

#[test]
fn tests_are_pairs() {
    let c = checked("test cube = (\\x -> x ^ 3) 3.0 ~= 27.0 within 1e-6\n");
    assert!(c.diagnostics.is_empty(), "{:?}", c.diagnostics);
    let case = &c.tests[0];
    assert_eq!(case.name, "cube");
    assert_eq!(case.relation, lang::surface::Relation::Within(Some(1e-6)));
    let mut p = c.program.clone();
    p.defs.insert("main".into(), std::sync::Arc::new(case.def.clone()));
    let (v, _) = lang::eval::run::<f64>(&p, "main", &[], &[]).expect("runs");
    assert_eq!(flat(&v), [27.0, 27.0]);
}
