//! What happened in a run, as it is remembered. A run's state is nothing but its facts, taken in order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::attempt::Attempt;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// The run began somewhere else than at its first step, with what an earlier one had emitted.
    Picked {
        /// The first step.
        from: String,
        /// Whether it is the only one.
        only: bool,
        /// What was emitted before.
        emits: BTreeMap<String, String>,
    },
    /// A loop found what it goes over.
    Listed {
        /// Each of them.
        items: Vec<Item>,
    },
    /// A loop could not find what it goes over, or a step could not be made ready.
    NotReady {
        /// Why.
        reason: String,
    },
    /// An attempt began.
    Started {
        /// Who does it, for people.
        worker: String,
        /// What it was told.
        input: String,
    },
    /// An attempt ended.
    Ended {
        /// What came of it.
        attempt: Box<Attempt>,
    },
    /// The updates of the last attempt are in place, or why they are not.
    Written {
        /// What went wrong.
        failure: Option<String>,
    },
    /// A person answered.
    Answered {
        /// What.
        answer: Answer,
    },
    /// A person started the run again after it had failed or waited for help.
    Resumed,
}

impl Fact {
    /// The word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Fact::Picked { .. } => "picked",
            Fact::Listed { .. } => "listed",
            Fact::NotReady { .. } => "not_ready",
            Fact::Started { .. } => "started",
            Fact::Ended { .. } => "ended",
            Fact::Written { .. } => "written",
            Fact::Answered { .. } => "answered",
            Fact::Resumed => "resumed",
        }
    }
}

impl Fact {
    /// The same with every text that somebody else wrote changed, for taking secrets out before anything is decided.
    #[must_use]
    pub fn map_texts(self, change: &dyn Fn(&str) -> String) -> Fact {
        let some = |text: Option<String>| text.map(|text| change(&text));
        match self {
            Fact::Picked { from, only, emits } => {
                let emits = emits.into_iter().map(|(key, value)| (key, change(&value))).collect();
                Fact::Picked { from, only, emits }
            }
            Fact::Listed { items } => {
                let items = items.into_iter().map(|item| Item { text: some(item.text), ..item }).collect();
                Fact::Listed { items }
            }
            Fact::NotReady { reason } => Fact::NotReady { reason: change(&reason) },
            Fact::Started { worker, input } => Fact::Started { worker, input: change(&input) },
            Fact::Ended { attempt } => Fact::Ended { attempt: Box::new(attempt.map_texts(change)) },
            Fact::Written { failure } => Fact::Written { failure: some(failure) },
            Fact::Answered { answer: Answer::Text(text) } => {
                Fact::Answered { answer: Answer::Text(change(&text)) }
            }
            Fact::Answered { .. } | Fact::Resumed => self,
        }
    }
}

/// One of what a loop goes over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// What people call it.
    pub name: String,
    /// The file whose text it is; none for a text that stands in the pipeline itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// The text itself, when it is no file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
}

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Go on.
    Yes,
    /// Stop here.
    No,
    /// Words for the agent.
    Text(String),
}
