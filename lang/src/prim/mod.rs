//! The table of primitive operations: the one place where a primitive is described.
//!
//! A primitive is a total function of scalars. Its row says everything any stage asks about it: type, value,
//! derivative (as terms of Core, so that derivatives differentiate again), lowering to machine vocabulary, cost,
//! algebra, where to sample it in tests, a line of documentation. D op and its transpose are both computed from
//! the row's partials (`ad`), so they cannot disagree. To add a primitive: write its row, list it in [`prims!`]; the
//! tests in `lang/tests/primitive_rows.rs` then hold it to what it says, and `docs/reference/primitives.md` is written from it.

use crate::core::{Lit, Tm};
use crate::loops::Op;
use crate::precision::Precision;

/// A scalar type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scalar {
    Real,
    Int,
    Bool,
}

/// One primitive. Every column is written in every row.
pub struct Row {
    pub prim: Prim,
    /// How it is written in `.ad`: a name, or an operator symbol.
    pub name: &'static str,
    pub args: &'static [Scalar],
    pub result: Scalar,
    /// The reference value, in double precision. Never panics. (In single precision a primitive means what it is lowered to.)
    pub eval: fn(&[Lit]) -> Lit,
    pub derivative: Derivative,
    /// The arguments it is linear in when the others are held fixed.
    pub linear_in: &'static [usize],
    pub lowering: Lowering,
    /// Counted operations (chad.md §7): at least a fifth of the cost of value plus reverse.
    pub cost: u32,
    pub algebra: Algebra,
    /// An interval per argument, off every singular point, on which tests sample.
    pub samples: &'static [(f64, f64)],
    pub doc: &'static str,
}

/// The derivative of a primitive, as a linear combination Σ ∂i(x; y) · vi of its arguments' tangents.
pub enum Derivative {
    /// No real argument, or a result without tangent: 0 by type.
    ByType,
    /// Guarded arms, tried in order; the last has no guard. A smooth primitive has one arm. Selections (min, abs …) and
    /// conventions at singular points are arms of their own.
    Arms(&'static [Arm]),
}

pub struct Arm {
    /// bool term over the arguments; None on the last arm.
    pub when: Option<fn(x: &[Tm]) -> Tm>,
    /// One per argument (int and bool arguments have [`Partial::Zero`]).
    pub partials: &'static [Partial],
}

pub enum Partial {
    /// The structural zero: the argument gets nothing.
    Zero,
    /// The identity: the tangent passes as it is.
    One,
    /// The negated identity.
    MinusOne,
    /// A real factor, over the arguments x and the result y.
    Of(fn(x: &[Tm], y: &Tm) -> Tm),
}

/// How a primitive becomes machine vocabulary.
pub enum Lowering {
    /// One operation of the loop IR on the same arguments.
    Op(Op),
    /// A Core term over the arguments, of other primitives and let; also its reference meaning (`eval` agrees bit for bit).
    /// The arguments are variables or literals, since the term may repeat them; the supply is for its lets.
    Expand(fn(x: &[Tm], supply: &mut crate::name::Supply) -> Tm),
}

/// Algebraic facts the simplifier may use, exact over the reals.
pub struct Algebra {
    pub commutative: bool,
    pub associative: bool,
    /// e with op(e, x) = x = op(x, e).
    pub unit: Option<f64>,
    /// z with op(z, x) = z = op(x, z) for finite x.
    pub zero: Option<f64>,
}

pub const NO_ALGEBRA: Algebra = Algebra { commutative: false, associative: false, unit: None, zero: None };

/// Declares the enum [`Prim`] and its table from a list `Variant = row`.
macro_rules! prims {
    ($($variant:ident = $row:path,)*) => {
        /// The primitives. What is known of one is its [`Row`].
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum Prim { $($variant),* }

        impl Prim {
            pub const ALL: &'static [Prim] = &[$(Prim::$variant),*];

            pub fn row(self) -> &'static Row {
                match self { $(Prim::$variant => &$row),* }
            }
        }
    };
}

mod arith;
mod bool;
pub mod cmath;
mod compare;
mod convert;
mod elementary;
mod hyperbolic;
mod int;
mod random;
mod select;
mod special;
mod special_fn;
pub mod term;
mod trig;

pub use random::uniform_of_bits;
pub use special_fn::{
    digamma, floor_div, floor_mod, normal_of_bits, normal_quantile, polygamma, powi, random_bits, trigamma,
};

