//! The steps of a pipeline as a tree of lines, with what became of each.

use std::ops::Range;
use std::time::Duration;

use pilot_core::pipeline::{
    Engine, OnStagnation, Pipeline, PipelineStep, StepKind, StepRecord, StepStatus, Turns,
};

use crate::printable;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TreeLine {
    pub(crate) depth: usize,
    pub(crate) id: String,
    /// None before it starts.
    pub(crate) status: Option<StepStatus>,
    /// The round or item, for a loop that is open.
    pub(crate) turn: String,
    pub(crate) time: Option<Duration>,
    pub(crate) cost: Option<f64>,
}

pub(crate) fn lines(pipeline: &Pipeline, engine: Option<&Engine<'_>>) -> Vec<TreeLine> {
    let turns = engine.map(Engine::turns).unwrap_or_default();
    let records = engine.map(Engine::records).unwrap_or_default();
    let open: String = turns.iter().map(|(_, name, _)| name.as_str()).collect();
    pipeline
        .walk()
        .into_iter()
        .map(|(depth, step)| {
            let last = records.iter().rev().find(|record| record.id == step.id);
            let record = last.filter(|record| !is_of_an_earlier_turn(record, &open, depth));
            let turn = turns.iter().find(|(id, ..)| *id == step.id);
            TreeLine {
                depth,
                id: step.id.clone(),
                status: record.map(|record| record.status),
                turn: turn.map_or_else(String::new, |(.., words)| words.clone()),
                time: record
                    .filter(|record| record.attempts > 0)
                    .map(|record| Duration::from_millis(record.duration_ms)),
                cost: record.and_then(|record| record.cost_usd),
            }
        })
        .collect()
}

/// Whether a record belongs to a round or item of an open loop that is over.
fn is_of_an_earlier_turn(record: &StepRecord, open: &str, depth: usize) -> bool {
    let around =
        |text: &str| -> Vec<String> { text.split_inclusive('/').take(depth).map(str::to_owned).collect() };
    let (here, there) = (around(open), around(&record.at));
    let loops = |parts: &[String]| -> Vec<String> {
        parts.iter().map(|part| part.split(['#', '[']).next().unwrap_or_default().to_owned()).collect()
    };
    here.len() == depth && loops(&here) == loops(&there) && here != there
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LiveFigures {
    pub(crate) elapsed: Option<Duration>,
    pub(crate) cost: Option<f64>,
}

/// Longer names are not aligned.
const WIDEST: usize = 36;

/// The lines as text, in columns.
pub(crate) fn texts(lines: &[TreeLine], live: LiveFigures) -> Vec<String> {
    let widest = |texts: &[String]| {
        let widths = texts.iter().map(|text| printable::columns(text));
        widths.filter(|width| *width <= WIDEST).max().unwrap_or_default()
    };
    let heads: Vec<String> = lines.iter().map(TreeLine::head).collect();
    let states: Vec<String> = lines.iter().map(TreeLine::state).collect();
    let (name, state) = (widest(&heads), widest(&states));
    let padded = |text: &str, width: usize| {
        format!("{text}{}", " ".repeat(width.saturating_sub(printable::columns(text))))
    };
    let rows = lines.iter().zip(heads.iter().zip(&states));
    rows.map(|(line, (head, now))| {
        let parts = [padded(head, name), padded(now, state), line.figures(live)];
        parts.join("  ").trim_end().to_owned()
    })
    .collect()
}

impl TreeLine {
    fn head(&self) -> String {
        let mark = match self.status {
            None => '·',
            Some(StepStatus::Running) => '▸',
            Some(StepStatus::Waiting) => '?',
            Some(StepStatus::Completed | StepStatus::Approved) => '✓',
            Some(StepStatus::Skipped) => '-',
            Some(StepStatus::Rejected) => '↺',
            Some(StepStatus::Failed) => '✗',
        };
        format!("{}{mark} {}", "  ".repeat(self.depth), self.id)
    }

    fn state(&self) -> String {
        match self.turn.is_empty() {
            true => self.status.map(StepStatus::as_str).unwrap_or_default().to_owned(),
            false => printable::line(&self.turn, WIDEST),
        }
    }

    /// Time and cost, of the attempt that runs as well.
    fn figures(&self, live: LiveFigures) -> String {
        let runs = self.status == Some(StepStatus::Running) && self.turn.is_empty();
        let time = match live.elapsed.filter(|_| runs) {
            Some(now) => Some(self.time.unwrap_or_default() + now),
            None => self.time,
        };
        let cost = match live.cost.filter(|_| runs) {
            Some(now) => Some(self.cost.unwrap_or_default() + now),
            None => self.cost,
        };
        let time = time.map(|time| format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60));
        let cost = cost.map(|cost| format!("${cost:.2}"));
        [time, cost].into_iter().flatten().collect::<Vec<_>>().join("  ")
    }
}

