//! Sixteen points at a time: their residuals and powers stay in registers while the coefficients pass by.

use super::lanes::{Lanes, WIDTH};
use crate::by_hand::naive::llsq::point;
use crate::by_hand::{ByHand, Json, natural, reals};

/// Vectors of points in a block.
const VECTORS: usize = 4;

pub struct Llsq {
    x: Vec<f64>,
    n: usize,
    value: f64,
    /// By coefficient and lane.
    slopes: Vec<Lanes>,
}

impl Llsq {
    pub fn new(input: &Json) -> Llsq {
        let x = reals(&input["x"]);
        Llsq { slopes: vec![Lanes::ZERO; x.len()], x, n: natural(&input["n"]), value: 0.0 }
    }

    /// The points of a block and their signs; past the end there is nothing: no place, no residual.
    #[inline(always)]
    fn block(&self, first: usize) -> ([Lanes; VECTORS], [Lanes; VECTORS], [Lanes; VECTORS]) {
        let at = |v: usize, l: usize| first + WIDTH * v + l;
        let each = |f: &dyn Fn(usize) -> f64| {
            std::array::from_fn(|v| Lanes::from_fn(|l| if at(v, l) < self.n { f(at(v, l)) } else { 0.0 }))
        };
        (each(&|i| point(i, self.n).0), each(&|i| point(i, self.n).1), each(&|_| 1.0))
    }

    /// The places and residuals of a block.
    #[inline(always)]
    fn residuals(&self, first: usize) -> ([Lanes; VECTORS], [Lanes; VECTORS]) {
        let (t, mut residual, mut power) = self.block(first);
        for x in &self.x {
            let x = Lanes::splat(*x);
            for v in 0..VECTORS {
                residual[v] = x.mul_sub_from(power[v], residual[v]);
                power[v] = power[v] * t[v];
            }
        }
        (t, residual)
    }
}

impl ByHand for Llsq {
    #[inline(always)]
    fn primal(&mut self) {
        let mut sum = [Lanes::ZERO; VECTORS];
        for first in (0..self.n).step_by(WIDTH * VECTORS) {
            let (_, residual) = self.residuals(first);
            for v in 0..VECTORS {
                sum[v] = residual[v].mul_add(residual[v], sum[v]);
            }
        }
        self.value = 0.5 * sum.into_iter().map(Lanes::sum).sum::<f64>();
    }

    #[inline(always)]
    fn gradient(&mut self) {
        self.slopes.fill(Lanes::ZERO);
        for first in (0..self.n).step_by(WIDTH * VECTORS) {
            let (t, residual) = self.residuals(first);
            // The powers come again, with the residual as their first factor.
            let mut product = residual;
            for slope in &mut self.slopes {
                *slope = *slope - ((product[0] + product[1]) + (product[2] + product[3]));
                for v in 0..VECTORS {
                    product[v] = product[v] * t[v];
                }
            }
        }
    }

    fn value(&self) -> Vec<f64> {
        vec![self.value]
    }
    fn slopes(&self) -> Vec<f64> {
        self.slopes.iter().map(|lanes| lanes.sum()).collect()
    }
}
