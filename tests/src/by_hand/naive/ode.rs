//! y' = F(y), F_0 = x_0, F_i = x_i y_{i−1}, by s steps of the classical method of Runge and Kutta from 0. The reverse sweep goes back
//! through the kept states, and computes the three inner stages of a step again.

use crate::by_hand::{ByHand, Json, natural, reals};

pub struct Ode {
    x: Vec<f64>,
    steps: usize,
    /// The states, one after the other; the primal alternates between the first two.
    states: Vec<f64>,
    /// k1 … k4 of the step at hand, and the points where k2, k3, k4 are taken.
    k: [Vec<f64>; 4],
    u: [Vec<f64>; 3],
    /// Cotangents: of the state after the step at hand, of k1 … k4, of a point.
    state_bar: Vec<f64>,
    k_bar: [Vec<f64>; 4],
    u_bar: Vec<f64>,
    value: Vec<f64>,
    slopes: Vec<f64>,
}

impl Ode {
    pub fn new(input: &Json) -> Ode {
        let (x, steps) = (reals(&input["x"]), natural(&input["s"]));
        let n = x.len();
        let zeros = || vec![0.0; n];
        Ode {
            x,
            steps,
            states: vec![0.0; n * (steps + 2)],
            k: [zeros(), zeros(), zeros(), zeros()],
            u: [zeros(), zeros(), zeros()],
            state_bar: zeros(),
            k_bar: [zeros(), zeros(), zeros(), zeros()],
            u_bar: zeros(),
            value: zeros(),
            slopes: zeros(),
        }
    }

    /// All steps; returns where the last state begins.
    #[inline(always)]
    fn forward(&mut self, keep: bool) -> usize {
        let n = self.x.len();
        let h = 2.0 / self.steps as f64;
        self.states[..n].fill(0.0);
        let place = |t: usize| if keep { t * n } else { t % 2 * n };
        for t in 0..self.steps {
            let (now, next) = (place(t), place(t + 1));
            let (low, high) = self.states.split_at_mut(now.max(next));
            let (y, y_next) = match now < next {
                true => (&low[now..now + n], &mut high[..n]),
                false => (&high[..n], &mut low[next..next + n]),
            };
            stages(&self.x, y, h, &mut self.k, &mut self.u);
            slope(&self.x, &self.u[2], &mut self.k[3]);
            let [k1, k2, k3, k4] = &self.k;
            for i in 0..n {
                y_next[i] = y[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
            }
        }
        place(self.steps)
    }
}

/// F(y).
#[inline(always)]
fn slope(x: &[f64], y: &[f64], k: &mut [f64]) {
    k[0] = x[0];
    for i in 1..x.len() {
        k[i] = x[i] * y[i - 1];
    }
}

/// y + h k.
#[inline(always)]
fn ahead(y: &[f64], h: f64, k: &[f64], u: &mut [f64]) {
    for ((u, y), k) in u.iter_mut().zip(y).zip(k) {
        *u = y + h * k;
    }
}

/// k1, k2, k3 and the points where k2, k3, k4 are taken.
#[inline(always)]
fn stages(x: &[f64], y: &[f64], h: f64, k: &mut [Vec<f64>; 4], u: &mut [Vec<f64>; 3]) {
    slope(x, y, &mut k[0]);
    ahead(y, h / 2.0, &k[0], &mut u[0]);
    slope(x, &u[0], &mut k[1]);
    ahead(y, h / 2.0, &k[1], &mut u[1]);
    slope(x, &u[1], &mut k[2]);
    ahead(y, h, &k[2], &mut u[2]);
}

/// The transposed derivative of F at (x, u): ū is set, x̄ is added to.
#[inline(always)]
fn slope_back(x: &[f64], u: &[f64], k_bar: &[f64], u_bar: &mut [f64], x_bar: &mut [f64]) {
    let n = x.len();
    x_bar[0] += k_bar[0];
    for i in 1..n {
        x_bar[i] += k_bar[i] * u[i - 1];
        u_bar[i - 1] = k_bar[i] * x[i];
    }
    u_bar[n - 1] = 0.0;
}

#[inline(always)]
fn add_scaled(to: &mut [f64], h: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += h * from;
    }
}

impl ByHand for Ode {
    #[inline(always)]
    fn primal(&mut self) {
        let last = self.forward(false);
        let n = self.x.len();
        self.value.copy_from_slice(&self.states[last..last + n]);
    }

    #[inline(always)]
    fn gradient(&mut self) {
        self.forward(true);
        let n = self.x.len();
        let h = 2.0 / self.steps as f64;
        self.slopes.fill(0.0);
        self.state_bar.fill(0.0);
        self.state_bar[n - 1] = 1.0;
        for t in (0..self.steps).rev() {
            let y = &self.states[t * n..(t + 1) * n];
            stages(&self.x, y, h, &mut self.k, &mut self.u);
            // The new state is y + h/6 (k1 + 2 k2 + 2 k3 + k4).
            for (k_bar, c) in self.k_bar.iter_mut().zip([h / 6.0, h / 3.0, h / 3.0, h / 6.0]) {
                for (k_bar, y_bar) in k_bar.iter_mut().zip(&self.state_bar) {
                    *k_bar = c * y_bar;
                }
            }
            // k4 back to k1: each is F at y + (step) · the one before it.
            for (q, step) in [(3, h), (2, h / 2.0), (1, h / 2.0)] {
                slope_back(&self.x, &self.u[q - 1], &self.k_bar[q], &mut self.u_bar, &mut self.slopes);
                add_scaled(&mut self.state_bar, 1.0, &self.u_bar);
                add_scaled(&mut self.k_bar[q - 1], step, &self.u_bar);
            }
            slope_back(&self.x, y, &self.k_bar[0], &mut self.u_bar, &mut self.slopes);
            add_scaled(&mut self.state_bar, 1.0, &self.u_bar);
        }
    }

    fn value(&self) -> Vec<f64> {
        self.value.clone()
    }
    fn slopes(&self) -> Vec<f64> {
        self.slopes.clone()
    }
}
