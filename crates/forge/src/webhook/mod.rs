//! Webhooks: deliveries are stored in the transaction of the change that they report, and sent afterwards.
//!
//! Payloads follow `@octokit/webhooks-schemas`, which rejects unknown fields.

mod deliver;
mod event;
mod post;
mod queue;

pub(crate) use deliver::run_deliveries;
pub(crate) use event::{Event, enqueue, enqueue_issue, enqueue_ping};
