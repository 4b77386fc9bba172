//! What comes next in a run.

use std::time::Duration;

use super::history::{GateAnswer, GateEnd, History, ReviewAnswer, ReviewEnd, RunStep, WorkEnd};
use crate::outcome::Class;
use crate::retry::{self, Again, FailedAttempt, RetryConfig, RetryDecision, RetryPlace, Situation};

#[derive(Clone, Copy, Debug)]
pub struct RunPolicy<'p> {
    pub retry: &'p RetryConfig,
    pub gates: bool,
    pub review: bool,
    pub has_fallback: bool,
    pub place: RetryPlace,
}

#[derive(Clone, Copy, Debug)]
pub struct RunMoment {
    pub now: u64,
    /// A random number from 0 to 1.
    pub jitter: f64,
    pub elapsed: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub enum NextStep {
    Work(NextWork),
    Gates { head: String },
    Review { head: String },
    End(RunEnd),
}

#[derive(Clone, Debug, PartialEq)]
pub struct NextWork {
    pub task: AgentTask,
    pub after: Duration,
    /// Why, as a fragment for people; empty for the first.
    pub why: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AgentTask {
    First,
    Again(Again),
    Fix { round: u32 },
}

#[derive(Clone, Debug, PartialEq)]
pub enum RunEnd {
    Done {
        /// The commit; none for an answer.
        head: Option<String>,
        /// Whether later commits are left aside because they did not pass.
        stepped_back: bool,
    },
    /// The verdict on the last work is final.
    AsJudged {
        /// Why nothing more is tried, as a fragment for people.
        why: String,
        /// When another attempt might go better, in epoch seconds.
        not_before: Option<u64>,
    },
    Gates {
        why: String,
    },
    Stopped,
}

pub fn next(history: &History, policy: &RunPolicy<'_>, moment: &RunMoment) -> NextStep {
    match history.last() {
        None => {
            NextStep::Work(NextWork { task: AgentTask::First, after: Duration::ZERO, why: String::new() })
        }
        Some(RunStep::Work(work)) => after_work(work, history, policy, moment),
        Some(RunStep::Gates(gates)) => after_gates(&gates.head, &gates.answer, history, policy),
        Some(RunStep::Review(review)) => after_review(review, history, policy),
        Some(RunStep::Stopped) => NextStep::End(RunEnd::Stopped),
    }
}

fn after_work(work: &WorkEnd, history: &History, policy: &RunPolicy<'_>, moment: &RunMoment) -> NextStep {
    if work.is_stopped() {
        return NextStep::End(RunEnd::Stopped);
    }
    match (&work.head, work.outcome.class()) {
        (_, Some(class)) => after_failure(class, work, history, policy, moment),
        (None, None) => done(None),
        (Some(head), None) => match history.answer_for(head) {
            // The agent got the feedback and changed nothing: the answer about the commit is what it was.
            Some(answer) => after_gates(head, answer, history, policy),
            None if policy.gates => NextStep::Gates { head: head.clone() },
            None => after_pass(head, history, policy),
        },
    }
}

fn after_failure(
    class: Class,
    work: &WorkEnd,
    history: &History,
    policy: &RunPolicy<'_>,
    moment: &RunMoment,
) -> NextStep {
    let failure = FailedAttempt { class, marks: work.marks, reset_at: work.outcome.reset_at() };
    let situation = Situation {
        counters: history.counters(),
        now: moment.now,
        jitter: moment.jitter,
        place: policy.place,
        has_fallback: policy.has_fallback,
        elapsed: moment.elapsed,
    };
    match retry::decide(policy.retry, &failure, &situation) {
        RetryDecision::Again(again) => NextStep::Work(NextWork {
            after: again.after,
            why: again.why.clone(),
            task: AgentTask::Again(again),
        }),
        RetryDecision::GiveUp { why, not_before } => NextStep::End(RunEnd::AsJudged { why, not_before }),
    }
}

fn after_gates(head: &str, answer: &GateAnswer, history: &History, policy: &RunPolicy<'_>) -> NextStep {
    match answer {
        GateAnswer::Passed => after_pass(head, history, policy),
        GateAnswer::Stopped => NextStep::End(RunEnd::Stopped),
        GateAnswer::Fix { why } | GateAnswer::Failed { why } => match (answer, history.passed()) {
            // A reviewer broke what had passed: its commits are not worth the delivery.
            (_, Some(passed)) => {
                NextStep::End(RunEnd::Done { head: Some(passed.to_owned()), stepped_back: true })
            }
            (GateAnswer::Fix { .. }, None) if history.may_fix(head) => NextStep::Work(NextWork {
                task: AgentTask::Fix { round: history.fixes() },
                after: Duration::ZERO,
                why: why.clone(),
            }),
            (_, None) => NextStep::End(RunEnd::Gates { why: why.clone() }),
        },
    }
}

fn after_pass(head: &str, history: &History, policy: &RunPolicy<'_>) -> NextStep {
    if policy.review && history.wants_review() {
        return NextStep::Review { head: head.to_owned() };
    }
    done(Some(head))
}

fn after_review(review: &ReviewEnd, history: &History, policy: &RunPolicy<'_>) -> NextStep {
    match review.answer {
        ReviewAnswer::Stopped => return NextStep::End(RunEnd::Stopped),
        ReviewAnswer::Read | ReviewAnswer::Unreadable => {}
    }
    let unseen = history.answer_for(&review.head).is_none();
    if policy.gates && unseen {
        return NextStep::Gates { head: review.head.clone() };
    }
    after_pass(&review.head, history, policy)
}

fn done(head: Option<&str>) -> NextStep {
    NextStep::End(RunEnd::Done { head: head.map(str::to_owned), stepped_back: false })
}

impl History {
    /// Whether the agent has not yet been asked to fix this commit.
    fn may_fix(&self, head: &str) -> bool {
        matches!(self.last(), Some(RunStep::Gates(GateEnd { head: last, .. })) if last == head)
    }
}

#[cfg(test)]
mod tests;
