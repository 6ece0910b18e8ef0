//! (0̲, +) is a commutative monoid at every linear type.

use super::Exactness::{Bitwise, Reassociation};
use super::{Form, Row, Side};

pub const ROWS: &[Row] = &[
    Row {
        name: "plus-zero",
        form: Form::One("(plus ?t (zero ?T))", "?t"),
        side: Side::Always,
        law: "t + 0̲ = t",
        exactness: Bitwise,
    },
    Row {
        name: "plus-comm",
        form: Form::One("(plus ?t ?s)", "(plus ?s ?t)"),
        side: Side::Always,
        law: "t + s = s + t",
        exactness: Bitwise,
    },
    Row {
        name: "plus-assoc",
        form: Form::One("(plus (plus ?t ?s) ?u)", "(plus ?t (plus ?s ?u))"),
        side: Side::Always,
        law: "(t + s) + u = t + (s + u)",
        exactness: Reassociation,
    },
];
