//! Inference: a surface expression becomes a typed tree. Types are unified as they are met; what cannot be decided yet waits
//! in [`crate::deferred`].

mod arrays;
mod mismatch;
mod operators;

use crate::codes;
use crate::deferred::Constraint;
use crate::env::{Env, InputSignature, Local, Signatures, Types};
use crate::tree::{Head, K, P, Te};
use crate::ty::T;
use crate::unify::{Clash, Metas};
use lang::core::Lit;
use lang::diag::{Diagnostic, Span};
use lang::name::{Name, Supply, Var};
use lang::size::Size;
use lang::surface::{BinOp, Expr, ExprKind, Ident, LoopFlavour, LoopFor, Param, Pat};
use std::collections::{HashMap, HashSet};

/// Expressions nested deeper than this are refused. (Each level of a chain of `let`s or operators counts.)
pub const DEPTH_LIMIT: usize = 4000;

/// Types with more parts than this are refused. An array's dimension counts as several: work on a nest of arrays grows with the square of its depth.
pub const TYPE_LIMIT: usize = 10_000;
pub const DIMENSION: usize = 100;

pub struct Infer<'s> {
    pub sigs: &'s Signatures,
    pub metas: Metas,
    pub pending: Vec<Constraint>,
    pub supply: Supply,
    pub diags: Vec<Diagnostic>,
    /// The definition being checked, and where its spans count from.
    pub def: Name,
    pub base: u32,
    /// Ints that are never negative: sizes and loop indices.
    pub nonneg: HashSet<u32>,
    /// Let-bound ints that are polynomials of others.
    pub polynomials: HashMap<u32, Size>,
    /// The inputs it may use: their variables, types and size variables.
    pub inputs: HashMap<String, (Var, T, Vec<Var>)>,
    pub depth: usize,
    pub depth_reported: bool,
    pub solving: bool,
    /// In the pattern of an arm.
    pub may_fail: bool,
    /// The existential sizes of the definition's result.
    pub packing: Vec<Var>,
    /// The existential sizes that calls have opened, with what was called.
    pub opened: HashMap<u32, String>,
}

