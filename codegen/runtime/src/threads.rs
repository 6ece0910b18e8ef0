//! The parallel loops of libraries: a part of `support`, whose promises hold here too.

use super::{Chunk, Failure};
use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, Ordering};

unsafe extern "C" {
    fn sched_getaffinity(process: i32, size: usize, mask: *mut u64) -> i32;
    fn pthread_attr_init(attributes: *mut Attributes) -> i32;
    fn pthread_attr_setstacksize(attributes: *mut Attributes, size: usize) -> i32;
    fn pthread_attr_destroy(attributes: *mut Attributes) -> i32;
    fn pthread_create(
        thread: *mut usize,
        attributes: *const Attributes,
        start: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> i32;
    fn pthread_join(thread: usize, result: *mut *mut c_void) -> i32;
}

/// The chunks in order, on this thread. (The JIT puts a parallel one in its place where it has threads.)
///
/// # Safety
/// `body` is sound for chunks `0..chunks` of `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adc_parallel_for(
    chunks: i64,
    body: Chunk,
    context: *const c_void,
    failure: *mut Failure,
) -> i64 {
    let mut chunk = 0;
    while chunk < chunks {
        // SAFETY: the caller's promise.
        let status = unsafe { body(context, chunk, failure) };
        if status != 0 {
            return status;
        }
        chunk += 1;
    }
    0
}

/// So many chunks pay for a thread: one takes tens of microseconds, as a thread's beginning and end do.
const CHUNKS_PER_THREAD: i64 = 4;
const MOST_THREADS: i64 = 64;
/// What a recursion at its deepest needs (see `adc build` in the reference); only addresses until it is used.
const STACK: usize = 64 << 20;

/// `pthread_attr_t`, with room to spare.
#[repr(C, align(16))]
struct Attributes([u8; 128]);

/// A parallel loop as its threads share it.
struct Loop {
    body: Chunk,
    context: *const c_void,
    chunks: i64,
    next: AtomicI64,
    first_failed: AtomicI64,
}

/// A thread of a parallel loop, and the first chunk that failed there.
#[derive(Clone, Copy)]
struct Worker {
    shared: *const Loop,
    thread: usize,
    started: bool,
    failed: i64,
    status: i64,
    report: Failure,
}

/// Takes chunks until there are none.
extern "C" fn work(worker: *mut c_void) -> *mut c_void {
    // SAFETY: a worker is its thread's own until that is joined; what it shares outlives it.
    unsafe {
        let worker = &mut *worker.cast::<Worker>();
        let shared = &*worker.shared;
        loop {
            let chunk = shared.next.fetch_add(1, Ordering::Relaxed);
            // Chunks are taken in order, so that all before the first that failed are run.
            if chunk >= shared.chunks || chunk > shared.first_failed.load(Ordering::Relaxed) {
                return std::ptr::null_mut();
            }
            let mut report = Failure::default();
            let status = (shared.body)(shared.context, chunk, &mut report);
            if status != 0 {
                shared.first_failed.fetch_min(chunk, Ordering::Relaxed);
                if chunk < worker.failed {
                    (worker.failed, worker.status, worker.report) = (chunk, status, report);
                }
            }
        }
    }
}

/// The processors that this process may use.
fn processors() -> i64 {
    let mut mask = [0u64; 16];
    // SAFETY: the call fills the mask, as long as it is said to be.
    match unsafe { sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr()) } {
        0 => mask.iter().map(|word| i64::from(word.count_ones())).sum(),
        _ => 1,
    }
}

/// The chunks on as many threads (0: as the process may use), or fewer where that is not worth while: what libraries call. The status is 0, or that of the
/// first chunk in order that failed, whose report is then in `failure`: it does not depend on the number of threads.
///
/// # Safety
/// `body` is sound for chunks `0..chunks` of `context`, on any thread, at the same time; `failure` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adc_threads_for(
    threads: i64,
    chunks: i64,
    body: Chunk,
    context: *const c_void,
    failure: *mut Failure,
) -> i64 {
    let worth = (chunks / CHUNKS_PER_THREAD).min(MOST_THREADS);
    let threads = match threads {
        _ if worth < 2 => 1,
        0 => processors().min(worth),
        n => n.min(worth),
    };
    if threads < 2 {
        // SAFETY: the caller's promise.
        return unsafe { adc_parallel_for(chunks, body, context, failure) };
    }
    let (next, first_failed) = (AtomicI64::new(0), AtomicI64::new(i64::MAX));
    let shared = Loop { body, context, chunks, next, first_failed };
    let idle = Worker {
        shared: &shared,
        thread: 0,
        started: false,
        failed: i64::MAX,
        status: 0,
        report: Failure::default(),
    };
    let mut workers = [idle; MOST_THREADS as usize];
    let (mut first, used) = (i64::MAX, threads as usize);
    let mut status = 0;
    // SAFETY: each worker is this thread's, its own thread's while that runs, and this thread's again.
    unsafe {
        let all = workers.as_mut_ptr();
        let mut attributes = Attributes([0; 128]);
        pthread_attr_init(&mut attributes);
        pthread_attr_setstacksize(&mut attributes, STACK);
        let mut k = 1;
        while k < used {
            let worker = all.wrapping_add(k);
            // What no thread can be had for, the others do.
            let begun = pthread_create(&raw mut (*worker).thread, &attributes, work, worker.cast());
            (*worker).started = begun == 0;
            k += 1;
        }
        pthread_attr_destroy(&mut attributes);
        work(all.cast());
        k = 0;
        while k < used {
            let worker = all.wrapping_add(k);
            if (*worker).started {
                pthread_join((*worker).thread, std::ptr::null_mut());
            }
            if (*worker).failed < first {
                (first, status) = ((*worker).failed, (*worker).status);
                *failure = (*worker).report;
            }
            k += 1;
        }
    }
    status
}
