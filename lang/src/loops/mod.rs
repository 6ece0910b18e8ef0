//! The loop IR: structured loops over buffers, scalars in SSA form, machine vocabulary only. What `opt` emits and
//! improves, what `codegen` reads. It knows no primitive by name, no derivative, no linear type.
//!
//! **Values** ([`Val`]) are scalars, defined once, scoped by the block structure: a value defined in a block is visible after
//! its definition in that block and the blocks inside it. **Buffers** ([`Buf`]) are row-major arrays of one scalar type with a shape of
//! operands fixed where the buffer comes to life (entry for parameters, [`Stmt::Alloc`] for locals). Rank 0 is one element.
//!
//! Invariants, checked by the verifier: every value is defined before use and once; types fit; an index has as many operands as the
//! buffer's rank; a local buffer is used only in the block that allocates it and the blocks inside; `In` parameters
//! are never written; distinct buffers are disjoint, but for views of the region, which nobody writes, and for parts and what they lie
//! in ([`Proc::parts`]); `parallel` loops satisfy what [`Parallel`] says.
//!
//! **Calls.** An entry point brings the procedures that it and they call ([`Proc::callees`]). Whatever must outlive the call that made it lies in
//! the *region*: memory that only grows and goes when the entry point returns. An array in it has a handle, an int
//! ([`Stmt::Reserve`]), by which another procedure sees it again ([`Stmt::View`]).

pub mod build;
pub mod eval;
pub mod lanes;
pub mod ops;
pub mod product;
pub mod split;
#[cfg(test)]
mod tests;
pub mod text;
pub mod verify;
pub mod walk;

use crate::diag::{Failure, Site};
use crate::name::Name;
use crate::precision::Precision;
use crate::prim::Scalar;
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Val(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Buf(pub u32);

/// A value or a constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operand {
    Val(Val),
    Real(f64),
    Int(i64),
    Bool(bool),
}

impl Operand {
    /// The value, if it is one and no constant.
    pub fn val(self) -> Option<Val> {
        match self {
            Operand::Val(v) => Some(v),
            Operand::Real(_) | Operand::Int(_) | Operand::Bool(_) => None,
        }
    }
}

/// Scalar operations. Reals are IEEE numbers of the procedure's precision (comparisons ordered: false on NaN, except FNe), ints wrap at 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Op {
    FAdd,
    FSub,
    FMul,
    FDiv,
    FNeg,
    FAbs,
    FSqrt,
    FFloor,
    FCeil,
    /// To the nearest integer, ties to even.
    FRound,
    FTrunc,
    /// Magnitude of the first, sign of the second.
    FCopySign,
    FEq,
    FNe,
    FLt,
    FLe,
    IAdd,
    ISub,
    IMul,
    /// Floor division, wrapping; 0 when the divisor is 0.
    IDiv,
    /// Floor remainder, sign of the divisor; 0 when the divisor is 0.
    IMod,
    IXor,
    IAnd,
    /// Shifts take the second argument mod 64.
    IShl,
    /// Logical shift right.
    IShr,
    IEq,
    INe,
    ILt,
    ILe,
    BAnd,
    BOr,
    BNot,
    BEq,
    /// int to real, rounded to nearest.
    IToF,
    /// real to int, truncating and saturating; NaN to 0 (as Rust's `as`).
    FToI,
    /// The bits of a real as an int (a single's are its low 32), and back.
    FBits,
    IBits,
    /// A word of random bits as a real u, 0 ≤ u < 1: its high bits, as many as a real has, as a binary fraction.
    Uniform,
    /// Select(c, t, s): t if c else s; any scalar type.
    Select,
    /// Math functions of the C library or of `runtime`.
    Math(Math),
}

