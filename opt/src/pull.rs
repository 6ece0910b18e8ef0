//! Vertical fusion on terms: an array that is read once per element, or costs nothing to recompute, is not built but read
//! through its definition: (build n (λi. t))[k] = t[k/i].

use lang::core::{Term, Tm, make};
use lang::name::{Supply, Var};
use lang::size::Size;
use lang::target::{Lin, LinTerm};
use lang::walk::{Mapper, Subst, map_lin, map_term};
use std::collections::HashMap;

/// Pulls definitions of let-bound builds into their uses. The term must be in normal form; fresh variables are numbered from `supply`.
pub fn pull(t: &Tm, supply: &mut Supply) -> Tm {
    let mut uses = Uses::default();
    uses.term(t);
    Pull { uses, builds: HashMap::new(), supply }.term(t)
}

/// How a variable is used.
#[derive(Default, Clone)]
struct Use {
    count: usize,
    /// The only use is `x[k]` with k the index of the innermost loop around it, one loop inside x's definition.
    once_per_element: bool,
}

/// Counts uses, and where the loops stand.
#[derive(Default)]
struct Uses {
    uses: HashMap<Var, Use>,
    /// Loop depth at which each variable was bound, and the stack of enclosing indices.
    depth: HashMap<Var, usize>,
    indices: Vec<Var>,
}

impl Uses {
    fn at_index(&mut self, index: &Var, f: impl FnOnce(&mut Self)) {
        self.indices.push(index.clone());
        f(self);
        self.indices.pop();
    }
    fn count(&mut self, v: &Var) -> &mut Use {
        let u = self.uses.entry(v.clone()).or_default();
        u.count += 1;
        u
    }
}

impl Mapper for Uses {
    fn bind(&mut self, v: &Var) -> Var {
        self.depth.insert(v.clone(), self.indices.len());
        v.clone()
    }
    fn size(&mut self, n: &Size) -> Size {
        for v in n.vars() {
            self.count(v).count += 1;
        }
        n.clone()
    }
    fn term(&mut self, t: &Tm) -> Tm {
        match &**t {
            Term::Var(v) => {
                self.count(v);
                t.clone()
            }
            Term::Index(a, k, _) => {
                if let (Term::Var(a), Term::Var(k)) = (&**a, &**k) {
                    let inner = self.indices.last() == Some(k);
                    let once = inner && self.depth.get(a).is_some_and(|d| d + 1 == self.indices.len());
                    let u = self.count(a);
                    u.once_per_element = once && u.count == 1;
                    self.count(k);
                    return t.clone();
                }
                map_term(self, t)
            }
            Term::Build { index, bound, body } => {
                self.size(bound);
                self.at_index(index, |u| drop(u.term(body)));
                t.clone()
            }
            Term::Sum { index, bound, body } | Term::Extremum { index, bound, body, .. } => {
                self.size(bound);
                self.at_index(index, |u| drop(u.term(body)));
                t.clone()
            }
            Term::Loop { state, init, index, bound, body } => {
                self.size(bound);
                self.term(init);
                self.at_index(index, |u| {
                    u.bind(&state.var);
                    u.term(body);
                });
                t.clone()
            }
            _ => map_term(self, t),
        }
    }
    fn lin(&mut self, t: &Lin) -> Lin {
        match &**t {
            LinTerm::Build { index, bound, body } | LinTerm::Sum { index, bound, body } => {
                self.size(bound);
                self.at_index(index, |u| drop(u.lin(body)));
                t.clone()
            }
            LinTerm::Loop { init, index, bound, body, .. } => {
                self.size(bound);
                self.lin(init);
                self.at_index(index, |u| drop(u.lin(body)));
                t.clone()
            }
            _ => map_lin(self, t),
        }
    }
}

struct Pull<'s> {
    uses: Uses,
    /// Builds to be read through: index and body.
    builds: HashMap<Var, (Var, Tm)>,
    supply: &'s mut Supply,
}

/// Reading an element costs no more than an index: projections and indices of variables.
pub fn is_view(t: &Term) -> bool {
    match t {
        Term::Var(_) | Term::Lit(_) => true,
        Term::Index(a, i, _) => is_view(a) && (is_view(i) || lang::walk::as_size(i).is_some()),
        Term::Proj(t, _) => is_view(t),
        Term::Let(_, a, b) => is_view(a) && is_view(b),
        Term::Build { body, .. } => is_view(body),
        Term::Tuple(ts) => ts.iter().all(|t| is_view(t)),
        _ => false,
    }
}

impl Pull<'_> {
    /// Notes a build that is to be read through.
    fn note(&mut self, x: &Var, a: &Term) {
        let u = self.uses.uses.get(x).cloned().unwrap_or_default();
        if let Term::Build { index, body, .. } = a
            && ((u.count == 1 && u.once_per_element) || is_view(body))
        {
            self.builds.insert(x.clone(), (index.clone(), body.clone()));
        }
    }
}

impl Mapper for Pull<'_> {
    fn lin(&mut self, t: &Lin) -> Lin {
        match &**t {
            LinTerm::CLet(x, a, b) => {
                let a = self.term(a);
                self.note(&x.var, &a);
                lang::target::make::clet(x.clone(), a, self.lin(b))
            }
            _ => map_lin(self, t),
        }
    }

    fn term(&mut self, t: &Tm) -> Tm {
        match &**t {
            Term::Let(..) => {
                let mut chain = vec![];
                let mut t = t.clone();
                while let Term::Let(x, a, b) = &*t.clone() {
                    let a = self.term(a);
                    self.note(&x.var, &a);
                    chain.push((x.clone(), a));
                    t = b.clone();
                }
                let result = self.term(&t);
                chain.into_iter().rev().fold(result, |r, (x, a)| make::let_(x, a, r))
            }
            Term::Index(a, k, _) => {
                let k = self.term(k);
                if let Term::Var(a) = &**a
                    && let Some((i, body)) = self.builds.get(a).cloned()
                {
                    return Subst::new(self.supply).term_for(&i, k).term(&body);
                }
                match &**t {
                    Term::Index(a, _, site) => make::index(self.term(a), k, site.clone()),
                    _ => unreachable!("matched above"),
                }
            }
            _ => map_term(self, t),
        }
    }
}
