//! A session: the files being worked on, and what is known of them. The only place, with [`crate::queries`], that knows of salsa.

use crate::data::given::read_text;
use crate::report::{Problem, Source, Stop};
use crate::{guard, queries};
use lang::core::Program;
use lang::diag::{Diagnostic, Site, Span};
use lang::name::Name;
use rayon::prelude::*;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use typeck::{Signatures, TestCase};

/// A source file as it is now.
#[salsa::input(debug)]
pub struct SourceFile {
    #[returns(deref)]
    pub path: String,
    #[returns(deref)]
    pub text: Arc<str>,
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

/// A file without errors, and what commands need to know of it.
#[derive(Debug)]
pub struct CheckedFile {
    pub source: Arc<Source>,
    pub program: Program,
    pub signatures: Arc<Signatures>,
    pub tests: Vec<TestCase>,
    /// Where the sites of each definition count from.
    bases: HashMap<Name, u32>,
}

impl CheckedFile {
    /// A site as a place of the file; None in a definition that is not of the file.
    pub fn place(&self, site: &Site) -> Option<Span> {
        let base = self.bases.get(&site.def)?;
        Some(shift(site.span, *base))
    }
}

fn shift(span: Span, by: u32) -> Span {
    Span { start: span.start + by, end: span.end + by }
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

    /// A text as a file of that name.
    pub fn source(&self, path: &str, text: &str) -> SourceFile {
        SourceFile::new(self, path.to_string(), text.into())
    }

    /// Parses and checks a file, its items side by side.
    pub fn check(&self, file: SourceFile) -> Result<CheckedFile, Stop> {
        let text = file.text(self).to_string();
        let source = Arc::new(Source { path: file.path(self).to_string(), text });
        let headers = queries::headers(self, file);
        let mut diagnostics = headers.diagnostics.clone();
        let mut checked = CheckedFile {
            source: source.clone(),
            program: Program::default(),
            signatures: headers.signatures.clone(),
            tests: vec![],
            bases: HashMap::new(),
        };
        let items = queries::items(self, file);
        let found: Vec<_> = items
            .par_iter()
            .map_with(self.clone(), |db, item| {
                let (start, length) = (item.start(db), item.text(db).len() as u32);
                let whole = Span { start, end: start + length };
                guard::working_on(&source, whole, || {
                    (start, queries::parse(db, *item).clone(), queries::check(db, file, *item).clone())
                })
            })
            .collect();
        for (start, parsed, item) in found {
            for d in parsed.diagnostics.iter().chain(&item.diagnostics) {
                let labels = d.labels.iter().map(|(span, text)| (shift(*span, start), text.clone()));
                diagnostics.push(Diagnostic { labels: labels.collect(), ..d.clone() });
            }
            for def in &item.defs {
                checked.bases.entry(def.name.clone()).or_insert(start + item.base);
                checked.program.defs.entry(def.name.clone()).or_insert(def.clone());
            }
            if let Some(test) = &item.test {
                checked.bases.entry(test.def.name.clone()).or_insert(start + item.base);
                checked.tests.push(TestCase { span: shift(test.span, start), ..test.clone() });
            }
        }
        if diagnostics.is_empty() {
            return Ok(checked);
        }
        let problem = |diagnostic| Problem { source: Some(source.clone()), diagnostic };
        Err(Stop::Problems(diagnostics.into_iter().map(problem).collect()))
    }
}