/// Math functions: by their C names, except where noted. In single precision each is the double function, rounded; only PowInt multiplies
/// singles.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Math {
    Exp,
    Expm1,
    Log,
    Log1p,
    Log2,
    Log10,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Erfc,
    /// ln |Γ(x)|
    Lgamma,
    Atan2,
    Hypot,
    Pow,
    /// x^k, k int: binary powering, `lang::prim::powi`; not a C function.
    PowInt,
    /// ψ(x), `lang::prim::digamma`; not a C function.
    Digamma,
    /// ψ'(x), `lang::prim::trigamma`; not a C function.
    Trigamma,
    /// The m-th derivative of ψ at x, m int: `lang::prim::polygamma(m, x)`; not a C function.
    Polygamma,
    /// The z below which a standard normal variable lies with probability p: `lang::prim::normal_quantile`; not a C function.
    NormalQuantile,
    /// A word of random bits as a number of the standard normal distribution: `lang::prim::normal_of_bits`; not a C function.
    NormalOfBits,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// dst = op(args)
    Let {
        dst: Val,
        op: Op,
        args: Vec<Operand>,
    },
    /// dst = buf[index]
    Load {
        dst: Val,
        buf: Buf,
        index: Vec<Operand>,
    },
    /// buf[index] = value
    Store {
        buf: Buf,
        index: Vec<Operand>,
        value: Operand,
    },
    /// buf[index] += value; reals only
    Accum {
        buf: Buf,
        index: Vec<Operand>,
        value: Operand,
    },
    /// A local buffer comes to life, its contents undefined.
    Alloc {
        buf: Buf,
    },
    /// Every element of buf = value (a constant or value of its type).
    Fill {
        buf: Buf,
        value: Operand,
    },
    /// Every element of dst = the element of src at the same index; equal shapes.
    Copy {
        dst: Buf,
        src: Buf,
    },
    For(For),
    While(While),
    If(If),
    /// If not cond: the procedure ends with this failure (index into [`Proc::failures`]) and its int details.
    Check {
        cond: Operand,
        failure: usize,
        details: Vec<Operand>,
    },
    /// perm[..] = the stable ascending order of keys[..] (rank 1; reals with NaN last, or ints).
    Argsort {
        keys: Buf,
        perm: Buf,
    },
    /// The procedure with this number in [`Proc::callees`] of the entry point, at arguments for its parameters in order. Buffers are passed
    /// whole; those it writes are disjoint from every other.
    Call {
        callee: usize,
        args: Vec<Argument>,
    },
    /// A buffer comes to life in the region, its contents undefined; dst is its handle. The failure is what happens when the region is full.
    Reserve {
        dst: Val,
        buf: Buf,
        failure: usize,
    },
    /// A buffer comes to life that is the one with this handle, only read.
    View {
        buf: Buf,
        handle: Operand,
    },
}

/// An argument of a call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Argument {
    Scalar(Operand),
    /// For an `In` parameter: read.
    In(Buf),
    /// For an `Out` parameter: overwritten.
    Out(Buf),
    /// For an `Acc` parameter: added to.
    Acc(Buf),
}

pub type Block = Vec<Stmt>;

/// for index in 0..extent (or downwards) with carried scalars.
#[derive(Clone, PartialEq, Debug)]
pub struct For {
    pub index: Val,
    pub extent: Operand,
    /// Runs extent-1, …, 0.
    pub down: bool,
    pub carried: Vec<Carried>,
    pub body: Block,
    pub parallel: Parallel,
}

/// A scalar carried round a loop: `param` is its value in an iteration (init in the first), `next` its value for the following one,
/// `result` its value after the loop (init when there was no iteration).
#[derive(Clone, PartialEq, Debug)]
pub struct Carried {
    pub param: Val,
    pub init: Operand,
    pub next: Operand,
    pub result: Val,
    /// What is known of `next`; `Sequential` when nothing is.
    pub kind: CarriedKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CarriedKind {
    Sequential,
    /// next = param + contributions in which param does not occur: additions may be reordered unless the program is strict.
    Sum,
}

/// What is known about running iterations in any order, at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Parallel {
    /// Nothing: iterations run in order.
    No,
    /// Iterations are independent but for Sum-carried scalars and Accum statements into outer buffers. An outer buffer that is
    /// stored to is touched only at this loop's index in one fixed dimension; one that is accumulated into elsewhere is not
    /// otherwise touched in the body.
    Yes,
    /// As `Yes`, and the index is worth being a vector of consecutive iterations ([`lanes`]).
    Lanes,
}

/// while cond do body: `cond_block` computes `cond` from the params, before each iteration.
#[derive(Clone, PartialEq, Debug)]
pub struct While {
    pub carried: Vec<Carried>,
    pub cond_block: Block,
    pub cond: Operand,
    pub body: Block,
}

