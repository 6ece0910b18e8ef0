//! What is wrong with wrong programs: code, message, help.

mod common;
use common::checked;

/// The diagnostics of a text: code, message, and the help if there is one.
fn report(text: &str) -> Vec<String> {
    let c = checked(text);
    for d in &c.diagnostics {
        assert!(!d.labels.is_empty(), "no place in {d:?}");
        for (s, _) in &d.labels {
            assert!(s.start < s.end && (s.end as usize) <= text.len(), "no place in the text: {d:?}");
        }
        assert!(typeck::codes::ALL.iter().any(|c| c.code == d.code), "{} is in no table", d.code);
    }
    let help = |h: &Option<String>| h.as_ref().map_or(String::new(), |h| format!(" | {h}"));
    c.diagnostics.iter().map(|d| format!("{} {}{}", d.code, d.message, help(&d.help))).collect()
}

#[test]
fn wrong_programs() {
    let mut wrong = String::new();
    for (text, expected) in CASES {
        let found = report(text);
        if found != *expected {
            wrong += &format!("{text}expected {expected:#?}\nfound {found:#?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A definition with errors hides none in others, and the right ones are there.
#[test]
fn errors_stay_in_their_definitions() {
    let c = checked(
        "def f (x : real) : real = y\ndef g (x : real) : real = f x + 1\ndef h (x : real) : real = g true\n",
    );
    assert_eq!(c.diagnostics.iter().map(|d| d.code).collect::<Vec<_>>(), ["E0201", "E0301"]);
    assert!(c.program.defs.contains_key("g") && !c.program.defs.contains_key("f"));
}

/// Both sizes and where they come from.
#[test]
fn a_size_mismatch_shows_both_places() {
    let text = "def f [n] (x : real^n) (y : real^n) : real = dot x y\ndef g (x : real^2) (y : real^3) : real = f x y\n";
    let c = checked(text);
    let d = &c.diagnostics[0];
    let places: Vec<&str> = d.labels.iter().map(|(s, _)| &text[s.start as usize..s.end as usize]).collect();
    assert_eq!(places, ["y", "x"], "{d:?}");
}

/// Long chains and deep nests end with an answer or a message.
#[test]
fn nothing_is_too_deep_to_answer() {
    for (n, build) in [
        (
            1500,
            &(|n: usize| format!("def f (x : real) : real = {}x{}\n", "(".repeat(n), ")".repeat(n)))
                as &dyn Fn(usize) -> String,
        ),
        (1500, &|n| format!("def f (x : real) : real = {}\n", vec!["x"; n].join(" + "))),
        (1000, &|n| format!("def f (x : real) : real = {}x\n", "let y = x * x in ".repeat(n))),
        (1500, &|n| format!("def f (x : real) : real = {}x{}\n", "exp (".repeat(n), ")".repeat(n))),
        (1900, &|n| format!("def f (x : real) = {}x{}\n", "[".repeat(n), "]".repeat(n))),
    ] {
        let text = build(n);
        let (file, problems) = lang::surface::parser::parse(&text);
        if problems.is_empty() {
            typeck::check_file(&file);
        }
    }
}

/// The parser refuses what nests so deep; a tree that was made otherwise is told by the checker.
#[test]
fn a_tree_that_is_too_deep_is_refused() {
    use lang::surface::{ExprKind, ItemKind};
    let text = "def f (x : real) : real = x\n";
    let (mut file, _) = lang::surface::parser::parse(text);
    let ItemKind::Def { defs, .. } = &mut file.items[0].kind else { panic!("a definition") };
    let body = &mut defs[0].body;
    for _ in 0..4001 {
        let inner = std::mem::replace(&mut body.node, ExprKind::Bool(true));
        body.node = ExprKind::Neg(Box::new(lang::surface::Spanned { node: inner, span: body.span }));
    }
    let codes = lang::big_stack::run(|| {
        let checked = typeck::check_file(&file);
        checked.diagnostics.iter().map(|d| (d.code, d.labels[0].1.clone())).collect::<Vec<_>>()
    });
    assert_eq!(codes, [("E0310", "more than 4000 levels".to_string())]);
}

const CASES: &[(&str, &[&str])] = &[
    (
        "def f (x : real^2) (k : int) = let m = transpose x + k in replicate m 1.0\n",
        &[
            "E0301 argument `xss` of `transpose` must be an array of arrays, this is real^2 | it is `transpose ['a, n, m] (xss : [n][m]'a) : [m][n]'a`",
        ],
    ),
    (
        "def f (x : real) = checkpoint exp x\n",
        &[
            "E0311 `checkpoint` is not part of this version yet | leave it out: `checkpoint f x` has the value and the derivative of `f x`",
        ],
    ),
    (
        "import \"a.ad\" as a\ndef f (x : real) : real = a + a.f x\n",
        &[
            "E0210 imports need files to import from",
            "E0201 there is no `a` in scope | it is a module: its names are written `a.x`",
        ],
    ),
    (
        "def f [n] (x : real^n) : [?k]real = x\ndef g (x : real^3) = f x\n",
        &[
            "E0407 the size ?k of the result of `f` leaves its scope in the type real^k | use the array inside, assert a size with `as`, or let the definition's result have the size: `[?k]τ`",
        ],
    ),
    (
        "def f (x : real) : real = sofplus x\n",
        &["E0201 there is no `sofplus` in scope | did you mean `softplus`?"],
    ),
    ("def f (x : real) : real = y\n", &["E0201 there is no `y` in scope"]),
    ("def f (x : foo) : real = 1.0\n", &["E0202 there is no type named `foo`"]),
    (
        "def f (x : real^n) : real = sum x\n",
        &["E0203 the size `n` is not in scope | bind it in the definition's brackets: [n]"],
    ),
    ("def f [n] (x : real^n) : real = x\n", &["E0301 the result of `f` is declared as real, this is real^n"]),
    ("def f [n] (x : real^n) (y : real) : real = g x y\n", &["E0201 there is no `g` in scope"]),
    (
        "def dot2 [n] (x : real^n) (y : real^n) : real = sum (x * y)\ndef f [n, m] (x : real^n) (y : real^m) : real = dot2 x y\n",
        &["E0401 argument `y` of `dot2` must be real^n, this is real^m: m is not n"],
    ),
    (
        "def f [n, m] (x : real^n) (y : real^m) = x + y\n",
        &["E0402 `+` of real^n and real^m: the shapes differ"],
    ),
    (
        "def f (x : real) (k : int) : real = x + k\n",
        &["E0318 `+` does not apply to real and int | ints are converted with `real`: real k"],
    ),
    (
        "def f (k : int) : int = k / 2\n",
        &["E0303 `/` does not apply to int and a number | ints have `div` and `mod`; `real k` converts"],
    ),
    ("def f (x : real) : real = x 1.0\n", &["E0302 what is given an argument here is not a function"]),
    ("def f (x : real) : real = if x then 1.0 else 2.0\n", &["E0301 a condition must be bool, this is real"]),
    (
        "def f (x : real) : real = if x > 0 then 1.0 else true\n",
        &["E0301 the result of `f` is declared as real, this is bool"],
    ),
    ("def f (x : real) : real = (x, x).2\n", &["E0306 a tuple of 2 has no component 2"]),
    (
        "def f (x : (real, real)) : real = x[0]\n",
        &["E0307 (real, real) cannot be indexed | components of tuples are written t.0, t.1"],
    ),
    ("def f (r : {x : real}) : real = r.y\n", &["E0207 the record has no field `y`"]),
    (
        "def f [n] (x : real^n) : real^n = grad exp x\n",
        &["E0601 `grad` needs a function with a real result | use `vjp` with a cotangent, or `jacobian`"],
    ),
    (
        "def f [n] (x : real^n) : real = grad (\\x -> x * 2) x\n",
        &[
            "E0301 real is required here, this is real^n",
            "E0601 `grad` needs a function with a real result | use `vjp` with a cotangent, or `jacobian`",
        ],
    ),
    ("def f (x : real) : real = f x\n", &["E0205 `f` refers to itself | write `def rec`"]),
    (
        "def f (x : real) : real = g x\ndef g (x : real) : real = f x\n",
        &[
            "E0205 `f` refers to itself through `g` | write the group as `def rec … and …`",
            "E0205 `g` refers to itself through `f` | write the group as `def rec … and …`",
        ],
    ),
    (
        "def rec f (x : real) = f x\n",
        &["E0206 the recursive `f` needs a written result type | write `: τ` before the `=`"],
    ),
    ("def f (x : real) : real = 1.0\ndef f (x : real) : real = 2.0\n", &["E0204 `f` is defined twice"]),
    ("def f (x : real) (x : real) : real = x\n", &["E0204 the parameter `x` is there twice"]),
    (
        "def f (x : real) = [ build i (\\j -> x) | i < 3 ]\n",
        &[
            "E0404 the size i leaves its scope in the type real^i | bind it outside, assert a size with `as`, or write a definition's result as `[?k]τ`",
        ],
    ),
    ("def f (x : real) = \\x -> x x\n", &["E0305 the type of this would contain itself"]),
    ("def f (x : real) = [\\y -> y, \\y -> x]\n", &["E0308 [2](real -> real) is an array of functions"]),
    (
        "def f (x : real) = jvp (\\y -> (\\z -> z * y)) x 1.0\n",
        &["E0602 `jvp` needs a function whose result is first-order"],
    ),
    (
        "type t = u\ntype u = t\ndef f (x : t) : real = 1.0\n",
        &["E0209 the type `t` refers to itself", "E0209 the type `u` refers to itself"],
    ),
    (
        "def f (x : real) : real = match x with | 0 -> 1.0\n",
        &["E0318 this pattern is for int, the value is real | `floor_int x` and `round_int x` give ints"],
    ),
    (
        "type s = A real | B (real, bool)\ndef f (x : s) : real = match x with | A y -> y | B (y, true) -> y\n",
        &[
            "E0314 this match leaves out `B (_, false)` | add an arm `| B (_, false) -> …`, or `| _ -> …` for all that is left",
        ],
    ),
    (
        "def f (k : int) : int = match k with | 0 -> 1 | 1 -> 2\n",
        &["E0314 this match leaves out `2` | add an arm `| 2 -> …`, or `| _ -> …` for all that is left"],
    ),
    (
        "type o = Some real | None\ntype p = L o | R (o, o)\ndef g (x : p) : real = match x with | L (Some y) -> y | R (_, Some z) -> z | R (Some z, None) -> z | L _ -> 0.0\n",
        &[
            "E0314 this match leaves out `R (None, None)` | add an arm `| R (None, None) -> …`, or `| _ -> …` for all that is left",
        ],
    ),
    (
        "def f (k : int) : int = match k with | 0 -> 1 | _ -> 2 | 1 -> 3\n",
        &["E0315 no value reaches this arm"],
    ),
    (
        "type s = Circle real | P\ndef f (x : s) : real = match x with | Circel y -> y | P -> 0.0\n",
        &["E0201 there is no constructor `Circel` | did you mean `Circle`?"],
    ),
    (
        "type s = Circle real | P\ndef f (x : s) : real = match x with | Circle -> 1.0 | P y -> 0.0\n",
        &[
            "E0312 the constructor `Circle` carries a value | write `Circle _`, or a pattern for the value",
            "E0312 the constructor `P` carries no value | write `P`",
        ],
    ),
    (
        "type s = Circle real | P\ndef f = Circle true\ndef g = P 1.0\n",
        &[
            "E0301 argument 1 of `Circle` must be real, this is bool",
            "E0302 what is given an argument here is not a function",
        ],
    ),
    ("type s = Circle real | P s\ndef f (x : s) : real = 1.0\n", &["E0209 the type `s` refers to itself"]),
    ("type s = A | B\ntype t = C | A\ndef f (x : s) : real = 1.0\n", &["E0204 `A` is defined twice"]),
    (
        "type s = A real | B\ndef g (x : s) : real = match x with | A y -> y | B -> 0.0\ndef f = grad g (A 1.0)\n",
        &[
            "E0311 derivatives with respect to sum types are not part of this version yet | sums may be used freely inside it: differentiate with respect to what a constructor carries",
        ],
    ),
    (
        "type s = A real | B\ndef f (x : real) : real = match x with | A y -> y | B -> x\n",
        &["E0301 this pattern is for s, the value is real", "E0301 this pattern is for s, the value is real"],
    ),
    (
        "type o ['a] = Some 'a | None\ndef f (x : o) : real = 1.0\n",
        &["E0208 `o` takes 1 argument, here are 0"],
    ),
    (
        "def f [n] (x : real^n) = x @ 2.0\n",
        &["E0303 `@` does not apply to real^n and real | `@` is for vectors and matrices of reals"],
    ),
    ("def f [n, m] (x : real^n) (y : real^m) = x @ y\n", &["E0402 `@` of real^n and real^m: n is not m"]),
    ("def f (x : real^3) (y : real^4) = x * y\n", &["E0402 `*` of real^3 and real^4: the shapes differ"]),
    (
        "def f (x : real) = let z = w in v\ndef g (x : real) = q\n",
        &[
            "E0201 there is no `w` in scope",
            "E0201 there is no `v` in scope",
            "E0201 there is no `q` in scope",
        ],
    ),
    (
        "def f (x : real) = [1.0, x, true]\n",
        &["E0301 all elements must have one type, here real, this is bool"],
    ),
    (
        "def f (x : real) = loop s = x for i < 3 do (s, s)\n",
        &["E0301 the next state must have the state's type real, this is (real, real)"],
    ),
    ("def f (x : real) = drop 4 [1.0, 2.0]\n", &["E0405 the size -2 is below zero"]),
    (
        "def f [n] (x : real^(n + 1)) : real = x[n]\ndef g = f []\n",
        &["E0405 argument `x` of `f` must be real^(n + 1), this is real^0: n would be -1"],
    ),
    ("def f (x : real) = exp (x, x)\n", &["E0303 `exp` does not apply to (real, real)"]),
    (
        "def f (x : real) = (\\p -> p.0) \n",
        &["E0304 the type of this is not known here | write the parameter's type: \\(x : τ) -> …"],
    ),
    (
        "def f [k] (x : real) : real = x\ndef g = f 1.0\n",
        &[
            "E0403 nothing determines the size k here | write the type, or give the bound of the comprehension",
        ],
    ),
    ("def f (x : real) : real = exp x x\n", &["E0316 `exp` takes 1 argument, here are 2"]),
    (
        "def f (x : real) : real -> real = max x\ndef g : real = max 1.0\n",
        &["E0317 the result of `g` is declared as real, this is a function | an argument may be missing"],
    ),
    ("import \"a.ad\" as a\ndef f (x : real) : real = x\n", &["E0210 imports need files to import from"]),
    (
        "def f (x : bool) : real = sum [ x | i < 3 ]\n",
        &["E0301 the result of `f` is declared as real, this is bool"],
    ),
    (
        "def f (x : real) = let a = (x, x) in let b = (a, a) in let a = (b, b) in let b = (a, a) in let a = (b, b) in let b = (a, a) in let a = (b, b) in let b = (a, a) in let a = (b, b) in let b = (a, a) in let a = (b, b) in let b = (a, a) in let a = (b, b) in let b = (a, a) in 1.0\n",
        &["E0313 the type of this expression is too large"],
    ),
    (
        "type a = (b, b)\ntype b = (c, c)\ntype c = (d, d)\ntype d = (e, e)\ntype e = (f, f)\ntype f = (g, g)\ntype g = (h, h)\ntype h = (i, i)\ntype i = (j, j)\ntype j = (real, real)\ndef q (x : a) : real = 1.0\n",
        &["E0313 the type `a` is too large"],
    ),
    (
        "def f (x : real) = [ x | i ]\n",
        &[
            "E0403 nothing determines the size i here | write the type, or give the bound of the comprehension",
        ],
    ),
    ("def f (x : real) = [1.0][true]\n", &["E0301 an index must be an int, this is bool"]),
    (
        "def f [n] (x : real^n) : real^(n + 1) = x as real^m\n",
        &["E0203 the size `m` is not in scope | bind it in the definition's brackets: [m]"],
    ),
    (
        "def f (x : real) : real = detach\n",
        &["E0317 the result of `f` is declared as real, this is a function | an argument may be missing"],
    ),
    (
        "def f (x : 'a) = x\n",
        &["E0202 the type variable 'a is not bound | bind it in the definition's brackets: ['a]"],
    ),
    (
        "def f (x : real -o int) = x\n",
        &["E0504 int is not a linear type | the tangent type of int and bool is ()"],
    ),
    ("def f (x : D (real -> real)) = x\n", &["E0603 `D` is for first-order types; this is real -> real"]),
    ("def f ['a] (x : 'a) (y : 'a) : bool = x == y\n", &["E0309 these values cannot be compared"]),
    ("def f (x : real) : bool = exp == exp\n", &["E0309 these values cannot be compared"]),
    ("def f ['a] (x : 'a) : 'a = x + x\n", &["E0303 `+` does not apply to 'a and 'a"]),
    (
        "def f (x : real) : real = if x > 0 then [1.0] else x\n",
        &["E0301 the result of `f` is declared as real, this is real^1"],
    ),
    (
        "test t = 1.0 == 1\ntest u = 1 == true\n",
        &["E0301 both sides of a test must have one type, here a number, this is bool"],
    ),
    (
        "def f (x : real) : real = let (a, b) = x in a\n",
        &["E0301 this pattern is for a tuple of 2, the value is real"],
    ),
    ("def f (x : (real, real)) : real = let (a, a) = x in a\n", &["E0204 the name `a` is there twice"]),
    (
        "def f (x : real) = loop s = 0 for i < x do s + i\n",
        &["E0318 a bound must be an int, this is real | `floor_int x` and `round_int x` give ints"],
    ),
    (
        "def f (x : real) = map (\\y -> y + 1) x\n",
        &[
            "E0301 argument `xs` of `map` must be an array, this is real | it is `map ['a, 'b, n] (f : 'a -> 'b) (xs : [n]'a) : [n]'b`",
        ],
    ),
    (
        "def f [n] (x : [n](real, int)) = map (\\p -> p.0 * p.1) x\n",
        &["E0318 `*` does not apply to real and int | ints are converted with `real`: real k"],
    ),
    ("type real = int\n", &["E0204 `real` is a type already"]),
    ("type m [n] = real^n\ndef f (x : m) : real = 1.0\n", &["E0208 `m` takes 1 argument, here are 0"]),
    ("input t [n] : [n]real -> real\n", &["E0301 the input `t` must have a first-order type"]),
    (
        "def f (x : real) = reduce (+) 0.0 1.0\n",
        &[
            "E0301 argument `xs` of `reduce` must be real^n, this is real | it is `reduce ['a, n] (f : 'a -> 'a -> 'a) (z : 'a) (xs : [n]'a) : 'a`",
        ],
    ),
];
