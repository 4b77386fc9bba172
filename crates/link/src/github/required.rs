//! The checks that must pass before a merge into a branch.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use pilot_core::ci::Required;
use serde::Deserialize;
use serde_json::Value;

use super::{GITHUB, Repo};
use crate::error::{CallFault, LinkError, Result};

#[derive(Deserialize)]
struct ProtectedBranchWire {
    #[serde(default)]
    protected: bool,
    protection: Option<ProtectionWire>,
}

#[derive(Deserialize)]
struct ProtectionWire {
    required_status_checks: Option<ChecksWire>,
}

#[derive(Deserialize)]
struct ChecksWire {
    #[serde(default)]
    contexts: Vec<String>,
    #[serde(default)]
    checks: Vec<RequiredCheckWire>,
}

#[derive(Deserialize)]
struct RequiredCheckWire {
    context: String,
}

#[derive(Deserialize)]
struct RuleWire {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    parameters: Value,
}

#[derive(Deserialize)]
struct ParametersWire {
    #[serde(default)]
    required_status_checks: Vec<RequiredCheckWire>,
}

/// Names of checks; unknown where the token may not see them.
type Names = Option<BTreeSet<String>>;

impl Repo {
    /// What the branch's protection and the repository's rules require, together.
    pub async fn required_checks(&self, branch: &str) -> Result<Required> {
        let (protection, rules) = (self.protection(branch).await?, self.rules(branch).await?);
        Ok(match (protection, rules) {
            (Some(protection), Some(rules)) => Required::Known(protection.into_iter().chain(rules).collect()),
            (_, _) => Required::Unknown,
        })
    }

    /// GitHub shows the protection with the branch, also to tokens that may only read; older servers do not.
    async fn protection(&self, branch: &str) -> Result<Names> {
        let action = self.describe(&format!("read the branch {branch:?}"));
        let wire: ProtectedBranchWire = self.get(&action, &["branches", branch]).await?;
        if !wire.protected {
            return Ok(Some(BTreeSet::new()));
        }
        if let Some(ProtectionWire { required_status_checks }) = wire.protection {
            return Ok(Some(required_status_checks.map_or_else(BTreeSet::new, ChecksWire::names)));
        }
        let action = self.describe(&format!("read the protection of {branch:?}"));
        let path = ["branches", branch, "protection", "required_status_checks"];
        unknown_if_hidden(self.get::<ChecksWire>(&action, &path).await.map(ChecksWire::names))
    }

    async fn rules(&self, branch: &str) -> Result<Names> {
        let has_no_rules = self.github.has_no_rules();
        if has_no_rules.load(Ordering::Relaxed) {
            return Ok(Some(BTreeSet::new()));
        }
        let action = self.describe(&format!("read the rules for {branch:?}"));
        let request = self.list(&action, &["rules", "branches", branch], &[])?;
        // Rules have no number of their own; two equal ones count once.
        let key = |rule: &RuleWire| format!("{} {}", rule.kind, rule.parameters);
        match self.github.pages::<Vec<RuleWire>, _>(&action, request, key).await {
            Ok(rules) => {
                let names = rules.items.into_iter().map(|rule| rule.names(&action));
                let names: Vec<Vec<String>> = names.collect::<Result<_, _>>()?;
                Ok(Some(names.into_iter().flatten().collect()))
            }
            // The branch was found just now, so the server does not know this address.
            Err(LinkError { why: CallFault::NotFound { .. }, .. }) => {
                has_no_rules.store(true, Ordering::Relaxed);
                Ok(Some(BTreeSet::new()))
            }
            Err(error) => unknown_if_hidden(Err(error)),
        }
    }
}

impl RuleWire {
    fn names(self, action: &str) -> Result<Vec<String>> {
        if self.kind != "required_status_checks" {
            return Ok(Vec::new());
        }
        let parameters: ParametersWire = serde_json::from_value(self.parameters).map_err(|error| {
            LinkError::malformed(&GITHUB, action, format!("a rule about checks cannot be read: {error}"))
        })?;
        Ok(parameters.required_status_checks.into_iter().map(|check| check.context).collect())
    }
}

impl ChecksWire {
    /// `contexts` repeats the names of `checks`; older servers have `contexts` only.
    fn names(self) -> BTreeSet<String> {
        self.checks.into_iter().map(|check| check.context).chain(self.contexts).collect()
    }
}

/// A missing permission hides the checks; any other failure is an error.
fn unknown_if_hidden(names: Result<BTreeSet<String>>) -> Result<Names> {
    match names {
        Ok(names) => Ok(Some(names)),
        Err(LinkError { why: CallFault::NotFound { .. } | CallFault::Forbidden { .. }, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
