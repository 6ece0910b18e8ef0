//! Core and Target back to surface syntax, so that every stage prints as `.ad` text that parses and checks again.
//!
//! Names are chosen so that nothing is shadowed: a clash gets a number. Types are written at λ, λ̲ and linear lets, and at other binders
//! where inference could not find them. What has no place in what people write is spelled like a function: `check_index c i n e` and its
//! kin for checks, `unread[τ]`, `box t`, `unbox[τ] h`, and for sums `sum[τ, σ]`, `inject[sum[τ, σ]] i e`, arms `In0 x`, `from_inject i e`.

mod linear;
mod names;
mod types;

use crate::calls::reached;
use crate::core::{Binder, Def, Extremum, Lit, Program, Term, Tm};
use crate::diag::{Failure, Span};
use crate::name::Var;
use crate::prim::{Prim, Scalar};
use crate::size::Size;
use crate::surface::{self, *};
use crate::target::{Lin, LinTerm};
use crate::types::{Mode, Type};
use crate::typing::{Scope, type_of};
use crate::walk::{Mapper, as_size, map_lin, map_term};
use names::Names;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Every definition of a program, in the order of their names; those that call each other together.
pub fn program(p: &Program) -> File {
    let (mut items, mut done) = (vec![], BTreeSet::new());
    for d in p.defs.values() {
        if done.contains(&d.name) {
            continue;
        }
        let group = group(d, p);
        done.extend(group.iter().map(|d| d.name.clone()));
        items.push(item(&group, p));
    }
    File { items }
}

/// One definition; `program` has the definitions it calls.
pub fn def(d: &Def, program: &Program) -> Item {
    item(&group(d, program), program)
}

/// A definition and the others that call it and that it calls, directly or not. Alone it is recursive or not.
fn group<'p>(d: &'p Def, program: &'p Program) -> Vec<&'p Def> {
    let own = reached(&d.body, program);
    let others = own.iter().filter(|x| **x != d.name).filter_map(|x| program.defs.get(x));
    let calls_it = |e: &&Def| reached(&e.body, program).contains(&d.name);
    std::iter::once(d).chain(others.map(|e| &**e).filter(calls_it)).collect()
}

fn item(group: &[&Def], program: &Program) -> Item {
    let rec = group.iter().any(|d| reached(&d.body, program).contains(&d.name));
    let defs = group.iter().map(|d| written(d, program)).collect();
    Item { doc: None, kind: ItemKind::Def { rec, defs }, span: Span::default() }
}

fn written(d: &Def, program: &Program) -> surface::Def {
    let mut names = Names::new(program);
    let Uses { used, clamps } = uses(&d.body);
    let mut distill = Distill { program, scope: Scope::default(), used, clamps };
    let types = d.types.iter().map(|a| TypeParam::Type(ident(a)));
    let type_params: Vec<TypeParam> = {
        let sizes = d.sizes.iter().map(|n| {
            distill.scope.bind(n, &Type::Int);
            TypeParam::Size(ident(&names.bind(n)))
        });
        types.chain(sizes.collect::<Vec<_>>()).collect()
    };
    let mut params = vec![];
    for x in &d.params {
        // A parameter's type may speak of earlier parameters.
        let ty = types::ty(&x.ty, &names);
        distill.scope.bind(&x.var, &x.ty);
        params.push((some(PatKind::Var(names.bind(&x.var))), ty));
    }
    let result = types::ty(&d.result, &names);
    let body = distill.term(&d.body, &names, true);
    surface::Def { name: ident(&d.name), type_params, params, result: Some(result), body }
}

fn some<T>(node: T) -> Spanned<T> {
    at(node, Span::default())
}

fn ident(x: &str) -> Ident {
    some(x.to_string())
}

fn var(x: &str) -> Expr {
    some(ExprKind::Var(x.to_string()))
}

fn call(f: Expr, args: impl IntoIterator<Item = Expr>) -> Expr {
    args.into_iter().fold(f, |f, x| some(ExprKind::App(Box::new(f), Box::new(x))))
}

fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
    some(ExprKind::Binary(op, Box::new(a), Box::new(b)))
}

fn number(k: i64) -> Expr {
    let size = |k: u64| some(ExprKind::Int(k as i64));
    match k {
        k if k < 0 => some(ExprKind::Neg(Box::new(size(k.unsigned_abs())))),
        k => size(k as u64),
    }
}

fn real(x: f64) -> Expr {
    let literal = |x: f64| some(ExprKind::Real(x));
    let negated = |e| some(ExprKind::Neg(Box::new(e)));
    if x.is_nan() {
        binary(BinOp::Div, literal(0.0), literal(0.0))
    } else if x.is_infinite() {
        let one = if x > 0.0 { literal(1.0) } else { negated(literal(1.0)) };
        binary(BinOp::Div, one, literal(0.0))
    } else if x.is_sign_negative() {
        negated(literal(-x))
    } else {
        literal(x)
    }
}

/// The int expression of a size.
fn bound(n: &Size, names: &Names) -> Expr {
    let product = |c: u64, m: &[Var]| {
        let factors = m.iter().map(|v| var(names.of(v)));
        let all: Vec<Expr> =
            (c != 1 || m.is_empty()).then(|| number(c as i64)).into_iter().chain(factors).collect();
        all.into_iter().reduce(|a, b| binary(BinOp::Mul, a, b)).unwrap_or_else(|| number(1))
    };
    let mut sum: Option<Expr> = None;
    for (m, c) in n.terms.iter().rev() {
        let term = product(c.unsigned_abs(), m);
        sum = Some(match (sum, *c < 0) {
            (None, false) => term,
            (None, true) => binary(BinOp::Sub, number(0), term),
            (Some(s), false) => binary(BinOp::Add, s, term),
            (Some(s), true) => binary(BinOp::Sub, s, term),
        });
    }
    sum.unwrap_or_else(|| number(0))
}

/// The function a check is written with.
fn check_name(f: &Failure) -> &'static str {
    match f {
        Failure::IndexOutOfRange => "check_index",
        Failure::DivisionByZero => "check_divisor",
        Failure::EmptyArray => "check_nonempty",
        Failure::SizeMismatch => "check_size",
        Failure::NegativeSize => "check_natural",
        Failure::TooDeep => "check_depth",
        Failure::RegionFull => "check_room",
    }
}

/// Would inference find the type of a variable from what is bound to it, without help?
fn needs_type(ty: &Type) -> bool {
    match ty {
        Type::Real | Type::Bool => false,
        // A numeral is real where nothing asks; a function's argument may be anything.
        Type::Int | Type::Fun(..) | Type::Lin(..) | Type::Sum(_) | Type::Param(_) => true,
        Type::Tuple(ts) => ts.iter().any(needs_type),
        Type::Array(n, t) => n.as_constant() == Some(0) || needs_type(t),
    }
}

struct Distill<'p> {
    program: &'p Program,
    scope: Scope,
    /// Variables with an occurrence, those as the bound of a plain loop apart where it is clamped.
    used: HashSet<u32>,
    /// The variables bound to a max(0, t), with t.
    clamps: HashMap<u32, Tm>,
}

