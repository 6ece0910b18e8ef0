//! Sizes: polynomials with integer coefficients over int variables, in normal form, so that equal
//! sizes are structurally equal.

use crate::name::Var;
use std::collections::BTreeMap;
use std::fmt;

/// Σ coefficient · (product of variables); a monomial is its sorted list of variables (with repeats),
/// the constant is the empty monomial. No coefficient is 0.
#[derive(Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Size {
    pub terms: BTreeMap<Vec<Var>, i64>,
}

impl Size {
    pub fn constant(k: i64) -> Size {
        Size { terms: if k == 0 { BTreeMap::new() } else { BTreeMap::from([(vec![], k)]) } }
    }

    pub fn var(v: Var) -> Size {
        Size { terms: BTreeMap::from([(vec![v], 1)]) }
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

    /// None where a coefficient leaves 64 bits.
    pub fn checked_add(&self, other: &Size) -> Option<Size> {
        let mut terms = self.terms.clone();
        for (m, c) in &other.terms {
            let slot = terms.entry(m.clone()).or_insert(0);
            *slot = slot.checked_add(*c)?;
            if *slot == 0 {
                terms.remove(m);
            }
        }
        Some(Size { terms })
    }

    pub fn checked_mul(&self, other: &Size) -> Option<Size> {
        let mut sum = Size::constant(0);
        for (m, c) in &self.terms {
            for (n, d) in &other.terms {
                let mut mn: Vec<Var> = m.iter().chain(n).cloned().collect();
                mn.sort();
                let one = Size { terms: BTreeMap::from([(mn, c.checked_mul(*d)?)]) };
                sum = sum.checked_add(&one)?;
            }
        }
        Some(sum)
    }

    pub fn checked_neg(&self) -> Option<Size> {
        self.checked_mul(&Size::constant(-1))
    }

    /// Simultaneous substitution of sizes for variables; None on overflow of a coefficient.
    pub fn subst(&self, lookup: &dyn Fn(&Var) -> Option<Size>) -> Option<Size> {
        let mut sum = Size::constant(0);
        for (m, c) in &self.terms {
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
        for (m, c) in &self.terms {
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
