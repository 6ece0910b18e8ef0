//! `look SEED FUEL [poly]`: a random program and its stages.
//! `look SEED FUEL [poly] shrink`: the smallest program with the same fault.

use lang::precision::Precision;
use proofs::engines::{Ask, Fault};
use proofs::r#gen::{Kind, Sample, sample};
use proofs::{agree, exact, show, shrink};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |k: usize| args.get(k).and_then(|s| s.parse::<u64>().ok()).expect("look SEED FUEL [poly] [shrink]");
    let (seed, fuel) = (number(0), number(1) as usize);
    let has = |word: &str| args.iter().any(|a| a == word);
    let kind = if has("poly") { Kind::Polynomial } else { Kind::Any };
    let fault = |s: &Sample| -> Option<Fault> {
        match kind {
            Kind::Any => agree::examine(s, seed, Precision::Double).err(),
            Kind::Polynomial => exact::examine(s, seed).err(),
        }
    };
    let mut s = sample(seed, fuel, kind);
    let found = fault(&s);
    if let (Some(found), true) = (&found, has("shrink")) {
        s = shrink::shrink(&s, &mut |s| fault(s).is_some_and(|f| f.stage == found.stage));
    }
    println!("{}", show::sample(&s));
    let all = seed % 3 != 0;
    let asks = [("value", Ask::Value), ("jvp", Ask::Forward { all }), ("vjp", Ask::Reverse { all })];
    for (name, ask) in asks {
        if has(name) {
            println!("======== {ask:?}\n{}", show::stages(&s, ask));
        }
    }
    if let Some(f) = fault(&s) {
        println!("{f}");
    }
}
