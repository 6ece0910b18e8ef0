//! Leaves to text for people and to JSON.

use super::{Layout, Numbers, Tensor};
use lang::precision::Precision;

/// Arrays of more elements than this are abridged for people.
const FULL: usize = 100;

/// As JSON: one value on one line. Reals are the shortest text that reads back; NaN and infinities are strings.
pub fn json(layout: &Layout, leaves: &[Tensor]) -> String {
    let mut out = String::new();
    write(&JSON, layout, leaves, 0, 0, &mut out);
    out
}

/// For people, on one line.
pub fn line(layout: &Layout, leaves: &[Tensor]) -> String {
    let mut out = String::new();
    write(&PRETTY, layout, leaves, 0, 0, &mut out);
    out
}

/// For people: scalars, tuples and records in full, a record by a line per field, large arrays abridged.
pub fn pretty(layout: &Layout, leaves: &[Tensor]) -> String {
    let mut out = String::new();
    match layout {
        Layout::Record(fields) if !fields.is_empty() => {
            let mut rest = leaves;
            for (x, t) in fields {
                let (own, others) = rest.split_at(t.leaf_count());
                rest = others;
                out += &format!("{x} = ");
                write(&PRETTY, t, own, 0, 0, &mut out);
                out.push('\n');
            }
        }
        Layout::Record(_) | Layout::Scalar(_) | Layout::Tuple(_) | Layout::Array(..) | Layout::Sum(_) => {
            out = line(layout, leaves) + "\n";
        }
    }
    out
}

