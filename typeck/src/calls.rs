//! Applications: definitions, built-ins, primitives and operators by name, and functions by value.

mod differentiation;
mod instances;
mod lifted;
mod wrong;

use self::instances::type_argument;
use self::lifted::Lifted;
use crate::builtin;
use crate::codes;
use crate::deferred::{Constraint, scalar_type};
use crate::diff::Operator;
use crate::env::{Env, Local};
use crate::infer::{Infer, Why, flatten, lam, wrap};
use crate::modules;
use crate::suggest;
use crate::tree::{Head, K, P, PK, Te};
use crate::ty::{T, is_size_meta};
use lang::diag::{Diagnostic, Span};
use lang::name::Var;
use lang::prim::{self, Prim, Scalar};
use lang::size::Size;
use lang::surface::{Expr, ExprKind, Ident, TyArg};
use std::collections::HashSet;

/// Names of the language that have no meaning here yet, and what to write instead.
const LATER: &[(&str, &str)] = &[
    ("transpose_linear", "of a linear function f the transpose is `(pullback f x).1` for any x"),
    ("checkpoint", "leave it out: `checkpoint f x` has the value and the derivative of `f x`"),
    ("inject", "the text that adc prints uses it; in programs write the constructor of a `type`"),
    ("from_inject", "the text that adc prints uses it; in programs write a `match`"),
];

/// Names of the linear language.
const LINEAR: &[&str] = &["zero", "coproj", "envproj", "onehot"];

/// A scheme with metavariables for what it binds.
pub(crate) struct Instance {
    pub(crate) head: Head,
    pub(crate) types: Vec<T>,
    pub(crate) sizes: Vec<Size>,
    /// Types of the parameters, and for a dependent one the size its argument is.
    pub(crate) params: Vec<Parameter>,
    /// The existential sizes of the result, named.
    pub(crate) opened: Vec<Var>,
    pub(crate) result: T,
}

/// The type of a parameter, the size its argument is where it is dependent, its name.
pub(crate) type Parameter = (T, Option<Size>, Option<String>);

