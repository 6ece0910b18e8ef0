//! Random syntax trees.

use lang::diag::Span;
use lang::surface::*;
use proptest::prelude::*;

fn s<T>(node: T) -> Spanned<T> {
    at(node, Span::default())
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["x", "y1", "f'rev", "w_bar", "i", "o", "e1", "d", "test", "def", "μ"])
        .prop_map(String::from)
}
fn ident() -> impl Strategy<Value = Ident> {
    name().prop_map(s)
}
fn constructor() -> impl Strategy<Value = Ident> {
    prop::sample::select(vec!["A", "Circle"]).prop_map(|x| s(x.to_string()))
}

fn size() -> impl Strategy<Value = SizeExpr> {
    let leaf = prop_oneof![
        (0..100i64).prop_map(SizeKind::Int),
        name().prop_map(SizeKind::Var),
        name().prop_map(SizeKind::Exists),
    ]
    .prop_map(s);
    leaf.prop_recursive(3, 8, 2, |n| {
        (0..3usize, n.clone(), n).prop_map(|(k, a, b)| {
            let (a, b) = (Box::new(a), Box::new(b));
            s([SizeKind::Add(a.clone(), b.clone()), SizeKind::Sub(a.clone(), b.clone()), SizeKind::Mul(a, b)]
                [k]
                .clone())
        })
    })
}

/// A size that is not read as the name of a type.
fn size_arg() -> impl Strategy<Value = SizeExpr> {
    size().prop_filter("a bare name is read as a type", |n| !matches!(n.node, SizeKind::Var(_)))
}

/// x or m.x
fn qualified(x: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    (prop::option::weighted(0.2, name()), x).prop_map(|(m, x)| match m {
        Some(m) => format!("{m}.{x}"),
        None => x,
    })
}

fn ty() -> BoxedStrategy<Ty> {
    let leaf = prop_oneof![
        qualified(name().boxed()).prop_map(|x| TyKind::Name(s(x), vec![])),
        name().prop_map(TyKind::Var),
        Just(TyKind::Tuple(vec![])),
    ]
    .prop_map(s);
    leaf.prop_recursive(4, 20, 3, |t| {
        let b = t.clone().prop_map(Box::new);
        let arg = prop_oneof![t.clone().prop_map(TyArg::Ty), size_arg().prop_map(TyArg::Size)];
        prop_oneof![
            (ident(), prop::collection::vec(arg, 1..3)).prop_map(|(x, a)| TyKind::Name(x, a)),
            prop::collection::vec(t.clone(), 2..4).prop_map(TyKind::Tuple),
            prop::collection::vec((ident(), t.clone()), 1..3).prop_map(TyKind::Record),
            (size(), b.clone()).prop_map(|(n, t)| TyKind::Array(n, t)),
            (b.clone(), prop::collection::vec(size(), 1..3)).prop_map(|(t, n)| TyKind::Power(t, n)),
            (b.clone(), b.clone()).prop_map(|(x, y)| TyKind::Fun(x, y)),
            (b.clone(), b.clone()).prop_map(|(x, y)| TyKind::LinFun(x, y)),
            (b.clone(), b.clone()).prop_map(|(x, y)| TyKind::Copower(x, y)),
            b.prop_map(TyKind::Tangent),
        ]
        .prop_map(s)
    })
    .boxed()
}

fn pat() -> BoxedStrategy<Pat> {
    let leaf = prop_oneof![
        Just(PatKind::Wildcard),
        name().prop_map(PatKind::Var),
        (-5..5i64).prop_map(PatKind::Int),
        any::<bool>().prop_map(PatKind::Bool),
        qualified(constructor().prop_map(|c| c.node).boxed()).prop_map(|c| PatKind::Constructor(s(c), None)),
        Just(PatKind::Tuple(vec![])),
    ]
    .prop_map(s);
    leaf.prop_recursive(2, 8, 3, |p| {
        prop_oneof![
            prop::collection::vec(p.clone(), 2..4).prop_map(PatKind::Tuple),
            prop::collection::vec(p.clone(), 0..3).prop_map(PatKind::Array),
            prop::collection::vec((ident(), p.clone()), 1..3).prop_map(PatKind::Record),
            (constructor(), p).prop_map(|(c, p)| PatKind::Constructor(c, Some(Box::new(p)))),
        ]
        .prop_map(s)
    })
    .boxed()
}