impl Distill<'_> {
    /// The pattern of a binder whose scope is `names` from now on.
    fn pattern(&self, v: &Var, names: &mut Names) -> Pat {
        if !self.used.contains(&v.id) && v.name.starts_with('_') {
            return some(PatKind::Wildcard);
        }
        some(PatKind::Var(names.bind(v)))
    }

    fn index(&mut self, v: &Var, names: &mut Names) -> Ident {
        self.scope.bind(v, &Type::Int);
        match self.used.contains(&v.id) {
            true => ident(&names.bind(v)),
            false => ident("_"),
        }
    }

    /// A binder with its type; its scope is `names` from now on.
    fn binder(&mut self, x: &Binder, names: &mut Names) -> Param {
        let ty = types::ty(&x.ty, names);
        self.scope.bind(&x.var, &x.ty);
        Param { pat: self.pattern(&x.var, names), ty: Some(ty) }
    }

    /// A binder with its type where inference needs it.
    fn inferred(&mut self, x: &Binder, names: &mut Names) -> Param {
        let p = self.binder(x, names);
        Param { ty: p.ty.filter(|_| needs_type(&x.ty)), ..p }
    }

    /// A Cartesian term. `known`: the place gives the type, so that a numeral may be an int there.
    fn term(&mut self, t: &Tm, names: &Names, known: bool) -> Expr {
        let b = |e: Expr| Box::new(e);
        some(match &**t {
            Term::Var(v) => ExprKind::Var(names.of(v).to_string()),
            Term::Lit(Lit::Real(x)) => return real(*x),
            Term::Lit(Lit::Int(k)) if known => return number(*k),
            Term::Lit(Lit::Int(k)) => return self.as_int(number(*k)),
            Term::Lit(Lit::Bool(x)) => ExprKind::Bool(*x),
            // The bound of a loop is clamped by the loop.
            Term::Let(x, a, s) if clamped(a).is_some() && !self.used.contains(&x.var.id) => {
                self.scope.bind(&x.var, &x.ty);
                return self.term(s, names, known);
            }
            Term::Let(x, a, s) => {
                let a = self.term(a, names, needs_type(&x.ty));
                let mut inner = names.clone();
                let p = self.inferred(x, &mut inner);
                ExprKind::Let(Box::new(p), b(a), b(self.term(s, &inner, known)))
            }
            // A tuple of one is a record of one field.
            Term::Tuple(ts) if ts.len() == 1 => {
                ExprKind::Record(vec![(ident(types::ONLY), self.term(&ts[0], names, known))])
            }
            Term::Tuple(ts) => ExprKind::Tuple(ts.iter().map(|t| self.term(t, names, known)).collect()),
            Term::Proj(l, i) => match (plain_loop(t), &**l) {
                (Some(body), Term::Loop { state, init, index, bound: n, .. }) => {
                    let n = match n.as_var().and_then(|m| self.clamps.get(&m.id)).cloned() {
                        Some(t) => self.term(&t, names, true),
                        None => bound(n, names),
                    };
                    self.loop_for(LoopFlavour::Plain, state, init, index, n, &body, names)
                }
                _ if self.is_single(l, *i) => {
                    ExprKind::Field(b(self.term(l, names, false)), ident(types::ONLY))
                }
                _ => ExprKind::Proj(b(self.term(l, names, false)), *i),
            },
            Term::Inject(i, ty, t) => {
                let ty = TyArg::Ty(types::ty(ty, names));
                let inject = some(ExprKind::TypeApp(ident("inject"), vec![ty]));
                return call(inject, [number(*i as i64), self.term(t, names, true)]);
            }
            Term::Case(t, arms) => {
                let t = self.term(t, names, false);
                let mut all = vec![];
                for (i, (x, s)) in arms.iter().enumerate() {
                    let mut inner = names.clone();
                    let p = self.binder(x, &mut inner).pat;
                    all.push((types::arm(i, p), self.term(s, &inner, known)));
                }
                ExprKind::Match(b(t), all)
            }
            Term::Lam(..) => {
                let (mut inner, mut params, mut body) = (names.clone(), vec![], t);
                while let Term::Lam(x, s) = &**body {
                    params.push(self.binder(x, &mut inner));
                    body = s;
                }
                ExprKind::Lam(params, b(self.term(body, &inner, false)))
            }
            Term::App(f, a) | Term::LinApp(f, a) => {
                let f = self.term(f, names, false);
                return call(f, [self.term(a, names, true)]);
            }
            Term::Prim(p, ts) => return self.prim(*p, ts, names),
            // a && b, a || b
            Term::If(c, t, s) if **s == Term::Lit(Lit::Bool(false)) => {
                let c = self.term(c, names, true);
                return binary(BinOp::And, c, self.term(t, names, true));
            }
            Term::If(c, t, s) if **t == Term::Lit(Lit::Bool(true)) => {
                let c = self.term(c, names, true);
                return binary(BinOp::Or, c, self.term(s, names, true));
            }
            Term::If(c, t, s) => {
                let c = self.term(c, names, true);
                ExprKind::If(b(c), b(self.term(t, names, known)), b(self.term(s, names, known)))
            }
            Term::Build { .. } => return self.comprehension(t, names, known),
            Term::Index(..) => {
                let (mut indices, mut array) = (vec![], t);
                while let Term::Index(a, i, _) = &**array {
                    indices.push(self.term(i, names, true));
                    array = a;
                }
                indices.reverse();
                ExprKind::Index(b(self.term(array, names, false)), indices)
            }
            Term::Update { array, index, value, .. } => ExprKind::ArrayUpdate {
                array: b(self.term(array, names, false)),
                index: index.iter().map(|i| self.term(i, names, true)).collect(),
                value: b(self.term(value, names, true)),
            },
            Term::Array(ty, ts) if ts.is_empty() => {
                let ty = types::ty(&Type::array(Size::constant(0), ty.clone()), names);
                ExprKind::As(b(some(ExprKind::Array(vec![]))), ty)
            }
            Term::Array(_, ts) => ExprKind::Array(ts.iter().map(|t| self.term(t, names, known)).collect()),
            Term::Sum { index, bound, body } => return self.reduction("sum", index, bound, body, names),
            Term::Extremum { which, index, bound, body } => {
                let f = match which {
                    Extremum::Max => "maximum",
                    Extremum::Min => "minimum",
                };
                return self.reduction(f, index, bound, body, names);
            }
            Term::Loop { state, init, index, bound: n, body } => {
                let n = bound(n, names);
                self.loop_for(LoopFlavour::Collect, state, init, index, n, body, names)
            }
            Term::While { state, init, cond, body } => {
                let init = self.term(init, names, needs_type(&state.ty));
                let mut inner = names.clone();
                let state = self.inferred(state, &mut inner);
                let cond = self.term(cond, &inner, true);
                let body = self.term(body, &inner, true);
                ExprKind::LoopWhile { state: Box::new(state), init: b(init), cond: b(cond), body: b(body) }
            }
            Term::Argsort(t) => return call(var("argsort"), [self.term(t, names, false)]),
            Term::Check { cond, failure, details, body, .. } if is_implied(cond, failure, details, body) => {
                return self.term(body, names, known);
            }
            Term::Check { cond, failure, details, body, .. } => {
                let mut args = vec![self.term(cond, names, true)];
                args.extend(details.iter().map(|t| self.term(t, names, true)));
                args.push(self.term(body, names, known));
                return call(var(check_name(failure)), args);
            }
            Term::Call { def, types: _, sizes, args } => {
                let args: Vec<Expr> = args.iter().map(|t| self.term(t, names, true)).collect();
                let given = self.program.defs.get(def).filter(|d| !types::determined(d));
                let f = match given {
                    Some(_) => some(ExprKind::TypeApp(
                        ident(def),
                        sizes.iter().map(|n| types::size_arg(n, names)).collect(),
                    )),
                    None => var(def),
                };
                return call(f, args);
            }
            Term::Diff { mode, f, x, .. } => {
                let op = match mode {
                    Mode::Forward => "linearize",
                    Mode::Reverse => "pullback",
                };
                return call(var(op), [self.term(f, names, false), self.term(x, names, true)]);
            }
            Term::Detach(t) => return call(var("detach"), [self.term(t, names, false)]),
            Term::LinLam(z, t) => {
                let mut inner = names.clone();
                let p = self.lbinder(z, &mut inner);
                ExprKind::LinLam(p, b(self.linear(t, &inner)))
            }
            Term::Box(t) => return call(var("box"), [self.term(t, names, true)]),
            Term::Unbox(ty, t) => {
                let unbox = some(ExprKind::TypeApp(ident("unbox"), vec![TyArg::Ty(types::ty(ty, names))]));
                return call(unbox, [self.term(t, names, true)]);
            }
            Term::Unread(ty) => ExprKind::TypeApp(ident("unread"), vec![TyArg::Ty(types::ty(ty, names))]),
            Term::Zero(ty) => ExprKind::TypeApp(ident("zero"), vec![TyArg::Ty(types::lty(ty, names))]),
        })
    }

    fn as_int(&self, e: Expr) -> Expr {
        let int = some(TyKind::Name(ident("int"), vec![]));
        some(ExprKind::As(Box::new(e), int))
    }

    /// Is t.0 the only component of t?
    fn is_single(&mut self, t: &Tm, i: usize) -> bool {
        i == 0
            && match type_of(t, &mut self.scope, self.program) {
                Type::Tuple(ts) => ts.len() == 1,
                _ => false,
            }
    }

    fn prim(&mut self, p: Prim, ts: &[Tm], names: &Names) -> Expr {
        let row = p.row();
        let numeral = |k: usize| matches!(*ts[k], Term::Lit(Lit::Int(_)));
        let ints: Vec<usize> = (0..ts.len()).filter(|k| row.args[*k] == Scalar::Int).collect();
        // Without a real argument or an int that is no numeral, a name of several rows would be taken for the real one.
        let ambiguous = Prim::ALL.iter().filter(|q| q.row().name == row.name).count() > 1
            && ints.iter().all(|k| numeral(*k))
            && !row.args.contains(&Scalar::Real);
        let mut args = vec![];
        for (k, t) in ts.iter().enumerate() {
            args.push(self.term(t, names, !(ambiguous && ints.first() == Some(&k))));
        }
        match (row.name, args.len()) {
            ("neg", 1) => some(ExprKind::Neg(Box::new(args.remove(0)))),
            (name, 2) if operator(name).is_some() => {
                let (b, a) = (args.remove(1), args.remove(0));
                binary(operator(name).unwrap_or(BinOp::Add), a, b)
            }
            (name, _) => call(var(name), args),
        }
    }

    /// Nested builds whose bounds do not speak of each other's index are one comprehension.
    fn comprehension(&mut self, t: &Tm, names: &Names, known: bool) -> Expr {
        let (mut inner, mut bounds, mut body) = (names.clone(), vec![], t);
        let mut indices: Vec<&Var> = vec![];
        while let Term::Build { index, bound: n, body: s } = &**body {
            if n.vars().any(|v| indices.contains(&v)) {
                break;
            }
            let n = bound(n, names);
            bounds.push((self.index(index, &mut inner), Some(n)));
            indices.push(index);
            body = s;
        }
        let body = Box::new(self.term(body, &inner, known));
        some(ExprKind::Comprehension { body, bounds })
    }

    fn reduction(&mut self, f: &str, index: &Var, n: &Size, body: &Tm, names: &Names) -> Expr {
        let n = bound(n, names);
        let mut inner = names.clone();
        let index = self.index(index, &mut inner);
        let body = Box::new(self.term(body, &inner, true));
        call(var(f), [some(ExprKind::Comprehension { body, bounds: vec![(index, Some(n))] })])
    }

    fn loop_for(
        &mut self,
        flavour: LoopFlavour,
        state: &Binder,
        init: &Tm,
        index: &Var,
        bound: Expr,
        body: &Tm,
        names: &Names,
    ) -> ExprKind {
        let init = self.term(init, names, needs_type(&state.ty));
        let mut inner = names.clone();
        let state = self.inferred(state, &mut inner);
        let index = self.index(index, &mut inner);
        // The next state has a known type; of an output nothing is known.
        let known = flavour == LoopFlavour::Plain;
        let body = self.term(body, &inner, known);
        ExprKind::LoopFor(Box::new(LoopFor { flavour, state, init, index, bound, body }))
    }
}

