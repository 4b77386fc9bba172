//! The list `quality.gates`: sections with keys of their own, read as strictly as everything else.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::node::{Node, Place};
use super::problem::Fault;
use super::scalar::{DURATION, NUMBER, bad, count, line, text, time};
use super::sections::{self, Flaw, Flaws, item_draft};
use crate::duration;
use crate::gate::{Gate, GateKind, OnFailure, Percent};

/// More gates than this are a mistake.
const MOST: usize = 50;
const LONGEST_NAME: usize = 64;
const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
const LONGEST_DELAY: Duration = Duration::from_secs(60 * 60);
const MOST_RETRIES: u32 = 10;

item_draft! {
    /// A gate, with what was read of it so far. Its keys are in the order of the documentation.
    struct GateDraft {
        /// What people call it; no two share it.
        "name" name: String, read_name;
        /// What it checks; unset is the word that its name is, else custom.
        "type" kind: GateKind;
        /// What a shell runs in the root of the worktree; 0 is a pass.
        "command" command: String, read_command;
        /// Whether a commit must pass it; unset is true.
        "required" required: bool;
        /// How long one attempt may take; unset is 10m for a test, else 5m.
        "timeout" timeout: Duration, read_timeout;
        /// How often it is retried when it fails; unset is 0.
        "max_retries" max_retries: u32, read_retries;
        /// How long to wait before that; unset is 5s.
        "retry_delay" retry_delay: Duration, read_delay;
        /// What happens when it does not pass; unset is quality.on_failure.action.
        "on_failure" on_failure: OnFailure;
        /// The least coverage, for the type coverage and only for it.
        "threshold" threshold: Percent;
        /// A hint how to fix a failure; the agent gets it.
        "failure_hint" failure_hint: String;
        /// Gates of one group run at the same time.
        "group" group: String, read_name;
    }
}

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
    let mut draft = GateDraft::default();
    let wanted = "a gate: a section of keys";
    let whole = sections::entries(item, "", wanted, flaws, |entry, flaws| {
        sections::read_key(("quality.gates", GateDraft::KEYS), &mut draft, "", entry, flaws);
    });
    if whole { draft.finish(item.place, flaws) } else { None }
}

impl GateDraft {
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

pub(super) fn read_name(node: &Node) -> Result<Option<String>, Fault> {
    let scalar = text(node, "a text")?;
    let name = line(scalar)?;
    let odd = name.trim() != name || name.is_empty() || name.chars().any(char::is_control);
    if odd || name.chars().count() > LONGEST_NAME {
        return Err(bad(
            scalar,
            format!("write a short name on one line, at most {LONGEST_NAME} characters"),
        ));
    }
    Ok(Some(name))
}

fn read_command(node: &Node) -> Result<Option<String>, Fault> {
    let scalar = text(node, "a text")?;
    let command = line(scalar)?;
    if command.trim().is_empty() {
        return Err(bad(scalar, "write a command".to_owned()));
    }
    Ok(Some(command))
}

fn read_retries(node: &Node) -> Result<Option<u32>, Fault> {
    let scalar = text(node, NUMBER)?;
    match count(scalar)? {
        retries if retries > MOST_RETRIES => Err(bad(scalar, format!("write at most {MOST_RETRIES}"))),
        retries => Ok(Some(retries)),
    }
}

fn read_timeout(node: &Node) -> Result<Option<Duration>, Fault> {
    read_within(node, Duration::from_secs(1), LONGEST_TIMEOUT)
}

fn read_delay(node: &Node) -> Result<Option<Duration>, Fault> {
    read_within(node, Duration::ZERO, LONGEST_DELAY)
}

fn read_within(node: &Node, least: Duration, most: Duration) -> Result<Option<Duration>, Fault> {
    let scalar = text(node, DURATION)?;
    let value = time(scalar)?;
    if value < least || value > most {
        let why = format!("it must be between {} and {}", duration::text(least), duration::text(most));
        return Err(bad(scalar, why));
    }
    Ok(Some(value))
}

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

pub(super) fn schema() -> Json {
    let mut schema = sections::schema(GateDraft::KEYS, MOST, &["name", "command"]);
    schema["items"]["properties"]["max_retries"]["maximum"] = json!(MOST_RETRIES);
    schema
}
