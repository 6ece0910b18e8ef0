//! Arithmetic as LLVM's instructions, on single numbers and on vectors.

use super::Machine;
use crate::body::Gen;
use inkwell::FloatPredicate;
use inkwell::types::{BasicType, FloatMathType, IntMathType};
use inkwell::values::{AsValueRef, BasicValueEnum, FloatMathValue, IntMathValue};

/// Writes instructions where the builder stands.
pub(crate) struct Emitter<'a, 'u, 'c, F: FloatMathValue<'c>, I: IntMathValue<'c>> {
    pub g: &'a Gen<'u, 'c>,
    pub real_type: F::BaseType,
    pub int_type: I::BaseType,
    /// The same number in every lane.
    pub real: &'a dyn Fn(f64) -> F,
    pub int: &'a dyn Fn(i64) -> I,
}

/// The builder stands in a block, and all types are those of one machine.
const WRITTEN: &str = "compiler bug: an instruction of an elementary function is refused";

impl<'c, F, I> Emitter<'_, '_, 'c, F, I>
where
    F: FloatMathValue<'c> + Copy,
    F::BaseType: BasicType<'c> + Copy,
    I: IntMathValue<'c>,
{
    fn intrinsic(&self, name: &str, arguments: &[F]) -> F {
        let arguments: Vec<_> = arguments.iter().map(|x| x.as_basic_value_enum().into()).collect();
        let types = [self.real_type.as_basic_type_enum()];
        of_value(self.g.intrinsic(name, &types, &arguments).expect(WRITTEN))
    }
}

/// A value that is known to be real.
fn of_value<'c, F: FloatMathValue<'c>>(x: BasicValueEnum<'c>) -> F {
    // SAFETY: only called for results that have the type of an operand that is an F.
    unsafe { F::new(x.as_value_ref()) }
}

impl<'c, F, I> Machine for Emitter<'_, '_, 'c, F, I>
where
    F: FloatMathValue<'c> + Copy,
    I: IntMathValue<'c> + Copy,
    F::BaseType: FloatMathType<'c, ValueType = F, MathConvType = I::BaseType> + Copy,
    I::BaseType: IntMathType<'c, ValueType = I, MathConvType = F::BaseType> + Copy,
{
    type Real = F;
    type Int = I;
    type Truth = I;

    fn real(&self, x: f64) -> F {
        (self.real)(x)
    }
    fn int(&self, k: i64) -> I {
        (self.int)(k)
    }
    fn add(&self, a: F, b: F) -> F {
        self.g.b.build_float_add(a, b, "").expect(WRITTEN)
    }
    fn sub(&self, a: F, b: F) -> F {
        self.g.b.build_float_sub(a, b, "").expect(WRITTEN)
    }
    fn mul(&self, a: F, b: F) -> F {
        self.g.b.build_float_mul(a, b, "").expect(WRITTEN)
    }
    fn div(&self, a: F, b: F) -> F {
        self.g.b.build_float_div(a, b, "").expect(WRITTEN)
    }
    fn mul_add(&self, a: F, b: F, c: F) -> F {
        self.intrinsic("llvm.fmuladd", &[a, b, c])
    }
    fn abs(&self, a: F) -> F {
        self.intrinsic("llvm.fabs", &[a])
    }
    fn copysign(&self, a: F, b: F) -> F {
        self.intrinsic("llvm.copysign", &[a, b])
    }
    fn less(&self, a: F, b: F) -> I {
        self.g.b.build_float_compare(FloatPredicate::OLT, a, b, "").expect(WRITTEN)
    }
    fn equal(&self, a: F, b: F) -> I {
        self.g.b.build_float_compare(FloatPredicate::OEQ, a, b, "").expect(WRITTEN)
    }
    fn select(&self, c: I, a: F, b: F) -> F {
        of_value(self.g.b.build_select(c, a, b, "").expect(WRITTEN))
    }
    fn bits(&self, a: F) -> I {
        let bits = self.g.b.build_bit_cast(a, self.int_type.as_basic_type_enum(), "").expect(WRITTEN);
        // SAFETY: a cast has the type it is to.
        unsafe { I::new(bits.as_value_ref()) }
    }
    fn of_bits(&self, a: I) -> F {
        of_value(self.g.b.build_bit_cast(a, self.real_type.as_basic_type_enum(), "").expect(WRITTEN))
    }
    fn int_add(&self, a: I, b: I) -> I {
        self.g.b.build_int_add(a, b, "").expect(WRITTEN)
    }
    fn int_sub(&self, a: I, b: I) -> I {
        self.g.b.build_int_sub(a, b, "").expect(WRITTEN)
    }
    fn and(&self, a: I, b: I) -> I {
        self.g.b.build_and(a, b, "").expect(WRITTEN)
    }
    fn shift_left(&self, a: I, by: i64) -> I {
        self.g.b.build_left_shift(a, (self.int)(by), "").expect(WRITTEN)
    }
    fn shift_right(&self, a: I, by: i64) -> I {
        self.g.b.build_right_shift(a, (self.int)(by), false, "").expect(WRITTEN)
    }
}
