//! Compiled code, strict and with scalar math, gives the bits of the loop evaluator, in both precisions: on the procedures built by hand,
//! and on random ones.

mod common;

use codegen::{Arg, Jit, Options, RunError, Slice, SliceMut, TargetCpu};
use common::*;
use lang::core::Lit;
use lang::diag::Failure;
use lang::loops::eval::{self, Array, Data, Stop};
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

/// Runs on the evaluator and on compiled code: the same failure, or the same bits (any NaN is as good as another).
fn agree(p: &Proc, args: &[eval::Arg]) {
    agree_under(p, &[args.to_vec()], STRICT);
    agree_under(p, &[args.to_vec()], Options { opt_level: 0, ..STRICT });
}

/// The same at each of these arguments, of double and of single precision.
fn agree_under(p: &Proc, args: &[Vec<eval::Arg>], options: Options) {
    for precision in [Precision::Double, Precision::Single] {
        let p = Proc { precision, ..p.clone() };
        let args: Vec<Vec<_>> =
            args.iter().map(|args| args.iter().map(|a| rounded(a, precision)).collect()).collect();
        agree_in(&p, &args, options);
    }
}

fn rounded(a: &eval::Arg, precision: Precision) -> eval::Arg {
    match a {
        eval::Arg::Scalar(Lit::Real(x)) => eval::Arg::Scalar(Lit::Real(precision.round(*x))),
        eval::Arg::Array(Array { shape, data: Data::Real(xs) }) => {
            let xs: Vec<f64> = xs.iter().map(|x| precision.round(*x)).collect();
            eval::Arg::Array(Array::reals(&shape[..], xs))
        }
        other => other.clone(),
    }
}

fn agree_in(p: &Proc, args: &[Vec<eval::Arg>], options: Options) {
    verify::verify(p).unwrap_or_else(|e| panic!("{e}\n{}", text::print(p)));
    let jit = Jit::compile(std::slice::from_ref(p), &options).unwrap();
    for args in args {
        match (eval::run(p, args), call(&jit, p, args)) {
            (Ok(expected), Ok(outs)) => {
                for (a, b) in expected.outs.iter().zip(&outs) {
                    assert!(same(&a.data, b), "{options:?}\n{}\n{:?}\n{b:?}", text::print(p), a.data);
                }
            }
            (
                Err(Stop::Failed { failure, site, details }),
                Err(RunError::Failed { failure: f, site: s, details: d }),
            ) => assert_eq!((failure, site, details), (f, s, d)),
            (expected, got) => panic!("{expected:?} {got:?}\n{}", text::print(p)),
        }
    }
}

fn same(a: &Data, b: &Data) -> bool {
    match (a, b) {
        (Data::Real(a), Data::Real(b)) => {
            a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()))
        }
        (a, b) => a == b,
    }
}

