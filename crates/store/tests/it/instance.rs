//! An instance of Pilot that works on a store: it loads a task, lets the core decide, and writes the turn.

use std::collections::BTreeSet;

use pilot_core::ci::{Check, CheckState, Reading, Required};
use pilot_core::fact::{ProjectEvent, RunEnding, TaskEvent, Work};
use pilot_core::id::{BodyHash, Branch, CommentId, HomeId, InstanceId, PrNumber, ProjectId, Sha, TaskKey};
use pilot_core::observed::{
    Author, AuthorKind, Body, Mergeable, Pr, PrState, Ticket, TicketState, TouchedPaths, Trust,
};
use pilot_core::policy::{Mode, Policy, ReleasePolicy};
use pilot_core::task::{Action, Key};
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, Input, OutboxEntry, ProjectInput, Turn, project_turn, turn};
use pilot_store::{Store, StoreError};

use crate::world::{WORKS, at};

pub(crate) fn project() -> ProjectId {
    ProjectId::parse("github:acme/app").expect(WORKS)
}

pub(crate) fn instance(name: &str) -> InstanceId {
    InstanceId::parse(name).expect(WORKS)
}

pub(crate) fn home(name: &str) -> HomeId {
    HomeId::parse(name).expect(WORKS)
}

/// Every task at once, and a tag after each merge.
pub(crate) fn policy() -> Policy {
    let release = ReleasePolicy { prefix: "v".to_owned(), max_wait: std::time::Duration::from_secs(60) };
    Policy { mode: Mode::Parallel, release: Some(release), ..Policy::new(branch("main")) }
}

fn branch(name: &str) -> Branch {
    Branch::parse(name).expect(WORKS)
}

pub(crate) fn sha(of: char) -> Sha {
    Sha::parse(&of.to_string().repeat(40)).expect(WORKS)
}

fn body_hash() -> BodyHash {
    BodyHash::parse(&"b".repeat(64)).expect(WORKS)
}

pub(crate) fn gh(number: u64) -> TaskKey {
    TaskKey::numbered("GH", number)
}

pub(crate) fn number_of(key: &TaskKey) -> u64 {
    key.number_with("GH").expect(WORKS)
}

/// A labelled ticket whose title has characters that JSON escapes.
pub(crate) fn ticket(key: TaskKey) -> Ticket {
    let number = number_of(&key);
    let paths = TouchedPaths::Named(BTreeSet::from([format!("src/{number}")]));
    Ticket {
        key,
        title: format!("Add \"login\" \u{0} \\ to №{number}\u{2028}"),
        author: Author { login: "ann".to_owned(), kind: AuthorKind::Person },
        labels: BTreeSet::from(["pilot".to_owned()]),
        state: TicketState::Open,
        body: Body { hash: body_hash(), depends_on: BTreeSet::new(), unread: Vec::new(), paths },
        created_at: at(i64::try_from(number).expect(WORKS)),
        updated_at: at(0),
    }
}

#[derive(Clone)]
pub(crate) struct Instance {
    pub(crate) store: Store,
    pub(crate) me: InstanceId,
    pub(crate) home: HomeId,
    pub(crate) policy: Policy,
}

impl Instance {
    pub(crate) fn new(store: &Store, me: &str) -> Instance {
        let home = home(&format!("home-of-{me}"));
        Instance { store: store.clone(), me: instance(me), home, policy: policy() }
    }

    /// What the core decides when this happens, or when time passes; not written yet.
    pub(crate) async fn decide(&self, number: u64, input: Option<&Input>, now: Timestamp) -> Turn {
        let loaded = self.store.load_task(&project(), &gh(number)).await.expect(WORKS);
        turn(&loaded, input, &self.policy, now)
    }

    /// Writes a turn, again while other processes lock the database.
    pub(crate) async fn apply(&self, turn: &Turn, now: Timestamp) -> Applied {
        loop {
            match self.store.apply(turn, &self.me, now).await {
                Err(StoreError::Locked { .. }) => {}
                done => return done.expect(WORKS),
            }
        }
    }

    pub(crate) async fn record(&self, number: u64, event: TaskEvent, now: Timestamp) -> Applied {
        let turn = self.decide(number, Some(&Input { event, settles: None }), now).await;
        self.apply(&turn, now).await
    }

    pub(crate) async fn settle(&self, number: u64, key: &Key, event: TaskEvent, now: Timestamp) -> Applied {
        let turn = self.decide(number, Some(&Input { event, settles: Some(key.clone()) }), now).await;
        self.apply(&turn, now).await
    }

    pub(crate) async fn record_project(&self, event: ProjectEvent, now: Timestamp) -> Applied {
        let loaded = self.store.load_project(&project()).await.expect(WORKS);
        let input = ProjectInput { event, settles: None };
        self.apply(&project_turn(&loaded, Some(&input), &self.policy, now), now).await
    }

