//! Emission of Cartesian terms: [`Emitter::eval`] gives a value, [`Emitter::put`] stores one into a place.

use super::place::{Dst, Ev, Lv, Slice};
use super::{Emitter, Error};
use lang::core::{Binder, Extremum, Lit, Term, Tm};
use lang::diag::{Failure, Site};
use lang::loops::{Block, Carried, CarriedKind, Op, Operand, Parallel, Stmt, Val, While};
use lang::name::Var;
use lang::prim::{Lowering, Prim, Scalar};
use lang::size::Size;
use lang::types::Type;
use std::collections::HashMap;

/// The path a view takes below its element: projections.
type View = (Var, Vec<usize>);

impl Emitter<'_> {
    /// The value of a term; arrays it makes are new local buffers.
    pub fn eval(&mut self, t: &Tm) -> Result<Ev, Error> {
        self.eval_named(t, "t")
    }

    fn operand(&mut self, t: &Tm) -> Result<Operand, Error> {
        Ok(self.eval(t)?.scalar())
    }

    fn eval_named(&mut self, t: &Tm, name: &str) -> Result<Ev, Error> {
        Ok(match &**t {
            Term::Var(x) => match self.vars.get(x) {
                Some(ev) => ev.clone(),
                None => return Err(Error::bug(format!("{x:?} is not in scope at emission"))),
            },
            Term::Lit(Lit::Real(x)) => Ev::Scalar(Operand::Real(*x)),
            Term::Lit(Lit::Int(k)) => Ev::Scalar(Operand::Int(*k)),
            Term::Lit(Lit::Bool(b)) => Ev::Scalar(Operand::Bool(*b)),
            Term::Let(..) => {
                let t = self.lets(t)?;
                self.eval_named(&t, name)?
            }
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
                self.if_value(c, a, b, &ty, name)?
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
            Term::Array(..) => {
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
            Term::Lam(..) | Term::App(..) | Term::LinLam(..) | Term::Call { .. } | Term::Diff { .. } => {
                return Err(Error::bug("emission of a term that is not in normal form"));
            }
        })
    }

    /// Notes the variables whose arrays belong into a place.
    fn slots(&mut self, t: &Term, place: &Ev) {
        match (t, place) {
            (Term::Var(x), Ev::Slice(s)) if !self.rest(s).is_empty() => {
                self.places.insert(x.clone(), place.clone());
            }
            (Term::Tuple(ts), Ev::Tuple(ps)) => ts.iter().zip(ps).for_each(|(t, p)| self.slots(t, p)),
            _ => {}
        }
    }

    /// Binds a chain of lets and gives what is under it.
    fn lets(&mut self, t: &Tm) -> Result<Tm, Error> {
        let mut t = t.clone();
        while let Term::Let(x, a, b) = &*t.clone() {
            let ev = match self.places.remove(&x.var) {
                Some(place) if is_making(a) => {
                    self.put(a, &place)?;
                    place
                }
                _ => self.eval_named(a, &x.var.name)?,
            };
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
                let t = self.lets(t)?;
                self.put(&t, place)
            }
            Term::Tuple(ts) => ts.iter().enumerate().try_for_each(|(i, t)| self.put(t, &place.proj(i))),
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
            | Term::Call { .. }
            | Term::Diff { .. }
            | Term::Detach(_)
            | Term::LinLam(..)
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

    fn fill_zero(&mut self, place: &Ev) {
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
    fn alloc_unread(&mut self, ty: &Type, name: &str) -> Result<Ev, Error> {
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

    fn check_index(&mut self, i: Operand, n: &Size, site: &Site) {
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

    fn prim(&mut self, p: Prim, args: &[Operand], name: &str) -> Result<Operand, Error> {
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
    fn view(&mut self, index: &Var, bound: &Size, body: &Tm) -> Option<View> {
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

    /// Two arms with results: scalars are results of the `if`, arrays are stored into buffers made before it.
    fn if_value(&mut self, c: Operand, a: &Tm, b: &Tm, ty: &Type, name: &str) -> Result<Ev, Error> {
        let result = self.arm_results(ty, name)?;
        let mut dsts = vec![];
        scalars(&result, &mut dsts);
        let arm = |e: &mut Self, t: &Tm| -> Result<_, Error> {
            e.open_arm();
            let mut values = vec![];
            e.arm(t, &result, &mut values)?;
            Ok((e.close_arm(), values))
        };
        let (then, tv) = arm(self, a)?;
        let (els, ev) = arm(self, b)?;
        let results = dsts.iter().zip(tv.iter().zip(&ev)).map(|(d, (t, e))| (*d, *t, *e)).collect();
        self.join_arms(c, then, els, results);
        Ok(result)
    }

    /// A value whose scalars are new variables and whose arrays are new buffers.
    fn arm_results(&mut self, ty: &Type, name: &str) -> Result<Ev, Error> {
        let scalar = |e: &mut Self, s| Ok(Ev::Scalar(Operand::Val(e.val(s, name))));
        match ty {
            Type::Real => scalar(self, Scalar::Real),
            Type::Int => scalar(self, Scalar::Int),
            Type::Bool => scalar(self, Scalar::Bool),
            Type::Tuple(ts) => {
                Ok(Ev::Tuple(ts.iter().map(|t| self.arm_results(t, name)).collect::<Result<_, _>>()?))
            }
            Type::Array(..) => self.alloc(ty, name),
            Type::Sum(_) | Type::Fun(..) | Type::Param(_) | Type::Lin(..) => Err(Error::function_survives()),
        }
    }

    /// One arm: arrays into the buffers, scalars in order into `values`.
    fn arm(&mut self, t: &Tm, result: &Ev, values: &mut Vec<Operand>) -> Result<(), Error> {
        match (&**t, result) {
            (Term::Let(..), _) => {
                let t = self.lets(t)?;
                self.arm(&t, result, values)
            }
            (Term::Tuple(ts), Ev::Tuple(rs)) => {
                ts.iter().zip(rs).try_for_each(|(t, r)| self.arm(t, r, values))
            }
            (Term::Unread(_), _) => {
                let mut dsts = vec![];
                scalars(result, &mut dsts);
                values.extend(dsts.iter().map(|d| Self::zero_of(self.proc.vals[d.0 as usize].0)));
                Ok(())
            }
            (_, Ev::Slice(_)) => self.put(t, result),
            (_, Ev::Scalar(_) | Ev::Tuple(_)) => {
                let ev = self.eval(t)?;
                self.arm_value(&ev, result, values)
            }
        }
    }

    fn arm_value(&mut self, ev: &Ev, result: &Ev, values: &mut Vec<Operand>) -> Result<(), Error> {
        match (ev, result) {
            (Ev::Scalar(o), Ev::Scalar(_)) => {
                values.push(*o);
                Ok(())
            }
            (Ev::Tuple(vs), Ev::Tuple(rs)) => {
                vs.iter().zip(rs).try_for_each(|(v, r)| self.arm_value(v, r, values))
            }
            _ => self.copy(ev, result),
        }
    }

    /// A sequential loop: scalars of the state are carried, arrays of it live in a buffer that each step overwrites when it has
    /// computed the next state; outputs are stored as they come.
    fn loop_(
        &mut self,
        state: &Binder,
        init: &Tm,
        index: &Var,
        bound: &Size,
        body: &Tm,
        outs: Ev,
    ) -> Result<Ev, Error> {
        let n = self.size(bound);
        let init = self.eval(init)?;
        let s = self.state(&init, &state.ty, &state.var.name)?;
        let index_name = index.name.clone();
        self.for_loop(&index_name, n, false, Parallel::No, |e, i| {
            e.bind(index, Ev::Scalar(i), &Type::Int);
            e.bind(&state.var, s.inside.clone(), &state.ty);
            let pair = e.lets(body)?;
            let (next, out) = match &*pair {
                Term::Tuple(ts) => (ts[0].clone(), ts[1].clone()),
                _ => return Err(Error::bug("a loop body in normal form is a pair")),
            };
            e.put(&out, &outs.at_or_unit(i))?;
            let next = e.next_state(&next, &s)?;
            Ok(s.carry(next))
        })?;
        Ok(Ev::Tuple(vec![s.after.clone(), outs]))
    }

    fn while_(&mut self, state: &Binder, init: &Tm, cond: &Tm, body: &Tm) -> Result<Ev, Error> {
        let init = self.eval(init)?;
        let s = self.state(&init, &state.ty, &state.var.name)?;
        self.bind(&state.var, s.inside.clone(), &state.ty);
        self.open_arm();
        let cond = self.operand(cond)?;
        let (cond_block, _) = self.close_arm();
        self.blocks.push(vec![]);
        self.open_loop();
        let next = self.next_state(body, &s)?;
        let sums = self.close_loop();
        debug_assert!(sums.is_empty(), "a Cartesian body touches no outer cell");
        let body: Block = self.blocks.pop().expect("the loop's block");
        self.push(Stmt::While(While { carried: s.carry(next), cond_block, cond, body }));
        Ok(s.after)
    }

    /// Sets up the state of a loop from its initial value.
    fn state(&mut self, init: &Ev, ty: &Type, name: &str) -> Result<State, Error> {
        let mut carried = vec![];
        let (inside, after) = self.state_part(init, ty, name, &mut carried)?;
        Ok(State { carried, inside, after })
    }

    fn state_part(
        &mut self,
        init: &Ev,
        ty: &Type,
        name: &str,
        carried: &mut Vec<(Val, Operand, Val)>,
    ) -> Result<(Ev, Ev), Error> {
        Ok(match (init, ty) {
            (Ev::Scalar(o), _) => {
                let scalar = self.proc.type_of(*o);
                let (param, result) = (self.val(scalar, name), self.val(scalar, name));
                carried.push((param, *o, result));
                (Ev::Scalar(Operand::Val(param)), Ev::Scalar(Operand::Val(result)))
            }
            (Ev::Tuple(vs), Type::Tuple(ts)) => {
                let mut inside = vec![];
                let mut after = vec![];
                for (v, t) in vs.iter().zip(ts.iter()) {
                    let (i, a) = self.state_part(v, t, name, carried)?;
                    inside.push(i);
                    after.push(a);
                }
                (Ev::Tuple(inside), Ev::Tuple(after))
            }
            (Ev::Slice(_) | Ev::Tuple(_), _) => {
                let place = self.alloc(ty, name)?;
                self.copy(init, &place)?;
                (place.clone(), place)
            }
        })
    }

    /// Computes the next state: arrays first into buffers of their own, then over the old ones.
    fn next_state(&mut self, next: &Tm, s: &State) -> Result<Vec<Operand>, Error> {
        let t = self.lets(next)?;
        let mut scalars = vec![];
        let mut copies = vec![];
        self.next_part(&t, &s.inside, &mut scalars, &mut copies)?;
        for (from, to) in copies {
            self.copy(&from, &to)?;
        }
        Ok(scalars)
    }

    fn next_part(
        &mut self,
        t: &Tm,
        inside: &Ev,
        scalars: &mut Vec<Operand>,
        copies: &mut Vec<(Ev, Ev)>,
    ) -> Result<(), Error> {
        match (&**t, inside) {
            (Term::Tuple(ts), Ev::Tuple(parts)) => {
                ts.iter().zip(parts).try_for_each(|(t, p)| self.next_part(t, p, scalars, copies))
            }
            _ => {
                let ev = self.eval(t)?;
                self.next_value(&ev, inside, scalars, copies);
                Ok(())
            }
        }
    }

    fn next_value(&mut self, ev: &Ev, inside: &Ev, scalars: &mut Vec<Operand>, copies: &mut Vec<(Ev, Ev)>) {
        match (ev, inside) {
            (Ev::Scalar(o), _) => scalars.push(*o),
            (Ev::Tuple(vs), Ev::Tuple(parts)) => {
                vs.iter().zip(parts).for_each(|(v, p)| self.next_value(v, p, scalars, copies));
            }
            _ => copies.push((ev.clone(), inside.clone())),
        }
    }

    /// L • a for a known map: a into the linear variable, the result into a fresh destination.
    fn lin_app(&mut self, t: &Tm, ty: &Type, place: Option<&Ev>, name: &str) -> Result<Ev, Error> {
        let Term::LinApp(map, arg) = &**t else { return Err(Error::bug("not an application")) };
        let Term::LinLam(z, body) = &**map else {
            return Err(Error::bug("a linear map that is not known at emission"));
        };
        let arg = self.eval(arg)?;
        self.occurrences.note(body);
        let lv = lv_of(&arg);
        self.lins.insert(z.var.clone(), lv);
        self.scope.bind_lin(&z.var, &z.ty);
        let place = match place {
            Some(p) => p.clone(),
            None => self.result_place(ty, name)?,
        };
        let dst = self.dst_of(&place);
        self.emit(body, &dst)?;
        self.finish(&dst, &place)
    }

    /// Where a linear result goes: arrays into buffers, scalars into cells.
    fn result_place(&mut self, ty: &Type, name: &str) -> Result<Ev, Error> {
        match ty {
            Type::Real | Type::Int | Type::Bool => Ok(Ev::Scalar(Operand::Real(0.0))),
            Type::Tuple(ts) => {
                Ok(Ev::Tuple(ts.iter().map(|t| self.result_place(t, name)).collect::<Result<_, _>>()?))
            }
            Type::Array(..) => self.alloc(ty, name),
            Type::Sum(_) | Type::Fun(..) | Type::Param(_) | Type::Lin(..) => Err(Error::function_survives()),
        }
    }

    fn dst_of(&mut self, place: &Ev) -> Dst {
        match place {
            Ev::Scalar(_) => Dst::Cell(self.new_cell()),
            Ev::Slice(s) if self.rest(s).is_empty() => Dst::Cell(self.new_cell()),
            Ev::Slice(s) => {
                let fresh = self.fresh_flag();
                Dst::Slice(s.clone(), fresh)
            }
            Ev::Tuple(vs) => Dst::Tuple(vs.iter().map(|v| self.dst_of(v)).collect()),
        }
    }

    /// Ends a destination: what was never written is zero, cells are values (stored where the place is an element).
    fn finish(&mut self, dst: &Dst, place: &Ev) -> Result<Ev, Error> {
        Ok(match (dst, place) {
            (Dst::Cell(c), place) => {
                let o = self.cells[*c].value.unwrap_or(Operand::Real(0.0));
                if let Ev::Slice(s) = place {
                    self.store(s, o);
                }
                Ev::Scalar(o)
            }
            (Dst::Tuple(ds), Ev::Tuple(ps)) => {
                let parts: Result<Vec<Ev>, Error> =
                    ds.iter().zip(ps).map(|(d, p)| self.finish(d, p)).collect();
                Ev::Tuple(parts?)
            }
            (dst, place) => {
                self.settle(dst)?;
                place.clone()
            }
        })
    }
}

/// A term that makes an array of its own.
fn is_making(t: &Term) -> bool {
    matches!(t, Term::Build { .. } | Term::Array(..) | Term::LinApp(..))
}

/// The state of a loop being emitted.
struct State {
    carried: Vec<(Val, Operand, Val)>,
    inside: Ev,
    after: Ev,
}

impl State {
    fn carry(&self, next: Vec<Operand>) -> Vec<Carried> {
        (self.carried.iter().zip(next))
            .map(|((param, init, result), next)| Carried {
                param: *param,
                init: *init,
                next,
                result: *result,
                kind: CarriedKind::Sequential,
            })
            .collect()
    }
}

impl Ev {
    /// Element i of outputs; outputs of unit type have no arrays.
    fn at_or_unit(&self, i: Operand) -> Ev {
        match self {
            Ev::Tuple(vs) if vs.is_empty() => self.clone(),
            Ev::Tuple(_) | Ev::Slice(_) | Ev::Scalar(_) => self.at(i),
        }
    }
}

/// The variables of a value's scalars, in order.
fn scalars(ev: &Ev, out: &mut Vec<Val>) {
    match ev {
        Ev::Scalar(Operand::Val(v)) => out.push(*v),
        Ev::Scalar(_) | Ev::Slice(_) => {}
        Ev::Tuple(vs) => vs.iter().for_each(|v| scalars(v, out)),
    }
}

/// A Cartesian value as a complete linear one.
fn lv_of(ev: &Ev) -> Lv {
    match ev {
        Ev::Scalar(o) => Lv::Scalar(*o, None),
        Ev::Slice(s) => Lv::Slice(Slice { buf: s.buf, at: s.at.clone() }),
        Ev::Tuple(vs) => Lv::Tuple(vs.iter().map(lv_of).collect()),
    }
}
