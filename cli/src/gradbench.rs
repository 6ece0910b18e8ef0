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
use crate::entry::{self, Ask, Entry};
use crate::pipeline::{Bound, Fault, Options, Runnable, to_loops};
use crate::report::Stop;
use crate::session::{CheckedFile, Compiler};
use lang::loops::{Buf, Operand, Proc, Stmt, walk};
use lang::name::Var;
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
    /// How many sizes of one function may have code of their own.
    most_sizes: usize,
}

/// How many sizes of one function have code of their own. What comes after them runs the code for all sizes.
const MOST_SIZES: usize = 16;

struct Compiled {
    subject: Subject,
    for_all: Option<Runnable>,
    at: Vec<(Vec<(Var, i64)>, Runnable)>,
}

impl Compiled {
    fn entry(&self) -> Entry {
        let Subject { def, params, result, .. } = &self.subject;
        entry::entry(def, params, result, &Ask::Value)
    }

    /// The code for these sizes, if there is any.
    fn code(&self, sizes: &Sizes) -> Option<&Runnable> {
        let small = entry::small(&self.subject.def, sizes);
        let own = self.at.iter().find(|(at, _)| *at == small).map(|(_, code)| code);
        own.or(self.for_all.as_ref())
    }
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
        let unknown = || {
            let known: Vec<&str> = EMBEDDED.iter().map(|(x, _)| *x).collect();
            let known =
                if dir.is_some() { String::new() } else { format!("; there are: {}", known.join(", ")) };
            Stop::Usage(format!("there is no module `{name}`{known}"))
        };
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
        Ok(Module { file, options: options.clone(), compiled: HashMap::new(), most_sizes: MOST_SIZES })
    }

    /// The module with code for all sizes only, which is what a library has.
    pub fn general(self) -> Module {
        Module { most_sizes: 0, ..self }
    }

    /// Compiles what the suite is known to ask for, for all sizes.
    pub fn compile_all(&mut self) -> Result<(), Stop> {
        let there: Vec<&str> = FUNCTIONS.into_iter().filter(|f| self.has(f)).collect();
        there.into_iter().try_for_each(|f| {
            self.around(f)?;
            self.for_all(f)
        })
    }

    fn has(&self, definition: &str) -> bool {
        self.file.signatures.defs.contains_key(definition)
    }

    /// Compiles what goes before and after a function, unless that is done.
    fn around(&mut self, name: &str) -> Result<(), Stop> {
        let output = output_of(name);
        let there: Vec<&str> = [PREPARE, &output].into_iter().filter(|x| self.has(x)).collect();
        there.into_iter().try_for_each(|around| self.for_all(around))
    }

    fn find_compiled(&mut self, name: &str) -> Result<&mut Compiled, Stop> {
        if !self.compiled.contains_key(name) {
            let subject = subject(&self.file, name)?;
            self.compiled.insert(name.to_string(), Compiled { subject, for_all: None, at: vec![] });
        }
        Ok(self.compiled.get_mut(name).expect("it has just been put there"))
    }

    /// Compiles a definition for all sizes, unless that is done.
    fn for_all(&mut self, name: &str) -> Result<(), Stop> {
        let compiled = self.find_compiled(name)?;
        if compiled.for_all.is_none() {
            let entry = compiled.entry();
            let code = Runnable::new(&self.file.program, entry, &self.options);
            let code = code.map_err(|f| fault(&self.file, name, f))?;
            self.find_compiled(name)?.for_all = Some(code);
        }
        Ok(())
    }

    /// Compiles a definition for these sizes, unless that is done: for the small ones alone, or for all where none is small or too many
    /// have come before.
    fn for_sizes(&mut self, name: &str, sizes: &Sizes) -> Result<(), Stop> {
        let most = self.most_sizes;
        let compiled = self.find_compiled(name)?;
        let small = entry::small(&compiled.subject.def, sizes);
        if compiled.at.iter().any(|(at, _)| *at == small) {
            return Ok(());
        }
        if small.is_empty() || compiled.at.len() >= most {
            return self.for_all(name);
        }
        let entry = compiled.entry();
        let code = Runnable::at(&self.file.program, entry, &self.options, sizes);
        let code = code.map_err(|f| fault(&self.file, name, f))?;
        self.find_compiled(name)?.at.push((small, code));
        Ok(())
    }

    /// A function at an input, prepared.
    pub fn call(&mut self, function: &str, input: &Json) -> Result<Call<'_>, Stop> {
        self.around(function)?;
        self.find_compiled(function)?;
        let data = match self.compiled.get(PREPARE) {
            None => self.read(function, input)?,
            Some(prepare) => {
                let prepared = self.run(PREPARE, &self.read(PREPARE, input)?)?;
                self.pass(&prepare.subject.result, prepared, function)?
            }
        };
        self.for_sizes(function, &data.sizes)?;
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
        let code = self.compiled[name].code(&data.sizes).expect("it is compiled before it is bound");
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

    /// The loops of the function, as they are compiled for the sizes of the input.
    pub fn loops(&self) -> Result<Proc, Stop> {
        let Module { file, options, compiled, .. } = self.module;
        let mut entry = compiled[&self.name].entry();
        let small = entry::small(&entry.def, &self.data.sizes);
        entry.def = entry.def.at(small);
        to_loops(&file.program, &entry.def, options).map_err(|f| self.fault(f))
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

/// Where a loop takes memory each time round: for a buffer whose size is not known before the loop, or that only some iterations have.
pub fn allocations_in_loops(proc: &Proc) -> usize {
    fn count(proc: &Proc, stmts: &[Stmt]) -> usize {
        let in_statement = |s: &Stmt| match s {
            Stmt::For(l) => inside(proc, &l.body, &walk::planned(proc, l)),
            Stmt::While(l) => inside(proc, &l.cond_block, &[]) + inside(proc, &l.body, &[]),
            s => walk::blocks(s).into_iter().map(|b| count(proc, b)).sum(),
        };
        stmts.iter().map(in_statement).sum()
    }
    fn inside(proc: &Proc, stmts: &[Stmt], planned: &[Buf]) -> usize {
        let mut found = 0;
        walk::each(stmts, &mut |s| found += usize::from(takes_memory(proc, s, planned)));
        found
    }
    // A callee may run in a loop of its caller.
    let callees: usize = proc.callees.iter().map(|p| inside(p, &p.body, &[])).sum();
    count(proc, &proc.body) + callees
}

/// The statement takes memory when it runs, unless it is planned: small buffers of known size are on the stack.
fn takes_memory(proc: &Proc, s: &Stmt, planned: &[Buf]) -> bool {
    match s {
        Stmt::Alloc { buf } if proc.parts.contains_key(buf) => false,
        Stmt::Alloc { buf } => {
            let unknown = proc.info(*buf).shape.iter().any(|n| !matches!(n, Operand::Int(_)));
            unknown && !planned.contains(buf)
        }
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
    }
}
