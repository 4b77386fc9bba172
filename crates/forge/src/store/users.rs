//! Users and their tokens.

use super::sql::{row, statement, statements};
use crate::timestamp::Timestamp;

row! {
    User {
        id: i64,
        login: String,
        kind: String,
        /// Whether the user administers the forge.
        admin: bool,
        created: Timestamp,
    }
}

impl User {
    /// The end of the email addresses that the forge gives its users.
    pub(crate) const MAIL_HOST: &str = "@users.noreply.localhost";

    /// Stands in for a user who was deleted, as with GitHub.
    pub(crate) fn ghost() -> User {
        let (login, kind) = ("ghost".to_owned(), "User".to_owned());
        User { id: 0, login, kind, admin: false, created: Timestamp(0) }
    }

    /// The email address of the commits that the forge makes for the user.
    pub(crate) fn email(&self) -> String {
        format!("{}+{}{}", self.id, self.login, User::MAIL_HOST)
    }
}

statements! {
    fn all() -> Vec<User> = "SELECT * FROM users ORDER BY id";

    fn insert(login: &str, kind: &str, admin: bool, now: Timestamp) -> User =
        "INSERT INTO users (login, kind, admin, created) VALUES ($1, $2, $3, $4) RETURNING *";

    /// Stores the digest of a user's token.
    fn add_token(user: i64, hash: &str) =
        "INSERT INTO tokens (owner, hash) VALUES ($1, $2) ON CONFLICT DO UPDATE SET owner = excluded.owner";

    /// The user id of a token, by its digest.
    scalar fn by_token(hash: &str) -> Option<i64> = "SELECT owner FROM tokens WHERE hash = $1";
}
