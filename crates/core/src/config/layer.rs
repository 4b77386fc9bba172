//! One source's settings: a file's, the environment's, the command line's.

use serde_json::Value as Json;

use super::key::{ConfigKey, KEYS};
use super::nearest::nearest;
use super::node::{MapEntry, Node, Place, Scalar, Value};
use super::problem::{Fault, Notice, Origin, Problem};
use super::unbuilt;

/// Variables with our prefix that say something else than configuration.
const NOT_CONFIGURATION: [&str; 5] =
    ["PILOT_HOME", "PILOT_EXECUTOR", "PILOT_TASK_ID", "PILOT_BRANCH", "PILOT_WORKSPACE"];

#[derive(Clone, Debug)]
pub struct Setting {
    pub key: &'static ConfigKey,
    pub node: Node,
    pub origin: Origin,
}

#[derive(Clone, Debug, Default)]
pub struct Layer {
    pub settings: Vec<Setting>,
    pub problems: Vec<Problem>,
    pub notices: Vec<Notice>,
    /// Whether it holds something that looks like a secret in clear.
    pub holds_secret: bool,
}

/// The variable that sets a key: `executor.max_turns` is `PILOT_EXECUTOR_MAX_TURNS`.
pub fn variable_of(key: &ConfigKey) -> String {
    format!("PILOT_{}", key.path.replace('.', "_").to_ascii_uppercase())
}

/// What the environment sets. An empty variable sets nothing; a list is written `a,b` or as JSON.
pub fn variables<'a>(environment: impl IntoIterator<Item = (&'a str, &'a str)>) -> Layer {
    let mut layer = Layer::default();
    for (name, text) in environment {
        if !name.starts_with("PILOT_") || NOT_CONFIGURATION.contains(&name) || text.is_empty() {
            continue;
        }
        let origin = Origin::Variable(name.to_owned());
        match KEYS.iter().find(|key| variable_of(key) == name) {
            Some(key) => layer.settings.push(Setting { key, node: node(key, text), origin }),
            None if names_a_section(name) => layer.problems.push(unknown(name, origin)),
            // Not Pilot's, whatever its prefix.
            None => {}
        }
    }
    layer
}

/// What texts from elsewhere set, for instance flags.
pub fn text_layer<'a>(values: impl IntoIterator<Item = (&'static ConfigKey, Origin, &'a str)>) -> Layer {
    let settings =
        values.into_iter().map(|(key, origin, text)| Setting { key, node: node(key, text), origin });
    Layer { settings: settings.collect(), ..Layer::default() }
}

fn names_a_section(name: &str) -> bool {
    let ours = KEYS.iter().filter_map(|key| key.path.split('.').next());
    let unbuilt = unbuilt::below("");
    ours.chain(unbuilt).any(|section| {
        let rest =
            name.strip_prefix("PILOT_").and_then(|rest| rest.strip_prefix(&section.to_ascii_uppercase()));
        rest.is_some_and(|rest| rest.starts_with('_'))
    })
}

fn unknown(name: &str, origin: Origin) -> Problem {
    let variables: Vec<String> = KEYS.iter().map(variable_of).collect();
    let nearest = nearest(name, variables.iter().map(String::as_str)).map(str::to_owned);
    Problem { origin, key: String::new(), fault: Fault::UnknownKey { nearest, known: Vec::new() } }
}

fn node(key: &ConfigKey, text: &str) -> Node {
    let scalar = |text: &str| Node { place: Place::default(), value: Value::Scalar(Scalar::new(text)) };
    if !key.field.kind.is_list() {
        return scalar(text);
    }
    let items = match serde_json::from_str::<Json>(text) {
        Ok(Json::Array(items)) => items.iter().map(item).collect(),
        Ok(_) | Err(_) => text.split(',').map(|item| scalar(item.trim())).collect(),
    };
    Node { place: Place::default(), value: Value::List(items) }
}

fn item(json: &Json) -> Node {
    let value = match json {
        Json::String(text) => Value::Scalar(Scalar::new(text)),
        Json::Null => Value::Null,
        Json::Bool(_) | Json::Number(_) => Value::Scalar(Scalar::new(json.to_string())),
        Json::Array(items) => Value::List(items.iter().map(item).collect()),
        Json::Object(entries) => Value::Map(entries.iter().map(entry).collect()),
    };
    Node { place: Place::default(), value }
}

fn entry((key, value): (&String, &Json)) -> MapEntry {
    MapEntry { key: key.clone(), place: Place::default(), value: item(value) }
}
