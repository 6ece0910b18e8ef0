//! The loop IR's own tests: a procedure in text, checked, run; and each invariant broken once.

use super::build::Builder;
use super::eval::{Arg, Array, Stop, run};
use super::*;
use crate::core::Lit;

const REAL: Scalar = Scalar::Real;

/// The gradient of Σ_i w·x_i, in two loops with a kept m.
fn gradient() -> Proc {
    let mut b = Builder::new("gradient");
    let (n, d) = (b.scalar(Scalar::Int, "n"), b.scalar(Scalar::Int, "d"));
    let w = b.array("w", REAL, &[d], BufKind::In);
    let xs = b.array("xs", REAL, &[n, d], BufKind::In);
    let w_bar = b.array("w_bar", REAL, &[d], BufKind::Out);
    let total = b.array("total", REAL, &[], BufKind::Out);
    let ms = b.alloc("ms", REAL, &[n]);
    let s = b.sum("s", "i", n, |b, i| {
        let m = b.sum("m", "j", d, |b, j| {
            let (x, y) = (b.load(w, &[j]), b.load(xs, &[i, j]));
            b.op(Op::FMul, &[x, y])
        });
        b.store(ms, &[i], m);
        b.op(Op::FMul, &[m, m])
    });
    b.store(total, &[], s);
    b.fill(w_bar, Operand::Real(0.0));
    b.each("i", n, |b, i| {
        let m = b.load(ms, &[i]);
        let m_bar = b.op(Op::FMul, &[Operand::Real(2.0), m]);
        b.each("j", d, |b, j| {
            let x = b.load(xs, &[i, j]);
            let v = b.op(Op::FMul, &[m_bar, x]);
            b.accum(w_bar, &[j], v);
        });
    });
    b.finish()
}

fn arguments() -> Vec<Arg> {
    vec![
        Arg::Scalar(Lit::Int(2)),
        Arg::Scalar(Lit::Int(3)),
        Arg::Array(Array::reals([3], [1.0, 2.0, 3.0])),
        Arg::Array(Array::reals([2, 3], [1.0, 0.0, 1.0, 0.0, 1.0, -1.0])),
    ]
}

#[test]
fn text() {
    let want = "\
proc gradient(n : int, d : int, in w : real[d], in xs : real[n, d], out w_bar : real[d], out total : real[]) {
  var ms : real[n]
  s_1 = for i < n carry s = 0.0 (sum) {
    m_1 = for j < d carry m = 0.0 (sum) {
      next m = m + w[j] * xs[i, j]
    }
    ms[i] = m_1
    next s = s + m_1 * m_1
  }
  total[] = s_1
  w_bar := 0.0
  for i_1 < n {
    m_bar = 2.0 * ms[i_1]
    for j_1 < d {
      w_bar[j_1] += m_bar * xs[i_1, j_1]
    }
  }
}
";
    let mut p = gradient();
    // The builder calls results of operations t; give the one with several uses its name.
    if let Some(Stmt::For(l)) = p.body.last()
        && let Stmt::Let { dst, .. } = l.body[1]
    {
        p.vals[dst.0 as usize].1 = "m_bar".into();
    }
    assert_eq!(text::print(&p), want);
    assert!(text::print_flat(&p).contains("\n      w_1 = w[j]\n"), "{}", text::print_flat(&p));
}

#[test]
fn a_load_is_not_written_past_a_store() {
    let mut b = Builder::new("swap");
    let a = b.array("a", REAL, &[Operand::Int(2)], BufKind::Out);
    b.fill(a, Operand::Real(1.0));
    let x = b.load(a, &[Operand::Int(0)]);
    b.store(a, &[Operand::Int(0)], Operand::Real(2.0));
    b.store(a, &[Operand::Int(1)], x);
    let text = text::print(&b.finish());
    assert!(text.contains("a_1 = a[0]\n  a[0] = 2.0\n  a[1] = a_1"), "{text}");
}

