//! βη and homomorphism laws of the linear formers.

use super::Exactness::{Bitwise, Real, Reassociation};
use super::{Form, Row, Side, each};
use lang::types::LType;

pub const ROWS: &[Row] = &[
    Row {
        name: "scale-zero",
        form: Form::One("(scale ?a (zero ?T))", "(zero ?T)"),
        side: Side::Always,
        law: "lop(a; 0̲) = 0̲",
        exactness: Bitwise,
    },
    Row {
        name: "scale-one",
        form: Form::One("(scale 1.0 ?t)", "?t"),
        side: Side::Always,
        law: "1·t = t",
        exactness: Bitwise,
    },
    Row {
        name: "scale-scale",
        form: Form::One("(scale ?a (scale ?b ?t))", "(scale (Mul ?a ?b) ?t)"),
        side: Side::Always,
        law: "a·(b·t) = (a·b)·t",
        exactness: Reassociation,
    },
    Row {
        name: "scale-unscale",
        form: Form::One("(scale (Mul ?a ?b) ?t)", "(scale ?a (scale ?b ?t))"),
        side: Side::Always,
        law: "a·(b·t) = (a·b)·t",
        exactness: Reassociation,
    },
    Row {
        name: "scale-swap",
        form: Form::One("(scale ?a (scale ?b ?t))", "(scale ?b (scale ?a ?t))"),
        side: Side::Always,
        law: "a·(b·t) = b·(a·t)",
        exactness: Reassociation,
    },
    Row {
        name: "scale-neg-neg",
        form: Form::One("(scale (Neg ?a) (scale (Neg ?b) ?t))", "(scale ?a (scale ?b ?t))"),
        side: Side::Always,
        law: "(-a)·((-b)·t) = a·(b·t)",
        exactness: Bitwise,
    },
    Row {
        name: "scale-minus-one",
        form: Form::One("(scale -1.0 (scale ?a ?t))", "(scale (Neg ?a) ?t)"),
        side: Side::Always,
        law: "(-1)·(a·t) = (-a)·t",
        exactness: Bitwise,
    },
    Row {
        name: "scale-neg",
        form: Form::One("(scale (Neg ?a) ?t)", "(scale -1.0 (scale ?a ?t))"),
        side: Side::Always,
        law: "(-a)·t = (-1)·(a·t)",
        exactness: Bitwise,
    },
    Row {
        name: "double",
        form: Form::One("(plus ?t ?t)", "(scale 2.0 ?t)"),
        side: Side::When("t : real", |m| m.ltype("?t") == Some(LType::Real)),
        law: "t + t = 2·t",
        exactness: Bitwise,
    },
    Row {
        name: "factor",
        form: Form::One("(plus (scale ?a ?t) (scale ?a ?s))", "(scale ?a (plus ?t ?s))"),
        side: Side::Always,
        law: "lop(a; t + s) = lop(a; t) + lop(a; s)",
        exactness: Reassociation,
    },
    Row {
        name: "collect",
        form: Form::One("(plus (scale ?a ?t) (scale ?b ?t))", "(scale (Add ?a ?b) ?t)"),
        side: Side::Always,
        law: "a·t + b·t = (a + b)·t",
        exactness: Reassociation,
    },
    Row {
        name: "collect-one",
        form: Form::One("(plus ?t (scale ?a ?t))", "(scale (Add 1.0 ?a) ?t)"),
        side: Side::When("a is a literal", |m| m.literal("?a").is_some()),
        law: "t + a·t = (1 + a)·t",
        exactness: Reassociation,
    },
    Row {
        name: "scale-numeric-zero",
        form: Form::One("(scale 0.0 ?t)", "(zero ?T)"),
        side: Side::Let("?T", "the type of t", |m| {
            let ty = m.ltype("?t")?;
            Some(m.type_leaf(&ty))
        }),
        law: "0·t = 0̲",
        exactness: Real,
    },
    Row {
        name: "proj-tuple",
        form: Form::Component(|k, i| {
            (format!("(lproj.{i} (ltuple {}))", each(k, |j| format!("?t{j}"))), format!("?t{i}"))
        }),
        side: Side::Always,
        law: "fst ⟨t, s⟩ = t",
        exactness: Bitwise,
    },
    Row {
        name: "tuple-eta",
        form: Form::Tuple(|k| (format!("(ltuple {})", each(k, |j| format!("(lproj.{j} ?u)"))), "?u".into())),
        side: Side::When(
            "u has these components and no others",
            |m| matches!(m.ltype("?u"), Some(LType::Tuple(ts)) if ts.len() == m.length),
        ),
        law: "⟨fst t, snd t⟩ = t",
        exactness: Bitwise,
    },
    Row {
        name: "proj-zero",
        form: Form::Component(|_, i| (format!("(lproj.{i} (zero ?P))"), "(zero ?T)".into())),
        side: Side::Let("?T", "component i of P", |m| match m.ltype("?P")? {
            LType::Tuple(ts) if ts.len() == m.length => Some(m.type_leaf(&ts[m.component])),
            _ => None,
        }),
        law: "fst 0̲ = 0̲",
        exactness: Bitwise,
    },
    Row {
        name: "proj-plus",
        form: Form::Component(|_, i| {
            (format!("(lproj.{i} (plus ?t ?s))"), format!("(plus (lproj.{i} ?t) (lproj.{i} ?s))"))
        }),
        side: Side::When(
            "t is a tuple of this length",
            |m| matches!(m.ltype("?t"), Some(LType::Tuple(ts)) if ts.len() == m.length),
        ),
        law: "fst (t + s) = fst t + fst s",
        exactness: Bitwise,
    },
    Row {
        name: "plus-tuple",
        form: Form::Tuple(|k| {
            let tuple = |x: &str| format!("(ltuple {})", each(k, |j| format!("?{x}{j}")));
            let sums = each(k, |j| format!("(plus ?t{j} ?s{j})"));
            (format!("(plus {} {})", tuple("t"), tuple("s")), format!("(ltuple {sums})"))
        }),
        side: Side::Always,
        law: "⟨t, s⟩ + ⟨t', s'⟩ = ⟨t + t', s + s'⟩",
        exactness: Bitwise,
    },
    Row {
        name: "tuple-zero",
        form: Form::Tuple(|k| {
            (format!("(ltuple {})", each(k, |j| format!("(zero ?T{j})"))), "(zero ?P)".into())
        }),
        side: Side::Let("?P", "the product of the types", |m| {
            let parts: Option<Vec<LType>> = (0..m.length).map(|j| m.ltype(&format!("?T{j}"))).collect();
            let product = LType::tuple(parts?);
            Some(m.type_leaf(&product))
        }),
        law: "⟨0̲, 0̲⟩ = 0̲",
        exactness: Bitwise,
    },
    Row {
        name: "index-zero",
        form: Form::One("(lindex (zero ?A) ?i)", "(zero ?T)"),
        side: Side::Let("?T", "the element type of A", |m| match m.ltype("?A")? {
            LType::Array(_, t) => Some(m.type_leaf(&t)),
            _ => None,
        }),
        law: "0̲[i] = 0̲",
        exactness: Bitwise,
    },
    Row {
        name: "index-plus",
        form: Form::One("(lindex (plus ?v ?w) ?i)", "(plus (lindex ?v ?i) (lindex ?w ?i))"),
        side: Side::Always,
        law: "(t + s)[i] = t[i] + s[i]",
        exactness: Bitwise,
    },
    Row {
        name: "index-onehot",
        form: Form::One("(lindex (onehot ?N ?i ?t) ?i)", "?t"),
        side: Side::Always,
        law: "onehot_i(t)[i] = t",
        exactness: Bitwise,
    },
    Row {
        name: "index-onehot-elsewhere",
        form: Form::One("(lindex (onehot ?N ?i ?t) ?j)", "(zero ?T)"),
        side: Side::Let("?T", "the type of t; i and j are different literals", |m| {
            let (i, j) = (m.int("?i")?, m.int("?j")?);
            let ty = m.ltype("?t")?;
            (i != j).then(|| m.type_leaf(&ty))
        }),
        law: "onehot_i(t)[j] = 0̲ for i ≠ j",
        exactness: Bitwise,
    },
    Row {
        name: "onehot-zero",
        form: Form::One("(onehot ?N ?i (zero ?T))", "(zero ?A)"),
        side: Side::Let("?A", "[N]T", |m| {
            let (n, ty) = (m.size("?N")?, m.ltype("?T")?);
            Some(m.type_leaf(&LType::array(n, ty)))
        }),
        law: "onehot_i(0̲) = 0̲",
        exactness: Bitwise,
    },
    Row {
        name: "onehot-plus",
        form: Form::One("(plus (onehot ?N ?i ?t) (onehot ?N ?i ?s))", "(onehot ?N ?i (plus ?t ?s))"),
        side: Side::Always,
        law: "onehot_i(t + s) = onehot_i(t) + onehot_i(s)",
        exactness: Bitwise,
    },
];
