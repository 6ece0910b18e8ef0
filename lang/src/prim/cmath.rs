//! The C library's functions, the very ones compiled code calls, so that evaluators and native code agree bit for bit.
//! (Some methods of `f64`, such as `asinh`, are not the C functions.)

#[link(name = "m")]
unsafe extern "C" {
    pub safe fn exp(x: f64) -> f64;
    pub safe fn expm1(x: f64) -> f64;
    pub safe fn log(x: f64) -> f64;
    pub safe fn log2(x: f64) -> f64;
    pub safe fn log10(x: f64) -> f64;
    pub safe fn log1p(x: f64) -> f64;
    pub safe fn sin(x: f64) -> f64;
    pub safe fn cos(x: f64) -> f64;
    pub safe fn tan(x: f64) -> f64;
    pub safe fn asin(x: f64) -> f64;
    pub safe fn acos(x: f64) -> f64;
    pub safe fn atan(x: f64) -> f64;
    pub safe fn atan2(y: f64, x: f64) -> f64;
    pub safe fn sinh(x: f64) -> f64;
    pub safe fn cosh(x: f64) -> f64;
    pub safe fn tanh(x: f64) -> f64;
    pub safe fn asinh(x: f64) -> f64;
    pub safe fn acosh(x: f64) -> f64;
    pub safe fn atanh(x: f64) -> f64;
    pub safe fn hypot(x: f64, y: f64) -> f64;
    pub safe fn pow(x: f64, y: f64) -> f64;
    pub safe fn erf(x: f64) -> f64;
    pub safe fn erfc(x: f64) -> f64;
    /// ln |Γ(x)|. It also writes the sign of Γ to a global variable, which nothing here reads.
    pub safe fn lgamma(x: f64) -> f64;
}
