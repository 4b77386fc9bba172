//! Driving a pipeline: the engine says what comes next, this does it, and every fact is stored before anything follows from it.

use anyhow::Context;
use pilot_core::budget::Shortage;
use pilot_core::pipeline::{
    Engine, EngineAction, Pipeline, PipelineEnding, Question, RunFact, StepKind, StepRole, UpdateRules,
    judge_attempt,
};
use pilot_core::time::Timestamp;
use pilot_store::{NewFact, RunId, Store};

use super::ask::{self, TerminalReply};
use super::attempt::make_attempt;
use super::call::{StepCall, StepCaller};
use super::cost::StepCost;
use super::place::{PipelineProject, RunFolder};
use super::render::{self, TemplateValues};
use super::view::PipelineView;
use super::{items, updates};
use crate::agent::call::Launcher;
use crate::agent::interrupts::Interrupts;
use crate::clock;

pub(crate) struct PipelineDriver<'d> {
    pub(crate) pipeline: &'d Pipeline,
    pub(crate) engine: Engine<'d>,
    pub(crate) store: &'d Store,
    pub(crate) run: &'d RunId,
    pub(crate) seq: u64,
    pub(crate) project: &'d PipelineProject,
    pub(crate) folder: &'d RunFolder,
    pub(crate) values: TemplateValues<'d>,
    pub(crate) caller: StepCaller<'d>,
    pub(crate) launcher: Launcher<'d>,
    pub(crate) rules: UpdateRules<'d>,
    pub(crate) view: &'d mut PipelineView,
    pub(crate) interrupts: &'d mut Interrupts,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PipelineStop {
    Completed,
    Failed(String),
    /// The run needs an answer of the user.
    Held(String),
    /// The next step does not fit into the budget.
    OverBudget(String),
    Stopped,
}

/// A fact on its way into the store.
struct FactRow {
    seq: u64,
    at: Timestamp,
    step: String,
    json: String,
    decision: String,
    fact: RunFact,
}

impl FactRow {
    async fn write(&self, store: &Store, run: &RunId) -> anyhow::Result<()> {
        let FactRow { seq, at, step, json, decision, fact: _ } = self;
        let new = NewFact { seq: *seq, at: *at, step, fact: json, decision };
        store.append_fact(run, &new).await.context("store what happened")
    }
}

struct ReadyAttempt {
    call: StepCall,
    input: String,
    role: StepRole,
    watched: bool,
    wait: std::time::Duration,
}

/// The next action without a borrow of the engine, which changes meanwhile.
enum NextAction {
    Store(RunFact),
    Start(Box<ReadyAttempt>),
    Write,
    Ask(Question),
    Stop(PipelineStop),
}

impl<'d> PipelineDriver<'d> {
    pub(crate) async fn drive(&mut self) -> anyhow::Result<PipelineStop> {
        loop {
            let fact = match self.next_action() {
                NextAction::Stop(stop) => return Ok(stop),
                NextAction::Store(fact) => fact,
                NextAction::Write => {
                    RunFact::Written { failure: updates::place(&self.project.files, self.folder).err() }
                }
                NextAction::Ask(question) => match self.ask(&question).await {
                    Ok(fact) => fact,
                    Err(stop) => return Ok(stop),
                },
                NextAction::Start(ready) => match self.attempt(*ready).await? {
                    Ok(fact) => fact,
                    Err(stop) => return Ok(stop),
                },
            };
            let written = matches!(fact, RunFact::Written { .. });
            self.take_fact(fact).await?;
            if written {
                updates::forget(self.folder);
            }
        }
    }

    /// Decides on a fact and stores it.
    pub(crate) async fn take_fact(&mut self, fact: RunFact) -> anyhow::Result<()> {
        let row = self.decide(fact)?;
        row.write(self.store, self.run).await?;
        self.show(&row)
    }

    fn decide(&mut self, fact: RunFact) -> anyhow::Result<FactRow> {
        let secrets = self.store.secrets();
        let fact = fact.map_texts(&|text| secrets.redact(text));
        let at = self.engine.at();
        let decision = self.engine.decide(&fact)?;
        let (now, json) = (clock::now(), serde_json::to_string(&fact)?);
        let row = FactRow { seq: self.seq, at: now, step: at, json, decision, fact };
        self.seq += 1;
        Ok(row)
    }

    fn show(&mut self, row: &FactRow) -> anyhow::Result<()> {
        let seconds = u64::try_from(row.at.0 / 1_000_000).unwrap_or(0);
        self.folder.note(seconds % 86_400, &format!("{}: {}", row.step, row.decision));
        self.view.show_decision(&row.step, &row.fact, &row.decision, self.pipeline, &self.engine)
    }

    fn next_action(&self) -> NextAction {
        match self.engine.next() {
            EngineAction::Over(PipelineEnding::Completed) => NextAction::Stop(PipelineStop::Completed),
            EngineAction::Over(PipelineEnding::Failed { reason }) => {
                NextAction::Stop(PipelineStop::Failed(reason))
            }
            EngineAction::Write => NextAction::Write,
            EngineAction::Ask(question) => NextAction::Ask(question.clone()),
            EngineAction::List { over, order } => {
                NextAction::Store(match items::list(over, order, &self.values, &self.engine) {
                    Ok(items) => RunFact::Listed { items },
                    Err(reason) => RunFact::NotReady { reason },
                })
            }
            EngineAction::Start(start) => match self.ready(&start) {
                Ok(ready) => NextAction::Start(Box::new(ready)),
                Err(reason) => NextAction::Store(RunFact::NotReady { reason }),
            },
        }
    }

