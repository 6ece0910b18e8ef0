//! Vertical fusion on terms: an array that is read once per element, or costs nothing to recompute, is not built but read
//! through its definition: (build n (λi. t))[k] = t[k/i] for 0 ≤ k < n. Where that is not evident from the loops around, it is checked.

use crate::cost::{self, CHEAP};
use lang::core::{Binder, Term, Tm, make};
use lang::diag::{Failure, Site};
use lang::name::{Supply, Var};
use lang::prim::Prim;
use lang::size::Size;
use lang::target::{Lin, LinTerm};
use lang::walk::{Mapper, Subst, map_lin, map_term};
use std::collections::HashMap;

/// Pulls definitions of let-bound builds into their uses. The term must be in normal form; fresh variables are numbered from `supply`.
pub fn pull(t: &Tm, supply: &mut Supply) -> Tm {
    let mut uses = Uses::default();
    uses.term(t);
    Pull { uses, once: HashMap::new(), builds: HashMap::new(), ranges: HashMap::new(), supply }.term(t)
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
    /// Builds whose elements are read once, as they were before anything was pulled into them: in a chain of them each is met once, where it is read.
    once: HashMap<Var, (Var, Size, Tm)>,
    /// Other builds to be read through: index, bound and body.
    builds: HashMap<Var, (Var, Size, Tm)>,
    /// The bounds of loop indices.
    ranges: HashMap<Var, Size>,
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
        Term::Check { failure: Failure::IndexOutOfRange, body, .. } => is_view(body),
        _ => false,
    }
}

/// A scalar that is the same for every index, and so is computed once however often it is read.
fn is_same(t: &Tm, index: &Var) -> bool {
    cost::of_scalar(t).is_some_and(|c| c <= CHEAP) && !lang::walk::free_vars(t).contains(index)
}

impl Pull<'_> {
    /// Whether a build's elements are read once; its let is then no longer needed.
    fn once(&mut self, x: &Var, a: &Term) -> bool {
        let Some(Use { count: 1, once_per_element: true }) = self.uses.uses.get(x) else { return false };
        let Term::Build { index, bound, body } = a else { return false };
        self.once.insert(x.clone(), (index.clone(), bound.clone(), body.clone()));
        true
    }

    /// Notes a build that is to be read through otherwise.
    fn note(&mut self, x: &Var, a: &Term) {
        if let Term::Build { index, bound, body } = a
            && (is_view(body) || is_same(body, index))
        {
            self.builds.insert(x.clone(), (index.clone(), bound.clone(), body.clone()));
        }
    }

    /// What a let binds, pulled, its own lets before it: let x = (let y = c in d) in b is let y = c in let x = d in b, and
    /// let x = (let y = c in y) in b is let x = c in b.
    fn flat(&mut self, a: &Tm, before: &mut Vec<(Binder, Tm)>) -> Tm {
        let mut a = self.term(a);
        while let Term::Let(y, c, d) = &*a.clone() {
            a = match &**d {
                Term::Var(d) if *d == y.var => c.clone(),
                _ => {
                    before.push((y.clone(), c.clone()));
                    d.clone()
                }
            };
        }
        a
    }

    /// (build n (λi. t))[k], t being needed in other places too.
    fn element(&mut self, i: &Var, n: &Size, t: &Tm, k: Tm, site: &Site) -> Tm {
        let element = Subst::new(self.supply).term_for(i, k.clone()).term(t);
        self.in_range(&k, n, site, element)
    }

    fn in_range(&mut self, k: &Tm, n: &Size, site: &Site, element: Tm) -> Tm {
        if self.within(k, n) { element } else { checked(k, n, site, element) }
    }

    /// Is 0 ≤ k < n, whatever the indices in k are within their ranges?
    fn within(&self, k: &Tm, n: &Size) -> bool {
        let evident = || {
            let k = lang::walk::as_size(k)?;
            let above = self.least(&n.checked_add(&k.checked_neg()?)?.checked_add(&Size::constant(-1))?)?;
            Some(self.never_negative(&self.least(&k)?) && self.never_negative(&above))
        };
        evident().unwrap_or(false)
    }

    /// A lower bound: indices that are subtracted are replaced by the last of their range.
    fn least(&self, e: &Size) -> Option<Size> {
        let last = |v: &Var| self.ranges.get(v)?.checked_add(&Size::constant(-1));
        let mut sum = Size::constant(0);
        for (m, c) in e.terms.iter() {
            let term = Size::term(m.clone(), *c);
            let falls = *c < 0 && m.iter().any(|v| self.ranges.contains_key(v));
            if falls && !m.iter().all(|v| self.natural(v)) {
                return None;
            }
            sum = sum.checked_add(&if falls { term.subst(&last)? } else { term })?;
        }
        Some(sum)
    }

    /// Indices and the bounds of loops are never negative.
    fn natural(&self, v: &Var) -> bool {
        self.ranges.contains_key(v) || self.ranges.values().any(|n| n.as_var() == Some(v))
    }

    fn never_negative(&self, e: &Size) -> bool {
        e.terms.iter().all(|(m, c)| *c >= 0 && m.iter().all(|v| self.natural(v)))
    }
}

