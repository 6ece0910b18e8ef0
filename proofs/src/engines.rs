//! One definition, and its derivatives, through every stage and on every evaluator.

use lang::core::make::{app, lam, let_, lin_app, proj, tuple, var};
use lang::core::{Binder, Def, Lit, Program, Term, Tm};
use lang::diag::{Site, Span};
use lang::eval::{Limits, Number, Value, run_within};
use lang::flat::{argument, flatten, unflatten};
use lang::loops::eval::{Arg, Array, Stop};
use lang::loops::{Proc, verify};
use lang::name::{Name, Supply};
use lang::precision::Precision;
use lang::size::Size;
use lang::types::{Mode, Type};
use lang::typing::Scope;
use opt::Normal;
use std::sync::Arc;
use typeck::check::{Language, check_program};

/// What is asked of a definition f. Derivatives are with respect to all parameters, or to the first one alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// f x
    Value,
    /// (f x, J v)
    Forward { all: bool },
    /// (f x, Jᵗ w)
    Reverse { all: bool },
}

impl Ask {
    /// How many of the parameters are active.
    pub fn active(self, params: usize) -> usize {
        match self {
            Ask::Value | Ask::Forward { all: true } | Ask::Reverse { all: true } => params,
            Ask::Forward { all: false } | Ask::Reverse { all: false } => 1,
        }
    }
    pub fn suffix(self) -> &'static str {
        match self {
            Ask::Value => "",
            Ask::Forward { .. } => "'jvp",
            Ask::Reverse { .. } => "'vjp",
        }
    }
}

/// Where something went wrong, and what.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// The stage or engine, and the kind of complaint: what a smaller program must share.
    pub stage: String,
    pub message: String,
}

impl Fault {
    pub fn new(stage: impl Into<String>, message: impl std::fmt::Display) -> Fault {
        Fault { stage: stage.into(), message: message.to_string() }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.stage, self.message)
    }
}

/// An evaluation of so many terms is given up.
pub const LIMITS: Limits = Limits { steps: 3_000_000, length: 1 << 16, calls: 1000 };

/// The definition that answers, as the differentiation operators are elaborated.
///
/// ```text
/// f'jvp xs v = let p = D→ (λu. f us) x in (p.0, p.1 • v)            f'vjp xs w = let p = D← … in (p.0, p.1 • w)
/// ```
pub fn asked(def: &Def, ask: Ask) -> Def {
    let mut supply = def.supply.clone();
    let sizes = || def.sizes.iter().cloned().map(Size::var).collect();
    let call =
        |args: Vec<Tm>| Arc::new(Term::Call { def: def.name.clone(), types: vec![], sizes: sizes(), args });
    let mut params = def.params.clone();
    let xs: Vec<Tm> = params.iter().map(|x| var(&x.var)).collect();
    let (mode, result, body) = match ask {
        Ask::Value => {
            return Def { name: format!("{}'value", def.name).into(), body: call(xs), ..def.clone() };
        }
        Ask::Forward { .. } => (Mode::Forward, &def.result, "v"),
        Ask::Reverse { .. } => (Mode::Reverse, &def.result, "w"),
    };
    let k = ask.active(params.len());
    let from = match k {
        1 => params[0].ty.clone(),
        _ => Type::tuple(params[..k].iter().map(|x| x.ty.clone())),
    };
    let (x, u) = match k {
        1 => (xs[0].clone(), None),
        _ => (tuple(xs[..k].iter().cloned()), Some(())),
    };
    let point = Binder::new(supply.fresh("u"), from.clone());
    let actives = (0..k).map(|i| match u {
        None => var(&point.var),
        Some(()) => proj(var(&point.var), i),
    });
    let args: Vec<Tm> = actives.chain(xs[k..].iter().cloned()).collect();
    let f = lam(point, call(args));
    let (df, dr) = (from.tangent(mode), result.tangent(mode));
    let (map, vector) = match mode {
        Mode::Forward => (Type::lin(df.clone(), dr.clone()), (df, dr)),
        Mode::Reverse => (Type::lin(dr.clone(), df.clone()), (dr, df)),
    };
    let erased = |t: &lang::types::LType| t.erase().expect("first-order");
    let v = Binder::new(supply.fresh(body), erased(&vector.0));
    params.push(v.clone());
    let p = Binder::new(supply.fresh("p"), Type::tuple([result.clone(), map]));
    let site = Site { def: def.name.clone(), span: Span::default() };
    let diff = Arc::new(Term::Diff { mode, f, x, site });
    let both = tuple([proj(var(&p.var), 0), lin_app(proj(var(&p.var), 1), var(&v.var))]);
    Def {
        name: format!("{}{}", def.name, ask.suffix()).into(),
        types: vec![],
        sizes: def.sizes.clone(),
        params,
        result: Type::tuple([result.clone(), erased(&vector.1)]),
        body: let_(p, diff, both),
        supply,
    }
}

