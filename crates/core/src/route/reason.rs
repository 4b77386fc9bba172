//! Why a task was routed as it was.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Complexity;
use super::words::Meaning;

/// One reason for a decision. Points add up: three are complex, minus two simple.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// Words of the title.
    Title {
        /// The words.
        words: String,
        /// What they say.
        meaning: Meaning,
        /// What they count.
        points: i32,
    },
    /// Words of the body.
    Body {
        /// The words.
        words: String,
        /// What they say.
        meaning: Meaning,
        /// What they count.
        points: i32,
    },
    /// The kind of change that the title begins with: `docs:`.
    Kind {
        /// The kind.
        kind: String,
        /// What it counts.
        points: i32,
    },
    /// A label that says something about the work.
    Hint {
        /// The label.
        label: String,
        /// What it counts.
        points: i32,
    },
    /// What the ticket looks like.
    Shape {
        /// Of what there is so much.
        part: Part,
        /// How much.
        count: usize,
        /// What it counts.
        points: i32,
    },
    /// Nothing that is told says much about the work.
    NothingSpecial,
    /// The title sounds trivial, and the ticket is too long or too structured for that.
    TooMuchForTrivial,
    /// `[epic]` in the title.
    EpicTag,
    /// Phases, boxes and words together.
    EpicShape {
        /// How many phases.
        phases: usize,
        /// How many boxes.
        checkboxes: usize,
        /// How many words.
        words: usize,
    },
    /// It looks like an epic, and everything is in one directory.
    OneDirectory {
        /// The directory.
        directory: String,
    },
    /// It looks like an epic, and a person said not to split it.
    NotSplit {
        /// The label or tag that says so.
        by: String,
    },
    /// A small model was asked.
    Classified {
        /// What it said.
        complexity: Complexity,
        /// Its reason, cleaned and cut.
        why: String,
    },
    /// A small model was asked, and its answer does not count.
    NotClassified {
        /// Why not.
        why: String,
    },
    /// Somebody said which complexity it has.
    Given {
        /// Who.
        by: Source,
    },
    /// A label of ours that cannot be followed.
    Ignored {
        /// The label, cut.
        label: String,
        /// What is wrong with it.
        why: String,
    },
    /// Where the model comes from.
    Model {
        /// Where.
        from: Source,
    },
    /// Where the effort comes from.
    Effort {
        /// Where.
        from: Source,
    },
    /// Where the time comes from.
    Timeout {
        /// Where.
        from: Source,
    },
}

/// A part of a ticket that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Words outside of code.
    Words,
    /// Headings.
    Headings,
    /// Items with a box.
    Checkboxes,
    /// Numbered steps.
    Steps,
    /// Fences of code.
    Fences,
    /// Files that are named.
    Files,
    /// Directories that are named.
    Directories,
}

impl Part {
    fn text(self, count: usize) -> String {
        let (one, many) = match self {
            Part::Words => ("word", "words"),
            Part::Headings => ("heading", "headings"),
            Part::Checkboxes => ("checkbox", "checkboxes"),
            Part::Steps => ("numbered step", "numbered steps"),
            Part::Fences => ("block of code", "blocks of code"),
            Part::Files => ("file", "files"),
            Part::Directories => ("directory", "directories"),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum Source {
    /// The command line.
    Flag,
    /// A label of the task.
    Label {
        /// The label.
        label: String,
    },
    /// A configured value.
    Key {
        /// Its key.
        key: String,
    },
    /// Pilot's own table.
    Table,
    /// Nobody said; the agent decides.
    Agent,
    /// Routing is off, so the agent decides.
    Off {
        /// The key that turns it off.
        key: String,
    },
    /// Pilot knows no models of this agent, so it decides itself.
    NoTable {
        /// The agent.
        backend: String,
        /// The key that would name one.
        key: String,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Flag => f.write_str("from the command line"),
            Source::Label { label } => write!(f, "from the label {label}"),
            Source::Key { key } => write!(f, "from {key}"),
            Source::Table => f.write_str("from Pilot's table"),
            Source::Agent => f.write_str("left to the agent"),
            Source::Off { key } => write!(f, "left to the agent, as {key} is false"),
            Source::NoTable { backend, key } => {
                write!(f, "left to {backend}, for which Pilot has no table; set {key} for one")
            }
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Title { words, meaning, points } => told(f, "title", words, *meaning, *points),
            Reason::Body { words, meaning, points } => told(f, "body", words, *meaning, *points),
            Reason::Kind { kind, points } => write!(f, "the change is of the kind {kind:?} ({points:+})"),
            Reason::Hint { label, points } => write!(f, "labelled {label:?} ({points:+})"),
            Reason::Shape { part, count, points } => write!(f, "{} ({points:+})", part.text(*count)),
            Reason::NothingSpecial => f.write_str("nothing says that it is small or large"),
            Reason::TooMuchForTrivial => {
                f.write_str("the ticket is too long or too structured to be trivial")
            }
            Reason::EpicTag => f.write_str("[epic] in the title"),
            Reason::EpicShape { phases, checkboxes, words } => {
                write!(f, "{phases} phases, {checkboxes} checkboxes and {words} words together are an epic")
            }
            Reason::OneDirectory { directory } => {
                write!(f, "no epic: every file that is named is in {directory}")
            }
            Reason::NotSplit { by } => write!(f, "not split, as {by} says"),
            Reason::Classified { complexity, why } if why.is_empty() => {
                write!(f, "the classifier says {complexity}")
            }
            Reason::Classified { complexity, why } => write!(f, "the classifier says {complexity}: {why}"),
            Reason::NotClassified { why } => write!(f, "the classifier does not count: {why}"),
            Reason::Given { by } => write!(f, "complexity {by}"),
            Reason::Ignored { label, why } => write!(f, "label {label:?} ignored: {why}"),
            Reason::Model { from } => write!(f, "model {from}"),
            Reason::Effort { from } => write!(f, "effort {from}"),
            Reason::Timeout { from } => write!(f, "time {from}"),
        }
    }
}

fn told(f: &mut fmt::Formatter<'_>, place: &str, words: &str, meaning: Meaning, points: i32) -> fmt::Result {
    let meaning = match meaning {
        Meaning::Trivial => "trivial",
        Meaning::Simple => "simple",
        Meaning::ComplexDeed | Meaning::ComplexThing => "complex",
    };
    write!(f, "{place} says {words:?}: {meaning} ({points:+})")
}
