//! One library, many sizes: `adc build` compiles once, and the functions are called through `dlopen` at sizes from none to a million. What
//! they must give is exact: all numbers are small ints.
#![cfg(feature = "llvm")]

use std::ffi::{CString, c_void};
use std::path::Path;
use tests::Scratch;

const ADC: &str = env!("CARGO_BIN_EXE_adc-under-test");

const PROGRAM: &str = r"
def squares [n] (x : real^n) : real = sum (map (\a -> a * a) x)
def steps [n] (x : real^(n + 1)) : real^n = [ x[i + 1] - x[i] | i < n ]
def rows [n, m] (a : real^(n, m)) (v : real^m) : real^n = a @ v
def at [n] (x : real^n) (k : int) : real = x[k]
def twice [n] (x : real^n) : real^(2 * n) = concat x x
";

const SIZES: &[usize] = &[0, 1, 2, 17, 1_000_000];

#[repr(C)]
#[derive(Default)]
struct AdcFailure {
    failure: i64,
    details: [i64; 4],
}

struct Library(*mut c_void);

impl Library {
    fn open(path: &Path) -> Library {
        let name = CString::new(path.to_str().unwrap()).unwrap();
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        assert!(!handle.is_null(), "{} does not load", path.display());
        Library(handle)
    }

    /// A function, at the type its prototype in the header says.
    fn get<F: Copy>(&self, name: &str) -> F {
        let symbol = CString::new(name).unwrap();
        let address = unsafe { libc::dlsym(self.0, symbol.as_ptr()) };
        assert!(!address.is_null(), "there is no `{name}`");
        assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
        unsafe { std::mem::transmute_copy(&address) }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        unsafe { libc::dlclose(self.0) };
    }
}

fn build(dir: &Scratch, options: &[&str]) -> (Library, String) {
    dir.write("f.ad", PROGRAM.as_bytes()).unwrap();
    let words: Vec<&str> = ["build", "f.ad", "-o", "out"].iter().chain(options).copied().collect();
    let ran = tests::run(ADC, &dir.0, &words);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let out = dir.0.join("out");
    let header = std::fs::read_to_string(out.join("f.h")).unwrap();
    (Library::open(&out.join("libf.so")), header)
}

fn prototype<'h>(header: &'h str, name: &str) -> &'h str {
    let start = format!("int64_t {name}(");
    header.lines().find(|l| l.starts_with(&start)).unwrap_or_else(|| panic!("no `{name}` in\n{header}"))
}

fn small(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i % 7) as f64 - 2.0).collect()
}

type OneArray = unsafe extern "C" fn(i64, *const f64, *mut f64, *mut AdcFailure) -> i64;
type TwoSizes = unsafe extern "C" fn(i64, i64, *const f64, *mut f64, *mut AdcFailure) -> i64;

#[test]
fn one_library_serves_all_sizes() {
    let dir = Scratch::new("library-sizes").unwrap();
    let (library, header) = build(&dir, &["--export", "squares,grad squares,steps,rows,at,twice"]);
    assert_eq!(
        prototype(&header, "squares"),
        "int64_t squares(int64_t n, const double *x, double *out0, AdcFailure *failure);"
    );
    assert_eq!(
        prototype(&header, "steps"),
        "int64_t steps(int64_t n, int64_t n_plus_1, const double *x, double *out0, AdcFailure *failure);"
    );
    let squares: OneArray = library.get("squares");
    let slope: OneArray = library.get("grad_squares");
    let steps: TwoSizes = library.get("steps");
    let rows: unsafe extern "C" fn(i64, i64, *const f64, *const f64, *mut f64, *mut AdcFailure) -> i64 =
        library.get("rows");
    let twice: TwoSizes = library.get("twice");
    for &n in SIZES {
        let (x, size) = (small(n), n as i64);
        let mut failure = AdcFailure::default();
        let mut total = f64::NAN;
        assert_eq!(unsafe { squares(size, x.as_ptr(), &mut total, &mut failure) }, 0);
        assert_eq!(total, x.iter().map(|a| a * a).sum::<f64>(), "squares of {n}");

        let mut gradient = vec![f64::NAN; n];
        assert_eq!(unsafe { slope(size, x.as_ptr(), gradient.as_mut_ptr(), &mut failure) }, 0);
        assert!(gradient.iter().zip(&x).all(|(g, a)| *g == 2.0 * a), "the gradient of {n}");

        let longer = small(n + 1);
        let mut out = vec![f64::NAN; n];
        assert_eq!(unsafe { steps(size, size + 1, longer.as_ptr(), out.as_mut_ptr(), &mut failure) }, 0);
        assert!((0..n).all(|i| out[i] == longer[i + 1] - longer[i]), "steps of {n}");

        let matrix: Vec<f64> = (0..n).flat_map(|i| [i as f64, 1.0, -1.0]).collect();
        let mut out = vec![f64::NAN; n];
        let v = [2.0, 5.0, 1.0];
        assert_eq!(unsafe { rows(size, 3, matrix.as_ptr(), v.as_ptr(), out.as_mut_ptr(), &mut failure) }, 0);
        assert!((0..n).all(|i| out[i] == 2.0 * i as f64 + 4.0), "rows of {n}");

        let mut out = vec![f64::NAN; 2 * n];
        assert_eq!(unsafe { twice(size, 2 * size, x.as_ptr(), out.as_mut_ptr(), &mut failure) }, 0);
        assert!((0..2 * n).all(|i| out[i] == x[i % n.max(1)]), "twice of {n}");
    }
}

