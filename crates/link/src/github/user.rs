//! Accounts, and whether one may set Pilot to work: whether it may write to the repository.

use pilot_core::observed::{Author, AuthorKind, Trust};
use serde::Deserialize;

use super::Repo;
use crate::error::Result;

#[derive(Deserialize)]
pub(super) struct ActorWire {
    login: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl ActorWire {
    /// Whether it is this login; GitHub compares logins without case.
    pub(super) fn is(&self, login: &str) -> bool {
        self.login.eq_ignore_ascii_case(login)
    }
}

/// The author of something; `ghost` when the account was deleted, as GitHub shows it.
pub(super) fn read_author(wire: Option<&ActorWire>, me: &str) -> Author {
    let Some(wire) = wire else { return Author { login: "ghost".to_owned(), kind: AuthorKind::Person } };
    let kind = if wire.is(me) {
        AuthorKind::Me
    } else if wire.kind.as_deref() == Some("Bot") || wire.login.ends_with("[bot]") {
        AuthorKind::Bot
    } else {
        AuthorKind::Person
    };
    Author { login: wire.login.clone(), kind }
}

#[derive(Deserialize)]
struct PermissionWire {
    /// One of four words; finer roles (maintain, triage, an organisation's own) count as the next lower one.
    permission: String,
}

impl Repo {
    /// An unknown account is untrusted. That it is unknown is asked twice: GitHub sometimes replies "not found" for an
    /// account that exists.
    pub async fn trust(&self, login: &str) -> Result<Trust> {
        let action = self.describe(&format!("read the permission of {login:?}"));
        let path = ["collaborators", login, "permission"];
        let mut found = self.absent(self.get::<PermissionWire>(&action, &path).await).await?;
        if found.is_none() {
            found = self.absent(self.get(&action, &path).await).await?;
        }
        Ok(found.map_or(Trust::Untrusted, |wire| trust_of(&wire.permission)))
    }
}

fn trust_of(permission: &str) -> Trust {
    match permission {
        "admin" | "write" => Trust::Trusted,
        _ => Trust::Untrusted,
    }
}

#[cfg(test)]
mod tests {
    use pilot_core::observed::Trust;

    use super::trust_of;

    #[test]
    fn write_access_is_the_line() {
        for (permission, expected) in [
            ("admin", Trust::Trusted),
            ("write", Trust::Trusted),
            ("read", Trust::Untrusted),
            ("none", Trust::Untrusted),
            ("owner", Trust::Untrusted),
        ] {
            assert_eq!(trust_of(permission), expected, "{permission}");
        }
    }
}
