//! Error codes of data, commands (E07xx) and run-time failures (E08xx), and the pages of all codes.

use lang::diag::Failure;

pub const UNREADABLE: &str = "E0701";
pub const NOT_UTF8: &str = "E0702";
pub const NO_SUCH_DEFINITION: &str = "E0703";
pub const MISSING_ARGUMENT: &str = "E0704";
pub const UNKNOWN_ARGUMENT: &str = "E0705";
pub const WRONG_TYPE: &str = "E0706";
pub const WRONG_SHAPE: &str = "E0707";
pub const BAD_JSON: &str = "E0708";
pub const BAD_NPY: &str = "E0709";
pub const BAD_CSV: &str = "E0710";
pub const NOT_DATA: &str = "E0711";
pub const NOT_DIFFERENTIABLE: &str = "E0712";
pub const NOT_AVAILABLE: &str = "E0713";
pub const UNWRITABLE: &str = "E0714";
pub const TEST_FAILED: &str = "E0715";
pub const NOT_FORMATTED: &str = "E0716";
pub const COMPILER_BUG: &str = "E0799";
pub const INDEX_OUT_OF_RANGE: &str = "E0801";
pub const DIVISION_BY_ZERO: &str = "E0802";
pub const EMPTY_ARRAY: &str = "E0803";
pub const SIZE_MISMATCH: &str = "E0804";
pub const NEGATIVE_SIZE: &str = "E0805";
pub const TOO_DEEP: &str = "E0806";
pub const REGION_FULL: &str = "E0807";

/// The codes of this crate. Those of the parser and of the checker are in `lang` and `typeck`.
const OWN: &[&str] = &[
    UNREADABLE,
    NOT_UTF8,
    NO_SUCH_DEFINITION,
    MISSING_ARGUMENT,
    UNKNOWN_ARGUMENT,
    WRONG_TYPE,
    WRONG_SHAPE,
    BAD_JSON,
    BAD_NPY,
    BAD_CSV,
    NOT_DATA,
    NOT_DIFFERENTIABLE,
    NOT_AVAILABLE,
    UNWRITABLE,
    TEST_FAILED,
    NOT_FORMATTED,
    COMPILER_BUG,
    INDEX_OUT_OF_RANGE,
    DIVISION_BY_ZERO,
    EMPTY_ARRAY,
    SIZE_MISMATCH,
    NEGATIVE_SIZE,
    TOO_DEEP,
    REGION_FULL,
];

/// Every code there is.
pub fn all() -> Vec<&'static str> {
    let parser = lang::surface::codes::ALL.iter().map(|c| c.code);
    let checker = typeck::codes::ALL.iter().map(|c| c.code);
    parser.chain(checker).chain(OWN.iter().copied()).collect()
}

/// The code and message of a run-time failure with its details.
pub fn failure(failure: &Failure, details: &[i64]) -> (&'static str, String) {
    let detail = |i: usize| details.get(i).map_or("?".to_string(), i64::to_string);
    match failure {
        Failure::IndexOutOfRange => {
            (INDEX_OUT_OF_RANGE, format!("index {} is out of range for length {}", detail(0), detail(1)))
        }
        Failure::DivisionByZero => (DIVISION_BY_ZERO, "division of an int by zero".into()),
        Failure::EmptyArray => (EMPTY_ARRAY, "an empty array has no element to choose".into()),
        Failure::SizeMismatch => {
            (SIZE_MISMATCH, format!("this size is {}, but must be {}", detail(0), detail(1)))
        }
        Failure::NegativeSize => (NEGATIVE_SIZE, format!("a size is negative: {}", detail(0))),
        Failure::TooDeep => (TOO_DEEP, format!("recursion deeper than {}", detail(0))),
        Failure::RegionFull => {
            (REGION_FULL, format!("the derivative of this recursion keeps more than {} bytes", detail(0)))
        }
    }
}
