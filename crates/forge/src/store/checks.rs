//! Check suites, check runs and commit statuses.

use super::sql::{row, statement, statements};
use crate::timestamp::Timestamp;

row! {
    /// All check runs of one app on one commit.
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

impl CheckRow {
    /// A queued check run, not stored yet.
    pub(crate) fn queued(repo: i64, suite: i64, head_sha: &str, name: &str, visible: Timestamp) -> CheckRow {
        CheckRow {
            id: 0,
            repo,
            suite,
            head_sha: head_sha.to_owned(),
            name: name.to_owned(),
            status: "queued".to_owned(),
            conclusion: None,
            external_id: None,
            details_url: None,
            title: None,
            summary: None,
            body: None,
            visible,
            started: Some(visible),
            completed: None,
        }
    }
}

row! {
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

statements! {
    /// The suite of an app on a commit, inserted if it is missing.
    fn ensure_suite(
        repo: i64, sha: &str, branch: Option<&str>, app: &str, visible: Timestamp, now: Timestamp
    ) -> SuiteRow =
        "INSERT INTO suites (repo, head_sha, head_branch, app, visible, created, updated) \
         VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT DO UPDATE SET updated = excluded.updated RETURNING *";

    fn suite_by_id(repo: i64, id: i64, now: Timestamp) -> Option<SuiteRow> =
        "SELECT * FROM suites WHERE repo = $1 AND id = $2 AND visible <= $3";

    fn suites_of_sha(repo: i64, sha: &str, now: Timestamp) -> Vec<SuiteRow> =
        "SELECT * FROM suites WHERE repo = $1 AND head_sha = $2 AND visible <= $3 ORDER BY id";

    fn insert(new: &CheckRow) -> CheckRow =
        "INSERT INTO checks (repo, suite, head_sha, name, status, conclusion, external_id, details_url, title, \
         summary, body, visible, started, completed) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING *"
        [new.repo, new.suite, &new.head_sha, &new.name, &new.status, &new.conclusion, &new.external_id, &new.details_url,
         &new.title, &new.summary, &new.body, new.visible, new.started, new.completed];

    fn update(row: &CheckRow) =
        "UPDATE checks SET name = $1, status = $2, conclusion = $3, external_id = $4, details_url = $5, title = $6, \
         summary = $7, body = $8, started = $9, completed = $10 WHERE id = $11"
        [&row.name, &row.status, &row.conclusion, &row.external_id, &row.details_url, &row.title, &row.summary, &row.body,
         row.started, row.completed, row.id];

    fn by_id(repo: i64, id: i64, now: Timestamp) -> Option<CheckRow> =
        "SELECT * FROM checks WHERE repo = $1 AND id = $2 AND visible <= $3";

    /// The visible check runs of a commit, newest first.
    fn of_sha(repo: i64, sha: &str, now: Timestamp) -> Vec<CheckRow> =
        "SELECT * FROM checks WHERE repo = $1 AND head_sha = $2 AND visible <= $3 ORDER BY id DESC";

    fn insert_status(repo: i64, new: &StatusRow) -> StatusRow =
        "INSERT INTO statuses (repo, sha, state, context, description, target_url, creator, created) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING *"
        [repo, &new.sha, &new.state, &new.context, &new.description, &new.target_url, new.creator, new.created];

    /// The statuses of a commit, newest first.
    fn statuses_of_sha(repo: i64, sha: &str) -> Vec<StatusRow> =
        "SELECT * FROM statuses WHERE repo = $1 AND sha = $2 ORDER BY id DESC";
}

/// The newest row of each name; the rows are ordered newest first.
pub(crate) fn latest<T>(rows: Vec<T>, name: impl Fn(&T) -> String) -> Vec<T> {
    let mut seen = std::collections::HashSet::new();
    rows.into_iter().filter(|row| seen.insert(name(row))).collect()
}
