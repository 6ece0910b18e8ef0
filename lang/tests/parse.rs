//! The grammar decisions of the language, one by one.

use lang::surface::parser::{MAX_DEPTH, parse, parse_expr};
use lang::surface::*;

fn expr(text: &str) -> Expr {
    let (e, ds) = parse_expr(text);
    assert!(ds.is_empty(), "{text}: {ds:#?}");
    e
}

/// Both texts mean the same tree.
#[track_caller]
fn same(text: &str, explicit: &str) {
    assert_eq!(expr(text), expr(explicit), "{text} is not {explicit}");
}

/// The codes of a file's problems.
fn codes(text: &str) -> Vec<&'static str> {
    parse(text).1.iter().map(|d| d.code).collect()
}

#[test]
fn the_example_of_the_language_page() {
    let text = r"
--| Mean negative log-likelihood of logistic regression, labels in {-1, 1}.
def loss [n, d] (w : real^d) (xs : [n]real^d) (ys : real^n) : real =
  sum (map2 (\x y -> softplus (-(y * dot w x))) xs ys) / real n + 0.01 * dot w w

def fit [n, d] (w0 : real^d) (xs : [n]real^d) (ys : real^n) (rate : real) (steps : int) : real^d =
  loop w = w0 for _ < steps do
    w - rate * grad (\w -> loss w xs ys) w

input table [n] : [n]real^31 = 'data'
"
    .replace('\'', "\"");
    let (file, ds) = parse(&text);
    assert!(ds.is_empty(), "{ds:#?}");
    assert_eq!(file.items.len(), 3);
    assert_eq!(file.items[0].doc.as_deref().map(|d| &d[..4]), Some("Mean"));
    let ItemKind::Def { rec: false, defs } = &file.items[1].kind else { panic!() };
    assert_eq!(defs[0].params.len(), 5);
    assert!(matches!(&defs[0].body.node, ExprKind::LoopFor(l) if l.index.node == "_"));
}

#[test]
fn postfix_needs_no_gap() {
    same("f x[i]", "f (x[i])");
    assert!(matches!(expr("f [x]").node, ExprKind::App(..)));
    assert!(matches!(expr("f[x]").node, ExprKind::Index(..)));
    same("t.0.1", "(t.0).1");
    same("f t.0 x.y", "(f (t.0)) (x.y)");
    same("a[i, j].x[k]", "((a[i, j]).x)[k]");
    assert!(matches!(expr("a[i:j]").node, ExprKind::Slice(_, Some(_), Some(_))));
    assert!(matches!(expr("a[:j]").node, ExprKind::Slice(_, None, Some(_))));
    assert!(matches!(expr("a[i:]").node, ExprKind::Slice(_, Some(_), None)));
}

#[test]
fn precedence() {
    same("-x^2", "-(x^2)");
    same("2^-1", "2^(-1)");
    same("2^-x^3 * y", "(2^(-(x^3))) * y");
    same("a^b^c", "a^(b^c)");
    same("f -x", "f - x");
    same("a - b - c * d @ e", "(a - b) - ((c * d) @ e)");
    same("a * -b", "a * (-b)");
    same("a + b < c && d || e", "(((a + b) < c) && d) || e");
    same("x |> f >> g", "x |> (f >> g)");
    same("f x + g y z", "(f x) + ((g y) z)");
    same("x + y as real^n", "(x + y) as real^n");
    same("1 + \\x -> x + 2", "1 + (\\x -> (x + 2))");
    same("2 * if a then b else c + d", "2 * (if a then b else (c + d))");
    same("l • v + w", "(l v) + w");
    same("!a ⊗ l • v", "tensor a (l v)");
    same("(+) 1", "((+)) 1");
    same("λx → x", "\\x -> x");
    same("λ̲(z : real) ⊸ z", "\\(z : real) -o z");
}

