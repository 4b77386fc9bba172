//! Every hold: a person does what its sentence says, and the task is held by it no more.

use std::collections::BTreeSet;

use crate::budget::{Limit, Shortage, Usd, reserve};
use crate::ci::CheckState;
use crate::fact::{ProjectEvent, RunEnding, TaskEvent, UserCommand};
use crate::id::PrNumber;
use crate::observed::{
    Author, AuthorKind, DependencyState, FailureKind, Mergeable, Pr, Ticket, TicketState, Trust,
};
use crate::outcome::Class;
use crate::route::Complexity;
use crate::task::scenario::{Scenario, at, gh, merged, pr, reading, sha, stopped, ticket, work};
use crate::task::{Hold, Stage};
use crate::words;

/// How a task comes to be held, what its sentence says, and how a person does that.
struct Case {
    held: fn() -> Scenario,
    says: &'static str,
    cure: fn(&mut Scenario),
}

/// A new hold breaks the build here, and has no case until it gets one.
fn index_of(hold: &Hold) -> usize {
    match hold {
        Hold::TicketClosed => 0,
        Hold::LabelGone => 1,
        Hold::Paused { .. } => 2,
        Hold::ProjectPaused { .. } => 3,
        Hold::Bot { .. } => 4,
        Hold::Untrusted { .. } => 5,
        Hold::TrustUnknown { .. } => 6,
        Hold::UnknownFix => 7,
        Hold::DependsOn { .. } => 8,
        Hold::DependsOnItself => 9,
        Hold::DependencyMissing { .. } => 10,
        Hold::DependencyUnread { .. } => 11,
        Hold::OpenPr { .. } => 12,
        Hold::ClaimedElsewhere { .. } => 13,
        Hold::Breaker { .. } => 14,
        Hold::Budget { .. } => 15,
        Hold::MergeConflict { .. } => 16,
        Hold::HeadMoved { .. } => 17,
        Hold::CiLate { .. } => 18,
        Hold::CiKeepsFailing { .. } => 19,
        Hold::ChangesRequested { .. } => 20,
        Hold::WithdrawnTooOften { .. } => 21,
        Hold::AwaitsMerge { .. } => 22,
        Hold::NotOnBase { .. } => 23,
        Hold::Trouble { .. } => 24,
    }
}

const HOLDS: usize = 25;

fn edit(scenario: &mut Scenario, change: impl FnOnce(&mut Ticket)) {
    let mut ticket = scenario.loaded.task.ticket().cloned().unwrap_or_else(|| ticket(1));
    change(&mut ticket);
    ticket.updated_at = at(ticket.updated_at.0 / 1_000_000 + 1);
    scenario.tell(TaskEvent::TicketRead { ticket });
}

fn edited(change: fn(&mut Ticket)) -> Scenario {
    let mut scenario = Scenario::queued();
    edit(&mut scenario, change);
    scenario
}

fn tell_project(scenario: &mut Scenario, event: &ProjectEvent) {
    scenario.loaded.project.facts.fold(scenario.now, event);
    scenario.wait(0);
}

fn resume_project(scenario: &mut Scenario) {
    tell_project(scenario, &ProjectEvent::Resumed { by: "the operator".to_owned() });
}

fn trust(trust: Trust) -> Scenario {
    let mut scenario = Scenario::new();
    scenario.tell(TaskEvent::TicketRead { ticket: ticket(1) });
    scenario.tell(TaskEvent::TrustRead { login: "ann".to_owned(), trust });
    scenario
}

fn written_by(kind: AuthorKind) -> fn(&mut Ticket) {
    match kind {
        AuthorKind::Bot => |ticket| ticket.author = Author { login: "ann".to_owned(), kind: AuthorKind::Bot },
        AuthorKind::Me | AuthorKind::Person => |ticket| {
            ticket.author = Author { login: "ann".to_owned(), kind: AuthorKind::Me };
            ticket.labels.insert("autopilot-fix".to_owned());
        },
    }
}

/// The configuration lists the author as trusted.
fn list_author(scenario: &mut Scenario) {
    scenario.policy.trusted = ["ann".to_owned()].into();
    scenario.wait(0);
}

fn depends_on(number: u64, state: DependencyState) -> Scenario {
    let mut scenario = Scenario::queued();
    edit(&mut scenario, |ticket| ticket.body.depends_on = [gh(number)].into());
    scenario.tell(TaskEvent::DependencyRead { ticket: gh(number), state });
    scenario
}

