//! What somebody may do in a repository.

use serde::Deserialize;

use super::{GithubError, Repo};

/// What somebody may do, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Nothing.
    None,
    /// Read.
    Read,
    /// Manage issues.
    Triage,
    /// Write.
    Write,
    /// Nearly everything.
    Maintain,
    /// Everything.
    Admin,
}

#[derive(Deserialize)]
struct Wire {
    permission: String,
    role_name: Option<String>,
}

impl Repo {
    /// What somebody may do here; nothing, if nobody has that name. That nobody has it is asked twice: what is found a
    /// moment later was there before, and whoever is there is not called a stranger.
    pub async fn permission(&self, login: &str) -> Result<Permission, GithubError> {
        let what = self.doing(&format!("ask for the rights of {login:?}"));
        let path = ["collaborators", login, "permission"];
        let mut found = self.absent(self.get::<Wire>(&what, &path).await).await?;
        if found.is_none() {
            found = self.absent(self.get(&what, &path).await).await?;
        }
        Ok(found.map_or(Permission::None, |wire| wire.permission()))
    }
}

impl Wire {
    /// `permission` knows four words and calls the finer roles by the next lower one; a role of an organisation's own making
    /// is known only by it.
    fn permission(&self) -> Permission {
        let coarse = match self.permission.as_str() {
            "admin" => Permission::Admin,
            "write" => Permission::Write,
            "read" => Permission::Read,
            _ => Permission::None,
        };
        match self.role_name.as_deref() {
            Some("maintain") if coarse == Permission::Write => Permission::Maintain,
            Some("triage") if coarse == Permission::Read => Permission::Triage,
            _ => coarse,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Permission, Wire};

    #[test]
    fn finer_roles_never_give_more_than_the_coarse_word() {
        for (permission, role, expected) in [
            ("admin", Some("admin"), Permission::Admin),
            ("write", Some("maintain"), Permission::Maintain),
            ("write", Some("release-manager"), Permission::Write),
            ("read", Some("triage"), Permission::Triage),
            ("read", Some("maintain"), Permission::Read),
            ("none", None, Permission::None),
            ("owner", Some("admin"), Permission::None),
        ] {
            let wire = Wire { permission: permission.to_owned(), role_name: role.map(str::to_owned) };
            assert_eq!(wire.permission(), expected, "{permission} {role:?}");
        }
    }
}
