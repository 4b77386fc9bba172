//! Milestones.

use super::sql::{row, statement, statements};
use crate::timestamp::Timestamp;

row! {
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

statements! {
    /// The milestones of a JSON array of ids.
    fn by_ids(ids: &str) -> Vec<MilestoneRow> =
        "SELECT m.*, (SELECT count(*) FROM issues WHERE milestone = m.id AND state = 'open') AS open_issues, \
         (SELECT count(*) FROM issues WHERE milestone = m.id AND state = 'closed') AS closed_issues \
         FROM milestones m WHERE m.id IN (SELECT value FROM json_each($1)) ORDER BY m.number";

    scalar fn id_by_number(repo: i64, number: i64) -> Option<i64> =
        "SELECT id FROM milestones WHERE repo = $1 AND number = $2";

    /// The ids of the milestones in a state, or of all, by number.
    scalar fn list(repo: i64, state: Option<&str>) -> Vec<i64> =
        "SELECT id FROM milestones WHERE repo = $1 AND ($2 IS NULL OR state = $2) ORDER BY number";

    /// Inserts a milestone; `None` if the title is taken.
    scalar fn insert(
        repo: i64, title: &str, description: Option<&str>, creator: i64, due: Option<Timestamp>, now: Timestamp
    ) -> Option<i64> =
        "INSERT INTO milestones (repo, number, title, description, state, creator, due, created, updated) \
         SELECT $1, coalesce(max(number), 0) + 1, $2, $3, 'open', $4, $5, $6, $6 FROM milestones WHERE repo = $1 \
         ON CONFLICT DO NOTHING RETURNING id";

    /// False if the title is taken.
    fn update(row: &MilestoneRow) -> bool =
        "UPDATE OR IGNORE milestones SET title = $1, description = $2, state = $3, due = $4, updated = $5, closed = $6 \
         WHERE id = $7"
        [&row.title, &row.description, &row.state, row.due, row.updated, row.closed, row.id];
}
