//! The GradBench suite: messages are answered as they should be, whatever is in them, and the programs in examples/gradbench have the
//! values and derivatives that are known.

use cli::args::Engine;
use cli::data::{Numbers, Tensor};
use cli::gradbench::{Module, allocations_in_loops};
use cli::pipeline::Options;
use lang::precision::Precision;
use serde_json::{Value as Json, json};
use std::io::Write;
use std::process::{Command, Stdio};
use tests::by_hand::{inputs, naive, reals, tuned};

const ADC: &str = env!("CARGO_BIN_EXE_adc-under-test");

/// What `adc gradbench` answers to a text, line by line; it must end by itself and well.
fn answers(options: &[&str], text: &[u8]) -> Vec<Json> {
    let mut tool = Command::new(ADC);
    tool.arg("gradbench").args(options).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut tool = tool.spawn().unwrap_or_else(|e| panic!("cannot run {ADC}: {e}"));
    let mut input = tool.stdin.take().expect("a pipe");
    let text = text.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&text));
    let output = tool.wait_with_output().unwrap_or_else(|e| panic!("{e}"));
    writer.join().expect("the writer does not panic").expect("the tool reads all");
    assert!(output.status.success(), "{}", output.status);
    let text = String::from_utf8(output.stdout).expect("answers are UTF-8");
    let answer = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    text.lines().map(answer).collect()
}

fn lines(messages: &[Json]) -> Vec<u8> {
    messages.iter().flat_map(|m| format!("{m}\n").into_bytes()).collect()
}

/// The same structure, and the same numbers but for rounding.
fn close(found: &Json, expected: &Json) -> bool {
    match (found, expected) {
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(x, a)| b.get(x).is_some_and(|b| close(a, b)))
        }
        (Json::Number(a), Json::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a == b,
            _ => {
                let [a, b] = [a, b].map(|x| x.as_f64().unwrap_or(f64::NAN));
                (a - b).abs() <= 1e-10 * f64::max(1.0, a.abs() + b.abs())
            }
        },
        _ => false,
    }
}

