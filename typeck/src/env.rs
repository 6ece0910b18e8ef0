//! What names mean: locals, definitions, type aliases; and types as written turned into types.

use crate::codes;
use crate::modules;
use crate::suggest;
use crate::ty::{ANONYMOUS, T};
use im::HashMap;
use lang::diag::{Diagnostic, Span};
use lang::name::{Name, Var};
use lang::size::Size;
use lang::surface::{self, Ident, SizeExpr, SizeKind, Ty, TyArg, TyKind, TypeParam};
use std::collections::BTreeMap;

/// ∀ types, sizes. params → ∃ exists. result. The variables are those of the definition's Core: sizes are numbered from 0, parameters follow.
#[derive(Clone, PartialEq, Debug)]
pub struct Scheme {
    pub types: Vec<Name>,
    pub sizes: Vec<Var>,
    pub params: Vec<ParamScheme>,
    /// Sizes of the result that the arguments do not determine: its last own sizes in Core.
    pub exists: Vec<Var>,
    pub result: T,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ParamScheme {
    pub name: String,
    pub ty: T,
    pub var: Var,
    /// An int whose value is a size in later types: its argument must be one.
    pub dependent: bool,
}

/// The signature of a definition: its scheme for the checker, its types as written for people.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    /// Its full name: that of its definition in Core.
    pub name: String,
    /// The identity of the file it is of.
    pub home: String,
    pub type_params: Vec<TypeParam>,
    pub params: Vec<(String, Ty)>,
    /// As written, or None where it was inferred.
    pub result: Option<Ty>,
    pub scheme: Scheme,
    /// Inputs it uses, directly or through what it calls; they are its first parameters in Core, their sizes its last sizes.
    pub inputs: Vec<String>,
    /// The definitions of its `def rec … and …` group; empty without `rec`.
    pub rec_group: Vec<String>,
    /// A cycle of definitions without `rec`, or a result that could not be inferred, was reported: its uses say nothing more.
    pub broken: bool,
}

/// `input name [n] : τ = "file"`
#[derive(Clone, PartialEq, Debug)]
pub struct InputSignature {
    /// As the file that these signatures are for calls it.
    pub name: String,
    /// The identity of the file it is of.
    pub home: String,
    pub sizes: Vec<String>,
    pub ty: Ty,
    pub file: Option<String>,
    /// The type over size variables numbered from 0, in the order of `sizes`.
    pub checked: T,
}

/// A named type: an alias, or a sum with its constructors and their payloads.
#[derive(Clone, PartialEq, Debug)]
pub struct Alias {
    /// As the file that these signatures are for calls it.
    pub name: String,
    /// The identity of the file it is of.
    pub home: String,
    pub params: Vec<TypeParam>,
    pub meaning: Meaning,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Meaning {
    Alias(Ty),
    Sum(Vec<(Ident, Option<Ty>)>),
}

/// All that a definition needs to know of the others, by the names that its file may use. What is known only through what it imports has a
/// name that is not in use otherwise.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Signatures {
    /// The identity of the file; empty for the one that a command is given.
    pub module: String,
    /// The modules it imports by a name of their own, and whether all their names are known.
    pub modules: BTreeMap<String, bool>,
    pub defs: BTreeMap<String, Signature>,
    pub aliases: BTreeMap<String, Alias>,
    pub inputs: BTreeMap<String, InputSignature>,
    /// Constructors: their sum type, and which of its summands they make.
    pub constructors: BTreeMap<String, (String, usize)>,
}

/// A name bound inside a definition.
#[derive(Clone, Debug)]
pub enum Local {
    Cartesian {
        var: Var,
        ty: T,
        /// Of a comprehension's index without a bound: the bound that an index use fixes.
        open: Option<Size>,
    },
    /// A linear variable, visible in linear terms of its own level.
    Linear { var: Var, ty: T, level: u32 },
}

/// The types in scope: type variables, and ints as sizes.
#[derive(Clone, Debug, Default)]
pub struct TypeScope {
    pub types: HashMap<String, T>,
    pub sizes: HashMap<String, Size>,
    /// The sizes that `?k` stands for, where it may stand.
    pub exists: HashMap<String, Size>,
}

#[derive(Clone, Debug, Default)]
pub struct Env {
    pub locals: HashMap<String, Local>,
    pub scope: TypeScope,
    /// Which linear variables a linear term here may use.
    pub level: u32,
    /// In a Cartesian position inside a linear term: why it is Cartesian.
    pub why: Option<&'static str>,
}

