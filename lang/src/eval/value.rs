//! Values: of Cartesian types, and elements of the monoids that linear types denote.

use super::env::Env;
use super::number::{Atom, Number};
use crate::core::{Binder, Tm};
use crate::name::Var;
use crate::size::Size;
use crate::target::{LBinder, Lin};
use crate::types::LType;
use std::fmt;
use std::sync::Arc;

/// A value of a Cartesian type. Arrays are shared, so passing one costs nothing.
#[derive(Clone)]
pub enum Value<N> {
    Real(N),
    /// The structural zero of type real, from `zero[τ]` (chad.md §1). What is linear in it gives it back; everything else reads 0.
    /// Results of [`super::run`] and [`super::term`] do not contain it ([`Value::settle`]).
    Zero,
    /// What `unread[τ]` stands for: it and its parts may be passed around; to compute with one is a compiler bug.
    Unread,
    Int(i64),
    Bool(bool),
    Tuple(Arc<[Value<N>]>),
    /// in_i v
    Inject(usize, Arc<Value<N>>),
    Array(Arc<[Value<N>]>),
    /// A value of type τ → σ.
    Closure(Arc<Closure<N>>),
    /// A value of type τ̲ ⊸ σ̲.
    LinClosure(Arc<LinClosure<N>>),
}

/// λx. t and what it closes over.
pub struct Closure<N> {
    pub(super) param: Binder,
    pub(super) body: Tm,
    pub(super) env: Env<N>,
}

/// λ̲z. t and what it closes over: Cartesian values only.
pub struct LinClosure<N> {
    pub(super) param: LBinder,
    pub(super) body: Lin,
    pub(super) env: Env<N>,
}

/// An element of the monoid of a linear type. Every type has the structural zero [`LinValue::Zero`], a part that
/// nothing contributed to; it differs from the number 0.0 in that it is never multiplied.
#[derive(Clone)]
pub enum LinValue<N> {
    /// 0̲
    Zero,
    Real(N),
    Tuple(Arc<[LinValue<N>]>),
    /// in_i v of a partial sum.
    Inject(usize, Arc<LinValue<N>>),
    Array(Arc<[LinValue<N>]>),
    /// τ → σ̲: a sum of functions.
    Power(Arc<[Arc<Power<N>>]>),
    /// !τ ⊗ σ̲: the formal sum of its pairs.
    Copower(Arc<[(Value<N>, LinValue<N>)]>),
}

/// A linear λy. t and what it closes over, linear values included.
pub struct Power<N> {
    pub(super) param: Binder,
    pub(super) body: Lin,
    pub(super) env: Env<N>,
}

impl<N: Number> Value<N> {
    pub fn unit() -> Value<N> {
        Value::tuple([])
    }
    pub fn tuple(vs: impl IntoIterator<Item = Value<N>>) -> Value<N> {
        Value::Tuple(vs.into_iter().collect())
    }
    pub fn array(vs: impl IntoIterator<Item = Value<N>>) -> Value<N> {
        Value::Array(vs.into_iter().collect())
    }
    pub fn reals(xs: impl IntoIterator<Item = N>) -> Value<N> {
        Value::array(xs.into_iter().map(Value::Real))
    }
    pub fn inject(i: usize, v: Value<N>) -> Value<N> {
        Value::Inject(i, Arc::new(v))
    }

