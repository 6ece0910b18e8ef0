//! Text to tokens. The lexer itself accepts every text; what is wrong with a piece of it is noted in the piece.

use super::codes;
use super::token::{Sym, Tok};
use crate::diag::{Diagnostic, Span};
use chumsky::prelude::*;

/// The tokens of a text with their places, and what is wrong with some of them (each wrong one is replaced by its likely meaning).
#[derive(Debug, Default)]
pub struct Lexed<'s> {
    pub tokens: Vec<(Tok<'s>, Span)>,
    pub diagnostics: Vec<Diagnostic>,
}

/// A piece of text, not yet looked into.
#[derive(Clone, Copy)]
enum Piece {
    Gap,
    Doc,
    Word,
    TypeVar,
    Number,
    Str,
    OpenStr,
    DotInt,
    DotName,
    Sym(Sym),
    Unknown,
}

fn word_start(c: &char) -> bool {
    (c.is_alphabetic() && *c != 'λ') || *c == '_'
}

fn word_rest(c: &char) -> bool {
    c.is_alphanumeric() || *c == '_' || *c == '\''
}

fn pieces<'s>() -> impl Parser<'s, &'s str, Vec<(Piece, SimpleSpan)>> {
    let rest = || any().filter(word_rest).repeated();
    let digits = || any().filter(char::is_ascii_digit).repeated().at_least(1);
    let word = || any().filter(word_start).then(rest());
    let line = || any().filter(|c| *c != '\n').repeated();

    let gap = choice((
        any().filter(|c: &char| c.is_whitespace() || *c == '\u{feff}').repeated().at_least(1),
        just("--").then(just('|').not()).then(line()).ignored().repeated().at_least(1).at_most(1),
    ));
    // A point or an exponent without digits, and letters directly after a numeral, are kept in the piece to be reported.
    let number = digits()
        .then(just('.').then(digits().or_not()).or_not())
        .then(one_of("eE").then(one_of("+-").or_not()).then(digits()).or_not())
        .then(rest());
    let inside = || any().filter(|c| *c != '"' && *c != '\n').repeated();
    let string = just('"').ignore_then(inside()).ignore_then(just('"').or_not());
    let fixed = |table: &'static [(&'static str, Sym)]| {
        choice(table.iter().map(|(text, s)| just(*text).to(Piece::Sym(*s))).collect::<Vec<_>>())
    };
    let piece = choice((
        gap.to(Piece::Gap),
        word().to(Piece::Word),
        number.to(Piece::Number),
        just("--|").then(line()).to(Piece::Doc),
        just('.').then(digits()).to(Piece::DotInt),
        just('.').then(word()).to(Piece::DotName),
        just('λ').then(just('\u{332}').or_not()).to(Piece::Sym(Sym::Lambda)),
        fixed(LONG),
        fixed(SHORT),
        just('\'').then(word()).to(Piece::TypeVar),
        string.map(|closed| if closed.is_some() { Piece::Str } else { Piece::OpenStr }),
        // A comment of other languages: one complaint for the line.
        just('#').then(line()).to(Piece::Unknown),
        any().to(Piece::Unknown),
    ));
    piece.map_with(|p, e| (p, e.span())).repeated().collect()
}

/// Symbols that begin with another symbol come first.
const LONG: &[(&str, Sym)] = &[
    ("->", Sym::Arrow),
    ("→", Sym::Arrow),
    ("⊸", Sym::Lolli),
    ("⊗", Sym::Times),
    ("•", Sym::Bullet),
    ("==", Sym::EqEq),
    ("!=", Sym::NotEq),
    ("<=", Sym::LessEq),
    (">=", Sym::GreaterEq),
    (">>", Sym::Compose),
    ("&&", Sym::AndAnd),
    ("||", Sym::OrOr),
    ("|>", Sym::Pipe),
    ("~=", Sym::Approx),
];

const SHORT: &[(&str, Sym)] = &[
    ("(", Sym::Open),
    (")", Sym::Close),
    ("[", Sym::Bracket),
    ("]", Sym::BracketClose),
    ("{", Sym::Brace),
    ("}", Sym::BraceClose),
    (",", Sym::Comma),
    (":", Sym::Colon),
    ("=", Sym::Equals),
    ("|", Sym::Bar),
    ("\\", Sym::Lambda),
    ("!", Sym::Bang),
    ("?", Sym::Question),
    (".", Sym::Dot),
    ("+", Sym::Plus),
    ("-", Sym::Minus),
    ("*", Sym::Star),
    ("/", Sym::Slash),
    ("^", Sym::Caret),
    ("@", Sym::At),
    ("<", Sym::Less),
    (">", Sym::Greater),
];

/// May a postfix `[` or `.` follow directly?
fn ends_operand(t: &Tok) -> bool {
    match t {
        Tok::Name(_) | Tok::Int(_) | Tok::Real(_) | Tok::Str(_) | Tok::DotInt(_) | Tok::DotName(_) => true,
        Tok::Sym(s) => {
            matches!(s, Sym::Close | Sym::BracketClose | Sym::BraceClose | Sym::True | Sym::False)
        }
        Tok::TypeVar(_) | Tok::Doc(_) => false,
    }
}

