//! What people read, whole.

use super::label::{DONE, FAILED, IN_PROGRESS, RETRY_READY};
use super::{fix_body, hold, pr_title, stage, task_pr_body};
use crate::ci::CheckState;
use crate::fact::{TaskEvent, UserCommand, Work, WorkReport};
use crate::id::{Generation, PrNumber, References};
use crate::observed::{FailureKind, Ticket, Trust};
use crate::outcome::Class;
use crate::review::{Blocking, Finding, Severity};
use crate::task::scenario::{
    Scenario, at, by_comment, comment_id, failure, gh, policy, sha, stopped, ticket,
};
use crate::task::{Action, Hold, Lane, Stage};

fn references() -> References {
    policy().references
}

#[test]
fn a_pull_request_says_what_it_closes_and_why_it_is_good() {
    let mut scenario = Scenario::running();
    let work = crate::task::scenario::work(sha(10));
    scenario.run_ends(crate::fact::RunEnding::Completed(Box::new(work)));
    let branch = scenario.loaded.task.branch();
    scenario.done("push", TaskEvent::Pushed { branch, sha: sha(10) });
    let Some(Action::OpenPr(new)) = scenario.action("pr") else { panic!() };
    assert_eq!(new.title, "Add login");
    let expect = "\
Closes #1

### What was asked

> Users sign in with a name.

### What was done

> I added a login form.
>
> It c\u{200b}loses #9.

1 commit, 2 files changed.

### How it was tested

Gates on commit `aaaaaaa`, started from `0000000`:

- `test`: passed

### What the review found

There was no review.

---
By Pilot: run `run-1` · simple, claude-sonnet-4-6 · 0.12 USD · log: `pilot logs GH-1`.
";
    assert_eq!(new.body, expect);
}

#[test]
fn a_pull_request_says_what_the_review_found_and_what_became_of_it() {
    let finding = |severity, text: &str, fixed| Finding {
        severity,
        file: Some("src/db.rs".to_owned()),
        line: Some(3),
        text: text.to_owned(),
        fixed,
    };
    let work = Work {
        gates: Vec::new(),
        review: Some("review: 2 findings, 1 fixed".to_owned()),
        findings: vec![
            finding(Severity::Blocker, "deletes <b>everything</b>, says @root", false),
            finding(Severity::Minor, "a name", true),
        ],
        report: WorkReport { exit_reason: "all criteria are met".to_owned(), ..WorkReport::default() },
        route: None,
        cost_micro_usd: None,
        ..crate::task::scenario::work(sha(10))
    };
    let expect = "\
### What was done

The agent left no summary.

Its exit signal says: all criteria are met

2 files changed.

### How it was tested

Not by Pilot: no gates are configured. The commit is `aaaaaaa`, started from `0000000`.

### What the review found

Review: 2 findings, 1 fixed.

- **blocker**, not fixed, `src/db.rs:3`: deletes &lt;b>everything&lt;/b>, says @\u{200b}root
- **minor**, fixed, `src/db.rs:3`: a name

### What to look at

- **Pilot does not merge this:** 1 finding of the review must not stay. Merge it only if you agree with it as it is.
- No gate has checked this commit.

---
By Pilot: log: `pilot logs TASK-1`.
";
    assert_eq!(task_pr_body("TASK-1", &work, Blocking::Blocker), expect);
    assert!(!task_pr_body("TASK-1", &work, Blocking::None).contains("does not merge"));
    let unread = Work { review: Some("review not done: it said nothing".to_owned()), ..work };
    let body = task_pr_body("TASK-1", &unread, Blocking::None);
    assert!(body.contains("Review not done: it said nothing.\n"), "{body}");
    assert!(body.contains("- The review was not done: no second look"), "{body}");
}

#[test]
fn the_title_of_an_issue_closes_nothing() {
    for (title, expect) in [
        ("Add login", "Add login"),
        ("Fix CI: Fix CI: Add login", "Add login"),
        ("  \n ", "Work by Pilot"),
        ("Fixes #3", "F\u{200b}ixes #3"),
    ] {
        assert_eq!(pr_title(title), expect, "{title:?}");
    }
}

