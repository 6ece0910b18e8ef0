//! Types, sizes and patterns.

use super::*;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TyLevel {
    Arrow,
    Tensor,
    Prefix,
    Atom,
}

impl<'s> Printer<'s> {
    pub(super) fn param<'a>(&self, p: &'a Param) -> Doc<'a> {
        match &p.ty {
            None => self.pat(&p.pat, true),
            Some(t) => self.typed(&p.pat, t),
        }
    }

    pub(super) fn typed<'a>(&self, p: &'a Pat, t: &'a Ty) -> Doc<'a> {
        let inner = self.pat(p, false).append(text(" : ")).append(self.ty(t, TyLevel::Arrow));
        enclosed("(", inner, ")")
    }

    /// A pattern; as an atom, where other patterns may follow.
    pub(super) fn pat<'a>(&self, p: &'a Pat, atom: bool) -> Doc<'a> {
        let list = |ps: &'a [Pat]| commas(ps.iter().map(|p| self.pat(p, false)));
        match &p.node {
            PatKind::Wildcard => text("_"),
            PatKind::Var(x) => text(x),
            PatKind::Int(k) => text(k.to_string()),
            PatKind::Bool(b) => text(b.to_string()),
            PatKind::Tuple(ps) => enclosed("(", list(ps), ")"),
            PatKind::Record(fields) => {
                let field = |(x, p): &'a (Ident, Pat)| match &p.node {
                    // As written: {x} for {x = x}.
                    PatKind::Var(y) if *y == x.node && p.span == x.span && self.source.is_some() => text(y),
                    _ => text(format!("{} = ", x.node)).append(self.pat(p, false)),
                };
                enclosed("{", commas(fields.iter().map(field)), "}")
            }
            PatKind::Constructor(c, None) => text(&c.node),
            PatKind::Constructor(c, Some(p)) => {
                let d = text(format!("{} ", c.node)).append(self.pat(p, true));
                if atom { enclosed("(", d, ")") } else { d }
            }
            PatKind::Array(ps) => enclosed("[", list(ps), "]"),
        }
    }

    pub(super) fn ty_arg<'a>(&self, a: &'a TyArg) -> Doc<'a> {
        match a {
            TyArg::Ty(t) => self.ty(t, TyLevel::Arrow),
            TyArg::Size(n) => size(n, 0),
        }
    }

    pub(super) fn ty<'a>(&self, t: &'a Ty, min: TyLevel) -> Doc<'a> {
        let arrow = |a: &'a Ty, sign: &'static str, b: &'a Ty| {
            self.ty(a, TyLevel::Tensor)
                .append(text(format!(" {sign}")))
                .append(self.line(b.span.start))
                .append(self.ty(b, TyLevel::Arrow))
                .group()
        };
        let (level, doc) = match &t.node {
            TyKind::Name(x, args) if args.is_empty() => (TyLevel::Atom, text(&x.node)),
            TyKind::Name(x, args) => {
                let args = enclosed("[", commas(args.iter().map(|a| self.ty_arg(a))), "]");
                (TyLevel::Atom, text(&x.node).append(args))
            }
            TyKind::Var(a) => (TyLevel::Atom, text(format!("'{a}"))),
            TyKind::Tuple(ts) => {
                let list = self.list(ts, t.span, |t| t.span, |t| self.ty(t, TyLevel::Arrow));
                (TyLevel::Atom, enclosed("(", list, ")"))
            }
            TyKind::Record(fields) => {
                let field = |(x, t): &'a (Ident, Ty)| {
                    text(format!("{} : ", x.node)).append(self.ty(t, TyLevel::Arrow))
                };
                let list = self.list(fields, t.span, |(x, _)| x.span, field);
                (TyLevel::Atom, enclosed("{", list, "}"))
            }
            TyKind::Array(n, t) => {
                let n = text("[").append(size(n, 0)).append(text("]"));
                (TyLevel::Prefix, n.append(self.ty(t, TyLevel::Prefix)))
            }
            TyKind::Power(t, ns) => {
                let bare = |n: &SizeExpr| matches!(n.node, SizeKind::Int(_) | SizeKind::Var(_));
                let exponent = match &ns[..] {
                    [n] if bare(n) => size(n, 0),
                    ns => enclosed("(", commas(ns.iter().map(|n| size(n, 0))), ")"),
                };
                (TyLevel::Prefix, self.ty(t, TyLevel::Atom).append(text("^")).append(exponent))
            }
            TyKind::Fun(a, b) => (TyLevel::Arrow, arrow(a, self.arrow(), b)),
            TyKind::LinFun(a, b) => (TyLevel::Arrow, arrow(a, self.lolli(), b)),
            TyKind::Copower(a, b) => {
                let d = text("!")
                    .append(self.ty(a, TyLevel::Atom))
                    .append(text(self.choose(" * ", " ⊗ ")))
                    .append(self.ty(b, TyLevel::Tensor));
                (TyLevel::Tensor, d)
            }
            TyKind::Tangent(t) => (TyLevel::Prefix, text("D ").append(self.ty(t, TyLevel::Prefix))),
            TyKind::Error => (TyLevel::Atom, text("<error>")),
        };
        if level >= min { doc } else { enclosed("(", doc, ")") }
    }
}

/// Sizes: 0 a sum, 1 a product, 2 an atom.
fn size<'a>(n: &'a SizeExpr, min: u8) -> Doc<'a> {
    let pair = |a: &'a SizeExpr, sign: &'static str, b: &'a SizeExpr, level: u8| {
        let d = size(a, level).append(text(sign)).append(size(b, level + 1));
        (level, d)
    };
    let (level, doc) = match &n.node {
        SizeKind::Int(k) => (2, text(k.to_string())),
        SizeKind::Var(x) => (2, text(x)),
        SizeKind::Exists(x) => (2, text(format!("?{x}"))),
        SizeKind::Add(a, b) => pair(a, " + ", b, 0),
        SizeKind::Sub(a, b) => pair(a, " - ", b, 0),
        SizeKind::Mul(a, b) => pair(a, "*", b, 1),
    };
    if level >= min { doc } else { text("(").append(doc).append(text(")")) }
}
