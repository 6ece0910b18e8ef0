//! Types and sizes.

use super::names::Names;
use super::{ident, some};
use crate::core;
use crate::name::Var;
use crate::size::Size;
use crate::surface::*;
use crate::types::{LType, Type};
use crate::walk::Mapper;
use std::collections::BTreeSet;

/// The field of a record that stands for a tuple of one component.
pub const ONLY: &str = "it";

fn name(x: &str) -> Ty {
    some(TyKind::Name(ident(x), vec![]))
}

fn tuple(mut ts: Vec<Ty>) -> Ty {
    some(match ts.len() {
        1 => TyKind::Record(vec![(ident(ONLY), ts.remove(0))]),
        _ => TyKind::Tuple(ts),
    })
}

fn sum(arms: Vec<Ty>) -> Ty {
    some(TyKind::Name(ident("sum"), arms.into_iter().map(TyArg::Ty).collect()))
}

/// In0 p
pub fn arm(i: usize, p: Pat) -> Pat {
    some(PatKind::Constructor(ident(&format!("In{i}")), Some(Box::new(p))))
}

pub fn ty(t: &Type, names: &Names) -> Ty {
    let all = |ts: &[Type]| ts.iter().map(|t| ty(t, names)).collect();
    match t {
        Type::Real => name("real"),
        Type::Int => name("int"),
        Type::Bool => name("bool"),
        Type::Tuple(ts) => tuple(all(ts)),
        Type::Sum(ts) => sum(all(ts)),
        Type::Array(n, t) => array(n, ty(t, names), names),
        Type::Fun(a, b) => some(TyKind::Fun(Box::new(ty(a, names)), Box::new(ty(b, names)))),
        Type::Param(a) => some(TyKind::Var(a.to_string())),
        Type::Lin(a, b) => some(TyKind::LinFun(Box::new(lty(a, names)), Box::new(lty(b, names)))),
    }
}

pub fn lty(t: &LType, names: &Names) -> Ty {
    let all = |ts: &[LType]| ts.iter().map(|t| lty(t, names)).collect();
    match t {
        LType::Real => name("real"),
        LType::Tuple(ts) => tuple(all(ts)),
        LType::Sum(ts) => sum(all(ts)),
        LType::Array(n, t) => array(n, lty(t, names), names),
        LType::Power(a, b) => some(TyKind::Fun(Box::new(ty(a, names)), Box::new(lty(b, names)))),
        LType::Copower(a, b) => some(TyKind::Copower(Box::new(ty(a, names)), Box::new(lty(b, names)))),
        LType::Param(a) => some(TyKind::Tangent(Box::new(some(TyKind::Var(a.to_string()))))),
    }
}

/// [n]τ; of reals as a power, all dimensions together.
fn array(n: &Size, t: Ty, names: &Names) -> Ty {
    let n = size(n, names);
    some(match t.node {
        TyKind::Power(t, mut ns) => {
            ns.insert(0, n);
            TyKind::Power(t, ns)
        }
        TyKind::Name(x, args) if x.node == "real" => {
            TyKind::Power(Box::new(some(TyKind::Name(x, args))), vec![n])
        }
        node => TyKind::Array(n, Box::new(some(node))),
    })
}

pub fn size(n: &Size, names: &Names) -> SizeExpr {
    let pair =
        |make: fn(Box<SizeExpr>, Box<SizeExpr>) -> SizeKind, a, b| some(make(Box::new(a), Box::new(b)));
    let product = |c: u64, m: &[crate::name::Var]| {
        let factors = m.iter().map(|v| some(SizeKind::Var(names.of(v).to_string())));
        let first = (c != 1 || m.is_empty()).then(|| some(SizeKind::Int(c as i64)));
        let all = first.into_iter().chain(factors);
        all.reduce(|a, b| pair(SizeKind::Mul, a, b)).unwrap_or_else(|| some(SizeKind::Int(1)))
    };
    let mut sum: Option<SizeExpr> = None;
    for (m, c) in n.terms.iter().rev() {
        let term = product(c.unsigned_abs(), m);
        sum = Some(match (sum, *c < 0) {
            (None, false) => term,
            (None, true) => pair(SizeKind::Sub, some(SizeKind::Int(0)), term),
            (Some(s), false) => pair(SizeKind::Add, s, term),
            (Some(s), true) => pair(SizeKind::Sub, s, term),
        });
    }
    sum.unwrap_or_else(|| some(SizeKind::Int(0)))
}

/// A size between the brackets of a type application, where a bare name is read as a type.
pub fn size_arg(n: &Size, names: &Names) -> TyArg {
    match size(n, names).node {
        SizeKind::Var(x) => TyArg::Ty(name(&x)),
        node => TyArg::Size(some(node)),
    }
}

/// Do the arguments of a definition say what its sizes are?
pub fn determined(d: &core::Def) -> bool {
    struct Solved(BTreeSet<Var>);
    impl Mapper for Solved {
        fn size(&mut self, n: &Size) -> Size {
            let lone = n.terms.iter().filter(|(m, c)| m.len() == 1 && **c == 1);
            self.0.extend(lone.map(|(m, _)| m[0].clone()));
            n.clone()
        }
    }
    let mut solved = Solved(BTreeSet::new());
    d.params.iter().for_each(|p| drop(solved.ty(&p.ty)));
    d.sizes.iter().all(|n| solved.0.contains(n))
}
