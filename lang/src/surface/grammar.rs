//! What every part of the grammar uses: tokens as parsers, names, sizes, types, patterns.

use super::problem::{In, Problem};
use super::token::{Label, Sym, Tok};
use super::*;
use chumsky::pratt::{infix, left};
use chumsky::prelude::*;
use chumsky::recovery::nested_delimiters as nested;

pub type E<'t> = extra::Err<Problem<'t>>;
/// What the folds of operators are given besides their operands.
pub type Extra<'t, 'b> = chumsky::input::MapExtra<'t, 'b, In<'t>, E<'t>>;
pub type P<'t, O> = Boxed<'t, 't, In<'t>, O, E<'t>>;

/// A parser that is small enough to be copied into its users.
macro_rules! parser {
    ($out:ty) => { impl Parser<'t, In<'t>, $out, E<'t>> + Clone + 't };
}
pub(super) use parser;

pub fn sym<'t>(s: Sym) -> parser!(()) {
    just(Tok::Sym(s)).ignored()
}

/// A word that is a name elsewhere.
pub fn word<'t>(w: &'static str) -> parser!(()) {
    just(Tok::Name(w)).ignored()
}

pub fn ident<'t>() -> parser!(Ident) {
    select! { Tok::Name(x) => x.to_string() }.map_with(|x, e| at(x, e.span())).labelled(Label::Name)
}

/// A name or `_`.
pub fn index_name<'t>() -> parser!(Ident) {
    select! { Tok::Name(x) => x.to_string(), Tok::Sym(Sym::Underscore) => "_".to_string() }
        .map_with(|x, e| at(x, e.span()))
        .labelled(Label::Name)
}

pub fn string<'t>() -> parser!(Ident) {
    select! { Tok::Str(x) => x.to_string() }.map_with(|x, e| at(x, e.span())).labelled(Label::String)
}

/// `[`, whether or not something stands directly before it.
pub fn bracket<'t>() -> parser!(()) {
    choice((sym(Sym::Bracket), sym(Sym::IndexOpen)))
}

pub fn commas<'t, O: 't>(p: parser!(O)) -> parser!(Vec<O>) {
    p.separated_by(sym(Sym::Comma)).at_least(1).collect()
}

/// A parser of a bracketed group; where the group holds an error, its tokens are skipped.
pub fn group<'t, O: 't>(
    open: Sym,
    close: Sym,
    inner: parser!(O),
    error: impl Fn(Span) -> O + Clone + 't,
) -> parser!(O) {
    const PAIRS: [(Sym, Sym); 4] = [
        (Sym::Open, Sym::Close),
        (Sym::Bracket, Sym::BracketClose),
        (Sym::IndexOpen, Sym::BracketClose),
        (Sym::Brace, Sym::BraceClose),
    ];
    let others: Vec<_> =
        PAIRS.iter().filter(|(o, _)| *o != open).map(|(o, c)| (Tok::Sym(*o), Tok::Sym(*c))).collect();
    let others: [_; 3] = others.try_into().expect("one of the four pairs is left out");
    let skip = nested(Tok::Sym(open), Tok::Sym(close), others, error);
    // Looking first keeps the recovery from being tried wherever no group begins.
    sym(open).rewind().ignore_then(inner.recover_with(via_parser(skip)))
}

/// x, or m.x of a module m
fn qualified<'t>(member: parser!(&'t str)) -> parser!(Ident) {
    ident().then(member.or_not()).map_with(|(x, member), e| match member {
        Some(y) => at(format!("{}.{y}", x.node), e.span()),
        None => x,
    })
}

fn uppercase(x: &str) -> bool {
    x.starts_with(char::is_uppercase)
}

/// A or m.A
fn is_constructor(x: &str) -> bool {
    uppercase(x.rsplit('.').next().unwrap_or(x))
}

