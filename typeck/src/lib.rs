//! Which programs make sense: names, types, sizes, linearity. Surface syntax in, explicitly typed Core out.
//!
//! | module | what it does |
//! |---|---|
//! | [`items`] | files and definitions; the functions that the command line calls |
//! | [`env`], [`ty`], [`unify`], [`deferred`] | names in scope; types and sizes under inference; constraints that wait |
//! | [`infer`], [`calls`], [`patterns`], [`linear`] | surface expressions to the typed [`tree`] |
//! | [`existential`] | sizes that the arguments do not determine |
//! | [`elaborate`], [`diff`] | the typed tree to Core and its linear terms |
//! | [`builtin`] | the built-in functions, one row each |
//! | [`modules`] | what a file exports, and the names of what it imports |
//! | [`check`] | the checker of Core and Target terms |
//! | [`codes`], [`suggest`], [`names`] | error codes; likely names; free names |

pub mod builtin;
pub mod calls;
pub mod check;
pub mod codes;
pub mod deferred;
pub mod diff;
pub mod elaborate;
pub mod env;
pub mod existential;
pub mod infer;
pub mod items;
pub mod linear;
pub mod modules;
pub mod names;
pub mod patterns;
pub mod suggest;
pub mod tree;
pub mod ty;
pub mod unify;

pub use env::{Signature, Signatures};
pub use items::{
    Checked, Input, TestCase, check_def, check_def_at, check_file, check_module, check_test, signatures,
    signatures_of,
};
