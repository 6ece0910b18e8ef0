//! Large products of matrices, by the crate `matrixmultiply`. It adds up in the same order however many rows it is given at a time, so that a
//! product cut into chunks of rows has the bits of the whole.

/// out[r, c] += Σ_q a[r, q] · b[q, c]: the numbers of rows, of q and of columns, then each matrix with the distance in elements from a row to the next and
/// from a column to the next.
macro_rules! product {
    ($name:ident, $real:ty, $gemm:path) => {
        /// # Safety
        /// The matrices lie in memory that is theirs, `out` apart from the others; no two of its elements are one.
        pub unsafe extern "C" fn $name(
            rows: i64,
            inner: i64,
            columns: i64,
            a: *const $real,
            a_row: i64,
            a_column: i64,
            b: *const $real,
            b_row: i64,
            b_column: i64,
            out: *mut $real,
            out_row: i64,
            out_column: i64,
        ) {
            let size = |n: i64| n.max(0) as usize;
            let step = |n: i64| n as isize;
            // SAFETY: the caller's promise.
            unsafe {
                $gemm(
                    size(rows),
                    size(inner),
                    size(columns),
                    1.0,
                    a,
                    step(a_row),
                    step(a_column),
                    b,
                    step(b_row),
                    step(b_column),
                    1.0,
                    out,
                    step(out_row),
                    step(out_column),
                )
            }
        }
    };
}

product!(product, f64, matrixmultiply::dgemm);
product!(product_of_singles, f32, matrixmultiply::sgemm);
