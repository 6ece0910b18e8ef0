//! When a lifted operator, or `@`, fires.

use super::*;

impl Infer<'_> {
    pub(super) fn fire_lift(
        &mut self,
        op: &'static str,
        args: &[T],
        result: &T,
        span: Span,
        spans: &[Span],
    ) -> Outcome {
        let shapes: Vec<Shape> = args.iter().map(|t| self.shape(t)).collect();
        if shapes.iter().any(|s| matches!(s, Shape::Error)) {
            return self.agree(&T::Error, result, span);
        }
        if shapes.iter().any(|s| matches!(s, Shape::NoNumber)) {
            return self.bad_operands(op, args, result, span, spans);
        }
        let mut rows = rows(op);
        let homogeneous = rows.iter().all(|(a, r)| a.iter().all(|s| s == r));
        let open: Vec<usize> = (0..args.len()).filter(|k| matches!(shapes[*k], Shape::Unknown)).collect();
        if !open.is_empty() {
            return match self.shape(result) {
                // The result is scalar: all are.
                Shape::Known(dims, base) if dims.is_empty() => {
                    for k in open {
                        let t = match base {
                            _ if homogeneous => self.metas.resolve(result),
                            Base::Scalar(_) | Base::Number(_) => self.scalar_of(&rows, k),
                        };
                        if self.metas.unify(&args[k], &t).is_err() {
                            return self.bad_operands(op, args, result, span, spans);
                        }
                    }
                    self.fire_lift(op, args, result, span, spans)
                }
                // One operand is an array, the others are scalars: it is that one.
                Shape::Known(..) if homogeneous && open.len() == 1 => {
                    let scalars = shapes.iter().all(|s| match s {
                        Shape::Known(dims, _) => dims.is_empty(),
                        Shape::Unknown => true,
                        Shape::NoNumber | Shape::Error => false,
                    });
                    if !scalars {
                        return Waits;
                    }
                    if self.metas.unify(&args[open[0]], result).is_err() {
                        return self.bad_operands(op, args, result, span, spans);
                    }
                    self.fire_lift(op, args, result, span, spans)
                }
                Shape::Known(..) | Shape::Unknown | Shape::NoNumber | Shape::Error => Waits,
            };
        }
        let known: Vec<(Vec<Size>, Base)> = shapes
            .into_iter()
            .filter_map(|s| match s {
                Shape::Known(dims, base) => Some((dims, base)),
                Shape::Unknown | Shape::NoNumber | Shape::Error => None,
            })
            .collect();
        // Equal shapes, scalars aside.
        let mut dims: Option<(usize, Vec<Size>)> = None;
        for (k, (ds, _)) in known.iter().enumerate().filter(|(_, (ds, _))| !ds.is_empty()) {
            let Some((j, es)) = &dims else {
                dims = Some((k, ds.clone()));
                continue;
            };
            self.metas.at = spans.get(k).copied().unwrap_or(span);
            let same =
                es.len() == ds.len() && es.iter().zip(ds).all(|(a, b)| self.metas.unify_size(a, b).is_ok());
            if !same {
                let (a, b) = (self.metas.zonk(&args[*j]).show(), self.metas.zonk(&args[k]).show());
                self.report(
                    Diagnostic::new(
                        codes::SHAPE_MISMATCH,
                        format!("`{op}` of {a} and {b}: the shapes differ"),
                    )
                    .label(spans.get(k).copied().unwrap_or(span), format!("this has type {b}"))
                    .label(spans.get(*j).copied().unwrap_or(span), format!("this has type {a}")),
                );
                return self.agree(&T::Error, result, span);
            }
        }
        let dims = dims.map(|(_, d)| d).unwrap_or_default();
        rows.retain(|(row, _)| {
            row.len() == known.len()
                && row.iter().zip(&known).all(|(s, (_, base))| match base {
                    Base::Scalar(b) => s == b,
                    Base::Number(_) => *s != Scalar::Bool,
                })
        });
        if rows.is_empty() {
            return self.bad_operands(op, args, result, span, spans);
        }
        // What all remaining rows say of a numeral, it is.
        for (k, (_, base)) in known.iter().enumerate() {
            if let Base::Number(m) = base
                && rows.iter().all(|(row, _)| row[k] == rows[0].0[k])
            {
                let _ = self.metas.unify(&T::Meta(*m), &scalar_type(rows[0].0[k]));
            }
        }
        if let [(_, r)] = rows.as_slice() {
            return self.agree(&T::arrays(&dims, scalar_type(*r)), result, span);
        }
        let numerals: Vec<T> = known
            .iter()
            .filter_map(|(_, b)| match b {
                Base::Number(m) => Some(T::Meta(*m)),
                Base::Scalar(_) => None,
            })
            .collect();
        let uniform = rows.iter().all(|(a, _)| a.iter().all(|s| *s == a[0]));
        if uniform && !numerals.is_empty() {
            for t in &numerals[1..] {
                let _ = self.metas.unify(t, &numerals[0]);
            }
            let out = if homogeneous { numerals[0].clone() } else { scalar_type(rows[0].1) };
            return self.agree(&T::arrays(&dims, out), result, span);
        }
        Waits
    }

    /// What the rows allow at argument k: one scalar, or a number.
    pub(super) fn scalar_of(&mut self, rows: &[(&'static [Scalar], Scalar)], k: usize) -> T {
        let all: Vec<Scalar> = rows.iter().filter_map(|(a, _)| a.get(k).copied()).collect();
        match all.split_first() {
            Some((s, rest)) if rest.iter().all(|r| r == s) => scalar_type(*s),
            _ => self.metas.fresh_number(),
        }
    }

    pub(super) fn bad_operands(
        &mut self,
        op: &str,
        args: &[T],
        result: &T,
        span: Span,
        spans: &[Span],
    ) -> Outcome {
        let shown: Vec<String> = args
            .iter()
            .map(|t| match self.shown(t).as_str() {
                "of unknown type" => "something of unknown type".to_string(),
                known => known.to_string(),
            })
            .collect();
        let bases: Vec<Option<Scalar>> = args
            .iter()
            .map(|t| match self.shape(t) {
                Shape::Known(_, Base::Scalar(s)) => Some(s),
                Shape::Known(_, Base::Number(_)) | Shape::Unknown | Shape::NoNumber | Shape::Error => None,
            })
            .collect();
        let (real, int) = (bases.contains(&Some(Scalar::Real)), bases.contains(&Some(Scalar::Int)));
        let function = |t: &T| matches!(self.metas.resolve(t), T::Fun(..));
        let code = match () {
            _ if real && int => codes::CONVERSION,
            _ if args.iter().any(function) => codes::MISSING_ARGUMENT,
            _ => codes::OPERANDS,
        };
        let mut d = Diagnostic::new(
            code,
            match shown.as_slice() {
                [t] => format!("`{op}` does not apply to {t}"),
                _ => format!("`{op}` does not apply to {}", shown.join(" and ")),
            },
        );
        for (k, s) in spans.iter().enumerate() {
            d = d.label(*s, self.has_type(&args[k]));
        }
        if spans.is_empty() {
            d = d.label(span, "applied here");
        }
        if op == "-" && args.len() == 2 && args.first().is_some_and(function) {
            d = d.help("a negative argument stands in parentheses: f (-x)");
        } else if code == codes::MISSING_ARGUMENT {
            d = d.help("an argument may be missing");
        } else if op == "not" {
            d = d.help("application binds tighter than comparison: `not (a == b)`, or `a != b`");
        } else if op == "/" && int && !real {
            d = d.help("ints have `div` and `mod`; `real k` converts");
        } else if int && (real || rows(op).iter().all(|(a, _)| !a.contains(&Scalar::Int))) {
            d = d.help("ints are converted with `real`: real k");
        } else if real && rows(op).iter().all(|(a, _)| !a.contains(&Scalar::Real)) {
            d = d.help("`floor_int x` and `round_int x` give ints");
        }
        self.report(d);
        self.agree(&T::Error, result, span)
    }

    pub(super) fn fire_matmul(&mut self, a: &T, b: &T, result: &T, span: Span, spans: [Span; 2]) -> Outcome {
        let dims = |s: &Self, t: &T| match s.shape(t) {
            Shape::Known(dims, _) => Ok(dims),
            Shape::Unknown => Err(true),
            Shape::NoNumber | Shape::Error => Err(false),
        };
        let (da, db) = match (dims(self, a), dims(self, b)) {
            (Err(false), _) | (_, Err(false)) => (vec![], vec![]),
            (Err(true), _) | (_, Err(true)) => return Waits,
            (Ok(x), Ok(y)) => (x, y),
        };
        let out = match (da.as_slice(), db.as_slice()) {
            ([n], [m]) => Some((n, m, T::Real)),
            ([k, n], [m]) => Some((n, m, T::array(k.clone(), T::Real))),
            ([n], [m, k]) => Some((n, m, T::array(k.clone(), T::Real))),
            ([k, n], [m, l]) => Some((n, m, T::arrays(&[k.clone(), l.clone()], T::Real))),
            _ => None,
        };
        let reals = |t: &T, rank: usize| {
            (0..rank).fold(t.clone(), |t, _| match self.metas.resolve(&t) {
                T::Array(_, e) => (*e).clone(),
                other => other,
            })
        };
        let (ea, eb) = (reals(a, da.len()), reals(b, db.len()));
        let agree = self.metas.unify(&ea, &T::Real).is_ok() && self.metas.unify(&eb, &T::Real).is_ok();
        let (x, y) = (self.metas.zonk(a).show(), self.metas.zonk(b).show());
        let Some((n, m, out)) = out.filter(|_| agree) else {
            if [a, b].iter().all(|t| self.metas.zonk(t) != T::Error) {
                self.report(
                    Diagnostic::new(codes::OPERANDS, format!("`@` does not apply to {x} and {y}"))
                        .label(spans[0], format!("this has type {x}"))
                        .label(spans[1], format!("this has type {y}"))
                        .help("`@` is for vectors and matrices of reals"),
                );
            }
            return self.agree(&T::Error, result, span);
        };
        self.metas.at = span;
        if self.metas.unify_size(n, m).is_err() {
            let (n, m) = (self.metas.zonk_size(n), self.metas.zonk_size(m));
            self.report(
                Diagnostic::new(codes::SHAPE_MISMATCH, format!("`@` of {x} and {y}: {n} is not {m}"))
                    .label(spans[0], format!("this has type {x}"))
                    .label(spans[1], format!("this has type {y}")),
            );
            return self.agree(&T::Error, result, span);
        }
        self.agree(&out, result, span)
    }
}
