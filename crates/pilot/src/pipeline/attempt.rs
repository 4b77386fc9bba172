//! One attempt at a step: its process is run, its output read, and what came of it becomes a fact.

use pilot_core::outcome::{Claims, Class, EndedBy, Goal, ProcessEnd};
use pilot_core::pipeline::{Attempt, AttemptFailure, StepReader, StepRole, pattern_failure};
use pilot_exec::process::Ended;

use super::call::StepCall;
use super::cost::StepCost;
use super::view::PipelineView;
use crate::agent::call::Launcher;
use crate::agent::evidence::{EndedSession, NO_CHANGES};
use crate::agent::interrupts::Interrupts;
use crate::agent::run::{ProcessListener, run};
use crate::clock::Stopwatch;
use crate::printable;

const STDERR: usize = 4 * 1024;

/// Reads the output of a step and shows its cost.
struct StepListener<'l> {
    reader: StepReader,
    view: &'l mut PipelineView,
    /// None for a command, which costs nothing.
    cost: Option<StepCost<'l>>,
    cancelled: bool,
}

impl ProcessListener for StepListener<'_> {
    fn stdout(&mut self, bytes: &[u8]) {
        self.reader.push(bytes);
    }

    async fn tick(&mut self) -> Option<EndedBy> {
        self.view.tick(self.reader.facts().usage().usage.cost_usd);
        let cost = self.cost.as_mut()?;
        cost.update(self.reader.facts()).await.then_some(EndedBy::Budget)
    }

    fn cancel(&mut self) {
        self.cancelled = true;
        self.view.warn("Stopping; what was done so far is kept.");
    }

    fn is_busy(&self) -> bool {
        self.reader.is_busy()
    }

    fn has_announced_exit(&self) -> bool {
        self.reader.has_end()
    }
}

/// Makes an attempt, with the texts of its updates; none when the user stopped it.
pub(crate) async fn make_attempt(
    launcher: &Launcher<'_>,
    patterns: &[String],
    call: &StepCall,
    (role, cost): (StepRole, Option<StepCost<'_>>),
    interrupts: &mut Interrupts,
    view: &mut PipelineView,
) -> Option<(Attempt, Vec<String>)> {
    let watch = Stopwatch::start();
    let mut listener = StepListener { reader: StepReader::new(call.format), view, cost, cancelled: false };
    let ended = run(launcher, &call.process, interrupts, &mut listener).await;
    if let Some(file) = &call.prompt_file {
        let _ = std::fs::remove_file(file);
    }
    let (output, facts, agent) = listener.reader.finish();
    if let Some(cost) = listener.cost {
        cost.settle(&facts).await;
    }
    if listener.cancelled {
        return None;
    }
    let stderr = ended.as_ref().map(|ended| ended.stderr.text()).unwrap_or_default();
    let text = output.text.text();
    let exit = ended.as_ref().ok().and_then(|ended| match ended.exit {
        ProcessEnd::Code(code) => Some(code),
        ProcessEnd::Signal(_) | ProcessEnd::Lost => None,
    });
    let failure = match role {
        StepRole::Shell => shell_failure(&ended, &stderr),
        StepRole::Review | StepRole::Work | StepRole::Alone => {
            let session = EndedSession { ended, format: call.format, agent: call.agent.or(agent) };
            // What a step claims by marks is judged by its pipeline.
            let outcome = session.outcome(Goal::Answer, &facts, &Claims::default(), &NO_CHANGES);
            outcome.class().map(|class| AttemptFailure::new(class, outcome.reason()))
        }
    };
    let usage = facts.usage().usage;
    let attempt = Attempt {
        failure: failure.or_else(|| pattern_failure(patterns, &format!("{text}\n{stderr}"))),
        exit,
        marks: output.marks,
        notes: output.notes,
        output: text,
        stderr: stderr[stderr.ceil_char_boundary(stderr.len().saturating_sub(STDERR))..].to_owned(),
        duration_ms: watch.millis(),
        tokens: Some(usage.tokens()).filter(|tokens| *tokens > 0),
        cost_usd: usage.cost_usd.filter(|cost| *cost > 0.0),
        ..Attempt::default()
    };
    Some((attempt, output.updates))
}

/// A command failed unless it ended by itself with 0.
fn shell_failure(ended: &Result<Ended, String>, stderr: &str) -> Option<AttemptFailure> {
    let unknown = |reason: String| Some(AttemptFailure::new(Class::Unknown, reason));
    let ended = match ended {
        Err(reason) => return unknown(format!("the command could not be started: {reason}")),
        Ok(ended) => ended,
    };
    let last = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let last = last.map_or_else(String::new, |line| format!(": {}", printable::line(line, 300)));
    match (ended.by, ended.exit) {
        (EndedBy::Deadline, _) => Some(AttemptFailure::new(Class::Timeout, "stopped at its time limit")),
        (EndedBy::Silence, _) => {
            Some(AttemptFailure::new(Class::Stalled, "stopped after a silence longer than its limit"))
        }
        (EndedBy::Person | EndedBy::Shutdown | EndedBy::ExitMark, _)
        | (EndedBy::Stagnation | EndedBy::Budget, _)
        | (EndedBy::Itself, ProcessEnd::Code(0)) => None,
        (EndedBy::Itself, ProcessEnd::Code(code)) => unknown(format!("exit {code}{last}")),
        (EndedBy::Itself, ProcessEnd::Signal(signal)) => unknown(format!("killed by signal {signal}{last}")),
        (EndedBy::Itself, ProcessEnd::Lost) => unknown("the exit code of the command was lost".to_owned()),
    }
}