fn call(jit: &Jit, p: &Proc, args: &[eval::Arg]) -> Result<Vec<Data>, RunError> {
    let mut given = args.iter();
    let mut ints = std::collections::HashMap::new();
    let mut outs: Vec<Data> = vec![];
    for q in &p.params {
        match q {
            Param::Scalar(v) => {
                if let eval::Arg::Scalar(Lit::Int(k)) = given.next().unwrap() {
                    ints.insert(*v, *k);
                }
            }
            Param::Array(b) if p.info(*b).kind == BufKind::Out => {
                let n: i64 = p
                    .info(*b)
                    .shape
                    .iter()
                    .map(|d| match d {
                        Operand::Val(v) => ints[v],
                        Operand::Int(k) => *k,
                        _ => 0,
                    })
                    .product();
                outs.push(match p.info(*b).elem {
                    Scalar::Real => Data::Real(vec![0.5; n as usize]),
                    Scalar::Int => Data::Int(vec![5; n as usize]),
                    Scalar::Bool => Data::Bool(vec![true; n as usize]),
                });
            }
            Param::Array(_) => {
                given.next();
            }
        }
    }
    let single = p.precision == Precision::Single;
    let singles = |xs: &[f64]| xs.iter().map(|x| *x as f32).collect::<Vec<f32>>();
    let reals = |data: &Data| match data {
        Data::Real(xs) if single => singles(xs),
        Data::Real(_) | Data::Int(_) | Data::Bool(_) => vec![],
    };
    let given_singles: Vec<Vec<f32>> = args
        .iter()
        .map(|a| match a {
            eval::Arg::Array(a) => reals(&a.data),
            eval::Arg::Scalar(_) => vec![],
        })
        .collect();
    let mut out_singles: Vec<Vec<f32>> = outs.iter().map(reals).collect();
    let (mut given, mut out) = (args.iter().zip(&given_singles), outs.iter_mut().zip(&mut out_singles));
    let mut passed: Vec<Arg> = p
        .params
        .iter()
        .map(|q| match q {
            Param::Array(b) if p.info(*b).kind == BufKind::Out => Arg::Out(match out.next().unwrap() {
                (Data::Real(_), v) if single => SliceMut::Singles(v),
                (Data::Real(v), _) => SliceMut::Reals(v),
                (Data::Int(v), _) => SliceMut::Ints(v),
                (Data::Bool(v), _) => SliceMut::Bools(v),
            }),
            Param::Scalar(_) | Param::Array(_) => match given.next().unwrap() {
                (eval::Arg::Scalar(Lit::Int(k)), _) => Arg::Int(*k),
                (eval::Arg::Scalar(Lit::Real(x)), _) => Arg::Real(*x),
                (eval::Arg::Scalar(Lit::Bool(b)), _) => Arg::Bool(*b),
                (eval::Arg::Array(Array { data: Data::Real(_), .. }), v) if single => {
                    Arg::In(Slice::Singles(v))
                }
                (eval::Arg::Array(Array { data: Data::Real(v), .. }), _) => Arg::In(Slice::Reals(v)),
                (eval::Arg::Array(Array { data: Data::Int(v), .. }), _) => Arg::In(Slice::Ints(v)),
                (eval::Arg::Array(Array { data: Data::Bool(v), .. }), _) => Arg::In(Slice::Bools(v)),
            },
        })
        .collect();
    jit.call(&p.name, &mut passed)?;
    drop(passed);
    for (data, found) in outs.iter_mut().zip(out_singles) {
        match data {
            Data::Real(xs) if single => *xs = found.into_iter().map(f64::from).collect(),
            Data::Real(_) | Data::Int(_) | Data::Bool(_) => {}
        }
    }
    Ok(outs)
}

fn n(k: usize) -> eval::Arg {
    eval::Arg::Scalar(Lit::Int(k as i64))
}
fn xs(shape: &[usize], seed: u64) -> eval::Arg {
    eval::Arg::Array(Array::reals(shape, numbers(shape.iter().product(), seed)))
}

#[test]
fn procedures_built_by_hand() {
    for k in [0, 1, 7, 3000] {
        agree(&dot(), &[n(k), xs(&[k], 1), xs(&[k], 2)]);
        agree(&logistic(), &[n(k), n(5), xs(&[5], 3), xs(&[k, 5], 4), xs(&[k], 5)]);
    }
}

/// A source of random choices.
struct Random(u64);
impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }
    fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

const ONE: &[Op] = &[Op::FNeg, Op::FAbs, Op::FSqrt, Op::FFloor, Op::FCeil, Op::FRound, Op::FTrunc];
const TWO: &[Op] = &[Op::FAdd, Op::FSub, Op::FMul, Op::FDiv];
const COMPARE: &[Op] = &[Op::FEq, Op::FNe, Op::FLt, Op::FLe];
const INTS: &[Op] =
    &[Op::IAdd, Op::ISub, Op::IMul, Op::IDiv, Op::IMod, Op::IXor, Op::IAnd, Op::IShl, Op::IShr];
const COMPARE_INTS: &[Op] = &[Op::IEq, Op::INe, Op::ILt, Op::ILe];
const BOOLS: &[Op] = &[Op::BAnd, Op::BOr, Op::BEq];
const MATH: &[Math] = &[
    Math::Exp,
    Math::Expm1,
    Math::Log,
    Math::Log1p,
    Math::Log2,
    Math::Log10,
    Math::Sin,
    Math::Cos,
    Math::Tan,
    Math::Asin,
    Math::Acos,
    Math::Atan,
    Math::Sinh,
    Math::Cosh,
    Math::Tanh,
    Math::Asinh,
    Math::Acosh,
    Math::Atanh,
    Math::Erf,
    Math::Erfc,
    Math::Lgamma,
    Math::Digamma,
    Math::Trigamma,
    Math::NormalQuantile,
];
const MATH_TWO: &[Math] = &[Math::Atan2, Math::Hypot, Math::Pow];

/// The operands in scope, by type.
#[derive(Clone)]
struct Scope {
    reals: Vec<Operand>,
    ints: Vec<Operand>,
    bools: Vec<Operand>,
}

