//! Layers, the later above the earlier, to one configuration in which every value knows its origin.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::check::check;
use super::key::Key;
use super::layer::{Layer, Setting};
use super::node::Value;
use super::problem::{Fault, Notice, Origin, Problem, REPORTED};
use super::{Config, secret};

/// What all layers together say.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The configuration. Only good when there are no problems.
    pub config: Config,
    /// Everything that is wrong, in all layers.
    pub problems: Vec<Problem>,
    /// Everything that is worth a word.
    pub notices: Vec<Notice>,
    settings: BTreeMap<&'static str, Setting>,
}

impl Merged {
    /// Where a key's value comes from.
    pub fn origin(&self, key: &Key) -> Origin {
        self.settings.get(key.path).map_or(Origin::Default, |setting| setting.origin.clone())
    }

    /// A key's value, fit to be shown: no secret, and references instead of what they stand for.
    pub fn shown(&self, key: &Key) -> Json {
        if secret::is_secret(key.path) {
            return json!(secret::MASK);
        }
        match self.settings.get(key.path).map(|setting| &setting.node.value) {
            Some(Value::Scalar(scalar)) if scalar.written.is_some() => json!(scalar.shown()),
            Some(Value::List(items)) => {
                let texts = items.iter().filter_map(|item| match &item.value {
                    Value::Scalar(scalar) => Some(scalar.shown().to_owned()),
                    Value::Null | Value::Bad | Value::List(_) | Value::Map(_) => None,
                });
                json!(secret::masked(&texts.collect::<Vec<_>>()))
            }
            Some(Value::Null | Value::Scalar(_) | Value::Map(_) | Value::Bad) | None => {
                key.value(&self.config)
            }
        }
    }
}

/// Merges layers, the least important first.
pub fn merge(layers: impl IntoIterator<Item = Layer>) -> Merged {
    let mut merged = Merged {
        config: Config::default(),
        problems: Vec::new(),
        notices: Vec::new(),
        settings: BTreeMap::new(),
    };
    for layer in layers {
        merged.problems.extend(layer.problems);
        merged.notices.extend(layer.notices);
        for setting in layer.settings {
            merged.put(setting);
        }
    }
    for (path, fault) in check(&merged.config) {
        merged.complain(path, fault);
    }
    merged.bound();
    merged
}

impl Merged {
    fn put(&mut self, setting: Setting) {
        match setting.key.write(&mut self.config, &setting.node) {
            Ok(()) => {
                self.settings.insert(setting.key.path, setting);
            }
            Err(fault) => {
                let key = setting.key.path.to_owned();
                self.problems.push(Problem { origin: setting.origin, key, fault });
            }
        }
    }

    /// A complaint about values together. Those about a key that could not be read anyway would only confuse.
    fn complain(&mut self, path: String, fault: Fault) {
        let section = path.rsplit_once('.').map_or("", |(section, _)| section);
        let unreadable = |problem: &Problem| problem.key.rsplit_once('.').is_some_and(|(s, _)| s == section);
        if section != "executor" && self.problems.iter().any(unreadable) {
            return;
        }
        let origin = match self.settings.get(path.as_str()) {
            Some(setting) => setting.origin.clone(),
            // The other half of the pair was set.
            None => self.last_in(section).unwrap_or(Origin::Default),
        };
        self.problems.push(Problem { origin, key: path, fault });
    }

    fn last_in(&self, section: &str) -> Option<Origin> {
        let inside = |path: &&str| path.rsplit_once('.').is_some_and(|(above, _)| above == section);
        self.settings
            .iter()
            .filter(|(path, _)| inside(path))
            .map(|(_, setting)| setting.origin.clone())
            .next_back()
    }

    fn bound(&mut self) {
        let hidden = self.problems.len().saturating_sub(REPORTED);
        if let Some(last) = self.problems.get(REPORTED).filter(|_| hidden > 1).cloned() {
            self.problems.truncate(REPORTED);
            let fault = Fault::AndMore(hidden);
            self.problems.push(Problem { origin: last.origin, key: String::new(), fault });
        }
    }
}
