//! Callees, and the memory of a run that they share: a stack of local buffers, on which every call leaves off where it began, and the region,
//! which only grows. Both are freed by the entry point. (The layout is that of `runtime`'s `Run`.)

use crate::body::{Gen, Role};
use crate::llvm::Unit;
use crate::{Result, malformed};
use inkwell::attributes::AttributeLoc;
use inkwell::module::Linkage;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, FunctionValue, IntValue, PointerValue};
use lang::loops::{Argument, Block, Buf, If, Operand, Param, Proc, REGION_LIMIT, Stmt, Val};

/// The words of `runtime`'s `Run`.
const RUN_WORDS: u32 = 7;
/// Where in it the region is.
const REGION: i64 = 3;

/// How far the stack of local buffers was filled: its block, and the bytes used of it.
#[derive(Clone, Copy)]
pub(crate) struct Mark<'c>(IntValue<'c>, IntValue<'c>);

impl<'c> Unit<'c> {
    /// The functions of an entry point's callees: as entry points, then the memory of the run. First all are declared, then they are defined.
    pub fn callees(&self, entry: &Proc, symbol: &str) -> Result<Vec<FunctionValue<'c>>> {
        let functions: Vec<FunctionValue> = entry.callees.iter().map(|p| self.callee(p, symbol)).collect();
        for (proc, f) in entry.callees.iter().zip(&functions) {
            let params = f.get_params();
            let [arguments @ .., failure, run] = &params[..] else {
                unreachable!("compiler bug: a callee takes a report and the run")
            };
            let role = Role::Callee(run.into_pointer_value());
            let mut body = Gen::new(self, proc, *f, failure.into_pointer_value(), role)?;
            body.callees = functions.clone();
            self.define_body(proc, body, arguments)?;
        }
        Ok(functions)
    }

    fn callee(&self, proc: &Proc, symbol: &str) -> FunctionValue<'c> {
        let mut types: Vec<BasicMetadataTypeEnum> = vec![];
        for p in &proc.params {
            types.push(match p {
                Param::Scalar(v) => self.stored(proc.vals[v.0 as usize].0).into(),
                Param::Array(_) => self.ptr.into(),
            });
        }
        types.extend([BasicMetadataTypeEnum::from(self.ptr), self.ptr.into()]);
        let ty = self.i64.fn_type(&types, false);
        let f = self.define(&format!("{symbol}.{}", proc.name), ty, Some(Linkage::Internal));
        // A frame is that of one call, whose depth is limited.
        f.add_attribute(AttributeLoc::Function, self.attribute("noinline", 0));
        for (k, p) in proc.params.iter().enumerate() {
            if let Param::Array(b) = p {
                self.array_attributes(f, k as u32, proc.info(*b).kind);
            }
        }
        f
    }
}

impl<'u, 'c> Gen<'u, 'c> {
    /// The run's memory, empty at the start.
    pub fn begin_run(&mut self) -> Result<()> {
        let words = self.u.i64.array_type(RUN_WORDS);
        let run = self.entry.build_alloca(words, "run")?;
        self.entry.build_store(run, words.const_zero())?;
        self.run = Some(run);
        Ok(())
    }

    /// The end of a procedure: a callee leaves the stack as it found it, an entry point frees everything.
    pub fn leave_run(&mut self) -> Result<()> {
        if let Some(mark) = self.mark {
            return self.release(mark);
        }
        if let (Role::Entry, Some(run)) = (self.role, self.run) {
            let free = self.u.declare("adc_run_free", &[self.u.ptr.into()], None, None);
            self.b.build_call(free, &[run.into()], "")?;
        }
        Ok(())
    }

