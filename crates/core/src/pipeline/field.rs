//! Reading single values of a pipeline file, with a complaint for each that is wrong.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use crate::config::{
    Fault, MapEntry, Node, Origin, Place, Problem, REPORTED, Value, choice, join_path, nearest,
};
use crate::duration;
use crate::text::WordEnum;

const LONGEST_LIST: usize = 1_000;

/// No attempt takes longer.
const LONGEST_TIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

#[derive(Debug, Default)]
pub(super) struct Complaints {
    problems: RefCell<Vec<Problem>>,
    hidden: Cell<usize>,
}

impl Complaints {
    pub(super) fn add(&self, origin: Origin, key: &str, fault: Fault) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() >= REPORTED {
            self.hidden.update(|hidden| hidden + 1);
            return;
        }
        problems.push(Problem { origin, key: key.to_owned(), fault });
    }

    /// All of them, from the top of the file to its end.
    pub(super) fn finish(self, origin: &Origin) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| problem.origin.place());
        if self.hidden.get() > 0 {
            let fault = Fault::AndMore(self.hidden.get());
            problems.push(Problem { origin: origin.clone(), key: String::new(), fault });
        }
        problems
    }
}

/// A section that is being read: its place among the keys, and its entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldSection<'n> {
    pub(super) origin: &'n Origin,
    pub(super) path: &'n str,
    entries: &'n [MapEntry],
    complaints: &'n Complaints,
}

impl<'n> FieldSection<'n> {
    pub(super) fn of(
        origin: &'n Origin,
        path: &'n str,
        node: &'n Node,
        complaints: &'n Complaints,
    ) -> Option<FieldSection<'n>> {
        let Value::Map(entries) = &node.value else {
            complaints.add(origin.at(node.place), path, node.wrong_type("a section of keys"));
            return None;
        };
        Some(FieldSection { origin, path, entries, complaints })
    }

    /// A section in this one, called by its whole path.
    pub(super) fn below<'o>(&self, path: &'o str, node: &'o Node) -> Option<FieldSection<'o>>
    where
        'n: 'o,
    {
        FieldSection::of(self.origin, path, node, self.complaints)
    }

    /// Complains about every key that is none of these, or is given twice.
    pub(super) fn known(&self, known: &[&str]) {
        let mut seen: Vec<(&str, Place)> = Vec::new();
        for entry in self.entries {
            let path = self.key(&entry.key);
            if let Some((_, first)) = seen.iter().find(|(key, _)| *key == entry.key) {
                self.complaints.add(self.origin.at(entry.place), &path, Fault::Duplicate { first: *first });
            }
            seen.push((&entry.key, entry.place));
            if known.contains(&entry.key.as_str()) {
                continue;
            }
            let meant = nearest(&entry.key, known.iter().copied()).map(|name| self.key(name));
            let known = known.iter().map(|name| (*name).to_owned()).collect();
            self.complaints.add(
                self.origin.at(entry.place),
                &path,
                Fault::UnknownKey { nearest: meant, known },
            );
        }
    }

    pub(super) fn called<'o>(&self, path: &'o str) -> FieldSection<'o>
    where
        'n: 'o,
    {
        FieldSection { path, ..*self }
    }

    pub(super) fn entries(&self) -> &'n [MapEntry] {
        self.entries
    }

    pub(super) fn entry(&self, key: &str) -> Option<&'n MapEntry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(super) fn node(&self, key: &str) -> Option<&'n Node> {
        let node = &self.entry(key)?.value;
        (!matches!(node.value, Value::Null | Value::Bad)).then_some(node)
    }

    pub(super) fn key(&self, key: &str) -> String {
        join_path(self.path, key)
    }

    pub(super) fn complain(&self, key: &str, fault: Fault) {
        let place = self.entry(key).map(|entry| entry.value.place);
        let origin = place.map_or_else(|| self.origin.clone(), |place| self.origin.at(place));
        self.complaints.add(origin, &self.key(key), fault);
    }

    pub(super) fn text(&self, key: &str) -> Option<&'n str> {
        let node = self.node(key)?;
        let Value::Scalar(scalar) = &node.value else {
            self.complain(key, node.wrong_type("a text"));
            return None;
        };
        Some(&scalar.text)
    }

    pub(super) fn count(&self, key: &str, least: u32, most: u32) -> Option<u32> {
        let text = self.text(key)?;
        let number = text.trim().parse::<u32>().ok().filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.bad(key, text, format!("write a whole number from {least} to {most}"));
        }
        number
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        let text = self.text(key)?;
        let flag = match text.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        };
        if flag.is_none() {
            self.bad(key, text, "write true or false");
        }
        flag
    }

    pub(super) fn time(&self, key: &str) -> Option<Duration> {
        let text = self.text(key)?;
        match duration::parse(text) {
            Ok(time) if time > Duration::ZERO && time <= LONGEST_TIME => Some(time),
            Ok(_) => {
                self.bad(key, text, "write a time between 1ms and 7d");
                None
            }
            Err(error) => {
                self.bad(key, text, format!("{error} (accepted: 30s, 10m, 1h30m)"));
                None
            }
        }
    }

    pub(super) fn texts(&self, key: &str) -> Option<Vec<String>> {
        let node = self.node(key)?;
        let Value::List(items) = &node.value else {
            self.complain(key, node.wrong_type("a list, such as [a, b]"));
            return None;
        };
        if items.len() > LONGEST_LIST {
            self.complain(key, Fault::TooLong { most: LONGEST_LIST, of: "items" });
            return None;
        }
        let mut texts = Vec::new();
        for item in items {
            let text = item.scalar().map(|scalar| &scalar.text).filter(|text| !text.contains('\0'));
            let Some(text) = text else {
                let fault = item.wrong_type("a text as item of the list");
                self.complaints.add(self.origin.at(item.place), &self.key(key), fault);
                return None;
            };
            texts.push(text.clone());
        }
        Some(texts)
    }

    pub(super) fn choose<T: WordEnum>(&self, key: &str) -> Option<T> {
        let text = self.text(key)?;
        let word = text.trim().to_ascii_lowercase();
        let found = T::all().iter().copied().find(|one| one.word() == word);
        if found.is_none() {
            self.bad(key, text, choice(&word, &T::words()));
        }
        found
    }

    pub(super) fn bad(&self, key: &str, text: &str, why: impl Into<String>) {
        let text = text.chars().take(80).collect();
        self.complain(key, Fault::BadValue { text, why: why.into() });
    }

    pub(super) fn nonsense(&self, key: &str, why: impl Into<String>) {
        self.complain(key, Fault::Nonsense(why.into()));
    }
}
