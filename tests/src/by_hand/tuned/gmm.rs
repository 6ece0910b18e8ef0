//! Points in tiles, a point per lane. In a tile, component by component: y = x − μ, z = Q y, β; then the softmax over components; then, again by
//! component, z̄ = −w z, Q̄ += z̄ yᵗ and μ̄ −= Qᵗ z̄. The three products with the triangular matrix work on blocks of four rows,
//! whose sums stay in registers; Q̄ and μ̄ have an accumulator per lane, summed once at the end. z is kept for the tile.

use super::lanes::{Lanes, WIDTH};
use crate::by_hand::naive::gmm::Mixture;
use crate::by_hand::naive::lse::log_sum_exp;
use crate::by_hand::{ByHand, Json};

/// Vectors that are worked on together, and groups of them in a tile.
const TOGETHER: usize = 3;
const GROUPS: usize = 4;
/// Points of a tile.
const POINTS: usize = WIDTH * TOGETHER * GROUPS;
/// Rows of a block.
const ROWS: usize = 4;

type Group = [Lanes; TOGETHER];
type Tile = [Group; GROUPS];
const EMPTY: Tile = [[Lanes::ZERO; TOGETHER]; GROUPS];

/// Something small for every vector of a tile. (What is large is not always inlined, and then not made for the vector unit.)
#[inline(always)]
fn each(mut work: impl FnMut(usize, usize)) {
    for g in 0..GROUPS {
        for v in 0..TOGETHER {
            work(g, v);
        }
    }
}

/// The first point of a vector of a tile.
#[inline(always)]
fn point(g: usize, v: usize) -> usize {
    (g * TOGETHER + v) * WIDTH
}

pub struct Gmm {
    p: Mixture,
    /// The points: by tile and coordinate.
    x: Vec<Tile>,
    /// By component: entry (r, j) of Q in block r / 4 at [j][r % 4], and in block j / 4 of the transpose at [r][j % 4].
    big_q: Vec<[f64; ROWS]>,
    transposed: Vec<[f64; ROWS]>,
    diagonal: Vec<f64>,
    y: Vec<Tile>,
    z: Vec<Tile>,
    z_bar: Vec<Tile>,
    /// By component: β, then the softmax weights.
    weights: Vec<Tile>,
    /// By component: like Q, with lanes.
    big_q_bar: Vec<[Lanes; ROWS]>,
    mu_bar: Vec<Lanes>,
    weight_sums: Vec<Lanes>,
    value: f64,
    slopes: Vec<f64>,
}

impl Gmm {
    pub fn new(input: &Json) -> Gmm {
        let p = Mixture::new(input);
        let (d, k) = (p.d, p.k);
        let tiles = p.n.div_ceil(POINTS);
        let coordinate = |i: usize, j: usize| if i < p.n { p.x[i * d + j] } else { 0.0 };
        let x = (0..tiles * d).map(|at| {
            let (first, j) = (at / d * POINTS, at % d);
            let mut tile = EMPTY;
            each(|g, v| tile[g][v] = Lanes::from_fn(|l| coordinate(first + point(g, v) + l, j)));
            tile
        });
        let blocks = k * d.div_ceil(ROWS) * d;
        Gmm {
            x: x.collect(),
            big_q: vec![[0.0; ROWS]; blocks],
            transposed: vec![[0.0; ROWS]; blocks],
            diagonal: vec![0.0; k * d],
            y: vec![EMPTY; d],
            z: vec![EMPTY; k * d],
            z_bar: vec![EMPTY; d],
            weights: vec![EMPTY; k],
            big_q_bar: vec![[Lanes::ZERO; ROWS]; blocks],
            mu_bar: vec![Lanes::ZERO; k * d],
            weight_sums: vec![Lanes::ZERO; k],
            value: 0.0,
            slopes: vec![0.0; k + 2 * k * d + k * p.below()],
            p,
        }
    }

    /// Where block `block` of component c begins.
    #[inline(always)]
    fn block(&self, c: usize, block: usize) -> usize {
        (c * self.p.d.div_ceil(ROWS) + block) * self.p.d
    }

    #[inline(always)]
    fn fill_q(&mut self) {
        let (d, below) = (self.p.d, self.p.below());
        for c in 0..self.p.k {
            let mut l = self.p.l[c * below..].iter();
            for j in 0..d {
                self.diagonal[c * d + j] = self.p.q[c * d + j].exp();
                for r in j..d {
                    let entry = if r == j { self.diagonal[c * d + j] } else { *l.next().unwrap_or(&0.0) };
                    let (by_rows, by_columns) = (self.block(c, r / ROWS), self.block(c, j / ROWS));
                    self.big_q[by_rows + j][r % ROWS] = entry;
                    self.transposed[by_columns + r][j % ROWS] = entry;
                }
            }
        }
    }

