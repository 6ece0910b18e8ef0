//! Simplification of definitions in normal form (Core and Target) by equality saturation.
//!
//! Every straight-line region is named operation by operation ([`anf`]), cut into pieces of bounded length, and each piece becomes an
//! e-graph of Cartesian and linear terms together ([`node`], [`facts`]) that the rule rows ([`crate::rules`]) saturate within limits of nodes and
//! iterations. All its results are extracted together, by the cost of what they share ([`extract`]), and bound again in an order in which
//! nothing that can fail moves above a check ([`region`]). At the end single-use lets are written where they are used ([`tidy`]).
//!
//! Binders and branches are opaque operators on their free variables; their bodies are regions of their own, simplified first.

mod anf;
mod canon;
mod explain;
mod extract;
pub mod facts;
pub mod node;
mod region;
#[cfg(test)]
mod tests;
mod tidy;

pub use crate::rules::Level;
pub use explain::{Proof, Step, explain};

use crate::{Normal, rules};
use anf::{Atom, Item, Skeleton};
use canon::Code;
use egg::Rewrite;
use facts::{Facts, Tables};
use lang::core::{Def, Program, Term, Tm};
use lang::name::{Supply, Var};
use lang::precision::Precision;
use lang::size::Size;
use lang::target::{LBinder, Lin, LinTerm};
use lang::types::{LType, Type};
use lang::typing::Scope;
use lang::walk::{Mapper, map_lin, map_term};
use node::{Node, Op};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Which rules, and how far. Limits count nodes and iterations, never time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    pub level: Level,
    /// A region is cut into pieces of at most this many operations, so that the work is proportional to the program.
    pub piece: usize,
    /// E-nodes of a piece: this many, and `nodes_per_operation` for each operation.
    pub nodes: usize,
    pub nodes_per_operation: usize,
    pub iterations: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { level: Level::Default, piece: 100, nodes: 300, nodes_per_operation: 12, iterations: 8 }
    }
}

/// An equal entry point, and equal definitions that it calls, of no higher cost.
pub fn simplify(normal: &Normal, options: &Options) -> Normal {
    let program = normal.callees();
    let simple = |def: &Def| definition(def, &program, options, normal.precision);
    let callees = normal.callees.iter();
    let callees = callees.map(|(name, def)| (name.clone(), Arc::new(simple(def))));
    Normal { entry: simple(&normal.entry), callees: callees.collect(), precision: normal.precision }
}

/// An equal definition of no higher cost; the program has what it calls.
pub fn definition(def: &Def, program: &Program, options: &Options, precision: Precision) -> Def {
    lang::big_stack::run(|| Simplifier::new(def, program, options, precision).definition(def))
}

struct Simplifier<'o> {
    options: &'o Options,
    precision: Precision,
    supply: Supply,
    scope: Scope,
    program: Program,
    tables: Tables,
    codes: Vec<Code>,
    code_numbers: canon::Numbers,
    /// Variables that sizes mention: they keep their let and their name.
    pinned: HashSet<Var>,
    /// What a variable is known to equal: another variable, a literal, 0̲.
    resolved: HashMap<Var, Atom>,
    /// Operations already computed where we are (in this region or around it), and the variable that holds each.
    available: im::HashMap<(Op, Vec<Atom>), Var>,
    /// Rules, those for tuples by length; length 0 for the others.
    rules: HashMap<usize, Arc<[Rewrite<Node, Facts>]>>,
    /// E-nodes made so far.
    work: usize,
    /// Proofs, where they were asked for.
    proofs: Option<Vec<Proof>>,
}

impl Simplifier<'_> {
    fn new<'o>(def: &Def, program: &Program, options: &'o Options, precision: Precision) -> Simplifier<'o> {
        let mut binders = Binders::default();
        for n in &def.sizes {
            binders.scope.bind(n, &Type::Int);
        }
        for p in &def.params {
            binders.scope.bind(&p.var, &p.ty);
            binders.ty(&p.ty);
        }
        binders.ty(&def.result);
        binders.term(&def.body);
        Simplifier {
            options,
            precision,
            supply: def.supply.clone(),
            scope: binders.scope,
            program: program.clone(),
            tables: Tables::default(),
            codes: vec![],
            code_numbers: HashMap::new(),
            pinned: binders.pinned,
            resolved: HashMap::new(),
            available: im::HashMap::new(),
            rules: HashMap::new(),
            work: 0,
            proofs: None,
        }
    }

    fn definition(&mut self, def: &Def) -> Def {
        let body = self.region(&crate::prune::prune(&def.body));
        let body = tidy::tidy(&crate::prune::prune(&body), &self.pinned, self.options.level == Level::Strict);
        Def { body, supply: self.supply.clone(), ..def.clone() }
    }

    /// A Cartesian term as a region of its own.
    fn region(&mut self, t: &Tm) -> Tm {
        let (items, skeleton) = self.named(|s, items| s.result(t, items));
        let lets = self.pieces(&items, &skeleton);
        let result = self.written(skeleton).term();
        lets.into_iter().rev().fold(result, |t, l| l.around_term(t))
    }

    /// A linear term as a region of its own.
    fn linear_region(&mut self, t: &Lin) -> Lin {
        let (items, skeleton) = self.named(|s, items| s.linear_result(t, items));
        let lets = self.pieces(&items, &skeleton);
        let result = self.written(skeleton).lin();
        lets.into_iter().rev().fold(result, |t, l| l.around_lin(t))
    }

    /// The region's operations; what it computes is no longer available after it.
    fn named(&mut self, f: impl FnOnce(&mut Self, &mut Vec<Item>) -> Skeleton) -> (Vec<Item>, Skeleton) {
        let around = self.available.clone();
        let mut items = vec![];
        let skeleton = f(self, &mut items);
        self.available = around;
        (items, skeleton)
    }

    /// The rules that apply to tuples of these lengths (0: all others) are made.
    fn make_rules(&mut self, lengths: &BTreeSet<usize>) {
        let level = self.options.level;
        for k in lengths.iter().copied().chain([0]) {
            self.rules.entry(k).or_insert_with(|| rules::for_length(level, k));
        }
    }
}

