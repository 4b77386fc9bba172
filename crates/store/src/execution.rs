//! Runs: one row from their begin to their one end.

mod id;
mod status;

pub use id::RunId;
pub use status::{Ending, Status};

use pilot_core::budget::Charge;
use sqlx::SqliteExecutor;

use crate::column::{count, row, some_count};
use crate::error::StoreError;
use crate::ledger;
use crate::open::Store;
use crate::time::Micros;

/// A run that begins.
#[derive(Clone, Debug)]
pub struct NewExecution {
    /// Its id, made with [`RunId::generate`] before anything else that is named after the run.
    pub id: RunId,
    /// The task's key, such as `GH-12`.
    pub task_id: String,
    /// The task in one line.
    pub title: String,
    /// The project's directory.
    pub project_path: String,
    /// When it began.
    pub started_at: Micros,
    /// The agent's program.
    pub backend: String,
    /// The model asked for.
    pub model: Option<String>,
    /// The branch the work goes to.
    pub branch: Option<String>,
    /// The commit it starts from.
    pub base_sha: Option<String>,
    /// The routing decision, as JSON.
    pub route: Option<String>,
    /// Who runs it.
    pub owner: Owner,
}

/// The Pilot process that runs a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its process id.
    pub pid: u32,
    /// When it started, in words of whoever can compare them: the next process may get the same id.
    pub started: String,
}

/// What is learned of a run while it runs. What is absent stays as it was.
#[derive(Clone, Debug, Default)]
pub struct Midway {
    /// Percent done.
    pub progress: Option<u64>,
    /// The phase.
    pub phase: Option<String>,
    /// The agent's session, with which it can be resumed.
    pub session_id: Option<String>,
    /// The model that really answers.
    pub model: Option<String>,
    /// How often the agent was started.
    pub attempts: Option<u64>,
    /// The branch the work goes to.
    pub branch: Option<String>,
    /// The commit it starts from.
    pub base_sha: Option<String>,
    /// The routing decision, as JSON.
    pub route: Option<String>,
}

/// How a run ended. What is absent stays as it was.
#[derive(Clone, Debug)]
pub struct Finish {
    /// How.
    pub ending: Ending,
    /// When.
    pub completed_at: Micros,
    /// The failure class.
    pub class: Option<String>,
    /// Why, for people.
    pub reason: Option<String>,
    /// What the agent said in the end, for people: without marks.
    pub output: Option<String>,
    /// The error in the program's own words.
    pub error: Option<String>,
    /// The branch the work is on.
    pub branch: Option<String>,
    /// The last commit.
    pub commit_sha: Option<String>,
    /// How many commits.
    pub commits: Option<u64>,
    /// How many files differ from the base.
    pub files_changed: Option<u64>,
    /// The pull request.
    pub pr_url: Option<String>,
    /// How often the agent was started.
    pub attempts: Option<u64>,
    /// The gates, as JSON.
    pub gates: Option<String>,
    /// The review's verdict.
    pub review: Option<String>,
    /// What was used.
    pub usage: Usage,
    /// Percent done.
    pub progress: Option<u64>,
    /// The phase.
    pub phase: Option<String>,
    /// The agent's last message as it was.
    pub final_message: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// The agent's session.
    pub session_id: Option<String>,
    /// What the session has used so far, as JSON, for a run that resumes it.
    pub session_usage: Option<String>,
    /// What it is charged; without that, what was known of its cost while it ran.
    pub charge: Option<Charge>,
}

impl Finish {
    /// Only how and when; everything else is to be filled in.
    pub fn new(ending: Ending, completed_at: Micros) -> Finish {
        Finish {
            ending,
            completed_at,
            class: None,
            reason: None,
            output: None,
            error: None,
            branch: None,
            commit_sha: None,
            commits: None,
            files_changed: None,
            pr_url: None,
            attempts: None,
            gates: None,
            review: None,
            usage: Usage::default(),
            progress: None,
            phase: None,
            final_message: None,
            model: None,
            session_id: None,
            session_usage: None,
            charge: None,
        }
    }
}

