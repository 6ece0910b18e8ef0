//! Parallel loops. The body becomes a function over a chunk lo..hi of the iterations; how many chunks there are depends on sizes alone, never on
//! threads. A chunk has its own zeroed copy of every buffer it accumulates into and of every Sum-carried scalar; the copies are
//! added up in the order of the chunks. So a result has the same bits however many threads work on it.
//!
//! One chunk (little work) runs at once, on the buffers themselves.

use crate::Result;
use crate::body::{Gen, Role};
use inkwell::IntPredicate;
use inkwell::attributes::AttributeLoc;
use inkwell::module::Linkage;
use inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum, StructType};
use inkwell::values::{
    BasicMetadataValueEnum, BasicValueEnum, FloatValue, FunctionValue, IntValue, PointerValue,
};
use lang::loops::product::Product;
use lang::loops::verify::{Touched, touched};
use lang::loops::{Block, Buf, Carried, CarriedKind, For, Op, Operand, Parallel, Proc, Stmt, Val, walk};
use lang::prim::Scalar;
use std::collections::{BTreeMap, BTreeSet};

/// Operations that are worth a chunk of their own.
const CHUNK_WORK: f64 = 65536.0;
const MAX_CHUNKS: u64 = 64;
/// Fewer chunks with copies of what they add to are not worth the copies.
const FEW_CHUNKS: f64 = 8.0;
/// In bytes.
const CACHE_LINE: i64 = 64;
/// Iterations of a loop in lanes come to a chunk by so many, which are whole groups of lanes.
const GROUP: i64 = 16;
/// Rows of a product of matrices for which the library arranges the right factor once more.
const PRODUCT_ROWS: i64 = 128;
/// Work per element of an accumulated buffer that pays for a private copy of it; in lanes there is one more for each lane, and the work takes
/// less time.
const COPY_WORK: f64 = 16.0;
const COPIES_WORK: f64 = 2048.0;
/// The same for the copies of lanes, which are zeroed and added up once.
const LANE_COPY_WORK: f64 = 16.0;
/// What is assumed of a trip count that is not known before the loop.
const UNKNOWN_TRIPS: f64 = 16.0;

fn group(f: &For) -> i64 {
    if Product::of(f).is_some() {
        return PRODUCT_ROWS;
    }
    match f.parallel {
        Parallel::Lanes => GROUP,
        Parallel::Yes | Parallel::No => 1,
    }
}

/// What a loop body takes from outside, and accumulates into without owning.
struct Captures {
    vals: Vec<Val>,
    bufs: Vec<Buf>,
    private: Vec<Buf>,
}

