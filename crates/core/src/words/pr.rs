//! Pull requests: what they say, and the last word on one that is closed.

use std::fmt::Write as _;

use super::defuse;
use crate::fact::{TaskFacts, Work};
use crate::name::{IssueNumber, PrNumber, TaskKey};

/// The longest title, in bytes.
const TITLE: usize = 200;

/// What fixes of CI are called; a fix of a fix is called so once.
pub(super) const FIX_PREFIX: &str = "Fix CI: ";

/// The title of a pull request: that of the issue where it began.
pub fn pr_title(title: &str) -> String {
    let mut title = title.trim();
    while let Some(rest) = title.strip_prefix(FIX_PREFIX) {
        title = rest.trim();
    }
    match defuse(title, TITLE) {
        empty if empty.is_empty() => "Work by Pilot".to_owned(),
        title => title,
    }
}

/// The first line of the commit on the base branch.
pub(crate) fn merge_title(title: &str, pr: PrNumber) -> String {
    format!("{} ({pr})", pr_title(title))
}

/// The text of a pull request: what it closes, and the evidence.
pub(crate) fn pr_body(task: &TaskFacts, marker: &str) -> String {
    let mut body = String::new();
    let mut closes: Vec<IssueNumber> =
        task.lineage.iter().flat_map(|lineage| lineage.parents.clone()).collect();
    closes.push(task.number);
    for issue in closes {
        // Writing to a string does not fail.
        let _ = writeln!(body, "Closes {issue}");
    }
    if let Some(work) = task.work() {
        evidence(&mut body, work);
    }
    let _ = write!(body, "\n{marker}\n");
    body
}

/// The text of a pull request of a task without an issue: the evidence.
pub fn task_pr_body(task: &str, work: &Work) -> String {
    let mut body = format!("{}, by Pilot.\n", defuse(task, TITLE));
    evidence(&mut body, work);
    body
}

fn evidence(body: &mut String, work: &Work) {
    let _ = write!(body, "\n### Evidence\n\nAll of it is about commit `{}`.\n\n", work.sha.short());
    let _ = write!(body, "| what | result |\n|---|---|\n");
    let mut row = |what: &str, result: &str| {
        let cell = |text: &str| defuse(text, TITLE).replace('|', "\\|");
        let _ = writeln!(body, "| {} | {} |", cell(what), cell(result));
    };
    for gate in &work.gates {
        row(&format!("gate {}", gate.name), &gate.result);
    }
    if work.gates.is_empty() {
        row("gates", "none configured");
    }
    row("review", work.review.as_deref().unwrap_or("none configured"));
    row("started from", work.base.short());
    if let Some(route) = &work.route {
        row("route", route);
    }
    if let Some(files) = work.files_changed {
        row("files changed", &files.to_string());
    }
    if let Some(cost) = work.cost_micro_usd {
        row("cost", &format!("{}.{:02} USD", cost / 1_000_000, cost % 1_000_000 / 10_000));
    }
}

/// The last word on a pull request whose CI another issue will fix.
pub(crate) fn closed_for_fix(by: IssueNumber) -> String {
    format!("CI failed here. {by} goes on with this branch, and a new pull request follows.")
}

/// The last word on a pull request whose task was begun again.
pub(crate) fn closed_superseded(task: &TaskKey) -> String {
    format!("Somebody asked Pilot to begin {task} again, so this is closed. The branch stays.")
}

/// The last word on a pull request whose task was cancelled.
pub(crate) fn closed_cancelled(by: &str) -> String {
    format!("Cancelled by {by}. The branch stays.")
}
