//! Free names of expressions as written.

use crate::patterns::collect;
use lang::diag::Span;
use lang::surface::{Def, Expr, ExprKind, Pat};
use std::collections::BTreeSet;

/// Stands among the bound names for a linear λ around a place.
const MAP: &str = "-o";

/// Visits every name used free in e, and whether it lies under a linear λ in e; linear formers that are keywords visit as their words.
fn visit(e: &Expr, bound: &mut Vec<String>, f: &mut dyn FnMut(&str, Span, bool)) {
    let under =
        |bound: &mut Vec<String>, pats: &[&Pat], f: &mut dyn FnMut(&str, Span, bool), es: &[&Expr]| {
            let mark = bound.len();
            pats.iter().for_each(|p| collect(p, bound));
            es.iter().for_each(|e| visit(e, bound, f));
            bound.truncate(mark);
        };
    let named =
        |bound: &mut Vec<String>, names: &[&String], f: &mut dyn FnMut(&str, Span, bool), e: &Expr| {
            let mark = bound.len();
            bound.extend(names.iter().map(|x| x.to_string()));
            visit(e, bound, f);
            bound.truncate(mark);
        };
    match &e.node {
        ExprKind::Var(x) => {
            if !bound.contains(x) {
                f(x, e.span, in_map(bound));
            }
        }
        ExprKind::TypeApp(x, _) => {
            if !bound.contains(&x.node) {
                f(&x.node, x.span, in_map(bound));
            }
        }
        ExprKind::Int(_) | ExprKind::Real(_) | ExprKind::Bool(_) | ExprKind::Section(_) | ExprKind::Error => {
        }
        ExprKind::Lam(ps, b) => {
            let pats: Vec<&Pat> = ps.iter().map(|p| &p.pat).collect();
            under(bound, &pats, f, &[b]);
        }
        ExprKind::LinLam(p, b) => {
            let mark = bound.len();
            bound.push(MAP.into());
            under(bound, &[&p.pat], f, &[b]);
            bound.truncate(mark);
        }
        ExprKind::App(a, b) | ExprKind::Binary(_, a, b) => {
            visit(a, bound, f);
            visit(b, bound, f);
        }
        ExprKind::Let(p, s, b) => {
            visit(s, bound, f);
            under(bound, &[&p.pat], f, &[b]);
        }
        ExprKind::If(c, a, b) => [c, a, b].into_iter().for_each(|e| visit(e, bound, f)),
        ExprKind::Match(t, arms) => {
            visit(t, bound, f);
            arms.iter().for_each(|(p, e)| under(bound, &[p], f, &[e]));
        }
        ExprKind::Tuple(es) | ExprKind::Array(es) => es.iter().for_each(|e| visit(e, bound, f)),
        ExprKind::Field(t, x) => {
            // A field of a value, or a name in a module.
            if let ExprKind::Var(m) = &t.node
                && !bound.contains(m)
            {
                f(&format!("{m}.{}", x.node), e.span, in_map(bound));
            }
            visit(t, bound, f);
        }
        ExprKind::Proj(t, _) | ExprKind::Neg(t) | ExprKind::As(t, _) => visit(t, bound, f),
        ExprKind::Record(fs) => fs.iter().for_each(|(_, e)| visit(e, bound, f)),
        ExprKind::RecordUpdate(r, fs) => {
            visit(r, bound, f);
            fs.iter().for_each(|(_, e)| visit(e, bound, f));
        }
        ExprKind::ArrayUpdate { array, index, value } => {
            visit(array, bound, f);
            index.iter().for_each(|e| visit(e, bound, f));
            visit(value, bound, f);
        }
        ExprKind::Index(a, index) => {
            visit(a, bound, f);
            index.iter().for_each(|e| visit(e, bound, f));
        }
        ExprKind::Slice(a, from, to) => {
            visit(a, bound, f);
            from.iter().chain(to).for_each(|e| visit(e, bound, f));
        }
        ExprKind::Comprehension { body, bounds } => {
            bounds.iter().filter_map(|(_, n)| n.as_ref()).for_each(|n| visit(n, bound, f));
            let names: Vec<&String> = bounds.iter().map(|(i, _)| &i.node).collect();
            named(bound, &names, f, body);
        }
        ExprKind::LoopFor(l) => {
            if matches!(
                l.flavour,
                lang::surface::LoopFlavour::LinearUp | lang::surface::LoopFlavour::LinearDown
            ) {
                f("loop_up", e.span, in_map(bound));
            }
            visit(&l.init, bound, f);
            visit(&l.bound, bound, f);
            let mark = bound.len();
            collect(&l.state.pat, bound);
            named(bound, &[&l.index.node], f, &l.body);
            bound.truncate(mark);
        }
        ExprKind::LoopWhile { state, init, cond, body } => {
            visit(init, bound, f);
            under(bound, &[&state.pat], f, &[cond, body]);
        }
        ExprKind::Tensor(a, b) => {
            f("tensor", e.span, in_map(bound));
            visit(a, bound, f);
            visit(b, bound, f);
        }
        ExprKind::TensorElim { scrutinee, var, lin, body } => {
            f("tensor", e.span, in_map(bound));
            visit(scrutinee, bound, f);
            under(bound, &[&var.pat, &lin.pat], f, &[body]);
        }
        ExprKind::Suml { index, bound: n, body } => {
            f("suml", e.span, in_map(bound));
            visit(n, bound, f);
            named(bound, &[&index.node], f, body);
        }
    }
}

fn in_map(bound: &[String]) -> bool {
    bound.iter().any(|x| x == MAP)
}

/// Does a name with the property occur free in e, outside of linear λs?
pub fn mentions(e: &Expr, p: &dyn Fn(&str) -> bool) -> bool {
    let mut found = false;
    visit(e, &mut vec![], &mut |x, _, in_map| found |= !in_map && p(x));
    found
}

/// Where a name with the property first occurs free in e, outside of linear λs.
pub fn mentioned_at(e: &Expr, p: &dyn Fn(&str) -> bool) -> Option<(String, Span)> {
    let mut found = None;
    visit(e, &mut vec![], &mut |x, at, in_map| {
        if !in_map && found.is_none() && p(x) {
            found = Some((x.to_string(), at));
        }
    });
    found
}

/// The names free in a definition's body.
pub fn free_names(def: &Def) -> BTreeSet<String> {
    let mut bound = vec![];
    def.params.iter().for_each(|(p, _)| collect(p, &mut bound));
    let mut out = BTreeSet::new();
    visit(&def.body, &mut bound, &mut |x, _, _| {
        out.insert(x.to_string());
    });
    out
}

pub fn free_names_of(e: &Expr) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    visit(e, &mut vec![], &mut |x, _, _| {
        out.insert(x.to_string());
    });
    out
}