impl<'u, 'c> Gen<'u, 'c> {
    pub fn split_for(&mut self, f: &'u For) -> Result<()> {
        let captures = captures(self.proc, f);
        let sums = f.carried.iter().all(|c| c.kind == CarriedKind::Sum && self.sum_type(c) != Scalar::Bool);
        if !sums || (self.u.options.strict && self.reduces(f)) {
            return self.for_loop(f);
        }
        let extent = self.get_int(f.extent)?;
        let extent = self.at_least_zero(extent)?;
        let chunks = self.chunks(f, extent, &captures)?;
        if chunks.get_zero_extended_constant() == Some(1) {
            return self.for_loop(f);
        }
        let k = f.carried.len();
        let chunk = self.chunk_function(f, &captures)?;
        // Row `MAX_CHUNKS` has the totals.
        let rows = self.u.i64.array_type((MAX_CHUNKS as u32 + 1) * k as u32);
        let rows = self.entry.build_alloca(rows, "sums")?;
        let total = self.row(rows, self.int(MAX_CHUNKS as i64), k)?;
        for (j, c) in f.carried.iter().enumerate() {
            let init = self.get(c.init)?;
            self.b.build_store(self.row(total, self.int(j as i64), 1)?, init)?;
        }
        let (one, many, done) = (self.new_block("one"), self.new_block("many"), self.new_block("done"));
        let split = self.b.build_int_compare(IntPredicate::SGT, chunks, self.int(1), "split")?;
        self.b.build_conditional_branch(split, many, one)?;

        self.b.position_at_end(one);
        let status =
            self.call_chunk(chunk, self.int(0), extent, total, self.failure, &self.captured(&captures)?)?;
        self.require_success(status)?;
        self.b.build_unconditional_branch(done)?;

        self.b.position_at_end(many);
        let mut fields: Vec<BasicValueEnum> = vec![chunks.into(), extent.into(), rows.into()];
        let mut copies = vec![];
        for buf in &captures.private {
            let elements = self.elements(*buf)?;
            // Copies begin on cache lines of their own.
            let size = self.size_of(Scalar::Real);
            let line = CACHE_LINE / size as i64;
            let padded = self.b.build_int_add(elements, self.int(line - 1), "")?;
            let stride = self.b.build_and(padded, self.int(-line), "stride")?;
            let bytes = self.bytes(size, &[stride, chunks])?;
            let base = self.arena_alloc(bytes)?;
            copies.push((*buf, base, elements, stride));
            fields.extend::<[BasicValueEnum; 3]>([base.into(), elements.into(), stride.into()]);
        }
        fields.extend(self.captured(&captures)?);
        let types: Vec<BasicTypeEnum> = fields.iter().map(|v| v.get_type()).collect();
        let context_type = self.u.cx.struct_type(&types, false);
        let context = self.entry.build_alloca(context_type, "context")?;
        for (i, value) in fields.iter().enumerate() {
            let at = self.b.build_struct_gep(context_type, context, i as u32, "").map_err(into_error)?;
            self.b.build_store(at, *value)?;
        }
        let body = self.trampoline(f, chunk, context_type, &captures, k)?;
        let (ptr, i64) = (self.u.ptr.into(), self.u.i64.into());
        let body = body.as_global_value().as_pointer_value();
        // In this process the linker says which threads there are; a library knows their number.
        let threads = (!self.u.in_process).then(|| self.int(self.u.options.threads as i64));
        let name = if threads.is_some() { "adc_threads_for" } else { "adc_parallel_for" };
        let types: Vec<_> = threads.iter().map(|_| i64).chain([i64, ptr, ptr, ptr]).collect();
        let rest = [chunks.into(), body.into(), context.into(), self.failure.into()];
        let args: Vec<BasicMetadataValueEnum> = threads.into_iter().map(Into::into).chain(rest).collect();
        let run = self.u.declare(name, &types, Some(self.u.i64.into()), None);
        let status =
            self.b.build_call(run, &args, "status")?.try_as_basic_value().unwrap_basic().into_int_value();
        self.require_success(status)?;
        self.each(chunks, |g, c| {
            let row = g.row(rows, c, k)?;
            for (j, carried) in f.carried.iter().enumerate() {
                let j = g.int(j as i64);
                let (sum, part) = (g.row(total, j, 1)?, g.row(row, j, 1)?);
                g.add_into(sum, part, g.sum_type(carried))?;
            }
            for (buf, base, elements, stride) in copies {
                let copy = g.real_at(base, g.b.build_int_mul(c, stride, "")?)?;
                let target = g.at(buf)?.ptr;
                g.each(elements, |g, e| {
                    g.add_into(g.real_at(target, e)?, g.real_at(copy, e)?, Scalar::Real)
                })?;
            }
            Ok(())
        })?;
        self.b.build_unconditional_branch(done)?;

        self.b.position_at_end(done);
        for (j, c) in f.carried.iter().enumerate() {
            let at = self.row(total, self.int(j as i64), 1)?;
            let value = self.b.build_load(self.u.scalar(self.sum_type(c)), at, self.name(c.result))?;
            self.set(c.result, value)?;
        }
        Ok(())
    }

    /// Additions from several iterations meet in one place.
    pub fn reduces(&self, f: &For) -> bool {
        !f.carried.is_empty() || !captures(self.proc, f).private.is_empty()
    }

    fn sum_type(&self, c: &Carried) -> Scalar {
        self.proc.vals[c.param.0 as usize].0
    }

