//! `adc grad`, `jvp`, `vjp`, `jacobian`, `cost`.

use super::run::printed;
use super::subject::{Data, Subject, about, data, size_of_it, subject};
use super::{fault, load, options};
use crate::args::{DerivativeArgs, Engine, ModeArg};
use crate::codes;
use crate::data::given::{Inputs, parse_json};
use crate::data::read::{Given, read};
use crate::data::{Layout, Numbers, Sizes, Tensor, print};
use crate::entry::{Ask, Entry, entry};
use crate::pipeline::{Options, Outcome, Runnable};
use crate::report::Stop;
use crate::session::CheckedFile;
use lang::diag::Diagnostic;
use lang::prim::Scalar;
use std::borrow::Cow;

/// Everything a derivative command starts from.
struct Start {
    file: CheckedFile,
    name: String,
    options: Options,
    given: Inputs,
}

fn start(of: &DerivativeArgs) -> Result<Start, Stop> {
    let options = options(&of.engine)?;
    let given = Inputs::from_args(&of.data)?;
    Ok(Start { file: load(&of.file)?, name: of.name.clone(), options, given })
}

/// The active parameters: those named by `--wrt`, or all whose type has a tangent; inputs only when named.
pub fn active(file: &CheckedFile, subject: &Subject, wrt: &[String]) -> Result<Vec<usize>, Stop> {
    let name = &subject.def.name;
    let none =
        |x: &str, message: String| about(file, name, x, Diagnostic::new(codes::NOT_DIFFERENTIABLE, message));
    if subject.result.has_sum() {
        let message =
            format!("`{name}` gives {}: derivatives of sum types are not available yet", subject.result);
        return Err(none(name, message));
    }
    // A sum has a tangent, which is no data of the command line.
    let sum = |i: &usize| {
        let layout = &subject.params[*i].layout;
        let message = || {
            format!(
                "`{}` is {layout}: derivatives with respect to sum types are not available yet",
                subject.params[*i].name
            )
        };
        (layout.has_tangent() && layout.has_sum()).then(message)
    };
    let has = |i: &usize| subject.params[*i].layout.has_tangent() && !subject.params[*i].layout.has_sum();
    if wrt.is_empty() {
        let all: Vec<usize> = (subject.inputs..subject.params.len()).filter(has).collect();
        let with_sum = (subject.inputs..subject.params.len()).find_map(|i| Some((i, sum(&i)?)));
        return match (all.is_empty(), with_sum) {
            (true, Some((i, message))) => Err(none(&subject.params[i].name, message)),
            (true, None) => Err(none(name, format!("`{name}` has no parameter that contains a real"))),
            (false, _) => Ok(all),
        };
    }
    let mut out = vec![];
    for x in wrt {
        let Some(i) = subject.params.iter().position(|p| p.name == *x) else {
            let there: Vec<&str> = subject.params.iter().map(|p| p.name.as_str()).collect();
            let diagnostic =
                Diagnostic::new(codes::UNKNOWN_ARGUMENT, format!("`{name}` has no parameter `{x}`"))
                    .help(format!("there are: {}", there.join(", ")));
            return Err(about(file, name, name, diagnostic));
        };
        if let Some(message) = sum(&i) {
            return Err(none(x, message));
        }
        if !has(&i) {
            let layout = &subject.params[i].layout;
            return Err(none(x, format!("`{x}` is {layout}, which contains no real")));
        }
        if !out.contains(&i) {
            out.push(i);
        }
    }
    Ok(out)
}

fn compile(start: &Start, entry: Entry, sizes: &Sizes) -> Result<Runnable, Stop> {
    let runnable = Runnable::at(&start.file.program, entry, &start.options, sizes);
    runnable.map_err(|f| fault(&start.file, &start.name, f))
}

fn call(start: &Start, runnable: &Runnable, args: &[Vec<Tensor>], sizes: &Sizes) -> Result<Outcome, Stop> {
    runnable.call(args, sizes).map_err(|f| fault(&start.file, &start.name, f))
}

