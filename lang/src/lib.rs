//! What programs are and what they mean.
//!
//! | module | what it is |
//! |---|---|
//! | [`name`], [`size`], [`types`] | variables, size polynomials, Cartesian and linear types (chad.md §1–§3) |
//! | [`core`] | the source calculus, chad.md §1 and §6 |
//! | [`target`] | the linear target calculus, chad.md §2 |
//! | [`precision`] | reals of double or of single precision |
//! | [`prim`] | the table of primitive operations, one row each |
//! | [`loops`] | the loop IR: structured loops over buffers in machine vocabulary |
//! | [`walk`] | the traversals every pass shares |
//! | [`calls`] | which definitions call which |
//! | [`typing`] | the type of a well-typed term |
//! | [`surface`] | the language as written: syntax tree, lexer, parser, printer |
//! | [`flat`] | first-order values and their leaves |
//! | [`eval`] | the evaluator of Core and Target, the specification; runs on a [`big_stack`] |
//! | [`distill`] | Core and Target back to surface syntax |
//! | [`diag`] | diagnostics and source places |

pub mod big_stack;
pub mod calls;
pub mod core;
pub mod diag;
pub mod distill;
pub mod eval;
pub mod flat;
pub mod leaves;
pub mod loops;
pub mod name;
pub mod precision;
pub mod prim;
pub mod size;
pub mod surface;
pub mod target;
pub mod types;
pub mod typing;
pub mod walk;
