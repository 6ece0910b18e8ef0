//! Random well-formed procedures: every pass, and the whole pipeline, keeps what they compute. Under `strict` bit for bit;
//! otherwise on small integers, where additions may change places without a trace.

use super::*;
use lang::core::Lit;
use lang::diag::{Failure, Site, Span};
use lang::loops::build::Builder;
use lang::prim::Scalar;
use std::collections::BTreeMap;

const N: i64 = 4;
const D: i64 = 3;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())]
    }
    fn chance(&mut self, percent: usize) -> bool {
        self.roll(100) < percent
    }
}

struct Generator {
    dice: Dice,
    b: Builder,
    /// Only operations that keep small integers small integers.
    exact: bool,
    n: Operand,
    d: Operand,
    // In scope:
    reals: Vec<Operand>,
    bools: Vec<Operand>,
    /// With their extents.
    indices: Vec<(Operand, Operand)>,
    readable: Vec<Buf>,
    writable: Vec<Buf>,
    left: usize,
}

fn generate(seed: u64, exact: bool) -> Proc {
    let mut b = Builder::new("random");
    let (n, d) = (b.scalar(Scalar::Int, "n"), b.scalar(Scalar::Int, "d"));
    let x = b.scalar(Scalar::Real, "x");
    let real = Scalar::Real;
    let readable = vec![
        b.array("a", real, &[n], BufKind::In),
        b.array("b", real, &[n, d], BufKind::In),
        b.array("ks", Scalar::Int, &[n], BufKind::In),
    ];
    let writable = vec![
        b.array("p", real, &[n], BufKind::Out),
        b.array("q", real, &[d], BufKind::Out),
        b.array("r", real, &[n, d], BufKind::Out),
        b.array("s", real, &[], BufKind::Out),
    ];
    b.p.failures.push((Failure::IndexOutOfRange, Site { def: "f".into(), span: Span::new(0, 1) }));
    b.p.failures.push((Failure::EmptyArray, Site { def: "f".into(), span: Span::new(2, 3) }));
    writable.iter().for_each(|w| b.fill(*w, Operand::Real(0.0)));
    let reals = vec![x, Operand::Real(0.0), Operand::Real(1.0), Operand::Real(-2.0)];
    let bools = vec![Operand::Bool(true)];
    let mut g = Generator {
        dice: Dice(seed),
        b,
        exact,
        n,
        d,
        reals,
        bools,
        indices: vec![],
        readable: [readable, writable.clone()].concat(),
        writable,
        left: 45,
    };
    g.block(0);
    g.b.finish()
}

impl Generator {
    fn real(&mut self) -> Operand {
        // Recent values more often.
        let k = self.reals.len();
        if self.dice.chance(60) {
            self.reals[k - 1 - self.dice.roll(k.min(4))]
        } else {
            self.dice.pick(&self.reals.clone())
        }
    }
    fn extent(&mut self) -> Operand {
        let choices = [self.n, self.n, self.d, self.d, Operand::Int(2), Operand::Int(1)];
        self.dice.pick(&choices)
    }

    /// An index in range of this size, which is n, d or a constant.
    fn index(&mut self, size: Operand) -> Operand {
        let fits: Vec<Operand> = self.indices.iter().filter(|i| i.1 == size).map(|i| i.0).collect();
        match self.dice.roll(10) {
            0 if size == self.d && !self.indices.is_empty() => self.looked_up(),
            1 if !fits.is_empty() => {
                let i = self.dice.pick(&fits);
                let last = self.b.op(Op::ISub, &[size, Operand::Int(1)]);
                self.b.op(Op::ISub, &[last, i])
            }
            _ if !fits.is_empty() => self.dice.pick(&fits),
            _ => Operand::Int(self.dice.roll(if size == Operand::Int(1) { 1 } else { 2 }) as i64),
        }
    }
    /// ks[i], which lies in 0..d; sometimes checked.
    fn looked_up(&mut self) -> Operand {
        let at = self.index(self.n);
        let k = self.b.load(self.readable[2], &[at]);
        if self.dice.chance(50) {
            let cond = self.in_range(k, self.d);
            self.b.push(Stmt::Check { cond, failure: 0, details: vec![k, self.d] });
        }
        k
    }
    fn element(&mut self, buf: Buf) -> Vec<Operand> {
        let shape = self.b.p.info(buf).shape.clone();
        shape.into_iter().map(|n| self.index(n)).collect()
    }

