//! Deep recursion without overflow. Terms are trees of any depth and most of the compiler is recursive; it runs on a
//! thread whose stack is large (reserved address space, touched only as far as it is used) and can ask how much is left.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

/// Tried in this order: a machine that overcommits nothing may refuse the first.
pub const SIZES: [usize; 4] = [4 << 30, 1 << 30, 256 << 20, 64 << 20];

/// What must remain below the mark at which [`low`] says so.
const RESERVE: usize = 2 << 20;

thread_local! {
    /// The address below which this thread's stack counts as used up; 0 on a thread whose stack is not big.
    static FLOOR: Cell<usize> = const { Cell::new(0) };
}

fn here() -> usize {
    let mark = 0u8;
    std::hint::black_box(&raw const mark) as usize
}

/// Runs f on a big stack and gives its result; a panic of f passes through. On a big stack already, just runs f.
pub fn run<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    if FLOOR.get() != 0 { f() } else { on_new_stack(&SIZES, f) }
}

fn on_new_stack<R: Send>(sizes: &[usize], f: impl FnOnce() -> R + Send) -> R {
    let slot = Mutex::new(Some(f));
    let take = &|| slot.lock().unwrap_or_else(PoisonError::into_inner).take().expect("taken once");
    std::thread::scope(|scope| {
        for &size in sizes {
            let body = move || {
                adopt(size);
                take()()
            };
            if let Ok(thread) = std::thread::Builder::new().stack_size(size).spawn_scoped(scope, body) {
                return thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        }
        take()()
    })
}

/// Makes the stack of this thread count as big, at the thread's beginning: for threads of a pool that have been given so large a one.
pub fn adopt(size: usize) {
    FLOOR.set(here().saturating_sub(size - RESERVE));
}

/// Is the big stack nearly used up? Recursions without a limit of their own ask at each step and stop with an error.
/// Always false on a thread whose stack is not big.
pub fn low() -> bool {
    here() < FLOOR.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_frames_fit() {
        fn deep(k: u64) -> u64 {
            if k == 0 { 0 } else { std::hint::black_box(deep(k - 1)) + 1 }
        }
        assert_eq!(run(|| deep(1_000_000)), 1_000_000);
    }

    #[test]
    fn endless_recursion_is_noticed() {
        fn endless(k: u64) -> u64 {
            if low() { k } else { std::hint::black_box(endless(k + 1)) }
        }
        assert!(!low(), "nothing is known of a thread that run did not start");
        assert!(on_new_stack(&[32 << 20], || endless(0)) > 100_000);
    }

    #[test]
    #[should_panic(expected = "from below")]
    fn panics_pass_through() {
        run(|| panic!("from below"))
    }
}
