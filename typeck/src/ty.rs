//! Types during inference: Cartesian and linear types with metavariables, records still by name.
//!
//! A linear type is written with the same tree: under ⊸ a function is a power and `!τ * σ` a copower.
//! Size metavariables are variables with numbers from [`SIZE_META`] on, so that sizes keep their normal form.

use lang::name::{Name, Var};
use lang::size::Size;
use lang::types::{LType, Type};
use std::sync::Arc;

#[derive(Clone, PartialEq, Debug)]
pub enum T {
    Real,
    Int,
    Bool,
    Tuple(Arc<[T]>),
    /// Fields sorted by name.
    Record(Arc<[(Name, T)]>),
    Sum(Arc<Sum>),
    Array(Size, Arc<T>),
    Fun(Arc<T>, Arc<T>),
    /// τ -o σ, both read as linear types
    Lin(Arc<T>, Arc<T>),
    /// !τ * σ
    Copower(Arc<T>, Arc<T>),
    /// 'a, bound by the definition
    Param(Name),
    Meta(u32),
    /// The type of what has been reported already: agrees with everything.
    Error,
}

/// A sum type: its name, what it is applied to, its constructors with their payloads.
#[derive(Clone, PartialEq, Debug)]
pub struct Sum {
    pub name: Name,
    pub types: Vec<T>,
    pub sizes: Vec<Size>,
    pub arms: Vec<(Name, T)>,
}

/// The name of `sum[τ, …]`, the sum type that is its summands: as Core is printed. Its constructors are In0, In1, …
pub const ANONYMOUS: &str = "sum";

impl Sum {
    pub fn anonymous(types: Vec<T>) -> Sum {
        let arms = types.iter().enumerate().map(|(k, t)| (format!("In{k}").into(), t.clone())).collect();
        Sum { name: ANONYMOUS.into(), types, sizes: vec![], arms }
    }

    /// Which summand a constructor of an anonymous sum makes.
    pub fn summand(&self, constructor: &str) -> Option<usize> {
        let k = constructor.strip_prefix("In")?.parse().ok()?;
        (*self.name == *ANONYMOUS && k < self.arms.len()).then_some(k)
    }
}

pub const SIZE_META: u32 = 1 << 30;

pub fn is_size_meta(v: &Var) -> bool {
    v.id >= SIZE_META
}

impl T {
    pub fn unit() -> T {
        T::Tuple(Arc::from([]))
    }
    pub fn tuple(ts: impl IntoIterator<Item = T>) -> T {
        T::Tuple(ts.into_iter().collect())
    }
    pub fn array(n: Size, t: T) -> T {
        T::Array(n, Arc::new(t))
    }
    pub fn fun(a: T, b: T) -> T {
        T::Fun(Arc::new(a), Arc::new(b))
    }
    pub fn lin(a: T, b: T) -> T {
        T::Lin(Arc::new(a), Arc::new(b))
    }
    pub fn record(mut fields: Vec<(Name, T)>) -> T {
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        T::Record(fields.into())
    }
    /// [d1]…[dk]t
    pub fn arrays(dims: &[Size], t: T) -> T {
        dims.iter().rev().fold(t, |t, n| T::array(n.clone(), t))
    }

    /// Maps the children: types and sizes.
    pub fn map(&self, f: &mut dyn FnMut(&T) -> T, size: &mut dyn FnMut(&Size) -> Size) -> T {
        match self {
            T::Real | T::Int | T::Bool | T::Param(_) | T::Meta(_) | T::Error => self.clone(),
            T::Tuple(ts) => T::Tuple(ts.iter().map(f).collect()),
            T::Record(fs) => T::Record(fs.iter().map(|(x, t)| (x.clone(), f(t))).collect()),
            T::Sum(s) => T::Sum(Arc::new(Sum {
                name: s.name.clone(),
                types: s.types.iter().map(&mut *f).collect(),
                sizes: s.sizes.iter().map(&mut *size).collect(),
                arms: s.arms.iter().map(|(x, t)| (x.clone(), f(t))).collect(),
            })),
            T::Array(n, t) => T::array(size(n), f(t)),
            T::Fun(a, b) => T::fun(f(a), f(b)),
            T::Lin(a, b) => T::lin(f(a), f(b)),
            T::Copower(a, b) => T::Copower(Arc::new(f(a)), Arc::new(f(b))),
        }
    }