    /// A block; what comes into scope in it leaves with it.
    fn block(&mut self, depth: usize) {
        let saved = (self.reals.len(), self.bools.len(), self.readable.len(), self.writable.len());
        let statements = if depth == 0 { 30 } else { 2 + self.dice.roll(5) };
        for _ in 0..statements {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            self.statement(depth);
        }
        // Whoever ends a block may read what it defined; the caller truncates.
        if depth == 0 {
            self.leave(saved);
        }
    }
    fn leave(&mut self, (reals, bools, readable, writable): (usize, usize, usize, usize)) {
        self.reals.truncate(reals);
        self.bools.truncate(bools);
        self.readable.truncate(readable);
        self.writable.truncate(writable);
    }
    fn sizes(&self) -> (usize, usize, usize, usize) {
        (self.reals.len(), self.bools.len(), self.readable.len(), self.writable.len())
    }

    fn statement(&mut self, depth: usize) {
        match self.dice.roll(if depth < 3 { 31 } else { 13 }) {
            0..4 => self.operation(),
            4..7 => {
                let buf = self.dice.pick(&self.readable.clone());
                let at = self.element(buf);
                let v = self.b.load(buf, &at);
                if self.b.p.type_of(v) == Scalar::Real {
                    self.reals.push(v);
                }
            }
            7..9 => {
                let buf = self.dice.pick(&self.writable.clone());
                let (at, v) = (self.element(buf), self.real());
                self.b.store(buf, &at, v);
            }
            9..11 => {
                let buf = self.dice.pick(&self.writable.clone());
                let (at, v) = (self.element(buf), self.real());
                self.b.accum(buf, &at, v);
            }
            11 => {
                let (x, y) = (self.real(), self.real());
                let op = self.dice.pick(&[Op::FLt, Op::FLe, Op::FEq]);
                let c = self.b.op(op, &[x, y]);
                self.bools.push(c);
            }
            12 => match self.dice.roll(4) {
                0 => {
                    let (buf, v) = (self.dice.pick(&self.writable.clone()), self.real());
                    self.b.fill(buf, v);
                }
                1 => {
                    let (dst, src) =
                        (self.dice.pick(&self.writable.clone()), self.dice.pick(&self.readable.clone()));
                    let info = |b: Buf| (self.b.p.info(b).elem, self.b.p.info(b).shape.clone());
                    if dst != src && info(dst) == info(src) {
                        self.b.push(Stmt::Copy { dst, src });
                    }
                }
                2 if self.dice.chance(5) => {
                    let cond = self.dice.pick(&self.bools.clone());
                    self.b.push(Stmt::Check { cond, failure: 1, details: vec![Operand::Int(7)] });
                }
                _ => self.operation(),
            },
            13 => {
                let rank = self.dice.roll(3);
                let shape: Vec<Operand> = (0..rank).map(|_| self.extent()).collect();
                let buf = self.b.alloc("l", Scalar::Real, &shape);
                let v = self.real();
                self.b.fill(buf, v);
                self.readable.push(buf);
                self.writable.push(buf);
            }
            14 => {
                let (x, y) = (self.real(), self.real());
                let c = self.b.op(Op::FLt, &[x, y]);
                self.bools.push(c);
                self.branch(depth);
                self.branch(depth);
            }
            15 => self.repeat(depth),
            16..23 => self.map(depth),
            23 => {
                // Made elsewhere and copied home.
                let (home, at) = (self.writable[self.dice.roll(3)], self.writable.len());
                let shape = self.b.p.info(home).shape.clone();
                let buf = self.b.alloc("made", Scalar::Real, &shape);
                let v = self.real();
                self.b.fill(buf, v);
                self.writable.push(buf);
                self.map(depth);
                self.map(depth);
                self.writable.remove(at);
                self.b.push(Stmt::Copy { dst: home, src: buf });
            }
            24..26 => self.joined(depth),
            26 => self.twins(),
            27 => self.again(),
            28 => self.later(),
            _ => self.loop_(depth),
        }
    }

