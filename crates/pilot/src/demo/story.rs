//! The demo's story as it is told: lines as things happen, or JSON, and a table at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal, Write};

use pilot_core::config::references;
use pilot_core::fact::{Ending, ProjectEvent};
use pilot_core::feed::{FeedEntry, FeedEvent};
use pilot_core::progress::words::phase;
use pilot_core::task::{Stage, StageGroup};
use pilot_core::words;
use pilot_link::forge::Forge;
use serde_json::json;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::clock::Stopwatch;
use crate::printable;
use crate::stdout::{Stdout, print_line};
use crate::terminal::{Canvas, Ink};

/// The cells of a progress bar.
const BAR: usize = 20;

/// The columns before the words of a line: the time, and what it is about.
const INDENT: usize = 19;

pub(crate) struct Story {
    json: bool,
    /// The page of the repository.
    url: String,
    forge: Forge,
    canvas: Canvas,
    since: Stopwatch,
    /// The last words about each task, so that nothing is said twice.
    said: BTreeMap<String, String>,
    /// Pull requests whose address was told.
    linked: BTreeSet<u64>,
    /// The task whose progress bar is the last line of the terminal.
    bar: Option<String>,
    pub(crate) release: Option<String>,
}

impl Story {
    pub(crate) fn new(json: bool, url: String, forge: Forge, canvas: Canvas) -> Story {
        let (said, linked, since) = (BTreeMap::new(), BTreeSet::new(), Stopwatch::start());
        Story { json, url, forge, canvas, since, said, linked, bar: None, release: None }
    }

