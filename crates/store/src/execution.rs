//! Runs: one row each, from begin to end.

mod id;
mod status;

pub use id::RunId;
pub use status::ExecutionStatus;

use pilot_core::budget::Charge;
use pilot_core::outcome::RunStatus;
use pilot_core::stream::Usage;
use pilot_core::time::Timestamp;

use crate::database::{Transaction, row, statements, values};
use crate::error::{Result, StoreError};
use crate::ledger;
use crate::store::Store;

#[derive(Clone, Debug)]
pub struct NewExecution {
    /// Generated before anything else that is named after the run.
    pub id: RunId,
    /// The task's key, such as `GH-12`.
    pub task_id: String,
    /// The task in one line.
    pub title: String,
    pub project_path: String,
    pub started_at: Timestamp,
    pub backend: String,
    /// The model asked for.
    pub model: Option<String>,
    /// The branch the work goes to.
    pub branch: Option<String>,
    /// The commit it starts from.
    pub base_sha: Option<String>,
    /// The routing decision, as JSON.
    pub route: Option<String>,
    pub owner: Owner,
}

/// The Pilot process that runs a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub pid: u32,
    /// When it started, in a form only `exec` compares: the next process may get the same pid.
    pub started: String,
}

/// How a run ended. Absent fields stay as they were.
#[derive(Clone, Debug, Default)]
pub struct Finish {
    pub status: ExecutionStatus,
    pub completed_at: Timestamp,
    pub class: Option<String>,
    pub reason: Option<String>,
    /// The agent's last message without its signals.
    pub output: Option<String>,
    /// The error in the program's own words.
    pub error: Option<String>,
    pub branch: Option<String>,
    pub commit_sha: Option<String>,
    pub commits: Option<u64>,
    /// How many files differ from the base.
    pub files_changed: Option<u64>,
    pub pr_url: Option<String>,
    /// How often the agent was started.
    pub attempts: Option<u64>,
    /// The gates, as JSON.
    pub gates: Option<String>,
    pub review: Option<String>,
    /// What it used, where that is known.
    pub usage: Option<Usage>,
    pub progress: Option<u64>,
    pub phase: Option<String>,
    /// The agent's last message as it printed it.
    pub final_message: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    pub session_id: Option<String>,
    /// What the session has used so far, as JSON, for a run that resumes it.
    pub session_usage: Option<String>,
    /// What it is charged; absent, it is charged the cost it reported while it ran.
    pub charge: Option<Charge>,
}

impl Finish {
    /// Only how and when it ended.
    pub fn new(status: RunStatus, completed_at: Timestamp) -> Finish {
        Finish { status: ExecutionStatus::Ended(status), completed_at, ..Finish::default() }
    }
}

row! {
    /// A run as it is stored.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Execution {
        pub id: RunId,
        pub task_id: String,
        /// The task in one line.
        pub title: String,
        pub project_path: String,
        pub status: ExecutionStatus,
        pub class: Option<String>,
        pub reason: Option<String>,
        pub started_at: Timestamp,
        pub completed_at: Option<Timestamp>,
        pub duration_ms: Option<u64>,
        /// The agent's last message without its signals.
        pub output: Option<String>,
        /// The error in the program's own words.
        pub error: Option<String>,
        pub branch: Option<String>,
        /// The commit it started from.
        pub base_sha: Option<String>,
        pub commit_sha: Option<String>,
        pub commits: Option<u64>,
        /// How many files differ from the base.
        pub files_changed: Option<u64>,
        pub pr_url: Option<String>,
        /// The routing decision, as JSON.
        pub route: Option<String>,
        /// How often the agent was started.
        pub attempts: u64,
        /// The gates, as JSON.
        pub gates: Option<String>,
        pub review: Option<String>,
        pub input_tokens: Option<u64>,
        pub output_tokens: Option<u64>,
        pub cache_read_tokens: Option<u64>,
        pub cache_write_tokens: Option<u64>,
        pub cost_usd: Option<f64>,
        pub progress: Option<u64>,
        pub phase: Option<String>,
        /// The agent's last message as it printed it.
        pub final_message: Option<String>,
        pub backend: String,
        pub model: Option<String>,
        pub session_id: Option<String>,
        /// What the session has used so far, as JSON.
        pub session_usage: Option<String>,
        /// The process that ran it.
        pub owner_pid: u32,
        pub owner_started: String,
    }
}

impl Store {
    pub async fn begin_execution(&self, new: &NewExecution) -> Result<Execution> {
        let mut transaction = self.database.begin("store a new run").await?;
        let values = values![
            new.id.as_str(),
            &new.task_id,
            self.redact(&new.title),
            &new.project_path,
            ExecutionStatus::Running.as_str(),
            new.started_at,
            &new.backend,
            &new.model,
            &new.branch,
            &new.base_sha,
            self.redact_some(&new.route),
            new.owner.pid,
            &new.owner.started,
        ];
        let execution = transaction.one(BEGIN, values).await?;
        transaction.commit().await?;
        Ok(execution)
    }

    /// Stores how a run ended, and in the same transaction what it cost. Only the first end counts; a second one is
    /// refused.
    pub async fn finish_execution(&self, id: &RunId, finish: &Finish) -> Result<Execution> {
        let mut transaction = self.database.begin("store the end of a run").await?;
        let execution: Option<Execution> = transaction.optional(FIND, values![id.as_str()]).await?;
        let Some(execution) = execution else { return Err(StoreError::UnknownRun { id: id.clone() }) };
        if execution.status != ExecutionStatus::Running {
            return Err(StoreError::AlreadyEnded { id: id.clone(), status: execution.status });
        }
        let ended = self.write_end(&mut transaction, &execution, finish).await?;
        ledger::settle(&mut transaction, &ended, finish).await?;
        transaction.commit().await?;
        Ok(ended)
    }