#[test]
fn value_and_cost() {
    let p = gradient();
    assert_eq!(verify::verify(&p), Ok(()));
    let out = run(&p, &arguments()).unwrap();
    // m = (4, -1), Σ m² = 17, Σ 2 m x
    assert_eq!(out.outs, [Array::reals([3], [8.0, -2.0, 10.0]), Array::reals([], [17.0])]);
    // Row costs of + and × are 1. First loop: 2·(3·(1+2+2) + 1 + 1 + 2); store of the total 1; fill 3; second: 2·(1 + 1 + 1 + 3·(1+1+1+3)).
    assert_eq!(out.cost, 38 + 1 + 3 + 42);
}

#[test]
fn checks_fail_with_details() {
    let mut b = Builder::new("check");
    let k = b.scalar(Scalar::Int, "k");
    let site = Site { def: "f".into(), span: crate::diag::Span::new(3, 5) };
    b.p.failures.push((Failure::IndexOutOfRange, site.clone()));
    let ok = b.op(Op::ILt, &[k, Operand::Int(3)]);
    b.push(Stmt::Check { cond: ok, failure: 0, details: vec![k, Operand::Int(3)] });
    let p = b.finish();
    verify::verify(&p).unwrap();
    assert!(run(&p, &[Arg::Scalar(Lit::Int(2))]).is_ok());
    let failed = Stop::Failed { failure: Failure::IndexOutOfRange, site, details: vec![7, 3] };
    assert_eq!(run(&p, &[Arg::Scalar(Lit::Int(7))]), Err(failed));
}

#[test]
fn out_of_range_is_a_bug() {
    let mut b = Builder::new("wild");
    let a = b.array("a", REAL, &[Operand::Int(2)], BufKind::Out);
    b.store(a, &[Operand::Int(2)], Operand::Real(1.0));
    assert!(matches!(run(&b.finish(), &[]), Err(Stop::Bug(m)) if m.contains("outside")));
}

#[test]
fn down_and_while_and_argsort() {
    let mut b = Builder::new("loops");
    let (three, zero) = (Operand::Int(3), Operand::Int(0));
    let keys = b.array("keys", REAL, &[three], BufKind::In);
    let perm = b.array("perm", Scalar::Int, &[three], BufKind::Out);
    let last = b.array("last", Scalar::Int, &[], BufKind::Out);
    b.push(Stmt::Argsort { keys, perm });
    let r = b.fold("i", three, &[("s", zero)], CarriedKind::Sequential, |_, i, _| vec![i]);
    // Doubles until it is 8 or more.
    let (param, result) = (b.p.val(Scalar::Int, "x"), b.p.val(Scalar::Int, "x"));
    let (cond_block, cond) = b.block(|b| b.op(Op::ILt, &[Operand::Val(param), Operand::Int(8)]));
    let (body, next) = b.block(|b| b.op(Op::IAdd, &[Operand::Val(param), Operand::Val(param)]));
    let carried = vec![Carried { param, init: Operand::Int(3), next, result, kind: CarriedKind::Sequential }];
    b.push(Stmt::While(While { carried, cond_block, cond, body }));
    let sum = b.op(Op::IAdd, &[r[0], Operand::Val(result)]);
    b.store(last, &[], sum);
    let mut p = b.finish();
    let args = [Arg::Array(Array::reals([3], [f64::NAN, 2.0, -1.0]))];
    verify::verify(&p).unwrap();
    assert_eq!(run(&p, &args).unwrap().outs, [Array::ints([3], [2, 1, 0]), Array::ints([], [2 + 12])]);
    if let Stmt::For(l) = &mut p.body[1] {
        l.down = true;
    }
    assert_eq!(run(&p, &args).unwrap().outs[1], Array::ints([], [12]));
}

/// Changes the gradient so that one invariant fails, and expects its name.
fn breaks(name: &str, change: impl FnOnce(&mut Proc)) {
    let mut p = gradient();
    change(&mut p);
    let message = verify::verify(&p).expect_err(name);
    assert!(message.starts_with(&format!("{name}:")), "{name} expected: {message}");
}

