//! The forge port, answered by the toy.

use std::collections::BTreeSet;

use pilot_core::ci::{Check, CheckState, Required};
use pilot_core::id::{Branch, PrNumber, Sha};
use pilot_core::observed::{Failure, Mergeable, Pr, PrReview, PrState, ReviewDecision, Trust};
use pilot_core::port::{ForgeAnswer, ForgeCall, Marker, NewPull, PullSeen, TagSeen};
use serde::Deserialize;
use serde_json::json;

use super::{NothingWire, ParseAs, Toy};
use crate::error::{LinkError, none_if_absent};
use crate::http::{Method, Resend};

#[derive(Deserialize)]
struct ToyPullWire {
    number: u64,
    branch: String,
    head: String,
    /// The commit of its merge.
    merged: Option<String>,
    is_open: bool,
    /// Whether it can be merged; none while the service does not know.
    can_merge: Option<bool>,
    mark: Option<String>,
}

#[derive(Deserialize)]
struct MergedWire {
    commit: String,
}

#[derive(Deserialize)]
struct ToyCheckWire {
    name: String,
    /// `passed`, `failed`; any other word is not over.
    state: String,
}

#[derive(Deserialize)]
struct ToyReviewWire {
    id: u64,
    by: String,
    approves: bool,
}

#[derive(Deserialize)]
struct AnswerWire<T> {
    answer: T,
}

#[derive(Deserialize)]
struct ToyTagWire {
    name: String,
    commit: String,
}

impl Toy {
    pub(crate) async fn call_forge(&self, call: &ForgeCall) -> Result<ForgeAnswer, Failure> {
        Ok(match call {
            ForgeCall::PullsFrom(branch) => self.pulls(&format!("pulls?from={branch}")).await?,
            ForgeCall::PullsOnto(branch) => self.pulls(&format!("pulls?open=1&onto={branch}")).await?,
            ForgeCall::Pull(pr) => {
                ForgeAnswer::Pull(self.read::<ToyPullWire>(&format!("pulls/{}", pr.0)).await?.pr()?)
            }
            ForgeCall::CreatePull(NewPull { branch, base, title, text, marker }) => {
                let body = json!({"from": branch, "onto": base, "title": title, "text": text, "mark": marker.to_string()});
                let wire: ToyPullWire = self.write(Method::POST, "pulls", Resend::Once, &body).await?;
                ForgeAnswer::Pull(wire.pr()?)
            }
            ForgeCall::ClosePull(pr) => {
                let path = format!("pulls/{}/closed", pr.0);
                self.write::<NothingWire>(Method::PUT, &path, Resend::Idempotent, &json!(true)).await?;
                ForgeAnswer::Done
            }
            ForgeCall::Comments(pr) => {
                ForgeAnswer::Comments(self.comments(&format!("pulls/{}/comments", pr.0)).await?)
            }
            ForgeCall::AddComment(pr, new) => {
                ForgeAnswer::Comment(self.add_comment(&format!("pulls/{}/comments", pr.0), new).await?)
            }
            ForgeCall::Reviews(pr) => {
                let path = format!("pulls/{}/reviews", pr.0);
                let list = self.list::<ToyReviewWire, _>(&path, |wire| wire.id).await?.items.into_iter();
                let review = |wire: ToyReviewWire| {
                    let decision =
                        if wire.approves { ReviewDecision::Approve } else { ReviewDecision::RequestChanges };
                    PrReview { login: wire.by, decision }
                };
                ForgeAnswer::Reviews(list.map(review).collect())
            }
            ForgeCall::MayWrite(login) => {
                let found = self.read::<AnswerWire<bool>>(&format!("writers/{login}")).await;
                let found = none_if_absent(found, self.read::<NothingWire>("project")).await?;
                let may_write = found.is_some_and(|wire| wire.answer);
                ForgeAnswer::MayWrite(if may_write { Trust::Trusted } else { Trust::Untrusted })
            }
            ForgeCall::Merge { pr, sha, method, title } => {
                let body = json!({"head": sha, "method": method, "title": title});
                let path = format!("pulls/{}/merge", pr.0);
                let wire: MergedWire = self.write(Method::PUT, &path, Resend::Once, &body).await?;
                ForgeAnswer::Merged(wire.commit.parse_as("a commit")?)
            }
            ForgeCall::Checks(sha) => ForgeAnswer::Checks(self.checks(sha).await?),
            ForgeCall::Required(branch) => {
                let wire: AnswerWire<BTreeSet<String>> = self.read(&format!("required/{branch}")).await?;
                ForgeAnswer::Required(Required::Known(wire.answer))
            }
            ForgeCall::CheckLog { sha, .. } => {
                let found = self.read::<AnswerWire<String>>(&format!("commits/{sha}/log")).await;
                let found = none_if_absent(found, self.read::<NothingWire>("project")).await?;
                ForgeAnswer::Log(found.map(|log| log.answer))
            }
            ForgeCall::Contains { branch, sha } => {
                let wire: AnswerWire<bool> = self.read(&format!("branches/{branch}/contains/{sha}")).await?;
                ForgeAnswer::Contains(wire.answer)
            }
            ForgeCall::Tags => {
                let tags =
                    self.list::<ToyTagWire, _>("tags", |wire| wire.name.clone()).await?.items.into_iter();
                let seen = tags
                    .map(|wire| Ok(TagSeen { commit: wire.commit.parse_as("a commit")?, name: wire.name }));
                ForgeAnswer::Tags(seen.collect::<Result<_, LinkError>>()?)
            }
            ForgeCall::CreateTag { name, commit } => {
                let body = json!({"name": name, "commit": commit});
                self.write::<NothingWire>(Method::POST, "tags", Resend::Once, &body).await?;
                ForgeAnswer::Done
            }
        })
    }

    async fn pulls(&self, path: &str) -> Result<ForgeAnswer, LinkError> {
        let list = self.list::<ToyPullWire, _>(path, |wire| wire.number).await?.items.into_iter();
        let seen = list.map(|wire| {
            let marker = wire.mark.as_deref().and_then(Marker::parse);
            Ok(PullSeen { pr: wire.pr()?, marker })
        });
        Ok(ForgeAnswer::Pulls(seen.collect::<Result<_, LinkError>>()?))
    }

    async fn checks(&self, sha: &Sha) -> Result<BTreeSet<Check>, LinkError> {
        let list =
            self.list::<ToyCheckWire, _>(&format!("commits/{sha}/checks"), |wire| wire.name.clone()).await?;
        let check = |ToyCheckWire { name, state }| {
            let state = match state.as_str() {
                "passed" => CheckState::Passed,
                "failed" => CheckState::Failed,
                _ => CheckState::Pending,
            };
            Check { name, state }
        };
        Ok(list.items.into_iter().map(check).collect())
    }
}

impl ToyPullWire {
    fn pr(&self) -> Result<Pr, LinkError> {
        let branch: Branch = self.branch.parse_as("a branch")?;
        let merged = self.merged.as_ref().map(|commit| commit.parse_as("a commit")).transpose()?;
        Ok(Pr {
            number: PrNumber(self.number),
            branch,
            head: self.head.parse_as("a commit")?,
            state: match merged {
                Some(commit) => PrState::Merged { commit },
                None if self.is_open => PrState::Open,
                None => PrState::Closed,
            },
            mergeable: match self.can_merge {
                Some(true) => Mergeable::Yes,
                Some(false) => Mergeable::No,
                None => Mergeable::Unknown,
            },
        })
    }
}
