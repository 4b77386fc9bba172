//! The engine: facts in, the next action out. Pure, so that a run is continued by replaying its facts.
//!
//! ```text
//! settle ─► next() ─► the driver acts ─► decide(fact) ─► settle ─► …
//! ```
//!
//! Its position is a stack of loops, at one step of the innermost one. What waits for the world (a list of files, an attempt, a
//! person) is an [`EngineAction`]; everything else, conditions and rounds and verdicts, it settles itself. A fact that does not fit
//! the position is an error: then the file is not the one the run was begun with.

mod apply;
mod place;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use super::attempt::MarkNote;
use super::fact::{LoopItem, RunFact};
use super::file::{ItemOrder, Over, Pipeline, PipelineStep, StepKind, Turns, Worker};
use super::verdict::StepRole;
use crate::text::word_enum;

#[derive(Clone, Debug)]
pub struct Engine<'p> {
    pipeline: &'p Pipeline,
    inputs: &'p BTreeMap<String, String>,
    frames: Vec<LoopFrame>,
    position: Position,
    emits: BTreeMap<String, String>,
    records: Vec<StepRecord>,
    /// Whether a pause is due before the next attempt.
    pause: bool,
}

/// One list of steps that is gone through.
#[derive(Clone, Debug)]
struct LoopFrame {
    /// The loop's place in the file; empty at the top.
    path: Vec<usize>,
    next: usize,
    /// The step behind the last.
    end: usize,
    turn: LoopTurn,
}

#[derive(Clone, Debug)]
enum LoopTurn {
    Top,
    Items { items: Vec<LoopItem>, at: usize },
    Rounds(LoopRounds),
}

#[derive(Clone, Debug, Default)]
struct LoopRounds {
    round: u32,
    granted: u32,
    /// What was complained about, by round.
    feedback: Vec<(u32, String)>,
    approved: BTreeSet<usize>,
    /// How often each complaint came, since the last help.
    complaints: BTreeMap<String, u32>,
    /// The last fix changed nothing.
    stalled: bool,
    /// Another agent fixes now.
    escalated: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Position {
    Before,
    /// A loop looks for what it goes over.
    Listing,
    /// An attempt is due, or runs.
    Trying(DueAttempt),
    /// Its updates are put into place, then this holds.
    Writing(super::verdict::StepVerdict, DueAttempt),
    Asking(Question),
    Halted(Halt),
    Done,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct DueAttempt {
    /// From 1, for this worker.
    number: u32,
    who: WorkerChoice,
    reminded: bool,
    /// The agent's question and the user's answer.
    answer: Option<(String, String)>,
    after: Option<super::attempt::AttemptFailure>,
}

impl DueAttempt {
    fn first(who: WorkerChoice) -> DueAttempt {
        DueAttempt { number: 1, who, ..DueAttempt::default() }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WorkerChoice {
    #[default]
    First,
    Fallback,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    Gate,
    /// What an agent needs.
    Blocked(String),
    Stagnated(String),
}

#[derive(Clone, Debug, PartialEq)]
struct Halt {
    reason: String,
    kind: HaltKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HaltKind {
    Step,
    /// The loop around it has no rounds left.
    Exhausted,
    /// The loop around it makes no progress.
    Stagnated,
}

#[derive(Clone, Debug)]
pub enum EngineAction<'e> {
    List {
        over: &'e Over,
        order: ItemOrder,
    },
    Start(Start<'e>),
    /// Put the updates of the last attempt into place.
    Write,
    Ask(&'e Question),
    /// Nothing: the run is over, at least for now.
    Over(PipelineEnding),
}

#[derive(Clone, Debug)]
pub struct Start<'e> {
    pub step: &'e PipelineStep,
    pub role: StepRole,
    /// The worker; a shell step has none.
    pub worker: Option<&'e Worker>,
    pub attempt: u32,
    pub wait: Duration,
    /// Whether a reviewer is reminded that a verdict is wanted.
    pub reminded: bool,
    /// The agent's question and the user's answer.
    pub answer: Option<&'e (String, String)>,
    /// Whether to check if the attempt changes the project.
    pub watched: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineEnding {
    Completed,
    Failed { reason: String },
}

/// What became of one step, once.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRecord {
    /// Where it stood, rounds and items included.
    pub at: String,
    pub id: String,
    /// How deep in loops.
    pub depth: usize,
    pub kind: &'static str,
    pub status: StepStatus,
    pub words: String,
    pub attempts: u32,
    pub duration_ms: u64,
    /// What they cost, when they said so.
    pub cost_usd: Option<f64>,
    pub tokens: Option<u64>,
    /// Marks that did not count.
    pub notes: Vec<MarkNote>,
}

impl StepRecord {
    pub fn more(&self) -> &str {
        let rest = self.words.strip_prefix(self.status.as_str());
        match rest {
            Some("") => "",
            Some(rest) => rest.strip_prefix(": ").unwrap_or(&self.words),
            None => &self.words,
        }
    }
}

word_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StepStatus {
        Running = "running",
        /// It waits for the user.
        Waiting = "waiting",
        Completed = "completed",
        /// There was nothing to do, or its condition did not hold.
        Skipped = "skipped",
        Approved = "approved",
        Rejected = "rejected",
        Failed = "failed",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnexpectedFact {
    pub at: String,
    pub fact: &'static str,
}

impl fmt::Display for UnexpectedFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "replay {} at {}: the run is at another step", self.fact, self.at)
    }
}

impl std::error::Error for UnexpectedFact {}

impl<'p> Engine<'p> {
    /// A run at its first step. `inputs` holds a value for every input.
    pub fn new(pipeline: &'p Pipeline, inputs: &'p BTreeMap<String, String>) -> Engine<'p> {
        let top = LoopFrame { path: Vec::new(), next: 0, end: pipeline.steps.len(), turn: LoopTurn::Top };
        let mut engine = Engine {
            pipeline,
            inputs,
            frames: vec![top],
            position: Position::Before,
            emits: BTreeMap::new(),
            records: Vec::new(),
            pause: false,
        };
        engine.settle();
        engine
    }

    pub fn replay<'f>(
        pipeline: &'p Pipeline,
        inputs: &'p BTreeMap<String, String>,
        facts: impl IntoIterator<Item = &'f RunFact>,
    ) -> Result<Engine<'p>, UnexpectedFact> {
        let mut engine = Engine::new(pipeline, inputs);
        for fact in facts {
            engine.decide(fact)?;
        }
        Ok(engine)
    }

