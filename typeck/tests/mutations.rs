//! Texts with a token changed: they are rejected with a place, or accepted with Core that passes the checker; nothing panics.

mod common;
use lang::core::{Program, Term, Tm};
use lang::walk::{Mapper, map_term};
use typeck::check::{Language, check_program};

const TEXTS: &[&str] = &[
    "def loss [n, d] (w : real^d) (xs : [n]real^d) (ys : real^n) : real =
  sum (map2 (\\x y -> softplus (-(y * dot w x))) xs ys) / real n + 0.01 * dot w w
def fit [n, d] (w0 : real^d) (xs : [n]real^d) (ys : real^n) (rate : real) (steps : int) : real^d =
  loop w = w0 for _ < steps do
    w - rate * grad (\\w -> loss w xs ys) w
",
    "type layer [i, o] = {w : real^(o, i), b : real^o}
def apply [i, o] (l : layer[i, o]) (x : real^i) : real^o = tanh (l.w @ x + l.b)
def mlp [n] (p : (layer[n, 4], layer[4, 2])) (x : real^n) : real^2 = softmax (apply p.1 (apply p.0 x))
def nll [n, m] (p : (layer[n, 4], layer[4, 2])) (xs : [m]real^n) (ys : [m]int) : real =
  -(sum [ log (mlp p xs[k])[ys[k]] | k < m ]) / real m
def step [n, m] (p : (layer[n, 4], layer[4, 2])) (xs : [m]real^n) (ys : [m]int) =
  let g = grad (\\q -> nll q xs ys) p in
  ({w = p.0.w - 0.1 * g.0.w, b = p.0.b - 0.1 * g.0.b}, {p.1 with b = g.1.b})
",
    "input table [n] : [n]real^31 = \"data/breast_cancer.csv\"
def features = [ table[i, j] | i < length table, j < 30 ]
def labels = [ 2 * table[i, 30] - 1 | i ]
def mean [n] (x : real^n) : real = sum x / real n
def std [n] (x : real^n) : real = let m = mean x in sqrt (mean ((x - m) ^ 2))
def columns = transpose (map (\\c -> (c - mean c) / std c) (transpose features))
def main = (sum columns, argmax labels, take 3 (permutation 1 (length table)))
test positive = std [1.0, 2.0] ~= 0.5
",
    "def f [n] (x : real^(n + 1)) : real^n = [ x[i + 1] - x[i] | i < n ]
def g (k : int) (x : real) : real^k = let m = floor_int x + k in take k (replicate m x)
def h [n] (x : real^n) = loop (s, t) = (0.0, x) for i < n collect ((s + t[i], t), {t with [i] = s})
def rec power (x : real) (k : int) : real = if k == 0 then 1.0 else x * power x (k - 1)
def u (x : real) = (loop y = x while y < 100 do y * y, x |> sqrt, (sqrt >> exp) x, (+) x, max 0.0)
",
    "def sq'rev (x : real) : (real, real -o ((), real)) =
  let d : (real, real -o ((), real)) = (x, \\(w : real) -o coproj[((), real)] 0 w) in
  (x * x, \\(w : real) -o let (z : ((), real)) = d.1 (x * w) + d.1 (x * w) in z)
def m [n] (x : real^n) : real^n -o (real, real^n) =
  \\(v : real^n) -o loop_up z = zero[real] for i < n do (z + x[i] * v[i], if x[i] > 0 then z else zero[real])
def c (x : real) : real -o real =
  \\(v : real) -o case (tensor x v) of tensor (y : real) (z : real) -> suml i < 3 -> y * (onehot[3] i z)[i]
",
];

/// xorshift
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// Words, numerals and single symbols with the blanks between them.
fn pieces(text: &str) -> Vec<String> {
    let mut out: Vec<String> = vec![];
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' || c == '\'' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    for c in text.chars() {
        match out.last_mut() {
            Some(last) if class(c) != 2 && last.chars().next_back().is_some_and(|d| class(d) == class(c)) => {
                last.push(c)
            }
            _ => out.push(c.to_string()),
        }
    }
    out
}

fn calls_what_is_missing(p: &Program) -> bool {
    struct Calls<'p>(&'p Program, bool);
    impl Mapper for Calls<'_> {
        fn term(&mut self, t: &Tm) -> Tm {
            if let Term::Call { def, .. } = &**t {
                self.1 |= !self.0.defs.contains_key(def);
            }
            map_term(self, t)
        }
    }
    let mut calls = Calls(p, false);
    p.defs.values().for_each(|d| {
        calls.term(&d.body);
    });
    calls.1
}

#[test]
fn mutants() {
    for text in TEXTS {
        common::program(text);
    }
    let all: Vec<Vec<String>> = TEXTS.iter().map(|t| pieces(t)).collect();
    let words: Vec<&String> = all.iter().flatten().filter(|p| !p.trim().is_empty()).collect();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut accepted, mut rejected) = (0, 0);
    for _ in 0..MUTANTS {
        let mut mutant = all[random.below(all.len())].clone();
        for _ in 0..=random.below(2) {
            let k = random.below(mutant.len());
            match random.below(4) {
                0 => {
                    mutant.remove(k);
                }
                1 => mutant.insert(k, words[random.below(words.len())].clone()),
                _ => mutant[k] = words[random.below(words.len())].clone(),
            }
        }
        let text = mutant.concat();
        let (file, _) = lang::surface::parser::parse(&text);
        let c = typeck::check_file(&file);
        for d in &c.diagnostics {
            assert!(!d.labels.is_empty(), "no place in {d:?}\n{text}");
        }
        match c.diagnostics.is_empty() {
            true => accepted += 1,
            false => rejected += 1,
        }
        // A definition that was accepted is well typed, errors elsewhere or not: calls of what has no Core aside.
        if !calls_what_is_missing(&c.program)
            && let Err(v) = check_program(&c.program, Language::Both)
        {
            panic!("{v}\n{text}");
        }
    }
    assert!(accepted > MUTANTS / 50 && rejected > MUTANTS / 50, "{accepted} accepted, {rejected} rejected");
}

const MUTANTS: usize = 400;
