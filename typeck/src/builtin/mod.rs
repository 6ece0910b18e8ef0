//! The built-in functions, one row each: a header as it would be written, its meaning, a line of documentation. Most are written
//! in `.ad` and elaborated once; those that need a Core term of their own are made in Rust. To add one, add a row.

use crate::elaborate::{Around, Elaborate, apply, is_atom, is_path, wrap};
use crate::env::{Scheme, Signatures};
use crate::items;
use lang::core::{Binder, Def, Term, Tm};
use lang::diag::{Site, Span};
use lang::name::Var;
use lang::size::Size;
use lang::surface::{self, ItemKind};
use lang::types::{LType, Type};
use lang::walk::{Mapper, Subst, map_term};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

mod array;
mod checks;
mod numeric;
mod random;
mod reduce;

pub struct Row {
    pub name: &'static str,
    /// What stands between `def name` and `=`: its parameters and result.
    pub header: &'static str,
    pub body: Body,
    pub doc: &'static str,
}

pub enum Body {
    /// An expression of `.ad`.
    Text(&'static str),
    /// The Core term for given arguments.
    Core(fn(&mut Elaborate, Given) -> Tm),
}

/// The arguments of a built-in at a use.
pub struct Given {
    pub types: Vec<Type>,
    pub sizes: Vec<Size>,
    pub args: Vec<Tm>,
    pub arg_types: Vec<Type>,
    pub site: Site,
    pub span: Span,
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The rows by subject.
pub const SECTIONS: &[(&str, &[Row])] = &[
    ("Arrays", array::ROWS),
    ("Reductions and order", reduce::ROWS),
    ("Linear algebra and safe sums", numeric::ROWS),
    ("Constants", numeric::CONSTANTS),
    ("Random numbers", random::ROWS),
    ("Checks", checks::ROWS),
];

/// Every built-in.
pub static ALL: LazyLock<Vec<&'static Row>> =
    LazyLock::new(|| SECTIONS.iter().flat_map(|(_, rows)| *rows).collect());

struct Entry {
    def: surface::Def,
    scheme: Scheme,
    template: OnceLock<Result<Def, String>>,
}

static ENTRIES: LazyLock<HashMap<&'static str, Entry>> = LazyLock::new(|| {
    let text: String = ALL
        .iter()
        .map(|r| {
            let body = match r.body {
                Body::Text(t) => t,
                Body::Core(_) => "0",
            };
            format!("def {} {} = {body}\n", r.name, r.header)
        })
        .collect();
    let (file, problems) = surface::parser::parse(&text);
    debug_assert!(problems.is_empty(), "built-ins: {problems:?}");
    let mut entries = HashMap::new();
    let sigs = Signatures::default();
    for item in file.items {
        let ItemKind::Def { defs, .. } = item.kind else { continue };
        for def in defs {
            let Some(row) = ALL.iter().find(|r| r.name == def.name.node) else { continue };
            let mut problems = vec![];
            let scheme = items::scheme(&def, &sigs, &mut problems);
            debug_assert!(problems.is_empty(), "built-in {}: {problems:?}", row.name);
            entries.insert(row.name, Entry { def, scheme, template: OnceLock::new() });
        }
    }
    entries
});

pub fn find(name: &str) -> Option<&'static Row> {
    ALL.iter().copied().find(|r| r.name == name)
}

pub fn scheme(row: &Row) -> &'static Scheme {
    static NONE: LazyLock<Scheme> = LazyLock::new(|| Scheme {
        exists: vec![],
        types: vec![],
        sizes: vec![],
        params: vec![],
        result: crate::ty::T::Error,
    });
    ENTRIES.get(row.name).map_or(&NONE, |e| &e.scheme)
}

/// The Core definition of a built-in that is written in `.ad`; the first thing wrong with it where it cannot be had.
pub fn template(row: &Row) -> Result<&'static Def, &'static str> {
    let Some(entry) = ENTRIES.get(row.name) else { return Err("it did not parse") };
    let made = entry.template.get_or_init(|| {
        let (def, problems) = items::check_with_scheme(&entry.def, &entry.scheme, &Signatures::default());
        match (def, problems.first()) {
            (Some(def), None) => Ok(def),
            (_, Some(d)) => Err(d.message.clone()),
            (None, None) => Err("no definition".into()),
        }
    });
    made.as_ref().map_err(String::as_str)
}

