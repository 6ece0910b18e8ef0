//! Every row is applied to its own left side, by the e-graph and by hand, and both sides are evaluated on random operands: bitwise rows on
//! ±0, ±∞, NaN and subnormals of both precisions, the others on exact rationals where these have the value.

use super::*;
use crate::simplify::facts::Tables;
use crate::simplify::node::{Tree, to_tree};
use egg::{EGraph, RecExpr, Runner};
use lang::core::{Binder, Program};
use lang::eval::{LinValue, Number, Value};
use lang::name::{Supply, Var};
use lang::precision::Precision;
use lang::size::Size;
use lang::target::LBinder;
use lang::types::Type;
use num_rational::BigRational;
use std::collections::{BTreeSet, HashMap};

/// A small deterministic generator.
struct Random(u64);

impl Random {
    fn next(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }
    fn real(&mut self, e: Exactness) -> f64 {
        const HARD: [f64; 28] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            5e-324,
            -5e-324,
            1e-310,
            f64::MAX,
            f64::MIN_POSITIVE,
            0.1,
            3.0,
            -2.5,
            2.0,
            -0.5,
            1e300,
            16.0,
            1e-300,
            // The same of singles.
            f32::MAX as f64,
            f32::MIN_POSITIVE as f64,
            1e-45,
            -1e-40,
            1e38,
            1e-38,
            // Powers of two, one of whose reciprocals is subnormal.
            1.7014118346046923e38,
            8.507059173023462e37,
        ];
        let quarters = (self.next(33) as f64 - 16.0) / 4.0;
        match e {
            Exactness::Bitwise => match self.next(4) {
                0 => quarters / 3.0,
                _ => HARD[self.next(HARD.len())],
            },
            Exactness::Reassociation | Exactness::Real => quarters,
            Exactness::RealAwayFrom(_) => 0.25 + quarters.abs(),
        }
    }
    fn linear(&mut self, ty: &LType, e: Exactness) -> LinValue<f64> {
        match ty {
            LType::Real if self.next(6) == 0 => LinValue::Zero,
            LType::Real => LinValue::Real(self.real(e)),
            LType::Tuple(ts) => LinValue::tuple(ts.iter().map(|t| self.linear(t, e)).collect::<Vec<_>>()),
            LType::Array(_, t) => LinValue::array((0..3).map(|_| self.linear(t, e)).collect::<Vec<_>>()),
            other => panic!("no operand of type {other:?}"),
        }
    }
}

/// The types of linear metavariables and type metavariables, from where they stand.
fn assign(p: &PatternAst<Node>, id: Id, ty: &LType, length: usize, out: &mut HashMap<egg::Var, LType>) {
    let node = match &p[id] {
        ENodeOrVar::Var(v) => {
            out.insert(*v, ty.clone());
            return;
        }
        ENodeOrVar::ENode(n) => n,
    };
    let mut child = |k: usize, ty: &LType| assign(p, node.children[k], ty, length, out);
    match &node.op {
        Op::Plus => [0, 1].into_iter().for_each(|k| child(k, ty)),
        Op::LTuple => (0..node.children.len()).for_each(|k| child(k, &LType::Real)),
        Op::LProj(_) => child(0, &tuple(length)),
        Op::Scale => child(1, &LType::Real),
        Op::LIndex => child(0, &array()),
        Op::OneHot => child(2, &LType::Real),
        Op::Zero => child(0, ty),
        _ => {}
    }
}

fn tuple(k: usize) -> LType {
    LType::tuple((0..k).map(|_| LType::Real))
}

fn array() -> LType {
    LType::array(Size::constant(3), LType::Real)
}

fn shape(p: &PatternAst<Node>, id: Id) -> Option<LType> {
    let ENodeOrVar::ENode(n) = &p[id] else { return None };
    match &n.op {
        Op::Plus => shape(p, n.children[0]).or(shape(p, n.children[1])),
        Op::LTuple => Some(tuple(n.children.len())),
        Op::OneHot => Some(array()),
        _ => None,
    }
}

/// What a metavariable is in one draw: a leaf of the e-graph, and the value of its variable.
struct Operands {
    precision: Precision,
    tables: Tables,
    leaves: HashMap<egg::Var, Op>,
    vars: Vec<(Binder, Value<f64>)>,
    lins: Vec<(LBinder, LinValue<f64>)>,
}