impl Env {
    pub fn bind(&mut self, name: &str, var: &Var, ty: &T, size: Option<Size>) {
        let size = size.or((*ty == T::Int).then(|| Size::var(var.clone())));
        match size {
            Some(n) => self.scope.sizes.insert(name.into(), n),
            None => self.scope.sizes.remove(name),
        };
        let local = Local::Cartesian { var: var.clone(), ty: ty.clone(), open: None };
        self.locals.insert(name.into(), local);
    }

    pub fn bind_linear(&mut self, name: &str, var: &Var, ty: &T) {
        self.scope.sizes.remove(name);
        let local = Local::Linear { var: var.clone(), ty: ty.clone(), level: self.level };
        self.locals.insert(name.into(), local);
    }
}

/// Turns types as written into types, reporting what is not in scope.
pub struct Types<'a> {
    sigs: &'a Signatures,
    pub diags: &'a mut Vec<Diagnostic>,
    /// How many aliases have been expanded.
    depth: usize,
}

/// Expansions of aliases in one type.
const ALIAS_LIMIT: usize = 1000;

impl<'a> Types<'a> {
    pub fn new(sigs: &'a Signatures, diags: &'a mut Vec<Diagnostic>) -> Types<'a> {
        Types { sigs, diags, depth: 0 }
    }

    fn report(&mut self, d: Diagnostic) -> T {
        self.diags.push(d);
        T::Error
    }

    pub fn ty(&mut self, scope: &TypeScope, t: &Ty) -> T {
        match &t.node {
            TyKind::Name(name, args) => self.named(scope, name, args),
            TyKind::Var(a) => match scope.types.get(a) {
                Some(t) => t.clone(),
                None => {
                    let d =
                        Diagnostic::new(codes::UNKNOWN_TYPE, format!("the type variable '{a} is not bound"))
                            .label(t.span, "not in scope here")
                            .help(format!("bind it in the definition's brackets: ['{a}]"));
                    self.report(d)
                }
            },
            TyKind::Tuple(ts) => T::Tuple(ts.iter().map(|t| self.ty(scope, t)).collect()),
            TyKind::Record(fs) => {
                for (k, (x, _)) in fs.iter().enumerate() {
                    if let Some((first, _)) = fs[..k].iter().find(|(y, _)| y.node == x.node) {
                        let d = Diagnostic::new(
                            codes::DUPLICATE,
                            format!("the field `{}` is there twice", x.node),
                        );
                        return self.report(d.label(x.span, "again here").label(first.span, "first here"));
                    }
                }
                T::record(fs.iter().map(|(x, t)| (x.node.as_str().into(), self.ty(scope, t))).collect())
            }
            TyKind::Array(n, t) => {
                let (n, t) = (self.size(scope, n), self.ty(scope, t));
                n.map_or(T::Error, |n| T::array(n, t))
            }
            TyKind::Power(t, dims) => {
                let dims: Vec<Option<Size>> = dims.iter().map(|n| self.size(scope, n)).collect();
                let t = self.ty(scope, t);
                let dims: Option<Vec<Size>> = dims.into_iter().collect();
                dims.map_or(T::Error, |dims| T::arrays(&dims, t))
            }
            TyKind::Fun(a, b) => T::fun(self.ty(scope, a), self.ty(scope, b)),
            TyKind::LinFun(a, b) => {
                let linear = |s: &mut Self, t: &Ty| {
                    let l = s.ty(scope, t);
                    if s.linear(&l, t.span) { l } else { T::Error }
                };
                T::lin(linear(self, a), linear(self, b))
            }
            TyKind::Copower(a, b) => T::Copower(self.ty(scope, a).into(), self.ty(scope, b).into()),
            TyKind::Tangent(a) => {
                let a1 = self.ty(scope, a);
                if a1.any(&|t| matches!(t, T::Fun(..) | T::Copower(..))) {
                    let d = Diagnostic::new(
                        codes::NO_TANGENT,
                        format!("`D` is for first-order types; this is {}", a1.show()),
                    )
                    .label(a.span, "contains a function");
                    return self.report(d);
                }
                a1.tangent(&T::Real)
            }
            TyKind::Error => T::Error,
        }
    }

    /// Can the type stand under ⊸? Reports it if not.
    pub fn linear(&mut self, t: &T, span: Span) -> bool {
        if t.to_ltype().is_some() || t.any(&|t| matches!(t, T::Error | T::Meta(_))) {
            return true;
        }
        let d = Diagnostic::new(codes::NOT_A_LINEAR_TYPE, format!("{} is not a linear type", t.show()))
            .label(
                span,
                "linear types are made of real, tuples, arrays, powers `τ -> σ` and copowers `!τ * σ`",
            );
        let discrete = t.any(&|t| matches!(t, T::Int | T::Bool));
        self.diags.push(if discrete { d.help("the tangent type of int and bool is ()") } else { d });
        false
    }

    fn named(&mut self, scope: &TypeScope, name: &Ident, args: &[TyArg]) -> T {
        let base = match name.node.as_str() {
            "real" => Some(T::Real),
            "int" => Some(T::Int),
            "bool" => Some(T::Bool),
            _ => None,
        };
        if let Some(t) = base {
            if args.is_empty() {
                return t;
            }
            let d = Diagnostic::new(codes::TYPE_ARGUMENTS, format!("`{}` takes no arguments", name.node))
                .label(name.span, "given some here")
                .help(format!("an array's type is written `[n]{}`", name.node));
            return self.report(d);
        }
        if name.node == ANONYMOUS && !self.sigs.aliases.contains_key(ANONYMOUS) {
            let mut summands = vec![];
            for arg in args {
                match arg {
                    TyArg::Ty(t) => summands.push(self.ty(scope, t)),
                    TyArg::Size(n) => {
                        let d = Diagnostic::new(codes::TYPE_ARGUMENTS, "the summands of `sum[…]` are types");
                        return self.report(d.label(n.span, "this is a size"));
                    }
                }
            }
            return T::Sum(std::sync::Arc::new(crate::ty::Sum::anonymous(summands)));
        }
        let Some(alias) = self.sigs.aliases.get(&name.node) else {
            let aliases = &self.sigs.aliases;
            if name.node.contains('.') {
                let d = modules::unknown_member(self.sigs, &name.node, "type", name.span, aliases.keys());
                return d.map_or(T::Error, |d| self.report(d));
            }
            let own = aliases.keys().map(String::as_str).filter(|x| !x.contains('.'));
            let known = ["real", "int", "bool"].into_iter().chain(own);
            let d = Diagnostic::new(codes::UNKNOWN_TYPE, format!("there is no type named `{}`", name.node))
                .label(name.span, "not in scope");
            let d = match suggest::foreign_type(&name.node) {
                Some(help) => d.help(help),
                None => suggest::with(d, &name.node, known),
            };
            return self.report(d);
        };
        if self.depth >= ALIAS_LIMIT {
            let d = Diagnostic::new(codes::TYPE_TOO_LARGE, format!("the type `{}` is too large", name.node))
                .label(name.span, format!("more than {ALIAS_LIMIT} aliases in it"));
            // Once is enough.
            return if self.depth == ALIAS_LIMIT {
                self.depth += 1;
                self.report(d)
            } else {
                T::Error
            };
        }
        if alias.params.len() != args.len() {
            let takes = match alias.params.len() {
                1 => "1 argument".to_string(),
                k => format!("{k} arguments"),
            };
            let d = Diagnostic::new(
                codes::TYPE_ARGUMENTS,
                format!("`{}` takes {takes}, here are {}", name.node, args.len()),
            )
            .label(name.span, "applied here");
            return self.report(d);
        }
        let mut inner = TypeScope::default();
        for (param, arg) in alias.params.iter().zip(args) {
            match (param, arg) {
                (TypeParam::Type(a), TyArg::Ty(t)) => {
                    let t = self.ty(scope, t);
                    inner.types.insert(a.node.clone(), t);
                }
                (TypeParam::Size(n), arg) => {
                    // What was reported here is not reported again where the type says the size.
                    let Some(s) = self.size_argument(scope, arg, name.span) else { return T::Error };
                    inner.sizes.insert(n.node.clone(), s);
                }
                (TypeParam::Type(a), TyArg::Size(n)) => {
                    let d = Diagnostic::new(
                        codes::TYPE_ARGUMENTS,
                        format!("'{} stands for a type, this is a size", a.node),
                    )
                    .label(n.span, "a type is required");
                    return self.report(d);
                }
            }
        }
        self.depth += 1;
        self.meaning(alias, &inner)
    }

    /// A named type whose parameters are in scope.
    pub fn meaning(&mut self, alias: &Alias, scope: &TypeScope) -> T {
        let arms = match &alias.meaning {
            Meaning::Alias(t) => return self.ty(scope, t),
            Meaning::Sum(arms) => arms,
        };
        let payload = |t: &Option<Ty>| t.as_ref().map_or_else(T::unit, |t| self.ty(scope, t));
        let arms: Vec<T> = arms.iter().map(|(_, t)| t).map(payload).collect();
        let (mut types, mut sizes) = (vec![], vec![]);
        for p in &alias.params {
            match p {
                TypeParam::Type(a) => types.extend(scope.types.get(&a.node).cloned()),
                TypeParam::Size(n) => sizes.extend(scope.sizes.get(&n.node).cloned()),
            }
        }
        let Meaning::Sum(names) = &alias.meaning else { return T::Error };
        let arms = names.iter().zip(arms).map(|((x, _), t)| (x.node.as_str().into(), t)).collect();
        T::Sum(std::sync::Arc::new(crate::ty::Sum { name: alias.name.as_str().into(), types, sizes, arms }))
    }

    /// A size given as an argument; a bare name parses as a type.
    pub fn size_argument(&mut self, scope: &TypeScope, arg: &TyArg, at: Span) -> Option<Size> {
        match arg {
            TyArg::Size(n) => self.size(scope, n),
            TyArg::Ty(Ty { node: TyKind::Name(x, args), span }) if args.is_empty() => {
                let n = SizeExpr { node: SizeKind::Var(x.node.clone()), span: *span };
                self.size(scope, &n)
            }
            TyArg::Ty(t) => {
                let d = Diagnostic::new(codes::TYPE_ARGUMENTS, "a size is required here, this is a type")
                    .label(t.span, "not a size")
                    .label(at, "applied here");
                self.diags.push(d);
                None
            }
        }
    }

    /// A size as written; None where something in it was reported.
    pub fn size(&mut self, scope: &TypeScope, n: &SizeExpr) -> Option<Size> {
        let combine = |s: &mut Self, a: &SizeExpr, b: &SizeExpr, f: fn(&Size, &Size) -> Option<Size>| {
            let (x, y) = (s.size(scope, a)?, s.size(scope, b)?);
            let out = f(&x, &y);
            if out.is_none() {
                s.diags.push(too_large(n.span));
            }
            out
        };
        match &n.node {
            SizeKind::Int(k) => Some(Size::constant(*k)),
            SizeKind::Var(x) => {
                if let Some(s) = scope.sizes.get(x) {
                    return Some(s.clone());
                }
                let d = Diagnostic::new(codes::UNKNOWN_SIZE, format!("the size `{x}` is not in scope"))
                    .label(n.span, "not bound here");
                let d = suggest::with(d, x, scope.sizes.keys().map(String::as_str));
                let help = format!("bind it in the definition's brackets: [{x}]");
                self.diags.push(if d.help.is_some() { d } else { d.help(help) });
                None
            }
            SizeKind::Exists(k) => {
                if let Some(s) = scope.exists.get(k) {
                    return Some(s.clone());
                }
                let d = Diagnostic::new(codes::EXISTENTIAL_PLACE, format!("the size ?{k} cannot be written here"))
                    .label(n.span, "some size, but of what?")
                    .help("`?k` stands in the result of a definition, and in a `let` that opens such a result: `let xs : [?k]τ = …`");
                self.diags.push(d);
                None
            }
            SizeKind::Add(a, b) => combine(self, a, b, Size::checked_add),
            SizeKind::Sub(a, b) => combine(self, a, b, |x, y| x.checked_add(&y.checked_neg()?)),
            SizeKind::Mul(a, b) => combine(self, a, b, Size::checked_mul),
        }
    }
}

