//! What the author's text says beyond the tree: comments, and where lines were broken. The formatter prints with it.
//!
//! Documents are built in the order of the text. Wherever a line may be broken the comments before that place are printed, each
//! of them ended by a line break, so none is lost and none swallows code.

use super::{Doc, text};
use crate::diag::Span;
use crate::surface::lexer::Lexed;
use crate::surface::token::Tok;
use pretty::RcDoc;
use std::cell::Cell;

/// Which of the author's line breaks are kept at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Those that comments need.
    Comments,
    /// Line breaks.
    Lines,
    /// Line breaks, and one blank line of several.
    Blanks,
}

struct Comment<'s> {
    text: &'s str,
    start: u32,
    /// Nothing but blanks stands before it on its line.
    own_line: bool,
    column_one: bool,
    /// A blank line stands before it.
    blank: bool,
}

/// A text, its tokens' places and its comments.
pub(super) struct Source<'s> {
    text: &'s str,
    tokens: Vec<Span>,
    comments: Vec<Comment<'s>>,
    /// The first comment that is not printed yet.
    next: Cell<usize>,
}

impl<'s> Source<'s> {
    pub(super) fn new(text: &'s str, lexed: &Lexed) -> Source<'s> {
        let (mut tokens, mut comments) = (vec![], vec![]);
        let mut at = 0;
        for (tok, span) in &lexed.tokens {
            gap(text, at, span.start as usize, &mut comments);
            match tok {
                Tok::Doc(_) => note(text, span.start as usize, &mut comments),
                _ => tokens.push(*span),
            }
            at = span.end as usize;
        }
        gap(text, at, text.len(), &mut comments);
        Source { text, tokens, comments, next: Cell::new(0) }
    }

    /// Where the first token at or after a place begins.
    pub(super) fn token(&self, at: u32) -> u32 {
        let k = self.tokens.partition_point(|s| s.start < at);
        self.tokens.get(k).map_or(self.text.len() as u32, |s| s.start)
    }

    /// The place of the `|` directly before a place, or that place.
    pub(super) fn bar(&self, at: u32) -> u32 {
        let k = self.tokens.partition_point(|s| s.start < at);
        match k.checked_sub(1).map(|k| self.tokens[k]) {
            Some(before) if self.slice(before) == "|" => before.start,
            _ => at,
        }
    }

    pub(super) fn slice(&self, span: Span) -> &'s str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The comments before a place that are not printed yet.
    fn take(&self, before: u32) -> &[Comment<'s>] {
        let from = self.next.get();
        let to = from + self.comments[from..].partition_point(|c| c.start < before);
        self.next.set(to);
        &self.comments[from..to]
    }

    /// The line breaks directly before a place.
    fn breaks(&self, at: u32) -> usize {
        let before = self.text[..at as usize].trim_end();
        self.text[before.len()..at as usize].matches('\n').count()
    }

    /// What separates the code at a place from what is before it: comments, the author's line breaks, or else `otherwise`.
    pub(super) fn gap<'a>(&self, at: u32, keep: Keep, otherwise: Doc<'a>) -> Doc<'a> {
        let blank = |wanted: bool| {
            let lines = if wanted && keep == Keep::Blanks { 2 } else { 1 };
            RcDoc::concat((0..lines).map(|_| RcDoc::hardline()))
        };
        let comments = self.take(at);
        let mut doc = RcDoc::nil();
        for (k, c) in comments.iter().enumerate() {
            // Only the first can still stand on the line of the code before it.
            let separator = if c.own_line || k > 0 { blank(c.blank) } else { text(" ") };
            doc = doc.append(separator).append(comment(c));
        }
        match (comments, keep) {
            ([], Keep::Comments) => otherwise,
            ([], Keep::Lines | Keep::Blanks) if self.breaks(at) == 0 => otherwise,
            (_, _) => doc.append(blank(self.breaks(at) > 1)),
        }
    }

    /// The comments between the last item and the one that begins at a place (or the end of the text): what follows the last item on its
    /// line, then lines with at most one blank line between them.
    pub(super) fn between(&self, last: Option<Span>, at: Option<u32>, out: &mut String) {
        let end = self.text.len() as u32;
        let mut first = last.is_none();
        for (k, c) in self.take(at.unwrap_or(end + 1)).iter().enumerate() {
            let trailing = !c.own_line && k == 0 && out.ends_with('\n');
            if trailing {
                out.pop();
                out.push(' ');
            } else if c.blank && !first {
                out.push('\n');
            }
            // What is said at the end of a body stays with the body.
            if !trailing && !c.column_one {
                out.push_str("  ");
            }
            let inside = last.is_some_and(|last| c.start < last.end);
            out.push_str(&if inside { plain(c.text) } else { tidy(c.text) });
            out.push('\n');
            first = false;
        }
        if at.is_some_and(|at| self.breaks(at) > 1) && !first {
            out.push('\n');
        }
    }
}

/// The comments in a stretch of text without tokens.
fn gap<'s>(text: &'s str, from: usize, to: usize, comments: &mut Vec<Comment<'s>>) {
    let mut at = from;
    for line in text[from..to].split_inclusive('\n') {
        if let Some(k) = line.find("--") {
            note(text, at + k, comments);
        }
        at += line.len();
    }
}

/// The comment that begins at a place.
fn note<'s>(text: &'s str, start: usize, comments: &mut Vec<Comment<'s>>) {
    let line = text[start..].lines().next().unwrap_or("").trim_end();
    let before = text[..start].trim_end();
    let lines = text[before.len()..start].matches('\n').count();
    let own_line = lines > 0 || before.is_empty();
    let column_one = start == 0 || text.as_bytes()[start - 1] == b'\n';
    comments.push(Comment { text: line, start: start as u32, own_line, column_one, blank: lines > 1 });
}

/// A documentation comment's mark is followed by a blank.
fn tidy(text: &str) -> String {
    match text.strip_prefix("--|") {
        Some(rest) if !rest.is_empty() && !rest.starts_with(char::is_whitespace) => format!("--| {rest}"),
        _ => text.to_string(),
    }
}

/// Inside an item nothing is documentation.
fn plain(text: &str) -> String {
    match text.strip_prefix("--|") {
        Some(rest) => format!("--{rest}"),
        None => text.to_string(),
    }
}

/// A comment takes no room: code is laid out as if it were not there. (Text beyond ASCII would measure itself, and is not to be measured twice.)
fn comment<'a>(c: &Comment) -> Doc<'a> {
    let words = RcDoc::from(pretty::Doc::OwnedText(plain(c.text).into()));
    RcDoc::from(pretty::Doc::RenderLen(0, words))
}
