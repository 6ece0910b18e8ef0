//! Harness of the tests that run the command `adc` from outside.

pub mod by_hand;
pub mod generated;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The repository.
pub fn root() -> PathBuf {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_dir.parent().unwrap_or(crate_dir).to_path_buf()
}

/// The engines that this build has.
pub const ENGINES: &[&str] =
    if cfg!(feature = "llvm") { &["eval", "loops", "jit"] } else { &["eval", "loops"] };

/// What a run of a command left.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the binary in a directory. `ADC` in the environment names another binary to test.
pub fn run(binary: &str, dir: &Path, args: &[impl AsRef<std::ffi::OsStr>]) -> Ran {
    let binary = std::env::var("ADC").unwrap_or_else(|_| binary.to_string());
    let output = Command::new(&binary)
        .args(args)
        .current_dir(dir)
        .env("NO_COLOR", "1")
        .env("ADC_CACHE", "off")
        .output();
    let Output { status, stdout, stderr } = output.unwrap_or_else(|e| panic!("cannot run {binary}: {e}"));
    Ran {
        status: status.code().unwrap_or_else(|| panic!("{binary} died of a signal: {status}")),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

/// The words of a command line: separated by blanks, single quotes keep them together.
pub fn words(line: &str) -> Vec<String> {
    let mut out: Vec<String> = vec![];
    let (mut word, mut quoted) = (None::<String>, false);
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !quoted => out.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word);
    out
}

/// The files of a directory with this extension, sorted.
pub fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap_or_else(|e| panic!("cannot read {}: {e}", dir.display()));
    let mut out: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    out.sort();
    out
}

/// The fenced blocks of a Markdown page: what stands after the fence, and the text.
pub fn blocks(page: &str) -> Vec<(&str, String)> {
    let (mut out, mut open): (Vec<(&str, String)>, bool) = (vec![], false);
    for line in page.lines() {
        match (line.strip_prefix("```"), open) {
            (Some(info), false) => {
                out.push((info, String::new()));
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => {
                let (_, text) = out.last_mut().expect("a block is open");
                *text += &format!("{line}\n");
            }
            (None, false) => {}
        }
    }
    out
}

/// A new directory under the system's temporary one, removed with all that is in it when this is dropped.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Result<Scratch, String> {
        let dir = std::env::temp_dir().join(format!("adc-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        Ok(Scratch(dir))
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        std::fs::write(self.0.join(name), bytes).map_err(|e| format!("{name}: {e}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Is the text as expected? In what is expected, `…` stands for any text of a line, and a line `…` for any lines.
pub fn matches(expected: &str, found: &str) -> bool {
    let (expected, found): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    fn line(e: &str, f: &str) -> bool {
        match e.split_once('…') {
            None => e == f,
            Some((start, rest)) => f.strip_prefix(start).is_some_and(|f| {
                f.char_indices().map(|(i, _)| i).chain([f.len()]).any(|i| line(rest, &f[i..]))
            }),
        }
    }
    fn lines(e: &[&str], f: &[&str]) -> bool {
        match (e, f) {
            ([], _) => f.is_empty(),
            (["…", rest @ ..], _) => (0..=f.len()).any(|i| lines(rest, &f[i..])),
            ([first, rest @ ..], [g, more @ ..]) => line(first, g) && lines(rest, more),
            ([_, ..], []) => false,
        }
    }
    lines(&expected, &found)
}

/// Runs every job on a few threads and gives all complaints, in the order of the jobs.
pub fn all<J: Sync>(jobs: &[J], check: impl Fn(&J) -> Result<(), String> + Sync) -> Vec<String> {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get()).min(jobs.len().max(1));
    let next = std::sync::atomic::AtomicUsize::new(0);
    let mut complaints: Vec<(usize, String)> = std::thread::scope(|scope| {
        let work = || {
            let mut out = vec![];
            loop {
                let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                match jobs.get(i) {
                    None => return out,
                    Some(job) => out.extend(check(job).err().map(|complaint| (i, complaint))),
                }
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let finished = workers.into_iter().map(|w| w.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
        finished.flatten().collect()
    });
    complaints.sort();
    complaints.into_iter().map(|(_, complaint)| complaint).collect()
}

/// Fails the test with all complaints, if there are any.
pub fn report(complaints: Vec<String>, of: usize) {
    let text = complaints.join("\n\n");
    assert!(complaints.is_empty(), "{} of {of} failed:\n\n{text}", complaints.len());
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_split_at_blanks_outside_quotes() {
        let line = "adc run a.ad --args '{\"x\": 1}'  ''";
        assert_eq!(super::words(line), ["adc", "run", "a.ad", "--args", "{\"x\": 1}", ""]);
    }

    #[test]
    fn dots_stand_for_what_is_left_out() {
        assert!(super::matches("a\n…\nb = 1.5…\n", "a\nx\ny\nb = 1.5123\n"));
        assert!(super::matches("…\n", "") && super::matches("a…c", "abbc"));
        assert!(!super::matches("a\n", "a\nb\n") && !super::matches("a\nb\n", "a\n"));
        assert!(!super::matches("a\n…\nb\n", "a\nc\n") && !super::matches("b = 1.5…", "b = 1.4"));
    }
}