    /// Two new arrays with the same elements.
    fn twins(&mut self) {
        let n = self.extent();
        let twins = ["t", "u"].map(|name| self.b.alloc(name, Scalar::Real, &[n]));
        let (from, x) = (self.readable[0], self.real());
        self.b.each("i", n, |b, i| {
            let v = match n == b.p.info(from).shape[0] {
                true => b.load(from, &[i]),
                false => x,
            };
            let v = b.op(Op::FNeg, &[v]);
            twins.iter().for_each(|buf| b.store(*buf, &[i], v));
        });
        self.readable.extend(twins);
    }

    /// A branch, and one on the same condition in a loop after it, both of which take the same root.
    fn later(&mut self) {
        let (x, y, n, out) = (self.real(), self.real(), self.n, self.writable[0]);
        let cond = self.b.op(Op::FLt, &[x, y]);
        let square = self.b.op(Op::FMul, &[x, x]);
        let holds = self.dice.chance(50);
        let root = |b: &mut Builder| {
            let root = b.op(Op::FSqrt, &[square]);
            vec![b.op(Op::FAdd, &[root, y])]
        };
        let branch = |b: &mut Builder| match holds {
            true => b.if_(cond, root, |_| vec![x]),
            false => b.if_(cond, |_| vec![x], root),
        };
        let first = branch(&mut self.b)[0];
        self.b.accum(out, &[Operand::Int(0)], first);
        self.b.each("i", n, |b, i| {
            let second = branch(b)[0];
            b.accum(out, &[i], second);
        });
    }

    /// Each row of b read again and again, by a loop that passes a value on from step to step: only the rows can be lanes.
    fn again(&mut self) {
        let (from, x, n, d) = (self.readable[1], self.real(), self.n, self.d);
        let far = self.b.alloc("far", Scalar::Real, &[n]);
        self.b.each("i", n, |b, i| {
            let kind = CarriedKind::Sequential;
            let v = b.fold("c", n, &[("v", x)], kind, |b, _, v| {
                b.fold("j", d, &[("v", v[0])], kind, |b, j, v| {
                    let y = b.load(from, &[i, j]);
                    let step = |b: &mut Builder, v| {
                        let v = b.op(Op::FSub, &[v, y]);
                        b.op(Op::FAbs, &[v])
                    };
                    vec![(0..4).fold(v[0], |v, _| step(b, v))]
                })
            });
            b.store(far, &[i], v[0]);
        });
        self.readable.push(far);
    }

    fn operation(&mut self) {
        let (x, y) = (self.real(), self.real());
        let v = match self.dice.roll(if self.exact { 6 } else { 10 }) {
            0 => self.b.op(Op::FAdd, &[x, y]),
            1 => self.b.op(Op::FSub, &[x, y]),
            2 => self.b.op(Op::FMul, &[x, y]),
            3 => self.b.op(Op::FNeg, &[x]),
            4 => self.b.op(Op::FAbs, &[x]),
            5 => {
                let c = self.dice.pick(&self.bools.clone());
                self.b.op(Op::Select, &[c, x, y])
            }
            6 => self.b.op(Op::FDiv, &[x, y]),
            7 => self.b.op(Op::Math(Math::Tanh), &[x]),
            8 => self.b.op(Op::Math(Math::PowInt), &[x, Operand::Int(2)]),
            _ => self.b.op(Op::FCopySign, &[x, y]),
        };
        let v = if self.exact { self.small(v) } else { v };
        self.reals.push(v);
    }
    /// v where |v| < 1000, else 1: so that integers stay exact.
    fn small(&mut self, v: Operand) -> Operand {
        let a = self.b.op(Op::FAbs, &[v]);
        let ok = self.b.op(Op::FLt, &[a, Operand::Real(1000.0)]);
        self.b.op(Op::Select, &[ok, v, Operand::Real(1.0)])
    }

