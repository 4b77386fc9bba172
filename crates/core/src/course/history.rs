//! What happened in a run.

use crate::outcome::{Class, Outcome};
use crate::retry::{Counter, Counters, Marks};

/// Everything that happened, in order.
#[derive(Clone, Debug, Default)]
pub struct History {
    steps: Vec<Step>,
    counters: Counters,
}

/// Something that is over.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// An agent worked.
    Work(WorkEnd),
    /// Gates judged a commit.
    Gates(GateEnd),
    /// A commit was looked over.
    Review(ReviewEnd),
    /// A person ended the run while nobody worked.
    Stopped,
}

/// What an agent's work came to.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkEnd {
    /// The verdict on it.
    pub outcome: Outcome,
    /// The commit that is the result so far; none when nothing differs from the base.
    pub head: Option<String>,
    /// Whether its last marks can be read.
    pub marks: Marks,
}

/// What gates said about a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateEnd {
    /// The commit.
    pub head: String,
    /// What they said.
    pub said: Gated,
}

/// What gates said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gated {
    /// It may be delivered.
    Passed,
    /// It may not, and whoever made it may mend it.
    Mend {
        /// Why not.
        why: String,
    },
    /// It may not.
    Failed {
        /// Why not.
        why: String,
    },
    /// A person ended them.
    Stopped,
}

/// What a look over a commit came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewEnd {
    /// The commit that is the result now; another one when the reviewer mended something.
    pub head: String,
    /// Whether a person ended it.
    pub stopped: bool,
}

impl History {
    /// Nothing happened yet. A task that was tried before keeps its counters.
    pub fn new(counters: Counters) -> History {
        History { steps: Vec::new(), counters }
    }

    /// Something is over.
    pub fn add(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Another attempt begins; it counts before it starts.
    pub fn count(&mut self, counter: Counter) {
        self.counters.add(counter);
    }

    /// The attempts after the first.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What was over last.
    pub fn last(&self) -> Option<&Step> {
        self.steps.last()
    }

    /// How often gates sent a commit back to be mended.
    pub fn mended(&self) -> u32 {
        let back = |step: &&Step| matches!(step, Step::Gates(GateEnd { said: Gated::Mend { .. }, .. }));
        u32::try_from(self.steps.iter().filter(back).count()).unwrap_or(u32::MAX)
    }

    /// The last verdict on the last work.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.steps.iter().rev().find_map(|step| match step {
            Step::Work(work) => Some(&work.outcome),
            Step::Gates(_) | Step::Review(_) | Step::Stopped => None,
        })
    }

    pub(super) fn was_reviewed(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Review(_)))
    }

    /// The last commit that its gates let pass.
    pub(super) fn passed(&self) -> Option<&str> {
        self.steps.iter().rev().find_map(|step| match step {
            Step::Gates(GateEnd { head, said: Gated::Passed }) => Some(head.as_str()),
            Step::Work(_) | Step::Gates(_) | Step::Review(_) | Step::Stopped => None,
        })
    }

    /// What gates said about this commit when they last saw it.
    pub(super) fn said_of(&self, commit: &str) -> Option<&Gated> {
        self.steps.iter().rev().find_map(|step| match step {
            Step::Gates(GateEnd { head, said }) if head == commit => Some(said),
            Step::Work(_) | Step::Gates(_) | Step::Review(_) | Step::Stopped => None,
        })
    }
}

impl WorkEnd {
    pub(super) fn is_stopped(&self) -> bool {
        self.outcome.class() == Some(Class::Cancelled)
    }
}