/// A failure comes back as a number with its details, and says in the header where it is from.
#[test]
fn a_library_reports_failures() {
    let dir = Scratch::new("library-failure").unwrap();
    let (library, header) = build(&dir, &["--export", "at"]);
    let at: unsafe extern "C" fn(i64, *const f64, i64, *mut f64, *mut AdcFailure) -> i64 = library.get("at");
    assert!(header.contains("failure 0: index out of range (details: index, length), f.ad:5"), "{header}");
    let (x, mut out, mut failure) = ([1.0, 2.0, 3.0], f64::NAN, AdcFailure::default());
    assert_eq!(unsafe { at(3, x.as_ptr(), 2, &mut out, &mut failure) }, 0);
    assert_eq!(out, 3.0);
    for k in [3, -1] {
        assert_eq!(unsafe { at(3, x.as_ptr(), k, &mut out, &mut failure) }, 1);
        assert_eq!((failure.failure, &failure.details[..2]), (0, &[k, 3][..]));
        assert_eq!(unsafe { at(3, x.as_ptr(), k, &mut out, std::ptr::null_mut()) }, 1);
    }
}

/// A size fixed by hand is no parameter any more.
#[test]
fn a_size_fixed_by_hand_is_compiled_in() {
    let dir = Scratch::new("library-fixed").unwrap();
    let (library, header) = build(&dir, &["--export", "squares,rows,steps", "--size", "n=4"]);
    assert_eq!(
        prototype(&header, "rows"),
        "int64_t rows(int64_t m, const double *a, const double *v, double *out0, AdcFailure *failure);"
    );
    assert!(header.contains("x: in, [5]") && header.contains("out0: out, [4]"), "{header}");
    let squares: unsafe extern "C" fn(*const f64, *mut f64, *mut AdcFailure) -> i64 = library.get("squares");
    let mut out = f64::NAN;
    assert_eq!(unsafe { squares([1.0, 2.0, 3.0, 4.0].as_ptr(), &mut out, std::ptr::null_mut()) }, 0);
    assert_eq!(out, 30.0);
}

/// What the header promises of sizes is checked, once, before anything else: also where no loop and no array would miss it.
#[test]
fn sizes_are_checked() {
    let dir = Scratch::new("library-bad-sizes").unwrap();
    let (library, header) = build(&dir, &["--export", "squares,steps,rows,grad squares"]);
    let said = "sizes differ (details: given, required), f.ad:3";
    assert!(header.contains(said), "no `{said}` in\n{header}");
    let (x, mut out, mut failure) = ([1.0, 2.0, 3.0], [0.0; 3], AdcFailure::default());
    for name in ["squares", "grad_squares"] {
        let f: OneArray = library.get(name);
        let status = unsafe { f(-2, x.as_ptr(), out.as_mut_ptr(), &mut failure) };
        assert_eq!((status, failure.details[0]), (failure.failure + 1, -2), "{name}");
        let said = format!("failure {}: negative size (details: size), f.ad:2", failure.failure);
        assert!(header.contains(&said), "no `{said}` in\n{header}");
    }
    let steps: TwoSizes = library.get("steps");
    assert_eq!(unsafe { steps(2, 3, x.as_ptr(), out.as_mut_ptr(), &mut failure) }, 0);
    assert_eq!(out[..2], [1.0, 1.0]);
    let status = unsafe { steps(1, 3, x.as_ptr(), out.as_mut_ptr(), &mut failure) };
    // What is given, and what 1 + 1 is.
    assert_eq!((status, &failure.details[..2]), (failure.failure + 1, &[3, 2][..]));
    assert_ne!(status, 0);
    assert_eq!(unsafe { steps(-1, 0, x.as_ptr(), out.as_mut_ptr(), &mut failure) }, failure.failure + 1);
    assert_eq!(failure.details[0], -1);
}

