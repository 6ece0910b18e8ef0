//! The functor D: Core to Target, forward and reverse (chad.md §4, §6), literally. Nothing is simplified here; `opt` does that.
//!
//! | module | what it is |
//! |---|---|
//! | `forward`, `reverse` | the rules, one arm each in the order of the calculus |
//! | `shared` | their primal parts, which both modes have in common |
//! | `prim` | D op and its transpose, from the row's partials |
//! | `context` | Γ and Γ̲, sub-derivatives |
//! | `derive` | D of definitions, memoised by name, and of the λ under a differentiation operator |
//! | `transpose` | linear terms transposed |
//! | [`rules`] | the rules by name, counted |
//! | `error` | what is rejected |
//!
//! **Shapes.** A sub-derivative ⟨p, L⟩ = D(t) is bound by `let d = … in`, and its uses are `d.0`, `d.1`; families under `build`, `Σ` and `max` are
//! bound as an array of pairs `ds`; loops carry each step's map as an output. Primal variables keep their names. With Γ = x : real,
//! D← of `x * x` is
//!
//! ```text
//! let d1 : (real, real -o ((), real)) = (x, \(w : real) -o coproj[((), real)] 0 w) in
//! let d2 : (real, real -o ((), real)) = (x, \(w : real) -o coproj[((), real)] 0 w) in
//! let y : real = d1.0 * d2.0 in
//! (y, \(w : real) -o d1.1 (d2.0 * w) + d2.1 (d1.0 * w))
//! ```
//!
//! D← of `let u = sin x in u * x`, where the body is differentiated in Γ, u:
//!
//! ```text
//! let d1 = (let d2 = (x, …) in let y = sin d2.0 in (y, \(w : real) -o d2.1 (cos d2.0 * w))) in
//! let u : real = d1.0 in
//! let d3 = (… D← of u * x at the environment (((), real), real) …) in
//! (d3.0, \(w : real) -o let (z : (((), real), real)) = d3.1 w in z.0 + d1.1 z.1)
//! ```
//!
//! and of `Σ_{i<n} xs[i] * xs[i]`, whose body is differentiated in Γ, i (an int has cotangent `()`):
//!
//! ```text
//! let ds : [n](real, real -o (((), real^n), ())) = [ … D← of xs[i] * xs[i] … | i < n ] in
//! (Σ_{i<n} ds[i].0, \(w : real) -o suml i < n -> (ds[i].1 w).0)
//! ```
//!
//! The definition `sq'rev` closes the first over the plain tuple of its parameters:
//!
//! ```text
//! let d = D← of the body in (d.0, \(w : real) -o let (z : ((), real)) = d.1 w in envproj 0 z)
//! ```
//!
//! Variables that are free in the term and not in Γ are constants. A linear map or a derivative inside the term must be one too: over an active
//! variable it is rejected, not answered with 0.

mod context;
mod derive;
mod error;
mod forward;
mod prim;
mod reverse;
pub mod rules;
mod shared;
mod transpose;

pub use derive::{derive, derive_lambda, derived, resolve, resolve_diff};
pub use error::{AdError, Reason};
pub use shared::derivative_name;
pub use transpose::transpose;