impl Infer<'_> {
    /// head args
    pub fn spine(&mut self, env: &Env, head: &Expr, args: &[&Expr], span: Span) -> Te {
        if let Some(x) = self.member(env, head) {
            return self.global(env, &x, None, head.span, args, span);
        }
        if let Some((x, targs)) = self.type_application(env, head) {
            return self.global(env, &x, Some(&targs), head.span, args, span);
        }
        match &head.node {
            ExprKind::Var(x) if !env.locals.contains_key(x) => {
                self.global(env, x, None, head.span, args, span)
            }
            ExprKind::TypeApp(x, targs) if !env.locals.contains_key(&x.node) => {
                self.global(env, &x.node, Some(targs), head.span, args, span)
            }
            ExprKind::Var(x) => {
                let f = self.local(env, x, head.span);
                self.apply_all(env, f, args, span)
            }
            ExprKind::TypeApp(x, _) => {
                self.report(
                    Diagnostic::new(codes::TYPE_ARGUMENTS, format!("`{}` takes no type arguments", x.node))
                        .label(head.span, "a variable of this definition")
                        .help("to index an array, leave no space before the bracket and give an int"),
                );
                Te::error(span)
            }
            ExprKind::App(..) => {
                let (inner, mut all) = flatten(head);
                all.extend(args);
                self.spine(env, inner, &all, span)
            }
            _ => {
                let f = self.infer(env, head);
                self.apply_all(env, f, args, span)
            }
        }
    }

    /// `m.x` as the name of a module's member: a field of a bound m comes first.
    pub fn member(&self, env: &Env, e: &Expr) -> Option<String> {
        let ExprKind::Field(m, x) = &e.node else { return None };
        let ExprKind::Var(m) = &m.node else { return None };
        let module = !env.locals.contains_key(m) && self.sigs.modules.contains_key(m);
        module.then(|| format!("{m}.{}", x.node))
    }

    /// `f[τ, n]` for a definition with parameters, which is no array: its type and size arguments.
    pub fn type_application(&self, env: &Env, e: &Expr) -> Option<(String, Vec<TyArg>)> {
        let ExprKind::Index(f, args) = &e.node else { return None };
        let name = match &f.node {
            ExprKind::Var(x) if !env.locals.contains_key(x) => x.clone(),
            _ => self.member(env, f)?,
        };
        let scheme = match self.sigs.defs.get(&name) {
            Some(sig) => &sig.scheme,
            None => builtin::scheme(builtin::find(&name)?),
        };
        if scheme.params.is_empty() {
            return None;
        }
        Some((name, args.iter().map(type_argument).collect::<Option<_>>()?))
    }

    fn local(&mut self, env: &Env, x: &str, span: Span) -> Te {
        match env.locals.get(x) {
            Some(Local::Cartesian { var, ty, .. }) => Te::var(var, ty, span),
            Some(Local::Linear { .. }) => {
                let why = env.why.unwrap_or("a Cartesian term is required here");
                self.report(
                    Diagnostic::new(
                        codes::CARTESIAN_USE,
                        format!("the linear variable `{x}` is used where its value would not stay linear"),
                    )
                    .label(span, why),
                );
                Te::error(span)
            }
            None => Te::error(span),
        }
    }

    fn apply_all(&mut self, env: &Env, f: Te, args: &[&Expr], span: Span) -> Te {
        if let [ExprKind::Var(x), _, ..] = args.iter().map(|a| &a.node).collect::<Vec<_>>()[..]
            && !env.locals.contains_key(x)
            && !self.applicable(&f.ty)
            && (suggest::is_binary(x) || suggest::foreign_name(x).is_some())
        {
            if !suggest::is_binary(x) {
                self.unknown(env, x, args[0].span);
                return Te::error(span);
            }
            self.report(
                Diagnostic::new(codes::NOT_A_FUNCTION, format!("`{x}` stands before its arguments"))
                    .label(args[0].span, "this function")
                    .label(f.span, self.has_type(&f.ty))
                    .help(format!("write `{x} a b`")),
            );
            return Te::error(span);
        }
        let mut f = f;
        for arg in args {
            let at = f.span.to(arg.span);
            f = self.apply_expr(env, f, arg, at);
        }
        f.span = span;
        f
    }

    /// f arg: application of a function or, if f's type says so, of a linear map.
    fn apply_expr(&mut self, env: &Env, f: Te, arg: &Expr, span: Span) -> Te {
        if matches!(self.metas.resolve(&f.ty), T::Meta(_)) {
            self.solve();
        }
        match self.metas.resolve(&f.ty) {
            T::Fun(a, b) => {
                let arg = self.check(env, arg, &a, Why::Context);
                Te::new(K::App(Box::new(f), Box::new(arg)), (*b).clone(), span)
            }
            T::Lin(a, b) => {
                let arg = self.check(env, arg, &a, Why::Context);
                Te::new(K::LinApp(Box::new(f), Box::new(arg)), (*b).clone(), span)
            }
            _ => {
                let arg = self.infer(env, arg);
                self.apply(f, arg, span)
            }
        }
    }

    pub fn apply(&mut self, f: Te, arg: Te, span: Span) -> Te {
        match self.metas.resolve(&f.ty) {
            T::Lin(a, b) => {
                let found = arg.ty.clone();
                self.require(arg.span, &found, &a, Why::Context);
                Te::new(K::LinApp(Box::new(f), Box::new(arg)), (*b).clone(), span)
            }
            T::Fun(a, b) => {
                let found = arg.ty.clone();
                self.require(arg.span, &found, &a, Why::Context);
                Te::new(K::App(Box::new(f), Box::new(arg)), (*b).clone(), span)
            }
            T::Error => Te::error(span),
            T::Meta(m) if !self.metas.is_number(m) => {
                let result = self.metas.fresh();
                let found = f.ty.clone();
                self.require(f.span, &found, &T::fun(arg.ty.clone(), result.clone()), Why::Context);
                Te::new(K::App(Box::new(f), Box::new(arg)), result, span)
            }
            T::Meta(_)
            | T::Real
            | T::Int
            | T::Bool
            | T::Tuple(_)
            | T::Record(_)
            | T::Sum(_)
            | T::Array(..)
            | T::Copower(..)
            | T::Param(_) => {
                let d = Diagnostic::new(
                    codes::NOT_A_FUNCTION,
                    "what is given an argument here is not a function",
                )
                .label(f.span, self.has_type(&f.ty))
                .label(arg.span, "the argument");
                let d = match self.metas.resolve(&f.ty) {
                    T::Array(..) => d.help("to index, leave no space before the bracket: a[i]"),
                    _ if matches!(f.kind, K::Num(_) | K::Lit(_)) => d.help("a product is written `2 * x`"),
                    _ => d,
                };
                self.report(d);
                Te::error(span)
            }
        }
    }

    /// A name that no local binds: a definition, an input, an operator, a built-in, a primitive.
    fn global(
        &mut self,
        env: &Env,
        name: &str,
        targs: Option<&[TyArg]>,
        at: Span,
        args: &[&Expr],
        span: Span,
    ) -> Te {
        if let Some(sig) = self.sigs.defs.get(name) {
            if sig.broken {
                for arg in args {
                    self.infer(env, arg);
                }
                return Te::error(span);
            }
            let head = Head::Def(sig.name.clone(), sig.inputs.clone());
            let instance = self.instantiate(env, head, &sig.scheme, targs, at);
            if let Some(t) = self.tupled(env, name, &instance.params, args, at) {
                return t;
            }
            return self.call(env, name, instance, args, at, span);
        }
        if let Some((sum, k, has_payload)) = self.constructor(name) {
            if targs.is_some() {
                self.report(
                    Diagnostic::new(
                        codes::TYPE_ARGUMENTS,
                        format!("the constructor `{name}` takes no type arguments"),
                    )
                    .label(at, "here"),
                );
            }
            let payload = match &sum {
                T::Sum(s) => s.arms[k].1.clone(),
                _ => T::Error,
            };
            let inject = |t: Te| Te::new(K::Inject(k, Box::new(t)), sum.clone(), span);
            if !has_payload {
                let t = inject(Te::new(K::Tuple(vec![]), T::unit(), at));
                return self.apply_all(env, t, args, span);
            }
            let t = match args.first() {
                Some(arg) => {
                    let why = Why::Argument { function: name, number: 1, name: None };
                    inject(self.check(env, arg, &payload, why))
                }
                None => {
                    let x = self.supply.fresh("x");
                    let body = inject(Te::var(&x, &payload, at));
                    lam(P::var(&x, &payload, at), body, at)
                }
            };
            return self.apply_all(env, t, &args[1.min(args.len())..], span);
        }
        if let Some((var, ty, _)) = self.sigs.inputs.get(name).and_then(|i| self.inputs.get(&i.name)) {
            let f = Te::var(var, ty, at);
            return self.apply_all(env, f, args, span);
        }
        if let Some(targs) = targs
            && matches!(name, "zero" | "unread")
        {
            let f = self.of_type(env, name, targs, at);
            return self.apply_all(env, f, args, span);
        }
        if let Some(targs) = targs
            && name == "inject"
        {
            return self.inject(env, targs, args, at, span);
        }
        if let Some(op) = Operator::find(name) {
            let instance = self.differentiation(op, at, args);
            return self.call(env, name, instance, args, at, span);
        }
        if let Some(row) = builtin::find(name) {
            if row.name == "length" && args.len() == 1 {
                let a = self.infer(env, args[0]);
                let n = self.metas.fresh_size("n");
                let want = T::array(n.clone(), self.metas.fresh());
                let found = a.ty.clone();
                self.require(
                    a.span,
                    &found,
                    &want,
                    Why::Argument { function: "length", number: 1, name: None },
                );
                let length = Te::new(K::Size(n.clone()), T::Int, span);
                self.solve();
                let inputs = self.inputs.values().flat_map(|(_, _, sizes)| sizes);
                let known = env.scope.sizes.values().flat_map(|n| n.vars()).chain(inputs);
                let here: HashSet<u32> = known.map(|v| v.id).collect();
                let n = self.metas.zonk_size(&n);
                if names_a_part(&a) || n.vars().all(|v| is_size_meta(v) || here.contains(&v.id)) {
                    return length;
                }
                // The size has its name inside of the array's term: that is evaluated for it.
                let unused = P { kind: PK::Wildcard, ty: a.ty.clone(), span: a.span };
                return Te::new(K::Let(unused, Box::new(a), Box::new(length)), T::Int, span);
            }
            let instance = self.instantiate(env, Head::Row(row), builtin::scheme(row), targs, at);
            if let Some(t) = self.tupled(env, name, &instance.params, args, at) {
                return t;
            }
            return self.call(env, name, instance, args, at, span);
        }
        if targs.is_none()
            && let Some(lifted) = Lifted::find(name)
        {
            return self.lifted(env, name, lifted, args, at, span);
        }
        if let Some((_, instead)) = LATER.iter().find(|(later, _)| *later == name) {
            self.unsupported(at, &format!("`{name}`"), instead);
        } else if LINEAR.contains(&name) {
            let d =
                Diagnostic::new(codes::CARTESIAN_USE, "a term of the linear language stands outside of it")
                    .label(at, env.why.unwrap_or("only the body of a linear λ `\\z -o …` is linear"));
            self.report(if name == "zero" {
                d.help("a zero of known type is written `zero[τ]`")
            } else {
                d
            });
        } else {
            self.unknown(env, name, at);
        }
        for arg in args {
            self.infer(env, arg);
        }
        Te::error(span)
    }

    /// λ for the arguments that are missing; those given are named first, so that they are computed once.
    fn eta(
        &mut self,
        mut given: Vec<Te>,
        missing: usize,
        span: Span,
        make: impl FnOnce(&mut Self, Vec<Te>) -> Te,
    ) -> Te {
        if missing == 0 {
            return make(self, given);
        }
        let mut lets = vec![];
        for t in &mut given {
            if matches!(t.kind, K::Num(_) | K::Lit(_) | K::Var(_) | K::Lam(..)) {
                continue;
            }
            let v = self.supply.fresh("a");
            let (ty, at) = (t.ty.clone(), t.span);
            let named = std::mem::replace(t, Te::var(&v, &ty, at));
            lets.push((P::var(&v, &ty, at), named));
        }
        let mut patterns = vec![];
        for _ in 0..missing {
            let (v, ty) = (self.supply.fresh("x"), self.metas.fresh());
            given.push(Te::var(&v, &ty, span));
            patterns.push(P::var(&v, &ty, span));
        }
        let body = make(self, given);
        let f = patterns.into_iter().rev().fold(body, |body, p| lam(p, body, span));
        lets.into_iter().rev().fold(f, |body, (p, t)| {
            let ty = body.ty.clone();
            Te::new(K::Let(p, Box::new(t), Box::new(body)), ty, span)
        })
    }

    /// Checks arguments against an instance: those that are not λs first, since they say what the λs take.
    fn call(
        &mut self,
        env: &Env,
        name: &str,
        instance: Instance,
        args: &[&Expr],
        at: Span,
        span: Span,
    ) -> Te {
        let Instance { head, types, sizes, params, opened, result } = instance;
        let given = args.len().min(params.len());
        let mut checked: Vec<Option<Te>> = (0..given).map(|_| None).collect();
        let mut binds = vec![];
        let functions = |k: &usize| matches!(args[*k].node, ExprKind::Lam(..) | ExprKind::Section(_));
        let order = (0..given).filter(|k| !functions(k)).chain((0..given).filter(functions));
        let mut fits = true;
        for k in order {
            let (ty, dependent, param) = &params[k];
            let why = Why::Argument { function: name, number: k + 1, name: param.as_deref() };
            let before = self.diags.len();
            let mut t = self.check(env, args[k], ty, why);
            fits &= self.diags.len() == before;
            if let Some(want) = dependent {
                let hint = param.as_deref().unwrap_or("m");
                let at = t.span;
                // Which operators its operators are must be known, as for a bound.
                self.solve();
                let (n, bind) = self.as_size(t, hint);
                if let Some((v, e)) = bind {
                    binds.push((v, e));
                }
                self.metas.at = at;
                if self.metas.unify_size(want, &n).is_err() {
                    self.size_mismatch(at, want, &n);
                    fits = false;
                }
                t = Te::new(K::Size(n), T::Int, at);
            }
            checked[k] = Some(t);
        }
        // What the arguments should have said of the result is not known.
        let result = match fits || !self.open(&result) {
            true => result,
            false => T::Error,
        };
        let checked: Vec<Te> = checked.into_iter().flatten().collect();
        let missing = params.len() - given;
        let rest: Vec<(T, Option<Size>)> =
            params[given..].iter().map(|(t, n, _)| (t.clone(), n.clone())).collect();
        let t = self.eta(checked, missing, at, |s, all| {
            for (t, (ty, n)) in all[given..].iter().zip(&rest) {
                let _ = s.metas.unify(&t.ty, ty);
                if let (Some(n), K::Var(v)) = (n, &t.kind) {
                    let _ = s.metas.unify_size(n, &Size::var(v.clone()));
                }
            }
            let instance = Instance { head, types, sizes, params: vec![], opened, result };
            s.measured(name, instance, all, span)
        });
        let t = wrap(binds, t);
        if let Some(extra) = args.get(given)
            && !self.applicable(&t.ty)
        {
            return self.too_many(name, at, given, args.len(), extra.span, span);
        }
        self.apply_all(env, t, &args[given..], span)
    }

    /// Is a type or size in it still to be found?
    fn open(&self, t: &T) -> bool {
        let t = self.metas.zonk(t);
        t.has_meta() || t.size_vars().iter().any(is_size_meta)
    }

    /// May a value of this type be given another argument?
    fn applicable(&mut self, t: &T) -> bool {
        self.solve();
        match self.metas.resolve(t) {
            T::Fun(..) | T::Lin(..) | T::Error => true,
            T::Meta(m) => !self.metas.is_number(m),
            T::Real
            | T::Int
            | T::Bool
            | T::Tuple(_)
            | T::Record(_)
            | T::Sum(_)
            | T::Array(..)
            | T::Copower(..)
            | T::Param(_) => false,
        }
    }
}

/// A variable or a part of one: its sizes have their names in its scope.
fn names_a_part(t: &Te) -> bool {
    match &t.kind {
        K::Var(_) => true,
        K::Proj(t, _) | K::Field(t, _) | K::Index(t, _) => names_a_part(t),
        _ => false,
    }
}

/// The names an application spine may mean before its arguments are looked at.
pub fn head_name(e: &Expr) -> Option<&str> {
    match &flatten(e).0.node {
        ExprKind::Var(x) => Some(x),
        ExprKind::TypeApp(Ident { node, .. }, _) => Some(node),
        _ => None,
    }
}
