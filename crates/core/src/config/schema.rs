//! The JSON Schema of the configuration file, for editors. Made from the table of keys, so it cannot lag behind.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::field::FieldKind;
use super::key::{ConfigKey, KEYS, Scope};
use super::layer::variable_of;
use super::{Config, unbuilt};

pub fn schema() -> Json {
    let mut root = section();
    for key in KEYS.iter() {
        put(&mut root, key.path, property(key));
    }
    for name in unbuilt::below("") {
        let about = json!({"description": "Not built yet: accepted, without effect."});
        properties(&mut root).entry(name).or_insert(about);
    }
    // Sections of ours that will have more keys: their names are accepted as well.
    for ours in sections() {
        for name in unbuilt::below(ours) {
            let path = format!("{ours}.{name}");
            if super::key(&path).is_none() {
                put(&mut root, &path, json!({"description": "Not built yet: accepted, without effect."}));
            }
        }
    }
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Pilot's configuration");
    root
}

fn sections() -> BTreeSet<&'static str> {
    let above = |path: &'static str| path.match_indices('.').map(move |(at, _)| &path[..at]);
    KEYS.iter().flat_map(|key| above(key.path)).collect()
}

fn section() -> Json {
    json!({"type": ["object", "null"], "additionalProperties": false, "properties": {}})
}

fn properties(section: &mut Json) -> &mut Map<String, Json> {
    if !section["properties"].is_object() {
        section["properties"] = json!({});
    }
    section["properties"].as_object_mut().expect("made above")
}

fn put(root: &mut Json, path: &str, property: Json) {
    let mut at = root;
    let mut parts = path.split('.').peekable();
    while let Some(part) = parts.next() {
        let names = properties(at);
        if parts.peek().is_none() {
            names.entry(part).or_insert(property);
            return;
        }
        at = names.entry(part).or_insert_with(section);
    }
}

fn property(key: &ConfigKey) -> Json {
    let default = key.value(&Config::default());
    let mut property = key.field.kind.schema();
    if matches!(key.field.kind, FieldKind::Size) {
        property["pattern"] = json!(SIZE);
    }
    if matches!(key.field.kind, FieldKind::Duration) {
        property["pattern"] = json!(DURATION);
    }
    property["description"] = json!(key.about);
    property["default"] = default;
    property["x-kind"] = json!(key.kind());
    property["x-variable"] = json!(variable_of(key));
    property["x-project"] = json!(key.scope == Scope::Project);
    property
}

/// Also a reference, whose value no editor knows.
const SIZE: &str = r"^(0|[0-9]+ *([KMGT]i?B)|.*\$\{.*)$";
const DURATION: &str = r"^(0|([0-9]+(d|h|m|s|ms) *)+|.*\$\{.*)$";

#[cfg(test)]
mod tests {
    use super::schema;
    use crate::config::{Config, KEYS};

    #[test]
    fn every_key_is_in_it_with_its_default() {
        let schema = schema();
        for key in KEYS.iter() {
            let pointer: String = key.path.split('.').map(|part| format!("/properties/{part}")).collect();
            let property = schema.pointer(&pointer).unwrap_or_else(|| panic!("{} is missing", key.path));
            assert_eq!(property["default"], key.value(&Config::default()), "{}", key.path);
            assert_eq!(property["description"], key.about);
            let one_of = property["enum"].as_array().or(property["items"]["enum"].as_array());
            assert_eq!(one_of.map_or(0, Vec::len), key.words().len(), "{}", key.path);
        }
        assert!(schema.pointer("/properties/gateway").is_some());
        assert!(schema.pointer("/properties/executor/properties/model_routing").is_some());
        assert_eq!(schema["additionalProperties"], false);
    }
}
