//! `adc run`.

use super::subject::{Subject, data, subject_to_run};
use super::{fault, load, options};
use crate::args::{DataArgs, EngineArgs, OutArgs};
use crate::data::given::Inputs;
use crate::data::{Layout, Numbers, Tensor, print};
use crate::entry::{Ask, entry};
use crate::pipeline::Runnable;
use crate::report::Stop;
use lang::prim::Scalar;
use std::path::Path;

pub fn run(
    path: &Path,
    name: &str,
    data_args: &DataArgs,
    engine: &EngineArgs,
    out: &OutArgs,
) -> Result<String, Stop> {
    let options = options(engine)?;
    let given = Inputs::from_args(data_args)?;
    let file = load(path)?;
    let Subject { def, params, result, measured, .. } = subject_to_run(&file, name)?;
    let mut data = data(&file, &def, &params, given, &engine.size, options.precision)?;
    // What the arguments do not say of the result's size is computed first.
    for (k, measure) in &measured {
        let entry = entry(measure, &params, &Layout::Scalar(Scalar::Int), &Ask::Value);
        let runnable = Runnable::at(&file.program, entry, &options, &data.sizes);
        let runnable = runnable.map_err(|f| fault(&file, name, f))?;
        let outcome = runnable.call(&data.args, &data.sizes).map_err(|f| fault(&file, name, f))?;
        if let [Tensor { data: Numbers::Int(n), .. }] = &outcome.result[..] {
            data.sizes.set(k, n[0], "as computed");
        }
    }
    let entry = entry(&def, &params, &result, &Ask::Value);
    let runnable = Runnable::at(&file.program, entry, &options, &data.sizes);
    let runnable = runnable.map_err(|f| fault(&file, name, f))?;
    let outcome = runnable.call(&data.args, &data.sizes).map_err(|f| fault(&file, name, f))?;
    Ok(printed(&result, &outcome.result, out))
}

/// A result as the options ask.
pub fn printed(layout: &Layout, leaves: &[Tensor], out: &OutArgs) -> String {
    if out.json { format!("{}\n", print::json(layout, leaves)) } else { print::pretty(layout, leaves) }
}
