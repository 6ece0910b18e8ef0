//! A session: the files being worked on, and what is known of them. The only place, with [`crate::queries`], that knows of salsa.

use crate::data::given::read_text;
use crate::report::Stop;
use std::path::Path;
use std::sync::Arc;

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
        Ok(SourceFile::new(self, path.display().to_string(), text.into()))
    }
}
