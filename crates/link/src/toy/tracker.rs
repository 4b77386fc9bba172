//! The tracker port, answered by the toy.

use std::collections::BTreeSet;

use pilot_core::id::{CommentId, KeyStyle, TaskKey};
use pilot_core::observed::{Failure, FailureKind, Ticket, TicketState, Trust};
use pilot_core::port::{
    CommentPlace, Marker, NewComment, OwnTicket, PostedComment, TicketText, TrackerAnswer, TrackerCall,
};
use pilot_core::time::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{NothingWire, ParseAs, TOY, Toy, ToyCommentWire};
use crate::error::{LinkError, none_if_absent};
use crate::http::{Method, Resend};
use crate::ticket::RawTicket;

#[derive(Deserialize)]
struct TicketWire {
    key: String,
    title: String,
    text: String,
    author: String,
    labels: BTreeSet<String>,
    is_open: bool,
    at: i64,
    comments: u64,
    mark: Option<String>,
}

#[derive(Deserialize)]
struct AccountWire {
    is_member: bool,
}

impl Toy {
    pub(crate) async fn call_tracker(&self, call: &TrackerCall) -> Result<TrackerAnswer, Failure> {
        Ok(match call {
            TrackerCall::Labelled(label) => {
                let list = self.tickets(&format!("tickets?open=1&label={label}")).await?;
                TrackerAnswer::Tickets(Some(
                    list.iter().map(|wire| self.ticket(wire)).collect::<Result<_, _>>()?,
                ))
            }
            TrackerCall::CommentsSince(since) => self.comments_since(*since).await?,
            TrackerCall::Ticket(key) => {
                let found = self.read::<TicketWire>(&format!("tickets/{key}")).await;
                let found = none_if_absent(found, self.read::<NothingWire>("project")).await?;
                TrackerAnswer::Ticket(found.map(|wire| self.ticket_text(wire)).transpose()?.map(Box::new))
            }
            TrackerCall::Trust(login) => {
                let found = self.read::<AccountWire>(&format!("accounts/{login}")).await;
                let found = none_if_absent(found, self.read::<NothingWire>("project")).await?;
                let is_member = found.is_some_and(|account| account.is_member);
                TrackerAnswer::Trust(if is_member { Trust::Trusted } else { Trust::Untrusted })
            }
            TrackerCall::Comments(key) => {
                TrackerAnswer::Comments(self.comments(&format!("tickets/{key}/comments")).await?)
            }
            TrackerCall::AddComment(key, new) => {
                let path = format!("tickets/{key}/comments");
                TrackerAnswer::Comment(self.add_comment(&path, new).await?)
            }
            TrackerCall::EditComment(_, id, new) => {
                let path = format!("comments/{id}");
                let wire: ToyCommentWire =
                    self.write(Method::PUT, &path, Resend::Idempotent, &comment_json(new)).await?;
                TrackerAnswer::Comment(wire.id.parse_as("a comment's id")?)
            }
            TrackerCall::AddLabels(key, labels) => {
                self.set(Method::POST, &format!("tickets/{key}/labels"), &json!(labels)).await?
            }
            TrackerCall::RemoveLabel(key, label) => {
                match self.set(Method::DELETE, &format!("tickets/{key}/labels/{label}"), &Value::Null).await {
                    // The label is the last part of the address: it is not there, or the ticket is gone and the next read tells.
                    Err(failure) if failure.kind == FailureKind::NotFound => {
                        self.read::<NothingWire>(&format!("tickets/{key}/labels")).await?;
                        TrackerAnswer::Done
                    }
                    removed => removed?,
                }
            }
            TrackerCall::Close(key) => {
                self.set(Method::PUT, &format!("tickets/{key}/closed"), &json!(true)).await?
            }
            TrackerCall::OwnTickets(label) => {
                let list = self.tickets(&format!("tickets?label={label}")).await?;
                let own = list.into_iter().filter(|wire| wire.author == self.login);
                TrackerAnswer::OwnTickets(own.map(own_ticket).collect::<Result<_, _>>()?)
            }
            TrackerCall::Create(new) => {
                let body = json!({"title": new.title, "text": new.text, "labels": new.labels, "mark": new.marker.to_string()});
                let wire: TicketWire = self.write(Method::POST, "tickets", Resend::Once, &body).await?;
                TrackerAnswer::Created(wire.key.parse_as("a ticket's key")?)
            }
        })
    }

    pub(super) async fn add_comment(&self, path: &str, new: &NewComment) -> Result<CommentId, LinkError> {
        let wire: ToyCommentWire = self.write(Method::POST, path, Resend::Once, &comment_json(new)).await?;
        wire.id.parse_as("a comment's id")
    }

    async fn tickets(&self, path: &str) -> Result<Vec<TicketWire>, LinkError> {
        Ok(self.list::<TicketWire, _>(path, |wire| wire.key.clone()).await?.items)
    }

    async fn comments_since(&self, since: Timestamp) -> Result<TrackerAnswer, LinkError> {
        let list = self
            .list::<ToyCommentWire, _>(&format!("comments?since={}", since.0), |wire| wire.id.clone())
            .await?;
        let posted = list.items.into_iter().map(|wire| {
            Ok(PostedComment {
                on: CommentPlace::Ticket(wire.on.parse_as("a ticket's key")?),
                id: wire.id.parse_as("a comment's id")?,
                posted_at: Timestamp(wire.at),
                login: wire.author,
                text: wire.text,
            })
        });
        Ok(TrackerAnswer::Posted(Some(posted.collect::<Result<_, LinkError>>()?)))
    }

    async fn set(&self, method: Method, path: &str, body: &Value) -> Result<TrackerAnswer, Failure> {
        self.write::<NothingWire>(method, path, Resend::Idempotent, body).await?;
        Ok(TrackerAnswer::Done)
    }

    fn ticket(&self, wire: &TicketWire) -> Result<Ticket, LinkError> {
        let raw = RawTicket {
            key: wire.key.parse_as("a ticket's key")?,
            title: &wire.title,
            text: &wire.text,
            author: self.author(&wire.author),
            labels: wire.labels.clone(),
            state: if wire.is_open { TicketState::Open } else { TicketState::Closed },
            created_at: Timestamp(wire.at),
            updated_at: Timestamp(wire.at),
        };
        raw.into_ticket(&KeyStyle::Whole)
            .map_err(|error| LinkError::malformed(&TOY, "read a ticket", error.to_string()))
    }

    fn ticket_text(&self, wire: TicketWire) -> Result<TicketText, LinkError> {
        Ok(TicketText { ticket: self.ticket(&wire)?, has_comments: wire.comments > 0, text: wire.text })
    }
}

fn own_ticket(wire: TicketWire) -> Result<OwnTicket, LinkError> {
    let key: TaskKey = wire.key.parse_as("a ticket's key")?;
    Ok(OwnTicket { key, marker: wire.mark.and_then(|mark| Marker::parse(&mark)) })
}

fn comment_json(new: &NewComment) -> Value {
    json!({"text": new.text, "mark": new.marker.as_ref().map(Marker::to_string)})
}
