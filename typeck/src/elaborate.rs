//! From the typed tree to Core: overloading resolved, everything explicit.
//!
//! A `let` whose variable occurs in the type of what it scopes over (an int that is a size) is moved outwards as far as the
//! enclosing body, branch or iteration ([`Elaborate::scoped`]), so that every type is in scope where it is used.

use crate::builtin::{self, Row};
use crate::codes;
use crate::diff;
use crate::infer::Infer;
use crate::tree::{Head, K, P, PK, Te};
use crate::ty::{T, is_size_meta};
use lang::core::make::*;
use lang::core::{Binder, Lit, Term, Tm};
use lang::diag::{Diagnostic, Failure, Site, Span};
use lang::name::Var;
use lang::prim::{Prim, Scalar};
use lang::size::Size;
use lang::types::{LType, Type};
use std::collections::HashSet;
use std::sync::Arc;

/// What stands around a term, outermost first.
pub enum Around {
    Let(Binder, Tm),
    Check { cond: Tm, failure: Failure, details: Vec<Tm>, site: Site },
}

pub struct Elaborate<'s> {
    pub inf: Infer<'s>,
    pub floats: Vec<Around>,
    /// Ints in scope.
    ints: HashSet<u32>,
    escapes_reported: bool,
    /// Something that was reported elsewhere is a part of this: there is no Core.
    pub failed: bool,
}

pub fn wrap(around: Vec<Around>, body: Tm) -> Tm {
    around.into_iter().rev().fold(body, |body, a| match a {
        Around::Let(x, t) => let_(x, t, body),
        Around::Check { cond, failure, details, site } => {
            Arc::new(Term::Check { cond, failure, details, site, body })
        }
    })
}

/// A variable, a literal, or a path into a variable: nothing is computed by naming it again.
pub fn is_path(t: &Tm) -> bool {
    match &**t {
        Term::Var(_) | Term::Lit(_) => true,
        Term::Proj(t, _) => is_path(t),
        Term::Index(a, i, _) => is_path(a) && matches!(**i, Term::Var(_) | Term::Lit(_)),
        _ => false,
    }
}

pub fn is_atom(t: &Tm) -> bool {
    matches!(**t, Term::Var(_) | Term::Lit(_))
}

