//! Definitions at types and sizes: a scheme with metavariables for what it binds, and what is written in brackets for them.

use super::Instance;
use crate::codes;
use crate::env::{Env, Scheme, Types};
use crate::infer::{Infer, Why};
use crate::tree::{Head, K, Te};
use crate::ty::T;
use lang::diag::{Diagnostic, Span};
use lang::name::Var;
use lang::size::Size;
use lang::surface::{BinOp, Expr, ExprKind, SizeExpr, SizeKind, TyArg, TyKind, at};
use std::collections::HashMap;

impl Infer<'_> {
    /// A scheme with metavariables for what it binds, some of them given in brackets.
    pub(super) fn instantiate(
        &mut self,
        env: &Env,
        head: Head,
        scheme: &Scheme,
        targs: Option<&[TyArg]>,
        at: Span,
    ) -> Instance {
        let mut types: Vec<T> = scheme.types.iter().map(|_| self.metas.fresh()).collect();
        let mut sizes: Vec<Size> = scheme.sizes.iter().map(|v| self.metas.fresh_size(&v.name)).collect();
        if let Some(targs) = targs {
            self.explicit(env, targs, &mut types, &mut sizes, at);
        }
        let mut replace: HashMap<u32, Size> =
            scheme.sizes.iter().map(|v| v.id).zip(sizes.iter().cloned()).collect();
        let mut dependent = vec![];
        for p in &scheme.params {
            let n = p.dependent.then(|| self.metas.fresh_size(&p.name));
            if let Some(n) = &n {
                replace.insert(p.var.id, n.clone());
            }
            dependent.push(n);
        }
        let opened: Vec<Var> = scheme.exists.iter().map(|k| self.supply.renew(k)).collect();
        self.nonneg.extend(opened.iter().map(|k| k.id));
        replace.extend(scheme.exists.iter().zip(&opened).map(|(k, v)| (k.id, Size::var(v.clone()))));
        let ty = |t: &T| {
            let type_of =
                |a: &lang::name::Name| scheme.types.iter().position(|b| a == b).map(|k| types[k].clone());
            t.subst(&type_of, &|v| replace.get(&v.id).cloned())
        };
        let params = scheme
            .params
            .iter()
            .zip(dependent)
            .map(|(p, n)| (ty(&p.ty), n, Some(p.name.clone()).filter(|x| !x.starts_with('_'))))
            .collect();
        let result = ty(&scheme.result);
        Instance { head, types, sizes, params, opened, result }
    }

    /// Type and size arguments in brackets, in the order of the definition's own brackets: types and sizes each in order.
    fn explicit(&mut self, env: &Env, targs: &[TyArg], types: &mut [T], sizes: &mut [Size], at: Span) {
        let sigs = self.sigs;
        let (mut t, mut n) = (0, 0);
        for arg in targs {
            let mut conv = Types::new(sigs, &mut self.diags);
            let as_size = match arg {
                TyArg::Size(_) => true,
                TyArg::Ty(ty) => matches!(&ty.node, lang::surface::TyKind::Name(x, a)
                    if a.is_empty() && env.scope.sizes.contains_key(&x.node)),
            };
            if as_size && n < sizes.len() {
                if let Some(s) = conv.size_argument(&env.scope, arg, at) {
                    let _ = self.metas.unify_size(&sizes[n], &s);
                }
                n += 1;
            } else if let (TyArg::Ty(ty), true) = (arg, t < types.len()) {
                types[t] = conv.ty(&env.scope, ty);
                t += 1;
            } else {
                self.report(
                    Diagnostic::new(
                        codes::TYPE_ARGUMENTS,
                        format!("{} type and {} size arguments fit here", types.len(), sizes.len()),
                    )
                    .label(at, "these arguments do not")
                    .help("to apply a function to an array, leave a space before the bracket: `f [x]`"),
                );
                return;
            }
        }
    }

    /// zero[τ] as a Cartesian value, unread[τ]
    pub(super) fn of_type(&mut self, env: &Env, name: &str, targs: &[TyArg], at: Span) -> Te {
        let zero = name == "zero";
        let ty = match targs {
            [TyArg::Ty(t)] => {
                let ty = self.written(env, t);
                if zero {
                    let mut types = Types::new(self.sigs, &mut self.diags);
                    if !types.linear(&ty, t.span) {
                        return Te::error(at);
                    }
                }
                ty
            }
            _ => {
                self.report(
                    Diagnostic::new(codes::TYPE_ARGUMENTS, format!("`{name}` takes one type: {name}[τ]"))
                        .label(at, "here"),
                );
                T::Error
            }
        };
        Te::new(if zero { K::Zero } else { K::Unread }, ty, at)
    }

    /// inject[τ] k e: summand k of the sum type τ.
    pub(super) fn inject(&mut self, env: &Env, targs: &[TyArg], args: &[&Expr], at: Span, span: Span) -> Te {
        let ty = match targs {
            [TyArg::Ty(t)] => self.written(env, t),
            _ => T::Error,
        };
        let (T::Sum(s), [k, e, rest @ ..]) = (self.metas.resolve(&ty), args) else {
            let d = Diagnostic::new(codes::TYPE_ARGUMENTS, "`inject` is written inject[τ] k e, τ a sum type");
            self.report(d.label(at, "here"));
            return Te::error(span);
        };
        let Some(k) = self.summand(k, &s) else { return Te::error(span) };
        let why = Why::Argument { function: "inject", number: 2, name: None };
        let payload = self.check(env, e, &s.arms[k].1, why);
        self.apply_all(env, Te::new(K::Inject(k, Box::new(payload)), ty, span), rest, span)
    }

    /// The number of a summand, written as a numeral.
    pub fn summand(&mut self, e: &Expr, sum: &crate::ty::Sum) -> Option<usize> {
        match &e.node {
            ExprKind::Int(k) if (0..sum.arms.len() as i64).contains(k) => Some(*k as usize),
            _ => {
                let message =
                    format!("the summands of this type are numbered 0 to {}", sum.arms.len() as i64 - 1);
                self.report(Diagnostic::new(codes::TYPE_ARGUMENTS, message).label(e.span, "no summand"));
                None
            }
        }
    }
}

