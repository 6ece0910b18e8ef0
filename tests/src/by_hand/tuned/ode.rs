//! The four stages of a step in one sweep over the components: component i of each stage needs component i − 1 of the one before, which is in
//! a register, shifted by one lane. The reverse sweep runs from the right in the same way; before it, block by block, the inner
//! stages come again. Left of component 0 stands a 1, since y_0' = x_0 · 1.

use super::lanes::{Lanes, padded, unpadded};
use crate::by_hand::{ByHand, Json, length, natural, reals};

/// Vectors in a block of the reverse sweep: what is computed again stays in the first-level cache.
const BLOCK: usize = 64;

/// What stands left of the first vector.
const EDGE: Lanes = Lanes::of([0.0, 0.0, 0.0, 1.0]);

pub struct Ode {
    /// Filled up with zeros, which keeps the further components at 0.
    x: Vec<Lanes>,
    n: usize,
    steps: usize,
    /// All states, one after the other; the primal alternates between the first two.
    states: Vec<Lanes>,
    state_bar: Vec<Lanes>,
    value: Vec<f64>,
    slopes: Vec<Lanes>,
}

impl Ode {
    pub fn new(input: &Json) -> Ode {
        let (x, n) = (padded(&reals(&input["x"]), 0.0), length(&input["x"]));
        let (steps, zeros) = (natural(&input["s"]), vec![Lanes::ZERO; x.len()]);
        let states = vec![Lanes::ZERO; x.len() * (steps + 2)];
        Ode { n, steps, states, state_bar: zeros.clone(), value: vec![], slopes: zeros, x }
    }

    #[inline(always)]
    fn step_size(&self) -> f64 {
        2.0 / self.steps as f64
    }

    /// All steps; returns where the last state begins.
    #[inline(always)]
    fn forward(&mut self, keep: bool) -> usize {
        let n = self.x.len();
        let h = self.step_size();
        self.states[..n].fill(Lanes::ZERO);
        let place = |t: usize| if keep { t * n } else { t % 2 * n };
        for t in 0..self.steps {
            let (now, next) = (place(t), place(t + 1));
            let (low, high) = self.states.split_at_mut(now.max(next));
            match now < next {
                true => step(&self.x, &low[now..now + n], &mut high[..n], h),
                false => step(&self.x, &high[..n], &mut low[next..next + n], h),
            }
        }
        place(self.steps)
    }
}

#[inline(always)]
fn step(x: &[Lanes], y: &[Lanes], y_next: &mut [Lanes], h: f64) {
    let [half, whole, sixth, third] = [h / 2.0, h, h / 6.0, h / 3.0].map(Lanes::splat);
    // The vectors left of the present ones: of y and of the three points inside the step.
    let (mut y_left, mut u1_left, mut u2_left, mut u3_left) = (EDGE, EDGE, EDGE, EDGE);
    for ((x, y), next) in x.iter().zip(y).zip(y_next) {
        let (x, y) = (*x, *y);
        let k1 = x * y.left(y_left);
        let u1 = half.mul_add(k1, y);
        let k2 = x * u1.left(u1_left);
        let u2 = half.mul_add(k2, y);
        let k3 = x * u2.left(u2_left);
        let u3 = whole.mul_add(k3, y);
        let k4 = x * u3.left(u3_left);
        *next = sixth.mul_add(k4, third.mul_add(k3, third.mul_add(k2, sixth.mul_add(k1, y))));
        (y_left, u1_left, u2_left, u3_left) = (y, u1, u2, u3);
    }
}

