//! Names for variables: readable, none shadowed, none that a definition, a built-in or a reserved word has.

use crate::core::Program;
use crate::name::Var;
use crate::prim::Prim;
use crate::surface::token::Sym;
use std::collections::HashSet;
use std::sync::Arc;

/// The names in scope. Cloned where a scope begins.
#[derive(Clone)]
pub struct Names {
    global: Arc<HashSet<String>>,
    of: im::HashMap<u32, Arc<str>>,
    taken: im::HashSet<Arc<str>>,
    /// The number to try next for a name that clashed.
    next: im::HashMap<String, usize>,
}

/// The names that distilled text uses besides those of primitives and definitions.
const BUILT_IN: &[&str] = &[
    "sum",
    "maximum",
    "minimum",
    "detach",
    "argsort",
    "linearize",
    "pullback",
    "zero",
    "coproj",
    "envproj",
    "onehot",
    "inject",
    "from_inject",
    "unread",
    "box",
    "unbox",
    "check_index",
    "check_divisor",
    "check_nonempty",
    "check_size",
    "check_natural",
    "check_depth",
    "check_room",
];

impl Names {
    pub fn new(program: &Program) -> Names {
        let prims = Prim::ALL.iter().map(|p| p.row().name);
        // Of `m.f` a variable `m` would be taken for the module.
        let defs = program.defs.keys().flat_map(|d| [&**d, d.split('.').next().unwrap_or(d)]);
        let global = BUILT_IN.iter().copied().chain(prims).chain(defs).map(String::from).collect();
        Names {
            global: Arc::new(global),
            of: im::HashMap::new(),
            taken: im::HashSet::new(),
            next: im::HashMap::new(),
        }
    }

    /// A variable's name. A variable that is not in scope keeps its own, so that broken terms can still be shown.
    pub fn of<'a>(&'a self, v: &'a Var) -> &'a str {
        self.of.get(&v.id).map_or(&*v.name, |x| x)
    }

    /// Gives a variable its name for the rest of this scope.
    pub fn bind(&mut self, v: &Var) -> String {
        let base = readable(&v.name);
        let mut name = base.clone();
        let free = |names: &Names, x: &str| {
            !names.taken.contains(x) && !names.global.contains(x) && Sym::word(x).is_none()
        };
        if !free(self, &name) {
            let between = if base.ends_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
            let mut k = self.next.get(&base).copied().unwrap_or(1);
            loop {
                name = format!("{base}{between}{k}");
                k += 1;
                if free(self, &name) {
                    break;
                }
            }
            self.next.insert(base, k);
        }
        let shared: Arc<str> = name.as_str().into();
        self.of.insert(v.id, shared.clone());
        self.taken.insert(shared);
        name
    }
}

/// A name as the lexer reads it.
fn readable(name: &str) -> String {
    let kept: String =
        name.chars().filter(|c| (c.is_alphanumeric() && *c != 'λ') || "_'".contains(*c)).collect();
    let kept = kept.trim_start_matches(|c: char| c.is_numeric() || c == '\'' || c == '_');
    match kept.chars().next() {
        None => "x".into(),
        // An upper-case name would be a constructor in a pattern.
        Some(c) if c.is_uppercase() => format!("v{kept}"),
        Some(_) => kept.into(),
    }
}