/// A template with its arguments: what would be computed again is named first, a λ used once goes where it is applied.
pub fn instantiate(cx: &mut Elaborate, def: &Def, given: Given) -> Tm {
    let mut around = vec![];
    let mut terms = HashMap::new();
    for (v, n) in def.sizes.iter().zip(&given.sizes) {
        terms.insert(v.clone(), lang::core::make::size(n));
    }
    for ((p, arg), ty) in def.params.iter().zip(given.args).zip(given.arg_types) {
        let goes_in = match &*arg {
            Term::Lam(..) => occurrences(&def.body, &p.var) <= 1,
            // An int parameter that sizes speak of is a polynomial.
            _ => is_path(&arg) || p.ty == Type::Int && lang::walk::as_size(&arg).is_some(),
        };
        let t = if goes_in {
            arg
        } else {
            let v = cx.inf.supply.renew(&p.var);
            around.push(Around::Let(Binder::new(v.clone(), ty), arg));
            lang::core::make::var(&v)
        };
        terms.insert(p.var.clone(), t);
    }
    let mut subst = Subst::new(&mut cx.inf.supply);
    subst.terms = terms;
    subst.types = def.types.iter().cloned().zip(given.types).collect();
    let body = Instance { subst, site: given.site }.term(&def.body);
    wrap(around, body)
}

fn occurrences(t: &Tm, v: &Var) -> usize {
    struct Count<'a>(&'a Var, usize);
    impl Mapper for Count<'_> {
        fn term(&mut self, t: &Tm) -> Tm {
            match &**t {
                Term::Var(v) => {
                    self.1 += usize::from(v == self.0);
                    t.clone()
                }
                _ => map_term(self, t),
            }
        }
    }
    let mut count = Count(v, 0);
    count.term(t);
    count.1
}

/// A substitution that also puts the place of use for the template's places, and applies λs on the spot. Arguments are put in as they are.
struct Instance<'s> {
    subst: Subst<'s>,
    site: Site,
}

impl Mapper for Instance<'_> {
    fn term(&mut self, t: &Tm) -> Tm {
        match &**t {
            Term::Var(v) => self.subst.terms.get(v).cloned().unwrap_or_else(|| t.clone()),
            Term::App(f, x) => {
                let (f, x) = (self.term(f), self.term(x));
                match &*f {
                    // let y = x in t with x a variable or literal that is no size: still a let; the optimiser removes it.
                    Term::Lam(..) | Term::Let(..) => apply(f, x),
                    _ => lang::core::make::app(f, x),
                }
            }
            Term::Index(a, i, _) => {
                let (a, i) = (self.term(a), self.term(i));
                // (build n (j. t))[i] with i an index of the same range stays: the optimiser fuses.
                Arc::new(Term::Index(a, i, self.site.clone()))
            }
            Term::Update { array, index, value, .. } => Arc::new(Term::Update {
                array: self.term(array),
                index: index.iter().map(|i| self.term(i)).collect(),
                value: self.term(value),
                site: self.site.clone(),
            }),
            Term::Check { cond, failure, details, body, .. } => Arc::new(Term::Check {
                cond: self.term(cond),
                failure: failure.clone(),
                details: details.iter().map(|t| self.term(t)).collect(),
                site: self.site.clone(),
                body: self.term(body),
            }),
            Term::Diff { mode, f, x, .. } => Arc::new(Term::Diff {
                mode: *mode,
                f: self.term(f),
                x: self.term(x),
                site: self.site.clone(),
            }),
            _ => map_term(self, t),
        }
    }
    fn bind(&mut self, v: &Var) -> Var {
        self.subst.bind(v)
    }
    fn size(&mut self, n: &Size) -> Size {
        self.subst.size(n)
    }
    fn ty(&mut self, t: &Type) -> Type {
        self.subst.ty(t)
    }
    fn lty(&mut self, t: &LType) -> LType {
        self.subst.lty(t)
    }
}

/// A name for an array argument that is used more than once; a path is one already.
pub(crate) fn name_it(cx: &mut Elaborate, t: Tm, ty: &Type, around: &mut Vec<Around>) -> Tm {
    if is_atom(&t) { t } else { cx.named(t, ty.clone(), "xs", around) }
}
