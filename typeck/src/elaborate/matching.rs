//! `match` as a tree of decisions on one part of the value at a time, the arms tried in order. What reaches no arm is a value that is left
//! out; an arm that no decision ends in is never reached.

use super::*;
use lang::walk::free_vars;
use std::fmt::Write;

/// More decisions than this are refused.
const LIMIT: usize = 10_000;

/// A part of the value that is matched.
#[derive(Clone)]
struct Part {
    term: Tm,
    ty: T,
    /// Its place among what is known of the value.
    seen: usize,
}

/// What the decisions so far say of a part.
#[derive(Clone)]
enum Seen {
    Nothing,
    Tuple(Vec<usize>),
    Record(Vec<(lang::name::Name, usize)>),
    Array(Vec<usize>),
    Bool(bool),
    Int(i64),
    NotInts(Vec<i64>),
    Constructor { name: lang::name::Name, payload: Option<usize> },
}

/// A pattern for each part that is still open, and what the arm has bound.
#[derive(Clone)]
struct Line<'p> {
    patterns: Vec<Option<&'p P>>,
    bound: Vec<(Var, Tm)>,
    arm: usize,
}

enum Tree {
    /// No arm: reported.
    Missing,
    Arm(usize, Vec<(Var, Tm)>),
    If(Tm, Box<Tree>, Box<Tree>),
    Case(Tm, Vec<(Binder, Tree)>),
    /// An array pattern of this length.
    Length(Box<Around>, Box<Tree>),
}

struct Matching {
    seen: Vec<Seen>,
    left_out: Option<String>,
    decisions: usize,
}

