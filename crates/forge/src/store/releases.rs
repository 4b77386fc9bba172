//! Releases.

use sqlx::SqliteConnection;

use super::row::row;
use crate::timestamp::Timestamp;

row! {
    /// A release.
    ReleaseRow {
        id: i64,
        tag: String,
        target: String,
        name: Option<String>,
        body: Option<String>,
        draft: bool,
        prerelease: bool,
        author: i64,
        created: Timestamp,
        published: Option<Timestamp>,
    }
}

/// A new one; nothing if one of that tag is published.
pub(crate) async fn insert(
    db: &mut SqliteConnection,
    repo: i64,
    new: &ReleaseRow,
) -> Result<Option<ReleaseRow>, sqlx::Error> {
    sqlx::query_as(
        "INSERT INTO releases (repo, tag, target, name, body, draft, prerelease, author, created, published) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING *",
    )
    .bind(repo)
    .bind(&new.tag)
    .bind(&new.target)
    .bind(&new.name)
    .bind(&new.body)
    .bind(new.draft)
    .bind(new.prerelease)
    .bind(new.author)
    .bind(new.created)
    .bind(new.published)
    .fetch_optional(db)
    .await
}

/// Writes what may change; false if one of that tag is published.
pub(crate) async fn update(db: &mut SqliteConnection, row: &ReleaseRow) -> Result<bool, sqlx::Error> {
    let done = sqlx::query(
        "UPDATE OR IGNORE releases SET tag = $1, target = $2, name = $3, body = $4, draft = $5, prerelease = $6, \
         published = $7 WHERE id = $8",
    )
    .bind(&row.tag)
    .bind(&row.target)
    .bind(&row.name)
    .bind(&row.body)
    .bind(row.draft)
    .bind(row.prerelease)
    .bind(row.published)
    .bind(row.id)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// One by its id.
pub(crate) async fn by_id(
    db: &mut SqliteConnection,
    repo: i64,
    id: i64,
) -> Result<Option<ReleaseRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM releases WHERE repo = $1 AND id = $2")
        .bind(repo)
        .bind(id)
        .fetch_optional(db)
        .await
}

/// The published one of a tag.
pub(crate) async fn by_tag(
    db: &mut SqliteConnection,
    repo: i64,
    tag: &str,
) -> Result<Option<ReleaseRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM releases WHERE repo = $1 AND tag = $2 AND draft = 0")
        .bind(repo)
        .bind(tag)
        .fetch_optional(db)
        .await
}

/// The newest that is published and no preview.
pub(crate) async fn latest(db: &mut SqliteConnection, repo: i64) -> Result<Option<ReleaseRow>, sqlx::Error> {
    sqlx::query_as(
        "SELECT * FROM releases WHERE repo = $1 AND draft = 0 AND prerelease = 0 ORDER BY id DESC LIMIT 1",
    )
    .bind(repo)
    .fetch_optional(db)
    .await
}

/// A page of them, newest first; drafts only for those who may write.
pub(crate) async fn list(
    db: &mut SqliteConnection,
    repo: i64,
    drafts: bool,
    limit: i64,
    offset: i64,
) -> Result<Vec<ReleaseRow>, sqlx::Error> {
    sqlx::query_as(
        "SELECT * FROM releases WHERE repo = $1 AND (draft = 0 OR $2) ORDER BY id DESC LIMIT $3 OFFSET $4",
    )
    .bind(repo)
    .bind(drafts)
    .bind(limit)
    .bind(offset)
    .fetch_all(db)
    .await
}

/// Takes one back.
pub(crate) async fn remove(db: &mut SqliteConnection, id: i64) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM releases WHERE id = $1").bind(id).execute(db).await?;
    Ok(())
}
