//! Entry points: one LLVM module for a list of procedures.
//!
//! A procedure becomes `int64_t name(parameters in order, AdcFailure *failure)`: ints are `int64_t`, reals `double` or `float` by their
//! precision, bools one byte that is 0 or 1, arrays pointers to their elements in row-major order. The status is 0, 1 + the number of the failure (then `failure`, which may
//! be null, holds number and details), or -1 when memory ran out. `name.call(slots, failure)` is the same with the parameters
//! in an array of 8-byte slots: what the JIT calls.

use crate::body::{Gen, Role};
use crate::host::Cpu;
use crate::{CodegenError, Options, Result, malformed};
use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::targets::TargetMachine;
use inkwell::types::{
    BasicMetadataTypeEnum, BasicType, BasicTypeEnum, FloatType, FunctionType, IntType, PointerType,
};
use inkwell::values::{BasicMetadataValueEnum, BasicValue, BasicValueEnum, FunctionValue};
use lang::loops::{BufKind, Param, Proc};
use lang::precision::Precision;
use lang::prim::Scalar;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A module under construction, and what its functions share.
pub(crate) struct Unit<'c> {
    pub cx: &'c Context,
    pub module: Module<'c>,
    pub options: Options,
    pub cpu: &'static Cpu,
    pub i64: IntType<'c>,
    pub i8: IntType<'c>,
    pub i1: IntType<'c>,
    /// Of the reals of all its procedures, and their type.
    pub precision: Precision,
    pub real: FloatType<'c>,
    /// What is computed about a program (work, chunks), and functions of doubles.
    pub f64: FloatType<'c>,
    pub ptr: PointerType<'c>,
    /// Its code runs in this process, and can call all of the runtime.
    pub in_process: bool,
    /// Vector variants of math functions, kept alive until the end.
    pub variants: RefCell<BTreeSet<String>>,
}

/// The procedures as one verified, not yet optimised module; `adapters`: for this process, with the `.call` entry points.
pub(crate) fn module<'c>(
    cx: &'c Context,
    procs: &[Proc],
    options: &Options,
    machine: &TargetMachine,
    adapters: bool,
) -> Result<Module<'c>> {
    let module = cx.create_module("adc");
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    let precision = procs.first().map_or(Precision::default(), |p| p.precision);
    if procs.iter().flat_map(|p| p.callees.iter().chain([p])).any(|p| p.precision != precision) {
        return malformed("reals of two precisions");
    }
    let unit = Unit {
        cx,
        module,
        options: *options,
        cpu: Cpu::of(options.target)?,
        i64: cx.i64_type(),
        i8: cx.i8_type(),
        i1: cx.bool_type(),
        precision,
        real: match precision {
            Precision::Double => cx.f64_type(),
            Precision::Single => cx.f32_type(),
        },
        f64: cx.f64_type(),
        ptr: cx.ptr_type(AddressSpace::default()),
        in_process: adapters,
        variants: RefCell::default(),
    };
    for (proc, symbol) in procs.iter().zip(symbols(procs)) {
        let f = unit.entry(proc, &symbol)?;
        if adapters {
            unit.adapter(proc, f, &symbol)?;
        }
    }
    unit.keep_variants();
    if cfg!(debug_assertions) {
        unit.module.verify().map_err(|e| CodegenError(format!("{e}\n{}", unit.module.print_to_string())))?;
    }
    Ok(unit.module)
}

/// The C identifier of each procedure.
pub fn symbols(procs: &[Proc]) -> Vec<String> {
    identifiers(procs.iter().map(|p| &*p.name), &mut BTreeSet::new())
}

/// Distinct C identifiers: each name with every character a C identifier lacks as `_`, `_` after it where C or its library has the
/// name, numbered where two would coincide.
pub(crate) fn identifiers<'a>(
    names: impl Iterator<Item = &'a str>,
    taken: &mut BTreeSet<String>,
) -> Vec<String> {
    names
        .map(|name| {
            let mut base: String =
                name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
            // `adc_` is the runtime's.
            if base.starts_with(|c: char| c.is_ascii_digit()) || base.starts_with("adc_") || base.is_empty() {
                base.insert(0, '_');
            }
            if RESERVED.contains(&&*base) || crate::math::is_library(&base) {
                base.push('_');
            }
            let mut symbol = base.clone();
            let mut k = 2;
            while !taken.insert(symbol.clone()) {
                symbol = format!("{base}_{k}");
                k += 1;
            }
            symbol
        })
        .collect()
}

