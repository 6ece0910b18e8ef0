//! What `adc show` prints of a definition, from Core to its simplified derivative, is a file of its own that is checked without errors: for every
//! definition of the examples and of the language's cases.

use cli::args::{Engine, Stage};
use cli::commands::show::shown;
use cli::pipeline::Options;
use cli::report::{Stop, render};
use cli::session::{CheckedFile, Compiler};
use std::path::Path;

const STAGES: &[Stage] = &[Stage::Core, Stage::Forward, Stage::Reverse, Stage::Simplified];

/// A definition may have no derivative, or take functions.
const REASONS: &[&str] = &[cli::codes::NOT_DATA, cli::codes::NOT_DIFFERENTIABLE, cli::codes::NOT_AVAILABLE];

const OPTIONS: Options = Options::plain(Engine::Loops);

/// The array inside has the size that was computed, in a type that says the size that was asked for; the check that they are the same says it to
/// the program only.
const NOT_WRITABLE: &[&str] = &["nested"];

/// How many stages of the file's own definitions were shown and read again.
fn every_stage(file: &CheckedFile) -> Result<usize, String> {
    let mut shown_ones = 0;
    let own = file.signatures.defs.iter().filter(|(_, sig)| sig.home == file.signatures.module);
    for (name, _) in own.filter(|(name, _)| !NOT_WRITABLE.contains(&name.as_str())) {
        for stage in STAGES {
            let text = match shown(file, name, *stage, false, &[], &OPTIONS) {
                Ok(text) => text,
                Err(Stop::Problems(problems))
                    if *stage != Stage::Core
                        && problems.iter().all(|p| REASONS.contains(&p.diagnostic.code)) =>
                {
                    continue;
                }
                Err(stop) => return Err(format!("{name} {stage:?}: {stop:?}")),
            };
            let db = Compiler::default();
            if let Err(Stop::Problems(problems)) = db.check(db.source("shown.ad", &text)) {
                return Err(format!("{name} {stage:?}:\n{text}\n{}", render(&problems, false)));
            }
            shown_ones += 1;
        }
    }
    Ok(shown_ones)
}

fn of_folder(folder: &str) -> usize {
    let files = tests::files(&tests::root().join(folder), "ad");
    let one = |path: &Path| -> Result<usize, Stop> {
        cli::guard::run(|| {
            let db = Compiler::default();
            let file = db.check(db.open(path)?)?;
            every_stage(&file).map_err(|complaint| Stop::Usage(format!("{}: {complaint}", path.display())))
        })
    };
    let mut shown_ones = 0;
    let complaints = files.iter().filter_map(|path| match one(path) {
        Ok(count) => {
            shown_ones += count;
            None
        }
        Err(Stop::Usage(complaint)) => Some(complaint),
        Err(Stop::Problems(problems)) => Some(render(&problems, false)),
    });
    let complaints = complaints.collect();
    // The guard keeps panics to itself; that of a failing test is for people.
    drop(std::panic::take_hook());
    tests::report(complaints, files.len());
    shown_ones
}

#[test]
fn the_stages_of_the_examples_are_programs() {
    let count = of_folder("examples") + of_folder("examples/gradbench");
    assert!(count > 150, "{count} stages");
}

#[test]
fn the_stages_of_the_cases_are_programs() {
    let count = of_folder("tests/cases/language");
    assert!(count > 300, "{count} stages");
}
