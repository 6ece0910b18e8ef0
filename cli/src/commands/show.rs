//! `adc show`: a stage of the compilation, as text.

use super::subject::{Asked, Derived, asked, subject};
use super::{fault, load, options};
use crate::args::{EngineArgs, Stage};
use crate::codes;
use crate::entry::entry;
use crate::pipeline::{Fault, Options, to_loops};
use crate::report::Stop;
use crate::session::CheckedFile;
use lang::core::Program;
use lang::diag::Diagnostic;
use lang::surface::{Def, Item, ItemKind, print};
use lang::types::Mode;
use std::path::Path;

pub fn show(path: &Path, name: &str, stage: Stage, engine: &EngineArgs) -> Result<String, Stop> {
    let options = options(engine)?;
    let file = load(path)?;
    let asked = asked(name)?;
    match stage {
        Stage::Ast => ast(&file, &plain(&asked)?),
        Stage::Core => {
            let def = file.program.defs.get(&*plain(&asked)?);
            let def = def.ok_or_else(|| unknown(&file, &asked.name))?;
            Ok(text(def, &file.program))
        }
        Stage::Forward | Stage::Reverse | Stage::Simplified => {
            let mode = if stage == Stage::Forward { Mode::Forward } else { Mode::Reverse };
            let name = plain(&asked)?;
            if !file.program.defs.contains_key(&*name) {
                return Err(unknown(&file, &name));
            }
            let mut program = file.program.clone();
            derived(&mut program, &name, mode, stage == Stage::Simplified, &options)
                .map_err(|f| fault(&file, f))
        }
        Stage::Loops | Stage::Llvm | Stage::Asm => {
            let subject = subject(&file, &asked.name)?;
            let ask = asked.ask(&subject)?;
            let entry = entry(&subject.def, &subject.params, &subject.result, &ask);
            let result = match stage {
                Stage::Loops => {
                    to_loops(&file.program, &entry.def, &options).map(|p| lang::loops::text::print(&p))
                }
                _ => native(&file, &entry.def, stage, &options),
            };
            result.map_err(|f| fault(&file, f))
        }
    }
}

/// D of a definition as the rules give it, or its normal form, simplified.
fn derived(
    program: &mut Program,
    name: &str,
    mode: Mode,
    simplified: bool,
    options: &Options,
) -> Result<String, Fault> {
    let derived = ad::derive(program, &name.into(), mode).map_err(|error| Fault::Rejected {
        code: codes::NOT_DIFFERENTIABLE,
        message: error.to_string(),
        site: Some(error.site),
    })?;
    let def = program.defs[&derived].clone();
    if !simplified {
        return Ok(text(&def, program));
    }
    Ok(text(&crate::pipeline::simplified(program, &def, options)?, program))
}

fn text(def: &lang::core::Def, program: &Program) -> String {
    print::item(&lang::distill::def(def, program), print::Style::default())
}

/// The name, where a stage is of the definition itself.
fn plain(asked: &Asked) -> Result<String, Stop> {
    match asked.of {
        Derived::Value => Ok(asked.name.clone()),
        Derived::Grad | Derived::ValueAndGrad => {
            Err(Stop::Usage(format!("this stage is shown of a definition: write `{}`", asked.name)))
        }
    }
}

/// The report for a name without definition is that of every command.
fn unknown(file: &CheckedFile, name: &str) -> Stop {
    match subject(file, name) {
        Err(stop) => stop,
        Ok(_) => Diagnostic::new(codes::COMPILER_BUG, format!("`{name}` was checked, but not kept")).into(),
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
