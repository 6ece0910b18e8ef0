//! Vectors: where they come from, and operations on them.

use super::Lanes;
use crate::elementary::{self, llvm::Emitter};
use crate::ops::Operands;
use crate::{Result, malformed};
use inkwell::types::VectorType;
use inkwell::values::{BasicValue, BasicValueEnum, FastMathFlags, IntValue, VectorValue};
use lang::loops::{Math, Op, Operand, Val};
use lang::prim::Scalar;

/// A value of every lane.
#[derive(Clone, Copy)]
pub(super) enum Lane<'c> {
    Dense(VectorValue<'c>),
    /// base, base + step, base + 2·step, …
    Linear {
        base: IntValue<'c>,
        step: i64,
    },
}

impl<'u, 'c> Lanes<'_, 'u, 'c> {
    /// The value of each lane, as one vector.
    pub(super) fn vector(&mut self, o: Operand) -> Result<VectorValue<'c>> {
        match self.lane(o) {
            Some(lane) => self.dense(lane),
            None => {
                let value = self.g.get(o)?;
                self.splat(value)
            }
        }
    }

    /// How a value differs between lanes; absent where it does not.
    pub(super) fn lane(&self, o: Operand) -> Option<Lane<'c>> {
        match o {
            Operand::Val(v) => self.vals.get(&v).copied(),
            Operand::Real(_) | Operand::Int(_) | Operand::Bool(_) => None,
        }
    }

    pub(super) fn dense(&self, lane: Lane<'c>) -> Result<VectorValue<'c>> {
        match lane {
            Lane::Dense(v) => Ok(v),
            Lane::Linear { base, step } => {
                let steps: Vec<_> = (0..self.width as i64).map(|k| self.g.int(k * step)).collect();
                let base = self.splat(base.into())?;
                Ok(self.g.b.build_int_add(base, VectorType::const_vector(&steps), "")?)
            }
        }
    }

    /// The same value in every lane.
    pub(super) fn splat(&self, x: BasicValueEnum<'c>) -> Result<VectorValue<'c>> {
        let (b, i32) = (&self.g.b, self.g.u.cx.i32_type());
        let ty = match x {
            BasicValueEnum::FloatValue(x) => x.get_type().vec_type(self.width),
            BasicValueEnum::IntValue(x) => x.get_type().vec_type(self.width),
            other => return malformed(format!("{other} in every lane")),
        };
        let one = b.build_insert_element(ty.get_poison(), x, i32.const_zero(), "")?;
        Ok(b.build_shuffle_vector(one, ty.get_poison(), i32.vec_type(self.width).const_zero(), "")?)
    }

    /// Lanes k, k+1, … of a vector, `count` of them.
    pub(super) fn part(&self, v: VectorValue<'c>, first: u32, count: u32) -> Result<VectorValue<'c>> {
        if first == 0 && count == v.get_type().get_size() {
            return Ok(v);
        }
        let i32 = self.g.u.cx.i32_type();
        let picks: Vec<_> = (first..first + count).map(|k| i32.const_int(k.into(), false)).collect();
        let picks = VectorType::const_vector(&picks);
        Ok(self.g.b.build_shuffle_vector(v, v.get_type().get_poison(), picks, "")?)
    }

    /// Vectors of equal length, one after the other.
    fn joined(&self, mut parts: Vec<VectorValue<'c>>) -> Result<VectorValue<'c>> {
        let i32 = self.g.u.cx.i32_type();
        while parts.len() > 1 {
            let mut pairs = vec![];
            for pair in parts.chunks(2) {
                let [a, b] = pair else { return malformed("an odd number of registers") };
                let picks: Vec<_> =
                    (0..2 * a.get_type().get_size()).map(|k| i32.const_int(k.into(), false)).collect();
                let picks = VectorType::const_vector(&picks);
                pairs.push(self.g.b.build_shuffle_vector(*a, *b, picks, "")?);
            }
            parts = pairs;
        }
        parts.pop().map_or_else(|| malformed("no registers"), Ok)
    }

    /// Lane k alone.
    pub(super) fn extract(&self, v: VectorValue<'c>, k: u32) -> Result<BasicValueEnum<'c>> {
        let k = self.g.u.cx.i32_type().const_int(k.into(), false);
        Ok(self.g.b.build_extract_element(v, k, "")?)
    }

    pub(super) fn insert(
        &self,
        v: VectorValue<'c>,
        x: BasicValueEnum<'c>,
        k: u32,
    ) -> Result<VectorValue<'c>> {
        let k = self.g.u.cx.i32_type().const_int(k.into(), false);
        Ok(self.g.b.build_insert_element(v, x, k, "")?)
    }

    /// All lanes added up to a value.
    pub(super) fn add_up(
        &self,
        sum: VectorValue<'c>,
        init: BasicValueEnum<'c>,
    ) -> Result<BasicValueEnum<'c>> {
        let total = self.sum_of_lanes(self.register_sum(sum)?)?;
        Ok(match (init, total) {
            (BasicValueEnum::FloatValue(a), BasicValueEnum::FloatValue(x)) => {
                self.g.b.build_float_add(a, x, "")?.into()
            }
            (a, x) => self.g.b.build_int_add(a.into_int_value(), x.into_int_value(), "")?.into(),
        })
    }

    /// The registers of a vector added up to one.
    pub(super) fn register_sum(&self, sum: VectorValue<'c>) -> Result<VectorValue<'c>> {
        self.folded(sum, self.register)
    }

    /// The lanes of a register added up.
    pub(super) fn sum_of_lanes(&self, one: VectorValue<'c>) -> Result<BasicValueEnum<'c>> {
        self.extract(self.folded(one, 1)?, 0)
    }

    /// The second half of a vector added to the first, until it is so short. (Lanes are as many as a power of two.)
    fn folded(&self, mut v: VectorValue<'c>, length: u32) -> Result<VectorValue<'c>> {
        let real = v.get_type().get_element_type().is_float_type();
        while v.get_type().get_size() > length {
            let half = v.get_type().get_size() / 2;
            let (a, b) = (self.part(v, 0, half)?, self.part(v, half, half)?);
            v = if real { self.add(a, b)? } else { self.g.b.build_int_add(a, b, "")? };
        }
        Ok(v)
    }

    pub(super) fn add(&self, a: VectorValue<'c>, b: VectorValue<'c>) -> Result<VectorValue<'c>> {
        let sum = self.g.b.build_float_add(a, b, "")?;
        Ok(self.g.relax(sum.into(), FastMathFlags::AllowReassoc).into_vector_value())
    }

    pub(super) fn op(&mut self, dst: Val, op: Op, args: &[Operand]) -> Result<()> {
        if let Some(lane) = self.linear(op, args)? {
            self.vals.insert(dst, lane);
            return Ok(());
        }
        if let Op::Math(m) = op {
            let value = self.math(m, args)?;
            self.vals.insert(dst, Lane::Dense(value));
            return Ok(());
        }
        let vectors = args.iter().map(|a| self.vector(*a)).collect::<Result<Vec<_>>>()?;
        let (reals, ints) = (self.vector_of(Scalar::Real), self.vector_of(Scalar::Int));
        let pick = |k: usize| match vectors.get(k) {
            Some(v) => Ok(*v),
            None => malformed(format!("{op:?} of {} operands", vectors.len())),
        };
        let this = &*self;
        let operands = Operands {
            real: &pick,
            int: &pick,
            any: &|k| Ok(pick(k)?.into()),
            constant: &|k| {
                let all = vec![this.g.int(k); this.width as usize];
                VectorType::const_vector(&all)
            },
            real_constant: &|x| {
                let all = vec![this.g.u.real.const_float(x); this.width as usize];
                VectorType::const_vector(&all)
            },
            real_type: reals,
            int_type: ints,
            bits_type: this.g.u.bits().vec_type(this.width),
        };
        let value = self.g.arith(op, &operands, FastMathFlags::empty())?;
        self.vals.insert(dst, Lane::Dense(value.into_vector_value()));
        Ok(())
    }

    /// Sums, differences and multiples of a linear value are linear.
    fn linear(&mut self, op: Op, args: &[Operand]) -> Result<Option<Lane<'c>>> {
        let (&[a, b], true) = (args, matches!(op, Op::IAdd | Op::ISub | Op::IMul)) else { return Ok(None) };
        let build = |g: &crate::body::Gen<'u, 'c>, x: IntValue<'c>, y: IntValue<'c>| match op {
            Op::IAdd => g.b.build_int_add(x, y, ""),
            Op::ISub => g.b.build_int_sub(x, y, ""),
            _ => g.b.build_int_mul(x, y, ""),
        };
        let (base, step) = match (op, self.lane(a), self.lane(b)) {
            (Op::IAdd | Op::ISub, Some(Lane::Linear { base, step }), None) => {
                (build(self.g, base, self.g.get_int(b)?)?, step)
            }
            (Op::IAdd, None, Some(Lane::Linear { base, step })) => {
                (build(self.g, self.g.get_int(a)?, base)?, step)
            }
            (Op::ISub, None, Some(Lane::Linear { base, step })) => {
                (build(self.g, self.g.get_int(a)?, base)?, -step)
            }
            (Op::IMul, Some(Lane::Linear { base, step }), None) => match b {
                Operand::Int(k) => match step.checked_mul(k) {
                    Some(step) => (build(self.g, base, self.g.int(k))?, step),
                    None => return Ok(None),
                },
                Operand::Val(_) | Operand::Real(_) | Operand::Bool(_) => return Ok(None),
            },
            (Op::IMul, None, Some(Lane::Linear { base, step })) => match a {
                Operand::Int(k) => match step.checked_mul(k) {
                    Some(step) => (build(self.g, self.g.int(k), base)?, step),
                    None => return Ok(None),
                },
                Operand::Val(_) | Operand::Real(_) | Operand::Bool(_) => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(Lane::Linear { base, step }))
    }

    /// A math function: arithmetic where there is a formula, else the C library's vector variant register by register, or lane by lane where there is none.
    fn math(&mut self, m: Math, args: &[Operand]) -> Result<VectorValue<'c>> {
        if let (Math::PowInt, Some(Operand::Int(k))) = (m, args.get(1))
            && k.unsigned_abs() <= crate::math::UNROLLED_POWER
        {
            let x = self.vector(args[0])?;
            let ones = vec![self.g.u.real.const_float(1.0); self.width as usize];
            let one = VectorType::const_vector(&ones);
            return Ok(self.g.constant_power(x, one, *k)?.into_vector_value());
        }
        let vectors = args.iter().map(|a| self.vector(*a)).collect::<Result<Vec<_>>>()?;
        if self.g.u.has_formula(m) {
            let width = self.width as usize;
            let emitter = Emitter {
                g: &*self.g,
                real_type: self.vector_of(Scalar::Real),
                int_type: self.vector_of(Scalar::Int),
                real: &|x| VectorType::const_vector(&vec![self.g.u.f64.const_float(x); width]),
                int: &|k| VectorType::const_vector(&vec![self.g.int(k); width]),
            };
            if let Some(value) = elementary::formula(&emitter, m, vectors[0]) {
                return Ok(value);
            }
        }
        if let Some(f) = self.g.u.vector_variant(m, self.register) {
            let mut parts = vec![];
            for k in 0..self.width / self.register {
                let mut operands = vec![];
                for v in &vectors {
                    operands.push(self.part(*v, k * self.register, self.register)?.into());
                }
                let call = self.g.b.build_call(f, &operands, "")?;
                parts.push(call.try_as_basic_value().unwrap_basic().into_vector_value());
            }
            return self.joined(parts);
        }
        let mut out = self.vector_of(Scalar::Real).get_poison();
        for k in 0..self.width {
            let mut operands = vec![];
            for v in &vectors {
                operands.push(self.extract(*v, k)?);
            }
            let (_, value) = self.g.call_math(m, operands)?;
            out = self.insert(out, value, k)?;
        }
        Ok(out)
    }

    /// x in the lanes that take part, y in the others.
    pub(super) fn masked(&self, x: VectorValue<'c>, y: VectorValue<'c>) -> Result<VectorValue<'c>> {
        match self.mask {
            None => Ok(x),
            Some(mask) => Ok(self.g.b.build_select(mask, x, y, "")?.into_vector_value()),
        }
    }

    /// The lanes of a mask as the bits of an int.
    pub(super) fn bits(&self, mask: VectorValue<'c>) -> Result<IntValue<'c>> {
        let ty = self.g.u.cx.custom_width_int_type(self.width.try_into().expect("not zero"));
        let ty = ty.map_err(|e| crate::CodegenError(e.to_string()))?;
        let bits = self.g.b.build_bit_cast(mask.as_basic_value_enum(), ty, "")?.into_int_value();
        Ok(self.g.b.build_int_z_extend_or_bit_cast(bits, self.g.u.i64, "")?)
    }

    /// Any lane of a mask.
    pub(super) fn any(&self, mask: VectorValue<'c>) -> Result<IntValue<'c>> {
        let bits = self.bits(mask)?;
        self.g.is_nonzero(bits)
    }

    /// The first lane of a mask that has one.
    pub(super) fn first(&self, mask: VectorValue<'c>) -> Result<IntValue<'c>> {
        let bits = self.bits(mask)?;
        let i64 = self.g.u.i64;
        let poison = self.g.u.i1.const_zero();
        let at = self.g.intrinsic("llvm.cttz", &[i64.into()], &[bits.into(), poison.into()])?;
        Ok(at.into_int_value())
    }
}
