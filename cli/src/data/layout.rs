//! The types that data can have: first-order, with the names of fields, which Core has forgotten.

use super::Tensor;
use lang::name::{Name, Var};
use lang::prim::Scalar;
use lang::size::Size;
use lang::types::Type;
use std::collections::HashMap;
use std::fmt;
use typeck::ty::T;

#[derive(Clone, PartialEq, Debug)]
pub enum Layout {
    Scalar(Scalar),
    Tuple(Vec<Layout>),
    /// Fields in the order of Core's tuple: sorted by name in records, as declared in gradients with respect to several parameters.
    Record(Vec<(Name, Layout)>),
    Array(Size, Box<Layout>),
    /// Constructors with their payloads: the leaves are the tag's and then those of every payload.
    Sum(Vec<(Name, Layout)>),
}

impl Layout {
    /// None at functions and type parameters, which are no data.
    pub fn of(ty: &T) -> Option<Layout> {
        Some(match ty {
            T::Real => Layout::Scalar(Scalar::Real),
            T::Int => Layout::Scalar(Scalar::Int),
            T::Bool => Layout::Scalar(Scalar::Bool),
            T::Tuple(ts) => Layout::Tuple(ts.iter().map(Layout::of).collect::<Option<_>>()?),
            T::Record(fields) => {
                let fields = fields.iter().map(|(x, t)| Some((x.clone(), Layout::of(t)?)));
                Layout::Record(fields.collect::<Option<_>>()?)
            }
            T::Array(n, t) => Layout::array(n.clone(), Layout::of(t)?),
            T::Sum(s) => {
                // Data names constructors without their modules.
                let arms =
                    s.arms.iter().map(|(x, t)| Some((typeck::modules::local(x).into(), Layout::of(t)?)));
                Layout::Sum(arms.collect::<Option<_>>()?)
            }
            T::Fun(..) | T::Lin(..) | T::Copower(..) | T::Param(_) | T::Meta(_) | T::Error => return None,
        })
    }

    pub fn array(n: Size, element: Layout) -> Layout {
        Layout::Array(n, Box::new(element))
    }

    /// The parts of a tuple or record, or the payloads of a sum, in order.
    pub fn parts(&self) -> Vec<&Layout> {
        match self {
            Layout::Sum(arms) => arms.iter().map(|(_, t)| t).collect(),
            Layout::Tuple(ts) => ts.iter().collect(),
            Layout::Record(fields) => fields.iter().map(|(_, t)| t).collect(),
            Layout::Scalar(_) | Layout::Array(..) => vec![],
        }
    }

    /// The number of leaves, as in [`lang::leaves`].
    pub fn leaf_count(&self) -> usize {
        match self {
            Layout::Scalar(_) => 1,
            Layout::Tuple(_) | Layout::Record(_) => self.parts().into_iter().map(Layout::leaf_count).sum(),
            Layout::Sum(_) => 1 + self.parts().into_iter().map(Layout::leaf_count).sum::<usize>(),
            Layout::Array(_, t) => t.leaf_count(),
        }
    }

    /// A name for each leaf of the data called `name`: `p_mass` for a field, `p_0` for a component.
    pub fn leaf_names(&self, name: &str) -> Vec<String> {
        let part = |x: &dyn fmt::Display, t: &Layout| t.leaf_names(&format!("{name}_{x}"));
        match self {
            Layout::Scalar(_) => vec![name.into()],
            Layout::Array(_, t) => t.leaf_names(name),
            Layout::Tuple(ts) => ts.iter().enumerate().flat_map(|(k, t)| part(&k, t)).collect(),
            Layout::Record(fields) => fields.iter().flat_map(|(x, t)| part(x, t)).collect(),
            Layout::Sum(arms) => {
                let payloads = arms.iter().flat_map(|(x, t)| part(x, t));
                [format!("{name}_tag")].into_iter().chain(payloads).collect()
            }
        }
    }

    /// Has it a size that no data of this layout solves by itself, as `2 * n` or `n * m`?
    pub fn has_compound_size(&self) -> bool {
        match self {
            Layout::Scalar(_) => false,
            Layout::Tuple(_) | Layout::Record(_) | Layout::Sum(_) => {
                self.parts().into_iter().any(Layout::has_compound_size)
            }
            Layout::Array(n, t) => {
                let solvable = |(v, k): (&Vec<Var>, &i64)| v.is_empty() || (v.len() == 1 && *k == 1);
                !n.terms.iter().all(solvable) || n.vars().count() > 1 || t.has_compound_size()
            }
        }
    }

