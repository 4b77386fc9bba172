//! Every reason for which an issue is held, what would change it, and when it is looked at again.

use super::{Admission, admit};
use crate::fact::{Happened, Lineage, News, TaskFacts};
use crate::name::{IssueNumber, PrNumber};
use crate::outcome::Class;
use crate::seen::{Author, AuthorKind, DependencyState, Issue, IssueState, Permission};
use crate::task::tale::{Tale, at, issue, sha};
use crate::task::{Hold, Look};

/// An issue that nothing speaks against, changed a little.
fn changed(change: impl FnOnce(&mut Issue)) -> Issue {
    let mut issue = Issue { updated_at: at(1), ..issue(1) };
    change(&mut issue);
    issue
}

fn by(login: &str, kind: AuthorKind) -> Issue {
    changed(|issue| issue.author = Author { login: login.to_owned(), kind })
}

fn admission(tale: &Tale) -> Admission {
    admit(&tale.loaded.task, &tale.loaded.project.facts, &tale.policy, tale.now)
}

/// What is said of a task that would be admitted, after something happened.
fn after(happened: Happened) -> Admission {
    let mut tale = Tale::queued();
    tale.policy.trusted.insert("helper[bot]".to_owned());
    tale.tell(happened);
    admission(&tale)
}

#[test]
fn every_reason_is_told() {
    let seen = |issue: Issue| Happened::IssueSeen { issue };
    let held = Admission::Held;
    for (happened, expect) in [
        (seen(changed(|_| {})), Admission::Admitted { rank: 0 }),
        (seen(changed(|issue| issue.state = IssueState::Closed)), held(Hold::IssueClosed)),
        (Happened::IssueGone, held(Hold::IssueClosed)),
        (seen(changed(|issue| issue.labels.clear())), held(Hold::LabelGone)),
        (seen(by("spam[bot]", AuthorKind::Bot)), held(Hold::Bot { login: "spam[bot]".to_owned() })),
        (seen(by("helper[bot]", AuthorKind::Bot)), Admission::Admitted { rank: 0 }),
        (seen(by("HELPER[bot]", AuthorKind::Bot)), Admission::Admitted { rank: 0 }),
        (seen(a_fix()), held(Hold::UnknownFix)),
        // Whoever runs Pilot with an account of their own writes issues with it as well.
        (
            seen(by("pilot-bot", AuthorKind::Me)),
            Admission::Unknown(vec![Look::Permission { login: "pilot-bot".to_owned() }]),
        ),
        (
            seen(by("eve", AuthorKind::Person)),
            // What ann may do says nothing about eve.
            Admission::Unknown(vec![Look::Permission { login: "eve".to_owned() }]),
        ),
        (
            Happened::PermissionSeen { login: "ann".to_owned(), permission: Permission::Triage },
            held(Hold::Stranger { login: "ann".to_owned() }),
        ),
        (
            seen(changed(|issue| {
                issue.body.depends_on.insert(IssueNumber(1));
            })),
            held(Hold::DependsOnItself),
        ),
        (
            seen(changed(|issue| issue.body.unread.push("Depends on: the login".to_owned()))),
            held(Hold::DependencyUnread { line: "Depends on: the login".to_owned() }),
        ),
        (
            Happened::BranchLookedAt {
                branch: crate::name::Branch::parse("pilot/GH-1").unwrap(),
                found: Some(PrNumber(4)),
            },
            held(Hold::OpenPr { pr: PrNumber(4) }),
        ),
    ] {
        assert_eq!(after(happened.clone()), expect, "{happened:?}");
    }
}

/// An issue as Pilot opens one to have CI fixed.
fn a_fix() -> Issue {
    let mut issue = by("pilot-bot", AuthorKind::Me);
    issue.labels.insert(crate::words::label::FIX.to_owned());
    issue
}

