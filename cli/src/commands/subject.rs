//! The definition that a command is about, and the data for it.

use crate::data::given::{Inputs, load};
use crate::data::read::{Given, read};
use crate::data::{Layout, Numbers, Sizes, Tensor};
use crate::entry::Slot;
use crate::report::{Source, Stop};
use crate::session::CheckedFile;
use crate::{codes, timing};
use lang::core::Def;
use lang::diag::{Diagnostic, Span};
use lang::name::Var;
use lang::precision::Precision;
use lang::size::Size;
use lang::surface::ItemKind;
use std::path::Path;
use std::sync::Arc;
use typeck::env::pattern_name;
use typeck::existential;
use typeck::modules;
use typeck::ty::T;

/// A definition with what data it takes and gives.
pub struct Subject {
    pub def: Def,
    /// By parameter of the definition in Core: first the inputs it uses.
    pub params: Vec<Slot>,
    /// How many of the parameters are inputs.
    pub inputs: usize,
    /// Sizes of the result that are computed, each by a definition of its own.
    pub measured: Vec<(Var, Def)>,
    pub result: Layout,
}

/// There is no definition of that name.
pub fn no_such(file: &CheckedFile, name: &str) -> Stop {
    let defs = &file.signatures.defs;
    let own = defs.iter().filter(|(_, sig)| sig.home == file.signatures.module);
    let known: Vec<&str> = own.map(|(x, _)| x.as_str()).collect();
    let near = typeck::suggest::nearest(name, defs.keys().map(String::as_str));
    let help = match (near.filter(|x| x.contains('.')), known.is_empty()) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, true) => "the file has no definitions".to_string(),
        (None, false) => format!("it has: {}", known.join(", ")),
    };
    let message = format!("`{}` has no definition `{name}`", file.source.path);
    Diagnostic::new(codes::NO_SUCH_DEFINITION, message).help(help).into()
}

/// The definition of that name; its types must be data, of sizes that its arguments determine.
pub fn subject(file: &CheckedFile, name: &str) -> Result<Subject, Stop> {
    let subject = subject_to_run(file, name)?;
    let Some((k, _)) = subject.measured.first() else { return Ok(subject) };
    let message = format!("the size ?{} of the result of `{name}` is known only when it has run", k.name);
    let help = "`adc run` prints it; in a program a `let` opens it, and what follows may be differentiated and compiled";
    let full = &subject.def.name;
    Err(about(file, full, full, Diagnostic::new(codes::NOT_DATA, message).help(help)))
}

/// The definition of that name; its types must be data.
pub fn subject_to_run(file: &CheckedFile, name: &str) -> Result<Subject, Stop> {
    let Some(sig) = file.signatures.defs.get(name) else { return Err(no_such(file, name)) };
    let Some(def) = file.program.defs.get(sig.name.as_str()) else {
        let message = format!("`{name}` was checked, but not kept");
        return Err(Diagnostic::new(codes::COMPILER_BUG, message).into());
    };
    let no_data = |what: &str, ty: &T, x: &str| -> Stop {
        let message = format!("`{name}` cannot be run from the command line: {what} is not data");
        let help = format!("its type is {}; define what is wanted with it filled in", ty.show());
        about(file, &sig.name, x, Diagnostic::new(codes::NOT_DATA, message).help(help))
    };
    let exists = &sig.scheme.exists;
    let measure =
        |k: &Var| Some((k.clone(), Def::clone(file.program.defs.get(&*existential::measure(&sig.name, k))?)));
    let measured = exists.iter().filter_map(measure).collect();
    let mut params = input_slots(file, &sig.inputs, def, sig.scheme.sizes.len() + exists.len());
    let inputs = params.len();
    for p in &sig.scheme.params {
        let layout = Layout::of(&p.ty)
            .ok_or_else(|| no_data(&format!("the parameter `{}`", p.name), &p.ty, &p.name))?;
        params.push(Slot { name: p.name.clone(), layout });
    }
    let result =
        Layout::of(&sig.scheme.result).ok_or_else(|| no_data("the result", &sig.scheme.result, &sig.name))?;
    Ok(Subject { def: Def::clone(def), params, inputs, measured, result })
}

