//! Where the time goes: time by stage, for `--timings`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static ON: AtomicBool = AtomicBool::new(false);
static STAGES: Mutex<Vec<(&str, Duration)>> = Mutex::new(vec![]);

/// From here on stages are timed.
pub fn switch_on() {
    ON.store(true, Ordering::Relaxed);
}

/// Does a stage.
pub fn stage<T>(name: &'static str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = work();
    if ON.load(Ordering::Relaxed)
        && let Ok(mut stages) = STAGES.lock()
    {
        stages.push((name, start.elapsed()));
    }
    value
}

/// A line per stage, in the order in which they ended; empty when stages are not timed.
pub fn table() -> String {
    let stages = STAGES.lock().map(|mut s| std::mem::take(&mut *s)).unwrap_or_default();
    let line = |name: &str, time: &Duration| format!("{name:<28} {:>9.3} ms\n", time.as_secs_f64() * 1e3);
    let total: Duration = stages.iter().map(|(_, time)| time).sum();
    let mut lines: String = stages.iter().map(|(name, time)| line(name, time)).collect();
    if !stages.is_empty() {
        lines += &line("all stages", &total);
    }
    lines
}
