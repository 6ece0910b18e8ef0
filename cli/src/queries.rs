//! What can be asked of a source file: each query a line or two over a pure function, re-run only when what it read has changed.
//! An item is identified by its word and name and parsed from its own text, so all spans below here count from the item's
//! first byte; only reports read where the item begins.

use crate::items::{ItemKey, split};
use crate::modules::Target;
use crate::session::{Db, SourceFile};
use lang::core;
use lang::diag::Diagnostic;
use lang::surface::{self, ItemKind};
use std::iter::repeat;
use std::sync::Arc;
use typeck::Signatures;
use typeck::modules::{self, Interface, Link};

/// One item of a file.
#[salsa::tracked(debug)]
pub struct Item<'db> {
    pub key: ItemKey,
    #[tracked]
    #[returns(deref)]
    pub text: Arc<str>,
    /// Its first byte in the file.
    #[tracked]
    #[returns(copy)]
    pub start: u32,
}

#[salsa::tracked]
pub fn items<'db>(db: &'db dyn Db, file: SourceFile) -> Vec<Item<'db>> {
    let text = file.text(db);
    let places = split(text).into_iter();
    places.map(|(key, place)| Item::new(db, key, text[place.clone()].into(), place.start as u32)).collect()
}

/// An item's syntax and what is wrong with it.
#[derive(Debug, salsa::SalsaValue)]
pub struct Parsed {
    #[salsa_value(unsafe(prove_safe_to_retain_manually))]
    pub file: surface::File,
    #[salsa_value(unsafe(prove_safe_to_retain_manually))]
    pub diagnostics: Vec<Diagnostic>,
}

/// Never equal to an earlier result: it runs again only when the item's text has changed, and then places may have.
#[salsa::tracked(no_eq)]
pub fn parse<'db>(db: &'db dyn Db, item: Item<'db>) -> Arc<Parsed> {
    let (file, diagnostics) = surface::parser::parse(item.text(db));
    Arc::new(Parsed { file, diagnostics })
}

/// The signatures of a file and what is wrong with headers, in the file's own spans.
#[salsa::tracked(no_eq)]
pub fn headers(db: &dyn Db, file: SourceFile) -> Headers {
    let links = file.links(db).iter().map(|target| match target {
        Target::File(file) => Link::Module(exported(db, *file).interface.clone()),
        Target::Broken(fault) => Link::Broken(fault.clone()),
    });
    let links: Vec<Link> = links.collect();
    let items = items(db, file).iter();
    let parsed: Vec<_> = items.map(|item| (parse(db, *item).clone(), item.start(db))).collect();
    let parts: Vec<_> =
        parsed.iter().flat_map(|(p, start)| p.file.items.iter().zip(repeat(*start))).collect();
    let (signatures, diagnostics) = typeck::signatures_of(&parts, file.module(db), &links);
    Headers { signatures: Arc::new(signatures), diagnostics }
}

#[derive(Debug, salsa::SalsaValue)]
pub struct Headers {
    #[salsa_value(unsafe(prove_safe_to_retain_manually))]
    pub signatures: Arc<Signatures>,
    #[salsa_value(unsafe(prove_safe_to_retain_manually))]
    pub diagnostics: Vec<Diagnostic>,
}

/// Signatures alone: equal to what they were, as long as no header and no inferred result has changed.
#[derive(Clone, Debug, PartialEq, salsa::SalsaValue)]
pub struct Known {
    #[salsa_value(unsafe(prove_safe_to_retain_manually))]
    pub signatures: Arc<Signatures>,
}

#[salsa::tracked]
pub fn known(db: &dyn Db, file: SourceFile) -> Known {
    Known { signatures: headers(db, file).signatures.clone() }
}

/// What others may know of a file.
#[derive(Clone, Debug, PartialEq, salsa::SalsaValue)]
pub struct Exported {
    #[salsa_value(unsafe(prove_safe_to_retain_manually))]
    pub interface: Arc<Interface>,
}

#[salsa::tracked]
pub fn exported(db: &dyn Db, file: SourceFile) -> Exported {
    let mut items = items(db, file).iter().flat_map(|item| &parse(db, *item).file.items);
    let incomplete = items.any(|item| item.kind == ItemKind::Error);
    Exported { interface: Arc::new(modules::interface(&known(db, file).signatures, incomplete)) }
}

