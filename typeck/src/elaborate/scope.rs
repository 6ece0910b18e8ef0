//! Types and scopes: everything closed, every size in scope where it is written; names for what must not be computed twice.

use super::*;

impl Elaborate<'_> {
    /// The Core type at a place: nothing open, every size in scope.
    pub fn ty(&mut self, t: &T, span: Span) -> Type {
        let t = self.closed(t, span);
        match t.to_type() {
            Some(ty) => {
                if functions_in_arrays(&ty) {
                    let message = format!("{} is an array of functions", t.show());
                    // Of an array and of what is named by it, once is enough.
                    if !self.inf.diags.iter().any(|d| d.message == message) {
                        let d = Diagnostic::new(codes::ELEMENT, message);
                        self.inf.report(d.label(span, "elements of arrays are first-order"));
                    }
                }
                ty
            }
            None => {
                self.failed = true;
                if !t.any(&|t| *t == T::Error) {
                    self.inf.report(
                        Diagnostic::new(
                            codes::NOT_A_LINEAR_TYPE,
                            format!("{} is a type of linear terms only", t.show()),
                        )
                        .label(span, "a Cartesian term has this type"),
                    );
                }
                Type::unit()
            }
        }
    }

    pub fn ltype(&mut self, t: &T, span: Span) -> LType {
        let t = self.closed(t, span);
        t.to_ltype().unwrap_or_else(|| {
            self.failed = true;
            if !t.any(&|t| *t == T::Error) {
                self.inf.report(
                    Diagnostic::new(codes::NOT_A_LINEAR_TYPE, format!("{} is not a linear type", t.show()))
                        .label(span, "a linear term has this type"),
                );
            }
            LType::unit()
        })
    }

    pub(super) fn closed(&mut self, t: &T, span: Span) -> T {
        let mut t = self.inf.metas.zonk(t);
        if t.has_meta() {
            // Nothing says what it is: language.md's default.
            self.inf.default_metas(&t);
            t = self.inf.metas.zonk(&t);
        }
        for v in t.size_vars() {
            self.in_scope(&v, &t.show(), span);
        }
        if let Some(k) = negative_size(&t) {
            self.negative(k, span);
        }
        t
    }

    pub(super) fn negative(&mut self, k: i64, span: Span) {
        let d = Diagnostic::new(codes::NEGATIVE_SIZE, format!("the size {k} is below zero"))
            .label(span, "an array cannot have this size");
        if !self.inf.diags.contains(&d) {
            self.inf.report(d);
        }
    }

    pub(super) fn in_scope(&mut self, v: &Var, shown: &str, span: Span) {
        if self.ints.contains(&v.id) || self.escapes_reported {
            return;
        }
        self.escapes_reported = true;
        let d = if let Some(d) = self.inf.opened_escapes(v, shown, span) {
            d
        } else if self.inf.metas.size_solution(v).is_some() {
            crate::env::too_large(span)
        } else if is_size_meta(v) {
            let (name, shown) = (v.name.replace('?', ""), shown.replace('?', ""));
            let label = match name == shown {
                true => "nothing here says how many elements there are".to_string(),
                false => format!("in the type {shown}"),
            };
            Diagnostic::new(codes::UNSOLVED_SIZE, format!("nothing determines the size {name} here"))
                .label(span, label)
                .help("write the type, or give the bound of the comprehension")
        } else {
            Diagnostic::new(
                codes::SIZE_ESCAPES,
                format!("the size {} leaves its scope in the type {shown}", v.name),
            )
            .label(span, format!("{} differs from one evaluation to the next, or is not known here", v.name))
            .help("bind it outside, assert a size with `as`, or write a definition's result as `[?k]τ`")
        };
        self.inf.report(d);
    }

    pub fn size(&mut self, n: &Size, span: Span) -> Size {
        let n = self.inf.metas.zonk_size(n);
        for v in n.vars() {
            self.in_scope(v, &n.to_string(), span);
        }
        n
    }

    /// A body, branch or iteration: sizes named inside stay inside.
    pub fn scoped(&mut self, ty: &T, span: Span, make: impl FnOnce(&mut Self) -> Tm) -> Tm {
        let outer = std::mem::take(&mut self.floats);
        let body = make(self);
        let floats = std::mem::replace(&mut self.floats, outer);
        if floats.is_empty() {
            return body;
        }
        for a in &floats {
            if let Around::Let(x, _) = a {
                self.ints.remove(&x.var.id);
            }
        }
        self.closed(ty, span);
        wrap(floats, body)
    }

    /// As [`Self::scoped`], for linear bodies: what must stand around them.
    pub fn scoped_with<R>(&mut self, make: impl FnOnce(&mut Self) -> R) -> (R, Vec<Around>) {
        let outer = std::mem::take(&mut self.floats);
        let body = make(self);
        (body, std::mem::replace(&mut self.floats, outer))
    }

    pub fn float(&mut self, a: Around) {
        if let Around::Let(x, _) = &a
            && x.ty == Type::Int
        {
            self.ints.insert(x.var.id);
        }
        self.floats.push(a);
    }

    /// A name for a term, unless it is one already.
    pub fn named(&mut self, t: Tm, ty: Type, hint: &str, around: &mut Vec<Around>) -> Tm {
        if is_path(&t) {
            return t;
        }
        let v = self.inf.supply.fresh(hint);
        around.push(Around::Let(Binder::new(v.clone(), ty), t));
        var(&v)
    }
}

/// A size in the type that is a number below zero.
pub(super) fn negative_size(t: &T) -> Option<i64> {
    match t {
        T::Array(n, e) => n.as_constant().filter(|k| *k < 0).or_else(|| negative_size(e)),
        T::Tuple(ts) => ts.iter().find_map(negative_size),
        T::Record(fs) => fs.iter().find_map(|(_, t)| negative_size(t)),
        T::Sum(s) => s.arms.iter().find_map(|(_, t)| negative_size(t)),
        T::Fun(a, b) | T::Lin(a, b) | T::Copower(a, b) => negative_size(a).or_else(|| negative_size(b)),
        T::Real | T::Int | T::Bool | T::Param(_) | T::Meta(_) | T::Error => None,
    }
}

pub(super) fn functions_in_arrays(t: &Type) -> bool {
    fn function(t: &Type) -> bool {
        match t {
            Type::Fun(..) => true,
            Type::Tuple(ts) | Type::Sum(ts) => ts.iter().any(function),
            Type::Array(_, t) => function(t),
            Type::Real | Type::Int | Type::Bool | Type::Param(_) | Type::Lin(..) => false,
        }
    }
    match t {
        Type::Array(_, t) => function(t),
        Type::Tuple(ts) | Type::Sum(ts) => ts.iter().any(functions_in_arrays),
        Type::Fun(a, b) => functions_in_arrays(a) || functions_in_arrays(b),
        Type::Real | Type::Int | Type::Bool | Type::Param(_) | Type::Lin(..) => false,
    }
}