/// The lines of a tree that fit into so many rows: those around the current step.
pub(crate) fn window(lines: &[TreeLine], rows: usize) -> Range<usize> {
    if lines.len() <= rows {
        return 0..lines.len();
    }
    let last = |wanted: fn(Option<StepStatus>) -> bool| lines.iter().rposition(|line| wanted(line.status));
    let here = last(|status| matches!(status, Some(StepStatus::Running | StepStatus::Waiting)))
        .or_else(|| last(|status| status.is_some()))
        .unwrap_or_default();
    let first = here.saturating_sub(rows * 2 / 3).min(lines.len() - rows);
    first..first + rows
}

/// What a step is, in a line for `pilot steps` and `--dry-run`.
pub(crate) fn about(step: &PipelineStep) -> String {
    let mut words = match &step.kind {
        StepKind::Agent(agent) => {
            let mut words = vec![if agent.review { "review".to_owned() } else { "agent".to_owned() }];
            words.extend(agent.worker.tool.as_ref().map(|tool| tool.name().to_owned()));
            words.extend(agent.worker.model.clone());
            words.extend(agent.worker.retry.filter(|retry| *retry > 0).map(|retry| format!("retry {retry}")));
            words.extend(agent.fallback.as_ref().map(|_| "with a fallback".to_owned()));
            words
        }
        StepKind::Shell(shell) => vec!["shell".to_owned(), printable::line(&shell.line.text, 60)],
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LiveFigures, StepStatus, TreeLine, texts, window};

    fn line(depth: usize, id: &str, status: Option<StepStatus>, turn: &str) -> TreeLine {
        let done = status == Some(StepStatus::Completed);
        TreeLine {
            depth,
            id: id.to_owned(),
            status,
            turn: turn.to_owned(),
            time: done.then_some(Duration::from_secs(75)),
            cost: done.then_some(0.5),
        }
    }

    #[test]
    fn what_became_of_each_step_stands_below_one_another() {
        let lines = [
            line(0, "implement", Some(StepStatus::Completed), ""),
            line(0, "converge", Some(StepStatus::Running), "round 2 of 4"),
            line(1, "審查", Some(StepStatus::Running), ""),
            line(1, "fix", None, ""),
        ];
        let live = LiveFigures { elapsed: Some(Duration::from_secs(9)), cost: Some(0.25) };
        assert_eq!(
            texts(&lines, live),
            [
                "✓ implement  completed     1:15  $0.50",
                "▸ converge   round 2 of 4",
                "  ▸ 審查     running       0:09  $0.25",
                "  · fix",
            ]
        );
    }

    #[test]
    fn a_tall_tree_is_seen_where_the_run_stands() {
        let tree = |here: Option<usize>| -> Vec<TreeLine> {
            let status = |index| match here {
                Some(here) if index < here => Some(StepStatus::Completed),
                Some(here) if index == here => Some(StepStatus::Running),
                Some(_) | None => None,
            };
            (0..100).map(|index| line(0, "step", status(index), "")).collect()
        };
        for (here, rows, expect) in [
            (None, 100, 0..100),
            (Some(99), 200, 0..100),
            (None, 21, 0..21),
            (Some(3), 21, 0..21),
            (Some(50), 21, 36..57),
            (Some(99), 21, 79..100),
            (Some(50), 1, 50..51),
        ] {
            assert_eq!(window(&tree(here), rows), expect, "{here:?} in {rows}");
        }
    }
}
