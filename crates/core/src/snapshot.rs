//! The snapshot: everything a screen shows, as one typed value. `pilot status --json` prints it.

use serde::Serialize;

use crate::budget::{BudgetConfig, Standing, Usd};
use crate::dispatch::Behind;
use crate::fact::{ProjectFacts, RunPause, TaskFacts};
use crate::id::{Branch, Generation, PrNumber, ProjectId, References, TaskKey};
use crate::outcome::Class;
use crate::policy::BreakerPolicy;
use crate::progress::words::phase;
use crate::run::RunProgress;
use crate::task::{Hold, Stage};
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
    pub running: usize,
    pub queued: usize,
    pub held: usize,
    /// The last tag.
    pub release: Option<String>,
}

/// Too many runs failed in a row: no run starts before `until`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BreakerSnapshot {
    pub failures: u32,
    pub class: Class,
    #[serde(serialize_with = "rfc3339")]
    pub until: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskSnapshot {
    pub project: ProjectId,
    pub task: TaskKey,
    pub title: String,
    pub stage: &'static str,
    /// The stage in a sentence, with what to do where a person has to.
    pub why: String,
    /// Why it is held.
    pub hold: Option<Hold>,
    /// The task it is queued behind.
    pub behind: Option<TaskKey>,
    /// Since when its run waits for a person, and until when.
    pub pause: Option<PauseSnapshot>,
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PauseSnapshot {
    pub why: String,
    #[serde(serialize_with = "rfc3339")]
    pub since: Timestamp,
    #[serde(serialize_with = "rfc3339")]
    pub until: Timestamp,
}

impl From<&RunPause> for PauseSnapshot {
    fn from(pause: &RunPause) -> PauseSnapshot {
        PauseSnapshot { why: pause.why.clone(), since: pause.since, until: pause.until }
    }
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
            why: behind.as_ref().map_or_else(
                || words::stage(stage, references),
                |behind| words::queued_behind(behind, references),
            ),
            hold: if let Stage::Held { hold } = stage { Some(hold.clone()) } else { None },
            behind: behind.as_ref().map(|behind| behind.task.clone()),
            pause: if let Stage::Paused { pause, .. } = stage { Some(pause.into()) } else { None },
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
            budget_hold: facts.budget.clone(),
            breaker: facts.broken_until(policy, now).map(|(until, class)| BreakerSnapshot {
                failures: facts.failures,
                class,
                until,
            }),
            running: count(|stage| matches!(stage, Stage::Running { .. } | Stage::Paused { .. })),
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
