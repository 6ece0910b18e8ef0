//! Any text whatever: the lexer, the parser, the formatter and the checker answer, within time and memory, and what they say can be shown.
//! Texts are mutations of the repository's own files and sentences of a rough grammar, from a seed.
//!
//! `ADC_FUZZ=200000` tries so many; `ADC_FUZZ_SEED=k` starts at another seed. `./x fuzz` runs this and random programs through the whole pipeline. A
//! failing text is shrunk and left in a file, whose path is printed.

mod mutate;
mod sentences;
mod work;

use proofs::rng::Rng;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use work::{Fault, examine};

/// How many texts, when nothing else is asked for.
const USUAL: u64 = 5000;

/// A text that has not been answered after so long by the clock hangs: the process ends, since nothing else can stop it.
const HANGS: Duration = Duration::from_secs(60);

fn variable(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(otherwise)
}

/// The text of a seed.
fn text(seed: u64, corpus: &[String]) -> String {
    let mut rng = Rng::new(seed);
    if rng.chance(1, 4) {
        return sentences::file(&mut rng);
    }
    let mut text = mutate::excerpt(&mut rng, corpus);
    for _ in 0..rng.int(1, 5) {
        text = mutate::mutated(&mut rng, &text, corpus);
    }
    text
}

/// The file that a failing text is left in.
fn left(seed: u64, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("adc-robust-{seed}.ad"));
    let _ = std::fs::write(&path, text);
    path
}

/// Pieces are left out, halves of lines and then of characters, as long as the fault stays the same.
fn shrunk(text: String, fault: &Fault) -> String {
    let mut pieces: Vec<String> = text.split_inclusive('\n').map(str::to_string).collect();
    for finer in [false, true] {
        if finer {
            pieces = pieces.concat().chars().map(String::from).collect();
        }
        let mut size = pieces.len().div_ceil(2).min(256);
        let mut tries = 2000;
        while size > 0 && tries > 0 {
            let mut start = 0;
            while start < pieces.len() && tries > 0 {
                let end = (start + size).min(pieces.len());
                let rest: Vec<String> = [&pieces[..start], &pieces[end..]].concat();
                tries -= 1;
                match examine(&rest.concat()) {
                    Err(same) if same.kind == fault.kind => pieces = rest,
                    Ok(()) | Err(_) => start = end,
                }
            }
            size /= 2;
        }
    }
    pieces.concat()
}

#[test]
fn every_text_is_answered() {
    let (count, first) = (variable("ADC_FUZZ", USUAL), variable("ADC_FUZZ_SEED", 1));
    let corpus = mutate::corpus();
    assert!(corpus.len() > 100, "the repository has .ad files");
    // The text being examined, since when.
    static NOW: Mutex<Option<(u64, Instant, String)>> = Mutex::new(None);
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            if let Ok(now) = NOW.lock()
                && let Some((seed, since, text)) = &*now
                && since.elapsed() > HANGS
            {
                eprintln!("seed {seed} hangs: {}", left(*seed, text).display());
                std::process::exit(101);
            }
        }
    });
    let mut faults: Vec<(u64, Fault, PathBuf)> = vec![];
    let ran = cli::guard::run(|| {
        for seed in first..first + count {
            let text = text(seed, &corpus);
            *NOW.lock().expect("not poisoned") = Some((seed, Instant::now(), text.clone()));
            let Err(fault) = examine(&text) else { continue };
            if faults.iter().any(|(_, known, _)| known.kind == fault.kind) {
                continue;
            }
            *NOW.lock().expect("not poisoned") = None;
            let small = shrunk(text, &fault);
            faults.push((seed, fault, left(seed, &small)));
        }
        Ok(())
    });
    // The guard keeps panics to itself; that of a failing test is for people.
    drop(std::panic::take_hook());
    assert!(ran.is_ok(), "{ran:?}");
    let lines = faults.iter().map(|(seed, fault, path)| format!("seed {seed}: {fault}: {}", path.display()));
    let lines: Vec<String> = lines.collect();
    assert!(lines.is_empty(), "{} kinds of faults\n{}", lines.len(), lines.join("\n"));
}
