//! The hyperbolic tangent, of |x|; the sign is put back. Two formulas, one of which is selected before the one division:
//!
//! * up to 0.6 Lambert's continued fraction x / (1 + z / (3 + z / (5 + …))), z = x², as far as 15. As a quotient p(z)/q(z) it has whole coefficients, and
//!   tanh x = x + x (p − q) / q: what is rounded is small beside x. It is off by at most 2^−58.
//! * beyond, 1 − 2 / (e^2x + 1): what is rounded is at most 0.47.

use super::exp::{Reduced, power_of_two, reduce};
use super::{Machine, polynomial};

const SMALL: f64 = 0.6;
/// (q − p) / z and q.
const DIFFERENCE: [f64; 4] = [675_675.0, 45_045.0, 594.0, 1.0];
const DIVISOR: [f64; 5] = [2_027_025.0, 945_945.0, 51_975.0, 630.0, 1.0];

/// tanh of half of it is 1.
const LARGE: f64 = 40.0;

pub(super) fn tanh<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let a = m.abs(x);
    let z = m.mul(a, a);
    let near = m.less(a, m.real(SMALL));
    let twice = m.add(a, a);
    // NaN is not too large.
    let twice = m.select(m.less(m.real(LARGE), twice), m.real(LARGE), twice);
    let Reduced { shifted, rest, .. } = reduce(m, twice);
    let power = power_of_two(m, m.bits(shifted));
    let exp_and_one = m.mul_add(power, rest, m.add(power, m.real(1.0)));
    let small = m.mul(m.mul(a, z), polynomial(m, &DIFFERENCE, z));
    let divisor = m.select(near, polynomial(m, &DIVISOR, z), exp_and_one);
    let quotient = m.div(m.select(near, small, m.real(2.0)), divisor);
    m.copysign(m.sub(m.select(near, a, m.real(1.0)), quotient), x)
}
