//! Why a task was routed as it was.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Complexity;
use super::words::PhraseMeaning;

/// One reason for a decision. Points add up: three are complex, minus two simple.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum RouteReason {
    Title { words: String, meaning: PhraseMeaning, points: i32 },
    Body { words: String, meaning: PhraseMeaning, points: i32 },
    Kind { kind: String, points: i32 },
    Hint { label: String, points: i32 },
    Shape { part: TicketPart, count: usize, points: i32 },
    NothingSpecial,
    TooMuchForTrivial,
    EpicTag,
    EpicShape { phases: usize, checkboxes: usize, words: usize },
    OneDirectory { directory: String },
    NotSplit { by: String },
    Classified { complexity: Complexity, why: String },
    NotClassified { why: String },
    Given { by: ValueSource },
    Ignored { label: String, why: String },
    Model { from: ValueSource },
    Effort { from: ValueSource },
    Timeout { from: ValueSource },
}

/// A part of a ticket that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TicketPart {
    /// Words outside of code.
    Words,
    Headings,
    /// Items with a box.
    Checkboxes,
    Steps,
    Fences,
    Files,
    Directories,
}

impl TicketPart {
    fn text(self, count: usize) -> String {
        let (one, many) = match self {
            TicketPart::Words => ("word", "words"),
            TicketPart::Headings => ("heading", "headings"),
            TicketPart::Checkboxes => ("checkbox", "checkboxes"),
            TicketPart::Steps => ("numbered step", "numbered steps"),
            TicketPart::Fences => ("block of code", "blocks of code"),
            TicketPart::Files => ("file", "files"),
            TicketPart::Directories => ("directory", "directories"),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum ValueSource {
    Flag,
    Label { label: String },
    Key { key: String },
    Table,
    Agent,
    Off { key: String },
    NoTable { backend: String, key: String },
}

impl fmt::Display for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueSource::Flag => f.write_str("from the command line"),
            ValueSource::Label { label } => write!(f, "from the label {label}"),
            ValueSource::Key { key } => write!(f, "from {key}"),
            ValueSource::Table => f.write_str("from Pilot's table"),
            ValueSource::Agent => f.write_str("left to the agent"),
            ValueSource::Off { key } => write!(f, "left to the agent, as {key} is false"),
            ValueSource::NoTable { backend, key } => {
                write!(f, "left to {backend}, for which Pilot has no table; set {key} for one")
            }
        }
    }
}

impl fmt::Display for RouteReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RouteReason::Title { words, meaning, points } => told(f, "title", words, *meaning, *points),
            RouteReason::Body { words, meaning, points } => told(f, "body", words, *meaning, *points),
            RouteReason::Kind { kind, points } => {
                write!(f, "the change is of the kind {kind:?} ({points:+})")
            }
            RouteReason::Hint { label, points } => write!(f, "labelled {label:?} ({points:+})"),
            RouteReason::Shape { part, count, points } => write!(f, "{} ({points:+})", part.text(*count)),
            RouteReason::NothingSpecial => f.write_str("nothing says that it is small or large"),
            RouteReason::TooMuchForTrivial => {
                f.write_str("the ticket is too long or too structured to be trivial")
            }
            RouteReason::EpicTag => f.write_str("[epic] in the title"),
            RouteReason::EpicShape { phases, checkboxes, words } => {
                write!(f, "{phases} phases, {checkboxes} checkboxes and {words} words together are an epic")
            }
            RouteReason::OneDirectory { directory } => {
                write!(f, "no epic: every file that is named is in {directory}")
            }
            RouteReason::NotSplit { by } => write!(f, "not split, as {by} says"),
            RouteReason::Classified { complexity, why } if why.is_empty() => {
                write!(f, "the classifier says {complexity}")
            }
            RouteReason::Classified { complexity, why } => {
                write!(f, "the classifier says {complexity}: {why}")
            }
            RouteReason::NotClassified { why } => write!(f, "the classifier does not count: {why}"),
            RouteReason::Given { by } => write!(f, "complexity {by}"),
            RouteReason::Ignored { label, why } => write!(f, "label {label:?} ignored: {why}"),
            RouteReason::Model { from } => write!(f, "model {from}"),
            RouteReason::Effort { from } => write!(f, "effort {from}"),
            RouteReason::Timeout { from } => write!(f, "time {from}"),
        }
    }
}

fn told(
    f: &mut fmt::Formatter<'_>,
    place: &str,
    words: &str,
    meaning: PhraseMeaning,
    points: i32,
) -> fmt::Result {
    let meaning = match meaning {
        PhraseMeaning::Trivial => "trivial",
        PhraseMeaning::Simple => "simple",
        PhraseMeaning::ComplexDeed | PhraseMeaning::ComplexThing => "complex",
    };
    write!(f, "{place} says {words:?}: {meaning} ({points:+})")
}
