//! A sample as text: the program as it would be written, and what the stages make of it.

use crate::engines::{Ask, derive};
use crate::r#gen::Sample;
use lang::core::{Def, Program};
use lang::precision::Precision;
use lang::surface::print::{Style, item};
use std::fmt::Write;

fn def(d: &Def, program: &Program) -> String {
    item(&lang::distill::def(d, program), Style::default())
}

/// The definitions of a sample and the values of its sizes.
pub fn sample(s: &Sample) -> String {
    let mut text = format!("sizes {:?}\n", s.sizes);
    s.program.defs.values().for_each(|d| text += &def(d, &s.program));
    text
}

/// Normal form, simplified normal forms and loops, as far as they come.
pub fn stages(s: &Sample, ask: Ask) -> String {
    let asked = crate::engines::asked(s.def(), ask);
    let mut text = String::new();
    let normal = match opt::normal_form(&asked, &s.program, &derive, Precision::Double) {
        Ok(normal) => normal,
        Err(e) => return format!("no normal form: {e}"),
    };
    let level = |level| opt::simplify(&normal, &opt::simplify::Options { level, ..Default::default() });
    let forms = [
        ("normal form", normal.clone(), true),
        ("strictly simplified", level(opt::rules::Level::Strict), true),
        ("simplified", level(opt::rules::Level::Default), false),
    ];
    for (name, form, strict) in &forms {
        let program = form.program();
        let defs: String = program.defs.values().map(|d| def(d, &program)).collect();
        let _ = writeln!(text, "---- {name}\n{defs}");
        match opt::emit(form) {
            Ok(mut proc) => {
                text += &lang::loops::text::print(&proc);
                let options = opt::passes::Options { strict: *strict, ..Default::default() };
                if opt::passes::optimise(&mut proc, &options).is_ok() {
                    let _ = writeln!(text, "-- after passes\n{}", lang::loops::text::print(&proc));
                }
            }
            Err(e) => text += &format!("no loops: {e}\n"),
        }
    }
    text
}
