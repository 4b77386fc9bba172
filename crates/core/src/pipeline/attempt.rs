//! What became of one attempt at a step: how it ended, what it said by marks, what it cost. Nothing here decides.

use serde::{Deserialize, Serialize};

use crate::outcome::Class;

/// One attempt, as far as anybody will ever need it again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Why it failed as a process, if it did; its marks do not count then.
    pub failure: Option<Failure>,
    /// The exit code, when there was one.
    pub exit: Option<i32>,
    /// The marks that count, in order.
    pub marks: Vec<Mark>,
    /// Marks, or parts of marks, that do not.
    pub notes: Vec<Note>,
    /// An update that must not be written; then none of them is.
    pub refusal: Option<Refusal>,
    /// How many updates wait to be put into place.
    pub staged: u32,
    /// Whether the project changed, where somebody looked.
    pub moved: Option<bool>,
    /// What it said, cut in its middle.
    pub output: String,
    /// The end of what it complained about.
    pub stderr: String,
    /// How long it took.
    pub duration_ms: u64,
    /// Tokens it used, when it said so.
    pub tokens: Option<u64>,
    /// What it cost, when it said so.
    pub cost_usd: Option<f64>,
}

impl Attempt {
    /// What it emitted, if it ended as a process well.
    pub fn emitted(&self) -> impl Iterator<Item = (String, String)> {
        let emits = self.marks.iter().filter(|mark| mark.kind == MarkKind::Emit && self.failure.is_none());
        emits.filter_map(|mark| Some((mark.key.clone()?, mark.payload.clone().unwrap_or_default())))
    }

    /// The same with every text that somebody else wrote changed.
    pub(super) fn map_texts(mut self, change: &dyn Fn(&str) -> String) -> Attempt {
        for mark in &mut self.marks {
            mark.payload = mark.payload.take().map(|text| change(&text));
        }
        for note in &mut self.notes {
            note.detail = change(&note.detail);
        }
        if let Some(failure) = &mut self.failure {
            failure.reason = change(&failure.reason);
        }
        self.output = change(&self.output);
        self.stderr = change(&self.stderr);
        self
    }
}

/// Whether a text holds what makes an attempt a failed one, in any case of letters.
pub fn pattern_failure(patterns: &[String], text: &str) -> Option<Failure> {
    if patterns.is_empty() {
        return None;
    }
    let text = text.to_lowercase();
    let found =
        patterns.iter().find(|pattern| !pattern.is_empty() && text.contains(&pattern.to_lowercase()))?;
    let word = found.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|part| word.contains(part));
    let class = match () {
        () if has(&["rate limit", "rate_limit", "ratelimit", "429", "too many requests", "usage limit"]) => {
            Class::RateLimit
        }
        () if has(&["overload", "api error", "502", "503", "529", "connection"]) => Class::ApiError,
        () => Class::Unknown,
    };
    Some(Failure::new(class, format!("its output holds {found:?}, which is an error pattern")))
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The class, by its name.
    pub class: String,
    /// Why, for people.
    pub reason: String,
}

impl Failure {
    /// A failure of a class.
    pub fn new(class: Class, reason: impl Into<String>) -> Failure {
        Failure { class: class.as_str().to_owned(), reason: reason.into() }
    }

    /// The class.
    pub fn class(&self) -> Class {
        Class::parse(&self.class).unwrap_or(Class::Unknown)
    }
}

/// A mark that counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// What it says.
    pub kind: MarkKind,
    /// The name of an emitted value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<String>,
    /// The file of an update, as the agent wrote it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    /// Its words. Of an update only its length is kept: the words are in its file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub payload: Option<String>,
    /// How long the words of an update are, in bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bytes: Option<u64>,
    /// Where it stands.
    pub place: Place,
}

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// The step is done.
    Completed,
    /// There is nothing to do.
    Skip,
    /// The review passed.
    Approve,
    /// The review failed.
    Reject,
    /// A person is needed.
    Blocked,
    /// A value for later steps.
    Emit,
    /// A file.
    Update,
}

impl MarkKind {
    /// The name of its mark.
    pub fn as_str(self) -> &'static str {
        match self {
            MarkKind::Completed => "completed",
            MarkKind::Skip => "skip",
            MarkKind::Approve => "approve",
            MarkKind::Reject => "reject",
            MarkKind::Blocked => "blocked",
            MarkKind::Emit => "emit",
            MarkKind::Update => "update",
        }
    }

    /// The kind of this name.
    pub(super) fn parse(name: &str) -> Option<MarkKind> {
        let all = [
            MarkKind::Completed,
            MarkKind::Skip,
            MarkKind::Approve,
            MarkKind::Reject,
            MarkKind::Blocked,
            MarkKind::Emit,
            MarkKind::Update,
        ];
        all.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Whether it says how a step ended.
    pub fn is_terminal(self) -> bool {
        match self {
            MarkKind::Completed
            | MarkKind::Skip
            | MarkKind::Approve
            | MarkKind::Reject
            | MarkKind::Blocked => true,
            MarkKind::Emit | MarkKind::Update => false,
        }
    }
}

/// Where a mark stands in what an agent said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Which message, from 1.
    pub message: u32,
    /// The line of the message, from 1; none when nobody kept so much of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// The first byte in the message.
    pub start: u64,
    /// The byte behind the last.
    pub end: u64,
}

/// Something that looked like a mark, or a part of one, and does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What is wrong, as `pilot signals` names it, or one of the step's own: `multiple_terminals`, `ignored`,
    /// `echo`, `refused`, `dropped`.
    pub code: String,
    /// The name of the mark, where it can be told.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mark: Option<String>,
    /// More about it.
    pub detail: String,
    /// Where it stands.
    pub place: Place,
}

/// An update that must not be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Its path, as the agent wrote it.
    pub path: String,
    /// Why not.
    pub why: String,
}
