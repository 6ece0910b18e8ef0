//! How a first-order value lies in memory: tuples come apart, arrays of tuples are tuples of arrays. A value of type τ is the list of
//! its leaves, in order; a leaf is a scalar array (row-major, rank 0 for a scalar). Entry points, emission and data agree by this file.

use crate::prim::Scalar;
use crate::size::Size;
use crate::types::Type;

#[derive(Clone, PartialEq, Debug)]
pub struct Leaf {
    pub scalar: Scalar,
    pub shape: Vec<Size>,
}

/// The leaves of a first-order type, in order. A sum has its tag (int) first and then the leaves of every summand. None at a function or a type parameter.
pub fn leaves(ty: &Type) -> Option<Vec<Leaf>> {
    let mut out = vec![];
    collect(ty, &mut vec![], &mut out).then_some(out)
}

fn collect(ty: &Type, shape: &mut Vec<Size>, out: &mut Vec<Leaf>) -> bool {
    let mut leaf = |scalar| {
        out.push(Leaf { scalar, shape: shape.clone() });
        true
    };
    match ty {
        Type::Real => leaf(Scalar::Real),
        Type::Int => leaf(Scalar::Int),
        Type::Bool => leaf(Scalar::Bool),
        Type::Tuple(ts) => ts.iter().all(|t| collect(t, shape, out)),
        Type::Sum(ts) => leaf(Scalar::Int) && ts.iter().all(|t| collect(t, shape, out)),
        Type::Array(n, t) => {
            shape.push(n.clone());
            let ok = collect(t, shape, out);
            shape.pop();
            ok
        }
        Type::Fun(..) | Type::Lin(..) | Type::Param(_) => false,
    }
}
