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

    /// The section of a key at the top of the file.
    pub(super) fn section<'o>(&self, key: &'o str) -> Option<FieldSection<'o>>
    where
        'n: 'o,
    {
        self.below(key, self.node(key)?)
    }

    /// Complains about every key that is given twice; its author chose their names.
    pub(super) fn any_names(&self) {
        self.known(&self.entries.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>());
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

    /// Where the value of a key is written, or else the section.
    pub(super) fn origin_of(&self, key: &str) -> Origin {
        self.entry(key).map_or_else(|| self.origin.clone(), |entry| self.origin.at(entry.value.place))
    }

    pub(super) fn complain(&self, key: &str, fault: Fault) {
        self.complaints.add(self.origin_of(key), &self.key(key), fault);
    }

    pub(super) fn text(&self, key: &str) -> Option<&'n str> {
        let node = self.node(key)?;
        let Value::Scalar(scalar) = &node.value else { return self.mistyped(key, node, "a text") };
        Some(&scalar.text)
    }

    pub(super) fn count(&self, key: &str, least: u32, most: u32) -> Option<u32> {
        let text = self.text(key)?;
        let number = text.trim().parse::<u32>().ok().filter(|number| (least..=most).contains(number));
        number.or_else(|| self.reject(key, text, format!("write a whole number from {least} to {most}")))
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        let text = self.text(key)?;
        match text.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => self.reject(key, text, "write true or false"),
        }
    }

    pub(super) fn time(&self, key: &str) -> Option<Duration> {
        let text = self.text(key)?;
        match duration::parse(text) {
            Ok(time) if time > Duration::ZERO && time <= LONGEST_TIME => Some(time),
            Ok(_) => self.reject(key, text, "write a time between 1ms and 7d"),
            Err(error) => self.reject(key, text, format!("{error} (accepted: 30s, 10m, 1h30m)")),
        }
    }

    pub(super) fn texts(&self, key: &str) -> Option<Vec<String>> {
        let node = self.node(key)?;
        let Value::List(items) = &node.value else {
            return self.mistyped(key, node, "a list, such as [a, b]");
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
        found.or_else(|| self.reject(key, text, choice(&word, &T::words())))
    }

    pub(super) fn bad(&self, key: &str, text: &str, why: impl Into<String>) {
        let text = text.chars().take(80).collect();
        self.complain(key, Fault::BadValue { text, why: why.into() });
    }

    pub(super) fn nonsense(&self, key: &str, why: impl Into<String>) {
        self.complain(key, Fault::Nonsense(why.into()));
    }

    /// Complains about a key without which nothing can be made of the section.
    pub(super) fn refuse<T>(&self, key: &str, why: impl Into<String>) -> Option<T> {
        self.nonsense(key, why);
        None
    }

    /// The same about the text of a value.
    pub(super) fn reject<T>(&self, key: &str, text: &str, why: impl Into<String>) -> Option<T> {
        self.bad(key, text, why);
        None
    }

    /// The same about the type of a value.
    pub(super) fn mistyped<T>(&self, key: &str, node: &Node, wanted: &'static str) -> Option<T> {
        self.complain(key, node.wrong_type(wanted));
        None
    }
}
