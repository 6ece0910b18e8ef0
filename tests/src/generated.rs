//! Programs of any size, for benchmarks and for tests of how compilation grows.

/// A file of so many lines: documented definitions of seven lines with a product, a comprehension, a branch and a call of the one before.
pub fn definitions(lines: usize) -> String {
    let each = |k: usize| {
        let before = if k == 0 { "0.0".to_string() } else { format!("f{} w x", k - 1) };
        format!(
            "--| The definition numbered {k}.\n\
             def f{k} [n] (w : real^n) (x : real^n) : real =\n  \
               let s = dot w x in\n  \
               let t = [ w[i] * x[i] + s | i < n ] in\n  \
               if s > 0.0 then sum t + {before}\n  \
               else s * {k}.5\n\n"
        )
    };
    (0..lines.div_ceil(7)).map(each).collect()
}

/// Each let of the one before.
pub fn chain_of_lets(n: usize) -> String {
    let lets: String = (1..=n).map(|k| format!("  let a{k} = sin a{} * x in\n", k - 1)).collect();
    format!("def f (x : real) : real =\n  let a0 = x in\n{lets}  a{n}\n")
}

/// Each array is made of the one before, element by element.
pub fn chain_of_arrays(n: usize) -> String {
    let lets: String = (1..=n).map(|k| format!("  let a{k} = sin a{} * x in\n", k - 1)).collect();
    format!("def f [n] (x : real^n) : real =\n  let a0 = x in\n{lets}  sum a{n}\n")
}

/// Each definition calls the one before.
pub fn nested_calls(n: usize) -> String {
    let defs: String =
        (1..=n).map(|k| format!("def g{k} (x : real) : real = sin (g{} x) * x\n", k - 1)).collect();
    format!("def g0 (x : real) : real = x * x\n{defs}def f (x : real) : real = g{n} x\n")
}

/// The sum of an array written out.
pub fn written_array(n: usize) -> String {
    let elements: Vec<String> = (0..n).map(|k| format!("x * {k}.5")).collect();
    format!("def f (x : real) : real =\n  sum [\n    {}\n  ]\n", elements.join(",\n    "))
}

/// Branches one after another.
pub fn chain_of_branches(n: usize) -> String {
    let lets: String = (1..=n)
        .map(|k| format!("  let a{k} = if a{0} > {k}.0 then sin a{0} else a{0} * x in\n", k - 1))
        .collect();
    format!("def f (x : real) : real =\n  let a0 = x in\n{lets}  a{n}\n")
}

/// One branch inside another's `else`.
pub fn nested_branches(n: usize) -> String {
    let arms: String = (0..n).map(|k| format!("  if x < {k}.5 then x * {k}.0 else\n")).collect();
    format!("def f (x : real) : real =\n{arms}  sin x\n")
}

/// Lets that are all used at the end.
pub fn lets_used_late(n: usize) -> String {
    let lets: String = (0..n).map(|k| format!("  let a{k} = sin (x * {k}.5) in\n")).collect();
    let uses: Vec<String> = (0..n).map(|k| format!("a{k}")).collect();
    format!("def f (x : real) : real =\n{lets}  sum [{}]\n", uses.join(", "))
}

/// Definitions of a few lines with arrays in them, each used once.
pub fn array_definitions(lines: usize) -> String {
    let defs = (lines / 4).max(1);
    let mut text = String::new();
    for k in 0..defs {
        text += &format!(
            "def h{k} [n] (x : real^n) : real =\n  let y = map (\\v -> tanh (v * {k}.5)) x in\n  sum [ y[i] * x[i] | i < n ]\n\n"
        );
    }
    let calls: Vec<String> = (0..defs).map(|k| format!("h{k} x")).collect();
    text + &format!("def f [n] (x : real^n) : real =\n  {}\n", calls.join(" +\n  "))
}
