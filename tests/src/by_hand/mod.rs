//! The functions of the GradBench suite and their adjoints by hand: what compiled derivatives are compared with, in value and in time.
//! [`naive`] is what one writes without a thought of the machine: scalar loops, the C library's functions. [`inputs`] makes
//! data of any size.

pub mod inputs;
pub mod naive;

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

/// The same with its sweeps compiled for the vector units of the processor at hand, as adc compiles: they are inlined here.
struct Wide<T>(T);

impl<T: ByHand> ByHand for Wide<T> {
    fn primal(&mut self) {
        wide(&mut self.0, false)
    }
    fn gradient(&mut self) {
        wide(&mut self.0, true)
    }
    fn value(&self) -> Vec<f64> {
        self.0.value()
    }
    fn slopes(&self) -> Vec<f64> {
        self.0.slopes()
    }
}

fn wide<T: ByHand>(f: &mut T, gradient: bool) {
    #[inline(always)]
    fn sweep<T: ByHand>(f: &mut T, gradient: bool) {
        if gradient { f.gradient() } else { f.primal() }
    }
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma,bmi2")]
        fn with_avx2<T: ByHand>(f: &mut T, gradient: bool) {
            sweep(f, gradient)
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has what the function needs.
            return unsafe { with_avx2(f, gradient) };
        }
    }
    sweep(f, gradient)
}

/// A module of the suite at an input, by the plain adjoints.
pub fn naive(module: &str, input: &Json) -> Option<Box<dyn ByHand>> {
    Some(match module {
        "ba" => Box::new(Wide(naive::ba::Ba::new(input))),
        "det" => Box::new(Wide(naive::det::Det::new(input))),
        "gmm" => Box::new(Wide(naive::gmm::Gmm::new(input))),
        "llsq" => Box::new(Wide(naive::llsq::Llsq::new(input))),
        "lse" => Box::new(Wide(naive::lse::Lse::new(input))),
        "lstm" => Box::new(Wide(naive::lstm::Lstm::new(input))),
        "ode" => Box::new(Wide(naive::ode::Ode::new(input))),
        _ => return None,
    })
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
