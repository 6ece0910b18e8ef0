//! Leaves to values of the evaluators and back.

use super::{Layout, Numbers, Tensor};
use lang::eval::{Number, Value};
use lang::prim::Scalar;

/// The numbers of the evaluator in which a program of either precision runs.
pub trait Real: Number {
    fn new(x: f64) -> Self;
    fn numbers(xs: Vec<Self>) -> Numbers;
}

impl Real for f64 {
    fn new(x: f64) -> f64 {
        x
    }
    fn numbers(xs: Vec<f64>) -> Numbers {
        Numbers::Real(xs)
    }
}

impl Real for f32 {
    fn new(x: f64) -> f32 {
        x as f32
    }
    fn numbers(xs: Vec<f32>) -> Numbers {
        Numbers::Single(xs)
    }
}

/// The value whose leaves these are.
pub fn to_value<N: Real>(layout: &Layout, leaves: &[Tensor]) -> Value<N> {
    build(layout, leaves, 0, 0)
}

/// The element `at` (counted through the `depth` outer dimensions) of the leaves of a layout.
fn build<N: Real>(layout: &Layout, leaves: &[Tensor], depth: usize, at: usize) -> Value<N> {
    match layout {
        Layout::Scalar(_) => match &leaves[0].data {
            Numbers::Real(xs) => Value::Real(N::new(xs[at])),
            Numbers::Single(xs) => Value::Real(N::new(xs[at].into())),
            Numbers::Int(xs) => Value::Int(xs[at]),
            Numbers::Bool(xs) => Value::Bool(xs[at]),
        },
        Layout::Tuple(_) | Layout::Record(_) => {
            let mut rest = leaves;
            Value::tuple(layout.parts().into_iter().map(|t| {
                let (own, others) = rest.split_at(t.leaf_count());
                rest = others;
                build(t, own, depth, at)
            }))
        }
        // As the normal form has it: the tag and every payload.
        Layout::Sum(_) => {
            let (tag, mut rest) = leaves.split_at(1);
            let tag = build(&Layout::Scalar(Scalar::Int), tag, depth, at);
            let payloads = layout.parts().into_iter().map(|t| {
                let (own, others) = rest.split_at(t.leaf_count());
                rest = others;
                build(t, own, depth, at)
            });
            Value::tuple(std::iter::once(tag).chain(payloads))
        }
        Layout::Array(n, t) => {
            // An array of nothing has no leaf to tell its length; a constant size is all there can be.
            let length = match leaves.first() {
                Some(leaf) => leaf.shape[depth],
                None => n.as_constant().unwrap_or(0).max(0) as usize,
            };
            Value::array((0..length).map(|i| build(t, leaves, depth + 1, at * length + i)))
        }
    }
}

/// What must stand where a payload is not meant is 0.
fn or_unread<N, T>(v: &Value<N>, x: Option<T>, zero: T) -> Option<T> {
    x.or_else(|| matches!(v, Value::Unread).then_some(zero))
}

fn component<N: Real>(v: &Value<N>, i: usize) -> Option<&Value<N>> {
    match v {
        Value::Unread => Some(v),
        v => v.as_tuple()?.get(i),
    }
}

/// Leaves with 0 for the payloads that are not meant, so that equal values have equal leaves.
pub fn canonical(layout: &Layout, leaves: &mut [Tensor]) {
    match layout {
        Layout::Scalar(_) => {}
        Layout::Tuple(_) | Layout::Record(_) => {
            let mut rest = leaves;
            for t in layout.parts() {
                let (own, others) = rest.split_at_mut(t.leaf_count());
                canonical(t, own);
                rest = others;
            }
        }
        Layout::Array(_, t) => canonical(t, leaves),
        Layout::Sum(_) => {
            let (tags, mut rest) = leaves.split_at_mut(1);
            let Numbers::Int(tags) = &tags[0].data else { return };
            for (k, t) in layout.parts().into_iter().enumerate() {
                let (own, others) = rest.split_at_mut(t.leaf_count());
                canonical(t, own);
                for leaf in own {
                    let each = leaf.data.len() / tags.len().max(1);
                    for (i, _) in tags.iter().enumerate().filter(|(_, tag)| **tag != k as i64) {
                        let range = i * each..(i + 1) * each;
                        match &mut leaf.data {
                            Numbers::Real(xs) => xs[range].fill(0.0),
                            Numbers::Single(xs) => xs[range].fill(0.0),
                            Numbers::Int(xs) => xs[range].fill(0),
                            Numbers::Bool(xs) => xs[range].fill(false),
                        }
                    }
                }
                rest = others;
            }
        }
    }
}

/// The leaves of a value; None where it is not of that layout.
pub fn to_leaves<N: Real>(layout: &Layout, value: &Value<N>) -> Option<Vec<Tensor>> {
    let mut out = vec![];
    take(layout, &[value], vec![], &Value::Unread, &mut out)?;
    Some(out)
}

/// Takes apart the elements of an array with the given outer shape, all of one layout; `unread` stands for payloads that are not meant.
fn take<N: Real>(
    layout: &Layout,
    values: &[&Value<N>],
    shape: Vec<usize>,
    unread: &Value<N>,
    out: &mut Vec<Tensor>,
) -> Option<()> {
    match layout {
        Layout::Scalar(s) => {
            let all = values.iter();
            let data = match s {
                Scalar::Real => {
                    N::numbers(all.map(|v| or_unread(v, v.as_real(), N::zero())).collect::<Option<_>>()?)
                }
                Scalar::Int => Numbers::Int(all.map(|v| or_unread(v, v.as_int(), 0)).collect::<Option<_>>()?),
                Scalar::Bool => {
                    Numbers::Bool(all.map(|v| or_unread(v, v.as_bool(), false)).collect::<Option<_>>()?)
                }
            };
            out.push(Tensor { shape, data });
        }
        Layout::Tuple(_) | Layout::Record(_) => {
            let parts = layout.parts();
            for (i, t) in parts.into_iter().enumerate() {
                let column: Option<Vec<_>> = values.iter().map(|v| component(v, i)).collect();
                take(t, &column?, shape.clone(), unread, out)?;
            }
        }
        Layout::Sum(_) => {
            let tags: Option<Vec<_>> = values.iter().map(|v| component(v, 0)).collect();
            let tags = tags?;
            take(&Layout::Scalar(Scalar::Int), &tags, shape.clone(), unread, out)?;
            for (i, t) in layout.parts().into_iter().enumerate() {
                let mut column = vec![];
                for (v, tag) in values.iter().zip(&tags) {
                    let meant = tag.as_int() == Some(i as i64);
                    column.push(if meant { component(v, i + 1)? } else { unread });
                }
                take(t, &column, shape.clone(), unread, out)?;
            }
        }
        Layout::Array(n, t) => {
            let known = values.iter().filter(|v| !matches!(v, Value::Unread));
            let rows: Vec<&[Value<N>]> = known.map(|v| v.as_array()).collect::<Option<_>>()?;
            // With no row there is nothing to see: the size is told if it is a constant.
            let length = rows.first().map_or(n.as_constant().unwrap_or(0).max(0) as usize, |r| r.len());
            if rows.iter().any(|r| r.len() != length) {
                return None;
            }
            let none = vec![unread; length];
            let mut elements: Vec<&Value<N>> = vec![];
            for v in values {
                match v.as_array() {
                    Some(row) => elements.extend(row),
                    None => elements.extend(&none),
                }
            }
            let shape = shape.into_iter().chain([length]).collect();
            take(t, &elements, shape, unread, out)?;
        }
    }
    Some(())
}
