//! The program between inference and Core: every node with its type, overloading not yet resolved.

use crate::ty::T;
use lang::core::Lit;
use lang::diag::Span;
use lang::name::{Name, Var};
use lang::size::Size;
use lang::target::Direction;

/// A Cartesian term.
#[derive(Clone, Debug)]
pub struct Te {
    pub kind: K,
    pub ty: T,
    pub span: Span,
}

/// What an application applies, when it is known by name.
#[derive(Clone, Debug, PartialEq)]
pub enum Head {
    /// A definition, by its full name, with the inputs it uses.
    Def(String, Vec<String>),
    /// A row of the built-in table.
    Row(&'static crate::builtin::Row),
    /// A primitive, lifted pointwise.
    Prim(&'static str),
    /// A differentiation operator.
    Diff(crate::diff::Operator),
}

#[derive(Clone, Debug)]
pub enum K {
    /// A numeral: real or int by its type.
    Num(i64),
    Lit(Lit),
    Var(Var),
    /// The int value of a size.
    Size(Size),
    Lam(P, Box<Te>),
    LinLam(P, Box<Le>),
    App(Box<Te>, Box<Te>),
    LinApp(Box<Te>, Box<Te>),
    /// Saturated.
    Op {
        head: Head,
        types: Vec<T>,
        sizes: Vec<Size>,
        args: Vec<Te>,
    },
    /// Ints that are no polynomials, named so that types can speak of them.
    Bind(Vec<(Var, Te)>, Box<Te>),
    Let(P, Box<Te>, Box<Te>),
    If(Box<Te>, Box<Te>, Box<Te>),
    /// in_i t
    Inject(usize, Box<Te>),
    Match(Box<Te>, Vec<(P, Te)>),
    And(Box<Te>, Box<Te>),
    Or(Box<Te>, Box<Te>),
    /// Whole values; `negated` is !=.
    Equal {
        negated: bool,
        left: Box<Te>,
        right: Box<Te>,
    },
    Tuple(Vec<Te>),
    Proj(Box<Te>, usize),
    Record(Vec<(Name, Te)>),
    Field(Box<Te>, Name),
    RecordUpdate(Box<Te>, Vec<(Name, Te)>),
    Array(Vec<Te>),
    Index(Box<Te>, Vec<Te>),
    ArrayUpdate {
        array: Box<Te>,
        index: Vec<Te>,
        value: Box<Te>,
    },
    /// a[from : from + length]
    Slice {
        array: Box<Te>,
        from: Size,
        length: Size,
    },
    Comprehension {
        index: Var,
        bound: Size,
        body: Box<Te>,
    },
    LoopFor {
        collect: bool,
        state: P,
        init: Box<Te>,
        index: Var,
        bound: Size,
        body: Box<Te>,
    },
    LoopWhile {
        state: P,
        init: Box<Te>,
        cond: Box<Te>,
        body: Box<Te>,
    },
    /// The node's type is the asserted one.
    As(Box<Te>),
    /// An end of a body whose result has existential sizes, and what they are.
    Pack(Box<Te>, Vec<(Var, Size)>),
    MatMul(Box<Te>, Box<Te>),
    /// zero[τ], the structural zero
    Zero,
    /// unread[τ]
    Unread,
    Error,
}

/// A pattern.
#[derive(Clone, Debug)]
pub struct P {
    pub kind: PK,
    pub ty: T,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum PK {
    Wildcard,
    Var(Var),
    Tuple(Vec<P>),
    /// Fields sorted by name.
    Record(Vec<P>),
    Array(Vec<P>),
    /// These stand in the arms of a match only.
    Int(i64),
    Bool(bool),
    Constructor(usize, Box<P>),
}

/// A linear term.
#[derive(Clone, Debug)]
pub struct Le {
    pub kind: LK,
    pub ty: T,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum LK {
    Var(Var),
    Zero,
    Plus(Box<Le>, Box<Le>),
    Tuple(Vec<Le>),
    Proj(Box<Le>, usize),
    Record(Vec<(Name, Le)>),
    Field(Box<Le>, Name),
    Coproj {
        env: T,
        up: usize,
        term: Box<Le>,
    },
    EnvProj {
        up: usize,
        term: Box<Le>,
    },
    Power(P, Box<Le>),
    PowerApp(Box<Le>, Box<Te>),
    Tensor(Box<Te>, Box<Le>),
    TensorElim {
        scrutinee: Box<Le>,
        var: P,
        lin: P,
        body: Box<Le>,
    },
    Scale(Box<Te>, Box<Le>),
    App(Box<Te>, Box<Le>),
    Let(P, Box<Le>, Box<Le>),
    CLet(P, Box<Te>, Box<Le>),
    Bind(Vec<(Var, Te)>, Box<Le>),
    If(Box<Te>, Box<Le>, Box<Le>),
    /// By summand.
    Case(Box<Te>, Vec<(P, Le)>),
    SumElim(Box<Le>, Vec<(P, Le)>),
    Inject(usize, Box<Le>),
    FromInject(usize, Box<Le>),
    Build {
        index: Var,
        bound: Size,
        body: Box<Le>,
    },
    Index(Box<Le>, Box<Te>),
    OneHot {
        bound: Size,
        index: Box<Te>,
        term: Box<Le>,
    },
    Sum {
        index: Var,
        bound: Size,
        body: Box<Le>,
    },
    Loop {
        direction: Direction,
        state: P,
        init: Box<Le>,
        index: Var,
        bound: Size,
        body: Box<Le>,
    },
    Error,
}

impl Te {
    pub fn new(kind: K, ty: T, span: Span) -> Te {
        Te { kind, ty, span }
    }
    pub fn error(span: Span) -> Te {
        Te::new(K::Error, T::Error, span)
    }
    pub fn var(v: &Var, ty: &T, span: Span) -> Te {
        Te::new(K::Var(v.clone()), ty.clone(), span)
    }
}

impl Le {
    pub fn new(kind: LK, ty: T, span: Span) -> Le {
        Le { kind, ty, span }
    }
    pub fn error(span: Span) -> Le {
        Le::new(LK::Error, T::Error, span)
    }
}

impl P {
    pub fn var(v: &Var, ty: &T, span: Span) -> P {
        P { kind: PK::Var(v.clone()), ty: ty.clone(), span }
    }
}
