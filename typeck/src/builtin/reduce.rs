//! Arrays to one value, and running values.

use super::Body::{Core, Text};
use super::array::loop_value;
use super::{Given, Row, name_it};
use crate::codes;
use crate::elaborate::{Around, Elaborate, apply, wrap};
use lang::core::make::*;
use lang::core::{Binder, Extremum, Lit, Term, Tm};
use lang::diag::{Diagnostic, Failure};
use lang::prim::{Prim, Scalar};
use lang::size::Size;
use lang::types::Type;
use std::sync::Arc;

pub const ROWS: &[Row] = &[
    Row {
        name: "sum",
        header: "['a, n] (xs : [n]'a) : 'a",
        body: Core(sum_of),
        doc: "the sum of the elements, 0 of none; of arrays, element by element",
    },
    Row {
        name: "product",
        header: "['a, n] (xs : [n]'a) : 'a",
        body: Core(product),
        doc: "the product of the elements, 1 of none",
    },
    Row {
        name: "maximum",
        header: "['a, n] (xs : [n]'a) : 'a",
        body: Core(|cx, g| extremum(cx, g, Extremum::Max)),
        doc: "the largest element, -inf of none; ties share the derivative",
    },
    Row {
        name: "minimum",
        header: "['a, n] (xs : [n]'a) : 'a",
        body: Core(|cx, g| extremum(cx, g, Extremum::Min)),
        doc: "the smallest element, inf of none; ties share the derivative",
    },
    Row {
        name: "argmax",
        header: "['a, n] (xs : [n]'a) : int",
        body: Core(|cx, g| argument_of_extremum(cx, g, true)),
        doc: "where the largest element is, the first of equals; an error of none",
    },
    Row {
        name: "argmin",
        header: "['a, n] (xs : [n]'a) : int",
        body: Core(|cx, g| argument_of_extremum(cx, g, false)),
        doc: "where the smallest element is, the first of equals; an error of none",
    },
    Row {
        name: "reduce",
        header: "['a, n] (f : 'a -> 'a -> 'a) (z : 'a) (xs : [n]'a) : 'a",
        body: Core(reduce),
        doc: "the elements combined by an associative f, from z on",
    },
    Row {
        name: "fold",
        header: "['a, 'b, n] (f : 'b -> 'a -> 'b) (z : 'b) (xs : [n]'a) : 'b",
        body: Text("loop s = z for i < n do f s xs[i]"),
        doc: "f (… (f (f z x0) x1) …)",
    },
    Row {
        name: "scan",
        header: "['a, 'b, n] (f : 'b -> 'a -> 'b) (z : 'b) (xs : [n]'a) : [n]'b",
        body: Text("(loop s = z for i < n collect let t = f s xs[i] in (t, t)).1"),
        doc: "the running values of fold",
    },
    Row {
        name: "argsort",
        header: "['a, n] (xs : [n]'a) : [n]int",
        body: Core(argsort),
        doc: "the permutation that sorts: stable, ascending, NaN last",
    },
    Row {
        name: "sort",
        header: "['a, n] (xs : [n]'a) : [n]'a",
        body: Core(sort),
        doc: "ascending, stable, NaN last",
    },
    Row {
        name: "any",
        header: "[n] (bs : [n]bool) : bool",
        body: Text("loop s = false for i < n do s || bs[i]"),
        doc: "is one of them true?",
    },
    Row {
        name: "all",
        header: "[n] (bs : [n]bool) : bool",
        body: Text("loop s = true for i < n do s && bs[i]"),
        doc: "are all of them true?",
    },
];

/// The only array argument, its size and its element type.
fn array_argument(g: &Given) -> (Tm, Size, Type) {
    let arg = g.args.last().cloned().unwrap_or_else(unit);
    match g.arg_types.last() {
        Some(Type::Array(n, t)) => (arg, n.clone(), (**t).clone()),
        _ => (arg, Size::default(), Type::Real),
    }
}

fn element(xs: &Tm, i: &Tm, g: &Given) -> Tm {
    index(xs.clone(), i.clone(), g.site.clone())
}

fn no_numbers(cx: &mut Elaborate, g: &Given, what: &str) -> Tm {
    cx.inf.report(
        Diagnostic::new(codes::OPERANDS, format!("`{what}` needs an array of numbers"))
            .label(g.span, "its elements are not"),
    );
    unit()
}

/// A comprehension, perhaps under lets and checks.
fn is_build(t: &Tm) -> bool {
    match &**t {
        Term::Build { .. } => true,
        Term::Let(_, _, body) | Term::Check { body, .. } => is_build(body),
        _ => false,
    }
}

