//! Loops whose body asks where in the range it is (`if i == 0`, `if i < m`): the range is run in pieces in each of which the answer
//! is known, so that no piece has the branch.

use crate::Result;
use crate::body::Gen;
use inkwell::IntPredicate;
use inkwell::values::{BasicValueEnum, IntValue};
use lang::loops::split::{Where, questions};
use lang::loops::{For, Operand, Val, walk};

/// Bodies of more statements are not written twice.
const MOST_STATEMENTS: usize = 80;
/// A body is split at most so often.
const MOST_SPLITS: usize = 2;
/// Loops up to this constant length are left to unrolling.
const SHORT: i64 = 16;

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
