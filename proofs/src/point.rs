//! Where to evaluate: arguments of a definition, a tangent for them, a cotangent for the result.

use crate::engines::Ask;
use crate::r#gen::{Kind, Sample};
use crate::rng::Rng;
use lang::eval::Value;
use lang::name::Var;
use lang::precision::Precision;
use lang::types::{Mode, Type};

#[derive(Clone, Debug)]
pub struct Point {
    pub args: Vec<Value<f64>>,
    /// Of the active arguments, as one value.
    pub tangent: Value<f64>,
    pub cotangent: Value<f64>,
}

/// The value of a size variable of a definition.
pub fn size_of(sample: &Sample) -> impl Fn(&Var) -> Option<i64> {
    let known: Vec<(Var, i64)> =
        sample.def().sizes.iter().cloned().zip(sample.sizes.iter().copied()).collect();
    move |v| known.iter().find(|(n, _)| n == v).map(|(_, k)| *k)
}

/// D τ as the type of its values.
pub fn tangent_type(ty: &Type) -> Type {
    ty.tangent(Mode::Forward).erase().expect("D of a first-order type is first-order")
}

/// The type of the active arguments.
pub fn active(sample: &Sample, ask: Ask) -> Type {
    let params = &sample.def().params;
    match ask.active(params.len()) {
        1 => params[0].ty.clone(),
        k => Type::tuple(params[..k].iter().map(|x| x.ty.clone())),
    }
}

impl Point {
    /// The point that a seed stands for. It does not depend on the body, so a smaller program meets the same one.
    pub fn random(sample: &Sample, ask: Ask, seed: u64) -> Point {
        let size = size_of(sample);
        let whole = sample.kind == Kind::Polynomial;
        let draw = |ty: &Type, stream: u64, most: f64| {
            random(ty, &mut Rng::new(seed ^ (stream << 48)), whole, most, &size)
        };
        let def = sample.def();
        Point {
            args: def.params.iter().enumerate().map(|(k, x)| draw(&x.ty, 1 + k as u64, 2.0)).collect(),
            tangent: draw(&tangent_type(&active(sample, ask)), 101, 1.0),
            cotangent: draw(&tangent_type(&def.result), 102, 1.0),
        }
    }

    /// The arguments of what is asked.
    pub fn args_of(&self, ask: Ask) -> Vec<Value<f64>> {
        let more = match ask {
            Ask::Value => None,
            Ask::Forward { .. } => Some(self.tangent.clone()),
            Ask::Reverse { .. } => Some(self.cotangent.clone()),
        };
        self.args.iter().cloned().chain(more).collect()
    }

    /// The arguments moved by h along the tangent.
    pub fn moved(&self, ask: Ask, h: f64) -> Vec<Value<f64>> {
        let k = ask.active(self.args.len());
        let step = |x: &Value<f64>, v: &Value<f64>| along(x, v, h);
        let mut args = self.args.clone();
        match (k, self.tangent.as_tuple()) {
            (1, _) => args[0] = step(&args[0], &self.tangent),
            (_, Some(vs)) => args.iter_mut().zip(vs).for_each(|(x, v)| *x = step(x, v)),
            (_, None) => unreachable!("the tangent of several arguments is a tuple"),
        }
        args
    }

    /// Every real multiplied by 1 ± so much, the signs by a seed.
    pub fn perturbed(&self, seed: u64, little: f64) -> Point {
        let mut rng = Rng::new(seed);
        let mut shake = |v: &Value<f64>| {
            map_reals(v, &mut |x| x + little * x.abs().max(0.1) * if rng.chance(1, 2) { 1.0 } else { -1.0 })
        };
        self.map(&mut shake)
    }

    /// Every real in this precision.
    pub fn rounded(&self, precision: Precision) -> Point {
        self.map(&mut |v| map_reals(v, &mut |x| precision.round(x)))
    }

    fn map(&self, f: &mut dyn FnMut(&Value<f64>) -> Value<f64>) -> Point {
        Point {
            args: self.args.iter().map(&mut *f).collect(),
            tangent: f(&self.tangent),
            cotangent: f(&self.cotangent),
        }
    }
}

fn random(
    ty: &Type,
    rng: &mut Rng,
    whole: bool,
    most: f64,
    size: &dyn Fn(&Var) -> Option<i64>,
) -> Value<f64> {
    match ty {
        Type::Real if whole => Value::Real(rng.int(-most as i64, most as i64) as f64),
        Type::Real => Value::Real(rng.real(-most, most)),
        Type::Int => Value::Int(rng.int(-4, 6)),
        Type::Bool => Value::Bool(rng.chance(1, 2)),
        Type::Tuple(ts) => {
            Value::tuple(ts.iter().map(|t| random(t, rng, whole, most, size)).collect::<Vec<_>>())
        }
        Type::Array(n, t) => {
            let n = n.eval(size).expect("sizes of parameters are known").max(0);
            Value::array((0..n).map(|_| random(t, rng, whole, most, size)).collect::<Vec<_>>())
        }
        Type::Sum(_) | Type::Fun(..) | Type::Lin(..) | Type::Param(_) => {
            unreachable!("parameters of this type are not generated")
        }
    }
}

/// Every real of a first-order value changed, in order.
pub fn map_reals(v: &Value<f64>, f: &mut dyn FnMut(f64) -> f64) -> Value<f64> {
    match v {
        Value::Real(x) => Value::Real(f(*x)),
        Value::Tuple(vs) => Value::tuple(vs.iter().map(|v| map_reals(v, f)).collect::<Vec<_>>()),
        Value::Array(vs) => Value::array(vs.iter().map(|v| map_reals(v, f)).collect::<Vec<_>>()),
        Value::Inject(k, v) => Value::inject(*k, map_reals(v, f)),
        Value::Zero
        | Value::Unread
        | Value::Int(_)
        | Value::Bool(_)
        | Value::Closure(_)
        | Value::LinClosure(_) => v.clone(),
    }
}

/// x + h·v, ints and bools unchanged.
fn along(x: &Value<f64>, v: &Value<f64>, h: f64) -> Value<f64> {
    let mut vs = v.numbers().into_iter();
    map_reals(x, &mut |x| x + h * vs.next().expect("a tangent of the argument"))
}
