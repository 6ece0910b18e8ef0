//! Libraries used from C, with no Rust in sight.

mod common;

use codegen::{Options, TargetCpu, object};
use common::*;
use lang::diag::Failure;
use lang::loops::*;
use lang::precision::Precision;
use lang::prim::Scalar;
use std::path::PathBuf;
use std::process::Command;

struct Dir(PathBuf);
impl Dir {
    fn new(name: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("adc-test-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Dir(dir)
    }
    fn run(&self, command: &mut Command) -> String {
        let out = command.current_dir(&self.0).output().unwrap();
        assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }
}
impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A user's `exp`: everything the runtime provides, in one procedure: special functions, sorting, an arena, a parallel sum, a check.
fn everything() -> Proc {
    let mut b = Build::new("exp");
    let (n, p) = (b.size("n"), b.scalar(Scalar::Bool, "p"));
    let x = b.input("x", &[n]);
    let (sum, order) = (b.output("sum", &[]), b.array(BufKind::Out, Scalar::Int, "order", &[n]));
    let positive = b.op(Op::ILt, &[int(0), n]);
    b.check(positive, Failure::EmptyArray, &[n]);
    let copy = b.local("copy", &[n]);
    b.code.push(Stmt::Copy { dst: copy, src: x });
    b.code.push(Stmt::Argsort { keys: copy, perm: order });
    let s = b.sum(n, Parallel::Yes, |b, i| {
        let t = b.load(copy, &[i]);
        let e = b.math(Math::Exp, &[t]);
        let g = b.math(Math::Digamma, &[e]);
        let k = b.op(Op::IMod, &[i, int(3)]);
        let q = b.math(Math::PowInt, &[g, k]);
        b.op(Op::Select, &[p, q, e])
    });
    b.store(sum, &[], s);
    b.done()
}

const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include "lib.h"
int main(void) {
    int64_t n = 50000;
    double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), sum, expected = 0;
    int64_t *order = malloc(n * sizeof *order);
    for (int64_t i = 0; i < n; i++) { x[i] = sin((double)i); y[i] = 1.0 / (i + 1); }
    if (dot(n, x, y, &sum, NULL) != 0) return 1;
    for (int64_t i = 0; i < n; i++) expected += x[i] * y[i];
    if (fabs(sum - expected) > 1e-10) return 2;
    if (exp_(n, false, x, &sum, order, NULL) != 0) return 3;
    expected = 0;
    for (int64_t i = 0; i < n; i++) expected += exp(x[i]);
    if (fabs(sum - expected) > 1e-9) return 4;
    for (int64_t i = 1; i < n; i++) if (x[order[i - 1]] > x[order[i]]) return 5;
    AdcFailure f;
    if (exp_(0, true, x, &sum, order, &f) != 1 || f.failure != 0 || f.details[0] != 0) return 6;
    if (exp_(-3, true, x, &sum, order, NULL) != 1) return 7;
    if (exp_(n, true, x, &sum, order, &f) != 0) return 8;
    printf("%.17g\n", sum);
    return 0;
}
"#;

#[test]
fn a_library_and_an_object_serve_c() {
    let dir = Dir::new("c");
    let procs = [dot(), everything(), logistic()];
    let options = Options::default();
    let at = |name: &str| dir.0.join(name);
    object::write_shared_library(&procs, &options, &at("libf.so")).unwrap();
    object::write_object(&procs, &options, &at("f.o")).unwrap();
    std::fs::write(at("lib.h"), object::header(&procs, &|s| format!("in {}", s.def))).unwrap();
    std::fs::write(at("main.c"), PROGRAM).unwrap();
    dir.run(Command::new("cc").args([
        "-Wall",
        "-Werror",
        "-pedantic",
        "main.c",
        "-L.",
        "-lf",
        "-lm",
        "-Wl,-rpath,.",
        "-o",
        "dynamic",
    ]));
    dir.run(Command::new("cc").args(["main.c", "f.o", "-lmvec", "-lm", "-o", "static"]));
    let (a, b) = (dir.run(&mut Command::new("./dynamic")), dir.run(&mut Command::new("./static")));
    assert_eq!(a, b);
    let value: f64 = a.trim().parse().unwrap();
    let expected: f64 = (0..50000)
        .map(|i| runtime::support::adc_powi(runtime::support::adc_digamma(f64::sin(i as f64).exp()), i % 3))
        .sum();
    assert!(close(value, expected, 1e-10), "{value} {expected}");
}

const SINGLE: &str = r#"
#include <stdlib.h>
#include <math.h>
#include "lib.h"
int main(void) {
    int64_t n = 50000;
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), sum;
    int64_t *order = malloc(n * sizeof *order);
    double expected = 0;
    for (int64_t i = 0; i < n; i++) { x[i] = sinf((float)i); y[i] = 1.0f / (float)(i + 1); }
    if (dot(n, x, y, &sum, NULL) != 0) return 1;
    for (int64_t i = 0; i < n; i++) expected += (double)x[i] * y[i];
    if (fabs(sum - expected) > 1e-4) return 2;
    if (exp_(n, false, x, &sum, order, NULL) != 0) return 3;
    expected = 0;
    for (int64_t i = 0; i < n; i++) expected += exp(x[i]);
    if (fabs(sum - expected) > 1e-4 * expected) return 4;
    for (int64_t i = 1; i < n; i++) if (x[order[i - 1]] > x[order[i]]) return 5;
    return expf_(3.0f, &sum, NULL) != 0 || sum != 8.0f ? 6 : 0;
}
"#;