    pub(crate) async fn enqueue(&self, number: u64, now: Timestamp) {
        for event in queueing_events(gh(number)) {
            assert_eq!(self.record(number, event, now).await, Applied::Written);
        }
    }

    pub(crate) async fn claim(&self, number: u64, now: Timestamp) -> Applied {
        let turn = self.decide_claim(number, now).await;
        self.apply(&turn, now).await
    }

    /// The turn that claims a task for this instance; not written yet.
    pub(crate) async fn decide_claim(&self, number: u64, now: Timestamp) -> Turn {
        let loaded = self.store.load_task(&project(), &gh(number)).await.expect(WORKS);
        let (home, instance) = (self.home.clone(), self.me.clone());
        let event = TaskEvent::Claimed { generation: loaded.task.generation.next(), home, instance };
        turn(&loaded, Some(&Input { event, settles: None }), &self.policy, now)
    }

    pub(crate) async fn take(&self, now: Timestamp) -> Vec<OutboxEntry> {
        self.store.take_due(&self.me, now, 100).await.expect(WORKS)
    }

    /// Takes every due action, and returns the one of this lane.
    pub(crate) async fn take_action(&self, lane: &str, now: Timestamp) -> OutboxEntry {
        let taken = self.take(now).await;
        let names: Vec<String> = taken.iter().map(|entry| entry.key.to_string()).collect();
        let found = taken.into_iter().find(|entry| entry.key.lane().as_str() == lane);
        found.unwrap_or_else(|| panic!("{lane} is due, among {names:?}"))
    }
}

/// The events that bring an issue into the queue.
pub(crate) fn queueing_events(key: TaskKey) -> [TaskEvent; 3] {
    let branch = branch(&format!("pilot/{key}"));
    [
        TaskEvent::TicketRead { ticket: ticket(key) },
        TaskEvent::TrustRead { login: "ann".to_owned(), trust: Trust::Trusted },
        TaskEvent::BranchChecked { branch, found: None },
    ]
}

pub(crate) fn completed() -> RunEnding {
    RunEnding::Completed(Box::new(Work {
        sha: sha('c'),
        base: sha('a'),
        gates: Vec::new(),
        review: Some("approved".to_owned()),
        route: None,
        cost_micro_usd: Some(u64::MAX),
        files_changed: Some(3),
    }))
}

pub(crate) fn pull_request(number: u64, branch: &Branch, head: &Sha, state: PrState) -> Pr {
    let (number, branch, head) = (PrNumber(number), branch.clone(), head.clone());
    Pr { number, branch, head, state, mergeable: Mergeable::Yes }
}

pub(crate) fn reading(sha: &Sha, state: CheckState) -> Reading {
    let check = Check { name: "test".to_owned(), state };
    Reading { sha: sha.clone(), checks: BTreeSet::from([check]), required: Required::Known(BTreeSet::new()) }
}

/// The event of an action of a task that was done.
pub(crate) fn event_of(action: &Action) -> Option<TaskEvent> {
    Some(match action {
        Action::PlaceClaim { generation, .. } => TaskEvent::ClaimPlaced { generation: *generation },
        Action::ReleaseClaim { .. } => TaskEvent::ClaimReleased,
        Action::StartRun(order) => TaskEvent::RunStarted {
            generation: order.generation,
            body: order.body.clone(),
            without_comments: false,
        },
        Action::Push { branch, sha, .. } => TaskEvent::Pushed { branch: branch.clone(), sha: sha.clone() },
        Action::OpenPr(new) => {
            TaskEvent::PrOpened { pr: pull_request(100, &new.branch, &new.sha, PrState::Open) }
        }
        Action::FindPr { branch, .. } => TaskEvent::NoPrFound { branch: branch.clone() },
        Action::ClosePr { pr, .. } => TaskEvent::PrClosed { pr: *pr },
        Action::OpenFix(new) => TaskEvent::FixOpened { ticket: gh(9), iteration: new.iteration, pr: new.pr },
        Action::Merge(ready) => {
            let state = PrState::Merged { commit: sha('d') };
            TaskEvent::PrRead { pr: pull_request(ready.pr().0, &branch("pilot/GH-1"), ready.sha(), state) }
        }
        Action::CloseTicket { .. } => TaskEvent::TicketClosed,
        Action::DeleteBranch { branch, .. } => TaskEvent::BranchDeleted { branch: branch.clone() },
        Action::Label { add, .. } => TaskEvent::Labelled { labels: add.iter().cloned().collect() },
        Action::Comment { fingerprint, .. } => TaskEvent::Commented {
            comment: CommentId::parse("7").expect(WORKS),
            fingerprint: fingerprint.clone(),
        },
        Action::Reply { to, .. } => TaskEvent::Replied { to: to.clone() },
        Action::AnswerOnce { to, .. } => TaskEvent::AnsweredOnce { to: to.clone(), first: None },
        Action::SendMessage { to, message } => {
            TaskEvent::MessageSent { to: to.clone(), about: message.kind() }
        }
        Action::Tag(_) => return None,
    })
}
