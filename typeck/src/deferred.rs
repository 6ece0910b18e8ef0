//! Constraints that wait until the types they speak of are known (language.md, "Inference").
//!
//! A lifted operator fires when the shapes of all its operands are known, or when its result is scalar. At the end of a definition
//! an unsolved operand takes another's type, else real.

mod lift;

use crate::codes;
use crate::infer::Infer;
use crate::ty::T;
use lang::diag::{Diagnostic, Span};
use lang::name::Name;
use lang::prim::{Prim, Scalar};
use lang::size::Size;

#[derive(Clone, Debug)]
pub enum Constraint {
    /// op lifted pointwise over arrays of equal shape and between scalars and arrays
    Lift { op: &'static str, args: Vec<T>, result: T, span: Span, spans: Vec<Span> },
    /// of.index : result
    Proj { of: T, index: usize, result: T, span: Span },
    /// of.name : result
    Field { of: T, name: Name, result: T, span: Span },
    /// a @ b : result
    MatMul { a: T, b: T, result: T, span: Span, spans: [Span; 2] },
    /// result is D of, with `at` for every real
    Derived { of: T, at: T, result: T, span: Span },
    /// what `op` differentiates must be real
    RealResult { ty: T, op: &'static str, span: Span },
}

enum Outcome {
    Done,
    Waits,
}
use Outcome::{Done, Waits};

/// The base of a numeric array, as far as it is known.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Base {
    Scalar(Scalar),
    /// real or int: the metavariable of a numeral
    Number(u32),
}

enum Shape {
    Known(Vec<Size>, Base),
    Unknown,
    NoNumber,
    Error,
}

pub fn scalar_type(s: Scalar) -> T {
    match s {
        Scalar::Real => T::Real,
        Scalar::Int => T::Int,
        Scalar::Bool => T::Bool,
    }
}

/// The rows of a lifted name: argument and result scalars.
pub fn rows(op: &str) -> Vec<(&'static [Scalar], Scalar)> {
    // The mirrored comparisons have the rows of their mirror images.
    let name = match op {
        ">" => "<",
        ">=" => "<=",
        other => other,
    };
    Prim::ALL.iter().map(|p| p.row()).filter(|r| r.name == name).map(|r| (r.args, r.result)).collect()
}

impl Infer<'_> {
    fn shape(&self, t: &T) -> Shape {
        let mut dims = vec![];
        let mut t = self.metas.resolve(t);
        loop {
            let base = match &t {
                T::Array(n, e) => {
                    dims.push(n.clone());
                    t = self.metas.resolve(e);
                    continue;
                }
                T::Real => Base::Scalar(Scalar::Real),
                T::Int => Base::Scalar(Scalar::Int),
                T::Bool => Base::Scalar(Scalar::Bool),
                T::Meta(m) if self.metas.is_number(*m) => Base::Number(*m),
                T::Meta(_) => return Shape::Unknown,
                T::Error => return Shape::Error,
                T::Tuple(_) | T::Record(_) | T::Sum(_) | T::Fun(..) | T::Lin(..) | T::Copower(..) => {
                    return Shape::NoNumber;
                }
                T::Param(_) => {
                    return Shape::NoNumber;
                }
            };
            return Shape::Known(dims, base);
        }
    }

    /// Runs the waiting constraints until none can fire.
    pub fn solve(&mut self) {
        let outer = std::mem::replace(&mut self.solving, true);
        self.solve_all();
        self.solving = outer;
    }

    fn solve_all(&mut self) {
        loop {
            let mut progress = false;
            let waiting = std::mem::take(&mut self.pending);
            let mut kept = vec![];
            for c in waiting {
                match self.fire(&c) {
                    Done => progress = true,
                    Waits => kept.push(c),
                }
            }
            // New constraints may have come in while firing.
            kept.append(&mut self.pending);
            self.pending = kept;
            for (a, b, at) in std::mem::take(&mut self.metas.stuck) {
                let before = self.metas.stuck.len();
                self.metas.at = at;
                if self.metas.unify_size(&a, &b).is_err() {
                    self.size_mismatch(at, &a, &b);
                    progress = true;
                } else if self.metas.stuck.len() == before {
                    progress = true;
                }
            }
            if !progress {
                return;
            }
        }
    }

