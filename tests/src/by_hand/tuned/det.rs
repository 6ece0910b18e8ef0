//! The minors of the first row in lanes, four at a time; each is expanded by functions of its own size, with the loops over columns
//! unrolled and the two last rows written out. As in the plain version the cotangent of a minor is known before the minor.
//!
//! Minors that are equal are expanded as often as they occur, so that what is compared is the work of the definition: from four rows on the
//! functions stay out of line and are told their columns, and no compiler finds equal ones.

use super::lanes::{Lanes, WIDTH};
use crate::by_hand::{ByHand, Json, natural, reals};

/// The largest matrix that has a function.
const MOST: usize = 8;

pub struct Det {
    a: Vec<f64>,
    n: usize,
    value: f64,
    slopes: Vec<f64>,
}

impl Det {
    /// None for sizes without lanes to fill, or without a function.
    pub fn new(input: &Json) -> Option<Det> {
        let (a, n) = (reals(&input["A"]), natural(&input["ell"]));
        (4..=MOST).contains(&n).then(|| Det { slopes: vec![0.0; a.len()], a, n, value: 0.0 })
    }
}

type Matrix<const N: usize> = [[Lanes; N]; N];

/// The columns but the j-th.
#[inline(always)]
fn without<const N: usize, const M: usize>(columns: &[usize; N], j: usize) -> [usize; M] {
    let mut out = [0; M];
    for k in 0..M {
        out[k] = columns[if k < j { k } else { k + 1 }];
    }
    out
}

/// ±x, by the place in the row.
#[inline(always)]
fn signed(j: usize, x: Lanes) -> Lanes {
    if j.is_multiple_of(2) { x } else { -x }
}

/// The minor of the last two rows and these columns.
#[inline(always)]
fn primal_2<const D: usize>(m: &Matrix<D>, &[i, j]: &[usize; 2]) -> Lanes {
    m[D - 2][j].mul_sub_from(m[D - 1][i], m[D - 2][i] * m[D - 1][j])
}

/// The same, and `w` times its derivative added to the slopes.
#[inline(always)]
fn gradient_2<const D: usize>(
    m: &Matrix<D>,
    &[i, j]: &[usize; 2],
    w: Lanes,
    slopes: &mut Matrix<D>,
) -> Lanes {
    let (above, last) = (&m[D - 2], &m[D - 1]);
    slopes[D - 2][i] = w.mul_add(last[j], slopes[D - 2][i]);
    slopes[D - 2][j] = w.mul_sub_from(last[i], slopes[D - 2][j]);
    slopes[D - 1][j] = w.mul_add(above[i], slopes[D - 1][j]);
    slopes[D - 1][i] = w.mul_sub_from(above[j], slopes[D - 1][i]);
    above[j].mul_sub_from(last[i], above[i] * last[j])
}

