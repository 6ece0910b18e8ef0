//! Whole programs from text through the loop passes: same values before and after, and the shapes of lowering.md.

use lang::core::{Lit, Program, Tm};
use lang::loops::eval::{self, Arg, Array, Data};
use lang::loops::{BufKind, Param, Proc, text, verify};
use lang::precision::Precision;
use lang::prim::Scalar;
use opt::passes::{self, Options};

fn derive(
    program: &mut Program,
    mode: lang::types::Mode,
    x: &lang::core::Binder,
    body: &Tm,
    scope: &lang::typing::Scope,
    site: &lang::diag::Site,
    supply: &mut lang::name::Supply,
) -> Result<Tm, opt::Error> {
    ad::derive_lambda(program, x, body, scope, mode, site, supply).map_err(|e| opt::Error::bug(e.to_string()))
}

/// Definition `name` in normal form.
fn normal(source: &str, name: &str) -> opt::Normal {
    let (file, diagnostics) = lang::surface::parser::parse(source);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let checked = typeck::check_file(&file);
    assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
    let def = &checked.program.defs[name];
    opt::normal_form(def, &checked.program, &derive, Precision::Double).unwrap()
}

/// Its loops as emitted.
fn emitted(normal: &opt::Normal) -> Proc {
    let p = opt::emit(normal).unwrap();
    verify::verify(&p).unwrap_or_else(|m| panic!("{m}\n{}", text::print(&p)));
    p
}

/// Arguments for a procedure whose int parameters are these, its arrays filled with small numbers.
fn arguments(p: &Proc, ints: &[i64]) -> Vec<Arg> {
    let mut ints = ints.iter();
    let mut sizes = std::collections::HashMap::new();
    let mut k = 0.0;
    let mut number = || {
        k += 1.0;
        (k * 0.7_f64).sin()
    };
    let mut args = vec![];
    for param in &p.params {
        match param {
            Param::Scalar(v) => match p.vals[v.0 as usize].0 {
                Scalar::Int => {
                    let n = *ints.next().expect("enough ints");
                    sizes.insert(*v, n);
                    args.push(Arg::Scalar(Lit::Int(n)));
                }
                Scalar::Real => args.push(Arg::Scalar(Lit::Real(number()))),
                Scalar::Bool => args.push(Arg::Scalar(Lit::Bool(true))),
            },
            Param::Array(b) if p.info(*b).kind == BufKind::In => {
                let size = |o: &lang::loops::Operand| match o {
                    lang::loops::Operand::Val(v) => sizes[v] as usize,
                    lang::loops::Operand::Int(n) => *n as usize,
                    other => panic!("{other:?}"),
                };
                let shape: Vec<usize> = p.info(*b).shape.iter().map(size).collect();
                let n = shape.iter().product();
                args.push(Arg::Array(match p.info(*b).elem {
                    Scalar::Real => Array::reals(shape, (0..n).map(|_| number()).collect::<Vec<_>>()),
                    Scalar::Int => Array::ints(shape, (0..n).map(|i| i as i64 % 2).collect::<Vec<_>>()),
                    Scalar::Bool => Array { shape, data: Data::Bool(vec![true; n]) },
                }));
            }
            Param::Array(_) => (),
        }
    }
    args
}

/// The optimised loops as text, after checking that they compute what the emitted ones do, at no more cost.
fn optimised(source: &str, name: &str, ints: &[i64]) -> String {
    compared(&emitted(&normal(source, name)), ints)
}

/// The same after simplification, as programs are compiled.
fn simplified(name: &str, ints: &[i64]) -> String {
    let simple = opt::simplify(&normal(PROGRAMS, name), &opt::simplify::Options::default());
    compared(&emitted(&simple), ints)
}

