//! Products of matrices ([`Product`]): large ones are a tuned library's, which code of this process can call; small ones, and those of libraries
//! that must stand alone, are the loops as they are.

use crate::Result;
use crate::body::Gen;
use inkwell::IntPredicate;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, IntValue, PointerValue};
use lang::loops::product::{Matrix, Product};
use lang::loops::{For, Operand, Val};
use lang::precision::Precision;

/// Multiplications from which a call pays.
const LARGE: i64 = 32 * 32 * 32;

impl<'u, 'c> Gen<'u, 'c> {
    /// The rows lo..hi of a product; absent where the loop is none, or nothing is gained.
    pub fn run_product(&mut self, f: &'u For, (lo, hi): (IntValue<'c>, IntValue<'c>)) -> Result<bool> {
        let product = match Product::of(f) {
            Some(product) if self.u.in_process && !self.u.options.strict => product,
            Some(_) | None => return Ok(false),
        };
        let [columns, inner] = [product.columns, product.inner].map(|r| self.get_int(r.extent));
        let (columns, inner) = (columns?, inner?);
        let rows = self.b.build_int_sub(hi, lo, "rows")?;
        let work = self.b.build_int_mul(self.b.build_int_mul(rows, columns, "")?, inner, "work")?;
        let large = self.b.build_int_compare(IntPredicate::SGE, work, self.int(LARGE), "large")?;
        let (call, loops, done) =
            (self.new_block("product"), self.new_block("loops"), self.new_block("done"));
        self.b.build_conditional_branch(large, call, loops)?;

        self.b.position_at_end(call);
        let mut args: Vec<BasicMetadataValueEnum> = vec![rows.into(), inner.into(), columns.into()];
        let (r, c, q) = (product.rows.index, product.columns.index, product.inner.index);
        for (matrix, by) in [(&product.a, [r, q]), (&product.b, [q, c]), (&product.out, [r, c])] {
            args.push(self.corner(matrix, (r, lo), [c, q])?.into());
            for index in by {
                args.push(self.stride(matrix, index)?.into());
            }
        }
        let name = match self.u.precision {
            Precision::Double => "adc_product",
            Precision::Single => "adc_product_of_singles",
        };
        let types: Vec<_> = args
            .iter()
            .map(|a| if a.is_pointer_value() { self.u.ptr.into() } else { self.u.i64.into() })
            .collect();
        let product = self.u.declare(name, &types, None, None);
        self.b.build_call(product, &args, "")?;
        self.b.build_unconditional_branch(done)?;

        self.b.position_at_end(loops);
        self.run_one_by_one(f, (lo, hi), &[])?;
        self.b.build_unconditional_branch(done)?;
        self.b.position_at_end(done);
        Ok(true)
    }

    /// The address of a matrix's element at this row, the other two indices 0.
    fn corner(
        &self,
        m: &Matrix,
        (row, lo): (Val, IntValue<'c>),
        others: [Val; 2],
    ) -> Result<PointerValue<'c>> {
        let dims = self.at(m.buf)?.dims.clone();
        let mut offset = self.int(0);
        for (at, d) in m.at.iter().zip(dims) {
            let here: BasicValueEnum = match at {
                Operand::Val(v) if *v == row => lo.into(),
                Operand::Val(v) if others.contains(v) => self.int(0).into(),
                other => self.get(*other)?,
            };
            let row = self.b.build_int_nsw_mul(offset, d, "")?;
            offset = self.b.build_int_nsw_add(row, here.into_int_value(), "")?;
        }
        let ptr = self.at(m.buf)?.ptr;
        // SAFETY: the first of the rows that the loops would run, if there is one.
        Ok(unsafe { self.b.build_gep(self.u.real, ptr, &[offset], "corner")? })
    }

    /// Elements from one value of an index to the next.
    fn stride(&self, m: &Matrix, index: Val) -> Result<IntValue<'c>> {
        let after = m.dimension(index).map_or(m.at.len(), |d| d + 1);
        let mut stride = self.int(1);
        for d in &self.at(m.buf)?.dims[after..] {
            stride = self.b.build_int_nsw_mul(stride, *d, "")?;
        }
        Ok(stride)
    }
}
