//! Exponentials by lanes, in the loop; four sums, so that none waits for the one before.

use super::lanes::{Lanes, padded, unpadded};
use crate::by_hand::{ByHand, Json, length, reals};

/// Sums that are independent of each other.
const SUMS: usize = 4;

pub struct Lse {
    /// Filled up with −∞, whose exponential is 0.
    x: Vec<Lanes>,
    n: usize,
    value: f64,
    slopes: Vec<Lanes>,
}

impl Lse {
    pub fn new(input: &Json) -> Lse {
        // exp is cut off at −708, which is as good as −∞ next to numbers of moderate size.
        let mut x = padded(&reals(&input["x"]), f64::NEG_INFINITY);
        x.resize(x.len().next_multiple_of(SUMS), Lanes::of([f64::NEG_INFINITY; 4]));
        Lse { slopes: vec![Lanes::ZERO; x.len()], x, n: length(&input["x"]), value: 0.0 }
    }

    #[inline(always)]
    fn largest(&self) -> Lanes {
        let mut largest = [Lanes::splat(f64::NEG_INFINITY); SUMS];
        for chunk in self.x.as_chunks::<SUMS>().0 {
            for (largest, x) in largest.iter_mut().zip(chunk) {
                *largest = largest.max(*x);
            }
        }
        let lanes = largest.into_iter().flat_map(Lanes::array);
        Lanes::splat(lanes.fold(f64::NEG_INFINITY, f64::max))
    }
}

fn total(sums: [Lanes; SUMS]) -> f64 {
    sums.into_iter().map(Lanes::sum).sum()
}

impl ByHand for Lse {
    #[inline(always)]
    fn primal(&mut self) {
        let largest = self.largest();
        let mut sums = [Lanes::ZERO; SUMS];
        for chunk in self.x.as_chunks::<SUMS>().0 {
            for (sum, x) in sums.iter_mut().zip(chunk) {
                *sum += (*x - largest).exp();
            }
        }
        self.value = largest.array()[0] + total(sums).ln();
    }

    #[inline(always)]
    fn gradient(&mut self) {
        let largest = self.largest();
        let mut sums = [Lanes::ZERO; SUMS];
        let slopes = self.slopes.as_chunks_mut::<SUMS>().0;
        for (chunk, slopes) in self.x.as_chunks::<SUMS>().0.iter().zip(slopes) {
            for ((sum, x), slope) in sums.iter_mut().zip(chunk).zip(slopes) {
                *slope = (*x - largest).exp();
                *sum += *slope;
            }
        }
        let scale = Lanes::splat(1.0 / total(sums));
        for slope in &mut self.slopes {
            *slope = *slope * scale;
        }
    }

    fn value(&self) -> Vec<f64> {
        vec![self.value]
    }
    fn slopes(&self) -> Vec<f64> {
        unpadded(&self.slopes, self.n)
    }
}
