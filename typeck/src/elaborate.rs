//! From the typed tree to Core: overloading resolved, everything explicit.
//!
//! A `let` whose variable occurs in the type of what it scopes over (an int that is a size) is moved outwards as far as the
//! enclosing body, branch or iteration ([`Elaborate::scoped`]), so that every type is in scope where it is used.

mod arrays;
mod linear;
mod matching;
mod pointwise;
mod scope;

pub use arrays::array_parts;
pub use pointwise::negate;

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

    /// The binder of a pattern, and what takes its value apart.
    pub fn binder(&mut self, p: &P) -> (Binder, Vec<Around>) {
        let ty = self.ty(&p.ty, p.span);
        let v = match &p.kind {
            PK::Var(v) => v.clone(),
            PK::Wildcard => self.inf.supply.fresh("_"),
            PK::Tuple(_) | PK::Record(_) | PK::Array(_) => self.inf.supply.fresh("p"),
            PK::Int(_) | PK::Bool(_) | PK::Constructor(..) => self.inf.supply.fresh("_"),
        };
        if ty == Type::Int {
            self.ints.insert(v.id);
        }
        let mut around = vec![];
        match &p.kind {
            PK::Var(_) | PK::Wildcard | PK::Int(_) | PK::Bool(_) | PK::Constructor(..) => {}
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
            K::Inject(k, payload) => {
                let payload = self.term(payload);
                Arc::new(Term::Inject(*k, self.ty(&t.ty, span), payload))
            }
            K::Match(scrutinee, arms) => self.match_term(scrutinee, arms, &t.ty, span),
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
                // Its elements are first-order, which only the array's own type shows.
                self.ty(&t.ty, span);
                let ts = ts.iter().map(|t| self.term(t)).collect();
                Arc::new(Term::Array(self.ty(&element, span), ts))
            }
            K::Index(a, is) => {
                let site = self.site(span);
                let a = self.term(a);
                is.iter().fold(a, |a, i| index(a, self.term(i), site.clone()))
            }
            K::ArrayUpdate { array, index, value } => {
                let a = self.term(array);
                let is: Vec<Tm> = index.iter().map(|i| self.term(i)).collect();
                let v = self.term(value);
                update(a, is, v, self.site(span))
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
            K::As(e) | K::Pack(e, _) => self.assert_sizes(e, &t.ty, span),
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

    fn op(&mut self, head: &Head, types: &[T], sizes: &[Size], args: &[Te], ty: &T, span: Span) -> Tm {
        match head {
            // What is wrong with an operand has been said.
            Head::Prim(_) if args.iter().any(|a| self.inf.metas.resolve(&a.ty) == T::Error) => unit(),
            Head::Prim(op) => self.lift(op, args, ty, span),
            Head::Def(name, inputs) => {
                // Arguments first: they may name ints that the sizes speak of.
                let args: Vec<Tm> = args.iter().map(|a| self.term(a)).collect();
                let types: Vec<Type> = types.iter().map(|t| self.ty(t, span)).collect();
                let mut all: Vec<Size> = sizes.iter().map(|n| self.size(n, span)).collect();
                let solved = all.clone();
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
                for t in &types[..2] {
                    let t = self.inf.metas.zonk(t);
                    if t.any(&|t| matches!(t, T::Sum(_))) {
                        let message =
                            "derivatives with respect to sum types are not part of this version yet";
                        self.inf.report(
                            Diagnostic::new(codes::UNSUPPORTED, message)
                                .label(
                                    place,
                                    format!("{} is in the argument or result of this function", t.show()),
                                )
                                .help("sums may be used freely inside it: differentiate with respect to what a constructor carries"),
                        );
                        return unit();
                    }
                }
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
        // A term that stands for one in error may have fewer components.
        Term::Tuple(ts) if i < ts.len() && ts.iter().all(is_path) => ts[i].clone(),
        _ => proj(t, i),
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
