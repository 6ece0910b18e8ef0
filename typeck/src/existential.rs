//! Existential sizes: `[?k]τ` in the result of a definition is an array of some length that its arguments do not determine.
//!
//! In Core there are two definitions for it. `f?k` computes the size: it is f with, at its ends, the size of the array in place of the array. `f`
//! takes the size and gives the array, asserted to have it. A call computes the one, names it, and gives it to the other: so the size is an
//! int in the scope of the call, as every size that is no polynomial. What both compute is computed once, where the optimiser sees it.

use crate::calls::Instance;
use crate::codes;
use crate::env::Env;
use crate::infer::{Infer, Why, wrap};
use crate::tree::{Head, K, P, PK, Te};
use crate::ty::T;
use lang::diag::{Diagnostic, Span};
use lang::name::Var;
use lang::size::Size;
use lang::surface::{Expr, SizeExpr, SizeKind, Ty, TyArg, TyKind};

/// The definition that computes the size `k` of the results of `f`.
pub fn measure(f: &str, k: &Var) -> String {
    format!("{f}?{}", k.name)
}

/// The names of the existential sizes in a type, each once; not in functions, whose results have no place to name them.
pub fn names<'t>(t: &'t Ty, out: &mut Vec<&'t str>) {
    match &t.node {
        TyKind::Name(_, args) => {
            for a in args {
                match a {
                    TyArg::Ty(t) => names(t, out),
                    TyArg::Size(n) => in_size(n, out),
                }
            }
        }
        TyKind::Tuple(ts) => ts.iter().for_each(|t| names(t, out)),
        TyKind::Record(fs) => fs.iter().for_each(|(_, t)| names(t, out)),
        TyKind::Array(n, t) => {
            in_size(n, out);
            names(t, out);
        }
        TyKind::Power(t, ns) => {
            ns.iter().for_each(|n| in_size(n, out));
            names(t, out);
        }
        TyKind::Tangent(t) => names(t, out),
        TyKind::Var(_) | TyKind::Error | TyKind::Fun(..) | TyKind::LinFun(..) | TyKind::Copower(..) => {}
    }
}

fn in_size<'t>(n: &'t SizeExpr, out: &mut Vec<&'t str>) {
    match &n.node {
        SizeKind::Exists(k) => {
            if !out.contains(&k.as_str()) {
                out.push(k);
            }
        }
        SizeKind::Int(_) | SizeKind::Var(_) => {}
        SizeKind::Add(a, b) | SizeKind::Sub(a, b) | SizeKind::Mul(a, b) => {
            in_size(a, out);
            in_size(b, out);
        }
    }
}

