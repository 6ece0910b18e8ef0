//! Compile procedures and call them in this process: LLVM's object code, linked in memory by ORC.

use crate::{Cache, CodegenError, Options, Result, TargetCpu, cache, host, llvm};
use inkwell::context::Context;
use inkwell::llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::*;
use inkwell::llvm_sys::orc2::*;
use inkwell::targets::FileType;
use lang::diag::{Failure, Site};
use lang::loops::{BufKind, Operand, Param, Proc, Stmt, walk};
use lang::name::Name;
use lang::precision::Precision;
use lang::prim::Scalar;
use runtime::support;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::ptr::null_mut;

/// An argument: a scalar, or an array's elements in row-major order (bools as bytes).
pub enum Arg<'a> {
    Int(i64),
    /// Of either precision: rounded to the procedure's.
    Real(f64),
    Bool(bool),
    In(Slice<'a>),
    Out(SliceMut<'a>),
}

#[derive(Clone, Copy)]
pub enum Slice<'a> {
    Ints(&'a [i64]),
    /// Reals of double precision.
    Reals(&'a [f64]),
    /// Reals of single precision.
    Singles(&'a [f32]),
    Bools(&'a [bool]),
}

pub enum SliceMut<'a> {
    Ints(&'a mut [i64]),
    Reals(&'a mut [f64]),
    Singles(&'a mut [f32]),
    Bools(&'a mut [bool]),
}

/// Why a call failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunError {
    /// A check of the program.
    Failed {
        failure: Failure,
        site: Site,
        details: Vec<i64>,
    },
    OutOfMemory,
    /// No such procedure, or arguments that do not fit it.
    Arguments(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Failed { failure, site, details } => {
                write!(f, "{failure:?} {details:?} in {}", site.def)
            }
            RunError::OutOfMemory => write!(f, "out of memory"),
            RunError::Arguments(what) => write!(f, "{what}"),
        }
    }
}
impl std::error::Error for RunError {}

type Entry = unsafe extern "C" fn(*const u64, *mut runtime::Failure) -> i64;

struct Compiled {
    proc: Proc,
    entry: Entry,
    /// By failure number: how many details its check gives.
    details: Vec<usize>,
}

/// Compiled procedures.
pub struct Jit {
    lljit: LLVMOrcLLJITRef,
    entries: HashMap<Name, Compiled>,
    pool: Option<rayon::ThreadPool>,
}

// SAFETY: after construction the linker is touched again only by drop; the code it holds may run on any number of threads (its state is on
// the stack and in the arguments).
unsafe impl Send for Jit {}
unsafe impl Sync for Jit {}

impl Drop for Jit {
    fn drop(&mut self) {
        // SAFETY: ours, and no code of it runs any more: calls borrow self.
        let _ = checked(unsafe { LLVMOrcDisposeLLJIT(self.lljit) });
    }
}

impl Jit {
    /// Compiles the procedures, to be called by name.
    pub fn compile(procs: &[Proc], options: &Options) -> Result<Jit> {
        Jit::compile_observed(procs, options, None, &mut |_| {})
    }

    /// Compiles, or finds in the cache what was compiled before, and says after each step what was done.
    pub fn compile_observed(
        procs: &[Proc],
        options: &Options,
        cache: Option<&Cache>,
        done: &mut dyn FnMut(&'static str),
    ) -> Result<Jit> {
        let options = &Options { target: TargetCpu::Native, ..*options };
        let cx = Context::create();
        let machine = host::machine(options)?;
        done("LLVM set-up");
        let module = llvm::module(&cx, procs, options, &machine, true)?;
        done("LLVM IR");
        let compiled = |done: &mut dyn FnMut(&'static str)| -> Result<Vec<u8>> {
            host::optimise(&module, &machine, options)?;
            done("LLVM passes");
            let object = machine.write_to_memory_buffer(&module, FileType::Object)?;
            done("machine code");
            Ok(object.as_slice().to_vec())
        };
        let object = match cache {
            None => compiled(done)?,
            Some(cache) => {
                let key = cache::key(&module, options, host::Cpu::host()?);
                let kept = cache.load(&key);
                done("cache");
                match kept {
                    Some(object) => object,
                    None => {
                        let object = compiled(done)?;
                        cache.store(&key, &object);
                        object
                    }
                }
            }
        };
        let pool = match options.threads {
            0 | 1 => None,
            n => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
                Some(pool.map_err(|e| CodegenError(format!("threads: {e}")))?)
            }
        };
        let lljit = link(&object, options)?;
        let mut jit = Jit { lljit, entries: HashMap::new(), pool };
        for (proc, symbol) in procs.iter().zip(llvm::symbols(procs)) {
            let symbol = CString::new(format!("{symbol}.call")).expect("symbols have no NUL");
            let mut address = 0;
            // SAFETY: `.call` symbols are functions of type Entry (llvm::module with adapters).
            let entry = unsafe {
                checked(LLVMOrcLLJITLookup(jit.lljit, &mut address, symbol.as_ptr()))?;
                std::mem::transmute::<usize, Entry>(address as usize)
            };
            let mut details = vec![0; proc.failures.len()];
            for p in proc.callees.iter().chain([proc]) {
                walk::each(&p.body, &mut |s| match s {
                    Stmt::Check { failure, details: given, cond: _ } => details[*failure] = given.len(),
                    Stmt::Reserve { failure, .. } => details[*failure] = 1,
                    _ => {}
                });
            }
            jit.entries.insert(proc.name.clone(), Compiled { proc: proc.clone(), entry, details });
        }
        done("linking");
        Ok(jit)
    }

    /// Calls a procedure. Arguments are checked against its parameters; results are left in the `Out` arrays.
    pub fn call(&self, name: &str, args: &mut [Arg]) -> std::result::Result<(), RunError> {
        let Some(Compiled { proc, entry, details }) = self.entries.get(name) else {
            return Err(RunError::Arguments(format!("no procedure {name}")));
        };
        let slots = slots(proc, args)?;
        let mut report = runtime::Failure::default();
        // SAFETY: one slot per parameter, arrays of the length their shape asks for, results borrowed mutably, hence disjoint from everything else.
        let mut call =
            || runtime::in_pool(self.pool.as_ref(), || unsafe { entry(slots.as_ptr(), &mut report) });
        // Calls that nest need a stack for their frames.
        let status = if proc.callees.is_empty() { call() } else { lang::big_stack::run(call) };
        match status {
            0 => Ok(()),
            runtime::OUT_OF_MEMORY => Err(RunError::OutOfMemory),
            _ => {
                let number = report.failure as usize;
                let (failure, site) = proc.failures[number].clone();
                let details = report.details.iter().copied().take(details[number]).collect();
                Err(RunError::Failed { failure, site, details })
            }
        }
    }
}

/// The arguments as 8-byte slots, checked against the parameters.
fn slots(proc: &Proc, args: &mut [Arg]) -> std::result::Result<Vec<u64>, RunError> {
    let wrong = |what: String| Err(RunError::Arguments(format!("{}: {what}", proc.name)));
    if args.len() != proc.params.len() {
        return wrong(format!("{} arguments for {} parameters", args.len(), proc.params.len()));
    }
    let mut ints: HashMap<u32, i64> = HashMap::new();
    let mut slots = vec![];
    for (p, a) in proc.params.iter().zip(args.iter_mut()) {
        let (slot, kind, elem) = match a {
            Arg::Int(k) => (*k as u64, None, Scalar::Int),
            Arg::Real(x) => (proc.precision.bits(*x) as u64, None, Scalar::Real),
            Arg::Bool(b) => (*b as u64, None, Scalar::Bool),
            Arg::In(Slice::Ints(s)) => (s.as_ptr() as u64, Some(BufKind::In), Scalar::Int),
            Arg::In(Slice::Reals(s)) => (s.as_ptr() as u64, Some(BufKind::In), Scalar::Real),
            Arg::In(Slice::Singles(s)) => (s.as_ptr() as u64, Some(BufKind::In), Scalar::Real),
            Arg::In(Slice::Bools(s)) => (s.as_ptr() as u64, Some(BufKind::In), Scalar::Bool),
            Arg::Out(SliceMut::Ints(s)) => (s.as_mut_ptr() as u64, Some(BufKind::Out), Scalar::Int),
            Arg::Out(SliceMut::Reals(s)) => (s.as_mut_ptr() as u64, Some(BufKind::Out), Scalar::Real),
            Arg::Out(SliceMut::Singles(s)) => (s.as_mut_ptr() as u64, Some(BufKind::Out), Scalar::Real),
            Arg::Out(SliceMut::Bools(s)) => (s.as_mut_ptr() as u64, Some(BufKind::Out), Scalar::Bool),
        };
        let (wanted, name) = match p {
            Param::Scalar(v) => ((None, proc.vals[v.0 as usize].0), &proc.vals[v.0 as usize].1),
            Param::Array(b) => ((Some(proc.info(*b).kind), proc.info(*b).elem), &proc.info(*b).name),
        };
        if wanted != (kind, elem) {
            return wrong(format!("parameter {name} is {wanted:?}, the argument {:?}", (kind, elem)));
        }
        let other = match proc.precision {
            Precision::Double => matches!(a, Arg::In(Slice::Singles(_)) | Arg::Out(SliceMut::Singles(_))),
            Precision::Single => matches!(a, Arg::In(Slice::Reals(_)) | Arg::Out(SliceMut::Reals(_))),
        };
        if other {
            return wrong(format!("parameter {name} has reals of {:?} precision", proc.precision));
        }
        if let (Param::Scalar(v), Arg::Int(k)) = (p, &a) {
            ints.insert(v.0, *k);
        }
        slots.push(slot);
    }
    for (p, a) in proc.params.iter().zip(args) {
        let Param::Array(b) = p else { continue };
        let length = match a {
            Arg::In(Slice::Ints(s)) => s.len(),
            Arg::In(Slice::Reals(s)) => s.len(),
            Arg::In(Slice::Singles(s)) => s.len(),
            Arg::In(Slice::Bools(s)) => s.len(),
            Arg::Out(SliceMut::Ints(s)) => s.len(),
            Arg::Out(SliceMut::Reals(s)) => s.len(),
            Arg::Out(SliceMut::Singles(s)) => s.len(),
            Arg::Out(SliceMut::Bools(s)) => s.len(),
            Arg::Int(_) | Arg::Real(_) | Arg::Bool(_) => continue,
        };
        let info = proc.info(*b);
        let wanted = info.shape.iter().try_fold(1i64, |n, d| {
            let d = match d {
                Operand::Int(k) => Some(*k),
                Operand::Val(v) => ints.get(&v.0).copied(),
                Operand::Real(_) | Operand::Bool(_) => None,
            };
            d.filter(|d| *d >= 0).and_then(|d| n.checked_mul(d))
        });
        if wanted != Some(length as i64) {
            let wanted = wanted.map_or("an impossible number of".into(), |n| n.to_string());
            return wrong(format!("array {} has {length} elements, its shape asks for {wanted}", info.name));
        }
    }
    Ok(slots)
}

fn checked(e: LLVMErrorRef) -> Result<()> {
    if e.is_null() {
        return Ok(());
    }
    // SAFETY: the error is consumed and its message disposed of once.
    unsafe {
        let text = LLVMGetErrorMessage(e);
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(text);
        Err(CodegenError(message))
    }
}

/// The functions generated code calls by name.
fn runtime_symbols(options: &Options) -> Vec<(&'static CStr, *const c_void)> {
    let parallel_for: unsafe extern "C" fn(i64, runtime::Chunk, *const c_void, *mut runtime::Failure) -> i64 =
        if options.threads == 1 { support::adc_parallel_for } else { runtime::parallel_for };
    vec![
        (c"adc_parallel_for", parallel_for as *const c_void),
        (c"adc_product", runtime::product as *const c_void),
        (c"adc_product_of_singles", runtime::product_of_singles as *const c_void),
        (c"adc_arena_alloc", support::adc_arena_alloc as *const c_void),
        (c"adc_arena_reset", support::adc_arena_reset as *const c_void),
        (c"adc_arena_free", support::adc_arena_free as *const c_void),
        (c"adc_region_alloc", support::adc_region_alloc as *const c_void),
        (c"adc_run_free", support::adc_run_free as *const c_void),
        (c"adc_argsort_real", support::adc_argsort_real as *const c_void),
        (c"adc_argsort_single", support::adc_argsort_single as *const c_void),
        (c"adc_argsort_int", support::adc_argsort_int as *const c_void),
        (c"adc_powi", support::adc_powi as *const c_void),
        (c"adc_powif", support::adc_powif as *const c_void),
        (c"adc_normal_of_bits", support::adc_normal_of_bits as *const c_void),
        (c"adc_digamma", support::adc_digamma as *const c_void),
        (c"adc_trigamma", support::adc_trigamma as *const c_void),
        (c"adc_polygamma", support::adc_polygamma as *const c_void),
        (c"adc_normal_quantile", support::adc_normal_quantile as *const c_void),
    ]
}

/// The object in memory, its undefined symbols found in the runtime, in this process and in libmvec.
fn link(object: &[u8], options: &Options) -> Result<LLVMOrcLLJITRef> {
    let mut lljit = null_mut();
    // SAFETY: plain use of the C interface: the linker owns generators, symbols and the copy of the object once they are added.
    unsafe {
        checked(LLVMOrcCreateLLJIT(&mut lljit, null_mut()))?;
        let dylib = LLVMOrcLLJITGetMainJITDylib(lljit);
        let fill = || -> Result<()> {
            let mut pairs: Vec<LLVMOrcCSymbolMapPair> = runtime_symbols(options)
                .into_iter()
                .map(|(name, address)| LLVMOrcCSymbolMapPair {
                    Name: LLVMOrcLLJITMangleAndIntern(lljit, name.as_ptr()),
                    Sym: LLVMJITEvaluatedSymbol {
                        Address: address as u64,
                        Flags: LLVMJITSymbolFlags {
                            GenericFlags: LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsExported as u8
                                | LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsCallable as u8,
                            TargetFlags: 0,
                        },
                    },
                })
                .collect();
            checked(LLVMOrcJITDylibDefine(dylib, LLVMOrcAbsoluteSymbols(pairs.as_mut_ptr(), pairs.len())))?;
            let prefix = LLVMOrcLLJITGetGlobalPrefix(lljit);
            let mut generator = null_mut();
            checked(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                &mut generator,
                prefix,
                None,
                null_mut(),
            ))?;
            LLVMOrcJITDylibAddGenerator(dylib, generator);
            for library in [c"libm.so.6", c"libmvec.so.1"] {
                let mut generator = null_mut();
                let e = LLVMOrcCreateDynamicLibrarySearchGeneratorForPath(
                    &mut generator,
                    library.as_ptr(),
                    prefix,
                    None,
                    null_mut(),
                );
                // A system without it: then no code asks for it either, or the lookup says what is missing.
                if checked(e).is_ok() {
                    LLVMOrcJITDylibAddGenerator(dylib, generator);
                }
            }
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                object.as_ptr().cast(),
                object.len(),
                c"adc".as_ptr(),
            );
            checked(LLVMOrcLLJITAddObjectFile(lljit, dylib, buffer))
        };
        if let Err(e) = fill() {
            let _ = checked(LLVMOrcDisposeLLJIT(lljit));
            return Err(e);
        }
    }
    Ok(lljit)
}