#[test]
fn an_issue_for_a_fix_says_what_failed_and_shows_the_end_of_the_log() {
    let mut scenario = Scenario::opened();
    scenario.judged(CheckState::Failed);
    let Some(Action::OpenFix(new)) = scenario.action("fix") else { panic!() };
    let expect = "\
CI failed on #7 (commit `aaaaaaa`), which was opened for #1. Make these checks pass, on the same branch `pilot/GH-1`, \
without reverting what was done there.

- [ ] build

The end of the log:

````text
```
assertion failed
````

Opened by Pilot. This is fix 1 in a row.
";
    assert_eq!(fix_body(new, Some("```\nassertion failed\n"), &references()), expect);
    assert!(fix_body(new, None, &references()).contains("The forge has no log of it."));
    let long = fix_body(new, Some(&"0123456789\n".repeat(10_000)), &references());
    assert!(long.len() < 3000 && long.contains("\n0123456789\n```\n"), "{long}");
}

#[test]
fn the_status_comment_changes_when_a_person_has_something_to_know() {
    let mut scenario = Scenario::running();
    let said = |scenario: &Scenario| match scenario.action("comment") {
        Some(Action::Comment { body, .. }) => body.lines().next().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    assert_eq!(said(&scenario), "Pilot is working on this, on branch `pilot/GH-1`.");
    let Some(Action::Comment { fingerprint, .. }) = scenario.action("comment").cloned() else { panic!() };
    scenario.done("comment", TaskEvent::Commented { comment: comment_id(1), fingerprint });
    scenario.publish();
    scenario.judged(CheckState::Passed);
    assert_eq!(said(&scenario), "", "nothing changed for a reader");
    scenario.merges();
    scenario.tell(TaskEvent::BaseChecked { commit: sha(11), on_base: true });
    assert_eq!(said(&scenario), "Merged: PR #7, commit bbbbbbb.");
}

#[test]
fn labels_show_the_stage() {
    let label = |scenario: &Scenario| match scenario.action("label") {
        Some(Action::Label { add, .. }) => add.iter().cloned().collect::<Vec<_>>(),
        _ => vec!["nothing new".to_owned()],
    };
    assert_eq!(label(&Scenario::running()), [IN_PROGRESS]);
    let mut failed = Scenario::running();
    failed.run_ends(stopped(Class::GateFailed, None));
    assert_eq!(label(&failed), [FAILED]);
    let mut done = Scenario::opened();
    done.judged(CheckState::Passed);
    done.merges();
    done.tell(TaskEvent::BaseChecked { commit: sha(11), on_base: true });
    assert_eq!(label(&done), [DONE]);
    let mut closed = Scenario::opened();
    for _ in 0..2 {
        let state = crate::observed::PrState::Closed;
        closed.tell(TaskEvent::PrRead {
            pr: crate::observed::Pr { state, ..crate::task::scenario::pr(7, sha(10)) },
        });
        closed.wait(41);
    }
    assert_eq!(label(&closed), [RETRY_READY]);
    let mut cancelled = Scenario::running();
    cancelled.done("label", TaskEvent::Labelled { labels: vec![IN_PROGRESS.to_owned()] });
    cancelled.command(UserCommand::Cancel);
    cancelled.run_ends(stopped(Class::Cancelled, None));
    assert_eq!(label(&cancelled), Vec::<String>::new(), "taken off");
    assert_eq!(label(&Scenario::queued()), ["nothing new"]);
}

#[test]
fn every_hold_says_what_would_change_it() {
    let login = || "eve".to_owned();
    let by = || "ann".to_owned();
    let pr = PrNumber(7);
    for (reason, words) in [
        (Hold::TicketClosed, "Reopen it"),
        (Hold::LabelGone, "Add it again"),
        (Hold::Paused { by: by() }, "/pilot resume"),
        (Hold::ProjectPaused { by: by() }, "pilot resume"),
        (Hold::Bot { login: login() }, "trusted"),
        (Hold::Untrusted { login: login() }, "@eve has no write access"),
        (Hold::UnknownFix, "open a new issue"),
        (Hold::DependsOn { open: [gh(3)].into() }, "#3"),
        (Hold::DependsOnItself, "Remove that line"),
        (Hold::DependencyMissing { ticket: gh(3) }, "Correct that line"),
        (Hold::DependencyUnread { line: "x".to_owned() }, "`Depends on: #12`"),
        (Hold::OpenPr { pr }, "Merge or close it"),
        (Hold::ClaimedElsewhere { owner: by() }, "Another Pilot (ann)"),
        (Hold::Breaker { until: at(0), class: Class::Auth }, "`pilot resume`"),
        (Hold::Budget { why: "Raise it, 50 USD a day.".to_owned(), until: None }, "50 USD a day"),
        (Hold::MergeConflict { pr }, "/pilot retry"),
        (Hold::HeadMoved { pr, head: sha(10) }, "`aaaaaaa`"),
        (
            Hold::ReviewFindings { pr, count: 1, first: "blocker a.rs:3: x".to_owned(), is_fix: false },
            "Pilot's review of #7 found a problem that is not fixed: blocker a.rs:3: x. `/pilot resume` continues",
        ),
        (
            Hold::ReviewFindings { pr, count: 2, first: "blocker: x".to_owned(), is_fix: true },
            "found 2 problems that are not fixed, the first: blocker: x. `/pilot resume` continues with it as it is; or",
        ),
        (Hold::AwaitsMerge { pr }, "merging is left to you"),
        (Hold::ChangesRequested { pr, by: [by()].into() }, "continues when @ann approves"),
        (Hold::ChangesRequested { pr, by: [by(), login()].into() }, "@ann, @eve request changes on #7"),
        (Hold::NotOnBase { pr }, "not on the base branch"),
    ] {
        let said = hold(&reason, &references());
        assert!(said.contains(words) && said.ends_with('.'), "{said}");
    }
    for (kind, words) in [
        (FailureKind::Unauthorised, "renew the token"),
        (FailureKind::Forbidden, "archived"),
        (FailureKind::NotFound, "the base branch exist"),
        (FailureKind::Conflict, "/pilot retry"),
        (FailureKind::Refused, "merge method"),
        (FailureKind::RateLimited, "when the limit resets"),
        (FailureKind::Lost, "keeps trying"),
    ] {
        let said = hold(&Hold::Trouble { lane: Lane::Merge, failure: failure(kind) }, &references());
        assert!(said.starts_with("Pilot could not merge (") && said.contains(words), "{said}");
    }
}

#[test]
fn a_stage_and_a_line_of_the_log_read_like_this() {
    for (at, words) in [
        (Stage::Queued { rank: 0 }, "Queued."),
        (Stage::Running { generation: Generation(1) }, "An agent is working."),
        (Stage::Continued { by: gh(8) }, "CI failed; #8 continues with this branch."),
        (
            Stage::Landing { commit: sha(1), pr: PrNumber(7) },
            "#7 is merged; checking the base branch for its commit.",
        ),
    ] {
        assert_eq!(stage(&at, &references()), words);
    }
    let hostile = Ticket { labels: ["a\nb\u{202e}".to_owned()].into(), ..ticket(1) };
    for (what, words) in [
        (TaskEvent::TicketRead { ticket: hostile }, "the issue is open, opened by @ann, labelled a b"),
        (
            TaskEvent::CommandReceived { command: UserCommand::Cancel, by: by_comment(1, Trust::Untrusted) },
            "command of @bob, ignored without write access: cancel",
        ),
        (
            TaskEvent::ClaimLost { generation: Generation(1), owner: "x\ny".to_owned() },
            "another Pilot (x y) had claimed it before",
        ),
        (
            TaskEvent::Abandoned { generation: Generation(2) },
            "Pilot died during attempt 2; that does not count as a failure",
        ),
    ] {
        assert_eq!(super::task_event(&what, &references()), words);
    }
}
