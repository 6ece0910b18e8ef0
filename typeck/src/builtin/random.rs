//! Counter-based random numbers: the same bits everywhere.

use super::Body::Text;
use super::Row;

pub const ROWS: &[Row] = &[
    Row {
        name: "uniform",
        header: "(seed : int) (n : int) : real^n",
        body: Text("[ random_uniform seed i | i < n ]"),
        doc: "n numbers from [0, 1)",
    },
    Row {
        name: "normal",
        header: "(seed : int) (n : int) : real^n",
        body: Text("[ random_normal seed i | i < n ]"),
        doc: "n numbers of the standard normal distribution",
    },
    Row {
        name: "permutation",
        header: "(seed : int) (n : int) : [n]int",
        // Ordered like uniform numbers of 53 bits, whatever the precision of reals.
        body: Text("argsort [ shift_right (random_bits seed i) 11 | i < n ]"),
        doc: "0, …, n-1 in random order",
    },
];
