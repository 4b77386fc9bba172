//! Reading single values of a pipeline file, with a complaint for each that is wrong.

use std::time::Duration;

use crate::config::{Entry, Fault, Node, Origin, Place, Problem, REPORTED, Value, nearest};
use crate::duration;

/// The longest list a value may be.
const LONGEST_LIST: usize = 1_000;

/// No attempt takes longer.
const LONGEST_TIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Collects what is wrong.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    pub(super) problems: Vec<Problem>,
    hidden: usize,
}

impl Complaints {
    pub(super) fn add(&mut self, origin: Origin, key: &str, fault: Fault) {
        if self.problems.len() >= REPORTED {
            self.hidden += 1;
            return;
        }
        self.problems.push(Problem { origin, key: key.to_owned(), fault });
    }

    /// All of them, from the top of the file to its end.
    pub(super) fn finish(mut self, origin: &Origin) -> Vec<Problem> {
        self.problems.sort_by_key(|problem| problem.origin.place());
        if self.hidden > 0 {
            let fault = Fault::AndMore(self.hidden);
            self.problems.push(Problem { origin: origin.clone(), key: String::new(), fault });
        }
        self.problems
    }
}

/// A section that is being read: its place among the keys, and its entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'n> {
    pub(super) origin: &'n Origin,
    pub(super) path: &'n str,
    entries: &'n [Entry],
}

