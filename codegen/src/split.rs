//! Loops whose body asks where in the range it is (`if i == 0`, `if i < m`): the range is run in pieces in each of which the answer
//! is known, so that no piece has the branch. Likewise a body that takes its index apart, by division, is run row by row.

use crate::body::Gen;
use crate::{Result, hints};
use inkwell::IntPredicate;
use inkwell::values::{BasicValueEnum, IntValue};
use lang::loops::split::{Where, questions};
use lang::loops::{Block, For, Op, Operand, Parallel, Stmt, Val, walk};

/// Bodies of more statements are not written twice.
const MOST_STATEMENTS: usize = 80;
/// A body is split at most so often.
const MOST_SPLITS: usize = 2;
/// Rows shorter than this are no vectors.
const LONG: i64 = 8;
/// Loops up to this constant length are left to unrolling.
const SHORT: i64 = 16;

/// A row of a loop: the indices from start on that `length` divides into `row`.
pub(crate) struct Row<'c> {
    index: Val,
    length: i64,
    row: IntValue<'c>,
    start: IntValue<'c>,
}

impl<'u, 'c> Gen<'u, 'c> {
    /// Runs the range in pieces where that decides a branch of the body; absent where nothing does.
    pub fn run_pieces(
        &mut self,
        f: &'u For,
        (lo, hi): (IntValue<'c>, IntValue<'c>),
        inits: &[BasicValueEnum<'c>],
    ) -> Result<Option<Vec<BasicValueEnum<'c>>>> {
        let Some((cond, place)) = self.question(f) else { return Ok(None) };
        let mut pieces = match place {
            Where::Below(m) => {
                let m = self.between(self.get_int(m)?, lo, hi)?;
                vec![((lo, m), true), ((m, hi), false)]
            }
            // No index is below 0.
            Where::At(Operand::Int(0)) => {
                let first = self.between(self.int(1), lo, hi)?;
                vec![((lo, first), true), ((first, hi), false)]
            }
            Where::At(k) => {
                let k = self.get_int(k)?;
                let at = self.between(k, lo, hi)?;
                let after = self.between(self.b.build_int_add(k, self.int(1), "")?, at, hi)?;
                vec![((lo, at), false), ((at, after), true), ((after, hi), false)]
            }
        };
        if f.down {
            pieces.reverse();
        }
        let mut values = inits.to_vec();
        for (range, answer) in pieces {
            self.answers.push((cond, answer));
            values = self.run_range(f, range, &values)?;
            self.answers.pop();
        }
        Ok(Some(values))
    }

    /// Runs the range row by row where the body takes its index apart, as i div c and i mod c; absent where it does not. In a row the
    /// quotient is known and the remainder is a difference.
    pub fn run_rows(
        &mut self,
        f: &'u For,
        (lo, hi): (IntValue<'c>, IntValue<'c>),
        inits: &[BasicValueEnum<'c>],
    ) -> Result<Option<Vec<BasicValueEnum<'c>>>> {
        let inner = f.body.iter().any(|s| matches!(s, Stmt::For(_) | Stmt::While(_)));
        let known = self.rows.iter().any(|r| r.index == f.index);
        let Some(length) =
            self.divisor(f.index, &f.body).filter(|c| *c >= LONG && !known && !inner && !f.down)
        else {
            return Ok(None);
        };
        // Indices are not negative: the machine's division is the floor.
        let c = self.int(length);
        let (first, end) = (
            self.b.build_int_signed_div(lo, c, "")?,
            self.b.build_int_signed_div(self.b.build_int_nsw_add(hi, self.int(length - 1), "")?, c, "")?,
        );
        let (header, body, done) = (self.new_block("rows"), self.new_block("row"), self.new_block("done"));
        let before = self.here();
        self.b.build_unconditional_branch(header)?;
        self.b.position_at_end(header);
        let counter = self.b.build_phi(self.u.i64, "row")?;
        counter.add_incoming(&[(&first, before)]);
        let row = counter.as_basic_value().into_int_value();
        let mut phis = vec![];
        for (c, init) in f.carried.iter().zip(inits) {
            let phi = self.b.build_phi(init.get_type(), self.name(c.param))?;
            phi.add_incoming(&[(init, before)]);
            phis.push(phi);
        }
        let more = self.b.build_int_compare(IntPredicate::SLT, row, end, "more")?;
        self.b.build_conditional_branch(more, body, done)?;
        self.b.position_at_end(body);
        let start = self.b.build_int_nsw_mul(row, c, "")?;
        let range =
            (self.between(start, lo, hi)?, self.between(self.b.build_int_nsw_add(start, c, "")?, lo, hi)?);
        self.rows.push(Row { index: f.index, length, row, start });
        let values: Vec<_> = phis.iter().map(|p| p.as_basic_value()).collect();
        let values = self.run_range(f, range, &values)?;
        self.rows.pop();
        let next = self.b.build_int_nsw_add(row, self.int(1), "")?;
        let here = self.here();
        counter.add_incoming(&[(&next, here)]);
        for (phi, value) in phis.iter().zip(&values) {
            phi.add_incoming(&[(value, here)]);
        }
        self.b.build_unconditional_branch(header)?;
        self.b.position_at_end(done);
        Ok(Some(phis.iter().map(|p| p.as_basic_value()).collect()))
    }

