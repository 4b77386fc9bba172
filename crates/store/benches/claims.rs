//! What a claim costs with many tasks in the queue, beside what it costs with few, in the same run.
//!
//! `cargo bench -p pilot-store --bench claims` prints the table, and fails when the bar is missed; `-- --quick` shows in a
//! second that everything still runs.
//!
//! The two take turns and the median of each counts. A claim is all of it: the first of the queue are read, the task is
//! loaded, the core decides, the turn is written and on disk. Looking at the queue is measured on its own as well: it does
//! not wait for a disk that could hide what it costs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use pilot_core::fact::TaskEvent;
use pilot_core::id::{BodyHash, Branch, HomeId, InstanceId, ProjectId, TaskKey};
use pilot_core::observed::{Author, AuthorKind, Body, Ticket, TicketState, TouchedPaths, Trust};
use pilot_core::policy::{Mode, Policy};
use pilot_core::redact::Secrets;
use pilot_core::time::Timestamp;
use pilot_core::turn::{Applied, Input, Loaded, turn};
use pilot_store::Store;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};

/// How many wait in the one queue and in the other.
const FEW: u64 = 100;
const MANY: u64 = 100_000;

/// What the many may cost, as a multiple of what the few do.
const BAR: f64 = 1.5;

/// How many of the queue a dispatcher looks at.
const LOOK: u32 = 16;

/// How many claims are measured, and how many looks for each.
const CLAIMS: usize = 60;
const LOOKS: usize = 10;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (many, claims) = if quick { (FEW * 10, 3) } else { (MANY, CLAIMS) };
    let home = tempfile::tempdir().context("a directory for the databases")?;
    let mut few = Queue::fill(&home.path().join("few.db"), FEW).await?;
    let mut all = Queue::fill(&home.path().join("many.db"), many).await?;
    for _ in 0..claims {
        for queue in [&mut few, &mut all] {
            queue.take_turn().await?;
        }
    }
    println!("| median of {claims} | {FEW} queued, µs | {many} queued, µs | ratio | at most | bar |");
    println!("|---|--:|--:|--:|--:|---|");
    let looks = print_row("look at the queue", &mut few.looks, &mut all.looks);
    let claims = print_row("claim", &mut few.claims, &mut all.claims);
    Ok(if looks && claims { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints a row, and returns whether the bar is met.
fn print_row(what: &str, few: &mut [Duration], many: &mut [Duration]) -> bool {
    let (few, many) = (median(few), median(many));
    let ratio = many / few;
    let met = ratio <= BAR;
    let verdict = if met { "met" } else { "missed" };
    println!("| {what} | {:.0} | {:.0} | {ratio:.2} | {BAR} | {verdict} |", few * 1e6, many * 1e6);
    met
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

struct Queue {
    store: Store,
    project: ProjectId,
    policy: Policy,
    looks: Vec<Duration>,
    claims: Vec<Duration>,
}

impl Queue {
    /// A project with so many tasks that wait for their turn.
    async fn fill(path: &Path, count: u64) -> Result<Queue> {
        let store = Store::open(path, Secrets::none()).await?;
        let policy = Policy { mode: Mode::Parallel, ..Policy::new(Branch::parse("main")?) };
        let project = ProjectId::parse("github:acme/app")?;
        let queue = Queue { store, project, policy, looks: Vec::new(), claims: Vec::new() };
        let branch = Branch::parse("pilot/GH-1")?;
        for event in [
            TaskEvent::TicketRead { ticket: issue(1)? },
            TaskEvent::TrustRead { login: "ann".to_owned(), trust: Trust::Trusted },
            TaskEvent::BranchChecked { branch, found: None },
        ] {
            queue.record(gh(1), |_| event).await?;
        }
        queue.multiply(path, count).await?;
        let first = queue.store.queued(&queue.project, 1).await?;
        ensure!(first.len() == 1 && first[0].task == gh(1), "the first is the first");
        Ok(queue)
    }

    /// Puts others like the first behind it. By hand: a hundred thousand turns would be a hundred thousand times on disk.
    async fn multiply(&self, path: &Path, count: u64) -> Result<()> {
        let first = self.store.load_task(&self.project, &gh(1)).await?;
        let mut connection = SqliteConnectOptions::new().filename(path).connect().await?;
        let mut transaction = connection.begin().await?;
        for number in 2..=count {
            let facts = serde_json::to_string(&like(&first, number)?)?;
            sqlx::query(COPY)
                .bind(gh(number).as_str())
                .bind(i64::try_from(number)?)
                .bind(facts)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        connection.close().await?;
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    async fn take_turn(&mut self) -> Result<()> {
        for _ in 0..LOOKS {
            let start = Instant::now();
            let queued = self.store.queued(&self.project, LOOK).await?;
            self.looks.push(start.elapsed());
            ensure!(queued.len() == usize::try_from(LOOK)?, "the queue is long enough");
        }
        let start = Instant::now();
        let queued = self.store.queued(&self.project, LOOK).await?;
        let first = queued.first().context("the queue is not empty")?.task.clone();
        self.record(first, |loaded| TaskEvent::Claimed {
            generation: loaded.task.generation.next(),
            home: HomeId::parse("bench").expect("it is a name"),
            instance: InstanceId::parse("bench").expect("it is a name"),
        })
        .await?;
        self.claims.push(start.elapsed());
        Ok(())
    }

    async fn record(&self, issue: TaskKey, event: impl FnOnce(&Loaded) -> TaskEvent) -> Result<()> {
        let loaded = self.store.load_task(&self.project, &issue).await?;
        let input = Input { event: event(&loaded), settles: None };
        let turn = turn(&loaded, Some(&input), &self.policy, NOON);
        let applied = self.store.apply(&turn, &InstanceId::parse("bench")?, NOON).await?;
        ensure!(applied == Applied::Written, "no other process writes: {applied:?}");
        Ok(())
    }
}

/// What would be known of the task of another issue.
fn like(first: &Loaded, number: u64) -> Result<pilot_core::fact::TaskFacts> {
    let mut facts = first.task.clone();
    facts.key = gh(number);
    facts.ticket = Some((issue(number)?, NOON));
    Ok(facts)
}

const NOON: Timestamp = Timestamp(1_763_035_200_000_000);

fn issue(number: u64) -> Result<Ticket> {
    let reach = TouchedPaths::Named(BTreeSet::from([format!("src/{number}")]));
    Ok(Ticket {
        key: gh(number),
        title: format!("Make number {number} as good as the others"),
        author: Author { login: "ann".to_owned(), kind: AuthorKind::Person },
        labels: BTreeSet::from(["pilot".to_owned()]),
        state: TicketState::Open,
        body: Body {
            hash: BodyHash::parse(&"b".repeat(64))?,
            depends_on: BTreeSet::new(),
            unread: Vec::new(),
            paths: reach,
            branch: None,
        },
        created_at: NOON,
        updated_at: NOON,
    })
}

const COPY: &str = "INSERT INTO task_queue (id, project_path, task_key, task_json, status, stage, version, rank, wake, \
     created_at, started_at, completed_at, changed_at) \
     SELECT project_path || '/' || $1, project_path, $1, $3, status, stage, version, rank + $2, wake, \
     created_at, started_at, completed_at, changed_at FROM task_queue WHERE id = 'github:acme/app/GH-1'";

fn gh(number: u64) -> TaskKey {
    TaskKey::numbered("GH", number)
}
