//! Math functions: in loops arithmetic in place, where there is a formula ([`crate::elementary`]); else calls of the C library by name. LLVM's vectoriser is told per call which vector variants exist (libmvec's,
//! by the attribute `vector-function-abi-variant`), unless the options ask for scalar math.

use crate::body::Gen;
use crate::elementary::{self, llvm::Emitter};
use crate::llvm::Unit;
use crate::{Result, malformed};
use inkwell::AddressSpace;
use inkwell::attributes::AttributeLoc;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::Linkage;
use inkwell::types::BasicType;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, CallSiteValue, FloatMathValue, FunctionValue};
use lang::loops::{Block, Math, Op, Operand, Stmt, Val};
use lang::precision::Precision;
use std::collections::HashSet;

/// A function by its symbol, its number of arguments, and whether libmvec has vector variants of it.
struct Symbol {
    name: &'static str,
    arity: usize,
    vector: bool,
}

impl Symbol {
    /// The name of the function of singles: C's convention.
    fn single(&self) -> String {
        format!("{}f", self.name)
    }
}

fn symbol(m: Math) -> Symbol {
    let row = |name, arity, vector| Symbol { name, arity, vector };
    match m {
        Math::Exp => row("exp", 1, true),
        Math::Expm1 => row("expm1", 1, true),
        Math::Log => row("log", 1, true),
        Math::Log1p => row("log1p", 1, true),
        Math::Log2 => row("log2", 1, true),
        Math::Log10 => row("log10", 1, true),
        Math::Sin => row("sin", 1, true),
        Math::Cos => row("cos", 1, true),
        Math::Tan => row("tan", 1, true),
        Math::Asin => row("asin", 1, true),
        Math::Acos => row("acos", 1, true),
        Math::Atan => row("atan", 1, true),
        Math::Sinh => row("sinh", 1, true),
        Math::Cosh => row("cosh", 1, true),
        Math::Tanh => row("tanh", 1, true),
        Math::Asinh => row("asinh", 1, true),
        Math::Acosh => row("acosh", 1, true),
        Math::Atanh => row("atanh", 1, true),
        Math::Erf => row("erf", 1, true),
        Math::Erfc => row("erfc", 1, true),
        Math::Lgamma => row("lgamma", 1, false),
        Math::Atan2 => row("atan2", 2, true),
        Math::Hypot => row("hypot", 2, true),
        Math::Pow => row("pow", 2, true),
        Math::PowInt => row("adc_powi", 2, false),
        Math::Digamma => row("adc_digamma", 1, false),
        Math::Trigamma => row("adc_trigamma", 1, false),
        Math::Polygamma => row("adc_polygamma", 2, false),
        Math::NormalQuantile => row("adc_normal_quantile", 1, false),
        Math::NormalOfBits => row("adc_normal_of_bits", 1, false),
    }
}

pub fn arity(m: Math) -> usize {
    symbol(m).arity
}

/// Functions of the C library that exist beside ours and that LLVM may call in their place.
const RELATED: &[&str] = &[
    "exp2",
    "exp10",
    "sqrt",
    "cbrt",
    "floor",
    "ceil",
    "round",
    "roundeven",
    "rint",
    "trunc",
    "fabs",
    "fmod",
    "fma",
    "fmin",
    "fmax",
    "sincos",
    "ldexp",
    "copysign",
    "tgamma",
];

/// The C library has a function of this name.
pub fn is_library(name: &str) -> bool {
    const ALL: &[Math] = &[
        Math::Exp,
        Math::Expm1,
        Math::Log,
        Math::Log1p,
        Math::Log2,
        Math::Log10,
        Math::Sin,
        Math::Cos,
        Math::Tan,
        Math::Asin,
        Math::Acos,
        Math::Atan,
        Math::Sinh,
        Math::Cosh,
        Math::Tanh,
        Math::Asinh,
        Math::Acosh,
        Math::Atanh,
        Math::Erf,
        Math::Erfc,
        Math::Lgamma,
        Math::Atan2,
        Math::Hypot,
        Math::Pow,
    ];
    let is = |name: &str| ALL.iter().any(|m| symbol(*m).name == name) || RELATED.contains(&name);
    // Its functions of singles end in f.
    is(name) || name.strip_suffix('f').is_some_and(is)
}

/// Constant exponents up to this are multiplied out.
pub(crate) const UNROLLED_POWER: u64 = 64;

