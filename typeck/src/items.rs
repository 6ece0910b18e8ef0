//! Files: signatures of all definitions, then each definition by itself.

use crate::codes;
use crate::elaborate::{Around, Elaborate, wrap};
use crate::env::{
    Alias, Env, InputSignature, ParamScheme, Scheme, Signature, Signatures, Types, brackets, pattern_name,
};
use crate::infer::{Infer, Why};
use crate::names::{free_names, free_names_of};
use crate::ty::T;
use lang::core::{self, Binder, Program};
use lang::diag::{Diagnostic, Span};
use lang::name::Supply;
use lang::size::Size;
use lang::surface::{self, Def, File, Ident, Item, ItemKind, PatKind, Relation, Test, TyKind, TypeParam};
use lang::types::Type;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What checking a file gives. Spans in diagnostics are those of the file's tree; `Site`s in Core are relative to the definition's item.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Checked {
    /// Every definition without errors.
    pub program: Program,
    pub signatures: Signatures,
    pub inputs: Vec<Input>,
    pub tests: Vec<TestCase>,
    pub diagnostics: Vec<Diagnostic>,
}

/// A declared input: a definition that uses it (by its signature's `inputs`) has it among its first parameters and its sizes among its last sizes.
#[derive(Clone, PartialEq, Debug)]
pub struct Input {
    pub name: String,
    pub sizes: Vec<lang::name::Var>,
    /// Over `sizes`.
    pub ty: Type,
    /// As written, with the columns' names.
    pub written: surface::Ty,
    pub file: Option<String>,
    pub span: Span,
}

/// A `test` item: a definition whose value is the pair of both sides.
#[derive(Clone, PartialEq, Debug)]
pub struct TestCase {
    pub name: String,
    pub span: Span,
    pub relation: Relation,
    pub def: core::Def,
    /// The inputs that are the definition's parameters.
    pub inputs: Vec<String>,
}

/// The scheme of a definition's header. Its variables are numbered from 0: sizes, then parameters.
pub(crate) fn scheme(def: &Def, sigs: &Signatures, diags: &mut Vec<Diagnostic>) -> Scheme {
    let mut supply = Supply::default();
    let (mut scope, types, sizes) = brackets(&def.type_params, &mut supply, diags);
    let mut params: Vec<ParamScheme> = vec![];
    for (k, (pat, ty)) in def.params.iter().enumerate() {
        let t = Types { aliases: &sigs.aliases, diags, depth: 0 }.ty(&scope, ty);
        let name = pattern_name(pat, k);
        let var = supply.fresh(name.as_str());
        if let (PatKind::Var(x), T::Int) = (&pat.node, &t) {
            scope.sizes.insert(x.clone(), Size::var(var.clone()));
        }
        params.push(ParamScheme { name, ty: t, var, dependent: false });
    }
    let result = match &def.result {
        Some(t) => Types { aliases: &sigs.aliases, diags, depth: 0 }.ty(&scope, t),
        None => T::Error,
    };
    let mut used: BTreeSet<u32> = result.size_vars().iter().map(|v| v.id).collect();
    used.extend(params.iter().flat_map(|p| p.ty.size_vars()).map(|v| v.id));
    params.iter_mut().for_each(|p| p.dependent = used.contains(&p.var.id));
    Scheme { types, sizes, params, result }
}

/// What the check of one definition found.
struct Outcome {
    def: Option<core::Def>,
    result: T,
    diags: Vec<Diagnostic>,
}

pub(crate) fn check_with_scheme(
    def: &Def,
    scheme: &Scheme,
    sigs: &Signatures,
) -> (Option<core::Def>, Vec<Diagnostic>) {
    let out = check(def, scheme, &[], sigs, 0);
    (out.def, out.diags)
}

