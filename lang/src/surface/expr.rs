//! Expressions. Tightest first: atoms, postfix, application, •, ⊗, `^`, unary −, `* / @`, `+ -`; then comparisons,
//! `&&`, `||`, `>>`, `|>`, `as`. The forms with a body (λ, let, if, match, case, loop, suml) are operands that extend as far right as they can.

use super::grammar::{E, Extra, P, Patterns, Types, commas, group, ident, index_name, lolli, parser, sym};
use super::problem::{In, Problem};
use super::token::{Label, Sym, Tok};
use super::*;
use crate::diag::Diagnostic;
use chumsky::pratt::{infix, left, postfix, prefix, right};
use chumsky::prelude::*;

/// The names that take types and sizes in brackets: `zero[real^n]`. After any other name a `[` indexes.
pub const TYPE_APPLIED: &[&str] = &["zero", "coproj", "onehot", "inject", "unread", "unbox"];

fn boxed(e: Expr) -> Box<Expr> {
    Box::new(e)
}

/// What may follow an operand directly.
enum Suffix {
    Index(Vec<Expr>),
    Slice(Option<Box<Expr>>, Option<Box<Expr>>),
    Proj(usize),
    Field(Ident),
}

/// The expression parser.
pub fn exprs<'t>(types: &Types<'t>, patterns: &Patterns<'t>) -> P<'t, Expr> {
    let mut expr = Recursive::declare();
    // What stands in bounds, where `<` and `,` belong to the comprehension.
    let mut additive = Recursive::declare();
    let postfix_expr = postfixes(expr.clone().boxed(), additive.clone().boxed(), types);

    let tensor = sym(Sym::Tensor)
        .ignore_then(postfix_expr.clone().labelled(Label::Argument))
        .then(postfix_expr.clone().labelled(Label::Argument))
        .map_with(|(a, v), e| at(ExprKind::Tensor(boxed(a), boxed(v)), e.span()));
    let apply = |f: Expr, x: Expr| {
        let span = f.span.to(x.span);
        at(ExprKind::App(boxed(f), boxed(x)), span)
    };
    let app = tensor
        .or(postfix_expr.clone().foldl(postfix_expr.clone().labelled(Label::Argument).repeated(), apply))
        .boxed();
    let bullet = app.clone().foldl(sym(Sym::Bullet).ignore_then(app).repeated(), apply);
    let operand = recursive(|operand| {
        let times = sym(Sym::Bang)
            .ignore_then(postfix_expr)
            .then_ignore(sym(Sym::Times))
            .then(operand)
            .map_with(|(a, v), e| at(ExprKind::Tensor(boxed(a), boxed(v)), e.span()));
        let body = bodies(expr.clone().boxed(), additive.clone().boxed(), patterns);
        choice((bullet, body, times)).labelled(Label::Expr)
    });

    let one = |s: Sym, op: BinOp| sym(s).to(op).labelled(Label::Operator);
    let minus = sym(Sym::Minus).map_with(|(), e| e.span());
    additive.define(
        operand
            .boxed()
            .pratt((
                infix(right(4), one(Sym::Caret, BinOp::Pow), binary),
                prefix(3, minus, negate),
                infix(left(2), operator(&[BinOp::Mul, BinOp::Div, BinOp::MatMul]), binary),
                infix(left(1), operator(&[BinOp::Add, BinOp::Sub]), binary),
            ))
            .boxed(),
    );
    expr.define(
        additive
            .pratt((
                infix(left(6), operator(COMPARISONS), compare),
                infix(left(5), one(Sym::AndAnd, BinOp::And), binary),
                infix(left(4), one(Sym::OrOr, BinOp::Or), binary),
                infix(left(3), one(Sym::Compose, BinOp::Compose), binary),
                infix(left(2), one(Sym::Pipe, BinOp::Pipe), binary),
                postfix(1, sym(Sym::As).ignore_then(types.ty.clone()), ascribe),
            ))
            .boxed(),
    );
    expr.boxed()
}

