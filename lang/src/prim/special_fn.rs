//! Numeric functions that no C library has, with their algorithms. They are the meaning of their primitives, and compiled code
//! calls these same lines: the file depends on nothing, so that the run-time library can include it as it is.

/// x^k by binary powering: the squares x, x², x⁴, … that the bits of |k| ask for are multiplied from the lowest up; x^-k is 1 / x^k.
/// x^0 is 1 for every x.
pub fn powi(x: f64, k: i64) -> f64 {
    let mut rest = k.unsigned_abs();
    let mut square = x;
    let mut product = 1.0;
    while rest > 0 {
        if rest & 1 == 1 {
            product *= square;
        }
        square *= square;
        rest >>= 1;
    }
    if k < 0 { 1.0 / product } else { product }
}

/// ⌊m / n⌋, 0 where n = 0; wraps at 64 bits.
pub fn floor_div(m: i64, n: i64) -> i64 {
    match n {
        0 => 0,
        _ => m.wrapping_div(n) - (m.wrapping_rem(n) != 0 && (m < 0) != (n < 0)) as i64,
    }
}

/// m − n·⌊m / n⌋, of the sign of n; 0 where n = 0.
pub fn floor_mod(m: i64, n: i64) -> i64 {
    match n {
        0 => 0,
        _ => {
            let r = m.wrapping_rem(n);
            if r != 0 && (r < 0) != (n < 0) { r + n } else { r }
        }
    }
}