pub fn real_result(file: &CheckedFile, subject: &Subject) -> Result<(), Stop> {
    if subject.result == Layout::Scalar(Scalar::Real) {
        return Ok(());
    }
    let message = format!("`{}` gives {}, and a gradient needs one real", subject.def.name, subject.result);
    let help = "adc jacobian, jvp and vjp take results of any data type";
    let diagnostic = Diagnostic::new(codes::NOT_DIFFERENTIABLE, message).help(help);
    Err(about(file, &subject.def.name, &subject.def.name, diagnostic))
}

pub fn grad(of: &DerivativeArgs) -> Result<String, Stop> {
    let mut start = start(of)?;
    let given = std::mem::take(&mut start.given);
    let subject = subject(&start.file, &of.name)?;
    real_result(&start.file, &subject)?;
    let ask = Ask::Grad(active(&start.file, &subject, &of.wrt)?);
    let Data { args, sizes } =
        data(&start.file, &subject.def, &subject.params, given, &of.engine.size, start.options.precision)?;
    let entry = entry(&subject.def, &subject.params, &subject.result, &ask);
    let layout = entry.result.clone();
    let outcome = call(&start, &compile(&start, entry, &sizes)?, &args, &sizes)?;
    Ok(printed(&layout, &outcome.result, &of.out))
}

pub fn jvp(of: &DerivativeArgs, tangent: &str) -> Result<String, Stop> {
    let mut start = start(of)?;
    let given = std::mem::take(&mut start.given);
    let subject = subject(&start.file, &of.name)?;
    let active = active(&start.file, &subject, &of.wrt)?;
    let Data { mut args, mut sizes } =
        data(&start.file, &subject.def, &subject.params, given, &of.engine.size, start.options.precision)?;
    let serde_json::Value::Object(mut tangents) = parse_json(tangent, "--tangent")? else {
        let message = "--tangent should be a JSON object: parameters by name";
        return Err(Diagnostic::new(codes::BAD_JSON, message).help("write {\"x\": 1.0}").into());
    };
    let entry = entry(&subject.def, &subject.params, &subject.result, &Ask::Jvp(active));
    let precision = start.options.precision;
    for slot in &entry.params[args.len()..] {
        let leaves = match tangents.remove(&slot.name) {
            Some(json) => {
                let what = format!("tangent of {}", slot.name);
                read(&what, &slot.layout, &Given::Json(json), &mut sizes, precision).map_err(|stop| {
                    stop.help("a tangent has every part of its value, 0 where nothing moves; a parameter may be left out as a whole")
                })?
            }
            None => zeros(&slot.layout, &sizes)?,
        };
        args.push(leaves);
    }
    if let Some(name) = tangents.keys().next() {
        let message =
            format!("--tangent names `{name}`, which is not among the parameters of the derivative");
        return Err(Diagnostic::new(codes::UNKNOWN_ARGUMENT, message).into());
    }
    let layout = entry.result.clone();
    let outcome = call(&start, &compile(&start, entry, &sizes)?, &args, &sizes)?;
    Ok(printed(&layout, &outcome.result, &of.out))
}

pub fn vjp(of: &DerivativeArgs, cotangent: &str) -> Result<String, Stop> {
    let mut start = start(of)?;
    let given = std::mem::take(&mut start.given);
    let subject = subject(&start.file, &of.name)?;
    let active = active(&start.file, &subject, &of.wrt)?;
    let Data { mut args, mut sizes } =
        data(&start.file, &subject.def, &subject.params, given, &of.engine.size, start.options.precision)?;
    let entry = entry(&subject.def, &subject.params, &subject.result, &Ask::Vjp(active));
    let json = Given::Json(parse_json(cotangent, "--cotangent")?);
    for slot in &entry.params[args.len()..] {
        args.push(read(&slot.name, &slot.layout, &json, &mut sizes, start.options.precision)?);
    }
    let layout = entry.result.clone();
    let outcome = call(&start, &compile(&start, entry, &sizes)?, &args, &sizes)?;
    Ok(printed(&layout, &outcome.result, &of.out))
}

