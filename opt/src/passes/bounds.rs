//! What is known about ints: loop indices lie in their ranges, sizes are not negative, branches and checks were decided as they were.
//! Ints are polynomials over opaque values; e ≥ 0 is shown by putting each index's worst end for it, innermost first.
//!
//! Indices and sizes are taken not to overflow 64 bits: whatever counts elements fits in memory.

use lang::loops::walk;
use lang::loops::*;
use lang::prim::Scalar;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Σ coefficient · monomial; a monomial is its values, sorted.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Poly(BTreeMap<Vec<Val>, i64>);

/// Larger polynomials are not followed.
const MAX_TERMS: usize = 12;
const MAX_DEGREE: usize = 3;
/// So many ways for choices to come out are gone through.
const MAX_CASES: usize = 8;
/// Only so many of the latest facts are looked at.
const NEAR: usize = 48;

impl Poly {
    pub fn int(k: i64) -> Poly {
        let mut p = Poly::default();
        p.add(vec![], k);
        p
    }
    fn val(v: Val) -> Poly {
        Poly(BTreeMap::from([(vec![v], 1)]))
    }
    fn add(&mut self, monomial: Vec<Val>, k: i64) {
        let c = self.0.entry(monomial.clone()).or_insert(0);
        *c = c.wrapping_add(k);
        if *c == 0 {
            self.0.remove(&monomial);
        }
    }
    /// self + k · other
    pub fn plus(&self, k: i64, other: &Poly) -> Poly {
        let mut sum = self.clone();
        other.0.iter().for_each(|(m, c)| sum.add(m.clone(), c.wrapping_mul(k)));
        sum
    }
    fn plus_int(&self, k: i64) -> Poly {
        self.plus(1, &Poly::int(k))
    }
    pub fn vals(&self) -> impl Iterator<Item = Val> {
        self.0.keys().flatten().copied()
    }
    /// The values of each monomial, and its coefficient.
    pub fn terms(&self) -> impl Iterator<Item = (&[Val], i64)> {
        self.0.iter().map(|(m, c)| (m.as_slice(), *c))
    }
    /// self / k, where k divides every coefficient.
    fn divided(&self, k: i64) -> Option<Poly> {
        let part = |(m, c): (&Vec<Val>, &i64)| (c % k == 0).then(|| (m.clone(), c / k));
        self.0.iter().map(part).collect::<Option<_>>().map(Poly)
    }
    pub fn times(&self, other: &Poly) -> Poly {
        let mut product = Poly::default();
        for (m, c) in &self.0 {
            for (n, d) in &other.0 {
                let mut monomial = [m.as_slice(), n].concat();
                monomial.sort();
                product.add(monomial, c.wrapping_mul(*d));
            }
        }
        product
    }
    fn is_small(&self) -> bool {
        let small = |(m, c): (&Vec<Val>, &i64)| m.len() <= MAX_DEGREE && c.unsigned_abs() < 1 << 40;
        self.0.len() <= MAX_TERMS && self.0.iter().all(small)
    }
    /// (A, B) with self = A·v + B and v in neither; None when v occurs to a higher power.
    pub fn split(&self, v: Val) -> Option<(Poly, Poly)> {
        let (mut a, mut b) = (Poly::default(), Poly::default());
        for (m, c) in &self.0 {
            match m.iter().filter(|x| **x == v).count() {
                0 => b.add(m.clone(), *c),
                1 => a.add(m.iter().copied().filter(|x| *x != v).collect(), *c),
                _ => return None,
            }
        }
        Some((a, b))
    }
}

/// Facts about the ints of one procedure. What operations and loop ranges say holds wherever the value is in scope; branches,
/// checks and allocations add facts for a while: [`Bounds::mark`] and [`Bounds::forget`].
pub struct Bounds {
    polys: HashMap<Val, Poly>,
    /// index → its extent, with a number that grows inwards.
    ranges: HashMap<Val, (usize, Poly)>,
    /// v = ⌊x / c⌋, c > 0: v, a number as above, x, c.
    quotients: HashMap<Val, (usize, Poly, i64)>,
    /// v = x mod c, c > 0: v, x, c.
    remainders: Vec<(Val, Poly, i64)>,
    extents: HashMap<Val, Operand>,
    defs: HashMap<Val, (Op, Vec<Operand>)>,
    /// Ints that are one of two.
    choices: HashMap<Val, [Operand; 2]>,
    /// Sizes of parameters.
    sizes: HashSet<Val>,
    /// Polynomials known to be ≥ 0 here.
    facts: Vec<Poly>,
}

