//! The language, construct by construct, and the standard library: every file of `tests/cases/language` and `tests/cases/std` is a program with tests
//! in it, run on every engine.

const ADC: &str = env!("CARGO_BIN_EXE_adc-under-test");

#[test]
fn constructs() {
    let of = |dir: &str| tests::files(&tests::root().join("tests/cases").join(dir), "ad");
    let (language, std) = (of("language"), of("std"));
    assert!(language.len() >= 2 && std.len() >= 2, "only {} and {} files", language.len(), std.len());
    let files: Vec<_> = language.into_iter().chain(std).collect();
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
