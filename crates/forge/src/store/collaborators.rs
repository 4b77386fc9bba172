//! Who may do what with a repository.

use sqlx::SqliteConnection;

use super::repos::RepoRow;
use super::users::User;

/// What somebody may do with a repository; each includes those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Permission {
    None,
    Read,
    Triage,
    Write,
    Maintain,
    Admin,
}

impl Permission {
    /// All of them.
    pub(crate) const ALL: [Permission; 6] = [
        Permission::None,
        Permission::Read,
        Permission::Triage,
        Permission::Write,
        Permission::Maintain,
        Permission::Admin,
    ];

    /// GitHub's word for it as a role.
    pub(crate) fn role(self) -> &'static str {
        match self {
            Permission::None => "none",
            Permission::Read => "read",
            Permission::Triage => "triage",
            Permission::Write => "write",
            Permission::Maintain => "maintain",
            Permission::Admin => "admin",
        }
    }

    /// GitHub's older word, which knows fewer.
    pub(crate) fn legacy(self) -> &'static str {
        match self {
            Permission::None => "none",
            Permission::Read | Permission::Triage => "read",
            Permission::Write | Permission::Maintain => "write",
            Permission::Admin => "admin",
        }
    }

    /// Reads either word, and `pull` and `push`, which invitations use.
    pub(crate) fn parse(word: &str) -> Option<Permission> {
        match word {
            "pull" => Some(Permission::Read),
            "push" => Some(Permission::Write),
            _ => Permission::ALL.into_iter().find(|known| known.role() == word),
        }
    }
}

/// What somebody may do with a repository.
pub(crate) async fn permission(
    db: &mut SqliteConnection,
    repo: &RepoRow,
    user: &User,
) -> Result<Permission, sqlx::Error> {
    if repo.owner == user.id || user.admin {
        return Ok(Permission::Admin);
    }
    let given: Option<String> =
        sqlx::query_scalar("SELECT permission FROM collaborators WHERE repo = $1 AND user = $2")
            .bind(repo.id)
            .bind(user.id)
            .fetch_optional(db)
            .await?;
    let everybody = if repo.private { Permission::None } else { Permission::Read };
    Ok(given.and_then(|word| Permission::parse(&word)).unwrap_or(everybody).max(everybody))
}

/// Lets somebody work on a repository.
pub(crate) async fn put(
    db: &mut SqliteConnection,
    repo: i64,
    user: i64,
    permission: Permission,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO collaborators (repo, user, permission) VALUES ($1, $2, $3) \
         ON CONFLICT DO UPDATE SET permission = excluded.permission",
    )
    .bind(repo)
    .bind(user)
    .bind(permission.role())
    .execute(db)
    .await?;
    Ok(())
}

/// Takes that back.
pub(crate) async fn remove(db: &mut SqliteConnection, repo: i64, user: i64) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM collaborators WHERE repo = $1 AND user = $2")
        .bind(repo)
        .bind(user)
        .execute(db)
        .await?;
    Ok(())
}

/// Everybody who was let in, by number.
pub(crate) async fn of_repo(
    db: &mut SqliteConnection,
    repo: i64,
) -> Result<Vec<(i64, Permission)>, sqlx::Error> {
    let rows: Vec<(i64, String)> =
        sqlx::query_as("SELECT user, permission FROM collaborators WHERE repo = $1 ORDER BY user")
            .bind(repo)
            .fetch_all(db)
            .await?;
    let known = |(user, word): (i64, String)| Some((user, Permission::parse(&word)?));
    Ok(rows.into_iter().filter_map(known).collect())
}
