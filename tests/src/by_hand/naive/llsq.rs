//! f(x) = ½ Σ_i r_i², r_i = sign(t_i) − Σ_j x_j t_i^j; so x̄_j = − Σ_i r_i t_i^j.

use crate::by_hand::{ByHand, Json, natural, reals};

pub struct Llsq {
    x: Vec<f64>,
    n: usize,
    /// t^j for the point at hand.
    powers: Vec<f64>,
    value: f64,
    slopes: Vec<f64>,
}

impl Llsq {
    pub fn new(input: &Json) -> Llsq {
        let x = reals(&input["x"]);
        let zeros = vec![0.0; x.len()];
        Llsq { x, n: natural(&input["n"]), powers: zeros.clone(), value: 0.0, slopes: zeros }
    }
}

/// The i-th of n points from −1 to 1, and its sign.
#[inline(always)]
pub fn point(i: usize, n: usize) -> (f64, f64) {
    let t = -1.0 + 2.0 * i as f64 / (n as f64 - 1.0);
    let sign = if t > 0.0 {
        1.0
    } else if t < 0.0 {
        -1.0
    } else {
        0.0
    };
    (t, sign)
}

impl ByHand for Llsq {
    #[inline(always)]
    fn primal(&mut self) {
        let mut sum = 0.0;
        for i in 0..self.n {
            let (t, mut residual) = point(i, self.n);
            let mut power = 1.0;
            for x in &self.x {
                residual -= x * power;
                power *= t;
            }
            sum += residual * residual;
        }
        self.value = 0.5 * sum;
    }

    #[inline(always)]
    fn gradient(&mut self) {
        self.slopes.fill(0.0);
        for i in 0..self.n {
            // Forward: the residual, with the powers kept.
            let (t, mut residual) = point(i, self.n);
            let mut power = 1.0;
            for (x, kept) in self.x.iter().zip(&mut self.powers) {
                *kept = power;
                residual -= x * power;
                power *= t;
            }
            // Reverse: the cotangent of the residual is the residual itself.
            for (slope, power) in self.slopes.iter_mut().zip(&self.powers) {
                *slope -= residual * power;
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
