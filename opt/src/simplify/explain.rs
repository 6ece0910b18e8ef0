//! Proofs: why the simplified results equal what they were, as named steps.

use super::extract::Choice;
use super::facts::{FOLD, Facts, Graph};
use super::node::Node;
use super::{Options, Simplifier};
use crate::{Normal, rules};
use egg::{FlatTerm, Id, RecExpr, Rewrite};
use lang::name::Var;
use std::collections::HashMap;

/// One result of a region, from what it was to what it became.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The variable that held it.
    pub of: String,
    pub before: String,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The rule's name; constant folding is `fold`.
    pub rule: String,
    /// The law it instantiates.
    pub law: &'static str,
    /// Used from right to left.
    pub backward: bool,
    /// The whole term after the step.
    pub term: String,
}

/// Terms larger than this are not explained: a proof shows them whole at every step.
const LARGEST: u64 = 400;

/// The proofs of a simplification, in the order of the regions. Each is checked against the rules.
pub fn explain(normal: &Normal, options: &Options) -> Vec<Proof> {
    lang::big_stack::run(|| {
        let mut s = Simplifier::new(&normal.entry, &normal.callees(), options, normal.precision);
        s.proofs = Some(vec![]);
        s.definition(&normal.entry);
        s.proofs.unwrap_or_default()
    })
}

pub fn proofs<'a>(
    roots: impl Iterator<Item = (&'a Var, Id)>,
    before: &Choice,
    after: &Choice,
    graph: &mut Graph,
    rules: &[&Rewrite<Node, Facts>],
) -> Vec<Proof> {
    let mut out = vec![];
    for (v, id) in roots {
        let (mut old, mut new) = (RecExpr::default(), RecExpr::default());
        let old_size = expression(id, before, &|id| id, &mut HashMap::new(), &mut old);
        let find = |id| graph.find(id);
        let new_size = expression(find(id), after, &find, &mut HashMap::new(), &mut new);
        if old == new || old_size.max(new_size) > LARGEST {
            continue;
        }
        let mut explanation = graph.explain_equivalence(&old, &new);
        explanation.check_proof(rules.iter().copied());
        let steps = explanation.make_flat_explanation().iter().skip(1).map(step).collect();
        out.push(Proof { of: v.name.to_string(), before: old.to_string(), steps });
    }
    out
}

/// The term a choice gives a class, with the size of its tree.
fn expression(
    id: Id,
    choice: &Choice,
    find: &dyn Fn(Id) -> Id,
    done: &mut HashMap<Id, (Id, u64)>,
    out: &mut RecExpr<Node>,
) -> u64 {
    fn go(
        id: Id,
        choice: &Choice,
        find: &dyn Fn(Id) -> Id,
        done: &mut HashMap<Id, (Id, u64)>,
        out: &mut RecExpr<Node>,
    ) -> (Id, u64) {
        let id = find(id);
        if let Some(known) = done.get(&id) {
            return *known;
        }
        let mut node = choice[&id].clone();
        let mut size = 1u64;
        for c in node.children.iter_mut() {
            let (child, n) = go(*c, choice, find, done, out);
            *c = child;
            size = size.saturating_add(n);
        }
        let result = (out.add(node), size);
        done.insert(id, result);
        result
    }
    go(id, choice, find, done, out).1
}

fn step(t: &FlatTerm<Node>) -> Step {
    let (rule, backward) = rule_of(t).unwrap_or_default();
    let name = rules::row_name(&rule).to_string();
    let law = match rules::all().find(|r| r.name == name) {
        Some(row) => row.law,
        None if name == FOLD => "operations on literals are computed",
        None => "",
    };
    Step { rule: name, law, backward, term: t.remove_rewrites().to_string() }
}

/// The rule that made this term of the one before, wherever inside it was applied.
fn rule_of(t: &FlatTerm<Node>) -> Option<(String, bool)> {
    match (&t.forward_rule, &t.backward_rule) {
        (Some(r), _) => Some((r.to_string(), false)),
        (None, Some(r)) => Some((r.to_string(), true)),
        (None, None) => t.children.iter().find_map(rule_of),
    }
}
