//! Lanes: a parallel loop with its index as a vector of consecutive iterations (lowering.md, "Lanes").
//!
//! Values that differ between iterations ([`lang::loops::lanes`]) are vectors with an element per lane; the rest of the body, its loops among it,
//! runs once for all. What the body adds to outside it adds to a copy per lane, and the copies are added up after the
//! loop in a fixed order. The last group has fewer iterations than lanes: it runs the same code under a mask.
//!
//! | file | what |
//! |---|---|
//! | [`values`] | vectors: where they come from, operations on them |
//! | [`memory`] | elements, for all lanes |
//! | [`control`] | inner loops, branches, checks |
//! | [`width`] | how many lanes |

mod control;
mod memory;
mod values;
mod width;

use crate::Result;
use crate::body::Gen;
use inkwell::IntPredicate;
use inkwell::types::VectorType;
use inkwell::values::{BasicValue, BasicValueEnum, IntValue, PointerValue, VectorValue};
use lang::loops::lanes::{Varying, shared_accumulators, varying};
use lang::loops::{Buf, Carried, For, Op, Operand, Stmt, Val};
use lang::prim::Scalar;
use std::collections::HashMap;
use values::Lane;

/// The body of one loop in lanes.
pub(crate) struct Lanes<'g, 'u, 'c> {
    g: &'g mut Gen<'u, 'c>,
    varying: Varying,
    /// Lanes, and how many of them are one register.
    width: u32,
    register: u32,
    /// The vectors of the values that vary.
    vals: HashMap<Val, Lane<'c>>,
    /// The lanes that take part; all of them when absent.
    mask: Option<VectorValue<'c>>,
    /// The copies of accumulated buffers, one register of lanes for each element.
    copies: HashMap<Buf, PointerValue<'c>>,
    /// The loops around that are to be written out: their indices, and how often they run.
    written_out: Vec<(Val, i64)>,
}

impl<'u, 'c> Gen<'u, 'c> {
    /// The iterations lo..hi of a loop in lanes, the sums starting from and ending in these values.
    pub fn run_lanes(
        &mut self,
        f: &'u For,
        (lo, hi): (IntValue<'c>, IntValue<'c>),
        inits: &[BasicValueEnum<'c>],
    ) -> Result<Vec<BasicValueEnum<'c>>> {
        let varying = match varying(self.proc, f) {
            Ok(v) => v,
            Err(why) => return crate::malformed(format!("a loop in lanes: {why}")),
        };
        let register = self.u.lanes();
        let width = width::lanes(self.proc, f, &varying, register);
        let shared = shared_accumulators(f, &varying);
        let mut lanes = Lanes {
            g: self,
            varying,
            width,
            register,
            vals: HashMap::new(),
            mask: None,
            copies: HashMap::new(),
            written_out: vec![],
        };
        lanes.open_copies(&shared)?;
        let count = lanes.g.b.build_int_sub(hi, lo, "")?;
        let planned = lanes.g.plan(f, count, u64::from(width))?;
        let zeros = lanes.zero_sums(&f.carried);
        let trips = lo.get_zero_extended_constant().zip(hi.get_zero_extended_constant());
        let trips = trips.map(|(lo, hi)| hi.saturating_sub(lo));
        let (at, sums) = match trips {
            Some(n) if n < u64::from(width) => (lo, zeros),
            Some(_) | None => lanes.full_groups(f, (lo, hi), zeros)?,
        };
        let sums = match trips {
            Some(n) if n.is_multiple_of(u64::from(width)) => sums,
            Some(_) | None => lanes.last_group(f, (at, hi), sums)?,
        };
        lanes.g.forget(planned);
        lanes.close_copies()?;
        let mut results = vec![];
        for (sum, init) in sums.into_iter().zip(inits) {
            results.push(lanes.add_up(sum, *init)?);
        }
        Ok(results)
    }
}