/// Γ ⊢ body : result, then Core.
fn check(def: &Def, scheme: &Scheme, inputs: &[String], sigs: &Signatures, base: u32) -> Outcome {
    let supply = Supply { next: (scheme.sizes.len() + scheme.params.len()) as u32 };
    let mut inf = Infer::new(sigs, &def.name.node, base, supply);
    inf.bind_inputs(inputs.iter().filter_map(|x| sigs.inputs.get(x)));
    let mut env = Env::default();
    for a in &scheme.types {
        env.scope.types.insert(a.to_string(), T::Param(a.clone()));
    }
    for v in &scheme.sizes {
        inf.nonneg.insert(v.id);
        env.bind(&v.name, v, &T::Int, None);
    }
    let mut taken_apart = vec![];
    let mut names: HashMap<&str, Span> = HashMap::new();
    for ((pat, _), p) in def.params.iter().zip(&scheme.params) {
        match &pat.node {
            PatKind::Var(x) => {
                if let Some(first) = names.insert(x, pat.span) {
                    inf.report(
                        Diagnostic::new(codes::DUPLICATE, format!("two parameters are named `{x}`"))
                            .label(pat.span, "again here")
                            .label(first, "first here"),
                    );
                }
                env.bind(x, &p.var, &p.ty, None);
            }
            _ => taken_apart.push((inf.pattern(&mut env, pat, &p.ty, None), p.var.clone())),
        }
    }
    let body = match &def.result {
        Some(_) => inf.check(&env, &def.body, &scheme.result, Why::Result(&def.name.node)),
        None => inf.infer(&env, &def.body),
    };
    inf.finish();
    inf.default_metas(&body.ty);
    let result = if def.result.is_some() { scheme.result.clone() } else { inf.metas.zonk(&body.ty) };
    if !inf.diags.is_empty() {
        return Outcome { def: None, result, diags: inf.diags };
    }
    let mut el = Elaborate::new(inf);
    scheme.sizes.iter().for_each(|v| el.bring_into_scope(v));
    let (sizes, mut params) = input_binders(&mut el, inputs, scheme.sizes.clone(), def.name.span);
    for ((pat, _), p) in def.params.iter().zip(&scheme.params) {
        let ty = el.ty(&p.ty, pat.span);
        if ty == Type::Int {
            el.bring_into_scope(&p.var);
        }
        params.push(Binder::new(p.var.clone(), ty));
    }
    let mut around = vec![];
    for (p, v) in taken_apart {
        let (x, parts) = el.binder(&p);
        around.push(Around::Let(x, core::make::var(&v)));
        around.extend(parts);
    }
    let term = el.scoped(&result, def.body.span, |el| el.term(&body));
    let ty = el.ty(&result, def.result.as_ref().map_or(def.body.span, |t| t.span));
    let (inf, failed) = (el.inf, el.failed);
    if failed || !inf.diags.is_empty() {
        return Outcome { def: None, result, diags: inf.diags };
    }
    let core = core::Def {
        name: def.name.node.as_str().into(),
        types: scheme.types.clone(),
        sizes,
        params,
        result: ty,
        body: wrap(around, term),
        supply: inf.supply,
    };
    Outcome { def: Some(core), result, diags: vec![] }
}

/// The inputs as parameters; their sizes after the definition's own.
fn input_binders(
    el: &mut Elaborate,
    inputs: &[String],
    mut sizes: Vec<lang::name::Var>,
    span: Span,
) -> (Vec<lang::name::Var>, Vec<Binder>) {
    let mut params = vec![];
    for x in inputs {
        let Some((v, t, ns)) = el.inf.inputs.get(x).cloned() else { continue };
        ns.iter().for_each(|n| el.bring_into_scope(n));
        sizes.extend(ns);
        params.push(Binder::new(v, el.ty(&t, span)));
    }
    (sizes, params)
}

/// Every signature of a file, with what is wrong with headers, names and recursion.
pub fn signatures(file: &File) -> (Signatures, Vec<Diagnostic>) {
    lang::big_stack::run(|| Collector::default().collect(file))
}

#[derive(Default)]
struct Collector<'f> {
    sigs: Signatures,
    diags: Vec<Diagnostic>,
    defs: BTreeMap<&'f str, (&'f Def, Vec<String>)>,
    places: HashMap<String, Span>,
}

