//! The differentiation operators, each written with Core's `Diff`: D→ f x and D← f x are the pair of f x and its linear map.

use crate::elaborate::Elaborate;
use lang::core::make::*;
use lang::core::{Binder, Term, Tm};
use lang::diag::Site;
use lang::size::Size;
use lang::target::{LBinder, Lin, make as lin};
use lang::types::{LType, Mode, Type};
use std::sync::Arc;

macro_rules! operators {
    ($($variant:ident = $name:literal, $doc:literal;)*) => {
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub enum Operator { $(#[doc = $doc] $variant),* }

        impl Operator {
            pub const ALL: &'static [Operator] = &[$(Operator::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Operator::$variant => $name),* }
            }

            pub fn doc(self) -> &'static str {
                match self { $(Operator::$variant => $doc),* }
            }
        }
    };
}

operators! {
    Grad = "grad", "grad f x: the gradient of f : τ -> real, of type D τ";
    ValueAndGrad = "value_and_grad", "value_and_grad f x: f x and the gradient";
    Jvp = "jvp", "jvp f x v: the derivative of f at x applied to v : D τ";
    JvpWithValue = "jvp'", "jvp' f x v: f x and jvp f x v";
    Vjp = "vjp", "vjp f x w: the transposed derivative applied to w : D σ";
    VjpWithValue = "vjp'", "vjp' f x w: f x and vjp f x w";
    Jacobian = "jacobian", "jacobian f x: D σ with every real replaced by D τ, in the mode with fewer passes";
    JacFwd = "jacfwd", "jacfwd f x: the Jacobian by columns";
    JacRev = "jacrev", "jacrev f x: the Jacobian by rows";
    Hessian = "hessian", "hessian f x: forward over reverse; not yet, see the page of the language";
    Hvp = "hvp", "hvp f x v: the Hessian applied to v, forward over reverse; not yet";
    Linearize = "linearize", "linearize f x: f x and the linear map D τ -o D σ";
    Pullback = "pullback", "pullback f x: f x and the transposed linear map D σ -o D τ";
}

impl Operator {
    pub fn find(name: &str) -> Option<Operator> {
        Operator::ALL.iter().copied().find(|o| o.name() == name)
    }
}

/// f : τ → σ at x, and what follows.
pub struct Operands {
    pub domain: Type,
    pub codomain: Type,
    pub f: Tm,
    pub x: Tm,
    /// The tangent or cotangent of jvp, vjp, hvp.
    pub v: Option<Tm>,
    pub site: Site,
}

fn diff(mode: Mode, f: Tm, x: Tm, site: &Site) -> Tm {
    Arc::new(Term::Diff { mode, f, x, site: site.clone() })
}

/// (σ, Dτ ⊸ Dσ) or (σ, Dσ ⊸ Dτ)
fn diff_type(mode: Mode, tau: &Type, sigma: &Type) -> Type {
    let (a, b) = (tau.tangent(mode), sigma.tangent(mode));
    let map = match mode {
        Mode::Forward => Type::lin(a, b),
        Mode::Reverse => Type::lin(b, a),
    };
    Type::tuple([sigma.clone(), map])
}

fn apply_map(pair: Tm, v: Tm) -> Tm {
    lin_app(proj(pair, 1), v)
}

/// λy. (D← f y).1 • 1
fn gradient_function(cx: &mut Elaborate, o: &Operands) -> Tm {
    let y = cx.inf.supply.fresh("y");
    let body = apply_map(diff(Mode::Reverse, o.f.clone(), var(&y), &o.site), real(1.0));
    lam(Binder::new(y, o.domain.clone()), body)
}

pub fn elaborate(cx: &mut Elaborate, op: Operator, o: Operands) -> Tm {
    let pair = |mode| diff(mode, o.f.clone(), o.x.clone(), &o.site);
    let v = || o.v.clone().unwrap_or_else(unit);
    match op {
        Operator::Grad => apply_map(pair(Mode::Reverse), real(1.0)),
        Operator::ValueAndGrad => with_value(cx, Mode::Reverse, &o, real(1.0)),
        Operator::Jvp => apply_map(pair(Mode::Forward), v()),
        Operator::JvpWithValue => with_value(cx, Mode::Forward, &o, v()),
        Operator::Vjp => apply_map(pair(Mode::Reverse), v()),
        Operator::VjpWithValue => with_value(cx, Mode::Reverse, &o, v()),
        Operator::Linearize => pair(Mode::Forward),
        Operator::Pullback => pair(Mode::Reverse),
        Operator::JacRev => jacrev(cx, &o),
        Operator::JacFwd => jacfwd(cx, &o),
        Operator::Jacobian => match (reals(&o.domain), reals(&o.codomain)) {
            (Some(n), Some(m)) if n <= m => jacfwd(cx, &o),
            (Some(1), None) => jacfwd(cx, &o),
            _ => jacrev(cx, &o),
        },
        Operator::Hessian => {
            let f = gradient_function(cx, &o);
            let codomain = tangent_value(&o.domain);
            let inner = Operands { domain: o.domain, codomain, f, x: o.x, v: None, site: o.site };
            jacfwd(cx, &inner)
        }
        Operator::Hvp => {
            let f = gradient_function(cx, &o);
            apply_map(diff(Mode::Forward, f, o.x.clone(), &o.site), v())
        }
    }
}

/// let p = D f x in (p.0, p.1 • v)
fn with_value(cx: &mut Elaborate, mode: Mode, o: &Operands, v: Tm) -> Tm {
    let p = cx.inf.supply.fresh("p");
    let ty = diff_type(mode, &o.domain, &o.codomain);
    let value = tuple([proj(var(&p), 0), apply_map(var(&p), v)]);
    let_(Binder::new(p, ty), diff(mode, o.f.clone(), o.x.clone(), &o.site), value)
}

