//! Mutations of texts: what editors, version control, tools and accidents do to programs, and worse.

use proofs::rng::Rng;
use std::path::Path;

/// Texts longer than this are cut: a fault seldom needs more.
const LONGEST: usize = 1500;

/// The repository's own files.
pub fn corpus() -> Vec<String> {
    fn below(dir: &Path, out: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                below(&path, out);
            } else if path.extension().is_some_and(|e| e == "ad") {
                out.push(path);
            }
        }
    }
    let mut paths = vec![];
    ["examples", "tests/cases", "tests/ui", "cli/std"]
        .iter()
        .for_each(|dir| below(&tests::root().join(dir), &mut paths));
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

/// Some lines of a file.
pub fn excerpt(rng: &mut Rng, corpus: &[String]) -> String {
    let lines: Vec<&str> = rng.pick(corpus).split_inclusive('\n').collect();
    if lines.is_empty() {
        return String::new();
    }
    // From the beginning of an item, more often than not.
    let start = rng.below(lines.len());
    let start = match rng.chance(3, 4) {
        true => (0..=start).rev().find(|k| lines[*k].starts_with("def") || *k == 0).unwrap_or(0),
        false => start,
    };
    let mut text = String::new();
    for line in &lines[start..] {
        if text.len() + line.len() > LONGEST || rng.chance(1, 40) {
            break;
        }
        text += line;
    }
    text
}

/// Words, numbers, blanks and single signs.
fn tokens(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' || c == '\'' => 1,
        c if c == ' ' || c == '\n' => 2,
        _ => 3,
    };
    let mut out = vec![];
    let mut start = 0;
    let mut last = 0;
    for (at, c) in text.char_indices() {
        if at > start && (class(c) != last || last == 3) {
            out.push(&text[start..at]);
            start = at;
        }
        last = class(c);
    }
    out.push(&text[start..]);
    out
}

const ODD: &[&str] = &[
    "\u{feff}",
    "\u{0}",
    "\u{202e}",
    "\u{301}",
    "\u{1f600}",
    "λ",
    "λ\u{332}",
    "⊸",
    "⊗",
    "•",
    "→",
    "ß",
    "ﬁ",
    "\r",
    "\r\n",
    "\t",
    "\u{85}",
    "\u{2028}",
    "\"",
    "'",
    "''",
    "--",
    "--|",
    "--|\n",
    "…",
    "²",
    "x\u{332}",
    "ǅ",
    "١",
    "\\",
    "`",
    "#",
    "$",
    "%",
    ";",
    "~",
];

const HUGE: &[&str] = &[
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "99999999999999999999999999",
    "1e308",
    "1e309",
    "1e-400",
    "0.1e99999",
    "1e",
    "1.",
    ".5",
    "0x10",
    "00012",
    "1_000",
    "1.5.2",
    "4294967296",
    "2147483648",
    "1000000000",
];

const WORDS: &[&str] = &[
    "let",
    "in",
    "if",
    "then",
    "else",
    "match",
    "with",
    "loop",
    "for",
    "while",
    "do",
    "collect",
    "loop_up",
    "loop_down",
    "case",
    "of",
    "tensor",
    "suml",
    "as",
    "and",
    "within",
    "true",
    "false",
    "_",
    "def",
    "rec",
    "type",
    "import",
    "input",
    "test",
    "derivative",
    "adjoint",
    "via",
    "grad",
    "jvp",
    "vjp",
    "D",
    "real",
    "int",
    "bool",
    "map",
    "sum",
    "fold",
    "scan",
    "zero",
    "coproj",
    "->",
    "-o",
    "==",
    "~=",
    "|>",
    ">>",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "=",
    "|",
    "!",
    "?",
    ".",
    "+",
    "-",
    "*",
    "/",
    "^",
    "@",
    "<",
    ">",
    "&&",
    "||",
    ".0",
    ".x",
    "'a",
];

/// Brackets and forms that nest.
const NESTS: &[(&str, &str, &str)] = &[
    ("(", "x", ")"),
    ("[", "x", "]"),
    ("{x = ", "x", "}"),
    ("(\\x -> ", "x", ")"),
    ("let x = ", "1", " in x"),
    ("if x then x else ", "x", ""),
    ("- ", "x", ""),
    ("f (", "x", ")"),
    ("[ ", "x", " | i < n ]"),
    ("(", "real", " -> real)"),
    ("[n]", "real", ""),
    ("x + ", "x", ""),
    ("x ^ ", "x", ""),
    ("a[", "i", "]"),
    ("", "x", ".0"),
    ("!", "real", " * real"),
    ("match x with A -> ", "x", ""),
    ("D ", "real", ""),
    ("loop s = x for i < n do ", "s", ""),
    ("(", "x", ", x)"),
    ("{", "x", " with y = x}"),
];

pub fn mutated(rng: &mut Rng, text: &str, corpus: &[String]) -> String {
    let all = tokens(text);
    let mut tokens: Vec<String> = all.iter().map(|t| t.to_string()).collect();
    let k = rng.below(tokens.len());
    match rng.below(14) {
        0 | 1 => drop(tokens.remove(k)),
        2 => {
            let end = (k + 1 + rng.below(12)).min(tokens.len());
            drop(tokens.drain(k..end));
        }
        3 => tokens.insert(k, tokens[k].clone()),
        4 => {
            let j = rng.below(tokens.len());
            tokens.swap(k, j);
        }
        5 => tokens[k] = rng.pick(WORDS).to_string(),
        6 => tokens.insert(k, format!(" {} ", rng.pick(WORDS))),
        7 => {
            let other = rng.below(tokens.len());
            tokens[k] = tokens[other].clone();
        }
        8 => tokens.insert(k, rng.pick(ODD).to_string()),
        9 => tokens[k] = rng.pick(HUGE).to_string(),
        10 => {
            let (open, inside, close) = *rng.pick(NESTS);
            let depth = *rng.pick(&[2, 5, 30, 300, 3000]);
            // Deep texts are long; a shallow one is as good where every level is long.
            let depth = depth.min(20_000 / (open.len() + close.len()));
            tokens[k] = format!("{}{inside}{}", open.repeat(depth), close.repeat(depth));
        }
        11 => {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..rng.int(1, 4) {
                if !bytes.is_empty() {
                    let at = rng.below(bytes.len());
                    bytes[at] ^= 1 << rng.below(8);
                }
            }
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        12 => {
            // The beginning of this and the end of another.
            let other = excerpt(rng, corpus);
            let cut = |text: &str, at: usize| (0..=at).rev().find(|k| text.is_char_boundary(*k)).unwrap_or(0);
            let (a, b) = (rng.below(text.len() + 1), rng.below(other.len() + 1));
            return format!("{}{}", &text[..cut(text, a)], &other[cut(&other, b)..]);
        }
        _ => {
            let line = text.split_inclusive('\n').count().max(1);
            let (from, times) = (rng.below(line), rng.int(2, 4) as usize);
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let repeated = lines.get(from).copied().unwrap_or("\n").repeat(times);
            return lines[..from.min(lines.len())].concat()
                + &repeated
                + &lines[from.min(lines.len())..].concat();
        }
    }
    tokens.concat()
}
