//! Emission: Target in normal form to the loop IR by destination passing (chad.md §7): `emit(t, d)` has the effect d += ⟦t⟧.
//!
//! | file | what it does |
//! |---|---|
//! | [`place`] | values and destinations during emission |
//! | [`cell`] | scalar accumulators across loops and branches |
//! | [`cartesian`] | Cartesian terms: values, or stores into a place |
//! | [`branch`], [`iterate`] | branches and sequential loops |
//! | [`linear`], [`linear_loop`] | linear terms: one arm per emit equation |
//! | [`destination`] | fresh accumulators, elements, what is not written yet |
//! | [`apply`] | a linear map applied to a value |
//! | [`call`] | procedures, and calls of them |
//! | [`inplace`], [`put`] | linear loops whose state stays in its buffer, and elements put there |
//! | [`called_map`] | procedures of linear maps, and their application |
//! | [`boxes`] | what outlives a call |
//! | [`sizes`] | checks of the sizes that a library is called with |
//! | [`update`] | updates of arrays in place |
//! | [`alias`] | when a linear variable's accumulator is a part of the destination |

mod alias;
mod apply;
mod boxes;
mod branch;
mod call;
mod called_map;
mod cartesian;
mod cell;
mod destination;
mod inplace;
mod iterate;
mod linear;
mod linear_loop;
mod place;
mod put;
mod sizes;
mod update;

pub use sizes::check_sizes;

use crate::{Error, Normal};
use cell::{Cell, Region};
use lang::core::{Def, Program, Tm, make};
use lang::diag::{Failure, Site};
use lang::leaves::leaves;
use lang::loops::{Block, Buf, BufInfo, BufKind, For, Op, Operand, Parallel, Param, Proc, Stmt, Val, walk};
use lang::name::{Name, Supply, Var};
use lang::precision::Precision;
use lang::prim::Scalar;
use lang::size::Size;
use lang::types::Type;
use lang::typing::Scope;
use place::{Ev, Lv, Slice};
use std::collections::{HashMap, HashSet};

/// The sizes in the shapes of an entry point's parameters and result that are neither a constant nor one of its variables, in the
/// order of their first appearance. Shapes are fixed at entry, so the caller passes their values.
pub fn compound_sizes(def: &Def) -> Vec<Size> {
    let mut out: Vec<Size> = vec![];
    let result = match &def.result {
        Type::Lin(from, to) => Type::tuple([from, to].into_iter().filter_map(|t| t.erase())),
        data => data.clone(),
    };
    let types = def.params.iter().map(|p| &p.ty).chain([&result]);
    for n in types.filter_map(leaves).flatten().flat_map(|leaf| leaf.shape) {
        if n.as_constant().is_none() && n.as_var().is_none() && !out.contains(&n) {
            out.push(n);
        }
    }
    out
}

/// The procedure of an entry point in normal form, with those of the definitions it calls. Parameters: size variables, [`compound_sizes`], then
/// the leaves of each parameter, then the leaves of the result as `Out` arrays (rank 0 for scalars), in the order of [`lang::leaves`]. A
/// callee has the depth of the call after the sizes ([`call`]).
pub fn emit(normal: &Normal) -> Result<Proc, Error> {
    let program = normal.callees();
    let names: Vec<Name> = program.defs.keys().cloned().collect();
    let mut failures = Failures::default();
    let mut callees = vec![];
    for def in program.defs.values() {
        callees.push(procedure(def, true, &program, &names, normal.precision, &mut failures)?);
    }
    let mut entry = procedure(&normal.entry, false, &program, &names, normal.precision, &mut failures)?;
    entry.callees = callees;
    entry.callees.iter_mut().for_each(|f| f.failures = failures.table.clone());
    entry.failures = failures.table;
    Ok(entry)
}

