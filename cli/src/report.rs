//! Problems as people see them: the message, the source text it is about, a likely mend, a summary line.

use ariadne::{Color, Config, IndexType, Label, Report, ReportKind};
use lang::diag::{Diagnostic, Span};
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

/// A text and where it came from.
#[derive(PartialEq, Eq, Debug)]
pub struct Source {
    pub path: String,
    pub text: String,
}

/// One problem: a diagnostic whose spans are bytes of `source`.
#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    pub source: Option<Arc<Source>>,
    pub diagnostic: Diagnostic,
}

/// Why a command did not succeed.
#[derive(Debug)]
pub enum Stop {
    /// The program or its data are at fault: exit status 1.
    Problems(Vec<Problem>),
    /// Wrong usage: exit status 2.
    Usage(String),
}

impl From<Diagnostic> for Stop {
    fn from(diagnostic: Diagnostic) -> Stop {
        Stop::Problems(vec![Problem { source: None, diagnostic }])
    }
}

impl Stop {
    pub fn at(source: &Arc<Source>, diagnostic: Diagnostic) -> Stop {
        Stop::Problems(vec![Problem { source: Some(source.clone()), diagnostic }])
    }

    /// With this help where there is none.
    pub fn help(mut self, text: &str) -> Stop {
        if let Stop::Problems(problems) = &mut self {
            for p in problems.iter_mut().filter(|p| p.diagnostic.help.is_none()) {
                p.diagnostic.help = Some(text.into());
            }
        }
        self
    }
}

