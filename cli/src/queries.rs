//! What can be asked of a source file: each query a line or two over a pure function, re-run only when what it read has changed.
//! An item is identified by its word and name and parsed from its own text, so all spans below here count from the item's
//! first byte; only reports read where the item begins.

use crate::items::{ItemKey, split};
use crate::session::{Db, SourceFile};
use lang::diag::Diagnostic;
use lang::surface;
use std::sync::Arc;

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

    fn count(log: &[String], query: &str) -> usize {
        log.iter().filter(|line| line.starts_with(query)).count()
    }

    #[test]
    fn an_edit_parses_again_only_what_it_touches() {
        let (mut db, look) = observed();
        let file = SourceFile::new(&db, "a.ad".into(), TEXT.into());
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
}
