//! D op and its transpose, both read off the row's partials: Dop(a; v) = Σ ∂i(a) · vi and (Dop)ᵗ(a; w) = ⟨∂i(a) · w⟩i.
//! Guarded arms become `if`; an argument whose partial is the structural zero gets nothing.

use lang::core::Tm;
use lang::core::make::real;
use lang::prim::{Derivative, Partial, Prim};
use lang::target::Lin;
use lang::target::make::{if_, plus, scale, zero};
use lang::types::LType;

/// Dop(a; v) : σ̲ with op's value y = op(a).
pub fn d_op(op: Prim, a: &[Tm], y: &Tm, of: &LType, v: impl Fn(usize) -> Lin) -> Lin {
    arms(op, a, of, &|i, partial| apply(partial, a, y, v(i)))
}

/// Σi back(i, ∂i · w) : τ̲, that is L • (Dop)ᵗ(a; w) for an L with components `back`.
pub fn d_op_transposed(
    op: Prim,
    a: &[Tm],
    y: &Tm,
    of: &LType,
    w: &Lin,
    back: impl Fn(usize, Lin) -> Lin,
) -> Lin {
    arms(op, a, of, &|i, partial| Some(back(i, apply(partial, a, y, w.clone())?)))
}

/// The arms of the row as a chain of `if`, each the sum of its arguments' terms.
fn arms(op: Prim, a: &[Tm], of: &LType, term: &dyn Fn(usize, &Partial) -> Option<Lin>) -> Lin {
    match &op.row().derivative {
        Derivative::ByType => zero(of.clone()),
        Derivative::Arms(arms) => {
            let arm =
                |partials: &[Partial]| sum(of, partials.iter().enumerate().filter_map(|(i, p)| term(i, p)));
            let (last, guarded) = arms.split_last().expect("a row has a last arm");
            guarded.iter().rev().fold(arm(last.partials), |rest, one| match one.when {
                Some(guard) => if_(guard(a), arm(one.partials), rest),
                None => arm(one.partials),
            })
        }
    }
}

/// ∂ · v, or nothing.
fn apply(partial: &Partial, a: &[Tm], y: &Tm, v: Lin) -> Option<Lin> {
    match partial {
        Partial::Zero => None,
        Partial::One => Some(v),
        Partial::MinusOne => Some(scale(real(-1.0), v)),
        Partial::Of(factor) => Some(scale(factor(a, y), v)),
    }
}

/// t1 + … + tk, 0̲ : τ̲ when there is none.
pub fn sum(of: &LType, terms: impl IntoIterator<Item = Lin>) -> Lin {
    terms.into_iter().reduce(plus).unwrap_or_else(|| zero(of.clone()))
}
