//! `adc fmt`.

use crate::codes;
use crate::data::given::read_text;
use crate::report::{Problem, Source, Stop};
use lang::diag::{Diagnostic, Span};
use lang::surface::format::format;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Puts files in the printer's form, or with `check` says which are not. What does not parse is reported and left as it is.
pub fn fmt(files: &[PathBuf], check: bool) -> Result<String, Stop> {
    let mut problems = vec![];
    for path in files {
        match one(path, check) {
            Ok(()) => {}
            Err(Stop::Problems(more)) => problems.extend(more),
            Err(usage @ Stop::Usage(_)) => return Err(usage),
        }
    }
    if problems.is_empty() { Ok(String::new()) } else { Err(Stop::Problems(problems)) }
}

fn one(path: &Path, check: bool) -> Result<(), Stop> {
    let read = read_text(path)?;
    let text = read.strip_prefix('\u{feff}').unwrap_or(&read);
    let source = || Arc::new(Source { path: path.display().to_string(), text: text.to_string() });
    match format(text) {
        Ok(formatted) if formatted == read => Ok(()),
        Ok(formatted) if check => {
            let line = first_difference(text, &formatted);
            let message = format!("`{}` is not formatted", path.display());
            let diagnostic = Diagnostic::new(codes::NOT_FORMATTED, message)
                .label(line, "the first line that would change")
                .help(format!("run `adc fmt {}`", path.display()));
            Err(Stop::at(&source(), diagnostic))
        }
        Ok(formatted) => std::fs::write(path, formatted).map_err(|e| {
            Diagnostic::new(codes::UNWRITABLE, format!("cannot write `{}`: {e}", path.display())).into()
        }),
        Err(diagnostics) => {
            let source = source();
            let problem = |diagnostic| Problem { source: Some(source.clone()), diagnostic };
            Err(Stop::Problems(diagnostics.into_iter().map(problem).collect()))
        }
    }
}

/// The first line of a text that another text does not have in its place.
fn first_difference(text: &str, other: &str) -> Span {
    let mut start = 0;
    let mut others = other.lines();
    for line in text.split_inclusive('\n') {
        let content = line.strip_suffix('\n').unwrap_or(line);
        if others.next() != Some(content) {
            return Span::new(start, start + content.len());
        }
        start += line.len();
    }
    Span::new(text.len(), text.len())
}
