//! Entry points: the Core definitions that commands run, made from a definition of the program. Each is itself an ordinary definition,
//! with the parameters that the command has data for.

use crate::data::{Layout, Sizes};
use lang::core::{Binder, Def, Term, Tm, make};
use lang::diag::{Site, Span};
use lang::name::{Name, Var};
use lang::prim::{Prim, Scalar};
use lang::target::{LBinder, Lin, make as lin};
use lang::types::{LType, Mode, Type};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a command asks of a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ask {
    /// f at its parameters.
    Value,
    /// The gradient with respect to the parameters numbered so.
    Grad(Vec<usize>),
    /// Value and gradient.
    ValueAndGrad(Vec<usize>),
    /// The forward product; further parameters are the tangents of these.
    Jvp(Vec<usize>),
    /// The reverse product for these; a further parameter is the cotangent of the result.
    Vjp(Vec<usize>),
    /// One column of the Jacobian with respect to these; further parameters are its position: the number of the leaf, then indices.
    Column(Vec<usize>),
    /// One row; further parameters as for a column, the position being in the result.
    Row(Vec<usize>),
}

/// A parameter or result of an entry point.
#[derive(Clone, PartialEq, Debug)]
pub struct Slot {
    pub name: String,
    pub layout: Layout,
}

/// An entry point with the layouts of its data.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    pub def: Def,
    pub params: Vec<Slot>,
    pub result: Layout,
}

/// The name of an entry point for people and artefacts.
pub fn name(def: &str, ask: &Ask) -> String {
    match ask {
        Ask::Value => def.to_string(),
        Ask::Grad(_) => format!("grad_{def}"),
        Ask::ValueAndGrad(_) => format!("value_and_grad_{def}"),
        Ask::Jvp(_) => format!("jvp_{def}"),
        Ask::Vjp(_) => format!("vjp_{def}"),
        Ask::Column(_) => format!("column_{def}"),
        Ask::Row(_) => format!("row_{def}"),
    }
}