impl<'f> Collector<'f> {
    fn claim(&mut self, name: &Ident, namespace: &str) -> bool {
        match self.places.insert(format!("{namespace} {}", name.node), name.span) {
            None => true,
            Some(first) => {
                self.diags.push(
                    Diagnostic::new(codes::DUPLICATE, format!("`{}` is defined twice", name.node))
                        .label(name.span, "again here")
                        .label(first, "first here"),
                );
                false
            }
        }
    }

    fn unsupported(&mut self, span: Span, what: &str) {
        self.diags.push(
            Diagnostic::new(codes::UNSUPPORTED, format!("{what} are not part of this version yet"))
                .label(span, "not supported"),
        );
    }

    fn collect(mut self, file: &'f File) -> (Signatures, Vec<Diagnostic>) {
        let mut inputs = vec![];
        for item in &file.items {
            match &item.kind {
                ItemKind::Def { rec, defs } => {
                    let group: Vec<String> =
                        if *rec { defs.iter().map(|d| d.name.node.clone()).collect() } else { vec![] };
                    for d in defs {
                        if self.claim(&d.name, "value") {
                            self.defs.insert(&d.name.node, (d, group.clone()));
                        }
                    }
                }
                ItemKind::Alias { name, params, ty } => {
                    if matches!(name.node.as_str(), "real" | "int" | "bool") {
                        self.diags.push(
                            Diagnostic::new(codes::DUPLICATE, format!("`{}` is a type already", name.node))
                                .label(name.span, "cannot be defined again"),
                        );
                    } else if self.claim(name, "type") {
                        let alias = Alias { params: params.clone(), ty: ty.clone() };
                        self.sigs.aliases.insert(name.node.clone(), alias);
                    }
                }
                ItemKind::Input { name, params, ty, file } => {
                    if self.claim(name, "value") {
                        inputs.push((name, params, ty, file));
                    }
                }
                ItemKind::Sum { name, .. } => self.unsupported(name.span, "sum types"),
                ItemKind::Import { .. } => self.unsupported(item.span, "imports"),
                ItemKind::Derivative { name, .. } | ItemKind::Adjoint { name, .. } => {
                    self.unsupported(name.span, "derivative rules")
                }
                ItemKind::Test(_) | ItemKind::Error => {}
            }
        }
        self.check_aliases(file);
        for (name, params, ty, file) in inputs {
            self.input(name, params, ty, file.as_ref());
        }
        self.definitions();
        (self.sigs, self.diags)
    }

    /// Aliases that reach themselves stand for nothing; what is wrong with the others is reported even where they are not used.
    fn check_aliases(&mut self, file: &'f File) {
        let uses: BTreeMap<&str, Vec<&str>> = file
            .items
            .iter()
            .filter_map(|item| match &item.kind {
                ItemKind::Alias { name, ty, .. } => {
                    let mut names = vec![];
                    type_names(ty, &mut names);
                    Some((name.node.as_str(), names))
                }
                _ => None,
            })
            .collect();
        for group in components(&uses) {
            if group.len() == 1 && !uses[group[0]].contains(&group[0]) {
                continue;
            }
            for x in group {
                let Some(place) = self.places.get(&format!("type {x}")).copied() else { continue };
                self.diags.push(
                    Diagnostic::new(codes::CYCLIC_ALIAS, format!("the type `{x}` refers to itself"))
                        .label(place, "aliases are not recursive"),
                );
                if let Some(alias) = self.sigs.aliases.get_mut(x) {
                    alias.ty = surface::at(surface::TyKind::Error, place);
                }
            }
        }
        for item in &file.items {
            let ItemKind::Alias { name, params, .. } = &item.kind else { continue };
            let Some(ty) = self.sigs.aliases.get(&name.node).map(|a| a.ty.clone()) else { continue };
            let (scope, _, _) = brackets(params, &mut Supply::default(), &mut self.diags);
            Types { aliases: &self.sigs.aliases, diags: &mut self.diags, depth: 0 }.ty(&scope, &ty);
        }
    }

