//! Opaque operators: what binds or branches, up to the names of its binders and free variables, so that equal code over
//! equal operands is one e-node.

use super::Simplifier;
use super::anf::{Atom, Operation};
use super::node::{Op, Tree, to_tree};
use lang::core::{Lit, Term, Tm, make};
use lang::diag::Site;
use lang::name::Var;
use lang::size::Size;
use lang::target::{Lin, LinTerm};
use lang::typing::type_of_lin;
use lang::walk::{Mapper, Subst, map_lin, map_term};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The code of an opaque operator.
pub struct Code {
    pub tree: Tree,
    /// Its free variables, in order of occurrence: the operator's operands.
    pub free: Vec<Var>,
    /// The variables of its sizes, which keep their names.
    pub pins: Vec<Var>,
    pub ordered: bool,
    /// Written already: the next copy needs binders of its own.
    pub written: bool,
}

/// Codes by form, found by the numbers of operands and of nodes.
pub type Numbers = HashMap<(usize, usize), Vec<(Canonical, u32)>>;

#[derive(PartialEq)]
pub enum Canonical {
    C(Tm),
    L(Lin),
}

impl Simplifier<'_> {
    /// The operation that a term with binders or branches is.
    pub fn code(&mut self, tree: Tree) -> Operation {
        let mut c = Canonise {
            pinned: &self.pinned,
            names: HashMap::new(),
            bound: 0,
            free: vec![],
            pins: vec![],
            nodes: 0,
        };
        let canonical = match &tree {
            Tree::C(t) => Canonical::C(c.term(t)),
            Tree::L(t) => Canonical::L(c.lin(t)),
            Tree::Type(_) | Tree::Size(_) => panic!("compiler bug: {tree:?} is no code"),
        };
        let (free, pins, key) = (c.free.clone(), c.pins, (c.nodes, c.free.len()));
        let args: Vec<Atom> = free.iter().map(|v| self.known(&self.variable_atom(v))).collect();
        let linear = matches!(tree, Tree::L(_));
        let same = self.code_numbers.entry(key).or_default();
        let number = match same.iter().find(|(form, _)| *form == canonical) {
            Some((_, k)) => *k,
            None => {
                let k = self.codes.len() as u32;
                same.push((canonical, k));
                let ordered = matches!(&tree, Tree::C(t) if matches!(**t, Term::Check { .. }));
                if let Tree::L(t) = &tree {
                    let ty = type_of_lin(t, &mut self.scope, &self.program);
                    self.tables.lopaque.insert(k, ty);
                }
                self.codes.push(Code { tree, free, pins, ordered, written: false });
                k
            }
        };
        Operation::Op(if linear { Op::LOpaque(number) } else { Op::Opaque(number) }, args)
    }

    fn variable_atom(&self, v: &Var) -> Atom {
        Atom::Op(if self.scope.lins.contains_key(v) { Op::LVar(v.clone()) } else { Op::Var(v.clone()) })
    }

    /// The term of an operation on atoms. `write`: the term goes into the result, with binders of its own.
    pub fn operation_tree(&mut self, op: &Op, args: &[Atom], write: bool) -> Tree {
        let (Op::Opaque(k) | Op::LOpaque(k)) = op else {
            let children = args.iter().map(|a| self.atom_tree(a)).collect();
            return to_tree(op, children, &self.tables);
        };
        let code = &self.codes[*k as usize];
        let mut r = Rename { map: HashMap::new() };
        for (v, a) in code.free.iter().zip(args) {
            if *a != self.variable_atom(v) {
                r.map.insert(v.clone(), self.atom_tree(a));
            }
        }
        let tree = r.tree(&code.tree);
        if !write {
            return tree;
        }
        let again = std::mem::replace(&mut self.codes[*k as usize].written, true);
        if !again {
            return tree;
        }
        let fresh = match &tree {
            Tree::C(t) => Tree::C(Subst::new(&mut self.supply).term(t)),
            Tree::L(t) => Tree::L(Subst::new(&mut self.supply).lin(t)),
            Tree::Type(_) | Tree::Size(_) => tree,
        };
        self.note_binders(&fresh);
        fresh
    }

    pub fn note_binders(&mut self, tree: &Tree) {
        let mut b = super::Binders::default();
        match tree {
            Tree::C(t) => drop(b.term(t)),
            Tree::L(t) => drop(b.lin(t)),
            Tree::Type(_) | Tree::Size(_) => {}
        }
        self.scope.vars.extend(b.scope.vars);
        self.scope.lins.extend(b.scope.lins);
        self.pinned.extend(b.pinned);
    }

    /// A term with every variable replaced by what it is known to equal.
    pub fn renamed(&self, tree: Tree) -> Tree {
        let free = match &tree {
            Tree::C(t) => lang::walk::free_vars(t),
            Tree::L(t) => lang::walk::free_vars_lin(t),
            Tree::Type(_) | Tree::Size(_) => return tree,
        };
        let mut r = Rename { map: HashMap::new() };
        for v in free {
            let (itself, known) = (self.variable_atom(&v), self.known(&self.variable_atom(&v)));
            if itself != known {
                r.map.insert(v, self.atom_tree(&known));
            }
        }
        r.tree(&tree)
    }
}

