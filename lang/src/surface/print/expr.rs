//! Expressions.

use super::*;

impl<'s> Printer<'s> {
    pub(super) fn expr<'a>(&self, e: &'a Expr, at: Place) -> Doc<'a> {
        let level = self.level(&e.node);
        let bare = match level {
            // A body is an operand like any other where it may extend to the right.
            Level::Body => at.tail && at.min <= Level::Tensor,
            _ => level >= at.min,
        };
        let takes_bar = at.bar && matches!(e.node, ExprKind::Match(..));
        if bare && !takes_bar { self.bare(e, at) } else { enclosed("(", self.bare(e, OPEN), ")") }
    }

    fn level(&self, e: &ExprKind) -> Level {
        match e {
            ExprKind::Int(k) if *k < 0 && *k != i64::MIN => Level::Neg,
            ExprKind::Real(x) if x.is_sign_negative() && x.is_finite() => Level::Neg,
            ExprKind::Var(_)
            | ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Bool(_)
            | ExprKind::TypeApp(..)
            | ExprKind::Tuple(_)
            | ExprKind::Record(_)
            | ExprKind::RecordUpdate(..)
            | ExprKind::ArrayUpdate { .. }
            | ExprKind::Array(_)
            | ExprKind::Comprehension { .. }
            | ExprKind::Section(_)
            | ExprKind::Error => Level::Atom,
            ExprKind::Proj(..) | ExprKind::Field(..) | ExprKind::Index(..) | ExprKind::Slice(..) => {
                Level::Postfix
            }
            ExprKind::App(..) => Level::App,
            ExprKind::Tensor(..) if self.style.symbols => Level::Tensor,
            ExprKind::Tensor(..) => Level::App,
            ExprKind::Binary(op, ..) => levels(*op).0,
            ExprKind::Neg(_) => Level::Neg,
            ExprKind::As(..) => Level::As,
            ExprKind::Lam(..)
            | ExprKind::LinLam(..)
            | ExprKind::Let(..)
            | ExprKind::If(..)
            | ExprKind::Match(..)
            | ExprKind::LoopFor(_)
            | ExprKind::LoopWhile { .. }
            | ExprKind::TensorElim { .. }
            | ExprKind::Suml { .. } => Level::Body,
        }
    }

    /// The expression without parentheses around it.
    fn bare<'a>(&self, e: &'a Expr, at: Place) -> Doc<'a> {
        let (e, span) = (&e.node, e.span);
        let open = |e: &'a Expr| self.expr(e, OPEN);
        // A body at the right end, where only a following `|` still matters.
        let rest = Place { bar: at.bar, ..OPEN };
        match e {
            ExprKind::Var(x) => text(x),
            // The least int is what is under its minus.
            ExprKind::Int(k) if *k == i64::MIN => text(k.unsigned_abs().to_string()),
            ExprKind::Int(k) => text(k.to_string()),
            ExprKind::Real(x) => text(self.as_written(span).unwrap_or_else(|| real(*x))),
            ExprKind::Bool(b) => text(b.to_string()),
            ExprKind::Lam(params, body) => {
                let params = words(params.iter().map(|p| self.param(p)));
                text(self.choose("\\", "λ"))
                    .append(params)
                    .append(text(format!(" {}", self.arrow())))
                    .append(self.body(body, rest))
                    .group()
            }
            ExprKind::LinLam(p, body) => text(self.choose("\\", "λ"))
                .append(self.param(p))
                .append(text(format!(" {}", self.lolli())))
                .append(self.body(body, rest))
                .group(),
            ExprKind::App(..) => self.application(e),
            ExprKind::TypeApp(f, args) => {
                text(&f.node).append(enclosed("[", commas(args.iter().map(|a| self.ty_arg(a))), "]"))
            }
            ExprKind::Let(..) => self.lets(e, at),
            ExprKind::If(..) => self.conditional(e, rest).group(),
            ExprKind::Match(e, arms) => {
                let mut doc = text("match ").append(open(e)).append(text(" with"));
                for (k, (p, body)) in arms.iter().enumerate() {
                    let bar = k + 1 < arms.len() || at.bar;
                    doc = doc
                        .append(self.kept(self.bar(p.span.start)))
                        .append(text("| "))
                        .append(self.pat(p, false))
                        .append(text(format!(" {}", self.arrow())))
                        .append(self.body(body, Place { bar, ..OPEN }));
                }
                doc.group()
            }
            ExprKind::Tuple(es) => enclosed("(", self.list(es, span, |e| e.span, open), ")"),
            ExprKind::Proj(e, k) => self.dotted(e).append(text(format!(".{k}"))),
            ExprKind::Field(e, x) => self.dotted(e).append(text(format!(".{}", x.node))),
            ExprKind::Record(fields) => enclosed("{", self.fields(fields, span), "}"),
            ExprKind::RecordUpdate(r, fields) => enclosed(
                "{",
                self.postfix(r).append(text(" with ")).append(self.fields(fields, span).nest(2)),
                "}",
            ),
            ExprKind::ArrayUpdate { array, index, value } => enclosed(
                "{",
                self.postfix(array)
                    .append(text(" with "))
                    .append(enclosed("[", commas(index.iter().map(open)), "]"))
                    .append(text(" ="))
                    .append(self.body(value, OPEN)),
                "}",
            ),
            ExprKind::Array(es) => enclosed("[", self.list(es, span, |e| e.span, open), "]"),
            ExprKind::Index(a, is) => self.postfix(a).append(enclosed("[", commas(is.iter().map(open)), "]")),
            ExprKind::Slice(a, i, j) => {
                let part = |e: &'a Option<Box<Expr>>| e.as_ref().map_or(RcDoc::nil(), |e| open(e));
                let range = part(i).append(text(":")).append(part(j));
                self.postfix(a).append(enclosed("[", range, "]"))
            }
            ExprKind::Comprehension { body, bounds } => {
                let bound = |(i, n): &'a (Ident, Option<Expr>)| match n {
                    Some(n) => text(format!("{} < ", i.node)).append(self.bound(n)),
                    None => text(&i.node),
                };
                let inner = self.expr(body, Place { bar: true, ..OPEN });
                let line = self.kept(self.token(body.span.end));
                let bounds = text("| ").append(commas(bounds.iter().map(bound)).nest(2));
                text("[ ").append(inner.append(line).append(bounds).nest(2)).append(text(" ]")).group()
            }
            ExprKind::LoopFor(l) => {
                let (head, key) = match l.flavour {
                    LoopFlavour::Plain => ("loop ", "do"),
                    LoopFlavour::Collect => ("loop ", "collect"),
                    LoopFlavour::LinearUp => ("loop_up ", "do"),
                    LoopFlavour::LinearDown => ("loop_down ", "do"),
                };
                let range = || {
                    text(format!("for {} < ", l.index.node))
                        .append(self.bound(&l.bound))
                        .append(text(format!(" {key}")))
                };
                self.a_loop(head, (&l.state, &l.init), range, (&l.body, rest))
            }
            ExprKind::LoopWhile { state, init, cond, body } => {
                let range = || text("while ").append(open(cond)).append(text(" do"));
                self.a_loop("loop ", (state, init), range, (body, rest))
            }
            ExprKind::Binary(..) => self.binary(e, at),
            ExprKind::Neg(x) => {
                // Two signs in a row would begin a comment.
                let at = if self.level(&x.node) == Level::Neg {
                    Place::inner(Level::Atom)
                } else {
                    at.at(Level::Pow)
                };
                text("-").append(self.expr(x, at))
            }
            ExprKind::Section(op) => text(format!("({})", operator(*op))),
            ExprKind::As(x, t) => {
                self.expr(x, Place::inner(Level::As)).append(text(" as ")).append(self.ty(t, TyLevel::Arrow))
            }
            ExprKind::Tensor(a, v) if self.style.symbols => text("!")
                .append(self.postfix(a))
                .append(text(" ⊗ "))
                .append(self.expr(v, at.at(Level::Tensor))),
            ExprKind::Tensor(a, v) => {
                text("tensor ").append(self.postfix(a)).append(text(" ")).append(self.postfix(v))
            }
            ExprKind::TensorElim { scrutinee, var, lin, body } => text("case ")
                .append(open(scrutinee).nest(2))
                .append(text(self.choose(" of tensor ", " of !")))
                .append(self.param(var))
                .append(text(self.choose(" ", " ⊗ ")))
                .append(self.param(lin))
                .append(text(format!(" {}", self.arrow())))
                .append(self.body(body, rest))
                .group(),
            ExprKind::Suml { index, bound, body } => text(format!("suml {} < ", index.node))
                .append(self.bound(bound))
                .append(text(format!(" {}", self.arrow())))
                .append(self.body(body, rest))
                .group(),
            ExprKind::Error => text("<error>"),
        }
    }

    /// What may be followed directly by `[` or a dot, or stands as an argument.
    fn postfix<'a>(&self, e: &'a Expr) -> Doc<'a> {
        self.expr(e, Place::inner(Level::Postfix))
    }

    /// What is followed by a dot: after a numeral it would be taken for a decimal point.
    fn dotted<'a>(&self, e: &'a Expr) -> Doc<'a> {
        match &e.node {
            ExprKind::Int(_) | ExprKind::Real(_) => enclosed("(", self.bare(e, OPEN), ")"),
            _ => self.postfix(e),
        }
    }

    /// The bound of an index.
    fn bound<'a>(&self, e: &'a Expr) -> Doc<'a> {
        self.expr(e, Place::inner(Level::Add))
    }

    fn fields<'a>(&self, fields: &'a [(Ident, Expr)], whole: Span) -> Doc<'a> {
        let field = |(x, e): &'a (Ident, Expr)| text(format!("{} =", x.node)).append(self.body(e, OPEN));
        self.list(fields, whole, |(x, _)| x.span, field)
    }

    /// The numeral at a place, in parentheses or not, if one is there.
    fn as_written(&self, span: Span) -> Option<String> {
        let around = |c: char| matches!(c, '(' | ')') || c.is_whitespace();
        let slice = self.source?.slice(span).trim_matches(around);
        (slice.starts_with(|c: char| c.is_ascii_digit()) && slice.parse::<f64>().is_ok())
            .then(|| slice.into())
    }

    fn application<'a>(&self, e: &'a ExprKind) -> Doc<'a> {
        let mut args = vec![];
        let mut head = e;
        while let ExprKind::App(f, x) = head {
            args.push(x);
            head = &f.node;
            if !matches!(head, ExprKind::App(..)) {
                let mut doc = self.postfix(f);
                for x in args.into_iter().rev() {
                    doc = doc.append(self.line(x.span.start).append(self.postfix(x)).nest(2).group());
                }
                return doc;
            }
        }
        RcDoc::nil()
    }

    /// A chain of operators of one level to the left, broken before all of them or none.
    fn binary<'a>(&self, e: &'a ExprKind, at: Place) -> Doc<'a> {
        let ExprKind::Binary(op, l, r) = e else { return RcDoc::nil() };
        let (level, left, right) = levels(*op);
        let mut rest = vec![(*op, l, r, at.at(right))];
        let mut first = l;
        while let ExprKind::Binary(op, l, r) = &first.node
            && levels(*op).0 == level
            && left == level
        {
            rest.push((*op, l, r, Place::inner(right)));
            first = l;
        }
        let mut doc = self.expr(first, Place::inner(left));
        for (op, l, r, at) in rest.into_iter().rev() {
            let operand = self
                .line(self.token(l.span.end))
                .append(text(format!("{} ", operator(op))))
                .append(self.expr(r, at));
            doc = doc.append(operand.nest(2));
        }
        doc.group()
    }

    /// if … then … else if … else …, each branch on its own line or all on one.
    fn conditional<'a>(&self, e: &'a ExprKind, rest: Place) -> Doc<'a> {
        let ExprKind::If(c, t, s) = e else { return RcDoc::nil() };
        let doc = text("if ")
            .append(self.expr(c, OPEN).nest(3))
            .append(text(" then"))
            .append(self.kept(t.span.start).append(self.expr(t, OPEN)).nest(2))
            .append(self.kept(self.token(t.span.end)))
            .append(text("else"));
        match &s.node {
            ExprKind::If(..) => doc.append(text(" ")).append(self.conditional(&s.node, rest)),
            _ => doc.append(self.kept(s.span.start).append(self.expr(s, rest)).nest(2)),
        }
    }

    /// A chain of lets, on one line together or each on its own.
    fn lets<'a>(&self, e: &'a ExprKind, at: Place) -> Doc<'a> {
        let mut doc = RcDoc::nil();
        let mut rest = e;
        while let ExprKind::Let(p, e, body) = rest {
            let (params, ty, e) = self.definition(p, e);
            doc = doc.append(text("let ")).append(self.pat(&p.pat, false));
            for p in params {
                doc = doc.append(text(" ")).append(self.param(p));
            }
            if let Some(t) = ty {
                doc = doc.append(text(" : ")).append(self.ty(t, TyLevel::Arrow));
            }
            doc = doc.append(text(" =")).append(self.body(e, OPEN)).append(text(" in")).append(self.gap(
                body.span.start,
                Keep::Blanks,
                RcDoc::line(),
            ));
            rest = &body.node;
            if !matches!(rest, ExprKind::Let(..)) {
                doc = doc.append(self.expr(body, Place { bar: at.bar, ..OPEN }));
            }
        }
        doc.group()
    }

    /// A let's parameters, type and right side. `let f x : τ = e` is a λ, and so is shown again as written, as the places tell.
    fn definition<'a>(&self, p: &'a Param, e: &'a Expr) -> (&'a [Param], Option<&'a Ty>, &'a Expr) {
        match &e.node {
            ExprKind::Lam(params, body) if self.source.is_some() && p.ty.is_none() && e.span == body.span => {
                match &body.node {
                    ExprKind::As(x, t) if x.span == body.span => (params, Some(t), x),
                    _ => (params, None, body),
                }
            }
            _ => (&[], p.ty.as_ref(), e),
        }
    }

    fn a_loop<'a>(
        &self,
        head: &'static str,
        (state, init): (&'a Param, &'a Expr),
        range: impl FnOnce() -> Doc<'a>,
        (body, rest): (&'a Expr, Place),
    ) -> Doc<'a> {
        text(head)
            .append(self.param(state))
            .append(text(" = "))
            .append(self.expr(init, OPEN).nest(2))
            .append(self.gap(self.token(init.span.end), Keep::Comments, RcDoc::softline()))
            .append(range())
            .append(self.body(body, rest))
            .group()
    }
}
