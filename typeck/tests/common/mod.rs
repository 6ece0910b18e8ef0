//! From text to checked Core, and values.
#![allow(dead_code)]

use lang::core::Program;
use lang::eval::{Value, run};
use typeck::Checked;
use typeck::check::{Language, check_program};

pub fn checked(text: &str) -> Checked {
    let (file, problems) = lang::surface::parser::parse(text);
    assert!(problems.is_empty(), "{problems:?}\n{text}");
    typeck::check_file(&file)
}

/// The program of a text without errors; it has passed the checker.
pub fn program(text: &str) -> Program {
    let c = checked(text);
    assert!(c.diagnostics.is_empty(), "{:#?}\n{text}", c.diagnostics);
    if let Err(v) = check_program(&c.program, Language::Both) {
        panic!("{v}\n{text}\n{:#?}", c.program.defs.get(&v.def).map(|d| &d.body));
    }
    c.program
}

/// The value of `main`.
pub fn value(text: &str) -> Value<f64> {
    let p = program(text);
    match run::<f64>(&p, "main", &[], &[]) {
        Ok((v, _)) => v,
        Err(e) => panic!("{e:?}\n{text}"),
    }
}

/// `main` is this expression and its numbers are these.
pub fn expect(expr: &str, numbers: &[f64]) {
    let v = value(&format!("def main = {expr}\n"));
    let got = flat(&v);
    assert!(
        got.len() == numbers.len()
            && got.iter().zip(numbers).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs().max(1.0) || a == b),
        "{expr}: {got:?}, not {numbers:?}"
    );
}

/// Reals, ints and bools of a value in order.
pub fn flat(v: &Value<f64>) -> Vec<f64> {
    if let Some(x) = v.as_real() {
        vec![x]
    } else if let Some(k) = v.as_int() {
        vec![k as f64]
    } else if let Some(b) = v.as_bool() {
        vec![f64::from(u8::from(b))]
    } else if let Some(vs) = v.as_tuple().or(v.as_array()) {
        vs.iter().flat_map(flat).collect()
    } else {
        panic!("no numbers in {v:?}")
    }
}

/// The codes of everything that is wrong with a text, in order.
pub fn codes(text: &str) -> Vec<&'static str> {
    checked(text).diagnostics.iter().map(|d| d.code).collect()
}
