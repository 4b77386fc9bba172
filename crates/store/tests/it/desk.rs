//! An instance at work on a store: it loads, takes the core's turn and writes it, as the daemon does.

use std::collections::BTreeSet;

use pilot_core::ci::{Check, CheckState, Conclusion, Reading, Required};
use pilot_core::fact::{Happened, ProjectHappened, RunEnding, Work};
use pilot_core::name::{
    BodyHash, Branch, CommentId, HomeId, InstanceId, IssueNumber, PrNumber, ProjectId, Sha,
};
use pilot_core::policy::{Mode, Policy, ReleasePolicy};
use pilot_core::seen::{
    Author, AuthorKind, Body, Issue, IssueState, Mergeable, Permission, Pr, PrState, Reach,
};
use pilot_core::task::{Action, Key};
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, Input, Intent, ProjectInput, Turn, project_turn, turn};
use pilot_store::{Store, StoreError};

use crate::world::NOON;

/// The fakes do as they are told.
pub(crate) const TOLD: &str = "it does as it is told";

pub(crate) fn project() -> ProjectId {
    ProjectId::parse("github:acme/app").expect(TOLD)
}

pub(crate) fn instance(name: &str) -> InstanceId {
    InstanceId::parse(name).expect(TOLD)
}

pub(crate) fn home(name: &str) -> HomeId {
    HomeId::parse(name).expect(TOLD)
}

/// Seconds after noon.
pub(crate) fn moment(seconds: i64) -> Timestamp {
    Timestamp(NOON + seconds * 1_000_000)
}

/// As many at once as there are, and a tag after each merge.
pub(crate) fn policy() -> Policy {
    let release = ReleasePolicy { prefix: "v".to_owned(), max_wait: std::time::Duration::from_secs(60) };
    Policy { mode: Mode::Parallel, release: Some(release), ..Policy::new(branch("main")) }
}

fn branch(name: &str) -> Branch {
    Branch::parse(name).expect(TOLD)
}

pub(crate) fn sha(of: char) -> Sha {
    Sha::parse(&of.to_string().repeat(40)).expect(TOLD)
}

fn body_hash() -> BodyHash {
    BodyHash::parse(&"b".repeat(64)).expect(TOLD)
}

/// An issue somebody labelled, with what JSON has to escape in it.
pub(crate) fn issue(number: IssueNumber) -> Issue {
    let reach = Reach::Named(BTreeSet::from([format!("src/{}", number.0)]));
    Issue {
        number,
        title: format!("Add \"login\" \u{0} \\ to №{}\u{2028}", number.0),
        author: Author { login: "ann".to_owned(), kind: AuthorKind::Person },
        labels: BTreeSet::from(["pilot".to_owned()]),
        state: IssueState::Open,
        body: Body { hash: body_hash(), depends_on: BTreeSet::new(), unread: Vec::new(), reach },
        created_at: moment(i64::try_from(number.0).expect(TOLD)),
        updated_at: moment(0),
    }
}

/// One instance.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) store: Store,
    pub(crate) me: InstanceId,
    pub(crate) home: HomeId,
    pub(crate) policy: Policy,
}

impl Desk {
    pub(crate) fn new(store: &Store, me: &str) -> Desk {
        let home = home(&format!("home-of-{me}"));
        Desk { store: store.clone(), me: instance(me), home, policy: policy() }
    }

    /// What follows when this happens, or when time passes; not written yet.
    pub(crate) async fn turn(&self, number: u64, input: Option<&Input>, now: Timestamp) -> Turn {
        let loaded = self.store.load_task(&project(), IssueNumber(number)).await.expect(TOLD);
        turn(&loaded, input, &self.policy, now)
    }

    /// Writes it, and does what the error says when others hold the database: tries again.
    pub(crate) async fn apply(&self, turn: &Turn, now: Timestamp) -> Applied {
        loop {
            match self.store.apply(turn, &self.me, now).await {
                Err(StoreError::Locked { .. }) => {}
                done => return done.expect(TOLD),
            }
        }
    }

    pub(crate) async fn tell(&self, number: u64, happened: Happened, now: Timestamp) -> Applied {
        let input = Input { happened, settles: None };
        let turn = self.turn(number, Some(&input), now).await;
        self.apply(&turn, now).await
    }

    pub(crate) async fn settle(&self, number: u64, key: &Key, happened: Happened, now: Timestamp) -> Applied {
        let input = Input { happened, settles: Some(key.clone()) };
        let turn = self.turn(number, Some(&input), now).await;
        self.apply(&turn, now).await
    }