    /// Element `r · width` of an array of 8-byte slots: the sums of chunks, whatever their types.
    fn row(&self, base: PointerValue<'c>, r: IntValue<'c>, width: usize) -> Result<PointerValue<'c>> {
        let at = self.b.build_int_mul(r, self.int(width as i64), "")?;
        // SAFETY: callers stay inside the array.
        Ok(unsafe { self.b.build_in_bounds_gep(self.u.i64, base, &[at], "")? })
    }

    /// An element of an array of reals.
    fn real_at(&self, base: PointerValue<'c>, at: IntValue<'c>) -> Result<PointerValue<'c>> {
        // SAFETY: callers stay inside the array.
        Ok(unsafe { self.b.build_in_bounds_gep(self.u.real, base, &[at], "")? })
    }

    fn add_into(&self, sum: PointerValue<'c>, part: PointerValue<'c>, ty: Scalar) -> Result<()> {
        let (a, b) =
            (self.b.build_load(self.u.scalar(ty), sum, "")?, self.b.build_load(self.u.scalar(ty), part, "")?);
        let added: BasicValueEnum = match a {
            BasicValueEnum::FloatValue(a) => self.b.build_float_add(a, b.into_float_value(), "")?.into(),
            _ => self.b.build_int_add(a.into_int_value(), b.into_int_value(), "")?.into(),
        };
        self.b.build_store(sum, added)?;
        Ok(())
    }

    /// What the body takes from outside, in the order of the chunk function's parameters.
    fn captured(&self, captures: &Captures) -> Result<Vec<BasicValueEnum<'c>>> {
        let vals = captures.vals.iter().map(|v| self.get(Operand::Val(*v)));
        let bufs = captures.bufs.iter().map(|b| Ok(self.at(*b)?.ptr.into()));
        vals.chain(bufs).collect()
    }

    fn call_chunk(
        &self,
        chunk: FunctionValue<'c>,
        lo: IntValue<'c>,
        hi: IntValue<'c>,
        sums: PointerValue<'c>,
        failure: PointerValue<'c>,
        captured: &[BasicValueEnum<'c>],
    ) -> Result<IntValue<'c>> {
        let mut args: Vec<BasicMetadataValueEnum> = vec![lo.into(), hi.into(), sums.into(), failure.into()];
        args.extend(captured.iter().map(|v| BasicMetadataValueEnum::from(*v)));
        Ok(self.b.build_call(chunk, &args, "status")?.try_as_basic_value().unwrap_basic().into_int_value())
    }

    /// The iterations lo..hi, the Sum-carried scalars starting from and ending in an array: status chunk(lo, hi, sums, failure, captured …).
    fn chunk_function(&self, f: &'u For, captures: &Captures) -> Result<FunctionValue<'c>> {
        let u = self.u;
        let mut types: Vec<BasicMetadataTypeEnum> =
            vec![u.i64.into(), u.i64.into(), u.ptr.into(), u.ptr.into()];
        types.extend(
            captures
                .vals
                .iter()
                .map(|v| BasicMetadataTypeEnum::from(u.scalar(self.proc.vals[v.0 as usize].0))),
        );
        types.extend(captures.bufs.iter().map(|_| BasicMetadataTypeEnum::from(u.ptr)));
        let name = format!("{}.chunk", self.f.get_name().to_string_lossy());
        let function = u.define(&name, u.i64.fn_type(&types, false), Some(Linkage::Internal));
        // Inlining would lose what noalias parameters say.
        function.add_attribute(AttributeLoc::Function, u.attribute("noinline", 0));
        let args = function.get_params();
        let mut g = Gen::new(u, self.proc, function, args[3].into_pointer_value(), Role::Chunk)?;
        let rest = &args[4..];
        for (v, a) in captures.vals.iter().zip(rest) {
            g.set(*v, *a)?;
        }
        for (k, b) in captures.bufs.iter().enumerate() {
            let position = captures.vals.len() + k;
            u.array_attributes(function, 4 + position as u32, self.proc.info(*b).kind);
            g.place(*b, rest[position].into_pointer_value())?;
        }
        let sums = args[2].into_pointer_value();
        let mut inits = vec![];
        for (j, c) in f.carried.iter().enumerate() {
            inits.push(g.b.build_load(u.scalar(g.sum_type(c)), g.row(sums, g.int(j as i64), 1)?, "")?);
        }
        let results = g.run_range(f, (args[0].into_int_value(), args[1].into_int_value()), &inits)?;
        for (j, value) in results.into_iter().enumerate() {
            g.b.build_store(g.row(sums, g.int(j as i64), 1)?, value)?;
        }
        g.finish()?;
        Ok(function)
    }

    /// status body(context, chunk, failure): what `adc_parallel_for` calls. Zeroes the chunk's sums and copies and runs its iterations.
    fn trampoline(
        &self,
        f: &For,
        chunk: FunctionValue<'c>,
        context_type: StructType<'c>,
        captures: &Captures,
        k: usize,
    ) -> Result<FunctionValue<'c>> {
        let u = self.u;
        let name = format!("{}.start", chunk.get_name().to_string_lossy());
        let ty = u.i64.fn_type(&[u.ptr.into(), u.i64.into(), u.ptr.into()], false);
        let function = u.define(&name, ty, Some(Linkage::Internal));
        u.unoptimised(function);
        let args = function.get_params();
        let (context, c) = (args[0].into_pointer_value(), args[1].into_int_value());
        let mut g = Gen::new(u, self.proc, function, args[2].into_pointer_value(), Role::Chunk)?;
        let mut fields = vec![];
        for (i, t) in context_type.get_field_types().into_iter().enumerate() {
            let at = g.b.build_struct_gep(context_type, context, i as u32, "").map_err(into_error)?;
            fields.push(g.b.build_load(t, at, "")?);
        }
        let (chunks, extent) = (fields[0].into_int_value(), fields[1].into_int_value());
        let row = g.row(fields[2].into_pointer_value(), c, k)?;
        for j in 0..k {
            // Zero has the same bits as an int and as a real.
            g.b.build_store(g.row(row, g.int(j as i64), 1)?, g.int(0))?;
        }
        let mut captured = fields[3 + 3 * captures.private.len()..].to_vec();
        for (p, buf) in captures.private.iter().enumerate() {
            let [base, elements, stride] = [0, 1, 2].map(|i| fields[3 + 3 * p + i]);
            let at = g.b.build_int_mul(c, stride.into_int_value(), "")?;
            let copy = g.real_at(base.into_pointer_value(), at)?;
            let size = g.size_of(Scalar::Real);
            let bytes = g.b.build_int_mul(elements.into_int_value(), g.int(size as i64), "")?;
            g.b.build_memset(copy, size as u32, u.i8.const_zero(), bytes)?;
            let position = captures.bufs.iter().position(|b| b == buf).expect("private buffers are captured");
            captured[captures.vals.len() + position] = copy.into();
        }
        // The first groups mod chunks chunks have one group more.
        let groups = g.groups(f, extent)?;
        let (q, r) =
            (g.b.build_int_signed_div(groups, chunks, "")?, g.b.build_int_signed_rem(groups, chunks, "")?);
        let longer = g.b.build_int_compare(IntPredicate::SLT, c, r, "")?;
        let before = g.b.build_select(longer, c, r, "")?.into_int_value();
        let lo = g.b.build_int_add(g.b.build_int_mul(q, c, "")?, before, "lo")?;
        let length = g.b.build_int_add(q, g.b.build_int_z_extend(longer, u.i64, "")?, "")?;
        let hi = g.b.build_int_add(lo, length, "hi")?;
        let (lo, hi) = match group(f) {
            1 => (lo, hi),
            size => {
                let lo = g.b.build_int_mul(lo, g.int(size), "lo")?;
                let hi = g.b.build_int_mul(hi, g.int(size), "hi")?;
                let past = g.b.build_int_compare(IntPredicate::SGT, hi, extent, "")?;
                (lo, g.b.build_select(past, extent, hi, "hi")?.into_int_value())
            }
        };
        let status = g.call_chunk(chunk, lo, hi, row, g.failure, &captured)?;
        g.require_success(status)?;
        g.finish()?;
        Ok(function)
    }

    /// The groups of iterations that are not divided between chunks.
    fn groups(&self, f: &For, extent: IntValue<'c>) -> Result<IntValue<'c>> {
        match group(f) {
            1 => Ok(extent),
            size => {
                let up = self.b.build_int_add(extent, self.int(size - 1), "")?;
                Ok(self.b.build_int_signed_div(up, self.int(size), "groups")?)
            }
        }
    }

    /// How many chunks: total work over a chunk's worth, between 1 and `MAX_CHUNKS` and not above the number of groups.
    fn chunks(&mut self, f: &For, extent: IntValue<'c>, captures: &Captures) -> Result<IntValue<'c>> {
        let real = |x: f64| self.u.f64.const_float(x);
        let mut worth = real(0.0);
        let copy_work = match f.parallel {
            Parallel::Lanes => COPIES_WORK,
            Parallel::Yes | Parallel::No => COPY_WORK,
        };
        for buf in &captures.private {
            let elements = self.b.build_signed_int_to_float(self.elements(*buf)?, self.u.f64, "")?;
            worth =
                self.b.build_float_add(worth, self.b.build_float_mul(elements, real(copy_work), "")?, "")?;
        }
        let least = real(CHUNK_WORK);
        let worth = self.smaller(worth, least, true)?;
        let trips = self.b.build_signed_int_to_float(extent, self.u.f64, "")?;
        let work = self.b.build_float_mul(trips, self.work(&f.body, &mut vec![])?, "work")?;
        let chunks = self.b.build_float_div(work, worth, "")?;
        let chunks = self.smaller(chunks, real(MAX_CHUNKS as f64), false)?;
        let groups = self.b.build_signed_int_to_float(self.groups(f, extent)?, self.u.f64, "")?;
        let mut chunks = self.smaller(chunks, groups, false)?;
        if !captures.private.is_empty() {
            let few =
                self.b.build_float_compare(inkwell::FloatPredicate::OLT, chunks, real(FEW_CHUNKS), "")?;
            chunks = self.b.build_select(few, real(1.0), chunks, "")?.into_float_value();
        }
        let chunks = self.smaller(chunks, real(1.0), true)?;
        Ok(self.b.build_float_to_signed_int(chunks, self.u.i64, "chunks")?)
    }

    /// Whether a loop's work is worth copies, one for each lane, of what its body adds to; absent where there are none, or small ones.
    pub fn lanes_are_worth(
        &mut self,
        f: &For,
        (lo, hi): (IntValue<'c>, IntValue<'c>),
    ) -> Result<Option<IntValue<'c>>> {
        let Ok(varying) = lang::loops::lanes::varying(self.proc, f) else { return Ok(None) };
        let mut elements = self.u.f64.const_float(0.0);
        let mut small = true;
        for buf in lang::loops::lanes::shared_accumulators(f, &varying) {
            small &= self.proc.info(buf).shape.iter().all(|n| matches!(n, Operand::Int(k) if *k <= 64));
            let more = self.b.build_signed_int_to_float(self.elements(buf)?, self.u.f64, "")?;
            elements = self.b.build_float_add(elements, more, "")?;
        }
        if small {
            return Ok(None);
        }
        let trips = self.b.build_int_sub(hi, lo, "")?;
        let trips = self.b.build_signed_int_to_float(trips, self.u.f64, "")?;
        let work = self.b.build_float_mul(trips, self.work(&f.body, &mut vec![])?, "")?;
        let copies = self.b.build_float_mul(elements, self.u.f64.const_float(LANE_COPY_WORK), "")?;
        Ok(Some(self.b.build_float_compare(inkwell::FloatPredicate::OLT, copies, work, "worth")?))
    }

    /// The smaller, or else the larger, of two reals.
    fn smaller(&self, a: FloatValue<'c>, b: FloatValue<'c>, larger: bool) -> Result<FloatValue<'c>> {
        let test = if larger { inkwell::FloatPredicate::OGT } else { inkwell::FloatPredicate::OLT };
        let first = self.b.build_float_compare(test, a, b, "")?;
        Ok(self.b.build_select(first, a, b, "")?.into_float_value())
    }

    /// An estimate of a block's operations, from static costs and the trip counts known here. `around`: the indices of the loops around the
    /// block, and how often each is run.
    fn work(&self, block: &Block, around: &mut Vec<(Val, FloatValue<'c>)>) -> Result<FloatValue<'c>> {
        let real = |x: f64| self.u.f64.const_float(x);
        let mut total = real(0.0);
        let add = |total: &mut FloatValue<'c>, x: FloatValue<'c>| -> Result<()> {
            *total = self.b.build_float_add(*total, x, "")?;
            Ok(())
        };
        for stmt in block {
            match stmt {
                Stmt::Let { op, .. } => add(&mut total, real(op_work(*op)))?,
                Stmt::Load { .. } | Stmt::Store { .. } | Stmt::Accum { .. } | Stmt::Check { .. } => {
                    add(&mut total, real(1.0))?
                }
                Stmt::Alloc { .. } | Stmt::Reserve { .. } | Stmt::View { .. } => {}
                Stmt::Call { .. } => add(&mut total, real(UNKNOWN_TRIPS))?,
                Stmt::Fill { buf, .. } | Stmt::Copy { dst: buf, .. } => {
                    add(&mut total, self.known_product(&self.proc.info(*buf).shape)?)?
                }
                Stmt::Argsort { keys, .. } => {
                    let n = self.known_product(&self.proc.info(*keys).shape)?;
                    add(&mut total, self.b.build_float_mul(n, real(32.0), "")?)?
                }
                Stmt::For(f) => {
                    // As often as the index of a loop around says: half of that loop's trips on average.
                    let outer = around.iter().find(|(i, _)| f.extent == Operand::Val(*i));
                    let trips = match outer {
                        Some((_, trips)) => self.b.build_float_mul(*trips, real(0.5), "")?,
                        None => self.known_product(&[f.extent])?,
                    };
                    around.push((f.index, trips));
                    let once = self.work(&f.body, around)?;
                    around.pop();
                    add(&mut total, self.b.build_float_mul(trips, once, "")?)?
                }
                Stmt::While(w) => {
                    let (cond, body) = (self.work(&w.cond_block, around)?, self.work(&w.body, around)?);
                    let once = self.b.build_float_add(cond, body, "")?;
                    add(&mut total, self.b.build_float_mul(real(UNKNOWN_TRIPS), once, "")?)?
                }
                Stmt::If(i) => {
                    add(&mut total, self.work(&i.then, around)?)?;
                    add(&mut total, self.work(&i.els, around)?)?;
                }
            }
        }
        Ok(total)
    }

    /// The product of ints, [`UNKNOWN_TRIPS`] standing for those not known before the loop.
    fn known_product(&self, factors: &[Operand]) -> Result<FloatValue<'c>> {
        let mut product = self.u.f64.const_float(1.0);
        for factor in factors {
            let known = match factor {
                Operand::Val(v) => self.vals[v.0 as usize].is_some(),
                Operand::Int(_) | Operand::Real(_) | Operand::Bool(_) => true,
            };
            let factor = match known {
                true => {
                    let k = self.at_least_zero(self.get_int(*factor)?)?;
                    self.b.build_signed_int_to_float(k, self.u.f64, "")?
                }
                false => self.u.f64.const_float(UNKNOWN_TRIPS),
            };
            product = self.b.build_float_mul(product, factor, "")?;
        }
        Ok(product)
    }
}

