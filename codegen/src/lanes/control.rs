//! Inner loops, branches and checks in lanes.

use super::Lanes;
use super::values::Lane;
use crate::{Result, hints, malformed};
use inkwell::IntPredicate;
use inkwell::values::{BasicValue, BasicValueEnum, VectorValue};
use lang::loops::{Block, For, If, Op, Operand, Stmt, Val};

/// A loop, with all loops in it, is written out up to so many vector operations: indices become constants, and small buffers registers.
const MOST_WRITTEN_OUT: i64 = 512;

impl<'u, 'c> Lanes<'_, 'u, 'c> {
    pub(super) fn block(&mut self, block: &'u Block) -> Result<()> {
        block.iter().try_for_each(|s| self.stmt(s))
    }

    /// A block that runs many times: what it takes from an arena it gives back.
    pub(super) fn body(&mut self, block: &'u Block) -> Result<()> {
        let outer = self.g.enter_body(block)?;
        self.block(block)?;
        self.g.leave_body(outer)
    }

    /// A value in the form it has in these lanes: a vector if it varies.
    fn value(&mut self, v: Val, o: Operand) -> Result<BasicValueEnum<'c>> {
        match self.varying.vals.contains(&v) {
            true => Ok(self.vector(o)?.into()),
            false => self.g.get(o),
        }
    }

    fn set(&mut self, v: Val, value: BasicValueEnum<'c>) -> Result<()> {
        match value {
            BasicValueEnum::VectorValue(vector) => {
                self.vals.insert(v, Lane::Dense(vector));
                Ok(())
            }
            scalar => self.g.set(v, scalar),
        }
    }

    /// A loop inside the body: it runs once for all lanes.
    pub(super) fn for_loop(&mut self, f: &'u For) -> Result<()> {
        let extent = self.g.get_int(f.extent)?;
        let mut inits = vec![];
        for c in &f.carried {
            inits.push(self.value(c.param, c.init)?);
        }
        if let Some(trips) = self.trips(f, &[])
            && (!self.written_out.is_empty()
                || self.size(f, &mut vec![]).is_some_and(|n| n <= MOST_WRITTEN_OUT))
        {
            self.written_out.push((f.index, trips));
        }
        self.g.mark_sums(&f.carried, &f.body);
        let planned = self.g.plan(f, extent, u64::from(self.width))?;
        let g = &mut *self.g;
        let (header, body, done) = (g.new_block("for"), g.new_block("body"), g.new_block("done"));
        let before = g.here();
        g.b.build_unconditional_branch(header)?;
        g.b.position_at_end(header);
        let counter = g.b.build_phi(g.u.i64, if f.down { "left" } else { g.name(f.index) })?;
        let first = if f.down { extent } else { g.int(0) };
        counter.add_incoming(&[(&first, before)]);
        let k = counter.as_basic_value().into_int_value();
        let mut phis = vec![];
        for (c, init) in f.carried.iter().zip(&inits) {
            let phi = self.g.b.build_phi(init.get_type(), self.g.name(c.param))?;
            phi.add_incoming(&[(init, before)]);
            self.set(c.param, phi.as_basic_value())?;
            phis.push(phi);
        }
        let g = &mut *self.g;
        let (test, bound) = if f.down { (IntPredicate::SGT, g.int(0)) } else { (IntPredicate::SLT, extent) };
        let more = g.b.build_int_compare(test, k, bound, "more")?;
        g.b.build_conditional_branch(more, body, done)?;
        g.b.position_at_end(body);
        let one = g.int(1);
        let index = if f.down { g.b.build_int_nsw_sub(k, one, g.name(f.index))? } else { k };
        g.set(f.index, index.into())?;
        self.body(&f.body)?;
        let next = if f.down { index } else { self.g.b.build_int_nsw_add(k, one, "")? };
        let mut nexts = vec![];
        for c in &f.carried {
            nexts.push(self.value(c.param, c.next)?);
        }
        let here = self.g.here();
        counter.add_incoming(&[(&next, here)]);
        for (phi, next) in phis.iter().zip(&nexts) {
            phi.add_incoming(&[(next, here)]);
        }
        let back = self.g.b.build_unconditional_branch(header)?;
        if self.written_out.pop_if(|(i, _)| *i == f.index).is_some() {
            hints::attach(self.g.u.cx, back, hints::WRITTEN_OUT);
        }
        self.g.b.position_at_end(done);
        for (c, phi) in f.carried.iter().zip(phis) {
            self.set(c.result, phi.as_basic_value())?;
        }
        self.g.forget(planned);
        Ok(())
    }

    /// How often a loop is run, if that is known where the loops around it are written out; on average, where the index of one of them says it.
    fn trips(&self, f: &For, around: &[(Val, i64)]) -> Option<i64> {
        match f.extent {
            Operand::Int(k) => Some(k.max(0)),
            Operand::Val(v) => {
                let mut known = self.written_out.iter().chain(around);
                known.find(|(i, _)| *i == v).map(|(_, trips)| (trips + 1) / 2)
            }
            Operand::Real(_) | Operand::Bool(_) => None,
        }
    }

    /// The vector operations of a loop that is written out, with all its loops.
    fn size(&self, f: &For, around: &mut Vec<(Val, i64)>) -> Option<i64> {
        let trips = self.trips(f, around)?;
        around.push((f.index, trips));
        let once = self.size_of_block(&f.body, around);
        around.pop();
        Some(once?.saturating_mul(trips))
    }

    fn size_of_block(&self, block: &Block, around: &mut Vec<(Val, i64)>) -> Option<i64> {
        let mut total = 0i64;
        for s in block {
            let size = match s {
                Stmt::For(f) => self.size(f, around)?,
                Stmt::If(i) => self.size_of_block(&i.then, around)? + self.size_of_block(&i.els, around)?,
                Stmt::Let { op: Op::Math(_), .. } => return None,
                Stmt::Let { dst, .. } | Stmt::Load { dst, .. } => i64::from(self.varying.vals.contains(dst)),
                Stmt::Store { .. } | Stmt::Accum { .. } | Stmt::Check { .. } => 1,
                Stmt::Fill { .. }
                | Stmt::Copy { .. }
                | Stmt::Alloc { .. }
                | Stmt::While(_)
                | Stmt::Argsort { .. }
                | Stmt::Call { .. }
                | Stmt::Reserve { .. }
                | Stmt::View { .. } => return None,
            };
            total = total.saturating_add(size);
        }
        Some(total)
    }

    pub(super) fn branch(&mut self, i: &'u If) -> Result<()> {
        if let Some(answer) = self.g.answer(i.cond) {
            self.block(if answer { &i.then } else { &i.els })?;
            for (dst, t, e) in &i.results {
                let value = self.value(*dst, if answer { *t } else { *e })?;
                self.set(*dst, value)?;
            }
            return Ok(());
        }
        match self.lane(i.cond) {
            None => self.common_branch(i),
            Some(cond) => {
                let cond = self.dense(cond)?;
                self.masked_branch(i, cond)
            }
        }
    }

    /// All lanes take the same arm.
    fn common_branch(&mut self, i: &'u If) -> Result<()> {
        let cond = self.g.get_int(i.cond)?;
        let (then, els, join) =
            (self.g.new_block("then"), self.g.new_block("else"), self.g.new_block("join"));
        self.g.b.build_conditional_branch(cond, then, els)?;
        let mut arms = vec![];
        for (start, block) in [(then, &i.then), (els, &i.els)] {
            self.g.b.position_at_end(start);
            self.block(block)?;
            let mut values = vec![];
            for (dst, t, e) in &i.results {
                values.push(self.value(*dst, if start == then { *t } else { *e })?);
            }
            arms.push((values, self.g.here()));
            self.g.b.build_unconditional_branch(join)?;
        }
        self.g.b.position_at_end(join);
        for (k, (dst, ..)) in i.results.iter().enumerate() {
            let phi = self.g.b.build_phi(arms[0].0[k].get_type(), self.g.name(*dst))?;
            for (values, from) in &arms {
                phi.add_incoming(&[(&values[k], *from)]);
            }
            self.set(*dst, phi.as_basic_value())?;
        }
        Ok(())
    }

    /// Each lane takes its arm: both run, each under the mask of its lanes, an arm without lanes not at all. Results are selected.
    fn masked_branch(&mut self, i: &'u If, cond: VectorValue<'c>) -> Result<()> {
        let not = self.g.b.build_not(cond, "")?;
        let outer = self.mask;
        let mut arms: Vec<Vec<VectorValue<'c>>> = vec![];
        for (first, lanes, block) in [(true, cond, &i.then), (false, not, &i.els)] {
            let mask = match outer {
                None => lanes,
                Some(outer) => self.g.b.build_and(outer, lanes, "")?,
            };
            self.mask = Some(mask);
            let ends = i.results.iter().map(|(_, t, e)| if first { *t } else { *e });
            let ends: Vec<Operand> = ends.collect();
            arms.push(match is_light(block) {
                true => {
                    self.block(block)?;
                    ends.iter().map(|o| self.vector(*o)).collect::<Result<_>>()?
                }
                false => self.if_any(mask, block, &ends)?,
            });
        }
        self.mask = outer;
        for (k, (dst, ..)) in i.results.iter().enumerate() {
            let value = self.g.b.build_select(cond, arms[0][k], arms[1][k], self.g.name(*dst))?;
            self.set(*dst, value)?;
        }
        Ok(())
    }

    /// The block if the mask has a lane; what it ends with, anything where it did not run.
    fn if_any(
        &mut self,
        mask: VectorValue<'c>,
        block: &'u Block,
        ends: &[Operand],
    ) -> Result<Vec<VectorValue<'c>>> {
        let (inside, after) = (self.g.new_block("arm"), self.g.new_block("after"));
        let any = self.any(mask)?;
        let before = self.g.here();
        self.g.b.build_conditional_branch(any, inside, after)?;
        self.g.b.position_at_end(inside);
        self.block(block)?;
        let values = ends.iter().map(|o| self.vector(*o)).collect::<Result<Vec<_>>>()?;
        let end = self.g.here();
        self.g.b.build_unconditional_branch(after)?;
        self.g.b.position_at_end(after);
        let mut out = vec![];
        for v in values {
            let phi = self.g.b.build_phi(v.get_type(), "")?;
            phi.add_incoming(&[(&v as &dyn BasicValue, end), (&v.get_type().const_zero(), before)]);
            out.push(phi.as_basic_value().into_vector_value());
        }
        Ok(out)
    }

    /// Every lane that takes part holds the condition; of those that do not, the first one is reported.
    pub(super) fn check(&mut self, cond: Operand, failure: usize, details: &[Operand]) -> Result<()> {
        let vary = self.lane(cond).is_some() || details.iter().any(|d| self.lane(*d).is_some());
        if !vary {
            return self.g.check(cond, failure, details);
        }
        if failure >= self.g.proc.failures.len() {
            return malformed(format!("no failure {failure} in {}", self.g.proc.name));
        }
        let holds = self.vector(cond)?;
        let mut fails = self.g.b.build_not(holds, "fails")?;
        if let Some(mask) = self.mask {
            fails = self.g.b.build_and(fails, mask, "fails")?;
        }
        let any = self.any(fails)?;
        let (fail, ok) = (self.g.new_block("fail"), self.g.new_block("ok"));
        self.g.b.build_conditional_branch(any, fail, ok)?;
        self.g.b.position_at_end(fail);
        let first = self.first(fails)?;
        let mut values = vec![];
        for d in details {
            let v = self.vector(*d)?;
            values.push(self.g.b.build_extract_element(v, first, "")?.into_int_value());
        }
        self.g.fail(failure, &values)?;
        self.g.b.position_at_end(ok);
        Ok(())
    }
}

/// Cheap operations on values only: to run them for nothing costs less than a branch.
fn is_light(block: &Block) -> bool {
    block.len() <= 8 && block.iter().all(|s| matches!(s, Stmt::Let { op, .. } if !matches!(op, Op::Math(_))))
}