/// The same of these loops.
fn compared(before: &Proc, ints: &[i64]) -> String {
    let mut after = before.clone();
    passes::optimise(&mut after, &Options { verify: true, ..Options::default() }).unwrap();
    let args = arguments(before, ints);
    let show = |p: &Proc| text::print(p);
    let (a, b) = (eval::run(before, &args).unwrap(), eval::run(&after, &args).unwrap());
    for (x, y) in a.outs.iter().zip(&b.outs) {
        let (Data::Real(x), Data::Real(y)) = (&x.data, &y.data) else { continue };
        let close = x.iter().zip(y).all(|(x, y)| (x - y).abs() <= 1e-13 * (1.0 + x.abs()));
        assert!(close, "{x:?}\n{y:?}\n{}\n{}", show(before), show(&after));
    }
    if std::env::var("SHOW").is_ok() {
        eprintln!("{}\n{}\n{} -> {}\n", show(before), show(&after), a.cost, b.cost);
    }
    assert!(b.cost <= a.cost, "{} -> {}\n{}\n{}", a.cost, b.cost, show(before), show(&after));
    show(&after)
}

const PROGRAMS: &str = "\
def joined [n, m] (a : real^(n, 3)) (b : real^m) : real^(3*n + m) =
  concat (flatten [ [ exp (a[i, k]) | k < 3 ] | i < n ]) [ sin (b[i]) | i < m ]
def summed [n, m] (a : real^(n, 3)) (b : real^m) : real =
  let c = joined a b in sum [ c[i] * c[i] | i < 3*n + m ]
def dsummed [n, m] (a : real^(n, 3)) (b : real^m) : (real^(n, 3), real^m) = grad (\\(a, b) -> summed a b) (a, b)
def twice [n] (a : real^n) : real^(2*n) = let b = map (\\x -> exp x) a in concat b b
def halves [n] (a : real^n) : real^(2*n) =
  loop s = [ 0.0 | i < 2*n ] for k < 3 do
    concat [ exp (s[i]) + a[i] | i < n ] [ sin (s[n + i]) * a[i] | i < n ]
def stages [n] (x : real^n) (s : int) : real =
  sum (loop y = [ 1.0 | _ < n ] for _ < s do
    let u = [ y[i] + 0.5 * x[i] * y[i] | i < n ] in
    let v = [ y[i] + x[i] * u[i] * u[i] | i < n ] in
    [ v[i] * v[i] | i < n ])
def dstages [n] (x : real^n) (s : int) : real^n = grad (\\x -> stages x s) x

def dot1 [n] (x : real^n) (y : real^n) : real = sum (map2 (\\a b -> a * b) x y)
def ddot [n] (x : real^n) (y : real^n) : (real^n, real^n) = grad (\\p -> dot1 p.0 p.1) (x, y)

def loss [n, d] (w : real^d) (xs : [n]real^d) (ys : real^n) : real =
  sum (map2 (\\x y -> softplus (-(y * dot w x))) xs ys) / real n + 0.01 * dot w w
def dloss [n, d] (w : real^d) (xs : [n]real^d) (ys : real^n) : (real, real^d) = value_and_grad (\\w -> loss w xs ys) w

def lse [n] (x : real^n) : real = log (sum (map (\\a -> exp a) x))
def dlse [n] (x : real^n) : real^n = grad lse x

def chain [n] (x : real^n) : real = let y = [ exp (sin x[i]) | i < n ] in log (sum (map (\\a -> a * a) y))
def dchain [n] (x : real^n) : real^n = grad chain x

def quad [n, d] (a : real^(n,d)) (x : real^d) : real = let y = [ sum (map2 (\\p q -> p * q) a[i] x) | i < n ] in sum (map (\\v -> v * v) y)
def dquad [n, d] (a : real^(n,d)) (x : real^d) : (real^(n,d), real^d) = grad (\\p -> quad p.0 p.1) (a, x)

def steps (x : real) (n : int) : real = loop s = x for i < n do sin s * x
def dsteps (x : real) (n : int) : real = grad (\\x -> steps x n) x

def branch [n] (x : real^n) : real = sum [ if x[i] > 0 then exp x[i] * x[i] else sin x[i] | i < n ]
def dbranch [n] (x : real^n) : real^n = grad branch x

def picks [n, k] (table : real^k) (at : [n]int) : real = sum [ let t = table[at[i]] in t * t | i < n ]
def dpicks [n, k] (table : real^k) (at : [n]int) : real^k = grad (\\t -> picks t at) table

