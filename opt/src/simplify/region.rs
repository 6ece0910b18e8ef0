//! One piece of a region: into an e-graph, saturated, extracted, and bound again.

use super::anf::{Atom, Bound, Item, Operation, Skeleton, Sort};
use super::extract::{Choice, extract, measure};
use super::facts::{Facts, Graph};
use super::node::{Node, Op};
use super::{Simplifier, explain};
use crate::rules;
use egg::{EGraph, Id, Runner};
use lang::name::Var;
use lang::size::Size;
use lang::types::Type;
use lang::walk::Mapper;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

impl Simplifier<'_> {
    /// The lets of a region, piece by piece.
    pub fn pieces(&mut self, items: &[Item], skeleton: &Skeleton) -> Vec<Bound> {
        // The last piece that uses each variable; the result uses its variables after all of them.
        let mut last: HashMap<Var, usize> = HashMap::new();
        for (k, piece) in items.chunks(self.options.piece).enumerate() {
            for item in piece {
                match &item.def {
                    Operation::Op(_, args) => args.iter().for_each(|a| note_use(a, k, &mut last)),
                    Operation::Copy(a) => note_use(a, k, &mut last),
                }
            }
        }
        self.uses_of_result(skeleton, &mut last);
        let mut lets = vec![];
        for (k, piece) in items.chunks(self.options.piece).enumerate() {
            let outputs: HashSet<Var> = piece
                .iter()
                .filter(|i| last.get(&i.var).is_some_and(|l| *l > k))
                .map(|i| i.var.clone())
                .collect();
            lets.extend(self.piece(piece, &outputs));
        }
        lets
    }

    fn uses_of_result(&self, s: &Skeleton, last: &mut HashMap<Var, usize>) {
        match s {
            Skeleton::Atom(a) => note_use(&self.known(a), usize::MAX, last),
            Skeleton::Tuple(ss) | Skeleton::LTuple(ss) => {
                ss.iter().for_each(|s| self.uses_of_result(s, last))
            }
            Skeleton::Term(t) => {
                for v in lang::walk::free_vars(t) {
                    last.insert(v, usize::MAX);
                }
            }
        }
    }

    fn piece(&mut self, items: &[Item], outputs: &HashSet<Var>) -> Vec<Bound> {
        if items.is_empty() {
            return vec![];
        }
        let tables = std::mem::take(&mut self.tables);
        let mut graph: Graph = EGraph::new(Facts { tables, precision: self.precision });
        if self.proofs.is_some() {
            graph = graph.with_explanations_enabled();
        }
        // Into the e-graph: every operation a node.
        let mut ids: HashMap<Var, Id> = HashMap::new();
        let mut before = Choice::new();
        for item in items {
            let id = match &item.def {
                Operation::Op(op, args) => {
                    let children =
                        args.iter().map(|a| self.class(a, &ids, &mut graph, &mut before)).collect();
                    add(Node::new(op.clone(), children), &mut graph, &mut before)
                }
                Operation::Copy(a) => self.class(a, &ids, &mut graph, &mut before),
            };
            ids.insert(item.var.clone(), id);
        }
        let roots: Vec<Id> = items.iter().filter(|i| self.is_root(i, outputs)).map(|i| ids[&i.var]).collect();
        let had = measure(&roots, &before, &|id| id);
        let lengths = rules::tuple_lengths(&graph);
        self.make_rules(&lengths);
        // Under 0 are the rules that know nothing of tuples.
        let sets = lengths.iter().copied().filter(|k| *k != 0).chain([0]);
        let chosen = sets.filter_map(|k| self.rules.get(&k)).flat_map(|r| r.iter());
        let limit = self.options.nodes + self.options.nodes_per_operation * items.len();
        let runner = Runner::<Node, Facts, ()>::new(Facts::default())
            .with_egraph(graph)
            .with_iter_limit(self.options.iterations)
            .with_node_limit(limit)
            .with_time_limit(Duration::MAX)
            .run(chosen);
        let mut graph = runner.egraph;
        self.work += graph.total_number_of_nodes();
        let after = extract(&graph, &before);
        let now = measure(&roots, &after, &|id| graph.find(id));
        let better = now.is_some() && (had.is_none() || now < had);
        let result = match better {
            false => None,
            true => {
                let e = Emission::new(items, &ids, &graph, &after);
                self.tables = std::mem::take(&mut graph.analysis.tables);
                let plan = e.plan(items, outputs, &ids, self);
                std::mem::swap(&mut self.tables, &mut graph.analysis.tables);
                plan
            }
        };
        if result.is_some() && self.proofs.is_some() {
            let named = items.iter().filter(|i| self.is_root(i, outputs)).map(|i| (&i.var, ids[&i.var]));
            let chosen: Vec<_> = self.rules.values().flat_map(|r| r.iter()).collect();
            let proofs = explain::proofs(named, &before, &after, &mut graph, &chosen);
            self.proofs.get_or_insert_default().extend(proofs);
        }
        self.tables = graph.analysis.tables;
        match result {
            Some(steps) => self.write(steps),
            None => self.as_it_was(items),
        }
    }

    fn is_root(&self, i: &Item, outputs: &HashSet<Var>) -> bool {
        i.ordered || outputs.contains(&i.var) || self.pinned.contains(&i.var)
    }

    fn class(&self, a: &Atom, ids: &HashMap<Var, Id>, graph: &mut Graph, before: &mut Choice) -> Id {
        match self.known(a) {
            Atom::Op(op @ (Op::Var(_) | Op::LVar(_))) => {
                let (Op::Var(v) | Op::LVar(v)) = &op else { unreachable!("just matched") };
                if let Some(id) = ids.get(v) {
                    return *id;
                }
                if let Some(ty) = self.scope.lins.get(v) {
                    graph.analysis.tables.lvars.insert(v.clone(), ty.clone());
                }
                add(Node::leaf(op), graph, before)
            }
            Atom::Op(op) => add(Node::leaf(op), graph, before),
            Atom::Zero(k) => {
                let ty = add(Node::leaf(Op::LType(k)), graph, before);
                add(Node::new(Op::Zero, vec![ty]), graph, before)
            }
        }
    }

    /// The lets of a plan.
    fn write(&mut self, steps: Plan) -> Vec<Bound> {
        let mut lets = vec![];
        for (var, sort, op, args) in steps.lets {
            let args: Vec<Atom> = args.iter().map(|a| self.known(a)).collect();
            let def = match op {
                Some(op) => self.operation_tree(&op, &args, true),
                None => self.atom_tree(&args[0]),
            };
            let sort = sort.unwrap_or_else(|| self.note_sort(&var, &def));
            lets.push(Bound { var, sort, def });
        }
        self.resolved.extend(steps.resolved);
        lets
    }

    fn as_it_was(&mut self, items: &[Item]) -> Vec<Bound> {
        let lets = items.iter().map(|i| {
            let def = match &i.def {
                Operation::Op(op, args) => {
                    let args: Vec<Atom> = args.iter().map(|a| self.known(a)).collect();
                    self.operation_tree(op, &args, true)
                }
                Operation::Copy(a) => self.atom_tree(&self.known(a)),
            };
            Bound { var: i.var.clone(), sort: i.sort.clone(), def }
        });
        lets.collect()
    }
}

