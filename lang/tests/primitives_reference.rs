//! `docs/reference/primitives.md` is written from the table; this test fails when it is not what the table says.
//! `BLESS=1 cargo test -p lang --test primitives_reference` writes it.

use lang::core::{Lit, Term, Tm, make};
use lang::prim::{Arm, Derivative, Lowering, Partial, Prim, Row, Scalar};
use std::fmt::Write;

/// How the arguments are called in the documentation: mostly x, y for reals, m, n for ints, p, q for bools.
fn names(row: &Row) -> Vec<&'static str> {
    use Scalar::*;
    match row.args {
        [Bool, Real, Real] => vec!["c", "x", "y"],
        [Bool, Int, Int] => vec!["c", "m", "n"],
        [Bool, Bool, Bool] => vec!["c", "p", "q"],
        [Real, Int] => vec!["x", "k"],
        [Int, Real] => vec!["m", "x"],
        [Int, Int] if row.name.starts_with("random") => vec!["seed", "i"],
        _ if row.prim == Prim::Atan2 => vec!["y", "x"],
        [Real] if row.prim == Prim::NormalQuantile => vec!["p"],
        args => {
            let all = |s: Scalar| match s {
                Real => ["x", "y"],
                Int => ["m", "n"],
                Bool => ["p", "q"],
            };
            args.iter().enumerate().map(|(i, s)| all(*s)[i]).collect()
        }
    }
}

/// A term as people write it; an operand that binds less tightly than its place asks for is in parentheses.
fn write(t: &Tm, level: u8) -> String {
    let paren = |own: u8, text: String| if own < level { format!("({text})") } else { text };
    match &**t {
        Term::Var(v) => v.name.to_string(),
        Term::Lit(Lit::Real(x)) if *x < 0.0 => paren(3, format!("-{}", write(&make::real(-x), 4))),
        Term::Lit(Lit::Real(x)) if *x == std::f64::consts::FRAC_2_SQRT_PI => paren(2, "2 / sqrt pi".into()),
        Term::Lit(Lit::Real(x)) if *x == std::f64::consts::LOG2_E => paren(2, "1 / log 2".into()),
        Term::Lit(Lit::Real(x)) if *x == std::f64::consts::LOG10_E => paren(2, "1 / log 10".into()),
        Term::Lit(Lit::Real(x)) if (x * x - std::f64::consts::TAU).abs() < 1e-14 => {
            paren(5, "sqrt (2 * pi)".into())
        }
        Term::Lit(Lit::Real(x)) => format!("{x}"),
        Term::Lit(Lit::Int(k)) => format!("{k}"),
        Term::Lit(Lit::Bool(b)) => format!("{b}"),
        Term::Prim(p, ts) => {
            let infix = |own: u8, right: u8| {
                paren(own, format!("{} {} {}", write(&ts[0], own), p.row().name, write(&ts[1], right)))
            };
            match p.row().name {
                "&&" => infix(0, 0),
                "==" | "<" | "<=" => infix(1, 2),
                "+" | "-" => infix(2, 3),
                "*" | "/" => infix(3, 4),
                "^" => infix(5, 4),
                "neg" => paren(3, format!("-{}", write(&ts[0], 4))),
                name => {
                    let args: Vec<String> = ts.iter().map(|t| write(t, 7)).collect();
                    paren(6, format!("{name} {}", args.join(" ")))
                }
            }
        }
        other => panic!("not a scalar term: {other:?}"),
    }
}