/// Words of C and C++, and functions that LLVM may call of its own accord.
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "const",
    "continue",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "int64_t",
    "long",
    "main",
    "mutable",
    "namespace",
    "new",
    "not",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
    "AdcFailure",
    "memcpy",
    "memset",
    "memmove",
    "memcmp",
    "malloc",
    "calloc",
    "realloc",
    "free",
    "abort",
    "exit",
    "NULL",
];

impl<'c> Unit<'c> {
    /// The type of a value in a register.
    pub fn scalar(&self, s: Scalar) -> BasicTypeEnum<'c> {
        match s {
            Scalar::Real => self.real.into(),
            Scalar::Int => self.i64.into(),
            Scalar::Bool => self.i1.into(),
        }
    }

    /// The type of an element in memory: bools are bytes.
    pub fn stored(&self, s: Scalar) -> BasicTypeEnum<'c> {
        match s {
            Scalar::Real => self.real.into(),
            Scalar::Int => self.i64.into(),
            Scalar::Bool => self.i8.into(),
        }
    }

    /// Reals in a vector register.
    pub fn lanes(&self) -> u32 {
        self.cpu.register() / self.precision.size() as u32
    }

    /// Ints as wide as reals.
    pub fn bits(&self) -> IntType<'c> {
        match self.precision {
            Precision::Double => self.i64,
            Precision::Single => self.cx.i32_type(),
        }
    }

    pub fn attribute(&self, name: &str, value: u64) -> Attribute {
        self.cx.create_enum_attribute(Attribute::get_named_enum_kind_id(name), value)
    }

    /// A function this module defines.
    pub fn define(&self, name: &str, ty: FunctionType<'c>, linkage: Option<Linkage>) -> FunctionValue<'c> {
        let f = self.module.add_function(name, ty, linkage);
        f.add_attribute(AttributeLoc::Function, self.attribute("nounwind", 0));
        f.add_attribute(
            AttributeLoc::Function,
            self.cx.create_string_attribute("target-cpu", &self.cpu.name),
        );
        f.add_attribute(
            AttributeLoc::Function,
            self.cx.create_string_attribute("target-features", &self.cpu.features),
        );
        f
    }

    /// The function only passes things on: it is compiled as it stands, quickly.
    pub fn unoptimised(&self, f: FunctionValue<'c>) {
        for a in ["optnone", "noinline"] {
            f.add_attribute(AttributeLoc::Function, self.attribute(a, 0));
        }
    }

    /// A function of the runtime or the C library, with `memory` effects (LLVM's encoding; 0: none).
    pub fn declare(
        &self,
        name: &str,
        args: &[BasicMetadataTypeEnum<'c>],
        result: Option<BasicTypeEnum<'c>>,
        memory: Option<u64>,
    ) -> FunctionValue<'c> {
        if let Some(f) = self.module.get_function(name) {
            return f;
        }
        let ty = match result {
            Some(t) => t.fn_type(args, false),
            None => self.cx.void_type().fn_type(args, false),
        };
        let f = self.module.add_function(name, ty, None);
        f.add_attribute(AttributeLoc::Function, self.attribute("nounwind", 0));
        if let Some(effects) = memory {
            for a in ["willreturn", "nofree", "nosync"] {
                f.add_attribute(AttributeLoc::Function, self.attribute(a, 0));
            }
            f.add_attribute(AttributeLoc::Function, self.attribute("memory", effects));
        }
        f
    }

    /// An array parameter: aligned; disjoint from every other array (buffers are), so `noalias`.
    pub fn array_attributes(&self, f: FunctionValue<'c>, position: u32, kind: BufKind) {
        let at = AttributeLoc::Param(position);
        f.add_attribute(at, self.attribute("noalias", 0));
        match kind {
            BufKind::In | BufKind::View => f.add_attribute(at, self.attribute("readonly", 0)),
            BufKind::Out | BufKind::Acc | BufKind::Local | BufKind::Kept => {}
        }
    }

    fn entry(&self, proc: &Proc, symbol: &str) -> Result<FunctionValue<'c>> {
        let mut types: Vec<BasicMetadataTypeEnum> = vec![];
        for p in &proc.params {
            types.push(match p {
                Param::Scalar(v) => self.stored(proc.vals[v.0 as usize].0).into(),
                Param::Array(_) => self.ptr.into(),
            });
        }
        types.push(self.ptr.into());
        let f = self.define(symbol, self.i64.fn_type(&types, false), None);
        for (k, p) in proc.params.iter().enumerate() {
            let k = k as u32;
            match p {
                Param::Scalar(v) => match proc.vals[v.0 as usize].0 {
                    Scalar::Bool => f.add_attribute(AttributeLoc::Param(k), self.attribute("zeroext", 0)),
                    Scalar::Int | Scalar::Real => {}
                },
                Param::Array(b) => self.array_attributes(f, k, proc.info(*b).kind),
            }
        }
        let arguments = f.get_params();
        let (failure, arguments) = arguments.split_last().expect("the failure parameter");
        let mut body = Gen::new(self, proc, f, failure.into_pointer_value(), Role::Entry)?;
        if !proc.callees.is_empty() {
            body.callees = self.callees(proc, symbol)?;
            body.begin_run()?;
        }
        self.define_body(proc, body, arguments)?;
        Ok(f)
    }

    /// The body of a function whose first parameters are the procedure's.
    pub fn define_body<'u>(
        &'u self,
        proc: &'u Proc,
        mut body: Gen<'u, 'c>,
        arguments: &[BasicValueEnum<'c>],
    ) -> Result<()> {
        // Scalars first: the arrays' shapes are over them.
        for (p, a) in proc.params.iter().zip(arguments) {
            if let Param::Scalar(v) = p {
                let value = match proc.vals[v.0 as usize].0 {
                    Scalar::Bool => body.is_nonzero(a.into_int_value())?.into(),
                    Scalar::Int | Scalar::Real => *a,
                };
                body.set(*v, value)?;
            }
        }
        for (p, a) in proc.params.iter().zip(arguments) {
            if let Param::Array(b) = p {
                body.place(*b, a.into_pointer_value())?;
            }
        }
        body.mark_turned(&proc.body);
        body.block(&proc.body)?;
        body.finish()
    }

    fn adapter(&self, proc: &Proc, f: FunctionValue<'c>, symbol: &str) -> Result<()> {
        let ty = self.i64.fn_type(&[self.ptr.into(), self.ptr.into()], false);
        let adapter = self.define(&format!("{symbol}.call"), ty, None);
        self.unoptimised(adapter);
        let b = self.cx.create_builder();
        b.position_at_end(self.cx.append_basic_block(adapter, "entry"));
        let params = adapter.get_params();
        let mut args: Vec<BasicMetadataValueEnum> = vec![];
        for (k, p) in proc.params.iter().enumerate() {
            let at = [self.i64.const_int(k as u64, false)];
            // SAFETY: the caller passes a slot for every parameter.
            let slot = unsafe { b.build_in_bounds_gep(self.i64, params[0].into_pointer_value(), &at, "")? };
            let ty: BasicTypeEnum = match p {
                Param::Scalar(v) => self.scalar(proc.vals[v.0 as usize].0),
                Param::Array(_) => self.ptr.into(),
            };
            // What is shorter than a slot is its low bits, whatever the byte order.
            let low = |ty: IntType<'c>| -> Result<_> {
                let word = b.build_load(self.i64, slot, "")?.into_int_value();
                Ok(b.build_int_truncate(word, ty, "")?)
            };
            let value: BasicValueEnum = if ty == self.i1.into() {
                low(self.i8)?.as_basic_value_enum()
            } else if ty == self.cx.f32_type().into() {
                b.build_bit_cast(low(self.cx.i32_type())?, ty, "")?
            } else {
                b.build_load(ty, slot, "")?
            };
            args.push(value.into());
        }
        args.push(params[1].into());
        let call = b.build_call(f, &args, "status")?;
        for (k, p) in proc.params.iter().enumerate() {
            if let Param::Scalar(v) = p
                && proc.vals[v.0 as usize].0 == Scalar::Bool
            {
                call.add_attribute(AttributeLoc::Param(k as u32), self.attribute("zeroext", 0));
            }
        }
        b.build_return(Some(&call.try_as_basic_value().unwrap_basic()))?;
        Ok(())
    }
}