fn draw(
    left: &PatternAst<Node>,
    length: usize,
    literal: bool,
    precision: Precision,
    e: Exactness,
    r: &mut Random,
) -> Operands {
    let mut supply = Supply::default();
    let mut types = HashMap::new();
    let root = Id::from(left.len() - 1);
    assign(left, root, &shape(left, root).unwrap_or(LType::Real), length, &mut types);
    let mut o =
        Operands { precision, tables: Tables::default(), leaves: HashMap::new(), vars: vec![], lins: vec![] };
    for n in left.iter() {
        let ENodeOrVar::Var(v) = n else { continue };
        if o.leaves.contains_key(v) {
            continue;
        }
        let name = v.to_string();
        let x: Var = supply.fresh(&name[1..]);
        let scalar = |l: Lit, ty: Type, o: &mut Operands| {
            if literal {
                return Op::lit(l);
            }
            let value = match l {
                Lit::Real(x) => Value::Real(x),
                Lit::Int(k) => Value::Int(k),
                Lit::Bool(b) => Value::Bool(b),
            };
            o.vars.push((Binder::new(x.clone(), ty), value));
            Op::Var(x.clone())
        };
        let leaf = match &name[1..2] {
            "x" | "y" | "z" | "a" | "b" | "c" => {
                scalar(Lit::Real(precision.round(r.real(e))), Type::Real, &mut o)
            }
            "k" | "m" | "n" => {
                let k = [0, 1, -1, 7, -12, i64::MAX, i64::MIN, 1 << 40][r.next(8)];
                scalar(Lit::Int(k), Type::Int, &mut o)
            }
            "i" | "j" => scalar(Lit::Int(r.next(3) as i64), Type::Int, &mut o),
            "p" | "q" | "r" => scalar(Lit::Bool(r.next(2) == 0), Type::Bool, &mut o),
            "N" => Op::Size(o.tables.size_number(&Size::constant(3))),
            "T" | "A" | "P" => {
                // A type that only a projection or index constrains.
                let ty = types[v].clone();
                Op::LType(o.tables.ltype_number(&ty))
            }
            "t" | "s" | "u" | "v" | "w" => {
                let ty = types[v].clone();
                o.tables.lvars.insert(x.clone(), ty.clone());
                let value = r.linear(&ty, e);
                o.lins.push((LBinder::new(x.clone(), ty), value));
                Op::LVar(x)
            }
            other => panic!("what does ?{other} stand for?"),
        };
        o.leaves.insert(*v, leaf);
    }
    o
}

fn instance(p: &PatternAst<Node>, leaves: &HashMap<egg::Var, Op>) -> RecExpr<Node> {
    let mut out = RecExpr::default();
    for n in p.iter() {
        out.add(match n {
            ENodeOrVar::ENode(n) => n.clone(),
            ENodeOrVar::Var(v) => Node::leaf(leaves[v].clone()),
        });
    }
    out
}

fn tree(e: &RecExpr<Node>, id: Id, tables: &Tables) -> Tree {
    let n = &e[id];
    let children = n.children.iter().map(|c| tree(e, *c, tables)).collect();
    to_tree(&n.op, children, tables)
}

/// The value of an instance, over any numbers; None where there is no exact one.
enum Result<N> {
    C(Value<N>),
    L(LinValue<N>),
}

fn value<N: Number>(t: &Tree, o: &Operands) -> Option<Result<N>> {
    let number = |x: &f64| N::of(*x);
    let vars: Option<Vec<_>> = o.vars.iter().map(|(x, v)| Some((x.clone(), v.convert(&number)?))).collect();
    let lins: Option<Vec<_>> = o.lins.iter().map(|(z, v)| Some((z.clone(), converted(v)?))).collect();
    let program = Program::default();
    match t {
        Tree::C(t) => Some(Result::C(lang::eval::term(&program, t, &vars?).ok()?.0)),
        Tree::L(t) => Some(Result::L(lang::eval::linear(&program, t, &vars?, &lins?).ok()?.0)),
        Tree::Type(_) | Tree::Size(_) => panic!("a rule about types"),
    }
}