    /// Are these the same type but for sizes?
    pub fn same_form(&self, other: &Layout) -> bool {
        let fields = |a: &[(Name, Layout)], b: &[(Name, Layout)]| {
            a.len() == b.len() && a.iter().zip(b).all(|((x, t), (y, u))| x == y && t.same_form(u))
        };
        match (self, other) {
            (Layout::Scalar(a), Layout::Scalar(b)) => a == b,
            (Layout::Array(_, a), Layout::Array(_, b)) => a.same_form(b),
            (Layout::Record(a), Layout::Record(b)) | (Layout::Sum(a), Layout::Sum(b)) => fields(a, b),
            (Layout::Tuple(a), Layout::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(t, u)| t.same_form(u))
            }
            (
                Layout::Scalar(_) | Layout::Tuple(_) | Layout::Record(_) | Layout::Array(..) | Layout::Sum(_),
                _,
            ) => false,
        }
    }

    /// The Core type of the same data.
    pub fn ty(&self) -> Type {
        match self {
            Layout::Scalar(s) => lang::typing::scalar(*s),
            Layout::Tuple(_) | Layout::Record(_) => Type::tuple(self.parts().into_iter().map(Layout::ty)),
            Layout::Sum(_) => Type::Sum(self.parts().into_iter().map(Layout::ty).collect()),
            Layout::Array(n, t) => Type::array(n.clone(), t.ty()),
        }
    }

    /// D of it: ints and bools become (), and what then is nothing but () is (). None where nothing real is left.
    pub fn has_tangent(&self) -> bool {
        match self {
            Layout::Scalar(s) => *s == Scalar::Real,
            Layout::Tuple(_) | Layout::Record(_) => self.parts().into_iter().any(Layout::has_tangent),
            Layout::Array(_, t) => t.has_tangent(),
            // D of it is not data of the command line yet.
            Layout::Sum(_) => false,
        }
    }

    pub fn has_sum(&self) -> bool {
        match self {
            Layout::Scalar(_) => false,
            Layout::Tuple(_) | Layout::Record(_) => self.parts().into_iter().any(Layout::has_sum),
            Layout::Array(_, t) => t.has_sum(),
            Layout::Sum(_) => true,
        }
    }

    /// D of it: real to real, int and bool to (), componentwise.
    pub fn tangent(&self) -> Layout {
        match self {
            Layout::Scalar(Scalar::Real) => self.clone(),
            Layout::Scalar(Scalar::Int | Scalar::Bool) => Layout::Tuple(vec![]),
            Layout::Tuple(ts) => Layout::Tuple(ts.iter().map(Layout::tangent).collect()),
            Layout::Record(fields) => {
                Layout::Record(fields.iter().map(|(x, t)| (x.clone(), t.tangent())).collect())
            }
            Layout::Array(n, t) => Layout::array(n.clone(), t.tangent()),
            Layout::Sum(_) => Layout::Tuple(vec![]),
        }
    }
}

/// As a person writes the type.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scalar = |s: &Scalar| match s {
            Scalar::Real => "real",
            Scalar::Int => "int",
            Scalar::Bool => "bool",
        };
        match self {
            Layout::Scalar(s) => write!(f, "{}", scalar(s)),
            Layout::Tuple(ts) => {
                let ts: Vec<String> = ts.iter().map(Layout::to_string).collect();
                write!(f, "({})", ts.join(", "))
            }
            Layout::Record(fields) => {
                let fields: Vec<String> = fields.iter().map(|(x, t)| format!("{x} : {t}")).collect();
                write!(f, "{{{}}}", fields.join(", "))
            }
            Layout::Sum(arms) => {
                let arms = arms.iter().map(|(x, t)| match t {
                    Layout::Tuple(ts) if ts.is_empty() => x.to_string(),
                    _ => format!("{x} {t}"),
                });
                write!(f, "{}", arms.collect::<Vec<_>>().join(" | "))
            }
            Layout::Array(..) => {
                let (mut sizes, mut element) = (vec![], self);
                while let Layout::Array(n, t) = element {
                    sizes.push(n.to_string());
                    element = t;
                }
                match element {
                    Layout::Scalar(Scalar::Real) if sizes.len() > 1 => {
                        write!(f, "real^({})", sizes.join(", "))
                    }
                    Layout::Scalar(Scalar::Real) if sizes[0].chars().all(char::is_alphanumeric) => {
                        write!(f, "real^{}", sizes[0])
                    }
                    Layout::Scalar(Scalar::Real) => write!(f, "real^({})", sizes[0]),
                    _ => write!(f, "{}{element}", sizes.iter().map(|n| format!("[{n}]")).collect::<String>()),
                }
            }
        }
    }
}

/// Size variables as data fixes them, each with what fixed it.
#[derive(Clone, Default, Debug)]
pub struct Sizes {
    known: HashMap<Var, (i64, String)>,
}

impl Sizes {
    pub fn set(&mut self, n: &Var, value: i64, origin: impl Into<String>) {
        self.known.insert(n.clone(), (value, origin.into()));
    }

