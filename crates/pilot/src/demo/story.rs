//! The demo's story as it is told: lines as things happen, or JSON, and a table at the end.

use std::collections::BTreeMap;
use std::io::{self, Write};

use pilot_core::config::references;
use pilot_core::fact::{Ending, ProjectEvent};
use pilot_core::feed::{FeedEntry, FeedEvent};
use pilot_core::progress::words::phase;
use pilot_core::task::Stage;
use pilot_core::words;
use pilot_link::forge::Forge;
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::printable;
use crate::stdout::{Stdout, print_line};

#[derive(Debug)]
pub(crate) struct Story {
    json: bool,
    /// The page of the repository.
    url: String,
    forge: Forge,
    /// The last words about each task, so that nothing is said twice.
    said: BTreeMap<String, String>,
    pub(crate) release: Option<String>,
}

impl Story {
    pub(crate) fn new(json: bool, url: String, forge: Forge) -> Story {
        Story { json, url, forge, said: BTreeMap::new(), release: None }
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
            FeedEvent::Stage { project, task, stage, .. } => {
                let references = references(project);
                let why = words::stage(stage, &references);
                let pr = if let Stage::AwaitingCi { pr, .. } = stage {
                    format!("  {}", self.forge.pull_url(&self.url, *pr))
                } else {
                    String::new()
                };
                let number = references.tickets.number(task);
                let object = json!({"event": "stage", "issue": number, "stage": stage.as_str(), "why": why});
                self.say(task.as_str(), &format!("{why}{pr}"), is_news(stage), &object);
            }
            FeedEvent::Progress { project, task, progress, .. } => {
                let (phase, percent) = (phase(&progress.phase), progress.percent);
                let number = references(project).tickets.number(task);
                let object =
                    json!({"event": "progress", "issue": number, "phase": phase, "percent": percent});
                self.say(task.as_str(), &format!("{phase} {percent}%"), true, &object);
            }
            FeedEvent::Project { event: ProjectEvent::Tagged { tag, .. }, .. } => {
                self.release = Some(tag.clone());
                let words = format!("{tag}  {}", self.forge.releases_url(&self.url));
                self.say("release", &words, true, &json!({"event": "release", "tag": tag}));
            }
            FeedEvent::Project { .. } => {}
        }
    }

    /// Says it as a line for people, or as the object.
    fn say(&mut self, about: &str, text: &str, is_news: bool, object: &Value) {
        if self.json {
            let _ = print_line(object);
            return;
        }
        let last = self.said.insert(about.to_owned(), text.to_owned());
        if is_news && last.as_deref() != Some(text) {
            let _ = writeln!(io::stderr(), "  {about:<8} {}", printable::line(text, 110));
        }
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

pub(crate) fn table(rows: &[DemoRow], release: Option<&str>, json: bool) -> anyhow::Result<()> {
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
        let total: f64 = rows.iter().map(|row| row.usd).sum();
        writeln!(
            out,
            "\n  release {}, ${total:.2} in all (made up: the demo's agent is a script)",
            release.unwrap_or("none")
        )?;
    }
    out.flush()?;
    Ok(())
}
