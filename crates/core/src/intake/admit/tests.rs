//! Every reason for which a ticket is held, what would change it, and when it is looked at again.

use super::{Admission, admit};
use crate::budget::{Limit, Shortage, Usd, reserve};
use crate::fact::{Lineage, RunEnding, TaskEvent, TaskFacts, TaskMessage};
use crate::id::PrNumber;
use crate::observed::{Author, AuthorKind, DependencyState, Ticket, TicketState, Trust};
use crate::outcome::Class;
use crate::route::Complexity;
use crate::task::scenario::{Scenario, at, gh, sha, ticket};
use crate::task::{Hold, Query, Stage};

/// A ticket that nothing speaks against, changed a little.
fn changed(change: impl FnOnce(&mut Ticket)) -> Ticket {
    let mut ticket = Ticket { updated_at: at(1), ..ticket(1) };
    change(&mut ticket);
    ticket
}

fn by(login: &str, kind: AuthorKind) -> Ticket {
    changed(|ticket| ticket.author = Author { login: login.to_owned(), kind })
}

fn admission(scenario: &Scenario) -> Admission {
    admit(&scenario.loaded.task, &scenario.loaded.project.facts, &scenario.policy, scenario.now)
}

/// What is said of a task that would be admitted, after something happened.
fn after(event: TaskEvent) -> Admission {
    let mut scenario = Scenario::queued();
    scenario.policy.trusted.insert("helper[bot]".to_owned());
    scenario.tell(event);
    admission(&scenario)
}

#[test]
fn every_reason_is_told() {
    let seen = |ticket: Ticket| TaskEvent::TicketRead { ticket };
    let held = Admission::Held;
    for (event, expect) in [
        (seen(changed(|_| {})), Admission::Admitted { rank: 0 }),
        (seen(changed(|ticket| ticket.state = TicketState::Closed)), held(Hold::TicketClosed)),
        (TaskEvent::TicketGone, held(Hold::TicketClosed)),
        (seen(changed(|ticket| ticket.labels.clear())), held(Hold::LabelGone)),
        (seen(by("spam[bot]", AuthorKind::Bot)), held(Hold::Bot { login: "spam[bot]".to_owned() })),
        (seen(by("helper[bot]", AuthorKind::Bot)), Admission::Admitted { rank: 0 }),
        (seen(by("HELPER[bot]", AuthorKind::Bot)), Admission::Admitted { rank: 0 }),
        (seen(a_fix()), held(Hold::UnknownFix)),
        // A user who runs Pilot with their own account writes tickets with it as well.
        (
            seen(by("pilot-bot", AuthorKind::Me)),
            Admission::Unknown(vec![Query::Trust { login: "pilot-bot".to_owned() }]),
        ),
        (
            seen(by("eve", AuthorKind::Person)),
            // What ann may do says nothing about eve.
            Admission::Unknown(vec![Query::Trust { login: "eve".to_owned() }]),
        ),
        (
            TaskEvent::TrustRead { login: "ann".to_owned(), trust: Trust::Untrusted },
            held(Hold::Untrusted { login: "ann".to_owned() }),
        ),
        (
            seen(changed(|ticket| {
                ticket.body.depends_on.insert(gh(1));
            })),
            held(Hold::DependsOnItself),
        ),
        (
            seen(changed(|ticket| ticket.body.unread.push("Depends on: the login".to_owned()))),
            held(Hold::DependencyUnread { line: "Depends on: the login".to_owned() }),
        ),
        (
            TaskEvent::BranchChecked {
                branch: crate::id::Branch::parse("pilot/GH-1").unwrap(),
                found: Some(PrNumber(4)),
            },
            held(Hold::OpenPr { pr: PrNumber(4) }),
        ),
    ] {
        assert_eq!(after(event.clone()), expect, "{event:?}");
    }
}

/// A ticket as Pilot opens one to have CI fixed.
fn a_fix() -> Ticket {
    let mut ticket = by("pilot-bot", AuthorKind::Me);
    ticket.labels.insert(crate::words::label::FIX.to_owned());
    ticket
}

#[test]
fn dependencies_are_looked_at_and_waited_for() {
    let mut scenario = Scenario::queued();
    let depends = changed(|ticket| ticket.body.depends_on = [gh(3), gh(4)].into());
    scenario.tell(TaskEvent::TicketRead { ticket: depends });
    let queries = [3, 4].map(|number| Query::Dependency { ticket: gh(number) });
    assert_eq!(admission(&scenario), Admission::Unknown(queries.to_vec()));
    let mut see = |number: u64, state: DependencyState| {
        let change = scenario.tell(TaskEvent::DependencyRead { ticket: gh(number), state });
        (admission(&scenario), change)
    };
    see(3, DependencyState::Closed);
    let (held, change) = see(4, DependencyState::Open);
    assert_eq!(held, Admission::Held(Hold::DependsOn { open: [gh(4)].into() }));
    assert_eq!(change.queries, [Query::Dependency { ticket: gh(4) }], "and only that again");
    let (held, _) = see(4, DependencyState::Missing);
    assert_eq!(held, Admission::Held(Hold::DependencyMissing { ticket: gh(4) }));
    assert_eq!(see(4, DependencyState::Closed).0, Admission::Admitted { rank: 0 });
}