/// A size over the limits of polynomials.
pub fn too_large(span: Span) -> Diagnostic {
    let (terms, factors) = (Size::MOST_TERMS, Size::MOST_FACTORS);
    let label = format!(
        "a coefficient beyond 64 bits, more than {terms} terms, or more than {factors} factors in one"
    );
    Diagnostic::new(codes::SIZE_OVERFLOW, "a size is too large").label(span, label)
}

/// The scope of a definition's brackets, and its size variables in order.
pub fn brackets(
    params: &[TypeParam],
    supply: &mut lang::name::Supply,
    diags: &mut Vec<Diagnostic>,
) -> (TypeScope, Vec<Name>, Vec<Var>) {
    let mut scope = TypeScope::default();
    let (mut types, mut sizes) = (vec![], vec![]);
    for p in params {
        let (id, again) = match p {
            TypeParam::Type(a) => {
                let name: Name = a.node.as_str().into();
                types.push(name.clone());
                (a, scope.types.insert(a.node.clone(), T::Param(name)).is_some())
            }
            TypeParam::Size(n) => {
                let v = supply.fresh(n.node.as_str());
                sizes.push(v.clone());
                (n, scope.sizes.insert(n.node.clone(), Size::var(v)).is_some())
            }
        };
        if again {
            diags.push(
                Diagnostic::new(codes::DUPLICATE, format!("`{}` is bound twice in these brackets", id.node))
                    .label(id.span, "again here"),
            );
        }
    }
    (scope, types, sizes)
}

/// The name a parameter's pattern gives it for people and for `--args`.
pub fn pattern_name(p: &surface::Pat, position: usize) -> String {
    match &p.node {
        surface::PatKind::Var(x) => x.clone(),
        _ => format!("_{}", position + 1),
    }
}
