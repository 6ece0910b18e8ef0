//! Statements to LLVM IR, one arm each. Values are SSA values; carried scalars and results of branches are phis.

use crate::calls::{Mark, allocates};
use crate::hints;
use crate::llvm::Unit;
use crate::memory::Place;
use crate::split::Row;
use crate::sums::Extremum;
use crate::{Result, malformed};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::values::{
    BasicValue, BasicValueEnum, FloatValue, FunctionValue, IntValue, PhiValue, PointerValue,
};
use lang::loops::{Block, Buf, Carried, For, If, Operand, Parallel, Proc, Stmt, Val, While};
use std::collections::{HashMap, HashSet};

/// What a function is for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role<'c> {
    /// What is called from outside.
    Entry,
    /// The procedure of an entry point's callee, with the run's memory.
    Callee(PointerValue<'c>),
    /// The chunk of a parallel loop.
    Chunk,
}

/// Where local buffers lay before a body that runs many times.
pub(crate) enum Outside<'c> {
    Arena(Option<PointerValue<'c>>),
    Stack(Option<Mark<'c>>),
}

/// One LLVM function under construction: a procedure's entry point, a callee's, or the chunk of a parallel loop in it.
pub(crate) struct Gen<'u, 'c> {
    pub u: &'u Unit<'c>,
    pub proc: &'u Proc,
    pub f: FunctionValue<'c>,
    pub b: Builder<'c>,
    /// Stack memory and its initialisation: the entry block, closed by [`Gen::finish`].
    pub entry: Builder<'c>,
    start: BasicBlock<'c>,
    pub vals: Vec<Option<BasicValueEnum<'c>>>,
    /// Conditions whose value is known in the piece of a loop that is being written.
    pub answers: Vec<(Val, bool)>,
    /// Rows that are being written.
    pub rows: Vec<Row<'c>>,
    pub places: Vec<Option<Place<'c>>>,
    /// Where failures are reported; never null.
    pub failure: PointerValue<'c>,
    /// Where every path ends, and the statuses they arrive with.
    exit: BasicBlock<'c>,
    statuses: Vec<(IntValue<'c>, BasicBlock<'c>)>,
    /// Every arena of this function, freed at the exit; and that of the innermost loop body we are in.
    pub arenas: Vec<PointerValue<'c>>,
    pub arena: Option<PointerValue<'c>>,
    /// How many loops we are in.
    pub loops: usize,
    /// Bytes of stack given to local buffers.
    pub stack: u64,
    /// The buffers that have memory for all iterations of a loop around.
    pub planned: HashSet<Buf>,
    /// Additions on the way from a Sum-carried scalar to its next value.
    pub sums: HashSet<Val>,
    /// Steps to an extremum.
    pub extrema: HashMap<Val, Extremum>,
    /// Numbers whose sine and cosine are one call.
    pub turned: HashSet<Val>,
    pub role: Role<'c>,
    /// The functions of the callees, and the memory of the run they share.
    pub callees: Vec<FunctionValue<'c>>,
    pub run: Option<PointerValue<'c>>,
    /// In a callee, where the run's stack of buffers was when it was entered.
    pub mark: Option<Mark<'c>>,
}

impl<'u, 'c> Gen<'u, 'c> {
    pub fn new(
        u: &'u Unit<'c>,
        proc: &'u Proc,
        f: FunctionValue<'c>,
        failure: PointerValue<'c>,
        role: Role<'c>,
    ) -> Result<Gen<'u, 'c>> {
        let (entry, start) = (u.cx.append_basic_block(f, "entry"), u.cx.append_basic_block(f, "start"));
        let exit = u.cx.append_basic_block(f, "exit");
        let mut g = Gen {
            u,
            proc,
            f,
            b: u.cx.create_builder(),
            entry: u.cx.create_builder(),
            start,
            vals: vec![None; proc.vals.len()],
            answers: vec![],
            rows: vec![],
            places: vec![None; proc.bufs.len()],
            failure,
            exit,
            statuses: vec![],
            arenas: vec![],
            arena: None,
            loops: 0,
            stack: 0,
            planned: HashSet::new(),
            sums: HashSet::new(),
            extrema: HashMap::new(),
            turned: HashSet::new(),
            role,
            callees: vec![],
            run: None,
            mark: None,
        };
        g.entry.position_at_end(entry);
        g.b.position_at_end(start);
        if let Role::Callee(run) = role {
            g.run = Some(run);
            // Read where it stands now; nothing has run yet.
            g.b.position_at_end(entry);
            g.mark = Some(g.stack_mark()?);
            g.b.position_at_end(start);
        }
        if role == Role::Entry {
            // The caller's report may be null.
            let unread = g.entry.build_array_alloca(u.i64, g.int(5), "unread")?;
            let none = g.entry.build_is_null(failure, "")?;
            g.failure = g.entry.build_select(none, unread, failure, "failure")?.into_pointer_value();
        }
        Ok(g)
    }

    /// The body is complete: success, and the common exit.
    pub fn finish(&mut self) -> Result<()> {
        let zero = self.int(0);
        self.leave(zero)?;
        self.entry.build_unconditional_branch(self.start)?;
        self.b.position_at_end(self.exit);
        let status = self.b.build_phi(self.u.i64, "status")?;
        for (value, from) in &self.statuses {
            status.add_incoming(&[(value, *from)]);
        }
        self.leave_run()?;
        for arena in &self.arenas {
            let free = self.u.declare("adc_arena_free", &[self.u.ptr.into()], None, None);
            self.b.build_call(free, &[(*arena).into()], "")?;
        }
        self.b.build_return(Some(&status.as_basic_value()))?;
        Ok(())
    }

    /// The function ends here with this status.
    pub fn leave(&mut self, status: IntValue<'c>) -> Result<()> {
        self.statuses.push((status, self.here()));
        self.b.build_unconditional_branch(self.exit)?;
        Ok(())
    }

    pub fn here(&self) -> BasicBlock<'c> {
        self.b.get_insert_block().expect("the builder always has a block")
    }
    /// A new block, placed before the exit.
    pub fn new_block(&self, name: &str) -> BasicBlock<'c> {
        self.u.cx.prepend_basic_block(self.exit, name)
    }
    pub fn int(&self, k: i64) -> IntValue<'c> {
        self.u.i64.const_int(k as u64, true)
    }
    pub fn name(&self, v: Val) -> &str {
        &self.proc.vals[v.0 as usize].1
    }

    pub fn set(&mut self, v: Val, value: BasicValueEnum<'c>) -> Result<()> {
        match self.vals.get_mut(v.0 as usize) {
            Some(slot) => *slot = Some(value),
            None => return malformed(format!("no value {v:?}")),
        }
        Ok(())
    }

    pub fn get(&self, o: Operand) -> Result<BasicValueEnum<'c>> {
        Ok(match o {
            Operand::Val(v) => match self.vals.get(v.0 as usize) {
                Some(Some(value)) => *value,
                Some(None) | None => {
                    return malformed(format!("{v:?} is used before its definition in {}", self.proc.name));
                }
            },
            Operand::Real(x) => self.u.real.const_float(x).into(),
            Operand::Int(k) => self.int(k).into(),
            Operand::Bool(b) => self.u.i1.const_int(b as u64, false).into(),
        })
    }
    pub fn get_int(&self, o: Operand) -> Result<IntValue<'c>> {
        match self.get(o)? {
            BasicValueEnum::IntValue(k) => Ok(k),
            other => malformed(format!("{other} is not an int or bool")),
        }
    }
    pub fn get_real(&self, o: Operand) -> Result<FloatValue<'c>> {
        match self.get(o)? {
            BasicValueEnum::FloatValue(x) => Ok(x),
            other => malformed(format!("{other} is not a real")),
        }
    }

    pub fn is_nonzero(&self, byte: IntValue<'c>) -> Result<IntValue<'c>> {
        Ok(self.b.build_int_compare(IntPredicate::NE, byte, byte.get_type().const_zero(), "")?)
    }

    pub fn block(&mut self, block: &'u Block) -> Result<()> {
        block.iter().try_for_each(|s| self.stmt(s))
    }

    pub fn stmt(&mut self, stmt: &'u Stmt) -> Result<()> {
        match stmt {
            Stmt::Let { dst, .. } if self.answer(Operand::Val(*dst)).is_some() => {
                let answer = self.answer(Operand::Val(*dst)) == Some(true);
                self.set(*dst, self.u.i1.const_int(answer.into(), false).into())
            }
            Stmt::Let { dst, op, args } => {
                if let Some(value) = self.in_row(*op, args)? {
                    return self.set(*dst, value.into());
                }
                let value = self.op(*dst, *op, args)?;
                if let Some(i) = value.as_instruction_value() {
                    let _ = i.set_name(self.name(*dst));
                }
                self.set(*dst, value)
            }
            Stmt::Load { dst, buf, index } => {
                let value = self.load(*buf, index, self.name(*dst))?;
                self.set(*dst, value)
            }
            Stmt::Store { buf, index, value } => self.store(*buf, index, *value),
            Stmt::Accum { buf, index, value } => self.accum(*buf, index, *value),
            Stmt::Alloc { buf } => self.alloc(*buf),
            Stmt::Fill { buf, value } => self.fill(*buf, *value),
            Stmt::Copy { dst, src } => self.copy(*dst, *src),
            Stmt::For(f) => match f.parallel {
                Parallel::Yes | Parallel::Lanes if self.role == Role::Entry => self.split_for(f),
                Parallel::Yes | Parallel::Lanes | Parallel::No => self.for_loop(f),
            },
            Stmt::While(w) => self.while_loop(w),
            Stmt::If(i) => self.branch(i),
            Stmt::Check { cond, failure, details } => self.check(*cond, *failure, details),
            Stmt::Argsort { keys, perm } => self.argsort(*keys, *perm),
            Stmt::Call { callee, args } => self.call(*callee, args),
            Stmt::Reserve { dst, buf, failure } => self.reserve(*dst, *buf, *failure),
            Stmt::View { buf, handle } => self.view(*buf, *handle),
        }
    }

    /// `for`: the header holds the phis and tests; LLVM rotates it.
    pub fn for_loop(&mut self, f: &'u For) -> Result<()> {
        let extent = self.get_int(f.extent)?;
        let range = (self.int(0), extent);
        let inits = f.carried.iter().map(|c| self.get(c.init)).collect::<Result<Vec<_>>>()?;
        let results = self.run_range(f, range, &inits)?;
        for (c, result) in f.carried.iter().zip(results) {
            self.set(c.result, result)?;
        }
        Ok(())
    }

    /// The loop's iterations lo..hi (hi−1 down to lo), from these carried values to those returned: in lanes where the loop is to,
    /// and where they are worth their copies of what the body adds to.
    pub fn run_range(
        &mut self,
        f: &'u For,
        range: (IntValue<'c>, IntValue<'c>),
        inits: &[BasicValueEnum<'c>],
    ) -> Result<Vec<BasicValueEnum<'c>>> {
        if self.run_product(f, range)? {
            return Ok(vec![]);
        }
        if let Some(values) = self.run_pieces(f, range, inits)? {
            return Ok(values);
        }
        if let Some(values) = self.run_rows(f, range, inits)? {
            return Ok(values);
        }
        if f.parallel != Parallel::Lanes || (self.u.options.strict && self.reduces(f)) {
            return self.run_one_by_one(f, range, inits);
        }
        let Some(worth) = self.lanes_are_worth(f, range)? else { return self.run_lanes(f, range, inits) };
        let (lanes, single, done) =
            (self.new_block("lanes"), self.new_block("single"), self.new_block("done"));
        self.b.build_conditional_branch(worth, lanes, single)?;
        self.b.position_at_end(lanes);
        let first = (self.run_lanes(f, range, inits)?, self.here());
        self.b.build_unconditional_branch(done)?;
        self.b.position_at_end(single);
        let second = (self.run_one_by_one(f, range, inits)?, self.here());
        self.b.build_unconditional_branch(done)?;
        self.b.position_at_end(done);
        let mut results = vec![];
        for (a, b) in first.0.iter().zip(&second.0) {
            let phi = self.b.build_phi(a.get_type(), "sum")?;
            phi.add_incoming(&[(a as &dyn BasicValue, first.1), (b, second.1)]);
            results.push(phi.as_basic_value());
        }
        Ok(results)
    }

    pub fn run_one_by_one(
        &mut self,
        f: &'u For,
        (lo, hi): (IntValue<'c>, IntValue<'c>),
        inits: &[BasicValueEnum<'c>],
    ) -> Result<Vec<BasicValueEnum<'c>>> {
        if let Some(values) = self.run_whole_vectors(f, (lo, hi), inits)? {
            return Ok(values);
        }
        self.mark_sums(&f.carried, &f.body);
        self.mark_extrema(&f.carried, &f.body);
        let trips = self.b.build_int_sub(hi, lo, "")?;
        let planned = self.plan(f, trips, 1)?;
        let (header, body, done) = (self.new_block("for"), self.new_block("body"), self.new_block("done"));
        let before = self.here();
        self.b.build_unconditional_branch(header)?;
        self.b.position_at_end(header);
        let counter = self.b.build_phi(self.u.i64, if f.down { "left" } else { self.name(f.index) })?;
        counter.add_incoming(&[(if f.down { &hi } else { &lo }, before)]);
        let phis = self.carried_phis(&f.carried, inits, before)?;
        let k = counter.as_basic_value().into_int_value();
        let (test, bound) = if f.down { (IntPredicate::SGT, lo) } else { (IntPredicate::SLT, hi) };
        let more = self.b.build_int_compare(test, k, bound, "more")?;
        self.b.build_conditional_branch(more, body, done)?;
        self.b.position_at_end(body);
        // Between lo and hi nothing overflows.
        let one = self.int(1);
        let index = if f.down { self.b.build_int_nsw_sub(k, one, self.name(f.index))? } else { k };
        self.set(f.index, index.into())?;
        self.loop_body(&f.body)?;
        let next = if f.down { index } else { self.b.build_int_nsw_add(k, one, "")? };
        counter.add_incoming(&[(&next, self.here())]);
        self.close_loop(&f.carried, &phis, header, hints::of_loop(f, trips.get_sign_extended_constant()))?;
        self.b.position_at_end(done);
        self.forget(planned);
        Ok(phis.iter().map(|p| p.as_basic_value()).collect())
    }

    fn while_loop(&mut self, w: &'u While) -> Result<()> {
        let inits = w.carried.iter().map(|c| self.get(c.init)).collect::<Result<Vec<_>>>()?;
        let (header, body, done) = (self.new_block("while"), self.new_block("body"), self.new_block("done"));
        let before = self.here();
        self.b.build_unconditional_branch(header)?;
        self.b.position_at_end(header);
        let phis = self.carried_phis(&w.carried, &inits, before)?;
        self.loop_body(&w.cond_block)?;
        let cond = self.get_int(w.cond)?;
        self.b.build_conditional_branch(cond, body, done)?;
        self.b.position_at_end(body);
        self.loop_body(&w.body)?;
        self.close_loop(&w.carried, &phis, header, &[])?;
        self.b.position_at_end(done);
        for (c, phi) in w.carried.iter().zip(&phis) {
            self.set(c.result, phi.as_basic_value())?;
        }
        Ok(())
    }

    fn carried_phis(
        &mut self,
        carried: &[Carried],
        inits: &[BasicValueEnum<'c>],
        before: BasicBlock<'c>,
    ) -> Result<Vec<PhiValue<'c>>> {
        let mut phis = vec![];
        for (c, init) in carried.iter().zip(inits) {
            let phi = self.b.build_phi(init.get_type(), self.name(c.param))?;
            phi.add_incoming(&[(init, before)]);
            self.set(c.param, phi.as_basic_value())?;
            phis.push(phi);
        }
        Ok(phis)
    }

    fn close_loop(
        &mut self,
        carried: &[Carried],
        phis: &[PhiValue<'c>],
        header: BasicBlock<'c>,
        wishes: &[(&str, Option<u64>)],
    ) -> Result<()> {
        for (c, phi) in carried.iter().zip(phis) {
            phi.add_incoming(&[(&self.get(c.next)?, self.here())]);
        }
        hints::attach(self.u.cx, self.b.build_unconditional_branch(header)?, wishes);
        Ok(())
    }

    /// A block that runs many times: its larger local buffers live in an arena of its own that every run starts afresh.
    fn loop_body(&mut self, body: &'u Block) -> Result<()> {
        let outer = self.enter_body(body)?;
        self.block(body)?;
        self.leave_body(outer)
    }

    /// The beginning of a body: what [`Gen::leave_body`] goes back to. In a callee, what the body puts on the stack of buffers goes with the iteration.
    pub fn enter_body(&mut self, body: &Block) -> Result<Outside<'c>> {
        self.loops += 1;
        Ok(match self.mark {
            Some(_) if allocates(body) => Outside::Stack(Some(self.stack_mark()?)),
            Some(_) => Outside::Stack(None),
            None => Outside::Arena(self.arena.take()),
        })
    }

    pub fn leave_body(&mut self, outside: Outside<'c>) -> Result<()> {
        self.loops -= 1;
        match outside {
            Outside::Stack(None) => {}
            Outside::Stack(Some(mark)) => self.release(mark)?,
            Outside::Arena(outer) => {
                if let Some(arena) = std::mem::replace(&mut self.arena, outer) {
                    let reset = self.u.declare("adc_arena_reset", &[self.u.ptr.into()], None, None);
                    self.b.build_call(reset, &[arena.into()], "")?;
                }
            }
        }
        Ok(())
    }

    fn branch(&mut self, i: &'u If) -> Result<()> {
        if let Some(answer) = self.answer(i.cond) {
            self.block(if answer { &i.then } else { &i.els })?;
            for (dst, t, e) in &i.results {
                let value = self.get(if answer { *t } else { *e })?;
                self.set(*dst, value)?;
            }
            return Ok(());
        }
        let cond = self.get_int(i.cond)?;
        let (then, els, join) = (self.new_block("then"), self.new_block("else"), self.new_block("join"));
        self.b.build_conditional_branch(cond, then, els)?;
        let mut arms = vec![];
        for (start, block) in [(then, &i.then), (els, &i.els)] {
            self.b.position_at_end(start);
            self.block(block)?;
            let first = start == then;
            let values: Result<Vec<_>> =
                i.results.iter().map(|(_, t, e)| self.get(if first { *t } else { *e })).collect();
            arms.push((values?, self.here()));
            self.b.build_unconditional_branch(join)?;
        }
        self.b.position_at_end(join);
        for (k, (dst, ..)) in i.results.iter().enumerate() {
            let phi = self.b.build_phi(arms[0].0[k].get_type(), self.name(*dst))?;
            for (values, from) in &arms {
                phi.add_incoming(&[(&values[k], *from)]);
            }
            self.set(*dst, phi.as_basic_value())?;
        }
        Ok(())
    }

    pub fn check(&mut self, cond: Operand, failure: usize, details: &[Operand]) -> Result<()> {
        if failure >= self.proc.failures.len() {
            return malformed(format!("no failure {failure} in {}", self.proc.name));
        }
        let cond = self.get_int(cond)?;
        self.require(cond, failure, details)
    }

    /// Leaves with a failure unless the condition holds.
    pub fn require(&mut self, cond: IntValue<'c>, failure: usize, details: &[Operand]) -> Result<()> {
        let (fail, ok) = (self.new_block("fail"), self.new_block("ok"));
        self.b.build_conditional_branch(cond, ok, fail)?;
        self.b.position_at_end(fail);
        let details = details.iter().map(|d| self.get_int(*d)).collect::<Result<Vec<_>>>()?;
        self.fail(failure, &details)?;
        self.b.position_at_end(ok);
        Ok(())
    }

    /// The procedure ends here with this failure.
    pub fn fail(&mut self, failure: usize, details: &[IntValue<'c>]) -> Result<()> {
        let report = std::iter::once(self.int(failure as i64)).chain(details.iter().copied());
        for (k, value) in report.take(5).enumerate() {
            // SAFETY: a report is five ints.
            let slot =
                unsafe { self.b.build_in_bounds_gep(self.u.i64, self.failure, &[self.int(k as i64)], "")? };
            self.b.build_store(slot, value)?;
        }
        let status = self.int(failure as i64 + 1);
        self.leave(status)
    }

    /// Leaves with `status` unless it is 0.
    pub fn require_success(&mut self, status: IntValue<'c>) -> Result<()> {
        let failed = self.is_nonzero(status)?;
        let (fail, ok) = (self.new_block("fail"), self.new_block("ok"));
        self.b.build_conditional_branch(failed, fail, ok)?;
        self.b.position_at_end(fail);
        self.leave(status)?;
        self.b.position_at_end(ok);
        Ok(())
    }

    fn argsort(&mut self, keys: Buf, perm: Buf) -> Result<()> {
        use lang::precision::Precision;
        use lang::prim::Scalar;
        let name = match (self.proc.info(keys).elem, self.u.precision) {
            (Scalar::Real, Precision::Double) => "adc_argsort_real",
            (Scalar::Real, Precision::Single) => "adc_argsort_single",
            (Scalar::Int, _) => "adc_argsort_int",
            (Scalar::Bool, _) => return malformed("argsort of bools"),
        };
        let n = self.elements(keys)?;
        let (ptr, i64) = (self.u.ptr.into(), self.u.i64.into());
        let sort = self.u.declare(name, &[ptr, ptr, i64], Some(self.u.i64.into()), None);
        let (keys, perm) = (self.at(keys)?.ptr, self.at(perm)?.ptr);
        let status = self.b.build_call(sort, &[keys.into(), perm.into(), n.into()], "sorted")?;
        self.require_success(status.try_as_basic_value().unwrap_basic().into_int_value())
    }
}
