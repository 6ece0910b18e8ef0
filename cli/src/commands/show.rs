//! `adc show`: a stage of the compilation, as text.

use super::subject::{Subject, subject};
use super::{fault, load, options};
use crate::args::{EngineArgs, Stage};
use crate::codes;
use crate::entry::{Ask, entry};
use crate::pipeline::{Fault, Options, normal_form, to_loops};
use crate::report::Stop;
use crate::session::CheckedFile;
use lang::diag::Diagnostic;
use lang::surface::{Def, Item, ItemKind, print};
use std::path::Path;

pub fn show(path: &Path, name: &str, stage: Stage, engine: &EngineArgs) -> Result<String, Stop> {
    let options = options(engine)?;
    let file = load(path)?;
    let Subject { def, params, result, .. } = subject(&file, name)?;
    match stage {
        Stage::Ast => ast(&file, name),
        Stage::Loops => {
            let entry = entry(&def, &params, &result, &Ask::Value);
            let proc = to_loops(&file.program, &entry.def, &options).map_err(|f| fault(&file, f))?;
            Ok(lang::loops::text::print(&proc))
        }
        Stage::Llvm | Stage::Asm => {
            let entry = entry(&def, &params, &result, &Ask::Value);
            native(&file, &entry.def, stage, &options).map_err(|f| fault(&file, f))
        }
        Stage::Core | Stage::Forward | Stage::Reverse | Stage::Simplified => {
            let _ = normal_form;
            let message = "this stage has no text form yet";
            Err(Diagnostic::new(codes::NOT_AVAILABLE, message).into())
        }
    }
}

/// The definition as it was parsed, printed.
fn ast(file: &CheckedFile, name: &str) -> Result<String, Stop> {
    let (parsed, _) = lang::surface::parser::parse(&file.source.text);
    let is_it = |def: &Def| def.name.node == name;
    let item = parsed.items.into_iter().find_map(|item| match item.kind {
        ItemKind::Def { ref defs, .. } if defs.iter().any(is_it) => Some(item),
        _ => None,
    });
    let missing =
        || Stop::from(Diagnostic::new(codes::COMPILER_BUG, format!("`{name}` was not parsed again")));
    let item: Item = item.ok_or_else(missing)?;
    Ok(print::item(&item, print::Style::default()))
}

#[cfg(feature = "llvm")]
fn native(
    file: &CheckedFile,
    def: &lang::core::Def,
    stage: Stage,
    options: &Options,
) -> Result<String, Fault> {
    let procs = [to_loops(&file.program, def, options)?];
    let text = match stage {
        Stage::Asm => codegen::object::assembly(&procs, &options.codegen()),
        _ => codegen::object::llvm_ir(&procs, &options.codegen(), true),
    };
    text.map_err(|error| Fault::Bug(error.to_string()))
}

#[cfg(not(feature = "llvm"))]
fn native(_: &CheckedFile, _: &lang::core::Def, _: Stage, _: &Options) -> Result<String, Fault> {
    Err(Fault::Limit("this adc was built without LLVM".into()))
}
