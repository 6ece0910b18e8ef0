//! The examples of the repository check, and their Core passes the checker.

mod common;

#[test]
fn examples_check() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the examples' folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "ad") {
            common::program(&std::fs::read_to_string(&path).expect("a text"));
            seen += 1;
        }
    }
    assert!(seen > 0, "no examples");
}