/// The operator a primitive is written as.
fn operator(name: &str) -> Option<BinOp> {
    const OPERATORS: &[BinOp] = &[
        BinOp::Add,
        BinOp::Sub,
        BinOp::Mul,
        BinOp::Div,
        BinOp::Pow,
        BinOp::Eq,
        BinOp::Ne,
        BinOp::Lt,
        BinOp::Le,
        BinOp::Gt,
        BinOp::Ge,
        BinOp::And,
        BinOp::Or,
    ];
    OPERATORS.iter().copied().find(|op| surface::print::operator(*op) == name)
}

/// `loop s = init for i < n do e`, with e: the first component of a loop whose output is ⟨⟩.
fn plain_loop(t: &Tm) -> Option<Tm> {
    match &**t {
        Term::Proj(l, 0) => match &**l {
            Term::Loop { body, .. } => without_output(body),
            _ => None,
        },
        _ => None,
    }
}

/// t of max(0, t)
fn clamped(t: &Tm) -> Option<&Tm> {
    match &**t {
        Term::Prim(p, ts) if p.row().name == "max" && ts[0] == crate::core::make::int(0) => Some(&ts[1]),
        _ => None,
    }
}

/// The next state alone, of a loop body ⟨e, ⟨⟩⟩ under lets.
fn without_output(body: &Tm) -> Option<Tm> {
    match &**body {
        Term::Tuple(ts) => match &ts[..] {
            [e, unit] if matches!(&**unit, Term::Tuple(us) if us.is_empty()) => Some(e.clone()),
            _ => None,
        },
        Term::Let(x, t, s) => Some(crate::core::make::let_(x.clone(), t.clone(), without_output(s)?)),
        _ => None,
    }
}

