//! Tokens, and the names the parser's messages give to what it expected.

use std::fmt;

/// Declares the fixed tokens with their spelling.
macro_rules! fixed {
    ($($name:ident = $text:literal,)*) => {
        /// A reserved word or a symbol.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Sym { $($name),* }

        impl Sym {
            pub const ALL: &'static [Sym] = &[$(Sym::$name),*];

            /// The ASCII spelling.
            pub fn text(self) -> &'static str {
                match self { $(Sym::$name => $text),* }
            }
        }
    };
}

fixed! {
    // Reserved words.
    Let = "let", In = "in", If = "if", Then = "then", Else = "else", Match = "match", With = "with",
    Loop = "loop", For = "for", While = "while", Do = "do", Collect = "collect",
    LoopUp = "loop_up", LoopDown = "loop_down", Case = "case", Of = "of", Tensor = "tensor", Suml = "suml",
    As = "as", And = "and", Within = "within", True = "true", False = "false", Underscore = "_",
    // Brackets. IndexOpen is a `[` with nothing between it and the operand before it.
    Open = "(", Close = ")", Bracket = "[", IndexOpen = "[ directly after an operand", BracketClose = "]",
    Brace = "{", BraceClose = "}",
    // Punctuation.
    Comma = ",", Colon = ":", Equals = "=", Bar = "|", Lambda = "\\", Arrow = "->", Lolli = "⊸",
    Times = "⊗", Bullet = "•", Bang = "!", Question = "?", Dot = ".", Approx = "~=",
    // Operators.
    Plus = "+", Minus = "-", Star = "*", Slash = "/", Caret = "^", At = "@", EqEq = "==", NotEq = "!=",
    Less = "<", LessEq = "<=", Greater = ">", GreaterEq = ">=", AndAnd = "&&", OrOr = "||", Pipe = "|>", Compose = ">>",
}

impl Sym {
    /// The reserved word spelled so.
    pub fn word(text: &str) -> Option<Sym> {
        Sym::ALL[..=Sym::Underscore as usize].iter().copied().find(|s| s.text() == text)
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tok<'s> {
    Name(&'s str),
    /// 'a
    TypeVar(&'s str),
    Int(i64),
    Real(f64),
    /// The text between the quotes.
    Str(&'s str),
    /// .0 directly after an operand
    DotInt(usize),
    /// .x directly after an operand
    DotName(&'s str),
    Sym(Sym),
    /// A `--|` line.
    Doc(&'s str),
}

impl fmt::Display for Tok<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tok::Name(x) => write!(f, "`{x}`"),
            Tok::TypeVar(a) => write!(f, "`'{a}`"),
            Tok::Int(k) => write!(f, "`{k}`"),
            Tok::Real(x) => write!(f, "`{x:?}`"),
            Tok::Str(s) => write!(f, "the string \"{s}\""),
            Tok::DotInt(k) => write!(f, "`.{k}`"),
            Tok::DotName(x) => write!(f, "`.{x}`"),
            Tok::Sym(Sym::IndexOpen) => write!(f, "`[`"),
            Tok::Sym(s) => write!(f, "`{}`", s.text()),
            Tok::Doc(_) => write!(f, "a documentation comment"),
        }
    }
}

/// What a message may say was expected, besides a fixed token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Label {
    Expr,
    Operator,
    Argument,
    Pattern,
    Type,
    Size,
    Name,
    Number,
    String,
    End,
}

impl Label {
    pub const ALL: &'static [Label] = &[
        Label::Expr,
        Label::Operator,
        Label::Argument,
        Label::Pattern,
        Label::Type,
        Label::Size,
        Label::Name,
        Label::Number,
        Label::String,
        Label::End,
    ];

    pub fn text(self) -> &'static str {
        match self {
            Label::Expr => "an expression",
            Label::Operator => "an operator",
            Label::Argument => "an argument",
            Label::Pattern => "a pattern",
            Label::Type => "a type",
            Label::Size => "a size",
            Label::Name => "a name",
            Label::Number => "a number",
            Label::String => "a string",
            Label::End => "the end of the definition",
        }
    }
}

/// The set of things a parser could have gone on with at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Expected(u128);

const LABELS_FROM: u32 = 96;

impl Expected {
    pub fn sym(s: Sym) -> Expected {
        Expected(1 << s as u32)
    }
    pub fn label(l: Label) -> Expected {
        Expected(1 << (LABELS_FROM + l as u32))
    }
    pub fn union(self, other: Expected) -> Expected {
        Expected(self.0 | other.0)
    }
    pub fn has(self, other: Expected) -> bool {
        self.0 & other.0 == other.0
    }
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn without(self, others: &[Expected]) -> Expected {
        others.iter().fold(self, |e, o| Expected(e.0 & !o.0))
    }

    /// Without what goes without saying next to something else in the set.
    fn essential(self) -> Expected {
        use Sym::{And, As, Bang, Bullet, Caret, IndexOpen, Lolli, Minus, Open};
        let sym = Expected::sym;
        let implied: &[(Expected, &[Expected])] = &[
            (Expected::label(Label::Expr), &[sym(Minus), sym(Bang)]),
            (Expected::label(Label::Pattern), &[sym(Open)]),
            (Expected::label(Label::Type), &[sym(Bang)]),
            (
                Expected::label(Label::Operator),
                &[Expected::label(Label::Argument), sym(As), sym(IndexOpen), sym(Bullet), sym(Bang)],
            ),
            (Expected::label(Label::End), &[sym(And)]),
            // After a type or the parameters of a λ.
            (sym(Lolli), &[sym(Lolli), sym(Minus), sym(Caret), sym(IndexOpen)]),
        ];
        let all = |e: Expected, (has, drop): &(Expected, &[Expected])| {
            if self.has(*has) { e.without(drop) } else { e }
        };
        implied.iter().fold(self, all)
    }

    /// The entries as words, grammatical categories first.
    pub fn words(self) -> Vec<String> {
        let labels =
            Label::ALL.iter().filter(|l| self.has(Expected::label(**l))).map(|l| l.text().to_string());
        let syms = Sym::ALL.iter().filter(|s| self.has(Expected::sym(**s)));
        labels.chain(syms.map(|s| Tok::Sym(*s).to_string())).collect()
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = self.essential().words();
        words.dedup();
        match words.split_last() {
            None => write!(f, "something else"),
            Some((last, [])) => write!(f, "{last}"),
            Some((last, rest)) => write!(f, "{} or {last}", rest.join(", ")),
        }
    }
}