/// Reals of single precision are `float`, as arguments, in arrays, and to the C library.
#[test]
fn a_library_of_singles_serves_c() {
    let dir = Dir::new("single");
    // A user's `expf`, which is not C's.
    let mut b = Build::new("expf");
    let x = b.scalar(Scalar::Real, "x");
    let out = b.output("out", &[]);
    let t = b.op(Op::FAdd, &[x, r(5.0)]);
    b.store(out, &[], t);
    let procs = [dot(), everything(), b.done()].map(|p| Proc { precision: Precision::Single, ..p });
    let options = Options::default();
    let at = |name: &str| dir.0.join(name);
    object::write_shared_library(&procs, &options, &at("libf.so")).unwrap();
    let header = object::header(&procs, &|s| format!("in {}", s.def));
    for line in [
        "int64_t exp_(int64_t n, bool p, const float *x, float *sum, int64_t *order, AdcFailure *failure);",
        "int64_t expf_(float x, float *out, AdcFailure *failure);",
    ] {
        assert!(header.contains(line), "{line}\n{header}");
    }
    std::fs::write(at("lib.h"), header).unwrap();
    std::fs::write(at("main.c"), SINGLE).unwrap();
    let flags =
        ["-Wall", "-Werror", "-pedantic", "main.c", "-L.", "-lf", "-lm", "-Wl,-rpath,.", "-o", "main"];
    dir.run(Command::new("cc").args(flags));
    dir.run(&mut Command::new("./main"));
}

/// Exactly the procedures are visible, and nothing is asked of anybody but the C library.
#[test]
fn libraries_need_only_the_c_library() {
    let dir = Dir::new("nm");
    object::write_shared_library(&[dot(), everything()], &Options::default(), &dir.0.join("libf.so"))
        .unwrap();
    let defined =
        dir.run(Command::new("nm").args(["-D", "--defined-only", "--format=just-symbols", "libf.so"]));
    let mut defined: Vec<&str> = defined.split_whitespace().collect();
    defined.sort();
    assert_eq!(defined, ["dot", "exp_"]);
    let needed = dir.run(Command::new("objdump").args(["-p", "libf.so"]));
    let needed: Vec<&str> =
        needed.lines().filter_map(|l| l.trim().strip_prefix("NEEDED")).map(str::trim).collect();
    assert!(needed.iter().all(|n| ["libm.so.6", "libmvec.so.1", "libc.so.6"].contains(n)), "{needed:?}");
    let undefined =
        dir.run(Command::new("nm").args(["-D", "--undefined-only", "--format=just-symbols", "libf.so"]));
    assert!(!undefined.contains("panic") && !undefined.contains("rust"), "{undefined}");
}

#[test]
fn text_forms() {
    let options = Options::default();
    let ir = object::llvm_ir(&[logistic()], &options, false).unwrap();
    assert!(ir.contains("define i64 @loss_rev(") && ir.contains("noalias"));
    let optimised = object::llvm_ir(&[logistic()], &options, true).unwrap();
    assert!(optimised.contains("x double>"), "vectorised");
    let strict = object::llvm_ir(&[dot()], &Options { strict: true, ..options }, true).unwrap();
    assert!(!strict.contains(" reassoc ") && !strict.contains(" contract "));
    assert!(object::assembly(&[dot()], &options).unwrap().contains("dot:"));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn code_is_for_the_processor_asked_for() {
    let assembly = |level| {
        let options = Options { target: TargetCpu::Level(level), threads: 1, ..Options::default() };
        object::assembly(&[dot()], &options)
    };
    // Registers of two, four and eight doubles.
    let used = |text: &str| ["xmm", "ymm", "zmm"].map(|r| text.contains(&format!("%{r}")));
    assert_eq!(used(&assembly(1).unwrap()), [true, false, false]);
    assert_eq!(used(&assembly(3).unwrap())[1..], [true, false]);
    assert!(assembly(0).is_err() && assembly(5).is_err());
}

/// Masked stores are slow before AVX-512: a short loop is whole vectors and what is left over.
#[test]
#[cfg(target_arch = "x86_64")]
fn short_loops_have_no_masks() {
    let mut b = Build::new("halves");
    let (x, y) = (b.input("x", &[int(14)]), b.output("y", &[int(14)]));
    b.for_(int(14), Parallel::Yes, CarriedKind::Sequential, &[], |b, i, _| {
        let t = b.load(x, &[i]);
        let half = b.op(Op::FMul, &[t, r(0.5)]);
        b.store(y, &[i], half);
        vec![]
    });
    let halves = b.done();
    let options = Options { target: TargetCpu::Level(3), threads: 1, ..Options::default() };
    let assembly = object::assembly(&[halves], &options).unwrap();
    assert!(assembly.contains("%ymm") && !assembly.contains("vmaskmov"), "{assembly}");
}

#[test]
fn the_header_documents_shapes_and_failures() {
    let h = object::header(&[everything(), logistic()], &|s| format!("byte {} of {}", s.span.start, s.def));
    for line in [
        "int64_t exp_(int64_t n, bool p, const double *x, double *sum, int64_t *order, AdcFailure *failure);",
        "int64_t loss_rev(int64_t n, int64_t d, const double *w, const double *xs, const double *ys, double *loss, double *grad, AdcFailure *failure);",
        "   xs: in, [n][d]",
        "   loss: out, one value",
        "   failure 0: empty array, byte 0 of exp",
    ] {
        assert!(h.contains(line), "{line}\n{h}");
    }
}
