//! What is said when a type is not the one required.

use super::*;
use crate::builtin;
use crate::diff::Operator;
use crate::env::too_large;

impl Infer<'_> {
    pub fn mismatch(&mut self, span: Span, found: &T, want: &T, why: Why, clash: Clash) {
        if !self.solving {
            // What waits may say more about the types to show, or find the fault itself.
            let before = self.diags.len();
            self.solve();
            let inside = |d: &Diagnostic| {
                d.labels.first().is_some_and(|(s, _)| span.start <= s.start && s.end <= span.end)
            };
            if self.diags[before..].iter().any(inside) {
                return;
            }
        }
        let (found, want) = (self.metas.zonk(found), self.metas.zonk(want));
        let (f, w, has) = (self.shown(&found), self.shown(&want), self.has_type(&found));
        let (what, place) = match why {
            Why::Context => (format!("{w} is required here"), None),
            Why::Pattern => (format!("this pattern is for {w}"), None),
            Why::Argument { function, number, name } => {
                let which = match name {
                    Some(x) => format!("argument `{x}` of `{function}`"),
                    None => format!("argument {number} of `{function}`"),
                };
                (format!("{which} must be {w}"), None)
            }
            Why::Annotation(s) => (format!("{w} is required by the type written here"), Some((s, w.clone()))),
            Why::Result(def) => (format!("the result of `{def}` is declared as {w}"), None),
            Why::Condition => ("a condition must be bool".to_string(), None),
            Why::Branch(s) => (format!("both branches must have one type, here {w}"), Some((s, w.clone()))),
            Why::Sides(op, s) => {
                (format!("both sides of {op} must have one type, here {w}"), Some((s, w.clone())))
            }
            Why::Element(s) => (format!("all elements must have one type, here {w}"), Some((s, w.clone()))),
            Why::State(s) => (format!("the next state must have the state's type {w}"), Some((s, w.clone()))),
            Why::Bound => ("a bound must be an int".to_string(), None),
            Why::Index => ("an index must be an int".to_string(), None),
            Why::Operand(op) => (format!("`{op}` needs {w}"), None),
        };
        let (this, has) = match why {
            Why::Pattern => ("the value", has.replacen("this", "its value", 1)),
            _ => ("this", has),
        };
        let d = match &clash {
            Clash::Sizes(a, b) => {
                let fixed = self.metas.fixed_at(a).or(self.metas.fixed_at(b)).filter(|s| *s != span);
                let (a, b) = (self.metas.zonk_size(a), self.metas.zonk_size(b));
                let d =
                    Diagnostic::new(codes::SIZE_MISMATCH, format!("{what}, {this} is {f}: {a} is not {b}"))
                        .label(span, has);
                match fixed {
                    Some(s) => d.label(s, "the size is fixed by this"),
                    None => d,
                }
            }
            Clash::Types(a, b) => {
                let code = match (self.metas.resolve(a), self.metas.resolve(b)) {
                    (T::Int, T::Real) | (T::Real, T::Int) => codes::CONVERSION,
                    (T::Fun(..), T::Lin(..)) => codes::MISMATCH,
                    (T::Fun(..), _) => codes::MISSING_ARGUMENT,
                    _ => codes::MISMATCH,
                };
                Diagnostic::new(code, format!("{what}, {this} is {f}")).label(span, has)
            }
            Clash::Infinite(_) => Diagnostic::new(codes::INFINITE, "the type of this would contain itself")
                .label(span, format!("{what}; nothing can be that and a part of it")),
            Clash::Negative(n, k) => {
                Diagnostic::new(codes::NEGATIVE_SIZE, format!("{what}, {this} is {f}: {n} would be {k}"))
                    .label(span, has)
            }
            Clash::Overflow => too_large(span),
        };
        let d = match place {
            Some((s, text)) => d.label(s, text),
            None => d,
        };
        let d = match &clash {
            Clash::Types(a, b) => match (self.metas.resolve(a), self.metas.resolve(b)) {
                (T::Int, T::Real) => d.help("ints are converted with `real`: real k"),
                (T::Real, T::Int) => d.help("`floor_int x` and `round_int x` give ints"),
                (T::Fun(..), T::Lin(..)) => d.help("a linear function is written `\\v -o …`"),
                (T::Fun(..), _) => d.help("an argument may be missing"),
                (T::Record(there), T::Record(named)) if matches!(why, Why::Pattern) => {
                    let missing: Vec<String> = there
                        .iter()
                        .filter(|(x, _)| named.iter().all(|(y, _)| x != y))
                        .map(|(x, _)| format!("{x} = _"))
                        .collect();
                    match missing.is_empty() {
                        true => d,
                        false => d.help(format!("a pattern names all fields: add {}", missing.join(", "))),
                    }
                }
                (T::Array(..), T::Int) if matches!(why, Why::Bound) => d.help(
                    "a comprehension counts, and elements are read: `[ xs[i] | i < n ]`, or `map f xs`",
                ),
                _ => d,
            },
            Clash::Sizes(a, b) => {
                let opened =
                    |n: &Size| self.metas.zonk_size(n).vars().any(|v| self.opened.contains_key(&v.id));
                match opened(a) || opened(b) {
                    true => d.help(format!("the size is known when the program runs: `as {w}` asserts it")),
                    false => d,
                }
            }
            Clash::Infinite(_) | Clash::Negative(..) | Clash::Overflow => d,
        };
        let d = match (why, &clash) {
            (Why::Argument { function, number: 1, .. }, Clash::Types(_, b))
                if Operator::find(function).is_some() && matches!(self.metas.resolve(b), T::Fun(..)) =>
            {
                d.help(format!("the function comes first, then the point: `{function} f x`"))
            }
            _ => d,
        };
        // How a built-in is used, where nothing better is known.
        let d = match (why, &clash, &d.help) {
            (Why::Argument { function, .. }, Clash::Types(..), None)
                if !self.sigs.defs.contains_key(function) =>
            {
                match (of_numbers(function), builtin::find(function)) {
                    (Some(of_two), _) => d.help(format!(
                        "`{function} xs` is that of an array; of two numbers it is `{of_two} x y`"
                    )),
                    (None, Some(row)) => d.help(format!("it is `{function} {}`", row.header)),
                    (None, None) => d,
                }
            }
            _ => d,
        };
        self.report(d);
    }

    pub fn size_mismatch(&mut self, span: Span, a: &Size, b: &Size) {
        let clash = self.metas.unify_size(a, b).err().unwrap_or_else(|| Clash::Sizes(a.clone(), b.clone()));
        let fixed = self.metas.fixed_at(a).or(self.metas.fixed_at(b)).filter(|s| *s != span);
        // As it was written, and what that is here.
        let show = |s: &Self, n: &Size| {
            let name = |n: &Size| n.to_string().replace('?', "");
            let (written, here) = (name(n), name(&s.metas.zonk_size(n)));
            if written == here { (here.clone(), here) } else { (format!("{written} = {here}"), here) }
        };
        let ((a, short_a), (b, short_b)) = (show(self, a), show(self, b));
        let d = match clash {
            Clash::Negative(n, k) => Diagnostic::new(
                codes::NEGATIVE_SIZE,
                format!("the size {n} would be {k}, which is below zero"),
            )
            .label(span, "an array cannot have this size"),
            Clash::Overflow => too_large(span),
            Clash::Sizes(..) | Clash::Types(..) | Clash::Infinite(_) => {
                let d = Diagnostic::new(codes::SIZE_MISMATCH, format!("the size {a} is not known to be {b}"))
                    .label(span, format!("{short_a} and {short_b} must be equal here"));
                match fixed {
                    Some(s) => d.label(s, "a size is fixed by this"),
                    None => d,
                }
            }
        };
        self.report(d);
    }
}

/// The function of two numbers that goes by a name like that of an array's.
fn of_numbers(function: &str) -> Option<&'static str> {
    match function {
        "maximum" => Some("max"),
        "minimum" => Some("min"),
        _ => None,
    }
}