fn converted<N: Number>(v: &LinValue<f64>) -> Option<LinValue<N>> {
    Some(match v {
        LinValue::Zero => LinValue::Zero,
        LinValue::Real(x) => LinValue::Real(N::of(*x)?),
        LinValue::Tuple(vs) => LinValue::Tuple(vs.iter().map(converted).collect::<Option<_>>()?),
        LinValue::Array(vs) => LinValue::Array(vs.iter().map(converted).collect::<Option<_>>()?),
        other => panic!("{other:?} was not drawn"),
    })
}

fn equal<N: Number>(a: &Result<N>, b: &Result<N>, eq: &dyn Fn(&N, &N) -> bool, zero_is_0: bool) -> bool {
    match (a, b) {
        (Result::C(a), Result::C(b)) => a.equal_by(b, eq),
        (Result::L(a), Result::L(b)) => equal_linear(a, b, eq, zero_is_0),
        _ => false,
    }
}

fn equal_linear<N: Number>(
    a: &LinValue<N>,
    b: &LinValue<N>,
    eq: &dyn Fn(&N, &N) -> bool,
    zero_is_0: bool,
) -> bool {
    match (a, b) {
        _ if a.is_zero() && b.is_zero() => true,
        (LinValue::Real(a), LinValue::Real(b)) => eq(a, b),
        (LinValue::Real(a), LinValue::Zero) | (LinValue::Zero, LinValue::Real(a)) => {
            zero_is_0 && eq(a, &N::zero())
        }
        (LinValue::Tuple(a), LinValue::Tuple(b)) | (LinValue::Array(a), LinValue::Array(b)) => {
            a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| equal_linear(a, b, eq, zero_is_0))
        }
        (LinValue::Tuple(a) | LinValue::Array(a), LinValue::Zero)
        | (LinValue::Zero, LinValue::Tuple(a) | LinValue::Array(a)) => {
            a.iter().all(|a| equal_linear(a, &LinValue::Zero, eq, zero_is_0))
        }
        _ => false,
    }
}

fn instances(row: &Row) -> Vec<((String, String), usize, usize)> {
    match row.form {
        Form::One(l, r) => vec![((l.into(), r.into()), 0, 0)],
        Form::Tuple(f) => (1..=3).map(|k| (f(k), k, 0)).collect(),
        Form::Component(f) => (1..=3).flat_map(|k| (0..k).map(move |i| (f(k, i), k, i))).collect(),
    }
}

#[test]
fn every_row_holds_and_applies() {
    lang::big_stack::run(all_rows)
}

fn all_rows() {
    let mut r = Random(7);
    let mut unused = vec![];
    for row in all() {
        for ((l, right), length, component) in instances(row) {
            let left: PatternAst<Node> = l.parse().unwrap();
            let right: PatternAst<Node> = right.parse().unwrap();
            let mut applied = 0;
            for round in 0..400 {
                let precision = if round % 4 < 2 { Precision::Double } else { Precision::Single };
                let o = draw(&left, length, round % 2 == 1, precision, row.exactness, &mut r);
                let Some((before, after, tables)) = sides(row, &left, &right, length, component, &o) else {
                    continue;
                };
                if applied == 0 {
                    saturates(row, length, &before, &after, &tables, precision);
                }
                applied += 1;
                let root = |e: &RecExpr<Node>| tree(e, Id::from(e.len() - 1), &tables);
                match precision {
                    Precision::Double => holds::<f64>(row, &root(&before), &root(&after), &o, 1e-12),
                    Precision::Single => holds::<f32>(row, &root(&before), &root(&after), &o, 1e-5),
                }
            }
            if applied < 5 {
                unused.push(l);
            }
        }
    }
    assert!(unused.is_empty(), "rows that no operands exercise: {unused:?}");
}

