//! The words in which tests tell of a task: what happens to it, and where it stands then.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Action, Key, Stage};
use crate::ci::{Check, CheckState, Conclusion, Reading, Required};
use crate::fact::{By, Gate, Happened, Order, ProjectFacts, RunEnding, TaskFacts, Work};
use crate::name::{BodyHash, Branch, CommentId, HomeId, InstanceId, IssueNumber, PrNumber, ProjectId, Sha};
use crate::outcome::Class;
use crate::policy::Policy;
use crate::seen::{
    Author, AuthorKind, Body, Failure, FailureKind, Issue, IssueState, Mergeable, Permission, Pr, PrState,
    Reach,
};
use crate::time::Timestamp;
use crate::turn::{Input, Loaded, LoadedProject, OpenIntent, OutboxChange, TaskChange, turn};

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp(seconds * 1_000_000)
}

pub(crate) fn project_id() -> ProjectId {
    ProjectId::parse("github:acme/app").unwrap()
}

pub(crate) fn policy() -> Policy {
    Policy::new(Branch::parse("main").unwrap())
}

/// A commit made of one digit.
pub(crate) fn sha(digit: u8) -> Sha {
    Sha::parse(&format!("{digit:x}").repeat(40)).unwrap()
}

pub(crate) fn hash(digit: u8) -> BodyHash {
    BodyHash::parse(&format!("{digit:x}").repeat(64)).unwrap()
}

/// An issue that asks for work, by somebody.
pub(crate) fn issue(number: u64) -> Issue {
    Issue {
        number: IssueNumber(number),
        title: "Add login".to_owned(),
        author: Author { login: "ann".to_owned(), kind: AuthorKind::Person },
        labels: ["pilot".to_owned()].into(),
        state: IssueState::Open,
        body: Body {
            hash: hash(0),
            depends_on: BTreeSet::new(),
            unread: Vec::new(),
            reach: Reach::Named(["src".to_owned()].into()),
        },
        created_at: at(0),
        updated_at: at(0),
    }
}

pub(crate) fn work(sha: Sha) -> Work {
    Work {
        sha,
        base: self::sha(0),
        gates: vec![Gate { name: "test".to_owned(), result: "passed".to_owned() }],
        review: None,
        route: Some("simple, claude-sonnet-4-6".to_owned()),
        cost_micro_usd: Some(123_456),
        files_changed: Some(2),
    }
}

/// The pull request of task 1, open, and the forge could merge it.
pub(crate) fn pr(number: u64, head: Sha) -> Pr {
    Pr {
        number: PrNumber(number),
        branch: Branch::parse("pilot/GH-1").unwrap(),
        head,
        state: PrState::Open,
        mergeable: Mergeable::Yes,
    }
}

pub(crate) fn merged(number: u64, head: Sha, commit: Sha) -> Pr {
    Pr { state: PrState::Merged { commit }, ..pr(number, head) }
}

/// One check and how it ended.
pub(crate) fn reading(sha: Sha, conclusion: Conclusion) -> Reading {
    let check = Check { name: "build".to_owned(), state: CheckState::Completed(conclusion) };
    Reading {
        sha,
        checks: [check].into(),
        statuses: BTreeSet::new(),
        required: Required::Known(BTreeSet::new()),
    }
}

pub(crate) fn failure(kind: FailureKind) -> Failure {
    Failure::new(kind, "said the forge")
}

pub(crate) fn stopped(class: Class, again_at: Option<Timestamp>) -> RunEnding {
    RunEnding::Stopped { class, reason: "because".to_owned(), again_at }
}

pub(crate) fn by_comment(id: u64, permission: Permission) -> By {
    By::Comment { id: CommentId(id), login: "bob".to_owned(), permission }
}

/// A task, its project and its outbox, as a store would keep them.
#[derive(Clone)]
pub(crate) struct Tale {
    pub(crate) loaded: Loaded,
    pub(crate) actions: BTreeMap<Key, Action>,
    pub(crate) policy: Policy,
    pub(crate) now: Timestamp,
}

impl Tale {
    /// Task 1, of which nothing is known.
    pub(crate) fn new() -> Tale {
        Tale::with(policy())
    }

    pub(crate) fn with(policy: Policy) -> Tale {
        let project = LoadedProject {
            facts: ProjectFacts::new(project_id()),
            version: 0,
            wake: None,
            open: Vec::new(),
        };
        let task = TaskFacts::new(project_id(), IssueNumber(1));
        let loaded = Loaded { task, task_version: 0, stage: None, open: Vec::new(), project };
        Tale { loaded, actions: BTreeMap::new(), policy, now: at(1000) }
    }

    /// It waits for its turn.
    pub(crate) fn queued() -> Tale {
        let mut tale = Tale::new();
        tale.be_admitted();
        tale
    }

    pub(crate) fn be_admitted(&mut self) {
        self.tell(Happened::IssueSeen { issue: issue(1) });
        self.tell(Happened::PermissionSeen { login: "ann".to_owned(), permission: Permission::Write });
        let branch = self.loaded.task.branch();
        self.tell(Happened::BranchLookedAt { branch, found: None });
    }

    /// An agent is at work.
    pub(crate) fn running() -> Tale {
        let mut tale = Tale::queued();
        tale.claim();
        tale.begin();
        tale
    }

    pub(crate) fn claim(&mut self) -> TaskChange {
        let generation = self.loaded.task.generation.next();
        let home = HomeId::parse("home").unwrap();
        let instance = InstanceId::parse("pilot-1").unwrap();
        self.tell(Happened::Claimed { generation, home, instance })
    }

