//! The signatures of a file: names claimed once, aliases, inputs, recursion, results that were not written.

use super::*;

#[derive(Default)]
pub(super) struct Collector<'f> {
    pub(super) sigs: Signatures,
    /// In the file's own spans.
    pub(super) diags: Vec<Diagnostic>,
    defs: BTreeMap<&'f str, Declared<'f>>,
    /// Where each name was claimed, after its namespace.
    pub(super) places: HashMap<String, Span>,
}

/// A definition, where its item's spans count from, and the definitions of its `rec` group.
#[derive(Clone)]
struct Declared<'f> {
    def: &'f Def,
    base: u32,
    group: Vec<String>,
}

impl<'f> Collector<'f> {
    /// Does what reports in the spans of the item at `base`.
    fn at(&mut self, base: u32, work: impl FnOnce(&mut Self)) {
        let before = self.diags.len();
        work(self);
        self.diags[before..].iter_mut().for_each(|d| d.shift(base));
    }

    fn claim(&mut self, name: &Ident, base: u32, namespace: &str) -> bool {
        let place = name.span.shifted(base);
        match self.places.insert(format!("{namespace} {}", name.node), place) {
            None => true,
            Some(first) => {
                self.diags.push(
                    Diagnostic::new(codes::DUPLICATE, format!("`{}` is defined twice", name.node))
                        .label(place, "again here")
                        .label(first, "first here"),
                );
                false
            }
        }
    }

    fn own_type(&mut self, name: &Ident, params: &[TypeParam], meaning: Meaning) {
        let (name, home) = (name.node.clone(), self.sigs.module.clone());
        self.sigs.aliases.insert(name.clone(), Alias { name, home, params: params.to_vec(), meaning });
    }

    fn unsupported(&mut self, span: Span, what: &str, instead: &str) {
        self.diags.push(
            Diagnostic::new(codes::UNSUPPORTED, format!("{what} are not part of this version yet"))
                .label(span, "not supported")
                .help(instead),
        );
    }