    fn input(&mut self, name: &Ident, params: &[TypeParam], ty: &surface::Ty, file: Option<&Ident>) {
        let mut supply = Supply::default();
        let (scope, types, sizes) = brackets(params, &mut supply, &mut self.diags);
        let checked = Types { aliases: &self.sigs.aliases, diags: &mut self.diags, depth: 0 }.ty(&scope, ty);
        if !types.is_empty() || !checked.first_order() {
            self.diags.push(
                Diagnostic::new(
                    codes::MISMATCH,
                    format!("the input `{}` must have a first-order type", name.node),
                )
                .label(ty.span, format!("this is {}", checked.show())),
            );
        }
        let input = InputSignature {
            name: name.node.clone(),
            sizes: sizes.iter().map(|v| v.name.to_string()).collect(),
            ty: ty.clone(),
            file: file.map(|f| f.node.clone()),
            checked,
        };
        self.sigs.inputs.insert(name.node.clone(), input);
    }

    /// Definitions in the order of their uses, so that results not written can be inferred.
    fn definitions(&mut self) {
        let names: BTreeMap<&str, BTreeSet<String>> =
            self.defs.iter().map(|(x, (d, _))| (*x, free_names(d))).collect();
        let calls: BTreeMap<&str, Vec<&str>> = names
            .iter()
            .map(|(x, free)| {
                (*x, self.defs.keys().copied().filter(|y| free.contains(*y)).collect::<Vec<&str>>())
            })
            .collect();
        let mut used: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for group in components(&calls) {
            // Inputs: one's own and those of what is called.
            let mut inputs = BTreeSet::new();
            for x in &group {
                inputs.extend(names[x].iter().filter(|y| self.sigs.inputs.contains_key(*y)).cloned());
                for y in &calls[x] {
                    inputs.extend(used.get(y).into_iter().flatten().cloned());
                }
            }
            group.iter().for_each(|x| {
                used.insert(x, inputs.clone());
            });
            let recursive = group.len() > 1 || calls[group[0]].contains(&group[0]);
            let allowed = group.iter().all(|x| group.iter().all(|y| self.defs[x].1.iter().any(|z| z == y)));
            if recursive && !allowed {
                self.not_rec(&group);
            }
            for x in &group {
                self.definition(x, inputs.iter().cloned().collect(), recursive, recursive && !allowed);
            }
            // Results that were not written, now that everything called is known.
            for x in group {
                self.infer_result(x);
            }
        }
    }

    fn not_rec(&mut self, group: &[&'f str]) {
        for x in group {
            let (def, _) = self.defs[x];
            let message = match group {
                [_] => format!("`{x}` refers to itself"),
                _ => format!("`{x}` refers to itself through {}", list(group.iter().filter(|y| y != &x))),
            };
            let help = match group {
                [_] => "write `def rec`".to_string(),
                _ => "write the group as `def rec … and …`".to_string(),
            };
            self.diags.push(
                Diagnostic::new(codes::NOT_REC, message)
                    .label(def.name.span, "recursive without `rec`")
                    .help(help),
            );
        }
    }

    fn definition(&mut self, x: &str, inputs: Vec<String>, recursive: bool, mut broken: bool) {
        let Some((def, group)) = self.defs.get(x).cloned() else { return };
        let scheme = scheme(def, &self.sigs, &mut self.diags);
        if recursive && !broken && def.result.is_none() {
            self.diags.push(
                Diagnostic::new(
                    codes::REC_RESULT,
                    format!("the recursive `{x}` needs a written result type"),
                )
                .label(def.name.span, "its result is not written")
                .help("write `: τ` before the `=`"),
            );
            broken = true;
        }
        let params = def.params.iter().zip(&scheme.params).map(|((_, t), p)| (p.name.clone(), t.clone()));
        let sig = Signature {
            name: x.into(),
            type_params: def.type_params.clone(),
            params: params.collect(),
            result: def.result.clone(),
            scheme,
            inputs,
            rec_group: group,
            broken,
        };
        self.sigs.defs.insert(x.into(), sig);
    }

    fn infer_result(&mut self, x: &str) {
        let Some((def, _)) = self.defs.get(x) else { return };
        let Some(sig) = self.sigs.defs.get(x) else { return };
        if def.result.is_some() || sig.broken {
            return;
        }
        // What is wrong with the body is reported when it is checked.
        let out = check(def, &sig.scheme, &sig.inputs, &self.sigs, 0);
        let failed = out.def.is_none();
        if let Some(sig) = self.sigs.defs.get_mut(x) {
            sig.scheme.result = out.result;
            sig.broken = failed;
        }
    }
}

/// The names in a type as written.
fn type_names<'t>(t: &'t surface::Ty, out: &mut Vec<&'t str>) {
    match &t.node {
        TyKind::Name(x, args) => {
            out.push(&x.node);
            for a in args {
                if let surface::TyArg::Ty(t) = a {
                    type_names(t, out);
                }
            }
        }
        TyKind::Var(_) | TyKind::Error => {}
        TyKind::Tuple(ts) => ts.iter().for_each(|t| type_names(t, out)),
        TyKind::Record(fs) => fs.iter().for_each(|(_, t)| type_names(t, out)),
        TyKind::Array(_, t) | TyKind::Power(t, _) | TyKind::Tangent(t) => type_names(t, out),
        TyKind::Fun(a, b) | TyKind::LinFun(a, b) | TyKind::Copower(a, b) => {
            type_names(a, out);
            type_names(b, out);
        }
    }
}

