//! The rewrite rules, one row each: name, left, right, side condition, the law it instantiates, exactness.
//!
//! Left and right are patterns over [`crate::simplify::node`]. A metavariable's first letter says what it stands for:
//! ?x ?y ?z reals, ?k ?m ?n ints, ?p ?q ?r bools, ?a ?b ?c the real factors of a linear term, ?t ?s ?u linear terms, ?i ?j indices,
//! ?N a size, ?T a linear type, ?A the type of a linear array, ?P that of a linear tuple.

mod boolean;
mod int;
mod linear;
mod monoid;
mod real;
#[cfg(test)]
mod tests;

use crate::simplify::facts::{Facts, Graph};
use crate::simplify::node::{Node, Op};
use egg::{Applier, ENodeOrVar, Id, Language, Pattern, PatternAst, Rewrite, Subst, Symbol};
use lang::core::Lit;
use lang::types::LType;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What a rule may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exactness {
    /// The same bits, ±0, ∞ and subnormals included; a NaN stays a NaN.
    Bitwise,
    /// Equal over the reals. With finite operands it can only round, overflow or underflow differently: the reassociations
    /// that cotangents allow.
    Reassociation,
    /// Equal over the reals; may turn NaN or ∞ into a number, or change the sign of a zero.
    Real,
    /// Equal over the reals away from this set.
    RealAwayFrom(&'static str),
}

/// Which rows apply.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Level {
    /// Bitwise rows.
    Strict,
    /// And reassociations.
    #[default]
    Default,
    /// All rows.
    FastMath,
}

impl Level {
    pub fn allows(self, e: Exactness) -> bool {
        match e {
            Exactness::Bitwise => true,
            Exactness::Reassociation => self != Level::Strict,
            Exactness::Real | Exactness::RealAwayFrom(_) => self == Level::FastMath,
        }
    }
}

pub struct Row {
    pub name: &'static str,
    pub form: Form,
    pub side: Side,
    /// The equation of chad.md §2 (or of arithmetic) that it is an instance of.
    pub law: &'static str,
    pub exactness: Exactness,
}

/// Left and right.
#[derive(Clone, Copy)]
pub enum Form {
    One(&'static str, &'static str),
    /// One rule for every length k ≥ 1 of a tuple.
    Tuple(fn(k: usize) -> (String, String)),
    /// One rule for every component i of a tuple of length k.
    Component(fn(k: usize, i: usize) -> (String, String)),
}

/// When a rule applies; it may compute a leaf that the right side names.
#[derive(Clone, Copy)]
pub enum Side {
    Always,
    /// The condition in words.
    When(&'static str, fn(&Match) -> bool),
    /// The computed metavariable, what it is in words, and its value where there is one.
    Let(&'static str, &'static str, fn(&mut Match) -> Option<Op>),
}

/// A match of a rule's left side.
pub struct Match<'g> {
    pub graph: &'g mut Graph,
    pub subst: &'g Subst,
    /// The length and the component that a rule of a tuple form is for.
    pub length: usize,
    pub component: usize,
}

impl Match<'_> {
    fn class(&self, var: &str) -> Id {
        self.subst[var.parse().expect("a metavariable")]
    }
    /// The literal a metavariable stands for.
    pub fn literal(&self, var: &str) -> Option<Lit> {
        self.graph[self.class(var)].data.lit.as_ref().map(|l| l.0)
    }
    pub fn real(&self, var: &str) -> Option<f64> {
        match self.literal(var)? {
            Lit::Real(x) => Some(x),
            Lit::Int(_) | Lit::Bool(_) => None,
        }
    }
    /// 1/y for the literal that a metavariable stands for; None where it is not a normal number.
    pub fn reciprocal(&self, var: &str) -> Option<f64> {
        let precision = self.graph.analysis.precision;
        let z = precision.round(1.0 / self.real(var)?);
        precision.is_normal(z).then_some(z)
    }
    pub fn int(&self, var: &str) -> Option<i64> {
        match self.literal(var)? {
            Lit::Int(k) => Some(k),
            Lit::Real(_) | Lit::Bool(_) => None,
        }
    }
    /// The linear type a metavariable stands for, or the type of the term it stands for.
    pub fn ltype(&self, var: &str) -> Option<LType> {
        self.graph[self.class(var)].data.ltype.clone()
    }
    pub fn size(&self, var: &str) -> Option<lang::size::Size> {
        self.graph[self.class(var)].nodes.iter().find_map(|n| match n.op {
            Op::Size(k) => Some(self.graph.analysis.tables.size(k).clone()),
            _ => None,
        })
    }
    pub fn type_leaf(&mut self, ty: &LType) -> Op {
        Op::LType(self.graph.analysis.tables.ltype_number(ty))
    }
}

