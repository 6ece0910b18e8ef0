//! The part of the runtime that also goes into libraries built for C: no panic, no allocation but malloc's, nothing from
//! outside but the C library. `codegen`'s build script compiles this very file, with the two it names, to an object that is linked into every `.so`;
//! inside `adc` it is an ordinary module. Every function is called by generated code only, which keeps the stated promises.

// Some of its functions are single instructions here.
#[allow(dead_code)]
#[path = "../../../lang/src/prim/special_fn.rs"]
mod special_fn;
#[path = "threads.rs"]
mod threads;

pub use threads::{adc_parallel_for, adc_threads_for};

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// What a failed call leaves behind: the failure's number in its procedure, and its details.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    pub failure: i64,
    pub details: [i64; 4],
}

/// One chunk of a parallel loop: (context, chunk number, where to report) → status.
pub type Chunk = unsafe extern "C" fn(*const c_void, i64, *mut Failure) -> i64;

/// The status of a call that ran out of memory.
pub const OUT_OF_MEMORY: i64 = -1;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(p: *mut c_void);
}

/// Memory that lives until a call (or a loop's iteration) ends: a chain of blocks, filled in order. All zero is the empty arena.
#[repr(C)]
pub struct Arena {
    first: *mut Block,
    current: *mut Block,
    used: usize,
}

#[repr(C)]
struct Block {
    next: *mut Block,
    data: *mut u8,
    size: usize,
}

const ALIGN: usize = 64;
const FIRST_BLOCK: usize = 1 << 16;

/// `bytes` fresh bytes at a multiple of 64, or null.
///
/// # Safety
/// `arena` is a valid arena that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adc_arena_alloc(arena: *mut Arena, bytes: usize) -> *mut u8 {
    // SAFETY: blocks form a list that ends in null; each block's data has room for its size.
    unsafe { bump(&mut *arena, bytes, ALIGN) }
}

/// The next bytes of an arena, a multiple of `align` of them.
///
/// # Safety
/// As [`adc_arena_alloc`].
unsafe fn bump(arena: &mut Arena, bytes: usize, align: usize) -> *mut u8 {
    // SAFETY: blocks form a list that ends in null; each block's data has room for its size.
    unsafe {
        if bytes > isize::MAX as usize / 4 {
            return std::ptr::null_mut();
        }
        let bytes = (bytes + align - 1) & !(align - 1);
        if arena.current.is_null() {
            // Empty again, perhaps: its blocks are still there.
            arena.current = arena.first;
            arena.used = 0;
        }
        let mut last_size = FIRST_BLOCK / 2;
        while !arena.current.is_null() {
            let block = &*arena.current;
            if block.size - arena.used >= bytes {
                let p = block.data.wrapping_add(arena.used);
                arena.used += bytes;
                return p;
            }
            last_size = block.size;
            if block.next.is_null() {
                break;
            }
            arena.current = block.next;
            arena.used = 0;
        }
        let doubled = last_size.wrapping_mul(2);
        let size = if bytes > doubled { bytes } else { doubled };
        let mut block = spare(size);
        if block.is_null() {
            block = fresh(size);
        }
        if block.is_null() {
            return std::ptr::null_mut();
        }
        let data = (*block).data;
        if arena.current.is_null() {
            arena.first = block;
        } else {
            (*arena.current).next = block;
        }
        arena.current = block;
        arena.used = bytes;
        data
    }
}

/// A block from malloc, or null.
///
/// # Safety
/// None that the caller has to see to: the block is the caller's.
unsafe fn fresh(size: usize) -> *mut Block {
    // SAFETY: the header and the data, aligned, lie in what malloc gives.
    unsafe {
        let header = size_of::<Block>();
        let block = malloc(header + ALIGN + size) as *mut Block;
        if !block.is_null() {
            let start = (block as usize + header + ALIGN - 1) & !(ALIGN - 1);
            let data = (block as *mut u8).wrapping_add(start - block as usize);
            *block = Block { next: std::ptr::null_mut(), data, size };
        }
        block
    }
}

/// Large blocks of calls that have ended: malloc gives such memory back to the system, and the next call would have to wait for every page
/// of it again.
static SPARE: [AtomicPtr<Block>; 8] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 8];
/// Their bytes.
static SPARE_BYTES: AtomicUsize = AtomicUsize::new(0);
/// What smaller blocks cost is little, and of larger ones (64 MiB in all) the work done in them is more.
const LARGE: usize = 1 << 17;
const MOST_SPARE: usize = 1 << 26;