/// What a run used; unknown is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Tokens read afresh.
    pub input_tokens: Option<u64>,
    /// Tokens written by the model.
    pub output_tokens: Option<u64>,
    /// Tokens read from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Tokens written into a cache.
    pub cache_write_tokens: Option<u64>,
    /// What it cost.
    pub cost_usd: Option<f64>,
}

row! {
    /// A run as it is remembered. Columns have these names.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Execution {
        /// The run.
        pub id: RunId,
        /// The task's key.
        pub task_id: String,
        /// The task in one line.
        pub title: String,
        /// The project's directory.
        pub project_path: String,
        /// Where it stands.
        pub status: Status,
        /// The failure class.
        pub class: Option<String>,
        /// Why it ended so, for people.
        pub reason: Option<String>,
        /// When it began.
        pub started_at: Micros,
        /// When it ended.
        pub completed_at: Option<Micros>,
        /// How long it took.
        pub duration_ms: Option<u64>,
        /// What the agent said in the end, for people.
        pub output: Option<String>,
        /// The error in the program's own words.
        pub error: Option<String>,
        /// The branch of the work.
        pub branch: Option<String>,
        /// The commit it started from.
        pub base_sha: Option<String>,
        /// The last commit.
        pub commit_sha: Option<String>,
        /// How many commits.
        pub commits: Option<u64>,
        /// How many files differ from the base.
        pub files_changed: Option<u64>,
        /// The pull request.
        pub pr_url: Option<String>,
        /// The routing decision, as JSON.
        pub route: Option<String>,
        /// How often the agent was started.
        pub attempts: u64,
        /// The gates, as JSON.
        pub gates: Option<String>,
        /// The review's verdict.
        pub review: Option<String>,
        /// Tokens read afresh.
        pub input_tokens: Option<u64>,
        /// Tokens written by the model.
        pub output_tokens: Option<u64>,
        /// Tokens read from a cache.
        pub cache_read_tokens: Option<u64>,
        /// Tokens written into a cache.
        pub cache_write_tokens: Option<u64>,
        /// What it cost.
        pub cost_usd: Option<f64>,
        /// Percent done.
        pub progress: Option<u64>,
        /// The phase.
        pub phase: Option<String>,
        /// The agent's last message.
        pub final_message: Option<String>,
        /// The agent's program.
        pub backend: String,
        /// The model.
        pub model: Option<String>,
        /// The agent's session.
        pub session_id: Option<String>,
        /// What the session has used so far, as JSON.
        pub session_usage: Option<String>,
        /// The process that ran it.
        pub owner_pid: u32,
        /// When that process started, in words of whoever can compare them.
        pub owner_started: String,
    }
}

impl Store {
    /// Remembers that a run begins.
    pub async fn begin_execution(&self, new: &NewExecution) -> Result<Execution, StoreError> {
        sqlx::query_as(BEGIN)
            .bind(new.id.as_str())
            .bind(&new.task_id)
            .bind(self.safe(&new.title))
            .bind(&new.project_path)
            .bind(Status::Running.as_str())
            .bind(new.started_at.0)
            .bind(&new.backend)
            .bind(&new.model)
            .bind(&new.branch)
            .bind(&new.base_sha)
            .bind(self.some_safe(new.route.as_deref()))
            .bind(i64::from(new.owner.pid))
            .bind(&new.owner.started)
            .fetch_one(&self.write)
            .await
            .map_err(self.failing("remember a new run"))
    }

    /// Remembers what was learned of a run that still runs.
    pub async fn update_execution(&self, id: &RunId, midway: &Midway) -> Result<(), StoreError> {
        let updated = sqlx::query(UPDATE)
            .bind(id.as_str())
            .bind(some_count(midway.progress))
            .bind(self.some_safe(midway.phase.as_deref()))
            .bind(&midway.session_id)
            .bind(&midway.model)
            .bind(some_count(midway.attempts))
            .bind(&midway.branch)
            .bind(&midway.base_sha)
            .bind(self.some_safe(midway.route.as_deref()))
            .execute(&self.write)
            .await
            .map_err(self.failing("remember how a run goes"))?;
        match updated.rows_affected() {
            0 => Err(self.not_running(id).await?),
            _ => Ok(()),
        }
    }

