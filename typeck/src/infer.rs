//! Inference: a surface expression becomes a typed tree. Types are unified as they are met; what cannot be decided yet waits
//! in [`crate::deferred`].

use crate::codes;
use crate::deferred::Constraint;
use crate::env::{Env, InputSignature, Local, Signatures, Types};
use crate::tree::{Head, K, P, PK, Te};
use crate::ty::T;
use crate::unify::{Clash, Metas};
use lang::core::Lit;
use lang::diag::{Diagnostic, Span};
use lang::name::{Name, Supply, Var};
use lang::size::Size;
use lang::surface::{BinOp, Expr, ExprKind, Ident, LoopFlavour, LoopFor, Param};
use std::collections::{HashMap, HashSet};

/// Expressions nested deeper than this are refused. (Each level of a chain of `let`s or operators counts.)
pub const DEPTH_LIMIT: usize = 4000;

/// Types with more parts than this are refused.
pub const TYPE_LIMIT: usize = 10_000;

/// Polynomials with more terms than this are not followed.
const POLYNOMIAL_LIMIT: usize = 256;

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
}

/// Why a type is required, for the message when it is not met.
#[derive(Clone, Copy)]
pub enum Why<'a> {
    Context,
    Argument { function: &'a str, number: usize, name: Option<&'a str> },
    Annotation(Span),
    Result(&'a str),
    Condition,
    Branch(Span),
    Element(Span),
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
        Types { aliases: &self.sigs.aliases, diags: &mut self.diags, depth: 0 }.ty(&env.scope, t)
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

    pub fn mismatch(&mut self, span: Span, found: &T, want: &T, why: Why, clash: Clash) {
        if !self.solving {
            // What waits may say more about the types to show.
            self.solve();
        }
        let (found, want) = (self.metas.zonk(found), self.metas.zonk(want));
        let (f, w) = (self.shown(&found), self.shown(&want));
        let (what, place) = match why {
            Why::Context => (format!("{w} is required here"), None),
            Why::Argument { function, number, name } => {
                let which = match name {
                    Some(x) => format!("argument `{x}` of `{function}`"),
                    None => format!("argument {number} of `{function}`"),
                };
                (format!("{which} must be {w}"), None)
            }
            Why::Annotation(s) => (format!("{w} is required by the type written here"), Some((s, w.clone()))),
            Why::Result(def) => (format!("the result of `{def}` is declared as {w}"), None),
            Why::Condition => ("a condition must be bool".to_string(), None),
            Why::Branch(s) => (format!("both branches must have one type, here {w}"), Some((s, w.clone()))),
            Why::Element(s) => (format!("all elements must have one type, here {w}"), Some((s, w.clone()))),
            Why::State(s) => (format!("the next state must have the state's type {w}"), Some((s, w.clone()))),
            Why::Bound => ("a bound must be an int".to_string(), None),
            Why::Index => ("an index must be an int".to_string(), None),
            Why::Operand(op) => (format!("`{op}` needs {w}"), None),
        };
        let d = match &clash {
            Clash::Sizes(a, b) => {
                let fixed = self.metas.fixed_at(a).or(self.metas.fixed_at(b)).filter(|s| *s != span);
                let (a, b) = (self.metas.zonk_size(a), self.metas.zonk_size(b));
                let d = Diagnostic::new(codes::SIZE_MISMATCH, format!("{what}, this is {f}: {a} is not {b}"))
                    .label(span, format!("this has type {f}"));
                match fixed {
                    Some(s) => d.label(s, "the size is fixed by this"),
                    None => d,
                }
            }
            Clash::Types(..) => Diagnostic::new(codes::MISMATCH, format!("{what}, this is {f}"))
                .label(span, format!("this has type {f}")),
            Clash::Infinite(t) => {
                let t = self.metas.zonk(t).show();
                Diagnostic::new(
                    codes::INFINITE,
                    format!("{what}, this is {f}: the type would contain itself"),
                )
                .label(span, format!("a part of this would have type {t}"))
            }
            Clash::Negative(n, k) => {
                Diagnostic::new(codes::NEGATIVE_SIZE, format!("{what}, this is {f}: {n} would be {k}"))
                    .label(span, format!("this has type {f}"))
            }
            Clash::Overflow => Diagnostic::new(codes::SIZE_OVERFLOW, "a size does not fit in 64 bits")
                .label(span, "too large"),
        };
        let d = match place {
            Some((s, text)) => d.label(s, text),
            None => d,
        };
        let d = match &clash {
            Clash::Types(a, b) => match (self.metas.resolve(a), self.metas.resolve(b)) {
                (T::Int, T::Real) => d.help("ints are converted with `real`: real k"),
                (T::Real, T::Int) => d.help("`floor_int x` and `round_int x` give ints"),
                (T::Fun(..), _) => d.help("an argument may be missing"),
                _ => d,
            },
            Clash::Sizes(..) | Clash::Infinite(_) | Clash::Negative(..) | Clash::Overflow => d,
        };
        self.report(d);
    }

    pub fn size_mismatch(&mut self, span: Span, a: &Size, b: &Size) {
        let (a, b) = (self.metas.zonk_size(a), self.metas.zonk_size(b));
        self.report(
            Diagnostic::new(codes::SIZE_MISMATCH, format!("the size {a} is not known to be {b}"))
                .label(span, format!("{a} and {b} must be equal here")),
        );
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
            self.report(
                Diagnostic::new(codes::TYPE_TOO_LARGE, "the type of this expression is too large")
                    .label(e.span, format!("more than {TYPE_LIMIT} parts")),
            );
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
            ExprKind::If(c, a, b) => {
                let c = self.check(env, c, &T::Bool, Why::Condition);
                let a = self.check_deeper(env, a, want, why);
                let b = self.check_deeper(env, b, want, why);
                Te::new(K::If(Box::new(c), Box::new(a), Box::new(b)), want.clone(), e.span)
            }
            ExprKind::Let(p, s, body) => {
                let (p, s, inner) = self.let_binding(env, p, s);
                let body = self.check_deeper(&inner, body, want, why);
                Te::new(K::Let(p, Box::new(s), Box::new(body)), want.clone(), e.span)
            }
            _ => {
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
            ExprKind::Int(k) => Te::new(K::Num(*k), self.metas.fresh_number(), span),
            ExprKind::Real(x) => Te::new(K::Lit(Lit::Real(*x)), T::Real, span),
            ExprKind::Bool(b) => Te::new(K::Lit(Lit::Bool(*b)), T::Bool, span),
            ExprKind::Lam(params, body) => self.lambda(env, params, body, None, span),
            ExprKind::LinLam(param, body) => self.linear_lambda(env, param, body, span),
            ExprKind::Let(p, s, body) => {
                let (p, s, inner) = self.let_binding(env, p, s);
                let body = self.infer(&inner, body);
                let ty = body.ty.clone();
                Te::new(K::Let(p, Box::new(s), Box::new(body)), ty, span)
            }
            ExprKind::If(c, a, b) => {
                let c = self.check(env, c, &T::Bool, Why::Condition);
                let a = self.infer(env, a);
                let ty = a.ty.clone();
                let b = self.check(env, b, &ty, Why::Branch(a.span));
                Te::new(K::If(Box::new(c), Box::new(a), Box::new(b)), ty, span)
            }
            ExprKind::Match(..) => self.unsupported(span, "`match`"),
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
                let fields: Vec<(Name, Te)> =
                    fields.iter().map(|(x, e)| (x.node.as_str().into(), self.infer(env, e))).collect();
                let ty = T::record(fields.iter().map(|(x, t)| (x.clone(), t.ty.clone())).collect());
                Te::new(K::Record(fields), ty, span)
            }
            ExprKind::Field(r, x) => {
                let r = self.infer(env, r);
                let ty = self.field(&r.ty, x, span);
                Te::new(K::Field(Box::new(r), x.node.as_str().into()), ty, span)
            }
            ExprKind::RecordUpdate(r, fields) => {
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
                let found = e.ty.clone();
                self.require(e.span, &found, &loose, Why::Annotation(t.span));
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

    /// The type with fresh sizes for the outer arrays.
    fn loosen(&mut self, t: &T) -> T {
        match t {
            T::Array(_, e) => T::array(self.metas.fresh_size("k"), self.loosen(e)),
            other => other.clone(),
        }
    }

    pub fn unsupported(&mut self, span: Span, what: &str) -> Te {
        self.report(
            Diagnostic::new(codes::UNSUPPORTED, format!("{what} is not part of this version yet"))
                .label(span, "not supported"),
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

    /// Binary operators but `|>` and `>>`.
    pub fn binary(&mut self, op: BinOp, a: Te, b: Te, span: Span) -> Te {
        let op = match op {
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::Div => "/",
            BinOp::Pow => {
                // A numeral without a point is an int as an exponent.
                if let K::Num(_) = b.kind {
                    let _ = self.metas.unify(&b.ty, &T::Int);
                }
                "^"
            }
            BinOp::Lt => "<",
            BinOp::Le => "<=",
            BinOp::Gt => ">",
            BinOp::Ge => ">=",
            BinOp::Eq | BinOp::Ne => {
                let (want, found) = (a.ty.clone(), b.ty.clone());
                self.require(b.span, &found, &want, Why::Element(a.span));
                let kind = K::Equal { negated: op == BinOp::Ne, left: Box::new(a), right: Box::new(b) };
                return Te::new(kind, T::Bool, span);
            }
            BinOp::And | BinOp::Or => {
                let name = if op == BinOp::And { "&&" } else { "||" };
                for t in [&a, &b] {
                    let ty = t.ty.clone();
                    self.require(t.span, &ty, &T::Bool, Why::Operand(name));
                }
                let (a, b) = (Box::new(a), Box::new(b));
                let kind = if op == BinOp::And { K::And(a, b) } else { K::Or(a, b) };
                return Te::new(kind, T::Bool, span);
            }
            BinOp::MatMul => {
                let result = self.metas.fresh();
                self.pending.push(Constraint::MatMul {
                    a: a.ty.clone(),
                    b: b.ty.clone(),
                    result: result.clone(),
                    span,
                });
                return Te::new(K::MatMul(Box::new(a), Box::new(b)), result, span);
            }
            BinOp::Pipe | BinOp::Compose => return self.pipe_section(op, a, b, span),
        };
        self.lift(op, vec![a, b], span)
    }

    /// `(|>)` and `(>>)` as functions.
    fn pipe_section(&mut self, op: BinOp, a: Te, b: Te, span: Span) -> Te {
        if op == BinOp::Pipe {
            return self.apply(b, a, span);
        }
        let tx = self.metas.fresh();
        let x = self.supply.fresh("x");
        let inner = self.apply(a, Te::var(&x, &tx, span), span);
        let body = self.apply(b, inner, span);
        lam(P::var(&x, &tx, span), body, span)
    }

    fn compose(&mut self, env: &Env, f: &Expr, g: &Expr, span: Span) -> Te {
        let f = self.infer(env, f);
        let g = self.infer(env, g);
        self.pipe_section(BinOp::Compose, f, g, span)
    }

    /// op(args), lifted pointwise.
    pub fn lift(&mut self, op: &'static str, args: Vec<Te>, span: Span) -> Te {
        let types: Vec<T> = args.iter().map(|t| t.ty.clone()).collect();
        let rows = crate::deferred::rows(op);
        // One operand, and the result of its scalar: the types are the same, known or not.
        let same = args.len() == 1 && rows.iter().all(|(a, r)| a.first() == Some(r));
        let result = if same { types[0].clone() } else { self.metas.fresh() };
        let spans = args.iter().map(|t| t.span).collect();
        self.pending.push(Constraint::Lift { op, args: types, result: result.clone(), span, spans });
        let kind = K::Op { head: Head::Prim(op), types: vec![], sizes: vec![], args };
        Te::new(kind, result, span)
    }

    fn lambda(
        &mut self,
        env: &Env,
        params: &[Param],
        body: &Expr,
        want: Option<(&T, Why)>,
        span: Span,
    ) -> Te {
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

    fn let_binding(&mut self, env: &Env, p: &Param, s: &Expr) -> (P, Te, Env) {
        let s = match &p.ty {
            Some(t) => {
                let want = self.written(env, t);
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
        let p = self.pattern(&mut inner, &p.pat, &ty, polynomial);
        (p, s, inner)
    }

    /// The elements that indices take out of an array, one dimension each.
    fn indices(&mut self, env: &Env, a: &Te, index: &[Expr]) -> (Vec<Te>, T) {
        let mut t = a.ty.clone();
        let mut out = vec![];
        for e in index {
            if matches!(self.metas.resolve(&t), T::Meta(_)) {
                self.solve();
            }
            let (n, element) = match self.metas.resolve(&t) {
                T::Array(n, element) => (n, (*element).clone()),
                T::Error => (self.metas.fresh_size("n"), T::Error),
                T::Meta(m) if !self.metas.is_number(m) => {
                    let (n, element) = (self.metas.fresh_size("n"), self.metas.fresh());
                    let _ = self.metas.unify(&t, &T::array(n.clone(), element.clone()));
                    (n, element)
                }
                _ => {
                    let whole = self.metas.zonk(&a.ty).show();
                    let d = Diagnostic::new(
                        codes::NOT_AN_ARRAY,
                        match out.len() {
                            0 => format!("{whole} cannot be indexed"),
                            k => format!("{whole} takes {k} indices, here are {}", index.len()),
                        },
                    )
                    .label(a.span, format!("this has type {whole}"));
                    let d = match self.metas.resolve(&t) {
                        T::Tuple(_) => d.help("components of tuples are written t.0, t.1"),
                        _ => d,
                    };
                    self.report(d);
                    (self.metas.fresh_size("n"), T::Error)
                }
            };
            if let ExprKind::Var(x) = &e.node
                && let Some(Local::Cartesian { open: Some(bound), .. }) = env.locals.get(x)
            {
                self.metas.at = a.span;
                if self.metas.unify_size(bound, &n).is_err() {
                    self.size_mismatch(a.span, bound, &n);
                }
            }
            out.push(self.check(env, e, &T::Int, Why::Index));
            t = element;
        }
        (out, t)
    }

    fn slice(&mut self, env: &Env, a: &Expr, from: Option<&Expr>, to: Option<&Expr>, span: Span) -> Te {
        let a = self.infer(env, a);
        self.solve();
        let (n, element) = (self.metas.fresh_size("n"), self.metas.fresh());
        let found = a.ty.clone();
        self.require(a.span, &found, &T::array(n.clone(), element.clone()), Why::Operand("[i:j]"));
        let mut binds = vec![];
        let mut end = |s: &mut Self, e: Option<&Expr>, default: Size| match e {
            None => default,
            Some(e) => {
                let (n, bind) = s.bound(env, e, "k");
                binds.extend(bind);
                n
            }
        };
        let from = end(self, from, Size::constant(0));
        let to = end(self, to, n);
        let length = from.checked_neg().and_then(|m| to.checked_add(&m)).unwrap_or_default();
        let ty = T::array(length.clone(), element);
        let t = Te::new(K::Slice { array: Box::new(a), from, length }, ty, span);
        wrap(binds, t)
    }

    /// The size an int expression is, naming it where it is no polynomial.
    pub fn bound(&mut self, env: &Env, e: &Expr, hint: &str) -> (Size, Option<(Var, Te)>) {
        let t = self.check(env, e, &T::Int, Why::Bound);
        self.solve();
        self.as_size(t, hint)
    }

    pub fn as_size(&mut self, t: Te, hint: &str) -> (Size, Option<(Var, Te)>) {
        match self.size_of(&t) {
            Some(n) => (n, None),
            None => {
                let v = self.supply.fresh(hint);
                (Size::var(v.clone()), Some((v, t)))
            }
        }
    }

    /// The polynomial an int term is.
    pub fn size_of(&self, t: &Te) -> Option<Size> {
        match self.metas.resolve(&t.ty) {
            T::Int => {}
            T::Meta(m) if self.metas.is_number(m) => {}
            _ => return None,
        }
        match &t.kind {
            K::Num(k) | K::Lit(Lit::Int(k)) => Some(Size::constant(*k)),
            K::Var(v) => Some(self.polynomials.get(&v.id).cloned().unwrap_or_else(|| Size::var(v.clone()))),
            K::Size(n) => Some(self.metas.zonk_size(n)),
            K::Op { head: Head::Prim(op), args, .. } => {
                let parts: Vec<Size> = args.iter().map(|a| self.size_of(a)).collect::<Option<_>>()?;
                match (*op, parts.as_slice()) {
                    ("+", [a, b]) => a.checked_add(b),
                    ("-", [a, b]) => a.checked_add(&b.checked_neg()?),
                    ("*", [a, b]) if a.terms.len() * b.terms.len() <= POLYNOMIAL_LIMIT => a.checked_mul(b),
                    ("neg", [a]) => a.checked_neg(),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    pub fn evidently_nonnegative(&self, n: &Size) -> bool {
        n.terms.iter().all(|(m, c)| *c >= 0 && m.iter().all(|v| self.nonneg.contains(&v.id)))
    }

    /// A comprehension's or loop's index.
    pub fn index_variable(&mut self, env: &mut Env, name: &Ident, open: Option<Size>) -> Var {
        let i = self.supply.fresh(name.node.as_str());
        self.nonneg.insert(i.id);
        if name.node != "_" {
            env.bind(&name.node, &i, &T::Int, None);
            if open.is_some() {
                let local = Local::Cartesian { var: i.clone(), ty: T::Int, open };
                env.locals.insert(name.node.clone(), local);
            }
        }
        i
    }

    fn comprehension(&mut self, env: &Env, body: &Expr, bounds: &[(Ident, Option<Expr>)], span: Span) -> Te {
        let mut inner = env.clone();
        let (mut binds, mut levels) = (vec![], vec![]);
        for (name, bound) in bounds {
            let (n, open) = match bound {
                Some(e) => {
                    let (n, bind) = self.bound(env, e, "m");
                    binds.extend(bind);
                    (n, None)
                }
                None => {
                    let n = self.metas.fresh_size(&name.node);
                    (n.clone(), Some(n))
                }
            };
            levels.push((self.index_variable(&mut inner, name, open), n));
        }
        let body = self.infer(&inner, body);
        let t = levels.into_iter().rev().fold(body, |body, (index, bound)| {
            let ty = T::array(bound.clone(), body.ty.clone());
            Te::new(K::Comprehension { index, bound, body: Box::new(body) }, ty, span)
        });
        wrap(binds, t)
    }

    fn loop_state(&mut self, env: &Env, state: &Param, init: &Expr) -> (P, Te, Env) {
        let init = match &state.ty {
            Some(t) => {
                let want = self.written(env, t);
                self.check(env, init, &want, Why::Annotation(t.span))
            }
            None => self.infer(env, init),
        };
        self.solve();
        let mut inner = env.clone();
        let ty = init.ty.clone();
        let p = self.pattern(&mut inner, &state.pat, &ty, None);
        (p, init, inner)
    }

    fn loop_for(&mut self, env: &Env, l: &LoopFor, span: Span) -> Te {
        let collect = match l.flavour {
            LoopFlavour::Plain => false,
            LoopFlavour::Collect => true,
            LoopFlavour::LinearUp | LoopFlavour::LinearDown => {
                self.report(
                    Diagnostic::new(
                        codes::CARTESIAN_USE,
                        "a loop of the linear language stands outside of it",
                    )
                    .label(span, env.why.unwrap_or("only the body of a linear λ `\\z -o …` is linear")),
                );
                return Te::error(span);
            }
        };
        let (state, init, mut inner) = self.loop_state(env, &l.state, &l.init);
        let bound = self.check(env, &l.bound, &T::Int, Why::Bound);
        self.solve();
        let mut binds = vec![];
        let bound = match self.size_of(&bound) {
            Some(n) if collect || self.evidently_nonnegative(&n) => n,
            None if collect => {
                let (n, bind) = self.as_size(bound, "m");
                binds.extend(bind);
                n
            }
            // A loop with a bound below zero does nothing.
            Some(_) | None => {
                let m = self.supply.fresh("m");
                self.nonneg.insert(m.id);
                let span = bound.span;
                let zero = Te::new(K::Num(0), T::Int, span);
                let clamped =
                    K::Op { head: Head::Prim("max"), types: vec![], sizes: vec![], args: vec![zero, bound] };
                binds.push((m.clone(), Te::new(clamped, T::Int, span)));
                Size::var(m)
            }
        };
        let index = self.index_variable(&mut inner, &l.index, None);
        let sty = state.ty.clone();
        let (body, ty) = if collect {
            let body = self.infer(&inner, &l.body);
            let out = self.metas.fresh();
            let found = body.ty.clone();
            let want = T::tuple([sty.clone(), out.clone()]);
            self.require(body.span, &found, &want, Why::State(init.span));
            (body, T::tuple([sty, T::array(bound.clone(), out)]))
        } else {
            (self.check(&inner, &l.body, &sty, Why::State(init.span)), sty)
        };
        let (init, body) = (Box::new(init), Box::new(body));
        let t = Te::new(K::LoopFor { collect, state, init, index, bound, body }, ty, span);
        wrap(binds, t)
    }
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

/// A pattern's own variable, when it is just one.
pub fn simple(p: &P) -> Option<&Var> {
    match &p.kind {
        PK::Var(v) => Some(v),
        PK::Wildcard | PK::Tuple(_) | PK::Record(_) | PK::Array(_) => None,
    }
}
