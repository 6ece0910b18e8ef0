//! Modules. Inside a file names are those that its author sees: `f` of its own, `m.f` of a module it imports. Outside, what a file defines
//! goes by its full name, `p.f` for the file with the identity `p`; the file that a command is given has the empty identity. Full
//! names are what Core and its sites use. An [`Interface`] is what a file exports, in full names; an import turns them into the names of
//! the importing file. So messages speak of everything as their reader wrote it.

use crate::codes;
use crate::env::{Alias, InputSignature, Meaning, Signature, Signatures};
use crate::suggest;
use crate::ty::{Sum, T};
use lang::diag::{Diagnostic, Span};
use lang::surface::{Import, ImportPath, SizeExpr, Ty, TyArg, TyKind, at};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What a file exports: everything at its top, but no tests.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Interface {
    /// The identity of the file.
    pub home: String,
    /// Its definitions, by the names they have in it.
    pub defs: BTreeMap<String, Signature>,
    /// Types and inputs by full names: its own, and those of others that its definitions speak of.
    pub types: BTreeMap<String, Alias>,
    pub inputs: BTreeMap<String, InputSignature>,
    /// An item did not parse: a name that is not there may stand in it.
    pub incomplete: bool,
}

/// Where an import leads.
#[derive(Clone, PartialEq, Debug)]
pub enum Link {
    Module(Arc<Interface>),
    Broken(Fault),
}

/// Why an import leads nowhere.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    pub code: &'static str,
    pub message: String,
    /// What stands under the import's path.
    pub label: String,
    pub help: Option<String>,
}

/// The full name of what the file with this identity calls so.
pub fn full(home: &str, name: &str) -> String {
    if home.is_empty() { name.into() } else { format!("{home}.{name}") }
}