struct Gen {
    r: Random,
    b: Build,
    size: Operand,
    x: Buf,
    y: Buf,
    k: Buf,
    work: Buf,
    /// Only operations without rounding: additions may then change places.
    exact: bool,
}

impl Gen {
    fn index(&mut self, s: &Scope) -> Operand {
        let k = self.r.of(&s.ints);
        self.b.op(Op::IMod, &[k, self.size])
    }
    /// A real that is no NaN, whose bits may be looked at.
    fn number(&mut self, s: &Scope) -> Operand {
        let x = self.r.of(&s.reals);
        let ok = self.b.op(Op::FEq, &[x, x]);
        self.b.op(Op::Select, &[ok, x, r(1.5)])
    }
    fn statement(&mut self, s: &mut Scope, depth: usize) {
        let (x, y) = (self.r.of(&s.reals), self.r.of(&s.reals));
        let (j, k) = (self.r.of(&s.ints), self.r.of(&s.ints));
        let (p, q) = (self.r.of(&s.bools), self.r.of(&s.bools));
        let choice = self.r.below(if depth > 0 { 26 } else { 21 });
        match choice {
            0..=4 | 11..=16 if self.exact => {
                let op = self.r.of(&[Op::FAdd, Op::FSub]);
                let t = self.b.op(op, &[x, y]);
                let size = self.b.op(Op::FAbs, &[t]);
                let small = self.b.op(Op::FLt, &[size, r(1e6)]);
                let t = self.b.op(Op::Select, &[small, t, r(1.0)]);
                s.reals.push(t)
            }
            0..=3 => {
                let op = self.r.of(TWO);
                let t = self.b.op(op, &[x, y]);
                s.reals.push(t)
            }
            4 => {
                let op = self.r.of(ONE);
                let t = self.b.op(op, &[x]);
                s.reals.push(t)
            }
            5 => {
                let op = self.r.of(COMPARE);
                let t = self.b.op(op, &[x, y]);
                s.bools.push(t)
            }
            6..=7 => {
                let op = self.r.of(INTS);
                let t = self.b.op(op, &[j, k]);
                s.ints.push(t)
            }
            8 => {
                let op = self.r.of(COMPARE_INTS);
                let t = self.b.op(op, &[j, k]);
                s.bools.push(t)
            }
            9 => {
                let op = self.r.of(BOOLS);
                let t = self.b.op(op, &[p, q]);
                s.bools.push(t)
            }
            10 => {
                let t = self.b.op(Op::BNot, &[p]);
                s.bools.push(t)
            }
            11..=12 => {
                let m = self.r.of(MATH);
                let t = self.b.math(m, &[x]);
                s.reals.push(t)
            }
            13 => {
                let m = self.r.of(MATH_TWO);
                let t = self.b.math(m, &[x, y]);
                s.reals.push(t)
            }
            14 => {
                let e = if self.r.below(2) == 0 { k } else { int(self.r.below(9) as i64 - 4) };
                let t = self.b.math(Math::PowInt, &[x, e]);
                s.reals.push(t)
            }
            15 => {
                for op in [Op::IToF, Op::Uniform, Op::Math(Math::NormalOfBits)] {
                    let t = self.b.op(op, &[k]);
                    s.reals.push(t);
                }
                let t = self.b.op(Op::FToI, &[x]);
                s.ints.push(t)
            }
            16 => {
                let x = self.number(s);
                let t = self.b.op(Op::FBits, &[x]);
                s.ints.push(t);
                let y = self.r.of(&s.reals);
                let t = self.b.op(Op::FCopySign, &[y, x]);
                s.reals.push(t)
            }
            17 => {
                let t = self.b.op(Op::Select, &[p, x, y]);
                s.reals.push(t)
            }
            18 => {
                let i = self.index(s);
                let buf = self.r.of(&[self.x, self.work]);
                let t = self.b.load(buf, &[i]);
                s.reals.push(t)
            }
            19 => {
                let i = self.index(s);
                self.b.store(self.work, &[i], x)
            }
            20 => {
                let i = self.index(s);
                self.b.accum(self.y, &[i], x)
            }
            21 => {
                let mut arm = || {
                    let outer = std::mem::take(&mut self.b.code);
                    let mut inner = s.clone();
                    (0..4).for_each(|_| self.statement(&mut inner, depth - 1));
                    let result = self.r.of(&inner.reals);
                    (std::mem::replace(&mut self.b.code, outer), result)
                };
                let ((then, t), (els, e)) = (arm(), arm());
                let dst = self.b.p.val(Scalar::Real, "c");
                self.b.code.push(Stmt::If(If { cond: p, then, els, results: vec![(dst, t, e)] }));
                s.reals.push(v(dst))
            }
            22 => self.b.store(self.k, &[], k),
            _ => {
                let extent = int(self.r.below(6) as i64);
                let down = self.r.below(2) == 0;
                let sum = self.r.below(2) == 0;
                let index = self.b.p.val(Scalar::Int, "i");
                let (a, m) = (self.b.p.val(Scalar::Real, "a"), self.b.p.val(Scalar::Int, "m"));
                let outer = std::mem::take(&mut self.b.code);
                let mut inner = s.clone();
                inner.ints.extend([v(index), v(m)]);
                if !sum {
                    inner.reals.push(v(a))
                }
                (0..5).for_each(|_| self.statement(&mut inner, depth - 1));
                let mut next = self.r.of(&inner.reals);
                if sum {
                    next = self.b.op(Op::FAdd, &[v(a), next])
                }
                let next_m = self.r.of(&inner.ints);
                let body = std::mem::replace(&mut self.b.code, outer);
                let (ra, rm) = (self.b.p.val(Scalar::Real, "ra"), self.b.p.val(Scalar::Int, "rm"));
                let kind = if sum { CarriedKind::Sum } else { CarriedKind::Sequential };
                let carried = vec![
                    Carried { param: a, init: x, next, result: ra, kind },
                    Carried { param: m, init: k, next: next_m, result: rm, kind: CarriedKind::Sequential },
                ];
                self.b.code.push(Stmt::For(For {
                    index,
                    extent,
                    down,
                    carried,
                    body,
                    parallel: Parallel::No,
                }));
                s.reals.push(v(ra));
                s.ints.push(v(rm));
            }
        }
    }
}

