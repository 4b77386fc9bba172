//! What people and programs see of a run: a live tree on a terminal, plain lines elsewhere, events as JSON.

use std::io::{self, IsTerminal, Write};

use pilot_core::pipeline::{Engine, Pipeline, RunFact};
use serde_json::{Value, json};

use super::tree::{self, LiveFigures, TreeLine};
use crate::clock::Stopwatch;
use crate::printable;
use crate::stdout::print_line;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ViewMode {
    Tree,
    /// In a file or a pipe.
    Lines,
    /// `--json`, on standard output.
    Events,
}

pub(crate) struct PipelineView {
    mode: ViewMode,
    lines: Vec<TreeLine>,
    drawn: usize,
    attempt: Option<Stopwatch>,
    cost: Option<f64>,
}

impl PipelineView {
    pub(crate) fn new(json: bool) -> PipelineView {
        let mode = match (json, io::stderr().is_terminal()) {
            (true, _) => ViewMode::Events,
            (false, true) => ViewMode::Tree,
            (false, false) => ViewMode::Lines,
        };
        PipelineView { mode, lines: Vec::new(), drawn: 0, attempt: None, cost: None }
    }

    pub(crate) fn note(&mut self, text: &str) {
        if self.mode != ViewMode::Events {
            self.warn(text);
        }
    }

    pub(crate) fn warn(&mut self, text: &str) {
        self.draw(&format!("{}\n", printable::text(text)));
    }

    pub(crate) fn start(&mut self, run: &str, resumed: bool, words: &str) -> anyhow::Result<()> {
        self.note(words);
        self.event(&json!({"event": "run", "run": run, "resumed": resumed}))
    }

    pub(crate) fn show_decision(
        &mut self,
        at: &str,
        fact: &RunFact,
        decision: &str,
        pipeline: &Pipeline,
        engine: &Engine<'_>,
    ) -> anyhow::Result<()> {
        self.attempt = matches!(fact, RunFact::Started { .. }).then(Stopwatch::start);
        self.cost = None;
        if self.mode == ViewMode::Lines {
            let words = format!("{at}: {}", printable::line(decision, 300));
            let _ = writeln!(io::stderr(), "{words}");
        }
        if self.mode == ViewMode::Tree {
            self.lines = tree::lines(pipeline, Some(engine));
            self.draw("");
        }
        self.event(&event(at, fact, decision, engine))
    }

    pub(crate) fn tick(&mut self, cost: Option<f64>) {
        self.cost = cost.filter(|cost| *cost > 0.0);
        if self.mode == ViewMode::Tree {
            self.draw("");
        }
    }

    pub(crate) fn end(&mut self, report: &Value) -> anyhow::Result<()> {
        self.drawn = 0;
        let mut event = report.clone();
        event["event"] = json!("end");
        self.event(&event)
    }

    /// Makes room for a question.
    pub(crate) fn make_room(&mut self) {
        self.drawn = 0;
    }

    fn event(&self, event: &Value) -> anyhow::Result<()> {
        if self.mode == ViewMode::Events {
            print_line(event)?;
        }
        Ok(())
    }

    /// Puts a line that stays, and the tree below it, where the tree was; at once, so that nothing flickers.
    fn draw(&mut self, stays: &str) {
        let mut text = match self.drawn {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\x1b[J"),
        };
        text.push_str(stays);
        self.drawn = 0;
        if self.mode == ViewMode::Tree {
            let (columns, rows) = printable::terminal_size();
            let live = LiveFigures { elapsed: self.attempt.map(Stopwatch::elapsed), cost: self.cost };
            let tree = screen(&self.lines, live, rows);
            self.drawn = tree.len();
            for line in tree {
                text.push_str(&format!("{}\n", cut(&line, columns.saturating_sub(1))));
            }
        }
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// As much of the tree as fits: what does not could not be taken off the screen again.
fn screen(lines: &[TreeLine], live: LiveFigures, rows: usize) -> Vec<String> {
    // The last row is the cursor's, the one before it a question's.
    let rows = rows.saturating_sub(2);
    let texts = tree::texts(lines, live);
    if texts.len() <= rows {
        return texts;
    }
    // One row says what is not seen.
    let seen = tree::window(lines, rows.saturating_sub(1));
    let more = format!("… {} more above, {} below", seen.start, texts.len() - seen.end);
    texts[seen].iter().cloned().chain([more]).collect()
}

/// As much of a line as fits into so many columns.
fn cut(line: &str, columns: usize) -> String {
    let mut room = columns;
    let fits = |c: &char| {
        let width = printable::width(*c);
        let fits = width <= room;
        room = room.saturating_sub(width);
        fits
    };
    line.chars().filter(|c| !c.is_control()).take_while(fits).collect()
}

fn event(at: &str, fact: &RunFact, decision: &str, engine: &Engine<'_>) -> Value {
    let record = engine.records().iter().rev().find(|record| record.at == at);
    let mut event = json!({
        "event": "step",
        "at": at,
        "fact": fact.as_str(),
        "decision": decision,
        "round": engine.round(),
        "status": record.map(|record| record.status.as_str()),
    });
    if let RunFact::Ended { attempt } = fact {
        event["exit"] = json!(attempt.exit);
        event["failure"] = json!(attempt.failure);
        event["duration_ms"] = json!(attempt.duration_ms);
        event["cost_usd"] = json!(attempt.cost_usd);
        event["marks"] = json!(attempt.marks.iter().map(|mark| mark.kind.as_str()).collect::<Vec<_>>());
        event["notes"] = json!(attempt.notes);
    }
    event
}
