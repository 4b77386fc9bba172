//! The classes of failure. What is done about each without asking anybody, `retry` says.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a run did not complete. A run that did has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The account's or the API's limit is reached; it resets at some time.
    RateLimit,
    /// The API failed, or the way to it.
    ApiError,
    /// The credentials are missing, wrong or expired.
    Auth,
    /// The account has no credit left.
    Billing,
    /// The agent does not start as it is configured.
    InvalidConfig,
    /// There is no such model for this account.
    ModelNotFound,
    /// The prompt is longer than the model or the agent takes.
    PromptTooLong,
    /// The session to resume does not exist.
    SessionNotFound,
    /// The run took longer than it may.
    Timeout,
    /// The agent was silent for longer than it may be.
    Stalled,
    /// The agent went on and got nowhere.
    Stagnated,
    /// A limit on tokens, money or turns is reached.
    BudgetExceeded,
    /// The kernel killed the agent for want of memory, and says so.
    OomKilled,
    /// A person, or Pilot's own end, stopped the run.
    Cancelled,
    /// The model's guard refused to answer.
    Refused,
    /// The agent said `DECLINED: reason`.
    Declined,
    /// The agent ended well and changed nothing.
    NoChanges,
    /// The agent says that it cannot succeed.
    Blocked,
    /// A gate failed.
    GateFailed,
    /// Something else, which the reason names.
    Unknown,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 20] = [
        Class::RateLimit,
        Class::ApiError,
        Class::Auth,
        Class::Billing,
        Class::InvalidConfig,
        Class::ModelNotFound,
        Class::PromptTooLong,
        Class::SessionNotFound,
        Class::Timeout,
        Class::Stalled,
        Class::Stagnated,
        Class::BudgetExceeded,
        Class::OomKilled,
        Class::Cancelled,
        Class::Refused,
        Class::Declined,
        Class::NoChanges,
        Class::Blocked,
        Class::GateFailed,
        Class::Unknown,
    ];

    /// The name as it is stored and reported.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::RateLimit => "rate_limit",
            Class::ApiError => "api_error",
            Class::Auth => "auth",
            Class::Billing => "billing",
            Class::InvalidConfig => "invalid_config",
            Class::ModelNotFound => "model_not_found",
            Class::PromptTooLong => "prompt_too_long",
            Class::SessionNotFound => "session_not_found",
            Class::Timeout => "timeout",
            Class::Stalled => "stalled",
            Class::Stagnated => "stagnated",
            Class::BudgetExceeded => "budget_exceeded",
            Class::OomKilled => "oom_killed",
            Class::Cancelled => "cancelled",
            Class::Refused => "refused",
            Class::Declined => "declined",
            Class::NoChanges => "no_changes",
            Class::Blocked => "blocked",
            Class::GateFailed => "gate_failed",
            Class::Unknown => "unknown",
        }
    }

    /// The class of this name.
    pub fn parse(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.as_str() == name)
    }

    /// What it means and what to do next, as a sentence for people.
    pub fn words(self) -> &'static str {
        match self {
            Class::RateLimit => "The model's rate limit is reached; try again when it resets.",
            Class::ApiError => "The model's API failed; it is usually back in a moment, so try again.",
            Class::Auth => "The agent is not logged in; log in with the agent itself or renew its key.",
            Class::Billing => "The model's account has no credit left; add some, or use another account.",
            Class::InvalidConfig => "The agent does not start as it is configured; `pilot doctor` shows why.",
            Class::ModelNotFound => "The account has no such model; name another one with --model.",
            Class::PromptTooLong => "The task is too long for the model; shorten it or split it.",
            Class::SessionNotFound => "The session to resume is gone; the next attempt begins a new one.",
            Class::Timeout => "The run took longer than its time limit; give it more time or split the task.",
            Class::Stalled => "The agent fell silent and did not come back; try again.",
            Class::Stagnated => "The agent went round in circles; make the task more precise and try again.",
            Class::BudgetExceeded => {
                "The run reached its limit of tokens, money or turns; raise it or split the task."
            }
            Class::OomKilled => "The machine ran out of memory and killed the agent; give it more.",
            Class::Cancelled => "The run was stopped on request; its work is kept.",
            Class::Refused => "The model's safeguards refused the task; change its wording.",
            Class::Declined => "The agent declined the task and says why.",
            Class::NoChanges => "The agent ended without changing anything; its last message says more.",
            Class::Blocked => "The agent could not go on and says why.",
            Class::GateFailed => "The work did not pass its gates; their output says why.",
            Class::Unknown => "The run failed in a way Pilot does not know; `pilot logs` shows what it left.",
        }
    }

    /// Whether it is the account's or the machine's failure: the next task would fail in the same way.
    pub fn stops_everybody(self) -> bool {
        match self {
            Class::Auth | Class::Billing | Class::InvalidConfig | Class::ModelNotFound => true,
            Class::RateLimit
            | Class::ApiError
            | Class::PromptTooLong
            | Class::SessionNotFound
            | Class::Timeout
            | Class::Stalled
            | Class::Stagnated
            | Class::BudgetExceeded
            | Class::OomKilled
            | Class::Cancelled
            | Class::Refused
            | Class::Declined
            | Class::NoChanges
            | Class::Blocked
            | Class::GateFailed
            | Class::Unknown => false,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Class;

    #[test]
    fn names_are_one_to_one_and_in_the_order_of_the_set() {
        for class in Class::ALL {
            assert_eq!(Class::parse(class.as_str()), Some(class));
        }
        assert_eq!(Class::parse("Timeout"), None);
        assert!(Class::ALL.is_sorted());
    }

    #[test]
    fn every_class_has_a_sentence_of_its_own() {
        let sentences: std::collections::BTreeSet<&str> = Class::ALL.map(Class::words).into();
        assert_eq!(sentences.len(), Class::ALL.len());
        assert!(sentences.iter().all(|words| words.ends_with('.') && words.len() < 90));
    }
}
