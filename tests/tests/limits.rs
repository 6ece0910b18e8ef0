//! The limits of adc: each is reached by a program, which is told so by a message with a code and a place, and just below it all is well. The
//! page docs/reference/limits.md is made from these rows (`BLESS=1` writes it), so that it says what is tested.

use std::fmt::Write;
use tests::{Scratch, root, run};

struct Row {
    what: &'static str,
    limit: &'static str,
    code: &'static str,
    /// What the message says.
    says: &'static str,
    /// The command's words; the file is `a.ad`.
    command: &'static [&'static str],
    /// A program that is over the limit, and one that is not.
    over: fn() -> String,
    within: Option<fn() -> String>,
}

fn brackets(depth: usize) -> String {
    format!("def f (x : real) : real = {}x{}\n", "(".repeat(depth), ")".repeat(depth))
}

fn lets(n: usize) -> String {
    let lets: String = (0..n).map(|k| format!("  let a{k} = x in\n")).collect();
    format!("def f (x : real) : real =\n{lets}  x\n")
}

fn aliases(n: usize) -> String {
    let types: String = (1..=n).map(|k| format!("type t{k} = t{}\n", k - 1)).collect();
    format!("type t0 = real\n{types}def f (x : t{n}) : real = x\n")
}

/// Doubled so many times: 2ⁿ functions are applied.
fn doubled(n: usize) -> String {
    let defs: String = (1..=n)
        .map(|k| format!("def d{k} (f : real -> real) : real -> real = d{} (\\y -> f (f y))\n", k - 1))
        .collect();
    format!(
        "def d0 (f : real -> real) : real -> real = f\n{defs}def f (x : real) : real = d{n} (\\y -> y) x\n"
    )
}

/// Pairs of pairs: 2ⁿ reals.
fn pairs(n: usize) -> String {
    let lets: String = (1..=n).map(|k| format!("  let a{k} = (a{}, a{}) in\n", k - 1, k - 1)).collect();
    format!("def f (a0 : real) : real =\n{lets}  1.0\n")
}

/// An array of this many dimensions.
fn dimensions(n: usize) -> String {
    format!("def f (x : real^({})) : int = length x\n", vec!["1"; n].join(", "))
}

/// The k-th arm asks for the k-th and the (n + k)-th of 2 n bools: 2ⁿ ways lead to the last arm.
fn arms(n: usize) -> String {
    let row =
        |k: usize| (0..2 * n).map(|i| if i % n == k { "true" } else { "_" }).collect::<Vec<_>>().join(", ");
    let arms: String = (0..n).map(|k| format!("  | ({}) -> {k}\n", row(k))).collect();
    format!("def f (x : ({})) : int =\n  match x with\n{arms}  | _ -> {n}\n", vec!["bool"; 2 * n].join(", "))
}

/// (n₀ + … + n₁₅) (m₀ + … + mₖ₋₁): 16 k terms.
fn terms(k: usize) -> String {
    let names = |x: &str, k: usize| (0..k).map(|i| format!("{x}{i}")).collect::<Vec<_>>();
    let (n, m) = (names("n", 16), names("m", k));
    let all = [&n[..], &m[..]].concat().join(", ");
    format!("def f [{all}] (x : real^(({}) * ({}))) : real = 1.0\n", n.join(" + "), m.join(" + "))
}

fn factors(k: usize) -> String {
    format!("def f [n] (x : real^({})) : real = 1.0\n", vec!["n"; k].join(" * "))
}

/// Definitions that call each other one after another.
fn called_in_a_row(n: usize) -> String {
    let defs: String = (1..=n).map(|k| format!("def d{k} (x : real) : real = d{} x\n", k - 1)).collect();
    format!("def d0 (x : real) : real = x\n{defs}def f (x : real) : real = d{n} x\n")
}

/// Definitions that call the one before them twice: 2ⁿ times a body of 16 operations.
fn called_twice(n: usize) -> String {
    let body = (0..8).fold("x".to_string(), |t, _| format!("sin (cos ({t}))"));
    let defs: String =
        (1..=n).map(|k| format!("def d{k} (x : real) : real = d{} (d{} x)\n", k - 1, k - 1)).collect();
    format!("def d0 (x : real) : real = {body}\n{defs}def f (x : real) : real = d{n} x\n")
}

