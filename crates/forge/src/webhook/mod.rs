//! Webhooks: what is told to whom, written down with the fact it tells of, and delivered afterwards.
//!
//! Shapes follow `@octokit/webhooks-schemas`, which takes no field more than it names.

mod deliver;
mod post;
mod queue;
mod tell;

pub(crate) use deliver::work;
pub(crate) use tell::{
    check_run, check_suite, comment, issue, ping, pull, push, ref_changed, release, review, review_comment,
    status, workflow_run,
};
