//! The formatter: same tree, same comments, and its own output is in its form.

use lang::surface::format::format;
use lang::surface::lexer::lex;
use lang::surface::parser::parse;
use lang::surface::print::{self, Style};
use lang::surface::token::Tok;
use proptest::prelude::*;

mod trees;

/// The comments of a text, in order.
fn comments(text: &str) -> Vec<String> {
    let mut out = vec![];
    let mut at = 0;
    let lexed = lex(text);
    let end = (Tok::Int(0), lang::diag::Span::new(text.len(), text.len()));
    for (tok, span) in lexed.tokens.iter().chain([&end]) {
        let lines = text[at..span.start as usize].lines();
        out.extend(lines.filter_map(|l| l.find("--").map(|k| l[k..].trim_end().to_string())));
        if let Tok::Doc(line) = tok {
            out.push(format!("--| {line}").trim_end().to_string());
        }
        at = span.end as usize;
    }
    out
}

/// Formats a text that parses, and checks what must hold of the result.
fn formatted(text: &str) -> Result<String, String> {
    let out = format(text).map_err(|ds| format!("{text}\n{ds:?}"))?;
    let (before, _) = parse(text);
    let (after, ds) = parse(&out);
    if !ds.is_empty() || before != after {
        return Err(format!("{text}\nbecomes\n{out}\n{ds:?}"));
    }
    // What looks like documentation inside an item becomes an ordinary comment.
    let plain = |text: &str| comments(text).iter().map(|c| c.replacen("--|", "--", 1)).collect::<Vec<_>>();
    if plain(text) != plain(&out) {
        return Err(format!("{text}\nbecomes\n{out}\n{:?}\n{:?}", comments(text), comments(&out)));
    }
    match format(&out) {
        Ok(again) if again == out => Ok(out),
        again => Err(format!("{text}\nbecomes\n{out}\nand then\n{}", again.unwrap_or_default())),
    }
}

#[track_caller]
fn becomes(text: &str, expected: &str) {
    match formatted(text) {
        Ok(out) => assert!(out == expected, "expected\n{expected}\nfound\n{out}"),
        Err(message) => panic!("{message}"),
    }
}

/// Comments inside definitions, of signs wide and narrow and of none.
#[test]
fn comments_may_be_in_any_script() {
    for comment in ["größer", "–", "\u{202e}", "\u{feff}x", "漢字", "λ → ⊸"] {
        becomes(
            &format!("def f (x : real) : real =\n  -- {comment}\n  x\n"),
            &format!("def f (x : real) : real =\n  -- {comment}\n  x\n"),
        );
    }
    becomes("def f(x--\u{feff}\n:n):l=m", "def f (x : n) --\u{feff}\n    : l = m\n");
}

#[test]
fn comments_stay_where_they_are() {
    let text = "\
-- About the file.

--| Doubles.
-- why
def f (x : real) : real = -- on the head
  -- before the body
  let y = x in -- about y

  -- about z
  let z = y + y in
  if z > 0.0 then -- positive
    z
  -- otherwise
  else
    g
      [
        1.0, -- one
        2.0,
        -- three
        3.0
        -- no more
      ]
-- after f

-- between
--| A.
def g (x : real^3) : real =
  x[0] -- first
  -- plus
  + x[1] -- tail
  -- rest

test t = f 1.0 -- left
  == 2.0 -- right
-- end
";
    let expected = "\
-- About the file.

--| Doubles.
-- why
def f (x : real) : real = -- on the head
  -- before the body
  let y = x in -- about y

  -- about z
  let z = y + y in
  if z > 0.0 then -- positive
    z
  -- otherwise
  else
    g
      [1.0, -- one
       2.0,
       -- three
       3.0
       -- no more
      ]
-- after f

-- between
--| A.
def g (x : real^3) : real =
  x[0] -- first
    -- plus
    + x[1] -- tail
  -- rest

test t =
  f 1.0 -- left
    == 2.0 -- right
-- end
";
    becomes(text, expected);
}

