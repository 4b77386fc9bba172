//! Branch protection.

use crate::server::{Call, Failure, Repo};
use crate::store::Pull;

/// What the pre-receive hook is told: a line for each protected branch.
pub(super) async fn rules_for_push(_call: &Call, _repo: &Repo) -> Result<String, Failure> {
    Ok(String::new())
}

/// Whether the protection of its base lets a pull request be merged.
pub(super) async fn may_merge(_call: &Call, _repo: &Repo, _pull: &Pull) -> Result<(), Failure> {
    Ok(())
}