    /// Replaces type parameters, and size variables by others: so no size becomes too large.
    pub fn subst(&self, types: &dyn Fn(&Name) -> Option<T>, sizes: &dyn Fn(&Var) -> Option<Size>) -> T {
        match self {
            T::Param(a) => types(a).unwrap_or_else(|| self.clone()),
            _ => {
                self.map(&mut |t| t.subst(types, sizes), &mut |n| n.subst(sizes).unwrap_or_else(|| n.clone()))
            }
        }
    }

    pub fn any(&self, p: &dyn Fn(&T) -> bool) -> bool {
        if p(self) {
            return true;
        }
        match self {
            T::Real | T::Int | T::Bool | T::Param(_) | T::Meta(_) | T::Error => false,
            T::Tuple(ts) => ts.iter().any(|t| t.any(p)),
            T::Record(fs) => fs.iter().any(|(_, t)| t.any(p)),
            T::Sum(s) => s.types.iter().chain(s.arms.iter().map(|(_, t)| t)).any(|t| t.any(p)),
            T::Array(_, t) => t.any(p),
            T::Fun(a, b) | T::Lin(a, b) | T::Copower(a, b) => a.any(p) || b.any(p),
        }
    }

    pub fn first_order(&self) -> bool {
        !self.any(&|t| matches!(t, T::Fun(..) | T::Lin(..) | T::Copower(..)))
    }

    pub fn has_meta(&self) -> bool {
        self.any(&|t| matches!(t, T::Meta(_)))
    }

    /// The variables in its sizes.
    pub fn size_vars(&self) -> Vec<Var> {
        let mut out = vec![];
        self.collect_size_vars(&mut out);
        out
    }

    fn collect_size_vars(&self, out: &mut Vec<Var>) {
        match self {
            T::Real | T::Int | T::Bool | T::Param(_) | T::Meta(_) | T::Error => {}
            T::Tuple(ts) => ts.iter().for_each(|t| t.collect_size_vars(out)),
            T::Record(fs) => fs.iter().for_each(|(_, t)| t.collect_size_vars(out)),
            T::Sum(s) => {
                out.extend(s.sizes.iter().flat_map(|n| n.vars().cloned()));
                s.types.iter().chain(s.arms.iter().map(|(_, t)| t)).for_each(|t| t.collect_size_vars(out));
            }
            T::Array(n, t) => {
                out.extend(n.vars().cloned());
                t.collect_size_vars(out);
            }
            T::Fun(a, b) | T::Lin(a, b) | T::Copower(a, b) => {
                a.collect_size_vars(out);
                b.collect_size_vars(out);
            }
        }
    }

    /// D τ of a first-order type, every real replaced by `at_real`: `D` itself with real, a Jacobian's rows with D of the domain.
    pub fn tangent(&self, at_real: &T) -> T {
        match self {
            T::Real => at_real.clone(),
            T::Int | T::Bool | T::Lin(..) => T::unit(),
            // Of a type parameter, D is taken once it is known; its values are those of its instance.
            T::Param(_) | T::Meta(_) | T::Error | T::Fun(..) | T::Copower(..) => self.clone(),
            // A partial sum: the structural zero, or a summand.
            T::Sum(s) => {
                let zero = std::iter::once(("Zero".into(), T::unit()));
                let arms = s.arms.iter().map(|(x, t)| (x.clone(), t.tangent(at_real)));
                let (name, types, sizes) = (format!("D {}", s.name).into(), s.types.clone(), s.sizes.clone());
                T::Sum(Arc::new(Sum { name, types, sizes, arms: zero.chain(arms).collect() }))
            }
            T::Tuple(_) | T::Record(_) | T::Array(..) => {
                self.map(&mut |t| t.tangent(at_real), &mut |n| n.clone())
            }
        }
    }

    /// The Core type; None where a metavariable or a copower is left.
    pub fn to_type(&self) -> Option<Type> {
        Some(match self {
            T::Real => Type::Real,
            T::Int => Type::Int,
            T::Bool => Type::Bool,
            T::Tuple(ts) => Type::Tuple(ts.iter().map(T::to_type).collect::<Option<_>>()?),
            T::Record(fs) => Type::Tuple(fs.iter().map(|(_, t)| t.to_type()).collect::<Option<_>>()?),
            T::Sum(s) => Type::Sum(s.arms.iter().map(|(_, t)| t.to_type()).collect::<Option<_>>()?),
            T::Array(n, t) => Type::array(n.clone(), t.to_type()?),
            T::Fun(a, b) => Type::fun(a.to_type()?, b.to_type()?),
            T::Lin(a, b) => Type::lin(a.to_ltype()?, b.to_ltype()?),
            T::Param(a) => Type::Param(a.clone()),
            T::Copower(..) | T::Meta(_) | T::Error => return None,
        })
    }

