//! Items: definitions, types, imports, inputs, tests, derivative rules.

use super::Spanned;
use super::expr::exprs;
use super::grammar::{P, Patterns, Types, commas, group, ident, patterns, string, sym, types, word};
use super::problem::Problem;
use super::token::{Label, Sym, Tok};
use super::*;
use crate::diag::Diagnostic;
use chumsky::prelude::*;

/// The parsers of a whole expression and of one item.
pub struct Grammar<'t> {
    pub expr: P<'t, Expr>,
    pub item: P<'t, ItemKind>,
}

pub fn grammar<'t>() -> Grammar<'t> {
    let types = types();
    let patterns = patterns(types.ty.clone());
    let expr = exprs(&types, &patterns);
    let item = choice((
        defs(&types, &patterns, expr.clone()),
        type_item(&types),
        import(),
        input(&types),
        test(expr.clone()),
        rules(&patterns, expr.clone()),
    ))
    .then_ignore(end())
    .boxed();
    Grammar { expr: expr.then_ignore(end()).boxed(), item }
}

/// An item's last expression; where it does not parse the rest is skipped, so that what comes before it stays known.
fn body<'t>(expr: P<'t, Expr>) -> P<'t, Expr> {
    let stop = choice((end(), sym(Sym::And))).rewind();
    let skipped =
        any().and_is(sym(Sym::And).not()).repeated().map_with(|(), e| at(ExprKind::Error, e.span()));
    sym(Sym::Equals).ignore_then(expr.then_ignore(stop).recover_with(via_parser(skipped))).boxed()
}

/// def rec? f [n, 'a] (x : τ) … : τ = e (and g … )*
fn defs<'t>(types: &Types<'t>, patterns: &Patterns<'t>, expr: P<'t, Expr>) -> P<'t, ItemKind> {
    let typed = patterns
        .pat
        .clone()
        .then_ignore(sym(Sym::Colon))
        .then(types.ty.clone())
        .delimited_by(sym(Sym::Open), sym(Sym::Close));
    let untyped = patterns.atom.clone().map_with(|p: Pat, e| {
        let d = Diagnostic::new(codes::UNTYPED_PARAMETER, "a parameter of a definition has a written type")
            .label(p.span, "this parameter has none");
        let d = match &p.node {
            PatKind::Var(x) => d.help(format!("write `({x} : real)`, or the type it has")),
            PatKind::Tuple(_) => d.help("write each parameter with its type: `(x : real) (y : real)`"),
            _ => d,
        };
        e.emit(Problem::custom(p.span, d));
        let t = at(TyKind::Error, p.span);
        (p, t)
    });
    let unknown = |s: Span| (at(PatKind::Wildcard, s), at(TyKind::Error, s));
    let param = group(Sym::Open, Sym::Close, typed.or(untyped.clone()), unknown).or(untyped).boxed();
    let def = ident()
        .then(types.params.clone())
        .then(param.repeated().collect::<Vec<(Pat, Ty)>>())
        .then(sym(Sym::Colon).ignore_then(types.ty.clone()).or_not())
        .then(body(expr))
        .map(|((((name, type_params), params), result), body)| Def {
            name,
            type_params,
            params,
            result,
            body,
        })
        .boxed();
    let group = def.separated_by(sym(Sym::And)).at_least(1).collect::<Vec<Def>>();
    // `rec` is a name like any other unless another name follows.
    let rec = word("rec").then_ignore(ident().rewind()).or_not().map(|r| r.is_some());
    word("def").ignore_then(rec).then(group).map(|(rec, defs)| ItemKind::Def { rec, defs }).boxed()
}

