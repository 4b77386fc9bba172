//! Milestones.

use sqlx::SqliteConnection;

use super::row::row;
use crate::timestamp::Timestamp;

row! {
    /// A milestone.
    MilestoneRow {
        id: i64,
        number: i64,
        title: String,
        description: Option<String>,
        state: String,
        creator: i64,
        due: Option<Timestamp>,
        created: Timestamp,
        updated: Timestamp,
        closed: Option<Timestamp>,
        open_issues: i64,
        closed_issues: i64,
    }
}

/// Some of them, whose ids are a JSON array.
pub(crate) async fn by_ids(db: &mut SqliteConnection, ids: &str) -> Result<Vec<MilestoneRow>, sqlx::Error> {
    sqlx::query_as(
        "SELECT m.*, (SELECT count(*) FROM issues WHERE milestone = m.id AND state = 'open') AS open_issues, \
         (SELECT count(*) FROM issues WHERE milestone = m.id AND state = 'closed') AS closed_issues \
         FROM milestones m WHERE m.id IN (SELECT value FROM json_each($1)) ORDER BY m.number",
    )
    .bind(ids)
    .fetch_all(db)
    .await
}

/// One by its number.
pub(crate) async fn id_by_number(
    db: &mut SqliteConnection,
    repo: i64,
    number: i64,
) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar("SELECT id FROM milestones WHERE repo = $1 AND number = $2")
        .bind(repo)
        .bind(number)
        .fetch_optional(db)
        .await
}

/// The ids of those in a state, or of all, by number.
pub(crate) async fn list(
    db: &mut SqliteConnection,
    repo: i64,
    state: Option<&str>,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT id FROM milestones WHERE repo = $1 AND ($2 IS NULL OR state = $2) ORDER BY number",
    )
    .bind(repo)
    .bind(state)
    .fetch_all(db)
    .await
}

/// A new one; nothing if there is one of that title.
pub(crate) async fn insert(
    db: &mut SqliteConnection,
    repo: i64,
    creator: i64,
    title: &str,
    description: Option<&str>,
    due: Option<Timestamp>,
    now: Timestamp,
) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar(
        "INSERT INTO milestones (repo, number, title, description, state, creator, due, created, updated) \
         SELECT $1, coalesce(max(number), 0) + 1, $2, $3, 'open', $4, $5, $6, $6 FROM milestones WHERE repo = $1 \
         ON CONFLICT DO NOTHING RETURNING id",
    )
    .bind(repo)
    .bind(title)
    .bind(description)
    .bind(creator)
    .bind(due)
    .bind(now)
    .fetch_optional(db)
    .await
}

/// Writes what may change; false if another has that title.
pub(crate) async fn update(db: &mut SqliteConnection, row: &MilestoneRow) -> Result<bool, sqlx::Error> {
    let done = sqlx::query(
        "UPDATE OR IGNORE milestones SET title = $1, description = $2, state = $3, due = $4, updated = $5, closed = $6 \
         WHERE id = $7",
    )
    .bind(&row.title)
    .bind(&row.description)
    .bind(&row.state)
    .bind(row.due)
    .bind(row.updated)
    .bind(row.closed)
    .bind(row.id)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}
