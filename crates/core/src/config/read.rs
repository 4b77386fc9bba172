//! Reads the settings of a file, strictly: an unknown key is an error.

use super::key::{ConfigKey, KEYS, Scope, key};
use super::layer::{Layer, Setting};
use super::nearest::nearest;
use super::node::{MapEntry, Node, Place, Value, join_path};
use super::problem::{Fault, Notice, NoticeKind, Origin, Problem, REPORTED};
use super::{alias, secret, unbuilt};

const LISTED: usize = 16;

/// Reads the settings of a file. `origin` names it and says whether it is a project's.
pub fn read(root: &Node, origin: &Origin) -> Layer {
    let mut reader = Reader { origin, layer: Layer::default(), hidden: 0 };
    reader.section("", root);
    if reader.hidden > 0 {
        let fault = Fault::AndMore(reader.hidden);
        reader.layer.problems.push(Problem { origin: origin.clone(), key: String::new(), fault });
    }
    reader.layer
}

struct Reader<'a> {
    origin: &'a Origin,
    layer: Layer,
    hidden: usize,
}

impl Reader<'_> {
    fn section(&mut self, path: &str, node: &Node) {
        match &node.value {
            Value::Null | Value::Bad => {}
            Value::Map(entries) => self.entries(path, entries, |reader, entry| reader.entry(path, entry)),
            Value::Scalar(_) | Value::List(_) => {
                self.problem(path, node.place, node.wrong_type("a section of keys"));
            }
        }
    }

    /// Every entry of a section, with an error for those that come twice.
    fn entries(&mut self, path: &str, entries: &[MapEntry], mut each: impl FnMut(&mut Self, &MapEntry)) {
        let mut seen = std::collections::BTreeMap::new();
        for entry in entries {
            match seen.insert(entry.key.as_str(), entry.place) {
                None => each(self, entry),
                Some(first) => {
                    self.problem(&join_path(path, &entry.key), entry.place, Fault::Duplicate { first });
                }
            }
        }
    }

    fn entry(&mut self, section: &str, entry: &MapEntry) {
        let path = join_path(section, &entry.key);
        let is_section = matches!(entry.value.value, Value::Map(_)) && has_below(&path);
        if let Some(ours) = alias::canonical(&path).and_then(key) {
            self.notice(&path, entry.place, NoticeKind::Spelling { ours: ours.path });
            self.setting(ours, &path, entry);
        } else if let Some(key) = key(&path).filter(|_| !is_section) {
            self.setting(key, &path, entry);
        } else if is_section || has_keys_below(&path) {
            self.section(&path, &entry.value);
        } else if unbuilt::look_up(&path).is_some() {
            self.unbuilt(&path, entry);
        } else {
            self.unknown(section, &path, entry);
        }
    }

    fn setting(&mut self, key: &'static ConfigKey, path: &str, entry: &MapEntry) {
        if is_unset(&entry.value.value) {
            return;
        }
        if self.is_project() && key.scope == Scope::User {
            return self.problem(path, entry.place, Fault::NotForProjects);
        }
        if self.layer.settings.iter().any(|setting| setting.key.path == key.path) {
            let fault = Fault::TwoSpellings { other: key.path.to_owned() };
            return self.problem(path, entry.place, fault);
        }
        let in_clear = key.is_secret() && holds_text(&entry.value.value);
        self.layer.holds_secret |= in_clear || holds_secret(&entry.value);
        self.unbuilt_in_items(key, &entry.value);
        let origin = self.origin.at(entry.value.place);
        self.layer.settings.push(Setting { key, node: entry.value.clone(), origin });
    }

    /// Keys of the items of a list that are not built yet.
    fn unbuilt_in_items(&mut self, key: &ConfigKey, list: &Node) {
        let Value::List(items) = &list.value else { return };
        for item in items {
            let Value::Map(entries) = &item.value else { continue };
            for entry in entries {
                let path = format!("{}.[].{}", key.path, entry.key);
                if unbuilt::look_up(&path).is_some() {
                    self.notice(&path, entry.place, NoticeKind::NotBuilt);
                }
            }
        }
    }

    /// The top of a section that is not built yet.
    fn unbuilt(&mut self, path: &str, entry: &MapEntry) {
        let top = path.split('.').next().unwrap_or_default();
        if self.is_project() && !unbuilt::FOR_PROJECTS.contains(&top) {
            return self.problem(path, entry.place, Fault::NotForProjects);
        }
        self.notice(path, entry.place, NoticeKind::NotBuilt);
        self.unbuilt_value(path, entry.place, &entry.value);
    }

    /// Below that: unknown names are errors all the same, and so is what would turn something on.
    fn unbuilt_value(&mut self, path: &str, place: Place, node: &Node) {
        if turns_on(path, &node.value) {
            self.layer.holds_secret |= secret::is_secret(path) && holds_text(&node.value);
            return self.problem(path, place, Fault::NotBuilt);
        }
        match &node.value {
            Value::Null | Value::Bad | Value::Scalar(_) => {}
            Value::List(items) => {
                let path = join_path(path, "[]");
                for item in items.iter().filter(|_| unbuilt::look_up(&path).is_some()) {
                    self.unbuilt_value(&path, item.place, item);
                }
            }
            Value::Map(entries) => self.entries(path, entries, |reader, entry| {
                let below = join_path(path, &entry.key);
                if unbuilt::look_up(&below).is_none() {
                    return reader.unknown(path, &below, entry);
                }
                if let Some(ours) = alias::canonical_unbuilt(&below) {
                    reader.notice(&below, entry.place, NoticeKind::Spelling { ours });
                }
                reader.unbuilt_value(&below, entry.place, &entry.value);
            }),
        }
    }

    fn unknown(&mut self, section: &str, path: &str, entry: &MapEntry) {
        if self.layer.problems.len() >= REPORTED {
            // Not reported any more, and a search for the nearest name each time would make a bad file slow.
            self.hidden += 1;
            return;
        }
        let mut known = below(section);
        let meant = nearest(&entry.key, known.iter().copied()).map(|name| join_path(section, name));
        let meant = meant.or_else(|| elsewhere(&entry.key));
        known.truncate(LISTED);
        let known = known.into_iter().map(str::to_owned).collect();
        self.problem(path, entry.place, Fault::UnknownKey { nearest: meant, known });
    }

    fn problem(&mut self, key: &str, place: Place, fault: Fault) {
        if self.layer.problems.len() >= REPORTED {
            self.hidden += 1;
            return;
        }
        self.layer.problems.push(Problem { origin: self.origin.at(place), key: key.to_owned(), fault });
    }

    fn notice(&mut self, key: &str, place: Place, kind: NoticeKind) {
        self.layer.notices.push(Notice { origin: self.origin.at(place), key: key.to_owned(), kind });
    }

    fn is_project(&self) -> bool {
        matches!(self.origin, Origin::Project { .. })
    }
}

