//! Unification of types and of sizes. A size equation is solved for a metavariable that stands alone in it with
//! coefficient ±1 (so `n` and `n + c` are solved, by subtraction); any other waits until it is known.

use crate::ty::{SIZE_META, T, is_size_meta};
use lang::diag::Span;
use lang::name::Var;
use lang::size::Size;

/// Why two types do not agree.
#[derive(Clone, Debug)]
pub enum Clash {
    Types(T, T),
    Sizes(Size, Size),
    Infinite(T),
    /// A size variable would have to be this.
    Negative(String, i64),
    Overflow,
}

#[derive(Default)]
struct TypeMeta {
    solution: Option<T>,
    /// Only real and int: the type of a numeral.
    number: bool,
}

/// A size metavariable: what it was solved to, and the place that fixed it.
#[derive(Default)]
struct SizeMeta {
    solution: Option<Size>,
    fixed_at: Option<Span>,
}

#[derive(Default)]
pub struct Metas {
    types: Vec<TypeMeta>,
    sizes: Vec<SizeMeta>,
    /// Size equations that are not linear in a metavariable yet, with their place.
    pub stuck: Vec<(Size, Size, Span)>,
    /// The place on whose behalf sizes are being solved.
    pub at: Span,
}

impl Metas {
    pub fn fresh(&mut self) -> T {
        self.types.push(TypeMeta::default());
        T::Meta(self.types.len() as u32 - 1)
    }

    /// A metavariable for real or int.
    pub fn fresh_number(&mut self) -> T {
        self.types.push(TypeMeta { solution: None, number: true });
        T::Meta(self.types.len() as u32 - 1)
    }

    pub fn fresh_size(&mut self, name: &str) -> Size {
        self.sizes.push(SizeMeta::default());
        let id = SIZE_META + self.sizes.len() as u32 - 1;
        Size::var(Var { name: format!("?{name}").into(), id })
    }

    /// Is this unsolved metavariable one of a numeral?
    pub fn is_number(&self, meta: u32) -> bool {
        self.types[meta as usize].number
    }

    /// The type with its head known, if it is.
    pub fn resolve(&self, t: &T) -> T {
        let mut t = t.clone();
        while let T::Meta(m) = t {
            match &self.types[m as usize].solution {
                Some(s) => t = s.clone(),
                None => return t,
            }
        }
        t
    }

    /// The type with every solution put in.
    pub fn zonk(&self, t: &T) -> T {
        let t = self.resolve(t);
        t.map(&mut |t| self.zonk(t), &mut |n| self.zonk_size(n))
    }

    /// How many parts a type has, counted up to a little over the limit.
    pub fn weight(&self, t: &T) -> usize {
        let mut left = crate::infer::TYPE_LIMIT + 1;
        self.weigh(t, &mut left);
        crate::infer::TYPE_LIMIT + 1 - left
    }

