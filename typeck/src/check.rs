//! The checker of Core and Target: is this explicitly typed term well typed? Nothing is inferred here and nothing repaired; tests run it
//! on everything that a pass produces.
//!
//! Two judgements (chad.md §2): Γ ⊢ t : τ ([`cartesian`]) and Γ; Δ̲ ⊢ t : τ̲, jointly linear in Δ̲ ([`linear`]), one arm per rule. A rule has a
//! name ([`Rule`]), and a check says which rules it used, so that tests can tell which of them were never tried.
//!
//! Sizes are equal when their normal forms are, where an int bound by `let` to a size polynomial stands for that polynomial. A size may not
//! leave the scope of its variables. Within a definition every binder has its own number, below the definition's supply.

mod cartesian;
mod context;
mod linear;
mod rules;
#[cfg(test)]
mod tests;

pub use rules::{Rule, Uses};

use context::Context;
use lang::big_stack;
use lang::core::{Def, Program};
use lang::name::Name;
use lang::types::Type;
use lang::walk::as_size;
use std::collections::HashSet;
use std::fmt;

/// Which of the formers may occur.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// The source calculus: no λ̲, no linear maps in arrays.
    Core,
    /// What D makes: no differentiation operators any more.
    Target,
    /// Both at once: a program as written, where linear maps may be spelled out.
    Both,
}

/// A rule that does not apply.
#[derive(Clone, PartialEq, Debug)]
pub struct Violation {
    pub def: Name,
    pub rule: Rule,
    pub message: String,
    /// The beginning of the term the rule is about.
    pub term: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in {}, rule {}: {}\n  {}", self.def, self.rule.name(), self.message, self.term)
    }
}

impl std::error::Error for Violation {}

/// Checks every definition of a program.
pub fn check_program(program: &Program, language: Language) -> Result<Uses, Violation> {
    let mut uses = Uses::default();
    for def in program.defs.values() {
        uses.add(&check_def(def, program, language)?);
    }
    Ok(uses)
}

/// def: the sizes, parameters and result type are well formed, and the body has the result type.
pub fn check_def(def: &Def, program: &Program, language: Language) -> Result<Uses, Violation> {
    big_stack::run(|| {
        let mut checker = Checker { def, program, language, binders: HashSet::new(), uses: Uses::default() };
        match checker.definition() {
            Ok(()) => Ok(checker.uses),
            Err((rule, message, term)) => Err(Violation { def: def.name.clone(), rule, message, term }),
        }
    })
}

/// The rule, the message and the term of a violation.
type Error = (Rule, String, String);
type Checked<T> = Result<T, Error>;

struct Checker<'p> {
    def: &'p Def,
    program: &'p Program,
    language: Language,
    /// The numbers of all binders met so far.
    binders: HashSet<u32>,
    uses: Uses,
}

impl Checker<'_> {
    fn definition(&mut self) -> Checked<()> {
        let def = self.def;
        let here = At { rule: Rule::Def, term: &def.name };
        self.uses.count(Rule::Def);
        let mut ctx = Context::default();
        for n in &def.sizes {
            self.bind(&mut ctx, n, &Type::Int, &here)?;
        }
        for x in &def.params {
            self.bind(&mut ctx, &x.var, &x.ty, &here)?;
        }
        let result = self.well_formed(&ctx, &def.result, &here)?;
        let found = self.term(&ctx, &def.body)?;
        here.equal("the body", &found, &result)
    }
}

/// Where a check is: the rule being applied and the term it is applied to.
struct At<'t> {
    rule: Rule,
    term: &'t dyn fmt::Debug,
}

impl At<'_> {
    fn fail<T>(&self, message: impl Into<String>) -> Checked<T> {
        Err((self.rule, message.into(), beginning(self.term)))
    }
    fn equal<T: PartialEq + fmt::Debug>(&self, what: &str, found: &T, expected: &T) -> Checked<()> {
        if found == expected {
            return Ok(());
        }
        self.fail(format!("{what} has type {}, not {}", beginning(found), beginning(expected)))
    }
}

/// The first characters of a long text. Formatting stops there: terms can be very large.
fn beginning(t: &dyn fmt::Debug) -> String {
    struct Limited(String);
    impl fmt::Write for Limited {
        fn write_str(&mut self, s: &str) -> fmt::Result {
            self.0.extend(s.chars().take(300));
            if self.0.len() < 300 { Ok(()) } else { Err(fmt::Error) }
        }
    }
    let mut out = Limited(String::new());
    if fmt::write(&mut out, format_args!("{t:?}")).is_err() {
        out.0.push('…');
    }
    out.0
}
