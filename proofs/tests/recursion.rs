//! Recursion: every stage and engine agrees on value and derivatives, the laws hold, and gradients are what they are by other means.

use lang::core::{Def, Program};
use lang::eval::{Limits, Value, run, run_within};
use lang::precision::Precision;
use num_rational::BigRational;
use proofs::agree::{examine, examine_at_its_sizes};
use proofs::r#gen::{Kind, Sample};

fn program(text: &str) -> Program {
    let (file, problems) = lang::surface::parser::parse(text);
    assert!(problems.is_empty(), "{problems:?}");
    let checked = typeck::check_file(&file);
    assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
    checked.program
}

/// The definition `f` of a text at sizes: value, forward and reverse derivative, by every evaluator and (where built) as machine code.
fn agree(text: &str, sizes: &[i64]) {
    let sample = Sample { program: program(text), name: "f".into(), sizes: sizes.to_vec(), kind: Kind::Any };
    for seed in 2..4 {
        let for_all =
            examine(&sample, seed, Precision::Double).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
        let fixed = examine_at_its_sizes(&sample, &for_all.answers, seed, Precision::Double);
        let fixed = fixed.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
        #[cfg(feature = "llvm")]
        for examined in [&for_all, &fixed] {
            let answers: Vec<_> = examined.answers.iter().collect();
            let machine =
                proofs::machine::Machine::compile(&answers).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
            for (k, answer) in answers.iter().enumerate() {
                machine.check(k, answer, &examined.sizes).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
            }
        }
        drop((for_all, fixed));
    }
}

const RAISE: &str = "
def rec raise (x : real) (k : int) : real =
  if k == 0 then 1.0
  else let h = raise x (div k 2) in if mod k 2 == 0 then h * h else h * h * x
";

#[test]
fn scalars() {
    agree(&format!("{RAISE}\ndef f (x : real) (y : real) : real = raise (x * y) 13 + raise y 6\n"), &[]);
    // Two calls, of which the second sees the first's result.
    let tree = "
def rec tree (x : real) (y : real) (k : int) : real =
  if k == 0 then x * y else let a = tree (sin x) y (k - 1) in tree a (x + a) (k - 2 + mod k 2) * y

def f (x : real) (y : real) : real = tree x y 4
";
    agree(tree, &[]);
    let both = "
def rec even (x : real) (k : int) : real = if k == 0 then x else sin (odd x (k - 1))
and odd (x : real) (k : int) : real = if k == 0 then x * x else x * even (x * 0.5) (k - 1)

def f (x : real) : real = even x 5 + odd x 4
";
    agree(both, &[]);
    // A result that is only sometimes active, and a branch on the data.
    let halves = "
def rec halve (x : real) (k : int) : (real, int) =
  if k == 0 then (1.0, 0)
  else let (y, n) = halve (x * 0.5) (k - 1) in if y > 0.9 then (y * x, n + 1) else (sin y + x, n)

def f (x : real) : real = let (y, n) = halve x 5 in y * real n + y
";
    agree(halves, &[]);
}

#[test]
fn arrays() {
    let total = "
def rec total [n] (xs : real^n) (from : int) (to : int) : real =
  if to - from == 0 then 0.0
  else if to - from == 1 then xs[from] * sin xs[from]
  else let middle = div (from + to) 2 in total xs from middle + total xs middle to

def f [n] (xs : real^n) : real = total xs 0 n
";
    agree(total, &[5]);
    let mapped = "
def rec mapped [n] (xs : real^n) (c : real) (k : int) : real^n =
  if k == 0 then xs else mapped [ sin xs[i] * c | i < n ] (c * 1.5) (k - 1)

def f [n] (xs : real^n) (c : real) : real^n = mapped xs c 3
";
    agree(mapped, &[3]);
    // The same array twice, its two cotangents into one; and a result that is an argument.
    let twice = "
def rec twice [n] (a : real^n) (b : real^n) (k : int) : (real, real^n) =
  if k == 0 then (dot a b, b)
  else let (s, c) = twice b b (k - 1) in (s * a[0] + sum c, [ a[i] * c[i] | i < n ])

def f [n] (a : real^n) : (real, real^n) = twice a a 3
";
    agree(twice, &[3]);
    // A part of an array, and an array of pairs.
    let rows = "
def rec walk [n] (row : [n](real, real)) (k : int) : real =
  if k == 0 then 0.0 else row[k - 1].0 * row[k - 1].1 + 0.5 * walk row (k - 1)

def f [n, m] (x : [m][n]real) : real = sum [ walk [ (x[j][i], x[j][0]) | i < n ] n | j < m ]
";
    agree(rows, &[3, 2]);
    // The size of what a call keeps is found in the call.
    let sized = "
def rec sized (x : real) (k : int) : real =
  let m = mod (k * k) 5 in
  let y = [ sin (x * real i) | i < m + 1 ] in
  if k == 0 then x else sum [ y[i] * y[m - i] | i < m + 1 ] * sized (x * 0.9) (k - 1)

def f (x : real) : real = sized x 4
";
    agree(sized, &[]);
}