/// All rows.
pub fn all() -> impl Iterator<Item = &'static Row> {
    [monoid::ROWS, linear::ROWS, real::ROWS, int::ROWS, boolean::ROWS].into_iter().flatten()
}

/// A row's rules for tuples of one length; a row without tuples has its one rule at length 0.
pub fn rewrites(row: &'static Row, k: usize) -> Vec<Rewrite<Node, Facts>> {
    let rule = |name: String, (left, right): (String, String), length: usize, component: usize| {
        let parse = |text: &str| -> Pattern<Node> {
            text.parse().unwrap_or_else(|e| panic!("rule {name}: {text}: {e:?}"))
        };
        let (left, right) = (parse(&left), parse(&right));
        match row.side {
            Side::Always => Rewrite::new(name.as_str(), left, right),
            Side::When(..) | Side::Let(..) => {
                let guarded = Guarded { right, side: row.side, length, component };
                Rewrite::new(name.as_str(), left, guarded)
            }
        }
        .unwrap_or_else(|e| panic!("rule {name}: {e}"))
    };
    match (row.form, k) {
        (Form::One(l, r), 0) => vec![rule(row.name.to_string(), (l.into(), r.into()), 0, 0)],
        (Form::Tuple(_) | Form::Component(_), 0) | (Form::One(..), _) => vec![],
        (Form::Tuple(f), k) => vec![rule(format!("{}/{k}", row.name), f(k), k, 0)],
        (Form::Component(f), k) => {
            (0..k).map(|i| rule(format!("{}/{k}.{i}", row.name), f(k, i), k, i)).collect()
        }
    }
}

/// The rules of a level for tuples of one length, made once.
pub fn for_length(level: Level, k: usize) -> Arc<[Rewrite<Node, Facts>]> {
    type Made = HashMap<(Level, usize), Arc<[Rewrite<Node, Facts>]>>;
    static MADE: Mutex<Option<Made>> = Mutex::new(None);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let rows = all().filter(|r| level.allows(r.exactness));
    made.get_or_insert_default()
        .entry((level, k))
        .or_insert_with(|| rows.flat_map(|r| rewrites(r, k)).collect())
        .clone()
}

/// The row's name in a rule's name.
pub fn row_name(rule: &str) -> &str {
    rule.split('/').next().unwrap_or(rule)
}

/// `f(0) f(1) … f(k-1)`, as the children of a pattern.
fn each(k: usize, f: impl Fn(usize) -> String) -> String {
    (0..k).map(f).collect::<Vec<_>>().join(" ")
}

/// The right side under a side condition.
struct Guarded {
    right: Pattern<Node>,
    side: Side,
    length: usize,
    component: usize,
}

impl Applier<Node, Facts> for Guarded {
    fn apply_one(
        &self,
        graph: &mut Graph,
        class: Id,
        subst: &Subst,
        left: Option<&PatternAst<Node>>,
        rule: Symbol,
    ) -> Vec<Id> {
        let mut m = Match { graph, subst, length: self.length, component: self.component };
        let right = match self.side {
            Side::Always => self.right.ast.clone(),
            Side::When(_, holds) => match holds(&m) {
                true => self.right.ast.clone(),
                false => return vec![],
            },
            Side::Let(var, _, value) => match value(&mut m) {
                Some(op) => filled(&self.right.ast, var, &op),
                None => return vec![],
            },
        };
        let (id, changed) = match left {
            Some(left) => graph.union_instantiations(left, &right, subst, rule),
            None => {
                let id = graph.add_instantiation(&right, subst);
                (id, graph.union(class, id))
            }
        };
        if changed { vec![id] } else { vec![] }
    }
}

/// The pattern with a leaf in place of a metavariable.
fn filled(pattern: &PatternAst<Node>, var: &str, op: &Op) -> PatternAst<Node> {
    let var: egg::Var = var.parse().expect("a metavariable");
    let mut out = PatternAst::default();
    for (_, n) in pattern.items() {
        out.add(match n {
            ENodeOrVar::Var(v) if *v == var => ENodeOrVar::ENode(Node::leaf(op.clone())),
            other => other.clone(),
        });
    }
    out
}

/// The lengths of the tuples in a graph.
pub fn tuple_lengths(graph: &Graph) -> std::collections::BTreeSet<usize> {
    graph
        .nodes()
        .iter()
        .filter(|n| n.op == Op::LTuple || n.op == Op::Tuple)
        .map(|n| n.children().len())
        .collect()
}