impl<'n> Section<'n> {
    /// The section a node is, or a complaint.
    pub(super) fn of(
        origin: &'n Origin,
        path: &'n str,
        node: &'n Node,
        complaints: &mut Complaints,
    ) -> Option<Section<'n>> {
        match &node.value {
            Value::Map(entries) => Some(Section { origin, path, entries }),
            Value::Null | Value::Scalar(_) | Value::List(_) | Value::Bad => {
                let fault = Fault::WrongType { wanted: "a section of keys", found: node.value.kind() };
                complaints.add(origin.at(node.place), path, fault);
                None
            }
        }
    }

    /// Complains about every key that is none of these, or stands twice.
    pub(super) fn known(&self, known: &[&str], complaints: &mut Complaints) {
        let mut seen: Vec<(&str, Place)> = Vec::new();
        for entry in self.entries {
            let path = self.key(&entry.key);
            if let Some((_, first)) = seen.iter().find(|(key, _)| *key == entry.key) {
                complaints.add(self.origin.at(entry.place), &path, Fault::Duplicate { first: *first });
            }
            seen.push((&entry.key, entry.place));
            if known.contains(&entry.key.as_str()) {
                continue;
            }
            let meant = nearest(&entry.key, known.iter().copied()).map(|name| self.key(name));
            let known = known.iter().map(|name| (*name).to_owned()).collect();
            complaints.add(self.origin.at(entry.place), &path, Fault::UnknownKey { nearest: meant, known });
        }
    }

    /// The same section under another name.
    pub(super) fn called<'o>(&self, path: &'o str) -> Section<'o>
    where
        'n: 'o,
    {
        Section { origin: self.origin, path, entries: self.entries }
    }

    pub(super) fn entries(&self) -> &'n [Entry] {
        self.entries
    }

    pub(super) fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The value of a key, when it is set.
    pub(super) fn node(&self, key: &str) -> Option<&'n Node> {
        let node = &self.entry(key)?.value;
        match node.value {
            Value::Null | Value::Bad => None,
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => Some(node),
        }
    }

    /// The whole name of a key.
    pub(super) fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// A complaint about one of its keys.
    pub(super) fn complain(&self, key: &str, fault: Fault, complaints: &mut Complaints) {
        let place = self.entry(key).map(|entry| entry.value.place);
        let origin = place.map_or_else(|| self.origin.clone(), |place| self.origin.at(place));
        complaints.add(origin, &self.key(key), fault);
    }

    pub(super) fn text(&self, key: &str, complaints: &mut Complaints) -> Option<&'n str> {
        let node = self.node(key)?;
        match &node.value {
            Value::Scalar(scalar) => Some(&scalar.text),
            Value::Null | Value::List(_) | Value::Map(_) | Value::Bad => {
                let fault = Fault::WrongType { wanted: "a text", found: node.value.kind() };
                self.complain(key, fault, complaints);
                None
            }
        }
    }

    pub(super) fn count(&self, key: &str, least: u32, most: u32, complaints: &mut Complaints) -> Option<u32> {
        let text = self.text(key, complaints)?;
        let number = text.trim().parse::<u32>().ok().filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.bad(key, text, format!("write a whole number from {least} to {most}"), complaints);
        }
        number
    }

    pub(super) fn flag(&self, key: &str, complaints: &mut Complaints) -> Option<bool> {
        let text = self.text(key, complaints)?;
        let flag = match text.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        };
        if flag.is_none() {
            self.bad(key, text, "write true or false".to_owned(), complaints);
        }
        flag
    }

    pub(super) fn time(&self, key: &str, complaints: &mut Complaints) -> Option<Duration> {
        let text = self.text(key, complaints)?;
        match duration::parse(text) {
            Ok(time) if time > Duration::ZERO && time <= LONGEST_TIME => Some(time),
            Ok(_) => {
                self.bad(key, text, "write a time between 1ms and 7d".to_owned(), complaints);
                None
            }
            Err(error) => {
                self.bad(key, text, format!("{error} (accepted: 30s, 10m, 1h30m)"), complaints);
                None
            }
        }
    }

    /// The texts of a list.
    pub(super) fn texts(&self, key: &str, complaints: &mut Complaints) -> Option<Vec<String>> {
        let node = self.node(key)?;
        let Value::List(items) = &node.value else {
            let fault = Fault::WrongType { wanted: "a list, such as [a, b]", found: node.value.kind() };
            self.complain(key, fault, complaints);
            return None;
        };
        if items.len() > LONGEST_LIST {
            self.complain(key, Fault::TooLong { most: LONGEST_LIST, of: "items" }, complaints);
            return None;
        }
        let mut texts = Vec::new();
        for item in items {
            match &item.value {
                Value::Scalar(scalar) if !scalar.text.contains('\0') => texts.push(scalar.text.clone()),
                Value::Scalar(_) | Value::Null | Value::List(_) | Value::Map(_) | Value::Bad => {
                    let fault =
                        Fault::WrongType { wanted: "a text as item of the list", found: item.value.kind() };
                    complaints.add(self.origin.at(item.place), &self.key(key), fault);
                    return None;
                }
            }
        }
        Some(texts)
    }

    /// One of a few words, in any case.
    pub(super) fn choose<T: Copy>(
        &self,
        key: &str,
        all: &[T],
        name: fn(T) -> &'static str,
        complaints: &mut Complaints,
    ) -> Option<T> {
        let text = self.text(key, complaints)?;
        let word = text.trim().to_ascii_lowercase();
        let found = all.iter().copied().find(|one| name(*one) == word);
        if found.is_none() {
            self.bad(key, text, choice(&word, all, name), complaints);
        }
        found
    }

    /// A value that is none of those possible.
    pub(super) fn bad(&self, key: &str, text: &str, why: String, complaints: &mut Complaints) {
        let text = text.chars().take(80).collect();
        self.complain(key, Fault::BadValue { text, why }, complaints);
    }

    /// A value that makes no sense together with the others.
    pub(super) fn nonsense(&self, key: &str, why: impl Into<String>, complaints: &mut Complaints) {
        self.complain(key, Fault::Nonsense(why.into()), complaints);
    }
}

/// What to write instead of a word that is none of the choice.
pub(super) fn choice<T: Copy>(word: &str, all: &[T], name: fn(T) -> &'static str) -> String {
    let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
    let known = names.join(", ");
    match nearest(word, names.iter().copied()) {
        Some(meant) => format!("did you mean {meant}? The choice is {known}"),
        None => format!("the choice is {known}"),
    }
}
