//! What happened in a run. The state of a run is its facts, replayed in order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::attempt::Attempt;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum RunFact {
    /// The run began somewhere else than at its first step, with what an earlier one had emitted.
    Picked {
        from: String,
        /// Whether it is the only one.
        only: bool,
        emits: BTreeMap<String, String>,
    },
    Listed {
        items: Vec<LoopItem>,
    },
    /// A loop could not find what it goes over, or a step could not be made ready.
    NotReady {
        reason: String,
    },
    Started {
        worker: String,
        input: String,
    },
    Ended {
        attempt: Box<Attempt>,
    },
    /// The updates of the last attempt are in place, or why they are not.
    Written {
        failure: Option<String>,
    },
    Answered {
        answer: UserAnswer,
    },
    /// The user restarted the run after it had failed or waited for an answer.
    Resumed,
}

impl RunFact {
    pub fn as_str(&self) -> &'static str {
        match self {
            RunFact::Picked { .. } => "picked",
            RunFact::Listed { .. } => "listed",
            RunFact::NotReady { .. } => "not_ready",
            RunFact::Started { .. } => "started",
            RunFact::Ended { .. } => "ended",
            RunFact::Written { .. } => "written",
            RunFact::Answered { .. } => "answered",
            RunFact::Resumed => "resumed",
        }
    }
}

impl RunFact {
    /// The same with every foreign text changed; redaction uses it before anything is decided.
    #[must_use]
    pub fn map_texts(self, change: &dyn Fn(&str) -> String) -> RunFact {
        let some = |text: Option<String>| text.map(|text| change(&text));
        match self {
            RunFact::Picked { from, only, emits } => {
                let emits = emits.into_iter().map(|(key, value)| (key, change(&value))).collect();
                RunFact::Picked { from, only, emits }
            }
            RunFact::Listed { items } => {
                let items =
                    items.into_iter().map(|item| LoopItem { text: some(item.text), ..item }).collect();
                RunFact::Listed { items }
            }
            RunFact::NotReady { reason } => RunFact::NotReady { reason: change(&reason) },
            RunFact::Started { worker, input } => RunFact::Started { worker, input: change(&input) },
            RunFact::Ended { attempt } => RunFact::Ended { attempt: Box::new(attempt.map_texts(change)) },
            RunFact::Written { failure } => RunFact::Written { failure: some(failure) },
            RunFact::Answered { answer: UserAnswer::Text(text) } => {
                RunFact::Answered { answer: UserAnswer::Text(change(&text)) }
            }
            RunFact::Answered { .. } | RunFact::Resumed => self,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopItem {
    pub name: String,
    /// The file whose text it is; none for a text of the pipeline itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserAnswer {
    Yes,
    No,
    /// Words for the agent.
    Text(String),
}
