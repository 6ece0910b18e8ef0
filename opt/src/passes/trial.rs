//! Comparisons of ints that come out alike in every iteration of the loops around, found by going through the iterations: for what is
//! no polynomial of the indices (the rows of a triangle one after another, `div`, `mod`), at sizes that are known.

use super::bounds::Bounds;
use lang::core::Lit;
use lang::loops::ops::apply;
use lang::loops::*;
use lang::precision::Precision;
use std::collections::{BTreeMap, HashMap};

/// How many combinations of indices are gone through.
const MOST: usize = 4096;

/// What a comparison is made of.
#[derive(Default)]
struct Trial<'b> {
    /// The loop indices in it, outer ones first, with their extents.
    indices: BTreeMap<usize, (Val, Operand)>,
    /// Its operations, in order.
    steps: Vec<(Val, Op, &'b [Operand])>,
    values: HashMap<Val, Lit>,
    tried: usize,
}

impl Bounds {
    /// The truth of a comparison, where it is the same for all values that the indices in it take.
    pub fn in_every_iteration(&self, op: Op, args: &[Operand]) -> Option<bool> {
        let [a, b] = args else { return None };
        let mut trial = Trial::default();
        trial.collect(self, *a)?;
        trial.collect(self, *b)?;
        // Polynomials are decided as such.
        if !trial.steps.iter().any(|(_, op, _)| matches!(op, Op::IDiv | Op::IMod)) {
            return None;
        }
        let indices: Vec<(Val, Operand)> = trial.indices.values().copied().collect();
        let mut truth = None;
        trial.each(&indices, &mut |trial| {
            let Some(Lit::Bool(here)) = of_ints(op, &[trial.value(*a)?, trial.value(*b)?]) else {
                return None;
            };
            (*truth.get_or_insert(here) == here).then_some(())
        })?;
        truth
    }
}

impl<'b> Trial<'b> {
    /// Notes the indices and operations of an operand; None where there is more to it.
    fn collect(&mut self, bounds: &'b Bounds, o: Operand) -> Option<()> {
        let v = match o {
            Operand::Int(_) | Operand::Bool(_) => return Some(()),
            Operand::Real(_) => return None,
            Operand::Val(v) => v,
        };
        if self.values.insert(v, Lit::Int(0)).is_some() {
            return Some(());
        }
        if let Some((op, args)) = bounds.definition(v) {
            args.iter().try_for_each(|a| self.collect(bounds, *a))?;
            self.steps.push((v, op, args));
            return Some(());
        }
        let (number, extent) = bounds.index(v)?;
        self.collect(bounds, extent)?;
        self.indices.insert(number, (v, extent));
        Some(())
    }

    /// All values of these indices; None as soon as the visitor gives None, or when there are too many.
    fn each(
        &mut self,
        indices: &[(Val, Operand)],
        visit: &mut dyn FnMut(&Trial<'b>) -> Option<()>,
    ) -> Option<()> {
        let Some(((index, extent), inner)) = indices.split_first() else {
            self.tried += 1;
            self.compute()?;
            return if self.tried > MOST { None } else { visit(self) };
        };
        self.compute()?;
        let Lit::Int(extent) = self.value(*extent)? else { return None };
        for k in 0..extent {
            self.values.insert(*index, Lit::Int(k));
            self.each(inner, visit)?;
        }
        Some(())
    }

    /// The operations at the values of the indices as they are.
    fn compute(&mut self) -> Option<()> {
        for k in 0..self.steps.len() {
            let (dst, op, args) = self.steps[k];
            let args = args.iter().map(|a| self.value(*a)).collect::<Option<Vec<Lit>>>()?;
            self.values.insert(dst, of_ints(op, &args)?);
        }
        Some(())
    }

    fn value(&self, o: Operand) -> Option<Lit> {
        match o {
            Operand::Int(k) => Some(Lit::Int(k)),
            Operand::Real(x) => Some(Lit::Real(x)),
            Operand::Bool(b) => Some(Lit::Bool(b)),
            Operand::Val(v) => self.values.get(&v).copied(),
        }
    }
}

/// No reals are met, so their precision does not matter.
fn of_ints(op: Op, args: &[Lit]) -> Option<Lit> {
    apply(op, args, Precision::Double)
}
