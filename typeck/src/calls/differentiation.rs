//! The differentiation operators at their uses.

use super::*;

impl Infer<'_> {
    /// The types of a differentiation operator at its uses: f : τ → σ first.
    pub(super) fn differentiation(&mut self, op: Operator, at: Span, args: &[&Expr]) -> Instance {
        let (tau, sigma) = (self.metas.fresh(), self.metas.fresh());
        let f = T::fun(tau.clone(), sigma.clone());
        let place = args.first().map_or(at, |e| e.span);
        let mut derived = |of: &T, real: &T| {
            let result = self.metas.fresh();
            self.pending.push(Constraint::Derived {
                of: of.clone(),
                at: real.clone(),
                result: result.clone(),
                span: at,
            });
            result
        };
        let (extra, result) = match op {
            Operator::Grad => (None, derived(&tau, &T::Real)),
            Operator::ValueAndGrad => (None, T::tuple([T::Real, derived(&tau, &T::Real)])),
            Operator::Jvp => (Some(derived(&tau, &T::Real)), derived(&sigma, &T::Real)),
            Operator::JvpWithValue => {
                (Some(derived(&tau, &T::Real)), T::tuple([sigma.clone(), derived(&sigma, &T::Real)]))
            }
            Operator::Vjp => (Some(derived(&sigma, &T::Real)), derived(&tau, &T::Real)),
            Operator::VjpWithValue => {
                (Some(derived(&sigma, &T::Real)), T::tuple([sigma.clone(), derived(&tau, &T::Real)]))
            }
            Operator::Jacobian | Operator::JacFwd | Operator::JacRev => {
                let row = derived(&tau, &T::Real);
                (None, derived(&sigma, &row))
            }
            Operator::Hessian => {
                let row = derived(&tau, &T::Real);
                (None, derived(&tau, &row))
            }
            Operator::Hvp => (Some(derived(&tau, &T::Real)), derived(&tau, &T::Real)),
            Operator::Linearize => {
                let map = T::lin(derived(&tau, &T::Real), derived(&sigma, &T::Real));
                (None, T::tuple([sigma.clone(), map]))
            }
            Operator::Pullback => {
                let map = T::lin(derived(&sigma, &T::Real), derived(&tau, &T::Real));
                (None, T::tuple([sigma.clone(), map]))
            }
        };
        match op {
            Operator::Grad | Operator::ValueAndGrad | Operator::Hessian | Operator::Hvp => {
                let c = Constraint::RealResult { ty: sigma.clone(), op: op.name(), span: place };
                self.pending.push(c);
            }
            Operator::Jvp
            | Operator::JvpWithValue
            | Operator::Vjp
            | Operator::VjpWithValue
            | Operator::Jacobian
            | Operator::JacFwd
            | Operator::JacRev
            | Operator::Linearize
            | Operator::Pullback => {}
        }
        let mut params = vec![(f, None, None), (tau.clone(), None, None)];
        params.extend(extra.map(|t| (t, None, None)));
        Instance {
            head: Head::Diff(op),
            types: vec![tau, sigma],
            sizes: vec![],
            params,
            opened: vec![],
            result,
        }
    }
}