def mixture [n, k, d] (mu : real^(k,d)) (xs : real^(n,d)) : real =
  sum [ log (sum [ exp (-(sum [ (xs[i,j] - mu[c,j]) * (xs[i,j] - mu[c,j]) | j < d ])) | c < k ]) | i < n ]
def dmixture [n, k, d] (mu : real^(k,d)) (xs : real^(n,d)) : real^(k,d) = grad (\\m -> mixture m xs) mu

def fit [n, d] (w0 : real^d) (xs : [n]real^d) (ys : real^n) (rate : real) (steps : int) : real^d =
  loop w = w0 for _ < steps do w - rate * grad (\\w -> loss w xs ys) w

def mlp [n, d, h, k] (w1 : real^(h,d)) (b1 : real^h) (w2 : real^(k,h)) (b2 : real^k) (xs : [n]real^d) (ys : [n]int) : real =
  sum [ let a = [ tanh (dot w1[j] xs[i] + b1[j]) | j < h ] in
        let s = [ dot w2[c] a + b2[c] | c < k ] in
        logsumexp s - s[ys[i]] | i < n ] / real n
def dmlp [n, d, h, k] (w1 : real^(h,d)) (b1 : real^h) (w2 : real^(k,h)) (b2 : real^k) (xs : [n]real^d) (ys : [n]int)
    : (real, (real^(h,d), real^h, real^(k,h), real^k)) =
  value_and_grad (\\p -> mlp p.0 p.1 p.2 p.3 xs ys) (w1, b1, w2, b2)

def gates [n] (w : real^n) (x : real^n) (m : int) : real = sum (loop s = x for _ < m do sigmoid (s * w))
def dgates [n] (w : real^n) (x : real^n) (m : int) : real^n = grad (\\w -> gates w x m) w

def layers [r, b] (w : real^(r,b)) (s : real^(r,b)) (x : real^b) (n : int) : real =
  let (z, s) =
    loop (z, s) = (x, s) for _ < n do
      loop (z, s) = (z, s) for j < div r 2 do
        let y = tanh (z * w[2 * j] + s[2 * j + 1] * w[2 * j + 1]) in
        (y, {{s with [2 * j] = y} with [2 * j + 1] = z}) in
  sum z
def dlayers [r, b] (w : real^(r,b)) (s : real^(r,b)) (x : real^b) (n : int) : real^(r,b) = grad (\\w -> layers w s x n) w
";

/// How often the text occurs.
fn count(shown: &str, text: &str) -> usize {
    shown.matches(text).count()
}

/// One loop, no temporaries, no fills: both cotangents stored where they are wanted.
#[test]
fn dot_product() {
    let shown = optimised(PROGRAMS, "ddot", &[5]);
    assert_eq!((count(&shown, "for "), count(&shown, "var "), count(&shown, ":=")), (1, 0, 0), "{shown}");
    assert_eq!((count(&shown, "check"), count(&shown, "parallel")), (0, 1), "{shown}");
}

/// Primal and reverse share the iteration and the exponential; nothing of length n is kept.
#[test]
fn logistic_loss() {
    let shown = optimised(PROGRAMS, "dloss", &[5, 3]);
    assert_eq!((count(&shown, "< n"), count(&shown, "exp("), count(&shown, "check")), (1, 1, 0), "{shown}");
    // ys alone has length n.
    assert_eq!((count(&shown, "real[n]"), count(&shown, "var ")), (1, 0), "{shown}");
}

/// The cotangent depends on the whole sum: two loops, the exponentials kept, the sum formed where they are.
#[test]
fn keep_or_recompute() {
    for (name, kept) in [("dlse", "exp("), ("dchain", "exp(sin(")] {
        let shown = optimised(PROGRAMS, name, &[5]);
        assert_eq!((count(&shown, "for "), count(&shown, "var "), count(&shown, kept)), (2, 1, 1), "{shown}");
        assert_eq!(count(&shown, ":="), 0, "{shown}");
    }
}

