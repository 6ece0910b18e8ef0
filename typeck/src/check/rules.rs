//! The names of the rules, and how often each was used.

use std::collections::BTreeMap;

macro_rules! rules {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A rule of the checker.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Rule { $($(#[$doc])* $variant),* }

        impl Rule {
            pub const ALL: &'static [Rule] = &[$(Rule::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Rule::$variant => $name),* }
            }
        }
    };
}

rules! {
    // Γ ⊢ t : τ
    Def = "def",
    Var = "var",
    Lit = "literal",
    Let = "let",
    Tuple = "tuple",
    Proj = "projection",
    Inject = "injection",
    Case = "case",
    Lam = "lambda",
    App = "application",
    Op = "op",
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
    Diff = "derivative",
    Detach = "detach",
    LinLam = "l-lam",
    LinApp = "linear-application",
    Unread = "unread",
    Box = "box",
    Unbox = "unbox",
    Zero = "zero",
    // Γ; Δ̲ ⊢ t : τ̲
    LVar = "l-var",
    LZero = "l-zero",
    LPlus = "l-plus",
    LUnit = "l-unit",
    LPair = "l-pair",
    LFst = "l-fst",
    LSnd = "l-snd",
    LCoproj = "l-coproj",
    LEnvProj = "l-envproj",
    LPow = "l-pow",
    LPowApp = "l-pow-app",
    LCop = "l-cop",
    LCopElim = "l-cop-elim",
    LOp = "l-op",
    LApp = "l-app",
    LLet = "l-let",
    LCLet = "l-clet",
    LIf = "l-if",
    LCase = "l-case",
    LInl = "l-inl",
    LInr = "l-inr",
    LSumElim = "l-sum-elim",
    LFrom = "l-from",
    LBuild = "l-build",
    LIndex = "l-index",
    LOneHot = "l-onehot",
    LSum = "l-sum",
    LLoop = "l-loop",
}

/// How often each rule was used in a derivation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Uses {
    counts: BTreeMap<Rule, u64>,
}

impl Uses {
    pub(super) fn count(&mut self, rule: Rule) {
        *self.counts.entry(rule).or_insert(0) += 1;
    }
    pub fn add(&mut self, other: &Uses) {
        for (rule, n) in &other.counts {
            *self.counts.entry(*rule).or_insert(0) += n;
        }
    }
    pub fn of(&self, rule: Rule) -> u64 {
        self.counts.get(&rule).copied().unwrap_or(0)
    }
    /// The rules that were not used.
    pub fn missing(&self) -> Vec<Rule> {
        Rule::ALL.iter().copied().filter(|r| self.of(*r) == 0).collect()
    }
}
