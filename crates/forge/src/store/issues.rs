//! Issues, and the columns that pull requests share with them.

use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::sql::{row, statement, statements};
use crate::timestamp::Timestamp;

row! {
    /// An issue, or the part of a pull request that issues have too.
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
    pub(crate) fn is_open(&self) -> bool {
        self.state == "open"
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IssueSort {
    #[default]
    Created,
    Updated,
    Comments,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct IssueFilter {
    pub(crate) pull: Option<bool>,
    pub(crate) state: Option<&'static str>,
    /// Label ids; an issue must have all of them.
    pub(crate) labels: Vec<i64>,
    pub(crate) creator: Option<i64>,
    pub(crate) assignee: Option<i64>,
    /// `Some(None)` matches issues without a milestone.
    pub(crate) milestone: Option<Option<i64>>,
    pub(crate) since: Option<Timestamp>,
    /// Lower-case words that title or body must contain.
    pub(crate) words: Vec<String>,
    pub(crate) sort: IssueSort,
    pub(crate) ascending: bool,
}

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

statements! {
    fn by_number(repo: i64, number: i64) -> Option<IssueRow> = "SELECT * FROM issues WHERE repo = $1 AND number = $2";

    fn by_id(id: i64) -> Option<IssueRow> = "SELECT * FROM issues WHERE id = $1";

    fn update(row: &IssueRow) =
        "UPDATE issues SET title = $1, body = $2, state = $3, reason = $4, locked = $5, milestone = $6, \
         closed_by = $7, updated = $8, closed = $9 WHERE id = $10"
        [&row.title, &row.body, &row.state, &row.reason, row.locked, row.milestone, row.closed_by, row.updated, row.closed,
         row.id];

    /// Sets the time of the last change.
    fn touch(id: i64, now: Timestamp) = "UPDATE issues SET updated = $2 WHERE id = $1";

    /// Pairs of issue and assigned user; `issues` is a JSON array of ids.
    fn assignees(issues: &str) -> Vec<(i64, i64)> =
        "SELECT issue, user FROM assignees WHERE issue IN (SELECT value FROM json_each($1)) ORDER BY issue, user";

    fn assign(issue: i64, user: i64) -> bool = "INSERT OR IGNORE INTO assignees (issue, user) VALUES ($1, $2)";

    fn unassign(issue: i64, user: i64) -> bool = "DELETE FROM assignees WHERE issue = $1 AND user = $2";

    scalar fn sum_tallies(repo: i64, state: Option<&str>, pull: Option<bool>) -> i64 =
        "SELECT coalesce(sum(count), 0) FROM tallies \
         WHERE repo = $1 AND ($2 IS NULL OR state = $2) AND ($3 IS NULL OR pull = $3)";
}

/// The issues that match a filter and were created by `until`.
pub(crate) async fn list(
    db: &mut SqliteConnection,
    repo: i64,
    filter: &IssueFilter,
    until: Timestamp,
    limit: i64,
    offset: i64,
) -> Result<Vec<IssueRow>, sqlx::Error> {
    let mut query = QueryBuilder::new("SELECT i.* FROM issues i");
    push_conditions(&mut query, repo, filter, until);
    query.push(match filter.sort {
        IssueSort::Created if !filter.labels.is_empty() => " ORDER BY l.issue",
        IssueSort::Created => " ORDER BY i.number",
        IssueSort::Updated => " ORDER BY i.updated",
        IssueSort::Comments => " ORDER BY i.comments",
    });
    query.push(if filter.ascending { " ASC" } else { " DESC" });
    query.push(" LIMIT ").push_bind(limit).push(" OFFSET ").push_bind(offset);
    query.build_query_as().fetch_all(db).await
}

/// The number of issues that match a filter.
pub(crate) async fn count(
    db: &mut SqliteConnection,
    repo: i64,
    filter: &IssueFilter,
    until: Timestamp,
) -> Result<i64, sqlx::Error> {
    let mut query = QueryBuilder::new("SELECT count(*) FROM issues i");
    push_conditions(&mut query, repo, filter, until);
    query.build_query_scalar().fetch_one(db).await
}

/// Adds the part after `FROM issues i`. The first label is joined, because the index of labels also holds the state.
fn push_conditions(query: &mut QueryBuilder<Sqlite>, repo: i64, filter: &IssueFilter, until: Timestamp) {
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

/// The number of matching issues from the stored tallies; `None` for filters that the tallies do not cover.
pub(crate) async fn tally(
    db: &mut SqliteConnection,
    repo: i64,
    filter: &IssueFilter,
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
    sum_tallies(db, repo, filter.state, filter.pull).await.map(Some)
}
