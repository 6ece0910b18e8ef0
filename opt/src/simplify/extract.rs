//! Extraction by the cost of the shared whole: an operation that several results use is paid once.
//!
//! Per class the node is chosen whose own cost with everything below it, counted as a set, is least (a greedy choice: the optimum is
//! NP-hard); of equal costs the smaller tree. The caller compares the total over all results with what it had.

use super::facts::Graph;
use super::node::Node;
use egg::{Id, Language};
use std::collections::{HashMap, HashSet};

pub type Choice = HashMap<Id, Node>;

/// Cost of a set of results: shared operations once, and the size of the trees written out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cost {
    pub shared: u64,
    pub tree: u64,
}

struct Best {
    cost: Cost,
    /// Made by a rule.
    novel: bool,
    /// The classes below, this one included, as bits.
    below: Vec<u64>,
    node: Node,
}

/// A node for every class. `before`: the nodes as they were added.
pub fn extract(graph: &Graph, before: &Choice) -> Choice {
    let canonical = |n: &Node| n.clone().map_children(|c| graph.find(c));
    let old: HashSet<Node> = before.values().map(canonical).collect();
    let number: HashMap<Id, usize> = graph.classes().enumerate().map(|(k, c)| (c.id, k)).collect();
    let ids: Vec<Id> = graph.classes().map(|c| c.id).collect();
    // The set of the node being looked at.
    let mut below = vec![0u64; ids.len().div_ceil(64)];
    let mut own = vec![0u64; ids.len()];
    let mut best: Vec<Option<Best>> = (0..ids.len()).map(|_| None).collect();
    // Classes whose children changed; leaves first.
    let mut queue: std::collections::VecDeque<usize> =
        (0..ids.len()).filter(|k| graph[ids[*k]].nodes.iter().any(|n| n.is_leaf())).collect();
    let mut queued = vec![false; ids.len()];
    queue.iter().for_each(|k| queued[*k] = true);
    // Costs only fall, but a set's cost is estimated from choices below that may change: bound the rounds.
    let mut budget = 20 * graph.total_number_of_nodes() + 1000;
    while let Some(k) = queue.pop_front() {
        queued[k] = false;
        if budget == 0 {
            break;
        }
        let mut improved = false;
        for node in &graph[ids[k]].nodes {
            budget = budget.saturating_sub(1);
            below.fill(0);
            let mut tree = 1u64;
            let known = node.children.iter().all(|c| match &best[number[&graph.find(*c)]] {
                Some(b) => {
                    below.iter_mut().zip(&b.below).for_each(|(x, y)| *x |= y);
                    tree = tree.saturating_add(b.cost.tree);
                    true
                }
                None => false,
            });
            // A node may not contain its own class.
            if !known || below[k / 64] >> (k % 64) & 1 == 1 {
                continue;
            }
            let cost = Cost { shared: node.op.cost() + sum(&below, &own), tree };
            let novel = !old.contains(&canonical(node));
            if best[k].as_ref().is_none_or(|b| (cost, novel) < (b.cost, b.novel)) {
                below[k / 64] |= 1 << (k % 64);
                own[k] = node.op.cost();
                best[k] = Some(Best { cost, novel, below: below.clone(), node: node.clone() });
                improved = true;
            }
        }
        if improved {
            for parent in graph[ids[k]].parents() {
                let p = number[&graph.find(parent)];
                if !std::mem::replace(&mut queued[p], true) {
                    queue.push_back(p);
                }
            }
        }
    }
    ids.iter()
        .zip(best)
        .filter_map(|(id, b)| {
            let node = b?.node.map_children(|c| graph.find(c));
            Some((*id, node))
        })
        .collect()
}

fn sum(set: &[u64], own: &[u64]) -> u64 {
    let mut total = 0;
    for (w, word) in set.iter().enumerate() {
        let mut bits = *word;
        while bits != 0 {
            total += own[64 * w + bits.trailing_zeros() as usize];
            bits &= bits - 1;
        }
    }
    total
}

/// The cost of the classes below the roots under a choice; None where the choice is cyclic or has no node for a class.
pub fn measure(roots: &[Id], choice: &Choice, find: &dyn Fn(Id) -> Id) -> Option<Cost> {
    let mut trees: HashMap<Id, Option<u64>> = HashMap::new();
    let mut total = Cost { shared: 0, tree: 0 };
    for r in roots {
        let tree = visit(find(*r), choice, find, &mut trees, &mut total.shared)?;
        total.tree = total.tree.saturating_add(tree);
    }
    Some(total)
}

fn visit(
    id: Id,
    choice: &Choice,
    find: &dyn Fn(Id) -> Id,
    trees: &mut HashMap<Id, Option<u64>>,
    shared: &mut u64,
) -> Option<u64> {
    if let Some(known) = trees.get(&id) {
        // None: being visited, so the choice is cyclic.
        return *known;
    }
    trees.insert(id, None);
    let node = choice.get(&id)?;
    let mut tree = 1u64;
    for c in &node.children {
        tree = tree.saturating_add(visit(find(*c), choice, find, trees, shared)?);
    }
    *shared += node.op.cost();
    trees.insert(id, Some(tree));
    Some(tree)
}
