//! Worked pictures: what comes in as emission gives it, what must come out.

use super::*;
use lang::core::Lit;
use lang::loops::build::Builder;
use lang::prim::Scalar;

const REAL: Scalar = Scalar::Real;
const ZERO: Operand = Operand::Real(0.0);
const ONE: Operand = Operand::Real(1.0);

/// Numbers that look random and are not.
fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|k| ((k * 7919 + 13) % 101) as f64 / 50.0 - 1.0).collect()
}
fn vector(n: usize) -> Arg {
    Arg::Array(Array::reals([n], numbers(n)))
}
fn matrix(n: usize, d: usize) -> Arg {
    Arg::Array(Array::reals([n, d], numbers(n * d)))
}
fn size(n: usize) -> Arg {
    Arg::Scalar(Lit::Int(n as i64))
}

fn neg(b: &mut Builder, x: Operand) -> Operand {
    b.op(Op::FNeg, &[x])
}
fn mul(b: &mut Builder, x: Operand, y: Operand) -> Operand {
    b.op(Op::FMul, &[x, y])
}
fn exp(b: &mut Builder, x: Operand) -> Operand {
    b.op(Op::Math(Math::Exp), &[x])
}
/// ln(1 + exp z), written as max(z, 0) + log1p(exp(−|z|)).
fn softplus(b: &mut Builder, z: Operand) -> Operand {
    let a = b.op(Op::FAbs, &[z]);
    let m = neg(b, a);
    let e = exp(b, m);
    let l = b.op(Op::Math(Math::Log1p), &[e]);
    let positive = b.op(Op::FLt, &[ZERO, z]);
    let top = b.op(Op::Select, &[positive, z, ZERO]);
    b.op(Op::FAdd, &[top, l])
}
/// 1 / (1 + exp(−|z|)), or 1 minus that.
fn sigmoid(b: &mut Builder, z: Operand) -> Operand {
    let a = b.op(Op::FAbs, &[z]);
    let m = neg(b, a);
    let e = exp(b, m);
    let d = b.op(Op::FAdd, &[ONE, e]);
    let positive = b.op(Op::FLt, &[ZERO, z]);
    let top = b.op(Op::Select, &[positive, ONE, e]);
    b.op(Op::FDiv, &[top, d])
}

/// The value and gradient of the logistic loss, as two loops with a kept m.
fn logistic(value: bool) -> Proc {
    let mut b = Builder::new("logistic");
    let (n, d) = (b.scalar(Scalar::Int, "n"), b.scalar(Scalar::Int, "d"));
    let w = b.array("w", REAL, &[d], BufKind::In);
    let xs = b.array("xs", REAL, &[n, d], BufKind::In);
    let ys = b.array("ys", REAL, &[n], BufKind::In);
    let loss = value.then(|| b.array("loss", REAL, &[], BufKind::Out));
    let w_bar = b.array("w_bar", REAL, &[d], BufKind::Out);
    let ms = b.alloc("ms", REAL, &[n]);
    let s = b.sum("s", "i", n, |b, i| {
        let m = b.sum("m", "j", d, |b, j| {
            let (x, y) = (b.load(w, &[j]), b.load(xs, &[i, j]));
            mul(b, x, y)
        });
        b.store(ms, &[i], m);
        let y = b.load(ys, &[i]);
        let ym = mul(b, y, m);
        let z = neg(b, ym);
        softplus(b, z)
    });
    let count = b.op(Op::IToF, &[n]);
    let mean = b.op(Op::FDiv, &[s, count]);
    if let Some(loss) = loss {
        b.store(loss, &[], mean);
    }
    b.fill(w_bar, ZERO);
    b.each("i", n, |b, i| {
        let count = b.op(Op::IToF, &[n]);
        let seed = b.op(Op::FDiv, &[ONE, count]);
        let m = b.load(ms, &[i]);
        let y = b.load(ys, &[i]);
        let ym = mul(b, y, m);
        let z = neg(b, ym);
        let g = sigmoid(b, z);
        let gw = mul(b, g, seed);
        let z_bar = neg(b, gw);
        let y2 = b.load(ys, &[i]);
        let m_bar = mul(b, y2, z_bar);
        b.each("j", d, |b, j| {
            let x = b.load(xs, &[i, j]);
            let v = mul(b, m_bar, x);
            b.accum(w_bar, &[j], v);
        });
    });
    b.finish()
}

fn logistic_args() -> Vec<Arg> {
    vec![size(6), size(4), vector(4), matrix(6, 4), vector(6)]
}

#[test]
fn logistic_is_one_loop() {
    let (before, after, p) = optimised(&logistic(true), Options::default(), &logistic_args());
    let shown = text::print(&p);
    assert!(agree(&before.outs, &after.outs, 0.0), "{shown}");
    assert!(after.cost < before.cost, "{} to {}", before.cost, after.cost);
    let want = "\
proc logistic(n : int, d : int, in w : real[d], in xs : real[n, d], in ys : real[n], out loss : real[], out w_bar : real[d]) {
  t_12 = real(n)
  w_bar := 0.0
  t_15 = 1.0 / t_12
  s_1 = for i < n parallel carry s = 0.0 (sum) {
    m_1 = for j < d parallel carry m = 0.0 (sum) {
      next m = m + w[j] * xs[i, j]
    }
    ys_1 = ys[i]
    t_2 = ys_1 * m_1
    t_3 = -t_2
    t_6 = exp(-abs(t_2))
    t_8 = 0.0 < t_3
    t_27 = ys_1 * (-(select(t_8, 1.0, t_6) / (1.0 + t_6) * t_15))
    for j_1 < d parallel {
      w_bar[j_1] += t_27 * xs[i, j_1]
    }
    next s = s + (select(t_8, t_3, 0.0) + log1p(t_6))
  }
  loss[] = s_1 / t_12
}
";
    assert_eq!(shown, want);
}

#[test]
fn nobody_asked_for_the_value() {
    let (before, after, p) = optimised(&logistic(false), Options::default(), &logistic_args());
    let shown = text::print(&p);
    assert!(agree(&before.outs, &after.outs, 0.0), "{shown}");
    assert!(!shown.contains("log1p") && !shown.contains("carry s") && !shown.contains("ms"), "{shown}");
    assert_eq!(shown.matches("for i").count(), 1, "{shown}");
}
