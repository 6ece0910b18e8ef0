//! Surface syntax to text. Parentheses are the fewest that the parser needs, by the levels below, which are the grammar's.
//! Law: parsing what is printed gives the same tree, in ASCII and with symbols.

use super::*;
use pretty::RcDoc;

type Doc<'a> = RcDoc<'a, ()>;

/// How to print.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Columns to stay within where possible.
    pub width: usize,
    /// `λ → ⊸ ⊗` instead of `\ -> -o tensor`.
    pub symbols: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style { width: 100, symbols: false }
    }
}

pub fn file(f: &File, style: Style) -> String {
    let items: Vec<String> = f.items.iter().map(|i| item(i, style)).collect();
    items.join("\n")
}

pub fn item(i: &Item, style: Style) -> String {
    let mut text = String::new();
    for line in i.doc.iter().flat_map(|d| d.split('\n')) {
        text += format!("--| {line}").trim_end();
        text.push('\n');
    }
    text + &render(Printer { style }.item(&i.kind), style) + "\n"
}

pub fn expr(e: &Expr, style: Style) -> String {
    render(Printer { style }.expr(e, OPEN), style)
}

pub fn ty(t: &Ty, style: Style) -> String {
    render(Printer { style }.ty(t, TyLevel::Arrow), style)
}

fn render(d: Doc, style: Style) -> String {
    d.pretty(style.width).to_string()
}

/// The levels of expressions, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Body,
    As,
    Pipe,
    Compose,
    Or,
    And,
    Compare,
    Add,
    Mul,
    Neg,
    Pow,
    Tensor,
    App,
    Postfix,
    Atom,
}

/// Where an expression stands: the loosest level allowed there; whether what follows it ends a body that extends to the right;
/// whether that is a `|`, which a match would take for its own.
#[derive(Clone, Copy)]
struct Place {
    min: Level,
    tail: bool,
    bar: bool,
}

/// Between brackets and keywords.
const OPEN: Place = Place { min: Level::Body, tail: true, bar: false };

impl Place {
    fn at(self, min: Level) -> Place {
        Place { min, ..self }
    }
    /// Something follows that a body would swallow.
    fn inner(min: Level) -> Place {
        Place { min, tail: false, bar: false }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TyLevel {
    Arrow,
    Tensor,
    Prefix,
    Atom,
}

fn text<'a>(s: impl Into<String>) -> Doc<'a> {
    RcDoc::text(s.into())
}

/// `, ` between, breaking all or none.
fn commas<'a>(ds: impl IntoIterator<Item = Doc<'a>>) -> Doc<'a> {
    RcDoc::intersperse(ds, text(",").append(RcDoc::line()))
}

fn enclosed<'a>(open: &'static str, inner: Doc<'a>, close: &'static str) -> Doc<'a> {
    text(open).append(inner.nest(open.len() as isize)).append(text(close)).group()
}

fn words<'a>(ds: impl IntoIterator<Item = Doc<'a>>) -> Doc<'a> {
    RcDoc::intersperse(ds, text(" "))
}

/// An indented part on the same line, or on the next if it does not fit.
fn below(d: Doc) -> Doc {
    RcDoc::line().append(d).nest(2).group()
}

/// The spelling and the level of an operator.
pub fn operator(op: BinOp) -> &'static str {
    match op {
        BinOp::Add => "+",
        BinOp::Sub => "-",
        BinOp::Mul => "*",
        BinOp::Div => "/",
        BinOp::Pow => "^",
        BinOp::Eq => "==",
        BinOp::Ne => "!=",
        BinOp::Lt => "<",
        BinOp::Le => "<=",
        BinOp::Gt => ">",
        BinOp::Ge => ">=",
        BinOp::And => "&&",
        BinOp::Or => "||",
        BinOp::Pipe => "|>",
        BinOp::Compose => ">>",
        BinOp::MatMul => "@",
    }
}