/// The inputs among a definition's parameters; their sizes come after the definition's own.
pub fn input_slots(file: &CheckedFile, inputs: &[String], def: &Def, own_sizes: usize) -> Vec<Slot> {
    let mut sizes = &def.sizes[own_sizes..];
    let mut slots = vec![];
    for input in inputs.iter().filter_map(|x| file.signatures.inputs.get(x)) {
        let (own, rest) = sizes.split_at(input.sizes.len());
        sizes = rest;
        let size = |v: &Var| own.get(v.id as usize).cloned().map(Size::var);
        // The signatures hold inputs of data types only: others are refused when the file is checked.
        let layout = Layout::of(&input.checked.subst(&|_| None, &size));
        slots.extend(layout.map(|layout| Slot { name: input.name.clone(), layout }));
    }
    slots
}

/// Where a parameter of a definition, an input, or else the definition or test is written. The definition goes by its full name, an input by
/// the name that the file has for it.
pub fn written_at(file: &CheckedFile, def: &str, name: &str) -> Option<(Arc<Source>, Span)> {
    if let Some(input) = file.signatures.inputs.get(name) {
        let source = file.home(&input.home);
        let (parsed, _) = lang::surface::parser::parse(&source.text);
        let is_it =
            |x: &ItemKind| matches!(x, ItemKind::Input { name: x, .. } if x.node == modules::local(name));
        let item = parsed.items.iter().find(|item| is_it(&item.kind))?;
        let ItemKind::Input { name, .. } = &item.kind else { return None };
        return Some((source, name.span));
    }
    let (module, local) = modules::parts(def);
    let source = file.home(module);
    let (parsed, _) = lang::surface::parser::parse(&source.text);
    let mut found = None;
    for item in &parsed.items {
        match &item.kind {
            ItemKind::Test(test) if def.strip_prefix("test ") == Some(&test.name.node) => {
                found = Some(test.name.span);
            }
            ItemKind::Def { defs, .. } => {
                for d in defs.iter().filter(|d| d.name.node == local) {
                    let params = d.params.iter().enumerate();
                    let mut spans =
                        params.filter(|(k, (p, _))| pattern_name(p, *k) == name).map(|(_, (p, _))| p.span);
                    found = spans.next().or(Some(d.name.span));
                }
            }
            _ => {}
        }
    }
    Some((source, found?))
}

/// A problem with the data for a parameter, shown where the file writes the parameter.
pub fn about(file: &CheckedFile, def: &str, name: &str, diagnostic: Diagnostic) -> Stop {
    match written_at(file, def, name) {
        Some((source, span)) => Stop::at(&source, diagnostic.label(span, "for this")),
        None => diagnostic.into(),
    }
}

/// The data for an entry point: the leaves of each parameter, and all sizes.
pub struct Data {
    pub args: Vec<Vec<Tensor>>,
    pub sizes: Sizes,
}

/// Reads the data for the parameters: what is given by name, or the default file of an input. `fixed` are sizes by name.
pub fn data(
    file: &CheckedFile,
    def: &Def,
    params: &[Slot],
    given: Inputs,
    fixed: &[(String, i64)],
    precision: Precision,
) -> Result<Data, Stop> {
    timing::stage("read data", || read_data(file, def, params, given, fixed, precision))
}

/// Does `--size` name sizes of this definition?
pub fn size_of_it(def: &Def, fixed: &[(String, i64)]) -> Result<(), Stop> {
    let unknown = fixed.iter().find(|(name, _)| def.sizes.iter().all(|n| *n.name != **name));
    let Some((name, _)) = unknown else { return Ok(()) };
    let known: Vec<&str> = def.sizes.iter().map(|n| &*n.name).collect();
    let known = if known.is_empty() { "none".into() } else { known.join(", ") };
    Err(Stop::Usage(format!("`{}` has no size `{name}`; its sizes: {known}", def.name)))
}

