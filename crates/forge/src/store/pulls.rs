//! Pull requests: what they have beyond issues, and merges that were begun.

use sqlx::{QueryBuilder, SqliteConnection};

use super::issues::IssueRow;
use super::row::row;
use crate::timestamp::Timestamp;

row! {
    /// The part of a pull request that no issue has.
    PullRow {
        issue: i64,
        repo: i64,
        head_ref: String,
        head_sha: String,
        base_ref: String,
        base_sha: String,
        /// What the API tells as the base's commit: where it was when the pull request began to be for it.
        base_told: String,
        draft: bool,
        merged: Option<Timestamp>,
        merged_by: Option<i64>,
        merge_commit: Option<String>,
        /// When head or base changed last.
        changed: Timestamp,
    }
}

row! {
    /// A merge that was begun.
    MergeRow {
        issue: i64,
        actor: i64,
        base_ref: String,
        before_sha: String,
        after_sha: String,
    }
}

/// Both parts of a pull request.
#[derive(Clone, Debug)]
pub(crate) struct Pull {
    pub(crate) issue: IssueRow,
    pub(crate) row: PullRow,
}

impl sqlx::FromRow<'_, sqlx::sqlite::SqliteRow> for Pull {
    fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Pull { issue: IssueRow::from_row(row)?, row: PullRow::from_row(row)? })
    }
}

/// Which pull requests are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) state: Option<&'static str>,
    pub(crate) head: Option<String>,
    pub(crate) base: Option<String>,
    pub(crate) head_sha: Option<String>,
    pub(crate) by_update: bool,
    pub(crate) ascending: bool,
}

/// A new one, for an issue that is there.
pub(crate) async fn insert(db: &mut SqliteConnection, row: &PullRow) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO pulls (issue, repo, head_ref, head_sha, base_ref, base_sha, base_told, draft, changed) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(row.issue)
    .bind(row.repo)
    .bind(&row.head_ref)
    .bind(&row.head_sha)
    .bind(&row.base_ref)
    .bind(&row.base_sha)
    .bind(&row.base_told)
    .bind(row.draft)
    .bind(row.changed)
    .execute(db)
    .await?;
    Ok(())
}

/// Writes what may change.
pub(crate) async fn update(db: &mut SqliteConnection, row: &PullRow) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE pulls SET head_sha = $1, base_ref = $2, base_sha = $3, base_told = $4, draft = $5, merged = $6, \
         merged_by = $7, merge_commit = $8, changed = $9 WHERE issue = $10",
    )
    .bind(&row.head_sha)
    .bind(&row.base_ref)
    .bind(&row.base_sha)
    .bind(&row.base_told)
    .bind(row.draft)
    .bind(row.merged)
    .bind(row.merged_by)
    .bind(&row.merge_commit)
    .bind(row.changed)
    .bind(row.issue)
    .execute(db)
    .await?;
    Ok(())
}

/// One by its number in its repository.
pub(crate) async fn by_number(
    db: &mut SqliteConnection,
    repo: i64,
    number: i64,
) -> Result<Option<Pull>, sqlx::Error> {
    sqlx::query_as(
        "SELECT i.*, p.* FROM issues i JOIN pulls p ON p.issue = i.id WHERE i.repo = $1 AND i.number = $2",
    )
    .bind(repo)
    .bind(number)
    .fetch_optional(db)
    .await
}

/// One by the id of its issue.
pub(crate) async fn by_id(db: &mut SqliteConnection, id: i64) -> Result<Option<Pull>, sqlx::Error> {
    sqlx::query_as("SELECT i.*, p.* FROM issues i JOIN pulls p ON p.issue = i.id WHERE i.id = $1")
        .bind(id)
        .fetch_optional(db)
        .await
}

/// The open ones whose head is a commit.
pub(crate) async fn open_by_head_sha(
    db: &mut SqliteConnection,
    repo: i64,
    sha: &str,
) -> Result<Vec<Pull>, sqlx::Error> {
    let filter = Filter { state: Some("open"), head_sha: Some(sha.to_owned()), ..Filter::default() };
    list(db, repo, &filter, Timestamp(i64::MAX), i64::MAX, 0).await
}

/// The one whose merge made a commit.
pub(crate) async fn by_merge_commit(
    db: &mut SqliteConnection,
    repo: i64,
    sha: &str,
) -> Result<Vec<Pull>, sqlx::Error> {
    sqlx::query_as(
        "SELECT i.*, p.* FROM issues i JOIN pulls p ON p.issue = i.id WHERE p.repo = $1 AND p.merge_commit = $2",
    )
    .bind(repo)
    .bind(sha)
    .fetch_all(db)
    .await
}

/// Those a filter leaves, of those made before `until`.
pub(crate) async fn list(
    db: &mut SqliteConnection,
    repo: i64,
    filter: &Filter,
    until: Timestamp,
    limit: i64,
    offset: i64,
) -> Result<Vec<Pull>, sqlx::Error> {
    let mut query =
        QueryBuilder::new("SELECT i.*, p.* FROM issues i JOIN pulls p ON p.issue = i.id WHERE i.repo = ");
    query.push_bind(repo).push(" AND i.pull = 1 AND i.created <= ").push_bind(until);
    if let Some(state) = filter.state {
        query.push(" AND i.state = ").push_bind(state);
    }
    for (column, value) in [
        (" AND p.head_ref = ", &filter.head),
        (" AND p.base_ref = ", &filter.base),
        (" AND p.head_sha = ", &filter.head_sha),
    ] {
        if let Some(value) = value {
            query.push(column).push_bind(value.clone());
            query.push(" AND p.repo = ").push_bind(repo);
        }
    }
    query.push(if filter.by_update { " ORDER BY i.updated" } else { " ORDER BY i.number" });
    query.push(if filter.ascending { " ASC" } else { " DESC" });
    query.push(" LIMIT ").push_bind(limit).push(" OFFSET ").push_bind(offset);
    query.build_query_as().fetch_all(db).await
}

/// The pull-request parts of some issues, whose ids are a JSON array.
pub(crate) async fn of_issues(db: &mut SqliteConnection, issues: &str) -> Result<Vec<PullRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM pulls WHERE issue IN (SELECT value FROM json_each($1))")
        .bind(issues)
        .fetch_all(db)
        .await
}

/// Writes down that a merge is about to happen.
pub(crate) async fn intend(
    db: &mut SqliteConnection,
    merge: &MergeRow,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT OR REPLACE INTO merges (issue, actor, base_ref, before_sha, after_sha, begun) \
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(merge.issue)
    .bind(merge.actor)
    .bind(&merge.base_ref)
    .bind(&merge.before_sha)
    .bind(&merge.after_sha)
    .bind(now)
    .execute(db)
    .await?;
    Ok(())
}

/// The merges of a repository that were begun and not settled.
pub(crate) async fn intended(db: &mut SqliteConnection, repo: i64) -> Result<Vec<MergeRow>, sqlx::Error> {
    sqlx::query_as("SELECT m.* FROM merges m JOIN pulls p ON p.issue = m.issue WHERE p.repo = $1")
        .bind(repo)
        .fetch_all(db)
        .await
}

/// A merge is settled, one way or the other.
pub(crate) async fn settled(db: &mut SqliteConnection, issue: i64) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM merges WHERE issue = $1").bind(issue).execute(db).await?;
    Ok(())
}