fn random(seed: u64) -> Proc {
    let mut b = Build::new("random");
    let (size, z) = (b.size("n"), b.scalar(Scalar::Real, "z"));
    let x = b.input("x", &[size]);
    let (y, k) = (b.output("y", &[size]), b.array(BufKind::Out, Scalar::Int, "k", &[]));
    let work = b.local("work", &[size]);
    b.fill(y, r(0.0));
    b.fill(work, z);
    b.store(k, &[], size);
    let mut g = Gen { r: Random(seed), b, size, x, y, k, work, exact: false };
    let mut s = Scope {
        reals: vec![z, r(0.5), r(-2.0)],
        ints: vec![size, int(3), int(-1)],
        bools: vec![Operand::Bool(true)],
    };
    (0..25).for_each(|_| g.statement(&mut s, 2));
    let Gen { mut b, .. } = g;
    b.check(*s.bools.last().unwrap(), Failure::SizeMismatch, &[*s.ints.last().unwrap()]);
    b.each(size, |b, i| {
        let t = b.load(work, &[i]);
        b.accum(y, &[i], t);
    });
    b.done()
}

#[test]
fn random_procedures() {
    for seed in 0..60 {
        let p = random(seed * 7919 + 1);
        agree(&p, &[n(6), eval::Arg::Scalar(Lit::Real(0.75)), xs(&[6], seed + 1)]);
    }
}