fn remove_dependency(scenario: &mut Scenario) {
    edit(scenario, |ticket| {
        ticket.body.depends_on = BTreeSet::new();
        ticket.body.unread = Vec::new();
    });
}

fn branch_found(found: Option<PrNumber>, scenario: &mut Scenario) {
    let branch = scenario.loaded.task.branch();
    scenario.tell(TaskEvent::BranchChecked { branch, found });
}

fn judged(state: CheckState) -> Scenario {
    let mut scenario = Scenario::opened();
    scenario.judged(state);
    scenario
}

fn merge_by_hand(scenario: &mut Scenario) {
    scenario.tell_pr(merged(7, sha(10), sha(11)));
}

fn retry(scenario: &mut Scenario) {
    scenario.command(UserCommand::Retry);
}

fn failed_runs() -> Scenario {
    let mut scenario = Scenario::queued();
    for _ in 0..3 {
        scenario.loaded.project.facts.run_ended(scenario.now, Some(Class::Timeout));
    }
    scenario.wait(0);
    scenario
}

fn withdrawn() -> Scenario {
    let mut scenario = Scenario::queued();
    for _ in 0..5 {
        scenario.wait(1800);
        scenario.claim();
        scenario.begin();
        edit(&mut scenario, |ticket| ticket.labels.clear());
        scenario.run_ends(stopped(Class::Cancelled, None));
        edit(&mut scenario, |ticket| ticket.labels = ["pilot".to_owned()].into());
    }
    scenario
}

fn refused_push() -> Scenario {
    let mut scenario = Scenario::running();
    scenario.run_ends(RunEnding::Completed(Box::new(work(sha(10)))));
    for _ in 0..3 {
        scenario.fails("push", FailureKind::Refused);
    }
    scenario
}

fn requested(by: &[&str]) -> TaskEvent {
    let requested_by = by.iter().map(|login| (*login).to_owned()).collect();
    TaskEvent::ReviewsRead { pr: PrNumber(7), requested_by }
}

/// Those before a run.
const BEFORE: [Case; 16] = [
    Case {
        held: || edited(|ticket| ticket.state = TicketState::Closed),
        says: "Reopen it",
        cure: |scenario| edit(scenario, |ticket| ticket.state = TicketState::Open),
    },
    Case {
        held: || edited(|ticket| ticket.labels.clear()),
        says: "Add it again",
        cure: |scenario| edit(scenario, |ticket| ticket.labels = ["pilot".to_owned()].into()),
    },
    Case {
        held: || {
            let mut scenario = Scenario::queued();
            scenario.command(UserCommand::Pause);
            scenario
        },
        says: "`/pilot resume`",
        cure: |scenario| drop(scenario.command(UserCommand::Resume)),
    },
    Case {
        held: || {
            let mut scenario = Scenario::queued();
            tell_project(&mut scenario, &ProjectEvent::Paused { by: "the operator".to_owned() });
            scenario
        },
        says: "`pilot resume`",
        cure: resume_project,
    },
    Case { held: || edited(written_by(AuthorKind::Bot)), says: "list @ann as trusted", cure: list_author },
    Case { held: || trust(Trust::Untrusted), says: "list @ann as trusted", cure: list_author },
    Case { held: || trust(Trust::Unknown), says: "List @ann as trusted", cure: list_author },
    Case {
        held: || edited(written_by(AuthorKind::Me)),
        says: "Close it",
        cure: |scenario| edit(scenario, |ticket| ticket.state = TicketState::Closed),
    },
    Case {
        held: || depends_on(3, DependencyState::Open),
        says: "when that is closed",
        cure: |scenario| {
            let (ticket, state) = (gh(3), DependencyState::Closed);
            scenario.tell(TaskEvent::DependencyRead { ticket, state });
        },
    },
    Case { held: || depends_on(1, DependencyState::Open), says: "Remove that line", cure: remove_dependency },
    Case {
        held: || depends_on(3, DependencyState::Missing),
        says: "Correct that line",
        cure: remove_dependency,
    },
    Case {
        held: || edited(|ticket| ticket.body.unread = vec!["Depends on: it".to_owned()]),
        says: "or remove it",
        cure: remove_dependency,
    },
    Case {
        held: || {
            let mut scenario = Scenario::queued();
            branch_found(Some(PrNumber(4)), &mut scenario);
            scenario
        },
        says: "Merge or close it",
        cure: |scenario| branch_found(None, scenario),
    },
    Case {
        held: || {
            let mut scenario = Scenario::queued();
            scenario.claim();
            let (generation, owner) = (scenario.loaded.task.generation, "other".to_owned());
            scenario.done("claim", TaskEvent::ClaimLost { generation, owner });
            scenario
        },
        says: "checks again later",
        cure: |scenario| drop(scenario.tell(TaskEvent::ClaimRead { owner: None })),
    },
    Case { held: failed_runs, says: "`pilot resume`", cure: resume_project },
    Case {
        held: || {
            let shortage = Shortage {
                limit: Limit::Daily,
                size: Complexity::Simple,
                reserve: reserve::SIMPLE,
                spent: Usd::from_micros(50_000_000),
                reserved: Usd::ZERO,
                most: Usd::from_micros(50_000_000),
                until: at(90_000),
                has_begun: false,
            };
            let mut scenario = Scenario::running();
            scenario.run_ends(RunEnding::OverBudget { shortage });
            scenario
        },
        says: "budget",
        cure: |scenario| drop(scenario.tell(TaskEvent::BudgetFreed)),
    },
];

