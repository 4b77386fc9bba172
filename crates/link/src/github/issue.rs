//! Issues, which are our tickets, and their labels.

use pilot_core::id::{KeyStyle, TaskKey};
use pilot_core::observed::{Author, Ticket, TicketState};
use pilot_core::port::{NewTicket, OwnTicket, TicketText};
use pilot_core::time::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::html_marker::{read_marker, write_marked};
use super::user::{ActorWire, read_author};
use super::{GITHUB, Repo, TASK_PREFIX, parse_time};
use crate::error::{CallFault, LinkError, Result};
use crate::http::{Method, Request, Resend};
use crate::pages::Listing;
use crate::ticket::RawTicket;

/// GitHub takes 256 characters in a title.
const LONGEST_TITLE: usize = 256;

#[derive(Deserialize)]
struct IssueWire {
    number: u64,
    title: String,
    body: Option<String>,
    state: String,
    #[serde(default)]
    labels: Vec<LabelWire>,
    user: Option<ActorWire>,
    created_at: String,
    updated_at: String,
    comments: u64,
    /// GitHub lists pull requests as issues; they are no tickets.
    pull_request: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum LabelWire {
    Name(String),
    Full { name: Option<String> },
}

#[derive(Deserialize)]
struct LabelNameWire {}

impl Repo {
    /// The open issues with a label, oldest first. A poll: it leaves the rest of the rate limit to work.
    pub async fn labelled(&self, label: &str) -> Result<Listing<Ticket>> {
        let list = self.issues(label, "open").await?;
        let me = self.github.login().await?;
        let tickets = list.items.iter().map(|wire| wire.ticket(me)).collect::<Result<_, _>>()?;
        Ok(Listing { items: tickets, unchanged: list.unchanged })
    }

    /// The issues with a label that our own account wrote, open and closed.
    pub async fn own_tickets(&self, label: &str) -> Result<Vec<OwnTicket>> {
        let list = self.issues(label, "all").await?;
        let me = self.github.login().await?;
        let own = list.items.iter().filter(|wire| wire.user.as_ref().is_some_and(|user| user.is(me)));
        let to_own = |wire: &IssueWire| OwnTicket {
            key: wire.key(),
            marker: wire.body.as_deref().and_then(read_marker),
        };
        Ok(own.map(to_own).collect())
    }

    async fn issues(&self, label: &str, state: &str) -> Result<Listing<IssueWire>> {
        let action = self.describe("list the issues");
        let query = [("state", state), ("sort", "created"), ("direction", "asc"), ("labels", label)];
        let request = self.list(&action, &["issues"], &query)?.as_poll();
        let mut list = self.github.pages::<Vec<IssueWire>, _>(&action, request, |wire| wire.number).await?;
        list.items.retain(|wire| wire.pull_request.is_none());
        Ok(list)
    }

    pub async fn ticket(&self, number: u64) -> Result<Option<TicketText>> {
        let action = self.describe(&format!("read issue #{number}"));
        let found = self.get::<IssueWire>(&action, &["issues", &number.to_string()]).await;
        let found = self.absent(found).await?;
        let Some(wire) = found.filter(|wire| wire.pull_request.is_none()) else { return Ok(None) };
        let ticket = wire.ticket(self.github.login().await?)?;
        let has_comments = wire.comments > 0;
        Ok(Some(TicketText { ticket, has_comments, text: wire.body.unwrap_or_default() }))
    }

    /// Opens an issue with one request; before a repetition the caller looks for it.
    pub async fn create_ticket(&self, new: &NewTicket) -> Result<TaskKey> {
        let action = self.describe(&format!("open the issue {:?}", new.title));
        let title: String = new.title.chars().take(LONGEST_TITLE).collect();
        let body = write_marked(&new.text, Some(&new.marker));
        let body = json!({"title": title, "body": body, "labels": new.labels});
        Ok(self.write::<IssueWire>(&action, (Method::POST, Resend::Once), &["issues"], &body).await?.key())
    }

    /// Closes an issue as completed; one that is closed already stays so.
    pub async fn close_issue(&self, number: u64) -> Result<()> {
        let action = self.describe(&format!("close issue #{number}"));
        let body = json!({"state": "closed", "state_reason": "completed"});
        let path = ["issues", &number.to_string()];
        self.write::<IssueWire>(&action, (Method::PATCH, Resend::Idempotent), &path, &body).await.map(drop)
    }

    pub async fn add_labels<'a>(
        &self,
        number: u64,
        labels: impl IntoIterator<Item = &'a String>,
    ) -> Result<()> {
        let action = self.describe(&format!("label issue #{number}"));
        let path = ["issues", &number.to_string(), "labels"];
        let body = json!({"labels": labels.into_iter().collect::<Vec<_>>()});
        self.write::<Vec<LabelNameWire>>(&action, (Method::POST, Resend::Idempotent), &path, &body)
            .await
            .map(drop)
    }

    pub async fn remove_label(&self, number: u64, label: &str) -> Result<bool> {
        let action = self.describe(&format!("remove the label {label:?} from issue #{number}"));
        let path = ["issues", &number.to_string(), "labels", label];
        let request = Request::new(Method::DELETE, self.url(&action, &path)?, Resend::Idempotent);
        match self.github.write::<Vec<LabelNameWire>>(&action, request).await {
            Ok(_) => Ok(true),
            // The issue itself may not exist either, and then GitHub's message is another.
            Err(LinkError { why: CallFault::NotFound { message }, .. }) if message.contains("Label") => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

impl IssueWire {
    fn key(&self) -> TaskKey {
        TaskKey::numbered(TASK_PREFIX, self.number)
    }

    fn ticket(&self, me: &str) -> Result<Ticket> {
        let name = |label: &LabelWire| match label {
            LabelWire::Name(name) => Some(name.clone()),
            LabelWire::Full { name } => name.clone(),
        };
        let raw = RawTicket {
            key: self.key(),
            title: &self.title,
            text: self.body.as_deref().unwrap_or_default(),
            author: self.author(me),
            labels: self.labels.iter().filter_map(name).collect(),
            state: if self.state == "open" { TicketState::Open } else { TicketState::Closed },
            created_at: self.time(&self.created_at)?,
            updated_at: self.time(&self.updated_at)?,
        };
        let keys = KeyStyle::Numbered { prefix: TASK_PREFIX.to_owned() };
        raw.into_ticket(&keys)
            .map_err(|error| LinkError::malformed(&GITHUB, &self.action(), error.to_string()))
    }

    fn author(&self, me: &str) -> Author {
        read_author(self.user.as_ref(), me)
    }

    fn time(&self, text: &str) -> Result<Timestamp> {
        parse_time(&self.action(), text)
    }

    fn action(&self) -> String {
        format!("read issue #{}", self.number)
    }
}
