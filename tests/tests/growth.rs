//! Work that grows with the program grows in proportion to it: counted, not timed. What is counted is allocations, of which nearly
//! everything the compiler does makes some.

use cli::args::Engine;
use cli::embed::Function;
use cli::entry::Ask;
use cli::pipeline::Options;
use cli::session::Compiler;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use tests::generated;

/// The system's allocator, counted.
struct Counted;

static BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: as asked.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as asked.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        BYTES.fetch_add(size as u64, Ordering::Relaxed);
        // SAFETY: as asked.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// The bytes allocated by all threads meanwhile, in millions.
fn allocated(work: impl FnOnce() + Send) -> f64 {
    let before = BYTES.load(Ordering::Relaxed);
    let done = cli::guard::run(|| {
        work();
        Ok(())
    });
    assert!(done.is_ok(), "{done:?}");
    (BYTES.load(Ordering::Relaxed) - before) as f64 / 1e6
}

/// What ten times the program may cost.
const AIM: f64 = 12.0;

/// One test, since all threads of the process are counted.
#[test]
fn work_is_in_proportion_to_the_program() {
    let mut complaints = vec![];
    let mut compare = |what: &str, most: f64, small: f64, large: f64| {
        println!("{what:<40}{small:>10.2}{large:>10.2}{:>8.1}", large / small);
        if large > most * small {
            complaints.push(format!("{what}: {small} and {large} million bytes"));
        }
    };
    let check = |lines: usize| {
        let text = generated::definitions(lines);
        let edited = text.replacen("+ s |", "- s |", 1);
        let mut db = Compiler::default();
        let file = db.source("a.ad", &text);
        let checked = |db: Compiler| allocated(move || assert!(db.check(file).is_ok()));
        let first = checked(db.clone());
        db.edit(file, &edited);
        (first, checked(db.clone()))
    };
    let (small, large) = (check(350), check(3500));
    compare("a file checked", AIM, small.0, large.0);
    compare("a file checked after an edit", AIM, small.1, large.1);
    // From the text to better loops, by way of D.
    let options = Options::plain(Engine::Loops);
    let gradient = |text: String| {
        allocated(|| {
            let compiled = Function::compile(&text, "f", &Ask::Grad(vec![0]), &options);
            assert!(compiled.is_ok(), "{text}");
        })
    };
    let programs: [(&str, f64, usize, fn(usize) -> String); 8] = [
        ("a chain of lets", AIM, 20, generated::chain_of_lets),
        ("a chain of arrays", AIM, 20, generated::chain_of_arrays),
        ("nested calls", AIM, 20, generated::nested_calls),
        ("definitions of arrays", AIM, 20, generated::array_definitions),
        ("lets used late", AIM, 20, generated::lets_used_late),
        ("an array written out", AIM, 20, generated::written_array),
        // Above the aim (docs/performance.md), and not to rise.
        ("a chain of branches", 12.5, 10, generated::chain_of_branches),
        ("nested branches", 32.0, 10, generated::nested_branches),
    ];
    for (what, most, n, program) in programs {
        compare(what, most, gradient(program(n)), gradient(program(10 * n)));
    }
    // An edit costs a small part of the whole.
    assert!(large.1 < large.0 / 10.0, "{large:?}");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
