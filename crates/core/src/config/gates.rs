//! The list `quality.gates`: sections with keys of their own, read as strictly as everything else.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::node::{Entry, Node, Place, Scalar, Value};
use super::problem::Fault;
use super::scalar::{DURATION, NUMBER, bad, choose, count, flag, line, text, time};
use super::sections::{self, Flaw, Flaws};
use crate::duration;
use crate::gate::{Gate, GateKind, OnFailure, Percent};

/// More gates than this are nobody's.
const MOST: usize = 50;

/// The longest name, in characters.
const LONGEST_NAME: usize = 64;

const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
const LONGEST_DELAY: Duration = Duration::from_secs(60 * 60);
const MOST_RETRIES: u32 = 10;

/// One key of a gate.
#[derive(Clone, Copy)]
struct Field {
    name: &'static str,
    kind: &'static str,
    about: &'static str,
    read: fn(&mut Draft, &Node) -> Result<(), Fault>,
}

/// Every key of a gate, in the order of the documentation.
const FIELDS: [Field; 11] = [
    Field {
        name: "name",
        kind: "text",
        about: "What people call it; no two share it.",
        read: |draft, node| {
            draft.name = Some(name(text(node, "a text")?)?);
            Ok(())
        },
    },
    Field {
        name: "type",
        kind: "word",
        about: "What it checks; unset is the word that its name is, else custom.",
        read: |draft, node| {
            draft.kind = Some(choose(text(node, "a word")?, &GateKind::ALL, GateKind::as_str)?);
            Ok(())
        },
    },
    Field {
        name: "command",
        kind: "text",
        about: "What a shell runs in the root of the worktree; 0 is a pass.",
        read: |draft, node| {
            draft.command = Some(command(text(node, "a text")?)?);
            Ok(())
        },
    },
    Field {
        name: "required",
        kind: "flag",
        about: "Whether it holds a commit up; unset is true.",
        read: |draft, node| {
            draft.required = Some(flag(text(node, "true or false")?)?);
            Ok(())
        },
    },
    Field {
        name: "timeout",
        kind: "duration",
        about: "How long one attempt may take; unset is 10m for a test, else 5m.",
        read: |draft, node| {
            let second = Duration::from_secs(1);
            draft.timeout = Some(within(text(node, DURATION)?, second, LONGEST_TIMEOUT)?);
            Ok(())
        },
    },
    Field {
        name: "max_retries",
        kind: "number",
        about: "How often it is tried again when it fails; unset is 0.",
        read: |draft, node| {
            let scalar = text(node, NUMBER)?;
            draft.max_retries = Some(count(scalar)?);
            match draft.max_retries {
                Some(retries) if retries > MOST_RETRIES => {
                    Err(bad(scalar, format!("write at most {MOST_RETRIES}")))
                }
                Some(_) | None => Ok(()),
            }
        },
    },
    Field {
        name: "retry_delay",
        kind: "duration",
        about: "How long to wait before that; unset is 5s.",
        read: |draft, node| {
            draft.retry_delay = Some(within(text(node, DURATION)?, Duration::ZERO, LONGEST_DELAY)?);
            Ok(())
        },
    },
    Field {
        name: "on_failure",
        kind: "word",
        about: "What happens when it does not pass; unset is quality.on_failure.action.",
        read: |draft, node| {
            draft.on_failure = Some(choose(text(node, "a word")?, &OnFailure::ALL, OnFailure::as_str)?);
            Ok(())
        },
    },
    Field {
        name: "threshold",
        kind: "percentage",
        about: "The least coverage, for the type coverage and only for it.",
        read: |draft, node| {
            let scalar = text(node, "a percentage such as 80")?;
            let percent = Percent::parse(&scalar.text);
            draft.threshold =
                Some(percent.ok_or_else(|| bad(scalar, "write a number from 0 to 100".to_owned()))?);
            Ok(())
        },
    },
    Field {
        name: "failure_hint",
        kind: "text",
        about: "What helps whoever has to mend it; the agent is told.",
        read: |draft, node| {
            draft.failure_hint = Some(line(text(node, "a text")?)?);
            Ok(())
        },
    },
    Field {
        name: "group",
        kind: "text",
        about: "Gates of one group run at the same time.",
        read: |draft, node| {
            draft.group = Some(name(text(node, "a text")?)?);
            Ok(())
        },
    },
];

/// A gate as far as it is read.
#[derive(Default)]
struct Draft {
    name: Option<String>,
    kind: Option<GateKind>,
    command: Option<String>,
    required: Option<bool>,
    timeout: Option<Duration>,
    max_retries: Option<u32>,
    retry_delay: Option<Duration>,
    on_failure: Option<OnFailure>,
    threshold: Option<Percent>,
    failure_hint: Option<String>,
    group: Option<String>,
}

/// Reads the list.
pub(super) fn read(node: &Node) -> Result<Vec<Gate>, Flaws> {
    let wanted = "a list of gates, each with a name and a command";
    let mut flaws = Vec::new();
    let mut names: BTreeMap<String, Place> = BTreeMap::new();
    let mut gates = Vec::new();
    for item in sections::items(node, wanted, MOST, "gates")? {
        let Some(gate) = gate(item, &mut flaws) else { continue };
        if let Some(first) = names.insert(gate.name.clone(), item.place) {
            let why = format!("{:?} is also the name of the gate in line {}", gate.name, first.line);
            flaws.push(Flaw::of("name", item.place, Fault::Nonsense(why)));
        }
        gates.push(gate);
    }
    if flaws.is_empty() { Ok(gates) } else { Err(Flaws(flaws)) }
}

