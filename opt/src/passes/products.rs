//! Products of matrices on their own. In a nest over two indices, what sums products of two arrays over a third one, and what adds products of a value
//! to two arrays over it, becomes a nest of its own ([`Product`]), which has neighbours in memory in its inner loop and which code
//! generation knows again; what is in between stays a loop over the two, with arrays to take from and leave in:
//!
//! ```text
//! for i < n { for j < p { s = for k < m … { s + a[i, k] * b[k, j] }; g = f(s); for k < m { x[i, k] += g * b[k, j]; y[k, j] += a[i, k] * g } } }
//!
//! z := 0;  z[i, j] += a[i, k] * b[k, j]
//! for i < n { for j < p { s = z[i, j]; w[i, j] = f(s) } }
//! x[i, k] += w[i, j] * b[k, j]
//! y[k, j] += a[i, k] * w[i, j]
//! ```

use super::{Pass, on_body};
use lang::loops::product::{Matrix, Product, Range};
use lang::loops::verify::{Touched, touched};
use lang::loops::walk::{self, Subst};
use lang::loops::*;
use lang::prim::Scalar;
use std::collections::HashMap;

pub const PASS: Pass = Pass {
    name: "products",
    doc: "Products of matrices, as nests of their own with neighbours in memory inside.",
    requires: &[],
    establishes: &[],
    breaks: &[],
    run: |p, options| {
        // Additions change places.
        if !options.strict {
            on_body(p, block);
        }
    },
};

/// Shorter sums are not worth an array of results.
const SHORT: i64 = 16;
/// Nor are sums for so few.
const FEW: i64 = 8;

fn at_least(extent: Operand, least: i64) -> bool {
    !matches!(extent, Operand::Int(k) if k < least)
}

fn block(p: &mut Proc, stmts: &mut Block) {
    let mut out = vec![];
    for mut s in std::mem::take(stmts) {
        let apart = match &s {
            Stmt::For(l) => Nest::new(l).and_then(|nest| nest.apart(p)),
            _ => None,
        };
        match apart {
            Some(statements) => out.extend(statements),
            None => {
                walk::blocks_mut(&mut s).into_iter().for_each(|b| block(p, b));
                out.push(s);
            }
        }
    }
    *stmts = out;
}

/// for i { before; for j { body }; after }, its iterations in any order.
struct Nest<'a> {
    i: &'a For,
    j: &'a For,
    /// Where j stands in the body of i.
    at: usize,
    touched: HashMap<Buf, Touched>,
}

/// A loop of the nest's body that goes.
enum Gone {
    /// acc = Σ: the product has a matrix of its own.
    Sum { result: Val, product: Product },
    /// Additions of products of a value of the nest.
    Additions(Vec<Addition>),
}

/// out += value · factor, over the two indices of the nest and the loop's.
struct Addition {
    out: Matrix,
    value: Val,
    factor: Matrix,
    inner: Range,
}

