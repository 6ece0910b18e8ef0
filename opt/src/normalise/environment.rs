//! Linear tuple types, above all D's environments: nested pairs that share their tails. What is asked of one is remembered by its address,
//! so that a variable's occurrence costs the same however deep the environment lies.

use super::value::Env;
use super::{Normaliser, TypesUnder};
use crate::Error;
use lang::name::Var;
use lang::size::Size;
use lang::types::{LType, Type};
use lang::walk::{Mapper, map_ltype, map_type};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// What is known of linear tuple types; an entry keeps its type alive, so that the address stands for it.
#[derive(Default)]
pub struct Known {
    facts: HashMap<usize, (Arc<[LType]>, Facts)>,
    /// A type with these sizes for its variables.
    under: HashMap<(usize, Vec<Size>), LType>,
}

#[derive(Clone)]
struct Facts {
    /// How many binders it has, as an environment.
    depth: usize,
    /// The variables of its sizes.
    vars: Rc<BTreeSet<Var>>,
    /// A sum occurs in it.
    sums: bool,
}

impl Normaliser<'_> {
    /// How many binders an environment has.
    pub(super) fn depth(&mut self, env: &LType) -> usize {
        match env {
            LType::Tuple(ts) => self.facts(ts).depth,
            LType::Real | LType::Sum(_) | LType::Array(..) => 0,
            LType::Power(..) | LType::Copower(..) | LType::Param(_) => 0,
        }
    }

    /// A linear type under an environment of values: its sizes are what they are there, its sums are lowered.
    pub(super) fn lty(&mut self, t: &LType, env: &Env) -> Result<LType, Error> {
        let LType::Tuple(ts) = t else { return self.mapped(t, env) };
        let facts = self.facts(ts);
        let value = |v: &Var| env.vars.get(v).map_or_else(|| Some(Size::var(v.clone())), |x| x.as_size());
        let Some(sizes) = facts.vars.iter().map(value).collect::<Option<Vec<Size>>>() else {
            return self.mapped(t, env);
        };
        if !facts.sums && facts.vars.iter().zip(&sizes).all(|(v, n)| n.as_var() == Some(v)) {
            return Ok(t.clone());
        }
        let key = (ts.as_ptr() as usize, sizes);
        if let Some(found) = self.known.under.get(&key) {
            return Ok(found.clone());
        }
        let found = LType::Tuple(ts.iter().map(|t| self.lty(t, env)).collect::<Result<_, _>>()?);
        self.known.under.insert(key, found.clone());
        Ok(found)
    }

    fn mapped(&mut self, t: &LType, env: &Env) -> Result<LType, Error> {
        let mut m = TypesUnder { n: self, env, error: None };
        let t = Mapper::lty(&mut m, t);
        m.error.map_or(Ok(t), Err)
    }

    fn facts(&mut self, ts: &Arc<[LType]>) -> Facts {
        let key = ts.as_ptr() as usize;
        match self.known.facts.get(&key) {
            // The empty tuples all have one address.
            Some((_, facts)) if !ts.is_empty() => return facts.clone(),
            Some(_) | None => {}
        }
        let mut all = Facts { depth: 0, vars: Rc::default(), sums: false };
        for t in ts.iter() {
            let part = match t {
                LType::Tuple(ts) => self.facts(ts),
                LType::Real | LType::Param(_) => continue,
                LType::Sum(_) | LType::Array(..) | LType::Power(..) | LType::Copower(..) => {
                    let mut seen = Seen::default();
                    seen.lty(t);
                    Facts { depth: 0, vars: Rc::new(seen.vars), sums: seen.sums }
                }
            };
            all.sums |= part.sums;
            if all.vars.is_empty() {
                all.vars = part.vars;
            } else if !part.vars.is_subset(&all.vars) {
                all.vars = Rc::new(all.vars.union(&part.vars).cloned().collect());
            }
        }
        if let [tail, _] = &ts[..] {
            all.depth = 1 + self.depth(tail);
        }
        self.known.facts.insert(key, (ts.clone(), all.clone()));
        all
    }
}

/// The variables of the sizes in a type, and whether there is a sum.
#[derive(Default)]
struct Seen {
    vars: BTreeSet<Var>,
    sums: bool,
}

impl Mapper for Seen {
    fn size(&mut self, n: &Size) -> Size {
        self.vars.extend(n.vars().cloned());
        n.clone()
    }
    fn ty(&mut self, t: &Type) -> Type {
        self.sums |= matches!(t, Type::Sum(_));
        map_type(self, t)
    }
    fn lty(&mut self, t: &LType) -> LType {
        self.sums |= matches!(t, LType::Sum(_));
        map_ltype(self, t)
    }
}