    pub fn decide(&mut self, fact: &RunFact) -> Result<String, UnexpectedFact> {
        let misfit = UnexpectedFact { at: self.at(), fact: fact.as_str() };
        let decision = self.apply(fact).ok_or(misfit)?;
        self.settle();
        Ok(decision)
    }

    pub fn next(&self) -> EngineAction<'_> {
        match &self.position {
            Position::Listing => self.list(),
            Position::Trying(attempt) => self.start(attempt),
            Position::Writing(..) => EngineAction::Write,
            Position::Asking(question) => EngineAction::Ask(question),
            Position::Halted(halt) => {
                EngineAction::Over(PipelineEnding::Failed { reason: halt.reason.clone() })
            }
            // Before a step nothing stays for longer than a decision.
            Position::Before | Position::Done => EngineAction::Over(PipelineEnding::Completed),
        }
    }

    /// Whether a restart by the user retries the current step: it failed, or an agent needed help.
    pub fn resumes_by_trying_again(&self) -> bool {
        matches!(self.position, Position::Halted(_) | Position::Asking(Question::Blocked(_)))
    }

    pub fn emits(&self) -> &BTreeMap<String, String> {
        &self.emits
    }

    pub fn current_step(&self) -> Option<&'p PipelineStep> {
        self.step()
    }

    pub fn inputs(&self) -> &BTreeMap<String, String> {
        self.inputs
    }

    pub fn records(&self) -> &[StepRecord] {
        &self.records
    }

    fn list(&self) -> EngineAction<'_> {
        if let Some(StepKind::Loop(inner)) = self.step().map(|step| &step.kind)
            && let Turns::Over { over, order, .. } = &inner.turns
        {
            return EngineAction::List { over, order: *order };
        }
        EngineAction::Over(PipelineEnding::Completed)
    }

    fn start<'e>(&'e self, attempt: &'e DueAttempt) -> EngineAction<'e> {
        let Some(step) = self.step() else { return EngineAction::Over(PipelineEnding::Completed) };
        let role = self.role(step);
        EngineAction::Start(Start {
            step,
            role,
            worker: self.worker(step, attempt),
            attempt: attempt.number,
            wait: self.wait(attempt),
            reminded: attempt.reminded,
            answer: attempt.answer.as_ref(),
            watched: role == StepRole::Work || (role == StepRole::Shell && self.rounds().is_some()),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named<'v> {
    Text(Cow<'v, str>),
    /// The text of a file that a prompt names.
    File(&'v str),
    /// The text of a file that a loop goes over, by its path in the project.
    Item(&'v str),
    Agent(&'v str),
    /// A value from git or the run's folder: the branch, the diff, the progress file.
    Project(&'v str),
}
