//! Text to surface syntax. Items are cut out first (they begin in column one) and parsed one by one, so that an error in one
//! leaves the others alone; brackets and depth are checked before the grammar sees a token.

use super::items::{Grammar, grammar};
use super::lexer::lex;
use super::problem::{ITEMS, In};
use super::token::{Sym, Tok};
use super::*;
use crate::diag::Diagnostic;
use chumsky::prelude::*;

/// How deep expressions, types and patterns may nest. Every later stage may recurse so deep.
pub const MAX_DEPTH: usize = 2000;

type Token<'t> = (Tok<'t>, Span);

const ITEM_WORDS: &[&str] = &["def", "type", "import", "input", "test", "derivative", "adjoint"];

/// The items of a file, and everything that is wrong with its syntax. What did not parse is an `Error` node.
pub fn parse(text: &str) -> (File, Vec<Diagnostic>) {
    let lexed = lex(text);
    let mut diagnostics = lexed.diagnostics;
    let mut docs: Vec<(usize, &str)> = vec![];
    let mut tokens: Vec<Token> = Vec::with_capacity(lexed.tokens.len());
    for (tok, span) in lexed.tokens {
        match tok {
            Tok::Doc(line) => docs.push((tokens.len(), line)),
            _ => tokens.push((tok, span)),
        }
    }
    // How far what begins a line is indented; None for what begins none.
    let column = |s: &Span| {
        let line = text[..s.start as usize].rsplit('\n').next().unwrap_or("");
        line.chars().all(char::is_whitespace).then_some(line.len())
    };
    let starts: Vec<usize> = (0..tokens.len())
        .filter(
            |k| matches!(tokens[*k], (Tok::Name(w), s) if ITEM_WORDS.contains(&w) && column(&s) == Some(0)),
        )
        .collect();
    if let Some((tok, span)) = tokens.first().filter(|_| starts.first() != Some(&0)) {
        diagnostics.push(not_an_item(tok, *span));
    }
    let unknown: Vec<u32> = diagnostics
        .iter()
        .filter(|d| d.code == codes::BAD_CHARACTER)
        .filter_map(|d| d.labels.first().map(|(s, _)| s.start))
        .collect();
    let grammar = grammar();
    let mut file = File::default();
    for (k, start) in starts.iter().enumerate() {
        let slice = &tokens[*start..starts.get(k + 1).copied().unwrap_or(tokens.len())];
        let span = slice[0].1.to(slice[slice.len() - 1].1);
        let mine = docs.partition_point(|(at, _)| at < start)..docs.partition_point(|(at, _)| at <= start);
        let doc: Vec<&str> = docs[mine].iter().map(|(_, line)| *line).collect();
        let doc = (!doc.is_empty()).then(|| doc.join("\n"));
        // What an unknown character stands for is not guessed.
        let garbled = unknown.iter().any(|at| span.start < *at && *at < span.end);
        let kind = item(&grammar, slice, garbled, &column, &mut diagnostics);
        file.items.push(Item { doc, kind, span });
    }
    (file, diagnostics)
}

/// One expression, alone.
pub fn parse_expr(text: &str) -> (Expr, Vec<Diagnostic>) {
    let lexed = lex(text);
    let mut diagnostics = lexed.diagnostics;
    let mut tokens = lexed.tokens;
    tokens.retain(|(t, _)| !matches!(t, Tok::Doc(_)));
    let whole = Span::new(0, text.len());
    let failed = at(ExprKind::Error, whole);
    if let Err(d) = scan(&tokens) {
        diagnostics.push(d);
        return (failed, diagnostics);
    }
    let end = tokens.last().map_or(whole, |t| t.1);
    let (expr, problems) = grammar().expr.parse(input(&tokens, end)).into_output_errors();
    diagnostics.extend(problems.into_iter().map(|p| p.into_diagnostic(None, &tokens, &|_| None)));
    (expr.unwrap_or(failed), diagnostics)
}

fn input<'t>(tokens: &'t [Token<'t>], end: Span) -> In<'t> {
    tokens.split_token_span(end)
}

/// Parses one item's tokens.
fn item<'t>(
    grammar: &Grammar<'t>,
    tokens: &'t [Token<'t>],
    garbled: bool,
    column: &dyn Fn(&Span) -> Option<usize>,
    diagnostics: &mut Vec<Diagnostic>,
) -> ItemKind {
    let end = tokens[tokens.len() - 1].1;
    let scanned = scan(tokens);
    if scanned.is_err() || garbled {
        diagnostics.extend(scanned.err());
        // The header alone, so that uses of the definition are not reported as well. One that nests too deep itself is not parsed:
        // what the grammar does to recover takes the square of the depth.
        let deep = |k: &usize| matches!(scan(&tokens[..=*k]), Err(d) if d.code == codes::TOO_DEEP);
        let header = tokens.iter().position(|t| t.0 == Tok::Sym(Sym::Equals)).filter(|k| !deep(k));
        let (kind, _) = match header {
            Some(k) => grammar.item.parse(input(&tokens[..=k], end)).into_output_errors(),
            None => (None, vec![]),
        };
        return kind.unwrap_or(ItemKind::Error);
    }
    let (mut kind, problems) = grammar.item.parse(input(tokens, end)).into_output_errors();
    if let (Some(ItemKind::Def { defs, .. }), false) = (&mut kind, problems.is_empty()) {
        // What a body with errors means is not guessed either.
        defs.iter_mut().for_each(|d| d.body.node = ExprKind::Error);
    }
    for p in problems {
        let before = |s: &Span| s.start <= p.span.start;
        let stray = tokens[1..].iter().find_map(|(t, s)| match t {
            Tok::Name(w) if column(s) == Some(0) && before(s) => Some((stray_word(w), *s)),
            Tok::Name(w) if ITEM_WORDS.contains(w) && column(s).is_some() && before(s) => {
                Some((format!("`{w}` begins an item only in column one"), *s))
            }
            _ => None,
        });
        diagnostics.push(p.into_diagnostic(stray, tokens, column));
    }
    kind.unwrap_or(ItemKind::Error)
}

