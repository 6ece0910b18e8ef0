//! Files: signatures of all definitions, then each definition by itself.

mod definition;
mod imports;
mod signatures;

use definition::{check, test_case};
pub(crate) use definition::{check_with_scheme, scheme};
pub use signatures::{signatures, signatures_of};

use crate::codes;
use crate::elaborate::{Around, Elaborate, wrap};
use crate::env::{
    Alias, Env, InputSignature, Meaning, ParamScheme, Scheme, Signature, Signatures, Types, brackets,
    pattern_name,
};
use crate::existential;
use crate::infer::{Infer, Why};
use crate::modules::{Link, full};
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
    /// The type of both sides.
    pub ty: T,
    pub def: core::Def,
    /// The inputs that are the definition's parameters.
    pub inputs: Vec<String>,
}

/// One definition against the signatures of all, and what computes its existential sizes. Spans are taken as they are: `Site`s have the definition's own spans.
pub fn check_def(def: &Def, sigs: &Signatures) -> (Vec<core::Def>, Vec<Diagnostic>) {
    check_def_at(def, sigs, 0)
}

/// As [`check_def`], for spans that count from `base` bytes earlier than the definition's item.
pub fn check_def_at(def: &Def, sigs: &Signatures, base: u32) -> (Vec<core::Def>, Vec<Diagnostic>) {
    let Some(sig) = sigs.defs.get(&def.name.node) else { return (vec![], vec![]) };
    let out = lang::big_stack::run(|| check(def, &sig.name, &sig.scheme, &sig.inputs, sigs, base));
    (out.defs, out.diags)
}

/// A test against the signatures.
pub fn check_test(test: &Test, sigs: &Signatures, base: u32) -> (Option<TestCase>, Vec<Diagnostic>) {
    lang::big_stack::run(|| test_case(test, sigs, base))
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

/// A whole file without imports.
pub fn check_file(file: &File) -> Checked {
    check_module(file, "", &[])
}

/// The file with this identity, whose imports lead to these, in their order. The program is that of this file alone.
pub fn check_module(file: &File, module: &str, links: &[Link]) -> Checked {
    lang::big_stack::run(|| {
        let (signatures, mut diagnostics) = signatures(file, module, links);
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
                for core in core {
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
        | ItemKind::Import(_)
        | ItemKind::Derivative { .. }
        | ItemKind::Adjoint { .. }
        | ItemKind::Error => {}
    }
}
