//! Pull requests: their texts, and the last comment on one that Pilot closes.

use std::fmt::Write as _;

use super::evidence::output;
use crate::fact::{TaskFacts, Work};
use crate::id::{PrNumber, References, TaskKey};
use crate::policy::Policy;
use crate::review::{Blocking, NOT_DONE};
use crate::text::{inert_line, inert_markdown, quoted};

const TITLE: usize = 200;

/// The most of what was asked, of the agent's summary and of a finding that is shown, in bytes.
const ASKED: usize = 600;
const SUMMARY: usize = 3000;
const FINDING: usize = 500;

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

/// The text of a pull request: what it closes, what was asked and done, and the evidence.
pub(crate) fn pr_body(task: &TaskFacts, policy: &Policy) -> String {
    let references = &policy.references;
    let mut body = String::new();
    let parents = task.lineage.iter().flat_map(|lineage| &lineage.parents);
    for ticket in parents.chain([&task.key]) {
        let line =
            references.closing_line(ticket).unwrap_or_else(|| format!("For {}", references.ticket(ticket)));
        body.push_str(&line);
        body.push('\n');
    }
    if let Some(lineage) = &task.lineage {
        let (pull, number) = (references.pull(lineage.pr), lineage.iteration);
        let _ = write!(body, "\nFix {number} of CI, which failed on {pull}, on the same branch.\n");
    }
    if let Some(work) = task.work() {
        let orders = format!(
            "Comment `/pilot resume` on {} to continue with it as it is{}.",
            references.ticket(&task.key),
            if task.lineage.is_some() { "" } else { ", or `/pilot retry` to start again" }
        );
        describe(&mut body, work, policy.review_blocking, &orders);
        footer(&mut body, work, task.key.as_str());
    }
    body
}

/// The text of a pull request of a task without a ticket.
pub fn task_pr_body(task: &str, work: &Work, blocking: Blocking) -> String {
    let mut body = String::new();
    describe(&mut body, work, blocking, "Merge it only if you agree with it as it is.");
    footer(&mut body, work, task);
    body.trim_start().to_owned()
}

fn describe(body: &mut String, work: &Work, blocking: Blocking, orders: &str) {
    let report = &work.report;
    section(body, "What was asked", &quoted(&report.asked, ASKED));
    let mut done = quoted(&report.summary, SUMMARY);
    if done.is_empty() {
        done.push_str("The agent left no summary.\n");
    }
    if !report.exit_reason.is_empty() {
        let _ = write!(done, "\nIts exit signal says: {}\n", inert_markdown(&report.exit_reason, TITLE));
    }
    let counts = [
        Some(report.commits).filter(|count| *count > 0).map(|count| counted(count, "commit")),
        work.files_changed.map(|count| format!("{} changed", counted(count, "file"))),
    ];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    if !counts.is_empty() {
        let _ = write!(done, "\n{}.\n", counts.join(", "));
    }
    section(body, "What was done", &done);
    section(body, "How it was tested", &tested(work));
    section(body, "What the review found", &reviewed(work));
    section(body, "What to look at", &attention(work, blocking, orders));
}

fn section(body: &mut String, title: &str, text: &str) {
    if !text.is_empty() {
        let _ = write!(body, "\n### {title}\n\n{text}");
    }
}

fn tested(work: &Work) -> String {
    let (sha, base) = (work.sha.short(), work.base.short());
    if work.gates.is_empty() {
        return format!(
            "Not by Pilot: no gates are configured. The commit is `{sha}`, started from `{base}`.\n"
        );
    }
    let mut text = format!("Gates on commit `{sha}`, started from `{base}`:\n\n");
    for gate in &work.gates {
        let _ = writeln!(text, "- {}: {}", code(&gate.name), inert_markdown(&gate.result, TITLE));
    }
    for gate in work.gates.iter().filter(|gate| !gate.output.is_empty()) {
        let _ = write!(text, "\n{}:{}", code(&gate.name), output(&gate.output));
    }
    text
}

fn reviewed(work: &Work) -> String {
    let Some(review) = &work.review else { return "There was no review.\n".to_owned() };
    let line = inert_markdown(review, TITLE);
    let mut rest = line.chars();
    let first = rest.next().map_or_else(String::new, |first| first.to_uppercase().collect());
    let mut text = format!("{first}{}.\n", rest.as_str());
    for (place, finding) in work.findings.iter().enumerate() {
        let place_in_code = finding.file.as_ref().map_or_else(String::new, |file| {
            let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
            format!(", {}", code(&format!("{file}{line}")))
        });
        let _ = writeln!(
            text,
            "{}- **{}**, {}{place_in_code}: {}",
            if place == 0 { "\n" } else { "" },
            finding.severity,
            if finding.fixed { "fixed" } else { "not fixed" },
            inert_markdown(&finding.text, FINDING),
        );
    }
    text
}

/// What a person should read before anything else.
fn attention(work: &Work, blocking: Blocking, orders: &str) -> String {
    let mut text = String::new();
    let open = work.findings.iter().filter(|finding| blocking.holds(finding)).count();
    if open > 0 {
        let findings = if open == 1 { "1 finding".to_owned() } else { format!("{open} findings") };
        let _ = writeln!(
            text,
            "- **Pilot does not merge this:** {findings} of the review must not stay. {orders}"
        );
    }
    for gate in work.gates.iter().filter(|gate| gate.result != "passed") {
        let _ = writeln!(text, "- The gate {} did not pass; it is not required.", code(&gate.name));
    }
    if work.gates.is_empty() {
        text.push_str("- No gate has checked this commit.\n");
    }
    if work.review.as_ref().is_some_and(|review| review.starts_with(NOT_DONE)) {
        text.push_str("- The review was not done: no second look was taken at this change.\n");
    }
    text
}

fn footer(body: &mut String, work: &Work, task: &str) {
    let mut parts = Vec::new();
    if !work.report.run.is_empty() {
        parts.push(format!("run {}", code(&work.report.run)));
    }
    parts.extend(work.route.as_ref().map(|route| inert_markdown(route, TITLE)));
    let cost = |cost: u64| format!("{}.{:02} USD", cost / 1_000_000, cost % 1_000_000 / 10_000);
    parts.extend(work.cost_micro_usd.map(cost));
    parts.push(format!("log: `pilot logs {}`", inert_line(task, TITLE).replace('`', "'")));
    let _ = write!(body, "\n---\nBy Pilot: {}.\n", parts.join(" · "));
}

/// Text of others in a code span.
fn code(text: &str) -> String {
    format!("`{}`", inert_line(text, TITLE).replace('`', "'").replace("<!--", "<!- -"))
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
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
