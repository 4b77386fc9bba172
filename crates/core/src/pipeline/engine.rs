//! The engine: facts in, the next action out. Pure, so that a run can be gone on with by taking its facts again.
//!
//! ```text
//! settle ─► next() ─► somebody acts ─► decide(fact) ─► settle ─► …
//! ```
//!
//! It stands in a stack of loops, at one step of the innermost one. What waits for the world (a list of files, an attempt, a
//! person) is an [`Action`]; everything else, conditions and rounds and verdicts, it settles itself. A fact that does not fit
//! where it stands is an error: then the file is not the one the run was begun with.

mod apply;
mod place;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::attempt::Note;
use super::fact::{Fact, Item};
use super::file::{Order, Over, Pipeline, Step, StepKind, Worker};
use super::judge::Role;

/// The state of a run.
#[derive(Clone, Debug)]
pub struct Engine<'p> {
    pipeline: &'p Pipeline,
    inputs: &'p BTreeMap<String, String>,
    frames: Vec<Frame>,
    stand: Stand,
    emits: BTreeMap<String, String>,
    records: Vec<Record>,
    /// Whether a pause is due before the next attempt.
    pause: bool,
}

/// One list of steps that is gone through.
#[derive(Clone, Debug)]
struct Frame {
    /// The loop's place in the file; empty at the top.
    path: Vec<usize>,
    /// The current step.
    next: usize,
    /// The step behind the last.
    end: usize,
    turn: Turn,
}

/// Which time it is gone through.
#[derive(Clone, Debug)]
enum Turn {
    Top,
    Items { items: Vec<Item>, at: usize },
    Rounds(Rounds),
}

/// The rounds of a loop that ends by a verdict.
#[derive(Clone, Debug, Default)]
struct Rounds {
    round: u32,
    /// The last round there may be.
    granted: u32,
    /// What was complained about, by round.
    feedback: Vec<(u32, String)>,
    /// The reviewers that approved in this round.
    approved: BTreeSet<usize>,
    /// How often each complaint came, since somebody last helped.
    complaints: BTreeMap<String, u32>,
    /// The last fix changed nothing.
    stalled: bool,
    /// Another agent fixes now.
    escalated: bool,
}

/// Where the engine stands at the current step.
#[derive(Clone, Debug, PartialEq)]
enum Stand {
    /// Before it.
    Before,
    /// A loop looks for what it goes over.
    Listing,
    /// An attempt is due, or runs.
    Trying(Try),
    /// Its updates are put into place, then this holds.
    Writing(super::judge::Verdict, Try),
    /// A person is asked.
    Asking(Question),
    /// It failed.
    Halted(Halt),
    /// Everything is done.
    Done,
}

/// An attempt that is due.
#[derive(Clone, Debug, Default, PartialEq)]
struct Try {
    /// From 1, for this worker.
    number: u32,
    who: Who,
    reminded: bool,
    /// What an agent asked, and what a person answered.
    answer: Option<(String, String)>,
    /// What failed before.
    after: Option<super::attempt::Failure>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Who {
    #[default]
    First,
    Fallback,
}

/// What a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether to go on.
    Gate,
    /// What an agent needs.
    Blocked(String),
    /// Whether to go on though a loop gets nowhere.
    Stagnated(String),
}

#[derive(Clone, Debug, PartialEq)]
struct Halt {
    reason: String,
    kind: HaltKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HaltKind {
    /// The step itself.
    Step,
    /// The loop around it has no rounds left.
    Exhausted,
    /// The loop around it gets nowhere.
    Stagnated,
}

/// What is to be done next.
#[derive(Clone, Debug)]
pub enum Action<'e> {
    /// Find what a loop goes over.
    List {
        /// What.
        over: &'e Over,
        /// In which order.
        order: Order,
    },
    /// Put somebody to work.
    Start(Start<'e>),
    /// Put the updates of the last attempt into place.
    Write,
    /// Ask a person.
    Ask(&'e Question),
    /// Nothing: the run is over, at least for now.
    Over(Ending),
}

/// An attempt to be made.
#[derive(Clone, Debug)]
pub struct Start<'e> {
    /// The step.
    pub step: &'e Step,
    /// What is expected of it.
    pub role: Role,
    /// Who does it; a shell step has nobody.
    pub worker: Option<&'e Worker>,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// How long to wait before.
    pub wait: Duration,
    /// Whether a reviewer is reminded that a verdict is wanted.
    pub reminded: bool,
    /// What the agent asked a person, and the answer.
    pub answer: Option<&'e (String, String)>,
    /// Whether somebody has to look if the project changes meanwhile.
    pub watched: bool,
}

/// How a run ended, or where it stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every step is done.
    Completed,
    /// A step failed.
    Failed {
        /// Why.
        reason: String,
    },
}

/// What became of one step, once.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Where it stood, rounds and items included.
    pub at: String,
    /// The step.
    pub id: String,
    /// How deep in loops.
    pub depth: usize,
    /// What it is.
    pub kind: &'static str,
    /// What became of it.
    pub status: Status,
    /// In words.
    pub words: String,
    /// How many attempts it took.
    pub attempts: u32,
    /// How long they took.
    pub duration_ms: u64,
    /// What they cost, when they said so.
    pub cost_usd: Option<f64>,
    /// Tokens they used, when they said so.
    pub tokens: Option<u64>,
    /// Marks that did not count.
    pub notes: Vec<Note>,
}