/// Replaces free variables by atoms; sizes keep theirs.
struct Rename {
    map: HashMap<Var, Tree>,
}

impl Rename {
    fn tree(&mut self, tree: &Tree) -> Tree {
        match tree {
            _ if self.map.is_empty() => tree.clone(),
            Tree::C(t) => Tree::C(self.term(t)),
            Tree::L(t) => Tree::L(self.lin(t)),
            Tree::Type(_) | Tree::Size(_) => tree.clone(),
        }
    }
}

impl Mapper for Rename {
    fn term(&mut self, t: &Tm) -> Tm {
        match &**t {
            Term::Var(v) => match self.map.get(v) {
                Some(tree) => tree.clone().term(),
                None => t.clone(),
            },
            _ => map_term(self, t),
        }
    }
    fn lin(&mut self, t: &Lin) -> Lin {
        match &**t {
            LinTerm::Var(v) => match self.map.get(v) {
                Some(tree) => tree.clone().lin(),
                None => t.clone(),
            },
            _ => map_lin(self, t),
        }
    }
}

/// Binders and free variables numbered in order of occurrence (from the top: no variable of a program has such a number), sites
/// dropped, reals as their bits.
struct Canonise<'a> {
    pinned: &'a HashSet<Var>,
    names: HashMap<Var, Var>,
    bound: u32,
    free: Vec<Var>,
    pins: Vec<Var>,
    nodes: usize,
}

const FREE: u32 = u32::MAX / 4 * 3;

impl Canonise<'_> {
    fn name(&mut self, v: &Var) -> Var {
        if let Some(n) = self.names.get(v) {
            return n.clone();
        }
        let n = match self.pinned.contains(v) {
            true => v.clone(),
            false => Var { name: v.name.clone(), id: FREE + self.free.len() as u32 },
        };
        self.free.push(v.clone());
        self.names.insert(v.clone(), n.clone());
        n
    }
}

impl Mapper for Canonise<'_> {
    fn bind(&mut self, v: &Var) -> Var {
        let n = Var { name: v.name.clone(), id: u32::MAX - self.bound };
        self.bound += 1;
        self.names.insert(v.clone(), n.clone());
        n
    }
    fn size(&mut self, n: &Size) -> Size {
        let names = &self.names;
        self.pins.extend(n.vars().filter(|v| names.get(v).is_none_or(|n| n == *v)).cloned());
        n.subst(&|v| names.get(v).map(|n| Size::var(n.clone()))).unwrap_or_else(|| n.clone())
    }
    fn term(&mut self, t: &Tm) -> Tm {
        self.nodes += 1;
        let place = Site { def: "".into(), span: Default::default() };
        match &**t {
            Term::Var(v) => make::var(&self.name(v)),
            Term::Lit(Lit::Real(x)) => Arc::new(Term::Detach(make::int(x.to_bits() as i64))),
            Term::Index(a, i, _) => make::index(self.term(a), self.term(i), place),
            _ => map_term(self, t),
        }
    }
    fn lin(&mut self, t: &Lin) -> Lin {
        self.nodes += 1;
        match &**t {
            LinTerm::Var(v) => lang::target::make::var(&self.name(v)),
            _ => map_lin(self, t),
        }
    }
}
