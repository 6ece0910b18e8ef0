//! The programs of the GradBench suite as modules of functions: what `adc gradbench` serves, and what the benchmarks time.
//!
//! A function of a module is a definition, its parameters named like the fields of a message's input. Two further definitions may
//! stand next to it, which are no part of what is timed: `prepare` makes of the input what all functions of the module take as
//! their one parameter, `NAME_output` makes of the result of NAME what is answered.

use crate::commands::fault;
use crate::commands::subject::{Data, Subject, data, subject};
use crate::data::given::Inputs;
use crate::data::read::Given;
use crate::data::{Layout, Sizes, Tensor, print};
use crate::entry::{Ask, entry};
use crate::pipeline::{Bound, Fault, Options, Runnable, to_loops};
use crate::report::Stop;
use crate::session::{CheckedFile, Compiler};
use lang::loops::{Operand, Proc, Stmt, walk};
use lang::precision::Precision;
use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

/// The modules that every adc has with it, with their text.
pub const EMBEDDED: &[(&str, &str)] = &[
    ("ba", include_str!("../../examples/gradbench/ba.ad")),
    ("det", include_str!("../../examples/gradbench/det.ad")),
    ("gmm", include_str!("../../examples/gradbench/gmm.ad")),
    ("hello", include_str!("../../examples/gradbench/hello.ad")),
    ("llsq", include_str!("../../examples/gradbench/llsq.ad")),
    ("lse", include_str!("../../examples/gradbench/lse.ad")),
    ("lstm", include_str!("../../examples/gradbench/lstm.ad")),
    ("ode", include_str!("../../examples/gradbench/ode.ad")),
];

/// The names that the suite gives to primals and derivatives.
const FUNCTIONS: [&str; 6] = ["square", "double", "primal", "gradient", "objective", "jacobian"];

/// A module, and what has been compiled of it.
pub struct Module {
    file: CheckedFile,
    options: Options,
    compiled: HashMap<String, Compiled>,
}

struct Compiled {
    subject: Subject,
    code: Runnable,
}

/// A function with its input, as its code takes it.
pub struct Call<'m> {
    module: &'m Module,
    name: String,
    data: Data,
}

impl Module {
    /// A module of the suite: `NAME.ad` of a folder, or one that adc has with it.
    pub fn find(name: &str, dir: Option<&Path>, options: &Options) -> Result<Module, Stop> {
        let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
        let unknown = || Stop::Usage(format!("there is no module `{name}`"));
        let db = Compiler::default();
        let source = match dir {
            Some(dir) => {
                let path = dir.join(format!("{name}.ad"));
                if !plain || !path.is_file() {
                    return Err(unknown());
                }
                db.open(&path)?
            }
            None => {
                let (_, text) = EMBEDDED.iter().find(|(x, _)| *x == name).ok_or_else(unknown)?;
                db.source(&format!("{name}.ad"), text)
            }
        };
        let file = db.check(source)?;
        Ok(Module { file, options: options.clone(), compiled: HashMap::new() })
    }

    /// Compiles what the suite is known to ask for.
    pub fn compile_all(&mut self) -> Result<(), Stop> {
        let there: Vec<&str> = FUNCTIONS.into_iter().filter(|f| self.has(f)).collect();
        there.into_iter().try_for_each(|f| self.compile_function(f))
    }

    fn has(&self, definition: &str) -> bool {
        self.file.signatures.defs.contains_key(definition)
    }

    /// Compiles a function and what belongs to it, unless that is done.
    fn compile_function(&mut self, name: &str) -> Result<(), Stop> {
        let output = output_of(name);
        for around in [PREPARE, &output] {
            if self.has(around) {
                self.compile(around)?;
            }
        }
        self.compile(name)
    }

    fn compile(&mut self, name: &str) -> Result<(), Stop> {
        if !self.compiled.contains_key(name) {
            let subject = subject(&self.file, name)?;
            let entry = entry(&subject.def, &subject.params, &subject.result, &Ask::Value);
            let code = Runnable::new(&self.file.program, entry, &self.options);
            let code = code.map_err(|f| fault(&self.file, name, f))?;
            self.compiled.insert(name.to_string(), Compiled { subject, code });
        }
        Ok(())
    }

    /// The loops of a function, as they are compiled.
    pub fn loops(&self, name: &str) -> Result<Proc, Stop> {
        let subject = subject(&self.file, name)?;
        let entry = entry(&subject.def, &subject.params, &subject.result, &Ask::Value);
        to_loops(&self.file.program, &entry.def, &self.options).map_err(|f| fault(&self.file, name, f))
    }