impl<'a> Nest<'a> {
    fn new(i: &'a For) -> Option<Nest<'a>> {
        let mut loops = i.body.iter().enumerate().filter_map(|(k, s)| match s {
            Stmt::For(j) => Some((k, j)),
            _ => None,
        });
        let (at, j) = loops.next()?;
        let parallel = |l: &For| l.parallel == Parallel::Yes && !l.down;
        let mut simple = loops.next().is_none() && parallel(i) && parallel(j);
        simple &= j.extent != Operand::Val(i.index) && at_least(i.extent, FEW) && at_least(j.extent, FEW);
        // What fails or has memory of its own keeps its place.
        walk::each(&i.body, &mut |s| {
            simple &= walk::is_elementary(s) || matches!(s, Stmt::For(_) | Stmt::If(_));
        });
        // The extents are known outside.
        let mut inside = vec![i.index];
        walk::each(&i.body[..at], &mut |s| inside.extend(walk::results(s)));
        simple &= !inside.iter().any(|v| j.extent == Operand::Val(*v));
        simple.then(|| Nest { i, j, at, touched: touched(i.index, &i.body) })
    }

    fn ranges(&self, inner: Range) -> [Range; 3] {
        let [i, j] = [self.i, self.j].map(|l| Range { index: l.index, extent: l.extent });
        [i, j, inner]
    }

    /// Not written by the nest.
    fn is_given(&self, buf: Buf) -> bool {
        self.touched.get(&buf).is_some_and(|t| !t.written && !t.accumulated)
    }

    /// Every index of the matrix is one of the three, or known outside the nest; a matrix is as large as the indices run.
    fn fits(&self, p: &Proc, m: &Matrix, inner: Range) -> bool {
        let mut defined = vec![];
        walk::each(&self.i.body, &mut |s| {
            defined.extend(walk::results(s).into_iter().chain(walk::params(s)))
        });
        let ranges = self.ranges(inner);
        m.at.iter().zip(&p.info(m.buf).shape).all(|(at, n)| {
            match ranges.iter().find(|r| *at == Operand::Val(r.index)) {
                Some(r) => r.extent == *n,
                None => !defined.iter().any(|v| *at == Operand::Val(*v)),
            }
        })
    }

    /// The nest in parts, if there is a product in it.
    fn apart(&self, p: &mut Proc) -> Option<Block> {
        let gone: Vec<Option<Gone>> = self.j.body.iter().map(|s| self.gone(p, s)).collect();
        if gone.iter().all(Option::is_none) {
            return None;
        }
        let (mut before, mut rest, mut after) = (vec![], vec![], vec![]);
        let ij = [self.i.index, self.j.index].map(Operand::Val).to_vec();
        let matrix = |p: &mut Proc, name: &str, out: &mut Block| {
            let shape = vec![self.i.extent, self.j.extent];
            let buf = p.buf(BufInfo { name: name.into(), elem: Scalar::Real, shape, kind: BufKind::Local });
            out.push(Stmt::Alloc { buf });
            Matrix { buf, at: ij.clone() }
        };
        let mut kept: HashMap<Val, Matrix> = HashMap::new();
        let mut made = vec![];
        for (s, gone) in self.j.body.iter().zip(gone) {
            match gone {
                None => rest.push(s.clone()),
                Some(Gone::Sum { result, product }) => {
                    let sums = matrix(p, "products", &mut before);
                    before.push(Stmt::Fill { buf: sums.buf, value: Operand::Real(0.0) });
                    rest.push(Stmt::Load { dst: result, buf: sums.buf, index: ij.clone() });
                    before.push(nest(p, &Product { out: sums.clone(), ..product }));
                    made.push(sums.buf);
                    kept.insert(result, sums);
                }
                Some(Gone::Additions(additions)) => {
                    for Addition { out, value, factor, inner } in additions {
                        let values = match kept.get(&value) {
                            Some(m) => m.clone(),
                            None => {
                                let m = matrix(p, "factors", &mut before);
                                let value = Operand::Val(value);
                                rest.push(Stmt::Store { buf: m.buf, index: ij.clone(), value });
                                m
                            }
                        };
                        kept.insert(value, values.clone());
                        let product = Product::new(out, [values, factor], self.ranges(inner));
                        after.push(nest(p, &product.expect("tried before")));
                    }
                }
            }
        }
        if let Some((sums, out)) = self.only_stored(p, &rest).filter(|(sums, _)| made.contains(sums)) {
            before.extend(after);
            before.retain(|s| *s != Stmt::Alloc { buf: sums });
            walk::each_mut(&mut before, &mut |s| {
                walk::buffers_mut(s, &mut |b| *b = if *b == sums { out } else { *b })
            });
            return Some(before);
        }
        let mut outer = self.i.clone();
        outer.body[self.at] = Stmt::For(For { body: rest, ..self.j.clone() });
        before.push(Stmt::For(outer));
        before.extend(after);
        Some(before)
    }

    /// What is left of the nest only moves the sums to a matrix of the same size: these two.
    fn only_stored(&self, p: &Proc, rest: &[Stmt]) -> Option<(Buf, Buf)> {
        match rest {
            [Stmt::Load { dst, buf: sums, .. }, Stmt::Store { buf: out, index, value }]
                if self.i.body.len() == 1
                    && self.i.carried.is_empty()
                    && self.j.carried.is_empty()
                    && *value == Operand::Val(*dst)
                    && index[..] == [self.i.index, self.j.index].map(Operand::Val)
                    && p.info(*out).shape == p.info(*sums).shape =>
            {
                Some((*sums, *out))
            }
            _ => None,
        }
    }

    fn gone(&self, p: &Proc, s: &Stmt) -> Option<Gone> {
        let Stmt::For(k) = s else { return None };
        let inner = Range { index: k.index, extent: k.extent };
        let mut inside = vec![self.i.index, self.j.index];
        walk::each(&self.i.body, &mut |s| inside.extend(walk::results(s)));
        if k.down || !at_least(k.extent, SHORT) || inside.iter().any(|v| k.extent == Operand::Val(*v)) {
            return None;
        }
        let loads: HashMap<Val, Matrix> = k
            .body
            .iter()
            .filter_map(|s| match s {
                Stmt::Load { dst, buf, index } => Some((*dst, Matrix { buf: *buf, at: index.clone() })),
                _ => None,
            })
            .collect();
        let products: HashMap<Val, [Operand; 2]> = k
            .body
            .iter()
            .filter_map(|s| match s {
                Stmt::Let { dst, op: Op::FMul, args } => Some((*dst, [args[0], args[1]])),
                _ => None,
            })
            .collect();
        let loaded = |o: Operand| match o {
            Operand::Val(v) => {
                loads.get(&v).filter(|m| self.is_given(m.buf) && self.fits(p, m, inner)).cloned()
            }
            Operand::Real(_) | Operand::Int(_) | Operand::Bool(_) => None,
        };
        match &k.carried[..] {
            [] => self.additions(p, k, inner, &products, &loaded),
            [c] => {
                let Operand::Val(next) = c.next else { return None };
                let [Stmt::Load { .. }, Stmt::Load { .. }, _, Stmt::Let { dst, op: Op::FAdd, args }] =
                    &k.body[..]
                else {
                    return None;
                };
                let term = *args.iter().find(|a| **a != Operand::Val(c.param))?;
                let Operand::Val(term) = term else { return None };
                let [x, y] = *products.get(&term)?;
                let zero = matches!(c.init, Operand::Real(x) if x.to_bits() == 0);
                if !zero
                    || *dst != next
                    || !args.contains(&Operand::Val(c.param))
                    || c.kind != CarriedKind::Sum
                {
                    return None;
                }
                // A stand-in for the matrix that is made for the sums.
                let ij = [self.i.index, self.j.index].map(Operand::Val).to_vec();
                let out = Matrix { buf: Buf(u32::MAX), at: ij };
                let product = Product::new(out, [loaded(x)?, loaded(y)?], self.ranges(inner))?;
                Some(Gone::Sum { result: c.result, product })
            }
            _ => None,
        }
    }

    fn additions(
        &self,
        p: &Proc,
        k: &For,
        inner: Range,
        products: &HashMap<Val, [Operand; 2]>,
        loaded: &dyn Fn(Operand) -> Option<Matrix>,
    ) -> Option<Gone> {
        let mut additions = vec![];
        // Of the nest's own values, one for each of its iterations.
        let own = |o: Operand| match o {
            Operand::Val(v) => self.j.body.iter().any(|s| walk::results(s).contains(&v)).then_some(v),
            Operand::Real(_) | Operand::Int(_) | Operand::Bool(_) => None,
        };
        for s in &k.body {
            match s {
                Stmt::Load { .. } | Stmt::Let { op: Op::FMul, .. } => {}
                Stmt::Accum { buf, index, value: Operand::Val(t) } => {
                    let [x, y] = *products.get(t)?;
                    let (value, factor) = match (own(x), own(y)) {
                        (Some(v), None) => (v, loaded(y)?),
                        (None, Some(v)) => (v, loaded(x)?),
                        (Some(_), Some(_)) | (None, None) => return None,
                    };
                    let out = Matrix { buf: *buf, at: index.clone() };
                    let t = self.touched.get(buf)?;
                    let ij = [self.i.index, self.j.index].map(Operand::Val).to_vec();
                    let values = Matrix { buf: Buf(u32::MAX), at: ij };
                    if t.read || t.written || !self.fits(p, &out, inner) {
                        return None;
                    }
                    Product::new(out.clone(), [values, factor.clone()], self.ranges(inner))?;
                    additions.push(Addition { out, value, factor, inner });
                }
                _ => return None,
            }
        }
        (!additions.is_empty()).then_some(Gone::Additions(additions))
    }
}

/// The loops of a product, with indices of their own.
fn nest(p: &mut Proc, product: &Product) -> Stmt {
    let nest = vec![Stmt::For(product.nest(p))];
    walk::refresh(p, &nest, &mut Subst::default()).remove(0)
}