/// Size ::= additive polynomials over names and literals.
pub fn size<'t>() -> P<'t, SizeExpr> {
    recursive(|size| {
        let atom = choice((
            select! { Tok::Int(k) => SizeKind::Int(k), Tok::Name(x) => SizeKind::Var(x.to_string()) },
            sym(Sym::Question).ignore_then(ident()).map(|x| SizeKind::Exists(x.node)),
        ))
        .map_with(|n, e| at(n, e.span()))
        .or(size.delimited_by(sym(Sym::Open), sym(Sym::Close)))
        .labelled(Label::Size);
        type Make = fn(Box<SizeExpr>, Box<SizeExpr>) -> SizeKind;
        fn fold<'t>(l: SizeExpr, make: Make, r: SizeExpr, _: &mut Extra<'t, '_>) -> SizeExpr {
            let span = l.span.to(r.span);
            at(make(Box::new(l), Box::new(r)), span)
        }
        let product = select! { Tok::Sym(Sym::Star) => SizeKind::Mul as Make };
        let sum = select! { Tok::Sym(Sym::Plus) => SizeKind::Add as Make, Tok::Sym(Sym::Minus) => SizeKind::Sub as Make };
        atom.pratt((infix(left(2), product, fold), infix(left(1), sum, fold)))
    })
    .boxed()
}

/// The type parsers: a type, and one without arrows or tensors at its top (`prefix`).
pub struct Types<'t> {
    pub ty: P<'t, Ty>,
    pub prefix: P<'t, Ty>,
    pub args: P<'t, Vec<TyArg>>,
    pub params: P<'t, Vec<TypeParam>>,
}

/// Type ::= Tensor (`->` Type | `-o` Type)?      Tensor ::= `!` Atom `*` Tensor | Prefix
/// Prefix ::= `[` Size `]` Prefix | `D` Prefix | Atom (`^` exponent)?
pub fn types<'t>() -> Types<'t> {
    let mut ty = Recursive::declare();
    let mut prefix = Recursive::declare();
    let size = size();

    let arg_end = choice((sym(Sym::Comma), sym(Sym::BracketClose))).rewind();
    let arg = choice((ty.clone().then_ignore(arg_end).map(TyArg::Ty), size.clone().map(TyArg::Size)));
    let args = commas(arg).boxed();

    let named = qualified(select! { Tok::DotName(x) => x })
        .then(args.clone().delimited_by(sym(Sym::IndexOpen), sym(Sym::BracketClose)).or_not())
        .map(|(x, args)| TyKind::Name(x, args.unwrap_or_default()));
    let tuple = ty
        .clone()
        .separated_by(sym(Sym::Comma))
        .collect::<Vec<Ty>>()
        .delimited_by(sym(Sym::Open), sym(Sym::Close))
        .map(|mut ts| if ts.len() == 1 { ts.remove(0).node } else { TyKind::Tuple(ts) });
    let field = ident().then_ignore(sym(Sym::Colon)).then(ty.clone());
    let record = commas(field).delimited_by(sym(Sym::Brace), sym(Sym::BraceClose)).map(TyKind::Record);
    let atom = choice((named, select! { Tok::TypeVar(a) => TyKind::Var(a.to_string()) }, tuple, record))
        .map_with(|t, e| at(t, e.span()))
        .labelled(Label::Type)
        .boxed();

    let exponent = choice((
        select! { Tok::Int(k) => SizeKind::Int(k), Tok::Name(x) => SizeKind::Var(x.to_string()) }
            .map_with(|n, e| vec![at(n, e.span())]),
        commas(size.clone()).delimited_by(sym(Sym::Open), sym(Sym::Close)),
    ))
    .labelled(Label::Size);
    let power =
        atom.clone().then(sym(Sym::Caret).ignore_then(exponent).or_not()).map_with(|(t, n), e| match n {
            Some(n) => at(TyKind::Power(Box::new(t), n), e.span()),
            None => t,
        });
    let array = bracket()
        .ignore_then(size)
        .then_ignore(sym(Sym::BracketClose))
        .then(prefix.clone())
        .map_with(|(n, t), e| at(TyKind::Array(n, Box::new(t)), e.span()));
    let tangent =
        word("D").ignore_then(prefix.clone()).map_with(|t, e| at(TyKind::Tangent(Box::new(t)), e.span()));
    prefix.define(choice((array, tangent, power)).labelled(Label::Type).boxed());

    let tensor = recursive(|tensor| {
        let copower = sym(Sym::Bang)
            .ignore_then(atom)
            .then_ignore(choice((sym(Sym::Star), sym(Sym::Times))))
            .then(tensor)
            .map_with(|(a, b), e| at(TyKind::Copower(Box::new(a), Box::new(b)), e.span()));
        copower.or(prefix.clone())
    });
    type Make = fn(Box<Ty>, Box<Ty>) -> TyKind;
    let arrow = choice((
        sym(Sym::Arrow).to(TyKind::Fun as Make),
        choice((sym(Sym::Lolli), lolli())).to(TyKind::LinFun as Make),
    ));
    ty.define(
        tensor
            .then(arrow.then(ty.clone()).or_not())
            .map_with(|(a, rest), e| match rest {
                Some((make, b)) => at(make(Box::new(a), Box::new(b)), e.span()),
                None => a,
            })
            .boxed(),
    );

    let param = choice((
        select! { Tok::TypeVar(a) => a.to_string() }.map_with(|a, e| TypeParam::Type(at(a, e.span()))),
        ident().map(TypeParam::Size),
    ));
    let params = commas(param)
        .delimited_by(bracket(), sym(Sym::BracketClose))
        .or_not()
        .map(Option::unwrap_or_default)
        .boxed();
    Types { ty: ty.boxed(), prefix: prefix.boxed(), args, params }
}

