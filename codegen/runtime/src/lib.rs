//! What generated code calls: memory, parallel loops, products of matrices, sorting, special functions. Knows no compiler crate.
//!
//! [`support`] is everything that also goes into libraries for C; here are the parallel loops and the large products of the JIT.

mod product;
pub mod support;

use rayon::prelude::*;
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

pub use product::{product, product_of_singles};
pub use support::{Chunk, Failure, OUT_OF_MEMORY};

thread_local! {
    /// The pool that parallel loops started on this thread run in; null: rayon's own.
    static POOL: Cell<*const rayon::ThreadPool> = const { Cell::new(std::ptr::null()) };
}

/// Runs `call` with the parallel loops that it starts on this thread in `pool`.
pub fn in_pool<R>(pool: Option<&rayon::ThreadPool>, call: impl FnOnce() -> R) -> R {
    struct Restore(*const rayon::ThreadPool);
    impl Drop for Restore {
        fn drop(&mut self) {
            POOL.set(self.0);
        }
    }
    let _restore = Restore(POOL.replace(pool.map_or(std::ptr::null(), |p| p)));
    call()
}

/// Runs chunks `0..chunks`, at the same time where there are threads. The status is 0, or that of the first chunk in order that failed,
/// whose report is then in `failure`: it does not depend on the number of threads.
///
/// # Safety
/// `body` is sound for chunks `0..chunks` of `context`, on any thread, at the same time; `failure` is valid.
pub unsafe extern "C" fn parallel_for(
    chunks: i64,
    body: Chunk,
    context: *const c_void,
    failure: *mut Failure,
) -> i64 {
    struct Shared(*const c_void);
    // SAFETY: the caller's promise: chunks may share the context.
    unsafe impl Sync for Shared {}
    impl Shared {
        fn context(&self) -> *const c_void {
            self.0
        }
    }
    let context = Shared(context);
    let first_failed = AtomicI64::new(i64::MAX);
    let worst: Mutex<Option<(i64, i64, Failure)>> = Mutex::new(None);
    let run = || {
        (0..chunks.max(0) as usize).into_par_iter().with_max_len(1).for_each(|chunk| {
            let chunk = chunk as i64;
            if chunk > first_failed.load(Ordering::Relaxed) {
                return;
            }
            let mut report = Failure::default();
            // SAFETY: the caller's promise.
            let status = unsafe { body(context.context(), chunk, &mut report) };
            if status != 0 {
                first_failed.fetch_min(chunk, Ordering::Relaxed);
                let mut worst = worst.lock().unwrap_or_else(|e| e.into_inner());
                if worst.as_ref().is_none_or(|(c, ..)| chunk < *c) {
                    *worst = Some((chunk, status, report));
                }
            }
        });
    };
    let pool = POOL.get();
    if pool.is_null() {
        run();
    } else {
        // SAFETY: in_pool holds a borrow of the pool while the thread-local names it.
        unsafe { (*pool).install(run) };
    }
    match worst.into_inner().unwrap_or_else(|e| e.into_inner()) {
        None => 0,
        Some((_, status, report)) => {
            // SAFETY: the caller's promise.
            unsafe { *failure = report };
            status
        }
    }
}