#[test]
fn the_project_holds_everybody() {
    let project = |change: fn(&mut Scenario)| {
        let mut scenario = Scenario::queued();
        change(&mut scenario);
        admission(&scenario)
    };
    let paused = project(|scenario| scenario.loaded.project.facts.paused = Some("ann".to_owned()));
    assert_eq!(paused, Admission::Held(Hold::ProjectPaused { by: "ann".to_owned() }));
    let broken = project(|scenario| scenario.loaded.project.facts.failed = Some((scenario.now, Class::Auth)));
    assert!(matches!(broken, Admission::Held(Hold::Breaker { class: Class::Auth, .. })), "{broken:?}");
}

#[test]
fn a_fix_our_own_log_knows_of_is_trusted() {
    let mut scenario = Scenario::new();
    scenario.tell(TaskEvent::TicketRead { ticket: a_fix() });
    assert_eq!(admission(&scenario), Admission::Held(Hold::UnknownFix));
    let lineage = Lineage {
        root: gh(9),
        parents: vec![gh(9)],
        pr: PrNumber(7),
        branch: crate::id::Branch::parse("pilot/GH-9").unwrap(),
        sha: sha(10),
        iteration: 1,
    };
    scenario.tell(TaskEvent::MessageReceived { message: TaskMessage::Adopted(lineage) });
    assert!(
        matches!(admission(&scenario), Admission::Admitted { rank } if rank < 0),
        "before everybody else"
    );
}

#[test]
fn nothing_is_known_of_an_unseen_issue() {
    let facts = TaskFacts::new(crate::task::scenario::project_id(), gh(1));
    let scenario = Scenario::new();
    let unknown = admit(&facts, &scenario.loaded.project.facts, &scenario.policy, scenario.now);
    assert_eq!(unknown, Admission::Unknown(vec![Query::Ticket]));
}

#[test]
fn a_hold_is_looked_at_again_unless_somebody_will_say() {
    let again = |event: TaskEvent| {
        let mut scenario = Scenario::queued();
        let change = scenario.tell(event);
        (change.queries, change.wake.map(|wake| wake.since(scenario.now).as_secs()))
    };
    let stranger = TaskEvent::TrustRead { login: "ann".to_owned(), trust: Trust::Untrusted };
    assert_eq!(again(stranger), (vec![Query::Trust { login: "ann".to_owned() }], Some(600)));
    // One answer that a ticket is gone may be wrong, and no list would tell.
    assert_eq!(again(TaskEvent::TicketGone), (vec![Query::Ticket], Some(600)));
    let closed = changed(|ticket| ticket.state = TicketState::Closed);
    assert_eq!(again(TaskEvent::TicketRead { ticket: closed }), (vec![], None), "the list tells");
    let bot = by("spam[bot]", AuthorKind::Bot);
    assert_eq!(again(TaskEvent::TicketRead { ticket: bot }), (vec![], None));
}

#[test]
fn what_the_budget_does_not_admit_waits_for_it_and_counts_for_nothing() {
    for has_begun in [false, true] {
        let mut scenario = Scenario::running();
        let shortage = Shortage {
            limit: Limit::Daily,
            size: Complexity::Medium,
            reserve: reserve::MEDIUM,
            spent: Usd::from_micros(50_000_000),
            reserved: Usd::ZERO,
            most: Usd::from_micros(50_000_000),
            until: at(90_000),
            has_begun,
        };
        let change = scenario.run_ends(RunEnding::OverBudget { shortage: shortage.clone() });
        let hold = Hold::Budget { why: shortage.words(), until: Some(at(90_000)) };
        assert_eq!(change.stage, Stage::Held { hold });
        assert_eq!((change.facts.life.attempts, &change.facts.life.run), (0, &None));
        let project = &scenario.loaded.project.facts;
        assert_eq!((project.failures, project.failed), (0, None));
        assert_eq!(project.unfunded.get(&gh(1)).map(|unfunded| &unfunded.shortage), Some(&shortage));
        // Time alone does not free it: other runs may have spent the next day's budget too.
        scenario.wait(100_000);
        let change = scenario.tell(TaskEvent::BudgetFreed);
        assert_eq!(change.stage, Stage::Queued { rank: 0 });
        assert!(scenario.loaded.project.facts.unfunded.is_empty());
        scenario.claim();
        scenario.begin();
        assert_eq!(scenario.loaded.task.life.short, None);
    }
}