/// The tokens of a text.
pub fn lex(text: &str) -> Lexed<'_> {
    let mut out = Lexed::default();
    let (pieces, _) = pieces().parse(text).into_output_errors();
    for (piece, place) in pieces.unwrap_or_default() {
        let slice = &text[place.start..place.end];
        let span = Span::new(place.start, place.end);
        let glued = out.tokens.last().is_some_and(|(t, s)| s.end as usize == place.start && ends_operand(t));
        let mut report = |code, message: String, label: &str, help: Option<String>| {
            let d = Diagnostic::new(code, message).label(span, label);
            out.diagnostics.push(Diagnostic { help, ..d });
        };
        let tok = match piece {
            Piece::Gap => continue,
            Piece::Doc => Tok::Doc(slice["--|".len()..].trim()),
            Piece::Word => Sym::word(slice).map_or(Tok::Name(slice), Tok::Sym),
            Piece::TypeVar => Tok::TypeVar(&slice[1..]),
            // The least int is a numeral after a minus that is no subtraction.
            Piece::Number if slice == LEAST && negated(&out.tokens) => Tok::Int(i64::MIN),
            Piece::Number => match numeral(slice) {
                Ok(t) => t,
                Err((code, message, help)) => {
                    report(code, message, "this numeral", help);
                    if slice.contains(['.', 'e', 'E']) { Tok::Real(0.0) } else { Tok::Int(0) }
                }
            },
            Piece::Str => Tok::Str(&slice[1..slice.len() - 1]),
            Piece::OpenStr => {
                report(
                    codes::UNCLOSED_STRING,
                    "this string is not closed".into(),
                    "the string begins here and the line ends",
                    Some("end it with `\"` on the same line".into()),
                );
                Tok::Str(slice[1..].trim_end())
            }
            Piece::DotInt if glued => match slice[1..].parse() {
                Ok(k) => Tok::DotInt(k),
                Err(_) => {
                    report(codes::INT_OVERFLOW, "no tuple has that many components".into(), "here", None);
                    Tok::DotInt(0)
                }
            },
            Piece::DotInt => {
                let help = format!("write `0{slice}`");
                report(
                    codes::BAD_NUMERAL,
                    "a numeral begins with a digit".into(),
                    "this begins with a point",
                    Some(help),
                );
                Tok::Real(0.0)
            }
            Piece::DotName if glued => Tok::DotName(&slice[1..]),
            Piece::DotName => {
                let help = format!("write `{slice}` directly after what it is taken from");
                report(
                    codes::LOOSE_DOT,
                    "a field's dot follows what it is taken from without a gap".into(),
                    "nothing stands directly before this dot",
                    Some(help),
                );
                Tok::DotName(&slice[1..])
            }
            Piece::Sym(Sym::Bracket) if glued => Tok::Sym(Sym::IndexOpen),
            Piece::Sym(s) => Tok::Sym(s),
            Piece::Unknown => {
                let c = slice.chars().next().unwrap_or(' ');
                report(
                    codes::BAD_CHARACTER,
                    format!("the character `{}` has no meaning here", c.escape_debug()),
                    "this character",
                    similar(c),
                );
                continue;
            }
        };
        out.tokens.push((tok, span));
    }
    out
}

/// The magnitude of the least int.
const LEAST: &str = "9223372036854775808";

/// Is what follows these tokens negated?
fn negated(tokens: &[(Tok, Span)]) -> bool {
    match tokens {
        [.., (before, _), (Tok::Sym(Sym::Minus), _)] => !ends_operand(before),
        [(Tok::Sym(Sym::Minus), _)] => true,
        _ => false,
    }
}

/// What someone who typed c may have meant.
fn similar(c: char) -> Option<String> {
    Some(match c {
        '−' | '–' | '—' => "for minus write `-`".into(),
        '×' | '·' => "for a product write `*`".into(),
        '≤' => "write `<=`".into(),
        '≥' => "write `>=`".into(),
        '≠' => "write `!=`".into(),
        '“' | '”' => "strings stand between `\"`".into(),
        '#' => "a comment begins with `--`".into(),
        ';' => "nothing is separated by `;`; a name is given with `let x = e in e`".into(),
        '$' => "an argument stands in parentheses, or before the function: `xs |> sum`".into(),
        '&' => "the logical and is `&&`".into(),
        '%' => "the remainder is `mod`".into(),
        _ => return None,
    })
}

type Wrong = (&'static str, String, Option<String>);

fn numeral(text: &str) -> Result<Tok<'static>, Wrong> {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().map(Tok::Int).map_err(|_| {
            let message = format!("`{text}` is too large: integers have 64 bits");
            let help = format!("the largest is {}; a real is written `{text}.0`", i64::MAX);
            (codes::INT_OVERFLOW, message, Some(help))
        });
    }
    if let Some(int) = text.strip_suffix('.') {
        let message = format!("`{text}` has no digit after its point");
        return Err((codes::BAD_NUMERAL, message, Some(format!("write `{int}.0`"))));
    }
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(Tok::Real(x)),
        Ok(_) => Err((codes::BAD_NUMERAL, format!("`{text}` is too large for a real"), None)),
        Err(_) => {
            let letters = text.trim_start_matches(|c: char| c.is_ascii_digit());
            let digits = &text[..text.len() - letters.len()];
            let help = match digits != "0" && letters != "e" && letters.chars().all(char::is_alphabetic) {
                true => format!("a product is written `{digits} * {letters}`"),
                false => "numerals are written like 12, 1.5 or 1e-3; a name begins with a letter".into(),
            };
            Err((codes::BAD_NUMERAL, format!("`{text}` is not a numeral"), Some(help)))
        }
    }
}