    fn loop_(&mut self, depth: usize) {
        let extent = self.extent();
        let index = self.b.p.val(Scalar::Int, "i");
        let count = self.dice.roll(3);
        let rows: Vec<(Val, Operand, Val, bool)> = (0..count)
            .map(|_| {
                let (param, result) = (self.b.p.val(Scalar::Real, "c"), self.b.p.val(Scalar::Real, "c"));
                let init = if self.dice.chance(50) { Operand::Real(0.0) } else { self.real() };
                (param, init, result, self.dice.chance(60))
            })
            .collect();
        let saved = self.sizes();
        self.indices.push((Operand::Val(index), extent));
        // A sum's param is for its addition alone.
        self.reals.extend(rows.iter().filter(|r| !r.3).map(|r| Operand::Val(r.0)));
        let outer = std::mem::replace(&mut self.b, Builder::new(""));
        self.b.p = outer.p.clone();
        self.block(depth + 1);
        let nexts: Vec<Operand> = rows
            .iter()
            .map(|r| {
                let v = self.real();
                if r.3 { self.b.op(Op::FAdd, &[Operand::Val(r.0), v]) } else { v }
            })
            .collect();
        let inner = std::mem::replace(&mut self.b, outer).finish();
        self.b.p = Proc { body: vec![], ..inner.clone() };
        let carried = rows.iter().zip(nexts).map(|(r, next)| Carried {
            param: r.0,
            init: r.1,
            next,
            result: r.2,
            kind: if r.3 { CarriedKind::Sum } else { CarriedKind::Sequential },
        });
        let carried = carried.collect();
        let down = self.dice.chance(20);
        self.b.push(Stmt::For(For {
            index,
            extent,
            down,
            carried,
            body: inner.body,
            parallel: Parallel::No,
        }));
        self.leave(saved);
        self.indices.pop();
        for r in rows {
            let v = Operand::Val(r.2);
            let v = if self.exact { self.small(v) } else { v };
            self.reals.push(v);
        }
    }

    /// A loop over the elements (rows) of a buffer, old or new, that writes each at its own index: what emission makes of a map.
    fn map(&mut self, depth: usize) {
        let old = self.dice.chance(40);
        let fitting: Vec<Buf> =
            self.writable.iter().copied().filter(|b| !self.b.p.info(*b).shape.is_empty()).collect();
        let buf = if old {
            // The latest, so that loops meet.
            fitting[fitting.len() - 1 - self.dice.roll(fitting.len().min(2))]
        } else {
            let shape = [self.dice.pick(&[self.n, self.n, self.d]), self.d];
            let buf = self.b.alloc("m", Scalar::Real, &shape[..1 + self.dice.roll(2)]);
            self.b.fill(buf, Operand::Real(0.0));
            buf
        };
        let shape = self.b.p.info(buf).shape.clone();
        let accumulate = self.dice.chance(60);
        self.over(depth, shape[0], |g| {
            let i = g.indices.last().unwrap().0;
            let cond = g.in_range(i, shape[0]);
            g.b.push(Stmt::Check { cond, failure: 0, details: vec![i, shape[0]] });
            let index: Vec<Operand> = [vec![i], shape[1..].iter().map(|n| g.index(*n)).collect()].concat();
            let v = g.real();
            if accumulate { g.b.accum(buf, &index, v) } else { g.b.store(buf, &index, v) }
        });
        if !old {
            self.readable.push(buf);
            self.writable.push(buf);
        }
    }
    /// Rows and a vector, made elsewhere and put together in one buffer, which is then added to p; what `flatten` and `concat` come to.
    fn joined(&mut self, depth: usize) {
        let (n, two, real) = (self.n, Operand::Int(2), Scalar::Real);
        let half = self.b.op(Op::IMul, &[two, n]);
        let all = self.b.op(Op::IAdd, &[half, n]);
        let flat = self.b.alloc("flat", real, &[all]);
        let (rows, more) = (self.b.alloc("rows", real, &[n, two]), self.b.alloc("more", real, &[n]));
        let x = self.real();
        [rows, more].into_iter().for_each(|b| self.b.fill(b, x));
        let at = self.writable.len();
        self.writable.extend([rows, more]);
        self.map(depth);
        self.map(depth);
        self.writable.drain(at..at + 2);
        // Who looks at the rows later keeps them where they are.
        if self.dice.chance(20) {
            self.readable.push(rows);
        }
        let i = self.b.p.val(Scalar::Int, "i");
        let outer = std::mem::replace(&mut self.b, Builder::new(""));
        self.b.p = outer.p.clone();
        let i_ = Operand::Val(i);
        let cond = self.b.op(Op::ILt, &[i_, half]);
        let (then, a) = self.b.block(|b| {
            let at = [b.op(Op::IDiv, &[i_, two]), b.op(Op::IMod, &[i_, two])];
            b.load(rows, &at)
        });
        let (els, c) = self.b.block(|b| {
            let at = b.op(Op::ISub, &[i_, half]);
            b.load(more, &[at])
        });
        let v = self.b.p.val(real, "v");
        self.b.push(Stmt::If(If { cond, then, els, results: vec![(v, a, c)] }));
        self.b.store(flat, &[i_], Operand::Val(v));
        let inner = std::mem::replace(&mut self.b, outer).finish();
        self.b.p = Proc { body: vec![], ..inner.clone() };
        let parallel = Parallel::No;
        self.b.push(Stmt::For(For {
            index: i,
            extent: all,
            down: false,
            carried: vec![],
            body: inner.body,
            parallel,
        }));
        let p = self.writable[0];
        self.over(depth, n, |g| {
            let i = g.indices.last().unwrap().0;
            let second = g.b.op(Op::IAdd, &[half, i]);
            for at in [i, second] {
                let v = g.b.load(flat, &[at]);
                g.b.accum(p, &[i], v);
            }
        });
    }