/// A block kept of a size like this or larger, or null.
///
/// # Safety
/// As [`fresh`].
unsafe fn spare(size: usize) -> *mut Block {
    if size < LARGE {
        return std::ptr::null_mut();
    }
    for slot in &SPARE {
        let block = slot.swap(std::ptr::null_mut(), Ordering::Acquire);
        if block.is_null() {
            continue;
        }
        // SAFETY: what was in the slot belongs to this thread alone now.
        unsafe {
            SPARE_BYTES.fetch_sub((*block).size, Ordering::Relaxed);
            if (*block).size >= size && (*block).size / 4 <= size {
                (*block).next = std::ptr::null_mut();
                return block;
            }
            give_back(block);
        }
    }
    std::ptr::null_mut()
}

/// The end of a block: kept, or freed.
///
/// # Safety
/// The block is the caller's, and nobody uses it again.
unsafe fn give_back(block: *mut Block) {
    // SAFETY: the caller's promise; every block came from malloc.
    unsafe {
        let size = (*block).size;
        if size >= LARGE {
            if SPARE_BYTES.fetch_add(size, Ordering::Relaxed).wrapping_add(size) <= MOST_SPARE {
                for slot in &SPARE {
                    let none = std::ptr::null_mut();
                    if slot.compare_exchange(none, block, Ordering::Release, Ordering::Relaxed).is_ok() {
                        return;
                    }
                }
            }
            SPARE_BYTES.fetch_sub(size, Ordering::Relaxed);
        }
        free(block as *mut c_void);
    }
}

/// Gives what is kept back to malloc: when a library is unloaded, at the end of the process, or to measure.
#[unsafe(export_name = "adc_free_spare")]
pub extern "C" fn free_spare() {
    for slot in &SPARE {
        let block = slot.swap(std::ptr::null_mut(), Ordering::Acquire);
        if !block.is_null() {
            // SAFETY: what was in the slot belongs to this thread alone now.
            unsafe {
                SPARE_BYTES.fetch_sub((*block).size, Ordering::Relaxed);
                free(block as *mut c_void);
            }
        }
    }
}

#[used]
#[unsafe(export_name = "adc_at_the_end")]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".fini_array"))]
static AT_THE_END: extern "C" fn() = free_spare;

/// Everything in the arena dies; its blocks are kept.
///
/// # Safety
/// As [`adc_arena_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adc_arena_reset(arena: *mut Arena) {
    // SAFETY: the caller's promise.
    unsafe {
        (*arena).current = (*arena).first;
        (*arena).used = 0;
    }
}

/// Gives the blocks back.
///
/// # Safety
/// As [`adc_arena_alloc`]; the arena is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adc_arena_free(arena: *mut Arena) {
    // SAFETY: every block is given back once.
    unsafe {
        let mut block = (*arena).first;
        while !block.is_null() {
            let next = (*block).next;
            give_back(block);
            block = next;
        }
    }
}

/// What the calls of one run share. All zero is the beginning.
#[repr(C)]
pub struct Run {
    /// Local buffers: every call leaves it as it found it.
    stack: Arena,
    region: Region,
}

/// Memory that lives as long as the run.
#[repr(C)]
pub struct Region {
    arena: Arena,
    bytes: usize,
}

/// `bytes` fresh bytes at a multiple of 8, or null where the region would have more than `limit`.
///
/// # Safety
/// `region` is a valid region that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adc_region_alloc(region: *mut Region, bytes: usize, limit: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        let region = &mut *region;
        if bytes > limit - region.bytes {
            return std::ptr::null_mut();
        }
        // Never empty: no two arrays have one address.
        let bytes = if bytes < 8 { 8 } else { (bytes + 7) & !7 };
        region.bytes = if limit - region.bytes < bytes { limit } else { region.bytes + bytes };
        bump(&mut region.arena, bytes, 8)
    }
}

/// Gives everything back.
///
/// # Safety
/// As [`adc_region_alloc`]; the run is over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adc_run_free(run: *mut Run) {
    // SAFETY: the caller's promise.
    unsafe {
        adc_arena_free(&mut (*run).stack);
        adc_arena_free(&mut (*run).region.arena);
    }
}

/// perm = the stable ascending order of keys, NaN last.
///
/// # Safety
/// `keys` and `perm` are disjoint arrays of length n.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adc_argsort_real(keys: *const f64, perm: *mut i64, n: i64) -> i64 {
    // SAFETY: argsort passes positions below n.
    unsafe { argsort(perm, n, |a, b| before(*keys.wrapping_add(a as usize), *keys.wrapping_add(b as usize))) }
}

/// As [`adc_argsort_real`], for reals of single precision.
///
/// # Safety
/// As [`adc_argsort_real`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adc_argsort_single(keys: *const f32, perm: *mut i64, n: i64) -> i64 {
    // SAFETY: argsort passes positions below n.
    unsafe {
        let key = |k: i64| f64::from(*keys.wrapping_add(k as usize));
        argsort(perm, n, |a, b| before(key(a), key(b)))
    }
}