/// The body of a comprehension for its own index, or the element of an array that has a name.
fn each(cx: &mut Elaborate, xs: Tm, ty: &Type, g: &Given, around: &mut Vec<Around>) -> (lang::name::Var, Tm) {
    match &*xs {
        Term::Build { index, body, .. } => (index.clone(), body.clone()),
        // What stands around a comprehension stands around its sum.
        Term::Check { cond, failure, details, site, body } if is_build(body) => {
            around.push(Around::Check {
                cond: cond.clone(),
                failure: failure.clone(),
                details: details.clone(),
                site: site.clone(),
            });
            each(cx, body.clone(), ty, g, around)
        }
        Term::Let(x, a, body) if is_build(body) => {
            around.push(Around::Let(x.clone(), a.clone()));
            each(cx, body.clone(), ty, g, around)
        }
        _ => {
            let xs = name_it(cx, xs, ty, around);
            let i = cx.inf.supply.fresh("i");
            let x = element(&xs, &var(&i), g);
            (i, x)
        }
    }
}

fn sum_of(cx: &mut Elaborate, g: Given) -> Tm {
    let (xs, n, t) = array_argument(&g);
    let ty = g.arg_types.last().cloned().unwrap_or(Type::Real);
    let mut around = vec![];
    let summed = match &t {
        Type::Real => {
            let (i, body) = each(cx, xs, &ty, &g, &mut around);
            sum(i, n, body)
        }
        Type::Int => {
            let (i, body) = each(cx, xs, &ty, &g, &mut around);
            accumulate(cx, Type::Int, int(0), Prim::IAdd, i, n, body)
        }
        Type::Array(..) => {
            let xs = name_it(cx, xs, &ty, &mut around);
            sum_rows(cx, &xs, &n, &t, &mut vec![], &g)
        }
        Type::Bool | Type::Tuple(_) | Type::Sum(_) | Type::Fun(..) | Type::Param(_) | Type::Lin(..) => {
            no_numbers(cx, &g, "sum")
        }
    };
    wrap(around, summed)
}

/// build m (j. … Σ_{i<n} xs[i, j, …])
fn sum_rows(cx: &mut Elaborate, xs: &Tm, n: &Size, t: &Type, at: &mut Vec<Tm>, g: &Given) -> Tm {
    match t {
        Type::Array(m, t) => {
            let j = cx.inf.supply.fresh("j");
            at.push(var(&j));
            let body = sum_rows(cx, xs, n, t, at, g);
            build(j, m.clone(), body)
        }
        Type::Real => {
            let i = cx.inf.supply.fresh("i");
            let row = element(xs, &var(&i), g);
            let x = at.iter().fold(row, |x, j| element(&x, j, g));
            sum(i, n.clone(), x)
        }
        Type::Int => {
            let i = cx.inf.supply.fresh("i");
            let row = element(xs, &var(&i), g);
            let x = at.iter().fold(row, |x, j| element(&x, j, g));
            accumulate(cx, Type::Int, int(0), Prim::IAdd, i, n.clone(), x)
        }
        Type::Bool | Type::Tuple(_) | Type::Sum(_) | Type::Fun(..) | Type::Param(_) | Type::Lin(..) => {
            no_numbers(cx, g, "sum")
        }
    }
}

/// loop s = init for i < n do op(s, body)
fn accumulate(cx: &mut Elaborate, ty: Type, init: Tm, op: Prim, i: lang::name::Var, n: Size, body: Tm) -> Tm {
    let s = cx.inf.supply.fresh("s");
    let next = prim(op, [var(&s), body]);
    loop_value(Binder::new(s, ty), init, i, n, next)
}

fn product(cx: &mut Elaborate, g: Given) -> Tm {
    let (xs, n, t) = array_argument(&g);
    let ty = g.arg_types.last().cloned().unwrap_or(Type::Real);
    let mut around = vec![];
    let (one, op) = match &t {
        Type::Real => (real(1.0), Prim::Mul),
        Type::Int => (int(1), Prim::IMul),
        _ => return no_numbers(cx, &g, "product"),
    };
    let (i, body) = each(cx, xs, &ty, &g, &mut around);
    let t = accumulate(cx, t, one, op, i, n, body);
    wrap(around, t)
}

fn extremum(cx: &mut Elaborate, g: Given, which: Extremum) -> Tm {
    let (xs, n, t) = array_argument(&g);
    let ty = g.arg_types.last().cloned().unwrap_or(Type::Real);
    let (name, limit) = match which {
        Extremum::Max => ("max", i64::MIN),
        Extremum::Min => ("min", i64::MAX),
    };
    let mut around = vec![];
    let t = match &t {
        Type::Real => {
            let (index, body) = each(cx, xs, &ty, &g, &mut around);
            Arc::new(Term::Extremum { which, index, bound: n, body })
        }
        Type::Int => match Prim::find(name, &[Scalar::Int, Scalar::Int]) {
            Some(op) => {
                let (i, body) = each(cx, xs, &ty, &g, &mut around);
                accumulate(cx, Type::Int, int(limit), op, i, n, body)
            }
            None => unit(),
        },
        _ => no_numbers(cx, &g, if which == Extremum::Max { "maximum" } else { "minimum" }),
    };
    wrap(around, t)
}