fn param() -> impl Strategy<Value = Param> {
    (pat(), prop::option::weighted(0.3, ty())).prop_map(|(pat, ty)| Param { pat, ty })
}

pub fn expr() -> BoxedStrategy<Expr> {
    let leaf = prop_oneof![
        4 => name().prop_map(ExprKind::Var),
        1 => (0..i64::MAX).prop_map(ExprKind::Int),
        1 => (0.0..1e300f64).prop_map(ExprKind::Real),
        1 => prop::sample::select(vec![0.0, 1e-300, 0.5, 1e16, 1e21, f64::MIN_POSITIVE]).prop_map(ExprKind::Real),
        1 => any::<bool>().prop_map(ExprKind::Bool),
        1 => Just(ExprKind::Tuple(vec![])),
        1 => (0..OPS.len()).prop_map(|k| ExprKind::Section(OPS[k])),
    ]
    .prop_map(s);
    leaf.prop_recursive(6, 60, 4, |e| {
        let b = e.clone().prop_map(Box::new);
        let list = |r| prop::collection::vec(e.clone(), r);
        let fields = prop::collection::vec((ident(), e.clone()), 1..3).boxed();
        let p = param().prop_map(Box::new).boxed();
        let small = prop_oneof![
            (b.clone(), b.clone()).prop_map(|(f, x)| ExprKind::App(f, x)),
            (0..OPS.len(), b.clone(), b.clone()).prop_map(|(k, x, y)| ExprKind::Binary(OPS[k], x, y)),
            (0..OPS.len(), b.clone(), b.clone()).prop_map(|(k, x, y)| ExprKind::Binary(OPS[k], x, y)),
            b.clone().prop_map(ExprKind::Neg),
            list(2..4).prop_map(ExprKind::Tuple),
            list(0..4).prop_map(ExprKind::Array),
            (b.clone(), 0..12usize).prop_map(|(e, k)| ExprKind::Proj(e, k)),
            (b.clone(), ident()).prop_map(|(e, x)| ExprKind::Field(e, x)),
            (b.clone(), list(1..3)).prop_map(|(a, i)| ExprKind::Index(a, i)),
            (b.clone(), prop::option::of(b.clone()), prop::option::of(b.clone()))
                .prop_map(|(a, i, j)| ExprKind::Slice(a, i, j)),
            fields.clone().prop_map(ExprKind::Record),
            (b.clone(), fields).prop_map(|(r, f)| ExprKind::RecordUpdate(r, f)),
            (b.clone(), list(1..3), b.clone()).prop_map(|(array, index, value)| ExprKind::ArrayUpdate {
                array,
                index,
                value
            }),
            (b.clone(), ty()).prop_map(|(e, t)| ExprKind::As(e, t)),
            (b.clone(), b.clone()).prop_map(|(a, v)| ExprKind::Tensor(a, v)),
            ty().prop_map(|t| ExprKind::TypeApp(s("zero".to_string()), vec![TyArg::Ty(t)])),
            size_arg().prop_map(|n| ExprKind::TypeApp(s("onehot".to_string()), vec![TyArg::Size(n)])),
        ];
        let bounds = prop::collection::vec((ident(), prop::option::of(e.clone())), 1..3);
        let flavour = prop::sample::select(vec![
            LoopFlavour::Plain,
            LoopFlavour::Collect,
            LoopFlavour::LinearUp,
            LoopFlavour::LinearDown,
        ]);
        let bodies = prop_oneof![
            (prop::collection::vec(param(), 1..3), b.clone()).prop_map(|(ps, e)| ExprKind::Lam(ps, e)),
            (param(), b.clone()).prop_map(|(p, e)| ExprKind::LinLam(p, e)),
            (p.clone(), b.clone(), b.clone()).prop_map(|(p, x, y)| ExprKind::Let(p, x, y)),
            (b.clone(), b.clone(), b.clone()).prop_map(|(c, x, y)| ExprKind::If(c, x, y)),
            (b.clone(), prop::collection::vec((pat(), e.clone()), 1..3))
                .prop_map(|(e, arms)| ExprKind::Match(e, arms)),
            (b.clone(), bounds).prop_map(|(body, bounds)| ExprKind::Comprehension { body, bounds }),
            (flavour, param(), e.clone(), ident(), e.clone(), e.clone()).prop_map(
                |(flavour, state, init, index, bound, body)| {
                    ExprKind::LoopFor(Box::new(LoopFor { flavour, state, init, index, bound, body }))
                }
            ),
            (p, b.clone(), b.clone(), b.clone()).prop_map(|(state, init, cond, body)| ExprKind::LoopWhile {
                state,
                init,
                cond,
                body
            }),
            (b.clone(), param(), param(), b.clone()).prop_map(|(scrutinee, var, lin, body)| {
                ExprKind::TensorElim { scrutinee, var, lin, body }
            }),
            (ident(), b.clone(), b).prop_map(|(index, bound, body)| ExprKind::Suml { index, bound, body }),
        ];
        prop_oneof![2 => small, 1 => bodies].prop_map(s)
    })
    .boxed()
}

