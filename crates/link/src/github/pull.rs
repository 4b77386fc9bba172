//! Pull requests.

use pilot_core::id::{Branch, PrNumber, Sha};
use pilot_core::observed::{Mergeable, Pr, PrState};
use pilot_core::port::{NewPull, PullSeen};
use serde::Deserialize;
use serde_json::json;

use super::html_marker::{read_marker, write_marked};
use super::refusal::is_already_exists;
use super::{GITHUB, Repo, RepoName, parse_reply};
use crate::error::{CallFault, LinkError, Result};
use crate::http::{Method, Request, Resend};

/// GitHub takes 256 characters in a title.
const LONGEST_TITLE: usize = 256;

#[derive(Deserialize)]
struct PullWire {
    number: u64,
    body: Option<String>,
    state: String,
    merged_at: Option<String>,
    merge_commit_sha: Option<String>,
    mergeable: Option<bool>,
    head: PullBranchWire,
    base: PullBranchWire,
}

#[derive(Deserialize)]
struct PullBranchWire {
    #[serde(rename = "ref")]
    name: String,
    sha: String,
    repo: Option<RepoWire>,
}

#[derive(Deserialize)]
struct RepoWire {
    full_name: String,
}

impl Repo {
    /// The pull requests from a branch of this repository, open or not, newest first. Lists do not tell whether they could
    /// be merged.
    pub async fn pulls_from(&self, branch: &Branch) -> Result<Vec<PullSeen>> {
        let action = self.describe(&format!("list the pull requests from {branch}"));
        let head = format!("{}:{branch}", self.name.owner());
        let query = [("head", head.as_str()), ("state", "all"), ("sort", "created"), ("direction", "desc")];
        // GitHub ignores a filter it does not understand, and a fork may have a branch of that name.
        let is_ours = |wire: &PullWire| {
            let repo = wire.head.repo.as_ref().and_then(|repo| RepoName::parse(&repo.full_name).ok());
            wire.head.name == branch.as_str() && repo.is_some_and(|repo| repo.is_same(&self.name))
        };
        self.pulls(&action, self.list(&action, &["pulls"], &query)?, is_ours).await
    }

    pub async fn pulls_onto(&self, branch: &Branch) -> Result<Vec<PullSeen>> {
        let action = self.describe(&format!("list the pull requests for {branch}"));
        let request = self.list(&action, &["pulls"], &[("base", branch.as_str())])?;
        // GitHub ignores a filter it does not understand.
        let is_onto = |wire: &PullWire| {
            wire.base.name == branch.as_str() && wire.state == "open" && wire.merged_at.is_none()
        };
        self.pulls(&action, request, is_onto).await
    }

    async fn pulls(
        &self,
        action: &str,
        request: Request,
        is_wanted: impl Fn(&PullWire) -> bool + Send,
    ) -> Result<Vec<PullSeen>> {
        let list = self.github.pages::<Vec<PullWire>, _>(action, request, |wire| wire.number).await?;
        let to_seen = |wire: PullWire| {
            let marker = wire.body.as_deref().and_then(read_marker);
            Ok(PullSeen { pr: wire.pr(action)?, marker })
        };
        list.items.into_iter().filter(is_wanted).map(to_seen).collect()
    }

    pub async fn pull(&self, pr: PrNumber) -> Result<Pr> {
        let action = self.describe(&format!("read pull request {}", pr.0));
        let wire: PullWire = self.get(&action, &["pulls", &pr.0.to_string()]).await?;
        wire.pr(&action)
    }

    /// Opens a pull request with one request; before a repetition the caller looks for it.
    pub async fn create_pull(&self, new: &NewPull) -> Result<Pr> {
        let action = self.describe(&format!("open a pull request from {}", new.branch));
        let body = json!({
            "title": new.title.chars().take(LONGEST_TITLE).collect::<String>(),
            "body": write_marked(&new.text, Some(&new.marker)),
            "head": new.branch,
            "base": new.base,
            "draft": false,
        });
        match self.write::<PullWire>(&action, (Method::POST, Resend::Once), &["pulls"], &body).await {
            Ok(wire) => wire.pr(&action),
            // One exists that the list did not show yet.
            Err(error) if is_already_exists(&error.why) => {
                let detail = error.to_string();
                Err(LinkError::new(&GITHUB, action, CallFault::Unconfirmed { detail }))
            }
            Err(error) => Err(error),
        }
    }

    /// Closes a pull request; one that is closed already stays so.
    pub async fn close_pull(&self, pr: PrNumber) -> Result<Pr> {
        let action = self.describe(&format!("close pull request {}", pr.0));
        let path = ["pulls", &pr.0.to_string()];
        let body = json!({"state": "closed"});
        self.write::<PullWire>(&action, (Method::PATCH, Resend::Idempotent), &path, &body).await?.pr(&action)
    }
}

impl PullWire {
    fn pr(self, action: &str) -> Result<Pr> {
        let head: Sha = parse_reply(action, self.head.sha)?;
        let state = match (&self.merged_at, self.state.as_str()) {
            // Merged without a squash or a rebase, the head itself is on the base.
            (Some(_), _) => PrState::Merged {
                commit: self
                    .merge_commit_sha
                    .and_then(|sha| Sha::parse(&sha).ok())
                    .unwrap_or_else(|| head.clone()),
            },
            (None, "open") => PrState::Open,
            (None, _) => PrState::Closed,
        };
        Ok(Pr {
            number: PrNumber(self.number),
            branch: parse_reply(action, self.head.name)?,
            head,
            state,
            // GitHub computes it later.
            mergeable: match self.mergeable {
                None => Mergeable::Unknown,
                Some(true) => Mergeable::Yes,
                Some(false) => Mergeable::No,
            },
        })
    }
}
