//! Surface syntax to text. Parentheses are the fewest that the parser needs, by the levels below, which are the grammar's.
//! Law: parsing what is printed gives the same tree, in ASCII and with symbols.

mod expr;
mod items;
mod source;
mod types;

use super::*;
use pretty::RcDoc;
use source::{Keep, Source};
use types::TyLevel;

type Doc<'a> = RcDoc<'a, ()>;

/// How to print.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Columns to stay within where possible.
    pub width: usize,
    /// `λ → ⊸ ⊗` instead of `\ -> -o tensor`.
    pub symbols: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style { width: 100, symbols: false }
    }
}

pub fn file(f: &File, style: Style) -> String {
    let items: Vec<String> = f.items.iter().map(|i| item(i, style)).collect();
    items.join("\n")
}

pub fn item(i: &Item, style: Style) -> String {
    let mut text = String::new();
    for line in i.doc.iter().flat_map(|d| d.split('\n')) {
        text += format!("--| {line}").trim_end();
        text.push('\n');
    }
    text + &render(Printer::new(style).item(&i.kind), style) + "\n"
}

pub fn expr(e: &Expr, style: Style) -> String {
    render(Printer::new(style).expr(e, OPEN), style)
}

pub fn ty(t: &Ty, style: Style) -> String {
    render(Printer::new(style).ty(t, TyLevel::Arrow), style)
}

/// A file with its comments, numerals as they are written, the line breaks that the author made around bodies and elements, and at
/// most one blank line where the author left some between items and lets. The file is what the text parses to, without errors.
pub fn formatted(f: &File, text: &str, style: Style) -> String {
    let source = Source::new(text, &lexer::lex(text));
    let printer = Printer { style, source: Some(&source) };
    let mut out = String::new();
    let mut last = None;
    for i in &f.items {
        source.between(last, Some(i.span.start), &mut out);
        last = Some(i.span);
        for line in render(printer.item(&i.kind), style).lines() {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    source.between(last, None, &mut out);
    out
}

fn render(d: Doc, style: Style) -> String {
    d.pretty(style.width).to_string()
}

/// The levels of expressions, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Body,
    As,
    Pipe,
    Compose,
    Or,
    And,
    Compare,
    Add,
    Mul,
    Neg,
    Pow,
    Tensor,
    App,
    Postfix,
    Atom,
}

/// Where an expression stands: the loosest level allowed there; whether what follows it ends a body that extends to the right;
/// whether that is a `|`, which a match would take for its own.
#[derive(Clone, Copy)]
struct Place {
    min: Level,
    tail: bool,
    bar: bool,
}

/// Between brackets and keywords.
const OPEN: Place = Place { min: Level::Body, tail: true, bar: false };

impl Place {
    fn at(self, min: Level) -> Place {
        Place { min, ..self }
    }
    /// Something follows that a body would swallow.
    fn inner(min: Level) -> Place {
        Place { min, tail: false, bar: false }
    }
}

fn text<'a>(s: impl Into<String>) -> Doc<'a> {
    RcDoc::text(s.into())
}

/// `, ` between, breaking all or none.
fn commas<'a>(ds: impl IntoIterator<Item = Doc<'a>>) -> Doc<'a> {
    RcDoc::intersperse(ds, text(",").append(RcDoc::line()))
}

fn enclosed<'a>(open: &'static str, inner: Doc<'a>, close: &'static str) -> Doc<'a> {
    text(open).append(inner.nest(open.len() as isize)).append(text(close)).group()
}

fn words<'a>(ds: impl IntoIterator<Item = Doc<'a>>) -> Doc<'a> {
    RcDoc::intersperse(ds, text(" "))
}

/// The spelling and the level of an operator.
pub fn operator(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "+",
        BinOp::Sub => "-",
        BinOp::Mul => "*",
        BinOp::Div => "/",
        BinOp::Pow => "^",
        BinOp::Eq => "==",
        BinOp::Ne => "!=",
        BinOp::Lt => "<",
        BinOp::Le => "<=",
        BinOp::Gt => ">",
        BinOp::Ge => ">=",
        BinOp::And => "&&",
        BinOp::Or => "||",
        BinOp::Pipe => "|>",
        BinOp::Compose => ">>",
        BinOp::MatMul => "@",
    }
}

