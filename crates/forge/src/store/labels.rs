//! Labels, and which issues have them.

use sqlx::SqliteConnection;

use super::issues::IssueRow;
use super::row::row;

row! {
    /// A label.
    LabelRow {
        id: i64,
        name: String,
        color: String,
        description: Option<String>,
    }
}

row! {
    /// A label of an issue.
    LabelOfIssue {
        issue: i64,
        id: i64,
        name: String,
        color: String,
        description: Option<String>,
    }
}

impl LabelOfIssue {
    /// The label alone.
    pub(crate) fn label(self) -> LabelRow {
        LabelRow { id: self.id, name: self.name, color: self.color, description: self.description }
    }
}

/// One by its name.
pub(crate) async fn by_name(
    db: &mut SqliteConnection,
    repo: i64,
    name: &str,
) -> Result<Option<LabelRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM labels WHERE repo = $1 AND name = $2")
        .bind(repo)
        .bind(name)
        .fetch_optional(db)
        .await
}

/// A page of them.
pub(crate) async fn list(
    db: &mut SqliteConnection,
    repo: i64,
    limit: i64,
    offset: i64,
) -> Result<Vec<LabelRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM labels WHERE repo = $1 ORDER BY id LIMIT $2 OFFSET $3")
        .bind(repo)
        .bind(limit)
        .bind(offset)
        .fetch_all(db)
        .await
}

/// A new one; nothing if there is one of that name.
pub(crate) async fn insert(
    db: &mut SqliteConnection,
    repo: i64,
    name: &str,
    color: &str,
    description: Option<&str>,
) -> Result<Option<LabelRow>, sqlx::Error> {
    sqlx::query_as(
        "INSERT INTO labels (repo, name, color, description) VALUES ($1, $2, $3, $4) \
         ON CONFLICT DO NOTHING RETURNING *",
    )
    .bind(repo)
    .bind(name)
    .bind(color)
    .bind(description)
    .fetch_optional(db)
    .await
}

/// Changes one; false if another has that name.
pub(crate) async fn update(db: &mut SqliteConnection, row: &LabelRow) -> Result<bool, sqlx::Error> {
    let done =
        sqlx::query("UPDATE OR IGNORE labels SET name = $1, color = $2, description = $3 WHERE id = $4")
            .bind(&row.name)
            .bind(&row.color)
            .bind(&row.description)
            .bind(row.id)
            .execute(db)
            .await?;
    Ok(done.rows_affected() == 1)
}

/// Removes one, from every issue too.
pub(crate) async fn remove(db: &mut SqliteConnection, id: i64) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM labels WHERE id = $1").bind(id).execute(db).await?;
    Ok(())
}

/// The labels of some issues, whose ids are a JSON array.
pub(crate) async fn of_issues(
    db: &mut SqliteConnection,
    issues: &str,
) -> Result<Vec<LabelOfIssue>, sqlx::Error> {
    sqlx::query_as(
        "SELECT x.issue, l.* FROM issue_labels x JOIN labels l ON l.id = x.label \
         WHERE x.issue IN (SELECT value FROM json_each($1)) ORDER BY x.issue, l.id",
    )
    .bind(issues)
    .fetch_all(db)
    .await
}

/// Puts a label on an issue; false if it was there.
pub(crate) async fn attach(
    db: &mut SqliteConnection,
    issue: &IssueRow,
    label: i64,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query("INSERT OR IGNORE INTO issue_labels (label, open, issue) VALUES ($1, $2, $3)")
        .bind(label)
        .bind(issue.is_open())
        .bind(issue.id)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes a label off an issue; false if it was not there.
pub(crate) async fn detach(db: &mut SqliteConnection, issue: i64, label: i64) -> Result<bool, sqlx::Error> {
    let done = sqlx::query("DELETE FROM issue_labels WHERE issue = $1 AND label = $2")
        .bind(issue)
        .bind(label)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}
