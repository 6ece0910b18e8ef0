//! Procedures built by hand, compiled and run, against straightforward Rust.

mod common;

use codegen::{Arg, Jit, Options, RunError, Slice, SliceMut, TargetCpu};
use common::*;
use lang::diag::Failure;
use lang::loops::*;
use lang::precision::Precision;
use lang::prim::Scalar;

const STRICT: Options = Options {
    strict: true,
    scalar_math: true,
    fast_math: false,
    opt_level: 3,
    threads: 1,
    target: TargetCpu::Native,
};

fn reals(x: &[f64]) -> Arg<'_> {
    Arg::In(Slice::Reals(x))
}
fn out(x: &mut [f64]) -> Arg<'_> {
    Arg::Out(SliceMut::Reals(x))
}

#[test]
fn dot_product() {
    let jit = Jit::compile(&[dot()], &Options::default()).unwrap();
    for n in [0usize, 1, 5, 1000, 400_000] {
        let (x, y) = (numbers(n, 1), numbers(n, 2));
        let mut s = [f64::NAN];
        jit.call("dot", &mut [Arg::Int(n as i64), reals(&x), reals(&y), out(&mut s)]).unwrap();
        let expected: f64 = x.iter().zip(&y).map(|(a, b)| a * b).sum();
        assert!((s[0] - expected).abs() < 1e-9, "{n}: {} {expected}", s[0]);
    }
}

#[test]
fn strict_dot_is_in_order() {
    let jit = Jit::compile(&[dot()], &STRICT).unwrap();
    let n = 300_000;
    let (x, y) = (numbers(n, 3), numbers(n, 4));
    let mut s = [0.0];
    jit.call("dot", &mut [Arg::Int(n as i64), reals(&x), reals(&y), out(&mut s)]).unwrap();
    let expected = x.iter().zip(&y).fold(0.0, |s, (a, b)| s + a * b);
    assert_eq!(s[0].to_bits(), f64::to_bits(expected));
}

fn logistic_by_hand(w: &[f64], xs: &[f64], ys: &[f64]) -> (f64, Vec<f64>) {
    let (n, d) = (ys.len(), w.len());
    let (mut loss, mut grad) = (0.0, vec![0.0; d]);
    for i in 0..n {
        let x = &xs[i * d..][..d];
        let m: f64 = w.iter().zip(x).map(|(a, b)| a * b).sum();
        let z = -ys[i] * m;
        loss += z.exp().ln_1p();
        let k = -ys[i] / (1.0 + (-z).exp()) / n as f64;
        grad.iter_mut().zip(x).for_each(|(g, x)| *g += k * x);
    }
    (loss / n as f64, grad)
}

#[test]
fn logistic_gradient_has_the_same_bits_for_any_number_of_threads() {
    let (n, d) = (20_000usize, 30usize);
    let (w, xs) = (numbers(d, 5), numbers(n * d, 6));
    let ys: Vec<f64> = numbers(n, 7).iter().map(|y| y.signum()).collect();
    let (loss, grad) = logistic_by_hand(&w, &xs, &ys);
    let mut seen: Option<(f64, Vec<f64>)> = None;
    for threads in [1, 2, 3, 0] {
        let jit = Jit::compile(&[logistic()], &Options { threads, ..Options::default() }).unwrap();
        let (mut l, mut g) = ([f64::NAN], vec![f64::NAN; d]);
        let mut args = [
            Arg::Int(n as i64),
            Arg::Int(d as i64),
            reals(&w),
            reals(&xs),
            reals(&ys),
            out(&mut l),
            out(&mut g),
        ];
        jit.call("loss'rev", &mut args).unwrap();
        assert!(close(l[0], loss, 1e-12), "{} {loss}", l[0]);
        assert!(g.iter().zip(&grad).all(|(a, b)| close(*a, *b, 1e-12)), "{g:?} {grad:?}");
        match &seen {
            None => seen = Some((l[0], g)),
            Some(s) => assert_eq!(s, &(l[0], g), "{threads} threads"),
        }
    }
}

