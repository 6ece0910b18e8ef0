//! Compiled code that is kept: found again by the same program, and by no other; damage and other options do no harm.
#![cfg(feature = "llvm")]

use std::fs;
use std::path::Path;
use std::process::Command;
use tests::Scratch;

const PROGRAM: &str = "def f (x : real) : real =\n  x * x + sin x\n";

/// Runs `adc grad` with the cache in a directory: whether it compiled, and what it printed.
fn grad(dir: &Path, cache: &str, options: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adc-under-test"));
    command.current_dir(dir).env("ADC_CACHE", cache);
    command.args(["grad", "a.ad", "f", "--args", r#"{"x": 2}"#, "--timings"]).args(options);
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    (stderr.contains("machine code"), String::from_utf8(output.stdout).unwrap())
}

fn entries(dir: &Path) -> Vec<std::path::PathBuf> {
    fs::read_dir(dir.join("kept")).into_iter().flatten().map(|e| e.unwrap().path()).collect()
}

#[test]
fn a_program_is_compiled_once() {
    let dir = Scratch::new("cache-once").unwrap();
    dir.write("a.ad", PROGRAM.as_bytes()).unwrap();
    let (compiled, result) = grad(&dir.0, "kept", &[]);
    assert!(compiled);
    // d(x² + sin x) at 2 is 4 + cos 2.
    let value: f64 = result.trim().parse().unwrap();
    assert!((value - 3.583_853_163_452_857_6).abs() < 1e-12, "{value}");
    assert_eq!(grad(&dir.0, "kept", &[]), (false, result.clone()));
    assert_eq!(entries(&dir.0).len(), 1);
    // What does not change the code does not change the entry.
    dir.write("a.ad", format!("-- A comment.\n{PROGRAM}").as_bytes()).unwrap();
    assert_eq!(grad(&dir.0, "kept", &[]), (false, result.clone()));
    // Another program, other options.
    dir.write("a.ad", PROGRAM.replace("x * x", "x * x * x").as_bytes()).unwrap();
    assert!(grad(&dir.0, "kept", &[]).0);
    assert!(grad(&dir.0, "kept", &["--strict"]).0);
    assert!(!grad(&dir.0, "kept", &["--strict"]).0);
    let (compiled, single) = grad(&dir.0, "kept", &["--real", "f32"]);
    assert!(compiled && single.len() < result.len(), "{single}");
    assert_eq!(grad(&dir.0, "kept", &["--real", "f32"]), (false, single));
    assert_eq!(entries(&dir.0).len(), 4);
}

#[test]
fn nothing_is_kept_where_it_is_not_wanted() {
    let dir = Scratch::new("cache-off").unwrap();
    dir.write("a.ad", PROGRAM.as_bytes()).unwrap();
    assert!(grad(&dir.0, "off", &[]).0);
    assert!(grad(&dir.0, "kept", &["--no-cache"]).0);
    assert_eq!(entries(&dir.0).len(), 0);
    assert!(!dir.0.join("off").exists());
    // A cache that cannot be written is as none.
    dir.write("file", b"").unwrap();
    assert!(grad(&dir.0, "file", &[]).0);
}

#[test]
fn a_damaged_entry_is_made_again() {
    let dir = Scratch::new("cache-damage").unwrap();
    dir.write("a.ad", PROGRAM.as_bytes()).unwrap();
    let (_, result) = grad(&dir.0, "kept", &[]);
    let path = entries(&dir.0).remove(0);
    let whole = fs::read(&path).unwrap();
    for at in [0, 30, 50, 200, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(grad(&dir.0, "kept", &[]), (true, result.clone()));
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
    fs::write(&path, &whole[..100]).unwrap();
    assert_eq!(grad(&dir.0, "kept", &[]), (true, result.clone()));
    assert_eq!(grad(&dir.0, "kept", &[]), (false, result));
}

#[test]
fn processes_side_by_side_share_the_cache() {
    let dir = Scratch::new("cache-shared").unwrap();
    dir.write("a.ad", PROGRAM.as_bytes()).unwrap();
    let results: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..6).map(|_| scope.spawn(|| grad(&dir.0, "kept", &[]).1)).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert!(results.iter().all(|r| *r == results[0]), "{results:?}");
    assert_eq!(entries(&dir.0).len(), 1);
}