impl Infer<'_> {
    /// An end of a body whose result has existential sizes: some sizes for them. None where the result has none.
    pub(crate) fn pack(&mut self, env: &Env, e: &Expr, want: &T, why: Why) -> Option<Te> {
        if self.packing.is_empty() {
            return None;
        }
        let in_type = want.size_vars();
        let here: Vec<Var> = self.packing.iter().filter(|k| in_type.contains(k)).cloned().collect();
        if here.is_empty() {
            return None;
        }
        let sizes: Vec<Size> = here.iter().map(|k| self.metas.fresh_size(&k.name)).collect();
        let open = want.subst(&|_| None, &|v| here.iter().position(|k| k == v).map(|i| sizes[i].clone()));
        let t = self.infer(env, e);
        let ty = t.ty.clone();
        self.require(e.span, &ty, &open, why);
        let sizes = here.into_iter().zip(sizes).collect();
        Some(Te::new(K::Pack(Box::new(t), sizes), want.clone(), e.span))
    }

    /// `let p : [?k]τ = e`: k is the size that it turns out to be, an int in the body.
    pub(crate) fn opening(&mut self, env: &Env, t: &Ty) -> (Env, Vec<(String, Size)>) {
        let mut found = vec![];
        names(t, &mut found);
        let mut inner = env.clone();
        let mut opened = vec![];
        for k in found {
            let n = self.metas.fresh_size(k);
            inner.scope.exists.insert(k.into(), n.clone());
            opened.push((k.to_string(), n));
        }
        (inner, opened)
    }

    /// The opened sizes as ints of a scope; what they are is to stand around the body.
    pub(crate) fn bind_opened(
        &mut self,
        env: &mut Env,
        opened: Vec<(String, Size)>,
        span: Span,
    ) -> Vec<(P, Te)> {
        let mut lets = vec![];
        for (k, n) in opened {
            let (v, n) = (self.supply.fresh(k.as_str()), self.metas.zonk_size(&n));
            self.polynomials.insert(v.id, n.clone());
            env.bind(&k, &v, &T::Int, Some(n.clone()));
            lets.push((P::var(&v, &T::Int, span), Te::new(K::Size(n), T::Int, span)));
        }
        lets
    }

    /// A call of a definition whose result has existential sizes: its arguments named, its sizes computed, then itself.
    pub(crate) fn measured(&mut self, name: &str, instance: Instance, args: Vec<Te>, span: Span) -> Te {
        let Instance { head, types, sizes, opened, result, .. } = instance;
        let (f, inputs) = match &head {
            Head::Def(f, inputs) if !opened.is_empty() => (f.clone(), inputs.clone()),
            _ => return Te::new(K::Op { head, types, sizes, args }, result, span),
        };
        let mut lets = vec![];
        let mut all = vec![];
        for arg in args {
            if matches!(arg.kind, K::Var(_) | K::Num(_) | K::Lit(_) | K::Size(_)) {
                all.push(arg);
                continue;
            }
            let v = self.supply.fresh("a");
            let (ty, at) = (arg.ty.clone(), arg.span);
            all.push(Te::var(&v, &ty, at));
            lets.push((P::var(&v, &ty, at), arg));
        }
        let mut binds = vec![];
        for k in &opened {
            let head = Head::Def(measure(&f, k), inputs.clone());
            let op = K::Op { head, types: types.clone(), sizes: sizes.clone(), args: all.clone() };
            binds.push((k.clone(), Te::new(op, T::Int, span)));
            self.opened.insert(k.id, name.to_string());
        }
        let sizes = sizes.into_iter().chain(opened.iter().map(|k| Size::var(k.clone()))).collect();
        let call = wrap(binds, Te::new(K::Op { head, types, sizes, args: all }, result, span));
        lets.into_iter().rev().fold(call, |body, (p, t)| {
            let ty = body.ty.clone();
            Te::new(K::Let(p, Box::new(t), Box::new(body)), ty, span)
        })
    }

    /// The size that leaves its scope is one that a call has opened.
    pub(crate) fn opened_escapes(&self, v: &Var, shown: &str, span: Span) -> Option<Diagnostic> {
        let f = self.opened.get(&v.id)?;
        let message =
            format!("the size ?{} of the result of `{f}` leaves its scope in the type {shown}", v.name);
        Some(
            Diagnostic::new(codes::EXISTENTIAL_ESCAPES, message)
                .label(span, format!("outside of this nothing is known of {}", v.name))
                .help("use the array inside, assert a size with `as`, or let the definition's result have the size: `[?k]τ`"),
        )
    }
}

/// A body with sizes to pack, as the array: asserted to have the sizes that are given.
pub(crate) fn array(t: &Te) -> Te {
    ends(t, &t.ty, &|e, _| K::As(Box::new(e.clone())))
}

/// A body with sizes to pack, as one of the sizes.
pub(crate) fn size(t: &Te, k: &Var) -> Te {
    ends(t, &T::Int, &|e, sizes| {
        let n = sizes.iter().find(|(v, _)| v == k).map(|(_, n)| n.clone()).unwrap_or_default();
        let unused = P { kind: PK::Wildcard, ty: e.ty.clone(), span: e.span };
        // The size may be named in the array's term.
        K::Let(unused, Box::new(e.clone()), Box::new(Te::new(K::Size(n), T::Int, e.span)))
    })
}

/// A body with something else at its ends.
fn ends(t: &Te, ty: &T, end: &dyn Fn(&Te, &[(Var, Size)]) -> K) -> Te {
    let inner = |t: &Te| Box::new(ends(t, ty, end));
    let kind = match &t.kind {
        K::Pack(e, sizes) => end(e, sizes),
        K::If(c, a, b) => K::If(c.clone(), inner(a), inner(b)),
        K::Let(p, s, b) => K::Let(p.clone(), s.clone(), inner(b)),
        K::Bind(binds, b) => K::Bind(binds.clone(), inner(b)),
        K::Match(s, arms) => {
            K::Match(s.clone(), arms.iter().map(|(p, b)| (p.clone(), ends(b, ty, end))).collect())
        }
        // Nothing else is checked against a type with sizes to pack; what is wrong has been reported.
        _ => return t.clone(),
    };
    Te::new(kind, ty.clone(), t.span)
}
