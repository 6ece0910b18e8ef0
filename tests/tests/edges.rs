//! The dependency edges of the workspace are those of ARCHITECTURE.md, and no other.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Crate and what it may use of the workspace. A crate may use less; test dependencies are free inside the workspace.
const EDGES: &[(&str, &[&str])] = &[
    ("lang", &[]),
    ("typeck", &["lang"]),
    ("ad", &["lang"]),
    ("opt", &["lang"]),
    ("runtime", &[]),
    ("codegen", &["lang", "runtime"]),
    ("proofs", &["lang", "typeck", "ad", "opt", "codegen"]),
    ("cli", &["lang", "typeck", "ad", "opt", "proofs", "codegen"]),
    ("tests", &["cli"]),
];

/// The ten packages the design names, and the crates that do their work with them.
const PACKAGES: &[(&str, &str)] = &[
    ("chumsky", "lang"),
    ("pretty", "lang"),
    ("im", "typeck"),
    ("egg", "opt"),
    ("inkwell", "codegen"),
    ("rayon", "runtime"),
    ("rayon", "cli"),
    ("proptest", "proofs"),
    ("ariadne", "cli"),
    ("clap", "cli"),
    ("salsa", "cli"),
];

/// Package name to its non-test dependencies, as they are called in its Cargo.toml.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(tests::root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let all = package["dependencies"].as_array().unwrap().iter();
            let used = all.filter(|d| d["kind"] != "dev").map(|d| match d["rename"].as_str() {
                Some(name) => name.to_string(),
                None => d["name"].as_str().unwrap().to_string(),
            });
            (package["name"].as_str().unwrap().to_string(), used.collect())
        })
        .collect()
}

#[test]
fn the_crates_depend_on_each_other_as_designed() {
    let packages = dependencies();
    let members: BTreeSet<&str> = packages.keys().map(String::as_str).collect();
    let known: BTreeSet<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    assert_eq!(members, known, "the workspace's crates");
    for (name, allowed) in EDGES {
        let used = packages[*name].iter().filter(|d| members.contains(d.as_str()));
        let wrong: Vec<&String> = used.filter(|d| !allowed.contains(&d.as_str())).collect();
        assert!(wrong.is_empty(), "`{name}` may depend on {allowed:?}, but also depends on {wrong:?}");
    }
}

#[test]
fn each_named_package_has_its_place() {
    let packages = dependencies();
    for (package, place) in PACKAGES {
        assert!(packages[*place].contains(*package), "`{place}` should use {package}");
    }
    for (name, used) in &packages {
        if name != "cli" {
            assert!(!used.contains("salsa"), "salsa lives in `cli` alone, not in `{name}`");
        }
    }
}
