//! Scalar operations to LLVM instructions, one arm each.

use crate::body::Gen;
use crate::{Result, malformed};
use inkwell::intrinsics::Intrinsic;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, BasicValue, BasicValueEnum, FastMathFlags, IntValue};
use inkwell::{FloatPredicate as F, IntPredicate as I};
use lang::loops::{Op, Operand, Val};

impl<'u, 'c> Gen<'u, 'c> {
    pub fn op(&mut self, dst: Val, op: Op, args: &[Operand]) -> Result<BasicValueEnum<'c>> {
        let arity = match op {
            Op::FNeg | Op::FAbs | Op::FSqrt | Op::FFloor | Op::FCeil | Op::FRound | Op::FTrunc => 1,
            Op::BNot | Op::IToF | Op::FToI | Op::FBits | Op::IBits => 1,
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
        let real = |k: usize| self.get_real(args[k]);
        let int = |k: usize| self.get_int(args[k]);
        let b = &self.b;
        let none = FastMathFlags::empty();
        let extra = if self.sums.contains(&dst) { FastMathFlags::AllowReassoc } else { none };
        let value: BasicValueEnum = match op {
            Op::FAdd => self.relax(b.build_float_add(real(0)?, real(1)?, "")?.into(), extra),
            Op::FSub => self.relax(b.build_float_sub(real(0)?, real(1)?, "")?.into(), extra),
            Op::FMul => self.relax(b.build_float_mul(real(0)?, real(1)?, "")?.into(), none),
            Op::FDiv => self.relax(b.build_float_div(real(0)?, real(1)?, "")?.into(), none),
            Op::FNeg => self.relax(b.build_float_neg(real(0)?, "")?.into(), none),
            Op::FAbs => self.intrinsic("llvm.fabs", &[self.u.f64.into()], &[real(0)?.into()])?,
            Op::FSqrt => self.intrinsic("llvm.sqrt", &[self.u.f64.into()], &[real(0)?.into()])?,
            Op::FFloor => self.intrinsic("llvm.floor", &[self.u.f64.into()], &[real(0)?.into()])?,
            Op::FCeil => self.intrinsic("llvm.ceil", &[self.u.f64.into()], &[real(0)?.into()])?,
            Op::FRound => self.intrinsic("llvm.roundeven", &[self.u.f64.into()], &[real(0)?.into()])?,
            Op::FTrunc => self.intrinsic("llvm.trunc", &[self.u.f64.into()], &[real(0)?.into()])?,
            Op::FCopySign => {
                self.intrinsic("llvm.copysign", &[self.u.f64.into()], &[real(0)?.into(), real(1)?.into()])?
            }
            Op::FEq => b.build_float_compare(F::OEQ, real(0)?, real(1)?, "")?.into(),
            Op::FNe => b.build_float_compare(F::UNE, real(0)?, real(1)?, "")?.into(),
            Op::FLt => b.build_float_compare(F::OLT, real(0)?, real(1)?, "")?.into(),
            Op::FLe => b.build_float_compare(F::OLE, real(0)?, real(1)?, "")?.into(),
            Op::IAdd => b.build_int_add(int(0)?, int(1)?, "")?.into(),
            Op::ISub => b.build_int_sub(int(0)?, int(1)?, "")?.into(),
            Op::IMul => b.build_int_mul(int(0)?, int(1)?, "")?.into(),
            Op::IDiv => self.floor_division(int(0)?, int(1)?)?.0.into(),
            Op::IMod => self.floor_division(int(0)?, int(1)?)?.1.into(),
            Op::IXor => b.build_xor(int(0)?, int(1)?, "")?.into(),
            Op::IAnd => b.build_and(int(0)?, int(1)?, "")?.into(),
            Op::IShl => b.build_left_shift(int(0)?, self.shift(int(1)?)?, "")?.into(),
            Op::IShr => b.build_right_shift(int(0)?, self.shift(int(1)?)?, false, "")?.into(),
            Op::IEq | Op::BEq => b.build_int_compare(I::EQ, int(0)?, int(1)?, "")?.into(),
            Op::INe => b.build_int_compare(I::NE, int(0)?, int(1)?, "")?.into(),
            Op::ILt => b.build_int_compare(I::SLT, int(0)?, int(1)?, "")?.into(),
            Op::ILe => b.build_int_compare(I::SLE, int(0)?, int(1)?, "")?.into(),
            Op::BAnd => b.build_and(int(0)?, int(1)?, "")?.into(),
            Op::BOr => b.build_or(int(0)?, int(1)?, "")?.into(),
            Op::BNot => b.build_not(int(0)?, "")?.into(),
            Op::IToF => b.build_signed_int_to_float(int(0)?, self.u.f64, "")?.into(),
            Op::FToI => self.intrinsic(
                "llvm.fptosi.sat",
                &[self.u.i64.into(), self.u.f64.into()],
                &[real(0)?.into()],
            )?,
            Op::FBits => b.build_bit_cast(real(0)?, self.u.i64, "")?,
            Op::IBits => b.build_bit_cast(int(0)?, self.u.f64, "")?,
            Op::Select => {
                let (t, s) = (self.get(args[1])?, self.get(args[2])?);
                if t.get_type() != s.get_type() {
                    return malformed("select between types");
                }
                self.relax(b.build_select(int(0)?, t, s, "")?, extra)
            }
            Op::Math(m) => self.math(m, args)?,
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

    /// Shift distances count modulo 64.
    fn shift(&self, by: IntValue<'c>) -> Result<IntValue<'c>> {
        Ok(self.b.build_and(by, self.int(63), "")?)
    }

    /// Floor division and remainder: (⌊m / n⌋, m − n·⌊m / n⌋), both 0 where n = 0; wraps where m / −1 overflows. The machine's
    /// division never sees 0 or −1.
    fn floor_division(&self, m: IntValue<'c>, n: IntValue<'c>) -> Result<(IntValue<'c>, IntValue<'c>)> {
        let b = &self.b;
        let (zero, one) = (self.int(0), self.int(1));
        let by_zero = b.build_int_compare(I::EQ, n, zero, "")?;
        let by_minus_one = b.build_int_compare(I::EQ, n, self.int(-1), "")?;
        let special = b.build_or(by_zero, by_minus_one, "")?;
        let d = b.build_select(special, one, n, "")?.into_int_value();
        let (q, r) = (b.build_int_signed_div(m, d, "")?, b.build_int_signed_rem(m, d, "")?);
        let uneven = b.build_int_compare(I::NE, r, zero, "")?;
        let opposite = b.build_int_compare(I::SLT, b.build_xor(r, d, "")?, zero, "")?;
        let down = b.build_and(uneven, opposite, "")?;
        let quotient = b.build_int_sub(q, b.build_int_z_extend(down, self.u.i64, "")?, "")?;
        let quotient =
            b.build_select(by_minus_one, b.build_int_sub(zero, m, "")?, quotient, "")?.into_int_value();
        let quotient = b.build_select(by_zero, zero, quotient, "")?.into_int_value();
        let up = b.build_select(down, d, zero, "")?.into_int_value();
        Ok((quotient, b.build_int_add(r, up, "")?))
    }
}