#[test]
fn forms() {
    same("let f x y = x + y in f", "let f = \\x y -> x + y in f");
    same("let x : real = 1.0 in x", "let (x : real) = 1.0 in x");
    assert!(matches!(
        expr("match s with | Circle r -> r | Rect (a, b) -> a * b").node,
        ExprKind::Match(_, arms) if arms.len() == 2
    ));
    assert!(matches!(
        expr("[ a[i] * b[j] | i < n + 1, j ]").node,
        ExprKind::Comprehension { bounds, .. } if bounds.len() == 2 && bounds[1].1.is_none()
    ));
    assert!(matches!(
        expr("loop (s, k) = (1.0, 0) while k < 3 && s < 2.0 do (s, k + 1)").node,
        ExprKind::LoopWhile { .. }
    ));
    for (text, flavour) in [
        ("loop s = 0.0 for i < n do s", LoopFlavour::Plain),
        ("loop s = 0.0 for i < n collect (s, s)", LoopFlavour::Collect),
        ("loop_up z = w for i < n do (z, z)", LoopFlavour::LinearUp),
        ("loop_down (z : real) = w for i < n do (z, z)", LoopFlavour::LinearDown),
    ] {
        assert!(matches!(expr(text).node, ExprKind::LoopFor(l) if l.flavour == flavour), "{text}");
    }
    assert!(matches!(expr("{x = 1, y = 2.0}").node, ExprKind::Record(f) if f.len() == 2));
    assert!(matches!(expr("{r with x = 3}").node, ExprKind::RecordUpdate(..)));
    assert!(matches!(expr("{a.b with [i, j] = e}").node, ExprKind::ArrayUpdate { .. }));
    assert!(matches!(expr("case t of tensor (x : real) v -> v").node, ExprKind::TensorElim { .. }));
    same("case t of !x ⊗ v → v", "case t of tensor x v -> v");
    assert!(matches!(expr("suml i < n -> z[i]").node, ExprKind::Suml { .. }));
    assert!(matches!(expr("zero[real^n]").node, ExprKind::TypeApp(_, args) if args.len() == 1));
    assert!(matches!(expr("onehot[n + 1] i z").node, ExprKind::App(..)));
    assert!(matches!(expr("\\(z : real -o !real * D real) -o z").node, ExprKind::LinLam(..)));
    assert!(matches!(expr("f'rev x'").node, ExprKind::App(..)));
    assert!(matches!(expr("[]").node, ExprKind::Array(es) if es.is_empty()));
    assert!(matches!(expr("()").node, ExprKind::Tuple(es) if es.is_empty()));
}

