//! `docs/reference/std.md` is written from the files of the standard library, their comments and headers; this test fails when it is not what
//! they say. `BLESS=1 cargo test -p cli --test std_reference` writes it.

use cli::modules::STD;
use lang::surface::{Def, ExprKind, Item, ItemKind, at, parser, print};
use std::fmt::Write;

fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// What stands between `def name` and `=`.
fn header(def: &Def) -> String {
    let stub = Def { body: at(ExprKind::Var("e".into()), def.body.span), ..def.clone() };
    let item = Item { doc: None, kind: ItemKind::Def { rec: false, defs: vec![stub] }, span: def.name.span };
    let text = cell(&print::item(&item, print::Style::default()));
    let text = text.strip_prefix(&format!("def {}", def.name.node)).and_then(|t| t.strip_suffix("= e"));
    text.expect("a definition is printed with its name and body").trim().to_string()
}

fn reference() -> String {
    let mut out = String::from(INTRODUCTION);
    for (module, text) in STD {
        let about: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("-- ")).collect();
        assert!(!about.is_empty(), "{module} begins with what it is about");
        write!(
            out,
            "\n## {module}\n\n{}\n\n| name | parameters and result | |\n|---|---|---|\n",
            about.join("\n")
        )
        .unwrap();
        let (file, problems) = parser::parse(text);
        assert_eq!(problems, []);
        for item in &file.items {
            let ItemKind::Def { defs, .. } = &item.kind else { continue };
            for def in defs {
                let doc = item
                    .doc
                    .as_ref()
                    .unwrap_or_else(|| panic!("{module}.{} is not documented", def.name.node));
                assert!(def.result.is_some(), "{module}.{} does not write its result", def.name.node);
                writeln!(out, "| `{}` | `{}` | {} |", def.name.node, header(def), cell(doc)).unwrap();
            }
        }
    }
    out
}

#[test]
fn the_reference_is_what_the_files_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/std.md");
    let expected = reference();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    let differs = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
    assert!(found == expected, "{path} is out of date (BLESS=1 writes it): {differs:?}");
}

const INTRODUCTION: &str = "\
# The standard library

Modules written in the language itself. `import linalg` gives their names as `linalg.det`, `import linalg (det, solve)` as they are. They are part of
adc: nothing has to be found on the disk. This page is made from the files in `cli/std`; a test keeps the two the same, and
tests compare every function, and derivatives of most, with values computed elsewhere.

Sizes are solved from the arguments, as everywhere: `[n]` in a header is bound by the call.
";
