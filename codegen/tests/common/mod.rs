//! Procedures built by hand.
#![allow(dead_code)]

use lang::diag::{Failure, Site, Span};
use lang::loops::*;
use lang::prim::Scalar;

pub fn v(v: Val) -> Operand {
    Operand::Val(v)
}
pub fn r(x: f64) -> Operand {
    Operand::Real(x)
}
pub fn int(k: i64) -> Operand {
    Operand::Int(k)
}

/// A procedure and the block being written.
pub struct Build {
    pub p: Proc,
    pub code: Vec<Stmt>,
}

impl Build {
    pub fn new(name: &str) -> Build {
        Build { p: Proc::new(name), code: vec![] }
    }
    pub fn size(&mut self, name: &str) -> Operand {
        self.scalar(Scalar::Int, name)
    }
    pub fn scalar(&mut self, ty: Scalar, name: &str) -> Operand {
        let x = self.p.val(ty, name);
        self.p.params.push(Param::Scalar(x));
        v(x)
    }
    pub fn array(&mut self, kind: BufKind, elem: Scalar, name: &str, shape: &[Operand]) -> Buf {
        let b = self.p.buf(BufInfo { name: name.into(), elem, shape: shape.to_vec(), kind });
        match kind {
            BufKind::In | BufKind::Out | BufKind::Acc => self.p.params.push(Param::Array(b)),
            BufKind::Local => self.code.push(Stmt::Alloc { buf: b }),
            BufKind::Kept | BufKind::View => unreachable!("the tests have none of the region"),
        }
        b
    }
    pub fn input(&mut self, name: &str, shape: &[Operand]) -> Buf {
        self.array(BufKind::In, Scalar::Real, name, shape)
    }
    pub fn output(&mut self, name: &str, shape: &[Operand]) -> Buf {
        self.array(BufKind::Out, Scalar::Real, name, shape)
    }
    pub fn local(&mut self, name: &str, shape: &[Operand]) -> Buf {
        self.array(BufKind::Local, Scalar::Real, name, shape)
    }
    fn result_type(&self, op: Op, args: &[Operand]) -> Scalar {
        match op {
            Op::FEq | Op::FNe | Op::FLt | Op::FLe | Op::IEq | Op::INe | Op::ILt | Op::ILe => Scalar::Bool,
            Op::BAnd | Op::BOr | Op::BNot | Op::BEq => Scalar::Bool,
            Op::IAdd
            | Op::ISub
            | Op::IMul
            | Op::IDiv
            | Op::IMod
            | Op::IXor
            | Op::IAnd
            | Op::IShl
            | Op::IShr => Scalar::Int,
            Op::FToI | Op::FBits => Scalar::Int,
            Op::Select => self.p.type_of(args[1]),
            _ => Scalar::Real,
        }
    }
    pub fn op(&mut self, op: Op, args: &[Operand]) -> Operand {
        let dst = self.p.val(self.result_type(op, args), "t");
        self.code.push(Stmt::Let { dst, op, args: args.to_vec() });
        v(dst)
    }
    pub fn math(&mut self, m: Math, args: &[Operand]) -> Operand {
        self.op(Op::Math(m), args)
    }
    pub fn load(&mut self, buf: Buf, index: &[Operand]) -> Operand {
        let dst = self.p.val(self.p.info(buf).elem, "x");
        self.code.push(Stmt::Load { dst, buf, index: index.to_vec() });
        v(dst)
    }
    pub fn store(&mut self, buf: Buf, index: &[Operand], value: Operand) {
        self.code.push(Stmt::Store { buf, index: index.to_vec(), value });
    }
    pub fn accum(&mut self, buf: Buf, index: &[Operand], value: Operand) {
        self.code.push(Stmt::Accum { buf, index: index.to_vec(), value });
    }
    pub fn fill(&mut self, buf: Buf, value: Operand) {
        self.code.push(Stmt::Fill { buf, value });
    }
    pub fn check(&mut self, cond: Operand, failure: Failure, details: &[Operand]) {
        let site = Site { def: self.p.name.clone(), span: Span::new(self.p.failures.len(), 100) };
        self.p.failures.push((failure, site));
        self.code.push(Stmt::Check { cond, failure: self.p.failures.len() - 1, details: details.to_vec() });
    }
    /// The statements `body` writes.
    pub fn inner<R>(&mut self, body: impl FnOnce(&mut Build) -> R) -> (Block, R) {
        let outer = std::mem::take(&mut self.code);
        let result = body(self);
        (std::mem::replace(&mut self.code, outer), result)
    }
    /// for i < extent, with carried scalars from `inits`; `body(i, params)` returns their next values. The results.
    pub fn for_(
        &mut self,
        extent: Operand,
        parallel: Parallel,
        kind: CarriedKind,
        inits: &[Operand],
        body: impl FnOnce(&mut Build, Operand, &[Operand]) -> Vec<Operand>,
    ) -> Vec<Operand> {
        self.for_dir(extent, false, parallel, kind, inits, body)
    }
    pub fn for_dir(
        &mut self,
        extent: Operand,
        down: bool,
        parallel: Parallel,
        kind: CarriedKind,
        inits: &[Operand],
        body: impl FnOnce(&mut Build, Operand, &[Operand]) -> Vec<Operand>,
    ) -> Vec<Operand> {
        let index = self.p.val(Scalar::Int, "i");
        let params: Vec<Val> = inits.iter().map(|i| self.p.val(self.p.type_of(*i), "s")).collect();
        let operands: Vec<Operand> = params.iter().map(|p| v(*p)).collect();
        let (block, nexts) = self.inner(|b| body(b, v(index), &operands));
        let carried: Vec<Carried> = params
            .iter()
            .zip(inits)
            .zip(nexts)
            .map(|((param, init), next)| {
                let result = self.p.val(self.p.type_of(*init), "r");
                Carried { param: *param, init: *init, next, result, kind }
            })
            .collect();
        let results = carried.iter().map(|c| v(c.result)).collect();
        self.code.push(Stmt::For(For { index, extent, down, carried, body: block, parallel }));
        results
    }
    pub fn each(&mut self, extent: Operand, body: impl FnOnce(&mut Build, Operand)) {
        self.for_(extent, Parallel::No, CarriedKind::Sequential, &[], |b, i, _| {
            body(b, i);
            vec![]
        });
    }
    pub fn sum(
        &mut self,
        extent: Operand,
        parallel: Parallel,
        body: impl FnOnce(&mut Build, Operand) -> Operand,
    ) -> Operand {
        self.for_(extent, parallel, CarriedKind::Sum, &[r(0.0)], |b, i, s| {
            let x = body(b, i);
            vec![b.op(Op::FAdd, &[s[0], x])]
        })[0]
    }
    pub fn if_(
        &mut self,
        cond: Operand,
        then: impl FnOnce(&mut Build) -> Operand,
        els: impl FnOnce(&mut Build) -> Operand,
    ) -> Operand {
        let (then, t) = self.inner(then);
        let (els, e) = self.inner(els);
        let dst = self.p.val(self.p.type_of(t), "c");
        self.code.push(Stmt::If(If { cond, then, els, results: vec![(dst, t, e)] }));
        v(dst)
    }
    pub fn done(mut self) -> Proc {
        self.p.body = self.code;
        self.p
    }
}

