//! The passes of the loop IR, one file and one row each. A row says which facts a pass requires of the procedure, which it
//! establishes and which it may destroy; a pipeline is a list of names, checked against the rows when it is built.
//!
//! Under `strict` no pass changes a bit of any value. Otherwise additions into one accumulator may change places, and a
//! structural zero that a sum starts from may go.

mod allocs;
mod arms;
mod bounds;
mod checks;
mod contract;
mod copies;
mod cse;
mod dce;
mod fission;
mod fold;
mod fuse;
mod ifs;
mod lanes;
mod order;
mod parallel;
mod parts;
mod peel;
mod products;
mod registers;
mod rows;
mod scalars;
mod stores;
mod stretches;
#[cfg(test)]
mod tests;
mod trial;
mod triangles;
mod twins;
mod unread;

use lang::loops::{Block, Proc, text, verify};

/// What the passes may do, and what is shown of them.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// No bit of any value changes.
    pub strict: bool,
    /// Identities that hold over the reals but not for −0, NaN and infinities.
    pub fast_math: bool,
    /// The checker runs after every pass.
    pub verify: bool,
    /// The names of the passes after which the procedure is dumped.
    pub dump_after: Vec<String>,
}

/// What may be known of a procedure between two passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fact {
    /// No operation on constants only, no decided branch, no copy.
    Folded,
    /// No value is computed twice where the first is still there, nor in a loop it does not depend on. So equal extents are equal operands.
    Numbered,
    /// No value, loop, store or local buffer that nothing needs.
    Live,
    /// Every loop that satisfies [`lang::loops::Parallel::Yes`] says so.
    Marked,
    /// No local buffer of rank 0.
    Promoted,
}

pub struct Pass {
    pub name: &'static str,
    pub doc: &'static str,
    pub requires: &'static [Fact],
    pub establishes: &'static [Fact],
    pub breaks: &'static [Fact],
    pub run: fn(&mut Proc, &Options),
}

pub static TABLE: &[Pass] = &[
    fold::PASS,
    parallel::PASS,
    cse::PASS,
    checks::PASS,
    dce::PASS,
    peel::PASS,
    fuse::PASS,
    contract::PASS,
    registers::PASS,
    scalars::PASS,
    ifs::PASS,
    allocs::PASS,
    stores::PASS,
    copies::PASS,
    stretches::PASS,
    arms::PASS,
    unread::PASS,
    twins::PASS,
    fission::PASS,
    parts::PASS,
    triangles::PASS,
    products::PASS,
    lanes::PASS,
    rows::PASS,
];

/// Lets a pass change the body with the procedure at hand.
fn on_body(p: &mut Proc, change: impl FnOnce(&mut Proc, &mut Block)) {
    let mut body = std::mem::take(&mut p.body);
    change(p, &mut body);
    p.body = body;
}

/// The default pipeline: two rounds of fusion, since a contracted buffer lets inner loops fuse; everything is tidied before and after.
#[rustfmt::skip]
pub const PIPELINE: &[&str] = &[
    "fold", "parallel", "cse", "checks", "fold", "parallel", "cse", "dce", //
    "peel", "fold", "parallel", "cse", "fuse", "contract", "registers", "scalars", //
    "fold", "parallel", "cse", "ifs", "cse", "stores", "fold", "checks", "fold", "parallel", "cse", "unread", "dce", //
    "stretches", "fold", "parallel", "cse", "checks", "fold", "parallel", "cse", "dce", "copies", //
    "peel", "fold", "parallel", "cse", "fuse", "contract", "registers", "scalars", //
    "fold", "parallel", "cse", "ifs", "cse", "stores", "fold", "checks", "fold", "parallel", "cse", //
    "arms", "unread", "twins", "fission", "triangles", "cse", "registers", "scalars", "fold", "parallel", "cse", "dce", //
    "parts", "dce", "products", "allocs", "lanes", "rows",
];

/// A procedure as it was after a pass.
#[derive(Clone, PartialEq, Debug)]
pub struct Dump {
    pub after: &'static str,
    pub text: String,
}

/// A list of passes each of which finds what it requires.
pub struct Pipeline(Vec<&'static Pass>);

impl Pipeline {
    /// Err: a name without a row, or a pass whose requirement nothing before it establishes.
    pub fn new(names: &[&str]) -> Result<Pipeline, String> {
        let mut facts: Vec<Fact> = vec![];
        let mut passes = vec![];
        for name in names {
            let pass =
                TABLE.iter().find(|p| p.name == *name).ok_or_else(|| format!("no pass is called {name}"))?;
            if let Some(missing) = pass.requires.iter().find(|f| !facts.contains(f)) {
                return Err(format!("{name} requires {missing:?}, which does not hold there"));
            }
            facts.retain(|f| !pass.breaks.contains(f));
            facts.extend(pass.establishes);
            passes.push(pass);
        }
        Ok(Pipeline(passes))
    }

    /// Err: the pass after which the checker complains, and its complaint (with `verify`).
    pub fn run(&self, p: &mut Proc, options: &Options) -> Result<Vec<Dump>, String> {
        let mut dumps = vec![];
        for pass in &self.0 {
            p.callees.iter_mut().for_each(|f| (pass.run)(f, options));
            (pass.run)(p, options);
            if options.verify {
                verify::verify(p)
                    .map_err(|m| format!("after pass {}: {m}\n{}", pass.name, text::print_flat(p)))?;
            }
            if options.dump_after.iter().any(|n| n == pass.name) {
                dumps.push(Dump { after: pass.name, text: text::print(p) });
            }
        }
        Ok(dumps)
    }
}

/// Runs the default pipeline; gives the dumps asked for.
pub fn optimise(p: &mut Proc, options: &Options) -> Result<Vec<Dump>, String> {
    if let Some(name) = options.dump_after.iter().find(|n| TABLE.iter().all(|p| p.name != n.as_str())) {
        return Err(format!("no pass is called {name}"));
    }
    Pipeline::new(PIPELINE)?.run(p, options)
}
