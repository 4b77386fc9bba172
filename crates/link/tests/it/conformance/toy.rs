//! The toy's replies to the calls of the suite.

use pilot_core::config::{Adapters, ProjectForge, ProjectTracker, Secret};
use pilot_core::id::TaskKey;
use pilot_core::port::{Call, ForgeCall, TrackerCall};
use serde_json::{Value, json};

use super::calls::{HEAD, MERGED, THEN, fix_marker};
use super::{Adapter, SECRET};
use crate::server::{Act, ok, refuse};

pub(super) struct ToyAdapter;

impl Adapter for ToyAdapter {
    const NAME: &'static str = "Toy";

    fn key(number: u64) -> TaskKey {
        TaskKey::numbered("TOY", number)
    }

    fn configure(url: &str) -> (Adapters, ProjectTracker, ProjectForge) {
        let mut adapters = Adapters::default();
        adapters.toy.api_url = Some(url.to_owned());
        adapters.toy.key = Some(Secret::new(SECRET));
        let project = "ada/engine".to_owned();
        (adapters, ProjectTracker::Toy { project: project.clone() }, ProjectForge::Toy { project })
    }

    fn facts() -> Vec<Act> {
        vec![said(&json!({
            "default_branch": "main", "is_archived": false, "clone_url": "https://toy/app.git", "web_url": "https://toy",
        }))]
    }

    fn works(call: &Call) -> Vec<Act> {
        match call {
            Call::Tracker(call) => vec![said(&tracker_reply(call))],
            Call::Forge(call) => vec![said(&forge_reply(call))],
            Call::Git(call) => panic!("{call:?} is answered by git"),
        }
    }

    fn absent(_: &Call) -> Vec<Act> {
        // What was asked for is missing; the project, or the ticket of a label, exists.
        vec![refuse(404, "no such thing"), ok("{}")]
    }

    fn refused() -> Act {
        refuse(403, "ask an admin")
    }
}

fn said(value: &Value) -> Act {
    ok(&value.to_string())
}

fn list(item: &Value) -> Value {
    json!({"items": [item], "next": null})
}

fn tracker_reply(call: &TrackerCall) -> Value {
    match call {
        TrackerCall::Labelled(_) => list(&ticket()),
        TrackerCall::CommentsSince(_) => list(&comment("ada", "/pilot why", &Value::Null)),
        TrackerCall::Ticket(_) => ticket(),
        TrackerCall::Trust(_) => json!({"is_member": true}),
        TrackerCall::Comments(_) => list(&status_comment()),
        TrackerCall::AddComment(_, _) | TrackerCall::EditComment(_, _, _) => status_comment(),
        TrackerCall::AddLabels(_, _) | TrackerCall::RemoveLabel(_, _) | TrackerCall::Close(_) => json!({}),
        TrackerCall::OwnTickets(_) => list(&fix_ticket()),
        TrackerCall::Create(_) => fix_ticket(),
    }
}

fn forge_reply(call: &ForgeCall) -> Value {
    match call {
        ForgeCall::PullsFrom(_) | ForgeCall::PullsOnto(_) => list(&pull()),
        ForgeCall::Pull(_) | ForgeCall::CreatePull(_) => pull(),
        ForgeCall::ClosePull(_) | ForgeCall::CreateTag { .. } => json!({}),
        ForgeCall::Comments(_) => list(&status_comment()),
        ForgeCall::AddComment(_, _) => status_comment(),
        ForgeCall::Reviews(_) => {
            json!({"items": [{"id": 1, "by": "ada", "approves": false}, {"id": 2, "by": "grace", "approves": true}]})
        }
        ForgeCall::MayWrite(_) => json!({"answer": true}),
        ForgeCall::Merge { .. } => json!({"commit": MERGED}),
        ForgeCall::Checks(_) => {
            json!({"items": [{"name": "build", "state": "passed"}, {"name": "lint", "state": "failed"}]})
        }
        ForgeCall::Required(_) => json!({"answer": ["build"]}),
        ForgeCall::CheckLog { .. } => json!({"answer": "build:\nerror: boom\n\n"}),
        ForgeCall::Contains { .. } => json!({"answer": true}),
        ForgeCall::Tags => list(&json!({"name": "v1.0.0", "commit": HEAD})),
    }
}

fn ticket() -> Value {
    json!({
        "key": "TOY-12", "title": "Add login", "text": "Please.", "author": "ada", "labels": ["pilot"],
        "is_open": true, "at": THEN.0, "comments": 0, "mark": null,
    })
}

fn fix_ticket() -> Value {
    let mut ticket = ticket();
    ticket["key"] = "TOY-13".into();
    ticket["author"] = "pilot-bot".into();
    ticket["mark"] = fix_marker().to_string().into();
    ticket
}

fn comment(author: &str, text: &str, mark: &Value) -> Value {
    json!({"id": "9", "at": THEN.0, "author": author, "text": text, "mark": mark, "on": "TOY-12"})
}

fn status_comment() -> Value {
    comment("pilot-bot", "Working.", &"pilot-status TOY-12".into())
}

fn pull() -> Value {
    json!({
        "number": 7, "branch": "pilot/T-12", "head": HEAD, "merged": null, "is_open": true, "mark": "pilot-task TOY-12",
    })
}
