//! Linear tuple types, above all D's environments, under an environment of values. What one becomes is remembered, so that a variable's
//! occurrence costs the same however deep the environment lies.

use super::value::Env;
use super::{Normaliser, TypesUnder};
use crate::Error;
use lang::name::Var;
use lang::size::Size;
use lang::types::LType;
use lang::walk::Mapper;
use std::collections::HashMap;

/// What linear tuple types have become, by address and the sizes that their variables were. An entry keeps its type alive, so that the address stands for it.
pub type Known = HashMap<(usize, Vec<Size>), (LType, LType)>;

impl Normaliser<'_> {
    /// A linear type under an environment of values: its sizes are what they are there, its sums are lowered.
    pub(super) fn lty(&mut self, t: &LType, env: &Env) -> Result<LType, Error> {
        let LType::Tuple(ts) = t else { return self.mapped(t, env) };
        let value = |v: &Var| env.vars.get(v).map_or_else(|| Some(Size::var(v.clone())), |x| x.as_size());
        let Some(sizes) = ts.vars().iter().map(value).collect::<Option<Vec<Size>>>() else {
            return self.mapped(t, env);
        };
        if ts.is_plain() && ts.vars().iter().zip(&sizes).all(|(v, n)| n.as_var() == Some(v)) {
            return Ok(t.clone());
        }
        let key = (ts.address(), sizes);
        if let Some((_, found)) = self.ltypes_under.get(&key) {
            return Ok(found.clone());
        }
        let found = LType::Tuple(ts.iter().map(|t| self.lty(t, env)).collect::<Result<_, _>>()?);
        self.ltypes_under.insert(key, (t.clone(), found.clone()));
        Ok(found)
    }

    fn mapped(&mut self, t: &LType, env: &Env) -> Result<LType, Error> {
        let mut m = TypesUnder { n: self, env, error: None };
        let t = Mapper::lty(&mut m, t);
        m.error.map_or(Ok(t), Err)
    }
}
