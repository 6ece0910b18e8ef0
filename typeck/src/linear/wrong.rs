//! What is said of terms that are not linear: the rule that fails, and the place where linearity is lost.

use super::*;
use lang::surface::print::operator;

impl Infer<'_> {
    /// The first linear variable in an expression, with its place.
    fn linear_in(&self, env: &Env, e: &Expr) -> Option<(String, Span)> {
        mentioned_at(e, &|x| matches!(env.locals.get(x), Some(Local::Linear { .. })))
    }

    /// A term that uses linear variables otherwise than its rule allows.
    pub(super) fn not_linear(&mut self, env: &Env, e: &Expr, message: &str, rule: &str) -> Le {
        let (x, at) = self.linear_in(env, e).unwrap_or(("this".into(), e.span));
        self.report(
            Diagnostic::new(codes::NOT_LINEAR, format!("{message} ({rule})"))
                .label(at, format!("`{x}` is linear"))
                .help("a linear term takes 0 to 0 and sums to sums in its linear variables"),
        );
        Le::error(e.span)
    }

    pub(super) fn both_linear(&mut self, env: &Env, a: &Expr, b: &Expr) -> Le {
        let place = |s: &Self, e: &Expr| s.linear_in(env, e).unwrap_or(("this".into(), e.span));
        let ((x, left), (y, right)) = (place(self, a), place(self, b));
        let same = if x == y { format!("`{x}` again") } else { format!("`{y}` is linear too") };
        self.report(
            Diagnostic::new(codes::LINEAR_PRODUCT, "a product of two linear terms is not linear (l-op)")
                .label(right, same)
                .label(left, format!("`{x}` is linear"))
                .help("one factor is Cartesian: a real that does not depend on linear variables"),
        );
        Le::error(a.span.to(b.span))
    }

    pub(super) fn out_of_sight(&mut self, x: &str, span: Span) -> Le {
        self.report(
            Diagnostic::new(
                codes::LINEAR_SCOPE,
                format!("the linear variable `{x}` is not seen in this body (l-lam, l-cop-elim)"),
            )
            .label(span, format!("`{x}` belongs to a term around"))
            .help("the body of a linear λ, and of `case … of tensor x z`, sees its own linear variable only"),
        );
        Le::error(span)
    }

    /// A construct that has no rule.
    pub(super) fn not_one_of_it(&mut self, env: &Env, span: Span, used: &Expr, help: &str) -> Le {
        let (x, at) = self.linear_in(env, used).unwrap_or(("this".into(), span));
        self.report(
            Diagnostic::new(codes::NO_LINEAR_RULE, "no rule of the linear language is for this construct")
                .label(span, "this construct")
                .label(at, format!("`{x}` is linear"))
                .help(help),
        );
        Le::error(span)
    }

    /// A Cartesian expression where a linear term must stand.
    pub(super) fn constant(&mut self, env: &Env, e: &Expr) -> Le {
        if self.uses_linear(env, e) {
            let help = match &e.node {
                ExprKind::Binary(BinOp::MatMul, ..) => {
                    "write it out: `[ suml j < m -> a[i, j] * v[j] | i < n ]`"
                }
                ExprKind::Binary(op, ..) => {
                    let message = format!("`{}` is not linear in its operands", operator(*op));
                    return self.not_linear(env, e, &message, "l-op");
                }
                ExprKind::ArrayUpdate { .. } => "write `[ if j == i then w else v[j] | j < n ]`",
                ExprKind::Slice(..) => "write `[ v[i + k] | i < n ]`",
                ExprKind::LoopWhile { .. } => "a loop over linear state is `loop_up` or `loop_down`",
                ExprKind::RecordUpdate(..) => "write all fields: `{x = v.x, y = w}`",
                ExprKind::As(..) => "sizes are asserted outside of the linear map",
                ExprKind::LinLam(..) | ExprKind::Match(..) => {
                    "a linear map or a value of a sum type is made outside, and applied here"
                }
                ExprKind::Int(_)
                | ExprKind::Real(_)
                | ExprKind::Bool(_)
                | ExprKind::Var(_)
                | ExprKind::TypeApp(..)
                | ExprKind::App(..)
                | ExprKind::Lam(..)
                | ExprKind::Let(..)
                | ExprKind::If(..)
                | ExprKind::Tuple(_)
                | ExprKind::Proj(..)
                | ExprKind::Record(_)
                | ExprKind::Field(..)
                | ExprKind::Array(_)
                | ExprKind::Index(..)
                | ExprKind::Comprehension { .. }
                | ExprKind::LoopFor(_)
                | ExprKind::Neg(_)
                | ExprKind::Section(_)
                | ExprKind::Tensor(..)
                | ExprKind::TensorElim { .. }
                | ExprKind::Suml { .. }
                | ExprKind::Error => "a linear term takes 0 to 0 and sums to sums in its linear variables",
            };
            return self.not_one_of_it(env, e.span, e, help);
        }
        let env = Env { why: None, ..env.clone() };
        let before = self.diags.len();
        self.infer(&env, e);
        if self.diags.len() == before {
            self.report(
                Diagnostic::new(
                    codes::CONSTANT,
                    "this is constant, and the only constant that is linear is `zero` (l-zero)",
                )
                .label(e.span, "uses no linear variable")
                .help("a linear term takes 0 to 0 and sums to sums in its linear variables"),
            );
        }
        Le::error(e.span)
    }
}