    /// The linear type written so; None where it is none.
    pub fn to_ltype(&self) -> Option<LType> {
        Some(match self {
            T::Real => LType::Real,
            T::Tuple(ts) => LType::Tuple(ts.iter().map(T::to_ltype).collect::<Option<_>>()?),
            T::Record(fs) => LType::Tuple(fs.iter().map(|(_, t)| t.to_ltype()).collect::<Option<_>>()?),
            T::Sum(s) => LType::Sum(s.arms.iter().map(|(_, t)| t.to_ltype()).collect::<Option<_>>()?),
            T::Array(n, t) => LType::array(n.clone(), t.to_ltype()?),
            T::Fun(a, b) => LType::Power(Arc::new(a.to_type()?), Arc::new(b.to_ltype()?)),
            T::Copower(a, b) => LType::Copower(Arc::new(a.to_type()?), Arc::new(b.to_ltype()?)),
            T::Param(a) => LType::Param(a.clone()),
            T::Int | T::Bool | T::Lin(..) | T::Meta(_) | T::Error => return None,
        })
    }

    /// As a message names it: as written, or its kind where a part of it is not known.
    pub fn describe(&self) -> String {
        if !self.any(&|t| matches!(t, T::Meta(_) | T::Error)) {
            // A size that is still open goes by the name it was declared with.
            return self.show().replace('?', "");
        }
        match self {
            T::Fun(..) => "a function".into(),
            T::Lin(..) => "a linear function".into(),
            T::Copower(..) => "a tensor".into(),
            T::Sum(s) => format!("a {}", s.name),
            T::Array(_, t) if matches!(**t, T::Array(..)) => "an array of arrays".into(),
            T::Array(_, t) if matches!(**t, T::Fun(..)) => "an array of functions".into(),
            T::Array(..) => "an array".into(),
            T::Tuple(ts) => format!("a tuple of {}", ts.len()),
            T::Record(fs) => {
                let names: Vec<&str> = fs.iter().map(|(x, _)| &**x).collect();
                format!("a record of {}", names.join(", "))
            }
            T::Real | T::Int | T::Bool | T::Param(_) | T::Meta(_) | T::Error => "of unknown type".into(),
        }
    }

    /// As a person writes it.
    pub fn show(&self) -> String {
        self.show_at(0)
    }

    /// Levels: 0 anything, 1 operand of an arrow, 2 element of an array.
    fn show_at(&self, level: u8) -> String {
        let paren = |s: String, own: u8| if own < level { format!("({s})") } else { s };
        let list = |ts: Vec<String>| ts.join(", ");
        match self {
            T::Real => "real".into(),
            T::Int => "int".into(),
            T::Bool => "bool".into(),
            T::Tuple(ts) => format!("({})", list(ts.iter().map(T::show).collect())),
            T::Record(fs) => {
                format!("{{{}}}", list(fs.iter().map(|(x, t)| format!("{x} : {}", t.show())).collect()))
            }
            T::Sum(s) => {
                let types = s.types.iter().map(T::show);
                let args: Vec<String> = types.chain(s.sizes.iter().map(Size::to_string)).collect();
                if args.is_empty() { s.name.to_string() } else { format!("{}[{}]", s.name, args.join(", ")) }
            }
            T::Array(..) => {
                let mut dims = vec![];
                let mut t = self;
                while let T::Array(n, e) = t {
                    dims.push(n.to_string());
                    t = e;
                }
                match t {
                    T::Real
                        if dims.len() == 1
                            && dims[0].chars().all(|c| c.is_alphanumeric() || matches!(c, '?' | '_')) =>
                    {
                        format!("real^{}", dims[0])
                    }
                    T::Real => format!("real^({})", dims.join(", ")),
                    _ => {
                        let dims: String = dims.iter().map(|n| format!("[{n}]")).collect();
                        format!("{dims}{}", t.show_at(2))
                    }
                }
            }
            T::Fun(a, b) => paren(format!("{} -> {}", a.show_at(1), b.show_at(0)), 0),
            T::Lin(a, b) => paren(format!("{} -o {}", a.show_at(1), b.show_at(0)), 0),
            T::Copower(a, b) => paren(format!("!{} * {}", a.show_at(2), b.show_at(2)), 1),
            T::Param(a) => format!("'{a}"),
            T::Meta(_) | T::Error => "_".into(),
        }
    }
}