/// type t ['a, n] = τ;  type t = A τ | B
fn type_item<'t>(types: &Types<'t>) -> P<'t, ItemKind> {
    // `D τ` is a type, so D names no constructor.
    let constructor =
        ident().filter(|x| x.node.starts_with(char::is_uppercase) && x.node != "D").labelled(Label::Name);
    let arm = constructor.then(types.prefix.clone().or_not());
    enum Right {
        Sum(Vec<(Ident, Option<Ty>)>),
        Alias(Ty),
    }
    let sum = sym(Sym::Bar)
        .or_not()
        .ignore_then(arm.separated_by(sym(Sym::Bar)).at_least(1).collect())
        .map(Right::Sum);
    word("type")
        .ignore_then(ident())
        .then(types.params.clone())
        .then_ignore(sym(Sym::Equals))
        .then(sum.or(types.ty.clone().map(Right::Alias)))
        .map(|((name, params), right)| match right {
            Right::Sum(arms) => ItemKind::Sum { name, params, arms },
            Right::Alias(ty) => ItemKind::Alias { name, params, ty },
        })
        .boxed()
}

/// import "p.ad" as m;  import linalg (dot, type mat)
fn import<'t>() -> P<'t, ItemKind> {
    let path = choice((string().map(ImportPath::File), ident().map(ImportPath::Module)));
    let name = choice((word("type").ignore_then(ident()).map(Imported::Type), ident().map(Imported::Value)));
    word("import")
        .ignore_then(path)
        .then(sym(Sym::As).ignore_then(ident()).or_not())
        .then(commas(name).delimited_by(sym(Sym::Open), sym(Sym::Close)).or_not())
        .map(|((module, alias), names)| ItemKind::Import(Import { module, alias, names }))
        .boxed()
}

/// input x [n] : τ = "file"
fn input<'t>(types: &Types<'t>) -> P<'t, ItemKind> {
    word("input")
        .ignore_then(ident())
        .then(types.params.clone())
        .then_ignore(sym(Sym::Colon))
        .then(types.ty.clone())
        .then(sym(Sym::Equals).ignore_then(string()).or_not())
        .map(|(((name, params), ty), file)| ItemKind::Input { name, params, ty, file })
        .boxed()
}

/// test t = e ~= e within 1e-6;  test t = e == e
fn test<'t>(expr: P<'t, Expr>) -> P<'t, ItemKind> {
    let number = select! { Tok::Real(x) => x, Tok::Int(k) => k as f64 }.labelled(Label::Number);
    let close =
        sym(Sym::Approx).ignore_then(expr.clone()).then(sym(Sym::Within).ignore_then(number).or_not());
    word("test")
        .ignore_then(ident())
        .then_ignore(sym(Sym::Equals))
        .then(expr)
        .then(close.or_not())
        // What follows is reported before what the test lacks.
        .then_ignore(end().rewind())
        .map_with(|((name, left), close), e| {
            let (left, relation, right) = match (left, close) {
                (left, Some((right, tolerance))) => (left, Relation::Within(tolerance), right),
                (Spanned { node: ExprKind::Binary(BinOp::Eq, l, r), .. }, None) => {
                    (*l, Relation::Exactly, *r)
                }
                (other, None) => {
                    let d = Diagnostic::new(codes::NOT_A_TEST, "a test compares two values")
                        .label(other.span, "nothing is compared here")
                        .help("write `e ~= e`, `e ~= e within 1e-6` or `e == e`");
                    e.emit(Problem::custom(other.span, d));
                    return ItemKind::Error;
                }
            };
            ItemKind::Test(Test { name, left, relation, right })
        })
        .boxed()
}

/// derivative f x dx = e;  derivative f via g;  adjoint f x w = e
fn rules<'t>(patterns: &Patterns<'t>, expr: P<'t, Expr>) -> P<'t, ItemKind> {
    let params = patterns.atom.clone().repeated().at_least(1).collect::<Vec<Pat>>().boxed();
    let body = body(expr);
    let via = word("via").ignore_then(ident()).then_ignore(end()).map(Rule::Via);
    let jvp = params.clone().then(body.clone()).map(|(params, body)| Rule::Jvp { params, body });
    let derivative = word("derivative")
        .ignore_then(ident())
        .then(via.or(jvp))
        .map(|(name, rule)| ItemKind::Derivative { name, rule });
    let adjoint = word("adjoint")
        .ignore_then(ident())
        .then(params)
        .then(body)
        .map(|((name, params), body)| ItemKind::Adjoint { name, params, body });
    derivative.or(adjoint).boxed()
}
