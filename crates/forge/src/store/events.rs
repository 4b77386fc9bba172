//! Issue events: which user did what to an issue.

use super::sql::{row, statement, statements};
use crate::timestamp::Timestamp;

row! {
    EventRow {
        id: i64,
        issue: i64,
        actor: i64,
        event: String,
        commit_id: Option<String>,
        /// JSON with the fields that GitHub adds for this kind of event.
        detail: String,
        created: Timestamp,
    }
}

#[derive(Clone, Debug)]
pub(crate) struct NewEvent<'a> {
    pub(crate) repo: i64,
    pub(crate) issue: i64,
    pub(crate) actor: i64,
    pub(crate) event: &'a str,
    pub(crate) commit_id: Option<&'a str>,
    pub(crate) detail: serde_json::Value,
}

statements! {
    fn insert(new: &NewEvent<'_>, now: Timestamp) =
        "INSERT INTO issue_events (repo, issue, actor, event, commit_id, detail, created) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)"
        [new.repo, new.issue, new.actor, new.event, new.commit_id, new.detail.to_string(), now];

    /// One page of the events of an issue, oldest first.
    fn of_issue(issue: i64, limit: i64, offset: i64) -> Vec<EventRow> =
        "SELECT * FROM issue_events WHERE issue = $1 ORDER BY id LIMIT $2 OFFSET $3";

    /// One page of the events in a repository, newest first.
    fn of_repo(repo: i64, limit: i64, offset: i64) -> Vec<EventRow> =
        "SELECT * FROM issue_events WHERE repo = $1 ORDER BY id DESC LIMIT $2 OFFSET $3";
}
