//! Programs with tests in them, run on every engine: `tests/cases/language` construct by construct; `tests/cases/std` the standard library;
//! `tests/cases/faults` by the kinds of fault that users of differentiation systems have reported, with the right values (to 50 digits where they
//! are not exact); and the values of `tests/cases/derivatives`, whose derivatives are compared by `cases.rs`.

const ADC: &str = env!("CARGO_BIN_EXE_adc-under-test");

#[test]
fn values_and_slopes() {
    let dir = |name: &str| tests::files(&tests::root().join("tests/cases").join(name), "ad");
    let files: Vec<_> = ["language", "std", "faults", "derivatives"].into_iter().flat_map(dir).collect();
    assert!(files.len() >= 60, "only {} files", files.len());
    let jobs: Vec<_> = files.iter().flat_map(|f| tests::ENGINES.iter().map(move |e| (f, *e))).collect();
    let check = |(file, engine): &(&std::path::PathBuf, &str)| {
        let dir = file.parent().unwrap_or(file);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let ran = tests::run(ADC, dir, &["test", &name, "--engine", engine]);
        match ran.status {
            0 => Ok(()),
            _ => Err(format!("adc test {name} --engine {engine}\n{}{}", ran.stdout, ran.stderr)),
        }
    };
    tests::report(tests::all(&jobs, check), jobs.len());
}