/// A program with its differentiation operators resolved: what the specification evaluates. Every definition is checked.
pub fn resolved(program: &Program, asked: &Def) -> Result<Program, Fault> {
    let mut program = program.clone();
    program.defs.insert(asked.name.clone(), Arc::new(asked.clone()));
    check_program(&program, Language::Both).map_err(|e| Fault::new("Core checker", e))?;
    ad::resolve(&mut program, &asked.name).map_err(|e| Fault::new("D", e))?;
    check_program(&program, Language::Target).map_err(|e| Fault::new("Target checker after D", e))?;
    Ok(program)
}

/// Every stage between Core and machine code.
pub struct Stages {
    pub asked: Def,
    /// Core and D's output.
    pub program: Program,
    pub normal: Normal,
    /// Simplified by the rules that change no bit; by the default rules.
    pub strict: Normal,
    pub default: Normal,
    /// As emitted from the normal form, and from the other two.
    pub emitted: Proc,
    pub strict_emitted: Proc,
    /// After the strict passes; after the default passes.
    pub strict_loops: Proc,
    pub default_loops: Proc,
}

/// D for the normaliser.
pub fn derive(
    program: &mut Program,
    mode: Mode,
    x: &Binder,
    body: &Tm,
    scope: &Scope,
    site: &Site,
    supply: &mut Supply,
) -> Result<Tm, opt::Error> {
    ad::derive_lambda(program, x, body, scope, mode, site, supply).map_err(|e| opt::Error::bug(e.to_string()))
}

fn checked(stage: &str, normal: Normal) -> Result<Normal, Fault> {
    check_program(&normal.program(), Language::Target)
        .map_err(|e| Fault::new(format!("{stage} checker"), e))?;
    Ok(normal)
}

fn simplified(stage: &str, normal: &Normal, level: opt::rules::Level) -> Result<Normal, Fault> {
    let options = opt::simplify::Options { level, ..Default::default() };
    checked(stage, opt::simplify(normal, &options))
}

fn emitted(stage: &str, normal: &Normal) -> Result<Proc, Fault> {
    let proc = opt::emit(normal).map_err(|e| Fault::new(format!("{stage} emission"), e))?;
    verify::verify(&proc).map_err(|e| Fault::new(format!("{stage} emitted loops"), e))?;
    Ok(proc)
}

fn passed(stage: &str, proc: &Proc, strict: bool) -> Result<Proc, Fault> {
    let mut proc = proc.clone();
    let options = opt::passes::Options { strict, verify: true, ..Default::default() };
    opt::passes::optimise(&mut proc, &options).map_err(|e| Fault::new(format!("{stage} passes"), e))?;
    Ok(proc)
}

impl Stages {
    pub fn new(program: &Program, def: &Name, ask: Ask, precision: Precision) -> Result<Stages, Fault> {
        let asked = asked(&program.defs[def], ask);
        let specification = resolved(program, &asked)?;
        let normal = opt::normal_form(&asked, program, &derive, precision)
            .map_err(|e| Fault::new("normalisation", e))?;
        let normal = checked("normal form", normal)?;
        let strict = simplified("strict simplification", &normal, opt::rules::Level::Strict)?;
        let default = simplified("simplification", &normal, opt::rules::Level::Default)?;
        let strict_emitted = emitted("strict simplification", &strict)?;
        Ok(Stages {
            emitted: emitted("normal form", &normal)?,
            strict_loops: passed("strict", &strict_emitted, true)?,
            default_loops: passed("default", &emitted("simplification", &default)?, false)?,
            asked,
            program: specification,
            normal,
            strict,
            default,
            strict_emitted,
        })
    }