impl Elaborate<'_> {
    pub(super) fn match_term(&mut self, scrutinee: &Te, arms: &[(P, Te)], ty: &T, span: Span) -> Tm {
        let mut around = vec![];
        let value = self.term(scrutinee);
        let value_ty = self.ty(&scrutinee.ty, scrutinee.span);
        let value = self.named(value, value_ty, "s", &mut around);
        let mut m = Matching { seen: vec![Seen::Nothing], left_out: None, decisions: 0 };
        let whole = Part { term: value, ty: scrutinee.ty.clone(), seen: 0 };
        let patterns = arms.iter().map(|(p, _)| p).enumerate();
        let lines = patterns.map(|(arm, p)| Line { patterns: vec![Some(p)], bound: vec![], arm }).collect();
        let tree = self.decide(&mut m, vec![whole], lines);
        if m.decisions > LIMIT {
            let d = Diagnostic::new(codes::TYPE_TOO_LARGE, "this match takes too many decisions");
            self.inf.report(d.label(span, format!("more than {LIMIT}")));
            return unit();
        }
        if let Some(value) = m.left_out {
            self.inf.report(
                Diagnostic::new(codes::INEXHAUSTIVE, format!("this match leaves out `{value}`"))
                    .label(span, "no arm takes this value")
                    .help(format!("add an arm `| {value} -> …`, or `| _ -> …` for all that is left")),
            );
            return unit();
        }
        let mut uses = vec![0; arms.len()];
        count(&tree, &mut uses);
        for ((p, _), _) in arms.iter().zip(&uses).filter(|(_, n)| **n == 0) {
            self.inf.report(
                Diagnostic::new(codes::UNREACHABLE_ARM, "no value reaches this arm")
                    .label(p.span, "the arms before it take all that it would"),
            );
        }
        let mut bodies = vec![];
        for ((p, body), uses) in arms.iter().zip(uses) {
            bodies.push(self.arm(p, body, ty, uses > 1, &mut around));
        }
        wrap(around, written(tree, &bodies))
    }

    /// The body of an arm: a term in which its variables are free or, where several decisions end in it, a function of them.
    fn arm(&mut self, p: &P, body: &Te, ty: &T, shared: bool, around: &mut Vec<Around>) -> Arm {
        let mut vars = vec![];
        variables(p, &mut vars);
        let mut params = vec![];
        for (v, t) in vars {
            let binder = Binder::new(v, self.ty(t, p.span));
            if binder.ty == Type::Int {
                self.ints.insert(binder.var.id);
            }
            params.push(binder);
        }
        let core = self.scoped(ty, body.span, |s| s.term(body));
        let ints: Vec<u32> =
            params.iter().filter(|x| self.ints.remove(&x.var.id)).map(|x| x.var.id).collect();
        let result = if ints.is_empty() && !shared { T::unit() } else { self.closed(ty, body.span) };
        if !shared {
            return Arm { params, body: core, function: None };
        }
        let unused = Binder::new(self.inf.supply.fresh("_"), Type::unit());
        let all = if params.is_empty() { vec![unused] } else { params.clone() };
        let result = result.to_type().unwrap_or_else(Type::unit);
        let f_ty = all.iter().rev().fold(result, |t, x| Type::fun(x.ty.clone(), t));
        let f = all.into_iter().rev().fold(core, |t, x| lam(x, t));
        let v = self.inf.supply.fresh("arm");
        around.push(Around::Let(Binder::new(v.clone(), f_ty), f));
        Arm { params, body: unit(), function: Some(v) }
    }

    fn decide<'p>(&mut self, m: &mut Matching, parts: Vec<Part>, lines: Vec<Line<'p>>) -> Tree {
        m.decisions += 1;
        let Some(first) = lines.first() else {
            let value = m.shown(0, false);
            m.left_out.get_or_insert(value);
            return Tree::Missing;
        };
        if m.decisions > LIMIT {
            return Tree::Missing;
        }
        let open = |p: &Option<&'p P>| p.is_some_and(|p| !matches!(p.kind, PK::Var(_) | PK::Wildcard));
        let Some(column) = first.patterns.iter().position(open) else {
            let line = first.clone();
            let vars = line.patterns.iter().zip(&parts).filter_map(|(p, part)| match p.map(|p| &p.kind) {
                Some(PK::Var(v)) => Some((v.clone(), part.term.clone())),
                _ => None,
            });
            return Tree::Arm(line.arm, line.bound.into_iter().chain(vars).collect());
        };
        let part = parts[column].clone();
        let Some(pattern) = first.patterns[column] else { return Tree::Missing };
        // The lines that remain when the part's pattern is taken apart by `f` into patterns for new parts.
        let rest = |f: &dyn Fn(&'p P) -> Option<Vec<Option<&'p P>>>, width: usize| {
            let mut out = vec![];
            for line in &lines {
                let mut line = line.clone();
                let p = line.patterns.remove(column);
                let inner = match p {
                    None => Some(vec![None; width]),
                    Some(p) => match &p.kind {
                        PK::Wildcard => Some(vec![None; width]),
                        PK::Var(v) => {
                            line.bound.push((v.clone(), part.term.clone()));
                            Some(vec![None; width])
                        }
                        _ => f(p),
                    },
                };
                if let Some(inner) = inner {
                    line.patterns.extend(inner);
                    out.push(line);
                }
            }
            out
        };
        let with = |new: Vec<Part>| {
            let mut parts = parts.clone();
            parts.remove(column);
            parts.extend(new);
            parts
        };
        let known = m.seen[part.seen].clone();
        let tree = match &pattern.kind {
            PK::Var(_) | PK::Wildcard => Tree::Missing,
            PK::Tuple(ps) | PK::Record(ps) => {
                let mut new = vec![];
                for (k, p) in ps.iter().enumerate() {
                    new.push(Part { term: proj(part.term.clone(), k), ty: p.ty.clone(), seen: m.unseen() });
                }
                let seen = new.iter().map(|p| p.seen);
                m.seen[part.seen] = match self.inf.metas.resolve(&part.ty) {
                    T::Record(fs) => Seen::Record(fs.iter().map(|(x, _)| x.clone()).zip(seen).collect()),
                    _ => Seen::Tuple(seen.collect()),
                };
                let inner = |p: &'p P| match &p.kind {
                    PK::Tuple(ps) | PK::Record(ps) => Some(ps.iter().map(Some).collect()),
                    _ => None,
                };
                let lines = rest(&inner, ps.len());
                self.decide(m, with(new), lines)
            }
            PK::Array(ps) => {
                let mut length = vec![];
                let binder = P { kind: PK::Array(vec![]), ..pattern.clone() };
                let site = self.site(pattern.span);
                if let Type::Array(n, _) = self.ty(&binder.ty, pattern.span)
                    && n.as_constant() != Some(ps.len() as i64)
                {
                    let (n, k) = (lang::core::make::size(&n), int(ps.len() as i64));
                    let (cond, details) = (self.int_equal(n.clone(), k.clone()), vec![n, k]);
                    length.push(Around::Check {
                        cond,
                        failure: Failure::SizeMismatch,
                        details,
                        site: site.clone(),
                    });
                }
                let mut new = vec![];
                for (k, p) in ps.iter().enumerate() {
                    let term = index(part.term.clone(), int(k as i64), site.clone());
                    new.push(Part { term, ty: p.ty.clone(), seen: m.unseen() });
                }
                m.seen[part.seen] = Seen::Array(new.iter().map(|p| p.seen).collect());
                let inner = |p: &'p P| match &p.kind {
                    PK::Array(qs) if qs.len() == ps.len() => Some(qs.iter().map(Some).collect()),
                    _ => None,
                };
                let lines = rest(&inner, ps.len());
                let tree = self.decide(m, with(new), lines);
                match length.pop() {
                    Some(check) => Tree::Length(Box::new(check), Box::new(tree)),
                    None => tree,
                }
            }
            PK::Bool(_) => {
                let mut side = |s: &mut Self, b: bool| {
                    m.seen[part.seen] = Seen::Bool(b);
                    let lines = rest(&|p| matches!(p.kind, PK::Bool(c) if b == c).then(Vec::new), 0);
                    Box::new(s.decide(m, with(vec![]), lines))
                };
                let (yes, no) = (side(self, true), side(self, false));
                Tree::If(part.term.clone(), yes, no)
            }
            PK::Int(k) => {
                let mut others = match &known {
                    Seen::NotInts(ks) => ks.clone(),
                    _ => vec![],
                };
                m.seen[part.seen] = Seen::Int(*k);
                let same = rest(&|p| matches!(p.kind, PK::Int(j) if j == *k).then(Vec::new), 0);
                let yes = self.decide(m, with(vec![]), same);
                others.push(*k);
                m.seen[part.seen] = Seen::NotInts(others);
                // The part stays: other numbers may be asked for.
                let differs = |line: &&Line| !matches!(line.patterns[column].map(|p| &p.kind), Some(PK::Int(j)) if j == k);
                let lines = lines.iter().filter(differs).cloned().collect();
                let no = self.decide(m, parts.clone(), lines);
                let cond = self.int_equal(part.term.clone(), int(*k));
                Tree::If(cond, Box::new(yes), Box::new(no))
            }
            PK::Constructor(..) => {
                let T::Sum(sum) = self.inf.metas.zonk(&part.ty) else { return Tree::Missing };
                let mut arms = vec![];
                for (k, (name, ty)) in sum.arms.iter().enumerate() {
                    let x = Binder::new(self.inf.supply.fresh("x"), self.ty(ty, pattern.span));
                    let payload = (*ty != T::unit()).then(|| m.unseen());
                    let seen = payload.unwrap_or_else(|| m.unseen());
                    m.seen[part.seen] = Seen::Constructor { name: name.clone(), payload };
                    let new = Part { term: var(&x.var), ty: ty.clone(), seen };
                    let inner = |p: &'p P| match &p.kind {
                        PK::Constructor(j, p) if *j == k => Some(vec![Some(&**p)]),
                        _ => None,
                    };
                    let lines = rest(&inner, 1);
                    arms.push((x, self.decide(m, with(vec![new]), lines)));
                }
                Tree::Case(part.term.clone(), arms)
            }
        };
        m.seen[part.seen] = known;
        tree
    }
}