/// The two tokens of `-o`.
pub fn lolli<'t>() -> parser!(()) {
    just([Tok::Sym(Sym::Minus), Tok::Name("o")]).ignored()
}

/// The pattern parsers: one that may be a constructor with its payload, one that stands among others, and a parameter `p` or `(p : τ)`.
pub struct Patterns<'t> {
    pub pat: P<'t, Pat>,
    pub atom: P<'t, Pat>,
    pub param: P<'t, Param>,
    /// (p : τ)
    pub typed: P<'t, Param>,
    pub ty: P<'t, Ty>,
}

/// Pat ::= Constructor Atom? | Atom      Atom ::= `_` | x | literal | `(` Pat, … `)` | `{` x `=` Pat, … `}` | `[` Pat, … `]`
pub fn patterns<'t>(ty: P<'t, Ty>) -> Patterns<'t> {
    let mut pat = Recursive::declare();
    let constructor = qualified(select! { Tok::DotName(x) if uppercase(x) => x });
    let name = constructor
        .clone()
        .map(|x| if is_constructor(&x.node) { PatKind::Constructor(x, None) } else { PatKind::Var(x.node) });
    let literal = select! {
        Tok::Sym(Sym::Underscore) => PatKind::Wildcard,
        Tok::Int(k) => PatKind::Int(k),
        Tok::Sym(Sym::True) => PatKind::Bool(true),
        Tok::Sym(Sym::False) => PatKind::Bool(false),
    };
    let negative = sym(Sym::Minus).ignore_then(select! { Tok::Int(k) => PatKind::Int(k.wrapping_neg()) });
    let list = |p: Recursive<chumsky::recursive::Indirect<'t, 't, In<'t>, Pat, E<'t>>>| {
        p.separated_by(sym(Sym::Comma)).collect::<Vec<Pat>>()
    };
    let tuple = list(pat.clone())
        .delimited_by(sym(Sym::Open), sym(Sym::Close))
        .map(|mut ps| if ps.len() == 1 { ps.remove(0).node } else { PatKind::Tuple(ps) });
    let array = list(pat.clone()).delimited_by(bracket(), sym(Sym::BracketClose)).map(PatKind::Array);
    let field = ident().then(sym(Sym::Equals).ignore_then(pat.clone()).or_not()).map(|(x, p)| {
        let p = p.unwrap_or_else(|| at(PatKind::Var(x.node.clone()), x.span));
        (x, p)
    });
    let record = commas(field).delimited_by(sym(Sym::Brace), sym(Sym::BraceClose)).map(PatKind::Record);
    let atom = choice((name, literal, negative, tuple, array, record))
        .map_with(|p, e| at(p, e.span()))
        .labelled(Label::Pattern)
        .boxed();
    let applied = constructor
        .filter(|x| is_constructor(&x.node))
        .then(atom.clone())
        .map_with(|(c, p), e| at(PatKind::Constructor(c, Some(Box::new(p))), e.span()));
    pat.define(applied.or(atom.clone()).labelled(Label::Pattern).boxed());

    let typed = pat
        .clone()
        .then_ignore(sym(Sym::Colon))
        .then(ty.clone())
        .delimited_by(sym(Sym::Open), sym(Sym::Close))
        .map(|(pat, ty)| Param { pat, ty: Some(ty) })
        .boxed();
    let param = typed.clone().or(atom.clone().map(|pat| Param { pat, ty: None })).boxed();
    Patterns { pat: pat.boxed(), atom, param, typed, ty }
}