    /// y, z and β of component c for a tile of points.
    #[inline(always)]
    fn component(&mut self, tile: usize, c: usize, keep: usize) {
        let d = self.p.d;
        let x = &self.x[tile * d..(tile + 1) * d];
        for ((y, x), mu) in self.y.iter_mut().zip(x).zip(&self.p.mu[c * d..]) {
            let mu = Lanes::splat(*mu);
            each(|g, v| y[g][v] = x[g][v] - mu);
        }
        let mut squares = EMPTY;
        for first in (0..d).step_by(ROWS) {
            let rows = ROWS.min(d - first);
            let q = self.block(c, first / ROWS);
            let q = &self.big_q[q..q + first + rows];
            let z = &mut self.z[keep * d + first..][..rows];
            match rows {
                1 => product::<1>(q, &self.y, z),
                2 => product::<2>(q, &self.y, z),
                3 => product::<3>(q, &self.y, z),
                _ => product::<4>(q, &self.y, z),
            }
            for z in z {
                each(|g, v| squares[g][v] = z[g][v].mul_add(z[g][v], squares[g][v]));
            }
        }
        let shift = Lanes::splat(self.p.alpha[c] + self.p.q[c * d..(c + 1) * d].iter().sum::<f64>());
        let beta = &mut self.weights[c];
        each(|g, v| beta[g][v] = squares[g][v].mul_add(Lanes::splat(-0.5), shift));
    }

    /// From β to the softmax weights; gives the sum of the log-sum-exps. Points past the end have no weight.
    #[inline(always)]
    fn softmax(&mut self, tile: usize) -> f64 {
        let mut total = 0.0;
        for (g, v) in (0..GROUPS).flat_map(|g| (0..TOGETHER).map(move |v| (g, v))) {
            let mut largest = Lanes::splat(f64::NEG_INFINITY);
            for beta in &self.weights {
                largest = largest.max(beta[g][v]);
            }
            let mut sum = Lanes::ZERO;
            for weight in &mut self.weights {
                weight[g][v] = (weight[g][v] - largest).exp();
                sum += weight[g][v];
            }
            let (tops, sums) = (largest.array(), sum.array());
            let mut scale = [0.0; WIDTH];
            for l in 0..WIDTH.min(self.p.n.saturating_sub(tile * POINTS + point(g, v))) {
                total += tops[l] + sums[l].ln();
                scale[l] = 1.0 / sums[l];
            }
            for weight in &mut self.weights {
                weight[g][v] = weight[g][v] * Lanes::of(scale);
            }
        }
        total
    }

    /// What a tile adds to the cotangents of component c.
    #[inline(always)]
    fn component_back(&mut self, tile: usize, c: usize) {
        let d = self.p.d;
        let weight = self.weights[c];
        let sum = &mut self.weight_sums[c];
        each(|g, v| *sum += weight[g][v]);
        let x = &self.x[tile * d..(tile + 1) * d];
        for ((y, x), mu) in self.y.iter_mut().zip(x).zip(&self.p.mu[c * d..]) {
            let mu = Lanes::splat(*mu);
            each(|g, v| y[g][v] = x[g][v] - mu);
        }
        for (z_bar, z) in self.z_bar.iter_mut().zip(&self.z[c * d..]) {
            each(|g, v| z_bar[g][v] = -(weight[g][v] * z[g][v]));
        }
        for first in (0..d).step_by(ROWS) {
            let rows = ROWS.min(d - first);
            let at = self.block(c, first / ROWS);
            let q_bar = &mut self.big_q_bar[at..at + first + rows];
            let q = &self.transposed[at + first..at + d];
            let (z_bar, mu_bar) = (&self.z_bar[first..], &mut self.mu_bar[c * d + first..][..rows]);
            match rows {
                1 => (outer::<1>(z_bar, &self.y, q_bar), back::<1>(q, z_bar, mu_bar)),
                2 => (outer::<2>(z_bar, &self.y, q_bar), back::<2>(q, z_bar, mu_bar)),
                3 => (outer::<3>(z_bar, &self.y, q_bar), back::<3>(q, z_bar, mu_bar)),
                _ => (outer::<4>(z_bar, &self.y, q_bar), back::<4>(q, z_bar, mu_bar)),
            };
        }
    }
}

/// The sums Σ_j q_rj y_j of R rows, for a group of points.
#[inline(always)]
fn rows<const R: usize>(q: &[[f64; ROWS]], y: &[Tile], g: usize) -> [Group; R] {
    let mut sums = [[Lanes::ZERO; TOGETHER]; R];
    for (q, y) in q.iter().zip(y) {
        let y = &y[g];
        for r in 0..R {
            let q = Lanes::splat(q[r]);
            for v in 0..TOGETHER {
                sums[r][v] = q.mul_add(y[v], sums[r][v]);
            }
        }
    }
    sums
}