/// The level of an operation, and the levels its operands need.
fn levels(op: BinOp) -> (Level, Level, Level) {
    match op {
        BinOp::Pipe => (Level::Pipe, Level::Pipe, Level::Compose),
        BinOp::Compose => (Level::Compose, Level::Compose, Level::Or),
        BinOp::Or => (Level::Or, Level::Or, Level::And),
        BinOp::And => (Level::And, Level::And, Level::Compare),
        BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
            (Level::Compare, Level::Add, Level::Add)
        }
        BinOp::Add | BinOp::Sub => (Level::Add, Level::Add, Level::Mul),
        BinOp::Mul | BinOp::Div | BinOp::MatMul => (Level::Mul, Level::Mul, Level::Neg),
        // `2^-1` is legal: a negation may stand to the right of a power.
        BinOp::Pow => (Level::Pow, Level::Tensor, Level::Neg),
    }
}

/// The shortest decimal that reads back.
pub fn real(x: f64) -> String {
    if x.is_nan() {
        "(0.0 / 0.0)".into()
    } else if x.is_infinite() {
        format!("({}1.0 / 0.0)", if x < 0.0 { "-" } else { "" })
    } else {
        format!("{x:?}")
    }
}

#[derive(Clone, Copy)]
struct Printer {
    style: Style,
}

