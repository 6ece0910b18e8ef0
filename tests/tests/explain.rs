//! Every error code has a page, and the example of the page shows the error: its first ```ad block is `example.ad`, blocks ```text NAME (or
//! ```bytes NAME, in hexadecimal) are further files, the ```console block is the command. A block ```ad mended is a program without errors.

use std::collections::BTreeSet;
use tests::Scratch;

const ADC: &str = env!("CARGO_BIN_EXE_adc-under-test");

/// Codes without an example: there is no short program that shows them.
const WITHOUT_EXAMPLE: &[&str] = &["E0310", "E0713", "E0714", "E0799"];

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, d| byte * 16 + *d as u8)).collect()
}

fn check(code: &str, page: &str) -> Result<(), String> {
    if !page.starts_with(&format!("# {code}: ")) {
        return Err(format!("{code}: the page does not begin with its code and title"));
    }
    let dir = Scratch::new(code)?;
    let mut shown = false;
    for (info, text) in tests::blocks(page) {
        match info.split_whitespace().collect::<Vec<_>>()[..] {
            ["ad"] => dir.write("example.ad", text.as_bytes())?,
            ["text", name] => dir.write(name, text.as_bytes())?,
            ["bytes", name] => dir.write(name, &unhex(&text))?,
            ["console"] => {
                let line = text
                    .trim()
                    .strip_prefix("$ adc ")
                    .ok_or(format!("{code}: `{text}` is no adc command"))?;
                let ran = tests::run(ADC, &dir.0, &tests::words(line));
                if ran.status != 1 || !ran.stderr.contains(&format!("[{code}]")) {
                    return Err(format!(
                        "{code}: adc {line}: status {}\n{}{}",
                        ran.status, ran.stdout, ran.stderr
                    ));
                }
                shown = true;
            }
            ["ad", "mended"] => {
                dir.write("mended.ad", text.as_bytes())?;
                let ran = tests::run(ADC, &dir.0, &["check", "mended.ad"]);
                if ran.status != 0 {
                    return Err(format!("{code}: the mended program is wrong\n{}", ran.stderr));
                }
            }
            _ => return Err(format!("{code}: a block is marked `{info}`")),
        }
    }
    match (shown, WITHOUT_EXAMPLE.contains(&code)) {
        (true, false) | (false, true) => Ok(()),
        (false, false) => Err(format!("{code}: the page shows no example")),
        (true, true) => Err(format!("{code}: is not without an example any more")),
    }
}

/// A code is known by its number.
#[test]
fn codes_may_be_written_short() {
    let page = cli::explain::page("E0401");
    assert!(page.is_some());
    assert!(["e0401", "401", "E401", "0401"].iter().all(|code| cli::explain::page(code) == page));
    assert!(["E9401", "", "E", "-401", "x401"].iter().all(|code| cli::explain::page(code).is_none()));
}

#[test]
fn every_code_has_a_page_and_no_page_is_left_over() {
    let codes: BTreeSet<&str> = cli::codes::all().into_iter().collect();
    let pages: BTreeSet<&str> = cli::explain::PAGES.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, pages);
    let files: BTreeSet<String> = tests::files(&tests::root().join("docs/errors"), "md")
        .iter()
        .map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    assert_eq!(files, pages.iter().map(|code| code.to_string()).collect());
}

#[test]
fn the_example_of_every_page_shows_its_error() {
    let complaints = tests::all(cli::explain::PAGES, |(code, page)| check(code, page));
    tests::report(complaints, cli::explain::PAGES.len());
}

/// Codes that no file of `tests/ui` shows: what is too deep is made by `ui.rs`, the rest has no short program.
const WITHOUT_CASE: &[&str] = &["E0108", "E0310", "E0799"];

#[test]
fn every_code_has_a_ui_case() {
    let shown: String = tests::files(&tests::root().join("tests/ui"), "expected")
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap_or_default())
        .collect();
    let missing: Vec<&str> = cli::codes::all()
        .into_iter()
        .filter(|code| shown.contains(&format!("[{code}] ")) == WITHOUT_CASE.contains(code))
        .collect();
    assert!(missing.is_empty(), "in no ui case, or in one although listed here: {missing:?}");
}
