//! Tags.

use serde::Deserialize;

use super::{GithubError, Listing, Repo, Sha};

/// A tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// The commit it leads to.
    pub commit: Sha,
}

#[derive(Deserialize)]
struct Wire {
    name: String,
    commit: CommitWire,
}

#[derive(Deserialize)]
struct CommitWire {
    sha: String,
}

impl Repo {
    /// All tags.
    pub async fn tags(&self) -> Result<Listing<Tag>, GithubError> {
        let what = self.doing("list the tags");
        let request = self.list(&what, &["tags"], &[])?;
        let list = self.github.pages::<Vec<Wire>, _>(&what, request, |wire| wire.name.clone()).await?;
        let tag = |wire: Wire| Ok(Tag { commit: Sha::parse(&wire.commit.sha)?, name: wire.name });
        let items = list.items.into_iter().map(tag).collect::<Result<_, GithubError>>()?;
        Ok(Listing { items, unchanged: list.unchanged })
    }
}
