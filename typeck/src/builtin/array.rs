//! Arrays made, taken apart and rearranged.

use super::Body::{Core, Text};
use super::Row;
use lang::core::{Binder, Term};
use std::sync::Arc;

pub const ROWS: &[Row] = &[
    Row {
        name: "map",
        header: "['a, 'b, n] (f : 'a -> 'b) (xs : [n]'a) : [n]'b",
        body: Text("[ f xs[i] | i < n ]"),
        doc: "f applied to every element",
    },
    Row {
        name: "map2",
        header: "['a, 'b, 'c, n] (f : 'a -> 'b -> 'c) (xs : [n]'a) (ys : [n]'b) : [n]'c",
        body: Text("[ f xs[i] ys[i] | i < n ]"),
        doc: "f applied to the elements of two arrays, one of each",
    },
    Row {
        name: "map3",
        header: "['a, 'b, 'c, 'd, n] (f : 'a -> 'b -> 'c -> 'd) (xs : [n]'a) (ys : [n]'b) (zs : [n]'c) : [n]'d",
        body: Text("[ f xs[i] ys[i] zs[i] | i < n ]"),
        doc: "f applied to the elements of three arrays, one of each",
    },
    Row {
        name: "zip",
        header: "['a, 'b, n] (xs : [n]'a) (ys : [n]'b) : [n]('a, 'b)",
        body: Text("[ (xs[i], ys[i]) | i < n ]"),
        doc: "two arrays as one of pairs",
    },
    Row {
        name: "unzip",
        header: "['a, 'b, n] (ps : [n]('a, 'b)) : ([n]'a, [n]'b)",
        body: Text("([ ps[i].0 | i < n ], [ ps[i].1 | i < n ])"),
        doc: "an array of pairs as two arrays",
    },
    Row {
        name: "build",
        header: "['a] (n : int) (f : int -> 'a) : [n]'a",
        body: Text("[ f i | i < n ]"),
        doc: "the array of f 0, …, f (n-1)",
    },
    Row {
        name: "replicate",
        header: "['a] (n : int) (x : 'a) : [n]'a",
        body: Text("[ x | i < n ]"),
        doc: "n times the same",
    },
    Row { name: "iota", header: "(n : int) : [n]int", body: Text("[ i | i < n ]"), doc: "0, 1, …, n-1" },
    Row {
        name: "length",
        header: "['a, n] (xs : [n]'a) : int",
        body: Text("n"),
        doc: "how many elements; a size",
    },
    Row {
        name: "gather",
        header: "['a, n, m] (xs : [n]'a) (is : [m]int) : [m]'a",
        body: Text("[ xs[is[k]] | k < m ]"),
        doc: "the elements at given places",
    },
    Row {
        name: "concat",
        header: "['a, n, m] (xs : [n]'a) (ys : [m]'a) : [n + m]'a",
        body: Text("[ if i < n then xs[i] else ys[i - n] | i < n + m ]"),
        doc: "one array after the other",
    },
    Row {
        name: "take",
        header: "['a, n] (k : int) (xs : [n]'a) : [k]'a",
        body: Text("[ xs[i] | i < k ]"),
        doc: "the first k elements",
    },
    Row {
        name: "drop",
        header: "['a, n] (k : int) (xs : [n]'a) : [n - k]'a",
        body: Text("[ xs[i + k] | i < n - k ]"),
        doc: "all but the first k elements",
    },
    Row {
        name: "reverse",
        header: "['a, n] (xs : [n]'a) : [n]'a",
        body: Text("[ xs[n - 1 - i] | i < n ]"),
        doc: "the last element first",
    },
    Row {
        name: "rotate",
        header: "['a, n] (k : int) (xs : [n]'a) : [n]'a",
        body: Text("[ xs[mod (i + k) n] | i < n ]"),
        doc: "element i is xs[(i + k) mod n]",
    },
    Row {
        name: "transpose",
        header: "['a, n, m] (xss : [n][m]'a) : [m][n]'a",
        body: Text("[ xss[j, i] | i < m, j < n ]"),
        doc: "rows and columns exchanged",
    },
    Row {
        name: "flatten",
        header: "['a, n, m] (xss : [n][m]'a) : [n * m]'a",
        body: Text("[ xss[div k m, mod k m] | k < n * m ]"),
        doc: "the rows one after the other",
    },
    Row {
        name: "unflatten",
        header: "['a] (n : int) (m : int) (xs : [n * m]'a) : [n][m]'a",
        body: Text("[ xs[i * m + j] | i < n, j < m ]"),
        doc: "n rows of m elements",
    },
    Row {
        name: "scatter",
        header: "['a, n, m] (dst : [n]'a) (is : [m]int) (vs : [m]'a) : [n]'a",
        body: Text(
            "loop d = dst for k < m do let i = is[k] in if 0 <= i && i < n then {d with [i] = vs[k]} else d",
        ),
        doc: "dst with vs[k] at is[k]; the last of several wins, indices out of range are ignored",
    },
    Row {
        name: "scatter_add",
        header: "[n, m] (dst : real^n) (is : [m]int) (vs : real^m) : real^n",
        body: Text(
            "loop d = dst for k < m do let i = is[k] in if 0 <= i && i < n then {d with [i] = d[i] + vs[k]} else d",
        ),
        doc: "dst with vs[k] added at is[k]; indices out of range are ignored",
    },
    Row {
        name: "histogram",
        header: "['a, n, m] (op : 'a -> 'a -> 'a) (dst : [n]'a) (is : [m]int) (vs : [m]'a) : [n]'a",
        body: Text(
            "loop d = dst for k < m do let i = is[k] in if 0 <= i && i < n then {d with [i] = op d[i] vs[k]} else d",
        ),
        doc: "the elements of vs combined by op with those of dst at their indices; indices out of range are ignored",
    },
    Row {
        name: "outer",
        header: "[n, m] (x : real^n) (y : real^m) : real^(n, m)",
        body: Text("[ x[i] * y[j] | i < n, j < m ]"),
        doc: "all products",
    },
    Row {
        name: "detach",
        header: "['a] (x : 'a) : 'a",
        body: Core(|_, g| {
            Arc::new(Term::Detach(g.args.into_iter().next().unwrap_or_else(lang::core::make::unit)))
        }),
        doc: "the value, with zero derivative",
    },
    Row {
        name: "box",
        header: "['a] (x : 'a) : int",
        body: Core(|_, g| {
            Arc::new(Term::Box(g.args.into_iter().next().unwrap_or_else(lang::core::make::unit)))
        }),
        doc: "a handle of the value, which is kept as long as the program runs: how a derivative of a recursion is written, not for programs",
    },
    Row {
        name: "unbox",
        header: "['a] (handle : int) : 'a",
        body: Core(|_, g| {
            let handle = g.args.into_iter().next().unwrap_or_else(lang::core::make::unit);
            let ty = g.types.into_iter().next().unwrap_or_else(lang::types::Type::unit);
            Arc::new(Term::Unbox(ty, handle))
        }),
        doc: "the value with that handle, of the type written `unbox[τ] h`",
    },
];

/// i < n as a loop's shape: `loop s = init for i < n do body`.
pub(crate) fn loop_value(
    state: Binder,
    init: lang::core::Tm,
    index: lang::name::Var,
    bound: lang::size::Size,
    body: lang::core::Tm,
) -> lang::core::Tm {
    let body = lang::core::make::tuple([body, lang::core::make::unit()]);
    lang::core::make::proj(Arc::new(Term::Loop { state, init, index, bound, body }), 0)
}
