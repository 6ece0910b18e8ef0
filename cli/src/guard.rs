//! The compiler's work runs on a deep stack, and a panic in it is reported as a compiler bug with the item that was being
//! worked on. The process itself does not panic.

use crate::codes;
use crate::report::{Problem, Source, Stop};
use lang::diag::{Diagnostic, Span};
use std::cell::RefCell;
use std::panic;
use std::sync::{Arc, Mutex};

thread_local! {
    static WORKING_ON: RefCell<Vec<(Arc<Source>, Span)>> = const { RefCell::new(vec![]) };
}

/// What the last panic said, and what its thread was working on.
static LAST: Mutex<Option<(String, Option<(Arc<Source>, Span)>)>> = Mutex::new(None);

/// Stack of the main work and of every worker: deep terms are walked by recursion. Only touched pages cost memory.
const STACK: usize = 1 << 30;
const WORKER_STACK: usize = 1 << 28;

/// Does `work`; a compiler bug in it is blamed on this place.
pub fn working_on<T>(source: &Arc<Source>, span: Span, work: impl FnOnce() -> T) -> T {
    WORKING_ON.with_borrow_mut(|stack| stack.push((source.clone(), span)));
    let value = work();
    WORKING_ON.with_borrow_mut(|stack| stack.pop());
    value
}

/// Runs `work` on a deep stack; a panic becomes a problem.
pub fn run<T: Send + 'static>(work: impl FnOnce() -> Result<T, Stop> + Send + 'static) -> Result<T, Stop> {
    panic::set_hook(Box::new(|info| {
        let message = match info.payload().downcast_ref::<&str>() {
            Some(text) => text.to_string(),
            None => info.payload().downcast_ref::<String>().cloned().unwrap_or_default(),
        };
        let at = info.location().map_or(String::new(), |l| format!(" ({}:{})", l.file(), l.line()));
        let place = WORKING_ON.try_with(|stack| stack.try_borrow().ok().and_then(|s| s.last().cloned()));
        if let Ok(mut last) = LAST.lock() {
            // The first panic is the cause; others follow from it.
            last.get_or_insert((format!("{message}{at}"), place.ok().flatten()));
        }
    }));
    // The pool may exist already, in a process that embeds this crate; its stack is then its own.
    let _ = rayon::ThreadPoolBuilder::new().stack_size(WORKER_STACK).build_global();
    let worker = std::thread::Builder::new().name("adc".into()).stack_size(STACK).spawn(work);
    match worker.map(|handle| handle.join()) {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(bug()),
        Err(error) => {
            Err(Diagnostic::new(codes::COMPILER_BUG, format!("no thread to work on: {error}")).into())
        }
    }
}

fn bug() -> Stop {
    let (message, place) = LAST.lock().ok().and_then(|mut l| l.take()).unwrap_or_default();
    let diagnostic = Diagnostic::new(codes::COMPILER_BUG, format!("adc has a bug: {message}"))
        .help("the program may well be right; please report it, with the file that shows it");
    match place {
        Some((source, span)) => Stop::Problems(vec![Problem {
            source: Some(source),
            diagnostic: diagnostic.label(span, "while working on this"),
        }]),
        None => diagnostic.into(),
    }
}