impl Bounds {
    pub fn new(p: &Proc) -> Bounds {
        let mut b = Bounds {
            polys: HashMap::new(),
            ranges: HashMap::new(),
            quotients: HashMap::new(),
            remainders: vec![],
            extents: HashMap::new(),
            defs: HashMap::new(),
            choices: HashMap::new(),
            sizes: HashSet::new(),
            facts: vec![],
        };
        for info in p.bufs.iter().filter(|i| i.kind.is_param()) {
            b.sizes.extend(info.shape.iter().filter_map(|o| match o {
                Operand::Val(v) => Some(*v),
                Operand::Int(_) | Operand::Real(_) | Operand::Bool(_) => None,
            }));
        }
        for (v, sum) in &p.sums {
            let product = |vs: &[Val]| vs.iter().fold(Poly::int(1), |p, v| p.times(&Poly::val(*v)));
            let poly = sum.iter().fold(Poly::default(), |p, (c, vs)| p.plus(*c, &product(vs)));
            if poly.is_small() {
                b.polys.insert(*v, poly);
            }
        }
        walk::each(&p.body, &mut |s| match s {
            Stmt::Let { dst, op, args } if p.vals[dst.0 as usize].0 != Scalar::Real => {
                b.define(*dst, *op, args)
            }
            Stmt::For(l) => {
                let (number, extent) = (b.number(), b.poly(l.extent));
                b.ranges.insert(l.index, (number, extent));
                b.extents.insert(l.index, l.extent);
            }
            Stmt::If(i) => {
                let ints = i.results.iter().filter(|(dst, ..)| p.vals[dst.0 as usize].0 == Scalar::Int);
                b.choices.extend(ints.map(|(dst, t, e)| (*dst, [*t, *e])));
            }
            _ => (),
        });
        b
    }

    fn define(&mut self, dst: Val, op: Op, args: &[Operand]) {
        self.defs.insert(dst, (op, args.to_vec()));
        let poly = match (op, args) {
            (Op::IAdd, [x, y]) => self.poly(*x).plus(1, &self.poly(*y)),
            (Op::ISub, [x, y]) => self.poly(*x).plus(-1, &self.poly(*y)),
            (Op::IMul, [x, y]) => self.poly(*x).times(&self.poly(*y)),
            // 0 ≤ x mod n < n for n ≥ 1, as an index of that range.
            (Op::IMod, [x, Operand::Int(n)]) if *n > 0 => {
                self.remainders.push((dst, self.poly(*x), *n));
                self.ranges.insert(dst, (self.number(), Poly::int(*n)));
                return;
            }
            (Op::IDiv, [x, Operand::Int(c)]) if *c > 0 => {
                self.quotients.insert(dst, (self.number(), self.poly(*x), *c));
                return;
            }
            (Op::Select, [_, t, e]) => {
                self.choices.insert(dst, [*t, *e]);
                return;
            }
            _ => return,
        };
        if poly.is_small() {
            self.polys.insert(dst, poly);
        }
    }

    /// For what is defined next: larger than the numbers of what it depends on.
    fn number(&self) -> usize {
        self.ranges.len() + self.quotients.len()
    }

    pub fn poly(&self, o: Operand) -> Poly {
        match o {
            Operand::Val(v) => self.polys.get(&v).cloned().unwrap_or_else(|| Poly::val(v)),
            Operand::Int(k) => Poly::int(k),
            Operand::Real(_) | Operand::Bool(_) => Poly::default(),
        }
    }

    /// The operation that gives an int or a bool.
    pub fn definition(&self, v: Val) -> Option<(Op, &[Operand])> {
        self.defs.get(&v).map(|(op, args)| (*op, args.as_slice()))
    }

    /// The extent of a loop's index, with a number that grows inwards.
    pub fn index(&self, v: Val) -> Option<(usize, Operand)> {
        Some((self.ranges.get(&v)?.0, *self.extents.get(&v)?))
    }

    /// A place to return to with [`Bounds::forget`].
    pub fn mark(&self) -> usize {
        self.facts.len()
    }
    /// Drops the facts learnt since the mark.
    pub fn forget(&mut self, mark: usize) {
        self.facts.truncate(mark);
    }
    /// Asks a question with the facts of the mark only.
    pub fn at<T>(&mut self, mark: usize, ask: impl FnOnce(&Bounds) -> T) -> T {
        let later = self.facts.split_off(mark);
        let answer = ask(self);
        self.facts.extend(later);
        answer
    }

