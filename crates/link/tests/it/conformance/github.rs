//! GitHub's replies to the calls of the suite.

use pilot_core::config::{Adapters, ProjectForge, ProjectTracker, Secret};
use pilot_core::id::TaskKey;
use pilot_core::port::{Call, ForgeCall, TrackerCall};
use pilot_link::github::TASK_PREFIX;
use serde_json::{Value, json};

use super::calls::{HEAD, MERGED, fix_marker};
use super::{Adapter, SECRET};
use crate::github::shapes;
use crate::server::{Act, ok, refuse};

pub(super) struct GithubAdapter;

impl Adapter for GithubAdapter {
    const NAME: &'static str = "GitHub";

    fn key(number: u64) -> TaskKey {
        TaskKey::numbered(TASK_PREFIX, number)
    }

    fn configure(url: &str) -> (Adapters, ProjectTracker, ProjectForge) {
        let mut adapters = Adapters::default();
        adapters.github.api_url = url.to_owned();
        adapters.github.token = Some(Secret::new(SECRET));
        let repo = "ada/engine".to_owned();
        (adapters, ProjectTracker::Github { repo: repo.clone() }, ProjectForge::Github { repo })
    }

    fn facts() -> Vec<Act> {
        vec![said(&shapes::repository()), ok("{\"login\":\"pilot-bot\",\"type\":\"User\"}")]
    }

    fn works(call: &Call) -> Vec<Act> {
        match call {
            Call::Tracker(call) => vec![said(&tracker_reply(call))],
            Call::Forge(call) => forge_replies(call),
            Call::Git(call) => panic!("{call:?} is answered by git"),
        }
    }

    fn absent(call: &Call) -> Vec<Act> {
        let missing = || refuse(404, "Not Found");
        let repository = || said(&shapes::repository());
        match call {
            Call::Tracker(TrackerCall::RemoveLabel(_, _)) => vec![refuse(404, "Label does not exist")],
            Call::Tracker(TrackerCall::Trust(_)) | Call::Forge(ForgeCall::MayWrite(_)) => {
                vec![missing(), repository(), missing(), repository()]
            }
            Call::Forge(ForgeCall::CheckLog { .. }) => vec![said(&check_runs()), missing(), repository()],
            // There is no tag, which is as it should be, and no repository either.
            Call::Forge(ForgeCall::CreateTag { .. }) => vec![missing(), missing()],
            Call::Tracker(_) | Call::Forge(_) | Call::Git(_) => vec![missing(), repository()],
        }
    }

    fn refused() -> Act {
        refuse(403, "Must have admin rights to Repository.")
    }
}

fn said(value: &Value) -> Act {
    ok(&value.to_string())
}

fn tracker_reply(call: &TrackerCall) -> Value {
    match call {
        TrackerCall::Labelled(_) => json!([issue(12, "ada", "Please.")]),
        TrackerCall::CommentsSince(_) => json!([comment("ada", "/pilot why")]),
        TrackerCall::Ticket(_) | TrackerCall::Close(_) => issue(12, "ada", "Please."),
        TrackerCall::Trust(_) => json!({"permission": "write", "role_name": "write"}),
        TrackerCall::Comments(_) => json!([status_comment()]),
        TrackerCall::AddComment(_, _) | TrackerCall::EditComment(_, _, _) => status_comment(),
        TrackerCall::AddLabels(_, _) => json!([{"name": "pilot"}, {"name": "pilot-done"}]),
        TrackerCall::RemoveLabel(_, _) => json!([{"name": "pilot"}]),
        TrackerCall::OwnTickets(_) => {
            json!([fix_issue(), issue(14, "ada", &format!("<!-- {} -->", fix_marker()))])
        }
        TrackerCall::Create(_) => fix_issue(),
    }
}

fn forge_replies(call: &ForgeCall) -> Vec<Act> {
    let reply = match call {
        ForgeCall::PullsFrom(_) | ForgeCall::PullsOnto(_) => json!([pull()]),
        ForgeCall::Pull(_) | ForgeCall::CreatePull(_) | ForgeCall::ClosePull(_) => pull(),
        ForgeCall::Comments(_) => json!([status_comment()]),
        ForgeCall::AddComment(_, _) => status_comment(),
        ForgeCall::Reviews(_) => json!([
            shapes::review(1, "ada", "CHANGES_REQUESTED"),
            shapes::review(2, "ada", "COMMENTED"),
            shapes::review(3, "eve", "DISMISSED"),
            shapes::review(4, "grace", "APPROVED"),
        ]),
        ForgeCall::MayWrite(_) => json!({"permission": "write", "role_name": "write"}),
        ForgeCall::Merge { .. } => json!({"sha": MERGED, "merged": true}),
        ForgeCall::Checks(_) => {
            let url = format!("https://forge/repos/o/r/statuses/{HEAD}");
            let status = json!({"id": 1, "url": url, "context": "lint", "state": "failure"});
            return vec![said(&check_runs()), said(&json!([status]))];
        }
        ForgeCall::Required(_) => {
            let checks = json!({"required_status_checks": {"contexts": ["build"]}});
            return vec![said(&json!({"protected": true, "protection": checks})), ok("[]")];
        }
        ForgeCall::CheckLog { .. } => return vec![said(&check_runs()), ok("error: boom\n")],
        ForgeCall::Contains { .. } => {
            json!({"status": "behind", "ahead_by": 0, "behind_by": 2, "merge_base_commit": {"sha": HEAD}})
        }
        ForgeCall::Tags => json!([{"name": "v1.0.0", "commit": {"sha": HEAD}}]),
        ForgeCall::CreateTag { .. } => {
            let made = json!({"object": {"type": "commit", "sha": HEAD}});
            return vec![refuse(404, "Not Found"), said(&shapes::repository()), said(&made)];
        }
    };
    vec![said(&reply)]
}

fn issue(number: u64, author: &str, text: &str) -> Value {
    let mut issue = shapes::issue(number, author, text);
    issue["labels"] = json!([{"name": "pilot"}]);
    issue
}

fn fix_issue() -> Value {
    issue(13, "pilot-bot", &format!("It broke.\n\n<!-- {} -->", fix_marker()))
}

fn comment(author: &str, text: &str) -> Value {
    let mut comment = shapes::comment(9, author, text);
    comment["issue_url"] = "https://forge.example/repos/ada/engine/issues/12".into();
    comment
}

fn status_comment() -> Value {
    comment("pilot-bot", "Working.\n\n<!-- pilot-status GH-12 -->")
}

fn pull() -> Value {
    let mut pull = shapes::pull(7, "pilot-bot", "It works.\n\n<!-- pilot-task GH-12 -->");
    pull["head"]["ref"] = "pilot/T-12".into();
    pull
}

fn check_runs() -> Value {
    let run =
        json!({"id": 5, "name": "build", "head_sha": HEAD, "status": "completed", "conclusion": "success"});
    json!({"total_count": 1, "check_runs": [run]})
}