impl Printer {
    fn choose(&self, ascii: &'static str, symbol: &'static str) -> &'static str {
        if self.style.symbols { symbol } else { ascii }
    }
    fn arrow(&self) -> &'static str {
        self.choose("->", "→")
    }
    fn lolli(&self) -> &'static str {
        self.choose("-o", "⊸")
    }

    fn expr<'a>(&self, e: &'a Expr, at: Place) -> Doc<'a> {
        let level = self.level(&e.node);
        let bare = match level {
            // A body is an operand like any other where it may extend to the right.
            Level::Body => at.tail && at.min <= Level::Tensor,
            _ => level >= at.min,
        };
        let takes_bar = at.bar && matches!(e.node, ExprKind::Match(..));
        if bare && !takes_bar { self.bare(&e.node, at) } else { enclosed("(", self.bare(&e.node, OPEN), ")") }
    }

    fn level(&self, e: &ExprKind) -> Level {
        match e {
            ExprKind::Int(k) if *k < 0 => Level::Neg,
            ExprKind::Real(x) if x.is_sign_negative() && x.is_finite() => Level::Neg,
            ExprKind::Var(_)
            | ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Bool(_)
            | ExprKind::TypeApp(..)
            | ExprKind::Tuple(_)
            | ExprKind::Record(_)
            | ExprKind::RecordUpdate(..)
            | ExprKind::ArrayUpdate { .. }
            | ExprKind::Array(_)
            | ExprKind::Comprehension { .. }
            | ExprKind::Section(_)
            | ExprKind::Error => Level::Atom,
            ExprKind::Proj(..) | ExprKind::Field(..) | ExprKind::Index(..) | ExprKind::Slice(..) => {
                Level::Postfix
            }
            ExprKind::App(..) => Level::App,
            ExprKind::Tensor(..) if self.style.symbols => Level::Tensor,
            ExprKind::Tensor(..) => Level::App,
            ExprKind::Binary(op, ..) => levels(*op).0,
            ExprKind::Neg(_) => Level::Neg,
            ExprKind::As(..) => Level::As,
            ExprKind::Lam(..)
            | ExprKind::LinLam(..)
            | ExprKind::Let(..)
            | ExprKind::If(..)
            | ExprKind::Match(..)
            | ExprKind::LoopFor(_)
            | ExprKind::LoopWhile { .. }
            | ExprKind::TensorElim { .. }
            | ExprKind::Suml { .. } => Level::Body,
        }
    }

    /// The expression without parentheses around it.
    fn bare<'a>(&self, e: &'a ExprKind, at: Place) -> Doc<'a> {
        let open = |e: &'a Expr| self.expr(e, OPEN);
        // A body at the right end, where only a following `|` still matters.
        let last = |e: &'a Expr| self.expr(e, Place { bar: at.bar, ..OPEN });
        match e {
            ExprKind::Var(x) => text(x),
            ExprKind::Int(k) => text(k.to_string()),
            ExprKind::Real(x) => text(real(*x)),
            ExprKind::Bool(b) => text(b.to_string()),
            ExprKind::Lam(params, body) => {
                let params = words(params.iter().map(|p| self.param(p)));
                text(self.choose("\\", "λ"))
                    .append(params)
                    .append(text(format!(" {}", self.arrow())))
                    .append(below(last(body)))
                    .group()
            }
            ExprKind::LinLam(p, body) => text(self.choose("\\", "λ"))
                .append(self.param(p))
                .append(text(format!(" {}", self.lolli())))
                .append(below(last(body)))
                .group(),
            ExprKind::App(..) => self.application(e),
            ExprKind::TypeApp(f, args) => {
                text(&f.node).append(enclosed("[", commas(args.iter().map(|a| self.ty_arg(a))), "]"))
            }
            ExprKind::Let(..) => self.lets(e, at),
            ExprKind::If(c, t, s) => text("if ")
                .append(open(c).nest(3))
                .append(text(" then"))
                .append(RcDoc::line().append(open(t)).nest(2))
                .append(RcDoc::line())
                .append(text("else"))
                .append(match &s.node {
                    ExprKind::If(..) => text(" ").append(last(s)),
                    _ => RcDoc::line().append(last(s)).nest(2),
                })
                .group(),
            ExprKind::Match(e, arms) => {
                let arm = |(k, (p, body)): (usize, &'a (Pat, Expr))| {
                    let bar = if k + 1 < arms.len() { true } else { at.bar };
                    RcDoc::line()
                        .append(text("| "))
                        .append(self.pat(p, false))
                        .append(text(format!(" {}", self.arrow())))
                        .append(below(self.expr(body, Place { bar, ..OPEN })))
                };
                text("match ")
                    .append(open(e))
                    .append(text(" with"))
                    .append(RcDoc::concat(arms.iter().enumerate().map(arm)))
                    .group()
            }
            ExprKind::Tuple(es) => enclosed("(", commas(es.iter().map(open)), ")"),
            ExprKind::Proj(e, k) => self.dotted(e).append(text(format!(".{k}"))),
            ExprKind::Field(e, x) => self.dotted(e).append(text(format!(".{}", x.node))),
            ExprKind::Record(fields) => enclosed("{", commas(self.fields(fields)), "}"),
            ExprKind::RecordUpdate(r, fields) => enclosed(
                "{",
                self.postfix(r).append(text(" with ")).append(commas(self.fields(fields)).nest(2)),
                "}",
            ),
            ExprKind::ArrayUpdate { array, index, value } => enclosed(
                "{",
                self.postfix(array)
                    .append(text(" with "))
                    .append(enclosed("[", commas(index.iter().map(open)), "]"))
                    .append(text(" ="))
                    .append(below(open(value))),
                "}",
            ),
            ExprKind::Array(es) => enclosed("[", commas(es.iter().map(open)), "]"),
            ExprKind::Index(a, is) => self.postfix(a).append(enclosed("[", commas(is.iter().map(open)), "]")),
            ExprKind::Slice(a, i, j) => {
                let part = |e: &'a Option<Box<Expr>>| e.as_ref().map_or(RcDoc::nil(), |e| open(e));
                let range = part(i).append(text(":")).append(part(j));
                self.postfix(a).append(enclosed("[", range, "]"))
            }
            ExprKind::Comprehension { body, bounds } => {
                let bound = |(i, n): &'a (Ident, Option<Expr>)| match n {
                    Some(n) => text(format!("{} < ", i.node)).append(self.bound(n)),
                    None => text(&i.node),
                };
                let bounds = text("| ").append(commas(bounds.iter().map(bound)).nest(2));
                let body = self.expr(body, Place { bar: true, ..OPEN });
                text("[ ")
                    .append(body.append(RcDoc::line()).append(bounds).nest(2))
                    .append(text(" ]"))
                    .group()
            }
            ExprKind::LoopFor(l) => {
                let (head, key) = match l.flavour {
                    LoopFlavour::Plain => ("loop ", "do"),
                    LoopFlavour::Collect => ("loop ", "collect"),
                    LoopFlavour::LinearUp => ("loop_up ", "do"),
                    LoopFlavour::LinearDown => ("loop_down ", "do"),
                };
                let range = text(format!("for {} < ", l.index.node))
                    .append(self.bound(&l.bound))
                    .append(text(format!(" {key}")));
                self.a_loop(head, &l.state, &l.init, range, last(&l.body))
            }
            ExprKind::LoopWhile { state, init, cond, body } => {
                let while_ = text("while ").append(open(cond)).append(text(" do"));
                self.a_loop("loop ", state, init, while_, last(body))
            }
            ExprKind::Binary(..) => self.binary(e, at),
            ExprKind::Neg(x) => {
                // Two signs in a row would begin a comment.
                let at = if self.level(&x.node) == Level::Neg {
                    Place::inner(Level::Atom)
                } else {
                    at.at(Level::Pow)
                };
                text("-").append(self.expr(x, at))
            }
            ExprKind::Section(op) => text(format!("({})", operator(*op))),
            ExprKind::As(x, t) => {
                self.expr(x, Place::inner(Level::As)).append(text(" as ")).append(self.ty(t, TyLevel::Arrow))
            }
            ExprKind::Tensor(a, v) if self.style.symbols => text("!")
                .append(self.postfix(a))
                .append(text(" ⊗ "))
                .append(self.expr(v, at.at(Level::Tensor))),
            ExprKind::Tensor(a, v) => {
                text("tensor ").append(self.postfix(a)).append(text(" ")).append(self.postfix(v))
            }
            ExprKind::TensorElim { scrutinee, var, lin, body } => text("case ")
                .append(open(scrutinee).nest(2))
                .append(text(self.choose(" of tensor ", " of !")))
                .append(self.param(var))
                .append(text(self.choose(" ", " ⊗ ")))
                .append(self.param(lin))
                .append(text(format!(" {}", self.arrow())))
                .append(below(last(body)))
                .group(),
            ExprKind::Suml { index, bound, body } => text(format!("suml {} < ", index.node))
                .append(self.bound(bound))
                .append(text(format!(" {}", self.arrow())))
                .append(below(last(body)))
                .group(),
            ExprKind::Error => text("<error>"),
        }
    }

    /// What may be followed directly by `[` or a dot, or stands as an argument.
    fn postfix<'a>(&self, e: &'a Expr) -> Doc<'a> {
        self.expr(e, Place::inner(Level::Postfix))
    }

    /// What is followed by a dot: after a numeral it would be taken for a decimal point.
    fn dotted<'a>(&self, e: &'a Expr) -> Doc<'a> {
        match &e.node {
            ExprKind::Int(_) | ExprKind::Real(_) => enclosed("(", self.bare(&e.node, OPEN), ")"),
            _ => self.postfix(e),
        }
    }

    /// The bound of an index.
    fn bound<'a>(&self, e: &'a Expr) -> Doc<'a> {
        self.expr(e, Place::inner(Level::Add))
    }

    fn fields<'a>(&self, fields: &'a [(Ident, Expr)]) -> impl Iterator<Item = Doc<'a>> {
        let this = *self;
        fields.iter().map(move |(x, e)| text(format!("{} =", x.node)).append(below(this.expr(e, OPEN))))
    }

    fn application<'a>(&self, e: &'a ExprKind) -> Doc<'a> {
        let mut args = vec![];
        let mut head = e;
        while let ExprKind::App(f, x) = head {
            args.push(self.postfix(x));
            head = &f.node;
            if !matches!(head, ExprKind::App(..)) {
                let args = args.into_iter().rev().map(|a| RcDoc::line().append(a));
                return self.postfix(f).append(RcDoc::concat(args).nest(2)).group();
            }
        }
        RcDoc::nil()
    }

    /// A chain of operators of one level to the left, broken before all of them or none.
    fn binary<'a>(&self, e: &'a ExprKind, at: Place) -> Doc<'a> {
        let ExprKind::Binary(op, l, r) = e else { return RcDoc::nil() };
        let (level, left, right) = levels(*op);
        let mut rest = vec![(*op, self.expr(r, at.at(right)))];
        let mut first = l;
        while let ExprKind::Binary(op, l, r) = &first.node
            && levels(*op).0 == level
            && left == level
        {
            rest.push((*op, self.expr(r, Place::inner(right))));
            first = l;
        }
        let operand = |(op, d)| RcDoc::line().append(text(format!("{} ", operator(op)))).append(d);
        self.expr(first, Place::inner(left))
            .append(RcDoc::concat(rest.into_iter().rev().map(operand)).nest(2))
            .group()
    }

    /// A chain of lets, on one line together or each on its own.
    fn lets<'a>(&self, e: &'a ExprKind, at: Place) -> Doc<'a> {
        let mut doc = RcDoc::nil();
        let mut rest = e;
        while let ExprKind::Let(p, e, body) = rest {
            let head = match &p.ty {
                None => self.pat(&p.pat, false),
                Some(t) => self.pat(&p.pat, false).append(text(" : ")).append(self.ty(t, TyLevel::Arrow)),
            };
            doc = doc
                .append(text("let "))
                .append(head)
                .append(text(" ="))
                .append(below(self.expr(e, OPEN)))
                .append(text(" in"))
                .append(RcDoc::line());
            rest = &body.node;
            if !matches!(rest, ExprKind::Let(..)) {
                doc = doc.append(self.expr(body, Place { bar: at.bar, ..OPEN }));
            }
        }
        doc.group()
    }

    fn a_loop<'a>(
        &self,
        head: &'static str,
        p: &'a Param,
        init: &'a Expr,
        range: Doc<'a>,
        body: Doc<'a>,
    ) -> Doc<'a> {
        text(head)
            .append(self.param(p))
            .append(text(" = "))
            .append(self.expr(init, OPEN).nest(2))
            .append(RcDoc::softline())
            .append(range)
            .append(below(body))
            .group()
    }

    fn param<'a>(&self, p: &'a Param) -> Doc<'a> {
        match &p.ty {
            None => self.pat(&p.pat, true),
            Some(t) => self.typed(&p.pat, t),
        }
    }

    fn typed<'a>(&self, p: &'a Pat, t: &'a Ty) -> Doc<'a> {
        let inner = self.pat(p, false).append(text(" : ")).append(self.ty(t, TyLevel::Arrow));
        enclosed("(", inner, ")")
    }

    /// A pattern; as an atom, where other patterns may follow.
    fn pat<'a>(&self, p: &'a Pat, atom: bool) -> Doc<'a> {
        let list = |ps: &'a [Pat]| commas(ps.iter().map(|p| self.pat(p, false)));
        match &p.node {
            PatKind::Wildcard => text("_"),
            PatKind::Var(x) => text(x),
            PatKind::Int(k) => text(k.to_string()),
            PatKind::Bool(b) => text(b.to_string()),
            PatKind::Tuple(ps) => enclosed("(", list(ps), ")"),
            PatKind::Record(fields) => {
                let field =
                    |(x, p): &'a (Ident, Pat)| text(format!("{} = ", x.node)).append(self.pat(p, false));
                enclosed("{", commas(fields.iter().map(field)), "}")
            }
            PatKind::Constructor(c, None) => text(&c.node),
            PatKind::Constructor(c, Some(p)) => {
                let d = text(format!("{} ", c.node)).append(self.pat(p, true));
                if atom { enclosed("(", d, ")") } else { d }
            }
            PatKind::Array(ps) => enclosed("[", list(ps), "]"),
        }
    }

    fn ty_arg<'a>(&self, a: &'a TyArg) -> Doc<'a> {
        match a {
            TyArg::Ty(t) => self.ty(t, TyLevel::Arrow),
            TyArg::Size(n) => size(n, 0),
        }
    }

    fn ty<'a>(&self, t: &'a Ty, min: TyLevel) -> Doc<'a> {
        let arrow = |a: &'a Ty, sign: &'static str, b: &'a Ty| {
            self.ty(a, TyLevel::Tensor)
                .append(text(format!(" {sign}")))
                .append(RcDoc::line())
                .append(self.ty(b, TyLevel::Arrow))
                .group()
        };
        let list = |ts: &'a [Ty]| commas(ts.iter().map(|t| self.ty(t, TyLevel::Arrow)));
        let (level, doc) = match &t.node {
            TyKind::Name(x, args) if args.is_empty() => (TyLevel::Atom, text(&x.node)),
            TyKind::Name(x, args) => {
                let args = enclosed("[", commas(args.iter().map(|a| self.ty_arg(a))), "]");
                (TyLevel::Atom, text(&x.node).append(args))
            }
            TyKind::Var(a) => (TyLevel::Atom, text(format!("'{a}"))),
            TyKind::Tuple(ts) => (TyLevel::Atom, enclosed("(", list(ts), ")")),
            TyKind::Record(fields) => {
                let field = |(x, t): &'a (Ident, Ty)| {
                    text(format!("{} : ", x.node)).append(self.ty(t, TyLevel::Arrow))
                };
                (TyLevel::Atom, enclosed("{", commas(fields.iter().map(field)), "}"))
            }
            TyKind::Array(n, t) => {
                let n = text("[").append(size(n, 0)).append(text("]"));
                (TyLevel::Prefix, n.append(self.ty(t, TyLevel::Prefix)))
            }
            TyKind::Power(t, ns) => {
                let bare = |n: &SizeExpr| matches!(n.node, SizeKind::Int(_) | SizeKind::Var(_));
                let exponent = match &ns[..] {
                    [n] if bare(n) => size(n, 0),
                    ns => enclosed("(", commas(ns.iter().map(|n| size(n, 0))), ")"),
                };
                (TyLevel::Prefix, self.ty(t, TyLevel::Atom).append(text("^")).append(exponent))
            }
            TyKind::Fun(a, b) => (TyLevel::Arrow, arrow(a, self.arrow(), b)),
            TyKind::LinFun(a, b) => (TyLevel::Arrow, arrow(a, self.lolli(), b)),
            TyKind::Copower(a, b) => {
                let d = text("!")
                    .append(self.ty(a, TyLevel::Atom))
                    .append(text(self.choose(" * ", " ⊗ ")))
                    .append(self.ty(b, TyLevel::Tensor));
                (TyLevel::Tensor, d)
            }
            TyKind::Tangent(t) => (TyLevel::Prefix, text("D ").append(self.ty(t, TyLevel::Prefix))),
            TyKind::Error => (TyLevel::Atom, text("<error>")),
        };
        if level >= min { doc } else { enclosed("(", doc, ")") }
    }

    fn item<'a>(&self, i: &'a ItemKind) -> Doc<'a> {
        let open = |e: &'a Expr| self.expr(e, OPEN);
        let pats = |ps: &'a [Pat]| RcDoc::concat(ps.iter().map(|p| text(" ").append(self.pat(p, true))));
        match i {
            ItemKind::Def { rec, defs } => {
                let head = if *rec { "def rec " } else { "def " };
                let and = RcDoc::hardline().append(text("and "));
                text(head).append(RcDoc::intersperse(defs.iter().map(|d| self.def(d)), and))
            }
            ItemKind::Alias { name, params, ty } => {
                text(format!("type {}{} =", name.node, type_params(params)))
                    .append(below(self.ty(ty, TyLevel::Arrow)))
            }
            ItemKind::Sum { name, params, arms } => {
                let arm = |(c, t): &'a (Ident, Option<Ty>)| match t {
                    None => text(&c.node),
                    Some(t) => text(format!("{} ", c.node)).append(self.ty(t, TyLevel::Prefix)),
                };
                let arms = RcDoc::intersperse(arms.iter().map(arm), RcDoc::line().append(text("| ")));
                text(format!("type {}{} =", name.node, type_params(params))).append(below(arms))
            }
            ItemKind::Import { module, alias, names } => {
                let module = match module {
                    ImportPath::File(path) => format!("\"{}\"", path.node),
                    ImportPath::Module(name) => name.node.clone(),
                };
                let alias = alias.as_ref().map_or(String::new(), |a| format!(" as {}", a.node));
                let names = names.as_ref().map_or(String::new(), |ns| {
                    let ns: Vec<&str> = ns.iter().map(|n| &n.node[..]).collect();
                    format!(" ({})", ns.join(", "))
                });
                text(format!("import {module}{alias}{names}"))
            }
            ItemKind::Input { name, params, ty, file } => {
                let file = file.as_ref().map_or(String::new(), |f| format!(" = \"{}\"", f.node));
                text(format!("input {}{} : ", name.node, type_params(params)))
                    .append(self.ty(ty, TyLevel::Arrow).nest(2))
                    .append(text(file))
            }
            ItemKind::Test(t) => {
                let (left, sign, right) = match t.relation {
                    Relation::Exactly => (
                        self.expr(&t.left, Place::inner(Level::Add)),
                        "== ",
                        self.expr(&t.right, OPEN.at(Level::Add)),
                    ),
                    Relation::Within(_) => (open(&t.left), "~= ", open(&t.right)),
                };
                let within = match t.relation {
                    Relation::Within(Some(x)) => format!(" within {}", real(x)),
                    Relation::Within(None) | Relation::Exactly => String::new(),
                };
                let body = left.append(RcDoc::line()).append(text(sign)).append(right).append(text(within));
                text(format!("test {} =", t.name.node)).append(below(body))
            }
            ItemKind::Derivative { name, rule: Rule::Via(g) } => {
                text(format!("derivative {} via {}", name.node, g.node))
            }
            ItemKind::Derivative { name, rule: Rule::Jvp { params, body } } => {
                text(format!("derivative {}", name.node))
                    .append(pats(params))
                    .append(text(" ="))
                    .append(below(open(body)))
            }
            ItemKind::Adjoint { name, params, body } => text(format!("adjoint {}", name.node))
                .append(pats(params))
                .append(text(" ="))
                .append(below(open(body))),
            ItemKind::Error => text("-- an item that did not parse"),
        }
    }

    fn def<'a>(&self, d: &'a Def) -> Doc<'a> {
        let params = d.params.iter().map(|(p, t)| RcDoc::line().append(self.typed(p, t)));
        let result = match &d.result {
            Some(t) => text(" : ").append(self.ty(t, TyLevel::Arrow)),
            None => RcDoc::nil(),
        };
        let head = text(format!("{}{}", d.name.node, type_params(&d.type_params)))
            .append(RcDoc::concat(params))
            .append(result)
            .append(text(" ="))
            .nest(4)
            .group();
        head.append(below(self.expr(&d.body, OPEN)))
    }
}