/// best := 0; for i < n: if xs[i] beats xs[best] then i else best
fn argument_of_extremum(cx: &mut Elaborate, g: Given, largest: bool) -> Tm {
    let (xs, n, t) = array_argument(&g);
    let ty = g.arg_types.last().cloned().unwrap_or(Type::Real);
    let scalar = match &t {
        Type::Real => Scalar::Real,
        Type::Int => Scalar::Int,
        _ => return no_numbers(cx, &g, if largest { "argmax" } else { "argmin" }),
    };
    let Some(less) = Prim::find("<", &[scalar, scalar]) else { return unit() };
    let mut around = vec![];
    let xs = name_it(cx, xs, &ty, &mut around);
    let (best, i) = (cx.inf.supply.fresh("best"), cx.inf.supply.fresh("i"));
    let (old, new) = (element(&xs, &var(&best), &g), element(&xs, &var(&i), &g));
    let better = if largest { prim(less, [old, new]) } else { prim(less, [new, old]) };
    let next = if_(better, var(&i), var(&best));
    let found = loop_value(Binder::new(best, Type::Int), int(0), i, n.clone(), next);
    let length = size(&n);
    let checked = Arc::new(Term::Check {
        cond: cx.compare("<", int(0), length),
        failure: Failure::EmptyArray,
        details: vec![],
        site: g.site.clone(),
        body: found,
    });
    wrap(around, checked)
}

/// `reduce (+) 0 xs` on reals is the sum; otherwise a loop.
fn reduce(cx: &mut Elaborate, g: Given) -> Tm {
    let (xs, n, t) = array_argument(&g);
    let ty = g.arg_types.last().cloned().unwrap_or(Type::Real);
    let (Some(f), Some(z)) = (g.args.first().cloned(), g.args.get(1).cloned()) else { return unit() };
    let mut around = vec![];
    if t == Type::Real && is_addition(&f) {
        let (i, body) = each(cx, xs, &ty, &g, &mut around);
        let total = sum(i, n, body);
        let zero = matches!(&*z, Term::Lit(Lit::Real(x)) if *x == 0.0);
        return wrap(around, if zero { total } else { prim(Prim::Add, [z, total]) });
    }
    let f = match &*f {
        Term::Lam(..) => f,
        _ => cx.named(f, g.arg_types[0].clone(), "f", &mut around),
    };
    let (i, x) = each(cx, xs, &ty, &g, &mut around);
    let s = cx.inf.supply.fresh("s");
    // apply puts an argument under each λ of f in turn.
    let next = apply_two(f, var(&s), x);
    let t = loop_value(Binder::new(s, t), z, i, n, next);
    wrap(around, t)
}

/// f x y
fn apply_two(f: Tm, x: Tm, y: Tm) -> Tm {
    match &*f {
        Term::Lam(b, body) => let_(b.clone(), x, apply(body.clone(), y)),
        _ => app(app(f, x), y),
    }
}

/// λx. λy. x + y on reals
fn is_addition(f: &Tm) -> bool {
    let Term::Lam(x, body) = &**f else { return false };
    let Term::Lam(y, body) = &**body else { return false };
    let is = |t: &Tm, b: &Binder| matches!(&**t, Term::Var(v) if *v == b.var);
    match &**body {
        Term::Prim(Prim::Add, ts) => is(&ts[0], x) && is(&ts[1], y) || is(&ts[0], y) && is(&ts[1], x),
        _ => false,
    }
}

fn argsort(cx: &mut Elaborate, g: Given) -> Tm {
    let (xs, _, t) = array_argument(&g);
    if matches!(t, Type::Real | Type::Int) {
        Arc::new(Term::Argsort(xs))
    } else {
        no_numbers(cx, &g, "argsort")
    }
}

/// let p = argsort xs in [ xs[p[i]] | i < n ]
fn sort(cx: &mut Elaborate, g: Given) -> Tm {
    let (xs, n, t) = array_argument(&g);
    if !matches!(t, Type::Real | Type::Int) {
        return no_numbers(cx, &g, "sort");
    }
    let mut around = vec![];
    let xs = name_it(cx, xs, &Type::array(n.clone(), t), &mut around);
    let (p, i) = (cx.inf.supply.fresh("p"), cx.inf.supply.fresh("i"));
    let body = element(&xs, &element(&var(&p), &var(&i), &g), &g);
    let binder = Binder::new(p, Type::array(n.clone(), Type::Int));
    let sorted = let_(binder, Arc::new(Term::Argsort(xs)), build(i, n, body));
    wrap(around, sorted)
}