fn first_loop(p: &mut Proc) -> &mut For {
    match &mut p.body[1] {
        Stmt::For(l) => l,
        other => panic!("{other:?}"),
    }
}

#[test]
fn invariants() {
    breaks("once", |p| {
        let s = p.body[1].clone();
        p.body.push(s)
    });
    breaks("scope", |p| p.body.swap(0, 1));
    breaks("scope", |p| {
        let inner = first_loop(p).body[0].clone();
        let m = walk::results(&inner)[0];
        let total = Buf(3);
        p.body.push(Stmt::Store { buf: total, index: vec![], value: Operand::Val(m) })
    });
    breaks("type", |p| p.body.push(Stmt::Fill { buf: Buf(2), value: Operand::Int(0) }));
    breaks("type", |p| first_loop(p).extent = Operand::Real(1.0));
    breaks("rank", |p| p.body.push(Stmt::Store { buf: Buf(2), index: vec![], value: Operand::Real(0.0) }));
    breaks("shape", |p| p.bufs[4].shape = vec![Operand::Real(1.0)]);
    breaks("shape", |p| p.body.push(Stmt::Copy { dst: Buf(2), src: Buf(1) }));
    breaks("in", |p| p.body.push(Stmt::Fill { buf: Buf(0), value: Operand::Real(0.0) }));
    breaks("accum", |p| {
        p.bufs[2].elem = Scalar::Int;
        p.body.retain(|s| !matches!(s, Stmt::Fill { .. }))
    });
    breaks("failure", |p| {
        p.body.push(Stmt::Check { cond: Operand::Bool(true), failure: 0, details: vec![] })
    });
    breaks("sum", |p| {
        let l = first_loop(p);
        let s = l.carried[0].param;
        l.body.retain(|x| !matches!(x, Stmt::Let { op: Op::FAdd, .. }));
        l.carried[0].next = Operand::Real(0.0);
        assert!(!is_read(&l.body, s));
    });
    breaks("parallel", |p| {
        let l = first_loop(p);
        l.parallel = Parallel::Yes;
        let i = l.index;
        l.body.push(Stmt::Store { buf: Buf(3), index: vec![], value: Operand::Real(0.0) });
        assert!(is_read(&l.body, i));
    });
    breaks("parallel", |p| {
        let l = first_loop(p);
        l.parallel = Parallel::Yes;
        l.carried[0].kind = CarriedKind::Sequential;
    });
    let mut p = gradient();
    first_loop(&mut p).parallel = Parallel::Yes;
    assert_eq!(verify::verify(&p), Ok(()));
}

fn is_read(block: &[Stmt], v: Val) -> bool {
    let mut found = false;
    walk::each_operand(block, &mut |o| found |= o == Operand::Val(v));
    found
}

/// A primitive that is lowered to one operation means what the operation means, bit for bit.
#[test]
fn operations_agree_with_their_primitives() {
    use crate::prim::{Lowering, Prim};
    for p in Prim::ALL {
        let row = p.row();
        let Lowering::Op(op) = row.lowering else { continue };
        for k in 0..40 {
            let literal = |(at, ty): (usize, &Scalar)| {
                let (low, high) = row.samples[at];
                let x = low + (high - low) * (((k * 37 + at * 11) % 41) as f64 / 40.0);
                match ty {
                    Scalar::Real => Lit::Real(x),
                    Scalar::Int => Lit::Int(x as i64),
                    Scalar::Bool => Lit::Bool(x > 0.5),
                }
            };
            let args: Vec<Lit> = row.args.iter().enumerate().map(literal).collect();
            let (want, got) = ((row.eval)(&args), ops::apply(op, &args, Precision::Double).unwrap());
            let bits = |l: Lit| match l {
                Lit::Real(x) => x.to_bits(),
                Lit::Int(k) => k as u64,
                Lit::Bool(b) => b as u64,
            };
            assert_eq!(bits(want), bits(got), "{op:?} at {args:?}: {want:?} and {got:?}");
        }
    }
}
