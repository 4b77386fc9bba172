//! The toy's replies to the calls of the suite.

use pilot_core::id::TaskKey;
use pilot_core::port::{Call, ForgeCall, TrackerCall};
use pilot_link::forge::Forge;
use pilot_link::http::{Http, SecretText};
use pilot_link::toy::Toy;
use pilot_link::tracker::Tracker;
use serde_json::{Value, json};

use super::calls::{HEAD, MERGED, THEN, fix_marker};
use super::{Adapter, SECRET};
use crate::server::{Act, Server, ok, refuse};

pub(super) struct ToyAdapter;

impl Adapter for ToyAdapter {
    const NAME: &'static str = "Toy";

    fn key(number: u64) -> TaskKey {
        TaskKey::numbered("TOY", number)
    }

    async fn connect(server: &Server, http: Http) -> (Tracker, Forge) {
        let key = SecretText::parse(SECRET).expect("a key");
        let toy = Toy::new(http, server.url().clone(), key, "pilot-bot");
        (Tracker::Toy(toy.clone()), Forge::Toy(toy))
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
