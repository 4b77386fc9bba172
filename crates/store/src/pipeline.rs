//! Runs of pipelines: a row each, and their facts in order.
//!
//! A run's state is its facts, so they are only ever added. Each has its number from whoever runs the pipeline: two that
//! run the same one would give the same number, and the second is refused.

use std::fmt;
use std::str::FromStr;

use sqlx::SqliteExecutor;

use crate::column::{column, count, row};
use crate::error::StoreError;
use crate::execution::RunId;
use crate::open::Store;
use crate::time::Micros;

/// A pipeline that begins to run.
#[derive(Clone, Debug)]
pub struct NewPipelineRun {
    /// Its id.
    pub id: RunId,
    /// The project's directory.
    pub project_path: String,
    /// What tells the pipeline from a changed one.
    pub fingerprint: String,
    /// The inputs, as JSON.
    pub inputs: String,
    /// How much of the pipeline it is.
    pub part: PipelinePart,
    /// The commit it began at.
    pub base_sha: Option<String>,
    /// When it began.
    pub started_at: Micros,
}

/// How much of a pipeline a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PipelinePart {
    /// All of it, or all from some step on: it can be gone on with.
    Whole,
    /// One step on its own.
    Step,
}

impl PipelinePart {
    fn as_str(self) -> &'static str {
        match self {
            PipelinePart::Whole => "whole",
            PipelinePart::Step => "step",
        }
    }
}

/// Where a pipeline's run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PipelineStatus {
    /// Somebody runs it, or died while running it.
    Running,
    /// Every step is done.
    Completed,
    /// A step failed.
    Failed,
    /// It waits for a person.
    Held,
    /// A person stopped it.
    Stopped,
}

impl PipelineStatus {
    const ALL: [PipelineStatus; 5] = [
        PipelineStatus::Running,
        PipelineStatus::Completed,
        PipelineStatus::Failed,
        PipelineStatus::Held,
        PipelineStatus::Stopped,
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            PipelineStatus::Running => "running",
            PipelineStatus::Completed => "completed",
            PipelineStatus::Failed => "failed",
            PipelineStatus::Held => "held",
            PipelineStatus::Stopped => "stopped",
        }
    }
}

impl fmt::Display for PipelineStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PipelineStatus {
    type Err = UnknownPipelineStatus;

    fn from_str(text: &str) -> Result<PipelineStatus, UnknownPipelineStatus> {
        let found = PipelineStatus::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| UnknownPipelineStatus(text.to_owned()))
    }
}

column!(PipelineStatus, String, |raw| raw.parse::<PipelineStatus>());

/// A word that is no status of a pipeline's run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no status of a pipeline's run")]
pub struct UnknownPipelineStatus(pub String);

row! {
    /// A pipeline's run as it is remembered.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PipelineRun {
        /// The run.
        pub id: RunId,
        /// The project's directory.
        pub project_path: String,
        /// What tells the pipeline from a changed one.
        pub fingerprint: String,
        /// The inputs, as JSON.
        pub inputs: String,
        /// The commit it began at.
        pub base_sha: Option<String>,
        /// Where it stands.
        pub status: PipelineStatus,
        /// Why it stopped there, for people.
        pub reason: Option<String>,
        /// When it began.
        pub started_at: Micros,
        /// When it stopped.
        pub ended_at: Option<Micros>,
    }
}

row! {
    /// A fact as it is remembered.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PipelineFact {
        /// Its number in the run, from 0.
        pub seq: u64,
        /// When.
        pub at: Micros,
        /// The step, rounds and items included.
        pub step: String,
        /// The fact, as JSON.
        pub fact: String,
        /// What followed from it, for people.
        pub decision: String,
    }
}

/// A fact to be remembered.
#[derive(Clone, Debug)]
pub struct NewFact<'f> {
    /// Its number in the run, from 0.
    pub seq: u64,
    /// When.
    pub at: Micros,
    /// The step, rounds and items included.
    pub step: &'f str,
    /// The fact, as JSON without secrets: what is decided from it now is decided the same way again, so whoever decides
    /// takes them out before ([`Store::secrets`]).
    pub fact: &'f str,
    /// What followed from it, for people.
    pub decision: &'f str,
}