/// The values left of each component, of y and of the three points inside the step, for a block that begins at `first`.
#[inline(always)]
fn again(x: &[Lanes], y: &[Lanes], first: usize, h: f64, out: &mut [[Lanes; 4]]) {
    let [half, whole] = [h / 2.0, h].map(Lanes::splat);
    let mut left = [EDGE; 4];
    if first > 0 {
        // The last lane of the vector before the block is right, whatever stands left of that vector.
        let (x, y) = (x[first - 1], y[first - 1]);
        let u1 = half.mul_add(x * y.left(EDGE), y);
        let u2 = half.mul_add(x * u1.left(EDGE), y);
        let u3 = whole.mul_add(x * u2.left(EDGE), y);
        left = [y, u1, u2, u3];
    }
    for ((x, y), out) in x[first..].iter().zip(&y[first..]).zip(out) {
        let (x, y) = (*x, *y);
        let y_shifted = y.left(left[0]);
        let u1 = half.mul_add(x * y_shifted, y);
        let u1_shifted = u1.left(left[1]);
        let u2 = half.mul_add(x * u1_shifted, y);
        let u2_shifted = u2.left(left[2]);
        let u3 = whole.mul_add(x * u2_shifted, y);
        *out = [y_shifted, u1_shifted, u2_shifted, u3.left(left[3])];
        left = [y, u1, u2, u3];
    }
}

impl ByHand for Ode {
    #[inline(always)]
    fn primal(&mut self) {
        let last = self.forward(false);
        let state = &self.states[last..last + self.x.len()];
        self.value.resize(self.n, 0.0);
        for (chunk, lanes) in self.value.chunks_mut(4).zip(state) {
            chunk.copy_from_slice(&lanes.array()[..chunk.len()]);
        }
    }

    #[inline(always)]
    fn gradient(&mut self) {
        self.forward(true);
        let n = self.x.len();
        let h = self.step_size();
        let [half, whole, sixth, third] = [h / 2.0, h, h / 6.0, h / 3.0].map(Lanes::splat);
        self.slopes.fill(Lanes::ZERO);
        self.state_bar.fill(Lanes::ZERO);
        let last = (self.n - 1) % 4;
        self.state_bar[n - 1] = Lanes::from_fn(|l| if l == last { 1.0 } else { 0.0 });
        let mut block = [[Lanes::ZERO; 4]; BLOCK];
        for t in (0..self.steps).rev() {
            let y = &self.states[t * n..(t + 1) * n];
            // What the vectors to the right pass down to their left neighbours: x times the cotangents of k1 … k4.
            let mut right = [Lanes::ZERO; 4];
            for first in (0..n).step_by(BLOCK).rev() {
                let here = first..(first + BLOCK).min(n);
                let block = &mut block[..here.len()];
                again(&self.x, y, first, h, block);
                let cells = self.x[here.clone()].iter().zip(block);
                let bars = self.state_bar[here.clone()].iter_mut().zip(&mut self.slopes[here]);
                for ((x, &mut [y, u1, u2, u3]), (state_bar, slope)) in cells.zip(bars).rev() {
                    let (x, of_sixth, of_third) = (*x, sixth * *state_bar, third * *state_bar);
                    let k4_bar = of_sixth;
                    let down4 = x * k4_bar;
                    let u3_bar = down4.right(right[3]);
                    let k3_bar = whole.mul_add(u3_bar, of_third);
                    let down3 = x * k3_bar;
                    let u2_bar = down3.right(right[2]);
                    let k2_bar = half.mul_add(u2_bar, of_third);
                    let down2 = x * k2_bar;
                    let u1_bar = down2.right(right[1]);
                    let k1_bar = half.mul_add(u1_bar, of_sixth);
                    let down1 = x * k1_bar;
                    let y_bar = down1.right(right[0]);
                    *slope =
                        k4_bar.mul_add(u3, k3_bar.mul_add(u2, k2_bar.mul_add(u1, k1_bar.mul_add(y, *slope))));
                    *state_bar += (u3_bar + u2_bar) + (u1_bar + y_bar);
                    right = [down1, down2, down3, down4];
                }
            }
        }
    }

    fn value(&self) -> Vec<f64> {
        self.value.clone()
    }
    fn slopes(&self) -> Vec<f64> {
        unpadded(&self.slopes, self.n)
    }
}