    /// The end of a definition: what is still open takes its default.
    pub fn finish(&mut self) {
        loop {
            self.solve();
            if self.pending.is_empty() {
                break;
            }
            let choice = self.pending.iter().position(|c| matches!(c, Constraint::RealResult { .. }));
            let choice = choice.or_else(|| self.pending.iter().position(|c| self.some_operand_known(c)));
            let choice =
                choice.or_else(|| self.pending.iter().position(|c| matches!(c, Constraint::Lift { .. })));
            let c = self.pending.remove(choice.unwrap_or(0));
            self.default(c);
        }
        for (a, b, at) in std::mem::take(&mut self.metas.stuck) {
            self.size_mismatch(at, &a, &b);
        }
    }

    fn some_operand_known(&self, c: &Constraint) -> bool {
        match c {
            Constraint::Lift { args, .. } => args.iter().any(|t| matches!(self.shape(t), Shape::Known(..))),
            Constraint::MatMul { .. }
            | Constraint::Proj { .. }
            | Constraint::Field { .. }
            | Constraint::Derived { .. }
            | Constraint::RealResult { .. } => false,
        }
    }

    fn default(&mut self, c: Constraint) {
        match &c {
            Constraint::Lift { op, args, .. } => {
                let known = args.iter().find(|t| matches!(self.shape(t), Shape::Known(..))).cloned();
                let open: Vec<&T> = args.iter().filter(|t| matches!(self.shape(t), Shape::Unknown)).collect();
                if open.is_empty() {
                    // Only the kind of a numeral is open.
                    for t in args {
                        if let Shape::Known(_, Base::Number(m)) = self.shape(t) {
                            let _ = self.metas.unify(&T::Meta(m), &T::Real);
                        }
                    }
                } else {
                    let homogeneous = rows(op).iter().all(|(a, r)| a.iter().all(|s| s == r));
                    let ty = match known {
                        Some(t) if homogeneous || args.len() == 2 => t,
                        _ => T::Real,
                    };
                    for t in open {
                        if self.metas.unify(t, &ty).is_err() {
                            self.default_metas(t);
                        }
                    }
                }
                self.pending.push(c);
            }
            Constraint::MatMul { a, b, .. } => {
                // The usual reading: vectors.
                for t in [a, b] {
                    let n = self.metas.fresh_size("n");
                    let vector = T::array(n, T::Real);
                    let open = matches!(self.metas.resolve(t), T::Meta(_));
                    if !open || self.metas.unify(t, &vector).is_err() {
                        self.default_metas(t);
                    }
                }
                self.pending.push(c);
            }
            Constraint::Derived { of, .. } => {
                self.default_metas(of);
                self.pending.push(c);
            }
            Constraint::RealResult { ty, .. } => {
                let _ = self.metas.unify(ty, &T::Real);
                self.pending.push(c);
            }
            Constraint::Proj { of: _, span, result, .. } | Constraint::Field { of: _, span, result, .. } => {
                self.report(
                    Diagnostic::new(codes::UNKNOWN_SHAPE, "the type of this is not known here")
                        .label(*span, "a component of something whose type nothing determines")
                        .help("write the parameter's type: \\(x : τ) -> …"),
                );
                let _ = self.metas.unify(result, &T::Error);
            }
        }
    }

    /// Sets every metavariable left in a type to real.
    pub fn default_metas(&mut self, t: &T) {
        let t = self.metas.zonk(t);
        let metas = std::cell::RefCell::new(vec![]);
        t.any(&|t| {
            if let T::Meta(m) = t {
                metas.borrow_mut().push(*m);
            }
            false
        });
        for m in metas.into_inner() {
            let _ = self.metas.unify(&T::Meta(m), &T::Real);
        }
    }