/// Exchanges whose outputs were computed by hand-written programs, not by adc.
fn exchanges(module: &str) -> Vec<Json> {
    let path = tests::root().join(format!("tests/gradbench/{module}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let file: Json = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    file.as_array().expect("a list of exchanges").clone()
}

const MODULES: [&str; 8] = ["hello", "llsq", "lse", "ode", "gmm", "lstm", "ba", "det"];

/// A whole session about one module: start, define, and every evaluation followed by its analysis.
fn session(module: &str) -> Result<(), String> {
    let exchanges = exchanges(module);
    let mut messages =
        vec![json!({"kind": "start", "eval": module}), json!({"kind": "define", "module": module})];
    for x in &exchanges {
        let mut input = x["input"].clone();
        if let Some(fields) = input.as_object_mut() {
            fields.insert("min_runs".into(), json!(3));
            fields.insert("min_seconds".into(), json!(0));
        }
        messages
            .push(json!({"kind": "evaluate", "module": module, "function": x["function"], "input": input,
                   "description": "small"}));
        messages.push(json!({"kind": "analysis", "of": 0, "valid": true}));
    }
    for (id, message) in messages.iter_mut().enumerate() {
        message["id"] = json!(id);
    }
    let answers =
        answers(if cfg!(feature = "llvm") { &[] } else { &["--engine", "loops"] }, &lines(&messages));
    assert_eq!(answers.len(), messages.len());
    assert_eq!(answers[0], json!({"id": 0, "tool": "adc"}));
    for (k, x) in exchanges.iter().enumerate() {
        let (answer, analysis) = (&answers[2 + 2 * k], &answers[3 + 2 * k]);
        if answer["success"] != true || !close(&answer["output"], &x["output"]) {
            return Err(format!("{module} {}: {answer}\nshould be {}", x["function"], x["output"]));
        }
        assert_eq!((&answer["id"], analysis), (&json!(2 + 2 * k), &json!({"id": 3 + 2 * k})));
        let runs = answer["timings"].as_array().expect("timings").iter();
        let runs = runs.filter(|t| t["name"] == "evaluate" && t["nanoseconds"].is_u64()).count();
        assert_eq!(runs, if module == "hello" { 1 } else { 3 });
    }
    match &answers[1]["success"] {
        Json::Bool(true) => Ok(()),
        _ => Err(format!("{module}: {}", answers[1])),
    }
}

#[test]
fn every_module_answers_its_messages() {
    tests::report(tests::all(&MODULES, |module| session(module)), MODULES.len());
}

#[test]
fn what_is_wrong_is_an_answer_and_the_tool_lives_on() {
    let ask = |what: &str| format!("{{\"id\": 1, \"kind\": {what}}}").into_bytes();
    let evaluate = |function: &str, input: &str| {
        let (module, function) = function.split_once("::").expect("module::function");
        ask(&format!(
            "\"evaluate\", \"module\": \"{module}\", \"function\": \"{function}\", \"input\": {input}"
        ))
    };
    let scene = |counts: &str, cam: &str| {
        format!("{{{counts}, \"cam\": {cam}, \"x\": [1, 2, 3], \"w\": 1, \"feat\": [1, 2]}}")
    };
    let cam = "[0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]";
    let mixture = r#"{"d": 2, "k": 1, "n": 1, "x": [[1, 2], [3, 4]], "m": 0, "gamma": 1, "alpha": [1],
        "mu": [[1, 1]], "q": [[1, 1]], "l": [[1]]}"#
        .replace('\n', "");
    let network =
        r#"{"main_params": [[1, 2]], "extra_params": [[1], [1], [1]], "state": [[1]], "sequence": [[1]]}"#;
    // A line, and what the error says of it.
    let wrong: Vec<(Vec<u8>, &str)> = vec![
        (b"{\"id\": 1, \"kind\"".to_vec(), "not JSON"),
        (b"\xff\xfe".to_vec(), "not JSON"),
        (b"[1, 2]".to_vec(), "object"),
        (b"{\"id\": 1}".to_vec(), "`kind`"),
        (ask("\"define\", \"module\": NaN"), "not JSON"),
        (ask("\"define\""), "`module`"),
        (ask("\"define\", \"module\": \"kmeans\""), "no module `kmeans`"),
        (ask("\"define\", \"module\": \"../gradbench/llsq\""), "no module"),
        (ask("\"evaluate\", \"module\": \"llsq\", \"function\": \"primal\""), "`input`"),
        (evaluate("llsq::hessian", "{}"), "no definition `hessian`"),
        (evaluate("llsq::primal", r#"{"x": [1]}"#), "no data for `n`"),
        (evaluate("llsq::primal", "3"), "no data for"),
        (evaluate("llsq::primal", r#"{"x": [1], "n": 2.5}"#), "not an int"),
        (evaluate("llsq::primal", r#"{"x": ["a"], "n": 2}"#), "not a real"),
        (evaluate("llsq::primal", r#"{"x": 1, "n": 2}"#), "not an array"),
        (evaluate("llsq::primal", r#"{"x": [1], "n": 2, "min_runs": -1}"#), "`min_runs`"),
        (evaluate("llsq::primal", r#"{"x": [1], "n": 2, "min_seconds": "1"}"#), "`min_seconds`"),
        // The one point is at 0 / 0.
        (evaluate("llsq::primal", r#"{"x": [1, 1], "n": 1}"#), "contains NaN"),
        (evaluate("hello::square", "1e200"), "contains inf"),
        (evaluate("hello::square", "\"one\""), "not a real"),
        (evaluate("det::primal", r#"{"A": [1, 2, 3], "ell": 2}"#), "length 3"),
        (evaluate("det::primal", r#"{"A": [], "ell": 0}"#), "det"),
        (evaluate("ode::gradient", r#"{"x": [], "s": 2}"#), "index"),
        (evaluate("ba::jacobian", &scene(r#""n": 1, "m": 1, "p": 1"#, "[0]")), "length 1"),
        // Fewer errors than the answer shows, no cameras.
        (evaluate("ba::objective", &scene(r#""n": 1, "m": 1, "p": 0"#, cam)), "index"),
        (evaluate("ba::objective", &scene(r#""n": 0, "m": 1, "p": 1"#, cam)), "division"),
        (evaluate("lstm::objective", network), "length 2"),
        (evaluate("gmm::objective", &mixture), "length 2"),
    ];
    let mut text = vec![];
    for (line, _) in &wrong {
        text.extend(line);
        // Blank lines are no messages; a right one follows each wrong one.
        text.extend(b"\n\n");
        text.extend(lines(&[
            json!({"id": "next", "kind": "evaluate", "module": "hello", "function": "square", "input": 3}),
        ]));
    }
    let answers = answers(ENGINE, &text);
    assert_eq!(answers.len(), 2 * wrong.len());
    for ((line, expected), pair) in wrong.iter().zip(answers.chunks(2)) {
        let line = String::from_utf8_lossy(line);
        assert_eq!(pair[0]["success"], false, "{line}: {}", pair[0]);
        let error = pair[0]["error"].as_str().unwrap_or_default();
        assert!(!error.is_empty() && error.contains(expected), "{line}: {error}");
        assert_eq!((&pair[1]["id"], &pair[1]["output"]), (&json!("next"), &json!(9.0)), "after {line}");
    }
}

const ENGINE: &[&str] = if cfg!(feature = "llvm") { &[] } else { &["--engine", "loops"] };

#[test]
fn lines_may_be_long_and_the_last_may_be_unfinished() {
    let n = 300_000;
    let x: Vec<f64> = vec![0.123_456_789_012_345; n];
    let long = json!({"id": 0, "kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": x}});
    let mut text = lines(&[long, json!({"id": 1, "kind": "a word of the future"})]);
    assert!(text.len() > 4_000_000);
    text.pop();
    let answers = answers(ENGINE, &text);
    let expected = 0.123_456_789_012_345 + (n as f64).ln();
    assert!(close(&answers[0]["output"], &json!(expected)), "{}", answers[0]);
    assert_eq!(answers[1], json!({"id": 1}));
}

#[test]
fn runs_are_repeated_until_both_bounds_are_reached() {
    let message = |min_runs: u64, min_seconds: f64| {
        json!({"id": 0, "kind": "evaluate", "module": "llsq", "function": "primal",
               "input": {"x": [1.0, 2.0], "n": 100, "min_runs": min_runs, "min_seconds": min_seconds}})
    };
    let answers = answers(ENGINE, &lines(&[message(7, 0.0), message(0, 0.0), message(2, 0.02)]));
    let times = |answer: &Json| -> Vec<u64> {
        let all = answer["timings"].as_array().cloned().unwrap_or_default();
        let own = all.iter().filter(|t| t["name"] == "evaluate");
        own.filter_map(|t| t["nanoseconds"].as_u64()).collect()
    };
    assert_eq!(times(&answers[0]).len(), 7);
    assert_eq!(times(&answers[1]).len(), 1);
    let long = times(&answers[2]);
    let (all, all_but_one) = (long.iter().sum::<u64>(), long[..long.len() - 1].iter().sum::<u64>());
    assert!(long.len() >= 2 && all >= 20_000_000 && (all_but_one < 20_000_000 || long.len() == 2));
}

#[test]
fn modules_come_from_a_folder_too() {
    let scratch = tests::Scratch::new("gradbench-dir").expect("a folder");
    let text = "def prepare (k : int) : real^k = [ real i | i < k ]\n\
                def total [n] (x : real^n) : real = sum x\n\
                def total_output (sum : real) : {sum : real} = {sum = sum}\n";
    scratch.write("own.ad", text.as_bytes()).expect("written");
    scratch.write("wrong.ad", b"def f (x : real) : int = x\n").expect("written");
    let dir = scratch.0.display().to_string();
    let options: Vec<&str> = ENGINE.iter().copied().chain(["--dir", &dir]).collect();
    let answers = answers(
        &options,
        &lines(&[
            json!({"id": 0, "kind": "define", "module": "own"}),
            json!({"id": 1, "kind": "evaluate", "module": "own", "function": "total", "input": {"k": 4}}),
            json!({"id": 2, "kind": "define", "module": "wrong"}),
            json!({"id": 3, "kind": "define", "module": "llsq"}),
        ]),
    );
    assert_eq!(answers[0]["success"], true);
    assert_eq!(answers[1]["output"], json!({"sum": 6.0}));
    assert!(answers[2]["error"].as_str().is_some_and(|e| e.contains("E0")), "{}", answers[2]);
    assert_eq!(answers[3]["success"], false);
}

/// A function of a module at an input, by an engine: its result as one list.
fn run(module: &mut Module, function: &str, input: &Json) -> Vec<f64> {
    let result = cli::guard::run(|| {
        let call = module.call(function, input)?;
        let mut bound = call.bind()?;
        bound.run().map_err(|f| call.fault(f))?;
        Ok(bound.outcome().result)
    });
    // A panic of the test is not one of the compiler.
    drop(std::panic::take_hook());
    flat(&result.unwrap_or_else(|e| panic!("{function}: {e:?}")))
}

fn flat(leaves: &[Tensor]) -> Vec<f64> {
    let numbers = leaves.iter().flat_map(|leaf| match &leaf.data {
        Numbers::Real(xs) => xs.clone(),
        Numbers::Single(xs) => xs.iter().copied().map(f64::from).collect(),
        Numbers::Int(xs) => xs.iter().map(|k| *k as f64).collect(),
        Numbers::Bool(xs) => xs.iter().map(|b| f64::from(u8::from(*b))).collect(),
    });
    numbers.collect()
}

fn module(name: &str) -> Module {
    compiled(name, native(), Precision::Double)
}

fn native() -> Engine {
    if cfg!(feature = "llvm") { Engine::Jit } else { Engine::Loops }
}

fn compiled(name: &str, engine: Engine, precision: Precision) -> Module {
    let options = Options { precision, ..Options::plain(engine) };
    Module::find(name, None, &options).unwrap_or_else(|e| panic!("{name}: {e:?}"))
}

fn names(module: &str) -> [&'static str; 2] {
    match module {
        "gmm" | "lstm" | "ba" => ["objective", "jacobian"],
        _ => ["primal", "gradient"],
    }
}

/// Relative to the largest number: small ones next to it have the rounding of their sums.
fn far(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = b.iter().fold(1e-300, |m: f64, x| m.max(x.abs()));
    a.iter().zip(b).fold(0.0, |m, (a, b)| f64::max(m, (a - b).abs() / size))
}

/// In single precision, next to the doubles by hand: what is lost is a few roundings of singles, 6e-8 each, times what sums and steps add up.
#[test]
fn derivatives_of_singles_are_near() {
    let cases = [
        ("llsq", inputs::llsq(65, 9)),
        ("lse", inputs::lse(1000)),
        ("ode", inputs::ode(8, 100)),
        ("gmm", inputs::gmm(3, 4, 53)),
        ("lstm", inputs::lstm(3, 9, 6)),
        ("ba", inputs::ba(3, 7, 40)),
        ("det", inputs::det(5)),
    ];
    let check = |(name, input): &(&str, Json)| {
        let mut module = compiled(name, native(), Precision::Single);
        let [primal, gradient] = names(name);
        let mut by_hand = naive(name, input).expect("it is there by hand");
        by_hand.primal();
        by_hand.gradient();
        for (function, expected) in [(primal, by_hand.value()), (gradient, by_hand.slopes())] {
            let far = far(&run(&mut module, function, input), &expected);
            // Not doubles either; NaN is near nothing. A sum of some thousand singles, one after the other, is off by their number times half a unit.
            if !(1e-12..=4e-4).contains(&far) {
                return Err(format!("{name} {function}: off by {far:e}"));
            }
        }
        Ok(())
    };
    tests::report(tests::all(&cases, check), cases.len());
}

#[test]
fn derivatives_are_those_by_hand() {
    let cases: Vec<(&str, Vec<Json>)> = vec![
        ("llsq", vec![inputs::llsq(37, 9), inputs::llsq(2, 1), inputs::llsq(65, 20)]),
        ("lse", vec![inputs::lse(1), inputs::lse(37), inputs::lse(1000)]),
        // Steps enough for the last component to depend on the first.
        ("ode", vec![inputs::ode(1, 3), inputs::ode(4, 100), inputs::ode(8, 100), inputs::ode(37, 20)]),
        ("gmm", vec![inputs::gmm(1, 3, 7), inputs::gmm(3, 4, 53), inputs::gmm(6, 5, 20)]),
        ("lstm", vec![inputs::lstm(1, 3, 4), inputs::lstm(3, 9, 6)]),
        ("ba", vec![inputs::ba(1, 1, 1), inputs::ba(3, 7, 40)]),
        ("det", vec![inputs::det(1), inputs::det(3), inputs::det(5)]),
    ];
    let check = |(name, inputs): &(&str, Vec<Json>)| {
        let mut module = module(name);
        let [primal, gradient] = names(name);
        for input in inputs {
            let mut by_hand = naive(name, input).expect("it is there by hand");
            by_hand.primal();
            by_hand.gradient();
            if let Some(mut fast) = tuned(name, input) {
                fast.primal();
                fast.gradient();
                let far =
                    f64::max(far(&fast.value(), &by_hand.value()), far(&fast.slopes(), &by_hand.slopes()));
                if far.is_nan() || far > 1e-12 {
                    return Err(format!("{name}: the versions by hand differ by {far:e} at {input}"));
                }
            }
            for (function, expected) in [(primal, by_hand.value()), (gradient, by_hand.slopes())] {
                let far = far(&run(&mut module, function, input), &expected);
                if far.is_nan() || far > 1e-10 {
                    return Err(format!("{name} {function}: off by {far:e} at {input}"));
                }
            }
        }
        Ok(())
    };
    tests::report(tests::all(&cases, check), cases.len());
}

/// Central differences of a primal by the reals at a field of its input.
fn differences(primal: &mut dyn FnMut(&Json) -> f64, input: &Json, field: &str) -> Vec<f64> {
    let h = 1e-5;
    let count = reals(&input[field]).len();
    let mut at = |k: usize, by: f64| {
        let mut input = input.clone();
        shift(&mut input[field], &mut { k }, by);
        primal(&input)
    };
    (0..count).map(|k| (at(k, h) - at(k, -h)) / (2.0 * h)).collect()
}

/// Adds to the k-th number; counts down on the way to it.
fn shift(json: &mut Json, k: &mut usize, by: f64) -> bool {
    match json {
        Json::Array(items) => items.iter_mut().any(|item| shift(item, k, by)),
        Json::Number(x) if *k == 0 => {
            *json = json!(x.as_f64().unwrap_or(f64::NAN) + by);
            true
        }
        _ => {
            *k -= 1;
            false
        }
    }
}

#[test]
fn derivatives_are_those_of_differences() {
    let cases: Vec<(&str, Json, &[&str])> = vec![
        ("llsq", inputs::llsq(11, 5), &["x"]),
        ("lse", inputs::lse(6), &["x"]),
        ("ode", inputs::ode(4, 10), &["x"]),
        ("gmm", inputs::gmm(3, 2, 5), &["alpha", "l", "mu", "q"]),
        ("lstm", inputs::lstm(2, 5, 3), &["main_params", "extra_params"]),
        ("det", inputs::det(4), &["A"]),
    ];
    let check = |(name, input, fields): &(&str, Json, &[&str])| {
        let mut module = module(name);
        let [primal, gradient] = names(name);
        let slopes = run(&mut module, gradient, input);
        let mut primal = |input: &Json| *run(&mut module, primal, input).last().expect("a number");
        let expected: Vec<f64> =
            fields.iter().flat_map(|field| differences(&mut primal, input, field)).collect();
        match far(&slopes, &expected) {
            far if far < 1e-7 => Ok(()),
            far => Err(format!("{name}: off by {far:e}")),
        }
    };
    tests::report(tests::all(&cases, check), cases.len());
}

/// The sizes at which work is counted.
fn counted() -> Vec<(&'static str, Json)> {
    vec![
        ("llsq", inputs::llsq(64, 16)),
        ("lse", inputs::lse(1000)),
        ("ode", inputs::ode(50, 10)),
        ("gmm", inputs::gmm(4, 5, 20)),
        ("lstm", inputs::lstm(2, 8, 6)),
        ("ba", inputs::ba(3, 7, 40)),
        ("det", inputs::det(5)),
    ]
}

/// Compares counts with those on record in a file of tests/gradbench: by function, `tolerance` is how much more is allowed. `BLESS=1` records.
fn no_more_than_on_record(
    file: &str,
    tolerance: f64,
    count: impl Fn(&str, &Json) -> Result<Vec<(String, u64)>, String> + Sync,
) {
    let cases = counted();
    let path = tests::root().join("tests/gradbench").join(file);
    let record: Json = serde_json::from_str(&std::fs::read_to_string(&path).unwrap_or("{}".into()))
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let found = std::sync::Mutex::new(std::collections::BTreeMap::new());
    let complaints = tests::all(&cases, |(name, input)| {
        let counts = count(name, input)?;
        found.lock().map_err(|e| e.to_string())?.extend(counts.iter().cloned());
        for (function, count) in counts {
            let before = record[&function].as_u64();
            if before.is_none_or(|before| count as f64 > tolerance * before as f64) {
                return Err(format!("{function}: {count}, on record: {before:?}"));
            }
        }
        Ok(())
    });
    drop(std::panic::take_hook());
    if std::env::var_os("BLESS").is_some() {
        let found = found.into_inner().unwrap_or_default();
        let text = serde_json::to_string_pretty(&json!(found)).expect("numbers are JSON");
        std::fs::write(&path, text + "\n").unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        return;
    }
    tests::report(complaints, cases.len());
}

/// Memory is planned: no iteration of a loop takes any, at sizes some of which are known when the program is compiled.
#[test]
fn no_loop_takes_memory() {
    let check = |(name, input): &(&str, Json)| {
        let counts = cli::guard::run(|| {
            let mut module = compiled(name, Engine::Loops, Precision::Double);
            let count = |f: &str| Ok(allocations_in_loops(&module.call(f, input)?.loops()?));
            names(name).into_iter().map(count).collect::<Result<Vec<usize>, _>>()
        });
        match counts {
            Ok(counts) if counts.iter().all(|k| *k == 0) => Ok(()),
            other => Err(format!("{name}: {other:?}")),
        }
    };
    let larger =
        [("gmm", inputs::gmm(32, 3, 70)), ("ode", inputs::ode(70, 3)), ("lstm", inputs::lstm(2, 70, 3))];
    let cases: Vec<(&str, Json)> = counted().into_iter().chain(larger).collect();
    let complaints = tests::all(&cases, check);
    drop(std::panic::take_hook());
    tests::report(complaints, cases.len());
}

/// Operations of the loops of primals and derivatives, as their evaluator counts them: what the optimiser achieves is not lost again.
#[test]
fn loops_do_no_more_than_they_did() {
    no_more_than_on_record("operations.json", 1.02, |name, input| {
        let counted = cli::guard::run(|| {
            let mut module = compiled(name, Engine::Loops, Precision::Double);
            let mut counts = vec![];
            for function in names(name) {
                let call = module.call(function, input)?;
                let mut bound = call.bind()?;
                bound.run().map_err(|f| call.fault(f))?;
                counts.push((format!("{name}::{function}"), bound.outcome().cost.unwrap_or(0)));
            }
            Ok(counts)
        });
        counted.map_err(|e| format!("{name}: {e:?}"))
    });
}

/// Instructions that machine code executes for one call, compiled for a fixed kind of processor and counted by valgrind. Without it, or on other
/// machines, there is nothing to compare.
#[test]
#[cfg(all(feature = "llvm", target_arch = "x86_64", target_os = "linux"))]
fn machine_code_does_no_more_than_it_did() {
    let there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let wide = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    if !wide || !there("valgrind") || !there("cc") {
        eprintln!("nothing is counted: this takes AVX2, valgrind and a linker");
        return;
    }
    no_more_than_on_record("instructions.json", 1.05, |name, input| {
        // Compiled for each size, which a library is not.
        if name == "det" {
            return Ok(vec![]);
        }
        let scratch = tests::Scratch::new(&format!("instructions-{name}"))?;
        let mut module = compiled(name, Engine::Jit, Precision::Double).general();
        let source = format!("examples/gradbench/{name}.ad");
        let out = scratch.0.display().to_string();
        let export = names(name).join(",");
        let build = ["build", &source, "-o", &out, "--emit", "so", "--export", &export];
        let build = [&build[..], &["--target-cpu", "x86-64-v3", "--threads", "1"]].concat();
        let ran = tests::run(ADC, &tests::root(), &build);
        if ran.status != 0 {
            return Err(format!("{name}: {}", ran.stderr));
        }
        let mut counts = vec![];
        for function in names(name) {
            scratch.write("arguments", arguments(&mut module, function, input)?.as_bytes())?;
            let count = instructions(&scratch.0, &format!("lib{name}.so"), function)?;
            counts.push((format!("{name}::{function}"), count));
        }
        Ok(counts)
    });
}

/// A function's arguments as `call-exported` takes them.
#[cfg(all(feature = "llvm", target_arch = "x86_64", target_os = "linux"))]
fn arguments(module: &mut Module, function: &str, input: &Json) -> Result<String, String> {
    let text = cli::guard::run(|| {
        let call = module.call(function, input)?;
        let bound = call.bind()?;
        let (sizes, leaves, results) = bound.parameters();
        let mut lines: Vec<String> = sizes.iter().map(|n| format!("int {n}")).collect();
        fn joined(xs: &[impl std::fmt::Debug]) -> String {
            xs.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(" ")
        }
        lines.extend(leaves.map(|leaf| {
            let many = if leaf.shape.is_empty() { "" } else { "s" };
            match &leaf.data {
                Numbers::Real(xs) => format!("real{many} {}", joined(xs)),
                Numbers::Single(_) => unreachable!("a program of doubles"),
                Numbers::Int(xs) => format!("int{many} {}", joined(xs)),
                Numbers::Bool(xs) => format!("bool{many} {}", joined(xs)),
            }
        }));
        lines.extend(results.iter().map(|leaf| format!("out {}", leaf.data.len())));
        Ok(lines.join("\n"))
    });
    text.map_err(|e| format!("{function}: {e:?}"))
}

/// The instructions of one call, in the library's own code: those of the C library differ from system to system.
#[cfg(all(feature = "llvm", target_arch = "x86_64", target_os = "linux"))]
fn instructions(dir: &std::path::Path, library: &str, function: &str) -> Result<u64, String> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=counts"]);
    valgrind.arg(format!("--toggle-collect={function}")).arg(env!("CARGO_BIN_EXE_call-exported"));
    let ran = valgrind.arg(dir.join(library)).args([function, "arguments"]).current_dir(dir).output();
    let ran = ran.map_err(|e| format!("valgrind: {e}"))?;
    if !ran.status.success() {
        return Err(format!("{library} {function}: {}", String::from_utf8_lossy(&ran.stderr)));
    }
    let counts = std::fs::read_to_string(dir.join("counts")).map_err(|e| e.to_string())?;
    match own_instructions(&counts, library) {
        0 => Err(format!("{library} {function}: nothing was counted")),
        n => Ok(n),
    }
}

/// From callgrind's file: the costs of lines of code in an object, without what a line's calls cost, which stands after `calls=`.
#[cfg(all(feature = "llvm", target_arch = "x86_64", target_os = "linux"))]
fn own_instructions(counts: &str, object: &str) -> u64 {
    // An object is named once, `ob=(2) /the/path`, and then by its number.
    let number = |line: &str| line.split(')').next().map(str::to_string);
    let own = counts
        .lines()
        .find(|l| l.contains("ob=(") && l.ends_with(object))
        .and_then(|l| number(l.split("ob=").nth(1)?));
    let (mut here, mut called, mut total) = (None, false, 0);
    for line in counts.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            here = number(name);
        } else if line.starts_with("calls=") {
            called = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            let cost = line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
            total += if called || here != own { 0 } else { cost };
            called = false;
        }
    }
    total
}
