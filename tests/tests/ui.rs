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

/// How deep the programs below nest.
const DEEP: usize = 10_000;

/// Programs that nest something deeper than the limit, each by itself.
fn deep() -> Vec<(&'static str, String)> {
    let nest = |open: &str, middle: &str, close: &str| {
        format!("{}{middle}{}", open.repeat(DEEP), close.repeat(DEEP))
    };
    let def = |body: String| format!("def f (x : real) : real = {body}\n");
    let typed = |ty: String| format!("def f (x : {ty}) : real = 1\n");
    vec![
        ("parentheses", def(nest("(", "x", ")"))),
        ("open parentheses", def(nest("(", "x", ""))),
        ("brackets of all kinds", def(nest("([{", "", ""))),
        ("arrays", def(nest("[", "x", "]"))),
        ("records", def(nest("{a = ", "x", "}"))),
        ("updates", def(nest("{", "x", " with a = 1}"))),
        ("indices", def(nest("x[", "0", "]"))),
        ("indices in a row", def(nest("x", "", "[0]"))),
        ("projections", def(nest("x", "", ".0"))),
        ("comprehensions", def(nest("[", "1", " | i < 2]"))),
        ("minus signs", def(nest("- ", "x", ""))),
        ("minus signs in parentheses", def(nest("-(", "x", ")"))),
        ("sums", def(nest("x + ", "x", ""))),
        ("powers", def(nest("x ^ ", "2", ""))),
        ("pipes", def(nest("", "x", " |> sin"))),
        ("calls", def(nest("sin (", "x", ")"))),
        ("lets", def(nest("let y = x in ", "x", ""))),
        ("lets in lets", def(nest("let y = ", "x", " in y"))),
        ("lambdas", def(nest("\\y -> ", "x", ""))),
        ("linear lambdas", def(nest("\\v -o ", "zero", ""))),
        ("conditions", def(nest("if true then 1 else ", "x", ""))),
        ("loops", def(nest("loop s = x for i < 2 do ", "x", ""))),
        ("matches", def(nest("match x with y -> ", "x", ""))),
        ("sums of the linear language", def(nest("suml i < 2 -> ", "x", ""))),
        ("ascriptions", def(nest("", "x", " as real"))),
        ("patterns", def(format!("let {} = x in y", nest("(", "y", ")")))),
        ("types in parentheses", typed(nest("(", "real", ")"))),
        ("types of functions", typed(nest("real -> ", "real", ""))),
        ("types of functions of functions", typed(nest("(", "real", " -> real)"))),
        ("types of arrays", typed(nest("[2]", "real", ""))),
        ("tangent types", typed(nest("D ", "real", ""))),
        ("sizes", typed(format!("real^({})", nest("(", "2", ")")))),
        ("tests", format!("test t = {} == 1\n", nest("(", "1", ")"))),
    ]
}

/// Runs adc on a text in a file of its own.
fn on_text(name: &str, text: &str, args: impl Fn(&str) -> Vec<String>) -> tests::Ran {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = format!("{}.ad", name.replace(' ', "-"));
    std::fs::write(dir.join(&file), text).unwrap();
    tests::run(ADC, dir, &args(&file))
}

#[test]
fn what_nests_too_deep_is_reported_with_its_place() {
    let cases = deep();
    let complaints = tests::all(&cases, |(name, text)| {
        let ran = on_text(name, text, |file| vec!["check".into(), file.into()]);
        let reported = ran.stderr.contains("[E0108] Error: this nests more than");
        let place = format!("{}.ad:1:", name.replace(' ', "-"));
        match ran.status == 1 && reported && ran.stderr.contains(&place) {
            true => Ok(()),
            false => Err(format!("{name}: status {}\n{}{}", ran.status, ran.stdout, ran.stderr)),
        }
    });
    tests::report(complaints, cases.len());
}

/// Below the limit every stage answers, on the stack as it is.
#[test]
fn what_nests_less_deep_is_differentiated() {
    let nest = |n: usize, open: &str, close: &str| format!("{}x{}", open.repeat(n), close.repeat(n));
    let cases = [
        ("nested parentheses", nest(1900, "(", ")"), 1.0),
        ("nested minus signs", nest(900, "-(", ")"), 1.0),
        ("nested calls", nest(300, "abs (", ")"), 1.0),
        ("nested lets", nest(300, "let y = x in ", ""), 1.0),
        ("nested sums", nest(900, "x + ", ""), 901.0),
        ("nested conditions", nest(60, "if x < 0 then 0 else ", ""), 1.0),
    ];
    let complaints = tests::all(&cases, |(name, body, slope)| {
        let text = format!("def f (x : real) : real = {body}\n");
        let args = |file: &str| ["grad", file, "f", "--args", "{\"x\": 0.5}"].map(String::from).to_vec();
        let ran = on_text(name, &text, args);
        match ran.status == 0 && ran.stdout == format!("{slope:?}\n") {
            true => Ok(()),
            false => Err(format!("{name}: status {}\n{}{}", ran.status, ran.stdout, ran.stderr)),
        }
    });
    tests::report(complaints, cases.len());
}
