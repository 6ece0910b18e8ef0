//! Patterns: what they bind, and the bindings they become.

use crate::codes;
use crate::env::Env;
use crate::infer::{Infer, Why};
use crate::tree::{P, PK};
use crate::ty::T;
use lang::diag::{Diagnostic, Span};
use lang::name::Name;
use lang::size::Size;
use lang::surface::{Ident, Pat, PatKind, at};
use std::collections::HashMap;

impl Infer<'_> {
    /// Binds a pattern for Cartesian values of a type; `polynomial` is the value's size, if it is one.
    pub fn pattern(&mut self, env: &mut Env, pat: &Pat, ty: &T, polynomial: Option<Size>) -> P {
        self.repeated_names(pat);
        self.bind_pattern(env, pat, ty, polynomial, false)
    }

    /// Binds a pattern for linear values.
    pub fn linear_pattern(&mut self, env: &mut Env, pat: &Pat, ty: &T) -> P {
        self.repeated_names(pat);
        self.bind_pattern(env, pat, ty, None, true)
    }

    fn bind_pattern(
        &mut self,
        env: &mut Env,
        pat: &Pat,
        ty: &T,
        polynomial: Option<Size>,
        linear: bool,
    ) -> P {
        let kind = match &pat.node {
            PatKind::Wildcard => PK::Wildcard,
            PatKind::Var(x) => {
                let v = self.supply.fresh(x.as_str());
                if linear {
                    env.bind_linear(x, &v, ty);
                } else {
                    if let Some(n) = &polynomial {
                        self.polynomials.insert(v.id, n.clone());
                    }
                    let ty = self.metas.resolve(ty);
                    env.bind(x, &v, &ty, polynomial);
                }
                PK::Var(v)
            }
            PatKind::Tuple(ps) => {
                let ts: Vec<T> = ps.iter().map(|_| self.metas.fresh()).collect();
                self.require(pat.span, ty, &T::tuple(ts.clone()), Why::Pattern);
                let ps = ps.iter().zip(&ts).map(|(p, t)| self.bind_pattern(env, p, t, None, linear));
                PK::Tuple(ps.collect())
            }
            PatKind::Record(fields) => {
                let mut fields: Vec<(Name, T, &Pat)> = fields
                    .iter()
                    .map(|(x, p)| (Name::from(x.node.as_str()), self.metas.fresh(), p))
                    .collect();
                fields.sort_by(|a, b| a.0.cmp(&b.0));
                let want = T::record(fields.iter().map(|(x, t, _)| (x.clone(), t.clone())).collect());
                self.require(pat.span, ty, &want, Why::Pattern);
                let ps = fields.iter().map(|(_, t, p)| self.bind_pattern(env, p, t, None, linear));
                PK::Record(ps.collect())
            }
            PatKind::Array(ps) => {
                let element = self.metas.fresh();
                let k = Size::constant(ps.len() as i64);
                // A length that is not known is checked at run time.
                let n = match self.metas.resolve(ty) {
                    T::Array(n, _) if self.metas.zonk_size(&n).as_constant().is_none() => n,
                    _ => k,
                };
                self.require(pat.span, ty, &T::array(n, element.clone()), Why::Pattern);
                let ps = ps.iter().map(|p| self.bind_pattern(env, p, &element, None, linear));
                PK::Array(ps.collect())
            }
            PatKind::Int(_) | PatKind::Bool(_) | PatKind::Constructor(..) => {
                self.report(
                    Diagnostic::new(codes::PATTERN, "this pattern may fail; it belongs in a `match`")
                        .label(pat.span, "not allowed here"),
                );
                PK::Wildcard
            }
        };
        P { kind, ty: ty.clone(), span: pat.span }
    }

    fn repeated_names(&mut self, pat: &Pat) {
        let mut names = vec![];
        variables(pat, &mut names);
        self.distinct("name", names.iter());
        if let PatKind::Record(fields) = &pat.node {
            self.distinct("field", fields.iter().map(|(x, _)| x));
        }
    }

    /// The parameters of one λ have names of their own.
    pub fn distinct_parameters<'p>(&mut self, pats: impl Iterator<Item = &'p Pat>) {
        // What is repeated in one of them is reported with it.
        let mut names: Vec<Ident> = vec![];
        for pat in pats {
            let mut own = vec![];
            variables(pat, &mut own);
            own.dedup_by(|a, b| a.node == b.node);
            names.extend(own);
        }
        self.distinct("parameter", names.iter());
    }

    /// Reports every name that is there already.
    pub fn distinct<'x>(&mut self, what: &str, names: impl Iterator<Item = &'x Ident>) {
        let mut first: HashMap<&str, Span> = HashMap::new();
        for x in names.filter(|x| x.node != "_") {
            match first.get(x.node.as_str()) {
                None => {
                    first.insert(&x.node, x.span);
                }
                Some(place) => self.report(
                    Diagnostic::new(codes::DUPLICATE, format!("the {what} `{}` is there twice", x.node))
                        .label(x.span, "again here")
                        .label(*place, "first here"),
                ),
            }
        }
    }
}

/// The variables a pattern binds, with their places.
fn variables(pat: &Pat, out: &mut Vec<Ident>) {
    match &pat.node {
        PatKind::Wildcard | PatKind::Int(_) | PatKind::Bool(_) => {}
        PatKind::Var(x) => out.push(at(x.clone(), pat.span)),
        PatKind::Tuple(ps) | PatKind::Array(ps) => ps.iter().for_each(|p| variables(p, out)),
        PatKind::Record(fs) => fs.iter().for_each(|(_, p)| variables(p, out)),
        PatKind::Constructor(_, p) => p.iter().for_each(|p| variables(p, out)),
    }
}

/// The names a pattern binds.
pub fn collect(pat: &Pat, out: &mut Vec<String>) {
    let mut names = vec![];
    variables(pat, &mut names);
    out.extend(names.into_iter().map(|x| x.node));
}
