//! The tracker port, answered by GitHub's issues.

use pilot_core::id::{CommentId, TaskKey};
use pilot_core::observed::{Failure, FailureKind};
use pilot_core::port::{TrackerAnswer, TrackerCall};

use super::{Repo, TASK_PREFIX};
use crate::tracker::PictureError;

#[derive(Clone, Debug)]
pub struct GithubTracker {
    repo: Repo,
}

impl GithubTracker {
    pub fn new(repo: Repo) -> GithubTracker {
        GithubTracker { repo }
    }

    pub(crate) async fn picture(&self, address: &str, most: usize) -> Result<Vec<u8>, PictureError> {
        self.repo.picture(address, most).await
    }

    pub(crate) async fn call(&self, call: &TrackerCall) -> Result<TrackerAnswer, Failure> {
        let repo = &self.repo;
        Ok(match call {
            TrackerCall::Labelled(label) => TrackerAnswer::Tickets(repo.labelled(label).await?.if_changed()),
            TrackerCall::CommentsSince(since) => {
                TrackerAnswer::Posted(repo.comments_since(*since).await?.if_changed())
            }
            TrackerCall::Ticket(key) => {
                TrackerAnswer::Ticket(repo.ticket(number_of(key)?).await?.map(Box::new))
            }
            TrackerCall::Trust(login) => TrackerAnswer::Trust(repo.trust(login).await?),
            TrackerCall::Comments(key) => TrackerAnswer::Comments(repo.comments(number_of(key)?).await?),
            TrackerCall::AddComment(key, new) => {
                TrackerAnswer::Comment(repo.add_comment(number_of(key)?, new).await?)
            }
            TrackerCall::EditComment(_, id, new) => {
                let edited = repo.edit_comment(number_id(id)?, new).await?;
                let deleted = || Failure::new(FailureKind::NotFound, "the comment was deleted");
                TrackerAnswer::Comment(edited.ok_or_else(deleted)?)
            }
            TrackerCall::AddLabels(key, labels) => {
                repo.add_labels(number_of(key)?, labels).await?;
                TrackerAnswer::Done
            }
            TrackerCall::RemoveLabel(key, label) => {
                repo.remove_label(number_of(key)?, label).await?;
                TrackerAnswer::Done
            }
            TrackerCall::Close(key) => {
                repo.close_issue(number_of(key)?).await?;
                TrackerAnswer::Done
            }
            TrackerCall::OwnTickets(label) => TrackerAnswer::OwnTickets(repo.own_tickets(label).await?),
            TrackerCall::Create(new) => TrackerAnswer::Created(repo.create_ticket(new).await?),
        })
    }
}

/// The number of an issue. A key of another tracker is a mistake of the caller.
fn number_of(key: &TaskKey) -> Result<u64, Failure> {
    key.number_with(TASK_PREFIX)
        .ok_or_else(|| Failure::new(FailureKind::Refused, format!("{key} is not the key of a GitHub issue")))
}

/// GitHub's comments have numbers for ids.
fn number_id(id: &CommentId) -> Result<&CommentId, Failure> {
    match id.as_str().parse::<u64>() {
        Ok(_) => Ok(id),
        Err(_) => Err(Failure::new(FailureKind::Refused, format!("{id} is not the id of a GitHub comment"))),
    }
}
