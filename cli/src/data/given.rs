//! Where data comes from: `--args`, `--input`, the default files of `input` items.

use super::read::Given;
use super::{Tensor, csv, json, npy};
use crate::args::DataArgs;
use crate::codes;
use crate::report::Stop;
use lang::diag::Diagnostic;
use std::collections::BTreeMap;
use std::path::Path;

/// What the command line gives, by the name of the parameter or input it is for.
#[derive(Default, Debug)]
pub struct Inputs {
    pub by_name: BTreeMap<String, Given>,
}

impl Inputs {
    pub fn from_args(args: &DataArgs) -> Result<Inputs, Stop> {
        let mut inputs = Inputs::default();
        for input in &args.input {
            match input.split_once('=') {
                Some((name, file)) if is_name(name) => inputs.insert(name, load(file, name)?)?,
                Some(_) | None if input.ends_with(".npz") => {
                    for (name, tensor) in npz(Path::new(input))? {
                        inputs.insert(&name, Given::Tensor(tensor))?;
                    }
                }
                Some(_) | None if input.ends_with(".json") => {
                    let text = read_text(Path::new(input))?;
                    inputs.object(parse_json(&text, input)?, input)?;
                }
                Some(_) | None => {
                    let file = input.trim_start_matches('=');
                    let message = format!("`--input {input}` needs a name: --input NAME={file}");
                    return Err(Stop::Usage(message));
                }
            }
        }
        if let Some(text) = &args.args {
            inputs.object(parse_json(text, "--args")?, "--args")?;
        }
        Ok(inputs)
    }

    fn insert(&mut self, name: &str, given: Given) -> Result<(), Stop> {
        match self.by_name.insert(name.to_string(), given) {
            None => Ok(()),
            Some(_) => Err(Stop::Usage(format!("`{name}` is given twice"))),
        }
    }

    fn object(&mut self, json: serde_json::Value, origin: &str) -> Result<(), Stop> {
        let serde_json::Value::Object(object) = json else {
            let message = format!("{origin} should be a JSON object: parameters by name");
            return Err(Diagnostic::new(codes::BAD_JSON, message).help("write {\"x\": 1.5}").into());
        };
        object.into_iter().try_for_each(|(name, value)| self.insert(&name, Given::Json(value)))
    }
}

/// x, or m.x
fn is_name(text: &str) -> bool {
    text.split('.').all(|word| {
        word.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '\'')
    })
}

/// A JSON text as a value; `origin` names it in the message.
pub fn parse_json(text: &str, origin: &str) -> Result<serde_json::Value, Stop> {
    json::parse(text).map_err(|error| {
        let d = Diagnostic::new(
            codes::BAD_JSON,
            match error.is_data() {
                true => format!("{origin}: {error}"),
                false => format!("{origin} is not JSON: {error}"),
            },
        );
        let unusual = ["nan", "inf", "1e"].iter().any(|x| text.to_lowercase().contains(x));
        let help = "NaN and infinities are strings: \"NaN\", \"inf\", \"-inf\"";
        if unusual { d.help(help).into() } else { d.into() }
    })
}

/// The text of a file.
pub fn read_text(path: &Path) -> Result<String, Stop> {
    let bytes = read_bytes(path)?;
    String::from_utf8(bytes).map_err(|error| {
        let (bytes, valid) = (error.as_bytes(), error.utf8_error().valid_up_to());
        let line = bytes[..valid].iter().filter(|b| **b == b'\n').count() + 1;
        let column = bytes[..valid].iter().rev().take_while(|b| **b != b'\n').count() + 1;
        let message = format!("{}:{line}:{column}: this is not UTF-8 text", path.display());
        Diagnostic::new(codes::NOT_UTF8, message)
            .help(format!("the byte here is 0x{:02x}; save the file as UTF-8", bytes[valid]))
            .into()
    })
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, Stop> {
    std::fs::read(path).map_err(|error| {
        let message = format!("cannot read `{}`: {error}", path.display());
        Diagnostic::new(codes::UNREADABLE, message).into()
    })
}

/// The arrays of an `.npz` file by name.
fn npz(path: &Path) -> Result<Vec<(String, Tensor)>, Stop> {
    npy::archive(&read_bytes(path)?)
        .map_err(|fault| Diagnostic::new(codes::BAD_NPY, format!("{}: {fault}", path.display())).into())
}

/// The data of `FILE.json`, `FILE.npy`, `FILE.csv` or `FILE.csv:column,…`; of `FILE.npz` the array called like what it is for, or
/// `FILE.npz:array`.
pub fn load(file: &str, name: &str) -> Result<Given, Stop> {
    let (path, columns) = match file.rsplit_once(':') {
        Some((path, part)) if path.ends_with(".csv") || path.ends_with(".npz") => (path, Some(part)),
        Some(_) | None => (file, None),
    };
    let (extension, path) = (Path::new(path).extension().and_then(|e| e.to_str()), Path::new(path));
    match extension {
        Some("json") => Ok(Given::Json(parse_json(&read_text(path)?, file)?)),
        Some("npy") => match npy::read(&read_bytes(path)?) {
            Ok(tensor) => Ok(Given::Tensor(tensor)),
            Err(fault) => Err(Diagnostic::new(codes::BAD_NPY, format!("{file}: {fault}")).into()),
        },
        Some("npz") => {
            let mut arrays = npz(path)?;
            let wanted = columns.unwrap_or(typeck::modules::local(name));
            if let Some(k) = arrays.iter().position(|(x, _)| x == wanted) {
                return Ok(Given::Tensor(arrays.swap_remove(k).1));
            }
            let known: Vec<&str> = arrays.iter().map(|(x, _)| x.as_str()).collect();
            let message =
                format!("{} has no array `{wanted}`; there are: {}", path.display(), known.join(", "));
            let help = format!("name one by `{}:ARRAY`", path.display());
            Err(Diagnostic::new(codes::BAD_NPY, message).help(help).into())
        }
        Some("csv") => {
            let table = csv::read(&read_text(path)?);
            let table = table.and_then(|table| match columns {
                Some(names) => table.select(&names.split(',').map(str::trim).collect::<Vec<_>>()),
                None => Ok(table),
            });
            let said = |fault: &String| format!("{}: {fault}", path.display());
            match table {
                Ok(mut table) => {
                    for fault in table.columns.iter_mut().filter_map(|column| column.as_mut().err()) {
                        *fault = said(fault);
                    }
                    Ok(Given::Table(table))
                }
                Err(fault) => Err(Diagnostic::new(codes::BAD_CSV, said(&fault)).into()),
            }
        }
        Some(_) | None => {
            let message =
                format!("`{file}` is not a kind of data file that adc reads: .json, .npy, .npz, .csv");
            Err(Diagnostic::new(codes::UNREADABLE, message).into())
        }
    }
}
