//! `adc build`: native artefacts.

use super::derivative::{active, real_result};
use super::subject::subject;
use super::{fault, load, options};
use crate::args::{Emit, EngineArgs, TargetCpu};
use crate::codes;
use crate::data::Layout;
use crate::entry::{self, Ask, Entry, Slot, entry};
use crate::pipeline::to_loops;
use crate::report::Stop;
use crate::session::CheckedFile;
use lang::diag::{Diagnostic, Site};
use lang::loops::{Param, Proc};
use std::path::Path;

pub fn build(
    path: &Path,
    out: &Path,
    emit: &[Emit],
    export: &[String],
    target: TargetCpu,
    engine: &EngineArgs,
) -> Result<String, Stop> {
    if engine.engine.is_some() {
        return Err(Stop::Usage("--engine is for commands that run: `adc build` writes native code".into()));
    }
    let mut options = options(engine)?;
    options.engine = crate::args::Engine::DEFAULT;
    let file = load(path)?;
    let exports = match export.is_empty() {
        true => everything(&file),
        false => export.iter().map(|e| asked(e)).collect::<Result<_, _>>()?,
    };
    let mut procs = vec![];
    let mut unknown: Vec<&String> = options.sizes.iter().map(|(n, _)| n).collect();
    for export in &exports {
        let Entry { def, params, result } = exported(&file, export, &[])?;
        unknown.retain(|x| def.sizes.iter().all(|n| *n.name != **x));
        let def = entry::fixed(def, &options.sizes);
        let (Export::Value(name) | Export::Grad(name) | Export::ValueAndGrad(name)) = export;
        let mut proc = to_loops(&file.program, &def, &options).map_err(|f| fault(&file, name, f))?;
        let full = file.signatures.defs.get(name).map_or(name.as_str(), |sig| &sig.name);
        opt::check_sizes(&mut proc, &def, &Site { def: full.into(), span: Default::default() });
        name_leaves(&mut proc, &params, &result);
        procs.push(proc);
    }
    if let Some(size) = unknown.first() {
        return Err(Stop::Usage(format!("nothing that is exported has a size `{size}`")));
    }
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("out");
    std::fs::create_dir_all(out).map_err(|e| unwritable(out, &e.to_string()))?;
    write(&file, &procs, stem, out, emit, target, &options)
}

/// What is asked of a definition by its name in `--export` and `adc show`.
pub enum Export {
    Value(String),
    Grad(String),
    ValueAndGrad(String),
}

/// `f`, `grad f` or `value_and_grad f`.
pub fn asked(text: &str) -> Result<Export, Stop> {
    match text.split_whitespace().collect::<Vec<_>>()[..] {
        [f] => Ok(Export::Value(f.to_string())),
        ["grad", f] => Ok(Export::Grad(f.to_string())),
        ["value_and_grad", f] => Ok(Export::ValueAndGrad(f.to_string())),
        _ => Err(Stop::Usage(format!("`{text}`: expected NAME, 'grad NAME' or 'value_and_grad NAME'"))),
    }
}

/// The entry point of an export, under the name it has outside; gradients with respect to `wrt` (none named: all that can be).
pub fn exported(file: &CheckedFile, export: &Export, wrt: &[String]) -> Result<Entry, Stop> {
    let (name, ask): (&str, fn(Vec<usize>) -> Ask) = match export {
        Export::Value(name) => (name, |_| Ask::Value),
        Export::Grad(name) => (name, Ask::Grad),
        Export::ValueAndGrad(name) => (name, Ask::ValueAndGrad),
    };
    let subject = subject(file, name)?;
    let active = match export {
        Export::Value(_) => vec![],
        Export::Grad(_) | Export::ValueAndGrad(_) => {
            real_result(file, &subject)?;
            active(file, &subject, wrt)?
        }
    };
    let ask = ask(active);
    let mut entry = entry(&subject.def, &subject.params, &subject.result, &ask);
    entry.def.name = entry::name(name, &ask).into();
    Ok(entry)
}

