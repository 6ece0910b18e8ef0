//! What the e-graph knows of each class: its value when that is a literal (constant folding), and the
//! type when it is linear.

use super::node::{Node, Op};
use egg::{Analysis, DidMerge, EGraph, ENodeOrVar, Id, PatternAst};
use lang::core::Lit;
use lang::diag::Site;
use lang::name::Var;
use lang::precision::Precision;
use lang::size::Size;
use lang::types::LType;
use std::collections::HashMap;

pub type Graph = EGraph<Node, Facts>;

/// Things that operators name by number.
#[derive(Default, Clone)]
pub struct Tables {
    ltypes: Vec<LType>,
    ltype_numbers: HashMap<LType, u32>,
    sizes: Vec<Size>,
    size_numbers: HashMap<Size, u32>,
    pub sites: Vec<Site>,
    /// Types of linear variables and of opaque linear terms.
    pub lvars: HashMap<Var, LType>,
    pub lopaque: HashMap<u32, LType>,
}

impl Tables {
    pub fn ltype(&self, k: u32) -> &LType {
        &self.ltypes[k as usize]
    }
    pub fn size(&self, k: u32) -> &Size {
        &self.sizes[k as usize]
    }
    pub fn ltype_number(&mut self, ty: &LType) -> u32 {
        if let Some(k) = self.ltype_numbers.get(ty) {
            return *k;
        }
        let k = self.ltypes.len() as u32;
        self.ltypes.push(ty.clone());
        self.ltype_numbers.insert(ty.clone(), k);
        k
    }
    pub fn size_number(&mut self, n: &Size) -> u32 {
        if let Some(k) = self.size_numbers.get(n) {
            return *k;
        }
        let k = self.sizes.len() as u32;
        self.sizes.push(n.clone());
        self.size_numbers.insert(n.clone(), k);
        k
    }
}

#[derive(Default)]
pub struct Facts {
    pub tables: Tables,
    /// In which constants are folded.
    pub precision: Precision,
}

#[derive(Debug, Clone)]
pub struct Fact {
    /// The literal the class equals, and the operation on literals that shows it (None for a literal itself).
    pub lit: Option<(Lit, Option<PatternAst<Node>>)>,
    pub ltype: Option<LType>,
}

impl Analysis<Node> for Facts {
    type Data = Fact;

    fn make(graph: &mut Graph, node: &Node, _: Id) -> Fact {
        Fact { lit: literal(graph, node), ltype: ltype(graph, node) }
    }

    fn merge(&mut self, a: &mut Fact, b: Fact) -> DidMerge {
        let (mut left, mut right) = (false, false);
        match (&a.lit, b.lit) {
            (None, Some(l)) => {
                a.lit = Some(l);
                left = true;
            }
            (Some(_), None) => right = true,
            (None, None) | (Some(_), Some(_)) => {}
        }
        match (&a.ltype, b.ltype) {
            (None, Some(t)) => {
                a.ltype = Some(t);
                left = true;
            }
            (Some(_), None) => right = true,
            (None, None) | (Some(_), Some(_)) => {}
        }
        DidMerge(left, right)
    }

    fn modify(graph: &mut Graph, id: Id) {
        let Some((lit, Some(from))) = graph[id].data.lit.clone() else { return };
        let mut to = PatternAst::default();
        to.add(ENodeOrVar::ENode(Node::leaf(Op::lit(lit))));
        if graph.are_explanations_enabled() {
            graph.union_instantiations(&from, &to, &Default::default(), FOLD);
        } else {
            let leaf = graph.add(Node::leaf(Op::lit(lit)));
            graph.union(id, leaf);
        }
        graph[id].data.lit = Some((lit, None));
    }
}

/// The name under which constant folding appears in proofs.
pub const FOLD: &str = "fold";

fn literal(graph: &Graph, node: &Node) -> Option<(Lit, Option<PatternAst<Node>>)> {
    if let Some(l) = node.op.as_lit() {
        return Some((l, None));
    }
    let Op::Prim(p) = node.op else { return None };
    let args: Option<Vec<Lit>> =
        node.children.iter().map(|c| graph[*c].data.lit.as_ref().map(|l| l.0)).collect();
    let args = args?;
    let value = p.value(&args, graph.analysis.precision)?;
    // A NaN is left to the machine, which chooses its bits.
    if matches!(value, Lit::Real(x) if x.is_nan()) {
        return None;
    }
    let mut from = PatternAst::default();
    let children = args.iter().map(|l| from.add(ENodeOrVar::ENode(Node::leaf(Op::lit(*l))))).collect();
    from.add(ENodeOrVar::ENode(Node::new(node.op.clone(), children)));
    Some((value, Some(from)))
}

fn ltype(graph: &Graph, node: &Node) -> Option<LType> {
    let tables = &graph.analysis.tables;
    let child = |k: usize| graph[node.children[k]].data.ltype.clone();
    match &node.op {
        Op::LVar(v) => tables.lvars.get(v).cloned(),
        Op::LOpaque(k) => tables.lopaque.get(k).cloned(),
        // The type leaf carries itself.
        Op::LType(k) => Some(tables.ltype(*k).clone()),
        Op::Zero | Op::Plus => child(0),
        Op::Scale => Some(LType::Real),
        Op::LTuple => {
            let ts: Option<Vec<LType>> = (0..node.children.len()).map(child).collect();
            Some(LType::tuple(ts?))
        }
        Op::LProj(i) => match child(0)? {
            LType::Tuple(ts) => ts.get(*i).cloned(),
            _ => None,
        },
        Op::LIndex => match child(0)? {
            LType::Array(_, t) => Some((*t).clone()),
            _ => None,
        },
        Op::OneHot => {
            let n = graph[node.children[0]].nodes.iter().find_map(|n| match n.op {
                Op::Size(k) => Some(tables.size(k).clone()),
                _ => None,
            })?;
            Some(LType::array(n, child(2)?))
        }
        Op::Var(_) | Op::Real(_) | Op::Int(_) | Op::Bool(_) | Op::Prim(_) | Op::Tuple => None,
        Op::Proj(_) | Op::Index(_) | Op::Size(_) | Op::Opaque(_) => None,
    }
}
