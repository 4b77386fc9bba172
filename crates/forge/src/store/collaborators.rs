//! Permissions of users on repositories.

use sqlx::SqliteConnection;

use super::repos::RepoRow;
use super::sql::{statement, statements};
use super::users::User;

/// What a user may do with a repository; each level includes those before it.
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
    pub(crate) const ALL: [Permission; 6] = [
        Permission::None,
        Permission::Read,
        Permission::Triage,
        Permission::Write,
        Permission::Maintain,
        Permission::Admin,
    ];

    /// GitHub's `role_name`.
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

    /// GitHub's older `permission` field, which has fewer levels.
    pub(crate) fn legacy(self) -> &'static str {
        match self {
            Permission::None => "none",
            Permission::Read | Permission::Triage => "read",
            Permission::Write | Permission::Maintain => "write",
            Permission::Admin => "admin",
        }
    }

    /// Reads a role name, or `pull` and `push`, which invitations use.
    pub(crate) fn parse(word: &str) -> Option<Permission> {
        match word {
            "pull" => Some(Permission::Read),
            "push" => Some(Permission::Write),
            _ => Permission::ALL.into_iter().find(|known| known.role() == word),
        }
    }
}

/// The permission of a user on a repository.
pub(crate) async fn permission(
    db: &mut SqliteConnection,
    repo: &RepoRow,
    user: &User,
) -> Result<Permission, sqlx::Error> {
    if repo.owner == user.id || user.admin {
        return Ok(Permission::Admin);
    }
    let granted = granted_role(db, repo.id, user.id).await?;
    let default = if repo.private { Permission::None } else { Permission::Read };
    Ok(granted.and_then(|word| Permission::parse(&word)).unwrap_or(default).max(default))
}

/// Makes a user a collaborator.
pub(crate) async fn put(
    db: &mut SqliteConnection,
    repo: i64,
    user: i64,
    permission: Permission,
) -> Result<(), sqlx::Error> {
    put_role(db, repo, user, permission.role()).await
}

/// The collaborators of a repository by user id.
pub(crate) async fn of_repo(
    db: &mut SqliteConnection,
    repo: i64,
) -> Result<Vec<(i64, Permission)>, sqlx::Error> {
    let known = |(user, word): (i64, String)| Some((user, Permission::parse(&word)?));
    Ok(roles_of_repo(db, repo).await?.into_iter().filter_map(known).collect())
}

statements! {
    scalar fn granted_role(repo: i64, user: i64) -> Option<String> =
        "SELECT permission FROM collaborators WHERE repo = $1 AND user = $2";

    fn put_role(repo: i64, user: i64, role: &str) =
        "INSERT INTO collaborators (repo, user, permission) VALUES ($1, $2, $3) \
         ON CONFLICT DO UPDATE SET permission = excluded.permission";

    fn remove(repo: i64, user: i64) = "DELETE FROM collaborators WHERE repo = $1 AND user = $2";

    fn roles_of_repo(repo: i64) -> Vec<(i64, String)> =
        "SELECT user, permission FROM collaborators WHERE repo = $1 ORDER BY user";
}