/// What one item means: its definitions in Core, its input, its test; sites count from where the item's first word begins.
#[derive(Debug, Default, salsa::SalsaValue)]
pub struct CheckedItem {
    #[salsa_value(unsafe(prove_safe_to_retain_manually))]
    pub defs: Vec<Arc<core::Def>>,
    #[salsa_value(unsafe(prove_safe_to_retain_manually))]
    pub test: Option<typeck::TestCase>,
    #[salsa_value(unsafe(prove_safe_to_retain_manually))]
    pub diagnostics: Vec<Diagnostic>,
    /// Where the item's first word begins, after its documentation.
    pub base: u32,
}

/// One item against the signatures.
#[salsa::tracked(no_eq)]
pub fn check<'db>(db: &'db dyn Db, file: SourceFile, item: Item<'db>) -> Arc<CheckedItem> {
    let (parsed, known) = (parse(db, item), known(db, file));
    let mut out = CheckedItem::default();
    for item in &parsed.file.items {
        out.base = item.span.start;
        match &item.kind {
            ItemKind::Def { defs, .. } => {
                for def in defs {
                    let (core, diagnostics) = typeck::check_def_at(def, &known.signatures, out.base);
                    out.defs.extend(core.into_iter().map(Arc::new));
                    out.diagnostics.extend(diagnostics);
                }
            }
            ItemKind::Test(test) => {
                let (case, diagnostics) = typeck::check_test(test, &known.signatures, out.base);
                out.test = case;
                out.diagnostics.extend(diagnostics);
            }
            // What is wrong with these is found with the headers.
            ItemKind::Input { .. }
            | ItemKind::Alias { .. }
            | ItemKind::Sum { .. }
            | ItemKind::Import(_)
            | ItemKind::Derivative { .. }
            | ItemKind::Adjoint { .. }
            | ItemKind::Error => {}
        }
    }
    Arc::new(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Compiler;
    use salsa::Setter;
    use std::sync::Mutex;

    const TEXT: &str =
        "--| Twice.\ndef f (x : real) : real =\n  x + x\n\ndef g (x : real) : real = f (f x)\n";

    /// A database and the queries it has run since the last look.
    fn observed() -> (Compiler, impl Fn(&Compiler) -> Vec<String>) {
        let log: Arc<Mutex<Vec<salsa::DatabaseKeyIndex>>> = Arc::default();
        let sink = log.clone();
        let db = Compiler::observed(move |event| {
            if let salsa::EventKind::WillExecute { database_key } = event.kind {
                sink.lock().unwrap().push(database_key);
            }
        });
        let look = move |db: &Compiler| {
            let keys = std::mem::take(&mut *log.lock().unwrap());
            salsa::attach(db, || keys.iter().map(|k| format!("{k:?}")).collect())
        };
        (db, look)
    }

    fn source(db: &Compiler, module: &str, text: &str, links: Vec<Target>) -> SourceFile {
        SourceFile::new(db, format!("{module}.ad"), text.into(), module.into(), links, false)
    }

    fn count(log: &[String], query: &str) -> usize {
        log.iter().filter(|line| line.starts_with(query)).count()
    }

    #[test]
    fn an_edit_parses_again_only_what_it_touches() {
        let (mut db, look) = observed();
        let file = source(&db, "", TEXT, vec![]);
        let all =
            |db: &Compiler| items(db, file).iter().map(|i| parse(db, *i).file.clone()).collect::<Vec<_>>();
        let first = all(&db);
        assert_eq!(count(&look(&db), "parse"), 2);
        // The same items as when the whole file is parsed at once.
        let (whole, _) = surface::parser::parse(TEXT);
        assert_eq!(first.iter().flat_map(|f| f.items.clone()).collect::<Vec<_>>(), whole.items);
        // Moving items is not touching them.
        file.set_text(&mut db).to(format!("-- moved\n\n{TEXT}\n-- end\n").into());
        assert_eq!(all(&db), first);
        let log = look(&db);
        assert_eq!((count(&log, "items"), count(&log, "parse")), (1, 0), "{log:?}");
        file.set_text(&mut db).to(TEXT.replace("x + x", "2 * x").into());
        assert_ne!(all(&db), first);
        assert_eq!(count(&look(&db), "parse"), 1);
    }

    #[test]
    fn an_edit_checks_again_only_what_it_touches() {
        let (mut db, look) = observed();
        let file = source(&db, "", TEXT, vec![]);
        let all = |db: &Compiler| {
            let checked = items(db, file).iter().map(|i| check(db, file, *i).clone());
            checked.flat_map(|c| c.defs.clone()).collect::<Vec<_>>()
        };
        let first = all(&db);
        assert_eq!((first.len(), count(&look(&db), "check(")), (2, 2));
        // A moved definition is the same in Core, and is not even checked.
        file.set_text(&mut db).to(format!("-- moved\n\n{TEXT}").into());
        assert_eq!(all(&db), first);
        assert_eq!(count(&look(&db), "check("), 0);
        // A body: its own definition only, since what others see of it is as it was.
        file.set_text(&mut db).to(TEXT.replace("x + x", "2 * x").into());
        assert_ne!(all(&db), first);
        assert_eq!(count(&look(&db), "check("), 1);
        // A header: everything that might use it.
        file.set_text(&mut db).to(TEXT.replace("(x : real)", "(y : real)").into());
        all(&db);
        assert_eq!(count(&look(&db), "check("), 2);
    }

    #[test]
    fn an_edit_of_an_import_checks_again_only_what_depends_on_it() {
        const OTHER: &str = "def other (x : real) : real = x\n";
        const USER: &str =
            "import \"a.ad\" as a\nimport \"b.ad\" as b\ndef h (x : real) : real = a.f x + b.other x\n";
        let (mut db, look) = observed();
        let a = source(&db, "a", TEXT, vec![]);
        let b = source(&db, "b", OTHER, vec![]);
        let main = source(&db, "", USER, vec![Target::File(a), Target::File(b)]);
        let all = |db: &Compiler| {
            let files = [a, b, main];
            let checked = files.iter().flat_map(|f| items(db, *f).iter().map(|i| check(db, *f, *i).clone()));
            checked.flat_map(|c| c.defs.clone()).map(|d| d.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(all(&db), ["a.f", "a.g", "b.other", "h"]);
        // The two items of a, that of b, and all three of the program.
        assert_eq!(count(&look(&db), "check("), 6);
        // A body that is imported: its own definition only.
        a.set_text(&mut db).to(TEXT.replace("x + x", "2 * x").into());
        all(&db);
        let log = look(&db);
        assert_eq!((count(&log, "check("), count(&log, "headers(")), (1, 1), "{log:?}");
        // A header: everything of its file, and of those that import it. The other import is left alone.
        a.set_text(&mut db).to(TEXT.replace("g (x : real)", "g (y : real)").replace("f (f x)", "f y").into());
        all(&db);
        let log = look(&db);
        assert_eq!((count(&log, "check("), count(&log, "headers(")), (5, 2), "{log:?}");
    }
    #[test]
    fn what_an_edit_costs_does_not_depend_on_the_file_s_length() {
        for definitions in [10, 100, 1000] {
            let each = |k: usize| format!("def f{k} (x : real) : real = x + {k}.0 * f{} x\n", k + 1);
            let last = format!("def f{definitions} (x : real) : real = x\n");
            let text: String = (0..definitions).map(each).chain([last]).collect();
            let (mut db, look) = observed();
            let file = source(&db, "", &text, vec![]);
            let run = |db: &Compiler| {
                assert!(db.check(file).is_ok());
                let log = look(db);
                ["items", "parse", "headers", "known", "check("].map(|query| count(&log, query))
            };
            let all = definitions + 1;
            assert_eq!(run(&db), [1, all, 1, 1, all]);
            // One body, which moves everything after it.
            db.edit(file, &text.replacen("x + 0.0", "x + 10.0 / x", 1));
            assert_eq!(run(&db), [1, 1, 1, 1, 1]);
            // Nothing.
            assert_eq!(run(&db), [0, 0, 0, 0, 0]);
        }
    }
}
