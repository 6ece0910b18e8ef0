//! `docs/reference/builtins.md` is written from the rows of the built-in functions and of the differentiation operators; this test fails when it is not
//! what they say. `BLESS=1 cargo test -p typeck --test builtins_reference` writes it.

use std::fmt::Write;
use typeck::builtin::{Body, SECTIONS};
use typeck::diff::Operator;

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Code in a cell of a table.
fn code(text: &str) -> String {
    format!("`{}`", cell(text))
}

fn reference() -> String {
    let mut out = String::from(INTRODUCTION);
    for (title, rows) in SECTIONS {
        write!(out, "\n## {title}\n\n| name | parameters and result | |\n|---|---|---|\n").unwrap();
        for row in *rows {
            let how = match row.body {
                Body::Text(_) => "",
                Body::Core(_) => "°",
            };
            writeln!(out, "| {}{how} | {} | {} |", code(row.name), code(row.header), cell(row.doc)).unwrap();
        }
    }
    out.push_str(OPERATORS);
    for op in Operator::ALL {
        let (form, meaning) = op.doc().split_once(": ").expect("a form, a colon, its meaning");
        writeln!(out, "| {} | {} |", code(form), cell(meaning)).unwrap();
    }
    out.push_str(OTHERS);
    out
}

#[test]
fn the_reference_is_what_the_rows_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/builtins.md");
    let expected = reference();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    let differs = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
    assert!(found == expected, "{path} is out of date (BLESS=1 writes it): {differs:?}");
}

const INTRODUCTION: &str = "\
# Built-in functions

What every program can use without defining it, apart from the scalar functions and operators, which are on the page
[primitives](primitives.md). This page is made from the rows in `typeck/src/builtin`; a test keeps the two the same.

A header is written as for a definition: type variables and sizes in brackets, then parameters and result. Most built-ins are
expressions of the language put in where they are used; those with ° are made by the compiler because their meaning depends on the
type of the elements or has a term of its own. A definition of the file with the same name takes precedence.
";

const OPERATORS: &str = "
## Differentiation

`f` is a definition, a λ, or anything else that is known when the program is compiled; its argument and result contain no functions, but what is
inside f may. `D τ` is τ with every int and bool replaced by `()`.

| form | |
|---|---|
";

const OTHERS: &str = "
## Others

| form | |
|---|---|
| `clamp lo hi x` | `min hi (max lo x)`: x, but at least lo and at most hi; pointwise on arrays, each bound's tie counts half |
| `where c x y` | the primitive `select`: x where c holds, else y; pointwise on arrays |
| `zero[τ]` | the structural zero of a linear type: a value that is 0 everywhere and has no derivative |
| `unread[τ]` | some value that nobody reads; what the compiler puts in place of what a branch did not compute |
";
