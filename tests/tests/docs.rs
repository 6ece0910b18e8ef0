//! What the documentation shows is so. In README.md and docs/ (without the pages of errors, which explain.rs runs) every block ```ad NAME is a
//! file NAME, and in every block ```console each line `$ adc …` or `$ ./x run …` is run and what stands below it compared with what it prints, `…`
//! standing for what is left out. Commands run in a directory of their own per page, with the page's files, `examples/` and nothing else.
//! The pages show native code, so without LLVM there is nothing to compare with. `ADC_BLESS=1` writes what is printed into the pages; shorten
//! it again before it is committed.
#![cfg(feature = "llvm")]

use std::path::{Path, PathBuf};
use tests::Scratch;

const ADC: &str = env!("CARGO_BIN_EXE_adc-under-test");

fn pages() -> Vec<PathBuf> {
    let root = tests::root();
    let mut pages = vec![root.join("README.md")];
    for dir in ["docs", "docs/reference"] {
        pages.extend(tests::files(&root.join(dir), "md"));
    }
    pages
}

/// Directories are copied: what a command writes next to a file stays here.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let (path, to) = (entry?.path(), to);
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() { copy(&path, &target)? } else { std::fs::copy(&path, &target).map(drop)? }
    }
    Ok(())
}

/// The words after `adc` of a command that can be run here.
fn arguments(line: &str) -> Result<Vec<String>, String> {
    match line.strip_prefix("adc ").or_else(|| line.starts_with("./x run ").then(|| &line["./x ".len()..])) {
        Some(rest) => Ok(tests::words(rest)),
        None => Err(format!("`{line}` is not a command that this test can run")),
    }
}

/// Runs the commands of one block. Gives the block as it should be, and complaints where it is not.
fn console(text: &str, dir: &Path) -> Result<(String, Vec<String>), String> {
    let mut commands: Vec<(String, String)> = vec![];
    for line in text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.into(), String::new())),
            (None, Some((_, output))) => *output += &format!("{line}\n"),
            (None, None) => return Err(format!("a block begins with `{line}`, not with a command")),
        }
    }
    let (mut block, mut complaints) = (String::new(), vec![]);
    for (command, expected) in commands {
        let ran = tests::run(ADC, dir, &arguments(&command)?);
        let found = format!("{}{}", ran.stdout, ran.stderr);
        let holds = tests::matches(&expected, &found);
        if !holds || ran.status != i32::from(expected.contains("[E")) {
            complaints
                .push(format!("$ {command}\nstatus {}, expected\n{expected}found\n{found}", ran.status));
        }
        let end = if found.is_empty() || found.ends_with('\n') { "" } else { "\n" };
        block += &format!("$ {command}\n{}", if holds { expected } else { found + end });
    }
    Ok((block, complaints))
}

/// Runs a program in Python, where there is one.
fn python(text: &str, dir: &Path) -> Option<String> {
    let ran = std::process::Command::new("python3").args(["-c", text]).current_dir(dir).output().ok()?;
    (!ran.status.success()).then(|| format!("{text}{}", String::from_utf8_lossy(&ran.stderr)))
}

fn check(path: &Path) -> Result<(), String> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let page = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let dir = Scratch::new(&format!("docs-{name}"))?;
    copy(&tests::root().join("examples"), &dir.0.join("examples")).map_err(|e| e.to_string())?;
    let (mut complaints, mut blessed) = (vec![], page.clone());
    for (info, text) in tests::blocks(&page) {
        match info.split_whitespace().collect::<Vec<_>>()[..] {
            ["ad", file] => dir.write(file, text.as_bytes())?,
            ["console"] => {
                let (block, more) = console(&text, &dir.0)?;
                blessed =
                    blessed.replace(&format!("```console\n{text}```"), &format!("```console\n{block}```"));
                complaints.extend(more);
            }
            ["python"] => complaints.extend(python(&text, &dir.0)),
            // A piece of a program, other languages, formulas.
            ["ad"] | ["text"] | ["sh"] | ["rust"] | ["c"] => {}
            _ => return Err(format!("{name}: a block is marked `{info}`")),
        }
    }
    if std::env::var_os("ADC_BLESS").is_some() {
        return std::fs::write(path, blessed).map_err(|e| e.to_string());
    }
    if complaints.is_empty() { Ok(()) } else { Err(format!("{name}: {}", complaints.join("\n"))) }
}

/// The files that a page names in backticks, by their path in the repository or from the page.
fn files_named(page: &str) -> Vec<&str> {
    let is_path = |text: &&str| {
        let named = [".rs", ".md", ".ad"].iter().any(|end| text.ends_with(end));
        named && text.contains('/') && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
    };
    page.split('`').skip(1).step_by(2).filter(is_path).collect()
}

#[test]
fn the_files_that_the_pages_name_exist() {
    let mut count = 0;
    for path in pages() {
        let page = std::fs::read_to_string(&path).expect("pages are listed from the disk");
        for name in files_named(&page) {
            let near = path.parent().unwrap_or(Path::new(".")).join(name);
            assert!(near.exists() || tests::root().join(name).exists(), "{}: `{name}`", path.display());
            count += 1;
        }
    }
    assert!(count > 20);
}

#[test]
fn what_the_pages_show_is_so() {
    let pages = pages();
    tests::report(tests::all(&pages, |path| check(path)), pages.len());
}
