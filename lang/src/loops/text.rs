//! The text form of the loop IR, for people: `adc show --stage loops`.
//!
//! ```text
//! proc dot(n : int, in x : real[n], in y : real[n], out r : real[]) {
//!   s' = for i < n parallel carry s = 0.0 (sum) {
//!     next s = s + x[i] * y[i]
//!   }
//!   r[] = s'
//! }
//! ```
//! A value used once, in the block that defines it, is written where it is used, unless it is a load and its buffer is written in
//! between; others have a line. Names are made distinct with a number. [`print`] folds so; [`print_flat`] writes every statement.

use super::walk::{self, Access};
use super::*;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// The procedure as text, its callees first, single-use values folded into the expressions that use them.
pub fn print(p: &Proc) -> String {
    all(p, true)
}

/// The procedure as text, its callees first, one line for every statement.
pub fn print_flat(p: &Proc) -> String {
    all(p, false)
}

fn all(p: &Proc, fold: bool) -> String {
    let callees = p.callees.iter().map(|f| Printer::new(f, &p.callees, fold).proc());
    callees.chain([Printer::new(p, &p.callees, fold).proc()]).collect::<Vec<_>>().join("\n")
}

/// How tightly an expression binds, loosest first.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Or,
    And,
    Compare,
    Sum,
    Product,
    Atom,
}

struct Printer<'a> {
    p: &'a Proc,
    callees: &'a [Proc],
    vals: Vec<String>,
    bufs: Vec<String>,
    /// The values to be written where they are used.
    folded: HashSet<Val>,
    /// Their expressions, once their statement has been passed.
    texts: HashMap<Val, (String, Level)>,
    out: String,
    depth: usize,
}

