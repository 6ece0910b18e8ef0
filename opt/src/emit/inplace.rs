//! Linear loops in place (chad.md §7): a component of the state that passes through but for elements that are taken out or replaced stays
//! in its buffer: z̲[i] is read, then the element is zeroed or stored, and everything else is where it was.
//!
//! Such a component is used once as a whole on every way through a step: it is passed on, or put with another element at i. [`in_place`] brings
//! the step into an order in which the elements that it reads are read before that.

use super::alias::{as_path, is_path_to};
use super::put::{fresh, put, put_term};
use lang::core::{Binder, Tm};
use lang::name::{Supply, Var};
use lang::target::{LBinder, Lin, LinTerm, make};
use lang::types::LType;
use lang::walk::{Mapper, free_vars_lin, map_lin};
use std::cell::Cell;

/// A step in order, and the variables bound in it that stand for the component (with the path to it) while it is being changed.
pub struct Ordered {
    pub step: Lin,
    pub stay: Vec<(Var, Vec<usize>)>,
}

/// The step with its reads of a component of the state in front of what changes it; None where the component does not stay in place.
/// `z` and `path` are the component of type `ty` as the step sees it, `position` is where the step's result has it.
pub fn in_place(
    component: (&Var, &[usize]),
    ty: &LType,
    position: &[usize],
    step: &Lin,
    supply: &mut Supply,
) -> Option<Ordered> {
    let mut steps = Steps { ty, names: Cell::new(supply.next), stay: vec![] };
    let result = steps.block(component, step);
    supply.next = steps.names.get();
    let (step, at) = result?;
    (at.as_deref() == Some(position)).then_some(Ordered { step, stay: steps.stay })
}

/// Where a term's value has the array, by projections; None: nowhere.
type At = Option<Vec<usize>>;

struct Steps<'a> {
    ty: &'a LType,
    names: Cell<u32>,
    stay: Vec<(Var, Vec<usize>)>,
}

/// What was read of the array so far: the indices and the variable.
struct Reads<'a> {
    of: (&'a Var, &'a [usize]),
    read: Vec<(Vec<Tm>, Var)>,
    /// Indices that are in range, since the array is put there.
    safe: Vec<Vec<Tm>>,
    names: &'a Cell<u32>,
    /// Binders around.
    depth: usize,
    failed: bool,
}