    pub(crate) async fn tell_project(&self, happened: ProjectHappened, now: Timestamp) -> Applied {
        let loaded = self.store.load_project(&project()).await.expect(TOLD);
        let input = ProjectInput { happened, settles: None };
        self.apply(&project_turn(&loaded, Some(&input), &self.policy, now), now).await
    }

    /// Brings an issue into the queue.
    pub(crate) async fn enqueue(&self, number: u64, now: Timestamp) {
        for happened in queueing(IssueNumber(number)) {
            assert_eq!(self.tell(number, happened, now).await, Applied::Written);
        }
    }

    /// Claims a task for this instance.
    pub(crate) async fn claim(&self, number: u64, now: Timestamp) -> Applied {
        let turn = self.claiming(number, now).await;
        self.apply(&turn, now).await
    }

    /// The turn that would claim it.
    pub(crate) async fn claiming(&self, number: u64, now: Timestamp) -> Turn {
        let loaded = self.store.load_task(&project(), IssueNumber(number)).await.expect(TOLD);
        let (home, instance) = (self.home.clone(), self.me.clone());
        let happened = Happened::Claimed { generation: loaded.task.generation.next(), home, instance };
        turn(&loaded, Some(&Input { happened, settles: None }), &self.policy, now)
    }

    pub(crate) async fn take(&self, now: Timestamp) -> Vec<Intent> {
        self.store.take_due(&self.me, now, 100).await.expect(TOLD)
    }

    /// Takes what is due, and gives the one action of this lane.
    pub(crate) async fn take_one(&self, lane: &str, now: Timestamp) -> Intent {
        let taken = self.take(now).await;
        let names: Vec<String> = taken.iter().map(|intent| intent.key.to_string()).collect();
        let found = taken.into_iter().find(|intent| intent.key.lane() == lane);
        found.unwrap_or_else(|| panic!("{lane} is due, among {names:?}"))
    }
}

/// What has to be known of an issue before it waits for its turn.
pub(crate) fn queueing(number: IssueNumber) -> [Happened; 3] {
    let branch = branch(&format!("pilot/GH-{}", number.0));
    [
        Happened::IssueSeen { issue: issue(number) },
        Happened::PermissionSeen { login: "ann".to_owned(), permission: Permission::Write },
        Happened::BranchLookedAt { branch, found: None },
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

pub(crate) fn reading(sha: &Sha, conclusion: Conclusion) -> Reading {
    let check = Check { name: "test".to_owned(), state: CheckState::Completed(conclusion) };
    Reading {
        sha: sha.clone(),
        checks: BTreeSet::from([check]),
        statuses: BTreeSet::new(),
        required: Required::Known(BTreeSet::new()),
    }
}

/// What happens when an action of a task is done.
pub(crate) fn done(action: &Action) -> Option<Happened> {
    Some(match action {
        Action::PlaceClaim { generation, .. } => Happened::ClaimPlaced { generation: *generation },
        Action::ReleaseClaim { .. } => Happened::ClaimReleased,
        Action::StartRun(order) => {
            Happened::RunStarted { generation: order.generation, body: order.body.clone(), silent: false }
        }
        Action::Push { branch, sha, .. } => Happened::Pushed { branch: branch.clone(), sha: sha.clone() },
        Action::OpenPr(new) => {
            Happened::PrOpened { pr: pull_request(100, &new.branch, &new.sha, PrState::Open) }
        }
        Action::FindPr { branch, .. } => Happened::NoPrFound { branch: branch.clone() },
        Action::ClosePr { pr, .. } => Happened::PrClosed { pr: *pr },
        Action::OpenFix(new) => {
            Happened::FixOpened { issue: IssueNumber(9), iteration: new.iteration, pr: new.pr }
        }
        Action::Merge(ready) => {
            let state = PrState::Merged { commit: sha('d') };
            Happened::PrSeen { pr: pull_request(ready.pr().0, &branch("pilot/GH-1"), ready.sha(), state) }
        }
        Action::CloseIssue { .. } => Happened::IssueClosed,
        Action::DeleteBranch { branch, .. } => Happened::BranchDeleted { branch: branch.clone() },
        Action::Label { add, .. } => Happened::Labelled { labels: add.iter().cloned().collect() },
        Action::Comment { fingerprint, .. } => {
            Happened::Commented { comment: CommentId(7), fingerprint: fingerprint.clone() }
        }
        Action::Reply { to, .. } => Happened::Replied { to: *to },
        Action::AnswerOnce { to, .. } => Happened::AnsweredOnce { to: *to },
        Action::Tell { to, news, .. } => Happened::Told { to: to.clone(), about: news.kind() },
        Action::Tag(_) => return None,
    })
}
