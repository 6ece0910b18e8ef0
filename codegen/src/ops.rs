//! Scalar operations to LLVM instructions, one arm each, on single values and on vectors of lanes alike.

use crate::body::Gen;
use crate::{Result, malformed};
use inkwell::intrinsics::Intrinsic;
use inkwell::types::{BasicType, BasicTypeEnum, FloatMathType, IntMathType};
use inkwell::values::{
    AsValueRef, BasicMetadataValueEnum, BasicValue, BasicValueEnum, FastMathFlags, FloatMathValue,
    IntMathValue,
};
use inkwell::{FloatPredicate, IntPredicate};
use lang::loops::{Op, Operand, Val};

/// The operands of an operation by position, as single values or as vectors of one element per lane.
pub(crate) struct Operands<'a, 'c, F: FloatMathValue<'c>, I: IntMathValue<'c>> {
    pub real: &'a dyn Fn(usize) -> Result<F>,
    pub int: &'a dyn Fn(usize) -> Result<I>,
    pub any: &'a dyn Fn(usize) -> Result<BasicValueEnum<'c>>,
    pub constant: &'a dyn Fn(i64) -> I,
    pub real_constant: &'a dyn Fn(f64) -> F,
    pub real_type: F::BaseType,
    pub int_type: I::BaseType,
    /// Ints as wide as reals.
    pub bits_type: I::BaseType,
}