    fn weigh(&self, t: &T, left: &mut usize) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        match self.resolve(t) {
            T::Real | T::Int | T::Bool | T::Param(_) | T::Meta(_) | T::Error => {}
            T::Tuple(ts) => ts.iter().for_each(|t| self.weigh(t, left)),
            T::Record(fs) => fs.iter().for_each(|(_, t)| self.weigh(t, left)),
            T::Sum(s) => {
                s.types.iter().chain(s.arms.iter().map(|(_, t)| t)).for_each(|t| self.weigh(t, left))
            }
            T::Array(_, t) => {
                *left = left.saturating_sub(crate::infer::DIMENSION - 1);
                self.weigh(&t, left);
            }
            T::Fun(a, b) | T::Lin(a, b) | T::Copower(a, b) => {
                self.weigh(&a, left);
                self.weigh(&b, left);
            }
        }
    }

    /// The size with every solution put in; as it is where that is too large.
    pub fn zonk_size(&self, n: &Size) -> Size {
        self.zonked_size(n).unwrap_or_else(|| n.clone())
    }

    fn zonked_size(&self, n: &Size) -> Option<Size> {
        if !n.vars().any(|v| self.size_solution(v).is_some()) {
            return Some(n.clone());
        }
        n.subst(&|v: &Var| self.size_solution(v).map(|s| self.zonk_size(s)))
    }

    pub fn size_solution(&self, v: &Var) -> Option<&Size> {
        if !is_size_meta(v) {
            return None;
        }
        // The result of a definition in error may mention a size that its own inference left open: it is nobody's.
        self.sizes.get((v.id - SIZE_META) as usize)?.solution.as_ref()
    }

    /// Where the sizes a type or size was made from were fixed.
    pub fn fixed_at(&self, n: &Size) -> Option<Span> {
        n.vars()
            .filter(|v| is_size_meta(v))
            .find_map(|v| self.sizes.get((v.id - SIZE_META) as usize)?.fixed_at)
    }

    pub fn unify(&mut self, a: &T, b: &T) -> Result<(), Clash> {
        let (a, b) = (self.resolve(a), self.resolve(b));
        match (&a, &b) {
            // What follows from a mistake is none of its own.
            (T::Meta(m), T::Error) | (T::Error, T::Meta(m)) if !self.is_number(*m) => {
                self.types[*m as usize].solution = Some(T::Error);
                Ok(())
            }
            (T::Error, _) | (_, T::Error) => Ok(()),
            (T::Meta(m), T::Meta(n)) if m == n => Ok(()),
            (T::Meta(m), T::Meta(n)) => {
                // The plain one points to the numeral's.
                let (from, to) = if self.is_number(*m) { (*n, &a) } else { (*m, &b) };
                self.types[from as usize].solution = Some(to.clone());
                Ok(())
            }
            (T::Meta(m), _) => self.solve(*m, &a, &b),
            (_, T::Meta(n)) => self.solve(*n, &b, &a).map_err(|c| match c {
                Clash::Types(x, y) => Clash::Types(y, x),
                other => other,
            }),
            (T::Real, T::Real) | (T::Int, T::Int) | (T::Bool, T::Bool) => Ok(()),
            (T::Param(x), T::Param(y)) if x == y => Ok(()),
            (T::Tuple(xs), T::Tuple(ys)) if xs.len() == ys.len() => {
                xs.iter().zip(ys.iter()).try_for_each(|(x, y)| self.unify(x, y))
            }
            (T::Record(xs), T::Record(ys))
                if xs.len() == ys.len() && xs.iter().zip(ys.iter()).all(|(x, y)| x.0 == y.0) =>
            {
                xs.iter().zip(ys.iter()).try_for_each(|(x, y)| self.unify(&x.1, &y.1))
            }
            // Constructors follow from the arguments.
            (T::Sum(x), T::Sum(y)) if x.name == y.name && x.types.len() == y.types.len() => {
                x.types.iter().zip(&y.types).try_for_each(|(x, y)| self.unify(x, y))?;
                x.sizes.iter().zip(&y.sizes).try_for_each(|(m, n)| self.unify_size(m, n))
            }
            (T::Array(m, x), T::Array(n, y)) => {
                // The element first: a difference there is the more useful message.
                self.unify(x, y)?;
                self.unify_size(m, n)
            }
            (T::Fun(a1, b1), T::Fun(a2, b2))
            | (T::Lin(a1, b1), T::Lin(a2, b2))
            | (T::Copower(a1, b1), T::Copower(a2, b2)) => {
                self.unify(a1, a2)?;
                self.unify(b1, b2)
            }
            _ => Err(Clash::Types(a.clone(), b.clone())),
        }
    }

    fn solve(&mut self, m: u32, meta: &T, t: &T) -> Result<(), Clash> {
        if self.is_number(m) && !matches!(t, T::Real | T::Int) {
            return Err(Clash::Types(meta.clone(), t.clone()));
        }
        if self.occurs(m, t) {
            return Err(Clash::Infinite(t.clone()));
        }
        self.types[m as usize].solution = Some(t.clone());
        Ok(())
    }

    fn occurs(&self, m: u32, t: &T) -> bool {
        self.zonk(t).any(&|t| *t == T::Meta(m))
    }

    pub fn unify_size(&mut self, a: &Size, b: &Size) -> Result<(), Clash> {
        let zonked = |n| self.zonked_size(n).ok_or(Clash::Overflow);
        let (x, y) = (zonked(a)?, zonked(b)?);
        if x == y {
            return Ok(());
        }
        let minus_y = y.checked_neg().ok_or(Clash::Overflow)?;
        let d = x.checked_add(&minus_y).ok_or(Clash::Overflow)?;
        let lone = d.terms.iter().find_map(|(m, c)| match m.as_slice() {
            [v] if is_size_meta(v) && c.abs() == 1 && d.vars().filter(|u| *u == v).count() == 1 => {
                Some((v.clone(), *c))
            }
            _ => None,
        });
        if let Some((v, c)) = lone {
            let rest = d.checked_add(&Size::term(vec![v.clone()], -c)).ok_or(Clash::Overflow)?;
            let solution = if c == 1 { rest.checked_neg().ok_or(Clash::Overflow)? } else { rest };
            if let Some(k) = solution.as_constant()
                && k < 0
            {
                return Err(Clash::Negative(v.name.trim_start_matches('?').into(), k));
            }
            let slot = &mut self.sizes[(v.id - SIZE_META) as usize];
            slot.solution = Some(solution);
            slot.fixed_at = Some(self.at);
            return Ok(());
        }
        if d.vars().any(is_size_meta) {
            self.stuck.push((a.clone(), b.clone(), self.at));
            return Ok(());
        }
        Err(Clash::Sizes(a.clone(), b.clone()))
    }
}