impl<'a> Printer<'a> {
    fn new(p: &'a Proc, callees: &'a [Proc], fold: bool) -> Printer<'a> {
        let mut names = Names { taken: HashMap::new(), used: HashSet::new() };
        let bufs = p.bufs.iter().map(|b| names.distinct(&b.name)).collect();
        let vals = p.vals.iter().map(|v| names.distinct(&v.1)).collect();
        let mut folded = HashSet::new();
        if fold {
            let mut uses = HashMap::new();
            walk::each_operand(&p.body, &mut |o| {
                if let Operand::Val(v) = o {
                    *uses.entry(v).or_insert(0) += 1;
                }
            });
            for o in p.bufs.iter().flat_map(|b| &b.shape) {
                if let Operand::Val(v) = o {
                    // A shape is written with the buffer; its values keep their names.
                    *uses.entry(*v).or_insert(0) += 2;
                }
            }
            fold_block(&p.body, &[], &uses, &mut folded);
        }
        Printer { p, callees, vals, bufs, folded, texts: HashMap::new(), out: String::new(), depth: 0 }
    }

    fn proc(mut self) -> String {
        let params: Vec<String> = self
            .p
            .params
            .iter()
            .map(|x| match x {
                Param::Scalar(v) => {
                    format!("{} : {}", self.vals[v.0 as usize], scalar(self.p.vals[v.0 as usize].0))
                }
                Param::Array(b) => {
                    let kind = match self.p.info(*b).kind {
                        BufKind::In | BufKind::View => "in",
                        BufKind::Acc => "acc",
                        BufKind::Out | BufKind::Local | BufKind::Kept => "out",
                    };
                    format!("{kind} {}", self.buffer(*b))
                }
            })
            .collect();
        let head = format!("proc {}({}) {{", self.p.name, params.join(", "));
        self.line(&head);
        self.block(&self.p.body, &[]);
        self.line("}");
        self.out
    }

    /// name : elem[shape]
    fn buffer(&self, b: Buf) -> String {
        let info = self.p.info(b);
        let shape: Vec<String> = info.shape.iter().map(|o| self.expr(*o, Level::Or)).collect();
        format!("{} : {}[{}]", self.bufs[b.0 as usize], scalar(info.elem), shape.join(", "))
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 2 * self.depth);
    }

    fn operand(&self, o: Operand) -> (String, Level) {
        match o {
            Operand::Val(v) => {
                self.texts.get(&v).cloned().unwrap_or_else(|| (self.vals[v.0 as usize].clone(), Level::Atom))
            }
            Operand::Real(x) => (self.p.precision.show(x), if x < 0.0 { Level::Sum } else { Level::Atom }),
            Operand::Int(k) => (k.to_string(), if k < 0 { Level::Sum } else { Level::Atom }),
            Operand::Bool(b) => (b.to_string(), Level::Atom),
        }
    }

    fn expr(&self, o: Operand, level: Level) -> String {
        let (text, own) = self.operand(o);
        if own < level { format!("({text})") } else { text }
    }

    fn list(&self, os: &[Operand]) -> String {
        os.iter().map(|o| self.expr(*o, Level::Or)).collect::<Vec<_>>().join(", ")
    }

    fn element(&self, b: Buf, index: &[Operand]) -> String {
        format!("{}[{}]", self.bufs[b.0 as usize], self.list(index))
    }

    fn op(&self, op: Op, args: &[Operand]) -> (String, Level) {
        // The right operand of − and ÷ binds tighter; − and + of products need no brackets.
        let infix = |sign: &str, level: Level, right: Level| {
            (format!("{} {sign} {}", self.expr(args[0], level), self.expr(args[1], right)), level)
        };
        let call = |name: &str| (format!("{name}({})", self.list(args)), Level::Atom);
        match op {
            Op::FAdd | Op::IAdd => infix("+", Level::Sum, Level::Product),
            Op::FSub | Op::ISub => infix("-", Level::Sum, Level::Product),
            Op::FMul | Op::IMul => infix("*", Level::Product, Level::Atom),
            Op::FDiv => infix("/", Level::Product, Level::Atom),
            Op::FNeg => (format!("-{}", self.expr(args[0], Level::Atom)), Level::Sum),
            Op::FEq | Op::IEq | Op::BEq => infix("==", Level::Compare, Level::Sum),
            Op::FNe | Op::INe => infix("!=", Level::Compare, Level::Sum),
            Op::FLt | Op::ILt => infix("<", Level::Compare, Level::Sum),
            Op::FLe | Op::ILe => infix("<=", Level::Compare, Level::Sum),
            Op::BAnd => infix("&&", Level::And, Level::Compare),
            Op::BOr => infix("||", Level::Or, Level::And),
            Op::BNot => (format!("!{}", self.expr(args[0], Level::Atom)), Level::Atom),
            Op::FAbs => call("abs"),
            Op::FSqrt => call("sqrt"),
            Op::FFloor => call("floor"),
            Op::FCeil => call("ceil"),
            Op::FRound => call("round"),
            Op::FTrunc => call("trunc"),
            Op::FCopySign => call("copysign"),
            Op::IDiv => call("div"),
            Op::IMod => call("mod"),
            Op::IXor => call("xor"),
            Op::IAnd => call("and"),
            Op::IShl => call("shl"),
            Op::IShr => call("shr"),
            Op::IToF => call("real"),
            Op::FToI => call("int"),
            Op::FBits => call("bits"),
            Op::IBits => call("from_bits"),
            Op::Uniform => call("uniform"),
            Op::Select => call("select"),
            Op::Math(m) => call(&format!("{m:?}").to_lowercase()),
        }
    }

    fn define(&mut self, dst: Val, text: (String, Level)) {
        if self.folded.contains(&dst) {
            self.texts.insert(dst, text);
        } else {
            let line = format!("{} = {}", self.vals[dst.0 as usize], text.0);
            self.line(&line);
        }
    }

    /// A block, and the lines that say what it passes on.
    fn block(&mut self, block: &[Stmt], carried: &[Carried]) {
        self.depth += 1;
        for s in block {
            self.stmt(s);
        }
        for c in carried {
            let line = format!("next {} = {}", self.vals[c.param.0 as usize], self.expr(c.next, Level::Or));
            self.line(&line);
        }
        self.depth -= 1;
    }

    fn arm(&mut self, block: &[Stmt], results: Vec<Operand>) {
        self.block(block, &[]);
        if !results.is_empty() {
            let line = format!("  yield {}", self.list(&results));
            self.line(&line);
        }
    }

    /// `x, y = ` before a statement with results.
    fn binds(&self, s: &Stmt) -> String {
        let names: Vec<&str> = walk::results(s).iter().map(|v| self.vals[v.0 as usize].as_str()).collect();
        if names.is_empty() { String::new() } else { format!("{} = ", names.join(", ")) }
    }

    fn carry(&self, carried: &[Carried]) -> String {
        if carried.is_empty() {
            return String::new();
        }
        let one = |c: &Carried| {
            let kind = if c.kind == CarriedKind::Sum { " (sum)" } else { "" };
            format!("{} = {}{kind}", self.vals[c.param.0 as usize], self.expr(c.init, Level::Or))
        };
        format!(" carry {}", carried.iter().map(one).collect::<Vec<_>>().join(", "))
    }

    fn stmt(&mut self, s: &Stmt) {
        let name = |b: &Buf, p: &Self| p.bufs[b.0 as usize].clone();
        match s {
            Stmt::Let { dst, op, args } => self.define(*dst, self.op(*op, args)),
            Stmt::Load { dst, buf, index } => self.define(*dst, (self.element(*buf, index), Level::Atom)),
            Stmt::Store { buf, index, value } => {
                let line = format!("{} = {}", self.element(*buf, index), self.expr(*value, Level::Or));
                self.line(&line)
            }
            Stmt::Accum { buf, index, value } => {
                let line = format!("{} += {}", self.element(*buf, index), self.expr(*value, Level::Or));
                self.line(&line)
            }
            Stmt::Alloc { buf } => {
                let part = self.p.parts.get(buf);
                let place =
                    |p: &Part| format!(" in {} from {}", name(&p.of, self), self.expr(p.at, Level::Or));
                let line = format!("var {}{}", self.buffer(*buf), part.map(place).unwrap_or_default());
                self.line(&line)
            }
            Stmt::Fill { buf, value } => {
                let line = format!("{} := {}", name(buf, self), self.expr(*value, Level::Or));
                self.line(&line)
            }
            Stmt::Copy { dst, src } => self.line(&format!("{} := {}", name(dst, self), name(src, self))),
            Stmt::Argsort { keys, perm } => {
                self.line(&format!("{} := argsort({})", name(perm, self), name(keys, self)))
            }
            Stmt::Check { cond, failure, details } => {
                let details =
                    if details.is_empty() { String::new() } else { format!(" ({})", self.list(details)) };
                let line = format!(
                    "check {} else {:?}{details}",
                    self.expr(*cond, Level::Or),
                    self.p.failures[*failure].0
                );
                self.line(&line)
            }
            Stmt::Call { callee, args } => {
                let f = self
                    .callees
                    .get(*callee)
                    .map_or_else(|| format!("proc_{callee}"), |f| f.name.to_string());
                let args = args.iter().map(|a| match a {
                    Argument::Scalar(o) => self.expr(*o, Level::Or),
                    Argument::In(b) => name(b, self),
                    Argument::Out(b) => format!("out {}", name(b, self)),
                    Argument::Acc(b) => format!("acc {}", name(b, self)),
                });
                let args = args.collect::<Vec<_>>().join(", ");
                self.line(&format!("{f}({args})"))
            }
            Stmt::Reserve { dst, buf, failure: _ } => {
                let line = format!("{} = keep {}", self.vals[dst.0 as usize], self.buffer(*buf));
                self.line(&line)
            }
            Stmt::View { buf, handle } => {
                let line = format!("view {} = {}", self.buffer(*buf), self.expr(*handle, Level::Or));
                self.line(&line)
            }
            Stmt::For(l) => {
                let index = &self.vals[l.index.0 as usize];
                let range = if l.down { format!("{index} down from") } else { format!("{index} <") };
                let parallel = match l.parallel {
                    Parallel::No => "",
                    Parallel::Yes => " parallel",
                    Parallel::Lanes => " lanes",
                };
                let extent = self.expr(l.extent, Level::Sum);
                let line =
                    format!("{}for {range} {extent}{parallel}{} {{", self.binds(s), self.carry(&l.carried));
                self.line(&line);
                self.block(&l.body, &l.carried);
                self.line("}")
            }
            Stmt::While(l) => {
                let line = format!("{}while{} {{", self.binds(s), self.carry(&l.carried));
                self.line(&line);
                self.block(&l.cond_block, &[]);
                let line = format!("}} {} do {{", self.expr(l.cond, Level::Or));
                self.line(&line);
                self.block(&l.body, &l.carried);
                self.line("}")
            }
            Stmt::If(i) => {
                let line = format!("{}if {} {{", self.binds(s), self.expr(i.cond, Level::Or));
                self.line(&line);
                self.arm(&i.then, i.results.iter().map(|r| r.1).collect());
                if !i.els.is_empty() || !i.results.is_empty() {
                    self.line("} else {");
                    self.arm(&i.els, i.results.iter().map(|r| r.2).collect());
                }
                self.line("}")
            }
        }
    }
}