/// Rows of random statements, each row an iteration of a loop in lanes. `exact`: without rounding, the rows' sums and additions to one place in it.
/// `fixed`: how many rows, where that is known when it is compiled.
fn rows(seed: u64, exact: bool, fixed: Option<i64>) -> Proc {
    let mut b = Build::new("rows");
    let (rows, size) = (b.size("rows"), b.size("n"));
    let rows = fixed.map_or(rows, int);
    let (x, z) = (b.input("x", &[size]), b.input("z", &[rows]));
    let out = b.output("out", &[rows, size]);
    let (whole, total) = (b.output("whole", &[size]), b.output("total", &[]));
    b.fill(whole, r(0.0));
    let inits = if exact { vec![r(0.0)] } else { vec![] };
    let sums = b.for_(rows, Parallel::Lanes, CarriedKind::Sum, &inits, |b, i, sum| {
        let work = b.local("work", &[size]);
        let k = b.p.buf(BufInfo { name: "k".into(), elem: Scalar::Int, shape: vec![], kind: BufKind::Local });
        b.code.push(Stmt::Alloc { buf: k });
        b.store(k, &[], i);
        b.fill(work, r(2.0));
        let row = b.load(z, &[i]);
        let y = if exact { whole } else { b.local("y", &[size]) };
        if !exact {
            b.fill(y, row);
        }
        let taken = std::mem::replace(b, Build::new("taken"));
        let mut g = Gen { r: Random(seed), b: taken, size, x, y, k, work, exact };
        let mut s = Scope {
            reals: vec![row, r(1.0), r(-2.0)],
            ints: vec![size, int(3), int(-1), i],
            bools: vec![Operand::Bool(true)],
        };
        let positive = g.b.op(Op::FLt, &[r(0.0), row]);
        s.bools.push(positive);
        (0..20).for_each(|_| g.statement(&mut s, 2));
        let last = *s.reals.last().unwrap();
        *b = g.b;
        b.each(size, |b, j| {
            let t = b.load(work, &[j]);
            b.store(out, &[i, j], t);
            if exact {
                b.accum(whole, &[j], t);
            }
        });
        if exact { vec![b.op(Op::FAdd, &[sum[0], last])] } else { vec![] }
    });
    b.store(total, &[], sums.first().copied().unwrap_or(r(0.0)));
    b.done()
}

#[test]
fn random_rows_in_lanes() {
    let integers = |shape: &[usize], seed: u64| {
        let of = |x: f64| (x * 8.0).floor();
        eval::Arg::Array(Array::reals(
            shape,
            numbers(shape.iter().product(), seed).into_iter().map(of).collect::<Vec<_>>(),
        ))
    };
    for seed in 0..40 {
        for exact in [false, true] {
            let args =
                |count: usize| vec![n(count), n(3), integers(&[3], seed), integers(&[count], seed + 5)];
            let options = Options { strict: !exact, ..STRICT };
            agree_under(&rows(seed * 7919 + 1, exact, None), &[0, 1, 4, 11, 70].map(args), options);
            // Fewer than there are lanes, whole groups of them, and groups with a rest.
            let count = [1, 3, 4, 8, 11, 16, 35][seed as usize % 7];
            let p = rows(seed * 7919 + 1, exact, Some(count as i64));
            agree_under(&p, &[args(count)], options);
        }
    }
}

/// out[i] by where i is: below m, at k, at 0, elsewhere; and a value passed on from step to step.
fn pieces(down: bool, parallel: Parallel) -> Proc {
    let mut b = Build::new("pieces");
    let (n, m, k) = (b.size("n"), b.size("m"), b.size("k"));
    let (x, out, last) = (b.input("x", &[n]), b.output("out", &[n]), b.output("last", &[]));
    let inits: &[Operand] = if parallel == Parallel::No { &[r(0.5)] } else { &[] };
    let results = b.for_dir(n, down, parallel, CarriedKind::Sequential, inits, |b, i, s| {
        let below = b.op(Op::ILt, &[i, m]);
        let at = b.op(Op::IEq, &[k, i]);
        let first = b.op(Op::IEq, &[i, int(0)]);
        let xi = b.load(x, &[i]);
        let t = b.if_(below, |b| b.op(Op::FMul, &[xi, r(3.0)]), |b| b.op(Op::FSub, &[xi, r(1.0)]));
        let u = b.if_(at, |b| b.op(Op::FNeg, &[t]), |_| t);
        let w = b.if_(first, |b| b.op(Op::FAdd, &[u, r(7.0)]), |_| u);
        let w = if s.is_empty() { w } else { b.op(Op::FSub, &[w, s[0]]) };
        b.store(out, &[i], w);
        if s.is_empty() { vec![] } else { vec![w] }
    });
    b.store(last, &[], results.first().copied().unwrap_or(r(0.0)));
    b.done()
}

#[test]
fn loops_in_pieces() {
    let ints = |k: i64| eval::Arg::Scalar(Lit::Int(k));
    let mut args = vec![];
    for count in [0, 1, 5, 40] {
        for m in [-3, 0, 2, count as i64, 50] {
            for k in [-1, 0, 4, 39] {
                args.push(vec![n(count), ints(m), ints(k), xs(&[count], 9)]);
            }
        }
    }
    for (down, parallel) in
        [(false, Parallel::No), (true, Parallel::No), (false, Parallel::Yes), (false, Parallel::Lanes)]
    {
        agree_under(&pieces(down, parallel), &args, STRICT);
    }
}

