//! The surface language: what a person writes (the reference is docs/reference). Every node has a span; spans are
//! bytes of the file's text while parsing and are made relative to their definition by the session.

pub mod codes;
mod expr;
pub mod format;
mod grammar;
mod items;
pub mod lexer;
mod mend;
pub mod parser;
pub mod print;
mod problem;
pub mod token;

use crate::diag::Span;

/// A thing with its place. Equality looks through the place, so that parse ∘ print = id can be stated.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    pub node: T,
    pub span: Span,
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

pub type Ident = Spanned<String>;
pub type Expr = Spanned<ExprKind>;
pub type Pat = Spanned<PatKind>;
pub type Ty = Spanned<TyKind>;
pub type SizeExpr = Spanned<SizeKind>;

#[derive(Clone, Debug, PartialEq, Default)]
pub struct File {
    pub items: Vec<Item>,
}

/// A top-level item, its documentation comment (`--|` lines, without the marks).
#[derive(Clone, Debug)]
pub struct Item {
    pub doc: Option<String>,
    pub kind: ItemKind,
    pub span: Span,
}

impl PartialEq for Item {
    fn eq(&self, other: &Item) -> bool {
        self.doc == other.doc && self.kind == other.kind
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    /// `def f …`; `def rec f … and g …` is one item with `rec` set.
    Def {
        rec: bool,
        defs: Vec<Def>,
    },
    /// type name ['a, n] = τ
    Alias {
        name: Ident,
        params: Vec<TypeParam>,
        ty: Ty,
    },
    /// type name ['a, n] = A τ | B
    Sum {
        name: Ident,
        params: Vec<TypeParam>,
        arms: Vec<(Ident, Option<Ty>)>,
    },
    Import(Import),
    /// input name [n] : τ = "file"
    Input {
        name: Ident,
        params: Vec<TypeParam>,
        ty: Ty,
        file: Option<Ident>,
    },
    Test(Test),
    /// derivative f x dx = e;  derivative f via g
    Derivative {
        name: Ident,
        rule: Rule,
    },
    /// adjoint f x w = e
    Adjoint {
        name: Ident,
        params: Vec<Pat>,
        body: Expr,
    },
    /// An item that did not parse.
    Error,
}

/// import "p.ad" as m;  import linalg (dot, type mat)
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    pub module: ImportPath,
    pub alias: Option<Ident>,
    /// The names that are brought into scope as they are.
    pub names: Option<Vec<Imported>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ImportPath {
    File(Ident),
    /// A module of the standard library.
    Module(Ident),
}

impl ImportPath {
    pub fn span(&self) -> Span {
        match self {
            ImportPath::File(x) | ImportPath::Module(x) => x.span,
        }
    }
}

/// A name in an import's list.
#[derive(Clone, Debug, PartialEq)]
pub enum Imported {
    Value(Ident),
    /// `type t`: a type, with its constructors if it is a sum.
    Type(Ident),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    Jvp { params: Vec<Pat>, body: Expr },
    Via(Ident),
}

/// test name = left ~= right within 1e-6
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    pub name: Ident,
    pub left: Expr,
    pub relation: Relation,
    pub right: Expr,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    Exactly,
    /// Relative tolerance; None is 1e-9.
    Within(Option<f64>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum TypeParam {
    /// 'a
    Type(Ident),
    /// n
    Size(Ident),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Def {
    pub name: Ident,
    pub type_params: Vec<TypeParam>,
    pub params: Vec<(Pat, Ty)>,
    pub result: Option<Ty>,
    pub body: Expr,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Var(String),
    Int(i64),
    /// The numeral as written is not kept: reals print as the shortest text that reads back.
    Real(f64),
    Bool(bool),
    /// \p … -> e
    Lam(Vec<Param>, Box<Expr>),
    /// \z -o e
    LinLam(Param, Box<Expr>),
    App(Box<Expr>, Box<Expr>),
    /// name[τ, n]: type application, for `zero[τ]`, `coproj[τ]` and the like
    TypeApp(Ident, Vec<TyArg>),
    /// let p = e in e, with an optional type
    Let(Box<Param>, Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Match(Box<Expr>, Vec<(Pat, Expr)>),
    Tuple(Vec<Expr>),
    Proj(Box<Expr>, usize),
    Record(Vec<(Ident, Expr)>),
    Field(Box<Expr>, Ident),
    /// {r with x = e}
    RecordUpdate(Box<Expr>, Vec<(Ident, Expr)>),
    /// {a with [i, j] = e}
    ArrayUpdate {
        array: Box<Expr>,
        index: Vec<Expr>,
        value: Box<Expr>,
    },
    Array(Vec<Expr>),
    Index(Box<Expr>, Vec<Expr>),
    /// a[i:j]
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// [ e | i < n, j ]
    Comprehension {
        body: Box<Expr>,
        bounds: Vec<(Ident, Option<Expr>)>,
    },
    LoopFor(Box<LoopFor>),
    LoopWhile {
        state: Box<Param>,
        init: Box<Expr>,
        cond: Box<Expr>,
        body: Box<Expr>,
    },
    Binary(BinOp, Box<Expr>, Box<Expr>),
    Neg(Box<Expr>),
    /// (+)
    Section(BinOp),
    /// e as τ
    As(Box<Expr>, Ty),
    /// tensor a v  (!a ⊗ v)
    Tensor(Box<Expr>, Box<Expr>),
    /// case t of tensor x v -> e
    TensorElim {
        scrutinee: Box<Expr>,
        var: Param,
        lin: Param,
        body: Box<Expr>,
    },
    /// suml i < n -> e  (Σ_{i<n} e)
    Suml {
        index: Ident,
        bound: Box<Expr>,
        body: Box<Expr>,
    },
    /// An expression that did not parse.
    Error,
}

/// loop p = init for i < n do e.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopFor {
    pub flavour: LoopFlavour,
    pub state: Param,
    pub init: Expr,
    pub index: Ident,
    pub bound: Expr,
    pub body: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopFlavour {
    /// `loop p = e for i < n do e`: the last state.
    Plain,
    /// `loop p = e for i < n collect e`: the body gives (next state, output), the loop (last state, all outputs). Core's loop.
    Collect,
    /// `loop_up z = e for i < n do e`, in linear terms: as Collect, i = 0, 1, ….
    LinearUp,
    /// `loop_down z = e for i < n do e`, in linear terms: as Collect, i = n-1, …, 0.
    LinearDown,
}

/// A pattern with an optional type: p or (p : τ).
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    pub pat: Pat,
    pub ty: Option<Ty>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TyArg {
    Ty(Ty),
    Size(SizeExpr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    /// x |> f
    Pipe,
    /// f >> g
    Compose,
    /// @
    MatMul,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PatKind {
    Wildcard,
    Var(String),
    Int(i64),
    Bool(bool),
    Tuple(Vec<Pat>),
    Record(Vec<(Ident, Pat)>),
    /// A p
    Constructor(Ident, Option<Box<Pat>>),
    /// [p, q]
    Array(Vec<Pat>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum TyKind {
    /// real, int, bool, an alias or a sum, with arguments: mat[real, n]
    Name(Ident, Vec<TyArg>),
    /// 'a
    Var(String),
    Tuple(Vec<Ty>),
    Record(Vec<(Ident, Ty)>),
    Array(SizeExpr, Box<Ty>),
    /// real^n, real^(m, n)
    Power(Box<Ty>, Vec<SizeExpr>),
    Fun(Box<Ty>, Box<Ty>),
    /// τ -o σ
    LinFun(Box<Ty>, Box<Ty>),
    /// !τ * σ
    Copower(Box<Ty>, Box<Ty>),
    /// D τ
    Tangent(Box<Ty>),
    Error,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SizeKind {
    Int(i64),
    Var(String),
    /// ?k, an existential size
    Exists(String),
    Add(Box<SizeExpr>, Box<SizeExpr>),
    Sub(Box<SizeExpr>, Box<SizeExpr>),
    Mul(Box<SizeExpr>, Box<SizeExpr>),
}

pub fn at<T>(node: T, span: Span) -> Spanned<T> {
    Spanned { node, span }
}
