//! What happened in a run.

use crate::outcome::{Class, Outcome};
use crate::retry::{Counter, LastMarks, RetryCounters};

/// A review that cannot be read is asked for once more.
const MOST_REVIEWS: usize = 2;

#[derive(Clone, Debug, Default)]
pub struct History {
    steps: Vec<RunStep>,
    counters: RetryCounters,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RunStep {
    Work(WorkEnd),
    Gates(GateEnd),
    Review(ReviewEnd),
    /// The user ended the run between sessions.
    Stopped,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WorkEnd {
    pub outcome: Outcome,
    /// The commit that is the result so far; none when nothing differs from the base.
    pub head: Option<String>,
    /// Whether its last marks can be read.
    pub marks: LastMarks,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateEnd {
    pub head: String,
    pub answer: GateAnswer,
}

/// After `Fix` the agent may try again, after `Failed` it may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateAnswer {
    Passed,
    Fix { why: String },
    Failed { why: String },
    Stopped,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewEnd {
    /// The commit that is the result now; another one when the reviewer changed something.
    pub head: String,
    pub answer: ReviewAnswer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewAnswer {
    Read,
    Unreadable,
    Stopped,
}

impl History {
    /// A task that was tried before keeps its counters.
    pub fn new(counters: RetryCounters) -> History {
        History { steps: Vec::new(), counters }
    }

    pub fn add(&mut self, step: RunStep) {
        self.steps.push(step);
    }

    /// Counts a retry, before it starts.
    pub fn count(&mut self, counter: Counter) {
        self.counters.add(counter);
    }

    pub fn counters(&self) -> &RetryCounters {
        &self.counters
    }

    pub fn last(&self) -> Option<&RunStep> {
        self.steps.last()
    }

    /// How often gates sent a commit back to the agent.
    pub fn fixes(&self) -> u32 {
        let back = self.gates().filter(|end| matches!(end.answer, GateAnswer::Fix { .. }));
        u32::try_from(back.count()).unwrap_or(u32::MAX)
    }

    pub fn outcome(&self) -> Option<&Outcome> {
        let mut steps = self.steps.iter().rev();
        steps.find_map(|step| if let RunStep::Work(work) = step { Some(&work.outcome) } else { None })
    }

    /// Whether a reviewer is still wanted: no answer was read, and not too many were asked.
    pub(super) fn wants_review(&self) -> bool {
        let reviews = self
            .steps
            .iter()
            .filter_map(|step| if let RunStep::Review(end) = step { Some(end) } else { None });
        let answers: Vec<ReviewAnswer> = reviews.map(|end| end.answer).collect();
        answers.len() < MOST_REVIEWS && answers.iter().all(|answer| *answer == ReviewAnswer::Unreadable)
    }

    pub(super) fn passed(&self) -> Option<&str> {
        self.gates().find(|end| end.answer == GateAnswer::Passed).map(|end| end.head.as_str())
    }

    pub(super) fn answer_for(&self, commit: &str) -> Option<&GateAnswer> {
        self.gates().find(|end| end.head == commit).map(|end| &end.answer)
    }

    /// The answers of the gates, the last first.
    fn gates(&self) -> impl Iterator<Item = &GateEnd> {
        self.steps
            .iter()
            .rev()
            .filter_map(|step| if let RunStep::Gates(end) = step { Some(end) } else { None })
    }
}

impl WorkEnd {
    pub(super) fn is_stopped(&self) -> bool {
        self.outcome.class() == Some(Class::Cancelled)
    }
}