/// The parameters are called by what they are of the data: `p_mass` is the field `mass` of `p`. They end with the leaves of parameters and
/// result.
fn name_leaves(proc: &mut Proc, params: &[Slot], result: &Layout) {
    let mut names: Vec<String> = params.iter().flat_map(|slot| slot.layout.leaf_names(&slot.name)).collect();
    match result {
        Layout::Tuple(parts) => {
            let parts = parts.iter().enumerate();
            names.extend(parts.flat_map(|(k, part)| part.leaf_names(&format!("out{k}"))));
        }
        Layout::Scalar(_) | Layout::Array(..) if result.leaf_count() == 1 => names.push("out0".into()),
        Layout::Scalar(_) | Layout::Array(..) | Layout::Record(_) | Layout::Sum(_) => {
            names.extend(result.leaf_names("out"));
        }
    }
    let first = proc.params.len().saturating_sub(names.len());
    for (p, name) in proc.params[first..].iter().zip(names) {
        match p {
            Param::Scalar(v) => proc.vals[v.0 as usize].1 = name.into(),
            Param::Array(b) => proc.bufs[b.0 as usize].name = name.into(),
        }
    }
}

/// Every definition of the file whose parameters and result are data.
fn everything(file: &CheckedFile) -> Vec<Export> {
    let own = file.signatures.defs.iter().filter(|(_, sig)| sig.home == file.signatures.module);
    let names = own.map(|(name, _)| name).filter(|name| subject(file, name).is_ok());
    names.map(|name| Export::Value(name.clone())).collect()
}

fn unwritable(path: &Path, why: &str) -> Stop {
    Diagnostic::new(codes::UNWRITABLE, format!("cannot write `{}`: {why}", path.display())).into()
}

#[cfg(feature = "llvm")]
fn write(
    file: &CheckedFile,
    procs: &[Proc],
    stem: &str,
    out: &Path,
    emit: &[Emit],
    target: TargetCpu,
    options: &crate::pipeline::Options,
) -> Result<String, Stop> {
    let target = match target {
        TargetCpu::Native => codegen::TargetCpu::Native,
        TargetCpu::X86 => codegen::TargetCpu::Level(1),
        TargetCpu::X86V2 => codegen::TargetCpu::Level(2),
        TargetCpu::X86V3 => codegen::TargetCpu::Level(3),
        TargetCpu::X86V4 => codegen::TargetCpu::Level(4),
    };
    let options = codegen::Options { target, ..options.codegen() };
    let place = |site: &lang::diag::Site| match file.place(site) {
        Some((source, span)) => {
            let before = &source.text[..span.start as usize];
            format!("{}:{}", source.path, before.matches('\n').count() + 1)
        }
        None => site.def.to_string(),
    };
    let mut written = String::new();
    for what in emit {
        let name = match what {
            Emit::So => format!("lib{stem}.so"),
            Emit::Obj => format!("{stem}.o"),
            Emit::Header => format!("{stem}.h"),
            Emit::Llvm => format!("{stem}.ll"),
            Emit::Asm => format!("{stem}.s"),
        };
        let path = out.join(name);
        let text = |text: String| std::fs::write(&path, text).map_err(|e| e.to_string());
        let result = match what {
            Emit::So => {
                codegen::object::write_shared_library(procs, &options, &path).map_err(|e| e.to_string())
            }
            Emit::Obj => codegen::object::write_object(procs, &options, &path).map_err(|e| e.to_string()),
            Emit::Header => text(codegen::object::header(procs, &place)),
            Emit::Llvm => {
                codegen::object::llvm_ir(procs, &options, true).map_err(|e| e.to_string()).and_then(text)
            }
            Emit::Asm => codegen::object::assembly(procs, &options).map_err(|e| e.to_string()).and_then(text),
        };
        result.map_err(|why| unwritable(&path, &why))?;
        written += &format!("{}\n", path.display());
    }
    Ok(written)
}

#[cfg(not(feature = "llvm"))]
fn write(
    _: &CheckedFile,
    _: &[Proc],
    _: &str,
    _: &Path,
    _: &[Emit],
    _: TargetCpu,
    _: &crate::pipeline::Options,
) -> Result<String, Stop> {
    let message = "native artefacts need LLVM, and this adc was built without it";
    Err(Diagnostic::new(codes::NOT_AVAILABLE, message).into())
}