/// Is this the check that the body, as written, makes itself: of a divisor, of the size of a comprehension or a loop's outputs?
fn is_implied(cond: &Tm, failure: &Failure, details: &[Tm], body: &Tm) -> bool {
    let zero = crate::core::make::int(0);
    match (failure, &**body) {
        (Failure::DivisionByZero, Term::Prim(p, ts)) => {
            let divides = matches!(p.row().name, "div" | "mod") && p.row().args == [Scalar::Int, Scalar::Int];
            let compared = |c: &Tm, op: &str| match &**c {
                Term::Prim(p, cs) => p.row().name == op && cs[0] == ts[1] && cs[1] == zero,
                _ => false,
            };
            let negated = |c: &Tm| match &**c {
                Term::Prim(p, cs) => p.row().name == "not" && compared(&cs[0], "=="),
                _ => false,
            };
            divides && (compared(cond, "!=") || negated(cond))
        }
        (
            Failure::NegativeSize,
            Term::Build { bound, .. }
            | Term::Loop { bound, .. }
            | Term::Sum { bound, .. }
            | Term::Extremum { bound, .. },
        ) => details.first().and_then(|n| as_size(n)).is_some_and(|n| n == *bound),
        _ => false,
    }
}

/// The occurrences of variables in a term, its types and its sizes.
#[derive(Default)]
struct Uses {
    used: HashSet<u32>,
    clamps: HashMap<u32, Tm>,
}

