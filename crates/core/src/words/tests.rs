//! What people read, whole.

use super::label::{DONE, FAILED, IN_PROGRESS, RETRY_READY};
use super::{fix_body, hold, pr_title, stage};
use crate::ci::CheckState;
use crate::fact::{TaskEvent, UserCommand};
use crate::id::{Generation, PrNumber, References};
use crate::observed::{FailureKind, Ticket, Trust};
use crate::outcome::Class;
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

### Evidence

All of it is about commit `aaaaaaa`.

| what | result |
|---|---|
| gate test | passed |
| review | none configured |
| started from | 0000000 |
| route | simple, claude-sonnet-4-6 |
| files changed | 2 |
| cost | 0.12 USD |
";
    assert_eq!(new.body, expect);
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
    assert_eq!(said(&scenario), "Done: #7 is merged as `bbbbbbb`.");
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
        (TaskEvent::TicketRead { ticket: hostile }, "issue read: open, by @ann, labels a b"),
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
            "Pilot died during run g2; that does not count as a failure",
        ),
    ] {
        assert_eq!(super::task_event(&what, &references()), words);
    }
}
