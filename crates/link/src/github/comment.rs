//! Comments on issues and pull requests, which GitHub numbers together.

use pilot_core::id::{CommentId, PrNumber, TaskKey};
use pilot_core::port::{CommentPlace, CommentSeen, NewComment, PostedComment};
use pilot_core::time::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::html_marker::{read_marker, write_marked};
use super::user::{ActorWire, read_author};
use super::{GITHUB, Repo, TASK_PREFIX, parse_reply, parse_time};
use crate::error::{LinkError, Result};
use crate::http::{Method, Resend};
use crate::pages::Listing;
use crate::time::format_rfc3339;

#[derive(Deserialize)]
struct CommentWire {
    id: u64,
    user: Option<ActorWire>,
    body: Option<String>,
    created_at: String,
    /// Only in lists over several issues.
    #[serde(default)]
    issue_url: String,
    /// `…/pull/7#issuecomment-9` on a pull request, `…/issues/7#issuecomment-9` on an issue.
    #[serde(default)]
    html_url: String,
}

impl Repo {
    /// The comments on an issue or pull request, oldest first.
    pub async fn comments(&self, number: u64) -> Result<Vec<CommentSeen>> {
        let action = self.describe(&format!("list the comments on #{number}"));
        let request = self.list(&action, &["issues", &number.to_string(), "comments"], &[])?;
        let list = self.github.pages::<Vec<CommentWire>, _>(&action, request, |wire| wire.id).await?;
        let me = self.github.login().await?;
        let to_seen = |wire: CommentWire| {
            // In a comment of another account a marker is only text.
            let is_ours = wire.user.as_ref().is_some_and(|user| user.is(me));
            let marker = wire.body.as_deref().filter(|_| is_ours).and_then(read_marker);
            Ok(CommentSeen { id: wire.comment_id(&action)?, posted_at: wire.posted_at(&action)?, marker })
        };
        list.items.into_iter().map(to_seen).collect()
    }

    /// Every comment on any issue or pull request that was written or changed since then, oldest first.
    pub async fn comments_since(&self, since: Timestamp) -> Result<Listing<PostedComment>> {
        let action = self.describe("list the comments");
        let since = format_rfc3339(since);
        let query = [("since", since.as_str()), ("sort", "created"), ("direction", "asc")];
        let request = self.list(&action, &["issues", "comments"], &query)?.as_poll();
        let list = self.github.pages::<Vec<CommentWire>, _>(&action, request, |wire| wire.id).await?;
        let posted = list.items.into_iter().map(|wire| wire.posted(&action));
        let mut items = posted.collect::<Result<Vec<_>>>()?;
        items.sort_by_key(|comment| comment.posted_at);
        Ok(Listing { items, unchanged: list.unchanged })
    }

    /// Writes a comment with one request; before a repetition the caller looks for it.
    pub async fn add_comment(&self, number: u64, new: &NewComment) -> Result<CommentId> {
        let action = self.describe(&format!("comment on #{number}"));
        let path = ["issues", &number.to_string(), "comments"];
        let body = json!({"body": write_marked(&new.text, new.marker.as_ref())});
        self.write::<CommentWire>(&action, (Method::POST, Resend::Once), &path, &body)
            .await?
            .comment_id(&action)
    }

    /// Overwrites a comment; none when it does not exist any more.
    pub async fn edit_comment(&self, id: &CommentId, new: &NewComment) -> Result<Option<CommentId>> {
        let action = self.describe(&format!("change the comment {id}"));
        let body = json!({"body": write_marked(&new.text, new.marker.as_ref())});
        let path = ["issues", "comments", id.as_str()];
        let changed =
            self.write::<CommentWire>(&action, (Method::PATCH, Resend::Idempotent), &path, &body).await;
        self.absent(changed).await?.map(|wire| wire.comment_id(&action)).transpose()
    }
}

impl CommentWire {
    fn comment_id(&self, action: &str) -> Result<CommentId> {
        parse_reply(action, self.id.to_string())
    }

    fn posted_at(&self, action: &str) -> Result<Timestamp> {
        parse_time(action, &self.created_at)
    }

    fn posted(self, action: &str) -> Result<PostedComment> {
        let number = self.issue_url.rsplit('/').next().and_then(|number| number.parse().ok());
        let number: u64 = number
            .ok_or_else(|| LinkError::malformed(&GITHUB, action, "a comment does not name its issue"))?;
        let is_on_pull = self.html_url.contains(&format!("/pull/{number}#"));
        Ok(PostedComment {
            on: match is_on_pull {
                true => CommentPlace::Pull(PrNumber(number)),
                false => CommentPlace::Ticket(TaskKey::numbered(TASK_PREFIX, number)),
            },
            id: self.comment_id(action)?,
            posted_at: self.posted_at(action)?,
            login: read_author(self.user.as_ref(), "").login,
            text: self.body.unwrap_or_default(),
        })
    }
}
