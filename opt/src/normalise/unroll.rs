//! Recursion at sizes that are known: a call of a recursive definition is applied like any other where all its sizes are constants and
//! every call inside has smaller ones. What is left are loops in loops, without a call at run time. Where that does not end
//! soon, or makes too much of it, the first call is one at run time after all ([`super::calls`]).

use super::Normaliser;
use super::value::V;
use crate::Error;
use lang::core::Def;
use lang::name::Name;
use lang::size::Size;
use lang::types::Type;
use std::collections::HashSet;
use std::sync::Arc;

/// How many calls of a definition may be applied inside each other, and how many lets that may make.
const LEVELS: usize = 16;
const LETS: usize = 4_000;

/// A definition at sizes.
type At = (Name, Vec<i64>);

/// The recursive calls that are being applied.
#[derive(Default)]
pub(super) struct Unrolling {
    /// The innermost last.
    active: Vec<At>,
    /// The lets there were before the first of a kind.
    lets: usize,
    /// The first of the innermost kind is to be a call at run time.
    gave_up: bool,
    /// Those that were given up.
    at_run_time: HashSet<At>,
}

impl Normaliser<'_> {
    /// A call of a recursive definition.
    pub(super) fn call_recursive(
        &mut self,
        d: &Arc<Def>,
        types: &[Type],
        sizes: &[Size],
        values: &[V],
        name: &str,
    ) -> Result<V, Error> {
        let constants: Option<Vec<i64>> = sizes.iter().map(Size::as_constant).collect();
        let Some(constants) = constants.filter(|ks| !ks.is_empty() && !self.is_specialised(&d.name)) else {
            return self.call_at_run_time(d, types, sizes, values, name);
        };
        let at = (d.name.clone(), constants);
        let around: Vec<&At> = self.unrolling.active.iter().filter(|(f, _)| *f == d.name).collect();
        if let Some((_, outer)) = around.last() {
            let enough = around.len() >= LEVELS || self.made - self.unrolling.lets > LETS;
            if enough || !smaller(&at.1, outer) {
                self.unrolling.gave_up = true;
                return Err(Error::too_deep(&d.name, LEVELS));
            }
            return self.apply_level(at, d, types, sizes, values, name);
        }
        if self.unrolling.at_run_time.contains(&at) {
            return self.call_at_run_time(d, types, sizes, values, name);
        }
        let (specialised, depth, operator) = (self.calls.made.len(), self.depth, self.operator.clone());
        let (active, lets) = (self.unrolling.active.len(), self.unrolling.lets);
        self.unrolling.lets = self.made;
        let applied = self.region(|n| n.apply_level(at.clone(), d, types, sizes, values, name));
        self.unrolling.lets = lets;
        match applied {
            Ok((value, items)) => {
                self.regions.last_mut().expect("a region is open").extend(items);
                Ok(value)
            }
            Err(_) if std::mem::take(&mut self.unrolling.gave_up) => {
                // As if it had not been tried.
                self.calls.made.truncate(specialised);
                self.unrolling.active.truncate(active);
                (self.depth, self.operator) = (depth, operator);
                self.unrolling.at_run_time.insert(at);
                self.call_at_run_time(d, types, sizes, values, name)
            }
            Err(error) => Err(error),
        }
    }

    fn apply_level(
        &mut self,
        at: At,
        d: &Arc<Def>,
        types: &[Type],
        sizes: &[Size],
        values: &[V],
        name: &str,
    ) -> Result<V, Error> {
        self.unrolling.active.push(at);
        let value = self.apply_call(d, types, sizes, values, name)?;
        self.unrolling.active.pop();
        Ok(value)
    }
}

/// No size is larger, one is smaller, and none is negative.
fn smaller(sizes: &[i64], outer: &[i64]) -> bool {
    let none_larger = sizes.iter().zip(outer).all(|(k, n)| 0 <= *k && k <= n);
    none_larger && sizes != outer
}