/// out[i] = xs[i div 9, i mod 9] below m, −i elsewhere: rows, whole and broken.
#[test]
fn loops_in_rows() {
    for parallel in [Parallel::No, Parallel::Yes, Parallel::Lanes] {
        let mut b = Build::new("rows");
        let (total, rows, m) = (b.size("total"), b.size("rows"), b.size("m"));
        let (x, out) = (b.input("x", &[rows, int(9)]), b.output("out", &[total]));
        b.for_(total, parallel, CarriedKind::Sequential, &[], |b, i, _| {
            let below = b.op(Op::ILt, &[i, m]);
            let t = b.if_(
                below,
                |b| {
                    let (q, k) = (b.op(Op::IDiv, &[i, int(9)]), b.op(Op::IMod, &[i, int(9)]));
                    b.load(x, &[q, k])
                },
                |b| {
                    let x = b.op(Op::IToF, &[i]);
                    b.op(Op::FNeg, &[x])
                },
            );
            b.store(out, &[i], t);
            vec![]
        });
        let args = [(0, 0), (5, 5), (9, 9), (40, 31), (40, 40), (100, 0), (90, 89)]
            .map(|(total, m)| vec![n(total), n(12), n(m), xs(&[12, 9], 4)]);
        agree_under(&b.done(), &args, STRICT);
    }
}

/// Outside loops, sine and cosine of one number are one call: the bits are those of two.
#[test]
fn sine_and_cosine_of_one_number() {
    let mut b = Build::new("turned");
    let x = b.scalar(Scalar::Real, "x");
    let out = b.output("out", &[int(3)]);
    let (sine, cosine) = (b.math(Math::Sin, &[x]), b.math(Math::Cos, &[x]));
    // Of this one only the sine is wanted.
    let alone = b.math(Math::Sin, &[sine]);
    for (k, y) in [sine, cosine, alone].into_iter().enumerate() {
        b.store(out, &[int(k as i64)], y);
    }
    let p = b.done();
    let mut bits = Random(7);
    let anywhere = (0..20_000)
        .map(|_| f64::from_bits(((bits.below(1 << 31) as u64) << 33) + bits.below(1 << 31) as u64));
    let around = (0..20_000).map(|k| (k as f64 - 10_000.0) * 0.05);
    let special = [0.0, -0.0, f64::INFINITY, f64::NAN, f64::MIN_POSITIVE, 5e-324];
    let args: Vec<Vec<_>> =
        anywhere.chain(around).chain(special).map(|x| vec![eval::Arg::Scalar(Lit::Real(x))]).collect();
    agree_under(&p, &args, STRICT);
    agree_under(&p, &args, Options { strict: false, ..STRICT });
    agree_under(&p, &args, Options { opt_level: 0, ..STRICT });
}

/// A loop in lanes inside a loop of steps has its own local buffers, one for every lane.
#[test]
fn lanes_inside_a_loop_of_steps() {
    let mut b = Build::new("steps");
    let steps = b.size("steps");
    let x = b.input("x", &[int(40), int(3)]);
    let out = b.output("out", &[int(3)]);
    b.fill(out, r(0.0));
    b.for_(steps, Parallel::No, CarriedKind::Sequential, &[int(0)], |b, step, _| {
        b.for_(int(40), Parallel::Lanes, CarriedKind::Sum, &[], |b, i, _| {
            let row = b.local("row", &[int(3)]);
            b.for_(int(3), Parallel::Yes, CarriedKind::Sum, &[], |b, j, _| {
                let x = b.load(x, &[i, j]);
                b.store(row, &[j], x);
                vec![]
            });
            b.for_(int(3), Parallel::Yes, CarriedKind::Sum, &[], |b, j, _| {
                let next = b.op(Op::IAdd, &[j, int(1)]);
                let next = b.op(Op::IMod, &[next, int(3)]);
                let (one, other) = (b.load(row, &[j]), b.load(row, &[next]));
                let product = b.math(Math::PowInt, &[one, int(2)]);
                let product = b.op(Op::FMul, &[product, other]);
                b.accum(out, &[j], product);
                vec![]
            });
            vec![]
        });
        vec![b.op(Op::IAdd, &[step, int(1)])]
    });
    let whole = Array::reals([40, 3], (0..120).map(|k| (k * 5 % 7) as f64 - 3.0).collect::<Vec<_>>());
    let args: Vec<Vec<_>> = [0, 1, 5].map(|k| vec![n(k), eval::Arg::Array(whole.clone())]).to_vec();
    agree_under(&b.done(), &args, Options { strict: false, ..STRICT });
}