/// A recursive definition that is called with so many functions.
fn functions(n: usize) -> String {
    let calls: Vec<String> = (0..n).map(|k| format!("times (\\y -> {k}.0 * y) 2 x")).collect();
    let times = "def rec times (f : real -> real) (k : int) (x : real) : real = if k == 0 then x else times f (k - 1) (f x)";
    format!("{times}\ndef f (x : real) : real = {}\n", calls.join(" + "))
}

const GROWS: &str =
    "def rec f (g : real -> real) (k : int) (x : real) : real = if k == 0 then g x else f (\\y -> g (g y)) (k - 1) x
def main = f (\\x -> 2.0 * x) 3 1.0
";

/// Every call keeps n reals for the way back.
const KEEPS: &str = "def rec f (k : int) (n : int) (x : real) : real =
  if k == 0 then x else
    let a = [ exp (x * real i) | i < n ] in
    a[k] * a[k + 1] + f (k - 1) n (sin x)
def main = grad (\\x -> f 1 SIZE x) 0.0
";

const CALLS: &str = "def rec f (k : int) : int = if k == 0 then 0 else 1 + f (k - 1)\n";

const ROWS: &[Row] = &[
    Row {
        what: "how deep expressions, types and patterns nest",
        limit: "2000",
        code: "E0108",
        says: "more than 2000 levels deep",
        command: &["check", "a.ad"],
        over: || brackets(2001),
        within: Some(|| brackets(1990)),
    },
    Row {
        what: "lets, and other forms with a body, one inside another",
        limit: "2000",
        code: "E0108",
        says: "more than 2000 levels deep",
        command: &["check", "a.ad"],
        over: || lets(2001),
        within: Some(|| lets(1990)),
    },
    Row {
        what: "integers, and numerals of them",
        limit: "64 bits",
        code: "E0107",
        says: "integers have 64 bits",
        command: &["check", "a.ad"],
        over: || "def f : int = 9223372036854775808\n".into(),
        within: Some(|| "def f : int = 9223372036854775807\n".into()),
    },
    Row {
        what: "numerals of reals",
        limit: "1.7976931348623157e308",
        code: "E0106",
        says: "is too large for a real",
        command: &["check", "a.ad"],
        over: || "def f : real = 1.7976931348623159e308\n".into(),
        within: Some(|| "def f : real = 1.7976931348623157e308\n".into()),
    },
    Row {
        what: "numerals of reals in single precision (`--real f32`)",
        limit: "3.4028235e38",
        code: "E0106",
        says: "is too large for a real of single precision",
        command: &["run", "a.ad", "f", "--real", "f32"],
        over: || "def f : real = 3.402824e38\n".into(),
        within: Some(|| "def f : real = 3.4028235e38\n".into()),
    },
    Row {
        what: "coefficients in sizes",
        limit: "64 bits",
        code: "E0406",
        says: "a coefficient beyond 64 bits",
        command: &["check", "a.ad"],
        over: || "def f [n] (x : real^(n * 4611686018427387904 * 2)) : int = n\n".into(),
        within: Some(|| "def f [n] (x : real^(n * 4611686018427387904)) : int = n\n".into()),
    },
    Row {
        what: "terms of a size",
        limit: "256",
        code: "E0406",
        says: "more than 256 terms",
        command: &["check", "a.ad"],
        over: || terms(17),
        within: Some(|| terms(16)),
    },
    Row {
        what: "factors in a term of a size",
        limit: "64",
        code: "E0406",
        says: "more than 64 factors",
        command: &["check", "a.ad"],
        over: || factors(65),
        within: Some(|| factors(64)),
    },
    Row {
        what: "parts of a type",
        limit: "10000",
        code: "E0313",
        says: "more than 10000 parts",
        command: &["check", "a.ad"],
        over: || pairs(13),
        within: Some(|| pairs(12)),
    },
    Row {
        what: "dimensions of an array",
        limit: "99",
        code: "E0313",
        says: "a dimension of an array counts as 100",
        command: &["check", "a.ad"],
        over: || dimensions(100),
        within: Some(|| dimensions(99)),
    },
    Row {
        what: "decisions of a `match`",
        limit: "10000",
        code: "E0313",
        says: "takes too many decisions",
        command: &["check", "a.ad"],
        over: || arms(14),
        within: Some(|| arms(8)),
    },
    Row {
        what: "aliases in one type",
        limit: "1000",
        code: "E0313",
        says: "more than 1000 aliases in it",
        command: &["check", "a.ad"],
        over: || aliases(1001),
        within: Some(|| aliases(999)),
    },
    Row {
        what: "functions and definitions applied when a program is compiled",
        limit: "1000000",
        code: "E0713",
        says: "applies more than 1000000 functions",
        command: &["run", "a.ad", "f", "--args", r#"{"x": 1}"#],
        over: || doubled(20),
        within: Some(|| doubled(10)),
    },
    Row {
        what: "operations of a program, once its calls are applied",
        limit: "1000000",
        code: "E0713",
        says: "more than 1000000 operations",
        command: &["run", "a.ad", "f", "--args", r#"{"x": 1}"#],
        over: || called_twice(16),
        within: Some(|| called_twice(6)),
    },
    Row {
        what: "how deep calls nest that are applied when a program is compiled",
        limit: "2000",
        code: "E0806",
        says: "calls nest more than 2000 deep",
        command: &["run", "a.ad", "f", "--args", r#"{"x": 1}"#],
        over: || called_in_a_row(1999),
        within: Some(|| called_in_a_row(1998)),
    },
    Row {
        what: "functions that recursive definitions are called with",
        limit: "200",
        code: "E0713",
        says: "more than 200 different functions",
        command: &["run", "a.ad", "f", "--engine", "loops", "--args", r#"{"x": 1}"#],
        over: || functions(201),
        within: Some(|| functions(200)),
    },
    Row {
        what: "functions that a recursive definition calls itself with, one inside another",
        limit: "12",
        code: "E0806",
        says: "more than 12 inside each other",
        command: &["run", "a.ad"],
        over: || GROWS.into(),
        // The same function again is no other.
        within: Some(|| GROWS.replace("(\\y -> g (g y))", "g")),
    },
    Row {
        what: "bytes that the derivative of a recursion keeps",
        limit: "1073741824",
        code: "E0807",
        says: "keeps more than 1073741824 bytes",
        command: &["run", "a.ad"],
        over: || KEEPS.replace("SIZE", "134217729"),
        within: Some(|| KEEPS.replace("SIZE", "1000")),
    },
    Row {
        what: "how deep calls nest when a program runs",
        limit: "10000",
        code: "E0806",
        says: "recursion deeper than 10000",
        command: &["run", "a.ad", "f", "--args", r#"{"k": 10001}"#],
        over: || CALLS.into(),
        // As many calls again, side by side.
        within: Some(|| CALLS.replace("1 + f (k - 1)", "1 + f (div k 2)")),
    },
    Row {
        what: "elements of a result",
        limit: "2147483648",
        code: "E0713",
        says: "more than 2147483648 elements",
        command: &["run", "a.ad", "f", "--args", r#"{"n": 3}"#],
        over: || "def f (n : int) : real^(n * 1073741824) = [ 1.0 | _ < n * 1073741824 ]\n".into(),
        within: Some(|| "def f (n : int) : real^(n * 100) = [ 1.0 | _ < n * 100 ]\n".into()),
    },
    Row {
        what: "problems that are shown; more are counted",
        limit: "50",
        code: "E0201",
        says: "… and 10 more",
        command: &["check", "a.ad"],
        over: || (0..60).map(|k| format!("def f{k} : real = nothing\n")).collect(),
        within: None,
    },
];

/// The imports of a chain of files, which need files of their own.
const CHAIN: (&str, usize, &str) = ("files that import each other one after another", 100, "E0211");

/// Where work ends and the answer is as right as before, though perhaps not as fast or as full: what, how much, and the test.
const BUDGETS: &[(&str, &str, &str)] = &[
    (
        "e-nodes of a piece of a program that is simplified",
        "300, and 12 for each operation",
        "opt/src/simplify/tests.rs",
    ),
    ("rounds of rewriting of a piece", "8", "opt/src/simplify/tests.rs"),
    ("operations of a piece", "100", "opt/src/simplify/tests.rs"),
    ("terms and factors of an int that is followed as a polynomial", "256, 64", "lang/src/size.rs"),
    ("native code that is kept from run to run", "256 MiB", "codegen/src/cache.rs"),
];

fn page() -> String {
    let mut page = String::from(
        "# Limits\n\nPrograms over a limit are refused, or stop, with a message that names the limit and a place. This page is made from the rows of `tests/tests/limits.rs`, which\n\
         reach each of them.\n\n| what | limit | error |\n|---|---|---|\n",
    );
    for row in ROWS {
        let _ = writeln!(page, "| {} | {} | {} |", row.what, row.limit, row.code);
    }
    let _ = writeln!(page, "| {} | {} | {} |", CHAIN.0, CHAIN.1, CHAIN.2);
    page += "\nOther limits end work, not programs: beyond them the answer is as right, but what would have been done is not.\n\n| what | limit | test |\n|---|---|---|\n";
    for (what, limit, test) in BUDGETS {
        let _ = writeln!(page, "| {what} | {limit} | `{test}` |");
    }
    page
}

#[test]
fn every_limit_is_told() {
    let one = |row: &Row| -> Result<(), String> {
        let dir = Scratch::new(&format!("limit-{}", row.what.replace(|c: char| !c.is_alphanumeric(), "-")))?;
        dir.write("a.ad", (row.over)().as_bytes())?;
        // The reference evaluator, which runs programs without LLVM, has no memory of that kind; the evaluator of loops has.
        let loops: &[&str] =
            if row.code == "E0807" && cfg!(not(feature = "llvm")) { &["--engine", "loops"] } else { &[] };
        let command = [row.command, loops].concat();
        let ran = run(env!("CARGO_BIN_EXE_adc-under-test"), &dir.0, &command);
        let located = ran.stderr.contains("a.ad:");
        if ran.status != 1 || !located || !ran.stderr.contains(row.code) || !ran.stderr.contains(row.says) {
            return Err(format!("{}: over the limit: {ran:?}", row.what));
        }
        let Some(within) = row.within else { return Ok(()) };
        dir.write("a.ad", within().as_bytes())?;
        let ran = run(env!("CARGO_BIN_EXE_adc-under-test"), &dir.0, &command);
        match ran.status {
            0 => Ok(()),
            _ => Err(format!("{}: within the limit: {ran:?}", row.what)),
        }
    };
    tests::report(tests::all(ROWS, one), ROWS.len());
}

#[test]
fn a_chain_of_imports_has_a_limit() {
    let dir = Scratch::new("limit-chain").unwrap();
    let n = CHAIN.1;
    for k in 0..=n {
        let text = format!("import \"i{}.ad\" as m\n\ndef f : real = 1.0\n", k + 1);
        dir.write(&format!("i{k}.ad"), text.as_bytes()).unwrap();
    }
    dir.write(&format!("i{}.ad", n + 1), b"def f : real = 1.0\n").unwrap();
    let check = |file: &str| run(env!("CARGO_BIN_EXE_adc-under-test"), &dir.0, &["check", file]);
    let over = check("i0.ad");
    assert_eq!(over.status, 1);
    assert!(over.stderr.contains(CHAIN.2) && over.stderr.contains(&format!("i{}.ad:1:8", n - 1)), "{over:?}");
    assert_eq!(check("i3.ad").status, 0);
}

#[test]
fn the_page_says_what_the_limits_are() {
    let path = root().join("docs/reference/limits.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page(), "docs/reference/limits.md is not what the rows say; BLESS=1 writes it");
}

/// Clusters limit the addresses of a process (`ulimit -v`, in KiB); the compiler's deep stacks are then smaller.
#[test]
#[cfg(target_os = "linux")]
fn a_gigabyte_of_addresses_is_enough() {
    let dir = Scratch::new("limit-addresses").unwrap();
    dir.write("f.ad", b"def main : real = sum (map sin [0.0, 0.0])\n").unwrap();
    for limit in ["1000000", "4000000", "8000000"] {
        let script = format!("ulimit -v {limit} && exec \"$0\" run f.ad --no-cache");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_adc-under-test")]).current_dir(&dir.0);
        let ran = shell.output().unwrap();
        assert!(ran.status.success(), "{limit}: {}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(String::from_utf8_lossy(&ran.stdout).trim(), "0.0");
    }
}
