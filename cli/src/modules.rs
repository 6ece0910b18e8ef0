//! Where imports lead: to files next to the one that imports them, and to the standard library, which is part of the binary. The graph of a
//! program's files is found before anything is checked; what is wrong with an import is kept in its place and reported with the file.

use crate::data::given::read_text;
use crate::items;
use crate::report::Stop;
use crate::session::{Compiler, SourceFile};
use lang::surface::{self, Import, ImportPath, ItemKind};
use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};
use typeck::codes;
use typeck::modules::Fault;

/// The standard library: each module's name and text.
pub const STD: &[(&str, &str)] = &[
    ("arrays", include_str!("../std/arrays.ad")),
    ("linalg", include_str!("../std/linalg.ad")),
    ("stats", include_str!("../std/stats.ad")),
];

/// A chain of imports longer than this is refused.
const LONGEST_CHAIN: usize = 100;

/// Where an import leads.
#[derive(Clone, PartialEq, Debug)]
pub enum Target {
    File(SourceFile),
    Broken(Fault),
}

/// What makes a file the same file.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Identity {
    Std(&'static str),
    File(PathBuf),
}

/// Finds the files of a program.
pub struct Loader<'d> {
    db: &'d Compiler,
    /// Imports lead to files in here: where the command runs, or else where the first file is.
    inside: PathBuf,
    found: HashMap<Identity, Result<SourceFile, Fault>>,
    /// The files on the way to where we are, the first one first.
    chain: Vec<(Identity, String)>,
    /// Names of modules in use.
    modules: BTreeSet<String>,
}

impl<'d> Loader<'d> {
    /// The file that a command is given, with all it imports.
    pub fn load(db: &'d Compiler, path: &str, text: &str) -> SourceFile {
        let here = std::env::current_dir().unwrap_or_default();
        let own = absolute(Path::new(path).parent().unwrap_or(Path::new("")));
        let inside = if own.starts_with(&here) { here } else { own };
        let found = HashMap::new();
        let mut loader = Loader { db, inside, found, chain: vec![], modules: BTreeSet::new() };
        loader.file(Identity::File(same(Path::new(path))), path, String::new(), text)
    }

    /// A file whose imports are known.
    fn file(&mut self, identity: Identity, path: &str, module: String, text: &str) -> SourceFile {
        self.chain.push((identity.clone(), path.to_string()));
        let std = matches!(identity, Identity::Std(_));
        let links = imports(text).iter().map(|i| self.target(i, path, std)).collect();
        self.chain.pop();
        SourceFile::new(self.db, path.to_string(), text.into(), module, links, std)
    }

    fn target(&mut self, import: &Import, from: &str, std: bool) -> Target {
        let found = match &import.module {
            ImportPath::Module(name) => self.std(&name.node, from),
            // The standard library has no files to import.
            ImportPath::File(path) if std => Err(no_file(&path.node, &path.node, "")),
            ImportPath::File(path) => self.path(&path.node, from),
        };
        match found {
            Ok(file) => Target::File(file),
            Err(fault) => Target::Broken(fault),
        }
    }

    /// A module of the standard library.
    fn std(&mut self, name: &str, from: &str) -> Result<SourceFile, Fault> {
        let Some((name, text)) = STD.iter().find(|(known, _)| *known == name) else {
            return Err(no_module(name, from));
        };
        self.once(Identity::Std(name), &format!("std/{name}.ad"), name, |_| Ok(text.to_string()))
    }

    /// A file by its path from the file that imports it.
    fn path(&mut self, written: &str, from: &str) -> Result<SourceFile, Fault> {
        let path = Path::new(written);
        let refuse = |message: String, label: &str, help: &str| {
            Err(fault(codes::IMPORT_PATH, message, label, Some(help.into())))
        };
        if path.is_absolute() || written.contains('\\') || written.contains(':') {
            let help = "write the path from this file, with `/` between folders";
            return refuse(
                format!("`{written}` is not a path from this file"),
                "an absolute or foreign path",
                help,
            );
        }
        let full = Path::new(from).parent().unwrap_or(Path::new("")).join(path);
        let shown = plain(&full);
        if !absolute(&full).starts_with(&self.inside) {
            let help = "run adc in a folder that holds all files of the program";
            return refuse(format!("`{written}` leads out of the program's folder"), "outside", help);
        }
        if full.is_dir() {
            return refuse(format!("`{shown}` is a folder"), "imports lead to files", "name a file in it");
        }
        if path.extension().is_none_or(|e| e != "ad") {
            let near = Path::new(from).with_file_name(format!("{written}.ad"));
            let help = match near.is_file() {
                true => format!("write \"{written}.ad\""),
                false => "data comes from `input` items and the command line".to_string(),
            };
            return refuse(format!("`{written}` is not an .ad file"), "imports lead to .ad files", &help);
        }
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("module");
        let read = |full: &Path| match read_text(full) {
            // A byte order mark is no part of the program.
            Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_string()),
            Err(_) if !full.exists() => Err(no_file(written, &shown, from)),
            Err(stop) => Err(unreadable(stop, &shown)),
        };
        self.once(Identity::File(same(&full)), &shown.clone(), stem, |_| read(&full))
    }

    /// A file that is imported, read when it is first met.
    fn once(
        &mut self,
        identity: Identity,
        path: &str,
        name: &str,
        read: impl FnOnce(&mut Self) -> Result<String, Fault>,
    ) -> Result<SourceFile, Fault> {
        if let Some(k) = self.chain.iter().position(|(known, _)| *known == identity) {
            return Err(cycle(&self.chain[k..], path));
        }
        if let Some(found) = self.found.get(&identity) {
            return found.clone();
        }
        if self.chain.len() >= LONGEST_CHAIN {
            let message = format!("more than {LONGEST_CHAIN} files import each other one after another");
            return Err(fault(codes::IMPORT_CYCLE, message, "the limit is reached here", None));
        }
        let found = read(self).map(|text| {
            let module = self.module(name);
            self.file(identity.clone(), path, module, &text)
        });
        self.found.insert(identity, found.clone());
        found
    }

    /// A name for a module that no other of the program has.
    fn module(&mut self, stem: &str) -> String {
        let base: String =
            stem.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '_' }).collect();
        let mut name = base.clone();
        let mut k = 2;
        while !self.modules.insert(name.clone()) {
            name = format!("{base}'{k}");
            k += 1;
        }
        name
    }
}