fn binary<'t>(l: Expr, op: BinOp, r: Expr, _: &mut Extra<'t, '_>) -> Expr {
    let span = l.span.to(r.span);
    at(ExprKind::Binary(op, boxed(l), boxed(r)), span)
}

fn compare<'t>(l: Expr, op: BinOp, r: Expr, e: &mut Extra<'t, '_>) -> Expr {
    if is_bare_comparison(&l) {
        e.emit(chain(&l, &r));
    }
    binary(l, op, r, e)
}

fn negate<'t>(minus: Span, x: Expr, _: &mut Extra<'t, '_>) -> Expr {
    let span = minus.to(x.span);
    at(ExprKind::Neg(boxed(x)), span)
}

fn ascribe<'t>(x: Expr, t: Ty, _: &mut Extra<'t, '_>) -> Expr {
    let span = x.span.to(t.span);
    at(ExprKind::As(boxed(x), t), span)
}

const COMPARISONS: &[BinOp] = &[BinOp::Eq, BinOp::Ne, BinOp::Lt, BinOp::Le, BinOp::Gt, BinOp::Ge];

/// The operator a symbol is.
pub fn binop(s: Sym) -> Option<BinOp> {
    Some(match s {
        Sym::Plus => BinOp::Add,
        Sym::Minus => BinOp::Sub,
        Sym::Star => BinOp::Mul,
        Sym::Slash => BinOp::Div,
        Sym::Caret => BinOp::Pow,
        Sym::EqEq => BinOp::Eq,
        Sym::NotEq => BinOp::Ne,
        Sym::Less => BinOp::Lt,
        Sym::LessEq => BinOp::Le,
        Sym::Greater => BinOp::Gt,
        Sym::GreaterEq => BinOp::Ge,
        Sym::AndAnd => BinOp::And,
        Sym::OrOr => BinOp::Or,
        Sym::Pipe => BinOp::Pipe,
        Sym::Compose => BinOp::Compose,
        Sym::At => BinOp::MatMul,
        _ => return None,
    })
}

fn operator<'t>(ops: &'static [BinOp]) -> parser!(BinOp) {
    any()
        .filter(move |t| matches!(t, Tok::Sym(s) if binop(*s).is_some_and(|op| ops.contains(&op))))
        .map(|t| match t {
            Tok::Sym(s) => binop(s).unwrap_or(BinOp::Add),
            _ => BinOp::Add,
        })
        .labelled(Label::Operator)
}

/// A comparison that does not stand in parentheses: those widen a node's span beyond its operands'.
fn is_bare_comparison(e: &Expr) -> bool {
    match &e.node {
        ExprKind::Binary(op, l, r) => COMPARISONS.contains(op) && e.span == l.span.to(r.span),
        _ => false,
    }
}

fn chain<'t>(l: &Expr, r: &Expr) -> Problem<'t> {
    let d = Diagnostic::new(codes::COMPARISON_CHAIN, "comparisons do not chain")
        .label(r.span, "this is compared with the result of a comparison")
        .label(l.span, "the first comparison")
        .help("write `a < b && b < c`, or parentheses if you mean to compare truth values");
    Problem::custom(r.span, d)
}