    fn ready(&self, start: &pilot_core::pipeline::Start<'_>) -> Result<ReadyAttempt, String> {
        let at = self.engine.at();
        let (call, input) = match (&start.step.kind, start.worker) {
            (StepKind::Agent(agent), Some(worker)) => {
                let filled = self.values.fill(&agent.prompt, &self.engine)?;
                let prompt = render::prompt(&filled, start);
                (self.caller.agent(worker, &prompt, &at)?, prompt)
            }
            (StepKind::Shell(shell), _) => {
                (self.caller.shell(shell, &self.values, &self.engine)?, shell.line.text.clone())
            }
            (StepKind::Agent(_) | StepKind::Gate(_) | StepKind::Loop(_), _) => {
                return Err("this step has no worker".to_owned());
            }
        };
        Ok(ReadyAttempt { call, input, role: start.role, watched: start.watched, wait: start.wait })
    }

    /// Makes an attempt, unless the user or the budget stops it.
    async fn attempt(&mut self, ready: ReadyAttempt) -> anyhow::Result<Result<RunFact, PipelineStop>> {
        let ReadyAttempt { call, input, role, watched, wait } = ready;
        if !wait.is_zero() {
            tokio::select! {
                () = self.interrupts.wait() => return Ok(Err(PipelineStop::Stopped)),
                () = tokio::time::sleep(wait) => {}
            }
        }
        let cost = match self.admit(role).await? {
            Ok(cost) => cost,
            Err(shortage) => return Ok(Err(PipelineStop::OverBudget(shortage.words()))),
        };
        for notice in &call.notices {
            self.view.note(&format!("{}: {notice}", self.engine.at()));
        }
        let before = watched.then(|| self.project.digest()).flatten();
        let row = self.decide(RunFact::Started { worker: call.name.clone(), input })?;
        self.show(&row)?;
        // Nothing follows from a start, so the attempt does not wait for its row.
        let patterns = &self.pipeline.error_patterns;
        let (stored, attempt) = tokio::join!(
            row.write(self.store, self.run),
            make_attempt(&self.launcher, patterns, &call, (role, cost), self.interrupts, self.view)
        );
        stored?;
        let Some((mut attempt, texts)) = attempt else { return Ok(Err(PipelineStop::Stopped)) };
        let after = watched.then(|| self.project.digest()).flatten();
        attempt.moved = before.zip(after).map(|(before, after)| before != after);
        if judge_attempt(role, &attempt).keeps_data() {
            let place = (self.run.as_str(), self.seq);
            let marks = &attempt.marks;
            match updates::stage(&self.project.files, self.folder, place, &self.rules, marks, &texts) {
                Ok(staged) => attempt.staged = staged,
                Err(refusal) => attempt.refusal = Some(refusal),
            }
        }
        Ok(Ok(RunFact::Ended { attempt: Box::new(attempt) }))
    }

    /// Asks the budget about an agent's attempt; a command costs nothing.
    async fn admit(&self, role: StepRole) -> anyhow::Result<Result<Option<StepCost<'d>>, Shortage>> {
        match role {
            StepRole::Shell => Ok(Ok(None)),
            StepRole::Review | StepRole::Work | StepRole::Alone => {
                let config = self.caller.config;
                let model = config.executor.model.clone();
                let admitted =
                    StepCost::admit(self.store, &config.budget, &self.project.name(), model).await?;
                Ok(admitted.map(Some))
            }
        }
    }

    /// Asks the user; without an answer the run stops.
    async fn ask(&mut self, question: &Question) -> Result<RunFact, PipelineStop> {
        let message = match self.gate_message() {
            Ok(message) => message,
            Err(reason) => return Ok(RunFact::NotReady { reason }),
        };
        self.view.make_room();
        let at = self.engine.at();
        match ask::ask(&at, question, message.as_deref(), self.interrupts).await {
            TerminalReply::Answer(answer) => Ok(RunFact::Answered { answer }),
            TerminalReply::None => Err(self.held(question)),
            TerminalReply::Stopped => Err(PipelineStop::Stopped),
        }
    }

    fn gate_message(&self) -> Result<Option<String>, String> {
        match self.engine.current_step().map(|step| &step.kind) {
            Some(StepKind::Gate(gate)) => {
                gate.message.as_ref().map(|message| self.values.fill(message, &self.engine)).transpose()
            }
            Some(StepKind::Agent(_) | StepKind::Shell(_) | StepKind::Loop(_)) | None => Ok(None),
        }
    }

    fn held(&self, question: &Question) -> PipelineStop {
        let at = self.engine.at();
        PipelineStop::Held(match question {
            Question::Gate => match self.gate_message() {
                Ok(Some(message)) => format!("{at} asks: {message}"),
                Ok(None) | Err(_) => format!("{at} waits for your yes"),
            },
            Question::Blocked(text) => format!("{at} is blocked: {text}"),
            Question::Stagnated(why) => format!("{at}: stagnation: {why}"),
        })
    }
}