fn uses(t: &Tm) -> Uses {
    let mut u = Uses::default();
    u.term(t);
    u
}

impl Mapper for Uses {
    fn term(&mut self, t: &Tm) -> Tm {
        match &**t {
            Term::Var(v) => {
                self.used.insert(v.id);
            }
            Term::Let(x, a, _) => {
                if let Some(bound) = clamped(a) {
                    self.clamps.insert(x.var.id, bound.clone());
                }
            }
            Term::Proj(l, _) => {
                if let (Some(body), Term::Loop { state, init, bound, .. }) = (plain_loop(t), &**l)
                    && bound.as_var().is_some_and(|m| self.clamps.contains_key(&m.id))
                {
                    self.term(init);
                    self.ty(&state.ty);
                    self.term(&body);
                    return t.clone();
                }
            }
            _ => {}
        }
        map_term(self, t)
    }
    fn lin(&mut self, t: &Lin) -> Lin {
        match &**t {
            LinTerm::Var(v) => {
                self.used.insert(v.id);
            }
            LinTerm::CLet(x, a, _) => {
                if let Some(bound) = clamped(a) {
                    self.clamps.insert(x.var.id, bound.clone());
                }
            }
            _ => {}
        }
        map_lin(self, t)
    }
    fn size(&mut self, n: &Size) -> Size {
        self.used.extend(n.vars().map(|v| v.id));
        n.clone()
    }
}