/// Atom ::= literal | x | name[τ, …] | ( … ) | [ … ] | { … }, followed by indices, slices and projections without a gap.
fn postfixes<'t>(expr: P<'t, Expr>, bound: P<'t, Expr>, types: &Types<'t>) -> P<'t, Expr> {
    recursive(|postfixed| {
        let literal = select! {
            Tok::Int(k) => ExprKind::Int(k),
            Tok::Real(x) => ExprKind::Real(x),
            Tok::Sym(Sym::True) => ExprKind::Bool(true),
            Tok::Sym(Sym::False) => ExprKind::Bool(false),
        };
        let type_app = select! { Tok::Name(x) if TYPE_APPLIED.contains(&x) => x.to_string() }
            .map_with(|x, e| at(x, e.span()))
            .then(types.args.clone().delimited_by(sym(Sym::IndexOpen), sym(Sym::BracketClose)))
            .map(|(x, args)| ExprKind::TypeApp(x, args));
        let name = select! { Tok::Name(x) => ExprKind::Var(x.to_string()) };

        let section = any()
            .filter(|t| matches!(t, Tok::Sym(s) if binop(*s).is_some()))
            .then_ignore(sym(Sym::Close))
            .map(|t| match t {
                Tok::Sym(s) => ExprKind::Section(binop(s).unwrap_or(BinOp::Add)),
                _ => ExprKind::Error,
            });
        let tuple = expr
            .clone()
            .separated_by(sym(Sym::Comma))
            .collect::<Vec<Expr>>()
            .then_ignore(sym(Sym::Close))
            .map(|mut es| if es.len() == 1 { es.remove(0).node } else { ExprKind::Tuple(es) });
        let inside = sym(Sym::Open).ignore_then(section.or(tuple));
        let paren = group(Sym::Open, Sym::Close, inside, |_| ExprKind::Error);

        let range = index_name().then(sym(Sym::Less).ignore_then(bound).or_not());
        enum Rest {
            Bounds(Vec<(Ident, Option<Expr>)>),
            More(Vec<Expr>),
        }
        let rest = choice((
            sym(Sym::Bar).ignore_then(commas(range)).map(Rest::Bounds),
            sym(Sym::Comma).ignore_then(expr.clone()).repeated().collect().map(Rest::More),
        ));
        let inside = sym(Sym::Bracket)
            .ignore_then(expr.clone().then(rest).or_not())
            .then_ignore(sym(Sym::BracketClose))
            .map(|all| match all {
                None => ExprKind::Array(vec![]),
                Some((body, Rest::Bounds(bounds))) => ExprKind::Comprehension { body: boxed(body), bounds },
                Some((first, Rest::More(mut more))) => {
                    more.insert(0, first);
                    ExprKind::Array(more)
                }
            });
        let array = group(Sym::Bracket, Sym::BracketClose, inside, |_| ExprKind::Error);

        let fields = commas(ident().then_ignore(sym(Sym::Equals)).then(expr.clone())).boxed();
        let index_list = commas(expr.clone()).delimited_by(sym(Sym::Bracket), sym(Sym::BracketClose));
        enum Update {
            Element(Vec<Expr>, Expr),
            Fields(Vec<(Ident, Expr)>),
        }
        let change = choice((
            index_list.then_ignore(sym(Sym::Equals)).then(expr.clone()).map(|(i, e)| Update::Element(i, e)),
            fields.clone().map(Update::Fields),
        ));
        let update =
            postfixed.clone().then_ignore(sym(Sym::With)).then(change).map(|(r, change)| match change {
                Update::Element(index, value) => {
                    ExprKind::ArrayUpdate { array: boxed(r), index, value: boxed(value) }
                }
                Update::Fields(fields) => ExprKind::RecordUpdate(boxed(r), fields),
            });
        let inside = choice((fields.map(ExprKind::Record), update))
            .delimited_by(sym(Sym::Brace), sym(Sym::BraceClose));
        let brace = group(Sym::Brace, Sym::BraceClose, inside, |_| ExprKind::Error);

        let atom =
            choice((type_app, name, literal, paren, array, brace)).map_with(|x, e| at(x, e.span())).boxed();

        let upto = sym(Sym::Colon).ignore_then(expr.clone().map(boxed).or_not());
        let more = sym(Sym::Comma).ignore_then(expr.clone()).repeated().collect::<Vec<Expr>>();
        let inside = choice((
            upto.clone().map(|to| Suffix::Slice(None, to)),
            expr.clone().then(upto.map(Err).or(more.map(Ok))).map(|(first, rest)| match rest {
                Err(to) => Suffix::Slice(Some(boxed(first)), to),
                Ok(mut more) => {
                    more.insert(0, first);
                    Suffix::Index(more)
                }
            }),
        ));
        let inside = inside.delimited_by(sym(Sym::IndexOpen), sym(Sym::BracketClose));
        let wrong = |s| Suffix::Index(vec![at(ExprKind::Error, s)]);
        let suffix = choice((
            group(Sym::IndexOpen, Sym::BracketClose, inside, wrong),
            select! { Tok::DotInt(k) => Suffix::Proj(k) },
            select! { Tok::DotName(x) => x.to_string() }.map_with(|x, e| Suffix::Field(at(x, e.span()))),
        ))
        .map_with(|s, e| (s, e.span()));
        atom.foldl(suffix.repeated(), |a: Expr, (s, end): (Suffix, Span)| {
            let span = a.span.to(end);
            let node = match s {
                Suffix::Index(is) => ExprKind::Index(boxed(a), is),
                Suffix::Slice(i, j) => ExprKind::Slice(boxed(a), i, j),
                Suffix::Proj(k) => ExprKind::Proj(boxed(a), k),
                Suffix::Field(x) => ExprKind::Field(boxed(a), x),
            };
            at(node, span)
        })
        .boxed()
    })
    .boxed()
}

