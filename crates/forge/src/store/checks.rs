//! Check suites, check runs and commit statuses.

use sqlx::SqliteConnection;

use super::row::row;
use crate::timestamp::Timestamp;

row! {
    /// All checks of one app on one commit.
    SuiteRow {
        id: i64,
        repo: i64,
        head_sha: String,
        head_branch: Option<String>,
        app: String,
        created: Timestamp,
        updated: Timestamp,
    }
}

row! {
    /// A check run.
    CheckRow {
        id: i64,
        repo: i64,
        suite: i64,
        head_sha: String,
        name: String,
        status: String,
        conclusion: Option<String>,
        external_id: Option<String>,
        details_url: Option<String>,
        title: Option<String>,
        summary: Option<String>,
        body: Option<String>,
        visible: Timestamp,
        started: Option<Timestamp>,
        completed: Option<Timestamp>,
    }
}

row! {
    /// A commit status.
    StatusRow {
        id: i64,
        sha: String,
        state: String,
        context: String,
        description: Option<String>,
        target_url: Option<String>,
        creator: i64,
        created: Timestamp,
    }
}

/// The suite of an app on a commit, made if it is missing.
pub(crate) async fn suite(
    db: &mut SqliteConnection,
    repo: i64,
    sha: &str,
    branch: Option<&str>,
    app: &str,
    visible: Timestamp,
    now: Timestamp,
) -> Result<SuiteRow, sqlx::Error> {
    sqlx::query_as(
        "INSERT INTO suites (repo, head_sha, head_branch, app, visible, created, updated) \
         VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT DO UPDATE SET updated = excluded.updated RETURNING *",
    )
    .bind(repo)
    .bind(sha)
    .bind(branch)
    .bind(app)
    .bind(visible)
    .bind(now)
    .fetch_one(db)
    .await
}

/// One suite.
pub(crate) async fn suite_by_id(
    db: &mut SqliteConnection,
    repo: i64,
    id: i64,
    now: Timestamp,
) -> Result<Option<SuiteRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM suites WHERE repo = $1 AND id = $2 AND visible <= $3")
        .bind(repo)
        .bind(id)
        .bind(now)
        .fetch_optional(db)
        .await
}

/// The suites of a commit.
pub(crate) async fn suites_of_sha(
    db: &mut SqliteConnection,
    repo: i64,
    sha: &str,
    now: Timestamp,
) -> Result<Vec<SuiteRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM suites WHERE repo = $1 AND head_sha = $2 AND visible <= $3 ORDER BY id")
        .bind(repo)
        .bind(sha)
        .bind(now)
        .fetch_all(db)
        .await
}

/// A new check run.
pub(crate) async fn insert(db: &mut SqliteConnection, new: &CheckRow) -> Result<CheckRow, sqlx::Error> {
    sqlx::query_as(
        "INSERT INTO checks (repo, suite, head_sha, name, status, conclusion, external_id, details_url, title, \
         summary, body, visible, started, completed) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING *",
    )
    .bind(new.repo)
    .bind(new.suite)
    .bind(&new.head_sha)
    .bind(&new.name)
    .bind(&new.status)
    .bind(&new.conclusion)
    .bind(&new.external_id)
    .bind(&new.details_url)
    .bind(&new.title)
    .bind(&new.summary)
    .bind(&new.body)
    .bind(new.visible)
    .bind(new.started)
    .bind(new.completed)
    .fetch_one(db)
    .await
}

/// Writes what may change.
pub(crate) async fn update(db: &mut SqliteConnection, row: &CheckRow) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE checks SET name = $1, status = $2, conclusion = $3, external_id = $4, details_url = $5, title = $6, \
         summary = $7, body = $8, started = $9, completed = $10 WHERE id = $11",
    )
    .bind(&row.name)
    .bind(&row.status)
    .bind(&row.conclusion)
    .bind(&row.external_id)
    .bind(&row.details_url)
    .bind(&row.title)
    .bind(&row.summary)
    .bind(&row.body)
    .bind(row.started)
    .bind(row.completed)
    .bind(row.id)
    .execute(db)
    .await?;
    Ok(())
}

/// One check run.
pub(crate) async fn by_id(
    db: &mut SqliteConnection,
    repo: i64,
    id: i64,
    now: Timestamp,
) -> Result<Option<CheckRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM checks WHERE repo = $1 AND id = $2 AND visible <= $3")
        .bind(repo)
        .bind(id)
        .bind(now)
        .fetch_optional(db)
        .await
}

/// The check runs of a commit that can be seen, newest first.
pub(crate) async fn of_sha(
    db: &mut SqliteConnection,
    repo: i64,
    sha: &str,
    now: Timestamp,
) -> Result<Vec<CheckRow>, sqlx::Error> {
    sqlx::query_as(
        "SELECT * FROM checks WHERE repo = $1 AND head_sha = $2 AND visible <= $3 ORDER BY id DESC",
    )
    .bind(repo)
    .bind(sha)
    .bind(now)
    .fetch_all(db)
    .await
}

/// A new commit status.
pub(crate) async fn insert_status(
    db: &mut SqliteConnection,
    repo: i64,
    new: &StatusRow,
) -> Result<StatusRow, sqlx::Error> {
    sqlx::query_as(
        "INSERT INTO statuses (repo, sha, state, context, description, target_url, creator, created) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING *",
    )
    .bind(repo)
    .bind(&new.sha)
    .bind(&new.state)
    .bind(&new.context)
    .bind(&new.description)
    .bind(&new.target_url)
    .bind(new.creator)
    .bind(new.created)
    .fetch_one(db)
    .await
}

/// The statuses of a commit, newest first.
pub(crate) async fn statuses_of_sha(
    db: &mut SqliteConnection,
    repo: i64,
    sha: &str,
) -> Result<Vec<StatusRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM statuses WHERE repo = $1 AND sha = $2 ORDER BY id DESC")
        .bind(repo)
        .bind(sha)
        .fetch_all(db)
        .await
}

/// The newest of each name, of rows that are ordered newest first.
pub(crate) fn latest<T>(rows: Vec<T>, name: impl Fn(&T) -> String) -> Vec<T> {
    let mut seen = std::collections::HashSet::new();
    rows.into_iter().filter(|row| seen.insert(name(row))).collect()
}
