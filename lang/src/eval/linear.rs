//! ⟦Γ; Δ̲ ⊢ t : τ̲⟧, one arm per former of [`LinTerm`], and the monoid operation.

use super::env::Env;
use super::number::Number;
use super::value::{LinValue, Power, Value};
use super::{Eval, EvalError, Machine, bug};
use crate::core::Binder;
use crate::name::Var;
use crate::size::Size;
use crate::target::{Direction, LBinder, Lin, LinTerm};
use std::sync::Arc;

impl Machine<'_> {
    pub(super) fn lin<N: Number>(&mut self, t: &Lin, env: &Env<N>) -> Eval<LinValue<N>> {
        self.step()?;
        match &**t {
            // l-var
            LinTerm::Var(z) => {
                env.get_lin(z).cloned().ok_or_else(|| EvalError::Bug(format!("linear {z:?} has no value")))
            }
            // l-zero
            LinTerm::Zero(_) => Ok(LinValue::Zero),
            // l-plus
            LinTerm::Plus(t, s) => {
                let v = self.lin(t, env)?;
                let w = self.lin(s, env)?;
                self.plus(v, w)
            }
            // l-pair, l-unit
            LinTerm::Tuple(ts) => {
                Ok(LinValue::Tuple(ts.iter().map(|t| self.lin(t, env)).collect::<Eval<_>>()?))
            }
            // l-fst, l-snd
            LinTerm::Proj(t, i) => component(&self.lin(t, env)?, *i),
            // l-coproj
            LinTerm::Coproj { env: _, up, term } => {
                let v = self.lin(term, env)?;
                self.cost.elements += 1 + *up as u64;
                let slot = LinValue::tuple([LinValue::Zero, v]);
                Ok((0..*up).fold(slot, |below, _| LinValue::tuple([below, LinValue::Zero])))
            }
            // l-envproj
            LinTerm::EnvProj { up, term } => {
                let mut v = self.lin(term, env)?;
                self.cost.elements += 1 + *up as u64;
                for _ in 0..*up {
                    v = component(&v, 0)?;
                }
                component(&v, 1)
            }
            // l-pow
            LinTerm::Power(x, t) => {
                let power = Power { param: x.clone(), body: t.clone(), env: env.clone() };
                Ok(LinValue::Power(Arc::from([Arc::new(power)])))
            }
            // l-pow-app
            LinTerm::PowerApp(t, s) => {
                let f = self.lin(t, env)?;
                let arg = self.term(s, env)?;
                self.power_app(&f, &arg)
            }
            // l-cop
            LinTerm::Tensor(a, t) => {
                let pair = (self.term(a, env)?, self.lin(t, env)?);
                self.cost.elements += 1;
                Ok(LinValue::Copower(Arc::from([pair])))
            }
            // l-cop-elim: the body sees its payload and no other linear variable
            LinTerm::TensorElim { scrutinee, var, lin, body } => {
                let pairs = self.lin(scrutinee, env)?;
                self.tensor_elim(&pairs, var, lin, body, &env.cartesian())
            }
            // l-op: 0̲ is not multiplied
            LinTerm::Scale(a, t) => match self.lin(t, env)? {
                LinValue::Zero => Ok(LinValue::Zero),
                LinValue::Real(v) => {
                    let a = self.term(a, env)?;
                    self.cost.monoid += 1;
                    match a {
                        Value::Zero => Ok(LinValue::Zero),
                        a => match a.as_real() {
                            Some(a) => Ok(LinValue::Real(a.times(&v))),
                            None => bug("a linear value scaled by no real"),
                        },
                    }
                }
                other => bug(format!("{other:?} is scaled")),
            },
            // l-app
            LinTerm::App(l, t) => {
                let map = self.term(l, env)?;
                let arg = self.lin(t, env)?;
                self.apply_linear(&map, arg)
            }
            // l-let
            LinTerm::Let(z, s, t) => {
                let v = self.lin(s, env)?;
                self.lin(t, &env.with_lin(&z.var, v))
            }
            // l-clet
            LinTerm::CLet(x, t, s) => {
                let v = self.term(t, env)?;
                self.lin(s, &env.with(x, v))
            }
            // l-if
            LinTerm::If(c, t, s) => {
                self.cost.branches += 1;
                if self.truth(c, env)? { self.lin(t, env) } else { self.lin(s, env) }
            }
            // l-case
            LinTerm::Case(t, arms) => {
                self.cost.branches += 1;
                let (tag, payload) = super::cartesian::summand(self.term(t, env)?)?;
                let Some((x, s)) = arms.get(tag) else { return bug("case without an arm for the tag") };
                self.lin(s, &env.with(x, payload))
            }
            // l-inl, l-inr
            LinTerm::Inject(i, _, t) => Ok(match self.lin(t, env)? {
                v if v.is_zero() => LinValue::Zero,
                v => LinValue::Inject(*i, Arc::new(v)),
            }),
            // l-sum-elim: 0̲ goes to 0̲; the arms see their payload only
            LinTerm::SumElim(t, arms) => {
                self.cost.branches += 1;
                match self.lin(t, env)? {
                    LinValue::Zero => Ok(LinValue::Zero),
                    LinValue::Inject(i, v) => {
                        let Some((z, s)) = arms.get(i) else { return bug("no arm for the tag") };
                        self.lin(s, &env.cartesian().with_lin(&z.var, (*v).clone()))
                    }
                    other => bug(format!("{other:?} is no partial sum")),
                }
            }
            // l-from-inl, l-from-inr
            LinTerm::FromInject(i, t) => match self.lin(t, env)? {
                LinValue::Zero => Ok(LinValue::Zero),
                LinValue::Inject(j, v) if *i == j => Ok((*v).clone()),
                other => bug(format!("{other:?} has not the tag {i}")),
            },
            // l-build
            LinTerm::Build { index, bound, body } => {
                let elements = self.each(index, bound, env, |m, env| m.lin(body, env))?;
                self.cost.elements += elements.len() as u64;
                Ok(LinValue::array(elements))
            }
            // l-index
            LinTerm::Index(t, i) => {
                let v = self.lin(t, env)?;
                let i = self.int(i, env)?;
                self.cost.elements += 1;
                match v {
                    LinValue::Zero => Ok(LinValue::Zero),
                    LinValue::Array(vs) => match usize::try_from(i).ok().and_then(|i| vs.get(i)) {
                        Some(v) => Ok(v.clone()),
                        None => bug(format!("linear index {i} outside 0..{}", vs.len())),
                    },
                    other => bug(format!("linear index into {other:?}")),
                }
            }
            // l-onehot
            LinTerm::OneHot { bound, index, term } => {
                let n = self.extent(bound, env)?;
                self.allows(n)?;
                let i = self.int(index, env)?;
                let v = self.lin(term, env)?;
                if !(0..n).contains(&i) {
                    return bug(format!("one-hot index {i} outside 0..{n}"));
                }
                self.cost.elements += n as u64;
                Ok(LinValue::array((0..n).map(|j| if j == i { v.clone() } else { LinValue::Zero })))
            }
            // l-sum
            LinTerm::Sum { index, bound, body } => {
                let n = self.extent(bound, env)?;
                let mut env = env.clone();
                let mut total = LinValue::Zero;
                for i in 0..n {
                    self.cost.iterations += 1;
                    env.bind_int(index, i);
                    let v = self.lin(body, &env)?;
                    total = self.plus(total, v)?;
                }
                Ok(total.from_zero())
            }
            // l-loop
            LinTerm::Loop { direction, state, init, index, bound, body } => {
                self.lin_loop(*direction, state, init, index, bound, body, env)
            }
        }
    }

    /// f a, f a sum of functions.
    fn power_app<N: Number>(&mut self, f: &LinValue<N>, arg: &Value<N>) -> Eval<LinValue<N>> {
        self.cost.calls += 1;
        match f {
            LinValue::Zero => Ok(LinValue::Zero),
            LinValue::Power(summands) => {
                let mut total = LinValue::Zero;
                for f in summands.iter() {
                    let v = self.lin(&f.body, &f.env.with(&f.param, arg.clone()))?;
                    total = self.plus(total, v)?;
                }
                Ok(total)
            }
            other => bug(format!("{other:?} is no power")),
        }
    }

    /// case Σ !a ⊗ w of !y ⊗ z̲ → s: the sum of s[a/y, w/z̲].
    fn tensor_elim<N: Number>(
        &mut self,
        v: &LinValue<N>,
        y: &Binder,
        z: &LBinder,
        body: &Lin,
        env: &Env<N>,
    ) -> Eval<LinValue<N>> {
        match v {
            LinValue::Zero => Ok(LinValue::Zero),
            LinValue::Copower(pairs) => {
                let mut total = LinValue::Zero;
                for (a, w) in pairs.iter() {
                    self.cost.elements += 1;
                    let v = self.lin(body, &env.with(y, a.clone()).with_lin(&z.var, w.clone()))?;
                    total = self.plus(total, v)?;
                }
                Ok(total)
            }
            other => bug(format!("{other:?} is no copower")),
        }
    }

    fn lin_loop<N: Number>(
        &mut self,
        direction: Direction,
        state: &LBinder,
        init: &Lin,
        index: &Var,
        bound: &Size,
        body: &Lin,
        env: &Env<N>,
    ) -> Eval<LinValue<N>> {
        let n = self.extent(bound, env)?;
        self.allows(n)?;
        let mut s = self.lin(init, env)?;
        let mut env = env.clone();
        let mut outputs = Vec::new();
        for k in 0..n {
            self.cost.iterations += 1;
            let i = match direction {
                Direction::Up => k,
                Direction::Down => n - 1 - k,
            };
            env.bind_int(index, i);
            env.bind_lin(&state.var, s);
            let next = self.lin(body, &env)?;
            s = component(&next, 0)?;
            let output = component(&next, 1)?;
            self.cost.elements += u64::from(!matches!(output, LinValue::Zero));
            outputs.push(output);
        }
        // y_i is at place i, whichever way the loop ran.
        if direction == Direction::Down {
            outputs.reverse();
        }
        Ok(LinValue::tuple([s, LinValue::array(outputs)]))
    }

    /// + of the monoid: componentwise; functions and formal sums are put side by side. in_i + in_j with i ≠ j is a compiler bug (chad.md §2).
    pub(super) fn plus<N: Number>(&mut self, v: LinValue<N>, w: LinValue<N>) -> Eval<LinValue<N>> {
        use LinValue::{Array, Copower, Inject, Power, Real, Tuple, Zero};
        Ok(match (v, w) {
            (Zero, v) | (v, Zero) => v,
            (Real(x), Real(y)) => {
                self.cost.monoid += 1;
                Real(x.plus(&y))
            }
            (Tuple(vs), Tuple(ws)) if vs.len() == ws.len() => Tuple(self.plus_all(&vs, &ws)?),
            (Array(vs), Array(ws)) if vs.len() == ws.len() => Array(self.plus_all(&vs, &ws)?),
            (Inject(i, v), Inject(j, w)) if i == j => {
                Inject(i, Arc::new(self.plus((*v).clone(), (*w).clone())?))
            }
            (Power(fs), Power(gs)) => {
                self.cost.elements += (fs.len() + gs.len()) as u64;
                Power(fs.iter().chain(&*gs).cloned().collect())
            }
            (Copower(ps), Copower(qs)) => {
                self.cost.elements += (ps.len() + qs.len()) as u64;
                Copower(ps.iter().chain(&*qs).cloned().collect())
            }
            (v @ (Real(_) | Tuple(_) | Array(_) | Inject(..) | Power(_) | Copower(_)), w) => {
                return bug(format!("no sum of {v:?} and {w:?}"));
            }
        })
    }

    fn plus_all<N: Number>(&mut self, vs: &[LinValue<N>], ws: &[LinValue<N>]) -> Eval<Arc<[LinValue<N>]>> {
        self.cost.elements += vs.len() as u64;
        vs.iter().zip(ws).map(|(v, w)| self.plus(v.clone(), w.clone())).collect()
    }
}

/// v.i; 0̲.i = 0̲
fn component<N: Number>(v: &LinValue<N>, i: usize) -> Eval<LinValue<N>> {
    match v {
        LinValue::Zero => Ok(LinValue::Zero),
        LinValue::Tuple(vs) => match vs.get(i) {
            Some(v) => Ok(v.clone()),
            None => bug("linear projection past the end"),
        },
        LinValue::Real(_)
        | LinValue::Inject(..)
        | LinValue::Array(_)
        | LinValue::Power(_)
        | LinValue::Copower(_) => bug("linear projection of no tuple"),
    }
}