    /// Runs a short loop's whole vectors, and then what is left over; absent where masks cost nothing, or there is nothing to mask.
    pub fn run_whole_vectors(
        &mut self,
        f: &'u For,
        (lo, hi): (IntValue<'c>, IntValue<'c>),
        inits: &[BasicValueEnum<'c>],
    ) -> Result<Option<Vec<BasicValueEnum<'c>>>> {
        let trips = self.b.build_int_sub(hi, lo, "")?.get_sign_extended_constant();
        let rest = trips.map_or(0, |n| n % i64::from(self.u.lanes()));
        let masked = trips.is_some_and(|n| n > hints::SHORT && n < hints::MASKED) && rest > 0;
        if !masked || self.u.cpu.masks() || f.parallel == Parallel::No || !hints::innermost(f) {
            return Ok(None);
        }
        let middle = self.b.build_int_nsw_sub(hi, self.int(rest), "")?;
        let (first, second) =
            if f.down { ((middle, hi), (lo, middle)) } else { ((lo, middle), (middle, hi)) };
        let values = self.run_one_by_one(f, first, inits)?;
        Ok(Some(self.run_one_by_one(f, second, &values)?))
    }

    /// The quotient or remainder of a loop's index, in the row that is being written.
    pub fn in_row(&self, op: Op, args: &[Operand]) -> Result<Option<IntValue<'c>>> {
        let [i, Operand::Int(c)] = args else { return Ok(None) };
        let Some(r) = self.rows.iter().find(|r| *i == Operand::Val(r.index) && r.length == *c) else {
            return Ok(None);
        };
        match op {
            Op::IDiv => Ok(Some(r.row)),
            Op::IMod => Ok(Some(self.b.build_int_nsw_sub(self.get_int(*i)?, r.start, "")?)),
            _ => Ok(None),
        }
    }

    /// The first constant that the index is divided by in what runs of the block.
    fn divisor(&self, index: Val, block: &Block) -> Option<i64> {
        block.iter().find_map(|s| match s {
            Stmt::Let { op: Op::IDiv | Op::IMod, args, .. } => match args.as_slice() {
                [i, Operand::Int(c)] if *i == Operand::Val(index) && *c > 1 => Some(*c),
                _ => None,
            },
            Stmt::If(i) => match self.answer(i.cond) {
                Some(true) => self.divisor(index, &i.then),
                Some(false) => self.divisor(index, &i.els),
                None => self.divisor(index, &i.then).or_else(|| self.divisor(index, &i.els)),
            },
            other => walk::blocks(other).into_iter().find_map(|b| self.divisor(index, b)),
        })
    }

    /// The answer to a question of the body, in the piece that is being written.
    pub fn answer(&self, cond: Operand) -> Option<bool> {
        self.answers.iter().find(|(v, _)| cond == Operand::Val(*v)).map(|(_, answer)| *answer)
    }

    /// The first question of the body that has no answer yet, if the body may be written once more.
    fn question(&self, f: &For) -> Option<(Val, Where)> {
        let short = matches!(f.extent, Operand::Int(k) if k <= SHORT);
        let (answered, open): (Vec<_>, Vec<_>) =
            questions(f).into_iter().partition(|(cond, _)| self.answer(Operand::Val(*cond)).is_some());
        if short || open.is_empty() || answered.len() >= MOST_SPLITS {
            return None;
        }
        let mut statements = 0;
        walk::each(&f.body, &mut |_| statements += 1);
        open.into_iter().next().filter(|_| statements <= MOST_STATEMENTS)
    }

    /// k, or the end of lo..=hi that it is beyond.
    fn between(&self, k: IntValue<'c>, lo: IntValue<'c>, hi: IntValue<'c>) -> Result<IntValue<'c>> {
        let high = self.b.build_int_compare(IntPredicate::SGT, k, hi, "")?;
        let k = self.b.build_select(high, hi, k, "")?.into_int_value();
        let low = self.b.build_int_compare(IntPredicate::SLT, k, lo, "")?;
        Ok(self.b.build_select(low, lo, k, "")?.into_int_value())
    }
}
