//! The error codes of the lexer and the parser: one row each.

/// One error: its code and what it is called in lists.
pub struct Code {
    pub code: &'static str,
    pub title: &'static str,
}

macro_rules! codes {
    ($($name:ident = $code:literal $title:literal,)*) => {
        $(pub const $name: &str = $code;)*
        /// Every code of this stage.
        pub const ALL: &[Code] = &[$(Code { code: $code, title: $title }),*];
    };
}

codes! {
    UNEXPECTED = "E0101" "something else was expected here",
    UNEXPECTED_END = "E0102" "the text ends too early",
    NOT_AN_ITEM = "E0103" "only definitions and other items stand at the top of a file",
    BAD_CHARACTER = "E0104" "a character that no program contains",
    UNCLOSED_STRING = "E0105" "a string that is not closed on its line",
    BAD_NUMERAL = "E0106" "a numeral that is not well formed",
    INT_OVERFLOW = "E0107" "an integer that does not fit in 64 bits",
    TOO_DEEP = "E0108" "nesting beyond the limit",
    COMPARISON_CHAIN = "E0109" "comparisons do not chain",
    UNBALANCED = "E0110" "a bracket without its partner",
    UNTYPED_PARAMETER = "E0111" "a parameter of a definition without its type",
    NOT_A_TEST = "E0112" "a test that compares nothing",
    LOOSE_DOT = "E0113" "a projection with a gap before its dot",
    LET_WITHOUT_IN = "E0114" "a `let` without its `in`",
    INCOMPLETE_IF = "E0115" "an `if` without its `then` or `else`",
}
