//! The tool's side of the GradBench protocol: one JSON message per line of standard input, one answer per line of standard output.
//! Whatever is wrong with a message is an answer too; only the end of the input ends the process.

use crate::codes;
use crate::data::json;
use crate::gradbench::Module;
use crate::guard;
use crate::pipeline::Options;
use crate::report::{Stop, render};
use serde_json::{Map, Value as Json, json};
use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Answers until the input ends or nobody listens.
pub fn serve(dir: Option<&Path>, options: &Options) -> Result<String, Stop> {
    if let Some(dir) = dir.filter(|dir| !dir.is_dir()) {
        return Err(Stop::Usage(format!("--dir {}: there is no such folder", dir.display())));
    }
    let mut tool = Tool { dir, options, modules: HashMap::new() };
    let (mut input, mut line) = (io::stdin().lock(), vec![]);
    loop {
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(String::new()),
            Ok(_) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Ok(_) => {}
            Err(error) => return Err(Stop::Usage(format!("standard input cannot be read: {error}"))),
        }
        let mut answer = tool.answer(&line);
        answer.push('\n');
        let mut out = io::stdout().lock();
        if out.write_all(answer.as_bytes()).and_then(|()| out.flush()).is_err() {
            return Ok(String::new());
        }
    }
}

struct Tool<'a> {
    dir: Option<&'a Path>,
    options: &'a Options,
    modules: HashMap<String, Module>,
}

impl Tool<'_> {
    /// One line without its end.
    fn answer(&mut self, line: &[u8]) -> String {
        let parsed = std::str::from_utf8(line).map_err(|e| e.to_string());
        let parsed = parsed.and_then(|text| json::parse(text).map_err(|e| e.to_string()));
        let message = match parsed {
            Ok(Json::Object(message)) => message,
            Ok(_) => return failure(&Json::Null, "a message is a JSON object"),
            Err(error) => return failure(&Json::Null, &format!("the message is not JSON: {error}")),
        };
        let id = message.get("id").unwrap_or(&Json::Null);
        let outcome = match message.get("kind").and_then(Json::as_str) {
            Some("start") => Ok(json!({"id": id, "tool": "adc"}).to_string()),
            Some("define") => self.define(id, &message),
            Some("evaluate") => self.evaluate(id, &message),
            // An analysis, or what a later version of the protocol says, asks for nothing more.
            Some(_) => Ok(json!({"id": id}).to_string()),
            None => Err("the message has no `kind`".into()),
        };
        outcome.unwrap_or_else(|error| failure(id, &error))
    }

    fn define(&mut self, id: &Json, message: &Map<String, Json>) -> Result<String, String> {
        let start = Instant::now();
        let module = self.module(message)?;
        guard::run(|| module.compile_all()).map_err(text)?;
        let timing = timing("compile", start.elapsed());
        Ok(json!({"id": id, "success": true, "timings": [timing]}).to_string())
    }

    fn evaluate(&mut self, id: &Json, message: &Map<String, Json>) -> Result<String, String> {
        let module = self.module(message)?;
        let function = word(message, "function")?;
        let input = message.get("input").ok_or("the message has no `input`")?;
        let runs = Runs::of(input)?;
        let (output, times) = guard::run(|| {
            let start = Instant::now();
            let call = module.call(function, input)?;
            let mut bound = call.bind()?;
            let mut times = vec![timing("prepare", start.elapsed())];
            runs.each(|| bound.run(), |time| times.push(timing("evaluate", time)))
                .map_err(|f| call.fault(f))?;
            Ok((call.output(bound.outcome().result)?, times))
        })
        .map_err(text)?;
        let times = Json::Array(times);
        Ok(format!("{{\"id\":{id},\"success\":true,\"output\":{output},\"timings\":{times}}}"))
    }

    /// The module that a message names, read when it is first named.
    fn module(&mut self, message: &Map<String, Json>) -> Result<&mut Module, String> {
        let name = word(message, "module")?;
        if !self.modules.contains_key(name) {
            let module = guard::run(|| Module::find(name, self.dir, self.options)).map_err(text)?;
            self.modules.insert(name.to_string(), module);
        }
        Ok(self.modules.get_mut(name).expect("it has just been put there"))
    }
}

/// How often a function is to run.
struct Runs {
    min_runs: u64,
    min_seconds: f64,
}

impl Runs {
    /// Once, where the input does not say otherwise.
    fn of(input: &Json) -> Result<Runs, String> {
        let field = |name: &str| input.as_object().and_then(|fields| fields.get(name));
        let number = |name: &str, what: &str| format!("`{name}` should be {what}");
        let min_runs = match field("min_runs") {
            None => 1,
            Some(k) => k.as_u64().ok_or_else(|| number("min_runs", "a natural number"))?,
        };
        let min_seconds = match field("min_seconds") {
            None => 0.0,
            Some(x) => x.as_f64().ok_or_else(|| number("min_seconds", "a number"))?,
        };
        Ok(Runs { min_runs, min_seconds })
    }

    /// Runs, and hands on the time of each run, until both are reached.
    fn each<E>(
        &self,
        mut run: impl FnMut() -> Result<(), E>,
        mut took: impl FnMut(Duration),
    ) -> Result<(), E> {
        let (mut runs, mut sum) = (0, Duration::ZERO);
        while runs < self.min_runs.max(1) || sum.as_secs_f64() < self.min_seconds {
            let start = Instant::now();
            run()?;
            let time = start.elapsed();
            runs += 1;
            sum += time;
            took(time);
        }
        Ok(())
    }
}

fn word<'m>(message: &'m Map<String, Json>, field: &str) -> Result<&'m str, String> {
    message.get(field).and_then(Json::as_str).ok_or_else(|| format!("the message has no `{field}`"))
}

fn timing(name: &str, time: Duration) -> Json {
    json!({"name": name, "nanoseconds": time.as_nanos() as u64})
}

fn failure(id: &Json, error: &str) -> String {
    json!({"id": id, "success": false, "error": error}).to_string()
}

fn text(stop: Stop) -> String {
    match stop {
        Stop::Problems(mut problems) => {
            // Who speaks this protocol has no command line to mend.
            for problem in problems.iter_mut().filter(|p| p.diagnostic.code == codes::MISSING_ARGUMENT) {
                problem.diagnostic.help = Some("it is a field of the message's `input`".into());
            }
            render(&problems, false)
        }
        Stop::Usage(message) => message,
    }
}
