//! `adc show`: a stage of the compilation, as text.

use super::subject::size_of_it;
use super::{fault, load, options, subject};
use crate::args::{EngineArgs, Stage};
use crate::pipeline::{Fault, Options, derivative, normal_form, simplified, to_loops};
use crate::report::Stop;
use crate::session::CheckedFile;
use lang::core::{self, Program};
use lang::name::Name;
use lang::surface::{Def, Item, ItemKind, print};
use lang::types::Mode;
use std::path::Path;
use typeck::modules;

pub fn show(
    path: &Path,
    name: &str,
    stage: Stage,
    explain: bool,
    wrt: &[String],
    engine: &EngineArgs,
) -> Result<String, Stop> {
    if explain && stage != Stage::Simplified {
        return Err(Stop::Usage("--explain goes with --stage simplified".into()));
    }
    shown(&load(path)?, name, stage, explain, wrt, &options(engine)?)
}

/// The same of a file that has been checked.
pub fn shown(
    file: &CheckedFile,
    name: &str,
    stage: Stage,
    explain: bool,
    wrt: &[String],
    options: &Options,
) -> Result<String, Stop> {
    if stage == Stage::Ast {
        return ast(file, name);
    }
    let def = definition(file, name)?;
    let program = &file.program;
    let shown = match stage {
        Stage::Ast | Stage::Core => Ok(complete(&def.name, program)),
        Stage::Forward | Stage::Reverse => {
            let mode = if stage == Stage::Forward { Mode::Forward } else { Mode::Reverse };
            derivative(program, &def.name, mode).map(|(program, name)| complete(&name, &program))
        }
        Stage::Simplified => {
            // A function that is given is not known: said as where it is to be run.
            if !def.params.iter().all(|p| p.ty.first_order()) {
                subject::subject_to_run(file, last_word(name))?;
            }
            reverse_simplified(program, def, explain, options)
        }
        Stage::Loops => entry_point(file, name, wrt, options)
            .map(|def| to_loops(program, &def, options).map(|proc| lang::loops::text::print(&proc)))?,
        Stage::Llvm | Stage::Asm => {
            entry_point(file, name, wrt, options).map(|def| native(program, &def, stage, options))?
        }
    };
    shown.map_err(|f| fault(file, &def.name, f))
}

/// The definition of that name, or for `grad f` and `value_and_grad f` the entry point.
fn entry_point(file: &CheckedFile, text: &str, wrt: &[String], options: &Options) -> Result<core::Def, Stop> {
    let asked = super::build::asked(text)?;
    let def = super::build::exported(file, &asked, wrt)?.def;
    size_of_it(&def, &options.sizes)?;
    Ok(crate::entry::fixed(def, &options.sizes))
}

fn last_word(text: &str) -> &str {
    text.split_whitespace().last().unwrap_or(text)
}

/// The definition, and after it what it calls: a program of its own.
fn complete(name: &Name, program: &Program) -> String {
    let mut needed = lang::calls::reached(&program.defs[name].body, program);
    needed.insert(name.clone());
    let defs = program.defs.iter().filter(|(x, _)| needed.contains(*x)).map(|(x, d)| (x.clone(), d.clone()));
    printed(name, &Program { defs: defs.collect() })
}

/// The program, the definition of this name first. Names of other modules have no place in a file: `linalg.det` becomes `linalg_det`.
fn printed(name: &Name, program: &Program) -> String {
    let (first, program) =
        (writable(name, program), lang::calls::renamed(program, &|x| writable(x, program)));
    let own = lang::distill::def(&program.defs[&first], &program);
    let other = |item: &Item| !matches!(&item.kind, ItemKind::Def { defs, .. } if defs.iter().any(|d| d.name.node == *first));
    let items = [own].into_iter().chain(lang::distill::program(&program).items.into_iter().filter(other));
    items.map(|item| print::item(&item, print::Style::default())).collect::<Vec<_>>().join("\n")
}

/// A definition's name as a name of a file, and of no other definition.
fn writable(name: &Name, program: &Program) -> Name {
    let mut text = name.replace(['.', '?', '<', '>', '/'], "_");
    while text != **name && program.defs.contains_key(text.as_str()) {
        text.push('\'');
    }
    text.into()
}

fn definition<'f>(file: &'f CheckedFile, text: &str) -> Result<&'f core::Def, Stop> {
    let name = last_word(text);
    let sig = file.signatures.defs.get(name);
    match sig.and_then(|sig| file.program.defs.get(sig.name.as_str())) {
        Some(def) => Ok(def),
        None => Err(subject::no_such(file, name)),
    }
}

/// D← of the definition in normal form, simplified: value and linear map; with the rewrites that say why it is equal.
fn reverse_simplified(
    program: &Program,
    def: &core::Def,
    explain: bool,
    options: &Options,
) -> Result<String, Fault> {
    // As when it is compiled: D of the normal form, in which functions have been applied.
    let mut program = program.clone();
    let normal = normal_form(&program, def, options)?;
    program.defs.extend(normal.program().defs);
    let (program, name) = derivative(&program, &def.name, Mode::Reverse)?;
    let derived = &program.defs[&name];
    let simple = simplified(&program, derived, options)?;
    let mut out = printed(&simple.entry.name, &simple.program());
    if explain {
        let proofs = opt::simplify::explain(&normal_form(&program, derived, options)?, &options.simplify());
        for proof in proofs {
            out += &format!("\n-- {} = {}\n", proof.of, proof.before);
            for step in proof.steps {
                let rule = if step.backward { format!("{} backwards", step.rule) } else { step.rule };
                out += &format!("--   = {}    by {rule}: {}\n", step.term, step.law);
            }
        }
    }
    Ok(out)
}

/// The definition as it was parsed, printed.
fn ast(file: &CheckedFile, name: &str) -> Result<String, Stop> {
    let Some(sig) = file.signatures.defs.get(name) else { return Err(subject::no_such(file, name)) };
    let (parsed, _) = lang::surface::parser::parse(&file.home(&sig.home).text);
    let is_it = |def: &Def| def.name.node == modules::local(name);
    let item = parsed.items.into_iter().find_map(|item| match item.kind {
        ItemKind::Def { ref defs, .. } if defs.iter().any(is_it) => Some(item),
        _ => None,
    });
    let item: Item = item.ok_or_else(|| subject::no_such(file, name))?;
    Ok(print::item(&item, print::Style::default()))
}

#[cfg(feature = "llvm")]
fn native(program: &Program, def: &core::Def, stage: Stage, options: &Options) -> Result<String, Fault> {
    let procs = [to_loops(program, def, options)?];
    let text = match stage {
        Stage::Asm => codegen::object::assembly(&procs, &options.codegen()),
        _ => codegen::object::llvm_ir(&procs, &options.codegen(), true),
    };
    text.map_err(|error| Fault::Bug(error.to_string()))
}

#[cfg(not(feature = "llvm"))]
fn native(_: &Program, _: &core::Def, _: Stage, _: &Options) -> Result<String, Fault> {
    Err(Fault::Limit("this adc was built without LLVM".into()))
}
