//! What GitHub says about credentials and a repository when nothing is changed.

use pilot_core::id::{Branch, Sha};
use serde::Deserialize;
use serde_json::Value;

use super::{Repo, parse_reply};
use crate::error::LinkError;
use crate::forge::Checkup;
use crate::time::parse_http_date;

#[derive(Deserialize)]
struct HeadWire {
    #[serde(default)]
    protected: bool,
    commit: CommitWire,
}

#[derive(Deserialize)]
struct CommitWire {
    sha: String,
}

impl Repo {
    pub(crate) async fn checkup(&self, label: &str, base: &Branch) -> Checkup {
        let headers = self.headers().await.unwrap_or_default();
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let scopes = text("x-oauth-scopes").map(|scopes| {
            scopes.split(',').map(|scope| scope.trim().to_owned()).filter(|scope| !scope.is_empty()).collect()
        });
        let (is_protected, reports) = match self.head(base).await {
            Ok((is_protected, sha)) => (Ok(is_protected), self.count_reports(&sha).await),
            Err(error) => (Err(error.clone()), Err(error)),
        };
        Checkup {
            scopes,
            server_time: text("date").and_then(parse_http_date),
            rate: self.github.rate(),
            has_label: self.has_label(label).await,
            is_protected,
            reports,
        }
    }

    async fn has_label(&self, label: &str) -> Result<bool, LinkError> {
        let action = self.describe(&format!("read the label {label:?}"));
        let found = self.get::<Value>(&action, &["labels", label]).await;
        Ok(self.absent(found).await?.is_some())
    }

    /// The newest commit of a branch, and whether the branch is protected.
    async fn head(&self, branch: &Branch) -> Result<(bool, Sha), LinkError> {
        let action = self.describe(&format!("read the branch {:?}", branch.as_str()));
        let wire: HeadWire = self.get(&action, &["branches", branch.as_str()]).await?;
        Ok((wire.protected, parse_reply(&action, wire.commit.sha)?))
    }

    async fn count_reports(&self, sha: &Sha) -> Result<usize, LinkError> {
        Ok(self.check_runs(sha).await?.len() + self.statuses(sha).await?.len())
    }
}
