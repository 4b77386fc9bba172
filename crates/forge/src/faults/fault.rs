//! The faults of API and git calls.

use std::fmt;
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::server::{Body, Call, CutOff, Failure, Reply};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub(crate) enum Fault {
    /// Closes the connection before the call is processed.
    Refuse,
    /// Processes the call, then closes the connection without a response.
    LoseReply,
    /// Delays the call.
    Delay { ms: u64 },
    /// Processes the call, then closes the connection in the middle of the response.
    ResetMidBody,
    /// Processes the call; the response is valid HTTP with half of the JSON.
    TruncatedJson,
    /// Replies with an HTML page, as a proxy would, without processing the call.
    Html { status: u16 },
    /// Replies with this status and GitHub's message, without processing the call.
    Status {
        status: u16,
        /// Selects the message where a status has several.
        reason: Reason,
        /// The `Retry-After` header in seconds.
        retry_after: Option<u64>,
    },
    /// Replies with the last response to the same read.
    StaleRead,
    /// Removes the newest item from a list.
    WithoutNewest,
    /// Shifts a list after its first page by so many items: some appear twice or never.
    PageDrift { by: i64 },
}

/// The reason for a 403 or 429.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    /// The token lacks the permission.
    #[default]
    Rights,
    /// The hourly limit is used up.
    PrimaryLimit,
    /// Too many requests at once.
    SecondaryLimit,
    Archived,
}

/// What a fault does with a call before it is processed.
#[derive(Debug)]
pub(crate) enum Interception {
    Cut,
    Reply(Box<Reply>),
    Continue,
}

impl Fault {
    /// The name in the plan.
    pub(super) fn name(&self) -> String {
        let json = serde_json::to_value(self).unwrap_or_default();
        json["fault"].as_str().unwrap_or_default().to_owned()
    }

    /// By how many rows lists shift after their first page.
    pub(crate) fn drift(&self) -> i64 {
        match self {
            Fault::PageDrift { by } => *by,
            Fault::Refuse
            | Fault::LoseReply
            | Fault::Delay { .. }
            | Fault::ResetMidBody
            | Fault::TruncatedJson
            | Fault::Html { .. }
            | Fault::Status { .. }
            | Fault::StaleRead
            | Fault::WithoutNewest => 0,
        }
    }

    pub(crate) async fn before(&self, call: &Call) -> Interception {
        match self {
            Fault::Refuse => Interception::Cut,
            Fault::Delay { ms } => {
                tokio::time::sleep(Duration::from_millis(*ms)).await;
                Interception::Continue
            }
            Fault::Html { status } => Interception::Reply(Box::new(html(*status))),
            Fault::Status { status, reason, retry_after } => {
                Interception::Reply(Box::new(status_reply(call, *status, *reason, *retry_after)))
            }
            Fault::StaleRead => match call.ctx.faults.stale(&call.address()) {
                Some(body) => {
                    let reply = Reply::text(StatusCode::OK, "application/json; charset=utf-8", body);
                    Interception::Reply(Box::new(reply))
                }
                None => Interception::Continue,
            },
            Fault::LoseReply
            | Fault::ResetMidBody
            | Fault::TruncatedJson
            | Fault::WithoutNewest
            | Fault::PageDrift { .. } => Interception::Continue,
        }
    }

    /// Applies the fault to the response.
    pub(crate) fn after(&self, reply: Reply) -> Result<Reply, CutOff> {
        match self {
            Fault::LoseReply => Err(CutOff),
            Fault::ResetMidBody => Ok(halved(reply, Body::Cut)),
            Fault::TruncatedJson => Ok(halved(reply, Body::Whole)),
            Fault::WithoutNewest => Ok(without_newest(reply)),
            Fault::Refuse
            | Fault::Delay { .. }
            | Fault::Html { .. }
            | Fault::Status { .. }
            | Fault::StaleRead
            | Fault::PageDrift { .. } => Ok(reply),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Html { status } | Fault::Status { status, .. } => write!(f, "{} {status}", self.name()),
            Fault::Refuse
            | Fault::LoseReply
            | Fault::Delay { .. }
            | Fault::ResetMidBody
            | Fault::TruncatedJson
            | Fault::StaleRead
            | Fault::WithoutNewest
            | Fault::PageDrift { .. } => f.write_str(&self.name()),
        }
    }
}

fn html(status: u16) -> Reply {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let page = "<!DOCTYPE html>\n<html><head><title>Unicorn!</title></head>\
                <body><p>This page is taking too long to load.</p></body></html>\n";
    Reply::text(status, "text/html; charset=utf-8", page)
}

fn status_reply(call: &Call, status: u16, reason: Reason, retry_after: Option<u64>) -> Reply {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let message = match (status.as_u16(), reason) {
        (301, _) => "Moved Permanently",
        (401, _) => "Bad credentials",
        (403, Reason::Rights) => "Resource not accessible by personal access token",
        (403 | 429, Reason::PrimaryLimit) => "API rate limit exceeded for user ID 1.",
        (403 | 429, Reason::SecondaryLimit) | (429, Reason::Rights | Reason::Archived) => {
            "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        }
        (403, Reason::Archived) => "Repository was archived so is read-only.",
        (404, _) => "Not Found",
        (409, _) => "Conflict",
        (410, _) => "Issues are disabled for this repo",
        (422, _) => "Validation Failed",
        (502, _) => "Server Error",
        (503, _) => "Service unavailable",
        (_, _) => "Server Error",
    };
    let mut reply = Failure::new(status, message).reply();
    if status == StatusCode::MOVED_PERMANENTLY {
        reply.set("location", &format!("{}{}", call.ctx.url, call.address()));
    }
    if let Some(seconds) = retry_after {
        reply.set("retry-after", &seconds.to_string());
    }
    if reason == Reason::PrimaryLimit {
        let reset = call.ctx.clock.now().seconds() + i64::try_from(retry_after.unwrap_or(60)).unwrap_or(60);
        reply.set("x-ratelimit-remaining", "0");
        reply.set("x-ratelimit-reset", &reset.to_string());
    }
    reply
}

fn halved(mut reply: Reply, body: fn(Bytes) -> Body) -> Reply {
    let (half, promised) = match &reply.body {
        Body::Whole(bytes) => (body(bytes.slice(..bytes.len() / 2)), bytes.len()),
        Body::Stream(_) | Body::Cut(_) | Body::Broken => (Body::Cut(Bytes::new()), 0),
    };
    // The full length is announced, so that a client can detect the cut.
    if matches!(half, Body::Cut(_)) && promised > 0 {
        reply.set("content-length", &promised.to_string());
    }
    reply.body = half;
    reply
}

fn without_newest(mut reply: Reply) -> Reply {
    let Body::Whole(bytes) = &reply.body else {
        return reply;
    };
    let Ok(mut json) = serde_json::from_slice::<Value>(bytes) else {
        return reply;
    };
    let list = if json.is_array() {
        json.as_array_mut()
    } else {
        json.as_object_mut().and_then(|object| object.values_mut().find_map(Value::as_array_mut))
    };
    if let Some(list) = list {
        let newest = (0..list.len()).max_by_key(|at| list[*at]["id"].as_i64().unwrap_or(0));
        if let Some(newest) = newest {
            list.remove(newest);
        }
        // The ETag is that of the whole list; with it a client would never see the newest item.
        reply.headers.remove("etag");
        reply.body = Body::Whole(serde_json::to_vec(&json).unwrap_or_default().into());
    }
    reply
}