impl<'u, 'c> Gen<'u, 'c> {
    pub fn math(&self, m: Math, args: &[Operand]) -> Result<BasicValueEnum<'c>> {
        if let (Math::PowInt, Operand::Int(k)) = (m, args[1.min(args.len() - 1)])
            && k.unsigned_abs() <= UNROLLED_POWER
        {
            return self.constant_power(self.get_real(args[0])?, self.u.real.const_float(1.0), k);
        }
        if self.loops > 0 && self.u.has_formula(m) {
            let emitter = Emitter {
                g: self,
                real_type: self.u.f64,
                int_type: self.u.i64,
                real: &|x| self.u.f64.const_float(x),
                int: &|k| self.int(k),
            };
            if let Some(value) = elementary::formula(&emitter, m, self.get_real(args[0])?) {
                return Ok(value.into());
            }
        }
        let s = symbol(m);
        let values = args.iter().map(|a| self.get(*a)).collect::<Result<Vec<_>>>()?;
        if let (Math::Sin | Math::Cos, [Operand::Val(x)], 0) = (m, args, self.loops)
            && self.turned.contains(x)
        {
            return Ok(self.call_function(self.u.turn(m), m, values)?.1);
        }
        let (call, value) = self.call_math(m, values)?;
        if self.u.options.strict && self.u.options.scalar_math {
            // The very function, not LLVM's knowledge of it (pow(2, x) is exp2(x) to LLVM, with other last bits).
            call.add_attribute(AttributeLoc::Function, self.u.attribute("nobuiltin", 0));
        } else if s.vector && !self.u.options.scalar_math {
            let variants = self.u.vector_variants(&s);
            if !variants.is_empty() {
                let a = self.u.cx.create_string_attribute("vector-function-abi-variant", &variants);
                call.add_attribute(AttributeLoc::Function, a);
            }
        }
        Ok(value)
    }

    /// The function for single values, called: of doubles, in a program of singles, between two conversions.
    pub fn call_math(
        &self,
        m: Math,
        values: Vec<BasicValueEnum<'c>>,
    ) -> Result<(CallSiteValue<'c>, BasicValueEnum<'c>)> {
        self.call_function(self.u.math_function(m), m, values)
    }

    fn call_function(
        &self,
        f: FunctionValue<'c>,
        m: Math,
        values: Vec<BasicValueEnum<'c>>,
    ) -> Result<(CallSiteValue<'c>, BasicValueEnum<'c>)> {
        let mut given: Vec<BasicMetadataValueEnum> = vec![];
        for (value, param) in values.into_iter().zip(f.get_params()) {
            let value = match (value, param) {
                (BasicValueEnum::FloatValue(x), BasicValueEnum::FloatValue(p)) => {
                    self.b.build_float_cast(x, p.get_type(), "")?.into()
                }
                (value, _) => value,
            };
            if value.get_type() != param.get_type() {
                return malformed(format!("argument types of {m:?}"));
            }
            given.push(value.into());
        }
        let call = self.b.build_call(f, &given, "")?;
        let value = call.try_as_basic_value().unwrap_basic().into_float_value();
        Ok((call, self.b.build_float_cast(value, self.u.real, "")?.into()))
    }

    /// Notes the numbers whose sine and cosine are both wanted outside loops: LLVM makes one call of the two (`sincos`), which has the same
    /// bits. In a loop each has its vector variant.
    pub fn mark_turned(&mut self, body: &Block) {
        let (mut sines, mut cosines) = (HashSet::new(), HashSet::new());
        turned(body, &mut sines, &mut cosines);
        self.turned = sines.intersection(&cosines).copied().collect();
    }

    /// x^k, multiplied out in the order of `powi`'s binary algorithm.
    pub fn constant_power<F: FloatMathValue<'c> + Copy>(
        &self,
        x: F,
        one: F,
        k: i64,
    ) -> Result<BasicValueEnum<'c>> {
        let none = inkwell::values::FastMathFlags::empty();
        let rounded = |v: F| {
            self.relax(v.as_basic_value_enum(), none);
            v
        };
        let mut square = x;
        let mut product = None;
        let mut rest = k.unsigned_abs();
        while rest > 0 {
            if rest & 1 == 1 {
                product = Some(match product {
                    None => square,
                    Some(p) => rounded(self.b.build_float_mul(p, square, "")?),
                });
            }
            rest >>= 1;
            if rest > 0 {
                square = rounded(self.b.build_float_mul(square, square, "")?);
            }
        }
        let power = product.unwrap_or(one);
        let power = if k < 0 { rounded(self.b.build_float_div(one, power, "")?) } else { power };
        Ok(power.as_basic_value_enum())
    }
}

/// The numbers of which the block, outside loops, takes the sine and the cosine.
fn turned(block: &Block, sines: &mut HashSet<Val>, cosines: &mut HashSet<Val>) {
    for s in block {
        match s {
            Stmt::Let { op: Op::Math(Math::Sin), args, .. } => {
                sines.extend(args.iter().filter_map(|a| a.val()))
            }
            Stmt::Let { op: Op::Math(Math::Cos), args, .. } => {
                cosines.extend(args.iter().filter_map(|a| a.val()))
            }
            Stmt::If(i) => [&i.then, &i.els].into_iter().for_each(|b| turned(b, sines, cosines)),
            _ => {}
        }
    }
}