    /// A real number; the structural zero reads as 0.
    pub fn as_real(&self) -> Option<N> {
        match self {
            Value::Real(x) => Some(x.clone()),
            Value::Zero => Some(N::zero()),
            _ => None,
        }
    }
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(k) => Some(*k),
            _ => None,
        }
    }
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }
    pub fn as_tuple(&self) -> Option<&[Value<N>]> {
        match self {
            Value::Tuple(vs) => Some(vs),
            _ => None,
        }
    }
    pub fn as_array(&self) -> Option<&[Value<N>]> {
        match self {
            Value::Array(vs) => Some(vs),
            _ => None,
        }
    }
    pub fn as_atom(&self) -> Option<Atom<N>> {
        match self {
            Value::Int(k) => Some(Atom::Int(*k)),
            Value::Bool(b) => Some(Atom::Bool(*b)),
            real => real.as_real().map(Atom::Real),
        }
    }

    /// The same value with structural zeros as numbers (inside functions they stay).
    pub fn settle(self) -> Value<N> {
        match self {
            Value::Zero => Value::Real(N::zero()),
            Value::Tuple(vs) => Value::tuple(vs.iter().cloned().map(Value::settle)),
            Value::Array(vs) => Value::array(vs.iter().cloned().map(Value::settle)),
            Value::Inject(i, v) => Value::inject(i, (*v).clone().settle()),
            Value::Real(_)
            | Value::Unread
            | Value::Int(_)
            | Value::Bool(_)
            | Value::Closure(_)
            | Value::LinClosure(_) => self,
        }
    }

    /// The value over other numbers. None where a number has no counterpart, at functions, and at what is unread.
    pub fn convert<M: Number>(&self, number: &dyn Fn(&N) -> Option<M>) -> Option<Value<M>> {
        let all = |vs: &[Value<N>]| vs.iter().map(|v| v.convert(number)).collect::<Option<Arc<[_]>>>();
        Some(match self {
            Value::Real(x) => Value::Real(number(x)?),
            Value::Zero => Value::Zero,
            Value::Int(k) => Value::Int(*k),
            Value::Bool(b) => Value::Bool(*b),
            Value::Tuple(vs) => Value::Tuple(all(vs)?),
            Value::Inject(i, v) => Value::inject(*i, v.convert(number)?),
            Value::Array(vs) => Value::Array(all(vs)?),
            Value::Unread | Value::Closure(_) | Value::LinClosure(_) => return None,
        })
    }

    /// Equal by the given comparison of numbers, and exactly in everything else. Functions and what is unread are equal to nothing.
    pub fn equal_by(&self, other: &Value<N>, eq: &dyn Fn(&N, &N) -> bool) -> bool {
        let all = |a: &[Value<N>], b: &[Value<N>]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equal_by(b, eq))
        };
        match (self, other) {
            (Value::Real(_) | Value::Zero, _) => match (self.as_real(), other.as_real()) {
                (Some(a), Some(b)) => eq(&a, &b),
                (_, _) => false,
            },
            (Value::Int(a), b) => b.as_int() == Some(*a),
            (Value::Bool(a), b) => b.as_bool() == Some(*a),
            (Value::Tuple(a), b) => b.as_tuple().is_some_and(|b| all(a, b)),
            (Value::Array(a), b) => b.as_array().is_some_and(|b| all(a, b)),
            (Value::Inject(i, a), Value::Inject(j, b)) => i == j && a.equal_by(b, eq),
            (Value::Inject(..) | Value::Unread | Value::Closure(_) | Value::LinClosure(_), _) => false,
        }
    }
    /// Bit for bit, except that −0 equals +0 and NaN equals NaN.
    pub fn same(&self, other: &Value<N>) -> bool {
        self.equal_by(other, &N::same)
    }
    /// Numbers within `rel` of the larger magnitude or within `abs` ([`Number::close`]).
    pub fn close(&self, other: &Value<N>, rel: f64, abs: f64) -> bool {
        self.equal_by(other, &|a, b| a.close(b, rel, abs))
    }

    /// The real numbers in it, in order.
    pub fn numbers(&self) -> Vec<N> {
        match self {
            Value::Real(_) | Value::Zero => self.as_real().into_iter().collect(),
            Value::Tuple(vs) | Value::Array(vs) => vs.iter().flat_map(Value::numbers).collect(),
            Value::Inject(_, v) => v.numbers(),
            Value::Int(_) | Value::Bool(_) | Value::Unread | Value::Closure(_) | Value::LinClosure(_) => {
                vec![]
            }
        }
    }
}

impl<N: Number> LinValue<N> {
    pub fn tuple(vs: impl IntoIterator<Item = LinValue<N>>) -> LinValue<N> {
        LinValue::Tuple(vs.into_iter().collect())
    }
    pub fn array(vs: impl IntoIterator<Item = LinValue<N>>) -> LinValue<N> {
        LinValue::Array(vs.into_iter().collect())
    }

    /// Nothing but structural zeros: in_i of such an element is the structural zero of the partial sum.
    pub fn is_zero(&self) -> bool {
        match self {
            LinValue::Zero => true,
            LinValue::Tuple(vs) | LinValue::Array(vs) => vs.iter().all(LinValue::is_zero),
            LinValue::Inject(_, v) => v.is_zero(),
            LinValue::Copower(pairs) => pairs.iter().all(|(_, w)| w.is_zero()),
            LinValue::Real(_) | LinValue::Power(_) => false,
        }
    }

    /// The numbers in it added to 0: a sum of nothing but −0 is +0, since an accumulator starts from 0.
    pub fn from_zero(self) -> LinValue<N> {
        match self {
            LinValue::Real(x) => LinValue::Real(N::zero().plus(&x)),
            LinValue::Tuple(vs) => LinValue::tuple(vs.iter().map(|v| v.clone().from_zero())),
            LinValue::Array(vs) => LinValue::array(vs.iter().map(|v| v.clone().from_zero())),
            LinValue::Inject(i, v) => LinValue::Inject(i, Arc::new((*v).clone().from_zero())),
            v @ (LinValue::Zero | LinValue::Power(_) | LinValue::Copower(_)) => v,
        }
    }

