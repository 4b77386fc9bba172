//! The demo's story as it is told: lines as things happen, or JSON, and a table at the end.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use pilot_core::fact::{Ending, ProjectHappened};
use pilot_core::task::Stage;
use pilot_core::words;
use serde_json::json;

use crate::daemon::watch::{Seen, Watcher};
use crate::printable;
use crate::stdout::Stdout;

/// What is known of the story so far.
#[derive(Debug, Default)]
pub(crate) struct Story {
    json: bool,
    url: String,
    /// The last words about each task, so that nothing is said twice.
    said: BTreeMap<String, String>,
    pub(crate) release: Option<String>,
}

impl Story {
    pub(crate) fn new(json: bool, url: String) -> Rc<RefCell<Story>> {
        Rc::new(RefCell::new(Story { json, url, ..Story::default() }))
    }

    /// Somebody who watches the daemon and tells this story.
    pub(crate) fn watcher(story: &Rc<RefCell<Story>>) -> Watcher {
        let story = Rc::clone(story);
        Watcher::new(move |seen| story.borrow_mut().see(seen))
    }

    fn see(&mut self, seen: &Seen<'_>) {
        match seen {
            Seen::Stage { facts, stage } => {
                let (key, number) = (facts.key.as_str(), facts.number.0);
                if self.json {
                    let why = words::stage(stage);
                    self.line(
                        &json!({"event": "stage", "issue": number, "stage": stage.as_str(), "why": why}),
                    );
                    return;
                }
                let pr = if let Stage::AwaitingCi { pr, .. } = stage {
                    format!("  {}/pull/{}", self.url, pr.0)
                } else {
                    String::new()
                };
                self.say(key, &format!("{}{pr}", words::stage(stage)), is_news(stage));
            }
            Seen::Progress { task, phase, percent } => {
                if self.json {
                    self.line(&json!({
                        "event": "progress",
                        "issue": task.number().0,
                        "phase": phase,
                        "percent": percent,
                    }));
                    return;
                }
                self.say(task.as_str(), &format!("{phase} {percent}%"), true);
            }
            Seen::Project { happened: ProjectHappened::Tagged { tag, .. } } => {
                self.release = Some(tag.clone());
                if self.json {
                    self.line(&json!({"event": "release", "tag": tag}));
                } else {
                    self.say("release", &format!("{tag}  {}/releases", self.url), true);
                }
            }
            Seen::Project { .. } => {}
        }
    }

    fn line(&self, line: &serde_json::Value) {
        let mut out = Stdout::lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }

    fn say(&mut self, about: &str, text: &str, is_news: bool) {
        let last = self.said.insert(about.to_owned(), text.to_owned());
        if is_news && last.as_deref() != Some(text) {
            let _ = writeln!(io::stderr(), "  {about:<8} {}", printable::line(text, 110));
        }
    }
}

/// Whether people want to read of it.
fn is_news(stage: &Stage) -> bool {
    match stage {
        Stage::Checking { .. } | Stage::Claiming { .. } | Stage::Starting { .. } | Stage::Landing { .. } => {
            false
        }
        Stage::Held { .. }
        | Stage::Waiting { .. }
        | Stage::Queued { .. }
        | Stage::Running { .. }
        | Stage::Stopping { .. }
        | Stage::Publishing { .. }
        | Stage::Opening { .. }
        | Stage::AwaitingCi { .. }
        | Stage::Merging { .. }
        | Stage::Failing { .. }
        | Stage::Closing { .. }
        | Stage::Continued { .. }
        | Stage::Ended { .. } => true,
    }
}

/// One line of the table at the end.
pub(crate) struct Row {
    pub(crate) issue: u64,
    pub(crate) title: String,
    pub(crate) stage: Stage,
    pub(crate) usd: f64,
}

impl Row {
    /// The pull request that was merged for it.
    pub(crate) fn pr(&self) -> Option<u64> {
        if let Stage::Ended { ending: Ending::Done(landed) } = &self.stage {
            Some(landed.pr().0)
        } else {
            None
        }
    }

    /// In a word.
    pub(crate) fn status(&self) -> &'static str {
        match self.pr() {
            Some(_) => "merged",
            None => self.stage.as_str(),
        }
    }
}

/// Prints what became of everything.
pub(crate) fn table(rows: &[Row], release: Option<&str>, json: bool) -> anyhow::Result<()> {
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