    fn collect(mut self, items: &[(&'f Item, u32)], links: &'f [Link]) -> (Signatures, Vec<Diagnostic>) {
        let mut inputs = vec![];
        for (item, base) in items.iter().copied() {
            match &item.kind {
                ItemKind::Def { rec, defs } => {
                    let group: Vec<String> =
                        if *rec { defs.iter().map(|d| d.name.node.clone()).collect() } else { vec![] };
                    for d in defs {
                        if self.claim(&d.name, base, "value") {
                            let declared = Declared { def: d, base, group: group.clone() };
                            self.defs.insert(&d.name.node, declared);
                        }
                    }
                }
                ItemKind::Alias { name, params, ty } => {
                    if matches!(name.node.as_str(), "real" | "int" | "bool") {
                        self.diags.push(
                            Diagnostic::new(codes::DUPLICATE, format!("`{}` is a type already", name.node))
                                .label(name.span.shifted(base), "cannot be defined again"),
                        );
                    } else if self.claim(name, base, "type") {
                        let meaning = Meaning::Alias(ty.clone());
                        self.own_type(name, params, meaning);
                    }
                }
                ItemKind::Sum { name, params, arms } => {
                    for (k, (c, _)) in arms.iter().enumerate() {
                        if self.claim(c, base, "value") {
                            self.sigs.constructors.insert(c.node.clone(), (name.node.clone(), k));
                        }
                    }
                    if self.claim(name, base, "type") {
                        self.own_type(name, params, Meaning::Sum(arms.clone()));
                    }
                }
                ItemKind::Input { name, params, ty, file } => {
                    if self.claim(name, base, "value") {
                        inputs.push((name, params, ty, file, base));
                    }
                }
                ItemKind::Derivative { name, .. } | ItemKind::Adjoint { name, .. } => {
                    let instead = "write the derivative into the function: `x + detach (floor x - x)` has the value of \
                                   `floor x` and the derivative of `x`";
                    self.unsupported(name.span.shifted(base), "derivative rules", instead)
                }
                // Imports know what this file has of its own.
                ItemKind::Import(_) | ItemKind::Test(_) | ItemKind::Error => {}
            }
        }
        self.imports(items, links);
        self.check_aliases(items);
        for (name, params, ty, file, base) in inputs {
            self.at(base, |c| c.input(name, params, ty, file.as_ref()));
        }
        self.definitions();
        (self.sigs, self.diags)
    }

    /// What is wrong with an alias is reported once, even where it is not used: it then stands for nothing. Those that reach themselves
    /// stand for nothing as well.
    fn check_aliases(&mut self, items: &[(&'f Item, u32)]) {
        let mut bases: HashMap<&str, u32> = HashMap::new();
        for (item, base) in items {
            if let ItemKind::Alias { name, .. } | ItemKind::Sum { name, .. } = &item.kind {
                bases.insert(&name.node, *base);
            }
        }
        let uses: BTreeMap<&str, Vec<&str>> = items
            .iter()
            .filter_map(|(item, _)| match &item.kind {
                ItemKind::Alias { name, ty, .. } => {
                    let mut names = vec![];
                    type_names(ty, &mut names);
                    Some((name.node.as_str(), names))
                }
                ItemKind::Sum { name, arms, .. } => {
                    let mut names = vec![];
                    arms.iter().flat_map(|(_, t)| t).for_each(|t| type_names(t, &mut names));
                    Some((name.node.as_str(), names))
                }
                _ => None,
            })
            .collect();
        // Those that are used come before their users.
        for group in components(&uses) {
            let cyclic = group.len() > 1 || uses[group[0]].contains(&group[0]);
            for x in group {
                let Some(place) = self.places.get(&format!("type {x}")).copied() else { continue };
                let Some(alias) = self.sigs.aliases.get(x).cloned() else { continue };
                let mut found = vec![];
                let (scope, _, _) = brackets(&alias.params, &mut Supply::default(), &mut found);
                if !cyclic {
                    Types::new(&self.sigs, &mut found).meaning(&alias, &scope);
                }
                found.iter_mut().for_each(|d| d.shift(bases[x]));
                if cyclic {
                    found.push(
                        Diagnostic::new(codes::CYCLIC_ALIAS, format!("the type `{x}` refers to itself"))
                            .label(place, "types are not recursive"),
                    );
                }
                if let Some(d) = found.iter_mut().find(|d| d.code == codes::TYPE_TOO_LARGE) {
                    // The limit is met inside, but this is the type that meets it.
                    d.message = format!("the type `{x}` is too large");
                    d.labels[0].0 = place;
                }
                if !found.is_empty()
                    && let Some(alias) = self.sigs.aliases.get_mut(x)
                {
                    alias.meaning = Meaning::Alias(surface::at(TyKind::Error, place));
                }
                self.diags.extend(found);
            }
        }
    }

    fn input(&mut self, name: &Ident, params: &[TypeParam], ty: &surface::Ty, file: Option<&Ident>) {
        let mut supply = Supply::default();
        let (scope, types, sizes) = brackets(params, &mut supply, &mut self.diags);
        let checked = Types::new(&self.sigs, &mut self.diags).ty(&scope, ty);
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
            home: self.sigs.module.clone(),
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
            self.defs.iter().map(|(x, d)| (*x, free_names(d.def))).collect();
        let calls: BTreeMap<&str, Vec<&str>> = names
            .iter()
            .map(|(x, free)| {
                let known = free.iter().filter_map(|y| self.defs.get_key_value(y.as_str()));
                (*x, known.map(|(y, _)| *y).collect::<Vec<&str>>())
            })
            .collect();
        for group in components(&calls) {
            // Inputs: one's own and those of what is called.
            let mut inputs = BTreeSet::new();
            for x in &group {
                inputs
                    .extend(names[x].iter().filter_map(|y| self.sigs.inputs.get(y)).map(|i| i.name.clone()));
                inputs.extend(
                    names[x].iter().filter_map(|y| self.sigs.defs.get(y)).flat_map(|s| s.inputs.clone()),
                );
            }
            let recursive = group.len() > 1 || calls[group[0]].contains(&group[0]);
            let allowed = group.iter().all(|x| {
                let declared: BTreeSet<&str> = self.defs[x].group.iter().map(String::as_str).collect();
                group.iter().all(|y| declared.contains(y))
            });
            if recursive && !allowed {
                self.not_rec(&group);
            }
            for x in &group {
                let inputs = inputs.iter().cloned().collect();
                let base = self.defs[x].base;
                self.at(base, |c| c.definition(x, inputs, recursive, recursive && !allowed));
            }
            // Results that were not written, now that everything called is known.
            for x in group {
                self.infer_result(x);
            }
        }
    }

    fn not_rec(&mut self, group: &[&'f str]) {
        for x in group {
            let Declared { def, base, .. } = self.defs[x];
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
                    .label(def.name.span.shifted(base), "recursive without `rec`")
                    .help(help),
            );
        }
    }

    fn definition(&mut self, x: &str, inputs: Vec<String>, recursive: bool, mut broken: bool) {
        let Some(Declared { def, group, .. }) = self.defs.get(x).cloned() else { return };
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
        if let (true, Some(k)) = (recursive && !broken, scheme.exists.first()) {
            // To compute the size it would have to compute itself, at every step twice.
            self.diags.push(
                Diagnostic::new(codes::EXISTENTIAL_PLACE, format!("the recursive `{x}` cannot have a result of some size ?{}", k.name))
                    .label(def.result.as_ref().map_or(def.name.span, |t| t.span), "its size is known only when it has run")
                    .help("give the size as a parameter, or return an array of a known size and how much of it counts"),
            );
            broken = true;
        }
        let params = def.params.iter().zip(&scheme.params).map(|((_, t), p)| (p.name.clone(), t.clone()));
        let sig = Signature {
            name: full(&self.sigs.module, x),
            home: self.sigs.module.clone(),
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
        let Some(Declared { def, .. }) = self.defs.get(x) else { return };
        let Some(sig) = self.sigs.defs.get(x) else { return };
        if def.result.is_some() || sig.broken {
            return;
        }
        // What is wrong with the body is reported when it is checked.
        let out = check(def, &sig.name, &sig.scheme, &sig.inputs, &self.sigs, 0);
        let failed = out.defs.is_empty();
        if let Some(sig) = self.sigs.defs.get_mut(x) {
            sig.scheme.result = out.result;
            sig.broken = failed;
        }
    }
}

/// Every signature of the file with this identity, with what is wrong with headers, names and recursion; `links` are where its imports lead, in
/// their order.
pub fn signatures(file: &File, module: &str, links: &[Link]) -> (Signatures, Vec<Diagnostic>) {
    signatures_of(&file.items.iter().map(|item| (item, 0)).collect::<Vec<_>>(), module, links)
}

/// As [`signatures`], of items each with where its spans count from; what is wrong is told in the file's own spans.
pub fn signatures_of(items: &[(&Item, u32)], module: &str, links: &[Link]) -> (Signatures, Vec<Diagnostic>) {
    let sigs = Signatures { module: module.into(), ..Signatures::default() };
    lang::big_stack::run(|| Collector { sigs, ..Collector::default() }.collect(items, links))
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
