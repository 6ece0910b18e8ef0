//! Every example holds its own tests on every engine, and runs. Those on data learn something.

use std::path::Path;

const ADC: &str = env!("CARGO_BIN_EXE_adc-under-test");

fn adc(args: &[&str]) -> Result<String, String> {
    let ran = tests::run(ADC, &tests::root().join("examples"), args);
    match ran.status {
        0 => Ok(ran.stdout),
        status => Err(format!("adc {}: status {status}\n{}", args.join(" "), ran.stderr)),
    }
}

fn check(path: &Path) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let tests = text.lines().filter(|line| line.starts_with("test ")).count();
    let report = adc(&["test", &name])?;
    if !report.starts_with(&format!("{name}: {tests} tests, {} engines", tests::ENGINES.len())) {
        return Err(format!("{name}: {report}"));
    }
    // Training takes an engine that is meant to be fast.
    if cfg!(feature = "llvm") && text.contains("\ndef main") && adc(&["run", &name])?.is_empty() {
        return Err(format!("{name}: nothing is printed"));
    }
    Ok(())
}

#[test]
fn every_example_holds_its_tests_and_runs() {
    let examples = tests::files(&tests::root().join("examples"), "ad");
    assert!(examples.len() >= 7);
    tests::report(tests::all(&examples, |path| check(path)), examples.len());
}

/// A number of the record that an example prints.
#[cfg(feature = "llvm")]
fn number(example: &str, field: &str) -> f64 {
    let printed = adc(&["run", example, "--json"]).unwrap_or_else(|complaint| panic!("{complaint}"));
    let record: serde_json::Value = serde_json::from_str(&printed).unwrap_or_default();
    record[field].as_f64().unwrap_or_else(|| panic!("{example} prints no {field}: {printed}"))
}

#[test]
#[cfg(feature = "llvm")]
fn the_examples_on_data_learn() {
    assert!(number("logistic.ad", "accuracy") >= 0.97);
    assert!(number("mlp.ad", "trained") >= 0.97 && number("mlp.ad", "held_out") >= 0.94);
}
