//! Updates, asserted sizes and products of arrays.

use super::*;

impl Elaborate<'_> {
    /// The term under a check that the size is not below zero, where that is not evident.
    pub fn sized(&mut self, n: &Size, span: Span, t: Tm) -> Tm {
        if self.inf.evidently_nonnegative(n) {
            return t;
        }
        if let Some(k) = n.as_constant() {
            self.negative(k, span);
            return t;
        }
        let value = lang::core::make::size(n);
        Arc::new(Term::Check {
            cond: self.compare("<=", int(0), value.clone()),
            failure: Failure::NegativeSize,
            details: vec![value],
            site: self.site(span),
            body: t,
        })
    }

    /// e as τ: the outer sizes are compared at run time, where they are not known to agree.
    pub(super) fn assert_sizes(&mut self, e: &Te, want: &T, span: Span) -> Tm {
        let t = self.term(e);
        let from = self.ty(&e.ty, e.span);
        let to = self.ty(want, span);
        if from == to {
            return t;
        }
        self.assert_type(t, &from, &to, span)
    }

    /// t : from as a value of a type that differs in sizes.
    fn assert_type(&mut self, t: Tm, from: &Type, to: &Type, span: Span) -> Tm {
        if from == to {
            return t;
        }
        let mut around = vec![];
        let t = self.named(t, from.clone(), "a", &mut around);
        if let (Type::Tuple(have), Type::Tuple(asked)) = (from, to) {
            let parts = have.iter().zip(asked.iter()).enumerate();
            let parts: Vec<Tm> =
                parts.map(|(k, (a, b))| self.assert_type(proj(t.clone(), k), a, b, span)).collect();
            return wrap(around, tuple(parts));
        }
        let (have, asked) = (array_parts(from).0, array_parts(to).0);
        let site = self.site(span);
        for (a, b) in have.iter().zip(&asked).filter(|(a, b)| a != b) {
            let (a, b) = (lang::core::make::size(a), lang::core::make::size(b));
            around.push(Around::Check {
                cond: self.int_equal(a.clone(), b.clone()),
                failure: Failure::SizeMismatch,
                details: vec![a, b],
                site: site.clone(),
            });
        }
        let copy = self.copy(t, from, &asked, &site);
        wrap(around, copy)
    }

    pub(super) fn copy(&mut self, t: Tm, ty: &Type, dims: &[Size], site: &Site) -> Tm {
        match (dims.split_first(), ty) {
            (Some((n, rest)), Type::Array(_, element)) => {
                let i = self.inf.supply.fresh("i");
                let at = index(t, var(&i), site.clone());
                let body = if array_parts(ty).0.iter().skip(1).eq(rest.iter()) {
                    at
                } else {
                    self.copy(at, element, rest, site)
                };
                build(i, n.clone(), body)
            }
            _ => t,
        }
    }

    pub(super) fn matmul(&mut self, a: &Te, b: &Te, span: Span) -> Tm {
        let cores = vec![self.term(a), self.term(b)];
        let (ta, tb) = (self.ty(&a.ty, a.span), self.ty(&b.ty, b.span));
        let (da, db) = (array_parts(&ta).0, array_parts(&tb).0);
        let (name, sizes) = match (da.as_slice(), db.as_slice()) {
            ([n], [_]) => ("dot", vec![n.clone()]),
            ([n, m], [_]) => ("matvec", vec![n.clone(), m.clone()]),
            ([_], [n, m]) => ("vecmat", vec![n.clone(), m.clone()]),
            ([n, m], [_, k]) => ("matmul", vec![n.clone(), m.clone(), k.clone()]),
            _ => return unit(),
        };
        match builtin::find(name) {
            Some(row) => self.row(row, vec![], sizes, cores, vec![ta, tb], span),
            None => unit(),
        }
    }
}

/// The dimensions of nested arrays and what they hold.
pub fn array_parts(t: &Type) -> (Vec<Size>, Type) {
    let mut dims = vec![];
    let mut t = t;
    while let Type::Array(n, e) = t {
        dims.push(n.clone());
        t = e;
    }
    (dims, t.clone())
}