/// The leaves of D of a type, all zero.
fn zeros(layout: &Layout, sizes: &Sizes) -> Result<Vec<Tensor>, Stop> {
    let leaves = lang::leaves::leaves(&layout.ty()).unwrap_or_default();
    let zero = |leaf: lang::leaves::Leaf| {
        let shape = leaf.shape.iter().map(|n| Some(sizes.eval(n)?.max(0) as usize));
        let shape = shape.collect::<Option<Vec<usize>>>().ok_or_else(|| {
            Stop::from(Diagnostic::new(codes::COMPILER_BUG, "the size of a tangent is not known"))
        })?;
        let count = shape.iter().product();
        Ok(Tensor { shape, data: Numbers::Real(vec![0.0; count]) })
    };
    leaves.into_iter().map(zero).collect()
}

/// The reals of some leaves, in order.
fn flat(leaves: &[Tensor]) -> Vec<f64> {
    leaves.iter().filter_map(|leaf| leaf.data.reals()).flat_map(Cow::into_owned).collect()
}

/// Sets the k-th real of some leaves.
fn set(leaves: &mut [Tensor], mut k: usize, x: f64) {
    for leaf in leaves {
        if let Numbers::Real(xs) = &mut leaf.data {
            match xs.get_mut(k) {
                Some(slot) => {
                    *slot = x;
                    return;
                }
                None => k -= xs.len(),
            }
        }
    }
}

/// The positions of the reals of some leaves, in order: the number of the leaf, then its indices.
fn positions(leaves: &[Tensor]) -> Vec<Vec<i64>> {
    let mut out = vec![];
    for (k, leaf) in leaves.iter().enumerate() {
        let count: usize = leaf.shape.iter().product();
        for mut flat in 0..count {
            let mut at = vec![0; leaf.shape.len() + 1];
            at[0] = k as i64;
            for (i, n) in leaf.shape.iter().enumerate().rev() {
                at[i + 1] = (flat % n) as i64;
                flat /= n;
            }
            out.push(at);
        }
    }
    out
}

/// By columns forward, by rows reverse: the same linear map at each position in turn.
pub fn jacobian(of: &DerivativeArgs, mode: Option<ModeArg>) -> Result<String, Stop> {
    let mut start = start(of)?;
    let given = std::mem::take(&mut start.given);
    let subject = subject(&start.file, &of.name)?;
    let active = active(&start.file, &subject, &of.wrt)?;
    let Data { args, sizes } =
        data(&start.file, &subject.def, &subject.params, given, &of.engine.size, start.options.precision)?;
    let mut tangents = vec![];
    for i in &active {
        tangents.extend(zeros(&subject.params[*i].layout.tangent(), &sizes)?);
    }
    let cotangents = zeros(&subject.result.tangent(), &sizes)?;
    let (columns, rows) = (positions(&tangents), positions(&cotangents));
    let few = if columns.len() <= rows.len() { ModeArg::Forward } else { ModeArg::Reverse };
    let mode = mode.unwrap_or(few);
    let (ask, each) = match mode {
        ModeArg::Forward => (Ask::Column(active), &columns),
        ModeArg::Reverse => (Ask::Row(active), &rows),
    };
    let entry = entry(&subject.def, &subject.params, &subject.result, &ask);
    let numbers = entry.params.len() - args.len();
    let runnable = compile(&start, entry, &sizes)?;
    let mut matrix = vec![vec![0.0; columns.len()]; rows.len()];
    for (k, at) in each.iter().enumerate() {
        // The position is as long as the longest is.
        let at = at.iter().copied().chain(std::iter::repeat(0)).take(numbers);
        let at = at.map(|i| vec![Tensor { shape: vec![], data: Numbers::Int(vec![i]) }]);
        let all: Vec<Vec<Tensor>> = args.iter().cloned().chain(at).collect();
        let result = flat(&call(&start, &runnable, &all, &sizes)?.result);
        match mode {
            ModeArg::Forward => matrix.iter_mut().zip(result).for_each(|(row, x)| row[k] = x),
            ModeArg::Reverse => matrix[k] = result,
        }
    }
    let text = |row: &Vec<f64>| {
        let entries: Vec<String> =
            row.iter().map(|x| print::real(*x, start.options.precision, of.out.json)).collect();
        format!("[{}]", entries.join(", "))
    };
    let rows: Vec<String> = matrix.iter().map(text).collect();
    Ok(if of.out.json { format!("[{}]\n", rows.join(", ")) } else { rows.join("\n") + "\n" })
}