    pub(crate) fn begin(&mut self) {
        let generation = self.loaded.task.generation;
        self.done("claim", Happened::ClaimPlaced { generation });
        self.done("run", Happened::RunStarted { generation, body: hash(0), silent: false });
    }

    pub(crate) fn run_ends(&mut self, ending: RunEnding) -> TaskChange {
        let generation = self.loaded.task.generation;
        self.tell(Happened::RunEnded { generation, ending })
    }

    /// Its pull request, number 7, is open at commit a, and nothing is known of CI.
    pub(crate) fn opened() -> Tale {
        let mut tale = Tale::running();
        tale.publish();
        tale
    }

    pub(crate) fn publish(&mut self) {
        self.run_ends(RunEnding::Completed(Box::new(work(sha(10)))));
        let branch = self.loaded.task.branch();
        self.done("push", Happened::Pushed { branch, sha: sha(10) });
        self.done("pr", Happened::PrOpened { pr: pr(7, sha(10)) });
    }

    /// CI was read twice, one interval apart.
    pub(crate) fn judged(&mut self, conclusion: Conclusion) {
        for _ in 0..2 {
            self.tell(Happened::CiRead { reading: reading(sha(10), conclusion) });
            self.wait(30);
        }
    }

    /// Commit a was merged as commit b.
    pub(crate) fn merges(&mut self) {
        self.done("merge", Happened::PrSeen { pr: merged(7, sha(10), sha(11)) });
    }

    /// CI failed, issue 8 was opened to fix it.
    pub(crate) fn continued() -> Tale {
        let mut tale = Tale::opened();
        tale.judged(Conclusion::Failure);
        tale.done("fix", Happened::FixOpened { issue: IssueNumber(8), iteration: 1, pr: PrNumber(7) });
        tale
    }

    /// Something happened that no action is the cause of.
    pub(crate) fn tell(&mut self, happened: Happened) -> TaskChange {
        self.turn(Some(&Input { happened, settles: None }))
    }

    /// The action of a lane did this.
    pub(crate) fn done(&mut self, lane: &str, happened: Happened) -> TaskChange {
        let settles = Some(self.key(lane));
        self.turn(Some(&Input { happened, settles }))
    }

    /// The action of a lane failed.
    pub(crate) fn fails(&mut self, lane: &str, kind: FailureKind) -> TaskChange {
        let key = self.key(lane);
        let happened = Happened::Failed { key: key.clone(), failure: failure(kind) };
        self.turn(Some(&Input { happened, settles: Some(key) }))
    }

    /// Time passes, in seconds.
    pub(crate) fn wait(&mut self, seconds: u64) -> TaskChange {
        self.now = self.now.after(Duration::from_secs(seconds));
        self.turn(None)
    }

    /// The pull request reads like this.
    pub(crate) fn tell_pr(&mut self, pr: Pr) {
        self.tell(Happened::PrSeen { pr });
    }

    /// Somebody at this machine orders something.
    pub(crate) fn ordered(&mut self, order: Order) -> TaskChange {
        self.tell(Happened::Ordered { order, by: By::Operator })
    }

    /// What is to be done in a lane.
    pub(crate) fn action(&self, lane: &str) -> Option<&Action> {
        self.actions.iter().find(|(key, _)| key.lane() == lane).map(|(_, action)| action)
    }

    /// The lanes in which something is to be done.
    pub(crate) fn lanes(&self) -> Vec<&str> {
        self.actions.keys().map(Key::lane).collect()
    }

    pub(crate) fn stage(&self) -> &Stage {
        self.loaded.stage.as_ref().expect("something happened")
    }

    pub(crate) fn not_before(&self, lane: &str) -> Timestamp {
        let open = self.loaded.open.iter().find(|intent| intent.key.lane() == lane);
        open.expect("an action of that lane").not_before
    }

    pub(crate) fn key(&self, lane: &str) -> Key {
        let found = self.actions.keys().find(|key| key.lane() == lane);
        found.unwrap_or_else(|| panic!("nothing to do in {lane}, only {:?}", self.lanes())).clone()
    }

    pub(crate) fn turn(&mut self, input: Option<&Input>) -> TaskChange {
        let turn = turn(&self.loaded, input, &self.policy, self.now);
        let change = turn.task.expect("it is about a task");
        for change in &change.outbox {
            self.change_outbox(change);
        }
        self.loaded.task = change.facts.clone();
        self.loaded.stage = Some(change.stage.clone());
        self.loaded.project.facts = turn.project.facts;
        change
    }

    fn change_outbox(&mut self, change: &OutboxChange) {
        let open = &mut self.loaded.open;
        match change {
            OutboxChange::Settle(key) | OutboxChange::Withdraw(key) => {
                open.retain(|intent| intent.key != *key);
                self.actions.remove(key);
            }
            OutboxChange::Release(key) => {
                open.iter_mut().filter(|intent| intent.key == *key).for_each(|intent| intent.taken = false);
            }
            OutboxChange::Plan(planned) => {
                let (key, not_before) = (planned.key.clone(), planned.not_before);
                open.push(OpenIntent { key, not_before, taken: false });
                self.actions.insert(planned.key.clone(), planned.action.clone());
            }
            OutboxChange::Reschedule(key, not_before) => {
                for intent in open.iter_mut().filter(|intent| intent.key == *key) {
                    intent.not_before = *not_before;
                }
            }
        }
    }
}
