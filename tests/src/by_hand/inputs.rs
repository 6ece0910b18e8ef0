//! Inputs of the functions at any size, as the messages of the suite have them. The same numbers every time.

use serde_json::{Value as Json, json};

/// Numbers that look random, from a counter.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Uniform in [0, 1): SplitMix64's bits.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normal, after Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn uniforms(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.uniform()).collect()
    }

    fn normals(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }

    fn rows(&mut self, n: usize, mut row: impl FnMut(&mut Numbers) -> Vec<f64>) -> Vec<Vec<f64>> {
        (0..n).map(|_| row(self)).collect()
    }
}

pub fn llsq(n: usize, m: usize) -> Json {
    json!({"x": Numbers::new(1).uniforms(m), "n": n})
}

pub fn lse(n: usize) -> Json {
    json!({"x": Numbers::new(2).uniforms(n)})
}

pub fn ode(n: usize, s: usize) -> Json {
    json!({"x": Numbers::new(3).uniforms(n), "s": s})
}

pub fn gmm(d: usize, k: usize, n: usize) -> Json {
    let mut r = Numbers::new(4);
    let x = r.rows(n, |r| r.normals(d));
    let alpha = r.normals(k);
    let mu = r.rows(k, |r| r.uniforms(d));
    let q = r.rows(k, |r| r.normals(d));
    let l = r.rows(k, |r| r.normals(d * (d - 1) / 2));
    json!({"d": d, "k": k, "n": n, "x": x, "m": 0, "gamma": 1.0, "alpha": alpha, "mu": mu, "q": q, "l": l})
}

/// A sequence of bits, where the suite has those of characters.
pub fn lstm(layers: usize, c: usize, b: usize) -> Json {
    let mut r = Numbers::new(5);
    let main_params = r.rows(2 * layers, |r| r.uniforms(4 * b));
    let extra_params = r.rows(3, |r| r.uniforms(b));
    let state = r.rows(2 * layers, |r| r.uniforms(b));
    let bit = |r: &mut Numbers| if r.uniform() < 0.4 { 1.0 } else { 0.0 };
    let sequence = r.rows(c, |r| (0..b).map(|_| bit(r)).collect());
    json!({"main_params": main_params, "extra_params": extra_params, "state": state, "sequence": sequence})
}

/// Cameras and points are all alike, as in the suite.
pub fn ba(n: usize, m: usize, p: usize) -> Json {
    let mut r = Numbers::new(6);
    let mut cam: Vec<f64> = (0..3).map(|_| r.uniform() - 0.5).collect();
    cam.extend([4.0 + r.uniform(), 3.0 + r.uniform(), 9.0 + r.uniform(), 300.0 + r.uniform()]);
    cam.extend([5.0 + r.uniform(), 7.0 + r.uniform(), 0.05 * r.uniform(), 0.002 * r.uniform()]);
    let x: Vec<f64> = (0..3).map(|_| 3.0 * r.uniform()).collect();
    let feat: Vec<f64> = (0..2).map(|_| 100.0 * r.uniform()).collect();
    json!({"n": n, "m": m, "p": p, "cam": cam, "x": x, "w": r.uniform(), "feat": feat})
}

pub fn det(ell: usize) -> Json {
    json!({"A": Numbers::new(7).uniforms(ell * ell), "ell": ell})
}
