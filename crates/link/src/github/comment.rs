//! Comments on issues and pull requests.

use serde::Deserialize;
use serde_json::json;

use super::issue::{before, moment};
use super::user::ActorWire;
use super::{Actor, GithubError, Listing, Marker, Number, Repo, Why};
use crate::http::{Class, Method, Moment, Request};

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

/// A comment that says what it shall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// It was written just now.
    Created(Comment),
    /// It was there and says something else now.
    Changed(Comment),
    /// It was there and said so already.
    Same(Comment),
}

impl Put {
    /// The comment.
    pub fn comment(&self) -> &Comment {
        match self {
            Self::Created(comment) | Self::Changed(comment) | Self::Same(comment) => comment,
        }
    }
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
    /// The comments on an issue or pull request, oldest first; only those changed since, if a time is given.
    pub async fn comments(
        &self,
        number: Number,
        since: Option<Moment>,
    ) -> Result<Listing<Comment>, GithubError> {
        let what = self.doing(&format!("list the comments on {number}"));
        let request = self.comment_list(&what, number, since)?;
        self.all_comments(&what, request).await
    }

    fn comment_list(
        &self,
        what: &str,
        number: Number,
        since: Option<Moment>,
    ) -> Result<Request, GithubError> {
        let since = since.map(|since| since.to_string());
        let query: Vec<(&str, &str)> = since.iter().map(|since| ("since", since.as_str())).collect();
        self.list(what, &["issues", &number.0.to_string(), "comments"], &query)
    }

    async fn all_comments(&self, what: &str, request: Request) -> Result<Listing<Comment>, GithubError> {
        let list = self.github.pages::<Vec<Wire>, _>(what, request, |wire| wire.id).await?;
        let items = list.items.into_iter().map(|wire| wire.comment(what)).collect::<Result<_, _>>()?;
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

    /// Makes sure that our comment with this mark says `body`: found, changed or written. `known` is its number, if it is
    /// known: that spares the search. `since` is the time at which it was first decided on.
    pub async fn put_comment(
        &self,
        number: Number,
        marker: &Marker,
        body: &str,
        known: Option<CommentId>,
        since: Moment,
    ) -> Result<Put, GithubError> {
        let signed = marker.sign(body);
        if let Some(id) = known
            && let Some(comment) = self.edit_comment(id, &signed).await?
        {
            return Ok(Put::Changed(comment));
        }
        match self.marked_comment(number, marker, since).await? {
            Some(comment) if same_text(&comment.body, &signed) => Ok(Put::Same(comment)),
            Some(Comment { id, .. }) => match self.edit_comment(id, &signed).await? {
                Some(comment) => Ok(Put::Changed(comment)),
                // Deleted between the look and now.
                None => self.create_comment(number, marker, &signed, since).await,
            },
            None => self.create_comment(number, marker, &signed, since).await,
        }
    }

    async fn create_comment(
        &self,
        number: Number,
        marker: &Marker,
        signed: &str,
        since: Moment,
    ) -> Result<Put, GithubError> {
        let what = self.doing(&format!("comment on {number}"));
        let path = ["issues", &number.0.to_string(), "comments"];
        let request = self.effect(&what, Method::POST, &path, Class::Once, &json!({"body": signed}))?;
        match self.github.write::<Wire>(&what, request).await {
            Ok(wire) => wire.comment(&what).map(Put::Created),
            Err(error @ GithubError { why: Why::Unknown { .. }, .. }) => {
                let found = self.marked_comment(number, marker, since).await.ok().flatten();
                found.map(Put::Created).ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Changes a comment; none when there is no such comment any more.
    pub async fn edit_comment(&self, id: CommentId, signed: &str) -> Result<Option<Comment>, GithubError> {
        let what = self.doing(&format!("change the comment {}", id.0));
        let path = ["issues", "comments", &id.0.to_string()];
        let body = json!({"body": signed});
        let request = self.effect(&what, Method::PATCH, &path, Class::Idempotent, &body)?;
        let changed = self.github.write::<Wire>(&what, request).await;
        self.absent(changed).await?.map(|wire| wire.comment(&what)).transpose()
    }

    /// The oldest comment of ours with the mark.
    async fn marked_comment(
        &self,
        number: Number,
        marker: &Marker,
        since: Moment,
    ) -> Result<Option<Comment>, GithubError> {
        let me = self.github.login().await?;
        let what = self.doing(&format!("look for a comment on {number}"));
        let request = self.comment_list(&what, number, Some(before(since)))?.fresh();
        let comments = self.all_comments(&what, request).await?.items;
        Ok(comments.into_iter().find(|comment| marker.is_in(&comment.body) && comment.author.is(me)))
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

/// Whether two texts are the same to a reader: servers change ends of lines.
fn same_text(one: &str, other: &str) -> bool {
    one.replace("\r\n", "\n").trim() == other.replace("\r\n", "\n").trim()
}