/// An expression in brackets as the type or the size that the same text is.
pub(super) fn type_argument(e: &Expr) -> Option<TyArg> {
    let ty = |e: &Expr| match type_argument(e)? {
        TyArg::Ty(t) => Some(t),
        TyArg::Size(_) => None,
    };
    let node = match &e.node {
        ExprKind::Var(x) => TyKind::Name(at(x.clone(), e.span), vec![]),
        ExprKind::Field(m, x) => match &m.node {
            ExprKind::Var(m) => TyKind::Name(at(format!("{m}.{}", x.node), e.span), vec![]),
            _ => return None,
        },
        ExprKind::Tuple(es) => TyKind::Tuple(es.iter().map(ty).collect::<Option<_>>()?),
        ExprKind::Binary(BinOp::Pow, t, n) => {
            let sizes = match &n.node {
                ExprKind::Tuple(ns) => ns.iter().map(size_argument).collect::<Option<_>>()?,
                _ => vec![size_argument(n)?],
            };
            TyKind::Power(Box::new(ty(t)?), sizes)
        }
        _ => return Some(TyArg::Size(size_argument(e)?)),
    };
    Some(TyArg::Ty(at(node, e.span)))
}

fn size_argument(e: &Expr) -> Option<SizeExpr> {
    let two = |a: &Expr, b: &Expr| Some((Box::new(size_argument(a)?), Box::new(size_argument(b)?)));
    let node = match &e.node {
        ExprKind::Var(x) => SizeKind::Var(x.clone()),
        ExprKind::Int(k) => SizeKind::Int(*k),
        ExprKind::Binary(BinOp::Add, a, b) => two(a, b).map(|(a, b)| SizeKind::Add(a, b))?,
        ExprKind::Binary(BinOp::Sub, a, b) => two(a, b).map(|(a, b)| SizeKind::Sub(a, b))?,
        ExprKind::Binary(BinOp::Mul, a, b) => two(a, b).map(|(a, b)| SizeKind::Mul(a, b))?,
        _ => return None,
    };
    Some(at(node, e.span))
}
