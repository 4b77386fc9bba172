//! Issues, and what pull requests have in common with them.

use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::row::row;
use crate::timestamp::Timestamp;

row! {
    /// An issue or the common part of a pull request.
    IssueRow {
        id: i64,
        repo: i64,
        number: i64,
        pull: bool,
        author: i64,
        title: String,
        body: Option<String>,
        state: String,
        reason: Option<String>,
        locked: bool,
        milestone: Option<i64>,
        comments: i64,
        closed_by: Option<i64>,
        created: Timestamp,
        updated: Timestamp,
        closed: Option<Timestamp>,
    }
}

impl IssueRow {
    /// Whether it is open.
    pub(crate) fn is_open(&self) -> bool {
        self.state == "open"
    }
}

/// What a list is ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sort {
    #[default]
    Created,
    Updated,
    Comments,
}

/// Which issues are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) pull: Option<bool>,
    pub(crate) state: Option<&'static str>,
    /// Labels by number; an issue has all of them.
    pub(crate) labels: Vec<i64>,
    pub(crate) creator: Option<i64>,
    pub(crate) assignee: Option<i64>,
    /// `Some(None)` is without any.
    pub(crate) milestone: Option<Option<i64>>,
    pub(crate) since: Option<Timestamp>,
    /// Words in title or body.
    pub(crate) words: Vec<String>,
    pub(crate) sort: Sort,
    pub(crate) ascending: bool,
}

/// A new one.
pub(crate) async fn insert(
    db: &mut SqliteConnection,
    repo: i64,
    pull: bool,
    author: i64,
    title: &str,
    body: Option<&str>,
    now: Timestamp,
) -> Result<IssueRow, sqlx::Error> {
    let number = super::repos::next_number(db, repo).await?;
    sqlx::query_as(
        "INSERT INTO issues (repo, number, pull, author, title, body, state, created, updated) \
         VALUES ($1, $2, $3, $4, $5, $6, 'open', $7, $7) RETURNING *",
    )
    .bind(repo)
    .bind(number)
    .bind(pull)
    .bind(author)
    .bind(title)
    .bind(body)
    .bind(now)
    .fetch_one(db)
    .await
}

/// One by its number in its repository.
pub(crate) async fn by_number(
    db: &mut SqliteConnection,
    repo: i64,
    number: i64,
) -> Result<Option<IssueRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM issues WHERE repo = $1 AND number = $2")
        .bind(repo)
        .bind(number)
        .fetch_optional(db)
        .await
}

/// One by its id.
pub(crate) async fn by_id(db: &mut SqliteConnection, id: i64) -> Result<Option<IssueRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM issues WHERE id = $1").bind(id).fetch_optional(db).await
}

/// Writes what may change.
pub(crate) async fn update(db: &mut SqliteConnection, row: &IssueRow) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE issues SET title = $1, body = $2, state = $3, reason = $4, locked = $5, milestone = $6, \
         closed_by = $7, updated = $8, closed = $9 WHERE id = $10",
    )
    .bind(&row.title)
    .bind(&row.body)
    .bind(&row.state)
    .bind(&row.reason)
    .bind(row.locked)
    .bind(row.milestone)
    .bind(row.closed_by)
    .bind(row.updated)
    .bind(row.closed)
    .bind(row.id)
    .execute(db)
    .await?;
    Ok(())
}

/// Says that something about it is new.
pub(crate) async fn touch(db: &mut SqliteConnection, id: i64, now: Timestamp) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE issues SET updated = $1 WHERE id = $2").bind(now).bind(id).execute(db).await?;
    Ok(())
}

/// Those a filter leaves, of those made before `until`.
pub(crate) async fn list(
    db: &mut SqliteConnection,
    repo: i64,
    filter: &Filter,
    until: Timestamp,
    limit: i64,
    offset: i64,
) -> Result<Vec<IssueRow>, sqlx::Error> {
    let mut query = QueryBuilder::new("SELECT i.* FROM issues i");
    narrow(&mut query, repo, filter, until);
    query.push(match filter.sort {
        Sort::Created if !filter.labels.is_empty() => " ORDER BY l.issue",
        Sort::Created => " ORDER BY i.number",
        Sort::Updated => " ORDER BY i.updated",
        Sort::Comments => " ORDER BY i.comments",
    });
    query.push(if filter.ascending { " ASC" } else { " DESC" });
    query.push(" LIMIT ").push_bind(limit).push(" OFFSET ").push_bind(offset);
    query.build_query_as().fetch_all(db).await
}

