//! A region as a list of operations on atoms, every one named, and the shape of its result. An operation that is already available
//! (in the region or around it) is not made again.

use super::Simplifier;
use super::node::{Op, Tree, to_tree};
use lang::core::{Binder, Term, Tm, make};
use lang::name::Var;
use lang::prim::Scalar;
use lang::size::Size;
use lang::target::{LBinder, Lin, LinTerm};
use lang::types::{LType, Type};
use lang::typing::{type_of, type_of_lin};
use lang::walk::{map_lin, map_term};
use std::sync::Arc;

/// What needs no let.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Atom {
    /// A variable, literal, size.
    Op(Op),
    /// 0̲ of the type with this number.
    Zero(u32),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Sort {
    C(Type),
    L(LType),
}

#[derive(Clone, Debug)]
pub enum Operation {
    Op(Op, Vec<Atom>),
    Copy(Atom),
}

/// let var = def
#[derive(Clone, Debug)]
pub struct Item {
    pub var: Var,
    pub sort: Sort,
    pub def: Operation,
    /// A check: it stays, in its place among the others.
    pub ordered: bool,
}

/// The result of a region: its tuples, and λ̲ of an entry point, stay as they are.
#[derive(Clone, Debug)]
pub enum Skeleton {
    Atom(Atom),
    Tuple(Vec<Skeleton>),
    LTuple(Vec<Skeleton>),
    Term(Tm),
}

/// A let to be written around a term.
pub struct Bound {
    pub var: Var,
    pub sort: Sort,
    pub def: Tree,
}

impl Bound {
    pub fn around_term(self, t: Tm) -> Tm {
        match (self.sort, self.def) {
            (Sort::C(ty), Tree::C(a)) => make::let_(Binder::new(self.var, ty), a, t),
            (sort, def) => panic!("compiler bug: let of sort {sort:?} with {def:?} around a Cartesian term"),
        }
    }
    pub fn around_lin(self, t: Lin) -> Lin {
        Arc::new(match (self.sort, self.def) {
            (Sort::C(ty), Tree::C(a)) => LinTerm::CLet(Binder::new(self.var, ty), a, t),
            (Sort::L(ty), Tree::L(s)) => LinTerm::Let(LBinder::new(self.var, ty), s, t),
            (sort, def) => panic!("compiler bug: let of sort {sort:?} with {def:?}"),
        })
    }
}