    /// Remembers how a run ended, and in the same transaction what it cost. Only the first end counts; a second one is
    /// refused.
    pub async fn finish_execution(&self, id: &RunId, finish: &Finish) -> Result<Execution, StoreError> {
        let failed = self.failing("remember the end of a run");
        let mut transaction = self.begin().await.map_err(&failed)?;
        let execution = find(&mut *transaction, id).await.map_err(&failed)?;
        let Some(execution) = execution else { return Err(StoreError::UnknownRun { id: id.clone() }) };
        if execution.status != Status::Running {
            return Err(StoreError::AlreadyEnded { id: id.clone(), status: execution.status });
        }
        let duration = finish.completed_at.millis_since(execution.started_at);
        let ended = self.end(&mut *transaction, id, finish, duration).await.map_err(&failed)?;
        ledger::settle(&mut transaction, &ended, finish).await.map_err(&failed)?;
        transaction.commit().await.map_err(&failed)?;
        Ok(ended)
    }

    /// Writes down where the work of a run that is over was published.
    pub async fn published(&self, id: &RunId, pr_url: &str) -> Result<(), StoreError> {
        let failed = self.failing("write down where a run was published");
        sqlx::query(PUBLISHED).bind(id.as_str()).bind(pr_url).execute(&self.write).await.map_err(failed)?;
        Ok(())
    }

    async fn end(
        &self,
        executor: impl SqliteExecutor<'_>,
        id: &RunId,
        finish: &Finish,
        duration_ms: u64,
    ) -> Result<Execution, sqlx::Error> {
        sqlx::query_as(FINISH)
            .bind(id.as_str())
            .bind(finish.ending.status().as_str())
            .bind(&finish.class)
            .bind(self.some_safe(finish.reason.as_deref()))
            .bind(finish.completed_at.0)
            .bind(count(duration_ms))
            .bind(self.some_safe(finish.output.as_deref()))
            .bind(self.some_safe(finish.error.as_deref()))
            .bind(&finish.branch)
            .bind(&finish.commit_sha)
            .bind(some_count(finish.commits))
            .bind(some_count(finish.files_changed))
            .bind(&finish.pr_url)
            .bind(some_count(finish.attempts))
            .bind(self.some_safe(finish.gates.as_deref()))
            .bind(self.some_safe(finish.review.as_deref()))
            .bind(some_count(finish.usage.input_tokens))
            .bind(some_count(finish.usage.output_tokens))
            .bind(some_count(finish.usage.cache_read_tokens))
            .bind(some_count(finish.usage.cache_write_tokens))
            .bind(finish.usage.cost_usd)
            .bind(some_count(finish.progress))
            .bind(self.some_safe(finish.phase.as_deref()))
            .bind(self.some_safe(finish.final_message.as_deref()))
            .bind(&finish.model)
            .bind(&finish.session_id)
            .bind(&finish.session_usage)
            .fetch_one(executor)
            .await
    }

    /// A run whose owner died ends as abandoned.
    pub async fn mark_abandoned(
        &self,
        id: &RunId,
        reason: &str,
        at: Micros,
    ) -> Result<Execution, StoreError> {
        let finish = Finish { reason: Some(reason.to_owned()), ..Finish::new(Ending::Abandoned, at) };
        self.finish_execution(id, &finish).await
    }

    /// The runs that are marked running and whose owner is not alive.
    pub async fn abandoned(&self, alive: impl Fn(&Owner) -> bool) -> Result<Vec<Execution>, StoreError> {
        let running: Vec<Execution> = sqlx::query_as(RUNNING)
            .fetch_all(&self.read)
            .await
            .map_err(self.failing("look for runs that were left"))?;
        let owner = |run: &Execution| Owner { pid: run.owner_pid, started: run.owner_started.clone() };
        Ok(running.into_iter().filter(|run| !alive(&owner(run))).collect())
    }

    /// The run with this id.
    pub async fn execution(&self, id: &RunId) -> Result<Option<Execution>, StoreError> {
        find(&self.read, id).await.map_err(self.failing("find a run"))
    }

