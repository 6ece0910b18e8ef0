//! "Did you mean …": the nearest known name by edit distance.

use crate::builtin;
use lang::diag::Diagnostic;
use lang::prim::Prim;

/// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut d = replace.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                d = d.min(rows[i - 2][j - 2] + 1);
            }
            row.push(d);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// The diagnostic with the nearest known name as its help, if one is near enough.
pub fn with<'a>(d: Diagnostic, name: &str, known: impl Iterator<Item = &'a str>) -> Diagnostic {
    match nearest(name, known) {
        Some(k) => d.help(format!("did you mean `{k}`?")),
        None => d,
    }
}

/// The nearest known name, if one is near enough to be meant.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > 64 {
        return None;
    }
    let limit = match name.chars().count() {
        0..=4 => 1,
        5..=7 => 2,
        _ => 3,
    };
    let near = known
        .filter(|k| k.len() <= name.len() + 3)
        .map(|k| (distance(name, k), k))
        .filter(|(n, k)| *n <= limit && *n < k.chars().count())
        .min();
    near.map(|(_, k)| k)
}

/// What a type's name from elsewhere is called here.
pub fn foreign_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "float" | "Float" | "double" | "Double" | "f64" | "f32" | "float64" | "float32" | "number" => {
            "the type of real numbers is `real`"
        }
        "integer" | "Int" | "i64" | "i32" | "int64" | "nat" => "the type of integers is `int`",
        "boolean" | "Bool" => "the type of truth values is `bool`",
        "unit" | "void" => "the empty tuple's type is `()`",
        "vector" | "Vector" | "matrix" | "Matrix" | "array" | "Array" | "tensor" | "list" | "List" => {
            "array types are written `real^n`, `real^(m, n)` or `[n]τ`"
        }
        _ => return None,
    })
}

/// The modules of the standard library, with their names: what is said where one is used and not imported. (The library is the command line's; a test
/// there compares.)
#[rustfmt::skip]
pub const LIBRARY: &[(&str, &[&str])] = &[
    ("arrays", &[
        "indices", "compress", "filter", "partition",
    ]),
    ("linalg", &[
        "identity", "diagonal", "diag", "trace", "outer_with", "kron", "norm1", "norm2", "norm_inf",
        "frobenius", "quadratic_form", "symmetric_part", "matrix_power", "solve_lower", "solve_upper",
        "cholesky", "solve_cholesky", "solve_spd", "logdet_spd", "inverse_spd", "lu", "det",
        "solve_unit_lower", "solve", "inverse",
    ]),
    ("stats", &[
        "mean", "weighted_mean", "variance", "sample_variance", "standard_deviation",
        "sample_standard_deviation", "column_means", "covariance", "correlation", "standardise", "quantile",
        "median", "log_two_pi", "normal_log_density", "multivariate_normal_log_density",
        "gamma_log_density", "log_beta", "beta_log_density", "poisson_log_density", "log_choose",
        "binomial_log_density", "softmax_cross_entropy",
    ]),
];

/// How a name of the standard library comes into scope.
pub fn from_library(name: &str) -> Option<String> {
    let (module, _) = LIBRARY.iter().find(|(_, names)| names.contains(&name))?;
    Some(format!(
        "it is in the standard library: `import {module} ({name})`, or `{module}.{name}` after `import {module}`"
    ))
}

/// What a function's name from elsewhere is called here.
pub fn foreign_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "ln" => "the natural logarithm is `log`",
        "pow" | "power" => "powers are written `x ^ y`",
        "clip" => "between two bounds x is `clamp lo hi x`",
        "fabs" => "the absolute value is `abs`",
        "len" | "size" => "the length of an array is `length`, or the size in its type",
        "range" | "arange" => "the array 0, 1, …, n-1 is `iota n`",
        "zeros" | "ones" | "full" => "an array of n equal elements is `replicate n x`",
        "float" | "toReal" | "fromIntegral" => "an int becomes a real by `real k`",
        "average" => "a mean is written `sum x / real n`",
        "inner" | "vdot" => "the inner product is `dot`",
        "gradient" | "derivative" | "diff" => "the gradient of f at x is `grad f x`",
        "cumsum" | "cumulative_sum" => "running sums are `scan (+) 0 xs`",
        "foldl" | "foldl'" => "from the left, `fold f z xs`",
        "or" => "the logical or is written `||`",
        "xor" => "for truth values it is `!=`",
        "lambda" | "fn" | "fun" | "function" => "a function is written `\\x -> e`",
        "fst" | "first" | "snd" | "second" => "components of tuples are written `p.0` and `p.1`",
        "return" => "a definition's value is its expression: there is no `return`",
        "print" | "println" => "`adc run` prints the value of `main`",
        "True" => "write `true`",
        "False" => "write `false`",
        "infinity" | "Infinity" | "Inf" => "infinity is written `inf`",
        "NaN" => "not a number is written `nan`",
        "Pi" | "PI" => "the constant is written `pi`",
        "np" | "jnp" | "numpy" | "math" | "Math" | "torch" | "jax" | "tf" => {
            "the functions of the language stand in no module: `sin x`"
        }
        _ => return None,
    })
}

/// Is it a function of the language?
pub fn is_function(name: &str) -> bool {
    matches!(name, "clamp" | "where")
        || builtin::find(name).is_some()
        || Prim::ALL.iter().any(|p| p.row().name == name)
}

/// Is it one that takes two arguments, as an operator would?
pub fn is_binary(name: &str) -> bool {
    match builtin::find(name) {
        Some(row) => builtin::scheme(row).params.len() == 2,
        None => Prim::ALL.iter().any(|p| p.row().name == name && p.row().args.len() == 2),
    }
}

/// What `x.name` means to someone who calls functions so.
pub fn method(name: &str) -> Option<String> {
    match foreign_name(name) {
        Some(help) => Some(help.into()),
        None if name == "shape" => {
            Some("the length of an array is `length xs`, or the size in its type".into())
        }
        None => is_function(name).then(|| format!("functions stand before their arguments: `{name} x`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names() {
        assert_eq!(distance("sofplus", "softplus"), 1);
        assert_eq!(distance("odt", "dot"), 1);
        let d = with(Diagnostic::new("E0201", ""), "transpsoe", ["dot", "transpose"].into_iter());
        assert_eq!(d.help.as_deref(), Some("did you mean `transpose`?"));
        let d = with(Diagnostic::new("E0201", ""), "q", ["x"].into_iter());
        assert_eq!(d.help, None);
    }
}
