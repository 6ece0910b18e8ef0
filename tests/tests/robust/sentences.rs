//! Sentences of a rough grammar of the language: most parse, some are well typed.

use proofs::rng::Rng;

const NAMES: &[&str] =
    &["f", "g", "x", "y", "z", "a", "i", "n", "k", "T", "A", "B", "real", "sum", "map", "sin", "dot", "grad"];

pub fn file(rng: &mut Rng) -> String {
    (0..rng.int(1, 5)).map(|_| item(rng)).collect::<Vec<_>>().join("\n")
}

fn name(rng: &mut Rng) -> String {
    rng.pick(NAMES).to_string()
}

fn item(rng: &mut Rng) -> String {
    let doc = if rng.chance(1, 4) { "--| About it.\n" } else { "" };
    let body = match rng.below(10) {
        0 => format!("type {}{} = {}", name(rng), brackets(rng), ty(rng, 3)),
        1 => format!("type {} = A {} | B", name(rng), ty(rng, 2)),
        2 => format!("input {}{} : {}", name(rng), brackets(rng), ty(rng, 2)),
        3 => format!("test {} = {} ~= {}", name(rng), expr(rng, 3), expr(rng, 3)),
        4 => format!("import {} as {}", rng.pick(&["linalg", "stats", "\"p.ad\"", "x"]), name(rng)),
        _ => {
            let rec = if rng.chance(1, 6) { "rec " } else { "" };
            let params: String =
                (0..rng.below(4)).map(|_| format!(" ({} : {})", pattern(rng, 1), ty(rng, 2))).collect();
            let result = if rng.chance(2, 3) { format!(" : {}", ty(rng, 2)) } else { String::new() };
            format!("def {rec}{}{}{params}{result} =\n  {}", name(rng), brackets(rng), expr(rng, 5))
        }
    };
    format!("{doc}{body}\n")
}

fn brackets(rng: &mut Rng) -> String {
    rng.pick(&["", "", " [n]", " [n, k]", " ['a]", " [n, n]"]).to_string()
}

fn size(rng: &mut Rng, fuel: usize) -> String {
    match rng.below(if fuel == 0 { 2 } else { 5 }) {
        0 => "n".into(),
        1 => rng.int(0, 12).to_string(),
        2 => format!("{} + {}", size(rng, fuel - 1), size(rng, fuel - 1)),
        3 => format!("({} - {})", size(rng, fuel - 1), size(rng, fuel - 1)),
        _ => format!("{} * {}", size(rng, fuel - 1), size(rng, fuel - 1)),
    }
}

fn ty(rng: &mut Rng, fuel: usize) -> String {
    match rng.below(if fuel == 0 { 4 } else { 11 }) {
        0 | 1 => "real".into(),
        2 => rng.pick(&["int", "bool", "'a", "T", "()"]).to_string(),
        3 => "real".into(),
        4 => format!("({}, {})", ty(rng, fuel - 1), ty(rng, fuel - 1)),
        5 => format!("{{x : {}, y : {}}}", ty(rng, fuel - 1), ty(rng, fuel - 1)),
        6 => format!("[{}]{}", size(rng, 1), ty(rng, fuel - 1)),
        7 => format!("real^{}", rng.pick(&["n", "3", "(n, k)", "(n + 1)"])),
        8 => format!("({} -> {})", ty(rng, fuel - 1), ty(rng, fuel - 1)),
        9 => format!("({} -o {})", ty(rng, fuel - 1), ty(rng, fuel - 1)),
        _ => format!("D {}", ty(rng, fuel - 1)),
    }
}

fn pattern(rng: &mut Rng, fuel: usize) -> String {
    match rng.below(if fuel == 0 { 4 } else { 7 }) {
        0 | 1 => name(rng),
        2 => "_".into(),
        3 => rng.pick(&["0", "true", "A", "B"]).to_string(),
        4 => format!("({}, {})", pattern(rng, fuel - 1), pattern(rng, fuel - 1)),
        5 => format!("{{x = {}}}", pattern(rng, fuel - 1)),
        _ => format!("A {}", pattern(rng, fuel - 1)),
    }
}

fn expr(rng: &mut Rng, fuel: usize) -> String {
    let f = fuel.saturating_sub(1);
    match rng.below(if fuel == 0 { 4 } else { 22 }) {
        0 | 1 => name(rng),
        2 => rng.pick(&["0", "1", "2.5", "1e3", "true", "()"]).to_string(),
        3 => name(rng),
        4 => format!("let {} = {} in\n  {}", pattern(rng, 1), expr(rng, f), expr(rng, f)),
        5 => format!("if {} then {} else {}", expr(rng, f), expr(rng, f), expr(rng, f)),
        6 => format!("(\\{} -> {})", name(rng), expr(rng, f)),
        7 => format!("{} {}", name(rng), atom(rng, f)),
        8 => format!("{} {} {}", name(rng), atom(rng, f), atom(rng, f)),
        9 => format!("({}, {})", expr(rng, f), expr(rng, f)),
        10 => format!("[ {} | i < n ]", expr(rng, f)),
        11 => format!("[{}, {}]", expr(rng, f), expr(rng, f)),
        12 => format!("{}[{}]", name(rng), expr(rng, f)),
        13 => format!("{{x = {}, y = {}}}", expr(rng, f), expr(rng, f)),
        14 => format!("{}.{}", atom(rng, f), rng.pick(&["0", "1", "x", "y"])),
        15 => format!("{{{} with x = {}}}", name(rng), expr(rng, f)),
        16 => format!("loop s = {} for i < n do {}", expr(rng, f), expr(rng, f)),
        17 => format!(
            "match {} with {} -> {} | _ -> {}",
            expr(rng, f),
            pattern(rng, 2),
            expr(rng, f),
            expr(rng, f)
        ),
        18 => format!("- {}", atom(rng, f)),
        19 => format!("{} as {}", atom(rng, f), ty(rng, 1)),
        _ => {
            let op = rng.pick(&["+", "-", "*", "/", "^", "==", "<", "<=", "&&", "||", "|>", ">>", "@"]);
            format!("{} {op} {}", atom(rng, f), atom(rng, f))
        }
    }
}

fn atom(rng: &mut Rng, fuel: usize) -> String {
    format!("({})", expr(rng, fuel))
}
