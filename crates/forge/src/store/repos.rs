//! Repositories.

use sqlx::SqliteConnection;

use super::sql::{row, statement, statements};
use crate::timestamp::Timestamp;

row! {
    RepoRow {
        id: i64,
        owner: i64,
        name: String,
        description: Option<String>,
        private: bool,
        archived: bool,
        default_branch: String,
        allow_squash: bool,
        allow_merge: bool,
        allow_rebase: bool,
        delete_branch: bool,
        open_issues: i64,
        created: Timestamp,
        updated: Timestamp,
        pushed: Timestamp,
    }
}

#[derive(Debug)]
pub(crate) struct NewRepo<'a> {
    pub(crate) owner: i64,
    pub(crate) name: &'a str,
    pub(crate) description: Option<&'a str>,
    pub(crate) private: bool,
    pub(crate) default_branch: &'a str,
    pub(crate) allow_squash: bool,
    pub(crate) allow_merge: bool,
    pub(crate) allow_rebase: bool,
    pub(crate) delete_branch: bool,
}

/// Inserts a repository; `None` if its owner has one of that name.
pub(crate) async fn insert(
    db: &mut SqliteConnection,
    new: &NewRepo<'_>,
    now: Timestamp,
) -> Result<Option<RepoRow>, sqlx::Error> {
    remove_former_name(db, new.owner, new.name).await?;
    insert_row(db, new, now).await
}

statements! {
    fn by_name(owner: i64, name: &str) -> Option<RepoRow> = "SELECT * FROM repos WHERE owner = $1 AND name = $2";

    fn by_id(id: i64) -> Option<RepoRow> = "SELECT * FROM repos WHERE id = $1";

    /// The repository that was renamed from this name.
    fn by_former_name(owner: i64, name: &str) -> Option<RepoRow> =
        "SELECT r.* FROM former_names f JOIN repos r ON r.id = f.repo WHERE f.owner = $1 AND f.name = $2";

    fn all() -> Vec<RepoRow> = "SELECT * FROM repos ORDER BY id";

    /// One page of the repositories that a user owns or collaborates on, by name.
    fn of_user(user: i64, limit: i64, offset: i64) -> Vec<RepoRow> =
        "SELECT * FROM repos WHERE owner = $1 OR id IN (SELECT repo FROM collaborators WHERE user = $1) \
         ORDER BY name, id LIMIT $2 OFFSET $3";

    fn remove_former_name(owner: i64, name: &str) = "DELETE FROM former_names WHERE owner = $1 AND name = $2";

    fn insert_row(new: &NewRepo<'_>, now: Timestamp) -> Option<RepoRow> =
        "INSERT INTO repos (owner, name, description, private, default_branch, allow_squash, allow_merge, \
         allow_rebase, delete_branch, created, updated, pushed) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $10) ON CONFLICT DO NOTHING RETURNING *"
        [new.owner, new.name, new.description, new.private, new.default_branch, new.allow_squash, new.allow_merge,
         new.allow_rebase, new.delete_branch, now];

    /// False if the owner has another repository of that name.
    fn update(row: &RepoRow, now: Timestamp) -> bool =
        "UPDATE OR IGNORE repos SET name = $1, description = $2, private = $3, archived = $4, default_branch = $5, \
         allow_squash = $6, allow_merge = $7, allow_rebase = $8, delete_branch = $9, updated = $10 WHERE id = $11"
        [&row.name, &row.description, row.private, row.archived, &row.default_branch, row.allow_squash, row.allow_merge,
         row.allow_rebase, row.delete_branch, now, row.id];

    /// Records the name of a repository that is about to be renamed.
    fn record_former_name(row: &RepoRow) =
        "INSERT OR REPLACE INTO former_names (owner, name, repo) VALUES ($1, $2, $3)" [row.owner, &row.name, row.id];

    /// Sets the time of the last push.
    fn touch_pushed(id: i64, now: Timestamp) = "UPDATE repos SET pushed = $2, updated = $2 WHERE id = $1";

    /// Takes the next number for an issue or pull request.
    scalar fn next_number(id: i64) -> i64 =
        "UPDATE repos SET numbers = numbers + 1 WHERE id = $1 RETURNING numbers";
}
