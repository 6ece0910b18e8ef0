//! Every `.ad` file of the repository is in the formatter's form, unless it does not parse.

use std::path::{Path, PathBuf};

const ADC: &str = env!("CARGO_BIN_EXE_adc-under-test");

/// Programs whose form is their point.
const NOT_FORMATTED: &[&str] = &[
    "fmt_check.ad",
    "bom.ad",
    "crlf.ad",
    "fine_comment_at_end.ad",
    "linear_nested.ad",
    "syntax_tabs.ad",
    "type_function_for_real.ad",
    "type_second_line.ad",
    "type_too_large.ad",
];

fn collect(dir: &Path, out: &mut Vec<PathBuf>) {
    out.extend(tests::files(dir, "ad"));
    for entry in std::fs::read_dir(dir).unwrap().map(|e| e.unwrap()) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().unwrap().is_dir() && !name.starts_with('.') && name != "target" {
            collect(&entry.path(), out);
        }
    }
}

#[test]
fn the_files_of_the_repository_are_formatted() {
    let mut files = vec![];
    collect(&tests::root(), &mut files);
    assert!(files.len() > 100, "only {} files", files.len());
    let check = |path: &PathBuf| {
        let ran = tests::run(ADC, &tests::root(), &["fmt".as_ref(), "--check".as_ref(), path.as_os_str()]);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let formatted = !ran.stderr.contains("[E0716]");
        match formatted != NOT_FORMATTED.contains(&name.as_str()) {
            true => Ok(()),
            false => Err(format!("{}\n{}", path.display(), ran.stderr)),
        }
    };
    tests::report(tests::all(&files, check), files.len());
}
