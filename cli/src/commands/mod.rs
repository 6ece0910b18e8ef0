//! What each command does. A command gives its standard output, or why there is none.

mod build;
mod derivative;
mod format;
mod gradbench;
mod run;
pub mod show;
pub(crate) mod subject;
mod test;

use crate::args::{Command, Engine, EngineArgs};
use crate::pipeline::{Fault, Options};
use crate::report::{Problem, Stop};
use crate::session::{CheckedFile, Compiler};
use crate::{codes, explain, timing};
use lang::diag::{Diagnostic, Failure, Site};
use std::path::{Path, PathBuf};

pub fn run(command: &Command) -> Result<String, Stop> {
    match command {
        Command::Check { files } => check(files),
        Command::Run { file, name, data, engine, out } => run::run(file, name, data, engine, out),
        Command::Grad { of } => derivative::grad(of),
        Command::Jvp { of, tangent } => derivative::jvp(of, tangent),
        Command::Vjp { of, cotangent } => derivative::vjp(of, cotangent),
        Command::Jacobian { of, mode } => derivative::jacobian(of, *mode),
        Command::Cost { of } => derivative::cost(of),
        Command::Test { files, engine } => test::test(files, engine),
        Command::Show { file, name, stage, explain, wrt, engine } => {
            show::show(file, name, *stage, *explain, wrt, engine)
        }
        Command::Build { file, out, emit, export, target_cpu, engine } => {
            build::build(file, out, emit, export, *target_cpu, engine)
        }
        Command::Fmt { files, check } => format::fmt(files, *check),
        Command::Gradbench { dir, engine } => gradbench::serve(dir.as_deref(), &options(engine)?),
        Command::Explain { code } => match explain::page(code) {
            Some(page) => Ok(page.to_string()),
            None => Err(Stop::Usage(format!("there is no error code `{code}`: codes are like E0401"))),
        },
    }
}

/// All problems of all files.
fn check(files: &[PathBuf]) -> Result<String, Stop> {
    let mut problems: Vec<Problem> = vec![];
    for file in files {
        match load(file) {
            Ok(_) => {}
            // Of a file that several of these import it is said once.
            Err(Stop::Problems(more)) => more.into_iter().for_each(|p| {
                if !problems.contains(&p) {
                    problems.push(p);
                }
            }),
            Err(usage @ Stop::Usage(_)) => return Err(usage),
        }
    }
    if problems.is_empty() { Ok(String::new()) } else { Err(Stop::Problems(problems)) }
}

/// A file, parsed and checked.
fn load(path: &Path) -> Result<CheckedFile, Stop> {
    let db = Compiler::default();
    let file = timing::stage("read", || db.open(path))?;
    timing::stage("parse and check", || db.check(file))
}

/// The options, where they ask for an engine that this adc has.
fn options(args: &EngineArgs) -> Result<Options, Stop> {
    if args.timings {
        timing::switch_on();
    }
    let options = Options::new(args);
    for (k, (name, n)) in options.sizes.iter().enumerate() {
        if let Some((_, m)) = options.sizes[..k].iter().find(|(other, m)| other == name && m != n) {
            return Err(Stop::Usage(format!("--size gives {name} twice: {m} and {n}")));
        }
    }
    match options.engine {
        Engine::Jit if !cfg!(feature = "llvm") => {
            Err(Stop::Usage("this adc was built without LLVM: --engine eval or --engine loops".into()))
        }
        Engine::Jit | Engine::Eval | Engine::Loops => Ok(options),
    }
}

/// What is wrong with a size that `e as τ` asserts, in the words of the program.
fn asserted(file: &CheckedFile, site: &Site, details: &[i64]) -> Option<String> {
    use lang::surface::{ExprKind, SizeKind, TyKind, parser, print};
    let (source, span) = file.place(site)?;
    let text = source.text.get(span.start as usize..span.end as usize)?;
    let (expr, problems) = parser::parse_expr(text);
    let (ExprKind::As(_, ty), [have, asked]) = (expr.node, details) else { return None };
    let named = match &ty.node {
        TyKind::Power(_, sizes) => match &sizes[..] {
            [n] => Some(n),
            _ => None,
        },
        TyKind::Array(n, element) => Some(n).filter(|_| !matches!(element.node, TyKind::Array(..))),
        _ => None,
    };
    let name = match named.map(|n| &n.node) {
        Some(SizeKind::Var(n)) => format!("{n}, which is "),
        _ => String::new(),
    };
    let ty = print::ty(&ty, print::Style::default());
    problems.is_empty().then(|| format!("this size is {have}, but `as {ty}` asks for {name}{asked}"))
}

/// What a stage could not do with a definition or test, as a problem with its place in the file: that of the fault where it is
/// known, or else that of the definition.
pub(crate) fn fault(file: &CheckedFile, name: &str, fault: Fault) -> Stop {
    let (diagnostic, site): (Diagnostic, Option<Site>) = match fault {
        Fault::Rejected { code, message, site } => (Diagnostic::new(code, message), site),
        Fault::Failed { failure, site, details } => {
            let (code, message) = codes::failure(&failure, &details);
            let asserted =
                (failure == Failure::SizeMismatch).then(|| asserted(file, &site, &details)).flatten();
            (Diagnostic::new(code, asserted.unwrap_or(message)), Some(site))
        }
        Fault::Limit(message) => (Diagnostic::new(codes::NOT_AVAILABLE, message), None),
        Fault::Bug(message) => {
            let message = format!("adc has a bug: {message}");
            let help = "the program may well be right; please report it, with the file that shows it";
            (Diagnostic::new(codes::COMPILER_BUG, message).help(help), None)
        }
    };
    // The empty span stands for the whole definition.
    let exact = site.as_ref().filter(|site| site.span.start < site.span.end);
    let (source, diagnostic) = match exact.and_then(|site| file.place(site)) {
        Some((source, span)) => (source, diagnostic.label(span, "here")),
        None => {
            let whole = site.and_then(|site| subject::written_at(file, &site.def, &site.def));
            // Commands name a definition as the file does.
            let full = file.signatures.defs.get(name).map_or(name, |sig| &sig.name);
            match whole.or_else(|| subject::written_at(file, full, full)) {
                Some((source, span)) => (source, diagnostic.label(span, "in this")),
                None => (file.source.clone(), diagnostic),
            }
        }
    };
    Stop::at(&source, diagnostic)
}