fn note_use(a: &Atom, k: usize, last: &mut HashMap<Var, usize>) {
    if let Atom::Op(Op::Var(v) | Op::LVar(v)) = a {
        let l = last.entry(v.clone()).or_insert(k);
        *l = (*l).max(k);
    }
}

fn add(node: Node, graph: &mut Graph, before: &mut Choice) -> Id {
    let id = graph.add(node.clone());
    before.entry(id).or_insert(node);
    id
}

/// What is to be written: lets in order (None: a copy of its atom), and variables that need none.
struct Plan {
    lets: Vec<(Var, Option<Sort>, Option<Op>, Vec<Atom>)>,
    resolved: Vec<(Var, Atom)>,
}

/// The order of the new lets. Results are visited in the order they had, everything else just before its first use.
struct Emission<'a> {
    choice: &'a Choice,
    find: HashMap<Id, Id>,
    /// The variables that had each class, with their sorts.
    names: HashMap<Id, Vec<(Var, Sort)>>,
    /// Where each node that can fail, or that a check orders, was first.
    first: HashMap<Node, usize>,
    /// Checks, by position.
    checks: Vec<usize>,
    atoms: HashMap<Id, Atom>,
    pinned: HashMap<Var, Id>,
    done: HashSet<Var>,
    now: usize,
    plan: Plan,
}

