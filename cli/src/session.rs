//! A session: the files being worked on, and what is known of them. The only place, with [`crate::queries`], that knows of salsa.

use crate::data::given::read_text;
use crate::modules::{Loader, Target};
use crate::queries::Item;
use crate::report::{Problem, Source, Stop};
use crate::{guard, queries};
use lang::core::Program;
use lang::diag::{Diagnostic, Site, Span};
use lang::name::Name;
use rayon::prelude::*;
use salsa::Setter;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use typeck::{Signatures, TestCase, modules};

/// A source file as it is now.
#[salsa::input(debug)]
pub struct SourceFile {
    #[returns(deref)]
    pub path: String,
    #[returns(deref)]
    pub text: Arc<str>,
    /// Its identity among the files of its program: empty for the one that a command is given.
    #[returns(deref)]
    pub module: String,
    /// Where its imports lead, in their order.
    #[returns(deref)]
    pub links: Vec<Target>,
    /// Is it of the standard library?
    pub std: bool,
}

#[salsa::db]
pub trait Db: salsa::Database {}

/// The query database.
#[salsa::db]
#[derive(Clone, Default)]
pub struct Compiler {
    storage: salsa::Storage<Self>,
}

#[salsa::db]
impl salsa::Database for Compiler {}
#[salsa::db]
impl Db for Compiler {}

/// A file without errors, and what commands need to know of it and of what it imports.
#[derive(Debug)]
pub struct CheckedFile {
    pub source: Arc<Source>,
    /// The definitions of all files, by their full names.
    pub program: Program,
    pub signatures: Arc<Signatures>,
    pub tests: Vec<TestCase>,
    /// The sources of all files, by their identity.
    sources: HashMap<String, Arc<Source>>,
    /// Where the sites of each definition count from.
    bases: HashMap<Name, u32>,
}

impl CheckedFile {
    /// A site as a place in a text; None in a definition that no file has.
    pub fn place(&self, site: &Site) -> Option<(Arc<Source>, Span)> {
        let base = self.bases.get(&site.def)?;
        Some((self.home(modules::parts(&site.def).0), site.span.shifted(*base)))
    }

    /// The source of the file with this identity.
    pub fn home(&self, module: &str) -> Arc<Source> {
        self.sources.get(module).unwrap_or(&self.source).clone()
    }
}

impl Compiler {
    /// A database that tells what it does.
    pub fn observed(log: impl Fn(salsa::Event) + Send + Sync + 'static) -> Compiler {
        Compiler { storage: salsa::Storage::new(Some(Box::new(log))) }
    }

    /// Reads a file.
    pub fn open(&self, path: &Path) -> Result<SourceFile, Stop> {
        let text = read_text(path)?;
        // A byte order mark is no part of the program.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        Ok(self.source(&path.display().to_string(), text))
    }

    /// A text as a file of that name, with what it imports.
    pub fn source(&self, path: &str, text: &str) -> SourceFile {
        Loader::load(self, path, text)
    }

    /// A file and all that it imports, each once, the imported before those that import them.
    fn files(&self, file: SourceFile, out: &mut Vec<SourceFile>) {
        if out.contains(&file) {
            return;
        }
        for target in file.links(self) {
            match target {
                Target::File(file) => self.files(*file, out),
                Target::Broken(_) => {}
            }
        }
        out.push(file);
    }

    /// The file has another text from now on. Its imports are those it had.
    pub fn edit(&mut self, file: SourceFile, text: &str) {
        file.set_text(self).to(text.into());
    }

    /// Parses and checks a file and what it imports, their items side by side.
    pub fn check(&self, file: SourceFile) -> Result<CheckedFile, Stop> {
        let mut files = vec![];
        self.files(file, &mut files);
        let source = |file: &SourceFile| {
            Arc::new(Source { path: file.path(self).to_string(), text: file.text(self).to_string() })
        };
        let sources: Vec<Arc<Source>> = files.iter().map(source).collect();
        let mut items = vec![];
        for (f, source) in files.iter().zip(&sources) {
            // The tests of what is imported are its own business.
            let items_of =
                queries::items(self, *f).iter().filter(|i| *f == file || i.key(self).word != "test");
            items.extend(items_of.map(|item| (*f, source, *item)));
        }
        // Parsed first, so that the signatures, which one thread collects, find every item's syntax.
        let parsed = self.each(&items, |db, _, item| queries::parse(db, item).clone());
        let mut problems = vec![];
        let mut checked = CheckedFile {
            source: sources[sources.len() - 1].clone(),
            program: Program::default(),
            signatures: queries::headers(self, file).signatures.clone(),
            tests: vec![],
            sources: files.iter().map(|f| f.module(self).to_string()).zip(sources.iter().cloned()).collect(),
            bases: HashMap::new(),
        };
        for (f, source) in files.iter().zip(&sources) {
            for diagnostic in &queries::headers(self, *f).diagnostics {
                problems.push(Problem { source: Some(source.clone()), diagnostic: diagnostic.clone() });
            }
        }
        let found = self.each(&items, |db, file, item| queries::check(db, file, item).clone());
        for (((_, source, item), parsed), found) in items.iter().zip(parsed).zip(found) {
            let (start, item) = (item.start(self), found);
            for d in parsed.diagnostics.iter().chain(&item.diagnostics) {
                let mut diagnostic: Diagnostic = d.clone();
                diagnostic.shift(start);
                problems.push(Problem { source: Some((*source).clone()), diagnostic });
            }
            for def in &item.defs {
                checked.bases.entry(def.name.clone()).or_insert(start + item.base);
                checked.program.defs.entry(def.name.clone()).or_insert(def.clone());
            }
            if let Some(test) = &item.test {
                checked.bases.entry(test.def.name.clone()).or_insert(start + item.base);
                checked.tests.push(TestCase { span: test.span.shifted(start), ..test.clone() });
            }
        }
        if problems.is_empty() { Ok(checked) } else { Err(Stop::Problems(problems)) }
    }
    /// Asks a query of every item, side by side.
    fn each<T: Send>(
        &self,
        items: &[(SourceFile, &Arc<Source>, Item)],
        query: impl Fn(&Compiler, SourceFile, Item) -> T + Sync,
    ) -> Vec<T> {
        let one = |db: &mut Compiler, (file, source, item): &(SourceFile, &Arc<Source>, Item)| {
            let (start, length) = (item.start(db), item.text(db).len() as u32);
            guard::working_on(source, Span { start, end: start + length }, || query(db, *file, *item))
        };
        items.par_iter().map_with(self.clone(), one).collect()
    }
}