/// Both sides on these operands, where the side condition holds.
fn sides(
    row: &Row,
    left: &PatternAst<Node>,
    right: &PatternAst<Node>,
    length: usize,
    component: usize,
    o: &Operands,
) -> Option<(RecExpr<Node>, RecExpr<Node>, Tables)> {
    let mut graph: Graph = EGraph::new(Facts { tables: o.tables.clone(), precision: o.precision });
    let mut subst = Subst::with_capacity(4);
    for (v, op) in &o.leaves {
        let id = graph.add(Node::leaf(op.clone()));
        subst.insert(*v, id);
    }
    let mut m = Match { graph: &mut graph, subst: &subst, length, component };
    let right = match row.side {
        Side::Always => right.clone(),
        Side::When(_, holds) => holds(&m).then(|| right.clone())?,
        Side::Let(var, _, compute) => filled(right, var, &compute(&mut m)?),
    };
    Some((instance(left, &o.leaves), instance(&right, &o.leaves), graph.analysis.tables))
}

/// The e-graph finds the rule's two sides equal, with a proof that checks.
fn saturates(
    row: &'static Row,
    length: usize,
    before: &RecExpr<Node>,
    after: &RecExpr<Node>,
    tables: &Tables,
    precision: Precision,
) {
    let rules = rewrites(row, length);
    let mut graph: Graph =
        EGraph::new(Facts { tables: tables.clone(), precision }).with_explanations_enabled();
    graph.add_expr(before);
    let mut runner =
        Runner::<Node, Facts, ()>::new(Facts::default()).with_egraph(graph).with_iter_limit(2).run(&rules);
    let g = &mut runner.egraph;
    let (a, b) = (g.add_expr(before), g.add_expr(after));
    assert_eq!(g.find(a), g.find(b), "{}: {before} is not found equal to {after}", row.name);
    g.explain_equivalence(before, after).check_proof(&rules);
}

fn holds<N: Number>(row: &Row, before: &Tree, after: &Tree, o: &Operands, tolerance: f64) {
    let (Some(a), Some(b)) = (value::<N>(before, o), value::<N>(after, o)) else {
        panic!("{}: {before:?} or {after:?} has no value", row.name)
    };
    let shown = || format!("{}: {before:?} and {after:?} at {:?} {:?}", row.name, o.vars, o.lins);
    // A double has every single, the sign of a zero among it.
    let bits = |a: &N, b: &N| a.to_f64().to_bits() == b.to_f64().to_bits() || (a.is_nan() && b.is_nan());
    let close = |a: &N, b: &N| a.close(b, tolerance, tolerance);
    // What may turn a number into another, or into none, is tested on the operands where it may not.
    match row.exactness {
        Exactness::Bitwise => assert!(equal(&a, &b, &bits, false), "{}", shown()),
        Exactness::Reassociation => assert!(equal(&a, &b, &close, false), "{}", shown()),
        Exactness::Real | Exactness::RealAwayFrom(_) => assert!(equal(&a, &b, &close, true), "{}", shown()),
    }
    // A literal computed with rounding is no rational of the law.
    let rounded = matches!(row.side, Side::Let(..)) && row.exactness == Exactness::Real;
    if row.exactness != Exactness::Bitwise
        && !rounded
        && let (Some(a), Some(b)) = (value::<BigRational>(before, o), value::<BigRational>(after, o))
    {
        assert!(equal(&a, &b, &|a, b| a == b, true), "exactly: {}", shown());
    }
}

#[test]
fn rows_are_named_once_and_say_their_law() {
    let mut names = BTreeSet::new();
    for row in all() {
        assert!(names.insert(row.name), "two rows are called {}", row.name);
        assert!(!row.law.is_empty() && !row.name.contains('/'), "{}", row.name);
    }
}

/// What must never be applied without being asked for.
#[test]
fn levels() {
    let at = |level: Level| -> BTreeSet<&str> {
        all().filter(|r| level.allows(r.exactness)).map(|r| r.name).collect()
    };
    let (strict, default, fast) = (at(Level::Strict), at(Level::Default), at(Level::FastMath));
    assert!(strict.is_subset(&default) && default.is_subset(&fast));
    for name in
        ["mul-zero", "sub-self", "add-zero", "add-assoc", "mul-assoc", "div-self", "scale-numeric-zero"]
    {
        assert!(fast.contains(name) && !default.contains(name), "{name}");
    }
    for name in ["plus-assoc", "scale-scale", "factor", "collect"] {
        assert!(default.contains(name) && !strict.contains(name), "{name}");
    }
}
