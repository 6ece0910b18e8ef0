//! How precise reals are. A program says `real`; whether that is IEEE double or single precision is chosen for the whole program when
//! it is compiled or run. A real of either precision is held in an `f64`, which has every number of both.

use std::fmt;

/// The precision of every real of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Precision {
    #[default]
    Double,
    Single,
}

impl Precision {
    /// The nearest number of this precision, the one with an even last bit where two are: what a literal, or a datum, is.
    pub fn round(self, x: f64) -> f64 {
        match self {
            Precision::Double => x,
            Precision::Single => f64::from(x as f32),
        }
    }

    /// Whether a number is infinite in this precision only.
    pub fn overflows(self, x: f64) -> bool {
        x.is_finite() && self.round(x).is_infinite()
    }

    /// The nearest number to an int, rounded once.
    pub fn of_int(self, k: i64) -> f64 {
        match self {
            Precision::Double => k as f64,
            Precision::Single => f64::from(k as f32),
        }
    }

    /// Neither zero nor subnormal, infinite or NaN.
    pub fn is_normal(self, x: f64) -> bool {
        match self {
            Precision::Double => x.is_normal(),
            Precision::Single => (x as f32).is_normal(),
        }
    }

    /// The bits of a number, as an int.
    pub fn bits(self, x: f64) -> i64 {
        match self {
            Precision::Double => x.to_bits() as i64,
            Precision::Single => i64::from((x as f32).to_bits()),
        }
    }

    /// The number with these bits: the low ones, where an int has more.
    pub fn of_bits(self, k: i64) -> f64 {
        match self {
            Precision::Double => f64::from_bits(k as u64),
            Precision::Single => f64::from(f32::from_bits(k as u32)),
        }
    }

    /// The shortest text that reads back as the same number of this precision.
    pub fn show(self, x: f64) -> String {
        match self {
            Precision::Double => format!("{x:?}"),
            Precision::Single => format!("{:?}", x as f32),
        }
    }

    /// The digits of a number in base 2.
    pub fn digits(self) -> u32 {
        match self {
            Precision::Double => f64::MANTISSA_DIGITS,
            Precision::Single => f32::MANTISSA_DIGITS,
        }
    }

    /// In bytes, in memory.
    pub fn size(self) -> u64 {
        match self {
            Precision::Double => 8,
            Precision::Single => 4,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::Double => "double",
            Precision::Single => "single",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Precision::{Double, Single};

    #[test]
    fn single_precision_has_24_digits() {
        let ulp = 2f64.powi(-23);
        assert_eq!(Single.round(1.0 + ulp), 1.0 + ulp);
        assert_eq!(Single.round(1.0 + 0.75 * ulp), 1.0 + ulp);
        // Halves to even.
        assert_eq!(Single.round(1.0 + 0.5 * ulp), 1.0);
        assert_eq!(Single.round(1.0 + 1.5 * ulp), 1.0 + 2.0 * ulp);
        assert_eq!(Single.round(1e39), f64::INFINITY);
        assert_eq!(Single.round(-1e-46).to_bits(), (-0.0f64).to_bits());
        assert_eq!(Double.round(1e39), 1e39);
        assert!(Single.overflows(-1e39) && !Double.overflows(1e39));
        assert!(!Single.overflows(f64::INFINITY) && !Single.overflows(f64::NAN) && !Single.overflows(3.4e38));
    }

    #[test]
    fn ints_are_rounded_once() {
        // 2^53 + 2^29 + 1 lies above the middle of its neighbours 2^53 and 2^53 + 2^30. The nearest double is the middle.
        let k = (1i64 << 53) + (1 << 29) + 1;
        assert_eq!(Single.of_int(k), 2f64.powi(53) + 2f64.powi(30));
        assert_eq!(Single.round(Double.of_int(k)), 2f64.powi(53));
    }

    #[test]
    fn texts_are_the_shortest_of_their_precision() {
        assert_eq!(Single.show(Single.round(0.1)), "0.1");
        assert_eq!(Double.show(Single.round(0.1)), "0.10000000149011612");
    }

    #[test]
    fn bits_come_and_go() {
        for x in [0.0, -0.0, 1.5, -3.25, f64::INFINITY, 2f64.powi(-149)] {
            assert_eq!(Single.of_bits(Single.bits(x)).to_bits(), x.to_bits());
            assert_eq!(Double.of_bits(Double.bits(x)).to_bits(), x.to_bits());
        }
        assert_eq!(Single.bits(1.0), 0x3f80_0000);
    }
}
