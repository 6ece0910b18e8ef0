//! Items.

use super::*;

impl<'s> Printer<'s> {
    pub(super) fn item<'a>(&self, i: &'a ItemKind) -> Doc<'a> {
        let pats = |ps: &'a [Pat]| RcDoc::concat(ps.iter().map(|p| text(" ").append(self.pat(p, true))));
        match i {
            ItemKind::Def { rec, defs } => {
                let mut doc = text(if *rec { "def rec " } else { "def " });
                for (k, d) in defs.iter().enumerate() {
                    if k > 0 {
                        let and = self.token(defs[k - 1].body.span.end);
                        doc = doc.append(self.gap(and, Keep::Blanks, RcDoc::hardline())).append(text("and "));
                    }
                    doc = doc.append(self.def(d));
                }
                doc
            }
            ItemKind::Alias { name, params, ty } => {
                let head = text(format!("type {}{} =", name.node, type_params(params)));
                head.append(self.below(ty.span.start, || {
                    let doc = self.ty(ty, TyLevel::Arrow);
                    if reads_as_sum(ty) { text("(").append(doc).append(text(")")) } else { doc }
                }))
            }
            ItemKind::Sum { name, params, arms } => {
                let arm = |(c, t): &'a (Ident, Option<Ty>)| match t {
                    None => text(&c.node),
                    Some(t) => text(format!("{} ", c.node)).append(self.ty(t, TyLevel::Prefix)),
                };
                let head = text(format!("type {}{} =", name.node, type_params(params)));
                let Some(first) = arms.first() else { return head };
                head.append(self.below(first.0.span.start, || {
                    let mut doc = arm(first);
                    for (before, next) in arms.iter().zip(&arms[1..]) {
                        let bar = self.token(before.1.as_ref().map_or(before.0.span.end, |t| t.span.end));
                        doc = doc.append(self.kept(bar)).append(text("| ")).append(arm(next));
                    }
                    doc
                }))
            }
            ItemKind::Import(import) => self.import(import),
            ItemKind::Input { name, params, ty, file } => {
                let file = file.as_ref().map_or(String::new(), |f| format!(" = \"{}\"", f.node));
                text(format!("input {}{} : ", name.node, type_params(params)))
                    .append(self.ty(ty, TyLevel::Arrow).nest(2))
                    .append(text(file))
            }
            ItemKind::Test(t) => text(format!("test {} =", t.name.node))
                .append(self.below(t.left.span.start, || self.comparison(t))),
            ItemKind::Derivative { name, rule: Rule::Via(g) } => {
                text(format!("derivative {} via {}", name.node, g.node))
            }
            ItemKind::Derivative { name, rule: Rule::Jvp { params, body } } => {
                let head = text(format!("derivative {}", name.node)).append(pats(params)).append(text(" ="));
                head.append(self.body(body, OPEN))
            }
            ItemKind::Adjoint { name, params, body } => {
                let head = text(format!("adjoint {}", name.node)).append(pats(params)).append(text(" ="));
                head.append(self.body(body, OPEN))
            }
            ItemKind::Error => text("-- an item that did not parse"),
        }
    }

    fn import<'a>(&self, import: &'a Import) -> Doc<'a> {
        let module = match &import.module {
            ImportPath::File(path) => format!("\"{}\"", path.node),
            ImportPath::Module(name) => name.node.clone(),
        };
        let alias = import.alias.as_ref().map_or(String::new(), |a| format!(" as {}", a.node));
        let head = text(format!("import {module}{alias}"));
        let Some(names) = &import.names else { return head };
        let at = |k: usize| match &names[k] {
            Imported::Value(x) | Imported::Type(x) => x.span.start,
        };
        let mut list = RcDoc::nil();
        for (k, name) in names.iter().enumerate() {
            let (word, name) = match name {
                Imported::Value(x) => ("", x),
                Imported::Type(x) => ("type ", x),
            };
            let name = text(format!("{word}{}", name.node)).append(text(if k + 1 < names.len() {
                ","
            } else {
                ")"
            }));
            // As many on a line as there is room for.
            list = match k {
                0 => list.append(name),
                _ => list.append(self.line(at(k)).append(name).group()),
            };
        }
        head.append(text(" (")).append(list.nest(2))
    }

    /// Both sides of a test.
    fn comparison<'a>(&self, t: &'a Test) -> Doc<'a> {
        let (left, sign, right) = match t.relation {
            Relation::Exactly => (Place::inner(Level::Add), "== ", OPEN.at(Level::Add)),
            Relation::Within(_) => (OPEN, "~= ", OPEN),
        };
        let within = match t.relation {
            Relation::Within(Some(x)) => format!(" within {}", real(x)),
            Relation::Within(None) | Relation::Exactly => String::new(),
        };
        let left = self.expr(&t.left, left);
        let right = self
            .kept(self.token(t.left.span.end))
            .append(text(sign))
            .append(self.expr(&t.right, right))
            .append(text(within));
        left.append(right.nest(2)).group()
    }

    fn def<'a>(&self, d: &'a Def) -> Doc<'a> {
        let mut head = text(format!("{}{}", d.name.node, type_params(&d.type_params)));
        for (p, t) in &d.params {
            head = head.append(self.line(p.span.start).append(self.typed(p, t)).group());
        }
        if let Some(t) = &d.result {
            let gap = self.line(t.span.start);
            head = head.append(gap.append(text(": ")).append(self.ty(t, TyLevel::Arrow)).group());
        }
        head.append(text(" =")).nest(4).append(self.body(&d.body, OPEN))
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

/// A type that begins with a name like a constructor's: after the `=` of a type item it would be a sum.
fn reads_as_sum(ty: &Ty) -> bool {
    match &ty.node {
        TyKind::Name(x, _) => x.node.starts_with(char::is_uppercase),
        TyKind::Power(t, _) | TyKind::Fun(t, _) | TyKind::LinFun(t, _) => reads_as_sum(t),
        TyKind::Var(_) | TyKind::Tuple(_) | TyKind::Record(_) | TyKind::Array(..) => false,
        TyKind::Copower(..) | TyKind::Tangent(_) | TyKind::Error => false,
    }
}
