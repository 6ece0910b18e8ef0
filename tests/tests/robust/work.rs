//! What every text goes through, and what counts as a fault.

use cli::report::{Stop, render};
use cli::session::Compiler;
use lang::surface::{format::format, parser};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// Processor time and bytes that one text may take; more time where the compiler is not optimised (these tests always are).
const TIME: Duration = Duration::from_secs(if cli::timing::OPTIMISED { 2 } else { 20 });
const MEMORY: i64 = 1 << 30;

/// The system's allocator; how many bytes are in use, and the most there were.
struct Watched;

static USED: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

fn note(bytes: i64) {
    let used = USED.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(used, Ordering::Relaxed);
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as i64);
        // SAFETY: as asked.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        note(-(layout.size() as i64));
        // SAFETY: as asked.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size as i64 - layout.size() as i64);
        // SAFETY: as asked.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

pub struct Fault {
    /// What a smaller text must share.
    pub kind: String,
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.message)
    }
}

fn fault(kind: impl Into<String>, message: impl Into<String>) -> Result<(), Fault> {
    Err(Fault { kind: kind.into(), message: message.into() })
}

/// The text through all stages, within the limits.
pub fn examine(text: &str) -> Result<(), Fault> {
    let (start, used) = (cli::timing::used(), USED.load(Ordering::Relaxed));
    PEAK.store(used, Ordering::Relaxed);
    let done = catch_unwind(AssertUnwindSafe(|| stages(text)));
    let (time, memory) = (cli::timing::used() - start, PEAK.load(Ordering::Relaxed) - used);
    match done {
        Err(_) => return fault(format!("panic: {}", cli::guard::last_panic()), ""),
        Ok(Err(fault)) => return Err(fault),
        Ok(Ok(())) => {}
    }
    if time > TIME {
        return fault("slow", format!("{time:?} for {} bytes", text.len()));
    }
    if memory > MEMORY {
        return fault("memory", format!("{memory} bytes for {}", text.len()));
    }
    Ok(())
}

fn stages(text: &str) -> Result<(), Fault> {
    let (file, problems) = parser::parse(text);
    for d in &problems {
        for (span, _) in &d.labels {
            if text.get(span.start as usize..span.end as usize).is_none() {
                return fault("span", format!("{span:?} of {} is no place of the text", d.code));
            }
        }
    }
    if problems.is_empty() {
        let Ok(formatted) = format(text) else { return fault("formatter", "what parses is not formatted") };
        let (again, problems) = parser::parse(&formatted);
        if !problems.is_empty() {
            return fault("formatted text", format!("does not parse: {problems:?}"));
        }
        if again != file {
            return fault("formatted tree", "is another");
        }
        match format(&formatted) {
            Ok(twice) if twice == formatted => {}
            Ok(_) | Err(_) => return fault("formatted twice", "differs from once"),
        }
    }
    let db = Compiler::default();
    match db.check(db.source("robust.ad", text)) {
        Ok(_) if !problems.is_empty() => fault("checker", "accepts what does not parse"),
        Ok(_) => Ok(()),
        Err(Stop::Problems(problems)) => {
            for p in &problems {
                if p.diagnostic.code == cli::codes::COMPILER_BUG {
                    return fault("compiler bug", p.diagnostic.message.clone());
                }
                if p.diagnostic.labels.is_empty() {
                    return fault(format!("{} without a place", p.diagnostic.code), "");
                }
            }
            match render(&problems, false).is_empty() {
                true => fault("report", "is empty"),
                false => Ok(()),
            }
        }
        Err(Stop::Usage(message)) => fault("usage", message),
    }
}
