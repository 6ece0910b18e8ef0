//! Doubles that notice branches: every comparison and every step to an integer leaves its outcome in a trace, and how far the
//! operands were from another outcome. Two evaluations with one trace lie on the same smooth piece of a program.

use lang::big_stack;
use lang::core::{Lit, Program};
use lang::eval::{Answer, Atom, Eval, Limits, Number, Value, run_within};
use lang::prim::Prim;
use std::cell::Cell;
use std::cmp::Ordering;

thread_local! {
    static SEEN: Cell<Seen> = const { Cell::new(Seen { margin: f64::INFINITY, trace: 0 }) };
}

/// What an evaluation decided.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Seen {
    /// The smallest distance of a decision from being another.
    pub margin: f64,
    /// A hash of the outcomes.
    pub trace: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Marked(pub f64);

fn decide(distance: f64, outcome: u64) {
    let seen = SEEN.get();
    let trace = (seen.trace.rotate_left(5) ^ outcome).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    SEEN.set(Seen { margin: seen.margin.min(distance.abs()), trace });
}

impl Number for Marked {
    fn of(x: f64) -> Option<Marked> {
        Some(Marked(x))
    }
    fn zero() -> Marked {
        Marked(0.0)
    }
    fn plus(&self, other: &Marked) -> Marked {
        Marked(self.0 + other.0)
    }
    fn times(&self, other: &Marked) -> Marked {
        Marked(self.0 * other.0)
    }
    fn prim(p: Prim, args: &[Atom<Marked>]) -> Answer<Marked> {
        let lits: Vec<Lit> = args.iter().map(lit).collect();
        let real = |i: usize| lang::prim::real(lits[i]);
        let to_step = |x: f64| x - x.round();
        match p {
            Prim::Eq | Prim::Ne | Prim::Lt | Prim::Le | Prim::Min | Prim::Max => {
                decide(real(0) - real(1), u64::from(real(0) < real(1)));
            }
            Prim::Sign | Prim::Abs | Prim::Relu => decide(real(0), u64::from(real(0) < 0.0)),
            Prim::Floor | Prim::Ceil | Prim::Trunc | Prim::FloorInt | Prim::CeilInt | Prim::TruncInt => {
                decide(to_step(real(0)), real(0).floor().to_bits());
            }
            Prim::Round | Prim::RoundInt => decide(to_step(real(0) + 0.5), real(0).round().to_bits()),
            Prim::Mod | Prim::Rem => {
                let quotient = real(0) / real(1);
                decide(to_step(quotient), quotient.floor().to_bits());
            }
            _ => {}
        }
        Answer::Value(match (p.row().eval)(&lits) {
            Lit::Real(x) => Atom::Real(Marked(x)),
            Lit::Int(k) => Atom::Int(k),
            Lit::Bool(b) => Atom::Bool(b),
        })
    }
    fn order(&self, other: &Marked) -> Ordering {
        let order = self.0.order(&other.0);
        decide(self.0 - other.0, order as u64);
        order
    }
    fn is_nan(&self) -> bool {
        self.0.is_nan()
    }
    fn to_f64(&self) -> f64 {
        self.0
    }
}

fn lit(a: &Atom<Marked>) -> Lit {
    match a {
        Atom::Real(x) => Lit::Real(x.0),
        Atom::Int(k) => Lit::Int(*k),
        Atom::Bool(b) => Lit::Bool(*b),
    }
}

/// The decisions of a definition at arguments.
pub fn seen(
    limits: Limits,
    program: &Program,
    def: &str,
    args: &[Value<f64>],
    sizes: &[i64],
) -> Eval<(Value<f64>, Seen)> {
    let marked = |v: &Value<f64>| v.convert(&|x| Some(Marked(*x))).expect("arguments are data");
    let args: Vec<Value<Marked>> = args.iter().map(marked).collect();
    // One thread for the marks and the evaluation.
    big_stack::run(|| {
        SEEN.set(Seen { margin: f64::INFINITY, trace: 0 });
        let (value, _) = run_within(limits, program, def, &args, sizes)?;
        let value = value.convert(&|x: &Marked| Some(x.0)).expect("results are data");
        Ok((value, SEEN.get()))
    })
}