fn into_error(e: inkwell::builder::BuilderError) -> crate::CodegenError {
    e.into()
}

/// What an operation is worth. On ints, most are indices, which LLVM counts up.
fn op_work(op: Op) -> f64 {
    match op {
        Op::Math(_) => 16.0,
        Op::FDiv | Op::FSqrt => 8.0,
        Op::IDiv | Op::IMod => 1.0,
        Op::IAdd | Op::ISub | Op::IMul => 0.25,
        _ => 1.0,
    }
}

fn captures(proc: &Proc, f: &For) -> Captures {
    let value = |o: &Operand| o.val();
    let mut defined: BTreeSet<Val> = f.carried.iter().map(|c| c.param).chain([f.index]).collect();
    let mut used: BTreeSet<Val> = f.carried.iter().filter_map(|c| value(&c.next)).collect();
    walk::each(&f.body, &mut |s| {
        defined.extend(walk::results(s).into_iter().chain(walk::params(s)));
        walk::operands(s, &mut |o| used.extend(value(o)));
        if let Some(buf) = walk::brings(s) {
            used.extend(proc.info(buf).shape.iter().filter_map(value));
        }
    });
    let touched: BTreeMap<Buf, Touched> = touched(f.index, &f.body).into_iter().collect();
    for buf in touched.keys() {
        used.extend(proc.info(*buf).shape.iter().filter_map(value));
    }
    Captures {
        vals: used.difference(&defined).copied().collect(),
        private: touched.iter().filter(|(_, t)| t.accumulated && !t.is_own()).map(|(b, _)| *b).collect(),
        bufs: touched.into_keys().collect(),
    }
}