/// Those of a task with work.
const AFTER: [Case; 10] = [
    Case {
        held: || {
            let mut scenario = judged(CheckState::Passed);
            scenario.tell_pr(Pr { mergeable: Mergeable::No, ..pr(7, sha(10)) });
            scenario
        },
        says: "or `/pilot retry`",
        cure: retry,
    },
    Case {
        held: || {
            let mut scenario = judged(CheckState::Passed);
            scenario.tell_pr(pr(7, sha(12)));
            scenario
        },
        says: "Merge it yourself",
        cure: merge_by_hand,
    },
    Case {
        held: || {
            let mut scenario = Scenario::opened();
            scenario.tell(TaskEvent::CiRead { reading: reading(sha(10), CheckState::Undecided) });
            scenario.wait(7200);
            scenario
        },
        says: "run them again",
        cure: |scenario| scenario.judged(CheckState::Passed),
    },
    Case {
        held: || {
            let mut scenario = Scenario::opened();
            scenario.policy.max_ci_fixes = 0;
            scenario.judged(CheckState::Failed);
            scenario
        },
        says: "`/pilot cancel`",
        cure: |scenario| drop(scenario.command(UserCommand::Cancel)),
    },
    Case {
        held: || {
            let mut scenario = judged(CheckState::Passed);
            scenario.done("merge", requested(&["ann"]));
            scenario
        },
        says: "when @ann approves",
        cure: |scenario| drop(scenario.tell(requested(&[]))),
    },
    Case { held: withdrawn, says: "`/pilot retry`", cure: retry },
    Case {
        held: || {
            let mut scenario = judged(CheckState::Passed);
            scenario.policy.auto_merge = false;
            scenario.wait(0);
            scenario
        },
        says: "merging is left to you",
        cure: merge_by_hand,
    },
    Case {
        held: || {
            let mut scenario = judged(CheckState::Passed);
            scenario.merges();
            for _ in 0..2 {
                scenario.tell(TaskEvent::BaseChecked { commit: sha(11), on_base: false });
                scenario.wait(3600);
            }
            scenario
        },
        says: "Find out what happened",
        cure: |scenario| drop(scenario.tell(TaskEvent::BaseChecked { commit: sha(11), on_base: true })),
    },
    Case { held: refused_push, says: "then `/pilot retry`", cure: retry },
    Case {
        held: refused_push,
        says: "then `/pilot retry`",
        cure: |scenario| drop(scenario.command(UserCommand::Cancel)),
    },
];

#[test]
fn doing_what_the_sentence_of_a_hold_says_frees_the_task() {
    let mut tried = BTreeSet::new();
    for case in BEFORE.iter().chain(&AFTER) {
        let mut scenario = (case.held)();
        let Stage::Held { hold } = scenario.stage().clone() else { panic!("{:?}", scenario.stage()) };
        let said = words::hold(&hold, &scenario.policy.references);
        assert!(said.contains(case.says), "{:?} is not in {said}", case.says);
        (case.cure)(&mut scenario);
        let is_held =
            matches!(scenario.stage(), Stage::Held { hold: now } if index_of(now) == index_of(&hold));
        assert!(!is_held, "{said} {:?}", scenario.stage());
        tried.insert(index_of(&hold));
    }
    assert_eq!(tried, (0..HOLDS).collect(), "every hold has a case");
}
