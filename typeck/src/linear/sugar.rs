//! What people write and Target has no former for: multiples of arrays and tuples, array literals, `sum`. Each is made of formers.

use super::*;
use lang::core::Lit;

impl Infer<'_> {
    /// A name for a linear term that is used several times, and its occurrence.
    fn named(&mut self, t: &Le) -> (P, Le) {
        let z = self.supply.fresh("z");
        (P::var(&z, &t.ty, t.span), Le::new(LK::Var(z), t.ty.clone(), t.span))
    }

    /// a · t for a Cartesian real a, at every real of t's type: tuples by components, arrays by elements.
    pub(super) fn scaled(&mut self, a: Te, t: Le) -> Le {
        let span = t.span;
        if matches!(self.metas.resolve(&t.ty), T::Meta(_)) {
            self.solve();
        }
        let scaled = match self.metas.resolve(&t.ty) {
            T::Tuple(ts) => {
                let (p, z) = self.named(&t);
                let part = |s: &mut Self, (k, ty): (usize, &T)| {
                    s.scaled(a.clone(), Le::new(LK::Proj(Box::new(z.clone()), k), ty.clone(), span))
                };
                let parts = ts.iter().enumerate().map(|part_of| part(self, part_of)).collect();
                LK::Let(p, Box::new(t.clone()), Box::new(Le::new(LK::Tuple(parts), t.ty.clone(), span)))
            }
            T::Record(fields) => {
                let (p, z) = self.named(&t);
                let part = |s: &mut Self, (x, ty): &(Name, T)| {
                    let field = Le::new(LK::Field(Box::new(z.clone()), x.clone()), ty.clone(), span);
                    (x.clone(), s.scaled(a.clone(), field))
                };
                let parts = fields.iter().map(|field| part(self, field)).collect();
                LK::Let(p, Box::new(t.clone()), Box::new(Le::new(LK::Record(parts), t.ty.clone(), span)))
            }
            T::Array(n, element) => {
                let (p, z) = self.named(&t);
                let (index, i) = self.counter(span);
                let body =
                    self.scaled(a, Le::new(LK::Index(Box::new(z), Box::new(i)), (*element).clone(), span));
                let body = Box::new(Le::new(
                    LK::Build { index, bound: n, body: Box::new(body) },
                    t.ty.clone(),
                    span,
                ));
                LK::Let(p, Box::new(t.clone()), body)
            }
            T::Real
            | T::Meta(_)
            | T::Error
            | T::Int
            | T::Bool
            | T::Sum(_)
            | T::Fun(..)
            | T::Lin(..)
            | T::Copower(..)
            | T::Param(_) => {
                self.require_linear(&t, &T::Real, Why::Operand("*"));
                LK::Scale(Box::new(a), Box::new(t.clone()))
            }
        };
        Le::new(scaled, t.ty, span)
    }

    /// The product of a Cartesian factor and a linear term, pointwise: of a real and anything, or of arrays of one shape.
    pub(super) fn product(&mut self, a: Te, t: Le, span: Span) -> Le {
        self.solve();
        let T::Array(n, from) = self.metas.resolve(&a.ty) else {
            let found = a.ty.clone();
            self.require(a.span, &found, &T::Real, Why::Operand("*"));
            let atom = matches!(a.kind, K::Var(_) | K::Num(_) | K::Lit(_));
            if atom || matches!(self.metas.resolve(&t.ty), T::Real) {
                let t = self.scaled(a, t);
                return Le { span, ..t };
            }
            // Computed once, however many reals t has.
            let x = self.supply.fresh("a");
            let (p, factor) = (P::var(&x, &T::Real, a.span), Te::var(&x, &T::Real, a.span));
            let body = self.scaled(factor, t);
            let ty = body.ty.clone();
            return Le::new(LK::CLet(p, Box::new(a), Box::new(body)), ty, span);
        };
        let x = self.supply.fresh("a");
        let (px, array) = (P::var(&x, &a.ty, a.span), Te::var(&x, &a.ty, a.span));
        let (pz, z) = self.named(&t);
        let (index, i) = self.counter(span);
        let factor = Te::new(K::Index(Box::new(array), vec![i.clone()]), (*from).clone(), a.span);
        let element = match self.metas.resolve(&t.ty) {
            T::Array(m, to) => {
                self.metas.at = span;
                if self.metas.unify_size(&n, &m).is_err() {
                    self.size_mismatch(span, &n, &m);
                    return Le::error(span);
                }
                Le::new(LK::Index(Box::new(z), Box::new(i)), (*to).clone(), t.span)
            }
            _ => z,
        };
        let body = Box::new(self.product(factor, element, span));
        let ty = T::array(n.clone(), body.ty.clone());
        let body = Le::new(LK::Build { index, bound: n, body }, ty.clone(), span);
        let body = Le::new(LK::Let(pz, Box::new(t), Box::new(body)), ty.clone(), span);
        Le::new(LK::CLet(px, Box::new(a), Box::new(body)), ty, span)
    }

    pub(super) fn negated(&mut self, t: Le) -> Le {
        let minus_one = Te::new(K::Lit(Lit::Real(-1.0)), T::Real, t.span);
        self.scaled(minus_one, t)
    }

    /// An index, and its occurrence.
    fn counter(&mut self, span: Span) -> (Var, Te) {
        let i = self.supply.fresh("i");
        self.nonneg.insert(i.id);
        let t = Te::var(&i, &T::Int, span);
        (i, t)
    }

    /// [t0, …] = onehot 0 t0 + …
    pub(super) fn linear_array(&mut self, env: &Env, es: &[Expr], span: Span) -> Le {
        let element = self.metas.fresh();
        let n = Size::constant(es.len() as i64);
        let ty = T::array(n.clone(), element.clone());
        let first = es.first().map_or(span, |e| e.span);
        let place = |s: &mut Self, (k, e): (usize, &Expr)| {
            let term = s.infer_linear(env, e);
            s.require_linear(&term, &element, Why::Element(first));
            let index = Box::new(Te::new(K::Num(k as i64), T::Int, e.span));
            Le::new(LK::OneHot { bound: n.clone(), index, term: Box::new(term) }, ty.clone(), e.span)
        };
        let terms: Vec<Le> = es.iter().enumerate().map(|e| place(self, e)).collect();
        let plus = |a: Le, b: Le| Le::new(LK::Plus(Box::new(a), Box::new(b)), ty.clone(), span);
        terms.into_iter().reduce(plus).unwrap_or(Le::new(LK::Zero, ty.clone(), span))
    }

    /// sum t = Σ_{i<n} t[i]
    pub(super) fn linear_sum(&mut self, t: Le, span: Span) -> Le {
        let (n, element) = (self.metas.fresh_size("n"), self.metas.fresh());
        self.require_linear(&t, &T::array(n.clone(), element.clone()), Why::Operand("sum"));
        let (p, z) = self.named(&t);
        let (index, i) = self.counter(span);
        let body = Box::new(Le::new(LK::Index(Box::new(z), Box::new(i)), element.clone(), span));
        let total = Le::new(LK::Sum { index, bound: n, body }, element.clone(), span);
        Le::new(LK::Let(p, Box::new(t), Box::new(total)), element, span)
    }
}
