//! Repositories.

use sqlx::SqliteConnection;

use super::row::row;
use crate::timestamp::Timestamp;

row! {
    /// A repository.
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

/// A repository that is to be.
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

/// A repository by its owner and name.
pub(crate) async fn by_name(
    db: &mut SqliteConnection,
    owner: i64,
    name: &str,
) -> Result<Option<RepoRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM repos WHERE owner = $1 AND name = $2")
        .bind(owner)
        .bind(name)
        .fetch_optional(db)
        .await
}

/// A repository by its number.
pub(crate) async fn by_id(db: &mut SqliteConnection, id: i64) -> Result<Option<RepoRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM repos WHERE id = $1").bind(id).fetch_optional(db).await
}

/// The repository that once had this name.
pub(crate) async fn by_former_name(
    db: &mut SqliteConnection,
    owner: i64,
    name: &str,
) -> Result<Option<RepoRow>, sqlx::Error> {
    sqlx::query_as(
        "SELECT r.* FROM former_names f JOIN repos r ON r.id = f.repo WHERE f.owner = $1 AND f.name = $2",
    )
    .bind(owner)
    .bind(name)
    .fetch_optional(db)
    .await
}

/// All of them.
pub(crate) async fn all(db: &mut SqliteConnection) -> Result<Vec<RepoRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM repos ORDER BY id").fetch_all(db).await
}

/// Those that somebody owns or works on, by name.
pub(crate) async fn of_user(
    db: &mut SqliteConnection,
    user: i64,
    limit: i64,
    offset: i64,
) -> Result<Vec<RepoRow>, sqlx::Error> {
    sqlx::query_as(
        "SELECT * FROM repos WHERE owner = $1 OR id IN (SELECT repo FROM collaborators WHERE user = $1) \
         ORDER BY name, id LIMIT $2 OFFSET $3",
    )
    .bind(user)
    .bind(limit)
    .bind(offset)
    .fetch_all(db)
    .await
}

/// A new one; nothing if its owner has one of that name.
pub(crate) async fn insert(
    db: &mut SqliteConnection,
    new: &NewRepo<'_>,
    now: Timestamp,
) -> Result<Option<RepoRow>, sqlx::Error> {
    sqlx::query("DELETE FROM former_names WHERE owner = $1 AND name = $2")
        .bind(new.owner)
        .bind(new.name)
        .execute(&mut *db)
        .await?;
    sqlx::query_as(
        "INSERT INTO repos (owner, name, description, private, default_branch, allow_squash, allow_merge, \
         allow_rebase, delete_branch, created, updated, pushed) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $10) ON CONFLICT DO NOTHING RETURNING *",
    )
    .bind(new.owner)
    .bind(new.name)
    .bind(new.description)
    .bind(new.private)
    .bind(new.default_branch)
    .bind(new.allow_squash)
    .bind(new.allow_merge)
    .bind(new.allow_rebase)
    .bind(new.delete_branch)
    .bind(now)
    .fetch_optional(db)
    .await
}

/// Writes what may change. False if another of its owner's has that name.
pub(crate) async fn update(
    db: &mut SqliteConnection,
    row: &RepoRow,
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query(
        "UPDATE OR IGNORE repos SET name = $1, description = $2, private = $3, archived = $4, default_branch = $5, \
         allow_squash = $6, allow_merge = $7, allow_rebase = $8, delete_branch = $9, updated = $10 WHERE id = $11",
    )
    .bind(&row.name)
    .bind(&row.description)
    .bind(row.private)
    .bind(row.archived)
    .bind(&row.default_branch)
    .bind(row.allow_squash)
    .bind(row.allow_merge)
    .bind(row.allow_rebase)
    .bind(row.delete_branch)
    .bind(now)
    .bind(row.id)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Remembers what a repository was called.
pub(crate) async fn remember_name(db: &mut SqliteConnection, row: &RepoRow) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT OR REPLACE INTO former_names (owner, name, repo) VALUES ($1, $2, $3)")
        .bind(row.owner)
        .bind(&row.name)
        .bind(row.id)
        .execute(db)
        .await?;
    Ok(())
}

/// The time of its last push.
pub(crate) async fn touch_pushed(
    db: &mut SqliteConnection,
    id: i64,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE repos SET pushed = $1, updated = $1 WHERE id = $2")
        .bind(now)
        .bind(id)
        .execute(db)
        .await?;
    Ok(())
}

/// The number of its next issue or pull request.
pub(crate) async fn next_number(db: &mut SqliteConnection, id: i64) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("UPDATE repos SET numbers = numbers + 1 WHERE id = $1 RETURNING numbers")
        .bind(id)
        .fetch_one(db)
        .await
}
