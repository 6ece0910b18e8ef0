//! A mixture of Gaussians: β_ic = α_c + Σ_j q_cj − ½ |Q_c (x_i − μ_c)|², f = Σ_i LSE_c β_ic − n LSE α + prior. The reverse sweep is
//! fused with the forward one point by point: the cotangent of β_ic is the softmax weight of component c at point i.

use super::lse::log_sum_exp;
use crate::by_hand::{ByHand, Json, natural, reals};

/// The data, row by row.
pub struct Mixture {
    pub d: usize,
    pub k: usize,
    pub n: usize,
    pub m: usize,
    pub gamma: f64,
    pub x: Vec<f64>,
    pub alpha: Vec<f64>,
    pub mu: Vec<f64>,
    pub q: Vec<f64>,
    pub l: Vec<f64>,
}

impl Mixture {
    pub fn new(input: &Json) -> Mixture {
        let (size, part) = (|x: &str| natural(&input[x]), |x: &str| reals(&input[x]));
        Mixture {
            d: size("d"),
            k: size("k"),
            n: size("n"),
            m: size("m"),
            gamma: input["gamma"].as_f64().unwrap_or(f64::NAN),
            x: part("x"),
            alpha: part("alpha"),
            mu: part("mu"),
            q: part("q"),
            l: part("l"),
        }
    }

    /// Entries below the diagonal.
    pub fn below(&self) -> usize {
        self.d * self.d.saturating_sub(1) / 2
    }

    /// What does not depend on the parameters.
    pub fn constant(&self) -> f64 {
        let d = self.d as f64;
        let big_n = d + self.m as f64 + 1.0;
        let pi = std::f64::consts::PI;
        let gammas: f64 = (0..self.d).map(|j| log_gamma((big_n - j as f64) / 2.0)).sum();
        let log_gamma_d = d * (d - 1.0) / 4.0 * pi.ln() + gammas;
        let wishart = big_n * d * (self.gamma.ln() - 0.5 * 2.0_f64.ln()) - log_gamma_d;
        -(self.n as f64) * d / 2.0 * (2.0 * pi).ln() + self.k as f64 * wishart
    }

    /// The part of the prior that depends on the parameters, of which `diagonal` is exp q.
    #[inline(always)]
    pub fn prior(&self, diagonal: &[f64]) -> f64 {
        let squares = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        let sum: f64 = self.q.iter().sum();
        -0.5 * self.gamma * self.gamma * (squares(diagonal) + squares(&self.l)) + self.m as f64 * sum
    }
}

/// log Γ at half of a positive whole number, from Γ(½) = √π, Γ(1) = 1 and Γ(z + 1) = z Γ(z).
pub fn log_gamma(z: f64) -> f64 {
    let start = if z.fract() == 0.0 { 1.0 } else { 0.5 };
    let first = if start == 1.0 { 0.0 } else { 0.5 * std::f64::consts::PI.ln() };
    let steps = (z - start) as usize;
    first + (0..steps).map(|k| (start + k as f64).ln()).sum::<f64>()
}

pub struct Gmm {
    p: Mixture,
    /// Q_c column by column, with zeros above the diagonal.
    big_q: Vec<f64>,
    diagonal: Vec<f64>,
    /// For the point at hand: y = x − μ_c and z = Q_c y of every component, and β.
    y: Vec<f64>,
    z: Vec<f64>,
    beta: Vec<f64>,
    z_bar: Vec<f64>,
    big_q_bar: Vec<f64>,
    /// Σ_i of the softmax weights.
    weight: Vec<f64>,
    mu_bar: Vec<f64>,
    value: f64,
    slopes: Vec<f64>,
}

impl Gmm {
    pub fn new(input: &Json) -> Gmm {
        let p = Mixture::new(input);
        let (d, k) = (p.d, p.k);
        Gmm {
            big_q: vec![0.0; k * d * d],
            diagonal: vec![0.0; k * d],
            y: vec![0.0; k * d],
            z: vec![0.0; k * d],
            beta: vec![0.0; k],
            z_bar: vec![0.0; d],
            big_q_bar: vec![0.0; k * d * d],
            weight: vec![0.0; k],
            mu_bar: vec![0.0; k * d],
            value: 0.0,
            slopes: vec![0.0; k + 2 * k * d + k * p.below()],
            p,
        }
    }

