//! Constructors of procedures: statements are appended to the innermost open block.
//!
//! ```
//! # use lang::loops::{build::Builder, *}; use lang::prim::Scalar;
//! let mut b = Builder::new("dot");
//! let n = b.scalar(Scalar::Int, "n");
//! let x = b.array("x", Scalar::Real, &[n], BufKind::In);
//! let r = b.array("r", Scalar::Real, &[], BufKind::Out);
//! let s = b.sum("s", "i", n, |b, i| {
//!     let v = b.load(x, &[i]);
//!     b.op(Op::FMul, &[v, v])
//! });
//! b.store(r, &[], s);
//! let p = b.finish();
//! ```

use super::*;

pub struct Builder {
    pub p: Proc,
    blocks: Vec<Block>,
}

impl Builder {
    pub fn new(name: &str) -> Builder {
        Builder { p: Proc::new(name), blocks: vec![vec![]] }
    }
    pub fn finish(mut self) -> Proc {
        self.p.body = self.blocks.pop().unwrap_or_default();
        self.p
    }
    pub fn push(&mut self, s: Stmt) {
        self.blocks.last_mut().expect("a block is open").push(s)
    }
    /// The statements that `f` appends, as a block of their own.
    pub fn block<T>(&mut self, f: impl FnOnce(&mut Builder) -> T) -> (Block, T) {
        self.blocks.push(vec![]);
        let x = f(self);
        (self.blocks.pop().expect("the block opened here"), x)
    }

    pub fn scalar(&mut self, ty: Scalar, name: &str) -> Operand {
        let v = self.p.val(ty, name);
        self.p.params.push(Param::Scalar(v));
        Operand::Val(v)
    }
    pub fn array(&mut self, name: &str, elem: Scalar, shape: &[Operand], kind: BufKind) -> Buf {
        let b = self.p.buf(BufInfo { name: name.into(), elem, shape: shape.to_vec(), kind });
        self.p.params.push(Param::Array(b));
        b
    }
    pub fn alloc(&mut self, name: &str, elem: Scalar, shape: &[Operand]) -> Buf {
        let buf =
            self.p.buf(BufInfo { name: name.into(), elem, shape: shape.to_vec(), kind: BufKind::Local });
        self.push(Stmt::Alloc { buf });
        buf
    }

    /// The value of an operation; its arguments must have its types.
    pub fn op(&mut self, op: Op, args: &[Operand]) -> Operand {
        let types: Vec<Scalar> = args.iter().map(|a| self.p.type_of(*a)).collect();
        let ty = verify::result_type(op, &types).unwrap_or_else(|| panic!("{op:?} at {types:?}"));
        let dst = self.p.val(ty, "t");
        self.push(Stmt::Let { dst, op, args: args.to_vec() });
        Operand::Val(dst)
    }
    pub fn load(&mut self, buf: Buf, index: &[Operand]) -> Operand {
        let info = self.p.info(buf);
        let (elem, name) = (info.elem, info.name.clone());
        let dst = self.p.val(elem, name);
        self.push(Stmt::Load { dst, buf, index: index.to_vec() });
        Operand::Val(dst)
    }
    pub fn store(&mut self, buf: Buf, index: &[Operand], value: Operand) {
        self.push(Stmt::Store { buf, index: index.to_vec(), value })
    }
    pub fn accum(&mut self, buf: Buf, index: &[Operand], value: Operand) {
        self.push(Stmt::Accum { buf, index: index.to_vec(), value })
    }
    pub fn fill(&mut self, buf: Buf, value: Operand) {
        self.push(Stmt::Fill { buf, value })
    }

    /// for index < extent, in order, carrying nothing.
    pub fn each(&mut self, index: &str, extent: Operand, body: impl FnOnce(&mut Builder, Operand)) {
        self.fold(index, extent, &[], CarriedKind::Sequential, |b, i, _| {
            body(b, i);
            vec![]
        });
    }
    /// Σ_{index < extent} body
    pub fn sum(
        &mut self,
        name: &str,
        index: &str,
        extent: Operand,
        body: impl FnOnce(&mut Builder, Operand) -> Operand,
    ) -> Operand {
        let zero = Operand::Real(0.0);
        let results = self.fold(index, extent, &[(name, zero)], CarriedKind::Sum, |b, i, s| {
            let x = body(b, i);
            vec![b.op(Op::FAdd, &[s[0], x])]
        });
        results[0]
    }
    /// for index < extent with carried scalars (name, init); `body` gives their next values.
    pub fn fold(
        &mut self,
        index: &str,
        extent: Operand,
        carried: &[(&str, Operand)],
        kind: CarriedKind,
        body: impl FnOnce(&mut Builder, Operand, &[Operand]) -> Vec<Operand>,
    ) -> Vec<Operand> {
        let index = self.p.val(Scalar::Int, index);
        let params: Vec<Val> = carried.iter().map(|c| self.p.val(self.p.type_of(c.1), c.0)).collect();
        let results: Vec<Val> = carried.iter().map(|c| self.p.val(self.p.type_of(c.1), c.0)).collect();
        let inside: Vec<Operand> = params.iter().map(|v| Operand::Val(*v)).collect();
        let (body, nexts) = self.block(|b| body(b, Operand::Val(index), &inside));
        let carried = (0..carried.len()).map(|k| Carried {
            param: params[k],
            init: carried[k].1,
            next: nexts[k],
            result: results[k],
            kind,
        });
        let carried = carried.collect();
        self.push(Stmt::For(For { index, extent, down: false, carried, body, parallel: Parallel::No }));
        results.into_iter().map(Operand::Val).collect()
    }
    /// if cond then … else …; both arms give as many results, of the same types.
    pub fn if_(
        &mut self,
        cond: Operand,
        then: impl FnOnce(&mut Builder) -> Vec<Operand>,
        els: impl FnOnce(&mut Builder) -> Vec<Operand>,
    ) -> Vec<Operand> {
        let (then, t) = self.block(then);
        let (els, e) = self.block(els);
        let results: Vec<Val> = t.iter().map(|o| self.p.val(self.p.type_of(*o), "r")).collect();
        let rows = (0..results.len()).map(|k| (results[k], t[k], e[k])).collect();
        self.push(Stmt::If(If { cond, then, els, results: rows }));
        results.into_iter().map(Operand::Val).collect()
    }
}
