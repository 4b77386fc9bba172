//! Runs of pipelines: a row each, and their facts in order.
//!
//! A run's state is its facts, so they are only ever added. The process that runs the pipeline numbers them: when two
//! processes run the same one, the second fact with a number is refused.

use pilot_core::time::Timestamp;
use pilot_core::word_enum;

use crate::database::{row, statements, values, word_column};
use crate::error::Result;
use crate::execution::RunId;
use crate::store::Store;

#[derive(Clone, Debug)]
pub struct NewPipelineRun {
    pub id: RunId,
    pub project_path: String,
    /// Differs when the pipeline was changed.
    pub fingerprint: String,
    /// The inputs, as JSON.
    pub inputs: String,
    pub part: PipelinePart,
    /// The commit it began at.
    pub base_sha: Option<String>,
    pub started_at: Timestamp,
}

word_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum PipelinePart {
        /// All of it, or everything from one step on: it can be continued.
        Whole = "whole",
        Step = "step",
    }
}

word_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum PipelineStatus {
        /// A process runs it, or died while running it.
        Running = "running",
        /// Every step is done.
        Completed = "completed",
        Failed = "failed",
        /// It waits for a person.
        Held = "held",
        Stopped = "stopped",
    }
}

word_column!(PipelineStatus, "a status of a pipeline's run");

row! {
    #[derive(Clone, Debug, PartialEq)]
    pub struct PipelineRun {
        pub id: RunId,
        pub project_path: String,
        /// Differs when the pipeline was changed.
        pub fingerprint: String,
        /// The inputs, as JSON.
        pub inputs: String,
        /// The commit it began at.
        pub base_sha: Option<String>,
        pub status: PipelineStatus,
        /// Why it stopped there, for people.
        pub reason: Option<String>,
        pub started_at: Timestamp,
        pub ended_at: Option<Timestamp>,
    }
}

row! {
    #[derive(Clone, Debug, PartialEq)]
    pub struct PipelineFact {
        /// Its number in the run, from 0.
        pub seq: u64,
        pub at: Timestamp,
        /// The step, rounds and items included.
        pub step: String,
        /// The fact, as JSON.
        pub fact: String,
        /// What followed from it, for people.
        pub decision: String,
    }
}

#[derive(Clone, Debug)]
pub struct NewFact<'f> {
    /// Its number in the run, from 0.
    pub seq: u64,
    pub at: Timestamp,
    /// The step, rounds and items included.
    pub step: &'f str,
    /// The fact, as JSON. Not redacted here, because the same must be decided from it again: the caller takes secrets out
    /// before it decides ([`Store::secrets`]).
    pub fact: &'f str,
    /// What followed from it, for people.
    pub decision: &'f str,
}

impl Store {
    /// Stores that a pipeline begins to run, and the fact it begins with, if there is one.
    pub async fn begin_pipeline(&self, new: &NewPipelineRun, first: Option<&NewFact<'_>>) -> Result<()> {
        let mut transaction = self.database.begin("store a pipeline's run").await?;
        let values = values![
            new.id.as_str(),
            &new.project_path,
            &new.fingerprint,
            &new.inputs,
            new.part.as_str(),
            &new.base_sha,
            new.started_at,
        ];
        transaction.execute(BEGIN, values).await?;
        if let Some(NewFact { seq, at, step, fact, decision }) = first {
            let values = values![new.id.as_str(), *seq, *at, *step, *fact, self.redact(decision)];
            transaction.execute(APPEND, values).await?;
        }
        transaction.commit().await
    }

    pub async fn last_pipeline(&self, project_path: &str) -> Result<Option<PipelineRun>> {
        self.database.optional("find a pipeline's run", LAST, values![project_path]).await
    }

    /// The last one that was not a single step.
    pub async fn last_whole_pipeline(&self, project_path: &str) -> Result<Option<PipelineRun>> {
        self.database.optional("find a pipeline's run", LAST_WHOLE, values![project_path]).await
    }

    pub async fn continue_pipeline(&self, id: &RunId) -> Result<()> {
        self.database.execute("continue a pipeline's run", CONTINUE, values![id.as_str()]).await?;
        Ok(())
    }

    /// Stores how a run stopped.
    pub async fn end_pipeline(
        &self,
        id: &RunId,
        status: PipelineStatus,
        reason: Option<&str>,
        at: Timestamp,
    ) -> Result<()> {
        let reason = reason.map(|reason| self.redact(reason));
        let values = values![id.as_str(), status.as_str(), reason, at];
        self.database.execute("store the end of a pipeline's run", END, values).await?;
        Ok(())
    }

    pub async fn append_fact(&self, id: &RunId, new: &NewFact<'_>) -> Result<()> {
        let NewFact { seq, at, step, fact, decision } = new;
        let values = values![id.as_str(), *seq, *at, *step, *fact, self.redact(decision)];
        self.database.execute("store a fact of a pipeline's run", APPEND, values).await?;
        Ok(())
    }

    pub async fn pipeline_facts(&self, id: &RunId) -> Result<Vec<PipelineFact>> {
        self.database.all("read the facts of a pipeline's run", FACTS, values![id.as_str()]).await
    }
}

statements! {
    BEGIN = "INSERT INTO pipeline_runs \
        (id, project_path, fingerprint, inputs, part, base_sha, status, started_at) \
        VALUES ($1, $2, $3, $4, $5, $6, 'running', $7)";
    LAST = "SELECT * FROM pipeline_runs WHERE project_path = $1 ORDER BY started_at DESC, id DESC LIMIT 1";
    LAST_WHOLE = "SELECT * FROM pipeline_runs WHERE project_path = $1 AND part = 'whole' \
        ORDER BY started_at DESC, id DESC LIMIT 1";
    CONTINUE = "UPDATE pipeline_runs SET status = 'running', reason = NULL, ended_at = NULL WHERE id = $1";
    END = "UPDATE pipeline_runs SET status = $2, reason = $3, ended_at = $4 WHERE id = $1";
    APPEND = "INSERT INTO pipeline_facts (run_id, seq, at, step, fact, decision) VALUES ($1, $2, $3, $4, $5, $6)";
    FACTS = "SELECT seq, at, step, fact, decision FROM pipeline_facts WHERE run_id = $1 ORDER BY seq";
}