/// An arm's variables and body.
struct Arm {
    params: Vec<Binder>,
    body: Tm,
    function: Option<Var>,
}

impl Matching {
    fn unseen(&mut self) -> usize {
        self.seen.push(Seen::Nothing);
        self.seen.len() - 1
    }

    /// A pattern of the values that the decisions so far let through.
    fn shown(&self, part: usize, inside: bool) -> String {
        let list = |ps: &[usize]| ps.iter().map(|p| self.shown(*p, false)).collect::<Vec<_>>().join(", ");
        match &self.seen[part] {
            Seen::Nothing => "_".into(),
            Seen::Tuple(ps) => format!("({})", list(ps)),
            Seen::Array(ps) => format!("[{}]", list(ps)),
            Seen::Record(fs) => {
                let mut out = String::new();
                for (k, (x, p)) in fs.iter().enumerate() {
                    let comma = if k == 0 { "" } else { ", " };
                    let _ = write!(out, "{comma}{x} = {}", self.shown(*p, false));
                }
                format!("{{{out}}}")
            }
            Seen::Bool(b) => b.to_string(),
            Seen::Int(k) => k.to_string(),
            Seen::NotInts(ks) => (0..).find(|k| !ks.contains(k)).unwrap_or(0).to_string(),
            Seen::Constructor { name, payload: None } => name.to_string(),
            Seen::Constructor { name, payload: Some(p) } => {
                let text = format!("{name} {}", self.shown(*p, true));
                if inside { format!("({text})") } else { text }
            }
        }
    }
}