/// The minor of the last N rows and of N columns, by those of one row less.
macro_rules! expansion {
    ($(#[$how:meta])+ $rows:literal $primal:ident $gradient:ident by $fewer:literal $less:ident $gradient_less:ident) => {
        $(#[$how])+
        fn $primal<const D: usize>(m: &Matrix<D>, columns: &[usize; $rows]) -> Lanes {
            let mut sum = Lanes::ZERO;
            for j in 0..$rows {
                let minor = $less(m, &without::<$rows, $fewer>(columns, j));
                sum = signed(j, m[D - $rows][columns[j]]).mul_add(minor, sum);
            }
            sum
        }

        $(#[$how])+
        fn $gradient<const D: usize>(
            m: &Matrix<D>,
            columns: &[usize; $rows],
            w: Lanes,
            slopes: &mut Matrix<D>,
        ) -> Lanes {
            let mut sum = Lanes::ZERO;
            for j in 0..$rows {
                let element = signed(j, m[D - $rows][columns[j]]);
                let rest = without::<$rows, $fewer>(columns, j);
                let minor = $gradient_less(m, &rest, w * element, slopes);
                let slope = &mut slopes[D - $rows][columns[j]];
                *slope = signed(j, w).mul_add(minor, *slope);
                sum = element.mul_add(minor, sum);
            }
            sum
        }
    };
}
expansion! { #[inline(always)] 3 primal_3 gradient_3 by 2 primal_2 gradient_2 }
expansion! {
    #[target_feature(enable = "avx2,fma")] #[inline(never)] 4 primal_4 gradient_4 by 3 primal_3 gradient_3
}
expansion! {
    #[target_feature(enable = "avx2,fma")] #[inline(never)] 5 primal_5 gradient_5 by 4 primal_4 gradient_4
}
expansion! {
    #[target_feature(enable = "avx2,fma")] #[inline(never)] 6 primal_6 gradient_6 by 5 primal_5 gradient_5
}
expansion! {
    #[target_feature(enable = "avx2,fma")] #[inline(never)] 7 primal_7 gradient_7 by 6 primal_6 gradient_6
}

/// The minors of four elements of the first row, without that row, as one matrix of lanes; elements past the end have weight 0.
#[inline(always)]
fn minors<const D: usize>(a: &[f64], first: usize) -> (Lanes, Matrix<D>) {
    let n = D + 1;
    let sign = |j: usize| if j.is_multiple_of(2) { 1.0 } else { -1.0 };
    let weight = Lanes::from_fn(|l| if first + l < n { sign(first + l) * a[first + l] } else { 0.0 });
    let column = |l: usize, j: usize| if j < first + l { j } else { j + 1 };
    let entry = |i: usize, j: usize| Lanes::from_fn(|l| a[(i + 1) * n + column(l, j)]);
    let mut m = [[Lanes::ZERO; D]; D];
    for (i, row) in m.iter_mut().enumerate() {
        for (j, cell) in row.iter_mut().enumerate() {
            *cell = entry(i, j);
        }
    }
    (weight, m)
}

#[inline(always)]
fn primal<const D: usize>(a: &[f64], minor: impl Fn(&Matrix<D>) -> Lanes) -> f64 {
    let mut sum = Lanes::ZERO;
    for first in (0..=D).step_by(WIDTH) {
        let (weight, m) = minors::<D>(a, first);
        sum = weight.mul_add(minor(&m), sum);
    }
    sum.sum()
}

#[inline(always)]
fn gradient<const D: usize>(
    a: &[f64],
    slopes: &mut [f64],
    minor: impl Fn(&Matrix<D>, Lanes, &mut Matrix<D>) -> Lanes,
) {
    let n = D + 1;
    slopes.fill(0.0);
    for first in (0..n).step_by(WIDTH) {
        let (weight, m) = minors::<D>(a, first);
        let mut bars = [[Lanes::ZERO; D]; D];
        let values = minor(&m, weight, &mut bars).array();
        for l in 0..WIDTH.min(n - first) {
            let j = first + l;
            slopes[j] = if j.is_multiple_of(2) { values[l] } else { -values[l] };
            for (row, bars) in bars.iter().enumerate() {
                for (k, bar) in bars.iter().enumerate() {
                    slopes[(row + 1) * n + if k < j { k } else { k + 1 }] += bar.array()[l];
                }
            }
        }
    }
}

impl ByHand for Det {
    #[inline(always)]
    fn primal(&mut self) {
        let a = &self.a;
        // SAFETY: this version is chosen where the processor has AVX2 and FMA.
        self.value = unsafe {
            match self.n {
                4 => primal::<3>(a, |m| primal_3(m, &[0, 1, 2])),
                5 => primal::<4>(a, |m| primal_4(m, &[0, 1, 2, 3])),
                6 => primal::<5>(a, |m| primal_5(m, &[0, 1, 2, 3, 4])),
                7 => primal::<6>(a, |m| primal_6(m, &[0, 1, 2, 3, 4, 5])),
                _ => primal::<7>(a, |m| primal_7(m, &[0, 1, 2, 3, 4, 5, 6])),
            }
        };
    }

    #[inline(always)]
    fn gradient(&mut self) {
        let (a, slopes) = (&self.a, &mut self.slopes);
        // SAFETY: as above.
        unsafe {
            match self.n {
                4 => gradient::<3>(a, slopes, |m, w, bars| gradient_3(m, &[0, 1, 2], w, bars)),
                5 => gradient::<4>(a, slopes, |m, w, bars| gradient_4(m, &[0, 1, 2, 3], w, bars)),
                6 => gradient::<5>(a, slopes, |m, w, bars| gradient_5(m, &[0, 1, 2, 3, 4], w, bars)),
                7 => gradient::<6>(a, slopes, |m, w, bars| gradient_6(m, &[0, 1, 2, 3, 4, 5], w, bars)),
                _ => gradient::<7>(a, slopes, |m, w, bars| gradient_7(m, &[0, 1, 2, 3, 4, 5, 6], w, bars)),
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
