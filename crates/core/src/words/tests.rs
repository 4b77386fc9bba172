//! What people read, whole.

use super::label::{DONE, FAILED, IN_PROGRESS, RETRY_READY};
use super::{fix_body, hold, pr_title, stage};
use crate::ci::Conclusion;
use crate::fact::{Happened, Order};
use crate::name::{Generation, IssueNumber, PrNumber};
use crate::outcome::Class;
use crate::seen::{FailureKind, Issue, Permission};
use crate::task::tale::{Tale, at, by_comment, failure, issue, sha, stopped};
use crate::task::{Action, Hold, Stage};

#[test]
fn a_pull_request_says_what_it_closes_and_why_it_is_good() {
    let mut tale = Tale::running();
    let work = crate::task::tale::work(sha(10));
    tale.run_ends(crate::fact::RunEnding::Completed(Box::new(work)));
    let branch = tale.loaded.task.branch();
    tale.done("push", Happened::Pushed { branch, sha: sha(10) });
    let Some(Action::OpenPr(new)) = tale.action("pr") else { panic!() };
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

<!-- pilot-task GH-1 -->
";
    assert_eq!(new.body, expect);
}

#[test]
fn a_title_of_somebody_elses_closes_nothing() {
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
    let mut tale = Tale::opened();
    tale.judged(Conclusion::Failure);
    let Some(Action::OpenFix(new)) = tale.action("fix") else { panic!() };
    let expect = "\
CI failed on #7 (commit `aaaaaaa`), which was opened for #1. Make these checks pass, on the same branch `pilot/GH-1`, \
without taking back what was done there.

- [ ] build

The end of the log:

````text
```
assertion failed
````

Opened by Pilot. This is fix 1 in a row.

<!-- autopilot-meta branch:pilot/GH-1 pr:7 iteration:1 -->
";
    assert_eq!(fix_body(new, Some("```\nassertion failed\n")), expect);
    assert!(fix_body(new, None).contains("The forge has no log of it."));
    let long = fix_body(new, Some(&"0123456789\n".repeat(10_000)));
    assert!(long.len() < 3000 && long.contains("\n0123456789\n```\n"), "{long}");
}

