//! Pull requests: their texts, and the last comment on one that Pilot closes.

use std::fmt::Write as _;

use crate::fact::{TaskFacts, Work};
use crate::id::{PrNumber, References, TaskKey};
use crate::text::inert_line;

const TITLE: usize = 200;

/// How titles of CI fixes begin; a fix of a fix has it once.
pub(super) const FIX_PREFIX: &str = "Fix CI: ";

/// The title of a pull request: that of the first issue of the chain.
pub fn pr_title(title: &str) -> String {
    let mut title = title.trim();
    while let Some(rest) = title.strip_prefix(FIX_PREFIX) {
        title = rest.trim();
    }
    match inert_line(title, TITLE) {
        empty if empty.is_empty() => "Work by Pilot".to_owned(),
        title => title,
    }
}

/// The first line of the commit on the base branch.
pub(crate) fn merge_title(title: &str, pr: PrNumber, references: &References) -> String {
    format!("{} ({})", pr_title(title), references.pull(pr))
}

/// The text of a pull request: what it closes, and the evidence.
pub(crate) fn pr_body(task: &TaskFacts, references: &References) -> String {
    let mut body = String::new();
    let parents = task.lineage.iter().flat_map(|lineage| &lineage.parents);
    for ticket in parents.chain([&task.key]) {
        let line =
            references.closing_line(ticket).unwrap_or_else(|| format!("For {}", references.ticket(ticket)));
        body.push_str(&line);
        body.push('\n');
    }
    if let Some(work) = task.work() {
        evidence(&mut body, work);
    }
    body
}

/// The text of a pull request of a task without a ticket: the evidence.
pub fn task_pr_body(task: &str, work: &Work) -> String {
    let mut body = format!("{}, by Pilot.\n", inert_line(task, TITLE));
    evidence(&mut body, work);
    body
}

fn evidence(body: &mut String, work: &Work) {
    // Writing to a string does not fail.
    let _ = write!(body, "\n### Evidence\n\nAll of it is about commit `{}`.\n\n", work.sha.short());
    let _ = write!(body, "| what | result |\n|---|---|\n");
    let mut row = |what: &str, result: &str| {
        let cell = |text: &str| inert_line(text, TITLE).replace('|', "\\|");
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

/// The last comment on a pull request whose CI another issue will fix.
pub(crate) fn closed_for_fix(by: &TaskKey, references: &References) -> String {
    let by = references.ticket(by);
    format!("CI failed here. {by} continues with this branch, and a new pull request follows.")
}

/// The last comment on a pull request whose task was started again.
pub(crate) fn closed_superseded(task: &TaskKey) -> String {
    format!("{task} was started again, so this pull request is closed. The branch stays.")
}

/// The last comment on a pull request whose task was cancelled.
pub(crate) fn closed_cancelled(by: &str) -> String {
    format!("Cancelled by {by}. The branch stays.")
}
