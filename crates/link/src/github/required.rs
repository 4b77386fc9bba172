//! Which checks a branch wants before it takes a merge.

use std::sync::atomic::Ordering;

use serde::Deserialize;
use serde_json::Value;

use super::{GithubError, Repo, Why};

/// A check that must pass.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequiredCheck {
    /// The name of the check run, or the context of the status.
    pub name: String,
    /// The App that must have run it; none for anybody.
    pub app_id: Option<u64>,
}

/// What is known of the checks that must pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Required {
    /// These and no others.
    Known(Vec<RequiredCheck>),
    /// These, and perhaps others that we may not see.
    Unknown {
        /// Those we see.
        known: Vec<RequiredCheck>,
        /// What hides the others.
        why: Why,
    },
}

#[derive(Deserialize)]
struct BranchWire {
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
    checks: Vec<CheckWire>,
}

#[derive(Deserialize)]
struct CheckWire {
    context: String,
    /// -1 stands for anybody.
    app_id: Option<i64>,
    integration_id: Option<i64>,
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
    required_status_checks: Vec<CheckWire>,
}

impl Repo {
    /// The checks that a branch's protection and the repository's rules want, all of them or with the reason why not.
    pub async fn required_checks(&self, branch: &str) -> Result<Required, GithubError> {
        let (mut checks, hidden) = match self.protection(branch).await? {
            Ok(checks) => (checks, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let hidden_rules = match self.rules(branch).await? {
            Ok(rules) => {
                checks.extend(rules);
                None
            }
            Err(why) => Some(why),
        };
        checks.sort();
        checks.dedup();
        Ok(match hidden.or(hidden_rules) {
            None => Required::Known(checks),
            Some(why) => Required::Unknown { known: checks, why },
        })
    }

    /// What protects the branch. The branch itself tells those who may only read; not every server does.
    async fn protection(&self, branch: &str) -> Result<Result<Vec<RequiredCheck>, Why>, GithubError> {
        let what = self.doing(&format!("look at the branch {branch:?}"));
        let wire: BranchWire = self.get(&what, &["branches", branch]).await?;
        if !wire.protected {
            return Ok(Ok(Vec::new()));
        }
        if let Some(ProtectionWire { required_status_checks }) = wire.protection {
            return Ok(Ok(required_status_checks.map_or_else(Vec::new, ChecksWire::required)));
        }
        let what = self.doing(&format!("look at the protection of {branch:?}"));
        let path = ["branches", branch, "protection", "required_status_checks"];
        match self.get::<ChecksWire>(&what, &path).await {
            Ok(checks) => Ok(Ok(checks.required())),
            Err(error) => hidden(error).map(Err),
        }
    }

    /// What the rules of repository and organisation want.
    async fn rules(&self, branch: &str) -> Result<Result<Vec<RequiredCheck>, Why>, GithubError> {
        let has_no_rules = self.github.has_no_rules();
        if has_no_rules.load(Ordering::Relaxed) {
            return Ok(Ok(Vec::new()));
        }
        let what = self.doing(&format!("look at the rules for {branch:?}"));
        let request = self.list(&what, &["rules", "branches", branch], &[])?;
        // Rules have no number of their own; two that say the same are as good as one.
        let same = |rule: &RuleWire| format!("{} {}", rule.kind, rule.parameters);
        match self.github.pages::<Vec<RuleWire>, _>(&what, request, same).await {
            Ok(rules) => rules
                .items
                .into_iter()
                .map(|rule| rule.required(&what))
                .collect::<Result<Vec<_>, _>>()
                .map(|checks| Ok(checks.concat())),
            // The branch was found just now, so it is the question that is not known.
            Err(GithubError { why: Why::NotFound { .. }, .. }) => {
                has_no_rules.store(true, Ordering::Relaxed);
                Ok(Ok(Vec::new()))
            }
            Err(error) => hidden(error).map(Err),
        }
    }
}

impl RuleWire {
    fn required(self, what: &str) -> Result<Vec<RequiredCheck>, GithubError> {
        if self.kind != "required_status_checks" {
            return Ok(Vec::new());
        }
        let parameters: ParametersWire = serde_json::from_value(self.parameters).map_err(|error| {
            let detail = format!("a rule about checks cannot be read: {error}");
            GithubError::new(what, Why::Malformed { detail })
        })?;
        Ok(parameters.required_status_checks.into_iter().map(CheckWire::required).collect())
    }
}

impl ChecksWire {
    /// `checks` says more than `contexts`, which only repeats the names; old servers have the names alone.
    fn required(self) -> Vec<RequiredCheck> {
        let mut checks: Vec<RequiredCheck> = self.checks.into_iter().map(CheckWire::required).collect();
        for name in self.contexts {
            if !checks.iter().any(|check| check.name == name) {
                checks.push(RequiredCheck { name, app_id: None });
            }
        }
        checks
    }
}

impl CheckWire {
    fn required(self) -> RequiredCheck {
        let app_id = self.app_id.or(self.integration_id).and_then(|id| u64::try_from(id).ok());
        RequiredCheck { name: self.context, app_id }
    }
}

/// A wall hides something; anything else is an error.
fn hidden(error: GithubError) -> Result<Why, GithubError> {
    if matches!(error.why, Why::NotFound { .. } | Why::Forbidden { .. }) { Ok(error.why) } else { Err(error) }
}