    /// The element that a value of the erased type of `ty` stands for ([`LType::erase`]). None where it is not of that type.
    pub fn of_value(v: &Value<N>, ty: &LType) -> Option<LinValue<N>> {
        Some(match (ty, v) {
            (LType::Real, Value::Zero) => LinValue::Zero,
            (LType::Real, Value::Real(x)) => LinValue::Real(x.clone()),
            (LType::Tuple(ts), Value::Tuple(vs)) if ts.len() == vs.len() => LinValue::Tuple(
                ts.iter().zip(&**vs).map(|(t, v)| LinValue::of_value(v, t)).collect::<Option<_>>()?,
            ),
            (LType::Array(_, t), Value::Array(vs)) => {
                LinValue::Array(vs.iter().map(|v| LinValue::of_value(v, t)).collect::<Option<_>>()?)
            }
            // The erased partial sum has the structural zero as its first summand.
            (LType::Sum(_), Value::Inject(0, _)) => LinValue::Zero,
            (LType::Sum(ts), Value::Inject(i, v)) => {
                LinValue::Inject(i - 1, Arc::new(LinValue::of_value(v, ts.get(i - 1)?)?))
            }
            (
                LType::Real
                | LType::Tuple(_)
                | LType::Array(..)
                | LType::Sum(_)
                | LType::Param(_)
                | LType::Power(..)
                | LType::Copower(..),
                _,
            ) => return None,
        })
    }

    /// The value of the erased type, with every structural zero spelled out: arrays get their size from the type, reals `zero`.
    /// None at power and copower, and where a size has no value.
    pub fn densify(
        &self,
        ty: &LType,
        size: &dyn Fn(&Size) -> Option<i64>,
        zero: &Value<N>,
    ) -> Option<Value<N>> {
        let part = |v: &LinValue<N>, t: &LType| v.densify(t, size, zero);
        Some(match (ty, self) {
            (LType::Real, LinValue::Zero) => zero.clone(),
            (LType::Real, LinValue::Real(x)) => Value::Real(x.clone()),
            (LType::Tuple(ts), LinValue::Zero) => {
                Value::Tuple(ts.iter().map(|t| part(self, t)).collect::<Option<_>>()?)
            }
            (LType::Tuple(ts), LinValue::Tuple(vs)) if ts.len() == vs.len() => {
                Value::Tuple(ts.iter().zip(&**vs).map(|(t, v)| part(v, t)).collect::<Option<_>>()?)
            }
            (LType::Array(n, t), LinValue::Zero) => {
                let element = part(self, t)?;
                Value::array((0..size(n)?.max(0)).map(|_| element.clone()))
            }
            (LType::Array(_, t), LinValue::Array(vs)) => {
                Value::Array(vs.iter().map(|v| part(v, t)).collect::<Option<_>>()?)
            }
            (LType::Sum(_), LinValue::Zero) => Value::inject(0, Value::unit()),
            (LType::Sum(ts), LinValue::Inject(i, v)) => Value::inject(i + 1, part(v, ts.get(*i)?)?),
            (
                LType::Real
                | LType::Tuple(_)
                | LType::Array(..)
                | LType::Sum(_)
                | LType::Param(_)
                | LType::Power(..)
                | LType::Copower(..),
                _,
            ) => return None,
        })
    }

    /// [`LinValue::densify`] with zeros as numbers and the sizes given by variable.
    pub fn to_value(&self, ty: &LType, sizes: &dyn Fn(&Var) -> Option<i64>) -> Option<Value<N>> {
        self.densify(ty, &|n| n.eval(sizes), &Value::Real(N::zero()))
    }
}

impl<N: fmt::Debug> fmt::Debug for Value<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Real(x) => write!(f, "{x:?}"),
            Value::Zero => write!(f, "zero"),
            Value::Unread => write!(f, "unread"),
            Value::Int(k) => write!(f, "{k}"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Tuple(vs) => parts(f, '(', vs, ')'),
            Value::Inject(i, v) => write!(f, "in{i} {v:?}"),
            Value::Array(vs) => parts(f, '[', vs, ']'),
            Value::Closure(_) => write!(f, "<function>"),
            Value::LinClosure(_) => write!(f, "<linear map>"),
        }
    }
}

impl<N: fmt::Debug> fmt::Debug for LinValue<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinValue::Zero => write!(f, "zero"),
            LinValue::Real(x) => write!(f, "{x:?}"),
            LinValue::Tuple(vs) => parts(f, '(', vs, ')'),
            LinValue::Inject(i, v) => write!(f, "in{i} {v:?}"),
            LinValue::Array(vs) => parts(f, '[', vs, ']'),
            LinValue::Power(_) => write!(f, "<power>"),
            LinValue::Copower(pairs) => {
                let terms: Vec<String> = pairs.iter().map(|(a, w)| format!("!{a:?} ⊗ {w:?}")).collect();
                write!(f, "{}", if terms.is_empty() { "zero".into() } else { terms.join(" + ") })
            }
        }
    }
}

fn parts<T: fmt::Debug>(f: &mut fmt::Formatter<'_>, open: char, vs: &[T], close: char) -> fmt::Result {
    write!(f, "{open}")?;
    for (i, v) in vs.iter().enumerate() {
        write!(f, "{}{v:?}", if i == 0 { "" } else { ", " })?;
    }
    write!(f, "{close}")
}