    fn in_range(&mut self, i: Operand, n: Operand) -> Operand {
        let low = self.b.op(Op::ILe, &[Operand::Int(0), i]);
        let high = self.b.op(Op::ILt, &[i, n]);
        self.b.op(Op::BAnd, &[low, high])
    }
    /// A loop that carries nothing: some statements, then `end`.
    fn over(&mut self, depth: usize, extent: Operand, end: impl FnOnce(&mut Generator)) {
        let index = self.b.p.val(Scalar::Int, "i");
        let saved = self.sizes();
        self.indices.push((Operand::Val(index), extent));
        let outer = std::mem::replace(&mut self.b, Builder::new(""));
        self.b.p = outer.p.clone();
        for _ in 0..1 + self.dice.roll(3) {
            self.statement(depth + 2);
        }
        end(self);
        let inner = std::mem::replace(&mut self.b, outer).finish();
        self.b.p = Proc { body: vec![], ..inner.clone() };
        self.b.push(Stmt::For(For {
            index,
            extent,
            down: false,
            carried: vec![],
            body: inner.body,
            parallel: Parallel::No,
        }));
        self.leave(saved);
        self.indices.pop();
    }

    fn branch(&mut self, depth: usize) {
        // The latest, so that branches on one condition meet.
        let latest = self.bools[self.bools.len() - 1];
        let cond = if self.dice.chance(70) { latest } else { self.dice.pick(&self.bools.clone()) };
        let arm = |g: &mut Generator| {
            let saved = g.sizes();
            let outer = std::mem::replace(&mut g.b, Builder::new(""));
            g.b.p = outer.p.clone();
            g.block(depth + 1);
            let end = g.real();
            let inner = std::mem::replace(&mut g.b, outer).finish();
            g.b.p = Proc { body: vec![], ..inner.clone() };
            g.leave(saved);
            (inner.body, end)
        };
        let ((then, t), (els, e)) = (arm(self), arm(self));
        let dst = self.b.p.val(Scalar::Real, "r");
        self.b.push(Stmt::If(If { cond, then, els, results: vec![(dst, t, e)] }));
        self.reals.push(Operand::Val(dst));
    }

    /// while k < 3 do body; k := k + 1
    fn repeat(&mut self, depth: usize) {
        let (k, last) = (self.b.p.val(Scalar::Int, "k"), self.b.p.val(Scalar::Int, "k"));
        let saved = self.sizes();
        let outer = std::mem::replace(&mut self.b, Builder::new(""));
        self.b.p = outer.p.clone();
        let (cond_block, cond) = self.b.block(|b| b.op(Op::ILt, &[Operand::Val(k), Operand::Int(3)]));
        self.block(depth + 1);
        let next = self.b.op(Op::IAdd, &[Operand::Val(k), Operand::Int(1)]);
        let inner = std::mem::replace(&mut self.b, outer).finish();
        self.b.p = Proc { body: vec![], ..inner.clone() };
        let carried = vec![Carried {
            param: k,
            init: Operand::Int(0),
            next,
            result: last,
            kind: CarriedKind::Sequential,
        }];
        self.b.push(Stmt::While(While { carried, cond_block, cond, body: inner.body }));
        self.leave(saved);
    }
}