#[derive(Clone, PartialEq, Debug)]
pub struct If {
    pub cond: Operand,
    pub then: Block,
    pub els: Block,
    /// (dst, value from then, value from els)
    pub results: Vec<(Val, Operand, Operand)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BufKind {
    /// A parameter that is only read.
    In,
    /// A parameter that is written: a result. Its contents at entry are undefined.
    Out,
    /// A parameter that is added to.
    Acc,
    Local,
    /// In the region ([`Stmt::Reserve`]).
    Kept,
    /// What [`Stmt::View`] shows of the region: only read.
    View,
}

impl BufKind {
    /// Given by the caller.
    pub fn is_param(self) -> bool {
        match self {
            BufKind::In | BufKind::Out | BufKind::Acc => true,
            BufKind::Local | BufKind::Kept | BufKind::View => false,
        }
    }
    pub fn is_written(self) -> bool {
        match self {
            BufKind::Out | BufKind::Acc | BufKind::Local | BufKind::Kept => true,
            BufKind::In | BufKind::View => false,
        }
    }
}

/// Calls nest at most so deep; then the program fails.
pub const DEPTH_LIMIT: i64 = 10_000;
/// The region has at most so many bytes; then the program fails.
pub const REGION_LIMIT: u64 = 1 << 30;

#[derive(Clone, PartialEq, Debug)]
pub struct BufInfo {
    pub name: Name,
    pub elem: Scalar,
    pub shape: Vec<Operand>,
    pub kind: BufKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Param {
    /// A scalar argument (sizes are ints).
    Scalar(Val),
    /// An array argument: `In`, `Out` or (of a callee) `Acc`, shape over the scalar parameters. Rank 0 `Out` for scalar results.
    Array(Buf),
}

/// A procedure: what one entry point, or a definition that is called when the program runs, compiles to.
#[derive(Clone, PartialEq, Debug)]
pub struct Proc {
    pub name: Name,
    /// Of all its reals; its callees have the same.
    pub precision: Precision,
    pub params: Vec<Param>,
    pub body: Block,
    /// By [`Val`] number: its type and a name for people.
    pub vals: Vec<(Scalar, Name)>,
    /// By [`Buf`] number.
    pub bufs: Vec<BufInfo>,
    /// By failure number, as in [`Stmt::Check`]. An entry point and its callees have the same.
    pub failures: Vec<(Failure, Site)>,
    /// The procedures that this one and they call, by number. Only an entry point brings any.
    pub callees: Vec<Proc>,
    /// Size parameters that others determine: each is Σ c · Π v.
    pub sums: Vec<(Val, Sum)>,
    /// Local buffers that lie in others: whoever writes the one writes the other. While the part is in use the whole is touched through its parts only,
    /// which are disjoint.
    pub parts: BTreeMap<Buf, Part>,
}

/// Σ c · Π v
pub type Sum = Vec<(i64, Vec<Val>)>;

/// A stretch of a buffer: its elements from `at` on, counted row by row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Part {
    pub of: Buf,
    pub at: Operand,
}

impl Proc {
    pub fn new(name: impl Into<Name>) -> Proc {
        Proc {
            name: name.into(),
            precision: Precision::default(),
            params: vec![],
            body: vec![],
            vals: vec![],
            bufs: vec![],
            failures: vec![],
            callees: vec![],
            sums: vec![],
            parts: BTreeMap::new(),
        }
    }
    pub fn val(&mut self, ty: Scalar, name: impl Into<Name>) -> Val {
        self.vals.push((ty, name.into()));
        Val(self.vals.len() as u32 - 1)
    }
    pub fn buf(&mut self, info: BufInfo) -> Buf {
        self.bufs.push(info);
        Buf(self.bufs.len() as u32 - 1)
    }
    pub fn type_of(&self, o: Operand) -> Scalar {
        match o {
            Operand::Val(v) => self.vals[v.0 as usize].0,
            Operand::Real(_) => Scalar::Real,
            Operand::Int(_) => Scalar::Int,
            Operand::Bool(_) => Scalar::Bool,
        }
    }
    pub fn info(&self, b: Buf) -> &BufInfo {
        &self.bufs[b.0 as usize]
    }
}
