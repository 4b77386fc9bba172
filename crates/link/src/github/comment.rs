//! Comments on issues and pull requests.

use serde::Deserialize;
use serde_json::json;

use super::issue::moment;
use super::user::ActorWire;
use super::{Actor, GithubError, Listing, Number, Repo, Why};
use crate::http::{Class, Method, Moment};

/// The number of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommentId(pub u64);

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Its number.
    pub id: CommentId,
    /// Who wrote it.
    pub author: Actor,
    /// Its text.
    pub body: String,
    /// When it was written.
    pub created: Moment,
    /// When it was changed last.
    pub updated: Moment,
}

#[derive(Deserialize)]
struct Wire {
    id: u64,
    user: Option<ActorWire>,
    body: Option<String>,
    created_at: String,
    updated_at: String,
}

/// A comment, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// The issue or pull request.
    pub on: Number,
    /// The comment.
    pub comment: Comment,
}

#[derive(Deserialize)]
struct PostedWire {
    issue_url: String,
    #[serde(flatten)]
    comment: Wire,
}

impl PostedWire {
    fn posted(self, what: &str) -> Result<Posted, GithubError> {
        let number = self.issue_url.rsplit('/').next().and_then(|number| number.parse().ok());
        let Some(number) = number else {
            let detail = "a comment does not say what it is on".to_owned();
            return Err(GithubError::new(what, Why::Malformed { detail }));
        };
        Ok(Posted { on: Number(number), comment: self.comment.comment(what)? })
    }
}

impl Repo {
    /// The comments on an issue or pull request, oldest first.
    pub async fn comments(&self, number: Number) -> Result<Listing<Comment>, GithubError> {
        let what = self.doing(&format!("list the comments on {number}"));
        let request = self.list(&what, &["issues", &number.0.to_string(), "comments"], &[])?;
        let list = self.github.pages::<Vec<Wire>, _>(&what, request, |wire| wire.id).await?;
        let items = list.items.into_iter().map(|wire| wire.comment(&what)).collect::<Result<_, _>>()?;
        Ok(Listing { items, unchanged: list.unchanged })
    }

    /// Every comment on any issue or pull request that changed since then, oldest first.
    pub async fn comments_since(&self, since: Moment) -> Result<Listing<Posted>, GithubError> {
        let what = self.doing("list the comments");
        let since = since.to_string();
        let query = [("since", since.as_str()), ("sort", "created"), ("direction", "asc")];
        let request = self.list(&what, &["issues", "comments"], &query)?.poll();
        let list = self.github.pages::<Vec<PostedWire>, _>(&what, request, |wire| wire.comment.id).await?;
        let items = list.items.into_iter().map(|wire| wire.posted(&what)).collect::<Result<_, _>>()?;
        Ok(Listing { items, unchanged: list.unchanged })
    }

    /// Writes a comment: one call, and what became of it. Whoever repeats it looks first.
    pub async fn add_comment(&self, number: Number, body: &str) -> Result<Comment, GithubError> {
        let what = self.doing(&format!("comment on {number}"));
        let path = ["issues", &number.0.to_string(), "comments"];
        let request = self.effect(&what, Method::POST, &path, Class::Once, &json!({"body": body}))?;
        self.github.write::<Wire>(&what, request).await?.comment(&what)
    }

    /// Changes a comment; none when there is no such comment any more.
    pub async fn edit_comment(&self, id: CommentId, text: &str) -> Result<Option<Comment>, GithubError> {
        let what = self.doing(&format!("change the comment {}", id.0));
        let path = ["issues", "comments", &id.0.to_string()];
        let body = json!({"body": text});
        let request = self.effect(&what, Method::PATCH, &path, Class::Idempotent, &body)?;
        let changed = self.github.write::<Wire>(&what, request).await;
        self.absent(changed).await?.map(|wire| wire.comment(&what)).transpose()
    }
}

impl Wire {
    fn comment(self, what: &str) -> Result<Comment, GithubError> {
        Ok(Comment {
            id: CommentId(self.id),
            author: self.user.into(),
            body: self.body.unwrap_or_default(),
            created: moment(what, &self.created_at)?,
            updated: moment(what, &self.updated_at)?,
        })
    }
}
