//! Imports: what they bring into the scope of a file, under which names.

use super::signatures::Collector;
use super::*;
use crate::modules::{Fault, Interface, Link, Renaming, local, qualifier};
use crate::suggest;
use lang::surface::{Import, ImportPath, Imported};
use std::sync::LazyLock;

/// An import item with where it leads.
pub(super) struct Importing<'f> {
    /// In the file's own spans.
    import: Import,
    link: &'f Link,
    qualifier: Option<String>,
}

/// What an import leads to in a text that is no file.
static NOWHERE: LazyLock<Link> = LazyLock::new(|| {
    Link::Broken(Fault {
        code: codes::UNKNOWN_MODULE,
        message: "imports need files to import from".into(),
        label: "leads nowhere".into(),
        help: None,
    })
});

impl<'f> Collector<'f> {
    /// Everything that is imported, under the names it has here. Own names are known before.
    pub(super) fn imports(&mut self, items: &[(&'f Item, u32)], links: &'f [Link]) {
        let items = items.iter().filter_map(|(item, base)| match &item.kind {
            ItemKind::Import(import) => Some(shifted(import.clone(), *base)),
            _ => None,
        });
        let links = links.iter().chain(std::iter::repeat(&*NOWHERE));
        let all: Vec<Importing> = items
            .zip(links)
            .map(|(import, link)| {
                // A list of names stands for itself; a qualifier is then one that is written.
                let plain = import.names.is_some() && import.alias.is_none();
                let qualifier = if plain { None } else { qualifier(&import) };
                Importing { import, link, qualifier }
            })
            .collect();
        for i in &all {
            self.qualify(i);
        }
        let renaming = self.renaming(&all);
        let interfaces = || all.iter().filter_map(Importing::interface);
        for m in interfaces() {
            for a in m.types.values() {
                let alias = renaming.alias(a);
                self.sigs.aliases.insert(alias.name.clone(), alias);
            }
            for i in m.inputs.values() {
                let input = renaming.input(i);
                self.sigs.inputs.insert(input.name.clone(), input);
            }
        }
        for i in &all {
            if let (Some(m), Some(q)) = (i.interface(), &i.qualifier) {
                let names = m.defs.keys().map(String::as_str);
                let names = names.chain(m.own_inputs().map(|(x, _)| x)).chain(m.own_types().map(|(x, _)| x));
                for x in names.collect::<Vec<_>>() {
                    self.bring(m, x, &format!("{q}."), &renaming);
                }
            }
            for name in i.import.names.iter().flatten() {
                self.select(i, name, &renaming);
            }
        }
    }

    /// The name of a module by itself.
    fn qualify(&mut self, i: &Importing<'f>) {
        let place = i.import.alias.as_ref().map_or(i.import.module.span(), |a| a.span);
        if let Link::Broken(fault) = i.link {
            let d = Diagnostic::new(fault.code, fault.message.clone())
                .label(i.import.module.span(), fault.label.clone());
            self.diags.push(Diagnostic { help: fault.help.clone(), ..d });
        }
        let Some(q) = &i.qualifier else {
            if i.import.names.is_none() {
                let d = Diagnostic::new(codes::IMPORT_PATH, "this import gives the module no name")
                    .label(place, "the name of this file is no name of the language")
                    .help("name it: `import \"…\" as m`");
                self.diags.push(d);
            }
            return;
        };
        let taken = self.places.get(&format!("module {q}")).or(self.places.get(&format!("value {q}")));
        if let Some(first) = taken {
            let d = Diagnostic::new(codes::IMPORT_CLASH, format!("`{q}` names two things"))
                .label(place, "this module")
                .label(*first, "and this")
                .help("name the module by `as`");
            self.diags.push(d);
        }
        self.places.insert(format!("module {q}"), place);
        let complete = i.interface().is_some_and(|m| !m.incomplete);
        self.sigs.modules.entry(q.clone()).and_modify(|c| *c &= complete).or_insert(complete);
    }

    /// The names here of types and inputs from elsewhere: as they are where a list has them, else in the module that an import names, else
    /// in one called like their file.
    fn renaming(&self, all: &[Importing]) -> Renaming {
        let mut out = Renaming::default();
        for i in all {
            let Some(m) = i.interface() else { continue };
            let types = m.types.values().map(|a| (&a.name, &a.home));
            for (name, home) in types {
                let module = self.module_of(all, home, local(name), true);
                out.types.insert(name.clone(), module);
            }
            for input in m.inputs.values() {
                let module = self.module_of(all, &input.home, local(&input.name), false);
                out.inputs.insert(input.name.clone(), module);
            }
        }
        out
    }

    fn module_of(&self, all: &[Importing], home: &str, name: &str, ty: bool) -> String {
        let mut of = all.iter().filter(|i| i.interface().is_some_and(|m| m.home == home));
        let listed = |n: &Imported| match n {
            Imported::Value(x) => !ty && x.node == name,
            Imported::Type(x) => ty && x.node == name,
        };
        if of.clone().any(|i| i.import.names.iter().flatten().any(listed)) {
            return String::new();
        }
        if let Some(q) = of.find_map(|i| i.qualifier.as_ref()) {
            return format!("{q}.");
        }
        if ty {
            // A name that nobody can write.
            return format!("<{home}>.");
        }
        // One that can be given data on the command line.
        let mut module = home.to_string();
        while self.sigs.modules.contains_key(&module) {
            module.push('\'');
        }
        format!("{module}.")
    }

    /// Brings what a module calls `name` into scope, in the module `to` (none: by itself).
    fn bring(&mut self, m: &Interface, name: &str, to: &str, renaming: &Renaming) {
        let here = format!("{to}{name}");
        if let Some(sig) = m.defs.get(name) {
            self.sigs.defs.insert(here.clone(), renaming.signature(sig));
        }
        if let Some((_, input)) = m.own_inputs().find(|(x, _)| *x == name) {
            self.sigs.inputs.insert(here.clone(), renaming.input(input));
        }
        if let Some((_, alias)) = m.own_types().find(|(x, _)| *x == name) {
            let alias = renaming.alias(alias);
            if let Meaning::Sum(arms) = &alias.meaning {
                for (k, (x, _)) in arms.iter().enumerate() {
                    let constructor = format!("{to}{}", local(&x.node));
                    self.sigs.constructors.insert(constructor, (alias.name.clone(), k));
                }
            }
            self.sigs.aliases.insert(here, alias);
        }
    }

    /// One name of an import's list.
    fn select(&mut self, i: &Importing<'f>, imported: &Imported, renaming: &Renaming) {
        let (name, namespace) = match imported {
            Imported::Value(x) => (x, "value"),
            Imported::Type(x) => (x, "type"),
        };
        let ty = namespace == "type";
        let Some(m) = i.interface() else {
            // What is wrong has been said.
            self.unknown(name, ty);
            return;
        };
        let known = match ty {
            true => m.own_types().any(|(x, _)| x == name.node),
            false => m.defs.contains_key(&name.node) || m.own_inputs().any(|(x, _)| x == name.node),
        };
        if !known {
            if !m.incomplete {
                self.diags.push(missing(m, name, ty));
            }
            self.unknown(name, ty);
            return;
        }
        let mut names = vec![(name.clone(), namespace)];
        if let Some((_, Alias { meaning: Meaning::Sum(arms), .. })) =
            m.own_types().find(|(x, _)| ty && *x == name.node)
        {
            names.extend(arms.iter().map(|(x, _)| (surface::at(local(&x.node).into(), name.span), "value")));
        }
        let taken = |c: &Self, x: &Ident, namespace: &str| {
            let place = |namespace: &str| c.places.get(&format!("{namespace} {}", x.node)).copied();
            place(namespace).or_else(|| place("module").filter(|_| namespace == "value"))
        };
        if let Some((x, first)) = names.iter().find_map(|(x, ns)| Some((x.clone(), taken(self, x, ns)?))) {
            let d = Diagnostic::new(codes::IMPORT_CLASH, format!("`{}` comes from two places", x.node))
                .label(name.span, "imported here")
                .label(first, "and here");
            let q = i.import.alias.as_ref().map_or_else(|| qualifier(&i.import), |a| Some(a.node.clone()));
            let q = q.unwrap_or_else(|| "m".into());
            self.diags.push(d.help(format!(
                "leave it out of the list and write `{q}.{}`, with the module imported by name",
                x.node
            )));
            return;
        }
        for (x, ns) in &names {
            self.places.insert(format!("{ns} {}", x.node), name.span);
        }
        self.bring(m, &name.node, "", renaming);
    }

    /// A name of which nothing is known: its uses say nothing more.
    fn unknown(&mut self, name: &Ident, ty: bool) {
        if ty {
            let meaning = Meaning::Alias(surface::at(TyKind::Error, name.span));
            let alias = Alias { name: name.node.clone(), home: String::new(), params: vec![], meaning };
            self.sigs.aliases.entry(name.node.clone()).or_insert(alias);
            return;
        }
        let sig = Signature {
            name: name.node.clone(),
            // No file has this identity, so that nobody takes it for its own.
            home: "?".into(),
            type_params: vec![],
            params: vec![],
            result: None,
            scheme: Scheme { types: vec![], sizes: vec![], params: vec![], exists: vec![], result: T::Error },
            inputs: vec![],
            rec_group: vec![],
            broken: true,
        };
        self.sigs.defs.entry(name.node.clone()).or_insert(sig);
    }
}

impl<'f> Importing<'f> {
    fn interface(&self) -> Option<&'f Arc<Interface>> {
        match self.link {
            Link::Module(m) => Some(m),
            Link::Broken(_) => None,
        }
    }
}

/// An import in the spans of a text that begins so many bytes earlier.
fn shifted(mut import: Import, by: u32) -> Import {
    let shift = |x: &mut Ident| x.span = x.span.shifted(by);
    match &mut import.module {
        ImportPath::File(x) | ImportPath::Module(x) => shift(x),
    }
    import.alias.iter_mut().for_each(shift);
    for name in import.names.iter_mut().flatten() {
        match name {
            Imported::Value(x) | Imported::Type(x) => shift(x),
        }
    }
    import
}

/// A module has no such name, or not as what it is asked for.
fn missing(m: &Interface, name: &Ident, ty: bool) -> Diagnostic {
    let what = if ty { "type" } else { "definition" };
    let message = format!("the module `{}` has no {what} `{}`", m.home, name.node);
    let d = Diagnostic::new(codes::UNKNOWN_MEMBER, message).label(name.span, "not found in it");
    let is_type = m.own_types().any(|(x, _)| x == name.node);
    match (ty, m.type_of_constructor(&name.node)) {
        (false, Some(t)) => d.help(format!("a constructor comes with its type: `type {t}`")),
        (false, None) if is_type => d.help(format!("it is a type: `type {}`", name.node)),
        (true, _) if m.defs.contains_key(&name.node) => d.help(format!("it is no type: `{}`", name.node)),
        (true, _) => suggest::with(d, &name.node, m.own_types().map(|(x, _)| x)),
        (false, None) => {
            let values = m.defs.keys().map(String::as_str).chain(m.own_inputs().map(|(x, _)| x));
            suggest::with(d, &name.node, values)
        }
    }
}