fn derivative(row: &Row) -> String {
    let names = names(row);
    let mut supply = lang::name::Supply::default();
    let x: Vec<Tm> = names.iter().map(|n| make::var(&supply.fresh(*n))).collect();
    let reals = || (0..x.len()).filter(|i| row.args[*i] == Scalar::Real);
    // The result is written as the primitive itself.
    let y = make::prim(row.prim, x.clone());
    let partials = |arm: &Arm| {
        let one = |i: usize| match &arm.partials[i] {
            Partial::Zero => "none".to_string(),
            Partial::One => "1".to_string(),
            Partial::MinusOne => "-1".to_string(),
            Partial::Of(f) => write(&f(&x, &y), 0),
        };
        reals()
            .map(|i| format!("∂{} = `{}`", names[i], one(i)).replace("`none`", "none"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    match &row.derivative {
        Derivative::ByType => "—".into(),
        Derivative::Arms(arms) => {
            let arm = |(i, arm): (usize, &Arm)| match arm.when {
                Some(when) => format!("where `{}`: {}", write(&when(&x), 0), partials(arm)),
                None if i == 0 => partials(arm),
                None => format!("else {}", partials(arm)),
            };
            arms.iter().enumerate().map(arm).collect::<Vec<_>>().join("; ")
        }
    }
}

fn reference() -> String {
    let mut out = String::from(INTRODUCTION);
    out.push_str("| name | type | value | derivative | cost |\n|---|---|---|---|---|\n");
    for p in Prim::ALL {
        let row = p.row();
        let scalar = |s: &Scalar| match s {
            Scalar::Real => "real",
            Scalar::Int => "int",
            Scalar::Bool => "bool",
        };
        let mut ty: Vec<&str> = row.args.iter().map(scalar).collect();
        ty.push(scalar(&row.result));
        let how = match row.lowering {
            Lowering::Op(_) => "",
            Lowering::Expand(_) => "°",
        };
        let cells = [
            format!("`{}`{how}", row.name),
            ty.join(" → "),
            row.doc.into(),
            derivative(row),
            row.cost.to_string(),
        ];
        writeln!(out, "| {} |", cells.map(|c| c.replace('|', "\\|")).join(" | ")).unwrap();
    }
    out
}

#[test]
fn the_reference_is_what_the_table_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/primitives.md");
    let expected = reference();
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference")).unwrap();
        std::fs::write(path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    let differs = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
    assert!(found == expected, "{path} is out of date (BLESS=1 writes it): {differs:?}");
}

const INTRODUCTION: &str = "\
# Primitives

The scalar functions that the compiler knows by itself. Everything else is written in terms of these, in the language or by the
compiler. This page is made from the table in `lang/src/prim`; a test keeps the two the same.

All primitives are total: an argument outside the domain gives NaN (for reals) or the int stated. Reals are IEEE doubles (singles with `--real f32`), ints wrap at
64 bits. Comparisons of reals are false when an argument is NaN, except `!=`.

**Derivatives.** ∂x is the factor by which a tangent of x enters the tangent of the result, and by which the cotangent of the result enters that
of x. *none* is the structural zero: nothing reaches the argument, not even the NaN that a number 0 makes of an infinity. Where several cases are listed the first that
holds applies. An int or a bool has no derivative, and neither has a result of such a type (—).

 * *Selections* (`min`, `max`, `abs`, `relu`, `select`) pass the whole derivative to the argument they select and none to the other. Ties of `min` and `max` count
   half each; the slope of `abs` and `relu` at 0 is none.
 * `sign`, `floor`, `ceil`, `round`, `trunc` have none anywhere.
 * `sqrt` has slope +inf at 0.
 * `hypot` and `atan2` have slope 0 at the origin, and NaN where that is differentiated once more.
 * `x ^ k` with an int k is repeated multiplication, so it is fine for negative x and never meets a logarithm. With a real exponent the slope in x
   is none at x = y = 0, and the slope in y is none where x = 0 and y ≥ 0. A constant exponent has no tangent and takes no part.
 * `xlogy` is 0 at x = 0 with slope `log y` in x; at x = y = 0 it has none in y.
 * The slope of `tanh` is computed from its value, and is 0 from about |x| = 19 on; those of `sigmoid`, `softplus` and `expm1` keep their relative accuracy
   in both tails.
 * At other singular points the formula is evaluated as it stands: an infinity or NaN.

**Accuracy.** The elementary functions are the C library's. In compiled code `exp`, `log`, `log1p` and `tanh` in loops are arithmetic in place (within 1.5 units in the last place), and others
possibly the C library's vector versions (within 4 units), unless `--math scalar` is given. `^` with an
int exponent multiplies squares from the lowest bit up. `digamma`, `trigamma`, `polygamma` and `normal_quantile` are the compiler's own, within a few units in the last place (`digamma` left of 0:
of its larger term). The random numbers are the same bits on every engine and platform.

**Cost** is what `adc cost` counts: operations, where an elementary function weighs about as much as it takes. A name with ° is computed by
other primitives.

";
