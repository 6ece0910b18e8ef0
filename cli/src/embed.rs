//! From text to code that runs in this process, for Rust programs that use adc as a library: benchmarks, tests.

use crate::commands::{fault, subject::subject};
use crate::data::{Sizes, Tensor};
use crate::entry::{Ask, entry};
use crate::pipeline::{Options, Outcome, Runnable};
use crate::report::Stop;
use crate::session::{CheckedFile, Compiler};
use crate::timing::stage;
use crate::{guard, queries};
use lang::name::Var;

/// Memory that calls of native code have left for the next ones is given back to the system.
#[cfg(feature = "llvm")]
pub use codegen::free_spare;

/// A compiled entry point with the file it comes from.
pub struct Function {
    file: CheckedFile,
    code: Runnable,
    name: String,
    sizes: Vec<Var>,
}

impl Function {
    /// Compiles what is asked of a definition.
    pub fn compile(text: &str, name: &str, ask: &Ask, options: &Options) -> Result<Function, Stop> {
        guard::run(move || {
            let db = Compiler::default();
            let source = db.source("program.ad", text);
            stage("parse, headers", || queries::headers(&db, source));
            let file = stage("check", || db.check(source))?;
            let subject = subject(&file, name)?;
            let entry = entry(&subject.def, &subject.params, &subject.result, ask);
            let sizes = entry.def.sizes.clone();
            let code = Runnable::new(&file.program, entry, options);
            let code = code.map_err(|f| fault(&file, name, f))?;
            Ok(Function { file, code, name: name.to_string(), sizes })
        })
    }

    /// Runs with these sizes, by name, at these arguments, by parameter, each as its leaves.
    pub fn call(&self, known: &[(&str, i64)], args: &[Vec<Tensor>]) -> Result<Outcome, Stop> {
        let mut sizes = Sizes::default();
        for n in &self.sizes {
            match known.iter().find(|(name, _)| **name == *n.name) {
                Some((_, k)) => sizes.set(n, *k, "by the caller"),
                None => return Err(Stop::Usage(format!("the size `{}` is not given", n.name))),
            }
        }
        self.code.call(args, &sizes).map_err(|f| fault(&self.file, &self.name, f))
    }
}
