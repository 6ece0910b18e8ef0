//! The memory of a compiler process.

use libmimalloc_sys::{mi_option_set_default, mi_option_t};

/// For binaries to name as their global allocator: the compiler makes many small things that live for a short time. (Programs it compiles
/// use the C library's memory.)
pub use mimalloc::MiMalloc as Allocator;

/// `mi_option_purge_delay` of mimalloc.h.
const PURGE_DELAY: mi_option_t = 15;

/// Says at the start of a process that what is freed goes back to the system after a second, not after ten milliseconds: the next stage of a compilation
/// wants it, and a page that is fetched anew costs as much as filling it. `MIMALLOC_PURGE_DELAY` in the environment goes before.
pub fn keep_for_a_second() {
    // SAFETY: sets a number, where the environment has not.
    unsafe { mi_option_set_default(PURGE_DELAY, 1000) }
}
