//! Driving a run: what the engine says is done, and what happened is written down before anything follows from it.

use anyhow::Context;
use pilot_core::pipeline::{
    Action, Ending, Engine, Fact, Pipeline, Question, Role, StepKind, UpdateRules, judge,
};
use pilot_store::{Micros, NewFact, RunId, Store};

use super::ask::{self, Said};
use super::attempt::Bench;
use super::call::{Call, Caller};
use super::place::{Project, RunFolder};
use super::render::{self, World};
use super::view::View;
use super::{items, updates};
use crate::clock;
use crate::task::interrupts::Interrupts;

/// A run under way.
pub(crate) struct Drive<'d> {
    pub(crate) pipeline: &'d Pipeline,
    pub(crate) engine: Engine<'d>,
    pub(crate) store: &'d Store,
    pub(crate) run: &'d RunId,
    /// The number of the next fact.
    pub(crate) seq: u64,
    pub(crate) project: &'d Project,
    pub(crate) folder: &'d RunFolder,
    pub(crate) world: World<'d>,
    pub(crate) caller: Caller<'d>,
    pub(crate) bench: Bench<'d>,
    pub(crate) rules: UpdateRules<'d>,
    pub(crate) view: &'d mut View,
    pub(crate) interrupts: &'d mut Interrupts,
}

/// Why a run stopped.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Everything is done.
    Completed,
    /// A step failed.
    Failed(String),
    /// A person is needed.
    Held(String),
    /// A person stopped it.
    Stopped,
}

/// A fact on its way into the store.
struct Row {
    seq: u64,
    at: Micros,
    step: String,
    json: String,
    decision: String,
    fact: Fact,
}

impl Row {
    async fn write(&self, store: &Store, run: &RunId) -> anyhow::Result<()> {
        let Row { seq, at, step, json, decision, fact: _ } = self;
        let new = NewFact { seq: *seq, at: *at, step, fact: json, decision };
        store.append_fact(run, &new).await.context("write down what happened")
    }
}

/// An attempt that can be started.
struct Ready {
    call: Call,
    input: String,
    role: Role,
    watched: bool,
    wait: std::time::Duration,
}

/// What is to be done, on its own feet: the engine changes meanwhile.
enum Todo {
    Record(Fact),
    Start(Box<Ready>),
    Write,
    Ask(Question),
    Stop(Stop),
}