impl<'u, 'c> Gen<'u, 'c> {
    pub fn op(&mut self, dst: Val, op: Op, args: &[Operand]) -> Result<BasicValueEnum<'c>> {
        let arity = match op {
            Op::FNeg | Op::FAbs | Op::FSqrt | Op::FFloor | Op::FCeil | Op::FRound | Op::FTrunc => 1,
            Op::BNot | Op::IToF | Op::FToI | Op::FBits | Op::IBits | Op::Uniform => 1,
            Op::FAdd
            | Op::FSub
            | Op::FMul
            | Op::FDiv
            | Op::FCopySign
            | Op::FEq
            | Op::FNe
            | Op::FLt
            | Op::FLe => 2,
            Op::IAdd
            | Op::ISub
            | Op::IMul
            | Op::IDiv
            | Op::IMod
            | Op::IXor
            | Op::IAnd
            | Op::IShl
            | Op::IShr => 2,
            Op::IEq | Op::INe | Op::ILt | Op::ILe | Op::BAnd | Op::BOr | Op::BEq => 2,
            Op::Select => 3,
            Op::Math(m) => crate::math::arity(m),
        };
        if args.len() != arity {
            return malformed(format!("{op:?} of {} operands", args.len()));
        }
        let extra = match self.sums.contains(&dst) {
            true => FastMathFlags::AllowReassoc,
            false => FastMathFlags::empty(),
        };
        if let Op::Math(m) = op {
            return self.math(m, args);
        }
        if let Some(step) = self.extrema.get(&dst) {
            let (so_far, next) = (self.get_real(Operand::Val(step.so_far))?, self.get_real(step.next)?);
            let best =
                self.intrinsic(step.intrinsic, &[self.u.real.into()], &[so_far.into(), next.into()])?;
            return Ok(self.relax(best, FastMathFlags::NoSignedZeros));
        }
        let operands = Operands {
            real: &|k| self.get_real(args[k]),
            int: &|k| self.get_int(args[k]),
            any: &|k| self.get(args[k]),
            constant: &|k| self.int(k),
            real_constant: &|x| self.u.real.const_float(x),
            real_type: self.u.real,
            int_type: self.u.i64,
            bits_type: self.u.bits(),
        };
        self.arith(op, &operands, extra)
    }

    /// One operation, on scalars or on vectors; math functions have a file of their own.
    pub fn arith<F, I>(
        &self,
        op: Op,
        x: &Operands<'_, 'c, F, I>,
        extra: FastMathFlags,
    ) -> Result<BasicValueEnum<'c>>
    where
        F: FloatMathValue<'c> + Copy,
        I: IntMathValue<'c> + Copy,
        F::BaseType: FloatMathType<'c, ValueType = F, MathConvType = I::BaseType> + Copy,
        I::BaseType: IntMathType<'c, ValueType = I, MathConvType = F::BaseType> + Copy,
    {
        let (real, int) = (x.real, x.int);
        let (f, i64) = (x.real_type.as_basic_type_enum(), x.int_type.as_basic_type_enum());
        let b = &self.b;
        let none = FastMathFlags::empty();
        let rounded = |value: F, extra| self.relax(value.as_basic_value_enum(), extra);
        let value: BasicValueEnum = match op {
            Op::FAdd => rounded(b.build_float_add(real(0)?, real(1)?, "")?, extra),
            Op::FSub => rounded(b.build_float_sub(real(0)?, real(1)?, "")?, extra),
            Op::FMul => rounded(b.build_float_mul(real(0)?, real(1)?, "")?, none),
            Op::FDiv => rounded(b.build_float_div(real(0)?, real(1)?, "")?, none),
            Op::FNeg => rounded(b.build_float_neg(real(0)?, "")?, none),
            Op::FAbs => self.intrinsic("llvm.fabs", &[f], &[argument(real(0)?)])?,
            Op::FSqrt => self.intrinsic("llvm.sqrt", &[f], &[argument(real(0)?)])?,
            Op::FFloor => self.intrinsic("llvm.floor", &[f], &[argument(real(0)?)])?,
            Op::FCeil => self.intrinsic("llvm.ceil", &[f], &[argument(real(0)?)])?,
            Op::FRound => self.intrinsic("llvm.roundeven", &[f], &[argument(real(0)?)])?,
            Op::FTrunc => self.intrinsic("llvm.trunc", &[f], &[argument(real(0)?)])?,
            Op::FCopySign => {
                self.intrinsic("llvm.copysign", &[f], &[argument(real(0)?), argument(real(1)?)])?
            }
            Op::FEq => {
                b.build_float_compare(FloatPredicate::OEQ, real(0)?, real(1)?, "")?.as_basic_value_enum()
            }
            Op::FNe => {
                b.build_float_compare(FloatPredicate::UNE, real(0)?, real(1)?, "")?.as_basic_value_enum()
            }
            Op::FLt => {
                b.build_float_compare(FloatPredicate::OLT, real(0)?, real(1)?, "")?.as_basic_value_enum()
            }
            Op::FLe => {
                b.build_float_compare(FloatPredicate::OLE, real(0)?, real(1)?, "")?.as_basic_value_enum()
            }
            Op::IAdd => b.build_int_add(int(0)?, int(1)?, "")?.as_basic_value_enum(),
            Op::ISub => b.build_int_sub(int(0)?, int(1)?, "")?.as_basic_value_enum(),
            Op::IMul => b.build_int_mul(int(0)?, int(1)?, "")?.as_basic_value_enum(),
            Op::IDiv => self.floor_division(int(0)?, int(1)?, x)?.0.as_basic_value_enum(),
            Op::IMod => self.floor_division(int(0)?, int(1)?, x)?.1.as_basic_value_enum(),
            Op::IXor => b.build_xor(int(0)?, int(1)?, "")?.as_basic_value_enum(),
            Op::IAnd => b.build_and(int(0)?, int(1)?, "")?.as_basic_value_enum(),
            // Shift distances count modulo 64.
            Op::IShl => {
                let by = b.build_and(int(1)?, (x.constant)(63), "")?;
                b.build_left_shift(int(0)?, by, "")?.as_basic_value_enum()
            }
            Op::IShr => {
                let by = b.build_and(int(1)?, (x.constant)(63), "")?;
                b.build_right_shift(int(0)?, by, false, "")?.as_basic_value_enum()
            }
            Op::IEq | Op::BEq => {
                b.build_int_compare(IntPredicate::EQ, int(0)?, int(1)?, "")?.as_basic_value_enum()
            }
            Op::INe => b.build_int_compare(IntPredicate::NE, int(0)?, int(1)?, "")?.as_basic_value_enum(),
            Op::ILt => b.build_int_compare(IntPredicate::SLT, int(0)?, int(1)?, "")?.as_basic_value_enum(),
            Op::ILe => b.build_int_compare(IntPredicate::SLE, int(0)?, int(1)?, "")?.as_basic_value_enum(),
            Op::BAnd => b.build_and(int(0)?, int(1)?, "")?.as_basic_value_enum(),
            Op::BOr => b.build_or(int(0)?, int(1)?, "")?.as_basic_value_enum(),
            Op::BNot => b.build_not(int(0)?, "")?.as_basic_value_enum(),
            Op::IToF => b.build_signed_int_to_float(int(0)?, x.real_type, "")?.as_basic_value_enum(),
            Op::FToI => self.intrinsic("llvm.fptosi.sat", &[i64, f], &[argument(real(0)?)])?,
            Op::FBits => {
                let bits = b.build_bit_cast(real(0)?, x.bits_type.as_basic_type_enum(), "")?;
                // SAFETY: bits of reals are ints, as many as there are reals.
                let bits = unsafe { I::new(bits.as_value_ref()) };
                b.build_int_z_extend_or_bit_cast(bits, x.int_type, "")?.as_basic_value_enum()
            }
            Op::IBits => {
                let bits = b.build_int_truncate_or_bit_cast(int(0)?, x.bits_type, "")?;
                b.build_bit_cast(bits, f, "")?
            }
            // All the high bits that a real has are an int that is exact as a real; the scale is a power of two.
            Op::Uniform => {
                let digits = self.u.precision.digits();
                let high = b.build_right_shift(int(0)?, (x.constant)(64 - i64::from(digits)), false, "")?;
                let whole = b.build_signed_int_to_float(high, x.real_type, "")?;
                b.build_float_mul(whole, (x.real_constant)((-f64::from(digits)).exp2()), "")?
                    .as_basic_value_enum()
            }
            Op::Select => {
                let (t, s) = ((x.any)(1)?, (x.any)(2)?);
                if t.get_type() != s.get_type() {
                    return malformed("select between types");
                }
                self.relax(b.build_select(int(0)?, t, s, "")?, extra)
            }
            Op::Math(_) => return malformed("a math function among the operations"),
        };
        Ok(value)
    }

    /// Adds the floating-point freedoms of the options, and `extra` ones unless strict.
    pub fn relax(&self, value: BasicValueEnum<'c>, extra: FastMathFlags) -> BasicValueEnum<'c> {
        let o = &self.u.options;
        let mut flags = FastMathFlags::empty();
        if !o.strict {
            flags |= extra | FastMathFlags::AllowContract;
            if o.fast_math {
                flags |= FastMathFlags::AllowReassoc
                    | FastMathFlags::NoSignedZeros
                    | FastMathFlags::AllowReciprocal;
            }
        }
        if !flags.is_empty()
            && let Some(i) = value.as_instruction_value()
            && i.can_use_fast_math_flags()
        {
            let _ = i.set_fast_math_flags(flags);
        }
        value
    }

    pub fn intrinsic(
        &self,
        name: &str,
        types: &[BasicTypeEnum<'c>],
        args: &[BasicMetadataValueEnum<'c>],
    ) -> Result<BasicValueEnum<'c>> {
        let Some(f) = Intrinsic::find(name).and_then(|i| i.get_declaration(&self.u.module, types)) else {
            return Err(crate::CodegenError(format!("this LLVM has no {name}")));
        };
        Ok(self.b.build_call(f, args, "")?.try_as_basic_value().unwrap_basic())
    }

    /// An intrinsic without a value.
    pub fn effect(
        &self,
        name: &str,
        types: &[BasicTypeEnum<'c>],
        args: &[BasicMetadataValueEnum<'c>],
    ) -> Result<()> {
        let Some(f) = Intrinsic::find(name).and_then(|i| i.get_declaration(&self.u.module, types)) else {
            return Err(crate::CodegenError(format!("this LLVM has no {name}")));
        };
        self.b.build_call(f, args, "")?;
        Ok(())
    }

    /// Floor division and remainder: (⌊m / n⌋, m − n·⌊m / n⌋), both 0 where n = 0; wraps where m / −1 overflows. The machine's
    /// division never sees 0 or −1.
    fn floor_division<F, I>(&self, m: I, n: I, x: &Operands<'_, 'c, F, I>) -> Result<(I, I)>
    where
        F: FloatMathValue<'c>,
        I: IntMathValue<'c> + Copy,
        I::BaseType: IntMathType<'c, ValueType = I> + Copy,
    {
        let b = &self.b;
        let (zero, one) = ((x.constant)(0), (x.constant)(1));
        let pick = |c: I, t: I, s: I| -> Result<I> {
            let picked = b.build_select(c, t, s, "")?;
            // SAFETY: a select has the type of its arms.
            Ok(unsafe { I::new(picked.as_value_ref()) })
        };
        let by_zero = b.build_int_compare(IntPredicate::EQ, n, zero, "")?;
        let by_minus_one = b.build_int_compare(IntPredicate::EQ, n, (x.constant)(-1), "")?;
        let special = b.build_or(by_zero, by_minus_one, "")?;
        let d = pick(special, one, n)?;
        let (q, r) = (b.build_int_signed_div(m, d, "")?, b.build_int_signed_rem(m, d, "")?);
        let uneven = b.build_int_compare(IntPredicate::NE, r, zero, "")?;
        let opposite = b.build_int_compare(IntPredicate::SLT, b.build_xor(r, d, "")?, zero, "")?;
        let down = b.build_and(uneven, opposite, "")?;
        let quotient = b.build_int_sub(q, b.build_int_z_extend(down, x.int_type, "")?, "")?;
        let quotient = pick(by_minus_one, b.build_int_sub(zero, m, "")?, quotient)?;
        let quotient = pick(by_zero, zero, quotient)?;
        let up = pick(down, d, zero)?;
        Ok((quotient, b.build_int_add(r, up, "")?))
    }
}

/// Any value as the argument of a call.
fn argument<'c>(x: impl BasicValue<'c>) -> BasicMetadataValueEnum<'c> {
    x.as_basic_value_enum().into()
}