    /// A function at an input, prepared.
    pub fn call(&mut self, function: &str, input: &Json) -> Result<Call<'_>, Stop> {
        self.compile_function(function)?;
        let data = match self.compiled.get(PREPARE) {
            None => self.read(function, input)?,
            Some(prepare) => {
                let prepared = self.run(PREPARE, &self.read(PREPARE, input)?)?;
                self.pass(&prepare.subject.result, prepared, function)?
            }
        };
        Ok(Call { module: self, name: function.to_string(), data })
    }

    /// The input as data for a definition's parameters: field by field, or as it is for the one parameter there is. A parameter
    /// in lower case takes a field in upper case, which is how constructors are written. Other fields are none of ours.
    fn read(&self, name: &str, input: &Json) -> Result<Data, Stop> {
        let subject = &self.compiled[name].subject;
        let mut inputs = Inputs::default();
        for slot in &subject.params {
            let given = match input {
                Json::Object(fields) => field(fields, &slot.name),
                bare if subject.params.len() == 1 => Some(bare),
                _ => None,
            };
            if let Some(json) = given {
                inputs.by_name.insert(slot.name.clone(), Given::Json(json.clone()));
            }
        }
        data(&self.file, &subject.def, &subject.params, inputs, &[], self.options.precision)
    }

    /// The result of one definition as the data of another.
    fn pass(&self, layout: &Layout, leaves: Vec<Tensor>, to: &str) -> Result<Data, Stop> {
        let subject = &self.compiled[to].subject;
        let mut sizes = Sizes::default();
        let fits = match &subject.params[..] {
            [slot] if slot.layout.same_form(layout) => {
                sizes.fit_leaves(&slot.layout, &leaves, &format!("from `{}`", slot.name))
            }
            _ => None,
        };
        let unfit = || Stop::Usage(format!("`{to}` should have one parameter, of type {layout}"));
        fits.ok_or_else(unfit)?;
        Ok(Data { args: vec![leaves], sizes })
    }

    fn bind<'d>(&'d self, name: &str, data: &'d Data) -> Result<Bound<'d>, Stop> {
        let code = &self.compiled[name].code;
        code.bind(&data.args, &data.sizes).map_err(|f| fault(&self.file, name, f))
    }

    fn run(&self, name: &str, data: &Data) -> Result<Vec<Tensor>, Stop> {
        let mut bound = self.bind(name, data)?;
        bound.run().map_err(|f| fault(&self.file, name, f))?;
        Ok(bound.outcome().result)
    }
}

impl Call<'_> {
    /// Ready to run: what is left is the call itself.
    pub fn bind(&self) -> Result<Bound<'_>, Stop> {
        self.module.bind(&self.name, &self.data)
    }

    /// A fault of a run, with its place.
    pub fn fault(&self, f: Fault) -> Stop {
        fault(&self.module.file, &self.name, f)
    }

    /// What is answered when a run gave these leaves, as JSON.
    pub fn output(&self, leaves: Vec<Tensor>) -> Result<String, Stop> {
        let module = self.module;
        let layout = &module.compiled[&self.name].subject.result;
        let output = output_of(&self.name);
        let Some(last) = module.compiled.get(&output) else { return json(layout, &leaves) };
        let leaves = module.run(&output, &module.pass(layout, leaves, &output)?)?;
        json(&last.subject.result, &leaves)
    }
}

const PREPARE: &str = "prepare";

fn output_of(function: &str) -> String {
    format!("{function}_output")
}

fn field<'j>(fields: &'j Map<String, Json>, parameter: &str) -> Option<&'j Json> {
    let exact = fields.get(parameter);
    exact.or_else(|| fields.iter().find(|(x, _)| x.to_lowercase() == parameter).map(|(_, value)| value))
}

/// JSON has no NaN and no infinity.
fn json(layout: &Layout, leaves: &[Tensor]) -> Result<String, Stop> {
    let mut reals = leaves.iter().filter_map(|leaf| leaf.data.reals()).flat_map(Cow::into_owned);
    match reals.find(|x| !x.is_finite()) {
        Some(x) => {
            let x = print::real(x, Precision::Double, false);
            Err(Stop::Usage(format!("the result contains {x}")))
        }
        None => Ok(print::json(layout, leaves)),
    }
}

/// Where a buffer comes to life in a loop, with a size that is not known when the program is compiled: each time round some memory.
pub fn allocations_in_loops(proc: &Proc) -> usize {
    fn count(proc: &Proc, block: &[Stmt], in_loop: bool) -> usize {
        let in_statement = |s: &Stmt| {
            let own = match s {
                Stmt::Alloc { buf } if proc.parts.contains_key(buf) => false,
                Stmt::Alloc { buf } => proc.info(*buf).shape.iter().any(|n| !matches!(n, Operand::Int(_))),
                Stmt::Reserve { .. } => true,
                Stmt::Let { .. }
                | Stmt::Load { .. }
                | Stmt::Store { .. }
                | Stmt::Accum { .. }
                | Stmt::Fill { .. }
                | Stmt::Copy { .. }
                | Stmt::For(_)
                | Stmt::While(_)
                | Stmt::If(_)
                | Stmt::Check { .. }
                | Stmt::Argsort { .. }
                | Stmt::Call { .. }
                | Stmt::View { .. } => false,
            };
            let repeats = in_loop || matches!(s, Stmt::For(_) | Stmt::While(_));
            let inside: usize = walk::blocks(s).into_iter().map(|b| count(proc, b, repeats)).sum();
            usize::from(own && in_loop) + inside
        };
        block.iter().map(in_statement).sum()
    }
    // A callee may run in a loop of its caller.
    let callees: usize = proc.callees.iter().map(|p| count(p, &p.body, true)).sum();
    count(proc, &proc.body, false) + callees
}