fn gate(item: &Node, flaws: &mut Vec<Flaw>) -> Option<Gate> {
    let mut draft = Draft::default();
    let wanted = "a gate: a section of keys";
    let whole = sections::entries(item, "", wanted, flaws, |entry, flaws| flaws.extend(draft.take(entry)));
    if whole { draft.finish(item.place, flaws) } else { None }
}

impl Draft {
    /// Reads one key; what is wrong with it.
    fn take(&mut self, entry: &Entry) -> Option<Flaw> {
        let Some(field) = FIELDS.iter().find(|field| field.name == entry.key) else {
            let names = FIELDS.map(|field| field.name);
            return Some(sections::unknown("quality.gates", "", entry, &names));
        };
        match &entry.value.value {
            Value::Null | Value::Bad => None,
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => (field.read)(self, &entry.value)
                .err()
                .map(|fault| Flaw::of(field.name, entry.value.place, fault)),
        }
    }

    /// The gate, if everything it needs is there and fits together.
    fn finish(self, place: Place, flaws: &mut Vec<Flaw>) -> Option<Gate> {
        let mut complain =
            |key: &str, why: &str| flaws.push(Flaw::of(key, place, Fault::Nonsense(why.to_owned())));
        let (Some(name), Some(command)) = (self.name, self.command) else {
            complain("", "a gate needs a name and a command");
            return None;
        };
        let kind = self.kind.unwrap_or_else(|| GateKind::of_name(&name));
        match (kind, self.threshold) {
            (GateKind::Coverage, None) => {
                complain("threshold", "a gate of the type coverage needs a threshold, for example 80");
            }
            (GateKind::Coverage, Some(_)) | (_, None) => {}
            (_, Some(_)) => complain("threshold", "only a gate of the type coverage has a threshold"),
        }
        let required = self.required.unwrap_or(true);
        if !required && self.on_failure.is_some_and(|action| action != OnFailure::Warn) {
            complain("on_failure", "a gate that is not required only warns; set required, or take this out");
        }
        let default = Gate::new(name, kind, command);
        Some(Gate {
            timeout: self.timeout.unwrap_or(default.timeout),
            max_retries: self.max_retries.unwrap_or(default.max_retries),
            retry_delay: self.retry_delay.unwrap_or(default.retry_delay),
            required,
            on_failure: self.on_failure,
            threshold: self.threshold,
            failure_hint: self.failure_hint,
            group: self.group,
            ..default
        })
    }
}

/// A short name on one line.
pub(super) fn name(scalar: &Scalar) -> Result<String, Fault> {
    let name = line(scalar)?;
    let odd = name.trim() != name || name.is_empty() || name.chars().any(char::is_control);
    if odd || name.chars().count() > LONGEST_NAME {
        return Err(bad(
            scalar,
            format!("write a short name on one line, at most {LONGEST_NAME} characters"),
        ));
    }
    Ok(name)
}

fn command(scalar: &Scalar) -> Result<String, Fault> {
    let command = line(scalar)?;
    if command.trim().is_empty() {
        return Err(bad(scalar, "write a command".to_owned()));
    }
    Ok(command)
}

fn within(scalar: &Scalar, least: Duration, most: Duration) -> Result<Duration, Fault> {
    let value = time(scalar)?;
    if value < least || value > most {
        let why = format!("it must be between {} and {}", duration::text(least), duration::text(most));
        return Err(bad(scalar, why));
    }
    Ok(value)
}

/// The list as it would be written, with everything that holds.
pub(super) fn value(gates: &[Gate]) -> Json {
    let gate = |gate: &Gate| {
        json!({
            "name": gate.name,
            "type": gate.kind.as_str(),
            "command": gate.command,
            "required": gate.required,
            "timeout": duration::text(gate.timeout),
            "max_retries": gate.max_retries,
            "retry_delay": duration::text(gate.retry_delay),
            "on_failure": gate.on_failure.map(OnFailure::as_str),
            "threshold": gate.threshold,
            "failure_hint": gate.failure_hint,
            "group": gate.group,
        })
    };
    json!(gates.iter().map(gate).collect::<Vec<_>>())
}

/// What the schema says of the list.
pub(super) fn schema() -> Json {
    let mut properties = serde_json::Map::new();
    for field in &FIELDS {
        let mut property = match field.kind {
            "flag" => json!({"type": "boolean"}),
            "number" => json!({"type": "integer", "minimum": 0, "maximum": MOST_RETRIES}),
            "percentage" => json!({"type": "number", "minimum": 0, "maximum": 100}),
            "word" => json!({"enum": words(field.name)}),
            _ => json!({"type": "string"}),
        };
        property["description"] = json!(field.about);
        property["x-field"] = json!(field.kind);
        properties.insert(field.name.to_owned(), property);
    }
    json!({
        "type": "array",
        "maxItems": MOST,
        "items": {
            "type": "object",
            "additionalProperties": false,
            "required": ["name", "command"],
            "properties": properties,
        },
    })
}

fn words(field: &str) -> Vec<&'static str> {
    match field {
        "type" => GateKind::ALL.map(GateKind::as_str).to_vec(),
        _ => OnFailure::ALL.map(OnFailure::as_str).to_vec(),
    }
}