/// The procedure of one definition.
fn procedure(
    def: &Def,
    called: bool,
    program: &Program,
    names: &[Name],
    precision: Precision,
    failures: &mut Failures,
) -> Result<Proc, Error> {
    let mut e = Emitter {
        program,
        names,
        proc: Proc { precision, ..Proc::new(def.name.clone()) },
        depth: None,
        blocks: vec![vec![]],
        vars: HashMap::new(),
        compound: HashMap::new(),
        lins: HashMap::new(),
        places: HashMap::new(),
        outputs: HashMap::new(),
        occurrences: alias::Occurrences::default(),
        scope: Scope::default(),
        cells: vec![],
        regions: vec![],
        fresh: vec![],
        spare: HashSet::new(),
        holes: HashSet::new(),
        full: HashSet::new(),
        staying: HashMap::new(),
        checked: vec![],
        supply: def.supply.clone(),
        failures,
    };
    for n in &def.sizes {
        let v = e.proc.val(Scalar::Int, n.name.clone());
        e.proc.params.push(Param::Scalar(v));
        e.bind(n, Ev::Scalar(Operand::Val(v)), &Type::Int);
    }
    let mut compound = vec![];
    for n in compound_sizes(def) {
        let v = e.proc.val(Scalar::Int, spelled(&n));
        e.proc.params.push(Param::Scalar(v));
        compound.push((n.clone(), v));
        e.compound.insert(n, Operand::Val(v));
    }
    if called {
        e.begin_callee(&def.name);
    }
    // Shapes may mention ints that come later.
    for p in def.params.iter().filter(|p| p.ty == Type::Int) {
        let v = e.proc.val(Scalar::Int, p.var.name.clone());
        e.bind(&p.var, Ev::Scalar(Operand::Val(v)), &p.ty);
    }
    for p in &def.params {
        match e.vars.get(&p.var) {
            Some(Ev::Scalar(Operand::Val(v))) => e.proc.params.push(Param::Scalar(*v)),
            _ => {
                let ev = e.parameter(&p.ty, &p.var.name)?;
                e.bind(&p.var, ev, &p.ty);
            }
        }
    }
    for (n, v) in compound {
        let product = |m: &Vec<Var>| m.iter().map(|v| e.int_value(v)).collect::<Option<Vec<Val>>>();
        let sum = n.terms.iter().map(|(m, c)| Some((*c, product(m)?))).collect::<Option<_>>();
        e.proc.sums.extend(sum.map(|sum| (v, sum)));
    }
    if let Type::Lin(from, to) = &def.result {
        e.linear_body(def, from, to)?;
        e.proc.body = e.blocks.pop().expect("the procedure's block");
        return Ok(e.proc);
    }
    let mut outs = vec![];
    for (k, leaf) in leaves(&def.result).ok_or_else(Error::function_survives)?.into_iter().enumerate() {
        let shape = leaf.shape.iter().map(|n| e.size(n)).collect();
        let name = format!("out{k}");
        let buf = e.proc.buf(BufInfo { name: name.into(), elem: leaf.scalar, shape, kind: BufKind::Out });
        e.proc.params.push(Param::Array(buf));
        outs.push(Slice { buf, at: vec![] });
    }
    let place = Ev::from_leaves(&def.result, &mut outs.into_iter());
    e.put(&def.body, &place)?;
    e.proc.body = e.blocks.pop().expect("the procedure's block");
    Ok(e.proc)
}

/// The failures of an entry point and its callees, numbered.
#[derive(Default)]
struct Failures {
    table: Vec<(Failure, Site)>,
    numbers: HashMap<(Failure, Site), usize>,
}

/// A size as a name: `n + 1` is `n_plus_1`.
fn spelled(n: &Size) -> Name {
    let text = n.to_string().replace(" + ", "_plus_").replace(" - ", "_minus_").replace('*', "_times_");
    text.replace('-', "minus_").replace('^', "_to_").into()
}

struct Emitter<'p> {
    /// The definitions called, and their numbers.
    program: &'p Program,
    names: &'p [Name],
    proc: Proc,
    /// How deep a call from here is; None in an entry point.
    depth: Option<Operand>,
    /// The statements of the blocks being built, the innermost last.
    blocks: Vec<Block>,
    vars: HashMap<Var, Ev>,
    /// The compound sizes that are parameters.
    compound: HashMap<Size, Operand>,
    lins: HashMap<Var, Lv>,
    /// Where an array that is about to be bound belongs.
    places: HashMap<Var, Ev>,
    /// Where the outputs of a loop that is about to be bound belong.
    outputs: HashMap<Var, Ev>,
    /// How the linear variables met so far are used.
    occurrences: alias::Occurrences,
    scope: Scope,
    cells: Vec<Cell>,
    regions: Vec<Region>,
    /// Whether a destination has not been written yet (by number).
    fresh: Vec<bool>,
    /// The buffers that may be overwritten ([`update`]).
    spare: HashSet<Buf>,
    /// The accumulators that an arm not taken may have left without a contribution: a zero in one is structural ([`cell`]).
    holes: HashSet<Buf>,
    /// Those that have a number at every element.
    full: HashSet<Buf>,
    /// The linear variables that are to be bound with a component in its own buffer already ([`inplace`]).
    staying: HashMap<Var, (Vec<usize>, place::Dst)>,
    /// The indices that have been checked on every way here, and what they are below.
    checked: Vec<(Tm, Tm)>,
    supply: Supply,
    failures: &'p mut Failures,
}