/// The order of keys: NaN after everything else.
fn before(x: f64, y: f64) -> bool {
    x < y || (y.is_nan() && !x.is_nan())
}

/// As [`adc_argsort_real`], for ints.
///
/// # Safety
/// As [`adc_argsort_real`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adc_argsort_int(keys: *const i64, perm: *mut i64, n: i64) -> i64 {
    // SAFETY: argsort passes positions below n.
    unsafe { argsort(perm, n, |a, b| *keys.wrapping_add(a as usize) < *keys.wrapping_add(b as usize)) }
}

/// Merge sort from the bottom up: runs of length `width` are merged pairwise from one array into the other.
unsafe fn argsort(perm: *mut i64, n: i64, less: impl Fn(i64, i64) -> bool) -> i64 {
    if n <= 0 {
        return 0;
    }
    let n = n as usize;
    // SAFETY: perm and the scratch array have n elements; every index below is less than n.
    unsafe {
        let scratch = malloc(n.wrapping_mul(8)) as *mut i64;
        if scratch.is_null() {
            return OUT_OF_MEMORY;
        }
        let mut i = 0;
        while i < n {
            *perm.wrapping_add(i) = i as i64;
            i += 1;
        }
        let (mut from, mut to) = (perm, scratch);
        let mut width = 1;
        while width < n {
            let mut lo = 0;
            while lo < n {
                let mid = if n - lo > width { lo + width } else { n };
                let hi = if n - mid > width { mid + width } else { n };
                let (mut a, mut b, mut k) = (lo, mid, lo);
                while k < hi {
                    let right_first =
                        b < hi && (a >= mid || less(*from.wrapping_add(b), *from.wrapping_add(a)));
                    let taken = if right_first { &mut b } else { &mut a };
                    *to.wrapping_add(k) = *from.wrapping_add(*taken);
                    *taken += 1;
                    k += 1;
                }
                lo = hi;
            }
            (from, to) = (to, from);
            width = width.wrapping_mul(2);
        }
        if from != perm {
            let mut i = 0;
            while i < n {
                *perm.wrapping_add(i) = *from.wrapping_add(i);
                i += 1;
            }
        }
        free(scratch as *mut c_void);
    }
    0
}

// The special functions: the very lines the evaluators run.

#[unsafe(no_mangle)]
pub extern "C" fn adc_powi(x: f64, k: i64) -> f64 {
    special_fn::powi(x, k)
}
#[unsafe(no_mangle)]
pub extern "C" fn adc_powif(x: f32, k: i64) -> f32 {
    special_fn::powi(x, k)
}
#[unsafe(no_mangle)]
pub extern "C" fn adc_normal_of_bits(word: i64) -> f64 {
    special_fn::normal_of_bits(word)
}
#[unsafe(no_mangle)]
pub extern "C" fn adc_digamma(x: f64) -> f64 {
    special_fn::digamma(x)
}
#[unsafe(no_mangle)]
pub extern "C" fn adc_trigamma(x: f64) -> f64 {
    special_fn::trigamma(x)
}
#[unsafe(no_mangle)]
pub extern "C" fn adc_polygamma(m: i64, x: f64) -> f64 {
    special_fn::polygamma(m, x)
}
#[unsafe(no_mangle)]
pub extern "C" fn adc_normal_quantile(p: f64) -> f64 {
    special_fn::normal_quantile(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Arena {
        Arena { first: std::ptr::null_mut(), current: std::ptr::null_mut(), used: 0 }
    }

    /// Memory of calls on many threads, one after the other and at the same time: nobody has what another uses, and little is kept.
    #[test]
    fn memory_is_used_again_by_one_at_a_time() {
        let call = |thread: u8| {
            for round in 0..200usize {
                let mut arena = empty();
                let sizes = [3 << 16, 1 << 12, (round + 1) << 14, 1 << 20];
                // SAFETY: the arena is this call's, and its memory has the sizes asked for.
                unsafe {
                    let given =
                        sizes.map(|n| std::slice::from_raw_parts_mut(adc_arena_alloc(&mut arena, n), n));
                    for (k, bytes) in given.into_iter().enumerate() {
                        assert_eq!(bytes.as_ptr() as usize % ALIGN, 0);
                        bytes.fill(thread ^ k as u8);
                        std::thread::yield_now();
                        assert!(bytes.iter().all(|b| *b == thread ^ k as u8));
                    }
                    adc_arena_free(&mut arena);
                }
            }
        };
        std::thread::scope(|s| (0..8).for_each(|t| drop(s.spawn(move || call(16 * t)))));
        let kept = || SPARE_BYTES.load(Ordering::Relaxed);
        assert!(kept() > 0 && kept() <= MOST_SPARE, "{}", kept());
    }
}
