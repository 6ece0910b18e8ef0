//! First-order values and their leaves ([`crate::leaves`]): how an evaluator's value becomes the arguments of a procedure, and the
//! results of one a value.

use crate::eval::Value;
use crate::loops::eval::{Arg, Array, Data};
use crate::size::Size;
use crate::types::Type;

/// The value that a size has where it is asked for.
pub type Sizes<'s> = &'s dyn Fn(&Size) -> Option<i64>;

/// The leaves of a value. None where it is not of the type, or a size has no value.
pub fn flatten(ty: &Type, value: &Value<f64>, sizes: Sizes) -> Option<Vec<Array>> {
    let mut out = vec![];
    take(ty, &[Some(value)], vec![], sizes, &mut out)?;
    Some(out)
}

/// Takes elements of one type apart, which fill an array of the given shape. An element is None in a summand that it is not in: its
/// leaves are zeros there.
fn take(
    ty: &Type,
    values: &[Option<&Value<f64>>],
    shape: Vec<usize>,
    sizes: Sizes,
    out: &mut Vec<Array>,
) -> Option<()> {
    fn all<T: Default>(
        values: &[Option<&Value<f64>>],
        f: impl Fn(&Value<f64>) -> Option<T>,
    ) -> Option<Vec<T>> {
        values.iter().map(|v| v.map_or(Some(T::default()), &f)).collect()
    }
    match ty {
        Type::Real => out.push(Array { shape, data: Data::Real(all(values, Value::as_real)?) }),
        Type::Int => out.push(Array { shape, data: Data::Int(all(values, Value::as_int)?) }),
        Type::Bool => out.push(Array { shape, data: Data::Bool(all(values, Value::as_bool)?) }),
        Type::Tuple(ts) => {
            for (k, t) in ts.iter().enumerate() {
                let mut parts = Vec::with_capacity(values.len());
                for v in values {
                    parts.push(match v {
                        Some(v) => Some(v.as_tuple()?.get(k)?),
                        None => None,
                    });
                }
                take(t, &parts, shape.clone(), sizes, out)?;
            }
        }
        Type::Sum(ts) => {
            let tag = |v: &Value<f64>| match v {
                Value::Inject(k, _) => Some(*k as i64),
                _ => None,
            };
            out.push(Array { shape: shape.clone(), data: Data::Int(all(values, tag)?) });
            for (k, t) in ts.iter().enumerate() {
                let mut payloads = Vec::with_capacity(values.len());
                for v in values {
                    payloads.push(match v {
                        Some(Value::Inject(i, v)) if *i == k => Some(&**v),
                        _ => None,
                    });
                }
                take(t, &payloads, shape.clone(), sizes, out)?;
            }
        }
        Type::Array(n, t) => {
            let length = usize::try_from(sizes(n)?.max(0)).ok()?;
            let mut elements = Vec::with_capacity(values.len() * length);
            for v in values {
                match v {
                    Some(v) if Value::as_array(v)?.len() == length => {
                        elements.extend(Value::as_array(v)?.iter().map(Some));
                    }
                    Some(_) => return None,
                    None => elements.extend((0..length).map(|_| None)),
                }
            }
            take(t, &elements, shape.into_iter().chain([length]).collect(), sizes, out)?;
        }
        Type::Fun(..) | Type::Lin(..) | Type::Param(_) => return None,
    }
    Some(())
}

/// The value whose leaves come next, row-major. None where they are not leaves of the type.
pub fn unflatten(ty: &Type, leaves: &mut dyn Iterator<Item = &Array>, sizes: Sizes) -> Option<Value<f64>> {
    give(ty, 1, leaves, sizes)?.pop()
}

