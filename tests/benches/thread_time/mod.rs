//! Processor time as what criterion measures.

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use std::time::Duration;

/// What this thread has used; other programs on the machine disturb it less than time by the clock.
pub fn thread_time() -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the time to the place it is given.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    assert_eq!(status, 0, "this system has no such clock");
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Criterion's figures in processor time of the thread.
pub struct ThreadTime;

impl Measurement for ThreadTime {
    type Intermediate = Duration;
    type Value = Duration;
    fn start(&self) -> Duration {
        thread_time()
    }
    fn end(&self, start: Duration) -> Duration {
        thread_time() - start
    }
    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }
    fn zero(&self) -> Duration {
        Duration::ZERO
    }
    fn to_f64(&self, value: &Duration) -> f64 {
        WallTime.to_f64(value)
    }
    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}