/// How many decisions end in each arm.
fn count(t: &Tree, uses: &mut [usize]) {
    match t {
        Tree::Missing => {}
        Tree::Arm(k, _) => uses[*k] += 1,
        Tree::If(_, a, b) => {
            count(a, uses);
            count(b, uses);
        }
        Tree::Case(_, arms) => arms.iter().for_each(|(_, t)| count(t, uses)),
        Tree::Length(_, t) => count(t, uses),
    }
}

fn written(t: Tree, arms: &[Arm]) -> Tm {
    match t {
        Tree::Missing => unit(),
        Tree::If(c, a, b) => if_(c, written(*a, arms), written(*b, arms)),
        Tree::Case(t, cases) => {
            let arm = |(x, t): (Binder, Tree)| named_payload(x, written(t, arms));
            Arc::new(Term::Case(t, cases.into_iter().map(arm).collect()))
        }
        Tree::Length(check, t) => wrap(vec![*check], written(*t, arms)),
        Tree::Arm(k, bound) => {
            let arm = &arms[k];
            let value =
                |x: &Binder| bound.iter().find(|(v, _)| *v == x.var).map_or_else(unit, |(_, t)| t.clone());
            match &arm.function {
                None => arm.params.iter().rev().fold(arm.body.clone(), |t, x| let_(x.clone(), value(x), t)),
                Some(f) if arm.params.is_empty() => app(var(f), unit()),
                Some(f) => arm.params.iter().fold(var(f), |f, x| app(f, value(x))),
            }
        }
    }
}

/// `C x -> let y = x in t` is `C y -> t`.
fn named_payload(x: Binder, t: Tm) -> (Binder, Tm) {
    match &*t {
        Term::Let(y, a, b)
            if matches!(&**a, Term::Var(v) if *v == x.var) && !free_vars(b).contains(&x.var) =>
        {
            (y.clone(), b.clone())
        }
        _ => (x, t),
    }
}

/// The variables of a pattern.
fn variables<'p>(p: &'p P, out: &mut Vec<(Var, &'p T)>) {
    match &p.kind {
        PK::Wildcard | PK::Int(_) | PK::Bool(_) => {}
        PK::Var(v) => out.push((v.clone(), &p.ty)),
        PK::Tuple(ps) | PK::Record(ps) | PK::Array(ps) => ps.iter().for_each(|p| variables(p, out)),
        PK::Constructor(_, p) => variables(p, out),
    }
}