    /// The value according to the specification: Core and D's output, evaluated.
    pub fn specified(&self, args: &[Value<f64>], sizes: &[i64]) -> Result<Value<f64>, Fault> {
        evaluated("Core evaluator", &self.program, &self.asked.name, args, sizes, self.normal.precision)
    }

    /// The Target evaluator on a normal form.
    pub fn target(
        &self,
        stage: &str,
        normal: &Normal,
        args: &[Value<f64>],
        sizes: &[i64],
    ) -> Result<Value<f64>, Fault> {
        evaluated(stage, &normal.program(), &normal.entry.name, args, sizes, normal.precision)
    }

    pub fn sizes<'s>(&'s self, sizes: &'s [i64]) -> impl Fn(&Size) -> Option<i64> + 's {
        move |n| n.eval(&|v| self.asked.sizes.iter().position(|s| s == v).map(|k| sizes[k]))
    }

    /// Arguments of the procedures.
    pub fn arguments(&self, args: &[Value<f64>], sizes: &[i64]) -> Vec<Arg> {
        let size = self.sizes(sizes);
        let leaves = self
            .asked
            .params
            .iter()
            .zip(args)
            .flat_map(|(x, v)| flatten(&x.ty, v, &size).expect("arguments are of the parameters' types"));
        sizes.iter().map(|n| Arg::Scalar(Lit::Int(*n))).chain(leaves.map(argument)).collect()
    }

    pub fn value(&self, outs: &[Array], sizes: &[i64]) -> Value<f64> {
        let size = self.sizes(sizes);
        unflatten(&self.asked.result, &mut outs.iter(), &size).expect("results are of the result's type")
    }

    /// The loop evaluator: the value, and its cost.
    pub fn looped(
        &self,
        stage: &str,
        proc: &Proc,
        args: &[Value<f64>],
        sizes: &[i64],
    ) -> Result<(Value<f64>, u64), Fault> {
        let outcome = lang::loops::eval::run_within(proc, &self.arguments(args, sizes), 20_000_000);
        let outcome = outcome.map_err(|stop| match stop {
            Stop::Failed { failure, details, .. } => {
                Fault::new(format!("{stage} loops: {failure:?}"), format!("{details:?}"))
            }
            Stop::Steps => Fault::new(format!("{stage} loops: steps"), ""),
            Stop::Bug(message) => Fault::new(format!("{stage} loops: bug"), message),
        })?;
        Ok((self.value(&outcome.outs, sizes), outcome.cost))
    }
}

/// The evaluator of this precision. The values of singles are told in doubles, as the loop evaluator tells them.
fn evaluated(
    stage: &str,
    program: &Program,
    def: &str,
    args: &[Value<f64>],
    sizes: &[i64],
    precision: Precision,
) -> Result<Value<f64>, Fault> {
    let outcome = match precision {
        Precision::Double => run_within(LIMITS, program, def, args, sizes).map(|(v, _)| v),
        Precision::Single => {
            let args: Vec<Value<f32>> =
                args.iter().map(|v| v.convert(&|x| f32::of(*x)).expect("arguments are data")).collect();
            let outcome = run_within(LIMITS, program, def, &args, sizes);
            outcome.map(|(v, _)| v.convert(&|x: &f32| Some(x.to_f64())).expect("results are data"))
        }
    };
    outcome.map_err(|e| match e {
        lang::eval::EvalError::Limit(_) => Fault::new(OVER_LIMIT, stage),
        e => Fault::new(format!("{stage} evaluation"), e),
    })
}

/// The stage of a fault that is none: the program takes too long for the evaluators.
pub const OVER_LIMIT: &str = "over the limit";

/// A function applied to arguments: for tests that build definitions by hand.
pub fn applied(f: Tm, args: impl IntoIterator<Item = Tm>) -> Tm {
    args.into_iter().fold(f, app)
}