/// The entry point for `ask` of `def`, whose parameters and result have these layouts. Its parameters are those of `def`, then
/// tangents or cotangent.
pub fn entry(def: &Def, params: &[Slot], result: &Layout, ask: &Ask) -> Entry {
    let mut supply = def.supply.clone();
    // Entry points are named apart from everything a program can define.
    let own: Name = format!("{}'entry", name(&def.name, ask)).into();
    let site = Site { def: def.name.clone(), span: Span::default() };
    let vars: Vec<Tm> = def.params.iter().map(|p| make::var(&p.var)).collect();
    let call = |args: Vec<Tm>| -> Tm {
        let sizes = def.sizes.iter().map(|n| n.clone().into()).collect();
        Arc::new(Term::Call { def: def.name.clone(), types: vec![], sizes, args })
    };
    // ⟨f x, linear map⟩ with respect to the active parameters as a tuple (one of them: itself).
    let mut dual = |mode: Mode, active: &[usize]| -> Tm {
        let one = active.len() == 1;
        let ty = tuple_or_one(active.iter().map(|i| def.params[*i].ty.clone()).collect());
        let x = Binder::new(supply.fresh("x"), ty);
        let part = |k: usize| if one { make::var(&x.var) } else { make::proj(make::var(&x.var), k) };
        let mut args = vars.clone();
        active.iter().enumerate().for_each(|(k, i)| args[*i] = part(k));
        let at: Vec<Tm> = active.iter().map(|i| vars[*i].clone()).collect();
        let at = if one { at[0].clone() } else { make::tuple(at) };
        let f = make::lam(x.clone(), call(args));
        Arc::new(Term::Diff { mode, f, x: at, site: site.clone() })
    };
    let gradient_layout = |active: &[usize]| {
        let parts =
            active.iter().map(|i| (Name::from(params[*i].name.as_str()), params[*i].layout.tangent()));
        let mut parts: Vec<_> = parts.collect();
        if parts.len() == 1 { parts.remove(0).1 } else { Layout::Record(parts) }
    };
    let (mut extra, mut slots) = (vec![], params.to_vec());
    let (body, layout) = match ask {
        Ask::Value => (call(vars.clone()), result.clone()),
        Ask::Grad(active) => {
            let map = make::proj(dual(Mode::Reverse, active), 1);
            (make::lin_app(map, make::real(1.0)), gradient_layout(active))
        }
        Ask::ValueAndGrad(active) => {
            let d = dual(Mode::Reverse, active);
            let ty = dual_type(def, active, Mode::Reverse);
            let pair = Binder::new(supply.fresh("d"), ty);
            let part = |k| make::proj(make::var(&pair.var), k);
            let body = make::tuple([part(0), make::lin_app(part(1), make::real(1.0))]);
            let layout = Layout::Tuple(vec![result.clone(), gradient_layout(active)]);
            (make::let_(pair.clone(), d, body), layout)
        }
        Ask::Jvp(active) => {
            let map = make::proj(dual(Mode::Forward, active), 1);
            for i in active {
                let layout = params[*i].layout.tangent();
                let v = Binder::new(supply.fresh(format!("d{}", params[*i].name)), layout.ty());
                extra.push(v);
                slots.push(Slot { name: params[*i].name.clone(), layout });
            }
            let vs: Vec<Tm> = extra.iter().map(|v| make::var(&v.var)).collect();
            let v = if vs.len() == 1 { vs[0].clone() } else { make::tuple(vs) };
            (make::lin_app(map, v), result.tangent())
        }
        Ask::Vjp(active) => {
            let map = make::proj(dual(Mode::Reverse, active), 1);
            let layout = result.tangent();
            let w = Binder::new(supply.fresh("w"), layout.ty());
            extra.push(w.clone());
            slots.push(Slot { name: "cotangent".into(), layout });
            (make::lin_app(map, make::var(&w.var)), gradient_layout(active))
        }
        Ask::Column(active) | Ask::Row(active) => {
            let (mode, layout) = match ask {
                Ask::Row(_) => (Mode::Reverse, gradient_layout(active)),
                _ => (Mode::Forward, result.tangent()),
            };
            let d = dual(mode, active);
            let ty = dual_type(def, active, mode);
            let Type::Tuple(parts) = &ty else { unreachable!("a dual number is a pair") };
            let Type::Lin(domain, _) = &parts[1] else { unreachable!("its second component is a map") };
            for k in 0..=rank(domain) {
                extra.push(Binder::new(supply.fresh(format!("at{k}")), Type::Int));
                slots.push(Slot { name: format!("at{k}"), layout: Layout::Scalar(Scalar::Int) });
            }
            let at: Vec<Tm> = extra.iter().map(|i| make::var(&i.var)).collect();
            let r = LBinder::new(supply.fresh("r"), LType::Real);
            let e = embedded(domain, &at, &lin::var(&r.var));
            let pair = Binder::new(supply.fresh("d"), ty);
            let map = make::lin_lam(r, lin::app(make::proj(make::var(&pair.var), 1), e));
            (make::let_(pair, d, make::lin_app(map, make::real(1.0))), layout)
        }
    };
    let params: Vec<Binder> = def.params.iter().cloned().chain(extra).collect();
    let sizes = def.sizes.clone();
    let def = Def { name: own, types: vec![], sizes, params, result: layout.ty(), body, supply };
    Entry { def, params: slots, result: layout }
}

/// Sizes above this are left to the data: products of a few of them would not fit in 64 bits.
const LARGEST_FIXED: i64 = 1 << 20;

/// A size up to this is worth code of its own: loops of so few iterations are unrolled, arrays of so few elements lie on the stack.
/// A larger one changes little in the code, and would have everything compiled again for the next.
const SMALL: i64 = 64;
/// The same for a size that no array has first, only ever the rows of one: how many there are changes from data to data, how long they are seldom.
/// Indices into them that the program computes are then known to be in range.
const SMALL_ROW: i64 = 1024;