#[test]
fn inside_loops_maps_and_branches() {
    agree(&format!("{RAISE}\ndef f [n] (xs : real^n) : real^n = map (\\x -> raise x 3) xs\n"), &[4]);
    agree(&format!("{RAISE}\ndef f [n] (xs : real^n) : real = sum [ raise xs[i] i | i < n ]\n"), &[4]);
    agree(
        &format!(
            "{RAISE}\ndef f [n] (xs : real^n) : real = loop s = 0.5 for i < n do raise (s * xs[i]) 2 + xs[i]\n"
        ),
        &[4],
    );
    agree(
        &format!(
            "{RAISE}\ndef f (x : real) (y : real) : real = if x < y then raise x 3 else y * raise y 2\n"
        ),
        &[],
    );
}

#[test]
fn function_arguments() {
    // With more in the function the order of additions is another than D's of an application: tests/cases has those.
    let iterate = "
def rec iterate (g : real -> real) (k : int) (x : real) : real = if k == 0 then x else g (iterate g (k - 1) x)

def f (x : real) (y : real) : real = iterate (\\t -> sin (t * y) + x) 3 x + iterate (\\t -> t * t) 2 y
";
    agree(iterate, &[]);
}

const DET: &str = "
def minor [n] (a : real^(n + 1, n + 1)) (j : int) : real^(n, n) =
  [ a[r + 1, if c < j then c else c + 1] | r < n, c < n ]

def rec det [n] (a : real^(n + 1, n + 1)) : real =
  if n == 0 then a[0, 0]
  else sum [ (if mod j 2 == 0 then a[0, j] else -a[0, j]) * det (minor a j) | j < n + 1 ]
";

#[test]
fn determinants() {
    agree(&format!("{DET}\ndef f [n] (a : real^(n, n)) : real = det a\n"), &[1]);
    agree(&format!("{DET}\ndef f [n] (a : real^(n, n)) : real = det a\n"), &[4]);
}

/// The gradient of the determinant is the matrix of cofactors, exactly, for n = 1 … 6: by the rules of D, on the normal form for all n and on
/// that for one n, in which nothing is called.
#[test]
fn the_gradient_of_the_determinant_is_the_cofactor_matrix() {
    let text = format!("{DET}\ndef g [n] (a : real^(n, n)) : real^(n, n) = grad det a\n");
    let program = program(&text);
    let g = Def::clone(&program.defs["g"]);
    let normal = |def: &Def| {
        let normal = opt::normal_form(def, &program, &proofs::engines::derive, Precision::Double);
        normal.expect("normal form")
    };
    let for_all = normal(&g);
    for n in 1..=6usize {
        let a: Vec<Vec<i64>> =
            (0..n).map(|i| (0..n).map(|j| ((i * 7 + j * j * 3 + i * j) % 11) as i64 - 4).collect()).collect();
        let rows = a
            .iter()
            .map(|row| Value::array(row.iter().map(|x| Value::Real(BigRational::from_integer((*x).into())))));
        let arg = Value::array(rows.collect::<Vec<_>>());
        let for_n = normal(&g.clone().at([(g.sizes[0].clone(), n as i64)]));
        assert!(for_n.callees.is_empty());
        for (normal, sizes) in [(&for_all, vec![n as i64]), (&for_n, vec![])] {
            let found = run::<BigRational>(&normal.program(), "g", std::slice::from_ref(&arg), &sizes);
            let (found, _) = found.unwrap_or_else(|e| panic!("{n}: {e}"));
            for i in 0..n {
                for j in 0..n {
                    let sign = if (i + j) % 2 == 0 { 1 } else { -1 };
                    let expected = sign * determinant(&without(&a, i, j));
                    let entry = found.as_array().unwrap()[i].as_array().unwrap()[j].clone();
                    assert!(
                        entry.same(&Value::Real(BigRational::from_integer(expected.into()))),
                        "{n}: {i}, {j}: {entry:?}"
                    );
                }
            }
        }
    }
}

/// Which recursive calls at known sizes are applied: those whose sizes fall, while that does not make too much of it.
#[test]
fn recursion_at_known_sizes() {
    // Calls in calls, as deep as the source's are when it runs.
    lang::big_stack::run(applied_or_not);
}