    /// In the body of this loop there is an iteration.
    pub fn enter(&mut self, l: &For) {
        let some = self.poly(l.extent).plus_int(-1);
        self.push(some);
    }
    /// The sizes of a buffer that lives are not negative.
    pub fn lives(&mut self, info: &BufInfo) {
        let sizes: Vec<Poly> = info.shape.iter().map(|o| self.poly(*o)).collect();
        sizes.into_iter().for_each(|s| self.push(s));
    }
    fn push(&mut self, fact: Poly) {
        if fact.is_small() && !self.worst(fact.clone()) {
            self.facts.push(fact);
        }
    }
    /// From here on the condition is known.
    pub fn assume(&mut self, cond: Operand, truth: bool) {
        let Operand::Val(v) = cond else { return };
        let Some((op, args)) = self.defs.get(&v).cloned() else { return };
        match (op, args.as_slice(), truth) {
            (Op::BAnd, [a, b], true) | (Op::BOr, [a, b], false) => {
                self.assume(*a, truth);
                self.assume(*b, truth);
            }
            (Op::BNot, [a], _) => self.assume(*a, !truth),
            (Op::ILt, [a, b], true) | (Op::ILe, [b, a], false) => self.learn(*b, *a, -1),
            (Op::ILe, [a, b], true) | (Op::ILt, [b, a], false) => self.learn(*b, *a, 0),
            (Op::IEq, [a, b], true) | (Op::INe, [a, b], false) => {
                self.learn(*a, *b, 0);
                self.learn(*b, *a, 0);
            }
            // x ≠ y at an end of what x may be: x ≥ y and x ≠ y give x > y.
            (Op::IEq, [a, b], false) | (Op::INe, [a, b], true) => {
                for (x, y) in [(*a, *b), (*b, *a)] {
                    if self.nonneg(&self.poly(x).plus(-1, &self.poly(y))) {
                        self.learn(x, y, -1);
                    }
                }
            }
            _ => (),
        }
    }
    /// x − y + k ≥ 0
    fn learn(&mut self, x: Operand, y: Operand, k: i64) {
        let fact = self.poly(x).plus(-1, &self.poly(y)).plus_int(k);
        self.push(fact);
    }

    /// The condition can be shown.
    pub fn holds(&self, cond: Operand) -> bool {
        match cond {
            Operand::Bool(b) => b,
            Operand::Val(v) => self.defs.get(&v).is_some_and(|(op, args)| match op {
                Op::BAnd => args.iter().all(|a| self.holds(*a)),
                _ => self.decide(*op, args) == Some(true),
            }),
            Operand::Real(_) | Operand::Int(_) => false,
        }
    }

    /// The truth of a comparison of ints, where it can be shown.
    pub fn decide(&self, op: Op, args: &[Operand]) -> Option<bool> {
        let [x, y] = args else { return None };
        let (x, y) = (self.poly(*x), self.poly(*y));
        let less = |a: &Poly, b: &Poly| self.nonneg(&b.plus(-1, a).plus_int(-1));
        let at_most = |a: &Poly, b: &Poly| self.nonneg(&b.plus(-1, a));
        let yes_no = |yes: bool, no: &dyn Fn() -> bool| if yes { Some(true) } else { no().then_some(false) };
        match op {
            Op::ILt => yes_no(less(&x, &y), &|| at_most(&y, &x)),
            Op::ILe => yes_no(at_most(&x, &y), &|| less(&y, &x)),
            Op::IEq => yes_no(x == y, &|| less(&x, &y) || less(&y, &x)),
            Op::INe => yes_no(less(&x, &y) || less(&y, &x), &|| x == y),
            _ => None,
        }
    }

    /// The element is there.
    pub fn in_bounds(&self, info: &BufInfo, index: &[Operand]) -> bool {
        index.iter().zip(&info.shape).all(|(i, n)| {
            let (i, n) = (self.poly(*i), self.poly(*n));
            self.nonneg(&i) && self.nonneg(&n.plus(-1, &i).plus_int(-1))
        })
    }

    /// x ≤ y can be shown.
    pub fn at_most(&self, x: Operand, y: Operand) -> bool {
        self.nonneg(&self.poly(y).plus(-1, &self.poly(x)))
    }

    /// The same with c·⌊x / c⌋ + x mod c = x put together.
    pub fn joined(&self, mut e: Poly) -> Poly {
        let step = |e: &Poly| {
            let quotients = e.vals().filter_map(|v| Some((v, self.quotients.get(&v)?)));
            quotients.into_iter().find_map(|(v, (_, x, c))| {
                let (a, b) = e.split(v)?;
                let (rest, ..) = self.remainders.iter().find(|(_, y, d)| y == x && d == c)?;
                Some(a.divided(*c)?.times(&x.plus(-1, &Poly::val(*rest))).plus(1, &b))
            })
        };
        while let Some(next) = step(&e) {
            e = next;
        }
        e
    }