fn list<'a>(names: impl Iterator<Item = &'a &'a str>) -> String {
    names.map(|x| format!("`{x}`")).collect::<Vec<_>>().join(", ")
}

/// Strongly connected components of the call graph, callees first (Tarjan).
fn components<'a>(calls: &BTreeMap<&'a str, Vec<&'a str>>) -> Vec<Vec<&'a str>> {
    struct State<'a, 'c> {
        calls: &'c BTreeMap<&'a str, Vec<&'a str>>,
        index: HashMap<&'a str, (usize, usize, bool)>,
        stack: Vec<&'a str>,
        out: Vec<Vec<&'a str>>,
    }
    fn visit<'a>(s: &mut State<'a, '_>, x: &'a str) -> usize {
        let k = s.index.len();
        s.index.insert(x, (k, k, true));
        s.stack.push(x);
        let mut low = k;
        for y in s.calls.get(x).into_iter().flatten().filter(|y| s.calls.contains_key(*y)) {
            match s.index.get(y) {
                None => low = low.min(visit(s, y)),
                Some((j, _, true)) => low = low.min(*j),
                Some((_, _, false)) => {}
            }
        }
        if low == k {
            let mut group = vec![];
            while let Some(y) = s.stack.pop() {
                s.index.entry(y).and_modify(|e| e.2 = false);
                group.push(y);
                if y == x {
                    break;
                }
            }
            group.sort();
            s.out.push(group);
        }
        low
    }
    let mut s = State { calls, index: HashMap::new(), stack: vec![], out: vec![] };
    for x in calls.keys() {
        if !s.index.contains_key(x) {
            visit(&mut s, x);
        }
    }
    s.out
}

/// One definition against the signatures of all. Spans are taken as they are: `Site`s have the definition's own spans.
pub fn check_def(def: &Def, sigs: &Signatures) -> (Option<core::Def>, Vec<Diagnostic>) {
    check_def_at(def, sigs, 0)
}

/// As [`check_def`], for spans that count from `base` bytes earlier than the definition's item.
pub fn check_def_at(def: &Def, sigs: &Signatures, base: u32) -> (Option<core::Def>, Vec<Diagnostic>) {
    let Some(sig) = sigs.defs.get(&def.name.node) else { return (None, vec![]) };
    let out = lang::big_stack::run(|| check(def, &sig.scheme, &sig.inputs, sigs, base));
    (out.def, out.diags)
}

/// A test against the signatures.
pub fn check_test(test: &Test, sigs: &Signatures, base: u32) -> (Option<TestCase>, Vec<Diagnostic>) {
    lang::big_stack::run(|| test_case(test, sigs, base))
}

