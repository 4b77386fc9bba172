//! The contract of the scanner, case by case.

use std::collections::BTreeMap;

use pilot_core::signal::{Code, Found, scan, strip};
use serde_json::{Map, Value};

const CORPUS: &str = include_str!("../fixtures/signals.jsonl");

#[test]
fn every_case_of_the_corpus_agrees() {
    let mut wrong = Vec::new();
    let cases: Vec<Case> = CORPUS.lines().map(Case::parse).collect();
    assert!(cases.len() > 1000, "the corpus is not whole");
    for case in &cases {
        if let Err(why) = case.check() {
            wrong.push(format!("{}: {why}\n    {}", case.name, short(&format!("{:?}", case.input))));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// How often each diagnostic (code, protocol) was seen.
type Counted = BTreeMap<(String, String), usize>;

struct Case {
    name: String,
    input: String,
    events: Vec<Map<String, Value>>,
    diagnostics: Counted,
    strip: Option<String>,
}

impl Case {
    fn parse(line: &str) -> Case {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let text = |key: &str| case[key].as_str().map(str::to_owned);
        let rows = case["expect"].as_array().expect("a case has rows").clone();
        let (events, diagnostics) = split(rows);
        Case {
            name: text("name").expect("a case has a name"),
            input: text("input").expect("a case has an input"),
            events,
            diagnostics,
            strip: text("strip"),
        }
    }

    fn check(&self) -> Result<(), String> {
        let found = scan(self.input.as_bytes());
        check_spans(&found, self.input.len() as u64)?;
        let (events, diagnostics) = split(found.iter().filter_map(row).collect());
        if events != self.events {
            return Err(format!("events {}, expected {}", short_rows(&events), short_rows(&self.events)));
        }
        if diagnostics != self.diagnostics {
            return Err(format!("diagnostics {diagnostics:?}, expected {:?}", self.diagnostics));
        }
        let stripped = String::from_utf8_lossy(&strip(self.input.as_bytes())).into_owned();
        match &self.strip {
            Some(expected) if *expected != stripped => {
                Err(format!("strip gives {}, expected {}", short(&stripped), short(expected)))
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn row(found: &Found) -> Option<Value> {
    match found {
        Found::Signal(signal) => Some(serde_json::to_value(signal).expect("a signal is JSON")),
        Found::Diagnostic(diagnostic) => {
            Some(serde_json::to_value(diagnostic).expect("a diagnostic is JSON"))
        }
        Found::Wrapper(_) => None,
    }
}

/// Events as they are compared, and how often each diagnostic is expected; places count once.
fn split(rows: Vec<Value>) -> (Vec<Map<String, Value>>, Counted) {
    let (mut events, mut diagnostics) = (Vec::new(), BTreeMap::new());
    for row in rows {
        let Value::Object(mut row) = row else { panic!("a row is an object") };
        let Some(code) = row.get("diagnostic").and_then(Value::as_str) else {
            row.retain(|key, _| !["span", "detail", "v"].contains(&key.as_str()));
            events.push(row);
            continue;
        };
        let protocol = row["protocol"].as_str().expect("a diagnostic has a protocol");
        let count = diagnostics.entry((code.to_owned(), protocol.to_owned())).or_insert(0);
        *count = if code.starts_with("in_") { 1 } else { *count + 1 };
    }
    (events, diagnostics)
}

/// Spans of signals lie in the message, in order; two are equal, as the objects of one block are, or apart.
fn check_spans(found: &[Found], size: u64) -> Result<(), String> {
    let mut last = (0, 0);
    for found in found {
        let span = match found {
            Found::Signal(signal) => signal.span,
            Found::Diagnostic(diagnostic) if diagnostic.code == Code::Duplicate => diagnostic.span,
            Found::Diagnostic(_) | Found::Wrapper(_) => continue,
        };
        let span = (span.start, span.end);
        if span.0 >= span.1 || span.1 > size || (span != last && span.0 < last.1) {
            return Err(format!("span {span:?} behind {last:?} in {size} bytes"));
        }
        last = span;
    }
    Ok(())
}

fn short_rows(rows: &[Map<String, Value>]) -> String {
    short(&serde_json::to_string(rows).expect("rows are JSON"))
}

fn short(text: &str) -> String {
    text.chars().take(300).collect()
}
