//! Releases and tags.

use serde::Deserialize;
use serde_json::json;

use super::{GithubError, Listing, Repo, Sha, Why};
use crate::http::{Class, Method};

/// GitHub takes 125,000 characters.
const LONGEST_NOTES: usize = 120_000;

/// A tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// The commit it leads to.
    pub commit: Sha,
}

/// A release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its number.
    pub id: u64,
    /// Its tag.
    pub tag: String,
    /// Its name.
    pub name: String,
    /// The address for people.
    pub html_url: String,
}

/// A release to be published.
#[derive(Clone, Copy, Debug)]
pub struct NewRelease<'a> {
    /// Its tag, made if there is none.
    pub tag: &'a str,
    /// The commit to tag.
    pub commit: &'a Sha,
    /// Its name.
    pub name: &'a str,
    /// What is in it.
    pub notes: &'a str,
    /// Whether it is not yet for everybody.
    pub prerelease: bool,
}

/// A release that is there now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseMade {
    /// It was published just now.
    Created(Release),
    /// There was one of this tag.
    Found(Release),
    /// The tag is there, but leads elsewhere; nothing was published.
    Taken {
        /// Where it leads.
        at: Sha,
    },
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
struct Wire {
    id: u64,
    tag_name: String,
    name: Option<String>,
    html_url: String,
}

impl Repo {
    /// All tags.
    pub async fn tags(&self) -> Result<Listing<Tag>, GithubError> {
        let what = self.doing("list the tags");
        let request = self.list(&what, &["tags"], &[])?;
        let list = self.github.pages::<Vec<TagWire>, _>(&what, request, |wire| wire.name.clone()).await?;
        let tag = |wire: TagWire| Ok(Tag { commit: Sha::parse(&wire.commit.sha)?, name: wire.name });
        let items = list.items.into_iter().map(tag).collect::<Result<_, GithubError>>()?;
        Ok(Listing { items, unchanged: list.unchanged })
    }

    /// The published release of a tag.
    pub async fn release(&self, tag: &str) -> Result<Option<Release>, GithubError> {
        let what = self.doing(&format!("look for the release {tag:?}"));
        let found = self.get::<Wire>(&what, &["releases", "tags", tag]).await;
        Ok(self.absent(found).await?.map(Release::from))
    }

    /// Publishes a release, unless its tag has one already or leads elsewhere.
    pub async fn create_release(&self, new: &NewRelease<'_>) -> Result<ReleaseMade, GithubError> {
        if let Some(found) = self.release(new.tag).await? {
            return Ok(ReleaseMade::Found(found));
        }
        let tagged = self.reference(&format!("tags/{}", new.tag)).await?;
        if let Some(at) = tagged.filter(|at| at != new.commit) {
            return Ok(ReleaseMade::Taken { at });
        }
        let what = self.doing(&format!("publish the release {:?}", new.tag));
        let notes: String = new.notes.chars().take(LONGEST_NOTES).collect();
        let body = json!({
            "tag_name": new.tag,
            "target_commitish": new.commit.as_str(),
            "name": new.name,
            "body": notes,
            "prerelease": new.prerelease,
        });
        let request = self.effect(&what, Method::POST, &["releases"], Class::Once, &body)?;
        let error = match self.github.write::<Wire>(&what, request).await {
            Ok(wire) => return Ok(ReleaseMade::Created(wire.into())),
            Err(error) => error,
        };
        if !matches!(error.why, Why::Unknown { .. }) && !error.why.says_it_exists() {
            return Err(error);
        }
        let found = self.release(new.tag).await.ok().flatten();
        let detail = error.why.to_string();
        found.map(ReleaseMade::Found).ok_or(GithubError::new(error.what, Why::Unknown { detail }))
    }
}

impl From<Wire> for Release {
    fn from(wire: Wire) -> Self {
        let name = wire.name.unwrap_or_else(|| wire.tag_name.clone());
        Self { id: wire.id, tag: wire.tag_name, name, html_url: wire.html_url }
    }
}
