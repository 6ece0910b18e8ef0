//! One definition: its scheme from its header, then its body against the scheme.

use super::*;

/// What the check of one definition found.
pub(super) struct Outcome {
    /// The definition, and those that compute its existential sizes; none where something is wrong.
    pub(super) defs: Vec<core::Def>,
    pub(super) result: T,
    pub(super) diags: Vec<Diagnostic>,
}

/// The scheme of a definition's header. Its variables are numbered from 0: sizes, then parameters.
pub(crate) fn scheme(def: &Def, sigs: &Signatures, diags: &mut Vec<Diagnostic>) -> Scheme {
    let mut supply = Supply::default();
    let (mut scope, types, sizes) = brackets(&def.type_params, &mut supply, diags);
    let mut params: Vec<ParamScheme> = vec![];
    for (k, (pat, ty)) in def.params.iter().enumerate() {
        let t = Types::new(sigs, diags).ty(&scope, ty);
        let name = pattern_name(pat, k);
        let var = supply.fresh(name.as_str());
        if let (PatKind::Var(x), T::Int) = (&pat.node, &t) {
            scope.sizes.insert(x.clone(), Size::var(var.clone()));
        }
        params.push(ParamScheme { name, ty: t, var, dependent: false });
    }
    let mut found = vec![];
    def.result.iter().for_each(|t| existential::names(t, &mut found));
    let exists: Vec<lang::name::Var> = found.into_iter().map(|k| supply.fresh(k)).collect();
    scope.exists = exists.iter().map(|k| (k.name.to_string(), Size::var(k.clone()))).collect();
    let result = match &def.result {
        Some(t) => Types::new(sigs, diags).ty(&scope, t),
        None => T::Error,
    };
    let mut used: BTreeSet<u32> = result.size_vars().iter().map(|v| v.id).collect();
    used.extend(params.iter().flat_map(|p| p.ty.size_vars()).map(|v| v.id));
    params.iter_mut().for_each(|p| p.dependent = used.contains(&p.var.id));
    Scheme { types, sizes, params, exists, result }
}

pub(crate) fn check_with_scheme(
    def: &Def,
    scheme: &Scheme,
    sigs: &Signatures,
) -> (Option<core::Def>, Vec<Diagnostic>) {
    let out = check(def, &def.name.node, scheme, &[], sigs, 0);
    (out.defs.into_iter().next(), out.diags)
}

/// Γ ⊢ body : result, then Core, under the definition's full name.
pub(super) fn check(
    def: &Def,
    name: &str,
    scheme: &Scheme,
    inputs: &[String],
    sigs: &Signatures,
    base: u32,
) -> Outcome {
    let numbered = scheme.sizes.len() + scheme.params.len() + scheme.exists.len();
    let supply = Supply { next: numbered as u32 };
    let mut inf = Infer::new(sigs, name, base, supply);
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
    // Sizes that repeat each other are reported with the brackets.
    let mut sizes: Vec<&Ident> = vec![];
    for p in &def.type_params {
        match p {
            TypeParam::Size(n) if sizes.iter().all(|m| m.node != n.node) => sizes.push(n),
            TypeParam::Size(_) | TypeParam::Type(_) => {}
        }
    }
    let names: Vec<Ident> = def.params.iter().filter_map(|(pat, _)| named(pat)).collect();
    let sized = names.iter().any(|x| sizes.iter().any(|n| n.node == x.node));
    inf.distinct(if sized { "name" } else { "parameter" }, sizes.into_iter().chain(&names));
    for ((pat, _), p) in def.params.iter().zip(&scheme.params) {
        match &pat.node {
            PatKind::Var(x) => env.bind(x, &p.var, &p.ty, None),
            _ => taken_apart.push((inf.pattern(&mut env, pat, &p.ty, None), p.var.clone())),
        }
    }
    inf.packing = scheme.exists.clone();
    let body = match &def.result {
        Some(_) => inf.check(&env, &def.body, &scheme.result, Why::Result(&def.name.node)),
        None => inf.infer(&env, &def.body),
    };
    inf.finish();
    inf.default_metas(&body.ty);
    let result = if def.result.is_some() { scheme.result.clone() } else { inf.metas.zonk(&body.ty) };
    if !inf.diags.is_empty() {
        return Outcome { defs: vec![], result, diags: inf.diags };
    }
    let mut defs = vec![];
    let headed = Headed { def, name, scheme, inputs, taken_apart: &taken_apart };
    let whole = if scheme.exists.is_empty() { body.clone() } else { existential::array(&body) };
    let mut found = headed.core(inf, name, &whole, &result, &scheme.exists);
    for k in &scheme.exists {
        let (Some(core), inf) = found else { break };
        defs.push(core);
        let size = existential::size(&body, k);
        found = headed.core(inf, &existential::measure(name, k), &size, &T::Int, &[]);
    }
    let (last, mut inf) = found;
    if scheme.params.iter().any(|p| p.ty.any(&|t| *t == T::Error)) {
        // What an unknown type would have said of sizes.
        inf.diags.retain(|d| d.code != codes::UNSOLVED_SIZE);
    }
    match last {
        Some(core) if inf.diags.is_empty() => {
            defs.push(core);
            Outcome { defs, result, diags: vec![] }
        }
        _ => Outcome { defs: vec![], result, diags: inf.diags },
    }
}

