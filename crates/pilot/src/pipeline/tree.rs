//! The steps of a pipeline as a tree of lines, with what became of each.

use std::time::Duration;

use pilot_core::pipeline::{Engine, OnStagnation, Pipeline, Record, Status, Step, StepKind, Turns};

/// One line of the tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) depth: usize,
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    /// None before its turn.
    pub(crate) status: Option<Status>,
    /// The round or item, for a loop that is open.
    pub(crate) turn: String,
    pub(crate) words: String,
    pub(crate) time: Option<Duration>,
    pub(crate) cost: Option<f64>,
}

/// The tree as a run stands.
pub(crate) fn lines(pipeline: &Pipeline, engine: &Engine<'_>) -> Vec<Line> {
    let turns = engine.turns();
    let open: String = turns.iter().map(|(_, name, _)| name.as_str()).collect();
    pipeline
        .walk()
        .into_iter()
        .map(|(depth, step)| {
            let last = engine.records().iter().rev().find(|record| record.id == step.id);
            let record = last.filter(|record| !is_of_an_earlier_turn(record, &open, depth));
            let turn = turns.iter().find(|(id, ..)| *id == step.id);
            Line {
                depth,
                id: step.id.clone(),
                kind: step.kind.as_str(),
                status: record.map(|record| record.status),
                turn: turn.map_or_else(String::new, |(.., words)| words.clone()),
                words: record.map(|record| record.words.clone()).unwrap_or_default(),
                time: record
                    .filter(|record| record.attempts > 0)
                    .map(|record| Duration::from_millis(record.duration_ms)),
                cost: record.and_then(|record| record.cost_usd),
            }
        })
        .collect()
}

/// Whether a record belongs to a round or item of an open loop that is over.
fn is_of_an_earlier_turn(record: &Record, open: &str, depth: usize) -> bool {
    let around =
        |text: &str| -> Vec<String> { text.split_inclusive('/').take(depth).map(str::to_owned).collect() };
    let (here, there) = (around(open), around(&record.at));
    let loops = |parts: &[String]| -> Vec<String> {
        parts.iter().map(|part| part.split(['#', '[']).next().unwrap_or_default().to_owned()).collect()
    };
    here.len() == depth && loops(&here) == loops(&there) && here != there
}

impl Line {
    /// The line for people; `now` is how long the current attempt runs.
    pub(crate) fn text(&self, now: Option<Duration>) -> String {
        let mark = match self.status {
            None => '·',
            Some(Status::Running) => '▸',
            Some(Status::Waiting) => '?',
            Some(Status::Completed | Status::Approved) => '✓',
            Some(Status::Skipped) => '-',
            Some(Status::Rejected) => '↺',
            Some(Status::Failed) => '✗',
        };
        let mut parts = vec![format!("{}{mark} {}", "  ".repeat(self.depth), self.id)];
        parts.extend(self.status.map(|status| status.as_str().to_owned()).filter(|_| self.turn.is_empty()));
        parts.extend(Some(self.turn.clone()).filter(|turn| !turn.is_empty()));
        let time =
            match (self.time, now.filter(|_| self.status == Some(Status::Running) && self.turn.is_empty())) {
                (time, Some(now)) => Some(time.unwrap_or_default() + now),
                (time, None) => time,
            };
        parts.extend(time.map(|time| format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)));
        parts.extend(self.cost.map(|cost| format!("${cost:.2}")));
        parts.join("  ")
    }
}

/// What a step is, in a line for `pilot steps` and `--dry-run`.
pub(crate) fn about(step: &Step) -> String {
    let mut words = match &step.kind {
        StepKind::Agent(agent) => {
            let mut words = vec![if agent.review { "review".to_owned() } else { "agent".to_owned() }];
            words.extend(agent.worker.tool.as_ref().map(|tool| tool.name().to_owned()));
            words.extend(agent.worker.model.clone());
            words.extend(agent.worker.retry.filter(|retry| *retry > 0).map(|retry| format!("retry {retry}")));
            words.extend(agent.fallback.as_ref().map(|_| "with a fallback".to_owned()));
            words
        }
        StepKind::Shell(shell) => vec!["shell".to_owned(), crate::printable::line(&shell.line.text, 60)],
        StepKind::Gate(_) => vec!["gate".to_owned()],
        StepKind::Loop(inner) => match &inner.turns {
            Turns::Over { variable, .. } => vec![format!("loop over each {variable}")],
            Turns::Until { until, max_rounds, on_stagnation } => {
                let stuck = match on_stagnation {
                    OnStagnation::Stop => "",
                    OnStagnation::Gate => ", then a gate",
                    OnStagnation::Agent(_) => ", then another agent",
                };
                vec![format!("loop until {}, at most {max_rounds} rounds{stuck}", until.as_str())]
            }
        },
    };
    words.extend(step.when.as_ref().map(|when| format!("when {when}")));
    words.join(", ")
}