    fn run_word(&self, k: i64) -> Result<PointerValue<'c>> {
        let run = self.run.expect("a procedure that calls has the run's memory");
        // SAFETY: k is less than the words of a run.
        Ok(unsafe { self.b.build_in_bounds_gep(self.u.i64, run, &[self.int(k)], "")? })
    }

    pub fn stack_mark(&self) -> Result<Mark<'c>> {
        let word = |k| Ok(self.b.build_load(self.u.i64, self.run_word(k)?, "mark")?.into_int_value());
        let word: &dyn Fn(i64) -> Result<IntValue<'c>> = &word;
        Ok(Mark(word(1)?, word(2)?))
    }

    pub fn release(&self, mark: Mark<'c>) -> Result<()> {
        self.b.build_store(self.run_word(1)?, mark.0)?;
        self.b.build_store(self.run_word(2)?, mark.1)?;
        Ok(())
    }

    pub fn call(&mut self, callee: usize, args: &[Argument]) -> Result<()> {
        let Some(f) = self.callees.get(callee).copied() else {
            return malformed(format!("no procedure {callee} for {}", self.proc.name));
        };
        let mut values: Vec<BasicMetadataValueEnum> = vec![];
        for a in args {
            values.push(match a {
                Argument::Scalar(o) => {
                    let v = self.get(*o)?;
                    if v.get_type() == self.u.i1.into() {
                        self.b.build_int_z_extend(v.into_int_value(), self.u.i8, "")?.into()
                    } else {
                        v.into()
                    }
                }
                Argument::In(b) | Argument::Out(b) | Argument::Acc(b) => self.at(*b)?.ptr.into(),
            });
        }
        let run = self.run.expect("a procedure that calls has the run's memory");
        values.extend([BasicMetadataValueEnum::from(self.failure), run.into()]);
        if values.len() != f.count_params() as usize {
            return malformed(format!("{} arguments of a call in {}", args.len(), self.proc.name));
        }
        let status = self.b.build_call(f, &values, "status")?.try_as_basic_value().unwrap_basic();
        self.require_success(status.into_int_value())
    }

    pub fn reserve(&mut self, dst: Val, buf: Buf, failure: usize) -> Result<()> {
        let info = self.proc.info(buf);
        let dims = info.shape.iter().map(|d| self.get_int(*d)).collect::<Result<Vec<_>>>()?;
        let bytes = self.bytes(self.size_of(info.elem), &dims)?;
        let region = self.run_word(REGION)?;
        let (ptr, i64) = (self.u.ptr, self.u.i64);
        let alloc =
            self.u.declare("adc_region_alloc", &[ptr.into(), i64.into(), i64.into()], Some(ptr.into()), None);
        let args = [region.into(), bytes.into(), self.int(REGION_LIMIT as i64).into()];
        let at = self.b.build_call(alloc, &args, "kept")?.try_as_basic_value().unwrap_basic();
        let there = self.b.build_is_not_null(at.into_pointer_value(), "")?;
        self.require(there, failure, &[Operand::Int(REGION_LIMIT as i64)])?;
        let handle = self.b.build_ptr_to_int(at.into_pointer_value(), self.u.i64, self.name(dst))?;
        self.set(dst, handle.into())?;
        self.place(buf, at.into_pointer_value())
    }

    pub fn view(&mut self, buf: Buf, handle: Operand) -> Result<()> {
        let handle = self.get_int(handle)?;
        let at = self.b.build_int_to_ptr(handle, self.u.ptr, "view")?;
        self.place(buf, at)
    }
}

/// The block itself, and not a loop in it, brings a local buffer to life.
pub(crate) fn allocates(block: &Block) -> bool {
    block.iter().any(|s| match s {
        Stmt::Alloc { .. } => true,
        Stmt::If(If { then, els, .. }) => allocates(then) || allocates(els),
        Stmt::Let { .. }
        | Stmt::Load { .. }
        | Stmt::Store { .. }
        | Stmt::Accum { .. }
        | Stmt::Fill { .. }
        | Stmt::Copy { .. }
        | Stmt::For(_)
        | Stmt::While(_)
        | Stmt::Check { .. }
        | Stmt::Argsort { .. }
        | Stmt::Call { .. }
        | Stmt::Reserve { .. }
        | Stmt::View { .. } => false,
    })
}
