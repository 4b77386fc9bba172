//! The refs as they were last told to everybody, and the pushes that were told.

use sqlx::SqliteConnection;

use super::row::row;
use crate::timestamp::Timestamp;

row! {
    /// A ref.
    RefRow {
        name: String,
        sha: String,
    }
}

/// All refs of a repository.
pub(crate) async fn of_repo(db: &mut SqliteConnection, repo: i64) -> Result<Vec<RefRow>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM refs WHERE repo = $1 ORDER BY name").bind(repo).fetch_all(db).await
}

/// A ref has a new value.
pub(crate) async fn put(
    db: &mut SqliteConnection,
    repo: i64,
    name: &str,
    sha: &str,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT OR REPLACE INTO refs (repo, name, sha, changed) VALUES ($1, $2, $3, $4)")
        .bind(repo)
        .bind(name)
        .bind(sha)
        .bind(now)
        .execute(db)
        .await?;
    Ok(())
}

/// A ref is gone.
pub(crate) async fn remove(db: &mut SqliteConnection, repo: i64, name: &str) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM refs WHERE repo = $1 AND name = $2").bind(repo).bind(name).execute(db).await?;
    Ok(())
}

/// Writes a push down.
pub(crate) async fn record(
    db: &mut SqliteConnection,
    repo: i64,
    name: &str,
    before: &str,
    after: &str,
    pusher: i64,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO pushes (repo, name, before_sha, after_sha, pusher, created) VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(repo)
    .bind(name)
    .bind(before)
    .bind(after)
    .bind(pusher)
    .bind(now)
    .execute(db)
    .await?;
    Ok(())
}
