//! A file's text taken apart into the texts of its items, before any of them is parsed. Item words begin an item only in column
//! one (the language's rule), so this is a matter of lines. Each item then parses, and is checked, by itself: an edit touches one
//! item's text, and an error in one item cannot spoil the next.

use std::collections::HashMap;
use std::ops::Range;

/// Words that begin an item.
const WORDS: [&str; 7] = ["def", "type", "import", "input", "test", "derivative", "adjoint"];

/// Which item of a file: its word and name, and how many of the same word and name come before it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, salsa::SalsaValue)]
pub struct ItemKey {
    pub word: String,
    pub name: String,
    pub nth: usize,
}

/// The items' keys and places in order. The place begins at the item's documentation comment, if it has one, and ends with its
/// last line that is not a comment; together the places hold everything of the text that is not blank or comment.
pub fn split(text: &str) -> Vec<(ItemKey, Range<usize>)> {
    let mut items: Vec<(ItemKey, Range<usize>)> = vec![];
    let mut doc: Option<usize> = None;
    let mut named = HashMap::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let words = line.trim_start_matches('\u{feff}');
        let content = words.trim();
        if content.starts_with("--|") {
            doc.get_or_insert(start);
        } else if content.is_empty() || content.starts_with("--") {
            // Blank lines and comments belong to no item.
        } else {
            let end = start + line.trim_end().len();
            let first = words.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'')).next();
            let word = first.filter(|w| WORDS.contains(w));
            match (word, items.last_mut()) {
                (None, Some((_, place))) => place.end = end,
                (word, _) => {
                    let key = key(word.unwrap_or(""), words, &mut named);
                    items.push((key, doc.unwrap_or(start)..end));
                }
            }
            doc = None;
        }
    }
    // A documentation comment with nothing after it is for the parser to judge.
    if let Some(start) = doc {
        match items.last_mut() {
            Some((_, place)) => place.end = text.trim_end().len(),
            None => items.push((key("", "", &mut named), start..text.trim_end().len())),
        }
    }
    items
}

/// The key of the item that begins with this line; `named` counts those before it by word and name.
fn key<'t>(word: &'t str, line: &'t str, named: &mut HashMap<(&'t str, &'t str), usize>) -> ItemKey {
    let name = line.split_whitespace().skip(1).find(|w| *w != "rec").unwrap_or("");
    let name = name.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\'')).next().unwrap_or("");
    let before = named.entry((word, name)).or_insert(0);
    let nth = *before;
    *before += 1;
    ItemKey { word: word.into(), name: name.into(), nth }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(String, &str)> {
        split(text).into_iter().map(|(k, r)| (format!("{} {} {}", k.word, k.name, k.nth), &text[r])).collect()
    }

    #[test]
    fn items_begin_in_column_one_and_own_their_documentation() {
        let text = "-- about\n\n--| Doubles.\n-- why\ndef f (x : real) =\n  -- inside\n  x + x\n\n-- between\ndef rec g (x : int) = x\n  and h = 2\ntest t = 1 == 1 -- end\n  -- tail\n";
        let expected = [
            ("def f 0", "--| Doubles.\n-- why\ndef f (x : real) =\n  -- inside\n  x + x"),
            ("def g 0", "def rec g (x : int) = x\n  and h = 2"),
            ("test t 0", "test t = 1 == 1 -- end"),
        ];
        let expected: Vec<_> = expected.iter().map(|(k, t)| (k.to_string(), *t)).collect();
        assert_eq!(texts(text), expected);
    }

    #[test]
    fn text_before_the_first_item_and_repeated_names_are_kept() {
        let expected =
            [(" x 0", "y x"), ("def f 0", "def f = 1"), ("def f 1", "def f = 2"), ("def  0", "def")];
        let expected: Vec<_> = expected.iter().map(|(k, t)| (k.to_string(), *t)).collect();
        assert_eq!(texts("y x\ndef f = 1\ndef f = 2\ndef"), expected);
        assert_eq!(texts("-- nothing\n\n"), []);
        assert_eq!(texts("define f = 1").len(), 1);
        assert_eq!(texts("--| alone").len(), 1);
    }
}
