//! The determinant by expansion along the first row: f(a) = Σ_j ±a_0j · f(minor j). The cotangent of minor j is ±a_0j times that
//! of f, known before the minor is looked at, so one recursion gives the value and accumulates the gradient.

use crate::by_hand::{ByHand, Json, natural, reals};

pub struct Det {
    a: Vec<f64>,
    n: usize,
    value: f64,
    slopes: Vec<f64>,
}

impl Det {
    pub fn new(input: &Json) -> Det {
        let (a, n) = (reals(&input["A"]), natural(&input["ell"]));
        Det { slopes: vec![0.0; a.len()], a, n, value: 0.0 }
    }
}

/// The determinant of the rows from `row` on, in the columns listed.
fn primal(a: &[f64], n: usize, row: usize, columns: &[usize]) -> f64 {
    let [column] = columns else {
        let mut sum = 0.0;
        for (j, column) in columns.iter().enumerate() {
            let sign = if j % 2 == 0 { 1.0 } else { -1.0 };
            sum +=
                sign * a[row * n + column] * primal(a, n, row + 1, &without(columns, j)[..columns.len() - 1]);
        }
        return sum;
    };
    a[row * n + column]
}

/// The same, and its derivative times `w` added to the slopes.
fn gradient(a: &[f64], n: usize, row: usize, columns: &[usize], w: f64, slopes: &mut [f64]) -> f64 {
    let [column] = columns else {
        let mut sum = 0.0;
        for (j, column) in columns.iter().enumerate() {
            let sign = if j % 2 == 0 { 1.0 } else { -1.0 };
            let element = sign * a[row * n + column];
            let rest = &without(columns, j)[..columns.len() - 1];
            let minor = gradient(a, n, row + 1, rest, w * element, slopes);
            slopes[row * n + column] += w * sign * minor;
            sum += element * minor;
        }
        return sum;
    };
    slopes[row * n + column] += w;
    a[row * n + column]
}

/// Matrices have at most so many columns.
const MOST: usize = 16;

/// The columns but the j-th.
#[inline(always)]
fn without(columns: &[usize], j: usize) -> [usize; MOST] {
    let mut out = [0; MOST];
    out[..j].copy_from_slice(&columns[..j]);
    out[j..columns.len() - 1].copy_from_slice(&columns[j + 1..]);
    out
}

impl ByHand for Det {
    #[inline(always)]
    fn primal(&mut self) {
        let columns: Vec<usize> = (0..self.n).collect();
        self.value = primal(&self.a, self.n, 0, &columns);
    }

    #[inline(always)]
    fn gradient(&mut self) {
        let columns: Vec<usize> = (0..self.n).collect();
        self.slopes.fill(0.0);
        gradient(&self.a, self.n, 0, &columns, 1.0, &mut self.slopes);
    }

    fn value(&self) -> Vec<f64> {
        vec![self.value]
    }
    fn slopes(&self) -> Vec<f64> {
        self.slopes.clone()
    }
}
