//! Small programs that random testing has found some stage wrong on.

use lang::precision::Precision;
use proofs::agree::examine;
use proofs::r#gen::{Kind, Sample};

/// The definition `f` of a text at sizes, on every evaluator and (where built) as machine code, differentiated in its first
/// parameter and in all.
fn agree(text: &str, sizes: &[i64]) {
    let sample = sample(text, sizes);
    for seed in 2..4 {
        let examined = examine(&sample, seed, Precision::Double).unwrap_or_else(|fault| panic!("{fault}"));
        #[cfg(feature = "llvm")]
        {
            let answers: Vec<_> = examined.answers.iter().collect();
            let machine =
                proofs::machine::Machine::compile(&answers).unwrap_or_else(|fault| panic!("{fault}"));
            for (k, answer) in answers.iter().enumerate() {
                machine.check(k, answer, &examined.sizes).unwrap_or_else(|fault| panic!("{fault}"));
            }
        }
        drop(examined);
    }
}

fn sample(text: &str, sizes: &[i64]) -> Sample {
    let (file, problems) = lang::surface::parser::parse(text);
    assert!(problems.is_empty(), "{problems:?}");
    let checked = typeck::check_file(&file);
    assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
    Sample { program: checked.program, name: "f".into(), sizes: sizes.to_vec(), kind: Kind::Any }
}

/// Operations of the loops that compute the value.
fn cost(text: &str, sizes: &[i64]) -> i64 {
    let examined =
        examine(&sample(text, sizes), 2, Precision::Double).unwrap_or_else(|fault| panic!("{fault}"));
    examined.answers[0].cost as i64
}

/// Normalisation keeps `detach` until D has seen it.
#[test]
fn detach_survives_until_d() {
    agree("def f [n] (x : real^n) : real = sum [ detach x[i] * x[i] | i < n ]", &[3]);
}

/// A buffer zeroed and accumulated into at the loop's own index: iterations are independent.
#[test]
fn accumulating_at_the_own_index_is_parallel() {
    agree("def f [n, m] (x : [n]real^m) : real^n = [ x[i][0] | i < n ]", &[2, 3]);
}

/// A sum inside a sum is added as a whole, bit for bit.
#[test]
fn sums_of_sums_keep_their_order() {
    agree("def f [n, m] (x : real) (y : real^n) : real = sum [ sum [ x | j < n ] | i < m ]", &[4, 3]);
}

/// Sums of sums of a value of which only some steps know: whether something arrived is asked of each sum, not of the running total.
#[test]
fn sums_of_what_may_not_arrive() {
    let text = "\
def f [n, m] (x : real^n) (y : real^n) (z : int) : real^n =
  [ (\\(x1 : real) -> sum [ sum [ x1 | _ < n ] | _ < 2 ]) (select (i <= 0) x[0] 0.5) | i < n ]
";
    agree(text, &[4, 3]);
}

/// Products of matrices, which are nests of their own, with whatever is done to them; their cost is in proportion to n m k.
#[test]
fn products_of_matrices() {
    let programs = [
        "let p = a @ b in sum p[0]",
        "sum (flatten (a @ b))",
        "sum (flatten (tanh (a @ b)))",
        "let p = a @ b in p[0, 0] * p[1, 1]",
        "sum (flatten (transpose (a @ b)))",
        "sum (flatten ((a @ transpose a) @ a))",
        "sum (flatten (transpose a @ a))",
        "sum (flatten (transpose (a @ b) @ a))",
        "sum (map (\\r -> maximum r) (a @ b))",
        "let p = a @ b in sum (flatten [ p[i, j] * p[i, k - 1 - j] | i < n, j < k ])",
    ];
    for program in programs {
        let text = format!("def f [n, m, k] (a : real^(n, m)) (b : real^(m, k)) : real = {program}\n");
        agree(&text, &[4, 3, 5]);
    }
    for program in ["a @ b", "transpose (transpose b @ transpose a)", "a @ transpose (transpose b)"] {
        let text = format!("def f [n, m, k] (a : real^(n, m)) (b : real^(m, k)) : real^(n, k) = {program}\n");
        let sizes = [6, 7, 8];
        agree(&text, &sizes);
        let cost = cost(&text, &sizes);
        assert!(cost < 16 * 6 * 7 * 8, "{program}: {cost}");
    }
}

/// Rows that are views are read through in the derivative too.
#[test]
fn derivatives_read_through_views() {
    for (matrix, view) in [
        ("real^(n, d)", "map (\\row -> [ row[d - 1 - j] | j < d ]) a"),
        ("real^(d, n)", "transpose a"),
        ("real^(n, d)", "[ a[i, d - 1 - j] | i < n, j < d ]"),
    ] {
        let text = format!(
            "def f [n, d] (x : real^d) (a : {matrix}) : real =\n  let m = {view} in let r = m @ x in sum (r * r)\n"
        );
        let examined = examine(&sample(&text, &[6, 30]), 2, Precision::Double);
        let examined = examined.unwrap_or_else(|fault| panic!("{fault}"));
        let [value, _, reverse] = &examined.answers[..] else { unreachable!("three questions") };
        assert!(reverse.cost < 8 * value.cost, "{view}: {} and {}", reverse.cost, value.cost);
    }
}