impl<'c> Unit<'c> {
    /// The function is written as arithmetic where it runs often; not when the bits are to be those of the C library. The formulas are of doubles.
    pub fn has_formula(&self, m: Math) -> bool {
        elementary::has(m)
            && self.precision == Precision::Double
            && !self.options.strict
            && !self.options.scalar_math
    }

    /// The function for single values. Scalar math in single precision, and whatever has no vector variants, is a function of doubles.
    pub fn math_function(&self, m: Math) -> FunctionValue<'c> {
        let s = symbol(m);
        let (name, real) = match self.precision {
            Precision::Single if m == Math::PowInt => (s.single(), self.real),
            Precision::Single if s.vector && !self.options.scalar_math => (s.single(), self.real),
            Precision::Double | Precision::Single => (s.name.to_string(), self.f64),
        };
        let types = match m {
            Math::PowInt => vec![real.into(), self.i64.into()],
            Math::Polygamma => vec![self.i64.into(), real.into()],
            Math::NormalOfBits => vec![self.i64.into()],
            _ => vec![real.into(); s.arity],
        };
        self.declare(&name, &types, Some(real.into()), Some(0))
    }

    /// The sine or cosine as LLVM's own, of the type of [`Unit::math_function`].
    fn turn(&self, m: Math) -> FunctionValue<'c> {
        let real = self.math_function(m).get_type().get_return_type().expect("a real");
        let intrinsic = Intrinsic::find(&format!("llvm.{}", symbol(m).name)).expect("an intrinsic of LLVM");
        intrinsic.get_declaration(&self.module, &[real]).expect("at reals")
    }

    /// libmvec's function for so many lanes, where it has one and this processor can run it.
    pub fn vector_variant(&self, m: Math, lanes: u32) -> Option<FunctionValue<'c>> {
        let s = symbol(m);
        let libmvec = cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"));
        if !s.vector || !libmvec || self.options.scalar_math {
            return None;
        }
        let (isa, ..) = self.isas().into_iter().find(|(_, k, available)| *k == lanes && *available)?;
        let name = format!("_ZGV{isa}N{lanes}{}_{}", "v".repeat(s.arity), self.library_name(&s));
        let v = self.real.vec_type(lanes);
        Some(self.declare(&name, &vec![v.into(); s.arity], Some(v.as_basic_type_enum()), Some(0)))
    }

    /// libmvec's name for an instruction set, its lanes, and whether this processor has it.
    fn isas(&self) -> [(char, u32, bool); 3] {
        let lanes = |bytes: u32| bytes / self.precision.size() as u32;
        [
            ('b', lanes(16), true),
            ('d', lanes(32), self.cpu.has("avx2")),
            ('e', lanes(64), self.cpu.has("avx512f")),
        ]
    }

    /// The C library's name of a function of this unit's reals.
    fn library_name(&self, s: &Symbol) -> String {
        match self.precision {
            Precision::Double => s.name.to_string(),
            Precision::Single => s.single(),
        }
    }

    /// The variants libmvec has for this processor, as LLVM mangles them, and declared. LLVM does not check that a variant fits the processor: only those that do are offered.
    fn vector_variants(&self, s: &Symbol) -> String {
        if !cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")) {
            return String::new();
        }
        let mut mangled = vec![];
        for (isa, lanes, available) in self.isas() {
            if available {
                let (vs, function) = ("v".repeat(s.arity), self.library_name(s));
                let name = format!("_ZGV{isa}N{lanes}{vs}_{function}");
                mangled.push(format!("_ZGV_LLVM_N{lanes}{vs}_{function}({name})"));
                let v = self.real.vec_type(lanes);
                self.declare(&name, &vec![v.into(); s.arity], Some(v.as_basic_type_enum()), Some(0));
                self.variants.borrow_mut().insert(name);
            }
        }
        mangled.join(",")
    }

    /// The variants are only named in attributes: a list in the module keeps them from being dropped before they are used.
    pub fn keep_variants(&self) {
        let names = self.variants.borrow();
        if names.is_empty() {
            return;
        }
        let pointers: Vec<_> = names
            .iter()
            .filter_map(|n| self.module.get_function(n))
            .map(|f| f.as_global_value().as_pointer_value())
            .collect();
        let list = self.ptr.const_array(&pointers);
        let global =
            self.module.add_global(list.get_type(), Some(AddressSpace::default()), "llvm.compiler.used");
        global.set_linkage(Linkage::Appending);
        global.set_section(Some("llvm.metadata"));
        global.set_initializer(&list);
    }
}
