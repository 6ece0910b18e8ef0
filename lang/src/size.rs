//! Sizes: polynomials with integer coefficients over int variables, in normal form, so that equal
//! sizes are structurally equal.

use crate::name::Var;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

/// Σ coefficient · (product of variables); a monomial is its sorted list of variables (with repeats),
/// the constant is the empty monomial. No coefficient is 0.
#[derive(Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Size {
    pub terms: Arc<BTreeMap<Vec<Var>, i64>>,
}

impl Size {
    /// A polynomial with more terms, or with more factors in one, is too large, as is one with a coefficient beyond 64 bits: a short program can square an int
    /// again and again.
    pub const MOST_TERMS: usize = 256;
    pub const MOST_FACTORS: usize = 64;

    pub fn constant(k: i64) -> Size {
        Size::term(vec![], k)
    }

    pub fn var(v: Var) -> Size {
        Size::term(vec![v], 1)
    }

    /// c · m, the variables of m in order.
    pub fn term(m: Vec<Var>, c: i64) -> Size {
        if c == 0 { Size::default() } else { Size { terms: Arc::new(BTreeMap::from([(m, c)])) } }
    }

    /// The value if no variable occurs.
    pub fn as_constant(&self) -> Option<i64> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&vec![]).copied(),
            _ => None,
        }
    }

    /// The variable if the size is exactly one.
    pub fn as_var(&self) -> Option<&Var> {
        match self.terms.iter().next() {
            Some((m, 1)) if self.terms.len() == 1 && m.len() == 1 => Some(&m[0]),
            _ => None,
        }
    }

    pub fn vars(&self) -> impl Iterator<Item = &Var> {
        self.terms.keys().flatten()
    }

    /// None where the sum is too large.
    pub fn checked_add(&self, other: &Size) -> Option<Size> {
        let mut sum = self.clone();
        for (m, c) in other.terms.iter() {
            sum.add_term(m.clone(), *c)?;
        }
        Some(sum)
    }

    /// None where the product is too large.
    pub fn checked_mul(&self, other: &Size) -> Option<Size> {
        let mut sum = Size::constant(0);
        for (m, c) in self.terms.iter() {
            for (n, d) in other.terms.iter() {
                if m.len() + n.len() > Size::MOST_FACTORS {
                    return None;
                }
                let mut mn: Vec<Var> = m.iter().chain(n).cloned().collect();
                mn.sort();
                sum.add_term(mn, c.checked_mul(*d)?)?;
            }
        }
        Some(sum)
    }

    /// Adds c · m; None where that is too large.
    fn add_term(&mut self, m: Vec<Var>, c: i64) -> Option<()> {
        match Arc::make_mut(&mut self.terms).entry(m) {
            Entry::Vacant(slot) if c != 0 => {
                slot.insert(c);
            }
            Entry::Vacant(_) => {}
            Entry::Occupied(mut slot) => match slot.get().checked_add(c)? {
                0 => drop(slot.remove()),
                sum => *slot.get_mut() = sum,
            },
        }
        (self.terms.len() <= Size::MOST_TERMS).then_some(())
    }

    pub fn checked_neg(&self) -> Option<Size> {
        self.checked_mul(&Size::constant(-1))
    }

    /// Simultaneous substitution of sizes for variables; None where the result is too large.
    pub fn subst(&self, lookup: &dyn Fn(&Var) -> Option<Size>) -> Option<Size> {
        let mut sum = Size::constant(0);
        for (m, c) in self.terms.iter() {
            let mut product = Size::constant(*c);
            for v in m {
                let factor = lookup(v).unwrap_or_else(|| Size::var(v.clone()));
                product = product.checked_mul(&factor)?;
            }
            sum = sum.checked_add(&product)?;
        }
        Some(sum)
    }

    /// The value under an assignment; None where a variable is unassigned or the value leaves 64 bits.
    pub fn eval(&self, lookup: &dyn Fn(&Var) -> Option<i64>) -> Option<i64> {
        let mut sum = 0i64;
        for (m, c) in self.terms.iter() {
            let mut product = *c;
            for v in m {
                product = product.checked_mul(lookup(v)?)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }
}

impl From<Var> for Size {
    fn from(v: Var) -> Size {
        Size::var(v)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return write!(f, "0");
        }
        // Variables before the constant, as people write n+1.
        for (k, (m, c)) in self.terms.iter().rev().enumerate() {
            match (k, *c < 0) {
                (0, true) => write!(f, "-")?,
                (0, false) => {}
                (_, true) => write!(f, " - ")?,
                (_, false) => write!(f, " + ")?,
            }
            let c = c.unsigned_abs();
            if c != 1 || m.is_empty() {
                write!(f, "{c}")?;
                if !m.is_empty() {
                    write!(f, "*")?;
                }
            }
            let names: Vec<&str> = m.iter().map(|v| &*v.name).collect();
            write!(f, "{}", names.join("*"))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Supply;

    /// n₀ + … of so many variables.
    fn sum_of(count: usize, supply: &mut Supply) -> Size {
        let vars = (0..count).map(|_| Size::var(supply.fresh("n")));
        vars.fold(Size::constant(0), |a, b| a.checked_add(&b).expect("few terms"))
    }

    #[test]
    fn polynomials_are_multiplied_until_they_are_too_large() {
        let mut supply = Supply::default();
        let (a, b) = (sum_of(16, &mut supply), sum_of(16, &mut supply));
        let product = a.checked_mul(&b).expect("256 terms");
        assert_eq!(product.terms.len(), Size::MOST_TERMS);
        assert_eq!(product.checked_add(&Size::constant(1)), None);
        assert_eq!(a.checked_mul(&sum_of(17, &mut supply)), None);
        // What cancels is not counted: (a + b) (a - b) = a² - b².
        let (n, m) = (Size::var(supply.fresh("n")), Size::var(supply.fresh("m")));
        let minus = |x: &Size, y: &Size| x.checked_add(&y.checked_neg().unwrap()).unwrap();
        let squares = n.checked_add(&m).unwrap().checked_mul(&minus(&n, &m)).unwrap();
        assert_eq!(squares, minus(&n.checked_mul(&n).unwrap(), &m.checked_mul(&m).unwrap()));
        assert_eq!(minus(&n, &n), Size::constant(0));
    }

    #[test]
    fn powers_have_a_limit() {
        let n = Size::var(Supply::default().fresh("n"));
        let squared = |x: &Size| x.checked_mul(x);
        let mut power = n;
        for _ in 0..6 {
            power = squared(&power).expect("at most 64 factors");
        }
        assert_eq!(squared(&power), None);
        assert_eq!(Size::constant(i64::MAX).checked_mul(&Size::constant(2)), None);
    }
}
