//! Runs of CI.

use sqlx::SqliteConnection;

use super::sql::{row, statement, statements};
use crate::timestamp::Timestamp;

row! {
    RunRow {
        id: i64,
        repo: i64,
        suite: i64,
        check_id: i64,
        number: i64,
        attempt: i64,
        event: String,
        head_branch: String,
        head_sha: String,
        title: String,
        actor: i64,
        status: String,
        conclusion: Option<String>,
        cancel: bool,
        visible: Timestamp,
        created: Timestamp,
        started: Option<Timestamp>,
        updated: Timestamp,
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct RunFilter {
    pub(crate) head_sha: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) suite: Option<i64>,
}

/// Inserts a run with the next run number of its repository.
pub(crate) async fn insert(db: &mut SqliteConnection, new: &RunRow) -> Result<RunRow, sqlx::Error> {
    let number = next_number(db, new.repo).await?;
    insert_row(db, new, number).await
}

statements! {
    scalar fn next_number(repo: i64) -> i64 = "UPDATE repos SET runs = runs + 1 WHERE id = $1 RETURNING runs";

    fn insert_row(new: &RunRow, number: i64) -> RunRow =
        "INSERT INTO runs (repo, suite, check_id, number, attempt, event, head_branch, head_sha, title, actor, \
         status, visible, created, updated) \
         VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9, 'queued', $10, $11, $11) RETURNING *"
        [new.repo, new.suite, new.check_id, number, &new.event, &new.head_branch, &new.head_sha, &new.title, new.actor,
         new.visible, new.created];

    fn update(row: &RunRow) =
        "UPDATE runs SET check_id = $1, attempt = $2, status = $3, conclusion = $4, cancel = $5, visible = $6, \
         started = $7, updated = $8 WHERE id = $9"
        [row.check_id, row.attempt, &row.status, &row.conclusion, row.cancel, row.visible, row.started, row.updated,
         row.id];

    /// A run, visible or not.
    fn by_id(id: i64) -> Option<RunRow> = "SELECT * FROM runs WHERE id = $1";

    fn by_sha(repo: i64, sha: &str) -> Option<RunRow> =
        "SELECT * FROM runs WHERE repo = $1 AND head_sha = $2 ORDER BY id DESC LIMIT 1";

    /// The run of a check run.
    fn by_check(repo: i64, check: i64) -> Option<RunRow> =
        "SELECT r.* FROM runs r JOIN checks c ON c.suite = r.suite \
         WHERE r.repo = $1 AND c.id = $2 AND c.head_sha = r.head_sha ORDER BY r.id DESC LIMIT 1";

    /// One page of the visible runs that match a filter, newest first.
    fn list(repo: i64, filter: &RunFilter, now: Timestamp, limit: i64, offset: i64) -> Vec<RunRow> =
        "SELECT * FROM runs WHERE repo = $1 AND visible <= $2 AND ($3 IS NULL OR head_sha = $3) \
         AND ($4 IS NULL OR head_branch = $4) AND ($5 IS NULL OR event = $5) \
         AND ($6 IS NULL OR status = $6 OR conclusion = $6) AND ($7 IS NULL OR suite = $7) \
         ORDER BY id DESC LIMIT $8 OFFSET $9"
        [repo, now, &filter.head_sha, &filter.branch, &filter.event, &filter.status, filter.suite, limit, offset];

    scalar fn count(repo: i64, filter: &RunFilter, now: Timestamp) -> i64 =
        "SELECT count(*) FROM runs WHERE repo = $1 AND visible <= $2 AND ($3 IS NULL OR head_sha = $3) \
         AND ($4 IS NULL OR head_branch = $4) AND ($5 IS NULL OR event = $5) \
         AND ($6 IS NULL OR status = $6 OR conclusion = $6) AND ($7 IS NULL OR suite = $7)"
        [repo, now, &filter.head_sha, &filter.branch, &filter.event, &filter.status, filter.suite];

    /// The oldest queued run that may start.
    fn next_due(now: Timestamp) -> Option<RunRow> =
        "SELECT * FROM runs WHERE status = 'queued' AND visible <= $1 ORDER BY visible, id LIMIT 1";

    /// When the next queued run may start.
    scalar fn next_time() -> Option<Timestamp> =
        "SELECT visible FROM runs WHERE status = 'queued' ORDER BY visible LIMIT 1";

    /// Queues the runs again that were in progress when the forge died.
    fn requeue() = "UPDATE runs SET status = 'queued', started = NULL WHERE status = 'in_progress'";
}
