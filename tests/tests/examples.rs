//! Every example checks, its tests hold on every engine, and it runs. What some of them must reach is written here.

use serde_json::Value;

const ADC: &str = env!("CARGO_BIN_EXE_adc-under-test");

/// Example, field of its result, and the least it must be.
const GOALS: &[(&str, &str, f64)] =
    &[("logistic", "accuracy", 0.97), ("mlp", "trained", 0.97), ("mlp", "held_out", 0.94)];

/// Runs `adc` in the repository and wants success.
fn adc(args: &[&str]) -> Result<String, String> {
    let ran = tests::run(ADC, &tests::root(), args);
    if ran.status == 0 { Ok(ran.stdout) } else { Err(format!("adc {}\n{}", args.join(" "), ran.stderr)) }
}

fn check(stem: &str) -> Result<(), String> {
    let file = format!("examples/{stem}.ad");
    adc(&["check", &file])?;
    adc(&["test", &file])?;
    let text = std::fs::read_to_string(tests::root().join(&file)).map_err(|e| format!("{file}: {e}"))?;
    let has_main = text.lines().any(|line| line.starts_with("def main"));
    // The evaluators are too slow for training.
    if !has_main || !cfg!(feature = "llvm") {
        return Ok(());
    }
    let out = adc(&["run", &file, "--json"])?;
    let result: Value = serde_json::from_str(&out).map_err(|e| format!("{file}: {e}\n{out}"))?;
    for (_, field, least) in GOALS.iter().filter(|(example, ..)| *example == stem) {
        if result[field].as_f64().is_none_or(|x| x < *least) {
            return Err(format!("{file}: {field} is {}, not at least {least}", result[field]));
        }
    }
    Ok(())
}

#[test]
fn examples_check_test_and_run() {
    let stems: Vec<String> = tests::files(&tests::root().join("examples"), "ad")
        .iter()
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_string()))
        .collect();
    for (example, ..) in GOALS {
        assert!(stems.iter().any(|s| s == example), "examples/{example}.ad is missing");
    }
    tests::report(tests::all(&stems, |stem| check(stem)), stems.len());
}
