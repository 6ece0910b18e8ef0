//! Where the time goes: processor time by stage, for `--timings` and benchmarks.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static ON: AtomicBool = AtomicBool::new(false);
static STAGES: Mutex<Vec<(&str, Duration)>> = Mutex::new(vec![]);

/// From here on stages are timed.
pub fn switch_on() {
    ON.store(true, Ordering::Relaxed);
}

/// Whether this adc is an optimised build.
pub const OPTIMISED: bool = !cfg!(debug_assertions);

/// The processor time that all threads of this process have used.
pub fn used() -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the time to the place it is given.
    match unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) } {
        0 => Duration::new(t.tv_sec as u64, t.tv_nsec as u32),
        _ => Duration::ZERO,
    }
}

/// Does a stage.
pub fn stage<T>(name: &'static str, work: impl FnOnce() -> T) -> T {
    steps(|done| {
        let value = work();
        done(name);
        value
    })
}

/// Does work of several stages, which says after each which it was.
pub fn steps<T>(work: impl FnOnce(&mut dyn FnMut(&'static str)) -> T) -> T {
    let mut start = used();
    work(&mut |name| {
        let now = used();
        if ON.load(Ordering::Relaxed)
            && let Ok(mut stages) = STAGES.lock()
        {
            stages.push((name, now - start));
        }
        start = now;
    })
}

/// The stages timed since the last look, in the order in which they ended.
pub fn take() -> Vec<(&'static str, Duration)> {
    STAGES.lock().map(|mut stages| std::mem::take(&mut *stages)).unwrap_or_default()
}

/// A line per stage; empty when stages are not timed.
pub fn table() -> String {
    let stages = take();
    let line = |name: &str, time: &Duration| format!("{name:<28} {:>9.3} ms\n", time.as_secs_f64() * 1e3);
    let total: Duration = stages.iter().map(|(_, time)| time).sum();
    let mut lines: String = stages.iter().map(|(name, time)| line(name, time)).collect();
    if !stages.is_empty() {
        lines += &line("all stages", &total);
    }
    lines
}
