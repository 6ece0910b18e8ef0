//! Patterns: what they bind, and the bindings they become.

use crate::codes;
use crate::env::{Env, Meaning, TypeScope, Types};
use crate::infer::{Infer, Why};
use crate::modules;
use crate::tree::{P, PK};
use crate::ty::T;
use lang::diag::{Diagnostic, Span};
use lang::name::Name;
use lang::size::Size;
use lang::surface::{Ident, Pat, PatKind, TypeParam, at};
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

    /// Binds a pattern that may fail.
    pub fn arm_pattern(&mut self, env: &mut Env, pat: &Pat, ty: &T) -> P {
        self.repeated_names(pat);
        self.may_fail = true;
        let p = self.bind_pattern(env, pat, ty, None, false);
        self.may_fail = false;
        p
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
            PatKind::Int(k) if self.may_fail => {
                self.require(pat.span, ty, &T::Int, Why::Pattern);
                PK::Int(*k)
            }
            PatKind::Bool(b) if self.may_fail => {
                self.require(pat.span, ty, &T::Bool, Why::Pattern);
                PK::Bool(*b)
            }
            PatKind::Constructor(c, payload) if self.may_fail => {
                self.constructor_pattern(env, c, payload.as_deref(), ty, pat.span)
            }
            PatKind::Int(_) | PatKind::Bool(_) | PatKind::Constructor(..) => {
                self.report(
                    Diagnostic::new(codes::PATTERN, "this pattern may fail; it belongs in a `match`")
                        .label(pat.span, "not allowed here"),
                );
                if let PatKind::Constructor(_, Some(p)) = &pat.node {
                    self.bind_pattern(env, p, &T::Error, None, linear);
                }
                PK::Wildcard
            }
        };
        P { kind, ty: ty.clone(), span: pat.span }
    }

    fn constructor_pattern(
        &mut self,
        env: &mut Env,
        c: &Ident,
        payload: Option<&Pat>,
        ty: &T,
        span: Span,
    ) -> PK {
        let anonymous = match self.metas.resolve(ty) {
            T::Sum(s) => s.summand(&c.node).map(|k| (T::Sum(s), k, true)),
            _ => None,
        };
        let Some((sum, k, has_payload)) = anonymous.or_else(|| self.constructor(&c.node)) else {
            let known = &self.sigs.constructors;
            if c.node.contains('.') {
                let d = modules::unknown_member(self.sigs, &c.node, "constructor", c.span, known.keys());
                d.into_iter().for_each(|d| self.report(d));
            } else {
                let d = Diagnostic::new(codes::UNKNOWN_NAME, format!("there is no constructor `{}`", c.node))
                    .label(c.span, "not found");
                self.report(crate::suggest::with(d, &c.node, known.keys().map(String::as_str)));
            }
            if let Some(p) = payload {
                self.bind_pattern(env, p, &T::Error, None, false);
            }
            return PK::Wildcard;
        };
        self.require(span, ty, &sum, Why::Pattern);
        let payload_ty = match &sum {
            T::Sum(s) => s.arms[k].1.clone(),
            _ => T::Error,
        };
        let wildcard = P { kind: PK::Wildcard, ty: payload_ty.clone(), span };
        let payload = match (payload, has_payload) {
            (Some(p), true) => self.bind_pattern(env, p, &payload_ty, None, false),
            (None, false) => wildcard,
            (given, _) => {
                let (what, help) = match given {
                    Some(_) => ("carries no value", format!("write `{}`", c.node)),
                    None => ("carries a value", format!("write `{} _`, or a pattern for the value", c.node)),
                };
                self.report(
                    Diagnostic::new(codes::PATTERN, format!("the constructor `{}` {what}", c.node))
                        .label(span, "this pattern does not fit")
                        .help(help),
                );
                if let Some(p) = given {
                    self.bind_pattern(env, p, &T::Error, None, false);
                }
                wildcard
            }
        };
        PK::Constructor(k, Box::new(payload))
    }

    /// The sum type a constructor is of, at new arguments; which of its summands it makes, and whether it carries a value.
    pub fn constructor(&mut self, c: &str) -> Option<(T, usize, bool)> {
        let sigs = self.sigs;
        let (name, k) = sigs.constructors.get(c)?;
        let sum = sigs.aliases.get(name)?;
        let Meaning::Sum(arms) = &sum.meaning else { return Some((T::Error, *k, true)) };
        let has_payload = arms.get(*k)?.1.is_some();
        let mut scope = TypeScope::default();
        for p in &sum.params {
            match p {
                TypeParam::Type(a) => drop(scope.types.insert(a.node.clone(), self.metas.fresh())),
                TypeParam::Size(n) => {
                    drop(scope.sizes.insert(n.node.clone(), self.metas.fresh_size(&n.node)))
                }
            }
        }
        let mut types = Types::new(sigs, &mut self.diags);
        Some((types.meaning(sum, &scope), *k, has_payload))
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
