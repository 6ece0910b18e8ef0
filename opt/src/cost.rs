//! What scalar terms cost, in the operations that the rows of the primitives count.

use lang::core::Term;

/// Computing again costs at most this many counted operations; what costs more is kept.
pub const CHEAP: u32 = 6;

/// Of a scalar that is made of cheap operations on variables alone.
pub fn of_scalar(t: &Term) -> Option<u32> {
    counted(t, false)
}

/// Of an element that is made of cheap operations, of branches and of what is read from arrays.
pub fn of_element(t: &Term) -> Option<u32> {
    counted(t, true)
}

fn counted(t: &Term, reads: bool) -> Option<u32> {
    let mut sum = 0;
    let mut parts: Vec<&Term> = vec![t];
    while let Some(t) = parts.pop() {
        match t {
            Term::Prim(p, ts) if p.row().cost <= CHEAP => {
                sum += p.row().cost;
                parts.extend(ts.iter().map(|t| &**t));
            }
            Term::Let(_, a, b) => parts.extend([&**a, &**b]),
            Term::Index(a, b, _) if reads => parts.extend([&**a, &**b]),
            Term::If(c, a, b) if reads => parts.extend([&**c, &**a, &**b]),
            Term::Proj(a, _) if reads => parts.push(a),
            Term::Tuple(ts) if reads => parts.extend(ts.iter().map(|t| &**t)),
            Term::Check { cond, body, .. } if reads => parts.extend([&**cond, &**body]),
            Term::Var(_) | Term::Lit(_) => {}
            Term::Prim(..)
            | Term::Index(..)
            | Term::If(..)
            | Term::Proj(..)
            | Term::Tuple(_)
            | Term::Check { .. }
            | Term::Build { .. }
            | Term::Inject(..)
            | Term::Case(..)
            | Term::Lam(..)
            | Term::App(..)
            | Term::Update { .. }
            | Term::Array(..)
            | Term::Sum { .. }
            | Term::Extremum { .. }
            | Term::Loop { .. }
            | Term::While { .. }
            | Term::Argsort(_)
            | Term::Call { .. }
            | Term::Diff { .. }
            | Term::Detach(_)
            | Term::LinLam(..)
            | Term::LinApp(..)
            | Term::Unread(_)
            | Term::Box(_)
            | Term::Unbox(..)
            | Term::Zero(_) => return None,
        }
    }
    Some(sum)
}