#[test]
fn the_authors_lines_and_spellings_are_kept_and_blanks_are_not() {
    let text = "\n\n\ndef f(x:real)  =\n     let g y  z : real = 1e-3*(y*z)   in\n\n\n     let {a,b} = r  in\n (g 1.50 x)\ndef h=1\n\n\n\ntype t={a:real,\n b:int}\n";
    let expected = "def f (x : real) =\n  let g y z : real = 1e-3 * (y * z) in\n\n  let {a, b} = r in\n  g 1.50 x\ndef h = 1\n\ntype t =\n  {a : real,\n   b : int}\n";
    becomes(text, expected);
    becomes("", "");
    becomes("-- alone", "-- alone\n");
    becomes(
        "import \"a.ad\"   as m\r\nimport linalg(dot2,trace)\r\n",
        "import \"a.ad\" as m\nimport linalg (dot2, trace)\n",
    );
}

#[test]
fn a_numeral_in_parentheses_is_kept_as_written() {
    becomes("test e=[1 01.5.0]==[]\n", "test e = [1 (01.5).0] == []\n");
    becomes("def x = (1e3)\n", "def x = 1e3\n");
}

#[test]
fn what_does_not_parse_is_refused() {
    assert!(!format("def f = (1").unwrap_err().is_empty());
    assert!(!format("x").unwrap_err().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_file_keeps_its_tree_and_comments(
        items in prop::collection::vec(trees::item(), 0..4),
        width in prop::sample::select(vec![1, 20, 60, 100]),
        symbols in any::<bool>(),
        places in prop::collection::vec((any::<prop::sample::Index>(), 0..6usize), 0..6),
    ) {
        let file = lang::surface::File { items };
        let mut text = print::file(&file, Style { width, symbols });
        // Comments and line breaks between words, where they do not come between a head and what touches it.
        for (k, (place, what)) in places.into_iter().enumerate() {
            let gaps: Vec<usize> = lex(&text).tokens.windows(2)
                .filter(|w| !matches!(w[0].0, Tok::Doc(_)) && w[0].1.end < w[1].1.start)
                .map(|w| w[0].1.end as usize)
                .collect();
            if gaps.is_empty() {
                break;
            }
            let piece = match what {
                0 => format!(" -- c{k}\n   "),
                1 => format!("\n-- c{k}\n   "),
                2 => format!("\n\n   -- c{k}\n\n   "),
                3 => format!(" --| c{k}\n   "),
                4 => "\n   ".into(),
                _ => "\n\n\n   ".into(),
            };
            let at = gaps[place.index(gaps.len())];
            // A new item stays in column one, and what was a comment stays one.
            if text[at..].trim_start_matches(' ').starts_with('\n') || text[at..].trim_start().starts_with("--") {
                continue;
            }
            text.insert_str(at, &piece);
        }
        if let Err(message) = formatted(&text) {
            prop_assert!(false, "{message}");
        }
    }
}

#[test]
fn an_alias_that_begins_like_a_constructor_keeps_its_parentheses() {
    for ty in ["(T)", "(T -o r)", "(T -> r)", "(T^n)", "(T[real])", "(D)"] {
        let text = format!("type b [n] = {ty}\n");
        assert_eq!(formatted(&text).unwrap(), text);
    }
    assert_eq!(formatted("type b = (t -> T)\n").unwrap(), "type b = t -> T\n");
}

#[test]
fn comments_may_be_in_any_language() {
    for words in ["é", "λ → ∂f", "“smart”", "日本"] {
        let text = format!("def main =\n  -- {words}\n  (1, -- {words}\n   2) -- {words}\n");
        let once = formatted(&text).unwrap();
        assert_eq!(once.matches(words).count(), 3, "{once}");
        assert_eq!(formatted(&once).unwrap(), once);
    }
}
