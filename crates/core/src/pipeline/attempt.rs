//! One attempt at a step: how it ended, its marks, its cost. Nothing here decides.

use serde::{Deserialize, Serialize};

use crate::outcome::Class;
use crate::text::word_enum;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Why it failed as a process, if it did; its marks do not count then.
    pub failure: Option<AttemptFailure>,
    pub exit: Option<i32>,
    /// The marks that count, in order.
    pub marks: Vec<StepMark>,
    /// Marks, or parts of marks, that do not.
    pub notes: Vec<MarkNote>,
    /// An update that must not be written; then none of them is.
    pub refusal: Option<Refusal>,
    pub staged: u32,
    pub moved: Option<bool>,
    /// Its text, cut in its middle.
    pub output: String,
    /// The end of its standard error.
    pub stderr: String,
    pub duration_ms: u64,
    pub tokens: Option<u64>,
    pub cost_usd: Option<f64>,
}

impl Attempt {
    /// What it emitted, unless its process failed.
    pub fn emitted(&self) -> impl Iterator<Item = (String, String)> {
        let emits = self.marks.iter().filter(|mark| mark.kind == MarkKind::Emit && self.failure.is_none());
        emits.filter_map(|mark| Some((mark.key.clone()?, mark.payload.clone().unwrap_or_default())))
    }

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

/// A failure if the text contains an error pattern, in any case of letters.
pub fn pattern_failure(patterns: &[String], text: &str) -> Option<AttemptFailure> {
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
    Some(AttemptFailure::new(class, format!("its output holds {found:?}, which is an error pattern")))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFailure {
    pub class: String,
    pub reason: String,
}

impl AttemptFailure {
    pub fn new(class: Class, reason: impl Into<String>) -> AttemptFailure {
        AttemptFailure { class: class.as_str().to_owned(), reason: reason.into() }
    }

    pub fn class(&self) -> Class {
        Class::parse(&self.class).unwrap_or(Class::Unknown)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepMark {
    pub kind: MarkKind,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<String>,
    /// The file of an update, as the agent wrote it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    /// Its words. Of an update only its length is kept: the words are in its file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub payload: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bytes: Option<u64>,
    pub place: MarkPlace,
}

word_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MarkKind {
        Completed = "completed",
        Skip = "skip",
        Approve = "approve",
        Reject = "reject",
        /// The agent needs the user.
        Blocked = "blocked",
        Emit = "emit",
        Update = "update",
    }
}

impl MarkKind {
    pub fn is_terminal(self) -> bool {
        !matches!(self, MarkKind::Emit | MarkKind::Update)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkPlace {
    pub message: u32,
    /// The line of the message, from 1; none beyond what is kept of a message.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    pub start: u64,
    pub end: u64,
}

/// Something that looked like a mark, or a part of one, and does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkNote {
    /// What is wrong, as `pilot signals` names it, or one of the step's own: `multiple_terminals`, `ignored`,
    /// `echo`, `refused`, `dropped`.
    pub code: String,
    /// The name of the mark, where it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mark: Option<String>,
    pub detail: String,
    pub place: MarkPlace,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub path: String,
    pub why: String,
}
