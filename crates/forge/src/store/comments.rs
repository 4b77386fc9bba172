//! Comments on issues and pull requests.

use sqlx::SqliteConnection;

use super::row::row;
use crate::timestamp::Timestamp;

row! {
    /// A comment.
    CommentRow {
        id: i64,
        issue: i64,
        author: i64,
        body: String,
        created: Timestamp,
        updated: Timestamp,
    }
}

/// A new one.
pub(crate) async fn insert(
    db: &mut SqliteConnection,
    repo: i64,
    issue: i64,
    author: i64,
    body: &str,
    now: Timestamp,
) -> Result<CommentRow, sqlx::Error> {
    sqlx::query_as(
        "INSERT INTO comments (repo, issue, author, body, created, updated) \
         VALUES ($1, $2, $3, $4, $5, $5) RETURNING *",
    )
    .bind(repo)
    .bind(issue)
    .bind(author)
    .bind(body)
    .bind(now)
    .fetch_one(db)
    .await
}

/// One by its id.
pub(crate) async fn by_id(
    db: &mut SqliteConnection,
    repo: i64,
    id: i64,
) -> Result<Option<CommentRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM comments WHERE repo = $1 AND id = $2")
        .bind(repo)
        .bind(id)
        .fetch_optional(db)
        .await
}

/// A page of those on one issue, oldest first.
pub(crate) async fn of_issue(
    db: &mut SqliteConnection,
    issue: i64,
    since: Option<Timestamp>,
    limit: i64,
    offset: i64,
) -> Result<Vec<CommentRow>, sqlx::Error> {
    sqlx::query_as(
        "SELECT * FROM comments WHERE issue = $1 AND ($2 IS NULL OR updated >= $2) ORDER BY id LIMIT $3 OFFSET $4",
    )
    .bind(issue)
    .bind(since)
    .bind(limit)
    .bind(offset)
    .fetch_all(db)
    .await
}

/// A page of those in a whole repository.
pub(crate) async fn of_repo(
    db: &mut SqliteConnection,
    repo: i64,
    since: Option<Timestamp>,
    newest_first: bool,
    limit: i64,
    offset: i64,
) -> Result<Vec<CommentRow>, sqlx::Error> {
    let statement = if newest_first {
        "SELECT * FROM comments WHERE repo = $1 AND ($2 IS NULL OR updated >= $2) ORDER BY id DESC LIMIT $3 OFFSET $4"
    } else {
        "SELECT * FROM comments WHERE repo = $1 AND ($2 IS NULL OR updated >= $2) ORDER BY id LIMIT $3 OFFSET $4"
    };
    sqlx::query_as(statement).bind(repo).bind(since).bind(limit).bind(offset).fetch_all(db).await
}

/// Says something else instead.
pub(crate) async fn edit(
    db: &mut SqliteConnection,
    id: i64,
    body: &str,
    now: Timestamp,
) -> Result<CommentRow, sqlx::Error> {
    sqlx::query_as("UPDATE comments SET body = $1, updated = $2 WHERE id = $3 RETURNING *")
        .bind(body)
        .bind(now)
        .bind(id)
        .fetch_one(db)
        .await
}

/// Takes one back.
pub(crate) async fn remove(db: &mut SqliteConnection, id: i64) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM comments WHERE id = $1").bind(id).execute(db).await?;
    Ok(())
}