/// The definition with sizes fixed by `--size`: compiled for these alone, it takes them no more.
pub fn fixed(def: Def, sizes: &[(String, i64)]) -> Def {
    let known = |v: &Var| sizes.iter().find(|(x, k)| *x == *v.name && *k <= LARGEST_FIXED).map(|(_, k)| *k);
    let values: Vec<_> = def.sizes.iter().filter_map(|v| Some((v.clone(), known(v)?))).collect();
    if values.is_empty() { def } else { def.at(values) }
}

/// Which sizes of a definition are small: its size variables, and the int parameters that its types mention.
pub fn small(def: &Def, sizes: &Sizes) -> Vec<(Var, i64)> {
    let mentioned: BTreeSet<Var> =
        def.params.iter().map(|p| &p.ty).chain([&def.result]).flat_map(lang::walk::type_vars).collect();
    let ints = def.params.iter().filter(|p| p.ty == Type::Int && mentioned.contains(&p.var)).map(|p| &p.var);
    let mut first = BTreeSet::new();
    def.params.iter().map(|p| &p.ty).chain([&def.result]).for_each(|t| first_sizes(t, &mut first));
    let most = |v: &Var| if first.contains(v) { SMALL } else { SMALL_ROW };
    let value = |v: &Var| Some((v.clone(), sizes.get(v).filter(|k| (0..=most(v)).contains(k))?));
    def.sizes.iter().chain(ints).filter_map(value).collect()
}

/// The variables of the sizes that arrays have first.
fn first_sizes(t: &Type, out: &mut BTreeSet<Var>) {
    match t {
        Type::Array(n, _) => out.extend(n.vars().cloned()),
        Type::Tuple(ts) | Type::Sum(ts) => ts.iter().for_each(|t| first_sizes(t, out)),
        Type::Real | Type::Int | Type::Bool | Type::Fun(..) | Type::Lin(..) | Type::Param(_) => {}
    }
}

fn tuple_or_one(mut types: Vec<Type>) -> Type {
    if types.len() == 1 { types.remove(0) } else { Type::tuple(types) }
}

/// The type of a `Diff` of `def`: its result, and the map between the tangents.
fn dual_type(def: &Def, active: &[usize], mode: Mode) -> Type {
    let x = tuple_or_one(active.iter().map(|i| def.params[*i].ty.clone()).collect());
    let (from, to) = (x.tangent(mode), def.result.tangent(mode));
    let map = match mode {
        Mode::Forward => Type::lin(from, to),
        Mode::Reverse => Type::lin(to, from),
    };
    Type::tuple([def.result.clone(), map])
}

/// How many indices lead to a real of a linear type, at most.
fn rank(t: &LType) -> usize {
    match t {
        LType::Array(_, t) => 1 + rank(t),
        LType::Tuple(ts) => ts.iter().map(rank).max().unwrap_or(0),
        LType::Real | LType::Sum(_) | LType::Power(..) | LType::Copower(..) | LType::Param(_) => 0,
    }
}

/// r at a position (the number of the leaf, then indices), the structural zero elsewhere.
fn embedded(t: &LType, at: &[Tm], r: &Lin) -> Lin {
    /// `leaf` counts the leaves passed.
    fn at_leaf(t: &LType, at: &[Tm], depth: usize, leaf: &mut i64, r: &Lin) -> Lin {
        let first = *leaf;
        let term = match t {
            LType::Real => {
                *leaf += 1;
                r.clone()
            }
            LType::Tuple(ts) => return lin::tuple(ts.iter().map(|t| at_leaf(t, at, depth, leaf, r))),
            LType::Array(n, t) => {
                lin::onehot(n.clone(), at[depth].clone(), at_leaf(t, at, depth + 1, leaf, r))
            }
            LType::Sum(_) | LType::Power(..) | LType::Copower(..) | LType::Param(_) => lin::zero(t.clone()),
        };
        let from = make::prim(Prim::ILe, [make::int(first), at[0].clone()]);
        let to = make::prim(Prim::ILt, [at[0].clone(), make::int(*leaf)]);
        lin::if_(make::prim(Prim::And, [from, to]), term, lin::zero(t.clone()))
    }
    at_leaf(t, at, 1, &mut 0, r)
}