#[test]
fn the_status_comment_changes_when_a_person_has_something_to_know() {
    let mut tale = Tale::running();
    let said = |tale: &Tale| match tale.action("comment") {
        Some(Action::Comment { body, .. }) => body.lines().next().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    assert_eq!(said(&tale), "Pilot is at work on this, on branch `pilot/GH-1`.");
    let Some(Action::Comment { fingerprint, .. }) = tale.action("comment").cloned() else { panic!() };
    tale.done("comment", Happened::Commented { comment: crate::name::CommentId(1), fingerprint });
    tale.publish();
    tale.judged(Conclusion::Success);
    assert_eq!(said(&tale), "", "nothing changed for anybody");
    tale.merges();
    tale.tell(Happened::BaseLookedAt { commit: sha(11), on_base: true });
    assert_eq!(said(&tale), "Done: #7 is merged as `bbbbbbb`.");
}

#[test]
fn labels_say_where_it_stands() {
    let label = |tale: &Tale| match tale.action("label") {
        Some(Action::Label { add, .. }) => add.iter().cloned().collect::<Vec<_>>(),
        _ => vec!["nothing new".to_owned()],
    };
    assert_eq!(label(&Tale::running()), [IN_PROGRESS]);
    let mut failed = Tale::running();
    failed.run_ends(stopped(Class::GateFailed, None));
    assert_eq!(label(&failed), [FAILED]);
    let mut done = Tale::opened();
    done.judged(Conclusion::Success);
    done.merges();
    done.tell(Happened::BaseLookedAt { commit: sha(11), on_base: true });
    assert_eq!(label(&done), [DONE]);
    let mut closed = Tale::opened();
    for _ in 0..2 {
        let state = crate::seen::PrState::Closed;
        closed.tell(Happened::PrSeen { pr: crate::seen::Pr { state, ..crate::task::tale::pr(7, sha(10)) } });
        closed.wait(41);
    }
    assert_eq!(label(&closed), [RETRY_READY]);
    let mut cancelled = Tale::running();
    cancelled.done("label", Happened::Labelled { labels: vec![IN_PROGRESS.to_owned()] });
    cancelled.ordered(Order::Cancel);
    cancelled.run_ends(stopped(Class::Cancelled, None));
    assert_eq!(label(&cancelled), Vec::<String>::new(), "taken off");
    assert_eq!(label(&Tale::queued()), ["nothing new"]);
}

#[test]
fn every_hold_says_what_would_change_it() {
    let login = || "eve".to_owned();
    let by = || "ann".to_owned();
    let pr = PrNumber(7);
    for (reason, words) in [
        (Hold::IssueClosed, "Open it again"),
        (Hold::LabelGone, "Set it again"),
        (Hold::Paused { by: by() }, "/pilot resume"),
        (Hold::ProjectPaused { by: by() }, "pilot resume"),
        (Hold::Bot { login: login() }, "trusted"),
        (Hold::Stranger { login: login() }, "@eve has no write access"),
        (Hold::UnknownFix, "write the issue anew"),
        (Hold::DependsOn { open: [IssueNumber(3)].into() }, "#3"),
        (Hold::DependsOnItself, "Take that line out"),
        (Hold::DependencyMissing { issue: IssueNumber(3) }, "Correct that line"),
        (Hold::DependencyUnread { line: "x".to_owned() }, "`Depends on: #12`"),
        (Hold::OpenPr { pr }, "Merge or close that"),
        (Hold::Elsewhere { owner: by() }, "Another Pilot (ann)"),
        (Hold::Breaker { until: at(0), class: Class::Auth }, "`pilot resume`"),
        (Hold::Budget { why: "50 USD a day".to_owned() }, "50 USD a day"),
        (Hold::MergeConflict { pr }, "/pilot retry"),
        (Hold::HeadMoved { pr, head: sha(10) }, "`aaaaaaa`"),
        (Hold::AwaitsMerge { pr }, "merging is left to you"),
        (Hold::NotOnBase { pr }, "not on the base branch"),
    ] {
        let said = hold(&reason);
        assert!(said.contains(words) && said.ends_with('.'), "{said}");
    }
    for (kind, words) in [
        (FailureKind::Unauthorised, "renew the token"),
        (FailureKind::Forbidden, "archived"),
        (FailureKind::NotFound, "the base branch exist"),
        (FailureKind::Conflict, "/pilot retry"),
        (FailureKind::Refused, "merge method"),
        (FailureKind::RateLimited, "when the limit resets"),
        (FailureKind::Lost, "goes on trying"),
    ] {
        let said = hold(&Hold::Trouble { lane: "merge".to_owned(), failure: failure(kind) });
        assert!(said.starts_with("Pilot could not merge (") && said.contains(words), "{said}");
    }
}

#[test]
fn a_stage_and_a_line_of_the_log_read_like_this() {
    for (at, words) in [
        (Stage::Queued { rank: 0 }, "It waits for its turn."),
        (Stage::Running { generation: Generation(1) }, "An agent is at work."),
        (Stage::Continued { by: IssueNumber(8) }, "CI failed; #8 goes on with this work."),
        (
            Stage::Landing { commit: sha(1), pr: PrNumber(7) },
            "#7 is merged; its commit is looked for on the base branch.",
        ),
    ] {
        assert_eq!(stage(&at), words);
    }
    let hostile = Issue { labels: ["a\nb\u{202e}".to_owned()].into(), ..issue(1) };
    for (what, words) in [
        (Happened::IssueSeen { issue: hostile }, "the issue was read: open, by @ann, labels a b"),
        (
            Happened::Ordered { order: Order::Cancel, by: by_comment(1, Permission::Read) },
            "@bob, without write access, wrote: cancel",
        ),
        (
            Happened::ClaimLost { generation: Generation(1), owner: "x\ny".to_owned() },
            "another Pilot (x y) has it",
        ),
        (
            Happened::Abandoned { generation: Generation(2) },
            "Pilot died during run g2; that counts for nothing",
        ),
    ] {
        assert_eq!(super::happened(&what), words);
    }
}
