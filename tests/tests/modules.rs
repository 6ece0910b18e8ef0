//! Programs of several files.

use tests::{Ran, Scratch, run};

const ADC: &str = env!("CARGO_BIN_EXE_adc-under-test");

fn adc(dir: &Scratch, args: &[&str]) -> Ran {
    run(ADC, &dir.0, args)
}

fn files(name: &str, files: &[(&str, &str)]) -> Scratch {
    let dir = Scratch::new(name).unwrap();
    for (path, text) in files {
        let folder = dir.0.join(path).parent().unwrap().to_path_buf();
        std::fs::create_dir_all(folder).unwrap();
        dir.write(path, text.as_bytes()).unwrap();
    }
    dir
}

#[test]
fn a_file_is_one_module_however_it_is_reached() {
    let dir = files(
        "one-module",
        &[
            ("shapes.ad", "type shape = Circle real | Point\ndef unit : shape = Circle 1.0\n"),
            (
                "lib/area.ad",
                "import \"../shapes.ad\" as s\ndef area (x : s.shape) : real = match x with | s.Circle r -> r | s.Point -> 0.0\n",
            ),
            (
                "main.ad",
                "import \"lib/area.ad\" as a\nimport \"./lib/../shapes.ad\" as t\ndef main = (a.area t.unit, a.area t.Point)\n",
            ),
        ],
    );
    let ran = adc(&dir, &["run", "main.ad"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("(1.0, 0.0)\n", ""));
}

#[test]
fn files_of_the_same_name_are_different_modules() {
    let dir = files(
        "same-name",
        &[
            ("a/p.ad", "type t = A\ndef f (x : t) : real = 1.0\ndef x : t = A\n"),
            ("b/p.ad", "type t = A\ndef f (x : t) : real = 2.0\ndef x : t = A\n"),
            ("main.ad", "import \"a/p.ad\" as a\nimport \"b/p.ad\" as b\ndef main = (a.f a.x, b.f b.x)\n"),
            ("wrong.ad", "import \"a/p.ad\" as a\nimport \"b/p.ad\" as b\ndef main = a.f b.x\n"),
        ],
    );
    assert_eq!(adc(&dir, &["run", "main.ad"]).stdout, "(1.0, 2.0)\n");
    let ran = adc(&dir, &["check", "wrong.ad"]);
    assert!(ran.stderr.contains("argument `x` of `a.f` must be a.t, this is b.t"), "{}", ran.stderr);
}

#[test]
fn what_is_wrong_with_a_file_is_said_once() {
    let dir = files(
        "once",
        &[
            ("wrong.ad", "def f (x : real) : real = x + true\n"),
            ("a.ad", "import \"wrong.ad\" as w\ndef f (x : real) : real = w.f x\n"),
            (
                "b.ad",
                "import \"wrong.ad\" as w\nimport \"a.ad\" as a\ndef f (x : real) : real = a.f (w.f x)\n",
            ),
        ],
    );
    let ran = adc(&dir, &["check", "a.ad", "b.ad"]);
    assert!(ran.stderr.ends_with("1 error; more: `adc explain E0303`\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("wrong.ad:1:"), "{}", ran.stderr);
}

#[test]
fn a_chain_of_imports_has_a_limit() {
    let dir = Scratch::new("chain").unwrap();
    for k in 0..150 {
        let text = format!("import \"c{}.ad\" as c\ndef f (x : real) : real = c.f x\n", k + 1);
        dir.write(&format!("c{k}.ad"), text.as_bytes()).unwrap();
    }
    dir.write("c150.ad", b"def f (x : real) : real = 2 * x\n").unwrap();
    let ran = adc(&dir, &["check", "c0.ad"]);
    assert!(ran.stderr.starts_with("[E0211] Error: more than 100 files"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("1 error; more: `adc explain E0211`\n"), "{}", ran.stderr);
    let ran = adc(&dir, &["grad", "c60.ad", "f", "--args", "{\"x\": 1}"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("2.0\n", ""));
}

/// Unused definitions of a module are not compiled: one that no engine takes does no harm, and a library has the exports alone.
#[test]
fn only_what_is_used_is_compiled() {
    let dir = files(
        "used",
        &[
            ("m.ad", "def f (x : real) : real = 2 * x\ndef endless (n : int) : [n]real = [ 1.0 | i < n ]\n"),
            ("main.ad", "import \"m.ad\" as m\ndef g (x : real) : real = m.f x\n"),
        ],
    );
    let all = adc(&dir, &["show", "main.ad", "g", "--stage", "loops"]);
    assert!(all.status == 0 && !all.stdout.contains("endless"), "{}{}", all.stdout, all.stderr);
    if cfg!(feature = "llvm") {
        let ran = adc(&dir, &["build", "main.ad", "-o", "out", "--emit", "header"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let header = std::fs::read_to_string(dir.0.join("out/main.h")).unwrap();
        assert!(header.contains("int64_t g(double x") && !header.contains("endless"), "{header}");
        let ran =
            adc(&dir, &["build", "main.ad", "-o", "out", "--emit", "header", "--export", "m.f,grad m.f"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let header = std::fs::read_to_string(dir.0.join("out/main.h")).unwrap();
        assert!(
            header.contains("int64_t m_f(double x") && header.contains("int64_t grad_m_f(double x"),
            "{header}"
        );
    }
}