impl Simplifier<'_> {
    pub fn result(&mut self, t: &Tm, items: &mut Vec<Item>) -> Skeleton {
        let mut t = t;
        while let Term::Let(x, a, b) = &**t {
            let def = self.def(a, items);
            self.push(x.var.clone(), Sort::C(x.ty.clone()), def, items);
            t = b;
        }
        match &**t {
            Term::Tuple(ts) => Skeleton::Tuple(ts.iter().map(|t| self.result(t, items)).collect()),
            Term::LinLam(z, body) => Skeleton::Term(make::lin_lam(z.clone(), self.linear_region(body))),
            _ => Skeleton::Atom(self.atom(t, items)),
        }
    }

    pub fn linear_result(&mut self, t: &Lin, items: &mut Vec<Item>) -> Skeleton {
        let mut t = t;
        loop {
            match &**t {
                LinTerm::Let(z, s, b) => {
                    let def = self.linear_def(s, items);
                    self.push(z.var.clone(), Sort::L(z.ty.clone()), def, items);
                    t = b;
                }
                LinTerm::CLet(x, a, b) => {
                    let def = self.def(a, items);
                    self.push(x.var.clone(), Sort::C(x.ty.clone()), def, items);
                    t = b;
                }
                LinTerm::Tuple(ts) => {
                    return Skeleton::LTuple(ts.iter().map(|t| self.linear_result(t, items)).collect());
                }
                _ => return Skeleton::Atom(self.linear_atom(t, items)),
            }
        }
    }

    fn push(&mut self, var: Var, sort: Sort, def: Operation, items: &mut Vec<Item>) {
        let mut ordered = false;
        let def = match def {
            Operation::Op(op, args) => {
                ordered = matches!(op, Op::Opaque(k) if self.codes[k as usize].ordered);
                let key = (self.shared(&op), args.clone());
                match key {
                    (Some(op), args) if self.available.contains_key(&(op.clone(), args.clone())) => {
                        let v = self.available[&(op, args)].clone();
                        Operation::Copy(self.variable(&v))
                    }
                    (Some(shared), shared_args) => {
                        self.available.insert((shared, shared_args), var.clone());
                        Operation::Op(op, args)
                    }
                    (None, _) => Operation::Op(op, args),
                }
            }
            copy @ Operation::Copy(_) => copy,
        };
        match def {
            Operation::Copy(atom) if !self.pinned.contains(&var) => {
                self.resolved.insert(var, atom);
            }
            def => items.push(Item { var, sort, def, ordered }),
        }
    }

    /// The operator as the table of available operations knows it. Ints stay where they are used: indices should be seen.
    fn shared(&self, op: &Op) -> Option<Op> {
        match op {
            Op::Prim(p) if p.row().result != Scalar::Int => Some(op.clone()),
            Op::Index(_) => Some(Op::Index(0)),
            Op::Proj(_) => Some(op.clone()),
            _ => None,
        }
    }

    fn variable(&self, v: &Var) -> Atom {
        if let Some(a) = self.resolved.get(v) {
            return match a {
                Atom::Op(Op::Var(u) | Op::LVar(u)) if u != v => self.variable(u),
                _ => a.clone(),
            };
        }
        Atom::Op(if self.scope.lins.contains_key(v) { Op::LVar(v.clone()) } else { Op::Var(v.clone()) })
    }

    /// An atom in the light of what is known by now.
    pub fn known(&self, a: &Atom) -> Atom {
        match a {
            Atom::Op(Op::Var(v) | Op::LVar(v)) => self.variable(v),
            Atom::Op(_) | Atom::Zero(_) => a.clone(),
        }
    }

    pub fn atom_tree(&self, a: &Atom) -> Tree {
        match a {
            Atom::Op(op) => to_tree(op, vec![], &self.tables),
            Atom::Zero(k) => Tree::L(Arc::new(LinTerm::Zero(self.tables.ltype(*k).clone()))),
        }
    }

    /// The sort of an operation, and its variable's type noted.
    pub fn note_sort(&mut self, var: &Var, tree: &Tree) -> Sort {
        match tree {
            Tree::C(t) => {
                let ty = type_of(t, &mut self.scope, &self.program);
                self.scope.bind(var, &ty);
                Sort::C(ty)
            }
            Tree::L(t) => {
                let ty = type_of_lin(t, &mut self.scope, &self.program);
                self.scope.bind_lin(var, &ty);
                Sort::L(ty)
            }
            Tree::Type(_) | Tree::Size(_) => panic!("compiler bug: {tree:?} has no value"),
        }
    }

    fn name_it(&mut self, def: Operation, items: &mut Vec<Item>) -> Atom {
        match def {
            Operation::Copy(a) => a,
            Operation::Op(op, args) => {
                let var = self.supply.fresh("t");
                let tree = self.operation_tree(&op, &args, false);
                let sort = self.note_sort(&var, &tree);
                self.push(var.clone(), sort, Operation::Op(op, args), items);
                self.variable(&var)
            }
        }
    }

    fn atom(&mut self, t: &Tm, items: &mut Vec<Item>) -> Atom {
        let def = self.def(t, items);
        self.name_it(def, items)
    }

    fn linear_atom(&mut self, t: &Lin, items: &mut Vec<Item>) -> Atom {
        let def = self.linear_def(t, items);
        self.name_it(def, items)
    }

    fn atoms(&mut self, ts: &[Tm], items: &mut Vec<Item>) -> Vec<Atom> {
        ts.iter().map(|t| self.atom(t, items)).collect()
    }

    /// The outermost operation of a term, its operands named.
    fn def(&mut self, t: &Tm, items: &mut Vec<Item>) -> Operation {
        let mut t = t;
        while let Term::Let(x, a, b) = &**t {
            let def = self.def(a, items);
            self.push(x.var.clone(), Sort::C(x.ty.clone()), def, items);
            t = b;
        }
        match &**t {
            Term::Var(v) => Operation::Copy(self.variable(v)),
            Term::Lit(l) => Operation::Copy(Atom::Op(Op::lit(*l))),
            Term::Tuple(ts) => Operation::Op(Op::Tuple, self.atoms(ts, items)),
            Term::Proj(a, i) => Operation::Op(Op::Proj(*i), vec![self.atom(a, items)]),
            Term::Prim(p, ts) => Operation::Op(Op::Prim(*p), self.atoms(ts, items)),
            Term::Index(a, i, site) => {
                let args = vec![self.atom(a, items), self.atom(i, items)];
                self.tables.sites.push(site.clone());
                Operation::Op(Op::Index(self.tables.sites.len() as u32 - 1), args)
            }
            Term::Let(..) => unreachable!("walked above"),
            Term::Inject(..) | Term::Case(..) | Term::Lam(..) | Term::App(..) | Term::If(..) => {
                self.opaque(t)
            }
            Term::Update { .. } => self.opaque(t),
            Term::Build { .. } | Term::Array(..) | Term::Sum { .. } | Term::Extremum { .. } => self.opaque(t),
            Term::Loop { .. } | Term::While { .. } | Term::Argsort(_) | Term::Check { .. } => self.opaque(t),
            Term::Call { .. } | Term::Diff { .. } | Term::Detach(_) | Term::LinApp(..) => self.opaque(t),
            Term::Unread(_) | Term::Zero(_) | Term::Box(_) | Term::Unbox(..) => self.opaque(t),
            Term::LinLam(z, body) => {
                let body = self.linear_region(body);
                self.code(Tree::C(make::lin_lam(z.clone(), body)))
            }
        }
    }

    fn linear_def(&mut self, t: &Lin, items: &mut Vec<Item>) -> Operation {
        match &**t {
            LinTerm::Var(v) => Operation::Copy(self.variable(v)),
            LinTerm::Zero(ty) => Operation::Copy(Atom::Zero(self.tables.ltype_number(ty))),
            LinTerm::Plus(a, b) => {
                let args = vec![self.linear_atom(a, items), self.linear_atom(b, items)];
                Operation::Op(Op::Plus, args)
            }
            LinTerm::Tuple(ts) => {
                Operation::Op(Op::LTuple, ts.iter().map(|t| self.linear_atom(t, items)).collect())
            }
            LinTerm::Proj(a, i) => Operation::Op(Op::LProj(*i), vec![self.linear_atom(a, items)]),
            LinTerm::Scale(a, s) => {
                let args = vec![self.atom(a, items), self.linear_atom(s, items)];
                Operation::Op(Op::Scale, args)
            }
            LinTerm::Index(a, i) => {
                let args = vec![self.linear_atom(a, items), self.atom(i, items)];
                Operation::Op(Op::LIndex, args)
            }
            LinTerm::OneHot { bound, index, term } => {
                let n = Atom::Op(Op::Size(self.tables.size_number(bound)));
                let args = vec![n, self.atom(index, items), self.linear_atom(term, items)];
                Operation::Op(Op::OneHot, args)
            }
            LinTerm::Let(z, s, b) => {
                let def = self.linear_def(s, items);
                self.push(z.var.clone(), Sort::L(z.ty.clone()), def, items);
                self.linear_def(b, items)
            }
            LinTerm::CLet(x, a, b) => {
                let def = self.def(a, items);
                self.push(x.var.clone(), Sort::C(x.ty.clone()), def, items);
                self.linear_def(b, items)
            }
            LinTerm::Build { .. } | LinTerm::Sum { .. } => {
                let ty = type_of_lin(t, &mut self.scope, &self.program);
                let t = map_lin(self, t);
                match &*t {
                    // build n (i. 0̲) = 0̲ and Σ_i 0̲ = 0̲
                    LinTerm::Build { body, .. } | LinTerm::Sum { body, .. }
                        if matches!(&**body, LinTerm::Zero(_)) =>
                    {
                        Operation::Copy(Atom::Zero(self.tables.ltype_number(&ty)))
                    }
                    LinTerm::Sum { index, bound, body } => {
                        let Some(builds) = self.builds(
                            index,
                            bound,
                            &super::tidy::tidy_lin(
                                body,
                                &self.pinned,
                                self.options.level == crate::rules::Level::Strict,
                            ),
                        ) else {
                            return self.code(Tree::L(t));
                        };
                        let parts: Vec<Operation> =
                            builds.into_iter().map(|b| self.code(Tree::L(b))).collect();
                        match <[Operation; 1]>::try_from(parts) {
                            Ok([one]) if !matches!(ty, LType::Tuple(_)) => one,
                            Ok([one]) => Operation::Op(Op::LTuple, vec![self.name_it(one, items)]),
                            Err(parts) => {
                                let parts = parts.into_iter().map(|p| self.name_it(p, items)).collect();
                                Operation::Op(Op::LTuple, parts)
                            }
                        }
                    }
                    _ => self.code(Tree::L(t)),
                }
            }
            LinTerm::Coproj { .. } | LinTerm::EnvProj { .. } | LinTerm::Power(..) | LinTerm::PowerApp(..) => {
                self.linear_opaque(t)
            }
            // The map that a call gives is applied where it is called.
            LinTerm::App(l, s) if matches!(**l, Term::Call { .. }) => {
                let (l, s) = (map_term(self, l), self.linear_region(s));
                self.code(Tree::L(lang::target::make::app(l, s)))
            }
            LinTerm::Tensor(..) | LinTerm::TensorElim { .. } | LinTerm::App(..) | LinTerm::If(..) => {
                self.linear_opaque(t)
            }
            LinTerm::Case(..) | LinTerm::Inject(..) | LinTerm::SumElim(..) => self.linear_opaque(t),
            LinTerm::FromInject(..) | LinTerm::Loop { .. } => self.linear_opaque(t),
        }
    }

    /// Σ_i ⟨t, s⟩ = ⟨Σ_i t, Σ_i s⟩ and Σ_{i<n} onehot_i(t) = build n (i. t), where the components share no work.
    fn builds(&mut self, index: &Var, bound: &Size, body: &Lin) -> Option<Vec<Lin>> {
        let parts = match &**body {
            LinTerm::Tuple(ts) => &ts[..],
            _ => std::slice::from_ref(body),
        };
        let element = |t: &Lin| match &**t {
            LinTerm::OneHot { bound: b, index: i, term } if b == bound => {
                matches!(&**i, Term::Var(v) if v == index).then(|| term.clone())
            }
            _ => None,
        };
        let elements: Vec<Lin> = parts.iter().map(element).collect::<Option<_>>()?;
        let build = |t| lang::target::make::build(index.clone(), bound.clone(), t);
        let mut builds = elements.into_iter().map(build);
        let mut out: Vec<Lin> = builds.next().into_iter().collect();
        for b in builds {
            let b = lang::walk::refresh_lin(&b, &mut self.supply);
            self.note_binders(&Tree::L(b.clone()));
            out.push(b);
        }
        Some(out)
    }

    fn opaque(&mut self, t: &Tm) -> Operation {
        let t = map_term(self, t);
        self.code(Tree::C(t))
    }

    fn linear_opaque(&mut self, t: &Lin) -> Operation {
        let t = map_lin(self, t);
        self.code(Tree::L(t))
    }

    /// The result of a region, with what its variables have become.
    pub fn written(&mut self, s: Skeleton) -> Tree {
        match s {
            Skeleton::Atom(a) => self.atom_tree(&self.known(&a)),
            Skeleton::Tuple(ss) => {
                Tree::C(make::tuple(ss.into_iter().map(|s| self.written(s).term()).collect::<Vec<_>>()))
            }
            Skeleton::LTuple(ss) => Tree::L(lang::target::make::tuple(
                ss.into_iter().map(|s| self.written(s).lin()).collect::<Vec<_>>(),
            )),
            Skeleton::Term(t) => self.renamed(Tree::C(t)),
        }
    }
}
