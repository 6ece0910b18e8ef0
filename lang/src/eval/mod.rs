//! The evaluator of Core and Target: what a term means, and what it costs. It is the specification every other engine is
//! compared with: the arms follow the grammar one by one ([`cartesian`], [`linear`]), nothing is clever.
//!
//! It is generic in the numbers ([`Number`]): doubles, or exact rationals, where an operation without exact result is an error.
//! Differentiation operators ([`crate::core::Term::Diff`]) must have been resolved before.
//!
//! Decisions that other engines follow:
//!  * Σ adds in index order to 0.0 (so a sum of −0 is +0). A linear Σ starts from the structural zero.
//!  * An extremum starts from ∓∞ and takes an element that is greater (less) than what it has, or that is NaN when what it has is not: NaN
//!    propagates, of equal elements the first stays.
//!  * A loop or array of negative bound is empty (the program checks sizes where they arise).
//!  * An array is read by reference: storing an array into an array counts as one element.
//!
//! Evaluation recurses as deep as the term; the functions here run on a big stack ([`crate::big_stack`]).

mod cartesian;
mod env;
mod linear;
pub mod number;
mod rational;
pub mod value;

#[cfg(test)]
mod tests;

pub use number::{Answer, Atom, Number};
pub use value::{LinValue, Value};

use crate::big_stack;
use crate::core::{Binder, Program, Tm};
use crate::diag::{Failure, Site};
use crate::target::{LBinder, Lin};
use env::Env;
use std::collections::HashMap;
use std::fmt;

/// Why there is no value.
#[derive(Clone, PartialEq, Debug)]
pub enum EvalError {
    /// The program failed, at a place of its text.
    Failed { failure: Failure, site: Site, details: Vec<i64> },
    /// This operation has no exact value in the chosen numbers.
    Inexact { operation: String },
    /// A limit of the evaluation was reached.
    Limit(Limit),
    /// The program is not well typed, still contains a differentiation operator, or is wrong in a way only a compiler bug explains.
    Bug(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// More steps than allowed.
    Steps(u64),
    /// More calls inside one another than this.
    Calls(u32),
    /// Terms or functions nested deeper than the stack allows.
    Depth,
    /// An array longer than this.
    Length(u64),
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::Failed { failure, site, details } => {
                write!(f, "{failure:?} {details:?} in {} at {}", site.def, site.span.start)
            }
            EvalError::Inexact { operation } => write!(f, "{operation} is not exact"),
            EvalError::Limit(Limit::Steps(n)) => write!(f, "not finished after {n} steps"),
            EvalError::Limit(Limit::Calls(n)) => write!(f, "recursion deeper than {n} calls"),
            EvalError::Limit(Limit::Depth) => write!(f, "recursion too deep"),
            EvalError::Limit(Limit::Length(n)) => write!(f, "an array of more than {n} elements"),
            EvalError::Bug(message) => write!(f, "compiler bug: {message}"),
        }
    }
}

impl std::error::Error for EvalError {}

pub type Eval<T> = Result<T, EvalError>;

/// What an evaluation may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Terms evaluated.
    pub steps: u64,
    /// Elements of one array.
    pub length: u64,
    /// Calls of definitions inside one another.
    pub calls: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: u64::MAX, length: 1 << 28, calls: u32::MAX }
    }
}

/// Counted operations (chad.md §7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Σ of the cost columns of the primitives applied.
    pub operations: u64,
    /// Elements read, written, copied or filled.
    pub elements: u64,
    pub iterations: u64,
    pub branches: u64,
    pub calls: u64,
    /// Additions and scalings of linear values.
    pub monoid: u64,
}

impl Cost {
    pub fn total(&self) -> u64 {
        self.operations + self.elements + self.iterations + self.branches + self.calls + self.monoid
    }
}