    /// The last run of a task, or the run whose id this is or begins with this. A task's key goes first.
    pub async fn last_for(&self, key: &str) -> Result<Option<Execution>, StoreError> {
        let failed = self.failing("find a run");
        let last =
            sqlx::query_as(LAST_OF_TASK).bind(key).fetch_optional(&self.read).await.map_err(&failed)?;
        if last.is_some() || !RunId::may_begin_with(key) {
            return Ok(last);
        }
        let begin = format!("{}%", key.to_ascii_lowercase());
        let mut found: Vec<Execution> =
            sqlx::query_as(BY_PREFIX).bind(begin).fetch_all(&self.read).await.map_err(&failed)?;
        if found.len() > 1 {
            let candidates = found.into_iter().map(|run| run.id).collect();
            return Err(StoreError::Ambiguous { key: key.to_owned(), candidates });
        }
        Ok(found.pop())
    }

    /// The newest runs, newest first.
    pub async fn recent(&self, limit: u32) -> Result<Vec<Execution>, StoreError> {
        sqlx::query_as(RECENT)
            .bind(i64::from(limit))
            .fetch_all(&self.read)
            .await
            .map_err(self.failing("list runs"))
    }

    /// Why a run cannot be changed any more.
    async fn not_running(&self, id: &RunId) -> Result<StoreError, StoreError> {
        Ok(match self.execution(id).await? {
            None => StoreError::UnknownRun { id: id.clone() },
            Some(run) => StoreError::AlreadyEnded { id: id.clone(), status: run.status },
        })
    }
}

async fn find(executor: impl SqliteExecutor<'_>, id: &RunId) -> Result<Option<Execution>, sqlx::Error> {
    sqlx::query_as(FIND).bind(id.as_str()).fetch_optional(executor).await
}

const BEGIN: &str = "INSERT INTO executions (id, task_id, title, project_path, status, started_at, backend, model, branch, \
     base_sha, route, attempts, owner_pid, owner_started) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, $12, $13) RETURNING *";

const UPDATE: &str = "UPDATE executions SET progress = COALESCE($2, progress), phase = COALESCE($3, phase), \
     session_id = COALESCE($4, session_id), model = COALESCE($5, model), attempts = COALESCE($6, attempts), \
     branch = COALESCE($7, branch), base_sha = COALESCE($8, base_sha), route = COALESCE($9, route) \
     WHERE id = $1 AND status = 'running'";

const FINISH: &str = "UPDATE executions SET status = $2, class = $3, reason = $4, completed_at = $5, duration_ms = $6, \
     output = $7, error = $8, branch = COALESCE($9, branch), commit_sha = $10, commits = $11, files_changed = $12, \
     pr_url = $13, attempts = COALESCE($14, attempts), gates = $15, review = $16, input_tokens = $17, output_tokens = $18, \
     cache_read_tokens = $19, cache_write_tokens = $20, cost_usd = $21, progress = COALESCE($22, progress), \
     phase = COALESCE($23, phase), final_message = $24, model = COALESCE($25, model), \
     session_id = COALESCE($26, session_id), session_usage = $27 \
     WHERE id = $1 AND status = 'running' RETURNING *";

const PUBLISHED: &str = "UPDATE executions SET pr_url = $2 WHERE id = $1";

const FIND: &str = "SELECT * FROM executions WHERE id = $1";

const RUNNING: &str = "SELECT * FROM executions WHERE status = 'running' ORDER BY started_at, id";

const LAST_OF_TASK: &str =
    "SELECT * FROM executions WHERE task_id = $1 ORDER BY started_at DESC, id DESC LIMIT 1";

const BY_PREFIX: &str = "SELECT * FROM executions WHERE id LIKE $1 ORDER BY id DESC LIMIT 20";

const RECENT: &str = "SELECT * FROM executions ORDER BY started_at DESC, id DESC LIMIT $1";

/// All of them, for the test that prepares each.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] =
    &[BEGIN, UPDATE, FINISH, PUBLISHED, FIND, RUNNING, LAST_OF_TASK, BY_PREFIX, RECENT];