impl Store {
    /// Remembers that a pipeline begins to run, and the fact it begins with, if there is one.
    pub async fn begin_pipeline(
        &self,
        new: &NewPipelineRun,
        first: Option<&NewFact<'_>>,
    ) -> Result<(), StoreError> {
        let failed = self.failing("remember a pipeline's run");
        let mut transaction = self.begin().await.map_err(&failed)?;
        sqlx::query(BEGIN)
            .bind(new.id.as_str())
            .bind(&new.project_path)
            .bind(&new.fingerprint)
            .bind(&new.inputs)
            .bind(new.part.as_str())
            .bind(&new.base_sha)
            .bind(new.started_at.0)
            .execute(&mut *transaction)
            .await
            .map_err(&failed)?;
        if let Some(fact) = first {
            self.append(&mut *transaction, &new.id, fact).await.map_err(&failed)?;
        }
        transaction.commit().await.map_err(&failed)
    }

    /// The last run of the pipeline of a project.
    pub async fn last_pipeline(&self, project_path: &str) -> Result<Option<PipelineRun>, StoreError> {
        self.find_pipeline(LAST, project_path).await
    }

    /// The last one that was not a step on its own.
    pub async fn last_whole_pipeline(&self, project_path: &str) -> Result<Option<PipelineRun>, StoreError> {
        self.find_pipeline(LAST_WHOLE, project_path).await
    }

    async fn find_pipeline(
        &self,
        statement: &'static str,
        project_path: &str,
    ) -> Result<Option<PipelineRun>, StoreError> {
        sqlx::query_as(statement)
            .bind(project_path)
            .fetch_optional(&self.read)
            .await
            .map_err(self.failing("find a pipeline's run"))
    }

    /// Remembers that a run goes on.
    pub async fn take_pipeline(&self, id: &RunId) -> Result<(), StoreError> {
        sqlx::query(TAKE)
            .bind(id.as_str())
            .execute(&self.write)
            .await
            .map_err(self.failing("go on with a pipeline's run"))?;
        Ok(())
    }

    /// Remembers where a run stopped.
    pub async fn end_pipeline(
        &self,
        id: &RunId,
        status: PipelineStatus,
        reason: Option<&str>,
        at: Micros,
    ) -> Result<(), StoreError> {
        sqlx::query(END)
            .bind(id.as_str())
            .bind(status.as_str())
            .bind(self.some_safe(reason))
            .bind(at.0)
            .execute(&self.write)
            .await
            .map_err(self.failing("remember the end of a pipeline's run"))?;
        Ok(())
    }

    /// Remembers a fact.
    pub async fn append_fact(&self, id: &RunId, new: &NewFact<'_>) -> Result<(), StoreError> {
        let appended = self.append(&self.write, id, new).await;
        appended.map_err(self.failing("remember what happened in a pipeline's run"))
    }

    async fn append(
        &self,
        executor: impl SqliteExecutor<'_>,
        id: &RunId,
        new: &NewFact<'_>,
    ) -> Result<(), sqlx::Error> {
        sqlx::query(APPEND)
            .bind(id.as_str())
            .bind(count(new.seq))
            .bind(new.at.0)
            .bind(new.step)
            .bind(new.fact)
            .bind(self.safe(new.decision))
            .execute(executor)
            .await?;
        Ok(())
    }

    /// The facts of a run, in order.
    pub async fn pipeline_facts(&self, id: &RunId) -> Result<Vec<PipelineFact>, StoreError> {
        sqlx::query_as(FACTS)
            .bind(id.as_str())
            .fetch_all(&self.read)
            .await
            .map_err(self.failing("read what happened in a pipeline's run"))
    }
}

const BEGIN: &str = "INSERT INTO pipeline_runs \
     (id, project_path, fingerprint, inputs, part, base_sha, status, started_at) \
     VALUES ($1, $2, $3, $4, $5, $6, 'running', $7)";

const LAST: &str =
    "SELECT * FROM pipeline_runs WHERE project_path = $1 ORDER BY started_at DESC, id DESC LIMIT 1";

const LAST_WHOLE: &str = "SELECT * FROM pipeline_runs WHERE project_path = $1 AND part = 'whole' \
     ORDER BY started_at DESC, id DESC LIMIT 1";

const TAKE: &str =
    "UPDATE pipeline_runs SET status = 'running', reason = NULL, ended_at = NULL WHERE id = $1";

const END: &str = "UPDATE pipeline_runs SET status = $2, reason = $3, ended_at = $4 WHERE id = $1";

const APPEND: &str =
    "INSERT INTO pipeline_facts (run_id, seq, at, step, fact, decision) VALUES ($1, $2, $3, $4, $5, $6)";

const FACTS: &str = "SELECT seq, at, step, fact, decision FROM pipeline_facts WHERE run_id = $1 ORDER BY seq";

/// All of them, for the test that prepares each.
#[cfg(test)]
pub(crate) const STATEMENTS: &[&str] = &[BEGIN, LAST, LAST_WHOLE, TAKE, END, APPEND, FACTS];