/// Operations of the primal and of its gradient (of value and reverse product, for a result that is not one real), as the evaluator of
/// loops counts them.
pub fn cost(of: &DerivativeArgs) -> Result<String, Stop> {
    let mut start = start(of)?;
    start.options.sizes.clear();
    start.options.engine = match of.engine.engine {
        Some(Engine::Jit) => {
            return Err(Stop::Usage("native code does not count: --engine loops or eval".into()));
        }
        Some(engine) => engine,
        None => Engine::Loops,
    };
    let given = std::mem::take(&mut start.given);
    let subject = subject(&start.file, &of.name)?;
    let active = active(&start.file, &subject, &of.wrt)?;
    let Data { mut args, sizes } = cost_data(&start, &subject, given, &of.engine.size)?;
    let entry = |ask: &Ask| entry(&subject.def, &subject.params, &subject.result, ask);
    let count = |ask: &Ask, args: &[Vec<Tensor>]| {
        // What is counted is the program for all sizes, not one compiled for these.
        let runnable = Runnable::new(&start.file.program, entry(ask), &start.options);
        let runnable = runnable.map_err(|f| fault(&start.file, &start.name, f))?;
        let outcome = call(&start, &runnable, args, &sizes)?;
        Ok::<u64, Stop>(outcome.cost.unwrap_or(0))
    };
    let primal = count(&Ask::Value, &args)?;
    let gradient = match real_result(&start.file, &subject) {
        Ok(()) => count(&Ask::Grad(active), &args)?,
        Err(_) => {
            let mut cotangent = zeros(&subject.result.tangent(), &sizes)?;
            (0..flat(&cotangent).len()).for_each(|k| set(&mut cotangent, k, 1.0));
            args.push(cotangent);
            count(&Ask::Vjp(active), &args)?
        }
    };
    let ratio = gradient as f64 / primal.max(1) as f64;
    Ok(match of.out.json {
        true => format!("{{\"primal\": {primal}, \"gradient\": {gradient}, \"ratio\": {ratio:?}}}\n"),
        false => format!("primal {primal}\ngradient {gradient}\nratio {ratio:.2}\n"),
    })
}

/// The data of a cost: what is given, and otherwise harmless numbers in the sizes given.
fn cost_data(
    start: &Start,
    subject: &Subject,
    mut given: Inputs,
    fixed: &[(String, i64)],
) -> Result<Data, Stop> {
    let mut sizes = Sizes::default();
    size_of_it(&subject.def, fixed)?;
    for (name, k) in fixed {
        if let Some(n) = subject.def.sizes.iter().find(|n| *n.name == **name) {
            sizes.set(n, *k, "by --size");
        }
    }
    for slot in &subject.params[subject.inputs..] {
        if !given.by_name.contains_key(&slot.name)
            && let Some(json) = sample(&slot.layout, &sizes, &mut 0)
        {
            given.by_name.insert(slot.name.clone(), Given::Json(json));
        }
    }
    data(&start.file, &subject.def, &subject.params, given, fixed, start.options.precision)
}

/// Numbers between 0 and 1, ints 0, bools true; None where a size is not given.
fn sample(layout: &Layout, sizes: &Sizes, count: &mut u32) -> Option<serde_json::Value> {
    Some(match layout {
        Layout::Scalar(Scalar::Real) => {
            *count += 1;
            (f64::from(*count) * 0.618_033_988_749_895).fract().into()
        }
        Layout::Scalar(Scalar::Int) => 0.into(),
        Layout::Scalar(Scalar::Bool) => true.into(),
        Layout::Tuple(parts) => {
            parts.iter().map(|t| sample(t, sizes, count)).collect::<Option<Vec<_>>>()?.into()
        }
        Layout::Record(fields) => {
            let fields = fields.iter().map(|(x, t)| Some((x.to_string(), sample(t, sizes, count)?)));
            serde_json::Value::Object(fields.collect::<Option<_>>()?)
        }
        Layout::Sum(arms) => {
            let (x, t) = arms.first()?;
            let payload = sample(t, sizes, count)?;
            serde_json::Value::Object([(x.to_string(), payload)].into_iter().collect())
        }
        Layout::Array(n, t) => {
            (0..sizes.eval(n)?).map(|_| sample(t, sizes, count)).collect::<Option<Vec<_>>>()?.into()
        }
    })
}