fn read_data(
    file: &CheckedFile,
    def: &Def,
    params: &[Slot],
    mut given: Inputs,
    fixed: &[(String, i64)],
    precision: Precision,
) -> Result<Data, Stop> {
    let mut sizes = Sizes::default();
    size_of_it(def, fixed)?;
    for (name, k) in fixed {
        if let Some(n) = def.sizes.iter().find(|n| *n.name == **name) {
            sizes.set(n, *k, "by --size");
        }
    }
    let unknown = given.by_name.keys().find(|name| params.iter().all(|p| p.name != **name));
    if let Some(name) = unknown {
        let known: Vec<&str> = params.iter().map(|p| p.name.as_str()).collect();
        let help = match known.is_empty() {
            true => format!("`{}` takes no data", def.name),
            false => format!("there are: {}", known.join(", ")),
        };
        let message = format!("`{name}` is no parameter of `{}` and no input it uses", def.name);
        return Err(Diagnostic::new(codes::UNKNOWN_ARGUMENT, message).help(help).into());
    }
    let mut args = vec![vec![]; params.len()];
    // First those that fix sizes, then those that are compared; sums last: what is not there in them has the sizes that the others fix.
    let mut order: Vec<usize> = (0..params.len()).collect();
    order.sort_by_key(|i| (params[*i].layout.has_sum(), params[*i].layout.has_compound_size()));
    for i in order {
        let (slot, binder) = (&params[i], &def.params[i]);
        let given = match given.by_name.remove(&slot.name) {
            Some(given) => given,
            None => default(file, &def.name, slot)?,
        };
        let leaves = read(&slot.name, &slot.layout, &given, &mut sizes, precision);
        let leaves = leaves.map_err(|d| about(file, &def.name, &slot.name, d))?;
        // An int parameter may be a size in later types.
        if let (Layout::Scalar(_), [Tensor { data: Numbers::Int(k), .. }]) = (&slot.layout, &leaves[..]) {
            sizes.set(&binder.var, k[0], format!("from `{}`", slot.name));
        }
        args[i] = leaves;
    }
    let computed =
        |n: &Var| file.signatures.defs.values().any(|s| *s.name == *def.name && s.scheme.exists.contains(n));
    if let Some(n) = def.sizes.iter().find(|n| sizes.get(n).is_none() && !computed(n)) {
        let message = format!("no data fixes the size `{}` of `{}`", n.name, def.name);
        let help = format!("give it by --size {}=…", n.name);
        return Err(Diagnostic::new(codes::MISSING_ARGUMENT, message).help(help).into());
    }
    Ok(Data { args, sizes })
}

/// The default file of an input, next to the source that names it.
fn default(file: &CheckedFile, def: &str, slot: &Slot) -> Result<Given, Stop> {
    let declared = file.signatures.inputs.get(&slot.name);
    match declared.and_then(|input| Some((input.file.as_ref()?, file.home(&input.home)))) {
        Some((name, source)) => {
            let dir = Path::new(&source.path).parent().unwrap_or(Path::new(""));
            load(&dir.join(name).to_string_lossy(), &slot.name).map_err(|stop| match stop {
                Stop::Problems(problems) => {
                    let mut about = problems.into_iter().map(|p| about(file, def, &slot.name, p.diagnostic));
                    about.next().unwrap_or(Stop::Problems(vec![]))
                }
                usage @ Stop::Usage(_) => usage,
            })
        }
        None => {
            let message = format!("no data for `{}`, which is {}", slot.name, slot.layout);
            let help = format!("give it by --args '{{\"{0}\": …}}' or --input {0}=FILE", slot.name);
            Err(about(file, def, &slot.name, Diagnostic::new(codes::MISSING_ARGUMENT, message).help(help)))
        }
    }
}