prims! {
    Add = arith::ADD,
    Sub = arith::SUB,
    Mul = arith::MUL,
    Div = arith::DIV,
    Neg = arith::NEG,
    Mod = arith::MOD,
    Rem = arith::REM,
    Eq = compare::EQ,
    Ne = compare::NE,
    Lt = compare::LT,
    Le = compare::LE,
    IEq = compare::INT_EQ,
    INe = compare::INT_NE,
    ILt = compare::INT_LT,
    ILe = compare::INT_LE,
    BEq = compare::BOOL_EQ,
    BNe = compare::BOOL_NE,
    And = bool::AND,
    Or = bool::OR,
    Not = bool::NOT,
    IAdd = int::ADD,
    ISub = int::SUB,
    IMul = int::MUL,
    INeg = int::NEG,
    IDiv = int::DIV,
    IMod = int::MOD,
    IRem = int::REM,
    IAbs = int::ABS,
    IMin = int::MIN,
    IMax = int::MAX,
    BitXor = int::BIT_XOR,
    BitAnd = int::BIT_AND,
    ShiftLeft = int::SHIFT_LEFT,
    ShiftRight = int::SHIFT_RIGHT,
    IntToReal = convert::REAL,
    TruncInt = convert::TRUNC_INT,
    FloorInt = convert::FLOOR_INT,
    CeilInt = convert::CEIL_INT,
    RoundInt = convert::ROUND_INT,
    Floor = convert::FLOOR,
    Ceil = convert::CEIL,
    Round = convert::ROUND,
    Trunc = convert::TRUNC,
    Sign = convert::SIGN,
    Select = select::SELECT,
    ISelect = select::INT_SELECT,
    BSelect = select::BOOL_SELECT,
    Abs = select::ABS,
    Min = select::MIN,
    Max = select::MAX,
    Relu = select::RELU,
    Sqrt = elementary::SQRT,
    Exp = elementary::EXP,
    Expm1 = elementary::EXPM1,
    Log = elementary::LOG,
    Log1p = elementary::LOG1P,
    Log2 = elementary::LOG2,
    Log10 = elementary::LOG10,
    Pow = elementary::POW,
    PowInt = elementary::POW_INT,
    Hypot = elementary::HYPOT,
    Xlogy = elementary::XLOGY,
    Sigmoid = elementary::SIGMOID,
    Softplus = elementary::SOFTPLUS,
    Sin = trig::SIN,
    Cos = trig::COS,
    Tan = trig::TAN,
    Asin = trig::ASIN,
    Acos = trig::ACOS,
    Atan = trig::ATAN,
    Atan2 = trig::ATAN2,
    Sinh = hyperbolic::SINH,
    Cosh = hyperbolic::COSH,
    Tanh = hyperbolic::TANH,
    Asinh = hyperbolic::ASINH,
    Acosh = hyperbolic::ACOSH,
    Atanh = hyperbolic::ATANH,
    Erf = special::ERF,
    Erfc = special::ERFC,
    Lgamma = special::LGAMMA,
    Digamma = special::DIGAMMA,
    Trigamma = special::TRIGAMMA,
    Polygamma = special::POLYGAMMA,
    NormalQuantile = special::NORMAL_QUANTILE,
    RandomBits = random::RANDOM_BITS,
    UniformOfBits = random::UNIFORM_OF_BITS,
    NormalOfBits = random::NORMAL_OF_BITS,
    RandomUniform = random::RANDOM_UNIFORM,
    RandomNormal = random::RANDOM_NORMAL,
}

/// The slope of a distance, or an angle, at the origin: 0, and NaN when differentiated again, since the slope there has no derivative.
/// √(x² + y²) has this value and this slope at 0.
const ZERO_AT_ORIGIN: Partial = Partial::Of(|x, _| {
    use term::{add, mul, sqrt};
    sqrt(add(mul(&x[0], &x[0]), mul(&x[1], &x[1])))
});

/// Intervals that many rows sample.
const REALS: (f64, f64) = (-3.0, 3.0);
const INTS: (f64, f64) = (-20.0, 20.0);
const TRUTHS: (f64, f64) = (0.0, 1.0);

impl Prim {
    /// The value at literals, in a precision. None in single precision where it is that of the row's expansion, every operation of which
    /// is rounded.
    pub fn value(self, args: &[Lit], precision: Precision) -> Option<Lit> {
        let row = self.row();
        let has_reals = row.result == Scalar::Real || row.args.contains(&Scalar::Real);
        match (precision, &row.lowering) {
            (Precision::Single, Lowering::Op(op)) => crate::loops::ops::apply(*op, args, precision),
            (Precision::Single, Lowering::Expand(_)) if has_reals => None,
            (Precision::Double | Precision::Single, _) => Some((row.eval)(args)),
        }
    }

    /// The primitive whose row has this `.ad` name and argument types.
    pub fn find(name: &str, args: &[Scalar]) -> Option<Prim> {
        Prim::ALL.iter().copied().find(|p| p.row().name == name && p.row().args == args)
    }
}

/// Reading arguments in `eval` columns. A row is only applied to literals of its argument types.
pub fn real(l: Lit) -> f64 {
    match l {
        Lit::Real(x) => x,
        Lit::Int(k) => k as f64,
        Lit::Bool(b) => b as i64 as f64,
    }
}
pub fn int(l: Lit) -> i64 {
    match l {
        Lit::Int(k) => k,
        Lit::Real(x) => x as i64,
        Lit::Bool(b) => b as i64,
    }
}
pub fn boolean(l: Lit) -> bool {
    match l {
        Lit::Bool(b) => b,
        Lit::Int(k) => k != 0,
        Lit::Real(x) => x != 0.0,
    }
}
