//! Scenarios for tests: events of a task, and its stage and actions after them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Action, Key, Stage};
use crate::ci::{Check, CheckState, Reading, Required};
use crate::fact::{CommandSource, Gate, ProjectFacts, RunEnding, TaskEvent, TaskFacts, UserCommand, Work};
use crate::id::{BodyHash, Branch, CommentId, HomeId, InstanceId, PrNumber, ProjectId, Sha, TaskKey};
use crate::observed::{
    Author, AuthorKind, Body, Failure, FailureKind, Mergeable, Pr, PrState, Ticket, TicketState,
    TouchedPaths, Trust,
};
use crate::outcome::Class;
use crate::policy::Policy;
use crate::time::Timestamp;
use crate::turn::{Input, Loaded, LoadedProject, OpenEntry, OutboxChange, TaskChange, turn};

pub(crate) fn gh(number: u64) -> TaskKey {
    TaskKey::numbered("GH", number)
}

pub(crate) fn comment_id(number: i64) -> CommentId {
    CommentId::parse(&number.to_string()).unwrap()
}

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

/// A ticket that asks for work.
pub(crate) fn ticket(number: u64) -> Ticket {
    Ticket {
        key: gh(number),
        title: "Add login".to_owned(),
        author: Author { login: "ann".to_owned(), kind: AuthorKind::Person },
        labels: ["pilot".to_owned()].into(),
        state: TicketState::Open,
        body: Body {
            hash: hash(0),
            depends_on: BTreeSet::new(),
            unread: Vec::new(),
            paths: TouchedPaths::Named(["src".to_owned()].into()),
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

/// A reading with one check.
pub(crate) fn reading(sha: Sha, state: CheckState) -> Reading {
    let check = Check { name: "build".to_owned(), state };
    Reading { sha, checks: [check].into(), required: Required::Known(BTreeSet::new()) }
}

pub(crate) fn failure(kind: FailureKind) -> Failure {
    Failure::new(kind, "said the forge")
}

pub(crate) fn stopped(class: Class, again_at: Option<Timestamp>) -> RunEnding {
    RunEnding::Stopped { class, reason: "because".to_owned(), again_at }
}

/// A command in a comment; a higher number was posted later.
pub(crate) fn by_comment(number: i64, trust: Trust) -> CommandSource {
    let (id, posted_at) = (comment_id(number), at(number));
    CommandSource::Comment { id, posted_at, login: "bob".to_owned(), trust, pr: None }
}

/// A task, its project and its outbox, as a store would keep them.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) loaded: Loaded,
    pub(crate) actions: BTreeMap<Key, Action>,
    pub(crate) policy: Policy,
    pub(crate) now: Timestamp,
}

impl Scenario {
    /// Task 1, of which nothing is known.
    pub(crate) fn new() -> Scenario {
        Scenario::with(policy())
    }

    pub(crate) fn with(policy: Policy) -> Scenario {
        let project = LoadedProject {
            facts: ProjectFacts::new(project_id()),
            version: 0,
            wake: None,
            open: Vec::new(),
        };
        let task = TaskFacts::new(project_id(), gh(1));
        let loaded = Loaded { task, task_version: 0, stage: None, open: Vec::new(), project };
        Scenario { loaded, actions: BTreeMap::new(), policy, now: at(1000) }
    }

    /// Task 1 in the queue.
    pub(crate) fn queued() -> Scenario {
        let mut scenario = Scenario::new();
        scenario.be_admitted();
        scenario
    }

    pub(crate) fn be_admitted(&mut self) {
        self.tell(TaskEvent::TicketRead { ticket: ticket(1) });
        self.tell(TaskEvent::TrustRead { login: "ann".to_owned(), trust: Trust::Trusted });
        let branch = self.loaded.task.branch();
        self.tell(TaskEvent::BranchChecked { branch, found: None });
    }

    /// An agent is at work.
    pub(crate) fn running() -> Scenario {
        let mut scenario = Scenario::queued();
        scenario.claim();
        scenario.begin();
        scenario
    }

    pub(crate) fn claim(&mut self) -> TaskChange {
        let generation = self.loaded.task.generation.next();
        let home = HomeId::parse("home").unwrap();
        let instance = InstanceId::parse("pilot-1").unwrap();
        self.tell(TaskEvent::Claimed { generation, home, instance })
    }

    pub(crate) fn begin(&mut self) {
        let generation = self.loaded.task.generation;
        self.done("claim", TaskEvent::ClaimPlaced { generation });
        self.done("run", TaskEvent::RunStarted { generation, body: hash(0), without_comments: false });
    }

    pub(crate) fn run_ends(&mut self, ending: RunEnding) -> TaskChange {
        let generation = self.loaded.task.generation;
        self.tell(TaskEvent::RunEnded { generation, ending })
    }

    /// Its pull request, number 7, is open at commit a, and nothing is known of CI.
    pub(crate) fn opened() -> Scenario {
        let mut scenario = Scenario::running();
        scenario.publish();
        scenario
    }

    pub(crate) fn publish(&mut self) {
        self.run_ends(RunEnding::Completed(Box::new(work(sha(10)))));
        let branch = self.loaded.task.branch();
        self.done("push", TaskEvent::Pushed { branch, sha: sha(10) });
        self.done("pr", TaskEvent::PrOpened { pr: pr(7, sha(10)) });
    }

    /// CI was read twice, one interval apart.
    pub(crate) fn judged(&mut self, state: CheckState) {
        for _ in 0..2 {
            self.tell(TaskEvent::CiRead { reading: reading(sha(10), state) });
            self.wait(30);
        }
    }

    /// Commit a was merged as commit b.
    pub(crate) fn merges(&mut self) {
        self.done("merge", TaskEvent::PrRead { pr: merged(7, sha(10), sha(11)) });
    }

    /// CI failed, ticket 8 was opened to fix it.
    pub(crate) fn continued() -> Scenario {
        let mut scenario = Scenario::opened();
        scenario.judged(CheckState::Failed);
        scenario.done("fix", TaskEvent::FixOpened { ticket: gh(8), iteration: 1, pr: PrNumber(7) });
        scenario
    }

    /// An event that no action caused.
    pub(crate) fn tell(&mut self, event: TaskEvent) -> TaskChange {
        self.turn(Some(&Input { event, settles: None }))
    }

    /// The action of a lane did this.
    pub(crate) fn done(&mut self, lane: &str, event: TaskEvent) -> TaskChange {
        let settles = Some(self.key(lane));
        self.turn(Some(&Input { event, settles }))
    }

    /// The action of a lane failed.
    pub(crate) fn fails(&mut self, lane: &str, kind: FailureKind) -> TaskChange {
        let key = self.key(lane);
        let event = TaskEvent::Failed { key: key.clone(), failure: failure(kind) };
        self.turn(Some(&Input { event, settles: Some(key) }))
    }

    /// Time passes, in seconds.
    pub(crate) fn wait(&mut self, seconds: u64) -> TaskChange {
        self.now = self.now.after(Duration::from_secs(seconds));
        self.turn(None)
    }

    /// The pull request reads like this.
    pub(crate) fn tell_pr(&mut self, pr: Pr) {
        self.tell(TaskEvent::PrRead { pr });
    }

    /// The user of this machine gives a command.
    pub(crate) fn command(&mut self, command: UserCommand) -> TaskChange {
        self.tell(TaskEvent::CommandReceived { command, by: CommandSource::Operator })
    }

    /// What is to be done in a lane.
    pub(crate) fn action(&self, lane: &str) -> Option<&Action> {
        self.actions.iter().find(|(key, _)| key.lane().as_str() == lane).map(|(_, action)| action)
    }

    /// The lanes in which something is to be done.
    pub(crate) fn lanes(&self) -> Vec<&str> {
        self.actions.keys().map(|key| key.lane().as_str()).collect()
    }

    pub(crate) fn stage(&self) -> &Stage {
        self.loaded.stage.as_ref().expect("an event came before")
    }

    pub(crate) fn not_before(&self, lane: &str) -> Timestamp {
        let open = self.loaded.open.iter().find(|entry| entry.key.lane().as_str() == lane);
        open.expect("an action of that lane").not_before
    }

    pub(crate) fn key(&self, lane: &str) -> Key {
        let found = self.actions.keys().find(|key| key.lane().as_str() == lane);
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
                open.retain(|entry| entry.key != *key);
                self.actions.remove(key);
            }
            OutboxChange::Release(key) => {
                open.iter_mut().filter(|entry| entry.key == *key).for_each(|entry| entry.taken = false);
            }
            OutboxChange::Plan(planned) => {
                let (key, not_before) = (planned.key.clone(), planned.not_before);
                open.push(OpenEntry { key, not_before, taken: false });
                self.actions.insert(planned.key.clone(), planned.action.clone());
            }
            OutboxChange::Reschedule(key, not_before) => {
                for entry in open.iter_mut().filter(|entry| entry.key == *key) {
                    entry.not_before = *not_before;
                }
            }
        }
    }
}