/// Nothing is set, or something that was reported already.
fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bad => true,
        Value::List(items) => items.iter().any(|item| item.value == Value::Bad),
        Value::Scalar(_) | Value::Map(_) => false,
    }
}

fn has_keys_below(path: &str) -> bool {
    KEYS.iter().any(|key| is_below(key.path, path))
}

fn has_below(path: &str) -> bool {
    has_keys_below(path)
        || alias::ALIASES.iter().any(|(spelling, key)| is_below(spelling, path) && !is_below(key, path))
}

fn is_below(path: &str, section: &str) -> bool {
    path.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}

/// The names of the keys and sections directly below a section.
fn below(section: &str) -> Vec<&'static str> {
    let ours = KEYS.iter().filter_map(|key| match section {
        "" => Some(key.path),
        _ => key.path.strip_prefix(section)?.strip_prefix('.'),
    });
    let mut names: Vec<&'static str> = ours.filter_map(|rest| rest.split('.').next()).collect();
    names.extend(unbuilt::below(section));
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

fn elsewhere(name: &str) -> Option<String> {
    let last = |path: &str| path.rsplit('.').next() == Some(name);
    let ours = KEYS.iter().find(|key| last(key.path)).map(|key| key.path.to_owned());
    ours.or_else(|| unbuilt::all().find(|path| last(path)))
}

fn turns_on(path: &str, value: &Value) -> bool {
    let is_flag = path.ends_with(".enabled") && !unbuilt::ALWAYS_ON.contains(&path);
    let is_true = matches!(value, Value::Scalar(scalar) if scalar.text.eq_ignore_ascii_case("true"));
    let asks = secret::is_secret(path) || unbuilt::look_up(path).is_some_and(|known| known.turns_on);
    (is_flag && is_true) || (asks && is_something(value))
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bad => false,
        Value::Scalar(scalar) => !scalar.text.is_empty(),
        Value::List(items) => !items.is_empty(),
        Value::Map(entries) => !entries.is_empty(),
    }
}

fn holds_text(value: &Value) -> bool {
    matches!(value, Value::Scalar(scalar) if scalar.written.is_none() && !scalar.text.is_empty())
}

fn holds_secret(node: &Node) -> bool {
    let Value::List(items) = &node.value else { return false };
    let texts: Vec<String> =
        items.iter().filter_map(|item| item.scalar()).map(|scalar| scalar.shown().to_owned()).collect();
    let clear = |(text, masked): (&String, &String)| text != masked && !text.contains("${");
    texts.iter().zip(&secret::masked(&texts)).any(clear)
}