    pub fn get(&self, n: &Var) -> Option<i64> {
        self.known.get(n).map(|(k, _)| *k)
    }

    pub fn eval(&self, n: &Size) -> Option<i64> {
        n.eval(&|v| self.get(v))
    }

    /// Makes `n` equal to `given` by solving for its variable when that is the only unknown, or says what it is instead.
    pub fn fit(&mut self, n: &Size, given: i64, origin: &str) -> Result<(), Option<i64>> {
        if let Some(known) = self.eval(n) {
            return if known == given { Ok(()) } else { Err(Some(known)) };
        }
        // n = v + rest with v unknown: what may stand in a parameter's type where a size is to be solved.
        let mut unknown = n.vars().filter(|v| self.get(v).is_none());
        let v = unknown.next().cloned().ok_or(None)?;
        if n.terms.get(&vec![v.clone()]) != Some(&1) || unknown.next().is_some() {
            return Err(None);
        }
        let rest = n.eval(&|u| if *u == v { Some(0) } else { self.get(u) }).ok_or(None)?;
        match given.checked_sub(rest) {
            Some(k) if k >= 0 => {
                self.set(&v, k, origin);
                Ok(())
            }
            Some(_) | None => Err(None),
        }
    }

    /// The sizes that data of this layout has, which these are the leaves of. Or None where they are no such data.
    pub fn fit_leaves(&mut self, layout: &Layout, leaves: &[Tensor], origin: &str) -> Option<()> {
        self.fit_dims(layout, leaves, 0, origin)
    }

    fn fit_dims(&mut self, layout: &Layout, leaves: &[Tensor], depth: usize, origin: &str) -> Option<()> {
        match layout {
            Layout::Scalar(_) => Some(()),
            Layout::Tuple(_) | Layout::Record(_) | Layout::Sum(_) => {
                let tag = usize::from(matches!(layout, Layout::Sum(_)));
                let mut rest = leaves.get(tag..)?;
                for t in layout.parts() {
                    let (own, others) = rest.split_at_checked(t.leaf_count())?;
                    rest = others;
                    self.fit_dims(t, own, depth, origin)?;
                }
                Some(())
            }
            Layout::Array(n, t) => {
                if let Some(leaf) = leaves.first() {
                    self.fit(n, *leaf.shape.get(depth)? as i64, origin).ok()?;
                }
                self.fit_dims(t, leaves, depth + 1, origin)
            }
        }
    }

    /// `n = 3 from `xs`, d = 2 from `w``: the known variables of a type.
    pub fn explain(&self, layout: &Layout) -> String {
        let mut out: Vec<String> = vec![];
        let mut sizes = vec![];
        collect(layout, &mut sizes);
        for v in sizes.iter().flat_map(|n| n.vars()) {
            if let Some((k, origin)) = self.known.get(v) {
                let text = format!("{} = {k} {origin}", v.name);
                if !out.contains(&text) {
                    out.push(text);
                }
            }
        }
        out.join(", ")
    }
}

fn collect<'l>(layout: &'l Layout, sizes: &mut Vec<&'l Size>) {
    match layout {
        Layout::Scalar(_) => {}
        Layout::Tuple(_) | Layout::Record(_) | Layout::Sum(_) => {
            layout.parts().into_iter().for_each(|t| collect(t, sizes));
        }
        Layout::Array(n, t) => {
            sizes.push(n);
            collect(t, sizes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lang::name::Supply;

    #[test]
    fn sizes_are_solved_then_compared() {
        let mut supply = Supply::default();
        let (n, m) = (supply.fresh("n"), supply.fresh("m"));
        let succ = Size::var(n.clone()).checked_add(&Size::constant(1)).unwrap();
        let mut sizes = Sizes::default();
        assert_eq!(sizes.fit(&succ, 0, "from `a`"), Err(None));
        assert_eq!(sizes.fit(&succ, 4, "from `a`"), Ok(()));
        assert_eq!(sizes.get(&n), Some(3));
        assert_eq!(sizes.fit(&Size::var(n.clone()), 4, "from `b`"), Err(Some(3)));
        assert_eq!(sizes.fit(&Size::constant(2), 2, "from `b`"), Ok(()));
        let product = Size::var(n.clone()).checked_mul(&Size::var(m.clone())).unwrap();
        assert_eq!(sizes.fit(&product, 6, "from `c`"), Err(None));
        sizes.set(&m, 2, "from `d`");
        assert_eq!(sizes.fit(&product, 6, "from `c`"), Ok(()));
        let layout = Layout::array(succ, Layout::array(Size::var(m), Layout::Scalar(Scalar::Real)));
        assert_eq!(layout.to_string(), "real^(n + 1, m)");
        assert_eq!(sizes.explain(&layout), "n = 3 from `a`, m = 2 from `d`");
    }
}
