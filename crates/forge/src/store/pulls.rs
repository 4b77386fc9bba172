//! Pull requests: their columns beyond those of issues, and merges in progress.

use sqlx::{QueryBuilder, SqliteConnection};

use super::issues::IssueRow;
use super::sql::{row, statement, statements};
use crate::timestamp::Timestamp;

row! {
    /// The part of a pull request that issues do not have.
    PullRow {
        issue: i64,
        repo: i64,
        head_ref: String,
        head_sha: String,
        base_ref: String,
        base_sha: String,
        /// The base commit that the API reports: the tip when the base was set, as with GitHub.
        base_told: String,
        draft: bool,
        merged: Option<Timestamp>,
        merged_by: Option<i64>,
        merge_commit: Option<String>,
        /// When head or base last changed.
        changed: Timestamp,
    }
}

row! {
    /// A merge that was recorded before git moved the base branch.
    MergeRow {
        issue: i64,
        actor: i64,
        base_ref: String,
        before_sha: String,
        after_sha: String,
    }
}

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

#[derive(Clone, Debug, Default)]
pub(crate) struct PullFilter {
    pub(crate) state: Option<&'static str>,
    pub(crate) head: Option<String>,
    pub(crate) base: Option<String>,
    pub(crate) head_sha: Option<String>,
    pub(crate) by_update: bool,
    pub(crate) ascending: bool,
}

statements! {
    fn insert(row: &PullRow) =
        "INSERT INTO pulls (issue, repo, head_ref, head_sha, base_ref, base_sha, base_told, draft, changed) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        [row.issue, row.repo, &row.head_ref, &row.head_sha, &row.base_ref, &row.base_sha, &row.base_told, row.draft,
         row.changed];

    fn update(row: &PullRow) =
        "UPDATE pulls SET head_sha = $1, base_ref = $2, base_sha = $3, base_told = $4, draft = $5, merged = $6, \
         merged_by = $7, merge_commit = $8, changed = $9 WHERE issue = $10"
        [&row.head_sha, &row.base_ref, &row.base_sha, &row.base_told, row.draft, row.merged, row.merged_by,
         &row.merge_commit, row.changed, row.issue];

    fn by_number(repo: i64, number: i64) -> Option<Pull> =
        "SELECT i.*, p.* FROM issues i JOIN pulls p ON p.issue = i.id WHERE i.repo = $1 AND i.number = $2";

    /// The pull request with this issue id.
    fn by_id(id: i64) -> Option<Pull> =
        "SELECT i.*, p.* FROM issues i JOIN pulls p ON p.issue = i.id WHERE i.id = $1";

    /// The pull requests whose merge made a commit.
    fn by_merge_commit(repo: i64, sha: &str) -> Vec<Pull> =
        "SELECT i.*, p.* FROM issues i JOIN pulls p ON p.issue = i.id WHERE p.repo = $1 AND p.merge_commit = $2";

    /// The pull request rows of some issues; `issues` is a JSON array of ids.
    fn of_issues(issues: &str) -> Vec<PullRow> =
        "SELECT * FROM pulls WHERE issue IN (SELECT value FROM json_each($1))";

    /// Records a merge before git moves the base branch.
    fn record_merge(merge: &MergeRow, now: Timestamp) =
        "INSERT OR REPLACE INTO merges (issue, actor, base_ref, before_sha, after_sha, begun) \
         VALUES ($1, $2, $3, $4, $5, $6)"
        [merge.issue, merge.actor, &merge.base_ref, &merge.before_sha, &merge.after_sha, now];

    fn recorded_merges(repo: i64) -> Vec<MergeRow> =
        "SELECT m.* FROM merges m JOIN pulls p ON p.issue = m.issue WHERE p.repo = $1";

    fn remove_merge(issue: i64) = "DELETE FROM merges WHERE issue = $1";
}

/// The open pull requests whose head is a commit.
pub(crate) async fn open_by_head_sha(
    db: &mut SqliteConnection,
    repo: i64,
    sha: &str,
) -> Result<Vec<Pull>, sqlx::Error> {
    all(
        db,
        repo,
        &PullFilter { state: Some("open"), head_sha: Some(sha.to_owned()), ..PullFilter::default() },
    )
    .await
}

/// All pull requests that match a filter.
pub(crate) async fn all(
    db: &mut SqliteConnection,
    repo: i64,
    filter: &PullFilter,
) -> Result<Vec<Pull>, sqlx::Error> {
    list(db, repo, filter, Timestamp(i64::MAX), i64::MAX, 0).await
}

/// One page of the pull requests that match a filter and were created by `until`.
pub(crate) async fn list(
    db: &mut SqliteConnection,
    repo: i64,
    filter: &PullFilter,
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