    /// Stores where the work of a run that has ended was published.
    pub async fn set_pr_url(&self, id: &RunId, pr_url: &str) -> Result<()> {
        let doing = "store the pull request of a run";
        self.database.execute(doing, SET_PR_URL, values![id.as_str(), pr_url]).await?;
        Ok(())
    }

    async fn write_end(
        &self,
        transaction: &mut Transaction,
        run: &Execution,
        finish: &Finish,
    ) -> Result<Execution> {
        let duration = finish.completed_at.since(run.started_at).as_millis();
        let usage = finish.usage.as_ref();
        let values = values![
            run.id.as_str(),
            finish.status.as_str(),
            &finish.class,
            self.redact_some(&finish.reason),
            finish.completed_at,
            u64::try_from(duration).unwrap_or(u64::MAX),
            self.redact_some(&finish.output),
            self.redact_some(&finish.error),
            &finish.branch,
            &finish.commit_sha,
            finish.commits,
            finish.files_changed,
            &finish.pr_url,
            finish.attempts,
            self.redact_some(&finish.gates),
            self.redact_some(&finish.review),
            usage.map(|usage| usage.input_tokens),
            usage.map(|usage| usage.output_tokens),
            usage.map(|usage| usage.cache_read_tokens),
            usage.map(|usage| usage.cache_write_tokens),
            usage.and_then(|usage| usage.cost_usd),
            finish.progress,
            self.redact_some(&finish.phase),
            self.redact_some(&finish.final_message),
            &finish.model,
            &finish.session_id,
            &finish.session_usage,
        ];
        transaction.one(FINISH, values).await
    }

    /// Ends a run whose process died.
    pub async fn mark_abandoned(&self, id: &RunId, reason: &str, at: Timestamp) -> Result<Execution> {
        let finish = Finish {
            status: ExecutionStatus::Abandoned,
            reason: Some(reason.to_owned()),
            ..Finish::new(RunStatus::Failed, at)
        };
        self.finish_execution(id, &finish).await
    }

    /// The runs that have not ended and whose process is not alive.
    pub async fn abandoned(&self, alive: impl Fn(&Owner) -> bool) -> Result<Vec<Execution>> {
        let running: Vec<Execution> = self.database.all("look for abandoned runs", RUNNING, &[]).await?;
        let owner = |run: &Execution| Owner { pid: run.owner_pid, started: run.owner_started.clone() };
        Ok(running.into_iter().filter(|run| !alive(&owner(run))).collect())
    }

    pub async fn execution(&self, id: &RunId) -> Result<Option<Execution>> {
        self.database.optional("find a run", FIND, values![id.as_str()]).await
    }

    /// The last run of a task, or the run whose id is or begins with the key. A task's key goes first.
    pub async fn last_for(&self, key: &str) -> Result<Option<Execution>> {
        let last = self.database.optional("find a run", LAST_OF_TASK, values![key]).await?;
        if last.is_some() || !RunId::may_begin_with(key) {
            return Ok(last);
        }
        let pattern = format!("{}%", key.to_ascii_lowercase());
        let mut found: Vec<Execution> = self.database.all("find a run", BY_PREFIX, values![pattern]).await?;
        if found.len() > 1 {
            let candidates = found.into_iter().map(|run| run.id).collect();
            return Err(StoreError::Ambiguous { key: key.to_owned(), candidates });
        }
        Ok(found.pop())
    }

    /// The newest runs, newest first.
    pub async fn recent(&self, limit: u32) -> Result<Vec<Execution>> {
        self.database.all("list runs", RECENT, values![limit]).await
    }
}

statements! {
    BEGIN = "INSERT INTO executions (id, task_id, title, project_path, status, started_at, backend, model, branch, \
        base_sha, route, attempts, owner_pid, owner_started) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, $12, $13) RETURNING *";
    FINISH = "UPDATE executions SET status = $2, class = $3, reason = $4, completed_at = $5, duration_ms = $6, \
        output = $7, error = $8, branch = COALESCE($9, branch), commit_sha = $10, commits = $11, files_changed = $12, \
        pr_url = $13, attempts = COALESCE($14, attempts), gates = $15, review = $16, input_tokens = $17, output_tokens = $18, \
        cache_read_tokens = $19, cache_write_tokens = $20, cost_usd = $21, progress = COALESCE($22, progress), \
        phase = COALESCE($23, phase), final_message = $24, model = COALESCE($25, model), \
        session_id = COALESCE($26, session_id), session_usage = $27 \
        WHERE id = $1 AND status = 'running' RETURNING *";
    SET_PR_URL = "UPDATE executions SET pr_url = $2 WHERE id = $1";
    FIND = "SELECT * FROM executions WHERE id = $1";
    RUNNING = "SELECT * FROM executions WHERE status = 'running' ORDER BY started_at, id";
    LAST_OF_TASK = "SELECT * FROM executions WHERE task_id = $1 ORDER BY started_at DESC, id DESC LIMIT 1";
    BY_PREFIX = "SELECT * FROM executions WHERE id LIKE $1 ORDER BY id DESC LIMIT 20";
    RECENT = "SELECT * FROM executions ORDER BY started_at DESC, id DESC LIMIT $1";
}
