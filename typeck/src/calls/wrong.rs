//! What is said of applications that make no sense.

use super::*;

impl Infer<'_> {
    /// f (a, b) for a function that takes a and b one after the other.
    pub(super) fn tupled(
        &mut self,
        env: &Env,
        name: &str,
        params: &[Parameter],
        args: &[&Expr],
        at: Span,
    ) -> Option<Te> {
        let ([arg], [(first, ..), _, ..]) = (args, params) else { return None };
        let ExprKind::Tuple(parts) = &arg.node else { return None };
        let takes_it = matches!(self.metas.resolve(first), T::Tuple(_) | T::Meta(_) | T::Error);
        if takes_it || parts.len() < 2 {
            return None;
        }
        parts.iter().for_each(|e| drop(self.infer(env, e)));
        let names: Vec<&str> = params.iter().zip(["a", "b", "c", "d", "e", "g"]).map(|(_, x)| x).collect();
        self.report(
            Diagnostic::new(
                codes::TUPLED_ARGUMENTS,
                format!("`{name}` takes its arguments one after the other"),
            )
            .label(arg.span, "this is one argument, a tuple")
            .label(at, "applied here")
            .help(format!("write `{name} {}`, with larger arguments in parentheses", names.join(" "))),
        );
        Some(Te::error(at.to(arg.span)))
    }

    pub(super) fn unknown(&mut self, env: &Env, name: &str, at: Span) {
        if name.contains('.') {
            let sigs = self.sigs;
            let known = sigs.defs.keys().chain(sigs.inputs.keys()).chain(sigs.constructors.keys());
            let d = modules::unknown_member(sigs, name, "definition", at, known);
            d.into_iter().for_each(|d| self.report(d));
            return;
        }
        let d = Diagnostic::new(codes::UNKNOWN_NAME, format!("there is no `{name}` in scope"))
            .label(at, "not found");
        let known = env
            .locals
            .keys()
            .chain(self.sigs.defs.keys())
            .chain(self.sigs.inputs.keys())
            .chain(self.sigs.constructors.keys())
            .map(String::as_str)
            .chain(builtin::ALL.iter().map(|r| r.name))
            .chain(Operator::ALL.iter().map(|o| o.name()))
            .chain(Prim::ALL.iter().map(|p| p.row().name))
            .chain(["clamp", "where"]);
        let d = match suggest::from_library(name).or_else(|| suggest::foreign_name(name).map(String::from)) {
            Some(help) => d.help(help),
            None if env.locals.contains_key("rec") => {
                d.help("a `let` does not call itself: that takes a definition, `def rec`")
            }
            None if self.sigs.modules.contains_key(name) => {
                d.help(format!("it is a module: its names are written `{name}.x`"))
            }
            None => suggest::with(d, name, known),
        };
        self.report(d);
    }

    pub(super) fn too_many(
        &mut self,
        name: &str,
        at: Span,
        takes: usize,
        given: usize,
        extra: Span,
        span: Span,
    ) -> Te {
        let (code, message) = match takes {
            0 => (codes::NOT_A_FUNCTION, format!("`{name}` is not a function, but it is given an argument")),
            1 => (codes::TOO_MANY_ARGUMENTS, format!("`{name}` takes 1 argument, here are {given}")),
            _ => (codes::TOO_MANY_ARGUMENTS, format!("`{name}` takes {takes} arguments, here are {given}")),
        };
        self.report(Diagnostic::new(code, message).label(extra, "one too many").label(at, "applied here"));
        Te::error(span)
    }
}