/// The forms with a body.
fn bodies<'t>(expr: P<'t, Expr>, bound: P<'t, Expr>, patterns: &Patterns<'t>) -> P<'t, Expr> {
    let param = patterns.param.clone();
    let key = |s: Sym| sym(s);
    let arrow = || sym(Sym::Arrow);

    let linear = choice((sym(Sym::Lolli), lolli())).to(true);
    let lambda = key(Sym::Lambda)
        .ignore_then(param.clone().repeated().at_least(1).collect::<Vec<Param>>())
        .then(arrow().to(false).or(linear))
        .then(expr.clone())
        .map_with(|((params, linear), body), e| {
            let span = e.span();
            let lin = |body: Expr, p: Param| at(ExprKind::LinLam(p, boxed(body)), span);
            if linear {
                params.into_iter().rev().fold(body, lin).node
            } else {
                ExprKind::Lam(params, boxed(body))
            }
        });

    // let p = e, let p : τ = e, let (p : τ) = e, let f x y = e
    let bare = patterns.pat.clone().map(|pat| Param { pat, ty: None });
    let ascribed = choice((patterns.typed.clone(), bare))
        .then(param.clone().repeated().collect::<Vec<Param>>())
        .then(sym(Sym::Colon).ignore_then(patterns.ty.clone()).or_not());
    let binding = (key(Sym::Let).map_with(|(), e| e.span()))
        .then(ascribed)
        .then_ignore(sym(Sym::Equals))
        .then(expr.clone())
        .then_ignore(sym(Sym::In))
        .map(|((start, ((mut p, params), ty)), e): ((Span, _), Expr)| {
            let span = e.span;
            if params.is_empty() {
                p.ty = p.ty.or(ty);
                return (start, p, e);
            }
            let e = match ty {
                Some(t) => at(ExprKind::As(boxed(e), t), span),
                None => e,
            };
            (start, p, at(ExprKind::Lam(params, boxed(e)), span))
        })
        .boxed();
    // A chain of lets is one form: its length costs no stack. What follows the last `in` is no `let`, so that a mistake in one is met once.
    let let_ = binding
        .repeated()
        .at_least(1)
        .collect::<Vec<_>>()
        .then(sym(Sym::Let).not().ignore_then(expr.clone()))
        .map(|(bindings, body)| {
            let chain = bindings.into_iter().rfold(body, |body, (start, p, e)| {
                let span = start.to(body.span);
                at(ExprKind::Let(Box::new(p), boxed(e), boxed(body)), span)
            });
            chain.node
        });

    let if_ = key(Sym::If)
        .ignore_then(expr.clone())
        .then_ignore(sym(Sym::Then))
        .then(expr.clone())
        .then_ignore(sym(Sym::Else))
        .then(expr.clone())
        .map(|((c, t), s)| ExprKind::If(boxed(c), boxed(t), boxed(s)));

    let arm = patterns.pat.clone().then_ignore(arrow()).then(expr.clone());
    let match_ = key(Sym::Match)
        .ignore_then(expr.clone())
        .then_ignore(sym(Sym::With))
        .then_ignore(sym(Sym::Bar).or_not())
        .then(arm.separated_by(sym(Sym::Bar)).at_least(1).collect::<Vec<_>>())
        .map(|(e, arms)| ExprKind::Match(boxed(e), arms));

    let taken = choice((
        sym(Sym::Tensor).ignore_then(param.clone()).then(param.clone()),
        sym(Sym::Bang).ignore_then(param.clone()).then_ignore(sym(Sym::Times)).then(param.clone()),
    ));
    let case = key(Sym::Case)
        .ignore_then(expr.clone())
        .then_ignore(sym(Sym::Of))
        .then(taken)
        .then_ignore(arrow())
        .then(expr.clone())
        .map(|((t, (var, lin)), body)| ExprKind::TensorElim {
            scrutinee: boxed(t),
            var,
            lin,
            body: boxed(body),
        });

    let suml = key(Sym::Suml)
        .ignore_then(index_name())
        .then_ignore(sym(Sym::Less))
        .then(bound.clone())
        .then_ignore(arrow())
        .then(expr.clone())
        .map(|((index, n), body)| ExprKind::Suml { index, bound: boxed(n), body: boxed(body) });

    // Each in a frame of its own: together they would take more stack than there is between two of chumsky's looks at what is left of it.
    choice((
        lambda.boxed(),
        let_.boxed(),
        if_.boxed(),
        match_.boxed(),
        case.boxed(),
        loops(expr, bound, patterns),
        suml.boxed(),
    ))
    .map_with(|x, e| at(x, e.span()))
    .boxed()
}

