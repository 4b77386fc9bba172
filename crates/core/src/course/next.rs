//! What comes next in a run.

use std::time::Duration;

use super::history::{GateEnd, Gated, History, ReviewEnd, Step, WorkEnd};
use crate::outcome::Class;
use crate::retry::{self, Again, Decision, Failure, Place, RetryConfig, Situation};

/// What is settled before the run.
#[derive(Clone, Copy, Debug)]
pub struct Policy<'p> {
    /// What is tried again.
    pub retry: &'p RetryConfig,
    /// Whether commits have gates to pass.
    pub gates: bool,
    /// Whether a commit that passed is looked over.
    pub review: bool,
    /// Whether there is another agent to fall back to.
    pub has_fallback: bool,
    /// Where Pilot runs.
    pub place: Place,
}

/// Now.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// In epoch seconds.
    pub now: u64,
    /// A number from 0 to 1 that nobody can foresee.
    pub jitter: f64,
    /// Since the run began.
    pub elapsed: Duration,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// An agent works.
    Work(Work),
    /// Gates judge this commit.
    Gates {
        /// The commit.
        head: String,
    },
    /// This commit is looked over.
    Review {
        /// The commit.
        head: String,
    },
    /// The run is over.
    End(End),
}

/// An agent's work.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// What for.
    pub task: Task,
    /// How long to wait first.
    pub after: Duration,
    /// Why, as a fragment for people; empty for the first.
    pub why: String,
}

/// What an agent is set to work for.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// The task itself.
    First,
    /// The same once more.
    Again(Again),
    /// To mend what gates found.
    Mend {
        /// Which time this is.
        round: u32,
    },
}

/// How a run ends.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// This commit is the result.
    Done {
        /// The commit; none for an answer.
        head: Option<String>,
        /// Whether later commits are left aside because they did not pass.
        stepped_back: bool,
    },
    /// The verdict on the last work stands.
    AsJudged {
        /// Why nothing more is tried, as a fragment for people.
        why: String,
        /// When another attempt might go better, in epoch seconds.
        not_before: Option<u64>,
    },
    /// Gates did not let it pass.
    Gates {
        /// Why not.
        why: String,
    },
    /// A person ended it.
    Stopped,
}

/// Says what comes next.
pub fn next(history: &History, policy: &Policy<'_>, moment: &Moment) -> Next {
    match history.last() {
        None => Next::Work(Work { task: Task::First, after: Duration::ZERO, why: String::new() }),
        Some(Step::Work(work)) => after_work(work, history, policy, moment),
        Some(Step::Gates(gates)) => after_gates(&gates.head, &gates.said, history, policy),
        Some(Step::Review(review)) => after_review(review, history, policy),
        Some(Step::Stopped) => Next::End(End::Stopped),
    }
}

fn after_work(work: &WorkEnd, history: &History, policy: &Policy<'_>, moment: &Moment) -> Next {
    if work.is_stopped() {
        return Next::End(End::Stopped);
    }
    match (&work.head, work.outcome.class()) {
        (_, Some(class)) => after_failure(class, work, history, policy, moment),
        (None, None) => done(None),
        (Some(head), None) => match history.said_of(head) {
            // Told what is wrong, the agent changed nothing: the verdict on the commit is what it was.
            Some(said) => after_gates(head, said, history, policy),
            None if policy.gates => Next::Gates { head: head.clone() },
            None => after_pass(head, history, policy),
        },
    }
}

fn after_failure(
    class: Class,
    work: &WorkEnd,
    history: &History,
    policy: &Policy<'_>,
    moment: &Moment,
) -> Next {
    let failure = Failure { class, marks: work.marks, reset_at: work.outcome.reset_at() };
    let situation = Situation {
        counters: history.counters(),
        now: moment.now,
        jitter: moment.jitter,
        place: policy.place,
        has_fallback: policy.has_fallback,
        elapsed: moment.elapsed,
    };
    match retry::decide(policy.retry, &failure, &situation) {
        Decision::Again(again) => {
            Next::Work(Work { after: again.after, why: again.why.clone(), task: Task::Again(again) })
        }
        Decision::GiveUp { why, not_before } => Next::End(End::AsJudged { why, not_before }),
    }
}

fn after_gates(head: &str, said: &Gated, history: &History, policy: &Policy<'_>) -> Next {
    match said {
        Gated::Passed => after_pass(head, history, policy),
        Gated::Stopped => Next::End(End::Stopped),
        Gated::Mend { why } | Gated::Failed { why } => match (said, history.passed()) {
            // A reviewer broke what had passed: its advice is not worth the delivery.
            (_, Some(passed)) => Next::End(End::Done { head: Some(passed.to_owned()), stepped_back: true }),
            (Gated::Mend { .. }, None) if history.may_mend(head) => Next::Work(Work {
                task: Task::Mend { round: history.mended() },
                after: Duration::ZERO,
                why: why.clone(),
            }),
            (_, None) => Next::End(End::Gates { why: why.clone() }),
        },
    }
}

fn after_pass(head: &str, history: &History, policy: &Policy<'_>) -> Next {
    if policy.review && !history.was_reviewed() {
        return Next::Review { head: head.to_owned() };
    }
    done(Some(head))
}

fn after_review(review: &ReviewEnd, history: &History, policy: &Policy<'_>) -> Next {
    if review.stopped {
        return Next::End(End::Stopped);
    }
    let unseen = history.said_of(&review.head).is_none();
    if policy.gates && unseen {
        return Next::Gates { head: review.head.clone() };
    }
    done(Some(&review.head))
}

fn done(head: Option<&str>) -> Next {
    Next::End(End::Done { head: head.map(str::to_owned), stepped_back: false })
}

impl History {
    /// Whether an agent that was told about this commit has not yet had its turn.
    fn may_mend(&self, head: &str) -> bool {
        matches!(self.last(), Some(Step::Gates(GateEnd { head: last, .. })) if last == head)
    }
}

#[cfg(test)]
mod tests;