impl Record {
    /// What the words say beyond the status.
    pub fn more(&self) -> &str {
        let rest = self.words.strip_prefix(self.status.as_str());
        match rest {
            Some("") => "",
            Some(rest) => rest.strip_prefix(": ").unwrap_or(&self.words),
            None => &self.words,
        }
    }
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is under way.
    Running,
    /// It waits for a person.
    Waiting,
    /// It is done.
    Completed,
    /// There was nothing to do, or its condition did not hold.
    Skipped,
    /// A review passed.
    Approved,
    /// A review failed.
    Rejected,
    /// It failed.
    Failed,
}

impl Status {
    /// As it is reported.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Waiting => "waiting",
            Status::Completed => "completed",
            Status::Skipped => "skipped",
            Status::Approved => "approved",
            Status::Rejected => "rejected",
            Status::Failed => "failed",
        }
    }
}

/// A fact that does not fit where the run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The step.
    pub at: String,
    /// The fact.
    pub fact: &'static str,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "take {} at {}: the run does not stand there", self.fact, self.at)
    }
}

impl std::error::Error for Misfit {}

impl<'p> Engine<'p> {
    /// A run at its first step. `inputs` holds a value for every input.
    pub fn new(pipeline: &'p Pipeline, inputs: &'p BTreeMap<String, String>) -> Engine<'p> {
        let top = Frame { path: Vec::new(), next: 0, end: pipeline.steps.len(), turn: Turn::Top };
        let mut engine = Engine {
            pipeline,
            inputs,
            frames: vec![top],
            stand: Stand::Before,
            emits: BTreeMap::new(),
            records: Vec::new(),
            pause: false,
        };
        engine.settle();
        engine
    }

    /// A run as its facts left it.
    pub fn replay<'f>(
        pipeline: &'p Pipeline,
        inputs: &'p BTreeMap<String, String>,
        facts: impl IntoIterator<Item = &'f Fact>,
    ) -> Result<Engine<'p>, Misfit> {
        let mut engine = Engine::new(pipeline, inputs);
        for fact in facts {
            engine.decide(fact)?;
        }
        Ok(engine)
    }

    /// Takes in a fact and says, in words, what was decided.
    pub fn decide(&mut self, fact: &Fact) -> Result<String, Misfit> {
        let misfit = Misfit { at: self.at(), fact: fact.as_str() };
        let decision = self.apply(fact).ok_or(misfit)?;
        self.settle();
        Ok(decision)
    }

    /// What is to be done now.
    pub fn next(&self) -> Action<'_> {
        match &self.stand {
            Stand::Listing => self.list(),
            Stand::Trying(attempt) => self.start(attempt),
            Stand::Writing(..) => Action::Write,
            Stand::Asking(question) => Action::Ask(question),
            Stand::Halted(halt) => Action::Over(Ending::Failed { reason: halt.reason.clone() }),
            // Before a step nothing stays for longer than a decision.
            Stand::Before | Stand::Done => Action::Over(Ending::Completed),
        }
    }

    /// Whether a person who starts the run again starts the current step again: it failed, or an agent needed help.
    pub fn resumes_by_trying_again(&self) -> bool {
        matches!(self.stand, Stand::Halted(_) | Stand::Asking(Question::Blocked(_)))
    }

    /// What was emitted so far.
    pub fn emits(&self) -> &BTreeMap<String, String> {
        &self.emits
    }

    /// The step where the run stands.
    pub fn current_step(&self) -> Option<&'p Step> {
        self.step()
    }

    /// The value of every input.
    pub fn inputs(&self) -> &BTreeMap<String, String> {
        self.inputs
    }

    /// What became of every step, in order; the current one last.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    fn list(&self) -> Action<'_> {
        match self.step().map(|step| &step.kind) {
            Some(StepKind::Loop(inner)) => match &inner.turns {
                super::file::Turns::Over { over, order, .. } => Action::List { over, order: *order },
                super::file::Turns::Until { .. } => Action::Over(Ending::Completed),
            },
            Some(StepKind::Agent(_) | StepKind::Shell(_) | StepKind::Gate(_)) | None => {
                Action::Over(Ending::Completed)
            }
        }
    }

    fn start(&self, attempt: &Try) -> Action<'_> {
        let Some(step) = self.step() else { return Action::Over(Ending::Completed) };
        let role = self.role(step);
        Action::Start(Start {
            step,
            role,
            worker: self.worker(step, attempt),
            attempt: attempt.number,
            wait: self.wait(attempt),
            reminded: attempt.reminded,
            answer: self.answer(),
            watched: role == Role::Work || (role == Role::Shell && self.rounds().is_some()),
        })
    }

    fn answer(&self) -> Option<&(String, String)> {
        match &self.stand {
            Stand::Trying(attempt) => attempt.answer.as_ref(),
            Stand::Before
            | Stand::Listing
            | Stand::Writing(..)
            | Stand::Asking(_)
            | Stand::Halted(_)
            | Stand::Done => None,
        }
    }
}

/// What a name in a template stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named<'v> {
    /// This text.
    Text(Cow<'v, str>),
    /// The text of a file that a prompt names.
    File(&'v str),
    /// The text of a file that a loop goes over, by its path in the project.
    Item(&'v str),
    /// A named agent.
    Agent(&'v str),
    /// Something only the world knows: the branch, the difference, the progress file.
    World(&'v str),
}