/// Why a type is required, for the message when it is not met.
#[derive(Clone, Copy)]
pub enum Why<'a> {
    Context,
    /// What a pattern takes apart.
    Pattern,
    Argument {
        function: &'a str,
        number: usize,
        name: Option<&'a str>,
    },
    Annotation(Span),
    Result(&'a str),
    Condition,
    Branch(Span),
    Element(Span),
    /// What has two sides, and the place of the first.
    Sides(&'static str, Span),
    State(Span),
    Bound,
    Index,
    Operand(&'static str),
}

impl<'s> Infer<'s> {
    pub fn new(sigs: &'s Signatures, def: &str, base: u32, supply: Supply) -> Infer<'s> {
        Infer {
            sigs,
            metas: Metas::default(),
            pending: vec![],
            supply,
            diags: vec![],
            def: def.into(),
            base,
            nonneg: HashSet::new(),
            polynomials: HashMap::new(),
            inputs: HashMap::new(),
            depth: 0,
            depth_reported: false,
            solving: false,
            may_fail: false,
            packing: vec![],
            opened: HashMap::new(),
        }
    }

    /// Gives every used input its variables.
    pub fn bind_inputs<'i>(&mut self, used: impl Iterator<Item = &'i InputSignature>) {
        for input in used {
            let sizes: Vec<Var> = input.sizes.iter().map(|n| self.supply.fresh(n.as_str())).collect();
            self.nonneg.extend(sizes.iter().map(|v| v.id));
            let var = self.supply.fresh(input.name.as_str());
            let ty = input.checked.subst(&|_| None, &|v| sizes.get(v.id as usize).cloned().map(Size::var));
            self.inputs.insert(input.name.clone(), (var, ty, sizes));
        }
    }

    pub fn report(&mut self, d: Diagnostic) {
        self.diags.push(d);
    }

    /// A type as written, in this scope.
    pub fn written(&mut self, env: &Env, t: &lang::surface::Ty) -> T {
        Types::new(self.sigs, &mut self.diags).ty(&env.scope, t)
    }

    /// Requires `found` at a place to be `want`.
    pub fn require(&mut self, span: Span, found: &T, want: &T, why: Why) -> bool {
        self.metas.at = span;
        match self.metas.unify(found, want) {
            Ok(()) => true,
            Err(clash) => {
                self.mismatch(span, found, want, why, clash);
                false
            }
        }
    }

    fn too_deep(&mut self, span: Span) -> bool {
        if self.depth < DEPTH_LIMIT {
            return false;
        }
        if !self.depth_reported {
            self.depth_reported = true;
            self.report(
                Diagnostic::new(codes::TOO_DEEP, "this expression is nested too deeply")
                    .label(span, format!("more than {DEPTH_LIMIT} levels"))
                    .help("give parts of it names of their own with `def`"),
            );
        }
        true
    }

    /// Γ ⊢ e : τ, inferring τ.
    pub fn infer(&mut self, env: &Env, e: &Expr) -> Te {
        if self.too_deep(e.span) {
            return Te::error(e.span);
        }
        self.depth += 1;
        let mut t = self.infer_at(env, e);
        self.depth -= 1;
        if self.metas.weight(&t.ty) > TYPE_LIMIT {
            // Once is enough: what is built from it would be too large again.
            if !self.diags.iter().any(|d| d.code == codes::TYPE_TOO_LARGE) {
                self.report(
                    Diagnostic::new(codes::TYPE_TOO_LARGE, "the type of this expression is too large").label(
                        e.span,
                        format!(
                            "more than {TYPE_LIMIT} parts (a dimension of an array counts as {DIMENSION})"
                        ),
                    ),
                );
            }
            t = Te::error(e.span);
        }
        t
    }

    /// Γ ⊢ e : τ for a required τ.
    pub fn check(&mut self, env: &Env, e: &Expr, want: &T, why: Why) -> Te {
        match &e.node {
            ExprKind::Lam(params, body) => {
                if self.too_deep(e.span) {
                    return Te::error(e.span);
                }
                self.depth += 1;
                let t = self.lambda(env, params, body, Some((want, why)), e.span);
                self.depth -= 1;
                let ty = t.ty.clone();
                self.require(e.span, &ty, want, why);
                t
            }
            ExprKind::LinLam(param, body) if matches!(self.metas.resolve(want), T::Lin(..)) => {
                let t = self.linear_lambda(env, param, body, Some(want), e.span);
                let ty = t.ty.clone();
                self.require(e.span, &ty, want, why);
                t
            }
            ExprKind::If(c, a, b) => {
                let c = self.check(env, c, &T::Bool, Why::Condition);
                let a = self.check_deeper(env, a, want, why);
                let b = self.check_deeper(env, b, want, why);
                Te::new(K::If(Box::new(c), Box::new(a), Box::new(b)), want.clone(), e.span)
            }
            ExprKind::Match(t, arms) => {
                if self.too_deep(e.span) {
                    return Te::error(e.span);
                }
                self.match_arms(env, t, arms, want, Some(why), e.span)
            }
            ExprKind::Let(p, s, body) => {
                let (bound, inner) = self.let_binding(env, p, s);
                let body = self.check_deeper(&inner, body, want, why);
                lets(bound, body, e.span)
            }
            _ => {
                if let Some(t) = self.pack(env, e, want, why) {
                    return t;
                }
                let t = self.infer(env, e);
                let ty = t.ty.clone();
                self.require(e.span, &ty, want, why);
                t
            }
        }
    }

    fn check_deeper(&mut self, env: &Env, e: &Expr, want: &T, why: Why) -> Te {
        if self.too_deep(e.span) {
            return Te::error(e.span);
        }
        self.depth += 1;
        let t = self.check(env, e, want, why);
        self.depth -= 1;
        t
    }

    fn infer_at(&mut self, env: &Env, e: &Expr) -> Te {
        let span = e.span;
        match &e.node {
            ExprKind::Var(_) | ExprKind::TypeApp(..) => self.spine(env, e, &[], span),
            ExprKind::App(..) => {
                let (head, args) = flatten(e);
                self.spine(env, head, &args, span)
            }
            ExprKind::Int(i64::MIN) => {
                let magnitude = i64::MIN.unsigned_abs();
                let message = format!("`{magnitude}` is too large: integers have 64 bits");
                let help = "the least int is a literal with its minus alone: put it in parentheses";
                let d = Diagnostic::new(lang::surface::codes::INT_OVERFLOW, message);
                self.report(d.label(span, "not directly under the minus").help(help));
                Te::error(span)
            }
            ExprKind::Int(k) => Te::new(K::Num(*k), self.metas.fresh_number(), span),
            ExprKind::Real(x) => Te::new(K::Lit(Lit::Real(*x)), T::Real, span),
            ExprKind::Bool(b) => Te::new(K::Lit(Lit::Bool(*b)), T::Bool, span),
            ExprKind::Lam(params, body) => self.lambda(env, params, body, None, span),
            ExprKind::LinLam(param, body) => self.linear_lambda(env, param, body, None, span),
            ExprKind::Let(p, s, body) => {
                let (bound, inner) = self.let_binding(env, p, s);
                let body = self.infer(&inner, body);
                lets(bound, body, span)
            }
            ExprKind::If(c, a, b) => {
                let c = self.check(env, c, &T::Bool, Why::Condition);
                let a = self.infer(env, a);
                let ty = a.ty.clone();
                let b = self.check(env, b, &ty, Why::Branch(a.span));
                Te::new(K::If(Box::new(c), Box::new(a), Box::new(b)), ty, span)
            }
            ExprKind::Match(t, arms) => {
                let ty = self.metas.fresh();
                self.match_arms(env, t, arms, &ty, None, span)
            }
            ExprKind::Tuple(es) => {
                let ts: Vec<Te> = es.iter().map(|e| self.infer(env, e)).collect();
                let ty = T::tuple(ts.iter().map(|t| t.ty.clone()));
                Te::new(K::Tuple(ts), ty, span)
            }
            ExprKind::Proj(t, i) => {
                let t = self.infer(env, t);
                let ty = self.component(&t.ty, *i, span);
                Te::new(K::Proj(Box::new(t), *i), ty, span)
            }
            ExprKind::Record(fields) => {
                self.distinct("field", fields.iter().map(|(x, _)| x));
                let fields: Vec<(Name, Te)> =
                    fields.iter().map(|(x, e)| (x.node.as_str().into(), self.infer(env, e))).collect();
                let ty = T::record(fields.iter().map(|(x, t)| (x.clone(), t.ty.clone())).collect());
                Te::new(K::Record(fields), ty, span)
            }
            ExprKind::Field(..) if self.member(env, e).is_some() => self.spine(env, e, &[], span),
            ExprKind::Field(r, x) => {
                let r = self.infer(env, r);
                let ty = self.field(&r.ty, x, span);
                Te::new(K::Field(Box::new(r), x.node.as_str().into()), ty, span)
            }
            ExprKind::RecordUpdate(r, fields) => {
                self.distinct("field", fields.iter().map(|(x, _)| x));
                let r = self.infer(env, r);
                let mut new = vec![];
                for (x, e) in fields {
                    let want = self.field(&r.ty, x, x.span);
                    new.push((x.node.as_str().into(), self.check(env, e, &want, Why::Context)));
                }
                let ty = r.ty.clone();
                Te::new(K::RecordUpdate(Box::new(r), new), ty, span)
            }
            ExprKind::ArrayUpdate { array, index, value } => {
                let array = self.infer(env, array);
                let (index, element) = self.indices(env, &array, index);
                let value = self.check(env, value, &element, Why::Element(array.span));
                let ty = array.ty.clone();
                let kind = K::ArrayUpdate { array: Box::new(array), index, value: Box::new(value) };
                Te::new(kind, ty, span)
            }
            ExprKind::Array(es) => {
                let element = self.metas.fresh();
                let first = es.first().map_or(span, |e| e.span);
                let ts: Vec<Te> =
                    es.iter().map(|e| self.check(env, e, &element, Why::Element(first))).collect();
                let n = Size::constant(ts.len() as i64);
                Te::new(K::Array(ts), T::array(n, element), span)
            }
            ExprKind::Index(..) if self.type_application(env, e).is_some() => self.spine(env, e, &[], span),
            ExprKind::Index(a, index) => {
                let a = self.infer(env, a);
                let (index, element) = self.indices(env, &a, index);
                Te::new(K::Index(Box::new(a), index), element, span)
            }
            ExprKind::Slice(a, from, to) => self.slice(env, a, from.as_deref(), to.as_deref(), span),
            ExprKind::Comprehension { body, bounds } => self.comprehension(env, body, bounds, span),
            ExprKind::LoopFor(l) => self.loop_for(env, l, span),
            ExprKind::LoopWhile { state, init, cond, body } => {
                let (state, init, inner) = self.loop_state(env, state, init);
                let cond = self.check(&inner, cond, &T::Bool, Why::Condition);
                let ty = state.ty.clone();
                let body = self.check(&inner, body, &ty, Why::State(init.span));
                let kind =
                    K::LoopWhile { state, init: Box::new(init), cond: Box::new(cond), body: Box::new(body) };
                Te::new(kind, ty, span)
            }
            ExprKind::Binary(BinOp::Pipe, x, f) => {
                let (head, mut args) = flatten(f);
                args.push(x);
                self.spine(env, head, &args, span)
            }
            ExprKind::Binary(BinOp::Compose, f, g) => self.compose(env, f, g, span),
            ExprKind::Binary(op, a, b) => {
                let a = self.infer(env, a);
                let b = self.infer(env, b);
                self.binary(*op, a, b, span)
            }
            ExprKind::Neg(e) => match &e.node {
                ExprKind::Int(k) => {
                    Te::new(K::Num(k.checked_neg().unwrap_or(*k)), self.metas.fresh_number(), span)
                }
                ExprKind::Real(x) => Te::new(K::Lit(Lit::Real(-x)), T::Real, span),
                _ => {
                    let t = self.infer(env, e);
                    self.lift("neg", vec![t], span)
                }
            },
            ExprKind::Section(op) => {
                let (tx, ty) = (self.metas.fresh(), self.metas.fresh());
                let (x, y) = (self.supply.fresh("x"), self.supply.fresh("y"));
                let body = self.binary(*op, Te::var(&x, &tx, span), Te::var(&y, &ty, span), span);
                let body = lam(P::var(&y, &ty, span), body, span);
                lam(P::var(&x, &tx, span), body, span)
            }
            ExprKind::As(e, t) => {
                let want = self.written(env, t);
                let e = self.infer(env, e);
                self.solve();
                // The same up to sizes: those are checked at run time.
                let loose = self.loosen(&want);
                self.metas.at = e.span;
                if let Err(clash) = self.metas.unify(&e.ty, &loose) {
                    let found = e.ty.clone();
                    self.mismatch(e.span, &found, &want, Why::Annotation(t.span), clash);
                }
                Te::new(K::As(Box::new(e)), want, span)
            }
            ExprKind::Tensor(..) | ExprKind::TensorElim { .. } | ExprKind::Suml { .. } => {
                self.report(
                    Diagnostic::new(
                        codes::CARTESIAN_USE,
                        "a term of the linear language stands outside of it",
                    )
                    .label(span, env.why.unwrap_or("only the body of a linear λ `\\z -o …` is linear")),
                );
                Te::error(span)
            }
            // Reported by the parser.
            ExprKind::Error => Te::error(span),
        }
    }

    pub fn unsupported(&mut self, span: Span, what: &str, instead: &str) -> Te {
        self.report(
            Diagnostic::new(codes::UNSUPPORTED, format!("{what} is not part of this version yet"))
                .label(span, "not supported")
                .help(instead),
        );
        Te::error(span)
    }

    /// The type of t.i, now or when t's type is known.
    pub fn component(&mut self, t: &T, index: usize, span: Span) -> T {
        let result = self.metas.fresh();
        if matches!(self.metas.resolve(t), T::Meta(_)) {
            self.solve();
        }
        if let T::Tuple(ts) = self.metas.resolve(t)
            && let Some(t) = ts.get(index)
        {
            return t.clone();
        }
        self.pending.push(Constraint::Proj { of: t.clone(), index, result: result.clone(), span });
        result
    }

    pub fn field(&mut self, t: &T, x: &Ident, span: Span) -> T {
        let result = self.metas.fresh();
        let name: Name = x.node.as_str().into();
        self.pending.push(Constraint::Field { of: t.clone(), name, result: result.clone(), span });
        result
    }

    fn lambda(
        &mut self,
        env: &Env,
        params: &[Param],
        body: &Expr,
        want: Option<(&T, Why)>,
        span: Span,
    ) -> Te {
        self.distinct_parameters(params.iter().map(|p| &p.pat));
        let mut inner = env.clone();
        let mut patterns = vec![];
        let mut rest = want.map(|(t, why)| (self.metas.resolve(t), why));
        for param in params {
            let ty = self.param_type(&inner, param);
            let mut next = None;
            if let Some((T::Fun(a, b), why)) = &rest {
                self.require(param.pat.span, &ty, a, *why);
                next = Some((self.metas.resolve(b), *why));
            }
            rest = next;
            patterns.push(self.pattern(&mut inner, &param.pat, &ty, None));
        }
        let body = match rest {
            Some((t, why)) => self.check(&inner, body, &t, why),
            None => self.infer(&inner, body),
        };
        patterns.into_iter().rev().fold(body, |body, p| lam(p, body, span))
    }

    /// The type of a parameter: as written, or open.
    pub fn param_type(&mut self, env: &Env, p: &Param) -> T {
        match &p.ty {
            Some(t) => self.written(env, t),
            None => self.metas.fresh(),
        }
    }

    /// match t with | p -> e …
    fn match_arms(
        &mut self,
        env: &Env,
        t: &Expr,
        arms: &[(Pat, Expr)],
        ty: &T,
        why: Option<Why>,
        span: Span,
    ) -> Te {
        let t = self.infer(env, t);
        self.solve();
        let scrutinee = t.ty.clone();
        let mut first = None;
        let mut out = vec![];
        for (pat, body) in arms {
            let mut inner = env.clone();
            let p = self.arm_pattern(&mut inner, pat, &scrutinee);
            let why = why.or(first.map(Why::Branch)).unwrap_or(Why::Context);
            let body = self.check_deeper(&inner, body, ty, why);
            first.get_or_insert(body.span);
            out.push((p, body));
        }
        Te::new(K::Match(Box::new(t), out), ty.clone(), span)
    }

    /// What a `let` binds, the first outermost, and the scope of its body.
    fn let_binding(&mut self, env: &Env, p: &Param, s: &Expr) -> (Vec<(P, Te)>, Env) {
        let mut opened = vec![];
        let s = match &p.ty {
            Some(t) => {
                let (scope, sizes) = self.opening(env, t);
                opened = sizes;
                let want = self.written(&scope, t);
                let mut te = self.check(env, s, &want, Why::Annotation(t.span));
                te.ty = want;
                te
            }
            None => self.infer(env, s),
        };
        self.solve();
        let polynomial = self.size_of(&s);
        let mut inner = env.clone();
        let ty = s.ty.clone();
        let sizes = self.bind_opened(&mut inner, opened, s.span);
        let p = self.pattern(&mut inner, &p.pat, &ty, polynomial);
        (std::iter::once((p, s)).chain(sizes).collect(), inner)
    }
}

fn lets(bound: Vec<(P, Te)>, body: Te, span: Span) -> Te {
    bound.into_iter().rev().fold(body, |body, (p, s)| {
        let ty = body.ty.clone();
        Te::new(K::Let(p, Box::new(s), Box::new(body)), ty, span)
    })
}

/// f a b c as the head f and its arguments.
pub fn flatten(e: &Expr) -> (&Expr, Vec<&Expr>) {
    let mut args = vec![];
    let mut head = e;
    while let ExprKind::App(f, x) = &head.node {
        args.push(&**x);
        head = f;
    }
    args.reverse();
    (head, args)
}

pub fn lam(p: P, body: Te, span: Span) -> Te {
    let ty = T::fun(p.ty.clone(), body.ty.clone());
    Te::new(K::Lam(p, Box::new(body)), ty, span)
}

/// Names ints around a term.
pub fn wrap(binds: Vec<(Var, Te)>, t: Te) -> Te {
    if binds.is_empty() {
        return t;
    }
    let (ty, span) = (t.ty.clone(), t.span);
    Te::new(K::Bind(binds, Box::new(t)), ty, span)
}