fn type_params(params: &[TypeParam]) -> String {
    if params.is_empty() {
        return String::new();
    }
    let name = |p: &TypeParam| match p {
        TypeParam::Type(a) => format!("'{}", a.node),
        TypeParam::Size(n) => n.node.clone(),
    };
    let names: Vec<String> = params.iter().map(name).collect();
    format!(" [{}]", names.join(", "))
}

/// Sizes: 0 a sum, 1 a product, 2 an atom.
fn size<'a>(n: &'a SizeExpr, min: u8) -> Doc<'a> {
    let pair = |a: &'a SizeExpr, sign: &'static str, b: &'a SizeExpr, level: u8| {
        let d = size(a, level).append(text(sign)).append(size(b, level + 1));
        (level, d)
    };
    let (level, doc) = match &n.node {
        SizeKind::Int(k) => (2, text(k.to_string())),
        SizeKind::Var(x) => (2, text(x)),
        SizeKind::Exists(x) => (2, text(format!("?{x}"))),
        SizeKind::Add(a, b) => pair(a, " + ", b, 0),
        SizeKind::Sub(a, b) => pair(a, " - ", b, 0),
        SizeKind::Mul(a, b) => pair(a, "*", b, 1),
    };
    if level >= min { doc } else { text("(").append(doc).append(text(")")) }
}