/// out = x · y
pub fn dot() -> Proc {
    let mut b = Build::new("dot");
    let n = b.size("n");
    let (x, y) = (b.input("x", &[n]), b.input("y", &[n]));
    let out = b.output("out", &[]);
    let s = b.sum(n, Parallel::Yes, |b, i| {
        let (p, q) = (b.load(x, &[i]), b.load(y, &[i]));
        b.op(Op::FMul, &[p, q])
    });
    b.store(out, &[], s);
    b.done()
}

/// The logistic loss Σ_i softplus(−ys[i]·(w·xs[i])) / n and its gradient, in one pass.
pub fn logistic() -> Proc {
    let mut b = Build::new("loss'rev");
    let (n, d) = (b.size("n"), b.size("d"));
    let (w, xs, ys) = (b.input("w", &[d]), b.input("xs", &[n, d]), b.input("ys", &[n]));
    let (loss, grad) = (b.output("loss", &[]), b.output("grad", &[d]));
    b.fill(grad, r(0.0));
    let count = b.op(Op::IToF, &[n]);
    let weight = b.op(Op::FDiv, &[r(1.0), count]);
    let s = b.sum(n, Parallel::Yes, |b, i| {
        let m = b.sum(d, Parallel::Yes, |b, j| {
            let (p, q) = (b.load(w, &[j]), b.load(xs, &[i, j]));
            b.op(Op::FMul, &[p, q])
        });
        let y = b.load(ys, &[i]);
        let minus_y = b.op(Op::FNeg, &[y]);
        let z = b.op(Op::FMul, &[minus_y, m]);
        // softplus z = max(z, 0) + log1p(exp(−|z|)); sigmoid z from the same exponential.
        let size = b.op(Op::FAbs, &[z]);
        let size = b.op(Op::FNeg, &[size]);
        let e = b.math(Math::Exp, &[size]);
        let l = b.math(Math::Log1p, &[e]);
        let positive = b.op(Op::FLt, &[r(0.0), z]);
        let top = b.op(Op::Select, &[positive, z, r(0.0)]);
        let softplus = b.op(Op::FAdd, &[top, l]);
        let numerator = b.op(Op::Select, &[positive, r(1.0), e]);
        let denominator = b.op(Op::FAdd, &[r(1.0), e]);
        let sigmoid = b.op(Op::FDiv, &[numerator, denominator]);
        let k = b.op(Op::FMul, &[minus_y, sigmoid]);
        let k = b.op(Op::FMul, &[k, weight]);
        b.for_(d, Parallel::Yes, CarriedKind::Sum, &[], |b, j, _| {
            let x = b.load(xs, &[i, j]);
            let t = b.op(Op::FMul, &[k, x]);
            b.accum(grad, &[j], t);
            vec![]
        });
        softplus
    });
    let mean = b.op(Op::FMul, &[s, weight]);
    b.store(loss, &[], mean);
    b.done()
}

/// Reproducible numbers in [-1, 1).
pub fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e3779b97f4a7c15) | 1;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        })
        .collect()
}

pub fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}