    /// e ≥ 0 can be shown, whichever of two each choice in it is.
    pub fn nonneg(&self, e: &Poly) -> bool {
        self.nonneg_in_cases(e, MAX_CASES)
    }

    fn nonneg_in_cases(&self, e: &Poly, cases: usize) -> bool {
        let choice = e.vals().find_map(|v| Some((v, self.choices.get(&v)?)));
        if let Some((v, either)) = choice
            && cases > 1
            && let Some((a, b)) = e.split(v)
            && either.iter().all(|x| self.nonneg_in_cases(&a.times(&self.poly(*x)).plus(1, &b), cases / 2))
        {
            return true;
        }
        self.follows(e) || self.multiplied_out(e).is_some_and(|e| self.follows(&e))
    }

    /// e without quotients, ≥ 0 only if e is; None where there are none.
    fn multiplied_out(&self, e: &Poly) -> Option<Poly> {
        let v = e.vals().find(|v| self.quotients.contains_key(v))?;
        let rest = self.without_quotient(e, v)?;
        Some(self.multiplied_out(&rest).unwrap_or(rest))
    }

    /// For v = ⌊x / c⌋ and ints: x − c + 1 ≤ c·v ≤ x, and e ≥ 0 where c·e + c − 1 ≥ 0.
    fn without_quotient(&self, e: &Poly, v: Val) -> Option<Poly> {
        let (_, x, c) = self.quotients.get(&v)?;
        let (a, b) = e.split(v)?;
        let least = match (self.sign(&a, 1), self.sign(&a, -1)) {
            (true, _) => x.plus_int(1 - c),
            (_, true) => x.clone(),
            _ => return None,
        };
        Some(a.times(&least).plus(*c, &b).plus_int(c - 1)).filter(Poly::is_small)
    }

    /// By itself, or after taking away one or two things known to be ≥ 0.
    fn follows(&self, e: &Poly) -> bool {
        if self.worst(e.clone()) {
            return true;
        }
        // Facts about other values do not help; the latest are the likeliest.
        let near: Vec<&Poly> = self.facts.iter().rev().take(NEAR).filter(|f| shares(e, f)).take(16).collect();
        near.iter().enumerate().any(|(k, f)| {
            let rest = e.plus(-1, f);
            self.worst(rest.clone()) || near[k + 1..].iter().any(|g| self.worst(rest.plus(-1, g)))
        })
    }

    /// e ≥ 0 at the worst ends of the ranges of its indices.
    fn worst(&self, mut e: Poly) -> bool {
        while let Some((_, v)) = self.innermost(&e) {
            let Some((a, b)) = e.split(v) else { return false };
            if self.quotients.contains_key(&v) {
                let Some(rest) = self.without_quotient(&e, v) else { return false };
                e = rest;
            } else if self.sign(&a, 1) {
                e = b;
            } else if self.sign(&a, -1) {
                let last = self.ranges[&v].1.plus_int(-1);
                e = a.times(&last).plus(1, &b);
            } else {
                return false;
            }
            if !e.is_small() {
                return false;
            }
        }
        self.sign(&e, 1)
    }
    fn innermost(&self, e: &Poly) -> Option<(usize, Val)> {
        let number = |v: &Val| self.ranges.get(v).map(|r| r.0).or(self.quotients.get(v).map(|q| q.0));
        e.0.keys().flatten().filter_map(|v| Some((number(v)?, *v))).max()
    }
    /// Every coefficient has this sign (or is 0), and no value is negative.
    fn sign(&self, e: &Poly, sign: i64) -> bool {
        e.0.iter().all(|(m, c)| c.signum() == sign && m.iter().all(|v| self.is_count(*v)))
    }
    fn is_count(&self, v: Val) -> bool {
        self.sizes.contains(&v)
            || self.ranges.contains_key(&v)
            || self
                .facts
                .iter()
                .rev()
                .take(NEAR)
                .any(|f| f.0.len() <= 2 && f.0.get([v].as_slice()) == Some(&1) && rest_at_most_zero(f, v))
    }
}

/// f = v − k with k ≥ 0, so that f ≥ 0 gives v ≥ 0.
fn rest_at_most_zero(f: &Poly, v: Val) -> bool {
    f.0.iter().all(|(m, c)| m.as_slice() == [v] || m.is_empty() && *c <= 0)
}

fn shares(e: &Poly, f: &Poly) -> bool {
    f.0.keys().flatten().any(|v| e.0.keys().flatten().any(|w| v == w))
}
