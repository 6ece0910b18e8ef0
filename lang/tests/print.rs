//! Parsing what is printed gives the same tree, in every style and at every width.

use lang::surface::parser::{parse, parse_expr};
use lang::surface::print::{self, Style};
use lang::surface::*;
use proptest::prelude::*;
use trees::{expr, item};

mod trees;

fn styles() -> impl Strategy<Value = Style> {
    (prop::sample::select(vec![1, 20, 100]), any::<bool>())
        .prop_map(|(width, symbols)| Style { width, symbols })
}

/// A tree that a failing case shows as text.
#[derive(Clone)]
struct Shown<T>(T, fn(&T, Style) -> String);

impl<T> std::fmt::Debug for Shown<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.1(&self.0, Style::default()))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_expression_reads_back(e in expr().prop_map(|e| Shown(e, print::expr)), style in styles()) {
        let text = print::expr(&e.0, style);
        let (again, ds) = parse_expr(&text);
        prop_assert!(ds.is_empty(), "{text}\n{ds:?}");
        let wrong = print::expr(&again, style);
        prop_assert!(again == e.0, "{text}\nreads as\n{wrong}");
    }

    #[test]
    fn a_file_reads_back(items in prop::collection::vec(item(), 0..4).prop_map(|items| Shown(File { items }, print::file)), style in styles()) {
        let text = print::file(&items.0, style);
        let (again, ds) = parse(&text);
        prop_assert!(ds.is_empty(), "{text}\n{ds:?}");
        prop_assert!(again == items.0, "{text}\n{again:?}");
    }

    #[test]
    fn no_text_makes_the_parser_panic(tokens in prop::collection::vec(prop::sample::select(SCRAPS), 0..40)) {
        parse(&format!("def f (x : real) : real = {}", tokens.join(" ")));
        parse(&tokens.concat());
    }

    #[test]
    fn no_characters_make_the_parser_panic(text in "\\PC{0,40}") {
        parse(&text);
        parse(&format!("def {text}"));
    }
}

const SCRAPS: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    "=",
    ":",
    "|",
    "->",
    "-o",
    "\\",
    "x",
    "f",
    "1",
    "2.0",
    "1.",
    ".5",
    ".x",
    ".0",
    "let",
    "in",
    "if",
    "then",
    "else",
    "match",
    "with",
    "loop",
    "for",
    "do",
    "while",
    "collect",
    "case",
    "of",
    "tensor",
    "suml",
    "as",
    "and",
    "def",
    "\ndef",
    "\ntest",
    "\n--| d\n",
    "--",
    "\"",
    "'a",
    "!",
    "?",
    "+",
    "^",
    "-",
    "<",
    "==",
    "zero[",
    "D",
    "real",
    "~=",
    "within",
    "_",
    "λ",
    "⊗",
    "•",
    "é",
    "#",
];

#[test]
fn the_layout_of_a_definition() {
    let text = r"--| The loss.
def loss [n, d] (w : real^d) (xs : [n]real^d) (ys : real^n) : real =
  sum (map2 (\x y -> softplus (-(y * dot w x))) xs ys) / real n + 0.01 * dot w w

def fit [n, d] (w0 : real^d) (xs : [n]real^d) (ys : real^n) (rate : real) (steps : int) : real^d =
  loop w = w0 for _ < steps do w - rate * grad (\w -> loss w xs ys) w

def g (x : real) : real = if x < 0.0 then -x else x
";
    let (file, ds) = parse(text);
    assert!(ds.is_empty());
    assert_eq!(print::file(&file, Style::default()), text);
}
