//! The JSON Schema of a pipeline file, for editors. Its keys are those the reader knows; a test keeps them the same.

use serde_json::{Map, Value, json};

use super::file::{OnBlocked, Until};
use super::read::{AGENT, DEFAULTS, GATE, LOOP, LOOP_KEYS, MOST_ROUNDS, ROUNDS, SHELL, TOP, WORKER};
use crate::config::Backend;

pub fn pipeline_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A pipeline of Pilot's",
        "type": "object",
        "additionalProperties": false,
        "required": ["version", "pipeline"],
        "properties": properties(&TOP, top),
        "$defs": {
            "worker": section(&WORKER, worker),
            "other": {"anyOf": [{"type": "string", "description": "@name of an agent, or a tool."}, {"$ref": "#/$defs/worker"}]},
            "step": {"oneOf": [
                step(&AGENT, "agent"), step(&SHELL, "shell"), step(&GATE, "gate"), step(&LOOP, "loop"),
            ]},
        },
    })
}

fn properties(keys: &[&str], about: fn(&str) -> Value) -> Value {
    let pairs = keys.iter().map(|key| ((*key).to_owned(), about(key)));
    Value::Object(pairs.collect::<Map<_, _>>())
}

fn section(keys: &[&str], about: fn(&str) -> Value) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": properties(keys, about)})
}

fn step(keys: &[&str], kind: &str) -> Value {
    let mut step = section(keys, step_key);
    step["required"] = if kind == "loop" { json!(["id", kind, "steps"]) } else { json!(["id", kind]) };
    step
}

fn top(key: &str) -> Value {
    let agent = json!({"anyOf": [{"type": "string"}, section(&[&["prompt"], &WORKER[..]].concat(), worker)]});
    match key {
        "version" => json!({"enum": ["1", "1.0", 1]}),
        "inputs" => json!({
            "type": ["object", "null"],
            "description": "Values by name; one without a value is given with --input.",
            "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
        }),
        "agents" => json!({
            "type": ["object", "null"],
            "description": "Agents by name: a prompt, or who they are. Files in .pilot/agents/ are agents too.",
            "additionalProperties": agent,
        }),
        "defaults" => section(&DEFAULTS, defaults),
        _ => {
            json!({"type": "array", "description": "The steps, in order.", "items": {"$ref": "#/$defs/step"}})
        }
    }
}

fn defaults(key: &str) -> Value {
    match key {
        "agent" => json!({"$ref": "#/$defs/worker"}),
        "error_patterns" => json!({
            "type": "array",
            "items": {"type": "string"},
            "description": "Texts in an output that make an attempt a failed one.",
        }),
        _ => json!({
            "type": "integer",
            "minimum": 0,
            "description": "Milliseconds between rounds, items and attempts.",
        }),
    }
}

fn worker(key: &str) -> Value {
    match key {
        "prompt" => json!({"type": "string", "description": "A text, or a file that ends in .md or .txt."}),
        "tool" => {
            let names: Vec<&str> =
                Backend::ALL.iter().map(|backend| backend.as_str()).chain(["custom"]).collect();
            json!({"enum": names, "description": "The agent; the configured one by default."})
        }
        "model" => json!({"type": "string", "description": "The model, in the tool's own spelling."}),
        "script" => {
            json!({"type": "string", "description": "The program of the tool custom: script [args] PROMPT_FILE."})
        }
        "retry" => json!({"type": "integer", "minimum": 0, "maximum": 100, "default": 0}),
        "args" => json!({"type": "array", "items": {"type": "string"}}),
        _ => {
            json!({"type": "string", "description": "The longest an attempt may take, as in 90s, 30m, 1h30m."})
        }
    }
}

fn step_key(key: &str) -> Value {
    match key {
        "id" => json!({"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$"}),
        "agent" => json!({
            "description": "A prompt, a file, @name of an agent, or a section.",
            "anyOf": [{"type": "string"}, section(&[&["prompt"], &WORKER[..]].concat(), worker)],
        }),
        "shell" => json!({"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": false,
            "required": ["command"], "properties": {"command": {"type": "string"}}}]}),
        "gate" => {
            json!({"anyOf": [{"type": ["string", "null"]}, {"type": "object", "additionalProperties": false,
            "properties": {"message": {"type": "string"}}}]})
        }
        "loop" => section(&LOOP_KEYS, loop_key),
        "steps" => json!({"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/step"}}),
        "when" => {
            json!({"type": "string", "description": "As in {{emit.kind}} == \"bug\" and not {{quick}}."})
        }
        "fallback" => json!({"$ref": "#/$defs/other"}),
        "on_blocked" => json!({"enum": OnBlocked::ALL.map(OnBlocked::as_str), "default": "ask"}),
        "review" => {
            json!({"type": "boolean", "description": "Whether its verdict ends the loop around it."})
        }
        other => worker(other),
    }
}

fn loop_key(key: &str) -> Value {
    match key {
        "over" => json!({
            "description": "A folder with *.md files, a pattern, or a list.",
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "number"]}}],
        }),
        "as" => json!({"type": "string", "description": "What each one is called in the steps."}),
        "order" => json!({"enum": ["asc", "desc"], "default": "asc"}),
        "until" => json!({"enum": Until::ALL.map(Until::as_str)}),
        "max_rounds" => json!({"type": "integer", "minimum": 1, "maximum": MOST_ROUNDS, "default": ROUNDS}),
        _ => json!({
            "description": "What happens when the loop makes no progress: stop, gate, or another agent.",
            "anyOf": [{"enum": ["stop", "gate"]}, {"$ref": "#/$defs/other"}],
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::pipeline_schema;

    #[test]
    fn every_key_says_what_it_is() {
        fn sections(value: &serde_json::Value, found: &mut usize) {
            if let Some(properties) = value["properties"].as_object() {
                *found += properties.len();
                for (key, about) in properties {
                    assert!(about.as_object().is_some_and(|about| !about.is_empty()), "{key}");
                }
            }
            match value {
                serde_json::Value::Object(fields) => fields.values().for_each(|field| sections(field, found)),
                serde_json::Value::Array(items) => items.iter().for_each(|item| sections(item, found)),
                serde_json::Value::Null
                | serde_json::Value::Bool(_)
                | serde_json::Value::Number(_)
                | serde_json::Value::String(_) => {}
            }
        }
        let (schema, mut found) = (pipeline_schema(), 0);
        sections(&schema, &mut found);
        assert!(found > 40, "{found}");
        assert_eq!(schema.pointer("/$defs/step/oneOf/0/properties/retry/maximum"), Some(&100.into()));
    }
}