#[test]
fn exp_of_an_array_is_vectorised_and_right() {
    let mut b = Build::new("exps");
    let n = b.size("n");
    let (x, y) = (b.input("x", &[n]), b.output("y", &[n]));
    b.each(n, |b, i| {
        let t = b.load(x, &[i]);
        let e = b.math(Math::Exp, &[t]);
        b.store(y, &[i], e);
    });
    let p = b.done();
    for options in [Options::default(), STRICT] {
        let jit = Jit::compile(std::slice::from_ref(&p), &options).unwrap();
        let xs = numbers(1003, 8);
        let mut ys = vec![0.0; xs.len()];
        jit.call("exps", &mut [Arg::Int(xs.len() as i64), reals(&xs), out(&mut ys)]).unwrap();
        for (x, y) in xs.iter().zip(&ys) {
            match options.scalar_math {
                true => assert_eq!(x.exp().to_bits(), y.to_bits()),
                false => assert!(close(x.exp(), *y, 1e-14)),
            }
        }
    }
}

/// The same of singles: the C library's functions of singles and their vector variants, or else the functions of doubles, rounded.
#[test]
fn exp_of_singles_is_vectorised_and_right() {
    let mut b = Build::new("exps");
    let n = b.size("n");
    let (x, y) = (b.input("x", &[n]), b.output("y", &[n]));
    b.each(n, |b, i| {
        let t = b.load(x, &[i]);
        let e = b.math(Math::Exp, &[t]);
        b.store(y, &[i], e);
    });
    let p = Proc { precision: Precision::Single, ..b.done() };
    let xs: Vec<f32> = numbers(1003, 8).into_iter().map(|x| 20.0 * x as f32).collect();
    for options in [Options::default(), STRICT] {
        let jit = Jit::compile(std::slice::from_ref(&p), &options).unwrap();
        let mut ys = vec![0f32; xs.len()];
        let mut args = [Arg::Int(1003), Arg::In(Slice::Singles(&xs)), Arg::Out(SliceMut::Singles(&mut ys))];
        jit.call("exps", &mut args).unwrap();
        for (x, y) in xs.iter().zip(&ys) {
            let expected = f64::from(*x).exp() as f32;
            match options.scalar_math {
                true => assert_eq!(expected.to_bits(), y.to_bits()),
                false => {
                    assert!((expected - y).abs() <= 4.0 * f32::EPSILON * expected, "{x}: {y} {expected}")
                }
            }
        }
    }
    if cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")) {
        // Four singles are a register of every x86-64.
        let options = Options { target: TargetCpu::Level(1), ..Options::default() };
        let text = codegen::object::assembly(std::slice::from_ref(&p), &options).unwrap();
        assert!(text.contains("_ZGVbN4v_expf"), "{text}");
    }
    // A program has reals of one precision, and so have its arguments.
    let jit = Jit::compile(std::slice::from_ref(&p), &STRICT).unwrap();
    let mut ys = vec![0.0; 2];
    let doubles = jit.call("exps", &mut [Arg::Int(2), reals(&[1.0, 2.0]), out(&mut ys)]);
    assert!(matches!(doubles, Err(RunError::Arguments(_))), "{doubles:?}");
    assert!(Jit::compile(&[p, dot()], &STRICT).is_err());
}

#[test]
fn failures_carry_their_details() {
    let mut b = Build::new("get");
    let (n, k) = (b.size("n"), b.size("k"));
    let (x, y) = (b.input("x", &[n]), b.output("y", &[]));
    let low = b.op(Op::ILe, &[int(0), k]);
    let high = b.op(Op::ILt, &[k, n]);
    let inside = b.op(Op::BAnd, &[low, high]);
    b.check(Operand::Bool(true), Failure::NegativeSize, &[]);
    b.check(inside, Failure::IndexOutOfRange, &[k, n]);
    let t = b.load(x, &[k]);
    b.store(y, &[], t);
    let jit = Jit::compile(&[b.done()], &Options::default()).unwrap();
    let x = [1.0, 2.0, 3.0];
    let mut y = [0.0];
    jit.call("get", &mut [Arg::Int(3), Arg::Int(2), reals(&x), out(&mut y)]).unwrap();
    assert_eq!(y, [3.0]);
    match jit.call("get", &mut [Arg::Int(3), Arg::Int(7), reals(&x), out(&mut y)]) {
        Err(RunError::Failed { failure: Failure::IndexOutOfRange, site, details }) => {
            assert_eq!((site.span.start, details), (1, vec![7, 3]));
        }
        other => panic!("{other:?}"),
    }
    // Arguments that do not fit never reach the code.
    for args in [
        &mut [Arg::Int(4), Arg::Int(0), reals(&x), out(&mut y)][..],
        &mut [Arg::Int(3), Arg::Int(0), reals(&x)],
    ] {
        assert!(matches!(jit.call("get", args), Err(RunError::Arguments(_))));
    }
    assert!(matches!(jit.call("put", &mut []), Err(RunError::Arguments(_))));
}