struct Style {
    tuple: [&'static str; 2],
    quote: &'static str,
    is: &'static str,
    strings: bool,
    abridge: bool,
}

const JSON: Style = Style { tuple: ["[", "]"], quote: "\"", is: ": ", strings: true, abridge: false };
const PRETTY: Style = Style { tuple: ["(", ")"], quote: "", is: " = ", strings: false, abridge: true };

pub fn real(x: f64, precision: Precision, strings: bool) -> String {
    let text = match x {
        x if x.is_nan() => "NaN",
        f64::INFINITY => "inf",
        f64::NEG_INFINITY => "-inf",
        x => return precision.show(x),
    };
    if strings { format!("\"{text}\"") } else { text.into() }
}

fn element(numbers: &Numbers, at: usize, strings: bool) -> String {
    match numbers {
        Numbers::Real(xs) => real(xs[at], Precision::Double, strings),
        Numbers::Single(xs) => real(xs[at].into(), Precision::Single, strings),
        Numbers::Int(xs) => xs[at].to_string(),
        Numbers::Bool(xs) => xs[at].to_string(),
    }
}

/// Writes the element `at` of the outer `depth` dimensions.
fn write(style: &Style, layout: &Layout, leaves: &[Tensor], depth: usize, at: usize, out: &mut String) {
    match layout {
        Layout::Scalar(_) => *out += &element(&leaves[0].data, at, style.strings),
        Layout::Tuple(parts) => {
            *out += style.tuple[0];
            let mut rest = leaves;
            for (i, t) in parts.iter().enumerate() {
                let (own, others) = rest.split_at(t.leaf_count());
                rest = others;
                *out += if i == 0 { "" } else { ", " };
                write(style, t, own, depth, at, out);
            }
            *out += style.tuple[1];
        }
        Layout::Record(fields) => {
            *out += "{";
            let mut rest = leaves;
            for (i, (x, t)) in fields.iter().enumerate() {
                let (own, others) = rest.split_at(t.leaf_count());
                rest = others;
                *out += if i == 0 { "" } else { ", " };
                *out += &format!("{}{x}{}{}", style.quote, style.quote, style.is);
                write(style, t, own, depth, at, out);
            }
            *out += "}";
        }
        // {"Circle": 2.0} or Circle 2.0; "Point" or Point
        Layout::Sum(arms) => {
            let Numbers::Int(tags) = &leaves[0].data else { return };
            let Some(k) = usize::try_from(tags[at]).ok().filter(|k| *k < arms.len()) else { return };
            let (x, t) = &arms[k];
            let before: usize = 1 + arms[..k].iter().map(|(_, t)| t.leaf_count()).sum::<usize>();
            let own = &leaves[before..before + t.leaf_count()];
            let name = format!("{}{x}{}", style.quote, style.quote);
            if matches!(t, Layout::Tuple(ts) if ts.is_empty()) {
                *out += &name;
                return;
            }
            *out += &if style.strings { format!("{{{name}: ") } else { format!("{name} ") };
            let nested = !style.strings && matches!(t, Layout::Sum(_));
            *out += if nested { "(" } else { "" };
            write(style, t, own, depth, at, out);
            *out += if nested { ")" } else { "" };
            *out += if style.strings { "}" } else { "" };
        }
        Layout::Array(n, t) => {
            let length = match leaves.first() {
                Some(leaf) => leaf.shape[depth],
                None => n.as_constant().unwrap_or(0).max(0) as usize,
            };
            if let (true, Some((shape, xs))) = (style.abridge, large(layout, leaves, depth, at)) {
                *out += &abridged(&shape, &xs);
                return;
            }
            *out += "[";
            for i in 0..length {
                *out += if i == 0 { "" } else { ", " };
                write(style, t, leaves, depth + 1, at * length + i, out);
            }
            *out += "]";
        }
    }
}

/// The shape and elements of a large array of scalars.
fn large(layout: &Layout, leaves: &[Tensor], depth: usize, at: usize) -> Option<(Vec<usize>, Numbers)> {
    let mut element = layout;
    while let Layout::Array(_, t) = element {
        element = t;
    }
    let [leaf] = leaves else { return None };
    let (Layout::Scalar(_), shape) = (element, &leaf.shape[depth..]) else { return None };
    let count: usize = shape.iter().product();
    let range = at * count..(at + 1) * count;
    (count > FULL).then(|| {
        let part = match &leaf.data {
            Numbers::Real(xs) => Numbers::Real(xs[range].to_vec()),
            Numbers::Single(xs) => Numbers::Single(xs[range].to_vec()),
            Numbers::Int(xs) => Numbers::Int(xs[range].to_vec()),
            Numbers::Bool(xs) => Numbers::Bool(xs[range].to_vec()),
        };
        (shape.to_vec(), part)
    })
}

/// The first and last elements, the shape, and for numbers mean and range.
fn abridged(shape: &[usize], numbers: &Numbers) -> String {
    let count = numbers.len();
    let some = |range: std::ops::Range<usize>| {
        range.map(|i| element(numbers, i, false)).collect::<Vec<_>>().join(", ")
    };
    let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
    let ends = format!("[{}, …, {}] (shape {}", some(0..3), some(count - 3..count), shape.join("×"));
    let (precision, as_reals): (Precision, Vec<f64>) = match numbers {
        Numbers::Real(xs) => (Precision::Double, xs.clone()),
        Numbers::Single(xs) => (Precision::Single, xs.iter().copied().map(f64::from).collect()),
        Numbers::Int(xs) => (Precision::Double, xs.iter().map(|k| *k as f64).collect()),
        Numbers::Bool(xs) => {
            return format!("{ends}, {} of them true)", xs.iter().filter(|b| **b).count());
        }
    };
    let nans = as_reals.iter().filter(|x| x.is_nan()).count();
    let mean = as_reals.iter().sum::<f64>() / count as f64;
    let low = as_reals.iter().copied().fold(f64::INFINITY, f64::min);
    let high = as_reals.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let nans = if nans == 0 { String::new() } else { format!(", {nans} NaN") };
    let [mean, low, high] = [mean, low, high].map(|x| real(x, precision, false));
    format!("{ends}, mean {mean}, range {low} to {high}{nans})")
}
