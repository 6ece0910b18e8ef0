//! Checks as functions: how Core's `Check` is written in text. `check_… holds details value` is the value where `holds`.

use super::Body::Core;
use super::{Given, Row};
use crate::elaborate::Elaborate;
use lang::core::make::unit;
use lang::core::{Term, Tm};
use lang::diag::Failure;
use std::sync::Arc;

pub const ROWS: &[Row] = &[
    Row {
        name: "check_index",
        header: "['a] (holds : bool) (index : int) (length : int) (value : 'a) : 'a",
        body: Core(|cx, g| check(cx, g, Failure::IndexOutOfRange)),
        doc: "the value, or the error that an index is out of range",
    },
    Row {
        name: "check_divisor",
        header: "['a] (holds : bool) (value : 'a) : 'a",
        body: Core(|cx, g| check(cx, g, Failure::DivisionByZero)),
        doc: "the value, or the error of a division by zero",
    },
    Row {
        name: "check_nonempty",
        header: "['a] (holds : bool) (value : 'a) : 'a",
        body: Core(|cx, g| check(cx, g, Failure::EmptyArray)),
        doc: "the value, or the error that an array is empty",
    },
    Row {
        name: "check_size",
        header: "['a] (holds : bool) (size : int) (required : int) (value : 'a) : 'a",
        body: Core(|cx, g| check(cx, g, Failure::SizeMismatch)),
        doc: "the value, or the error that a size is not the one required",
    },
    Row {
        name: "check_natural",
        header: "['a] (holds : bool) (size : int) (value : 'a) : 'a",
        body: Core(|cx, g| check(cx, g, Failure::NegativeSize)),
        doc: "the value, or the error that a size is below zero",
    },
    Row {
        name: "check_depth",
        header: "['a] (holds : bool) (limit : int) (value : 'a) : 'a",
        body: Core(|cx, g| check(cx, g, Failure::TooDeep)),
        doc: "the value, or the error that a recursion is too deep",
    },
    Row {
        name: "check_room",
        header: "['a] (holds : bool) (limit : int) (value : 'a) : 'a",
        body: Core(|cx, g| check(cx, g, Failure::RegionFull)),
        doc: "the value, or the error that the derivative of a recursion keeps too much",
    },
];

fn check(_: &mut Elaborate, g: Given, failure: Failure) -> Tm {
    let mut args = g.args;
    let (Some(body), false) = (args.pop(), args.is_empty()) else { return unit() };
    let cond = args.remove(0);
    Arc::new(Term::Check { cond, failure, details: args, site: g.site, body })
}