impl<'a> Emission<'a> {
    fn new(items: &[Item], ids: &HashMap<Var, Id>, graph: &Graph, choice: &'a Choice) -> Emission<'a> {
        let mut e = Emission {
            choice,
            find: ids.values().map(|id| (*id, graph.find(*id))).collect(),
            names: HashMap::new(),
            first: HashMap::new(),
            checks: vec![],
            atoms: HashMap::new(),
            pinned: HashMap::new(),
            done: HashSet::new(),
            now: 0,
            plan: Plan { lets: vec![], resolved: vec![] },
        };
        for (k, item) in items.iter().enumerate() {
            let class = graph.find(ids[&item.var]);
            e.names.entry(class).or_default().push((item.var.clone(), item.sort.clone()));
            if item.ordered {
                e.checks.push(k);
            }
            if let Operation::Op(op, _) = &item.def
                && ordered_by_checks(op)
            {
                for n in &graph[class].nodes {
                    if n.op == *op {
                        let mut n = n.clone();
                        n.children.iter_mut().for_each(|c| *c = graph.find(*c));
                        e.first.entry(n).or_insert(k);
                    }
                }
            }
        }
        e
    }

    /// None where something that can fail would move above a check.
    fn plan(
        mut self,
        items: &[Item],
        outputs: &HashSet<Var>,
        ids: &HashMap<Var, Id>,
        s: &mut Simplifier,
    ) -> Option<Plan> {
        for item in items.iter().filter(|i| s.pinned.contains(&i.var)) {
            self.pinned.insert(item.var.clone(), self.find[&ids[&item.var]]);
        }
        for (k, item) in items.iter().enumerate() {
            self.now = k;
            if !s.is_root(item, outputs) {
                continue;
            }
            if s.pinned.contains(&item.var) {
                self.pin(&item.var, s)?;
                continue;
            }
            let atom = self.emit(self.find[&ids[&item.var]], s)?;
            if atom_var(&atom) != Some(&item.var) {
                self.plan.resolved.push((item.var.clone(), atom));
            }
        }
        Some(self.plan)
    }

    /// The let of a variable that sizes mention.
    fn pin(&mut self, v: &Var, s: &mut Simplifier) -> Option<()> {
        let Some(class) = self.pinned.get(v).copied() else { return Some(()) };
        if self.done.contains(v) {
            return Some(());
        }
        let atom = self.emit(class, s)?;
        if self.done.insert(v.clone()) {
            self.plan.lets.push((v.clone(), Some(Sort::C(Type::Int)), None, vec![atom]));
        }
        Some(())
    }

    /// The atom of a class, after the lets that it needs.
    fn emit(&mut self, class: Id, s: &mut Simplifier) -> Option<Atom> {
        if let Some(a) = self.atoms.get(&class) {
            return Some(a.clone());
        }
        let node = self.choice[&class].clone();
        if let Some(first) = self.first.get(&node)
            && self.checks.iter().any(|c| self.now < *c && c < first)
        {
            return None;
        }
        let atom = match &node.op {
            Op::Var(_)
            | Op::LVar(_)
            | Op::Real(_)
            | Op::Int(_)
            | Op::Bool(_)
            | Op::LType(_)
            | Op::Size(_) => Atom::Op(node.op.clone()),
            Op::Zero => match self.emit(node.children[0], s)? {
                Atom::Op(Op::LType(k)) => {
                    let ty = s.tables.ltype(k).clone();
                    self.pins_of(&mut |p| drop(p.lty(&ty)), s)?;
                    Atom::Zero(k)
                }
                other => unreachable!("compiler bug: zero of {other:?}"),
            },
            Op::Prim(_)
            | Op::Tuple
            | Op::Proj(_)
            | Op::Index(_)
            | Op::Plus
            | Op::LTuple
            | Op::LProj(_)
            | Op::Scale
            | Op::LIndex
            | Op::OneHot
            | Op::Opaque(_)
            | Op::LOpaque(_) => {
                let args: Option<Vec<Atom>> = node.children.iter().map(|c| self.emit(*c, s)).collect();
                let args = args?;
                if let Op::Opaque(k) | Op::LOpaque(k) = node.op {
                    for p in s.codes[k as usize].pins.clone() {
                        self.pin(&p, s)?;
                    }
                }
                if let Some(Atom::Op(Op::Size(k))) = args.first() {
                    let n = s.tables.size(*k).clone();
                    self.pins_of(&mut |p| drop(p.size(&n)), s)?;
                }
                let linear = node.op.is_linear();
                let named = self.names.get(&class).and_then(|vs| vs.first()).cloned();
                let (var, sort) = match named {
                    Some((v, sort)) => {
                        match &sort {
                            Sort::C(ty) => self.pins_of(&mut |p| drop(p.ty(ty)), s)?,
                            Sort::L(ty) => self.pins_of(&mut |p| drop(p.lty(ty)), s)?,
                        }
                        (v, Some(sort))
                    }
                    None => (s.supply.fresh("t"), None),
                };
                // A size of its own type may have asked for this class by now.
                if let Some(a) = self.atoms.get(&class) {
                    return Some(a.clone());
                }
                self.done.insert(var.clone());
                let atom = Atom::Op(if linear { Op::LVar(var.clone()) } else { Op::Var(var.clone()) });
                self.plan.lets.push((var, sort, Some(node.op.clone()), args));
                atom
            }
        };
        self.atoms.insert(class, atom.clone());
        Some(atom)
    }

    /// Emits the pinned variables that a type or size mentions.
    fn pins_of(&mut self, visit: &mut dyn FnMut(&mut Sizes), s: &mut Simplifier) -> Option<()> {
        let mut sizes = Sizes(vec![]);
        visit(&mut sizes);
        sizes.0.iter().try_for_each(|v| self.pin(v, s))
    }
}

struct Sizes(Vec<Var>);

impl Mapper for Sizes {
    fn size(&mut self, n: &Size) -> Size {
        self.0.extend(n.vars().cloned());
        n.clone()
    }
}

fn atom_var(a: &Atom) -> Option<&Var> {
    match a {
        Atom::Op(Op::Var(v) | Op::LVar(v)) => Some(v),
        Atom::Op(_) | Atom::Zero(_) => None,
    }
}

/// Can fail or allocate, so must not move above a check. The other operations are total and of fixed size.
fn ordered_by_checks(op: &Op) -> bool {
    match op {
        Op::Index(_) | Op::Opaque(_) | Op::LOpaque(_) | Op::LIndex | Op::OneHot => true,
        Op::Var(_) | Op::LVar(_) | Op::Real(_) | Op::Int(_) | Op::Bool(_) | Op::Prim(_) | Op::Tuple => false,
        Op::Proj(_) | Op::LType(_) | Op::Size(_) | Op::Zero | Op::Plus | Op::LTuple => false,
        Op::LProj(_) | Op::Scale => false,
    }
}