impl Drive<'_> {
    /// Goes on until the run stops.
    pub(crate) async fn go(&mut self) -> anyhow::Result<Stop> {
        loop {
            let fact = match self.todo() {
                Todo::Stop(stop) => return Ok(stop),
                Todo::Record(fact) => fact,
                Todo::Write => {
                    Fact::Written { failure: updates::place(&self.project.files, self.folder).err() }
                }
                Todo::Ask(question) => match self.ask(&question).await {
                    Ok(fact) => fact,
                    Err(stop) => return Ok(stop),
                },
                Todo::Start(ready) => match self.attempt(*ready).await? {
                    Some(fact) => fact,
                    None => return Ok(Stop::Stopped),
                },
            };
            let written = matches!(fact, Fact::Written { .. });
            self.take(fact).await?;
            if written {
                updates::forget(self.folder);
            }
        }
    }

    /// Takes a fact in and writes it down.
    pub(crate) async fn take(&mut self, fact: Fact) -> anyhow::Result<()> {
        let row = self.decide(fact)?;
        row.write(self.store, self.run).await?;
        self.show(&row)
    }

    /// Takes a fact in; what is to be written down.
    fn decide(&mut self, fact: Fact) -> anyhow::Result<Row> {
        let secrets = self.store.secrets();
        let fact = fact.map_texts(&|text| secrets.redact(text));
        let at = self.engine.at();
        let decision = self.engine.decide(&fact)?;
        let (now, json) = (clock::now(), serde_json::to_string(&fact)?);
        let row = Row { seq: self.seq, at: now, step: at, json, decision, fact };
        self.seq += 1;
        Ok(row)
    }

    /// Tells whoever watches.
    fn show(&mut self, row: &Row) -> anyhow::Result<()> {
        let seconds = u64::try_from(row.at.0 / 1_000_000).unwrap_or(0);
        self.folder.note(seconds % 86_400, &format!("{}: {}", row.step, row.decision));
        self.view.decided(&row.step, &row.fact, &row.decision, self.pipeline, &self.engine)
    }

    fn todo(&self) -> Todo {
        match self.engine.next() {
            Action::Over(Ending::Completed) => Todo::Stop(Stop::Completed),
            Action::Over(Ending::Failed { reason }) => Todo::Stop(Stop::Failed(reason)),
            Action::Write => Todo::Write,
            Action::Ask(question) => Todo::Ask(question.clone()),
            Action::List { over, order } => {
                Todo::Record(match items::list(over, order, &self.world, &self.engine) {
                    Ok(items) => Fact::Listed { items },
                    Err(reason) => Fact::NotReady { reason },
                })
            }
            Action::Start(start) => match self.ready(&start) {
                Ok(ready) => Todo::Start(Box::new(ready)),
                Err(reason) => Todo::Record(Fact::NotReady { reason }),
            },
        }
    }

    /// Everything an attempt needs, or why it cannot be made.
    fn ready(&self, start: &pilot_core::pipeline::Start<'_>) -> Result<Ready, String> {
        let at = self.engine.at();
        let (call, input) = match (&start.step.kind, start.worker) {
            (StepKind::Agent(agent), Some(worker)) => {
                let filled = self.world.fill(&agent.prompt, &self.engine)?;
                let prompt = render::prompt(&filled, start);
                (self.caller.agent(worker, &prompt, &at)?, prompt)
            }
            (StepKind::Shell(shell), _) => {
                (self.caller.shell(shell, &self.world, &self.engine)?, shell.line.text.clone())
            }
            (StepKind::Agent(_) | StepKind::Gate(_) | StepKind::Loop(_), _) => {
                return Err("this step is done by nobody".to_owned());
            }
        };
        Ok(Ready { call, input, role: start.role, watched: start.watched, wait: start.wait })
    }

    /// Makes an attempt; none when a person stopped it.
    async fn attempt(&mut self, ready: Ready) -> anyhow::Result<Option<Fact>> {
        let Ready { call, input, role, watched, wait } = ready;
        if !wait.is_zero() {
            tokio::select! {
                () = self.interrupts.wait() => return Ok(None),
                () = tokio::time::sleep(wait) => {}
            }
        }
        for notice in &call.notices {
            self.view.note(&format!("{}: {notice}", self.engine.at()));
        }
        let before = watched.then(|| self.project.digest()).flatten();
        let row = self.decide(Fact::Started { worker: call.name.clone(), input })?;
        self.show(&row)?;
        // Nothing follows from a beginning, so nobody waits for it to be written down.
        let (written, tried) = tokio::join!(
            row.write(self.store, self.run),
            self.bench.attempt(&call, role, self.interrupts, self.view)
        );
        written?;
        let Some(mut tried) = tried else { return Ok(None) };
        let after = watched.then(|| self.project.digest()).flatten();
        tried.attempt.moved = before.zip(after).map(|(before, after)| before != after);
        if judge(role, &tried.attempt).keeps_data() {
            let place = (self.run.as_str(), self.seq);
            let (marks, texts) = (&tried.attempt.marks, &tried.updates);
            match updates::stage(&self.project.files, self.folder, place, &self.rules, marks, texts) {
                Ok(staged) => tried.attempt.staged = staged,
                Err(refusal) => tried.attempt.refusal = Some(refusal),
            }
        }
        Ok(Some(Fact::Ended { attempt: Box::new(tried.attempt) }))
    }

    /// Asks a person; without an answer the run stops.
    async fn ask(&mut self, question: &Question) -> Result<Fact, Stop> {
        let message = match self.gate_message() {
            Ok(message) => message,
            Err(reason) => return Ok(Fact::NotReady { reason }),
        };
        self.view.leave();
        let at = self.engine.at();
        match ask::ask(&at, question, message.as_deref(), self.interrupts).await {
            Said::Answer(answer) => Ok(Fact::Answered { answer }),
            Said::Nothing => Err(self.held(question)),
            Said::Stopped => Err(Stop::Stopped),
        }
    }

    fn gate_message(&self) -> Result<Option<String>, String> {
        match self.engine.current_step().map(|step| &step.kind) {
            Some(StepKind::Gate(gate)) => {
                gate.message.as_ref().map(|message| self.world.fill(message, &self.engine)).transpose()
            }
            Some(StepKind::Agent(_) | StepKind::Shell(_) | StepKind::Loop(_)) | None => Ok(None),
        }
    }

    fn held(&self, question: &Question) -> Stop {
        let at = self.engine.at();
        Stop::Held(match question {
            Question::Gate => match self.gate_message() {
                Ok(Some(message)) => format!("{at} asks: {message}"),
                Ok(None) | Err(_) => format!("{at} waits for a person's yes"),
            },
            Question::Blocked(text) => format!("{at} is blocked: {text}"),
            Question::Stagnated(why) => format!("{at}: stagnation: {why}"),
        })
    }
}