impl Emitter<'_> {
    fn push(&mut self, s: Stmt) {
        self.blocks.last_mut().expect("a block is open").push(s);
    }

    fn bind(&mut self, v: &Var, ev: Ev, ty: &Type) {
        self.scope.bind(v, ty);
        self.vars.insert(v.clone(), ev);
    }

    /// The index of a loop whose body is being emitted.
    fn bind_index(&mut self, v: &Var, i: Operand, bound: &Size) {
        self.bind(v, Ev::Scalar(i), &Type::Int);
        self.checked.push((make::var(v), make::size(bound)));
    }

    fn op(&mut self, op: Op, args: &[Operand], ty: Scalar, name: &str) -> Operand {
        let dst = self.proc.val(ty, name);
        self.push(Stmt::Let { dst, op, args: args.to_vec() });
        Operand::Val(dst)
    }

    /// The int of a size.
    fn size(&mut self, n: &Size) -> Operand {
        if let Some(known) = self.compound.get(n) {
            return *known;
        }
        let mut sum: Option<Operand> = None;
        for (m, c) in n.terms.iter().rev() {
            let mut product: Option<Operand> = (*c != 1 || m.is_empty()).then_some(Operand::Int(*c));
            for v in m {
                let factor = match &self.vars[v] {
                    Ev::Scalar(o) => *o,
                    Ev::Slice(_) | Ev::Tuple(_) => unreachable!("compiler bug: a size is an int"),
                };
                product = Some(match product {
                    None => factor,
                    Some(p) => self.op(Op::IMul, &[p, factor], Scalar::Int, "n"),
                });
            }
            let product = product.expect("a monomial has a coefficient or a variable");
            sum = Some(match sum {
                None => product,
                Some(s) => self.op(Op::IAdd, &[s, product], Scalar::Int, "n"),
            });
        }
        sum.unwrap_or(Operand::Int(0))
    }

    /// The value of an int variable that is a parameter.
    fn int_value(&self, x: &Var) -> Option<Val> {
        match self.vars.get(x)? {
            Ev::Scalar(Operand::Val(v)) => Some(*v),
            Ev::Scalar(_) | Ev::Slice(_) | Ev::Tuple(_) => None,
        }
    }

    fn parameter(&mut self, ty: &Type, name: &Name) -> Result<Ev, Error> {
        let mut parts = vec![];
        for leaf in leaves(ty).ok_or_else(Error::function_survives)? {
            if leaf.shape.is_empty() {
                let v = self.proc.val(leaf.scalar, name.clone());
                self.proc.params.push(Param::Scalar(v));
                parts.push(Ev::Scalar(Operand::Val(v)));
            } else {
                let shape = leaf.shape.iter().map(|n| self.size(n)).collect();
                let info = BufInfo { name: name.clone(), elem: leaf.scalar, shape, kind: BufKind::In };
                let buf = self.proc.buf(info);
                self.proc.params.push(Param::Array(buf));
                parts.push(Ev::Slice(Slice { buf, at: vec![] }));
            }
        }
        Ok(Ev::assemble(ty, &mut parts.into_iter()))
    }

    /// A local array (or, for a scalar type, one element) for every leaf of a type.
    fn alloc(&mut self, ty: &Type, name: &str) -> Result<Ev, Error> {
        let mut slices = vec![];
        for leaf in leaves(ty).ok_or_else(Error::function_survives)? {
            let shape = leaf.shape.iter().map(|n| self.size(n)).collect();
            let info = BufInfo { name: name.into(), elem: leaf.scalar, shape, kind: BufKind::Local };
            let buf = self.proc.buf(info);
            self.push(Stmt::Alloc { buf });
            slices.push(Slice { buf, at: vec![] });
        }
        Ok(Ev::from_leaves(ty, &mut slices.into_iter()))
    }

    /// for i < extent { f(i) }, with the cells that f touches carried.
    fn for_loop(
        &mut self,
        index: &str,
        extent: Operand,
        down: bool,
        parallel: Parallel,
        f: impl FnOnce(&mut Self, Operand) -> Result<Vec<lang::loops::Carried>, Error>,
    ) -> Result<(), Error> {
        let i = self.proc.val(Scalar::Int, index);
        self.blocks.push(vec![]);
        self.open_loop();
        let carried = self.with_spare(HashSet::new(), |e| f(e, Operand::Val(i)))?;
        let (sums, sometimes) = self.close_loop();
        let body = self.blocks.pop().expect("the loop's block");
        let carried = carried.into_iter().chain(sums).collect();
        // Calls keep their order, and their stack.
        let parallel = if walk::calls(&body) { Parallel::No } else { parallel };
        self.push(Stmt::For(For { index: i, extent, down, carried, body, parallel }));
        self.guard_sums(sometimes);
        Ok(())
    }

    fn val(&mut self, ty: Scalar, name: &str) -> Val {
        self.proc.val(ty, name)
    }

    fn failure(&mut self, failure: &Failure, site: &Site) -> usize {
        let key = (failure.clone(), site.clone());
        let next = self.failures.table.len();
        let number = *self.failures.numbers.entry(key.clone()).or_insert(next);
        if number == next {
            self.failures.table.push(key);
        }
        number
    }

    fn type_of(&mut self, t: &Tm) -> Type {
        lang::typing::type_of(t, &mut self.scope, self.program)
    }
}