/// As many elements of one type, in order.
fn give(
    ty: &Type,
    count: usize,
    leaves: &mut dyn Iterator<Item = &Array>,
    sizes: Sizes,
) -> Option<Vec<Value<f64>>> {
    let values: Vec<Value<f64>> = match ty {
        Type::Real | Type::Int | Type::Bool => match (ty, &leaves.next()?.data) {
            (Type::Real, Data::Real(xs)) => xs.iter().map(|x| Value::Real(*x)).collect(),
            (Type::Int, Data::Int(xs)) => xs.iter().map(|k| Value::Int(*k)).collect(),
            (Type::Bool, Data::Bool(xs)) => xs.iter().map(|b| Value::Bool(*b)).collect(),
            (_, Data::Real(_) | Data::Int(_) | Data::Bool(_)) => return None,
        },
        Type::Tuple(ts) => {
            let mut columns = vec![];
            for t in ts.iter() {
                columns.push(give(t, count, leaves, sizes)?.into_iter());
            }
            (0..count)
                .map(|_| columns.iter_mut().map(Iterator::next).collect())
                .map(tuple)
                .collect::<Option<_>>()?
        }
        Type::Sum(ts) => {
            let Data::Int(tags) = &leaves.next()?.data else { return None };
            let mut columns = vec![];
            for t in ts.iter() {
                columns.push(give(t, count, leaves, sizes)?);
            }
            let chosen = tags.iter().enumerate().map(|(at, k)| {
                let k = usize::try_from(*k).ok()?;
                Some(Value::inject(k, columns.get(k)?.get(at)?.clone()))
            });
            chosen.collect::<Option<_>>()?
        }
        Type::Array(n, t) => {
            let length = usize::try_from(sizes(n)?.max(0)).ok()?;
            let mut elements = give(t, count * length, leaves, sizes)?.into_iter();
            (0..count).map(|_| Value::array(elements.by_ref().take(length).collect::<Vec<_>>())).collect()
        }
        Type::Fun(..) | Type::Lin(..) | Type::Param(_) => return None,
    };
    (values.len() == count).then_some(values)
}

fn tuple(parts: Option<Vec<Value<f64>>>) -> Option<Value<f64>> {
    parts.map(Value::tuple)
}

/// A leaf as a procedure takes it: of rank 0, a scalar.
pub fn argument(leaf: Array) -> Arg {
    match (leaf.shape.is_empty(), &leaf.data) {
        (true, Data::Real(xs)) => Arg::Scalar(crate::core::Lit::Real(xs[0])),
        (true, Data::Int(xs)) => Arg::Scalar(crate::core::Lit::Int(xs[0])),
        (true, Data::Bool(xs)) => Arg::Scalar(crate::core::Lit::Bool(xs[0])),
        (false, _) => Arg::Array(leaf),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(n: &Size) -> Option<i64> {
        n.eval(&|_| Some(2))
    }

    #[test]
    fn leaves_are_columns() {
        let n = Size::var(crate::name::Supply::default().fresh("n"));
        let pair = Type::tuple([Type::Real, Type::array(n.clone(), Type::Int)]);
        let ty = Type::array(n, pair);
        let row = |x, j, k| Value::tuple([Value::Real(x), Value::array([Value::Int(j), Value::Int(k)])]);
        let v = Value::array([row(0.5, 1, 2), row(1.5, 3, 4)]);
        let leaves = flatten(&ty, &v, &two).unwrap();
        assert_eq!(leaves, [Array::reals([2], [0.5, 1.5]), Array::ints([2, 2], [1, 2, 3, 4])]);
        assert!(unflatten(&ty, &mut leaves.iter(), &two).unwrap().same(&v));
        assert!(flatten(&ty, &Value::array([row(0.5, 1, 2)]), &two).is_none());
    }

    #[test]
    fn a_sum_is_its_tag_and_every_summand() {
        let ty = Type::Sum([Type::Real, Type::tuple([Type::Bool, Type::Real])].into());
        let v = Value::inject(1, Value::tuple([Value::Bool(true), Value::Real(2.0)]));
        let leaves = flatten(&ty, &v, &two).unwrap();
        assert_eq!(leaves.len(), 4);
        assert_eq!(leaves[0], Array::ints([], [1]));
        assert!(unflatten(&ty, &mut leaves.iter(), &two).unwrap().same(&v));
    }
}
