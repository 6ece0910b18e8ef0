//! The rules of D by name, counted as they are used, so that a test can name a rule that no test exercises.

use lang::core::{Term, Tm};
use lang::types::Mode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Declares an enum of rules and their names.
macro_rules! rules {
    ($(#[$doc:meta])* $Rule:ident: $($rule:ident = $name:literal,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $Rule { $($rule),* }

        impl $Rule {
            pub const ALL: &'static [$Rule] = &[$($Rule::$rule),*];

            pub fn name(self) -> &'static str {
                match self { $($Rule::$rule => $name),* }
            }
        }
    };
}

rules! {
    /// A rule of D, chad.md §4 and §6.
    Rule:
    Var = "x",
    Lit = "literal",
    Let = "let",
    Tuple = "pair",
    Proj = "projection",
    Inject = "injection",
    Case = "case",
    Lam = "lambda",
    App = "application",
    Prim = "op",
    If = "if",
    Build = "build",
    Index = "index",
    Update = "update",
    Array = "array",
    Sum = "sum",
    Extremum = "extremum",
    Loop = "loop",
    While = "while",
    Argsort = "argsort",
    Check = "check",
    Call = "call",
    Diff = "diff",
    Detach = "detach",
    LinLam = "linear lambda",
    LinApp = "linear application",
    Unread = "unread",
    Box = "box",
    Unbox = "unbox",
    Zero = "zero",
}

rules! {
    /// A rule of the transposition of linear terms, chad.md §2.
    Transposition:
    Var = "variable",
    Zero = "zero",
    Plus = "plus",
    Tuple = "pair",
    Proj = "projection",
    Coproj = "coprojection",
    EnvProj = "environment projection",
    Scale = "linear op",
    App = "linear application",
    Let = "linear let",
    CLet = "cartesian let",
    If = "if",
    Case = "case",
    Inject = "injection",
    FromInject = "payload",
    Build = "build",
    Index = "index",
    OneHot = "onehot",
    Sum = "sum",
    Loop = "loop",
}

impl Rule {
    /// The rule for a term's former.
    pub fn of(t: &Tm) -> Rule {
        match &**t {
            Term::Var(_) => Rule::Var,
            Term::Lit(_) => Rule::Lit,
            Term::Let(..) => Rule::Let,
            Term::Tuple(_) => Rule::Tuple,
            Term::Proj(..) => Rule::Proj,
            Term::Inject(..) => Rule::Inject,
            Term::Case(..) => Rule::Case,
            Term::Lam(..) => Rule::Lam,
            Term::App(..) => Rule::App,
            Term::Prim(..) => Rule::Prim,
            Term::If(..) => Rule::If,
            Term::Build { .. } => Rule::Build,
            Term::Index(..) => Rule::Index,
            Term::Update { .. } => Rule::Update,
            Term::Array(..) => Rule::Array,
            Term::Sum { .. } => Rule::Sum,
            Term::Extremum { .. } => Rule::Extremum,
            Term::Loop { .. } => Rule::Loop,
            Term::While { .. } => Rule::While,
            Term::Argsort(_) => Rule::Argsort,
            Term::Check { .. } => Rule::Check,
            Term::Call { .. } => Rule::Call,
            Term::Diff { .. } => Rule::Diff,
            Term::Detach(_) => Rule::Detach,
            Term::LinLam(..) => Rule::LinLam,
            Term::LinApp(..) => Rule::LinApp,
            Term::Unread(_) => Rule::Unread,
            Term::Box(_) => Rule::Box,
            Term::Unbox(..) => Rule::Unbox,
            Term::Zero(_) => Rule::Zero,
        }
    }
}

static USES: [[AtomicUsize; Rule::ALL.len()]; 2] =
    [const { [const { AtomicUsize::new(0) }; Rule::ALL.len()] }; 2];
static TRANSPOSITIONS: [AtomicUsize; Transposition::ALL.len()] =
    [const { AtomicUsize::new(0) }; Transposition::ALL.len()];

pub(crate) fn count(mode: Mode, rule: Rule) {
    USES[mode as usize][rule as usize].fetch_add(1, Ordering::Relaxed);
}
pub(crate) fn count_transposition(rule: Transposition) {
    TRANSPOSITIONS[rule as usize].fetch_add(1, Ordering::Relaxed);
}

/// How often this process has used the rule.
pub fn uses(mode: Mode, rule: Rule) -> usize {
    USES[mode as usize][rule as usize].load(Ordering::Relaxed)
}
pub fn transpositions(rule: Transposition) -> usize {
    TRANSPOSITIONS[rule as usize].load(Ordering::Relaxed)
}
