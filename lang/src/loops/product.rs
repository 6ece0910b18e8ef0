//! Products of matrices as nests of loops, in the one shape in which the optimiser writes them and code generation knows them again:
//!
//! ```text
//! for r < n { for q < m { x = a[r, q]; for c < p { y = b[q, c]; t = x * y; out[r, c] += t } } }                  by rows
//! for r < n { for c < p { s = for q < m carry acc = 0 (sum) { … a[r, q] * b[q, c] … }; out[r, c] += s } }        by dots
//! ```
//!
//! Each matrix is two dimensions of an array, in either order; the other indices are fixed.

use super::*;
use crate::prim::Scalar;

/// An index and how far it runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    pub index: Val,
    pub extent: Operand,
}

/// A matrix: an array and its index, in which two of the product's indices stand.
#[derive(Clone, PartialEq, Debug)]
pub struct Matrix {
    pub buf: Buf,
    pub at: Vec<Operand>,
}

impl Matrix {
    /// The dimension that an index runs in, if it stands in exactly one.
    pub fn dimension(&self, index: Val) -> Option<usize> {
        let mut all = (0..self.at.len()).filter(|d| self.at[*d] == Operand::Val(index));
        all.next().filter(|_| all.next().is_none())
    }

    /// Neighbours in memory have neighbouring values of this index.
    fn is_unit(&self, index: Val) -> bool {
        self.dimension(index).is_some_and(|d| d + 1 == self.at.len())
    }

    /// Two of the indices stand in it, the third does not.
    fn is_of(&self, [first, second]: [Val; 2], without: Val) -> bool {
        self.dimension(first).is_some()
            && self.dimension(second).is_some()
            && !self.at.contains(&Operand::Val(without))
    }
}

/// out[r, c] += Σ_q a[r, q] · b[q, c]
#[derive(Clone, PartialEq, Debug)]
pub struct Product {
    pub rows: Range,
    pub columns: Range,
    pub inner: Range,
    pub out: Matrix,
    pub a: Matrix,
    pub b: Matrix,
}

impl Product {
    /// The product of two matrices in whichever order makes `out` one of rows: its later dimension is that of the columns. Absent where
    /// the indices do not stand as they must.
    pub fn new(out: Matrix, factors: [Matrix; 2], ranges: [Range; 3]) -> Option<Product> {
        let mut places: Vec<(usize, Range)> =
            ranges.iter().filter_map(|r| Some((out.dimension(r.index)?, *r))).collect();
        places.sort_by_key(|(d, _)| *d);
        let [(_, rows), (_, columns)] = places[..] else { return None };
        let inner = *ranges.iter().find(|r| out.dimension(r.index).is_none())?;
        let [a, b] = factors;
        let (a, b) = if a.dimension(rows.index).is_some() { (a, b) } else { (b, a) };
        Product { rows, columns, inner, out, a, b }.checked()
    }

    fn checked(self) -> Option<Product> {
        let (r, c, q) = (self.rows.index, self.columns.index, self.inner.index);
        let ok = self.out.is_of([r, c], q) && self.a.is_of([r, q], c) && self.b.is_of([q, c], r);
        let apart = self.out.buf != self.a.buf && self.out.buf != self.b.buf;
        (ok && apart).then_some(self)
    }

    /// The loops, by rows unless dots alone have neighbours in memory.
    pub fn nest(&self, p: &mut Proc) -> For {
        let (r, c, q) = (self.rows, self.columns, self.inner);
        let loop_over = |range: Range, carried: Vec<Carried>, body: Block| For {
            index: range.index,
            extent: range.extent,
            down: false,
            carried,
            body,
            parallel: Parallel::Yes,
        };
        let [x, y, t] = ["x", "y", "t"].map(|name| p.val(Scalar::Real, name));
        let load = |dst: Val, m: &Matrix| Stmt::Load { dst, buf: m.buf, index: m.at.clone() };
        let multiply = Stmt::Let { dst: t, op: Op::FMul, args: vec![Operand::Val(x), Operand::Val(y)] };
        let add = |value: Val| Stmt::Accum {
            buf: self.out.buf,
            index: self.out.at.clone(),
            value: Operand::Val(value),
        };
        let dots = self.a.is_unit(q.index) && self.b.is_unit(q.index);
        let inside = match dots {
            false => {
                let row = loop_over(c, vec![], vec![load(y, &self.b), multiply, add(t)]);
                loop_over(q, vec![], vec![load(x, &self.a), Stmt::For(row)])
            }
            true => {
                let [acc, next, sum] = ["acc", "next", "sum"].map(|name| p.val(Scalar::Real, name));
                let step =
                    Stmt::Let { dst: next, op: Op::FAdd, args: vec![Operand::Val(acc), Operand::Val(t)] };
                let carried = Carried {
                    param: acc,
                    init: Operand::Real(0.0),
                    next: Operand::Val(next),
                    result: sum,
                    kind: CarriedKind::Sum,
                };
                let dot =
                    loop_over(q, vec![carried], vec![load(x, &self.a), load(y, &self.b), multiply, step]);
                loop_over(c, vec![], vec![Stmt::For(dot), add(sum)])
            }
        };
        loop_over(r, vec![], vec![Stmt::For(inside)])
    }

    /// The product that a nest is, if it is one.
    pub fn of(f: &For) -> Option<Product> {
        let range = |f: &For| Range { index: f.index, extent: f.extent };
        let [Stmt::For(second)] = &f.body[..] else { return None };
        if f.down || second.down || !f.carried.is_empty() || !second.carried.is_empty() {
            return None;
        }
        let matrix = |buf: &Buf, index: &[Operand]| Matrix { buf: *buf, at: index.to_vec() };
        let is = |o: &Operand, v: &Val| *o == Operand::Val(*v);
        match &second.body[..] {
            [Stmt::Load { dst: x, buf: a, index: at_a }, Stmt::For(third)] => match &third.body[..] {
                [
                    Stmt::Load { dst: y, buf: b, index: at_b },
                    Stmt::Let { dst: t, op: Op::FMul, args },
                    Stmt::Accum { buf: out, index: at_out, value },
                ] if is(&args[0], x)
                    && is(&args[1], y)
                    && is(value, t)
                    && third.carried.is_empty()
                    && !third.down =>
                {
                    Product {
                        rows: range(f),
                        inner: range(second),
                        columns: range(third),
                        out: matrix(out, at_out),
                        a: matrix(a, at_a),
                        b: matrix(b, at_b),
                    }
                    .checked()
                }
                _ => None,
            },
            [Stmt::For(third), Stmt::Accum { buf: out, index: at_out, value }] => {
                match (&third.body[..], &third.carried[..]) {
                    (
                        [
                            Stmt::Load { dst: x, buf: a, index: at_a },
                            Stmt::Load { dst: y, buf: b, index: at_b },
                            Stmt::Let { dst: t, op: Op::FMul, args },
                            Stmt::Let { dst: next, op: Op::FAdd, args: sum },
                        ],
                        [
                            Carried {
                                param,
                                init: Operand::Real(0.0),
                                next: n,
                                result,
                                kind: CarriedKind::Sum,
                            },
                        ],
                    ) if is(&args[0], x)
                        && is(&args[1], y)
                        && is(&sum[0], param)
                        && is(&sum[1], t)
                        && is(n, next)
                        && is(value, result)
                        && !third.down =>
                    {
                        Product {
                            rows: range(f),
                            columns: range(second),
                            inner: range(third),
                            out: matrix(out, at_out),
                            a: matrix(a, at_a),
                            b: matrix(b, at_b),
                        }
                        .checked()
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
