//! The language of the e-graph: operators of both judgements in one signature, children always e-classes.
//!
//! What binds or branches is an opaque operator ([`Op::Opaque`]) whose children are its free variables. Types and sizes that laws
//! speak of are leaves, so that a pattern can name them: `(zero ?T)`, `(onehot ?n ?i ?t)`.

use egg::{FromOp, Id, Language};
use lang::core::{Lit, Term, Tm};
use lang::diag::Site;
use lang::name::Var;
use lang::prim::Prim;
use lang::size::Size;
use lang::target::{Lin, LinTerm};
use lang::types::LType;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Op {
    /// x
    Var(Var),
    /// z̲
    LVar(Var),
    /// A real, by its bits.
    Real(u64),
    Int(i64),
    Bool(bool),
    Prim(Prim),
    Tuple,
    Proj(usize),
    /// a[i], with the number of its site
    Index(u32),
    /// A linear type, by number.
    LType(u32),
    /// A size, by number.
    Size(u32),
    /// 0̲ : τ̲, the type a child
    Zero,
    Plus,
    LTuple,
    LProj(usize),
    Scale,
    LIndex,
    /// onehot: size, index, term
    OneHot,
    /// A Cartesian term that binds, branches or fails, by number; its children are its free variables.
    Opaque(u32),
    /// The same, linear.
    LOpaque(u32),
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Node {
    pub op: Op,
    pub children: Vec<Id>,
}

impl Node {
    pub fn new(op: Op, children: Vec<Id>) -> Node {
        Node { op, children }
    }
    pub fn leaf(op: Op) -> Node {
        Node { op, children: vec![] }
    }
}

impl Op {
    pub fn lit(l: Lit) -> Op {
        match l {
            Lit::Real(x) => Op::Real(x.to_bits()),
            Lit::Int(k) => Op::Int(k),
            Lit::Bool(b) => Op::Bool(b),
        }
    }

    pub fn as_lit(&self) -> Option<Lit> {
        match self {
            Op::Real(bits) => Some(Lit::Real(f64::from_bits(*bits))),
            Op::Int(k) => Some(Lit::Int(*k)),
            Op::Bool(b) => Some(Lit::Bool(*b)),
            _ => None,
        }
    }

    /// The linear judgement?
    pub fn is_linear(&self) -> bool {
        match self {
            Op::LVar(_) | Op::Zero | Op::Plus | Op::LTuple | Op::LProj(_) | Op::Scale => true,
            Op::LIndex | Op::OneHot | Op::LOpaque(_) => true,
            Op::Var(_) | Op::Real(_) | Op::Int(_) | Op::Bool(_) | Op::Prim(_) | Op::Tuple => false,
            Op::Proj(_) | Op::Index(_) | Op::LType(_) | Op::Size(_) | Op::Opaque(_) => false,
        }
    }

    /// Cost of one operation, in quarters of a counted operation: an addition is 4. What only arranges values costs 1, so that less of it is preferred.
    pub fn cost(&self) -> u64 {
        match self {
            Op::Var(_) | Op::LVar(_) | Op::Real(_) | Op::Int(_) | Op::Bool(_) => 0,
            Op::LType(_) | Op::Size(_) | Op::Zero => 0,
            Op::Prim(p) => 4 * p.row().cost as u64,
            Op::Tuple | Op::Proj(_) | Op::LTuple | Op::LProj(_) => 1,
            Op::Plus | Op::Scale | Op::Index(_) | Op::LIndex | Op::OneHot => 4,
            Op::Opaque(_) | Op::LOpaque(_) => 400,
        }
    }
}

impl Language for Node {
    type Discriminant = Op;

    fn discriminant(&self) -> Op {
        self.op.clone()
    }
    fn matches(&self, other: &Node) -> bool {
        self.op == other.op && self.children.len() == other.children.len()
    }
    fn children(&self) -> &[Id] {
        &self.children
    }
    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.children
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.op {
            Op::Var(v) | Op::LVar(v) => write!(f, "{}", v.name),
            Op::Real(bits) => write!(f, "{:?}", f64::from_bits(*bits)),
            Op::Int(k) => write!(f, "{k}"),
            Op::Bool(b) => write!(f, "{b}"),
            Op::Prim(p) => write!(f, "{p:?}"),
            Op::Tuple => write!(f, "tuple"),
            Op::Proj(i) => write!(f, "proj.{i}"),
            Op::Index(_) => write!(f, "index"),
            Op::LType(_) => write!(f, "τ"),
            Op::Size(_) => write!(f, "n"),
            Op::Zero => write!(f, "zero"),
            Op::Plus => write!(f, "plus"),
            Op::LTuple => write!(f, "ltuple"),
            Op::LProj(i) => write!(f, "lproj.{i}"),
            Op::Scale => write!(f, "scale"),
            Op::LIndex => write!(f, "lindex"),
            Op::OneHot => write!(f, "onehot"),
            Op::Opaque(k) | Op::LOpaque(k) => write!(f, "code.{k}"),
        }
    }
}

