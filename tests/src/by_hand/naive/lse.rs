//! f(x) = a + log Σ_i exp(x_i − a), a = max x; x̄ is the softmax of x.

use crate::by_hand::{ByHand, Json, reals};

pub struct Lse {
    x: Vec<f64>,
    value: f64,
    slopes: Vec<f64>,
}

impl Lse {
    pub fn new(input: &Json) -> Lse {
        let x = reals(&input["x"]);
        Lse { slopes: vec![0.0; x.len()], x, value: 0.0 }
    }
}

/// log Σ exp.
#[inline(always)]
pub fn log_sum_exp(x: &[f64]) -> f64 {
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + x.iter().map(|v| (v - largest).exp()).sum::<f64>().ln()
}

impl ByHand for Lse {
    #[inline(always)]
    fn primal(&mut self) {
        self.value = log_sum_exp(&self.x);
    }

    #[inline(always)]
    fn gradient(&mut self) {
        let largest = self.x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        for (x, slope) in self.x.iter().zip(&mut self.slopes) {
            *slope = (x - largest).exp();
            sum += *slope;
        }
        // What reaches a by its two ways cancels: 1 − Σ exp(x_i − a) / sum = 0.
        let scale = 1.0 / sum;
        self.slopes.iter_mut().for_each(|slope| *slope *= scale);
    }

    fn value(&self) -> Vec<f64> {
        vec![self.value]
    }
    fn slopes(&self) -> Vec<f64> {
        self.slopes.clone()
    }
}
