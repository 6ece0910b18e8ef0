//! Emission of Cartesian terms: [`Emitter::eval`] gives a value, [`Emitter::put`] stores one into a place.

use super::place::Ev;
use super::update::others;
use super::{Emitter, Error};
use lang::core::{Extremum, Lit, Term, Tm};
use lang::diag::{Failure, Site};
use lang::loops::{Carried, CarriedKind, Op, Operand, Parallel, Stmt};
use lang::name::Var;
use lang::prim::{Lowering, Prim, Scalar};
use lang::size::Size;
use lang::types::Type;
use std::collections::{HashMap, HashSet};

/// The path a view takes below its element: projections.
type View = (Var, Vec<usize>);

impl Emitter<'_> {
    /// The value of a term; arrays it makes are new local buffers.
    pub fn eval(&mut self, t: &Tm) -> Result<Ev, Error> {
        self.eval_named(t, "t")
    }

    pub(super) fn operand(&mut self, t: &Tm) -> Result<Operand, Error> {
        Ok(self.eval(t)?.scalar())
    }

    pub(super) fn eval_named(&mut self, t: &Tm, name: &str) -> Result<Ev, Error> {
        Ok(match &**t {
            Term::Var(x) => match self.vars.get(x) {
                Some(ev) => ev.clone(),
                None => return Err(Error::bug(format!("{x:?} is not in scope at emission"))),
            },
            Term::Lit(Lit::Real(x)) => Ev::Scalar(Operand::Real(self.proc.precision.round(*x))),
            Term::Lit(Lit::Int(k)) => Ev::Scalar(Operand::Int(*k)),
            Term::Lit(Lit::Bool(b)) => Ev::Scalar(Operand::Bool(*b)),
            Term::Let(..) => self.with_spare(HashSet::new(), |e| {
                let t = e.lets(t)?;
                e.eval_named(&t, name)
            })?,
            Term::Tuple(ts) => {
                Ev::Tuple(ts.iter().map(|t| self.eval_named(t, name)).collect::<Result<_, _>>()?)
            }
            Term::Proj(t, i) => self.eval_named(t, name)?.proj(*i),
            Term::Prim(p, ts) => {
                let args: Vec<Operand> = ts.iter().map(|t| self.operand(t)).collect::<Result<_, _>>()?;
                Ev::Scalar(self.prim(*p, &args, name)?)
            }
            Term::If(c, a, b) => {
                let ty = self.type_of(t);
                let c = self.operand(c)?;
                let result = self.arm_results(&ty, name)?;
                self.with_spare(HashSet::new(), |e| e.if_into(c, a, b, result))?
            }
            Term::Build { index, bound, body } => match self.view(index, bound, body) {
                Some((array, path)) => path.iter().fold(self.vars[&array].clone(), |ev, i| ev.proj(*i)),
                None => {
                    let ty = self.type_of(t);
                    let place = self.alloc(&ty, name)?;
                    self.put(t, &place)?;
                    place
                }
            },
            Term::Index(a, i, site) => {
                let n = match self.type_of(a) {
                    Type::Array(n, _) => n,
                    other => return Err(Error::bug(format!("index into {other:?}"))),
                };
                let a = self.eval(a)?;
                let i = self.operand(i)?;
                self.check_index(i, &n, site);
                let place = a.at(i);
                self.value_at(&place)
            }
            Term::Update { .. } | Term::Array(..) => {
                let ty = self.type_of(t);
                let place = self.alloc(&ty, name)?;
                self.put(t, &place)?;
                place
            }
            Term::Sum { index, bound, body } => {
                let n = self.size(bound);
                let cell = self.new_cell();
                self.for_loop(&index.name, n, false, Parallel::Yes, |e, i| {
                    e.bind(index, Ev::Scalar(i), &Type::Int);
                    let x = e.operand(body)?;
                    e.cell_add(cell, x, None);
                    Ok(vec![])
                })?;
                Ev::Scalar(self.cells[cell].value.unwrap_or(Operand::Real(0.0)))
            }
            Term::Extremum { which, index, bound, body } => {
                let n = self.size(bound);
                let (start, param, result) = (
                    match which {
                        Extremum::Max => f64::NEG_INFINITY,
                        Extremum::Min => f64::INFINITY,
                    },
                    self.val(Scalar::Real, name),
                    self.val(Scalar::Real, name),
                );
                let m = Operand::Val(param);
                self.for_loop(&index.name, n, false, Parallel::No, |e, i| {
                    e.bind(index, Ev::Scalar(i), &Type::Int);
                    let x = e.operand(body)?;
                    // A greater element, or a first NaN: not (x ≤ m) and m is a number.
                    let (small, large) = match which {
                        Extremum::Max => (x, m),
                        Extremum::Min => (m, x),
                    };
                    let le = e.op(Op::FLe, &[small, large], Scalar::Bool, "c");
                    let gt = e.op(Op::BNot, &[le], Scalar::Bool, "c");
                    let number = e.op(Op::FEq, &[m, m], Scalar::Bool, "c");
                    let take = e.op(Op::BAnd, &[gt, number], Scalar::Bool, "c");
                    let next = e.op(Op::Select, &[take, x, m], Scalar::Real, "m");
                    let kind = CarriedKind::Sequential;
                    Ok(vec![Carried { param, init: Operand::Real(start), next, result, kind }])
                })?;
                Ev::Scalar(Operand::Val(result))
            }
            Term::Loop { state, init, index, bound, body } => {
                let ty = self.type_of(t);
                let Type::Tuple(parts) = &ty else { return Err(Error::bug("a loop's value is a pair")) };
                let outs = self.alloc(&parts[1], name)?;
                self.loop_(state, init, index, bound, body, outs)?
            }
            Term::While { state, init, cond, body } => self.while_(state, init, cond, body)?,
            Term::Argsort(a) => {
                let Type::Array(n, elem) = self.type_of(a) else {
                    return Err(Error::bug("argsort of no array"));
                };
                let keys = match self.eval(a)? {
                    Ev::Slice(s) if s.at.is_empty() => s,
                    other => {
                        let copy = self.alloc(&Type::Array(n.clone(), elem), "keys")?;
                        self.copy(&other, &copy)?;
                        match copy {
                            Ev::Slice(s) => s,
                            Ev::Scalar(_) | Ev::Tuple(_) => return Err(Error::bug("keys are one array")),
                        }
                    }
                };
                let perm = self.alloc(&Type::array(n, Type::Int), name)?;
                if let Ev::Slice(p) = &perm {
                    self.push(Stmt::Argsort { keys: keys.buf, perm: p.buf });
                }
                perm
            }
            Term::Check { cond, failure, details, site, body } => {
                let cond = self.operand(cond)?;
                if let (Failure::IndexOutOfRange, [i, n]) = (failure, &details[..]) {
                    self.checked.push((i.clone(), n.clone()));
                }
                let details = details.iter().map(|d| self.operand(d)).collect::<Result<Vec<_>, _>>()?;
                let failure = self.failure(failure, site);
                self.push(Stmt::Check { cond, failure, details });
                self.eval_named(body, name)?
            }
            Term::LinApp(..) => {
                let ty = self.type_of(t);
                self.lin_app(t, &ty, None, name)?
            }
            Term::Detach(t) => self.eval_named(t, name)?,
            Term::Unread(ty) => self.alloc_unread(ty, name)?,
            Term::Zero(lty) => {
                let ty = lty.erase().ok_or_else(Error::function_survives)?;
                let place = self.alloc_unread(&ty, name)?;
                self.fill_zero(&place);
                place
            }
            Term::Inject(..) | Term::Case(..) => {
                return Err(Error::unsupported("sum types in compiled code"));
            }
            Term::Call { def, sizes, args, .. } => self.call(def, sizes, args, None, name)?,
            Term::Box(t) => self.boxed(t)?,
            Term::Unbox(ty, h) => self.unboxed(ty, h, name)?,
            Term::Lam(..) | Term::App(..) | Term::LinLam(..) | Term::Diff { .. } => {
                return Err(Error::bug("emission of a term that is not in normal form"));
            }
        })
    }

    /// Notes the variables whose arrays belong into a place.
    pub(super) fn slots(&mut self, t: &Term, place: &Ev) {
        match (t, place) {
            (Term::Var(x), Ev::Slice(s)) if !self.rest(s).is_empty() => {
                self.places.insert(x.clone(), place.clone());
            }
            (Term::Tuple(ts), Ev::Tuple(ps)) => ts.iter().zip(ps).for_each(|(t, p)| self.slots(t, p)),
            _ => {}
        }
    }

    /// Binds a chain of lets and gives what is under it.
    pub(super) fn lets(&mut self, t: &Tm) -> Result<Tm, Error> {
        let mut t = t.clone();
        while let Term::Let(x, a, b) = &*t.clone() {
            let mark = self.proc.bufs.len();
            let ev = match self.places.remove(&x.var) {
                Some(place) if is_making(a) => {
                    self.put(a, &place)?;
                    place
                }
                _ => match (self.outputs.remove(&x.var), &**a) {
                    (Some(outs), Term::Loop { state, init, index, bound, body }) => {
                        self.loop_(state, init, index, bound, body, outs)?
                    }
                    _ => match self.let_update(a, b, &x.ty, &x.var.name)? {
                        Some(ev) => ev,
                        None => self.eval_named(a, &x.var.name)?,
                    },
                },
            };
            self.own(&ev, mark);
            self.bind(&x.var, ev, &x.ty);
            t = b.clone();
        }
        Ok(t)
    }

    /// Stores the value of a term into a place.
    pub fn put(&mut self, t: &Tm, place: &Ev) -> Result<(), Error> {
        match &**t {
            Term::Let(..) => {
                // An array that is the result, or a component of it, is made in its place.
                let mut last = t;
                while let Term::Let(_, _, b) = &**last {
                    last = b;
                }
                self.slots(last, place);
                self.with_spare(self.spare.clone(), |e| {
                    let t = e.lets(t)?;
                    e.put(&t, place)
                })
            }
            Term::Tuple(ts) => {
                for (i, t) in ts.iter().enumerate() {
                    let spare = self.spare_beside(others(ts, i));
                    self.with_spare(spare, |e| e.put(t, &place.proj(i)))?;
                }
                Ok(())
            }
            Term::Update { .. } => self.put_update(t, place),
            Term::Build { index, bound, body } => {
                if let Some((array, path)) = self.view(index, bound, body) {
                    let ev = path.iter().fold(self.vars[&array].clone(), |ev, i| ev.proj(*i));
                    return self.copy(&ev, place);
                }
                let n = self.size(bound);
                self.for_loop(&index.name, n, false, Parallel::Yes, |e, i| {
                    e.bind(index, Ev::Scalar(i), &Type::Int);
                    e.put(body, &place.at(i))?;
                    Ok(vec![])
                })
            }
            Term::Array(_, ts) => {
                (ts.iter().enumerate()).try_for_each(|(k, t)| self.put(t, &place.at(Operand::Int(k as i64))))
            }
            Term::If(c, a, b) => {
                let c = self.operand(c)?;
                self.open_arm();
                self.put(a, place)?;
                let then = self.close_arm();
                self.open_arm();
                self.put(b, place)?;
                let els = self.close_arm();
                self.join_arms(c, then, els, vec![]);
                Ok(())
            }
            Term::LinApp(..) => {
                let ty = self.type_of(t);
                self.lin_app(t, &ty, Some(place), "t")?;
                Ok(())
            }
            Term::Loop { state, init, index, bound, body } => {
                let v = self.loop_(state, init, index, bound, body, place.proj(1))?;
                self.copy(&v.proj(0), &place.proj(0))
            }
            Term::Call { def, sizes, args, .. } => {
                let ev = self.call(def, sizes, args, Some(place), "t")?;
                self.copy(&ev, place)
            }
            Term::Unread(_) => Ok(()),
            Term::Var(_)
            | Term::Lit(_)
            | Term::Proj(..)
            | Term::Inject(..)
            | Term::Case(..)
            | Term::Lam(..)
            | Term::App(..)
            | Term::Prim(..)
            | Term::Index(..)
            | Term::Sum { .. }
            | Term::Extremum { .. }
            | Term::While { .. }
            | Term::Argsort(_)
            | Term::Check { .. }
            | Term::Diff { .. }
            | Term::Detach(_)
            | Term::LinLam(..)
            | Term::Box(_)
            | Term::Unbox(..)
            | Term::Zero(_) => {
                let ev = self.eval(t)?;
                self.copy(&ev, place)
            }
        }
    }

    /// Copies a value into a place.
    pub fn copy(&mut self, ev: &Ev, place: &Ev) -> Result<(), Error> {
        match (ev, place) {
            (Ev::Tuple(vs), Ev::Tuple(ps)) => vs.iter().zip(ps).try_for_each(|(v, p)| self.copy(v, p)),
            (Ev::Scalar(o), Ev::Slice(p)) => {
                self.store(p, *o);
                Ok(())
            }
            (Ev::Slice(s), Ev::Slice(p)) if s == p => Ok(()),
            (Ev::Slice(s), Ev::Slice(p))
                if s.at.is_empty() && p.at.is_empty() && !self.rest(s).is_empty() =>
            {
                self.push(Stmt::Copy { dst: p.buf, src: s.buf });
                Ok(())
            }
            (Ev::Slice(s), Ev::Slice(p)) => match self.rest(s).first().copied() {
                None => {
                    let o = self.load(s);
                    self.store(p, o);
                    Ok(())
                }
                Some(n) => {
                    let (s, p) = (s.clone(), p.clone());
                    self.for_loop("i", n, false, Parallel::Yes, |e, i| {
                        e.copy(&Ev::Slice(s.at(i)), &Ev::Slice(p.at(i)))?;
                        Ok(vec![])
                    })
                }
            },
            _ => Err(Error::bug("a value does not fit its place")),
        }
    }

    pub(super) fn fill_zero(&mut self, place: &Ev) {
        match place {
            Ev::Tuple(vs) => vs.iter().for_each(|v| self.fill_zero(v)),
            Ev::Slice(s) => {
                let value = Self::zero_of(self.proc.info(s.buf).elem);
                self.push(Stmt::Fill { buf: s.buf, value });
            }
            Ev::Scalar(_) => {}
        }
    }

    /// An array nobody reads, or a scalar zero.
    pub(super) fn alloc_unread(&mut self, ty: &Type, name: &str) -> Result<Ev, Error> {
        Ok(match ty {
            Type::Real => Ev::Scalar(Operand::Real(0.0)),
            Type::Int => Ev::Scalar(Operand::Int(0)),
            Type::Bool => Ev::Scalar(Operand::Bool(false)),
            Type::Tuple(ts) => {
                Ev::Tuple(ts.iter().map(|t| self.alloc_unread(t, name)).collect::<Result<_, _>>()?)
            }
            Type::Array(..) | Type::Sum(_) | Type::Fun(..) | Type::Param(_) | Type::Lin(..) => {
                self.alloc(ty, name)?
            }
        })
    }

    pub(super) fn check_index(&mut self, i: Operand, n: &Size, site: &Site) {
        let n = self.size(n);
        if let (Operand::Int(i), Operand::Int(n)) = (i, n)
            && (0..n).contains(&i)
        {
            return;
        }
        let low = self.op(Op::ILe, &[Operand::Int(0), i], Scalar::Bool, "ok");
        let high = self.op(Op::ILt, &[i, n], Scalar::Bool, "ok");
        let cond = self.op(Op::BAnd, &[low, high], Scalar::Bool, "ok");
        let failure = self.failure(&Failure::IndexOutOfRange, site);
        self.push(Stmt::Check { cond, failure, details: vec![i, n] });
    }

    pub(super) fn prim(&mut self, p: Prim, args: &[Operand], name: &str) -> Result<Operand, Error> {
        let row = p.row();
        match &row.lowering {
            Lowering::Op(Op::Math(lang::loops::Math::PowInt)) if matches!(args[1], Operand::Int(1..=4)) => {
                // The binary powering of `powi`, unrolled.
                let x = args[0];
                let Operand::Int(k) = args[1] else { unreachable!("matched above") };
                let mut mul = |a, b| self.op(Op::FMul, &[a, b], Scalar::Real, name);
                Ok(match k {
                    1 => x,
                    2 => mul(x, x),
                    3 => {
                        let square = mul(x, x);
                        mul(x, square)
                    }
                    _ => {
                        let square = mul(x, x);
                        mul(square, square)
                    }
                })
            }
            Lowering::Op(op) => Ok(self.op(*op, args, row.result, name)),
            Lowering::Expand(expand) => {
                let params: Vec<Var> = (args.iter().zip(row.args))
                    .map(|(o, s)| {
                        let v = self.supply.fresh("x");
                        self.bind(&v, Ev::Scalar(*o), &lang::typing::scalar(*s));
                        v
                    })
                    .collect();
                let terms: Vec<Tm> = params.iter().map(lang::core::make::var).collect();
                let body = expand(&terms, &mut self.supply);
                Ok(self.eval_named(&body, name)?.scalar())
            }
        }
    }

    /// `build n (λi. a[i].p…)` over the whole of a is a view of it.
    pub(super) fn view(&mut self, index: &Var, bound: &Size, body: &Tm) -> Option<View> {
        let mut paths: HashMap<Var, View> = HashMap::new();
        let mut t = body.clone();
        loop {
            let path = |t: &Term, paths: &HashMap<Var, View>, scope: &lang::typing::Scope| -> Option<View> {
                match t {
                    Term::Var(x) => paths.get(x).cloned(),
                    Term::Proj(a, i) => match &**a {
                        Term::Var(x) => paths.get(x).cloned().map(|(a, mut p)| {
                            p.push(*i);
                            (a, p)
                        }),
                        _ => None,
                    },
                    Term::Index(a, i, _) => match (&**a, &**i) {
                        (Term::Var(a), Term::Var(i)) if i == index => match scope.vars.get(a) {
                            Some(Type::Array(n, _)) if n == bound => Some((a.clone(), vec![])),
                            _ => None,
                        },
                        _ => None,
                    },
                    _ => None,
                }
            };
            match &*t.clone() {
                Term::Let(x, a, b) => {
                    paths.insert(x.var.clone(), path(a, &paths, &self.scope)?);
                    t = b.clone();
                }
                other => {
                    let (array, path) = path(other, &paths, &self.scope)?;
                    return self.vars.contains_key(&array).then_some((array, path));
                }
            }
        }
    }
}

/// A term that makes an array of its own.
fn is_making(t: &Term) -> bool {
    matches!(t, Term::Build { .. } | Term::Array(..) | Term::LinApp(..) | Term::Call { .. })
}
