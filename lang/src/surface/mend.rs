//! What the writer of a text that does not parse may have meant. One row per habit: most come from other languages.

use super::codes;
use super::token::{Expected, Label, Sym, Tok};
use crate::diag::{Diagnostic, Span};

type Token<'t> = (Tok<'t>, Span);

/// Where the parser stopped in the tokens of an item.
pub struct Stop<'a, 't> {
    pub tokens: &'a [Token<'t>],
    /// The place of the token that was found, or of the end.
    pub span: Span,
    pub found: Option<Tok<'t>>,
    pub expected: Expected,
    /// How far a token that begins a line is indented.
    pub column: &'a dyn Fn(&Span) -> Option<usize>,
}

impl<'a, 't> Stop<'a, 't> {
    fn at(&self) -> usize {
        match self.found {
            Some(_) => self.tokens.partition_point(|(_, s)| s.start < self.span.start),
            None => self.tokens.len(),
        }
    }
    fn before(&self) -> &'a [Token<'t>] {
        &self.tokens[..self.at()]
    }
    /// The token directly before, if nothing stands between.
    fn glued(&self) -> Option<Tok<'t>> {
        self.before().last().filter(|(_, s)| s.end == self.span.start).map(|(t, _)| *t)
    }
    fn previous(&self) -> Option<Tok<'t>> {
        self.before().last().map(|(t, _)| *t)
    }
    fn next(&self) -> Option<Tok<'t>> {
        self.tokens.get(self.at() + 1).map(|(t, _)| *t)
    }
    fn wants(&self, l: Label) -> bool {
        self.expected.has(Expected::label(l))
    }
    fn wants_sym(&self, s: Sym) -> bool {
        self.expected.has(Expected::sym(s))
    }

    /// The tokens before, nearest first, as far as the bracket they stand in goes; brackets closed in between are left out.
    fn level(&self) -> Vec<(usize, Token<'t>)> {
        let (mut out, mut depth) = (vec![], 0);
        for (k, token) in self.before().iter().enumerate().rev() {
            match token.0 {
                Tok::Sym(Sym::Close | Sym::BracketClose | Sym::BraceClose) => depth += 1,
                Tok::Sym(Sym::Open | Sym::Bracket | Sym::IndexOpen | Sym::Brace) if depth == 0 => break,
                Tok::Sym(Sym::Open | Sym::Bracket | Sym::IndexOpen | Sym::Brace) => depth -= 1,
                _ if depth == 0 => out.push((k, *token)),
                _ => {}
            }
        }
        out
    }

    /// The last `open` that has no `close` yet, and where it stands.
    fn unfinished(&self, open: Sym, close: Sym) -> Option<(usize, Span)> {
        let mut closed = 0;
        for (k, (tok, span)) in self.level() {
            match tok {
                Tok::Sym(s) if s == close => closed += 1,
                Tok::Sym(s) if s == open && closed == 0 => return Some((k, span)),
                Tok::Sym(s) if s == open => closed -= 1,
                _ => {}
            }
        }
        None
    }

    /// The word, if it stands before in the same bracket.
    fn word(&self, words: &[&str]) -> Option<Span> {
        self.level().into_iter().find_map(|(_, (tok, span))| match tok {
            Tok::Name(w) if words.contains(&w) => Some(span),
            _ => None,
        })
    }

    /// A finished diagnostic for forms of which a part is missing.
    pub fn incomplete(&self) -> Option<Diagnostic> {
        if self.wants_sym(Sym::In) {
            return self.without_in();
        }
        if self.wants_sym(Sym::Do) && self.found.is_none() {
            let d = Diagnostic::new(codes::UNEXPECTED_END, "this loop has no `do`");
            let (_, place) = self.unfinished(Sym::Loop, Sym::Do)?;
            let help = "a loop is written `loop s = e for i < n do e` or `loop s = e while c do e`";
            return Some(d.label(self.span, "the text ends after this").label(place, "this loop").help(help));
        }
        let (part, help) = match (self.wants_sym(Sym::Then), self.wants_sym(Sym::Else)) {
            (true, _) => ("then", "a choice is written `if c then e else e`"),
            (_, true) => ("else", "both arms are needed: `if c then e else e`"),
            _ => return None,
        };
        let open = match part {
            "then" => self.unfinished(Sym::If, Sym::Then),
            _ => self.unfinished(Sym::If, Sym::Else),
        };
        let (_, place) = open?;
        let d = Diagnostic::new(codes::INCOMPLETE_IF, format!("this `if` has no `{part}`"))
            .label(place, "this `if`");
        if let Some(at) = self.word(&["elif", "elsif", "elseif"]).filter(|at| at.start > place.start) {
            return Some(d.label(at, "this word").help("write `else if`"));
        }
        let missing = match self.found {
            Some(_) => format!("`{part}` is missing before this"),
            None => "the text ends after this".to_string(),
        };
        Some(d.label(self.span, missing).help(help))
    }

    fn without_in(&self) -> Option<Diagnostic> {
        let (k, place) = self.unfinished(Sym::Let, Sym::In)?;
        let indent = self.tokens[..=k].iter().rev().find_map(|(_, s)| (self.column)(s)).unwrap_or(0);
        // The body of the `let` begins a line, no further right than the `let` itself.
        let body = self.tokens[k + 1..]
            .iter()
            .take_while(|(_, s)| s.start <= self.span.start)
            .find(|(_, s)| (self.column)(s).is_some_and(|c| c <= indent));
        let d = Diagnostic::new(codes::LET_WITHOUT_IN, "this `let` has no `in`").label(place, "this `let`");
        let d = match (body, self.found) {
            (Some((_, at)), _) => d.label(*at, "`in` is missing before this"),
            (None, Some(Tok::Sym(Sym::Let))) => d.label(self.span, "`in` is missing before this"),
            (None, None) => d.label(self.span, "the text ends after this"),
            (None, Some(_)) => return None,
        };
        Some(d.help("a name is given with `let x = e in e`"))
    }

    /// A likely mend for finding this token where that was expected.
    pub fn help(&self) -> Option<String> {
        let found = self.found?;
        let sym = match found {
            Tok::Sym(s) => Some(s),
            _ => None,
        };
        let text = match (self.previous(), sym, self.next()) {
            (Some(Tok::Sym(Sym::Star)), Some(Sym::Star), _) if self.glued().is_some() => {
                "powers are written `x ^ k`"
            }
            (Some(Tok::Sym(Sym::Slash)), Some(Sym::Slash), _) => {
                "ints are divided by `div m n`; a comment begins with `--`"
            }
            (Some(Tok::Sym(Sym::Plus)), Some(Sym::Plus), _) => "arrays are joined by `concat xs ys`",
            (Some(Tok::Sym(Sym::Slash)), Some(Sym::Equals), _) if self.glued().is_some() => {
                "`not equal` is written `!=`"
            }
            (Some(Tok::Sym(Sym::Plus | Sym::Minus | Sym::Star)), Some(Sym::Equals), _)
                if self.glued().is_some() =>
            {
                "names do not change; a loop passes a state on: `loop s = e for i < n do s + x[i]`"
            }
            (Some(Tok::Sym(Sym::Colon)), Some(Sym::Equals), _) => "a name is given with `let x = e in e`",
            (_, Some(Sym::Equals), Some(Tok::Sym(Sym::Greater))) if self.wants_sym(Sym::Arrow) => {
                "an arm is written `| p -> e`"
            }
            (_, Some(Sym::Equals), Some(Tok::Sym(Sym::Greater))) => "a function is written `\\x -> e`",
            (_, Some(Sym::Arrow | Sym::Colon | Sym::Equals), _)
                if self.word(&["fn", "fun", "lambda", "function"]).is_some() =>
            {
                "a function is written `\\x -> e`"
            }
            (_, Some(Sym::Equals), _) if self.word(&["where"]).is_some() => {
                "names are given before their use: `let y = e in e`"
            }
            (_, Some(Sym::Equals), _) if self.wants(Label::Operator) => match self.assigned() {
                true => "a name is given with `let x = e in e`",
                false => "equality is written `==`",
            },
            (_, Some(Sym::Approx), _) => {
                "`not equal` is written `!=`; `~=` stands between the two sides of a test"
            }
            (_, Some(Sym::Question), _) => "a choice is written `if c then e else e`",
            (_, Some(Sym::Bar), _) if self.wants(Label::Operator) => "the logical or is written `||`",
            (Some(Tok::Sym(Sym::Comma)), Some(Sym::If), _) if self.wants(Label::Name) => {
                "a comprehension has no condition; choose in it: `[ if c then e else 0 | i < n ]`"
            }
            (_, Some(Sym::LessEq), _) if self.wants_sym(Sym::Less) => {
                "a range is written `i < n`; up to n itself, `i < n + 1`"
            }
            (_, Some(s), _)
                if Sym::word(s.text()).is_some()
                    && (self.wants(Label::Name) || self.wants(Label::Pattern)) =>
            {
                return Some(format!("`{}` is a reserved word; choose another name", s.text()));
            }
            (_, Some(Sym::Arrow), _) if self.wants_sym(Sym::Colon) => "a result type is written `: τ`",
            (Some(Tok::Name(_) | Tok::Sym(Sym::Close)), Some(Sym::Arrow), _)
                if self.wants(Label::Operator) =>
            {
                "a function is written `\\x -> e`"
            }
            (_, Some(Sym::In), _) if self.wants_sym(Sym::Less) => "a range is written `i < n`",
            (_, Some(Sym::For), _) if self.wants_sym(Sym::Bar) => {
                "a comprehension is written `[ e | i < n ]`"
            }
            (_, Some(Sym::For | Sym::While), _) if self.wants(Label::Expr) => {
                "a loop is written `loop s = e for i < n do e` or `loop s = e while c do e`"
            }
            (_, Some(Sym::Comma), _) if self.wants_sym(Sym::Close) && self.wants_sym(Sym::Arrow) => {
                "each parameter has parentheses of its own: `(x : real) (y : real)`"
            }
            (_, Some(Sym::Colon), _) if self.wants_sym(Sym::With) && self.wants_sym(Sym::Equals) => {
                "the value of a field is written `{x = e}`"
            }
            (_, Some(Sym::Colon), _) if self.wants_sym(Sym::BracketClose) => {
                "a slice is written `a[i:j]`; every second element is `[ a[2 * i] | i < div n 2 ]`"
            }
            (Some(Tok::Sym(Sym::Bracket)), Some(Sym::BracketClose), _) if self.wants(Label::Size) => {
                SIZED_ARRAY
            }
            (Some(Tok::Sym(Sym::BracketClose)), _, _) if self.wants(Label::Type) => SIZED_ARRAY,
            (_, Some(Sym::Of), _) => "a constructor's type follows it: `type s = A real | B`",
            (_, Some(Sym::Lambda), _) if self.wants(Label::Argument) => {
                "as an argument, a function stands in parentheses with its body: `f (\\x -> e) y`"
            }
            (_, Some(Sym::Let | Sym::If | Sym::Loop | Sym::Match), _)
                if self.wants(Label::Argument) && (self.column)(&self.span).is_none() =>
            {
                "as an argument it stands in parentheses"
            }
            (_, Some(Sym::Bracket), _) if !self.wants(Label::Expr) => {
                "an index follows its array without a gap: `a[i]`"
            }
            (_, Some(Sym::Dot), _) if self.wants_sym(Sym::Arrow) => "a function is written `\\x -> e`",
            (Some(Tok::Name("return")), _, _) => {
                "a definition's value is its expression: there is no `return`"
            }
            (_, None, _) => return self.help_for_word(found),
            _ if self.negated() => "negation is written `not b`",
            _ if self.joined_by_and() => "the logical and is written `&&`",
            _ => return None,
        };
        Some(text.to_string())
    }

    /// For a name, a numeral and the like.
    fn help_for_word(&self, found: Tok<'t>) -> Option<String> {
        let text = match found {
            Tok::DotName(_) if self.wants_sym(Sym::Arrow) => "a function is written `\\x -> e`",
            Tok::Name("def" | "type" | "import" | "input" | "test" | "derivative" | "adjoint") => {
                "items begin in column one"
            }
            Tok::Name(_) if self.wants_sym(Sym::Tensor) => {
                "a value of a sum type is taken apart by `match x with | A y -> e`"
            }
            Tok::Name(_) if self.wants_sym(Sym::Colon) && !self.wants_sym(Sym::Equals) => {
                "each parameter has its own type: `(x : real) (y : real)`"
            }
            _ if self.negated() => "negation is written `not b`",
            _ if self.joined_by_and() => "the logical and is written `&&`",
            _ => return None,
        };
        Some(text.to_string())
    }

    /// `x =` at the beginning of a line.
    fn assigned(&self) -> bool {
        matches!(self.before(), [.., (_, before), (Tok::Name(_), x)]
            if before.end < x.start && (self.column)(x).is_some())
    }

    /// `!b` for a truth value: after it the second half of `!a ⊗ v` is missed.
    fn negated(&self) -> bool {
        self.wants_sym(Sym::Times)
    }

    /// `a and b` in an expression begins another definition of the group, which has a header.
    fn joined_by_and(&self) -> bool {
        let group = matches!(self.tokens, [(Tok::Name("def"), _), (Tok::Name("rec"), _), ..]);
        !group && self.before().iter().any(|(t, _)| *t == Tok::Sym(Sym::And))
    }
}

const SIZED_ARRAY: &str =
    "an array's type has its size: `[n]real`, with n bound as in `def f [n] (x : [n]real) …`";
