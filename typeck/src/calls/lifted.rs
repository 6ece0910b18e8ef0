//! Functions of scalars, pointwise on arrays.

use super::*;

/// What works pointwise on arrays: the primitives, and what is made of them where it is used.
#[derive(Clone, Copy)]
pub(super) enum Lifted {
    Row(&'static prim::Row),
    /// clamp lo hi x = min hi (max lo x)
    Clamp,
}

impl Lifted {
    pub(super) fn find(name: &str) -> Option<Lifted> {
        let name = match name {
            "clamp" => return Some(Lifted::Clamp),
            "where" => "select",
            other => other,
        };
        Prim::ALL.iter().map(|p| p.row()).find(|r| r.name == name).map(Lifted::Row)
    }

    fn scalars(self) -> &'static [Scalar] {
        match self {
            Lifted::Row(row) => row.args,
            Lifted::Clamp => &[Scalar::Real, Scalar::Real, Scalar::Real],
        }
    }
}

impl Infer<'_> {
    /// A function of scalars that works pointwise on arrays.
    pub(super) fn lifted(
        &mut self,
        env: &Env,
        name: &str,
        f: Lifted,
        args: &[&Expr],
        at: Span,
        span: Span,
    ) -> Te {
        let takes = f.scalars().len();
        let scalars: Vec<Parameter> = f.scalars().iter().map(|s| (scalar_type(*s), None, None)).collect();
        if let Some(t) = self.tupled(env, name, &scalars, args, at) {
            return t;
        }
        let all: Vec<Te> = args.iter().take(takes).map(|a| self.infer(env, a)).collect();
        let missing = takes - all.len();
        let t = self.eta(all, missing, at, |s, all| match f {
            Lifted::Row(row) => s.lift(row.name, all, span),
            Lifted::Clamp => {
                let mut all = all;
                let (x, high) = (all.pop(), all.pop());
                let lower: Vec<Te> = all.into_iter().chain(x).collect();
                let raised = s.lift("max", lower, span);
                s.lift("min", high.into_iter().chain([raised]).collect(), span)
            }
        });
        if let Some(extra) = args.get(takes)
            && !self.applicable(&t.ty)
        {
            return self.too_many(name, at, takes, args.len(), extra.span, span);
        }
        self.apply_all(env, t, &args[takes.min(args.len())..], span)
    }
}
