//! Runs of CI.

use sqlx::SqliteConnection;

use super::row::row;
use crate::timestamp::Timestamp;

row! {
    /// A run.
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

/// A new run, which gets the next number of its repository.
pub(crate) async fn insert(db: &mut SqliteConnection, new: &RunRow) -> Result<RunRow, sqlx::Error> {
    sqlx::query_as(
        "INSERT INTO runs (repo, suite, check_id, number, attempt, event, head_branch, head_sha, title, actor, \
         status, visible, created, updated) \
         VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9, 'queued', $10, $11, $11) RETURNING *",
    )
    .bind(new.repo)
    .bind(new.suite)
    .bind(new.check_id)
    .bind(next_number(db, new.repo).await?)
    .bind(&new.event)
    .bind(&new.head_branch)
    .bind(&new.head_sha)
    .bind(&new.title)
    .bind(new.actor)
    .bind(new.visible)
    .bind(new.created)
    .fetch_one(db)
    .await
}

async fn next_number(db: &mut SqliteConnection, repo: i64) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("UPDATE repos SET runs = runs + 1 WHERE id = $1 RETURNING runs")
        .bind(repo)
        .fetch_one(db)
        .await
}

/// Writes what may change.
pub(crate) async fn update(db: &mut SqliteConnection, row: &RunRow) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE runs SET check_id = $1, attempt = $2, status = $3, conclusion = $4, cancel = $5, visible = $6, \
         started = $7, updated = $8 WHERE id = $9",
    )
    .bind(row.check_id)
    .bind(row.attempt)
    .bind(&row.status)
    .bind(&row.conclusion)
    .bind(row.cancel)
    .bind(row.visible)
    .bind(row.started)
    .bind(row.updated)
    .bind(row.id)
    .execute(db)
    .await?;
    Ok(())
}

/// One run, whether it can be seen or not.
pub(crate) async fn by_id(db: &mut SqliteConnection, id: i64) -> Result<Option<RunRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM runs WHERE id = $1").bind(id).fetch_optional(db).await
}

/// The run of a commit.
pub(crate) async fn by_sha(
    db: &mut SqliteConnection,
    repo: i64,
    sha: &str,
) -> Result<Option<RunRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM runs WHERE repo = $1 AND head_sha = $2 ORDER BY id DESC LIMIT 1")
        .bind(repo)
        .bind(sha)
        .fetch_optional(db)
        .await
}

/// The run that a check belongs to.
pub(crate) async fn by_check(
    db: &mut SqliteConnection,
    repo: i64,
    check: i64,
) -> Result<Option<RunRow>, sqlx::Error> {
    sqlx::query_as(
        "SELECT r.* FROM runs r JOIN checks c ON c.suite = r.suite \
         WHERE r.repo = $1 AND c.id = $2 AND c.head_sha = r.head_sha ORDER BY r.id DESC LIMIT 1",
    )
    .bind(repo)
    .bind(check)
    .fetch_optional(db)
    .await
}

/// Those that can be seen, newest first. Nothing narrows by default.
pub(crate) async fn list(
    db: &mut SqliteConnection,
    repo: i64,
    wish: &RunFilter,
    now: Timestamp,
    limit: i64,
    offset: i64,
) -> Result<(i64, Vec<RunRow>), sqlx::Error> {
    let rows: Vec<RunRow> = sqlx::query_as(
        "SELECT * FROM runs WHERE repo = $1 AND visible <= $2 AND ($3 IS NULL OR head_sha = $3) \
         AND ($4 IS NULL OR head_branch = $4) AND ($5 IS NULL OR event = $5) \
         AND ($6 IS NULL OR status = $6 OR conclusion = $6) AND ($7 IS NULL OR suite = $7) \
         ORDER BY id DESC LIMIT $8 OFFSET $9",
    )
    .bind(repo)
    .bind(now)
    .bind(&wish.head_sha)
    .bind(&wish.branch)
    .bind(&wish.event)
    .bind(&wish.status)
    .bind(wish.suite)
    .bind(limit)
    .bind(offset)
    .fetch_all(&mut *db)
    .await?;
    let total: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM runs WHERE repo = $1 AND visible <= $2 AND ($3 IS NULL OR head_sha = $3) \
         AND ($4 IS NULL OR head_branch = $4) AND ($5 IS NULL OR event = $5) \
         AND ($6 IS NULL OR status = $6 OR conclusion = $6) AND ($7 IS NULL OR suite = $7)",
    )
    .bind(repo)
    .bind(now)
    .bind(&wish.head_sha)
    .bind(&wish.branch)
    .bind(&wish.event)
    .bind(&wish.status)
    .bind(wish.suite)
    .fetch_one(db)
    .await?;
    Ok((total, rows))
}

/// Which runs are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunFilter {
    pub(crate) head_sha: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) suite: Option<i64>,
}

/// The oldest run that waits and may begin.
pub(crate) async fn next_due(
    db: &mut SqliteConnection,
    now: Timestamp,
) -> Result<Option<RunRow>, sqlx::Error> {
    sqlx::query_as(
        "SELECT * FROM runs WHERE status = 'queued' AND visible <= $1 ORDER BY visible, id LIMIT 1",
    )
    .bind(now)
    .fetch_optional(db)
    .await
}

/// When the next run that waits may begin.
pub(crate) async fn next_time(db: &mut SqliteConnection) -> Result<Option<Timestamp>, sqlx::Error> {
    sqlx::query_scalar("SELECT min(visible) FROM runs WHERE status = 'queued'").fetch_one(db).await
}

/// Whoever was running has died with the forge: they begin again. Gives how many.
pub(crate) async fn requeue(db: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    let done = sqlx::query("UPDATE runs SET status = 'queued', started = NULL WHERE status = 'in_progress'")
        .execute(db)
        .await?;
    Ok(done.rows_affected())
}
