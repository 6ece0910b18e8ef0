//! Elements, for all lanes. A buffer of the body has an element per lane beside each other; of a buffer from outside the lanes take neighbours,
//! the same element, or elements far apart. A lane that takes no part reads, where it must read, what the first one that does reads.

use super::Lanes;
use super::values::Lane;
use crate::{Result, malformed};
use inkwell::types::{BasicType, VectorType};
use inkwell::values::{BasicValue, IntValue, PointerValue, VectorValue};
use lang::loops::{Buf, Operand, Val};
use lang::prim::Scalar;

/// Whole buffers of up to so many elements are handled element by element, so that they can become registers.
const WRITTEN_OUT: u64 = 16;

/// Where the lanes' elements are.
enum At<'c> {
    /// Beside each other.
    Dense(PointerValue<'c>),
    /// At these offsets, in elements.
    Apart(PointerValue<'c>, Vec<IntValue<'c>>),
}

/// An offset that is being computed.
enum Offset<'c> {
    Same(IntValue<'c>),
    Linear { base: IntValue<'c>, step: IntValue<'c> },
    Each(VectorValue<'c>),
}

impl<'u, 'c> Lanes<'_, 'u, 'c> {
    pub(super) fn alloc(&mut self, buf: Buf) -> Result<()> {
        self.g.alloc_many(buf, u64::from(self.width))
    }

    fn stored(&self, elem: Scalar) -> VectorType<'c> {
        match elem {
            Scalar::Real => self.g.u.real.vec_type(self.width),
            Scalar::Int => self.g.u.i64.vec_type(self.width),
            Scalar::Bool => self.g.u.i8.vec_type(self.width),
        }
    }

    /// A vector as it lies in memory.
    fn to_memory(&self, elem: Scalar, v: VectorValue<'c>) -> Result<VectorValue<'c>> {
        match elem {
            Scalar::Real | Scalar::Int => Ok(v),
            Scalar::Bool => Ok(self.g.b.build_int_z_extend(v, self.stored(elem), "")?),
        }
    }

    fn of_memory(&self, elem: Scalar, v: VectorValue<'c>) -> Result<VectorValue<'c>> {
        match elem {
            Scalar::Real | Scalar::Int => Ok(v),
            Scalar::Bool => {
                let zero = v.get_type().const_zero();
                Ok(self.g.b.build_int_compare(inkwell::IntPredicate::NE, v, zero, "")?)
            }
        }
    }

    fn element(&self, elem: Scalar, ptr: PointerValue<'c>, offset: IntValue<'c>) -> Result<PointerValue<'c>> {
        // SAFETY: in bounds by the loop IR's invariant on indices, for lanes that take part; the others follow one that does.
        Ok(unsafe { self.g.b.build_in_bounds_gep(self.g.u.stored(elem), ptr, &[offset], "")? })
    }

    fn offset(&self, buf: Buf, index: &[Operand]) -> Result<Offset<'c>> {
        let dims = self.g.at(buf)?.dims.clone();
        if index.len() != dims.len() {
            return malformed(format!("{} indices for {buf:?} of rank {}", index.len(), dims.len()));
        }
        let b = &self.g.b;
        let mut offset = Offset::Same(self.g.int(0));
        for (k, (i, d)) in index.iter().zip(dims).enumerate() {
            let row = match offset {
                _ if k == 0 => Offset::Same(self.g.int(0)),
                Offset::Same(x) => Offset::Same(b.build_int_nsw_mul(x, d, "")?),
                Offset::Linear { base, step } => Offset::Linear {
                    base: b.build_int_nsw_mul(base, d, "")?,
                    step: b.build_int_nsw_mul(step, d, "")?,
                },
                Offset::Each(v) => Offset::Each(b.build_int_mul(v, self.splat(d.into())?, "")?),
            };
            offset = match (row, self.lane(*i)) {
                (Offset::Same(x), None) => Offset::Same(b.build_int_nsw_add(x, self.g.get_int(*i)?, "")?),
                (Offset::Same(x), Some(Lane::Linear { base, step })) => {
                    Offset::Linear { base: b.build_int_nsw_add(x, base, "")?, step: self.g.int(step) }
                }
                (Offset::Linear { base, step }, None) => {
                    Offset::Linear { base: b.build_int_nsw_add(base, self.g.get_int(*i)?, "")?, step }
                }
                (Offset::Linear { base, step }, Some(Lane::Linear { base: more, step: by })) => {
                    Offset::Linear {
                        base: b.build_int_nsw_add(base, more, "")?,
                        step: b.build_int_nsw_add(step, self.g.int(by), "")?,
                    }
                }
                (row, lane) => {
                    let row = self.each(row)?;
                    let i = match lane {
                        Some(lane) => self.dense(lane)?,
                        None => self.splat(self.g.get(*i)?)?,
                    };
                    Offset::Each(b.build_int_add(row, i, "")?)
                }
            };
        }
        Ok(offset)
    }

    fn each(&self, offset: Offset<'c>) -> Result<VectorValue<'c>> {
        match offset {
            Offset::Same(x) => self.splat(x.into()),
            Offset::Each(v) => Ok(v),
            Offset::Linear { base, step } => {
                let counts: Vec<_> = (0..i64::from(self.width)).map(|k| self.g.int(k)).collect();
                let (base, step) = (self.splat(base.into())?, self.splat(step.into())?);
                let steps = self.g.b.build_int_mul(step, VectorType::const_vector(&counts), "")?;
                Ok(self.g.b.build_int_add(base, steps, "")?)
            }
        }
    }

    /// The offsets of all lanes one by one, those of lanes that take no part replaced.
    fn apart(&self, offset: Offset<'c>) -> Result<Vec<IntValue<'c>>> {
        if let (Offset::Linear { base, step }, None) = (&offset, self.mask) {
            let b = &self.g.b;
            return (0..i64::from(self.width))
                .map(|k| Ok(b.build_int_add(*base, b.build_int_mul(*step, self.g.int(k), "")?, "")?))
                .collect();
        }
        let mut all = self.each(offset)?;
        if let Some(mask) = self.mask {
            let first = self.first(mask)?;
            let first = self.g.b.build_extract_element(all, first, "")?;
            all = self.masked(all, self.splat(first)?)?;
        }
        (0..self.width).map(|k| Ok(self.extract(all, k)?.into_int_value())).collect()
    }

    fn place(&self, buf: Buf, index: &[Operand]) -> Result<At<'c>> {
        let (ptr, elem) = (self.g.at(buf)?.ptr, self.g.proc.info(buf).elem);
        let offset = self.offset(buf, index)?;
        let width = self.g.int(i64::from(self.width));
        if self.varying.own.contains(&buf) {
            return match offset {
                Offset::Same(x) => {
                    let at = self.g.b.build_int_nsw_mul(x, width, "")?;
                    Ok(At::Dense(self.element(elem, ptr, at)?))
                }
                offset => {
                    let each = self.apart(offset)?;
                    let mut offsets = vec![];
                    for (k, x) in each.into_iter().enumerate() {
                        let row = self.g.b.build_int_mul(x, width, "")?;
                        offsets.push(self.g.b.build_int_add(row, self.g.int(k as i64), "")?);
                    }
                    Ok(At::Apart(ptr, offsets))
                }
            };
        }
        match offset {
            Offset::Linear { base, step } if step.get_zero_extended_constant() == Some(1) => {
                Ok(At::Dense(self.element(elem, ptr, base)?))
            }
            offset => Ok(At::Apart(ptr, self.apart(offset)?)),
        }
    }

    /// The mask that an access to memory needs: none for a buffer whose every lane is there.
    fn guard(&self, buf: Buf) -> Option<VectorValue<'c>> {
        match self.varying.own.contains(&buf) {
            true => None,
            false => self.mask,
        }
    }

    fn read(&self, buf: Buf, at: &At<'c>) -> Result<VectorValue<'c>> {
        let elem = self.g.proc.info(buf).elem;
        let ty = self.stored(elem);
        let raw = match (at, self.guard(buf)) {
            (At::Dense(ptr), None) => {
                let load = self.g.b.build_load(ty, *ptr, "")?;
                self.align(load.as_instruction_value(), elem);
                load.into_vector_value()
            }
            (At::Dense(ptr), Some(mask)) => {
                let align = self.g.u.cx.i32_type().const_int(self.g.size_of(elem), false);
                let none = ty.const_zero();
                let types = [ty.into(), self.g.u.ptr.into()];
                let args = [(*ptr).into(), align.into(), mask.into(), none.into()];
                self.g.intrinsic("llvm.masked.load", &types, &args)?.into_vector_value()
            }
            (At::Apart(ptr, offsets), _) => {
                let mut v = ty.get_poison();
                for (k, offset) in offsets.iter().enumerate() {
                    let one = self.element(elem, *ptr, *offset)?;
                    let x = self.g.b.build_load(self.g.u.stored(elem), one, "")?;
                    v = self.insert(v, x, k as u32)?;
                }
                v
            }
        };
        self.of_memory(elem, raw)
    }

    /// Vectors lie at the alignment of their elements only.
    fn align(&self, i: Option<inkwell::values::InstructionValue<'c>>, elem: Scalar) {
        if let Some(i) = i {
            let _ = i.set_alignment(self.g.size_of(elem) as u32);
        }
    }

    fn write(&mut self, buf: Buf, at: &At<'c>, v: VectorValue<'c>) -> Result<()> {
        let elem = self.g.proc.info(buf).elem;
        match (at, self.guard(buf), self.mask) {
            (At::Dense(ptr), None, mask) => {
                let v = match mask {
                    None => v,
                    Some(_) => self.masked(v, self.read(buf, at)?)?,
                };
                let store = self.g.b.build_store(*ptr, self.to_memory(elem, v)?)?;
                self.align(Some(store), elem);
                Ok(())
            }
            (At::Dense(ptr), Some(mask), _) => {
                let v = self.to_memory(elem, v)?;
                let align = self.g.u.cx.i32_type().const_int(self.g.size_of(elem), false);
                let types = [v.get_type().into(), self.g.u.ptr.into()];
                let args = [v.into(), (*ptr).into(), align.into(), mask.into()];
                self.g.effect("llvm.masked.store", &types, &args)
            }
            (At::Apart(ptr, offsets), _, mask) => {
                let v = self.to_memory(elem, v)?;
                for (k, offset) in offsets.iter().enumerate() {
                    let (x, one) = (self.extract(v, k as u32)?, self.element(elem, *ptr, *offset)?);
                    let Some(mask) = mask else {
                        self.g.b.build_store(one, x)?;
                        continue;
                    };
                    let takes_part = self.extract(mask, k as u32)?.into_int_value();
                    let (yes, done) = (self.g.new_block("lane"), self.g.new_block("next"));
                    self.g.b.build_conditional_branch(takes_part, yes, done)?;
                    self.g.b.position_at_end(yes);
                    self.g.b.build_store(one, x)?;
                    self.g.b.build_unconditional_branch(done)?;
                    self.g.b.position_at_end(done);
                }
                Ok(())
            }
        }
    }

    pub(super) fn load(&mut self, dst: Val, buf: Buf, index: &[Operand]) -> Result<()> {
        let at = self.place(buf, index)?;
        let v = self.read(buf, &at)?;
        self.vals.insert(dst, Lane::Dense(v));
        Ok(())
    }

    pub(super) fn store(&mut self, buf: Buf, index: &[Operand], value: Operand) -> Result<()> {
        let v = self.vector(value)?;
        let at = self.place(buf, index)?;
        self.write(buf, &at, v)
    }

    pub(super) fn accum(&mut self, buf: Buf, index: &[Operand], value: Operand) -> Result<()> {
        let v = self.vector(value)?;
        if let Some(copy) = self.copies.get(&buf).copied()
            && let Offset::Same(x) = self.offset(buf, index)?
        {
            let v = self.masked(v, v.get_type().const_zero())?;
            let one = self.register_sum(v)?;
            let at = self.g.b.build_int_nsw_mul(x, self.g.int(i64::from(self.register)), "")?;
            let at = self.element(Scalar::Real, copy, at)?;
            let old = self.g.b.build_load(one.get_type(), at, "old")?.into_vector_value();
            let sum = self.add(old, one)?;
            self.g.b.build_store(at, sum)?;
            return Ok(());
        }
        match self.place(buf, index)? {
            at @ At::Dense(_) => {
                let sum = self.add(self.read(buf, &at)?, v)?;
                self.write(buf, &at, sum)
            }
            // Lanes may meet in one element: one after the other. x + −0.0 is x.
            At::Apart(ptr, offsets) => {
                let nothing = vec![self.g.u.real.const_float(-0.0); self.width as usize];
                let v = self.masked(v, VectorType::const_vector(&nothing))?;
                for (k, offset) in offsets.into_iter().enumerate() {
                    let x = self.extract(v, k as u32)?.into_float_value();
                    let one = self.element(Scalar::Real, ptr, offset)?;
                    let old = self.g.b.build_load(self.g.u.real, one, "old")?.into_float_value();
                    let sum = self.g.b.build_float_add(old, x, "sum")?;
                    self.g.b.build_store(one, sum)?;
                }
                Ok(())
            }
        }
    }

    pub(super) fn fill(&mut self, buf: Buf, value: Operand) -> Result<()> {
        let v = self.vector(value)?;
        self.each_element(buf, |lanes, at| lanes.write(buf, at, v))
    }

    pub(super) fn copy(&mut self, dst: Buf, src: Buf) -> Result<()> {
        let (own, elem) = (self.varying.own.contains(&src), self.g.proc.info(src).elem);
        let (from, width) = (self.g.at(src)?.ptr, self.g.int(i64::from(self.width)));
        let (to, count) = (self.g.at(dst)?.ptr, self.g.elements(dst)?);
        self.over(count, |lanes, e| {
            let at = lanes.g.b.build_int_nsw_mul(e, width, "")?;
            let v = match own {
                true => lanes.read(src, &At::Dense(lanes.element(elem, from, at)?))?,
                false => {
                    let ptr = lanes.element(elem, from, e)?;
                    let x = lanes.g.b.build_load(lanes.g.u.stored(elem), ptr, "")?;
                    let v = lanes.splat(x)?;
                    lanes.of_memory(elem, v)?
                }
            };
            lanes.write(dst, &At::Dense(lanes.element(elem, to, at)?), v)
        })
    }

    fn each_element(&mut self, buf: Buf, mut f: impl FnMut(&mut Self, &At<'c>) -> Result<()>) -> Result<()> {
        let (ptr, elem) = (self.g.at(buf)?.ptr, self.g.proc.info(buf).elem);
        let (count, width) = (self.g.elements(buf)?, self.g.int(i64::from(self.width)));
        self.over(count, |lanes, e| {
            let at = lanes.g.b.build_int_nsw_mul(e, width, "")?;
            f(lanes, &At::Dense(lanes.element(elem, ptr, at)?))
        })
    }

    /// for e in 0..count; a few are written out.
    fn over(
        &mut self,
        count: IntValue<'c>,
        mut f: impl FnMut(&mut Self, IntValue<'c>) -> Result<()>,
    ) -> Result<()> {
        if let Some(few) = count.get_zero_extended_constant().filter(|n| *n <= WRITTEN_OUT) {
            return (0..few).try_for_each(|e| f(self, self.g.int(e as i64)));
        }
        let open = self.g.open_each(count)?;
        f(self, open.index())?;
        self.g.close_each(open)
    }

    /// Memory for the copies of the buffers that the body adds to, zeroed.
    pub(super) fn open_copies(&mut self, bufs: &[Buf]) -> Result<()> {
        for buf in bufs {
            let mut dims = self.g.at(*buf)?.dims.clone();
            dims.push(self.g.int(i64::from(self.register)));
            let bytes = self.g.bytes(self.g.size_of(Scalar::Real), &dims)?;
            let copy = self.g.arena_alloc(bytes)?;
            self.g.b.build_memset(copy, 32, self.g.u.i8.const_zero(), bytes)?;
            self.copies.insert(*buf, copy);
        }
        Ok(())
    }

    /// Adds the copies up, lane by lane.
    pub(super) fn close_copies(&mut self) -> Result<()> {
        let mut copies: Vec<_> = self.copies.iter().map(|(b, p)| (*b, *p)).collect();
        copies.sort_by_key(|(b, _)| *b);
        let register = self.g.u.real.vec_type(self.register);
        for (buf, copy) in copies {
            let (count, ptr) = (self.g.elements(buf)?, self.g.at(buf)?.ptr);
            self.over(count, |lanes, e| {
                let at = lanes.g.b.build_int_nsw_mul(e, lanes.g.int(i64::from(lanes.register)), "")?;
                let at = lanes.element(Scalar::Real, copy, at)?;
                let one = lanes.g.b.build_load(register, at, "")?.into_vector_value();
                let target = lanes.element(Scalar::Real, ptr, e)?;
                let old = lanes.g.b.build_load(lanes.g.u.real.as_basic_type_enum(), target, "old")?;
                let total = lanes.sum_of_lanes(one)?.into_float_value();
                let sum = lanes.g.b.build_float_add(old.into_float_value(), total, "sum")?;
                lanes.g.b.build_store(target, sum)?;
                Ok(())
            })?;
        }
        Ok(())
    }
}
