//! The parser's own error type: a place, what was found, the set of what was expected; or a finished diagnostic.

use super::codes;
use super::token::{Expected, Label, Sym, Tok};
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
    pub fn into_diagnostic(self, stray: Option<(String, Span)>) -> Diagnostic {
        if let Some(d) = self.custom {
            return *d;
        }
        let d = match self.found {
            Some(tok) => {
                Diagnostic::new(codes::UNEXPECTED, format!("expected {}, found {tok}", self.expected))
                    .label(self.span, "not expected here")
            }
            None => Diagnostic::new(
                codes::UNEXPECTED_END,
                format!("expected {}, but the definition ends", self.expected),
            )
            .label(self.span, "the text ends after this"),
        };
        let help = match (stray, self.found.and_then(|t| mend(t, self.expected))) {
            (Some((help, place)), _) => return d.label(place, "this word").help(help),
            (None, help) => help,
        };
        Diagnostic { help, ..d }
    }
}

/// The words that begin an item, as a phrase.
pub const ITEMS: &str = "`def`, `type`, `import`, `input`, `test`, `derivative` or `adjoint`";

/// A likely mend for finding this token where that was expected.
fn mend(found: Tok, expected: Expected) -> Option<String> {
    let wants = |l| expected.has(Expected::label(l));
    let wants_sym = |s| expected.has(Expected::sym(s));
    match found {
        Tok::Sym(Sym::Equals) if wants(Label::Operator) => Some("equality is written `==`".into()),
        Tok::Sym(s) if Sym::word(s.text()).is_some() && (wants(Label::Name) || wants(Label::Pattern)) => {
            Some(format!("`{}` is a reserved word; choose another name", s.text()))
        }
        Tok::Name("def" | "type" | "import" | "input" | "test" | "derivative" | "adjoint") => {
            Some("items begin in column one".into())
        }
        Tok::Sym(Sym::Arrow) if wants_sym(Sym::Colon) => Some("a result type is written `: τ`".into()),
        Tok::Sym(Sym::Dot) | Tok::DotName(_) if wants_sym(Sym::Arrow) => {
            Some("a function is written `\\x -> e`".into())
        }
        Tok::Sym(Sym::In) if wants_sym(Sym::Less) => Some("a range is written `i < n`".into()),
        Tok::Sym(Sym::For) if wants_sym(Sym::Bar) => {
            Some("a comprehension is written `[ e | i < n ]`".into())
        }
        Tok::Name(_) if wants_sym(Sym::Colon) && !wants_sym(Sym::Equals) => {
            Some("each parameter has its own type: `(x : real) (y : real)`".into())
        }
        Tok::Sym(Sym::Comma) if wants_sym(Sym::Close) && wants_sym(Sym::Arrow) => {
            Some("each parameter has parentheses of its own: `(x : real) (y : real)`".into())
        }
        Tok::Sym(Sym::Colon) if wants_sym(Sym::With) && wants_sym(Sym::Equals) => {
            Some("the value of a field is written `{x = e}`".into())
        }
        Tok::Sym(Sym::Star) if wants(Label::Expr) => Some("powers are written `x ^ k`".into()),
        Tok::Name("elif" | "elsif") => Some("write `else if`".into()),
        Tok::Sym(Sym::Lambda | Sym::Let | Sym::If | Sym::Loop | Sym::Match) if wants(Label::Argument) => {
            Some("as an argument it stands in parentheses".into())
        }
        Tok::Sym(Sym::Bracket) if !wants(Label::Expr) => {
            Some("an index follows its array without a gap: `a[i]`".into())
        }
        _ => None,
    }
}

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