    /// Prints what the daemon's feed brings, until the daemon ends.
    pub(crate) async fn tell(&mut self, mut feed: Receiver<FeedEntry>) {
        loop {
            match feed.recv().await {
                Ok(entry) => self.print(&entry.event),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn print(&mut self, event: &FeedEvent) {
        match event {
            FeedEvent::Stage { project, task, stage, title } => {
                let references = references(project);
                let why = words::stage(stage, &references);
                if self.json {
                    let number = references.tickets.number(task);
                    self.line(
                        &json!({"event": "stage", "issue": number, "stage": stage.as_str(), "why": why}),
                    );
                    return;
                }
                if is_news(stage) && !self.said.contains_key(task.as_str()) {
                    self.say(task.as_str(), &printable::line(title, 60), Ink::Bold);
                }
                if is_news(stage) {
                    self.say(task.as_str(), &why, ink(stage));
                }
                if let Stage::AwaitingCi { pr, .. } = stage
                    && self.linked.insert(pr.0)
                {
                    self.say(task.as_str(), &self.forge.pull_url(&self.url, *pr), Ink::Dim);
                }
            }
            FeedEvent::Progress { project, task, progress, .. } => {
                let (phase, percent) = (phase(&progress.phase), progress.percent);
                if self.json {
                    let number = references(project).tickets.number(task);
                    self.line(
                        &json!({"event": "progress", "issue": number, "phase": phase, "percent": percent}),
                    );
                    return;
                }
                self.progress(task.as_str(), &phase, percent);
            }
            FeedEvent::Project { event: ProjectEvent::Tagged { tag, .. }, .. } => {
                self.release = Some(tag.clone());
                if self.json {
                    self.line(&json!({"event": "release", "tag": tag}));
                } else {
                    let text = format!("{tag}  {}", self.forge.releases_url(&self.url));
                    self.say("release", &text, Ink::Green);
                }
            }
            FeedEvent::Project { .. } => {}
        }
    }

    fn line(&self, line: &serde_json::Value) {
        let _ = print_line(line);
    }

    /// A line that stays; the same words about the same thing are said once.
    fn say(&mut self, about: &str, text: &str, ink: Ink) {
        if self.said.insert(about.to_owned(), text.to_owned()).as_deref() == Some(text) {
            return;
        }
        self.bar = None;
        let lines = self.canvas.fold(text, INDENT);
        let mut head = self.head(about);
        for line in lines {
            // A painted sentence would lose its colour behind a painted command.
            let line = if line.contains('\x1b') { line } else { self.canvas.paint(ink, &line) };
            let _ = writeln!(io::stderr(), "{head}{line}");
            head = " ".repeat(INDENT);
        }
    }

    /// How far an agent is: a bar that grows on a terminal, a line for each phase elsewhere.
    fn progress(&mut self, about: &str, phase: &str, percent: u8) {
        if self.canvas.width.is_none() || !io::stderr().is_terminal() {
            self.say(about, &format!("{phase} {percent} %"), Ink::Dim);
            return;
        }
        let done = usize::from(percent.min(100)) * BAR / 100;
        let (full, rest) = ("━".repeat(done), "─".repeat(BAR - done));
        let bar = format!("{}{}", self.canvas.paint(Ink::Green, &full), self.canvas.paint(Ink::Dim, &rest));
        let up = if self.bar.as_deref() == Some(about) { "\x1b[1A\x1b[2K" } else { "" };
        let _ = writeln!(
            io::stderr(),
            "{up}{}{bar} {percent:>3} % {}",
            self.head(about),
            printable::line(phase, 30)
        );
        self.bar = Some(about.to_owned());
    }

    /// The time since the start, and what a line is about.
    fn head(&self, about: &str) -> String {
        let tenths = self.since.millis() / 100;
        let time = self.canvas.paint(Ink::Dim, &format!("{:>4}.{}s", tenths / 10, tenths % 10));
        format!("{time}  {}  ", self.canvas.paint(Ink::Bold, &format!("{about:<8}")))
    }
}

fn ink(stage: &Stage) -> Ink {
    match stage.group() {
        StageGroup::Held => Ink::Yellow,
        StageGroup::Ended if matches!(stage, Stage::Ended { ending: Ending::Done(_) }) => Ink::Green,
        StageGroup::Ended => Ink::Red,
        StageGroup::Intake | StageGroup::Waiting | StageGroup::Run | StageGroup::PullRequest => Ink::Plain,
    }
}

/// Whether people want to read of it.
fn is_news(stage: &Stage) -> bool {
    !matches!(
        stage,
        Stage::Checking { .. } | Stage::Claiming { .. } | Stage::Starting { .. } | Stage::Landing { .. }
    )
}

pub(crate) struct DemoRow {
    pub(crate) issue: u64,
    pub(crate) title: String,
    pub(crate) stage: Stage,
    pub(crate) usd: f64,
}

impl DemoRow {
    /// The pull request that was merged for it.
    pub(crate) fn pr(&self) -> Option<u64> {
        if let Stage::Ended { ending: Ending::Done(landed) } = &self.stage {
            Some(landed.pr().0)
        } else {
            None
        }
    }

    pub(crate) fn status(&self) -> &'static str {
        match self.pr() {
            Some(_) => "merged",
            None => self.stage.as_str(),
        }
    }
}

/// Prints what became of the issues. `is_made_up`: the costs are those of a script.
pub(crate) fn table(
    rows: &[DemoRow],
    release: Option<&str>,
    is_made_up: bool,
    json: bool,
) -> anyhow::Result<()> {
    let mut out = Stdout::lock();
    if json {
        let tasks: Vec<_> = rows
            .iter()
            .map(|row| json!({"issue": row.issue, "pr": row.pr(), "status": row.status()}))
            .collect();
        writeln!(out, "{}", json!({"tasks": tasks, "release": release}))?;
    } else {
        writeln!(out, "\n  {:<6} {:<40} {:<10} {:<6} {:>7}", "issue", "title", "became", "PR", "cost")?;
        for row in rows {
            let pr = row.pr().map_or_else(String::new, |pr| format!("#{pr}"));
            let title = printable::line(&row.title, 40);
            let issue = format!("#{}", row.issue);
            writeln!(
                out,
                "  {issue:<6} {title:<40} {:<10} {pr:<6} {:>7}",
                row.status(),
                format!("${:.2}", row.usd)
            )?;
        }
        // The sum of what is shown, so that a reader who adds it up gets the same.
        let total: f64 = rows.iter().map(|row| (row.usd * 100.0).round()).sum();
        let note = if is_made_up { " (made up: the demo's agent is a script)" } else { "" };
        writeln!(out, "\n  release {}, ${:.2} in all{note}", release.unwrap_or("none"), total / 100.0)?;
    }
    out.flush()?;
    Ok(())
}
