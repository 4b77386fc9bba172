//! Who did what to an issue.

use sqlx::SqliteConnection;

use super::row::row;
use crate::timestamp::Timestamp;

row! {
    /// An event.
    EventRow {
        id: i64,
        issue: i64,
        actor: i64,
        event: String,
        commit_id: Option<String>,
        /// JSON: what GitHub adds for that kind.
        detail: String,
        created: Timestamp,
    }
}

/// Something that was done.
#[derive(Clone, Debug)]
pub(crate) struct NewEvent<'a> {
    pub(crate) repo: i64,
    pub(crate) issue: i64,
    pub(crate) actor: i64,
    pub(crate) event: &'a str,
    pub(crate) commit_id: Option<&'a str>,
    pub(crate) detail: serde_json::Value,
}

/// Writes it down.
pub(crate) async fn insert(
    db: &mut SqliteConnection,
    new: &NewEvent<'_>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO issue_events (repo, issue, actor, event, commit_id, detail, created) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(new.repo)
    .bind(new.issue)
    .bind(new.actor)
    .bind(new.event)
    .bind(new.commit_id)
    .bind(new.detail.to_string())
    .bind(now)
    .execute(db)
    .await?;
    Ok(())
}

/// A page of what was done to one issue, oldest first.
pub(crate) async fn of_issue(
    db: &mut SqliteConnection,
    issue: i64,
    limit: i64,
    offset: i64,
) -> Result<Vec<EventRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM issue_events WHERE issue = $1 ORDER BY id LIMIT $2 OFFSET $3")
        .bind(issue)
        .bind(limit)
        .bind(offset)
        .fetch_all(db)
        .await
}

/// A page of what was done in a repository, newest first.
pub(crate) async fn of_repo(
    db: &mut SqliteConnection,
    repo: i64,
    limit: i64,
    offset: i64,
) -> Result<Vec<EventRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM issue_events WHERE repo = $1 ORDER BY id DESC LIMIT $2 OFFSET $3")
        .bind(repo)
        .bind(limit)
        .bind(offset)
        .fetch_all(db)
        .await
}