impl FromOp for Node {
    type Error = String;

    /// How rule rows write operators: primitives by their variant's name, literals as in Rust.
    fn from_op(op: &str, children: Vec<Id>) -> Result<Node, String> {
        let numbered = |prefix: &str| op.strip_prefix(prefix).and_then(|k| k.parse().ok());
        let op = match op {
            "true" => Op::Bool(true),
            "false" => Op::Bool(false),
            "tuple" => Op::Tuple,
            "zero" => Op::Zero,
            "plus" => Op::Plus,
            "ltuple" => Op::LTuple,
            "scale" => Op::Scale,
            "lindex" => Op::LIndex,
            "onehot" => Op::OneHot,
            _ => [
                numbered("proj.").map(Op::Proj),
                numbered("lproj.").map(Op::LProj),
                op.parse().ok().map(Op::Int),
                op.parse().ok().map(|x: f64| Op::Real(x.to_bits())),
                prims().get(op).map(|p| Op::Prim(*p)),
            ]
            .into_iter()
            .flatten()
            .next()
            .ok_or_else(|| format!("unknown operator {op}"))?,
        };
        Ok(Node { op, children })
    }
}

/// Primitives by their variants' names.
fn prims() -> &'static HashMap<String, Prim> {
    static NAMES: OnceLock<HashMap<String, Prim>> = OnceLock::new();
    NAMES.get_or_init(|| Prim::ALL.iter().map(|p| (format!("{p:?}"), *p)).collect())
}

/// What an e-class stands for, as a term of its judgement (or a type or size that is part of one).
#[derive(Clone, Debug)]
pub enum Tree {
    C(Tm),
    L(Lin),
    Type(LType),
    Size(Size),
}

impl Tree {
    pub fn term(self) -> Tm {
        match self {
            Tree::C(t) => t,
            other => panic!("compiler bug: {other:?} is no Cartesian term"),
        }
    }
    pub fn lin(self) -> Lin {
        match self {
            Tree::L(t) => t,
            other => panic!("compiler bug: {other:?} is no linear term"),
        }
    }
}

/// op(children) as a term. Opaque operators are their owner's business.
pub fn to_tree(op: &Op, children: Vec<Tree>, tables: &super::facts::Tables) -> Tree {
    let mut args = children.into_iter();
    let mut next = || args.next().expect("compiler bug: an operator lacks a child");
    match op {
        Op::Var(v) => Tree::C(Arc::new(Term::Var(v.clone()))),
        Op::LVar(v) => Tree::L(Arc::new(LinTerm::Var(v.clone()))),
        Op::Real(bits) => Tree::C(Arc::new(Term::Lit(Lit::Real(f64::from_bits(*bits))))),
        Op::Int(k) => Tree::C(Arc::new(Term::Lit(Lit::Int(*k)))),
        Op::Bool(b) => Tree::C(Arc::new(Term::Lit(Lit::Bool(*b)))),
        Op::Prim(p) => Tree::C(Arc::new(Term::Prim(*p, args.map(Tree::term).collect()))),
        Op::Tuple => Tree::C(Arc::new(Term::Tuple(args.map(Tree::term).collect()))),
        Op::Proj(i) => Tree::C(Arc::new(Term::Proj(next().term(), *i))),
        Op::Index(site) => {
            let (a, i) = (next().term(), next().term());
            let site: Site = tables.sites[*site as usize].clone();
            Tree::C(Arc::new(Term::Index(a, i, site)))
        }
        Op::LType(k) => Tree::Type(tables.ltype(*k).clone()),
        Op::Size(k) => Tree::Size(tables.size(*k).clone()),
        Op::Zero => match next() {
            Tree::Type(ty) => Tree::L(Arc::new(LinTerm::Zero(ty))),
            other => panic!("compiler bug: zero of {other:?}"),
        },
        Op::Plus => Tree::L(Arc::new(LinTerm::Plus(next().lin(), next().lin()))),
        Op::LTuple => Tree::L(Arc::new(LinTerm::Tuple(args.map(Tree::lin).collect()))),
        Op::LProj(i) => Tree::L(Arc::new(LinTerm::Proj(next().lin(), *i))),
        Op::Scale => Tree::L(Arc::new(LinTerm::Scale(next().term(), next().lin()))),
        Op::LIndex => Tree::L(Arc::new(LinTerm::Index(next().lin(), next().term()))),
        Op::OneHot => match next() {
            Tree::Size(bound) => {
                let (index, term) = (next().term(), next().lin());
                Tree::L(Arc::new(LinTerm::OneHot { bound, index, term }))
            }
            other => panic!("compiler bug: onehot of size {other:?}"),
        },
        Op::Opaque(_) | Op::LOpaque(_) => panic!("compiler bug: {op:?} has no general form"),
    }
}
