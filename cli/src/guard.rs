//! The compiler's work runs on a deep stack, and a panic in it is reported as a compiler bug with the item that was being
//! worked on. The process itself does not panic.

use crate::codes;
use crate::report::{Problem, Source, Stop};
use lang::big_stack;
use lang::diag::{Diagnostic, Span};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex};

/// What the first panic said, and the innermost thing that was being worked on.
#[derive(Default)]
struct Caught {
    message: Option<String>,
    place: Option<(Arc<Source>, Span)>,
}

static CAUGHT: Mutex<Caught> = Mutex::new(Caught { message: None, place: None });

/// Does `work`; a compiler bug in it is blamed on this place.
pub fn working_on<T>(source: &Arc<Source>, span: Span, work: impl FnOnce() -> T) -> T {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        if let Ok(mut caught) = CAUGHT.lock() {
            caught.place.get_or_insert_with(|| (source.clone(), span));
        }
        panic::resume_unwind(payload)
    })
}

/// Runs `work` on a deep stack; a panic becomes a problem.
pub fn run<T: Send>(work: impl FnOnce() -> Result<T, Stop> + Send) -> Result<T, Stop> {
    panic::set_hook(Box::new(|info| {
        let message = match info.payload().downcast_ref::<&str>() {
            Some(text) => text.to_string(),
            None => info.payload().downcast_ref::<String>().cloned().unwrap_or_default(),
        };
        let at = info.location().map_or(String::new(), |l| format!(" ({}:{})", l.file(), l.line()));
        if let Ok(mut caught) = CAUGHT.lock() {
            // The first panic is the cause; others follow from it.
            caught.message.get_or_insert(format!("{message}{at}"));
        }
    }));
    workers();
    panic::catch_unwind(AssertUnwindSafe(|| big_stack::run(work))).unwrap_or_else(|_| Err(bug()))
}

/// Rayon's workers with big stacks of their own, so that what they do needs no further thread. The pool may exist already, in a process
/// that embeds this crate; its stacks are then its own.
fn workers() {
    // Rayon tries once: where addresses are limited (`ulimit -v`), stacks that leave half of them for the rest.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let fits = |size: &usize| size.saturating_mul(threads + 1) <= addresses() / 2;
    let size =
        big_stack::SIZES.into_iter().find(fits).unwrap_or(big_stack::SIZES[big_stack::SIZES.len() - 1]);
    let pool = rayon::ThreadPoolBuilder::new().stack_size(size);
    let _ = pool.start_handler(move |_| big_stack::adopt(size)).build_global();
}

/// The bytes of addresses that this process may have.
fn addresses() -> usize {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the call fills the limit it is given.
    match unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) } {
        0 => usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX),
        _ => usize::MAX,
    }
}

/// What the first panic since the last look said.
pub fn last_panic() -> String {
    taken().message.unwrap_or_default()
}

fn taken() -> Caught {
    CAUGHT.lock().map(|mut caught| std::mem::take(&mut *caught)).unwrap_or_default()
}

fn bug() -> Stop {
    let caught = taken();
    let message = caught.message.unwrap_or_default();
    let diagnostic = Diagnostic::new(codes::COMPILER_BUG, format!("adc has a bug: {message}"))
        .help("the program may well be right; please report it, with the file that shows it");
    match caught.place {
        Some((source, span)) => Stop::Problems(vec![Problem {
            source: Some(source),
            diagnostic: diagnostic.label(span, "while working on this"),
        }]),
        None => diagnostic.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_on_another_thread_is_a_problem_with_a_place() {
        let source = Arc::new(Source { path: "a.ad".into(), text: "def f = 1".into() });
        let stop = run(|| -> Result<(), Stop> {
            working_on(&source, Span::new(0, 5), || big_stack::run(|| panic!("impossible {}", 1)))
        });
        let Err(Stop::Problems(problems)) = stop else { panic!("{stop:?}") };
        let diagnostic = &problems[0].diagnostic;
        assert_eq!(diagnostic.code, codes::COMPILER_BUG);
        assert!(diagnostic.message.contains("impossible 1 ("), "{}", diagnostic.message);
        assert_eq!(diagnostic.labels[0].0, Span::new(0, 5));
    }
}