#[test]
fn failure_in_a_parallel_loop_is_the_first_chunks() {
    let mut b = Build::new("find");
    let n = b.size("n");
    let (x, y) = (b.input("x", &[n]), b.output("y", &[n]));
    b.for_(n, Parallel::Yes, CarriedKind::Sum, &[], |b, i, _| {
        let t = b.load(x, &[i]);
        let ok = b.op(Op::FLt, &[t, r(0.5)]);
        b.check(ok, Failure::EmptyArray, &[i]);
        let e = b.math(Math::Sin, &[t]);
        b.store(y, &[i], e);
        vec![]
    });
    let jit = Jit::compile(&[b.done()], &Options { threads: 3, ..Options::default() }).unwrap();
    let n = 200_000;
    let (mut x, mut y) = (vec![0.25; n], vec![0.0; n]);
    jit.call("find", &mut [Arg::Int(n as i64), reals(&x), out(&mut y)]).unwrap();
    assert!(y.iter().all(|y| close(*y, 0.25f64.sin(), 1e-14)));
    x[150_000] = 1.0;
    x[190_000] = 1.0;
    match jit.call("find", &mut [Arg::Int(n as i64), reals(&x), out(&mut y)]) {
        Err(RunError::Failed { failure: Failure::EmptyArray, details, .. }) => {
            assert_eq!(details, [150_000])
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn while_if_and_carried_ints() {
    // Collatz steps of k, and the parity pattern through an if.
    let mut b = Build::new("collatz");
    let k = b.size("k");
    let steps = b.array(BufKind::Out, Scalar::Int, "steps", &[]);
    let (m, c) = (b.p.val(Scalar::Int, "m"), b.p.val(Scalar::Int, "c"));
    let (m2, c2) = (b.p.val(Scalar::Int, "m'"), b.p.val(Scalar::Int, "c'"));
    let (cond_block, cond) = b.inner(|b| b.op(Op::ILt, &[int(1), v(m)]));
    let (body, (next_m, next_c)) = b.inner(|b| {
        let parity = b.op(Op::IMod, &[v(m), int(2)]);
        let even = b.op(Op::IEq, &[parity, int(0)]);
        let next = b.if_(
            even,
            |b| b.op(Op::IDiv, &[v(m), int(2)]),
            |b| {
                let t = b.op(Op::IMul, &[v(m), int(3)]);
                b.op(Op::IAdd, &[t, int(1)])
            },
        );
        (next, b.op(Op::IAdd, &[v(c), int(1)]))
    });
    let kind = CarriedKind::Sequential;
    b.code.push(Stmt::While(While {
        carried: vec![
            Carried { param: m, init: k, next: next_m, result: m2, kind },
            Carried { param: c, init: int(0), next: next_c, result: c2, kind },
        ],
        cond_block,
        cond,
        body,
    }));
    b.store(steps, &[], v(c2));
    let jit = Jit::compile(&[b.done()], &Options::default()).unwrap();
    for k in 1..200i64 {
        let mut s = [0i64];
        jit.call("collatz", &mut [Arg::Int(k), Arg::Out(SliceMut::Ints(&mut s))]).unwrap();
        let (mut m, mut steps) = (k, 0);
        while m > 1 {
            m = if m % 2 == 0 { m / 2 } else { 3 * m + 1 };
            steps += 1;
        }
        assert_eq!(s[0], steps, "{k}");
    }
}

/// One procedure of the scalar operations on edge cases, compared with their definition.
#[test]
fn scalar_operations_at_the_edges() {
    type Unary = (Op, fn(f64) -> f64);
    let unary: [Unary; 7] = [
        (Op::FNeg, |x| -x),
        (Op::FAbs, f64::abs),
        (Op::FSqrt, f64::sqrt),
        (Op::FFloor, f64::floor),
        (Op::FCeil, f64::ceil),
        (Op::FRound, f64::round_ties_even),
        (Op::FTrunc, f64::trunc),
    ];
    let mut b = Build::new("reals");
    let x = b.scalar(Scalar::Real, "x");
    let y = b.output("y", &[int(unary.len() as i64 + 1)]);
    let k = b.array(BufKind::Out, Scalar::Int, "k", &[int(2)]);
    for (i, (op, _)) in unary.iter().enumerate() {
        let t = b.op(*op, &[x]);
        b.store(y, &[int(i as i64)], t);
    }
    let bits = b.op(Op::FBits, &[x]);
    let back = b.op(Op::IBits, &[bits]);
    b.store(y, &[int(unary.len() as i64)], back);
    let truncated = b.op(Op::FToI, &[x]);
    b.store(k, &[int(0)], truncated);
    b.store(k, &[int(1)], bits);
    let p = b.done();

    type Binary = (Op, fn(i64, i64) -> i64);
    let floor_mod = |m: i64, n: i64| match n {
        0 => 0,
        _ => {
            (m as i128).rem_euclid((n as i128).abs()) as i64
                + if n < 0 && m as i128 % n as i128 != 0 { n } else { 0 }
        }
    };
    let ints: [Binary; 9] = [
        (Op::IAdd, i64::wrapping_add),
        (Op::ISub, i64::wrapping_sub),
        (Op::IMul, i64::wrapping_mul),
        (Op::IDiv, |m, n| {
            if n == 0 {
                0
            } else {
                (m as i128).div_euclid(n as i128) as i64 - (n < 0 && m as i128 % n as i128 != 0) as i64
            }
        }),
        (Op::IMod, floor_mod),
        (Op::IXor, |m, n| m ^ n),
        (Op::IAnd, |m, n| m & n),
        (Op::IShl, |m, n| ((m as u64) << (n as u64 % 64)) as i64),
        (Op::IShr, |m, n| ((m as u64) >> (n as u64 % 64)) as i64),
    ];
    let mut b = Build::new("ints");
    let (m, n) = (b.size("m"), b.size("n"));
    let z = b.array(BufKind::Out, Scalar::Int, "z", &[int(ints.len() as i64)]);
    for (i, (op, _)) in ints.iter().enumerate() {
        let t = b.op(*op, &[m, n]);
        b.store(z, &[int(i as i64)], t);
    }
    let jit = Jit::compile(&[p, b.done()], &STRICT).unwrap();
    let edges = [
        0.0,
        -0.0,
        0.5,
        1.5,
        2.5,
        -0.5,
        -2.5,
        1e18,
        1e19,
        -1e19,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        4.9e-324,
    ];
    for x in edges {
        let (mut y, mut k) = ([0.0; 8], [0; 2]);
        jit.call("reals", &mut [Arg::Real(x), out(&mut y), Arg::Out(SliceMut::Ints(&mut k))]).unwrap();
        for ((_, f), y) in unary.iter().zip(&y) {
            assert!(f(x).to_bits() == y.to_bits() || (f(x).is_nan() && y.is_nan()), "{x} {y}");
        }
        assert_eq!(y[7].to_bits(), x.to_bits());
        assert_eq!(k, [x as i64, x.to_bits() as i64]);
    }
    let edges = [0, 1, -1, 2, -2, 7, -7, 63, 64, i64::MAX, i64::MIN];
    for m in edges {
        for n in edges {
            let mut z = [0; 9];
            jit.call("ints", &mut [Arg::Int(m), Arg::Int(n), Arg::Out(SliceMut::Ints(&mut z))]).unwrap();
            for ((op, f), z) in ints.iter().zip(&z) {
                assert_eq!(f(m, n), *z, "{op:?} {m} {n}");
            }
        }
    }
}

#[test]
fn comparisons_selects_and_bools() {
    let ops: [(Op, fn(f64, f64) -> bool); 4] = [
        (Op::FEq, |x, y| x == y),
        (Op::FNe, |x, y| x != y),
        (Op::FLt, |x, y| x < y),
        (Op::FLe, |x, y| x <= y),
    ];
    let mut b = Build::new("compare");
    let (x, y, p) = (b.scalar(Scalar::Real, "x"), b.scalar(Scalar::Real, "y"), b.scalar(Scalar::Bool, "p"));
    let flags = b.array(BufKind::In, Scalar::Bool, "flags", &[int(2)]);
    let z = b.array(BufKind::Out, Scalar::Bool, "z", &[int(6)]);
    let w = b.output("w", &[]);
    for (i, (op, _)) in ops.iter().enumerate() {
        let t = b.op(*op, &[x, y]);
        b.store(z, &[int(i as i64)], t);
    }
    let (f, g) = (b.load(flags, &[int(0)]), b.load(flags, &[int(1)]));
    let or = b.op(Op::BOr, &[f, g]);
    let not = b.op(Op::BNot, &[or]);
    let same = b.op(Op::BEq, &[not, p]);
    b.store(z, &[int(4)], not);
    b.store(z, &[int(5)], same);
    let s = b.op(Op::Select, &[p, x, y]);
    b.store(w, &[], s);
    let jit = Jit::compile(&[b.done()], &STRICT).unwrap();
    for (x, y) in [(1.0, 2.0), (2.0, 2.0), (f64::NAN, 1.0), (0.0, -0.0)] {
        for p in [false, true] {
            for flags in [[false, false], [true, false]] {
                let (mut z, mut w) = ([false; 6], [0.0]);
                let mut args = [
                    Arg::Real(x),
                    Arg::Real(y),
                    Arg::Bool(p),
                    Arg::In(Slice::Bools(&flags)),
                    Arg::Out(SliceMut::Bools(&mut z)),
                    out(&mut w),
                ];
                jit.call("compare", &mut args).unwrap();
                for ((_, f), z) in ops.iter().zip(&z) {
                    assert_eq!(f(x, y), *z);
                }
                let not = !flags[0];
                assert_eq!((z[4], z[5]), (not, not == p));
                assert_eq!(w[0].to_bits(), if p { x } else { y }.to_bits());
            }
        }
    }
}

#[test]
fn argsort_is_stable_with_nan_last() {
    let mut b = Build::new("order");
    let n = b.size("n");
    let keys = b.input("keys", &[n]);
    let ints = b.array(BufKind::In, Scalar::Int, "ints", &[n]);
    let perm = b.array(BufKind::Out, Scalar::Int, "perm", &[n]);
    let perm_ints = b.array(BufKind::Out, Scalar::Int, "perm_ints", &[n]);
    b.code.push(Stmt::Argsort { keys, perm });
    b.code.push(Stmt::Argsort { keys: ints, perm: perm_ints });
    let jit = Jit::compile(&[b.done()], &Options::default()).unwrap();
    for n in [0usize, 1, 2, 3, 17, 1000] {
        let mut keys: Vec<f64> = numbers(n, 9).iter().map(|x| (x * 8.0).round()).collect();
        if n > 3 {
            keys[2] = f64::NAN;
        }
        let ints: Vec<i64> = keys.iter().map(|x| -(*x as i64)).collect();
        let (mut perm, mut perm_ints) = (vec![0i64; n], vec![0i64; n]);
        let mut args = [
            Arg::Int(n as i64),
            reals(&keys),
            Arg::In(Slice::Ints(&ints)),
            Arg::Out(SliceMut::Ints(&mut perm)),
            Arg::Out(SliceMut::Ints(&mut perm_ints)),
        ];
        jit.call("order", &mut args).unwrap();
        let mut expected: Vec<i64> = (0..n as i64).collect();
        expected.sort_by(|a, b| {
            let (x, y) = (keys[*a as usize], keys[*b as usize]);
            x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
        });
        assert_eq!(perm, expected);
        let mut expected: Vec<i64> = (0..n as i64).collect();
        expected.sort_by_key(|a| ints[*a as usize]);
        assert_eq!(perm_ints, expected);
    }
}

/// Local buffers of unknown size outside and inside loops, a small one on the stack, fills, copies, a downward loop.
#[test]
fn local_buffers() {
    let mut b = Build::new("locals");
    let n = b.size("n");
    let (x, y, z) = (b.input("x", &[n]), b.output("y", &[n, n]), b.output("z", &[n]));
    let whole = b.local("whole", &[n, n]);
    b.fill(whole, r(2.5));
    b.each(n, |b, i| {
        let row = b.local("row", &[n]);
        b.code.push(Stmt::Copy { dst: row, src: x });
        let small = b.local("small", &[int(4)]);
        b.fill(small, r(0.0));
        b.each(n, |b, j| {
            let slot = b.op(Op::IMod, &[j, int(4)]);
            let t = b.load(row, &[j]);
            b.accum(small, &[slot], t);
        });
        b.each(n, |b, j| {
            let slot = b.op(Op::IMod, &[j, int(4)]);
            let t = b.load(small, &[slot]);
            let w = b.load(whole, &[i, j]);
            let t = b.op(Op::FMul, &[t, w]);
            b.store(y, &[i, j], t);
        });
    });
    // z = suffix sums of x
    b.for_dir(n, true, Parallel::No, CarriedKind::Sequential, &[r(0.0)], |b, i, s| {
        let t = b.load(x, &[i]);
        let t = b.op(Op::FAdd, &[s[0], t]);
        b.store(z, &[i], t);
        vec![t]
    });
    let jit = Jit::compile(&[b.done()], &STRICT).unwrap();
    for n in [0usize, 1, 7, 300] {
        let x = numbers(n, 10);
        let (mut y, mut z) = (vec![0.0; n * n], vec![0.0; n]);
        jit.call("locals", &mut [Arg::Int(n as i64), reals(&x), out(&mut y), out(&mut z)]).unwrap();
        let mut sums = [0.0; 4];
        x.iter().enumerate().for_each(|(j, x)| sums[j % 4] += x);
        assert!(y.iter().enumerate().all(|(k, y)| *y == 2.5 * sums[k % n % 4]));
        let mut s = 0.0;
        for i in (0..n).rev() {
            s += x[i];
            assert_eq!(z[i], s);
        }
    }
}

/// Scatter-add of many into few, and a buffer accumulated at the loop's own index, over threads.
#[test]
fn parallel_accumulation() {
    let mut b = Build::new("histogram");
    let (n, k) = (b.size("n"), b.size("k"));
    let (x, slot) = (b.input("x", &[n]), b.array(BufKind::In, Scalar::Int, "slot", &[n]));
    let (h, own) = (b.output("h", &[k]), b.output("own", &[n]));
    let count = b.array(BufKind::Out, Scalar::Int, "count", &[]);
    b.fill(h, r(0.0));
    b.fill(own, r(1.0));
    let total = b.for_(n, Parallel::Yes, CarriedKind::Sum, &[int(0)], |b, i, s| {
        let (t, at) = (b.load(x, &[i]), b.load(slot, &[i]));
        let e = b.math(Math::Tanh, &[t]);
        b.accum(h, &[at], e);
        b.accum(own, &[i], e);
        b.accum(own, &[i], e);
        vec![b.op(Op::IAdd, &[s[0], at])]
    })[0];
    b.store(count, &[], total);
    let p = b.done();
    let (n, k) = (100_000usize, 10usize);
    let x = numbers(n, 11);
    let slot: Vec<i64> = (0..n).map(|i| (i * 7 % k) as i64).collect();
    let mut seen: Option<Vec<f64>> = None;
    for threads in [1, 2, 3] {
        let jit = Jit::compile(std::slice::from_ref(&p), &Options { threads, ..Options::default() }).unwrap();
        let (mut h, mut own, mut count) = (vec![0.0; k], vec![0.0; n], [0i64]);
        let mut args = [
            Arg::Int(n as i64),
            Arg::Int(k as i64),
            reals(&x),
            Arg::In(Slice::Ints(&slot)),
            out(&mut h),
            out(&mut own),
            Arg::Out(SliceMut::Ints(&mut count)),
        ];
        jit.call("histogram", &mut args).unwrap();
        let mut expected = vec![0.0; k];
        x.iter().zip(&slot).for_each(|(x, s)| expected[*s as usize] += x.tanh());
        assert!(h.iter().zip(&expected).all(|(a, b)| close(*a, *b, 1e-10)));
        assert!(own.iter().zip(&x).all(|(o, x)| close(*o, 1.0 + 2.0 * x.tanh(), 1e-14)));
        assert_eq!(count[0], slot.iter().sum::<i64>());
        match &seen {
            None => seen = Some(h),
            Some(s) => assert_eq!(s, &h),
        }
    }
}

#[test]
fn powers() {
    let exponents = [0i64, 1, 2, 3, -1, -5, 13, 64];
    let mut b = Build::new("powers");
    let (x, k) = (b.scalar(Scalar::Real, "x"), b.size("k"));
    let y = b.output("y", &[int(exponents.len() as i64 + 1)]);
    for (i, e) in exponents.iter().enumerate() {
        let t = b.math(Math::PowInt, &[x, int(*e)]);
        b.store(y, &[int(i as i64)], t);
    }
    let t = b.math(Math::PowInt, &[x, k]);
    b.store(y, &[int(exponents.len() as i64)], t);
    let jit = Jit::compile(&[b.done()], &STRICT).unwrap();
    for x in [0.0, -0.0, 1.5, -1.5, 1e100, f64::NAN, f64::INFINITY] {
        for k in [0, 5, -3, 100, i64::MIN] {
            let mut y = [0.0; 9];
            jit.call("powers", &mut [Arg::Real(x), Arg::Int(k), out(&mut y)]).unwrap();
            for (e, y) in exponents.iter().chain([&k]).zip(&y) {
                let expected = runtime::support::adc_powi(x, *e);
                assert!(
                    expected.to_bits() == y.to_bits() || (expected.is_nan() && y.is_nan()),
                    "{x}^{e}: {y} {expected}"
                );
            }
        }
    }
}

#[test]
fn malformed_procedures_are_errors() {
    let mut b = Build::new("bad");
    let y = b.output("y", &[]);
    let ghost = b.p.val(Scalar::Real, "ghost");
    b.store(y, &[], v(ghost));
    assert!(Jit::compile(&[b.done()], &Options::default()).is_err());
    let mut b = Build::new("bad");
    let y = b.output("y", &[]);
    b.store(y, &[int(0)], r(0.0));
    assert!(Jit::compile(&[b.done()], &Options::default()).is_err());
}

#[test]
fn one_jit_serves_many_threads() {
    let jit = Jit::compile(&[dot(), logistic()], &Options::default()).unwrap();
    std::thread::scope(|s| {
        for t in 0..4u64 {
            let jit = &jit;
            s.spawn(move || {
                let n = 50_000;
                let (x, y) = (numbers(n, t + 20), numbers(n, t + 30));
                let mut z = [0.0];
                jit.call("dot", &mut [Arg::Int(n as i64), reals(&x), reals(&y), out(&mut z)]).unwrap();
                let expected: f64 = x.iter().zip(&y).map(|(a, b)| a * b).sum();
                assert!(close(z[0], expected, 1e-10));
            });
        }
    });
}

/// Memory that cannot be had, for its size or because the size leaves 64 bits, ends the call.
#[test]
fn out_of_memory_is_an_error() {
    let mut b = Build::new("huge");
    let n = b.size("n");
    let y = b.output("y", &[]);
    let huge = b.local("huge", &[n, n]);
    b.store(huge, &[int(0), int(0)], r(1.0));
    let t = b.load(huge, &[int(0), int(0)]);
    b.store(y, &[], t);
    let jit = Jit::compile(&[b.done()], &Options { opt_level: 0, ..STRICT }).unwrap();
    let mut y = [0.0];
    jit.call("huge", &mut [Arg::Int(3), out(&mut y)]).unwrap();
    assert_eq!(y, [1.0]);
    for n in [1 << 28, 1 << 40, i64::MAX] {
        assert_eq!(jit.call("huge", &mut [Arg::Int(n), out(&mut y)]), Err(RunError::OutOfMemory));
    }
}

/// Memory for the iterations of a loop is taken before it, in the size that is asked for there; none for a loop that does not run.
#[test]
fn memory_for_a_loop() {
    for parallel in [Parallel::No, Parallel::Yes, Parallel::Lanes] {
        let mut b = Build::new("powers");
        let (m, n) = (b.size("m"), b.size("n"));
        let result = b.output("result", &[m]);
        b.for_(m, parallel, CarriedKind::Sum, &[], |b, i, _| {
            let work = b.local("work", &[n]);
            let x = b.op(Op::IToF, &[i]);
            b.fill(work, x);
            b.each(n, |b, j| b.accum(work, &[j], r(1.0)));
            let first = b.load(work, &[int(0)]);
            let last = b.op(Op::ISub, &[n, int(1)]);
            let last = b.load(work, &[last]);
            let product = b.op(Op::FMul, &[first, last]);
            b.store(result, &[i], product);
            vec![]
        });
        let jit = Jit::compile(&[b.done()], &STRICT).unwrap();
        let mut found = vec![f64::NAN; 37];
        jit.call("powers", &mut [Arg::Int(37), Arg::Int(1000), out(&mut found)]).unwrap();
        let expected: Vec<f64> = (0..37).map(|i| f64::from((i + 1) * (i + 1))).collect();
        assert_eq!(found, expected);
        // A machine with so much memory is not built.
        jit.call("powers", &mut [Arg::Int(0), Arg::Int(1 << 59), out(&mut [])]).unwrap();
        let none = jit.call("powers", &mut [Arg::Int(1), Arg::Int(1 << 59), out(&mut [0.0])]);
        assert!(matches!(none, Err(RunError::OutOfMemory)), "{none:?}");
    }
}
