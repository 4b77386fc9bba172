//! The classes of failure. `retry` decides what follows from each.

use serde::{Deserialize, Serialize};

use crate::text::word_enum;

word_enum! {
    /// Why a run did not complete. A run that did has none.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Class {
        /// The account's or the API's limit is reached; it resets at some time.
        RateLimit = "rate_limit",
        ApiError = "api_error",
        /// The credentials are missing, wrong or expired.
        Auth = "auth",
        Billing = "billing",
        /// The agent does not start as it is configured.
        InvalidConfig = "invalid_config",
        ModelNotFound = "model_not_found",
        PromptTooLong = "prompt_too_long",
        SessionNotFound = "session_not_found",
        Timeout = "timeout",
        Stalled = "stalled",
        /// The agent went on and got nowhere.
        Stagnated = "stagnated",
        BudgetExceeded = "budget_exceeded",
        /// The kernel killed the agent because memory ran out, and reported it.
        OomKilled = "oom_killed",
        /// A person, or Pilot's own end, stopped the run.
        Cancelled = "cancelled",
        /// The model's guard refused to answer.
        Refused = "refused",
        /// The agent said `DECLINED: reason`.
        Declined = "declined",
        /// The agent ended well and changed nothing.
        NoChanges = "no_changes",
        /// The agent says that it cannot succeed.
        Blocked = "blocked",
        GateFailed = "gate_failed",
        Unknown = "unknown",
    }
}

impl Class {
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

    /// What a person does next, as a sentence; `task` is what the logs know it by.
    pub fn next_step(self, task: &str) -> String {
        let again = "run it again";
        match self {
            Class::RateLimit => format!("When the limit resets, {again}."),
            Class::ApiError | Class::Stalled | Class::SessionNotFound => format!("Try once more: {again}."),
            Class::Auth => format!("Log in with the agent itself or renew its key, then {again}."),
            Class::Billing => format!("Add credit or use another account, then {again}."),
            Class::InvalidConfig => "See what `pilot doctor` says about the agent.".to_owned(),
            Class::ModelNotFound => format!("Name another model with --model, then {again}."),
            Class::PromptTooLong => "Shorten the task, or split it.".to_owned(),
            Class::Timeout => "Give it a longer --timeout, or split the task.".to_owned(),
            Class::Stagnated | Class::NoChanges => {
                format!("Read what it said with `pilot logs {task}`, and make the task more precise.")
            }
            Class::BudgetExceeded => "Raise the limit that the reason names, or split the task.".to_owned(),
            Class::OomKilled => format!("Give the machine more memory, then {again}."),
            Class::Cancelled => format!("Its work is kept; {again} to continue."),
            Class::Refused => format!("Change the wording of the task, then {again}."),
            Class::Declined | Class::Blocked => format!("Settle what its reason names, then {again}."),
            Class::GateFailed => {
                format!("See the output with `pilot logs {task} --gate NAME`; the work is on the branch.")
            }
            Class::Unknown => format!("See what it left with `pilot logs {task}`, then {again}."),
        }
    }

    /// Whether it is the account's or the machine's failure: the next task would fail in the same way.
    pub fn stops_all_runs(self) -> bool {
        matches!(self, Class::Auth | Class::Billing | Class::InvalidConfig | Class::ModelNotFound)
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
        for class in Class::ALL {
            let next = class.next_step("TASK-1");
            assert!(next.ends_with('.') && next.len() < 100, "{next}");
        }
    }
}