/// t[k/i] of a term that is nowhere else: it keeps its binders.
struct At<'a> {
    index: &'a Var,
    k: &'a Tm,
}

impl Mapper for At<'_> {
    fn term(&mut self, t: &Tm) -> Tm {
        match &**t {
            Term::Var(v) if v == self.index => self.k.clone(),
            _ => map_term(self, t),
        }
    }
    fn size(&mut self, n: &Size) -> Size {
        if !n.vars().any(|v| v == self.index) {
            return n.clone();
        }
        let k = lang::walk::as_size(self.k).expect("an index that types mention is a polynomial");
        n.subst(&|v| (v == self.index).then(|| k.clone())).expect("a size stays within its limits")
    }
}

/// t, or the failure of an index.
fn checked(k: &Tm, n: &Size, site: &Site, t: Tm) -> Tm {
    let n = make::size(n);
    let low = make::prim(Prim::ILe, [make::int(0), k.clone()]);
    let high = make::prim(Prim::ILt, [k.clone(), n.clone()]);
    std::sync::Arc::new(Term::Check {
        cond: make::prim(Prim::And, [low, high]),
        failure: Failure::IndexOutOfRange,
        details: vec![k.clone(), n],
        site: site.clone(),
        body: t,
    })
}

impl Mapper for Pull<'_> {
    fn lin(&mut self, t: &Lin) -> Lin {
        match &**t {
            LinTerm::CLet(x, a, b) if self.once(&x.var, a) => self.lin(b),
            LinTerm::CLet(x, a, b) => {
                let mut chain = vec![];
                let a = self.flat(a, &mut chain);
                self.note(&x.var, &a);
                let result = lang::target::make::clet(x.clone(), a, self.lin(b));
                chain.into_iter().rev().fold(result, |r, (y, c)| lang::target::make::clet(y, c, r))
            }
            LinTerm::Build { index, bound, .. }
            | LinTerm::Sum { index, bound, .. }
            | LinTerm::Loop { index, bound, .. } => {
                self.ranges.insert(index.clone(), bound.clone());
                map_lin(self, t)
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
                    if !self.once(&x.var, a) {
                        let a = self.flat(a, &mut chain);
                        self.note(&x.var, &a);
                        chain.push((x.clone(), a));
                    }
                    t = b.clone();
                }
                let result = self.term(&t);
                chain.into_iter().rev().fold(result, |r, (x, a)| make::let_(x, a, r))
            }
            Term::Index(a, k, site) => {
                let k = self.term(k);
                if let Term::Var(a) = &**a
                    && let Some((i, n, body)) = self.once.remove(a)
                {
                    let element = At { index: &i, k: &k }.term(&body);
                    let element = self.term(&element);
                    return self.in_range(&k, &n, site, element);
                }
                if let Term::Var(a) = &**a
                    && let Some((i, n, body)) = self.builds.get(a).cloned()
                {
                    return self.element(&i, &n, &body, k, site);
                }
                match &*self.term(a) {
                    // A row that was read through, of which one element is wanted.
                    Term::Build { index, bound, body } => self.element(index, bound, body, k, site),
                    a => make::index(a.clone().into(), k, site.clone()),
                }
            }
            Term::Build { index, bound, .. }
            | Term::Sum { index, bound, .. }
            | Term::Extremum { index, bound, .. }
            | Term::Loop { index, bound, .. } => {
                self.ranges.insert(index.clone(), bound.clone());
                map_term(self, t)
            }
            _ => map_term(self, t),
        }
    }
}
