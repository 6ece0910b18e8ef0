//! Functions with known derivatives: the table `tests/cases/derivatives.json`, each case a program `tests/cases/derivatives/ID.ad`. A Jacobian
//! is run forward by columns and reverse by rows, on every engine. The program begins with comment lines:
//!
//!     -- args {"x": 5}         the point, by parameter
//!     -- wrt x                 the parameters that are inputs of the case (default: all with a tangent)
//!     -- cotangent 1           of a vjp (the table's seed is flat), or `-- tangent {"x": 1}` of a jvp
//!     -- options --real f32    of the command
//!     -- expect [1]            where the table says in words what is expected

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

const ADC: &str = env!("CARGO_BIN_EXE_adc-under-test");

/// What a case may wait for.
const REASONS: &[&str] = &["nested derivatives", "derivative rules", "functions as results of derivatives"];

struct Case {
    id: String,
    kind: String,
    expect: Value,
    path: PathBuf,
}

fn cases() -> Vec<Case> {
    let dir = tests::root().join("tests/cases");
    let text = std::fs::read_to_string(dir.join("derivatives.json")).unwrap();
    let table: Value = serde_json::from_str(&text).unwrap();
    let all = table["cases"].as_array().unwrap().iter();
    all.map(|case| {
        let text = |key: &str| case[key].as_str().unwrap().to_string();
        let path = dir.join("derivatives").join(format!("{}.ad", text("id")));
        Case { id: text("id"), kind: text("kind"), expect: case["expect"].clone(), path }
    })
    .collect()
}

/// Case to what it waits for.
fn pending() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(tests::root().join("tests/cases/pending.txt")).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(id, reason)| (id.to_string(), reason.trim().to_string())).collect()
}

fn numbers(value: &Value, out: &mut Vec<f64>) {
    match value {
        Value::Array(all) => all.iter().for_each(|v| numbers(v, out)),
        Value::Object(all) => all.values().for_each(|v| numbers(v, out)),
        other => out.extend(other.as_f64()),
    }
}

fn check(case: &Case) -> Result<(), String> {
    let text = std::fs::read_to_string(&case.path).map_err(|e| format!("{}: {e}", case.id))?;
    let header = |key: &str| {
        let mark = format!("-- {key} ");
        text.lines().find_map(|line| line.strip_prefix(&mark)).map(str::trim)
    };
    let file = case.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut common = vec![file, "f".into(), "--json".into()];
    for (key, option) in [("args", "--args"), ("wrt", "--wrt")] {
        common.extend(header(key).into_iter().flat_map(|value| [option.to_string(), value.to_string()]));
    }
    common.extend(header("options").into_iter().flat_map(str::split_whitespace).map(str::to_string));
    let seeded = |key: &str| {
        let seed = header(key).ok_or_else(|| format!("{}: no line `-- {key} …`", case.id))?;
        Ok::<_, String>(vec![vec![format!("--{key}"), seed.to_string()]])
    };
    let (command, variants) = match case.kind.as_str() {
        "J" => ("jacobian", ["forward", "reverse"].map(|m| vec!["--mode".into(), m.into()]).to_vec()),
        "vjp" => ("vjp", seeded("cotangent")?),
        "jvp" => ("jvp", seeded("tangent")?),
        other => return Err(format!("{}: unknown kind {other}", case.id)),
    };
    let expect = match (&case.expect, header("expect")) {
        (Value::String(_), Some(text)) => {
            serde_json::from_str(text).map_err(|e| format!("{}: {e}", case.id))?
        }
        (Value::String(words), None) => return Err(format!("{}: the table says: {words}", case.id)),
        (other, None) => other.clone(),
        (_, Some(_)) => return Err(format!("{}: the table's expectation stands", case.id)),
    };
    let mut want = vec![];
    numbers(&expect, &mut want);
    for variant in &variants {
        for engine in tests::ENGINES {
            let words: Vec<&str> = [command]
                .into_iter()
                .chain(common.iter().chain(variant).map(String::as_str))
                .chain(["--engine", engine])
                .collect();
            let ran = tests::run(ADC, case.path.parent().unwrap_or(&case.path), &words);
            let line = words.join(" ");
            if ran.status != 0 {
                return Err(format!("{}: adc {line}\n{}", case.id, ran.stderr));
            }
            let result: Value =
                serde_json::from_str(&ran.stdout).map_err(|e| format!("adc {line}: {e}\n{}", ran.stdout))?;
            let mut got = vec![];
            numbers(&result, &mut got);
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
            if got.len() != want.len() || !got.iter().zip(&want).all(close) {
                return Err(format!(
                    "{}: adc {line}\nexpected {expect}\nfound {}",
                    case.id,
                    ran.stdout.trim()
                ));
            }
        }
    }
    Ok(())
}

#[test]
fn known_derivatives() {
    let (cases, pending) = (cases(), pending());
    let faults: String = tests::files(&tests::root().join("tests/cases/faults"), "ad")
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    for (id, reason) in &pending {
        println!("pending: {id} ({reason})");
        assert!(REASONS.contains(&reason.as_str()), "{id} may not wait for {reason}");
        // Besides the table's: tests that `faults` cannot have yet.
        let fault = id.starts_with(|c: char| c.is_ascii_lowercase());
        assert!(fault || cases.iter().any(|c| c.id == *id), "there is no case {id}");
        let there = faults.contains(&format!("test {id} ="));
        assert!(!there, "{id} is there and waits for nothing");
    }
    let run: Vec<Case> = cases.into_iter().filter(|c| !pending.contains_key(&c.id)).collect();
    assert!(run.len() >= 40, "only {} cases run", run.len());
    tests::report(tests::all(&run, check), run.len());
}
