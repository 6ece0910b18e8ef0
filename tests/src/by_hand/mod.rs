//! The functions of the GradBench suite and their adjoints by hand: what compiled derivatives are compared with, in value and in time.
//! [`naive`] is what one writes without a thought of the machine: scalar loops, the C library's functions. [`tuned`] is
//! what an expert makes of it. [`inputs`] makes data of any size.

pub mod inputs;
pub mod naive;
#[cfg(target_arch = "x86_64")]
pub mod tuned;

use serde_json::Value as Json;

/// A function at an input, and its derivative. Results are kept, so that room for them is made once.
pub trait ByHand {
    fn primal(&mut self);
    fn gradient(&mut self);
    /// The reals of the last primal's result, in the order of the leaves that adc gives: fields by name, arrays row by row.
    fn value(&self) -> Vec<f64>;
    /// Those of the last gradient.
    fn slopes(&self) -> Vec<f64>;
}

#[inline(always)]
fn sweep<T: ByHand>(f: &mut T, gradient: bool) {
    if gradient { f.gradient() } else { f.primal() }
}

/// A sweep compiled for the vector unit that adc compiles for too; it is inlined here.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
fn wide<T: ByHand>(f: &mut T, gradient: bool) {
    sweep(f, gradient)
}

#[cfg(target_arch = "x86_64")]
fn has_wide() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2")
}

/// A plain version, for the vector unit where there is one.
struct Plain<T>(T);

impl<T: ByHand> ByHand for Plain<T> {
    fn primal(&mut self) {
        self.run(false)
    }
    fn gradient(&mut self) {
        self.run(true)
    }
    fn value(&self) -> Vec<f64> {
        self.0.value()
    }
    fn slopes(&self) -> Vec<f64> {
        self.0.slopes()
    }
}

impl<T: ByHand> Plain<T> {
    fn run(&mut self, gradient: bool) {
        #[cfg(target_arch = "x86_64")]
        if has_wide() {
            // SAFETY: the processor has what the function needs.
            return unsafe { wide(&mut self.0, gradient) };
        }
        sweep(&mut self.0, gradient)
    }
}

/// A tuned version; there is one only where the processor has the vector unit.
#[cfg(target_arch = "x86_64")]
struct Tuned<T>(T);

#[cfg(target_arch = "x86_64")]
impl<T: ByHand> ByHand for Tuned<T> {
    fn primal(&mut self) {
        // SAFETY: `tuned` has looked.
        unsafe { wide(&mut self.0, false) }
    }
    fn gradient(&mut self) {
        // SAFETY: `tuned` has looked.
        unsafe { wide(&mut self.0, true) }
    }
    fn value(&self) -> Vec<f64> {
        self.0.value()
    }
    fn slopes(&self) -> Vec<f64> {
        self.0.slopes()
    }
}

/// A module of the suite at an input, by the plain adjoints.
pub fn naive(module: &str, input: &Json) -> Option<Box<dyn ByHand>> {
    Some(match module {
        "ba" => Box::new(Plain(naive::ba::Ba::new(input))),
        "det" => Box::new(Plain(naive::det::Det::new(input))),
        "gmm" => Box::new(Plain(naive::gmm::Gmm::new(input))),
        "llsq" => Box::new(Plain(naive::llsq::Llsq::new(input))),
        "lse" => Box::new(Plain(naive::lse::Lse::new(input))),
        "lstm" => Box::new(Plain(naive::lstm::Lstm::new(input))),
        "ode" => Box::new(Plain(naive::ode::Ode::new(input))),
        _ => return None,
    })
}

/// A module of the suite at an input, by the tuned adjoints. None where there is no such version, or the processor is not made for it.
pub fn tuned(module: &str, input: &Json) -> Option<Box<dyn ByHand>> {
    #[cfg(target_arch = "x86_64")]
    if has_wide() {
        return Some(match module {
            "ba" => Box::new(Tuned(tuned::ba::Ba::new(input))),
            "det" => Box::new(Tuned(tuned::det::Det::new(input)?)),
            "gmm" => Box::new(Tuned(tuned::gmm::Gmm::new(input))),
            "llsq" => Box::new(Tuned(tuned::llsq::Llsq::new(input))),
            "lse" => Box::new(Tuned(tuned::lse::Lse::new(input))),
            "lstm" => Box::new(Tuned(tuned::lstm::Lstm::new(input))),
            "ode" => Box::new(Tuned(tuned::ode::Ode::new(input))),
            _ => return None,
        });
    }
    let _ = (module, input);
    None
}

/// All numbers of a JSON value, row by row.
pub fn reals(json: &Json) -> Vec<f64> {
    match json {
        Json::Array(items) => items.iter().flat_map(reals).collect(),
        Json::Number(x) => vec![x.as_f64().unwrap_or(f64::NAN)],
        Json::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(x, _)| *x);
            fields.into_iter().flat_map(|(_, value)| reals(value)).collect()
        }
        Json::Null | Json::Bool(_) | Json::String(_) => vec![],
    }
}

/// The number of elements of an array.
pub fn length(json: &Json) -> usize {
    json.as_array().map_or(0, Vec::len)
}

/// A natural number.
pub fn natural(json: &Json) -> usize {
    json.as_u64().unwrap_or(0) as usize
}
