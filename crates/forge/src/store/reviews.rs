//! Reviews, their comments, and who was asked for one.

use sqlx::SqliteConnection;

use super::row::row;
use crate::timestamp::Timestamp;

row! {
    /// A review.
    ReviewRow {
        id: i64,
        issue: i64,
        author: i64,
        /// `PENDING`, `COMMENTED`, `APPROVED`, `CHANGES_REQUESTED`, `DISMISSED`.
        state: String,
        body: String,
        commit_id: String,
        submitted: Option<Timestamp>,
    }
}

row! {
    /// A comment on a line of a pull request.
    ReviewCommentRow {
        id: i64,
        issue: i64,
        review: i64,
        author: i64,
        body: String,
        path: String,
        side: String,
        line: Option<i64>,
        start_line: Option<i64>,
        commit_id: String,
        hunk: String,
        reply_to: Option<i64>,
        created: Timestamp,
        updated: Timestamp,
    }
}

/// A new review; it is pending as long as it has no time.
pub(crate) async fn insert(
    db: &mut SqliteConnection,
    repo: i64,
    new: &ReviewRow,
) -> Result<ReviewRow, sqlx::Error> {
    sqlx::query_as(
        "INSERT INTO reviews (repo, issue, author, state, body, commit_id, submitted) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING *",
    )
    .bind(repo)
    .bind(new.issue)
    .bind(new.author)
    .bind(&new.state)
    .bind(&new.body)
    .bind(&new.commit_id)
    .bind(new.submitted)
    .fetch_one(db)
    .await
}

/// Writes what may change.
pub(crate) async fn update(db: &mut SqliteConnection, row: &ReviewRow) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE reviews SET state = $1, body = $2, submitted = $3 WHERE id = $4")
        .bind(&row.state)
        .bind(&row.body)
        .bind(row.submitted)
        .bind(row.id)
        .execute(db)
        .await?;
    Ok(())
}

/// One of a pull request.
pub(crate) async fn by_id(
    db: &mut SqliteConnection,
    issue: i64,
    id: i64,
) -> Result<Option<ReviewRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM reviews WHERE issue = $1 AND id = $2")
        .bind(issue)
        .bind(id)
        .fetch_optional(db)
        .await
}

/// All of a pull request, oldest first.
pub(crate) async fn of_issue(db: &mut SqliteConnection, issue: i64) -> Result<Vec<ReviewRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM reviews WHERE issue = $1 ORDER BY id").bind(issue).fetch_all(db).await
}

/// A new comment.
pub(crate) async fn insert_comment(
    db: &mut SqliteConnection,
    repo: i64,
    new: &ReviewCommentRow,
) -> Result<ReviewCommentRow, sqlx::Error> {
    sqlx::query_as(
        "INSERT INTO review_comments (repo, issue, review, author, body, path, side, line, start_line, commit_id, \
         hunk, reply_to, created, updated) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13) \
         RETURNING *",
    )
    .bind(repo)
    .bind(new.issue)
    .bind(new.review)
    .bind(new.author)
    .bind(&new.body)
    .bind(&new.path)
    .bind(&new.side)
    .bind(new.line)
    .bind(new.start_line)
    .bind(&new.commit_id)
    .bind(&new.hunk)
    .bind(new.reply_to)
    .bind(new.created)
    .fetch_one(db)
    .await
}

/// One comment in a repository.
pub(crate) async fn comment_by_id(
    db: &mut SqliteConnection,
    repo: i64,
    id: i64,
) -> Result<Option<ReviewCommentRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM review_comments WHERE repo = $1 AND id = $2")
        .bind(repo)
        .bind(id)
        .fetch_optional(db)
        .await
}

/// The comments of a pull request, oldest first; those of reviews that are pending are nobody's business.
pub(crate) async fn comments_of_issue(
    db: &mut SqliteConnection,
    issue: i64,
) -> Result<Vec<ReviewCommentRow>, sqlx::Error> {
    sqlx::query_as(
        "SELECT c.* FROM review_comments c JOIN reviews r ON r.id = c.review \
         WHERE c.issue = $1 AND r.submitted IS NOT NULL ORDER BY c.id",
    )
    .bind(issue)
    .fetch_all(db)
    .await
}

/// How many there are.
pub(crate) async fn count_comments(db: &mut SqliteConnection, issue: i64) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT count(*) FROM review_comments WHERE issue = $1")
        .bind(issue)
        .fetch_one(db)
        .await
}

/// Who was asked for a review and has not given one, for some pull requests.
pub(crate) async fn requested(
    db: &mut SqliteConnection,
    issues: &str,
) -> Result<Vec<(i64, i64)>, sqlx::Error> {
    sqlx::query_as(
        "SELECT issue, user FROM review_requests WHERE issue IN (SELECT value FROM json_each($1)) \
         ORDER BY issue, user",
    )
    .bind(issues)
    .fetch_all(db)
    .await
}

/// Asks somebody; false if they were asked before.
pub(crate) async fn request(db: &mut SqliteConnection, issue: i64, user: i64) -> Result<bool, sqlx::Error> {
    let done = sqlx::query("INSERT OR IGNORE INTO review_requests (issue, user) VALUES ($1, $2)")
        .bind(issue)
        .bind(user)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// They need not any more; false if they were not asked.
pub(crate) async fn unrequest(db: &mut SqliteConnection, issue: i64, user: i64) -> Result<bool, sqlx::Error> {
    let done = sqlx::query("DELETE FROM review_requests WHERE issue = $1 AND user = $2")
        .bind(issue)
        .bind(user)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}