fn scalar(s: Scalar) -> &'static str {
    match s {
        Scalar::Real => "real",
        Scalar::Int => "int",
        Scalar::Bool => "bool",
    }
}

struct Names {
    /// How often a name has been asked for.
    taken: HashMap<Name, usize>,
    used: HashSet<String>,
}

impl Names {
    fn distinct(&mut self, name: &Name) -> String {
        let count = self.taken.entry(name.clone()).or_insert(0);
        loop {
            let text = match *count {
                0 if !name.is_empty() => name.to_string(),
                k => format!("{name}_{k}"),
            };
            *count += 1;
            if self.used.insert(text.clone()) {
                return text;
            }
        }
    }
}

/// Chooses the values of a block that are written where they are used.
fn fold_block(block: &[Stmt], end: &[Operand], uses: &HashMap<Val, usize>, folded: &mut HashSet<Val>) {
    // Where in this block each operand is read; its end counts as a position.
    let mut read_at = HashMap::new();
    for (k, s) in block.iter().enumerate() {
        head_operands(s, &mut |o| {
            read_at.insert(o, k);
        });
    }
    for o in end {
        if let Operand::Val(v) = o {
            read_at.insert(*v, block.len());
        }
    }
    // Latest writes, to see whether a load may move down to its use.
    let mut writes: HashMap<Buf, Vec<usize>> = HashMap::new();
    for (k, s) in block.iter().enumerate() {
        walk::all_accesses(s, &mut |b, access, _| {
            if access != Access::Read {
                writes.entry(b).or_default().push(k);
            }
        });
    }
    // The position where a folded value is finally written out: its use's, or that of what the use is folded into.
    let mut written_at = HashMap::new();
    for (k, s) in block.iter().enumerate().rev() {
        let (dst, loaded) = match s {
            Stmt::Let { dst, .. } => (dst, None),
            Stmt::Load { dst, buf, .. } => (dst, Some(buf)),
            _ => continue,
        };
        let Some(&at) = read_at.get(dst).filter(|_| uses.get(dst) == Some(&1)) else { continue };
        let at = walk_results(block, at).and_then(|v| written_at.get(&v).copied()).unwrap_or(at);
        let still = |b: &Buf| writes.get(b).is_none_or(|ws| !ws.iter().any(|w| k < *w && *w < at));
        if loaded.is_none_or(still) {
            written_at.insert(*dst, at);
            folded.insert(*dst);
        }
    }
    for s in block {
        match s {
            Stmt::For(l) => fold_block(&l.body, &nexts(&l.carried), uses, folded),
            Stmt::While(l) => {
                fold_block(&l.cond_block, &[l.cond], uses, folded);
                fold_block(&l.body, &nexts(&l.carried), uses, folded);
            }
            Stmt::If(i) => {
                fold_block(&i.then, &i.results.iter().map(|r| r.1).collect::<Vec<_>>(), uses, folded);
                fold_block(&i.els, &i.results.iter().map(|r| r.2).collect::<Vec<_>>(), uses, folded);
            }
            _ => (),
        }
    }
}

fn nexts(carried: &[Carried]) -> Vec<Operand> {
    carried.iter().map(|c| c.next).collect()
}

fn walk_results(block: &[Stmt], at: usize) -> Option<Val> {
    match block.get(at)? {
        Stmt::Let { dst, .. } | Stmt::Load { dst, .. } => Some(*dst),
        _ => None,
    }
}

/// The values a statement reads before its blocks begin.
fn head_operands(s: &Stmt, f: &mut dyn FnMut(Val)) {
    let mut f = |o: &Operand| {
        if let Operand::Val(v) = o {
            f(*v)
        }
    };
    match s {
        Stmt::For(l) => {
            f(&l.extent);
            l.carried.iter().for_each(|c| f(&c.init));
        }
        Stmt::While(l) => l.carried.iter().for_each(|c| f(&c.init)),
        Stmt::If(i) => f(&i.cond),
        _ => walk::operands(s, &mut f),
    }
}