/// The level of an operation, and the levels its operands need.
fn levels(op: BinOp) -> (Level, Level, Level) {
    match op {
        BinOp::Pipe => (Level::Pipe, Level::Pipe, Level::Compose),
        BinOp::Compose => (Level::Compose, Level::Compose, Level::Or),
        BinOp::Or => (Level::Or, Level::Or, Level::And),
        BinOp::And => (Level::And, Level::And, Level::Compare),
        BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
            (Level::Compare, Level::Add, Level::Add)
        }
        BinOp::Add | BinOp::Sub => (Level::Add, Level::Add, Level::Mul),
        BinOp::Mul | BinOp::Div | BinOp::MatMul => (Level::Mul, Level::Mul, Level::Neg),
        // `2^-1` is legal: a negation may stand to the right of a power.
        BinOp::Pow => (Level::Pow, Level::Tensor, Level::Neg),
    }
}

/// The shortest decimal that reads back.
pub fn real(x: f64) -> String {
    if x.is_nan() {
        "(0.0 / 0.0)".into()
    } else if x.is_infinite() {
        format!("({}1.0 / 0.0)", if x < 0.0 { "-" } else { "" })
    } else {
        format!("{x:?}")
    }
}

#[derive(Clone, Copy)]
struct Printer<'s> {
    style: Style,
    /// The author's text, when that is what is printed; spans mean nothing otherwise.
    source: Option<&'s Source<'s>>,
}

impl<'s> Printer<'s> {
    fn new(style: Style) -> Printer<'s> {
        Printer { style, source: None }
    }
    fn choose(&self, ascii: &'static str, symbol: &'static str) -> &'static str {
        if self.style.symbols { symbol } else { ascii }
    }
    fn arrow(&self) -> &'static str {
        self.choose("->", "→")
    }
    fn lolli(&self) -> &'static str {
        self.choose("-o", "⊸")
    }

    /// Where the first token at or after a place begins.
    fn token(&self, at: u32) -> u32 {
        self.source.map_or(0, |s| s.token(at))
    }
    /// Where the arm whose pattern begins at a place begins: its `|`, if it has one.
    fn bar(&self, at: u32) -> u32 {
        self.source.map_or(0, |s| s.bar(at))
    }
    /// What separates the code at a place from what is before it.
    fn gap<'a>(&self, at: u32, keep: Keep, otherwise: Doc<'a>) -> Doc<'a> {
        match self.source {
            Some(s) => s.gap(at, keep, otherwise),
            None => otherwise,
        }
    }
    /// A place where a line may be broken.
    fn line<'a>(&self, at: u32) -> Doc<'a> {
        self.gap(at, Keep::Comments, RcDoc::line())
    }
    /// A place where a line may be broken, and is where the author broke it.
    fn kept<'a>(&self, at: u32) -> Doc<'a> {
        self.gap(at, Keep::Lines, RcDoc::line())
    }
    /// An indented part that begins at a place: on the same line, or on the next if it does not fit or the author put it there.
    fn below<'a>(&self, at: u32, part: impl FnOnce() -> Doc<'a>) -> Doc<'a> {
        let gap = self.gap(at, Keep::Lines, RcDoc::line());
        gap.append(part()).nest(2).group()
    }
    fn body<'a>(&self, e: &'a Expr, at: Place) -> Doc<'a> {
        self.below(e.span.start, || self.expr(e, at))
    }
    /// `, ` between the elements of a bracketed list with a place: breaking all, as the author did, or none.
    fn list<'a, T>(
        &self,
        all: &'a [T],
        whole: Span,
        span: impl Fn(&T) -> Span,
        doc: impl Fn(&'a T) -> Doc<'a>,
    ) -> Doc<'a> {
        let mut out = RcDoc::nil();
        for (k, x) in all.iter().enumerate() {
            let start = span(x).start;
            out = match k {
                0 => out.append(self.gap(start, Keep::Comments, RcDoc::nil())),
                _ => out.append(text(",")).append(self.kept(start)),
            };
            out = out.append(doc(x));
        }
        // What is said before the bracket closes.
        out.append(self.gap(whole.end.saturating_sub(1), Keep::Comments, RcDoc::nil()))
    }
}