fn test_case(test: &Test, sigs: &Signatures, base: u32) -> (Option<TestCase>, Vec<Diagnostic>) {
    let mut free = free_names_of(&test.left);
    free.extend(free_names_of(&test.right));
    let mut inputs: BTreeSet<String> =
        free.iter().filter(|x| sigs.inputs.contains_key(*x)).cloned().collect();
    for sig in free.iter().filter_map(|x| sigs.defs.get(x)) {
        inputs.extend(sig.inputs.iter().cloned());
    }
    let inputs: Vec<String> = inputs.into_iter().collect();
    let name = format!("test {}", test.name.node);
    let mut inf = Infer::new(sigs, &name, base, Supply::default());
    inf.bind_inputs(inputs.iter().filter_map(|x| sigs.inputs.get(x)));
    let env = Env::default();
    let left = inf.infer(&env, &test.left);
    let ty = left.ty.clone();
    let right = inf.check(&env, &test.right, &ty, Why::Element(test.left.span));
    inf.finish();
    inf.default_metas(&ty);
    if !inf.diags.is_empty() {
        return (None, inf.diags);
    }
    let mut el = Elaborate::new(inf);
    let (sizes, params) = input_binders(&mut el, &inputs, vec![], test.name.span);
    let pair = T::tuple([ty.clone(), ty.clone()]);
    let span = test.left.span.to(test.right.span);
    let body = el.scoped(&pair, span, |el| {
        let left = el.term(&left);
        core::make::tuple([left, el.term(&right)])
    });
    let result = el.ty(&pair, span);
    if !result.first_order() {
        el.inf.report(
            Diagnostic::new(codes::EQUALITY, "a test compares first-order values")
                .label(test.left.span, format!("this has type {}", el.inf.metas.zonk(&ty).show())),
        );
    }
    let (inf, failed) = (el.inf, el.failed);
    if failed || !inf.diags.is_empty() {
        return (None, inf.diags);
    }
    let def = core::Def {
        name: name.as_str().into(),
        types: vec![],
        sizes,
        params,
        result,
        body,
        supply: inf.supply,
    };
    let case = TestCase {
        name: test.name.node.clone(),
        span: test.name.span,
        relation: test.relation.clone(),
        def,
        inputs,
    };
    (Some(case), vec![])
}

/// An input as Core sees it.
pub fn input(sig: &InputSignature, span: Span) -> Option<Input> {
    let mut supply = Supply::default();
    let sizes = sig.sizes.iter().map(|n| supply.fresh(n.as_str())).collect();
    Some(Input {
        name: sig.name.clone(),
        sizes,
        ty: sig.checked.to_type()?,
        written: sig.ty.clone(),
        file: sig.file.clone(),
        span,
    })
}

/// A whole file.
pub fn check_file(file: &File) -> Checked {
    lang::big_stack::run(|| {
        let (signatures, mut diagnostics) = signatures(file);
        let mut program = Program::default();
        let (mut inputs, mut tests) = (vec![], vec![]);
        for item in &file.items {
            check_item(item, &signatures, &mut program, &mut inputs, &mut tests, &mut diagnostics);
        }
        diagnostics.sort_by_key(|d| d.labels.first().map_or(0, |(s, _)| s.start));
        Checked { program, signatures, inputs, tests, diagnostics }
    })
}

fn check_item(
    item: &Item,
    sigs: &Signatures,
    program: &mut Program,
    inputs: &mut Vec<Input>,
    tests: &mut Vec<TestCase>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    match &item.kind {
        ItemKind::Def { defs, .. } => {
            for d in defs {
                let (core, problems) = check_def_at(d, sigs, item.span.start);
                diagnostics.extend(problems);
                if let Some(core) = core {
                    program.defs.entry(core.name.clone()).or_insert(Arc::new(core));
                }
            }
        }
        ItemKind::Test(t) => {
            let (case, problems) = check_test(t, sigs, item.span.start);
            diagnostics.extend(problems);
            tests.extend(case);
        }
        ItemKind::Input { name, .. } => {
            inputs.extend(sigs.inputs.get(&name.node).and_then(|s| input(s, item.span)));
        }
        ItemKind::Alias { .. }
        | ItemKind::Sum { .. }
        | ItemKind::Import { .. }
        | ItemKind::Derivative { .. }
        | ItemKind::Adjoint { .. }
        | ItemKind::Error => {}
    }
}