impl<'s> Elaborate<'s> {
    pub fn new(inf: Infer<'s>) -> Elaborate<'s> {
        Elaborate { inf, floats: vec![], ints: HashSet::new(), escapes_reported: false, failed: false }
    }

    pub fn site(&self, span: Span) -> Site {
        let span = Span {
            start: span.start.saturating_sub(self.inf.base),
            end: span.end.saturating_sub(self.inf.base),
        };
        Site { def: self.inf.def.clone(), span }
    }

    pub fn bring_into_scope(&mut self, v: &Var) {
        self.ints.insert(v.id);
    }

    // ---- Types ------------------------------------------------------------------------------------------------

    /// The Core type at a place: nothing open, every size in scope.
    pub fn ty(&mut self, t: &T, span: Span) -> Type {
        let t = self.closed(t, span);
        match t.to_type() {
            Some(ty) => {
                if functions_in_arrays(&ty) {
                    self.inf.report(
                        Diagnostic::new(codes::ELEMENT, format!("{} is an array of functions", t.show()))
                            .label(span, "elements of arrays are first-order"),
                    );
                }
                ty
            }
            None => {
                self.failed = true;
                if !t.any(&|t| *t == T::Error) {
                    self.inf.report(
                        Diagnostic::new(
                            codes::NOT_A_LINEAR_TYPE,
                            format!("{} is a type of linear terms only", t.show()),
                        )
                        .label(span, "a Cartesian term has this type"),
                    );
                }
                Type::unit()
            }
        }
    }

    pub fn ltype(&mut self, t: &T, span: Span) -> LType {
        let t = self.closed(t, span);
        t.to_ltype().unwrap_or_else(|| {
            self.failed = true;
            if !t.any(&|t| *t == T::Error) {
                self.inf.report(
                    Diagnostic::new(codes::NOT_A_LINEAR_TYPE, format!("{} is not a linear type", t.show()))
                        .label(span, "a linear term has this type"),
                );
            }
            LType::unit()
        })
    }

    fn closed(&mut self, t: &T, span: Span) -> T {
        let mut t = self.inf.metas.zonk(t);
        if t.has_meta() {
            // Nothing says what it is: language.md's default.
            self.inf.default_metas(&t);
            t = self.inf.metas.zonk(&t);
        }
        for v in t.size_vars() {
            self.in_scope(&v, &t.show(), span);
        }
        if let Some(k) = negative_size(&t) {
            self.negative(k, span);
        }
        t
    }

    fn negative(&mut self, k: i64, span: Span) {
        let d = Diagnostic::new(codes::NEGATIVE_SIZE, format!("the size {k} is below zero"))
            .label(span, "an array cannot have this size");
        if !self.inf.diags.contains(&d) {
            self.inf.report(d);
        }
    }

    fn in_scope(&mut self, v: &Var, shown: &str, span: Span) {
        if self.ints.contains(&v.id) || self.escapes_reported {
            return;
        }
        self.escapes_reported = true;
        let d = if is_size_meta(v) {
            Diagnostic::new(codes::UNSOLVED_SIZE, format!("nothing determines the size {} here", v.name))
                .label(span, format!("in the type {shown}"))
                .help("write the type, or give the bound of the comprehension")
        } else {
            Diagnostic::new(
                codes::SIZE_ESCAPES,
                format!("the size {} leaves its scope in the type {shown}", v.name),
            )
            .label(span, format!("{} differs from one evaluation to the next, or is not known here", v.name))
            .help("bind it outside, or assert a size with `as`")
        };
        self.inf.report(d);
    }

    pub fn size(&mut self, n: &Size, span: Span) -> Size {
        let n = self.inf.metas.zonk_size(n);
        for v in n.vars() {
            self.in_scope(v, &n.to_string(), span);
        }
        n
    }

    // ---- Scopes -----------------------------------------------------------------------------------------------

    /// A body, branch or iteration: sizes named inside stay inside.
    pub fn scoped(&mut self, ty: &T, span: Span, make: impl FnOnce(&mut Self) -> Tm) -> Tm {
        let outer = std::mem::take(&mut self.floats);
        let body = make(self);
        let floats = std::mem::replace(&mut self.floats, outer);
        if floats.is_empty() {
            return body;
        }
        for a in &floats {
            if let Around::Let(x, _) = a {
                self.ints.remove(&x.var.id);
            }
        }
        self.closed(ty, span);
        wrap(floats, body)
    }

    /// As [`Self::scoped`], for linear bodies: what must stand around them.
    pub fn scoped_with<R>(&mut self, make: impl FnOnce(&mut Self) -> R) -> (R, Vec<Around>) {
        let outer = std::mem::take(&mut self.floats);
        let body = make(self);
        (body, std::mem::replace(&mut self.floats, outer))
    }

    pub fn float(&mut self, a: Around) {
        if let Around::Let(x, _) = &a
            && x.ty == Type::Int
        {
            self.ints.insert(x.var.id);
        }
        self.floats.push(a);
    }

    /// A name for a term, unless it is one already.
    pub fn named(&mut self, t: Tm, ty: Type, hint: &str, around: &mut Vec<Around>) -> Tm {
        if is_path(&t) {
            return t;
        }
        let v = self.inf.supply.fresh(hint);
        around.push(Around::Let(Binder::new(v.clone(), ty), t));
        var(&v)
    }

    /// The binder of a pattern, and what takes its value apart.
    pub fn binder(&mut self, p: &P) -> (Binder, Vec<Around>) {
        let ty = self.ty(&p.ty, p.span);
        let v = match &p.kind {
            PK::Var(v) => v.clone(),
            PK::Wildcard => self.inf.supply.fresh("_"),
            PK::Tuple(_) | PK::Record(_) | PK::Array(_) => self.inf.supply.fresh("p"),
        };
        if ty == Type::Int {
            self.ints.insert(v.id);
        }
        let mut around = vec![];
        match &p.kind {
            PK::Var(_) | PK::Wildcard => {}
            PK::Tuple(ps) | PK::Record(ps) => {
                for (k, p) in ps.iter().enumerate() {
                    self.part(p, proj(var(&v), k), &mut around);
                }
            }
            PK::Array(ps) => {
                let site = self.site(p.span);
                if let Type::Array(n, _) = &ty
                    && n.as_constant() != Some(ps.len() as i64)
                {
                    let (n, k) = (lang::core::make::size(n), int(ps.len() as i64));
                    around.push(Around::Check {
                        cond: self.int_equal(n.clone(), k.clone()),
                        failure: Failure::SizeMismatch,
                        details: vec![n, k],
                        site: site.clone(),
                    });
                }
                for (k, p) in ps.iter().enumerate() {
                    self.part(p, index(var(&v), int(k as i64), site.clone()), &mut around);
                }
            }
        }
        (Binder::new(v, ty), around)
    }

    fn part(&mut self, p: &P, value: Tm, around: &mut Vec<Around>) {
        if matches!(p.kind, PK::Wildcard) {
            return;
        }
        let (x, mut inner) = self.binder(p);
        around.push(Around::Let(x, value));
        around.append(&mut inner);
    }

    // ---- Terms ------------------------------------------------------------------------------------------------

    pub fn term(&mut self, t: &Te) -> Tm {
        let span = t.span;
        match &t.kind {
            K::Num(k) => match self.inf.metas.resolve(&t.ty) {
                T::Int => int(*k),
                _ => real(*k as f64),
            },
            K::Lit(l) => Arc::new(Term::Lit(*l)),
            K::Var(v) => var(v),
            K::Size(n) => {
                let n = self.size(n, span);
                lang::core::make::size(&n)
            }
            K::Lam(p, body) => {
                let (x, parts) = self.binder(p);
                let body = self.scoped(&body.ty, body.span, |s| s.term(body));
                if self.ints.remove(&x.var.id) {
                    // No type outside may speak of the parameter.
                    self.closed(&t.ty, span);
                }
                lam(x, wrap(parts, body))
            }
            K::LinLam(p, body) => self.linear_lambda(p, body),
            K::App(f, x) => {
                let (f, x) = (self.term(f), self.term(x));
                apply(f, x)
            }
            K::LinApp(l, x) => {
                let (l, x) = (self.term(l), self.term(x));
                lin_app(l, x)
            }
            K::Op { head, types, sizes, args } => self.op(head, types, sizes, args, &t.ty, span),
            K::Bind(binds, body) => {
                for (v, e) in binds {
                    let e = self.term(e);
                    self.float(Around::Let(Binder::new(v.clone(), Type::Int), e));
                }
                self.term(body)
            }
            K::Let(p, s, body) => self.let_term(p, s, body, &t.ty),
            K::If(c, a, b) => {
                let c = self.term(c);
                let a = self.scoped(&t.ty, a.span, |s| s.term(a));
                let b = self.scoped(&t.ty, b.span, |s| s.term(b));
                if_(c, a, b)
            }
            K::And(a, b) => {
                let a = self.term(a);
                let b = self.scoped(&t.ty, b.span, |s| s.term(b));
                if_(a, b, bool(false))
            }
            K::Or(a, b) => {
                let a = self.term(a);
                let b = self.scoped(&t.ty, b.span, |s| s.term(b));
                if_(a, bool(true), b)
            }
            K::Equal { negated, left, right } => {
                let (a, b) = (self.term(left), self.term(right));
                let ty = self.ty(&left.ty, left.span);
                let equal = self.equal(&ty, a, b, span);
                if *negated { negate(equal) } else { equal }
            }
            K::Tuple(ts) => tuple(ts.iter().map(|t| self.term(t)).collect::<Vec<_>>()),
            K::Proj(t, i) => project(self.term(t), *i),
            K::Record(fields) => {
                // Fields are evaluated as written and stored by name.
                let mut cores: Vec<(&str, Tm)> = fields.iter().map(|(x, t)| (&**x, self.term(t))).collect();
                cores.sort_by(|a, b| a.0.cmp(b.0));
                tuple(cores.into_iter().map(|(_, t)| t))
            }
            K::Field(r, x) => {
                let position = self.position(&r.ty, x);
                project(self.term(r), position)
            }
            K::RecordUpdate(r, fields) => {
                let core = self.term(r);
                let ty = self.ty(&r.ty, r.span);
                let mut around = vec![];
                let core = self.named(core, ty.clone(), "r", &mut around);
                let count = match &ty {
                    Type::Tuple(ts) => ts.len(),
                    _ => 0,
                };
                let mut parts: Vec<Tm> = (0..count).map(|k| proj(core.clone(), k)).collect();
                for (x, e) in fields {
                    let k = self.position(&r.ty, x);
                    let e = self.term(e);
                    if let Some(slot) = parts.get_mut(k) {
                        *slot = e;
                    }
                }
                wrap(around, tuple(parts))
            }
            K::Array(ts) => {
                let element = match self.inf.metas.resolve(&t.ty) {
                    T::Array(_, e) => (*e).clone(),
                    _ => T::Error,
                };
                let ts = ts.iter().map(|t| self.term(t)).collect();
                Arc::new(Term::Array(self.ty(&element, span), ts))
            }
            K::Index(a, is) => {
                let site = self.site(span);
                let a = self.term(a);
                is.iter().fold(a, |a, i| index(a, self.term(i), site.clone()))
            }
            K::ArrayUpdate { array, index, value } => {
                let mut around = vec![];
                let a = self.term(array);
                let ty = self.ty(&array.ty, array.span);
                let a = self.named(a, ty.clone(), "a", &mut around);
                let mut is = vec![];
                for i in index {
                    let i = self.term(i);
                    is.push(self.named(i, Type::Int, "i", &mut around));
                }
                let v = self.term(value);
                let vt = self.ty(&value.ty, value.span);
                let v = self.named(v, vt, "v", &mut around);
                let site = self.site(span);
                let updated = self.update(a, &ty, &is, v, &site);
                wrap(around, updated)
            }
            K::Slice { array, from, length } => {
                let mut around = vec![];
                let a = self.term(array);
                let ty = self.ty(&array.ty, array.span);
                let a = self.named(a, ty, "a", &mut around);
                let (from, length) = (self.size(from, span), self.size(length, span));
                let k = self.inf.supply.fresh("k");
                let at = prim(Prim::IAdd, [lang::core::make::size(&from), var(&k)]);
                let at = if from == Size::constant(0) { var(&k) } else { at };
                let body = index(a, at, self.site(span));
                let built = build(k, length.clone(), body);
                wrap(around, self.sized(&length, span, built))
            }
            K::Comprehension { index, bound, body } => {
                let bound = self.size(bound, span);
                self.bring_into_scope(index);
                let elem = &body.ty;
                let i = index.id;
                let body = self.scoped(elem, body.span, |s| s.term(body));
                self.ints.remove(&i);
                self.closed(elem, span);
                let built = build(index.clone(), bound.clone(), body);
                self.sized(&bound, span, built)
            }
            K::LoopFor { collect, state, init, index, bound, body } => {
                let init = self.term(init);
                let bound = self.size(bound, span);
                let (x, parts) = self.binder(state);
                self.bring_into_scope(index);
                let (bty, bspan) = (&body.ty, body.span);
                let body = self.scoped(bty, bspan, |s| s.term(body));
                let body = if *collect { body } else { tuple([body, unit()]) };
                let l = Arc::new(Term::Loop {
                    state: x,
                    init,
                    index: index.clone(),
                    bound: bound.clone(),
                    body: wrap(parts, body),
                });
                self.ints.remove(&index.id);
                if *collect {
                    self.closed(&t.ty, span);
                    self.sized(&bound, span, l)
                } else {
                    proj(l, 0)
                }
            }
            K::LoopWhile { state, init, cond, body } => {
                let init = self.term(init);
                let (x, parts) = self.binder(state);
                let cond = self.scoped(&T::Bool, cond.span, |s| s.term(cond));
                let body = self.scoped(&state.ty, body.span, |s| s.term(body));
                // The parts are taken in the condition and in the body: the second time with fresh names.
                let cond = lang::walk::refresh(&wrap_copy(&parts, cond), &mut self.inf.supply);
                let body = wrap(parts, body);
                Arc::new(Term::While { state: x, init, cond, body })
            }
            K::As(e) => self.assert_sizes(e, &t.ty, span),
            K::MatMul(a, b) => self.matmul(a, b, span),
            K::Zero => Arc::new(Term::Zero(self.ltype(&t.ty, span))),
            K::Unread => Arc::new(Term::Unread(self.ty(&t.ty, span))),
            K::Error => {
                self.failed = true;
                unit()
            }
        }
    }

    fn let_term(&mut self, p: &P, s: &Te, body: &Te, ty: &T) -> Tm {
        let value = self.term(s);
        let (x, parts) = self.binder(p);
        let mark = self.floats.len();
        let body = self.term(body);
        let mut bound = vec![x.var.id];
        bound.extend(parts.iter().filter_map(|a| match a {
            Around::Let(x, _) => Some(x.var.id),
            Around::Check { .. } => None,
        }));
        let in_type = self.inf.metas.zonk(ty).size_vars().iter().any(|v| bound.contains(&v.id));
        if in_type || self.floats.len() > mark {
            let after = self.floats.split_off(mark);
            self.floats.push(Around::Let(x, value));
            self.floats.extend(parts);
            self.floats.extend(after);
            return body;
        }
        for id in bound {
            self.ints.remove(&id);
        }
        let_(x, value, wrap(parts, body))
    }

    pub fn position(&mut self, record: &T, field: &str) -> usize {
        match self.inf.metas.resolve(record) {
            T::Record(fs) => fs.iter().position(|(x, _)| &**x == field).unwrap_or(0),
            _ => 0,
        }
    }

    /// The term under a check that the size is not below zero, where that is not evident.
    pub fn sized(&mut self, n: &Size, span: Span, t: Tm) -> Tm {
        if self.inf.evidently_nonnegative(n) {
            return t;
        }
        if let Some(k) = n.as_constant() {
            self.negative(k, span);
            return t;
        }
        let value = lang::core::make::size(n);
        Arc::new(Term::Check {
            cond: self.compare("<=", int(0), value.clone()),
            failure: Failure::NegativeSize,
            details: vec![value],
            site: self.site(span),
            body: t,
        })
    }

    fn op(&mut self, head: &Head, types: &[T], sizes: &[Size], args: &[Te], ty: &T, span: Span) -> Tm {
        match head {
            Head::Prim(op) => self.lift(op, args, ty, span),
            Head::Def(name) => {
                // Arguments first: they may name ints that the sizes speak of.
                let args: Vec<Tm> = args.iter().map(|a| self.term(a)).collect();
                let types: Vec<Type> = types.iter().map(|t| self.ty(t, span)).collect();
                let mut all: Vec<Size> = sizes.iter().map(|n| self.size(n, span)).collect();
                let solved = all.clone();
                let sigs = self.inf.sigs;
                let inputs = sigs.defs.get(name).map_or(&[][..], |s| &s.inputs);
                let mut cores = vec![];
                for input in inputs {
                    if let Some((v, _, ns)) = self.inf.inputs.get(input) {
                        cores.push(var(v));
                        all.extend(ns.iter().cloned().map(Size::var));
                    }
                }
                cores.extend(args);
                let call = Arc::new(Term::Call { def: name.as_str().into(), types, sizes: all, args: cores });
                // A size solved by subtraction must not come out below zero.
                solved
                    .iter()
                    .filter(|n| n.terms.values().any(|c| *c < 0))
                    .fold(call, |t, n| self.sized(n, span, t))
            }
            Head::Row(row) => {
                let cores: Vec<Tm> = args.iter().map(|a| self.term(a)).collect();
                let tys = args.iter().map(|a| self.ty(&a.ty, a.span)).collect();
                let types = types.iter().map(|t| self.ty(t, span)).collect();
                let sizes = sizes.iter().map(|n| self.size(n, span)).collect();
                self.row(row, types, sizes, cores, tys, span)
            }
            Head::Diff(op) => {
                let mut cores: Vec<Tm> = args.iter().map(|a| self.term(a)).collect();
                let (domain, codomain) = (self.ty(&types[0], span), self.ty(&types[1], span));
                let place = args.first().map_or(span, |a| a.span);
                for (what, t) in [("argument", &domain), ("result", &codomain)] {
                    if !t.first_order() {
                        let which = if what == "argument" { &types[0] } else { &types[1] };
                        let shown = self.inf.metas.zonk(which).show();
                        self.inf.report(
                            Diagnostic::new(
                                codes::NOT_FIRST_ORDER,
                                format!("`{}` needs a function whose {what} is first-order", op.name()),
                            )
                            .label(place, format!("its {what} has type {shown}")),
                        );
                        return unit();
                    }
                }
                let v = (cores.len() > 2).then(|| cores.remove(2));
                let (Some(x), Some(f)) = (cores.pop(), cores.pop()) else { return unit() };
                let site = self.site(span);
                diff::elaborate(self, *op, diff::Operands { domain, codomain, f, x, v, site })
            }
        }
    }

    // ---- Lifted primitives ------------------------------------------------------------------------------------

    fn lift(&mut self, op: &str, args: &[Te], ty: &T, span: Span) -> Tm {
        let mut around = vec![];
        let mut operands = vec![];
        let mut scalars = vec![];
        for a in args {
            let t = self.term(a);
            let aty = self.ty(&a.ty, a.span);
            let (dims, base) = array_parts(&aty);
            scalars.push(match base {
                Type::Int => Scalar::Int,
                Type::Bool => Scalar::Bool,
                _ => Scalar::Real,
            });
            operands.push((aty, t, dims.len()));
        }
        let rty = self.ty(ty, span);
        let (dims, _) = array_parts(&rty);
        let site = self.site(span);
        let mut named = vec![];
        for (aty, t, rank) in operands {
            let keep = is_path(&t) || matches!(&*t, Term::Build { .. }) && rank > 0;
            let alone = dims.is_empty();
            let t = if keep || alone { t } else { self.named(t, aty.clone(), "a", &mut around) };
            named.push((aty, t));
        }
        let t = self.pointwise(op, &scalars, named, &dims, &site, span);
        wrap(around, t)
    }

    /// build d1 (i. build d2 (j. … op(elements))); operands that are builds give their bodies, each used once.
    fn pointwise(
        &mut self,
        op: &str,
        scalars: &[Scalar],
        operands: Vec<(Type, Tm)>,
        dims: &[Size],
        site: &Site,
        span: Span,
    ) -> Tm {
        let Some((n, inner_dims)) = dims.split_first() else {
            return self.scalar_op(op, scalars, operands.into_iter().map(|(_, t)| t).collect(), site, span);
        };
        let own = operands.iter().find_map(|(ty, t)| match (ty, &**t) {
            (Type::Array(..), Term::Build { index, .. }) => Some(index.clone()),
            _ => None,
        });
        let i = own.unwrap_or_else(|| self.inf.supply.fresh("i"));
        let mut around = vec![];
        let mut elements = vec![];
        for (ty, t) in operands {
            let Type::Array(_, element) = &ty else {
                elements.push((ty, t));
                continue;
            };
            let e = match &*t {
                Term::Build { index, body, .. } => {
                    if *index != i {
                        around.push(Around::Let(Binder::new(index.clone(), Type::Int), var(&i)));
                    }
                    body.clone()
                }
                _ => index(t, var(&i), site.clone()),
            };
            let again = matches!(**element, Type::Array(..));
            let e = match &*e {
                Term::Build { .. } => e,
                _ if again => self.named(e, (**element).clone(), "row", &mut around),
                _ => e,
            };
            elements.push(((**element).clone(), e));
        }
        let body = self.pointwise(op, scalars, elements, inner_dims, site, span);
        build(i, n.clone(), wrap(around, body))
    }

    fn scalar_op(&mut self, op: &str, scalars: &[Scalar], mut args: Vec<Tm>, site: &Site, span: Span) -> Tm {
        let (name, scalars): (&str, Vec<Scalar>) = match op {
            ">" | ">=" => {
                args.reverse();
                (if op == ">" { "<" } else { "<=" }, scalars.iter().rev().copied().collect())
            }
            other => (other, scalars.to_vec()),
        };
        let Some(p) = Prim::find(name, &scalars) else {
            self.inf.report(
                Diagnostic::new(codes::OPERANDS, format!("there is no `{op}` on these operands"))
                    .label(span, "here"),
            );
            return unit();
        };
        let divides = matches!(name, "div" | "mod" | "rem") && scalars == [Scalar::Int, Scalar::Int];
        if !divides {
            return prim(p, args);
        }
        // The primitive is total; a zero divisor ends the program.
        let mut around = vec![];
        let divisor = self.named(args[1].clone(), Type::Int, "d", &mut around);
        let t = prim(p, [args[0].clone(), divisor.clone()]);
        if matches!(&*divisor, Term::Lit(Lit::Int(k)) if *k != 0) {
            return wrap(around, t);
        }
        let zero = self.int_equal(divisor, int(0));
        around.push(Around::Check {
            cond: negate(zero),
            failure: Failure::DivisionByZero,
            details: vec![],
            site: site.clone(),
        });
        wrap(around, t)
    }

    pub fn compare(&mut self, op: &str, a: Tm, b: Tm) -> Tm {
        match Prim::find(op, &[Scalar::Int, Scalar::Int]) {
            Some(p) => prim(p, [a, b]),
            None => bool(true),
        }
    }

    pub fn int_equal(&mut self, a: Tm, b: Tm) -> Tm {
        self.compare("==", a, b)
    }

    /// a == b on whole values.
    fn equal(&mut self, ty: &Type, a: Tm, b: Tm, span: Span) -> Tm {
        let scalar = match ty {
            Type::Real => Some(Scalar::Real),
            Type::Int => Some(Scalar::Int),
            Type::Bool => Some(Scalar::Bool),
            Type::Tuple(_)
            | Type::Array(..)
            | Type::Sum(_)
            | Type::Fun(..)
            | Type::Param(_)
            | Type::Lin(..) => None,
        };
        if let Some(s) = scalar {
            return match Prim::find("==", &[s, s]) {
                Some(p) => prim(p, [a, b]),
                None => bool(true),
            };
        }
        let mut around = vec![];
        let a = self.named(a, ty.clone(), "a", &mut around);
        let b = self.named(b, ty.clone(), "b", &mut around);
        let t = match ty {
            Type::Tuple(ts) => {
                let parts: Vec<Tm> = ts
                    .iter()
                    .enumerate()
                    .map(|(k, t)| self.equal(t, proj(a.clone(), k), proj(b.clone(), k), span))
                    .collect();
                let mut parts = parts.into_iter().rev();
                let last = parts.next().unwrap_or_else(|| bool(true));
                parts.fold(last, |rest, p| if_(p, rest, bool(false)))
            }
            Type::Array(n, element) => {
                let (same, i) = (self.inf.supply.fresh("same"), self.inf.supply.fresh("i"));
                let site = self.site(span);
                let at = |t: &Tm| index(t.clone(), var(&i), site.clone());
                let here = self.equal(element, at(&a), at(&b), span);
                let body = tuple([if_(var(&same), here, bool(false)), unit()]);
                let state = Binder::new(same, Type::Bool);
                proj(Arc::new(Term::Loop { state, init: bool(true), index: i, bound: n.clone(), body }), 0)
            }
            Type::Sum(_)
            | Type::Fun(..)
            | Type::Param(_)
            | Type::Lin(..)
            | Type::Real
            | Type::Int
            | Type::Bool => {
                self.inf.report(
                    Diagnostic::new(codes::EQUALITY, "these values cannot be compared")
                        .label(span, "equality is for values without functions and of known type"),
                );
                bool(true)
            }
        };
        wrap(around, t)
    }

    /// {a with [i, …] = v}: build n (k. if k = i then v else a[k]), i in range.
    fn update(&mut self, a: Tm, ty: &Type, is: &[Tm], v: Tm, site: &Site) -> Tm {
        let (Some((i, rest)), Type::Array(n, element)) = (is.split_first(), ty) else { return v };
        let k = self.inf.supply.fresh("k");
        // The element read checks i; where nothing is left to read the check stands alone.
        let new = if rest.is_empty() {
            v
        } else {
            self.update(index(a.clone(), i.clone(), site.clone()), element, rest, v, site)
        };
        let here = self.int_equal(var(&k), i.clone());
        let body = if_(here, new, index(a, var(&k), site.clone()));
        let built = build(k, n.clone(), body);
        let length = lang::core::make::size(n);
        let low = self.compare("<=", int(0), i.clone());
        let high = self.compare("<", i.clone(), length.clone());
        Arc::new(Term::Check {
            cond: if_(low, high, bool(false)),
            failure: Failure::IndexOutOfRange,
            details: vec![i.clone(), length],
            site: site.clone(),
            body: built,
        })
    }

    /// e as τ: the outer sizes are compared at run time, where they are not known to agree.
    fn assert_sizes(&mut self, e: &Te, want: &T, span: Span) -> Tm {
        let t = self.term(e);
        let from = self.ty(&e.ty, e.span);
        let to = self.ty(want, span);
        if from == to {
            return t;
        }
        let mut around = vec![];
        let t = self.named(t, from.clone(), "a", &mut around);
        let (have, asked) = (array_parts(&from).0, array_parts(&to).0);
        let site = self.site(span);
        for (a, b) in have.iter().zip(&asked).filter(|(a, b)| a != b) {
            let (a, b) = (lang::core::make::size(a), lang::core::make::size(b));
            around.push(Around::Check {
                cond: self.int_equal(a.clone(), b.clone()),
                failure: Failure::SizeMismatch,
                details: vec![a, b],
                site: site.clone(),
            });
        }
        let copy = self.copy(t, &from, &asked, &site);
        wrap(around, copy)
    }

    fn copy(&mut self, t: Tm, ty: &Type, dims: &[Size], site: &Site) -> Tm {
        match (dims.split_first(), ty) {
            (Some((n, rest)), Type::Array(_, element)) => {
                let i = self.inf.supply.fresh("i");
                let at = index(t, var(&i), site.clone());
                let body = if array_parts(ty).0.iter().skip(1).eq(rest.iter()) {
                    at
                } else {
                    self.copy(at, element, rest, site)
                };
                build(i, n.clone(), body)
            }
            _ => t,
        }
    }

    fn matmul(&mut self, a: &Te, b: &Te, span: Span) -> Tm {
        let cores = vec![self.term(a), self.term(b)];
        let (ta, tb) = (self.ty(&a.ty, a.span), self.ty(&b.ty, b.span));
        let (da, db) = (array_parts(&ta).0, array_parts(&tb).0);
        let (name, sizes) = match (da.as_slice(), db.as_slice()) {
            ([n], [_]) => ("dot", vec![n.clone()]),
            ([n, m], [_]) => ("matvec", vec![n.clone(), m.clone()]),
            ([_], [n, m]) => ("vecmat", vec![n.clone(), m.clone()]),
            ([n, m], [_, k]) => ("matmul", vec![n.clone(), m.clone(), k.clone()]),
            _ => return unit(),
        };
        match builtin::find(name) {
            Some(row) => self.row(row, vec![], sizes, cores, vec![ta, tb], span),
            None => unit(),
        }
    }

    /// A built-in applied to Core arguments.
    pub fn row(
        &mut self,
        row: &'static Row,
        types: Vec<Type>,
        sizes: Vec<Size>,
        args: Vec<Tm>,
        arg_types: Vec<Type>,
        span: Span,
    ) -> Tm {
        let site = self.site(span);
        let given = builtin::Given { types, sizes, args, arg_types, site, span };
        match &row.body {
            builtin::Body::Text(_) => match builtin::template(row) {
                Ok(def) => builtin::instantiate(self, def, given),
                Err(why) => {
                    let message = format!("the built-in `{}` is not available: {why}", row.name);
                    self.inf.report(Diagnostic::new(codes::UNSUPPORTED, message).label(span, "used here"));
                    unit()
                }
            },
            builtin::Body::Core(make) => make(self, given),
        }
    }
}

/// A size in the type that is a number below zero.
fn negative_size(t: &T) -> Option<i64> {
    match t {
        T::Array(n, e) => n.as_constant().filter(|k| *k < 0).or_else(|| negative_size(e)),
        T::Tuple(ts) => ts.iter().find_map(negative_size),
        T::Record(fs) => fs.iter().find_map(|(_, t)| negative_size(t)),
        T::Fun(a, b) | T::Lin(a, b) | T::Copower(a, b) => negative_size(a).or_else(|| negative_size(b)),
        T::Real | T::Int | T::Bool | T::Param(_) | T::Meta(_) | T::Error => None,
    }
}

/// The dimensions of nested arrays and what they hold.
pub fn array_parts(t: &Type) -> (Vec<Size>, Type) {
    let mut dims = vec![];
    let mut t = t;
    while let Type::Array(n, e) = t {
        dims.push(n.clone());
        t = e;
    }
    (dims, t.clone())
}

/// t s, with λ applied on the spot: let x = s in t.
pub fn apply(f: Tm, x: Tm) -> Tm {
    match &*f {
        Term::Lam(b, body) => let_(b.clone(), x, body.clone()),
        // (let y = r in f) x = let y = r in f x, binders being unique.
        Term::Let(y, r, g) => let_(y.clone(), r.clone(), apply(g.clone(), x)),
        _ => app(f, x),
    }
}

/// t.i of a tuple written out is its component when the others compute nothing.
fn project(t: Tm, i: usize) -> Tm {
    match &*t {
        Term::Tuple(ts) if ts.iter().all(is_path) => ts[i].clone(),
        _ => proj(t, i),
    }
}

pub fn negate(t: Tm) -> Tm {
    match Prim::find("not", &[Scalar::Bool]) {
        Some(p) => prim(p, [t]),
        None => if_(t, bool(false), bool(true)),
    }
}

fn wrap_copy(around: &[Around], body: Tm) -> Tm {
    let copy = around.iter().map(|a| match a {
        Around::Let(x, t) => Around::Let(x.clone(), t.clone()),
        Around::Check { cond, failure, details, site } => Around::Check {
            cond: cond.clone(),
            failure: failure.clone(),
            details: details.clone(),
            site: site.clone(),
        },
    });
    wrap(copy.collect(), body)
}

fn functions_in_arrays(t: &Type) -> bool {
    fn function(t: &Type) -> bool {
        match t {
            Type::Fun(..) => true,
            Type::Tuple(ts) | Type::Sum(ts) => ts.iter().any(function),
            Type::Array(_, t) => function(t),
            Type::Real | Type::Int | Type::Bool | Type::Param(_) | Type::Lin(..) => false,
        }
    }
    match t {
        Type::Array(_, t) => function(t),
        Type::Tuple(ts) | Type::Sum(ts) => ts.iter().any(functions_in_arrays),
        Type::Fun(a, b) => functions_in_arrays(a) || functions_in_arrays(b),
        Type::Real | Type::Int | Type::Bool | Type::Param(_) | Type::Lin(..) => false,
    }
}
