//! Reviews of pull requests, and what they say of single lines.

use serde::Deserialize;

use super::issue::moment;
use super::user::ActorWire;
use super::{Actor, GithubError, Listing, Number, Repo, Sha};
use crate::http::Moment;

/// A review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    /// Its number.
    pub id: u64,
    /// Whose it is.
    pub author: Actor,
    /// What it comes to.
    pub state: ReviewState,
    /// Its text.
    pub body: String,
    /// The commit it is about; none when that is gone.
    pub commit: Option<Sha>,
    /// When it was handed in; none while it is being written.
    pub submitted: Option<Moment>,
}

/// What a review comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewState {
    /// Merge it.
    Approved,
    /// Do not.
    ChangesRequested,
    /// Neither.
    Commented,
    /// Withdrawn.
    Dismissed,
    /// Still being written.
    Pending,
    /// A word we have not met.
    Other(String),
}

/// A comment on a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewComment {
    /// Its number.
    pub id: u64,
    /// The review it belongs to.
    pub review: Option<u64>,
    /// Who wrote it.
    pub author: Actor,
    /// Its text.
    pub body: String,
    /// The file.
    pub path: String,
    /// The line; none when the code has changed since.
    pub line: Option<u64>,
    /// When it was written.
    pub created: Moment,
}

#[derive(Deserialize)]
struct Wire {
    id: u64,
    user: Option<ActorWire>,
    state: String,
    body: Option<String>,
    commit_id: Option<String>,
    submitted_at: Option<String>,
}

#[derive(Deserialize)]
struct CommentWire {
    id: u64,
    pull_request_review_id: Option<u64>,
    user: Option<ActorWire>,
    body: Option<String>,
    path: String,
    line: Option<u64>,
    created_at: String,
}

impl Repo {
    /// The reviews of a pull request, oldest first.
    pub async fn reviews(&self, number: Number) -> Result<Listing<Review>, GithubError> {
        let what = self.doing(&format!("list the reviews of pull request {number}"));
        let request = self.list(&what, &["pulls", &number.0.to_string(), "reviews"], &[])?;
        let list = self.github.pages::<Vec<Wire>, _>(&what, request, |wire| wire.id).await?;
        let items = list.items.into_iter().map(|wire| wire.review(&what)).collect::<Result<_, _>>()?;
        Ok(Listing { items, unchanged: list.unchanged })
    }

    /// The comments of reviewers on lines, oldest first.
    pub async fn review_comments(&self, number: Number) -> Result<Listing<ReviewComment>, GithubError> {
        let what = self.doing(&format!("list the review comments on pull request {number}"));
        let request = self.list(&what, &["pulls", &number.0.to_string(), "comments"], &[])?;
        let list = self.github.pages::<Vec<CommentWire>, _>(&what, request, |wire| wire.id).await?;
        let items = list.items.into_iter().map(|wire| wire.comment(&what)).collect::<Result<_, _>>()?;
        Ok(Listing { items, unchanged: list.unchanged })
    }
}

impl Wire {
    fn review(self, what: &str) -> Result<Review, GithubError> {
        Ok(Review {
            id: self.id,
            author: self.user.into(),
            state: match self.state.as_str() {
                "APPROVED" => ReviewState::Approved,
                "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
                "COMMENTED" => ReviewState::Commented,
                "DISMISSED" => ReviewState::Dismissed,
                "PENDING" => ReviewState::Pending,
                other => ReviewState::Other(other.to_owned()),
            },
            body: self.body.unwrap_or_default(),
            commit: self.commit_id.and_then(|sha| Sha::parse(&sha).ok()),
            submitted: self.submitted_at.map(|at| moment(what, &at)).transpose()?,
        })
    }
}

impl CommentWire {
    fn comment(self, what: &str) -> Result<ReviewComment, GithubError> {
        Ok(ReviewComment {
            id: self.id,
            review: self.pull_request_review_id,
            author: self.user.into(),
            body: self.body.unwrap_or_default(),
            path: self.path,
            line: self.line,
            created: moment(what, &self.created_at)?,
        })
    }
}
