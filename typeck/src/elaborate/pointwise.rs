//! Lifted primitives, comparisons and equality of whole values.

use super::*;

impl Elaborate<'_> {
    pub(super) fn lift(&mut self, op: &str, args: &[Te], ty: &T, span: Span) -> Tm {
        let mut around = vec![];
        let mut operands = vec![];
        let mut scalars = vec![];
        for a in args {
            let t = self.term(a);
            let aty = self.ty(&a.ty, a.span);
            let (dims, base) = array_parts(&aty);
            scalars.push(match base {
                Type::Int => Scalar::Int,
                Type::Bool => Scalar::Bool,
                _ => Scalar::Real,
            });
            operands.push((aty, t, dims.len()));
        }
        let rty = self.ty(ty, span);
        let (dims, _) = array_parts(&rty);
        let site = self.site(span);
        let mut named = vec![];
        for (aty, t, rank) in operands {
            let keep = is_path(&t) || matches!(&*t, Term::Build { .. }) && rank > 0;
            let alone = dims.is_empty();
            let t = if keep || alone { t } else { self.named(t, aty.clone(), "a", &mut around) };
            named.push((aty, t));
        }
        let t = self.pointwise(op, &scalars, named, &dims, &site, span);
        wrap(around, t)
    }

    /// build d1 (i. build d2 (j. … op(elements))); operands that are builds give their bodies, each used once.
    pub(super) fn pointwise(
        &mut self,
        op: &str,
        scalars: &[Scalar],
        operands: Vec<(Type, Tm)>,
        dims: &[Size],
        site: &Site,
        span: Span,
    ) -> Tm {
        let Some((n, inner_dims)) = dims.split_first() else {
            return self.scalar_op(op, scalars, operands.into_iter().map(|(_, t)| t).collect(), site, span);
        };
        let own = operands.iter().find_map(|(ty, t)| match (ty, &**t) {
            (Type::Array(..), Term::Build { index, .. }) => Some(index.clone()),
            _ => None,
        });
        let i = own.unwrap_or_else(|| self.inf.supply.fresh("i"));
        let mut around = vec![];
        let mut elements = vec![];
        for (ty, t) in operands {
            let Type::Array(_, element) = &ty else {
                elements.push((ty, t));
                continue;
            };
            let e = match &*t {
                Term::Build { index, body, .. } => {
                    if *index != i {
                        around.push(Around::Let(Binder::new(index.clone(), Type::Int), var(&i)));
                    }
                    body.clone()
                }
                _ => index(t, var(&i), site.clone()),
            };
            let again = matches!(**element, Type::Array(..));
            let e = match &*e {
                Term::Build { .. } => e,
                _ if again => self.named(e, (**element).clone(), "row", &mut around),
                _ => e,
            };
            elements.push(((**element).clone(), e));
        }
        let body = self.pointwise(op, scalars, elements, inner_dims, site, span);
        build(i, n.clone(), wrap(around, body))
    }

    pub(super) fn scalar_op(
        &mut self,
        op: &str,
        scalars: &[Scalar],
        mut args: Vec<Tm>,
        site: &Site,
        span: Span,
    ) -> Tm {
        let (name, scalars): (&str, Vec<Scalar>) = match op {
            ">" | ">=" => {
                args.reverse();
                (if op == ">" { "<" } else { "<=" }, scalars.iter().rev().copied().collect())
            }
            other => (other, scalars.to_vec()),
        };
        let Some(p) = Prim::find(name, &scalars) else {
            self.inf.report(
                Diagnostic::new(codes::OPERANDS, format!("there is no `{op}` on these operands"))
                    .label(span, "here"),
            );
            return unit();
        };
        let divides = matches!(name, "div" | "mod" | "rem") && scalars == [Scalar::Int, Scalar::Int];
        if !divides {
            return prim(p, args);
        }
        // The primitive is total; a zero divisor ends the program.
        let mut around = vec![];
        let divisor = self.named(args[1].clone(), Type::Int, "d", &mut around);
        let t = prim(p, [args[0].clone(), divisor.clone()]);
        if matches!(&*divisor, Term::Lit(Lit::Int(k)) if *k != 0) {
            return wrap(around, t);
        }
        let zero = self.int_equal(divisor, int(0));
        around.push(Around::Check {
            cond: negate(zero),
            failure: Failure::DivisionByZero,
            details: vec![],
            site: site.clone(),
        });
        wrap(around, t)
    }

    pub fn compare(&mut self, op: &str, a: Tm, b: Tm) -> Tm {
        match Prim::find(op, &[Scalar::Int, Scalar::Int]) {
            Some(p) => prim(p, [a, b]),
            None => bool(true),
        }
    }

    pub fn int_equal(&mut self, a: Tm, b: Tm) -> Tm {
        self.compare("==", a, b)
    }

    /// a == b on whole values.
    pub(super) fn equal(&mut self, ty: &Type, a: Tm, b: Tm, span: Span) -> Tm {
        let scalar = match ty {
            Type::Real => Some(Scalar::Real),
            Type::Int => Some(Scalar::Int),
            Type::Bool => Some(Scalar::Bool),
            Type::Tuple(_)
            | Type::Array(..)
            | Type::Sum(_)
            | Type::Fun(..)
            | Type::Param(_)
            | Type::Lin(..) => None,
        };
        if let Some(s) = scalar {
            return match Prim::find("==", &[s, s]) {
                Some(p) => prim(p, [a, b]),
                None => bool(true),
            };
        }
        let mut around = vec![];
        let a = self.named(a, ty.clone(), "a", &mut around);
        let b = self.named(b, ty.clone(), "b", &mut around);
        let t = match ty {
            Type::Tuple(ts) => {
                let parts: Vec<Tm> = ts
                    .iter()
                    .enumerate()
                    .map(|(k, t)| self.equal(t, proj(a.clone(), k), proj(b.clone(), k), span))
                    .collect();
                let mut parts = parts.into_iter().rev();
                let last = parts.next().unwrap_or_else(|| bool(true));
                parts.fold(last, |rest, p| if_(p, rest, bool(false)))
            }
            Type::Array(n, element) => {
                let (same, i) = (self.inf.supply.fresh("same"), self.inf.supply.fresh("i"));
                let site = self.site(span);
                let at = |t: &Tm| index(t.clone(), var(&i), site.clone());
                let here = self.equal(element, at(&a), at(&b), span);
                let body = tuple([if_(var(&same), here, bool(false)), unit()]);
                let state = Binder::new(same, Type::Bool);
                proj(Arc::new(Term::Loop { state, init: bool(true), index: i, bound: n.clone(), body }), 0)
            }
            // The same constructor and equal payloads.
            Type::Sum(ts) => {
                let mut arms = vec![];
                for (k, t) in ts.iter().enumerate() {
                    let x = Binder::new(self.inf.supply.fresh("x"), t.clone());
                    let mut inner = vec![];
                    for (j, u) in ts.iter().enumerate() {
                        let y = Binder::new(self.inf.supply.fresh("y"), u.clone());
                        let same = match k == j {
                            true => self.equal(t, var(&x.var), var(&y.var), span),
                            false => bool(false),
                        };
                        inner.push((y, same));
                    }
                    arms.push((x, Arc::new(Term::Case(b.clone(), inner))));
                }
                Arc::new(Term::Case(a.clone(), arms))
            }
            Type::Fun(..) | Type::Param(_) | Type::Lin(..) | Type::Real | Type::Int | Type::Bool => {
                self.inf.report(
                    Diagnostic::new(codes::EQUALITY, "these values cannot be compared")
                        .label(span, "equality is for values without functions and of known type"),
                );
                bool(true)
            }
        };
        wrap(around, t)
    }
}

pub fn negate(t: Tm) -> Tm {
    match Prim::find("not", &[Scalar::Bool]) {
        Some(p) => prim(p, [t]),
        None => if_(t, bool(false), bool(true)),
    }
}