fn applied_or_not() {
    let shortened = "
def tail [m] (xs : real^(m + 1)) : real^m = [ xs[i + 1] | i < m ]

def rec fall [n] (xs : real^(n + 1)) : real = if n == 0 then xs[0] else xs[0] * sin (fall (tail xs))
";
    let stays = "
def rec halve [n] (xs : real^n) : real =
  if xs[0] < 0.1 then xs[0] * xs[1] else halve (map (\\x -> 0.5 * x * x / (1.0 + abs x)) xs)
";
    let twice = "
def tail [m] (xs : real^(m + 1)) : real^m = [ xs[i + 1] | i < m ]

def rec tree [n] (xs : real^(n + 1)) : real =
  if n == 0 then xs[0] else tree (tail xs) * 0.5 + sin (tree (tail (map (\\x -> x * 0.9) xs)))
";
    let both = "
def tail [m] (xs : real^(m + 1)) : real^m = [ xs[i + 1] | i < m ]

def rec even [n] (xs : real^(n + 1)) : real = if n == 0 then xs[0] else xs[0] * odd (tail xs)
and odd [n] (xs : real^(n + 1)) : real = if n == 0 then 1.0 else xs[0] + even (tail xs)
";
    let cases: [(&str, &str, i64, bool); 7] = [
        (shortened, "fall xs", 5, true),
        (shortened, "fall xs", 15, true),
        (shortened, "fall xs", 30, false),
        (stays, "halve xs", 3, false),
        (twice, "tree xs", 4, true),
        (twice, "tree xs", 11, false),
        (both, "even xs", 6, true),
    ];
    for (definitions, call, n, applied) in cases {
        let text = format!("{definitions}\ndef f [n] (xs : real^n) : real = {call}\n");
        let program = program(&text);
        let f = Def::clone(&program.defs["f"]);
        let f = f.clone().at([(f.sizes[0].clone(), n)]);
        let normal = opt::normal_form(&f, &program, &proofs::engines::derive, Precision::Double);
        let normal = normal.expect("normal form");
        assert_eq!(normal.callees.is_empty(), applied, "{call} at {n}");
        // A thousand calls are too many for the evaluators.
        if call != "tree xs" || applied {
            agree(&text, &[n]);
        }
    }
}

fn without(a: &[Vec<i64>], i: usize, j: usize) -> Vec<Vec<i64>> {
    let row = |r: &Vec<i64>| r.iter().enumerate().filter(|(k, _)| *k != j).map(|(_, x)| *x).collect();
    a.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, r)| row(r)).collect()
}

/// By elimination without division (Bareiss), not by expansion.
fn determinant(a: &[Vec<i64>]) -> i64 {
    let n = a.len();
    let mut m: Vec<Vec<i128>> = a.iter().map(|r| r.iter().map(|x| i128::from(*x)).collect()).collect();
    let (mut sign, mut last) = (1, 1);
    for k in 0..n.saturating_sub(1) {
        let Some(p) = (k..n).find(|i| m[*i][k] != 0) else { return 0 };
        if p != k {
            m.swap(p, k);
            sign = -sign;
        }
        for i in k + 1..n {
            for j in k + 1..n {
                m[i][j] = (m[i][j] * m[k][k] - m[i][k] * m[k][j]) / last;
            }
        }
        last = m[k][k];
    }
    if n == 0 { 1 } else { (sign * m[n - 1][n - 1]) as i64 }
}

/// Recursion without end ends, also in the derivative and on every engine.
#[test]
fn recursion_without_end() {
    let text = "def rec f (x : real) : real = sin (f (x * 0.5))\n\ndef g (x : real) : real = grad f x\n";
    let program = program(text);
    for name in ["f", "g"] {
        let normal =
            opt::normal_form(&program.defs[name], &program, &proofs::engines::derive, Precision::Double)
                .expect("normal form");
        let too_deep = |failure: &lang::diag::Failure, details: &[i64]| {
            *failure == lang::diag::Failure::TooDeep && *details == [lang::loops::DEPTH_LIMIT]
        };
        let ran = run_within(Limits::default(), &normal.program(), name, &[Value::Real(1.0)], &[]);
        match ran {
            Err(lang::eval::EvalError::Failed { failure, details, .. }) => {
                assert!(too_deep(&failure, &details))
            }
            other => panic!("{name}: {other:?}"),
        }
        let mut proc = opt::emit(&normal).expect("emission");
        opt::passes::optimise(&mut proc, &Default::default()).expect("passes");
        let arg = lang::loops::eval::Arg::Scalar(lang::core::Lit::Real(1.0));
        match lang::loops::eval::run(&proc, &[arg]) {
            Err(lang::loops::eval::Stop::Failed { failure, details, .. }) => {
                assert!(too_deep(&failure, &details))
            }
            other => panic!("{name}: {other:?}"),
        }
        #[cfg(feature = "llvm")]
        {
            let jit = codegen::Jit::compile(&[proc], &codegen::Options::default()).expect("machine code");
            let mut out = [0.0];
            let mut args = [codegen::Arg::Real(1.0), codegen::Arg::Out(codegen::SliceMut::Reals(&mut out))];
            match jit.call(name, &mut args) {
                Err(codegen::RunError::Failed { failure, details, .. }) => {
                    assert!(too_deep(&failure, &details))
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
