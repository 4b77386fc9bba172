//! The snapshot: everything a screen shows, as one typed value. `pilot status --json` prints it.

use serde::Serialize;

use crate::budget::{BudgetConfig, Standing, Usd};
use crate::dispatch::Behind;
use crate::fact::{Ending, GivenUp, ProjectFacts, TaskFacts};
use crate::id::{Branch, Generation, PrNumber, ProjectId, References, TaskKey};
use crate::observed::TicketState;
use crate::outcome::Class;
use crate::policy::BreakerPolicy;
use crate::progress::words::phase;
use crate::run::RunProgress;
use crate::task::{Hold, Stage, StageGroup};
use crate::time::{Timestamp, rfc3339};
use crate::words;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    /// The process of the daemon; none when it is not running.
    pub daemon: Option<u32>,
    #[serde(serialize_with = "rfc3339")]
    pub at: Timestamp,
    /// The last event of the feed that it includes: a reader of the feed continues after it.
    pub feed_seq: u64,
    pub budget: BudgetSnapshot,
    pub projects: Vec<ProjectSnapshot>,
    pub tasks: Vec<TaskSnapshot>,
}

/// In US dollars.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BudgetSnapshot {
    pub is_enabled: bool,
    pub today_usd: f64,
    pub daily_limit_usd: f64,
    pub this_month_usd: f64,
    pub monthly_limit_usd: f64,
    /// Reserved for runs that have not ended.
    pub reserved_usd: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProjectSnapshot {
    pub project: ProjectId,
    pub paused_by: Option<String>,
    /// Why the budget lets no run start.
    pub budget_hold: Option<String>,
    pub breaker: Option<BreakerSnapshot>,
    /// Its forge or tracker does not answer the daemon, or refuses it.
    pub outage: Option<Outage>,
    pub running: usize,
    pub queued: usize,
    pub held: usize,
    /// The last tag.
    pub release: Option<String>,
}

/// Since when the daemon gets no answer for a project, and what it got instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outage {
    #[serde(serialize_with = "rfc3339")]
    pub since: Timestamp,
    pub why: String,
}

/// Too many runs failed in a row: no run starts before `until`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BreakerSnapshot {
    pub failures: u32,
    pub class: Class,
    #[serde(serialize_with = "rfc3339")]
    pub until: Timestamp,
}

/// Where a screen shows a task, in the order in which a person wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// It does not continue before a person does something.
    Attention,
    /// An agent works on it.
    Running,
    /// Its work is on the forge.
    PullRequest,
    /// It starts or continues by itself.
    Queue,
    Ended,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskSnapshot {
    pub project: ProjectId,
    pub task: TaskKey,
    pub title: String,
    pub stage: &'static str,
    pub section: Section,
    /// The stage in a sentence, with what to do where a person has to.
    pub why: String,
    /// Why it is held.
    pub hold: Option<Hold>,
    /// The task it is queued behind.
    pub behind: Option<TaskKey>,
    /// Its place in the queue, from 1, while it is queued.
    pub position: Option<usize>,
    pub branch: Option<Branch>,
    pub pr: Option<PrNumber>,
    pub attempts: u32,
    /// The agent's phase, while it runs; so are the next two.
    pub phase: Option<String>,
    pub percent: Option<u8>,
    pub last_message: Option<String>,
    /// What all its runs have cost so far.
    pub cost_usd: f64,
    /// How long it has been claimed, while it is.
    pub elapsed_seconds: Option<u64>,
    #[serde(serialize_with = "rfc3339")]
    pub changed_at: Timestamp,
}

/// A task as it is stored, with what its runs reported.
#[derive(Clone, Debug)]
pub struct StoredTask {
    pub facts: TaskFacts,
    pub stage: Stage,
    pub changed_at: Timestamp,
    /// How far its last run was.
    pub progress: Option<(Generation, RunProgress)>,
    /// What its ended runs have cost.
    pub cost: Usd,
    /// What it is queued behind.
    pub behind: Option<Behind>,
}

