//! Compiled code: many procedures in one module, called with the evaluators' values.

use crate::agree::{Answered, near, same};
use crate::engines::Fault;
use codegen::{Arg as Slot, Jit, Options, RunError, Slice, SliceMut};
use lang::core::Lit;
use lang::loops::eval::{Arg, Array, Data};
use lang::loops::{BufKind, Operand, Param, Proc};
use lang::precision::Precision;
use lang::prim::Scalar;
use std::collections::HashMap;

/// The answers of several samples, compiled together.
pub struct Machine {
    strict: Jit,
    default: Jit,
}

/// The name of a procedure in the module: answers of different samples have the same names otherwise.
fn named(proc: &Proc, k: usize) -> Proc {
    Proc { name: format!("p{k}").into(), ..proc.clone() }
}

pub fn strict_options() -> Options {
    Options { strict: true, scalar_math: true, threads: 1, opt_level: 2, ..Options::default() }
}

pub fn default_options() -> Options {
    Options { threads: 1, ..Options::default() }
}

impl Machine {
    pub fn compile(answers: &[&Answered]) -> Result<Machine, Fault> {
        let compile = |pick: fn(&Answered) -> &Proc, options: Options| {
            let procs: Vec<Proc> = answers.iter().enumerate().map(|(k, a)| named(pick(a), k)).collect();
            Jit::compile(&procs, &options).map_err(|e| Fault::new("code generation", e))
        };
        Ok(Machine {
            strict: compile(|a| &a.stages.strict_loops, strict_options())?,
            default: compile(|a| &a.stages.default_loops, default_options())?,
        })
    }

    /// The k-th answer again: the same bits under strict scalar arithmetic, within the tolerance otherwise.
    pub fn check(&self, k: usize, answer: &Answered, sizes: &[i64]) -> Result<(), Fault> {
        let ask = answer.ask;
        let args = answer.stages.arguments(&answer.args, sizes);
        let run = |jit: &Jit, proc: &Proc| {
            let outs = call(jit, &format!("p{k}"), proc, &args)
                .map_err(|e| Fault::new("compiled code failed", e))?;
            Ok(answer.stages.value(&outs, sizes))
        };
        same("strict machine code", ask, &run(&self.strict, &answer.stages.strict_loops)?, &answer.value)?;
        let default = run(&self.default, &answer.stages.default_loops)?;
        near("default machine code", ask, &default, &answer.value, answer.tolerance)
    }
}

/// Calls a compiled procedure with the arguments of the loop evaluator; gives its results.
pub fn call(jit: &Jit, name: &str, proc: &Proc, args: &[Arg]) -> Result<Vec<Array>, RunError> {
    let mut ints: HashMap<u32, i64> = HashMap::new();
    let single = proc.precision == Precision::Single;
    let singles = |data: &Data| match data {
        Data::Real(xs) if single => xs.iter().map(|x| *x as f32).collect(),
        Data::Real(_) | Data::Int(_) | Data::Bool(_) => vec![],
    };
    let given_singles: Vec<Vec<f32>> = args
        .iter()
        .map(|a| match a {
            Arg::Array(a) => singles(&a.data),
            Arg::Scalar(_) => vec![],
        })
        .collect();
    let mut given = args.iter().zip(&given_singles);
    let mut slots = vec![];
    let mut outs: Vec<Array> = vec![];
    for param in &proc.params {
        match param {
            Param::Array(b) if proc.info(*b).kind == BufKind::Out => {
                let info = proc.info(*b);
                let extent = |o: &Operand| match o {
                    Operand::Int(k) => *k as usize,
                    Operand::Val(v) => ints[&v.0] as usize,
                    Operand::Real(_) | Operand::Bool(_) => unreachable!("extents are ints"),
                };
                let shape: Vec<usize> = info.shape.iter().map(extent).collect();
                let n = shape.iter().product();
                let data = match info.elem {
                    Scalar::Real => Data::Real(vec![f64::NAN; n]),
                    Scalar::Int => Data::Int(vec![i64::MIN; n]),
                    Scalar::Bool => Data::Bool(vec![false; n]),
                };
                outs.push(Array { shape, data });
            }
            Param::Scalar(v) => {
                let Some((Arg::Scalar(x), _)) = given.next() else { unreachable!("a scalar argument") };
                if let Lit::Int(k) = x {
                    ints.insert(v.0, *k);
                }
                slots.push(match x {
                    Lit::Int(k) => Slot::Int(*k),
                    Lit::Real(x) => Slot::Real(*x),
                    Lit::Bool(b) => Slot::Bool(*b),
                });
            }
            Param::Array(_) => {
                let Some((Arg::Array(a), singles)) = given.next() else { unreachable!("an array argument") };
                slots.push(Slot::In(match &a.data {
                    Data::Real(_) if single => Slice::Singles(singles),
                    Data::Real(xs) => Slice::Reals(xs),
                    Data::Int(xs) => Slice::Ints(xs),
                    Data::Bool(xs) => Slice::Bools(xs),
                }));
            }
        }
    }
    let mut out_singles: Vec<Vec<f32>> = outs.iter().map(|a| singles(&a.data)).collect();
    slots.extend(outs.iter_mut().zip(&mut out_singles).map(|(a, singles)| {
        Slot::Out(match &mut a.data {
            Data::Real(_) if single => SliceMut::Singles(singles),
            Data::Real(xs) => SliceMut::Reals(xs),
            Data::Int(xs) => SliceMut::Ints(xs),
            Data::Bool(xs) => SliceMut::Bools(xs),
        })
    }));
    jit.call(name, &mut slots)?;
    drop(slots);
    for (out, found) in outs.iter_mut().zip(out_singles).filter(|(_, found)| !found.is_empty()) {
        out.data = Data::Real(found.into_iter().map(f64::from).collect());
    }
    Ok(outs)
}
