//! Refs: branches and tags, created only where none of that name exists, and whether one contains a commit.

use pilot_core::id::Sha;
use pilot_core::port::TagSeen;
use serde::Deserialize;
use serde_json::json;

use super::refusal::is_already_exists;
use super::{GITHUB, Repo, parse_reply};
use crate::error::{CallFault, LinkError, Result};
use crate::http::{Method, Read, Request, Resend};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefCreated {
    Created,
    /// It existed, at the wanted commit.
    Found,
    /// It existed at another commit, and stays there.
    Taken {
        at: Sha,
    },
}

#[derive(Deserialize)]
struct RefWire {
    object: ObjectWire,
}

#[derive(Deserialize)]
struct ObjectWire {
    #[serde(rename = "type")]
    kind: String,
    sha: String,
}

#[derive(Deserialize)]
struct TagWire {
    name: String,
    commit: CommitWire,
}

#[derive(Deserialize)]
struct CommitWire {
    sha: String,
}

#[derive(Deserialize)]
struct ComparisonWire {
    status: String,
}

impl Repo {
    /// The commit of a ref (`heads/main`, `tags/v1`); none when it does not exist.
    pub async fn reference(&self, name: &str) -> Result<Option<Sha>> {
        let action = self.describe(&format!("read the ref {name:?}"));
        let path: Vec<&str> = ["git", "ref"].into_iter().chain(name.split('/')).collect();
        let found = self.get::<RefWire>(&action, &path).await;
        let Some(RefWire { object }) = self.absent(found).await? else { return Ok(None) };
        if object.kind != "tag" {
            return parse_reply(&action, object.sha).map(Some);
        }
        // An annotated tag is an object of its own that names the commit.
        let tag: RefWire = self.get(&action, &["git", "tags", &object.sha]).await?;
        parse_reply(&action, tag.object.sha).map(Some)
    }

    pub async fn create_ref(&self, name: &str, at: &Sha) -> Result<RefCreated> {
        if let Some(found) = self.reference(name).await? {
            return Ok(compare_ref(found, at));
        }
        let action = self.describe(&format!("create the ref {name:?}"));
        let body = json!({"ref": format!("refs/{name}"), "sha": at});
        let error =
            match self.write::<RefWire>(&action, (Method::POST, Resend::Once), &["git", "refs"], &body).await
            {
                Ok(_) => return Ok(RefCreated::Created),
                Err(error) => error,
            };
        if !matches!(error.why, CallFault::Unconfirmed { .. }) && !is_already_exists(&error.why) {
            return Err(error);
        }
        let found = self.reference(name).await.ok().flatten();
        let why = CallFault::Unconfirmed { detail: error.to_string() };
        found.map(|found| compare_ref(found, at)).ok_or(LinkError { why, ..error })
    }

    pub async fn tags(&self) -> Result<Vec<TagSeen>> {
        let action = self.describe("list the tags");
        let request = self.list(&action, &["tags"], &[])?;
        let list = self.github.pages::<Vec<TagWire>, _>(&action, request, |wire| wire.name.clone()).await?;
        let to_tag =
            |wire: TagWire| Ok(TagSeen { commit: parse_reply(&action, wire.commit.sha)?, name: wire.name });
        list.items.into_iter().map(to_tag).collect()
    }

    pub async fn contains(&self, branch: &str, commit: &Sha) -> Result<bool> {
        let action = self.describe(&format!("compare {branch:?} and {commit}"));
        let mut url = self.url(&action, &["compare", &format!("{branch}...{commit}")])?;
        // Only the status is needed, not two hundred and fifty commits.
        url.query_pairs_mut().append_pair("per_page", "1");
        let Read { value: wire, .. } = self.github.read::<ComparisonWire>(&action, Request::get(url)).await?;
        match wire.status.as_str() {
            "identical" | "behind" => Ok(true),
            "ahead" | "diverged" => Ok(false),
            other => Err(LinkError::malformed(&GITHUB, &action, format!("unknown comparison {other:?}"))),
        }
    }
}

fn compare_ref(found: Sha, wanted: &Sha) -> RefCreated {
    if found == *wanted { RefCreated::Found } else { RefCreated::Taken { at: found } }
}