/// One evaluation: the program it is in and what it has used.
pub(crate) struct Machine<'p> {
    program: &'p Program,
    limits: Limits,
    steps: u64,
    /// Calls being evaluated.
    calls: u32,
    cost: Cost,
    /// What [`crate::core::Term::Box`] keeps, by handle.
    boxes: Vec<Box<dyn std::any::Any>>,
}

impl Machine<'_> {
    /// Accounts for the evaluation of one term.
    fn step(&mut self) -> Eval<()> {
        self.steps += 1;
        if self.steps > self.limits.steps {
            return Err(EvalError::Limit(Limit::Steps(self.limits.steps)));
        }
        if big_stack::low() { Err(EvalError::Limit(Limit::Depth)) } else { Ok(()) }
    }
}

fn bug<T>(message: impl Into<String>) -> Eval<T> {
    Err(EvalError::Bug(message.into()))
}

/// Runs one evaluation on a big stack.
fn with_machine<T: Send>(
    program: &Program,
    limits: Limits,
    f: impl FnOnce(&mut Machine<'_>) -> Eval<T> + Send,
) -> Eval<(T, Cost)> {
    big_stack::run(|| {
        let mut machine =
            Machine { program, limits, steps: 0, calls: 0, cost: Cost::default(), boxes: vec![] };
        let value = f(&mut machine)?;
        Ok((value, machine.cost))
    })
}

/// The value of a definition at arguments, and its cost. Arguments have the parameters' types at the given sizes.
pub fn run<N: Number>(
    program: &Program,
    def: &str,
    args: &[Value<N>],
    sizes: &[i64],
) -> Eval<(Value<N>, Cost)> {
    run_within(Limits::default(), program, def, args, sizes)
}

pub fn run_within<N: Number>(
    limits: Limits,
    program: &Program,
    def: &str,
    args: &[Value<N>],
    sizes: &[i64],
) -> Eval<(Value<N>, Cost)> {
    with_machine(program, limits, |m| Ok(m.enter(def, HashMap::new(), sizes, args.to_vec())?.settle()))
}

/// The value of a term under an assignment of its free variables.
pub fn term<N: Number>(program: &Program, t: &Tm, vars: &[(Binder, Value<N>)]) -> Eval<(Value<N>, Cost)> {
    with_machine(program, Limits::default(), |m| Ok(m.term(t, &assign(vars, &[]))?.settle()))
}

/// The value of a linear term.
pub fn linear<N: Number>(
    program: &Program,
    t: &Lin,
    vars: &[(Binder, Value<N>)],
    lins: &[(LBinder, LinValue<N>)],
) -> Eval<(LinValue<N>, Cost)> {
    with_machine(program, Limits::default(), |m| m.lin(t, &assign(vars, lins)))
}

/// f applied to an argument: f a value of type τ → σ.
pub fn apply<N: Number>(program: &Program, f: &Value<N>, arg: Value<N>) -> Eval<(Value<N>, Cost)> {
    with_machine(program, Limits::default(), |m| Ok(m.apply(f, arg)?.settle()))
}

/// L • v: L a value of type τ̲ ⊸ σ̲.
pub fn apply_linear<N: Number>(
    program: &Program,
    map: &Value<N>,
    arg: LinValue<N>,
) -> Eval<(LinValue<N>, Cost)> {
    with_machine(program, Limits::default(), |m| m.apply_linear(map, arg))
}

/// a + b in the monoid of a linear type.
pub fn plus<N: Number>(a: &LinValue<N>, b: &LinValue<N>) -> Eval<LinValue<N>> {
    let program = Program::default();
    Ok(with_machine(&program, Limits::default(), |m| m.plus(a.clone(), b.clone()))?.0)
}

fn assign<N: Number>(vars: &[(Binder, Value<N>)], lins: &[(LBinder, LinValue<N>)]) -> Env<N> {
    let mut env = Env::new(HashMap::new());
    for (x, v) in vars {
        env.bind(x, v.clone());
    }
    for (z, v) in lins {
        env.bind_lin(&z.var, v.clone());
    }
    env
}