#[test]
fn dependencies_are_looked_at_and_waited_for() {
    let mut tale = Tale::queued();
    let depends = changed(|issue| issue.body.depends_on = [IssueNumber(3), IssueNumber(4)].into());
    tale.tell(Happened::IssueSeen { issue: depends });
    let looks = [3, 4].map(|number| Look::Dependency { issue: IssueNumber(number) });
    assert_eq!(admission(&tale), Admission::Unknown(looks.to_vec()));
    let mut see = |number: u64, state: DependencyState| {
        let change = tale.tell(Happened::DependencySeen { issue: IssueNumber(number), state });
        (admission(&tale), change)
    };
    see(3, DependencyState::Closed);
    let (held, change) = see(4, DependencyState::Open);
    assert_eq!(held, Admission::Held(Hold::DependsOn { open: [IssueNumber(4)].into() }));
    assert_eq!(change.looks, [Look::Dependency { issue: IssueNumber(4) }], "and only that again");
    let (held, _) = see(4, DependencyState::Missing);
    assert_eq!(held, Admission::Held(Hold::DependencyMissing { issue: IssueNumber(4) }));
    assert_eq!(see(4, DependencyState::Closed).0, Admission::Admitted { rank: 0 });
}

#[test]
fn the_project_holds_everybody() {
    let project = |change: fn(&mut Tale)| {
        let mut tale = Tale::queued();
        change(&mut tale);
        admission(&tale)
    };
    let paused = project(|tale| tale.loaded.project.facts.paused = Some("ann".to_owned()));
    assert_eq!(paused, Admission::Held(Hold::ProjectPaused { by: "ann".to_owned() }));
    let budget = project(|tale| tale.loaded.project.facts.budget = Some("spent".to_owned()));
    assert_eq!(budget, Admission::Held(Hold::Budget { why: "spent".to_owned() }));
    let broken = project(|tale| tale.loaded.project.facts.failed = Some((tale.now, Class::Auth)));
    assert!(matches!(broken, Admission::Held(Hold::Breaker { class: Class::Auth, .. })), "{broken:?}");
}

#[test]
fn a_fix_our_own_log_knows_of_is_trusted() {
    let mut tale = Tale::new();
    tale.tell(Happened::IssueSeen { issue: a_fix() });
    assert_eq!(admission(&tale), Admission::Held(Hold::UnknownFix));
    let lineage = Lineage {
        root: IssueNumber(9),
        parents: vec![IssueNumber(9)],
        pr: PrNumber(7),
        branch: crate::name::Branch::parse("pilot/GH-9").unwrap(),
        sha: sha(10),
        iteration: 1,
    };
    tale.tell(Happened::Heard { news: News::Adopted(lineage) });
    assert!(matches!(admission(&tale), Admission::Admitted { rank } if rank < 0), "before everybody else");
}

#[test]
fn nothing_is_known_of_an_unseen_issue() {
    let facts = TaskFacts::new(crate::task::tale::project_id(), IssueNumber(1));
    let tale = Tale::new();
    let unknown = admit(&facts, &tale.loaded.project.facts, &tale.policy, tale.now);
    assert_eq!(unknown, Admission::Unknown(vec![Look::Issue]));
}

#[test]
fn a_hold_is_looked_at_again_unless_somebody_will_say() {
    let again = |happened: Happened| {
        let mut tale = Tale::queued();
        let change = tale.tell(happened);
        (change.looks, change.wake.map(|wake| wake.since(tale.now).as_secs()))
    };
    let stranger = Happened::PermissionSeen { login: "ann".to_owned(), permission: Permission::Read };
    assert_eq!(again(stranger), (vec![Look::Permission { login: "ann".to_owned() }], Some(600)));
    // One answer that an issue is gone may be wrong, and no list would tell.
    assert_eq!(again(Happened::IssueGone), (vec![Look::Issue], Some(600)));
    let closed = changed(|issue| issue.state = IssueState::Closed);
    assert_eq!(again(Happened::IssueSeen { issue: closed }), (vec![], None), "the list tells");
    let bot = by("spam[bot]", AuthorKind::Bot);
    assert_eq!(again(Happened::IssueSeen { issue: bot }), (vec![], None));
}
