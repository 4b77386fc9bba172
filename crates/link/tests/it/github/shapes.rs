//! GitHub's answers, as far as they are read.

use serde_json::{Value, json};

use super::{HEAD, OTHER};
use crate::server::{Act, answer, ok};

/// The mark of these tests, as it stands in texts.
pub(super) const MARK: &str = "<!-- pilot-key GH-12/try.1 -->";

const THEN: &str = "2026-11-15T20:00:00Z";

pub(crate) fn said(value: &Value) -> Act {
    ok(&value.to_string())
}

pub(crate) fn created(value: &Value) -> Act {
    Act::Say(answer(201, &[], &value.to_string()))
}

/// The same, but the answer never comes back.
pub(crate) fn unheard() -> Act {
    Act::Break(Vec::new())
}

pub(crate) fn repository() -> Value {
    json!({
        "full_name": "ada/engine", "default_branch": "main", "archived": false, "has_issues": true,
        "permissions": {"pull": true, "push": true, "admin": false},
        "allow_merge_commit": false, "allow_squash_merge": true, "allow_rebase_merge": true,
        "clone_url": "https://forge.example/ada/engine.git", "html_url": "https://forge.example/ada/engine",
    })
}

pub(crate) fn issue(number: u64, author: &str, body: &str) -> Value {
    json!({
        "number": number, "title": "Add login", "body": body, "state": "open", "state_reason": null,
        "labels": [{"name": "pilot"}, "old style"], "user": {"login": author, "type": "User"},
        "comments": 0, "created_at": THEN, "updated_at": THEN, "html_url": format!("https://forge.example/ada/engine/issues/{number}"),
    })
}

pub(crate) fn comment(id: u64, author: &str, body: &str) -> Value {
    json!({"id": id, "user": {"login": author, "type": "User"}, "body": body, "created_at": THEN, "updated_at": THEN})
}

pub(crate) fn review(id: u64, author: &str, state: &str) -> Value {
    json!({
        "id": id, "user": {"login": author, "type": "User"}, "body": "", "state": state, "commit_id": OTHER,
        "submitted_at": THEN, "author_association": "NONE",
    })
}

pub(crate) fn pull(number: u64, author: &str, body: &str) -> Value {
    let repo = json!({"full_name": "ada/engine"});
    json!({
        "number": number, "title": "Add login", "body": body, "state": "open", "draft": false,
        "merged_at": null, "merge_commit_sha": null, "mergeable": null,
        "head": {"ref": "pilot/GH-12", "sha": HEAD, "repo": repo}, "base": {"ref": "main", "sha": OTHER, "repo": repo},
        "user": {"login": author, "type": "User"}, "created_at": THEN, "updated_at": THEN,
        "html_url": format!("https://forge.example/ada/engine/pull/{number}"),
    })
}

/// A pull request with some fields as they are here.
pub(crate) fn pull_with(changes: &Value) -> Value {
    let mut pull = pull(7, "pilot-bot", MARK);
    for (key, value) in changes.as_object().expect("an object") {
        pull[key] = value.clone();
    }
    pull
}
