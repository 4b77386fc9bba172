//! Users and their tokens.

use sqlx::SqliteConnection;

use super::row::row;
use crate::timestamp::Timestamp;

row! {
    /// A user.
    User {
        id: i64,
        login: String,
        /// `User` or `Bot`.
        kind: String,
        /// Whether they rule the forge.
        admin: bool,
        created: Timestamp,
    }
}

impl User {
    /// Where the forge's addresses of its users end.
    pub(crate) const MAIL_HOST: &str = "@users.noreply.localhost";

    /// Somebody who is not there any more.
    pub(crate) fn ghost() -> User {
        let (login, kind) = ("ghost".to_owned(), "User".to_owned());
        User { id: 0, login, kind, admin: false, created: Timestamp(0) }
    }

    /// The address under which the forge commits for them.
    pub(crate) fn email(&self) -> String {
        format!("{}+{}{}", self.id, self.login, User::MAIL_HOST)
    }
}

/// Everybody.
pub(crate) async fn all(db: &mut SqliteConnection) -> Result<Vec<User>, sqlx::Error> {
    sqlx::query_as("SELECT * FROM users ORDER BY id").fetch_all(db).await
}

/// Somebody new.
pub(crate) async fn insert(
    db: &mut SqliteConnection,
    login: &str,
    kind: &str,
    admin: bool,
    now: Timestamp,
) -> Result<User, sqlx::Error> {
    sqlx::query_as("INSERT INTO users (login, kind, admin, created) VALUES ($1, $2, $3, $4) RETURNING *")
        .bind(login)
        .bind(kind)
        .bind(admin)
        .bind(now)
        .fetch_one(db)
        .await
}

/// Gives somebody a token, by its digest.
pub(crate) async fn add_token(db: &mut SqliteConnection, user: i64, hash: &str) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO tokens (hash, owner) VALUES ($1, $2) ON CONFLICT DO UPDATE SET owner = excluded.owner",
    )
    .bind(hash)
    .bind(user)
    .execute(db)
    .await?;
    Ok(())
}

/// Whose token this is.
pub(crate) async fn by_token(db: &mut SqliteConnection, hash: &str) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar("SELECT owner FROM tokens WHERE hash = $1").bind(hash).fetch_optional(db).await
}
