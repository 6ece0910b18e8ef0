//! What LLVM is told about loops. Measured with the logistic gradient (30 columns): an inner loop of constant length that is unrolled before
//! the vectoriser sees it makes the outer loop the vector loop, with gathers: four times faster up to 8 columns, three times slower at 30.

use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::{
    LLVMGetMDKindIDInContext, LLVMMDNodeInContext2, LLVMMDStringInContext2, LLVMMetadataAsValue,
    LLVMSetMetadata, LLVMValueAsMetadata,
};
use inkwell::llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::values::{AsValueRef, InstructionValue};
use lang::loops::{For, Stmt};
use std::ptr::null_mut;

/// Constant trip counts up to this many are left to LLVM's full unrolling.
pub(crate) const SHORT: i64 = 8;

/// A loop of fewer trips is vectorised by LLVM without a loop for what is left over: all of its groups run under a mask.
pub(crate) const MASKED: i64 = 16;

pub(crate) fn innermost(f: &For) -> bool {
    !f.body.iter().any(|s| matches!(s, Stmt::For(_) | Stmt::While(_)))
}

/// The wishes for a loop of the program, of this many trips if that is known.
pub(crate) fn of_loop(f: &For, trips: Option<i64>) -> &'static [(&'static str, Option<u64>)] {
    match trips {
        Some(k) if innermost(f) && k > SHORT => &[("llvm.loop.unroll.disable", None)],
        Some(_) | None => &[],
    }
}

/// Loops we make up ourselves, seldom hot: vector code, but little of it.
pub(crate) const MODEST: &[(&str, Option<u64>)] =
    &[("llvm.loop.unroll.disable", None), ("llvm.loop.interleave.count", Some(1))];

/// A loop whose every iteration is to be code of its own.
pub(crate) const WRITTEN_OUT: &[(&str, Option<u64>)] = &[("llvm.loop.unroll.full", None)];

/// Puts the wishes on a loop, at the branch back to its header.
pub(crate) fn attach(cx: &Context, back_edge: InstructionValue, wishes: &[(&str, Option<u64>)]) {
    if wishes.is_empty() {
        return;
    }
    let c = cx.as_ctx_ref();
    // SAFETY: plain use of the C interface, everything within this context. A loop's metadata is a node whose first operand is itself:
    // a placeholder is put there and replaced by the node.
    unsafe {
        let text = |s: &str| LLVMMDStringInContext2(c, s.as_ptr().cast(), s.len());
        let placeholder = LLVMTemporaryMDNode(c, null_mut(), 0);
        let mut operands = vec![placeholder];
        for (name, value) in wishes {
            let mut pair = vec![text(name)];
            if let Some(k) = value {
                pair.push(LLVMValueAsMetadata(cx.i32_type().const_int(*k, false).as_value_ref()));
            }
            operands.push(LLVMMDNodeInContext2(c, pair.as_mut_ptr(), pair.len()));
        }
        let node = LLVMMDNodeInContext2(c, operands.as_mut_ptr(), operands.len());
        LLVMMetadataReplaceAllUsesWith(placeholder, node);
        let kind = "llvm.loop";
        let kind = LLVMGetMDKindIDInContext(c, kind.as_ptr().cast(), kind.len() as u32);
        LLVMSetMetadata(back_edge.as_value_ref(), kind, LLVMMetadataAsValue(c, node));
    }
}

/// Once per process: the remainder of a vectorised loop is done in short vectors before single elements, also where
/// LLVM's default finds it not worth while (it pays for rows of some tens of elements). And no scheduling after registers are given out: on processors
/// that reorder instructions themselves nothing was seen of it, and its time grows with the square of a block's length. Nor are values that
/// registers have no room for put into one place after another, which takes as long.
pub(crate) fn set_up() {
    let args = [
        c"adc",
        c"-epilogue-vectorization-minimum-VF=2",
        c"-post-RA-scheduler=false",
        c"-no-stack-slot-sharing",
    ]
    .map(|a| a.as_ptr());
    // SAFETY: called once, before anything is compiled (see Cpu::host).
    unsafe { LLVMParseCommandLineOptions(args.len() as i32, args.as_ptr(), null_mut()) }
}