/// The nearest span inside the text whose ends are character boundaries.
fn clamp(span: Span, text: &str) -> Range<usize> {
    let mut start = (span.start as usize).min(text.len());
    let mut end = (span.end as usize).clamp(start, text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

/// Lines longer than this are not shown.
const LONGEST: usize = 400;

/// More problems than this are only counted.
const MOST: usize = 50;

/// Words longer than this are cut short in messages.
const LONGEST_WORD: usize = 120;

fn clipped(text: &str) -> String {
    let clip = |word: &str| match word.char_indices().nth(LONGEST_WORD) {
        Some((cut, _)) => {
            let quote = if word.ends_with('`') { "`" } else { "" };
            format!("{}…{quote}", &word[..cut])
        }
        None => word.to_string(),
    };
    text.split(' ').map(clip).collect::<Vec<_>>().join(" ")
}

/// `path:line:column`, and the length of the line.
fn place(source: &Source, span: Span) -> (String, usize) {
    let at = clamp(span, &source.text).start;
    let start = source.text[..at].rfind('\n').map_or(0, |i| i + 1);
    let length = source.text[start..].find('\n').unwrap_or(source.text.len() - start);
    let line = source.text[..at].matches('\n').count() + 1;
    let column = source.text[start..at].chars().count() + 1;
    (format!("{}:{line}:{column}", source.path), length)
}

fn render_one(problem: &Problem, colour: bool, out: &mut Vec<u8>) {
    let Diagnostic { code, message, labels, help } = &problem.diagnostic;
    let (message, help) = (clipped(message), help.as_deref().map(clipped));
    let source = problem.source.as_ref();
    let shown = source.filter(|s| labels.iter().all(|(span, _)| place(s, *span).1 <= LONGEST));
    let Some((source, (first, _))) = shown.zip(labels.first()) else {
        // No place in a source text, or none that can be shown: a plain message, in ariadne's manner.
        let (red, blue, plain) = if colour { ("\x1b[31m", "\x1b[94m", "\x1b[0m") } else { ("", "", "") };
        let mut text = format!("{red}[{code}] Error:{plain} {message}\n");
        match (source, labels.first()) {
            (Some(source), Some((span, label))) => {
                let (at, _) = place(source, *span);
                let label = clipped(label);
                let _ = writeln!(text, "  at {at}{}{label}", if label.is_empty() { "" } else { ": " });
            }
            (Some(source), None) => {
                let _ = writeln!(text, "  in {}", source.path);
            }
            (None, _) => {}
        }
        if let Some(help) = help {
            let _ = writeln!(text, "  {blue}Help:{plain} {help}");
        }
        out.extend(text.bytes());
        return;
    };
    let path = source.path.as_str();
    let config = Config::default().with_index_type(IndexType::Byte).with_color(colour);
    let mut report = Report::build(ReportKind::Error, (path, clamp(*first, &source.text)))
        .with_code(code)
        .with_message(message)
        .with_config(config);
    // In the order of the text: so lines of one file stand in one piece.
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|i| labels[*i].0);
    for i in order {
        let (span, text) = &labels[i];
        let colour = if i == 0 { Color::Red } else { Color::Blue };
        let label = Label::new((path, clamp(*span, &source.text))).with_color(colour).with_order(i as i32);
        report = report.with_label(if text.is_empty() { label } else { label.with_message(text) });
    }
    if let Some(help) = help {
        report = report.with_help(help);
    }
    let written = report.finish().write((path, ariadne::Source::from(source.text.as_str())), &mut *out);
    debug_assert!(written.is_ok(), "writing to memory does not fail");
}

/// All problems, in the order of path and place, and a line that counts them. The same text for the same problems.
pub fn render(problems: &[Problem], colour: bool) -> String {
    let mut order: Vec<&Problem> = problems.iter().collect();
    order.sort_by_key(|p| {
        let at = p.diagnostic.labels.first().map(|(span, _)| *span);
        (p.source.as_ref().map(|s| s.path.clone()), at, p.diagnostic.code)
    });
    let mut out = vec![];
    for problem in order.iter().take(MOST) {
        render_one(problem, colour, &mut out);
    }
    // Lines without trailing blanks, so that expected outputs can be kept in files.
    let text = String::from_utf8_lossy(&out);
    let mut text: String = text.lines().map(|l| format!("{}\n", l.trim_end())).collect();
    let mut codes: Vec<&str> = order.iter().map(|p| p.diagnostic.code).collect();
    codes.sort();
    codes.dedup();
    if order.len() > MOST {
        let _ = writeln!(text, "… and {} more", order.len() - MOST);
    }
    let count = if order.len() == 1 { "1 error".into() } else { format!("{} errors", order.len()) };
    let explain: Vec<String> = codes.iter().map(|c| format!("`adc explain {c}`")).collect();
    let _ = writeln!(text, "{count}; more: {}", explain.join(", "));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(span: Span) -> Problem {
        let source = Arc::new(Source { path: "a.ad".into(), text: "def λ = 1\ndef y = z\n".into() });
        let diagnostic = Diagnostic::new("E0201", "unknown name").label(span, "here").help("define it");
        Problem { source: Some(source), diagnostic }
    }

    #[test]
    fn a_problem_shows_its_line_by_bytes() {
        let text = render(&[problem(Span::new(19, 20))], false);
        assert!(text.contains("a.ad:2:9"), "{text}");
        assert!(text.contains("def y = z") && text.contains("here") && text.contains("define it"), "{text}");
        assert!(text.ends_with("1 error; more: `adc explain E0201`\n"), "{text}");
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn long_words_and_long_lists_are_cut() {
        let mut long = problem(Span::new(19, 20));
        long.diagnostic.message = format!("there is no `{}` in scope", "a".repeat(1000));
        let text = render(&vec![long; 60], false);
        assert!(text.contains("…` in scope") && text.len() < 60 * 500, "{text}");
        assert!(text.ends_with("… and 10 more\n60 errors; more: `adc explain E0201`\n"), "{text}");
    }

    #[test]
    fn spans_outside_the_text_or_inside_a_character_do_not_panic() {
        for (start, end) in [(5, 5), (5, 6), (0, 4000), (4000, 4001), (21, 21)] {
            render(&[problem(Span::new(start, end))], true);
        }
    }
}