/// D τ as the type of its values.
fn tangent_value(t: &Type) -> Type {
    t.tangent(Mode::Forward).erase().unwrap_or_else(Type::unit)
}

/// How many reals a type has, if its sizes are known.
fn reals(t: &Type) -> Option<i64> {
    match t {
        Type::Real => Some(1),
        Type::Int | Type::Bool => Some(0),
        Type::Tuple(ts) => ts.iter().try_fold(0i64, |n, t| n.checked_add(reals(t)?)),
        Type::Array(n, t) => n.as_constant()?.checked_mul(reals(t)?),
        Type::Sum(_) | Type::Fun(..) | Type::Lin(..) | Type::Param(_) => None,
    }
}

/// A value of D τ's shape, made position by position: `at` gets the position of each real.
fn tabulate(
    cx: &mut Elaborate,
    t: &Type,
    path: &mut Vec<Step>,
    at: &mut dyn FnMut(&mut Elaborate, &[Step]) -> Tm,
) -> Tm {
    match t {
        Type::Real | Type::Param(_) => at(cx, path),
        Type::Int | Type::Bool | Type::Lin(..) | Type::Fun(..) | Type::Sum(_) => unit(),
        Type::Tuple(ts) => {
            let mut out = vec![];
            for (k, t) in ts.iter().enumerate() {
                path.push(Step::Component(k, ts.clone()));
                out.push(tabulate(cx, t, path, at));
                path.pop();
            }
            tuple(out)
        }
        Type::Array(n, t) => {
            let i = cx.inf.supply.fresh("i");
            path.push(Step::Element(i.clone(), n.clone()));
            let body = tabulate(cx, t, path, at);
            path.pop();
            build(i, n.clone(), body)
        }
    }
}

/// One step into a value: a component of a tuple, an element of an array at a variable.
#[derive(Clone)]
enum Step {
    Component(usize, Arc<[Type]>),
    Element(lang::name::Var, Size),
}

/// The column or row of a position: (λ̲r. L • e(r)) • 1, where e(r) is r at the position and 0̲ elsewhere.
fn unit_applied(cx: &mut Elaborate, mode: Mode, pair: Tm, path: &[Step]) -> Tm {
    if path.is_empty() {
        return apply_map(pair, real(1.0));
    }
    let r = LBinder::new(cx.inf.supply.fresh("r"), LType::Real);
    let e = embedded(mode, path, lin::var(&r.var));
    lin_app(lin_lam(r, lin::app(proj(pair, 1), e)), real(1.0))
}

/// r at a position of D τ, the structural zero elsewhere.
fn embedded(mode: Mode, path: &[Step], r: Lin) -> Lin {
    let Some((step, rest)) = path.split_first() else { return r };
    let inner = embedded(mode, rest, r);
    match step {
        Step::Component(k, ts) => {
            let zero = |t: &Type| lin::zero(t.tangent(mode));
            lin::tuple(ts.iter().enumerate().map(|(j, t)| if j == *k { inner.clone() } else { zero(t) }))
        }
        Step::Element(i, n) => lin::onehot(n.clone(), var(i), inner),
    }
}

/// By rows: L at every position of D σ.
fn jacrev(cx: &mut Elaborate, o: &Operands) -> Tm {
    let p = cx.inf.supply.fresh("p");
    let ty = diff_type(Mode::Reverse, &o.domain, &o.codomain);
    let rows = tabulate(cx, &o.codomain, &mut vec![], &mut |cx, path| {
        unit_applied(cx, Mode::Reverse, var(&p), path)
    });
    let_(Binder::new(p.clone(), ty), diff(Mode::Reverse, o.f.clone(), o.x.clone(), &o.site), rows)
}

/// By columns: L at every position of D τ, then read the other way round.
fn jacfwd(cx: &mut Elaborate, o: &Operands) -> Tm {
    let (p, c) = (cx.inf.supply.fresh("p"), cx.inf.supply.fresh("columns"));
    let ty = diff_type(Mode::Forward, &o.domain, &o.codomain);
    let columns =
        tabulate(cx, &o.domain, &mut vec![], &mut |cx, path| unit_applied(cx, Mode::Forward, var(&p), path));
    let column = tangent_value(&o.codomain);
    let columns_type = replace_reals(&o.domain, &column);
    let site = o.site.clone();
    let rows = tabulate(cx, &o.codomain, &mut vec![], &mut |cx, row| {
        let row: Vec<Step> = row.to_vec();
        let (c, site) = (c.clone(), site.clone());
        tabulate(cx, &o.domain, &mut vec![], &mut |_, col| {
            let step = |t: Tm, s: &Step| match s {
                Step::Component(k, _) => proj(t, *k),
                Step::Element(i, _) => index(t, var(i), site.clone()),
            };
            let column = col.iter().fold(var(&c), step);
            row.iter().fold(column, step)
        })
    });
    let rows = let_(Binder::new(c.clone(), columns_type), columns, rows);
    let_(Binder::new(p.clone(), ty), diff(Mode::Forward, o.f.clone(), o.x.clone(), &o.site), rows)
}

/// D τ with every real replaced.
fn replace_reals(t: &Type, by: &Type) -> Type {
    match t {
        Type::Real | Type::Param(_) => by.clone(),
        Type::Int | Type::Bool | Type::Lin(..) | Type::Fun(..) | Type::Sum(_) => Type::unit(),
        Type::Tuple(ts) => Type::Tuple(ts.iter().map(|t| replace_reals(t, by)).collect()),
        Type::Array(n, t) => Type::array(n.clone(), replace_reals(t, by)),
    }
}
