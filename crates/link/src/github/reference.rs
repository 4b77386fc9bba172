//! Branches and tags by name, made only where there is none.

use serde::Deserialize;
use serde_json::json;

use super::{GithubError, Repo, Sha, Why};
use crate::http::{Class, Method};

/// What became of making a ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefMade {
    /// It was made just now.
    Created,
    /// It was there, and where it shall be.
    Found,
    /// It was there, but elsewhere; it stays.
    Taken {
        /// Where it is.
        at: Sha,
    },
}

#[derive(Deserialize)]
struct Wire {
    object: ObjectWire,
}

#[derive(Deserialize)]
struct ObjectWire {
    #[serde(rename = "type")]
    kind: String,
    sha: String,
}

impl Repo {
    /// The commit a ref (`heads/main`, `tags/v1`) leads to; none when there is no such ref.
    pub async fn reference(&self, name: &str) -> Result<Option<Sha>, GithubError> {
        let what = self.doing(&format!("look at {name:?}"));
        let path: Vec<&str> = ["git", "ref"].into_iter().chain(name.split('/')).collect();
        let found = self.get::<Wire>(&what, &path).await;
        let Some(Wire { object }) = self.absent(found).await? else { return Ok(None) };
        if object.kind != "tag" {
            return Sha::parse(&object.sha).map(Some);
        }
        // A tag with a message is an object of its own, which leads on.
        let tag: Wire = self.get(&what, &["git", "tags", &object.sha]).await?;
        Sha::parse(&tag.object.sha).map(Some)
    }

    /// Makes a ref, unless there is one of that name.
    pub async fn create_ref(&self, name: &str, at: &Sha) -> Result<RefMade, GithubError> {
        if let Some(found) = self.reference(name).await? {
            return Ok(found_ref(found, at));
        }
        let what = self.doing(&format!("make {name:?}"));
        let body = json!({"ref": format!("refs/{name}"), "sha": at.as_str()});
        let request = self.effect(&what, Method::POST, &["git", "refs"], Class::Once, &body)?;
        let error = match self.github.write::<Wire>(&what, request).await {
            Ok(_) => return Ok(RefMade::Created),
            Err(error) => error,
        };
        if !matches!(error.why, Why::Unknown { .. }) && !error.why.says_it_exists() {
            return Err(error);
        }
        let found = self.reference(name).await.ok().flatten();
        let detail = error.why.to_string();
        found.map(|found| found_ref(found, at)).ok_or(GithubError::new(error.what, Why::Unknown { detail }))
    }
}

fn found_ref(found: Sha, at: &Sha) -> RefMade {
    if found == *at { RefMade::Found } else { RefMade::Taken { at: found } }
}