impl Steps<'_> {
    /// A chain of lets with a result. None: not in place.
    fn block(&mut self, of: (&Var, &[usize]), t: &Lin) -> Option<(Lin, At)> {
        let (mut clets, mut lets, mut t) = (vec![], vec![], t);
        loop {
            match &**t {
                // What is Cartesian depends on nothing linear.
                LinTerm::CLet(x, a, b) => {
                    clets.push((x.clone(), a.clone()));
                    t = b;
                }
                LinTerm::Let(y, s, b) => {
                    lets.push((y.clone(), s.clone()));
                    t = b;
                }
                _ => break,
            }
        }
        let (body, at) = self.sequence(of, lets, t)?;
        let wrap = |body: Lin, (x, a): (Binder, Tm)| make::clet(x, a, body);
        Some((clets.into_iter().rev().fold(body, wrap), at))
    }

    fn sequence(
        &mut self,
        of: (&Var, &[usize]),
        mut lets: Vec<(LBinder, Lin)>,
        last: &Lin,
    ) -> Option<(Lin, At)> {
        let names = Cell::new(self.names.get());
        let mut reads = Reads { of, read: vec![], safe: vec![], names: &names, depth: 0, failed: false };
        let (mut done, mut last) = (vec![], last.clone());
        // An element put among other terms is a let of its own: it may have to come before what is computed in between.
        if lets.iter().all(|(_, s)| whole_uses(of, s) == 0)
            && let Some((rest, p)) = self.lift(reads.of, &last, reads.names)
        {
            last = rest;
            lets.push(p);
        }
        // The first let that passes the array on; what comes after it is a step of its own.
        let first = lets.iter().position(|(_, s)| whole_uses(of, s) > 0);
        let rest = first.map_or(vec![], |k| lets.split_off(k + 1));
        let changing = first.and_then(|_| lets.pop());
        for (y, s) in lets {
            let (s, None) = self.element(&mut reads, &s)? else { return None };
            done.push((y, s));
        }
        let arrays = done.iter().any(|(y, _)| has_array(&y.ty));
        let at = match changing {
            None => {
                let (t, at) = self.element(&mut reads, &last)?;
                // What is added to the array before an element is taken out would go with it.
                if at.is_some() && arrays {
                    return None;
                }
                last = t;
                at
            }
            Some((y, s)) => {
                let (s, Some(at)) = self.element(&mut reads, &s)? else { return None };
                if arrays {
                    // It moves in front of the others, if neither needs the other.
                    let used = free_vars_lin(&s);
                    if done.iter().any(|(y, t)| used.contains(&y.var) || mentions(of, t)) {
                        return None;
                    }
                    done.insert(0, (y.clone(), s));
                } else {
                    done.push((y.clone(), s));
                }
                let rest = rest.into_iter().map(|(y, s)| (y, reads.lin(&s))).collect();
                last = reads.lin(&last);
                self.stay.push((y.var.clone(), at.clone()));
                self.names.set(names.get());
                let (body, at) = self.sequence((&y.var, &at), rest, &last)?;
                names.set(self.names.get());
                last = body;
                at
            }
        };
        self.names.set(names.get());
        if reads.failed {
            return None;
        }
        let whole = of.1.iter().fold(make::var(of.0), |z, k| make::proj(z, *k));
        let read = reads.read.into_iter().map(|(index, u)| {
            let (mut ty, mut t) = (self.ty.clone(), whole.clone());
            for i in index {
                t = make::index(t, i);
                if let LType::Array(_, element) = &ty {
                    ty = (**element).clone();
                }
            }
            (LBinder::new(u, ty), t)
        });
        let all: Vec<(LBinder, Lin)> = read.chain(done).collect();
        Some((all.into_iter().rev().fold(last, |b, (y, s)| make::let_(y, s, b)), at))
    }

    /// The put of an element of the array in a tuple or sum, as a let, and the term with the variable in its place.
    fn lift(&self, of: (&Var, &[usize]), t: &Lin, names: &Cell<u32>) -> Option<(Lin, (LBinder, Lin))> {
        let among = |ts: &mut [Lin]| {
            let (k, (rest, p)) = ts.iter().enumerate().find_map(|(k, t)| {
                let is_put = put(t).is_some_and(|p| is_path_to(&p.array, of.0, of.1));
                let own = || {
                    let z = fresh(names, "z");
                    (make::var(&z), (LBinder::new(z, self.ty.clone()), t.clone()))
                };
                Some((k, if is_put { own() } else { self.lift(of, t, names)? }))
            })?;
            ts[k] = rest;
            Some(p)
        };
        match &**t {
            LinTerm::Tuple(ts) => {
                let mut ts = ts.to_vec();
                let p = among(&mut ts)?;
                Some((make::tuple(ts), p))
            }
            LinTerm::Plus(a, b) => {
                let mut ts = [a.clone(), b.clone()];
                let p = among(&mut ts)?;
                let [a, b] = ts;
                Some((make::plus(a, b), p))
            }
            _ => None,
        }
    }

    /// One term of the sequence, and where it has the array.
    fn element(&mut self, reads: &mut Reads, t: &Lin) -> Option<(Lin, At)> {
        if let LinTerm::If(c, a, b) = &**t {
            self.names.set(reads.names.get());
            let (a, at) = self.block(reads.of, a)?;
            let (b, other) = self.block(reads.of, b)?;
            reads.names.set(self.names.get());
            return (at == other).then(|| (make::if_(c.clone(), a, b), at));
        }
        if is_path_to(t, reads.of.0, reads.of.1) {
            return Some((t.clone(), Some(vec![])));
        }
        if let Some(p) = put(t)
            && is_path_to(&p.array, reads.of.0, reads.of.1)
        {
            reads.safe.push(p.index.clone());
            let value = reads.lin(&p.value);
            let t = put_term(self.ty, &p.array, &p.index, value, reads.names)?;
            return Some((t, Some(vec![])));
        }
        // At most one part has the array, and then no other one reads of it.
        let of = reads.of;
        let alone = |ts: &[(Lin, At)]| {
            let having = ts.iter().filter(|(_, at)| at.is_some()).count();
            having == 0 || having == 1 && !ts.iter().any(|(t, at)| at.is_none() && mentions(of, t))
        };
        Some(match &**t {
            LinTerm::Plus(a, b) => {
                let parts = [self.element(reads, a)?, self.element(reads, b)?];
                if !alone(&parts) {
                    return None;
                }
                match parts {
                    // What is added comes after.
                    [(a, None), (b, Some(at))] => (make::plus(b, a), Some(at)),
                    [(a, at), (b, _)] => (make::plus(a, b), at),
                }
            }
            LinTerm::Tuple(ts) => {
                let parts: Vec<(Lin, At)> =
                    ts.iter().map(|t| self.element(reads, t)).collect::<Option<_>>()?;
                if !alone(&parts) {
                    return None;
                }
                let here = parts.iter().enumerate().find_map(|(k, (_, at))| Some((k, at.clone()?)));
                let at = here.map(|(k, at)| [vec![k], at].concat());
                (make::tuple(parts.into_iter().map(|(t, _)| t)), at)
            }
            _ => (reads.lin(t), None),
        })
    }
}

