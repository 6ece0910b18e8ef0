//! What adc says to wrong programs and data: every `tests/ui/*.ad` is given to a command, and its status and output are compared with the
//! file of the same name ending in `.expected`. The command is `adc check NAME.ad`, or the line `-- $ adc …` that the program begins with, or the
//! content of `NAME.cmd`. `ADC_BLESS=1` writes the expected files; read them before they are committed.

use std::path::Path;

const ADC: &str = env!("CARGO_BIN_EXE_adc-under-test");

fn command(path: &Path, name: &str) -> String {
    if let Ok(line) = std::fs::read_to_string(path.with_extension("cmd")) {
        return line.trim().to_string();
    }
    let text = std::fs::read(path).unwrap_or_default();
    let first = String::from_utf8_lossy(text.split(|b| *b == b'\n').next().unwrap_or_default()).into_owned();
    match first.strip_prefix("-- $ ") {
        Some(line) => line.trim().to_string(),
        None => format!("adc check {name}"),
    }
}

fn check(path: &Path) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let line = command(path, &name);
    let words = tests::words(&line);
    if words.first().map(String::as_str) != Some("adc") || !words.contains(&name) {
        return Err(format!("{name}: the command `{line}` does not run adc on {name}"));
    }
    let ran = tests::run(ADC, path.parent().unwrap_or(Path::new(".")), &words[1..]);
    // Whatever is expected: a fault is reported by a code, and nothing ever ends in a panic.
    let coded = ran.stderr.contains("[E") || ran.status != 1;
    if !matches!(ran.status, 0..=2) || !coded {
        return Err(format!("{name}: status {}\n{}", ran.status, ran.stderr));
    }
    let found = format!("$ {line}\nstatus {}\n{}{}", ran.status, ran.stdout, ran.stderr);
    let expected_path = path.with_extension("expected");
    if std::env::var_os("ADC_BLESS").is_some() {
        return std::fs::write(&expected_path, found).map_err(|e| e.to_string());
    }
    let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
    if expected == found { Ok(()) } else { Err(format!("{name}: expected\n{expected}\nfound\n{found}")) }
}

#[test]
fn wrong_input_is_answered_as_expected() {
    let cases = tests::files(&tests::root().join("tests/ui"), "ad");
    assert!(!cases.is_empty());
    tests::report(tests::all(&cases, |path| check(path)), cases.len());
}