    #[inline(always)]
    fn fill_q(&mut self) {
        let Mixture { d, k, .. } = self.p;
        for c in 0..k {
            let mut below = self.p.l[c * self.p.below()..].iter();
            for j in 0..d {
                let column = &mut self.big_q[(c * d + j) * d..(c * d + j + 1) * d];
                self.diagonal[c * d + j] = self.p.q[c * d + j].exp();
                column[j] = self.diagonal[c * d + j];
                column[j + 1..].iter_mut().zip(&mut below).for_each(|(entry, l)| *entry = *l);
            }
        }
    }

    /// y, z and β of a point; returns the log-sum-exp of β, which then holds the softmax weights.
    #[inline(always)]
    fn point(&mut self, i: usize) -> f64 {
        let Mixture { d, k, .. } = self.p;
        let x = &self.p.x[i * d..(i + 1) * d];
        for c in 0..k {
            let (y, z) = (&mut self.y[c * d..(c + 1) * d], &mut self.z[c * d..(c + 1) * d]);
            z.fill(0.0);
            for j in 0..d {
                y[j] = x[j] - self.p.mu[c * d + j];
                let column = &self.big_q[(c * d + j) * d..(c * d + j + 1) * d];
                let y = y[j];
                for (z, entry) in z[j..].iter_mut().zip(&column[j..]) {
                    *z = entry.mul_add(y, *z);
                }
            }
            let shift: f64 = self.p.alpha[c] + self.p.q[c * d..(c + 1) * d].iter().sum::<f64>();
            self.beta[c] = shift - 0.5 * z.iter().map(|z| z * z).sum::<f64>();
        }
        let largest = self.beta.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        for beta in &mut self.beta {
            *beta = (*beta - largest).exp();
            sum += *beta;
        }
        self.beta.iter_mut().for_each(|beta| *beta /= sum);
        largest + sum.ln()
    }

    /// What the point adds to the cotangents: z̄ = −w z, Q̄ += z̄ yᵗ, μ̄ −= Qᵗ z̄.
    #[inline(always)]
    fn point_back(&mut self) {
        let Mixture { d, k, .. } = self.p;
        for c in 0..k {
            let weight = self.beta[c];
            self.weight[c] += weight;
            for r in 0..d {
                self.z_bar[r] = -weight * self.z[c * d + r];
            }
            for j in 0..d {
                let column = (c * d + j) * d + j..(c * d + j + 1) * d;
                let y = self.y[c * d + j];
                let mut y_bar = 0.0;
                let entries = self.big_q_bar[column.clone()].iter_mut().zip(&self.big_q[column]);
                for ((entry_bar, entry), z_bar) in entries.zip(&self.z_bar[j..]) {
                    *entry_bar = z_bar.mul_add(y, *entry_bar);
                    y_bar = entry.mul_add(*z_bar, y_bar);
                }
                self.mu_bar[c * d + j] -= y_bar;
            }
        }
    }
}

impl ByHand for Gmm {
    #[inline(always)]
    fn primal(&mut self) {
        self.fill_q();
        let mut points = 0.0;
        for i in 0..self.p.n {
            points += self.point(i);
        }
        let alphas = self.p.n as f64 * log_sum_exp(&self.p.alpha);
        self.value = self.p.constant() + points - alphas + self.p.prior(&self.diagonal);
    }

    #[inline(always)]
    fn gradient(&mut self) {
        self.fill_q();
        self.big_q_bar.fill(0.0);
        self.mu_bar.fill(0.0);
        self.weight.fill(0.0);
        for i in 0..self.p.n {
            self.point(i);
            self.point_back();
        }
        let (d, k, below) = (self.p.d, self.p.k, self.p.below());
        let (square, m) = (self.p.gamma * self.p.gamma, self.p.m as f64);
        let alphas = log_sum_exp(&self.p.alpha);
        let (alpha_bar, rest) = self.slopes.split_at_mut(k);
        let (l_bar, rest) = rest.split_at_mut(k * below);
        let (mu_bar, q_bar) = rest.split_at_mut(k * d);
        mu_bar.copy_from_slice(&self.mu_bar);
        for c in 0..k {
            alpha_bar[c] = self.weight[c] - self.p.n as f64 * (self.p.alpha[c] - alphas).exp();
            let mut at = c * below;
            for j in 0..d {
                let column = &self.big_q_bar[(c * d + j) * d..(c * d + j + 1) * d];
                let e = self.diagonal[c * d + j];
                q_bar[c * d + j] = e * column[j] + self.weight[c] - square * e * e + m;
                for entry in &column[j + 1..] {
                    l_bar[at] = entry - square * self.p.l[at];
                    at += 1;
                }
            }
        }
    }

    fn value(&self) -> Vec<f64> {
        vec![self.value]
    }
    fn slopes(&self) -> Vec<f64> {
        self.slopes.clone()
    }
}
