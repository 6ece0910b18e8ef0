//! The examples of the repository and the standard library check, and their Core passes the checker.

use lang::core::Program;
use lang::surface::{ImportPath, ItemKind, parser};
use std::path::Path;
use std::sync::Arc;
use typeck::check::{Language, check_program};
use typeck::check_module;
use typeck::modules::{Interface, Link, interface};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A file that imports nothing but the standard library: what it exports, and the program of all.
fn checked(path: &Path, module: &str) -> (Interface, Program) {
    let text = std::fs::read_to_string(path).expect("a text");
    let (file, problems) = parser::parse(&text);
    assert!(problems.is_empty(), "{}: {problems:?}", path.display());
    let mut program = Program::default();
    let mut links = vec![];
    for item in &file.items {
        let ItemKind::Import(import) = &item.kind else { continue };
        let ImportPath::Module(name) = &import.module else { panic!("{} imports a file", path.display()) };
        let std = format!("{ROOT}/cli/std/{}.ad", name.node);
        let (interface, more) = checked(Path::new(&std), &name.node);
        program.defs.extend(more.defs);
        links.push(Link::Module(Arc::new(interface)));
    }
    let c = check_module(&file, module, &links);
    assert!(c.diagnostics.is_empty(), "{}: {:#?}", path.display(), c.diagnostics);
    program.defs.extend(c.program.defs);
    (interface(&c.signatures, false), program)
}

fn all(folder: &str, module: impl Fn(&str) -> String) {
    let mut seen = 0;
    for entry in std::fs::read_dir(format!("{ROOT}/{folder}")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "ad") {
            let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let (_, program) = checked(&path, &module(&stem));
            if let Err(v) = check_program(&program, Language::Both) {
                panic!("{}: {v}\n{:#?}", path.display(), program.defs.get(&v.def).map(|d| &d.body));
            }
            seen += 1;
        }
    }
    assert!(seen > 0, "nothing in {folder}");
}

#[test]
fn examples_check() {
    all("examples", |_| String::new());
}

#[test]
fn the_standard_library_checks() {
    all("cli/std", str::to_string);
    all("tests/cases/std", |_| String::new());
}