/// z = Q y for R rows.
#[inline(always)]
fn product<const R: usize>(q: &[[f64; ROWS]], y: &[Tile], z: &mut [Tile]) {
    for g in 0..GROUPS {
        let sums = rows::<R>(q, y, g);
        for r in 0..R {
            z[r][g] = sums[r];
        }
    }
}

/// μ̄ −= Qᵗ z̄, summed over the points of each lane, for R columns of Q.
#[inline(always)]
fn back<const R: usize>(q: &[[f64; ROWS]], z_bar: &[Tile], mu_bar: &mut [Lanes]) {
    for g in 0..GROUPS {
        let sums = rows::<R>(q, z_bar, g);
        for r in 0..R {
            mu_bar[r] = mu_bar[r] - ((sums[r][0] + sums[r][1]) + sums[r][2]);
        }
    }
}

/// Q̄ += z̄ yᵗ for R rows, two columns at a time.
#[inline(always)]
fn outer<const R: usize>(z_bar: &[Tile], y: &[Tile], q_bar: &mut [[Lanes; ROWS]]) {
    let Some(z_bar) = z_bar.first_chunk::<R>() else { return };
    let (pairs, last) = q_bar.as_chunks_mut::<2>();
    let (y_pairs, y_rest) = y.as_chunks::<2>();
    for (pair, [y0, y1]) in pairs.iter_mut().zip(y_pairs) {
        let mut sums = *pair;
        each(|g, v| {
            for r in 0..R {
                sums[0][r] = z_bar[r][g][v].mul_add(y0[g][v], sums[0][r]);
                sums[1][r] = z_bar[r][g][v].mul_add(y1[g][v], sums[1][r]);
            }
        });
        *pair = sums;
    }
    // The last of an odd number of columns.
    let y = y_pairs.get(pairs.len()).map(|[y, _]| y).or(y_rest.first());
    if let ([sums], Some(y)) = (last, y) {
        each(|g, v| {
            for r in 0..R {
                sums[r] = z_bar[r][g][v].mul_add(y[g][v], sums[r]);
            }
        });
    }
}

impl ByHand for Gmm {
    #[inline(always)]
    fn primal(&mut self) {
        self.fill_q();
        let mut points = 0.0;
        for tile in 0..self.x.len() / self.p.d {
            for c in 0..self.p.k {
                self.component(tile, c, 0);
            }
            points += self.softmax(tile);
        }
        let alphas = self.p.n as f64 * log_sum_exp(&self.p.alpha);
        self.value = self.p.constant() + points - alphas + self.p.prior(&self.diagonal);
    }

    #[inline(always)]
    fn gradient(&mut self) {
        self.fill_q();
        self.big_q_bar.fill([Lanes::ZERO; ROWS]);
        self.mu_bar.fill(Lanes::ZERO);
        self.weight_sums.fill(Lanes::ZERO);
        for tile in 0..self.x.len() / self.p.d {
            for c in 0..self.p.k {
                self.component(tile, c, c);
            }
            self.softmax(tile);
            for c in 0..self.p.k {
                self.component_back(tile, c);
            }
        }
        let (d, k, below) = (self.p.d, self.p.k, self.p.below());
        let (square, m) = (self.p.gamma * self.p.gamma, self.p.m as f64);
        let alphas = log_sum_exp(&self.p.alpha);
        let mut slopes = std::mem::take(&mut self.slopes);
        let (alpha_bar, rest) = slopes.split_at_mut(k);
        let (l_bar, rest) = rest.split_at_mut(k * below);
        let (mu_bar, q_bar) = rest.split_at_mut(k * d);
        mu_bar.iter_mut().zip(&self.mu_bar).for_each(|(bar, lanes)| *bar = lanes.sum());
        for c in 0..k {
            let weight = self.weight_sums[c].sum();
            alpha_bar[c] = weight - self.p.n as f64 * (self.p.alpha[c] - alphas).exp();
            let mut at = c * below;
            for j in 0..d {
                let entry = |r: usize| self.big_q_bar[self.block(c, r / ROWS) + j][r % ROWS].sum();
                let e = self.diagonal[c * d + j];
                q_bar[c * d + j] = e * entry(j) + weight - square * e * e + m;
                for r in j + 1..d {
                    l_bar[at] = entry(r) - square * self.p.l[at];
                    at += 1;
                }
            }
        }
        self.slopes = slopes;
    }

    fn value(&self) -> Vec<f64> {
        vec![self.value]
    }
    fn slopes(&self) -> Vec<f64> {
        self.slopes.clone()
    }
}
