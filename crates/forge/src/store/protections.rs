//! Which branches are protected, and how.

use sqlx::SqliteConnection;

/// The rules of one branch, as JSON.
pub(crate) async fn of_branch(
    db: &mut SqliteConnection,
    repo: i64,
    branch: &str,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar("SELECT rules FROM protections WHERE repo = $1 AND branch = $2")
        .bind(repo)
        .bind(branch)
        .fetch_optional(db)
        .await
}

/// All protected branches of a repository with their rules.
pub(crate) async fn of_repo(
    db: &mut SqliteConnection,
    repo: i64,
) -> Result<Vec<(String, String)>, sqlx::Error> {
    sqlx::query_as("SELECT branch, rules FROM protections WHERE repo = $1 ORDER BY branch")
        .bind(repo)
        .fetch_all(db)
        .await
}

/// Protects a branch.
pub(crate) async fn put(
    db: &mut SqliteConnection,
    repo: i64,
    branch: &str,
    rules: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT OR REPLACE INTO protections (repo, branch, rules) VALUES ($1, $2, $3)")
        .bind(repo)
        .bind(branch)
        .bind(rules)
        .execute(db)
        .await?;
    Ok(())
}

/// Protects it no more; false if it was not.
pub(crate) async fn remove(db: &mut SqliteConnection, repo: i64, branch: &str) -> Result<bool, sqlx::Error> {
    let done = sqlx::query("DELETE FROM protections WHERE repo = $1 AND branch = $2")
        .bind(repo)
        .bind(branch)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}
