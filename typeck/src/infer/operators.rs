//! Operators written between their operands.

use super::*;

impl Infer<'_> {
    /// Binary operators but `|>` and `>>`.
    pub fn binary(&mut self, op: BinOp, a: Te, b: Te, span: Span) -> Te {
        let op = match op {
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::Div => "/",
            BinOp::Pow => {
                // A numeral without a point is an int as an exponent.
                if let K::Num(_) = b.kind {
                    let _ = self.metas.unify(&b.ty, &T::Int);
                }
                "^"
            }
            BinOp::Lt => "<",
            BinOp::Le => "<=",
            BinOp::Gt => ">",
            BinOp::Ge => ">=",
            BinOp::Eq | BinOp::Ne => {
                let (want, found) = (a.ty.clone(), b.ty.clone());
                self.require(
                    b.span,
                    &found,
                    &want,
                    Why::Sides(if op == BinOp::Eq { "`==`" } else { "`!=`" }, a.span),
                );
                let kind = K::Equal { negated: op == BinOp::Ne, left: Box::new(a), right: Box::new(b) };
                return Te::new(kind, T::Bool, span);
            }
            BinOp::And | BinOp::Or => {
                let name = if op == BinOp::And { "&&" } else { "||" };
                for t in [&a, &b] {
                    let ty = t.ty.clone();
                    self.require(t.span, &ty, &T::Bool, Why::Operand(name));
                }
                let (a, b) = (Box::new(a), Box::new(b));
                let kind = if op == BinOp::And { K::And(a, b) } else { K::Or(a, b) };
                return Te::new(kind, T::Bool, span);
            }
            BinOp::MatMul => {
                let result = self.metas.fresh();
                self.pending.push(Constraint::MatMul {
                    a: a.ty.clone(),
                    b: b.ty.clone(),
                    result: result.clone(),
                    span,
                    spans: [a.span, b.span],
                });
                return Te::new(K::MatMul(Box::new(a), Box::new(b)), result, span);
            }
            BinOp::Pipe | BinOp::Compose => return self.pipe_section(op, a, b, span),
        };
        self.lift(op, vec![a, b], span)
    }

    /// `(|>)` and `(>>)` as functions.
    pub(super) fn pipe_section(&mut self, op: BinOp, a: Te, b: Te, span: Span) -> Te {
        if op == BinOp::Pipe {
            return self.apply(b, a, span);
        }
        let tx = self.metas.fresh();
        let x = self.supply.fresh("x");
        let inner = self.apply(a, Te::var(&x, &tx, span), span);
        let body = self.apply(b, inner, span);
        lam(P::var(&x, &tx, span), body, span)
    }

    pub(super) fn compose(&mut self, env: &Env, f: &Expr, g: &Expr, span: Span) -> Te {
        let f = self.infer(env, f);
        let g = self.infer(env, g);
        self.pipe_section(BinOp::Compose, f, g, span)
    }

    /// op(args), lifted pointwise.
    pub fn lift(&mut self, op: &'static str, args: Vec<Te>, span: Span) -> Te {
        let types: Vec<T> = args.iter().map(|t| t.ty.clone()).collect();
        let rows = crate::deferred::rows(op);
        // One operand, and the result of its scalar: the types are the same, known or not.
        let same = args.len() == 1 && rows.iter().all(|(a, r)| a.first() == Some(r));
        let result = if same { types[0].clone() } else { self.metas.fresh() };
        let spans = args.iter().map(|t| t.span).collect();
        self.pending.push(Constraint::Lift { op, args: types, result: result.clone(), span, spans });
        let kind = K::Op { head: Head::Prim(op), types: vec![], sizes: vec![], args };
        Te::new(kind, result, span)
    }
}