/// Primal and reverse branch once, each arm stores; the arm's residual is a value.
#[test]
fn branches() {
    let shown = optimised(PROGRAMS, "dbranch", &[5]);
    assert_eq!((count(&shown, "if "), count(&shown, "for "), count(&shown, "exp(")), (1, 1, 1), "{shown}");
    assert_eq!((count(&shown, ":="), count(&shown, "+="), count(&shown, "yield")), (0, 0, 0), "{shown}");
}

/// A data-dependent index keeps its one check.
#[test]
fn gather() {
    let shown = optimised(PROGRAMS, "dpicks", &[5, 3]);
    assert_eq!((count(&shown, "check"), count(&shown, "for ")), (1, 1), "{shown}");
}

/// A step of descent updates the weights where they are; nothing is allocated in the loop.
#[test]
fn descent() {
    let shown = optimised(PROGRAMS, "fit", &[5, 3, 4]);
    let body = &shown[shown.find("for _").unwrap()..];
    assert_eq!((count(body, "var "), count(body, "exp("), count(body, "out0 :=")), (0, 1, 0), "{shown}");
}

/// A network's value and gradient: one loop over the data, its activations per iteration, one check of the label.
#[test]
fn network() {
    let shown = optimised(PROGRAMS, "dmlp", &[4, 3, 5, 2]);
    assert_eq!((count(&shown, "< n "), count(&shown, "check"), count(&shown, "tanh(")), (1, 1, 1), "{shown}");
    assert!(!shown.contains("var") || !shown[shown.find("var").unwrap()..].contains("real[n"), "{shown}");
}

/// The slope of sigmoid is made from the exponential of its value, where that is made, and kept.
#[test]
fn gates() {
    let shown = simplified("dgates", &[3, 4]);
    assert_eq!(count(&shown, "exp("), 1, "{shown}");
}

/// What a loop in a loop keeps is kept by the outer one, although the inner one's length is computed; its reverse takes out the two rows that were replaced
/// where they are, and adds to the weights' rows where these are.
#[test]
fn layers() {
    let shown = simplified("dlayers", &[4, 3, 5]);
    assert_eq!((count(&shown, "tanh("), count(&shown, "if ")), (1, 0), "{shown}");
    let reverse = &shown[shown.find(" down from ").unwrap()..];
    assert_eq!((count(reverse, "out0["), count(reverse, "< r ")), (2, 0), "{shown}");
}

/// Here only the values and the cost are held.
#[test]
fn what_is_put_together_is_made_where_it_belongs() {
    // Rows and a vector are stored into the result: no loop moves anything, and no place is asked about.
    let joined = optimised(PROGRAMS, "joined", &[4, 3, 15]);
    assert_eq!(
        (count(&joined, " in out0 from "), count(&joined, "for "), count(&joined, "check")),
        (2, 3, 0),
        "{joined}"
    );
    assert!(optimised(PROGRAMS, "joined", &[1, 0, 3]).contains("in out0 from 0"));
    // The second half of the step overwrites what the first still reads: only that half is stored and moved.
    let halves = optimised(PROGRAMS, "halves", &[3, 6]);
    assert_eq!(count(&halves, "var "), 2, "{halves}");
    // The same array twice is made once, elsewhere or at one place, and copied.
    let twice = optimised(PROGRAMS, "twice", &[3, 6]);
    assert_eq!(count(&twice, "exp"), 1, "{twice}");
    // Read through both: the quotient of an index below 3·n by 3 is below n.
    let summed = optimised(PROGRAMS, "summed", &[4, 3]);
    assert_eq!(count(&summed, "check"), 0, "{summed}");
    // A reverse that reads the parts again.
    optimised(PROGRAMS, "dsummed", &[4, 3]);
}

#[test]
fn cheap_arrays_of_a_step_are_made_again() {
    // Of the step's arrays the state alone is kept; the others are one or two operations away from it.
    let kept = optimised(PROGRAMS, "dstages", &[5, 3]);
    assert_eq!(count(&kept, "var r"), 1, "{kept}");
}

#[test]
fn carried_state_and_mixtures_keep_their_values() {
    optimised(PROGRAMS, "dsteps", &[5]);
    optimised(PROGRAMS, "dquad", &[5, 3]);
    optimised(PROGRAMS, "dmixture", &[5, 3, 2]);
}
