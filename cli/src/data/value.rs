//! Leaves to values of the evaluators and back.

use super::{Layout, Numbers, Tensor};
use lang::eval::Value;
use lang::prim::Scalar;

/// The value whose leaves these are.
pub fn to_value(layout: &Layout, leaves: &[Tensor]) -> Value<f64> {
    build(layout, leaves, 0, 0)
}

/// The element `at` (counted through the `depth` outer dimensions) of the leaves of a layout.
fn build(layout: &Layout, leaves: &[Tensor], depth: usize, at: usize) -> Value<f64> {
    match layout {
        Layout::Scalar(_) => match &leaves[0].data {
            Numbers::Real(xs) => Value::Real(xs[at]),
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

/// The leaves of a value; None where it is not of that layout.
pub fn to_leaves(layout: &Layout, value: &Value<f64>) -> Option<Vec<Tensor>> {
    let mut out = vec![];
    take(layout, &[value], vec![], &mut out)?;
    Some(out)
}

/// Takes apart the elements of an array with the given outer shape, all of one layout.
fn take(layout: &Layout, values: &[&Value<f64>], shape: Vec<usize>, out: &mut Vec<Tensor>) -> Option<()> {
    match layout {
        Layout::Scalar(s) => {
            let all = values.iter();
            let data = match s {
                Scalar::Real => Numbers::Real(all.map(|v| v.as_real()).collect::<Option<_>>()?),
                Scalar::Int => Numbers::Int(all.map(|v| v.as_int()).collect::<Option<_>>()?),
                Scalar::Bool => Numbers::Bool(all.map(|v| v.as_bool()).collect::<Option<_>>()?),
            };
            out.push(Tensor { shape, data });
        }
        Layout::Tuple(_) | Layout::Record(_) => {
            let parts = layout.parts();
            for (i, t) in parts.into_iter().enumerate() {
                let column: Option<Vec<_>> = values.iter().map(|v| v.as_tuple()?.get(i)).collect();
                take(t, &column?, shape.clone(), out)?;
            }
        }
        Layout::Array(n, t) => {
            let rows: Vec<&[Value<f64>]> = values.iter().map(|v| v.as_array()).collect::<Option<_>>()?;
            // With no row there is nothing to see: the size is told if it is a constant.
            let length = rows.first().map_or(n.as_constant().unwrap_or(0).max(0) as usize, |r| r.len());
            if rows.iter().any(|r| r.len() != length) {
                return None;
            }
            let elements: Vec<_> = rows.into_iter().flatten().collect();
            let shape = shape.into_iter().chain([length]).collect();
            take(t, &elements, shape, out)?;
        }
    }
    Some(())
}