impl<'u, 'c> Lanes<'_, 'u, 'c> {
    fn zero_sums(&self, carried: &[Carried]) -> Vec<VectorValue<'c>> {
        carried.iter().map(|c| self.vector_of(self.g.proc.vals[c.param.0 as usize].0).const_zero()).collect()
    }

    fn vector_of(&self, s: Scalar) -> VectorType<'c> {
        match s {
            Scalar::Real => self.g.u.real.vec_type(self.width),
            Scalar::Int => self.g.u.i64.vec_type(self.width),
            Scalar::Bool => self.g.u.i1.vec_type(self.width),
        }
    }

    /// Groups of `width` iterations as long as they are whole; gives the first iteration left and the sums.
    fn full_groups(
        &mut self,
        f: &'u For,
        (lo, hi): (IntValue<'c>, IntValue<'c>),
        inits: Vec<VectorValue<'c>>,
    ) -> Result<(IntValue<'c>, Vec<VectorValue<'c>>)> {
        let g = &mut *self.g;
        let (header, body, done) = (g.new_block("lanes"), g.new_block("group"), g.new_block("rest"));
        let before = g.here();
        g.b.build_unconditional_branch(header)?;
        g.b.position_at_end(header);
        let counter = g.b.build_phi(g.u.i64, g.name(f.index))?;
        counter.add_incoming(&[(&lo, before)]);
        let at = counter.as_basic_value().into_int_value();
        let mut phis = vec![];
        for (c, init) in f.carried.iter().zip(&inits) {
            let phi = g.b.build_phi(init.get_type(), g.name(c.param))?;
            phi.add_incoming(&[(init, before)]);
            phis.push(phi);
        }
        // lo + width does not overflow: both count elements.
        let next = g.b.build_int_nsw_add(at, g.int(self.width as i64), "")?;
        let whole = g.b.build_int_compare(IntPredicate::SLE, next, hi, "whole")?;
        g.b.build_conditional_branch(whole, body, done)?;
        g.b.position_at_end(body);
        let sums: Vec<_> = phis.iter().map(|p| p.as_basic_value().into_vector_value()).collect();
        let sums = self.group(f, at, &sums)?;
        let here = self.g.here();
        counter.add_incoming(&[(&next, here)]);
        for (phi, sum) in phis.iter().zip(&sums) {
            phi.add_incoming(&[(sum, here)]);
        }
        self.g.b.build_unconditional_branch(header)?;
        self.g.b.position_at_end(done);
        Ok((at, phis.iter().map(|p| p.as_basic_value().into_vector_value()).collect()))
    }

    /// The iterations at..hi, fewer than there are lanes.
    fn last_group(
        &mut self,
        f: &'u For,
        (at, hi): (IntValue<'c>, IntValue<'c>),
        inits: Vec<VectorValue<'c>>,
    ) -> Result<Vec<VectorValue<'c>>> {
        let (body, done) = (self.g.new_block("last"), self.g.new_block("done"));
        let before = self.g.here();
        let some = self.g.b.build_int_compare(IntPredicate::SLT, at, hi, "some")?;
        self.g.b.build_conditional_branch(some, body, done)?;
        self.g.b.position_at_end(body);
        let index = self.dense(Lane::Linear { base: at, step: 1 })?;
        let end = self.splat(hi.into())?;
        let mask = self.g.b.build_int_compare(IntPredicate::SLT, index, end, "mask")?;
        self.mask = Some(mask);
        let sums = self.group(f, at, &inits)?;
        let mut masked = vec![];
        for (sum, init) in sums.iter().zip(&inits) {
            masked.push(self.g.b.build_select(mask, *sum, *init, "")?.into_vector_value());
        }
        self.mask = None;
        let after = self.g.here();
        self.g.b.build_unconditional_branch(done)?;
        self.g.b.position_at_end(done);
        let mut out = vec![];
        for (sum, init) in masked.iter().zip(&inits) {
            let phi = self.g.b.build_phi(init.get_type(), "sum")?;
            phi.add_incoming(&[(init as &dyn BasicValue, before), (sum, after)]);
            out.push(phi.as_basic_value().into_vector_value());
        }
        Ok(out)
    }

    /// The body for the iterations from `at` on, one for each lane: the sums after it.
    fn group(
        &mut self,
        f: &'u For,
        at: IntValue<'c>,
        sums: &[VectorValue<'c>],
    ) -> Result<Vec<VectorValue<'c>>> {
        self.vals.insert(f.index, Lane::Linear { base: at, step: 1 });
        for (c, sum) in f.carried.iter().zip(sums) {
            self.vals.insert(c.param, Lane::Dense(*sum));
        }
        self.body(&f.body)?;
        f.carried.iter().map(|c| self.vector(c.next)).collect()
    }

    fn stmt(&mut self, s: &'u Stmt) -> Result<()> {
        match s {
            Stmt::Let { dst, .. } if self.g.answer(Operand::Val(*dst)).is_some() => self.g.stmt(s),
            Stmt::Let { op: Op::IDiv, args, .. } if self.g.in_row(Op::IDiv, args)?.is_some() => {
                self.g.stmt(s)
            }
            Stmt::Let { dst, op, args } if self.varying.vals.contains(dst) => self.op(*dst, *op, args),
            Stmt::Load { dst, buf, index } if self.varying.vals.contains(dst) => self.load(*dst, *buf, index),
            // What is the same for all lanes is done once.
            Stmt::Let { .. } | Stmt::Load { .. } => self.g.stmt(s),
            Stmt::Store { buf, index, value } => self.store(*buf, index, *value),
            Stmt::Accum { buf, index, value } => self.accum(*buf, index, *value),
            Stmt::Alloc { buf } => self.alloc(*buf),
            Stmt::Fill { buf, value } => self.fill(*buf, *value),
            Stmt::Copy { dst, src } => self.copy(*dst, *src),
            Stmt::For(f) => self.for_loop(f),
            Stmt::If(i) => self.branch(i),
            Stmt::Check { cond, failure, details } => self.check(*cond, *failure, details),
            Stmt::While(_)
            | Stmt::Argsort { .. }
            | Stmt::Call { .. }
            | Stmt::Reserve { .. }
            | Stmt::View { .. } => crate::malformed("a statement that cannot run in lanes"),
        }
    }
}