/// Parameters and results are called by the fields and components that they are.
#[test]
fn records_are_taken_apart_by_name() {
    let dir = Scratch::new("library-names").unwrap();
    let program = "type body [n] = {mass : real, vel : real^n}
def push [n] (b : body[n]) (f : (real, real^n)) : {place : real^n, time : real} = {time = b.mass + f.0, place = b.vel + f.1}
def both (x : real) : (real, {a : real, b : int}) = (x, {a = 2 * x, b = 3})
";
    dir.write("b.ad", program.as_bytes()).unwrap();
    let ran = tests::run(ADC, &dir.0, &["build", "b.ad", "-o", "out", "--emit", "header"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let header = std::fs::read_to_string(dir.0.join("out/b.h")).unwrap();
    assert_eq!(
        prototype(&header, "push"),
        "int64_t push(int64_t n, double b_mass, const double *b_vel, double f_0, const double *f_1, double *out_place, double *out_time, AdcFailure *failure);"
    );
    assert_eq!(
        prototype(&header, "both"),
        "int64_t both(double x, double *out0, double *out1_a, int64_t *out1_b, AdcFailure *failure);"
    );
}

/// Ten times the lets: at most twelve times the code, their gradient's.
#[test]
fn code_grows_with_the_program() {
    let dir = Scratch::new("library-growth").unwrap();
    let object = |lets: usize| {
        let text = tests::generated::chain_of_lets(lets) + "\ndef slope (x : real) : real = grad f x\n";
        dir.write("f.ad", text.as_bytes()).unwrap();
        let ran = tests::run(ADC, &dir.0, &["build", "f.ad", "--emit", "obj", "-o", "out"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        std::fs::metadata(dir.0.join("out/f.o")).unwrap().len()
    };
    // The rest of the object is the same in all.
    let [ten, hundred, thousand] = [10, 100, 1000].map(object);
    let (small, large) = (hundred - ten, thousand - hundred);
    assert!(large <= 12 * small, "{small} bytes, then {large}");
    // Nor is it less: the derivative of each let is there.
    assert!(large >= 8 * small, "{small} bytes, then {large}");
}

/// Large loops are shared among threads, and how many there are shows in no bit.
#[test]
fn threads_do_not_show() {
    let n = 300_000;
    let x: Vec<f64> = (0..n).map(|k| (k as f64 * 0.37).sin()).collect();
    let program = "def f [n] (x : real^n) : real = sum (map (\\a -> exp (sin a) / (2.0 + a * a)) x)
def at [n] (x : real^n) (k : int) : real = sum [ x[if i == k then n else i] * exp x[i] | i < n ]
";
    type Sum = unsafe extern "C" fn(i64, *const f64, *mut f64, *mut AdcFailure) -> i64;
    type At = unsafe extern "C" fn(i64, *const f64, i64, *mut f64, *mut AdcFailure) -> i64;
    let run = |threads: &str| {
        let dir = Scratch::new("library-threads").unwrap();
        dir.write("f.ad", program.as_bytes()).unwrap();
        let words = ["build", "f.ad", "-o", "out", "--threads", threads, "--export", "f,grad f,at"];
        let ran = tests::run(ADC, &dir.0, &words);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let library = Library::open(&dir.0.join("out/libf.so"));
        let (mut value, mut slopes, mut failure) = (0.0, vec![0.0; n], AdcFailure::default());
        let f: Sum = library.get("f");
        assert_eq!(unsafe { f(n as i64, x.as_ptr(), &mut value, &mut failure) }, 0);
        let gradient: Sum = library.get("grad_f");
        assert_eq!(unsafe { gradient(n as i64, x.as_ptr(), slopes.as_mut_ptr(), &mut failure) }, 0);
        // The index that is out of range is met on some thread.
        let at: At = library.get("at");
        let status = unsafe { at(n as i64, x.as_ptr(), n as i64 - 5, &mut value, &mut failure) };
        let bits: Vec<u64> = slopes.iter().chain([&value]).map(|x| x.to_bits()).collect();
        (bits, status, failure.failure, failure.details[0])
    };
    let one = run("1");
    assert!(one.1 != 0 && one.3 == n as i64, "{:?}", &(one.1, one.2, one.3));
    for threads in ["2", "3", "0"] {
        assert!(run(threads) == one, "{threads} threads");
    }
}