/// The imports of a text, in order.
fn imports(text: &str) -> Vec<Import> {
    let items = items::split(text).into_iter().filter(|(key, _)| key.word == "import");
    let parsed = items.flat_map(|(_, place)| surface::parser::parse(&text[place]).0.items);
    let import = |item: surface::Item| match item.kind {
        ItemKind::Import(import) => Some(import),
        _ => None,
    };
    parsed.filter_map(import).collect()
}

fn fault(code: &'static str, message: String, label: &str, help: Option<String>) -> Fault {
    Fault { code, message, label: label.into(), help }
}

fn cycle(chain: &[(Identity, String)], path: &str) -> Fault {
    let names: Vec<String> = chain.iter().map(|(_, p)| format!("`{p}`")).collect();
    let (message, label) = match &names[..] {
        [only] => (format!("{only} imports itself"), "this very file"),
        _ => (format!("the files {} import each other", names.join(", ")), "here the circle closes"),
    };
    let help = match names.len() {
        1 => "what a file defines it may use without an import".to_string(),
        _ => format!("{} → `{path}`; move what both need into a file of its own", names.join(" → ")),
    };
    fault(codes::IMPORT_CYCLE, message, label, Some(help))
}

fn no_module(name: &str, from: &str) -> Fault {
    let message = format!("the standard library has no module `{name}`");
    let file = format!("{name}.ad");
    let help = match Path::new(from).with_file_name(&file).is_file() {
        true => format!("a file is imported by its path: `import \"{file}\" as {name}`"),
        false => {
            let known: Vec<&str> = STD.iter().map(|(known, _)| *known).collect();
            format!("it has: {}", known.join(", "))
        }
    };
    fault(codes::UNKNOWN_MODULE, message, "not found", Some(help))
}

fn no_file(written: &str, shown: &str, from: &str) -> Fault {
    let message = format!("there is no file `{shown}`");
    let stem = written.strip_suffix(".ad").unwrap_or(written);
    let near = || {
        let dir = Path::new(from).parent()?.join(Path::new(written).parent()?);
        let dir = if dir.as_os_str().is_empty() { PathBuf::from(".") } else { dir };
        let names = std::fs::read_dir(dir).ok()?.filter_map(|e| e.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|x| x.ends_with(".ad")).collect();
        names.sort();
        let name = Path::new(written).file_name()?.to_str()?.to_string();
        typeck::suggest::nearest(&name, names.iter().map(String::as_str)).map(str::to_string)
    };
    let help = match (STD.iter().any(|(known, _)| *known == stem), near()) {
        (true, _) => Some(format!("the module of the standard library is `import {stem}`")),
        (false, Some(near)) => Some(format!("did you mean `{near}`?")),
        (false, None) => None,
    };
    fault(codes::UNKNOWN_MODULE, message, "not found", help)
}

/// What is wrong with a file that is there.
fn unreadable(stop: Stop, shown: &str) -> Fault {
    match stop {
        Stop::Problems(problems) => match problems.into_iter().next() {
            Some(p) => fault(p.diagnostic.code, p.diagnostic.message, "this file", p.diagnostic.help),
            None => fault(codes::UNKNOWN_MODULE, format!("cannot read `{shown}`"), "this file", None),
        },
        Stop::Usage(message) => fault(codes::UNKNOWN_MODULE, message, "this file", None),
    }
}

/// A path without `.` and, as far as it can be done without looking, without `..`.
fn plain(path: &Path) -> String {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            Component::ParentDir | Component::Normal(_) | Component::RootDir | Component::Prefix(_) => {
                out.push(part)
            }
        }
    }
    if out.as_os_str().is_empty() { ".".into() } else { out.display().to_string() }
}

fn absolute(path: &Path) -> PathBuf {
    let whole = std::env::current_dir().unwrap_or_default().join(path);
    PathBuf::from(plain(&whole))
}

/// The path by which a file is recognised, however it is written.
fn same(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| absolute(path))
}

#[test]
fn typeck_knows_the_names_of_the_library() {
    let names = |text: &str| -> Vec<String> {
        let words =
            |line: &str| line.strip_prefix("def ").map(|rest| rest.trim_start_matches("rec ").to_string());
        let name =
            |rest: String| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(String::from);
        text.lines().filter_map(words).filter_map(name).collect()
    };
    let library: Vec<(&str, Vec<String>)> = STD.iter().map(|(module, text)| (*module, names(text))).collect();
    let known = typeck::suggest::LIBRARY.iter();
    let known: Vec<(&str, Vec<String>)> =
        known.map(|(module, names)| (*module, names.iter().map(|x| x.to_string()).collect())).collect();
    assert_eq!(library, known);
}
