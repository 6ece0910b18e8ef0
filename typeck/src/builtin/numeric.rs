//! Linear algebra and numerically safe sums.

use super::Body::Text;
use super::Row;

pub const CONSTANTS: &[Row] = &[
    Row {
        name: "pi",
        header: ": real",
        body: Text("3.141592653589793"),
        doc: "half the circumference of the unit circle",
    },
    Row { name: "inf", header: ": real", body: Text("1.0 / 0.0"), doc: "infinity" },
    Row { name: "nan", header: ": real", body: Text("0.0 / 0.0"), doc: "not a number" },
];

pub const ROWS: &[Row] = &[
    Row {
        name: "dot",
        header: "[n] (x : real^n) (y : real^n) : real",
        body: Text("sum [ x[i] * y[i] | i < n ]"),
        doc: "the inner product",
    },
    Row {
        name: "matvec",
        header: "[n, m] (a : real^(n, m)) (x : real^m) : real^n",
        body: Text("[ sum [ a[i, j] * x[j] | j < m ] | i < n ]"),
        doc: "matrix times vector",
    },
    Row {
        name: "vecmat",
        header: "[n, m] (x : real^n) (a : real^(n, m)) : real^m",
        body: Text("[ sum [ x[i] * a[i, j] | i < n ] | j < m ]"),
        doc: "vector times matrix",
    },
    Row {
        name: "matmul",
        header: "[n, m, k] (a : real^(n, m)) (b : real^(m, k)) : real^(n, k)",
        body: Text("[ sum [ a[i, l] * b[l, j] | l < m ] | i < n, j < k ]"),
        doc: "matrix times matrix",
    },
    Row {
        name: "norm",
        header: "[n] (x : real^n) : real",
        // The slope at the origin is 0, by not taking the root there.
        body: Text("let s = sum [ x[i] * x[i] | i < n ] in if s == 0.0 then 0.0 else sqrt s"),
        doc: "the Euclidean length; slope 0 at the origin",
    },
    Row {
        name: "logsumexp",
        header: "[n] (x : real^n) : real",
        // The largest element is a constant of the derivative; an infinite one is the result.
        body: Text(
            "let m = detach (maximum x) in if m - m == 0.0 then m + log (sum [ exp (x[i] - m) | i < n ]) else m",
        ),
        doc: "log of the sum of exponentials, without overflow; -inf of none",
    },
    Row {
        name: "softmax",
        header: "[n] (x : real^n) : real^n",
        body: Text(
            "let m = detach (maximum x) in let e = [ exp (x[i] - m) | i < n ] in let s = sum e in [ e[i] / s | i < n ]",
        ),
        doc: "exponentials scaled to sum 1",
    },
];
