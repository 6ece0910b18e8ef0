//! The parser's own error type: a place, what was found, the set of what was expected; or a finished diagnostic.

use super::codes;
use super::mend::Stop;
use super::token::{Expected, Label, Tok};
use crate::diag::{Diagnostic, Span};
use chumsky::DefaultExpected;
use chumsky::error::{Error, LabelError};
use chumsky::input::MappedInput;
use chumsky::util::MaybeRef;

/// What the parser reads: a slice of tokens with their places.
pub type In<'t> = MappedInput<'t, Tok<'t>, Span, &'t [(Tok<'t>, Span)]>;

#[derive(Clone, Debug)]
pub struct Problem<'t> {
    pub span: Span,
    found: Option<Tok<'t>>,
    expected: Expected,
    custom: Option<Box<Diagnostic>>,
}

impl<'t> Problem<'t> {
    pub fn custom(span: Span, d: Diagnostic) -> Problem<'t> {
        Problem { span, found: None, expected: Expected::default(), custom: Some(Box::new(d)) }
    }

    /// The message for people. `stray` is a word at the beginning of a line between the item's beginning and the problem, and what
    /// there is to say of it.
    pub fn into_diagnostic(
        self,
        stray: Option<(String, Span)>,
        tokens: &[(Tok<'t>, Span)],
        column: &dyn Fn(&Span) -> Option<usize>,
    ) -> Diagnostic {
        if let Some(d) = self.custom {
            return *d;
        }
        let Problem { span, found, expected, custom: _ } = self;
        let d = match found {
            Some(tok) => Diagnostic::new(codes::UNEXPECTED, format!("expected {expected}, found {tok}"))
                .label(span, "not expected here"),
            None => {
                let message = format!("expected {expected}, but the definition ends");
                Diagnostic::new(codes::UNEXPECTED_END, message).label(span, "the text ends after this")
            }
        };
        if let Some((help, place)) = stray {
            return d.label(place, "this word").help(help);
        }
        let stop = Stop { tokens, span, found, expected, column };
        match stop.help() {
            Some(help) => d.help(help),
            None => stop.incomplete().unwrap_or(d),
        }
    }
}

/// The words that begin an item, as a phrase.
pub const ITEMS: &str = "`def`, `type`, `import`, `input`, `test`, `derivative` or `adjoint`";

impl<'t> LabelError<'t, In<'t>, DefaultExpected<'t, Tok<'t>>> for Problem<'t> {
    fn expected_found<E: IntoIterator<Item = DefaultExpected<'t, Tok<'t>>>>(
        expected: E,
        found: Option<MaybeRef<'t, Tok<'t>>>,
        span: Span,
    ) -> Self {
        let one = |e| match e {
            DefaultExpected::Token(t) => match *t {
                Tok::Sym(s) => Expected::sym(s),
                // Single names are item words and the `o` of `-o`: nothing to list.
                _ => Expected::default(),
            },
            DefaultExpected::EndOfInput => Expected::label(Label::End),
            _ => Expected::default(),
        };
        let expected = expected.into_iter().map(one).fold(Expected::default(), Expected::union);
        Problem { span, found: found.map(|t| *t), expected, custom: None }
    }
}

impl<'t> LabelError<'t, In<'t>, Label> for Problem<'t> {
    fn expected_found<E: IntoIterator<Item = Label>>(
        expected: E,
        found: Option<MaybeRef<'t, Tok<'t>>>,
        span: Span,
    ) -> Self {
        let expected = expected.into_iter().map(Expected::label).fold(Expected::default(), Expected::union);
        Problem { span, found: found.map(|t| *t), expected, custom: None }
    }

    fn label_with(&mut self, label: Label) {
        self.expected = Expected::label(label);
    }
}

impl<'t> Error<'t, In<'t>> for Problem<'t> {
    fn merge(mut self, other: Self) -> Self {
        self.expected = self.expected.union(other.expected);
        self.custom = self.custom.or(other.custom);
        self
    }
}

impl chumsky::span::Span for Span {
    type Context = ();
    type Offset = usize;

    fn new(_: (), range: std::ops::Range<usize>) -> Span {
        Span::new(range.start, range.end)
    }
    fn context(&self) {}
    fn start(&self) -> usize {
        self.start as usize
    }
    fn end(&self) -> usize {
        self.end as usize
    }
}
