//! Labels, and which issues have them.

use sqlx::FromRow;
use sqlx::sqlite::SqliteRow;

use super::sql::{row, statement, statements};

row! {
    LabelRow {
        id: i64,
        name: String,
        color: String,
        description: Option<String>,
    }
}

#[derive(Clone, Debug)]
pub(crate) struct IssueLabel {
    pub(crate) issue: i64,
    pub(crate) label: LabelRow,
}

impl FromRow<'_, SqliteRow> for IssueLabel {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(IssueLabel { issue: sqlx::Row::try_get(row, "issue")?, label: LabelRow::from_row(row)? })
    }
}

statements! {
    fn by_name(repo: i64, name: &str) -> Option<LabelRow> = "SELECT * FROM labels WHERE repo = $1 AND name = $2";

    fn list(repo: i64, limit: i64, offset: i64) -> Vec<LabelRow> =
        "SELECT * FROM labels WHERE repo = $1 ORDER BY id LIMIT $2 OFFSET $3";

    /// Inserts a label; `None` if the name is taken.
    fn insert(repo: i64, name: &str, color: &str, description: Option<&str>) -> Option<LabelRow> =
        "INSERT INTO labels (repo, name, color, description) VALUES ($1, $2, $3, $4) \
         ON CONFLICT DO NOTHING RETURNING *";

    /// False if the name is taken.
    fn update(row: &LabelRow) -> bool =
        "UPDATE OR IGNORE labels SET name = $1, color = $2, description = $3 WHERE id = $4"
        [&row.name, &row.color, &row.description, row.id];

    /// Removes a label, also from every issue.
    fn remove(id: i64) = "DELETE FROM labels WHERE id = $1";

    /// The labels of some issues; `issues` is a JSON array of ids.
    fn of_issues(issues: &str) -> Vec<IssueLabel> =
        "SELECT x.issue, l.* FROM issue_labels x JOIN labels l ON l.id = x.label \
         WHERE x.issue IN (SELECT value FROM json_each($1)) ORDER BY x.issue, l.id";

    /// Adds a label to an issue; false if the issue has it already.
    fn attach(issue: i64, open: bool, label: i64) -> bool =
        "INSERT OR IGNORE INTO issue_labels (issue, open, label) VALUES ($1, $2, $3)";

    /// Removes a label from an issue; false if the issue does not have it.
    fn detach(issue: i64, label: i64) -> bool = "DELETE FROM issue_labels WHERE issue = $1 AND label = $2";
}