fn has_array(t: &LType) -> bool {
    match t {
        LType::Real | LType::Param(_) => false,
        LType::Tuple(ts) => ts.iter().any(has_array),
        LType::Sum(ts) => ts.iter().any(has_array),
        LType::Array(..) | LType::Power(..) | LType::Copower(..) => true,
    }
}

/// The path of an occurrence meets the component.
fn touches(of: (&Var, &[usize]), t: &Lin) -> bool {
    as_path(t).is_some_and(|(z, p)| {
        let common = p.len().min(of.1.len());
        z == *of.0 && p[..common] == of.1[..common]
    })
}

/// Counts the occurrences of the component: all, and those that are not read at an index.
struct Count<'a> {
    of: (&'a Var, &'a [usize]),
    all: usize,
    whole: usize,
}

impl Mapper for Count<'_> {
    fn term(&mut self, t: &Tm) -> Tm {
        t.clone()
    }
    fn lty(&mut self, t: &LType) -> LType {
        t.clone()
    }
    fn lin(&mut self, t: &Lin) -> Lin {
        if put(t).is_some_and(|p| touches(self.of, &p.array)) {
            self.whole += 1;
        }
        if let LinTerm::Index(a, _) = &**t
            && touches(self.of, a)
        {
            self.all += 1;
            return t.clone();
        }
        if as_path(t).is_some() {
            if touches(self.of, t) {
                self.all += 1;
                self.whole += 1;
            }
            return t.clone();
        }
        map_lin(self, t)
    }
}

fn whole_uses(of: (&Var, &[usize]), t: &Lin) -> usize {
    let mut count = Count { of, all: 0, whole: 0 };
    count.lin(t);
    count.whole
}

fn mentions(of: (&Var, &[usize]), t: &Lin) -> bool {
    let mut count = Count { of, all: 0, whole: 0 };
    count.lin(t);
    count.all > 0
}

impl Mapper for Reads<'_> {
    fn term(&mut self, t: &Tm) -> Tm {
        t.clone()
    }
    fn lty(&mut self, t: &LType) -> LType {
        t.clone()
    }
    fn bind(&mut self, v: &Var) -> Var {
        v.clone()
    }
    fn lin(&mut self, t: &Lin) -> Lin {
        // A read of an element or a row: all its indices.
        let (mut index, mut array) = (vec![], t);
        while let LinTerm::Index(a, i) = &**array {
            index.insert(0, i.clone());
            array = a;
        }
        if !index.is_empty() && is_path_to(array, self.of.0, self.of.1) {
            let known = |index: &[Tm]| self.read.iter().find(|(i, _)| i == index).map(|(_, u)| u.clone());
            // Under a binder as much of the path as is known to be in range without it.
            let safe = |index: &[Tm]| self.depth == 0 || self.safe.iter().any(|i| i == index);
            let here = (1..=index.len()).rev().find(|k| known(&index[..*k]).is_some() || safe(&index[..*k]));
            let Some(k) = here else {
                self.failed = true;
                return t.clone();
            };
            let u = known(&index[..k]).unwrap_or_else(|| {
                let u = fresh(self.names, "u");
                self.read.push((index[..k].to_vec(), u.clone()));
                u
            });
            return index[k..].iter().fold(make::var(&u), |t, i| make::index(t, i.clone()));
        }
        if as_path(t).is_some() {
            self.failed |= touches(self.of, t);
            return t.clone();
        }
        let inside = match &**t {
            LinTerm::Build { .. } | LinTerm::Sum { .. } | LinTerm::Loop { .. } | LinTerm::If(..) => 1,
            // The indices of what is under it may be its variables.
            LinTerm::CLet(..) => 1,
            _ => 0,
        };
        self.depth += inside;
        let t = map_lin(self, t);
        self.depth -= inside;
        t
    }
}