impl TaskSnapshot {
    pub fn new(stored: &StoredTask, references: &References, now: Timestamp) -> TaskSnapshot {
        let StoredTask { facts, stage, changed_at, progress, cost, behind } = stored;
        let life = &facts.life;
        let progress = match (stage, progress) {
            (Stage::Running { generation } | Stage::Stopping { generation, .. }, Some((of, progress)))
                if of == generation =>
            {
                Some(progress)
            }
            (_, _) => None,
        };
        let so_far = progress.and_then(|progress| progress.cost_usd).unwrap_or(0.0);
        TaskSnapshot {
            project: facts.project.clone(),
            task: facts.key.clone(),
            title: facts.title().to_owned(),
            stage: stage.as_str(),
            section: Section::of(facts, stage),
            why: behind.as_ref().map_or_else(
                || words::stage(stage, references),
                |behind| words::queued_behind(behind, references),
            ),
            hold: if let Stage::Held { hold } = stage { Some(hold.clone()) } else { None },
            behind: behind.as_ref().map(|behind| behind.task.clone()),
            position: None,
            branch: life.pushed.as_ref().map(|pushed| pushed.branch.clone()),
            pr: life.pr.as_ref().map(|pr| pr.pr.number),
            attempts: life.attempts,
            phase: progress.map(|progress| phase(&progress.phase)),
            percent: progress.map(|progress| progress.percent),
            last_message: progress.map(|progress| progress.last_message.clone()),
            cost_usd: cost.dollars() + so_far,
            elapsed_seconds: life.claim.as_ref().map(|claim| now.since(claim.at).as_secs()),
            changed_at: *changed_at,
        }
    }
}

impl Section {
    pub fn of(facts: &TaskFacts, stage: &Stage) -> Section {
        match (stage.group(), stage) {
            (_, Stage::Held { hold }) if needs_person(hold) => Section::Attention,
            (_, Stage::Ended { ending: Ending::GivenUp(why) }) if is_unanswered(facts, why) => {
                Section::Attention
            }
            (StageGroup::Run, _) => Section::Running,
            (StageGroup::PullRequest, _) => Section::PullRequest,
            (StageGroup::Intake | StageGroup::Waiting | StageGroup::Held, _) => Section::Queue,
            (StageGroup::Ended, _) => Section::Ended,
        }
    }
}

/// Whether a person has to do something about the task itself. A pause of the project, the budget and the breaker are
/// shown once, with the project.
fn needs_person(hold: &Hold) -> bool {
    match hold {
        Hold::ProjectPaused { .. }
        | Hold::DependsOn { .. }
        | Hold::ClaimedElsewhere { .. }
        | Hold::Breaker { .. }
        | Hold::Budget { .. } => false,
        Hold::TicketClosed
        | Hold::LabelGone
        | Hold::Paused { .. }
        | Hold::Bot { .. }
        | Hold::Untrusted { .. }
        | Hold::TrustUnknown { .. }
        | Hold::UnknownFix
        | Hold::DependsOnItself
        | Hold::DependencyMissing { .. }
        | Hold::DependencyUnread { .. }
        | Hold::OpenPr { .. }
        | Hold::MergeConflict { .. }
        | Hold::HeadMoved { .. }
        | Hold::CiLate { .. }
        | Hold::CiKeepsFailing { .. }
        | Hold::AwaitsMerge { .. }
        | Hold::ChangesRequested { .. }
        | Hold::NotOnBase { .. }
        | Hold::Trouble { .. } => true,
    }
}

/// Whether a task that was given up still waits for an answer: a person who closed the pull request or the issue gave it.
fn is_unanswered(facts: &TaskFacts, why: &GivenUp) -> bool {
    let is_open = facts.ticket().is_none_or(|ticket| ticket.state == TicketState::Open);
    match why {
        GivenUp::Run { .. } | GivenUp::Attempts { .. } | GivenUp::FixGivenUp { .. } => is_open,
        GivenUp::PrClosed { .. } => false,
    }
}

impl ProjectSnapshot {
    pub fn new(
        facts: &ProjectFacts,
        stages: &[&Stage],
        policy: &BreakerPolicy,
        now: Timestamp,
    ) -> ProjectSnapshot {
        let count = |is: fn(&Stage) -> bool| stages.iter().filter(|stage| is(stage)).count();
        ProjectSnapshot {
            project: facts.id.clone(),
            paused_by: facts.paused.clone(),
            budget_hold: facts.unfunded.values().next().map(|unfunded| unfunded.shortage.words()),
            breaker: facts.broken_until(policy, now).map(|(until, class)| BreakerSnapshot {
                failures: facts.failures,
                class,
                until,
            }),
            outage: None,
            running: count(|stage| matches!(stage, Stage::Running { .. })),
            queued: count(|stage| matches!(stage, Stage::Queued { .. })),
            held: count(|stage| matches!(stage, Stage::Held { .. })),
            release: facts.tag.as_ref().map(|(tag, _)| tag.clone()),
        }
    }
}

impl BudgetSnapshot {
    pub fn new(config: &BudgetConfig, standing: &Standing) -> BudgetSnapshot {
        BudgetSnapshot {
            is_enabled: config.enabled,
            today_usd: standing.today.dollars(),
            daily_limit_usd: config.daily_limit.dollars(),
            this_month_usd: standing.this_month.dollars(),
            monthly_limit_usd: config.monthly_limit.dollars(),
            reserved_usd: standing.reserved.dollars(),
        }
    }
}
