//! Short names for scalar terms, which rows are written with.

use super::Prim;
use crate::core::{Binder, Tm, make};
use crate::name::Supply;
use crate::types::Type;
use std::borrow::Borrow;

pub use crate::core::make::{int, real};

/// One function per primitive, of as many terms as it has arguments.
macro_rules! builders {
    ($($name:ident($($x:ident),+) = $prim:ident,)*) => {
        $(pub fn $name($($x: impl Borrow<Tm>),+) -> Tm {
            make::prim(Prim::$prim, [$($x.borrow().clone()),+])
        })*
    };
}

builders! {
    add(x, y) = Add,
    sub(x, y) = Sub,
    mul(x, y) = Mul,
    div(x, y) = Div,
    neg(x) = Neg,
    floor(x) = Floor,
    round(x) = Round,
    trunc(x) = Trunc,
    ceil(x) = Ceil,
    trunc_int(x) = TruncInt,
    int_to_real(k) = IntToReal,
    sqrt(x) = Sqrt,
    exp(x) = Exp,
    log(x) = Log,
    log1p(x) = Log1p,
    pow(x, y) = Pow,
    hypot(x, y) = Hypot,
    sinh(x) = Sinh,
    cosh(x) = Cosh,
    digamma(x) = Digamma,
    trigamma(x) = Trigamma,
    polygamma(m, x) = Polygamma,
    uniform_of_bits(word) = UniformOfBits,
    normal_of_bits(word) = NormalOfBits,
    random_bits(seed, i) = RandomBits,
    sin(x) = Sin,
    cos(x) = Cos,
    pow_int(x, k) = PowInt,
    abs(x) = Abs,
    relu(x) = Relu,
    sigmoid(x) = Sigmoid,
    select(c, x, y) = Select,
    int_select(c, m, n) = ISelect,
    eq(x, y) = Eq,
    lt(x, y) = Lt,
    le(x, y) = Le,
    int_eq(m, n) = IEq,
    int_ne(m, n) = INe,
    int_lt(m, n) = ILt,
    bool_eq(p, q) = BEq,
    bool_ne(p, q) = BNe,
    and(p, q) = And,
    not(p) = Not,
    int_add(m, n) = IAdd,
    int_sub(m, n) = ISub,
    int_mul(m, n) = IMul,
    int_mod(m, n) = IMod,
    bit_xor(m, n) = BitXor,
    shift_right(m, n) = ShiftRight,
}

/// let name = t in body(name)
pub fn bind(
    name: &str,
    ty: Type,
    t: Tm,
    supply: &mut Supply,
    body: impl FnOnce(Tm, &mut Supply) -> Tm,
) -> Tm {
    let v = supply.fresh(name);
    let s = body(make::var(&v), supply);
    make::let_(Binder::new(v, ty), t, s)
}
