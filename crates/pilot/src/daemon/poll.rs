//! Asking the forge what is new: labelled issues, and orders in comments. An answer that is the same as last time says so.

use std::sync::Arc;

use pilot_core::fact::{By, Order};
use pilot_core::intake::read_command;
use pilot_core::name::{CommentId, IssueNumber, ProjectId};
use pilot_core::seen::{Failure, Issue};
use pilot_link::github::{IssueQuery, StateFilter};
use pilot_link::http::Moment;

use super::calls::Trouble;
use super::read;
use super::site::Site;

/// How far comments are read again: an address that stays the same costs nothing while its answer does.
const AGAIN: i64 = 300;

/// What a poll of a project found.
#[derive(Clone, Debug)]
pub(crate) struct Polled {
    pub(crate) project: ProjectId,
    /// All open, labelled issues; none when they are the same as last time.
    pub(crate) issues: Result<Option<Vec<Issue>>, Failure>,
    /// Orders in comments since the last time, and from when to ask next.
    pub(crate) orders: Result<(Vec<Ordered>, Moment), Failure>,
}

/// An order in a comment.
#[derive(Clone, Debug)]
pub(crate) struct Ordered {
    pub(crate) issue: IssueNumber,
    pub(crate) order: Order,
    pub(crate) by: By,
}

/// Asks once.
pub(crate) async fn poll(site: Arc<Site>, since: Moment) -> Polled {
    let project = site.id.clone();
    let issues = site.labelled().await.map_err(|Trouble(failure)| failure);
    // Whoever comments on an issue changes it, so where no issue changed there are no orders.
    let orders = match &issues {
        Ok(None) => Ok((Vec::new(), since)),
        Ok(Some(_)) | Err(_) => site.orders(since).await.map_err(|Trouble(failure)| failure),
    };
    Polled { project, issues, orders }
}

impl Site {
    async fn labelled(&self) -> Result<Option<Vec<Issue>>, Trouble> {
        let label = self.policy.label.as_str();
        let query = IssueQuery { labels: &[label], state: StateFilter::Open };
        let listing = self.repo.issues(&query).await?;
        if listing.unchanged {
            return Ok(None);
        }
        let mut issues = Vec::new();
        for issue in listing.items.iter().filter(|issue| !issue.is_pull) {
            issues.push(read::issue(issue, &self.me)?);
        }
        Ok(Some(issues))
    }

    async fn orders(&self, since: Moment) -> Result<(Vec<Ordered>, Moment), Trouble> {
        let listing = self.repo.comments_since(since).await?;
        if listing.unchanged {
            return Ok((Vec::new(), since));
        }
        let mut orders = Vec::new();
        let mut last = since;
        for posted in listing.items {
            last = last.max(posted.comment.created);
            let author = &posted.comment.author;
            // Our own account counts like any other: many run Pilot with the account they write with.
            let Some(order) = read_command(&posted.comment.body) else { continue };
            let permission = read::permission(self.repo.permission(&author.login).await?);
            let id = CommentId(posted.comment.id.0);
            let by = By::Comment { id, login: author.login.clone(), permission };
            orders.push(Ordered { issue: IssueNumber(posted.on.0), order, by });
        }
        let moves = last.seconds() - since.seconds() > AGAIN;
        Ok((orders, if moves { last } else { since }))
    }
}