fn stray_word(word: &str) -> String {
    format!(
        "`{word}` in column one begins no item, so it continues the definition above it; items begin with {ITEMS}"
    )
}

fn not_an_item(tok: &Tok, span: Span) -> Diagnostic {
    let d =
        Diagnostic::new(codes::NOT_AN_ITEM, format!("expected a definition or another item, found {tok}"))
            .label(span, "this begins no item");
    match tok {
        Tok::Name(w) if ITEM_WORDS.contains(w) => d.help(format!("move `{w}` to column one")),
        Tok::Sym(Sym::Slash) => d.help("a comment begins with `--`"),
        Tok::Sym(Sym::Let) | Tok::Name(_) => d.help("a definition is written `def f (x : real) : real = …`"),
        _ => d.help(format!("items begin in column one with {ITEMS}")),
    }
}

/// Checks that brackets match and that nothing can nest deeper than [`MAX_DEPTH`]. The depth is bounded from the tokens alone: within a bracket
/// every form with a body that is not at its end, and since the last separator every operator and argument, may add a level.
fn scan(tokens: &[Token]) -> Result<(), Diagnostic> {
    struct Level {
        open: Option<(Sym, Span)>,
        forms: usize,
        run: usize,
        /// The forms around the value of each `let` and around the arms of each `match` that is not at its end: what is in them ends at `in` and `|`.
        lets: Vec<usize>,
        matches: Vec<usize>,
    }
    let level = |open| Level { open, forms: 0, run: 0, lets: vec![], matches: vec![] };
    let mut levels = vec![level(None)];
    // The depth of all levels but the last.
    let mut outer = 0;
    let mut after_operand = false;
    for (tok, span) in tokens {
        let here = levels.last_mut().expect("the outermost level is never closed");
        let mut operand = false;
        match tok {
            Tok::Name(_) | Tok::Int(_) | Tok::Real(_) | Tok::Str(_) | Tok::TypeVar(_) => {
                here.run += after_operand as usize;
                operand = true;
            }
            Tok::DotInt(_) | Tok::DotName(_) => {
                here.run += 1;
                operand = true;
            }
            Tok::Doc(_) => {}
            Tok::Sym(s) => match s {
                Sym::Open | Sym::Bracket | Sym::IndexOpen | Sym::Brace => {
                    here.run += 1;
                    outer += here.forms + here.run;
                    levels.push(level(Some((*s, *span))));
                }
                Sym::Close | Sym::BracketClose | Sym::BraceClose => {
                    let Some((open, place)) = here.open else { return Err(unopened(*s, *span)) };
                    if partner(open) != *s {
                        return Err(mismatched(open, place, *s, *span));
                    }
                    levels.pop();
                    let here = levels.last().expect("an opened level lies in another");
                    outer -= here.forms + here.run;
                    operand = true;
                }
                Sym::Then | Sym::Else | Sym::Do | Sym::Collect => here.run = 0,
                Sym::In => {
                    here.run = 0;
                    here.forms = here.lets.pop().unwrap_or(here.forms);
                    here.matches.retain(|forms| *forms <= here.forms);
                }
                Sym::Bar => {
                    here.run = 0;
                    here.forms = here.matches.last().copied().unwrap_or(here.forms);
                }
                Sym::Comma if here.open.is_none() => here.run = 0,
                Sym::Comma | Sym::And => *here = level(here.open),
                Sym::Let => {
                    here.forms += 1;
                    here.lets.push(here.forms);
                }
                Sym::Match => {
                    here.forms += 1;
                    here.matches.push(here.forms);
                }
                Sym::Lambda | Sym::If | Sym::Case | Sym::Loop | Sym::LoopUp | Sym::LoopDown | Sym::Suml => {
                    here.forms += 1
                }
                Sym::True | Sym::False | Sym::Underscore => {
                    here.run += after_operand as usize;
                    operand = true;
                }
                _ => here.run += 1,
            },
        }
        after_operand = operand;
        let here = levels.last().expect("the outermost level is never closed");
        if outer + here.forms + here.run > MAX_DEPTH {
            return Err(too_deep(*span));
        }
    }
    match levels.pop().and_then(|l| l.open) {
        Some((open, place)) => {
            Err(Diagnostic::new(codes::UNBALANCED, format!("{} is never closed", Tok::Sym(open)))
                .label(place, "opened here")
                .help(format!("{} is missing", Tok::Sym(partner(open)))))
        }
        None => Ok(()),
    }
}

fn partner(open: Sym) -> Sym {
    match open {
        Sym::Open => Sym::Close,
        Sym::Brace => Sym::BraceClose,
        _ => Sym::BracketClose,
    }
}

fn unopened(close: Sym, span: Span) -> Diagnostic {
    Diagnostic::new(codes::UNBALANCED, format!("{} closes nothing", Tok::Sym(close)))
        .label(span, "nothing is open here")
}

fn mismatched(open: Sym, place: Span, close: Sym, span: Span) -> Diagnostic {
    let (open, close, want) = (Tok::Sym(open), Tok::Sym(close), Tok::Sym(partner(open)));
    Diagnostic::new(codes::UNBALANCED, format!("{open} is closed by {close}"))
        .label(span, format!("expected {want} here"))
        .label(place, "opened here")
}

fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::new(codes::TOO_DEEP, format!("this nests more than {MAX_DEPTH} levels deep"))
        .label(span, "the limit is reached here")
        .help("name parts of it with definitions of their own")
}