/// loop p = e for i < n do e | … collect e;  loop p = e while c do e;  loop_up and loop_down z = e for i < n do e
fn loops<'t>(expr: P<'t, Expr>, bound: P<'t, Expr>, patterns: &Patterns<'t>) -> P<'t, ExprKind> {
    let state = patterns.param.clone().then_ignore(sym(Sym::Equals)).then(expr.clone()).boxed();
    let range = sym(Sym::For).ignore_then(index_name()).then_ignore(sym(Sym::Less)).then(bound).boxed();
    enum Rest {
        For((Ident, Expr), LoopFlavour, Expr),
        While(Expr, Expr),
    }
    let flavour = choice((sym(Sym::Do).to(LoopFlavour::Plain), sym(Sym::Collect).to(LoopFlavour::Collect)));
    let rest = choice((
        range.clone().then(flavour).then(expr.clone()).map(|((r, f), body)| Rest::For(r, f, body)),
        sym(Sym::While)
            .ignore_then(expr.clone())
            .then_ignore(sym(Sym::Do))
            .then(expr.clone())
            .map(|(c, body)| Rest::While(c, body)),
    ));
    let for_ = |flavour, state, init, (index, bound), body| {
        ExprKind::LoopFor(Box::new(LoopFor { flavour, state, init, index, bound, body }))
    };
    let plain =
        sym(Sym::Loop).ignore_then(state.clone()).then(rest).map(move |((p, init), rest)| match rest {
            Rest::For(range, flavour, body) => for_(flavour, p, init, range, body),
            Rest::While(cond, body) => ExprKind::LoopWhile {
                state: Box::new(p),
                init: boxed(init),
                cond: boxed(cond),
                body: boxed(body),
            },
        });
    let direction =
        choice((sym(Sym::LoopUp).to(LoopFlavour::LinearUp), sym(Sym::LoopDown).to(LoopFlavour::LinearDown)));
    let linear = direction
        .then(state)
        .then(range)
        .then_ignore(sym(Sym::Do))
        .then(expr)
        .map(move |(((flavour, (p, init)), range), body)| for_(flavour, p, init, range, body));
    plain.or(linear).boxed()
}