#[test]
fn items() {
    let text = r#"
type vec ['a, n] = ['n]'a
"#;
    assert_eq!(codes(text), ["E0101"]);
    let text = r#"
type vec ['a, n] = [n]'a
type shape = Circle real | Rect (real, real) | Nothing
import "p.ad" as m
import linalg (dot, norm)
input a [n] : real^n
input b : real = "b.csv"
test t = f 1.0 ~= 2.0 within 1e-6
test u = f 1 == 2
derivative ste x dx = dx
derivative erf via slow_erf
adjoint solve p w = w
def rec even (n : int) : bool = if n == 0 then true else odd (n - 1)
and odd (n : int) : bool = if n == 0 then false else even (n - 1)
def test (input : real) : real = input
"#;
    let (file, ds) = parse(text);
    assert!(ds.is_empty(), "{ds:#?}");
    assert_eq!(file.items.len(), 13);
    assert!(matches!(&file.items[11].kind, ItemKind::Def { rec: true, defs } if defs.len() == 2));
}

#[test]
fn errors_are_reported_one_by_one() {
    let text = "def f (x : real) : real = (x + ) * (2 * ) + g\ndef g (x) : real = x x = 1\ndef h (x : real) = x\ndef = 1";
    let (file, ds) = parse(text);
    let codes: Vec<_> = ds.iter().map(|d| d.code).collect();
    assert_eq!(codes, ["E0101", "E0101", "E0111", "E0101", "E0101"], "{ds:#?}");
    assert_eq!(file.items.len(), 4);
    assert!(matches!(file.items[2].kind, ItemKind::Def { .. }));
}

#[test]
fn codes_of_wrong_texts() {
    for (text, code) in [
        ("def f (x : real) : real = x +", "E0102"),
        ("def f", "E0102"),
        ("x = 1", "E0103"),
        ("  def f (x : real) : real = x", "E0103"),
        ("def f (x : real) : real = x # y", "E0104"),
        ("import \"abc", "E0105"),
        ("def f : real = 1.", "E0106"),
        ("def f : real = .5", "E0106"),
        ("def f : real = 12ab", "E0106"),
        ("def f : real = 1e999", "E0106"),
        ("def f : int = 9223372036854775808", "E0107"),
        ("def f (a : int) : bool = a < a < a", "E0109"),
        ("def f : real = (1.0 + [2.0)", "E0110"),
        ("def f : real = ((1.0)", "E0110"),
        ("def f : real = 1.0)", "E0110"),
        ("def f x : real = x", "E0111"),
        ("test t = 1.0", "E0112"),
        ("def f (x : real) : real = x .y", "E0113"),
    ] {
        assert_eq!(codes(text), [code], "{text}: {:#?}", parse(text).1);
        for d in parse(text).1 {
            assert!(!d.labels.is_empty(), "{text}: no place");
        }
    }
    assert_eq!(codes("test a = (1 < 2) == true"), [""; 0]);
}

#[test]
fn deep_nesting_has_an_answer() {
    let nested = |open: &str, close: &str, n: usize| {
        format!("def f (x : real) : real = {}x{}", open.repeat(n), close.repeat(n))
    };
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("(f ", ")"),
        ("\\x -> ", ""),
        ("if x then x else ", ""),
        ("let x = x in ", ""),
        ("- ", ""),
        ("x^", ""),
    ] {
        assert_eq!(codes(&nested(open, close, MAX_DEPTH / 2 - 10)), [""; 0], "{open}");
        assert_eq!(codes(&nested(open, close, 10_000)), ["E0108"], "{open}");
    }
    // What stands side by side nests no deeper than one of it.
    let value =
        "let a = if x < 1.0 then x else if x < 2.0 then 1.0 else match b with | 1 -> \\y -> y | _ -> x in ";
    assert_eq!(codes(&nested(value, "", MAX_DEPTH / 2 - 10)), [""; 0]);
    let elements = |element: &str| format!("def f (x : real) : real^5000 = [{}x]", element.repeat(4999));
    assert_eq!(codes(&elements("if x < 0.0 then \\y -> y else let a = x in a, ")), [""; 0]);
    let arms = "| 7 -> let a = if x then y else \\z -> z in a ".repeat(5000);
    assert_eq!(codes(&format!("def f (x : real) : real = match x with {arms}")), [""; 0]);
    assert_eq!(codes(&nested("(", "", 10_000)), ["E0108"]);
    assert_eq!(codes(&nested("", " + x", 10_000)), ["E0108"]);
    assert_eq!(
        codes(&format!("def f (x : {}real{}) : real = x", "(".repeat(10_000), ")".repeat(10_000))),
        ["E0108"]
    );
    // A header that nests too deep is not parsed, whatever is in it; one before a body that does is known.
    let header = format!("def f{}n{} (x : real) : real = x", "[".repeat(10_000), "]".repeat(10_000));
    let (file, problems) = parse(&header);
    assert_eq!(problems.iter().map(|d| d.code).collect::<Vec<_>>(), ["E0108"]);
    assert_eq!(file.items[0].kind, ItemKind::Error);
    assert!(matches!(parse(&nested("(", ")", 10_000)).0.items[0].kind, ItemKind::Def { .. }));
}
