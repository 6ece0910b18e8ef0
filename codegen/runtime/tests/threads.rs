//! The parallel loops of libraries.

use runtime::Failure;
use runtime::support::adc_threads_for;
use std::collections::HashSet;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::ThreadId;

#[derive(Default)]
struct Seen {
    chunks: Mutex<Vec<i64>>,
    threads: Mutex<HashSet<ThreadId>>,
    here: AtomicUsize,
    /// So many must be in the loop at once before one goes on.
    together: usize,
    fails: Vec<i64>,
}

unsafe extern "C" fn chunk(seen: *const c_void, chunk: i64, failure: *mut Failure) -> i64 {
    let seen = unsafe { &*seen.cast::<Seen>() };
    seen.chunks.lock().unwrap().push(chunk);
    seen.threads.lock().unwrap().insert(std::thread::current().id());
    seen.here.fetch_add(1, SeqCst);
    while seen.here.load(SeqCst) < seen.together {
        std::thread::yield_now();
    }
    if seen.fails.contains(&chunk) {
        unsafe { *failure = Failure { failure: chunk, details: [7; 4] } };
        return chunk + 1;
    }
    0
}

fn run(threads: i64, chunks: i64, seen: &Seen) -> (i64, Failure) {
    let mut failure = Failure::default();
    let status = unsafe { adc_threads_for(threads, chunks, chunk, (&raw const *seen).cast(), &mut failure) };
    (status, failure)
}

#[test]
fn every_chunk_is_run_once() {
    for threads in [0, 1, 2, 3, 100] {
        for chunks in [0, 1, 7, 8, 9, 1000] {
            let seen = Seen::default();
            assert_eq!(run(threads, chunks, &seen).0, 0);
            let mut all = seen.chunks.into_inner().unwrap();
            all.sort();
            assert_eq!(all, (0..chunks).collect::<Vec<_>>(), "{threads} threads");
        }
    }
}

#[test]
fn chunks_run_at_the_same_time() {
    // With less than three threads none of the first three would go on.
    let seen = Seen { together: 3, ..Seen::default() };
    run(3, 12, &seen);
    assert_eq!(seen.threads.into_inner().unwrap().len(), 3);
    let few = Seen::default();
    run(3, 7, &few);
    assert_eq!(few.threads.into_inner().unwrap().len(), 1, "what is short stays on its thread");
}

#[test]
fn the_first_failure_is_reported() {
    for threads in [1, 2, 8] {
        for _ in 0..50 {
            let seen = Seen { fails: vec![90, 41, 40, 99], ..Seen::default() };
            let (status, failure) = run(threads, 100, &seen);
            assert_eq!((status, failure.failure, failure.details), (41, 40, [7; 4]), "{threads} threads");
        }
    }
}
