//! Buffers: row-major addressing, local memory, whole-buffer operations.

use crate::body::Gen;
use crate::hints;
use crate::{Result, malformed};
use inkwell::attributes::AttributeLoc;
use inkwell::basic_block::BasicBlock;
use inkwell::intrinsics::Intrinsic;
use inkwell::values::{BasicValueEnum, FastMathFlags, IntValue, PhiValue, PointerValue};
use inkwell::{IntPredicate, types::BasicType};
use lang::loops::{Buf, For, Operand, walk};
use lang::prim::Scalar;

/// Where a buffer is.
#[derive(Clone)]
pub(crate) struct Place<'c> {
    pub ptr: PointerValue<'c>,
    pub dims: Vec<IntValue<'c>>,
}

/// A local buffer of constant size up to this many bytes goes on the stack, up to that many per function.
const STACK_BUFFER: u64 = 4096;
const STACK_TOTAL: u64 = 64 * 1024;
/// In a callee, whose frame there may be thousands of, less.
const CALLEE_TOTAL: u64 = 1024;

/// What an arena's functions touch: their arguments' memory and memory nobody else sees (LLVM's encoding).
const ARENA_EFFECTS: u64 = 0b1111;

impl<'u, 'c> Gen<'u, 'c> {
    pub fn at(&self, buf: Buf) -> Result<&Place<'c>> {
        match self.places.get(buf.0 as usize) {
            Some(Some(place)) => Ok(place),
            Some(None) | None => {
                malformed(format!("{buf:?} is used outside its block in {}", self.proc.name))
            }
        }
    }

    /// The buffer is at this address from here on.
    pub fn place(&mut self, buf: Buf, ptr: PointerValue<'c>) -> Result<()> {
        let dims = self.proc.info(buf).shape.iter().map(|d| self.get_int(*d)).collect::<Result<_>>()?;
        self.places[buf.0 as usize] = Some(Place { ptr, dims });
        Ok(())
    }

    /// The address of an element. Indices are in range (the loop IR's promise), so nothing overflows.
    fn address(&self, buf: Buf, index: &[Operand]) -> Result<PointerValue<'c>> {
        let place = self.at(buf)?;
        if index.len() != place.dims.len() {
            return malformed(format!("{} indices for {buf:?} of rank {}", index.len(), place.dims.len()));
        }
        let mut offset = self.int(0);
        for (k, (i, d)) in index.iter().zip(&place.dims).enumerate() {
            let i = self.get_int(*i)?;
            offset = match k {
                0 => i,
                _ => {
                    let row = self.no_wrap(self.b.build_int_nuw_mul(offset, *d, "")?);
                    self.no_wrap(self.b.build_int_nuw_add(row, i, "")?)
                }
            };
        }
        let ty = self.u.stored(self.proc.info(buf).elem);
        // SAFETY: in bounds by the loop IR's invariant on indices.
        Ok(unsafe { self.b.build_in_bounds_gep(ty, place.ptr, &[offset], "")? })
    }

    fn no_wrap(&self, x: IntValue<'c>) -> IntValue<'c> {
        if let Some(i) = x.as_instruction() {
            let _ = i.set_no_signed_wrap_flag(true);
        }
        x
    }

    pub fn load(&self, buf: Buf, index: &[Operand], name: &str) -> Result<BasicValueEnum<'c>> {
        let elem = self.proc.info(buf).elem;
        let address = self.address(buf, index)?;
        let value = self.b.build_load(self.u.stored(elem), address, name)?;
        match elem {
            Scalar::Real | Scalar::Int => Ok(value),
            Scalar::Bool => Ok(self.is_nonzero(value.into_int_value())?.into()),
        }
    }

    /// A value as it lies in memory.
    fn to_stored(&self, elem: Scalar, value: Operand) -> Result<BasicValueEnum<'c>> {
        let v = self.get(value)?;
        if v.get_type() != self.u.scalar(elem) {
            return malformed(format!("{v} stored as {elem:?}"));
        }
        match elem {
            Scalar::Real | Scalar::Int => Ok(v),
            Scalar::Bool => Ok(self.b.build_int_z_extend(v.into_int_value(), self.u.i8, "")?.into()),
        }
    }

    pub fn store(&self, buf: Buf, index: &[Operand], value: Operand) -> Result<()> {
        let v = self.to_stored(self.proc.info(buf).elem, value)?;
        self.b.build_store(self.address(buf, index)?, v)?;
        Ok(())
    }

    /// Accumulation: the order of additions into an element is free unless the program is strict.
    pub fn accum(&self, buf: Buf, index: &[Operand], value: Operand) -> Result<()> {
        let v = self.get_real(value)?;
        let address = self.address(buf, index)?;
        let old = self.b.build_load(self.u.real, address, "old")?.into_float_value();
        let sum = self.b.build_float_add(old, v, "sum")?;
        self.relax(sum.into(), FastMathFlags::AllowReassoc);
        self.b.build_store(address, sum)?;
        Ok(())
    }

    /// The number of elements; 0 where a dimension is negative.
    pub fn elements(&self, buf: Buf) -> Result<IntValue<'c>> {
        let mut count = self.int(1);
        for d in &self.at(buf)?.dims {
            count = self.b.build_int_mul(count, self.at_least_zero(*d)?, "")?;
        }
        Ok(count)
    }

    pub fn at_least_zero(&self, k: IntValue<'c>) -> Result<IntValue<'c>> {
        let negative = self.b.build_int_compare(IntPredicate::SLT, k, self.int(0), "")?;
        Ok(self.b.build_select(negative, self.int(0), k, "")?.into_int_value())
    }

    pub fn size_of(&self, elem: Scalar) -> u64 {
        match elem {
            Scalar::Real => self.u.precision.size(),
            Scalar::Int => 8,
            Scalar::Bool => 1,
        }
    }

    pub fn alloc(&mut self, buf: Buf) -> Result<()> {
        let Some(part) = self.proc.parts.get(&buf) else { return self.alloc_many(buf, 1) };
        let (whole, at) = (self.at(part.of)?.ptr, self.get_int(part.at)?);
        let ty = self.u.stored(self.proc.info(buf).elem);
        // SAFETY: the part lies in the buffer.
        let ptr = unsafe { self.b.build_in_bounds_gep(ty, whole, &[at], &self.proc.info(buf).name)? };
        self.place(buf, ptr)
    }

    /// Before a loop: memory for what every iteration would allocate, each element `times` over, that is the same for all of them. A callee's
    /// stack needs no plan. What is planned is to be forgotten after the loop ([`Gen::forget`]).
    pub fn plan(&mut self, f: &For, trips: IntValue<'c>, times: u64) -> Result<Vec<Buf>> {
        let mut planned = vec![];
        if self.mark.is_none() {
            for buf in walk::planned(self.proc, f) {
                if !self.planned.contains(&buf) {
                    self.alloc_if(buf, times, Some(trips))?;
                    self.planned.insert(buf);
                    planned.push(buf);
                }
            }
        }
        Ok(planned)
    }

    pub fn forget(&mut self, planned: Vec<Buf>) {
        self.planned.retain(|buf| !planned.contains(buf));
    }

    /// Memory for a local buffer, each element `times` over.
    pub fn alloc_many(&mut self, buf: Buf, times: u64) -> Result<()> {
        match self.planned.contains(&buf) {
            true => Ok(()),
            false => self.alloc_if(buf, times, None),
        }
    }

    /// The same, but nothing from an arena for a loop that does not run.
    fn alloc_if(&mut self, buf: Buf, times: u64, trips: Option<IntValue<'c>>) -> Result<()> {
        let info = self.proc.info(buf);
        let size = self.size_of(info.elem) * times;
        let constant = info.shape.iter().try_fold(size, |size, d| match d {
            Operand::Int(k) => size.checked_mul((*k).max(0) as u64),
            Operand::Val(_) | Operand::Real(_) | Operand::Bool(_) => None,
        });
        let total = if self.mark.is_some() { CALLEE_TOTAL } else { STACK_TOTAL };
        let ptr = match constant {
            Some(bytes) if bytes <= STACK_BUFFER && self.stack + bytes <= total => {
                self.stack += bytes;
                let elem = self.u.stored(info.elem);
                let array = elem.array_type((bytes / self.size_of(info.elem)) as u32);
                let ptr = self.entry.build_alloca(array, &info.name)?;
                if let Some(i) = ptr.as_instruction() {
                    let _ = i.set_alignment(32);
                }
                ptr
            }
            _ => {
                let dims = info.shape.iter().map(|d| self.get_int(*d)).collect::<Result<Vec<_>>>()?;
                let mut bytes = self.bytes(size, &dims)?;
                if let Some(trips) = trips {
                    let none = self.b.build_int_compare(IntPredicate::SLE, trips, self.int(0), "")?;
                    bytes = self.b.build_select(none, self.int(0), bytes, "bytes")?.into_int_value();
                }
                self.arena_alloc(bytes)?
            }
        };
        self.place(buf, ptr)
    }

    /// size · Π dims in bytes; more than any memory where that leaves 64 bits.
    pub fn bytes(&mut self, size: u64, dims: &[IntValue<'c>]) -> Result<IntValue<'c>> {
        let mut bytes = self.int(size as i64);
        let mut overflow = self.u.i1.const_zero();
        let mul = Intrinsic::find("llvm.umul.with.overflow").expect("an intrinsic of LLVM");
        let mul = mul.get_declaration(&self.u.module, &[self.u.i64.into()]).expect("at i64");
        for d in dims {
            let d = self.at_least_zero(*d)?;
            let pair = self
                .b
                .build_call(mul, &[bytes.into(), d.into()], "")?
                .try_as_basic_value()
                .unwrap_basic()
                .into_struct_value();
            bytes = self.b.build_extract_value(pair, 0, "")?.into_int_value();
            let wrapped = self.b.build_extract_value(pair, 1, "")?.into_int_value();
            overflow = self.b.build_or(overflow, wrapped, "")?;
        }
        let all = self.u.i64.const_all_ones();
        Ok(self.b.build_select(overflow, all, bytes, "bytes")?.into_int_value())
    }

    /// Memory until the end of this call, or of this iteration of the innermost loop.
    pub fn arena_alloc(&mut self, bytes: IntValue<'c>) -> Result<PointerValue<'c>> {
        let arena = match (self.arena, self.run) {
            (Some(arena), _) => arena,
            (None, Some(run)) if self.mark.is_some() => run,
            (None, _) => {
                let arena = self.entry.build_alloca(self.u.i64.array_type(3), "arena")?;
                self.entry.build_store(arena, self.u.i64.array_type(3).const_zero())?;
                self.arenas.push(arena);
                self.arena = Some(arena);
                arena
            }
        };
        let alloc = self.u.declare(
            "adc_arena_alloc",
            &[self.u.ptr.into(), self.u.i64.into()],
            Some(self.u.ptr.into()),
            None,
        );
        if alloc
            .get_enum_attribute(AttributeLoc::Return, self.u.attribute("noalias", 0).get_enum_kind_id())
            .is_none()
        {
            alloc.add_attribute(AttributeLoc::Return, self.u.attribute("noalias", 0));
            alloc.add_attribute(AttributeLoc::Return, self.u.attribute("align", 64));
            alloc.add_attribute(AttributeLoc::Function, self.u.attribute("memory", ARENA_EFFECTS));
        }
        let ptr = self
            .b
            .build_call(alloc, &[arena.into(), bytes.into()], "local")?
            .try_as_basic_value()
            .unwrap_basic()
            .into_pointer_value();
        let none = self.b.build_is_null(ptr, "")?;
        let status = self.b.build_select(none, self.int(runtime::OUT_OF_MEMORY), self.int(0), "")?;
        self.require_success(status.into_int_value())?;
        Ok(ptr)
    }

    pub fn fill(&mut self, buf: Buf, value: Operand) -> Result<()> {
        let elem = self.proc.info(buf).elem;
        let v = self.to_stored(elem, value)?;
        let count = self.elements(buf)?;
        let ptr = self.at(buf)?.ptr;
        let all_bits_zero = match value {
            Operand::Real(x) => x.to_bits() == 0,
            Operand::Int(k) => k == 0,
            Operand::Bool(_) => true,
            Operand::Val(_) => false,
        };
        if all_bits_zero || elem == Scalar::Bool {
            let byte = if elem == Scalar::Bool { v.into_int_value() } else { self.u.i8.const_zero() };
            let bytes = self.b.build_int_mul(count, self.int(self.size_of(elem) as i64), "")?;
            self.b.build_memset(ptr, self.size_of(elem) as u32, byte, bytes)?;
            return Ok(());
        }
        self.each(count, |g, i| {
            // SAFETY: i < the number of elements.
            let p = unsafe { g.b.build_in_bounds_gep(g.u.stored(elem), ptr, &[i], "")? };
            g.b.build_store(p, v)?;
            Ok(())
        })
    }

    pub fn copy(&mut self, dst: Buf, src: Buf) -> Result<()> {
        let size = self.size_of(self.proc.info(dst).elem);
        if self.proc.info(dst).elem != self.proc.info(src).elem {
            return malformed("copy between element types");
        }
        let count = self.elements(dst)?;
        let bytes = self.b.build_int_mul(count, self.int(size as i64), "")?;
        let (to, from) = (self.at(dst)?.ptr, self.at(src)?.ptr);
        self.b
            .build_memcpy(to, size as u32, from, size as u32, bytes)
            .map_err(|e| crate::CodegenError(e.to_string()))?;
        Ok(())
    }

    /// for i in 0..count
    pub fn each(
        &mut self,
        count: IntValue<'c>,
        body: impl FnOnce(&mut Self, IntValue<'c>) -> Result<()>,
    ) -> Result<()> {
        let open = self.open_each(count)?;
        body(self, open.index())?;
        self.close_each(open)
    }

    /// The head of a loop i in 0..count: what follows is its body.
    pub fn open_each(&mut self, count: IntValue<'c>) -> Result<Each<'c>> {
        let (header, inside, done) = (self.new_block("each"), self.new_block("body"), self.new_block("done"));
        let before = self.here();
        self.b.build_unconditional_branch(header)?;
        self.b.position_at_end(header);
        let i = self.b.build_phi(self.u.i64, "i")?;
        i.add_incoming(&[(&self.int(0), before)]);
        let k = i.as_basic_value().into_int_value();
        let more = self.b.build_int_compare(IntPredicate::SLT, k, count, "")?;
        self.b.build_conditional_branch(more, inside, done)?;
        self.b.position_at_end(inside);
        Ok(Each { i, header, done })
    }

    /// The end of the body.
    pub fn close_each(&mut self, each: Each<'c>) -> Result<()> {
        let next = self.b.build_int_nsw_add(each.index(), self.int(1), "")?;
        each.i.add_incoming(&[(&next, self.here())]);
        hints::attach(self.u.cx, self.b.build_unconditional_branch(each.header)?, hints::MODEST);
        self.b.position_at_end(each.done);
        Ok(())
    }
}

/// A loop that is open.
pub(crate) struct Each<'c> {
    i: PhiValue<'c>,
    header: BasicBlock<'c>,
    done: BasicBlock<'c>,
}

impl<'c> Each<'c> {
    pub fn index(&self) -> IntValue<'c> {
        self.i.as_basic_value().into_int_value()
    }
}