    fn fire(&mut self, c: &Constraint) -> Outcome {
        match c {
            Constraint::Lift { op, args, result, span, spans } => {
                self.fire_lift(op, args, result, *span, spans)
            }
            Constraint::Proj { of, index, result, span } => match self.metas.resolve(of) {
                T::Meta(_) => Waits,
                T::Tuple(ts) if *index < ts.len() => self.agree(&ts[*index], result, *span),
                T::Error => self.agree(&T::Error, result, *span),
                other => {
                    let other = self.metas.zonk(&other);
                    let message = match &other {
                        T::Tuple(ts) => format!("a tuple of {} has no component {index}", ts.len()),
                        _ => format!("a projection needs a tuple; this is {}", other.show()),
                    };
                    self.report(
                        Diagnostic::new(codes::NO_COMPONENT, message)
                            .label(*span, format!("`.{index}` of {}", other.show())),
                    );
                    self.agree(&T::Error, result, *span)
                }
            },
            Constraint::Field { of, name, result, span } => match self.metas.resolve(of) {
                T::Meta(_) => Waits,
                T::Record(fs) => match fs.iter().find(|(x, _)| x == name) {
                    Some((_, t)) => self.agree(t, result, *span),
                    None => {
                        let shown = self.metas.zonk(of).show();
                        let d = Diagnostic::new(
                            codes::UNKNOWN_FIELD,
                            format!("the record has no field `{name}`"),
                        )
                        .label(*span, format!("its type is {shown}"));
                        let d = crate::suggest::with(d, name, fs.iter().map(|(x, _)| &**x));
                        self.report(d);
                        self.agree(&T::Error, result, *span)
                    }
                },
                T::Error => self.agree(&T::Error, result, *span),
                other => {
                    let shown = self.metas.zonk(&other).show();
                    let message = format!("a field needs a record; this is {shown}");
                    let d = Diagnostic::new(codes::UNKNOWN_FIELD, message)
                        .label(*span, format!("`.{name}` of {shown}"));
                    self.report(match crate::suggest::method(name) {
                        Some(help) => d.help(help),
                        None => d,
                    });
                    self.agree(&T::Error, result, *span)
                }
            },
            Constraint::MatMul { a, b, result, span, spans } => self.fire_matmul(a, b, result, *span, *spans),
            Constraint::Derived { of, at, result, span } => {
                let of = self.metas.zonk(of);
                if of.has_meta() {
                    return Waits;
                }
                let derived = if of.first_order() { of.tangent(at) } else { T::Error };
                self.agree(&derived, result, *span)
            }
            Constraint::RealResult { ty, op, span } => match self.metas.resolve(ty) {
                T::Real | T::Error => Done,
                T::Meta(m) if self.metas.is_number(m) => self.agree(&T::Real, ty, *span),
                T::Meta(_) => Waits,
                _ => {
                    let t = self.metas.zonk(ty);
                    // A type that is still coming in is shown whole.
                    if t.has_meta() && matches!(t, T::Array(..)) {
                        self.default_metas(&t);
                    }
                    let shown = self.shown(ty);
                    let help = match &t {
                        T::Fun(..) => format!(
                            "give it the other arguments in a function of one: `{op} (\\w -> f w c) w`; in several at once: `{op} (\\(w, c) -> f w c) (w, c)`"
                        ),
                        T::Int | T::Bool => "only real results have gradients".to_string(),
                        T::Array(..)
                        | T::Tuple(_)
                        | T::Record(_)
                        | T::Sum(_)
                        | T::Lin(..)
                        | T::Copower(..)
                        | T::Param(_)
                        | T::Real
                        | T::Meta(_)
                        | T::Error => "use `vjp` with a cotangent, or `jacobian`".to_string(),
                    };
                    self.report(
                        Diagnostic::new(
                            codes::GRAD_OF_NON_REAL,
                            format!("`{op}` needs a function with a real result"),
                        )
                        .label(*span, format!("this function's result is {shown}"))
                        .help(help),
                    );
                    Done
                }
            },
        }
    }

    fn agree(&mut self, a: &T, b: &T, span: Span) -> Outcome {
        self.metas.at = span;
        if let Err(clash) = self.metas.unify(a, b) {
            self.mismatch(span, a, b, crate::infer::Why::Context, clash);
        }
        Done
    }

    /// As a person says it: an open numeral is a number, in a larger type a real.
    pub fn shown(&self, t: &T) -> String {
        match self.metas.zonk(t) {
            T::Meta(m) if self.metas.is_number(m) => "a number".into(),
            t => self.numerals(&t).describe(),
        }
    }

    fn numerals(&self, t: &T) -> T {
        match t {
            T::Meta(m) if self.metas.is_number(*m) => T::Real,
            t => t.map(&mut |t| self.numerals(t), &mut Clone::clone),
        }
    }

    /// The label under a term of this type.
    pub fn has_type(&self, t: &T) -> String {
        let known = !self.numerals(&self.metas.zonk(t)).any(&|t| matches!(t, T::Meta(_) | T::Error));
        let number = matches!(self.metas.resolve(t), T::Meta(_));
        match known && !number {
            true => format!("this has type {}", self.shown(t)),
            false => format!("this is {}", self.shown(t)),
        }
    }
}