/// A definition's header, for the Core definitions made from it.
struct Headed<'d> {
    def: &'d Def,
    name: &'d str,
    scheme: &'d Scheme,
    inputs: &'d [String],
    /// Patterns among the parameters.
    taken_apart: &'d [(crate::tree::P, lang::name::Var)],
}

impl Headed<'_> {
    /// The Core definition of a body, with further sizes after the header's own.
    fn core<'s>(
        &self,
        inf: Infer<'s>,
        name: &str,
        body: &crate::tree::Te,
        result: &T,
        exists: &[lang::name::Var],
    ) -> (Option<core::Def>, Infer<'s>) {
        let (def, scheme) = (self.def, self.scheme);
        let mut el = Elaborate::new(inf);
        el.inf.def = self.name.into();
        let own: Vec<lang::name::Var> = scheme.sizes.iter().chain(exists).cloned().collect();
        own.iter().for_each(|v| el.bring_into_scope(v));
        let (sizes, mut params) = input_binders(&mut el, self.inputs, own, def.name.span);
        for ((_, written), p) in def.params.iter().zip(&scheme.params) {
            let ty = el.ty(&p.ty, written.span);
            if ty == Type::Int {
                el.bring_into_scope(&p.var);
            }
            params.push(Binder::new(p.var.clone(), ty));
        }
        let mut around = vec![];
        for (p, v) in self.taken_apart {
            let (x, parts) = el.binder(p);
            around.push(Around::Let(x, core::make::var(v)));
            around.extend(parts);
        }
        let term = el.scoped(result, def.body.span, |el| el.term(body));
        let ty = el.ty(result, def.result.as_ref().map_or(def.body.span, |t| t.span));
        let (inf, failed) = (el.inf, el.failed);
        if failed || !inf.diags.is_empty() {
            return (None, inf);
        }
        let core = core::Def {
            name: name.into(),
            types: scheme.types.clone(),
            sizes,
            params,
            result: ty,
            body: wrap(around, term),
            supply: inf.supply.clone(),
        };
        (Some(core), inf)
    }
}

/// The name a parameter is known by, if it is one name.
fn named(pat: &surface::Pat) -> Option<Ident> {
    match &pat.node {
        PatKind::Var(x) => Some(surface::at(x.clone(), pat.span)),
        _ => None,
    }
}

/// The inputs as parameters; their sizes after the definition's own.
pub(super) fn input_binders(
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

pub(super) fn test_case(test: &Test, sigs: &Signatures, base: u32) -> (Option<TestCase>, Vec<Diagnostic>) {
    let mut free = free_names_of(&test.left);
    free.extend(free_names_of(&test.right));
    let mut inputs: BTreeSet<String> =
        free.iter().filter_map(|x| sigs.inputs.get(x)).map(|i| i.name.clone()).collect();
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
    let right = inf.check(&env, &test.right, &ty, Why::Sides("a test", test.left.span));
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
    let side = el.inf.metas.zonk(&ty);
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
        ty: side,
        def,
        inputs,
    };
    (Some(case), vec![])
}