/// A name without the module it is of.
pub fn local(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The module and the name in it; no module for names of the file itself.
pub fn parts(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

/// The name under which an import's module is known: as written, or that of the file. None where this is no name.
pub fn qualifier(import: &Import) -> Option<String> {
    let stem = |path: &str| {
        let file = path.rsplit('/').next().unwrap_or(path);
        file.strip_suffix(".ad").unwrap_or(file).to_string()
    };
    let name = match (&import.alias, &import.module) {
        (Some(alias), _) => return Some(alias.node.clone()),
        (None, ImportPath::Module(name)) => name.node.clone(),
        (None, ImportPath::File(path)) => stem(&path.node),
    };
    let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let rest = name.chars().all(|c| c.is_alphanumeric() || "_'".contains(c));
    let word = lang::surface::token::Sym::word(&name).is_some();
    (begins && rest && !word).then_some(name)
}

/// New modules for the names of types and inputs. Constructors go with their type.
#[derive(Default)]
pub(crate) struct Renaming {
    /// From the whole old name to the new module, with its point.
    pub(crate) types: HashMap<String, String>,
    pub(crate) inputs: HashMap<String, String>,
}

impl Renaming {
    fn one(map: &HashMap<String, String>, name: &str) -> String {
        map.get(name).map_or_else(|| name.to_string(), |module| format!("{module}{}", local(name)))
    }

    pub(crate) fn type_name(&self, name: &str) -> String {
        Self::one(&self.types, name)
    }

    fn t(&self, t: &T) -> T {
        let T::Sum(s) = t else { return t.map(&mut |t| self.t(t), &mut Clone::clone) };
        // The tangent type of a sum is made from it, with a summand of its own.
        let (tangent, name) = match s.name.strip_prefix("D ") {
            Some(name) => ("D ", name),
            None => ("", &*s.name),
        };
        let constructor = |x: &str| match self.types.get(name) {
            Some(module) if tangent.is_empty() || x != "Zero" => format!("{module}{}", local(x)).into(),
            Some(_) | None => x.into(),
        };
        T::Sum(Arc::new(Sum {
            name: format!("{tangent}{}", self.type_name(name)).into(),
            types: s.types.iter().map(|t| self.t(t)).collect(),
            sizes: s.sizes.clone(),
            arms: s.arms.iter().map(|(x, t)| (constructor(x), self.t(t))).collect(),
        }))
    }

    fn written(&self, t: &Ty) -> Ty {
        let all = |ts: &[Ty]| ts.iter().map(|t| self.written(t)).collect();
        let one = |t: &Ty| Box::new(self.written(t));
        let sizes = |ns: &[SizeExpr]| ns.to_vec();
        let node = match &t.node {
            TyKind::Name(x, args) => {
                let arg = |a: &TyArg| match a {
                    TyArg::Ty(t) => TyArg::Ty(self.written(t)),
                    TyArg::Size(n) => TyArg::Size(n.clone()),
                };
                TyKind::Name(at(self.type_name(&x.node), x.span), args.iter().map(arg).collect())
            }
            TyKind::Var(_) | TyKind::Error => t.node.clone(),
            TyKind::Tuple(ts) => TyKind::Tuple(all(ts)),
            TyKind::Record(fs) => {
                TyKind::Record(fs.iter().map(|(x, t)| (x.clone(), self.written(t))).collect())
            }
            TyKind::Array(n, t) => TyKind::Array(n.clone(), one(t)),
            TyKind::Power(t, ns) => TyKind::Power(one(t), sizes(ns)),
            TyKind::Fun(a, b) => TyKind::Fun(one(a), one(b)),
            TyKind::LinFun(a, b) => TyKind::LinFun(one(a), one(b)),
            TyKind::Copower(a, b) => TyKind::Copower(one(a), one(b)),
            TyKind::Tangent(a) => TyKind::Tangent(one(a)),
        };
        at(node, t.span)
    }

    /// A named type under its new name.
    pub(crate) fn alias(&self, alias: &Alias) -> Alias {
        let meaning = match &alias.meaning {
            Meaning::Alias(t) => Meaning::Alias(self.written(t)),
            Meaning::Sum(arms) => {
                let module = self.types.get(&alias.name).map_or("", String::as_str);
                let arms = arms.iter().map(|(x, t)| {
                    let name = at(format!("{module}{}", local(&x.node)), x.span);
                    (name, t.as_ref().map(|t| self.written(t)))
                });
                Meaning::Sum(arms.collect())
            }
        };
        Alias { name: self.type_name(&alias.name), meaning, ..alias.clone() }
    }

    pub(crate) fn input(&self, input: &InputSignature) -> InputSignature {
        InputSignature {
            name: Self::one(&self.inputs, &input.name),
            ty: self.written(&input.ty),
            checked: self.t(&input.checked),
            ..input.clone()
        }
    }

    pub(crate) fn signature(&self, sig: &Signature) -> Signature {
        let mut sig = sig.clone();
        sig.params.iter_mut().for_each(|(_, t)| *t = self.written(t));
        sig.result = sig.result.as_ref().map(|t| self.written(t));
        sig.scheme.params.iter_mut().for_each(|p| p.ty = self.t(&p.ty));
        sig.scheme.result = self.t(&sig.scheme.result);
        sig.inputs.iter_mut().for_each(|x| *x = Self::one(&self.inputs, x));
        sig
    }
}

/// What a file with these signatures exports.
pub fn interface(sigs: &Signatures, incomplete: bool) -> Interface {
    let module = |home: &str| if home.is_empty() { String::new() } else { format!("{home}.") };
    let types = sigs.aliases.values().map(|a| (a.name.clone(), module(&a.home))).collect();
    let inputs = sigs.inputs.values().map(|i| (i.name.clone(), module(&i.home))).collect();
    let out = Renaming { types, inputs };
    let own = |home: &str| home == sigs.module;
    let defs = sigs.defs.iter().filter(|(_, sig)| own(&sig.home));
    let aliases = sigs.aliases.values().map(|a| out.alias(a));
    let inputs = sigs.inputs.values().map(|i| out.input(i));
    Interface {
        home: sigs.module.clone(),
        defs: defs.map(|(x, sig)| (x.clone(), out.signature(sig))).collect(),
        types: aliases.map(|a| (a.name.clone(), a)).collect(),
        inputs: inputs.map(|i| (i.name.clone(), i)).collect(),
        incomplete,
    }
}

impl Interface {
    /// Its own types and inputs, by the names they have in it.
    pub(crate) fn own_types(&self) -> impl Iterator<Item = (&str, &Alias)> {
        self.types.values().filter(|a| a.home == self.home).map(|a| (local(&a.name), a))
    }

    pub(crate) fn own_inputs(&self) -> impl Iterator<Item = (&str, &InputSignature)> {
        self.inputs.values().filter(|i| i.home == self.home).map(|i| (local(&i.name), i))
    }

    /// The type that has a constructor of this name.
    pub(crate) fn type_of_constructor(&self, name: &str) -> Option<&str> {
        let has = |a: &Alias| match &a.meaning {
            Meaning::Sum(arms) => arms.iter().any(|(x, _)| local(&x.node) == name),
            Meaning::Alias(_) => false,
        };
        self.own_types().find(|(_, a)| has(a)).map(|(x, _)| x)
    }
}

/// What is wrong with a name `m.x` that is not there; None where that has been said already, or for names without a module.
pub fn unknown_member<'a>(
    sigs: &Signatures,
    name: &str,
    what: &str,
    span: Span,
    known: impl Iterator<Item = &'a String>,
) -> Option<Diagnostic> {
    let (module, member) = parts(name);
    match sigs.modules.get(module) {
        Some(true) => {}
        Some(false) => return None,
        None => {
            let message = format!("there is no module `{module}` in this file");
            let d = Diagnostic::new(codes::UNKNOWN_MODULE, message).label(span, "not found");
            let d = suggest::with(d, module, sigs.modules.keys().map(String::as_str));
            let help = match suggest::foreign_name(module) {
                Some(help) => help.to_string(),
                None => format!("a module is named by its import: `import \"{module}.ad\" as {module}`"),
            };
            return Some(if d.help.is_some() { d } else { d.help(help) });
        }
    }
    let message = format!("the module `{module}` has no {what} `{member}`");
    let d = Diagnostic::new(codes::UNKNOWN_MEMBER, message).label(span, "not found in it");
    let known = known.filter_map(|x| x.strip_prefix(module)?.strip_prefix('.'));
    Some(suggest::with(d, member, known))
}