/// How many a filter leaves.
pub(crate) async fn count(
    db: &mut SqliteConnection,
    repo: i64,
    filter: &Filter,
    until: Timestamp,
) -> Result<i64, sqlx::Error> {
    let mut query = QueryBuilder::new("SELECT count(*) FROM issues i");
    narrow(&mut query, repo, filter, until);
    query.build_query_scalar().fetch_one(db).await
}

/// The part behind `FROM issues i`. The first label leads, because its index knows what is open.
fn narrow(query: &mut QueryBuilder<Sqlite>, repo: i64, filter: &Filter, until: Timestamp) {
    if let Some(label) = filter.labels.first() {
        query.push(" JOIN issue_labels l ON l.issue = i.id AND l.label = ").push_bind(*label);
        match filter.state {
            Some("open") => query.push(" AND l.open = 1"),
            Some(_) => query.push(" AND l.open = 0"),
            None => query,
        };
    }
    query.push(" WHERE i.repo = ").push_bind(repo).push(" AND i.created <= ").push_bind(until);
    for label in filter.labels.iter().skip(1) {
        query.push(" AND EXISTS (SELECT 1 FROM issue_labels x WHERE x.issue = i.id AND x.label = ");
        query.push_bind(*label).push(")");
    }
    if let Some(state) = filter.state {
        query.push(" AND i.state = ").push_bind(state);
    }
    if let Some(pull) = filter.pull {
        query.push(" AND i.pull = ").push_bind(pull);
    }
    if let Some(creator) = filter.creator {
        query.push(" AND i.author = ").push_bind(creator);
    }
    if let Some(assignee) = filter.assignee {
        query.push(" AND EXISTS (SELECT 1 FROM assignees a WHERE a.issue = i.id AND a.user = ");
        query.push_bind(assignee).push(")");
    }
    match filter.milestone {
        Some(Some(milestone)) => drop(query.push(" AND i.milestone = ").push_bind(milestone)),
        Some(None) => drop(query.push(" AND i.milestone IS NULL")),
        None => {}
    }
    if let Some(since) = filter.since {
        query.push(" AND i.updated >= ").push_bind(since);
    }
    for word in &filter.words {
        query.push(" AND (instr(lower(i.title), ").push_bind(word.clone()).push(") > 0");
        query.push(" OR instr(lower(coalesce(i.body, '')), ").push_bind(word.clone()).push(") > 0)");
    }
}

/// How many there are, without counting them; nothing when only counting would tell.
pub(crate) async fn tally(
    db: &mut SqliteConnection,
    repo: i64,
    filter: &Filter,
) -> Result<Option<i64>, sqlx::Error> {
    let plain = filter.labels.is_empty()
        && filter.creator.is_none()
        && filter.assignee.is_none()
        && filter.milestone.is_none()
        && filter.since.is_none()
        && filter.words.is_empty();
    if !plain {
        return Ok(None);
    }
    sqlx::query_scalar(
        "SELECT coalesce(sum(count), 0) FROM tallies \
         WHERE repo = $1 AND ($2 IS NULL OR state = $2) AND ($3 IS NULL OR pull = $3)",
    )
    .bind(repo)
    .bind(filter.state)
    .bind(filter.pull)
    .fetch_one(db)
    .await
    .map(Some)
}

/// Who is to do something about each of these issues.
pub(crate) async fn assignees(
    db: &mut SqliteConnection,
    issues: &str,
) -> Result<Vec<(i64, i64)>, sqlx::Error> {
    sqlx::query_as(
        "SELECT issue, user FROM assignees WHERE issue IN (SELECT value FROM json_each($1)) ORDER BY issue, user",
    )
    .bind(issues)
    .fetch_all(db)
    .await
}

/// Adds somebody; false if they were there.
pub(crate) async fn assign(db: &mut SqliteConnection, issue: i64, user: i64) -> Result<bool, sqlx::Error> {
    let done = sqlx::query("INSERT OR IGNORE INTO assignees (issue, user) VALUES ($1, $2)")
        .bind(issue)
        .bind(user)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes somebody off; false if they were not there.
pub(crate) async fn unassign(db: &mut SqliteConnection, issue: i64, user: i64) -> Result<bool, sqlx::Error> {
    let done = sqlx::query("DELETE FROM assignees WHERE issue = $1 AND user = $2")
        .bind(issue)
        .bind(user)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}
