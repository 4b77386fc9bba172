//! The arguments of an agent's tool call, as far as they are shown.

use serde_json::Value;

/// What a tool works on, by the argument names that the agents' tools use.
#[derive(Default)]
pub(crate) struct Arguments {
    pub(crate) command: Option<String>,
    pub(crate) path: Option<String>,
    other: Option<String>,
}

impl Arguments {
    /// Out of the raw JSON of a call: an object, or the command itself.
    pub(crate) fn of(input: &str) -> Arguments {
        let Ok(input) = serde_json::from_str::<Value>(input) else { return Arguments::default() };
        let first = |names: &[&str]| names.iter().find_map(|name| words(input.get(*name)?));
        Arguments {
            command: words(&input).or_else(|| first(&["command", "cmd"])),
            path: first(&["file_path", "filePath", "absolute_path", "notebook_path", "path"]),
            other: first(&["pattern", "query", "url", "description", "prompt"]),
        }
    }

    pub(crate) fn about(&self) -> Option<&str> {
        self.command.as_deref().or(self.path.as_deref()).or(self.other.as_deref())
    }
}

/// A text, or a list of words.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.map(|words| words.join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}
