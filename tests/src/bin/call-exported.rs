//! Calls one function of a shared library that adc has built, once: so that nothing but this call is under an instruction counter.
//!
//! `call-exported LIBRARY FUNCTION ARGUMENTS`: a file with one argument per line, in the order of the header: `int 3`, `real 1.5`,
//! `ints 1 2 …`, `reals 1.5 …`, and for results `out 5`, a number of elements. Functions of x86-64 Linux take ints and pointers in one order and reals in another,
//! so one type fits them all.

use std::ffi::{CString, c_void};
use std::process::ExitCode;

/// Ints and pointers that a function may have, and reals.
const WORDS: usize = 24;
const REALS: usize = 8;

type Call = extern "C" fn(
    f64,
    f64,
    f64,
    f64,
    f64,
    f64,
    f64,
    f64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
) -> i64;

fn main() -> ExitCode {
    match call() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn call() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [library, function, file] = &args[..] else { return Err("LIBRARY FUNCTION ARGUMENTS".into()) };
    let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    let (mut words, mut reals) = (vec![], vec![]);
    // Arrays are made once and live until the end.
    for line in text.lines() {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let wrong = || format!("wrong argument: {line}");
        let ints = || rest.split_whitespace().map(|x| x.parse::<i64>().map_err(|_| wrong()));
        let floats = || rest.split_whitespace().map(|x| x.parse::<f64>().map_err(|_| wrong()));
        match kind {
            "int" => words.push(ints().next().ok_or_else(wrong)?? as u64),
            "real" => reals.push(floats().next().ok_or_else(wrong)??),
            "ints" => words.push(ints().collect::<Result<Vec<i64>, _>>()?.leak().as_ptr() as u64),
            "reals" => words.push(floats().collect::<Result<Vec<f64>, _>>()?.leak().as_ptr() as u64),
            "out" => {
                let count = rest.trim().parse::<usize>().map_err(|_| wrong())?;
                words.push(vec![0_u64; count].leak().as_mut_ptr() as u64);
            }
            _ => return Err(wrong()),
        }
    }
    if words.len() >= WORDS || reals.len() > REALS {
        return Err("too many arguments".into());
    }
    // The last one is where a failure is reported: nowhere.
    words.resize(WORDS, 0);
    reals.resize(REALS, 0.0);
    let [library, name] = [library, function].map(|x| CString::new(x.as_str()));
    let (library, name) = (library.map_err(|e| e.to_string())?, name.map_err(|e| e.to_string())?);
    // SAFETY: the library is one of adc's.
    let address: *mut c_void = unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_NOW);
        if handle.is_null() {
            return Err(format!("{library:?} cannot be loaded"));
        }
        libc::dlsym(handle, name.as_ptr())
    };
    if address.is_null() {
        return Err(format!("there is no {function}"));
    }
    // SAFETY: an exported function with these arguments; those it has not are not looked at.
    let exported = unsafe { std::mem::transmute::<*mut c_void, Call>(address) };
    let (r, w) = (reals, words);
    let status = exported(
        r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8],
        w[9], w[10], w[11], w[12], w[13], w[14], w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22],
        w[23],
    );
    if status == 0 { Ok(()) } else { Err(format!("{function}: status {status}")) }
}