const OPS: &[BinOp] = &[
    BinOp::Add,
    BinOp::Sub,
    BinOp::Mul,
    BinOp::Div,
    BinOp::Pow,
    BinOp::Eq,
    BinOp::Ne,
    BinOp::Lt,
    BinOp::Le,
    BinOp::Gt,
    BinOp::Ge,
    BinOp::And,
    BinOp::Or,
    BinOp::Pipe,
    BinOp::Compose,
    BinOp::MatMul,
];

fn type_params() -> impl Strategy<Value = Vec<TypeParam>> {
    let p = prop_oneof![ident().prop_map(TypeParam::Type), ident().prop_map(TypeParam::Size)];
    prop::collection::vec(p, 0..3)
}

fn def() -> impl Strategy<Value = Def> {
    let params = prop::collection::vec((pat(), ty()), 0..3);
    (ident(), type_params(), params, prop::option::of(ty()), expr())
        .prop_map(|(name, type_params, params, result, body)| Def { name, type_params, params, result, body })
}

pub fn item() -> impl Strategy<Value = Item> {
    let pats = || prop::collection::vec(pat(), 1..3);
    let arms = prop::collection::vec((constructor(), prop::option::of(ty())), 1..3);
    let module =
        prop_oneof![Just(ImportPath::File(s("lib/p.ad".to_string()))), ident().prop_map(ImportPath::Module)];
    let imported = prop_oneof![ident().prop_map(Imported::Value), ident().prop_map(Imported::Type)];
    let names = prop::option::of(prop::collection::vec(imported, 1..3));
    let relation =
        prop_oneof![Just(Relation::Exactly), prop::option::of(1e-12..1.0f64).prop_map(Relation::Within)];
    let kind = prop_oneof![
        4 => (any::<bool>(), prop::collection::vec(def(), 1..3)).prop_map(|(rec, defs)| {
            ItemKind::Def { rec, defs }
        }),
        1 => (ident(), type_params(), ty()).prop_map(|(name, params, ty)| ItemKind::Alias { name, params, ty }),
        1 => (ident(), type_params(), arms).prop_map(|(name, params, arms)| ItemKind::Sum { name, params, arms }),
        1 => (module, prop::option::of(ident()), names)
            .prop_map(|(module, alias, names)| ItemKind::Import(Import { module, alias, names })),
        1 => (ident(), type_params(), ty(), any::<bool>()).prop_map(|(name, params, ty, file)| {
            ItemKind::Input { name, params, ty, file: file.then(|| s("data/x.csv".to_string())) }
        }),
        1 => (ident(), expr(), relation, expr()).prop_map(|(name, left, relation, right)| {
            ItemKind::Test(Test { name, left, relation, right })
        }),
        1 => (ident(), pats(), expr())
            .prop_map(|(name, params, body)| ItemKind::Derivative { name, rule: Rule::Jvp { params, body } }),
        1 => (ident(), ident()).prop_map(|(name, g)| ItemKind::Derivative { name, rule: Rule::Via(g) }),
        1 => (ident(), pats(), expr()).prop_map(|(name, params, body)| ItemKind::Adjoint { name, params, body }),
    ];
    let doc =
        prop::option::of(prop::sample::select(vec!["One line.", "Two\n\nlines λ."]).prop_map(String::from));
    (doc, kind).prop_map(|(doc, kind)| Item { doc, kind, span: Span::default() })
}
