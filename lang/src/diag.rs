//! Places in source text and diagnostics. Rendering (colour, source lines) is the command line's work.

use crate::name::Name;

/// Bytes `start..end` of a source text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
    /// The same place of a text that begins so many bytes earlier.
    pub fn shifted(self, by: u32) -> Span {
        Span { start: self.start + by, end: self.end + by }
    }
}

/// Where in the program a run-time failure would be reported: a span relative to the start of the
/// definition it lies in, so that an edit elsewhere leaves it alone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Site {
    pub def: Name,
    pub span: Span,
}

/// What can go wrong at run time; each has its error code and message in the command line.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Failure {
    /// Index (first detail) outside 0..length (second detail).
    IndexOutOfRange,
    /// `div` or `mod` by zero.
    DivisionByZero,
    /// argmin, argmax of an empty array.
    EmptyArray,
    /// A size (first detail) that an `as`, or a pair of arguments, requires to be the second detail.
    SizeMismatch,
    /// A size (first detail) below zero.
    NegativeSize,
    /// Recursion deeper than the limit (first detail).
    TooDeep,
    /// What a recursion keeps for its derivative has more bytes than the limit (first detail).
    RegionFull,
}

/// One problem in a program: `code` is the row of the error table (E0101 …), `labels` the places with
/// what to say at each, the first of them the place of the problem; `help` a likely mend.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    pub code: &'static str,
    pub message: String,
    pub labels: Vec<(Span, String)>,
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn new(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic { code, message: message.into(), labels: vec![], help: None }
    }
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push((span, text.into()));
        self
    }
    /// Moves the places to a text that begins so many bytes earlier.
    pub fn shift(&mut self, by: u32) {
        self.labels.iter_mut().for_each(|(span, _)| *span = span.shifted(by));
    }
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }
}
