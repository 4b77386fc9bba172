//! Layers, the later above the earlier, to one configuration in which every value knows its origin.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::check::check;
use super::key::ConfigKey;
use super::layer::{Layer, Setting};
use super::node::{Node, Value};
use super::problem::{Fault, Notice, Origin, Problem, REPORTED};
use super::sections::Flaw;
use super::{Config, secret};

#[derive(Clone, Debug)]
pub struct Merged {
    /// The configuration. Only good when there are no problems.
    pub config: Config,
    pub problems: Vec<Problem>,
    pub notices: Vec<Notice>,
    settings: BTreeMap<&'static str, Setting>,
}

impl Merged {
    pub fn origin(&self, key: &ConfigKey) -> Origin {
        self.settings.get(key.path).map_or(Origin::Default, |setting| setting.origin.clone())
    }

    pub fn shown(&self, key: &ConfigKey) -> Json {
        if key.is_secret() {
            let is_set = !key.value(&self.config).is_null();
            return if is_set { json!(secret::MASK) } else { Json::Null };
        }
        match self.settings.get(key.path).map(|setting| &setting.node.value) {
            Some(Value::Scalar(scalar)) if scalar.written.is_some() => json!(scalar.shown()),
            Some(Value::List(items)) if key.field.kind.is_list_of_sections() => {
                json!(items.iter().map(written).collect::<Vec<_>>())
            }
            Some(Value::List(items)) => {
                let texts = items.iter().filter_map(Node::scalar).map(|scalar| scalar.shown().to_owned());
                json!(secret::masked(&texts.collect::<Vec<_>>()))
            }
            Some(Value::Null | Value::Scalar(_) | Value::Map(_) | Value::Bad) | None => {
                key.value(&self.config)
            }
        }
    }
}

fn written(node: &Node) -> Json {
    match &node.value {
        Value::Null | Value::Bad => Json::Null,
        Value::Scalar(scalar) => {
            let words: Vec<String> = scalar.shown().split(' ').map(str::to_owned).collect();
            json!(secret::masked(&words).join(" "))
        }
        Value::List(items) => json!(items.iter().map(written).collect::<Vec<_>>()),
        Value::Map(entries) => {
            let pairs = entries.iter().map(|entry| (entry.key.clone(), written(&entry.value)));
            Json::Object(pairs.collect())
        }
    }
}

pub fn merge(layers: impl IntoIterator<Item = Layer>) -> Merged {
    let mut merged = Merged {
        config: Config::default(),
        problems: Vec::new(),
        notices: Vec::new(),
        settings: BTreeMap::new(),
    };
    for layer in layers {
        let first = merged.problems.len();
        merged.problems.extend(layer.problems);
        merged.notices.extend(layer.notices);
        for setting in layer.settings {
            merged.put(setting);
        }
        // From the top of the file to its end, what belongs to no line last.
        merged.problems[first..]
            .sort_by_key(|problem| problem.origin.place().map_or((1, None), |at| (0, Some(at))));
    }
    for (path, fault) in check(&merged.config).0 {
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
            Err(flaws) => {
                let problem = |flaw: Flaw| Problem {
                    origin: flaw.place.map_or(setting.origin.clone(), |place| setting.origin.at(place)),
                    key: match flaw.below.as_str() {
                        "" => setting.key.path.to_owned(),
                        below => format!("{}.{below}", setting.key.path),
                    },
                    fault: flaw.fault,
                };
                self.problems.extend(flaws.0.into_iter().map(problem));
            }
        }
    }

    /// An error about values together. It is left out beside a key of the section that could not be read.
    fn complain(&mut self, path: String, fault: Fault) {
        let section = path.rsplit_once('.').map_or("", |(section, _)| section);
        let unreadable = |problem: &Problem| problem.key.rsplit_once('.').is_some_and(|(s, _)| s == section);
        if section != "executor" && self.problems.iter().any(unreadable) {
            return;
        }
        // A program is configured, but could not be read.
        let has_program = self.problems.iter().any(|problem| problem.key.starts_with("executor.command"));
        if path == "executor.backend" && has_program {
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

#[cfg(test)]
mod tests;