/// The bodies of binders and branches, and their operands, are regions.
impl Mapper for Simplifier<'_> {
    fn term(&mut self, t: &Tm) -> Tm {
        self.region(t)
    }
    fn lin(&mut self, t: &Lin) -> Lin {
        self.linear_region(t)
    }
}

/// The types of all binders, and the variables in sizes.
#[derive(Default)]
struct Binders {
    scope: Scope,
    pinned: HashSet<Var>,
}

impl Binders {
    fn linear(&mut self, z: &LBinder) {
        self.scope.bind_lin(&z.var, &z.ty);
    }
}

impl Mapper for Binders {
    fn size(&mut self, n: &Size) -> Size {
        self.pinned.extend(n.vars().cloned());
        n.clone()
    }
    fn ty(&mut self, t: &Type) -> Type {
        match t {
            Type::Real | Type::Int | Type::Bool => t.clone(),
            _ => lang::walk::map_type(self, t),
        }
    }
    fn lty(&mut self, t: &LType) -> LType {
        match t {
            LType::Real => t.clone(),
            _ => lang::walk::map_ltype(self, t),
        }
    }
    fn term(&mut self, t: &Tm) -> Tm {
        match &**t {
            // A long chain is walked, not descended.
            Term::Let(..) => {
                let mut t = t;
                while let Term::Let(x, a, b) = &**t {
                    self.scope.bind(&x.var, &x.ty);
                    self.ty(&x.ty);
                    self.term(a);
                    t = b;
                }
                self.term(t)
            }
            Term::Lam(x, _) | Term::Loop { state: x, .. } | Term::While { state: x, .. } => {
                self.scope.bind(&x.var, &x.ty);
                if let Term::Loop { index, .. } = &**t {
                    self.scope.bind(index, &Type::Int);
                }
                map_term(self, t)
            }
            Term::Case(_, arms) => {
                for (x, _) in arms {
                    self.scope.bind(&x.var, &x.ty);
                }
                map_term(self, t)
            }
            Term::Build { index, .. } | Term::Sum { index, .. } | Term::Extremum { index, .. } => {
                self.scope.bind(index, &Type::Int);
                map_term(self, t)
            }
            Term::LinLam(z, _) => {
                self.linear(z);
                map_term(self, t)
            }
            Term::Var(_) | Term::Lit(_) | Term::Tuple(_) | Term::Proj(..) | Term::Inject(..) => {
                map_term(self, t)
            }
            Term::App(..) | Term::Prim(..) | Term::If(..) | Term::Index(..) | Term::Array(..) => {
                map_term(self, t)
            }
            Term::Update { .. }
            | Term::Argsort(_)
            | Term::Check { .. }
            | Term::Call { .. }
            | Term::Diff { .. } => map_term(self, t),
            Term::Detach(_) | Term::LinApp(..) | Term::Unread(_) | Term::Zero(_) => map_term(self, t),
            Term::Box(_) | Term::Unbox(..) => map_term(self, t),
        }
    }
    fn lin(&mut self, t: &Lin) -> Lin {
        match &**t {
            LinTerm::Let(z, ..) => self.linear(z),
            LinTerm::CLet(x, ..) | LinTerm::Power(x, _) => self.scope.bind(&x.var, &x.ty),
            LinTerm::TensorElim { var, lin, .. } => {
                self.scope.bind(&var.var, &var.ty);
                self.linear(lin);
            }
            LinTerm::Case(_, arms) => arms.iter().for_each(|(x, _)| self.scope.bind(&x.var, &x.ty)),
            LinTerm::SumElim(_, arms) => arms.iter().for_each(|(z, _)| self.linear(z)),
            LinTerm::Build { index, .. } | LinTerm::Sum { index, .. } => self.scope.bind(index, &Type::Int),
            LinTerm::Loop { state, index, .. } => {
                self.linear(state);
                self.scope.bind(index, &Type::Int);
            }
            LinTerm::Var(_) | LinTerm::Zero(_) | LinTerm::Plus(..) | LinTerm::Tuple(_) => {}
            LinTerm::Proj(..) | LinTerm::Coproj { .. } | LinTerm::EnvProj { .. } | LinTerm::PowerApp(..) => {}
            LinTerm::Tensor(..) | LinTerm::Scale(..) | LinTerm::App(..) | LinTerm::If(..) => {}
            LinTerm::Inject(..) | LinTerm::FromInject(..) | LinTerm::Index(..) | LinTerm::OneHot { .. } => {}
        }
        map_lin(self, t)
    }
}