fn arguments(seed: u64, exact: bool) -> Vec<Arg> {
    let mut dice = Dice(seed ^ 0xabc);
    let mut real = || {
        let k = dice.roll(7) as f64 - 3.0;
        if exact { k } else { k / 2.0 + 0.1 }
    };
    let mut reals = |n: i64| (0..n).map(|_| real()).collect::<Vec<_>>();
    let (a, b, x) = (reals(N), reals(N * D), reals(1));
    let ks: Vec<i64> = (0..N).map(|k| (k * 5 + seed as i64).rem_euclid(D)).collect();
    let (n, d) = (N as usize, D as usize);
    vec![
        Arg::Scalar(Lit::Int(N)),
        Arg::Scalar(Lit::Int(D)),
        Arg::Scalar(Lit::Real(x[0])),
        Arg::Array(Array::reals([n], a)),
        Arg::Array(Array::reals([n, d], b)),
        Arg::Array(Array::ints([n], ks)),
    ]
}

/// Runs the procedure after a pass, and says how its outcome differs.
fn compare(
    before: &Result<eval::Outcome, eval::Stop>,
    q: &Proc,
    args: &[Arg],
    tolerance: f64,
) -> Result<(), String> {
    verify::verify(q).map_err(|m| format!("verifier: {m}"))?;
    let after = eval::run(q, args);
    let same = match (before, &after) {
        (Ok(a), Ok(b)) => agree(&a.outs, &b.outs, tolerance),
        (Err(eval::Stop::Failed { .. }), b) => before.as_ref().err() == b.as_ref().err(),
        (Err(_), _) | (Ok(_), Err(_)) => false,
    };
    if same { Ok(()) } else { Err(format!("before {before:?}\nafter  {after:?}")) }
}

/// Gives how often each pass changed something.
fn check(seeds: std::ops::Range<u64>, exact: bool) -> BTreeMap<&'static str, usize> {
    let options = Options { strict: !exact, verify: true, ..Options::default() };
    let tolerance = if exact { 1e-12 } else { 0.0 };
    let mut changes = BTreeMap::new();
    for seed in seeds {
        let p = generate(seed, exact);
        let args = arguments(seed, exact);
        verify::verify(&p)
            .unwrap_or_else(|m| panic!("generator, seed {seed}: {m}\n{}", text::print_flat(&p)));
        let outcome = eval::run(&p, &args);
        let mut run = |pass: &Pass, before: &Proc| {
            let mut q = before.clone();
            (pass.run)(&mut q, &options);
            *changes.entry(pass.name).or_default() += (q.body != before.body) as usize;
            if let Err(m) = compare(&outcome, &q, &args, tolerance) {
                let (before, after) = (text::print_flat(before), text::print_flat(&q));
                panic!("seed {seed}, pass {}: {m}\n{before}\n{after}", pass.name);
            }
            q
        };
        // Every pass after what the passes before it made of the procedure, and alone on the procedure as generated.
        let mut q = p.clone();
        for name in PIPELINE {
            q = run(TABLE.iter().find(|t| t.name == *name).unwrap(), &q);
        }
        for pass in TABLE {
            run(pass, &p);
        }
    }
    changes
}

/// A test in which some pass finds nothing to do says nothing about it. `not`: those that do nothing here (for triangles and products see their files).
fn all_work(changes: &BTreeMap<&str, usize>, not: &[&str]) {
    for pass in TABLE.iter().filter(|pass| !not.contains(&pass.name)) {
        assert!(changes[pass.name] > 0, "{} changed nothing: {changes:?}", pass.name);
    }
}

#[test]
fn strict_is_bit_for_bit() {
    all_work(&check(0..40, false), &["fission", "triangles", "products"]);
}

#[test]
fn small_integers_are_exact() {
    all_work(&check(1000..1040, true), &["triangles", "products"]);
}
